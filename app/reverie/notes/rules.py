"""The notes without a model: five sections filled from the transcript by fixed rules.

- Session Title: the session's title, where the section is empty.
- Current State: what was asked last, what was answered last, what is still open in the agent's list. Lines
  of this form are replaced, others stay.
- Files and Functions: each file that was changed, with how often.
- Errors & Corrections: each tool call that failed, and what the person put right (`corrections`, handed in).
- Worklog: one line for each turn, with its time.

Lines that these rules wrote are known by their form; the oldest of them go when a section is full. Everything
else in the notes stays as it is. A line with a secret is left out. Pure but for the draft.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from reverie.agent.account import Account
from reverie.agent.asking import EngineEnd
from reverie.agent.messages import ToolCall
from reverie.agent.tools import ToolOutcome
from reverie.agent.trace import Trace, TraceHead
from reverie.clock import Clock
from reverie.errors import StoreError
from reverie.notes.engine import NotesTask
from reverie.notes.sections import SECTION_TOKENS, parse_sections, rough_tokens
from reverie.notes.tool import EDIT, NotesDraft
from reverie.text.counts import some
from reverie.text.redact import find_secrets, redact
from reverie.transcripts.reading import Message

_LINE_CHARS = 240
_ROOM_TOKENS = SECTION_TOKENS - 200
_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_LISTS = frozenset({"TodoWrite"})
_STATE = re.compile(r"- (?:Asked last|Answered last|Open): ")
_FILE = re.compile(r"- `(?P<path>[^`]+)` \(changed (?P<times>\d+) times?\)$")
_FAILED = re.compile(r"- `[^`]+` failed: ")
_CORRECTED = re.compile(r"- Corrected: ")
_WORK = re.compile(r"- \d{4}-\d\d-\d\d \d\d:\d\d ")

Lines = Sequence[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """What the rules found: lines for each section, `files` path -> how often it was changed. `title`: the
    session's."""

    title: str = ""
    state: tuple[str, ...] = ()
    files: Mapping[str, int] | None = None
    errors: tuple[str, ...] = ()
    work: tuple[str, ...] = ()


class RulesNotes:
    """Implements `notes.engine.NotesEngine`. `corrections` gives what a person put right in a message."""

    name = "rules"

    def __init__(self, corrections: Callable[[str], Iterable[str]], clock: Clock) -> None:
        self._corrections = corrections
        self._clock = clock

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineEnd:
        if cancelled():
            return EngineEnd("cancelled")
        found = replace(
            found_in(task.messages, self._corrections), title="".join(_safe([_short(task.title)]))
        )
        refused: StoreError | None = None
        before = draft.text
        try:
            draft.edit(lambda text: filled(text, found))
        except StoreError as error:
            refused = error
        trace = self._trace(task, draft, refused, changed=draft.text != before)
        return EngineEnd("failed" if refused else "completed", refused, Account(trace=trace))

    def _trace(
        self, task: NotesTask, draft: NotesDraft, refused: StoreError | None, *, changed: bool
    ) -> Mapping[str, Any]:
        """What the rules did, in the shape of a model's trace: one edit."""
        trace = Trace(redact, clock=self._clock)
        trace.begin(self.name, "", ())
        if changed or refused is not None:
            trace.call_begins()
            words = "Edited." if refused is None else str(refused)
            trace.call_ends(
                ToolCall("call-1-1", EDIT, ""),
                {"file_path": task.path},
                ToolOutcome(words, is_error=refused is not None, wrote=refused is None),
            )
        trace.end("failed" if refused else "completed", None, refused)
        return trace.to_document(
            TraceHead(
                run_id=task.run_id,
                kind="notes",
                workspace_id=task.session_id,
                workspace_name=task.title,
                timeout_ms=task.timeout_ms,
                existing_memory=redact(draft.original),
            )
        )


