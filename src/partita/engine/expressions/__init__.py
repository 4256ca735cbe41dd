"""DynamoDB's expressions: text to a tree (cached), a tree and placeholders to something that runs."""
