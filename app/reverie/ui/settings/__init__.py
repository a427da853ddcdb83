"""The settings dialog: its controller, its draft, and its fields and pages."""
