"""Codex homes: every generation side by side, nothing changed by looking (formats/codex.md, checklist of
section 8)."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from helpers.codex_home import (
    JOBS_TABLE,
    LOCKS_TABLE,
    NOW_S,
    OUTPUTS_TABLE,
    CodexHomeMaker,
    talk,
    thread_id,
    trace_text,
    varied_rollouts,
)
from helpers.rollouts import START
from reverie.agents.base import Home
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.locations import (
    bucket_of,
    detect,
    existing_home_roots,
    normalised_cwd,
    slug_of,
    thread_of_trace,
    trace_name,
)
from reverie.agents.discovery import User, open_home
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.agents.transcripts import ReadStatistics
from reverie.compose import open_parts
from reverie.errors import StoreError, Unavailable
from reverie.files.rooted import RootedDirectory
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.listing import names_only, scan_scope
from reverie.memory.store import MemoryStore
from reverie.profile import Profile

GONE = "/projects/demo"


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    return CodexHomeMaker(tmp_path / "codex")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "work" / "api"
    directory.mkdir(parents=True)
    return directory


def opened(maker: CodexHomeMaker, tmp_path: Path) -> CodexHome:
    home = CodexHome(maker.root, tmp_path / "cache", now=lambda: NOW_S)
    _protocol: Home = home
    return home


def project_files(home: CodexHome, path: str) -> list[str]:
    root = home.scope_root(home.context(project_path=path), Scope.PROJECT)
    return [file.rel for file in names_only(root).files]


def fingerprint(root: Path) -> dict[str, tuple[int, int, str]]:
    """Every entry below with mode, mtime and content."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def test_buckets_and_slugs_are_named_as_the_agent_names_them() -> None:
    assert bucket_of(GONE) == "8950e3e3787a400b4a327147df019c60e95955ab76fa9da4eeba96644f3a4399"
    assert bucket_of("/p/a?") != bucket_of("/p/a#")
    assert bucket_of("/p/\ud800") != bucket_of("/p/\ud801"), "half a character, which JSON may hold"
    vectors = {
        "Fix: CI (again)!": "fix_ci_again",
        "Größe ändern": "gr_e_ndern",
        "🚀": "trace",
        "": "trace",
        "a" * 64 + " b": "a" * 64,
        "a" * 63 + " b": "a" * 63 + "_",
    }
    assert {title: slug_of(title) for title in vectors} == vectors
    assert trace_name("t-1", "Fix it") == "t-1_fix_it.md"
    names = {"t-1_fix_it.md": "t-1", "t-1.md": "", "t-1_x.txt": "", "_x.md": "", "t_": ""}
    assert {name: thread_of_trace(name) for name in names} == names


def test_every_generation_stands_beside_the_others(
    maker: CodexHomeMaker, project: Path, tmp_path: Path
) -> None:
    maker.newest()
    maker.bucket(str(project))
    maker.bucket(GONE)
    maker.bucket(GONE, digits=16, threads=(2,))
    maker.bucket("/projects/other", digits=16, told=False)
    home = opened(maker, tmp_path)
    projects = {each.path: each.name for each in home.contents().projects}
    second = str(maker.memories / bucket_of(GONE)[:16])
    unknown = str(maker.memories / bucket_of("/projects/other")[:16])
    assert projects == {
        str(project): "api",
        GONE: "demo",
        second: f"unknown directory {bucket_of(GONE)[:8]}…",
        unknown: f"unknown directory {bucket_of('/projects/other')[:8]}…",
    }
    assert project_files(home, GONE) == [
        "MEMORY.md",
        "memory_summary.md",
        f"trace_summaries/{trace_name(thread_id(1), 'Fix 1')}",
    ]
    assert f"trace_summaries/{trace_name(thread_id(2), 'Fix 2')}" in project_files(home, second)
    shown = [file.rel for file in names_only(home.scope_root(home.context(), Scope.GLOBAL)).files]
    assert shown == [
        "MEMORY.md",
        "extensions/ad_hoc/instructions.md",
        "extensions/ad_hoc/manifest.json",
        "extensions/ad_hoc/resources/note.md",
        "memory_summary.md",
        "phase2_workspace_diff.md",
        "raw_memories.md",
        "rollout_summaries/2026-02-09T10-00-00-a1b2-fix.md",
        "skills/release/SKILL.md",
        "user/memory/preferences.md",
    ]
    assert {root.key for root in home.roots()} == {
        "global",
        *(f"project/{bucket_of(path)}" for path in (str(project), GONE)),
        *(f"project/{bucket_of(path)[:16]}" for path in (GONE, "/projects/other")),
    }


