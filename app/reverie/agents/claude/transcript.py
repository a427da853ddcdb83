"""Transcripts of Claude Code, `<session id>.jsonl`, one JSON object a line.

They are read as records, as counts for session notes, as messages for a person, and for the attachments of
the session (formats/claude-code.md sections 8 and 12.1).

Values may have any type, and no reader here fails over it; one of another shape is ignored. A record that was
copied with its uuid counts once; so does the usage of an answer that is split over several lines.

Attachments are the instruction files and the index that the agent loaded, the memories it recalled, and the
parts of the model's setup. `recorded` reads one transcript for the present context of the session. The
program records whole files. A list without `changed` holds everything that is loaded and replaces earlier
lists (a start, a compaction). One with `changed` (a resumed session) holds only files that are new or differ,
and names removed ones in `removed`. Only lines that name one of these attachments are decoded, and at most
`MOST_BYTES` of a transcript are read.

Threading, failure: as `agents.transcripts` says; a file that vanished is an empty transcript.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.codex.transcript import timestamp_ms
from reverie.agents.reading import as_list, as_object, as_shown, as_text, objects_of, texts_of
from reverie.agents.transcripts import (
    LINE_BYTES,
    Message,
    MessageKind,
    Pairing,
    ReadStatistics,
    Speaker,
    ToolUse,
    decoded_row,
    opened_transcript,
    reading_transcript,
    rows_of,
    shortened,
    transcript_lines,
)
from reverie.errors import UserError
from reverie.resources import resource_table
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, field, replace

INSTRUCTIONS = "instructions"
RECALLED = "relevant_memories"
NESTED = "nested_memory"
AUTO_MEMORY = "AutoMem"
"""The kind of a loaded file that is the index of the project's memory."""
RECALL_BYTES = 4096
"""Maximum size of a recalled memory that reaches the model."""
MOST_BYTES = 64 << 20
"""Maximum size of one transcript that `recorded` reads; beyond it the record counts as incomplete."""

SET_UP: Mapping[str, str] = resource_table("transcripts.toml")["claude"]["set_up"]
"""The parts of the agent's setup in words, by the attachment that records them."""
QUIET = frozenset({"prompt_snapshot", "silent_turn_reminder"})
"""Attachments without content for a reader: the program's own prompt and tools, reminders to the model."""


class LoadedFile(Struct, frozen=True):
    """One file as the program loaded it."""

    path: str
    kind: str
    """`Managed`, `User`, `Project`, `Local` or `AutoMem`; empty where the record has none."""
    text: str


class Instructions(Struct, frozen=True):
    """One `instructions` attachment."""

    files: tuple[LoadedFile, ...]
    """In the order in which the model gets them."""
    changed: bool = False
    """Whether these are only the files that are new or differ."""
    removed: tuple[str, ...] = ()
    """With `changed`: the files that are no longer loaded."""


class Recalled(Struct, frozen=True):
    """One memory that the program chose for a prompt and put before the model."""

    path: str
    text: str


class LoadedContext(Struct):
    """The recorded context of one session, at the end of its transcript."""

    files: dict[str, LoadedFile] = field(default_factory=dict)
    """The files that the session has loaded, in order, by path."""
    at: int | None = None
    """When the last list was recorded, UTC ms."""
    lists: int = 0
    """Number of recorded lists; 0: this version of the program records none, or no prompt was sent yet."""
    recalled: dict[str, int] = field(default_factory=dict)
    """Number of recalls of each memory, by path."""
    nested: tuple[str, ...] = ()
    """Files of subdirectories that were loaded when the agent entered them."""
    complete: bool = True
    """False where the transcript is too large, so that its end was not read."""

    @property
    def loads_index(self) -> bool:
        """Whether the index of the project's memory is among the loaded files."""
        return any(each.kind == AUTO_MEMORY for each in self.files.values())

    def take(self, attachment: Mapping[str, Any], at: int | None) -> None:
        """Apply one attachment."""
        instructions = instructions_in(attachment)
        if instructions is not None:
            self.lists += 1
            self.at = at if at is not None else self.at
            if not instructions.changed:
                self.files.clear()
            for path in instructions.removed:
                self.files.pop(path, None)
            # A known file keeps its place and gets the new text.
            self.files.update((each.path, each) for each in instructions.files)
        for memory in recalled_in(attachment):
            self.recalled[memory.path] = self.recalled.get(memory.path, 0) + 1
        path = nested_in(attachment)
        if path and path not in self.nested:
            self.nested = (*self.nested, path)


