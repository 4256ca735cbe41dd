"""Building a site: a template and a config become files of HTML."""
