"""Restores Python's own `import`, which PySide replaces when it is loaded.

PySide's replacement supports `from __feature__ import ...`, which Reverie does not use. It reads the source
text of every module that is imported later, and keeps it for tracebacks; that costs an eighth of the time of
the start, and ten MiB of memory.
"""

import builtins

import PySide6.QtCore  # noqa: F401 - replaces it

vars(builtins)["__import__"] = vars(builtins).get("__orig_import__", __import__)
