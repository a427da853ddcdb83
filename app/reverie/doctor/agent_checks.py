"""Findings about the agent's own conditions for writing memories, which `Home.jobs.checks` examines."""

from __future__ import annotations

from collections.abc import Mapping

from reverie.doctor.facts import Maker, WorkspaceFacts
from reverie.doctor.findings import Finding
from reverie.doctor.fixes import Fixes
from reverie.doctor.quantities import ago
from reverie.text.summaries import Phrase, phrase, together

_SENTENCES: Mapping[Maker, Phrase] = {
    "reverie": phrase("Reverie created it."),
    "nobody": phrase("It is empty."),
    "others": phrase("It has files that Reverie did not write or cannot read, so they stay unchanged."),
}


def agent_findings(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """Return one finding for each condition that the agent tests before it writes memories, in its order.

    A condition can fail because of a directory in the home. If Reverie made that directory, the finding
    offers to remove it (one of `fixes`).
    """
    found = []
    for check, maker in facts.agent_checks:
        fix, evidence = None, check.evidence
        if check.at is not None:
            evidence = phrase("{evidence} ({age})", evidence=evidence, age=ago(facts.now, check.at))
        if check.suspect is not None and maker is not None:
            evidence = together(evidence, _SENTENCES[maker])
            if maker != "others":
                fix = fixes.take_away(check.suspect, empty=maker == "nobody")
        found.append(Finding(check.check, check.title, check.state, evidence, fix))
    return tuple(found)
