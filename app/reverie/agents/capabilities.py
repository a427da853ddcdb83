"""Values and protocols used by the optional capabilities of a home.

They cover an agent's own background systems (jobs, checks, the memory writer, session notes, models), its
rules for consolidated files, and its locks.

Threading: the values are immutable; an `AgentLock` belongs to the run that takes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.agents.scopes import Scope, ScopeRoot
from reverie.text.summaries import NOTHING, Phrase
from reverie.values import Struct


class ComparableText(Struct, frozen=True):
    """The parts of a memory that a merge must preserve."""

    text: str
    """The text without parts about the file itself, such as its name and origin."""
    kind: str = ""
    """Memories of different kinds are never merged; empty: no kind."""


class ConsolidatedFile(Struct, frozen=True):
    """A file of a root after a consolidation."""

    text: str
    name: str = ""
    """The name in the front matter, like `description`; empty if there is none."""
    description: str = ""


class RootChange(Struct, frozen=True):
    """The changes that a consolidation made to the files of one memory root; paths are relative to it."""

    files: Mapping[str, ConsolidatedFile]
    """All files of the root after the consolidation."""
    gone: Mapping[str, ConsolidatedFile]
    """The files that no longer exist, in their state before the consolidation."""
    moved: Mapping[str, str]
    """The moved files: old path -> new path."""
    merged: Mapping[str, str]
    """The merged files of `gone`: old path -> path of the memory that has their text now."""
    created: tuple[str, ...] = ()
    """The new files."""


class LockBefore(Struct, frozen=True):
    """The state of a lock file before Reverie took it."""

    body: bytes | None
    """The content of the file; None if there was no file."""
    mtime_ns: int


class AgentLock(Protocol):
    """The lock file that the agent or Reverie holds while it consolidates a store."""

    @property
    def file(self) -> Path: ...
    @property
    def holder(self) -> int:
        """The process id that the lock contains while Reverie holds it."""

    def look(self) -> LockBefore:
        """Return the current state of the lock.

        Raises `Busy` while another process holds it.
        """

    def take(self, before: LockBefore) -> None:
        """Take the lock if its state is still `before`, which `look` returned.

        Raises `Busy` if another process took it first.
        """

    def done(self, holder: int) -> None:
        """Release the lock and record in it that the memories were consolidated now.

        Raises `Conflict` if the process `holder` no longer holds it.
        """

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Restore the lock to the state `before`, for a run that shall not count as a consolidation.

        Raises `Conflict` if the process `holder` no longer holds it.
        """


class AgentCheck(Struct, frozen=True):
    """The check of one condition of the agent's jobs, for the doctor."""

    check: str
    """The name of the check for scripts."""
    title: Phrase
    state: Literal["pass", "warn", "fail"]
    evidence: Phrase
    suspect: Path | None = None
    """A directory whose existence turns off a feature of the agent, and that Reverie may have made."""
    at: int | None = None
    """The time of the event that the evidence describes (UTC ms); the doctor adds its age to the text."""


class WriteLock(Struct, frozen=True):
    """A lock file that an agent holds (`flock`) while it rewrites a store."""

    file: Path
    agent: str
    """The agent's name, for a sentence."""


class StatusLine(Struct, frozen=True):
    """The state of one of the agent's own jobs, as read from the agent's files."""

    scope: Scope | None
    """The scope of the job; None for the whole home."""
    label: str
    text: str
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    at: int | None = None


class AgentJob(Struct, frozen=True):
    """One background job in the agent's own list. Times are UTC ms."""

    id: str
    kind: str
    about: str
    """The subject of the job, in words."""
    state: Literal["waiting", "running", "done", "failed", "stale"]
    sentence: str = ""
    """An explanation of `state`, such as the error of a failed job; may be empty."""
    at: int | None = None
    retry_at: int | None = None
    source_id: str = ""
    """The transcript that the job works on; empty if it works on something else."""


class MemoryKinds(Struct, frozen=True):
    """The kinds of memories that this home's agent loads, detected by the files in the home."""

    project_file: bool | None = None
    """Whether the agent loads one file for each project; None if unknown."""
    project_store: bool | None = None
    """Whether the agent loads a store of project memories; None if unknown."""
    evidence: Phrase = NOTHING
    """A sentence that names the files by which the kinds were detected."""


class WriterPlace(Struct, frozen=True):
    """The files of the agent's own memory writer for one workspace.

    The files need not exist; all except `context_instructions` are inside the home. For each kind of
    instructions, the first existing file is used.
    """

    state_file: Path
    """The file in which the writer stores the progress of its runs."""
    dump_directory: Path
    """The directory for the traces of the writer's runs."""
    memory_file: Path | None
    """The memory file of the project; None unless there is exactly one project."""
    memory_id: str
    """The id of the memory file; empty unless there is exactly one project."""
    instructions: tuple[Path, ...]
    """The files that may contain instructions for the writer in this home."""
    context_instructions: tuple[Path, ...]
    """The files that may contain the project's own instructions, such as its `AGENTS.md`."""


