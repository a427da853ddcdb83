"""Records of Claude Code's transcripts, `<session id>.jsonl`, one JSON object a line.

See formats/claude-code.md sections 8 and 12.1. Values may have any type; values of an unexpected type are
ignored, and no reader fails because of them. A record that was copied with its uuid counts once; so does the
usage of an answer that is split over several lines.

Threading, failure: as in `agents.transcripts`; a file that vanished is an empty transcript.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reverie.agents.codex.transcript import timestamp_ms
from reverie.agents.reading import as_object, as_text, objects_of
from reverie.agents.transcript_lines import (
    decoded_row,
    opened_transcript,
    reading_transcript,
    rows_of,
    transcript_lines,
)
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import UserError
from reverie.resources import resource_table
from reverie.values import Struct

KINDS = frozenset({"user", "assistant", "system", "attachment"})
"""Kinds of rows that belong to the conversation."""
_TABLE = resource_table("transcripts.toml")["claude"]
_SILENT = frozenset(_TABLE["silent"].split())
"""Kinds of rows that are known not to belong to a conversation; other kinds are counted as unknown."""
SYNTHETIC = "<synthetic>"
"""The model name of messages that no model wrote."""
INJECTED = tuple(_TABLE["injected"])
"""Beginnings of user messages that no person typed."""
_TAGS = tuple(each for each in INJECTED if each.startswith("<"))
_NOT_TYPED = ("recorded", "harness")
"""Sources of rows that no person typed."""
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]*)"')
_PARENT = re.compile(rb'"parentUuid"\s*:\s*(?:"([^"\\]*)"|null)')
_SIDE = re.compile(rb'"isSidechain"\s*:\s*true')
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\\n]|\\.)*")')
_FIRST_BYTES = 8 << 10
_HEAD_BYTES = 256 << 10
_TAIL_BYTES = 64 << 10
_TITLE_MARK = re.compile(rb"-title\"|\"summary\"")
_TITLE_BYTES = 300
_TITLE_FILE_BYTES = 64 << 10


class TranscriptEntry(Struct, frozen=True):
    """One record of the conversation, from one line of the transcript."""

    kind: str
    """The type of the record: one of `KINDS`, such as `user`."""
    row: dict[str, Any]
    """The decoded line."""
    uuid: str = ""
    """The id of the record; empty if missing."""
    parent: str = ""
    """The id of the record before it in the conversation; empty if missing."""
    timestamp: int | None = None
    """The time of the record (UTC ms); None if unknown."""
    side: bool = False
    """Whether the record belongs to a sub-agent."""

    @property
    def message(self) -> dict[str, Any]:
        return as_object(self.row.get("message"))

    @property
    def response(self) -> str:
        """The id of the model's answer to which this line belongs; empty for any other line."""
        return as_text(self.message.get("id")) if self.kind == "assistant" else ""

    @property
    def synthetic(self) -> bool:
        return self.message.get("model") == SYNTHETIC

    @property
    def is_compaction(self) -> bool:
        return self.kind == "system" and self.row.get("subtype") == "compact_boundary"


class Usage(Struct, frozen=True):
    """The numbers of tokens of one answer of the model."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    @property
    def context(self) -> int:
        """Total tokens of the context including this answer."""
        return self.input + self.output + self.cache_write + self.cache_read


class SessionHead(Struct, frozen=True):
    """Facts from the beginning and the end of a session's transcript. Missing texts are empty."""

    cwd: str = ""
    """The first working directory that the transcript names."""
    title: str = ""
    """The person's title, else the generated title, the summary, or the first line that a person typed."""


def entries(path: Path, reading: ReadStatistics) -> Iterator[TranscriptEntry]:
    """Yield every record of the conversation, each uuid once, in the order of the file.

    `reading`: the counts to which the lines are added. Raises `FileNotFoundError`, `Unavailable`.
    """
    seen: set[int] = set()
    for row in rows_of(path, reading):
        entry = entry_of(row)
        if entry is None:
            reading.unknown += row.get("type") not in _SILENT
        elif not entry.uuid or (key := hash(entry.uuid)) not in seen:
            if entry.uuid:
                seen.add(key)
            yield entry


