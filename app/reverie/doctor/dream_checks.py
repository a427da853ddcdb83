"""The gates of dreams that run by themselves (formats/mux.md sections 10 and 11). Pure."""

from __future__ import annotations

from reverie.doctor.facts import Facts
from reverie.doctor.findings import Finding
from reverie.doctor.fixes import RULES, Fixes
from reverie.doctor.told import last_said, no_model
from reverie.doctor.words import ago
from reverie.dream.service import DEBOUNCE_MS
from reverie.text.counts import some


def switched_on(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "dream-switch", "Dreams may run by themselves"
    if facts.settings.background.of(facts.home_id).enabled:
        return Finding(check, title, "pass", "Background runs are switched on for this home.")
    evidence = "Background runs are off for this home, as they are until you turn them on. "
    evidence += "You can consolidate by hand all the same."
    return Finding(check, title, "off", evidence, fixes.switch_background_on())


def budget(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "dream-budget", "The day's budget is not used up"
    wishes = facts.settings.background.of(facts.home_id)
    spent = f"{facts.recent_runs} of {some(wishes.runs_per_day, 'run')}, "
    spent += f"{facts.recent_tokens:,} of {some(wishes.tokens_per_day, 'token')} in the last 24 hours."
    over = facts.recent_runs >= wishes.runs_per_day or facts.recent_tokens >= wishes.tokens_per_day
    if wishes.enabled and over:
        return Finding(check, title, "fail", f"Used up: {spent}", fixes.raise_budget())
    return Finding(check, title, "pass", spent)


def model(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "dream-model", "A dream has a model, or the rules"
    found = facts.dream_model
    if found is None or found.problem:
        return no_model(found, check, title, fixes.dream_by_rules())
    name = "The rules engine" if found.engine == RULES else found.engine
    return Finding(check, title, "pass", f"{name}. {found.reason}")


def coverage(facts: Facts, _fixes: Fixes) -> Finding:
    check, title = "dream-coverage", "The last dream of this workspace"
    if facts.coverage_problems:
        return Finding(check, title, "warn", facts.coverage_problems[0])
    if facts.dream is not None:
        since = ago(facts.now, facts.dream.acquired_at_ms)
        return Finding(check, title, "pass", f"One is at work since {since}: {facts.dream.purpose}.")
    if facts.coverage_at is None:
        return Finding(check, title, "pass", "None yet.")
    at = ago(facts.now, facts.coverage_at)
    if facts.now - facts.coverage_at < DEBOUNCE_MS:
        return Finding(check, title, "pass", f"{at}; the next one by itself comes after 6 hours.")
    return Finding(check, title, "pass", f"{at}.")


def last_decision(facts: Facts, _fixes: Fixes) -> Finding:
    title = "What the triggers of dreams said last"
    return last_said(facts, "dream-last", title, "trigger", "dream", "harvest")


DREAM_CHECKS = (
    switched_on,
    budget,
    model,
    coverage,
    last_decision,
)
"""In the order of the gates."""
