"""Server-sent events: changes of entities, sent to clients while they happen."""
