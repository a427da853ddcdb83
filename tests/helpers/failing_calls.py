"""Every changing system call of a child process passes its parent first, which can let it fail or kill it.

The kernel hands the calls over (`seccomp` with user notification, Linux 5.6 and newer), so Python's, SQLite's
and libgit2's are all seen, whichever thread makes them. A call that is to fail is never carried out; nothing
is patched, and the child runs the code that people run.

Only calls on files below the given places count: the n-th of a run is the n-th of the next, too. Syncing is
seen but not carried out, as no power fails here. `NoBorderError` where the kernel or machine cannot do it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KILL = "KILL"
Fault = str
"""The name of an error number, or `KILL`."""

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_NOTICE = struct.Struct("<QIIiIQ6Q")
_AT_FDCWD = -100
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}


@dataclass(frozen=True, slots=True)
class _Call:
    """Numbers by machine (0: it has none) and which arguments say where: `("fd", n)`, `("path", n)` or
    `("at", n)`, a directory's descriptor with the path behind it."""

    x86_64: int
    aarch64: int
    where: tuple[tuple[str, int], ...]


_CALLS = {
    "openat": _Call(257, 56, (("at", 0),)),
    "creat": _Call(85, 0, (("path", 0),)),
    "write": _Call(1, 64, (("fd", 0),)),
    "writev": _Call(20, 66, (("fd", 0),)),
    "pwrite64": _Call(18, 68, (("fd", 0),)),
    "pwritev": _Call(296, 70, (("fd", 0),)),
    "sendfile": _Call(40, 71, (("fd", 0),)),
    "copy_file_range": _Call(326, 285, (("fd", 2),)),
    "fallocate": _Call(285, 47, (("fd", 0),)),
    "ftruncate": _Call(77, 46, (("fd", 0),)),
    "truncate": _Call(76, 45, (("path", 0),)),
    "fsync": _Call(74, 82, (("fd", 0),)),
    "fdatasync": _Call(75, 83, (("fd", 0),)),
    "flock": _Call(73, 32, (("fd", 0),)),
    "rename": _Call(82, 0, (("path", 0), ("path", 1))),
    "renameat": _Call(264, 38, (("at", 0), ("at", 2))),
    "renameat2": _Call(316, 276, (("at", 0), ("at", 2))),
    "unlink": _Call(87, 0, (("path", 0),)),
    "unlinkat": _Call(263, 35, (("at", 0),)),
    "rmdir": _Call(84, 0, (("path", 0),)),
    "mkdir": _Call(83, 0, (("path", 0),)),
    "mkdirat": _Call(258, 34, (("at", 0),)),
    "link": _Call(86, 0, (("path", 0), ("path", 1))),
    "linkat": _Call(265, 37, (("at", 0), ("at", 2))),
    "symlink": _Call(88, 0, (("path", 1),)),
    "symlinkat": _Call(266, 36, (("at", 1),)),
    "chmod": _Call(90, 0, (("path", 0),)),
    "fchmod": _Call(91, 52, (("fd", 0),)),
    "fchmodat": _Call(268, 53, (("at", 0),)),
    "chown": _Call(92, 0, (("path", 0),)),
    "fchown": _Call(93, 55, (("fd", 0),)),
    "fchownat": _Call(260, 54, (("at", 0),)),
    "utimensat": _Call(280, 88, (("at", 0),)),
}
_SYNCS = ("fsync", "fdatasync")


class NoBorderError(Exception):
    """Calls cannot be watched on this machine; why."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One changing call, and the file it was about."""

    call: str
    path: str


@dataclass(slots=True)
class Watched:
    """How a child ended, and the calls that counted. `status`: as `os.waitpid` gives it."""

    status: int = 0
    seen: list[Seen] = field(default_factory=list)
    hung: bool = False

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status)

    @property
    def code(self) -> int:
        return os.waitstatus_to_exitcode(self.status)


def watched(
    prepare: Callable[[], Callable[[], int]],
    places: Sequence[Path],
    *,
    ready: Callable[[], object] = lambda: None,
    fails_at: int | None = None,
    fault: Fault = "",
    limit_s: float = 60.0,
) -> Watched:
    """Fork, and watch what `prepare` returns there, whose result is the exit code; how it ended. `ready` is
    called here once the child is prepared.

    The call number `fails_at` (0 is the first) meets `fault`.
    """
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        ours.close()
        _live(prepare, theirs)
    theirs.close()
    with ours:
        said, descriptors, _flags, _address = socket.recv_fds(ours, 1024, 1)
        if not descriptors:
            os.waitpid(child, 0)
            raise NoBorderError(said.decode() or "the child ended before it could be watched")
        ready()
        ours.send(b"go")
    result = Watched()
    border = _Border(descriptors[0], [f"{place}/" for place in places], result)
    try:
        border.guard(child, fails_at, fault, limit_s)
    finally:
        os.close(descriptors[0])
    _pid, result.status = os.waitpid(child, 0)
    return result


