"""The two kinds of run of an extraction: one rollout becomes a trace, one directory's traces its handbook.

Each has a lease of its own (600 s, renewed while it works, taken over when its owner died), so that of two
processes one does each; each ends in exactly one outcome and gives its lease back whatever happens. A run
that has something to write is recorded and journaled like any other; one that failed before is noted.

Threading: one event loop. Failure: a run never raises for what a person can mend; a bug is noted and raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reverie.agents.capabilities import Thread
from reverie.agents.codex.locations import bucket_of, normalised_cwd
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import StoreError, UserError
from reverie.files.atomic import is_write_protected
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.artifacts import INDEX, NewTrace, TraceHeader, laid_out
from reverie.jobs.extraction.progress import ExtractionReporter, PartEnd, Stage
from reverie.jobs.extraction.stage_one import Extracted, RolloutSource, StageOneEngine, normalised, redacted
from reverie.jobs.extraction.stage_two import StageTwoEngine, Staging, is_phase_one
from reverie.jobs.extraction.state import DirectoryRow, SkippedThread, ThreadRow
from reverie.jobs.extraction.writing import ExtractDependencies, MemoryWriter, Planned, Written, context_of
from reverie.llm.client import Account, spent
from reverie.memory.paths import memory_path
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.journal import PlannedChange
from reverie.runs.limits import STOPS, Cancelled, RunLimits, stop_of
from reverie.runs.record import Outcome, RunKind, RunRecord
from reverie.runs.transaction import LeaseLost
from reverie.text.summaries import with_write_protected

LEASE_S = 600.0
KIND: RunKind = "extract"


def rollout_lease_name(home_id: str, thread_id: str) -> str:
    """The lease of one rollout: it is extracted by one process at a time."""
    return f"extract:{home_id}:{thread_id}"


def directory_lease_name(home_id: str, bucket: str) -> str:
    """Held while the traces of a directory are consolidated."""
    return f"consolidate:{home_id}:{bucket}"


@dataclass(frozen=True, slots=True)
class Around:
    """What every run of one extraction shares. `limits_for` makes the limits of a run that holds a lease."""

    parts: ExtractDependencies
    writer: MemoryWriter
    voice: ExtractionReporter
    limits_for: Callable[[Lease], RunLimits]
    time_limit_s: float
    trigger: str
    to_notes: bool = False
    """Each result becomes a note to the agent; no directory has files of its own."""

    def record(self, cwd: str, engine: str, details: Mapping[str, Any]) -> RunRecord:
        """A new run on one directory, begun now."""
        run = self.parts.run
        return run.new_record(
            KIND,
            run.clock(),
            workspace_id=None,
            project_path=cwd,
            trigger=self.trigger,
            engine=engine,
            details=details,
        )

    def root(self, cwd: str, bucket: str) -> ScopeRoot:
        """Where the memory of a directory lies. Raises `StoreError` where a link stands in its place."""
        root = self.parts.run.home.scope_root(context_of(cwd, bucket), Scope.PROJECT)
        _refuse_links(f"The memory of {cwd}", root, root.directory, *root.directory.parents[:2])
        return root

    def notes_root(self) -> ScopeRoot:
        """Where notes to the agent go. Raises `StoreError` where it has no memory that takes them."""
        home = self.parts.run.home
        root = home.scope_root(home.context(), Scope.GLOBAL)
        _refuse_links("The memory of Codex", root, root.directory)
        return root


class RolloutRun:
    """One rollout, from its lease to its trace."""

    def __init__(
        self,
        around: Around,
        thread: Thread,
        engine: StageOneEngine,
        tell: Callable[[Stage, str], None],
    ) -> None:
        self._around = around
        self._parts = around.parts
        self._thread = thread
        self._engine = engine
        self._tell = tell
        self._known: ThreadRow | None = None
        self._cwd = normalised_cwd(thread.cwd)
        self._bucket = bucket_of(self._cwd)
        details = {"stage": 1, "threadId": thread.id, "rollout": str(thread.path)}
        self._record = around.record(self._cwd, engine.name, details)

    async def go(self) -> PartEnd | SkippedThread:
        """The outcome; `Skipped` where somebody else has done it, or is at it."""
        thread = self._thread
        name = rollout_lease_name(self._parts.run.home_id, thread.id)
        try:
            lease = self._parts.run.leases.acquire(name, purpose=f"extraction of {thread.id}", ttl_s=LEASE_S)
        except LeaseHeld:
            return SkippedThread(thread, "lease-held")
        except UserError as error:
            return self._failed(error)
        with lease:
            try:
                known = self._known = self._parts.state.rows().get(thread.id)
                again = known is not None and asked_again(self._parts, known, self._around.trigger)
                if known is not None and not again and known.source_updated_at >= (thread.updated_at or 0):
                    return SkippedThread(thread, "changed")
                limits = self._around.limits_for(lease)
                found = await self._extracted(limits)
                if found.nothing:
                    self._keep("", self._record)
                    return self._end(replace(self._record, outcome="unchanged"), _nothing_in(found))
                written = await self._written(found, limits)
            except STOPS as error:
                return self._failed(error)
            except BaseException as error:
                self._failed(error)
                raise
        return self._end(replace(written.record, outcome="completed"), written.record.summary)

    async def _extracted(self, limits: RunLimits) -> Extracted:
        thread = self._thread
        if thread.path is None:
            raise StoreError("The rollout is gone.", reason="no-rollout")
        source = RolloutSource(thread.id, thread.path, thread.title, self._cwd, thread.git_branch)
        self._tell("reading", "")
        try:
            found = await self._engine.extract(
                source, limits.limits, lambda text: self._tell("thinking", text)
            )
        except FileNotFoundError as error:
            raise StoreError("The rollout went away while it was read.", reason="no-rollout") from error
        self._around.voice.read(thread.id, found.reading, truncated=found.truncated)
        return found if found.nothing else replace(found, output=normalised(found.output))

    async def _written(self, found: Extracted, limits: RunLimits) -> Written:
        self._tell("writing", "")
        thread, output = self._thread, found.output
        header = TraceHeader(thread.id, self._cwd, str(thread.path), thread.updated_at)
        trace = NewTrace(header, redacted(thread.title), output.trace, output.summary)
        if self._around.to_notes:
            root = self._around.notes_root()
            plan = partial(planned_note, self._parts, root, trace)
        else:
            root = self._around.root(self._cwd, self._bucket)
            plan = partial(planned_traces, self._parts, root, [trace])

        def confirm(record: RunRecord) -> None:
            self._keep(output.summary, record)

        return await self._around.writer.write(
            self._record,
            root,
            plan,
            check=limits.check,
            confirm=confirm,
            track=self._track,
        )

    def _keep(self, summary: str, record: RunRecord) -> None:
        """The row that keeps the thread from being extracted again before it goes on. Raises `LeaseLost`
        where another extraction left one."""
        thread, now = self._thread, self._parts.run.clock()
        row = ThreadRow(thread.id, self._bucket, self._cwd, summary, thread.updated_at or 0, now, record.id)
        if not self._parts.state.put(row, after=None if self._known is None else self._known.run_id):
            raise LeaseLost(
                "Another extraction of this session came first, while this process was held up.",
                next_step="Nothing is left to do.",
            )

    def _track(self, record: RunRecord) -> None:
        self._record = record

    def _failed(self, error: BaseException) -> PartEnd:
        record = _noted(self._parts, self._record, error, self._around.time_limit_s)
        if record.outcome == "failed" and not isinstance(error, LeaseLost):
            with contextlib.suppress(UserError):  # it only loses its place to others
                self._parts.state.failed(self._thread.id, self._thread.updated_at or 0)
        return self._end(record, record.summary, error)

    def _end(self, record: RunRecord, summary: str, error: BaseException | None = None) -> PartEnd:
        end = _ended(self._parts, record, self._engine.account(), summary, error)
        return replace(end, kind="rollout", id=self._thread.id, title=self._thread.title, bucket=self._bucket)


class DirectoryRun:
    """One directory, from its lease to its handbook."""

    def __init__(
        self,
        around: Around,
        directory: DirectoryRow,
        engine: StageTwoEngine,
        tell: Callable[[Stage, str], None],
    ) -> None:
        self._around = around
        self._parts = around.parts
        self._directory = directory
        self._engine = engine
        self._tell = tell
        details = {"stage": 2, "bucket": directory.bucket}
        self._record = around.record(directory.cwd, engine.name, details)

    async def go(self) -> PartEnd | None:
        """The outcome; None where somebody else consolidates it."""
        name = directory_lease_name(self._parts.run.home_id, self._directory.bucket)
        if self._held_by_agent():
            text = "Codex itself holds the lock of this directory; Reverie stands down."
            self._around.voice.held_elsewhere(self._directory.cwd, text)
            return None
        try:
            lease = self._parts.run.leases.acquire(
                name, purpose=f"consolidation of {self._directory.cwd}", ttl_s=LEASE_S
            )
        except LeaseHeld as held:
            self._around.voice.held_elsewhere(self._directory.cwd, str(held))
            return None
        except UserError as error:
            return self._failed(error)
        with lease:
            # Under the lease: another process may have done it a moment ago.
            now = self._parts.state.directories().get(self._directory.bucket, self._directory)
            if not now.waiting:
                return None
            self._directory = now
            try:
                return await self._consolidated(self._around.limits_for(lease))
            except STOPS as error:
                return self._failed(error)
            except BaseException as error:
                self._failed(error)
                raise

    async def _consolidated(self, limits: RunLimits) -> PartEnd | None:
        directory, parts = self._directory, self._parts
        root = self._around.root(directory.cwd, directory.bucket)
        context = context_of(directory.cwd, directory.bucket)
        staging = Staging(parts.run.home, context, root, parts.run.usage.load(), directory.cwd)
        if not any(trace.rel != INDEX for trace in staging.traces):
            parts.state.consolidated(directory, at=parts.run.clock(), outcome="unchanged", done=True)
            summary = "No traces are left to consolidate."
            return self._end(replace(self._record, outcome="unchanged"), summary)
        if staging.previous and staging.fingerprint() == parts.state.fingerprint(directory.bucket):
            # A trace of another process stood there before its row did: the last one has read it already.
            parts.state.consolidated(directory, at=parts.run.clock(), outcome="completed", done=True)
            return None
        self._around.voice.consolidating(directory.cwd, sum(trace.rel != INDEX for trace in staging.traces))
        self._tell("thinking", "")
        summary = await self._engine.consolidate(
            staging, staging.guard, limits.limits, lambda text: self._tell("thinking", text)
        )
        limits.check()
        self._tell("writing", "")
        changes = staging.changes()
        left = [str(memory_path(root.scope, rel)) for rel in staging.write_protected]
        summary = with_write_protected(summary, left)

        def confirm(_record: RunRecord) -> None:
            parts.state.consolidated(
                directory,
                at=parts.run.clock(),
                outcome="completed",
                done=True,
                fingerprint=staging.fingerprint(),
            )

        def plan() -> Planned:
            staging.require_current()
            return Planned(changes, summary, staging.emptied())

        written = await self._around.writer.write(
            self._record,
            root,
            plan,
            check=limits.check,
            confirm=confirm,
            track=self._track,
            attempts=1,
        )
        outcome: Outcome = "completed" if written.changed else "unchanged"
        return self._end(replace(written.record, outcome=outcome), summary)

    def _held_by_agent(self) -> bool:
        context = context_of(self._directory.cwd, self._directory.bucket)
        with contextlib.suppress(UserError):
            jobs = self._parts.run.home.jobs
            return any(
                line.scope is Scope.PROJECT and line.state == "running"
                for line in (() if jobs is None else jobs.agent_status(context))
            )
        return False

    def _track(self, record: RunRecord) -> None:
        self._record = record

    def _failed(self, error: BaseException) -> PartEnd:
        record = _noted(self._parts, self._record, error, self._around.time_limit_s)
        with contextlib.suppress(UserError):
            if isinstance(error, LeaseLost):
                return self._end(record, record.summary, error)  # what became of it is another's to say
            self._parts.state.consolidated(
                self._directory, at=self._parts.run.clock(), outcome=record.outcome, done=False
            )
        return self._end(record, record.summary, error)

    def _end(self, record: RunRecord, summary: str, error: BaseException | None = None) -> PartEnd:
        end = _ended(self._parts, record, self._engine.account(), summary, error)
        directory = self._directory
        return replace(end, id=directory.bucket, title=directory.cwd, bucket=directory.bucket)


def asked_again(parts: ExtractDependencies, row: ThreadRow, trigger: str) -> bool:
    """Whether the extraction that a row tells of was taken back, and a person asks for another. What they
    took back does not come again by itself."""
    with contextlib.suppress(UserError):  # nothing to remember, or the run was tidied away
        return trigger != "launch" and parts.run.runs.load(row.run_id).reverted
    return False


def planned_traces(parts: ExtractDependencies, root: ScopeRoot, new: list[NewTrace]) -> Planned:
    """What stage one has to write, from the directory as it is now."""
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
    # The traces are what counts: the index is made of them, and an old one harms nobody.
    kept = [entry.rel for entry in found if entry.rel == INDEX and is_write_protected(entry.mode)]
    left = [str(memory_path(root.scope, rel)) for rel in kept if rel in layout.files]
    changes = [
        PlannedChange(root, rel, before.get(rel), after)
        for rel, after in layout.files.items()
        if rel not in kept
    ]
    # A trace before the index that names it, and deletes last.
    changes.sort(key=lambda each: (each.after is None, each.rel == INDEX, each.rel))
    told = ", ".join(trace.summary[:80].rstrip(".") for trace in new)
    gone = f" {len(layout.pruned)} older traces pruned." if layout.pruned else ""
    return Planned(tuple(changes), with_write_protected(f"Trace written: {told}.{gone}", left))


def planned_note(parts: ExtractDependencies, root: ScopeRoot, new: NewTrace) -> Planned:
    """One rollout's result as a note to the agent, which folds it into its memory itself."""
    header, title = new.header, " ".join(new.title.split())
    rel = parts.extraction.note_path(title, parts.run.clock(), header.thread_id)
    about = f"About the session {header.thread_id} in {header.cwd}"
    text = f"{about}{f' ({title})' if title else ''}:\n\n{new.trace.strip()}\n"
    change = PlannedChange(root, rel, None, text.encode("utf-8", "surrogateescape"))
    return Planned((change,), f"Note for Codex written: {new.summary[:80].rstrip('.')}.")


