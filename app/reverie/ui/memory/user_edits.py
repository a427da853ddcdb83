"""Hand edits of memories as jobs: create, rename, delete, pin, anything else, and taking the last back.

A job's end only says that it worked; the tree moves when the watcher has seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from reverie.agents.scopes import ScopeContext
from reverie.errors import UserError
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl
from reverie.ui.session import HomeSession
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.services.templates import Template
    from reverie.services.views import FileText, Undo
    from reverie.ui.memory.edit_dialogs import NewMemory
    from reverie.ui.widgets.message_bar import MessageBar


REMEMBERED = 50


class Edits(QObject):
    """Signals: `created(path)`, `renamed(old, new)`, `deleted(path)`, `pinned(paths, is_pinned)`,
    `undone(sentence, path)`, `failed(UserError)`; `removed(HomeSession, Undo)` for any change that
    deleted memories or folders."""

    created = Signal(str)
    renamed = Signal(str, str)
    deleted = Signal(str)
    removed = Signal(object, object)
    pinned = Signal(object, bool)
    undone = Signal(str, str)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._undos: list[tuple[HomeSession, Undo]] = []

    @property
    def last(self) -> Undo | None:
        return self._undos[-1][1] if self._undos else None

    def create(self, session: HomeSession, context: ScopeContext, asked: NewMemory) -> None:
        """A new memory with its description and template; `created` or `failed` says what came of it."""
        workbench, path = session.workbench, asked.path

        def work(_control: JobControl) -> FileText:
            from reverie.memory.front_matter import set_description
            from reverie.services.templates import filled

            content = filled(asked.template, path, workbench.parts.clock())
            if asked.description:
                content = set_description(content, asked.description)
            return workbench.save(context, path, content, None)

        def done(_found: FileText) -> None:
            self.created.emit(path)

        self._submit(session, "create a memory", work, done)

    def read_templates(self, session: HomeSession, done: Callable[[Sequence[Template]], None]) -> None:
        """What a new memory may begin with."""
        own = session.workbench.parts.profile.config / "templates"

        def work(_control: JobControl) -> tuple[Template, ...]:
            from reverie.services.templates import all_templates

            return all_templates(own)

        self._submit(session, "read the templates", work, done)

    def rename(self, session: HomeSession, context: ScopeContext, path: str, new_path: str) -> None:
        """Move a memory or folder; `renamed` or `failed`."""
        workbench = session.workbench

        def work(_control: JobControl) -> Undo:
            return workbench.rename(context, path, new_path)

        def done(undo: Undo) -> None:
            self._remember(session, undo)
            self.renamed.emit(path, new_path)

        self._submit(session, "rename a memory", work, done)

    def delete(self, session: HomeSession, context: ScopeContext, path: str) -> None:
        """Delete a memory or folder; `deleted` or `failed`."""
        workbench = session.workbench

        def work(_control: JobControl) -> Undo:
            return workbench.delete(context, path)

        def done(undo: Undo) -> None:
            self._remember(session, undo)
            self.deleted.emit(path)

        self._submit(session, "delete a memory", work, done)

    def pin(self, session: HomeSession, context: ScopeContext, paths: Sequence[str], pinned: bool) -> None:
        """Pin or unpin, several as one; `pinned` or `failed`."""
        workbench, chosen = session.workbench, tuple(paths)

        def work(_control: JobControl) -> Undo:
            return workbench.pin_all(context, chosen, pinned)

        def done(undo: Undo) -> None:
            """The pin shows when the sidecar was read again."""
            self._remember(session, undo)
            self.pinned.emit(chosen, pinned)

        self._submit(session, "pin a memory", work, done)

    def apply(
        self,
        session: HomeSession,
        name: str,
        job: Callable[[], Undo],
        done: Callable[[Undo], None],
        failed: Callable[[UserError], None] | None = None,
    ) -> None:
        """Run any change on the session's lane; what it returns is what Undo takes back next. An error goes
        to `failed(error)`, or to the signal of that name."""

        def work(_control: JobControl) -> Undo:
            return job()

        def changed(undo: Undo) -> None:
            self._remember(session, undo)
            done(undo)

        session.lanes.scan.submit(name, work, done=changed, failed=failed or self.failed.emit)

    def undo(self) -> None:
        """Take back the last change."""
        if not self._undos:
            return
        session, undo = self._undos.pop()
        workbench = session.workbench

        def work(_control: JobControl) -> str:
            return workbench.undo(undo)

        def failed(error: UserError) -> None:
            # The place may be free again later.
            self._undos.append((session, undo))
            self.failed.emit(error)

        def done(sentence: str) -> None:
            for old, new in undo.moved.items():
                self.renamed.emit(new, old)
            self.undone.emit(sentence, undo.path)

        session.lanes.scan.submit("undo", work, done=done, failed=failed)

    def forget(self) -> None:
        """Another home: its edits are not to be taken back from here."""
        self._undos.clear()

    def _remember(self, session: HomeSession, undo: Undo) -> None:
        self._undos.append((session, undo))
        del self._undos[:-REMEMBERED]
        if undo.removed:
            self.removed.emit(session, undo)

    def _submit(
        self, session: HomeSession, name: str, work: Callable[[JobControl], Any], done: Callable[[Any], None]
    ) -> None:
        def failed(error: UserError) -> None:
            self.failed.emit(error)

        session.lanes.scan.submit(name, work, done=done, failed=failed)


# Undo beside what was just done, in the message bar of the place where it was done.


class TakeBack(QObject):
    """Takes a change back from the bar it was told in, unless something else was changed by hand since: what
    can be undone is one list, and its last one is the next."""

    def __init__(self, bar: MessageBar, edits: Edits, too_late: str = "") -> None:
        """`too_late`: what is said when others came after it."""
        super().__init__(bar)
        self._bar = bar
        self._edits = edits
        self._too_late = too_late or self.tr("Other changes came after it: undo those first.")
        self._undo: Undo | None = None
        bar.chosen.connect(self._on_chosen)

    def offer(self, undo: Undo, sentence: str) -> None:
        """Say what was done and what it warns of, with Undo beside it."""
        self._undo = undo
        self._bar.say(with_warning(sentence, undo), buttons=[undo_button()])

    def forget(self) -> None:
        """What was done before is not to be taken back from here."""
        self._undo = None

    @Slot(str)
    def _on_chosen(self, _key: str) -> None:
        self._bar.clear()
        if self._undo is not None and self._edits.last is self._undo:
            self._edits.undo()
        else:
            self._bar.say(self._too_late)


def with_warning(sentence: str, undo: Undo | None) -> str:
    """What was done, and what went wrong once it was done."""
    if undo is None or not undo.warning:
        return sentence
    return f"{sentence.rstrip('.')}. {visible(undo.warning)}"


def undo_button() -> tuple[str, str, str]:
    """For `MessageBar.say`."""
    return ("undo", tr("Undo"), tr("Take it back"))
