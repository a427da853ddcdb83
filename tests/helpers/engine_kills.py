"""Kills the engine of a window at random moments, and checks that nothing is lost.

A kill can interrupt typing, a run, the loading of the trees or a save. After each kill the editor must have
the typed text, another engine must answer, the trees must match the disk, and a save must work. At the end,
every content that was acknowledged as saved must be on disk or in the history. The same is done to the
connection to another machine, which is cut.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from helpers.samples import copy_sample
from helpers.ssh_machine import SshMachine
from helpers.window_churn import STORE, in_tree, on_disk
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.workbench import Workbench
from reverie.ui.app import make_application
from reverie.ui.engine_link import EngineLink
from reverie.ui.icons import Icons
from reverie.ui.screenshot import is_loaded, wait_for
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace

ACME = "a1f3c9e2b7"
LIMIT_MS = 60_000
LATEST_S = 0.4
"""A kill comes at most so long after what it is to interrupt began."""


def pid_is_alive(pid: int) -> bool:
    """Return whether a process has this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass(slots=True)
class EngineKills:
    """What happened in a series of kills, and the problems that were found."""

    kills: Counter[str] = field(default_factory=Counter)
    back_s: list[float] = field(default_factory=list)
    """How long each time until the trees were there again."""
    saved: int = 0
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        back = sorted(self.back_s) or [0.0]
        return [
            f"kills of the engine: {self.kills.total()} ({told})",
            f"saves acknowledged and found again: {self.saved}",
            f"trees back after: median {back[len(back) // 2]:.2f} s, worst {back[-1]:.2f} s",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


def kill_engines(directory: Path, *, kills: int, seed: int) -> EngineKills:
    """Kill the engine of one window so many times. Needs a QApplication, or makes one."""
    make_application()
    home = copy_sample("mux-home", directory)
    profile = Profile.under(directory / "profile")
    profile.ensure(profile.config)
    profile.settings_file.write_text("[dream]\nengine = 'rules'\n")
    tally = EngineKills()
    window = MainWindow(profile, system_clock, Icons(), StartupOptions((home,), workspace=ACME, engine=True))
    killer = _Killer(window, home, tally, random.Random(seed))
    return _strike(killer, kills, profile)


def cut_connections(machine: SshMachine, directory: Path, *, cuts: int, seed: int) -> EngineKills:
    """Cut the connection of one window to `machine` so many times. `ssh` leads there."""
    make_application()
    machine.profile.ensure(machine.profile.config)
    machine.profile.settings_file.write_text("[dream]\nengine = 'rules'\n")
    tally = EngineKills()
    options = StartupOptions(
        workspace=ACME, engine=True, hosts=(replace(machine.address, path=machine.home),), and_found=False
    )
    window = MainWindow(Profile.under(directory / "profile"), system_clock, Icons(), options)
    killer = _Cutter(window, machine.home, tally, random.Random(seed))
    return _strike(killer, cuts, machine.profile)


def _strike(killer: _Killer, kills: int, profile: Profile) -> EngineKills:
    window, tally = killer.window, killer.tally
    pid = 0
    try:
        window.show()
        window.start()
        killer.until("the window is loaded", lambda: is_loaded(window) and window.is_watching)
        for _kill in range(kills):
            if tally.problems:
                break
            killer.kill()
        pid = killer.engine_pid
    finally:
        window.tab.keeper.throw_away()
        window.shut_down()
        window.deleteLater()
        wait_for(lambda: False, 50)
    if not wait_for(lambda: not pid_is_alive(pid), LIMIT_MS):
        tally.problems.append("the engine outlives its last window")
    killer.judge(profile)
    return tally


class _Killer:
    """One window, and the one who kills its engines."""

    def __init__(self, window: MainWindow, home: Path, tally: EngineKills, dice: random.Random) -> None:
        self.window, self.home, self.tally, self.dice = window, home, tally, dice
        self._saved: dict[str, str] = {}
        self._round = 0

    @property
    def engine_pid(self) -> int:
        """The process of the engine that answers."""
        assert self.window.engine is not None
        return self.window.engine.pid

    def strike(self) -> Callable[[], bool]:
        """Kill the engine. Returns whether another one answers."""
        pid = self.engine_pid
        os.kill(pid, signal.SIGKILL)
        return lambda: self.engine_pid not in (0, pid)

    def until(self, what: str, condition: Callable[[], bool]) -> bool:
        if wait_for(condition, LIMIT_MS):
            return True
        self.tally.problems.append(f"round {self._round}: it never came to be that {what}")
        return False

    def kill(self) -> None:
        """Do something, kill the engine in the middle, and see whether everything is there again."""
        self._round += 1
        tab = self.window.tab
        if not self._open_a_note():
            return
        text = f"Round {self._round}: " + "typed while the engine dies. " * self.dice.randint(1, 20) + "\n"
        tab.pane.text.insertPlainText(text)
        typed = tab.pane.text.toPlainText()
        act = self.dice.choice((self._type, self._save, self._dream, self._reload, self._search))
        act()
        wait_for(lambda: False, round(self.dice.random() * LATEST_S * 1000))
        is_back = self.strike()
        killed = time.monotonic()
        self.tally.kills[act.__name__.removeprefix("_")] += 1
        # A note of its own, from outside: only an engine that watches again shows it.
        outside = self.home / STORE / f"round-{self._round}.md"
        outside.write_text(f"Written from outside in round {self._round}.\n")
        if not self.until("another engine answers", is_back):
            return
        if not self.until("the trees are those of the disk", self._shows_the_disk):
            return
        self.tally.back_s.append(time.monotonic() - killed)
        self._settle()
        shown = tab.pane.text.toPlainText()
        if shown != typed and not tab.dreams.jobs.running:
            kind, file = act.__name__.removeprefix("_"), tab.pane.file
            state = (
                "no file" if file is None else f"banner {file.buffer.banner!r}, note {tab.pane.banner.text!r}"
            )
            lines = difflib.unified_diff(
                typed.splitlines(), shown.splitlines(), "typed", "shown", n=0, lineterm=""
            )
            self.tally.problems.append(
                f"round {self._round}, {kind}: the editor lost what was typed ({state}): {list(lines)[:12]}"
            )
        self._save_until_saved()

    def _shows_the_disk(self) -> bool:
        return in_tree(self.window) == on_disk(self.home / STORE)

    # What is interrupted

    def _type(self) -> None:
        self.window.tab.keeper.flush()

    def _save(self) -> None:
        self.window.tab.editor.save()

    def _dream(self) -> None:
        button = self.window.tab.footer.button
        if button.isEnabled():
            button.click()

    def _reload(self) -> None:
        self.window.actions_["view.refresh"].trigger()

    def _search(self) -> None:
        self.window.tab.search.field.setText(self.dice.choice(("deploy", "the", "round")))
        wait_for(lambda: False, 20)
        self.window.tab.search.leave()

    def _settle(self) -> None:
        window = self.window
        self.until(
            "nothing is going on",
            lambda: not window.tab.dreams.jobs.running and not any(lane.busy for lane in window.lanes.all()),
        )

    def _open_a_note(self) -> bool:
        """One that this person alone writes; it is made the first time."""
        name = f"typed-{self._round % 5}.md"
        file = self.home / STORE / name
        if not file.exists():
            file.write_text("---\ndescription: what a person types\n---\nBegun.\n")
        path = f"/memories/project/{name}"
        tab = self.window.tab
        return self.until(
            "a note can be opened",
            lambda: (
                (tab.pane.file is not None and tab.pane.file.buffer.address.path == path)
                or (tab.tree.select_path(path) and False)
            ),
        )

    def _save_until_saved(self) -> None:
        """Save; where the engine died meanwhile, or a run changed the file, as a person would."""
        tab = self.window.tab
        file = tab.pane.file
        assert file is not None
        path = file.buffer.address.path
        disk = self.home / STORE / path.rpartition("/")[2]

        def saved() -> bool:
            if file.content == (disk.read_text() if disk.exists() else None):
                return True
            if file.conflicts:  # the run and the person wrote at the same place
                tab.co_editing.keep_both()
            elif file.buffer.banner == "conflict":
                tab.editor.buffers.keep_mine(file)
            else:
                tab.editor.save()
            return False

        if self.until("a save works", saved):
            self._saved[hashlib.sha256(disk.read_bytes()).hexdigest()] = path
            self.tally.saved += 1

    def judge(self, profile: Profile) -> None:
        """Whether everything that was saved is on disk or in the history."""
        workbench = Workbench(open_parts(self.home, profile, system_clock))
        workbench.start_history()
        known = {hashlib.sha256(path.read_bytes()).hexdigest() for path in self.home.rglob("*.md")}
        repository = pygit2.Repository(str(profile.history(workbench.home_id)))
        for object_id in repository:
            found = repository.get(object_id)
            if isinstance(found, pygit2.Blob):
                known.add(hashlib.sha256(found.data).hexdigest())
        lost = [path for content, path in self._saved.items() if content not in known]
        self.tally.problems += [f"a saved content of {path} is nowhere" for path in lost]


class _Cutter(_Killer):
    """One window that shows a home elsewhere, and the one who cuts its connection."""

    @property
    def _link(self) -> EngineLink:
        assert self.window.session is not None
        return self.window.session.engine

    @property
    def engine_pid(self) -> int:
        return self._link.pid

    def strike(self) -> Callable[[], bool]:
        link = self._link
        assert link.machine is not None
        machine, pid = link.machine, link.machine.pid
        os.kill(pid, signal.SIGKILL)
        return lambda: machine.pid != pid and link.client.is_connected
