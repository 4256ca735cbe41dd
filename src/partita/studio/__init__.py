"""The studio: a design and its data in a browser, as server-rendered pages with a JSON view behind each."""
