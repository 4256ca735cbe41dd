"""The systems that ship with Partita, each written as anybody's would be."""
