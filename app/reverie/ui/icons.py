"""The icons of the window, in the colours of its palette.

Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QIconEngine, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from reverie.resources import resource
from reverie.ui.appearance import theme_of

NAMES = (
    "agent", "archived", "cancel", "check", "close", "companion", "consolidate", "copy", "delete",
    "edited", "error", "file", "folder", "form", "generated", "global", "home", "info",
    "keyboard", "locked", "multi", "new", "open", "orphan", "pin", "preview", "project", "refresh",
    "rename", "reverie", "runs", "save", "side", "sort", "source", "trash", "undo", "warning",
    "workspace",
)  # fmt: skip


SIZE = 16
"""The side of an icon, in pixels, beside text of the default size; see `icon_size` for other text sizes."""


_NOTHING = QColor(0, 0, 0, 0)


_MOST_PIXMAPS = 512


class Icons:
    """All icons of the window. One instance per process is enough; create it before any widget is shown.

    Icons are SVG drawings in which `currentColor` is replaced by a colour of the palette when they are
    painted. So an icon fits every palette, even after a change, and shows whether its control is enabled.
    """

    def __init__(self) -> None:
        self._sources = {name: resource(f"icons/{name}.svg").read_text(encoding="utf-8") for name in NAMES}
        self._pixmaps: dict[tuple[str, int, int, float], QPixmap] = {}

    def icon(self, name: str, color: QColor | None = None) -> QIcon:
        """Return an icon in `color`; None: in the palette's colour for icons. It is paler while disabled."""
        return QIcon(_IconEngine(self, name, color))

    def pixmap(self, name: str, size: int, color: QColor, ratio: float = 1.0) -> QPixmap:
        """Return the icon `name` as a square picture of `size` logical pixels.

        `ratio`: the number of device pixels per logical pixel.
        """
        key = (name, size, color.rgba(), ratio)
        found = self._pixmaps.get(key)
        if found is None:
            if len(self._pixmaps) >= _MOST_PIXMAPS:
                self._pixmaps.clear()
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


class _IconEngine(QIconEngine):
    """A Qt icon engine that paints one icon in the colour that fits the palette at that moment."""

    def __init__(self, icons: Icons, name: str, color: QColor | None) -> None:
        super().__init__()
        self._icons = icons
        self._name = name
        self._color = color

    def clone(self) -> QIconEngine:
        return _IconEngine(self._icons, self._name, self._color)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        size = min(rect.width(), rect.height())
        pixmap = self._icons.pixmap(self._name, size, self._ink(mode), painter.device().devicePixelRatioF())
        painter.drawPixmap(
            rect.left() + (rect.width() - size) // 2, rect.top() + (rect.height() - size) // 2, pixmap
        )

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self._icons.pixmap(self._name, min(size.width(), size.height()), self._ink(mode))

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        side = round(min(size.width(), size.height()) / scale)
        return self._icons.pixmap(self._name, side, self._ink(mode), scale)

    def _ink(self, mode: QIcon.Mode) -> QColor:
        palette = QGuiApplication.palette()
        if mode == QIcon.Mode.Disabled:
            return palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText)
        return self._color or theme_of(palette).dim
