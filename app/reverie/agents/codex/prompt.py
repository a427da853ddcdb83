"""The parts of Codex's memory and instructions that go into a prompt (formats/codex.md sections 3, 4 and 10).

About 2,500 tokens (of four bytes) of `memory_summary.md`, trimmed, are loaded; in a longer summary a marker
with the removed amount replaces the middle. A summary that is not valid UTF-8 is not loaded at all. The
instructions are the home's own file, trimmed, followed by one file of each directory from the root of the
project down to the working directory, unchanged, up to a budget in bytes. In these, bytes that are not UTF-8
become U+FFFD.

Threading: any thread but the GUI's. Failure: unreadable settings count as none; building a prompt accepts any
content.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import Companion
from reverie.agents.codex.locations import config
from reverie.agents.codex.store import DIRECTORIES, Version, version_in_use
from reverie.agents.reading import entries_in
from reverie.agents.scopes import Scope
from reverie.files.directory import is_directory, is_file
from reverie.values import Struct

SUMMARY_TOKENS = 2_500
INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
"""Instruction files in the home; the first one with content is loaded."""

PROJECT_DOC = "\n\n--- project-doc ---\n\n"
"""The separator between the instructions of the home and those of the project."""
PROJECT_BYTES = 32 << 10
"""Maximum size of a project's loaded instructions, unless the settings change it."""
PIECE_BYTES = 8_900
"""Maximum size of a piece in version 2, which sends a longer memory block in two pieces."""

_BYTES_PER_TOKEN = 4
_AROUND_V2 = 2_034
_PATHS_V2 = 3
"""The number of times that the memory's path occurs in the text that version 2 puts around the summary.

Without the paths, that text has `_AROUND_V2` bytes.
"""
_NOT_SPACE = "\x1c\x1d\x1e\x1f"
"""Characters that are white space to Python, but not to Codex."""
_MOST_DIRECTORIES = 200
_REPOSITORY = "Belongs to the project's repository, so other people may receive your change."


class Loaded(Struct, frozen=True):
    """A text in the form in which Codex loads it: whole, or cut in the middle."""

    text: str
    """The loaded text; if it is cut, a marker in it names `removed_tokens`."""
    head: int = 0
    """The number of characters kept from the beginning of the original; 0 if all are loaded."""
    tail: int = 0
    """The number of characters kept from the end of the original; 0 if all are loaded."""
    removed_tokens: int = 0
    """The number of tokens removed in the middle; 0 if none are."""

    @property
    def is_cut(self) -> bool:
        return self.removed_tokens > 0


def tokens_of(text: str) -> int:
    """Return the number of tokens as Codex estimates it: a quarter of the bytes, rounded up."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def loaded_summary(text: str, tokens: int = SUMMARY_TOKENS) -> Loaded:
    """Return the text of a summary as Codex loads it; empty if the summary is blank.

    It is trimmed and, if it is longer than `tokens` tokens, cut in the middle.
    """
    return truncated_in_the_middle(trimmed(text), tokens)


def trimmed(text: str) -> str:
    """Return a text without the white space around it, as Codex trims."""
    found = text.strip()
    if len(found) == len(text) or not any(char in text for char in _NOT_SPACE):
        return found
    start, end = 0, len(text)
    while start < end and text[start].isspace() and text[start] not in _NOT_SPACE:
        start += 1
    while end > start and text[end - 1].isspace() and text[end - 1] not in _NOT_SPACE:
        end -= 1
    return text[start:end]


def truncated_in_the_middle(text: str, tokens: int) -> Loaded:
    """Return at most `tokens` tokens of a text: half from each end, with a marker between them.

    No character is split. A shorter text is returned unchanged.
    """
    data, budget = text.encode(), tokens * _BYTES_PER_TOKEN
    if len(data) <= budget:
        return Loaded(text)
    head = data[: budget // 2].decode("utf-8", "ignore")
    start = len(data) - (budget - budget // 2)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    tail = data[start:].decode()
    removed = -(-(len(data) - budget) // _BYTES_PER_TOKEN)
    return Loaded(f"{head}…{removed} tokens truncated…{tail}", len(head), len(tail), removed)


class PromptSettings(Struct, frozen=True):
    """The settings of a Codex home that decide which texts go into the prompt."""

    off: str = ""
    """The setting that keeps Codex from loading memories; empty if it loads them."""
    version: Version = "v2"
    """The version of the memory in use."""
    project_bytes: int = PROJECT_BYTES
    """The maximum size of the project's loaded instructions in bytes; 0 for none."""
    names: tuple[str, ...] = INSTRUCTIONS
    """Names of instruction files in a directory of the project; the first existing one counts."""
    markers: tuple[str, ...] = (".git",)
    """Names of files or directories that mark the root of a project."""


