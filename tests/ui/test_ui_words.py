"""Words that the window never says: names of our own mechanics, and idioms that no native speaker uses."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QWidget
from ui_windows import Windows

from reverie.ui.display_text import counted

TEXTS = Path(__file__).parents[2] / "resources/translations/reverie_de.ts"
NEVER = (
    r"dream\w*",
    r"sweep\w*",
    r"harvest\w*",
    r"System 1",
    r"told",
    r"stands?",
    r"(so|as) (many|much) of",
    r"at most so",
    r"what came of it",
    r"look again",
    r"only what needs a look",
    r"variable of the key",
    r"longest silence",
    r"text of then",
    r"unknown outside",
    r"rules engine",
    r"things? to look at",
)
SAID = re.compile(rf"\b({'|'.join(NEVER)})\b", re.IGNORECASE)
CODE = re.compile(r"`[^`]*`")
"""What a person types keeps its names: `reverie sweep` and `reverie harvest` are a contract."""


def shown(text: str) -> list[str]:
    """The words in `text` that the window never says."""
    return [found[0] for found in SAID.finditer(CODE.sub("", text.replace("&", "")))]


def test_no_text_of_the_window_says_them() -> None:
    sources = [node.text or "" for node in ElementTree.parse(TEXTS).getroot().iter("source")]
    assert len(sources) > 1000
    assert {text: shown(text) for text in sources if shown(text)} == {}


@pytest.mark.parametrize("text", ["Dreams", "3 are told now", "The &harvest", "System 1", "What came of it"])
def test_the_list_finds_what_it_is_for(text: str) -> None:
    assert shown(text)
    assert not shown("Run `reverie harvest` in a terminal")


def _texts(window: QWidget) -> set[str]:
    found = []
    for each in (window, *window.findChildren(QObject)):
        if isinstance(each, QLabel | QAbstractButton):
            found.append(each.text())
        if isinstance(each, QAction):
            found += [each.text(), each.toolTip()]
        if isinstance(each, QMenu):
            found.append(each.title())
        if isinstance(each, QWidget):
            found += [each.toolTip(), each.accessibleName(), each.accessibleDescription()]
    return set(found) - {""}


def test_no_sentence_of_the_engine_says_them_in_the_window(windows: Windows, home: Path) -> None:
    """Summaries and checks are made below the window."""
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.settle()
    driver.review()
    driver.do("view.traces")
    tab = driver.traces
    driver.until(lambda: bool(tab.checks.findings) and tab.is_settled and not driver.services.checks.busy)
    texts = _texts(driver.window)
    assert len(texts) > 200
    assert {text: shown(text) for text in texts if shown(text)} == {}


def test_a_large_number_is_grouped_wherever_things_are_counted(qtbot: object) -> None:
    assert counted("1 note", "%n notes", 12_345) == "12,345 notes"
    assert counted("1 note", "%n notes", 999) == "999 notes"
