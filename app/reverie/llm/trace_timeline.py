"""The timeline of a run: attempts, answers and tool calls on one time scale.

Pure; any thread.
"""

from __future__ import annotations

from typing import Literal

from reverie.llm.trace_facts import Attempt, Step, TraceFacts
from reverie.values import Struct

SpanKind = Literal["attempt", "step", "call"]


class TimeSpan(Struct, frozen=True):
    """One bar of the timeline; `start` and `end` are in ms after the start of the run."""

    kind: SpanKind
    attempt: int
    """The number of the attempt, from 1."""
    step: int
    """The number of the step, from 1; 0 for a whole attempt, and for a call of an unknown step."""
    call: str
    """The id of the tool call; empty for any other bar."""
    label: str
    """The text of the bar."""
    start: int
    end: int
    estimated: bool
    """Whether the times were not measured but estimated from the neighbours."""
    failed: bool = False
    open_end: bool = False
    """Whether the work was cut off at the end of the bar."""


class Timeline(Struct, frozen=True):
    """Attempts, answers and tool calls on one time scale.

    Dumps of mux have the times of tool calls and of the service's answers, but not of the requests, so some
    times are estimated.
    """

    duration: int
    """The duration of the run in ms; at least 1, so that it can serve as a scale."""
    limit: int
    """The time limit in ms; 0 if there is none."""
    spans: tuple[TimeSpan, ...]


def timeline_of(facts: TraceFacts) -> Timeline:
    """Return the timeline of the trace whose content is `facts`.

    Its spans are in the order of the attempts and their answers; each attempt comes before its content.
    """
    origin = facts.started_at or _first_time(facts)
    spans: list[TimeSpan] = []
    position = 0
    for attempt in facts.attempts:
        inner = _Attempt(attempt, origin, position)
        spans += inner.spans()
        position = inner.end
    known = facts.duration_ms
    total = max([position, known or 0, 1])
    if spans and facts.attempts:
        spans = _stretched(spans, facts, total)
    return Timeline(total, facts.timeout_ms, tuple(spans))


def _stretched(spans: list[TimeSpan], facts: TraceFacts, total: int) -> list[TimeSpan]:
    """Return the spans with that of the last attempt extended to the end of the run.

    `total`: the duration of the run in ms. If the attempt was cut off, the answer that it was waiting for is
    added as one more span.
    """
    last = facts.attempts[-1]
    ended_badly = bool(last.error) or last.aborted
    place = max(index for index, span in enumerate(spans) if span.kind == "attempt")
    whole = spans[place]
    stretched = list(spans)
    begin = max((span.end for span in spans[place + 1 :]), default=whole.start)
    stretched[place] = TimeSpan(
        "attempt",
        whole.attempt,
        0,
        "",
        whole.label,
        whole.start,
        total,
        whole.estimated,
        ended_badly,
        ended_badly,
    )
    if ended_badly:
        number = len(last.steps) + 1
        stretched.append(
            TimeSpan(
                "step", last.index, number, "", f"{number}", begin, total, True, failed=True, open_end=True
            )
        )
    return stretched


class _Attempt:
    """A collector of the spans of one attempt.

    `origin`: the start of the run in UTC ms. `begin`: the start of the attempt in ms after `origin`, used
    only if the trace does not have this start.
    """

    def __init__(self, attempt: Attempt, origin: int, begin: int) -> None:
        self._attempt = attempt
        self._origin = origin
        measured = attempt.started_at is not None
        self._begin = max(0, attempt.started_at - origin) if attempt.started_at is not None else begin
        self._measured = measured
        self.end = self._begin

    def spans(self) -> list[TimeSpan]:
        inner: list[TimeSpan] = []
        for step in self._attempt.steps:
            inner += self._step(step)
        placed = {id(call) for step in self._attempt.steps for call in step.calls}
        for call in self._attempt.calls:
            if call.step == 0 and id(call) not in placed and call.started_at is not None:
                start = max(0, call.started_at - self._origin)
                end = start + max(0, call.duration_ms or 0)
                inner.append(
                    TimeSpan(
                        "call", call.attempt, 0, call.id, call.name, start, end, False, bool(call.problem)
                    )
                )
                self.end = max(self.end, end)
        label = f"{self._attempt.index}"
        whole = TimeSpan(
            "attempt", self._attempt.index, 0, "", label, self._begin, self.end, not self._measured
        )
        return [whole, *inner]

    def _step(self, step: Step) -> list[TimeSpan]:
        begun = self.end if step.started_at is None else max(0, step.started_at - self._origin)
        ran = [call for call in step.calls if call.started_at is not None]
        first = min((call.started_at or 0 for call in ran), default=None)
        if step.duration_ms is not None:
            end = begun + max(0, step.duration_ms)
        elif first is not None:
            end = first - self._origin
        else:
            end = (step.answered_at or 0) - self._origin
        end = max(begun, end)
        estimated = step.started_at is None or step.duration_ms is None
        spans = [TimeSpan("step", step.attempt, step.index, "", f"{step.index}", begun, end, estimated)]
        self.end = max(self.end, end)
        for call in step.calls:
            start = self.end if call.started_at is None else max(0, call.started_at - self._origin)
            after = start + max(0, call.duration_ms or 0)
            failed = bool(call.problem) or call.broken_input
            spans.append(
                TimeSpan(
                    "call",
                    call.attempt,
                    call.step,
                    call.id,
                    call.name,
                    start,
                    after,
                    call.started_at is None,
                    failed,
                )
            )
            self.end = max(self.end, after)
        return spans


def _first_time(facts: TraceFacts) -> int:
    times = [
        moment
        for attempt in facts.attempts
        for moment in (
            attempt.started_at,
            *(step.started_at or step.answered_at for step in attempt.steps),
            *(call.started_at for call in attempt.calls),
        )
        if moment is not None
    ]
    return min(times, default=0)
