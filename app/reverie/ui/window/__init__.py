"""The main window: its layout, actions, palette, list of homes, start page and closing."""
