"""A design in words: explanations of patterns and writes, the design page, examples. Pure functions."""
