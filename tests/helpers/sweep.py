"""Let each changing system call of a command fail once, and kill the command there once; then judge.

Run as `python -m helpers.sweep DIRECTORY`: a process that becomes an ordinary user, imports everything once
and then answers one JSON job a line with one JSON report. A job names an operation and a fault at a call;
`helpers.failing_calls` lets it happen to a fork that runs the real command. Another fork, a fresh start after
it, recovers and judges: every memory is as before or as after, never some of each; none is lost; what was
told is true; nobody reads a traceback; and the next command works. `Sweeper` is the other side.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.failing_calls import KILL, Fault, NoBorderError, Seen, Watched, watched
from helpers.samples import copy_sample

ACME = "a1f3c9e2b7"
ERRORS: tuple[Fault, ...] = ("EIO", "ENOSPC", "EACCES")
FAULTS: tuple[Fault, ...] = (*ERRORS, KILL)
_CLONE_NEWUSER = 0x10000000
_VERSION_3 = 0x20080522
_NO_WORDS = re.compile(r"\[Errno|Traceback|Exception ignored|<class|\b[A-Z]\w+(?:Error|Exception)\b")

Lines = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that people do. `words`: the command, with `RUN` for the newest consolidation; `lines`: its stdin;
    `by_hand`: what the window's service does instead. `first`: what is done before, unharmed; `known`: the
    home has been used already, so that history and databases exist."""

    words: tuple[str, ...] = ()
    lines: Lines = ()
    by_hand: str = ""
    first: tuple[str, ...] = ()
    known: bool = True


def _line(command: str, **more: Any) -> Operation:
    return Operation(("memory",), ({"command": command, **more},))


_CREATE = {
    "command": "create",
    "path": "/memories/global/fresh/deep/new.md",
    "file_text": "# New\n\nfresh words\n",
}
OPERATIONS: Mapping[str, Operation] = {
    "create": Operation(("memory",), (_CREATE,)),
    "first create": Operation(("memory",), (_CREATE,), known=False),
    "save": _line(
        "str_replace",
        path="/memories/global/testing.md",
        old_str="No sleeps",
        new_str="Never any sleeps",
    ),
    "delete": _line("delete", path="/memories/global/testing-old.md"),
    "delete folder": _line("delete", path="/memories/global/people"),
    "rename": _line(
        "rename", old_path="/memories/global/testing.md", new_path="/memories/global/moved/testing.md"
    ),
    "rename folder": _line("rename", old_path="/memories/global/people", new_path="/memories/global/humans"),
    "consolidate": Operation(("consolidate", "--engine", "rules")),
    "first consolidate": Operation(("consolidate", "--engine", "rules"), known=False),
    "revert": Operation(("revert", "RUN"), first=("consolidate",)),
    "hand save": Operation(by_hand="save"),
    "hand delete": Operation(by_hand="delete"),
    "hand rename": Operation(by_hand="rename"),
    "hand undo": Operation(by_hand="undo"),
    "hand restore": Operation(by_hand="restore", first=("delete folder",)),
    "hand move": Operation(by_hand="move"),
}
_AFTERWARDS = ({"command": "create", "path": "/memories/global/afterwards.md", "file_text": "afterwards\n"},)


@dataclass(slots=True)
class Case:
    """What one fault came to. `landed`: "before" or "after", else what is wrong is among the problems."""

    operation: str
    fault: Fault
    at: int
    call: str = ""
    path: str = ""
    said: str = ""
    landed: str = ""
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        where = f"{self.operation}, {self.fault} at call {self.at} ({self.call} {self.path})"
        return [f"{where}: {problem}" for problem in self.problems]


# What one command says


@dataclass(frozen=True, slots=True)
class Told:
    """The end of one command. `claim`: "done", "failed", or "" for one that was killed before it said."""

    claim: str
    words: str
    error: str
    problems: tuple[str, ...] = ()


