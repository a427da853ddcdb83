"""Labels of plain text that never ask for more width than they are given: one wraps anywhere, one is
shortened. And what makes any label a heading."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from reverie.ui.shown import as_tooltip, shortened, visible

_MOST_HEIGHTS = 32


class WrapLabel(QLabel):
    """QLabel breaks lines between words only, so one long word (a path, German) widens the window. This one
    breaks inside words where needed. Text is plain, and what it hides is escaped. Of a text that nobody reads
    to the end it shows the beginning."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # A layout asks for the same few widths again and again; breaking lines is most of what it does then.
        self._heights: dict[tuple[str, int], int] = {}
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.say(text)

    def say(self, text: str) -> None:
        """Show `text`, which may come from anywhere."""
        shown = visible(shortened(text))
        if shown != self.text():
            self.setText(shown)

    def heightForWidth(self, width: int) -> int:
        margins = self.contentsMargins()
        height = self._lines_height(width - margins.left() - margins.right())
        return height + margins.top() + margins.bottom()

    def sizeHint(self) -> QSize:
        margins = self.contentsMargins()
        width = QFontMetrics(self.font()).horizontalAdvance(self.text()) + 1
        width += margins.left() + margins.right()
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.averageCharWidth() * 4, metrics.height() + self._frame_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        area = self.contentsRect()
        layout = self._layout(area.width())
        top = float(area.top())
        if self.alignment() & Qt.AlignmentFlag.AlignVCenter:
            top += max(0.0, (area.height() - layout.boundingRect().height()) / 2)
        layout.draw(painter, QPointF(area.left(), top), [], QRectF(event.rect()))

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self._heights.clear()
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()

    def _frame_height(self) -> int:
        margins = self.contentsMargins()
        return margins.top() + margins.bottom()

    def _lines_height(self, width: int) -> int:
        key = self.text(), width
        found = self._heights.get(key)
        if found is None:
            if len(self._heights) >= _MOST_HEIGHTS:
                self._heights.clear()
            lines = round(self._layout(max(1, width)).boundingRect().height() + 0.49)
            found = self._heights[key] = max(QFontMetrics(self.font()).height(), lines)
        return found

    def _formats(self) -> list[QTextLayout.FormatRange]:
        """Colours of parts of the text; none here."""
        return []

    def _layout(self, width: int) -> QTextLayout:
        return self._laid_out(self.text(), width)

    def _laid_out(self, text: str, width: int) -> QTextLayout:
        layout = QTextLayout(text, self.font())
        option = QTextOption(self.alignment())
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setFormats(self._formats())
        layout.beginLayout()
        height = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, height))
            height += line.height()
        layout.endLayout()
        return layout


class ElidedLabel(QLabel):
    """One line of plain text, shortened in the middle where it does not fit; the tool tip then has all of
    it."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._whole = ""
        self.say(text)

    def say(self, text: str) -> None:
        self._whole = visible(shortened(text))
        self.setAccessibleName(self._whole)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_whole"):
            self._fit()

    def _fit(self) -> None:
        shown = self._shortened(QFontMetrics(self.font()), max(0, self.width()))
        self.setText(shown)
        self.setToolTip(as_tooltip(self._whole) if shown != self._whole else "")

    def _shortened(self, metrics: QFontMetrics, width: int) -> str:
        return metrics.elidedText(self._whole, Qt.TextElideMode.ElideMiddle, width)


class PathLabel(ElidedLabel):
    """A path, of which whole folders go first: what a file is called is what one looks for."""

    def _shortened(self, metrics: QFontMetrics, width: int) -> str:
        shown = self._whole
        while metrics.horizontalAdvance(shown) > width and "/" in shown.removeprefix("…/"):
            shown = "…/" + shown.removeprefix("…/").split("/", 1)[1]
        if metrics.horizontalAdvance(shown) <= width:
            return shown
        return metrics.elidedText(shown, Qt.TextElideMode.ElideMiddle, width)


def embolden(label: QLabel, times: float = 1.0) -> None:
    """A heading: bold, and so much larger than what stands around it."""
    font = label.font()
    font.setBold(True)
    if times != 1:
        font.setPointSizeF(font.pointSizeF() * times)
    label.setFont(font)
