"""The looks of the window: nothing cut, covered, pale, nameless or out of reach, in any scheme."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QColor, QFontMetrics, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPushButton,
    QStyleFactory,
    QWidget,
)
from ui_windows import Driver, Windows

from helpers.audit import problems
from helpers.isolation import TEST_PROFILE
from reverie.agents.scopes import Scope
from reverie.ui.app import make_application
from reverie.ui.dialogs import ConsentDialog, ShortcutSheet
from reverie.ui.display_text import as_tooltip
from reverie.ui.memory.edit_dialogs import MoveDialog, PathDialog
from reverie.ui.widgets import row_delegate
from reverie.ui.window.actions import ACTIONS, OF_SOME_AGENTS
from reverie.ui.window.palette import Palette
from reverie.ui.window_style import AppearanceControl, WindowStyle

NARROW = 360
MOST_NAME = 24
"""Letters of a file's name that always have room; a few in the samples are longer."""


class Page(QDialog):
    """Something to be looked over."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Page")
        self.resize(300, 200)

    def put(self, widget: QWidget, x: int, y: int, width: int, height: int = 24) -> None:
        widget.setParent(self)
        widget.setGeometry(x, y, width, height)


@pytest.fixture
def page(qtbot: Any) -> Page:
    make_application()
    made = Page()
    qtbot.addWidget(made)
    return made


def test_a_clean_page_has_no_problem(page: Page) -> None:
    page.put(QLabel("Name"), 10, 10, 100)
    page.put(QPushButton("Do it"), 10, 50, 100)
    page.show()
    assert problems(page) == []


def test_text_that_is_cut_is_told_unless_something_says_the_whole(page: Page) -> None:
    cut, told = QLabel("A rather long sentence"), QLabel("A rather…")
    told.setToolTip("A rather long sentence")
    page.put(cut, 10, 10, 60)
    page.put(told, 10, 50, 100)
    page.put(QPushButton("A rather long name"), 10, 90, 40)
    page.show()
    found = problems(page)
    assert [("QLabel" in each, "QPushButton" in each) for each in found] == [(True, False), (False, True)]


def test_what_covers_another_or_goes_beyond_the_edge_is_told(page: Page) -> None:
    page.put(QPushButton("One"), 10, 10, 100)
    page.put(QPushButton("Two"), 50, 20, 100)
    page.put(QPushButton("Three"), 250, 100, 100)
    page.show()
    found = " ".join(problems(page))
    assert "overlap" in found
    assert "beyond" in found


def test_markup_that_a_screen_reader_would_be_told_and_a_nameless_window_are_told(page: Page) -> None:
    """B37."""
    tip, name, fine = QPushButton("One"), QPushButton("Two"), QPushButton("&Three")
    tip.setToolTip("<qt>one<br>two</qt>")
    name.setAccessibleName("T&wo")
    fine.setToolTip(as_tooltip("<b>a file</b> & &lt;more"))
    for at, button in enumerate((tip, name, fine)):
        page.put(button, 10, 10 + 40 * at, 100)
    page.setWindowTitle("")
    page.show()
    found = " ".join(problems(page))
    assert "<qt>" in found
    assert "T&wo" in found
    assert "has no name" in found
    assert "file" not in found
    assert "hree" not in found


def test_pale_text_is_told_and_disabled_text_is_not(page: Page) -> None:
    for at, enabled in ((10, True), (50, False)):
        label = QLabel("Pale" if enabled else "Off")
        palette = QPalette(label.palette())
        palette.setColor(QPalette.ColorRole.WindowText, QColor("#bbbbbb"))
        label.setPalette(palette)
        label.setEnabled(enabled)
        page.put(label, 10, at, 100)
    page.show()
    assert [each.partition(":")[0] for each in problems(page)] == ["QLabel 'Pale'"]


def test_faint_edges_and_what_is_too_small_to_be_pressed_are_told(page: Page) -> None:
    """B17."""
    field, small, box, fine = QLineEdit(), QPushButton("S"), QCheckBox("Box"), QPushButton("Fine")
    for at, (widget, height) in enumerate(((field, 28), (small, 20), (box, 28), (fine, 28))):
        widget.setAccessibleName(f"control {at}")
        page.put(widget, 10, 10 + 40 * at, 100, height)
    page.show()
    assert [each for each in problems(page) if "control 1" not in each] == []
    found = " ".join(problems(page))
    assert "'control 1': 100 x 20 px is too small" in found
    # As Fusion drew it before the style was ours: an outline a little darker than the window.
    fusion = QStyleFactory.create("Fusion")
    box.setStyle(fusion)
    found = " ".join(problems(page))
    assert "QCheckBox 'control 2': its edge" in found
    assert "'control 3'" not in found


def test_rows_of_different_heights_and_low_rows_are_told(page: Page) -> None:
    rows = QListWidget()
    rows.setAccessibleName("rows")
    rows.addItems(["one", "two", "three"])
    page.put(rows, 10, 10, 200, 150)
    page.show()
    assert problems(page) == []
    rows.item(1).setSizeHint(QSize(0, 60))
    assert "QListWidget 'rows': rows of [26, 60] px" in " ".join(problems(page))
    for row in range(3):
        rows.item(row).setSizeHint(QSize(0, 18))
    assert "a row of 18 px is too small" in " ".join(problems(page))


def test_what_the_keyboard_cannot_reach_or_name_or_meets_out_of_order_is_told(page: Page) -> None:
    upper, lower, field = QPushButton("Upper"), QPushButton("Lower"), QLineEdit()
    page.put(lower, 10, 80, 100)
    page.put(upper, 10, 10, 100)
    page.put(field, 10, 120, 100)
    page.show()
    found = " ".join(problems(page))
    assert "back up to QPushButton 'Upper'" in found
    assert "QLineEdit '' has no accessible name" in found
    hidden = Page()
    hidden.setParent(page)
    outside = QPushButton("Outside")
    page.put(outside, 150, 10, 90)
    outside.show()
    assert not any("Outside" in each for each in problems(page))


# The window


@pytest.fixture
def look(qapp: QApplication) -> Iterator[AppearanceControl]:
    made = AppearanceControl(make_application())
    yield made
    made.end()
    made.deleteLater()


def _states(driver: Driver) -> Iterator[tuple[str, QWidget]]:
    """Every page and the dialogs that need no run, one after the other."""
    window, tab = driver.window, driver.tab
    window.show_memory()
    driver.open(f"/memories/project/{sorted(driver.paths())[0]}")
    yield "memory", window
    tab.search.field.setText("retr")
    driver.until(lambda: tab.search.settled and tab.search.answer is not None)
    yield "search", window
    tab.search.leave()
    for name, show in (
        ("traces", window.lazy_tabs.show_traces),
        ("log", window.lazy_tabs.show_log),
        ("checks", window.lazy_tabs.show_checks),
    ):
        show()
        driver.until(lambda: not window.lanes.scan.busy and not driver.services.checks.busy)
        yield name, window
    window.show_memory()
    window.dialogs.show_palette()
    palette = next(each for each in window.findChildren(Palette) if each.isVisible())
    palette.field.setText("co")
    yield "palette", palette
    palette.close()
    window.dialogs.open_settings()
    driver.until(lambda: window.dialogs.settings.dialog is not None and not window.dialogs.settings.busy)
    dialog = window.dialogs.settings.dialog
    assert dialog is not None
    for number in range(dialog.side.count()):
        dialog.side.setCurrentRow(number)
        yield f"settings {number}", dialog
    dialog.reject()
    driver.until(lambda: window.dialogs.settings.dialog is None)
    for name, made in (
        ("sheet", ShortcutSheet(window.actions_.shortcuts(), window)),
        (
            "new memory",
            PathDialog("New", "Create", list(Scope), "", lambda _path: False, window, describe=True),
        ),
    ):
        made.show()
        yield name, made
        made.close()
        made.deleteLater()


def _tool_states(driver: Driver, home: Path) -> Iterator[tuple[str, QWidget]]:
    """The windows of the memory tools, and what is asked before and after a run. Nothing is applied."""
    window, tab = driver.window, driver.tab
    window.show_memory()
    control = window.lazy_tabs.changes
    for name in ("testing", "preferences"):
        (home / f"memory/global/{name}.md").write_text("Rewritten.\n")
    driver.until(lambda: "testing.md" in driver.paths(Scope.GLOBAL))
    driver.settle()
    window.show_memory()
    driver.tree.select_path("/memories/global")
    driver.do("memory.history")
    driver.reviewed()
    yield from _columns(driver, "history")
    control.tab.changes.select(control.tab.changes.shown_rows[-1].key)
    files = driver.reviewed()
    files.restore_folder_button.click()
    driver.until(lambda: control.dialog is not None)
    assert control.dialog is not None
    yield "restore", control.dialog
    control.dialog.reject()
    window.actions_["memory.duplicates"].trigger()
    page = tab.worth.page
    driver.until(lambda: tab.worth.is_settled and bool(page.list.values))
    row = next(row for row, matter in enumerate(page.list.values) if "AGENTS.md" not in str(matter))
    page.list.setCurrentIndex(page.list.rows.index(row, 0))
    driver.until(lambda: not page.pair.isHidden())
    yield "duplicates", window
    page.merge.click()
    driver.until(lambda: tab.worth.dialog is not None and tab.worth.dialog.is_checked)
    merge = tab.worth.dialog
    assert merge is not None
    yield "merge", merge
    merge.reject()
    tab.show_beside(None)
    window.actions_["memory.trash"].trigger()
    driver.until(lambda: control.is_settled and len(control.tab.changes.shown_rows) > 0)
    yield from _columns(driver, "deleted memories")
    tab.dreams.preview()
    driver.until(lambda: not tab.dreams.jobs.running)
    driver.review()
    yield from _columns(driver, "review")
    window.actions_["dream.runs"].trigger()
    driver.until(lambda: control.is_settled)
    yield "runs", window
    window.show_memory()
    asked = driver.session.workbench.models.consent_needed(driver.session.context, "ollama:qwen3:8b")
    if asked is not None:
        consent = ConsentDialog(asked, "ollama:qwen3:8b", window)
        consent.show()
        yield "consent", consent
        consent.close()
    move = MoveDialog(
        ["/memories/global/a.md", "/memories/global/b.md"],
        {scope: ["api"] for scope in Scope},
        tab.model.is_taken,
        window,
    )
    move.show()
    yield "move", move
    move.close()


def _columns(driver: Driver, name: str) -> Iterator[tuple[str, QWidget]]:
    """The Changes tab; where only one column is seen, each of them."""
    tab = driver.changes.tab
    for column in range(3 if tab.is_narrow else 1):
        tab.go_to(column)
        yield f"{name} {column}", driver.window
    tab.go_to(0)


LIGHT, NARROW_DARK, LARGE = ("en", "light", 0, 1240), ("de", "dark", 0, NARROW), ("de", "light", 13, 1240)


def looks(one: tuple[str, str, int, int]) -> Any:
    """One look in the suite, all in the campaign."""
    chosen = (LIGHT, NARROW_DARK, LARGE) if TEST_PROFILE == "campaign" else (one,)
    names = {LIGHT: "light", NARROW_DARK: "german, dark, narrow", LARGE: "german, large type"}
    arguments = ("language", "theme", "size", "width")
    return pytest.mark.parametrize(arguments, chosen, ids=[names[each] for each in chosen])


@looks(NARROW_DARK)
def test_every_page_and_dialog_is_clean(
    windows: Windows, home: Path, look: AppearanceControl, language: str, theme: str, size: int, width: int
) -> None:
    look.begin(WindowStyle(size, language, theme))
    driver = windows.open(home)
    if width == NARROW:
        driver.window.toggle_picker()
    driver.window.resize(width, 780)
    found = [f"{name}: {each}" for name, shown in _states(driver) for each in problems(shown)]
    assert found == []


@looks(LARGE)
def test_every_tool_and_what_is_asked_around_a_run_is_clean(
    windows: Windows, home: Path, look: AppearanceControl, language: str, theme: str, size: int, width: int
) -> None:
    memories = home / "memory" / "global"
    note = "---\ndescription: Deploying the service\n---\n\n- Run the smoke tests first\n- Tag the release\n"
    (memories / "deploy.md").write_text(note)
    (memories / "deploy-steps.md").write_text(note + "- Tell the team\n")
    windows.settings('[providers.ollama]\nbase_url = "http://gpu.example:11434/v1"\n')
    look.begin(WindowStyle(size, language, theme))
    driver = windows.open(home)
    (memories / "testing.md").unlink()
    driver.until(lambda: driver.tab.model.file_at("/memories/global/testing.md") is None)
    driver.settle()
    if width == NARROW:
        driver.window.toggle_picker()
    driver.window.resize(width, 780)
    found = [f"{name}: {each}" for name, shown in _tool_states(driver, home) for each in problems(shown)]
    assert found == []


def high_contrast() -> QPalette:
    """White on black as a system has it, with a loud highlight."""
    palette, roles = QPalette(QColor("black")), QPalette.ColorRole
    for role in (roles.Window, roles.Base, roles.AlternateBase, roles.Button, roles.ToolTipBase):
        palette.setColor(role, QColor("black"))
    for role in (roles.WindowText, roles.Text, roles.ButtonText, roles.PlaceholderText, roles.ToolTipText):
        palette.setColor(role, QColor("white"))
    palette.setColor(roles.Highlight, QColor("#1aebff"))
    palette.setColor(roles.HighlightedText, QColor("black"))
    return palette


def test_every_page_is_clean_in_high_contrast(
    windows: Windows, home: Path, look: AppearanceControl, qapp: QApplication
) -> None:
    """B17."""
    look.begin(WindowStyle(0, "en", "light"))
    qapp.setPalette(high_contrast())
    driver = windows.open(home)
    driver.tree.setFocus()
    found = [f"{name}: {each}" for name, shown in _states(driver) for each in problems(shown)]
    assert found == []


@pytest.mark.parametrize(("size", "width"), [(0, 1240), (0, NARROW), (20, 1240)])
def test_no_file_name_is_shortened(
    windows: Windows,
    home: Path,
    look: AppearanceControl,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    width: int,
) -> None:
    """B16, and the names at any width."""
    shortened: set[str] = set()
    fit = row_delegate._fitted

    def fitted(metrics: QFontMetrics, text: str, mode: Qt.TextElideMode, room: int) -> tuple[str, int]:
        shown, needed = fit(metrics, text, mode, room)
        if shown != text and mode == Qt.TextElideMode.ElideMiddle:
            shortened.add(text)
        return shown, needed

    monkeypatch.setattr(row_delegate, "_fitted", fitted)
    look.begin(WindowStyle(size, "en", "light"))
    driver = windows.open(home)
    if width == NARROW:
        driver.window.toggle_picker()
    driver.window.resize(width, 780)
    for _name, shown in _states(driver):
        shown.grab()
    names = {name for name in shortened if name.endswith(".md")}
    assert {name for name in names if len(name) <= MOST_NAME} == set()


def test_a_narrow_window_with_large_type_stays_as_it_is_whatever_is_first_looked_at_in_it(
    windows: Windows, home: Path, look: AppearanceControl
) -> None:
    look.begin(WindowStyle(16, "de", "light"))
    driver = windows.open(home)
    window = driver.window
    window.toggle_picker()
    window.resize(NARROW, 480)
    driver.until(lambda: window.width() == NARROW)
    before = window.size()
    for index in (each for each in range(window.tabs.count()) if window.tabs.isTabVisible(each)):
        window.tabs.setCurrentIndex(index)
        driver.settle()
        assert window.size() == before, window.tabs.tabText(index)
    tab = driver.traces
    window.tabs.setCurrentWidget(tab)
    driver.until(lambda: tab.is_settled and bool(tab.list.shown))
    assert tab.splitter.width() <= window.width(), "nothing lies beyond the right edge"
    # Menus without room stand behind an arrow of Qt's own.
    found = [each for each in problems(window) if "menu bar" not in each]
    assert found == [], "what is too high is scrolled to, not squeezed"


def test_every_action_is_reached_by_keyboard_and_no_key_does_two_things(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    window, actions = driver.window, driver.window.actions_
    letters: set[str] = set()
    for top in window.menuBar().actions():
        letters.add(_letter(top))
        menu = top.menu()
        assert isinstance(menu, QMenu)
        rows = [action for action in menu.actions() if not action.isSeparator()]
        assert all(_letter(action) for action in rows), [
            action.text() for action in rows if not _letter(action)
        ]
    assert "" not in letters
    assert len(letters) == len(window.menuBar().actions())
    # A key of the tree hides one of the window while the tree has the focus; of one place there is one.
    for where in ("window", "tree"):
        keys = [key for spec in ACTIONS if spec.where == where for key in spec.keys]
        assert len(keys) == len(set(keys))
    reserved = {
        QKeySequence(Qt.Key.Key_Tab),
        QKeySequence(Qt.Key.Key_Escape),
        QKeySequence(Qt.Key.Key_Return),
    }
    listed = " ".join(keys for _, rows in actions.shortcuts() for _, keys in rows)
    for spec in ACTIONS:
        action = actions[spec.id]
        assert reserved.isdisjoint(action.shortcuts())
        assert action.isVisible() or spec.id in OF_SOME_AGENTS
        for key in action.shortcuts():
            assert key.toString(QKeySequence.SequenceFormat.NativeText) in listed, spec.id


def _letter(action: QAction) -> str:
    """The key that chooses it in its menu."""
    text = action.text().replace("&&", "")
    at = text.find("&")
    return text[at + 1].casefold() if 0 <= at < len(text) - 1 else ""
