"""The checks of the environment of runs: the host of the services, the watcher, disk, clock and log. Pure."""

from __future__ import annotations

from reverie.doctor.checks import Checks, last_activity
from reverie.doctor.findings import State, Verdict
from reverie.doctor.fixes import Fixes
from reverie.doctor.quantities import MINUTE_MS, ago, size
from reverie.doctor.workspace import WorkspaceFacts
from reverie.text.summaries import NOTHING, phrase, plain, plural, together

MACHINE = Checks()
SCARCE_BYTES = 500 << 20
FULL_BYTES = 20 << 20
_AHEAD_MS = 5 * MINUTE_MS


@MACHINE.check("log-level", "Debug logging is on", "Debug logging is off")
def log_level(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.log_level.startswith("debug"):
        return "pass", phrase("{level}: the log records every decision.", level=facts.log_level)
    evidence = phrase("The log records only writes and failures.")
    return "pass", evidence, fixes.debug_logging(), phrase("Debug logging is off")


@MACHINE.check("services", "The background services are running", "The background services are not running")
def host(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.lease_problem:
        return "fail", plain(facts.lease_problem)
    if (holder := facts.host) is not None:
        pid, age = str(holder.owner.pid), ago(facts.now, holder.acquired_at_ms)
        return "pass", phrase(
            "{purpose}, process {pid}, since {age}.", purpose=holder.purpose, pid=pid, age=age
        )
    if not (facts.settings.system1.enabled or facts.settings.background.of(facts.home_id).enabled):
        evidence = phrase("No background service is needed, because none is turned on.")
        return "pass", evidence, None, phrase("All background services are off")
    return "fail", phrase(
        "No process runs them for this home. Leave the window open, or run `reverie watch`."
    )


@MACHINE.check("watcher", "Reverie notices changes on disk", "Reverie may notice changes on disk late")
def watcher(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    state, polling, by_events = facts.watch, facts.settings.watch.polling, fixes.watch_by_events()
    if state is None:
        last = facts.last("host.watch")
        if last is not None and facts.host is not None and last.last_at >= facts.host.acquired_at_ms:
            return "warn", plain(last.text)
        if polling == "never":
            evidence = phrase(
                "By events only; where the system sends none, changes appear at the next full scan."
            )
            return "warn", evidence, by_events
        if polling == "always":
            return "pass", phrase("The settings choose scanning.")
        return "pass", phrase("The settings choose file system events, or scanning where there are none.")
    if state.mode == "stopped":
        return "fail", phrase("This window no longer watches the home for changes. Open the home again.")
    if state.mode == "polling":
        evidence = together(phrase("Reverie scans the folders every few seconds."), state.message)
        return ("pass", evidence, by_events) if polling == "always" else ("warn", evidence)
    if state.failures:
        return "warn", plural(
            "Reverie could not process changes once; the log has the reason.",
            "Reverie could not process changes %n times; the log has the reason.",
            state.failures,
        )
    if state.message:
        return "warn", plain(state.message), by_events if polling == "never" else None
    return "pass", plural(
        "By file system events, in 1 folder.", "By file system events, in %n folders.", state.watches
    )


@MACHINE.check("disk", "There is enough disk space", "Disk space is low")
def disk(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    places = (
        (facts.free_bytes, phrase("in the home directory")),
        (facts.own_free_bytes, phrase("in Reverie's own directories")),
    )
    known = [(free, where) for free, where in places if free is not None]
    if not known:
        return "warn", phrase("The amount of free disk space could not be determined.")
    free, where = min(known)
    state = space_state(free)
    seen = phrase("{size} are free {where}.", size=size(free), where=where)
    return state, together(seen, "" if state == "pass" else phrase("Free up disk space."))


def space_state(free: int) -> State:
    """Return the state for `free` bytes of free disk space.

    It is `fail` below `FULL_BYTES`, `warn` below `SCARCE_BYTES`, else `pass`.
    """
    return "fail" if free < FULL_BYTES else "warn" if free < SCARCE_BYTES else "pass"


@MACHINE.check("clock", "The clock is right", "The clock is slow")
def clock(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """Judge whether this machine's clock is slow, so that turns or runs are dated after the present time.

    A wrong clock makes every age wrong, and with it the waiting times, the retention and the order of runs.
    """
    stamps = [(turn.timestamp, phrase("Turn {id}", id=turn.id)) for turn in facts.turns]
    if facts.state is not None:
        moments = facts.state.started_at, facts.state.completed_at
        stamps += [(moment, phrase("The last run")) for moment in moments]
    known = [(moment, what) for moment, what in stamps if moment is not None]
    newest, what = max(known, default=(0, NOTHING))
    if newest > facts.now + _AHEAD_MS:
        age = ago(facts.now, newest)
        return "fail", phrase(
            "{what} is in the future ({age}). Check this computer's clock.", what=what, age=age
        )
    return "pass", phrase("Nothing here is dated in the future.")


@MACHINE.check(
    "activity", "The background services report no problem", "The background services report a problem"
)
def activity(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.activity_damage:
        return "warn", plain(facts.activity_damage)
    return last_activity(facts, "writer", "host")
