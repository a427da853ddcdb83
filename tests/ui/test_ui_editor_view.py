"""The editor in a real window: find and replace, front-matter form, preview, zoom, and the agent's cut."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox
from ui_windows import Driver, Windows

from reverie.errors import Busy
from reverie.files.locks import file_lock
from reverie.ui.appearance import dark_palette
from reverie.ui.editor.find_bar import FindBar
from reverie.ui.editor.foreign_edits import replace_text
from reverie.ui.editor.front_matter_form import FrontForm
from reverie.ui.editor.modes import EditorView
from reverie.ui.editor.preview import LinkDialog, PreviewPane
from reverie.ui.settings.control import ProfileSettings

DEPLOY = "/memories/project/deploy.md"
BROKEN = "/memories/global/broken-frontmatter.md"
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
TEXT = "---\nname: deploy # note\ndescription: 'Release steps'\n---\n# Steps\n\none two one\ntwo ONE\n"


def _opened(windows: Windows, home: Path) -> Driver:
    """A window whose deploy memory is `TEXT`, not saved."""
    driver = windows.open(home)
    driver.window.activateWindow()
    driver.open(DEPLOY)
    driver.pane.text.selectAll()
    driver.type(TEXT)
    return driver


def _finder(view: EditorView) -> FindBar:
    assert view.finder is not None
    return view.finder


def _form(view: EditorView) -> FrontForm:
    assert view.form is not None
    return view.form


def _preview(view: EditorView) -> PreviewPane:
    assert view.preview is not None
    return view.preview


def test_ctrl_f_finds_in_the_file_in_the_editor_and_memories_elsewhere(
    windows: Windows, home: Path, qtbot: Any
) -> None:
    driver = _opened(windows, home)
    view = driver.pane.view
    driver.pane.text.setFocus()
    driver.until(driver.pane.text.hasFocus)
    QTest.keyClick(driver.pane.text, Qt.Key.Key_F, CTRL)
    finder = _finder(view)
    assert finder.isVisible()
    assert not driver.tab.search.field.hasFocus()
    finder.field.setText("one")
    finder.look()
    assert finder.count.text() == "1 of 3"
    # The third: from the end, round to the first, and back.
    QTest.keyClick(finder.field, Qt.Key.Key_Return)
    QTest.keyClick(finder.field, Qt.Key.Key_Return)
    QTest.keyClick(finder.field, Qt.Key.Key_F3)
    assert finder.count.text() == "3 of 3"
    assert driver.pane.text.textCursor().selectedText() == "ONE"
    QTest.keyClick(finder.field, Qt.Key.Key_F3)
    assert finder.count.text() == "1 of 3"
    QTest.keyClick(finder.field, Qt.Key.Key_Return, SHIFT)
    assert finder.count.text() == "3 of 3"
    finder.case.setChecked(True)
    assert len(finder.places.found) == 2
    finder.regex.setChecked(True)
    finder.field.setText("(")
    finder.look()
    assert finder.trouble.isVisible()
    assert not finder.all_button.isEnabled()
    _replaces(driver, finder)
    QTest.keyClick(finder.field, Qt.Key.Key_Escape)
    assert not finder.isVisible()
    assert not driver.pane.text.extraSelections()
    driver.tree.setFocus()
    QTest.keyClick(driver.tree, Qt.Key.Key_F, CTRL)
    assert driver.tab.search.field.hasFocus()
    assert not finder.isVisible()


def _replaces(driver: Driver, finder: FindBar) -> None:
    """All is one step to undo; one goes on to the next; nothing in what is read only."""
    document = driver.pane.text.document()
    driver.do("edit.replace")
    finder.field.setText("(o)ne")
    finder.other.setText(r"\1NE1")
    finder.case.setChecked(False)
    assert finder.replace_all() == 3
    assert document.toPlainText().count("NE1") == 3
    document.undo()
    assert document.toPlainText() == TEXT
    finder.regex.setChecked(False)
    finder.field.setText("two")
    finder.other.setText(r"\1")
    driver.pane.text.moveCursor(driver.pane.text.textCursor().MoveOperation.Start)
    finder.replace()
    finder.replace()
    assert document.toPlainText() == TEXT.replace("one two", r"one \1")
    assert finder.count.text() == "1 of 1"
    document.undo()
    driver.pane.text.setReadOnly(True)
    assert finder.replace_all() == 0
    assert document.toPlainText() == TEXT
    driver.pane.text.setReadOnly(False)


def test_the_form_changes_only_the_value_and_undo_knows_it(windows: Windows, home: Path, qtbot: Any) -> None:
    driver = _opened(windows, home)
    view, document = driver.pane.view, driver.pane.text.document()
    driver.do("edit.front")
    form = _form(view)
    assert driver.window.actions_["edit.front"].isChecked()
    field = form.fields[("description",)].editor
    assert list(form.fields) == [("name",), ("description",)]
    assert field.text() == "Release steps"
    field.selectAll()
    QTest.keyClicks(field, "It's new")
    assert document.toPlainText() == TEXT.replace("'Release steps'", "'It''s new'")
    form.key.setCurrentText("metadata.type")
    form.add_button.click()
    QTest.keyClicks(form.fields[("metadata", "type")].editor, "user")
    assert "metadata:\n  type: user\n---\n" in document.toPlainText()
    form.fields[("metadata", "type")].remove.click()
    assert document.toPlainText() == TEXT.replace("'Release steps'", "'It''s new'")
    while document.toPlainText() != TEXT:
        assert document.isUndoAvailable()
        document.undo()
    driver.until(lambda: form.fields[("description",)].editor.text() == "Release steps")
    field = form.fields[("description",)].editor
    form.change(("description",), "x" * 250)
    assert form.note.isVisible()
    document.undo()
    before = document.toPlainText()
    replace_text(QTextCursor(document), 0, before, before.replace("'Release steps'", "PR #9: steps"))
    driver.until(lambda: "quote" in form.trouble.keys)
    form.trouble.button("quote").click()
    assert document.toPlainText() == before.replace("'Release steps'", '"PR #9: steps"')
    assert not form.trouble.isVisible()
    document.undo()
    document.undo()
    driver.open(BROKEN)
    assert form.trouble.isVisible()
    assert "line" in form.trouble.keys
    form.trouble.button("line").click()
    assert driver.pane.text.textCursor().blockNumber() > 0
    driver.do("edit.front")
    assert not form.isVisible()


def test_the_preview_loads_nothing_and_asks_before_a_link(qtbot: Any) -> None:
    opened: list[QUrl] = []
    pane = PreviewPane(opener=lambda url: bool(opened.append(url)) or True)
    qtbot.addWidget(pane)
    pane.resize(400, 300)
    pane.show()
    pane.say_text(
        "---\nname: a\n---\n<b>raw</b> ![alt](file:///etc/hostname) ![](https://x.example/i.png)\n\n"
        "```\n![](kept)\n```\n[go](https://a.example/?q=1)",
        at_once=True,
    )
    plain = pane.browser.toPlainText()
    assert "<b>raw</b>" in plain
    assert "[alt: file:///etc/hostname]" in plain
    assert "https://x.example/i.png" in plain
    assert "![](kept)" in plain
    assert plain.startswith("name: a")
    assert "\ufffc" not in plain
    assert pane.browser.loadResource(2, QUrl("file:///etc/hostname")) is None
    for refused in ("javascript:alert(1)", "file:///etc/passwd", "other.md", "data:text/html,x"):
        pane.ask(QUrl(refused))
        assert pane.question is None
        assert pane.address.isVisible()
    pane.ask(QUrl("https://a.example/äö?q=1"))
    question = pane.question
    assert question is not None
    assert question.address.toPlainText() == "https://a.example/%C3%A4%C3%B6?q=1"
    assert question.cancel_button.isDefault()
    question.buttons.button(QDialogButtonBox.StandardButton.Cancel).click()
    assert not opened
    pane.ask(QUrl("https://a.example/"))
    assert pane.question is not None
    pane.question.open_button.click()
    qtbot.waitUntil(lambda: not pane.findChildren(LinkDialog))
    assert [url.toString() for url in opened] == ["https://a.example/"]
    pane.setPalette(dark_palette())
    assert pane.browser.toPlainText() == plain
    pane.say_text("x" * 50_000, at_once=True)
    assert pane.note.isVisible()
    assert not pane.browser.isVisible()


def test_modes_zoom_and_wishes_and_what_the_agent_does_not_read(
    windows: Windows, home: Path, qtbot: Any
) -> None:
    driver = _opened(windows, home)
    view, text = driver.pane.view, driver.pane.text
    _undo_survives_a_save(driver)
    driver.do("editor.side")
    preview = _preview(view)
    assert text.isVisible()
    assert "Steps" in preview.browser.toPlainText()
    driver.type("\n\nMore words\n" + "line\n\n" * 100)
    driver.until(lambda: "More words" in preview.browser.toPlainText())
    text.verticalScrollBar().setValue(text.verticalScrollBar().maximum())
    bar = preview.browser.verticalScrollBar()
    assert bar.maximum() > 0
    assert bar.value() == bar.maximum()
    text.setFocus()
    text.insertPlainText("end")
    driver.until(lambda: preview.browser.toPlainText().endswith("end"))
    # New text renders anew, and the source stays where it was.
    assert text.verticalScrollBar().value() > 0
    preview.browser.setFocus()
    bar.setValue(0)
    assert text.verticalScrollBar().value() == 0
    driver.do("editor.preview")
    assert not text.isVisible()
    driver.pane.focus_text()
    driver.do("edit.find")
    assert view.mode == "source"
    assert not driver.window.actions_["editor.preview"].isChecked()
    size = text.font().pointSizeF()
    text.setFocus()
    QTest.keyClick(text, Qt.Key.Key_Plus, CTRL)
    assert text.font().pointSizeF() == size + 1
    driver.do("editor.wrap")
    driver.do("editor.lines")
    assert not text.wraps
    assert not text.line_numbers
    driver.until(lambda: "editor_zoom = 1" in _settings(windows))
    assert "editor_wrap = false" in _settings(windows)
    driver.do("editor.zoom-reset")
    assert text.font().pointSizeF() == size
    _shows_the_cut(driver)


def test_settings_that_another_process_changes_hold_up_no_lane_for_long(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.open(DEPLOY)
    profile = windows.profile
    with file_lock(profile.locks, profile.settings_file):
        began = time.monotonic()
        driver.do("editor.wrap")
        driver.until(lambda: "is locked" in driver.pane.error.text)
        took = time.monotonic() - began
    assert took < 8, "all lanes waited for it"
    service = ProfileSettings(profile, cast("Any", None))
    with file_lock(profile.locks, profile.settings_file), pytest.raises(Busy, match=r"within 0\.5 seconds"):
        service.change_settings(lambda settings: settings).send(None)


def _undo_survives_a_save(driver: Driver) -> None:
    """Ctrl+Z goes back behind what was saved."""
    document = driver.pane.text.document()
    driver.do("file.save")
    driver.until(lambda: not document.isModified())
    document.undo()
    assert document.toPlainText() != TEXT
    assert document.isModified()
    document.redo()
    assert document.toPlainText() == TEXT


def _settings(windows: Windows) -> str:
    path = windows.profile.settings_file
    return path.read_text() if path.exists() else ""


def _shows_the_cut(driver: Driver) -> None:
    pane = driver.pane
    assert pane.text.unseen_block is None
    pane.text.selectAll()
    driver.type(("x" * 95 + "\n") * 1_000)
    driver.until(lambda: "This file is near its size limit" in pane.limit.text)
    driver.type("é" * 4_000 + "\nlast\n")
    driver.until(lambda: pane.gauge.over)
    assert pane.text.unseen_block == 1_000
    assert "dashed line" in pane.limit.text
    assert "tokens" in pane.gauge.text
    pane.text.document().undo()
    driver.until(lambda: pane.text.unseen_block is None)


def test_what_the_settings_say_of_the_editor_is_shown_at_once(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.open("/memories/project/deploy.md")
    before = driver.pane.text.font().pointSizeF()
    driver.do("settings.open")
    control = driver.window.dialogs.settings
    driver.until(lambda: control.dialog is not None and not control.busy)
    assert control.dialog is not None
    fields = control.dialog.fields
    fields["window.editor_line_numbers"].widget.click()  # type: ignore[union-attr]
    zoom = fields["window.editor_zoom"].widget
    zoom.setCurrentIndex(zoom.findData(4))  # type: ignore[union-attr]
    driver.until(lambda: not driver.pane.text.line_numbers)
    driver.until(lambda: driver.pane.text.font().pointSizeF() == before + 4)
    control.dialog.undo.click()
    driver.until(lambda: driver.pane.text.line_numbers)
    assert driver.pane.text.font().pointSizeF() == before
    control.dialog.reject()
    driver.until(lambda: control.dialog is None)


def test_ctrl_alt_and_a_digit_shows_a_page_and_types_nothing(windows: Windows, home: Path) -> None:
    """An X server sends "1" along with Ctrl+Alt+1, which Qt takes for typed text."""
    driver = _opened(windows, home)
    driver.do("editor.side")
    view = driver.pane.text
    view.setFocus()
    keys = CTRL | Qt.KeyboardModifier.AltModifier
    QTest.sendKeyEvent(QTest.KeyAction.Click, view, Qt.Key.Key_1, "1", keys)
    driver.until(lambda: driver.window.actions_["editor.source"].isChecked())
    QTest.sendKeyEvent(QTest.KeyAction.Click, view, Qt.Key.Key_5, "5", keys)
    assert view.toPlainText() == TEXT


def test_what_altgr_makes_of_a_key_is_typed(windows: Windows, home: Path) -> None:
    driver = _opened(windows, home)
    view = driver.pane.text
    view.selectAll()
    keys = CTRL | Qt.KeyboardModifier.AltModifier
    QTest.sendKeyEvent(QTest.KeyAction.Click, view, Qt.Key.Key_Q, "@", keys)
    QTest.sendKeyEvent(QTest.KeyAction.Click, view, Qt.Key.Key_BraceLeft, "{", Qt.KeyboardModifier.NoModifier)
    assert view.toPlainText() == "@{"
