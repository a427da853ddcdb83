"""The process that does the window's heavy work, and the way to it."""
