"""Stores that nobody works on any more: where they are listed, looked at, and merged into a live project."""
