"""Commands of Reverie as an ordinary user runs them: the modes of files count.

Each command is a process of its own. Where the tests run as root, it gives root's rights up for good
(`helpers.ordinary_user`); it keeps its files and its Python. Where they run as a user, it simply runs.

`as_user()` starts one process without rights that has imported the program, and forks each command off it:
a new Python would import all of it again for each. Run as `python -m helpers.without_rights`, this module is
that process: one JSON command a line on stdin, the exit code a line on stdout.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from helpers import ordinary_user

_LIMIT_S = 60
_TESTS = Path(__file__).parent.parent
# What a command imports late is imported once, here.
_LIBRARIES = ("pygit2", "rapidfuzz.fuzz", "yaml.cyaml")


class AsUser:
    """Starts commands; see the module's docstring."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, *words: str, home_dir: Path, **env: str) -> subprocess.CompletedProcess[str]:
        """`reverie WORDS` with the home directory `home_dir` and a profile of its own beside it."""
        call = [*words, "--profile", str(home_dir / "profile")]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="said-") as place:
            out, err = Path(place, "out"), Path(place, "err")
            job = {
                "words": call,
                "env": {**os.environ, "HOME": str(home_dir), **env},
                "directory": str(Path.cwd()),
                "out": str(out),
                "err": str(err),
            }
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(
                call, code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
            )


@contextmanager
def as_user() -> Iterator[AsUser]:
    """Skips the test where root cannot give its rights up."""
    import pytest  # the process that forks commands needs no pytest

    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no modes that root ignores")
    if os.geteuid() == 0 and not sys.platform.startswith("linux"):
        pytest.skip("root cannot give up single rights here")
    process = subprocess.Popen(
        [sys.executable, "-P", ordinary_user.__file__, sys.executable, "-m", "helpers.without_rights"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=_TESTS,
    )
    try:
        yield AsUser(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def _become(words: list[str], env: dict[str, str], directory: str, out: str, err: str) -> NoReturn:
    """The command, in a process that was forked for it. It ends with the exit code that Python would give it,
    but at once: taking all those modules apart would take longer than the command."""
    files = ((os.devnull, os.O_RDONLY), (out, os.O_WRONLY | os.O_CREAT), (err, os.O_WRONLY | os.O_CREAT))
    for stream, (name, flags) in enumerate(files):
        descriptor = os.open(name, flags, 0o600)
        os.dup2(descriptor, stream)
        os.close(descriptor)
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
