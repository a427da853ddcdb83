"""Threads of Codex as messages for a person (formats/codex.md sections 6 and 10).

Threading, failure: as in `agents.transcripts`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.codex.transcript import (
    TABLE,
    Finder,
    Record,
    RolloutHistory,
    Segment,
    content_text,
    history_of,
    is_typed,
    message_text,
    record_of,
    rollout_id_of,
    segment_records,
    thread_id_of,
)
from reverie.agents.reading import as_list, as_object, as_shown, as_text, objects_of, texts_of
from reverie.agents.tool_pairing import Pairing
from reverie.agents.transcript_lines import decoded_row, transcript_lines
from reverie.agents.transcripts import (
    Citation,
    Message,
    MessageKind,
    ReadStatistics,
    Speaker,
    ToolUse,
    shortened_message,
)
from reverie.values import Struct, field

_MARKS = (b"thread_rolled_back", b'"user"', b'"message"')
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_EVENTS: Mapping[str, str] = TABLE["events"]
_FIELDS = ("reason", "message", "num_turns")
_TOOL_ITEMS: Mapping[str, Sequence[str]] = TABLE["tool_items"]
"""The kinds of items in events that are tool calls: kind -> name of the tool, field of the request.

The name applies to an item without one.
"""
_OUTPUTS = ("aggregated_output", "stdout", "result", "error", "content_items", "results", "failure")
_FAILED = frozenset({"failed", "declined", "error", "errored"})
_KNOWN_CALLS = 10_000
"""The number of remembered calls; an event that belongs to one of them is not shown twice."""
_ANSWER_HEADS = ("Chunk ID:", "Wall time:", "Process exited", "Exit code:", "Command:")
_UNSUPPORTED = ("unsupported call: ", "unsupported custom tool call: ")
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_STILL_RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
_HEAD_CHARS = 400
"""Maximum length of the lines that Codex puts above a command's own output."""
_ABORTED = re.compile(r"^Wall time: [\d.]+ seconds\naborted by user\s*\Z")
_CITATION = re.compile(r"<oai-mem-citation>(.*?)(?:</oai-mem-citation>|\Z)", re.DOTALL)
_ENTRIES = re.compile(r"<citation_entries>(.*?)(?:</citation_entries>|\Z)", re.DOTALL)
_THREADS = re.compile(r"<(?:rollout|thread)_ids>(.*?)(?:</(?:rollout|thread)_ids>|\Z)", re.DOTALL)
_ENTRY = re.compile(r"^(?P<path>[^|]+?):(?P<first>\d{1,9})-(?P<last>\d{1,9})(?:\|note=\[(?P<note>.*)\])?$")


class ReadingPlan(Struct):
    """The result of the first pass over a thread."""

    events: bool = True
    """Whether messages are made from the event lines; False: from the response items."""
    undone: list[tuple[int, int]] = field(default_factory=list)
    """The ranges of lines (end exclusive) that were rolled back, numbered as in `is_undone`."""

    def is_undone(self, place: int) -> bool:
        """Return whether the record on line number `place` of the thread was rolled back later.

        Lines are counted from 1 through all files of the thread, without blank lines.
        """
        return any(start <= place < end for start, end in self.undone)


def nowhere(_rollout: str) -> Path | None:
    """Return None: the `Finder` for a transcript that does not refer to other files."""
    return None


class CodexReadable:
    """A `ReadableTranscript` of one thread, given by its newest rollout file.

    `find` returns the file of an earlier part by its id. Most rollouts hold everything twice, as a response
    item and as an event. Messages are made from response items; events add data that only they have: how a
    command ended, and which memory an answer used. If no response item is a message (in the oldest files),
    messages are made from events. The files are read twice, so that memory use is bounded by the longest
    line: first to determine whether events are used and which lines were rolled back, then to make the
    messages (formats/codex.md sections 6 and 10).
    """

    def __init__(self, path: Path, find: Finder = nowhere) -> None:
        self._path = path
        self._find = find

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        with contextlib.suppress(FileNotFoundError):
            history = history_of(self._path, self._find)
            yield from _MessageReader(history, reading).messages()


