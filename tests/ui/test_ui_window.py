"""The window on a real home: it looks without touching, follows the disk, and never reads on its own
thread."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QTabWidget, QTreeView, QWidget
from ui_windows import ACME, INGEST, SEVERAL, Driver, Windows

from helpers import churn
from helpers.audit import problems
from helpers.samples import snapshot
from reverie.agents.scopes import Scope
from reverie.engine import asking
from reverie.ui import session
from reverie.ui.jobs import Lane
from reverie.ui.tree.memory_tree import ScopeData
from reverie.ui.widgets.controls import PathLabel, WrapLabel
from reverie.ui.widgets.stacking_splitter import StackingSplitter


def on_disk(directory: Path) -> set[str]:
    return {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(directory).parts)
    }


def test_looking_leaves_the_home_byte_for_byte_as_it_was(windows: Windows, home: Path) -> None:
    before = snapshot(home)
    driver = windows.open(home)
    driver.tree.expandAll()
    for path in list(driver.tab.model.memory_tree.files)[:5]:
        driver.open(path)
    for workspace in (INGEST, SEVERAL):
        driver.choose(workspace)
    driver.do("dream.runs")
    driver.do("view.refresh")
    driver.settle()
    driver.window.close()
    assert snapshot(home) == before


def test_the_trees_hold_what_the_home_holds(windows: Windows, whole_home: Path) -> None:
    driver = windows.open(whole_home)
    assert driver.paths(Scope.GLOBAL) == on_disk(whole_home / "memory/global")
    assert driver.paths(Scope.PROJECT) == on_disk(whole_home / "memory/project/acme-api-db553efff149")
    assert driver.paths(Scope.WORKSPACE) == on_disk(whole_home / f"sessions/{ACME}/memory")
    assert driver.file("/memories/project/architecture.md").file.usage.pinned
    assert not driver.file("/memories/project/reference/trace-dump.md").file.seen_by_agent


def test_no_file_is_read_or_written_on_the_gui_thread(windows: Windows, home: Path) -> None:
    driver = windows.begin(home)
    driver.qtbot.waitExposed(driver.window)
    with GuiThreadFiles() as touched:
        driver.settle()
        opened = driver.open("/memories/global/preferences.md")
        driver.type("typed ")
        driver.do("file.save")
        driver.until(lambda: not opened.buffer.modified)
        driver.tree.expandAll()
        driver.choose(SEVERAL)
        driver.choose(ACME)
        driver.do("dream.preview")
        driver.until(lambda: not driver.tab.dreams.jobs.running)
        driver.review()
        for action in ("dream.runs", "memory.history", "memory.trash"):
            driver.do(action)
            driver.until(lambda: driver.changes.is_settled)
        (home / "memory/global/new.md").write_text("new")  # by this thread: must be seen by the hook
        driver.until(lambda: "new.md" in driver.paths(Scope.GLOBAL))
        driver.settle()
    assert [event for event in touched if "new.md" not in event] == []
    assert any("new.md" in event for event in touched), "the hook works"


def test_nothing_but_the_window_and_its_dialogs_is_ever_a_window(windows: Windows, home: Path) -> None:
    """A widget that is shown before it has a parent flashes up, and takes the focus from the window."""
    shown = ShownWindows()
    QApplication.instance().installEventFilter(shown)  # type: ignore[union-attr]
    try:
        driver = windows.open(home)
        driver.do("settings.open")
        driver.until(lambda: not driver.window.dialogs.settings.busy)
        driver.do("dream.runs")
        driver.do("view.traces")
        driver.do("view.checks")
        driver.settle()
    finally:
        QApplication.instance().removeEventFilter(shown)  # type: ignore[union-attr]
    assert [name for name in shown.names if name != "MainWindow" and not name.endswith("Dialog")] == []
    assert "MainWindow" in shown.names, "the filter works"


class ShownWindows(QObject):
    """Names the classes of the top-level widgets that were shown."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.names.append(type(watched).__name__)
        return False


class GuiThreadFiles:
    """Collects what the main thread does with files; imports of modules count. Meanwhile that thread waits
    for no answer, as in the program: what is asked is looked up by the thread that asks."""

    _events = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "sqlite3.connect")
    _current: list[str] | None = None
    _hooked = False

    def __enter__(self) -> list[str]:
        cls = type(self)
        cls._current = []
        asking._thread.never_waits = True
        if not cls._hooked:
            sys.addaudithook(cls._hook)
            cls._hooked = True
        return cls._current

    def __exit__(self, *_: object) -> None:
        type(self)._current = None
        asking._thread.never_waits = False

    @classmethod
    def _hook(cls, event: str, arguments: tuple[Any, ...]) -> None:
        if (
            cls._current is not None
            and event in cls._events
            and threading.current_thread() is threading.main_thread()
        ):
            cls._current.append(f"{event} {arguments[0]}")


