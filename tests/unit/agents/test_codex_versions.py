"""Homes of Codex of today: the version in use, what may be changed in it, what Codex accepts
(formats/codex.md section 10)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.codex_home import JOBS_TABLE, NOW_S, OUTPUTS_TABLE, CodexHomeMaker, thread_id
from helpers.samples import copy_sample, snapshot
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.store import (
    HEADINGS,
    NO_STORE,
    SUMMARY_BYTES,
    Version,
    note_path,
    refuse_content,
    version_in_use,
)
from reverie.agents.scopes import Scope, ScopeRoot, ScopeUnavailable
from reverie.cli.main import main
from reverie.compose import open_parts
from reverie.errors import Busy, StoreError, UserError
from reverie.files.locks import is_held
from reverie.jobs.consolidate import run as consolidation
from reverie.jobs.consolidate.engine import Fence, RulesEngine, rails_text, task_prompt
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.commands import MemoryCommands
from reverie.memory.lint import lint
from reverie.memory.listing import names_only, scan_scope
from reverie.memory.scope_files import FileChange
from reverie.memory.write_guard import PATIENCE_S, ReadOnlyStore, refuse_while_agent_writes, write_locks
from reverie.profile import Profile
from reverie.runs.record import RunRecord
from reverie.runs.transaction import Recovered, Transaction
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits, add_note
from reverie.services.search import SearchService
from reverie.values import replace

SUMMARY = "/memories/global/memory_summary.md"
GOOD = ("v1\n\n" + "\n\nBrief.\n\n".join(f"## {heading}" for heading in HEADINGS) + "\n").encode()


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    return CodexHomeMaker(tmp_path / "codex")


def parts_of(root: Path, tmp_path: Path) -> HomeContainer:
    return open_parts(root, Profile.under(tmp_path / "profile"), lambda: NOW_S * 1000)


def commands_of(parts: HomeContainer) -> MemoryCommands:
    return MemoryCommands(parts.store(parts.home.context(), actor="user"), count_reads=False)


@contextmanager
def codex_consolidates(lock: Path) -> Iterator[None]:
    """As Codex does for the whole of a consolidation."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# The version in use


@pytest.mark.parametrize(
    ("made", "setting", "used"),
    [
        ("", "", "v2"),
        ("directory", "", "v1"),
        ("file", "", "v1"),
        ("directory", "v2", "v2"),
        ("", "v1", "v1"),
        ("directory", "v9", "v1"),
        ("", "v9", "v2"),
    ],
)
def test_the_version_in_use_is_the_setting_else_whether_memories_exists(
    maker: CodexHomeMaker, made: str, setting: str, used: str
) -> None:
    if made == "directory":
        maker.memories.mkdir()
    elif made == "file":
        maker.memories.write_text("x")
    if setting:
        maker.file("config.toml", f'[memories]\nversion = "{setting}"\n')
    assert version_in_use(maker.root).name == used
    root = CodexHome(maker.root).scope_root(CodexHome(maker.root).context(), Scope.GLOBAL)
    assert root.directory.name == {"v1": "memories", "v2": "memories_v2"}[used]