def planned(history: RolloutHistory) -> ReadingPlan:
    """Read the thread `history` once; return whether events become messages, and what was rolled back.

    Raises `FileNotFoundError`, `Unavailable`.
    """
    items, spoken = _Turns(), _Turns()
    events = True
    for number, raw in enumerate(_lines(history), start=1):
        # Parsing every line would take most of the time until the first message is shown.
        if not any(mark in raw for mark in (_MARKS if events else _MARKS[:2])):
            continue
        record = record_of(decoded_row(raw) or {})
        if record is None:
            continue
        kind = record.payload.get("type")
        if record.kind == "response_item" and kind == "message":
            events = False
            if is_typed(record.payload):
                items.typed.append(number)
        elif record.kind == "event_msg" and kind == "user_message":
            spoken.typed.append(number)
        elif record.kind == "event_msg" and kind == "thread_rolled_back":
            for turns in (items, spoken):
                turns.take_back(record.payload.get("num_turns"), number)
    return ReadingPlan(events, (spoken if events else items).undone)


def _lines(history: RolloutHistory) -> Iterator[bytes]:
    for segment in history.segments:
        yield from transcript_lines(segment.path, lambda: None, end=segment.end_bytes)


class _Turns(Struct):
    """The line numbers of typed messages that were not rolled back, and the ranges of rolled-back lines."""

    typed: list[int] = field(default_factory=list)
    undone: list[tuple[int, int]] = field(default_factory=list)

    def take_back(self, count: object, place: int) -> None:
        """Mark the last `count` turns before line `place` as rolled back; ignore an invalid `count`."""
        if isinstance(count, int) and count > 0 and self.typed:
            first = max(0, len(self.typed) - count)
            self.undone.append((self.typed[first], place))
            del self.typed[first:]


