"""The rules engine's part of session notes: findings in a conversation, and the lines made of them.

The rules fill five sections. They recognise the lines of earlier runs by their keys, not by their format,
because a person may write a line in the same format. They update these lines, and delete the oldest of them
when a section is full; all other lines stay. Lines with a secret are left out.

Threading: pure. Failure: none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from reverie.agents.reading import as_object, objects_of
from reverie.agents.transcripts import Message
from reverie.jobs.single_file.notes_sections import SECTION_TOKENS, parse_sections, rough_tokens
from reverie.text.redact import find_secrets
from reverie.text.summaries import some
from reverie.values import Struct

_LINE_CHARS = 240
_ROOM_TOKENS = SECTION_TOKENS - 200
_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_LISTS = frozenset({"TodoWrite"})
_FILE = re.compile(r"- `(?P<path>[^`]+)` \(changed (?P<times>\d+) times?\)$")

Lines = Sequence[str]
_IsOurs = Callable[[str], bool]


class Findings(Struct, frozen=True):
    """What the rules found in a conversation: a title, and lines for sections of the notes."""

    title: str = ""
    state: tuple[str, ...] = ()
    files: Mapping[str, int] | None = None
    """The number of changes of each file, by path; None if nothing is known about changes."""
    errors: tuple[str, ...] = ()
    work: tuple[str, ...] = ()


def found_in(messages: Iterable[Message], corrections: Callable[[str], Iterable[str]]) -> Findings:
    """Return what the rules find in a conversation, oldest message first.

    `corrections` yields the sentences of a message in which a person corrects the agent.
    """
    files: dict[str, int] = {}
    errors: list[str] = []
    asked: list[Message] = []
    answers: dict[int, str] = {}
    todo: list[str] = []
    for message in messages:
        tool = message.tool
        if tool is not None:
            arguments = _arguments(tool.input)
            path = arguments.get("file_path") or arguments.get("notebook_path")
            if tool.is_error:
                errors.append(
                    f"- `{shortened(_call(tool.name, arguments), 80)}` failed: {shortened(tool.output or '')}"
                )
            elif tool.name in _EDITS and isinstance(path, str) and "`" not in path and "\n" not in path:
                files[path] = files.pop(path, 0) + 1
            elif tool.name in _LISTS:
                todo = [
                    item["content"]
                    for item in objects_of(arguments.get("todos"))
                    if item.get("status") != "completed" and isinstance(item.get("content"), str)
                ]
        elif message.kind == "message" and message.speaker == "user":
            asked.append(message)
            errors += [f"- Corrected: {shortened(said)}" for said in corrections(message.text)]
        elif message.kind == "message" and message.speaker == "assistant" and message.text.strip():
            answers[len(asked)] = message.text
    work = [
        f"- {datetime.fromtimestamp(message.timestamp / 1000, UTC):%Y-%m-%d %H:%M} "
        f"{shortened(message.text, 110)} → {shortened(answers[number], 110)}"
        for number, message in enumerate(asked, start=1)
        if message.timestamp is not None and number in answers
    ]
    state = [f"- Asked last: {shortened(asked[-1].text)}"] if asked else []
    if answers:
        state.append(f"- Answered last: {shortened(answers[max(answers)])}")
    state += [f"- Open: {shortened(item)}" for item in todo]
    return Findings(state=safe(state), files=files, errors=safe(errors), work=safe(work))


def line_key(section: str, line: str) -> str:
    """Return the key by which a line of the rules is recognised; the text cannot be recovered from it."""
    return sha256(f"{section}\n{line}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def own_lines(before: str, after: str, ours: Collection[str]) -> frozenset[str]:
    """Return the keys of the lines in `after` that runs by rules wrote (see `line_key`).

    These are the keys in `ours` that are still present, and the lines that this run added to `before`.
    """
    old = _line_keys(before)
    return frozenset(key for key in _line_keys(after) if key not in old or key in ours)


def _line_keys(text: str) -> set[str]:
    return {
        line_key(section.name, line.rstrip("\r"))
        for section in parse_sections(text)
        for line in section.body.split("\n")
        if line.startswith("- ")
    }


def filled(text: str, found: Findings, ours: Collection[str] = ()) -> str:
    """Return the notes `text` with the findings written into their sections.

    `ours` are the keys of the lines that earlier runs wrote. The line endings are those of the notes.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    left = set(ours)
    name = ""

    def own(line: str) -> bool:
        # A second line with the same text is a person's copy.
        key = line_key(f"# {name}", line)
        known = key in left
        left.discard(key)
        return known

    changes: dict[str, Callable[[Lines], Lines]] = {
        "Session Title": lambda lines: [found.title] if found.title and not lines else lines,
        "Current State": lambda lines: _replaced(lines, found.state, own) if found.state else lines,
        "Files and Functions": lambda lines: _files(lines, found.files or {}, own),
        "Errors & Corrections": lambda lines: _added(lines, found.errors, own),
        "Worklog": lambda lines: _added(lines, found.work, own),
    }
    done: set[str] = set()
    for section in parse_sections(text):
        name = section.name.removeprefix("# ").strip()
        if name in done or name not in changes:
            continue
        done.add(name)
        # Find the section again, because earlier insertions moved the offsets.
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


def _files(lines: Lines, files: Mapping[str, int], is_ours: _IsOurs) -> Lines:
    """Return the lines of a section, updated with the number of changes of each file.

    A count is that of the transcript or of the previous notes, whichever is larger. If a person wrote a line
    in this format for a path, that line is not changed. `is_ours` returns True for a line of the rules.
    """
    if not files:
        return lines
    counts: dict[str, int] = {}
    rest: list[str] = []
    theirs: set[str] = set()
    for line in lines:
        match = _FILE.match(line)
        if match is not None and is_ours(line):
            counts[match["path"]] = int(match["times"])
        else:
            rest.append(line)
            theirs.update([match["path"]] if match is not None else [])
    for path, times in files.items():
        if path not in theirs:
            counts[path] = max(times, counts.pop(path, 0))
    noted = [f"- `{path}` (changed {some(n, 'time')})" for path, n in counts.items()]
    return _within(rest, safe(noted), lambda _line: False)


def _replaced(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return the lines that a person wrote, followed by `new`, without duplicates.

    The lines that the rules wrote earlier (`is_ours`) are dropped.
    """
    kept = [line for line in lines if not is_ours(line)]
    return [*kept, *(line for line in new if line not in kept)]


def _added(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return the lines, followed by the lines of `new` that are not among them."""
    known = set(lines)
    fresh = [line for line in dict.fromkeys(new) if line not in known]
    return _within(lines, fresh, is_ours) if fresh else lines


def _within(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return `lines` followed by `new`; if a section has no room, the oldest lines of the rules are dropped.

    `is_ours` returns True for a line of the rules.
    """
    every = [(line, is_ours(line)) for line in lines] + [(line, True) for line in new]
    excess = rough_tokens("\n".join(line for line, _ in every)) - _ROOM_TOKENS
    kept: list[str] = []
    for line, own in every:
        if own and excess > 0:
            excess -= rough_tokens(f"{line}\n")
        else:
            kept.append(line)
    return kept


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    about = next(
        (arguments[key] for key in ("command", "file_path", "pattern", "url") if arguments.get(key)), ""
    )
    return f"{name}: {about}".replace("`", "'") if about else name


def shortened(text: str, most: int = _LINE_CHARS) -> str:
    """Return the first line that is not blank, with white space collapsed, cut to `most` characters."""
    line = next((" ".join(part.split()) for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


def safe(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that contain no secret."""
    return tuple(line for line in lines if not find_secrets(line))
