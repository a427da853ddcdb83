"""Python's own `import`, restored after PySide has replaced it.

PySide's replacement serves `from __feature__ import ...`, which nothing here uses. It reads the source text
of every module that is imported later, and keeps it for tracebacks: an eighth of the start, and ten MiB.
"""

import builtins

import PySide6.QtCore  # noqa: F401 - replaces it

vars(builtins)["__import__"] = vars(builtins).get("__orig_import__", __import__)
