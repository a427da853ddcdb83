"""Transcripts of mux as turns and compactions (formats/mux.md section 13)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reverie.agents.transcript_lines as transcript_lines
from helpers.profiles import examples
from helpers.samples import copy_sample
from reverie.agents.mux.transcript import MuxTranscript
from reverie.errors import Unavailable

ACME = "a1f3c9e2b7"


def row(sequence: Any, text: str = "hello", *, role: str = "user", **metadata: Any) -> dict[str, Any]:
    identity = f"{role}-{sequence}"
    parts = [{"type": "text", "text": text}]
    return {
        "id": identity,
        "role": role,
        "parts": parts,
        "metadata": {"historySequence": sequence, **metadata},
    }


def boundary(sequence: int, epoch: Any = 1, **metadata: Any) -> dict[str, Any]:
    marks = {"compacted": "user", "compactionBoundary": True, "compactionEpoch": epoch, **metadata}
    return row(sequence, "what was done", role="assistant", **marks)


def session(directory: Path, chat: list[Any], archive: list[Any] | None = None) -> MuxTranscript:
    for name, rows in (("chat.jsonl", chat), ("chat-archive.jsonl", archive)):
        if rows is not None:
            lines = [item if isinstance(item, str) else json.dumps(item) for item in rows]
            (directory / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return MuxTranscript(directory)


def sequences(transcript: MuxTranscript, *bounds: int | None) -> list[int]:
    return [turn.sequence for turn in transcript.turns(*bounds)]


def test_the_sample_is_read_archive_first_and_its_compaction_found(tmp_path: Path) -> None:
    transcript = MuxTranscript(copy_sample("mux-home", tmp_path) / "sessions" / ACME)
    assert sequences(transcript) == list(range(27))
    assert transcript.skipped == 0
    (found,) = transcript.boundaries()
    assert (found.summary_message_id, found.sequence, found.epoch, found.previous_sequence) == (
        "summary-1786528627809-k2ekv5pnb",
        18,
        1,
        None,
    )
    assert found.request_message_id == "user-1786528447398-k2dcyrxwm"
    turns = list(transcript.turns())
    assert [turn.kind for turn in turns if turn.kind != "message"] == ["request", "boundary"]
    assert turns[4].text.startswith("Right. Remember that I never want 409")
    assert [turn.sequence for turn in turns if not turn.finished] == [26]


def test_a_session_without_transcript_has_no_turns(tmp_path: Path) -> None:
    assert sequences(MuxTranscript(tmp_path / "nowhere")) == []
    assert MuxTranscript(tmp_path / "nowhere").boundaries() == ()


def test_a_row_in_both_files_counts_once(tmp_path: Path) -> None:
    transcript = session(tmp_path, [row(2), boundary(3), row(4)], [row(0), row(1), row(2), boundary(3)])
    assert sequences(transcript) == [0, 1, 2, 3, 4]
    assert [found.sequence for found in transcript.boundaries()] == [3]


def test_turns_are_cut_after_and_up_to(tmp_path: Path) -> None:
    transcript = session(tmp_path, [row(number) for number in range(6)])
    assert sequences(transcript, 1, 4) == [2, 3, 4]
    assert sequences(transcript, None, 0) == [0]
    assert sequences(transcript, 5) == []


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "user-1", "role": "user"',
        "[]",
        "null",
        '"text"',
        "[" * 100_000,
        json.dumps(row(None)),
        json.dumps(row(-1)),
        json.dumps(row(True)),
        json.dumps(row(1.5)),
        json.dumps({**row(9), "role": "tool"}),
        json.dumps({**row(9), "id": 7}),
        json.dumps({"id": "user-9", "role": "user", "parts": [], "metadata": []}),
    ],
)
def test_a_line_that_is_no_row_is_skipped_and_counted(tmp_path: Path, line: str) -> None:
    transcript = session(tmp_path, [row(0), line, row(1)])
    assert sequences(transcript) == [0, 1]
    assert transcript.skipped == 1


def test_odd_parts_cost_nothing_but_themselves(tmp_path: Path) -> None:
    odd = row(0)
    odd["parts"] = [None, {"type": "text", "text": 3}, {"type": "text", "text": "kept"}, {"type": "file"}]
    assert [turn.text for turn in session(tmp_path, [odd]).turns()] == ["kept"]
    odd["parts"] = "text"
    assert [turn.text for turn in session(tmp_path, [odd]).turns()] == [""]


def test_a_line_of_the_wrong_size_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_lines, "LINE_BYTES", 1000)
    transcript = session(tmp_path, [row(0), row(1, "x" * 5000), row(2)])
    assert sequences(transcript) == [0, 2]
    assert transcript.skipped == 1


def test_a_half_line_at_the_end_is_skipped(tmp_path: Path) -> None:
    transcript = session(tmp_path, [row(0)])
    with (tmp_path / "chat.jsonl").open("a") as file:
        file.write(json.dumps(row(1))[:-20])
    assert sequences(transcript) == [0]


@pytest.mark.parametrize("compacted", ["user", "idle", "heartbeat", True])
def test_every_kind_of_compaction_is_a_boundary(tmp_path: Path, compacted: Any) -> None:
    found = session(tmp_path, [row(0), boundary(1, compacted=compacted)]).boundaries()
    assert [item.sequence for item in found] == [1]


@pytest.mark.parametrize(
    "damage",
    [
        {"compacted": "manual"},
        {"compacted": False},
        {"compacted": None},
        {"compacted": ["user"]},
        {"compactionBoundary": "true"},
        {"epoch": 0},
        {"epoch": -1},
        {"epoch": "1"},
        {"epoch": True},
        {"epoch": 1.5},
    ],
)
def test_a_malformed_boundary_is_an_ordinary_row(tmp_path: Path, damage: dict[str, Any]) -> None:
    transcript = session(tmp_path, [row(0), boundary(1, **damage)])
    assert transcript.boundaries() == ()
    assert [turn.kind for turn in transcript.turns()] == ["message", "message"]


def test_a_boundary_of_the_user_is_an_ordinary_row(tmp_path: Path) -> None:
    assert session(tmp_path, [{**boundary(1), "role": "user"}]).boundaries() == ()


def test_boundaries_know_the_one_before_and_who_asked(tmp_path: Path) -> None:
    ask = row(4, "summarise", muxMetadata={"type": "compaction-request"})
    old = row(1, "summarise", cmuxMetadata={"type": "compaction-request"})
    transcript = session(
        tmp_path, [boundary(8, 3)], [row(0), old, boundary(2, 1), row(3), ask, boundary(5, 2)]
    )
    assert [
        (item.epoch, item.previous_sequence, item.request_message_id) for item in transcript.boundaries()
    ] == [
        (1, None, "user-1"),
        (2, 2, "user-4"),
        (3, 5, None),
    ]


def test_synthetic_rows_and_resets_are_told_apart(tmp_path: Path) -> None:
    rows = [row(0, synthetic=True), row(1, role="assistant", contextBoundaryKind="reset"), row(2)]
    assert [turn.kind for turn in session(tmp_path, rows).turns()] == ["synthetic", "reset", "message"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_place_of_a_transcript_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chat.jsonl")
    with pytest.raises(Unavailable, match=r"chat\.jsonl could not be read"):
        list(MuxTranscript(tmp_path).turns())


def test_reading_changes_nothing(tmp_path: Path) -> None:
    transcript = session(tmp_path, [row(0), boundary(1)])
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    list(transcript.turns())
    transcript.boundaries()
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "role", "parts", "metadata", "historySequence", "compactionBoundary", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(json_values, max_size=6))
def test_no_row_whatever_it_holds_stops_the_reading(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    transcript = session(tmp_path_factory.mktemp("session"), [json.dumps(item) for item in rows] + [row(99)])
    assert 99 in sequences(transcript)
    transcript.boundaries()


def test_a_transcript_too_large_to_be_read_from_its_beginning_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"")
    os.truncate(path, 10 << 30)
    with pytest.raises(Unavailable, match="at most 1,073,741,824"):
        MuxTranscript(tmp_path).boundaries()
