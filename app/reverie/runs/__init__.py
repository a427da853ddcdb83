"""What every kind of run shares: record, guard, transaction and its recovery, revert, activity."""
