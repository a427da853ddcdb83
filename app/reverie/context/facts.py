"""What the context of an agent is made from: read once, assembled as often as needed.

`context.gather` reads; everything here is pure, so that an edit, a pin or another time is answered at once.

Threading: frozen, safe to hand between threads; it may cross the wire. Failure: none; a file that could not
be read has no data, and the view says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from reverie.agents.base import Companion, Loading
from reverie.agents.claude.settings import FailedImport
from reverie.agents.claude.transcript import RECALL_BYTES, LoadedFile
from reverie.agents.codex.store import PromptSettings
from reverie.agents.memory_index import INDEX
from reverie.agents.scopes import Caps, Scope, ScopeContext
from reverie.context.view import ContextEntry, ContextPart, Gauge, Note, Reason, State
from reverie.failures.lessons import Retrieved
from reverie.memory.lint import lint
from reverie.memory.listing import IndexEntry, LintFinding, MemoryFile, ScopeListing, index_entries
from reverie.memory.paths import memory_path
from reverie.memory.usage import HotCandidate
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, field, replace

# What a session of Claude Code loaded, as its transcript records it (formats/claude-code.md sections 12.1.4
# and 12.1.14), beside what a new session would load by Reverie's rules; the two check each other. Each file
# is the same, changed since the record, or different without a change that explains it. In recall mode the
# program loads no index but chooses memories for each prompt; the index part then says so.


class SessionRecord(Struct, frozen=True):
    """What the transcripts of a context record."""

    files: tuple[LoadedFile, ...] = ()
    """What the chosen session has in its context, in order."""
    at: int | None = None
    """When it was recorded, UTC ms; None where the session records nothing."""
    running: bool = False
    """Whether the process of the session lives."""
    modified: Mapping[str, int] = field(default_factory=dict)
    """When each of `files` was changed last, ns; those that are not there now are left out."""
    recalls: bool = False
    """Whether the project's newest sessions recall memories instead of loading the index."""
    recalled: Mapping[str, int] = field(default_factory=dict)
    """How often those sessions recalled each memory, by its path on disk."""


NOTHING = SessionRecord()


# The view


def with_record(
    parts: tuple[ContextPart, ...], facts: ContextFacts, drafted: Collection[str]
) -> tuple[ContextPart, ...]:
    """The parts of a new session, corrected for recall mode, then what the chosen session loaded. `drafted`:
    the memory paths that have unsaved text."""
    record = facts.record
    if record.recalls:
        parts = tuple(_recalling(part, facts) if part.key == "index-file" else part for part in parts)
    if record.at is None:
        return parts
    return (*parts, _recorded_part(record, record.at, parts, facts, drafted))


class _Predicted(Struct, frozen=True):
    """A file that a new session would load."""

    entry: ContextEntry
    text: str
    modified_ns: int
    """0 where it is not known."""
    drafted: bool = False


def _recorded_part(
    record: SessionRecord,
    at: int,
    parts: tuple[ContextPart, ...],
    facts: ContextFacts,
    drafted: Collection[str],
) -> ContextPart:
    predicted = dict(_predicted(parts, facts, drafted))
    entries = []
    for each in record.files:
        other = predicted.pop(facts.real_path(each.path), None)
        reason = _verdict(each, other, record.modified.get(each.path), at)
        size = len(each.text.encode("utf-8", "surrogatepass"))
        entries.append(
            ContextEntry(
                other.entry.path if other is not None else each.path,
                "in",
                reason,
                size=size,
                bytes=size,
                tokens=estimate_tokens(each.text),
                file=Path(each.path),
                description=each.kind,
            )
        )
    for path, other in predicted.items():
        newer = other.drafted or other.modified_ns // 1_000_000 > at
        missed: Reason = "recorded-new" if newer else "recorded-missed"
        entries.append(ContextEntry(other.entry.path, "out", missed, size=other.entry.size, file=Path(path)))
    differ = sum(entry.reason in _DIFFERENCES for entry in entries)
    notes: list[Note] = ["recorded"]
    notes += ["session-runs"] if record.running else []
    notes.append("rules-differ" if differ else "rules-agree")
    gauges = (
        Gauge("bytes", sum(entry.bytes for entry in entries)),
        Gauge("tokens", sum(entry.tokens for entry in entries)),
        Gauge("files", len(record.files)),
    )
    text = "\n".join(each.text for each in record.files)
    return ContextPart("recorded", tuple(entries), gauges, text, tuple(notes), str(differ))


_DIFFERENCES: frozenset[Reason] = frozenset({"recorded-other", "recorded-only", "recorded-missed"})
"""What neither a change of the file nor its absence explains."""


def _verdict(each: LoadedFile, other: _Predicted | None, modified_ns: int | None, at: int) -> Reason:
    """How a file that the session loaded stands to what a new session would load."""
    if modified_ns is None and other is None:
        return "recorded-gone"
    changed = (modified_ns or 0) // 1_000_000 > at
    if other is None:
        return "recorded-changed" if changed else "recorded-only"
    # After a cut the agent adds a warning of its own.
    cut = other.entry.state == "cut" and each.text.startswith(other.text.rstrip("\r\n") + "\n")
    if other.text == each.text or cut:
        return "recorded-same"
    return "recorded-changed" if changed or other.drafted else "recorded-other"


