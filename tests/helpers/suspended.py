"""Suspend a change at each of its steps, let another process come first, wake it, and say what is wrong.

`python -m helpers.suspended DIRECTORY SEED COUNT KIND...` prints one JSON line for each step (`Suspended`);
COUNT 0: every step; the modes take turns. A step is a checkpoint, or the moment before a lock is taken or
given back, or a database opened. Each change is a fork of one process without threads. Its leases end as time
would end them: their rows are made old. What a kind is, says `helpers.suspended_kinds`.
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pygit2

from helpers.benches import NOW, Time, contents
from helpers.suspended_kinds import KINDS, MINE, WORKSPACE, Kind
from reverie.agents.claude.locations import LOCK_NAME
from reverie.agents.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.errors import StoreError, UserError
from reverie.files import atomic as checkpoints
from reverie.files.locks import file_lock
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.single_file.draft import FileDraft
from reverie.llm.tools import Tool
from reverie.memory import write_guard
from reverie.memory.history import history
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs import fence
from reverie.runs.record import RunRecord
from reverie.runs.run import NO_LIMIT_S, Job, Plan, Run, RunContext
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits

MODES = ("writes", "undoes")
"""What the other process does once it has recovered: it writes; it takes the run back and writes."""
_DIES_WITH_PARENT = 1
_OTHER = "the other process"
_STEPS = frozenset({"fcntl.flock", "fcntl.lockf", "fcntl.fcntl", "sqlite3.connect"})


@dataclass(slots=True)
class Suspended:
    """What came of one change. `meanwhile`: how the other process ended while it was asleep; `said`: how it
    ended itself; `landed`: "old", "new", a number of runs between them, or "mix"."""

    kind: str
    number: int
    step: str
    mode: str
    meanwhile: str = ""
    said: str = ""
    landed: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class State:
    """Every memory of a home, with pins and uses."""

    memories: dict[str, bytes]
    usage: dict[str, MemoryUsage]


@dataclass(frozen=True, slots=True)
class Reference:
    """A change that nobody suspended: its steps, and the states that its runs went through, the old one
    first."""

    steps: tuple[str, ...]
    states: tuple[State, ...]
    said: str


class Place:
    """The home and the profile of one kind: `reset` brings back how they stood before the change."""

    def __init__(self, directory: Path, kind: Kind) -> None:
        self.kind = kind
        self.directory = directory / "work"
        self._before = directory / "before"
        (self.directory / "home").mkdir(parents=True)
        kind.prepare(self.directory)
        shutil.copytree(self.directory, self._before, symlinks=True)
        parts = self.parts()
        self.known = frozenset(parts.runs.ids())

        folder, _slash, name = kind.file.rpartition("/")
        (found,) = (self.directory / "home").glob(folder)
        self.file = found / name

    def parts(self, later_ms: int = 0) -> HomeContainer:
        return self.kind.open(self.directory, Time(NOW + later_ms))

    def reset(self) -> None:
        """The home's own folder stays: it is what the home is known by."""
        for folder in ("home", "profile"):
            (self.directory / folder).mkdir(exist_ok=True)
            for child in (self.directory / folder).iterdir():
                shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
            if (self._before / folder).exists():
                shutil.copytree(
                    self._before / folder, self.directory / folder, symlinks=True, dirs_exist_ok=True
                )

    def state(self) -> State:
        found = contents(self.directory / "home")
        memories = {name: data for name, data in found.items() if name.endswith(".md")}
        return State(memories, dict(self.parts().usage.load()))


class Steps:
    """Whoever listens hears of each step of this process, by its main thread."""

    def __init__(self) -> None:
        self._main = threading.get_ident()
        self.listener: Callable[[str], None] | None = None
        sys.addaudithook(self._audit)  # for good: there is no way to take one back
        checkpoints.set_observer(self._pass)

    def _audit(self, event: str, _arguments: Any) -> None:
        if event in _STEPS:
            self._pass(event)

    def _pass(self, name: str) -> None:
        if self.listener is not None and threading.get_ident() == self._main:
            self.listener(name)


def carried_out(place: Place, steps: Steps, listener: Callable[[str], None]) -> str:
    """Carry the change out; how it ended."""
    parts = place.parts()
    steps.listener = listener
    try:
        return place.kind.start(parts)
    except UserError as error:
        return error.reason or str(error)
    finally:
        steps.listener = None


def carried_out_asleep(place: Place, steps: Steps, stop_at: int) -> str:
    """The same, by a process that suspends itself at its step `stop_at`."""
    passed = 0

    def listen(_name: str) -> None:
        nonlocal passed
        if passed == stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)
        passed += 1

    return carried_out(place, steps, listen)


