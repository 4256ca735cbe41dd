"""The proof: every access pattern is exactly one read of one range that contains nothing else; see `prove`."""
