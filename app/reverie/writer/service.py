"""The memory writer of one home: which turns count, when a run starts, and what is said of it
(formats/mux.md section 14).

`on_turn_end` gets every event of a workspace's transcript that ends a turn, well or not; `run_now` is a
person asking. How turns are counted is `writer.counting`, what a run does `writer.run`, what is said of it
`writer.voice`.

Threading: blocking until the run is done; any thread but the GUI's, several at once. `cancel` ends a run; it
then stays unfinished, and is due at the next turn. Failure: what a person can mend is in the outcome; a bug
is raised after the state was completed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agent.dumps import Dumps
from reverie.errors import MendableError
from reverie.files.sidecar import Sidecar
from reverie.homes.agents import WriterPlace, WriterWishes
from reverie.homes.listing import Workspace
from reverie.homes.scopes import ScopeContext
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.activity import Activity
from reverie.runs.dependencies import RunDependencies
from reverie.transcripts.tail import TailEvent, TailPosition, TranscriptTail, newest_rows
from reverie.writer.counting import Counters, Start, Waiting, Workplace
from reverie.writer.counting import writer_lease_name as writer_lease_name
from reverie.writer.engine import WriterEngine
from reverie.writer.outcome import WriterOutcome as WriterOutcome
from reverie.writer.run import WriterEnd, WriterRequest, WriterRun
from reverie.writer.schedule import Gate, Interval, interval_of, standing_gate
from reverie.writer.state import OwnMarks, StateRead, WriterState
from reverie.writer.target import Target, target_of
from reverie.writer.voice import Voice, standing_words, waiting_words

if TYPE_CHECKING:
    from reverie.settings import System1Settings


@dataclass(frozen=True, slots=True)
class WriterDependencies:
    """What the writer of one home works with. `settings` is read anew for each turn. `engine_for` chooses by
    context and the model of the turn, and raises `MendableError` where a model that a person named cannot be
    asked. `debugging`: whether gates are looked for, so that failures leave a dump whatever the settings
    say."""

    run: RunDependencies
    activity: Activity
    dumps: Dumps
    save_trace: Callable[[str, Mapping[str, Any]], object]
    marks: OwnMarks
    sidecar_for: Callable[[Path], Sidecar]
    lock_dir: Path
    lock_place: Path
    settings: Callable[[], System1Settings]
    engine_for: Callable[[ScopeContext, WriterWishes, str | None], WriterEngine]
    debugging: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds for a workspace whatever turns come; what the Doctor looks at as well."""

    workspace: Workspace | None
    interval: Interval
    gate: Gate | None
    text: str = ""
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class _Ready:
    """A workspace without a standing gate."""

    workspace: Workspace
    context: ScopeContext
    place: WriterPlace
    wishes: WriterWishes
    target: Target
    interval: int
    settings: System1Settings

    @property
    def workplace(self) -> Workplace:
        return Workplace(self.workspace.id, self.place.state_file, self.interval)


