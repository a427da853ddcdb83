"""Full-text search: queries and the index."""
