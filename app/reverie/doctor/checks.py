"""Why the memory writer or the dream did not run: every gate in its order, each with evidence and a fix.

`examine` gathers the facts and judges them; the checks themselves (`writer_checks`, `machine_checks`,
`dream_checks`) are pure functions of the facts. The first failure is the cause: what comes after it may only
follow from it.

Threading: blocks on disk, with `with_probe` on the network; any thread but the GUI's. Failure: `Unavailable`
where the home is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.doctor.agent_checks import agent_findings
from reverie.doctor.claude_checks import CLAUDE_CHECKS
from reverie.doctor.dream_checks import DREAM_CHECKS
from reverie.doctor.facts import Desk, Facts, Parts
from reverie.doctor.findings import Finding
from reverie.doctor.fixes import Fixes
from reverie.doctor.gather import gather
from reverie.doctor.layout_checks import LAYOUT_CHECKS
from reverie.doctor.machine_checks import MACHINE_CHECKS
from reverie.doctor.writer_checks import WRITER_CHECKS, feature, needs_no_writer, no_writer
from reverie.homes.scopes import ScopeContext

Check = Callable[[Facts, Fixes], Finding]

CHECKS: tuple[Check, ...] = (*LAYOUT_CHECKS, *WRITER_CHECKS, *MACHINE_CHECKS, *DREAM_CHECKS)


def examine(
    parts: Parts,
    context: ScopeContext,
    desk: Desk | None = None,
    *,
    now: int,
    with_probe: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Every check of one workspace, in the order of the gates. `with_probe` asks the model for real."""
    desk = desk or Desk()
    facts = gather(parts, context, desk, now=now, with_probe=with_probe, env=env)
    return judge(facts, Fixes(parts, desk))


def judge(facts: Facts, fixes: Fixes) -> tuple[Finding, ...]:
    """The findings that follow from the facts. Its gates are judged only where there is a memory writer, and
    where it is on or the agent is of a version that has one."""
    checks = CHECKS
    if not facts.has_writer:
        checks = (*LAYOUT_CHECKS, no_writer, *MACHINE_CHECKS, *DREAM_CHECKS)
    elif needs_no_writer(facts):
        checks = (*LAYOUT_CHECKS, feature, *MACHINE_CHECKS, *DREAM_CHECKS)
    claude = facts.claude
    return (
        *agent_findings(facts, fixes),
        *(() if claude is None else (check(claude, facts.now) for check in CLAUDE_CHECKS)),
        *(check(facts, fixes) for check in checks),
    )
