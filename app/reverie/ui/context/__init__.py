"""The Context tab: what an agent would be told."""
