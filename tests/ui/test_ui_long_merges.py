"""A long text is compared with the version on disk off the GUI thread, and the editor stays usable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QPalette, QTextCursor

from helpers.co_typists import CoTypists, LateLane, Tally
from reverie.text import matching as sequences
from reverie.text import text_merge
from reverie.ui.appearance import theme_of
from reverie.ui.editor import line_breaks
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.merge_steps import CHARS_AT_ONCE, MOST_EDITS, edits_between
from reverie.ui.jobs import Lane

LONG = [f"Line {number} of a memory about deployments." for number in range(2_000)]
SHORT = LONG[:100]


class Jobs(LateLane):
    """A lane that compares versions on the thread of a real one, and does the rest at once."""

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self.lane = lane

    def submit(self, name: str, work: Any, *, done: Any, failed: Any = None, **others: Any) -> None:
        if name == "compare versions":
            self.lane.submit(name, work, done=done, failed=failed, **others)
        else:
            super().submit(name, work, done=done, failed=failed)


class Opened:
    """A file, and the threads on which its lines were matched."""

    def __init__(self, directory: Path, lane: Lane, threads: list[threading.Thread]) -> None:
        self.pair = CoTypists(1, directory, Tally(), theme_of(QPalette()), Jobs(lane))
        self.lane, self.threads = lane, threads

    def show(self, lines: list[str]) -> OpenFile:
        self.write(lines)
        self.threads.clear()
        return self.pair.file

    def write(self, lines: list[str]) -> None:
        self.pair.path.write_text("\n".join(lines) + "\n")
        self.pair.look()

    def wait(self, qtbot: Any) -> None:
        qtbot.waitUntil(lambda: not self.lane.busy, timeout=20_000)

    @property
    def here(self) -> int:
        """How often lines were matched on the GUI thread."""
        return self.threads.count(threading.main_thread())


@pytest.fixture
def opened(qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    threads: list[threading.Thread] = []
    matching = sequences.matching

    def counting(*args: Any) -> Any:
        threads.append(threading.current_thread())
        return matching(*args)

    for module in (text_merge, line_breaks):
        monkeypatch.setattr(module, "matching", counting)
    lane = Lane("long merges")
    made = Opened(tmp_path, lane, threads)
    yield made
    made.pair.close()
    lane.stop()


def typed(file: OpenFile, line: int, text: str) -> None:
    QTextCursor(file.document.findBlockByNumber(line)).insertText(text)


def replaced(lines: list[str], **new: str) -> list[str]:
    return [new.get(f"line{number}", line) for number, line in enumerate(lines)]


def test_a_long_conflict_is_merged_and_decided_in_jobs(qtbot: Any, opened: Opened) -> None:
    assert sum(map(len, LONG)) > CHARS_AT_ONCE
    file = opened.show(LONG)
    opened.wait(qtbot)
    opened.threads.clear()
    typed(file, 3, "mine ")
    opened.write(replaced(LONG, line3="theirs", line900="also theirs"))
    assert (file.conflicts, file.read_only) == ((), False), "it can be edited meanwhile"
    opened.wait(qtbot)
    assert [(each.mine, each.theirs) for each in file.conflicts] == [(("mine " + LONG[3],), ("theirs",))]
    assert file.text.split("\n")[900] == "also theirs"
    file.decide(0, "theirs")
    opened.wait(qtbot)
    assert (file.conflicts, file.buffer.banner) == ((), "")
    assert file.text.split("\n")[3] == "theirs"
    file.document.undo()
    opened.wait(qtbot)
    assert (len(file.conflicts), file.buffer.banner) == (1, "conflict")
    assert opened.threads
    assert opened.here == 0


def test_a_merge_is_done_again_if_the_text_has_changed_meanwhile(qtbot: Any, opened: Opened) -> None:
    file = opened.show(LONG)
    opened.wait(qtbot)
    typed(file, 3, "mine ")
    opened.write(replaced(LONG, line900="theirs"))
    typed(file, 5, "also mine ")
    opened.wait(qtbot)
    lines = file.text.split("\n")
    assert (lines[3], lines[5], lines[900]) == ("mine " + LONG[3], "also mine " + LONG[5], "theirs")
    assert (file.buffer.banner, file.buffer.modified) == ("", True)
    assert file.buffer.base == file.buffer.disk


def test_of_two_versions_that_arrive_the_newer_is_shown(qtbot: Any, opened: Opened) -> None:
    file = opened.show(LONG)
    opened.wait(qtbot)
    typed(file, 3, "mine ")
    opened.write(replaced(LONG, line900="theirs"))
    opened.write(LONG)
    opened.wait(qtbot)
    lines = file.text.split("\n")
    assert (lines[3], lines[900]) == ("mine " + LONG[3], LONG[900])
    assert file.buffer.disk is not None
    assert file.buffer.disk.content == "\n".join(LONG) + "\n"


def test_a_long_version_without_typed_text_is_compared_in_a_job(qtbot: Any, opened: Opened) -> None:
    file = opened.show(LONG)
    opened.wait(qtbot)
    opened.threads.clear()
    opened.write(replaced(LONG, line3="theirs", line900="also theirs"))
    assert file.text.split("\n")[3] == LONG[3]
    opened.wait(qtbot)
    assert file.text.split("\n")[3] == "theirs"
    assert len(file.arrived.spans) == 2
    assert not file.buffer.modified
    assert opened.threads
    assert opened.here == 0


def test_a_short_conflict_is_merged_at_once(opened: Opened) -> None:
    file = opened.show(SHORT)
    typed(file, 3, "mine ")
    opened.write(replaced(SHORT, line3="theirs"))
    assert len(file.conflicts) == 1
    assert opened.here == len(opened.threads) > 0


def test_very_many_changes_become_one_edit(qtbot: Any, opened: Opened) -> None:
    file = opened.show(LONG)
    opened.wait(qtbot)
    changed = [line + " theirs" * (number % 4 == 0) for number, line in enumerate(LONG)]
    assert len(LONG) // 4 > MOST_EDITS
    assert len(edits_between("\n".join(LONG), "\n".join(changed))[0]) == 1
    few = "\n".join(changed[:400] + LONG[400:])
    assert len(edits_between("\n".join(LONG), few)[0]) == 100
    opened.write(changed)
    opened.wait(qtbot)
    assert file.text == "\n".join(changed) + "\n"
