"""The traces of a home: its agent's dumps and Reverie's own, as a list and one by one, in the window and on
the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import sample_parts
from helpers.samples import SAMPLES, copy_sample, snapshot
from reverie.agents.base import TranscriptSource
from reverie.agents.mux.dumps import dump_places, watched_dumps
from reverie.cli.main import main
from reverie.errors import Ambiguous, StoreError
from reverie.services.traces import TraceService, TranscriptService

ACME = "a1f3c9e2b7"
DUMPS = f"debug_obj/{ACME}/system1_memory_writer"
LABELLED = Path(__file__).parents[2] / "labelled" / "traces"
NEWEST = "1786637112345_user-1786526102055-k1k3dlg3y"


@pytest.fixture
def desk(tmp_path: Path) -> TraceService:
    return TraceService(sample_parts("mux-home", tmp_path))


def parts_of(desk: TraceService) -> Any:
    return desk._parts


def transcripts_of(desk: TraceService) -> tuple[TranscriptService, TranscriptSource]:
    transcripts = TranscriptService(parts_of(desk))
    source = transcripts.of_workspace(ACME)
    assert source is not None
    return transcripts, source


def own_trace(desk: TraceService, name: str, started: int = 1786600000000) -> str:
    """One of the labelled traces, as if a run of Reverie had left it."""
    run_id = f"{started}-0a1b2c3d"
    document = json.loads((LABELLED / name).read_text())
    document["reverie"]["runId"] = run_id
    parts_of(desk).traces.save(run_id, document)
    return run_id


def test_the_dumps_of_a_home_are_listed_newest_first_with_their_verdict(desk: TraceService) -> None:
    rows = desk.rows()
    assert [(row.verdict, row.kind, row.workspace_id) for row in rows] == [
        ("provider-error", "writer", ACME),
        ("timed-out", "writer", ACME),
        ("tool-failed", "writer", ACME),
    ]
    assert rows[0].id == NEWEST
    assert rows[2].tokens == 2380 + 96 + 2440 + 31
    assert rows[2].as_json()["evidence"].startswith("Attempt 1, step 1, memory_write: old_string not found")
    assert rows[2].as_json()["evidenceAt"] == {"attempt": 1, "step": 1, "toolCallId": "toolu_02writemem"}


def test_traces_of_own_runs_are_in_the_same_list(desk: TraceService) -> None:
    run_id = own_trace(desk, "25-own-dream-wrote.json")
    row = next(row for row in desk.rows() if row.own)
    assert (row.id, row.kind, row.verdict, row.duration_ms) == (run_id, "dream", "wrote", 4000)
    assert [row.started_at for row in desk.rows()] == sorted(
        (row.started_at for row in desk.rows()), reverse=True
    )


def test_a_run_that_left_a_dump_as_well_is_one_line(desk: TraceService) -> None:
    run_id = own_trace(desk, "30-own-writer-timeout.json")
    own = parts_of(desk).traces.path_of(run_id)
    dump = parts_of(desk).home.root / DUMPS / "1786600000000_x.json"
    shutil.copy(own, dump)
    rows = [row for row in desk.rows() if row.started_at == 1786600000000]
    assert [row.path for row in rows] == [own]
    own.unlink()
    rows = [row for row in desk.rows() if row.started_at == 1786600000000]
    assert [row.path for row in rows] == [dump]


def test_what_was_read_is_read_again_only_when_the_file_changed(desk: TraceService) -> None:
    first = desk.rows()
    assert all(one is other for one, other in zip(first, desk.rows(), strict=True))
    path = parts_of(desk).home.root / DUMPS / f"{NEWEST}.json"
    path.write_text(path.read_text().replace("overloaded_error", "model does not support tools"))
    assert [row.verdict for row in desk.rows()] == ["no-tool-support", "timed-out", "tool-failed"]


def test_a_dump_nobody_can_read_is_a_line_that_says_so(desk: TraceService) -> None:
    directory = parts_of(desk).home.root / DUMPS
    (directory / "1786700000000_x.json").write_bytes(b"\x00\x01")
    (directory / "1786700000001_link.json").symlink_to("/etc/passwd")
    (directory / "notes.txt").write_text("nothing")
    rows = desk.rows()
    assert len(rows) == 4
    assert rows[0].verdict == "damaged"
    assert rows[0].workspace_id == ACME


def test_a_trace_is_found_by_its_name_or_the_beginning_of_it(desk: TraceService) -> None:
    assert desk.open(NEWEST).row.verdict == "provider-error"
    detail = desk.open("1786528")
    assert detail.row.verdict == "timed-out"
    assert len(desk.document("1786528")["events"]) == detail.event_count == len(detail.events) == 17
    assert detail.timeline.duration == 10_000
    with pytest.raises(Ambiguous, match="1786528692345"):
        desk.open("17865")
    with pytest.raises(StoreError, match="There is no trace"):
        desk.open("nothing")


def test_looking_at_traces_changes_nothing(desk: TraceService) -> None:
    root = parts_of(desk).home.root
    before = snapshot(root)
    for row in desk.rows():
        desk.open(row.id)
    transcripts, source = transcripts_of(desk)
    assert transcripts.open(source, message_id="x")[-1] == -1
    assert snapshot(root) == before


def test_the_message_that_triggered_a_run_is_found_in_its_transcript(desk: TraceService) -> None:
    trigger = desk.open("1786527").facts.trigger_message_id
    transcripts, source = transcripts_of(desk)
    page, _stamp, place = transcripts.open(source, message_id=trigger)
    assert place >= 0
    assert trigger in [message.id for message in page.messages]
    assert transcripts.page(source, place).messages[0].id == trigger
    assert transcripts.open(source, message_id="message-of-another-life")[-1] == -1


def test_new_dumps_are_in_the_watched_set_of_the_home(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    watched = {place.directory for place in watched_dumps(home)}
    assert {home / "debug_obj", home / "debug_obj" / ACME, home / DUMPS} <= watched
    assert dump_places(home).directories == ((ACME, home / DUMPS),)
    shutil.rmtree(home / "debug_obj")
    assert dump_places(home).directories == ()


def command(tmp_path: Path, capsys: Any, *words: str, home: Path | None = None) -> tuple[int, str, str]:
    root = home or SAMPLES / "mux-home"
    code = main(["--profile", str(tmp_path / "profile"), "--home", str(root), *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_lists_them_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = command(tmp_path, capsys, "traces", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["verdict"] for row in rows] == ["provider-error", "timed-out", "tool-failed"]
    assert {
        "id",
        "path",
        "home",
        "workspaceId",
        "kind",
        "startedAt",
        "verdict",
        "evidence",
        "attempts",
    } < set(rows[0])
    assert rows[2]["model"] == "anthropic:claude-haiku-4-5"
    assert (rows[2]["attempts"], rows[2]["startedAt"]) == (2, 1786527072345)


def test_the_command_shows_one_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = command(tmp_path, capsys, "traces", "1786527", "--json")
    shown = json.loads(out)
    assert code == 0
    assert shown["verdict"] == "tool-failed"
    assert shown["trace"]["attempts"][1]["finishReason"] == "stop"
    code, out, _err = command(tmp_path, capsys, "traces", "1786527")
    assert "memory_write: old_string not found in file." in out
    code, _out, err = command(tmp_path, capsys, "traces", "nothing")
    assert (code, "There is no trace nothing." in err) == (1, True)
    assert command(tmp_path, capsys, "traces", "17865")[0] == 2


def test_the_command_lists_several_homes_and_one_workspace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy_sample("mux-home", tmp_path)
    shutil.rmtree(other / "debug_obj" / "memories")
    code, out, _err = command(tmp_path, capsys, "--home", str(other), "traces", "--json")
    assert (code, len(json.loads(out))) == (0, 6)
    _code, out, _err = command(tmp_path, capsys, "traces", "--workspace", "other")
    assert "There are no traces." in out


def test_a_terminal_does_not_obey_what_a_trace_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = copy_sample("mux-home", tmp_path)
    path = home / DUMPS / f"{NEWEST}.json"
    path.chmod(0o600)
    path.write_text(path.read_text().replace("overloaded_error", "\\u001b[31mover"))
    for words in (("traces",), ("traces", NEWEST)):
        _code, out, _err = command(tmp_path, capsys, *words, home=home)
        assert "\x1b" not in out
        assert "\\x1b[31mover" in out
