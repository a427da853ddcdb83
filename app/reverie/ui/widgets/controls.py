"""What views are put together from: labels that wrap or shorten, buttons and combo boxes that shorten their
text, a search field; the bar with a message; and frames to fill: tabs of several parts or with a page that
says why there is nothing, and the heading above the trees.

No control asks for more width than it is given; a screen reader always gets the full text. Text is always
plain.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QActionEvent,
    QColor,
    QCursor,
    QFontMetrics,
    QIcon,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMessageBox,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import UserError
from reverie.ui.appearance import GAP, MARGIN, UNIT, Icons, descendants, readable, theme_of
from reverie.ui.display_text import as_tooltip, shortened, visible
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.layouts import FlowLayout, column, row_of, split, stacked

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


def tint(label: QWidget, colour: QColor) -> None:
    """The text of `label` in `colour`. Setting an unchanged palette would send another change event."""
    palette, role = label.palette(), label.foregroundRole()
    if palette.color(role) != colour:
        palette.setColor(role, colour)
        label.setPalette(palette)


def embolden(label: QLabel, times: float = 1.0) -> None:
    """A heading: bold, and so much larger than what stands around it."""
    font = label.font()
    font.setBold(True)
    if times != 1:
        font.setPointSizeF(font.pointSizeF() * times)
    label.setFont(font)


_FEWEST_CHARS = 5
_RESIZING = (QEvent.Type.FontChange, QEvent.Type.StyleChange)


class FitPushButton(QPushButton):
    """Set its text with `say`."""

    def __init__(
        self,
        text: str = "",
        tip: str = "",
        *,
        icon: QIcon | None = None,
        clicked: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._whole = ""
        self._hint = QSize()
        if icon is not None:
            self.setIcon(icon)
        self.say(text, tip)
        if clicked is not None:
            self.clicked.connect(clicked)

    def say(self, text: str, tip: str = "") -> None:
        """Another text, and what its tool tip says besides."""
        self._whole = text
        self.setAccessibleName(text.replace("&", ""))
        self.setToolTip(tip)
        self._measure()

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self._hint, self._whole)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESIZING:
            self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _measure(self) -> None:
        """The size it wants is that of the whole text, whatever is shown now."""
        self.setText(self._whole)
        self._hint = super().sizeHint()
        self._fit()
        self.updateGeometry()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self._hint.width()))


def flat_button(action: QAction) -> QToolButton:
    """A button without a frame for `action`, whose text and state it follows."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setAutoRaise(True)
    button.setAccessibleName(action.text().replace("&", ""))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class FitToolButton(QToolButton):
    """Takes its text from its default action."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self._hint = QSize()

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self._hint, self._whole)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESIZING:
            self.take_action_text()

    def actionEvent(self, event: QActionEvent) -> None:
        super().actionEvent(event)
        self.take_action_text()

    def take_action_text(self) -> None:
        """Qt puts the action's text back at each change of the action."""
        action = self.defaultAction()
        if action is not None:
            self._whole = action.iconText()
            self.setText(self._whole)
            self._hint = super().sizeHint()
            self._fit()
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self._hint.width()))


def _smallest(button: QPushButton | QToolButton, hint: QSize, whole: str) -> QSize:
    metrics = QFontMetrics(button.font())
    few = min(metrics.averageCharWidth() * _FEWEST_CHARS, metrics.horizontalAdvance(whole))
    return QSize(hint.width() - metrics.horizontalAdvance(whole) + few, hint.height())


def _shortened(button: QPushButton | QToolButton, whole: str, wanted: int) -> str:
    missing = wanted - button.width()
    if missing <= 0:
        return whole
    metrics = QFontMetrics(button.font())
    room = max(0, metrics.horizontalAdvance(whole) - missing)
    return metrics.elidedText(whole, Qt.TextElideMode.ElideRight, room)


# A combo box would like to be as wide as its widest item and takes what the layout gives it: Qt's own way
# to follow the contents resizes the box behind the back of its layout.


_NARROWEST = 80


