"""HTML pages: the home page and the documentation page of each API."""
