"""Keeps what is typed and not saved as drafts, so that a killed window loses half a second of typing at
most.

One rule: what lies on disk follows the unsaved buffers. `note` says that something may be different; at most
every `KEEP_MS` the keeper writes each unsaved text that is not kept as it stands, and removes the drafts of
what was saved, undone, renamed or thrown away (after the new one is written, never before).

Threading: GUI thread; texts are put together, written and removed by jobs on a lane of its own, so that a
long scan delays no draft. Failure: told once, tried again with the next change. No text reaches a log.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.buffers import Buffers
from reverie.ui.memory.documents import OpenFile, written
from reverie.ui.memory.editor import EditorPane
from reverie.ui.memory.editor_state import Address, FileRef
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.services.drafts import Draft
    from reverie.services.views import FileText
    from reverie.services.workbench import Workbench

KEEP_MS = 500
LAST_WORK_S = 2.0
_Mark = tuple[int, int, str | None, str]


@dataclass(frozen=True, slots=True)
class _Typed:
    """An unsaved text on its way to the disk."""

    workbench: Workbench
    ref: FileRef
    address: Address
    text: str
    base: FileText | None
    style: FileText | None
    cursor: int
    mark: _Mark
    replaces: frozenset[str]


@dataclass(slots=True)
class _Kept:
    """What lies on disk of a buffer: the state that was written last, and every file that holds it."""

    workbench: Workbench
    mark: _Mark | None = None
    names: set[str] = field(default_factory=set)


_Gone = dict[FileRef, _Kept]


class DraftKeeper(QObject):
    """`kept()`: everything typed lies on disk. `failed(MendableError)`: a draft could not be written."""

    kept = Signal()
    failed = Signal(object)

    def __init__(self, buffers: Buffers, pane: EditorPane, clock: Clock, parent: QObject) -> None:
        super().__init__(parent)
        self.instance = secrets.token_hex(4)
        self._buffers = buffers
        self._pane = pane
        self._clock = clock
        self._workbenches: dict[str, Workbench] = {}
        self._drafts: dict[FileRef, _Kept] = {}
        self._made: Lane | None = None
        self._busy = False
        self._again = False
        self._told = False
        self._thrown_away = False
        self._stopped = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(KEEP_MS)
        self._timer.timeout.connect(self.flush)
        buffers.changed.connect(self.note)
        pane.text.textChanged.connect(self.note)
        pane.text.installEventFilter(self)

    @property
    def lane(self) -> Lane:
        """The thread of the drafts; made when it is first needed."""
        if self._made is None:
            self._made = Lane("drafts", self)
        return self._made

    def set_session(self, session: HomeSession) -> None:
        """Drafts of this home's files are kept through this session from now on."""
        self._workbenches[session.info.id] = session.workbench

    def adopt(self, ref: FileRef, name: str) -> None:
        """The text of draft `name` is in the editor now: it lives and dies with that buffer."""
        kept = self._drafts.setdefault(ref, _Kept(self._workbenches[ref.home]))
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
        if self._busy:
            self._again = True
            return
        typed, gone = self._differences()
        if not typed and not gone:
            return
        self._busy = True
        for ref in gone:
            del self._drafts[ref]

        def failed(error: MendableError) -> None:
            for ref, kept in gone.items():
                self._drafts.setdefault(ref, _Kept(kept.workbench)).names.update(kept.names)
            self._on_failed(error)

        self.lane.submit(
            "keep drafts",
            self._job(typed, gone),
            done=self._on_done,
            failed=failed,
            cancelled=self._on_cancelled,
        )

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
        typed, gone = self._differences()
        if self._made is None and not typed and not gone:
            return
        last, over = self._job(typed, gone), threading.Event()

        def work(control: JobControl) -> None:
            try:
                last(control)
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
            if ref.home not in self._workbenches:
                continue
            kept = self._drafts.setdefault(ref, _Kept(self._workbenches[ref.home]))
            if kept.mark != _mark(file):
                typed.append(self._typed(file, kept))
        gone = {ref: kept for ref, kept in self._drafts.items() if ref not in unsaved}
        return typed, gone

    def _typed(self, file: OpenFile, kept: _Kept) -> _Typed:
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

    def _job(self, typed: list[_Typed], gone: _Gone) -> Callable[[JobControl], list[tuple[_Typed, str]]]:
        instance, now = self.instance, self._clock()
        away = [(ref, kept.workbench, frozenset(kept.names)) for ref, kept in gone.items()]

        def work(_control: JobControl) -> list[tuple[_Typed, str]]:
            from reverie.services.drafts import DraftDesk, draft_name

            done = []
            for each in typed:
                draft = _draft(each, now)
                name = DraftDesk(each.workbench.parts, instance).keep(draft, replaces=each.replaces)
                done.append((each, name))
            for ref, workbench, names in away:
                own = draft_name(ref.store, ref.rel, instance)
                DraftDesk(workbench.parts, instance).drop({*names, own})
            return done

        return work

    def _on_done(self, done: list[tuple[_Typed, str]]) -> None:
        self._busy = False
        self._told = False
        for typed, name in done:
            kept = self._drafts[typed.ref]
            kept.mark = typed.mark
            kept.names = (kept.names - typed.replaces) | {name}
        if self._again or not self._is_kept():
            self._again = False
            self.note()
        else:
            self.kept.emit()

    def _on_failed(self, error: MendableError) -> None:
        self._busy = self._again = False
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
    from reverie.services.drafts import Draft

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
