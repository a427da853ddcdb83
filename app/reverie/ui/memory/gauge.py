"""How full a memory is: bytes against what the agent reads, and the tokens that the text costs.

`cut_position` is the rule for where the agent stops reading; everything else here draws.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from reverie.memory.frontmatter import BOM
from reverie.text.tokens import utf16_length
from reverie.ui.memory.newlines import widget_text
from reverie.ui.shown import human_size
from reverie.ui.theme import GAP, UNIT, tabular, theme_of

WARN_SHARE = 0.9
_AMBER_SHARE = 0.8
_BAR = 48


def cut_position(content: bytes, cap: int) -> int | None:
    """Where the agent stops reading, in UTF-16 units of the text as a widget has it; None: it reads all.

    `content` is the file as it would be written, `cap` in bytes (0: none). A character that the cap cuts is
    not read.
    """
    if not cap or len(content) <= cap:
        return None
    return utf16_length(widget_text(content[:cap].decode("utf-8", "ignore").removeprefix(BOM)))


class SizeGauge(QWidget):
    """A short bar and `3.1 KiB of 100 KiB · 790 tokens`. Without a cap no bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._size = 0
        self._cap = 0
        self._tokens = 0
        self._compact = False
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def show_size(self, size: int, cap: int, tokens: int) -> None:
        """`size` and `cap` in bytes, `tokens` as design.md estimates them."""
        if (size, cap, tokens) == (self._size, self._cap, self._tokens):
            return
        self._size, self._cap, self._tokens = size, cap, tokens
        about = self.tr("About {tokens} tokens, a quarter of the characters.").format(tokens=f"{tokens:,}")
        self.setToolTip(
            self.tr("{size} bytes of the {cap} that the agent reads.").format(
                size=f"{size:,}", cap=f"{cap:,}"
            )
            + "\n"
            + about
            if cap
            else self.tr("{size} bytes.").format(size=f"{size:,}") + "\n" + about
        )
        self._changed()

    def set_compact(self, on: bool) -> None:
        """Where there is little room cap and tokens are in the tool tip only."""
        if on != self._compact:
            self._compact = on
            self._changed()

    def _changed(self) -> None:
        self.setAccessibleName(self.text)
        self.updateGeometry()
        self.update()

    @property
    def text(self) -> str:
        size = human_size(self._size)
        if self._compact:
            return size
        if self._cap:
            size = self.tr("{size} of {cap}").format(size=size, cap=human_size(self._cap))
        return self.tr("{size} · {tokens} tokens").format(size=size, tokens=f"{self._tokens:,}")

    @property
    def share(self) -> float:
        """How much of the cap is used; 0 without one."""
        return self._size / self._cap if self._cap else 0.0

    @property
    def over(self) -> bool:
        return self.share > 1

    @property
    def left(self) -> int:
        """Bytes that still fit."""
        return max(0, self._cap - self._size)

    def sizeHint(self) -> QSize:
        return self._room_for(self.text)

    def minimumSizeHint(self) -> QSize:
        """It is compact before anything else gives way."""
        return self._room_for(human_size(self._size))

    def _room_for(self, text: str) -> QSize:
        metrics = QFontMetrics(self.font())
        bar = _BAR + GAP if self._cap else 0
        return QSize(metrics.horizontalAdvance(text) + bar + 2, metrics.height() + UNIT)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        colour = theme.dim_window
        if self.over:
            colour = theme.bad_text
        elif self.share > _AMBER_SHARE:
            colour = theme.warn_text
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        if self._cap:
            groove = QRectF(0.5, self.height() / 2 - 3, _BAR, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.line)
            painter.drawRoundedRect(groove, 3, 3)
            painter.setBrush(theme.accent if colour == theme.dim_window else colour)
            filled = max(3.0, _BAR * min(1.0, self.share))
            painter.drawRoundedRect(QRectF(groove.left(), groove.top(), filled, 6), 3, 3)
            left = _BAR + GAP
        painter.setPen(colour)
        painter.drawText(self.rect().adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text)
