"""Attachments in transcripts of Claude Code: loaded instructions, recalled memories, the model's setup.

See formats/claude-code.md sections 12.1.3, 12.1.4 and 12.1.14. `recorded` reads the current context of a
session from its transcript. The program records whole files. A list without `changed` (at a start or a
compaction) has all loaded files and replaces earlier lists. A list with `changed` (in a resumed session) has
only files that are new or differ, and names files no longer loaded in `removed`. Only lines that name one of
these attachments are decoded, and at most `MOST_BYTES` of a transcript are read.

Threading, failure: as in `agents.transcripts`; values may have any type, and a value of an unexpected type
is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.codex.transcript import timestamp_ms
from reverie.agents.reading import as_list, as_text, texts_of
from reverie.agents.transcript_lines import decoded_row, reading_transcript
from reverie.resources import resource_table
from reverie.values import Struct, field

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
"""Attachments of no interest to a person: the program's own prompt and tools, reminders to the model."""


class LoadedFile(Struct, frozen=True):
    """One file that Claude Code loaded into the context of a session, as its transcript records it."""

    path: str
    kind: str
    """The kind of the file; empty if the record has none.

    `Managed`, `User`, `Project`, `Local`, or `AutoMem` for the index of the project's memory.
    """
    text: str


class Instructions(Struct, frozen=True):
    """The instruction files that Claude Code loaded at one time, from an attachment in a transcript."""

    files: tuple[LoadedFile, ...]
    """The files, in the order in which the model gets them."""
    changed: bool = False
    """Whether `files` has only the files that are new or changed since the previous attachment, not all."""
    removed: tuple[str, ...] = ()
    """The files that are no longer loaded; empty unless `changed`."""


class LoadedContext(Struct):
    """The instruction files and memories that one session has loaded, as its transcript records them."""

    files: dict[str, LoadedFile] = field(default_factory=dict)
    """The files that the session has loaded, in order: path -> file."""
    at: int | None = None
    """The time at which the last list of files was recorded (UTC ms); None if there is none."""
    lists: int = 0
    """The number of recorded lists of files; 0: this version records none, or no prompt was sent yet."""
    recalled: dict[str, int] = field(default_factory=dict)
    """The recalled memories: path -> number of recalls."""
    nested: tuple[str, ...] = ()
    """The files of subdirectories that were loaded when the agent entered them."""
    complete: bool = True
    """Whether the transcript was read to its end; False if it is too large."""

    @property
    def loads_index(self) -> bool:
        """Whether the index of the project's memory is among the loaded files."""
        return any(each.kind == AUTO_MEMORY for each in self.files.values())

    def take(self, attachment: Mapping[str, Any], at: int | None) -> None:
        """Update the context with one attachment, which was recorded at `at` (UTC ms)."""
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
            self.recalled[memory] = self.recalled.get(memory, 0) + 1
        path = nested_in(attachment)
        if path and path not in self.nested:
            self.nested = (*self.nested, path)


def instructions_in(attachment: Mapping[str, Any]) -> Instructions | None:
    """Return the loaded instruction files that an attachment records; None if it is of another kind."""
    if attachment.get("type") != INSTRUCTIONS:
        return None
    return Instructions(
        tuple(_files(attachment.get("files"))),
        attachment.get("changed") is True,
        texts_of(attachment.get("removed")),
    )


def recalled_in(attachment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of the memories that an attachment gives to the model; empty if it gives none."""
    found = attachment.get("memories") if attachment.get("type") == RECALLED else None
    return tuple(each.path for each in _files(found))


def nested_in(attachment: Mapping[str, Any]) -> str:
    """Return the instruction file of a subdirectory that an attachment loads; empty if it loads none."""
    return as_text(attachment.get("path")) if attachment.get("type") == NESTED else ""


def recorded(path: Path) -> LoadedContext:
    """Return the files and memories that the session with the transcript `path` has loaded.

    Raises `FileNotFoundError` if there is no transcript, `Unavailable` if it cannot be read.
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
    """Return whether a line may contain an attachment that this module reads; other lines are not decoded."""
    head = line[:1000]
    return b'"attachment"' in head and any(mark in head for mark in _MARKS)


def _files(value: object) -> Iterator[LoadedFile]:
    for each in as_list(value):
        match each:
            case {"path": str(path), "content": str(text)}:
                yield LoadedFile(path, as_text(each.get("type")), text)


def sentence_of(attachment: Mapping[str, Any], cwd: str, config: str = "") -> str:
    """Return a message that names the files that an attachment loads; empty if it loads none.

    Files below the directory `cwd` are named relative to it. `config`: the agent's home.
    """
    instructions = instructions_in(attachment)
    if instructions is not None:
        loaded = _names((each.path for each in instructions.files), cwd, config)
        gone = _names(instructions.removed, cwd, config)
        if not instructions.changed:
            return f"Loaded into the context: {loaded}." if loaded else "No instructions were loaded."
        parts = [f"Loaded again after a change: {loaded}." if loaded else ""]
        parts.append(f"No longer loaded: {gone}." if gone else "")
        return " ".join(filter(None, parts))
    memories = recalled_in(attachment)
    if memories:
        return f"Recalled from memory: {_names(memories, cwd, config)}."
    nested = nested_in(attachment)
    return f"Loaded for the files at hand: {_names([nested], cwd, config)}." if nested else ""


def _names(paths: Iterable[str], cwd: str, config: str) -> str:
    return ", ".join(_name(path, cwd, config) for path in paths)


def _name(path: str, cwd: str, config: str) -> str:
    """Return a file's name for a message: relative to the directory `cwd`, else long enough to be unique.

    `config`: the agent's home; the path of a file in it begins with `~/.claude`.
    """
    if cwd and path.startswith(f"{cwd.rstrip('/')}/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    parts = path.replace("\\", "/").split("/")
    if "memory" in parts[:-1]:
        return "/".join(parts[parts.index("memory") :])
    if config.endswith("/.claude") and path.startswith(f"{config}/"):
        return f"~/.claude/{path[len(config) + 1 :]}"
    return path
