"""Stage one: one rollout becomes a trace text and a short summary (formats/codex.md section 2).

The output of an engine (rules or a model) is not trusted: `normalised` brings it into the form that the
agent's own code would have stored: trimmed, not empty, redacted, in the required format, within the limits.
Functions are pure, except for the engines.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import Thread
from reverie.agents.codex.messages import planned
from reverie.agents.codex.transcript import (
    ITEMS,
    Record,
    RolloutHistory,
    Segment,
    content_text,
    is_typed,
    message_text,
    records,
)
from reverie.agents.reading import as_object, as_text, texts_of
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import StoreError
from reverie.jobs.extraction.layout import cut, cut_summary, cut_trace
from reverie.jobs.model_work import ModelWork, steps_to
from reverie.llm.client import Account
from reverie.llm.loop import AgentLimits
from reverie.llm.prompts import TextMarks, prompt_words
from reverie.llm.vault import Vault
from reverie.resources import resource_table
from reverie.runs.stops import StopCheck
from reverie.text.codex_redaction import REDACTED, codex_redact
from reverie.text.patterns import pattern_of
from reverie.text.redact import find_secrets, in_texts
from reverie.text.summaries import some
from reverie.values import Struct, field

ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"traceMemory": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["traceMemory", "summary"],
    "additionalProperties": False,
}
_REQUIRED = ("Trace context:", "User preferences:", "## Task:", "Outcome:")
_JSON_FENCE = pattern_of(r"```json\s*\n(.*?)```", re.DOTALL)
_FENCE = pattern_of(r"```[^\n`]*\n(.*?)```", re.DOTALL)


class StageOneOutput(Struct, frozen=True):
    """The text about a rollout that Codex stores, called its trace, and the summary of that text.

    Either as an engine proposed them, or as they are stored.
    """

    trace: str
    summary: str


class Extracted(Struct, frozen=True):
    """The result of an engine for one rollout (conversation file), with statistics of reading it."""

    output: StageOneOutput | None
    """The output; None if the rollout contains nothing to remember."""
    reading: ReadStatistics
    truncated: bool = False
    """True if the rollout was shortened for a model."""


def parse_answer(text: str) -> StageOneOutput:
    """Return the output that a model's answer contains as JSON.

    The JSON may be the whole text, the content of a fenced block, or the text from the first to the last
    brace. Raises `StoreError` (reason "answer").
    """
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict):
            continue
        trace, summary = value.get("traceMemory"), value.get("summary")
        if isinstance(trace, str) and isinstance(summary, str):
            return StageOneOutput(trace, summary)
        raise _unusable("Its JSON lacks the texts traceMemory and summary.")
    raise _unusable("It holds no JSON object.")


def normalised(proposed: StageOneOutput) -> StageOneOutput:
    """Return the output `proposed` by an engine in the form in which it is stored.

    Raises `StoreError` (reason "empty").
    """
    trace, summary = proposed.trace.strip(), proposed.summary.strip()
    if not trace or not summary:
        raise StoreError(
            "Nothing was extracted.",
            cause="The summary of the session, or its short form, is empty.",
            next_step="The next extraction will try again.",
            reason="empty",
        )
    trace = structured(redacted(_sanitised(trace)))
    summary = redacted(" ".join(_sanitised(summary).split()))
    return StageOneOutput(cut_trace(trace), cut_summary(summary))


def redacted(text: str) -> str:
    """Return `text` without secrets, by the agent's own rules and then by Reverie's.

    A key must not get from a transcript into a file that every later session reads.
    """
    text = codex_redact(text)
    pieces, position = list[str](), 0
    for secret in find_secrets(text):
        found = text[secret.start : secret.end]
        # The agent's own replacement text looks like a password, with or without its brackets.
        if REDACTED in found or found.strip("[]") == REDACTED.strip("[]"):
            continue
        pieces += [text[position : secret.start], REDACTED]
        position = secret.end
    return "".join([*pieces, text[position:]])


def is_structured(trace: str) -> bool:
    """Return True if the text about a rollout has the sections that Codex requires."""
    return trace.startswith("#") and all(part in trace for part in _REQUIRED)


def structured(trace: str) -> str:
    """Return a text about a rollout in the format that Codex requires.

    Without the required sections, it is put at the end of `resources/prompts/rollout-trace-frame.md`.
    """
    return trace if is_structured(trace) else f"{prompt_words('rollout-trace-frame')}\n{trace}"


def _candidates(text: str) -> list[str]:
    """Return the parts of an answer that may be the JSON document, likeliest first."""
    found = [text.strip()]
    found += [match[1].strip() for fence in (_JSON_FENCE, _FENCE) for match in fence.finditer(text)]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        found.append(text[start : end + 1])
    return found


def _sanitised(text: str) -> str:
    """Return `text` with unpaired surrogates and NULs replaced, because files cannot contain them."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _unusable(cause: str) -> StoreError:
    return StoreError(
        "The model's response cannot be used.",
        cause=cause,
        next_step="Open the trace of the run, or try another model.",
        reason="answer",
    )


