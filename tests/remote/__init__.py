"""Tests of the remote backends."""
