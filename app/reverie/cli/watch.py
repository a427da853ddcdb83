"""`watch`: the background services of one home without a window, until SIGTERM or SIGINT (exit 0).

A second one for the same home says who has the lease and exits 1. With `--json` each change of the state is
one line: `{"state": ..., "home": ..., "sessions": ..., "pid": ...}`; `hosting` comes when every transcript
was looked at once, so that what is said from then on counts.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json_line, print_text

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.host import HostStatus
    from reverie.services.parts import HomeParts

_READY_S = 0.2


def watch(session: Session) -> int:
    """Host until a signal comes."""
    from reverie.errors import Busy
    from reverie.services.host import Host

    parts = session.home()
    stopping, lost = threading.Event(), threading.Event()

    def on_status(status: HostStatus) -> None:
        if status.state in ("viewing", "waiting"):
            lost.set()
            stopping.set()

    host = Host(parts, purpose="reverie watch", on_status=on_status)
    with _until_signal(stopping):
        try:
            status = host.start()
            if status.state != "hosting":
                raise Busy(
                    "The background services of this home do not run here.",
                    cause=_why(status),
                    next_step="End that process first, or leave it to it.",
                )
            while not stopping.is_set() and not host.wait_until_ready(_READY_S):
                pass
            _tell(session, parts, host.status)
            stopping.wait()
        finally:
            taken = host.status
            host.stop()
    if lost.is_set():
        answers.trouble(f"Another process took the background services over. {_why(taken)}")
        return FAILED
    _tell(session, parts, host.status)
    return DONE


@contextmanager
def _until_signal(stopping: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT set `stopping`."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda _number, _frame: stopping.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _why(status: HostStatus) -> str:
    if status.holder is None:
        return status.message
    return f"Process {status.holder.owner.pid} runs them ({status.holder.purpose})."


def _tell(session: Session, parts: HomeParts, status: HostStatus) -> None:
    root = str(parts.home.root)
    if session.as_json:
        pid = os.getpid()
        print_json_line({"state": status.state, "home": root, "sessions": status.sessions, "pid": pid})
    elif status.state == "hosting":
        print_text(f"The background services of {root} run here; {status.sessions} transcripts are followed.")
    else:
        print_text(f"The background services of {root} were stopped.")
