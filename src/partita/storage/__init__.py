"""Ordered bytes in transactions: the contract, and its implementations in memory and in a file."""