def told(operation: Operation, ended: Watched, out: str, err: str) -> Told:
    """What a person, or the program that gave the command, learns from its end."""
    problems = []
    answer = _answer(out)
    line = bool(operation.lines or operation.by_hand)
    claim = ""
    if line and "success" in answer:
        claim = "done" if answer["success"] else "failed"
    elif not ended.killed:
        claim = "failed" if ended.code else "done"
    if not ended.killed and line and claim == "done" and ended.code:
        problems.append("it was done, yet the command ended as failed")
    words = " ".join(str(answer.get(name, "")) for name in ("error", "cause", "nextStep")).strip()
    said = f"{words} {err}".strip()
    if ended.hung:
        problems.append("it hung")
    elif ended.killed:
        pass
    elif claim == "failed" and not said:
        problems.append("it failed without a word")
    if _NO_WORDS.search(err) or _NO_WORDS.search(words):
        problems.append(f"no words for people: {said[-1500:]}")
    return Told(claim, out.strip(), err.strip(), tuple(problems))


def _answer(out: str) -> dict[str, Any]:
    try:
        found = json.loads(out)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# The process that lets it happen


def become_user() -> None:
    """Root becomes a user of its own, to whom the modes of files say no and who may give no file away; its
    files and its Python stay in reach."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER) == 0:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"1000 {user} 1"),
            ("gid_map", f"1000 {group} 1"),
        ):
            Path("/proc/self", file).write_text(text)
    header, none = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(header, none):
        raise NoBorderError("root cannot give up its rights here")


class Sweep:
    """One process, one place: a home and a profile that are as before at the beginning of each case."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home, self.profile = directory / "home", directory / "profile"
        self._kept = directory / "kept"
        self._states: dict[str, tuple[dict[str, bytes], dict[str, bytes], list[Seen]]] = {}
        directory.mkdir(parents=True, exist_ok=True)
        self.home.mkdir()
        os.environ.update(HOME=str(directory), XDG_RUNTIME_DIR=str(directory))

    def calls(self, name: str) -> list[Seen]:
        """The changing calls of an operation that nothing happens to."""
        return self._state(name)[2]

    def case(self, name: str, fault: Fault, at: int, *, from_there: bool = False) -> Case:
        """Let it happen and judge it."""
        operation = OPERATIONS[name]
        before, after, _seen = self._state(name)
        self._lay_out(name)
        ended, out, err = self._run(operation, at=at, fault=fault, from_there=from_there)
        case = Case(name, fault + ("…" if from_there else ""), at)
        if len(ended.seen) <= at:
            case.problems.append(f"only {len(ended.seen)} calls were made; {out[-300:]} {err[-300:]}")
            return case
        case.call, case.path = ended.seen[at].call, self._short(ended.seen[at].path)
        said = told(operation, ended, out, err)
        case.said = said.claim
        case.problems += said.problems
        verdict = self._in_a_fork(lambda: _Verdict(self, operation, before, after, said).judge())
        case.landed = verdict.get("landed", "")
        case.problems += verdict["problems"]
        if case.problems:
            case.problems[-1] += (
                f" [said: {said.claim or 'nothing'}; {said.words[-700:]} | {said.error[-1500:]}]"
            )
        return case

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self.directory)

    def _state(self, name: str) -> tuple[dict[str, bytes], dict[str, bytes], list[Seen]]:
        if name not in self._states:
            operation = OPERATIONS[name]
            self.furnish(operation)
            before = memories(self.home)
            self._keep(name)
            ended, out, err = self._run(operation)
            if operation.by_hand == "undo":  # what it takes back is done by the same process
                before = {name: data for name, data in before.items() if "/people/" not in name}
            said = told(operation, ended, out, err)
            if said.claim != "done" or said.problems:
                raise AssertionError(f"{name} fails by itself: {said} {ended.code}")
            after = memories(self.home)
            assert before != after, name
            self._states[name] = before, after, ended.seen
        return self._states[name]

    def furnish(self, operation: Operation) -> None:
        """A home as it is before the operation."""
        self._clear()
        made = copy_sample("mux-home", self.directory / "sample", whole=False)
        for far in ("debug_obj", "memory/project/data-pipeline-21ca8fe13a59"):
            shutil.rmtree(made / far)
        for item in made.iterdir():
            item.rename(self.home / item.name)
        shutil.rmtree(made.parent)
        if operation.known:
            seed = {"command": "create", "path": "/memories/global/seed.md", "file_text": "# Seed\n\nseed\n"}
            self._expect_done(Operation(("memory",), (seed,)))
        for name in operation.first:
            self._expect_done(OPERATIONS[name])

    def _expect_done(self, operation: Operation) -> None:
        ended, out, err = self._run(operation)
        assert told(operation, ended, out, err).claim == "done", (operation, out, err)

    def _clear(self) -> None:
        # The directory itself stays: a home is known by its path and its inode.
        for item in self.home.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _keep(self, name: str) -> None:
        for each in (self.home, self.profile):
            if each.exists():
                shutil.copytree(each, self._kept / name / each.name, symlinks=True)

    def _lay_out(self, name: str) -> None:
        self._clear()
        for each in (self.home, self.profile):
            if (kept := self._kept / name / each.name).exists():
                shutil.copytree(kept, each, symlinks=True, dirs_exist_ok=True)

    def _run(
        self, operation: Operation, *, at: int | None = None, fault: Fault = "", from_there: bool = False
    ) -> tuple[Watched, str, str]:
        """Do it in a fork, as the command would: how it ended, and what it wrote."""
        texts = [self.directory / name for name in ("in", "out", "err")]
        texts[0].write_text("".join(json.dumps(line) + "\n" for line in operation.lines))
        with contextlib.ExitStack() as opened:
            streams = [
                opened.enter_context(text.open(mode))
                for text, mode in zip(texts, ("rb", "wb", "wb"), strict=True)
            ]
            ready: Callable[[], int] | None = None

            def prepare() -> None:
                nonlocal ready
                for number, stream in enumerate(streams):
                    os.dup2(stream.fileno(), number)
                ready = self._made_ready(operation)

            def act() -> int:
                assert ready is not None
                return ready()

            ended = watched(
                act,
                (self.home, self.profile),
                prepare=prepare,
                fails_at=at,
                fault=fault,
                from_there=from_there,
            )
        return ended, texts[1].read_text(errors="replace"), texts[2].read_text(errors="replace")

    def _made_ready(self, operation: Operation) -> Callable[[], int]:
        _own_streams()
        if operation.by_hand:
            return HandWork(self, operation.by_hand).ready()
        from reverie.cli import main

        words = self.words(operation)
        return lambda: main(words)

    def words(self, operation: Operation) -> list[str]:
        """The whole command."""
        words = [self._newest_run() if word == "RUN" else word for word in operation.words]
        if words[0] in ("memory", "consolidate"):
            words += ["--workspace", ACME]
        return ["--home", str(self.home), "--profile", str(self.profile), "--json", *words]

    def _newest_run(self) -> str:
        return next(str(record.id) for record in self.parts().runs.all() if record.kind == "dream")

    def parts(self) -> Any:
        from reverie.clock import system_clock
        from reverie.compose import open_parts
        from reverie.profile import Profile

        return open_parts(self.home, Profile.under(self.profile), system_clock)

    def again(self, operation: Operation) -> Told:
        """The operation once more, unharmed."""
        ended, out, err = self._run(operation)
        return told(operation, ended, out, err)

    @staticmethod
    def _in_a_fork(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        heard, tells = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(heard)
                try:
                    report = act()
                except BaseException:  # noqa: BLE001 - whatever it is, the report says it
                    report = {"problems": ["the fresh start failed: " + traceback.format_exc()[-2500:]]}
                with os.fdopen(tells, "w") as out:
                    json.dump(report, out)
            finally:
                os._exit(0)
        os.close(tells)
        with os.fdopen(heard) as said:
            text = said.read()
        os.waitpid(child, 0)
        return dict(json.loads(text)) if text else {"problems": ["the fresh start died"]}


def _own_streams() -> None:
    """The streams of a new process on the descriptors 0 to 2."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


class HandWork:
    """What the window does by its services, told as a command's answer would be."""

    def __init__(self, sweep: Sweep, kind: str) -> None:
        from reverie.services.hand_edits import HandEdits

        self._kind = kind
        self._parts = sweep.parts()
        self._edits = HandEdits(self._parts)
        self._context = self._parts.home.context(workspace_id=ACME)

    def ready(self) -> Callable[[], int]:
        """The work itself; what comes before it is done."""
        edits, context = self._edits, self._context
        work: Callable[[], Any]
        if self._kind == "save":
            text = edits.read(context, "/memories/global/testing.md")
            work = lambda: edits.save(context, text.path, text.content + "\nmore words\n", text.sha256).note  # noqa: E731
        elif self._kind == "delete":
            paths = ["/memories/global/people", "/memories/global/testing-old.md"]
            work = lambda: edits.delete_all(context, paths).warning  # noqa: E731
        elif self._kind == "rename":
            work = lambda: (
                edits.rename(
                    context, "/memories/global/testing.md", "/memories/global/moved/testing.md"
                ).warning
            )
        elif self._kind == "undo":
            undo = edits.delete(context, "/memories/global/people")
            work = lambda: edits.undo(undo)  # noqa: E731
        elif self._kind == "move":
            work = self._move
        else:
            work = self._restore
        return lambda: self._tell(work)

    def _restore(self) -> str:
        from reverie.services.trash import TrashDesk

        desk = TrashDesk(self._parts)
        return str(desk.restore(desk.page().entries).warning)

    def _move(self) -> str:
        from reverie.services.moves import Moves

        targets = {
            f"/memories/global/{name}.md": f"/memories/workspace/{name}.md"
            for name in ("testing", "preferences")
        }
        return Moves(self._parts).move(self._context, targets).warning

    @staticmethod
    def _tell(work: Callable[[], Any]) -> int:
        from reverie.errors import MendableError

        try:
            answer = {"success": True, "warning": work()}
        except MendableError as error:
            answer = {"success": False, "error": str(error)}
        sys.stdout.write(json.dumps(answer))
        return 0


# Judging


def memories(home: Path) -> dict[str, bytes]:
    """Every memory of the home that an agent or a person would find."""
    found = {}
    for top in (home / "memory", *home.glob("sessions/*/memory")):
        for path in top.rglob("*"):
            rel = path.relative_to(home)
            if path.is_file() and not any(part.startswith(".") for part in rel.parts):
                found[rel.as_posix()] = path.read_bytes()
    return found


class _Verdict:
    """A fresh start: recover, look, go on."""

    def __init__(
        self,
        sweep: Sweep,
        operation: Operation,
        before: dict[str, bytes],
        after: dict[str, bytes],
        said: Told,
    ) -> None:
        self._sweep, self._operation = sweep, operation
        self._before, self._after = before, after
        self._said = said
        self.problems: list[str] = []

    def judge(self) -> dict[str, Any]:
        from reverie.dream.service import dream_lease_name
        from reverie.errors import MendableError

        parts = self._sweep.parts()
        try:
            with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="recovery"):
                parts.recovery.run()
        except MendableError as error:
            self.problems.append(f"recovery failed: {error}")
        now = memories(self._sweep.home)
        landed = self._landed(now)
        self._nothing_lost(now)
        self._sidecars(landed)
        self._runs(parts, landed)
        if self._said.claim == "done" and landed == "before":
            self.problems.append("told as done, yet everything is as before")
        if self._said.claim == "failed" and landed == "after":
            self.problems.append("DONE, yet told as failed")
        self._go_on(landed)
        return {"landed": landed, "problems": self.problems}

    def _landed(self, now: dict[str, bytes]) -> str:
        if now == self._before:
            return "before"
        if now == self._after:
            return "after"
        names = now.keys() | self._before.keys() | self._after.keys()
        differs = {
            name: "before"
            if now.get(name) == self._before.get(name)
            else "after"
            if now.get(name) == self._after.get(name)
            else "neither"
            for name in sorted(names)
            if not now.get(name) == self._before.get(name) == self._after.get(name)
        }
        # What is done by hand to several files is done file by file; a kill leaves those that were not yet.
        if self._operation.by_hand and not self._said.claim and "neither" not in differs.values():
            return "file by file"
        self.problems.append(f"MIX: {differs}")
        return "mix"

    def _nothing_lost(self, now: dict[str, bytes]) -> None:
        missing = {name: data for name, data in self._before.items() if data not in now.values()}
        if missing:
            kept = kept_texts(self._sweep.profile / "data" / "history")
            lost = [name for name, data in missing.items() if data not in kept]
            if lost:
                self.problems.append(f"LOST: {lost}")

    def _sidecars(self, landed: str) -> None:
        for name in ("memory-meta.json", "memory-consolidation.json"):
            try:
                json.loads((self._sweep.home / name).read_bytes())
            except (OSError, ValueError) as error:
                self.problems.append(f"{name} is torn: {error}")

    def _runs(self, parts: Any, landed: str) -> None:
        for record in parts.runs.all():
            if record.outcome == "running":
                self.problems.append(f"run {record.id} still says running")
        if parts.runs.problems:
            self.problems.append(f"records are damaged: {parts.runs.problems}")

    def _go_on(self, landed: str) -> None:
        """The next command works: the same one where it was not done, another one where it was."""
        again = self._operation
        if landed != "before" or again.by_hand == "undo":
            again = Operation(("memory",), _AFTERWARDS)
        said = self._sweep.again(again)
        if said.claim != "done" or said.problems:
            self.problems.append(f"the next command does not work: {said}")
            return
        if again is self._operation and memories(self._sweep.home) != self._after:
            self.problems.append("done once more it does not come to the same")


