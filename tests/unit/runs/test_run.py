"""The one Run (`runs.run`), with a job that appends a line: retries, stops, lost leases, bugs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import again, sample_parts
from reverie.agents.scopes import ScopeRoot
from reverie.errors import Busy, Conflict, StoreError, Unavailable
from reverie.files.lease import Leases
from reverie.memory.scope_files import FileChange
from reverie.runs.record import RunRecord, RunResult
from reverie.runs.run import LEASE_WAIT_S, NO_LIMIT_S, Job, Plan, Run, RunContext
from reverie.runs.stops import Cancelled, StopCheck
from reverie.runs.transaction import LeaseLost
from reverie.services.container import HomeContainer
from reverie.settings import DreamSettings

FIRST, SECOND, FRESH = "commit-style.md", "commit-messages.md", "fresh.md"


def nothing() -> None:
    pass


class Append(Job[str]):
    """Thinks of a line, then puts it at the end of three files, one of them new."""

    kind = "writer"
    before = "before a test"
    attempts = 3
    workspace_id = project_path = None
    trigger = "turn"
    engine = "test"
    purpose = "a test"
    time_limit_s = NO_LIMIT_S

    def __init__(self, root: ScopeRoot) -> None:
        self.root = root
        self.thinking = self.accepted = self.committing = nothing
        self.ids: list[str] = []
        self.thoughts = 0

    async def think(self, run: RunContext) -> str | Plan:
        self.thoughts += 1
        self.thinking()
        run.limits.check()
        return "line\n"

    def accept(self, thought: str, run: RunContext) -> Plan:
        self.ids.append(run.id)
        found: list[FileChange] = []
        for rel in (FIRST, SECOND, FRESH):
            path = self.root.directory / rel
            before = path.read_bytes() if path.exists() else None
            found.append(FileChange(self.root, rel, before, (before or b"") + thought.encode()))
        self.accepted()
        return Plan("Appended.", found)

    def commit(self, plan: Plan, record: RunRecord) -> None:
        self.committing()


class StopAt(StopCheck):
    """Is cancelled when it is asked for the `number`th time."""

    def __init__(self, number: int) -> None:
        super().__init__(threading.Event(), threading.Event(), NO_LIMIT_S)
        self._left = number

    def check(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Cancelled


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def job(parts: HomeContainer) -> Append:
    return Append(next(root for root in parts.home.roots() if root.key == "global"))


def run(parts: HomeContainer, job: Append, **more: StopCheck | threading.Event) -> RunResult:
    return asyncio.run(Run(parts.run_dependencies, job, **more).go())  # type: ignore[arg-type]


def files(job: Append) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in job.root.directory.iterdir() if path.is_file()}


def records(parts: HomeContainer) -> list[RunRecord]:
    return list(parts.runs.all())


def writes(job: Append, times: int) -> Callable[[], None]:
    """Somebody who changes the second file right after the job read it, so many times."""
    left = [times]

    def write() -> None:
        if left[0]:
            left[0] -= 1
            path = job.root.directory / SECOND
            path.write_bytes(path.read_bytes() + b"theirs\n")

    return write


def test_a_conflict_is_planned_again_under_the_same_id_and_leaves_one_record(
    parts: HomeContainer, job: Append
) -> None:
    before = files(job)
    job.accepted = writes(job, 2)
    result = run(parts, job)
    assert result.outcome == "completed", result
    assert (job.thoughts, job.ids) == (1, [result.run_id] * 3), "it thinks once and is planned three times"
    (record,) = records(parts)
    assert (record.id, record.outcome) == (result.run_id, "completed")
    assert files(job)[SECOND] == before[SECOND] + b"theirs\ntheirs\nline\n"
    assert files(job)[FIRST] == before[FIRST] + b"line\n", "the attempts before were put back"
    parts.reverter.revert(result.run_id)
    assert files(job) == {**before, SECOND: before[SECOND] + b"theirs\ntheirs\n"}


def test_a_conflict_at_the_last_attempt_fails_the_run_and_changes_nothing(
    parts: HomeContainer, job: Append
) -> None:
    before = files(job)
    job.accepted = writes(job, 3)
    result = run(parts, job)
    assert result.outcome == "failed"
    assert result.summary.endswith("; nothing was changed.")
    assert not any(op["applied"] for op in result.ops)
    (record,) = records(parts)
    assert (record.id, record.outcome, record.summary) == (result.run_id, "failed", result.summary)
    assert files(job) == {**before, SECOND: before[SECOND] + b"theirs\n" * 3}


@pytest.mark.parametrize("number", range(6))
def test_a_cancel_at_any_step_puts_back_what_was_written(
    parts: HomeContainer, job: Append, number: int
) -> None:
    """One check while it thinks, one before each of three files, two before the end."""
    before = files(job)
    result = run(parts, job, limits=StopAt(number))
    assert (result.outcome, result.reason) == ("cancelled", "cancelled")
    assert result.summary == "Cancelled; nothing was changed."
    assert files(job) == before
    (record,) = records(parts)
    assert (record.outcome, record.summary) == ("cancelled", result.summary)
    assert run(parts, job, limits=StopAt(6)).outcome == "completed"


def test_a_cancel_while_it_waits_for_another_run_is_a_cancel(parts: HomeContainer, job: Append) -> None:
    before, cancel = files(job), threading.Event()
    dependencies = parts.run_dependencies
    with dependencies.leases.acquire(dependencies.lease_name, purpose="another run"):
        job.thinking = lambda: threading.Timer(0.2, cancel.set).start() or None
        result = run(parts, job, cancel=cancel)
    assert (result.outcome, files(job)) == ("cancelled", before)


def test_work_that_is_done_waits_for_another_run_whatever_the_time_limit_of_the_thinking(
    parts: HomeContainer, job: Append
) -> None:
    limits = StopCheck(threading.Event(), threading.Event(), 0.4)
    dependencies = parts.run_dependencies
    with contextlib.ExitStack() as held:
        held.enter_context(dependencies.leases.acquire(dependencies.lease_name, purpose="another run"))
        threading.Timer(0.8, held.pop_all().close).start()
        result = run(parts, job, limits=limits)
    assert (result.outcome, job.thoughts) == ("completed", 1), result
    assert time.monotonic() > limits.deadline


def test_a_job_is_told_once_for_whom_it_waits(parts: HomeContainer, job: Append) -> None:
    told: list[str] = []
    job.waits = lambda held: told.append(str(held))  # type: ignore[method-assign]
    dependencies, cancel = parts.run_dependencies, threading.Event()
    with dependencies.leases.acquire(dependencies.lease_name, purpose="another run"):
        job.thinking = lambda: threading.Timer(2.8, cancel.set).start() or None
        assert run(parts, job, cancel=cancel).outcome == "cancelled"
    (text,) = told
    assert text.startswith("This is already being done: another run.")


def test_a_list_of_leases_in_use_throws_no_work_away(
    parts: HomeContainer, job: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert, refusals = Leases._insert, [2]

    def in_use(leases: Leases, name: str, *more: Any) -> None:
        if name == parts.run_dependencies.lease_name and job.thoughts and refusals[0]:
            refusals[0] -= 1
            raise Busy("The list of running jobs is in use.")
        insert(leases, name, *more)

    monkeypatch.setattr(Leases, "_insert", in_use)
    assert (run(parts, job).outcome, refusals) == ("completed", [0])


def test_another_run_is_not_waited_for_without_end(
    parts: HomeContainer, job: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.runs.run.LEASE_WAIT_S", 0.3)
    dependencies = parts.run_dependencies
    with dependencies.leases.acquire(dependencies.lease_name, purpose="another run"):
        result = run(parts, job)
    assert (result.outcome, result.reason) == ("failed", "busy")
    assert DreamSettings().time_limit_s < LEASE_WAIT_S


def test_a_lease_lost_while_it_thinks_leaves_no_record(parts: HomeContainer, job: Append) -> None:
    def lost() -> None:
        raise LeaseLost("The lease ran out.")

    before = files(job)
    job.thinking = lost
    result = run(parts, job)
    assert (result.outcome, files(job), records(parts)) == ("interrupted", before, [])


def test_a_lease_lost_while_it_writes_puts_the_files_back_and_leaves_the_record_to_recovery(
    parts: HomeContainer, job: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(job)
    job.accepted = lambda: monkeypatch.setattr(Leases, "_extend", lambda *_arguments: False)
    result = run(parts, job)
    assert result.outcome == "interrupted"
    assert files(job) == before
    (record,) = records(parts)
    assert record.outcome == "running"
    monkeypatch.undo()
    later = again(parts)
    later.run_dependencies.recovery.run()
    (record,) = records(later)
    assert (record.id, record.outcome) == (result.run_id, "interrupted")
    assert files(job) == before


def test_what_must_hold_besides_takes_the_files_back_where_it_fails(
    parts: HomeContainer, job: Append
) -> None:
    def full() -> None:
        raise Unavailable("The row was not kept.", cause="The disk is full.")

    before = files(job)
    job.committing = full
    result = run(parts, job)
    assert result.summary == "The row was not kept. The disk is full; nothing was changed."
    assert (result.outcome, files(job)) == ("failed", before)


@pytest.mark.parametrize("step", ["thinking", "accepted", "committing"])
def test_a_bug_is_recorded_and_raised(parts: HomeContainer, job: Append, step: str) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    before = files(job)
    setattr(job, step, bug)
    with pytest.raises(ZeroDivisionError):
        run(parts, job)
    (record,) = records(parts)
    assert (record.outcome, record.reason) == ("failed", "bug")
    assert record.summary == "Stopped by an internal error; nothing was changed."
    assert files(job) == before


def test_what_could_not_be_said_at_the_end_fails_no_run(
    parts: HomeContainer, job: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise StoreError("The history is broken.")

    monkeypatch.setattr(parts.snapshots, "record", broken)
    result = run(parts, job)
    assert result.outcome == "completed"
    assert result.summary == (
        "Appended. The history after the run could not be written. The history is broken."
    )


def test_a_job_that_waits_is_not_run_at_once(parts: HomeContainer, job: Append) -> None:
    class Waits(Append):
        async def think(self, run: RunContext) -> str | Plan:
            await asyncio.sleep(0)
            raise Conflict("Never comes here.")

    assert Run(parts.run_dependencies, job).go_at_once().outcome == "completed"
    with pytest.raises(RuntimeError, match="writer waited"):
        Run(parts.run_dependencies, Waits(job.root)).go_at_once()
