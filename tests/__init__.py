"""The claims that Partita makes, as tests."""
