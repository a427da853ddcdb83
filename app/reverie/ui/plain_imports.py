"""Imports as Python does them, once PySide is loaded.

PySide puts a function of its own before `import`: it reads the source of every module imported from then on,
to see whether that asks for `from __feature__ import`. Nothing here does; it costs each start some 30 ms and
reads files on the GUI thread. Importing this module, after PySide and before anything else, gives back the
import that stood there when `reverie.ui` was imported; where PySide was there before, nothing is changed.
"""

from __future__ import annotations

import builtins

import PySide6.QtCore  # noqa: F401 - it must have put its function there already

from reverie.ui import import_before_qt

builtins.__import__ = import_before_qt