def _predicted(
    parts: tuple[ContextPart, ...], facts: ContextFacts, drafted: Collection[str]
) -> Iterator[tuple[str, _Predicted]]:
    """Every file that a new session would load, by its path on disk."""
    listing = facts.listings.get(Scope.PROJECT)
    index_path = str(memory_path(Scope.PROJECT, INDEX))
    for part in parts:
        for entry in part.loaded:
            if part.key == "instructions" and entry.file is not None:
                stamp = facts.texts[str(entry.file)].stamp
                yield facts.real_path(str(entry.file)), _Predicted(entry, entry.text, stamp[1])
            elif facts.off:
                continue  # it is shown as what would be loaded, if the memory were on
            elif part.key == "index-file" and entry.path == index_path and listing and listing.root:
                known = facts.texts.get(index_path)
                modified = 0 if known is None else known.stamp[1]
                path = facts.real_path(str(listing.root.directory / INDEX))
                yield path, _Predicted(entry, entry.text, modified, index_path in drafted)


def _memory_key(path: str, facts: ContextFacts) -> str:
    """A memory's path in a home, also where the home was moved since it was recorded."""
    _above, found, below = path.replace("\\", "/").rpartition("/projects/")
    return below if found else facts.real_path(path)


def _recalling(part: ContextPart, facts: ContextFacts) -> ContextPart:
    """The index part of a project whose sessions recall memories instead of loading the index."""
    listing = facts.listings.get(Scope.PROJECT)
    directory = listing.root.directory if listing is not None and listing.root is not None else None
    index = str(memory_path(Scope.PROJECT, INDEX))
    recalled = {_memory_key(path, facts): times for path, times in facts.record.recalled.items()}
    entries = []
    long = 0
    for entry in part.entries:
        if entry.path in (index, INDEX):
            reason: Reason = "missing" if entry.reason == "missing" else "recall-index"
            entries.append(replace(entry, state="out", reason=reason, bytes=0, tokens=0, text=""))
            continue
        rel = entry.path.removeprefix(f"{memory_path(Scope.PROJECT, '')}/")
        times = recalled.get(_memory_key(str(directory / rel), facts), 0) if directory is not None else 0
        is_long = entry.size > RECALL_BYTES
        long += is_long
        entries.append(
            replace(
                entry,
                state="out",
                reason="recall-long" if is_long else "recalled" if times else "on-demand",
                detail=str(times) if times else "",
            )
        )
    notes: tuple[Note, ...] = ("recall-mode", "recall-long") if long else ("recall-mode",)
    gauges = (Gauge("bytes", 0), Gauge("tokens", 0))
    kept = tuple(note for note in part.notes if note != "cut-warning")
    return replace(
        part, entries=tuple(entries), gauges=gauges, text="", notes=(*kept, *notes), cut_line=None, marked=()
    )


# Marks: text that looks like a secret or an instruction, or hides something. Results are remembered for the
# newest texts, since most of them stay while one is typed.


_KINDS = frozenset({"secret", "instruction", "hidden", "bidi"})
Marks = tuple[LintFinding, ...]


def marks_of(data: bytes, caps: Caps, rel: str, size: int) -> Marks:
    """The marks of a file that begins with `data`."""
    return tuple(each for each in lint(data, caps, rel=rel, size=size) if each.kind in _KINDS)


@lru_cache(maxsize=32)
def marks_in(text: str, caps: Caps) -> Marks:
    """The marks of a text as it is loaded; their lines are its own."""
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


@lru_cache(maxsize=4096)
def marks_in_line(text: str, caps: Caps) -> Marks:
    """`marks_in` for what is short and stands among many: a description, a lesson."""
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


def marked_lines(pieces: Iterable[tuple[int, Marks]]) -> tuple[int, ...]:
    """The lines of a text that are marked, from 1. Of each piece of it: the line it begins on, its marks."""
    return tuple(sorted(set(_lines(pieces))))


def _lines(pieces: Iterable[tuple[int, Marks]]) -> Iterator[int]:
    for first, marks in pieces:
        yield from (first + mark.line - 1 for mark in marks if mark.line)


UNREAD: frozenset[Loading] = frozenset({"approval", "excluded", "too-large", "unopened"})
"""Companions that are listed and not opened: nothing of them is loaded."""
SCOPES = (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE)
"""In the order of the agents' own lists."""

Stamp = tuple[int, int, int]
T = TypeVar("T")


