"""The extraction of one Codex home: stage one over selected rollouts, then stage two over their directories.

In current homes each result becomes a note to Codex instead (`CodexHome.extracts_to_notes`), and there is no
stage two, because Codex adds the notes to its memory itself.

Order: recovery of an interrupted run; the selection; the rollouts, several at a time (if one fails, the
others continue); the directories with new traces, and those whose previous consolidation did not finish.
Nothing else in the home is written, in particular not its databases. Every decision and result is an entry in
Activity (`extract.<event>`) and a line in the log.

Threading: blocking; any thread but the GUI's. `progress` is called on the thread of the run. Failure: always
reported in the one result; only bugs are raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from reverie.agents.base import Extraction
from reverie.agents.capabilities import Thread
from reverie.agents.codex.locations import bucket_of, normalised_cwd
from reverie.agents.codex.transcript import RolloutHead, rollout_head
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import Busy, StoreError, Unavailable, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S, is_write_protected
from reverie.files.lease import LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.layout import INDEX, NewTrace, TraceHeader, is_phase_one, laid_out
from reverie.jobs.extraction.stage_one import Extracted, StageOneEngine, normalised, redacted
from reverie.jobs.extraction.stage_two import StageTwoEngine, Staging
from reverie.jobs.extraction.state import (
    SKIP_WORDS,
    DirectoryRow,
    ExtractState,
    SkippedThread,
    SkipReason,
    ThreadRow,
    ThreadSelection,
    select,
)
from reverie.jobs.model_work import costs_of
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes, write_locks
from reverie.runs.record import SUCCEEDED, Outcome, RunRecord, RunResult
from reverie.runs.run import Costs, Job, Plan, Run, RunContext, RunDependencies, RunEnd, Thought, recover
from reverie.runs.stops import RunLimits, stop_of
from reverie.runs.transaction import LeaseLost
from reverie.text.redact import redact
from reverie.text.summaries import some, with_write_protected
from reverie.values import Struct, columns, field, replace

if TYPE_CHECKING:
    from reverie.settings import ExtractSettings

LEASE_S = 600.0
READ_ALREADY = "read-already"
"""The reason of a skipped directory: the last consolidation has read the same traces."""
_ROUNDS = 3
_log = logging.getLogger("reverie.rollouts")

PartKind = Literal["rollout", "directory"]
Stage = Literal[
    "waiting", "reading", "thinking", "writing", "persisted", "consolidated", "failed", "skipped", "cancelled"
]


class ExtractProgress(Struct, frozen=True):
    """The progress of one rollout or one directory."""

    kind: PartKind
    id: str
    """The id of the thread, or the bucket of the directory."""
    title: str
    project_path: str
    stage: Stage = "waiting"
    text: str = ""
    """Details as a sentence; may be empty."""
    done: int = 0
    """The number of parts of this kind that have ended, of `total`."""
    total: int = 0

    @property
    def ended(self) -> bool:
        """True if this is the last stage of the part."""
        return self.stage in ("persisted", "consolidated", "failed", "skipped", "cancelled")


class PartEnd(RunResult, frozen=True, kw_only=True):
    """The end of one rollout's extraction or of one directory's consolidation.

    `id`: the id of the thread, or the bucket of the directory. The outcome is `skipped` if another process
    does or has just done the work.
    """

    kind: PartKind
    id: str
    title: str
    project_path: str

    @property
    def bucket(self) -> str:
        """The name of the folder in which the memory of the directory is stored."""
        return bucket_of(self.project_path)

    @property
    def stage(self) -> Stage:
        """The last stage of the part."""
        if self.outcome in ("cancelled", "skipped"):
            return self.outcome
        if not self.succeeded:
            return "failed"
        if self.kind == "directory":
            return "consolidated"
        return "persisted" if self.outcome == "completed" else "skipped"

    def as_json(self) -> dict[str, Any]:
        """Return this part as `reverie extract --json` prints it."""
        name = "threadId" if self.kind == "rollout" else "bucket"
        return {
            name: self.id,
            **columns(self, "title project_path outcome reason summary run_id"),
            "usage": None if self.usage is None else dict(self.usage),
            "costUsd": self.cost_usd,
        }


class ExtractResult(RunResult, frozen=True, kw_only=True):
    """The result of an extraction: how each rollout and each directory ended.

    `candidates`: the number of threads that were selected.
    """

    engine: str
    candidates: int = 0
    rollouts: tuple[PartEnd, ...] = ()
    directories: tuple[PartEnd, ...] = ()
    skipped: tuple[SkippedThread, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the result as `reverie extract --json` prints it."""
        return {
            **columns(self, "outcome reason summary engine candidates"),
            "rollouts": [part.as_json() for part in self.rollouts],
            "directories": [part.as_json() for part in self.directories],
            "skipped": [
                {"threadId": each.thread.id, "reason": each.reason, "sentence": SKIP_WORDS[each.reason]}
                for each in self.skipped
            ],
        }


