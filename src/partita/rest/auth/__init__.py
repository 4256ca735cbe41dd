"""Callers: bearer tokens, the key sets that verify them, and an issuer for development."""