def come_first(place: Place, mode: str, line: str) -> str:
    """Another process, once the leases are over: recover, take the run back, write `line`; what it did."""
    parts = place.parts(60_000)
    did: list[str] = []
    try:
        if not place.kind.is_run:
            edits, context = UserEdits(parts), parts.home.context(workspace_id=WORKSPACE)
            text = edits.read(context, place.kind.path) if _is_there(parts, place) else None
            content, sha256 = (text.content, text.sha256) if text is not None else ("", None)
            edits.save(context, place.kind.path, f"{content}{line}\n", sha256)
            return "wrote"
        with parts.leases.acquire(dream_lease_name(parts.home_id), purpose=_OTHER):
            parts.recovery.run()
        did.append("recovered")
        last = next((run for run in runs_of(parts, place) if run.outcome == "completed"), None)
        if mode == "undoes" and last is not None and not last.reverted:
            parts.reverter.revert(last.id)
            did.append("undid")
        _write_line(parts, place, line)
        did.append("wrote")
    except UserError as error:
        did.append(error.reason or type(error).__name__)
    return " ".join(did)


def _is_there(parts: HomeContainer, place: Place) -> bool:
    store = parts.store(parts.home.context(workspace_id=WORKSPACE), actor="user")
    return store.entry(place.kind.path) is not None


class _Draft(FileDraft):
    """`line` at the end of a file."""

    name = "the file"
    reason = "line"

    def __init__(self, file: Path, line: str) -> None:
        super().__init__(lambda: file.read_bytes() if file.exists() else None)
        self.edit(lambda text: f"{text}{line}\n")

    def _require_room(self, text: str) -> None:
        pass

    def tools(self) -> tuple[Tool, ...]:
        return ()

    def reminder(self) -> str:
        return ""


class _WriteLine(Job[_Draft]):
    """A run of its own that puts a line at the end of a file."""

    kind = "writer"
    before = "before a line"
    attempts = 5
    workspace_id = project_path = None
    trigger = "turn"
    engine = purpose = _OTHER
    time_limit_s = NO_LIMIT_S

    def __init__(self, root: ScopeRoot, file: Path, line: str) -> None:
        self._root = root
        self._file = file
        self._line = line

    async def think(self, _run: RunContext) -> _Draft | Plan:
        return _Draft(self._file, self._line)

    def accept(self, thought: _Draft, _run: RunContext) -> Plan:
        thought.refresh()
        rel = self._file.relative_to(self._root.directory).as_posix()
        return Plan(self._line, (FileChange(self._root, rel, thought.before, thought.after),))


def _write_line(parts: HomeContainer, place: Place, line: str) -> None:
    """Another run comes first. Raises where it could not."""
    companions = ScopeRoot(Scope.PROJECT, COMPANIONS, parts.home.root, None)
    named = [each for each in parts.home.roots() if place.file.is_relative_to(each.directory)]
    root = max(named, key=lambda each: len(each.directory.parts), default=companions)
    result = asyncio.run(Run(parts.run_dependencies, _WriteLine(root, place.file, line)).go())
    if not result.succeeded:
        raise StoreError(result.summary, reason=result.reason)


def runs_of(parts: HomeContainer, place: Place) -> list[RunRecord]:
    """The runs of the change, newest first."""
    return [
        run
        for run in parts.runs.all()
        if run.id not in place.known
        and run.engine != _OTHER
        and run.trigger != ""
        and not _is_undo(run, place)
    ]


def _is_undo(run: RunRecord, place: Place) -> bool:
    """Whether it is the other process's, of the change."""
    return run.reverts is not None and run.reverts not in place.known


def reference_of(place: Place, steps: Steps) -> Reference:
    """The change as it goes when nobody suspends it. In this process, which has imported everything then."""
    names: list[str] = []
    states = [place.state()]

    def listen(name: str) -> None:
        names.append(name)
        if name == "applied":
            listener, steps.listener = steps.listener, None
            states.append(place.state())
            steps.listener = listener

    said = carried_out(place, steps, listen)
    if states[-1] != place.state():
        states.append(place.state())
    come_first(place, "undoes", "nobody reads this")
    return Reference(tuple(names), tuple(states), said)


