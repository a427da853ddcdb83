"""The text that an agent would load: gathered once, assembled for any time and any unsaved text."""
