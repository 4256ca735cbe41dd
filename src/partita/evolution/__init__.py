"""Designs that change: what a design means for stored data, and how the data is brought there while programs work."""
