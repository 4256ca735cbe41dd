"""Tests of text search."""
