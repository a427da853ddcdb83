"""The parts that the services of session notes and of the memory writer share.

The reason why no run starts is called a gate.

Threading: blocking until the run has ended; any thread but the GUI's, several at once. Failure: errors that a
person can fix are in the outcome; a bug is raised after the end of the run was recorded.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

import msgspec

from reverie.agents.reading import as_object
from reverie.errors import UserError
from reverie.files.lease import LeaseHeld
from reverie.files.sidecar import Sidecar
from reverie.jobs.single_file.job import SingleFileJob
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.record import SUCCEEDED, RunResult
from reverie.runs.run import Run, RunDependencies
from reverie.runs.stops import StopCheck
from reverie.text.redact import redact
from reverie.values import Struct, converted

Gate = Literal[
    "disabled",
    "unknown-workspace",
    "unknown-session",
    "child-workspace",
    "invalid-interval",
    "no-messages",
    "not-completed",
    "counted",
    "remote",
    "no-compaction",
    "idle",
    "too-small",
    "not-grown",
    "at-work",
    "nothing-new",
    "stood-down",
    "in-flight",
    "not-due",
    "no-target",
    "unknown-layout",
    "not-in-use",
    "model-unavailable",
    "error",
]


class NoRun(Exception):
    """Raised if no run starts, with the reason (`gate`)."""

    def __init__(
        self, gate: Gate, text: str, message_id: str = "", *, level: str | None = "info", next_step: str = ""
    ) -> None:
        """Store the reason.

        `text` is a sentence for people, `message_id` the message that was handled. If `level` is None, the
        gate is not reported.
        """
        super().__init__(text)
        self.gate: Gate = gate
        self.text = text
        self.message_id = message_id
        self.level = level
        self.next_step = next_step


class FileOutcome(RunResult, frozen=True, kw_only=True):
    """The result of handling new messages or a person's request: of a run, or the reason for none."""

    gate: Gate | None = None
    """The reason why no run started; None if one did."""
    workspace_id: str
    message_id: str = ""
    model: str = ""

    @property
    def ran(self) -> bool:
        """True if a run started."""
        return self.gate is None

    @property
    def succeeded(self) -> bool:
        """True if the run ended well, or there was nothing new to write."""
        return self.outcome in SUCCEEDED or self.gate == "nothing-new"


Found = TypeVar("Found", bound=FileOutcome)
State = TypeVar("State", bound=Struct)


class StateTable(Generic[State]):
    """A table of states, by workspace or session, in Reverie's own directory.

    Only the 2,000 states changed last are stored. A damaged state counts as missing.
    """

    _MOST = 2_000

    def __init__(self, sidecar: Sidecar, name: str, kind: type[State]) -> None:
        """Open the table that is stored under `name` in the JSON file of `sidecar`.

        `kind`: the class of the states.
        """
        self._sidecar = sidecar
        self._name = name
        self._kind = kind

    def of(self, key: str) -> State:
        """Return the state stored under `key`; an empty one if none is stored."""
        return self._decoded(as_object(self._sidecar.read().data.get(self._name)).get(key))

    def change(self, key: str, make: Callable[[State], State]) -> None:
        """Replace the state under `key` by what `make` returns for it.

        `make` may be called more than once.
        """

        def change(data: dict[str, Any]) -> dict[str, Any]:
            table = dict(as_object(data.get(self._name)))
            made = msgspec.to_builtins(make(self._decoded(table.pop(key, None))), order="deterministic")
            kept = dict(list(table.items())[1 - self._MOST :])
            return {**data, self._name: {**kept, key: made}}

        self._sidecar.update(change)

    def _decoded(self, stored: object) -> State:
        try:
            return cast(State, converted(as_object(stored), self._kind))
        except msgspec.ValidationError:
            return self._kind()


def lease_name(kind: str, home_id: str, workspace_id: str) -> str:
    """Return the name of the lease that a run of this kind holds in a workspace or session."""
    return f"{kind}:{home_id}:{workspace_id}"


