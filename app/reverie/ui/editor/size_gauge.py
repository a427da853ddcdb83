"""The gauge that compares the size of a memory with the size up to which the agent reads it.

`cut_position` computes where the agent stops reading; the rest of the module draws the gauge.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from reverie.memory.front_matter_rules import BOM
from reverie.text.summaries import utf16_length
from reverie.ui.appearance import GAP, UNIT, tabular, theme_of
from reverie.ui.display_text import human_size
from reverie.ui.editor.line_breaks import widget_text

WARN_SHARE = 0.9


_AMBER_SHARE = 0.8


_WORTH_A_LOOK = 0.6
"""The gauge is shown from this share of the cap on; the inspector always shows the size."""


_BAR = 48


def cut_position(content: bytes, cap: int) -> int | None:
    """Return the position at which the agent stops reading a file; None if it reads all.

    The position is in UTF-16 units of the widget's text. `content` is the content that a save would write.
    `cap` is the agent's limit in bytes; 0: no limit. A character that lies across the limit is not read.
    """
    if not cap or len(content) <= cap:
        return None
    return utf16_length(widget_text(content[:cap].decode("utf-8", "ignore").removeprefix(BOM)))


class SizeGauge(QWidget):
    """A short bar with a text such as `3.1 KiB of 100 KiB · 790 tokens`.

    It compares the size of a memory with the agent's limit. The gauge is hidden up to 60% of the limit.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._size = 0
        self._cap = 0
        self._tokens = 0
        self._compact = False
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_size(self, size: int, cap: int, tokens: int) -> None:
        """Show a size, the agent's limit `cap` and a number of tokens.

        `size` and `cap` are in bytes. If `cap` is 0 (no limit), or `size` is at most 60% of `cap`, the gauge
        is hidden. `tokens` is an estimate: a quarter of the number of characters.
        """
        if (size, cap, tokens) == (self._size, self._cap, self._tokens):
            return
        self._size, self._cap, self._tokens = size, cap, tokens
        self.setVisible(self.share > _WORTH_A_LOOK)
        about = self.tr("About {tokens} tokens, estimated at 4 characters per token.").format(
            tokens=f"{tokens:,}"
        )
        read = self.tr("{size} of the {cap} bytes that the agent reads.")
        self.setToolTip(read.format(size=f"{size:,}", cap=f"{cap:,}") + "\n" + about)
        self._changed()

    def set_compact(self, on: bool) -> None:
        """Show only the bar and the size if `on`, else the limit and the tokens too; the tool tip has all."""
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
        size = self.tr("{size} of {cap}").format(size=size, cap=human_size(self._cap))
        return self.tr("{size} · {tokens} tokens").format(size=size, tokens=f"{self._tokens:,}")

    @property
    def share(self) -> float:
        """The size divided by the limit; 0 if there is no limit."""
        return self._size / self._cap if self._cap else 0.0

    @property
    def over(self) -> bool:
        return self.share > 1

    @property
    def left(self) -> int:
        """The number of bytes that can be added before the limit is reached; 0 if there is no limit."""
        return max(0, self._cap - self._size)

    def sizeHint(self) -> QSize:
        return self._room_for(self.text)

    def minimumSizeHint(self) -> QSize:
        """Return the size of the compact form, so that the gauge shrinks before other widgets do."""
        return self._room_for(human_size(self._size))

    def _room_for(self, text: str) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(text) + _BAR + GAP + 2, metrics.height() + UNIT)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        colour = theme.dim_window
        if self.over:
            colour = theme.bad_text
        elif self.share > _AMBER_SHARE:
            colour = theme.warn_text
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        groove = QRectF(0.5, self.height() / 2 - 3, _BAR, 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.line)
        painter.drawRoundedRect(groove, 3, 3)
        painter.setBrush(theme.accent if colour == theme.dim_window else colour)
        filled = max(3.0, _BAR * min(1.0, self.share))
        painter.drawRoundedRect(QRectF(groove.left(), groove.top(), filled, 6), 3, 3)
        painter.setPen(colour)
        painter.drawText(self.rect().adjusted(_BAR + GAP, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text)