class ExtractView(Struct, frozen=True):
    """The state of the extraction of memories from conversations, for one directory or for all."""

    last_at: int | None
    """The time at which something was last extracted or consolidated (UTC ms)."""
    last_outcome: str
    """The outcome of the last consolidation; empty before the first."""
    waiting: int
    """The number of threads that wait for extraction."""
    holder: str
    """The process that is consolidating now, as text; empty if there is none."""
    engine: str
    """The engine that an extraction would use; `why` is the reason for it."""
    why: str
    to_notes: bool
    """Whether each result becomes a note to the agent."""


def rollout_lease_name(home_id: str, thread_id: str) -> str:
    """Return the name of the lease under which one process extracts from a rollout (conversation file)."""
    return f"extract:{home_id}:{thread_id}"


def directory_lease_name(home_id: str, bucket: str) -> str:
    """Return the name of the lease under which one process consolidates a directory's traces."""
    return f"consolidate:{home_id}:{bucket}"


def context_of(cwd: str) -> ScopeContext:
    """Return the context of the memory of the directory `cwd`.

    The layout is that of the first generation of Codex homes; other layouts that exist are ignored.
    """
    return ScopeContext(None, cwd, None, store=f"project/{bucket_of(cwd)}")


class HomeExtraction(Struct):
    """One extraction of a home: its parameters, its plan, and its run."""

    parts: RunDependencies
    state: ExtractState
    settings: ExtractSettings
    project_path: str | None = None
    """The directory to whose threads it is restricted; None for all."""
    trigger: str = "manual"
    """`manual` or `launch`."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """The event that ends it."""
    progress: Callable[[ExtractProgress], None] = lambda _progress: None
    """A function that gets each step."""
    done: int = 0
    """The number of parts that have ended, of the `total` parts of the present stage."""
    total: int = 0

    @property
    def cwd(self) -> str | None:
        """The normalised path of the directory to which it is restricted; None if it is not."""
        return None if self.project_path is None else normalised_cwd(self.project_path)

    @property
    def to_notes(self) -> bool:
        """True if each result becomes a note to the agent."""
        return self.parts.home.extraction is not None and self.parts.home.extraction.extracts_to_notes

    @property
    def agent(self) -> Extraction:
        """The interface of the home for extraction.

        Raises `Unavailable` if the agent has no threads (conversations).
        """
        extraction = self.parts.home.extraction
        if extraction is None:
            raise Unavailable(
                "There is nothing to extract in this home.",
                cause="Only Codex sessions can be turned into memories with this command.",
                next_step="Select a Codex home.",
                reason="not-codex",
            )
        return extraction

    def plan(self) -> ThreadSelection:
        """Return the threads (conversations) to extract from, without changing anything.

        The beginning of a rollout, the file of a thread, is read if the agent's database lacks facts about
        the thread. Raises `Unavailable`.
        """
        agent, now_ms = self.agent, self.parts.clock()
        rows, failures = self.state.rows(), self.state.failures()
        by_agent, threads = agent.extracted_at(), agent.threads()
        left = agent.left_to_agent(now_ms) if self.to_notes else frozenset()
        failed = {each.id for each in threads if failures.get(each.id) == (each.updated_at or 0)}
        heads: dict[str, Thread] = {}
        only = None if self.cwd is None else (self.project_path, self.cwd)

        def stored(thread_id: str) -> int | None:
            row = rows.get(thread_id)
            if row is None or self.is_wanted_again(row):
                return by_agent.get(thread_id)
            return max(row.source_updated_at, by_agent.get(thread_id, 0))

        def may_belong(thread: Thread) -> bool:
            if not thread.cwd:
                return thread.id not in heads
            return only is None or thread.cwd in only

        while True:
            known = [heads.get(each.id, each) for each in threads]
            found = select(list(filter(may_belong, known)), stored, self.settings, now_ms, failed, left)
            unread = [
                each
                for each in found.chosen
                if each.id not in heads and not (each.cwd and each.source and each.title)
            ]
            if not unread:
                lost = [SkippedThread(each, "no-directory") for each in heads.values() if not each.cwd]
                return ThreadSelection(found.chosen, (*found.skipped, *lost))
            heads |= {each.id: _with_head(each) for each in unread}

    def is_wanted_again(self, row: ThreadRow) -> bool:
        """Return True if a person reverted the extraction of a thread and has now asked for another one.

        `row`: the stored row of the thread, which names the run of its extraction.
        """
        with contextlib.suppress(UserError):  # the run has no record, or it was pruned
            return self.trigger != "launch" and self.parts.runs.load(row.run_id).reverted
        return False

    def _directories(self) -> dict[str, DirectoryRow]:
        """Return the rows of the directories to which the extraction is restricted, by bucket."""
        found = self.state.directories()
        only = found if self.cwd is None else {bucket_of(self.cwd)}
        return {bucket: row for bucket, row in found.items() if bucket in only}

    def status(self, engine: str, why: str) -> ExtractView:
        """Return the state of the extraction for the footer; `why`: the reason for the choice of `engine`."""
        parts, directories, chosen = self.parts, self._directories(), self.plan()
        last = max(directories.values(), key=lambda each: each.consolidated_at or 0, default=None)
        times = [each.consolidated_at for each in directories.values() if each.consolidated_at is not None]
        only = None if self.cwd is None else bucket_of(self.cwd)
        times += [row.generated_at for row in self.state.rows().values() if only in (None, row.bucket)]
        holders = (parts.leases.holder(directory_lease_name(parts.home_id, bucket)) for bucket in directories)
        held = next((holder for holder in holders if holder is not None), None)
        return ExtractView(
            max(times, default=None),
            "" if last is None else last.outcome,
            len(chosen.chosen) + chosen.counts().get("over-the-limit", 0),
            "" if held is None else f"Process {held.owner.pid}: {held.purpose}",
            engine,
            why,
            self.to_notes,
        )

    def run(
        self, engine: str, stage_one: Callable[[], StageOneEngine], stage_two: Callable[[], StageTwoEngine]
    ) -> ExtractResult:
        """Extract from the selected rollouts, then consolidate their directories; return the result.

        The functions make the engines of each rollout and of each directory; `engine` is the name of the
        former. Runs an event loop of its own.
        """
        parts = self.parts
        try:
            parts.guard.require_context(parts.home.context(project_path=self.project_path))
        except ReadOnlyStore as error:
            self.note("skipped", str(error), {"reason": error.reason})
            return ExtractResult("", "failed", str(error), error.reason, engine=engine)
        try:
            refuse_while_agent_writes(parts.home, lock_dir=parts.guard.lock_dir)
            recover(parts, "recovery before an extraction")
            selection = self.plan()
            unfinished = {bucket for bucket, row in self._directories().items() if row.waiting}
        except UserError as error:
            title, reason, next_step = error.title, error.reason, error.next_step
            return ExtractResult("", "failed", title, reason, next_step=next_step, engine=engine)
        self._note_selection(selection, engine)
        return asyncio.run(self._both_stages(selection, unfinished, engine, stage_one, stage_two))

    async def _both_stages(
        self,
        selection: ThreadSelection,
        unfinished: Collection[str],
        engine: str,
        stage_one: Callable[[], StageOneEngine],
        stage_two: Callable[[], StageTwoEngine],
    ) -> ExtractResult:
        """Extract from the threads of `selection`, then consolidate; return the result with its summary.

        `unfinished`: the buckets whose last consolidation did not finish. For the others see `run`.
        """
        ends = await self._carried_out([RolloutRun(self, each, stage_one()) for each in selection.chosen])
        rollouts = tuple(end for end in ends if end.outcome != "skipped")
        late = [
            SkippedThread(thread, "lease-held" if end.reason == "lease-held" else "changed")
            for thread, end in zip(selection.chosen, ends, strict=True)
            if end.outcome == "skipped"
        ]
        touched = {end.bucket for end in rollouts if end.succeeded}.union(unfinished)
        directories = await self._consolidated(touched, stage_two)
        parts = (*rollouts, *directories)
        bad = [part for part in parts if not part.succeeded]
        done = sum(end.outcome == "completed" for end in rollouts)
        empty = sum(end.outcome == "unchanged" for end in rollouts)
        consolidated = sum(end.succeeded for end in directories)
        summary = f"{some(done, 'session')} extracted, {some(consolidated, 'directory')} consolidated"
        summary += f", {empty} with nothing to remember" if empty else ""
        summary += f", {len(bad)} failed: {bad[0].summary}" if bad else "."
        outcome: Outcome = "completed" if any(part.succeeded for part in parts) else "unchanged"
        reason = next_step = ""
        if self.cancel.is_set():
            outcome, summary, reason = "cancelled", f"Cancelled. {summary}", "cancelled"
        elif bad:
            outcome, reason, next_step = "failed", bad[0].reason, bad[0].next_step
        elif not parts:
            summary = "There is nothing to extract."
        return ExtractResult(
            "",
            outcome,
            summary,
            reason,
            next_step=next_step,
            engine=engine,
            candidates=len(selection.chosen),
            rollouts=rollouts,
            directories=directories,
            skipped=(*selection.skipped, *late),
        )

    async def _consolidated(
        self, touched: Collection[str], stage_two: Callable[[], StageTwoEngine]
    ) -> tuple[PartEnd, ...]:
        """Consolidate the directories in `touched` that wait for it; return how each part ended.

        There are up to three rounds: another process may add traces meanwhile and leave their consolidation
        to this process, because this process holds the directory's lock.
        """
        ends: dict[str, PartEnd] = {}
        for _round in range(0 if self.to_notes else _ROUNDS):
            if self.cancel.is_set():
                break
            found = self.state.directories()
            due = [found[bucket] for bucket in sorted(touched) if bucket in found and found[bucket].waiting]
            if not due:
                break
            text = f"{some(len(due), 'directory')} to consolidate."
            self.note("directories", text, {"directories": [each.cwd for each in due]})
            done = await self._carried_out([DirectoryRun(self, each, stage_two()) for each in due])
            ends |= {end.id: end for end in done if end.outcome != "skipped"}
            touched = {end.id for end in done if end.succeeded}
        return tuple(ends.values())

    async def _carried_out(self, jobs: Sequence[ExtractJob[Any]]) -> list[PartEnd]:
        """Carry out the jobs, a few at a time, and report their progress and ends; return the ends.

        A bug in a job is raised after all jobs have ended.
        """
        room = asyncio.Semaphore(self.settings.concurrency)
        self.done, self.total = 0, len(jobs)

        async def carry_out(job: ExtractJob[Any]) -> PartEnd:
            async with room:
                end = await job.go()
            if end.outcome != "skipped":
                self._note_end(end)
            self.done += 1
            job.tell(end.stage, end.summary)
            return end

        for job in jobs:
            job.tell("waiting")
        ends = await asyncio.gather(*map(carry_out, jobs), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return [end for end in ends if not isinstance(end, BaseException)]

    def root(self, cwd: str) -> ScopeRoot:
        """Return the root of the memory to which results about the directory `cwd` are added.

        It is that of the directory, or that of the agent if each result becomes a note. Raises `StoreError`
        if it is read-only or reached through a link: the agent does not clear memories that it reaches
        through a link, so Reverie does not change them either.
        """
        home = self.parts.home
        if self.to_notes:
            root, memory = home.scope_root(home.context(), Scope.GLOBAL), "The memory of Codex"
            directories = [root.directory]
        else:
            root, memory = home.scope_root(context_of(cwd), Scope.PROJECT), f"The memory of {cwd}"
            directories = [root.directory, *root.directory.parents[:2]]
        if root.read_only:
            raise StoreError(f"{memory} was not changed.", cause=root.read_only, reason="read-only")
        if any(each.is_symlink() for each in directories):
            raise StoreError(
                f"{memory} was not changed.",
                cause=f"{root.directory} is reached through a symbolic link.",
                next_step="Replace the link with a directory.",
                reason="link",
            )
        return root

    def tell(self, part: ExtractProgress) -> None:
        """Send the progress of a part, with the number of parts that have ended and their total."""
        self.progress(replace(part, done=self.done, total=self.total))

    def note(
        self,
        event: str,
        text: str,
        details: Mapping[str, Any],
        *,
        level: str = "info",
        run_id: str | None = None,
    ) -> None:
        """Report an event in Activity, the log of background work, and in the program's log.

        For the arguments see `Activity.add`.
        """
        _log.debug("extract %s: %s", event, redact(text))
        self.parts.activity.add(
            f"extract.{event}",
            level=level,
            text=text,
            home=str(self.parts.home.root),
            workspace_id=None,
            run_id=run_id,
            details=details,
        )

    def _note_selection(self, selection: ThreadSelection, engine: str) -> None:
        """Report the chosen threads, and why the others were left out."""
        counts = selection.counts()
        left = "; ".join(
            f"{count} because {SKIP_WORDS[reason]}"  # type: ignore[index]
            for reason, count in sorted(counts.items())
        )
        text = f"{some(len(selection.chosen), 'thread')} to extract, {sum(counts.values())} left out"
        details = {"chosen": [thread.id for thread in selection.chosen], "skipped": counts, "engine": engine}
        self.note("candidates", f"{text}{f' ({left})' if left else ''}.", details)

    def _note_end(self, end: PartEnd) -> None:
        """Report the end of a rollout's extraction or of a consolidation."""
        event = "consolidation-finished"
        if end.kind == "rollout":
            event = "persisted" if end.outcome == "completed" else end.outcome
        self.note(
            event,
            f"{end.title or end.id}: {end.summary}",
            columns(end, "id project_path reason status=outcome"),
            level="info" if end.succeeded or end.outcome == "cancelled" else "warning",
            run_id=end.run_id or None,
        )


