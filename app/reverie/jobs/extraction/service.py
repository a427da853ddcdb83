"""The extraction of one Codex home: stage one over selected rollouts, then stage two over their directories.

In current homes each result becomes a note to Codex instead (`CodexHome.extracts_to_notes`), and there is no
stage two, because Codex adds the notes to its memory itself.

Order: recovery of an interrupted run; the selection; the rollouts, several at a time (if one fails, the
others continue); the directories with new traces, and those whose previous consolidation did not finish.
Nothing else in the home is written, in particular not its databases.

Threading: blocking; any thread but the GUI's. `progress` is called on the thread of the run. Failure: always
reported in the one result; only bugs are raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from reverie.agents.base import Extraction
from reverie.agents.capabilities import Thread
from reverie.agents.codex.locations import bucket_of, normalised_cwd
from reverie.agents.codex.transcript import RolloutHead, rollout_head
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import Busy, StoreError, Unavailable, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S, is_write_protected
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.stage_one import Extracted, RolloutSource, StageOneEngine, normalised, redacted
from reverie.jobs.extraction.stage_two import StageTwoEngine, Staging, is_phase_one
from reverie.jobs.extraction.state import (
    INDEX,
    SKIP_WORDS,
    DirectoryRow,
    ExtractionReporter,
    ExtractProgress,
    ExtractResult,
    ExtractState,
    NewTrace,
    PartEnd,
    SelectionLimits,
    SkippedThread,
    Stage,
    Tell,
    ThreadRow,
    ThreadSelection,
    TraceHeader,
    laid_out,
    select,
)
from reverie.jobs.model_work import costs_of
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes, write_locks
from reverie.runs.record import SUCCEEDED, Outcome, RunKind, RunRecord
from reverie.runs.run import Costs, Job, Plan, Run, RunContext, RunDependencies, RunEnd, Thought, recover
from reverie.runs.stops import RunLimits, stop_of
from reverie.runs.transaction import LeaseLost
from reverie.text.summaries import some, with_write_protected
from reverie.values import Struct, columns, field, replace


class ExtractDependencies(Struct, frozen=True):
    """Services and state for the extraction of one home."""

    run: RunDependencies
    state: ExtractState

    @property
    def extraction(self) -> Extraction:
        """The interface of the home for extraction.

        Raises `Unavailable` if the agent has no threads (conversations).
        """
        extraction = self.run.home.extraction
        if extraction is None:
            raise Unavailable(
                "There is nothing to extract in this home.",
                cause="Only Codex sessions can be turned into memories with this command.",
                next_step="Select a Codex home.",
                reason="not-codex",
            )
        return extraction


def context_of(cwd: str, bucket: str) -> ScopeContext:
    """Return the context of the memory of the directory `cwd`, stored under the folder name `bucket`.

    The layout is that of the first generation of Codex homes; other layouts that exist are ignored.
    """
    return ScopeContext(None, cwd, None, store=f"project/{bucket}")


def sweep(parts: ExtractDependencies, root: ScopeRoot) -> None:
    """Remove hidden temporary files that killed processes left in `root`; errors are ignored."""
    home, lock_dir = parts.run.home, parts.run.guard.lock_dir
    with contextlib.suppress(UserError), write_locks(home, (root,), lock_dir=lock_dir):
        RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)


LEASE_S = 600.0
KIND: RunKind = "extract"
READ_ALREADY = "read-already"
"""The reason of a skipped directory: the last consolidation has read the same traces."""


def rollout_lease_name(home_id: str, thread_id: str) -> str:
    """Return the name of the lease under which one process extracts from a rollout (conversation file)."""
    return f"extract:{home_id}:{thread_id}"


def directory_lease_name(home_id: str, bucket: str) -> str:
    """Return the name of the lease under which one process consolidates a directory's traces."""
    return f"consolidate:{home_id}:{bucket}"


