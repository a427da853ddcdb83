"""The Doctor of an open home: checks why runs do not start, returns findings to clients, and applies fixes.

To apply a fix, the client sends back the finding that it shows, so that only a fix that the user saw is
applied. Facts about the client (its log level, the results of a test of the model) come with each call;
nothing is stored.

Threading: blocks on disk, and with `with_probe` on the network; any thread. Failure: `UserError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reverie.agents.scopes import ScopeContext
from reverie.doctor.findings import FindingView
from reverie.files.log_file import set_debug
from reverie.llm.probe import ProbeStep
from reverie.memory.listing import no_check
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.doctor.facts import DoctorHooks
    from reverie.doctor.findings import Finding
    from reverie.files.watch import WatchState
    from reverie.services.container import HomeContainer


class Examination(Struct, frozen=True):
    """The results of every check of one context (a home, with the workspace or project in it)."""

    findings: tuple[FindingView, ...]
    """In the order in which a run checks its conditions."""
    probe: tuple[ProbeStep, ...] | None
    """The steps of a test of the model by a real request; None if no test was made."""


class HomeDoctor:
    """The service of one home that checks why runs do not start, and applies fixes.

    `log_level`, an argument of its methods, is the level of the client's log in words, such as "info".
    """

    def __init__(self, parts: HomeContainer, watch_state: Callable[[], WatchState | None]) -> None:
        self._parts = parts
        self._watch_state = watch_state

    def examine(
        self,
        context: ScopeContext,
        *,
        log_level: str,
        with_probe: bool = False,
        check: Callable[[], None] = no_check,
    ) -> Examination:
        """Run every check of a context (a home, with the workspace or project in it); return the results.

        `log_level`: the level of the client's log, such as "info", which one of the checks reports.
        `with_probe`: send a real request to the model. `check` is called only right before this request, and
        may raise to stop.
        """
        hooks = self._hooks(context, log_level)
        probed: list[tuple[ProbeStep, ...]] = []

        def probe(model: str) -> tuple[ProbeStep, ...]:
            check()
            found = hooks.probe(model) if hooks.probe is not None else ()
            probed.append(found)
            return found

        findings = self._findings(context, replace(hooks, probe=probe), with_probe=with_probe)
        return Examination(tuple(each.view for each in findings), probed[0] if probed else None)

    def fix(
        self,
        context: ScopeContext,
        shown: FindingView,
        *,
        log_level: str,
        probe: tuple[ProbeStep, ...] | None = None,
    ) -> bool:
        """Apply the fix of the finding `shown`; return False if the checks no longer offer this fix.

        `log_level`: the level of the client's log, such as "info". `probe`: the steps of the earlier test of
        the model on which the finding may be based; None if there was no test. The fix of the log level
        changes only the level of the engine; the client changes its own.
        """
        hooks = replace(self._hooks(context, log_level), probe=lambda _model: probe or ())
        for finding in self._findings(context, hooks, with_probe=probe is not None):
            if finding.fix is not None and (finding.check, finding.view.fix) == (shown.check, shown.fix):
                finding.fix.apply()
                return True
        return False

    def _hooks(self, context: ScopeContext, log_level: str) -> DoctorHooks:
        # Late: the client's end needs the signatures alone.
        from reverie.compose import doctor_hooks

        return replace(
            doctor_hooks(self._parts, context),
            watch=self._watch_state,
            set_debug=partial(set_debug, True),
            log_level=log_level,
        )

    def _findings(
        self, context: ScopeContext, hooks: DoctorHooks, *, with_probe: bool
    ) -> tuple[Finding, ...]:
        # Late: as above.
        from reverie.doctor.examination import examine

        return examine(self._parts, context, hooks, now=self._parts.clock(), with_probe=with_probe)
