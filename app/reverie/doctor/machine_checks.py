"""What has to hold around the gates: who runs the services, how they watch, disk, clock, log. Pure."""

from __future__ import annotations

from reverie.doctor.facts import Facts
from reverie.doctor.findings import Finding, State
from reverie.doctor.fixes import Fixes
from reverie.doctor.told import last_said
from reverie.doctor.words import MINUTE_MS, ago, size
from reverie.text.counts import some

SCARCE_BYTES = 500 << 20
FULL_BYTES = 20 << 20
_AHEAD_MS = 5 * MINUTE_MS


def log_level(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "log-level", "What the log tells"
    if facts.log_level.startswith("debug"):
        return Finding(check, title, "pass", f"{facts.log_level}: every gate and outcome is logged.")
    evidence = f"{facts.log_level}: a successful write is logged; gates and outcomes stand in Activity."
    return Finding(check, title, "pass", evidence, fixes.debug_logging())


def host(facts: Facts, _fixes: Fixes) -> Finding:
    check, title = "services", "The background services run"
    if facts.lease_problem:
        return Finding(check, title, "fail", facts.lease_problem)
    holder = facts.host
    if holder is not None:
        since = ago(facts.now, holder.acquired_at_ms)
        return Finding(check, title, "pass", f"{holder.purpose}, process {holder.owner.pid}, since {since}.")
    wanted = facts.settings.system1.enabled or facts.settings.background.of(facts.home_id).enabled
    if not wanted:
        return Finding(check, title, "pass", "Nothing is switched on, so nothing has to run.")
    evidence = "Nobody runs them for this home. Leave the window open, or run `reverie watch`."
    return Finding(check, title, "fail", evidence)


def watcher(facts: Facts, fixes: Fixes) -> Finding:
    check, title = "watcher", "Changes on disk are noticed"
    polling = facts.settings.watch.polling
    state = facts.watch
    if state is not None and state.mode == "stopped":
        evidence = "The watcher of this window is stopped. Open the home again."
        return Finding(check, title, "fail", evidence)
    if state is not None and state.mode == "polling":
        words = f"The folders are looked through again and again. {state.message}".strip()
        fix = fixes.watch_with("auto") if polling == "always" else None
        return Finding(check, title, "pass" if polling == "always" else "warn", words, fix)
    if state is not None and state.failures:
        evidence = f"Changes could not be handed over ({some(state.failures, 'time')}); the log says why."
        return Finding(check, title, "warn", evidence)
    if state is not None and state.message:
        fix = fixes.watch_with("auto") if polling == "never" else None
        return Finding(check, title, "warn", state.message, fix)
    if state is not None:
        return Finding(check, title, "pass", f"By events, in {some(state.watches, 'folder')}.")
    told = facts.last("host.watch")
    if told is not None and facts.host is not None and told.last_at >= facts.host.acquired_at_ms:
        return Finding(check, title, "warn", told.text)
    if polling == "never":
        evidence = "By events only; where the system gives none, changes show at the next full scan."
        return Finding(check, title, "warn", evidence, fixes.watch_with("auto"))
    how = "again and again" if polling == "always" else "by events, or by looking where there are none"
    return Finding(check, title, "pass", f"The settings say: {how}.")


def disk(facts: Facts, _fixes: Fixes) -> Finding:
    check, title = "disk", "There is space on the disk"
    known = [
        (free, where)
        for free, where in (
            (facts.free_bytes, "the home lies"),
            (facts.own_free_bytes, "Reverie's own files lie"),
        )
        if free is not None
    ]
    if not known:
        return Finding(check, title, "warn", "How much is free could not be found out.")
    free, where = min(known)
    state: State = "fail" if free < FULL_BYTES else "warn" if free < SCARCE_BYTES else "pass"
    advice = "" if state == "pass" else " Free some space."
    return Finding(check, title, state, f"{size(free)} are free where {where}.{advice}")


def clock(facts: Facts, _fixes: Fixes) -> Finding:
    """A clock that is behind makes every age wrong: debounce, retention, and which run was last."""
    check, title = "clock", "The clock is right"
    stamps = [(turn.timestamp, f"turn {turn.id}") for turn in facts.turns if turn.timestamp is not None]
    if facts.state is not None:
        stamps += [
            (moment, "the last run")
            for moment in (facts.state.started_at, facts.state.completed_at)
            if moment is not None
        ]
    newest, what = max(stamps, default=(0, ""))
    if newest > facts.now + _AHEAD_MS:
        evidence = (
            f"{what[:1].upper()}{what[1:]} is dated {ago(facts.now, newest)}. Set this machine's clock."
        )
        return Finding(check, title, "fail", evidence)
    return Finding(check, title, "pass", "Nothing here is dated in the future.")


def activity(facts: Facts, _fixes: Fixes) -> Finding:
    check, title = "activity", "What the services said last"
    if facts.activity_damage:
        return Finding(check, title, "warn", facts.activity_damage)
    return last_said(facts, check, title, "writer", "host")


MACHINE_CHECKS = (
    log_level,
    host,
    watcher,
    disk,
    clock,
    activity,
)
"""In the order of the gates."""
