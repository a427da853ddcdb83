"""Transcripts of Claude Code: `<session id>.jsonl`, a JSON object a line (formats/claude-code.md section 8).

This module knows lines: which are records of the conversation, what a person typed, what one answer of the
model used, which branch is the current one. What they say to a person is `transcripts.claude_reading`'s
business. A value of any type may stand anywhere, and nothing here fails over it.

A record that was copied with its uuid counts once; the usage of an answer that is split over several lines
counts once. Threading, failure: as `transcripts.lines` says.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.errors import MendableError, mendable_from_os
from reverie.transcripts.codex import timestamp_ms
from reverie.transcripts.lines import decoded_row, opened_transcript, transcript_lines
from reverie.transcripts.reading import Reading
from reverie.transcripts.rows import rows_of

KINDS = frozenset({"user", "assistant", "system", "attachment"})
"""What belongs to the conversation."""
_SILENT = frozenset(
    {
        *("progress", "summary", "file-history-snapshot", "file-history-delta", "queue-operation"),
        *("last-prompt", "custom-title", "ai-title", "tag", "mode", "permission-mode", "agent-name"),
        *("agent-color", "agent-setting", "worktree-state", "pr-link", "attribution-snapshot"),
        *("content-replacement", "cost-state", "atis-latch", "tools-used"),
        *("api-request", "api-request-shape", "api-request-blob"),
    }
)
"""Kinds that are known to say nothing in a conversation; others are counted as unknown."""
SYNTHETIC = "<synthetic>"
"""The model's name where no model said it."""
INJECTED = (
    *("<command-name>", "<command-message>", "<command-args>", "<local-command-", "<system-reminder>"),
    *("<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "Caveat:"),
)
"""What a user message begins with that no person typed."""
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the conversation. Empty texts: it does not say; `timestamp` UTC ms."""

    kind: str
    row: dict[str, Any]
    uuid: str = ""
    parent: str = ""
    timestamp: int | None = None
    side: bool = False

    @property
    def message(self) -> dict[str, Any]:
        found = self.row.get("message")
        return found if isinstance(found, dict) else {}

    @property
    def response(self) -> str:
        """The answer of the model that this line is a part of; empty for anything else."""
        return text_of(self.message.get("id")) if self.kind == "assistant" else ""

    @property
    def synthetic(self) -> bool:
        return self.message.get("model") == SYNTHETIC

    @property
    def is_compaction(self) -> bool:
        return self.kind == "system" and self.row.get("subtype") == "compact_boundary"


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one answer."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    @property
    def context(self) -> int:
        """How much the model had before it with this answer at the end."""
        return self.input + self.output + self.cache_write + self.cache_read


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What the beginning and the end of a transcript say. `cwd` is the first one; `title` follows the
    agent's order: the person's, the generated one, the summary, else the first typed prompt."""

    cwd: str = ""
    title: str = ""
    first_prompt: str = ""
    git_branch: str = ""
    version: str = ""
    timestamp: int | None = None
    side: bool = False


def entries(path: Path, reading: Reading) -> Iterator[Entry]:
    """Every record of the conversation, each uuid once, in the order of the file. Raises
    `FileNotFoundError`, `Unavailable`."""
    seen: set[int] = set()
    for row in rows_of(path, reading):
        entry = entry_of(row)
        if entry is None:
            reading.unknown += row.get("type") not in _SILENT
        elif not entry.uuid or (key := hash(entry.uuid)) not in seen:
            if entry.uuid:
                seen.add(key)
            yield entry


def entry_of(row: dict[str, Any]) -> Entry | None:
    """The record of a decoded line; None for what is no part of the conversation."""
    kind = row.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        return None
    parent = text_of(row.get("parentUuid")) or text_of(row.get("logicalParentUuid"))
    when = timestamp_ms(row.get("timestamp"))
    return Entry(kind, row, text_of(row.get("uuid")), parent, when, row.get("isSidechain") is True)


def blocks_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """The content of a message, a plain string as one text block."""
    content = entry.message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def message_text(entry: Entry) -> str:
    """What a message says in words; pictures and documents are told by their kind."""
    return "\n".join(filter(None, map(block_text, blocks_of(entry))))


def block_text(block: dict[str, Any]) -> str:
    """The words of a text block; a picture or document is told by its kind; empty for any other."""
    kind = block.get("type")
    if kind == "text":
        return text_of(block.get("text"))
    return f"[{kind}]" if kind in ("image", "document") else ""


def result_text(content: Any) -> str:
    """What a tool answered: a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return content
    parts = [block_text(block) for block in content if isinstance(block, dict)] if _is_list(content) else []
    return "\n".join(filter(None, parts))


def is_typed(entry: Entry) -> bool:
    """Whether a person typed it, in the session itself."""
    if entry.kind != "user" or entry.side or _flag(entry, "isMeta") or _flag(entry, "isCompactSummary"):
        return False
    if any(block.get("type") == "tool_result" for block in blocks_of(entry)):
        return False
    text = message_text(entry).lstrip()
    return bool(text) and not text.startswith(INJECTED)


def tool_uses(entry: Entry) -> tuple[dict[str, Any], ...]:
    """The tool calls in a line of the model."""
    if entry.kind != "assistant":
        return ()
    return tuple(block for block in blocks_of(entry) if block.get("type") == "tool_use")


def usage_of(entry: Entry) -> Usage | None:
    """What the answer used, as this line says; None where no model said it, or nothing is told."""
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
    """The working directory that a transcript names first: from its first 8 KiB, or, where a long prompt
    stands before it, its first 256 KiB. Empty for none. Raises `OSError`, `Unavailable`."""
    with opened_transcript(path) as file:
        head = file.read(_FIRST_BYTES)
        found = _CWD.search(head)
        if found is None and len(head) == _FIRST_BYTES:
            found = _CWD.search(head + file.read(_HEAD_BYTES - _FIRST_BYTES))
    if found is None:
        return ""
    try:
        return text_of(json.loads(found[1].decode("utf-8", "replace")))
    except ValueError:
        return ""


def session_head(path: Path) -> SessionHead:
    """Read from the first 256 KiB and the last 64 KiB. Raises `FileNotFoundError`, `Unavailable`."""
    titles: dict[str, str] = {}
    said = dict.fromkeys(("cwd", "gitBranch", "version", "prompt"), "")
    started: int | None = None
    side = False
    for row in _rows(path, titles, lambda: bool(said["cwd"] and said["prompt"])):
        for name in ("cwd", "gitBranch", "version"):
            said[name] = said[name] or text_of(row.get(name))
        entry = entry_of(row)
        if entry is None:
            continue
        started = entry.timestamp if started is None else started
        side = side or entry.side
        if not said["prompt"] and is_typed(entry):
            said["prompt"] = message_text(entry)
    prompt = said["prompt"]
    title = next((titles[kind] for kind in _TITLES if titles.get(kind)), "") or first_line(prompt)
    return SessionHead(said["cwd"], title, prompt, said["gitBranch"], said["version"], started, side)


def title_by_hand(directory: Path) -> str:
    """The title that a person gave a session, from the session's own directory; empty for none."""
    try:
        with opened_transcript(directory / "custom-title.json") as file:
            row = decoded_row(file.read(_TITLE_FILE_BYTES))
    except (OSError, MendableError):
        return ""
    return first_line(text_of((row or {}).get("customTitle")))


def first_line(text: str) -> str:
    """The first line that says something; empty for none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def abandoned(path: Path) -> Callable[[Entry], bool]:
    """Tells, asked for each entry in the order of the file, whether a rewind left it behind: it is not on the
    way from the newest record up to the first one, and stands under a typed message that is not.

    Whatever came before a place where that way breaks off counts as current; so nothing is greyed for want
    of a parent. Raises `FileNotFoundError`, `Unavailable`.
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

    def is_abandoned(entry: Entry) -> bool:
        key = hash(entry.uuid)
        if not entry.uuid or key in current or places.get(key, 0) < end:
            return False
        gone = hash(entry.parent) in left if entry.parent else False
        if gone or is_typed(entry):
            left.add(key)
            return True
        return False

    return is_abandoned


def text_of(value: Any) -> str:
    """`value` where it is text, else empty."""
    return value if isinstance(value, str) else ""


def _links(line: bytes) -> tuple[str, str, bool]:
    """uuid, parent and whether it is a sub-agent's. Parsing every line would cost most of the time until the
    first message is there; where a name stands twice (in what a tool answered), it is needed."""
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
    """The rows of the head; the titles of head and tail go into `titles`, the last of each kind wins. Once it
    `is_enough`, only lines that may be titles are decoded: a record of today may be 60 KB of one line."""
    try:
        with opened_transcript(path) as file:
            head = file.read(_HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(len(head), size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise mendable_from_os(error, f"The transcript {path.name} was not read.") from error
    for place, lines in enumerate((head.split(b"\n"), tail.split(b"\n"))):
        for line in lines:
            if (place or is_enough()) and not _TITLE_MARK.search(line, 0, _TITLE_BYTES):
                continue
            row = decoded_row(line) if line.strip() else None
            if row is None:
                continue
            kind = text_of(row.get("type"))
            if kind in _TITLES and (title := first_line(text_of(row.get(_TITLES[kind])))):
                titles[kind] = title
            elif not place:
                yield row


def _flag(entry: Entry, name: str) -> bool:
    return entry.row.get(name) is True


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
