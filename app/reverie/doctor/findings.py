"""What the checks judge, and what a check comes to: a state, the evidence for it in words, and a fix where
one press can fix it.

Plain values. A fix changes only what belongs to Reverie, and the modes and names of files that Reverie writes
in a home; never the agent's configuration or transcripts.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reverie.agents.base import Home, Workspace
from reverie.agents.capabilities import AgentCheck, MemoryKinds
from reverie.agents.scopes import Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.clock import DAY_MS, HOUR_MS, Clock
from reverie.errors import StoreError, UserError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, is_link, open_regular, walk_paths
from reverie.files.sidecar import parse_object
from reverie.jobs.writer.state import coerced
from reverie.llm.trace_facts import RunEvidence, RunVerdict, facts_of, judge
from reverie.llm.trace_reader import read_dump
from reverie.memory.recording import WriteLog
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.store import write_locks
from reverie.profile import Profile
from reverie.settings import BackgroundTable, Settings, System1Settings, change_settings, load_settings
from reverie.text.summaries import NOTHING, Phrase, phrase, plain, plural, together
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.transcripts import Turn
    from reverie.files.lease import Leases
    from reverie.files.locks import LeaseHolder
    from reverie.files.watch import WatchState
    from reverie.jobs.consolidate.coverage import CoverageLog
    from reverie.jobs.writer.state import Interval
    from reverie.memory.store import WriteGuard
    from reverie.runs.activity import Activity, ActivityEntry
    from reverie.runs.record import RunStore


# What the checks judge: everything that stands on the disk, in the leases and in Activity about one
# workspace.
#
# Gathering only looks: nothing is created in the home, and a transcript of any size costs its last
# megabytes. What cannot be read is a fact too (`problem`), never an exception, so that one broken thing does
# not hide the others. `Unavailable` is raised only where the whole home is gone.
#
# Threading: blocks on disk; any thread but the GUI's.


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


class ModelFacts(Struct, frozen=True):
    """Which model would be asked and why this one; `problem` says in words why it cannot be."""

    engine: str
    reason: str
    problem: str = ""


class DoctorHooks(Struct, frozen=True):
    """What the checks ask of others. None: nobody to ask, and the checks say so. `probe` really asks the
    model and costs money; `run_writer` runs the writer now; `watch` tells how this window watches.
    `files.log_file`: how much the log of who asks tells; empty for that of this process."""

    model: Callable[[], ModelFacts] | None = None
    dream_model: Callable[[], ModelFacts] | None = None
    probe: Callable[[str], tuple[ProbeFacts, ...]] | None = None
    run_writer: Callable[[], None] | None = None
    watch: Callable[[], WatchState | None] | None = None
    set_debug: Callable[[], None] | None = None
    log_level: str = ""


class FileFacts(Struct, frozen=True):
    """One place on the disk; times in UTC ms. `writable` by its mode bits and by what the system says."""

    path: Path
    kind: Literal["missing", "file", "directory", "other"] = "missing"
    size: int = 0
    changed_at: int = 0
    writable: bool = False
    problem: Phrase | None = None


class StateFacts(Struct, frozen=True):
    """The writer's state file, coerced as formats/mux.md section 14 says."""

    file: FileFacts
    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None
    problem: Phrase | None = None

    @property
    def unfinished(self) -> bool:
        """Started, and not completed since: running, or ended by a crash."""
        return self.started_at is not None and (
            self.completed_at is None or self.completed_at < self.started_at
        )


class TracedRun(Struct, frozen=True):
    """One run of a memory writer that left a trace. `by_agent`: of the agent's own; those of Reverie name
    their run."""

    started_at: int
    verdict: RunVerdict
    by_agent: bool

    @property
    def wrote(self) -> bool:
        """It did what it was for."""
        return self.verdict.name in ("wrote", "nothing-to-write")


