"""Carries out runs in separate processes, so that a busy run slows nothing down and can always be cancelled.

A worker is this program as an engine with one client, namely the engine that started it, over its standard
input and output. It carries out one run and ends. Arguments and progress are passed on without decoding. One
idle worker is kept ready, so that a run starts at once. The input of a worker ends whenever its engine ends;
the worker then stops its run and ends within two seconds.

If a worker dies, or is killed because it has not ended some seconds after a cancel, the journal of its run
remains. The run is recovered from the journal before the client gets the result.

Threading: every method from any thread; `run` blocks until the run has ended. Failure: `run` raises the run's
own `UserError`; `CallStopped` if the run was stopped before it had a result; `RunEnded` if its process ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Sequence

from reverie.engine.asking import CallCancelled
from reverie.engine.channel import Channel, Failed, FromEngine
from reverie.engine.client import EngineClient, EngineGone
from reverie.engine.server import CallControl, CallStopped
from reverie.errors import Unavailable, UserError
from reverie.files.child import END_S, ChildProcess
from reverie.files.locks import count_as_ours, forget_ours
from reverie.files.log_file import is_debug
from reverie.runs.run import RunDependencies, recover

log = logging.getLogger("reverie.engine")

CANCEL_S = 3.0
"""How long a cancelled run may take to restore its files, in seconds; then its process is killed."""
WARM_S = 5.0
"""The delay, in seconds, before an idle worker is started.

