"""Suspend a run at each of its steps, recover in another process once its lease is over, and wake it.

`python -m helpers.suspended SAMPLE DIRECTORY KIND` prints one JSON line for each step (`Suspended`). The runs
are forks of one process without threads, each with a home of its own, and are asleep at the same time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from helpers.benches import NOW, Time, contents
from helpers.engines import ScriptedEngine
from reverie.compose import open_parts
from reverie.dream.service import DreamRequest, dream_lease_name
from reverie.errors import MendableError
from reverie.files import checkpoint as checkpoints
from reverie.files.lease import Leases
from reverie.profile import Profile
from reverie.services.parts import HomeParts

WORKSPACE = "a1f3c9e2b7"
LEASE_S = 1.0
_REQUESTS = (
    {"command": "create", "path": "/memories/global/fresh/new.md", "file_text": "new\n"},
    {"command": "insert", "path": "/memories/global/commit-style.md", "insert_line": 0, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/global/testing.md", "new_path": "/memories/global/a/t.md"},
)


@dataclass(frozen=True, slots=True)
class Suspended:
    """What came of one run."""

    step: str
    meanwhile: str
    """How recovery ended while the run was asleep."""
    said: str
    """How the run itself ended once it woke."""
    woken: str
    """The memories then: "old", "new", or which files are mixed."""
    recorded: str
    """The outcome in the run's record after one more recovery."""
    settled: str
    """The memories after that."""


def opened(directory: Path) -> HomeParts:
    """The home of one run, with short leases."""
    parts = open_parts(directory / "home", Profile.under(directory / "profile"), Time(NOW))
    parts.leases = Leases(parts.profile.leases_database, ttl_s=LEASE_S)
    return parts


def run(directory: Path, kind: str, stop_at: int | None) -> str:
    """Carry the run out; how it ended. `stop_at`: the step, counted from the journal, at which it suspends
    itself."""
    parts = opened(directory)
    passed: list[str] = []

    def observe(name: str) -> None:
        if name == "journal" or passed:
            passed.append(name)
            if len(passed) - 1 == stop_at:
                (directory / "step").write_text(name)
                os.kill(os.getpid(), signal.SIGSTOP)

    request = DreamRequest(parts.home.context(workspace_id=WORKSPACE))
    original = parts.dreams.run(request, ScriptedEngine(*_REQUESTS)).run_id if kind == "revert" else ""
    checkpoints.set_observer(observe)
    try:
        if kind == "revert":
            parts.reverter.revert(original)
            return "completed"
        return parts.dreams.run(request, ScriptedEngine(*_REQUESTS)).outcome
    except MendableError as error:
        return error.reason
    finally:
        checkpoints.set_observer(None)
        (directory / "steps").write_text(str(len(passed)))


def recover(directory: Path) -> str:
    """Recover as the next run of another process would; "recovered", or the reason why not."""
    parts = opened(directory)
    try:
        with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="recovery"):
            parts.recovery.run()
    except MendableError as error:
        return error.reason
    return "recovered"


def forked(directory: Path, name: str, act: Callable[[], str]) -> int:
    """The process id of a fork that writes what `act` returns to the file `name`."""
    pid = os.fork()
    if pid == 0:
        code = 1
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


def memories(directory: Path) -> dict[str, bytes]:
    """Every memory of the home."""
    return {name: data for name, data in contents(directory / "home").items() if name.endswith(".md")}


def state(directory: Path, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """ "old", "new", or the files that are not as before."""
    now = memories(directory)
    if now in (old, new):
        return "old" if now == old else "new"
    return "mix: " + ", ".join(sorted(name for name in {*old, *now} if now.get(name) != old.get(name)))


def main() -> None:
    """See the module."""
    sample, top, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    states: dict[str, dict[str, bytes]] = {"untouched": {}, "dream": {}, "revert": {}}
    for each in states:
        shutil.copytree(sample, top / each / "home", symlinks=True)
        if each != "untouched":
            pid = forked(top / each, "said", partial(run, top / each, each, None))
            assert ended(pid, top / each, "said") == "completed"
        states[each] = memories(top / each)
    old, new = states["untouched" if kind == "dream" else "dream"], states[kind]
    asleep: list[tuple[Path, int]] = []
    for number in range(int((top / kind / "steps").read_text())):
        directory = top / f"{number}"
        shutil.copytree(sample, directory / "home", symlinks=True)
        pid = forked(directory, "said", partial(run, directory, kind, number))
        _pid, status = os.waitpid(pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), (number, status)
        asleep.append((directory, pid))
    time.sleep(LEASE_S)
    recovering = [forked(each, "meanwhile", partial(recover, each)) for each, _pid in asleep]
    happened = [ended(pid, each, "meanwhile") for pid, (each, _pid) in zip(recovering, asleep, strict=True)]
    for (directory, pid), meanwhile in zip(asleep, happened, strict=True):
        os.kill(pid, signal.SIGCONT)
        said = ended(pid, directory, "said")
        woken = state(directory, old, new)
        last = ended(forked(directory, "last", partial(recover, directory)), directory, "last")
        assert last == "recovered", last
        newest = max(opened(directory).runs.all(), key=lambda record: record.id)
        step = (directory / "step").read_text()
        found = Suspended(step, meanwhile, said, woken, newest.outcome, state(directory, old, new))
        sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main()