def found_in(messages: Iterable[Message], corrections: Callable[[str], Iterable[str]]) -> Findings:
    """What there is to note in a conversation, oldest first."""
    files: dict[str, int] = {}
    errors: list[str] = []
    asked: list[Message] = []
    answers: dict[int, str] = {}
    todo: list[str] = []
    for message in messages:
        tool = message.tool
        if tool is not None:
            told = _arguments(tool.input)
            path = told.get("file_path") or told.get("notebook_path")
            if tool.is_error:
                errors.append(f"- `{_short(_call(tool.name, told), 80)}` failed: {_short(tool.output or '')}")
            elif tool.name in _EDITS and isinstance(path, str) and "`" not in path and "\n" not in path:
                files[path] = files.pop(path, 0) + 1
            elif tool.name in _LISTS:
                todo = list(_open_items(told.get("todos")))
        elif message.kind == "message" and message.speaker == "user":
            asked.append(message)
            errors += [f"- Corrected: {_short(said)}" for said in corrections(message.text)]
        elif message.kind == "message" and message.speaker == "assistant" and message.text.strip():
            answers[len(asked)] = message.text
    work = [
        f"- {_time(message.timestamp)} {_short(message.text, 110)} → {_short(answers[number], 110)}"
        for number, message in enumerate(asked, start=1)
        if message.timestamp is not None and number in answers
    ]
    state = [f"- Asked last: {_short(asked[-1].text)}"] if asked else []
    if answers:
        state.append(f"- Answered last: {_short(answers[max(answers)])}")
    state += [f"- Open: {_short(item)}" for item in todo]
    return Findings(state=_safe(state), files=files, errors=_safe(errors), work=_safe(work))


def filled(text: str, found: Findings) -> str:
    """The notes with what was found, in their own line ends."""
    newline = "\r\n" if "\r\n" in text else "\n"
    changes: dict[str, Callable[[Lines], Lines]] = {
        "Session Title": lambda lines: [found.title] if found.title and not lines else lines,
        "Current State": lambda lines: _replaced(lines, found.state, _STATE) if found.state else lines,
        "Files and Functions": lambda lines: _files(lines, found.files or {}),
        "Errors & Corrections": lambda lines: _added(lines, found.errors, _FAILED, _CORRECTED),
        "Worklog": lambda lines: _added(lines, found.work, _WORK),
    }
    done: set[str] = set()
    for section in parse_sections(text):
        name = section.name.removeprefix("# ").strip()
        if name in done or name not in changes:
            continue
        done.add(name)
        # Offsets move with each section that grows: look for it again.
        here = next(one for one in parse_sections(text) if one.name == section.name)
        before = [line.rstrip("\r") for line in here.body.split("\n")]
        while before and not before[-1].strip():
            before.pop()
        after = changes[name](before)
        if list(after) == before:
            continue
        tail = newline if here.end >= len(text) else newline * 2
        start = text[: here.start]
        gap = "" if not start or start.endswith("\n") else newline
        text = start + gap + newline.join(after) + tail + text[here.end :]
    return text


def _files(lines: Lines, files: Mapping[str, int]) -> Lines:
    """The counts are of what the transcript shows now, or what was noted before, whichever is more."""
    counts: dict[str, int] = {}
    rest: list[str] = []
    for line in lines:
        match = _FILE.match(line)
        if match is None:
            rest.append(line)
        else:
            counts[match["path"]] = int(match["times"])
    if not files:
        return lines
    for path, times in files.items():
        counts[path] = max(times, counts.pop(path, 0))
    told = [f"- `{path}` (changed {some(n, 'time')})" for path, n in counts.items()]
    return _within([*rest, *_safe(told)], _FILE)


def _replaced(lines: Lines, new: Lines, form: re.Pattern[str]) -> Lines:
    return [*(line for line in lines if not form.match(line)), *new]


def _added(lines: Lines, new: Lines, *forms: re.Pattern[str]) -> Lines:
    known = set(lines)
    fresh = [line for line in dict.fromkeys(new) if line not in known]
    return _within([*lines, *fresh], *forms) if fresh else lines


def _within(lines: Lines, *forms: re.Pattern[str]) -> Lines:
    """The lines without the oldest of ours, so that they fit into a section."""
    kept = list(lines)
    tokens = rough_tokens("\n".join(kept))
    for line in lines:
        if tokens <= _ROOM_TOKENS:
            break
        if any(form.match(line) for form in forms):
            kept.remove(line)
            tokens -= rough_tokens(line)
    return kept


def _open_items(todos: Any) -> Iterator[str]:
    for item in todos if isinstance(todos, list) else ():
        if (
            isinstance(item, dict)
            and item.get("status") != "completed"
            and isinstance(item.get("content"), str)
        ):
            yield item["content"]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _call(name: str, told: Mapping[str, Any]) -> str:
    about = next((told[key] for key in ("command", "file_path", "pattern", "url") if told.get(key)), "")
    return f"{name}: {about}".replace("`", "'") if about else name


def _short(text: str, most: int = _LINE_CHARS) -> str:
    """The first line that says something, without what would break a line of notes."""
    line = next((" ".join(part.split()) for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


def _safe(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if not find_secrets(line))


def _time(timestamp: int | None) -> str:
    return datetime.fromtimestamp((timestamp or 0) / 1000, UTC).strftime("%Y-%m-%d %H:%M")
