"""The memory store of Codex: the version in use, write rules, and the parts that go into a prompt.

Covers the rules for content that Codex accepts, memories beside the store, files about a project, and
instructions (formats/codex.md sections 3, 4 and 10).

`[memories] version` in config.toml decides if set; else version 1 if the path `<home>/memories` exists at
all, and version 2 otherwise. So a program that creates `memories/` in a home of today switches the person's
memory off: nothing is ever written into a version that is not in use, or that does not exist yet. After it
consolidated, Codex refuses a store whose summary breaks its rules; `refuse_content` refuses such a text.

Of `memory_summary.md`, trimmed, about 2,500 tokens are loaded, a token being four bytes; the middle of a
longer one is replaced by a marker with the amount. A summary that is not valid UTF-8 is not loaded at all.
The instructions are the home's own file, trimmed, and after it one file of each directory from the root of
the project down to the working directory, unchanged, up to a budget in bytes. Bytes that are no UTF-8 become
U+FFFD there.

Threading: any thread but the GUI's. Failure: `StoreError` for content to write; unreadable settings count as
none, directories that cannot be listed are left out, and building a prompt accepts any content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import Companion
from reverie.agents.codex.locations import BUCKET, MEMORY_DATABASES, config, normalised_cwd
from reverie.agents.reading import entries_in, file_names
from reverie.agents.scopes import EDITABLE, FileRole, FileRule, Scope
from reverie.errors import StoreError
from reverie.files.directory import is_directory, is_file, open_regular, read_regular
from reverie.text.summaries import first_heading
from reverie.values import Struct, replace

Version = Literal["v1", "v2"]
DIRECTORIES: Mapping[Version, str] = {"v1": "memories", "v2": "memories_v2"}
LOCKS: Mapping[Version, str] = {"v1": "memories.lock", "v2": "memories_v2.lock"}
"""Codex holds `flock` on this file while it consolidates."""
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

NO_STORE = "Codex has made no memory here yet. Start Codex once with its memory turned on."
_LATER = re.compile(r"memories_v(?!1$|2$)\d{1,4}")
_SLUG_CHARS = 60
_SOURCE_CHARS = 8
_BOM = b"\xef\xbb\xbf"
_FRONT_MATTER = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_FROM_ROLLOUTS = "Codex writes this file from the rollouts again and again; a change would be lost."
_FROM_DATABASE = "Codex writes this file from its database before each consolidation; a change would be lost."
_TRANSIENT = "Codex keeps this file for itself while it consolidates."
_BASELINE = "Codex keeps here what its memories were at the last consolidation, to see what people changed."
_HIDDEN = "Codex keeps hidden files for itself."
_INSTRUCTIONS = "Codex wrote these instructions for itself and checks them when it consolidates."
_MANIFEST = "Codex keeps the list of an extension's files in this file."


class MemoryVersion(Struct, frozen=True):
    """The version in use, and the reason as a sentence."""

    name: Version
    reason: str

    @property
    def other(self) -> Version:
        return "v1" if self.name == "v2" else "v2"


def version_in_use(home: Path) -> MemoryVersion:
    """Return the version that Codex would use in this home now."""
    named = settings(home).get("version")
    if named == "v1" or named == "v2":
        return MemoryVersion(named, f"[memories] version in config.toml is {named}.")
    if os.path.lexists(home / DIRECTORIES["v1"]):
        return MemoryVersion("v1", "memories/ exists, so Codex uses version 1.")
    return MemoryVersion("v2", "There is no memories/, so Codex uses version 2.")


def version_of(home: Path, directory: Path) -> Version | None:
    """Return the version that a directory belongs to; None: it lies in neither."""
    for version, name in DIRECTORIES.items():
        if directory == home / name or directory.is_relative_to(home / name):
            return version
    return None


def why_read_only(home: Path, version: Version) -> str:
    """Return why nothing may be written into this version; empty where it may."""
    used = version_in_use(home)
    if used.name != version:
        mine, theirs = DIRECTORIES[version], DIRECTORIES[used.name]
        return f"Not in use: Codex reads {theirs}/, not {mine}/. {used.reason}"
    if is_directory(home / DIRECTORIES[version]):
        return ""
    later = sorted(entry.name for entry in entries_in(home) if _LATER.fullmatch(entry.name))
    return f"This Codex keeps its memory in {later[-1]}/, which Reverie does not know." if later else NO_STORE


def settings(home: Path) -> Mapping[str, Any]:
    """Return `[memories]` of config.toml; empty where it cannot be read."""
    return _table(home, "memories")


def features(home: Path) -> Mapping[str, Any]:
    """Return `[features]` of config.toml; empty where it cannot be read."""
    return _table(home, "features")


def is_of_today(home: Path, places: tuple[Path, ...]) -> bool:
    """Return whether a Codex with one store for all projects has worked in this home.

    `places`: where its databases may lie. Such a Codex never reads the first generation's memories per
    working directory.
    """
    if is_directory(home / DIRECTORIES["v2"]) or is_directory(home / DIRECTORIES["v1"] / ".git"):
        return True
    return any(
        MEMORY_DATABASES["v1"].fullmatch(name) or MEMORY_DATABASES["v2"].fullmatch(name)
        for place in places
        for name in file_names(place, [])
    )


def file_rule(version: Version, rel: str) -> FileRule:
    """Return whether a file of the store may be changed."""
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
    """Return how a consolidation by Reverie treats a file of the store."""
    if rel == NOTES or rel.startswith(f"{NOTES}/"):
        return "kept"
    if rel in (SUMMARY, HANDBOOK) or rel.startswith(("skills/", "extensions/")):
        return "document"
    return "memory"


def note_path(title: str, at_ms: int, source: str = "") -> str:
    """Return the path of a new note to Codex, below the store.

    `source`: the id of what it was made from, so that two notes with the same second and title have different
    names.
    """
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    # The end of an id: Codex's ids begin with the time, which two sessions may share.
    tail = re.sub(r"[^a-z0-9]+", "", source.lower())[-_SOURCE_CHARS:]
    longest = _SLUG_CHARS - (len(tail) + 1 if tail else 0)
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:longest].strip("-") or "note"
    return f"{NOTES}/{at}-{slug}{f'-{tail}' if tail else ''}.md"


def refuse_content(version: Version, rel: str, before: bytes | None, after: bytes | None) -> None:
    """Raise `StoreError` where Codex would refuse the store with this file, or load junk from it."""
    if rel == SUMMARY or (rel == HANDBOOK and version == "v1"):
        if after is None:
            raise _refused(
                rel, "Codex does not accept its memory without this file.", "Empty a section instead."
            )
    elif after is None:
        return
    if rel.startswith(f"{NOTES}/") and before is not None and after != before:
        raise _refused(rel, "A note to Codex is written once and never changed.", "Write another note.")
    if rel.startswith("skills/"):
        return
    starts_with_front_matter = _FRONT_MATTER.match(after) is not None
    had_front_matter = before is not None and _FRONT_MATTER.match(before) is not None
    if starts_with_front_matter and (rel in (SUMMARY, HANDBOOK) or not had_front_matter):
        raise _refused(
            rel,
            "Codex takes front matter for text, and may refuse the file.",
            "Leave out the lines from --- to ---.",
        )
    if rel in (SUMMARY, HANDBOOK):
        if after.startswith(_BOM):
            raise _refused(rel, "It begins with a byte order mark.", "Save it without one.")
        try:
            text = after.decode("utf-8")
        except UnicodeDecodeError:
            raise _refused(
                rel, "It is not valid UTF-8, and Codex would load nothing of it.", "Convert it to UTF-8."
            ) from None
        if rel == SUMMARY:
            _refuse_summary(version, text, len(after))


def _refuse_summary(version: Version, text: str, size: int) -> None:
    if text.partition("\n")[0].removesuffix("\r") != "v1":
        raise _refused(
            SUMMARY,
            "Its first line must be exactly v1, in both memory versions.",
            "Put v1, alone, into the first line.",
        )
    if version == "v1":
        return
    if size > SUMMARY_BYTES:
        raise _refused(
            SUMMARY,
            f"It would have {size:,} bytes; Codex accepts at most {SUMMARY_BYTES:,}.",
            "Shorten it.",
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
        f"Codex would not accept this {rel}.", cause=cause, next_step=next_step, reason="agent-refuses"
    )


def _table(home: Path, name: str) -> Mapping[str, Any]:
    found = config(home)[0].get(name)
    return found if isinstance(found, dict) else {}


MOST_DIRECTORIES = 8
MOST_FILES = 60
"""Maximum for all siblings together: they are shown in one list."""
_MOST_ENTRIES = 2_000
_DEPTH = 4
_MEMORY_LIKE = re.compile(r"memor(?:y|ies)", re.IGNORECASE)
_TEXTS = (".md", ".txt", ".json", ".jsonl", ".toml", ".yaml", ".yml")
_CREDENTIALS = frozenset({"auth.json", "credentials.json"})
"""Files that are never opened. Other files may have any name: a note about secrets is a note."""
READ_ONLY = "Reverie does not know this kind of Codex memory: it is only shown, never changed."


def sibling_names(home: Path, used: str) -> tuple[str, ...]:
    """Return the directories in a home that look like memories, in order, without the one that Codex uses."""
    found = [
        entry.name
        for entry in entries_in(home)
        if entry.name != used
        and not entry.name.startswith(".")
        and _MEMORY_LIKE.search(entry.name)
        and _is(entry, directory=True)
    ]
    return tuple(sorted(found)[:MOST_DIRECTORIES])


def siblings(home: Path, used: str, why: Mapping[str, str]) -> tuple[Companion, ...]:
    """Return the files beside the version in use, each read-only (sections 4 and 10.1).

    They are those of the other version, and of directories of an unknown or older generation. Codex does not
    read them, or its treatment of them is unknown, so they are shown and never written. Bounded, since such a
    directory may hold anything; links are not followed. `why`: the reason for directories that Reverie knows,
    by name.
    """
    names = sibling_names(home, used)
    paths = (
        (path, why.get(name, READ_ONLY))
        for name in names
        for path in _texts(home / name, _DEPTH, [_MOST_ENTRIES], skip=BUCKET if name == "memories" else None)
    )
    return tuple(
        Companion(Scope.GLOBAL, path, path.relative_to(home).as_posix(), True, reason, read_only=reason)
        for path, reason in islice(paths, MOST_FILES)
    )


def _texts(
    directory: Path, depth: int, room: list[int], skip: re.Pattern[str] | None = None
) -> Iterator[Path]:
    """Yield text files before directories, by name.

    `room` counts down the entries that may still be read. `skip`: directories with these names are shown
    elsewhere.
    """
    entries = sorted(islice(entries_in(directory), room[0]), key=lambda entry: entry.name)
    room[0] -= len(entries)
    entries = [entry for entry in entries if not entry.name.startswith(".")]
    for entry in entries:
        texts = entry.name.lower().endswith(_TEXTS) and entry.name.lower() not in _CREDENTIALS
        if texts and _is(entry, directory=False):
            yield Path(entry.path)
    for entry in entries:
        if depth > 1 and _is(entry, directory=True) and not (skip and skip.fullmatch(entry.name)):
            yield from _texts(Path(entry.path), depth - 1, room)


def _is(entry: os.DirEntry[str], *, directory: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) if directory else entry.is_file(follow_symlinks=False)
    except OSError:
        return False


MOST_SUMMARIES = 200
"""Maximum for one project; the newest by name."""
_HEAD_BYTES = 4096
_DOCUMENT_BYTES = 4 << 20
_HERE = "Shown here because it is about this project."
_ELSEWHERE = "Open it under Global to edit it."
_CWD = re.compile(r"^cwd:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_APPLIES = re.compile(r"^applies_to:[^\n]*?\bcwd=([^;\n]+)", re.MULTILINE)


def project_files(store: Path, project_path: str) -> Iterator[Companion]:
    """Yield the files of the store about a project, each read-only; newest rollout summaries first.

    A rollout summary names its directory in its `cwd:` line, a block of the handbook (version 1) in
    `applies_to: cwd=…`, the summary of version 2 in a heading. The files are listed under the project, and
    edited under Global (sections 3 and 10.4).
    """
    wanted = {project_path, normalised_cwd(project_path)}
    for name, note in ((HANDBOOK, _handbook_note), (SUMMARY, _summary_note)):
        said = note(store / name, wanted)
        if said:
            yield _shown(store, store / name, said)
    names = (name for name in reversed(file_names(store / "rollout_summaries", [])) if name.endswith(".md"))
    paths = (store / "rollout_summaries" / name for name in names)
    own = ((path, *_head(path)) for path in paths)
    of_project = ((path, title) for path, cwd, title in own if cwd in wanted)
    for path, title in islice(of_project, MOST_SUMMARIES):
        # The name alone: all lie in one directory, which would push what differs out of a narrow row.
        shown = _shown(store, path, "Its cwd line names this project.")
        yield replace(shown, label=path.name, about=title)


def _shown(store: Path, path: Path, note: str) -> Companion:
    label = path.relative_to(store).as_posix()
    rule = file_rule("v2", label)
    reason = _ELSEWHERE if rule.kind == "editable" else rule.sentence
    return Companion(Scope.PROJECT, path, label, True, note, read_only=f"{_HERE} {reason}")


def _handbook_note(path: Path, wanted: set[str]) -> str:
    """Return a sentence naming the task groups of the project, by their lines."""
    found, first, title = [], 0, ""
    lines = _lines(path)
    for number, line in enumerate((*lines, "# Task Group: "), start=1):
        if line.startswith("# Task Group: "):
            block = "\n".join(lines[first - 1 : number - 1]) if first else ""
            if any(cwd.strip() in wanted for cwd in _APPLIES.findall(block)):
                found.append(f"{title} (lines {first}-{number - 1})")
            first, title = number, line.removeprefix("# Task Group: ").strip()
    return f"Task groups about this project: {', '.join(found)}." if found else ""


def _summary_note(path: Path, wanted: set[str]) -> str:
    """Return a sentence naming the lines of the summary below a heading with the project's path."""
    first = 0
    lines = _lines(path)
    for number, line in enumerate((*lines, "## "), start=1):
        if first and re.match(r"#{1,3} ", line):
            return f"Lines {first}-{number - 1} are about this project."
        if line.startswith("### ") and line.removeprefix("### ").strip().strip("`") in wanted:
            first = number
    return ""


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path, _DOCUMENT_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _head(path: Path) -> tuple[str, str]:
    try:
        status = path.stat()
        return _head_of(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return "", ""


@lru_cache(maxsize=4096)
def _head_of(path: Path, _mtime_ns: int, _size: int) -> tuple[str, str]:
    """Return the `cwd:` line and the first heading of a rollout summary; empty for none.

    Cached until the file changes.
    """
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        beginning = file.read(_HEAD_BYTES)
    head = beginning.decode("utf-8", "replace").replace("\r\n", "\n")
    found = _CWD.search(head.partition("\n\n")[0])
    return found[1] if found else "", first_heading(beginning)


SUMMARY_TOKENS = 2_500
INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
"""Instruction files in the home; the first one with content is loaded."""

PROJECT_DOC = "\n\n--- project-doc ---\n\n"
"""The separator between the instructions of the home and those of the project."""
PROJECT_BYTES = 32 << 10
"""Maximum size of a project's loaded instructions, unless the settings change it."""
PIECE_BYTES = 8_900
"""Version 2 sends a longer memory block in two pieces."""

_BYTES_PER_TOKEN = 4
_AROUND_V2 = 2_034
_PATHS_V2 = 3
"""The text that version 2 puts around the summary has `_AROUND_V2` bytes and this many times the memory's
path."""
_NOT_SPACE = "\x1c\x1d\x1e\x1f"
"""White space to Python, but not to Codex."""
_MOST_DIRECTORIES = 200
_REPOSITORY = "It belongs to the project's repository: others may get the change."


class Loaded(Struct, frozen=True):
    """A text as it is loaded.

    `head` and `tail`: number of characters kept from both ends of the original; `removed_tokens`: the number
    in the marker; all 0 for a text that is loaded in full.
    """

    text: str
    head: int = 0
    tail: int = 0
    removed_tokens: int = 0

    @property
    def is_cut(self) -> bool:
        return self.removed_tokens > 0


def tokens_of(text: str) -> int:
    """Return the number of tokens as Codex estimates it: a quarter of the bytes, rounded up."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def loaded_summary(text: str, tokens: int = SUMMARY_TOKENS) -> Loaded:
    """Return the loaded part of the summary; empty text: nothing."""
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
    """Return at most `tokens` of a text: half from each end, with a marker between them.

    No character is cut.
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
    """The settings of a home about its prompt."""

    off: str = ""
    """The setting that keeps Codex from loading memories; empty where it loads them."""
    version: Version = "v2"
    """The version of the memory in use."""
    project_bytes: int = PROJECT_BYTES
    """Maximum size of the project's loaded instructions; 0 for none."""
    names: tuple[str, ...] = INSTRUCTIONS
    """Instruction file names in a directory of the project; the first existing one counts."""
    markers: tuple[str, ...] = (".git",)
    """Names that mark the root of a project."""


def prompt_settings(root: Path) -> PromptSettings:
    """Return the prompt settings of the home at `root`; unreadable ones count as not set."""
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
    """Return whether the memory in use was reset and Codex has not started since.

    That is the case when its directory exists and is empty, although Codex has consolidated in it. When Codex
    makes the directory it fills it at once.
    """
    name = DIRECTORIES[version_in_use(home).name]
    return is_file(home / f"{name}.lock") and is_directory(home / name) and not any(entries_in(home / name))


def memory_pieces(version: Version, directory: Path, summary: str) -> int:
    """Return the number of pieces in which Codex sends a summary with its surrounding text; 0 for none."""
    if not summary:
        return 0
    size = _AROUND_V2 + _PATHS_V2 * len(os.fsencode(directory)) + len(summary.encode())
    return 2 if version == "v2" and size > PIECE_BYTES else 1


def project_documents(cwd: Path, settings: PromptSettings) -> tuple[Path, ...]:
    """Return the instruction files of a working directory's project, in loading order.

    One file of each directory from the root of the project on. In a directory with an override only that
    counts, even if it is empty.
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
    """Return the instruction files of a project as companions, in loading order."""
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
    """Return the loaded text of the project's instructions, and how many bytes of each are used.

    Texts are unchanged, until the budget is used up. Blank ones are left out.
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
    """Return the message with the instructions, as Codex sends it; empty for none.

    `home` is trimmed.
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
    """Return the plain file names in a list from the settings."""
    given = value if isinstance(value, list) else ()
    return tuple(
        name for name in given if isinstance(name, str) and name and "/" not in name and "\0" not in name
    )