def instructions_in(attachment: Mapping[str, Any]) -> Instructions | None:
    """Return the instructions that an attachment records; None for any other attachment."""
    if attachment.get("type") != INSTRUCTIONS:
        return None
    return Instructions(
        tuple(_files(attachment.get("files"))),
        attachment.get("changed") is True,
        texts_of(attachment.get("removed")),
    )


def recalled_in(attachment: Mapping[str, Any]) -> tuple[Recalled, ...]:
    """Return the memories that an attachment recalls; none for any other attachment."""
    if attachment.get("type") != RECALLED:
        return ()
    return tuple(Recalled(each.path, each.text) for each in _files(attachment.get("memories")))


def nested_in(attachment: Mapping[str, Any]) -> str:
    """Return the file of a subdirectory that an attachment loads; empty for any other attachment."""
    return as_text(attachment.get("path")) if attachment.get("type") == NESTED else ""


def recorded(path: Path) -> LoadedContext:
    """Read the recorded context from a transcript.

    Raises `FileNotFoundError`, `Unavailable`.
    """
    found = LoadedContext()
    with reading_transcript(path) as file:
        found.complete = os.fstat(file.fileno()).st_size <= MOST_BYTES
        left = MOST_BYTES
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            if not _may_count(line):
                continue
            row = decoded_row(line) or {}
            attachment = row.get("attachment")
            own = row.get("type") == "attachment" and row.get("isSidechain") is not True
            if own and isinstance(attachment, dict):
                found.take(attachment, timestamp_ms(row.get("timestamp")))
    return found


_MARKS = tuple(f'"{kind}"'.encode() for kind in (INSTRUCTIONS, RECALLED, NESTED))


def _may_count(line: bytes) -> bool:
    """Return whether a line may hold one of the attachments; most lines do not, and some are very long."""
    head = line[:1000]
    return b'"attachment"' in head and any(mark in head for mark in _MARKS)


def _files(value: object) -> Iterator[LoadedFile]:
    for each in as_list(value):
        match each:
            case {"path": str(path), "content": str(text)}:
                yield LoadedFile(path, as_text(each.get("type")), text)


def sentence_of(attachment: Mapping[str, Any], cwd: str, config: str = "") -> str:
    """Describe an attachment with files in one sentence with their names.

    Names are relative to `cwd` where they lie below it. `config`: the agent's home. Empty for any other
    attachment.
    """
    instructions = instructions_in(attachment)
    if instructions is not None:
        loaded = _names((each.path for each in instructions.files), cwd, config)
        gone = _names(instructions.removed, cwd, config)
        if not instructions.changed:
            return f"Loaded into the context: {loaded}." if loaded else "No instructions were loaded."
        parts = [f"Loaded anew, as they changed: {loaded}." if loaded else ""]
        parts.append(f"No longer loaded: {gone}." if gone else "")
        return " ".join(filter(None, parts))
    memories = recalled_in(attachment)
    if memories:
        return f"Recalled from memory: {_names((each.path for each in memories), cwd, config)}."
    nested = nested_in(attachment)
    return f"Loaded for the files at hand: {_names([nested], cwd, config)}." if nested else ""


def _names(paths: Iterable[str], cwd: str, config: str) -> str:
    return ", ".join(_name(path, cwd, config) for path in paths)


