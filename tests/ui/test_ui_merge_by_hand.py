"""Duplicates in the list of findings: two memories side by side, and a merge by hand that loses no line
without saying so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from ui_windows import Held, Windows

from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.ui.memory.side_by_side import AlignedRow, AlignedSide, aligned, word_marks
from reverie.ui.memory.worth_a_look import WorthPage

BODY = "# Deploy\n\n- Run the smoke tests before the deploy\n- Tag the release after the deploy\n"
DUPLICATES = {"near-duplicate", "successor", "differing"}


@pytest.fixture
def doubled(home: Path) -> Path:
    folder = home / "memory/global/dups"
    folder.mkdir()
    (folder / "deploy.md").write_text(BODY)
    (folder / "deploy-more.md").write_text(BODY + "- Post the tag in the team channel\n")
    return home


def is_found(driver: Any) -> bool:
    return driver.tab.worth.is_settled and bool(driver.tab.worth.page.list.values)


def shown(driver: Any) -> WorthPage:
    driver.do("memory.duplicates")
    driver.until(lambda: is_found(driver))
    page: WorthPage = driver.tab.worth.page
    return page


def rows_with(page: WorthPage, name: str) -> list[int]:
    path = f"/memories/global/{name}"
    matters = enumerate(page.list.values)
    return [row for row, matter in matters if any(path in each.paths for each in matter)]


def pick(driver: Any, page: WorthPage, name: str) -> None:
    driver.until(lambda: bool(rows_with(page, name)))
    page.list.setCurrentIndex(page.list.rows.index(rows_with(page, name)[0], 0))
    driver.until(lambda: not page.pair.isHidden() and page.pair.finding == page.current)


def merging(driver: Any, page: WorthPage) -> Any:
    """The dialog for merging the memories that are shown."""
    page.merge.click()
    driver.until(lambda: driver.tab.worth.dialog is not None and driver.tab.worth.dialog.is_checked)
    return driver.tab.worth.dialog


def test_a_group_is_compared_and_merged_by_hand(windows: Windows, doubled: Path) -> None:
    driver = windows.open(doubled)
    page = shown(driver)
    pick(driver, page, "dups/deploy.md")
    spoken = page.list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
    assert all(f"global/dups/{name}.md" in spoken for name in ("deploy", "deploy-more"))
    different = [row for row in page.pair.sides.rows if not row.same]
    assert [{row.left.text, row.right.text} for row in different] == [
        {"", "- Post the tag in the team channel"}
    ]
    assert {each.kind for matter in page.list.values for each in matter} <= DUPLICATES
    assert page.chips.chips["duplicates"].text() == f"Duplicates {len(page.list.values)}"
    page.chips.chips["contradictions"].click()
    assert not any(each.kind in DUPLICATES for matter in page.list.values for each in matter)
    page.chips.chips["duplicates"].click()
    pick(driver, page, "dups/deploy.md")

    dialog = merging(driver, page)
    assert dialog.accept_button.isEnabled()
    assert not dialog.lost_list.isVisible()
    dialog.text.setPlainText(dialog.text.toPlainText().replace("- Tag the release after the deploy\n", ""))
    assert not dialog.accept_button.isEnabled()
    driver.until(lambda: dialog.is_checked)
    assert dialog.lost == ("- Tag the release after the deploy",)
    assert dialog.lost_list.isVisible()
    assert not dialog.accept_button.isEnabled()
    dialog.agreed.click()
    assert dialog.accept_button.isEnabled()
    target = dialog.chosen[0].rel
    gone = dialog.chosen[1].rel
    dialog.accept_button.click()
    driver.until(lambda: not (doubled / "memory/global" / gone).exists())
    driver.until(lambda: gone not in driver.paths(Scope.GLOBAL))
    assert "Tag the release" not in (doubled / "memory/global" / target).read_text()
    driver.until(lambda: page.message.keys == ("undo",))
    page.message.button("undo").click()
    driver.until(lambda: (doubled / "memory/global" / gone).exists())
    assert "Tag the release" in (doubled / "memory/global" / target).read_text()
    pick(driver, page, "dups/deploy.md")

    driver.window.resize(360, 900)
    shown(driver)
    assert driver.window.width() == 360
    for widget in (page.chips, page.merge, page.both, page.pair.sides, page.pair.right.keep):
        assert widget.isVisible()
        assert widget.mapTo(driver.window, widget.rect().topRight()).x() <= 360
    driver.settle()


def test_a_merge_by_hand_that_nobody_touched_loses_no_character(windows: Windows, home: Path) -> None:
    folder = home / "memory/global/prices"
    folder.mkdir()
    lines = [
        "- The flat fee is 10\u00a0000\u00a0EUR a year and payable\u2028in two parts.",
        "- Attention\u00a0: the invoice goes out in May.",
        "- Payment is due after 30 days, with\u2029no reminder before.",
    ]
    (folder / "prices.md").write_text("# Prices\n\n" + "\n".join(lines) + "\n")
    (folder / "more.md").write_text("# Prices\n\n" + "\n".join([*lines, "- Reminders go by mail."]) + "\n")
    driver = windows.open(home)
    page = shown(driver)
    pick(driver, page, "prices/prices.md")
    dialog = merging(driver, page)
    assert dialog.lost == ()
    assert set(lines) <= set(dialog.content.split("\n"))
    assert dialog.accept_button.isEnabled()
    dialog.reject()


def test_a_member_can_stay_out_of_the_merge(windows: Windows, doubled: Path) -> None:
    (doubled / "memory/global/dups/deploy-copy.md").write_text(BODY)
    driver = windows.open(doubled)
    page = shown(driver)
    pick(driver, page, "dups/deploy.md")
    assert page.next.text() == "&Next pair (1 of 2)", "three memories with one content are one row"
    dialog = merging(driver, page)
    assert len(dialog.chosen) == 3
    target = dialog.chosen[0]
    row = next(row for row in range(3) if dialog._files[row] != target)
    dialog.members.item(row).setCheckState(Qt.CheckState.Unchecked)
    driver.until(lambda: dialog.is_checked)
    assert len(dialog.chosen) == 2
    left_out = dialog._files[row].rel
    dialog.accept_button.click()
    driver.until(lambda: driver.tab.worth.dialog is None)
    assert (doubled / "memory/global" / left_out).exists()
    assert len(list((doubled / "memory/global/dups").iterdir())) == 2
    driver.settle()


def test_words_that_differ_are_marked() -> None:
    left, right = "the pool holds 20 connections", "the pool holds 50 connections"
    assert word_marks(left, right) == (((15, 17),), ((15, 17),))
    assert word_marks("one two", "három négy öt") == (((0, 7),), ((0, 13),))


def both(row: AlignedRow) -> tuple[AlignedSide, AlignedSide]:
    return row.left, row.right


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet="ab \n", max_size=40),
    st.text(alphabet="ab \n", max_size=40),
    st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_every_line_of_both_stands_on_its_side_in_order(left: str, right: str, at: tuple[int, int]) -> None:
    rows = aligned(left, right, at=at)
    for text, sides in ((left, [row.left for row in rows]), (right, [row.right for row in rows])):
        lines = text.split("\n")
        wanted = lines[:-1] if not lines[-1] else lines
        assert [side.text for side in sides if side.number] == wanted
        assert [side.number for side in sides if side.number] == list(range(1, len(wanted) + 1))
    assert all(row.left.text == row.right.text for row in rows if row.same)
    last = [max((side.number for side in sides), default=0) for sides in zip(*map(both, rows), strict=True)]
    if last and 0 < at[0] <= last[0] and 0 < at[1] <= last[1]:
        assert [row for row in rows if (row.left.number, row.right.number) == at]


def test_without_duplicates_the_page_says_among_how_many_memories(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    page = shown(driver)
    for matter in page.list.values:
        driver.tab.worth.page.dismiss_wanted.emit(matter)
        driver.until(lambda gone=matter: gone not in page.list.values)
    driver.until(lambda: driver.tab.worth.is_settled)
    notes = driver.session.workbench.worth_a_look.find(driver.tab._shown.update.context).notes
    assert page.title.text() == f"Checked {notes} memories: nothing found"
    assert page.none.isVisible()
    assert not page.merge.isVisible()
    assert not page.open.isVisible()
    driver.do("view.worth")
    driver.do("view.worth")
    assert page.chips.current == "all"


def test_the_page_stands_beside_the_trees_and_goes_with_escape_and_with_its_home(
    windows: Windows, doubled: Path
) -> None:
    driver = windows.open(doubled)
    page, control = shown(driver), driver.tab.worth
    assert page.window() is driver.window
    assert page.list.hasFocus()
    assert not driver.tree.isHidden()
    driver.qtbot.keyClick(page.list, Qt.Key.Key_Escape)
    driver.until(lambda: not control.is_page_shown)
    shown(driver)
    driver.do("home.close")
    driver.until(lambda: not control.is_page_shown)


def test_the_page_of_one_home_shows_nothing_of_it_for_another(
    windows: Windows, doubled: Path, tmp_path: Path
) -> None:
    driver = windows.open(doubled)
    page = shown(driver)
    driver.do("view.changes")
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    driver.window._open_wanted(other)
    driver.until(lambda: driver.session.info.root == other)
    driver.settle()
    assert page.list.values == ()
    driver.do("view.memory")
    driver.until(lambda: driver.tab.worth.is_settled and page.title.text() != "Searching…")
    assert rows_with(page, "dups/deploy.md") == []


def test_a_merge_that_ends_late_leaves_the_merge_of_another_home_alone(
    windows: Windows, doubled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(doubled, other)
    driver = windows.open(other)
    there, control = driver.session, driver.tab.worth
    page = shown(driver)
    pick(driver, page, "dups/deploy.md")
    context = driver.tab._shown.update.context
    files = there.workbench.merges.files(context, page.current.paths)
    driver.window._open_wanted(doubled)
    driver.until(lambda: driver.session is not there)
    driver.settle()
    page = shown(driver)
    pick(driver, page, "dups/deploy.md")
    first = merging(driver, page)
    gone = doubled / "memory/global" / first.chosen[1].rel
    held = Held(driver.window.lanes.scan)
    first.accept_button.click()
    assert driver.window.picker.pick_home(there.info.id)
    control.merge_by_hand(files)
    held.let_go()
    driver.until(lambda: not gone.exists())
    driver.settle()
    assert control.dialog is not None, "nobody has answered it"
    assert control.dialog is not first
    assert control.dialog.isVisible()
    control.dialog.reject()