class WorkspaceFacts(Struct, frozen=True):
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
    refusals: tuple[tuple[Refusal, bool], ...] = ()
    """Layouts and versions that Reverie does not know, each with whether a person permitted writing."""
    agent_checks: tuple[tuple[AgentCheck, Maker | None], ...] = ()
    """The agent's own gates; each with who wrote what is in the directory that it suspects."""

    @property
    def verdict(self) -> Phrase:
        """What the newest trace comes to, in words."""
        if not self.runs:
            return NOTHING
        newest = self.runs[0].verdict
        where = newest.evidence.sentence()
        if not where:
            return newest.sentence
        return phrase("{verdict} ({place})", verdict=newest.sentence, place=where)

    @property
    def agent_runs(self) -> tuple[TracedRun, ...]:
        """Those of the agent's own writer, newest first."""
        return tuple(run for run in self.runs if run.by_agent)

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
        if dangling:
            return FileFacts(path, "other", problem=phrase("It is a link to nothing."))
        return FileFacts(path)
    except OSError as error:
        why = phrase("The system says: {error}.", error=error.strerror or str(error))
        return FileFacts(path, "other", problem=why)
    mode = status.st_mode
    kind: Literal["file", "directory", "other"] = (
        "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
    )
    return FileFacts(path, kind, status.st_size, status.st_mtime_ns // 1_000_000, _writable(path, status))


def read_state(path: Path) -> StateFacts:
    """The writer's state file; broken or missing counts as no turns."""
    file = look_at(path)
    if file.kind != "file":
        no_file = None if file.kind == "missing" else phrase("Something that is no file lies there.")
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


_RUNS = 5
"""How many of the newest runs, and of those of the agent, are looked at."""
MOST_DUMPS = 60
"""How many traces are opened for that."""


def newest_runs(dumps: Sequence[Path]) -> tuple[TracedRun, ...]:
    """Return what came of the newest runs, the newest of the agent's own among them; what cannot be read is
    damaged."""
    found = list[TracedRun]()
    for path in dumps[:MOST_DUMPS]:
        if len(found) >= _RUNS and sum(run.by_agent for run in found) >= _RUNS:
            break
        try:
            dump = read_dump(path, sketch=True)
        except UserError as error:
            said = plain(str(error))
            found.append(TracedRun(dump_time(path), RunVerdict("damaged", said, RunEvidence()), False))
            continue
        facts = facts_of(dump.document)
        verdict = judge(facts, dump.damage, lost=dump.lost)
        found.append(TracedRun(dump_time(path), verdict, not facts.run_id))
    return tuple(found)


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


# The fixes: each changes one thing that is Reverie's own, or the mode or name of a file the writer writes.
#
# The agent's configuration is never changed; where only that could help, the evidence says what to do by
# hand. Failure: `apply` raises `UserError`.


RULES = "rules"


class Fixes:
    """What can be fixed for one home. Settings are read anew when a fix is applied, so that one made
    meanwhile is kept."""

    def __init__(self, parts: DoctorHome, hooks: DoctorHooks) -> None:
        self._parts = parts
        self._hooks = hooks

    def switch_writer_on(self) -> Fix:
        return Fix(phrase("Turn on"), lambda: self._system1(enabled=True))

    def set_interval(self, turns: int) -> Fix:
        def apply() -> None:
            # A value that does not count stands in the file until another one than the default is written.
            self._system1(interval=turns + 1)
            self._system1(interval=turns)

        return Fix(phrase("Set the interval to {turns}", turns=turns), apply)

    def set_target(self, target: str) -> Fix:
        labels = {
            "project-file": phrase("Write to the project's one file"),
            "project-memory": phrase("Write to a project memory"),
        }
        return Fix(labels[target], lambda: self._system1(target=target))

    def use_rules(self) -> Fix:
        return Fix(phrase("Write without a model"), lambda: self._system1(model=RULES))

    def keep_traces_of_failures(self) -> Fix:
        return Fix(phrase("Keep traces of failures"), lambda: self._system1(traces="failures"))

    def switch_background_on(self) -> Fix:
        return Fix(phrase("Turn on"), lambda: self._background(enabled=True))

    def raise_budget(self) -> Fix:
        def apply() -> None:
            settings, _problems = load_settings(self._parts.profile.settings_file)
            now = settings.background.of(self._parts.home_id)
            self._background(
                runs_per_day=min(1000, max(12, now.runs_per_day * 2)),
                tokens_per_day=min(1_000_000_000, max(1_000_000, now.tokens_per_day * 2)),
            )

        return Fix(phrase("Double the budget of this home"), apply)

    def dream_by_rules(self) -> Fix:
        def change(settings: Settings) -> Settings:
            return settings.model_copy(update={"dream": settings.dream.model_copy(update={"engine": RULES})})

        return Fix(phrase("Consolidate without a model"), lambda: self._change(change))

    def watch_with(self, polling: str) -> Fix:
        def change(settings: Settings) -> Settings:
            return settings.model_copy(
                update={"watch": settings.watch.model_copy(update={"polling": polling})}
            )

        labels = {"auto": phrase("Watch by events"), "always": phrase("Scan the folders instead")}
        return Fix(labels[polling], lambda: self._change(change))

    def make_writable(self, path: Path) -> Fix:
        def apply() -> None:
            self._parts.write_guard.require()
            try:
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode | stat.S_IWUSR | (stat.S_IXUSR if path.is_dir() else 0))
            except OSError as error:
                raise user_error_from_os(error, f"{path} was not made writable.") from error

        return Fix(phrase("Make {name} writable", name=path.name), apply)

    def set_aside(self, path: Path) -> Fix:
        """Kept under a name nobody reads, never removed."""

        def apply() -> None:
            self._parts.write_guard.require()
            stamp = self._parts.clock()
            for number in range(100):
                renamed = path.with_name(f"{path.name}.unreadable-{stamp}" + (f"-{number}" if number else ""))
                if not os.path.lexists(renamed):
                    try:
                        path.rename(renamed)
                    except OSError as error:
                        raise user_error_from_os(error, f"{path.name} was not moved aside.") from error
                    return
            raise StoreError(f"{path.name} was not moved aside.", next_step="Move it away by hand.")

        return Fix(phrase("Move {name} aside", name=path.name), apply)

    def write_anyway(self, refusals: Sequence[Refusal]) -> Fix:
        """Write into stores whose layout or version Reverie does not know; a person has to choose it."""
        evidence = " ".join(each.evidence for each in refusals)
        return Fix(phrase("Write anyway"), lambda: self._parts.write_guard.permit(refusals), evidence)

    def take_away(self, directory: Path, *, empty: bool) -> Fix:
        """Keep a directory of ours that switches the agent's memory off, outside of the home; an empty one
        only goes."""

        return take_away_fix(self._parts, directory, empty=empty)

    def run_writer(self) -> Fix | None:
        act = self._hooks.run_writer
        return None if act is None else Fix(phrase("Write it now"), act)

    def debug_logging(self) -> Fix | None:
        act = self._hooks.set_debug
        return None if act is None else Fix(phrase("Turn on debug logging"), act)

    def _background(self, **update: Any) -> None:
        def change(settings: Settings) -> Settings:
            own = settings.background.of(self._parts.home_id).model_copy(update=update)
            table = BackgroundTable({**settings.background.root, self._parts.home_id: own})
            return settings.model_copy(update={"background": table})

        self._change(change)

    def _system1(self, **update: Any) -> None:
        def change(settings: Settings) -> Settings:
            section = System1Settings.model_validate({**settings.system1.model_dump(), **update})
            return settings.model_copy(update={"system1": section})

        self._change(change)

    def _change(self, change: Callable[[Settings], Settings]) -> None:
        profile = self._parts.profile
        change_settings(profile.settings_file, change, profile.locks, clock=self._parts.clock)
        self._parts.forget_settings()


