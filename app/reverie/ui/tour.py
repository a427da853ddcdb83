"""A walk through the window that needs no display: `python -m reverie.ui.tour DIR [--home HOME]`.

Opens a throw-away copy of a home (the demo home unless one is given), previews, presses Consolidate, looks at
the result and the settings and saves pictures, one path a line on stdout. No model is asked: the consent is
shown for a server that nobody runs, and the cost is noted in the copy's own run records. Exit 0 only if the
dream succeeded and the views followed through the watcher. Every wait has a deadline and the whole has one,
too: it never blocks for ever.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reverie.ui.main_window import MainWindow

LIMIT_S = 150
WAIT_MS = 30_000
FOLLOW_MS = 10_000
WIDE = (1240, 780)
NARROW = (375, 760)
SERVER = '[providers.ollama]\nbase_url = "http://gpu.example:11434/v1"\n'
_READABLE = 20_000


class TourFailed(Exception):
    """What did not happen in time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tour; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m reverie.ui.tour", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the pictures go")
    parser.add_argument(
        "--home", type=Path, help="a home to copy (it is not touched); default: the demo home"
    )
    options = parser.parse_args(arguments)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # The last resort: a dump of every thread and the end of the process.
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    home = options.home.absolute() if options.home is not None else None
    scratch = Path(tempfile.mkdtemp(prefix="reverie-tour-"))
    # The copy is the home directory's own: pictures show `~/.xum`, and nothing of this user can be reached.
    os.environ.update(HOME=str(scratch), USERPROFILE=str(scratch))
    try:
        return _tour(options.directory.absolute(), home, scratch)
    finally:
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(scratch, ignore_errors=True)


def _tour(directory: Path, home: Path | None, scratch: Path) -> int:
    from PySide6.QtCore import qInstallMessageHandler

    from reverie.clock import system_clock
    from reverie.profile import Profile
    from reverie.ui.app import make_application
    from reverie.ui.crash import qt_message
    from reverie.ui.icons import Icons
    from reverie.ui.jobs import stuck_lanes
    from reverie.ui.main_window import Beginning, MainWindow

    copy = scratch / ".xum"
    _copy_home(home, copy)
    application = make_application()
    handled_before = qInstallMessageHandler(qt_message)
    profile = Profile.under(scratch / "profile")
    profile.config.mkdir(parents=True)
    profile.settings_file.write_text(SERVER, encoding="utf-8")
    window = MainWindow(profile, system_clock, Icons(), Beginning((copy,)))
    window.resize(*WIDE)
    window.show()
    window.start()
    try:
        Guide(window, directory).walk()
        code = 0
    except TourFailed as failure:
        sys.stderr.write(f"tour: {failure}\n")
        code = 1
    finally:
        window.shut_down()
        application.processEvents()
        qInstallMessageHandler(handled_before)
    if stuck_lanes():  # a thread that is destroyed while it runs would abort the process
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    return code


def _copy_home(home: Path | None, copy: Path) -> None:
    from reverie.resources import resource

    shutil.copytree(home if home is not None else resource("demo-home"), copy, symlinks=True)


