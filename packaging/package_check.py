"""Checks that an installed or built program works on its own.

It opens the demo home, consolidates it by the rules, shows it, and undoes the consolidation.

python packaging/package_check.py COMMAND [WORD...]

runs the program with a `HOME` of its own, in a directory outside of the checkout, and without the variables
of this environment. Files are compared byte for byte: after the undo they must be as before. Raises `Broken`
with the output of the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "resources" / "demo-home"
WORKSPACE = "9f3a6c58d0"
PNG = b"\x89PNG\r\n\x1a\n"
COMMAND_S = 120
WINDOW_S = 60
LEAVE_S = 20
_KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")


class Broken(Exception):
    """Raised if the program does not work as it should."""


class Installed:
    """One program, with an empty directory to work in."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        # It runs in a folder of its own: a relative name would mean something else there.
        self.command = [str(Path(command[0]).absolute()), *command[1:]]
        self.directory = directory
        self.demo = directory / "a home with spaces – ü"
        self.profile = directory / "profile"
        shutil.copytree(DEMO, self.demo)
        (directory / "user").mkdir()
        self.environment = {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "HOME": str(directory / "user"),
            "USERPROFILE": str(directory / "user"),
        }

    def run(self, *words: str) -> str:
        """Run the program and return its output. Raises `Broken` if it fails or prints a warning."""
        done = subprocess.run(
            [*self.command, *words],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_S,
            check=False,
        )
        if done.returncode != 0 or done.stderr:
            raise Broken(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return done.stdout

    def asked(self, *words: str) -> Any:
        """Run a command on the copy of the demo home, and return its output, parsed as JSON."""
        return json.loads(
            self.run("--home", str(self.demo), "--profile", str(self.profile), *words, "--json")
        )

    def picture(self, name: str, *words: str) -> int:
        """Run a command that takes a screenshot into the file `name`; return the file's size in bytes.

        `words`: further arguments of the command.
        """
        file = self.directory / name
        self.run(*words, "--screenshot", str(file))
        data = file.read_bytes()
        if not data.startswith(PNG) or len(data) < 20_000:
            raise Broken(f"{name} is no picture of a window ({len(data):,} bytes)")
        return len(data)


def memories(home: Path) -> Mapping[str, bytes]:
    """Return the content of every memory of a home, by its path in the home."""
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*.md"))}


def check(command: Sequence[str], directory: Path, *, say: Callable[[str], None]) -> None:
    """Check the whole program in `directory`, which is empty.

    One line is passed to `say` for each thing that works.
    """
    installed = Installed(command, directory)
    say(f"--version: {installed.run('--version').strip()}")
    if json.loads(installed.run("homes", "--json")) != []:
        raise Broken("a fresh HOME holds no agent's home, and one was found")
    say("homes --json: [] in a fresh HOME")
    say(f"--demo --screenshot: {installed.picture('demo.png', '--demo'):,} bytes")
    _libraries(installed, say)
    _dream_and_undo(installed, say)
    _engine(installed, say)
    if sys.platform == "linux":
        _window(installed, say)


def _libraries(installed: Installed, say: Callable[[str], None]) -> None:
    findings = json.loads(installed.run("--profile", str(installed.profile), "doctor", "--self", "--json"))
    failed = [found for found in findings if found["state"] == "fail"]
    if failed:
        raise Broken(f"doctor --self: {failed}")
    say(f"doctor --self: {len(findings)} checks, none failed")


def _dream_and_undo(installed: Installed, say: Callable[[str], None]) -> None:
    before = memories(installed.demo)
    said = installed.asked("consolidate", "--workspace", WORKSPACE, "--engine", "rules")
    after, run_id = memories(installed.demo), said["runId"]
    if said["outcome"] != "completed" or after == before:
        raise Broken(f"the dream did nothing: {said}")
    say(f"consolidate --engine rules: {len(said['ops'])} changes. {said['summary']}")
    diff = installed.run("--home", str(installed.demo), "--profile", str(installed.profile), "diff", run_id)
    if "@@" not in diff or installed.asked("runs")[0]["id"] != run_id:
        raise Broken(f"the dream is not shown: {diff}")
    words = ("--home", str(installed.demo), "--profile", str(installed.profile))
    size = installed.picture("dreamt.png", *words, "--workspace", WORKSPACE)
    say(f"diff RUN: {len(diff.splitlines())} lines; the window on it: {size:,} bytes")
    installed.asked("revert", run_id)
    if memories(installed.demo) != before:
        raise Broken("revert did not give every byte back")
    say(f"revert RUN: all {len(before)} files as they were, byte for byte")


def _engine(installed: Installed, say: Callable[[str], None]) -> None:
    """Check the engine process with the calls that the window makes."""
    from reverie.engine.client import EngineClient
    from reverie.engine.reach import stdio_channel
    from reverie.profile import Profile

    profile, before = Profile.under(installed.profile), memories(installed.demo)
    engine = EngineClient(lambda: stdio_channel(profile, installed.command))
    try:
        info = engine.services.open(installed.demo).info
        home = engine.home(info.root, info.id)
        home.start_history()
        run = home.start_dream(
            home.context(WORKSPACE, None),
            dry_run=False,
            engine="rules",
            progress=lambda _step: None,
            cancel=threading.Event(),
        )
        if not run.ops or memories(installed.demo) == before:
            raise Broken(f"the engine's dream did nothing: {run}")
        home.revert(run.run_id)
    finally:
        engine.stop()
    if memories(installed.demo) != before:
        raise Broken("the engine's revert did not give every byte back")
    say(f"the engine process: a dream of {len(run.ops)} changes, undone")


def _window(installed: Installed, say: Callable[[str], None]) -> None:
    """Check that a window starts the engine, stays open, prints nothing, and ends on request."""
    from reverie.profile import Profile

    # Of its own, so that its log tells when it is up; the engine is there before Qt is.
    profile = installed.directory / "profile of the window"
    log = Profile.under(profile).log_file
    words = ["--home", str(installed.demo), "--profile", str(profile), "--offscreen"]
    said = installed.directory / "window.txt"
    with said.open("wb") as output:
        window = subprocess.Popen(
            [*installed.command, *words],
            cwd=installed.directory,
            env=installed.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            until = time.monotonic() + WINDOW_S
            while not (log.exists() and any(_engines(profile))):
                if window.poll() is not None or time.monotonic() > until:
                    raise Broken(f"the window is not up: {said.read_text('utf-8', 'replace')}")
                time.sleep(0.1)
            window.send_signal(signal.SIGTERM)
            code = window.wait(LEAVE_S)
        finally:
            window.kill()
            window.wait()
    text = said.read_text("utf-8", "replace")
    if code != 0 or text:
        raise Broken(f"the window ended with {code}: {text}")
    say("the window offscreen: the engine started, ended on SIGTERM with 0, nothing said")


def _engines(profile: Path) -> Iterator[str]:
    """Yield the command lines of the engines of a profile (Linux).

    They are not children of this process and can outlive it.
    """
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process is gone
            words = file.read_text("utf-8", "replace").split("\0")
            if "_engine" in words and any(word.startswith(str(profile)) for word in words):
                yield " ".join(words)


def main(command: Sequence[str]) -> int:
    if not command:
        print("usage: package_check.py COMMAND [WORD...]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="reverie-package-") as directory:
        try:
            check(command, Path(directory), say=lambda line: print(f"  {line}", flush=True))
        except (Broken, subprocess.TimeoutExpired) as error:
            print(f"  BROKEN  {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
