"""Typed facts from a trace document: attempts, steps and tool calls, the timeline, and the verdict.

Documents are either generation of mux's dumps, or Reverie's own. A field that is missing or of another type
is empty, never an error. Steps and attempts are numbered from 1; a call's `step` is 0 if the answer that made
it is unknown.

Pure; any thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from reverie.agents.reading import as_list, as_object, as_text
from reverie.llm.trace import NO_OP_TOOL
from reverie.text.summaries import NOTHING, Phrase, phrase, plain, plural, together
from reverie.values import Struct, replace

WRITER = "writer"
_QUOTE_CHARS = 400


class Call(Struct, frozen=True):
    """One tool call."""

    name: str
    id: str
    attempt: int
    step: int
    input: Any = None
    output: Any = None
    ran: bool = False
    """Whether it was executed."""
    problem: str = ""
    """The error that its answer reports."""
    broken_input: bool = False
    """Whether its arguments are not an object."""
    started_at: int | None = None
    duration_ms: int | None = None


def call_text(call: Call) -> str:
    """Return one tool call in full, as text."""
    lines = [f"{call.name or '?'} {call.id}".strip(), "", "input:", call.input]
    if call.ran:
        lines += ["", "output:", call.output]
    else:
        lines += ["", "It was not run."]
    if call.problem:
        lines += ["", f"problem: {call.problem}"]
    return "\n".join(lines)


class Step(Struct, frozen=True):
    """One answer of the model."""

    attempt: int
    index: int
    text: str
    finish: str
    calls: tuple[Call, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    answered_at: int | None = None
    """The time reported by the service."""
    started_at: int | None = None
    """None unless the dump measured it, as `duration_ms`."""
    duration_ms: int | None = None


class TraceMessage(Struct, frozen=True):
    """One message that was sent; `text` is the readable part of it."""

    role: str
    text: str


class Attempt(Struct, frozen=True):
    """One task for a model and its result."""

    index: int
    messages: tuple[TraceMessage, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    error: str
    aborted: bool
    wrote: bool
    """As recorded in the dump."""
    finish: str
    """The reason why the last step ended."""
    started_at: int | None = None
    """UTC milliseconds, None if unknown."""

    @property
    def text(self) -> str:
        """All text of the model in this attempt."""
        return "\n".join(step.text for step in self.steps if step.text.strip())


class TraceFacts(Struct, frozen=True):
    """The facts of a whole trace."""

    kind: str
    run_id: str
    workspace_id: str
    workspace_name: str
    project_path: str
    trigger_message_id: str
    started_at: int | None
    ended_at: int | None
    timeout_ms: int
    model: str
    outcome: str
    timed_out: bool
    wrote: bool
    satisfied: bool | None
    system_prompt: str
    user_message: str
    existing_memory: str
    memory_path: str
    attempts: tuple[Attempt, ...]
    has_attempts: bool
    """Whether the document has a list of attempts, even an empty one."""
    input_tokens: int
    output_tokens: int

    @property
    def duration_ms(self) -> int | None:
        """The duration of the run, as far as the document shows it."""
        if self.started_at is None:
            return None
        known = [self.ended_at] if self.ended_at is not None else _known_times(self)
        return max(0, max(known) - self.started_at) if known else None


def facts_of(document: Mapping[str, Any]) -> TraceFacts:
    """Return the facts of a document, however little it contains."""
    ours = as_object(document.get("reverie"))
    raw = document.get("attempts")
    attempts = tuple(_attempt(item, place) for place, item in enumerate(as_list(raw), start=1))
    steps = [step for attempt in attempts for step in attempt.steps]
    usage = as_object(ours.get("usage"))
    return TraceFacts(
        kind=as_text(ours.get("kind")) or WRITER,
        run_id=as_text(ours.get("runId")),
        workspace_id=as_text(document.get("workspaceId")),
        workspace_name=as_text(document.get("workspaceName")),
        project_path=as_text(document.get("projectPath")),
        trigger_message_id=as_text(document.get("triggerMessageId")),
        started_at=whole(document.get("runStartedAt")),
        ended_at=whole(ours.get("endedAt")),
        timeout_ms=whole(document.get("timeoutMs")) or 0,
        model=as_text(document.get("modelString")),
        outcome=as_text(ours.get("outcome")),
        timed_out=document.get("timedOut") is True,
        wrote=document.get("didWriteMemory") is True,
        satisfied=_flag(document.get("satisfiedMemoryToolPolicy")),
        system_prompt=as_text(document.get("systemPrompt")),
        user_message=as_text(document.get("userMessage")),
        existing_memory=as_text(document.get("existingMemory")),
        memory_path=as_text(document.get("memoryPath")),
        attempts=attempts,
        has_attempts=isinstance(raw, list),
        input_tokens=whole(usage.get("input")) or sum(step.input_tokens for step in steps),
        output_tokens=whole(usage.get("output")) or sum(step.output_tokens for step in steps),
    )


def whole(value: Any) -> int | None:
    """Return a finite number as an integer; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def words_of(value: Any) -> str:
    """Return a value as text: a string as it is, an error by its message, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        name, message = as_text(value.get("name")), as_text(value.get("message"))
        if message:
            return f"{name}: {message}" if name and name not in message else message
    return json.dumps(value, ensure_ascii=False)


def short(text: str) -> str:
    """Return a quotation of `text` on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_CHARS else line[:_QUOTE_CHARS].rstrip() + "…"


