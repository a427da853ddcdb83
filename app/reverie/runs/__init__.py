"""Shared machinery of all runs: record, guard, transaction, recovery, revert and the Activity log."""
