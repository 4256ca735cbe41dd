"""Claims about DynamoDB at an address."""