def _attempt(raw: Any, place: int) -> Attempt:
    item = as_object(raw)
    index = whole(item.get("attemptIndex")) or place
    steps = [
        _step(as_object(step), index, number)
        for number, step in enumerate(as_list(item.get("stepResults")), 1)
    ]
    executions = [_execution(as_object(raw_call), index) for raw_call in as_list(item.get("toolExecutions"))]
    steps, calls = _joined(steps, executions)
    return Attempt(
        index=index,
        messages=tuple(_message(as_object(message)) for message in as_list(item.get("messages"))),
        steps=tuple(steps),
        calls=tuple(calls),
        error=words_of(item.get("error")),
        aborted=item.get("aborted") is True,
        wrote=item.get("wrote") is True,
        finish=as_text(item.get("finishReason")),
        started_at=steps[0].started_at if steps else None,
    )


def _step(item: Mapping[str, Any], attempt: int, index: int) -> Step:
    usage = as_object(item.get("usage"))
    return Step(
        attempt=attempt,
        index=index,
        text=as_text(item.get("text")) or _content_text(item.get("content")),
        finish=as_text(item.get("finishReason")),
        calls=tuple(_calls(item, attempt, index)),
        input_tokens=whole(usage.get("inputTokens", usage.get("input"))) or 0,
        output_tokens=whole(usage.get("outputTokens", usage.get("output"))) or 0,
        answered_at=_moment(as_object(item.get("response")).get("timestamp")),
        started_at=whole(item.get("startedAt")),
        duration_ms=whole(item.get("durationMs")),
    )


def _calls(item: Mapping[str, Any], attempt: int, step: int) -> list[Call]:
    """Return the calls that an answer asked for.

    The SDK lists them in `toolCalls` and as parts of `content`.
    """
    parts = [as_object(part) for part in as_list(item.get("content"))]
    raw = [as_object(call) for call in as_list(item.get("toolCalls"))]
    known = {as_text(call.get("toolCallId")) for call in raw}
    raw += [
        part
        for part in parts
        if part.get("type") == "tool-call" and as_text(part.get("toolCallId")) not in known
    ]
    errors = {
        as_text(part.get("toolCallId")): words_of(part.get("error"))
        for part in parts
        if part.get("type") == "tool-error"
    }
    return [
        Call(
            name=as_text(call.get("toolName")),
            id=as_text(call.get("toolCallId")),
            attempt=attempt,
            step=step,
            input=call.get("input"),
            problem=words_of(call.get("error")) or errors.get(as_text(call.get("toolCallId")), ""),
            broken_input=call.get("invalid") is True or _is_broken(call.get("input")),
        )
        for call in raw
    ]


