"""Between the Doctor tab and the checks: examines when somebody looks and something changed, mends on demand.

A real test of the model is made on request only; what it found is kept until another model or workspace is
examined. Threading: GUI thread; checks and fixes are jobs of a lane of their own, which begins with the first
question, because a test of a model may take long. Failure: told in the tab.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.errors import MendableError
from reverie.log_level import set_debug
from reverie.ui import dialogs
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.doctor.facts import Desk
    from reverie.doctor.findings import Finding
    from reverie.homes.scopes import ScopeContext
    from reverie.ui.doctor.tab import DoctorTab
    from reverie.ui.session import HomeSession

SETTLE_MS = 500
_PROBED = ("model-reachable", "tool-calling")


@dataclass(frozen=True, slots=True)
class _Examined:
    context: ScopeContext
    findings: tuple[Finding, ...]
    probed: bool
    error: MendableError | None = None


class DoctorControl(QObject):
    """`mended()`: a fix was applied, so settings may be others. `debug_switched()`: the log tells more."""

    mended = Signal()
    debug_switched = Signal()

    def __init__(self, tab: DoctorTab, clock: Clock) -> None:
        super().__init__(tab)
        self.tab = tab
        self._clock = clock
        self._lane: Lane | None = None
        self._session: HomeSession | None = None
        self._context: ScopeContext | None = None
        self._probed: tuple[Finding, ...] = ()
        self._stale = True
        self._loud = False  # somebody waits for it
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._look_quietly)
        tab.shown.connect(self._on_shown)
        tab.examine.connect(self.examine)
        tab.fix.connect(self.mend)
        tab.set_busy(False)

    @property
    def busy(self) -> bool:
        return self._lane is not None and self._lane.busy

    def set_session(self, session: HomeSession | None) -> None:
        """The home whose workspaces are examined."""
        old = self._session
        if old is not None:
            for signal in (old.status_changed, old.activity_changed, old.tree_changed):
                signal.disconnect(self.look_again)
        self._session = session
        if session is not None:
            for signal in (session.status_changed, session.activity_changed, session.tree_changed):
                signal.connect(self.look_again)
        self.look_again()

    def stop(self) -> None:
        """The window closes."""
        self._settle.stop()
        if self._lane is not None:
            self._lane.stop()

    @Slot()
    def look_again(self) -> None:
        """Something changed: examine again, once it is quiet, when somebody looks."""
        self._stale = True
        context = self._session.context if self._session is not None else None
        if context != self._context:
            self._context, self._probed = context, ()
            if self._lane is not None:
                self._lane.abandon("examine")
            self.tab.forget(coming=self._can_examine)
        if self.tab.isVisible():
            self._settle.start()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self._look_quietly()

    @Slot()
    def _look_quietly(self) -> None:
        if self.busy:
            self._settle.start()
        else:
            self.examine(False)

    @Slot(bool)
    def examine(self, with_probe: bool) -> None:
        """Make the checks of the shown workspace, or of the home where its agent has none."""
        session, context = self._session, self._context
        if session is None or context is None or not self._can_examine:
            self._stale = False
            self.tab.forget()
            return
        self._stale = False
        self._submit(session, context, with_probe=with_probe, check="")

    @Slot(str)
    def mend(self, check: str) -> None:
        """Apply the fix of a check, then look again."""
        session, context = self._session, self._context
        fix = next((one.fix for one in self.tab.findings if one.check == check), None)
        if fix is not None and fix.evidence and not dialogs.ask_write_anyway(self.tab, fix.evidence):
            return
        if session is not None and context is not None and not self._loud:
            self._submit(session, context, with_probe=False, check=check)

    def _submit(self, session: HomeSession, context: ScopeContext, *, with_probe: bool, check: str) -> None:
        parts, desk, clock = session.workbench.parts, self._desk_of(session, context), self._clock
        fix = next((one.fix for one in self.tab.findings if one.check == check), None)

        def work(control: JobControl) -> _Examined:
            from reverie.doctor.checks import examine

            error = None
            if fix is not None:
                try:
                    fix.apply()
                except MendableError as failure:
                    error = failure
            control.check()
            found = examine(parts, context, desk(), now=clock(), with_probe=with_probe)
            return _Examined(context, found, with_probe, error)

        if self._lane is None:
            self._lane = Lane("doctor", self)
        done = self._on_mended if fix is not None else self._on_examined
        self._lane.submit(
            "examine",
            work,
            done=done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            group="" if fix is not None else "examine",
        )
        self._set_loud(with_probe or fix is not None)

    def _set_loud(self, loud: bool) -> None:
        self._loud = loud
        self.tab.set_busy(loud)

    def _desk_of(self, session: HomeSession, context: ScopeContext) -> Callable[[], Desk]:
        """What makes the desk, in the job: it is heavy to import."""
        parts, watcher, switched = session.workbench.parts, session.watcher, self.debug_switched.emit

        def debug() -> None:
            set_debug(True)
            switched()

        def make() -> Desk:
            from reverie.compose import doctor_desk

            watch = watcher.state if watcher is not None else None
            return replace(doctor_desk(parts, context), watch=watch, set_debug=debug)

        return make

    def _on_examined(self, found: _Examined) -> None:
        self._set_loud(False)
        if found.context != self._context:
            return
        if found.error is None:
            self.tab.message.clear()
        else:
            self.tab.say_error(found.error)
        self.tab.show_findings(self._with_probed(found), self._place)

    def _on_mended(self, found: _Examined) -> None:
        self._on_examined(found)
        self.mended.emit()

    def _on_failed(self, error: MendableError) -> None:
        self._stale = True
        self._set_loud(False)
        self.tab.say_error(error)

    def _on_cancelled(self) -> None:
        self._set_loud(False)

    def _with_probed(self, found: _Examined) -> tuple[Finding, ...]:
        """What a test of the same model found stays until another one is made."""
        model = next((one.evidence for one in found.findings if one.check == "model"), "")
        if found.probed:
            self._probed = found.findings
        elif model != next((one.evidence for one in self._probed if one.check == "model"), ""):
            self._probed = ()
        kept = {one.check: one for one in self._probed if one.check in _PROBED}
        return tuple(kept.get(one.check, one) for one in found.findings)

    @property
    def _can_examine(self) -> bool:
        """Whether a workspace is shown, or a home of an agent that has none."""
        session, context = self._session, self._context
        if session is None or context is None:
            return False
        return context.workspace_id is not None or not session.info.contents.workspaces()

    @property
    def _place(self) -> str:
        session, context = self._session, self._context
        if session is None or context is None:
            return ""
        if context.workspace_id is None:
            return visible(session.info.label)
        for workspace in session.info.contents.workspaces():
            if workspace.id == context.workspace_id:
                return visible(workspace.label)
        return visible(context.workspace_id)