def suspend(place: Place, steps: Steps, reference: Reference, name: str, number: int, mode: str) -> Suspended:
    """One change suspended at its step `number`."""
    found = Suspended(name, number, reference.steps[number], mode)
    place.reset()
    directory = place.directory
    pid = forked(directory, "said", partial(carried_out_asleep, place, steps, number))
    _pid, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        found.problems.append(f"it never came to this step: {status}")
        return found
    end_leases(place.parts().profile.leases_database)
    first, last = "written while it slept", "written after it woke"
    other = forked(directory, "meanwhile", partial(come_first, place, mode, first))
    found.meanwhile = ended(other, directory, "meanwhile")
    os.kill(pid, signal.SIGCONT)
    found.said = ended(pid, directory, "said")
    after = ended(forked(directory, "after", partial(come_first, place, "writes", last)), directory, "after")
    lines = [line for line, did in ((first, found.meanwhile), (last, after)) if "wrote" in did]
    if last not in lines:
        found.problems.append(f"afterwards: {after}")
    judge = _judge_run if place.kind.is_run else _judge_hand
    judge(place, reference, found, lines)
    return found


def end_leases(database: Path) -> None:
    """What time does to the leases of a process that is suspended."""
    if database.exists():
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE leases SET expires_at_ms = 0")


def _judge_run(place: Place, reference: Reference, found: Suspended, lines: Sequence[str]) -> None:
    parts, state = place.parts(), place.state()
    rel = place.file.relative_to(place.directory / "home").as_posix()
    now = state.memories.get(rel, b"")
    for line in lines:
        if now.count(f"{line}\n".encode()) != 1:
            found.problems.append(f"lost: “{line}”")
        now = now.replace(f"{line}\n".encode(), b"")
    memories = {**state.memories, rel: now}
    if not now and rel not in reference.states[0].memories:
        del memories[rel]
    known = [each.memories for each in reference.states]
    at = known.index(memories) if memories in known else None
    found.landed = "mix" if at is None else {0: "old", len(known) - 1: "new"}.get(at, str(at))
    if at is None:
        old = known[0]
        changed = sorted(each for each in {*old, *memories} if memories.get(each) != old.get(each))
        found.problems.append(f"a mix: {changed}")
    elif state.usage != reference.states[at].usage:
        found.problems.append("the pins and uses are not those of the memories")
    runs = runs_of(parts, place)
    done = [run for run in runs if run.outcome == "completed"]
    found.problems += [f"run {run.id} says {run.outcome}" for run in runs if not run.settled]
    undone = "undid" in found.meanwhile
    # What was taken back of an extraction is consolidated anew by its second run.
    goes_on = undone and len(known) > 2
    if at is not None and not goes_on and len([run for run in done if not run.reverted]) != at:
        told = ", ".join(f"{run.outcome}{' and taken back' if run.reverted else ''}" for run in runs)
        found.problems.append(f"the records say “{told}”")
    if not goes_on and (found.said == reference.said) is not (len(done) == len(known) - 1):
        found.problems.append(f"it said “{found.said}”, with {len(done)} runs completed")
    if undone is not any(run.reverted for run in runs):
        found.problems.append("a record does not say that its run was taken back")
    if parts.runs.unsettled():
        found.problems.append("a run is still open")
    for run in runs:
        journal = parts.transaction_for(run.id, "test").load()
        if journal is None or journal.coverage is None:
            continue
        ids = {"workspace_id": run.workspace_id, "project_path": run.project_path}
        if parts.coverage.holds(journal.coverage, **ids) is not (run.outcome == "completed"):
            found.problems.append(f"the coverage does not say what the record says: {run.outcome}")
    found.problems += _harvests(parts, len(done)) if found.kind == "harvest" else []
    kept = parts.profile.own_sidecars(parts.home_id) / "agent-lock.json"
    if kept.exists() and "held" in json.loads(kept.read_bytes()):
        found.problems.append("the agent's lock is still kept as ours")
    found.problems += [
        f"the agent's lock is left: {lock.read_text()}"
        for lock in (place.directory / "home").rglob(LOCK_NAME)
        if lock.stat().st_size
    ]
    found.problems += _left_over(place)


def _harvests(parts: HomeContainer, done: int) -> list[str]:
    records = parts.coverage.load().harvests.get(WORKSPACE, {}).values()
    told = [record["status"] for record in records]
    return [] if told.count("completed") == done else [f"the harvest records say {told}"]


def _judge_hand(place: Place, reference: Reference, found: Suspended, lines: Sequence[str]) -> None:
    """Nothing that was there, and nothing that anybody was told is written, is lost; where the other process
    wrote, that stands in the home."""
    parts, state = place.parts(), place.state()
    text = b"\n".join(state.memories.values())
    kept = _history(parts)
    for line in lines:
        where = text + kept if found.kind.startswith("delete") else text
        if line.encode() not in where:
            found.problems.append(f"lost: “{line}”")
    every = [line for data in reference.states[0].memories.values() for line in data.splitlines()]
    lost = [line for line in every if line not in text and line not in kept]
    found.problems += [f"lost: {lost[:3]}"] if lost else []
    if found.said == "completed" and found.kind == "save" and MINE.encode() not in text + kept:
        found.problems.append("what it saved is lost")
    found.landed = "new" if found.said == "completed" else "old"
    found.problems += _left_over(place)


