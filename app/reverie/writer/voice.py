"""Saying why: each gate that stops a run and each outcome is a log line `[system1][memory] ...` and an entry
in Activity, and so are the attempts of a run and its tool calls (told when it is over, from its trace). Gates
and outcomes log at debug, a memory that was written at info. What keeps saying the same is one entry in
Activity.

Threading: any. Failure: an Activity that cannot be written is logged; nothing is raised.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reverie.runs.activity import Activity
from reverie.runs.record import SUCCEEDED
from reverie.text.redact import redact
from reverie.writer.outcome import WriterOutcome
from reverie.writer.run import WriterEnd
from reverie.writer.schedule import Gate, Interval

_log = logging.getLogger("reverie.writer")


class Voice:
    """Speaks for the writer of one home."""

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._activity = activity
        self._home_root = home_root

    def say(
        self, gate: Gate, workspace_id: str, text: str, message_id: str = "", *, level: str = "info"
    ) -> WriterOutcome:
        """A gate that stopped a run."""
        self._line(logging.DEBUG, f"skipped ({gate}): {text}", workspace_id, message_id)
        self._note(f"writer.{gate}", workspace_id, text, level, None, {})
        return WriterOutcome(gate, text, workspace_id, message_id)

    def started(self, workspace_id: str, message_id: str, model: str, *, crashed: bool) -> None:
        """A run begins; `crashed`: the one before died."""
        text = "Started. The run before did not come to its end." if crashed else "Started."
        self._line(logging.DEBUG, f"started: {text}", workspace_id, message_id, model)
        details = {"triggerMessageId": message_id, "model": model}
        self._note("writer.started", workspace_id, text, "info", None, details)

    def ended(self, workspace_id: str, message_id: str, model: str, end: WriterEnd, text: str) -> None:
        """A run came to its end, its attempts and their tool calls first."""
        for attempt in _attempts(end.document):
            self._attempted(workspace_id, message_id, model, end.run_id, attempt)
        event = _event_of(end)
        level = logging.INFO if end.wrote else logging.DEBUG
        self._line(level, f"{event}: {text}", workspace_id, message_id, model, timed_out=end.timed_out)
        details = {
            "triggerMessageId": message_id,
            "model": model,
            "timedOut": end.timed_out,
            "attempts": end.attempts,
        }
        shown = "info" if end.outcome in SUCCEEDED else "warning"
        self._note(f"writer.{event}", workspace_id, text, shown, end.run_id, details)

    def _attempted(
        self, workspace_id: str, message_id: str, model: str, run_id: str, attempt: Mapping[str, Any]
    ) -> None:
        """The log has a line for each call, Activity one entry for those that came to the same."""
        index = attempt.get("attemptIndex")
        text = f"Attempt {index}: {_attempt_words(attempt)}"
        details = {"triggerMessageId": message_id, "model": model, "attempt": index}
        self._line(logging.DEBUG, f"attempt: {text}", workspace_id, message_id, model)
        self._note("writer.attempt", workspace_id, text, "info", run_id, details)
        calls: Counter[tuple[str, bool]] = Counter()
        for execution in attempt.get("toolExecutions", ()):
            name, worked = str(execution.get("toolName")), _worked(execution)
            calls[name, worked] += 1
            line = f"tool call: {name} in attempt {index}: success={str(worked).lower()}"
            self._line(logging.DEBUG, line, workspace_id, message_id, model)
        for (name, worked), times in calls.items():
            told = f"Attempt {index}: {name} {'succeeded' if worked else 'failed'}"
            told += "." if times == 1 else f", {times} times."
            self._note("writer.tool-call", workspace_id, told, "info", run_id, {**details, "tool": name})

    def _line(
        self,
        level: int,
        text: str,
        workspace_id: str,
        message_id: str,
        model: str = "",
        *,
        timed_out: bool = False,
    ) -> None:
        _log.log(
            level,
            "[system1][memory] %s workspaceId=%s triggerMessageId=%s timedOut=%s model=%s",
            redact(text),
            workspace_id,
            message_id or "-",
            str(timed_out).lower(),
            model or "-",
        )

    def _note(
        self,
        event: str,
        workspace_id: str,
        text: str,
        level: str,
        run_id: str | None,
        details: Mapping[str, Any],
    ) -> None:
        self._activity.add(
            event,
            level=level,
            text=text,
            home=self._home_root,
            workspace_id=workspace_id,
            run_id=run_id,
            details=details,
        )


def standing_words(gate: Gate, interval: Interval, *, by_agent: bool) -> str:
    """Why no turn at all starts a run."""
    if gate == "disabled":
        who = "The agent's own settings switch it off." if by_agent else "Switch it on in the settings."
        return f"The memory writer is off. {who}"
    if gate == "child-workspace":
        return "This is the workspace of a sub-agent: its parent's turns count, not its own."
    where = "the agent's config.json" if interval.source == "agent" else "the settings"
    return f"The interval in {where} does not count: {interval.problem}."


def waiting_words(gate: Gate, turns: int, interval: int) -> str:
    """Why a turn that was counted starts no run."""
    if gate == "counted":
        return "The turn was counted already."
    if gate == "stood-down":
        return "Stood down: the agent itself has advanced the writer's state since Reverie last did."
    if gate == "in-flight":
        return "A run is at work in this workspace already."
    return f"Not due: {turns} of {interval} turns."


def _event_of(end: WriterEnd) -> str:
    """How the end is called: as in the agent's own log, a run without a write did not simply complete."""
    if end.timed_out and not end.wrote:
        return "timed-out"
    if end.reason == "no-write":
        return "exited-without-updating"
    return str(end.outcome)


def _attempts(document: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = (document or {}).get("attempts", ())
    return found


def _attempt_words(attempt: Mapping[str, Any]) -> str:
    if attempt.get("error"):
        return str(attempt["error"])
    if attempt.get("wrote"):
        return "the memory was changed."
    if attempt.get("noNewMemories"):
        return "there was nothing new."
    count = len(attempt.get("toolExecutions", ()))
    called = {0: "no tool was called", 1: "one tool was called"}.get(count, f"{count} tools were called")
    return f"{called}, and nothing was recorded."


def _worked(execution: Mapping[str, Any]) -> bool:
    output = execution.get("output")
    return isinstance(output, Mapping) and output.get("success") is True