class _MessageReader:
    """A reader of one thread that makes its messages, after `planned` has read the thread once."""

    def __init__(self, history: RolloutHistory, reading: ReadStatistics) -> None:
        self._history = history
        self._reading = reading
        self._plan = planned(history)
        self._pairing = Pairing()
        self._calls: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        self._running: dict[str, None] = {}
        """The calls that got a first result while their command was still running."""
        self._spoken: dict[str, Message] = {}
        """Texts of events that no response item has repeated yet, by the agent's id."""
        self._typed_items = 0
        """Number of typed response items whose event was not read yet."""
        self._typed_events: list[str] = []
        """Texts of events whose response item was not read yet."""
        self._answer: Message | None = None
        """An answer that no event announced: it may be the text of a compaction that follows."""
        self._compacted = False
        self._timestamp: int | None = None
        self._undone = False

    def messages(self) -> Iterator[Message]:
        if self._history.problem:
            self._reading.problems.append(self._history.problem)
            yield from self._event(self._history.problem)
        earlier: Path | None = None
        for segment in self._history.segments:
            metas = 0
            for record in segment_records(segment, self._reading):
                self._timestamp = record.timestamp
                self._undone = self._plan.is_undone(self._reading.lines)
                if record.kind == "session_meta":
                    metas += 1
                    yield from self._beginning(record, segment, earlier, first=metas <= 1)
                else:
                    yield from self._record(record)
            earlier = segment.path
        yield from self._said()
        yield from self._pairing.rest()

    def _beginning(
        self, record: Record, segment: Segment, earlier: Path | None, *, first: bool
    ) -> Iterator[Message]:
        if not first:
            yield from self._event("The session was continued or forked here.")
            return
        thread = as_text(record.payload.get("id"))
        if earlier is not None and thread_id_of(earlier) != thread:
            origin = as_text(record.payload.get("forked_from_id")) or thread_id_of(earlier)
            yield from self._event(f"The thread was forked here from thread {origin}.")
        if rollout_id_of(segment.path) != thread_id_of(segment.path):  # only a revert makes such a file
            where = "to this point" if earlier is not None else "to its beginning"
            rest = earlier if earlier is not None and thread_id_of(earlier) == thread else None
            kept = f" The removed part is still in {rest.name}." if rest is not None else ""
            yield from self._event(f"The thread was reverted {where}.{kept}")

    def _record(self, record: Record) -> Iterator[Message]:
        payload, kind = record.payload, as_text(record.payload.get("type"))
        if record.kind == "response_item":
            yield from self._item(payload, kind)
        elif record.kind == "compacted":
            self._compacted = True
            text = as_text(payload.get("message")) or "The conversation was compacted."
            if self._answer is not None and self._answer.text.strip() in text:
                self._answer = None
            yield from self._put("system", "summary", text)
        elif record.kind == "event_msg":
            item = payload.get("item")
            if kind == "item_completed" and isinstance(item, dict):
                yield from self._completed(item, as_text(item.get("type")))
            elif kind in _EVENTS:
                values = {key: as_text(payload.get(key)) or str(payload.get(key, "")) for key in _FIELDS}
                yield from self._event(_EVENTS[kind].format(**values))
            elif self._plan.events and kind in ("user_message", "agent_message"):
                speaker: Speaker = "user" if kind == "user_message" else "assistant"
                yield from self._put(speaker, "message", as_text(payload.get("message")))
            elif self._plan.events and kind == "agent_reasoning":
                yield from self._put("assistant", "reasoning", as_text(payload.get("text")))

    # Response items

    def _item(self, item: dict[str, Any], kind: str) -> Iterator[Message]:
        item_id = as_text(item.get("id"))
        if kind == "message":
            yield from self._message(item, item_id)
        elif kind == "reasoning":
            event = self._spoken.pop(item_id, None)
            text = _reasoning(item) or (event.text if event is not None else "")
            yield from self._put("assistant", "reasoning", text)
        elif kind in _CALLS:
            call_id = as_text(item.get("call_id"))
            _remember(self._calls, call_id or item_id)
            waits = call_id if kind in ("function_call", "custom_tool_call", "local_shell_call") else ""
            yield from self._put("tool", "tool", "", tool=_tool(kind, item), call_id=waits)
        elif kind.endswith("_output"):
            call_id = as_text(item.get("call_id"))
            yield from self._said()
            output, failed = _output(item.get("output"))
            failed = failed or call_id in self._failed
            if _STILL_RUNNING.search(output[:_HEAD_CHARS]):
                _remember(self._running, call_id)
            late = self._made("tool", "tool", "", tool=ToolUse("?", "", output, failed))
            yield from self._pairing.result(call_id, late)
        elif kind == "agent_message":
            text = content_text(item.get("content")) or as_text(item.get("message"))
            yield from self._put("assistant", "message", text)
        elif kind in ("compaction", "compaction_summary", "context_compaction"):
            yield from self._event("The conversation was compacted.")

    def _message(self, item: dict[str, Any], item_id: str) -> Iterator[Message]:
        role, text = item.get("role"), message_text(item)
        if role == "assistant":
            event = self._spoken.pop(item_id, None)
            text, citations, threads = cited(text)
            if event is not None and event.citations and not citations:
                citations, threads = event.citations, event.cited_threads
            answer = self._made(
                "assistant", "message", text, id=item_id, citations=citations, cited_threads=threads
            )
            if event is not None:
                yield from self._put_message(answer)
                return
            yield from self._said()
            if answer.text or citations:
                self._answer = answer
        elif role == "user" and is_typed(item):
            if text in self._typed_events:
                self._typed_events.remove(text)
                return
            self._typed_items += 1
            yield from self._put("user", "message", text)
        else:
            yield from self._put("user" if role == "user" else "system", "context", text)

    # Items that an event says are complete

    def _completed(self, item: dict[str, Any], kind: str) -> Iterator[Message]:
        item_id = as_text(item.get("id"))
        if kind == "UserMessage":
            text = content_text(item.get("content"))
            if self._typed_items:
                self._typed_items -= 1
            else:
                self._typed_events = [*self._typed_events[-9:], text]
                yield from self._put("user", "message", text)
        elif kind == "AgentMessage":
            text, citations, threads = cited(content_text(item.get("content")))
            given = _citation(item.get("memory_citation"))
            citations, threads = given if given[0] or given[1] else (citations, threads)
            # Its response item, if it has one, follows at once.
            self._spoken[item_id] = self._made(
                "assistant", "message", text, id=item_id, citations=citations, cited_threads=threads
            )
        elif kind == "Reasoning":
            texts = [*texts_of(item.get("summary_text")), *texts_of(item.get("raw_content"))]
            self._spoken[item_id] = self._made("assistant", "reasoning", "\n\n".join(texts), id=item_id)
        elif kind == "ContextCompaction":
            if not self._compacted:
                yield from self._event("The conversation was compacted.")
            self._compacted = False
        elif kind in _TOOL_ITEMS:
            yield from self._tool_item(item, kind, item_id)
        elif kind == "Plan":
            yield from self._put("assistant", "message", as_text(item.get("text")))
        elif kind == "HookPrompt":
            texts = [
                content_text(part) if isinstance(part, list) else _shown(part)
                for part in as_list(item.get("fragments"))
            ]
            yield from self._put("user", "context", "\n".join(texts))
        elif kind in ("EnteredReviewMode", "ExitedReviewMode"):
            begins = kind == "EnteredReviewMode"
            about = _shown(item.get("review", item.get("review_output"))).strip()
            yield from self._event(f"A review {'started' if begins else 'ended'}. {about}".strip())
        elif kind == "SubAgentActivity":
            yield from self._event(
                f"Sub-agent {as_text(item.get('agent_path')) or as_text(item.get('agent_thread_id'))}: "
                f"{_shown(item.get('kind'))}"
            )
        else:
            self._reading.unknown += 1

    def _tool_item(self, item: dict[str, Any], kind: str, item_id: str) -> Iterator[Message]:
        """Yield the messages for `item`, a finished tool call that an event reports.

        A call without a response item becomes a message with its result, and so does a command that was still
        running when its response item was written. Any other call has a message already, made from its
        response item; here only what is new is added. A failure is marked in that message or, if it was
        yielded before, becomes a message of its own. Each sub-agent that the call started becomes a message.
        `kind` and `item_id`: the kind and the id of `item`.
        """
        failed = _item_failed(item)
        if item_id in self._calls and item_id not in self._running:
            if failed:
                _remember(self._failed, item_id)
                if not self._pairing.mark_failed(item_id):
                    command = _command(item) or _TOOL_ITEMS[kind][0]
                    code = item.get("exit_code")
                    ended = f"ended with exit code {code}" if isinstance(code, int) else "failed"
                    yield from self._event(f"The command {ended}: {command}")
            for agent in objects_of(item.get("receiver_agents")) if item.get("tool") == "spawn_agent" else ():
                name, role = as_text(agent.get("agent_nickname")), as_text(agent.get("agent_role"))
                about = f"{name} ({role})" if name and role else name or role
                told = f"Sub-agent {about} was started: thread {agent.get('thread_id')}."
                yield from self._event(" ".join(told.split()))
            return
        name, asked = _TOOL_ITEMS[kind]
        server, tool = as_text(item.get("server")), as_text(item.get("tool"))
        name = ".".join(part for part in (server, tool) if part) or name
        told = _command(item) if kind == "CommandExecution" else _shown(item.get(asked, item.get("action")))
        output = next((text for key in _OUTPUTS if (text := _shown(item.get(key)))), "")
        yield from self._put("tool", "tool", "", tool=ToolUse(name, told, output, failed))

    # Messages

    def _said(self) -> Iterator[Message]:
        """Yield the messages that were held back because a second record of the same text might follow.

        These are the last answer if no event came before it, and the texts of events for which no response
        item has followed. Called at the end of the transcript, and before a message that must come after
        these.
        """
        answer, self._answer = self._answer, None
        spoken, self._spoken = self._spoken, {}
        for message in (*((answer,) if answer is not None else ()), *spoken.values()):
            if message.text or message.citations:
                yield from self._pairing.put(message)

    def _event(self, text: str) -> Iterator[Message]:
        yield from self._put("system", "event", text)

    def _put(
        self, speaker: Speaker, kind: MessageKind, text: str, *, call_id: str = "", **more: Any
    ) -> Iterator[Message]:
        yield from self._put_message(self._made(speaker, kind, text, **more), call_id)

    def _put_message(self, message: Message, call_id: str = "") -> Iterator[Message]:
        if message.text or message.tool is not None or message.citations:
            yield from self._said()
            yield from self._pairing.put(message, call_id=call_id)

    def _made(self, speaker: Speaker, kind: MessageKind, text: str, **more: Any) -> Message:
        facts = {"timestamp": self._timestamp, "undone": self._undone, **more}
        return shortened_message(speaker, kind, text, **facts)


