"""Imports as Python does them, once PySide is loaded.

PySide puts a function of its own before `import`: it reads the source of every module imported from then on,
to see whether that asks for `from __feature__ import`. Nothing here does; it costs each start some 30 ms and
reads files on the GUI thread. Importing this module, after PySide and before anything else, gives back the
import that PySide itself calls; where a version of PySide has none, nothing is changed.
"""

from __future__ import annotations

import builtins

import PySide6.QtCore  # noqa: F401 - it must have put its function there already


def restore() -> bool:
    """Use the import that PySide's own calls. False if there is none to go back to."""
    plain = getattr(builtins, "__orig_import__", None)
    if plain is None:
        return False
    builtins.__import__ = plain
    return True


restore()