class FileService(Generic[Found]):
    """Base class of the services for session notes and the memory writer; it runs the job.

    It reports gates (reasons why no run starts) and runs to the log and to Activity. Setting `cancel` ends a
    run.
    """

    kind: ClassVar[str]
    """The name of the job in Activity, in leases and in the name of the logger."""
    mark: ClassVar[str]
    """The beginning of each line in the log."""
    outcome: type[Found]

    def __init__(self, run: RunDependencies, cancel: threading.Event | None) -> None:
        self._dependencies = run
        self._cancel = cancel or threading.Event()
        self._log = logging.getLogger(f"reverie.{self.kind}")

    def answer(
        self, workspace_id: str, work: Callable[[], Found], message_id: str = "", *, level: str = "info"
    ) -> Found:
        """Return the outcome of `work`; if it raises `NoRun` or a `UserError`, report the reason (a gate).

        The outcome then contains the gate. `level`: the level of the report if the reason is that another run
        is in progress or that the store is read-only; other errors are reported as warnings.
        """
        try:
            return work()
        except NoRun as gate:
            return self.refuse(
                gate.gate,
                gate.text,
                workspace_id,
                gate.message_id or message_id,
                level=gate.level,
                next_step=gate.next_step,
            )
        except LeaseHeld as held:
            return self.refuse("in-flight", str(held), workspace_id, message_id, level=level)
        except ReadOnlyStore as error:
            return self.refuse(error.refusal.reason, str(error), workspace_id, message_id, level=level)
        except UserError as error:
            next_step = error.next_step
            return self.refuse(
                "error", str(error), workspace_id, message_id, level="warning", next_step=next_step
            )

    def refuse(
        self,
        gate: Gate,
        text: str,
        workspace_id: str,
        message_id: str = "",
        *,
        level: str | None = "info",
        next_step: str = "",
    ) -> Found:
        """Report why no run started, unless `level` is None; return that as the outcome.

        `gate`: the reason, for scripts; `text`: a sentence.
        """
        if level is not None:
            self.log(logging.DEBUG, f"skipped ({gate}): {text}", workspace_id, message_id)
            self.note(gate, text, workspace_id, level=level)
        return self.outcome(
            "",
            "skipped",
            text,
            gate,
            next_step=next_step,
            gate=gate,
            workspace_id=workspace_id,
            message_id=message_id,
        )

    def run(self, job: SingleFileJob[Any, Any]) -> Found:
        """Run a job to its end and return the outcome; the engine enforces the time limit."""
        limits = StopCheck(self._cancel, threading.Event(), job.time_limit_s, enforce_deadline=False)
        end = asyncio.run(Run(self._dependencies, job, limits=limits).go())
        task = job.task
        return self.outcome(
            **msgspec.structs.asdict(end),
            workspace_id=task.workspace_id,
            message_id=task.message_id,
            model=job.engine,
        )

    def note(
        self,
        event: str,
        text: str,
        workspace_id: str,
        *,
        level: str = "info",
        run_id: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an event to Activity, the log of background work.

        `event`: the end of its name; `text`: a sentence for people. `workspace_id` is empty if it concerns
        none. `run_id`: the run that it is about, None if no run started. `details`: further facts.
        """
        self._dependencies.activity.add(
            f"{self.kind}.{event}",
            level=level,
            text=text,
            home=str(self._dependencies.home.root),
            workspace_id=workspace_id or None,
            run_id=run_id,
            details=details or {},
        )

    def log(
        self,
        level: int,
        text: str,
        workspace_id: str,
        message_id: str = "",
        model: str = "",
        *,
        timed_out: bool = False,
    ) -> None:
        """Write a line to the log, in the format of the agent's own memory writer.

        `message_id`: the message that was handled; `model`: the engine; `timed_out`: the engine ran out of
        time. An empty value is written as "-". Secrets are removed from `text`.
        """
        self._log.log(
            level,
            "%s %s workspaceId=%s triggerMessageId=%s timedOut=%s model=%s",
            self.mark,
            redact(text),
            workspace_id or "-",
            message_id or "-",
            str(timed_out).lower(),
            model or "-",
        )
