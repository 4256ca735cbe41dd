"""DynamoDB's HTTP protocol in front of any backend."""
