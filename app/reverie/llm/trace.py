"""Writing traces: the record of an agent run as a document for people, and the files that hold it.

A `Trace` records while the loop runs, so that a run that ends by a bug has one too. Field names and the
values of `error` are those of formats/mux.md section 14; facts that mux does not know are under `reverie`
(`version` 1). Every text passes `clean` (the vault's `scrub`) when it is added and is cut at a limit, with a
note of its length; all texts together have a limit as well. Times are UTC milliseconds by the given clock,
durations are milliseconds by the monotonic clock.

Threading: a `Trace` belongs to one loop; files are written on any thread but the GUI's. Failure: `UserError`
for disk problems.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from reverie.agents.reading import as_list, objects_of
from reverie.clock import Clock, system_clock
from reverie.errors import Conflict, StoreError, UserError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, read_regular
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar, parse_object, stringify
from reverie.llm.provider import (
    AssistantMessage,
    Message,
    ModelTurn,
    TokenUsage,
    ToolCall,
    ToolOutcome,
    ToolResult,
    UserMessage,
)
from reverie.text.redact import redacted
from reverie.values import Struct, as_dict, field

AgentOutcome = Literal["completed", "step-limit", "time-limit", "output-limit", "cancelled", "failed"]

VERSION = 1
_TEXT_CHARS = 65_536
_TOTAL_CHARS = 8 << 20
_MARGIN_CHARS = 512
_LISTED_CALLS = 64
NO_OP_TOOL = "no_new_memories"


class TraceHead(Struct, frozen=True):
    """Facts about a run that the loop does not know. `existing_memory` has been through the vault."""

    run_id: str
    kind: str
    workspace_id: str = ""
    workspace_name: str = ""
    trigger_message_id: str = ""
    timeout_ms: int = 0
    existing_memory: str = ""
    cost_usd: Decimal | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class Trace:
    """The record of one `run_agent` call."""

    def __init__(
        self,
        clean: Callable[[str], str],
        *,
        clock: Clock = system_clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clean = clean
        self._clock = clock
        self._monotonic = monotonic
        self._room = _TOTAL_CHARS
        self._attempts: list[dict[str, Any]] = []
        self._head: dict[str, Any] = {"model": "", "system": "", "user": ""}
        self._started_at = clock()
        self._ended_at: int | None = None
        self._call_began: tuple[int, float] = (0, 0.0)
        self._step_began: tuple[int, float] = (self._started_at, monotonic())
        self.outcome: AgentOutcome | None = None
        self._usage: TokenUsage | None = None

    def begin(self, model: str, system: str, messages: Sequence[Message]) -> None:
        """Record the start of the run: the instructions and the conversation so far."""
        users = [message.text for message in messages if isinstance(message, UserMessage)]
        self._head = {
            "model": model,
            "system": self._text(system),
            "user": self._text(users[-1] if users else ""),
        }
        self.attempt(messages)

    def attempt(self, messages: Sequence[Message]) -> None:
        """Start a new attempt: the first one, or one after a reminder."""
        self._step_began = self._clock(), self._monotonic()
        self._attempts.append(
            {
                "attemptIndex": len(self._attempts) + 1,
                "messages": [self._message(message) for message in messages],
                "stepResults": [],
                "toolExecutions": [],
                "wrote": False,
                "noNewMemories": False,
                "aborted": False,
            }
        )

    def turn(self, turn: ModelTurn) -> None:
        """Record an answer of the model as a new step."""
        step: dict[str, Any] = {
            "text": self._text(turn.message.text),
            "toolCalls": self._calls(turn.message.tool_calls),
            "toolResults": [],
            "finishReason": turn.finish,
            "usage": _usage(turn.usage),
            "model": self._text(turn.model),
            "startedAt": self._step_began[0],
            "durationMs": round((self._monotonic() - self._step_began[1]) * 1000),
        }
        omitted = len(turn.message.tool_calls) - _LISTED_CALLS
        if omitted > 0:
            step["omittedToolCalls"] = omitted
        self._attempts[-1]["stepResults"].append(step)
        self._attempts[-1]["finishReason"] = turn.finish

    def call_begins(self) -> None:
        """Start the time of a tool call of the last turn."""
        self._call_began = self._clock(), self._monotonic()

    def call_ends(self, call: ToolCall, arguments: Any, outcome: ToolOutcome) -> None:
        """Record a finished tool call.

        `arguments`: decoded, with placeholders; the text as received if unusable.
        """
        attempt = self._attempts[-1]
        execution: dict[str, Any] = {
            "attemptIndex": attempt["attemptIndex"],
            "toolName": self._text(call.name),
            "toolCallId": call.id,
            "input": self._value(arguments),
            "startedAt": self._call_began[0],
            "durationMs": round((self._monotonic() - self._call_began[1]) * 1000),
        }
        success = not outcome.is_error
        execution["output"] = {
            "success": success,
            "output" if success else "error": self._text(outcome.content),
        }
        attempt["toolExecutions"].append(execution)
        attempt["wrote"] = attempt["wrote"] or outcome.wrote
        attempt["noNewMemories"] = attempt["noNewMemories"] or (success and call.name == NO_OP_TOOL)

    def result(self, result: ToolResult) -> None:
        """Record the result of a tool at the step that called it; only a limited number per step is kept."""
        results = self._attempts[-1]["stepResults"][-1]["toolResults"]
        if len(results) < _LISTED_CALLS:
            results.append(self._message(result))
        self._step_began = self._clock(), self._monotonic()

    def end(
        self, outcome: AgentOutcome, usage: TokenUsage | None, error: BaseException | None = None
    ) -> None:
        """Record the outcome. For a bug only its type is recorded, because its text may contain anything."""
        self.outcome, self._usage, self._ended_at = outcome, usage, self._clock()
        if not self._attempts:
            self.attempt(())
        attempt = self._attempts[-1]
        if outcome in ("cancelled", "time-limit"):
            attempt["aborted"] = True
            attempt["error"] = "AbortError (timeout)" if outcome == "time-limit" else "AbortError"
        elif error is not None:
            words = str(error) if isinstance(error, UserError) else type(error).__name__
            attempt["error"] = self._text(words)

    @property
    def wrote(self) -> bool:
        return any(attempt["wrote"] for attempt in self._attempts)

    def to_document(self, head: TraceHead) -> dict[str, Any]:
        """Return the trace as JSON data, also for a run that has not ended."""
        satisfied = self.wrote or any(attempt["noNewMemories"] for attempt in self._attempts)
        return {
            "schemaVersion": 1,
            "runStartedAt": self._started_at,
            "timeoutMs": head.timeout_ms,
            "workspaceId": head.workspace_id,
            "workspaceName": head.workspace_name,
            "triggerMessageId": head.trigger_message_id,
            "modelString": self._head["model"],
            "timedOut": self.outcome == "time-limit",
            "didWriteMemory": self.wrote,
            "satisfiedMemoryToolPolicy": satisfied,
            "systemPrompt": self._head["system"],
            "existingMemory": self._text(head.existing_memory),
            "userMessage": self._head["user"],
            "attempts": [dict(attempt) for attempt in self._attempts],
            "reverie": {
                **head.more,
                "version": VERSION,
                "runId": head.run_id,
                "kind": head.kind,
                "outcome": self.outcome,
                "endedAt": self._ended_at,
                "usage": _usage(self._usage),
                "costUsd": None if head.cost_usd is None else float(head.cost_usd),
            },
        }

    def _message(self, message: Message) -> dict[str, Any]:
        if isinstance(message, UserMessage):
            return {"role": "user", "content": self._text(message.text)}
        if isinstance(message, AssistantMessage):
            return {
                "role": "assistant",
                "content": self._text(message.text),
                "toolCalls": self._calls(message.tool_calls),
            }
        return {
            "role": "tool",
            "toolCallId": message.call_id,
            "toolName": self._text(message.name),
            "content": self._text(message.content),
            "isError": message.is_error,
        }

    def _calls(self, calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
        listed = list(calls)[:_LISTED_CALLS]
        return [
            {
                "toolCallId": call.id,
                "toolName": self._text(call.name),
                "input": self._text(call.arguments),
            }
            for call in listed
        ]

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value

    def _text(self, text: str) -> str:
        limit = min(_TEXT_CHARS, self._room)
        kept = self._clean(text[: limit + _MARGIN_CHARS])
        if len(text) > limit + _MARGIN_CHARS:
            # A secret that was cut in two is not recognised: drop the part that may be its first half.
            kept = kept[:-_MARGIN_CHARS]
        kept = kept[:limit]
        self._room -= len(kept)
        return f"{kept}… [{len(text):,} characters in all]" if len(text) > limit else kept


def _usage(usage: TokenUsage | None) -> dict[str, int] | None:
    return None if usage is None else as_dict(usage)


KEEP_COUNT = 500
KEEP_BYTES = 256 << 20
_NAME = re.compile(r"(?P<started>\d{1,16})-[A-Za-z0-9-]{1,64}\.json", re.ASCII)


class TraceStore:
    """The traces of one home, in `<data>/traces/<home id>/<run id>.json`.

    Files have mode 0600 in a directory of 0700 and are written atomically. Every text is redacted once more
    when it is saved, as a second safeguard. Each save prunes: it keeps the newest traces within the limits of
    number and size, and always the one just saved. A damaged trace is reported as such and not deleted for
    it; other files in the directory are left alone.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path_of(self, run_id: str) -> Path:
        """Return the path of the trace of a run, which need not exist. Raises `StoreError` for a bad id."""
        name = f"{run_id}.json"
        if not _NAME.fullmatch(name):
            raise StoreError(
                f"{run_id!r} is no run id.", next_step="List the runs to find it.", reason="missing"
            )
        return self._directory / name

    def save(self, run_id: str, document: Mapping[str, Any]) -> Path:
        """Write a trace (`Trace.to_document`), then prune; return its path.

        `run_id` may have a suffix (`-2`) if a run has several.
        """
        path = self.path_of(run_id)
        ensure_private(self._directory)
        atomic_write(path, stringify(redacted(dict(document))), mode=0o600)
        self.prune(always=path.name)
        return path

    def load(self, run_id: str) -> dict[str, Any]:
        """Return one trace. Raises `StoreError` if it does not exist or cannot be read."""
        path = self.path_of(run_id)
        try:
            return parse_object(read_regular(path))
        except FileNotFoundError:
            raise StoreError(
                f"There is no trace of run {run_id}.",
                cause="The run made none, or it was pruned.",
                next_step="List the runs to find another.",
                reason="missing",
            ) from None
        except OSError as error:
            raise user_error_from_os(error, f"The trace of run {run_id} was not read.") from error
        except ValueError as error:
            raise StoreError(
                f"The trace of run {run_id} is damaged.",
                cause=f"In {path.name}: {error}.",
                next_step=f"Look at {path}.",
                reason="damaged",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all traces, newest first."""
        return tuple(name.removesuffix(".json") for name, _ in self._files())

    def prune(
        self, *, keep_count: int = KEEP_COUNT, keep_bytes: int = KEEP_BYTES, always: str = ""
    ) -> tuple[str, ...]:
        """Remove the oldest traces beyond the limits, except the file named `always`; return their ids."""
        removed: list[str] = []
        kept, used = 0, 0
        for name, size in sorted(self._files(), key=lambda file: file[0] != always):
            if name == always or (kept < keep_count and used + size <= keep_bytes):
                kept, used = kept + 1, used + size
                continue
            # Another Reverie process may prune at the same time.
            with contextlib.suppress(FileNotFoundError):
                try:
                    (self._directory / name).unlink()
                except PermissionError as error:
                    raise user_error_from_os(error, f"The old trace {name} was not removed.") from error
            removed.append(name.removesuffix(".json"))
            keep_bytes = 0  # remove everything older than a removed one
        return tuple(removed)

    def _files(self) -> list[tuple[str, int]]:
        """Return name and size of every trace, newest first."""
        found: list[tuple[str, int]] = []
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        with contextlib.suppress(FileNotFoundError):
                            found.append((entry.name, entry.stat(follow_symlinks=False).st_size))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise user_error_from_os(error, "The traces were not listed.") from error
        return sorted(found, key=lambda file: _age_key(file[0]), reverse=True)


def _age_key(name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    return (int(match["started"]) if match else 0, name)


_OUTSIDE_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SAME_NAMES = 100


def dump_name(run_started_at: int, trigger_message_id: str) -> str:
    """Return the name of a dump, in the agent's own format."""
    return f"{run_started_at}_{_OUTSIDE_A_NAME.sub('_', trigger_message_id)}.json"


class _Written(Struct, frozen=True):
    rel: str
    sha256: str
    size: int


class Dumps:
    """The dumps of writer runs that Reverie writes into one home, whose directory is `root`.

    They are in the agent's own `debug_obj`, where its users expect them (formats/mux.md section 14). A dump
    is written once, redacted once more, and never changed. A ledger in Reverie's own directory, under a lock,
    lists the dumps that Reverie wrote; pruning removes a dump only if it is listed and its content has not
    changed. `require` raises if the home must not be written to.
    """

    def __init__(self, root: Path, ledger: Sidecar, require: Callable[[], None] = lambda: None) -> None:
        self._require = require
        self._root = root
        self._files = RootedDirectory(root)
        self._ledger = ledger

    def write(self, directory: Path, document: Mapping[str, Any]) -> Path:
        """Write one dump into `directory`, which lies below the home; return its path.

        Its name is built from the document.
        """
        self._require()
        data = stringify(redacted(dict(document)))
        name = dump_name(int(document["runStartedAt"]), str(document["triggerMessageId"]))
        rel = self._create(directory.relative_to(self._root).as_posix(), name, data)
        entry = as_dict(_Written(rel, hashlib.sha256(data).hexdigest(), len(data)))

        def add(ledger: dict[str, Any]) -> dict[str, Any]:
            return {**ledger, "dumps": [*as_list(ledger.get("dumps")), entry]}

        self._ledger.update(add)
        return self._root / rel

    def written(self) -> frozenset[Path]:
        """Return the dumps that the ledger lists as Reverie's."""
        return frozenset(self._root / item.rel for item in _listed(self._ledger.read().data))

    def prune(self, *, keep_count: int, keep_bytes: int) -> tuple[Path, ...]:
        """Remove the oldest of Reverie's own dumps beyond the limits and return them; the newest stays."""
        self._require()
        kept, used = 0, 0
        doomed: list[_Written] = []
        for item in reversed(_listed(self._ledger.read().data)):
            used += item.size
            if not kept or (kept < keep_count and used <= keep_bytes):
                kept += 1
            else:
                doomed.append(item)
        if not doomed:
            return ()
        removed = tuple(self._root / item.rel for item in doomed if self._remove(item))
        gone = {item.rel for item in doomed}

        def forget(ledger: dict[str, Any]) -> dict[str, Any]:
            left = [item for item in _listed(ledger) if item.rel not in gone]
            return {**ledger, "dumps": [as_dict(item) for item in left]}

        self._ledger.update(forget)
        return removed

    def _create(self, directory: str, name: str, data: bytes) -> str:
        stem = name.removesuffix(".json")
        for number in range(1, _SAME_NAMES):
            rel = f"{directory}/{name}" if number == 1 else f"{directory}/{stem}-{number}.json"
            try:
                self._files.write(rel, data, create_only=True, mode=0o600)
            except Conflict:
                continue
            return rel
        raise StoreError(f"The dump {name} was not written.", cause="Its name is taken, many times over.")

    def _remove(self, item: _Written) -> bool:
        """Remove a dump; return False if it was changed, is missing or cannot be reached.

        It leaves the ledger in any case.
        """
        try:
            data = self._files.read(item.rel)
            if hashlib.sha256(data).hexdigest() != item.sha256:
                return False
            self._files.remove(item.rel)
        except UserError:
            return False  # missing already, or out of reach: not worth an error
        return True


def _listed(ledger: Mapping[str, Any]) -> list[_Written]:
    """Return the entries of a ledger, oldest first, without invalid ones."""
    return [
        _Written(item["rel"], item["sha256"], item["size"])
        for item in objects_of(ledger.get("dumps"))
        if isinstance(item.get("rel"), str)
        and isinstance(item.get("sha256"), str)
        and isinstance(item.get("size"), int)
    ]
