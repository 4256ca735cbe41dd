"""Tests of the infrastructure that is written from a design."""