class Around(Struct, frozen=True):
    """The parameters that all runs of one extraction share."""

    parts: ExtractDependencies
    reporter: ExtractionReporter
    limits_for: Callable[[Lease], RunLimits]
    """A function that returns the limits of a run that holds the given lease."""
    time_limit_s: float
    """The time limit for each rollout and each directory, in seconds."""
    trigger: str
    to_notes: bool = False
    """True if each result becomes a note to the agent.

    The directories then have no files of their own.
    """

    def root(self, cwd: str, bucket: str) -> ScopeRoot:
        """Return the root of a directory's memory.

        Raises `StoreError` if it is read-only or reached through a link.
        """
        root = self.parts.run.home.scope_root(context_of(cwd, bucket), Scope.PROJECT)
        _refuse_links(f"The memory of {cwd}", root, root.directory, *root.directory.parents[:2])
        return root

    def notes_root(self) -> ScopeRoot:
        """Return the root for notes to the agent.

        Raises `StoreError` if it is read-only or reached through a link.
        """
        home = self.parts.run.home
        root = home.scope_root(home.context(), Scope.GLOBAL)
        _refuse_links("The memory of Codex", root, root.directory)
        return root


class ExtractJob(Job[Thought]):
    """Base class of both stages as jobs (`runs.run`); `part` is the rollout or directory to work on.

    Each job holds a lease of its own (600 s, renewed while it works, taken over if its owner died), so that
    only one process does the job. The home's lease is held only while writing; the plan is made under it,
    from the files at that moment. The row in Reverie's own state must be saved too: if that fails, the files
    are restored.

    Threading: one event loop; blocking on disk. Failure: errors that a person can fix are never raised; a bug
    is recorded and raised.
    """

    kind = KIND
    before = "before an extraction"

    def __init__(
        self,
        around: Around,
        engine: StageOneEngine | StageTwoEngine,
        part: PartEnd,
        tell: Callable[[Stage, str], None],
    ) -> None:
        self._around = around
        self._tell = tell
        self._parts = around.parts
        self._part = part
        self._account = engine.account
        self.workspace_id = None
        self.project_path = part.project_path
        self.trigger = around.trigger
        self.engine = engine.name
        self.purpose = "extraction"
        self.time_limit_s = around.time_limit_s

    @property
    def source(self) -> str:
        """The name of the engine, which the history records as the source of changes."""
        return self.engine

    def waits(self, held: Busy) -> None:
        """Report that the run is waiting for the run that holds the lease."""
        self._tell("waiting", str(held))

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

    async def carried_out(self, limits: RunLimits) -> PartEnd:
        """Carry out the run within `limits`; return how it ended."""
        result = await Run(self._parts.run, self, limits=limits).go()
        return replace(self._part, **msgspec.structs.asdict(result))

    def failed(self, error: UserError) -> PartEnd:
        """Return the end of a part that could not start because of `error`."""
        stop = stop_of(error, self.time_limit_s)
        return replace(
            self._part,
            outcome=stop.outcome,
            summary=f"{stop.why}.",
            reason=stop.reason,
            next_step=stop.next_step,
        )


