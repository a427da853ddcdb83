"""loki-mode: its home, records and anti-patterns."""
