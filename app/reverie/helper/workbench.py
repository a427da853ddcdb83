"""A workbench that leaves its heavy work to the helper process.

Threading and failure: as `services.workbench`; also `HelperGone` where the process died meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.files.watch import Changes
from reverie.helper.process import Helper, HelperGone, HelperStopped
from reverie.memory.lint import no_check
from reverie.memory.usage import UsageRestored
from reverie.runs.result import Progress
from reverie.services.container import HomeContainer
from reverie.services.lint import SLICE_S, LintResult, LintService
from reverie.services.views import MemoryView, RevertView, RunView
from reverie.services.workbench import Workbench

if TYPE_CHECKING:
    from reverie.jobs.consolidate.review import ReviewSelection
    from reverie.memory.search.index import UpdateObserver
    from reverie.runs.record import Parts


class HelpedWorkbench(Workbench):
    """See the module's docstring."""

    def __init__(self, parts: HomeContainer, helper: Helper) -> None:
        super().__init__(parts)
        self._helper = helper

    def start_history(self) -> None:
        self._call("start_history")
        self._history_started.set()

    def observe(self, changes: Changes) -> UsageRestored:
        kept: UsageRestored = self._call("observe", changes)
        return kept

    def keep_usage(self) -> UsageRestored:
        kept: UsageRestored = self._call("keep_usage")
        return kept

    def mark_opened(self, context: ScopeContext) -> None:
        if self.history_started:
            self._call("mark_opened", context)

    def unseen(self, roots: Mapping[str, ScopeRoot]) -> frozenset[str]:
        try:
            found: frozenset[str] = self._call("unseen", roots)
        except HelperGone:
            if self._helper.is_stopping:
                raise
            # A tree is shown all the same; whoever comes next starts the helper anew.
            return super().unseen(roots)
        return found

    def start_dream(
        self,
        context: ScopeContext,
        *,
        dry_run: bool,
        engine: str,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunView:
        run: RunView = self._call(
            "dream", context, dry_run, engine, progress=progress, cancelled=cancel.is_set
        )
        return run

    def apply_review(
        self,
        run_id: str,
        selection: ReviewSelection,
        *,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunView:
        run: RunView = self._call(
            "apply_review", run_id, selection, progress=progress, cancelled=cancel.is_set
        )
        return run

    def revert(self, run_id: str, part: Parts | None = None) -> RevertView:
        reverted: RevertView = self._call("revert", run_id, part)
        return reverted

    def update_index(self, dirty: Collection[Path] | None, watcher: UpdateObserver) -> None:
        from reverie.memory.search.index import UpdateStopped

        try:
            self._call(
                "update_index",
                None if dirty is None else frozenset(dirty),
                progress=watcher.on_progress,
                cancelled=watcher.stop,
            )
        except HelperStopped:
            raise UpdateStopped from None

    @cached_property
    def lint(self) -> LintService:
        return _HelpedLint(self.parts, self._helper)

    def _call(self, task: str, *arguments: Any, **about: Any) -> Any:
        # The helper opens what is at the path now, which may be another home than this one.
        self.parts.require_same_home()
        return self._helper.call(task, self.parts.home.root, self.parts.profile, *arguments, **about)


class _HelpedLint(LintService):
    """Looks are made by the helper, which keeps what it knows; a slice there costs nobody anything here."""

    def __init__(self, parts: HomeContainer, helper: Helper) -> None:
        super().__init__(parts.home.caps)
        self._parts = parts
        self._helper = helper

    def look(
        self,
        view: MemoryView,
        *,
        dirty: Collection[Path] = (),
        slice_s: float = SLICE_S,
        check: Callable[[], None] = no_check,
    ) -> LintResult:
        look: LintResult = self._helper.call(
            "lint", self._parts.home.root, self._parts.profile, view.context, frozenset(dirty), check=check
        )
        return look
