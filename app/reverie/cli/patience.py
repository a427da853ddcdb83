"""A command that waits for a home which does not answer says so, and Ctrl+C ends it.

A share that is gone keeps whoever reads from it waiting, in the kernel, where Python's own handling of Ctrl+C
is not reached. So a second thread looks at the homes now and then (`files.look`); when they do not answer it
says so once, and takes Ctrl+C instead. What a run had under way then is recovered by the next command, as
after a kill.

Threading: `patience` is for the main thread. Where a system cannot wait for signals, Ctrl+C stays as it is.
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
from reverie.files.look import Look

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
    """Look after the command in the block, which works on `homes`; they are asked for once it takes long."""
    over = threading.Event()
    looking = threading.Thread(target=_look_after, args=(homes, over, first_s, leave), daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join(2 * _POLL_S)


def usual_homes() -> tuple[Path, ...]:
    """Where the homes may be that a command means which names none; nothing is looked at."""
    from reverie.homes.discovery import usual_places

    user = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
    return usual_places(os.environ, Path(user))


def _look_after(
    homes: Callable[[], tuple[Path, ...]], over: threading.Event, pause_s: float, leave: Callable[[int], None]
) -> None:
    # Blocked here, a Ctrl+C is left for the main thread unless it is asked for.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    while not over.wait(pause_s):
        pause_s = LATER_S
        look = Look(homes())
        look.answered.wait(ANSWER_S)
        silent = look.at
        if silent is None or over.is_set():
            continue
        answers.trouble(
            f"{silent} does not answer. It lies on a disk or a network share that may be gone. "
            "Reverie waits for it; Ctrl+C ends that."
        )
        _until_it_answers(look, over, leave)


def _until_it_answers(look: Look, over: threading.Event, leave: Callable[[int], None]) -> None:
    while not over.is_set() and not look.answered.wait(0.0):
        if not hasattr(signal, "sigtimedwait"):
            over.wait(_POLL_S)
        elif signal.sigtimedwait({signal.SIGINT}, _POLL_S) is not None:
            if look.answered.is_set():
                _thread.interrupt_main()
                return
            answers.trouble("Stopped while waiting. What was under way is put in order by the next command.")
            sys.stderr.flush()
            leave(answers.FAILED)
