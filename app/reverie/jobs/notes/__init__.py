"""Claude Code: session notes by thresholds, by rules or a model. `service` is the door."""
