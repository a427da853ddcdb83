"""Whoever changed a memory, and whatever happened since: Undo brings back exactly what was there before and
keeps what came later, or it says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import pytest
from ui_windows import ACME, Windows

from helpers.forked_commands import run_command
from helpers.profiles import a_share
from reverie.ui.memory import inspector

PATH = "/memories/workspace/scratch.md"
BEFORE = (
    "# scratch\n\nThe loop of 409 answers ends after five retries.\n\n"
    "- [x] reproduce the 409 loop\n- [ ] write the regression test\n\nEnd.\n"
)
MINE, LATER = "My own line.\n", "A later line.\n"
Who = Literal["consolidation", "agent", "another program", "you"]
When = Literal["at once", "once seen", "after a restart", "with an own line", "with a later change"]
AT = pytest.mark.parametrize("when", get_args(When))
BOTH = pytest.mark.parametrize(("who", "when"), a_share(product(get_args(Who), get_args(When))))
BY = {"consolidation": "by a consolidation", "agent": "by the agent", "another program": "by another program"}


@pytest.fixture(autouse=True)
def _in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offscreen no window is in front."""
    monkeypatch.setattr("PySide6.QtWidgets.QWidget.isActiveWindow", lambda _widget: True)


class Case:
    """One memory in a window, and the programs beside it, each a process of its own."""

    def __init__(self, windows: Windows, home: Path) -> None:
        self._windows = windows
        self.home = home
        self.file = next(home.rglob(f"*{ACME}*/**/scratch.md"))
        self.file.write_text(BEFORE)
        self.driver = windows.open(home)
        self.run = ""

    @property
    def text(self) -> str:
        return self.file.read_text()

    def write_by(self, who: Who) -> str:
        """The text after `who` changed the memory in the middle or at the top."""
        if who == "you":
            self.save("reproduce the 409 loop", "reproduce the 409 loop twice")
        elif who == "another program":
            self.outside("reproduce the 409 loop", "reproduce the 409 loop twice")
        elif who == "agent":
            call = {"command": "str_replace", "path": PATH, "old_str": "409 loop", "new_str": "409 storm"}
            self._memory({**call, "workspace_id": ACME, "actor": "agent"})
        else:
            asked = ("--home", str(self.home), "--workspace", ACME, "--engine", "rules", "--json")
            done = self._windows.command("consolidate", *asked)
            assert done.returncode == 0, done.stderr
            self.run = json.loads(done.stdout)["runId"]
        assert self.text != BEFORE
        return self.text

    def _memory(self, call: dict[str, object]) -> None:
        """A command of the memory tool, as an agent gives it."""
        profile = self._windows.profile.config.parent
        asked = ("memory", "--home", self.home, "--profile", profile)
        done = run_command(*asked, given=json.dumps(call) + "\n")
        assert json.loads(done.stdout)["success"], done.stdout + done.stderr

    def outside(self, old: str, new: str) -> None:
        script = "import pathlib, sys; f = pathlib.Path(sys.argv[1]); t = f.read_text()\n"
        script += "assert sys.argv[2] in t; f.write_text(t.replace(sys.argv[2], sys.argv[3]))"
        subprocess.run([sys.executable, "-c", script, str(self.file), old, new], check=True, timeout=60)

    def save(self, old: str, new: str) -> None:
        """Type it in the window, and save."""
        file = self.driver.open(PATH)
        self.driver.until(lambda: file.text == self.text)
        cursor = file.document.find(old)
        assert not cursor.isNull()
        cursor.insertText(new)
        wanted = file.content
        self.driver.do("file.save")
        self.driver.until(lambda: self.text == wanted)
        self.driver.settle()

    def open(self, mark: str) -> None:
        """The memory in the editor, once the trees show what happened to it."""
        self.driver.settle()
        self.driver.until(lambda: self.badge == mark)
        self.driver.open(PATH)
        self.driver.until(
            lambda: self.driver.pane.file is not None and self.driver.pane.file.text == self.text
        )

    @property
    def badge(self) -> str:
        data = self.driver.tab.model.file_at(PATH)
        return data.changed if data is not None else ""

    def restart(self) -> None:
        self.driver.window.shut_down()
        self.driver.window.close()
        self.driver = self._windows.open(self.home)

    def go_on(self, when: When) -> str:
        """What happens between the change and its undo; the lines that are to stay."""
        if when == "after a restart":
            self.restart()
        elif when == "with an own line":
            self.save("End.", "End.\n" + MINE.strip())
            return MINE
        elif when == "with a later change":
            self.outside("End.\n", "End.\n" + LATER)
            return LATER
        return ""

    def look(self) -> None:
        """The changed lines have been on screen for long enough."""
        for _look in range(2 * inspector.SEEN_AFTER):
            self.driver.tab.unseen._look()
        self.driver.until(lambda: self.badge == "")
        self.driver.settle()


@pytest.fixture
def case(windows: Windows, home: Path) -> Case:
    return Case(windows, home)