def entry_of(row: dict[str, Any]) -> TranscriptEntry | None:
    """Return the record in `row`, a decoded line; None if it does not belong to the conversation."""
    kind = row.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        return None
    parent = as_text(row.get("parentUuid")) or as_text(row.get("logicalParentUuid"))
    when = timestamp_ms(row.get("timestamp"))
    return TranscriptEntry(kind, row, as_text(row.get("uuid")), parent, when, row.get("isSidechain") is True)


def blocks_of(entry: TranscriptEntry) -> Iterator[dict[str, Any]]:
    """Yield the content blocks of the message in `entry`; a plain string is one text block."""
    content = entry.message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from objects_of(content)


def message_text(entry: TranscriptEntry) -> str:
    """Return the text of the message in `entry`; pictures and documents are represented by their kind."""
    return "\n".join(filter(None, map(block_text, blocks_of(entry))))


def block_text(block: dict[str, Any]) -> str:
    """Return the text of a text block; `[image]` or `[document]` for one of these; else an empty string."""
    kind = block.get("type")
    if kind == "text":
        return as_text(block.get("text"))
    return f"[{kind}]" if kind in ("image", "document") else ""


def result_text(content: Any) -> str:
    """Return a tool's result as text; `content` may be a string, a list of blocks, or None."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(block_text, objects_of(content))))


def is_typed(entry: TranscriptEntry) -> bool:
    """Return whether a person typed the message in `entry`, and typed it in this session.

    Text that begins in a known way was inserted by the program. Current versions record the origin of a row
    (`rowSource`); with the origin "local" only text that begins with a tag counts as inserted.
    """
    source = entry.row.get("rowSource")
    if source in _NOT_TYPED:
        return False
    if entry.kind != "user" or entry.side or _flag(entry, "isMeta") or _flag(entry, "isCompactSummary"):
        return False
    if any(block.get("type") == "tool_result" for block in blocks_of(entry)):
        return False
    text = message_text(entry).lstrip()
    return bool(text) and not text.startswith(_TAGS if source == "local" else INJECTED)


def tool_uses(entry: TranscriptEntry) -> tuple[dict[str, Any], ...]:
    """Return the tool calls in an entry that the model wrote; empty for an entry of anyone else."""
    if entry.kind != "assistant":
        return ()
    return tuple(block for block in blocks_of(entry) if block.get("type") == "tool_use")


def usage_of(entry: TranscriptEntry) -> Usage | None:
    """Return the token usage of the answer in `entry`; None if there is no answer or no usage."""
    usage = entry.message.get("usage")
    if entry.kind != "assistant" or entry.synthetic or not isinstance(usage, dict):
        return None
    return Usage(
        _count(usage.get("input_tokens")),
        _count(usage.get("output_tokens")),
        _count(usage.get("cache_creation_input_tokens")),
        _count(usage.get("cache_read_input_tokens")),
    )


def first_cwd(path: Path) -> str:
    """Return the first working directory in a transcript; empty if there is none.

    Reads the first 8 KiB or, if a long prompt comes before the directory, the first 256 KiB. Raises
    `OSError`, `Unavailable`.
    """
    with opened_transcript(path) as file:
        head = file.read(_FIRST_BYTES)
        found = _CWD.search(head)
        if found is None and len(head) == _FIRST_BYTES:
            found = _CWD.search(head + file.read(_HEAD_BYTES - _FIRST_BYTES))
    if found is None:
        return ""
    try:
        return as_text(json.loads(found[1].decode("utf-8", "replace")))
    except ValueError:
        return ""


def session_head(path: Path) -> SessionHead:
    """Return the facts about a session in the first 256 KiB and the last 64 KiB of its transcript.

    Raises `FileNotFoundError`, `Unavailable`.
    """
    titles: dict[str, str] = {}
    said = {"cwd": "", "prompt": ""}
    for row in _rows(path, titles, lambda: all(said.values())):
        said["cwd"] = said["cwd"] or as_text(row.get("cwd"))
        entry = None if said["prompt"] else entry_of(row)
        if entry is not None and is_typed(entry):
            said["prompt"] = message_text(entry)
    title = next((titles[kind] for kind in _TITLES if titles.get(kind)), "") or first_line(said["prompt"])
    return SessionHead(said["cwd"], title)


def title_by_hand(directory: Path) -> str:
    """Return the title that a person gave a session, read from its directory; empty if there is none."""
    try:
        with opened_transcript(directory / "custom-title.json") as file:
            row = decoded_row(file.read(_TITLE_FILE_BYTES))
    except (OSError, UserError):
        return ""
    return first_line(as_text((row or {}).get("customTitle")))


def session_title(transcript: Path) -> str:
    """Return the title given by a person, or else the title in the transcript; empty if there is none."""
    by_hand = title_by_hand(transcript.with_suffix(""))
    if by_hand:
        return by_hand
    with contextlib.suppress(FileNotFoundError):  # it may be deleted at any moment
        return session_head(transcript).title
    return ""


def first_line(text: str) -> str:
    """Return the first line that is not blank; empty if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def abandoned(path: Path) -> Callable[[TranscriptEntry], bool]:
    """Return a function that returns whether a rewind abandoned an entry of the transcript `path`.

    Call the function on every entry, in the order of the file. Each entry names its parent. The last entry of
    the main thread, its parent, the parent of that entry and so on are current. Any other entry is abandoned
    if a person typed it or if its parent is abandoned. If an ancestor of the last entry is missing, entries
    before the oldest known ancestor are never abandoned, because it is unknown whether they are current.
    Raises `FileNotFoundError`, `Unavailable`.
    """
    parents: dict[int, int] = {}
    places: dict[int, int] = {}
    leaf = 0
    for number, line in enumerate(transcript_lines(path, lambda: None)):
        uuid, parent, side = _links(line)
        if uuid and hash(uuid) not in parents:
            parents[hash(uuid)], places[hash(uuid)] = hash(parent) if parent else 0, number
            leaf = leaf if side else hash(uuid)
    current: set[int] = set()
    end = 0
    while leaf in parents and leaf not in current:  # a cycle ends it
        current.add(leaf)
        end = places[leaf]
        leaf = parents[leaf]
    left: set[int] = set()

    def is_abandoned(entry: TranscriptEntry) -> bool:
        key = hash(entry.uuid)
        if not entry.uuid or key in current or places.get(key, 0) < end:
            return False
        gone = hash(entry.parent) in left if entry.parent else False
        if gone or is_typed(entry):
            left.add(key)
            return True
        return False

    return is_abandoned


