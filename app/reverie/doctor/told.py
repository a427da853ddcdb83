"""Findings that several lists of checks have in common. Pure."""

from __future__ import annotations

from reverie.doctor.facts import Facts, ModelFacts
from reverie.doctor.findings import Finding, Fix, State
from reverie.doctor.words import ago


def last_said(facts: Facts, check: str, title: str, *sources: str) -> Finding:
    """The newest line of Activity about this workspace from one of `sources`."""
    last = facts.last(*sources)
    if last is None:
        return Finding(check, title, "pass", "Nothing yet about this workspace.")
    state: State = "warn" if last.level in ("warning", "error") else "pass"
    times = f" ({last.times} times)" if last.times > 1 else ""
    return Finding(check, title, state, f"{ago(facts.now, last.last_at)}{times}: {last.text}")


def no_model(found: ModelFacts | None, check: str, title: str, fix: Fix) -> Finding:
    """What is to be said where no model was looked at, or it has a problem, which `fix` mends."""
    if found is None:
        return Finding(check, title, "pass", "It was not looked at here: this place knows no models.")
    return Finding(check, title, "fail", f"{found.engine}: {found.problem}", fix)
