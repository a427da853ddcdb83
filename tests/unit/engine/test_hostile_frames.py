"""Both ends of the engine's wire against bad frames over real sockets."""

from __future__ import annotations

from pathlib import Path

from helpers.expect_log import ExpectLog
from helpers.hostile_frames import send_hostile_frames

FRAMES = 1_500


def test_each_bad_frame_ends_in_a_closed_connection_and_a_sentence(
    tmp_path: Path, expect_log: ExpectLog
) -> None:
    expect_log("nonsense", count=None)
    sent = send_hostile_frames(tmp_path, frames=FRAMES, seed=20_261_125)
    assert sent.problems == []
    assert sent.ends.total() == FRAMES
