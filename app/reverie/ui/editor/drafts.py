"""Stores unsaved texts as drafts, so that a killed window loses at most half a second of typing.

Threading: GUI thread; jobs on their own lane write and remove drafts, so that a long scan delays none.
Failure: reported once; the job is tried again, soon and after each change. If the engine has died, that is
reported only if the next engine fails too. No text is written to a log.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Signal, Slot

from reverie.clock import Clock
from reverie.engine.asking import ask
from reverie.engine.client import EngineGone
from reverie.errors import UserError
from reverie.services.views import Draft, draft_name
from reverie.ui.editor.buffer import Address, FileRef
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.line_breaks import written
from reverie.ui.editor.pane import EditorPane
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.session import HomeSession
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.services.views import FileText

KEEP_MS = 500
AGAIN_MS = 3000
LAST_WORK_S = 2.0
AWAY_S = 2.0
"""Seconds without an engine after which that is reported; a dead engine usually restarts within a second."""
_Mark = tuple[int, int, str | None, str]


class _Typed(Struct, frozen=True):
    """An unsaved text of the editor that is about to be stored on disk as a draft."""

    workbench: HomeEngine
    """The engine's interface to the home."""
    ref: FileRef
    address: Address
    text: str
    base: FileText | None
    """The version on which the text is based; None if there is no such file."""
    style: FileText | None
    """The version whose byte order mark and line breaks a save uses; None if there is none."""
    cursor: int
    """The position of the caret, in UTF-16 units."""
    mark: _Mark
    """The value of `_mark` for the text, which shows later whether the draft is outdated."""
    replaces: frozenset[str]
    """The names of the drafts that this one replaces."""


class _SavedDraft(Struct):
    """The drafts of one file on disk."""

    workbench: HomeEngine
    """The engine's interface to the home."""
    mark: _Mark | None = None
    """The value of `_mark` for the text written last; None if none was written."""
    names: set[str] = field(default_factory=set)
    """The names of all drafts of the file."""


_Gone = dict[FileRef, _SavedDraft]


class _DraftsDone(Struct):
    """The result of a job that has written and removed drafts."""

    written: list[tuple[_Typed, str]] = field(default_factory=list)
    """The drafts that were written, with their names."""
    left: _Gone = field(default_factory=dict)
    """The drafts that could not be removed, by file."""
    error: UserError | None = None
    """The last error; None if all drafts were written and removed."""


class DraftKeeper(QObject):
    """The writer of drafts: it stores the unsaved texts of a window on disk, soon after they change.

    The engine writes the files. A text is kept in memory until its draft is on disk; if the engine dies, the
    text is sent to the next engine. `note` schedules a check, at most one every `KEEP_MS` milliseconds. The
    check writes each unsaved text whose draft is outdated, and removes the drafts of texts that were saved,
    undone, renamed or discarded. An old draft is removed only after the new one is written.

    Signals:
        kept(): Everything typed is on disk.
        failed(UserError): A draft could not be written or removed.
    """

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
        """Add the home of `session`, so that the drafts of its files are written from now on."""
        self._homes[session.info.id] = session.workbench

    def adopt(self, ref: FileRef, name: str) -> None:
        """Record that the draft `name` of an earlier window is now the text of the open file `ref`.

        The draft is removed once a newer draft of the file is written, or the file is saved.
        """
        kept = self._drafts.setdefault(ref, _SavedDraft(self._homes[ref.home]))
        kept.names.add(name)
        self.flush()

    @Slot()
    def note(self) -> None:
        """Schedule a check of the drafts, because a text may have been typed, saved, renamed or discarded."""
        if not self._timer.isActive() and not self._stopped:
            self._timer.start()

    @Slot()
    def flush(self) -> None:
        """Check now which drafts must be written or removed, and start a job that does it."""
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
        """Make `stop` remove the drafts of all unsaved texts, because the user has discarded these texts."""
        self._thrown_away = True

    def stop(self) -> None:
        """Write and remove the last drafts, waiting at most `LAST_WORK_S` seconds, and stop the job queue.

        Later calls do nothing.
        """
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
                # A failing home must not delay the drafts of another.
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
    """Return a value that changes whenever the draft of a file is outdated."""
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
    """Ignore a result, because the window closes."""
