"""Sizes, derived from the font of the interface, so that everything grows with it.

The reference is a font of 13 pixels; a smaller or larger one scales everything alike. Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontInfo

_REFERENCE = 13
_known: dict[str, int] = {}
"""Pixels by `QFont.key`: each row that is drawn asks."""


def scaled(font: QFont, size: float) -> int:
    """`size`, given for the reference font, in `font`."""
    key = font.key()
    pixels = _known.get(key)
    if pixels is None:
        pixels = _known[key] = QFontInfo(font).pixelSize()
    return round(size * pixels / _REFERENCE)


def row_height(font: QFont) -> int:
    """A row of a list or tree, a field and a button."""
    return max(24, scaled(font, 28))


def two_line_height(font: QFont) -> int:
    """A row with a second, quieter line."""
    return max(38, scaled(font, 44))


def icon_size(font: QFont) -> int:
    """The side of an icon beside text."""
    return max(16, scaled(font, 16.25))