def test_a_home_without_memory_gets_none_from_any_way_of_writing(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("session_index.jsonl", "")
    parts = parts_of(maker.root, tmp_path)
    before = snapshot(maker.root)
    answer = commands_of(parts).execute({"command": "create", "path": SUMMARY, "file_text": "v1\n"})
    assert (answer["success"], NO_STORE in answer["error"]) == (False, True)
    with pytest.raises(StoreError, match="was not saved"):
        UserEdits(parts).save(parts.home.context(), SUMMARY, "v1\n", None)
    with pytest.raises(StoreError, match="was not saved"):
        add_note(parts, parts.home.context(), "I like tabs")
    assert snapshot(maker.root) == before


def test_the_other_version_is_shown_as_not_in_use_and_never_written(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    maker.version_two()
    maker.file("config.toml", '[memories]\nversion = "v2"\n')
    home = parts_of(maker.root, tmp_path).home
    root = home.scope_root(home.context(), Scope.GLOBAL)
    assert (root.key, root.directory.name, root.read_only) == ("global/v2", "memories_v2", "")
    assert "memory_summary.md" in [file.rel for file in names_only(root).files]
    shown = {each.label: each.read_only for each in home.companions(home.context()) if each.exists}
    assert "Not in use" in shown["memories/MEMORY.md"]
    assert not any(label.startswith("memories_v2") for label in shown)
    old = root.__class__(Scope.GLOBAL, "global", maker.memories, "global:")
    with pytest.raises(StoreError) as refused:
        home.check_content(old, "x.md", None, b"x\n")
    assert "Not in use" in refused.value.cause


def test_buckets_of_february_are_read_only_in_a_home_of_today(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.bucket("/gone/demo")
    home = CodexHome(maker.root)
    context = home.context(project_path="/gone/demo")
    assert home.scope_root(context, Scope.PROJECT).read_only == ""
    maker.file("memories/.git/HEAD", "x\n")
    root = home.scope_root(context, Scope.PROJECT)
    assert home.file_rule(root, "MEMORY.md").kind == "read-only"
    with pytest.raises(ScopeUnavailable, match="no separate memory") as absent:
        home.scope_root(home.context(project_path="/another"), Scope.PROJECT)
    assert absent.value.permanent


def test_only_the_first_generation_has_a_project_scope_that_a_choice_can_reach(maker: CodexHomeMaker) -> None:
    maker.bucket("/gone/demo")
    home = CodexHome(maker.root)
    for today in (False, True):
        if today:
            maker.file("memories/.git/HEAD", "x\n")
        with pytest.raises(ScopeUnavailable) as gap:
            home.scope_root(home.context(), Scope.PROJECT)
        assert gap.value.permanent is today
        with pytest.raises(ScopeUnavailable) as sessions:
            home.scope_root(home.context(), Scope.WORKSPACE)
        assert sessions.value.permanent


def test_rollout_summaries_are_told_apart_by_their_name_and_first_heading(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    name = "2026-02-09T10-00-00-a1b2-lamp.md"
    head = f"thread_id: {thread_id(2)}\ncwd: /projects/demo\n\n# The lamp was repaired\n\n## Task 1: lamp\n"
    maker.file(f"memories_v2/rollout_summaries/{name}", head)
    maker.file("memories_v2/skills/lamp/notes.md", "# Not a rollout\n")
    home = parts_of(maker.root, tmp_path).home
    root = home.scope_root(home.context(), Scope.GLOBAL)
    listed = {file.rel: file.description for file in scan_scope(root, home.caps, {}, lambda _rel: None).files}
    assert listed[f"rollout_summaries/{name}"] == "The lamp was repaired"
    assert listed["skills/lamp/notes.md"] == ""
    shown = {each.label: each for each in home.companions(home.context(project_path="/projects/demo"))}
    assert shown[name].about == "The lamp was repaired"
    assert shown["2026-02-09T10-00-00-a1b2-fix.md"].about == ""
    assert home.file_rule(root, f"rollout_summaries/{name}").sentence in shown[name].read_only
    assert "to edit it" not in shown[name].read_only


def test_a_search_finds_a_memory_that_is_shown_under_a_project_too_only_once(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    maker.file("config.toml", '[projects."/projects/demo"]\ntrust_level = "trusted"\n')
    maker.file("AGENTS.md", "The lamp is red.\n")
    name = "rollout_summaries/2026-02-09T10-00-00-a1b2-lamp.md"
    maker.file(f"memories_v2/{name}", f"thread_id: {thread_id(2)}\ncwd: /projects/demo\n\n# The lamp\n")
    parts = parts_of(maker.root, tmp_path)
    shown = parts.home.companions(parts.home.context(project_path="/projects/demo"))
    assert any(str(each.path).endswith(name) for each in shown)
    desk = SearchService()
    desk.add(parts)
    desk.update()
    found = {hit.path for hit in desk.search("lamp").hits}
    assert found == {f"/memories/global/{name}", str(maker.root / "AGENTS.md")}
    assert len(desk.search("lamp").hits) == 2


# What Codex accepts


def without(heading: str) -> bytes:
    return GOOD.replace(f"## {heading}\n".encode(), b"")


BAD_IN_BOTH = {
    "no v1": GOOD.removeprefix(b"v1\n"),
    "V1": GOOD.replace(b"v1", b"V1", 1),
    "v2": GOOD.replace(b"v1", b"v2", 1),
    "a space": GOOD.replace(b"v1\n", b"v1 \n", 1),
    "a blank line before": b"\n" + GOOD,
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "front matter": b"---\ndescription: x\n---\n" + GOOD,
    "not UTF-8": GOOD + b"\xff\n",
    "missing": None,
}
GOOD_IN_BOTH = {
    "as it is": GOOD,
    "CR": GOOD.replace(b"v1\n", b"v1\r\n", 1),
    "another order": GOOD.replace(b"User Profile", b"X")
    .replace(b"General Tips", b"User Profile")
    .replace(b"X", b"General Tips"),
    "the largest": GOOD + b"x" * (SUMMARY_BYTES - len(GOOD)),
}
BAD_IN_TWO = {"too large": GOOD + b"x" * (SUMMARY_BYTES - len(GOOD) + 1)} | {
    f"no {heading}": without(heading) for heading in HEADINGS
}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_summary_is_refused_exactly_where_codex_refuses_it(version: Version) -> None:
    bad = BAD_IN_BOTH | (BAD_IN_TWO if version == "v2" else {})
    good = GOOD_IN_BOTH | (BAD_IN_TWO if version == "v1" else {})
    for after in good.values():
        refuse_content(version, "memory_summary.md", GOOD, after)
    for after in bad.values():
        with pytest.raises(StoreError) as refused:
            refuse_content(version, "memory_summary.md", GOOD, after)
        assert all((refused.value.title, refused.value.cause, refused.value.next_step))


def test_the_handbook_is_needed_in_version_one_only() -> None:
    with pytest.raises(StoreError, match=r"would reject this change to MEMORY\.md"):
        refuse_content("v1", "MEMORY.md", b"x\n", None)
    refuse_content("v2", "MEMORY.md", b"x\n", None)


def test_front_matter_may_stay_where_codex_wrote_it_and_is_never_added() -> None:
    block = b"---\nname: x\n---\n"
    refuse_content("v2", "skills/x/SKILL.md", None, block)
    refuse_content("v2", "mine.md", block, block + b"more\n")
    refuse_content("v2", "mine.md", None, b"---\n"[:3] + b" a rule is no front matter\n")
    with pytest.raises(StoreError, match="would reject"):
        refuse_content("v2", "mine.md", b"text\n", block + b"text\n")


def test_a_note_is_written_once() -> None:
    name = note_path("I like Tabs: größe!", 1_795_340_711_000)
    assert name == "extensions/ad_hoc/notes/2026-11-22T09-45-11-i-like-tabs-gr-e.md"
    assert note_path("🚀", 0).endswith("1970-01-01T00-00-00-note.md")
    refuse_content("v2", name, None, b"x\n")
    refuse_content("v2", name, b"x\n", None)
    with pytest.raises(StoreError) as refused:
        refuse_content("v2", name, b"x\n", b"y\n")
    assert "cannot be changed after it is written" in refused.value.cause


def test_notes_of_one_second_and_title_have_names_of_their_own() -> None:
    ids = ("019b1a2c-0000-7000-8000-00000000000a", "019b1a2c-0000-7000-8000-00000000000b")
    one, two = (note_path("x" * 99, 0, each) for each in ids)
    assert one != two
    assert one == f"extensions/ad_hoc/notes/1970-01-01T00-00-00-{'x' * 51}-0000000a.md"
    assert note_path("🚀", 0, ids[0]).endswith("-note-0000000a.md")


def test_two_sessions_of_one_title_are_both_extracted_in_one_second(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    from helpers.codex_home import talk
    from helpers.extraction import age
    from helpers.extraction import parts_of as extraction_parts
    from reverie.services.background import ExtractionService

    maker.version_two()
    for number in (1, 2):
        said = talk(number, "/projects/demo", "Fix it. I always want small commits, please.")
        age(maker.rollout(number, said), number)
    result = ExtractionService(extraction_parts(maker.root, tmp_path / "profile")).run(engine="rules")
    assert [each.outcome for each in result.rollouts] == ["completed", "completed"], result
    assert len(list((maker.root / "memories_v2" / "extensions" / "ad_hoc" / "notes").iterdir())) == 2


def test_commands_editor_and_delete_are_refused_what_codex_refuses(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    parts = parts_of(maker.root, tmp_path)
    before = snapshot(maker.root / "memories_v2")
    commands = commands_of(parts)
    for request in (
        {"command": "str_replace", "path": SUMMARY, "old_str": "v1\n", "new_str": ""},
        {"command": "insert", "path": SUMMARY, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": SUMMARY},
        {"command": "rename", "old_path": SUMMARY, "new_path": "/memories/global/x.md"},
        {"command": "create", "path": "/memories/global/.codex-baseline/x", "file_text": "x"},
        {"command": "create", "path": "/memories/global/skills/.x.md", "file_text": "x"},
        {"command": "delete", "path": "/memories/global/extensions"},
        {"command": "create", "path": "/memories/global/x.md", "file_text": "---\na: b\n---\nx\n"},
    ):
        answer = commands.execute(request)
        assert not answer["success"], request
    edits = UserEdits(parts)
    text = edits.read(parts.home.context(), SUMMARY)
    with pytest.raises(StoreError) as refused:
        edits.save(parts.home.context(), SUMMARY, "---\na: b\n---\n" + text.content, text.sha256)
    assert refused.value.reason == "agent-refuses"
    assert snapshot(maker.root / "memories_v2") == before
    edits.save(parts.home.context(), SUMMARY, text.content + "- more\n", text.sha256)
    assert (maker.root / "memories_v2" / "memory_summary.md").read_text().endswith("- more\n")


def test_a_consolidation_by_rules_writes_no_description_and_leaves_documents_alone(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    body = "# Release steps\n\nTag the commit, push the tag, wait for the build, then publish the notes.\n"
    for name in ("release.md", "release-copy.md"):
        maker.file(f"memories_v2/{name}", body)
    maker.file("memories_v2/skills/a/SKILL.md", body)
    maker.file("memories_v2/extensions/ad_hoc/notes/2026-01-01T00-00-00-x.md", body)
    base = ["--home", str(maker.root), "--profile", str(tmp_path / "profile")]
    assert main([*base, "consolidate", "--engine", "rules"]) == 0
    left = [
        name for name in ("release.md", "release-copy.md") if (maker.root / "memories_v2" / name).exists()
    ]
    assert len(left) == 1
    assert (maker.root / "memories_v2" / left[0]).read_text() == body
    assert (maker.root / "memories_v2/skills/a/SKILL.md").read_text() == body
    assert len(list((maker.root / "memories_v2/extensions/ad_hoc/notes").iterdir())) == 1


# Locks


def test_while_codex_holds_its_lock_nothing_is_written_and_the_reason_is_given(
    maker: CodexHomeMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker.version_two()
    maker.file("memories_v2/x.md", "x\n")
    parts = parts_of(maker.root, tmp_path)
    context, lock = parts.home.context(), maker.root / "memories_v2.lock"
    text = UserEdits(parts).read(context, SUMMARY)
    before = snapshot(maker.root / "memories_v2")
    base = ["--home", str(maker.root), "--profile", str(tmp_path / "profile")]
    with codex_consolidates(lock):
        with pytest.raises(Busy) as busy:
            UserEdits(parts).save(context, SUMMARY, text.content + "x\n", text.sha256)
        assert (busy.value.reason, busy.value.title) == ("agent-busy", "Codex is consolidating its memory.")
        with pytest.raises(Busy):
            UserEdits(parts).delete(context, "/memories/global/x.md")
        with pytest.raises(Busy):
            add_note(parts, context, "I like tabs")
        assert main([*base, "consolidate", "--engine", "rules"]) == 1
        assert "Codex is consolidating" in capsys.readouterr().err
        assert "Codex is consolidating" in parts.activity.read()[0].text
        assert main([*base, "consolidate", "--engine", "rules", "--dry-run"]) == 0, "looking needs no lock"
    assert snapshot(maker.root / "memories_v2") == before
    UserEdits(parts).save(context, SUMMARY, text.content + "x\n", text.sha256)


def test_while_we_write_the_lock_is_ours_and_the_lock_file_is_made_only_beside_a_store(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("session_index.jsonl", "")
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    with write_locks(parts.home, [root], lock_dir=parts.profile.locks):
        assert not (maker.root / "memories_v2.lock").exists(), "there is no store to guard"
    maker.version_two()
    (maker.root / "memories_v2.lock").unlink()
    with (
        write_locks(parts.home, [root], lock_dir=parts.profile.locks),
        write_locks(parts.home, [root], lock_dir=parts.profile.locks),
    ):
        lock = maker.root / "memories_v2.lock"
        assert is_held(lock)
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not is_held(lock)


def test_a_revert_stands_down_while_codex_holds_its_lock_and_removes_directories_after_it(
    maker: CodexHomeMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker.version_two()
    profile, base = tmp_path / "profile", ["--home", str(maker.root), "--profile", str(tmp_path / "profile")]
    from helpers.codex_home import talk
    from helpers.extraction import NOW, age
    from helpers.extraction import parts_of as extraction_parts
    from reverie.services.background import ExtractionService

    age(maker.rollout(1, talk(1, "/projects/demo", "Fix it. I always want small commits, please.")), 1)
    result = ExtractionService(extraction_parts(maker.root, profile)).run(engine="rules")
    assert result.succeeded, result
    (end,) = result.rollouts
    notes = maker.root / "memories_v2" / "extensions" / "ad_hoc" / "notes"
    (note,) = notes.iterdir()
    assert "/projects/demo" in note.read_text()
    assert not maker.memories.exists()
    with codex_consolidates(maker.root / "memories_v2.lock"):
        assert main([*base, "--now", str(NOW), "revert", end.run_id]) == 1
        assert "Codex is consolidating" in capsys.readouterr().err
        assert note.exists()
    assert main([*base, "--now", str(NOW), "revert", end.run_id]) == 0
    assert not notes.exists(), "the run made it, and it is empty"
    assert (notes.parent / "instructions.md").exists()


def test_a_directory_that_the_run_made_stays_while_something_is_in_it(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    from helpers.codex_home import talk
    from helpers.extraction import age
    from helpers.extraction import parts_of as extraction_parts
    from reverie.services.background import ExtractionService

    maker.version_two()
    parts = extraction_parts(maker.root, tmp_path / "profile")
    age(maker.rollout(1, talk(1, "/projects/demo", "Fix it. I always want small commits, please.")), 1)
    (end,) = ExtractionService(parts).run(engine="rules").rollouts
    mine = maker.file("memories_v2/extensions/ad_hoc/notes/mine.md", "mine\n")
    parts.reverter.revert(end.run_id)
    assert [path.name for path in mine.parent.iterdir()] == ["mine.md"]


def test_extracting_again_skips_what_codex_itself_extracted(maker: CodexHomeMaker, tmp_path: Path) -> None:
    from helpers.extraction import parts_of as extraction_parts
    from reverie.services.background import ExtractionService, extract_at_launch

    home = home_of_codex("v2", tmp_path)
    parts = extraction_parts(home, tmp_path / "profile", NOW_S * 1000 + 10**11)
    desk = ExtractionService(parts)
    assert desk.to_notes
    reasons = {each.title: reason for each, reason, _sentence in desk.plan().considered}
    assert reasons["Tests of beta"] == "up-to-date"
    assert extract_at_launch(parts, threading.Event()) is None
    assert "extracts memories itself" in parts.activity.read()[0].text


def test_a_thread_that_codex_will_extract_or_has_read_is_left_to_it(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    from helpers.codex_home import talk
    from helpers.extraction import parts_of as extraction_parts
    from reverie.services.background import ExtractionService

    maker.version_two()
    now, hour = NOW_S + 100 * 24 * 3600, 3600
    ages = {1: hour, 2: 24 * hour, 3: 24 * hour, 4: 24 * hour, 5: 24 * hour, 6: 30 * 24 * hour}
    for number, seconds in ages.items():
        path = maker.rollout(number, talk(number, "/projects/demo"), archived=number == 5)
        os.utime(path, (now - seconds, now - seconds))
    read = now - ages[3]
    maker.database(
        "memories_v2_1.sqlite",
        JOBS_TABLE,
        OUTPUTS_TABLE,
        "INSERT INTO jobs (kind, job_key, status, finished_at, input_watermark, last_success_watermark)"
        f" VALUES ('memory_stage1', '{thread_id(3)}', 'done', {now}, {read}, {read})",
        "INSERT INTO jobs (kind, job_key, status, finished_at, retry_at, last_error)"
        f" VALUES ('memory_stage1', '{thread_id(4)}', 'error', {now}, {now + hour}, 'no JSON')",
    )
    maker.file("config.toml", "[features]\nmemories = true\n")
    parts = extraction_parts(maker.root, tmp_path / "profile", now * 1000)
    desk = ExtractionService(parts)
    reasons = {each.id: reason for each, reason, _sentence in desk.plan().considered}
    assert reasons == {
        thread_id(1): "by-agent",
        thread_id(2): "by-agent",
        thread_id(3): "up-to-date",
        thread_id(4): "by-agent",
        thread_id(5): "archived",
        thread_id(6): "",
    }
    home = CodexHome(maker.root, tmp_path / "cache", now=lambda: now)
    sessions = next(each for each in home.checks(home.context()) if each.check == "codex-sessions")
    assert sessions.evidence.startswith(
        "1 ready. 1 done. 1 archived. 1 waiting for a retry. 1 still in use. 1 too old."
    )
    # Where Codex makes no memories, nobody else will.
    maker.file("config.toml", "[features]\nmemories = true\n[memories]\ngenerate_memories = false\n")
    reasons = {each.id: reason for each, reason, _sentence in desk.plan().considered}
    assert sorted(reasons.values()) == ["", "", "", "", "archived", "up-to-date"]


# Homes that Codex itself made


def home_of_codex(version: str, tmp_path: Path) -> Path:
    """The sample, its rollouts as old as Codex's books say; a checkout does not keep times."""
    home = copy_sample(f"codex-{version}-home", tmp_path)
    with contextlib.closing(sqlite3.connect(home / "state_5.sqlite")) as state:
        ages = dict(state.execute("SELECT id, updated_at FROM threads"))
    for path in (home / "sessions").rglob("*.jsonl"):
        at = next(age for thread, age in ages.items() if thread in path.name)
        os.utime(path, (at, at))
    return home


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_home_that_codex_made_is_read_as_its_user_expects(version: str, tmp_path: Path) -> None:
    home = home_of_codex(version, tmp_path)
    before = snapshot(home)
    parts = parts_of(home, tmp_path)
    contents = parts.home.contents()
    assert {(project.path, project.name) for project in contents.projects} == {
        ("/projects/alpha", "alpha"),
        ("/projects/beta", "beta"),
    }
    assert contents.problems == ()
    context = parts.home.context()
    root = parts.home.scope_root(context, Scope.GLOBAL)
    rels = {file.rel for file in names_only(root).files}
    assert {"memory_summary.md", "extensions/ad_hoc/instructions.md"} <= rels
    assert ("MEMORY.md" in rels) == (version == "v1")
    assert "I" not in UserEdits(parts).read(context, SUMMARY).read_only
    titles = {source.title for source in parts.home.sources()}
    assert "Tests of beta" in titles
    jobs = parts.home.agent_jobs()
    assert sorted((job.kind, job.state) for job in jobs) == [
        ("consolidation", "done"),
        ("extraction", "done"),
        ("extraction", "done"),
        ("extraction", "failed"),
    ]
    failed = next(job for job in jobs if job.state == "failed")
    assert "oops" in failed.sentence
    assert failed.retry_at is not None
    lines = {line.label: line.text for line in parts.home.agent_status(context)}
    assert lines["Codex consolidation"] == "Done."
    about = parts.home.companions(parts.home.context(project_path="/projects/beta"))
    of_beta = [each.label for each in about if each.scope is Scope.PROJECT]
    assert any("beta_tests.md" in label for label in of_beta)
    assert not any("alpha_tools.md" in label for label in of_beta)
    assert any(label.endswith("memory_summary.md") for label in of_beta)
    assert any(label.endswith("MEMORY.md") for label in of_beta) == (version == "v1")
    watched = {place.directory.name: place.names for place in parts.home.watched()}
    database = "memories_1.sqlite" if version == "v1" else "memories_v2_1.sqlite"
    assert {database, f"{database}-wal"} <= set(watched[home.name])
    assert snapshot(home) == before


def test_the_summary_in_the_context_is_that_of_the_version_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = copy_sample("codex-v2-home", tmp_path)
    base = ["--home", str(home), "--profile", str(tmp_path / "profile"), "--json"]
    assert main([*base, "context"]) == 0
    assert "keeps several small projects" in json.dumps(json.loads(capsys.readouterr().out))


def test_telling_codex_makes_one_new_note_and_needs_a_text(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.version_two()
    parts = parts_of(maker.root, tmp_path)
    path = add_note(parts, parts.home.context(), "  I like tabs.\nAlways.\n\n")
    rel = path.removeprefix("/memories/global/")
    assert (maker.root / "memories_v2" / rel).read_text() == "I like tabs.\nAlways.\n"
    assert rel.endswith("-i-like-tabs.md")
    with pytest.raises(UserError, match="note is empty"):
        add_note(parts, parts.home.context(), "\n")


def test_a_revert_to_what_codex_would_refuse_is_refused_with_the_reason(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    summary = maker.root / "memories_v2" / "memory_summary.md"
    good = summary.read_bytes()
    bad = good.removeprefix(b"v1\n")
    summary.write_bytes(bad)
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    record = parts.runs.begin(
        parts.run_dependencies.new_record(
            "dream",
            NOW_S * 1000,
            workspace_id=None,
            project_path=None,
            trigger="manual",
            engine="rules",
            details={},
        )
    )
    transaction = parts.transaction_for(record.id, "dream")
    plan = [FileChange(root, "memory_summary.md", bad, good), FileChange(root, "new.md", None, b"x\n")]
    transaction.apply(transaction.prepare(plan), commit=lambda: None)
    parts.runs.finish(record, outcome="completed", ended_at=NOW_S * 1000)
    result = parts.reverter.revert(record.id)
    assert result.conflicts == (SUMMARY,)
    assert "first line must be exactly v1" in result.summary
    assert "changed since" not in result.summary
    assert summary.read_bytes() == good
    assert not (maker.root / "memories_v2" / "new.md").exists(), "the rest of it is taken back"


def test_a_run_cannot_write_what_codex_would_refuse_nor_into_the_other_version(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    maker.newest()
    maker.file("config.toml", '[memories]\nversion = "v2"\n')
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    good = (root.directory / "memory_summary.md").read_bytes()
    other = ScopeRoot(Scope.GLOBAL, "global", maker.memories, "global:")
    for number, change in enumerate(
        (
            FileChange(root, "memory_summary.md", good, b"no first line\n"),
            FileChange(root, "memory_summary.md", good, None),
            FileChange(other, "x.md", None, b"x\n"),
        )
    ):
        transaction = parts.transaction_for(f"1787300000000-0000abc{number}", "dream")
        before = snapshot(maker.root)
        with pytest.raises(StoreError):
            transaction.apply(transaction.prepare([change]), commit=lambda: None)
        assert snapshot(maker.root) == before


def test_a_model_is_told_of_documents_and_that_there_are_no_descriptions(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    maker.file("memories_v2/mine.md", "# Mine\n\nSomething.\n")
    parts = parts_of(maker.root, tmp_path)
    overlay = DreamOverlay(parts.home, parts.home.context(), parts.usage)
    notes = {note.path: note for note in overlay.notes(lambda: None)}
    assert (notes[SUMMARY].document, notes["/memories/global/mine.md"].document) == (True, False)
    rails = overlay.guard(budget=8, dry_run=False).rails
    assert "add no front matter" in rails_text(rails, parts.home.caps)
    assert "memory_summary.md (" in (listed := task_prompt(list(notes.values()), parts.home.caps, Fence("x")))
    assert ", document)" in listed
    guard = overlay.guard(budget=8, dry_run=False)
    edit = {"command": "insert", "path": SUMMARY, "insert_line": 4, "insert_text": "- learnt"}
    assert guard.execute(edit)["success"]
    assert not guard.execute({"command": "insert", "path": SUMMARY, "insert_line": 0, "insert_text": "x"})[
        "success"
    ]
    assert "no run deletes" in guard.execute({"command": "delete", "path": SUMMARY})["error"]


def test_no_description_is_missed_where_codex_reads_none() -> None:
    caps = CodexHome.caps
    assert lint(b"# Text\n", caps, rel="mine.md") == ()
    reads = replace(caps, descriptions=True)
    assert [found.kind for found in lint(b"# Text\n", reads, rel="mine.md")] == ["description"]


# Undo and recovery, after Codex changed the version


def begun_run(parts: HomeContainer) -> RunRecord:
    new_record = parts.run_dependencies.new_record
    return parts.runs.begin(
        new_record(
            "dream",
            NOW_S * 1000,
            workspace_id=None,
            project_path=None,
            trigger="manual",
            engine="rules",
            details={},
        )
    )


def changing_run(parts: HomeContainer, change: FileChange) -> str:
    record = begun_run(parts)
    transaction = parts.transaction_for(record.id, "dream")
    transaction.apply(transaction.prepare([change]), commit=lambda: None)
    parts.runs.finish(record, outcome="completed", ended_at=NOW_S * 1000)
    return record.id


def killed_run(parts: HomeContainer, change: FileChange, monkeypatch: pytest.MonkeyPatch) -> str:
    """As `changing_run`, killed after its files changed and before its commit point."""
    record = begun_run(parts)
    transaction = parts.transaction_for(record.id, "dream")
    journal = transaction.prepare([change])

    def die() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "roll_back", lambda *_: Recovered(False))
        with pytest.raises(KeyboardInterrupt):
            transaction.apply(journal, commit=die)
    return record.id


def home_of_version_one(maker: CodexHomeMaker) -> None:
    maker.file("memories/.git/HEAD", "x\n")
    maker.file("memories/memory_summary.md", GOOD.decode())
    maker.file("memories/old.md", "note\n")


def turn_into_version_two(maker: CodexHomeMaker) -> None:
    shutil.rmtree(maker.memories)
    maker.version_two()


def test_recovery_makes_no_memories_anew_and_lets_later_runs_begin(
    maker: CodexHomeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_of_version_one(maker)
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    run = killed_run(parts, FileChange(root, "old.md", b"note\n", None), monkeypatch)
    assert not (maker.memories / "old.md").exists()
    (maker.root / "memories.lock").unlink()
    turn_into_version_two(maker)
    before = snapshot(maker.root)
    (record,) = parts_of(maker.root, tmp_path).recovery.run()
    assert snapshot(maker.root) == before
    assert version_in_use(maker.root).name == "v2"
    assert (record.id, record.outcome) == (run, "interrupted")
    assert "Left as it is" in record.summary
    assert "Not in use" in record.summary
    assert record.conflicts == ("/memories/global/old.md",)
    assert parts.recovery.run() == ()


def test_recovery_puts_back_what_a_killed_run_changed_in_the_version_in_use(
    maker: CodexHomeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_of_version_one(maker)
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    killed_run(parts, FileChange(root, "old.md", b"note\n", None), monkeypatch)
    (record,) = parts_of(maker.root, tmp_path).recovery.run()
    assert (maker.memories / "old.md").read_text() == "note\n"
    assert record.conflicts == ()


def test_a_failed_run_puts_nothing_back_into_a_store_that_is_gone(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    home_of_version_one(maker)
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    transaction = parts.transaction_for("1787300000000-0000abcd", "dream")
    journal = transaction.prepare([FileChange(root, "old.md", b"note\n", None)])

    def switched_meanwhile() -> None:
        turn_into_version_two(maker)
        raise StoreError("No commit.")

    with pytest.raises(StoreError, match="No commit"):
        transaction.apply(journal, commit=switched_meanwhile)
    assert not maker.memories.exists()
    assert transaction.undone == Recovered(False, left=("/memories/global/old.md",))


@pytest.mark.parametrize("turned", [True, False])
def test_a_run_in_a_bucket_is_not_reverted_in_a_home_of_today(
    maker: CodexHomeMaker, tmp_path: Path, turned: bool
) -> None:
    maker.bucket("/gone/demo")
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(project_path="/gone/demo"), Scope.PROJECT)
    before = (root.directory / "MEMORY.md").read_bytes() if (root.directory / "MEMORY.md").exists() else None
    run = changing_run(parts, FileChange(root, "MEMORY.md", before, b"ours\n"))
    if turned:
        turn_into_version_two(maker)
    else:
        maker.file("memories/.git/HEAD", "x\n")
    as_it_was = snapshot(maker.root)
    parts = parts_of(maker.root, tmp_path)
    with pytest.raises(ReadOnlyStore) as refused:
        parts.reverter.revert(run)
    assert refused.value.reason == "not-in-use"
    assert ("Not in use" if turned else "per working directory") in refused.value.cause
    assert snapshot(maker.root) == as_it_was


def test_a_run_in_a_bucket_is_reverted_where_codex_still_reads_it(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.bucket("/gone/demo")
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(project_path="/gone/demo"), Scope.PROJECT)
    run = changing_run(parts, FileChange(root, "new.md", None, b"ours\n"))
    parts.reverter.revert(run)
    assert not (root.directory / "new.md").exists()


def test_recovery_while_codex_consolidates_says_so_and_leaves_the_run_open(
    maker: CodexHomeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker.version_two()
    maker.file("memories_v2/old.md", "note\n")
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    run = killed_run(parts, FileChange(root, "old.md", b"note\n", None), monkeypatch)
    with codex_consolidates(maker.root / "memories_v2.lock"):
        with pytest.raises(Busy) as busy:
            parts.recovery.run()
        assert busy.value.reason == "agent-busy"
        assert "disk" not in busy.value.next_step
        (left,) = parts.runs.unsettled()
        assert left.id == run
    parts.recovery.run()
    assert (root.directory / "old.md").read_text() == "note\n"


@pytest.mark.parametrize("what", ["codex at work", "a preview", "free"])
def test_leftovers_are_cleared_away_only_under_the_lock_of_codex(
    maker: CodexHomeMaker, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker.version_two()
    parts = parts_of(maker.root, tmp_path)
    monkeypatch.setattr(consolidation, "LEFT_OVER_AFTER_S", -60.0)  # an hour later, as it were
    left = maker.file("memories_v2/.0123456789ab.01234567.reverie-tmp", "half a wri")
    request = DreamRequest(parts.home.context(), dry_run=what == "a preview")
    with contextlib.ExitStack() as held:
        if what == "codex at work":
            held.enter_context(codex_consolidates(maker.root / "memories_v2.lock"))
        result = parts.dreams.run(request, RulesEngine())
    assert left.exists() == (what != "free"), result
    assert (result.reason == "agent-busy") == (what == "codex at work")


def test_threads_of_reverie_wait_for_each_other_and_take_none_for_codex(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.version_two()
    maker.file("memories_v2/x.md", "x\n")
    parts = parts_of(maker.root, tmp_path)
    context, locks = parts.home.context(), parts.profile.locks
    root = parts.home.scope_root(context, Scope.GLOBAL)
    holding, go_on = threading.Event(), threading.Event()

    def another_write() -> None:
        with write_locks(parts.home, [root], lock_dir=locks):
            holding.set()
            go_on.wait(30)

    other = threading.Thread(target=another_write)
    other.start()
    try:
        assert holding.wait(30)
        later = threading.Timer(2 * PATIENCE_S, go_on.set)
        later.start()
        refuse_while_agent_writes(parts.home, lock_dir=locks)
        assert go_on.is_set(), "it waited for us"
    finally:
        go_on.set()
        other.join()
    holding.clear()
    go_on.clear()
    other = threading.Thread(target=another_write)
    other.start()
    try:
        assert holding.wait(30)
        later = threading.Timer(2 * PATIENCE_S, go_on.set)
        later.start()
        text = UserEdits(parts).read(context, "/memories/global/x.md")
        UserEdits(parts).save(context, "/memories/global/x.md", "y\n", text.sha256)
    finally:
        go_on.set()
        other.join()
    assert (root.directory / "x.md").read_text() == "y\n"


def test_a_move_and_a_save_at_once_do_not_wait_for_each_other_for_ever(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    """The lock of the agent comes before that of the directory, whoever takes both."""
    maker.version_two()
    parts = parts_of(maker.root, tmp_path)
    root = parts.home.scope_root(parts.home.context(), Scope.GLOBAL)
    failed: list[UserError] = []

    def save(name: str, inside: bool) -> None:
        try:
            for number in range(10):
                with write_locks(parts.home, [root] if inside else [], lock_dir=parts.profile.locks):
                    path = f"/memories/global/{name}-{number}.md"
                    UserEdits(parts).save(parts.home.context(), path, "x\n", None)
        except UserError as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(name, name == "a")) for name in ("a", "b")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    assert len(list(root.directory.glob("[ab]-*.md"))) == 20
