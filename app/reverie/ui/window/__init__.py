"""The main window: its layout, actions, palette, list of homes, first start and closing."""
