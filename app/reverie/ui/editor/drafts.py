"""Keeps what is typed and not saved as drafts, so that a killed window loses half a second of typing at
most.

The engine writes the drafts. The text stays here until its draft is on disk, and is sent again to the engine
that follows one that died. One rule: what lies on disk follows the unsaved buffers. `note` says that
something may be different; at most every `KEEP_MS` the keeper has each unsaved text written that is not kept
as it stands, and the drafts removed of what was saved, undone, renamed or thrown away (after the new one is
written, never before).

Threading: GUI thread; texts are put together, written and removed by jobs on a lane of its own, so that a
long scan delays no draft. Failure: told once and tried again, soon and with each change; that an engine died
is told only if the next one does not help. No text reaches a log.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QListWidgetItem, QWidget

from reverie.clock import Clock
from reverie.engine.asking import ask
from reverie.engine.client import EngineGone
from reverie.errors import UserError
from reverie.memory.diff import unified
from reverie.services.views import Draft, draft_name, file_text
from reverie.ui.appearance import Icons
from reverie.ui.display_text import as_tooltip, counted, exact_time, visible
from reverie.ui.editor import documents as state
from reverie.ui.editor.control import Buffers
from reverie.ui.editor.documents import Address, FileRef, OpenFile, written
from reverie.ui.editor.pane import EditorPane
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column, split
from reverie.ui.widgets.messages import MessageBar, Tone
from reverie.ui.widgets.text_views import DiffView
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.services.views import FileText, Offer, Offers


KEEP_MS = 500
AGAIN_MS = 3000
LAST_WORK_S = 2.0
AWAY_S = 2.0
"""An engine that died is there again within a second: one that is away for longer is told of."""
_Mark = tuple[int, int, str | None, str]


class _Typed(Struct, frozen=True):
    """An unsaved text on its way to the disk."""

    workbench: HomeEngine
    ref: FileRef
    address: Address
    text: str
    base: FileText | None
    style: FileText | None
    cursor: int
    mark: _Mark
    replaces: frozenset[str]


class _SavedDraft(Struct):
    """What lies on disk of a buffer: the state that was written last, and every file that holds it."""

    workbench: HomeEngine
    mark: _Mark | None = None
    names: set[str] = field(default_factory=set)


_Gone = dict[FileRef, _SavedDraft]


class _DraftsDone(Struct):
    """What a job did: drafts written, with their names; those that could not be removed; why something
    failed."""

    written: list[tuple[_Typed, str]] = field(default_factory=list)
    left: _Gone = field(default_factory=dict)
    error: UserError | None = None


class DraftKeeper(QObject):
    """`kept()`: everything typed lies on disk. `failed(UserError)`: a draft could not be written."""

    kept = Signal()
    failed = Signal(object)

    def __init__(self, buffers: Buffers, pane: EditorPane, clock: Clock, parent: QObject) -> None:
        super().__init__(parent)
        self.instance = secrets.token_hex(4)
        self._buffers = buffers
        self._pane = pane
        self._clock = clock
        self._homes: dict[str, HomeEngine] = {}
        self._drafts: dict[FileRef, _SavedDraft] = {}
        self.lane = Lane("drafts", self)
        self._busy = False
        self._again = False
        self._told = False
        self._gone_since: float | None = None
        self._thrown_away = False
        self._stopped = False
        self._timer = single_shot(self, KEEP_MS, self.flush)
        self._retry = single_shot(self, AGAIN_MS, self.flush)
        buffers.changed.connect(self.note)
        pane.text.textChanged.connect(self.note)
        pane.text.installEventFilter(self)

    def set_session(self, session: HomeSession) -> None:
        """Drafts of this home's files are kept through this session from now on."""
        self._homes[session.info.id] = session.workbench

    def adopt(self, ref: FileRef, name: str) -> None:
        """The text of draft `name` is in the editor now: it lives and dies with that buffer."""
        kept = self._drafts.setdefault(ref, _SavedDraft(self._homes[ref.home]))
        kept.names.add(name)
        self.flush()

    @Slot()
    def note(self) -> None:
        """Something may have been typed, saved, renamed or thrown away."""
        if not self._timer.isActive() and not self._stopped:
            self._timer.start()

    @Slot()
    def flush(self) -> None:
        """Make the disk follow now."""
        self._timer.stop()
        self._retry.stop()
        if self._busy:
            self._again = True
            return
        typed, gone = self._differences()
        if not typed and not gone:
            return
        self._busy = True
        for ref in gone:
            del self._drafts[ref]
        job = self._job(typed, gone)
        self.lane.submit("keep drafts", job, done=self._on_done, cancelled=self._on_cancelled)

    def throw_away(self) -> None:
        """A person wants none of the unsaved texts: their drafts go with the window."""
        self._thrown_away = True

    def stop(self) -> None:
        """The last work, then the end of the thread. Waits at most `LAST_WORK_S`. Calling it again is
        harmless."""
        if self._stopped:
            return
        self._stopped = True
        self._timer.stop()
        self._retry.stop()
        typed, gone = self._differences()
        last, over = self._job(typed, gone), threading.Event()

        async def work(control: JobControl) -> None:
            try:
                await last(control)
            finally:
                over.set()

        self.lane.submit("keep the last drafts", work, done=_nothing, failed=_nothing)
        over.wait(LAST_WORK_S)
        self.lane.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and not self._stopped:
            self.flush()
        return super().eventFilter(watched, event)

    # What differs

    def _differences(self) -> tuple[list[_Typed], _Gone]:
        unsaved = {} if self._thrown_away else {file.buffer.ref: file for file in self._buffers.unsaved()}
        typed = []
        for ref, file in unsaved.items():
            if ref.home not in self._homes:
                continue
            kept = self._drafts.setdefault(ref, _SavedDraft(self._homes[ref.home]))
            if kept.mark != _mark(file):
                typed.append(self._typed(file, kept))
        gone = {ref: kept for ref, kept in self._drafts.items() if ref not in unsaved}
        return typed, gone

    def _typed(self, file: OpenFile, kept: _SavedDraft) -> _Typed:
        shown = file is self._pane.file
        buffer = file.buffer
        return _Typed(
            kept.workbench,
            buffer.ref,
            buffer.address,
            file.text,
            buffer.base,
            buffer.base or buffer.style,
            self._pane.text.textCursor().position() if shown else file.cursor,
            _mark(file),
            frozenset(kept.names),
        )

    def _job(
        self, typed: list[_Typed], gone: _Gone
    ) -> Callable[[JobControl], Coroutine[Any, Any, _DraftsDone]]:
        instance, now = self.instance, self._clock()
        away = [(ref, kept.workbench, frozenset(kept.names)) for ref, kept in gone.items()]

        async def work(_control: JobControl) -> _DraftsDone:
            found = _DraftsDone()
            for each in typed:
                # One home that is in trouble must not hold up the drafts of another.
                try:
                    name = await ask(
                        each.workbench.drafts.keep, _draft(each, now), instance, replaces=each.replaces
                    )
                    found.written.append((each, name))
                except UserError as error:
                    found.error = error
            for ref, workbench, names in away:
                try:
                    await ask(workbench.drafts.drop, (*names, draft_name(ref.store, ref.rel, instance)))
                except UserError as error:
                    found.left[ref] = gone[ref]
                    found.error = error
            return found

        return work

    def _on_done(self, found: _DraftsDone) -> None:
        self._busy = False
        for typed, name in found.written:
            kept = self._drafts[typed.ref]
            kept.mark = typed.mark
            kept.names = (kept.names - typed.replaces) | {name}
        for ref, left in found.left.items():
            self._drafts.setdefault(ref, _SavedDraft(left.workbench)).names.update(left.names)
        if found.error is not None:
            self._on_failed(found.error)
            return
        self._told, self._gone_since = False, None
        if self._again or not self._is_kept():
            self._again = False
            self.note()
        else:
            self.kept.emit()

    def _on_failed(self, error: UserError) -> None:
        self._busy = self._again = False
        if isinstance(error, EngineGone):
            now = time.monotonic()
            self._gone_since = now if self._gone_since is None else self._gone_since
            if now - self._gone_since < AWAY_S:
                self.note()  # the next call starts another engine
                return
        if not self._stopped:
            self._retry.start()
        if not self._told:
            self._told = True
            self.failed.emit(error)

    def _on_cancelled(self) -> None:
        self._busy = False

    def _is_kept(self) -> bool:
        unsaved = {file.buffer.ref: file for file in self._buffers.unsaved()}
        return unsaved.keys() == self._drafts.keys() and all(
            self._drafts[ref].mark == _mark(file) for ref, file in unsaved.items()
        )


