"""loki-mode's failures: crash records, redaction, lessons, and the injected block of lessons."""
