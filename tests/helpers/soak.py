"""A window and its engine under everything at once: the memory writer's turns, dreams, an agent that
changes memories and a person who clicks and types. Does it end as it began, and does it show what is there?

The agent is another process (`reverie memory`); the writer runs by rules, as the window's own service. What
is measured is said in `Soaked`; the first third is warming up, and no measure of a leak.
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.engine_kills import pid_is_alive
from helpers.samples import copy_sample
from helpers.turns import say_turns
from helpers.window_churn import STORE, in_tree, on_disk
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.ui.app import make_application
from reverie.ui.icons import Icons
from reverie.ui.screenshot import is_loaded, wait_for
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow

ACME = "a1f3c9e2b7"
LIMIT_MS = 60_000
GROWTH = 0.10
_SETTINGS = (
    "[system1]\nenabled = true\ninterval = 1\nmodel = 'rules'\n"
    "[dream]\nengine = 'rules'\n[watch]\nreconcile_minutes = 0\n"
)
# What the agent writes again and again: memory stays as large as it was, so growth is a leak.
_NAMES = [f"soak-{number}.md" for number in range(12)]


@dataclass(slots=True)
class Soaked:
    """What happened, resident memory in MiB over time, and what is wrong."""

    acts: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    handles: tuple[int, int] = (0, 0)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.acts.items()))
        thirds = [f"{value:.0f}" for value in self.memory[:: max(1, len(self.memory) // 12)]]
        return [
            told,
            f"memory in MiB: {', '.join(thirds)}",
            f"open handles before and after: {self.handles[0]}, {self.handles[1]}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


class Agent:
    """Another process that speaks `reverie memory`."""

    def __init__(self, home: Path, profile: Path) -> None:
        command = [sys.executable, "-m", "reverie", "--home", str(home), "--profile", str(profile), "memory"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.answers = 0

    def ask(self, **request: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"workspace_id": ACME, "actor": "agent", **request}) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for _line in self._process.stdout:
            self.answers += 1


class Soak:
    """One window and the four that keep it busy."""

    def __init__(self, window: MainWindow, home: Path, agent: Agent, seed: int) -> None:
        self.window, self.home, self.agent = window, home, agent
        self.soaked, self.dice = Soaked(), random.Random(seed)
        self._turn = 1000
        self._acts = (
            (self.agent_writes, 6),
            (self.agent_deletes, 2),
            (self.person_looks, 6),
            (self.person_types, 3),
            (self.person_wanders, 2),
            (self.turns, 1),
            (self.dream, 1),
        )

    def go_on(self, seconds: float) -> None:
        """Until the time is up; then nothing is under way any more."""
        end, measured = time.monotonic() + seconds, 0.0
        names, weights = zip(*self._acts, strict=True)
        first = [self.turns, self.dream, self.agent_writes, self.person_looks]
        while time.monotonic() < end:
            act = first.pop(0) if first else self.dice.choices(names, weights)[0]
            act()
            self.soaked.acts[act.__name__.replace("_", " ")] += 1
            wait_for(lambda: False, self.dice.choice((5, 20, 60)))
            if time.monotonic() > measured + max(0.5, seconds / 60):
                measured = time.monotonic()
                gc.collect()
                self.soaked.memory.append(resident_mib())

    # The agent

    def agent_writes(self) -> None:
        text = f"# Soak\n- {self.dice.random()}\n" * self.dice.randint(1, 20)
        path = self.home / STORE / self.dice.choice(_NAMES)
        if self.dice.random() < 0.5:
            self.agent.ask(command="save", path=f"/memories/project/{path.name}", content=text)
            return
        new = path.with_name(f".{path.name}.new")
        new.write_text(text)
        new.replace(path)

    def agent_deletes(self) -> None:
        (self.home / STORE / self.dice.choice(_NAMES)).unlink(missing_ok=True)

    # The person

    def person_looks(self) -> None:
        paths = sorted(self.window.tab.model.memory_tree.files)
        if paths:
            self.window.tab.tree.select_path(self.dice.choice(paths))

    def person_types(self) -> None:
        pane = self.window.tab.pane
        if pane.file is not None and not pane.text.isReadOnly():
            pane.text.insertPlainText("x")
            pane.text.undo()

    def person_wanders(self) -> None:
        tabs, field_ = self.window.tabs, self.window.tab.search.field
        tabs.setCurrentIndex(self.dice.randrange(tabs.count()))
        field_.setText(self.dice.choice(("", "deploy", "soak", "test")))

    # Writer and dream

    def turns(self) -> None:
        self._turn += 2
        say_turns(self.home / "sessions" / ACME, self._turn, ["Always run the linter."], at=system_clock())

    def dream(self) -> None:
        button = self.window.tab.footer.button
        if button.isEnabled() and not self.window.tab.dreams.jobs.running:
            button.click()

    # The end

    def judge(self) -> None:
        """The state shown is the disk's; whoever works comes to an end."""
        window, problems = self.window, self.soaked.problems
        window.tab.search.field.setText("")
        quiet = wait_for(
            lambda: not window.tab.dreams.jobs.running and not any(lane.busy for lane in window.lanes.all()),
            LIMIT_MS,
        )
        if not quiet:
            problems.append("something does not end")
        store = self.home / STORE
        wait_for(lambda: in_tree(window) == on_disk(store), 20_000)
        shown, disk = in_tree(window), on_disk(store)
        problems += [
            f"differs from the disk: {name}"
            for name in sorted(shown.keys() | disk.keys())
            if shown.get(name) != disk.get(name)
        ][:5]


