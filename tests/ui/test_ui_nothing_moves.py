"""What messages appear, and nothing that is read or clicked changes its place or height for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget
from ui_windows import Driver, Windows

from reverie.ui.widgets.messages import Overlay

NOTE = "/memories/global/testing.md"
WIDTHS = (1240, 420)
"""Both parts side by side, and one at a time."""


def places(driver: Driver) -> dict[str, QRect]:
    """The rectangles, in the window, of what is used all day."""
    tab = driver.tab
    parts: dict[str, QWidget] = {
        "field": tab.search.field,
        "trees": tab.search.pages,
        "footer": tab.footer,
        "path": tab.pane.path,
        "editor": tab.pane.view.body,
        "text": tab.pane.text,
    }
    shown = {name: part for name, part in parts.items() if part.isVisible()}
    # The name of the file has less room beside the word "edited". A text ends above the bars over it.
    return {
        name: QRect(
            part.mapTo(driver.window, part.rect().topLeft()).x(),
            part.mapTo(driver.window, part.rect().topLeft()).y(),
            0 if name == "path" else part.width(),
            0 if name == "text" else part.height(),
        )
        for name, part in shown.items()
    }


@pytest.fixture(params=WIDTHS)
def driver(request: Any, windows: Windows, home: Path) -> Driver:
    found = windows.open(home)
    found.window.resize(request.param, 800)
    found.open(NOTE)
    found.settle()
    return found


def write(home: Path, text: str) -> None:
    (home / "memory/global/testing.md").write_text(text)


def test_a_consolidation_moves_nothing_while_it_runs_when_it_ends_and_when_it_is_undone(
    driver: Driver,
) -> None:
    before = places(driver)
    panel = driver.footer.panel
    seen: list[dict[str, QRect]] = []
    panel.turned.connect(lambda: seen.append(places(driver)))
    driver.footer.button.click()
    assert panel.running
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    assert panel.result.isVisibleTo(driver.window) or driver.tab.is_narrow
    assert places(driver) == before
    panel.result.button("revert").click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    assert places(driver) == before
    assert seen == [before] * 4


def test_a_change_from_outside_moves_neither_the_text_nor_its_lines(driver: Driver, home: Path) -> None:
    before, line = places(driver), driver.pane.text.first_visible_line
    write(home, (home / "memory/global/testing.md").read_text() + "One more line.\n" * 80)
    driver.until(lambda: not driver.pane.unseen.isHidden())
    driver.settle()
    assert (places(driver), driver.pane.text.first_visible_line) == (before, line)


def test_a_conflict_moves_nothing(driver: Driver, home: Path) -> None:
    before = places(driver)
    driver.type("mine ")
    write(home, "theirs\n")
    driver.until(lambda: not driver.pane.banner.isHidden())
    driver.settle()
    assert places(driver) == before


def test_drafts_that_come_back_move_nothing(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.open(NOTE)
    driver.settle()
    before = places(driver)
    for bar in (driver.tab.drafts.bar, driver.pane.draft):
        bar.say("Two texts that were not saved are kept.", buttons=[("look", "Show…", "")])
    driver.settle()
    assert driver.tab.drafts.bar.isVisible()
    assert driver.pane.draft.isVisible()
    assert places(driver) == before


def test_no_line_of_the_text_is_below_a_bar(driver: Driver, home: Path) -> None:
    """The last line of a text can be scrolled into view above the bars that lie over it."""
    write(home, "".join(f"line {number}\n" for number in range(200)) + "last")
    driver.until(lambda: not driver.pane.unseen.isHidden())
    driver.settle()
    text = driver.pane.text
    if not text.isVisible():
        return
    bar = text.verticalScrollBar()
    bar.setValue(bar.maximum())
    driver.settle()
    viewport = text.viewport()
    bottom = viewport.mapTo(driver.window, viewport.rect().bottomLeft()).y()
    shown = driver.pane.unseen
    assert bottom < shown.mapTo(driver.window, shown.rect().topLeft()).y()


def test_a_result_does_not_lie_over_the_selected_row(driver: Driver) -> None:
    if driver.tab.is_narrow:
        driver.tab._parts.show_column()
    rows = sorted(driver.tab.model.memory_tree.files)
    result = driver.footer.panel.result
    result.say("A result of a run that took a while.", buttons=[("review", "Review changes", "")])
    for path in (rows[0], rows[-1]):
        driver.open(path)
        if driver.tab.is_narrow:
            driver.tab._parts.show_column()
        driver.settle()
        row, window = driver.tree.current_rect(), driver.window
        row.moveTopLeft(driver.tree.viewport().mapTo(window, row.topLeft()))
        place = QRect(result.mapTo(window, result.rect().topLeft()), result.size())
        assert not row.isEmpty()
        assert not row.intersects(place), path


def test_bars_that_need_more_room_than_there_is_stay_inside(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.window.resize(360, 420)
    result = driver.footer.panel.result
    result.say("words " * 200)
    driver.settle()
    overlay = result.parentWidget()
    assert isinstance(overlay, Overlay)
    assert driver.tab.search.pages.geometry().contains(overlay.geometry())


def test_a_message_of_another_page_moves_nothing_there(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("view.changes")
    driver.until(lambda: driver.changes.is_settled)
    driver.settle()
    files = driver.changes.tab.files
    driver.do("view.orphans")
    driver.settle()
    page = driver.tab.orphans.page
    driver.do("view.context")
    driver.settle()
    context = driver.tab.beside
    assert context is not None
    for shown, what in ((files, files.tree), (page, page.splitter), (context, context.splitter)):
        before = what.geometry()
        shown.message.say("Something could not be read.", tone="bad", buttons=[("again", "Try again", "")])
        driver.settle()
        assert not shown.message.isHidden()
        assert what.geometry() == before
