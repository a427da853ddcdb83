"""The Memory tab: three trees and the footer on the left, the editor on the right.

A narrow tab shows either the left column or the editor, with a Back button.

The module creates and connects the parts and handles the window's actions. The session provides the trees,
the buffers hold unsaved text, and the run services hold running jobs; this module adds no logic of its own to
these.

Threading: GUI thread. A note to the agent is written by a job; a failure is shown in its dialog, which stays
open with the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPoint,
    QSize,
    Qt,
    QTimer,
    Signal,
    SignalInstance,
    Slot,
)
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QMenu,
    QScrollArea,
    QToolButton,
    QWidget,
)

from reverie.agents.scopes import Scope, ScopeContext
from reverie.engine.asking import ask
from reverie.errors import AGENT_BUSY, UserError
from reverie.memory.paths import ROOT
from reverie.profile import Profile
from reverie.services.views import SearchPlace
from reverie.ui import dialogs
from reverie.ui.appearance import GAP, MARGIN, UNIT, theme_of
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.control import EditorControl
from reverie.ui.editor.draft_offers import DraftOffers
from reverie.ui.editor.drafts import DraftKeeper
from reverie.ui.editor.find import FindQuery
from reverie.ui.editor.merge_control import CoEditing
from reverie.ui.editor.pane import EditorPane
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lanes, single_shot
from reverie.ui.memory.compare import CompareControl
from reverie.ui.memory.edits import Edits, HandControl
from reverie.ui.memory.extraction import ExtractControl
from reverie.ui.memory.filters import FilterControl, TreeOrder, tree_filters
from reverie.ui.memory.findings import IndexControl, LintControl
from reverie.ui.memory.footer import Footer
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.memory.inspector import InspectorControl, UnseenControl
from reverie.ui.memory.notes_control import NotesControl
from reverie.ui.memory.orphaned_stores import OrphansControl
from reverie.ui.memory.search import MemorySearch
from reverie.ui.memory.shown_place import ShownPlace
from reverie.ui.memory.stale import StaleControl
from reverie.ui.memory.start_page import StartPage
from reverie.ui.memory.transfer import TransferControl
from reverie.ui.memory.worth_a_look import WorthControl
from reverie.ui.metrics import scaled
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.memory_tree import (
    CompanionData,
    FileData,
    FolderData,
    companion_at,
    parse_shown,
    path_of,
)
from reverie.ui.tree.model import MemoryTreeModel
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.chips import FilterChips
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import Column, FlowLayout, column, row_of, scrolling, split, stacked
from reverie.ui.widgets.messages import MessageBar, Overlay, Toast
from reverie.ui.widgets.pages import EmptyPage, Heading
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.window.actions import CONSOLIDATE_MENU, TREE_MENU, Actions, ActionState
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.services.views import SearchHit
    from reverie.ui.tree.memory_tree import Arrangement, RowData


SIDE_BY_SIDE = 640
"""The minimum width, in pixels, at which the column and the editor are shown side by side."""
LEFT_WIDTH = 490
"""The initial width of each side, in pixels at the default font size."""
_LEAST_ROWS = 116
"""The minimum height of the trees, in pixels at the default font size."""


def column_of(tab: MemoryTab) -> Column:
    """Create the column left of the editor: heading, messages, search field, filters, trees, footer."""
    left = Column()
    field = row_of(tab.search.field, tab.order.button, margin=(GAP, 0, GAP, 0), gap=None)
    pages = tab.search.pages
    pages.setMinimumHeight(scaled(left.font(), _LEAST_ROWS))
    above, below = (tab.heading, tab.trouble), (tab.notes.row, tab.footer)
    column(left, *above, field, tab.chips, pages, *below, grows=pages, margin=0, gap=0)
    bars = (tab.drafts.bar, *tab.footer.bars, tab.undo_bar)
    overlay = Overlay(pages, *bars, clear_of=tab.tree.current_rect)
    tab.tree.picked.connect(overlay.place)
    return left


class ColumnParts(QScrollArea):
    """The left column and the editor, side by side or, in a narrow window, one at a time.

    When the editor is shown alone, a Back button is above it. In a low window the area scrolls instead of
    squeezing its parts.
    """

    def __init__(self, left: Column, right: QWidget) -> None:
        super().__init__()
        width = scaled(left.font(), LEFT_WIDTH)
        self.back = FitPushButton(
            self.tr("‹ &Back"), self.tr("Back to the memories"), clicked=self.show_column
        )
        self._left, self._right = left, QWidget()
        above_right = FlowLayout(self.back)
        above_right.setContentsMargins(GAP, UNIT, GAP, 0)
        column(self._right, above_right, right, grows=right, margin=0, gap=None)
        self.splitter = split(left, self._right, sizes=(width, width), grows=self._right)
        self._is_narrow = self._shows_right = False
        scrolling(self, self.splitter)
        # The widgets inside take the focus, and the area scrolls to them.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._follow()

    @property
    def is_narrow(self) -> bool:
        """True if only one of the two parts is shown at a time."""
        return self._is_narrow

    @Slot()
    def show_column(self) -> None:
        """Show the left column if only one part is shown at a time."""
        self._shows_right = False
        self._follow()

    @Slot()
    def show_right(self) -> None:
        """Show the editor side if only one part is shown at a time."""
        self._shows_right = True
        self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        # Before the base class: hiding or showing a part changes the minimum size.
        needed = sum(part.minimumSizeHint().width() for part in (self._left, self._right))
        narrow = self.width() < max(SIDE_BY_SIDE, needed + self.splitter.handleWidth())
        if narrow and not self._is_narrow:
            focus = QApplication.focusWidget()
            self._shows_right = focus is not None and self._right.isAncestorOf(focus)
        self._is_narrow = narrow
        self._follow()
        super().resizeEvent(event)

    def _follow(self) -> None:
        """Show one part or both, depending on the width.

        If the column is hidden while it has the focus, the Back button gets it; otherwise Qt may choose any
        widget.
        """
        focus = QApplication.focusWidget()
        goes = self._is_narrow and self._shows_right
        self._right.setVisible(not self._is_narrow or self._shows_right)
        self.back.setVisible(self._is_narrow)
        if goes and focus is not None and self._left.isAncestorOf(focus):
            self.back.setFocus(Qt.FocusReason.OtherFocusReason)
        self._left.setVisible(not goes)


class EditorPlace(QWidget):
    """The right side of the Memory tab: the editor, or a page in its place.

    A page has a close button above it.
    """

    left = Signal()
    """Emitted when the user closes the page with its close button or with Escape."""

    def __init__(self, editor: QWidget, icons: Icons) -> None:
        super().__init__()
        self._editor = editor
        self.pages = stacked(editor)
        self.cross = QToolButton()
        self.cross.setAutoRaise(True)
        self.cross.setIcon(icons.icon("close"))
        self.cross.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.cross.setAccessibleName(self.tr("Back to the editor"))
        self.cross.setToolTip(as_tooltip(self.tr("Back to the editor (Esc)")))
        self.cross.clicked.connect(self.left)
        self._above = QWidget()
        row = row_of(holder=self._above, margin=(0, 0, GAP, 0))
        row.addStretch(1)
        row.addWidget(self.cross)
        column(self, self._above, self.pages, grows=self.pages, margin=0, gap=None)
        self._above.hide()

    @property
    def page(self) -> QWidget | None:
        """The page that is shown in place of the editor; None if the editor is shown."""
        shown = self.pages.currentWidget()
        return None if shown is self._editor else shown

    def show_page(self, page: QWidget | None) -> None:
        """Show `page`; None shows the editor."""
        if page is not None and self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self._above.setVisible(page is not None)
        self.pages.setCurrentWidget(page or self._editor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.page is not None:
            self.left.emit()
        else:
            super().keyPressEvent(event)


RETRY_MS = 1_500
"""Milliseconds between two attempts to write a note while the agent holds its lock."""


class TellDialog(QDialog):
    """A dialog with a text field for a note to the agent, and a message about its progress.

    After `confirmed`, the caller gets the text from `hand_over`, and reports the result with `say_waiting`,
    `show_failed` or `accept`.
    """

    confirmed = Signal()
    """Emitted when the user confirms the text."""

    def __init__(self, home: str, icons: Icons, parent: QWidget | None = None) -> None:
        """Create the dialog for the home with the name `home`."""
        super().__init__(parent)
        self._is_confirmed = self.is_being_written = self.is_asking = False
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"{self.tr('Tell Codex')} – {visible(home)}")
        self.resize(480, 300)
        what = WrapLabel(
            self.tr(
                "Enter what Codex should remember. Reverie saves the text as a note, which Codex "
                "adds to its memory the next time it consolidates."
            )
        )
        self.text = PlainTextBox()
        self.text.setAccessibleName(self.tr("What Codex should remember"))
        self.text.setTabChangesFocus(True)
        self.message = MessageBar(icons, "tell", closable=False)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.cancel_button = buttons.button(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(self.tr("Tell Codex"))
        buttons.accepted.connect(self._tell)
        buttons.rejected.connect(self.reject)
        column(self, what, self.text, self.message, buttons, gap=MARGIN)
        self.text.textChanged.connect(self._judge)
        self._judge()

    @Slot()
    def _judge(self) -> None:
        """Enable or disable the controls, because the text or the state of the write has changed."""
        self.text.setReadOnly(self.is_being_written)
        self.cancel_button.setEnabled(not self.is_being_written)
        self.accept_button.setEnabled(not self._is_confirmed and bool(self.text.content.strip()))

    @Slot()
    def _tell(self) -> None:
        """Emit `confirmed`, and disable the button."""
        self._is_confirmed = True
        self.confirmed.emit()

    def hand_over(self) -> str:
        """Return the text, and lock the dialog while the text is being written.

        If the text is blank, return "" and leave the dialog editable, because there is nothing to write.
        """
        text = self.text.content
        if not text.strip():
            self.message.clear()
            self.take_back()
            return ""
        self.is_being_written = True
        self._judge()
        return text

    def take_back(self) -> None:
        """Unlock the text, so that the user can change it and try again."""
        self._is_confirmed = self.is_being_written = False
        self._judge()

    def say_waiting(self, sentence: str) -> None:
        """Show `sentence` about a delayed write, and unlock the text for changing or discarding it."""
        self.is_being_written = False
        self.message.say(sentence)
        self._judge()

    def show_failed(self, error: UserError) -> None:
        """Show why the note was not written, and unlock the text for another attempt."""
        self.message.say_error(error)
        self.take_back()

    def reject(self) -> None:
        """Close the dialog, unless the note is being written or the user declines to discard the text."""
        if self.is_being_written or self.is_asking:
            return
        self.is_asking = True
        may_go = not self.text.content.strip() or dialogs.ask_discard_note(self)
        self.is_asking = False
        if may_go:
            super().reject()


class TellControl(QObject):
    """The controller of the "Tell Codex" dialogs, for homes whose agent takes notes (`Home.note_path`).

    Each home has at most one dialog; it stays open while another home is shown. A text is discarded only with
    the user's consent. The action registry connects its slots by name.
    """

    def __init__(self, undo_bar: MessageBar, icons: Icons, window: QWidget) -> None:
        super().__init__(window)
        self._undo_bar = undo_bar
        self._window = window
        self._icons = icons
        self._session: HomeSession | None = None
        self._dialogs: dict[str, TellDialog] = {}
        """The open dialogs, by the id of their home."""

    @property
    def dialog(self) -> TellDialog | None:
        """The open dialog of the home that is shown."""
        return self._dialogs.get(self._session.info.id) if self._session is not None else None

    @property
    def available(self) -> bool:
        """True if the agent of the shown home takes notes."""
        return self._session is not None and self._session.facts.takes_notes

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None means no home. Open dialogs stay open."""
        self._session = session

    @Slot()
    def show(self) -> None:
        """Open the dialog of the home that is shown, or bring it to the front."""
        session = self._session
        if not self.available or session is None or session.context is None:
            return
        dialog = self.dialog
        if dialog is None:
            dialog = self._dialogs[session.info.id] = TellDialog(
                session.info.label, self._icons, self._window
            )
            dialog.confirmed.connect(partial(self._write, session, session.context, dialog))
            dialog.finished.connect(partial(self._forget, session))
        dialog.show()
        dialog.activateWindow()
        dialog.text.setFocus()

    def may_close(self, home: str = "") -> bool:
        """Close the note dialog of a home and return True; return False if the user wants to keep it.

        `home`: the id of the home; "" means all homes. The user is asked if the dialog has text. A note that
        is being written counts as written.
        """
        for id_, dialog in list(self._dialogs.items()):
            # Another dialog may close while this one asks the user.
            if home in ("", id_) and id_ in self._dialogs:
                dialog.reject()
        kept = [id_ for id_, dialog in self._dialogs.items() if not dialog.is_being_written]
        return not any(home in ("", id_) for id_ in kept)

    def _forget(self, session: HomeSession, _result: int) -> None:
        del self._dialogs[session.info.id]

    def _write(self, session: HomeSession, context: ScopeContext, dialog: TellDialog) -> None:
        """Write the note in a job; while the agent holds its lock, try again every `RETRY_MS`."""

        def is_open() -> bool:
            return self._dialogs.get(session.info.id) is dialog

        def done(path: str) -> None:
            if is_open():
                dialog.accept()
            self._undo_bar.say(
                self.tr("Saved. Codex will read {path} the next time it consolidates.").format(path=path)
            )

        def failed(error: UserError) -> None:
            if not is_open():
                return
            if error.reason == AGENT_BUSY:
                sentence = self.tr(
                    "{reason} Reverie writes the note as soon as Codex has finished. Keep this dialog open."
                )
                dialog.say_waiting(sentence.format(reason=error.title))
                wait()
            else:
                dialog.show_failed(error)

        def wait() -> None:
            QTimer.singleShot(RETRY_MS, dialog, partial(again, dialog.text.content))

        def again(before: str) -> None:
            if not is_open():
                return
            # Wait while the user is typing, or is being asked whether to discard the text.
            if dialog.is_asking or dialog.text.content != before:
                wait()
            else:
                self._write(session, context, dialog)

        def cancelled() -> None:
            if is_open():
                dialog.take_back()

        text = dialog.hand_over()  # includes edits made while the write was delayed
        if text:
            note = ask(session.workbench.add_note, context, text)
            session.lanes.scan.submit("tell the agent", note, done=done, failed=failed, cancelled=cancelled)