def test_a_bucket_appearing_later_stays_out_of_the_global_memory(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    home = opened(maker, tmp_path)
    root = home.scope_root(home.context(), Scope.GLOBAL)
    before = scan_scope(root, home.caps, {}, lambda rel: None)
    memory = maker.bucket(GONE)
    dirty = [memory / "MEMORY.md", memory.parent]
    after = scan_scope(root, home.caps, {}, lambda rel: None, previous=before, dirty=dirty)
    assert [file.rel for file in after.files] == [file.rel for file in before.files]
    assert after.directories == before.directories


def test_a_symlinked_directory_has_the_bucket_of_where_it_leads(
    maker: CodexHomeMaker, project: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    maker.bucket(str(project))
    assert "MEMORY.md" in project_files(opened(maker, tmp_path), str(link))


def test_the_directory_of_a_bucket_is_found_among_what_is_known_otherwise(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.bucket("/by/config", told=False)
    maker.bucket("/by/thread", told=False, digits=16)
    maker.bucket("/by/nobody", told=False)
    maker.file("config.toml", '[projects."/by/config"]\ntrust_level = "trusted"\n')
    maker.state(maker.thread_row(1, "/by/thread"))
    paths = {each.path for each in opened(maker, tmp_path).contents().projects}
    assert paths == {"/by/config", "/by/thread", str(maker.memories / bucket_of("/by/nobody"))}


def test_a_trace_that_names_another_directory_is_not_believed(maker: CodexHomeMaker, tmp_path: Path) -> None:
    memory = maker.bucket("/real", told=False)
    for path in (memory / "trace_summaries").iterdir():
        path.write_text(trace_text(thread_id(1), "/a/lie"))
    assert [each.path for each in opened(maker, tmp_path).contents().projects] == [str(memory.parent)]


def test_what_is_made_anew_is_told_from_what_is_for_editing(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("memories/MEMORY.md")
    maker.bucket(GONE)
    home = opened(maker, tmp_path)
    glob = home.scope_root(home.context(), Scope.GLOBAL)
    project = home.scope_root(home.context(project_path=GONE), Scope.PROJECT)
    kinds = {
        (root.scope.value, rel): home.file_rule(root, rel).kind
        for root in (glob, project)
        for rel in (
            *("MEMORY.md", "memory_summary.md", "raw_memories.md", "rollout_summaries/x.md"),
            *("trace_summaries/x.md", "skills/a/SKILL.md", "extensions/a/manifest.json"),
            *("extensions/a/resources/n.md", "phase2_workspace_diff.md", "consolidated.md"),
            *("extensions/a/instructions.md", ".codex-baseline/.git/x", "skills/.hidden/x.md"),
        )
        if root is glob or not rel.startswith((".", "extensions", "skills/."))
    }
    assert {place for place, kind in kinds.items() if kind == "generated"} == {
        ("global", "raw_memories.md"),
        ("global", "rollout_summaries/x.md"),
        ("global", "phase2_workspace_diff.md"),
        ("project", "memory_summary.md"),
        ("project", "trace_summaries/x.md"),
    }
    assert {place for place, kind in kinds.items() if kind == "read-only"} == {
        ("global", "extensions/a/manifest.json"),
        ("global", "extensions/a/instructions.md"),
        ("global", ".codex-baseline/.git/x"),
        ("global", "skills/.hidden/x.md"),
    }
    assert "made" not in home.file_rule(glob, "MEMORY.md").sentence
    assert home.file_rule(glob, "raw_memories.md").sentence
    for rel in ("MEMORY.md", "skills/a/SKILL.md", "consolidated.md"):
        assert "Each consolidation rewrites this file" in home.file_rule(project, rel).sentence, (
            "it may be edited, and that is told"
        )


def test_looking_changes_nothing_in_the_home(maker: CodexHomeMaker, project: Path, tmp_path: Path) -> None:
    maker.newest()
    maker.bucket(str(project))
    maker.state(maker.thread_row(1, str(project)))
    maker.database("memories_1.sqlite", JOBS_TABLE, OUTPUTS_TABLE)
    maker.file("auth.json", "{}")
    varied_rollouts(maker, str(project))
    before = fingerprint(maker.root)
    home = opened(maker, tmp_path)
    contents = home.contents()
    context = home.context(project_path=str(project))
    for root in home.roots(contents):
        scan_scope(root, home.caps, {}, lambda rel: None)
    home.agent_status(context)
    home.agent_jobs()
    for source in home.sources():
        list(home.open_source(source).messages(ReadStatistics()))
        home.described_source(source)
    assert fingerprint(maker.root) == before
    assert not (tmp_path / "cache").joinpath("auth.json").exists()


def test_credentials_are_never_opened(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.newest()
    secret = maker.file("auth.json", "{}")
    secret.chmod(0)
    maker.file("config.toml", "")
    if os.access(secret, os.R_OK):  # root may read it: make opening it fail for everybody
        secret.unlink()
        os.mkfifo(secret)
    home = opened(maker, tmp_path)
    assert home.contents().problems == ()
    assert detect(maker.root)


def test_threads_come_from_the_disk_and_the_books_only_add_to_them(
    maker: CodexHomeMaker, project: Path, tmp_path: Path
) -> None:
    varied_rollouts(maker, str(project))
    packed = maker.rollout(1, talk(1, str(project)), suffix=".jsonl.zst")
    maker.rollout(3, talk(3, "/elsewhere"), suffix=".jsonl.zst", archived=True)
    maker.file(
        "session_index.jsonl",
        f'{{"id":"{thread_id(2)}","thread_name":"First"}}\nbroken\n{{"id":"{thread_id(2)}","thread_name":"Last"}}\n',
    )
    maker.state(
        maker.thread_row(1, str(project), "From the books"),
        maker.thread_row(3, "/elsewhere"),
        maker.thread_row(50, str(project), "Its rollout is gone"),
        maker.thread_row(11, str(project), source='{"subagent":"review"}'),
    )
    home = opened(maker, tmp_path)
    sources = {source.id: source for source in home.sources()}
    assert set(sources) == {thread_id(number) for number in range(1, 15) if number != 11}
    assert sources[thread_id(1)].title == "From the books"
    assert sources[thread_id(1)].path != packed, "the plain one is preferred"
    assert (sources[thread_id(3)].path.suffix, sources[thread_id(3)].archived) == (".jsonl", False)
    assert sources[thread_id(2)].title == "Last"
    assert sources[thread_id(12)].archived
    assert home.described_source(sources[thread_id(4)]).title == "Fix the build"
    assert [source.id for source in home.sources(str(project))] == [thread_id(1)]
    by_id = {thread.id: thread for thread in home.threads()}
    assert by_id[thread_id(50)].path is None
    assert by_id[thread_id(11)].subagent
    shown = [message.text for message in home.open_source(sources[thread_id(8)]).messages(ReadStatistics())]
    assert shown == ["Bare"]


NAMES = ", name TEXT, preview TEXT, is_pinned INTEGER, project_id TEXT, thread_section_id TEXT"
NAMED_TABLES = (
    "CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT)",
    "CREATE TABLE project_roots (project_id TEXT, position INTEGER, path TEXT)",
    "CREATE TABLE thread_sections (id TEXT PRIMARY KEY, name TEXT)",
    "INSERT INTO projects VALUES ('p', 'The demo'), ('q', ' '), ('r', 7)",
    "INSERT INTO project_roots VALUES ('p', 0, '/projects/demo'), ('p', 1, '/projects/never used')",
    "INSERT INTO project_roots VALUES ('q', 0, '/q')",
    "INSERT INTO thread_sections VALUES ('s', 'Pinned'), ('t', 'Later')",
)


def test_projects_threads_and_sections_have_the_names_that_people_gave_them(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    for number in range(1, 7):
        maker.rollout(number, talk(number, "/projects/demo"))
    maker.state(
        *(maker.thread_row(number, "/projects/demo", f"Title {number}") for number in range(1, 5)),
        maker.thread_row(5, "/projects/demo"),
        maker.thread_row(6, "/q"),
        *NAMED_TABLES,
        f"UPDATE threads SET name = 'By hand' WHERE id = '{thread_id(1)}'",
        f"UPDATE threads SET project_id = 'p', thread_section_id = 's' WHERE id = '{thread_id(2)}'",
        f"UPDATE threads SET is_pinned = 1, project_id = 'gone' WHERE id = '{thread_id(3)}'",
        f"UPDATE threads SET thread_section_id = 't', cwd = '/x' WHERE id = '{thread_id(4)}'",
        f"UPDATE threads SET project_id = 'p' WHERE id = '{thread_id(4)}'",
        f"UPDATE threads SET project_id = 'q', cwd = '/q' WHERE id = '{thread_id(6)}'",
        f"UPDATE threads SET preview = 'Said in its parent' WHERE id = '{thread_id(5)}'",
        more=NAMES,
    )
    home = opened(maker, tmp_path)
    sources = {source.id: source for source in home.sources()}
    assert [sources[thread_id(number)].title for number in (1, 2, 5)] == [
        "By hand",
        "Title 2",
        "Said in its parent",
    ]
    assert [sources[thread_id(number)].state for number in range(1, 6)] == [
        "",
        "pinned",
        "pinned",
        "in section “Later”",
        "",
    ]
    assert [sources[thread_id(number)].project_name for number in range(1, 7)] == [*["The demo"] * 5, ""]
    names = {project.path: project.name for project in home.contents().projects}
    assert names["/projects/demo"] == "The demo (demo)"
    assert names["/projects/never used"] == "The demo (never used)"
    assert names["/q"] == "q", "a name that says nothing is none"


def test_the_books_say_which_file_of_a_thread_is_the_current_one(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    first = maker.rollout(1, talk(1, "/p"))
    older, newer = (first.with_name(f"{first.stem}_{thread_id(number)}.jsonl") for number in (2, 3))
    for path in (older, newer):
        path.write_bytes(first.read_bytes())
    assert [source.path for source in opened(maker, tmp_path).sources()] == [newer]
    row = maker.thread_row(1, "/p").replace("'/gone'", f"'/moved/{older.name}'")
    maker.state(row)
    assert [source.path for source in opened(maker, tmp_path).sources()] == [older]


def test_a_reset_memory_is_said_and_an_empty_directory_of_somebody_else_is_not(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("sessions/2026/08/06/none.txt")

    def said() -> list[str]:
        home = opened(maker, tmp_path)
        return [line.text for line in home.agent_status(home.context()) if line.label == "Codex memory"]

    (maker.root / "memories").mkdir()
    assert said() == []
    maker.file("memories.lock", "")
    assert "Codex deleted all its memories" in said()[0]
    maker.file("memories/extensions/ad_hoc/instructions.md")
    assert said() == []
    maker.file("config.toml", '[memories]\nversion = "v2"\n')
    maker.file("memories_v2.lock", "")
    assert said() == []
    (maker.root / "memories_v2").mkdir()
    assert len(said()) == 1


# They were in the database of the threads before they had one of their own.
@pytest.mark.parametrize("name", ["sqlite/memories_1.sqlite", "state_5.sqlite"])
def test_jobs_are_told_as_they_stand(maker: CodexHomeMaker, tmp_path: Path, name: str) -> None:
    now = NOW_S
    maker.file("memories/MEMORY.md")  # so that version 1, whose jobs these are, is in use
    columns = "kind, job_key, status, started_at, finished_at, lease_until, retry_at, last_error"
    job = f"INSERT INTO jobs ({columns}) VALUES"
    maker.state(maker.thread_row(1, "/p", "One"), maker.thread_row(5, "/p", "Five"))
    for number in (1, 5):
        maker.rollout(number, talk(number, "/p"))
    maker.database(
        name,
        JOBS_TABLE,
        OUTPUTS_TABLE,
        f"{job} ('memory_consolidate_global', 'global', 'done', {now - 50}, {now - 40}, NULL, NULL, NULL)",
        f"{job} ('memory_stage1', '{thread_id(1)}', 'error', {now - 9}, {now - 8}, NULL, {now + 60}, 'no')",
        f"{job} ('memory_stage1', '{thread_id(2)}', 'running', {now - 9}, NULL, {now + 5}, NULL, NULL)",
        f"{job} ('memory_stage1', '{thread_id(3)}', 'running', {now - 9}, NULL, {now - 5}, NULL, NULL)",
        f"{job} ('memory_stage1', '{thread_id(4)}', 'pending', NULL, NULL, NULL, NULL, NULL)",
        f"INSERT INTO stage1_outputs VALUES ('{thread_id(5)}', {START}, 'raw', 'summary', {START})",
    )
    home = opened(maker, tmp_path)
    jobs = {job.id: job for job in home.agent_jobs()}
    states = {job.source_id or job.kind: job.state for job in jobs.values()}
    assert states == {
        "consolidation": "done",
        thread_id(1): "failed",
        thread_id(2): "running",
        thread_id(3): "stale",
        thread_id(4): "waiting",
        thread_id(5): "stale",
    }
    failed = jobs[f"memory_stage1/{thread_id(1)}"]
    assert (failed.about, failed.sentence, failed.retry_at) == ("One", "no", (now + 60) * 1000)
    lines = {line.label: line for line in home.agent_status(home.context())}
    assert (lines["Codex consolidation"].text, lines["Codex consolidation"].at) == (
        "Done.",
        (now - 40) * 1000,
    )
    assert lines["Codex extraction"].text == "1 running, 1 failed, 2 older than their threads, 1 waiting."
    assert lines["Codex extraction"].state == "fail"


@pytest.mark.parametrize(("age", "text"), [(599, "Locked by thread"), (600, "An expired lock")])
def test_a_lock_of_the_first_generation_counts_for_its_time(
    maker: CodexHomeMaker, tmp_path: Path, age: int, text: str
) -> None:
    maker.state(LOCKS_TABLE, f"INSERT INTO memory_consolidation_locks VALUES ('{GONE}', 't', {NOW_S - age})")
    home = opened(maker, tmp_path)
    (line,) = home.agent_status(home.context(project_path=GONE))
    assert line.text.startswith(text)
    assert home.agent_status(home.context(project_path="/other")) == ()


def test_the_newest_database_of_both_places_counts_and_a_change_is_seen(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.state(maker.thread_row(1, "/old"), name="state_4.sqlite")
    maker.state(maker.thread_row(1, "/new"), name="sqlite/state_5.sqlite")
    home = opened(maker, tmp_path)
    assert [each.path for each in home.contents().projects] == ["/new"]
    connection = sqlite3.connect(maker.root / "sqlite" / "state_5.sqlite")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(maker.thread_row(2, "/newest"))
        connection.commit()
        assert {each.path for each in home.contents().projects} == {"/new", "/newest"}, "the log is read too"
    finally:
        connection.close()
    assert len(list((tmp_path / "cache" / "codex" / "databases").iterdir())) == 1, "old copies are forgotten"


def test_a_database_that_cannot_be_read_is_told_and_hides_nothing(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.bucket(GONE)
    maker.file("state_5.sqlite", "no database at all" * 100)
    maker.rollout(1, talk(1, GONE))
    home = opened(maker, tmp_path)
    contents = home.contents()
    assert [each.path for each in contents.projects] == [GONE]
    assert "state_5.sqlite" in contents.problems[0]
    assert len(home.sources()) == 1
    (line,) = home.agent_status(home.context())
    assert line.state == "warn"
    without = CodexHome(maker.root)
    assert without.contents().problems == (), "without a place for copies, none is opened"


def test_a_database_is_found_where_the_settings_put_it(maker: CodexHomeMaker, tmp_path: Path) -> None:
    elsewhere = CodexHomeMaker(tmp_path / "elsewhere")
    elsewhere.state(elsewhere.thread_row(1, "/there"))
    maker.file("config.toml", f'sqlite_home = "{elsewhere.root}"\n')
    home = opened(maker, tmp_path)
    assert [each.path for each in home.contents().projects] == ["/there"]
    assert elsewhere.root in {place.directory for place in home.watched()}


def test_of_two_databases_the_one_whose_log_was_written_last_counts(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    first = maker.state(maker.thread_row(1, "/one"))
    second = maker.state(maker.thread_row(1, "/two"), name="sqlite/state_5.sqlite")
    os.utime(first, (NOW_S, NOW_S))
    os.utime(second, (NOW_S + 5, NOW_S + 5))
    home = opened(maker, tmp_path)
    assert [each.path for each in home.contents().projects] == ["/two"]
    log = first.with_name(first.name + "-wal")
    log.write_bytes(b"")
    os.utime(log, (NOW_S + 9, NOW_S + 9))
    assert [each.path for each in home.contents().projects] == ["/one"]


def test_without_books_the_rollouts_tell_the_directories(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.bucket("/by/rollout", told=False)
    maker.rollout(1, talk(1, "/by/rollout"))
    maker.rollout(2, talk(2, "/without/memory"), suffix=".jsonl.zst")
    maker.rollout(3, ["rubbish"])
    paths = {each.path for each in opened(maker, tmp_path).contents().projects}
    assert paths == {"/by/rollout", "/without/memory"}


def test_a_rollout_that_the_books_do_not_know_tells_the_directory_of_a_bucket(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.bucket("/by/rollout", told=False)
    maker.rollout(1, talk(1, "/by/rollout"))
    maker.state(maker.thread_row(2, "/other"))
    paths = {each.path for each in opened(maker, tmp_path).contents().projects}
    assert paths == {"/by/rollout", "/other"}


def test_a_trace_that_names_a_link_to_the_directory_is_believed(
    maker: CodexHomeMaker, project: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    memory = maker.bucket(str(project), told=False, threads=range(1, 9))
    (memory / "trace_summaries" / "zz_last.md").write_text(trace_text("zz", str(link)))
    assert [each.path for each in opened(maker, tmp_path).contents().projects] == [str(link)]


def test_the_users_bucket_is_global_and_what_is_made_anew_in_it_is_told(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    home = opened(maker, tmp_path)
    root = home.scope_root(home.context(), Scope.GLOBAL)
    kinds = {
        rel: home.file_rule(root, f"user/memory/{rel}").kind
        for rel in ("memory_summary.md", "trace_summaries/a.md", "MEMORY.md", "skills/a/SKILL.md")
    }
    assert [rel for rel, kind in kinds.items() if kind == "generated"] == [
        "memory_summary.md",
        "trace_summaries/a.md",
    ]
    assert home.file_rule(root, "user/memory_summary.md").kind == "editable"


def test_a_directory_on_a_drive_of_windows_is_lower_cased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda path, strict=False: path)
    assert normalised_cwd("/mnt/C/Users/ÄB", wsl=True) == "/mnt/c/users/Äb"
    assert normalised_cwd("/mnt/C/Users", wsl=False) == "/mnt/C/Users"
    assert normalised_cwd("/mnt/cd/Users", wsl=True) == "/mnt/cd/Users"
    assert normalised_cwd("/home/Me", wsl=True) == "/home/Me"


def test_the_private_baseline_of_the_agent_cannot_be_touched(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.newest()
    home = opened(maker, tmp_path)
    store = MemoryStore(
        home, home.context(), lambda root: RootedDirectory(root.directory), NoChangeListener()
    )
    before = fingerprint(maker.root)
    for change in (
        lambda: store.delete("/memories/global/.git"),
        lambda: store.delete("/memories/global/.git/HEAD"),
        lambda: store.create("/memories/global/.git/x", "x"),
        lambda: store.rename("/memories/global/.git", "/memories/global/skills/git"),
        lambda: store.rename("/memories/global/MEMORY.md", "/memories/global/.git/MEMORY.md"),
    ):
        with pytest.raises(StoreError) as raised:
            change()
        assert raised.value.reason == "not-editable"
    assert fingerprint(maker.root) == before


def test_columns_are_asked_for_by_name(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.database(
        "state.sqlite", "CREATE TABLE threads (id TEXT, cwd TEXT)", "INSERT INTO threads VALUES ('x', '/few')"
    )
    assert [each.path for each in opened(maker, tmp_path).contents().projects] == ["/few"]


def test_there_is_no_workspace_memory_and_a_project_needs_a_choice(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    home = opened(maker, tmp_path)
    for scope in (Scope.WORKSPACE, Scope.PROJECT):
        with pytest.raises(ScopeUnavailable):
            home.scope_root(home.context(), scope)
    with pytest.raises(Unavailable):
        home.scope_root(ScopeContext(None, "x", None, store="project/../../etc"), Scope.PROJECT)


def test_a_vanished_home_is_unavailable(maker: CodexHomeMaker, tmp_path: Path) -> None:
    home = opened(maker, tmp_path)
    shutil.rmtree(maker.root)
    with pytest.raises(Unavailable):
        home.contents()
    with pytest.raises(Unavailable):
        home.roots()


@pytest.mark.parametrize(
    "name",
    [
        "state_5.sqlite",
        "state.sqlite",
        "sqlite/state_7.sqlite",
        "session_index.jsonl",
        "sessions/2026/08/06/rollout-x.jsonl",
        f"memories/{bucket_of(GONE)}/memory/MEMORY.md",
        "memories/raw_memories.md",
    ],
)
def test_a_home_is_told_by_what_is_in_it(tmp_path: Path, name: str) -> None:
    root = tmp_path / "x"
    maker = CodexHomeMaker(root)
    assert not detect(root)
    maker.file(name)
    assert detect(root)
    assert open_home(root).kind == "codex"


def test_where_homes_are_looked_for(tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert existing_home_roots({"CODEX_HOME": str(own)}, tmp_path) == ()
    own.mkdir()
    (tmp_path / ".codex").mkdir()
    assert existing_home_roots({"CODEX_HOME": str(own)}, tmp_path) == (own, tmp_path / ".codex")
    assert existing_home_roots({}, tmp_path) == (tmp_path / ".codex",)


def test_a_database_is_found_where_the_environment_of_the_agent_puts_it(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    elsewhere = CodexHomeMaker(tmp_path / "elsewhere")
    elsewhere.state(elsewhere.thread_row(1, "/there"), JOBS_TABLE)
    maker.state(maker.thread_row(1, "/here"), name="state_4.sqlite")
    env = {"CODEX_HOME": str(maker.root), "CODEX_SQLITE_HOME": str(elsewhere.root)}
    profile = Profile.under(tmp_path / "profile")
    home = open_parts(maker.root, profile, lambda: NOW_S * 1000, env).home
    assert [each.path for each in home.contents().projects] == ["/there"]
    assert elsewhere.root in {place.directory for place in home.watched()}
    user = User(env, tmp_path)
    assert [each.path for each in open_home(maker.root, tmp_path / "c", user).contents().projects] == [
        "/there"
    ]
    for other in (None, User({**env, "CODEX_HOME": "/another"}, tmp_path), User({}, tmp_path)):
        here = open_home(maker.root, tmp_path / "c", other)
        assert [each.path for each in here.contents().projects] == ["/here"], "it is of another home"
    relative = User({**env, "CODEX_SQLITE_HOME": "elsewhere"}, tmp_path)
    here = open_home(maker.root, tmp_path / "c", relative)
    assert [each.path for each in here.contents().projects] == ["/here"]