def _name(path: str, cwd: str, config: str) -> str:
    """Return a file's name for a sentence: relative to the working directory, or enough to be unique."""
    if cwd and path.startswith(f"{cwd.rstrip('/')}/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    parts = path.replace("\\", "/").split("/")
    if "memory" in parts[:-1]:
        return "/".join(parts[parts.index("memory") :])
    if config.endswith("/.claude") and path.startswith(f"{config}/"):
        return f"~/.claude/{path[len(config) + 1 :]}"
    return path


KINDS = frozenset({"user", "assistant", "system", "attachment"})
"""Kinds of rows that belong to the conversation."""
_TABLE = resource_table("transcripts.toml")["claude"]
_SILENT = frozenset(_TABLE["silent"].split())
"""Kinds that are known to be no part of a conversation; others are counted as unknown."""
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
    """One record of the conversation. Missing texts are empty; `timestamp` UTC ms."""

    kind: str
    row: dict[str, Any]
    uuid: str = ""
    parent: str = ""
    timestamp: int | None = None
    side: bool = False

    @property
    def message(self) -> dict[str, Any]:
        return as_object(self.row.get("message"))

    @property
    def response(self) -> str:
        """The id of the model's answer that this line is a part of; empty for anything else."""
        return as_text(self.message.get("id")) if self.kind == "assistant" else ""

    @property
    def synthetic(self) -> bool:
        return self.message.get("model") == SYNTHETIC

    @property
    def is_compaction(self) -> bool:
        return self.kind == "system" and self.row.get("subtype") == "compact_boundary"


class Usage(Struct, frozen=True):
    """The tokens of one answer."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    @property
    def context(self) -> int:
        """Total tokens of the context including this answer."""
        return self.input + self.output + self.cache_write + self.cache_read


class SessionHead(Struct, frozen=True):
    """Facts from the beginning and the end of a transcript.

    `cwd` is the first one; `title` follows the agent's order: the person's, the generated one, the summary,
    or else the first typed prompt.
    """

    cwd: str = ""
    title: str = ""
    first_prompt: str = ""
    git_branch: str = ""
    version: str = ""
    timestamp: int | None = None
    side: bool = False


def entries(path: Path, reading: ReadStatistics) -> Iterator[TranscriptEntry]:
    """Yield every record of the conversation, each uuid once, in the order of the file.

    Raises `FileNotFoundError`, `Unavailable`.
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
    """Return the record of a decoded line; None for one outside of the conversation."""
    kind = row.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        return None
    parent = as_text(row.get("parentUuid")) or as_text(row.get("logicalParentUuid"))
    when = timestamp_ms(row.get("timestamp"))
    return TranscriptEntry(kind, row, as_text(row.get("uuid")), parent, when, row.get("isSidechain") is True)


def blocks_of(entry: TranscriptEntry) -> Iterator[dict[str, Any]]:
    """Yield the content blocks of a message; a plain string is one text block."""
    content = entry.message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from objects_of(content)


def message_text(entry: TranscriptEntry) -> str:
    """Return the words of a message; pictures and documents are named by their kind."""
    return "\n".join(filter(None, map(block_text, blocks_of(entry))))


def block_text(block: dict[str, Any]) -> str:
    """Return the words of a text block, the kind of a picture or document, or empty."""
    kind = block.get("type")
    if kind == "text":
        return as_text(block.get("text"))
    return f"[{kind}]" if kind in ("image", "document") else ""


def result_text(content: Any) -> str:
    """Return the answer of a tool as text; it may be a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(block_text, objects_of(content))))


def is_typed(entry: TranscriptEntry) -> bool:
    """Return whether a person typed the record, in the session itself.

    Today's programs record the origin (`rowSource`); in their local rows only the tags count that their
    commands leave.
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
    """Return the tool calls in a line of the model."""
    if entry.kind != "assistant":
        return ()
    return tuple(block for block in blocks_of(entry) if block.get("type") == "tool_use")


def usage_of(entry: TranscriptEntry) -> Usage | None:
    """Return the usage of an answer in this line; None where no model answered, or none is given."""
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
    """Return the first working directory in a transcript; empty for none.

    Reads the first 8 KiB, or, where a long prompt comes before it, the first 256 KiB. Raises `OSError`,
    `Unavailable`.
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
    """Read a session's facts from the first 256 KiB and the last 64 KiB of its transcript.

    Raises `FileNotFoundError`, `Unavailable`.
    """
    titles: dict[str, str] = {}
    said = dict.fromkeys(("cwd", "gitBranch", "version", "prompt"), "")
    started: int | None = None
    side = False
    for row in _rows(path, titles, lambda: bool(said["cwd"] and said["prompt"])):
        for name in ("cwd", "gitBranch", "version"):
            said[name] = said[name] or as_text(row.get(name))
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
    """Return the title that a person gave a session, from its own directory; empty for none."""
    try:
        with opened_transcript(directory / "custom-title.json") as file:
            row = decoded_row(file.read(_TITLE_FILE_BYTES))
    except (OSError, UserError):
        return ""
    return first_line(as_text((row or {}).get("customTitle")))


def session_title(transcript: Path) -> str:
    """Return the title by hand, or else the transcript's; empty for none."""
    by_hand = title_by_hand(transcript.with_suffix(""))
    if by_hand:
        return by_hand
    with contextlib.suppress(FileNotFoundError):  # it may be deleted at any moment
        return session_head(transcript).title
    return ""


def first_line(text: str) -> str:
    """Return the first line that is not blank; empty for none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def abandoned(path: Path) -> Callable[[TranscriptEntry], bool]:
    """Return a function that tells whether a rewind abandoned an entry; call it for each, in file order.

    An entry is abandoned if it is not on the path from the newest record up to the first one, and is below a
    typed message that is not on it either. Entries before a place where that path breaks off count as
    current, so that nothing is greyed out for lack of a parent. Raises `FileNotFoundError`, `Unavailable`.
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
    """Return uuid, parent and whether a line is a sub-agent's.

    Parsing every line would take most of the time until the first message is shown; it is done only where a
    name occurs twice (in a tool's answer).
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
    """Yield the rows of the head, and store the titles of head and tail in `titles`.

    The last title of each kind wins. Once it `is_enough`, only lines that may be titles are decoded, since a
    record may be one line of 60 KB.
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


# Counts for the thresholds of session notes: read once, then only what was added. Only the main thread
# counts: sub-agents and what no model said are skipped. A file that was replaced or became shorter is read
# again.


class SessionFacts(Struct):
    """Counts for the thresholds of session notes.

    Only the main thread counts: sub-agents and messages that no model wrote are skipped. `messages` of people
    and the model; `context_tokens` the whole context with the last answer; `calls_tools`: the last answer
    asks for tools, so the model is in the middle of its work. `cwd`: where the session began.
    """

    messages: int = 0
    context_tokens: int = 0
    last_uuid: str = ""
    calls_tools: bool = False
    cwd: str = ""
    tool_calls: int = 0
    _after: dict[str, int] = field(default_factory=dict)
    _answer: str = ""
    _estimated: int = 0
    _counted: bool = False

    def tool_calls_since(self, uuid: str | None) -> int:
        """Return the number of tool calls after this message; None: all; 0 for a message that is missing."""
        if uuid is None:
            return self.tool_calls
        before = self._after.get(uuid)
        return 0 if before is None else self.tool_calls - before

    def take(self, entry: TranscriptEntry) -> None:
        """Count one record, unless a copy of it was counted already."""
        if entry.side or entry.kind not in ("user", "assistant") or entry.uuid in self._after:
            return
        if not self.cwd and isinstance(cwd := entry.row.get("cwd"), str):
            self.cwd = cwd
        calls = len(tool_uses(entry))
        self.messages += 1
        self.tool_calls += calls
        self.last_uuid = entry.uuid or self.last_uuid
        if entry.uuid:
            self._after[entry.uuid] = self.tool_calls
        self._measure(entry)
        if entry.kind == "assistant":
            waits = entry.message.get("stop_reason") == "tool_use" or calls > 0
            same = bool(entry.response) and entry.response == self._answer
            self.calls_tools = waits or (same and self.calls_tools)
            self._answer = entry.response

    def _measure(self, entry: TranscriptEntry) -> None:
        usage = usage_of(entry)
        if usage is not None and usage.context:
            self.context_tokens, self._counted = usage.context, True
        elif not self._counted:  # a service that does not count tokens: estimate them from the text
            self._estimated += estimate_tokens(message_text(entry))
            self.context_tokens = self._estimated


class SessionScan:
    """An incremental reader of one transcript.

    Later calls read only what was added. A file that was replaced or became shorter is read again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: tuple[int, int] = (0, 0)
        self._offset = 0
        self._facts = SessionFacts()

    def update(self) -> SessionFacts:
        """Read what was added since the last call and return the current counts."""
        with reading_transcript(self._path) as file:
            status = os.fstat(file.fileno())
            place = (status.st_dev, status.st_ino)
            if place != self._place or status.st_size < self._offset:
                self._place, self._offset, self._facts = place, 0, SessionFacts()
            file.seek(self._offset)
            while line := file.readline(LINE_BYTES):
                whole = line.endswith(b"\n")
                if not whole and len(line) < LINE_BYTES and decoded_row(line) is None:
                    break  # still being written
                row = decoded_row(line) if line.strip() else None
                entry = None if row is None else entry_of(row)
                if entry is not None:
                    self._facts.take(entry)
                self._offset += len(line)
        return self._facts


# The transcript as a person reads it (section 8). One answer of the model takes several lines and becomes
# one message; what nobody typed is `context`, a compaction an event, what a sub-agent said `side`, what a
# rewind left behind `undone`. Two passes: the first finds the current branch, the second makes the
# messages.


_QUIET = frozenset({"turn_duration", "stop_hook_summary", "microcompact_boundary", "away_summary"})
"""System records without content for a reader of the conversation."""


_SET_UP_WITH = "What the agent was set up with: "


class ClaudeReadable:
    """Implements `agents.transcripts.ReadableTranscript` for one transcript file, including a sub-agent's.

    One answer of the model takes several lines and becomes one message; text that nobody typed is `context`,
    a compaction an event, a sub-agent's text `side`, text abandoned by a rewind `undone` (section 8). Two
    passes: the first finds the current branch, the second makes the messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        with contextlib.suppress(FileNotFoundError):
            is_abandoned = abandoned(self._path)
            makes = _Messages(_config_of(self._path))
            for entry in entries(self._path, reading):
                yield from makes.of(entry, undone=is_abandoned(entry))
            yield from makes.rest()


def _config_of(path: Path) -> str:
    """Return the agent's home that a transcript lies in; empty for none."""
    above = next((each.parent for each in path.parents if each.name == "projects"), None)
    return "" if above is None else str(above)


class _Messages:
    """A converter of entries into messages, in order. The words of an answer wait for the rest of it."""

    def __init__(self, config: str) -> None:
        self._config = config
        self._pairing = Pairing()
        self._words: Message | None = None
        self._forked = False
        self._set_up: Message | None = None
        self._loaded: list[Message] = []

    def of(self, entry: TranscriptEntry, *, undone: bool) -> Iterator[Message]:
        words = self._words
        if words is not None and (entry.kind != "assistant" or words.id != entry.response):
            yield from self._flush()
        about = entry.row.get("attachment") if entry.kind == "attachment" else None
        if isinstance(about, dict) and self._is_attached(entry, about, undone):
            return
        yield from self._flush_attached()
        yield from self._fork(entry)
        if entry.kind == "assistant":
            yield from self._answer(entry, undone)
        elif entry.kind == "user":
            yield from self._user(entry, undone)
        else:
            kind, text = _said_by_system(entry)
            yield from self._put(_message(entry, "system", kind, text, undone))

    def rest(self) -> Iterator[Message]:
        yield from self._flush()
        yield from self._flush_attached()
        yield from self._pairing.rest()

    def _is_attached(self, entry: TranscriptEntry, about: dict[str, Any], undone: bool) -> bool:
        """Store an attachment of the program; return whether it was one.

        It is combined with the attachments beside it.
        """
        kind = as_text(about.get("type"))
        if kind in QUIET:
            return True
        if kind in SET_UP:
            before = self._set_up
            if before is None:
                self._set_up = _message(entry, "system", "context", f"{_SET_UP_WITH}{SET_UP[kind]}", undone)
            else:
                self._set_up = replace(before, text=f"{before.text}, {SET_UP[kind]}")
            return True
        sentence = sentence_of(about, as_text(entry.row.get("cwd")), self._config)
        if sentence:
            self._loaded.append(_message(entry, "system", "context", sentence, undone))
        return bool(sentence)

    def _flush_attached(self) -> Iterator[Message]:
        set_up, loaded = self._set_up, self._loaded
        self._set_up, self._loaded = None, []
        for message in (set_up, *loaded):
            if message is not None:
                yield from self._put(message)

    def _fork(self, entry: TranscriptEntry) -> Iterator[Message]:
        origin = entry.row.get("forkedFrom")
        if isinstance(origin, dict) and not self._forked:
            self._forked = True
            told = f"The session continues a copy of {as_text(origin.get('sessionId')) or 'another one'}."
            yield from self._put(_message(entry, "system", "event", told, False))

    def _answer(self, entry: TranscriptEntry, undone: bool) -> Iterator[Message]:
        model = "" if entry.synthetic else as_text(entry.message.get("model"))
        for block in blocks_of(entry):
            kind = block.get("type")
            if kind in ("text", "image", "document"):
                made = _message(entry, "assistant", "message", block_text(block), undone)
                if entry.synthetic:
                    yield from self._put(replace(made, speaker="system", kind="event"))
                else:
                    yield from self._say(replace(made, model=model))
                continue
            yield from self._flush()
            if kind in ("thinking", "redacted_thinking"):
                thought = as_text(block.get("thinking"))
                yield from self._put(
                    replace(_message(entry, "assistant", "reasoning", thought, undone), model=model)
                )
            elif kind in ("tool_use", "server_tool_use"):
                shown, cut = shortened(_shown(block.get("input")))
                tool = ToolUse(as_text(block.get("name")) or "?", shown)
                made = replace(_message(entry, "tool", "tool", "", undone), tool=tool, model=model, cut=cut)
                yield from self._pairing.put(made, call_id=as_text(block.get("id")))
            elif isinstance(kind, str) and kind.endswith("_tool_result"):
                yield from self._result(entry, block, undone)

    def _user(self, entry: TranscriptEntry, undone: bool) -> Iterator[Message]:
        for block in blocks_of(entry):
            if block.get("type") == "tool_result":
                yield from self._result(entry, block, undone)
        text = message_text(entry)
        kind: MessageKind = "context"
        if entry.row.get("isCompactSummary") is True:
            kind = "summary"
        elif is_typed(entry) or (entry.side and text and entry.row.get("isMeta") is not True):
            kind = "message"
        speaker: Speaker = "system" if kind == "summary" else "user"
        yield from self._put(_message(entry, speaker, kind, text, undone))

    def _result(self, entry: TranscriptEntry, block: dict[str, Any], undone: bool) -> Iterator[Message]:
        output = result_text(block.get("content")) or as_text(entry.row.get("toolUseResult"))
        shown, cut = shortened(output)
        failed = block.get("is_error") is True
        late = replace(
            _message(entry, "tool", "tool", "", undone), tool=ToolUse("?", "", shown, failed), cut=cut
        )
        yield from self._pairing.result(as_text(block.get("tool_use_id")), shown, is_error=failed, late=late)

    def _say(self, message: Message) -> Iterator[Message]:
        """Append words of the model: those of one answer become one message."""
        before = self._words
        if before is None or not before.id:
            yield from self._flush()
            self._words = message
            return
        text, cut = shortened(f"{before.text}\n\n{message.text}" if message.text else before.text)
        self._words = replace(before, text=text, cut=before.cut + message.cut + cut)

    def _flush(self) -> Iterator[Message]:
        words, self._words = self._words, None
        if words is not None:
            yield from self._put(words)

    def _put(self, message: Message) -> Iterator[Message]:
        if message.text:
            yield from self._pairing.put(message)


def _message(entry: TranscriptEntry, speaker: Speaker, kind: MessageKind, text: str, undone: bool) -> Message:
    shown, cut = shortened(text)
    return Message(
        0,
        speaker,
        kind,
        shown,
        id=entry.response or entry.uuid,
        timestamp=entry.timestamp,
        undone=undone,
        side=entry.side,
        cut=cut,
    )


def _said_by_system(entry: TranscriptEntry) -> tuple[MessageKind, str]:
    row = entry.row
    if entry.kind == "attachment":
        about = row.get("attachment")
        if not isinstance(about, dict):
            return "context", ""
        words = result_text(about.get("content")) or _shown(
            {name: value for name, value in about.items() if name != "type"}
        )
        return "context", f"[{as_text(about.get('type')) or 'attachment'}]\n{words}".strip()
    subtype = as_text(row.get("subtype"))
    if entry.is_compaction:
        tokens = as_object(row.get("compactMetadata")).get("preTokens")
        size = f" It held {tokens:,} tokens." if isinstance(tokens, int) else ""
        return "event", f"The conversation was compacted.{size}"
    if subtype in _QUIET:
        return "event", ""
    if subtype == "memory_saved":
        listed = texts_of(row.get("writtenPaths"))
        verb = as_text(row.get("verb")).lower() or "saved"
        return "event", f"Memory was {verb}: {', '.join(listed)}" if listed else f"Memory was {verb}."
    words = result_text(row.get("content")) or as_text(row.get("error"))
    if subtype == "api_error":
        return "event", f"The service failed: {words}" if words else "The service failed."
    return "event", words


def _shown(value: Any) -> str:
    return "" if value is None or value == {} else as_shown(value)
