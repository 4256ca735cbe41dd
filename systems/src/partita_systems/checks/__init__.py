"""Checks: is it up, and does it say what it should."""
