"""Real windows on copies of the sample homes, driven as a person would."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

from helpers.forked_commands import run_command
from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.engine.asking import Askable, Ended, ask
from reverie.engine.engine import HomeEngine
from reverie.profile import Profile
from reverie.ui.app import make_application
from reverie.ui.editor.documents import OpenFile
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.startup_options import StartupOptions
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace

ACME = "a1f3c9e2b7"  # the workspace of acme-api in the sample home
INGEST, BACKFILL = "c04d8e91aa", "5d6e7f8091"  # the two of data-pipeline
SEVERAL = "e8f1a2b3c4"  # over two projects
LIMIT_MS = 30_000
"""Only a failing test waits for it."""


@cache
def _icons() -> Icons:
    """They are drawn once for all windows of a process, as the program does."""
    return Icons()


class Windows:
    """Opens windows of one profile and closes them all at the end."""

    def __init__(self, qtbot: Any, directory: Path) -> None:
        self._qtbot = qtbot
        self._icons = _icons()
        self._open: list[MainWindow] = []
        self.profile = Profile.under(directory / "profile")

    def settings(self, text: str) -> None:
        """Wishes of the profile, before a window is opened."""
        self.profile.config.mkdir(parents=True, exist_ok=True)
        self.profile.settings_file.write_text(text)

    def open(
        self, home: Path, workspace: str = ACME, *, watching: bool = True, engine: bool = False
    ) -> Driver:
        """A window with everything of `workspace` on screen, watched, its history caught up. `engine`: with
        an engine process, as the program has it."""
        driver = self.begin(home, workspace, watching=watching, engine=engine)
        driver.settle()
        return driver

    def begin(
        self,
        home: Path,
        workspace: str = ACME,
        *,
        watching: bool = True,
        engine: bool = False,
        and_found: bool = False,
        project: str = "",
        closed: tuple[Path, ...] = (),
    ) -> Driver:
        """A window that has just begun. `and_found`: it looks for other homes as well."""
        make_application()
        beginning = StartupOptions((home,), workspace, watching=watching, engine=engine, and_found=and_found)
        beginning = replace(beginning, project=project, closed=closed)
        window = MainWindow(self.profile, system_clock, self._icons, beginning)
        self.keep(window)
        window.show()
        window.start()
        return Driver(self._qtbot, window, home, watching=watching)

    def keep(self, window: MainWindow) -> None:
        """Shut it down at the end. pytest-qt holds no window itself: one that the garbage collector takes
        first would leave its threads behind."""
        self._qtbot.addWidget(window, before_close_func=MainWindow.shut_down)
        self._open.append(window)

    def close(self) -> None:
        for window in self._open:
            window.shut_down()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A `reverie` command of the same profile in a process of its own."""
        return run_command(*arguments, "--profile", self.profile.config.parent)


class Held(Askable):
    """What a lane waits for until it is let go: the jobs behind it wait, too."""

    def __init__(self, lane: Lane) -> None:
        self._let_go = threading.Event()
        lane.submit("hold the lane", ask(cast("Callable[[], None]", self)), done=self._on_done)

    def post(self, _arguments: tuple[Any, ...], _named: dict[str, Any], ended: Ended) -> Callable[[], None]:
        threading.Thread(target=self._answer, args=(ended,), daemon=True).start()
        return self._let_go.set

    def _answer(self, ended: Ended) -> None:
        self._let_go.wait()
        ended(None, None)

    def _on_done(self, _nothing: None) -> None:
        """The jobs behind it are done now."""

    def let_go(self) -> None:
        self._let_go.set()


