"""nbhd.city: neighborhoods and their members' sites."""