Item = dict[str, Any]

_SILENT = frozenset(
    {
        *("reasoning", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction"),
        *("additional_tools", "image_generation_call", "other"),
    }
)
_DROPPED = ("id", "encrypted_content", "internal_chat_message_metadata_passthrough")
_CHECK_EVERY = 256
ROLLOUT_BYTES = 1_000_000
ROLLOUT_MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


class PromptText(Struct, frozen=True):
    """A rollout (conversation file) as text for a model: a JSON array of items, at most 1,000,000 bytes.

    If it is longer, the middle is cut out.
    """

    text: str
    items: int
    """The number of items before cutting."""
    truncated: bool


def items_of(path: Path, reading: ReadStatistics, check: Callable[[], None] = lambda: None) -> Iterator[Item]:
    """Yield the relevant items of a rollout (conversation file) in order, as JSON objects.

    Each has its time (UTC ms) under `_at`, which is missing if the record has no time. These are left out:
    text that the agent added, turns undone by a rollback, pictures, and hidden thinking (formats/codex.md
    sections 2 and 6). Only one line is in memory at a time; unreadable lines are counted in `reading`.
    `check` is called every 256 records and may raise.
    """
    plan = planned(RolloutHistory((Segment(path),)))
    for number, record in enumerate(records(path, reading)):
        if number % _CHECK_EVERY == 0:
            check()
        if plan.is_undone(reading.lines):
            continue
        item = _item(record, events=plan.events)
        if item is not None:
            yield item


def prompt_text(items: Iterator[Item], *, hide: Callable[[str], str] = lambda text: text) -> PromptText:
    """Return the items as JSON for a model.

    `hide` removes secrets from every text, before JSON escapes make them unrecognisable.
    """
    ends, left_out = _ends(items)
    text = "[" + ",\n".join(_compact(in_texts(json.loads(each), hide)) for each in ends) + "]"
    truncated = left_out > 0 or len(text.encode("utf-8", "replace")) > ROLLOUT_BYTES
    return PromptText(cut(text, ROLLOUT_BYTES, ROLLOUT_MARKER, head_share=3), len(ends) + left_out, truncated)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ends(items: Iterator[Item]) -> tuple[list[str], int]:
    """Return the first and the last items as JSON, and the number of items left out between them.

    Each end has as many items as the output could ever show. The items between are only counted, because
    searching them for secrets would take most of the time.
    """
    head, tail, left_out = list[str](), deque[str](), 0
    head_size = tail_size = 0
    for item in items:
        text = _compact({key: value for key, value in item.items() if key != "_at"})
        if head_size <= ROLLOUT_BYTES:
            head.append(text)
            head_size += len(text)
            continue
        tail.append(text)
        tail_size += len(text)
        while tail_size - len(tail[0]) > ROLLOUT_BYTES:
            tail_size -= len(tail.popleft())
            left_out += 1
    return [*head, *tail], left_out


def said(role: str, text: str) -> Item:
    """Return the item for a message `text` of `role`, as it would be in a rollout."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _item(record: Record, *, events: bool) -> Item | None:
    """Return the item that a record of a rollout contains; None if the record is not relevant.

    `events`: True if the records of events are used rather than those of responses.
    """
    payload = record.payload
    item: Item | None = None
    if record.kind == "compacted":
        text = payload.get("message")
        item = said("assistant", text) if isinstance(text, str) and text.strip() else None
    elif record.kind == "response_item":
        item = _response_item(payload)
    elif record.kind == "event_msg":
        kind, text = payload.get("type"), payload.get("message")
        if kind == "turn_aborted":
            item = {"type": "turn_aborted", "reason": str(payload.get("reason", ""))}
        elif events and kind in ("user_message", "agent_message") and isinstance(text, str):
            item = said("user" if kind == "user_message" else "assistant", text)
    if item is not None and record.timestamp is not None:
        item["_at"] = record.timestamp
    return item


def _response_item(payload: Item) -> Item | None:
    """Return a response item without ids, encrypted fields and pictures; None if it is not relevant."""
    kind = payload.get("type")
    if kind not in ITEMS or kind in _SILENT:
        return None
    if kind == "message":
        role = payload.get("role")
        if role == "assistant" or (role == "user" and is_typed(payload)):
            text = message_text(payload)
            return said(str(role), text) if text.strip() else None
        return None
    found = {key: value for key, value in payload.items() if key not in _DROPPED}
    for name in ("arguments", "output"):
        found.update({name: _decoded(found[name])} if name in found else {})
    return {key: _without_pictures(value) for key, value in found.items()}


def _decoded(value: Any) -> Any:
    """Decode JSON text; return other values unchanged.

    JSON that is escaped twice is hard to read, and secrets in it are not recognised.
    """
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _without_pictures(value: Any) -> Any:
    """Return `value` with long data URLs replaced by "[data]"."""
    if isinstance(value, str):
        return "[data]" if value.startswith("data:") and len(value) > 200 else value
    if isinstance(value, list):
        return [_without_pictures(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_pictures(item) for key, item in value.items()}
    return value


Outcome = Literal["success", "partial", "fail", "uncertain"]
Statements = Callable[[str], Iterator[str]]

_TASKS, _STEPS, _LINE_CHARS, _PREFERENCES = 20, 12, 160, 20
_TITLE_CHARS = 100
_LOOKED_AT_CHARS = 8_000
"""The number of characters of a text that are searched for the line to show."""
_SHELLS = ("shell", "exec", "bash", "local_shell", "container.exec", "exec_command", "unified_exec")
_PATCH = pattern_of(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_EXIT = pattern_of(
    r"(?:exit(?:ed)?(?: with)?(?: code)?|exit_code)[\"']?\s*[:=]?\s*(-?\d{1,3})\b", re.IGNORECASE
)
_REMARKS = resource_table("remarks.toml")
_CHECK, _APPROVED, _REJECTED, _GO_ON = (
    pattern_of(_REMARKS["verdicts"][name], re.IGNORECASE)
    for name in ("check", "approved", "rejected", "go_on")
)


class _CommandStep(Struct):
    """One command that the agent ran."""

    command: str
    code: int | None = None
    """Exit code; None if the rollout does not record it."""
    tail: str = ""
    """The end of the output."""
    last_line: str = ""
    """The last line of the output, once `finish` was called."""
    after_change: bool = False
    """True if a file was changed before the command ran."""

    def finish(self) -> None:
        """Shorten command and output to one line each, without secrets.

        Called once, and only for steps in the trace, because searching for secrets takes time.
        """
        self.command, self.last_line = _line(self.command), _last_line(self.tail)


class _Task(Struct):
    """One request of the person in a rollout, with the work done for it.

    `verdict`: the person's reaction; empty if there is none. `aborted`: the person interrupted the work.
    `answered`: the model ended its work with an answer.
    """

    request: str
    steps: list[_CommandStep] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    more: list[str] = field(default_factory=list)
    verdict: Literal["", "approved", "rejected"] = ""
    aborted: bool = False
    answered: bool = False

    def add(self, text: str) -> None:
        """Add a further message about the request; only the last 12 are stored."""
        self.more = [*self.more, text[:_LOOKED_AT_CHARS]][-_STEPS:]

    def finish(self) -> None:
        self.more = [_line(text) for text in self.more]
        for step in self.steps:
            step.finish()

    def outcome(self) -> Outcome:
        """Return the outcome of the task, judged by evidence.

        `success` requires approval by the person, or a check that passed after the last change; the
        assistant's own claim is not enough.
        """
        if self.verdict == "approved":
            return "success"
        if self.verdict == "rejected":
            return "fail"
        ended = [step for step in self.steps if step.code is not None]
        checks = [step for step in ended if _CHECK.search(step.command)]
        if checks and checks[-1].code == 0 and not self.aborted:
            # The check is valid if it ran after the last change or nothing was changed.
            return "success" if checks[-1].after_change or not self.files else "partial"
        if ended and all(step.code != 0 for step in ended) and not self.files:
            return "fail"
        if checks and checks[-1].code != 0:
            return "fail" if self.aborted or ended[-1] is checks[-1] else "partial"
        return "partial" if self.files or (ended and self.aborted) else "uncertain"


class _RolloutReader:
    """A collector of tasks and preferences from the items of a rollout, within bounded memory."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.tasks: list[_Task] = []
        self.preferences: dict[str, None] = {}
        self.requests = self.commands = 0
        self._open: dict[str, _CommandStep] = {}

    def take(self, item: Item) -> None:
        """Process the next item of the rollout: a message, a tool call, its output or an interruption."""
        kind = item.get("type")
        if kind == "message":
            self._said(str(item.get("role")), message_text(item))
        elif kind in ("function_call", "local_shell_call", "custom_tool_call"):
            self._called(item)
        elif isinstance(kind, str) and kind.endswith("_output"):
            self._answered(str(item.get("call_id")), item.get("output"))
        elif kind == "turn_aborted" and self.tasks:
            self.tasks[-1].aborted = True

    def _said(self, role: str, text: str) -> None:
        """Process a message: collect preferences, and update or begin a task."""
        if role == "assistant":
            if self.tasks:
                self.tasks[-1].answered = True
            return
        self.requests += 1
        if len(self.preferences) < _PREFERENCES and next(self._statements(text), None) is not None:
            # Search for statements first: it is faster than the search for secrets.
            for statement in self._statements(redacted(text)):
                if len(self.preferences) < _PREFERENCES:
                    self.preferences[_line(statement)] = None
        task = self.tasks[-1] if self.tasks else None
        if task is not None and _APPROVED.search(text):
            task.verdict = "approved"
        elif task is not None and _REJECTED.search(text):
            task.verdict = "rejected"
            task.add(text)
        elif task is not None and _GO_ON.match(text):
            return
        elif len(self.tasks) < _TASKS:
            self.tasks.append(_Task(_line(text)))
        elif task is not None:
            task.add(text)

    def _called(self, item: Item) -> None:
        """Process a tool call: collect changed files and commands."""
        task = self._task()
        name = str(item.get("name") or item.get("type"))
        arguments = item.get("arguments", item.get("input", item.get("action")))
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        for path in _PATCH.findall(text.replace("\\n", "\n")):
            if len(task.files) < 4 * _STEPS:
                task.files[path.strip()[:_LINE_CHARS]] = None
            for step in task.steps:
                step.after_change = False
        command = _command(arguments) if any(shell in name for shell in _SHELLS) else ""
        if not command or command.lstrip().startswith("apply_patch"):
            return
        self.commands += 1
        step = _CommandStep(command[:_LOOKED_AT_CHARS], after_change=bool(task.files))
        task.steps.append(step)
        if len(task.steps) > 2 * _STEPS:
            # Keep the first and the last steps: the beginning and the end of the work.
            del task.steps[_STEPS]
        self._open[str(item.get("call_id"))] = step
        if len(self._open) > 200:
            del self._open[next(iter(self._open))]

    def _answered(self, call_id: str, output: Any) -> None:
        step = self._open.pop(call_id, None)
        if step is not None:
            step.code, step.tail = _result(output)

    def _task(self) -> _Task:
        """Return the current task; create one if the conversation has no request so far."""
        if not self.tasks:
            self.tasks.append(_Task("What was asked for is not in the rollout"))
        return self.tasks[-1]


class RulesStageOne:
    """The rules engine of stage one, which makes a text about a conversation without a model.

    `statements` yields the sentences of a message in which a person explicitly states preferences.
    """

    name = "rules"

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def account(self) -> Account:
        """Return an empty account, since rules cost nothing and have no trace."""
        return Account()

    async def extract(
        self, thread: Thread, path: Path, limits: StopCheck, tell: Callable[[str], None]
    ) -> Extracted:
        """Return the text about a rollout and a summary, made by rules; see `StageOneEngine`."""
        reading = ReadStatistics()
        output = await asyncio.to_thread(
            lambda: extracted(thread, items_of(path, reading, limits.check), self._statements)
        )
        return Extracted(output if output.trace else None, reading)


def extracted(thread: Thread, items: Iterable[Item], statements: Statements) -> StageOneOutput:
    """Return the trace of a rollout and its summary, made by rules; both empty if there is nothing to say.

    `items`: the items of the rollout. `statements` yields the preferences stated in a message. Secrets are
    removed before a text is cut or split, because a secret that is cut in half is not recognised.
    """
    reader = _RolloutReader(statements)
    for item in items:
        reader.take(item)
    for task in reader.tasks:
        task.finish()
    tasks = [task for task in reader.tasks if task.steps or task.files or task.answered or task.request]
    told = any(task.steps or task.files or task.more for task in tasks)
    if not told and not reader.preferences:
        return StageOneOutput("", "")
    title = _line(thread.title) or tasks[0].request
    branch = f", branch {thread.git_branch}" if thread.git_branch else ""
    lines = [
        f"# {title[:_TITLE_CHARS]}",
        "",
        f"Trace context: {thread.cwd}{branch}; {some(reader.requests, 'request')}, "
        f"{some(reader.commands, 'command')}. Put together by fixed rules, without a model.",
        "",
        f"User preferences:{'' if reader.preferences else ' none observed'}",
        *(f"- {preference}" for preference in reader.preferences),
    ]
    for task in tasks:
        lines += ["", *_task_lines(task)]
    return StageOneOutput("\n".join(lines) + "\n", _summary(title, tasks))


def _task_lines(task: _Task) -> list[str]:
    lines = [f"## Task: {task.request[:_TITLE_CHARS]}", "", f"Outcome: {task.outcome()}", "", "Key steps:"]
    lines += _or_none(f"- `{step.command}`{_ended(step)}" for step in task.steps)
    lines += ["", "Things that did not work / things that can be improved:"]
    lines += _or_none([*(f"- Rejected: {text}" for text in task.more), *_failures(task.steps)])
    lines += ["", "Reusable knowledge:"]
    worked = dict.fromkeys(
        step.command for step in task.steps if step.code == 0 and _CHECK.search(step.command)
    )
    lines += _or_none(f"- Worked here: `{command}`" for command in worked)
    lines += ["", "Pointers and references (annotate why each item matters):"]
    return [*lines, *_or_none(f"- `{path}`: changed for this task" for path in task.files)]


def _failures(steps: list[_CommandStep]) -> Iterator[str]:
    """Yield a line for each failed command: with its later success or, without one, the next command."""
    for place, step in enumerate(steps):
        if not step.code:
            continue
        said = f": {step.last_line}" if step.last_line else ""
        later = steps[place + 1 :]
        again = next((other for other in later if other.command == step.command and other.code == 0), None)
        if again is not None:
            between = [other.command for other in later[: later.index(again)]]
            after = f" after `{between[-1]}`" if between else ""
            followed = f"; it worked later{after}"
        else:
            followed = f"; then `{later[0].command}`{_ended(later[0])}" if later else ""
        yield f"- `{step.command}` ended with {step.code}{said}{followed}"


def _summary(title: str, tasks: list[_Task]) -> str:
    outcomes = [task.outcome() for task in tasks]
    counted = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes))
    files = list(dict.fromkeys(path for task in tasks for path in task.files))
    changed = f" Changed: {', '.join(files[:5])}{' and more' if len(files) > 5 else ''}." if files else ""
    return f"{title} ({some(len(tasks), 'task')}: {counted}).{changed}"


