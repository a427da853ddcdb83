"""The order of the tour: opens a throw-away copy of a home, previews, consolidates, and visits every place.

No model is used: the consent is shown for a server that does not exist, and the cost is written into the run
records of the copy. Exit code 0 only if the consolidation succeeded and the views followed through the
watcher. Every wait has a deadline and the whole tour has one, too.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import qInstallMessageHandler

from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.profile import Profile
from reverie.resources import resource
from reverie.ui.app import make_application
from reverie.ui.appearance import light_palette
from reverie.ui.crash_report import qt_message
from reverie.ui.icons import Icons
from reverie.ui.jobs import stuck_lanes
from reverie.ui.screenshot import is_loaded, select_a_file, shows_the_selected
from reverie.ui.session import HomeSession
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow
from tour import agents, memory, tabs
from tour.camera import WIDE, Camera, TourFailed, dark_colours

LIMIT_S = 150
FOLLOW_MS = 10_000
SERVER = '[providers.ollama]\nbase_url = "http://gpu.example:11434/v1"\n'
_READABLE = 20_000


def main(arguments: Sequence[str] | None = None, make_camera: type[Camera] = Camera) -> int:
    """Run the tour and return the exit code.

    `arguments`: the command line; None: that of the process. `make_camera`: the class of the camera, which a
    test replaces.
    """
    parser = argparse.ArgumentParser(prog="pictures.py", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the pictures go")
    parser.add_argument(
        "--home", type=Path, help="a home to copy (it is not touched); default: the demo home"
    )
    options = parser.parse_args(arguments)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # The last resort: a dump of every thread and the end of the process.
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    home = options.home.absolute() if options.home is not None else resource("demo-home")
    scratch = Path(tempfile.mkdtemp(prefix="reverie-tour-"))
    # The copy is the home directory's own: pictures show `~/.xum`, and nothing of this user can be reached.
    os.environ.update(HOME=str(scratch), USERPROFILE=str(scratch))
    try:
        return _tour(options.directory.absolute(), home, scratch, make_camera)
    finally:
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(scratch, ignore_errors=True)


def _tour(directory: Path, home: Path, scratch: Path, make_camera: type[Camera]) -> int:
    copy = scratch / ".xum"
    shutil.copytree(home, copy, symlinks=True)
    application = make_application()
    application.setPalette(light_palette())
    handled_before = qInstallMessageHandler(qt_message)
    profile = Profile.under(scratch / "profile")
    profile.config.mkdir(parents=True)
    profile.settings_file.write_text(SERVER, encoding="utf-8")
    window = MainWindow(profile, system_clock, Icons(), StartupOptions((copy,)))
    window.resize(*WIDE)
    window.show()
    window.start()
    try:
        Guide(make_camera(window, directory)).walk()
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


class Guide:
    """The guide, which walks through the window of `camera` and has pictures taken."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._window = camera.window
        self._first = ""

    def walk(self) -> None:
        """Visit every place, in order. Raises `TourFailed`."""
        camera = self._camera
        camera.wait("the trees and the footer", self._loaded)
        self._begin_with_a_sibling()
        self._first = self._shown_workspace()
        self._open_a_file()
        camera.picture("1-before")
        memory.show_editor(camera)
        memory.show_choices(camera)
        self._consolidate()
        camera.picture("3-after")
        self._window.tab.footer.panel.result.clear()
        self._open_what_changed()
        camera.picture("3-changed")
        memory.show_review(camera)
        self._sibling()
        self._several_projects()
        self._narrow()
        self._dark()
        tabs.show_settings(camera)
        memory.show_consent(camera)
        memory.show_cost(camera)
        tabs.show_traces(camera)
        tabs.show_services(camera)
        memory.show_search(camera)
        memory.show_history(camera)
        home = self._session().info.root
        memory.make_repairs(home / "memory" / "global")
        memory.show_repairs(camera)
        memory.show_orphans(camera)
        self._conflicts()
        memory.make_news(home / "memory" / "global")
        memory.show_tree(camera)
        tabs.show_comfort(camera)
        agents.show_codex(camera, home.parent)
        agents.show_claude(camera, home.parent)
        agents.show_loki(camera, home.parent)

    def _session(self) -> HomeSession:
        session = self._window.session
        if session is None:
            raise TourFailed("no home is open")
        return session

    def _loaded(self) -> bool:
        session = self._window.session
        return is_loaded(self._window) and session is not None and session.is_recorded

    def _consolidate(self) -> None:
        """Press the Consolidate button and wait until the rows of the tree have updated by themselves."""
        tab = self._window.tab
        footer = tab.footer
        followed: list[object] = []
        session = self._session()
        if not footer.button.isEnabled():
            raise TourFailed("the Consolidate button cannot be pressed")
        before = footer.rows[Scope.WORKSPACE].words
        session.status_changed.connect(followed.append)
        footer.button.click()
        self._camera.wait("the dream", lambda: not tab.dreams.jobs.running)
        ended = tab.dreams.last_outcome
        if ended not in ("completed", "unchanged"):
            raise TourFailed(f"the dream ended as {ended}: {footer.panel.result.text}")
        self._camera.wait(
            "the watcher to bring the new coverage into the footer",
            lambda: bool(followed) and footer.rows[Scope.WORKSPACE].words != before,
            FOLLOW_MS,
        )
        self._camera.wait("the window to settle", self._loaded)

    def _open_a_file(self) -> None:
        if select_a_file(self._window):
            self._camera.wait("the editor", lambda: shows_the_selected(self._window))

    def _open_what_changed(self) -> None:
        """Open a memory that the consolidation changed.

        The editor marks the changed lines, and a bar names the author of the change.
        """
        tab = self._window.tab
        files = tab.model.memory_tree.files.values()
        path = next((node.data.path for node in files if node.data.changed == "changed"), "")
        if path:
            tab.tree.select_path(path)
            self._camera.wait(
                "the changed memory",
                lambda: tab.pane.file is not None and tab.pane.file.buffer.address.path == path,
            )
            self._camera.wait("the window to settle", self._loaded)
            self._camera.wait("the bar about the change", lambda: not tab.pane.unseen.isHidden())
            self._camera.wait("the checks of the new text", lambda: tab.lint.complete)

    def _begin_with_a_sibling(self) -> None:
        """Select a workspace of a project that has several, so that the memory they share can be shown."""
        session = self._session()
        if self._siblings():
            return
        for project in session.info.contents.projects:
            living = [each.id for each in project.workspaces if not each.archived and not each.multi_project]
            if len(living) > 1:
                self._pick(living[0])
                return

    def _shown_workspace(self) -> str:
        context = self._session().context
        return (context.workspace_id or "") if context is not None else ""

    def _siblings(self) -> list[str]:
        """Return the ids of the other unarchived workspaces in the project of the workspace that is shown."""
        shown = self._shown_workspace()
        for project in self._session().info.contents.projects:
            living = [each.id for each in project.workspaces if not each.archived and not each.multi_project]
            if shown in living:
                return [each for each in living if each != shown]
        return []

    def _sibling(self) -> None:
        """Show another workspace of the same project, whose row in the list stays the same."""
        for workspace_id in self._siblings()[:1]:
            self._show(workspace_id, "5-sibling")

    def _several_projects(self) -> None:
        for workspace in self._session().info.contents.workspaces():
            if workspace.multi_project:
                self._show(workspace.id, "6-several-projects")
                return

    def _pick(self, workspace_id: str) -> bool:
        """Show a workspace and wait until it is shown; return False if the list of homes lacks it."""
        picked = self._window.picker.pick(self._session().info.id, workspace_id=workspace_id)
        self._camera.wait("the workspace", self._loaded)
        return picked

    def _show(self, workspace_id: str, name: str) -> None:
        if not self._pick(workspace_id):
            raise TourFailed(f"the workspace {workspace_id} is not in the list")
        self._open_a_file()
        self._camera.picture(name)

    def _narrow(self) -> None:
        with self._camera.narrow():
            self._camera.picture("7-narrow")

    def _dark(self) -> None:
        self._pick(self._first)
        self._open_a_file()
        with dark_colours():
            self._camera.picture("8-dark")

    def _conflicts(self) -> None:
        """Open the longest memory of at most `_READABLE` bytes, and change its file from outside."""
        tab = self._window.tab
        self._window.show_memory()
        self._pick(self._first)
        files = tab.model.memory_tree.files
        sizes = {path: node.data.file.size for path, node in files.items()}
        path = max((path for path in files if sizes[path] < _READABLE), key=sizes.__getitem__, default="")
        if tab.tree.select_path(path):
            self._camera.wait(
                "the editor",
                lambda: tab.pane.file is not None and tab.pane.file.buffer.address.path == path,
            )
        memory.show_conflicts(self._camera)
