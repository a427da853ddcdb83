"""The names come first: a window begun without_ui, and what is imported before they are painted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QStyle, QStyleFactory, QTreeView
from ui_windows import ACME, INGEST, LIMIT_MS, Windows

from reverie.agents.scopes import Scope, ScopeContext
from reverie.clock import system_clock
from reverie.engine.first_names import FirstNames, FoundNames, find_names, whole_names
from reverie.engine.start import NamesWanted, StartingEngine
from reverie.memory.listing import name_only
from reverie.services.views import MemoryView
from reverie.ui.appearance import Icons, StartupOptions
from reverie.ui.style import CalmStyle
from reverie.ui.tree.memory_tree import MemoryTree, build_tree
from reverie.ui.tree.view import MemoryTreeModel
from reverie.ui.widgets.lists import ROW_ROLE
from reverie.ui.window import splash_tree
from reverie.ui.window.main_window import MainWindow
from reverie.ui.window.splash_tree import first_rows
from reverie.values import replace


def found(homes: tuple[Path, ...], workspace: str) -> FoundNames:
    names = find_names(NamesWanted(homes, workspace))
    assert names is not None
    return names


def names_at_start(names: FoundNames) -> FirstNames:
    """As a starting engine tells them."""
    return FirstNames.from_text(FirstNames.of(names).as_text().encode())


def whole_tree(names: FoundNames) -> MemoryTree:
    return build_tree(MemoryView(names.context, names.scopes, names.companions), names_only=True)


_SCRIPT = """
import json, sys
import reverie.cli.main, reverie.ui.app
print(json.dumps(sorted(sys.modules)))
"""
# What takes long to import and shows no name.
_LATE = {
    "PySide6.QtNetwork", "_hashlib", "httpx", "keyring", "pydantic", "pygit2", "sqlite3", "watchdog", "yaml",
    "reverie.settings", "reverie.services.workbench", "reverie.ui.window.actions", "reverie.ui.dialogs",
    "reverie.ui.window.lazy_tabs", "reverie.ui.editor.pane", "reverie.ui.memory.footer",
    "reverie.ui.memory.tab", "reverie.ui.window.homes",
}  # fmt: skip


_UNTIL_THE_NAMES = """
import os, sys
import PySide6.QtCore
from reverie.ui.window.splash_tree import SplashTree

def names_are_painted(look):
    late = {"secrets", "reverie.agents.capabilities", "reverie.agents.transcripts"} & set(sys.modules)
    late |= {"reverie.agents.discovery", "reverie.ui.style"} & set(sys.modules)
    print("Qt" in vars(PySide6.QtCore), look.model.rowCount(), *sorted(late), flush=True)
    os._exit(0)

SplashTree.load = names_are_painted
from reverie.cli.main import main
main(["--home", sys.argv[1], "--profile", sys.argv[2], "--offscreen"])
"""


_UNTIL_THE_WINDOW = """
import os, sys
import PySide6.QtCore
from reverie.ui.jobs import Lane

submit = Lane.submit

def begins(lane, name, *arguments, **more):
    if name == "load the window":
        print("BrushStyle" in vars(vars(PySide6.QtCore).get("Qt", object)), flush=True)
        os._exit(0)
    return submit(lane, name, *arguments, **more)

