"""What an agent's own background systems keep, say and wish: its jobs, its lock, where its memory writer and
its session notes lie, and what a dream means to its files. Values, and the one lock that is taken.

Threading: the values are immutable. An `AgentLock` belongs to the run that takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.agents.scopes import Scope, ScopeRoot


@dataclass(frozen=True, slots=True)
class ComparableText:
    """A memory's text without what only tells of the file itself (its name, where it came from): what has to
    be kept where two become one. Memories of different kinds never do; empty: no kind."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ConsolidatedFile:
    """A text of a root after a dream, with the name and description in its front matter (empty: none)."""

    text: str
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RootChange:
    """What a dream made of one root, by `rel`. `files`: all that stand there now; `gone`: those that do not
    any more, as they were; `moved`: old -> new path; `merged`: of `gone`, which memory took them over;
    `created`: new ones."""

    files: Mapping[str, ConsolidatedFile]
    gone: Mapping[str, ConsolidatedFile]
    moved: Mapping[str, str]
    merged: Mapping[str, str]
    created: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockBefore:
    """A lock file as it stood. `body` None: it was not there."""

    body: bytes | None
    mtime_ns: int


class AgentLock(Protocol):
    """The file by which an agent tells that it consolidates a store; whoever consolidates takes it."""

    @property
    def file(self) -> Path: ...
    @property
    def holder(self) -> int:
        """Who the lock names while we hold it."""

    def look(self) -> LockBefore:
        """How the lock stands now. Raises `Busy` while another process holds it."""

    def take(self, before: LockBefore) -> None:
        """Take the lock that stands as `look` saw it. Raises `Busy` where another was quicker."""

    def done(self, holder: int) -> None:
        """Give it back after a consolidation. Raises `Conflict` where `holder` does not hold it any more."""

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Make it what it was before. Raises `Conflict` where `holder` does not hold it any more."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """One of the agent's own gates, for the doctor."""

    check: str
    """Its name for scripts."""
    title: str
    state: Literal["pass", "warn", "fail"]
    evidence: str
    suspect: Path | None = None
    """A directory that turns something of the agent's off by being there, and that Reverie may have made."""
    at: int | None = None
    """When what the evidence speaks of happened (UTC ms); the doctor adds how long ago that is."""


@dataclass(frozen=True, slots=True)
class WriteLock:
    """A lock file that an agent holds (`flock`) while it rewrites a store."""

    file: Path
    agent: str
    """What the agent is called, for a sentence."""


@dataclass(frozen=True, slots=True)
class StatusLine:
    """What the agent itself says of one of its own jobs: read by Reverie, never written. `scope` None: about
    the whole home; `at` UTC ms."""

    scope: Scope | None
    label: str
    text: str
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    at: int | None = None


@dataclass(frozen=True, slots=True)
class AgentJob:
    """One background job in the agent's own books. `about` is what it works on in words, `source_id` the
    transcript, where it is one; times are UTC ms."""

    id: str
    kind: str
    about: str
    state: Literal["waiting", "running", "done", "failed", "stale"]
    sentence: str = ""
    at: int | None = None
    retry_at: int | None = None
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class MemoryKinds:
    """Which memories this home's agent loads, judged by what it keeps: one file a project, a store of project
    memories. None: nothing tells. `evidence` is a sentence."""

    project_file: bool | None = None
    project_store: bool | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class WriterPlace:
    """Where the agent's own memory writer keeps its things for one workspace. Nothing here need exist; all
    but `context_instructions` lies inside the home. `memory_file` and `memory_id`: the one file of the
    project, None and empty without a single project. Of each kind of instructions the first file that exists
    counts."""

    state_file: Path
    dump_directory: Path
    memory_file: Path | None
    memory_id: str
    instructions: tuple[Path, ...]
    context_instructions: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class NotesPlace:
    """Where the notes of one session lie: `rel` below `root`, a scope root of the home. `transcript` is the
    session's; `template` and `prompt` are a person's own texts for all sessions. Nothing here need exist."""

    root: ScopeRoot
    rel: str
    transcript: Path
    template: Path
    prompt: Path

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel


class SessionFacts(Protocol):
    """What counts for when session notes are due."""

    @property
    def messages(self) -> int:
        """Those of people and the model."""

    @property
    def context_tokens(self) -> int:
        """The whole context with the last answer."""

    @property
    def tool_calls(self) -> int: ...
    @property
    def last_uuid(self) -> str:
        """The id of the last message."""

    @property
    def calls_tools(self) -> bool:
        """Whether the last answer asks for tools: the model is in the middle of its work."""

    def tool_calls_since(self, uuid: str | None) -> int:
        """How many tools were called after this message; None: all; 0 where it is not there any more."""