class ExtractJob(Job[Thought]):
    """Base class of both stages as jobs (`runs.run`); `part` is the rollout or directory to work on.

    Each job holds a lease of its own (600 s, renewed while it works, taken over if its owner died), so that
    only one process does the job. The home's lease is held only while writing; the plan is made under it,
    from the files at that moment. The row in Reverie's own state must be saved too: if that fails, the files
    are restored.

    Threading: one event loop; blocking on disk. Failure: errors that a person can fix are never raised; a bug
    is recorded and raised.
    """

    kind = "extract"
    before = "before an extraction"
    workspace_id = None
    purpose = "extraction"
    lease_name: str
    """The name of the job's own lease."""
    lease_purpose: str
    """The text that is shown to others while the job holds its own lease."""

    def __init__(
        self, extraction: HomeExtraction, engine: StageOneEngine | StageTwoEngine, part: ExtractProgress
    ) -> None:
        self._extraction = extraction
        self._parts = extraction.parts
        self._part = part
        self._account = engine.account
        self.project_path = part.project_path
        self.trigger = extraction.trigger
        self.engine = engine.name
        self.time_limit_s = extraction.settings.time_limit_s

    @property
    def source(self) -> str:
        """The name of the engine, which the history records as the source of changes."""
        return self.engine

    @abstractmethod
    def is_due(self) -> bool:
        """Return False if another process has just done the work. Called under the job's own lease."""

    @abstractmethod
    def left_out(self, reason: SkipReason, text: str = "") -> PartEnd:
        """Report and return that the part is left to another process.

        `text`: what that process does, as a sentence; empty if it has finished.
        """

    async def go(self) -> PartEnd:
        """Carry out the job under its own lease, unless another process does or has done it.

        Returns how it ended.
        """
        cancel = self._extraction.cancel
        if cancel.is_set():
            return self._end(RunResult("", "cancelled", "Cancelled before it started.", "cancelled"))
        with contextlib.ExitStack() as held:
            try:
                lease = held.enter_context(
                    self._parts.leases.acquire(self.lease_name, purpose=self.lease_purpose, ttl_s=LEASE_S)
                )
                if not self.is_due():
                    return self.left_out("changed")
            except LeaseHeld as elsewhere:
                return self.left_out("lease-held", str(elsewhere))
            except UserError as error:
                stop = stop_of(error, self.time_limit_s)
                why, next_step = f"{stop.why}.", stop.next_step
                return self._end(RunResult("", stop.outcome, why, stop.reason, next_step=next_step))
            limits = RunLimits(lease, cancel, self.time_limit_s)
            return self._end(await Run(self._parts, self, limits=limits).go())

    def _end(self, result: RunResult) -> PartEnd:
        where = columns(self._part, "kind id title project_path=project_path")
        return PartEnd(**msgspec.structs.asdict(result), **where)

    def tell(self, stage: Stage, text: str = "") -> None:
        """Send `stage`, with details in `text`, as the progress of the part."""
        self._extraction.tell(replace(self._part, stage=stage, text=text))

    def prepare(self, root: ScopeRoot) -> None:
        """Raise `ReadOnlyStore` if `root` must not be written; remove what killed processes left in it.

        These are hidden temporary files; errors in removing them are ignored.
        """
        guard = self._parts.guard
        guard.require(root)
        with contextlib.suppress(UserError), write_locks(self._parts.home, (root,), lock_dir=guard.lock_dir):
            RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)

    def waits(self, held: Busy) -> None:
        """Report that the run is waiting for the run that holds the lease."""
        self.tell("waiting", str(held))

    def costs(self) -> Costs:
        """Return the costs of the engine so far."""
        return costs_of(self._account())

    def keeps(self, outcome: Outcome) -> bool:
        """Return True if a run that ended with `outcome` and wrote nothing gets a record.

        It gets none if it succeeded or was interrupted.
        """
        return outcome not in (*SUCCEEDED, "interrupted")

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> dict[str, Any]:
        """Return the trace with the outcome and the project's path added."""
        return {
            **super().document(trace, record, end),
            "didWriteMemory": record.outcome == "completed",
            "projectPath": record.project_path or "",
        }