def soak(directory: Path, seconds: float, *, seed: int, flat: bool) -> Soaked:
    """Open, keep busy, close, look what is left. `flat`: memory must not grow by more than a tenth."""
    home, profile = copy_sample("mux-home", directory), Profile.under(directory / "profile")
    profile.ensure(profile.config)
    profile.settings_file.write_text(_SETTINGS)
    application = make_application()
    # What a first window imports and keeps is no leak.
    with _opened(home, profile):
        pass
    before = _left()
    with _opened(home, profile) as window:
        agent = Agent(home, directory / "profile")
        made = Soak(window, home, agent, seed)
        try:
            made.go_on(seconds)
        finally:
            agent.close()
        made.judge()
        soaked, engine = made.soaked, window.engine
        soaked.acts["agent's answers"] = agent.answers
        soaked.problems += _idle(window, soaked)
    application.processEvents()
    wait_for(lambda: _left() <= before, 5_000)
    after = _left()
    soaked.handles = (before.handles, after.handles)
    soaked.problems += after.more_than(before)
    if engine is None or not wait_for(lambda: not pid_is_alive(engine.pid), 10_000):
        soaked.problems.append("the engine is not gone")
    soaked.problems += _grown(soaked.memory) if flat else []
    return soaked


@contextmanager
def _opened(home: Path, profile: Profile) -> Iterator[MainWindow]:
    window = MainWindow(profile, system_clock, Icons(), StartupOptions((home,), workspace=ACME, engine=True))
    window.show()
    window.start()
    try:
        assert wait_for(lambda: is_loaded(window) and window.is_watching, LIMIT_MS), "it did not load"
        assert window.session is not None
        window.session.rescan_on_focus = False
        session = window.session
        # The engine's process hosts them: what a window knows of that is their state.
        wait_for(lambda: window.lazy_tabs.hosts(session.info.id), LIMIT_MS)
        wait_for(lambda: session.is_recorded and not any(lane.busy for lane in window.lanes.all()), LIMIT_MS)
        yield window
    finally:
        window.tab.keeper.throw_away()
        window.shut_down()
        window.deleteLater()
        wait_for(lambda: False, 50)


def _idle(window: MainWindow, soaked: Soaked) -> list[str]:
    """Who did nothing, by the records."""
    assert window.session is not None
    home, profile = window.session.info.root, window.session.profile
    parts = open_parts(home, profile, system_clock)
    wait_for(lambda: any(run.kind == "writer" and run.settled for run in parts.runs.all()), 20_000)
    ended = Counter(run.kind for run in parts.runs.all() if run.settled)
    for kind, count in ended.items():
        soaked.acts[f"{kind} runs"] = count
    idle = [kind for kind in ("dream", "writer") if not ended[kind]]
    silent = [] if soaked.acts["agent's answers"] else ["the agent got no answer"]
    return [f"no {kind} came to its end" for kind in idle] + silent


@dataclass(frozen=True, slots=True)
class _Left:
    """What a process holds."""

    handles: int
    watches: int
    threads: frozenset[str]

    def __le__(self, other: _Left) -> bool:
        return not self.more_than(other)

    def more_than(self, before: _Left) -> list[str]:
        found = [f"a thread is left: {name}" for name in sorted(self.threads - before.threads)]
        if self.handles > before.handles:
            found.append(f"{self.handles - before.handles} handles are left")
        if self.watches > before.watches:
            found.append(f"{self.watches - before.watches} watches are left")
        return found


def _left() -> _Left:
    gc.collect()
    descriptors = Path("/proc/self/fd")
    handles = watches = 0
    if descriptors.is_dir():
        handles = len(list(descriptors.iterdir()))
        for info in Path("/proc/self/fdinfo").iterdir():
            try:
                watches += info.read_text().count("inotify wd:")
            except OSError:
                continue
    names = frozenset(
        f"{thread.name} {thread.ident}" for thread in threading.enumerate() if thread.is_alive()
    )
    return _Left(handles, watches, names)


def resident_mib() -> float:
    """Of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _grown(memory: list[float]) -> list[str]:
    """The last third against the middle one, by their means."""
    third = len(memory) // 3
    if third < 2:
        return ["too few measures of memory"]
    middle, last = (sum(part) / len(part) for part in (memory[third : 2 * third], memory[-third:]))
    return [f"memory grew from {middle:.0f} to {last:.0f} MiB"] if last > middle * (1 + GROWTH) else []
