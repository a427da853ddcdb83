"""Memories: paths, the store and its commands, usage, front matter, listing, history, search, lint."""
