"""Between the Context tab and the home: gathers when somebody looks and something changed, puts together at
once when a text is typed, a pin shows or the clock is moved.

What is gathered is kept, so that everything but reading files happens on the spot: within a frame. Unsaved
texts of the editor count as if they were saved. What was seen last is kept once it was gathered, so that the
next visit can say what changed; neither unsaved text nor another time is.

Threading: GUI thread; gathering is a job of a lane of its own, which begins with the first look. Failure:
told in the tab.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from reverie.context.assembly import AGENTS, assemble
from reverie.context.facts import ContextFacts, gather
from reverie.context.view import ContextView, Glances, Since, since
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.session import TreeUpdate

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.errors import UserError
    from reverie.ui.context.tab import ContextTab
    from reverie.ui.editor.open_files import Buffers
    from reverie.ui.memory.user_edits import Edits
    from reverie.ui.session import HomeSession

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class _Gathered:
    facts: ContextFacts
    now: int


@dataclass(slots=True)
class _ContextSeen:
    """What was seen before this visit: read by its first job, because each of them keeps what is seen now,
    and the next may have been asked for before the first is done."""

    is_known: bool = False
    glance: Mapping[str, Any] | None = None


class ContextControl(QObject):
    """`open_wanted(str)`: show this memory path in the editor."""

    open_wanted = Signal(str)

    def __init__(self, tab: ContextTab, clock: Clock, buffers: Buffers, edits: Edits) -> None:
        super().__init__(tab)
        self.tab = tab
        self._clock = clock
        self._buffers = buffers
        self._edits = edits
        self._lane: Lane | None = None
        self._session: HomeSession | None = None
        self._update: TreeUpdate | None = None
        self._facts: ContextFacts | None = None
        self._now = 0
        self._seen = _ContextSeen()
        self._stale = True
        tab.shown.connect(self._on_shown)
        tab.days_wanted.connect(self._on_days)
        tab.pin_wanted.connect(self._on_pin)
        tab.open_wanted.connect(self.open_wanted)
        buffers.changed.connect(self._on_typed)
        buffers.opened.connect(self._on_typed)
        buffers.typed.connect(self._on_typed)

    @property
    def busy(self) -> bool:
        return self._lane is not None and self._lane.busy

    @property
    def is_settled(self) -> bool:
        """What is shown is what there is."""
        return not self._stale and not self.busy

    def set_session(self, session: HomeSession | None, update: TreeUpdate | None = None) -> None:
        """The home whose context is shown; `update`: its trees, if they are known already."""
        if self._session is not None:
            self._session.tree_changed.disconnect(self._on_tree)
        self._session = session
        self._forget()
        if session is not None:
            session.tree_changed.connect(self._on_tree)
        if update is not None:
            self._on_tree(update)

    def stop(self) -> None:
        """The window closes."""
        if self._lane is not None:
            self._lane.stop()

    def _forget(self) -> None:
        self._update, self._facts, self._seen = None, None, _ContextSeen()
        self._stale = True
        if self._lane is not None:
            self._lane.abandon("gather")
        self.tab.forget()

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """The memories are others now, or those of another context."""
        if self._update is not None and self._update.context != update.context:
            self._forget()
        self._update, self._stale = update, True
        if self.tab.isVisible():
            self._gather()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self._gather()
        else:
            self._put_together()

    @Slot(int)
    def _on_days(self, _days: int) -> None:
        self._put_together()
        # Another time may rank what nobody has read yet.
        if self._update is not None:
            self._gather()

    # Gathering

    def _gather(self) -> None:
        session, update = self._session, self._update
        if session is None or update is None or update.names_only:
            return
        home = session.workbench.parts.home
        if home.kind not in AGENTS:
            self._stale = False
            self.tab.forget(
                self.tr("Not known for this agent"),
                self.tr("What {agent} would be told is not worked out here.").format(agent=home.label),
            )
            return
        now, before = self._clock(), self._facts
        times = (now, now + self.tab.clock.value() * _DAY_MS)
        context, scopes, parts = update.context, update.view.scopes, session.workbench.parts
        seen = self._seen

        def work(_control: JobControl) -> _Gathered:
            found = gather(home, context, scopes, times=times, before=before)
            glances = Glances(parts.own_sidecars, lock_dir=parts.profile.locks, clock=parts.clock)
            if not seen.is_known:
                seen.glance, seen.is_known = glances.read(context), True
            # Put together here once, so that the GUI thread finds all but what is typed worked out.
            for at in dict.fromkeys(reversed(times)):
                view = assemble(found, at)
            glances.keep(context, view)
            return _Gathered(found, now)

        if self._lane is None:
            self._lane = Lane("context", self)
        self._stale = False
        if before is None:
            self.tab.turn_to(self.tab.blank)  # nobody is told to select what is selected
        self._lane.submit(
            "gather the context", work, done=self._on_gathered, failed=self._on_failed, group="gather"
        )

    def _on_gathered(self, found: _Gathered) -> None:
        self._facts, self._now = found.facts, found.now
        self.tab.message.clear()
        self._put_together()

    def _on_failed(self, error: UserError) -> None:
        self._stale = True
        self.tab.say_error(error)

    # Putting together

    @Slot()
    def _on_typed(self, *_file: object) -> None:
        """A text of the editor is another."""
        if self.tab.isVisible():
            self._put_together()

    def _put_together(self) -> None:
        facts = self._facts
        if facts is None or self._update is None or facts.context != self._update.context:
            return
        drafts = self._drafts(facts)
        days = self.tab.clock.value()
        view = assemble(facts, self._now + days * _DAY_MS, drafts)
        self.tab.show_view(view, self._place, drafts=len(drafts))
        self.tab.show_since(self._since(view, shown_now=not days and not drafts), self._now)

    def _since(self, view: ContextView, *, shown_now: bool) -> Since | None:
        return since(self._seen.glance, view) if shown_now else None

    def _drafts(self, facts: ContextFacts) -> dict[str, str]:
        """Unsaved texts of this home's memories, by memory path."""
        if self._session is None:
            return {}
        home = self._session.info.id
        keys = {listing.root.key for listing in facts.listings.values() if listing.root is not None}
        return {
            file.buffer.address.path: file.content
            for file in self._buffers.unsaved()
            if file.buffer.ref.home == home and file.buffer.ref.store in keys
        }

    @property
    def _place(self) -> str:
        session, update = self._session, self._update
        if session is None or update is None:
            return ""
        context = update.context
        for workspace in session.info.contents.workspaces():
            if workspace.id == context.workspace_id:
                return visible(workspace.label)
        for project in session.info.contents.projects:
            if project.path == context.project_path:
                return visible(project.name or project.path)
        return visible(session.info.label)

    # Acting

    @Slot(str, bool)
    def _on_pin(self, path: str, pinned: bool) -> None:
        """The pin shows when the sidecar was read again."""
        if self._session is not None and self._update is not None:
            self._edits.pin(self._session, self._update.context, [path], pinned)
