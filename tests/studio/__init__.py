"""The studio: its pages in memory, from the ASGI application."""
