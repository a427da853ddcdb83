"""Many programs on one home at once: two windows' clients, `reverie watch`, and six repeated commands.

All but the clients are processes of their own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from helpers.model_runs import write_settings
from helpers.samples import copy_sample
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect, engine_lock
from reverie.errors import Conflict, UserError
from reverie.profile import Profile

ACME = "a1f3c9e2b7"
SHARED = "/memories/global/shared-lines.md"
END_S = 30.0
SLOW_S = 90.0
_HERE = ("--workspace", ACME)
_AGAIN_AND_AGAIN = (
    ("tree", *_HERE, "--json"),
    ("status", *_HERE, "--json"),
    ("consolidate", *_HERE, "--engine", "rules", "--dry-run", "--json"),
    ("write", *_HERE, "--force", "--json"),
    ("search", "deploy", "--json"),
)
"""The sixth is `memory`, which writes."""


@dataclass
class Crowd:
    """The result of a crowd on one home."""

    done: Counter[str] = field(default_factory=Counter)
    engines: set[int] = field(default_factory=set)
    lines: int = 0
    problems: list[str] = field(default_factory=list)

    def told(self) -> list[str]:
        """For the report."""
        each = ", ".join(f"{count} x {name}" for name, count in sorted(self.done.items()))
        return [
            each,
            f"{self.lines} lines by three writers of one file, engines: {len(self.engines)}",
            f"problems: {len(self.problems)}",
            *self.problems,
        ]


def crowd(directory: Path, seconds: float, *, rounds: int = 1) -> Crowd:
    """Let all of them work at once, then stop them; return the result.

    Args:
        directory: An empty folder for the home and the profile.
        seconds: How long they work at least.
        rounds: How often the windows, and `reverie memory`, have saved before the end: a busy machine gets up
            to `SLOW_S` more seconds for it.
    """
    home, profile = copy_sample("mux-home", directory), directory / "profile"
    write_settings(profile, '[system1]\nenabled = true\nmodel = "rules"\n')
    (home / "memory" / "global" / "shared-lines.md").write_text("", encoding="utf-8")
    found, over = Crowd(), threading.Event()
    with _watching(home, profile, found):
        working = [
            *(partial(_window, name, home, profile, found, over) for name in ("first", "second")),
            *(partial(_command, words, home, profile, found, over) for words in _AGAIN_AND_AGAIN),
            partial(_memory, home, profile, found, over),
        ]
        threads = [threading.Thread(target=partial(_guarded, work, found)) for work in working]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        while (spent := time.monotonic() - start) < seconds or (
            spent < seconds + SLOW_S and min(found.done["window"], found.done["memory"]) < rounds
        ):
            found.engines |= _engine_of(profile)
            time.sleep(0.05)
        over.set()
        for thread in threads:
            thread.join(END_S)
            if thread.is_alive():
                found.problems.append("one of them did not end")
    _judge(home, profile, found)
    return found


def _judge(home: Path, profile: Path, found: Crowd) -> None:
    until = time.monotonic() + END_S
    while (left := _processes(profile)) and time.monotonic() < until:
        time.sleep(0.05)
    found.problems += [f"process {pid} was left: {words}" for pid, words in left.items()]
    if len(found.engines) != 1:
        found.problems.append(f"there were {len(found.engines)} engines")
    lines = (home / "memory" / "global" / "shared-lines.md").read_text(encoding="utf-8").splitlines()
    if len(lines) != found.lines or len(set(lines)) != len(lines):
        found.problems.append(f"{found.lines} lines were written, {len(lines)} are there")


def _processes(profile: Path) -> dict[int, str]:
    """The processes of the program that work with this profile."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().decode("utf-8", "replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(word.startswith(str(profile)) for word in words):
            found[int(place.parent.name)] = " ".join(words)
    return found


def _engine_of(profile: Path) -> set[int]:
    """The process that holds the engine's lock; those that wait for it have it open as well."""
    try:
        inode = engine_lock(Profile.under(profile)).stat().st_ino
    except FileNotFoundError:
        return set()
    locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    return {int(each[4]) for each in locks if "->" not in each and each[5].endswith(f":{inode}")}


def _guarded(work: Callable[[], None], found: Crowd) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - told at the end
        found.problems.append(f"{type(error).__name__}: {error}")


def _window(name: str, home: Path, profile: Path, found: Crowd, over: threading.Event) -> None:
    """What a window asks: it shows, searches, hosts, and somebody types."""
    client = EngineClient(partial(connect, Profile.under(profile)))
    try:
        opened = client.services.open(home)
        workbench = client.home(opened.info.root, opened.info.id)
        context = workbench.context(ACME, None)
        workbench.watch_for(context)
        workbench.start_history()
        number = 0
        while not over.is_set():
            found.engines.add(client.pid)
            workbench.host(False)
            workbench.refresh(context, None)
            client.services.search(
                "deploy", (opened.info.id,), progress=lambda _answer: None, cancel=threading.Event()
            )
            line = f"{name} {number}\n"
            while True:
                now = workbench.read(context, SHARED)
                try:
                    workbench.save(context, SHARED, now.content + line, now.sha256)
                    break
                except Conflict:
                    found.done["conflict"] += 1
            number += 1
            found.lines += 1
            found.done["window"] += 1
    finally:
        client.stop()


def _begin(words: tuple[str, ...], home: Path, profile: Path, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", "--profile", profile, "--home", home, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def _command(words: tuple[str, ...], home: Path, profile: Path, found: Crowd, over: threading.Event) -> None:
    while not over.is_set():
        with _begin(words, home, profile) as process:
            out, err = process.communicate(timeout=120)
        # A run that meets another one, or a change in between, says so.
        refused = process.returncode == 1 and bool(err.strip()) and "Traceback" not in err
        if process.returncode != 0 and not (refused and words[0] in ("write", "consolidate")):
            found.problems.append(f"{' '.join(words)} ended with {process.returncode}: {err[-500:]}")
        elif process.returncode == 0:
            json.loads(out)
        found.done[words[0] if process.returncode == 0 else f"{words[0]} that waits"] += 1


def _memory(home: Path, profile: Path, found: Crowd, over: threading.Event) -> None:
    """Lines by `reverie memory`, a few by each process."""
    number = 0
    while not over.is_set():
        with _begin(("memory", *_HERE), home, profile) as process:
            assert process.stdin is not None
            assert process.stdout is not None

            def ask(process: subprocess.Popen[str] = process, **line: Any) -> dict[str, Any]:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(line) + "\n")
                process.stdin.flush()
                answered = process.stdout.readline()
                if not answered:
                    _out, err = process.communicate(timeout=60)
                    raise UserError(f"memory ended with {process.returncode}: {err[-500:]}")
                answer: dict[str, Any] = json.loads(answered)
                return answer

            for _time in range(3):
                saved = False
                while not saved:
                    now = ask(command="read", path=SHARED)
                    text = f"{now['content']}memory {number}\n"
                    told = ask(command="save", path=SHARED, content=text, expected_sha256=now["sha256"])
                    saved = told["success"]
                    if not saved and told["kind"] != "conflict":
                        raise UserError(told["error"])
                number += 1
                found.lines += 1
            process.stdin.close()
            assert process.wait(60) == 0
        found.done["memory"] += 1


@contextmanager
def _watching(home: Path, profile: Path, found: Crowd) -> Iterator[None]:
    process = _begin(("watch", "--json"), home, profile)
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["state"] == "hosting"
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        _out, err = process.communicate(timeout=60)
        if process.returncode != 0:
            found.problems.append(f"watch ended with {process.returncode}: {err[-500:]}")
