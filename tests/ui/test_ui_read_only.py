"""A store that Reverie does not know, in the window: the sentence in the editor's bar, the tool tip in the
tree, the Doctor's check, and the permission that a person has to give."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from ui_windows import Driver, Windows

from helpers.audit import problems
from reverie.ui import dialogs

PATH = "/memories/project/deploy.md"
EVIDENCE = "target-….lock"


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    (home / "locks").mkdir()
    (home / "locks" / "target-0f.lock").touch()
    return windows.open(home)


def test_a_file_that_was_made_writable_can_be_edited_once_the_window_has_the_focus_again(
    windows: Windows, home: Path
) -> None:
    """The sentence asks for it, and stayed there until another file was opened."""
    driver = windows.open(home)
    path = disk(driver)
    path.chmod(0o444)
    file = driver.open(PATH)
    assert "write-protected" in file.buffer.read_only
    assert driver.pane.text.isReadOnly()
    path.chmod(0o644)
    driver.window.activateWindow()
    driver.until(driver.window.isActiveWindow)
    QApplication.sendEvent(driver.window, QEvent(QEvent.Type.ActivationChange))
    driver.until(lambda: not file.buffer.read_only)
    assert not driver.pane.text.isReadOnly()


def disk(driver: Driver) -> Path:
    return driver.home / "memory/project/acme-api-db553efff149/deploy.md"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked; the answer is yes unless the list begins with "no"."""
    questions: list[str] = []

    def ask(_parent: object, evidence: str) -> bool:
        questions.append(evidence)
        return questions[0] != "no"

    monkeypatch.setattr(dialogs, "ask_write_anyway", ask)
    return questions


def test_an_unknown_store_is_shown_read_only_with_the_sentence_in_the_bar(driver: Driver) -> None:
    file = driver.open(PATH)
    assert file.read_only
    assert driver.pane.text.isReadOnly()
    assert driver.pane.reason.isVisible()
    assert EVIDENCE in driver.pane.reason.text
    assert driver.pane.reason.keys == ("permit",)
    driver.until(lambda: bool(driver.tab.model.index_at(PATH).isValid()))
    driver.settle()
    assert "does not recognize the layout of this home" in str(
        driver.tab.model.index_at(PATH).data(Qt.ItemDataRole.ToolTipRole)
    )
    assert problems(driver.window) == []


def test_a_yes_lets_the_editor_save_and_a_no_changes_nothing(driver: Driver, asked: list[str]) -> None:
    file = driver.open(PATH)
    asked.append("no")
    driver.pane.reason.button("permit").click()
    driver.settle()
    assert file.read_only
    assert EVIDENCE in asked[1]
    asked[:] = []
    driver.pane.reason.button("permit").click()
    driver.until(lambda: not file.read_only)
    driver.settle()
    assert driver.pane.reason.isHidden()
    assert not driver.pane.text.isReadOnly()
    driver.type("Permitted.\n")
    driver.do("file.save")
    driver.until(lambda: disk(driver).read_text().startswith("Permitted.\n"))


def test_the_checks_ask_before_it_permits_and_the_open_file_follows(driver: Driver, asked: list[str]) -> None:
    file = driver.open(PATH)
    driver.until(lambda: driver.window.lazy_tabs.services is not None)
    driver.do("view.checks")
    checks = driver.traces.checks
    checks.only.setChecked(False)
    driver.until(lambda: "known-layout" in checks.rows.checks)
    row = checks.rows.row("known-layout")
    assert row.state == "fail"
    assert EVIDENCE in row.evidence.text()
    assert row.button.text() == "Write anyway"
    row.button.click()
    driver.until(lambda: checks.rows.row("known-layout").state == "warn")
    assert EVIDENCE in asked[0]
    driver.until(lambda: not file.read_only)


@pytest.mark.parametrize(("button", "agreed"), [("Write anyway", True), ("Cancel", False)])
def test_the_question_answers_as_its_buttons_say(qtbot: object, button: str, agreed: bool) -> None:
    seen: list[str] = []

    def press() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        seen.append(box.defaultButton().text().replace("&", ""))
        next(b for b in box.buttons() if b.text().replace("&", "") == button).click()

    QTimer.singleShot(0, press)
    assert dialogs.ask_write_anyway(None, "config.json has version 2.") is agreed
    assert seen == ["Cancel"]
