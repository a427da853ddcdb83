"""Labels that wrap or shorten their text, and buttons, combo boxes and a search field that shorten theirs.

None of them requests more width than is available. A screen reader always gets the full text. All text is
shown as plain text.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import (
    QAction,
    QActionEvent,
    QColor,
    QFocusEvent,
    QFontMetrics,
    QIcon,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QToolTip,
    QWidget,
)

from reverie.ui.appearance import GAP
from reverie.ui.display_text import as_tooltip, shortened, visible
from reverie.ui.mnemonics import descendants

_MOST_HEIGHTS = 32


class WrapLabel(QLabel):
    """A label that breaks lines between words and, if necessary, inside words.

    QLabel breaks only between words, so one long word (a path, a German compound) would widen the window. The
    text is plain, its hidden characters are escaped, and very long texts are cut.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # A layout queries the same few widths repeatedly, and breaking lines takes most of that time.
        self._heights: dict[tuple[str, int], int] = {}
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.say(text)

    def say(self, text: str) -> None:
        """Show `text`, which may come from an untrusted source."""
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
        text = self.text()
        key = text, width if text else 0  # an empty text has one line at any width
        found = self._heights.get(key)
        if found is None:
            if len(self._heights) >= _MOST_HEIGHTS:
                self._heights.clear()
            lines = round(self._layout(max(1, width)).boundingRect().height() + 0.49)
            found = self._heights[key] = max(QFontMetrics(self.font()).height(), lines)
        return found

    def _formats(self) -> list[QTextLayout.FormatRange]:
        """Return the formats for parts of the text; none here, for subclasses to override."""
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
    """A label with one line of plain text.

    If the text is too long, its middle is left out, and the tool tip shows the full text.
    """

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
    """A label for a path, whose first folders are left out if it is too long, since the name matters most."""

    _separator, _tip = "/", ""

    def say_path(self, text: str, separator: str, tip: str) -> None:
        """Show a path, whose parts `separator` divides; `tip`: the tool tip."""
        self._separator, self._tip = separator, as_tooltip(tip)
        self.say(text)

    def _fit(self) -> None:
        super()._fit()
        if self._tip:
            self.setToolTip(self._tip)

    def _shortened(self, metrics: QFontMetrics, width: int) -> str:
        shown, between = self._whole, self._separator
        left_out = f"…{between}"
        while metrics.horizontalAdvance(shown) > width and between in shown.removeprefix(left_out):
            shown = left_out + shown.removeprefix(left_out).split(between, 1)[1]
        if metrics.horizontalAdvance(shown) <= width:
            return shown
        return metrics.elidedText(shown, Qt.TextElideMode.ElideMiddle, width)


def tint(label: QWidget, colour: QColor) -> None:
    """Set the text colour of a label or button.

    Nothing is done if the widget has this colour already, because setting a palette sends a change event.
    """
    palette, role = label.palette(), label.foregroundRole()
    if palette.color(role) != colour:
        palette.setColor(role, colour)
        label.setPalette(palette)


def embolden(label: QLabel, times: float = 1.0) -> None:
    """Make the text of a label bold and `times` times as large as it is now."""
    font = label.font()
    font.setBold(True)
    if times != 1:
        font.setPointSizeF(font.pointSizeF() * times)
    label.setFont(font)


_FEWEST_CHARS = 5
_RESIZING = (QEvent.Type.FontChange, QEvent.Type.StyleChange)