class RolloutRun(ExtractJob[Extracted]):
    """Stage one for one rollout, the file of a conversation, as a job.

    It reads the rollout and writes its trace, a text about the conversation.
    """

    attempts = 4

    def __init__(
        self,
        around: Around,
        thread: Thread,
        engine: StageOneEngine,
        tell: Callable[[Stage, str], None],
    ) -> None:
        self._thread = thread
        self._engine = engine
        self._known: ThreadRow | None = None
        self._cwd = normalised_cwd(thread.cwd)
        self._bucket = bucket_of(self._cwd)
        part = PartEnd(
            "",
            "failed",
            "",
            kind="rollout",
            id=thread.id,
            title=thread.title,
            project_path=self._cwd,
            bucket=self._bucket,
        )
        super().__init__(around, engine, part, tell)
        self.details = {"stage": 1, "threadId": thread.id, "rollout": str(thread.path)}

    async def go(self) -> PartEnd | SkippedThread:
        """Extract from the rollout, the file of a conversation, under its lease; return how that ended.

        Returns `SkippedThread` if another process is extracting from the rollout or has done so.
        """
        thread = self._thread
        name = rollout_lease_name(self._parts.run.home_id, thread.id)
        try:
            lease = self._parts.run.leases.acquire(name, purpose=f"extraction of {thread.id}", ttl_s=LEASE_S)
        except LeaseHeld:
            return SkippedThread(thread, "lease-held")
        except UserError as error:
            return self.failed(error)
        with lease:
            try:
                known = self._known = self._parts.state.rows().get(thread.id)
            except UserError as error:
                return self.failed(error)
            again = known is not None and asked_again(self._parts, known, self._around.trigger)
            if known is not None and not again and known.source_updated_at >= (thread.updated_at or 0):
                return SkippedThread(thread, "changed")
            return await self.carried_out(self._around.limits_for(lease))

    async def think(self, run: RunContext) -> Extracted | Plan:
        """Read the rollout (conversation file); return the engine's output, or a plan without changes.

        The latter is returned if there is nothing to remember.
        """
        thread = self._thread
        if thread.path is None:
            raise StoreError("The session's transcript (rollout) no longer exists.", reason="no-rollout")
        source = RolloutSource(thread.id, thread.path, thread.title, self._cwd, thread.git_branch)
        self._tell("reading", "")
        try:
            found = await self._engine.extract(source, run.limits, lambda text: self._tell("thinking", text))
        except FileNotFoundError as error:
            raise StoreError("The transcript was deleted during the run.", reason="no-rollout") from error
        self._around.reporter.read(thread.id, found.reading, truncated=found.truncated)
        if found.nothing:
            return Plan(_nothing_in(found), outcome="unchanged")
        self._tell("writing", "")
        return replace(found, output=normalised(found.output))

    def accept(self, thought: Extracted, run: RunContext) -> Plan:
        """Return the plan that writes the trace (or the note) on top of the present files."""
        thread, output = self._thread, thought.output
        header = TraceHeader(thread.id, self._cwd, str(thread.path), thread.updated_at)
        trace = NewTrace(header, redacted(thread.title), output.trace, output.summary)
        to_notes = self._around.to_notes
        root = self._around.notes_root() if to_notes else self._around.root(self._cwd, self._bucket)
        self._parts.run.guard.require(root)
        sweep(self._parts, root)
        plan = (
            planned_note(self._parts, root, trace) if to_notes else planned_traces(self._parts, root, [trace])
        )
        return replace(plan, outcome="completed", record={"summary": output.summary})

    def commit(self, plan: Plan, record: RunRecord) -> None:
        """Save the row that prevents another extraction of the thread until the conversation continues.

        Raises `LeaseLost` if another extraction saved a row meanwhile.
        """
        thread, now, summary = self._thread, self._parts.run.clock(), str(plan.record.get("summary", ""))
        row = ThreadRow(thread.id, self._bucket, self._cwd, summary, thread.updated_at or 0, now, record.id)
        if not self._parts.state.put(row, after=None if self._known is None else self._known.run_id):
            raise LeaseLost(
                "Another extraction of this session finished first, while this process was delayed.",
                next_step="You do not need to do anything.",
            )

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Record a failure, so that the next extraction puts the thread after the others."""
        if end.outcome == "failed":
            with contextlib.suppress(UserError):
                self._parts.state.failed(self._thread.id, self._thread.updated_at or 0)


class DirectoryRun(ExtractJob[Staging]):
    """The job that makes the handbook of one directory from its traces (texts about conversations).

    This is stage two of extraction; stage one makes the traces.
    """

    def __init__(
        self,
        around: Around,
        directory: DirectoryRow,
        engine: StageTwoEngine,
        tell: Callable[[Stage, str], None],
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._summary = ""
        bucket, cwd = directory.bucket, directory.cwd
        part = PartEnd(
            "", "failed", "", kind="directory", id=bucket, title=cwd, project_path=cwd, bucket=bucket
        )
        super().__init__(around, engine, part, tell)
        self.details = {"stage": 2, "bucket": directory.bucket}

    async def go(self) -> PartEnd | None:
        """Consolidate the directory under its lease; return how that ended, None if nothing is to report.

        Nothing is to report if another process consolidates the directory, or if its traces were read
        already.
        """
        name = directory_lease_name(self._parts.run.home_id, self._directory.bucket)
        if self._held_by_agent():
            text = "Codex itself holds the lock of this directory, so Reverie does not run."
            self._around.reporter.held_elsewhere(self._directory.cwd, text)
            return None
        try:
            lease = self._parts.run.leases.acquire(
                name, purpose=f"consolidation of {self._directory.cwd}", ttl_s=LEASE_S
            )
        except LeaseHeld as held:
            self._around.reporter.held_elsewhere(self._directory.cwd, str(held))
            return None
        except UserError as error:
            return self.failed(error)
        with lease:
            # Read again under the lease: another process may have just consolidated the directory.
            now = self._parts.state.directories().get(self._directory.bucket, self._directory)
            if not now.waiting:
                return None
            self._directory = now
            end = await self.carried_out(self._around.limits_for(lease))
            return None if end.reason == READ_ALREADY else end

    async def think(self, run: RunContext) -> Staging | Plan:
        """Consolidate the texts about a directory's conversations in a copy; return the copy.

        Returns a plan without changes if nothing is to be done.
        """
        directory, parts = self._directory, self._parts
        root = self._around.root(directory.cwd, directory.bucket)
        context = context_of(directory.cwd, directory.bucket)
        staging = Staging(parts.run.home, context, root, parts.run.usage.load(), directory.cwd)
        if not any(trace.rel != INDEX for trace in staging.traces):
            return Plan("No traces remain to consolidate.", outcome="unchanged")
        if staging.previous and staging.fingerprint() == parts.state.fingerprint(directory.bucket):
            # Another process wrote a trace before its row, and the last consolidation read it already.
            return Plan("", outcome="completed", reason=READ_ALREADY)
        self._around.reporter.consolidating(
            directory.cwd, sum(trace.rel != INDEX for trace in staging.traces)
        )
        self._tell("thinking", "")
        self._summary = await self._engine.consolidate(
            staging, staging.guard, run.limits, lambda text: self._tell("thinking", text)
        )
        run.limits.check()
        self._tell("writing", "")
        return staging

    def accept(self, thought: Staging, run: RunContext) -> Plan:
        """Return the plan that writes the changes of the staging copy.

        Raises `Conflict` if a trace has changed on disk meanwhile.
        """
        staging = thought
        self._parts.run.guard.require(staging.root)
        sweep(self._parts, staging.root)
        staging.require_current()
        left = [str(memory_path(staging.root.scope, rel)) for rel in staging.write_protected]
        summary = with_write_protected(self._summary, left)
        record = {"fingerprint": staging.fingerprint()}
        return Plan(summary, staging.changes(), emptied=staging.emptied(), record=record)

    def commit(self, plan: Plan, _record: RunRecord) -> None:
        """Record the end of the consolidation, so that the directory no longer waits for one."""
        more = {"fingerprint": str(plan.record["fingerprint"])} if plan.record else {}
        outcome: Outcome = plan.outcome or "completed"
        now = self._parts.run.clock()
        self._parts.state.consolidated(self._directory, at=now, outcome=outcome, done=True, **more)

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Record the end of a run that did not succeed; its directory still waits for a consolidation."""
        if end.outcome not in SUCCEEDED:
            with contextlib.suppress(UserError):
                self._parts.state.consolidated(
                    self._directory, at=self._parts.run.clock(), outcome=end.outcome, done=False
                )

    def _held_by_agent(self) -> bool:
        """Return True if Codex itself is consolidating the directory."""
        context = context_of(self._directory.cwd, self._directory.bucket)
        with contextlib.suppress(UserError):
            jobs = self._parts.run.home.jobs
            return any(
                line.scope is Scope.PROJECT and line.state == "running"
                for line in (() if jobs is None else jobs.agent_status(context))
            )
        return False


