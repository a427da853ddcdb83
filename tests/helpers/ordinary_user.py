"""Act as a process that permission bits hold for, although the tests may run as root.

Root ignores modes, and with them whole families of faults. A Linux thread can give up its capabilities alone,
so real parts can be used in the same process. Where the tests run as an ordinary user nothing is given up.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

_T = TypeVar("_T")
_VERSION_3 = 0x20080522


def give_up_power() -> None:
    """Drop every capability of this thread, for good."""
    header, none = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None).capset(header, none) != 0:
        raise OSError("capset failed")


def without_power(act: Callable[[], _T]) -> _T:
    """What `act` returns or raises where permission bits count, in a thread of its own."""
    if not sys.platform.startswith("linux"):
        if os.name == "posix" and os.geteuid() == 0:
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
