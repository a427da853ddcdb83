"""The facts about one workspace that the checks judge: from the disk, the leases and Activity.

A lease is a row in Reverie's database of leases; it names the process that runs a job. Activity is the log of
what background runs did.

Reading changes nothing in the home. Of a transcript, only the last megabytes are read, whatever its size.
Data that cannot be read is a fact too (`problem`), not an exception, so that one broken file does not hide
the others. `Unavailable` is raised only if the whole home no longer exists.

Threading: blocks on disk; any thread but the GUI's.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.agents.base import Home, Workspace
from reverie.agents.capabilities import AgentCheck, MemoryKinds
from reverie.agents.scopes import Refusal, Scope, ScopeContext, ScopeUnavailable
from reverie.clock import Clock
from reverie.doctor.findings import ProbeFacts
from reverie.errors import UserError
from reverie.files.directory import is_link, open_regular
from reverie.files.sidecar import parse_object
from reverie.jobs.single_file.writer_turns import coerced
from reverie.llm.trace_facts import facts_of
from reverie.llm.trace_reader import read_dump
from reverie.llm.trace_verdict import RunEvidence, RunVerdict, judge
from reverie.memory.write_log import WriteLog
from reverie.profile import Profile
from reverie.settings import Settings
from reverie.text.summaries import NOTHING, Phrase, phrase, plain
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.transcripts import Turn
    from reverie.files.lease import Leases
    from reverie.files.locks import LeaseHolder
    from reverie.files.watch import WatchState
    from reverie.jobs.consolidate.coverage import CoverageLog
    from reverie.jobs.single_file.writer_turns import Interval
    from reverie.memory.write_guard import WriteGuard
    from reverie.runs.activity import Activity, ActivityEntry
    from reverie.runs.record import RunStore

_STATE_BYTES = 1 << 20


Maker = Literal["reverie", "nobody", "others"]
"""The writer of the files in a directory; `nobody` if there are none."""


class DoctorHome(Protocol):
    """The attributes and methods of `services.container.HomeContainer` that the checks use."""

    home: Home
    home_id: str
    profile: Profile
    clock: Clock

    def read_settings(self) -> Settings:
        """Read the settings file and return the settings."""

    def forget_settings(self) -> None:
        """Discard the cached settings, so that their next use reads the file again."""

    @property
    def write_guard(self) -> WriteGuard: ...
    @property
    def activity(self) -> Activity: ...
    @property
    def actors(self) -> WriteLog: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def coverage(self) -> CoverageLog: ...


class ModelFacts(Struct, frozen=True):
    """The model that a run would use, and the reason for this choice.

    `engine`: the name of the model, or `rules` if the run works without one. `problem`: the reason why the
    model cannot be used; empty if it can.
    """

    engine: str
    reason: str
    problem: str = ""


class DoctorHooks(Struct, frozen=True):
    """Functions of other parts of the program that the checks and fixes call.

    A function is None if it is not available; the findings then state that.
    """

    model: Callable[[], ModelFacts] | None = None
    dream_model: Callable[[], ModelFacts] | None = None
    probe: Callable[[str], tuple[ProbeFacts, ...]] | None = None
    """A function that sends a real request to the named model and returns the steps of the test.

    The request costs money.
    """
    run_writer: Callable[[], None] | None = None
    """A function that runs the memory writer now."""
    watch: Callable[[], WatchState | None] | None = None
    """A function that returns the state of this window's watcher of the home."""
    set_debug: Callable[[], None] | None = None
    log_level: str = ""
    """The log level of the calling process (see `files.log_file`); empty for that of this process."""


class FileFacts(Struct, frozen=True):
    """The facts about one path on disk."""

    path: Path
    kind: Literal["missing", "file", "directory", "other"] = "missing"
    size: int = 0
    changed_at: int = 0
    """The modification time, UTC ms."""
    writable: bool = False
    """Whether both the mode bits and the system allow writing."""
    problem: Phrase | None = None