def _refuse_links(what: str, root: ScopeRoot, *directories: Path) -> None:
    """As the agent, which clears no memories that it reaches through a link; and nothing goes into a store
    that is read-only."""
    if root.read_only:
        raise StoreError(f"{what} was left alone.", cause=root.read_only, reason="read-only")
    if any(each.is_symlink() for each in directories):
        raise StoreError(
            f"{what} was left alone.",
            cause=f"{root.directory} is reached through a link.",
            next_step="Put a directory in the link's place.",
            reason="link",
        )


def _nothing_in(found: Extracted) -> str:
    """Why a rollout gave nothing, as a sentence."""
    if found.reading.broken or found.reading.half_written:
        return "Nothing in it could be read; it is looked at again when it changes."
    return "Nothing in it to remember; it is looked at again when it goes on."


def _noted(
    parts: ExtractDependencies, record: RunRecord, error: BaseException, time_limit_s: float
) -> RunRecord:
    """The record of a run that ended badly. One that had begun to write has its record already."""
    stop = stop_of(error, time_limit_s)
    what = "Cancelled; nothing was changed." if isinstance(error, Cancelled) else f"{stop.why}."
    record = replace(
        record, outcome=stop.outcome, reason=stop.reason, summary=what, ended_at=parts.run.clock(), ops=()
    )
    with contextlib.suppress(UserError):
        if not (parts.run.runs.directory_of(record.id) / "record.json").exists():
            parts.run.runs.note(record)
    return record


def _ended(
    parts: ExtractDependencies,
    record: RunRecord,
    account: Account,
    summary: str,
    error: BaseException | None,
) -> PartEnd:
    """Keep what it used and its trace; tell the end."""
    usage, cost = spent(account)
    with contextlib.suppress(UserError):
        if usage is not None:
            parts.run.runs.change(
                record.id,
                lambda kept: replace(kept, usage=usage, details={**kept.details, "costUsd": cost}),
            )
        if account.trace is not None:
            ours = {
                **account.trace.get("reverie", {}),
                "runId": record.id,
                "runOutcome": record.outcome,
            }
            told = {
                "didWriteMemory": record.outcome == "completed",
                "projectPath": record.project_path or "",
                "reverie": ours,
            }
            parts.save_trace(record.id, {**account.trace, **told})
    return PartEnd(
        "directory",
        "",
        "",
        record.project_path or "",
        record.outcome,
        summary,
        record.reason,
        error.next_step if isinstance(error, UserError) else "",
        record.id,
        usage=usage,
        cost_usd=cost,
    )
