"""How well a search finds parts of electric cars: labelled queries, and recall@5 of embeddings and of full text."""
