"""The parts that all runs share: record, guard, transaction, recovery, revert and the Activity log."""
