"""loki-mode's failures: crash records, redaction, lessons and the block of them that is injected."""