def _execution(item: Mapping[str, Any], attempt: int) -> Call:
    output = item.get("output")
    return Call(
        name=as_text(item.get("toolName")),
        id=as_text(item.get("toolCallId")),
        attempt=attempt,
        step=0,
        input=item.get("input"),
        output=output,
        ran=True,
        problem=words_of(item.get("error")) or _output_problem(output),
        broken_input=isinstance(item.get("input"), str),
        started_at=whole(item.get("startedAt")),
        duration_ms=whole(item.get("durationMs")),
    )


def _joined(steps: Sequence[Step], executions: Sequence[Call]) -> tuple[list[Step], list[Call]]:
    """Match executed calls to the answers that asked for them: by id, else by name in order.

    Returns the steps and all calls; calls that never ran come last.
    """
    asked = [call for step in steps for call in step.calls]
    taken: dict[int, Call] = {}
    calls: list[Call] = []
    for execution in executions:
        free = [place for place in range(len(asked)) if place not in taken]
        place = next((p for p in free if execution.id and asked[p].id == execution.id), None)
        if place is None and not execution.id:
            place = next((p for p in free if asked[p].name == execution.name), None)
        if place is not None:
            origin = asked[place]
            execution = replace(
                execution,
                step=origin.step,
                problem=execution.problem or origin.problem,
                broken_input=execution.broken_input or origin.broken_input,
            )
            taken[place] = execution
        calls.append(execution)
    calls += [call for place, call in enumerate(asked) if place not in taken]
    joined, place = [], 0
    for step in steps:
        own = tuple(taken.get(place + offset, call) for offset, call in enumerate(step.calls))
        place += len(step.calls)
        joined.append(replace(step, calls=own))
    return joined, calls


def _output_problem(output: Any) -> str:
    answer = as_object(output)
    if answer.get("success") is False or answer.get("isError") is True:
        return words_of(answer.get("error")) or words_of(answer.get("output")) or "It gave no reason."
    return ""


def _is_broken(value: Any) -> bool:
    """Return whether a text that should contain arguments is not a JSON object."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        return not isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return True


def _message(item: Mapping[str, Any]) -> TraceMessage:
    content = item.get("content")
    text = content if isinstance(content, str) else _content_text(content)
    calls = [
        f"{as_text(call.get('toolName'))} {words_of(call.get('input'))}".strip()
        for call in map(as_object, as_list(item.get("toolCalls")))
    ]
    return TraceMessage(as_text(item.get("role")), "\n".join(part for part in (text, *calls) if part))


def _content_text(content: Any) -> str:
    pieces = []
    for part in map(as_object, as_list(content)):
        kind = part.get("type")
        if kind in ("text", "reasoning"):
            pieces.append(as_text(part.get("text")))
        elif kind == "tool-result":
            pieces.append(words_of(part.get("output", part.get("result"))))
    return "\n".join(piece for piece in pieces if piece)


def _known_times(facts: TraceFacts) -> list[int]:
    found: list[int] = []
    for attempt in facts.attempts:
        found += [step.answered_at for step in attempt.steps if step.answered_at is not None]
        for call in attempt.calls:
            if call.started_at is not None:
                found.append(call.started_at + (call.duration_ms or 0))
    if facts.timed_out and facts.started_at is not None:
        found.append(facts.started_at + facts.timeout_ms)
    return found


def _moment(value: Any) -> int | None:
    if not isinstance(value, str):
        return whole(value)
    try:
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


SpanKind = Literal["attempt", "step", "call"]


class TimeSpan(Struct, frozen=True):
    """One bar of the timeline. `start` and `end` are milliseconds after the start of the run."""

    kind: SpanKind
    attempt: int
    step: int
    """0: the attempt as a whole."""
    call: str
    label: str
    start: int
    end: int
    estimated: bool
    """Whether the times are not measured but placed between their neighbours."""
    failed: bool = False
    open_end: bool = False
    """Whether it was cut off at its end."""


class Timeline(Struct, frozen=True):
    """Attempts, answers and tool calls on one time scale.

    Dumps of mux record when a tool ran and when the service answered, but not when the model was asked.
    """

    duration: int
    """At least 1 ms, so that it can serve as a scale."""
    limit: int
    """The time limit in milliseconds; 0: none."""
    spans: tuple[TimeSpan, ...]


def timeline_of(facts: TraceFacts) -> Timeline:
    """Return the timeline of a trace: the spans by start, each attempt before its content."""
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
    """Extend the last attempt to the end of the run.

    If it was cut off, the answer that it was waiting for is added as a span.
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
    """The spans of one attempt, from `begin` on."""

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


