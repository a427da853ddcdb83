"""The Failures tab of loki-mode: lessons, anti-patterns, crash records."""