def asked_again(parts: ExtractDependencies, row: ThreadRow, trigger: str) -> bool:
    """Return True if an extraction whose result a person reverted is to be repeated because of `trigger`.

    `row`: the stored row of the thread, which names the run of its extraction. A launch never repeats it.
    """
    with contextlib.suppress(UserError):  # the run has no record, or it was pruned
        return trigger != "launch" and parts.run.runs.load(row.run_id).reverted
    return False


def planned_traces(parts: ExtractDependencies, root: ScopeRoot, new: list[NewTrace]) -> Plan:
    """Return the plan that adds the traces `new` to the present files of the directory `root`."""
    files = RootedDirectory(root.directory)
    found = [entry for entry in files.walk().entries if entry.kind == "file" and is_phase_one(entry.rel)]
    before = {entry.rel: files.read(entry.rel) for entry in found}
    usage = parts.run.usage.load()
    pinned = frozenset(
        entry.rel
        for entry in found
        if is_write_protected(entry.mode)
        or usage.get(parts.run.home.usage_key(root, entry.rel) or "", MemoryUsage()).pinned
    )
    summaries = {row.thread_id: row.summary for row in parts.state.rows().values() if row.summary}
    layout = laid_out(before, new, summaries, pinned)
    # A write-protected index may be out of date: it is derived from the traces.
    kept = [entry.rel for entry in found if entry.rel == INDEX and is_write_protected(entry.mode)]
    left = [str(memory_path(root.scope, rel)) for rel in kept if rel in layout.files]
    changes = [
        FileChange(root, rel, before.get(rel), after)
        for rel, after in layout.files.items()
        if rel not in kept
    ]
    # Write each trace before the index that names it, and delete last.
    changes.sort(key=lambda each: (each.after is None, each.rel == INDEX, each.rel))
    shown = ", ".join(trace.summary[:80].rstrip(".") for trace in new)
    gone = f" {len(layout.pruned)} older traces pruned." if layout.pruned else ""
    return Plan(with_write_protected(f"Trace written: {shown}.{gone}", left), changes)


