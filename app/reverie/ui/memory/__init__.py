"""The Memory tab: trees, search, editor, footer, review."""
