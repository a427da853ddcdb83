"""Messages in the window: bars beside their subject, bars that lie over a view, and a box with a question.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QCursor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QLabel,
    QLayout,
    QMessageBox,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from reverie.errors import UserError
from reverie.ui.appearance import GAP, UNIT, readable, theme_of
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import FitPushButton, FitSmallButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, row_of

Tone = Literal["info", "warn", "bad", "plain"]
"""The style of a message. `plain` has no icon and no tint."""


# Width of the icon, the cross and the gaps between.
_AROUND = 90


_ICONS = {"info": "info", "warn": "warning", "bad": "error"}


class MessageBar(QWidget):
    """A bar with an icon, a sentence and buttons; hidden while it has no message.

    Most bars of a window never have a message, so a bar creates its icon, label and buttons only when its
    first message is shown.

    Signals:
        chosen(str): The key of the button that was pressed.
        dismissed(): The user closed the bar with its cross.
    """

    chosen = Signal(str)
    dismissed = Signal()

    def __init__(
        self, icons: Icons, name: str, *, closable: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icons = icons
        self._tone: Tone = "info"
        self._closable = closable
        self._buttons: dict[str, FitPushButton] = {}
        self.lies_over = False
        """True if the bar lies over other text, so that it needs a ground and an edge of its own."""
        self.setObjectName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.hide()

    def _make(self) -> None:
        """Create the icon, the label and the close button; called for the first message."""
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._text = WrapLabel()
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.setToolTip(self.tr("Dismiss"))
        if not self._closable:
            self._close.hide()  # showing a widget without a parent would open a window
        self._close.clicked.connect(self._dismiss)
        self._row = FlowLayout()
        self._middle = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._middle.setSpacing(UNIT)
        self._middle.addWidget(self._text, 1)
        self._middle.addLayout(self._row)
        outer = row_of(
            self._sign, self._middle, holder=self, grows=self._middle, margin=(GAP, UNIT + 2, UNIT, UNIT + 2)
        )
        outer.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        # A new widget is the last one of the window; the Tab key reaches the cross from its neighbours.
        QWidget.setTabOrder(self, self._close)

    @property
    def text(self) -> str:
        return self._text.text() if self.layout() is not None else ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the buttons of the current message."""
        return tuple(self._buttons)

    def button(self, key: str) -> FitPushButton:
        """Return the button with this key; the current message must have it."""
        return self._buttons[key]

    def say(self, text: str, *, tone: Tone = "info", buttons: Sequence[tuple[str, str, str]] = ()) -> None:
        """Show a sentence, with buttons given as (key, label, tool tip).

        `tone` decides the icon and the colour: `info`, `warn` (a warning), `bad` (an error) or `plain` (no
        icon and no colour).
        """
        if self.layout() is None:
            self._make()
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
        """Show the title, cause and next step of an error; for `buttons` see `say`."""
        self.say(str(error), tone="bad", buttons=buttons)

    def clear(self) -> None:
        """Hide the bar and remove its sentence and buttons."""
        self.hide()
        if self.layout() is not None:
            self._text.say("")
            self._make_buttons(())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.layout() is not None:
            self._arrange()

    def _arrange(self) -> None:
        """Place the buttons beside the sentence if both fit on one line, else below it."""
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
        if event.type() == QEvent.Type.PaletteChange and self.layout() is not None:
            self._tint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._tone == "plain" and not self.lies_over:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme_of(self.palette()).line if self.lies_over else Qt.PenStyle.NoPen)
        painter.setBrush(self._back())
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), UNIT, UNIT)

    def _back(self) -> QColor:
        theme = theme_of(self.palette())
        back = {"info": theme.accent_back, "warn": theme.warn_back, "bad": theme.bad_back}
        return back.get(self._tone, theme.window)

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
            button.hide()  # it is deleted only by the event loop
            button.deleteLater()
        self._buttons = {}
        for key in keys:
            button = FitSmallButton()
            button.setObjectName(key)
            button.clicked.connect(self._choose)
            self._row.addWidget(button)
            button.show()  # in a visible bar a layout would show it too late to measure it
            self._buttons[key] = button

    @Slot()
    def _choose(self) -> None:
        self.chosen.emit(self.sender().objectName())

    @Slot()
    def _dismiss(self) -> None:
        self.clear()
        self.dismissed.emit()


