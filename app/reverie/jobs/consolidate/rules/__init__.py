"""The decisions of the embedded rules engine: duplicates, contradictions and merges. Pure functions."""
