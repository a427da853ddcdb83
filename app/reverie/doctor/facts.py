"""Facts about single files, traces and models for the checks, and what the checks need from other parts.

Reading changes nothing in the home. Of a transcript, only the last megabytes are read, whatever its size.
Data that cannot be read is a fact too (`problem`), not an exception, so that one broken file does not hide
the others.

Threading: blocks on disk; any thread but the GUI's.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.agents.base import Home
from reverie.clock import Clock
from reverie.errors import UserError
from reverie.files.directory import is_link, open_regular
from reverie.files.sidecar import parse_object
from reverie.jobs.single_file.writer_turns import coerced
from reverie.llm.probe import ProbeStep
from reverie.llm.trace_facts import facts_of
from reverie.llm.trace_reader import read_dump
from reverie.llm.trace_verdict import RunEvidence, RunVerdict, judge
from reverie.memory.write_log import WriteLog
from reverie.profile import Profile
from reverie.text.summaries import Phrase, phrase, plain
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.files.lease import Leases
    from reverie.files.watch import WatchState
    from reverie.jobs.consolidate.coverage import CoverageLog
    from reverie.memory.write_guard import WriteGuard
    from reverie.runs.activity import Activity
    from reverie.runs.record import RunStore

_STATE_BYTES = 1 << 20


Maker = Literal["reverie", "nobody", "others"]
"""The program that wrote the files in a directory; `nobody` if there are none."""


class DoctorHome(Protocol):
    """The attributes and methods of `services.container.HomeContainer` that the checks use."""

    home: Home
    home_id: str
    profile: Profile
    clock: Clock

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
    """A function that returns the model that the memory writer would use."""
    dream_model: Callable[[], ModelFacts] | None = None
    """A function that returns the model that a consolidation would use."""
    probe: Callable[[str], tuple[ProbeStep, ...]] | None = None
    """A function that tests the named model by a real request and returns the steps of the test.

    The request costs money.
    """
    run_writer: Callable[[], None] | None = None
    """A function that runs the memory writer now."""
    watch: Callable[[], WatchState | None] | None = None
    """A function that returns the state of the window's watcher of the home; None if it does not watch."""
    set_debug: Callable[[], None] | None = None
    """A function that turns debug logging on."""
    log_level: str = ""
    """The log level of the client, in words (see `files.log_file`); empty for the level of this process."""


class FileFacts(Struct, frozen=True):
    """The facts about one path on disk."""

    path: Path
    kind: Literal["missing", "file", "directory", "other"] = "missing"
    size: int = 0
    """In bytes."""
    changed_at: int = 0
    """The modification time in UTC ms."""
    writable: bool = False
    """Whether both the mode bits and the system allow writing."""
    problem: Phrase | None = None
    """The reason why the path cannot be examined; None if it can be, or if nothing exists there."""


class StateFacts(Struct, frozen=True):
    """The content of the state file in which the agent's memory writer counts turns.

    `turns`: the turns counted since the last run. `started_at`, `completed_at`: when the last run started and
    when one last completed, in UTC ms; None if unknown. `message_id`: the id of the last message that the
    last run read; None if unknown. `problem`: why the file cannot be read; None if it can be, or does not
    exist. Invalid values are converted as the agent does it (formats/mux.md section 14).
    """

    file: FileFacts
    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None
    problem: Phrase | None = None

    @property
    def unfinished(self) -> bool:
        """True if a run started and has not completed since: it is still running, or a crash ended it."""
        return self.started_at is not None and (
            self.completed_at is None or self.completed_at < self.started_at
        )


class TracedRun(Struct, frozen=True):
    """One run of a memory writer that left a trace, a file that records what the run did."""

    started_at: int
    """In UTC ms."""
    verdict: RunVerdict
    """The result, as far as the trace shows it."""
    by_agent: bool
    """Whether the agent's own writer made the run; a trace by Reverie's writer contains a run id."""

    @property
    def wrote(self) -> bool:
        """True if the run wrote memory, or reported that there is nothing to write."""
        return self.verdict.name in ("wrote", "nothing-to-write")


def look_at(path: Path) -> FileFacts:
    """Return the facts about the file or directory at `path`; a symbolic link is followed."""
    try:
        status = path.stat()
    except FileNotFoundError:
        broken = phrase("It is a broken symbolic link.")
        return FileFacts(path, "other", problem=broken) if is_link(path) else FileFacts(path)
    except OSError as error:
        why = phrase("The operating system reports: {error}.", error=error.strerror or str(error))
        return FileFacts(path, "other", problem=why)
    mode = status.st_mode
    kind: Literal["file", "directory", "other"] = (
        "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
    )
    return FileFacts(path, kind, status.st_size, status.st_mtime_ns // 1_000_000, _writable(path, status))


def read_state(path: Path) -> StateFacts:
    """Return the content of the state file of the agent's memory writer.

    If the file does not exist, the result has no turns and no problem. If it cannot be read, the result has
    no turns, and `problem` is the reason.
    """
    file = look_at(path)
    if file.kind == "missing":
        return StateFacts(file)
    if file.kind != "file":
        no_file = phrase("There is no file at this path, but something else.")
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


def newest_dumps(directory: Path, limit: int = 200) -> tuple[Path, ...]:
    """Return the paths of the newest trace files in a directory, newest first by the time in their names.

    `limit`: the largest number of files. Returns no paths if the directory cannot be read.
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
"""The number of runs of the agent's own writer after which `newest_runs` stops reading."""


MOST_DUMPS = 60
"""The maximum number of traces that `newest_runs` opens."""


def newest_runs(dumps: Sequence[Path]) -> tuple[TracedRun, ...]:
    """Read trace files of memory writers, newest first, and return the runs that they record.

    `dumps`: the trace files, newest first. Reading stops after `_RUNS` runs of the agent's own writer, at the
    latest after `MOST_DUMPS` files. A trace that cannot be read counts as a damaged run.
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
    """Return the time at which a run started, taken from the name of its trace file, in UTC ms.

    Returns 0 if the name contains no time.
    """
    head = path.name.partition("_")[0]
    return int(head) if head.isascii() and head.isdigit() and len(head) <= 16 else 0


def _writable(path: Path, status: os.stat_result) -> bool:
    # The owner's bit counts even for root: a file that its owner write-protected is meant to stay as it is.
    return bool(status.st_mode & stat.S_IWUSR) and os.access(path, os.W_OK)
