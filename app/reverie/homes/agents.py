"""What an agent's own background systems keep, say and wish: its jobs, its lock, where its memory writer and
its session notes lie, and what a dream means to its files. Values, and the one lock that is taken.

Threading: the values are immutable. An `AgentLock` belongs to the run that takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from reverie.homes.scopes import Scope, ScopeRoot


@dataclass(frozen=True, slots=True)
class Essence:
    """A memory's text without what only tells of the file itself (its name, where it came from): what has to
    be kept where two become one. Memories of different kinds never do; empty: no kind."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DreamtFile:
    """A text of a root after a dream, with the name and description in its front matter (empty: none)."""

    text: str
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RootChange:
    """What a dream made of one root, by `rel`. `files`: all that stand there now; `gone`: those that do not
    any more, as they were; `moved`: old -> new path; `merged`: of `gone`, which memory took them over;
    `created`: new ones."""

    files: Mapping[str, DreamtFile]
    gone: Mapping[str, DreamtFile]
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


@dataclass(frozen=True, slots=True)
class DumpPlaces:
    """Where the agent leaves traces of its memory writer. `root` need not exist; `directories` do, each with
    the id of the workspace it is about."""

    root: Path
    directories: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class WriterWishes:
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
class DreamWishes:
    """What the agent's own files say of its dream. `model` is `provider:model`; `definition` the bytes of the
    agent definition that overrides the built-in prompt; `problem` why that one could not be read."""

    model: str | None = None
    definition: bytes | None = None
    enabled: bool = True
    problem: str = ""