def _links(line: bytes) -> tuple[str, str, bool]:
    """Return a line's uuid, its parent's uuid, and whether the line is a sub-agent's.

    The values are searched in the undecoded line, because decoding every line would take most of the time
    until the first message is shown. A line is only decoded if a key occurs twice (in a tool's result).
    """
    at = line.find(b'arentUuid"')  # of `logicalParentUuid` as well, which needs a closer look
    own = line.find(b'"uuid"')
    if at > 0 and line.find(b'arentUuid"', at + 1) < 0 and (own < 0 or line.find(b'"uuid"', own + 1) < 0):
        parent, uuid = _PARENT.match(line, at - 2), _UUID.match(line, max(own, 0))
        if parent is not None:
            side = _SIDE.match(line, max(line.find(b'"isSidechain"'), 0)) is not None
            name = uuid[1].decode("utf-8", "replace") if uuid else ""
            return name, (parent[1] or b"").decode("utf-8", "replace"), side
    entry = entry_of(decoded_row(line) or {})
    return ("", "", False) if entry is None else (entry.uuid, entry.parent, entry.side)


def _rows(path: Path, titles: dict[str, str], is_enough: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield the rows at the beginning of a transcript; store its titles in `titles`, by kind.

    Titles are at the beginning and the end; the last one of each kind wins. Once `is_enough` returns True,
    only lines that may be titles are decoded, because a record may be one line of 60 KB.
    """
    with reading_transcript(path) as file:
        head = file.read(_HEAD_BYTES)
        size = os.fstat(file.fileno()).st_size
        file.seek(max(len(head), size - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
    for place, lines in enumerate((head.split(b"\n"), tail.split(b"\n"))):
        for line in lines:
            if (place or is_enough()) and not _TITLE_MARK.search(line, 0, _TITLE_BYTES):
                continue
            row = decoded_row(line) if line.strip() else None
            if row is None:
                continue
            kind = as_text(row.get("type"))
            if kind in _TITLES and (title := first_line(as_text(row.get(_TITLES[kind])))):
                titles[kind] = title
            elif not place:
                yield row


def _flag(entry: TranscriptEntry, name: str) -> bool:
    return entry.row.get(name) is True


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
