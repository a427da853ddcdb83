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
from reverie.values import Struct, field


class ComparableText(Struct, frozen=True):
    """The parts of a memory that a merge must preserve."""

    text: str
    """The memory without parts about the file itself, such as its name and origin."""
    kind: str = ""
    """The kind of the memory; memories of different kinds are never merged. Empty: no kind."""


class ConsolidatedFile(Struct, frozen=True):
    """A memory file before or after a consolidation: its text and facts from its front matter."""

    text: str
    name: str = ""
    """The name in the front matter; empty if there is none."""
    description: str = ""
    """The description in the front matter; empty if there is none."""


class RootChange(Struct, frozen=True):
    """The changes that a consolidation made to the files of one memory root; paths are relative to it."""

    files: Mapping[str, ConsolidatedFile]
    """All files of the root after the consolidation."""
    gone: Mapping[str, ConsolidatedFile]
    """The files that no longer exist, as they were before the consolidation."""
    moved: Mapping[str, str]
    """The moved files: old path -> new path."""
    merged: Mapping[str, str]
    """The merged files: path of a file in `gone` -> path of the memory that has its text now."""
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
        """Restore the lock to the state `before`, after a run that must not count as a consolidation.

        Raises `Conflict` if the process `holder` no longer holds it.
        """


class AgentCheck(Struct, frozen=True):
    """The result of one check of the agent's memory or jobs, for the doctor."""

    check: str
    """The name of the check for scripts."""
    title: Phrase
    state: Literal["pass", "warn", "fail"]
    evidence: Phrase
    """The facts that the check found, as a sentence."""
    suspect: Path | None = None
    """A directory whose existence turns off a feature of the agent, and that Reverie may have made."""
    at: int | None = None
    """The time of the event that the evidence describes (UTC ms); the doctor adds its age to the text."""


class WriteLock(Struct, frozen=True):
    """A lock file that an agent holds (`flock`) while it rewrites a store."""

    file: Path
    agent: str
    """The name of the agent, for messages."""


class StatusLine(Struct, frozen=True):
    """The state of one of the agent's own jobs, as read from the agent's files."""

    scope: Scope | None
    """The scope of the job; None for the whole home."""
    label: str
    text: str
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    at: int | None = None
    """The time of the job's last known event (UTC ms); None if unknown."""


class AgentJob(Struct, frozen=True):
    """One background job in the agent's own list."""

    id: str
    kind: str
    about: str
    """The subject of the job, in words."""
    state: Literal["waiting", "running", "done", "failed", "stale"]
    sentence: str = ""
    """An explanation of `state`, such as the error of a failed job; may be empty."""
    at: int | None = None
    """The time of the job's last known event (UTC ms); None if unknown."""
    retry_at: int | None = None
    """The time of the next attempt (UTC ms); None if none is known."""
    source_id: str = ""
    """The id of the transcript that the job works on; empty if it works on something else."""


class MemoryKinds(Struct, frozen=True):
    """The kinds of memories that this home's agent loads, detected by the files in the home."""

    project_file: bool | None = None
    """Whether the agent loads one file for each project; None if unknown."""
    project_store: bool | None = None
    """Whether the agent loads a store (directory) of project memories; None if unknown."""
    evidence: Phrase = NOTHING
    """A sentence that names the files by which the kinds were detected."""


class WriterPlace(Struct, frozen=True):
    """The files of the agent's own memory writer for one workspace; they need not exist.

    All except `context_instructions` are inside the home. Of the files in `instructions`, the first that
    exists is used, and the same is true of `context_instructions`.
    """

    state_file: Path
    """The file in which the writer stores the progress of its runs."""
    dump_directory: Path
    """The directory for the records (traces) of the writer's runs."""
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
    """The transcript of the session."""
    template: Path
    """The file with a person's own template for the notes of all sessions."""
    prompt: Path
    """The file with a person's own prompt for the notes of all sessions."""

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel


class SessionFacts(Struct):
    """The counts of one session that decide whether an update of its notes is due.

    Only the main thread is counted, not sub-agents.
    """

    messages: int = 0
    """The number of records of the user and of the model, including tool results."""
    context_tokens: int = 0
    """The tokens of the whole context with the last answer, estimated if the service does not count them."""
    last_uuid: str = ""
    """The id of the last counted record; empty if there is none."""
    calls_tools: bool = False
    """Whether the last answer asks for tools, so that the model is in the middle of its work."""
    tool_calls: int = 0
    after: dict[str, int] = field(default_factory=dict)
    """Id of a counted record -> number of tool calls up to it."""

    def tool_calls_since(self, uuid: str | None) -> int:
        """Return the number of tool calls after the message `uuid`; None: the number of all calls.

        0 if there is no message with this id.
        """
        return self.tool_calls - (0 if uuid is None else self.after.get(uuid, self.tool_calls))


