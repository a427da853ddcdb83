"""No test writes outside the temp directory, and none talks to another machine.

Both rules hang on one audit hook, so they hold for every library and thread of the process. The hook refuses
the act (`OutsideTheTest` is raised where it happens) and remembers it, so that code which swallows the
exception fails the test all the same. Processes that a test starts are not covered; they inherit a throw-away
home.

Known limits: a relative name opened below a directory descriptor cannot be resolved from the audit event and
is let through, and so is what SQLite or libgit2 opens (connecting to a database outside is refused).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.isolation import SYSTEM_TEMP

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOOPBACK = ("", "localhost", "localhost.localdomain", "::1", "0.0.0.0", "::")
_CACHES = ("__pycache__", ".pytest_cache", ".hypothesis")
_allowed: tuple[str, ...] = ()
_refused: list[str] = []
_active = False


class OutsideTheTest(Exception):
    """A test tried to write outside the temp directory or to reach another machine."""


def _set_allowed(*directories: Path) -> None:
    global _allowed
    names = {name for directory in directories for name in (str(directory), str(directory.resolve()))}
    _allowed = tuple(sorted(name.rstrip(os.sep) + os.sep for name in names))


def _inside(path: Any) -> bool:
    """Whether a write to `path` is fine. Descriptors and relative names are (the module's known limits)."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return True
    if isinstance(path, str) and path.startswith(_allowed) and ".." not in path:
        return True  # nearly always; this is asked a hundred thousand times
    name = os.path.normpath(os.fsdecode(path))
    if not Path(name).is_absolute():
        return True
    return name.startswith(_allowed) or name + os.sep in _allowed or any(part in name for part in _CACHES)


def _refuse(sentence: str) -> None:
    _refused.append(sentence)
    raise OutsideTheTest(sentence)


def _check_paths(*paths: Any) -> None:
    for path in paths:
        if not _inside(path):
            _refuse(f"a test may not change {os.fsdecode(path)}: it lies outside the temp directory")


def _check_host(host: Any) -> None:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if isinstance(name, str) and name not in _LOOPBACK and not name.startswith("127."):
        _refuse(f"a test may not reach {name}: only this machine")


def _check_open(path: Any, _mode: Any, flags: Any) -> None:
    if isinstance(flags, int) and flags & _WRITE_FLAGS:
        _check_paths(path)


def _check_database(name: Any) -> None:
    if isinstance(name, (str, bytes)) and os.fsdecode(name).startswith(("file:", ":memory:")):
        return
    _check_paths(name)


def _check_address(_socket: Any, address: Any) -> None:
    if isinstance(address, tuple):
        _check_host(address[0])


_CHECKS: dict[str, Callable[..., None]] = {
    "open": _check_open,
    "os.mkdir": lambda path, *_: _check_paths(path),
    "os.remove": lambda path, *_: _check_paths(path),
    "os.rmdir": lambda path, *_: _check_paths(path),
    "os.chmod": lambda path, *_: _check_paths(path),
    "os.utime": lambda path, *_: _check_paths(path),
    "os.truncate": lambda path, *_: _check_paths(path),
    "os.rename": lambda source, target, *_: _check_paths(source, target),
    "os.link": lambda _source, target, *_: _check_paths(target),
    "os.symlink": lambda _source, target, *_: _check_paths(target),
    "shutil.rmtree": lambda path, *_: _check_paths(path),
    "sqlite3.connect": _check_database,
    "socket.connect": _check_address,
    "socket.sendto": _check_address,
    "socket.getaddrinfo": lambda host, *_: _check_host(host),
}


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _active:
        check = _CHECKS.get(event)
        if check is not None:
            check(*arguments)


sys.addaudithook(_audit)


def pytest_configure(config: pytest.Config) -> None:
    basetemp = config.getoption("basetemp")
    directories = [
        Path(tempfile.gettempdir()),
        SYSTEM_TEMP,
        Path("/var/tmp"),
        Path("/dev"),
        Path("/proc/self"),
    ]
    _set_allowed(*directories, *([Path(basetemp).absolute()] if basetemp else []))


@contextmanager
def guarded(complaints: list[str]) -> Iterator[None]:
    """The guards are up meanwhile; what they refused is added to `complaints`."""
    global _active
    _refused.clear()
    _active = True
    yield
    _active = False
    complaints += dict.fromkeys(_refused)