def kept_texts(histories: Path) -> set[bytes]:
    """Every version of every file that the histories hold."""
    import pygit2

    found: set[bytes] = set()
    seen: set[Any] = set()

    def gather(repository: Any, tree: Any) -> None:
        if tree.id in seen:
            return
        seen.add(tree.id)
        for item in tree:
            if item.type_str == "tree":
                gather(repository, item)
            elif item.type_str == "blob" and item.id not in seen:
                seen.add(item.id)
                found.add(bytes(item.data))

    for head in histories.glob("*/HEAD"):
        repository = pygit2.Repository(str(head.parent))
        for name in repository.references:
            target = repository.references[name].resolve().target
            for commit in repository.walk(target):
                gather(repository, commit.tree)
    return found


def main() -> None:
    become_user()
    os.umask(0o022)
    _import_all(Path(sys.argv[1]))
    sweep = Sweep(Path(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        try:
            if "fault" in job:
                report = asdict(sweep.case(**job))
            else:
                report = {"calls": [asdict(seen) for seen in sweep.calls(job["name"])]}
        except NoBorderError as error:
            report = {"skipped": str(error)}
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


def _import_all(directory: Path) -> None:
    """What commands import late is imported once, here: by each of them, on a home of its own."""
    from reverie.cli import main as run

    sweep = Sweep(directory)
    streams = sys.stdin, sys.stdout, sys.stderr
    for name in ("create", "delete folder", "rename", "consolidate"):
        operation = OPERATIONS[name]
        sweep.furnish(Operation())
        text = "".join(json.dumps(line) + "\n" for line in operation.lines)
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        sys.stdout = sys.stderr = io.StringIO()
        try:
            run(sweep.words(operation))
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
    shutil.rmtree(directory)


@dataclass(frozen=True, slots=True)
class Job:
    """A fault at a call of an operation."""

    name: str
    fault: Fault
    at: int


def every_fault(name: str, calls: Sequence[Seen]) -> list[Job]:
    """Each fault at each call; but of what SQLite and the history's object store do in a row on the same
    file, where all calls have one way out, the first and the last, with one error number each and the
    kill."""
    jobs = []
    for at, seen in enumerate(calls):
        if not _in_a_library(seen.path):
            jobs += [Job(name, fault, at) for fault in FAULTS]
        elif at in _ends(calls, at):
            jobs += [Job(name, ERRORS[at % len(ERRORS)], at), Job(name, KILL, at)]
    return jobs


def some_faults(name: str, calls: Sequence[Seen], dice: random.Random, count: int) -> list[Job]:
    """`count` of them, at calls of different kinds."""
    kinds = list({(seen.call, _kind(seen.path)): at for at, seen in enumerate(calls)}.values())
    return [
        Job(name, FAULTS[number % len(FAULTS)], at) for number, at in enumerate(dice.sample(kinds, count))
    ]


def _in_a_library(path: str) -> bool:
    return ".sqlite" in path or "/objects/" in path


def _kind(path: str) -> str:
    return re.sub(r"[0-9a-f]{8,}|\d+|(?<=objects/)..", "#", path)


def _ends(calls: Sequence[Seen], at: int) -> tuple[int, int]:
    """Of the calls of this kind in the stretch around `at` that is about one file: the first and the last."""

    def about(number: int) -> str:
        path = calls[number].path
        return _kind(path.partition("/objects/")[0] if "/objects/" in path else path.removesuffix("-journal"))

    first = last = at
    while first and about(first - 1) == about(at):
        first -= 1
    while last + 1 < len(calls) and about(last + 1) == about(at):
        last += 1
    same = [
        number
        for number in range(first, last + 1)
        if (calls[number].call, _kind(calls[number].path)) == (calls[at].call, _kind(calls[at].path))
    ]
    return same[0], same[-1]


@dataclass
class Sweeper:
    """The other side; a context manager."""

    directory: Path
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Sweeper:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "helpers.sweep", str(self.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process is not None
        self._process.communicate(timeout=60)

    def ask(self, **job: Any) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))


if __name__ == "__main__":
    main()
