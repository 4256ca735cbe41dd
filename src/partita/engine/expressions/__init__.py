"""DynamoDB's expressions: text is parsed to a tree, and a tree is compiled with the placeholders of a request."""
