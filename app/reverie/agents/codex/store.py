"""The memory store of Codex: the version in use, and the rules for changing its files.

Describes also the role of each file in a consolidation, the path of a new note to Codex, and the content that
Codex accepts (formats/codex.md sections 3, 4 and 10).

`[memories] version` in config.toml decides if set; else version 1 if the path `<home>/memories` exists at
all, and version 2 otherwise. So a program that creates `memories/` in a current home would switch the
person's memory off. Therefore nothing is ever written into a version that is not in use or does not exist
yet. After a consolidation Codex refuses a store with a summary that breaks its rules; `refuse_content`
refuses such a text.

Threading: any thread but the GUI's. Failure: `StoreError` for content to write; unreadable settings count as
none, and directories that cannot be listed are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from reverie.agents.codex.locations import MEMORY_DATABASES, config
from reverie.agents.reading import entries_in, file_names
from reverie.agents.scopes import EDITABLE, FileRole, FileRule
from reverie.errors import StoreError
from reverie.files.directory import is_directory
from reverie.values import Struct

Version = Literal["v1", "v2"]
DIRECTORIES: Mapping[Version, str] = {"v1": "memories", "v2": "memories_v2"}
LOCKS: Mapping[Version, str] = {"v1": "memories.lock", "v2": "memories_v2.lock"}
"""The lock file of each version; Codex holds `flock` on it while it consolidates."""
SUMMARY = "memory_summary.md"
HANDBOOK = "MEMORY.md"
SUMMARY_BYTES = 9_999
"""Maximum size of a summary in version 2 (measured: one byte more is refused). Version 1 accepts any size and
loads a part."""
HEADINGS = ("User Profile", "User preferences", "General Tips", "What's in Memory")
"""The second-level headings that version 2 requires, in any order."""
SUMMARIES = r"rollout_summaries/[^/]+\.md"
"""The files about one rollout each, named by their first heading."""
NOTES = "extensions/ad_hoc/notes"
"""The directory for notes to Codex: new files here are its official way to receive them."""

NO_STORE = "Codex has not created a memory here yet. Start Codex once with its memory turned on."
_LATER = re.compile(r"memories_v(?!1$|2$)\d{1,4}")
_SLUG_CHARS = 60
_SOURCE_CHARS = 8
_BOM = b"\xef\xbb\xbf"
_FRONT_MATTER = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_FROM_ROLLOUTS = "Codex regenerates this file from its transcripts, so a change would be lost."
_FROM_DATABASE = "Codex writes this file from its database before each consolidation; a change would be lost."
_TRANSIENT = "Codex uses this file internally during a consolidation."
_BASELINE = "Codex keeps here what its memories were at the last consolidation, to see what people changed."
_HIDDEN = "Codex uses hidden files internally."
_INSTRUCTIONS = "Codex wrote these instructions for itself and checks them during a consolidation."
_MANIFEST = "Codex stores the list of an extension's files in this file."


class MemoryVersion(Struct, frozen=True):
    """The memory version in use, and the reason as a sentence."""

    name: Version
    reason: str

    @property
    def other(self) -> Version:
        return "v1" if self.name == "v2" else "v2"


def version_in_use(home: Path) -> MemoryVersion:
    """Return the memory version ("v1" or "v2") that Codex would use in this home now, with the reason."""
    named = settings(home).get("version")
    if named == "v1" or named == "v2":
        return MemoryVersion(named, f"[memories] version in config.toml is {named}.")
    if os.path.lexists(home / DIRECTORIES["v1"]):
        return MemoryVersion("v1", "memories/ exists, so Codex uses version 1.")
    return MemoryVersion("v2", "There is no memories/, so Codex uses version 2.")


def version_of(home: Path, directory: Path) -> Version | None:
    """Return the memory version whose store contains `directory`; None if it is in neither store."""
    for version, name in DIRECTORIES.items():
        if directory == home / name or directory.is_relative_to(home / name):
            return version
    return None


def why_read_only(home: Path, version: Version) -> str:
    """Return the reason why nothing may be written into a memory version; empty if writing is allowed.

    `home`: the agent's home.
    """
    used = version_in_use(home)
    if used.name != version:
        mine, theirs = DIRECTORIES[version], DIRECTORIES[used.name]
        return f"Not in use: Codex reads {theirs}/, not {mine}/. {used.reason}"
    if is_directory(home / DIRECTORIES[version]):
        return ""
    later = sorted(entry.name for entry in entries_in(home) if _LATER.fullmatch(entry.name))
    return (
        f"Codex stores its memory in {later[-1]}/ here, which Reverie does not recognize."
        if later
        else NO_STORE
    )


def settings(home: Path) -> Mapping[str, Any]:
    """Return the table `[memories]` of config.toml; empty if it is missing or cannot be read."""
    return _table(home, "memories")


def features(home: Path) -> Mapping[str, Any]:
    """Return the table `[features]` of config.toml; empty if it is missing or cannot be read."""
    return _table(home, "features")


def is_of_today(home: Path, places: tuple[Path, ...]) -> bool:
    """Return whether a version of Codex with one store for all projects has worked in this home.

    `places`: the directories that may contain its databases. Such a Codex never reads the first generation's
    memories per working directory.
    """
    if is_directory(home / DIRECTORIES["v2"]) or is_directory(home / DIRECTORIES["v1"] / ".git"):
        return True
    return any(
        MEMORY_DATABASES["v1"].fullmatch(name) or MEMORY_DATABASES["v2"].fullmatch(name)
        for place in places
        for name in file_names(place, [])
    )


def file_rule(version: Version, rel: str) -> FileRule:
    """Return the rule that says whether the file `rel` in a store of this version may be changed."""
    first, _, below = rel.partition("/")
    if first.lower() == ".git" or first == ".codex-baseline":
        return FileRule("read-only", _BASELINE)
    if any(part.startswith(".") for part in rel.split("/")):
        return FileRule("read-only", _HIDDEN)
    if first == "rollout_summaries":
        return FileRule("generated", _FROM_ROLLOUTS)
    if rel == "raw_memories.md" and version == "v1":
        return FileRule("generated", _FROM_DATABASE)
    if rel == "phase2_workspace_diff.md":
        return FileRule("generated", _TRANSIENT)
    if first == "extensions":
        name = below.rpartition("/")[2]
        if name == "instructions.md":
            return FileRule("read-only", _INSTRUCTIONS)
        if name in ("manifest.json", "scope.json"):
            return FileRule("read-only", _MANIFEST)
    return EDITABLE


def file_role(rel: str) -> FileRole:
    """Return the role of a file of the store in a consolidation by Reverie."""
    if rel == NOTES or rel.startswith(f"{NOTES}/"):
        return "kept"
    if rel in (SUMMARY, HANDBOOK) or rel.startswith(("skills/", "extensions/")):
        return "document"
    return "memory"


def note_path(title: str, at_ms: int, source: str = "") -> str:
    """Return the path for a new note to Codex, relative to the store.

    The path contains the time `at_ms` (UTC) and `title`. `source`: the id of the thread from which the note
    is made, so that two notes with the same second and title have different names; empty for a note that a
    person wrote.
    """
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    # The end of an id: Codex's ids begin with the time, which two sessions may share.
    tail = re.sub(r"[^a-z0-9]+", "", source.lower())[-_SOURCE_CHARS:]
    longest = _SLUG_CHARS - (len(tail) + 1 if tail else 0)
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:longest].strip("-") or "note"
    return f"{NOTES}/{at}-{slug}{f'-{tail}' if tail else ''}.md"


def refuse_content(version: Version, rel: str, before: bytes | None, after: bytes | None) -> None:
    """Raise `StoreError` if Codex would refuse the memory with the new content of the file `rel`.

    Also raises it if Codex would ignore the content or treat it as something else. `version`: the version of
    the memory. `before` and `after`: the old and the new content of the file; None if it does not exist.
    """
    if rel == SUMMARY or (rel == HANDBOOK and version == "v1"):
        if after is None:
            raise _refused(
                rel, "Codex does not accept its memory without this file.", "Empty a section instead."
            )
    elif after is None:
        return
    if rel.startswith(f"{NOTES}/") and before is not None and after != before:
        raise _refused(rel, "A note to Codex cannot be changed after it is written.", "Write another note.")
    if rel.startswith("skills/"):
        return
    starts_with_front_matter = _FRONT_MATTER.match(after) is not None
    had_front_matter = before is not None and _FRONT_MATTER.match(before) is not None
    if starts_with_front_matter and (rel in (SUMMARY, HANDBOOK) or not had_front_matter):
        raise _refused(
            rel,
            "Codex treats front matter as text and may reject the file.",
            "Remove the lines from --- to ---.",
        )
    if rel in (SUMMARY, HANDBOOK):
        if after.startswith(_BOM):
            raise _refused(rel, "It begins with a byte order mark.", "Save it without the mark.")
        try:
            text = after.decode("utf-8")
        except UnicodeDecodeError:
            raise _refused(
                rel, "The text is not valid UTF-8, so Codex would load none of it.", "Convert it to UTF-8."
            ) from None
        if rel == SUMMARY:
            _refuse_summary(version, text, len(after))


def _refuse_summary(version: Version, text: str, size: int) -> None:
    if text.partition("\n")[0].removesuffix("\r") != "v1":
        raise _refused(
            SUMMARY,
            "The first line must be exactly v1, in both memory versions.",
            "Make v1 the only text in the first line.",
        )
    if version == "v1":
        return
    if size > SUMMARY_BYTES:
        raise _refused(
            SUMMARY,
            f"The file would have {size:,} bytes; Codex accepts at most {SUMMARY_BYTES:,}.",
            "Shorten the text.",
        )
    found = {line.rstrip() for line in text.splitlines()}
    missing = [heading for heading in HEADINGS if f"## {heading}" not in found]
    if missing:
        named = ", ".join(f"## {heading}" for heading in missing)
        raise _refused(
            SUMMARY, f"A required heading is missing: {named}.", "Put it back; its section may be empty."
        )


def _refused(rel: str, cause: str, next_step: str) -> StoreError:
    return StoreError(
        f"Codex would reject this change to {rel}.", cause=cause, next_step=next_step, reason="agent-refuses"
    )


def _table(home: Path, name: str) -> Mapping[str, Any]:
    found = config(home)[0].get(name)
    return found if isinstance(found, dict) else {}
