"""Text search: indexes of words that follow the changes of entities."""