STAYS_MS = 8_000
"""The time in milliseconds for which a `Toast` is shown; a warning stays until it is dismissed."""


class Toast(MessageBar):
    """A message bar of which a message of the tone `info` disappears after some time.

    The time, `stays_ms` in milliseconds, begins again while the pointer is over the bar, while one of its
    buttons has the focus, and while the user works in another window.
    """

    def __init__(self, icons: Icons, name: str, stays_ms: int = STAYS_MS) -> None:
        super().__init__(icons, name)
        self._until = single_shot(self, stays_ms, self._go)

    def say(self, text: str, *, tone: Tone = "info", buttons: Sequence[tuple[str, str, str]] = ()) -> None:
        super().say(text, tone=tone, buttons=buttons)
        if tone == "info":
            self._until.start()
        else:
            self._until.stop()

    def leave(self) -> None:
        """Hide a message that would soon disappear; call this when the window shows another place.

        A warning stays until the user closes it.
        """
        if self._until.isActive():
            self.clear()

    @Slot()
    def _go(self) -> None:
        focus = QApplication.focusWidget()
        is_used = focus is not None and self.isAncestorOf(focus)
        is_used |= self.isVisible() and self.rect().contains(self.mapFromGlobal(QCursor.pos()))
        if is_used or not self.window().isActiveWindow():
            self._until.start()
        else:
            self.clear()


class Overlay(QWidget):
    """Message bars that lie over the lower edge of a widget, so that nothing moves when one is shown.

    They lie over the upper edge while they would cover the rectangle that `clear_of` returns.
    """

    covers = Signal(int)
    """Emitted with the height in pixels, from the lower edge, that the bars cover; also if it is the same."""

    def __init__(self, over: QWidget, *bars: MessageBar, clear_of: Callable[[], QRect] | None = None) -> None:
        """Add the bars, the first one on top, to the parent widget of `over`, which must have one.

        `clear_of` returns a rectangle in the coordinates of `over`; None: nothing has to stay visible.
        """
        super().__init__(over.parentWidget())
        self._over, self._bars, self._clear_of = over, bars, clear_of or QRect
        column(self, *bars, margin=0, gap=UNIT)
        for bar in bars:
            bar.lies_over = True
            bar.installEventFilter(self)
        over.installEventFilter(self)
        self.hide()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.place()
        return handled

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (_OF_OVER if watched is self._over else _OF_BARS):
            self.place()
        return False

    @Slot()
    def place(self) -> None:
        """Show the bars that have a message, at the edge where they do not cover what has to stay visible."""
        covered = 0
        shown = not self._over.isHidden() and any(not bar.isHidden() for bar in self._bars)
        if shown:
            inside, layout = self._over.geometry(), cast(QLayout, self.layout())
            width = max(1, inside.width() - 2 * GAP)
            self.resize(width, self.height())
            layout.activate()
            height = min(max(layout.heightForWidth(width), layout.minimumSize().height()), inside.height())
            top = max(0, inside.height() - height - UNIT)
            if self._clear_of().bottom() >= top and top > height:
                top = 0
            else:
                covered = height + 2 * UNIT
            self.setGeometry(inside.left() + GAP, inside.top() + top, width, height)
        self.setVisible(shown)
        self.raise_()
        self.covers.emit(covered)


_OF_BARS = (QEvent.Type.ShowToParent, QEvent.Type.HideToParent)
_OF_OVER = (*_OF_BARS, QEvent.Type.Resize, QEvent.Type.Move)


def message_box(
    parent: QWidget | None, icon: QMessageBox.Icon, title: str, text: str, more: str
) -> QMessageBox:
    """Return a message box with the plain text `text` and, below it, `more`; the caller adds the buttons."""
    box = QMessageBox(parent)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box