Lane.submit = begins
from reverie.cli.main import main
main(["--home", sys.argv[1], "--profile", sys.argv[2], "--offscreen"])
"""


def without_ui(windows: Windows, beginning: StartupOptions) -> MainWindow:
    window = MainWindow(windows.profile, system_clock, Icons(), beginning, build_ui=False)
    windows.keep(window)
    window.show()
    window.start()
    return window


def test_before_the_names_nothing_is_imported_that_shows_none() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    assert not _LATE & set(json.loads(done.stdout))


def test_the_enums_of_qt_are_not_made_before_the_names_are_painted(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _UNTIL_THE_NAMES, str(home), str(tmp_path / "profile")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False 3\n"


def test_the_enums_of_qt_are_complete_before_a_job_imports_the_window(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _UNTIL_THE_WINDOW, str(home), str(tmp_path / "profile")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_window_loads_nothing_that_plans_asks_a_model_or_reads_settings() -> None:
    heavy = ("reverie.jobs.consolidate.rules.plan", "reverie.jobs.consolidate.engine", "reverie.llm.client")
    heavy += ("reverie.settings", "pydantic", "httpx", "sqlite3", "watchdog", "pygit2")
    heavy += ("reverie.engine.engine", "reverie.services.workbench", "reverie.memory.catalogue")
    heavy += (
        "reverie.memory.lint",
        "reverie.text.redact",
        "reverie.agents.discovery",
        "reverie.context.facts",
    )
    asked = f"import sys, reverie.ui.window.parts; print([each for each in {heavy!r} if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_the_splash_tree_says_by_number_is_what_qt_means(qtbot: Any) -> None:
    flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    assert Qt.ItemDataRole.DisplayRole == splash_tree.DISPLAY_ROLE
    assert flags.value == splash_tree.LEFT_IN_THE_MIDDLE
    view = splash_tree.SplashView(splash_tree.SplashModel(), Icons())
    qtbot.addWidget(view)
    assert view.focusPolicy() == Qt.FocusPolicy.NoFocus
    assert view.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_before_our_style_is_loaded_the_first_look_is_drawn_as_with_it(
    qtbot: Any, home: Path, direction: Qt.LayoutDirection
) -> None:
    class DrawnByStyle(splash_tree.SplashView):
        drawBranches = QTreeView.drawBranches  # noqa: N815 - as Qt calls it

    def drawn(kind: type[splash_tree.SplashView], style: QStyle) -> QImage:
        view = kind(splash_tree.SplashModel(), Icons())
        qtbot.addWidget(view)
        view.setStyle(style)
        view.setLayoutDirection(direction)
        view.resize(400, 300)
        view.show_names(names_at_start(found((home,), ACME)))
        view.collapse(view.model().index(2, 0))
        return view.grab().toImage()

    ours, fusion = CalmStyle(), QStyleFactory.create("Fusion")
    with_our_style = drawn(DrawnByStyle, ours)
    assert drawn(splash_tree.SplashView, fusion) == with_our_style
    assert drawn(DrawnByStyle, fusion) != with_our_style


def test_the_first_look_says_of_its_rows_what_the_tree_says(qtbot: Any, home: Path) -> None:
    (home / "memory" / "global" / "empty" / "too").mkdir(parents=True)
    (home / "memory" / "global" / "nothing").mkdir()
    names = found((home,), ACME)
    rows, full = splash_tree.SplashModel(), MemoryTreeModel(system_clock)
    rows.show_names(names_at_start(names))
    full.show_tree(whole_tree(names))
    assert rows.rowCount() == full.rowCount() == 3
    for scope in range(3):
        here, there = rows.index(scope), full.index(scope)
        assert rows.look(here) == full.data(there, ROW_ROLE)
        assert rows.rowCount(here) == full.rowCount(there)
        for place in range(rows.rowCount(here)):
            below, same = rows.index(place, 0, here), full.index(place, 0, there)
            assert rows.parent(below) == here
            assert rows.look(below) == full.data(same, ROW_ROLE)
            assert rows.hasChildren(below) == full.hasChildren(same)
            assert not rows.index(0, 0, below).isValid(), "nobody opens a folder of it"


def test_the_names_are_shown_before_the_window_has_its_parts_and_stay_until_it_shows_them(
    windows: Windows, qtbot: Any, home: Path
) -> None:
    window = without_ui(windows, StartupOptions((home,), workspace=ACME))
    look = window.splash
    assert look is not None
    assert not hasattr(window, "tab")
    shown: list[int] = []
    ui_ready: list[bool] = []
    look.model.modelReset.connect(lambda: shown.append(look.model.rowCount()))
    window.ui_ready.connect(lambda: ui_ready.append(look.view.isVisible()))
    qtbot.waitUntil(lambda: window.splash is None, timeout=LIMIT_MS)
    assert shown == [3]
    assert ui_ready == [True]
    assert window.centralWidget() is window.splitter
    assert window.splitter.isVisible()
    tree = window.tab.model.memory_tree
    first = found((home,), ACME)
    assert set(tree.files) == set(whole_tree(first).files)
    shown_first = {node.key: [row.key for row in node.children] for node in first_rows(names_at_start(first))}
    assert {node.key: [row.key for row in node.children] for node in tree.root.children} == shown_first
    assert window.session is not None
    assert window.session.context is not None
    assert window.session.context.workspace_id == ACME


def test_a_home_that_cannot_be_opened_ends_the_first_look_with_its_words(
    windows: Windows, qtbot: Any, tmp_path: Path
) -> None:
    window = without_ui(windows, StartupOptions((tmp_path / "nothing",)))
    qtbot.waitUntil(lambda: window.splash is None, timeout=LIMIT_MS)
    assert window.opening_failed


def test_a_window_closed_during_the_first_look_leaves_nothing_behind(windows: Windows, home: Path) -> None:
    window = without_ui(windows, StartupOptions((home,)))
    assert window.close()
    assert not window.isVisible()
    assert not hasattr(window, "tab")


def test_the_first_look_is_at_the_workspace_used_last(home: Path) -> None:
    asked, last = names_at_start(found((home,), INGEST)), names_at_start(found((home,), ""))
    assert asked != last
    assert names_at_start(found((home,), "no such workspace")) == last


def told(home: Path, tmp_path: Path) -> StartingEngine:
    """An engine that tells its names, and is none otherwise."""
    script = (
        "import sys; from pathlib import Path; from reverie.profile import Profile;"
        "from reverie.engine.first_names import tell;"
        "tell(Profile.under(Path(sys.argv[1])), sys.argv[3])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "profile")]
    return StartingEngine(command, NamesWanted((home,), ACME).as_text())


def test_a_starting_engine_tells_what_is_seen_first_and_then_all_names(home: Path, tmp_path: Path) -> None:
    starting = told(home, tmp_path)
    names = found((home,), ACME)
    assert FirstNames.from_text(starting.line(LIMIT_MS / 1000)) == names_at_start(names)
    whole = whole_names(starting.line(LIMIT_MS / 1000))
    starting.wait()
    assert whole is not None
    root, view = whole
    assert root == names.home
    assert view.context == names.context
    listed = {scope: [file.rel for file in listing.files] for scope, listing in view.scopes.items()}
    assert listed == {scope: [file.rel for file in each.files] for scope, each in names.scopes.items()}


def test_a_home_that_cannot_be_listed_is_told_as_nothing(tmp_path: Path) -> None:
    starting = told(tmp_path / "gone", tmp_path)
    assert FirstNames.from_text(starting.line(LIMIT_MS / 1000)) == FirstNames()
    assert whole_names(starting.line(LIMIT_MS / 1000)) is None
    starting.wait()


@pytest.mark.parametrize("line", [b"", b"AAAA", b"no base64!", b"kw=="])
def test_what_is_no_list_of_names_is_none(line: bytes) -> None:
    assert whole_names(line) is None


def test_names_that_were_told_are_not_asked_for_again(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    session = driver.session
    view = session._update.view
    listing = view.scopes[Scope.GLOBAL]
    more = replace(listing, files=(*listing.files, name_only("told/zzz.md")))
    shown: list[bool] = []
    session.tree_changed.connect(
        lambda update: shown.append("/memories/global/told/zzz.md" in update.tree.files)
    )
    session.first_view = replace(view, scopes={**view.scopes, Scope.GLOBAL: more})
    session.select(session._choice)
    driver.until(lambda: len(shown) >= 2)
    assert shown[:2] == [True, False]


def test_names_that_were_told_of_another_place_are_left(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    session = driver.session
    session.first_view = replace(session._update.view, context=ScopeContext(None, "/elsewhere"), scopes={})
    shown: list[int] = []
    session.tree_changed.connect(lambda update: shown.append(len(update.tree.files)))
    session.select(session._choice)
    driver.until(lambda: len(shown) >= 1)
    assert shown[0] > 0