class RolloutRun(ExtractJob[Extracted]):
    """Stage one for one rollout, the file of a conversation, as a job.

    It reads the rollout and writes its trace, a text about the conversation.
    """

    attempts = 4

    def __init__(self, extraction: HomeExtraction, thread: Thread, engine: StageOneEngine) -> None:
        self._thread = thread = replace(thread, cwd=normalised_cwd(thread.cwd))
        self._engine = engine
        self._known: ThreadRow | None = None
        super().__init__(extraction, engine, ExtractProgress("rollout", thread.id, thread.title, thread.cwd))
        self.lease_name = rollout_lease_name(self._parts.home_id, thread.id)
        self.lease_purpose = f"extraction of {thread.id}"
        self.details = {"stage": 1, "threadId": thread.id, "rollout": str(thread.path)}

    def is_due(self) -> bool:
        """Return False if another process has just extracted from the rollout."""
        known = self._known = self._extraction.state.rows().get(self._thread.id)
        if known is None or known.source_updated_at < (self._thread.updated_at or 0):
            return True
        return self._extraction.is_wanted_again(known)

    def left_out(self, reason: SkipReason, text: str = "") -> PartEnd:
        """Report and return that the thread is left out for `reason`."""
        thread, why = self._thread, SKIP_WORDS[reason]
        details = {"threadId": thread.id, "reason": reason}
        self._extraction.note("skipped", f"{thread.title or thread.id}: left out, {why}.", details)
        return self._end(RunResult("", "skipped", f"Left out: {why}.", reason))

    async def think(self, run: RunContext) -> Extracted | Plan:
        """Read the rollout (conversation file); return the engine's output, or a plan without changes.

        The latter is returned if there is nothing to remember.
        """
        thread = self._thread
        if thread.path is None:
            raise StoreError("The session's transcript (rollout) no longer exists.", reason="no-rollout")
        self.tell("reading")
        try:
            found = await self._engine.extract(
                thread, thread.path, run.limits, partial(self.tell, "thinking")
            )
        except FileNotFoundError as error:
            raise StoreError("The transcript was deleted during the run.", reason="no-rollout") from error
        self._note_reading(found)
        if found.output is None:
            what, when = "The transcript contains nothing to remember", "the session continues"
            if found.reading.broken or found.reading.half_written:
                what, when = "No part of the transcript could be read", "it changes"
            return Plan(f"{what}. Reverie reads it again when {when}.", outcome="unchanged")
        self.tell("writing")
        return replace(found, output=normalised(found.output))

    def _note_reading(self, found: Extracted) -> None:
        """Report lines of the rollout that could not be read or are unknown, and that it was truncated."""
        reading, thread_id = found.reading, self._thread.id
        if reading.broken or reading.unknown or reading.half_written:
            text = (
                f"{thread_id}: {reading.broken} lines could not be read, {reading.unknown} were of an "
                f"unknown type{', the last one is half-written' if reading.half_written else ''}."
            )
            counts = columns(reading, "broken unknown lines")
            self._extraction.note("parse-errors", text, {"threadId": thread_id, **counts})
        if found.truncated:
            text = f"{thread_id}: the transcript was too long for the model, so its middle was left out."
            self._extraction.note("truncated", text, {"threadId": thread_id})

    def accept(self, thought: Extracted, run: RunContext) -> Plan:
        """Return the plan that writes the trace (or the note) on top of the present files."""
        thread, output = self._thread, thought.output
        assert output is not None  # `think` has returned a plan without it
        header = TraceHeader(thread.id, thread.cwd, str(thread.path), thread.updated_at)
        trace = NewTrace(header, redacted(thread.title), output.trace, output.summary)
        root = self._extraction.root(thread.cwd)
        self.prepare(root)
        plan = self._note_plan(root, trace) if self._extraction.to_notes else self._trace_plan(root, trace)
        return replace(plan, outcome="completed", record={"summary": output.summary})

    def _note_plan(self, root: ScopeRoot, new: NewTrace) -> Plan:
        """Return the plan that writes the result as a note to the agent.

        The agent adds the note to its memory itself.
        """
        header, title = new.header, " ".join(new.title.split())
        rel = self._extraction.agent.note_path(title, self._parts.clock(), header.thread_id)
        about = f"About the session {header.thread_id} in {header.cwd}"
        text = f"{about}{f' ({title})' if title else ''}:\n\n{new.trace.strip()}\n"
        change = FileChange(root, rel, None, text.encode("utf-8", "surrogateescape"))
        return Plan(f"Note for Codex written: {new.summary[:80].rstrip('.')}.", (change,))

    def _trace_plan(self, root: ScopeRoot, new: NewTrace) -> Plan:
        """Return the plan that adds the trace `new` to the present files of the directory `root`."""
        files, usage = RootedDirectory(root.directory), self._parts.usage.load()
        found = [entry for entry in files.walk().entries if entry.kind == "file" and is_phase_one(entry.rel)]
        before = {entry.rel: files.read(entry.rel) for entry in found}
        protected = {entry.rel for entry in found if is_write_protected(entry.mode)}
        pinned = {
            entry.rel
            for entry in found
            if usage.get(self._parts.home.usage_key(root, entry.rel) or "", MemoryUsage()).pinned
        }
        rows = self._extraction.state.rows().values()
        summaries = {row.thread_id: row.summary for row in rows if row.summary}
        layout = laid_out(before, [new], summaries, frozenset(protected | pinned))
        # A write-protected index may be out of date: it is derived from the traces.
        kept = {INDEX} & protected & layout.files.keys()
        changes = [
            FileChange(root, rel, before.get(rel), after)
            for rel, after in layout.files.items()
            if rel not in kept
        ]
        # Write the trace before the index that names it, and delete last.
        changes.sort(key=lambda each: (each.after is None, each.rel == INDEX, each.rel))
        gone = f" {len(layout.pruned)} older traces pruned." if layout.pruned else ""
        summary = f"Trace written: {new.summary[:80].rstrip('.')}.{gone}"
        return Plan(
            with_write_protected(summary, [str(memory_path(root.scope, rel)) for rel in kept]), changes
        )

    def commit(self, plan: Plan, record: RunRecord) -> None:
        """Save the row that prevents another extraction of the thread until the conversation continues.

        Raises `LeaseLost` if another extraction saved a row meanwhile.
        """
        thread, now, summary = self._thread, self._parts.clock(), str(plan.record.get("summary", ""))
        bucket, read_at = bucket_of(thread.cwd), thread.updated_at or 0
        row = ThreadRow(thread.id, bucket, thread.cwd, summary, read_at, now, record.id)
        if not self._extraction.state.put(row, after=None if self._known is None else self._known.run_id):
            raise LeaseLost(
                "Another extraction of this session finished first, while this process was delayed.",
                next_step="You do not need to do anything.",
            )

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Record a failure, so that the next extraction puts the thread after the others."""
        if end.outcome == "failed":
            with contextlib.suppress(UserError):
                self._extraction.state.failed(self._thread.id, self._thread.updated_at or 0)


class DirectoryRun(ExtractJob[Staging]):
    """The job that makes the handbook of one directory from its traces (texts about conversations).

    This is stage two of extraction; stage one makes the traces.
    """

    def __init__(self, extraction: HomeExtraction, directory: DirectoryRow, engine: StageTwoEngine) -> None:
        self._directory = directory
        self._engine = engine
        self._summary = ""
        bucket, cwd = directory.bucket, directory.cwd
        super().__init__(extraction, engine, ExtractProgress("directory", bucket, cwd, cwd))
        self.lease_name = directory_lease_name(self._parts.home_id, bucket)
        self.lease_purpose = f"consolidation of {cwd}"
        self.details = {"stage": 2, "bucket": bucket}

    async def go(self) -> PartEnd:
        """Consolidate the directory under its lease; return how that ended.

        The outcome is `skipped` if the agent or another process consolidates the directory, or if its traces
        were read already.
        """
        if self._held_by_agent():
            text = "Codex itself holds the lock of this directory, so Reverie does not run."
            return self.left_out("lease-held", text)
        end = await super().go()
        return self.left_out("changed") if end.reason == READ_ALREADY else end

    def is_due(self) -> bool:
        """Return False if another process has just consolidated the directory."""
        row = self._directory = self._extraction.state.directories().get(self._part.id, self._directory)
        return row.waiting

    def left_out(self, reason: SkipReason, text: str = "") -> PartEnd:
        """Report that the directory is left to another process, if `text` names it; return that."""
        cwd = self._directory.cwd
        if text:
            self._extraction.note("lease-held", f"{cwd}: {text}", {"projectPath": cwd})
        summary = "Another process is consolidating this directory, or has just finished."
        return self._end(RunResult("", "skipped", summary, reason))

    async def think(self, run: RunContext) -> Staging | Plan:
        """Consolidate the texts about a directory's conversations in a copy; return the copy.

        Returns a plan without changes if nothing is to be done.
        """
        parts, cwd, state = self._parts, self._directory.cwd, self._extraction.state
        root = self._extraction.root(cwd)
        staging = Staging(parts.home, context_of(cwd), root, parts.usage.load(), cwd)
        traces = sum(trace.rel != INDEX for trace in staging.traces)
        if not traces:
            return Plan("No traces remain to consolidate.", outcome="unchanged")
        if staging.previous and staging.fingerprint() == state.fingerprint(self._directory.bucket):
            # Another process wrote a trace before its row, and the last consolidation read it already.
            return Plan("", outcome="completed", reason=READ_ALREADY)
        text = f"Consolidation of {cwd} started, from {some(traces, 'trace')}."
        self._extraction.note("consolidation-started", text, {"projectPath": cwd, "traces": traces})
        self.tell("thinking")
        self._summary = await self._engine.consolidate(
            staging, staging.guard, run.limits, partial(self.tell, "thinking")
        )
        run.limits.check()
        self.tell("writing")
        return staging

    def accept(self, thought: Staging, run: RunContext) -> Plan:
        """Return the plan that writes the changes of the staging copy.

        Raises `Conflict` if a trace has changed on disk meanwhile.
        """
        self.prepare(thought.root)
        thought.require_current()
        left = [str(memory_path(thought.root.scope, rel)) for rel in thought.write_protected]
        summary = with_write_protected(self._summary, left)
        record = {"fingerprint": thought.fingerprint()}
        return Plan(summary, thought.changes(), emptied=thought.emptied(), record=record)

    def commit(self, plan: Plan, record: RunRecord) -> None:
        """Record the end of the consolidation, so that the directory no longer waits for one."""
        self._extraction.state.consolidated(
            self._directory,
            at=self._parts.clock(),
            outcome=plan.outcome or "completed",
            done=True,
            fingerprint=str(plan.record.get("fingerprint", "")),
        )

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Record the end of a run that did not succeed; its directory still waits for a consolidation."""
        if end.outcome not in SUCCEEDED:
            with contextlib.suppress(UserError):
                at = self._parts.clock()
                self._extraction.state.consolidated(self._directory, at=at, outcome=end.outcome, done=False)

    def _held_by_agent(self) -> bool:
        """Return True if Codex itself is consolidating the directory."""
        jobs = self._parts.home.jobs
        if jobs is not None:
            with contextlib.suppress(UserError):
                lines = jobs.agent_status(context_of(self._directory.cwd))
                return any(line.scope is Scope.PROJECT and line.state == "running" for line in lines)
        return False


def _with_head(thread: Thread) -> Thread:
    """Return the thread with facts that the database lacks, from the beginning of its rollout file."""
    head = RolloutHead()
    if thread.path is not None:
        with contextlib.suppress(FileNotFoundError, Unavailable):
            head = rollout_head(thread.path)
    return replace(
        thread,
        cwd=thread.cwd or head.cwd,
        source=thread.source or head.source,
        subagent=thread.subagent or "subagent" in head.source,
        title=thread.title or " ".join(head.first_prompt.split())[:200],
        memory_mode=thread.memory_mode or head.memory_mode,
        git_branch=thread.git_branch or head.git_branch,
    )