def prompt_settings(root: Path) -> PromptSettings:
    """Return the prompt settings of the home at `root`; unreadable settings count as not set."""
    data, _problem = config(root)
    markers, fallbacks = data.get("project_root_markers"), data.get("project_doc_fallback_filenames")
    limit = data.get("project_doc_max_bytes")
    counts = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0
    return PromptSettings(
        off=_off(data),
        version=version_in_use(root).name,
        project_bytes=limit if isinstance(limit, int) and counts else PROJECT_BYTES,
        names=(*INSTRUCTIONS, *(name for name in _names(fallbacks) if name not in INSTRUCTIONS)),
        markers=_names(markers) if isinstance(markers, list) else (".git",),
    )


def was_reset(home: Path) -> bool:
    """Return whether the memory was emptied by a reset and Codex has not written to it since.

    This is so if Codex has consolidated in the directory of the memory before, and the directory is empty
    now: only a reset leaves it empty, because Codex writes files as soon as it creates the directory.
    """
    name = DIRECTORIES[version_in_use(home).name]
    return is_file(home / f"{name}.lock") and is_directory(home / name) and not any(entries_in(home / name))


def memory_pieces(version: Version, directory: Path, summary: str) -> int:
    """Return the number of pieces in which Codex sends the memory summary; 0 for an empty summary.

    `version`: the version of the memory; only the second one is sent in more than one piece. `summary`: its
    loaded text. The pieces also contain the text that Codex puts around the summary, which names `directory`,
    the directory of the memories.
    """
    if not summary:
        return 0
    size = _AROUND_V2 + _PATHS_V2 * len(os.fsencode(directory)) + len(summary.encode())
    return 2 if version == "v2" and size > PIECE_BYTES else 1


def project_documents(cwd: Path, settings: PromptSettings) -> tuple[Path, ...]:
    """Return the instruction files of a working directory's project, in loading order.

    There is at most one file per directory, from the project's root down to `cwd`. If a directory has an
    override file, only that is used, even if it is empty.
    """
    if not settings.project_bytes or not cwd.is_absolute():
        return ()
    places = [cwd, *cwd.parents][:_MOST_DIRECTORIES]
    depth = next(
        (
            at
            for at, place in enumerate(places)
            if any(os.path.lexists(place / name) for name in settings.markers)
        ),
        0,
    )
    found = (
        next((place / name for name in settings.names if is_file(place / name)), None)
        for place in reversed(places[: depth + 1])
    )
    return tuple(path for path in found if path is not None)


def project_companions(root: Path, project_path: str | None) -> tuple[Companion, ...]:
    """Return the instruction files of a project as companions, in loading order.

    `root`: the home; its own instruction file is left out. `project_path`: the path of the project; None: an
    empty tuple is returned.
    """
    if not project_path:
        return ()
    cwd = Path(project_path)
    settings = prompt_settings(root)
    return tuple(
        Companion(Scope.PROJECT, path, os.path.relpath(path, cwd), True, _REPOSITORY)
        for path in project_documents(cwd, settings)
        if path.parent != root
    )


def project_text(contents: Sequence[bytes], limit: int) -> tuple[str, tuple[int, ...]]:
    """Return the loaded text of the project's instruction files, and the number of bytes used of each.

    The `contents` are joined unchanged until the budget `limit` (bytes) is used up. A blank file adds nothing
    to the text; its number is 0, so there is one number for each of `contents`.
    """
    left = limit
    texts: list[str] = []
    used: list[int] = []
    for data in contents:
        part = data[:left]
        text = part.decode("utf-8", "replace")
        if not text.strip():
            used.append(0)
            continue
        left -= len(part)
        texts.append(text)
        used.append(len(part))
    return "\n\n".join(texts), tuple(used)


def instructions_text(home: str, project: str, cwd: str) -> str:
    """Return the message with the instructions, as Codex sends it; empty if there are no instructions.

    `home`: the instructions of the home, trimmed. `project`: the instructions of the project, as
    `project_text` returns them. `cwd`: the working directory, which the message names.
    """
    if not home and not project:
        return ""
    of = f" for {cwd}" if project else ""
    between = PROJECT_DOC if home and project else ""
    return f"# AGENTS.md instructions{of}\n\n<INSTRUCTIONS>\n{home}{between}{project}\n</INSTRUCTIONS>"


def _off(data: Mapping[str, Any]) -> str:
    features, memories = data.get("features"), data.get("memories")
    if isinstance(memories, dict) and memories.get("use_memories") is False:
        return "memories.use_memories"
    on = isinstance(features, dict) and (
        features.get("memories") is True or features.get("memory_tool") is True
    )
    return "" if on else "features.memories"


def _names(value: Any) -> tuple[str, ...]:
    """Return the names in a list from the settings that are plain file names, without `/`."""
    given = value if isinstance(value, list) else ()
    return tuple(
        name for name in given if isinstance(name, str) and name and "/" not in name and "\0" not in name
    )
