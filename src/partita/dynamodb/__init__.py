"""DynamoDB's words: requests, replies, values, limits, errors. No behaviour."""
