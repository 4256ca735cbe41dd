"""Runs plans: pages, batches, retries, transactions; items to entities and back; sync and async over the same flows."""
