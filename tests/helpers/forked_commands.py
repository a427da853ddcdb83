"""Commands of Reverie, each in a process of its own that is forked off one that has imported the program.

A new Python needs 0.3 to 0.6 s to import what a command needs. What a fork cannot show stays with tests that
start a Python: what is imported when, what comes from the current directory, and how Python reads its
environment.

Run as `python -m helpers.forked_commands`, this module is the process that forks: one JSON command a line on
stdin, the exit code a line on stdout. With the argument `apart` it is no child of the process that started
it, because tests count the children of theirs.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_LIMIT_S = 120
_TESTS = Path(__file__).parent.parent
# What a command imports late is imported once, here.
_LIBRARIES = ("pygit2", "rapidfuzz.fuzz", "yaml.cyaml")


class ForkedCommands:
    """Starts commands; see the module's docstring."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, words: Sequence[object], *, env: Mapping[str, str], directory: Path, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `reverie WORDS` with the environment `env`, in `directory`, with `given` on stdin."""
        call = [str(word) for word in words]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="said-") as place:
            streams = [Path(place, name) for name in ("in", "out", "err")]
            streams[0].write_bytes(given.encode())
            job = {
                "words": call,
                "env": dict(env),
                "directory": str(directory),
                "streams": [str(file) for file in streams],
            }
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            out, err = (file.read_bytes().decode() for file in streams[1:])
            return subprocess.CompletedProcess(call, code, out, err)


@contextmanager
def forked_commands(python: Sequence[str | Path], *more: str) -> Iterator[ForkedCommands]:
    """A process that forks commands, started by `python`, the words of an interpreter."""
    process = subprocess.Popen(
        [*python, "-m", __name__, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=_TESTS,
    )
    try:
        yield ForkedCommands(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


@cache
def _of_this_process() -> ForkedCommands:
    """The process that forks for all tests of this one, until it ends."""
    lasting = forked_commands([sys.executable], "apart")
    atexit.register(lasting.__exit__, None, None, None)
    return lasting.__enter__()


def run_command(
    *words: object, given: str = "", directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `reverie WORDS` in a process of its own, with this process's environment."""
    here = Path.cwd() if directory is None else directory
    if not hasattr(os, "fork"):
        call = [sys.executable, "-m", "reverie", *map(str, words)]
        done = subprocess.run(
            call, input=given.encode(), capture_output=True, cwd=here, timeout=_LIMIT_S, check=False
        )
        return subprocess.CompletedProcess(call, done.returncode, done.stdout.decode(), done.stderr.decode())
    return _of_this_process().run(words, env=os.environ, directory=here, given=given)


def _become(words: list[str], env: dict[str, str], directory: str, streams: list[str]) -> NoReturn:
    """The command, in a process that was forked for it. It ends with the exit code that Python would give it,
    but at once: taking all those modules apart would take longer than the command."""
    write = os.O_WRONLY | os.O_CREAT
    for stream, (name, flags) in enumerate(zip(streams, (os.O_RDONLY, write, write), strict=True)):
        descriptor = os.open(name, flags, 0o600)
        os.dup2(descriptor, stream)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    os.environ.clear()
    os.environ.update(env)
    os.chdir(directory)
    sys.argv = ["reverie", *words]
    signal.alarm(_LIMIT_S)  # one that hangs is killed, which its exit code tells
    main = import_module("reverie.__main__").main
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what Python does with an error that nobody caught
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _own_modules() -> list[str]:
    """Every module of Reverie but those of the window."""
    import reverie

    found = pkgutil.walk_packages(reverie.__path__, "reverie.")
    return [module.name for module in found if not module.name.startswith("reverie.ui")]


def _serve() -> None:
    if "apart" in sys.argv and os.fork():
        os._exit(0)
    for name in (*_own_modules(), *_LIBRARIES):
        import_module(name)
    for line in sys.stdin:
        command = os.fork()
        if command == 0:
            _become(**json.loads(line))
        _pid, status = os.waitpid(command, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