def _remember(calls: dict[str, None], call_id: str) -> None:
    """Add the id of a call to the known `calls`, unless it is empty; forget the oldest of too many."""
    if call_id:
        calls[call_id] = None
        if len(calls) > _KNOWN_CALLS:
            del calls[next(iter(calls))]


def cited(text: str) -> tuple[str, tuple[Citation, ...], tuple[str, ...]]:
    """Return an answer's text without memory citations, the citations in it, and the ids of cited threads."""
    if "<oai-mem-citation>" not in text:
        return text, (), ()
    citations: list[Citation] = []
    threads: list[str] = []
    for block in _CITATION.findall(text):
        for entries in _ENTRIES.findall(block):
            for line in entries.splitlines():
                found = _ENTRY.match(line.strip())
                if found:
                    first, last = int(found["first"]), int(found["last"])
                    citations.append(Citation(found["path"].strip(), first, last, found["note"] or ""))
        for ids in _THREADS.findall(block):
            threads += [line.strip() for line in ids.splitlines() if line.strip()]
    return _CITATION.sub("", text), tuple(citations), tuple(dict.fromkeys(threads))


def _citation(value: Any) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """Return the citations and the ids of cited threads in the value of a `memory_citation`."""
    told, found = as_object(value), []
    for entry in objects_of(told.get("entries")):
        if isinstance(entry.get("path"), str):
            first, last = _number(entry.get("lineStart")), _number(entry.get("lineEnd"))
            found.append(Citation(entry["path"], first, last, as_text(entry.get("note"))))
    return tuple(found), texts_of(told.get("rolloutIds"))


