"""A process that lets faults happen: it imports everything once, then forks one child per case, so that a
limit, a mount, a time zone or a lost right ends with its case.

Run as `python -m helpers.fault_room`; one JSON job a line on stdin (`case`, `place`, `full`), one JSON report
a line on stdout (`messages`, `problems`, `skipped`). `run_faults` is the other side. What the cases are, is
said in `faults_disk`, `faults_state` and `faults_far`; a case gets a `Room` and fills it.

A case must end in a clear message (title, cause, next step) and in intact data, compared byte for byte: what
went wrong of that is one of its `problems`, and so is any exception that is no `UserError`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.battery import run_here
from helpers.benches import NOW, Time, contents
from helpers.samples import copy_sample
from helpers.slow_disk import CannotMountError, own_mounts
from reverie.errors import UserError

ACME = "a1f3c9e2b7"
NOTE = "/memories/global/testing.md"
LONGEST_S = 900.0
_MEMORY = "memory/"


class NotHereError(Exception):
    """This machine cannot do that to us; why."""


@dataclass
class Room:
    """One case: a home and a profile of its own, and what is said and found."""

    place: Path
    full: bool
    messages: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    elsewhere: Path | None = None
    """Where the profile is, if not beside the home."""

    @property
    def home(self) -> Path:
        return self.place / "mux-home"

    @property
    def profile(self) -> Path:
        return self.elsewhere or self.place / "profile"

    def build_ui(self, place: Path | None = None) -> Path:
        """A copy of the sample home."""
        if place is not None:
            self.place = place
        self.place.mkdir(parents=True, exist_ok=True)
        return copy_sample("mux-home", self.place)

    def parts(self, clock: Callable[[], int] | None = None) -> Any:
        from reverie.compose import open_parts
        from reverie.profile import Profile

        return open_parts(self.home, Profile.under(self.profile), clock or Time())

    def edits(self) -> tuple[Any, Any]:
        """Hand edits, and the context of the workspace."""
        from reverie.services.edits import UserEdits

        parts = self.parts()
        return UserEdits(parts), parts.home.context(workspace_id=ACME)

    def run(self, *words: str, now: int = NOW) -> tuple[int, Any]:
        """A command as a person gives it: how it ended, and its JSON."""
        if words[0] in ("status", "tree", "consolidate", "context"):
            words = (*words, "--workspace", ACME)
        code, out, err = run_here(self.home, self.profile, *words, "--json", now=now)
        answer = json.loads(out) if out.strip() else {}
        if code and not err.strip():
            self.problems.append(f"{words[0]} ended with {code} and said nothing")
        if code and isinstance(answer, dict) and "error" in answer:
            self.hear(answer["error"], answer["cause"], answer["nextStep"])
        elif code:
            self.messages.append(err.strip())
        return code, answer

    def expect(self, code: int, *words: str, now: int = NOW) -> Any:
        ended, answer = self.run(*words, now=now)
        self.check(ended == code, f"{' '.join(words)} ended with {ended}: {self.messages[-1:]}")
        return answer

    def hear(self, title: str, cause: str, next_step: str) -> None:
        said = " ".join(part for part in (title, cause, next_step) if part)
        if said not in self.messages:
            self.messages.append(said)
        self.check(bool(title and (cause or next_step)), f"it says neither why nor what to do: {said!r}")

    def refused(self, what: str, act: Callable[[], object]) -> UserError | None:
        """`act` must be refused in words."""
        try:
            act()
        except UserError as error:
            self.hear(error.title, error.cause, error.next_step)
            self.check(bool(error.cause and error.next_step), f"{what}: no cause or no next step: {error}")
            return error
        self.problems.append(f"{what} was not refused")
        return None

    def check(self, holds: object, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    def memories(self) -> dict[str, bytes]:
        """Every memory of the home with its bytes."""
        return {name: data for name, data in contents(self.home).items() if name.startswith(_MEMORY)}

    def same(self, before: dict[str, bytes], now: dict[str, bytes], when: str) -> None:
        """Not one byte differs."""
        changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        self.check(not changed, f"{when}: {len(changed)} files differ, as {changed[:3]}")

    def settled(self, before: dict[str, bytes], when: str) -> None:
        """After recovery the memories are the old ones or what a completed run made of them; reverting what
        was done gives every byte back."""
        runs = self.expect(0, "runs")
        for run in runs:
            self.check(run["outcome"] != "running", f"{when}: a run is left open")
        for run in runs:
            done = run["outcome"] in ("completed", "failed", "interrupted", "held")
            if done and not run["reverted"] and run["kind"] == "dream" and self.memories() != before:
                self.expect(0, "revert", run["id"])
        self.same(before, self.memories(), when)


Case = Callable[[Room], None]


@contextlib.contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes: as on a full disk or with a quota."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def small_disk(place: Path, size_kb: int) -> Path:
    """A disk of so many KB that only this process sees; it is gone with it."""
    try:
        own_mounts()
    except CannotMountError as error:
        raise NotHereError(str(error)) from error
    libc = ctypes.CDLL(None, use_errno=True)
    place.mkdir(parents=True, exist_ok=True)
    if libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, f"size={size_kb}k".encode()):
        raise NotHereError(f"no small disk here: {os.strerror(ctypes.get_errno())}")
    return place


def remount(place: Path, *, read_only: bool) -> None:
    """The small disk can only be read from now on, or written again."""
    libc = ctypes.CDLL(None, use_errno=True)
    ms_remount, ms_rdonly = 32, 1
    flags = ms_remount | (ms_rdonly if read_only else 0)
    if libc.mount(b"none", os.fsencode(place), b"tmpfs", flags, None):
        raise NotHereError(f"it cannot be remounted: {os.strerror(ctypes.get_errno())}")


_limited: list[int] = []
"""Processes that have limits of their own: this one, or none."""


def own_limit(name: str, most: int) -> None:
    """The system's limit of this name (below /proc/sys/user) for this process and its children alone, which
    become a set of users of their own for that."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newuser = 0x10000000
    limit = Path("/proc/sys/user", name)
    if sys.platform != "linux" or not limit.exists():
        raise NotHereError("this system has no limits of a process's own")
    user, group = os.geteuid(), os.getegid()
    if not _limited:
        if libc.unshare(clone_newuser):
            raise NotHereError(f"no limits of our own: {os.strerror(ctypes.get_errno())}")
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", file).write_text(text)
        _limited.append(os.getpid())
    try:
        limit.write_text(str(most))
    except OSError as error:
        raise NotHereError(f"the limit cannot be set: {error}") from error


