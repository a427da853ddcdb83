"""Whether Reverie knows the layout and versions of the stores in use, and so may write. Pure."""

from __future__ import annotations

from reverie.doctor.facts import Facts
from reverie.doctor.findings import Finding
from reverie.doctor.fixes import Fixes


def known_layout(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "known-layout", "Reverie knows this layout"
    refused = [refusal for refusal, permitted in facts.refusals if not permitted]
    if refused:
        sentences = (" ".join((each.title, each.evidence, each.next_step)) for each in refused)
        return Finding(check, title, "fail", " ".join(sentences), fixes.write_anyway(refused))
    if facts.refusals:
        evidence = " ".join(each.evidence for each, _permitted in facts.refusals)
        return Finding(check, title, "warn", f"{evidence} You chose to write anyway.")
    return Finding(check, title, "pass", "All layouts and versions found here are known.")


LAYOUT_CHECKS = (known_layout,)
