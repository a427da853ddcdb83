"""The window's signs: SVG drawings tinted with the palette, read once before the window is shown.

Drawings use `currentColor`; it is replaced by a colour of the palette, so they follow light and dark. Pixmaps
are cached by name, size, colour and pixel ratio. `refresh` forgets them after a change of scheme; whoever
holds a QIcon asks again then.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, QSize
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from reverie.resources import resource
from reverie.ui.theme import dimmed

NAMES = (
    "archived", "cancel", "check", "close", "companion", "consolidate", "copy", "delete", "edited", "error",
    "file", "flag", "folder", "form", "generated", "global", "home", "info", "keyboard", "locked", "multi",
    "new", "open", "orphan", "pin", "preview", "project", "refresh", "rename", "reverie", "runs", "save",
    "side", "sort", "source", "trash", "undo", "warning", "workspace",
)  # fmt: skip

SIZE = 16
_NOTHING = QColor(0, 0, 0, 0)


class Icons:
    """All drawings of the window. One per process is enough; make it before anything is shown."""

    def __init__(self) -> None:
        self._sources = {name: resource(f"icons/{name}.svg").read_text(encoding="utf-8") for name in NAMES}
        self._pixmaps: dict[tuple[str, int, int, float], QPixmap] = {}

    def refresh(self) -> None:
        """Forget what was drawn for the last palette."""
        self._pixmaps.clear()

    def icon(self, name: str, color: QColor | None = None) -> QIcon:
        """An icon in `color`, or in the colour of button texts, with a quieter one for disabled controls."""
        palette = QGuiApplication.palette()
        text = palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.ButtonText)
        back = palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Button)
        icon = QIcon()
        # The style makes the disabled one. A sharper one is drawn only where some screen needs it.
        for ratio in sorted({1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}):
            icon.addPixmap(self.pixmap(name, SIZE, color or dimmed(text, back), ratio))
        return icon

    def sign(self, name: str, color: QColor, palette: QPalette) -> QIcon:
        """An icon for a row of a list: in `color`, and in the colour of chosen text where it is selected."""
        icon = self.icon(name, color)
        chosen = palette.color(QPalette.ColorRole.HighlightedText)
        for ratio in sorted({1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}):
            icon.addPixmap(self.pixmap(name, SIZE, chosen, ratio), QIcon.Mode.Selected, QIcon.State.Off)
        return icon

    def pixmap(self, name: str, size: int, color: QColor, ratio: float = 1.0) -> QPixmap:
        """The drawing as a square of `size` logical pixels."""
        key = (name, size, color.rgba(), ratio)
        found = self._pixmaps.get(key)
        if found is None:
            found = self._pixmaps[key] = self._drawn(name, size, color, ratio)
        return found

    def _drawn(self, name: str, size: int, color: QColor, ratio: float) -> QPixmap:
        source = self._sources[name].replace("currentColor", color.name())
        renderer = QSvgRenderer(QByteArray(source.encode()))
        pixels = QSize(round(size * ratio), round(size * ratio))
        pixmap = QPixmap(pixels)
        pixmap.fill(_NOTHING)
        painter = QPainter(pixmap)
        renderer.render(painter, QRectF(0, 0, pixels.width(), pixels.height()))
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        return pixmap
