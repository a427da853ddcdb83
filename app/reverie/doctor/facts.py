"""What the checks judge: everything that stands on the disk, in the leases and in Activity about one
workspace.

Gathering only looks: nothing is created in the home, and a transcript of any size costs its last megabytes.
What cannot be read is a fact too (`problem`), never an exception, so that one broken thing does not hide the
others. `Unavailable` is raised only where the whole home is gone.

Threading: blocks on disk; any thread but the GUI's.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.agents.base import Home, Workspace
from reverie.agents.capabilities import AgentCheck, MemoryKinds
from reverie.agents.scopes import Refusal, Scope, ScopeContext, ScopeUnavailable
from reverie.clock import Clock
from reverie.doctor.findings import ProbeFacts
from reverie.errors import UserError
from reverie.files.paths import is_link, open_regular
from reverie.files.sidecar import parse_object
from reverie.jobs.writer.state import coerced
from reverie.profile import Profile

if TYPE_CHECKING:
    from reverie.agents.transcripts import Turn
    from reverie.files.lease import LeaseHolder, Leases
    from reverie.files.watch import WatchState
    from reverie.jobs.consolidate.coverage import CoverageLog
    from reverie.jobs.writer.state import Interval
    from reverie.memory.attribution import WriteLog
    from reverie.memory.write_guard import WriteGuard
    from reverie.runs.activity import Activity, ActivityEntry
    from reverie.runs.record import RunStore
    from reverie.settings import Settings

_STATE_BYTES = 1 << 20

Maker = Literal["reverie", "nobody", "others"]
"""Who wrote the files in a directory; `nobody`: there are none."""


class DoctorHome(Protocol):
    """What of `services.container.HomeContainer` the checks look at."""

    home: Home
    home_id: str
    profile: Profile
    clock: Clock

    def read_settings(self) -> Settings:
        """The settings as they stand in the file now."""

    def forget_settings(self) -> None:
        """Read them anew at the next use."""

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


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Which model would be asked and why this one; `problem` says in words why it cannot be."""

    engine: str
    reason: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class DoctorHooks:
    """What the checks ask of others. None: nobody to ask, and the checks say so. `probe` really asks the
    model and costs money; `run_writer` runs the writer now; `watch` tells how this window watches.
    `log_level`: how much the log of who asks tells; empty for that of this process."""

    model: Callable[[], ModelFacts] | None = None
    dream_model: Callable[[], ModelFacts] | None = None
    probe: Callable[[str], tuple[ProbeFacts, ...]] | None = None
    run_writer: Callable[[], None] | None = None
    watch: Callable[[], WatchState | None] | None = None
    set_debug: Callable[[], None] | None = None
    log_level: str = ""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One place on the disk; times in UTC ms. `writable` by its mode bits and by what the system says."""

    path: Path
    kind: Literal["missing", "file", "directory", "other"] = "missing"
    size: int = 0
    changed_at: int = 0
    writable: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The writer's state file, coerced as formats/mux.md section 14 says."""

    file: FileFacts
    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None
    problem: str = ""

    @property
    def unfinished(self) -> bool:
        """Started, and not completed since: running, or ended by a crash."""
        return self.started_at is not None and (
            self.completed_at is None or self.completed_at < self.started_at
        )


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """Everything about one workspace. `has_writer`: whether this agent knows a memory writer at all. Lists of
    turns and Activity entries are bounded."""

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
    verdict: str
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
    refusals: tuple[tuple[Refusal, bool], ...] = ()
    """Layouts and versions that Reverie does not know, each with whether a person permitted writing."""
    agent_checks: tuple[tuple[AgentCheck, Maker | None], ...] = ()
    """The agent's own gates; each with who wrote what is in the directory that it suspects."""

    def last(self, *events: str) -> ActivityEntry | None:
        """The newest Activity entry of this workspace (or of none) whose event is or begins with one of
        `events`."""
        for entry in self.activity:
            here = entry.workspace_id in (None, self.context.workspace_id)
            if here and any(entry.event == name or entry.event.startswith(f"{name}.") for name in events):
                return entry
        return None


def look_at(path: Path) -> FileFacts:
    """What lies at `path`; a link is followed."""
    try:
        status = path.stat()
    except FileNotFoundError:
        dangling = is_link(path)
        return FileFacts(
            path, "other" if dangling else "missing", problem="It is a link to nothing." * dangling
        )
    except OSError as error:
        return FileFacts(path, "other", problem=f"The system says: {error.strerror or error}.")
    mode = status.st_mode
    kind: Literal["file", "directory", "other"] = (
        "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
    )
    return FileFacts(path, kind, status.st_size, status.st_mtime_ns // 1_000_000, _writable(path, status))


def read_state(path: Path) -> StateFacts:
    """The writer's state file; broken or missing counts as no turns."""
    file = look_at(path)
    if file.kind != "file":
        problem = file.problem or ("" if file.kind == "missing" else "Something that is no file lies there.")
        return StateFacts(file, problem=problem)
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as opened:
            data = parse_object(opened.read(_STATE_BYTES))
    except OSError as error:
        return StateFacts(file, problem=f"It cannot be read ({error.strerror or error}).")
    except ValueError as error:
        return StateFacts(file, problem=f"It is not valid JSON ({error}).")
    state = coerced(data)
    return StateFacts(file, state.turns, state.started_at, state.completed_at, state.message_id)


def free_bytes(path: Path) -> int | None:
    """Free space where `path` lies, or would lie."""
    for place in (path, *path.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None


def holder(leases: Leases, name: str) -> LeaseHolder | None:
    """Who holds a lease; None also where that cannot be read, which `lease_problem` tells."""
    try:
        return leases.holder(name)
    except UserError:
        return None


def lease_problem(leases: Leases) -> str:
    """Why the list of leases cannot be read; empty: it can."""
    try:
        leases.holder("")
    except UserError as error:
        return str(error)
    return ""


def newest_dumps(directory: Path, limit: int = 200) -> tuple[Path, ...]:
    """The newest trace dumps in a directory, by the time in their names, newest first."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return ()
    found = [directory / name for name in names]
    found.sort(key=lambda path: (dump_time(path), path.name), reverse=True)
    return tuple(found[:limit])


def dump_time(path: Path) -> int:
    """When the run of a dump started, by the dump's name; UTC ms, 0 for a name that tells none."""
    head = path.name.partition("_")[0]
    return int(head) if head.isascii() and head.isdigit() and len(head) <= 16 else 0


def scope_directory(home: Home, context: ScopeContext) -> tuple[Path | None, str]:
    """Where project memories lie, or why there are none here."""
    try:
        return home.scope_root(context, Scope.PROJECT).directory, ""
    except ScopeUnavailable as gap:
        return None, gap.cause or gap.title


def _writable(path: Path, status: os.stat_result) -> bool:
    # By the owner's bit too: a file that its owner has closed is meant to stay as it is, also for root.
    return bool(status.st_mode & stat.S_IWUSR) and os.access(path, os.W_OK)