def planned_note(parts: ExtractDependencies, root: ScopeRoot, new: NewTrace) -> Plan:
    """Return the plan that writes the result of one rollout as a note to the agent.

    The agent adds the note to its memory itself.
    """
    header, title = new.header, " ".join(new.title.split())
    rel = parts.extraction.note_path(title, parts.run.clock(), header.thread_id)
    about = f"About the session {header.thread_id} in {header.cwd}"
    text = f"{about}{f' ({title})' if title else ''}:\n\n{new.trace.strip()}\n"
    change = FileChange(root, rel, None, text.encode("utf-8", "surrogateescape"))
    return Plan(f"Note for Codex written: {new.summary[:80].rstrip('.')}.", (change,))


def _refuse_links(what: str, root: ScopeRoot, *directories: Path) -> None:
    """Raise `StoreError` if `root` is read-only or one of `directories` is a link.

    The agent does not clear memories that it reaches through a link, so Reverie does not change them either.
    `what`: the beginning of the error's title, such as the name of the memory.
    """
    if root.read_only:
        raise StoreError(f"{what} was not changed.", cause=root.read_only, reason="read-only")
    if any(each.is_symlink() for each in directories):
        raise StoreError(
            f"{what} was not changed.",
            cause=f"{root.directory} is reached through a symbolic link.",
            next_step="Replace the link with a directory.",
            reason="link",
        )


def _nothing_in(found: Extracted) -> str:
    """Return a sentence that says why a conversation contained nothing to remember."""
    if found.reading.broken or found.reading.half_written:
        return "No part of the transcript could be read. Reverie reads it again when it changes."
    return "The transcript contains nothing to remember. Reverie reads it again when the session continues."


_EMPTY = RolloutHead()
_ROUNDS = 3


class Engines(Struct, frozen=True):
    """The engine that was chosen, and functions that make an instance for each rollout and directory."""

    name: str
    stage_one: Callable[[], StageOneEngine]
    stage_two: Callable[[], StageTwoEngine]


class ExtractRequest(Struct, frozen=True):
    """The parameters of an extraction, in which memories are made from conversations."""

    project_path: str | None = None
    """The directory to whose threads the extraction is restricted; None for all."""
    limits: SelectionLimits = field(default_factory=SelectionLimits)
    concurrency: int = 8
    """The largest number of rollouts or directories that are worked on at the same time."""
    time_limit_s: float = 300.0
    """The time limit for each rollout and each directory, in seconds."""
    trigger: str = "manual"
    """`manual` or `launch`."""


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
    engine: str = ""
    """The engine that an extraction would use; `why` is the reason for it."""
    why: str = ""
    to_notes: bool = False
    """Whether each result becomes a note to the agent."""


