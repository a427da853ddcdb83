"""Choosing from a run: what is left out, what that blocks, and that nobody's words are lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication
from ui_reviews import LINES, A, B, C, D, merge, run, view

from reverie.jobs.consolidate.review import ReviewSelection, resolve
from reverie.memory.diff import unified
from reverie.ui.appearance import contrast, dark_palette
from reverie.ui.changes.diff import ReviewDetail
from reverie.ui.changes.review import Choices, ReviewTree
from reverie.ui.icons import Icons
from reverie.ui.widgets.text_views import DiffView


def files(choices: Choices) -> dict[str, bytes | None]:
    return dict(resolve(choices.view.plan, choices.selection).files)


def group_and_file(choices: Choices, path: str) -> Any:
    return next((g, f) for g in choices.view.groups for f in g.files if f.path == path)


def test_at_first_everything_is_taken() -> None:
    choices = Choices(merge())
    assert [choices.group_taken(group) for group in choices.view.groups] == ["all", "all"]
    assert choices.count_to_apply == choices.count_of_all == 4
    assert choices.selection == ReviewSelection()


def test_a_rejected_part_of_a_file_does_not_count_as_applied() -> None:
    choices = Choices(merge())
    choices.take_hunk(*group_and_file(choices, C), 0, False)
    assert (choices.count_to_apply, choices.count_of_all) == (3, 4)
    assert set(files(choices)) == {A, B, C}


def test_leaving_out_a_group_leaves_out_its_files_and_nothing_else() -> None:
    choices = Choices(merge())
    group, file = group_and_file(choices, B)
    choices.take_group(group, False)
    assert choices.file_taken(group, file) == "none"
    assert set(files(choices)) == {C}
    choices.take_group(group, True)
    assert set(files(choices)) == {A, B, C}


def test_leaving_out_what_receives_a_merge_blocks_its_delete_and_says_why() -> None:
    choices = Choices(merge())
    choices.take_file(*group_and_file(choices, A), False)
    assert set(choices.blocked) == {B}
    assert set(files(choices)) == {C}
    assert choices.count_to_apply == 2
    assert choices.may_agree(B)
    choices.agree(B, True)
    assert choices.blocked == {}
    assert files(choices)[B] is None


def test_a_pinned_memory_stays_whatever_one_agrees_to() -> None:
    choices = Choices(view({A: "Alone.\n"}, {}, is_protected=lambda path: path == A))
    assert set(choices.blocked) == {A}
    assert not choices.may_agree(A)


def test_one_hunk_of_two_is_left_out() -> None:
    choices = Choices(merge())
    group, file = group_and_file(choices, C)
    choices.take_hunk(group, file, file.hunks[0].index, False)
    assert choices.file_taken(group, file) == choices.group_taken(group) == "some"
    text = files(choices)[C]
    assert text is not None
    assert b"Line 2 of" in text
    assert b"The tenth line of" in text
    choices.take_hunk(group, file, file.hunks[1].index, False)
    assert choices.file_taken(group, file) == "none"
    assert C not in files(choices)


def test_ticking_one_file_of_a_group_that_was_left_out_brings_back_that_file_only() -> None:
    choices = Choices(merge())
    group, file = group_and_file(choices, A)
    choices.take_group(group, False)
    choices.take_file(group, file, True)
    assert choices.group_taken(group) == "some"
    assert set(files(choices)) == {A, C}


def test_ones_own_words_are_taken_and_come_back_after_unticking() -> None:
    choices = Choices(merge())
    group, file = group_and_file(choices, C)
    choices.write(file, "My words.\n")
    assert files(choices)[C] == b"My words.\n"
    choices.take_file(group, file, False)
    assert C not in files(choices)
    choices.take_file(group, file, True)
    assert files(choices)[C] == b"My words.\n"
    choices.write(file, None)
    assert files(choices)[C] == (file.after or "").encode()


def test_a_hunk_is_worded_anew_and_lines_keep_their_ends() -> None:
    before = LINES.replace("\n", "\r\n")
    choices = Choices(view({A: before}, {A: before.replace("Line 2 of", "The third of")}))
    _, file = group_and_file(choices, A)
    index = file.hunks[0].index
    assert choices.text(file, index) == "The third of the memory about deployments."
    choices.write(file, "One line.\nAnd another.", index)
    text = (files(choices)[A] or b"").decode()
    assert "One line.\r\nAnd another.\r\nLine 3" in text
    assert text.count("\n") == text.count("\r\n")


def test_what_is_no_utf8_is_not_edited() -> None:
    choices = Choices(view({A: "a\n"}, {A: "a\n\udcff\n"}))
    _, file = group_and_file(choices, A)
    assert not choices.can_write(file)


@pytest.mark.parametrize(
    ("after", "may"),
    [
        ("word " * 1_900 + "\n", True),
        ("word " * 2_100 + "\n", False),
        ("a\n" * 2_400, True),
        ("a\n" * 2_600, False),
        ("words of a line\r" * 2_400, True),
        (("word " * 100 + "\n") * 230, True),
        (("word " * 100 + "\n") * 250, False),
    ],
    ids=["a long line", "too long a line", "lines", "too many", "bare CR", "characters", "too many of them"],
)
def test_a_text_that_a_box_shows_only_after_a_delay_is_not_edited(after: str, may: bool) -> None:
    """The rule of X5: no text of a file or a change blocks the window, whatever its shape."""
    choices = Choices(view({A: "x\n"}, {A: after}))
    _, file = group_and_file(choices, A)
    assert [choices.can_write(file), choices.can_write(file, 0)] == [may, may]


def test_nothing_is_edited_where_nothing_can_be_applied() -> None:
    choices = Choices(merge(can_apply=False))
    assert not choices.can_write(group_and_file(choices, C)[1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("gfh"), st.integers(0, 9), st.integers(0, 9), st.booleans())))
def test_a_tick_always_shows_what_would_happen(steps: list[tuple[str, int, int, bool]]) -> None:
    choices = Choices(merge())
    for kind, which, hunk, taken in steps:
        group = choices.view.groups[which % 2]
        file = group.files[hunk % len(group.files)]
        if kind == "g":
            choices.take_group(group, taken)
            assert choices.group_taken(group) == ("all" if taken else "none")
        elif kind == "f":
            choices.take_file(group, file, taken)
            assert choices.file_taken(group, file) == ("all" if taken else "none")
        else:
            index = file.hunks[hunk % len(file.hunks)].index
            choices.take_hunk(group, file, index, taken)
            assert choices.hunk_taken(group, file, index) == taken
    changed = files(choices)
    for group in choices.view.groups:
        for file in group.files:
            taken_now = choices.file_taken(group, file)
            assert (file.path in changed) == (taken_now != "none" and file.path not in choices.blocked)


@pytest.fixture
def tree(qtbot: Any) -> ReviewTree:
    made = ReviewTree()
    qtbot.addWidget(made)
    return made


def rows(tree: ReviewTree) -> list[str]:
    return [f"{item.text(0)} {item.text(1)}".strip() for _part, item in tree.parts()]


def find(tree: ReviewTree, text: str) -> Any:
    return next(item for _part, item in tree.parts() if text in item.text(0))


def test_the_tree_has_a_box_for_each_part_and_unticking_one_counts(qtbot: Any, tree: ReviewTree) -> None:
    choices = Choices(merge(refused=("delete x.md: it is pinned.",)))
    tree.show_choices(choices)
    assert "c.md · global" in rows(tree)
    assert find(tree, "Refused").data(0, Qt.ItemDataRole.CheckStateRole) is None
    with qtbot.waitSignal(tree.chosen):
        find(tree, "a.md · global").setCheckState(0, Qt.CheckState.Unchecked)
    assert find(tree, "b.md · global").text(1) == "not changed"
    assert find(tree, "Merge into a.md").checkState(0) == Qt.CheckState.PartiallyChecked
    assert set(choices.blocked) == {B}


@pytest.mark.parametrize("dark", [False, True])
def test_what_becomes_of_a_row_is_readable_in_both_schemes(qtbot: Any, dark: bool) -> None:
    """In the dark scheme it was dark brown on black."""
    before = QApplication.palette()
    QApplication.setPalette(dark_palette() if dark else QPalette(QColor(239, 239, 239)))
    try:
        tree = ReviewTree()
        qtbot.addWidget(tree)
        tree.show_choices(Choices(merge()))
        _part, receiver = next(each for each in tree.parts() if each[0].file is not None)
        receiver.setCheckState(0, Qt.CheckState.Unchecked)
        said = [item for _part, item in tree.parts() if item.text(1)]
        assert said
        base = tree.palette().color(QPalette.ColorRole.Base)
        assert all(contrast(item.foreground(1).color(), base) >= 4.5 for item in said)
    finally:
        QApplication.setPalette(before)


def test_a_run_that_is_on_disk_has_no_boxes(tree: ReviewTree) -> None:
    tree.show_choices(Choices(merge(can_apply=False, of=run(dry_run=False))))
    assert all(item.data(0, Qt.ItemDataRole.CheckStateRole) is None for _part, item in tree.parts())


def test_a_rename_says_from_where_to_where(tree: ReviewTree) -> None:
    from reverie.services.views import ReviewFile, ReviewGroup, ReviewView

    made = merge()
    file = ReviewFile(D, "rename", "x\n", "x\n", (), A)
    tree.show_choices(
        Choices(ReviewView(run(), (ReviewGroup(0, "rename", "", (file,)),), (), False, "", made.plan))
    )
    assert "a.md → d.md · global renamed" in rows(tree)


def test_names_that_hide_something_are_shown_escaped(tree: ReviewTree) -> None:
    tree.show_choices(Choices(view({}, {"/memories/global/a\u202eb.md": "x\n"})))
    assert any("a\\u202eb.md" in row for row in rows(tree))


class Shown:
    """Tree and detail as the pane wires them."""

    def __init__(self, qtbot: Any, choices: Choices) -> None:
        self.choices = choices
        self.tree, self.detail = ReviewTree(), ReviewDetail(Icons())
        for widget in (self.tree, self.detail):
            qtbot.addWidget(widget)
            widget.show()
        self.tree.picked.connect(lambda part: self.detail.show_part(choices, part))
        self.tree.show_choices(choices)

    def pick(self, text: str) -> None:
        self.tree.setCurrentItem(find(self.tree, text))


def test_the_detail_shows_the_part_and_the_reason(qtbot: Any) -> None:
    shown = Shown(qtbot, Choices(merge(reasons=("They say the same.", "They say the same.", "Shorter."))))
    shown.pick("b.md · global")
    qtbot.waitUntil(lambda: shown.detail.merge.gone.is_filled)
    assert "→ Only b says this line." in shown.detail.merge.gone.toPlainText()
    assert shown.detail.note.text() == "They say the same."
    assert "@@" not in shown.detail.diff.toPlainText()
    assert "+ Only b says this line." in shown.detail.diff.toPlainText(), "the result of the merge"


def test_what_is_typed_counts_and_is_there_again_after_looking_elsewhere(qtbot: Any) -> None:
    choices = Choices(merge())
    shown = Shown(qtbot, choices)
    shown.pick("c.md · global")
    shown.detail.edit.click()
    shown.detail.editor.setPlainText("Mine.\n")
    shown.pick("a.md · global")
    assert files(choices)[C] == b"Mine.\n"
    shown.pick("c.md · global")
    assert shown.detail.editor.isVisible()
    assert shown.detail.editor.toPlainText() == "Mine.\n"
    with qtbot.waitSignal(shown.detail.changed):
        shown.detail.take_back.click()
    assert not choices.is_written(group_and_file(choices, C)[1])


def test_looking_at_the_editor_changes_nothing(qtbot: Any) -> None:
    choices = Choices(merge())
    shown = Shown(qtbot, choices)
    shown.pick("c.md · global")
    shown.detail.edit.click()
    shown.detail.edit.click()
    assert choices.selection == ReviewSelection()


def test_agreeing_to_a_loss_is_offered_where_it_helps(qtbot: Any) -> None:
    choices = Choices(merge())
    choices.take_file(*group_and_file(choices, A), False)
    shown = Shown(qtbot, choices)
    shown.pick("b.md · global")
    assert "no longer exist anywhere" in shown.detail.blocked.text
    assert shown.detail.agree.isVisible()
    with qtbot.waitSignal(shown.detail.changed):
        shown.detail.agree.click()
    assert choices.blocked == {}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a\r\nb\r\n", "a\nb\n", "line endings (LF or CR LF)"),
        ("a\nb\n", "a\nb", "line break at the end of the file"),
        ("a b\n", "a b  \n", "trailing spaces"),
        ("10 EUR\n", "10\u00a0EUR\n", "kind or number of spaces"),
    ],
)
def test_a_change_that_one_cannot_see_says_what_differs(
    qtbot: Any, before: str, after: str, said: str
) -> None:
    shown = Shown(qtbot, Choices(view({C: before}, {C: after})))
    shown.pick("c.md · global")
    assert f"Some lines look the same but differ in: {said}." in shown.detail.diff.content
    diff = DiffView()
    qtbot.addWidget(diff)
    diff.show_diff(unified(before.encode(), after.encode(), "c.md"))
    assert diff.content.startswith(f"Some lines look the same but differ in: {said}.\n")
