"""`Check`, one check of a workspace, and functions that judge facts for several checks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from reverie.doctor.facts import (
    ModelFacts,
    WorkspaceFacts,
)
from reverie.doctor.findings import Finding, Fix, Remedy, State, Verdict
from reverie.doctor.fixes import RULES, Fixes
from reverie.doctor.quantities import ago
from reverie.text.summaries import Phrase, phrase, plural, together
from reverie.values import Struct


class Check(Struct, frozen=True):
    """One check of a workspace, such as whether its transcript can be read."""

    name: str
    """The name that scripts use, such as `clock`."""
    holds: str
    """The title shown to people if the check passes; a template of a phrase."""
    fails: str
    """The title shown to people if the check does not pass; a template of a phrase."""
    judge: Callable[[WorkspaceFacts, Fixes], Verdict]
    """The function that judges the facts; it may return one of the fixes that the given `Fixes` makes."""

    def finding(self, facts: WorkspaceFacts, fixes: Fixes) -> Finding:
        """Run the check on these facts; return the finding, which may offer one of the repairs in `fixes`."""
        return self._made(*self.judge(facts, fixes))

    def _made(
        self,
        state: State,
        evidence: Phrase,
        fix: Fix | None = None,
        title: Phrase | None = None,
        remedy: Remedy = "",
    ) -> Finding:
        fact = title or Phrase(self.holds if state == "pass" else self.fails)
        return Finding(self.name, fact, state, evidence, fix, remedy)


def last_activity(facts: WorkspaceFacts, *sources: str) -> Verdict:
    """Judge the newest entry about this workspace in Activity, the log of what background runs did.

    Only entries with one of the event names `sources` are considered; a name also matches the names below it:
    `writer` matches `writer.failed`. The verdict is a warning if the entry is a warning or an error.
    Otherwise, and without an entry, the check passes.
    """
    last = facts.last(*sources)
    if last is None:
        return "pass", phrase("No activity in this workspace yet.")
    state: State = "warn" if last.level in ("warning", "error") else "pass"
    age = ago(facts.now, last.last_at)
    if last.times > 1:
        age = plural("{age} (once)", "{age} (%n times)", last.times, age=age)
    return state, phrase("{age}: {text}", age=age, text=last.text)


def no_model(found: ModelFacts | None, fix: Fix) -> Verdict:
    """Return the verdict of a check that needs a model, for a home whose model is unknown or unusable.

    `found`: the facts about the model; None if it is unknown which model is used, and then the check passes.
    Otherwise the check fails with the problem in `found`, and `fix` solves it.
    """
    if found is None:
        return "pass", phrase("The model was not checked: models are unknown here.")
    evidence = phrase("{model}: {problem}", model=found.engine, problem=found.problem)
    return "fail", evidence, fix, None, remedy_of(found.problem)


_KEY = re.compile(r"\bkey\b|\b40[13]\b|unauthori[sz]ed|authenticat", re.IGNORECASE)


def remedy_of(problem: str) -> Remedy:
    """Return the setting that a person should change to solve `problem`: `key` (the API key) or `model`.

    `problem`: a sentence about a model. The result is `key` if it contains a word about keys or access.
    """
    return "key" if _KEY.search(problem) else "model"


def engine_in_words(found: ModelFacts) -> Phrase:
    """Return two sentences: which engine a run would use (a model, or the rules), and why."""
    if found.engine == RULES:
        return together(phrase("It works by rules, without a model."), found.reason)
    return together(phrase("{model}.", model=found.engine), found.reason)
