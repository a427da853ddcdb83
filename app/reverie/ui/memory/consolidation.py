"""What a person asks of the consolidator: dreams, what is chosen of one, undos. One at a time, on its thread.

Before a dream by anything but the rules is begun it is asked which engine counts and whether memories may go
where that is; the answer of the person comes in between (`consent_wanted`, then `answer`). Emits progress and
outcomes only; no view is refreshed from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from reverie.errors import MendableError
from reverie.homes.scopes import ScopeContext
from reverie.ui.jobs import JobControl, Lane, Ticket

if TYPE_CHECKING:
    from reverie.dream.review import Selection
    from reverie.runs.parts import Parts
    from reverie.services.models import Choice
    from reverie.services.views import ConsentView, RevertView, RunView
    from reverie.services.workbench import Workbench

RULES, AUTO = "rules", "auto"


@dataclass(frozen=True, slots=True)
class DreamEnded:
    """`kind`: `dream`, `preview` or `apply`."""

    run: RunView
    dry_run: bool
    kind: str = "dream"


@dataclass(frozen=True, slots=True)
class _Wish:
    workbench: Workbench
    context: ScopeContext
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The engine that counts, and what is to be asked before it is used."""

    engine: str
    consent: ConsentView | None


class Consolidation(QObject):
    """`started(str)`: `dream`, `preview`, `apply` or `revert`; perhaps `consent_wanted(ConsentView, str
    engine)`, which waits for `answer`; `progressed(DreamProgress)`; then exactly one of `ended(DreamEnded)`,
    `reverted(RevertView)`, `failed(MendableError)`, `cancelled()`."""

    started = Signal(str)
    consent_wanted = Signal(object, str)
    progressed = Signal(object)
    ended = Signal(object)
    reverted = Signal(object)
    failed = Signal(object)
    cancelled = Signal()

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._ticket: Ticket | None = None
        self._wish: _Wish | None = None
        self._workbench: Workbench | None = None
        self._asked: _Prepared | None = None

    @property
    def running(self) -> bool:
        return self._ticket is not None or self._asked is not None

    def runs_in(self, workbench: Workbench) -> bool:
        """Whether what runs, or waits for an answer, is of this home."""
        return self.running and self._workbench is workbench

    def dream(
        self, workbench: Workbench, context: ScopeContext, *, dry_run: bool, engine: str = AUTO
    ) -> None:
        """Start one; ignored while another one of this window runs."""
        if self.running:
            return
        self._workbench = workbench
        self._wish = wish = _Wish(workbench, context, dry_run)
        if engine == RULES:
            self._dream(wish, engine, agreed=False)
        else:
            self._submit("prepare", _prepare(wish, engine))
        self.started.emit("preview" if dry_run else "dream")

    def apply(self, workbench: Workbench, run_id: str, selection: Selection) -> None:
        """Carry out what was chosen of a run; ignored while another job of this window runs."""
        if self.running:
            return

        def work(control: JobControl) -> DreamEnded:
            run = workbench.apply_review(run_id, selection, progress=control.report, cancel=control.cancel)
            return DreamEnded(run, dry_run=False, kind="apply")

        self._workbench = workbench
        self._submit("apply a review", work)
        self.started.emit("apply")

    def revert(self, workbench: Workbench, run_id: str, part: Parts | None = None) -> None:
        """Undo a run, or a part of it; ignored while another job of this window runs."""
        if self.running:
            return

        def work(_control: JobControl) -> RevertView:
            return workbench.revert(run_id, part)

        self._workbench = workbench
        self._submit("undo a run", work)
        self.started.emit("revert")

    def answer(self, agreed: bool) -> None:
        """Whether memories may be sent where `consent_wanted` said."""
        prepared, wish, self._asked = self._asked, self._wish, None
        if prepared is None or wish is None:
            return
        if agreed:
            self._dream(wish, prepared.engine, agreed=True)
        else:
            self.cancelled.emit()

    @Slot()
    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    def _dream(self, wish: _Wish, engine: str, *, agreed: bool) -> None:
        def work(control: JobControl) -> DreamEnded:
            if agreed:
                wish.workbench.models.give_consent(engine)
            run = wish.workbench.start_dream(
                wish.context,
                dry_run=wish.dry_run,
                engine=engine,
                progress=control.report,
                cancel=control.cancel,
            )
            return DreamEnded(run, wish.dry_run, "preview" if wish.dry_run else "dream")

        self._submit("consolidate", work)

    def _submit(self, name: str, work: Any) -> None:
        self._ticket = self._lane.submit(
            name,
            work,
            done=self._on_done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            progress=self.progressed.emit,
        )

    def _on_done(self, result: _Prepared | DreamEnded | RevertView) -> None:
        ticket, self._ticket = self._ticket, None
        if isinstance(result, _Prepared):
            self._on_prepared(result, cancelled=ticket is not None and ticket.control.cancel.is_set())
        elif isinstance(result, DreamEnded):
            self.ended.emit(result)
        else:
            self.reverted.emit(result)

    def _on_prepared(self, prepared: _Prepared, *, cancelled: bool) -> None:
        wish = self._wish
        if cancelled or wish is None:
            self.cancelled.emit()
        elif prepared.consent is None:
            self._dream(wish, prepared.engine, agreed=False)
        else:
            self._asked = prepared
            self.consent_wanted.emit(prepared.consent, prepared.engine)

    def _on_failed(self, error: MendableError) -> None:
        self._ticket = None
        self.failed.emit(error)

    def _on_cancelled(self) -> None:
        self._ticket = None
        self.cancelled.emit()


def button_engine(workbench: Workbench, context: ScopeContext) -> Choice:
    """The engine that the button means, also while a person has still to agree to it. For jobs."""
    return workbench.models.choose(context, AUTO, before_consent=True)


def _prepare(wish: _Wish, engine: str) -> Callable[[JobControl], _Prepared]:
    def work(control: JobControl) -> _Prepared:
        chosen = button_engine(wish.workbench, wish.context).engine if engine == AUTO else engine
        control.check()
        consent = wish.workbench.models.consent_needed(wish.context, chosen) if chosen != RULES else None
        return _Prepared(chosen, consent)

    return work