class _Fitted(QAbstractButton if TYPE_CHECKING else object):  # type: ignore[misc]
    """A mixin for buttons that shorten their text, `_whole`, if there is not enough room."""

    _whole = ""
    _hint = QSize()
    _padding = 0
    """The pixels beside the text, together; 0: as many as the style wants."""

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        whole = metrics.horizontalAdvance(self._whole)
        few = min(metrics.averageCharWidth() * _FEWEST_CHARS, whole)
        return QSize(self._hint.width() - whole + few, self._hint.height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESIZING:
            self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _measure(self) -> None:
        """Compute the size hint from the full text, even if a shortened one is shown."""
        self.setText(self._whole)
        self._hint = super().sizeHint()
        if self._padding:
            width = QFontMetrics(self.font()).horizontalAdvance(self._whole.replace("&", "")) + self._padding
            self._hint.setWidth(min(width, self._hint.width()))
        self._fit()
        self.updateGeometry()

    def _fit(self) -> None:
        missing = self._hint.width() - self.width()
        metrics = QFontMetrics(self.font())
        room = max(0, metrics.horizontalAdvance(self._whole) - missing)
        cut = metrics.elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        self.setText(cut if missing > 0 else self._whole)


class FitPushButton(_Fitted, QPushButton):
    """A push button that shortens its text if there is not enough room. Set the text with `say`."""

    def __init__(
        self,
        text: str = "",
        tip: str = "",
        *,
        icon: QIcon | None = None,
        clicked: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        if icon is not None:
            self.setIcon(icon)
        self.say(text, tip)
        if clicked is not None:
            self.clicked.connect(clicked)

    def say(self, text: str, tip: str = "") -> None:
        """Set the text and the tool tip of the button."""
        self._whole = text
        self.setAccessibleName(text.replace("&", ""))
        self.setToolTip(tip)
        self._measure()


class FitSmallButton(FitPushButton):
    """A push button that is only as wide as its text needs; other push buttons have a minimum width."""

    _padding = 3 * GAP


class FitToolButton(_Fitted, QToolButton):
    """A tool button that shows the text of its default action, shortened if there is not enough room."""

    def actionEvent(self, event: QActionEvent) -> None:
        super().actionEvent(event)
        self.take_action_text()

    def take_action_text(self) -> None:
        """Show the current text of the action, shortened to fit.

        Call this after the action has changed, because Qt then sets the full text.
        """
        action = self.defaultAction()
        if action is not None:
            self._whole = action.iconText()
            self._measure()


_TIP_OFFSET = 32
"""The distance at which Qt shows a tool tip below its position, and the frame of the tool tip, in pixels."""


class FitFlatButton(_Fitted, QToolButton):
    """A flat button that shortens its text if there is not enough room.

    A click, or Tab, shows its tool tip at once, which other buttons show only for the mouse.
    """

    _padding = GAP

    def __init__(self) -> None:
        super().__init__()
        self.setAutoRaise(True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # Qt hides a tool tip when the mouse button is released, so it is shown after that.
        self.clicked.connect(self._show_tip, Qt.ConnectionType.QueuedConnection)

    def say(self, text: str, spoken: str, tip: str) -> None:
        """Set the text, the text for screen readers, and the tool tip."""
        self.setAccessibleName(spoken)
        self.setAccessibleDescription(tip)
        self.setToolTip(tip)
        if text != self._whole:
            self._whole = text
            self._measure()

    def width_for(self, text: str) -> int:
        """Return the width that the button needs to show `text`, in pixels."""
        metrics = QFontMetrics(self.font())
        return self._hint.width() - metrics.horizontalAdvance(self._whole) + metrics.horizontalAdvance(text)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        super().keyReleaseEvent(event)
        # Not the focus event: Qt gives the same reason if it moves the focus from a widget that was hidden.
        if event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self._show_tip()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        QToolTip.hideText()

    @Slot()
    def _show_tip(self) -> None:
        # Above the button: under the mouse pointer the tool tip would hide itself.
        lines = self.toolTip().count("\n") + 1
        above = QPoint(0, -_TIP_OFFSET - lines * self.fontMetrics().lineSpacing())
        QToolTip.showText(self.mapToGlobal(above), self.toolTip(), self)


def flat_button(action: QAction) -> QToolButton:
    """Return a button without a frame that shows `action` and triggers it."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setAutoRaise(True)
    button.setAccessibleName(action.text().replace("&", ""))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


_NARROWEST = 80


class FitCombo(QComboBox):
    """A combo box that is never wider than its layout allows.

    Its tool tip is that of the current item, or the item's text. An ordinary combo box requests the width of
    its widest item, and does not become smaller if its layout has less room.
    """

    def __init__(self, name: str = "", *, most_chars: int = 0) -> None:
        """Create the box.

        `name` is its accessible name. `most_chars` limits the width that it requests to that many characters;
        0: it requests the width of its widest item.
        """
        super().__init__()
        self._most_chars = most_chars
        self.setAccessibleName(name)
        self.view().setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for changed in (self.model().rowsInserted, self.model().rowsRemoved, self.model().dataChanged):
            changed.connect(self._on_items)
        self.currentIndexChanged.connect(self.follow)

    def sizeHint(self) -> QSize:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(self.itemText(at)) for at in range(self.count())), default=0)
        if self._most_chars:
            widest = min(widest, metrics.averageCharWidth() * self._most_chars)
        contents = QSize(widest, metrics.height())
        wanted = self.style().sizeFromContents(QStyle.ContentsType.CT_ComboBox, option, contents, self)
        return QSize(max(wanted.width(), _NARROWEST), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST, super().minimumSizeHint().height())

    def follow(self) -> None:
        """Update the tool tip from the current item.

        The box does this when another item is chosen. Call it if signals of the box were blocked meanwhile.
        """
        tip = self.currentData(Qt.ItemDataRole.ToolTipRole)
        self.setToolTip(str(tip) if tip else as_tooltip(self.currentText()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        option.currentText = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideMiddle, room.width() - 4
        )
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def _on_items(self) -> None:
        self.updateGeometry()


class SearchField(QLineEdit):
    """A search field. `what` is its placeholder text and its accessible name."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(what)
        self.setAccessibleName(what)
        self.setClearButtonEnabled(True)
        for child in descendants(self):
            if isinstance(child, QToolButton):
                child.setAccessibleName(self.tr("Clear"))
