"""One types while another rewrites the file: nothing of either is lost without a shown conflict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QPalette
from ui_windows import Driver, Windows

from helpers.co_typists import WORD, CoTypists, LateLane, Tally, run_co_typists
from helpers.isolation import TEST_PROFILE
from reverie.ui.appearance import theme_of
from reverie.ui.editor import buffer as state
from reverie.ui.editor import merge_steps
from reverie.ui.editor.documents import OpenFile

WINDOW_ROUNDS = 400 if TEST_PROFILE == "campaign" else 12
ROUNDS = 2_000 if TEST_PROFILE == "campaign" else 500  # and ten thousand in the campaign itself
REL = "memory/project/acme-api-db553efff149/both.md"


class InAWindow(CoTypists):
    """The same two in a real window: watcher, scan, store and jobs are the real ones."""

    def __init__(self, seed: int, driver: Driver, tally: Tally) -> None:
        self.driver = driver
        self.keep_ledger(seed, driver.home / REL, tally)
        driver.until(lambda: "both.md" in driver.paths())
        self.buffers = driver.tab.buffers
        self.file = driver.open("/memories/project/both.md")
        self.look()

    def look(self) -> None:
        self.driver.until(self._is_seen)

    def settle(self) -> None:
        self.driver.until(lambda: not self.file.saving and self._is_seen())

    def _is_seen(self) -> bool:
        disk = self.file.buffer.disk
        if disk is None or not self.path.exists():
            return disk is None and not self.path.exists()
        return disk.content == self.path.read_bytes().decode("utf-8", "replace")


def test_hundreds_of_rounds_lose_no_word_without_a_shown_conflict(qapp: object, tmp_path: Path) -> None:
    tally = run_co_typists(tmp_path, rounds=ROUNDS, seed=20_261_121)
    assert not tally.problems, "\n".join(tally.lines())
    assert tally.rounds == ROUNDS
    assert (
        min(tally.events[each] for each in ("saved", "decide", "conflicts shown", "take back")) > ROUNDS / 20
    )


class Late(CoTypists):
    """The same two, with versions compared in jobs whose results come while the person goes on typing."""

    def __init__(self, seed: int, directory: Path, tally: Tally) -> None:
        self.lane = LateLane()
        super().__init__(seed, directory, tally, theme_of(QPalette()), self.lane)

    def settle(self) -> None:
        self.tally.events["delivered"] += self.lane.deliver()

    def _step(self, act: Any) -> None:
        if self.random.random() < 0.5:
            before = set(WORD.findall(self.file.text))
            self.settle()
            gone = (self.unsaved & before) - set(WORD.findall(self.file.text))
            if gone:
                self.tally.problems.append(f"seed {self.seed}: a late result took {sorted(gone)}")
        super()._step(act)

    def _check(self, act: str, before: set[str]) -> None:
        if not self.lane.waiting:
            super()._check(act, before)


def test_rounds_with_late_comparisons_lose_no_word(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_steps, "CHARS_AT_ONCE", -1)
    tally = Tally()
    for seed in range(ROUNDS // 25):
        pair = Late(seed, tmp_path, tally)
        while tally.rounds < 25 * (seed + 1) and not tally.problems:
            pair.round()
        pair.settle()
        pair.close()
    assert not tally.problems, "\n".join(tally.lines())
    assert min(tally.events[each] for each in ("saved", "decide", "conflicts shown")) > ROUNDS / 20
    assert tally.events["delivered"] > ROUNDS


def test_rounds_in_a_real_window_lose_no_word(windows: Windows, home: Path) -> None:
    (home / REL).write_bytes(b"")
    driver, tally = windows.open(home), Tally()
    pair = InAWindow(7, driver, tally)
    while tally.rounds < WINDOW_ROUNDS and not tally.problems:
        pair.round()
    assert not tally.problems, "\n".join(tally.lines())
    assert tally.events["saved"] > 1


def test_a_draft_of_a_half_decided_text_asks_about_the_rest_again(qapp: object, tmp_path: Path) -> None:
    pair = CoTypists(1, tmp_path, Tally(), theme_of(QPalette()))
    file, buffers = pair.file, pair.buffers
    pair.path.write_text("1\n2\n3\n4\n5\n")
    pair.look()
    file.retype("1m\n2\n3\n4\n5m\n")
    pair.path.write_bytes(b"1t\r\n2\r\n3t\r\n4\r\n5t\r\n")
    pair.look()
    assert file.text == "1m\n2\n3t\n4\n5m\n"
    file.decide(0, "theirs")
    assert [conflict.theirs for conflict in file.conflicts] == [("5t",)]
    # What the keeper writes, and what the next start makes of it.
    base, content, disk = file.buffer.base, file.content, file.buffer.disk
    assert content == "1t\r\n2\r\n3t\r\n4\r\n5m\r\n"
    blank = state.Buffer(file.buffer.ref, file.buffer.address, base, disk)
    again = OpenFile(blank, theme_of(QPalette()), buffers, lambda _file, _group, work, done: done(work()))
    again.retype(content)
    again.buffer = state.from_draft(blank, base, base, disk)
    again.recheck()
    assert [conflict.theirs for conflict in again.conflicts] == [("5t",)]
    again.decide(0, "both")
    assert again.content == "1t\r\n2\r\n3t\r\n4\r\n5m\r\n5t\r\n"
    assert disk is not None
    assert again.buffer.expected_sha256 == disk.sha256
    pair.close()