def _mark(file: OpenFile) -> _Mark:
    """Another mark: something about the draft is another."""
    buffer = file.buffer
    return (id(file.document), file.document.revision(), buffer.expected_sha256, buffer.address.label)


def _draft(typed: _Typed, now: int) -> Draft:

    return Draft(
        store=typed.ref.store,
        rel=typed.ref.rel,
        path=typed.address.path,
        context=typed.address.context,
        content=written(typed.style, typed.text),
        base=typed.style.content if typed.style is not None else None,
        base_sha256=typed.base.sha256 if typed.base is not None else None,
        cursor=typed.cursor,
        at_ms=now,
    )


def _nothing(_value: object) -> None:
    """The window is going; nobody is left to be told."""


# Offers the drafts that a killed window left: at the start of their home, and when their file is opened.
#
# A draft stays on disk until its text is in the editor and kept as that buffer's own draft, or a person
# discarded it. "Keep for later" and closing change nothing; the next start offers it again.
#
# Threading: GUI thread; looking, comparing and removing are jobs on the drafts' lane.


class DraftOffers(QObject):
    """What is offered of the shown home. `bar` tells of all of it; the pane tells of the shown file's."""

    def __init__(
        self, keeper: DraftKeeper, buffers: Buffers, pane: EditorPane, icons: Icons, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._buffers = buffers
        self._pane = pane
        self._icons = icons
        self._session: HomeSession | None = None
        self._offers: dict[str, Offer] = {}
        self._later: set[str] = set()
        self._has_looked = False
        self._not_kept = ""
        self.dialog: DraftsDialog | None = None
        self.bar = MessageBar(icons, "drafts")
        self.bar.chosen.connect(self._on_bar)
        pane.draft.chosen.connect(self._on_pane)
        pane.draft.dismissed.connect(self._on_dismissed)
        keeper.failed.connect(self._on_not_kept)
        keeper.kept.connect(self._on_kept)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return tuple(self._offers.values())

    def set_session(self, session: HomeSession | None) -> None:
        """Another home: look what was left there."""
        if self._session is not None:
            self._session.overwritten.disconnect(self.look_again)
            self._session.tree_changed.disconnect(self._on_tree)
            self._session.trouble.disconnect(self._on_trouble)
        self._session = session
        self._has_looked = False
        self._offers = {}
        self.bar.clear()
        if self.dialog is not None:
            self.dialog.reject()
        if session is not None:
            session.overwritten.connect(self.look_again)
            session.tree_changed.connect(self._on_tree)
            session.trouble.connect(self._on_trouble)

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """The trees are on screen and do not wait for drafts. A file that changed may hold its draft now."""
        if not update.names_only and (self._offers or not self._has_looked):
            self._has_looked = True
            self.look_again()

    @Slot(object)
    def _on_trouble(self, error: UserError | None) -> None:
        """What keeps the trees away may keep drafts away, too: they are looked for again with the trees."""
        if error is not None and not self._has_looked:
            self.look_again()

    @Slot()
    def look_again(self) -> None:
        """Another program overwrote a save; its text became a draft."""
        if self._session is not None:
            self._look(self._session)

    def _look(self, session: HomeSession) -> None:
        workbench, instance = session.workbench, self._keeper.instance

        def done(found: Offers) -> None:
            if self._session is session:
                self._on_found(found)

        self._keeper.lane.submit(
            "look for drafts",
            ask(workbench.drafts.offered, instance),
            done=done,
            failed=self._on_failed,
            group="drafts",
        )

    def _on_found(self, found: Offers) -> None:
        self._offers = {offer.name: offer for offer in found.offers}
        self._say(len(found.damaged))
        self.follow()

    def _say(self, damaged: int = 0) -> None:
        sentences = []
        overwritten = sum(offer.draft.overwritten for offer in self.offers)
        if overwritten:
            sentences.append(
                counted(
                    self.tr("Another program overwrote 1 file that you had just saved; your text is kept."),
                    "Another program overwrote %n files that you had just saved; your text is kept.",
                    overwritten,
                )
            )
        if len(self._offers) > overwritten:
            sentences.append(
                counted(
                    self.tr("Text of 1 file was not saved; it is kept as a draft."),
                    "Text of %n files was not saved; it is kept as drafts.",
                    len(self._offers) - overwritten,
                )
            )
        if damaged:
            sentences.append(
                counted(
                    self.tr("1 damaged draft was set aside in Reverie's state directory."),
                    "%n damaged drafts were set aside in Reverie's state directory.",
                    damaged,
                )
            )
        if not sentences:
            self.bar.clear()
            return
        show = ("show", self.tr("Show drafts"), self.tr("Compare, restore or discard them"))
        tone: Tone = "warn" if overwritten else "info"
        self.bar.say(" ".join(sentences), tone=tone, buttons=[show] if self._offers else [])

    @Slot()
    def follow(self) -> None:
        """Another file may be shown: tell of its draft."""
        offer = self._of_shown()
        if offer is None or offer.name in self._later:
            self._pane.draft.clear()
            return
        told = (
            self.tr("Another program overwrote what you saved here ({time}). Your text is kept.")
            if offer.draft.overwritten
            else self.tr("There is unsaved text for this file, typed until {time}.")
        )
        self._pane.draft.say(
            told.format(time=exact_time(offer.draft.at_ms)),
            tone="warn" if offer.draft.overwritten else "info",
            buttons=[
                ("restore", self.tr("Restore"), self.tr("Bring the text back; nothing is saved yet")),
                ("compare", self.tr("Compare"), self.tr("Show what differs from the file")),
                ("later", self.tr("Keep for later"), self.tr("Ask again at the next start")),
            ],
        )

    def _of_shown(self) -> Offer | None:
        file = self._pane.file
        if file is None:
            return None
        return next((offer for offer in self.offers if self._ref(offer) == file.buffer.ref), None)

    def _ref(self, offer: Offer) -> FileRef:
        home = self._session.info.id if self._session is not None else ""
        return FileRef(home, offer.draft.store, offer.draft.rel)

    # What a person decides

    @Slot(str)
    def _on_bar(self, _key: str) -> None:
        self.show_dialog()

    @Slot(str)
    def _on_pane(self, key: str) -> None:
        offer = self._of_shown()
        if offer is None:
            return
        if key == "restore":
            self.restore(offer)
        elif key == "compare":
            self.show_dialog(offer.name)
        else:
            self._on_dismissed()

    @Slot()
    def _on_dismissed(self) -> None:
        offer = self._of_shown()
        if offer is not None:
            self._later.add(offer.name)
        self._pane.draft.clear()

    def show_dialog(self, name: str = "") -> None:
        """The drafts of the home, the one with this name selected."""
        if self.dialog is None:
            self.dialog = DraftsDialog(self._keeper.lane, self._icons, self._pane)
            self.dialog.restore.connect(self.restore)
            self.dialog.discard.connect(self.discard)
        self.dialog.show_offers(self.offers, name)
        self.dialog.open()

    @Slot(object)
    def discard(self, offer: Offer) -> None:
        """Throw a draft away."""
        if self._session is None:
            return
        workbench = self._session.workbench

        def done(_nothing: None) -> None:
            self._forget(offer.name)

        self._keeper.lane.submit(
            "discard a draft", ask(workbench.drafts.drop, (offer.name,)), done=done, failed=self._on_failed
        )

    @Slot(object)
    def restore(self, offer: Offer) -> None:
        """Bring a draft's text back into the editor, beside the file as it stands now."""
        session = self._session
        if session is None:
            return
        workbench = session.workbench

        async def work(_control: JobControl) -> tuple[Offer, FileText | None] | None:
            now = await ask(workbench.drafts.offer, offer.name)
            if now is None:
                return None
            base = now.draft.base
            if base is None:
                return now, None
            return now, file_text(now.draft.label, base.encode("utf-8"), mtime_ns=0, cap=None)

        def done(found: tuple[Offer, FileText | None] | None) -> None:
            if self._session is not session:
                return
            if found is None:
                self._forget(offer.name)
            else:
                self._bring_back(session, *found)

        self._keeper.lane.submit("restore a draft", work, done=done, failed=self._on_failed)

    def _bring_back(self, session: HomeSession, offer: Offer, style: FileText | None) -> None:
        if offer.gap:
            self._offers[offer.name] = offer
            self._on_failed(
                UserError(self.tr("This draft cannot be restored in its place."), cause=offer.gap)
            )
            return
        draft, ref = offer.draft, self._ref(offer)
        base = style if draft.base_sha256 is not None else None
        address = Address(draft.context, draft.path, offer.companion)
        blank = state.Buffer(ref, address, base, offer.disk)
        buffer = state.from_draft(blank, base, style, offer.disk)
        if not self._buffers.bring_back(session, buffer, draft.content, draft.cursor):
            self._on_failed(
                UserError(
                    self.tr("The file is open with other unsaved text."),
                    next_step=self.tr("Save or undo that first, then restore the draft."),
                )
            )
            return
        self._keeper.adopt(ref, offer.name)
        self._forget(offer.name)
        if self.dialog is not None:
            self.dialog.accept()
        self._pane.focus_text()

    def _forget(self, name: str) -> None:
        self._offers.pop(name, None)
        self._say()
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_offers(self.offers)
        self.follow()

    def _on_failed(self, error: UserError) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_error(error)
        else:
            self.bar.say_error(error)

    @Slot(object)
    def _on_not_kept(self, error: UserError) -> None:
        """What is typed lies nowhere but in this window."""
        self._pane.show_error(error)
        self._not_kept = self._pane.error.text

    @Slot()
    def _on_kept(self) -> None:
        """Now it lies on disk, too, and what was said of it is not true any more."""
        said, self._not_kept = self._not_kept, ""
        if said and self._pane.error.text == said:
            self._pane.error.clear()


# The drafts of a home: which files, what differs from the disk, and what shall become of each.


class DraftsDialog(QDialog):
    """`restore(Offer)`, `discard(Offer)`. Closing it keeps every draft for later. Lines with `-` stand on
    disk, lines with `+` in the draft."""

    restore = Signal(object)
    discard = Signal(object)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._offers: dict[str, Offer] = {}
        self.setWindowTitle(self.tr("Drafts"))
        self.resize(860, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "draft-message", closable=False)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Files with a draft"))
        self.list.currentItemChanged.connect(self._show)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox()
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.restore_button = self.buttons.addButton(self.tr("Restore"), role)
        self.discard_button = self.buttons.addButton(self.tr("Discard"), role)
        self.copy_button = self.buttons.addButton(self.tr("Copy text"), role)
        self.later_button = self.buttons.addButton(
            self.tr("Keep for later"), QDialogButtonBox.ButtonRole.RejectRole
        )
        self.restore_button.clicked.connect(self._restore)
        self.discard_button.clicked.connect(self._discard)
        self.copy_button.clicked.connect(self._copy)
        self.buttons.rejected.connect(self.reject)
        self._lay_out()

    def _lay_out(self) -> None:
        splitter = split(self.list, self.diff, sizes=(260, 600), grows=self.diff)
        column(self, self.title, self.message, splitter, self.buttons, grows=splitter)

    @property
    def current(self) -> Offer | None:
        item = self.list.currentItem()
        return self._offers.get(item.data(Qt.ItemDataRole.UserRole)) if item is not None else None

    def show_offers(self, offers: Sequence[Offer], name: str = "") -> None:
        """Fill the list; select `name`, or keep the selection, or select the first."""
        before = self.current
        wanted = name or (before.name if before is not None else "")
        self._offers = {offer.name: offer for offer in offers}
        self.list.clear()
        for offer in offers:
            label = visible(offer.draft.label)
            item = QListWidgetItem(label)
            item.setToolTip(as_tooltip(label, exact_time(offer.draft.at_ms)))
            item.setData(Qt.ItemDataRole.UserRole, offer.name)
            self.list.addItem(item)
            if offer.name == wanted:
                self.list.setCurrentItem(item)
        if self.list.currentItem() is None and offers:
            self.list.setCurrentRow(0)
        if not offers:
            self.accept()

    def show_error(self, error: UserError) -> None:
        self.message.say_error(error)

    @Slot()
    def _show(self) -> None:
        offer = self.current
        self.message.clear()
        self.diff.show_diff("")
        for button in (self.restore_button, self.discard_button, self.copy_button):
            button.setEnabled(offer is not None)
        if offer is None:
            return
        self.title.say(
            self.tr("{path}, typed until {time}: “-” is on disk, “+” is the draft").format(
                path=visible(offer.draft.label), time=exact_time(offer.draft.at_ms)
            )
        )
        self._say_state(offer)
        self.restore_button.setEnabled(not offer.gap)

        def work(_control: JobControl) -> str:

            disk = offer.disk.content.encode("utf-8", "replace") if offer.disk is not None else None
            return unified(disk, offer.draft.content.encode("utf-8", "replace"), offer.draft.label)

        self._lane.submit(
            "compare a draft", work, done=self._on_diff, failed=self.show_error, group=f"draft {id(self)}"
        )

    def _say_state(self, offer: Offer) -> None:
        if offer.gap:
            self.message.say(
                self.tr("This draft cannot be restored in its place. {reason}").format(reason=offer.gap),
                tone="warn",
            )
        elif offer.disk is None:
            self.message.say(self.tr("The file is not there any more. Restoring shows the text again."))
        elif offer.changed:
            self.message.say(
                self.tr("The file changed since. Restoring shows both versions; nothing is overwritten."),
                tone="warn",
            )

    def _on_diff(self, text: str) -> None:
        self.diff.show_diff(text)

    @Slot()
    def _restore(self) -> None:
        if self.current is not None:
            self.restore.emit(self.current)

    @Slot()
    def _discard(self) -> None:
        if self.current is not None:
            self.discard.emit(self.current)

    @Slot()
    def _copy(self) -> None:
        if self.current is not None:
            QGuiApplication.clipboard().setText(self.current.draft.content)
