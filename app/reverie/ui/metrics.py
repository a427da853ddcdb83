"""Sizes in pixels that depend on the font of the interface, so that everything scales with it.

Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontInfo

_REFERENCE = 13


_USUAL_ICON = 16


def scaled(font: QFont, size: float) -> int:
    """Return `size` scaled to `font`; `size` is the number of pixels that fits a font of 13 pixels."""
    return round(size * QFontInfo(font).pixelSize() / _REFERENCE)


def row_height(font: QFont) -> int:
    """Return the height, in pixels, of a row of a list or tree, a field or a button."""
    return max(24, scaled(font, 28))


def two_line_height(font: QFont) -> int:
    """Return the height, in pixels, of a row that has a second, dimmed line."""
    return max(38, scaled(font, 44))


def icon_size(font: QFont) -> int:
    """Return the side length, in pixels, of an icon beside text."""
    return max(16, scaled(font, 16.25))