HEADING = ("memory.new", "memory.pin", "memory.delete")
NARROWEST = 320
LATE_TREE_MS = 200
"""Milliseconds after which the old trees turn grey if the trees of the new place have not arrived."""


class MemoryTab(QWidget):
    """The Memory tab of a window.

    After `set_session` the tab updates itself from the signals of that session.
    """

    situation_changed = Signal()
    """Emitted when the set of enabled actions changes."""
    place_wanted = Signal(object)
    """Emitted with a `SearchHit` in another home or context, so that the window shows that place."""
    memory_picked = Signal(str)
    """Emitted with the path of a memory or companion when it is selected in the trees."""
    front_wanted = Signal()
    """Emitted when the tab has to come to the front to show a requested page."""

    def __init__(
        self,
        lanes: Lanes,
        icons: Icons,
        now: Callable[[], int],
        profile: Profile,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._shown = ShownPlace()
        self._hit_when_there: SearchHit | None = None
        self._focus_hit = True
        self.model = MemoryTreeModel(now, self)
        self.tree = MemoryTreeView(self.model, icons)
        self.search = MemorySearch(self.tree, icons, self._place, self)
        self.undo_bar = Toast(icons, "undo")
        self.heading = Heading()
        self.trouble = MessageBar(icons, "trouble", closable=False)
        self.footer = Footer(icons, now)
        self.footer.aged.connect(self.tree.viewport().update)
        self.pane = EditorPane(icons, profile)
        self.buffers = Buffers(theme_of(self.palette()), self)
        self.editor = EditorControl(self.pane, self.buffers, icons, self)
        self.co_editing = CoEditing(self.editor, self.pane, self.buffers, icons, self)
        self.keeper = DraftKeeper(self.buffers, self.pane, now, self)
        self.drafts = DraftOffers(self.keeper, self.buffers, self.pane, icons, self)
        self.order = TreeOrder(icons, self)
        self.chips = FilterChips(self.tr("Filter the list of memories"), tree_filters())
        self.filters = FilterControl(self._shown, self.chips, self.order, self.model, lanes.history, self)
        self.buffers.saved.connect(self.filters.expect_change)
        self.edits = Edits(self)
        self._make_controls(lanes, icons, now)
        self.no_home = StartPage()
        self.notice = EmptyPage(icons, "orphan")
        self._greyed = False
        self._late_tree = single_shot(self, LATE_TREE_MS, self._grey_old_tree)
        self._lay_out(icons)
        self._connect()

    def _make_controls(self, lanes: Lanes, icons: Icons, now: Callable[[], int]) -> None:
        """Create the controllers; each gets the parts that it works on, and reaches others by signals."""
        tree, editor, pane, edits = self.tree, self.editor, self.pane, self.edits
        self.dreams = FooterControl(self.footer, lanes, icons, self)
        self.index_care = IndexControl(self._shown, edits, tree, editor, pane, icons, self)
        self.hand = HandControl(self._shown, edits, tree, editor, self.undo_bar, self.index_care.rename, self)
        self.comparing = CompareControl(self._shown, edits, tree, self.undo_bar, icons, self)
        self.transfer = TransferControl(self._shown, tree, self.undo_bar, self.dreams.review, self)
        self.extraction = ExtractControl(self.footer, lanes, icons, now, self)
        self.lint = LintControl(self._shown, self.model, editor, pane, icons, self)
        self.stale = StaleControl(self._shown, self.lint, pane, self.hand, self)
        self.notes = NotesControl(tree, editor, pane, lanes, now, self)
        self.inspector = InspectorControl(self._shown, self.model, editor, pane, now, self)
        self.unseen = UnseenControl(self._shown, editor, pane, self.hand, now, self)
        for aging in (self.inspector.update_ages, self.unseen.update_ages):
            self.footer.aged.connect(aging)
        self.telling = TellControl(self.undo_bar, icons, self)
        self.worth = WorthControl(self._shown, edits, self.stale, self.model, icons, self)
        self.orphans = OrphansControl(edits, icons, self)

    def _lay_out(self, icons: Icons) -> None:
        self.pane.add_notice(self.index_care.panel)
        self.pane.add_notice(self.lint.findings)
        self.tree.setFrameShape(MemoryTreeView.Shape.NoFrame)
        self._right = EditorPlace(self.inspector.page, icons)
        self._right.left.connect(self._leave_page)
        self._parts = ColumnParts(column_of(self), self._right)
        self.back = self._parts.back
        self.back.clicked.connect(self.focus_tree)
        self.splitter = self._parts.splitter
        # Blank until it is known whether there is a home.
        self._pages = stacked(QWidget(), self.no_home, self._parts, self.notice)
        column(self, self._pages, margin=0, gap=None)

    def _connect(self) -> None:
        self.tree.picked.connect(self._on_picked)
        self.tree.opened.connect(self._on_opened)
        self.tree.clicked.connect(self._on_clicked)
        self.pane.came_forward.connect(self._parts.show_right)
        self.tree.customContextMenuRequested.connect(self._show_menu)
        self.editor.state_changed.connect(self._on_editor_state)
        self.editor.state_changed.connect(self.stale.show_file)
        self.editor.was_read.connect(self.stale.show_file)
        self.editor.state_changed.connect(self.keeper.note)
        self.editor.state_changed.connect(self.drafts.follow)
        self._connect_controls()
        self.search.opened.connect(self.open_hit)
        self.search.previewed.connect(self.preview_hit)
        self.order.chosen.connect(self._on_order_chosen)
        self.search.left.connect(self._on_search_left)
        self.search.field.textChanged.connect(self._on_question)
        self.search.turned.connect(self._on_search_turned)

    def _connect_controls(self) -> None:
        for changed in (
            self.dreams.state_changed,
            self.extraction.state_changed,
            self.notes.state_changed,
            self.hand.state_changed,
            self.worth.changed,
            self.stale.changed,
        ):
            changed.connect(self.situation_changed)
        self.index_care.fixed.connect(self.hand.offer_undo)
        self.index_care.moved.connect(self.hand.offer_moved)
        self.extraction.review_wanted.connect(self.dreams.review)
        self.orphans.page_wanted.connect(self.show_other)
        self.worth.page_wanted.connect(self.show_beside)
        self.worth.open_wanted.connect(self.open_line)
        self.comparing.page_wanted.connect(self.show_beside)
        self.comparing.open_wanted.connect(self.open_line)
        self.worth.decided.connect(self.hand.offer_undo)

    def set_actions(self, actions: Actions) -> None:
        """Add the window's actions to the menus, buttons and views of this tab."""
        menu = QMenu(self)
        actions.fill_menu(menu, CONSOLIDATE_MENU)
        menu.setToolTipsVisible(True)
        self.footer.set_actions(actions["dream.run"], menu)
        self.extraction.set_action(actions["dream.extract"])
        self._menu = QMenu(self)
        actions.fill_menu(self._menu, TREE_MENU)
        self.tree.addActions(list(actions.of_tree()))
        self.order.set_actions(actions)
        self.pane.set_actions(actions)
        self.inspector.inspector.set_action(actions["memory.pin"])
        self.inspector.pin_toggled.connect(self.hand.toggle_pin_of)
        for signal in (self.inspector.inspector.history_wanted, self.unseen.history_wanted):
            signal.connect(actions["memory.history"].trigger)
        for id_ in ("edit.find-next", "edit.find-previous"):
            self.search.field.addAction(actions[id_])
            self.search.list.addAction(actions[id_])
        self.heading.set_actions([actions[id_] for id_ in HEADING], below=actions["view.context"])
        self.filters.next_said.connect(actions["view.context"].setIconText)
        self.no_home.set_actions([actions["home.open"], actions["home.demo"]])

    # Sessions

    def set_session(self, session: HomeSession | None) -> None:
        """Show the home of `session`; None shows the start page."""
        old = self.session
        if old is not None:
            for signal, slot in self._wiring(old):
                signal.disconnect(slot)
        self._shown.session, self._shown.update = session, None
        if session is not None:
            for signal, slot in self._wiring(session):
                signal.connect(slot)
            self.keeper.set_session(session)
        self.editor.set_session(session)
        self.drafts.set_session(session)
        self.dreams.set_session(session)
        self.extraction.set_session(session)
        self.telling.set_session(session)
        self.lint.forget()
        self.stale.forget()
        self.worth.leave_home()
        self.filters.forget()
        self.index_care.forget()
        self.notes.set_session(session)
        self.hand.forget()
        if session is not None:
            session.arrangement = self.order.arrangement
        self._show_page(self._parts if session is not None else self.no_home)

    def _wiring(self, session: HomeSession) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        """Return the signals of a session, each paired with the slot that handles it."""
        return (
            (session.tree_changed, self.show_tree),
            (session.status_changed, self.dreams.show_status),
            (session.trouble, self.show_trouble),
            (session.history_started, self.editor.read_again),
            (session.project_changed, self.stale.look_soon),
            (session.project_changed, self.worth.look_soon),
        )

    def show_place(self, title: str, below: str) -> None:
        """Show the heading of a newly selected workspace or project; `show_tree` shows its contents later."""
        self.heading.say(title, below)
        self._show_page(self._parts)
        self.editor.close()
        self.dreams.forget(title)
        self.extraction.forget()
        self._shown.update = None
        self._late_tree.start()

    @Slot()
    def _grey_old_tree(self) -> None:
        """Grey the trees, because they still show the previous place while the heading names the new one."""
        if self.model.rowCount() and self.tree.isEnabled():
            self._greyed = True
            self.tree.setEnabled(False)

    def show_notice(self, title: str, sentence: str) -> None:
        """Show a notice in place of the trees, for a selection that has no trees."""
        self.notice.say(title, sentence)
        self._show_page(self.notice)

    @Slot(object)
    def show_other(self, page: QWidget) -> None:
        """Show `page` in place of the trees and the editor."""
        if self._pages.indexOf(page) < 0:
            self._pages.addWidget(page)
        self._show_page(page)

    @property
    def is_narrow(self) -> bool:
        """True if only the trees or the editor are shown at a time."""
        return self._parts.is_narrow

    @property
    def beside(self) -> QWidget | None:
        """The page that is shown in place of the editor; None if the editor is shown."""
        return self._right.page

    @Slot(object)
    def show_beside(self, page: QWidget | None) -> None:
        """Show `page` beside the trees; None shows the editor."""
        self._right.show_page(page)
        if page is not None:
            self._parts.show_right()
            self.front_wanted.emit()
        self.situation_changed.emit()

    @Slot()
    def _leave_page(self) -> None:
        self.show_beside(None)
        self.focus_tree()

    def show_no_home(self) -> None:
        """Show the start page, when no home was found or none is selected."""
        self._show_page(self.no_home)

    @Slot(object)
    def show_tree(self, update: TreeUpdate) -> None:
        """Show the updated trees, and update all controllers of the tab from them."""
        self._late_tree.stop()
        if self._greyed:
            self._greyed = False
            self.tree.setEnabled(True)
        self._shown.update = update
        if update.other:
            self.undo_bar.leave()
        self.model.set_view(update.view)
        self.tree.show_tree(update.tree, other=update.other)
        self.editor.follow(update)
        self.lint.follow(update)
        self.stale.follow(update)
        self.worth.follow(update)
        self.comparing.follow(update)
        self.filters.follow(update)
        self.inspector.update()
        self.unseen.follow(update)
        self.index_care.follow(update)
        self.notes.follow(update)
        self.model.set_modified(self.editor.unsaved_paths())
        self.hand.select_wanted()
        if self._hit_when_there is not None and self._open_here(self._hit_when_there):
            self._hit_when_there = None
        self.situation_changed.emit()

    @property
    def session(self) -> HomeSession | None:
        return self._shown.session

    @property
    def update_(self) -> TreeUpdate | None:
        """The update of the trees that was shown last; None if none was shown for this place yet."""
        return self._shown.update

    @property
    def has_full_tree(self) -> bool:
        """True if the trees show descriptions, sizes and pins, not only names."""
        return self._shown.update is not None and not self._shown.update.names_only

    @Slot(object)
    def show_trouble(self, error: UserError | None) -> None:
        """Show why the home cannot be read, and grey the trees; None clears both."""
        if error is None:
            self.trouble.clear()
        else:
            self.trouble.say_error(error)
        self.tree.setEnabled(error is None)
        self.dreams.set_available(error is None)

    def _show_page(self, page: QWidget) -> None:
        self._pages.setCurrentWidget(page)
        self.situation_changed.emit()

    @Slot(object)
    def _on_order_chosen(self, arrangement: Arrangement) -> None:
        if self.session is not None:
            self.session.arrange(arrangement)

    # The tree's selection

    @Slot(object)
    def _on_picked(self, data: RowData | None) -> None:
        if isinstance(data, FileData | CompanionData):
            self.editor.pick(data)
            self.memory_picked.emit(path_of(data))
        self.unseen.pick(data)
        self.situation_changed.emit()

    @Slot(object)
    def _on_opened(self, data: RowData | None) -> None:
        if isinstance(data, FileData | CompanionData):
            self.show_beside(None)
            self.editor.open(data, focus=True)
        elif data is not None:
            index = self.tree.currentIndex()
            self.tree.setExpanded(index, not self.tree.isExpanded(index))

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        """Show the clicked memory in the editor if only one part is shown at a time."""
        if self._parts.is_narrow and isinstance(self.tree.data_at(index), FileData | CompanionData):
            self._parts.show_right()

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        self._menu.popup(self.tree.viewport().mapToGlobal(at))

    @Slot()
    def _on_editor_state(self) -> None:
        self.model.set_modified(self.editor.unsaved_paths())
        self.situation_changed.emit()

    def path_for_history(self) -> str:
        """Return the path of the selected row, else that of the open memory, else the global scope."""
        row = self.tree.current_data()
        if isinstance(row, CompanionData):
            return str(row.companion.path)
        file = self.editor.file
        open_path = file.buffer.address.path if file is not None else ""
        return path_of(row) or (open_path if parse_shown(open_path) else "") or f"{ROOT}/{Scope.GLOBAL.value}"

    def edit_selected(self) -> None:
        """Open the selected memory in the editor."""
        self._on_opened(self.tree.current_data())

    def _leave_other(self) -> None:
        """Show the trees again if another page covers them."""
        if self._shown.update is not None:
            self._show_page(self._parts)

    def focus_tree(self) -> None:
        """Move the focus into the tree, and select its first row if none is selected."""
        self._leave_other()
        self._parts.show_column()
        self.tree.setFocus()
        if not self.tree.currentIndex().isValid():
            self.tree.setCurrentIndex(self.model.index(0))

    def focus_search(self) -> None:
        """Move the focus into the search field."""
        self._leave_other()
        self._parts.show_column()
        self.search.focus()

    @Slot()
    def _on_search_left(self) -> None:
        self._hit_when_there = None
        self.focus_tree()

    @Slot(bool)
    def _on_search_turned(self, is_shown: bool) -> None:
        """Enable the filters and the order only while the trees are shown, not for search results."""
        for widget in (self.chips, self.order.button):
            widget.setEnabled(not is_shown)

    @Slot(str)
    def _on_question(self, text: str) -> None:
        if not text.strip():
            self.pane.view.seek(None)

    @Slot(object)
    def open_hit(self, hit: SearchHit) -> None:
        """Open a search result, after switching to its home and context if necessary."""
        self._show_hit(hit, focus=True)

    @Slot(object)
    def preview_hit(self, hit: SearchHit) -> None:
        """Show a search result as `open_hit` does, but leave the focus in the list of results."""
        self._show_hit(hit, focus=False)

    def _place(self) -> SearchPlace | None:
        """Return the shown workspace or project, whose memories the search ranks first.

        None if no trees are shown.
        """
        update = self._shown.update
        if update is None:
            return None
        return SearchPlace(update.view.context.project_path, update.view.context.workspace_id)

    def _show_hit(self, hit: SearchHit, *, focus: bool) -> None:
        """Highlight the matches in the editor, and open the hit or, if it is elsewhere, request its place."""
        pattern = self.search.pattern(hit)
        self.pane.view.seek(FindQuery(pattern, regex=True) if pattern else None)
        self._hit_when_there, self._focus_hit = None, focus
        self.show_beside(None)
        if not self._open_here(hit) and hit.reachable:
            self._hit_when_there = hit
            self.place_wanted.emit(hit)

    def _open_here(self, hit: SearchHit) -> bool:
        """Open the search result and return True, if the shown trees contain it; otherwise return False."""
        update, session = self._shown.update, self._shown.session
        if update is None or session is None or hit.home_id != session.info.id:
            return False
        if hit.companion:
            found: RowData | None = companion_at(update.tree, hit.path)
        else:
            root = update.view.scopes[hit.scope].root
            is_here = root is not None and root.key == hit.root_key
            found = self.tree.reveal(hit.path) if is_here else None
        if found is not None:
            self.editor.open(found, focus=self._focus_hit, line=hit.snippet.line)
        return found is not None

    @Slot(str, int)
    def open_line(self, path: str, line: int = 0) -> bool:
        """Open a memory or companion at a line, and return True; return False if the trees do not contain it.

        `line` is counted from 1; 0: the last position.
        """
        update = self._shown.update
        if update is None:
            return False
        found: RowData | None = companion_at(update.tree, path)
        if found is None:
            found = self.tree.reveal(path)
        if found is None:
            return False
        self.show_beside(None)
        self.editor.open(found, focus=True, line=line)
        return True

    def mark_seen(self) -> None:
        """Mark all changes by other programs as seen, which removes their badges from the trees."""
        if self.session is not None:
            self.session.mark_seen()

    # Actions

    def situation(self, now: ActionState) -> ActionState:
        """Return `now` with those facts set that depend on this tab, such as the selected row."""
        # Actions on the selection are enabled only while the selection is visible.
        shown = self._shown.update is not None and self._pages.currentWidget() is self._parts
        data = self.tree.current_data() if shown else None
        file, session = self.editor.file, self._shown.session
        is_here = session is not None and session.is_here
        return replace(
            now,
            context=shown and self.tree.isEnabled(),
            file=isinstance(data, FileData) and self.tree.isEnabled(),
            folder=isinstance(data, FolderData) and self.tree.isEnabled(),
            companion=isinstance(data, CompanionData),
            on_disk=isinstance(data, FileData | FolderData | CompanionData) and is_here,
            pinned=isinstance(data, FileData) and data.file.usage.pinned,
            open_file=file is not None,
            writable=file is not None and not file.read_only and not file.saving,
            modified=file is not None and (file.buffer.modified or file.buffer.banner in ("deleted", "gone")),
            any_modified=bool(self.buffers.unsaved()),
            conflicts=file is not None and bool(file.conflicts),
            undo=self.edits.last is not None,
            redo=self.edits.can_redo,
            running=self.dreams.jobs.running,
            can_consolidate=not self.dreams.obstacle,
            agent_jobs=self.footer.agent_reported,
            can_extract=self.extraction.available and shown,
            can_note=self.notes.available and shown,
            can_tell=self.telling.available and shown,
            fixable=any(claim.replacement for claim in self.stale.of_open()),
        )

    # Width

    def minimumSizeHint(self) -> QSize:
        """Return a width that is too small for both parts, because a narrow tab shows one at a time."""
        return QSize(NARROWEST, super().minimumSizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buffers"):
            self.buffers.set_theme(theme_of(self.palette()))
