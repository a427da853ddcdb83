"""The verdict on a run: whether it wrote something, or why it did not, with the evidence.

Pure; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from reverie.llm.trace import NO_OP_TOOL
from reverie.llm.trace_facts import WRITER, Attempt, Call, Step, TraceFacts, short
from reverie.text.summaries import NOTHING, Phrase, phrase, plain, plural, together
from reverie.values import Struct

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
    """The place in a trace that proves a verdict: an attempt, a step, a tool call, and a quote.

    Attempts and steps are counted from 1; 0 means none.
    """

    attempt: int = 0
    step: int = 0
    call: str = ""
    """The id of the tool call; empty if there is none."""
    tool: str = ""
    """The name of the tool; empty if there is none."""
    quote: Phrase = NOTHING
    """The text of the trace at this place."""

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
    """What a run achieved: one identifier for programs, a sentence for people, and the evidence."""

    name: VerdictName
    sentence: Phrase
    evidence: RunEvidence = RunEvidence()


def judge(facts: TraceFacts, damage: str = "", *, lost: bool = True) -> RunVerdict:
    """Return the verdict on a trace: whether the run wrote something, and otherwise the reason why not.

    These are checked in order, and the first that applies is the verdict: the run exceeded its time limit or
    was cancelled, it reached its goal, the service failed, the trace is damaged, the run reached its limit of
    steps or output, a tool call failed, no tool was called. A failed write in the first attempt counts even
    if the second one only answered in prose. `damage`: the sentence that describes the damage of a dump
    (`Dump.damage`), empty for an intact one. `lost`: whether parts of the dump are missing.
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
        wrote = phrase("The run had already written to the memory.") if facts.wrote else ""
        return RunVerdict("timed-out", together(said, wrote), evidence)
    if cancelled:
        where, evidence = _open_end(attempt, facts)
        return RunVerdict("cancelled", phrase("The run was cancelled, {where}.", where=where), evidence)
    return None


