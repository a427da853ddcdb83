"""Examines why the memory writer or a consolidation did not run: every condition (gate), in its order.

`WorkspaceFacts` reads the facts about a workspace; `judge` runs the checks, which are pure functions of the
facts, and returns one finding for each, with evidence and maybe a fix. The first failure is the cause,
because the later ones may only follow from it.

Threading: blocks on disk, and on the network with `with_probe`; any thread but the GUI's. Failure:
`Unavailable` if the home no longer exists; any other data that cannot be read is itself a fact.
"""

from __future__ import annotations

from collections.abc import Mapping

from reverie.agents.scopes import ScopeContext
from reverie.doctor.agent_checks import AGENT, agent_findings, known_layout
from reverie.doctor.consolidation_checks import DREAM
from reverie.doctor.facts import DoctorHome, DoctorHooks
from reverie.doctor.findings import Finding
from reverie.doctor.fixes import Fixes
from reverie.doctor.machine_checks import MACHINE
from reverie.doctor.workspace import WorkspaceFacts
from reverie.doctor.writer_checks import WRITER, feature, needs_no_writer

CHECKS = (*AGENT, *WRITER, *MACHINE, *DREAM)


def examine(
    parts: DoctorHome,
    context: ScopeContext,
    hooks: DoctorHooks | None = None,
    *,
    now: int,
    with_probe: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Run every check of one workspace; return the findings in the order in which a run tests its conditions.

    `hooks`: functions of other parts of the program; None: none of them is available. `now`: the current time
    (UTC ms). `with_probe`: send a real request to the model. `env`: the environment variables; None: those of
    the process.
    """
    hooks = hooks or DoctorHooks()
    facts = WorkspaceFacts(parts, context, hooks, now=now, with_probe=with_probe, env=env)
    return judge(facts, Fixes(parts, hooks))


def judge(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """Run all checks on these facts; return the findings in the order in which a run tests its conditions.

    A finding may offer one of `fixes`. The conditions of Reverie's memory writer are left out if the agent
    has no memory writer, or if this version of the agent writes its memories by itself and Reverie's writer
    is off.
    """
    checks = CHECKS
    if not facts.has_writer or needs_no_writer(facts):
        agent = AGENT if facts.agent_runs else (known_layout,)
        checks = (*agent, feature, *MACHINE, *DREAM)
    return (*agent_findings(facts, fixes), *(check.finding(facts, fixes) for check in checks))
