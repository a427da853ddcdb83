"""What Codex CLI puts into a prompt from its memories and its instructions (formats/codex.md sections 3 and
10): which files, and how much of each.

Of `memory_summary.md`, trimmed, about 2,500 tokens are loaded, a token being four bytes; from a longer one
the middle is left out and a marker says how much. A summary that is not valid UTF-8 is not loaded at all. The
instructions are the home's own file, trimmed, and after it one file of each directory from the root of the
project down to the working directory, as they are, up to a budget in bytes. Bytes that are no UTF-8 become
U+FFFD there.

Pure rules, the files' own names and one small file of settings; nothing here fails on any content.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import Companion
from reverie.agents.codex.store import DIRECTORIES, Version, version_in_use
from reverie.agents.reading import entries_in
from reverie.agents.scopes import Scope
from reverie.files.directory import is_directory, is_file, read_regular
from reverie.values import Struct

SUMMARY = "memory_summary.md"
SUMMARY_TOKENS = 2_500
INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
"""Of these in the home the first that says anything is loaded."""

PROJECT_DOC = "\n\n--- project-doc ---\n\n"
"""Between the instructions of the home and those of the project."""
PROJECT_BYTES = 32 << 10
"""How much is loaded of the instructions of a project, unless the settings say otherwise."""
PIECE_BYTES = 8_900
"""Version 2 sends a longer memory block in two pieces."""

_BYTES_PER_TOKEN = 4
_CONFIG_BYTES = 4 << 20
_AROUND_V2 = 2_034
_PATHS_V2 = 3
"""The size of what version 2 puts around the summary, without the path of the memory that it names."""
_NOT_SPACE = "\x1c\x1d\x1e\x1f"
"""Python takes these for white space; Codex does not."""
_MOST_DIRECTORIES = 200
_REPOSITORY = "It belongs to the project's repository: others may get the change."


class Loaded(Struct, frozen=True):
    """A text as it is loaded. `head` and `tail` are characters of the original at both ends that are in it,
    `removed_tokens` what the marker says; all 0 for a text that is loaded in full."""

    text: str
    head: int = 0
    tail: int = 0
    removed_tokens: int = 0

    @property
    def is_cut(self) -> bool:
        return self.removed_tokens > 0


def tokens_of(text: str) -> int:
    """Tokens as Codex estimates them: a quarter of the bytes, rounded up."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def loaded_summary(text: str, tokens: int = SUMMARY_TOKENS) -> Loaded:
    """What is loaded of the summary; empty text: nothing."""
    return truncated_in_the_middle(trimmed(text), tokens)


def trimmed(text: str) -> str:
    """A text without the white space around it, as Codex trims."""
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
    """At most `tokens` of a text: half from its beginning, half from its end, no character cut, and a marker
    between them."""
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
    """What the settings of a home say of its prompt."""

    off: str = ""
    """The setting that keeps Codex from loading memories; empty where it loads them."""
    version: Version = "v2"
    """The version of the memory in use."""
    project_bytes: int = PROJECT_BYTES
    """How much of the project's instructions is loaded; 0 for none."""
    names: tuple[str, ...] = INSTRUCTIONS
    """Which file counts in a directory of the project: the first that exists."""
    markers: tuple[str, ...] = (".git",)
    """What the root of a project is known by."""


def prompt_settings(root: Path) -> PromptSettings:
    """The settings of the home at `root`. What cannot be read counts as not set."""
    data = _config(root)
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
    """Whether the memory in use was reset and Codex has not started since: its directory is there and holds
    nothing, although Codex has consolidated in it. When Codex makes the directory it fills it at once."""
    name = DIRECTORIES[version_in_use(home).name]
    return is_file(home / f"{name}.lock") and is_directory(home / name) and not any(entries_in(home / name))


def memory_pieces(version: Version, directory: Path, summary: str) -> int:
    """In how many pieces of one message Codex sends a summary with what it puts around it; 0 for none."""
    if not summary:
        return 0
    size = _AROUND_V2 + _PATHS_V2 * len(os.fsencode(directory)) + len(summary.encode())
    return 2 if version == "v2" and size > PIECE_BYTES else 1


def project_documents(cwd: Path, settings: PromptSettings) -> tuple[Path, ...]:
    """The instruction files of the project that a working directory is in, in the order in which they are
    loaded: one of each directory from the root of the project on. In a directory that has an override only
    that counts, even if it is empty."""
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
    """The instruction files of a project as companions, in the order in which they are loaded."""
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
    """What is loaded of the project's instructions together, and how many bytes of each: as they are, until
    the budget is used up. One that says nothing is left out."""
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
    """The message that holds the instructions, as Codex sends it; empty for none. `home` is trimmed."""
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


def _config(root: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(read_regular(root / "config.toml", _CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}


def _names(value: Any) -> tuple[str, ...]:
    """Plain file names out of a list of settings."""
    given = value if isinstance(value, list) else ()
    return tuple(
        name for name in given if isinstance(name, str) and name and "/" not in name and "\0" not in name
    )