VerdictName = Literal[
    "wrote",
    "nothing-to-write",
    "timed-out",
    "cancelled",
    "provider-error",
    "no-tool-support",
    "bad-json",
    "rejected",
    "tool-failed",
    "prose",
    "never-called",
    "limit",
    "damaged",
]

_HARVEST, _PROPOSE = "harvest", "propose"
_READS = frozenset({"memory_read", "no_new_memories", "view", "read"})
_RAIL = re.compile(
    r"budget|pinned|outside|not allowed|\brefus|read-only|protected|too (?:large|long|big|many)|\bexceeds?\b"
    r"|\blimit\b|\bcap\b|\bat most\b|secret|key, password or token"
    r"|placeholder|not permitted|forbidden|may not",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(?:not|n't|no endpoints found that) support\w*\b[^.\n]{0,40}\b(?:tool|function)"
    r"|(?:tool|function)s?[ _-]?(?:use|call\w*)?\s+(?:is|are) not (?:supported|enabled|available)"
    r"|tool[ _-]?call\w* (?:is )?(?:unsupported|disabled)",
    re.IGNORECASE,
)
_BAD_JSON = re.compile(
    r"json\W{0,3}(?:pars|error|at position)"
    r"|(?:invalid|malformed|unexpected|unterminated|not|bad) [^.\n]{0,30}json"
    r"|InvalidToolArguments|JSONParse|unexpected (?:end|token)|arguments? (?:is|are) no(?:t an)? object",
    re.IGNORECASE,
)
_CALL_AS_TEXT = re.compile(
    r"<tool_call>|<function[=_ ]|\[TOOL_CALLS\]|<invoke |```tool_code"
    r'|"(?:name|tool|function|tool_name)"\s*:\s*"(?:memory\w*|no_new_memories)"'
    r"|\b(?:memory_write|memory_read|no_new_memories)\s*\("
    r'|\{\s*"old_string"\s*:',
)


class RunEvidence(Struct, frozen=True):
    """The place in a trace that proves a verdict. Attempt and step count from 1; 0: none."""

    attempt: int = 0
    step: int = 0
    call: str = ""
    """The id of a tool call."""
    tool: str = ""
    quote: Phrase = NOTHING
    """The text at that place."""

    def sentence(self) -> Phrase:
        """Return the evidence as a sentence.

        For example `Attempt 1, step 2, memory_write: old_string not found.`
        """
        where = plain(self.tool)
        if self.attempt:
            where = _place(self.attempt, self.step)
            if self.tool:
                where = phrase("{place}, {tool}", place=where, tool=self.tool)
        return (
            phrase("{place}: {quote}", place=where, quote=self.quote)
            if where and self.quote
            else (where or self.quote)
        )


def _place(attempt: int, step: int = 0) -> Phrase:
    if step:
        return phrase("Attempt {attempt}, step {step}", attempt=attempt, step=step)
    return phrase("Attempt {attempt}", attempt=attempt)


class RunVerdict(Struct, frozen=True):
    """The result of a run: one word for programs, a sentence for people, and the evidence."""

    name: VerdictName
    sentence: Phrase
    evidence: RunEvidence = RunEvidence()


def judge(facts: TraceFacts, damage: str = "", *, lost: bool = True) -> RunVerdict:
    """Return the verdict on a trace: whether the run wrote something, or why it did not.

    The order of the checks is the rule: did time run out, was it cancelled, did it reach its goal, did the
    service fail, did a tool refuse, was no tool called. Of several attempts the one with the cause counts: a
    write that failed in the first, although the second answered in prose. `damage` is the reader's sentence
    about a damaged dump; `lost`: whether parts of it are missing.
    """
    found = (
        _stopped(facts)
        or _reached(facts)
        or _service(facts)
        or _damaged(facts, damage if lost else "")
        or _limited(facts)
        or _tools(facts)
        or _silent(facts)
    )
    if damage and found.name != "damaged":
        return RunVerdict(found.name, together(found.sentence, damage), found.evidence)
    return found


def _stopped(facts: TraceFacts) -> RunVerdict | None:
    attempt = _last(facts)
    error = attempt.error if attempt is not None else ""
    late = facts.timed_out or facts.outcome == "time-limit" or error == "AbortError (timeout)"
    cancelled = facts.outcome == "cancelled" or error.startswith("AbortError") or _was_aborted(attempt)
    if late:
        where, evidence = _open_end(attempt, facts)
        said = phrase("The run timed out, {where}.", where=where)
        if facts.timeout_ms:
            limit = f"{facts.timeout_ms / 1000:g}"
            said = phrase("The run timed out after {seconds} s, {where}.", seconds=limit, where=where)
        wrote = phrase("It had written before.") if facts.wrote else ""
        return RunVerdict("timed-out", together(said, wrote), evidence)
    if cancelled:
        where, evidence = _open_end(attempt, facts)
        return RunVerdict("cancelled", phrase("The run was cancelled, {where}.", where=where), evidence)
    return None


def _was_aborted(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.aborted and not attempt.error


def _open_end(attempt: Attempt | None, facts: TraceFacts) -> tuple[Phrase, RunEvidence]:
    """Return what the run was doing when it was stopped, and the evidence."""
    late, ended = phrase("timedOut is true."), _outcome(facts)
    if attempt is None:
        quote = late if facts.timed_out else ended
        return phrase("at a point that the trace does not tell"), RunEvidence(quote=quote)
    step = len(attempt.steps)
    pending = [call for call in attempt.calls if not call.ran]
    quote = plain(attempt.error) if attempt.error else ended if facts.outcome else late
    if pending:
        call = pending[0]
        where = phrase(
            "in attempt {attempt}, step {step}, before {tool} was run",
            attempt=attempt.index,
            step=call.step,
            tool=call.name,
        )
        return where, RunEvidence(attempt.index, call.step, call.id, call.name, quote)
    if step and not attempt.steps[-1].calls and not attempt.error:
        where = phrase("after attempt {attempt}", attempt=attempt.index)
        return where, RunEvidence(attempt.index, step, quote=quote)
    where = phrase(
        "in attempt {attempt}, step {step}, while waiting for the model", attempt=attempt.index, step=step + 1
    )
    return where, RunEvidence(attempt.index, step + 1, quote=quote)


def _outcome(facts: TraceFacts) -> Phrase:
    return phrase("The outcome is {outcome}.", outcome=facts.outcome)


def _reached(facts: TraceFacts) -> RunVerdict | None:
    call = next((call for call in _all_calls(facts) if _wrote(call, facts)), None)
    attempt = next((attempt for attempt in facts.attempts if attempt.wrote), None)
    if facts.wrote or attempt is not None or (call is not None and facts.kind == WRITER):
        if call is not None:
            place = RunEvidence(call.attempt, call.step, call.id, call.name, phrase("It succeeded."))
            said = phrase("The memory was written in attempt {attempt}.", attempt=call.attempt)
            return RunVerdict("wrote", said, place)
        index = attempt.index if attempt is not None else 0
        place = RunEvidence(index, quote=phrase("didWriteMemory is true."))
        return RunVerdict("wrote", phrase("The memory was written."), place)
    if facts.kind == _HARVEST and call is not None and call.name == _PROPOSE:
        place = RunEvidence(call.attempt, call.step, call.id, call.name, phrase("It succeeded."))
        return RunVerdict("wrote", phrase("The model proposed what is worth remembering."), place)
    if facts.kind != WRITER or _failed_service(facts) is not None:
        return None
    no_op = next((call for call in _all_calls(facts) if _is_accepted_no_op(call, facts)), None)
    if no_op is not None:
        place = RunEvidence(no_op.attempt, no_op.step, no_op.id, no_op.name, phrase("It was accepted."))
        nothing = (
            phrase("The rules found nothing new to remember.")
            if facts.model == "rules"
            else phrase("The model said that there is nothing new to remember.")
        )
        return RunVerdict("nothing-to-write", nothing, place)
    return None


def _wrote(call: Call, facts: TraceFacts) -> bool:
    if not call.ran or call.problem or call.broken_input:
        return False
    if call.name == _PROPOSE:
        return isinstance(call.input, dict) and any(call.input.values())
    return call.name == "memory_write" if facts.kind == WRITER else call.name not in _READS


def _is_accepted_no_op(call: Call, facts: TraceFacts) -> bool:
    """Return whether a call is a no-op that the agent accepted.

    The agent ignores a no-op after a failed write (since 0d5fd5189): then the write is the cause.
    """
    if call.name != NO_OP_TOOL or not call.ran or call.problem:
        return False
    if facts.satisfied is not None:
        return facts.satisfied
    attempt = next((each for each in facts.attempts if each.index == call.attempt), None)
    return attempt is None or not any(_is_write(other) and _failed(other) for other in attempt.calls)


def _service(facts: TraceFacts) -> RunVerdict | None:
    attempt = _failed_service(facts)
    if attempt is None:
        return None
    quote = plain(short(attempt.error))
    step = len(attempt.steps) + 1
    evidence = RunEvidence(attempt.index, step, quote=quote)
    if _NO_TOOLS.search(attempt.error):
        said = phrase("The model cannot call tools: {quote}", quote=quote)
        return RunVerdict("no-tool-support", said, evidence)
    if _BAD_JSON.search(attempt.error):
        said = phrase("The model's call was no valid JSON: {quote}", quote=quote)
        return RunVerdict("bad-json", said, evidence)
    said = phrase(
        "The model service failed in attempt {attempt}: {quote}", attempt=attempt.index, quote=quote
    )
    return RunVerdict("provider-error", said, evidence)


def _failed_service(facts: TraceFacts) -> Attempt | None:
    return next((attempt for attempt in reversed(facts.attempts) if attempt.error), None)


def _damaged(facts: TraceFacts, damage: str) -> RunVerdict | None:
    if not damage and (facts.has_attempts or facts.satisfied):
        return None
    words = plain(damage) if damage else phrase("It has no list of attempts.")
    said = together(phrase("The trace does not say what happened."), words)
    return RunVerdict("damaged", said, RunEvidence(quote=words))


def _limited(facts: TraceFacts) -> RunVerdict | None:
    if facts.outcome not in ("step-limit", "output-limit"):
        return None
    attempt = _last(facts)
    step = len(attempt.steps) if attempt is not None else 0
    evidence = RunEvidence(attempt.index if attempt is not None else 0, step, quote=_outcome(facts))
    if facts.outcome == "step-limit":
        said = plural(
            "The model did not finish within 1 step.",
            "The model did not finish within %n steps.",
            step,
        )
        return RunVerdict("limit", said, evidence)
    return RunVerdict("limit", phrase("The model wrote more than a run allows."), evidence)


def _tools(facts: TraceFacts) -> RunVerdict | None:
    """Return the verdict on failed calls, the newest attempt's first; writes before anything else."""
    failed = [call for call in _all_calls(facts) if _failed(call)]
    writes = [call for call in failed if _is_write(call)]
    if facts.kind != WRITER and not writes:
        return None
    call = next(iter([*reversed(writes), *reversed(failed)]), None)
    if call is None:
        return None
    after = _what_came_after(facts, call)
    quote = plain(short(call.problem)) if short(call.problem) else phrase("Its arguments are no JSON object.")
    evidence = RunEvidence(call.attempt, call.step, call.id, call.name, quote)
    where = phrase("in attempt {attempt}", attempt=call.attempt)
    if call.step:
        where = phrase("in attempt {attempt}, step {step}", attempt=call.attempt, step=call.step)
    said = {"tool": call.name or phrase("A tool without a name"), "where": where, "quote": quote}
    if call.broken_input or _BAD_JSON.search(call.problem):
        broken = phrase("The call of {tool} {where} was no valid JSON: {quote}", **said)
        return RunVerdict("bad-json", together(broken, after), evidence)
    if _RAIL.search(call.problem):
        refused = phrase("{tool} was rejected {where}: {quote}", **said)
        return RunVerdict("rejected", together(refused, after), evidence)
    return RunVerdict(
        "tool-failed", together(phrase("{tool} failed {where}: {quote}", **said), after), evidence
    )


def _what_came_after(facts: TraceFacts, call: Call) -> str:
    last = _last(facts)
    if last is None or last.index == call.attempt:
        return ""
    if any(other.name == NO_OP_TOOL for other in last.calls):
        return phrase(
            "Attempt {attempt} then said that there is nothing new, which does not count.", attempt=last.index
        )
    if last.text:
        return phrase("Attempt {attempt} answered in text.", attempt=last.index)
    return phrase("Attempt {attempt} did not try again.", attempt=last.index)


def _silent(facts: TraceFacts) -> RunVerdict:
    attempt = _last(facts)
    if attempt is None:
        none = RunEvidence(quote=phrase("There is no attempt."))
        return RunVerdict("never-called", phrase("The model was never asked."), none)
    step = next((step for step in reversed(attempt.steps) if step.text.strip()), None)
    as_text = next((step for step in _steps(facts) if _CALL_AS_TEXT.search(step.text)), None)
    if as_text is not None and not _all_calls(facts):
        evidence = RunEvidence(as_text.attempt, as_text.index, quote=plain(short(as_text.text)))
        said = phrase("The model wrote its call as text: it cannot call tools as asked.")
        return RunVerdict("no-tool-support", said, evidence)
    if facts.kind != WRITER:
        quote = plain(short(step.text)) if step is not None else phrase("It called nothing that writes.")
        place = RunEvidence(attempt.index, step.index if step is not None else 0, quote=quote)
        return RunVerdict("nothing-to-write", phrase("The run ended without a change."), place)
    read = phrase("It only read the memory.") if any(call.ran for call in _all_calls(facts)) else ""
    if step is not None:
        evidence = RunEvidence(attempt.index, step.index, quote=plain(short(step.text)))
        prose = phrase("The model answered in text instead of calling memory_write.")
        return RunVerdict("prose", together(prose, read), evidence)
    cut = phrase("Its answer was cut at the output limit.") if _is_cut(attempt) else ""
    calls = plural("1 tool call, no text.", "%n tool calls, no text.", len(attempt.calls))
    evidence = RunEvidence(attempt.index, len(attempt.steps), quote=together(calls, cut))
    ended = phrase("The model ended without calling memory_write.")
    return RunVerdict("never-called", together(ended, read, cut), evidence)


def _is_cut(attempt: Attempt) -> bool:
    return attempt.finish == "length" or any(step.finish == "length" for step in attempt.steps)


def _failed(call: Call) -> bool:
    return bool(call.problem) or call.broken_input


def _is_write(call: Call) -> bool:
    if call.name == "memory":
        command = call.input.get("command") if isinstance(call.input, dict) else ""
        return command not in _READS
    return call.name not in _READS


def _all_calls(facts: TraceFacts) -> list[Call]:
    return [call for attempt in facts.attempts for call in attempt.calls]


def _steps(facts: TraceFacts) -> Iterable[Step]:
    return (step for attempt in facts.attempts for step in attempt.steps)


def _last(facts: TraceFacts) -> Attempt | None:
    return facts.attempts[-1] if facts.attempts else None