class Driver:
    """One window, as a person sees and uses it."""

    def __init__(self, qtbot: Any, window: MainWindow, home: Path, *, watching: bool) -> None:
        self.qtbot = qtbot
        self.window = window
        self.home = home
        self._watching = watching
        self.tab = window.tab
        self.tree = window.tab.tree
        self.pane = window.tab.pane
        self.footer = window.tab.footer

    @property
    def session(self) -> Any:
        assert self.window.session is not None
        return self.window.session

    @property
    def services(self) -> Any:
        """The hosts, and the log and the checks, which Traces shows; there once the window is settled."""
        assert self.traces is not None
        return self.window.lazy_tabs.services

    @property
    def changes(self) -> Any:
        """The Changes tab and what reads it."""
        return self.window.lazy_tabs.changes

    @property
    def traces(self) -> Any:
        return self.window.lazy_tabs.traces

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for it, as long as it takes. A file that is gone while the condition looks is no yes yet."""

        def holds() -> bool:
            try:
                held = condition()
            except FileNotFoundError:
                return False
            # pytest-qt takes None for a yes.
            assert held is not None, "a condition says yes or no"
            return held

        self.qtbot.waitUntil(holds, timeout=LIMIT_MS)

    def settle(self) -> None:
        """Wait until nothing is going on any more."""
        try:
            self.until(self.is_settled)
        except TimeoutError as error:
            raise TimeoutError(f"never settled: {', '.join(self.under_way())}") from error

    def is_settled(self) -> bool:
        return not self.under_way()

    def under_way(self) -> list[str]:
        """What goes on still."""
        session, window = self.window.session, self.window
        if session is None:
            return ["no home is shown"]
        going = {
            "its status is not known": session.status is None,
            "the tree is not read": not self.tab.has_full_tree,
            "it is not watched": self._watching and not session.is_watched,
            "the history does not have it": self._watching and not session.is_recorded,
            "tabs are not built": not window.lazy_tabs.is_built,
        }
        jobs = [ticket.name for lane in window.lanes.all() for ticket in lane._open.values()]
        return [*(what for what, goes_on in going.items() if goes_on), *jobs]

    @property
    def served(self) -> HomeEngine:
        """The home as the engine of this process has it."""
        engine, info = self.window.engine, self.session.info
        assert engine is not None
        assert engine.inline is not None
        return engine.inline.home(info.root, info.id)

    # Looking

    def paths(self, scope: Scope = Scope.PROJECT) -> set[str]:
        """Relative paths of the memories that the tree of a scope holds."""
        prefix = f"/memories/{scope.value}/"
        return {
            path.removeprefix(prefix) for path in self.tab.model.memory_tree.files if path.startswith(prefix)
        }

    def file(self, path: str) -> FileData:
        found = self.tab.model.file_at(path)
        assert found is not None
        return found

    def row(self, scope: Scope) -> Any:
        return self.footer.rows[scope].words

    # Doing

    def choose(self, workspace: str) -> None:
        assert self.window.picker.pick(self.session.info.id, workspace_id=workspace)
        self.settle()

    def open(self, path: str) -> OpenFile:
        """Select a memory; its text in the editor."""
        assert self.tree.select_path(path), path
        self.until(lambda: self.pane.file is not None and self.pane.file.buffer.address.path == path)
        assert self.pane.file is not None
        return self.pane.file

    def type(self, text: str) -> None:
        """At the caret, as typed."""
        self.pane.text.insertPlainText(text)

    def do(self, action: str) -> None:
        """One of the window's actions, which must be possible."""
        assert self.window.actions_[action].isEnabled(), action
        self.window.actions_[action].trigger()

    def review(self) -> Any:
        """Press "Review changes" in the footer; the files of the run once they are shown."""
        self.footer.panel.result.button("review").click()
        return self.reviewed()

    def reviewed(self) -> Any:
        """The files of the change set that the Changes tab shows, once they are read."""
        files = self.changes.tab.files
        self.until(lambda: self.changes.is_settled and files.choices is not None)
        return files

    def consolidate(self) -> str:
        """Press the button and wait for the outcome."""
        assert self.footer.button.isEnabled()
        self.footer.button.click()
        self.until(lambda: not self.tab.dreams.jobs.running)
        return self.tab.dreams.last_outcome
