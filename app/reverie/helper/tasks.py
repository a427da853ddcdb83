"""What the helper can be asked to do: the heavy methods of a workbench, on a workbench of its own.

Everything a task needs besides its arguments lies on disk, as for any second process; what it changes reaches
the window's views through the watcher, like anything else. Failure: `MendableError`; `TaskStopped` where it
was cancelled and has nothing to say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import MendableError
from reverie.files.coalesce import Changes
from reverie.homes.scopes import ScopeContext, ScopeRoot
from reverie.memory.usage import Kept
from reverie.profile import Profile
from reverie.services.views import MemoryView, RevertView, RunView
from reverie.services.workbench import Workbench

if TYPE_CHECKING:
    from reverie.dream.review import Selection
    from reverie.runs.parts import Parts
    from reverie.services.lint import LintDesk, LintLook

LINT_SLICE_S = 2.0


class TaskStopped(Exception):
    """Cancelled, without an answer."""


@dataclass(frozen=True, slots=True)
class TaskControl:
    """`progress` reports to the window; `cancel` is set when it does not want the task any more."""

    cancel: threading.Event
    progress: Callable[[Any], None]

    def check(self) -> None:
        """Raises `TaskStopped` once somebody cancelled."""
        if self.cancel.is_set():
            raise TaskStopped


@dataclass(slots=True)
class Desk:
    """One home. `views`: what the last check of its memories saw, by context."""

    workbench: Workbench
    views: dict[ScopeContext, MemoryView] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, home: Path, profile: Profile) -> Desk:
        """A desk on its own wiring of the home, in this process."""
        return cls(Workbench(open_parts(home, profile, system_clock)))

    def is_same_home(self) -> bool:
        """Whether the home at its path is still the one that was opened."""
        try:
            self.workbench.parts.require_same_home()
        except MendableError:
            return False
        return True


def start_history(desk: Desk, _control: TaskControl) -> None:
    desk.workbench.start_history()


def observe(desk: Desk, _control: TaskControl, changes: Changes) -> Kept:
    return desk.workbench.observe(changes)


def keep_usage(desk: Desk, _control: TaskControl) -> Kept:
    return desk.workbench.keep_usage()


def mark_opened(desk: Desk, _control: TaskControl, context: ScopeContext) -> None:
    if not desk.workbench.history_started:
        desk.workbench.start_history()  # this process is a new one
    desk.workbench.mark_opened(context)


def unseen(desk: Desk, _control: TaskControl, roots: Mapping[str, ScopeRoot]) -> frozenset[str]:
    return desk.workbench.unseen(roots)


def dream(desk: Desk, control: TaskControl, context: ScopeContext, dry_run: bool, engine: str) -> RunView:
    desk.workbench.parts.forget_settings()  # a person may have changed them in the window
    return desk.workbench.start_dream(
        context, dry_run=dry_run, engine=engine, progress=control.progress, cancel=control.cancel
    )


def apply_review(desk: Desk, control: TaskControl, run_id: str, selection: Selection) -> RunView:
    return desk.workbench.apply_review(run_id, selection, progress=control.progress, cancel=control.cancel)


def revert(desk: Desk, _control: TaskControl, run_id: str, part: Parts | None = None) -> RevertView:
    return desk.workbench.revert(run_id, part)


def lint(desk: Desk, control: TaskControl, context: ScopeContext, dirty: frozenset[Path]) -> LintLook:
    """One look at the memories of a context, which are listed here as well: a listing of many thousands is
    dearer to send than to make."""
    with desk.lock:
        previous = desk.views.get(context)
        view = desk.workbench.view(context, previous=previous, dirty=dirty or None)
        desk.views = {context: view}
        linter: LintDesk = desk.workbench.lint
        return linter.look(view, dirty=dirty, slice_s=LINT_SLICE_S, check=control.check)


def update_index(desk: Desk, control: TaskControl, dirty: frozenset[Path] | None) -> None:
    from reverie.memory.search_update import UpdateStopped, Watcher

    try:
        desk.workbench.update_index(dirty, Watcher(control.cancel.is_set, control.progress))
    except UpdateStopped:
        raise TaskStopped from None


TASKS: Mapping[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        start_history,
        observe,
        keep_usage,
        mark_opened,
        unseen,
        dream,
        apply_review,
        revert,
        lint,
        update_index,
    )
}
