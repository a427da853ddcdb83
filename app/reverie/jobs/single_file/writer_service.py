"""The memory writer of one home: counts turns, starts runs when they are due, and reports their results.

Rules: formats/mux.md section 14. `on_turn_end` receives every event of a workspace's transcript that ends a
turn, successful or not; `run_now` serves a person's request. If a run is cancelled, it is marked as
unfinished and is due at the next turn. Threading and failure: see `service`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import SessionPlace, Workspace
from reverie.agents.capabilities import AgentWriterConfig, WriterPlace
from reverie.agents.reading import as_object
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Tail, TailPosition, Turn
from reverie.errors import UserError
from reverie.files.sidecar import Sidecar
from reverie.jobs.single_file.service import FileOutcome, FileService, Gate, NoRun, StateTable
from reverie.jobs.single_file.writer import (
    WriterEngine,
    WriterJob,
    WriterTarget,
    WriterTask,
    first_text,
    said_since,
    target_of,
)
from reverie.jobs.single_file.writer_events import events_of
from reverie.jobs.single_file.writer_turns import (
    RunStart,
    StateMarks,
    TurnCounter,
    interval_of,
    standing_gate,
)
from reverie.llm.trace_store import Dumps
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.record import SUCCEEDED
from reverie.runs.run import RunDependencies
from reverie.values import Struct, columns, replace

if TYPE_CHECKING:
    from reverie.settings import System1Settings


class WriterOutcome(FileOutcome, frozen=True, kw_only=True):
    """The result of handling a turn or a person's request."""

    timed_out: bool = False
    """Whether the engine ran out of time."""
    dump: Path | None = None
    """The path of the dump (trace file) that the run left for the agent's user; None if it left none."""

    @property
    def wrote(self) -> bool:
        """True if the memory file was changed."""
        return bool(self.applied)

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as `reverie write --json` prints it."""
        return {
            **columns(self, "run_id outcome gate reason summary workspace_id"),
            **columns(self, "triggerMessageId=message_id wrote timed_out model"),
            "dump": None if self.dump is None else str(self.dump),
        }


class WriterDependencies(Struct, frozen=True):
    """The services and settings that one home's memory writer needs."""

    run: RunDependencies
    dumps: Dumps
    marks: StateTable[StateMarks]
    sidecar_for: Callable[[str, Path], Sidecar]
    """A function that opens the state file of a workspace; the home may refuse writes to that file."""
    lock_place: Path
    """The directory whose path names the locks."""
    settings: Callable[[], System1Settings]
    """A function that reads the settings; it is called again for each turn."""
    engine_for: Callable[[ScopeContext, AgentWriterConfig, str | None], WriterEngine]
    """A function that chooses the engine, by context, the agent's settings and the model of the turn.

    Raises `UserError` if a model that a person chose cannot be used.
    """
    debugging: Callable[[], bool]
    """A function that returns True if debug output is on.

    If so, failures leave a dump (a trace file for the agent's user) whatever the settings are.
    """


class _Ready(Struct, frozen=True):
    """A workspace in which the memory writer may run, with the facts that a run needs.

    `wishes`: the agent's configuration of its own writer. `interval`: the number of turns between two runs.
    """

    workspace: Workspace
    context: ScopeContext
    place: WriterPlace
    wishes: AgentWriterConfig
    target: WriterTarget
    interval: int
    settings: System1Settings


_Count = Callable[[_Ready, TurnCounter], tuple[RunStart, str | None]]
"""A function that counts turns; returns the run that starts and the model of its turn, or raises `NoRun`."""


