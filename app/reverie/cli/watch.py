"""`watch`: the background services of one home without a window, until SIGTERM or SIGINT (exit 0).

A second one for the same home says who has the lease and exits 1. With `--json` each change of the state is
one line: `{"state": ..., "home": ..., "sessions": ..., "pid": ...}`; `hosting` comes when every transcript
was looked at once, so that what is said from then on counts.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json_line, print_text

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.host import HostStatus
    from reverie.services.parts import HomeParts

_LOST, _SIGNAL = "lost", "signal"
_READY_S = 0.2
# The system may hand a signal to any thread, and then nothing wakes the one that runs the handlers.
_LOOK_S = 0.5


def watch(session: Session) -> int:
    """Host until a signal comes."""
    from reverie.agent.keys import never_unlock
    from reverie.errors import Busy
    from reverie.services.host import Host

    never_unlock()
    parts = session.home()
    # Why to stop. A handler may put while `get` is under way on the same thread; an Event would wait for its
    # own lock.
    reasons: SimpleQueue[str] = SimpleQueue()

    def on_status(status: HostStatus) -> None:
        if status.state in ("viewing", "waiting"):
            reasons.put(_LOST)

    host = Host(parts, purpose="reverie watch", on_status=on_status)
    with _until_signal(reasons):
        try:
            status = host.start()
            if status.state != "hosting":
                raise Busy(
                    "The background services of this home do not run here.",
                    cause=_why(status),
                    next_step="End that process first, or leave it to it.",
                )
            while reasons.empty() and not host.wait_until_ready(_READY_S):
                pass
            _tell(session, parts, host.status)
            reason = _first(reasons)
        finally:
            taken = host.status
            host.stop()
    if reason == _LOST:
        answers.trouble(
            taken.message
            if taken.holder is None
            else f"Another process took the background services over. {_why(taken)}"
        )
        return FAILED
    _tell(session, parts, host.status)
    return DONE


def _first(reasons: SimpleQueue[str]) -> str:
    while True:
        try:
            return reasons.get(timeout=_LOOK_S)
        except Empty:
            continue


@contextmanager
def _until_signal(reasons: SimpleQueue[str]) -> Iterator[None]:
    """SIGTERM and SIGINT are a reason to stop."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda _number, _frame: reasons.put(_SIGNAL)) for number in numbers]
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