def obey_modes() -> None:
    """From now on modes of files mean something to this process, also where it is root's."""
    if sys.platform != "linux":
        raise NotHereError("rights are tried on Linux only")
    if os.geteuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise NotHereError("rights cannot be asked for here")
    over_modes = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    sets[0] &= ~over_modes
    if libc.capset(header, sets):
        raise NotHereError("rights cannot be given up here")


def report_of(job: dict[str, Any]) -> dict[str, Any]:
    """Let the case happen, in this process."""
    # In the child this module is `__main__`, and the cases raise the error of the module they import.
    from helpers import fault_room, faults_disk, faults_far, faults_state

    room = Room(Path(job["place"]), job["full"])
    skipped = ""
    try:
        {**faults_disk.CASES, **faults_state.CASES, **faults_far.CASES}[job["case"]](room)
    except fault_room.NotHereError as error:
        skipped = str(error)
    except BaseException:  # noqa: BLE001 - whatever it is, the report says it
        room.problems.append("a bug: " + traceback.format_exc()[-1500:])
    return {"messages": room.messages, "problems": room.problems, "skipped": skipped}


def _in_a_child(job: dict[str, Any]) -> dict[str, Any]:
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(heard)
            sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
            with os.fdopen(told, "w") as out:
                json.dump(report_of(job), out)
        finally:
            os._exit(0)
    os.close(told)
    limit = threading.Timer(LONGEST_S, os.kill, (child, 9))
    limit.start()
    with os.fdopen(heard) as said:
        text = said.read()
    limit.cancel()
    os.waitpid(child, 0)
    died = {"messages": [], "problems": ["the process died, or hung and was killed"], "skipped": ""}
    return dict(json.loads(text)) if text else died


def main() -> None:
    # A shell starts what runs in the background with Ctrl+C ignored, and every command below would be, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import reverie.services.workbench  # noqa: F401
    from helpers import faults_disk, faults_far, faults_state  # noqa: F401

    # What commands import late is imported once, here.
    with tempfile.TemporaryDirectory() as directory:
        room = Room(Path(directory), full=False)
        room.build_ui()
        for words in (("tree",), ("status",), ("consolidate", "--engine", "rules"), ("runs",), ("context",)):
            room.run(*words)
        room.run("revert", room.run("runs")[1][0]["id"])
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_in_a_child(json.loads(line))) + "\n")
        sys.stdout.flush()


def names() -> tuple[str, ...]:
    """Every case."""
    from helpers import faults_disk, faults_far, faults_state

    return (*faults_disk.CASES, *faults_state.CASES, *faults_far.CASES)


class FaultRoom:
    """The other side; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "helpers.fault_room"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )

    def __enter__(self) -> FaultRoom:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate(timeout=60)

    def happen(self, case: str, directory: Path, *, full: bool = False) -> dict[str, Any]:
        """Let a case happen in a folder of its own below `directory`; its report."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"case": case, "place": str(directory / case.replace(" ", "-")), "full": full}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))


if __name__ == "__main__":
    main()