class FitCombo(QComboBox):
    """Its tool tip follows the current item's, or is the item's text."""

    def __init__(self, name: str = "", *, most_chars: int = 0) -> None:
        """`name`: read aloud. `most_chars`: it does not ask for room for more of them, however long its items
        are; 0: it does."""
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
        """The current item is another one; called by itself but where signals are blocked."""
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
    """`what` is shown while it is empty, and is its accessible name."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(what)
        self.setAccessibleName(what)
        self.setClearButtonEnabled(True)
        for child in descendants(self):
            if isinstance(child, QToolButton):
                child.setAccessibleName(self.tr("Clear"))


# A bar with a sentence and a few buttons, shown at the place the message is about. It is hidden while it has
# nothing to say.


Tone = Literal["info", "warn", "bad", "plain"]
"""`plain`: no sign and no tint."""
# Sign, cross and the distances between.
_AROUND = 90
_ICONS = {"info": "info", "warn": "warning", "bad": "error"}


class MessageBar(QWidget):
    """A tinted strip: sign, sentence, buttons, and a cross if it may be put away. `chosen(str)` names the
    button."""

    chosen = Signal(str)
    dismissed = Signal()

    def __init__(
        self, icons: Icons, name: str, *, closable: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icons = icons
        self._tone: Tone = "info"
        self.setObjectName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._text = WrapLabel()
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.setToolTip(self.tr("Dismiss"))
        if not closable:
            self._close.hide()  # showing what has no parent yet would open a window
        self._close.clicked.connect(self._dismiss)
        self._buttons: dict[str, FitPushButton] = {}
        self._row = FlowLayout()
        self._middle = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._middle.setSpacing(UNIT)
        self._middle.addWidget(self._text, 1)
        self._middle.addLayout(self._row)
        outer = row_of(
            self._sign, self._middle, holder=self, grows=self._middle, margin=(GAP, UNIT + 2, UNIT, UNIT + 2)
        )
        outer.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        self._tint()
        self.hide()

    @property
    def text(self) -> str:
        return self._text.text()

    @property
    def keys(self) -> tuple[str, ...]:
        """The buttons that are offered."""
        return tuple(self._buttons)

    def button(self, key: str) -> FitPushButton:
        """The button of this key among those that are shown."""
        return self._buttons[key]

    def say(self, text: str, *, tone: Tone = "info", buttons: Sequence[tuple[str, str, str]] = ()) -> None:
        """Show a sentence; `buttons` are (key, label, tool tip)."""
        self._tone = tone
        self._text.say(text)
        self.setAccessibleName(self._text.text())
        if [key for key, _, _ in buttons] != list(self._buttons):
            self._make_buttons([key for key, _, _ in buttons])
        for key, label, tip in buttons:
            self._buttons[key].say(label, tip)
        self._tint()
        self._arrange()
        self.show()

    def say_error(self, error: UserError, *, buttons: Sequence[tuple[str, str, str]] = ()) -> None:
        """Title, cause and next step of something that did not work."""
        self.say(str(error), tone="bad", buttons=buttons)

    def clear(self) -> None:
        """Nothing to say: it takes no room."""
        self.hide()
        self._text.say("")
        self._make_buttons(())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Sentence and buttons beside each other where both fit on one line, else below each other."""
        buttons = self._row.sizeHint().width()
        room = self.width() - self._text.sizeHint().width() - buttons - _AROUND
        beside = bool(buttons) and room > 0
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if self._middle.direction() != direction:
            self._middle.setDirection(direction)
        upright = Qt.AlignmentFlag.AlignVCenter if beside else Qt.AlignmentFlag.AlignTop
        self._text.setAlignment(upright)
        self._sign.setAlignment(upright)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._tone == "plain":
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._back())
        painter.drawRoundedRect(self.rect(), UNIT, UNIT)

    def _back(self) -> QColor:
        theme = theme_of(self.palette())
        return {"info": theme.accent_back, "warn": theme.warn_back, "bad": theme.bad_back}[self._tone]

    def _tint(self) -> None:
        self._sign.setVisible(self._tone != "plain")
        if self._tone == "plain":
            return
        theme = theme_of(self.palette())
        color = readable(
            {"info": theme.accent, "warn": theme.warn_text, "bad": theme.bad_text}[self._tone], self._back()
        )
        self._sign.setPixmap(self._icons.pixmap(_ICONS[self._tone], 16, color, self.devicePixelRatioF()))
        self._close.setIcon(self._icons.icon("close"))
        self.update()

    def _make_buttons(self, keys: Sequence[str]) -> None:
        for button in self._buttons.values():
            self._row.removeWidget(button)
            button.hide()  # it is deleted only when the event loop comes round
            button.deleteLater()
        self._buttons = {}
        for key in keys:
            button = FitPushButton()
            button.setObjectName(key)
            button.clicked.connect(self._choose)
            self._row.addWidget(button)
            button.show()  # in a bar that is on screen a layout would show it too late for its own measure
            self._buttons[key] = button

    @Slot()
    def _choose(self) -> None:
        self.chosen.emit(self.sender().objectName())

    @Slot()
    def _dismiss(self) -> None:
        self.clear()
        self.dismissed.emit()


STAYS_MS = 8_000
"""How long a sentence of a `Toast` is shown; a warning stays until it is put away."""


