"""Ordered bytes in transactions: the contract, in memory, and in a file."""