def _was_aborted(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.aborted and not attempt.error


def _open_end(attempt: Attempt | None, facts: TraceFacts) -> tuple[Phrase, RunEvidence]:
    """Return a phrase for the work that was in progress when the run was stopped, and the evidence.

    `attempt`: the last attempt; None if the trace has none.
    """
    late, ended = phrase("timedOut is true."), _outcome(facts)
    if attempt is None:
        quote = late if facts.timed_out else ended
        return phrase("at a point that the trace does not record"), RunEvidence(quote=quote)
    step = len(attempt.steps)
    pending = [call for call in attempt.calls if not call.ran]
    quote = plain(attempt.error) if attempt.error else ended if facts.outcome else late
    if pending:
        call = pending[0]
        where = phrase(
            "in attempt {attempt}, step {step}, before {tool} ran",
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
            place = RunEvidence(call.attempt, call.step, call.id, call.name, phrase("The run succeeded."))
            said = phrase("The memory was written in attempt {attempt}.", attempt=call.attempt)
            return RunVerdict("wrote", said, place)
        index = attempt.index if attempt is not None else 0
        place = RunEvidence(index, quote=phrase("didWriteMemory is true."))
        return RunVerdict("wrote", phrase("The memory was written."), place)
    if facts.kind == _HARVEST and call is not None and call.name == _PROPOSE:
        place = RunEvidence(call.attempt, call.step, call.id, call.name, phrase("The run succeeded."))
        return RunVerdict("wrote", phrase("The model suggested what to remember."), place)
    if facts.kind != WRITER or _failed_service(facts) is not None:
        return None
    no_op = next((call for call in _all_calls(facts) if _is_accepted_no_op(call, facts)), None)
    if no_op is not None:
        place = RunEvidence(
            no_op.attempt, no_op.step, no_op.id, no_op.name, phrase("The suggestion was accepted.")
        )
        nothing = (
            phrase("The rules found nothing new to remember.")
            if facts.model == "rules"
            else phrase("The model reported that there is nothing new to remember.")
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
    """Return whether `call` reports that there is nothing to write, and the agent accepted this.

    Since its commit 0d5fd5189, mux does not accept such a report after a failed write; then that write
    decides the verdict.
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
        said = phrase("The model's call was not valid JSON: {quote}", quote=quote)
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
    words = plain(damage) if damage else phrase("The trace has no list of attempts.")
    said = together(phrase("The trace does not show what happened."), words)
    return RunVerdict("damaged", said, RunEvidence(quote=words))


def _limited(facts: TraceFacts) -> RunVerdict | None:
    if facts.outcome not in ("step-limit", "output-limit"):
        return None
    attempt = _last(facts)
    step = len(attempt.steps) if attempt is not None else 0
    evidence = RunEvidence(attempt.index if attempt is not None else 0, step, quote=_outcome(facts))
    if facts.outcome == "step-limit":
        said = plural(
            "The model did not finish within 1 step.", "The model did not finish within %n steps.", step
        )
        return RunVerdict("limit", said, evidence)
    return RunVerdict("limit", phrase("The model wrote more than a run may write."), evidence)


def _tools(facts: TraceFacts) -> RunVerdict | None:
    """Return the verdict that follows from failed tool calls; None if none failed.

    If a write failed, the verdict names the newest one. If only other calls failed, it names the newest one
    in a run of the memory writer; for any other run, None is returned.
    """
    failed = [call for call in _all_calls(facts) if _failed(call)]
    writes = [call for call in failed if _is_write(call)]
    if facts.kind != WRITER and not writes:
        return None
    call = next(iter([*reversed(writes), *reversed(failed)]), None)
    if call is None:
        return None
    after = _what_came_after(facts, call)
    quote = (
        plain(short(call.problem)) if short(call.problem) else phrase("The arguments are not a JSON object.")
    )
    evidence = RunEvidence(call.attempt, call.step, call.id, call.name, quote)
    where = phrase("in attempt {attempt}", attempt=call.attempt)
    if call.step:
        where = phrase("in attempt {attempt}, step {step}", attempt=call.attempt, step=call.step)
    said = {"tool": call.name or phrase("A tool without a name"), "where": where, "quote": quote}
    if call.broken_input or _BAD_JSON.search(call.problem):
        broken = phrase("The call of {tool} {where} was not valid JSON: {quote}", **said)
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
            "Attempt {attempt} then reported that there is nothing new, which is not accepted after a "
            "failed write.",
            attempt=last.index,
        )
    if last.text:
        return phrase("Attempt {attempt} responded in text.", attempt=last.index)
    return phrase("Attempt {attempt} did not try again.", attempt=last.index)


def _silent(facts: TraceFacts) -> RunVerdict:
    attempt = _last(facts)
    if attempt is None:
        none = RunEvidence(quote=phrase("The trace contains no attempt."))
        return RunVerdict("never-called", phrase("No request was sent to the model."), none)
    step = next((step for step in reversed(attempt.steps) if step.text.strip()), None)
    as_text = next((step for step in _steps(facts) if _CALL_AS_TEXT.search(step.text)), None)
    if as_text is not None and not _all_calls(facts):
        evidence = RunEvidence(as_text.attempt, as_text.index, quote=plain(short(as_text.text)))
        said = phrase("The model wrote its call as text, so it cannot call tools as required.")
        return RunVerdict("no-tool-support", said, evidence)
    if facts.kind != WRITER:
        quote = (
            plain(short(step.text)) if step is not None else phrase("The model called no tool that writes.")
        )
        place = RunEvidence(attempt.index, step.index if step is not None else 0, quote=quote)
        return RunVerdict("nothing-to-write", phrase("The run ended without a change."), place)
    read = phrase("The model only read the memory.") if any(call.ran for call in _all_calls(facts)) else ""
    if step is not None:
        evidence = RunEvidence(attempt.index, step.index, quote=plain(short(step.text)))
        prose = phrase("The model responded in text instead of calling memory_write.")
        return RunVerdict("prose", together(prose, read), evidence)
    cut = phrase("The model's response was cut off at the output limit.") if _is_cut(attempt) else ""
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
