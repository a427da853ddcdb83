"""One run of the memory writer: its tools, its input, and the two engines, a model and the built-in rules.

An engine changes nothing but the draft. Everything that is sent to a model goes through a vault, so no secret
leaves the machine.

Threading: one run, one event loop. Failure: reported in the `EngineResult`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from reverie.agents.base import Workspace
from reverie.agents.capabilities import WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import TailEvent
from reverie.clock import Clock
from reverie.errors import StoreError, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S, sweep_temporaries
from reverie.files.rooted import RootedDirectory
from reverie.jobs.model_work import FileDraft, costs_of, in_newline_style
from reverie.jobs.writer.state import WriterTarget
from reverie.llm.client import Account, EngineResult, ModelClient, end_of
from reverie.llm.loop import AgentLimits
from reverie.llm.prompts import between, prompt_words, random_mark
from reverie.llm.provider import ProviderError, ToolOutcome
from reverie.llm.tools import FunctionTool, Tool, tool_spec
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.llm.wire import sanitise
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage, written
from reverie.resources import resource_table
from reverie.runs.record import RunRecord
from reverie.runs.run import (
    CANCELLED,
    SWITCHED_OFF,
    Costs,
    Job,
    Plan,
    RunContext,
    RunDependencies,
    RunEnd,
    failed_by,
    out_of_time,
)
from reverie.text.redact import find_secrets, in_texts
from reverie.text.summaries import between_words, cut_utf16, utf16_length
from reverie.values import Struct, columns

ALL = -1
_REFUSED = "memory-write"


class Replacement(Struct, frozen=True):
    """One replacement in the memory file.

    `count` occurrences of `old` are replaced, or all if `count` is -1.
    """

    old: str
    new: str
    count: int = 1


def replaced(text: str, change: Replacement) -> str:
    """Return `text` after one replacement.

    `change.new` is inserted literally. Raises `StoreError`.
    """
    if change.count != ALL and change.count < 1:
        raise _refused("replace_count must be a positive number, or -1 for every occurrence.")
    if not change.old:
        if change.count != 1:
            raise _refused("An empty old_string goes with replace_count 1 only.")
        if text:
            raise _refused(
                "An empty old_string is for an empty file only.", "Name the text to be replaced exactly."
            )
        return change.new
    old, new = in_newline_style(text, change.old, change.new)
    found = text.count(old)
    if not found:
        raise _refused(
            "old_string is not in the memory file.",
            "Call memory_read and copy the text exactly as it stands.",
        )
    if change.count == 1 and found > 1:
        raise _refused(
            f"old_string stands {found} times in the memory file.",
            "Make it longer until it is unique, or give replace_count.",
        )
    if change.count > found:
        raise _refused(
            f"replace_count is {change.count}, but old_string stands there {found} times only.",
            "Give a smaller replace_count, or -1 for every occurrence.",
        )
    return text.replace(old, new, change.count)


class MemoryDraft(FileDraft):
    """The draft of the memory file, with its size limit."""

    def __init__(self, read: Callable[[], bytes | None], *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(read)

    def _decoded(self, data: bytes | None) -> str:
        try:
            return (data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(
                "The memory file is not text.",
                cause="The file contains bytes that are not valid UTF-8, so Reverie does not rewrite it.",
                next_step="Repair the file yourself.",
                reason="not-text",
            ) from None

    def _require_room(self, text: str) -> None:
        size = len(text.encode("utf-8"))
        if size > self._max_bytes:
            raise _refused(
                f"The memory file would hold {size:,} bytes; at most {self._max_bytes:,} are kept.",
                "Shorten what is in it first.",
            )

    def _no_longer_fits(self) -> StoreError:
        return _refused(
            "The memory file changed meanwhile, and the earlier change no longer fits.",
            "Call memory_read, then make the change again if it is still needed.",
        )

    def _holds_a_secret(self) -> StoreError:
        return _refused(
            "new_string holds a key, password or token.", "Write it down without; memories hold no secrets."
        )


class WriterTools:
    """The tools `memory_read`, `memory_write` and `no_new_memories` on one draft (formats/mux.md section 14).

    `memory_write` makes exact replacements.
    """

    def __init__(self, draft: MemoryDraft, memory_id: str) -> None:
        self._draft = draft
        self._memory_id = memory_id
        self._write_failed = False
        self.wrote = False
        """Whether a `memory_write` succeeded."""
        self.declined = False
        """Whether the model called `no_new_memories` and the call counted."""

    @property
    def satisfied(self) -> bool:
        """Whether memory was written or the model reported that there is nothing to write."""
        return self.wrote or self.declined

    def new_attempt(self) -> None:
        """Start a new attempt, which the failed write of the previous one does not affect.

        After that, `no_new_memories` counts again.
        """
        self._write_failed = False

    def tools(self) -> tuple[Tool, ...]:
        """Return the three tools for the model."""
        restored = frozenset({"old_string", "new_string"})
        return (
            FunctionTool(tool_spec("memory_read"), self._read_call),
            FunctionTool(tool_spec("memory_write"), self._write_call, restored),
            FunctionTool(tool_spec("no_new_memories"), self._decline_call),
        )

    def _read_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        self._draft.refresh()
        if not self._draft.exists:
            return ToolOutcome(f"{self._memory_id}: there is no memory file yet.")
        return ToolOutcome(self._draft.text)

    def _write_call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        count = arguments.get("replace_count")
        change = Replacement(
            str(arguments["old_string"]), str(arguments["new_string"]), 1 if count is None else int(count)
        )
        try:
            self._draft.edit(partial(replaced, change=change))
        except UserError:
            self._write_failed = True
            raise
        self._write_failed = False
        self.wrote = True
        return ToolOutcome("Written.", wrote=True)

    def _decline_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        if self._write_failed:
            return ToolOutcome(
                "This does not count, because the last memory_write failed. Make it again as the error says.",
                is_error=True,
            )
        self.declined = True
        return ToolOutcome("Noted: nothing to write down.")


def _refused(cause: str, next_step: str = "") -> StoreError:
    return StoreError("Nothing was written.", cause=cause, next_step=next_step, reason=_REFUSED)


MAX_JSON_CHARS = 80_000
TRUNCATED = "… [truncated]"
LEFT_OUT = "[left out: too long]"


class Events(Struct, frozen=True):
    """The conversation events for the model, oldest first."""

    items: tuple[dict[str, Any], ...]
    original_count: int
    """The number of events before trimming."""

    def summary(self) -> dict[str, int]:
        """Return the numbers of events before and after trimming, and the size limit.

        The names are those of the agent's own fields.
        """
        return {
            "originalCount": self.original_count,
            "trimmedCount": len(self.items),
            "maxJsonChars": MAX_JSON_CHARS,
        }

    def as_json(self) -> str:
        """Return the events as JSON for the model."""
        return json_of(self.items)


def events_of(rows: Iterable[TailEvent], *, max_chars: int = MAX_JSON_CHARS) -> Events:
    """Convert transcript rows to events of people, the model and its tools, trimmed to `max_chars`."""
    found = [event for event in map(_event, rows) if event is not None]
    return Events(tuple(trimmed(found, max_chars)), len(found))


def trimmed(events: Sequence[dict[str, Any]], max_chars: int) -> list[dict[str, Any]]:
    """Return the newest events whose JSON array has at most `max_chars` UTF-16 units.

    Each event is measured once. If even the newest one is too long, it is shortened by `clamped`
    (formats/mux.md section 14).
    """
    room = max_chars - 2
    kept: list[dict[str, Any]] = []
    for event in reversed(events):
        cost = utf16_length(json_of(event)) + (1 if kept else 0)
        if cost > room:
            break
        room -= cost
        kept.append(event)
    if not kept and events:
        return clamped(events[-1], max_chars)
    return kept[::-1]


def clamped(event: dict[str, Any], max_chars: int) -> list[dict[str, Any]]:
    """Return a list with `event`, shortened to fit `max_chars`; an empty list if nothing of it fits.

    Its tool calls are dropped first, then its text is truncated.
    """
    bare = {name: value for name, value in event.items() if name in ("historySequence", "role")}
    text = event.get("text")
    candidates: list[dict[str, Any]] = []
    if isinstance(text, str):
        candidates.append({**bare, "text": text})
        room = max_chars - utf16_length(json_of([{**bare, "text": TRUNCATED}]))
        # Escapes make the JSON longer than the text, by six at most.
        for share in (1, 2, 6):
            if room // share > 0:
                kept = between_words(cut_utf16(text, room // share), text)
                candidates.append({**bare, "text": kept + TRUNCATED})
    candidates += [{**bare, "text": LEFT_OUT}, bare]
    for candidate in candidates:
        if utf16_length(json_of([candidate])) <= max_chars:
            return [candidate]
    return []


def json_of(value: Any) -> str:
    """Return `value` as JSON in the form that JavaScript's `JSON.stringify` writes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _event(row: TailEvent) -> dict[str, Any] | None:
    """Return the event of a transcript row; None if the row is not relevant."""
    if row.kind in ("other", "reset") or row.turn.role == "system":
        return None
    event: dict[str, Any] = {"historySequence": row.turn.sequence, "role": row.turn.role}
    if row.turn.text:
        event["text"] = row.turn.text
    calls = [
        {
            **columns(tool, "toolCallId=call_id toolName=name input"),
            **({} if tool.output is None else {"output": tool.output}),
            "state": tool.state,
        }
        for tool in row.tools
    ]
    if calls:
        event["toolCalls"] = calls
    sanitised: dict[str, Any] = in_texts(event, sanitise)
    return sanitised


