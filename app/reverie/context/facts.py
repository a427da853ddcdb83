"""What the context of an agent is made from: read once, put together as often as one likes.

`gather` reads; everything after it is pure, so that an edit, a pin or another time is answered at once. What
was read before is read again only where the file looks changed.

Threading: `gather` blocks; any thread but the GUI's. Failure: a file that cannot be read has no data, and the
view says so; a home that vanished raises `Unavailable`. Looking opens files for reading and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from reverie.context.claude_recorded import NOTHING, SessionRecord, read_record
from reverie.context.marks import marks_of
from reverie.failures.lessons import SWITCH, Retrieved, is_on, retrieve
from reverie.files.regular import read_regular
from reverie.files.there import is_file, is_link
from reverie.homes.base import Home
from reverie.homes.claude import ClaudeHome
from reverie.homes.claude_index import INDEX
from reverie.homes.codex import CodexHome
from reverie.homes.codex_prompt import SUMMARY, PromptSettings, prompt_settings
from reverie.homes.listing import Companion, Loading
from reverie.homes.loki import LokiHome
from reverie.homes.scopes import Caps, Scope, ScopeContext
from reverie.homes.unopened import never_opened
from reverie.memory.hotset import BUDGETS, Candidate, ranked
from reverie.memory.lint import LintFinding
from reverie.memory.listing import IndexEntry, index_entries
from reverie.memory.paths import memory_path
from reverie.memory.scanning import is_gone, read_rel
from reverie.memory.scope_listing import MemoryFile, ScopeListing

COMPANION_BYTES = 4 << 20
UNREAD: frozenset[Loading] = frozenset({"approval", "excluded", "too-large", "unopened"})
"""Companions that are listed and not opened: nothing of them is loaded."""
SCOPES = (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE)
"""In the order of the agents' own lists."""

Stamp = tuple[int, int, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Text:
    """The beginning of a file. `data` None: it cannot be read; `stamp` tells its version from others."""

    data: bytes | None
    size: int
    stamp: Stamp
    findings: tuple[LintFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
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
    lessons: Mapping[int, Retrieved] = field(default_factory=dict)
    prompt: PromptSettings | None = None
    """What the settings of Codex say of its prompt; None for other agents."""
    record: SessionRecord = NOTHING
    """What the transcripts of a Claude Code home record of the session and its project."""
    loads_nothing: str = ""
    """The variable that keeps Claude Code from loading instructions and memory; empty for none."""
    moved_by_project: bool = False
    """Whether the project's own settings put its memory in another place."""
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was worked out of these facts before; whoever puts it in sees that it follows from them alone."""

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


def gather(
    home: Home,
    context: ScopeContext,
    listings: Mapping[Scope, ScopeListing],
    *,
    times: Iterable[int],
    before: Facts | None = None,
) -> Facts:
    """Everything that a view at one of `times` needs. `before`: facts of the same home, to start from."""
    reader = _Reader(home, before if before is not None and before.agent == home.kind else None)
    companions = home.companions(context)
    facts = Facts(home.kind, home.caps, context, listings, companions, reader.texts)
    for companion in companions:
        if companion.exists and not companion.unopened and companion.loading not in UNREAD:
            reader.companion(companion.path)
    off = ""
    prompt: PromptSettings | None = None
    lessons: dict[int, Retrieved] = {}
    record = NOTHING
    if isinstance(home, CodexHome):
        prompt = prompt_settings(home.root)
        off = prompt.off
        reader.named(facts, lambda scope, rel: rel == SUMMARY)
    elif isinstance(home, ClaudeHome):
        off = home.memory_off(context)
        facts = replace(
            facts,
            loads_nothing=home.loads_nothing(context),
            moved_by_project=home.moved_by_project(context),
        )
        reader.named(facts, lambda scope, rel: scope is Scope.PROJECT and rel == INDEX)
        record = read_record(home, context)
        reader.linked_index(facts)
    elif isinstance(home, LokiHome):
        on = is_on(os.environ)
        off = "" if on else SWITCH
        lessons = {at: retrieve(home.memory, now_ms=at, on=on) for at in times}
    elif home.kind == "mux":
        reader.hot(facts, times)
    return replace(
        facts,
        texts=dict(reader.texts),
        off=off,
        lessons=lessons,
        prompt=prompt,
        record=record,
        memo={},
    )


def candidates(entries: Iterable[IndexEntry]) -> list[Candidate]:
    """Entries of the index as the hot set ranks them."""
    return [
        Candidate(entry["path"], entry["pinned"], entry["accessCount"], entry["lastAccessedAt"])
        for entry in entries
    ]


class _Reader:
    """Reads files into `texts`, those unchanged from the facts before."""

    def __init__(self, home: Home, before: Facts | None) -> None:
        self.texts: dict[str, Text] = {}
        self._caps = home.caps
        self._before: Mapping[str, Text] = {} if before is None else before.texts

    def companion(self, path: Path) -> None:
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            if self._keep(key, stamp):
                return
            data: bytes | None = read_regular(path, COMPANION_BYTES)
        except OSError as error:
            is_gone(error)
            data, stamp = None, (0, 0, 0)
        self._put(key, data, stamp[0], stamp, path.name)

    def named(self, facts: Facts, wanted: Callable[[Scope, str], bool]) -> None:
        """The memories whose scope and path say so, in full."""
        for scope in SCOPES:
            for file in facts.files(scope):
                if wanted(scope, file.rel):
                    self._memory(facts, scope, file, file.size)

    def linked_index(self, facts: Facts) -> None:
        """The index where it is a link, which the agent follows; other links are no memories."""
        listing = facts.listings.get(Scope.PROJECT)
        if listing is None or listing.root is None:
            return
        path = listing.root.directory / INDEX
        if is_link(path) and is_file(path) and not never_opened(path, Path(os.path.realpath(path))):
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            try:
                data: bytes | None = read_regular(path, COMPANION_BYTES)
            except OSError as error:
                is_gone(error)
                data = None
            self._put(str(memory_path(Scope.PROJECT, INDEX)), data, status.st_size, stamp, INDEX)

    def hot(self, facts: Facts, times: Iterable[int]) -> None:
        """What the hot set may want to read at any of `times`."""
        entries = candidates(facts.index())
        wanted = {each.candidate.path for at in times for each in ranked(entries, at)[: BUDGETS.tries]}
        for scope in SCOPES:
            for file in facts.files(scope):
                if str(memory_path(scope, file.rel)) in wanted:
                    self._memory(facts, scope, file, BUDGETS.item_bytes + 1)

    def _memory(self, facts: Facts, scope: Scope, file: MemoryFile, limit: int) -> None:
        root = facts.listings[scope].root
        assert root is not None  # a listing with files has one
        key, stamp = str(memory_path(scope, file.rel)), (file.size, file.mtime_ns, file.inode)
        if self._keep(key, stamp):
            return
        data: bytes | None
        try:
            _status, data = read_rel(os.fspath(root.directory), file.rel, limit)
        except OSError as error:
            is_gone(error)
            data = None
        self._put(key, data, file.size, stamp, file.rel)

    def _keep(self, key: str, stamp: Stamp) -> bool:
        known = self._before.get(key)
        if known is None or known.stamp != stamp or known.data is None:
            return False
        self.texts[key] = known
        return True

    def _put(self, key: str, data: bytes | None, size: int, stamp: Stamp, rel: str) -> None:
        findings = () if data is None else marks_of(data, self._caps, rel, size)
        self.texts[key] = Text(data, size, stamp, findings)
