"""Extraction end to end with the rules: traces, index and handbook; what is selected again and what not; what
else of the home changes, which is nothing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import contents
from helpers.codex_home import CodexHomeMaker, talk, thread_id, varied_rollouts
from helpers.extraction import CWD, NOW, OTHER, age, extract, ids, memory_of, parts_of, small_home, traces_of
from helpers.model_runs import write_settings
from helpers.rollouts import START, meta
from helpers.watching import wait_until
from reverie.agents.capabilities import Thread
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.locations import bucket_of
from reverie.cli import main
from reverie.errors import StoreError
from reverie.jobs.extraction.service import ExtractProgress
from reverie.jobs.extraction.stage_one import StageOneOutput, extracted, is_structured
from reverie.services.host import Host


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return small_home(tmp_path / "codex").root


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


def test_rollouts_become_traces_an_index_and_a_handbook(home: Path, profile: Path) -> None:
    before = contents(home)
    told: list[ExtractProgress] = []
    result = extract(home, profile, progress=told.append)
    assert result.outcome == "completed", result
    assert [end.id for end in result.rollouts] == ids(3, 2, 1)
    memory = memory_of(home)
    assert traces_of(home) == ids(1, 2, 3)
    trace = (memory / "trace_summaries" / f"{thread_id(1)}_fix_the_build_part_1.md").read_text()
    header, _blank, body = trace.partition("\n\n")
    assert header.splitlines()[0] == f"thread_id: {thread_id(1)}"
    assert header.splitlines()[1] == f"cwd: {CWD}"
    assert is_structured(body)
    assert "Outcome: success" in body
    assert "`make test` ended with 2" in body
    assert "it worked" in body
    index = (memory / "memory_summary.md").read_text().splitlines()
    assert index[:3] == ["# Memory Summary", "", "Map of concise summaries to trace IDs (latest first):"]
    assert [line.rpartition("`")[0].rpartition("`")[2] for line in index[4:]] == ids(3, 2, 1)
    assert "Worked here: 'make test'" in (memory / "MEMORY.md").read_text().replace("`", "'")
    after = contents(home)
    bucket = f"memories/{bucket_of(CWD)}/memory/"
    assert {name: data for name, data in after.items() if not name.startswith(bucket)} == before
    stages = [each.stage for each in told if each.id == thread_id(1)]
    assert (stages[0], stages[-1]) == ("waiting", "persisted")
    assert told[-1].stage == "consolidated"


def test_an_extraction_waits_for_a_dream_longer_than_it_may_think_and_says_so(
    home: Path, profile: Path
) -> None:
    parts, told = parts_of(home, profile), list[ExtractProgress]()
    write_settings(profile, "[extract]\ntime_limit_s = 2\n")
    dream = parts.leases.acquire(f"dream:{parts.home_id}", purpose="a dream")
    waiting = threading.Timer(3, dream.release)
    waiting.start()
    result = extract(home, profile, progress=told.append)
    waiting.join()
    assert result.outcome == "completed", result
    texts = {each.text for each in told if each.stage == "waiting"}
    assert any(text.startswith("This is already being done: a dream.") for text in texts)


def test_a_second_run_selects_nothing_and_a_touched_thread_is_selected_again(
    home: Path, profile: Path
) -> None:
    extract(home, profile)
    before = contents(home)
    again = extract(home, profile)
    assert (again.outcome, again.candidates, again.rollouts, again.directories) == ("unchanged", 0, (), ())
    assert {skipped.reason for skipped in again.skipped} == {"up-to-date"}
    assert contents(home) == before
    rollout = next((home / "sessions").rglob(f"*{thread_id(2)}.jsonl"))
    os.utime(rollout, (START + 5000, START + 5000))
    assert [end.id for end in extract(home, profile).rollouts] == ids(2)
    index = (memory_of(home) / "memory_summary.md").read_text()
    assert index.index(thread_id(2)) < index.index(thread_id(3)), "it is the newest now"
    assert traces_of(home) == ids(1, 2, 3), "one file per thread"


@pytest.mark.parametrize("told_by", ["database", "traces"])
def test_what_codex_extracted_itself_is_not_done_again(tmp_path: Path, profile: Path, told_by: str) -> None:
    maker = small_home(tmp_path / "codex")
    maker.bucket(CWD, threads=(1, 2, 3))
    for trace in (memory_of(maker.root) / "trace_summaries").iterdir():
        number = ids(1, 2, 3).index(trace.name.partition("_")[0]) + 1
        at = datetime.fromtimestamp(START + number * 60, UTC).isoformat()
        text = trace.read_text().replace("2026-02-09T10:00:00Z", at)
        trace.write_text(text if told_by == "traces" else text.replace("updated_at:", "seen_at:"))
    if told_by == "database":
        rows = [f"('{thread}', 'x', 's', {START + n * 60})" for n, thread in enumerate(ids(1, 2, 3), 1)]
        maker.database(
            "state.sqlite",
            "CREATE TABLE thread_memory"
            " (thread_id TEXT, trace_summary TEXT, memory_summary TEXT, updated_at INTEGER)",
            f"INSERT INTO thread_memory VALUES {', '.join(rows)}",
        )
    before = contents(maker.root)
    result = extract(maker.root, profile)
    assert {each.reason for each in result.skipped} == {"up-to-date"}
    assert (result.summary, contents(maker.root)) == ("There is nothing to extract.", before)
    # What went on since is.
    age(next(maker.root.rglob(f"rollout-*{thread_id(2)}.jsonl")), 9)
    assert [end.id for end in extract(maker.root, profile).rollouts] == ids(2)


def test_a_rollout_that_still_grows_is_left_for_the_next_time(home: Path, profile: Path) -> None:
    rollout = next((home / "sessions").rglob(f"*{thread_id(3)}.jsonl"))
    os.utime(rollout, (NOW / 1000 - 5, NOW / 1000 - 5))
    result = extract(home, profile)
    assert [end.id for end in result.rollouts] == ids(2, 1)
    assert [(each.thread.id, each.reason) for each in result.skipped] == [(thread_id(3), "active")]


def test_every_shape_of_rollout_is_read_and_broken_ones_stop_no_other(tmp_path: Path, profile: Path) -> None:
    maker = CodexHomeMaker(tmp_path / "codex")
    varied_rollouts(maker, CWD)
    for number, path in enumerate(sorted((maker.root / "sessions").rglob("rollout-*")), start=1):
        age(path, number)
    maker.bucket(OTHER)
    maker.state(maker.thread_row(1, CWD, "Größe ändern"))
    (profile / "config").mkdir(parents=True)
    (profile / "config" / "config.toml").write_text("[extract]\nmax_rollouts = 20\n")
    before = contents(maker.root)
    result = extract(maker.root, profile)
    reasons = {each.thread.id: each.reason for each in result.skipped}
    assert reasons[thread_id(11)] == "sub-agent"
    assert reasons[thread_id(12)] == "archived"
    assert reasons[thread_id(14)] == "no-directory"
    failed = {end.id: end.reason for end in result.rollouts if not end.succeeded}
    assert failed == {}
    assert {end.id for end in result.rollouts} == set(ids(*range(1, 8), 9, 10, 13))
    names = [path.name for path in (memory_of(maker.root) / "trace_summaries").iterdir()]
    assert f"{thread_id(1)}_gr_e_ndern.md" in names
    after = contents(maker.root)
    bucket = f"memories/{bucket_of(CWD)}/memory/"
    assert {name: data for name, data in after.items() if not name.startswith(bucket)} == before
    events = {entry.event for entry in parts_of(maker.root, profile).activity.read()}
    assert {"extract.candidates", "extract.persisted", "extract.parse-errors"} <= events
    assert {"extract.consolidation-started", "extract.consolidation-finished"} <= events


def test_ten_traces_stay_and_the_handbook_keeps_what_the_others_taught(tmp_path: Path, profile: Path) -> None:
    home = small_home(tmp_path / "codex", range(1, 13)).root
    extract(home, profile)
    extract(home, profile)
    assert len(traces_of(home)) == 10
    assert traces_of(home) == ids(*range(3, 13))
    assert extract(home, profile).candidates == 0


def test_a_persons_own_section_and_skills_outlive_the_rules(home: Path, profile: Path) -> None:
    memory = memory_of(home)
    (memory / "skills" / "release").mkdir(parents=True)
    (memory / "skills" / "release" / "SKILL.md").write_bytes(b"# Release\n\xff")
    (memory / "MEMORY.md").write_text(
        "# Memory\n\n## Mine\n\nKeep this.\n\n## User preferences\n\n- Always tabs\n"
    )
    (memory / "consolidated.md").write_text("old\n")
    (memory / "notes.md").write_text("mine\n")
    assert extract(home, profile).succeeded
    told = (memory / "MEMORY.md").read_text()
    assert "## Mine\n\nKeep this.\n" in told
    assert "- Always tabs" in told
    assert (memory / "skills" / "release" / "SKILL.md").read_bytes() == b"# Release\n\xff"
    assert not (memory / "consolidated.md").exists()
    assert (memory / "notes.md").read_text() == "mine\n"


def test_runs_are_listed_and_can_be_taken_back(home: Path, profile: Path) -> None:
    extract(home, profile)
    parts = parts_of(home, profile)
    records = parts.runs.all()
    assert {record.kind for record in records} == {"extract"}
    assert [record.details["stage"] for record in records].count(2) == 1
    for record in records:
        parts.reverter.revert(record.id)
    assert [path for path in memory_of(home).rglob("*") if path.is_file()] == []
    again = extract(home, profile, trigger="launch")
    assert again.candidates == 0, "what a person took back does not come again by itself"


def test_after_its_extraction_was_taken_back_a_thread_is_a_candidate_again(home: Path, profile: Path) -> None:
    before = extract(home, profile)
    parts = parts_of(home, profile)
    written = memory_of(home) / "MEMORY.md"
    text = written.read_bytes()
    reverts = [parts.reverter.revert(record.id) for record in parts.runs.all()]
    assert extract(home, profile, trigger="launch").candidates == 0
    again = extract(home, profile)
    assert {end.id for end in again.rollouts} == {end.id for end in before.rollouts}
    assert written.read_bytes() == text, "it is consolidated again, too"
    assert extract(home, profile).candidates == 0, "once"
    assert len(reverts) == len(before.rollouts) + 1


def test_what_a_deleted_thread_taught_stays(tmp_path: Path, profile: Path) -> None:
    maker = small_home(tmp_path / "codex")
    home = maker.root
    maker.state(*(maker.thread_row(number, CWD) for number in (1, 2, 3)))
    extract(home, profile)
    next((home / "sessions").rglob(f"*{thread_id(2)}.jsonl")).unlink()
    maker.database("state_5.sqlite", f"DELETE FROM threads WHERE id = '{thread_id(2)}'")
    before = contents(home)
    assert extract(home, profile).outcome == "unchanged"
    assert contents(home) == before
    assert {thread.id for thread in CodexHome(home, tmp_path / "cache").threads()} == set(ids(1, 3))
    age(maker.rollout(4, talk(4, CWD, "Fix the docs")), 900)
    assert [end.id for end in extract(home, profile).rollouts] == ids(4)
    assert traces_of(home) == ids(1, 2, 3, 4)
    assert thread_id(2) in (memory_of(home) / "memory_summary.md").read_text()


def test_cancelling_ends_at_once_and_leaves_nothing_half_done(home: Path, profile: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    result = extract(home, profile, cancel=cancel)
    assert (result.outcome, result.reason) == ("cancelled", "cancelled")
    assert not memory_of(home).exists()
    assert extract(home, profile).succeeded


def test_a_row_that_cannot_be_kept_takes_its_trace_back(
    home: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.errors import Unavailable
    from reverie.jobs.extraction.state import ExtractState, ThreadRow

    real = ExtractState.put

    def put(self: ExtractState, row: ThreadRow, *, after: str | None) -> bool:
        if row.thread_id == thread_id(2):
            raise Unavailable("The disk is full.")
        return real(self, row, after=after)

    monkeypatch.setattr(ExtractState, "put", put)
    result = extract(home, profile)
    assert [(end.id, end.outcome) for end in result.rollouts if not end.succeeded] == [
        (thread_id(2), "failed")
    ]
    assert traces_of(home) == ids(1, 3), "the others are there, and no orphan"
    assert thread_id(2) not in (memory_of(home) / "memory_summary.md").read_text()
    monkeypatch.undo()
    assert [end.id for end in extract(home, profile).rollouts] == ids(2)


def test_an_extraction_that_another_one_overtook_is_interrupted_and_no_failure_of_the_rollout(
    home: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.jobs.extraction.state import ExtractState, ThreadRow

    real = ExtractState.put

    def put(self: ExtractState, row: ThreadRow, *, after: str | None) -> bool:
        return row.thread_id != thread_id(2) and real(self, row, after=after)

    monkeypatch.setattr(ExtractState, "put", put)
    result = extract(home, profile)
    (end,) = [end for end in result.rollouts if not end.succeeded]
    assert (end.id, end.outcome, end.next_step) == (
        thread_id(2),
        "interrupted",
        "You do not need to do anything.",
    )
    assert end.summary.startswith("Another extraction of this session finished first")
    assert traces_of(home) == ids(1, 3), "what was written is put back"
    monkeypatch.undo()
    assert [end.id for end in extract(home, profile).rollouts] == ids(2), "it did not lose its place"
    kept = {record.id: record.outcome for record in parts_of(home, profile).runs.all()}
    assert kept[end.run_id] == "interrupted", "its record was settled by the next run"


def test_the_command_tells_in_json_and_in_words(
    home: Path, profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--profile", str(profile), "--home", str(home), "--now", str(NOW)]
    assert main([*base, "--json", "extract", "--dry-run"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert [each["threadId"] for each in planned["candidates"] if each["chosen"]] == ids(3, 2, 1)
    assert not any((home / "memories").iterdir())
    assert main([*base, "--json", "extract"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["outcome"], answer["engine"], answer["candidates"]) == ("completed", "rules", 3)
    assert len(answer["directories"]) == 1
    assert main([*base, "extract"]) == 0
    assert "There is nothing to extract." in capsys.readouterr().out
    assert main([*base, "extract", "--engine", "nobody:x"]) == 1


def test_a_home_of_another_agent_is_told_so(
    tmp_path: Path, profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from helpers.samples import copy_sample

    home = copy_sample("mux-home", tmp_path)
    assert main(["--profile", str(profile), "--home", str(home), "--json", "extract"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"] == "not-codex"


def test_the_background_services_extract_only_when_that_is_switched_on(home: Path, profile: Path) -> None:
    def start(event: str) -> None:
        parts = parts_of(home, profile)
        host = Host(parts)
        host.start()
        wait_until(lambda: any(entry.event == event for entry in parts.activity.read()), event)
        host.stop()

    start("extract.disabled")
    assert not any((home / "memories").iterdir())
    (profile / "config").mkdir(parents=True, exist_ok=True)
    (profile / "config" / "config.toml").write_text("[extract]\nat_launch = true\n")
    start("extract.consolidation-finished")
    assert traces_of(home) == ids(1, 2, 3)
    assert parts_of(home, profile).runs.all()[0].trigger == "launch"


def test_a_talk_that_was_half_written_counts_when_it_is_whole(tmp_path: Path, profile: Path) -> None:
    maker = small_home(tmp_path / "codex", [1])
    path = maker.rollout(2, [*talk(2, CWD), '{"timestamp":"2026'])
    age(path, 2)
    assert extract(maker.root, profile).succeeded
    age(maker.rollout(2, [*talk(2, CWD), *talk(2, CWD, "And the docs")[2:]]), 50)
    extract(maker.root, profile)
    names = {path.name: path for path in (memory_of(maker.root) / "trace_summaries").iterdir()}
    assert any("And the docs" in path.read_text() for path in names.values())


def test_what_a_killed_process_was_writing_is_swept_once_it_is_old(
    home: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(home)
    (memory / "trace_summaries").mkdir(parents=True)
    half = [
        memory / ".0123456789ab.01234567.reverie-tmp",
        memory / "skills" / ".0123456789ab.89abcdef.reverie-tmp",
    ]
    half[1].parent.mkdir()
    for path in half:
        path.write_text("half")
    extract(home, profile)
    assert all(path.exists() for path in half), "somebody may be at it"
    age(next((home / "sessions").rglob(f"*{thread_id(1)}.jsonl")), 500)
    monkeypatch.setattr("reverie.jobs.extraction.service.LEFT_OVER_AFTER_S", -1.0)
    extract(home, profile)
    assert not any(path.exists() for path in half)


def test_a_rollout_with_nothing_to_remember_is_looked_at_once_and_takes_no_place(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    maker = small_home(tmp_path / "codex", ())
    for number in range(2, 12):
        age(maker.rollout(number, [meta(thread_id(number), CWD)]), number)
    age(maker.rollout(1, talk(1, CWD, "Fix the build")), 1)
    first = extract(maker.root, profile)
    assert (first.outcome, {end.outcome for end in first.rollouts}) == ("completed", {"unchanged"}), first
    assert not any((maker.root / "memories").iterdir())
    second = extract(maker.root, profile)
    assert [end.outcome for end in second.rollouts] == ["unchanged", "unchanged", "completed"], second
    assert traces_of(maker.root) == ids(1)
    assert extract(maker.root, profile).outcome == "unchanged"
    path = maker.rollout(5, talk(5, CWD, "Now something"))
    age(path, 20)
    assert [end.id for end in extract(maker.root, profile).rollouts] == ids(5)


def test_rollouts_that_always_fail_keep_no_other_out(
    tmp_path: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(thread: Thread, items: Any, statements: Any) -> StageOneOutput:
        if thread.id != thread_id(1):
            raise StoreError("Not this one.")
        return extracted(thread, items, statements)

    monkeypatch.setattr("reverie.jobs.extraction.stage_one.extracted", failing)
    home = small_home(tmp_path / "codex", range(1, 10)).root
    assert [end.outcome for end in extract(home, profile).rollouts] == ["failed"] * 8
    second = extract(home, profile)
    assert [end.id for end in second.rollouts if end.succeeded] == ids(1), second
    assert len(second.rollouts) == 8
    monkeypatch.undo()
    assert len(extract(home, profile).rollouts) == 8, "a failure is no reason never to try again"


def test_the_name_of_a_trace_holds_no_secret_of_its_title(tmp_path: Path) -> None:
    maker = small_home(tmp_path / "codex", ())
    age(maker.rollout(1, talk(1, CWD, "Use sk-ABCDEFGHIJKLMNOPQRSTUVWX now")), 1)
    extract(maker.root, tmp_path / "profile")
    (trace,) = (memory_of(maker.root) / "trace_summaries").iterdir()
    assert trace.name == f"{thread_id(1)}_use_redacted_secret_now.md"


def test_the_tree_says_which_files_the_agent_makes_anew(
    home: Path, profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extract(home, profile)
    where = ("--home", str(home), "--profile", str(profile), "--project", CWD)
    assert main(["tree", *where, "--json"]) == 0
    nodes = {node["path"]: node for node in flat(json.loads(capsys.readouterr().out))}
    assert "rule" not in nodes["/memories/project/MEMORY.md"]
    assert nodes["/memories/project/memory_summary.md"]["rule"] == "generated"
    assert nodes["/memories/project/memory_summary.md"]["ruleReason"].endswith("a change would be lost.")
    assert main(["tree", *where]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "memory_summary.md" in each]
    assert ", generated]" in line


def flat(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from flat(node.get("children", []))


def test_a_write_protected_trace_stays_and_keeps_no_other_from_being_written(tmp_path: Path) -> None:
    home, profile = tmp_path / "home", tmp_path / "profile"
    maker = small_home(home, (1,))
    assert extract(home, profile).succeeded
    traces = memory_of(home) / "trace_summaries"
    (oldest,) = traces.iterdir()
    text = oldest.read_text()
    oldest.chmod(0o444)
    for number in range(20, 32):
        (traces / f"t{number}_later.md").write_text(
            text.replace(thread_id(1), f"t{number}").replace("updated_at: 2", "updated_at: 3")
        )
    age(maker.rollout(2, talk(2, CWD, "Fix the build, part 2")), 2)
    done = extract(home, profile)
    assert done.succeeded, done
    assert oldest.read_text() == text


@pytest.mark.parametrize("name", ["memory_summary.md", "consolidated.md"])
def test_a_write_protected_file_is_passed_over_and_named_where_a_run_writes_others(
    home: Path, profile: Path, name: str
) -> None:
    extract(home, profile)
    memory = memory_of(home)
    kept, handbook = memory / name, memory / "MEMORY.md"
    kept.write_text("as a person left it\n")
    kept.chmod(0o444)
    handbook.unlink()
    rollout = next((home / "sessions").rglob(f"*{thread_id(2)}.jsonl"))
    os.utime(rollout, (START + 5000, START + 5000))
    result = extract(home, profile)
    assert result.outcome == "completed", result
    assert kept.read_text() == "as a person left it\n"
    assert traces_of(home) == ids(1, 2, 3)
    assert "Worked here" in handbook.read_text()
    parts = parts_of(home, profile)
    said = f"Left as it is, because write-protected: /memories/project/{name}."
    named = [run for run in parts.runs.all() if said in run.summary]
    assert named
    assert not any(op["path"].endswith(name) for run in named for op in run.ops)