class WriterTask(Struct, frozen=True):
    """The input of one run of an engine: identifiers, instructions, conversation and limits."""

    run_id: str
    workspace_id: str
    workspace_name: str
    message_id: str
    memory_id: str
    instructions: str | None
    """The home's instructions for agents; None if there are none."""
    context_instructions: str | None
    """The workspace's instructions for agents; None if there are none."""
    events: Events
    said: tuple[str, ...]
    """The person's messages since the last run, oldest first."""
    timeout_ms: int
    deadline: float
    """The end of the time limit, on the clock of `time.monotonic`."""


class WriterEngine(Protocol):
    """The engine of one run.

    `name` is `rules` or `PROVIDER:MODEL`. Failures of a model are reported in the `EngineResult`; only bugs
    are raised.
    """

    @property
    def name(self) -> str: ...

    async def write(
        self, task: WriterTask, draft: MemoryDraft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineResult:
        """Edit the draft with the tools until done or until `cancelled()` is true."""


MOST_BULLETS = 12
_LONGEST = 400
_CORRECTION, _CONTRAST, _PASSING = (
    re.compile(resource_table("remarks.toml")["corrections"][name], re.IGNORECASE)
    for name in ("begins", "contrast", "passing")
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")


class RulesWriter:
    """The rules engine of the memory writer; implements `WriterEngine`.

    It adds the person's explicit statements and corrections to the file as bullets. Statements that the file
    already contains and sentences with a secret are not added; nothing is ever removed. `statements` returns
    the explicit statements of a message.
    """

    name = "rules"

    def __init__(self, statements: Callable[[str], Iterable[str]], clock: Clock) -> None:
        self._statements = statements
        self._clock = clock

    async def write(
        self, task: WriterTask, draft: MemoryDraft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineResult:
        found: list[str] = []
        for text in task.said:
            if cancelled():
                return EngineResult("cancelled")
            found += [*self._statements(text), *corrections(text)]
        bullets = new_bullets(found, draft.text)
        if not bullets:
            tools.declined = True
            trace = _document(task, draft.original, (), None, self._clock())
            return EngineResult("completed", account=Account(trace=trace))
        refused: StoreError | None = None
        try:
            draft.edit(lambda text: with_bullets(text, new_bullets(bullets, text), task.memory_id))
            tools.wrote = True
        except StoreError as error:
            refused = error
        trace = _document(task, draft.original, bullets, refused, self._clock())
        return EngineResult("failed" if refused else "completed", error=refused, account=Account(trace=trace))


def corrections(text: str) -> Iterator[str]:
    """Yield the sentences in `text` by which a person corrects the agent for all future work."""
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(" ".join(line.split())):
            match = _CORRECTION.match(sentence)
            if match is None or len(sentence) > _LONGEST or sentence.endswith(("?", ":")):
                continue
            said = match["said"]
            if len(said.split()) >= 4 and _CONTRAST.search(said) and not _PASSING.search(said):
                yield said[:1].upper() + said[1:]


def new_bullets(statements: Iterable[str], memory: str) -> list[str]:
    """Return the distinct statements that `memory` does not contain yet: the last 12, without secrets."""
    known = {_folded(line) for line in memory.splitlines()}
    whole = f" {_folded(memory)} "
    found: list[str] = []
    for statement in statements:
        said = " ".join(statement.split())
        folded = _folded(said)
        if not folded or folded in known or f" {folded} " in whole or find_secrets(said):
            continue
        # A correction may also have been found as a statement.
        if any(folded in other or other in folded for other in map(_folded, found)):
            continue
        known.add(folded)
        found.append(said)
    return found[-MOST_BULLETS:]


def with_bullets(memory: str, bullets: Iterable[str], memory_id: str) -> str:
    """Return `memory` with one bullet per statement added at the end, in the file's own line ends."""
    newline = "\r\n" if "\r\n" in memory else "\n"
    head = memory
    if not memory.strip():
        head = f"# {memory_id.rpartition('-')[0] or memory_id} memory{newline}{newline}"
    elif not memory.endswith("\n"):
        head = memory + newline
    return head + "".join(f"- {bullet}{newline}" for bullet in bullets)


def _document(
    task: WriterTask, memory: str, bullets: Sequence[str], refused: StoreError | None, now: int
) -> dict[str, Any]:
    """Return a trace of the rules in the format of a model's trace: one attempt with one call.

    `refused` is the error if the write was refused.
    """
    failed = None if refused is None else str(refused)
    execution = {
        "attemptIndex": 1,
        "toolName": "memory_write" if bullets else "no_new_memories",
        "input": {"old_string": "", "new_string": "\n".join(bullets)} if bullets else {},
        "output": {"success": True} if failed is None else {"success": False, "error": failed},
        "startedAt": now,
        "durationMs": 0,
    }
    attempt = {
        "attemptIndex": 1,
        "messages": [],
        "stepResults": [],
        "toolExecutions": [execution],
        "wrote": bool(bullets) and failed is None,
        "noNewMemories": not bullets,
        "aborted": False,
    }
    return {
        "schemaVersion": 1,
        "runStartedAt": now,
        **columns(task, "timeout_ms workspace_id workspace_name triggerMessageId=message_id"),
        "modelString": "rules",
        "timedOut": False,
        "didWriteMemory": attempt["wrote"],
        "satisfiedMemoryToolPolicy": failed is None,
        "systemPrompt": "",
        "existingMemory": memory,
        "userMessage": "",
        "eventsSummary": task.events.summary(),
        "events": list(task.events.items),
        "attempts": [attempt],
        "reverie": {"version": 1, "runId": task.run_id, "kind": "writer", "outcome": "completed"},
    }


def _folded(text: str) -> str:
    """Return the words of `text` in lower case, for comparison."""
    return " ".join(_WORD.findall(text.casefold()))


def system_prompt(mark: str, instructions: str = "") -> str:
    """Return the system prompt: instructions, then the rule about the quoted input.

    `mark` is the random part of the delimiters around quoted input. `instructions`, if not empty, are the
    home's own and replace the built-in ones; the rules that they cannot override follow. The texts are in
    `resources/prompts/writer*.md`.
    """
    rule = f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}."
    own = f"{instructions.strip()}\n\n{prompt_words('writer-rules').strip()}" if instructions.strip() else ""
    return f"{own or prompt_words('writer').strip()}\n\n{rule}\n"


def user_message(task: WriterTask, memory: str, mark: str) -> str:
    """Return the user message: instructions, memory file and events, each quoted between delimiters.

    The delimiters contain `mark`. It is random, so that no quoted text can contain the closing delimiter.
    """
    parts = [f"projectId: {task.memory_id}"]
    for name, text in (
        ("global-instructions", task.instructions),
        ("context-instructions", task.context_instructions),
        ("memory-file", memory),
    ):
        if text is not None:
            parts.append(between(name, text, mark))
    parts.append(between("conversation-events (JSON, oldest first)", task.events.as_json(), mark))
    return "\n\n".join(parts) + "\n"


def reminder() -> str:
    """Return the message that precedes the second attempt."""
    return prompt_words("writer-reminder").strip()


MAX_ATTEMPTS = 2
MAX_STEPS = 16
MAX_OUTPUT_TOKENS = 3_000


class ModelWriter:
    """Model engine of the memory writer; implements `WriterEngine`.

    If the model neither writes nor declines, it gets one more attempt, with a reminder (formats/mux.md
    section 14). `instructions` are the home's own, empty for the built-in ones.
    """

    def __init__(self, asking: ModelClient, instructions: str = "") -> None:
        self._asking = asking
        self._instructions = instructions

    @property
    def name(self) -> str:
        return self._asking.name

    async def write(
        self, task: WriterTask, draft: MemoryDraft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineResult:
        vault, mark = Vault(), random_mark()
        memory = draft.text
        vault.learn(memory)
        vault.learn(task.events.items)
        trace = Trace(vault.scrub, clock=self._asking.clock)
        attempts = Attempts(tools)
        try:
            result = await self._asking.ask(
                system_prompt(mark, self._instructions),
                user_message(task, memory, mark),
                tools.tools(),
                limits_until(task.deadline),
                vault,
                trace,
                cancelled=cancelled,
                follow_up=attempts.follow_up,
            )
        except ProviderError as refused:
            return EngineResult("failed", refused)
        head = _head(task, vault.hide(draft.original))
        account = self._asking.account(head, result.usage, partial(_prompt_document, trace, task, vault))
        return end_of(result, account, max_steps=MAX_STEPS, attempts=attempts.made)


class Attempts:
    """Counts a model's attempts, and decides whether the model gets another one."""

    def __init__(self, tools: WriterTools) -> None:
        self._tools = tools
        self.made = 1

    def follow_up(self, _text: str) -> str | None:
        """Return the reminder that starts another attempt; None if there is to be none.

        There is none after an attempt that wrote or declined, nor after the last allowed attempt.
        """
        if self._tools.satisfied or self.made >= MAX_ATTEMPTS:
            return None
        self.made += 1
        self._tools.new_attempt()
        return reminder()


def limits_until(deadline: float) -> AgentLimits:
    """Return the limits for all attempts together.

    `deadline` is on the clock of `time.monotonic`.
    """
    return AgentLimits(MAX_STEPS, deadline, MAX_OUTPUT_TOKENS, attempt_steps=MAX_STEPS // MAX_ATTEMPTS)


def _head(task: WriterTask, existing: str) -> TraceHead:
    """Return the head of the run's trace; `existing` is the memory file before the run, without secrets."""
    return TraceHead(
        run_id=task.run_id,
        kind="writer",
        workspace_id=task.workspace_id,
        workspace_name=task.workspace_name,
        trigger_message_id=task.message_id,
        timeout_ms=task.timeout_ms,
        existing_memory=existing,
    )


def _prompt_document(trace: Trace, task: WriterTask, vault: Vault, head: TraceHead) -> dict[str, Any]:
    """Return the trace document with the whole input of the model added, without secrets."""
    return {
        **trace.to_document(head),
        "globalAgentsMd": None if task.instructions is None else vault.hide(task.instructions),
        "contextAgentsMd": None
        if task.context_instructions is None
        else vault.hide(task.context_instructions),
        "eventsSummary": task.events.summary(),
        "events": vault.hide_in(task.events.items),
    }


_INSTRUCTION_BYTES = 64 << 10


class WriterRequest(Struct, frozen=True):
    """Parameters of one run."""

    context: ScopeContext
    workspace: Workspace
    place: WriterPlace
    target: WriterTarget
    message_id: str
    rows: tuple[TailEvent, ...]
    """The newest rows of the transcript."""
    since: str | None
    """The last message that an earlier run processed; None to read all rows."""
    trigger: str
    """The reason for the run: `turn` or `manual`."""
    time_limit_s: float


class WriterJob(Job[MemoryDraft]):
    """One run of the memory writer as a job (`runs.run`): collects the input and runs the engine on a draft.

    The caller must ensure that no other run of the workspace is active. If a model runs out of time or its
    service fails, the changes made before are still applied, because each `memory_write` is complete in
    itself. Threading and failure: see `runs.run`.
    """

    kind = "writer"
    before = "before the memory writer"
    attempts = 5

    def __init__(
        self,
        parts: RunDependencies,
        request: WriterRequest,
        engine: WriterEngine,
        *,
        still_wanted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._still_wanted = still_wanted
        self._files = RootedDirectory(request.target.root.directory)
        self._tools: WriterTools | None = None
        self._end = EngineResult("failed", attempts=0)
        self.trace: Mapping[str, Any] | None = None
        """The trace as stored, for the agent's own directory too; None before the run has ended."""
        self.workspace_id = request.workspace.id
        self.project_path = request.context.project_path
        self.trigger = request.trigger
        self.engine = engine.name
        self.purpose = f"memory writer ({request.workspace.id})"
        self.time_limit_s = request.time_limit_s
        self.details = {"triggerMessageId": request.message_id}

    @property
    def attempts_made(self) -> int:
        """The number of attempts that the model has made."""
        return self._end.attempts

    @property
    def timed_out(self) -> bool:
        """Whether the engine ran out of time."""
        return self._end.outcome == "time-limit"

    @property
    def satisfied(self) -> bool:
        """Whether the model met the tool policy: it wrote, or reported that there is nothing to write."""
        return self._tools is not None and self._tools.satisfied

    def ready(self) -> None:
        """Remove temporary files that killed writes left."""
        for directory in (self._request.target.file.parent, self._request.place.state_file.parent):
            with contextlib.suppress(UserError):  # leftover hidden files are harmless
                sweep_temporaries(directory, older_than_s=LEFT_OVER_AFTER_S)

    async def think(self, run: RunContext) -> MemoryDraft | Plan:
        """Run the engine on a new draft; return the draft, or a plan without changes.

        Changes made before the model ran out of time are part of the draft.
        """
        draft = MemoryDraft(self._read, max_bytes=self._parts.home.caps.file_bytes)
        tools = self._tools = WriterTools(draft, self._request.target.memory_id)
        end = self._end = await self._engine.write(self._task(run), draft, tools, run.limits.cancelled)
        if run.limits.cancelled() or end.outcome == "cancelled":
            return CANCELLED
        if not draft.changed:
            return _without_change(tools, end, self._request.time_limit_s)
        if not self._still_wanted():
            return SWITCHED_OFF
        return draft

    def accept(self, thought: MemoryDraft, run: RunContext) -> Plan:
        """Return a plan that writes the draft on top of the file's present content."""
        target, end = self._request.target, self._end
        if not self._still_wanted():  # the run may have waited long for another one
            return SWITCHED_OFF
        try:
            thought.refresh()
        except StoreError as error:
            if error.reason != _REFUSED:
                raise
            # The next step in a refusal addresses a model, not a person.
            next_step = "The next run reads these messages again."
            raise StoreError(
                error.title, cause=error.cause, next_step=next_step, reason=error.reason
            ) from error
        if not thought.changed:
            return Plan(f"{target.path} already contains this.")
        summary = f"{target.path} was updated."
        if end.outcome == "time-limit":
            summary += " The model then ran out of time."
        elif end.error is not None:
            summary += f" After that: {end.error.title}"
        change = FileChange(target.root, target.rel, thought.before, thought.after)
        usage_before, usage_after = self._usage_delta()
        return Plan(summary, (change,), usage_before=usage_before, usage_after=usage_after)

    def costs(self) -> Costs:
        """Return the costs of the engine so far."""
        return costs_of(self._end.account)

    def found(self) -> Mapping[str, Any]:
        """Return the number of attempts for the run record; empty if the engine made none."""
        return {"attempts": self._end.attempts} if self._end.attempts else {}

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """Return the trace with paths and outcome added; also store it in the attribute `trace`."""
        request = self._request
        trace = super().document(trace, record, end)
        self.trace = {
            **trace,
            "runStartedAt": record.started_at,
            "didWriteMemory": bool(end.changed),
            "agentDiscoveryPath": request.workspace.path,
            "projectPath": request.context.project_path or "",
            "workspacePath": request.workspace.path,
            "memoryPath": str(request.target.file),
            "reverie": {**trace["reverie"], "target": request.target.path},
        }
        return self.trace

    def _read(self) -> bytes | None:
        entry = self._files.entry(self._request.target.rel)
        return None if entry is None else self._files.read(self._request.target.rel)

    def _task(self, run: RunContext) -> WriterTask:
        request = self._request
        return WriterTask(
            run_id=run.id,
            workspace_id=request.workspace.id,
            workspace_name=request.workspace.name,
            message_id=request.message_id,
            memory_id=request.target.memory_id,
            instructions=_first_text(request.place.instructions),
            context_instructions=_first_text(request.place.context_instructions),
            events=events_of(request.rows),
            said=tuple(_said(request.rows, request.since)),
            timeout_ms=round(request.time_limit_s * 1000),
            deadline=run.limits.deadline,
        )

    def _usage_delta(self) -> tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]:
        """Return the usage of the written memory before and after the run.

        Only the time of the write changes; the run does not count as a use.
        """
        target = self._request.target
        key = self._parts.home.usage_key(target.root, target.rel)
        if key is None or target.is_companion:
            return {}, {}
        before = self._parts.usage.load().get(key)
        return {key: before}, {key: written(before, self._parts.clock())}


def _without_change(tools: WriterTools, end: EngineResult, limit_s: float) -> Plan:
    """Return the plan of a run whose draft did not change."""
    if end.outcome == "time-limit":
        return out_of_time(limit_s)
    if end.error is not None:
        return failed_by(end.error)
    if tools.satisfied:
        return Plan("There is nothing new to remember.", outcome="unchanged")
    return Plan(
        f"In {end.attempts} attempts, the model neither wrote nor stated that there is nothing to write.",
        outcome="failed",
        reason="no-write",
        next_step="Open the trace. The memory writer needs a model that can call tools.",
    )


def _said(rows: tuple[TailEvent, ...], since: str | None) -> list[str]:
    """Return the person's messages after the message `since`.

    All of them if `since` is not among the rows.
    """
    position = next((at for at, row in enumerate(rows) if row.turn.id == since), -1)
    return [
        row.turn.text for row in rows[position + 1 :] if row.kind == "message" and row.turn.role == "user"
    ]


def _first_text(paths: tuple[Path, ...]) -> str | None:
    """Return the text of the first of `paths` that can be read; None if none can.

    It is truncated at 64 KiB.
    """
    for path in paths:
        with contextlib.suppress(UserError):
            files = RootedDirectory(path.parent)
            if files.entry(path.name) is not None:
                return files.read(path.name, limit=_INSTRUCTION_BYTES).decode("utf-8", "replace")
    return None
