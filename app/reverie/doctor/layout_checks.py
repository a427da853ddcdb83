"""The check whether Reverie knows the layouts and versions of the stores, so that it may write to them.

Pure.
"""

from __future__ import annotations

from reverie.doctor.checks import Check
from reverie.doctor.facts import (
    WorkspaceFacts,
)
from reverie.doctor.findings import Verdict
from reverie.doctor.fixes import Fixes
from reverie.text.summaries import phrase, together


def known_layout(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    refused = [refusal for refusal, permitted in facts.refusals if not permitted]
    if refused:
        sentences = (text for each in refused for text in (each.title, each.evidence, each.next_step))
        return "fail", together(*sentences), fixes.write_anyway(refused)
    if facts.refusals:
        evidence = together(*(each.evidence for each, _permitted in facts.refusals))
        return "warn", together(evidence, phrase("You chose to write anyway."))
    return "pass", phrase("Reverie recognizes all layouts and versions found here.")


LAYOUT_CHECKS = (
    Check("known-layout", "Reverie knows this layout", "Reverie does not know this layout", known_layout),
)
