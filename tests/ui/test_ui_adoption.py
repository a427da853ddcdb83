"""A home that was moved is offered its history; a copy, or a no, starts anew (design.md section 4)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from ui_windows import Windows

from reverie.ui import dialogs

Asked = list[tuple[Path, Path]]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], Asked]:
    """Answer the question with yes or no; what was asked."""

    def answer(take: bool) -> Asked:
        asked: Asked = []

        def ask(_parent: object, root: Path, before: Path) -> bool:
            asked.append((root, before))
            return take

        monkeypatch.setattr(dialogs, "ask_adoption", ask)
        return asked

    return answer


def opened_once(windows: Windows, home: Path) -> str:
    """The id a home got, with one run in its records."""
    driver = windows.open(home)
    driver.consolidate()
    session = driver.window.session
    assert session is not None
    identity = session.workbench.home_id
    windows.close()
    return identity


@pytest.mark.parametrize("take", [True, False])
def test_a_moved_home_keeps_its_runs_if_a_person_says_so(
    windows: Windows, home: Path, answering: Callable[[bool], Asked], take: bool
) -> None:
    before = opened_once(windows, home)
    moved = home.rename(home.with_name("moved"))
    asked = answering(take)
    session = windows.open(moved).window.session
    assert session is not None
    assert asked == [(moved, home)]
    assert (session.workbench.home_id == before) is take
    assert bool(session.workbench.runs()) is take


def test_a_copy_is_a_home_of_its_own_and_nothing_is_asked(
    windows: Windows, home: Path, answering: Callable[[bool], Asked]
) -> None:
    before = opened_once(windows, home)
    asked = answering(True)
    copy = Path(shutil.copytree(home, home.with_name("copy")))
    session = windows.open(copy).window.session
    assert session is not None
    assert asked == []
    assert session.workbench.home_id != before


def test_a_picture_of_a_moved_home_is_taken_without_a_question(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    opened_once(windows, home)
    moved = home.rename(home.with_name("moved"))
    file = tmp_path / "picture.png"
    words = ["--profile", str(windows.profile.config.parent), "--home", str(moved), "--screenshot", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "reverie", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert file.is_file()


@pytest.mark.parametrize(("button", "taken"), [("Take over", True), ("No", False)])
def test_the_question_answers_as_its_buttons_say(qtbot: object, button: str, taken: bool) -> None:
    def press() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        next(b for b in box.buttons() if b.text().replace("&", "") == button).click()

    QTimer.singleShot(0, press)
    assert dialogs.ask_adoption(None, Path("/new"), Path("/old")) is taken
