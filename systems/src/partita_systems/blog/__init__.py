"""Blog: posts, categories, threads."""
