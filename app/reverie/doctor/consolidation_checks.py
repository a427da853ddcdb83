"""The checks of background consolidations (formats/mux.md sections 10 and 11). Pure.

Each check examines one gate. A gate is a condition that must be met before a run starts.
"""

from __future__ import annotations

from reverie.doctor.checks import Checks, last_activity, model_verdict
from reverie.doctor.findings import Verdict
from reverie.doctor.fixes import Fixes
from reverie.doctor.quantities import ago
from reverie.doctor.workspace import WorkspaceFacts
from reverie.jobs.consolidate.run import DEBOUNCE_MS
from reverie.text.summaries import phrase, plain, together

DREAM = Checks()


@DREAM.check("dream-switch", "Background consolidation is on", "Background consolidation is off")
def switched_on(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.settings.background.of(facts.home_id).enabled:
        return "pass", phrase("Background runs are on for this home.")
    evidence = phrase(
        "Background runs are off for this home until you turn them on. You can still consolidate by hand."
    )
    return "off", evidence, fixes.switch_background_on()


@DREAM.check("dream-budget", "The daily budget has room left", "The daily budget is used up")
def budget(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    background = facts.settings.background.of(facts.home_id)
    spent = phrase(
        "In the last 24 hours: {runs} of {most_runs} runs, {tokens} of {most_tokens} tokens.",
        runs=facts.recent_runs,
        most_runs=background.runs_per_day,
        tokens=facts.recent_tokens,
        most_tokens=background.tokens_per_day,
    )
    over = facts.recent_runs >= background.runs_per_day or facts.recent_tokens >= background.tokens_per_day
    return ("fail", spent, fixes.raise_budget()) if background.enabled and over else ("pass", spent)


@DREAM.check("dream-model", "A consolidation can run", "The model for consolidations cannot be used")
def dream_model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return model_verdict(facts.dream_model, fixes.dream_by_rules())


@DREAM.check("dream-coverage", "The workspace was consolidated", "The consolidation records are damaged")
def coverage(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.coverage_problems:
        return "warn", plain(facts.coverage_problems[0])
    if facts.dream is not None:
        since = ago(facts.now, facts.dream.acquired_at_ms)
        evidence = phrase("Since {age}: {purpose}.", age=since, purpose=facts.dream.purpose)
        return "pass", evidence, None, phrase("A consolidation is running")
    if facts.coverage_at is None:
        return "pass", phrase("No consolidation has run here."), None, phrase("Not consolidated yet")
    age = phrase("{age}.", age=ago(facts.now, facts.coverage_at))
    waits = facts.now - facts.coverage_at < DEBOUNCE_MS
    return "pass", together(
        age, phrase("The next one in the background comes after 6 hours.") if waits else ""
    )


@DREAM.check(
    "dream-last", "Background consolidation reports no problem", "Background consolidation reports a problem"
)
def last_decision(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    return last_activity(facts, "trigger", "dream", "harvest")