def _history(parts: HomeContainer) -> bytes:
    """Every version of every file that the history holds."""
    repository = parts.profile.history(parts.home_id)
    found = pygit2.Repository(str(next(iter([repository, *repository.glob("*.git")]))))
    blobs = [found[each] for each in found]
    return b"\n".join(each.data for each in blobs if isinstance(each, pygit2.Blob))


def _left_over(place: Place) -> list[str]:
    hidden = sorted(path.name for path in (place.directory / "home").rglob(".*reverie*"))
    return [f"left over: {hidden}"] if hidden else []


def forked(directory: Path, name: str, act: Callable[[], str]) -> int:
    """The process id of a fork that writes what `act` returns to the file `name`."""
    pid = os.fork()
    if pid == 0:
        code = 1
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        try:
            (directory / name).write_text(act())
            code = 0
        except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return pid


def ended(pid: int, directory: Path, name: str) -> str:
    """What a fork wrote in the end."""
    _pid, status = os.waitpid(pid, 0)
    return (directory / name).read_text() if status == 0 else f"crashed: {status}"


def run_kinds(
    directory: Path, seed: int, count: int, kinds: Sequence[str], *, limit_s: float = 120.0
) -> list[Suspended]:
    """In a process of its own, without threads: `count` steps of each kind (0: every step, in every mode)."""
    done = subprocess.run(
        [sys.executable, "-m", "helpers.suspended", str(directory), str(seed), str(count), *kinds],
        capture_output=True,
        text=True,
        check=False,
        timeout=max(limit_s, 0.1),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    return [Suspended(**json.loads(line)) for line in done.stdout.splitlines()]


@dataclass
class Tally:
    """What suspending every kind at every step came to."""

    landed: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def count(self, found: Suspended) -> None:
        refused = "" if "wrote" in found.meanwhile else ", the other one refused"
        landed = self.landed.setdefault(found.kind, {})
        landed[found.landed + refused] = landed.get(found.landed + refused, 0) + 1
        where = f"{found.kind} at step {found.number} ({found.step}), the other one {found.mode}"
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def lines(self) -> list[str]:
        told = []
        for kind, landed in self.landed.items():
            counts = ", ".join(f"{name} {count}" for name, count in sorted(landed.items()))
            told.append(f"{kind}: {sum(landed.values())} steps ({counts})")
        return [*told, f"problems: {len(self.problems)}", *self.problems[:20]]


def suspend_all(directory: Path, *, seed: int, limit_s: float) -> Tally:
    """Every kind at every step, in two processes at once."""
    tally, until = Tally(), time.monotonic() + limit_s
    with ThreadPoolExecutor(2) as pool:
        left = lambda: until - time.monotonic()  # noqa: E731
        jobs = {
            name: pool.submit(lambda name=name: run_kinds(directory, seed, 0, [name], limit_s=left()))
            for name in KINDS
        }
        for name, job in jobs.items():
            try:
                for found in job.result():
                    tally.count(found)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                tally.problems.append(f"{name}: {error}")
    return tally


def _chosen(steps: Sequence[str], count: int, dice: random.Random) -> list[int]:
    """Every step; or `count` of those from the journal on, one of each of as many equal parts."""
    if not count:
        return list(range(len(steps)))
    first = steps.index("journal") if "journal" in steps else 0
    ends = [first + (len(steps) - first) * part // count for part in range(count + 1)]
    return [dice.randrange(start, end) for start, end in itertools.pairwise(ends)]


def main() -> None:
    """See the module."""
    top, seed, count, *kinds = sys.argv[1:]
    # A person waits longer; what is locked here stays so.
    fence._WAIT_S = history._LOCK_TIMEOUT_S = write_guard.OWN_PATIENCE_S = 0.05
    file_lock.__wrapped__.__kwdefaults__["timeout_s"] = 0.1  # type: ignore[attr-defined]
    steps = Steps()
    for name in kinds:
        dice = random.Random(f"{seed} {name}")
        place = Place(Path(top) / name, KINDS[name])
        reference = reference_of(place, steps)
        modes = MODES if place.kind.is_run else MODES[:1]
        for number in _chosen(reference.steps, int(count), dice):
            found = suspend(place, steps, reference, name, number, modes[(number + int(seed)) % len(modes)])
            sys.stdout.write(json.dumps(asdict(found)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