class WriterService:
    """The memory writer of one home."""

    def __init__(self, parts: WriterDependencies, cancel: threading.Event | None = None) -> None:
        self._parts = parts
        self._cancel = cancel or threading.Event()
        self._voice = Voice(parts.activity, str(parts.run.home.root))
        self._counters = Counters(
            home_id=parts.run.home_id,
            leases=parts.run.leases,
            marks=parts.marks,
            sidecar_for=parts.sidecar_for,
            lock_dir=parts.lock_dir,
            lock_place=parts.lock_place,
            clock=parts.run.clock,
        )

    # What the host calls

    def on_turn_end(self, workspace_id: str, event: TailEvent) -> WriterOutcome:
        """One event of the transcript. Only `turn-end` counts; `aborted` and `error` are told; others are
        nothing to the writer."""
        message_id = event.turn.id
        if event.kind not in ("turn-end", "aborted", "error"):
            text = "This row ends no assistant turn."
            return WriterOutcome("not-completed", text, workspace_id, message_id)
        try:
            ready = self._ready(workspace_id, message_id, by_hand=False)
            if isinstance(ready, WriterOutcome):
                return ready
            if event.kind != "turn-end":
                text = "The turn was aborted or failed, so it does not count."
                return self._voice.say("not-completed", workspace_id, text, message_id)
            started = self._counters.count(ready.workplace, event.turn)
        except MendableError as error:
            return self._voice.say("error", workspace_id, str(error), message_id, level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        return self._run(ready, started, event.model, "turn")

    def run_now(self, workspace_id: str, force: bool = False) -> WriterOutcome:
        """A run because a person asks: neither the switch counts nor who else does the job. Turns that
        nobody has counted yet are; without `force` a run comes only if it is due."""
        try:
            ready = self._ready(workspace_id, "", by_hand=True)
            if isinstance(ready, WriterOutcome):
                return ready
            ends = [row for row in self._rows(workspace_id) if row.kind == "turn-end"]
            if not ends:
                text = "The transcript holds no completed assistant turn."
                return self._voice.say("not-due", workspace_id, text)
            turns = [row.turn for row in ends]
            started = self._counters.catch_up(ready.workplace, turns, force=force)
        except MendableError as error:
            return self._voice.say("error", workspace_id, str(error), level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        if force:  # whoever insists wants everything looked at
            started = replace(started, since=None)
        return self._run(ready, started, ends[-1].model, "manual")

    def open_tail(self, workspace_id: str) -> TranscriptTail | None:
        """The tail of a workspace's transcript, where `keep_tail` left it, else at its end. None: the agent
        keeps none. Raises `MendableError`."""
        place = self._parts.run.home.session(workspace_id)
        if place is None:
            return None
        kept = TailPosition.of(dict(self._parts.marks.of(workspace_id).tail))
        return TranscriptTail(place.directory, kept)

    def keep_tail(self, workspace_id: str, tail: TranscriptTail) -> None:
        """Remember where the tail stands: what it announced is dealt with."""
        data = tail.position.as_json()
        if self._parts.marks.of(workspace_id).tail != data:
            self._parts.marks.change(workspace_id, lambda marks: marks.with_tail(data))

    # What the Doctor asks; nothing of it changes anything

    def standing(self, workspace_id: str) -> Standing:
        """Which standing gate there is, if any. Raises `MendableError`."""
        return self._standing(workspace_id, by_hand=False)[0]

    def state(self, workspace_id: str) -> StateRead:
        """The state file as it stands. Raises `MendableError`."""
        place = self._parts.run.home.writer_place(workspace_id)
        return StateRead(WriterState(), None) if place is None else self._counters.read(place.state_file)

    def in_flight(self, workspace_id: str) -> bool:
        """Whether a run of this workspace is at work, in any process."""
        return self._counters.in_flight(workspace_id)

    def advanced_by_others(self, workspace_id: str) -> bool:
        """Whether the state file is no longer as Reverie left it."""
        place = self._parts.run.home.writer_place(workspace_id)
        return place is not None and self._counters.advanced_by_others(workspace_id, place.state_file)

    # Gates

    def _standing(self, workspace_id: str, *, by_hand: bool) -> tuple[Standing, _Ready | None]:
        home, settings = self._parts.run.home, self._parts.settings()
        workspace = home.workspace(workspace_id)
        wishes = home.writer_wishes(workspace_id)
        interval = interval_of(settings.interval, wishes.interval)
        gate = standing_gate(
            switched_on=by_hand or settings.enabled,
            agent_allows=by_hand or wishes.enabled,
            parent_id=None if workspace is None else workspace.parent_id,
            interval=interval,
        )
        if gate is not None:
            text = standing_words(gate, interval, by_agent=settings.enabled and not wishes.enabled)
            return Standing(workspace, interval, gate, text), None
        place = home.writer_place(workspace_id)
        if workspace is None or place is None or interval.turns is None:
            text = (
                "The home lists no such workspace." if workspace is None else "This agent has no such writer."
            )
            return Standing(workspace, interval, "unknown-workspace", text), None
        context = home.context(workspace_id=workspace_id)
        refusal = self._parts.run.guard.refusal_of(context)
        if refusal is not None:
            return Standing(workspace, interval, refusal.reason, str(ReadOnlyStore(refusal))), None
        try:
            target = target_of(home, context, place, settings.target)
        except MendableError as error:
            return Standing(workspace, interval, "no-target", str(error)), None
        ready = _Ready(workspace, context, place, wishes, target, interval.turns, settings)
        return Standing(workspace, interval, None, "", target), ready

    def _ready(self, workspace_id: str, message_id: str, *, by_hand: bool) -> _Ready | WriterOutcome:
        standing, ready = self._standing(workspace_id, by_hand=by_hand)
        if ready is not None:
            return ready
        return self._voice.say(standing.gate or "error", workspace_id, standing.text, message_id)

    def _waits(self, ready: _Ready, waiting: Waiting) -> WriterOutcome:
        """No run came of a turn. That somebody else counted it is no decision, and said to nobody."""
        text = waiting_words(waiting.gate, waiting.turns, ready.interval)
        if waiting.gate == "counted":
            return WriterOutcome(waiting.gate, text, ready.workspace.id, waiting.message_id)
        return self._voice.say(waiting.gate, ready.workspace.id, text, waiting.message_id)

    def _rows(self, workspace_id: str) -> tuple[TailEvent, ...]:
        session = self._parts.run.home.session(workspace_id)
        return () if session is None else newest_rows(session.directory).events

    # Running

    def _run(self, ready: _Ready, start: Start, turn_model: str | None, trigger: str) -> WriterOutcome:
        """The run that was started, to its end. Its state is completed however it ends, but for a cancel."""
        with start.lease:
            cancelled = False
            try:
                outcome = self._ran(ready, start, turn_model, trigger)
                cancelled = outcome.outcome == "cancelled" and self._cancel.is_set()
            finally:
                if not cancelled:
                    self._complete(ready, start)
            return outcome

    def _ran(self, ready: _Ready, start: Start, turn_model: str | None, trigger: str) -> WriterOutcome:
        workspace_id = ready.workspace.id
        try:
            engine = self._parts.engine_for(ready.context, ready.wishes, turn_model)
        except MendableError as error:
            return self._voice.say(
                "model-unavailable", workspace_id, str(error), start.message_id, level="warning"
            )
        self._voice.started(workspace_id, start.message_id, engine.name, crashed=start.crashed)
        by_hand = trigger == "manual"
        try:
            request = WriterRequest(
                context=ready.context,
                workspace=ready.workspace,
                place=ready.place,
                target=ready.target,
                message_id=start.message_id,
                rows=self._rows(workspace_id),
                since=start.since,
                trigger=trigger,
                time_limit_s=ready.settings.time_limit_s,
            )
            end = WriterRun(
                self._parts.run,
                request,
                engine,
                cancel=self._cancel,
                still_wanted=lambda: by_hand or self.standing(workspace_id).gate is None,
            ).go()
        except MendableError as error:
            return self._voice.say("error", workspace_id, str(error), start.message_id, level="warning")
        return self._told(ready, start, engine.name, end)

    def _told(self, ready: _Ready, start: Start, model: str, end: WriterEnd) -> WriterOutcome:
        """Trace, dump, log line and Activity entry of a run that ended."""
        workspace_id = ready.workspace.id
        dump, trouble = self._kept(ready, end)
        text = f"{end.summary} {trouble}".strip()
        self._voice.ended(workspace_id, start.message_id, model, end, text)
        return WriterOutcome(
            None,
            text,
            workspace_id,
            start.message_id,
            end.outcome,
            end.run_id,
            end.wrote,
            end.timed_out,
            model,
            end.reason,
            end.next_step,
            dump,
        )

    def _kept(self, ready: _Ready, end: WriterEnd) -> tuple[Path | None, str]:
        """The trace in Reverie's own directory, and the dump in the agent's; what could not be kept."""
        if end.document is None:
            return None, ""
        settings = ready.settings
        failed = end.timed_out or not end.satisfied or end.outcome == "failed"
        wanted = settings.traces == "always" or (
            failed and (settings.traces == "failures" or self._parts.debugging())
        )
        try:
            self._parts.save_trace(end.run_id, end.document)
            if not wanted:
                return None, ""
            dump = self._parts.dumps.write(ready.place.dump_directory, end.document)
            self._parts.dumps.prune(keep_count=settings.keep_count, keep_bytes=settings.keep_bytes)
        except MendableError as error:
            return None, f"Its trace was not kept: {error}"
        return dump, ""

    def _complete(self, ready: _Ready, start: Start) -> None:
        workspace_id = ready.workspace.id
        try:
            self._counters.complete(workspace_id, ready.place.state_file, start.started_at)
        except MendableError as error:
            text = f"The end of a run was not noted. {error}"
            self._voice.say("error", workspace_id, text, start.message_id, level="warning")
