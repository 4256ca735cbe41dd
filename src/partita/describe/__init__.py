"""Descriptions of a design: explanations of reads and writes, the design page, examples. Pure functions."""