A window that opens, or a run, needs the processor first.
"""
TERMINATE_S = 0.5
_DIED = "The process of the run ended unexpectedly."
_LOWEST = 19
"""The priority (nice value) of runs for which no person waits."""


class RunEnded(Unavailable):
    """Raised if the process of a run has ended, or was killed, before the run had a result."""

    reason = "run-ended"


class Workers:
    """The worker processes of one engine.

    `command` starts a worker. `spare`: keep one idle worker ready. `cancel_s`: the seconds after which a run
    that was cancelled but has not ended is killed.
    """

    def __init__(self, command: Sequence[str], *, spare: bool = True, cancel_s: float = CANCEL_S) -> None:
        self._command = tuple(command)
        self._keeps_spare = spare
        self._cancel_s = cancel_s
        self._spare: _RunProcess | None = None
        self._at_work: dict[_RunProcess, object] = {}
        self._warming: threading.Timer | None = None
        self._lock = threading.Lock()
        self._aside = threading.Lock()
        self._closed = False

    def warm_up(self, after_s: float = WARM_S) -> None:
        """Start an idle worker in `after_s` seconds, unless one is ready or `spare` is False.

        Returns at once.
        """
        with self._lock:
            if self._keeps_spare and self._warming is None and self._spare is None and not self._closed:
                self._warming = threading.Timer(after_s, self._start_spare)
                self._warming.daemon = True
                self._warming.start()

    def _start_spare(self) -> None:
        with self._lock:
            self._warming = None
            if self._spare is None and not self._closed:
                try:
                    self._spare = _RunProcess(self._command)
                except OSError as error:
                    # The next run tries again and reports the error.
                    log.warning("a process for runs could not be started: %s", error)

    def run_aside(self, control: CallControl, home: RunDependencies | None = None) -> bytes:
        """Carry out a run at the lowest priority, because no person waits for its result.

        For the arguments and the result see `run`. Only one of these runs is carried out at a time.
        """
        with self._aside:
            return self.run(control, home, aside=True)

    def run(self, control: CallControl, home: RunDependencies | None = None, *, aside: bool = False) -> bytes:
        """Carry out the run of a call in a worker; return its encoded result.

        `control` has the call, reports its progress and can stop it. `home`: the home of the run, needed to
        recover the run if its process dies; None if the run changes nothing that would have to be recovered.
        `aside`: give the process the lowest priority. Raises the run's own `UserError`, `CallStopped` if the
        run was stopped, and `RunEnded` if its process ended before the run did.
        """
        worker = self._taken(control.client)
        if aside and hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):  # it is gone already
                os.setpriority(os.PRIO_PROCESS, worker.pid, _LOWEST)
        try:
            return worker.run(control, self._cancel_s)
        except CallCancelled:
            raise CallStopped from None
        except (EngineGone, RunEnded) as error:
            worker.end(kill=True)
            is_late = isinstance(error, RunEnded)
            raise _ended(error.title if is_late else _DIED, home) from error
        finally:
            # The result does not wait for the end of the process.
            threading.Thread(target=self._bury, args=(worker,), name="reverie-bury", daemon=True).start()

    def is_for_another(self, pid: int, client: object) -> bool:
        """Return whether process `pid` is a worker that carries out a run for a client other than `client`.

        False for work of the engine itself, such as recovering a run, because it belongs to no client.
        """
        with self._lock:
            of = next((of for worker, of in self._at_work.items() if worker.pid == pid), None)
        return of not in (client, None)

    def close(self) -> None:
        """End all workers; runs in progress fail."""
        with self._lock:
            self._closed = True
            if self._warming is not None:
                self._warming.cancel()
            spare, self._spare = self._spare, None
            workers = [*self._at_work, *([] if spare is None else [spare])]
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            worker.end(kill=False)

    def _bury(self, worker: _RunProcess) -> None:
        worker.end(kill=False)
        with self._lock:
            self._at_work.pop(worker, None)

    def _taken(self, client: object) -> _RunProcess:
        with self._lock:
            worker, self._spare = self._spare, None
            if self._closed:
                raise EngineGone("The program is closing.")
            if worker is None or worker.exit_code is not None:
                if worker is not None:
                    worker.end(kill=True)
                try:
                    worker = _RunProcess(self._command)
                except OSError as error:
                    raise Unavailable("The run could not be started.", cause=str(error)) from error
            self._at_work[worker] = client
        self.warm_up()
        return worker


class _RunProcess(ChildProcess):
    """The process of one worker, and the connection to it."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._client = EngineClient(self._channel)
        self._ending = threading.Lock()
        count_as_ours(self.pid)

    def run(self, control: CallControl, cancel_s: float) -> bytes:
        """Carry out the run of a call in this process; return its encoded result.

        Raises the run's error, `CallCancelled`, `EngineGone` if the process died, and `RunEnded` if the run
        has not ended `cancel_s` seconds after it was cancelled.
        """
        if is_debug():
            self._client.services.set_debug(True)
        call = self._client.post(control.call)
        title = f"The run did not stop within {cancel_s:g} seconds, so Reverie ended its process."
        overdue = threading.Timer(cancel_s, lambda: call.cancel(Failed(0, RunEnded(title))))
        overdue.daemon = True

        def cancel() -> None:
            with contextlib.suppress(RuntimeError):  # it was cancelled before
                overdue.start()
            call.cancel()

        control.when_stopped(cancel)
        try:
            return call.result(control.report)
        finally:
            overdue.cancel()

    def end(self, *, kill: bool) -> None:
        """End the process and wait until it has ended. Repeated calls are harmless.

        `kill`: terminate it at once; otherwise it first gets a few seconds to end.
        """
        with self._ending:
            if not self.stop(TERMINATE_S if kill else END_S, terminate=kill):
                log.warning("the process %d of a run did not end and is killed", self.pid)
            forget_ours(self.pid)
        self._client.stop()
        self.reader.close()

    def _channel(self) -> Channel:
        return Channel(self.reader, self.writer, FromEngine, shut=self.hang_up, close=self.reader.close)


def _ended(title: str, home: RunDependencies | None) -> RunEnded:
    """Recover the run of a process that has ended; return the error to raise for the run.

    `title` is the title of that error. `home`: the home of the run; None if the run changes nothing that
    would have to be recovered.
    """
    if home is None:
        return RunEnded(title)
    open_runs = [record.id for record in home.runs.unsettled()]
    try:
        recover(home, "recovery")
    except UserError as error:
        return RunEnded(title, cause="The next run recovers unfinished work.", next_step=str(error))
    settled = [record for record in map(home.runs.load, open_runs) if record.settled]
    found = " ".join(dict.fromkeys(record.summary for record in settled if record.summary))
    return RunEnded(title, cause=found or "The run left nothing unfinished.")
