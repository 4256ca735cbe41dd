"""Partita: write a DynamoDB design down once, in Python, and it runs."""

from partita.connect import connect

__all__ = ["connect"]
__version__ = "0.1.0"