class StateFacts(Struct, frozen=True):
    """The content of the writer's state file, converted as described in formats/mux.md section 14.

    `turns`: the turns counted since the last run. `started_at`, `completed_at`: when the last run started and
    when one last completed, in UTC ms; None if unknown. `message_id`: the last message that the last run
    read.
    """

    file: FileFacts
    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None
    problem: Phrase | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a run started and has not completed since: it is still running, or a crash ended it."""
        return self.started_at is not None and (
            self.completed_at is None or self.completed_at < self.started_at
        )


class TracedRun(Struct, frozen=True):
    """One run of a memory writer that left a trace."""

    started_at: int
    verdict: RunVerdict
    by_agent: bool
    """Whether the agent's own writer made the run; a trace by Reverie's writer contains a run id."""

    @property
    def wrote(self) -> bool:
        """Whether the run wrote memory, or reported that there is nothing to write."""
        return self.verdict.name in ("wrote", "nothing-to-write")


class WorkspaceFacts(Struct, frozen=True):
    """All facts about one workspace that the checks use.

    Of the turns and of the Activity log, only the newest ones are included. Times are in UTC ms.
    """

    now: int
    home_id: str
    context: ScopeContext
    settings: Settings
    settings_problems: tuple[str, ...]
    workspace: Workspace | None
    interval: Interval
    agent_switched_off: bool
    transcript: FileFacts | None
    turns: tuple[Turn, ...]
    partial: FileFacts | None
    transcript_problem: str
    state: StateFacts | None
    memory: FileFacts | None
    memory_directory: FileFacts | None
    memory_problem: str
    kinds: MemoryKinds
    dumps: tuple[Path, ...]
    runs: tuple[TracedRun, ...]
    activity: tuple[ActivityEntry, ...]
    activity_damage: str
    lease_problem: str
    host: LeaseHolder | None
    writer: LeaseHolder | None
    dream: LeaseHolder | None
    watch: WatchState | None
    free_bytes: int | None
    own_free_bytes: int | None
    recent_runs: int
    recent_tokens: int
    coverage_at: int | None
    coverage_problems: tuple[str, ...] = ()
    log_level: str = ""
    model: ModelFacts | None = None
    dream_model: ModelFacts | None = None
    probe: tuple[ProbeFacts, ...] | None = None
    has_writer: bool = True
    """Whether this agent has a memory writer."""
    refusals: tuple[tuple[Refusal, bool], ...] = ()
    """Layouts and versions that Reverie does not know, each with whether a person permitted writing."""
    agent_checks: tuple[tuple[AgentCheck, Maker | None], ...] = ()
    """The results of the agent's own checks, each with the writer of the directory that it concerns."""

    @property
    def verdict(self) -> Phrase:
        """A sentence about the result of the newest traced run of a memory writer."""
        if not self.runs:
            return NOTHING
        newest = self.runs[0].verdict
        where = newest.evidence.sentence()
        if not where:
            return newest.sentence
        return phrase("{verdict} ({place})", verdict=newest.sentence, place=where)

    @property
    def agent_runs(self) -> tuple[TracedRun, ...]:
        """The runs of the agent's own writer, newest first."""
        return tuple(run for run in self.runs if run.by_agent)

    def last(self, *events: str) -> ActivityEntry | None:
        """Return the newest Activity entry about this workspace with one of the names `events`; None if none.

        Activity is the log of what background runs did. A name also matches the names below it: `writer`
        matches `writer.failed`. Entries that belong to no workspace count as well.
        """
        for entry in self.activity:
            here = entry.workspace_id in (None, self.context.workspace_id)
            if here and any(entry.event == name or entry.event.startswith(f"{name}.") for name in events):
                return entry
        return None