class Text(Struct, frozen=True):
    """The beginning of a file. `data` None: it cannot be read; `stamp` tells its version from others."""

    data: bytes | None
    size: int
    stamp: Stamp
    findings: tuple[LintFinding, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class ContextFacts:
    """`texts` by memory path, or by the path of a companion. `off`: what switches the agent's memories off,
    as far as its settings tell; empty where they are on. `lessons`: what an agent that learns from failures
    would be told, by time."""

    agent: str
    caps: Caps
    context: ScopeContext
    listings: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]
    texts: Mapping[str, Text]
    off: str = ""
    lessons: Mapping[int, Retrieved] = dataclasses.field(default_factory=dict)
    prompt: PromptSettings | None = None
    """What the settings of Codex say of its prompt; None for other agents."""
    record: SessionRecord = NOTHING
    """What the transcripts of a Claude Code home record of the session and its project."""
    loads_nothing: str = ""
    """The variable that keeps Claude Code from loading instructions and memory; empty for none."""
    failed_imports: tuple[FailedImport, ...] = ()
    """What Claude Code's instruction files import in vain."""
    memory_outside: str = ""
    """Where the project's own settings put its memory, as a sentence, if Reverie does not follow them."""
    moved_by_project: bool = False
    """Whether the project's own settings put its memory in another place."""
    real_paths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where those of the paths in here lead that are written in another way than the system would."""
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, compare=False, repr=False)
    """What was worked out of these facts before; whoever puts it in sees that it follows from them alone."""

    def real_path(self, path: str) -> str:
        """A path as the record and the listings agree on it."""
        return self.real_paths.get(path, path)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` gives, worked out once."""
        if key not in self.memo:
            self.memo[key] = make()
        found: T = self.memo[key]
        return found

    def files(self, scope: Scope) -> tuple[MemoryFile, ...]:
        """The memories of a scope; none where the scope is unavailable or only its names were read."""
        listing = self.listings.get(scope)
        return () if listing is None or listing.names_only else listing.files

    def index(self) -> list[IndexEntry]:
        """The agent's index: global, project, workspace."""
        return [
            entry
            for scope in SCOPES
            if (listing := self.listings.get(scope)) is not None and not listing.names_only
            for entry in index_entries(listing, scope, self.caps)
        ]


class GatheredContext(Struct, frozen=True):
    """What an engine gathered for a client. `facts` have no listings: the client has them from its trees."""

    facts: ContextFacts
    glance: Mapping[str, Any] | None
    """What was seen of this context before, see `context.view.Glances`; None for never."""


def candidates(entries: Iterable[IndexEntry]) -> list[HotCandidate]:
    """Entries of the index as the hot set ranks them."""
    return [
        HotCandidate(entry["path"], entry["pinned"], entry["accessCount"], entry["lastAccessedAt"])
        for entry in entries
    ]


# The files that an agent loads beside its memories, in its own order, in full. Pure.


Judge = Callable[[Companion, str], tuple[State, Reason]]
"""Whether a companion with this text is loaded, and why."""


def loaded_always(_companion: Companion, text: str) -> tuple[State, Reason]:
    """Every file that says something is loaded."""
    return ("in", "loaded") if text.strip() else ("out", "empty")


def instructions_part(
    facts: ContextFacts,
    judge: Judge = loaded_always,
    count: Callable[[str], int] = estimate_tokens,
    told: Callable[[str], str] = str,
    between: str = "\n",
) -> tuple[ContextPart, ...]:
    """The companions that exist, one after another; no part without any. `told`: what of a text is loaded.
    `between`: what divides the texts where they are shown as one."""
    entries: list[ContextEntry] = []
    texts: list[str] = []
    pieces: list[tuple[int, Marks]] = []
    line = 1
    for companion in facts.companions:
        if not companion.exists:
            continue
        if companion.unopened or companion.loading in UNREAD:
            state, reason = judge(companion, "")
            state = "out" if companion.unopened else state
            entries.append(
                ContextEntry(companion.label, state, reason, file=companion.path, detail=companion.note)
            )
            continue
        text = facts.texts.get(str(companion.path))
        if text is None or text.data is None:
            entries.append(ContextEntry(companion.label, "out", "unreadable", file=companion.path))
            continue
        said = told(text.data.decode("utf-8", "replace"))
        state, reason = judge(companion, said)
        is_in = state != "out"
        entries.append(
            ContextEntry(
                companion.label,
                state,
                reason,
                size=text.size,
                bytes=len(said.encode()) if is_in else 0,
                tokens=count(said) if is_in else 0,
                file=companion.path,
                description=str(companion.path),
                detail=companion.note,
                marks=text.findings,
                text=said if is_in else "",
            )
        )
        if is_in:
            texts.append(said)
            pieces.append((line, marks_in(said, facts.caps)))
            line += said.count("\n") + between.count("\n")
    if not entries:
        return ()
    used = sum(entry.bytes for entry in entries), sum(entry.tokens for entry in entries)
    gauges = (Gauge("bytes", used[0]), Gauge("tokens", used[1]), Gauge("files", len(texts)))
    whole, marked = between.join(texts), marked_lines(pieces)
    return (
        ContextPart("instructions", tuple(entries), gauges, whole, ("one-after-another",), marked=marked),
    )