class Toast(MessageBar):
    """A bar over the bottom of `below`, which nothing makes room for. What only informs goes by itself; not
    while the pointer is over it or one of its buttons has the focus."""

    def __init__(self, icons: Icons, name: str, below: QWidget) -> None:
        super().__init__(icons, name, parent=below)
        self._until = single_shot(self, STAYS_MS, self._go)
        below.installEventFilter(self)

    def say(self, text: str, *, tone: Tone = "info", buttons: Sequence[tuple[str, str, str]] = ()) -> None:
        super().say(text, tone=tone, buttons=buttons)
        self._place()
        self.raise_()
        if tone == "info":
            self._until.start()
        else:
            self._until.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parentWidget() and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return False

    def _place(self) -> None:
        """Its own height at the bottom, with some distance to the edges."""
        below = cast(QWidget, self.parentWidget())
        width = max(1, below.width() - 2 * GAP)
        self.resize(width, self.height())
        height = self.heightForWidth(width) if self.hasHeightForWidth() else self.sizeHint().height()
        self.setGeometry(GAP, max(0, below.height() - height - GAP), width, height)

    @Slot()
    def _go(self) -> None:
        focus = QApplication.focusWidget()
        pointer = self.mapFromGlobal(QCursor.pos())
        if self.rect().contains(pointer) or (focus is not None and self.isAncestorOf(focus)):
            self._until.start()
        else:
            self.clear()


# Frames that views fill.


_NARROWEST_PAGE = 320


class TabPage(QWidget):
    """`shown()`: it came to the front."""

    shown = Signal()

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST_PAGE, super().minimumSizeHint().height())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


class Heading(QWidget):
    """Title and a dim line below it at the left, flat buttons at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.below = ElidedLabel()
        embolden(self.title, 1.15)
        texts = column(None, self.title, self.below, margin=0, gap=0)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        row_of(texts, self._buttons, holder=self, grows=texts, margin=(MARGIN, GAP, GAP, GAP))
        self._tint()

    def set_actions(self, actions: Sequence[QAction]) -> None:
        for action in actions:
            self._buttons.addWidget(flat_button(action))

    def say(self, title: str, below: str) -> None:
        self.title.say(title)
        self.below.say(below)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        if hasattr(self, "below"):
            tint(self.below, theme_of(self.palette()).dim_window)


def message_box(
    parent: QWidget | None, icon: QMessageBox.Icon, title: str, text: str, more: str
) -> QMessageBox:
    """A question with plain text, `more` of it below; the caller adds the buttons."""
    box = QMessageBox(parent)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


class EmptyPage(QWidget):
    """A title and a sentence where there is nothing else."""

    def __init__(self, icons: Icons, sign: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._sign_name = sign
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.title = WrapLabel()
        embolden(self.title, 1.3)
        self.sentence = WrapLabel()
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        outer = column(self, margin=(MARGIN * 2, MARGIN, MARGIN * 2, MARGIN), gap=GAP + UNIT)
        outer.addStretch(2)
        outer.addWidget(self._sign)
        outer.addWidget(self.title)
        outer.addWidget(self.sentence)
        outer.addStretch(3)
        self._tint()

    def say(self, title: str, sentence: str) -> None:
        self.title.say(title)
        self.sentence.say(sentence)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sign"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        self._sign.setPixmap(
            self._icons.pixmap(self._sign_name, 48, theme.dim_window, self.devicePixelRatioF())
        )


class PartTab(TabPage):
    """Subclasses call `lay_out` once, and `turn_to` what is to be seen: `blank` at first, since nobody has
    looked, `nothing` or `page`."""

    def __init__(self, icons: Icons, name: str, sign: str, parent: QWidget | None = None) -> None:
        """`name`: of the message; `sign`: the icon of the page for nothing."""
        super().__init__(parent)
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.message = MessageBar(icons, name)
        self.bar = QTabBar()
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.nothing = EmptyPage(icons, sign)
        self.blank, self.page = QWidget(), QWidget()
        self._pages = stacked(self.blank, self.nothing, self.page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        # Above every page: what could not be read at the first look is said, too.
        whole.addWidget(self.message)
        whole.addWidget(self._pages, 1)

    def lay_out(
        self,
        head: Sequence[QWidget],
        below: Sequence[QWidget],
        buttons: Sequence[QWidget],
        rows: QListView,
        selected: QWidget,
        sizes: tuple[int, int],
    ) -> None:
        """`head` stands below the title, `below` and `buttons` below the bar; `sizes`: of the rows and of
        what is selected."""
        above = column(None, self.title, *head, margin=(MARGIN, MARGIN, MARGIN, UNIT), gap=UNIT)
        under = column(None, margin=(MARGIN, UNIT, MARGIN, UNIT), gap=UNIT)
        for part in below:
            under.addWidget(part)
        row = FlowLayout()
        for button in buttons:
            row.addWidget(button)
        under.addLayout(row)
        rows.setFrameShape(QListView.Shape.NoFrame)
        self.splitter = split(rows, selected, sizes=sizes, upright=True)
        column(self.page, above, self.bar, under, self.splitter, grows=self.splitter, margin=0, gap=0)

    def turn_to(self, page: QWidget) -> None:
        """The page below the rows: a part, or why there is none."""
        self._pages.setCurrentWidget(page)
