"""Let one changing system call of a command fail, or kill the command there; then judge.

Run as `python -m helpers.sweep DIRECTORY`: a process that becomes an ordinary user and answers one JSON job a
line with one JSON report. A job names an operation and, unless it only asks
for the calls of that, a fault and the number of the call. The operation runs in a fork, as the command that
people give; another fork, a fresh start after it, judges. `helpers.sweeper` is the other side.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from helpers.failing_calls import Fault, NoBorderError, Seen, Watched, watched
from helpers.ordinary_user import give_up_power
from helpers.samples import copy_sample
from helpers.sweep_judge import States, Told, Verdict, memories, told
from helpers.sweep_operations import ACME, OPERATIONS, SEED, HandWork, Operation
from reverie.cli import main as command
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.container import HomeContainer

_CLONE_NEWUSER = 0x10000000


@dataclass(slots=True)
class Case:
    """What one fault came to. `landed` as `Verdict.judge` says; `claim` as in `Told`."""

    name: str
    fault: Fault
    at: int
    call: str = ""
    path: str = ""
    claim: str = ""
    landed: str = ""
    problems: list[str] = field(default_factory=list)


class Sweep:
    """One place: a home and a profile that are as before at the beginning of each case."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._home, self._profile = directory / "home", directory / "profile"
        self._kept = directory / "kept"
        self._known: dict[str, tuple[States, list[Seen]]] = {}
        self._home.mkdir(parents=True)
        os.environ["HOME"] = str(directory)

    def calls(self, name: str) -> list[Seen]:
        """The changing calls of an operation that nothing happens to."""
        return self._known_of(name)[1]

    def case(self, name: str, fault: Fault, at: int) -> Case:
        """Let it happen and judge it."""
        operation = OPERATIONS[name]
        states, _calls = self._known_of(name)
        self._lay_out(name)
        ended, said = self._run(operation, at, fault)
        case = Case(name, fault, at, claim=said.claim, problems=list(said.problems))
        if len(ended.seen) <= at:
            # The clock decides of some calls; this one was not made.
            case.landed = "not reached"
            return case
        case.call, case.path = ended.seen[at].call, os.path.relpath(ended.seen[at].path, self._directory)
        case.landed, problems = self._in_a_fork(lambda: self._judged(operation, states, said))
        case.problems += problems
        if case.problems:
            case.problems.append(f"told as {said.claim or 'nothing'}: {said.said}")
        return case

    def _judged(self, operation: Operation, states: States, said: Told) -> tuple[str, list[str]]:
        verdict = Verdict(
            operation,
            states,
            said,
            home=self._home,
            histories=self._profile / "data" / "history",
            again=lambda again: self._run(again)[1],
        )
        return verdict.judge(self._parts()), verdict.problems

    def _known_of(self, name: str) -> tuple[States, list[Seen]]:
        if name not in self._known:
            operation = OPERATIONS[name]
            self._build_ui(operation)
            self._import_all(operation)
            self._build_ui(operation)
            laid_out = memories(self._home)
            for each in (self._home, self._profile):
                if each.exists():
                    shutil.copytree(each, self._kept / name / each.name, symlinks=True)
            before: dict[str, bytes] = {}
            ended, said = self._run(operation, ready=lambda: before.update(memories(self._home)))
            assert (said.claim, said.problems) == ("done", ()), (name, said)
            assert before, name
            self._known[name] = States(before, memories(self._home), laid_out), ended.seen
        return self._known[name]

    def _build_ui(self, operation: Operation) -> None:
        """A home as it is before the operation."""
        self._clear()
        made = copy_sample("mux-home", self._directory / "sample")
        for far in ("debug_obj", "memory/project/data-pipeline-21ca8fe13a59"):
            shutil.rmtree(made / far)
        for item in made.iterdir():
            item.rename(self._home / item.name)
        shutil.rmtree(made.parent)
        for each in (*((SEED,) if operation.known else ()), *(OPERATIONS[name] for name in operation.first)):
            _ended, said = self._run(each)
            assert said.claim == "done", said

    def _clear(self) -> None:
        # The directory itself stays: a home is known by its path and its inode.
        for item in self._home.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _lay_out(self, name: str) -> None:
        self._clear()
        for each in (self._home, self._profile):
            if (kept := self._kept / name / each.name).exists():
                shutil.copytree(kept, each, symlinks=True, dirs_exist_ok=True)

    def _run(
        self,
        operation: Operation,
        at: int | None = None,
        fault: Fault = "",
        ready: Callable[[], object] = lambda: None,
    ) -> tuple[Watched, Told]:
        """Do it in a fork, as a command of its own would."""
        texts = [self._directory / name for name in ("in", "out", "err")]
        texts[0].write_text("".join(json.dumps(line) + "\n" for line in operation.lines))

        def prepare() -> Callable[[], int]:
            for number, text in enumerate(texts):
                opened = text.open("wb" if number else "rb", buffering=0)
                os.dup2(opened.fileno(), number)
            _own_streams()
            return self._work(operation)

        ended = watched(prepare, (self._home, self._profile), ready=ready, fails_at=at, fault=fault)
        out, err = (text.read_text(errors="replace") for text in texts[1:])
        return ended, told(operation, ended, out, err)

    def _work(self, operation: Operation) -> Callable[[], int]:
        if operation.by_hand:
            return HandWork(self._parts(), operation.by_hand).go
        words = self._words(operation)
        return lambda: command(words)

    def _words(self, operation: Operation) -> list[str]:
        """The whole command."""
        words = [self._newest_consolidation() if word == "RUN" else word for word in operation.words]
        if words[0] in ("memory", "consolidate"):
            words += ["--workspace", ACME]
        return ["--home", str(self._home), "--profile", str(self._profile), "--json", *words]

    def _import_all(self, operation: Operation) -> None:
        """What it imports late is imported once, here."""
        streams = sys.stdin, sys.stdout, sys.stderr
        text = "".join(json.dumps(line) + "\n" for line in operation.lines)
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        sys.stdout = sys.stderr = io.StringIO()
        try:
            self._work(operation)()
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams

    def _newest_consolidation(self) -> str:
        return next(record.id for record in self._parts().runs.all() if record.kind == "dream")

    def _parts(self) -> HomeContainer:
        return open_parts(self._home, Profile.under(self._profile), system_clock)

    @staticmethod
    def _in_a_fork(judge: Callable[[], tuple[str, list[str]]]) -> tuple[str, list[str]]:
        heard, tells = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(heard)
                try:
                    report = judge()
                except BaseException:  # noqa: BLE001 - whatever it is, the report says it
                    report = "", ["the fresh start failed: " + traceback.format_exc()[-2500:]]
                with os.fdopen(tells, "w") as out:
                    json.dump(report, out)
            finally:
                os._exit(0)
        os.close(tells)
        with os.fdopen(heard) as said:
            text = said.read()
        os.waitpid(child, 0)
        landed, problems = json.loads(text) if text else ("", ["the fresh start died"])
        return landed, problems


def _own_streams() -> None:
    """The streams of a new process on the descriptors 0 to 2."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def become_user() -> None:
    """Root becomes a user of its own, to whom the modes of files say no and who can give no file away; its
    files and its Python stay in reach."""
    if os.geteuid() != 0:
        return
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None).unshare(_CLONE_NEWUSER) == 0:
        maps = (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1"))
        for file, text in maps:
            Path("/proc/self", file).write_text(text)
    give_up_power()


def main() -> None:
    """See the module."""
    become_user()
    os.umask(0o022)
    sweep = Sweep(Path(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        try:
            calls = [] if "fault" in job else [asdict(seen) for seen in sweep.calls(job["name"])]
            report = asdict(sweep.case(**job)) if "fault" in job else {"calls": calls}
        except NoBorderError as error:
            report = {"skipped": str(error)}
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
