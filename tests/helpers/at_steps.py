"""Runs a function at a named step of a change (`reverie.files.atomic`)."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reverie.files.atomic import set_observer
from reverie.profile import Profile


@contextmanager
def at_step(name: str, act: Callable[[], object], *, nth: int = 1) -> Iterator[None]:
    """Context manager: call `act` when the step `name` is passed for the nth time in the block."""
    passed = 0

    def observe(step: str) -> None:
        nonlocal passed
        passed += step == name
        if step == name and passed == nth:
            act()

    set_observer(observe)
    try:
        yield
    finally:
        set_observer(None)
    assert passed >= nth, f"{name} was passed {passed} times"


def device_fails() -> None:
    """Raise the error of a failing disk."""
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def no_more_locks(profile: Profile) -> None:
    """Make every later lock of the profile fail, so that the history can record nothing."""
    shutil.rmtree(profile.locks)
    profile.locks.write_text("no folder")
