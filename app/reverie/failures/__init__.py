"""loki-mode's failures: crash records, redaction, lessons, and the block of lessons for the agent."""