# The agent's own gates (`Home.checks`) as findings. A directory can switch an agent's memory off by being
# there. Where every file in it is as Reverie wrote it, a fix copies the files into Reverie's own directory,
# compares them, and removes each if it is still the same, under the agent's lock. What somebody else put
# there stays; an empty directory has a fix of its own.


_MOST_FILES = 10_000
_SENTENCES: Mapping[Maker, Phrase] = {
    "reverie": phrase("Reverie made it."),
    "nobody": phrase("It is empty."),
    "others": phrase("It holds files that Reverie did not write or cannot read; it is left alone."),
}


def agent_findings(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """In the agent's own order."""
    found = []
    for check, maker in facts.agent_checks:
        fix, evidence = None, check.evidence
        if check.at is not None:
            evidence = phrase("{evidence} ({age})", evidence=evidence, age=ago(facts.now, check.at))
        if check.suspect is not None and maker is not None:
            evidence = together(evidence, _SENTENCES[maker])
            if maker != "others":
                fix = fixes.take_away(check.suspect, empty=maker == "nobody")
        found.append(Finding(check.check, check.title, check.state, evidence, fix))
    return tuple(found)


def maker_of(actors: WriteLog, directory: Path) -> Maker:
    """Who wrote what a directory holds: Reverie all files, as they are; nobody, where it holds none; or
    others, also where that cannot be known."""
    try:
        contents = {path: sha256_of_bytes(path.read_bytes()) for path in _files(directory)}
        if not contents:
            return "nobody"
        return "reverie" if set(actors.actors_of(contents)) == set(contents) else "others"
    except (OSError, UserError):
        return "others"


def take_away(parts: DoctorHome, directory: Path) -> None:
    """Keep its files in Reverie's own directory and remove what is ours of it, under the agent's own lock.
    Raises `Busy` while the agent holds that."""
    _refuse_others(parts, directory)
    root = ScopeRoot(Scope.GLOBAL, "", directory, None)
    with write_locks(parts.home, (root,), lock_dir=parts.profile.locks):
        _refuse_others(parts, directory)
        _take_away(parts, directory)


def _refuse_others(parts: DoctorHome, directory: Path) -> None:
    if maker_of(parts.actors, directory) == "others":
        raise StoreError(
            f"{directory.name}/ was left as it is.",
            cause="It holds files or links that Reverie did not write, or cannot be read.",
            next_step="Look at it, and remove it by hand if you do not need it.",
        )


def _take_away(parts: DoctorHome, directory: Path) -> None:
    kept = parts.profile.ensure(parts.profile.own_sidecars(parts.home_id)) / f"taken-{parts.clock()}"
    try:
        for path in _files(directory):
            data, copy = path.read_bytes(), kept / path.relative_to(directory)
            ensure_private(copy.parent)
            atomic_write(copy, data)  # durable before the original goes
            if copy.read_bytes() == data == path.read_bytes():
                path.unlink()
        for found in reversed([found for found, _directories, _names in walk_paths(directory, _raise)]):
            Path(found).rmdir()
    except OSError as error:
        raise user_error_from_os(error, f"{directory.name}/ was not removed.") from error


def take_away_fix(parts: DoctorHome, directory: Path, *, empty: bool) -> Fix:
    """The fix for a directory that is ours, or empty."""
    name = directory.name
    title = phrase("Remove the empty {name}/", name=name) if empty else phrase("Take {name}/ away", name=name)
    return Fix(title, lambda: take_away(parts, directory))


def _files(directory: Path) -> Iterator[Path]:
    """Every entry that is no directory. Raises `OSError` for what no file of ours is: a link, a device, more
    than a person writes."""
    if directory.is_symlink():
        raise OSError(f"{directory} is a link")
    count = 0
    for found, directories, names in walk_paths(directory, onerror=_raise):
        # `walk_paths` counts links to directories among the directories, and does not follow them.
        links = [name for name in directories if Path(found, name).is_symlink()]
        for name in (*links, *names):
            count += 1
            path = Path(found, name)
            if count > _MOST_FILES or path.is_symlink() or not path.is_file():
                raise OSError(f"{path} is not a file")
            yield path


def _raise(error: OSError) -> None:
    raise error


State = Literal["pass", "off", "warn", "fail"]
"""`off`: something that a person may switch on, and that nobody has switched on; nothing is wrong."""


class ProbeFacts(Struct, frozen=True):
    """One step of a real test of the model."""

    name: str
    state: str
    sentence: str


class FixOffer(Struct, frozen=True):
    """What a person is told of a fix before it is applied; `evidence` as in `Fix`."""

    label: Phrase
    evidence: str = ""


class FindingView(Struct, frozen=True):
    """A `Finding` for who cannot apply its fix: all of it but that."""

    check: str
    title: Phrase
    state: State
    evidence: Phrase
    fix: FixOffer | None = None
    remedy: Remedy = ""


class Fix(Struct, frozen=True):
    """What one press does: `label` says it as a command; `apply` blocks on disk and raises `UserError`.
    Look again after it."""

    label: Phrase
    apply: Callable[[], None]
    evidence: str = ""
    """What a person has to read and agree to first; empty where the press itself is enough."""


Remedy = Literal["", "model", "key"]
"""What a person can change in the settings: the model, or a key for it."""

Verdict = (
    tuple[State, Phrase]
    | tuple[State, Phrase, Fix | None]
    | tuple[State, Phrase, Fix | None, Phrase]
    | tuple[State, Phrase, Fix | None, Phrase | None, Remedy]
)
"""How a check ended, what was seen, what fixes it, the fact as a title where the check's own do not fit, and
what to change in the settings."""


class Finding(Struct, frozen=True):
    """One check. `check` is its name for scripts; `title` states the fact; `evidence` is what was seen, in
    sentences, with what to do where no fix can do it."""

    check: str
    title: Phrase
    state: State
    evidence: Phrase
    fix: Fix | None = None
    remedy: Remedy = ""

    @property
    def view(self) -> FindingView:
        """What is shown of it."""
        fix = None if self.fix is None else FixOffer(self.fix.label, self.fix.evidence)
        return FindingView(self.check, self.title, self.state, self.evidence, fix, self.remedy)

    def as_json(self) -> dict[str, Any]:
        """The stable shape of `reverie doctor` (design.md section 5)."""
        return {
            "check": self.check,
            # Scripts know three states (design.md section 5); what nobody turned on is no failure.
            "state": "warn" if self.state == "off" else self.state,
            "evidence": self.evidence,
            "fix": self.fix.label if self.fix is not None else None,
        }


# Times and sizes as the findings say them. Pure.


MINUTE_MS = 60_000
_MIB = 1 << 20


def ago(now: int, then: int) -> Phrase:
    """An age in the largest unit that fits."""
    age = now - then
    if age < -MINUTE_MS:
        return phrase("{length} in the future", length=_length(-age))
    if age < MINUTE_MS:
        return phrase("just now")
    if age < HOUR_MS:
        return plural("1 minute ago", "%n minutes ago", age // MINUTE_MS)
    if age < DAY_MS:
        return plural("1 hour ago", "%n hours ago", age // HOUR_MS)
    return plural("1 day ago", "%n days ago", age // DAY_MS)


def _length(span: int) -> Phrase:
    if span < HOUR_MS:
        return plural("1 minute", "%n minutes", span // MINUTE_MS)
    if span < DAY_MS:
        return plural("1 hour", "%n hours", span // HOUR_MS)
    return plural("1 day", "%n days", span // DAY_MS)


def size(count: int) -> str:
    """Bytes, rounded down."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    return f"{count / _MIB:.1f} MiB" if count >= _MIB else f"{count:,} bytes"