def look_at(path: Path) -> FileFacts:
    """Return the facts about the file or directory at `path`, or at the target of a symbolic link there."""
    try:
        status = path.stat()
    except FileNotFoundError:
        dangling = is_link(path)
        if dangling:
            return FileFacts(path, "other", problem=phrase("It is a broken symbolic link."))
        return FileFacts(path)
    except OSError as error:
        why = phrase("The operating system reports: {error}.", error=error.strerror or str(error))
        return FileFacts(path, "other", problem=why)
    mode = status.st_mode
    kind: Literal["file", "directory", "other"] = (
        "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
    )
    return FileFacts(path, kind, status.st_size, status.st_mtime_ns // 1_000_000, _writable(path, status))


def read_state(path: Path) -> StateFacts:
    """Return the content of the writer's state file.

    If the file is missing or damaged, the state has no turns, and `problem` has the reason of the damage.
    """
    file = look_at(path)
    if file.kind != "file":
        no_file = (
            None if file.kind == "missing" else phrase("There is no file at this path, but something else.")
        )
        return StateFacts(file, problem=file.problem or no_file)
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as opened:
            data = parse_object(opened.read(_STATE_BYTES))
    except OSError as error:
        why = error.strerror or str(error)
        return StateFacts(file, problem=phrase("It cannot be read ({error}).", error=why))
    except ValueError as error:
        return StateFacts(file, problem=phrase("It is not valid JSON ({error}).", error=str(error)))
    state = coerced(data)
    return StateFacts(file, state.turns, state.started_at, state.completed_at, state.message_id)


def free_bytes(path: Path) -> int | None:
    """Return the free bytes on the disk that has `path`, which need not exist; None if unknown."""
    for place in (path, *path.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None


def holder(leases: Leases, name: str) -> LeaseHolder | None:
    """Return the process that holds the lease `name`; None if none does, or if it cannot be read.

    A lease is a row in a database of Reverie that names the process that runs a job. Call `lease_problem` to
    know whether leases can be read.
    """
    try:
        return leases.holder(name)
    except UserError:
        return None


def lease_problem(leases: Leases) -> str:
    """Return the reason why the database of leases cannot be read; "" if it can."""
    try:
        leases.holder("")
    except UserError as error:
        return str(error)
    return ""


def newest_dumps(directory: Path, limit: int = 200) -> tuple[Path, ...]:
    """Return the newest trace files in a directory, newest first by the time in their names.

    `limit`: the largest number of files.
    """
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return ()
    found = [directory / name for name in names]
    found.sort(key=lambda path: (dump_time(path), path.name), reverse=True)
    return tuple(found[:limit])


_RUNS = 5
"""The number of newest runs to read, and the number of them that must be runs of the agent's own writer."""


MOST_DUMPS = 60
"""The maximum number of traces that `newest_runs` opens."""


def newest_runs(dumps: Sequence[Path]) -> tuple[TracedRun, ...]:
    """Read trace files until enough runs of the agent's own writer are known; return all runs that were read.

    `dumps`: the trace files, newest first; the result has the same order. `_RUNS` runs of the agent's own
    writer are enough. At most `MOST_DUMPS` files are read. A trace that cannot be read counts as a damaged
    run.
    """
    found = list[TracedRun]()
    for path in dumps[:MOST_DUMPS]:
        if len(found) >= _RUNS and sum(run.by_agent for run in found) >= _RUNS:
            break
        try:
            dump = read_dump(path, sketch=True)
        except UserError as error:
            problem = plain(str(error))
            found.append(TracedRun(dump_time(path), RunVerdict("damaged", problem, RunEvidence()), False))
            continue
        facts = facts_of(dump.document)
        verdict = judge(facts, dump.damage, lost=dump.lost)
        found.append(TracedRun(dump_time(path), verdict, not facts.run_id))
    return tuple(found)


def dump_time(path: Path) -> int:
    """Return the start of a run from the name of its trace file, in UTC ms; 0 if the name contains none."""
    head = path.name.partition("_")[0]
    return int(head) if head.isascii() and head.isdigit() and len(head) <= 16 else 0


def scope_directory(home: Home, context: ScopeContext) -> tuple[Path | None, str]:
    """Return the directory of the project memories, and "".

    If the context has no such directory, returns None and the reason.
    """
    try:
        return home.scope_root(context, Scope.PROJECT).directory, ""
    except ScopeUnavailable as gap:
        return None, gap.cause or gap.title


def _writable(path: Path, status: os.stat_result) -> bool:
    # The owner's bit counts even for root: a file that its owner write-protected is meant to stay as it is.
    return bool(status.st_mode & stat.S_IWUSR) and os.access(path, os.W_OK)