def _command(arguments: Any) -> str:
    """Return the command line in the arguments of a shell call, as a person would type it."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        words = texts_of(command)
        shell = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh")
        return words[2] if shell and words[1].startswith("-") else " ".join(words)
    return as_text(command)


def _result(output: Any) -> tuple[int | None, str]:
    """Return the exit code in the output of a command (None if unknown), and the end of the output."""
    failed: int | None = None
    if isinstance(output, dict):
        if isinstance(output.get("output"), str):
            code = as_object(output.get("metadata")).get("exit_code")
            return (code if isinstance(code, int) else None), _end_of(output["output"])
        failed, output = (1 if output.get("success") is False else None), output.get("content")
    text: str = content_text(output)
    found = _EXIT.search(text[:500]) or _EXIT.search(text[-500:])
    return (int(found[1]) if found else failed), _end_of(text)


def _end_of(text: str) -> str:
    """Return `text` if it is short, else its end: at most 8,000 characters, from a safe position on.

    The end begins at its third line or, if it is one line, at its second word. Otherwise a value whose
    `password=` was cut off would not be recognised as a secret.
    """
    if len(text) <= _LOOKED_AT_CHARS:
        return text
    end = text[-_LOOKED_AT_CHARS:]
    lines = end.split("\n", 2)
    return lines[2] if len(lines) == 3 else end.partition(" ")[2]


def _last_line(text: str) -> str:
    return next((_line(line) for line in reversed(redacted(text).splitlines()) if line.strip()), "")


def _ended(step: _CommandStep) -> str:
    return "" if step.code is None else f" (exit {step.code})"


def _or_none(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))[: 2 * _STEPS] or ["- none"]


def _line(text: str) -> str:
    """Return `text` without secrets and shortened to one line of at most 160 characters."""
    folded = " ".join(redacted(text[:_LOOKED_AT_CHARS]).split()).replace("`", "'")
    return folded if len(folded) <= _LINE_CHARS else folded[: _LINE_CHARS - 1] + "…"


_LONGEST = 500
_LEAST_WORDS = 4
_BEGINS, _BEFORE, _MOMENT = (
    pattern_of(_REMARKS["preferences"][name], re.IGNORECASE) for name in ("begins", "before", "moment")
)
_ENDS = pattern_of(r"\s*(?:[;?!]|\.(?:\s|$)|\s[-–—]\s)")
_QUOTED = pattern_of(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`")


def preference_in(sentence: str) -> str | None:
    """Return the clause of a person's sentence that states a lasting preference; None if there is none.

    It may be in the middle of a request ("..., and please always run the tests"); only the clause is
    returned. Time is linear in the text.
    """
    if len(sentence) > _LONGEST:
        return None
    # The mask has the length of the quotation, so that positions are the same in both texts.
    plain = _QUOTED.sub(lambda found: "…" * len(found[0]), sentence)
    for found in _BEGINS.finditer(plain):
        end = _ENDS.search(plain, found.end())
        place = slice(found.start(), end.start() if end else len(plain))
        if _BEFORE.search(plain[: found.start()]) or _MOMENT.search(plain[place]):
            continue
        clause = sentence[place].strip().rstrip(",")
        if len(clause.split()) >= _LEAST_WORDS:
            return clause[0].upper() + clause[1:]
    return None


class PromptEvidence(TextMarks, frozen=True):
    """The delimiters around text of a rollout or a memory in a prompt.

    They have a random part, so that the text cannot contain the closing delimiter.
    """

    kind = "evidence"


def trace_task(thread: Thread, prompt: PromptText, title: str, marks: PromptEvidence) -> str:
    """Return the user message of stage one: the text of a rollout between the delimiters `marks`.

    `title`: the title of the thread, which must be free of secrets.
    """
    facts = {"cwd": thread.cwd, "branch": thread.git_branch, "title": title}
    lines = [f"{name}: {fact}" for name, fact in facts.items() if fact or name == "cwd"]
    evidence = marks.around("\n".join([*lines, "", prompt.text]))
    cut_out = " Its middle was left out." if prompt.truncated else ""
    return f"{prompt.items} items.{cut_out}\n\n{evidence}\n"


TRACE_STEPS, TRACE_TOKENS = 2, 16_384
_TOKEN = pattern_of(r"\{\{REVERIE_SECRET_\d{1,9}\}\}")


class ModelStageOne(ModelWork):
    """Model engine of stage one, which runs the agent loop without tools.

    The model gets tokens in place of secrets (`llm.vault`). The answer is a JSON object; a schema enforces
    this if the service supports schemas. If the answer cannot be parsed, it is requested once more. The
    result contains no secrets, and no placeholders (texts that replace secrets in a prompt). Rollouts are
    read on a worker thread. Failure: as in `jobs.model_work`.
    """

    kind = "extract"

    async def extract(
        self, thread: Thread, path: Path, limits: StopCheck, tell: Callable[[str], None]
    ) -> Extracted:
        """Return the text about a rollout and a summary that a model wrote; see `StageOneEngine`."""
        reading, marks, vault = ReadStatistics(), PromptEvidence.random(), Vault()

        def hide(text: str) -> str:
            """Return `text` without secrets.

            Those that the agent's redaction recognises are removed for good, others become placeholders. The
            irreversible redaction is safe, because nothing from a rollout is restored later.
            """
            return vault.hide(codex_redact(text))

        prompt = await asyncio.to_thread(
            lambda: prompt_text(items_of(path, reading, limits.check), hide=hide)
        )
        if not prompt.items:
            return Extracted(None, reading)
        limits.check()
        reminders = iter([prompt_words("rollout-trace-reminder").strip()])

        def follow_up(text: str) -> str | None:
            try:
                normalised(parse_answer(text))
            except StoreError:
                return next(reminders, None)
            return None

        tell("")
        result = await self._ask(
            limits,
            AgentLimits(TRACE_STEPS, limits.deadline, TRACE_TOKENS),
            vault,
            system=f"{prompt_words('rollout-trace').strip()}\n\n{marks.explained('The record')}\n",
            task=trace_task(thread, prompt, hide(thread.title), marks),
            observer=steps_to(tell),
            follow_up=follow_up,
            answer_schema=ANSWER_SCHEMA,
        )
        answer = parse_answer(result.text)
        # A placeholder stands for a secret, and memories hold no secrets.
        output = StageOneOutput(_TOKEN.sub(REDACTED, answer.trace), _TOKEN.sub(REDACTED, answer.summary))
        return Extracted(output, reading, prompt.truncated)


StageOneEngine = RulesStageOne | ModelStageOne
"""The engine that makes a text about one rollout (conversation file).

`extract` returns the text and a summary; its argument `tell` receives progress texts. It raises the
`UserError` family, `Cancelled`, `TimedOut`. `account` returns the usage so far and the trace, both empty for
rules; it may be called at any time, also after a failure.
"""
