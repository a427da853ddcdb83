"""The command line: every job is a command, and only the window imports Qt (design.md section 5).

Threading: a command runs alone in its process and blocks; Ctrl+C cancels a run (`cli.runs`). Failure:
`cli.main` reports an error that a person can fix and exits with 1, or with 2 if the call was ambiguous.
"""

from reverie.cli.main import main

__all__ = ["main"]
