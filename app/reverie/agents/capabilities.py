"""The values that the optional capabilities of a home speak in: what an agent's own background systems keep
(jobs, checks, the memory writer, session notes, models), what a consolidation means to its files, its locks.

Threading: the values are immutable; an `AgentLock` belongs to the run that takes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.agents.scopes import Scope, ScopeRoot
from reverie.text.summaries import NOTHING, Phrase
from reverie.values import Struct


class ComparableText(Struct, frozen=True):
    """The parts of a memory that a merge must preserve."""

    text: str
    """Without what is about the file itself: its name, where it came from."""
    kind: str = ""
    """Memories of different kinds are never merged; empty: no kind."""


class ConsolidatedFile(Struct, frozen=True):
    """A text of a root after a consolidation."""

    text: str
    name: str = ""
    """As the front matter has it, like `description`; empty: none."""
    description: str = ""


class RootChange(Struct, frozen=True):
    """What a consolidation made of one root, by relative path."""

    files: Mapping[str, ConsolidatedFile]
    """All files that are there now."""
    gone: Mapping[str, ConsolidatedFile]
    """Files that are not there any more, as they were."""
    moved: Mapping[str, str]
    """Old -> new path."""
    merged: Mapping[str, str]
    """Of `gone`: which memory took each one over."""
    created: tuple[str, ...] = ()
    """New files."""


class LockBefore(Struct, frozen=True):
    """A lock file as it was."""

    body: bytes | None
    """None: the file was not there."""
    mtime_ns: int


class AgentLock(Protocol):
    """The file by which an agent shows that it consolidates a store; whoever consolidates takes it."""

    @property
    def file(self) -> Path: ...
    @property
    def holder(self) -> int:
        """Who the lock names while we hold it."""

    def look(self) -> LockBefore:
        """The lock as it is now. Raises `Busy` while another process holds it."""

    def take(self, before: LockBefore) -> None:
        """Take the lock if it is still as `look` saw it. Raises `Busy` where another was quicker."""

    def done(self, holder: int) -> None:
        """Give it back after a consolidation. Raises `Conflict` where `holder` does not hold it any more."""

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Make it what it was before. Raises `Conflict` where `holder` does not hold it any more."""


class AgentCheck(Struct, frozen=True):
    """One of the agent's own gates, for the doctor."""

    check: str
    """Its name for scripts."""
    title: Phrase
    state: Literal["pass", "warn", "fail"]
    evidence: Phrase
    suspect: Path | None = None
    """A directory that turns something of the agent's off by being there, and that Reverie may have made."""
    at: int | None = None
    """When what the evidence speaks of happened (UTC ms); the doctor adds how long ago that is."""


class WriteLock(Struct, frozen=True):
    """A lock file that an agent holds (`flock`) while it rewrites a store."""

    file: Path
    agent: str
    """What the agent is called, for a sentence."""


class StatusLine(Struct, frozen=True):
    """What the agent itself says of one of its own jobs: read by Reverie, never written."""

    scope: Scope | None
    """None: it is about the whole home."""
    label: str
    text: str
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    at: int | None = None


class AgentJob(Struct, frozen=True):
    """One background job in the agent's own list. Times are UTC ms."""

    id: str
    kind: str
    about: str
    """What it works on, in words."""
    state: Literal["waiting", "running", "done", "failed", "stale"]
    sentence: str = ""
    at: int | None = None
    retry_at: int | None = None
    source_id: str = ""
    """The transcript that it works on, where it is one."""


class MemoryKinds(Struct, frozen=True):
    """Which memories this home's agent loads, judged by what it keeps."""

    project_file: bool | None = None
    """One file for each project; None: unknown."""
    project_store: bool | None = None
    """A store of project memories; None: unknown."""
    evidence: Phrase = NOTHING
    """A sentence."""


class WriterPlace(Struct, frozen=True):
    """Where the agent's own memory writer keeps its things for one workspace. Nothing here need exist; all
    but `context_instructions` lies inside the home. Of each kind of instructions the first file that exists
    counts."""

    state_file: Path
    dump_directory: Path
    memory_file: Path | None
    """The one file of the project; None without a single project."""
    memory_id: str
    """Its id; empty without a single project."""
    instructions: tuple[Path, ...]
    context_instructions: tuple[Path, ...]


class NotesPlace(Struct, frozen=True):
    """Where the notes of one session lie. Nothing here need exist."""

    root: ScopeRoot
    """A scope root of the home."""
    rel: str
    """The file below `root`."""
    transcript: Path
    """The session's."""
    template: Path
    """A person's own text for all sessions, like `prompt`."""
    prompt: Path

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel


class SessionMeasure(Protocol):
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


class SessionMeter(Protocol):
    """Follows one transcript; belongs to one thread at a time."""

    def update(self) -> SessionMeasure:
        """Take in what was added since the last time; the facts as they are then. Raises
        `FileNotFoundError`, `UserError`."""


class DumpPlaces(Struct, frozen=True):
    """Where the agent leaves traces of its memory writer."""

    root: Path
    """It need not exist."""
    directories: tuple[tuple[str, Path], ...] = ()
    """Those that exist, each with the id of its workspace."""


class AgentWriterConfig(Struct, frozen=True):
    """What the agent's own files say of its memory writer."""

    enabled: bool = True
    interval: object = None
    """As it is in the file; None where it is in none."""
    model: str | None = None
    """For the writer itself, as `provider:model`."""
    default_model: str | None = None
    """Where no other is named, as `provider:model`."""
    definition: bytes | None = None
    """The agent definition that overrides the built-in prompt."""
    problem: str = ""
    """Why that one could not be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class ModelService:
    """A model service that the agent's own settings name."""

    name: str
    """As the agent calls it; without white space or a colon."""
    base_url: str
    wire: Literal["openai", "openai-responses"] = "openai"
    """The wire format that it speaks."""
    key_env: str = ""
    """The environment variable that holds its key; empty: none is named."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Sent with every request; their values are secrets."""


KeySource = Literal["environment", "keyring", "none needed", "missing", "locked", "not answering"]


class ProviderInfo(Struct, frozen=True):
    """A model service, as people are shown it; no key in it."""

    name: str
    wire: str
    base_url: str
    key_source: KeySource
    local: bool


class AgentDreamConfig(Struct, frozen=True):
    """What the agent's own files say of its consolidation."""

    model: str | None = None
    """`provider:model`."""
    definition: bytes | None = None
    """The agent definition that overrides the built-in prompt."""
    enabled: bool = True
    problem: str = ""
    """Why that one could not be read."""


class Thread(Struct, frozen=True):
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


@dataclasses.dataclass(frozen=True, slots=True)
class AntiPattern:
    """What not to do. `legacy`: from an older store, which nothing writes any more."""

    id: str
    what_fails: str
    why: str
    prevention: str
    legacy: bool
    record: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)
    """The record as it was read."""


# Files that hold many memories each: one record is one memory to a consolidation.
#
# A record's path is the file's own with the record's name below it, where no real file can be. Whoever
# writes holds `lock` and compares first (`memory.scope_files`).


class RecordText(Struct, frozen=True):
    """One record as a memory."""

    name: str
    text: str
    place: int
    """Its position among all that the file lists, from 0."""
    said: str = ""
    """What it is about, in a line."""
    stays: bool = False
    """It must not go now, since another would then be taken for it."""


class Records(Protocol):
    """The records of one home that a consolidation may change."""

    @property
    def sentence(self) -> str:
        """What a model has to know of them."""

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
