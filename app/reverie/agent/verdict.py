"""Why a run wrote nothing, or that it did: one word for programs, a sentence for people, and where to look.

Pure. The order of the questions is the rule: did time run out, was it cancelled, did it reach its goal, did
the service fail, did a tool refuse, was no tool called. Of a run with several attempts the cause is told
where it lies: a write that failed in the first attempt counts, although the second answered in prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from reverie.agent.dump_facts import WRITER, Attempt, Call, Facts, Step, short
from reverie.agent.trace import NO_OP_TOOL

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where it shows. Attempt and step count from 1, 0 is none of them; `call` is a tool call's id, `quote`
    what stands there."""

    attempt: int = 0
    step: int = 0
    call: str = ""
    tool: str = ""
    quote: str = ""

    def sentence(self) -> str:
        """`Attempt 1, step 2, memory_write: old_string not found.`"""
        place = [f"attempt {self.attempt}"] if self.attempt else []
        place += [f"step {self.step}"] if self.step else []
        place += [self.tool] if self.tool else []
        where = ", ".join(place)
        where = where[:1].upper() + where[1:]
        return f"{where}: {self.quote}" if where and self.quote else where or self.quote


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` says it to people; `evidence` is what it was judged by."""

    name: VerdictName
    sentence: str
    evidence: Evidence = Evidence()


def judge(facts: Facts, damage: str = "", *, lost: bool = True) -> Verdict:
    """The verdict on a trace. `damage` is what the reader says is wrong with the dump; `lost`: so that parts
    of it are missing."""
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
        return Verdict(found.name, f"{found.sentence} {damage}", found.evidence)
    return found


def _stopped(facts: Facts) -> Verdict | None:
    attempt = _last(facts)
    error = attempt.error if attempt is not None else ""
    late = facts.timed_out or facts.outcome == "time-limit" or error == "AbortError (timeout)"
    cancelled = facts.outcome == "cancelled" or error.startswith("AbortError") or _was_aborted(attempt)
    if late:
        limit = f" after {facts.timeout_ms / 1000:g} s" if facts.timeout_ms else ""
        where, evidence = _open_end(attempt, facts)
        wrote = " It had written before." if facts.wrote else ""
        return Verdict("timed-out", f"The run timed out{limit}, {where}.{wrote}", evidence)
    if cancelled:
        where, evidence = _open_end(attempt, facts)
        return Verdict("cancelled", f"The run was cancelled, {where}.", evidence)
    return None


def _was_aborted(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.aborted and not attempt.error


def _open_end(attempt: Attempt | None, facts: Facts) -> tuple[str, Evidence]:
    """What the run was doing when it was stopped."""
    if attempt is None:
        quote = "timedOut is true." if facts.timed_out else f"The outcome is {facts.outcome}."
        return "at a point that the trace does not tell", Evidence(quote=quote)
    step = len(attempt.steps)
    pending = [call for call in attempt.calls if not call.ran]
    quote = attempt.error or (facts.outcome and f"The outcome is {facts.outcome}.") or "timedOut is true."
    if pending:
        call = pending[0]
        return (
            f"in attempt {attempt.index}, step {call.step}, before {call.name} was run",
            Evidence(attempt.index, call.step, call.id, call.name, quote),
        )
    if step and not attempt.steps[-1].calls and not attempt.error:
        return f"after attempt {attempt.index}", Evidence(attempt.index, step, quote=quote)
    number = step + 1
    return (
        f"in attempt {attempt.index}, step {number}, while waiting for the model",
        Evidence(attempt.index, number, quote=quote),
    )


def _reached(facts: Facts) -> Verdict | None:
    call = next((call for call in _all_calls(facts) if _wrote(call, facts)), None)
    attempt = next((attempt for attempt in facts.attempts if attempt.wrote), None)
    if facts.wrote or attempt is not None or (call is not None and facts.kind == WRITER):
        if call is not None:
            place = Evidence(call.attempt, call.step, call.id, call.name, "It succeeded.")
            return Verdict("wrote", f"The memory was written in attempt {call.attempt}.", place)
        place = Evidence(attempt.index if attempt is not None else 0, quote="didWriteMemory is true.")
        return Verdict("wrote", "The memory was written.", place)
    if facts.kind == _HARVEST and call is not None and call.name == _PROPOSE:
        place = Evidence(call.attempt, call.step, call.id, call.name, "It succeeded.")
        return Verdict("wrote", "The model proposed what is worth remembering.", place)
    if facts.kind != WRITER or _failed_service(facts) is not None:
        return None
    no_op = next((call for call in _all_calls(facts) if _is_accepted_no_op(call, facts)), None)
    if no_op is not None:
        place = Evidence(no_op.attempt, no_op.step, no_op.id, no_op.name, "It was accepted.")
        who = "The rules found" if facts.model == "rules" else "The model said that there is"
        return Verdict("nothing-to-write", f"{who} nothing new to remember.", place)
    return None


def _wrote(call: Call, facts: Facts) -> bool:
    if not call.ran or call.problem or call.broken_input:
        return False
    if call.name == _PROPOSE:
        return isinstance(call.input, dict) and any(call.input.values())
    return call.name == "memory_write" if facts.kind == WRITER else call.name not in _READS


def _is_accepted_no_op(call: Call, facts: Facts) -> bool:
    """A no-op after a failed write is ignored by the agent (since 0d5fd5189): the write is the cause then."""
    if call.name != NO_OP_TOOL or not call.ran or call.problem:
        return False
    if facts.satisfied is not None:
        return facts.satisfied
    attempt = next((each for each in facts.attempts if each.index == call.attempt), None)
    return attempt is None or not any(_is_write(other) and _failed(other) for other in attempt.calls)


def _service(facts: Facts) -> Verdict | None:
    attempt = _failed_service(facts)
    if attempt is None:
        return None
    quote = short(attempt.error)
    step = len(attempt.steps) + 1
    evidence = Evidence(attempt.index, step, quote=quote)
    if _NO_TOOLS.search(attempt.error):
        return Verdict("no-tool-support", f"The model cannot call tools: {quote}", evidence)
    if _BAD_JSON.search(attempt.error):
        return Verdict("bad-json", f"The model's call was no valid JSON: {quote}", evidence)
    return Verdict(
        "provider-error", f"The model service failed in attempt {attempt.index}: {quote}", evidence
    )


def _failed_service(facts: Facts) -> Attempt | None:
    return next((attempt for attempt in reversed(facts.attempts) if attempt.error), None)


def _damaged(facts: Facts, damage: str) -> Verdict | None:
    if not damage and (facts.has_attempts or facts.satisfied):
        return None
    words = damage or "It has no list of attempts."
    return Verdict("damaged", f"The trace does not say what happened. {words}", Evidence(quote=words))


def _limited(facts: Facts) -> Verdict | None:
    if facts.outcome not in ("step-limit", "output-limit"):
        return None
    attempt = _last(facts)
    step = len(attempt.steps) if attempt is not None else 0
    evidence = Evidence(
        attempt.index if attempt is not None else 0, step, quote=f"The outcome is {facts.outcome}."
    )
    if facts.outcome == "step-limit":
        return Verdict("limit", f"The model did not come to an end within {step} answers.", evidence)
    return Verdict("limit", "The model wrote more than a run allows.", evidence)


def _tools(facts: Facts) -> Verdict | None:
    """Calls that failed, the newest attempt's first; writes before anything else."""
    failed = [call for call in _all_calls(facts) if _failed(call)]
    writes = [call for call in failed if _is_write(call)]
    if facts.kind != WRITER and not writes:
        return None
    call = next(iter([*reversed(writes), *reversed(failed)]), None)
    if call is None:
        return None
    after = _what_came_after(facts, call)
    place = f"in attempt {call.attempt}" + (f", step {call.step}" if call.step else "")
    quote = short(call.problem) or "Its arguments are no JSON object."
    evidence = Evidence(call.attempt, call.step, call.id, call.name, quote)
    name = call.name or "a tool without a name"
    if call.broken_input or _BAD_JSON.search(call.problem):
        return Verdict("bad-json", f"The call of {name} {place} was no valid JSON: {quote}{after}", evidence)
    if _RAIL.search(call.problem):
        return Verdict("rejected", f"{name} was rejected {place}: {quote}{after}", evidence)
    return Verdict("tool-failed", f"{name} failed {place}: {quote}{after}", evidence)


def _what_came_after(facts: Facts, call: Call) -> str:
    last = _last(facts)
    if last is None or last.index == call.attempt:
        return ""
    if any(other.name == NO_OP_TOOL for other in last.calls):
        return f" Attempt {last.index} then said that there is nothing new, which does not count."
    if last.text:
        return f" Attempt {last.index} answered in prose."
    return f" Attempt {last.index} did not try again."


def _silent(facts: Facts) -> Verdict:
    attempt = _last(facts)
    if attempt is None:
        return Verdict("never-called", "The model was never asked.", Evidence(quote="There is no attempt."))
    step = next((step for step in reversed(attempt.steps) if step.text.strip()), None)
    as_text = next((step for step in _steps(facts) if _CALL_AS_TEXT.search(step.text)), None)
    if as_text is not None and not _all_calls(facts):
        evidence = Evidence(as_text.attempt, as_text.index, quote=short(as_text.text))
        return Verdict(
            "no-tool-support", "The model wrote its call as text: it cannot call tools as asked.", evidence
        )
    if facts.kind != WRITER:
        quote = short(step.text) if step is not None else "It called nothing that writes."
        place = Evidence(attempt.index, step.index if step is not None else 0, quote=quote)
        return Verdict("nothing-to-write", "The run ended without a change.", place)
    read = " It only read the memory." if any(call.ran for call in _all_calls(facts)) else ""
    if step is not None:
        evidence = Evidence(attempt.index, step.index, quote=short(step.text))
        return Verdict(
            "prose", f"The model answered in prose instead of calling memory_write.{read}", evidence
        )
    cut = " Its answer was cut at the output limit." if _is_cut(attempt) else ""
    evidence = Evidence(
        attempt.index, len(attempt.steps), quote=f"{len(attempt.calls)} tool calls, no text.{cut}"
    )
    return Verdict("never-called", f"The model ended without calling memory_write.{read}{cut}", evidence)


def _is_cut(attempt: Attempt) -> bool:
    return attempt.finish == "length" or any(step.finish == "length" for step in attempt.steps)


def _failed(call: Call) -> bool:
    return bool(call.problem) or call.broken_input


def _is_write(call: Call) -> bool:
    if call.name == "memory":
        command = call.input.get("command") if isinstance(call.input, dict) else ""
        return command not in _READS
    return call.name not in _READS


def _all_calls(facts: Facts) -> list[Call]:
    return [call for attempt in facts.attempts for call in attempt.calls]


def _steps(facts: Facts) -> Iterable[Step]:
    return (step for attempt in facts.attempts for step in attempt.steps)


def _last(facts: Facts) -> Attempt | None:
    return facts.attempts[-1] if facts.attempts else None
