"""The memory tree: rows, values, builder, model and view."""
