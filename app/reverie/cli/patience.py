"""The check whether the homes of a command respond, so that Ctrl+C works even if a network share hangs.

Threading: a second thread checks the homes. This module imports little, because each command starts it.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from reverie.cli import answers
from reverie.files.directory import DiskCheck

FIRST_S = 4.0


LATER_S = 30.0


ANSWER_S = 2.0


_POLL_S = 0.25


@contextlib.contextmanager
def patience(
    homes: Callable[[], tuple[Path, ...]],
    *,
    first_s: float = FIRST_S,
    leave: Callable[[int], None] = os._exit,
) -> Iterator[None]:
    """Context manager: make Ctrl+C work while the block uses homes, even if one of their disks hangs.

    A network share that hangs blocks its reader in the kernel, where Python cannot handle Ctrl+C. A second
    thread therefore checks whether the homes respond, first after `first_s` seconds and then every `LATER_S`.
    If they do not, it prints that once and handles Ctrl+C itself: it calls `leave` with the exit code, which
    ends the process; the next command recovers an interrupted run.

    `homes` returns the paths to check; it is called only if the block takes that long. On a system that
    cannot wait for signals, Ctrl+C works as usual.
    """
    over = threading.Event()
    looking = threading.Thread(target=_watch_homes, args=(homes, over, first_s, leave), daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join(2 * _POLL_S)


def usual_homes() -> tuple[Path, ...]:
    """Return the paths where homes may be if a command names none; the disk is not accessed."""
    from reverie.agents.discovery import usual_places

    user = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
    return usual_places(os.environ, Path(user))


def _watch_homes(
    homes: Callable[[], tuple[Path, ...]], over: threading.Event, pause_s: float, leave: Callable[[int], None]
) -> None:
    # Blocked in this thread, so that the main thread gets Ctrl+C unless this thread waits for it.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    while not over.wait(pause_s):
        pause_s = LATER_S
        look = DiskCheck(homes())
        look.answered.wait(ANSWER_S)
        silent = look.at
        if silent is None or over.is_set():
            continue
        answers.trouble(
            f"{silent} is not responding. It is on a disk or network share that may no longer be "
            "available. Reverie keeps waiting; press Ctrl+C to stop."
        )
        _until_it_answers(look, over, leave)


def _until_it_answers(look: DiskCheck, over: threading.Event, leave: Callable[[int], None]) -> None:
    while not over.is_set() and not look.answered.wait(0.0):
        if not hasattr(signal, "sigtimedwait"):
            over.wait(_POLL_S)
        elif signal.sigtimedwait({signal.SIGINT}, _POLL_S) is not None:
            if look.answered.is_set():
                _thread.interrupt_main()
                return
            answers.trouble("Interrupted. The next command recovers unfinished work.")
            sys.stderr.flush()
            leave(answers.FAILED)