def test_what_another_process_writes_is_shown_and_marked(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    path = "/memories/project/deploy.md"
    assert not driver.file(path).changed
    target = home / "memory/project/acme-api-db553efff149/deploy.md"
    outside = (
        f"from pathlib import Path; Path({str(target)!r}).write_text('---\\ndescription: anew\\n---\\n')"
    )
    subprocess.run([sys.executable, "-c", outside], check=True)
    driver.until(lambda: driver.file(path).file.description == "anew")
    driver.until(lambda: driver.file(path).changed == "changed")
    driver.open(path)
    driver.until(lambda: driver.pane.unseen.isVisible())
    driver.pane.unseen._close.click()
    driver.until(lambda: not driver.file(path).changed)


def test_a_burst_of_changes_ends_with_the_tree_equal_to_the_disk(windows: Windows, home: Path) -> None:
    windows.settings("[watch]\nreconcile_minutes = 0\nquiet_ms = 50\n")
    driver = windows.open(home)
    driver.session.rescan_on_focus = False
    directory = home / "memory/project/acme-api-db553efff149"
    subprocess.run(
        [sys.executable, churn.__file__, str(directory), "150", "7"], check=True, capture_output=True
    )
    driver.until(lambda: driver.is_settled() and driver.paths() == on_disk(directory))
    for path in driver.paths():
        status = (directory / path).stat()
        shown = driver.file(f"/memories/project/{path}").file
        assert (shown.size, shown.mtime_ns) == (status.st_size, status.st_mtime_ns), path


def test_several_projects_have_no_project_scope_and_say_why(windows: Windows, home: Path) -> None:
    driver = windows.open(home, SEVERAL)
    root = driver.tab.model.index_at("/memories/project")
    data = driver.tree.data_at(root)
    assert isinstance(data, ScopeData)
    assert data.reason
    assert driver.row(Scope.PROJECT).state == "unavailable"
    assert driver.row(Scope.PROJECT).note == data.reason
    assert driver.row(Scope.WORKSPACE).state == "record"
    assert driver.footer.button.isEnabled()


def test_a_home_that_vanishes_keeps_its_last_trees_greyed_and_comes_back(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    before = driver.paths()
    away = home.with_name("away")
    home.rename(away)
    driver.until(lambda: not driver.tab.trouble.isHidden())
    assert driver.paths() == before
    assert not driver.tree.isEnabled()
    assert not driver.footer.button.isEnabled()
    away.rename(home)
    driver.until(lambda: driver.tab.trouble.isHidden())
    assert driver.tree.isEnabled()
    assert driver.paths() == before
    driver.until(driver.footer.button.isEnabled)


def test_what_could_not_be_read_is_tried_again_without_any_event(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "RETRY_MS", 50)
    driver = windows.open(home, watching=False)
    away = home.with_name("away")
    home.rename(away)
    driver.do("view.refresh")
    driver.until(lambda: not driver.tab.trouble.isHidden())
    away.rename(home)
    driver.until(lambda: driver.tab.trouble.isHidden())


def test_a_project_list_that_changes_moves_only_what_changed(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    selected = driver.window.picker.places.keys(driver.window.picker.currentIndex())
    config = (home / "config.json").read_text()
    (home / "config.json").write_text(config.replace('"name": "backfill"', '"name": "refill"'))
    driver.until(
        lambda: any(
            place is not None and place.title == "refill"
            for place in map(driver.window.picker.place, driver.window.picker.places.walk())
        )
    )
    assert driver.window.picker.places.keys(driver.window.picker.currentIndex()) == selected


def test_a_directory_that_is_no_home_is_said_to_be_none(windows: Windows, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    driver = windows.begin(tmp_path / "nothing")
    driver.until(lambda: driver.window.gave_up)
    assert driver.window.session is None
    assert driver.tab.no_home.title.text() == "This home could not be opened"
    assert driver.tab.no_home.isVisible()
    assert not driver.window.actions_["dream.run"].isEnabled()


def test_orphaned_stores_have_a_place_of_their_own(windows: Windows, home: Path) -> None:
    shutil.copytree(home / "memory/project/acme-api-db553efff149", home / "memory/project/gone-0123456789ab")
    driver = windows.open(home)
    picker = driver.window.picker
    orphans = [place for place in map(picker.place, picker.places.walk()) if place and place.kind == "orphan"]
    # Stores of listed projects that are not there may have been found by now, too.
    (gone,) = [place for place in orphans if Path(place.path).name == "gone-0123456789ab"]
    index = next(index for index in picker.places.walk() if picker.place(index) == gone)
    picker.setCurrentIndex(index)
    driver.until(lambda: driver.tab.orphans.page.isVisible())


@pytest.fixture
def polled(windows: Windows, home: Path) -> Driver:
    windows.settings('[watch]\npolling = "always"\n')
    return windows.open(home)


def test_without_events_it_polls_and_says_so(polled: Driver) -> None:
    assert polled.session.workbench.watch_state().mode == "polling"
    assert polled.window.watch_label.text() == "Polling"
    (polled.home / "memory/global/polled.md").write_text("x")
    polled.until(lambda: "polled.md" in polled.paths(Scope.GLOBAL))


def test_closing_while_everything_is_loading_leaves_no_thread(windows: Windows, home: Path) -> None:
    """The leak guards of the suite look for the threads."""
    driver = windows.begin(home)
    driver.window.close()
    assert not any(lane.busy for lane in driver.window.lanes.all())


def _cut_off(tab: QWidget, width: int) -> list[str]:
    """The lines that go beyond the right edge, or have no room for all of their text."""
    return [
        label.text()
        for label in tab.findChildren(WrapLabel)
        if label.isVisible()
        and (
            label.mapTo(tab, label.rect().topRight()).x() >= width
            or label.height() < label.heightForWidth(label.width())
        )
    ]


def test_a_window_that_is_shut_down_is_no_longer_shown(windows: Windows, home: Path) -> None:
    """Qt would lay it out while Python destroys it part by part."""
    driver = windows.begin(home)
    assert driver.window.isVisible()
    driver.window.shut_down()
    assert not driver.window.isVisible()


def test_at_any_width_nothing_is_cut_off(windows: Windows, home: Path) -> None:
    driver = windows.open(home, SEVERAL)
    driver.open("/memories/workspace/cross-repo-checklist.md")
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.window.picker.hide()
    for width in (360, 375, 500, 639, 640, 900):
        driver.until(lambda: driver.window.minimumWidth() <= 360)
        driver.window.resize(width, 720)
        driver.until(lambda width=width: driver.tab.width() == width)
        driver.qtbot.waitUntil(driver.footer.isVisible)
        driver.until(lambda width=width: _cut_off(driver.tab, width) == [])
        assert driver.footer.button.mapTo(driver.tab, driver.footer.button.rect().topRight()).x() < width
        assert driver.footer.width() >= 300, width
        assert driver.pane.path.width() >= 64, width
        assert driver.pane.text.height() >= 96, width


def test_the_title_of_a_memory_is_its_scope_its_folders_and_its_name(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    path = "/memories/global/people/reviewers.md"
    driver.open(path)
    driver.until(lambda: driver.pane.path.text() == "Global › people › reviewers.md")
    assert driver.pane.path.toolTip() == path
    driver.pane.path.setFixedWidth(driver.pane.path.fontMetrics().horizontalAdvance("… › reviewers.md") + 2)
    driver.until(lambda: driver.pane.path.text() == "… › reviewers.md")
    assert driver.pane.path.accessibleName() == "Global › people › reviewers.md"


def test_where_it_is_narrow_the_homes_stand_above_and_nothing_is_cut_off(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    driver.open("/memories/global/testing.md")
    window, driver_tab = driver.window, driver.tab
    window.resize(790, 760)
    driver.until(lambda: not window.splitter.is_stacked)
    window.splitter.setSizes([150, 640])
    widths = window.splitter.sizes()
    for width in (360, 375):
        window.resize(width, 760)
        driver.until(lambda width=width: window.width() == width and driver_tab.width() == width)
        assert window.splitter.is_stacked
        assert window.picker.geometry().bottom() < window.tabs.geometry().top()
        assert window.picker.width() == width
        assert window.picker.height() >= 96
        assert driver.pane.text.height() >= 96
        driver.until(lambda: problems(window) == [])
    assert window.splitter.beside() == widths, "what is remembered of the window are widths"
    window.toggle_picker()
    window.resize(790, 760)
    driver.until(lambda: not window.splitter.is_stacked)
    window.toggle_picker()
    driver.until(lambda: window.splitter.sizes() == widths)
    window.resize(360, 760)
    driver.until(lambda: window.splitter.is_stacked)
    assert window.splitter.sizes()[0] >= 96, "what was hidden meanwhile is not folded away"
    for hidden_from, shown_from in ((790, 790), (790, 360), (360, 790)):
        window.resize(hidden_from, 760)
        driver.until(lambda width=hidden_from: window.splitter.is_stacked == (width == 360))
        window.toggle_picker()
        for width in (360, 790, shown_from):
            window.resize(width, 760)
            driver.until(lambda width=width: window.splitter.is_stacked == (width == 360))
        window.toggle_picker()
        window.resize(790, 760)
        driver.until(lambda: window.splitter.sizes() == widths)


@pytest.mark.parametrize("shown_while", ["narrow", "wide"])
def test_homes_hidden_before_the_window_first_became_narrow_have_their_width_back(
    qtbot: Any, shown_while: str
) -> None:
    splitter, homes, rest = StackingSplitter(narrow=560, above=112), QTreeView(), QTabWidget()
    qtbot.addWidget(splitter)
    homes.setMinimumWidth(120)
    splitter.addWidget(homes)
    splitter.addWidget(rest)
    splitter.setStretchFactor(1, 1)
    splitter.setSizes([200, 595])
    splitter.resize(800, 400)
    splitter.show()
    qtbot.waitUntil(lambda: splitter.sizes()[0] == 200)
    homes.hide()
    qtbot.waitUntil(lambda: splitter.sizes()[0] == 0)
    splitter.resize(400, 400)
    qtbot.waitUntil(lambda: splitter.is_stacked)
    if shown_while == "narrow":
        homes.show()
    splitter.resize(800, 400)
    qtbot.waitUntil(lambda: not splitter.is_stacked)
    homes.show()
    qtbot.waitUntil(lambda: splitter.sizes()[0] == 200)


def test_what_is_loaded_late_keeps_nobody_waiting_and_is_built_when_it_is_looked_at(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[tuple[str, str]] = []
    submit = Lane.submit

    def noted(lane: Lane, name: str, work: Any, **more: Any) -> Any:
        jobs.append((lane.name, name))
        return submit(lane, name, work, **more)

    monkeypatch.setattr(Lane, "submit", noted)
    window = windows.open(home).window
    assert [lane for lane, name in jobs if name == "load the other tabs"] == ["history"]
    tabs = window.tabs
    held = {index for index in range(tabs.count()) if type(tabs.widget(index)) is QWidget}
    assert [tabs.tabText(index) for index in sorted(held)] == ["Changes", "Traces", "Transcripts"]
    titles = [tabs.tabText(index) for index in range(tabs.count())]
    for index in sorted(held):
        tabs.setCurrentIndex(index)
        assert type(tabs.currentWidget()) is not QWidget
        assert (tabs.currentIndex(), tabs.currentWidget().isVisible()) == (index, True)
    assert [tabs.tabText(index) for index in range(tabs.count())] == titles


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        ("/memories/project/notes/bike-states.md", "/memories/project/notes/bike-states.md"),
        ("…/notes/bike-states.md", "…/notes/bike-states.md"),
        ("…/bike-states.mdM", "…/bike-states.md"),
        ("bike…md", ""),
    ],
)
def test_a_path_without_room_loses_folders_before_it_loses_the_name_of_the_file(
    qtbot: Any, room: str, shown: str
) -> None:
    label = PathLabel("/memories/project/notes/bike-states.md")
    qtbot.addWidget(label)
    label.resize(label.fontMetrics().horizontalAdvance(room), 20)
    label.show()
    assert label.text() == shown if shown else label.text().endswith("md")
    whole = label.text() == label.accessibleName()
    assert label.accessibleName() == "/memories/project/notes/bike-states.md"
    assert ("bike-states.md" in label.toolTip()) is not whole


def test_a_project_that_the_home_lists_under_another_path_is_shown_there(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    old = driver.session.context.project_path
    config = home / "config.json"
    text = config.read_text().replace(json.dumps(old), json.dumps(f"{old}-renamed"))
    config.write_text(text)
    driver.until(lambda: getattr(driver.session.context, "project_path", "") == f"{old}-renamed")
    driver.settle()
    place = driver.window.picker.place(driver.window.picker.currentIndex())
    assert place is not None
    assert (place.kind, place.workspace_id) == ("workspace", driver.session.context.workspace_id)