class WriterService(FileService[WriterOutcome]):
    """The service that runs the memory writer of one home; `gate` and `counter` change nothing."""

    kind = "writer"
    mark = "[system1][memory]"
    outcome = WriterOutcome

    def __init__(self, parts: WriterDependencies, cancel: threading.Event | None = None) -> None:
        super().__init__(parts.run, cancel)
        self._parts = parts

    def on_turn_end(self, workspace_id: str, turn: Turn) -> WriterOutcome:
        """Handle one row of the transcript: count a completed turn, and run the writer if it is due.

        Only `turn-end` counts; `aborted` and `error` are reported; all other kinds are ignored.
        """

        def count(ready: _Ready, counter: TurnCounter) -> tuple[RunStart, str | None]:
            if turn.event != "turn-end":
                raise NoRun("not-completed", "The turn was aborted or failed, so it is not counted.")
            return counter.count(turn, ready.interval), turn.model

        if turn.event not in ("turn-end", "aborted", "error"):
            text = "This row does not end an assistant turn."
            return self.refuse("not-completed", text, workspace_id, turn.id, level=None)
        return self.answer(workspace_id, partial(self._counted, workspace_id, count, "turn"), turn.id)

    def run_now(self, workspace_id: str, force: bool = False) -> WriterOutcome:
        """Count all uncounted turns and run the writer at a person's request.

        The run starts even if the writer is switched off or the agent does the same job. Without `force` it
        starts only if it is due.
        """

        def count(ready: _Ready, counter: TurnCounter) -> tuple[RunStart, str | None]:
            ends = [turn for turn in self._turns(workspace_id) if turn.event == "turn-end"]
            if not ends:
                raise NoRun("not-due", "The transcript contains no completed assistant turn.")
            start = counter.catch_up(ends, ready.interval, force=force)
            # If forced, everything is read again, not only what is new.
            return replace(start, since=None) if force else start, ends[-1].model

        return self.answer(workspace_id, partial(self._counted, workspace_id, count, "manual"))

    def open_tail(self, workspace_id: str) -> Tail | None:
        """Open a workspace's transcript at the position that `keep_tail` recorded, else at its end.

        Returns None if the agent has no transcript. Raises `UserError`.
        """
        writer, place = self._parts.run.home.writer, self._session(workspace_id)
        if writer is None or place is None:
            return None
        position = TailPosition.of(dict(self._parts.marks.of(workspace_id).tail))
        return writer.transcript(workspace_id).tail(position)

    def keep_tail(self, workspace_id: str, tail: Tail) -> None:
        """Record the position of `tail`. Call this when all its events so far have been processed."""
        data = tail.position.as_json()
        if self._parts.marks.of(workspace_id).tail != data:
            self._parts.marks.change(workspace_id, lambda marks: replace(marks, tail=data))

    def gate(self, workspace_id: str) -> Gate | None:
        """Return the reason why no run can start in a workspace, at whatever turn; None if there is none.

        Such a reason is, for example, that the writer is switched off.

        Raises `UserError`.
        """
        try:
            self._ready(workspace_id, by_hand=False)
        except NoRun as gate:
            return gate.gate
        return None

    def counter(self, workspace_id: str, state_file: Path) -> TurnCounter:
        """Return the counter of the turns that a workspace's state file counts."""
        parts = self._parts
        lock_file = parts.lock_place / f"writer-{workspace_id}"
        sidecar = parts.sidecar_for(workspace_id, state_file)
        return TurnCounter(workspace_id, parts.run, parts.marks, sidecar, lock_file)

    def _session(self, workspace_id: str) -> SessionPlace | None:
        sessions = self._parts.run.home.sessions
        return None if sessions is None else sessions.session_place(workspace_id)

    def _turns(self, workspace_id: str) -> tuple[Turn, ...]:
        writer, session = self._parts.run.home.writer, self._session(workspace_id)
        return () if writer is None or session is None else writer.transcript(workspace_id).newest_turns()

    def _ready(self, workspace_id: str, *, by_hand: bool) -> _Ready:
        """Return the workspace with the facts that a run needs.

        Raises `NoRun` for a reason that does not depend on the turn, for example that the writer is switched
        off. `by_hand`: a person starts the run, so the writer's switches are ignored.
        """
        home, settings = self._parts.run.home, self._parts.settings()
        workspace = None if home.sessions is None else home.sessions.workspace(workspace_id)
        wishes, place = AgentWriterConfig(enabled=False), None
        if home.writer is not None:
            wishes = home.writer.writer_config(workspace_id)
            place = home.writer.writer_place(workspace_id)
        interval = interval_of(settings.interval, wishes.interval)
        gate = standing_gate(
            switched_on=by_hand or settings.enabled,
            agent_allows=by_hand or wishes.enabled,
            parent_id=None if workspace is None else workspace.parent_id,
            interval=interval,
        )
        if gate == "disabled":
            by_agent = settings.enabled and not wishes.enabled
            agent = "The agent's own settings turn the memory writer off."
            raise NoRun(gate, f"The memory writer is off. {agent if by_agent else 'Turn it on in Settings.'}")
        if gate == "child-workspace":
            text = "Only the turns of its parent workspace are counted."
            raise NoRun(gate, f"This workspace belongs to a sub-agent. {text}")
        if gate is not None:
            where = "the agent's config.json" if interval.source == "agent" else "the settings"
            raise NoRun(gate, f"The interval in {where} is ignored: {interval.problem}.")
        if workspace is None:
            raise NoRun("unknown-workspace", "The home has no such workspace.")
        if place is None or interval.turns is None:
            raise NoRun("unknown-workspace", "This agent has no memory writer.")
        context = home.context(workspace_id=workspace_id)
        if refusal := self._parts.run.guard.refusal_of(context):
            raise NoRun(refusal.reason, str(ReadOnlyStore(refusal)))
        try:
            target = target_of(home, context, place, settings.target)
        except UserError as error:
            raise NoRun("no-target", str(error)) from error
        return _Ready(workspace, context, place, wishes, target, interval.turns, settings)

    def _counted(self, workspace_id: str, count: _Count, trigger: str) -> WriterOutcome:
        """Count turns with `count`, and run the writer if a run starts. Raises `NoRun` if none does.

        The end of the run is recorded in the state file unless the run was cancelled.
        """
        ready = self._ready(workspace_id, by_hand=trigger == "manual")
        counter = self.counter(workspace_id, ready.place.state_file)
        start, turn_model = count(ready, counter)
        with start.lease:
            outcome: WriterOutcome | None = None
            try:
                outcome = self._ran(ready, start, turn_model, trigger)
            finally:
                if outcome is None or outcome.outcome != "cancelled" or not self._cancel.is_set():
                    try:
                        counter.complete(start, succeeded=outcome is not None and outcome.succeeded)
                    except UserError as error:
                        text = f"The end of a run could not be recorded. {error}"
                        self.refuse("error", text, workspace_id, start.message_id, level="warning")
            return outcome

    def _ran(self, ready: _Ready, start: RunStart, turn_model: str | None, trigger: str) -> WriterOutcome:
        """Run the writer, report its end and return the outcome.

        `turn_model`: the model of the turn that triggers the run; None if unknown. Raises `NoRun` if the
        engine cannot be used.
        """
        workspace_id, message_id = ready.workspace.id, start.message_id
        try:
            engine = self._parts.engine_for(ready.context, ready.wishes, turn_model)
        except UserError as error:
            raise NoRun("model-unavailable", str(error), message_id, level="warning") from error
        text = "Started. The previous run did not finish." if start.crashed else "Started."
        details = {"triggerMessageId": message_id, "model": engine.name}
        self.log(logging.DEBUG, f"started: {text}", workspace_id, message_id, engine.name)
        self.note("started", text, workspace_id, details=details)
        rows = self._turns(workspace_id)
        task = WriterTask(
            target=ready.target,
            context=ready.context,
            workspace_id=workspace_id,
            workspace_name=ready.workspace.name,
            trigger=trigger,
            message_id=message_id,
            time_limit_s=ready.settings.time_limit_s,
            details={"triggerMessageId": message_id},
            workspace=ready.workspace,
            place=ready.place,
            instructions=first_text(ready.place.instructions),
            context_instructions=first_text(ready.place.context_instructions),
            events=events_of(rows),
            said=tuple(said_since(rows, start.since)),
        )
        job = WriterJob(
            self._parts.run,
            task,
            engine,
            still_wanted=lambda: trigger == "manual" or self.gate(workspace_id) is None,
        )
        end = self.run(job)
        dump, trouble = self._kept(ready, job, end)
        summary = f"{end.summary} {trouble}".strip()
        end = replace(end, summary=summary, timed_out=job.timed_out, dump=dump)
        self._report(job, end)
        return end

    def _kept(self, ready: _Ready, job: WriterJob, end: WriterOutcome) -> tuple[Path | None, str]:
        """Write the dump, a trace of the run, into the agent's directory if the settings require it.

        Returns its path (None if there is none) and a sentence about errors.
        """
        if job.trace is None:
            return None, ""
        settings = ready.settings
        failed = job.timed_out or not job.satisfied or end.outcome == "failed"
        wanted = settings.traces == "always" or (
            failed and (settings.traces == "failures" or self._parts.debugging())
        )
        try:
            if not wanted:
                return None, ""
            dump = self._parts.dumps.write(ready.place.dump_directory, job.trace)
            self._parts.dumps.prune(keep_count=settings.keep_count, keep_bytes=settings.keep_bytes)
        except UserError as error:
            return None, f"The trace could not be saved: {error}"
        return dump, ""

    def _report(self, job: WriterJob, end: WriterOutcome) -> None:
        """Report the end of a run, after its attempts and their tool calls, which are read from its trace.

        As in the agent's own log, a run that wrote nothing has its own event name instead of "completed".
        """
        task, model = job.task, job.engine
        details = {"triggerMessageId": task.message_id, "model": model}
        for attempt in (job.trace or {}).get("attempts", ()):
            self._report_attempt(task, end.run_id, attempt, details)
        event: str = end.outcome
        if job.timed_out and not end.applied:
            event = "timed-out"
        elif end.reason == "no-write":
            event = "exited-without-updating"
        level = logging.INFO if end.applied else logging.DEBUG
        line = f"{event}: {end.summary}"
        self.log(level, line, task.workspace_id, task.message_id, model, timed_out=job.timed_out)
        self.note(
            event,
            end.summary,
            task.workspace_id,
            level="info" if end.outcome in SUCCEEDED else "warning",
            run_id=end.run_id,
            details={**details, "timedOut": job.timed_out, "attempts": job.attempts_made},
        )

    def _report_attempt(
        self, task: WriterTask, run_id: str, attempt: Mapping[str, Any], details: Mapping[str, Any]
    ) -> None:
        """Report one attempt.

        The log gets one line per call, Activity one entry per tool and result.
        """
        index, workspace_id = attempt.get("attemptIndex"), task.workspace_id
        text = f"Attempt {index}: {_attempt_words(attempt)}"
        details = {**details, "attempt": index}
        log = partial(self.log, logging.DEBUG, message_id=task.message_id, model=details["model"])
        log(f"attempt: {text}", workspace_id)
        self.note("attempt", text, workspace_id, run_id=run_id, details=details)
        calls: Counter[tuple[str, bool]] = Counter()
        for execution in attempt.get("toolExecutions", ()):
            name, worked = (
                str(execution.get("toolName")),
                as_object(execution.get("output")).get("success") is True,
            )
            calls[name, worked] += 1
            log(f"tool call: {name} in attempt {index}: success={str(worked).lower()}", workspace_id)
        for (name, worked), times in calls.items():
            line = f"Attempt {index}: {name} {'succeeded' if worked else 'failed'}"
            line += "." if times == 1 else f", {times} times."
            self.note("tool-call", line, workspace_id, run_id=run_id, details={**details, "tool": name})


def _attempt_words(attempt: Mapping[str, Any]) -> str:
    if attempt.get("error"):
        return str(attempt["error"])
    if attempt.get("wrote"):
        return "the memory was changed."
    if attempt.get("noNewMemories"):
        return "there was nothing new."
    count = len(attempt.get("toolExecutions", ()))
    called = {0: "no tool was called", 1: "one tool was called"}.get(count, f"{count} tools were called")
    return f"{called}, and nothing was recorded."