@BOTH
def test_undo_in_the_bar_is_exact_and_keeps_what_you_wrote(case: Case, who: Who, when: When) -> None:
    """S1, S2."""
    changed = case.write_by(who)
    bar = case.driver.pane.unseen
    if who == "you":
        case.driver.settle()
        stays = case.go_on(when)
        case.driver.settle()
        if when != "with a later change":
            assert (case.badge, bar.text) == ("", "")
            return
        case.open("changed")
        case.driver.until(case.driver.pane.unseen.isVisible)
        bar = case.driver.pane.unseen
        assert "by another program" in bar.text
        assert bar.text.endswith("+1 −0"), "only the other program's line"
        bar.button("undo").click()
        case.driver.until(lambda: case.text == changed)
        return
    if when != "after a restart":
        case.open("changed")
        case.driver.until(bar.isVisible)
        assert BY[who] in bar.text
    if when == "once seen":
        case.look()
    told = bar.text
    stays = case.go_on(when)
    bar = case.driver.pane.unseen
    if when == "after a restart":
        case.open("changed")
    if when == "with a later change":
        stays = ""  # nobody has seen either, and the bar is of both
        case.driver.until(lambda: bar.text != told)
        assert ("by others" in bar.text) == (who != "another program")
    case.driver.settle()
    case.driver.until(bar.isVisible)
    text = case.text
    bar.button("undo").click()
    wanted = BEFORE + stays
    case.driver.until(lambda: case.text != text)
    assert case.text == wanted
    case.driver.until(lambda: case.driver.pane.file is not None and case.driver.pane.file.text == wanted)
    case.driver.settle()
    assert case.driver.tab.undo_bar.text == "Restored scratch.md."
    assert not bar.isVisible()
    assert not case.driver.pane.error.isVisible()
    assert not case.driver.pane.text.marks, "marks beside the lines go with the change (R5)"
    case.driver.do("memory.undo")
    case.driver.until(lambda: case.text == text)


@AT
def test_undo_by_command_is_exact_and_keeps_what_came_later(case: Case, windows: Windows, when: When) -> None:
    case.write_by("consolidation")
    case.driver.settle()
    stays = case.go_on(when)
    case.driver.settle()
    done = windows.command("revert", case.run, "--home", str(case.home))
    assert done.returncode == 0, done.stderr
    assert case.text == BEFORE + stays
    left = "changed" if when == "with a later change" else ""
    case.driver.until(lambda: case.badge == left)
    if left:
        case.open(left)
        case.driver.until(case.driver.pane.unseen.isVisible)
        assert case.driver.pane.unseen.text.endswith("+1 −0"), "the later line, and nothing of the run"


@pytest.mark.parametrize("who", ["consolidation", "agent", "another program"])
def test_undo_on_your_own_newer_words_says_why_not(case: Case, who: Who) -> None:
    case.write_by(who)
    case.open("changed")
    bar = case.driver.pane.unseen
    case.driver.until(bar.isVisible)
    line = case.text.split("\n")[1 if who == "consolidation" else 4]
    case.save(line, "My words in its place")
    text = case.text
    case.driver.until(bar.isVisible)
    bar.button("undo").click()
    case.driver.until(lambda: "history" in bar.keys)
    assert bar.text == "Can't undo: it changed since."
    assert case.text == text
    # The sentence stays: also once the trees are read again, and while its age grows.
    case.driver.do("view.refresh")
    case.driver.settle()
    case.driver.tab.unseen.update_ages()
    assert bar.text == "Can't undo: it changed since."
    bar.button("history").click()
    case.driver.until(lambda: case.driver.window.tabs.currentWidget() is case.driver.changes.tab)


@BOTH
def test_undo_in_changes_is_exact_and_keeps_what_came_later(case: Case, who: Who, when: When) -> None:
    case.write_by(who)
    case.driver.settle()
    if when == "once seen" and who != "you":
        case.open("changed")
        case.driver.until(case.driver.pane.unseen.isVisible)
        case.look()
    stays = case.go_on(when)
    driver = case.driver
    driver.settle()
    driver.do("view.changes")
    rows = driver.changes.tab.changes
    if who == "another program" and when == "with a later change":
        stays = ""  # what one program did in a row is one row
    later = 1 if stays else 0
    driver.until(lambda: driver.changes.is_settled and len(rows.shown_rows) == 2 + later)
    row = rows.shown_rows[later]
    driver.changes.show_change(row.key)
    files = driver.reviewed()
    driver.until(lambda: files.row is not None and files.row.key == row.key and files.undo.isVisible())
    text = case.text
    files.undo.click()
    driver.until(lambda: case.text != text or files.message.isVisible())
    driver.settle()
    driver.until(files.message.isVisible)
    assert case.text == BEFORE + stays, files.message.text
    assert "undo" in files.message.keys, "what was undone can be done again (W4)"
    files.message.button("undo").click()
    driver.until(lambda: case.text == text)
    driver.settle()
