"""The settings dialog: its draft, fields and pages."""
