"""The checks of the agent: its conditions for writing memories, its memory writer, its layout. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reverie.doctor.checks import Checks, remedy_of
from reverie.doctor.facts import MOST_DUMPS, Maker
from reverie.doctor.findings import Finding, Remedy, Verdict
from reverie.doctor.fixes import Fixes
from reverie.doctor.quantities import MINUTE_MS, ago
from reverie.doctor.workspace import WorkspaceFacts
from reverie.text.summaries import Phrase, phrase, plural, together

AGENT = Checks()
_OTHER_MODEL = frozenset({"prose", "never-called", "no-tool-support", "bad-json"})
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


@AGENT.check(
    "agent-writer",
    "The agent's own memory writer has no unresolved failure",
    "The agent's memory writer wrote nothing",
)
def agent_writer(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Judge the last runs of the agent's own memory writer.

    A run that failed leaves a trace file. A run that succeeded leaves none; only the state file shows that it
    started.
    """
    runs = facts.agent_runs
    if not runs and len(facts.dumps) > MOST_DUMPS:
        return "pass", phrase("None of the newest {n} traces is from the writer.", n=MOST_DUMPS)
    if not runs:
        return "pass", phrase("No run of the agent's memory writer left a trace, so no failure is known.")
    newest = runs[0]
    age, why = ago(facts.now, newest.started_at), newest.verdict.sentence
    began = facts.state.started_at if facts.state is not None else None
    if newest.wrote:
        return "pass", phrase("{age}: {text}", age=age, text=why)
    if began is not None and began > newest.started_at + MINUTE_MS:
        later = phrase("A run {age} left no trace of a failure.", age=ago(facts.now, began))
        return "pass", together(later, phrase("The run before it, {age}: {text}", age=age, text=why))
    title = plural(
        "The agent's memory writer wrote nothing in its last run",
        "The agent's memory writer wrote nothing in its last %n runs",
        next((number for number, run in enumerate(runs) if run.wrote), len(runs)),
    )
    remedy: Remedy = "model" if newest.verdict.name in _OTHER_MODEL else ""
    if newest.verdict.name == "provider-error" and remedy_of(why) == "key":
        remedy = "key"
    evidence = phrase("Cause of the newest failure, {age}: {text}", age=age, text=why)
    can_write = facts.model is not None and not facts.model.problem and not remedy
    # This is not a gate of Reverie's and must not make `reverie doctor` fail.
    return "warn", evidence, fixes.run_writer() if can_write else None, title, remedy


@AGENT.check("known-layout", "Reverie knows this layout", "Reverie does not know this layout")
def known_layout(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Judge whether Reverie knows the layouts and versions of the stores, so that it may write to them."""
    refused = [refusal for refusal, permitted in facts.refusals if not permitted]
    if refused:
        sentences = (text for each in refused for text in (each.title, each.evidence, each.next_step))
        return "fail", together(*sentences), fixes.write_anyway(refused)
    if facts.refusals:
        evidence = together(*(each.evidence for each, _permitted in facts.refusals))
        return "warn", together(evidence, phrase("You chose to write anyway."))
    return "pass", phrase("Reverie recognizes all layouts and versions found here.")