class SessionScan(Protocol):
    """Follows one transcript; belongs to one thread at a time."""

    def update(self) -> SessionFacts:
        """Take in what was added since the last time; the facts as they are then. Raises
        `FileNotFoundError`, `UserError`."""


@dataclass(frozen=True, slots=True)
class DumpPlaces:
    """Where the agent leaves traces of its memory writer. `root` need not exist; `directories` do, each with
    the id of the workspace it is about."""

    root: Path
    directories: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class AgentWriterConfig:
    """What the agent's own files say of its memory writer. `interval`: as it stands there, None where nothing
    does. `model`: for the writer itself; `default_model`: for want of any other; both `provider:model`.
    `definition`: the bytes of the agent definition that overrides the built-in prompt; `problem`: why that
    one could not be read."""

    enabled: bool = True
    interval: object = None
    model: str | None = None
    default_model: str | None = None
    definition: bytes | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelService:
    """A model service that the agent's own settings name."""

    name: str
    """As the agent calls it; without white space or a colon."""
    base_url: str
    wire: Literal["openai", "openai-responses"] = "openai"
    """The wire format that it speaks."""
    key_env: str = ""
    """The environment variable that holds its key; empty: none is named."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; their values are secrets."""


@dataclass(frozen=True, slots=True)
class AgentDreamConfig:
    """What the agent's own files say of its dream. `model` is `provider:model`; `definition` the bytes of the
    agent definition that overrides the built-in prompt; `problem` why that one could not be read."""

    model: str | None = None
    definition: bytes | None = None
    enabled: bool = True
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread. Times are UTC ms; `path` None where only the books know it. `source`: what led it, as the
    books say; empty where they do not."""

    id: str
    path: Path | None
    title: str = ""
    cwd: str = ""
    updated_at: int | None = None
    size: int = 0
    archived: bool = False
    subagent: bool = False
    source: str = ""
    memory_mode: str = ""
    git_branch: str = ""
    pinned: bool = False
    """Whether a person pinned it in the agent's own list."""
    project: str = ""
    """The name of the project it was put into, or whose root it works in; empty for none."""
    section: str = ""
    """The name of the section of the agent's list that it is in, other than that of pinned ones."""


@dataclass(frozen=True, slots=True)
class AntiPattern:
    """What not to do. `legacy`: from an older store, which nothing writes any more."""

    id: str
    what_fails: str
    why: str
    prevention: str
    legacy: bool
    record: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)
    """The record as it was read."""


# Files that hold many memories each, as a home tells of them to a dream: one record, one memory.
#
# `Records` is the seam between such a file and the runs: `split` shows what is in it, `folded` puts one
# record back, and nothing else of the file changes by a byte. A record's path is the file's own with the
# record's name below it, where no real file can stand. Who writes holds `lock` and compares first
# (`memory.record_files`).
#
# Pure, but for `lock`. Failure: `StoreError` for a file that cannot be read whole, and for a text that is
# no record; both leave everything as it is.


@dataclass(frozen=True, slots=True)
class RecordText:
    """One record as a memory. `place`: where it stands among all that the file lists, from 0; `said`: what it
    is about, in a line. `stays`: it must not go now, since another would then be taken for it."""

    name: str
    text: str
    place: int
    said: str = ""
    stays: bool = False


class Records(Protocol):
    """The records of one home that a dream may look after. `sentence`: what a model is told of them."""

    @property
    def sentence(self) -> str: ...

    def is_holder(self, rel: str) -> bool:
        """Whether this file of a memory root holds such records."""

    def holder(self, rel: str) -> str:
        """The file that holds the record `rel`; empty where `rel` is none."""

    def split(self, data: bytes) -> tuple[RecordText, ...]:
        """The records in a file's bytes that a dream may change, in their order."""

    def one(self, data: bytes, name: str) -> RecordText | None:
        """The one of `split` with this name; None: there is none."""

    def folded(self, data: bytes, name: str, text: str | None, place: int | None) -> bytes:
        """The file's bytes with this record as `text` says; None: without it. One that is not there comes to
        stand at `place`, or last."""

    def check(self, name: str, before: str, after: str) -> None:
        """Raises `StoreError` where this record's `before` may not become `after`."""

    def alike(self, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Positions of those that say the same, group by group."""

    def order(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Positions, the best founded first."""

    def merged(self, texts: Sequence[str]) -> str | None:
        """The first, with what the others know; None where that would lose something."""

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """The lock that the agent itself takes to write this file."""