class ExtractService:
    """The service that runs the extraction of one home."""

    def __init__(self, parts: ExtractDependencies) -> None:
        self._parts = parts
        self._reporter = ExtractionReporter(parts.run.activity, str(parts.run.home.root))

    def plan(self, request: ExtractRequest) -> ThreadSelection:
        """Return the threads (conversations) to extract from, without changing anything.

        The beginning of a rollout, the file of a thread, is read if the agent's database lacks facts about
        the thread. Raises `Unavailable`.
        """
        extraction = self._parts.extraction
        rows, failures = self._parts.state.rows(), self._parts.state.failures()

        by_agent = extraction.extracted_at()
        now_ms = self._parts.run.clock()
        left = extraction.left_to_agent(now_ms) if extraction.extracts_to_notes else frozenset()

        def stored(thread_id: str) -> int | None:
            row = rows.get(thread_id)
            if row is None or asked_again(self._parts, row, request.trigger):
                return by_agent.get(thread_id)
            return max(row.source_updated_at, by_agent.get(thread_id, 0))

        wanted = None
        if request.project_path is not None:
            wanted = {request.project_path, normalised_cwd(request.project_path)}
        threads = [each for each in extraction.threads() if not wanted or not each.cwd or each.cwd in wanted]
        failed = {each.id for each in threads if failures.get(each.id) == (each.updated_at or 0)}
        lost: list[SkippedThread] = []
        heads: set[str] = set()
        while True:
            found = select(threads, stored, request.limits, now_ms, failed, left)
            unread = [each for each in found.chosen if each.id not in heads and _says_too_little(each)]
            if not unread:
                return ThreadSelection(found.chosen, (*found.skipped, *lost))
            read = {each.id: _with_head(each) for each in unread}
            heads |= read.keys()
            lost += [SkippedThread(each, "no-directory") for each in read.values() if not each.cwd]
            threads = [read.get(each.id, each) for each in threads]
            threads = [
                each
                for each in threads
                if each.id not in heads or (each.cwd and (not wanted or each.cwd in wanted))
            ]

    @property
    def _to_notes(self) -> bool:
        extraction = self._parts.run.home.extraction
        return extraction is not None and extraction.extracts_to_notes

    def status(self, request: ExtractRequest) -> ExtractView:
        """Return the state of the extraction for the footer, without the name of the engine."""
        directories, rows = self._parts.state.directories(), tuple(self._parts.state.rows().values())
        if request.project_path is not None:
            bucket = bucket_of(normalised_cwd(request.project_path))
            directories = {bucket: directories[bucket]} if bucket in directories else {}
            rows = tuple(row for row in rows if row.bucket == bucket)
        chosen = self.plan(request)
        waiting = len(chosen.chosen) + chosen.counts().get("over-the-limit", 0)
        last = max(directories.values(), key=lambda each: each.consolidated_at or 0, default=None)
        times = [row.generated_at for row in rows]
        times += [each.consolidated_at for each in directories.values() if each.consolidated_at is not None]
        holders = (
            self._parts.run.leases.holder(directory_lease_name(self._parts.run.home_id, bucket))
            for bucket in directories
        )
        held = next((holder for holder in holders if holder is not None), None)
        return ExtractView(
            max(times, default=None),
            "" if last is None else last.outcome,
            waiting,
            "" if held is None else f"Process {held.owner.pid}: {held.purpose}",
        )

    def run(
        self,
        request: ExtractRequest,
        engines: Engines,
        *,
        cancel: threading.Event | None = None,
        progress: Tell = lambda _progress: None,
    ) -> ExtractResult:
        """Run the extraction on an event loop of its own; return its result.

        For the arguments see `extract`. `cancel` None: it cannot be cancelled.
        """
        return asyncio.run(
            self.extract(request, engines, cancel=cancel or threading.Event(), progress=progress)
        )

    async def extract(
        self, request: ExtractRequest, engines: Engines, *, cancel: threading.Event, progress: Tell
    ) -> ExtractResult:
        """Extract from the selected rollouts (conversation files), then consolidate their directories.

        Returns all results. `progress` gets each step; setting `cancel` ends the extraction.
        """
        try:
            context = self._parts.run.home.context(project_path=request.project_path)
            self._parts.run.guard.require_context(context)
        except ReadOnlyStore as error:
            self._reporter.stood_down(error)
            return ExtractResult("", "failed", str(error), error.reason, engine=engines.name)
        try:
            refuse_while_agent_writes(self._parts.run.home, lock_dir=self._parts.run.guard.lock_dir)
            recover(self._parts.run, "recovery before an extraction")
            selection = self.plan(request)
            waiting = self._waiting(request)
        except UserError as error:
            title, reason, next_step = error.title, error.reason, error.next_step
            return ExtractResult("", "failed", title, reason, next_step=next_step, engine=engines.name)
        self._reporter.candidates(selection, engines.name)
        around = Around(
            self._parts,
            self._reporter,
            lambda lease: RunLimits(lease, cancel, request.time_limit_s),
            request.time_limit_s,
            request.trigger,
            self._to_notes,
        )
        work = _ExtractionWork(around, engines, request.concurrency, cancel, progress)
        rollouts, late = await work.rollouts(selection.chosen)
        touched = {end.bucket for end in rollouts if end.succeeded} | waiting.keys()
        directories = () if self._to_notes else await self._directories(work, touched, cancel)
        return _result(
            engines.name, selection, rollouts, directories, (*selection.skipped, *late), cancel.is_set()
        )

    async def _directories(
        self, work: _ExtractionWork, touched: Collection[str], cancel: threading.Event
    ) -> tuple[PartEnd, ...]:
        """Consolidate the directories in `touched` that wait for it; return how each part ended.

        There are up to three rounds: another process may add traces meanwhile and leave their consolidation
        to this process, because this process holds the directory's lock.
        """
        ends: dict[str, PartEnd] = {}
        for _round in range(_ROUNDS):
            if cancel.is_set():
                break
            found = self._parts.state.directories()
            due = [found[bucket] for bucket in sorted(touched) if bucket in found and found[bucket].waiting]
            if not due:
                break
            self._reporter.directories(tuple(each.cwd for each in due))
            done = await work.directories(due)
            ends.update({end.id: end for end in done})
            touched = {end.id for end in done if end.succeeded}
        return tuple(ends.values())

    def _waiting(self, request: ExtractRequest) -> dict[str, DirectoryRow]:
        """Return the directories of the request whose last consolidation did not finish, by bucket.

        The bucket is the name of the folder in which a directory's memory is stored.
        """
        only = None if request.project_path is None else bucket_of(normalised_cwd(request.project_path))
        return {
            bucket: row
            for bucket, row in self._parts.state.directories().items()
            if row.waiting and only in (None, bucket)
        }


