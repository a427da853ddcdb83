"""Act as a process that permission bits hold for, although the tests may run as root.

Root ignores modes, and with them whole families of faults. A Linux thread can give up its capabilities alone,
so real parts can be used in the same process; a program started through this file has none either. Both keep
root's files and its Python. Where the tests run as an ordinary user nothing is given up.

`python -P tests/helpers/ordinary_user.py COMMAND...` becomes COMMAND without capabilities.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_VERSION_3 = 0x20080522
_PR_SET_NO_NEW_PRIVS = 38


def give_up_power() -> None:
    """Drop every capability of this thread, for good."""
    header, none = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None).capset(header, none) != 0:
        raise OSError("capset failed")


def has_power() -> bool:
    """Whether this thread has the rights of root: it may read, change and give away any file."""
    if os.name != "posix" or os.geteuid() != 0:
        return False
    status = Path("/proc/thread-self/status")
    if not status.exists():
        return True
    lines = status.read_text(encoding="ascii").splitlines()
    (effective,) = (line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16))


def without_power(act: Callable[[], _T]) -> _T:
    """What `act` returns or raises where permission bits count, in a thread of its own."""
    if not sys.platform.startswith("linux"):
        if os.name == "posix" and os.geteuid() == 0:
            import pytest  # a program that is started through this file needs no pytest

            pytest.skip("root cannot give up its power here")
        return act()
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            give_up_power()
            results.append(act())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="without power")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def main(command: list[str]) -> None:
    """Become `command`."""
    if has_power():
        give_up_power()
        # Else a program that root starts has its capabilities again.
        if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError("prctl failed")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
