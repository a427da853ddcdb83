"""The tour walks through a window without a display and says truthfully whether it worked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

import dev
from helpers.isolation import TEST_PROFILE
from helpers.samples import SAMPLES, snapshot

AUDITED = ("-m", "helpers.audited_tour")
"""The same tour with every picture audited."""


def tour(
    *arguments: str, program: tuple[str, ...] = (str(dev.PICTURES),)
) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, *program, *arguments]
    places = (Path(__file__).parent.parent, dev.PICTURES.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    return subprocess.run(call, env=environment, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.skipif(TEST_PROFILE != "campaign", reason="the campaign takes every picture")
def test_it_shows_everything_and_touches_a_copy_only(tmp_path: Path) -> None:
    home = SAMPLES / "mux-home"
    before = snapshot(home)
    done = tour(str(tmp_path / "pictures"), "--home", str(home), program=AUDITED)
    assert done.returncode == 0, done.stderr  # says what is cut off, too pale, nameless or out of reach, too
    pictures = [Path(line) for line in done.stdout.splitlines()]
    assert [picture.name for picture in pictures] == [
        "1-before.png",
        "1-editor-side.png",
        "1-editor-find.png",
        "1-editor-dark.png",
        "1-editor-narrow.png",
        "1-editor-preview.png",
        "2-choices.png",
        "3-after.png",
        "4-review.png",
        "5-sibling.png",
        "6-several-projects.png",
        "7-narrow.png",
        "8-dark.png",
        "9-settings.png",
        "10-models.png",
        "11-consent.png",
        "12-cost.png",
        "13-traces.png",
        "14-traces-dark.png",
        "15-traces-compare.png",
        "16-replay.png",
        "17-checks.png",
        "17-checks-dark.png",
        "17-checks-narrow.png",
        "18-log.png",
        "18-log-dark.png",
        "18-log-narrow.png",
        "19-system1.png",
        "20-context.png",
        "20-context-dark.png",
        "20-context-narrow.png",
        "20-search.png",
        "21-history.png",
        "22-history-dark.png",
        "23-restore.png",
        "24-history-lines.png",
        "25-history-narrow.png",
        "26-findings.png",
        "27-duplicates.png",
        "28-duplicates-dark.png",
        "29-merge.png",
        "30-duplicates-narrow.png",
        "31-trash.png",
        "32-trash-narrow.png",
        "33-orphans.png",
        "34-orphans-dark.png",
        "35-orphans-merge.png",
        "36-orphans-narrow.png",
        "37-conflict.png",
        "38-conflict-dark.png",
        "39-conflict-narrow.png",
        "40-move.png",
        "41-move-dark.png",
        "42-new.png",
        "43-selected-dark.png",
        "44-order.png",
        "45-changed-narrow.png",
        "46-palette.png",
        "47-palette-dark.png",
        "48-shortcuts.png",
        "49-window.png",
        "90-welcome.png",
        "91-welcome-narrow.png",
        "50-german.png",
        "51-german-narrow.png",
        "60-codex.png",
        "61-transcripts.png",
        "62-agent-jobs.png",
        "63-extraction.png",
        "64-extraction-dark.png",
        "65-transcripts-dark.png",
        "66-transcripts-narrow.png",
        "67-codex-narrow.png",
        "70-index.png",
        "71-index-cut-dark.png",
        "72-index-rename.png",
        "73-session-notes.png",
        "74-index-narrow.png",
        "80-lessons.png",
        "81-lessons-dark.png",
        "82-resolution.png",
        "83-anti-patterns.png",
        "85-crashes.png",
        "86-lessons-narrow.png",
        "87-crashes-narrow-dark.png",
    ]
    widths = {picture.name: QImage(str(picture)).width() for picture in pictures}
    assert {width for name, width in widths.items() if "narrow" in name} == {375}
    assert all(widths.values())
    assert snapshot(home) == before


def test_it_fails_where_there_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = tour(str(tmp_path / "pictures"), "--home", str(tmp_path / "empty"))
    assert done.returncode == 1
    assert "could not be opened" in done.stderr
    assert done.stdout == ""
