"""DynamoDB's behaviour on a storage: one read path, one write path, one file an operation."""
