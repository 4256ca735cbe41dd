"""Authentication: bearer tokens, the key sets that verify them, and a token issuer for development."""
