"""`Checks`, a list of checks of a workspace, and functions that judge facts for several checks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from reverie.doctor.facts import ModelFacts
from reverie.doctor.findings import Finding, Fix, Remedy, State, Verdict
from reverie.doctor.fixes import RULES, Fixes
from reverie.doctor.quantities import ago
from reverie.doctor.workspace import WorkspaceFacts
from reverie.text.summaries import Phrase, phrase, plural, together
from reverie.values import Struct

Judge = Callable[[WorkspaceFacts, Fixes], Verdict]
"""A function that judges the facts; it may return one of the fixes that the given `Fixes` makes."""


class Check(Struct, frozen=True):
    """One check of a workspace, such as whether its transcript can be read."""

    name: str
    """The name that scripts use, such as `clock`."""
    holds: str
    """The title shown to people if the check passes; a template of a phrase."""
    fails: str
    """The title shown to people if the check does not pass; a template of a phrase."""
    judge: Judge

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


class Checks(list[Check]):
    """The checks of one subject, in the order in which they are defined and reported."""

    def check(self, name: str, holds: str, fails: str) -> Callable[[Judge], Check]:
        """Return a decorator that appends a check which calls the decorated function.

        `name`, `holds`, `fails`: as in `Check`.
        """

        def made(judge: Judge) -> Check:
            self.append(Check(name, holds, fails, judge))
            return self[-1]

        return made


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


_KEY = re.compile(r"\bkey\b|\b40[13]\b|unauthori[sz]ed|authenticat", re.IGNORECASE)


def remedy_of(problem: str) -> Remedy:
    """Return the setting that a person should change to solve `problem`: `key` (the API key) or `model`.

    `problem`: a sentence about a model. The result is `key` if it contains a word about keys or access.
    """
    return "key" if _KEY.search(problem) else "model"


def model_verdict(found: ModelFacts | None, fix: Fix) -> Verdict:
    """Return the verdict of a check that needs a model: which engine a run would use, and why.

    `found`: the facts about the model; None if it is unknown which model is used, and then the check passes.
    If the model cannot be used, the check fails with the problem, and `fix` solves it.
    """
    if found is None:
        return "pass", phrase("The model was not checked: models are unknown here.")
    if found.problem:
        evidence = phrase("{model}: {problem}", model=found.engine, problem=found.problem)
        return "fail", evidence, fix, None, remedy_of(found.problem)
    by_rules = phrase("It works by rules, without a model.")
    with_model = phrase("{model}.", model=found.engine)
    return "pass", together(by_rules if found.engine == RULES else with_model, found.reason)
