"""The decisions of the embedded rules engine about duplicates, contradictions and merges; pure functions."""