class Guide:
    """Walks through a window and takes the pictures."""

    def __init__(self, window: MainWindow, directory: Path) -> None:
        self._window = window
        self._directory = directory
        self._first = ""

    def walk(self) -> None:
        """Everything there is to see, in order. Raises `TourFailed`."""
        self._wait("the trees and the footer", self._loaded)
        self._begin_with_a_sibling()
        self._first = self._shown_workspace()
        self._open_a_file()
        self._picture("1-before")
        self._editor()
        self._choose()
        self._consolidate()
        self._picture("3-after")
        self._review()
        self._sibling()
        self._several_projects()
        self._narrow()
        self._dark()
        self._settings()
        self._consent()
        self._cost()
        self._traces()
        self._services()
        self._search()
        self._history()
        self._repairs()
        self._orphans()
        self._conflicts()
        self._tree()
        self._comfort()
        self._codex()
        self._claude()
        self._loki()

    def _loaded(self) -> bool:
        from reverie.ui.settle import is_loaded

        session = self._window.session
        return is_loaded(self._window) and session is not None and session.keeper.ready

    def _choose(self) -> None:
        from reverie.ui.tour_runs import show_choices

        show_choices(self._window, self._picture, self._wait)

    def _consolidate(self) -> None:
        """Press the button; then the rows must follow by themselves."""
        from reverie.homes.scopes import Scope

        tab = self._window.tab
        footer = tab.footer
        followed: list[object] = []
        session = self._window.session
        if session is None or not footer.button.isEnabled():
            raise TourFailed("the Consolidate button cannot be pressed")
        before = footer.rows[Scope.WORKSPACE].words
        session.status_changed.connect(followed.append)
        footer.button.click()
        self._wait("the dream", lambda: not tab.dreams.jobs.running)
        ended = tab.dreams.last_outcome
        if ended not in ("completed", "unchanged"):
            raise TourFailed(f"the dream ended as {ended}: {footer.panel.result.text}")
        self._wait(
            "the watcher to bring the new coverage into the footer",
            lambda: bool(followed) and footer.rows[Scope.WORKSPACE].words != before,
            FOLLOW_MS,
        )
        self._wait("the window to settle", self._loaded)

    def _open_a_file(self) -> None:
        from reverie.ui.settle import select_a_file

        if select_a_file(self._window):
            self._wait("the editor", lambda: self._window.tab.pane.file is not None)

    def _editor(self) -> None:
        from reverie.ui.tour_editor import show_editor

        show_editor(self._window, self._picture, self._wait, NARROW)

    def _review(self) -> None:
        from reverie.ui.tour_runs import show_review

        show_review(self._window, self._picture, self._wait)

    def _begin_with_a_sibling(self) -> None:
        """A workspace whose project has another one, so that what they share can be shown."""
        session = self._window.session
        if session is None or self._siblings():
            return
        for project in session.info.contents.projects:
            living = [each.id for each in project.workspaces if not each.archived and not each.multi_project]
            if len(living) > 1:
                self._window.picker.pick(session.info.id, workspace_id=living[0])
                self._wait("the workspace", self._loaded)
                return

    def _shown_workspace(self) -> str:
        session = self._window.session
        context = session.context if session is not None else None
        return (context.workspace_id or "") if context is not None else ""

    def _siblings(self) -> list[str]:
        """The other living workspaces of the shown one's project."""
        session, shown = self._window.session, self._shown_workspace()
        for project in session.info.contents.projects if session is not None else ():
            living = [each.id for each in project.workspaces if not each.archived and not each.multi_project]
            if shown in living:
                return [each for each in living if each != shown]
        return []

    def _sibling(self) -> None:
        """Another workspace of the project: the same project row."""
        for workspace_id in self._siblings()[:1]:
            self._show(workspace_id, "5-sibling")

    def _several_projects(self) -> None:
        session = self._window.session
        for workspace in session.info.contents.workspaces() if session is not None else ():
            if workspace.multi_project:
                self._show(workspace.id, "6-several-projects")
                return

    def _show(self, workspace_id: str, name: str) -> None:
        session = self._window.session
        if session is None or not self._window.picker.pick(session.info.id, workspace_id=workspace_id):
            raise TourFailed(f"the workspace {workspace_id} is not in the list")
        self._wait("the workspace", self._loaded)
        self._open_a_file()
        self._picture(name)

    def _narrow(self) -> None:
        self._window.picker.hide()
        self._wait("the window to ask for less room", lambda: self._window.minimumWidth() <= NARROW[0])
        self._window.resize(*NARROW)
        self._picture("7-narrow")
        self._window.picker.show()
        self._window.resize(*WIDE)

    def _dark(self) -> None:
        from PySide6.QtWidgets import QApplication

        from reverie.ui.theme import dark_palette

        session = self._window.session
        if session is not None:
            self._window.picker.pick(session.info.id, workspace_id=self._first)
            self._wait("the workspace", self._loaded)
            self._open_a_file()
        light = QApplication.palette()
        QApplication.setPalette(dark_palette())
        self._picture("8-dark")
        QApplication.setPalette(light)

    def _settings(self) -> None:
        control = self._window.settings
        self._window.open_settings()
        self._wait("the settings", lambda: control.dialog is not None and not control.busy)
        if control.dialog is not None:
            self._picture("9-settings", control.dialog)
            control.dialog.pages.setCurrentIndex(1)
            self._picture("10-models", control.dialog)
            control.dialog.discard()

    def _consent(self) -> None:
        from reverie.ui.tour_runs import show_consent

        show_consent(self._window, self._picture, self._wait)

    def _cost(self) -> None:
        from reverie.ui.tour_runs import show_cost

        show_cost(self._window, self._picture, self._wait)

    def _traces(self) -> None:
        from reverie.ui.tour_traces import show_traces

        show_traces(self._window, self._picture, self._wait)

    def _services(self) -> None:
        from reverie.ui.tour_services import show_services

        show_services(self._window, self._picture, self._wait, NARROW)

    def _history(self) -> None:
        from reverie.ui.tour_history import show_history

        show_history(self._window, self._picture, self._wait, NARROW)

    def _repairs(self) -> None:
        from reverie.ui.tour_repairs import make_repairs, show_repairs

        session = self._window.session
        if session is not None:
            make_repairs(session.info.root / "memory" / "global")
            show_repairs(self._window, self._picture, self._wait, NARROW)

    def _tree(self) -> None:
        from reverie.ui.tour_tree import make_news, show_tree

        session = self._window.session
        if session is not None:
            make_news(session.info.root / "memory" / "global")
            show_tree(self._window, self._picture, self._wait, NARROW)

    def _comfort(self) -> None:
        from reverie.ui.tour_comfort import show_comfort

        show_comfort(self._window, self._picture, self._wait, NARROW)

    def _codex(self) -> None:
        from reverie.ui.tour_codex import show_codex

        session = self._window.session
        if session is not None:
            show_codex(self._window, session.info.root.parent, self._picture, self._wait, NARROW)

    def _claude(self) -> None:
        from reverie.ui.tour_claude import show_claude

        session = self._window.session
        if session is not None:
            show_claude(self._window, session.info.root.parent, self._picture, self._wait, NARROW)

    def _loki(self) -> None:
        from reverie.ui.tour_loki import show_loki

        session = self._window.session
        if session is not None:
            show_loki(self._window, session.info.root.parent, self._picture, self._wait, NARROW)

    def _search(self) -> None:
        """What is found as one types."""
        search = self._window.tab.search
        self._window.focus_search()
        search.field.setText("retr")
        self._wait("the answer", lambda: search.settled and search.answer is not None)
        self._picture("20-search")
        search.leave()

    def _orphans(self) -> None:
        from reverie.ui.tour_orphans import show_orphans

        show_orphans(self._window, self._picture, self._wait, NARROW)

    def _conflicts(self) -> None:
        from reverie.ui.tour_conflicts import show_conflicts

        session, pane = self._window.session, self._window.tab.pane
        self._window.show_memory()
        if session is not None:
            self._window.picker.pick(session.info.id, workspace_id=self._first)
            self._wait("the workspace", self._loaded)
        files = self._window.tab.model.memory_tree.files
        sizes = {path: node.data.file.size for path, node in files.items()}
        path = max((path for path in files if sizes[path] < _READABLE), key=sizes.__getitem__, default="")
        if self._window.tab.tree.select_path(path):
            self._wait("the editor", lambda: pane.file is not None and pane.file.buffer.address.path == path)
        show_conflicts(self._window, self._picture, self._wait, NARROW)

    def _picture(self, name: str, widget: object = None) -> None:
        from PySide6.QtWidgets import QWidget

        from reverie.ui.settle import save_picture

        file = self._directory / f"{name}.png"
        if not save_picture(widget if isinstance(widget, QWidget) else self._window, file):
            raise TourFailed(f"{file} could not be written")
        sys.stdout.write(f"{file}\n")
        sys.stdout.flush()

    def _wait(self, what: str, condition: Callable[[], bool], limit_ms: int = WAIT_MS) -> None:
        from reverie.ui.settle import wait_for

        arrived = wait_for(lambda: condition() or self._window.opening_failed, limit_ms)
        if self._window.opening_failed:
            raise TourFailed("the home could not be opened")
        if not arrived:
            raise TourFailed(f"{what} did not come within {limit_ms // 1000} s")


if __name__ == "__main__":
    sys.exit(main())