_End = TypeVar("_End")


class _ExtractionWork:
    """The work of one extraction, of which at most `concurrency` parts run at a time."""

    def __init__(
        self, around: Around, engines: Engines, concurrency: int, cancel: threading.Event, progress: Tell
    ) -> None:
        self._around = around
        self._engines = engines
        self._concurrency = max(1, concurrency)
        self._cancel = cancel
        self._progress = progress

    async def rollouts(
        self, threads: Sequence[Thread]
    ) -> tuple[tuple[PartEnd, ...], tuple[SkippedThread, ...]]:
        """Extract the threads; return how each extraction ended, and the threads that were skipped."""
        teller = _Teller(self._progress, len(threads))

        async def one(thread: Thread) -> PartEnd | SkippedThread:
            part = ExtractProgress("rollout", thread.id, thread.title, thread.cwd, "waiting")
            if self._cancel.is_set():
                end: PartEnd | SkippedThread = _cancelled(part)
            else:
                run = RolloutRun(self._around, thread, self._engines.stage_one(), teller.of(part))
                end = await run.go()
            if isinstance(end, SkippedThread):
                self._around.reporter.skipped(end)
                teller.ended(part, "skipped", f"Left out: {SKIP_WORDS[end.reason]}.")
            else:
                self._around.reporter.ended(end)
                teller.ended(part, end.stage, end.summary)
            return end

        for thread in threads:
            part = ExtractProgress("rollout", thread.id, thread.title, thread.cwd, "waiting")
            teller.tell(part)
        ends = await self._all(one(thread) for thread in threads)
        return (
            tuple(end for end in ends if isinstance(end, PartEnd)),
            tuple(end for end in ends if isinstance(end, SkippedThread)),
        )

    async def directories(self, rows: Sequence[DirectoryRow]) -> tuple[PartEnd, ...]:
        """Consolidate the directories; return the end of each consolidation.

        Directories that another process consolidates, or has just consolidated, are left out.
        """
        teller = _Teller(self._progress, len(rows))

        async def one(row: DirectoryRow) -> PartEnd | None:
            part = ExtractProgress("directory", row.bucket, row.cwd, row.cwd, "waiting")
            if self._cancel.is_set():
                return _cancelled(part)
            end = await DirectoryRun(self._around, row, self._engines.stage_two(), teller.of(part)).go()
            if end is None:
                teller.ended(
                    part, "skipped", "Another process is consolidating this directory, or has just finished."
                )
            else:
                self._around.reporter.ended(end)
                teller.ended(part, end.stage, end.summary)
            return end

        return tuple(end for end in await self._all(one(row) for row in rows) if end is not None)

    async def _all(self, jobs: Iterable[Awaitable[_End]]) -> list[_End]:
        """Await all jobs, a few at a time; return their results.

        A bug in a job is raised after all jobs have ended.
        """
        room = asyncio.Semaphore(self._concurrency)

        async def bounded(job: Awaitable[_End]) -> _End:
            async with room:
                return await job

        ends = await asyncio.gather(*(bounded(job) for job in jobs), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return [end for end in ends if not isinstance(end, BaseException)]


class _Teller:
    """The sender of progress; it adds the number of finished parts and the total."""

    def __init__(self, progress: Tell, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def tell(self, part: ExtractProgress) -> None:
        """Send the progress of a part."""
        self._progress(replace(part, done=self._done, total=self._total))

    def of(self, part: ExtractProgress) -> Callable[[Stage, str], None]:
        """Return a function that sends a stage and a text as the progress of `part`."""
        return lambda stage, text: self.tell(replace(part, stage=stage, text=text))

    def ended(self, part: ExtractProgress, stage: Stage, text: str) -> None:
        """Count a part (rollout or directory) as finished, and send `stage` as its last one, with `text`."""
        self._done += 1
        self.tell(replace(part, stage=stage, text=text))


def _cancelled(part: ExtractProgress) -> PartEnd:
    """Return the end of a part that was cancelled before it began."""
    where = columns(part, "kind id title project_path=project_path")
    return PartEnd("", "cancelled", "Cancelled before it started.", "cancelled", **where)


def _says_too_little(thread: Thread) -> bool:
    """Return True if the agent's database lacks facts about a thread that are at the start of its rollout."""
    return not thread.cwd or not thread.source or not thread.title


def _with_head(thread: Thread) -> Thread:
    """Return the thread with facts that the database lacks, from the beginning of its rollout file."""
    head = _EMPTY
    if thread.path is not None:
        try:
            head = rollout_head(thread.path)
        except (FileNotFoundError, Unavailable):
            head = _EMPTY
    return replace(
        thread,
        cwd=thread.cwd or head.cwd,
        source=thread.source or head.source,
        subagent=thread.subagent or "subagent" in head.source,
        title=thread.title or " ".join(head.first_prompt.split())[:200],
        memory_mode=thread.memory_mode or head.memory_mode,
        git_branch=thread.git_branch or head.git_branch,
    )


def _result(
    engine: str,
    selection: ThreadSelection,
    rollouts: tuple[PartEnd, ...],
    directories: tuple[PartEnd, ...],
    skipped: tuple[SkippedThread, ...],
    cancelled: bool,
) -> ExtractResult:
    """Return the result of the whole extraction with its summary."""
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
    if cancelled:
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
        skipped=skipped,
    )