class NotesPlace(Struct, frozen=True):
    """The files of one session's notes; they need not exist."""

    root: ScopeRoot
    """The scope root of the home to which the notes belong."""
    rel: str
    """The path of the notes file below `root`."""
    transcript: Path
    """The session's transcript."""
    template: Path
    """The person's own template for all sessions; `prompt` is the person's own prompt."""
    prompt: Path

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel


class SessionMeasure(Protocol):
    """The counts of one session that decide whether an update of its notes is due."""

    @property
    def messages(self) -> int:
        """Number of messages by people and the model."""

    @property
    def context_tokens(self) -> int:
        """The number of tokens in the model's context, including its last answer."""

    @property
    def tool_calls(self) -> int: ...
    @property
    def last_uuid(self) -> str:
        """The id of the last message."""

    @property
    def calls_tools(self) -> bool:
        """Whether the last answer asks for tools, so that the model is in the middle of its work."""

    def tool_calls_since(self, uuid: str | None) -> int:
        """Return the number of tool calls after the message `uuid`; None: the number of all calls.

        0 if there is no message with this id.
        """


class SessionMeter(Protocol):
    """An incremental reader of one transcript; belongs to one thread at a time."""

    def update(self) -> SessionMeasure:
        """Read the lines that were added to the transcript since the last call; return the session's figures.

        Raises `FileNotFoundError`, `UserError`.
        """


class DumpPlaces(Struct, frozen=True):
    """The directories in which the agent leaves traces of its memory writer."""

    root: Path
    """The directory that contains `directories`; it need not exist."""
    directories: tuple[tuple[str, Path], ...] = ()
    """The directories that exist, each with the id of its workspace."""


class AgentWriterConfig(Struct, frozen=True):
    """The agent's own settings of its memory writer."""

    enabled: bool = True
    interval: object = None
    """The number of turns between two runs, as it stands in the settings, even if invalid; None if it is not
    set."""
    model: str | None = None
    """The writer's model, as `provider:model`."""
    default_model: str | None = None
    """The model if no other is named, as `provider:model`."""
    definition: bytes | None = None
    """The agent definition that overrides the built-in prompt."""
    problem: str = ""
    """The reason why `definition` could not be read; empty if it could."""


@dataclasses.dataclass(frozen=True, slots=True)
class ModelService:
    """A model service that the agent's own settings name."""

    name: str
    """The agent's name for the service; without white space or a colon."""
    base_url: str
    wire: Literal["openai", "openai-responses"] = "openai"
    """The wire format that the service uses."""
    key_env: str = ""
    """The environment variable with the service's key; empty if none is named."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Headers to send with every request; their values are secrets."""


KeySource = Literal["environment", "keyring", "none needed", "missing", "locked", "not responding"]


class ProviderInfo(Struct, frozen=True):
    """A model service as it is shown to people, without its key."""

    name: str
    wire: str
    base_url: str
    key_source: KeySource
    local: bool


class AgentDreamConfig(Struct, frozen=True):
    """The agent's own settings of its consolidations."""

    model: str | None = None
    """The model, as `provider:model`; None if the settings name none."""
    definition: bytes | None = None
    """The agent definition that overrides the built-in prompt."""
    enabled: bool = True
    problem: str = ""
    """The reason why `definition` could not be read; empty if it could."""


class Thread(Struct, frozen=True):
    """One thread (conversation) of the agent. Times are UTC ms.

    `path` is None for a thread that is only in the database. `source`: the kind of program that ran the
    thread, from the database; empty if unknown. `memory_mode`: "enabled" or empty if memories may be made
    from the thread; any other value is the agent's reason against it.
    """

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
    """Whether a person pinned the thread in the agent's own list."""
    project: str = ""
    """The name of the project to which the thread was assigned, or in whose root it works; empty for none."""
    section: str = ""
    """The name of the thread's section in the agent's list; empty for none, and for the pinned section."""


@dataclasses.dataclass(frozen=True, slots=True)
class AntiPattern:
    """An approach to avoid. `legacy`: whether it is from an older store, which nothing writes any more."""

    id: str
    what_fails: str
    why: str
    prevention: str
    legacy: bool
    record: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)
    """The record as it was read."""


ImportProblem = Literal["missing", "sign-behind", "sign-before", "blank", "kind", "too-deep"]
"""The reason why an import loads nothing.

In this order: there is no such file; punctuation after the path counts as part of it; a character before the
`@` prevents the import; a space ends the path; files of this kind are not imported; the importing file is
already at the maximum depth.
"""


class FailedImport(Struct, frozen=True):
    """An import in an instruction file that loads nothing."""

    file: Path
    """The file that contains the import."""
    label: str
    """The name of this file for people."""
    written: str
    """The import as it stands in the file, with the `@`."""
    problem: ImportProblem
    line: int
    """The line of the import in the file, from 1; 0 if unknown."""
