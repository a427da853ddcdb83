"""What the rules of a review say of long texts is computed off the GUI thread, at each click."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from ui_reviews import A, B, C, run, view

from reverie.jobs.consolidate import review as rules
from reverie.jobs.consolidate.review import resolve, to_take_back
from reverie.services.views import ReviewView
from reverie.ui.changes import review
from reverie.ui.changes import tab as tab_module
from reverie.ui.changes.diff import MergeView
from reverie.ui.changes.review import MOST_ROWS, RESOLVED_AT_ONCE, Choices, ReviewPart, ReviewTree
from reverie.ui.changes.rows import ChangeRow
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.values import replace

LONG = "".join(f"Line {number} of the memory about deployments.\n" for number in range(2_000))
SHORT = LONG[:2_000]


class Shown:
    """A Changes tab, and the threads on which a selection was resolved."""

    def __init__(self, tab: ChangesTab, threads: list[threading.Thread]) -> None:
        self.tab, self.threads = tab, threads

    def show(self, made: ReviewView, key: str = "r1") -> Choices:
        read = Choices(made)
        self.threads.clear()
        self.tab.files.begin(ChangeRow(key, 1, made.run))
        self.tab.files.show_review(read)
        assert self.tab.files.choices is not None
        return self.tab.files.choices

    @property
    def here(self) -> int:
        """How often a selection was resolved on the GUI thread."""
        return self.threads.count(threading.main_thread())


@pytest.fixture
def shown(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    threads: list[threading.Thread] = []

    def counting(*args: Any) -> Any:
        threads.append(threading.current_thread())
        return resolve(*args)

    for module in (review, tab_module, rules):
        monkeypatch.setattr(module, "resolve", counting)
    lane = Lane("long reviews")
    tab = ChangesTab(lane, Icons(), lambda: 0)
    qtbot.addWidget(tab)
    tab.resize(1200, 500)
    tab.show()
    yield Shown(tab, threads)
    lane.stop()


def merged(text: str) -> ReviewView:
    return view({A: "Stays.\n", B: text}, {A: "Stays.\n" + text}, max_loss_percent=100)


def undoable(text: str) -> ReviewView:
    changed = text.replace("Line 2 of", "The second of").replace("Line 9 of", "The ninth of")
    return view({C: text}, {C: changed}, can_apply=False, can_take_back=True, of=run(dry_run=False))


def reject(shown: Shown) -> None:
    """Leave out the file that takes the lines of the other, so that the other is not deleted."""
    assert shown.tab.files.tree.select_part(A, None)
    shown.tab.files.tree.tick(False)


def test_a_click_in_a_long_review_is_resolved_in_a_job(qtbot: Any, shown: Shown) -> None:
    assert len(LONG) > RESOLVED_AT_ONCE
    choices = shown.show(merged(LONG))
    assert shown.threads == []
    reject(shown)
    assert shown.here == 0
    assert not choices.is_resolved
    assert choices.blocked == {}, "what was known before"
    qtbot.waitUntil(lambda: choices.is_resolved, timeout=20_000)
    expected = resolve(choices.view.plan, choices.selection)
    assert choices.blocked == expected.blocked
    assert B in choices.blocked
    assert shown.tab.files.chosen.text() == "1 file cannot be changed."
    assert shown.here == 0


def test_a_click_in_a_short_review_is_resolved_at_once(shown: Shown) -> None:
    choices = shown.show(merged(SHORT))
    reject(shown)
    assert choices.is_resolved
    assert B in choices.blocked
    assert shown.here > 0


def test_the_resolution_of_a_long_review_is_dropped_when_another_is_shown(qtbot: Any, shown: Shown) -> None:
    first = shown.show(merged(LONG))
    reject(shown)
    second = shown.show(merged(SHORT), "r2")
    qtbot.waitUntil(lambda: not shown.tab.versions.reader.busy, timeout=20_000)
    assert not first.is_resolved
    assert second.blocked == {}
    assert shown.tab.files.choices is second


def test_a_part_of_a_long_run_is_undone_alone_once_it_is_resolved(qtbot: Any, shown: Shown) -> None:
    choices = shown.show(undoable(LONG))
    asked: list[Any] = []
    shown.tab.files.take_back.connect(lambda _row, parts: asked.append(parts))
    shown.tab.files.detail.asked.emit("take-back", C, 1)
    qtbot.waitUntil(lambda: bool(asked), timeout=20_000)
    assert shown.here == 0
    alone = choices.selection.with_hunk(C, 1, accepted=False)
    assert asked == [to_take_back(choices.view.plan, alone, {})] == [{C: frozenset({1})}]


def test_undo_waits_for_the_marks_of_a_long_run(qtbot: Any, shown: Shown) -> None:
    choices = shown.show(undoable(LONG))
    asked: list[Any] = []
    shown.tab.files.take_back.connect(lambda _row, parts: asked.append(parts))
    assert shown.tab.files.tree.select_part(C, 0)
    item = shown.tab.files.tree.currentItem()
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Unchecked)
    assert not choices.is_resolved
    shown.tab.files.undo.click()
    assert asked == []
    qtbot.waitUntil(lambda: bool(asked), timeout=20_000)
    assert asked == [{C: frozenset({0})}]
    assert shown.here == 0


def test_the_lines_of_a_hunk_are_counted_between_its_context() -> None:
    file = view({C: "a\n" * 5_000}, {C: "b\n" * 7_000}).groups[0].files[0]
    (hunk,) = file.hunks
    assert review._line_counts(hunk) == (5_000, 7_000)
    around = replace(hunk, lines=((" ", "x"), *hunk.lines, (" ", "y")))
    assert review._line_counts(around) == (5_000, 7_000)
    assert review._line_counts(replace(hunk, lines=())) == (0, 0)
    assert review._line_counts(replace(hunk, lines=((" ", "x"), ("+", "y")))) == (0, 1)


MANY = [f"Line {number} of the memory." for number in range(MOST_ROWS * 24)]


def divided(qtbot: Any) -> tuple[ReviewTree, Choices]:
    """A file with 2.5 times as many hunks as the tree shows at once, and another file."""
    changed = [line + " New." * (number % 10 == 0) for number, line in enumerate(MANY[: MOST_ROWS * 25])]
    texts = "\n".join(MANY), "\n".join(changed)
    choices, tree = Choices(view({A: texts[0], C: SHORT}, {A: texts[1], C: "x"})), ReviewTree()
    qtbot.addWidget(tree)
    tree.show_choices(choices)
    return tree, choices


def names(tree: ReviewTree) -> list[str]:
    top = tree.topLevelItem(0)
    assert top is not None
    rows = [top.child(row) for row in range(top.childCount())]
    return [row.text(0) for row in rows if not row.isHidden()]


def test_the_rows_of_many_hunks_are_added_as_they_are_wanted(qtbot: Any) -> None:
    tree, choices = divided(qtbot)
    count = len(choices.view.groups[0].files[0].hunks)
    assert count == len(MANY) // 10 > 2 * MOST_ROWS
    assert len(names(tree)) == MOST_ROWS + 1
    assert names(tree)[-1] == f"… and {count - MOST_ROWS} more"
    top = tree.topLevelItem(0)
    assert top is not None
    tree.setCurrentItem(top.child(MOST_ROWS))
    assert len(names(tree)) == 2 * MOST_ROWS + 1
    assert tree.part is not None
    assert tree.part.hunk == MOST_ROWS, "the first of the new rows"
    tree.setCurrentItem(top.child(2 * MOST_ROWS))
    assert len(names(tree)) == count
    assert "more" not in names(tree)[-1]


def test_keys_and_clicks_reach_a_hunk_whose_row_is_not_there_yet(qtbot: Any) -> None:
    tree, _choices = divided(qtbot)
    assert tree.select_part(A, MOST_ROWS - 1)
    tree.step(1)
    assert tree.part is not None
    assert tree.part.hunk == MOST_ROWS
    assert tree.select_part(A, 2 * MOST_ROWS + 50)
    assert tree.part is not None
    assert tree.part.hunk == 2 * MOST_ROWS + 50
    assert not tree.select_part("/memories/global/none.md", 0)


def test_a_row_that_is_loaded_later_has_the_choice_of_its_hunk(qtbot: Any) -> None:
    tree, choices = divided(qtbot)
    group = choices.view.groups[0]
    choices.take_file(group, group.files[0], False)
    tree.follow()
    assert tree.select_part(A, MOST_ROWS + 3)
    item = tree.currentItem()
    assert item is not None
    assert item.checkState(0) == Qt.CheckState.Unchecked
    tree.tick(True)
    assert choices.file_taken(group, group.files[0]) == "some"
    assert choices.count_to_apply == 2


def test_the_files_of_a_large_group_are_added_as_they_are_wanted(qtbot: Any) -> None:
    count = MOST_ROWS + 30
    paths = [f"/memories/global/f{number}.md" for number in range(count)]
    tree = ReviewTree()
    qtbot.addWidget(tree)
    made = view(dict.fromkeys(paths, "a\n"), dict.fromkeys(paths, "b\n"))
    tree.show_choices(Choices(made))
    assert tree.topLevelItemCount() == min(len(made.groups), MOST_ROWS + 1)
    assert tree.select_part(paths[-1], None)


class Lines(tuple[Any, ...]):
    """Lines that fail when each of them is looked at; a part of them can be taken."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("all lines of a merge were looked at")


def test_the_lines_of_a_merge_are_not_counted_when_it_is_shown(qtbot: Any) -> None:
    group = merged(LONG).groups[0]
    group = replace(group, merged={path: Lines(lines) for path, lines in group.merged.items()})
    shown = MergeView()
    qtbot.addWidget(shown)
    assert shown.show_merge(ReviewPart(group))
    assert (
        shown.summary.text()
        == "The kept memory already had 0 of 2000 lines. 2,000 lines were moved to the kept memory."
    )


def test_a_tick_leaves_a_merge_that_is_shown_at_the_place_that_was_read(shown: Shown, qtbot: Any) -> None:
    choices = shown.show(merged(LONG))
    merge = shown.tab.files.detail.merge
    qtbot.waitUntil(lambda: merge.gone.is_filled)
    bar = merge.gone.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 500)
    bar.setValue(400)
    taken = choices.selection
    shown.tab.files.tree.tick(False)
    qtbot.waitUntil(lambda: choices.selection != taken)
    assert (bar.value(), merge.isHidden()) == (400, False)
    shown.show(merged("Another.\n" * 3), "r2")
    qtbot.waitUntil(lambda: merge.gone.is_filled)
    assert merge.gone.toPlainText().splitlines()[0].endswith("Another.")
