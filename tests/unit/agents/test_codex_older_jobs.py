"""The job tables of the generations in between are told like those of the newest, whatever columns they
have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.codex_home import LOCKS_TABLE, NOW_S, CodexHomeMaker, talk, thread_id
from reverie.agents.codex.home import CodexHome
from reverie.agents.scopes import Scope

CWD = "/projects/demo"
FIRST = (
    "CREATE TABLE memory_phase1_jobs (thread_id TEXT, scope_kind TEXT, scope_key TEXT, status TEXT,"
    " owner_session_id TEXT, started_at INTEGER, finished_at INTEGER, failure_reason TEXT)"
)
SECOND = (
    "CREATE TABLE memory_phase2_jobs (scope_kind TEXT, scope_key TEXT, status TEXT, owner_session_id TEXT,"
    " started_at INTEGER, last_heartbeat_at INTEGER, finished_at INTEGER, failure_reason TEXT)"
)
DIRTY = "CREATE TABLE memory_scope_dirty (scope_kind TEXT, scope_key TEXT, dirty INTEGER, updated_at INTEGER)"
MEMORIES = (
    "CREATE TABLE thread_memory (thread_id TEXT, scope_kind TEXT, scope_key TEXT, raw_memory TEXT,"
    " memory_summary TEXT, updated_at INTEGER, invalidated_at INTEGER)"
)


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    return CodexHomeMaker(tmp_path / "codex")


def opened(maker: CodexHomeMaker, tmp_path: Path) -> CodexHome:
    return CodexHome(maker.root, tmp_path / "cache", now=lambda: NOW_S)


def first(number: int, scope: str, status: str, started: int = NOW_S - 9, why: str = "") -> str:
    values = f"'{thread_id(number)}', '{scope}', 'k', '{status}', 'o', {started}, NULL, '{why}'"
    return f"INSERT INTO memory_phase1_jobs VALUES ({values})"


def second(scope: str, key: str, status: str, beat: int, why: str = "") -> str:
    values = f"'{scope}', '{key}', '{status}', 'o', {NOW_S - 5000}, {beat}, NULL, '{why}'"
    return f"INSERT INTO memory_phase2_jobs VALUES ({values})"


def test_a_thread_with_a_job_for_each_scope_is_told_once_by_the_one_that_counts(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.state(
        FIRST,
        first(1, "cwd", "succeeded"),
        first(1, "user", "running"),
        first(2, "cwd", "failed", why="no"),
        first(2, "user", "succeeded_no_output"),
        first(3, "cwd", "running", NOW_S - 3601),
        first(4, "cwd", "whatever"),
        first(5, "cwd", "done"),
    )
    home = opened(maker, tmp_path)
    jobs = {job.source_id: job for job in home.agent_jobs()}
    assert {key: job.state for key, job in jobs.items()} == {
        thread_id(1): "running",
        thread_id(2): "failed",
        thread_id(3): "stale",
        thread_id(4): "waiting",
        thread_id(5): "done",
    }
    assert jobs[thread_id(2)].sentence == "no"
    assert {job.kind for job in jobs.values()} == {"extraction"}


def test_the_consolidation_of_a_scope_is_told_where_it_belongs(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.state(
        SECOND,
        DIRTY,
        second("cwd", CWD, "running", NOW_S - 9),
        second("cwd", "/other", "running", NOW_S - 601),
        second("cwd", "/third", "succeeded", NOW_S - 9),
        second("user", "user", "failed", NOW_S - 9, "too much"),
        *(
            f"INSERT INTO memory_scope_dirty VALUES ('cwd', '{key}', {dirty}, {NOW_S - 4})"
            for key, dirty in ((CWD, 1), ("/third", 1), ("/fourth", 1), ("/fifth", 0))
        ),
    )
    home = opened(maker, tmp_path)
    assert {(job.kind, job.about): job.state for job in home.agent_jobs()} == {
        ("consolidation", CWD): "running",
        ("consolidation", "/other"): "stale",
        ("consolidation", "/third"): "waiting",
        ("consolidation", "/fourth"): "waiting",
        ("consolidation", "user"): "failed",
    }
    here = [(line.scope, line.state) for line in home.agent_status(home.context(project_path=CWD))]
    assert sorted(here) == [(Scope.GLOBAL, "fail"), (Scope.PROJECT, "running")], "Reverie stands down"
    nowhere = [(line.scope, line.text) for line in home.agent_status(home.context())]
    assert nowhere == [(Scope.GLOBAL, "Failed: too much")]


def test_of_the_memories_of_a_thread_the_newest_that_holds_counts(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    for number in (1, 2):
        os.utime(maker.rollout(number, talk(number, CWD)), (NOW_S, NOW_S))
    rows = [(1, "cwd", 50, "NULL"), (1, "user", 20, "NULL"), (2, "cwd", 60, "NULL"), (2, "user", 10, "1")]
    maker.state(
        MEMORIES,
        *(
            "INSERT INTO thread_memory VALUES"
            f" ('{thread_id(number)}', '{scope}', 'k', '', '', {NOW_S - age}, {taken_back})"
            for number, scope, age, taken_back in rows
        ),
        "CREATE TABLE memory_summaries (thread_id TEXT, cwd TEXT, summary TEXT, updated_at INTEGER)",
        f"INSERT INTO memory_summaries VALUES ('{thread_id(1)}', '{CWD}', '', {NOW_S - 99})",
    )
    jobs = {job.source_id: (job.state, job.at) for job in opened(maker, tmp_path).agent_jobs()}
    assert jobs == {
        thread_id(1): ("stale", (NOW_S - 20) * 1000),
        thread_id(2): ("stale", (NOW_S - 60) * 1000),
    }


@pytest.mark.parametrize(("left", "text"), [(1, "Locked by thread"), (0, "An expired lock")])
def test_a_lock_that_says_its_end_counts_until_then(
    maker: CodexHomeMaker, tmp_path: Path, left: int, text: str
) -> None:
    table = (
        "CREATE TABLE memory_summary_locks (cwd TEXT, owner_id TEXT, acquired_at INTEGER, expires_at INTEGER)"
    )
    lock = f"INSERT INTO memory_summary_locks VALUES ('{CWD}', 'me', {NOW_S - 5000}, {NOW_S + left})"
    maker.state(table, lock, LOCKS_TABLE)
    home = opened(maker, tmp_path)
    (line,) = home.agent_status(home.context(project_path=CWD))
    assert line.text.startswith(text)
    assert home.agent_status(home.context(project_path="/other")) == ()


def test_tables_of_other_columns_hide_nothing(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.state(
        "CREATE TABLE memory_phase1_jobs (rollout_id TEXT, status TEXT)",
        "INSERT INTO memory_phase1_jobs VALUES ('r', 'running')",
        "CREATE TABLE memory_phase2_jobs (lock_held INTEGER)",
        "INSERT INTO memory_phase2_jobs VALUES (1)",
        "CREATE TABLE memory_scope_dirty (x INTEGER)",
        "CREATE TABLE memory_summary_locks (x INTEGER)",
        "CREATE TABLE memory_summaries (x INTEGER)",
    )
    home = opened(maker, tmp_path)
    assert all(line.label != "Databases" for line in home.agent_status(home.context()))
    assert home.agent_jobs() == ()
