"""The palette finds every action and memory as one types, says why something is not possible, and does what
is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from ui_windows import Windows

from helpers.samples import snapshot
from reverie.ui.window.actions import ACTIONS, ActionRow, ActionState, always
from reverie.ui.window.palette import (
    MOST_MEMORIES,
    Entry,
    Palette,
    PaletteModel,
    action_entries,
    setting_entries,
    why_not,
)
from reverie.ui.window.ranking import MOST_FUZZY, fit, ranked
from reverie.values import fields_of


@pytest.mark.parametrize("typed", ["conso", "solid", "now cons", "cn", "conslidate"])
def test_a_line_is_found_by_its_beginning_a_part_words_initials_and_with_a_slip(typed: str) -> None:
    assert fit(typed, "consolidate now") > 0


@pytest.mark.parametrize("typed", ["zzz", "now x", "cx"])
def test_what_does_not_fit_is_not_shown(typed: str) -> None:
    assert fit(typed, "consolidate now") == 0


def test_what_is_literal_comes_before_what_is_close_and_beginnings_before_parts() -> None:
    lines = ["unsaved", "save", "go and save", "slave"]
    assert [lines[place] for _score, place in ranked("save", lines)] == [
        "save",
        "go and save",
        "unsaved",
        "slave",
    ]


def test_among_very_many_lines_only_literal_ones_count() -> None:
    lines = [f"note {number}" for number in range(MOST_FUZZY + 1)]
    assert ranked("nite 7", lines) == []
    assert ranked("note 77", lines)[0][1] == 77


def test_going_somewhere_a_place_comes_before_a_setting_of_that_name() -> None:
    entries = [*setting_entries(), Entry("place", ("codex",), "~/.codex")]
    model = PaletteModel(entries, ["/memories/global/codex.md"])
    model.find("codex")
    assert model.suggested is not None
    assert model.suggested.kind in ("place", "memory")
    kinds = [entry.kind for entry in model.entries if "codex" in entry.line]
    assert kinds == sorted(kinds, key=lambda kind: kind == "setting")
    assert "setting" in kinds


def test_what_is_not_possible_says_what_it_waits_for() -> None:
    for spec in ACTIONS:
        assert bool(why_not(spec.rule, ActionState())) == (not spec.rule(ActionState())), spec.id
    save = next(spec.rule for spec in ACTIONS if spec.id == "file.save")
    assert why_not(save, ActionState()) == "Open a memory first."
    assert (
        why_not(save, ActionState(open_file=True, writable=True)) == "The open memory has no unsaved changes."
    )
    assert why_not(lambda _now: False, ActionState()) == "Not available now."
    everything = ActionState(**dict.fromkeys(fields_of(ActionState), True))
    assert not why_not(always, everything)


def test_memories_are_found_by_name_and_never_all_at_once(qapp: object) -> None:
    model = PaletteModel([], [f"/memories/project/topic/note-{n}.md" for n in range(200)])
    assert model.rowCount() == 0
    model.find("note")
    assert model.rowCount() == MOST_MEMORIES
    model.find("note-199")
    assert model.entries[0].target == "/memories/project/topic/note-199.md"


def test_from_the_editor_to_any_action_or_memory_by_keyboard_alone(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    window = driver.window
    listed = {entry.target for entry in action_entries(window.actions_.rows(), ActionState())}
    assert listed == {spec.id for spec in ACTIONS} - {"view.palette"}
    path = sorted(window.tab.model.memory_tree.files)[0]
    driver.open(sorted(window.tab.model.memory_tree.files)[-1])
    window.activateWindow()
    driver.pane.text.setFocus()
    QTest.keyClick(driver.pane.text, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    driver.until(lambda: bool(window.findChildren(Palette)))
    palette = window.findChildren(Palette)[0]
    driver.until(palette.isVisible)
    assert palette.focusWidget() is palette.field
    assert palette.geometry().width() <= window.width()

    palette.field.setText("save")
    listed_now = {entry.target: entry for entry in palette.model.entries}
    assert listed_now["file.save"].why_not  # nothing was changed
    assert palette.current is None or not palette.current.why_not
    palette.list.setCurrentIndex(palette.model.index(palette.model.entries.index(listed_now["file.save"]), 0))
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.field.setText("show homes")
    shown = window.picker.isHidden()
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.picker.isHidden() != shown
    QApplication.sendPostedEvents(None, 0)

    QTest.keyClick(driver.pane.text, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    palette = next(each for each in window.findChildren(Palette) if each.isVisible())
    palette.field.setText(path.rpartition("/")[2])
    while palette.current is not None and palette.current.target != path:
        before = palette.current
        QTest.keyClick(palette.field, Qt.Key.Key_Down)
        assert palette.current != before
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == path)

    window.dialogs.show_palette()
    palette = next(each for each in window.findChildren(Palette) if each.isVisible())
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def _model(typed: str, now: ActionState, paths: list[str]) -> PaletteModel:
    rows = [
        ActionRow(spec.id, spec.text.replace("&", "").rstrip("…"), "", "", "", spec.rule, spec.destructive)
        for spec in ACTIONS
    ]
    model = PaletteModel([*action_entries(rows, now), *setting_entries()], paths)
    model.find(typed)
    return model


EVERYTHING = ActionState(**dict.fromkeys(fields_of(ActionState), True))


@pytest.mark.parametrize("typed", ["theme", "delte", "elete", "dlt", "ete mem", "dm", "mem del"])
def test_a_guess_never_leads_to_a_destructive_command(qapp: object, typed: str) -> None:
    model = _model(typed, EVERYTHING, [])
    assert "memory.delete" not in [entry.target for entry in model.entries]


@pytest.mark.parametrize("typed", ["d", "del", "delete", "Delete"])
def test_a_destructive_command_is_listed_by_its_beginning_but_never_suggested(
    qapp: object, typed: str
) -> None:
    model = _model(typed, EVERYTHING, ["/memories/global/delete-later.md"])
    assert "memory.delete" in [entry.target for entry in model.entries]
    assert model.suggested is not None
    assert model.suggested.target != "memory.delete"


def test_what_is_not_possible_is_never_suggested_and_comes_after_what_is(qapp: object) -> None:
    model = _model("co", ActionState(home=True), [])
    assert model.suggested is not None
    assert not model.suggested.why_not
    waiting = [bool(entry.why_not) for entry in model.entries]
    assert waiting == sorted(waiting)
    assert _model("copy path", ActionState(), []).suggested is None


def test_a_guess_is_listed_but_not_suggested(qapp: object) -> None:
    model = _model("consilidate", EVERYTHING, [])
    assert model.entries
    assert model.suggested is None


@pytest.mark.parametrize("typed", ["theme", "dark", "appearance"])
def test_theme_finds_the_appearance_setting_first(qapp: object, typed: str) -> None:
    """B2."""
    model = _model(typed, EVERYTHING, [])
    assert model.suggested is not None
    assert model.suggested.target == "window.theme"


def test_a_destructive_command_is_not_found_by_its_menu(qapp: object) -> None:
    row = ActionRow("x", "Delete", "Memory", "", "", always, destructive=True)
    model = PaletteModel(action_entries([row], EVERYTHING), [])
    model.find("mem")
    assert model.entries == []


def test_theme_and_enter_delete_nothing_and_show_the_setting(windows: Windows, home: Path) -> None:
    """B2."""
    driver = windows.open(home)
    path = sorted(driver.window.tab.model.memory_tree.files)[0]
    driver.open(path)
    before = snapshot(home)
    driver.tree.setFocus()
    driver.do("view.palette")
    palette = next(each for each in driver.window.findChildren(Palette) if each.isVisible())
    QTest.keyClicks(palette.field, "theme")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    dialog = driver.window.dialogs.settings.dialog
    assert dialog is not None
    driver.until(lambda: dialog.focusWidget() is dialog.fields["window.theme"].widget)
    dialog.close()
    driver.settle()
    assert snapshot(home) == before


def test_go_to_knows_workspaces_homes_and_settings_and_no_command(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("view.goto")
    palette = next(each for each in driver.window.findChildren(Palette) if each.isVisible())
    kinds = {entry.kind for entry in palette.model.entries}
    assert kinds == {"place", "setting"}
    assert not palette.model.find("delete")
    assert all(entry.kind != "command" for entry in palette.model.entries)
    picker = driver.window.picker
    here = picker.places.keys(picker.currentIndex())
    other = next(
        entry for entry in picker.entries() if entry.target != here and len(entry.target) == len(here)
    )
    palette.field.setText(other.text)
    while palette.current is not None and palette.current.target != other.target:
        QTest.keyClick(palette.field, Qt.Key.Key_Down)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert picker.places.keys(picker.currentIndex()) == other.target
    driver.settle()
    assert driver.session.context.workspace_id == other.target[-1].removeprefix("w:")
