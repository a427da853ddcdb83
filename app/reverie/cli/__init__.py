"""The front door: every job is a command, and no command but the window imports Qt (design.md section 5).

Threading: a command has its process for itself and blocks; Ctrl+C cancels a run (`cli.runs`). Failure:
what a person can fix reaches `cli.main`, which says it and exits 1, or 2 where the call was not clear.
"""

from reverie.cli.main import main

__all__ = ["main"]
