"""The Changes tab: what changed, by whom, and taking it back."""