def _item_failed(item: dict[str, Any]) -> bool:
    code, status = item.get("exit_code"), item.get("status")
    if isinstance(code, int):
        return code != 0
    return item.get("success") is False or (isinstance(status, str) and status.lower() in _FAILED)


def _command(item: dict[str, Any]) -> str:
    """Return the command line of the command in `item`, without the shell around it."""
    words = item.get("command")
    if isinstance(words, list):
        texts = texts_of(words)
        return texts[2] if len(texts) == 3 and texts[1] in ("-c", "-lc") else " ".join(texts)
    return as_text(words)


def _reasoning(item: dict[str, Any]) -> str:
    texts = texts_of([part.get("text") for part in objects_of(item.get("summary"))])
    return "\n\n".join(texts) or content_text(item.get("content"))


def _tool(kind: str, item: dict[str, Any]) -> ToolUse:
    name = as_text(item.get("name")) or kind.removesuffix("_call").replace("local_", "")
    space = as_text(item.get("namespace"))
    told = item.get("arguments") if kind == "function_call" else item.get("input", item.get("action"))
    if isinstance(told, str):
        with contextlib.suppress(
            ValueError, RecursionError
        ):  # arguments that are not JSON are shown as they are
            told = json.loads(told)
    return ToolUse(f"{space}.{name}" if space else name, _shown(told))


def _output(value: Any) -> tuple[str, bool]:
    """Return the text of a tool's result, and whether the call failed.

    A result may be a string, content items, or an object with `success`.
    """
    failed = False
    if isinstance(value, dict):
        failed, value = value.get("success") is False, value.get("content")
    if isinstance(value, str):
        decoded: Any = None
        if value.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                decoded = json.loads(value)
        if isinstance(decoded, dict) and isinstance(decoded.get("output"), str):
            code = as_object(decoded.get("metadata")).get("exit_code")
            return decoded["output"], failed or (isinstance(code, int) and code != 0)
        return value, failed or _says_it_failed(value)
    return content_text(value), failed


def _says_it_failed(output: str) -> bool:
    """Return whether the result `output` of a call begins with Codex's own text about a failed call."""
    if not output.startswith(_ANSWER_HEADS):
        return output.startswith(_UNSUPPORTED)
    head = output.partition("\nOutput:\n")[0]
    code = _EXIT.search(head)
    return int(code[1]) != 0 if code else _ABORTED.match(output) is not None


def _shown(value: Any) -> str:
    return "" if value is None else as_shown(value)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