def _live(prepare: Callable[[], Callable[[], int]], parent: socket.socket) -> None:
    """The child: be watched, act, end as a program ends."""
    code = 70
    try:
        act = prepare()
        try:
            listener = _hand_over()
        except OSError as error:
            parent.send(f"calls cannot be watched here: {error}".encode())
            os._exit(code)
        socket.send_fds(parent, [b"ready"], [listener])
        os.close(listener)
        parent.recv(2)
        parent.close()
        code = act()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent; the judge reads the words
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _hand_over() -> int:
    """From now on the kernel asks before it carries a changing call out; the descriptor that it asks."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES:
        raise OSError(errno.ENOSYS, "this system has no seccomp that the tests know")
    libc = ctypes.CDLL(None, use_errno=True)
    # Whoever lost or never had root's rights is looked into by its parent all the same.
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    program = _program(machine)
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    listener = libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _NEW_LISTENER, filter_)
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(listener)


def _program(machine: str) -> bytes:
    """The filter: every call of the table is asked about, an `openat` only where it may make or empty a
    file."""
    numbers = [number for name in _CALLS if name != "openat" and (number := _number(name, machine))]
    end = len(numbers) + 8
    lines = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _MACHINES[machine]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 0),
    ]
    for number in numbers:
        lines.append((_EQUAL, end - len(lines) - 1, 0, number))
    lines += [
        (_EQUAL, 0, 2, _number("openat", machine)),
        (_LOAD, 0, 0, 16 + 8 * 2),
        (_ANY_BIT, 1, 0, os.O_CREAT | os.O_TRUNC),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _number(name: str, machine: str) -> int:
    return int(getattr(_CALLS[name], machine))


class _Border:
    """The parent's side of one child."""

    def __init__(self, listener: int, places: Sequence[str], result: Watched) -> None:
        self._listener = listener
        self._places = tuple(places)
        self._result = result
        machine = platform.machine()
        self._names = {number: name for name in _CALLS if (number := _number(name, machine))}

    def guard(self, child: int, fails_at: int | None, fault: Fault, limit_s: float) -> None:
        """Answer until nobody is left who asks."""
        until = time.monotonic() + limit_s
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            events = poll.poll(max(0.0, until - time.monotonic()) * 1000)
            if not events:
                self._result.hung = True
                os.kill(child, signal.SIGKILL)
                return
            if not events[0][1] & select.POLLIN:
                return
            notice = bytearray(_NOTICE.size)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, notice)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):  # it died while asking
                    continue
                raise
            ident, pid, _flags, number, _machine, _at, *arguments = _NOTICE.unpack(notice)
            name = self._names[number]
            answer = self._as_usual(name)
            path = self._path(name, pid, arguments)
            if path is not None:
                here = len(self._result.seen)
                self._result.seen.append(Seen(name, path))
                if here == fails_at:
                    if fault == KILL:
                        os.kill(child, signal.SIGKILL)
                        continue
                    answer = (0, -int(getattr(errno, fault)), 0)
            try:
                fcntl.ioctl(self._listener, _SEND, struct.pack("<QqiI", ident, *answer))
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise

    @staticmethod
    def _as_usual(name: str) -> tuple[int, int, int]:
        return (0, 0, 0) if name in _SYNCS else (0, 0, _CONTINUE)

    def _path(self, name: str, pid: int, arguments: Sequence[int]) -> str | None:
        """The first file of the call that lies below a place."""
        for kind, number in _CALLS[name].where:
            try:
                path = self._named(kind, pid, arguments, number)
            except OSError:  # no such descriptor: the call fails by itself
                continue
            if path.startswith(self._places):
                return path
        return None

    @staticmethod
    def _named(kind: str, pid: int, arguments: Sequence[int], number: int) -> str:
        descriptor = ctypes.c_int(arguments[number] & 0xFFFFFFFF).value
        if kind == "fd":
            return os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115
        address = arguments[number + 1] if kind == "at" else arguments[number]
        text = _text(pid, address) if address else ""
        if text.startswith("/"):
            return os.path.normpath(text)
        below = "cwd" if kind == "path" or descriptor == _AT_FDCWD else f"fd/{descriptor}"
        return os.path.normpath(f"{os.readlink(f'/proc/{pid}/{below}')}/{text}")  # noqa: PTH115


def _text(pid: int, address: int) -> str:
    found = b""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123
        while b"\0" not in found:
            memory.seek(address + len(found))
            # Never over the end of a page: the next one may not be there.
            found += memory.read(4096 - (address + len(found)) % 4096)
    return os.fsdecode(found.partition(b"\0")[0])
