"""The front door: every job is a command, and no command but the window imports Qt (design.md section 5)."""

from reverie.cli.main import main

__all__ = ["main"]
