"""What an agent would load: gathered once, put together for any time and any unsaved text."""
