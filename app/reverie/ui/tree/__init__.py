"""The memory tree: values, model, view."""
