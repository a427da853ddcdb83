"""The facts from which an agent's context is assembled: read once, used as often as needed.

`context.gather` reads the facts. Everything here is pure, so the context can be assembled again at once after
an edit or a pin, or for another time.

Threading: frozen, safe to pass between threads; may cross the wire. Failure: none; a file that could not be
read has no data, and the view reports this.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from reverie.agents.base import Companion, Loading
from reverie.agents.capabilities import FailedImport
from reverie.agents.claude.attachments import LoadedFile
from reverie.agents.codex.prompt import PromptSettings
from reverie.agents.scopes import Caps, Scope, ScopeContext
from reverie.failures.lessons import Retrieved
from reverie.memory.hot_set import HotCandidate
from reverie.memory.listing import IndexEntry, LintFinding, MemoryFile, ScopeListing, index_entries
from reverie.values import Struct, field


class SessionRecord(Struct, frozen=True):
    """What transcripts of Claude Code record about the context of one session and about its project."""

    files: tuple[LoadedFile, ...] = ()
    """The files that the session has in its context, in order."""
    at: int | None = None
    """The time of this record in UTC ms; None if the session records nothing."""
    running: bool = False
    """Whether the process of the session is alive."""
    modified: Mapping[str, int] = field(default_factory=dict)
    """Path of each of `files` that still exists -> modification time in ns."""
    recalls: bool = False
    """Whether the newest sessions of the project recall memories instead of loading the index.

    To recall is to choose memories for each prompt.
    """
    recalled: Mapping[str, int] = field(default_factory=dict)
    """Path on disk of a memory -> number of times that the newest sessions of the project recalled it."""


NOTHING = SessionRecord()


UNREAD: frozenset[Loading] = frozenset({"approval", "excluded", "too-large", "unopened"})
"""Loading states of companions that are listed but not opened, so that none of their text is loaded."""
SCOPES = (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE)
"""The scopes in the order of the agents' own lists."""

Stamp = tuple[int, int, int]
"""The size, modification time (ns) and inode of a file."""
T = TypeVar("T")


class Text(Struct, frozen=True):
    """The text of a file, or its beginning if the file is long."""

    data: bytes | None
    """The bytes; None if the file cannot be read."""
    size: int
    """The size of the whole file in bytes."""
    stamp: Stamp
    """Size, modification time (ns) and inode, which differ for another version of the file."""
    findings: tuple[LintFinding, ...] = ()
    """What a person should look at in the text, such as secrets."""


@dataclasses.dataclass(frozen=True, slots=True)
class ContextFacts:
    """All facts from which the context of an agent (the text that it loads at a session's start) is made.

    Fields for one kind of agent are empty for the others.
    """

    agent: str
    caps: Caps
    context: ScopeContext
    listings: Mapping[Scope, ScopeListing]
    """The memories of each scope."""
    companions: tuple[Companion, ...]
    """The files that the agent loads beside its memories."""
    texts: Mapping[str, Text]
    """The texts of the files that the context may contain, by memory path or by path on disk."""
    off: str = ""
    """The setting or variable because of which the agent loads no memories.

    Empty if it loads them, as far as its settings say.
    """
    lessons: Mapping[int, Retrieved] = dataclasses.field(default_factory=dict)
    """The lessons that an agent that learns from failures would get, by time (UTC ms)."""
    prompt: PromptSettings | None = None
    """The settings of Codex for its prompt; None for other agents."""
    record: SessionRecord = NOTHING
    """The record of the session and its project in the transcripts of a Claude Code home."""
    loads_nothing: str = ""
    """The variable that keeps Claude Code from loading instructions and memory; empty if none does."""
    failed_imports: tuple[FailedImport, ...] = ()
    """Imports in Claude Code's instruction files that load nothing."""
    memory_outside: str = ""
    """A sentence about a memory location in the project's own settings that Reverie does not follow.

    Empty if there is none.
    """
    moved_by_project: bool = False
    """Whether the project's own settings choose another directory for its memory."""
    real_paths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Path -> path with its links resolved, for the paths in these facts for which they differ."""
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, compare=False, repr=False)
    """Cached results; each must depend on these facts alone."""

    def real_path(self, path: str) -> str:
        """Return `path` with its links resolved, so that paths of transcripts and listings can be compared.

        Only paths that `context.gather` resolved are known; any other path is returned unchanged.
        """
        return self.real_paths.get(path, path)

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """Return the cached result for `key`, computing it with `make` the first time."""
        if key not in self.memo:
            self.memo[key] = make()
        found: T = self.memo[key]
        return found

    def files(self, scope: Scope) -> tuple[MemoryFile, ...]:
        """Return the memories of a scope; empty if it is unavailable or only its file names were read."""
        listing = self.listings.get(scope)
        return () if listing is None or listing.names_only else listing.files

    def index(self) -> list[IndexEntry]:
        """Return the entries of the agent's index, in the order of the scopes: global, project, workspace."""
        return [
            entry
            for scope in SCOPES
            if (listing := self.listings.get(scope)) is not None and not listing.names_only
            for entry in index_entries(listing, scope, self.caps)
        ]


class GatheredContext(Struct, frozen=True):
    """The facts about an agent's context that the engine sends to a client, such as a window."""

    facts: ContextFacts
    """The facts without listings of memories, because the client already has them."""
    glance: Mapping[str, Any] | None
    """The record of what the context contained when a person last looked at it (see `context.glances`).

    None if there is none.
    """


def candidates(entries: Iterable[IndexEntry]) -> list[HotCandidate]:
    """Return the index entries as candidates for the hot set, the memories that mux loads in full."""
    return [
        HotCandidate(entry["path"], entry["pinned"], entry["accessCount"], entry["lastAccessedAt"])
        for entry in entries
    ]
