"""The extraction of one Codex home: stage one over the chosen rollouts, a few at a time, then stage two over
every directory that has new traces.

In homes of today each result becomes a note to Codex instead (`CodexHome.extracts_to_notes`), and there is no
stage two: Codex folds notes into its memory itself.

Order: what a killed run left is settled; the selection; the rollouts, of which one that fails stops no other;
the directories touched, and those whose consolidation did not come to its end before. Nothing else of the
home is written, its databases never.

Threading: blocking; any thread but the GUI's. `progress` is called on the thread that runs it. Failure: one
result whatever happens; only a bug of ours is raised.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from reverie.agents.capabilities import Thread
from reverie.agents.codex.locations import bucket_of, normalised_cwd
from reverie.agents.codex.transcript import RolloutHead, rollout_head
from reverie.errors import Unavailable, UserError
from reverie.files.lease import LeaseHolder
from reverie.jobs.extraction.progress import (
    ExtractionReporter,
    ExtractProgress,
    ExtractResult,
    PartEnd,
    Stage,
    Tell,
)
from reverie.jobs.extraction.run import (
    Around,
    DirectoryRun,
    ExtractDependencies,
    RolloutRun,
    asked_again,
    directory_lease_name,
)
from reverie.jobs.extraction.stage_one import StageOneEngine
from reverie.jobs.extraction.stage_two import StageTwoEngine
from reverie.jobs.extraction.state import (
    SKIP_WORDS,
    DirectoryRow,
    SelectionLimits,
    SkippedThread,
    ThreadSelection,
    select,
)
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes
from reverie.runs.recovery import recover
from reverie.runs.result import Outcome
from reverie.runs.run import RunLimits
from reverie.text.summaries import some

_EMPTY = RolloutHead()
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Engines:
    """What does the thinking: one engine for each rollout and for each directory."""

    name: str
    stage_one: Callable[[], StageOneEngine]
    stage_two: Callable[[], StageTwoEngine]


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """`project_path`: only threads of this directory, None for all. `trigger`: `manual` or `launch`.
    `time_limit_s`: for each rollout and each directory."""

    project_path: str | None = None
    limits: SelectionLimits = field(default_factory=SelectionLimits)
    concurrency: int = 4
    time_limit_s: float = 300.0
    trigger: str = "manual"


@dataclass(frozen=True, slots=True)
class ExtractStatus:
    """Where extraction stands for one directory, or for all. `last_at` (UTC ms): when anything was extracted
    or consolidated last; `last_outcome`: of the last consolidation, empty before the first; `candidates`
    threads wait; `holder` consolidates now."""

    last_at: int | None = None
    last_outcome: str = ""
    candidates: int = 0
    holder: LeaseHolder | None = None


class ExtractService:
    """Extraction of one home."""

    def __init__(self, parts: ExtractDependencies) -> None:
        self._parts = parts
        self._reporter = ExtractionReporter(parts.activity, str(parts.run.home.root))

    def plan(self, request: ExtractRequest) -> ThreadSelection:
        """Which threads would be extracted. Reads the beginning of those whose books say too little, and
        changes nothing. Raises `Unavailable`."""
        extraction = self._parts.extraction
        rows, failures = self._parts.state.rows(), self._parts.state.failures()

        by_agent = extraction.extracted_at() if extraction.extracts_to_notes else {}

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
            found = select(threads, stored, request.limits, self._parts.run.clock(), failed)
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

    def status(self, request: ExtractRequest) -> ExtractStatus:
        """Where it stands, for a footer."""
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
        return ExtractStatus(
            max(times, default=None),
            "" if last is None else last.outcome,
            waiting,
            next((holder for holder in holders if holder is not None), None),
        )

    def run(
        self,
        request: ExtractRequest,
        engines: Engines,
        *,
        cancel: threading.Event | None = None,
        progress: Tell = lambda _progress: None,
    ) -> ExtractResult:
        """`extract` on an event loop of its own."""
        return asyncio.run(
            self.extract(request, engines, cancel=cancel or threading.Event(), progress=progress)
        )

    async def extract(
        self, request: ExtractRequest, engines: Engines, *, cancel: threading.Event, progress: Tell
    ) -> ExtractResult:
        """Both stages."""
        try:
            context = self._parts.run.home.context(project_path=request.project_path)
            self._parts.run.guard.require_context(context)
        except ReadOnlyStore as error:
            self._reporter.stood_down(error)
            return ExtractResult("failed", str(error), engines.name, reason=error.reason)
        try:
            refuse_while_agent_writes(self._parts.run.home, lock_dir=self._parts.run.guard.lock_dir)
            recover(self._parts.run, "recovery before an extraction")
            selection = self.plan(request)
            waiting = self._waiting(request)
        except UserError as error:
            return ExtractResult(
                "failed", error.title, engines.name, reason=error.reason, next_step=error.next_step
            )
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
        """Consolidate what waits of `touched`; again where another process added traces meanwhile, which
        found the directory in our hands and left it to us."""
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
        """Directories whose last consolidation did not come to its end."""
        only = None if request.project_path is None else bucket_of(normalised_cwd(request.project_path))
        return {
            bucket: row
            for bucket, row in self._parts.state.directories().items()
            if row.waiting and only in (None, bucket)
        }


_End = TypeVar("_End")


class _ExtractionWork:
    """The parts of one extraction, a few at a time."""

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
                good: Stage = "persisted" if end.outcome == "completed" else "skipped"
                teller.ended(part, _stage_of(end, good), end.summary)
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
        teller = _Teller(self._progress, len(rows))

        async def one(row: DirectoryRow) -> PartEnd | None:
            part = ExtractProgress("directory", row.bucket, row.cwd, row.cwd, "waiting")
            if self._cancel.is_set():
                return _cancelled(part)
            end = await DirectoryRun(self._around, row, self._engines.stage_two(), teller.of(part)).go()
            if end is None:
                teller.ended(part, "skipped", "Somebody else consolidates it, or has just done so.")
            else:
                self._around.reporter.ended(end)
                teller.ended(part, _stage_of(end, "consolidated"), end.summary)
            return end

        return tuple(end for end in await self._all(one(row) for row in rows) if end is not None)

    async def _all(self, jobs: Iterable[Awaitable[_End]]) -> list[_End]:
        """Everything, a few at a time. A bug in one is raised after the others came to their end."""
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
    """Progress, with how many of how many."""

    def __init__(self, progress: Tell, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def tell(self, part: ExtractProgress) -> None:
        self._progress(replace(part, done=self._done, total=self._total))

    def of(self, part: ExtractProgress) -> Callable[[Stage, str], None]:
        return lambda stage, text: self.tell(replace(part, stage=stage, text=text))

    def ended(self, part: ExtractProgress, stage: Stage, text: str) -> None:
        self._done += 1
        self.tell(replace(part, stage=stage, text=text))


def _stage_of(end: PartEnd, good: Stage) -> Stage:
    if end.succeeded:
        return good
    return "cancelled" if end.outcome == "cancelled" else "failed"


def _cancelled(part: ExtractProgress) -> PartEnd:
    summary = "Cancelled before it began."
    return PartEnd(part.kind, part.id, part.title, part.project_path, "cancelled", summary, "cancelled")


def _says_too_little(thread: Thread) -> bool:
    return not thread.cwd or not thread.source or not thread.title


def _with_head(thread: Thread) -> Thread:
    """The thread with what the beginning of its rollout says."""
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
    parts = (*rollouts, *directories)
    bad = [part for part in parts if not part.succeeded]
    done = sum(end.outcome == "completed" for end in rollouts)
    empty = sum(end.outcome == "unchanged" for end in rollouts)
    consolidated = sum(end.succeeded for end in directories)
    summary = f"{some(done, 'rollout')} extracted, {some(consolidated, 'directory')} consolidated"
    summary += f", {empty} with nothing to remember" if empty else ""
    summary += f", {len(bad)} failed: {bad[0].summary}" if bad else "."
    outcome: Outcome = "completed" if any(part.succeeded for part in parts) else "unchanged"
    reason = next_step = ""
    if cancelled:
        outcome, summary, reason = "cancelled", f"Cancelled. {summary}", "cancelled"
    elif bad:
        outcome, reason, next_step = "failed", bad[0].reason, bad[0].next_step
    elif not parts:
        summary = "Nothing to extract."
    return ExtractResult(
        outcome,
        summary,
        engine,
        len(selection.chosen),
        rollouts,
        directories,
        skipped,
        reason,
        next_step,
    )
