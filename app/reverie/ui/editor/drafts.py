"""Stores unsaved texts as drafts, so that a killed window loses at most half a second of typing.

Threading: GUI thread; jobs on their own lane write and remove drafts, so that a long scan delays none.
Failure: reported once; the job is tried again, soon and after each change. If the engine has died, that is
reported only if the next engine fails too. No text is written to a log.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Signal, Slot

from reverie.clock import Clock
from reverie.engine.asking import Request, ask
from reverie.engine.client import EngineGone
from reverie.errors import UserError
from reverie.services.views import Draft, draft_name
from reverie.ui.editor.buffer import FileRef
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.line_breaks import written
from reverie.ui.editor.pane import EditorPane
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.session import HomeSession
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine

KEEP_MS = 500
AGAIN_MS = 3000
LAST_WORK_S = 2.0
AWAY_S = 2.0
"""Seconds without an engine after which that is reported; a dead engine usually restarts within a second."""
_Mark = tuple[int, int, str | None, str]
_Step = tuple[Callable[[], Request[Any]], Callable[[], None]]
"""One draft to write or to remove: a function that makes the request, called on the thread of the job, and a
function to call on the GUI thread once the request has succeeded."""
_Done = tuple[list[Callable[[], None]], UserError | None]
"""The result of the job: the functions to call, and the last error, if any."""


class _Stored(Struct):
    """The drafts of one file on disk."""

    workbench: HomeEngine
    """The engine's interface to the home."""
    mark: _Mark | None = None
    """The value of `_mark` for the text written last; None if none was written."""
    adopted: set[str] = field(default_factory=set)
    """The names of drafts of earlier windows whose text the file has; the next draft replaces them."""


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
        self._drafts: dict[FileRef, _Stored] = {}
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
        self._drafts.setdefault(ref, _Stored(self._homes[ref.home])).adopted.add(name)
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
        steps = self._steps()
        if steps:
            self._busy = True
            work = partial(_carry_out, steps)
            self.lane.submit("keep drafts", work, done=self._on_done, cancelled=self._on_cancelled)

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
        steps, over = self._steps(), threading.Event()

        async def work(control: JobControl) -> None:
            try:
                await _carry_out(steps, control)
            finally:
                over.set()

        self.lane.submit("keep the last drafts", work, done=_nothing, failed=_nothing)
        over.wait(LAST_WORK_S)
        self.lane.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and not self._stopped:
            self.flush()
        return super().eventFilter(watched, event)

    def _steps(self) -> list[_Step]:
        """Return the drafts that must be written, and those of files without unsaved text, to be removed."""
        unsaved = {} if self._thrown_away else {file.buffer.ref: file for file in self._buffers.unsaved()}
        steps: list[_Step] = []
        for ref, file in unsaved.items():
            if ref.home in self._homes:
                stored = self._drafts.setdefault(ref, _Stored(self._homes[ref.home]))
                if stored.mark != _mark(file):
                    steps.append(self._writing(file, stored))
        for ref, stored in self._drafts.items():
            if ref not in unsaved:
                stored.mark = None  # text that is typed from now on needs a new draft
                names = {*stored.adopted, draft_name(ref.store, ref.rel, self.instance)}
                drop = partial(ask, stored.workbench.drafts.drop, tuple(names))
                steps.append((drop, partial(self._on_removed, ref, names)))
        return steps

    def _writing(self, file: OpenFile, stored: _Stored) -> _Step:
        """Return the step that writes the draft of a file and then removes the adopted drafts."""
        ref, address, base = file.buffer.ref, file.buffer.address, file.buffer.base
        style, text, mark = base or file.buffer.style, file.text, _mark(file)
        replaces, keep = frozenset(stored.adopted), stored.workbench.drafts.keep
        draft = Draft(
            store=ref.store,
            rel=ref.rel,
            path=address.path,
            context=address.context,
            content="",
            base=style.content if style is not None else None,
            base_sha256=base.sha256 if base is not None else None,
            cursor=self._pane.text.textCursor().position() if file is self._pane.file else file.cursor,
            at_ms=self._clock(),
        )

        def request() -> Request[str]:
            return ask(keep, replace(draft, content=written(style, text)), self.instance, replaces=replaces)

        def done() -> None:
            stored.mark = mark
            stored.adopted -= replaces

        return request, done

    def _on_removed(self, ref: FileRef, names: set[str]) -> None:
        stored = self._drafts[ref]
        stored.adopted -= names
        if not stored.adopted:
            del self._drafts[ref]

    def _on_done(self, found: _Done) -> None:
        """Record which steps have succeeded; report the last error, if any, and try again later."""
        done, error = found
        for each in done:
            each()
        if error is not None:
            self._on_failed(error)
            return
        self._told, self._gone_since, self._busy = False, None, False
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


async def _carry_out(steps: list[_Step], _control: JobControl) -> _Done:
    ended, error = [], None
    for request, done in steps:
        # A failing home must not delay the drafts of another.
        try:
            await request()
            ended.append(done)
        except UserError as failure:
            error = failure
    return ended, error


def _nothing(_value: object) -> None:
    """Ignore a result, because the window closes."""
