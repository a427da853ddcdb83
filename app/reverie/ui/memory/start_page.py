"""The start page, for the first window and for a window without a home, and the privacy dialog.

The page has a card for each home that was found, buttons to open another home, and a summary of the data that
Reverie reads and sends.

Threading: GUI thread; no files are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QFont, QFontMetrics, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from reverie.profile import Profile
from reverie.ui.appearance import GAP, MARGIN, UNIT, theme_of
from reverie.ui.display_text import as_tooltip, counted, tr, visible
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, row_of, scrolled
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.services.views import HomeInfo

_WIDEST_CHARS = 80


class HomeSummary(Struct, frozen=True):
    """The texts on the card (a large button) of a home."""

    id: str
    agent: str
    place: str
    counts: str


def home_summary(info: HomeInfo) -> HomeSummary:
    """Return the texts for the card of an open home."""
    projects, workspaces = len(info.contents.projects), len(info.contents.workspaces())
    parts = [counted(tr("1 project"), "%n projects", projects)] if projects else []
    if workspaces:
        parts.append(counted(tr("1 workspace"), "%n workspaces", workspaces))
    return HomeSummary(info.id, visible(info.kind), visible(info.label), " · ".join(parts))


class HomeCard(QPushButton):
    """A button with two lines: the agent and the contents of its home, and the home's location."""

    def __init__(self, home: HomeSummary, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.home = home
        self.setAccessibleName(", ".join(filter(None, (home.agent, home.counts, home.place))))
        self.setToolTip(as_tooltip(home.place))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 40, 2 * self.fontMetrics().height() + 4 * GAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 12, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        painter.drawControl(QStyle.ControlElement.CE_PushButtonBevel, option)
        inside = self.rect().adjusted(MARGIN, GAP, -MARGIN, -GAP)
        line = self.fontMetrics().height()
        upper = QRect(inside.left(), inside.center().y() - line - UNIT // 2, inside.width(), line)
        bold = QFont(self.font())
        bold.setBold(True)
        text = self.palette().color(QPalette.ColorRole.ButtonText)
        dim = theme_of(self.palette()).dim_window
        right, left = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignLeft
        painter.setPen(dim)
        painter.drawText(upper, right, self.home.counts)
        used = self.fontMetrics().horizontalAdvance(self.home.counts) + GAP
        name = upper.adjusted(0, 0, -used, 0)
        painter.setFont(bold)
        painter.setPen(text)
        elide = Qt.TextElideMode.ElideRight
        painter.drawText(name, left, QFontMetrics(bold).elidedText(self.home.agent, elide, name.width()))
        painter.setFont(self.font())
        painter.setPen(dim)
        lower = upper.translated(0, line + UNIT)
        place = self.fontMetrics().elidedText(self.home.place, Qt.TextElideMode.ElideMiddle, lower.width())
        painter.drawText(lower, left, place)
        if self.hasFocus():
            option.rect = self.rect().adjusted(2, 2, -2, -2)
            painter.drawPrimitive(QStyle.PrimitiveElement.PE_FrameFocusRect, option)


class StartPage(QWidget):
    """The page with the cards of the homes, and with buttons to open another one."""

    chosen = Signal(str)
    """Emitted with the id of the home when its card is clicked."""
    privacy_wanted = Signal()
    """Emitted when the user wants to read about privacy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.sentence = WrapLabel(), WrapLabel()
        embolden(self.title, 1.55)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(GAP)
        self._buttons = FlowLayout()
        self._acting: list[QPushButton] = []
        self._trouble = False
        self.privacy = tuple(
            WrapLabel(line)
            for line in (
                self.tr("Opening a home does not change any of its files."),
                self.tr("Memories are sent to a remote model only after you approve files and provider."),
                self.tr("Nothing runs in the background until you turn it on."),
            )
        )
        lines = column(None, *self.privacy, margin=(0, MARGIN, 0, 0), gap=UNIT)
        self.more = FitPushButton(self.tr("More about &privacy"))
        self.more.setFlat(True)
        self.more.clicked.connect(self.privacy_wanted)
        inside = QWidget()
        inside.setMaximumWidth(self.fontMetrics().averageCharWidth() * _WIDEST_CHARS)
        parts = (self.title, self.sentence, self._cards, self._buttons, lines, self.more)
        inner = column(inside, *parts, margin=2 * MARGIN, gap=MARGIN)
        inner.setAlignment(self.more, Qt.AlignmentFlag.AlignLeft)
        inner.insertStretch(0, 1)
        inner.addStretch(2)
        centred = QWidget()
        row_of(inside, holder=centred, grows=inside)
        area = scrolled(centred, self.tr("Start"))
        column(self, area, margin=0, grows=area)
        self.show_homes(())

    def set_actions(self, actions: Sequence[QAction]) -> None:
        """Add a push button for each action."""
        for action in actions:
            button = FitPushButton(action.text(), action.toolTip(), clicked=action.trigger)
            self._buttons.addWidget(button)
            self._acting.append(button)
        self._order()

    def _order(self) -> None:
        """Set the tab order from top to bottom, whatever the order of creation."""
        for one, other in pairwise((*self.cards, *self._acting, self.more)):
            self.setTabOrder(one, other)

    def focus(self) -> None:
        """Move the focus to the first card or, if there is none, to the first button."""
        next(iter((*self.cards, *self._acting, self.more))).setFocus()

    @property
    def cards(self) -> tuple[HomeCard, ...]:
        """The cards, in the order in which the homes were found."""
        items = (self._cards.itemAt(at) for at in range(self._cards.count()))
        cards = (item.widget() for item in items if item is not None)
        return tuple(card for card in cards if isinstance(card, HomeCard))

    def show_homes(self, infos: Sequence[HomeInfo]) -> None:
        """Show a card for each open home; existing cards are kept."""
        homes = [home_summary(info) for info in infos]
        before = {card.home: card for card in self.cards}
        for home, card in before.items():
            if home not in homes:
                self._cards.removeWidget(card)
                card.deleteLater()
        for at, home in enumerate(homes):
            if home not in before:
                made = HomeCard(home)
                made.clicked.connect(self._on_card)
                self._cards.insertWidget(at, made)
        self._order()
        if self._trouble:
            return  # the message about the trouble is more useful than the usual text
        if homes:
            self.title.say(self.tr("Welcome to Reverie"))
            self.sentence.say(self.tr("These agents keep memories on this computer. Choose one to open."))
        else:
            self.title.say(self.tr("No home is open"))
            self.sentence.say(
                self.tr(
                    "A home is the directory where an agent stores its memories, such as ~/.claude, "
                    "~/.codex or ~/.mux. No home was found in the usual locations."
                )
            )

    def say_trouble(self, title: str, sentence: str) -> None:
        """Show why the requested home is not shown, above the cards, until `forget_trouble`."""
        self._trouble = True
        self.title.say(title)
        self.sentence.say(sentence)

    def forget_trouble(self) -> None:
        """Return to the usual text at the next call of `show_homes`. Called once a home is shown."""
        self._trouble = False

    @Slot()
    def _on_card(self) -> None:
        card = self.sender()
        assert isinstance(card, HomeCard)
        self.chosen.emit(card.home.id)


class PrivacyDialog(QDialog):
    """A dialog that lists what Reverie reads, runs and sends, and where it stores its own files."""

    def __init__(self, profile: Profile, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Privacy"))
        inside = QWidget()
        outer = column(inside, margin=0, gap=UNIT)
        self.text = ""
        for title, body in self._sections(profile):
            head, text = WrapLabel(title), WrapLabel(body)
            embolden(head)
            head.setContentsMargins(0, GAP if self.text else 0, 0, 0)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            outer.addWidget(head)
            outer.addWidget(text)
            self.text += body + "\n"
        outer.addStretch(1)
        area = scrolled(inside, self.windowTitle())
        buttons = QDialogButtonBox()
        close = buttons.addButton(self.tr("&Close"), QDialogButtonBox.ButtonRole.RejectRole)
        close.setFocus()
        buttons.rejected.connect(self.reject)
        column(self, area, buttons, grows=area)
        letter = self.fontMetrics()
        self.resize(letter.averageCharWidth() * 90, letter.height() * 32)

    def _sections(self, profile: Profile) -> tuple[tuple[str, str], ...]:
        """Return the title and text of each section."""
        return (
            (
                self.tr("What Reverie reads"),
                self.tr(
                    "Reverie reads the memories in your homes and the files stored with them: pins and use "
                    "counts, records of past runs, and instruction files. It opens transcripts and traces "
                    "only when a view or a run needs them. Viewing files never changes them."
                ),
            ),
            (
                self.tr("What Reverie never reads"),
                self.tr(
                    "Reverie never reads an agent's credentials: it does not open files with keys, "
                    "tokens or logins. Keys for models come from the environment or the system keyring."
                ),
            ),
            (
                self.tr("What runs in the background"),
                self.tr(
                    "Background runs are off in every home until you turn them on in Settings. The history "
                    "keeps the state before and after each run, so you can undo what the run changed."
                ),
            ),
            (
                self.tr("Where text is sent"),
                self.tr(
                    "A run without a model sends nothing. A run with a model sends the memories, and any "
                    "other text the model reads, to the model's provider. Before the first run with a "
                    "remote model, Reverie shows you the files and the provider and asks for your approval."
                ),
            ),
            (
                self.tr("Where Reverie stores its own files"),
                self.tr("Settings: {settings}. History and runs: {data}. Drafts and logs: {state}.").format(
                    settings=_short(profile.settings_file),
                    data=_short(profile.data),
                    state=_short(profile.state),
                ),
            ),
        )


def _short(path: Path) -> str:
    """Return a path with `~` for the user's home directory."""
    home = str(Path.home())
    text = str(path)
    return visible("~" + text.removeprefix(home) if text.startswith(home + "/") else text)