class SessionMeter(Protocol):
    """A counter of the messages, tokens and tool calls in one transcript, which reads only what was added.

    It may be used by only one thread of the process at a time.
    """

    def update(self) -> SessionFacts:
        """Read the lines that were added to the transcript since the last call; return the updated counts.

        Raises `FileNotFoundError`, `UserError`.
        """


class DumpPlaces(Struct, frozen=True):
    """The directories in which the agent records the runs of its memory writer."""

    root: Path
    """The directory that contains all of `directories`; it need not exist."""
    directories: tuple[tuple[str, Path], ...] = ()
    """(workspace id, directory) of each directory that exists."""


class AgentWriterConfig(Struct, frozen=True):
    """The agent's own settings of its memory writer."""

    enabled: bool = True
    interval: object = None
    """The number of turns between two runs; None if it is not set.

    This is the unchanged value from the settings, even if it is invalid.
    """
    model: str | None = None
    """The writer's model, as `provider:model`; None if the settings name none."""
    default_model: str | None = None
    """The model if no other is named, as `provider:model`; None if the settings name none."""
    definition: bytes | None = None
    """The content of the file that overrides the built-in prompt; None if there is none."""
    problem: str = ""
    """The reason why the file of `definition` could not be read; empty if it could."""


@dataclasses.dataclass(frozen=True, slots=True)
class ModelService:
    """A model service that the agent's own settings name."""

    name: str
    """The agent's name for the service, without white space or a colon."""
    base_url: str
    wire: Literal["openai", "openai-responses"] = "openai"
    """The wire format (API) that the service uses."""
    key_env: str = ""
    """The environment variable with the service's key; empty if none is named."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Headers to send with every request; their values are secrets."""


KeySource = Literal["environment", "keyring", "none needed", "missing", "locked", "not responding"]


class ProviderInfo(Struct, frozen=True):
    """A model service as it is shown to people, without its key."""

    name: str
    wire: str
    """The wire format (API) that the service uses."""
    base_url: str
    key_source: KeySource
    """The place from which Reverie gets the key, or the reason why it has none."""
    local: bool
    """Whether the service runs on this computer, so that no text leaves it."""


class AgentDreamConfig(Struct, frozen=True):
    """The agent's own settings of its consolidations, which some agents call dreams."""

    model: str | None = None
    """The model, as `provider:model`; None if the settings name none."""
    definition: bytes | None = None
    """The content of the file that overrides the built-in prompt; None if there is none."""
    enabled: bool = True
    problem: str = ""
    """The reason why the file of `definition` could not be read; empty if it could."""


class Thread(Struct, frozen=True):
    """One thread (conversation) of the agent."""

    id: str
    path: Path | None
    """The file of the thread; None for a thread that is only in the database."""
    title: str = ""
    cwd: str = ""
    updated_at: int | None = None
    """The time of the thread's last change (UTC ms); None if unknown."""
    size: int = 0
    """The size of the file in bytes; 0 if there is none."""
    archived: bool = False
    subagent: bool = False
    source: str = ""
    """The kind of program that ran the thread, from the database; empty if unknown."""
    memory_mode: str = ""
    """Whether memories may be made from the thread: "enabled" or empty if they may.

    Any other value is the agent's reason against it.
    """
    git_branch: str = ""
    pinned: bool = False
    """Whether a person pinned the thread in the agent's list."""
    project: str = ""
    """The name of the project to which the thread was assigned, or in whose root it works; empty for none."""
    section: str = ""
    """The name of the thread's section in the agent's list; empty for none, and for the pinned section."""


@dataclasses.dataclass(frozen=True, slots=True)
class AntiPattern:
    """An approach to avoid."""

    id: str
    what_fails: str
    why: str
    prevention: str
    legacy: bool
    """Whether the record is from an older store, which nothing writes any more."""
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
    """The name of the file for people."""
    written: str
    """The import as the file contains it, with its `@`."""
    problem: ImportProblem
    line: int
    """The line of the import in the file, from 1; 0 if unknown."""
