"""Session notes: one Markdown file per session, kept up to date by thresholds (formats/claude-code.md)."""
