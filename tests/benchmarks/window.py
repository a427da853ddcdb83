"""Measurements in a real window: latency of one change, and how long the GUI thread is blocked under load."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from benchmarks.homes import make_home
from helpers.model_runs import write_settings
from helpers.model_server import ModelServer, Reply
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.profile import Profile
from reverie.ui.app import make_application
from reverie.ui.icons import Icons
from reverie.ui.screenshot import is_loaded
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow

CHANGES = 200
STORM = 10_000
QUIET_S = 0.15
WORKSPACE = "a1f3c9e2b7"
_STORM = """
import itertools, os, pathlib, sys
store, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
notes = sorted(store.rglob("note-*.md"))
for path in itertools.islice(itertools.cycle(notes), count):
    temporary = path.with_name(".storm")
    try:
        temporary.write_text(path.read_text() + f"One more line for {path.name}.\\n")
        os.replace(temporary, path)
    except FileNotFoundError:
        pass  # the dream took it away
"""

# The same heartbeat in a process that does nothing else: what it misses is the machine's doing. It tells each
# beat that came late, in seconds of the clock that all processes share.
_LATE_S = 0.004
_QUIET_TICKS = 3
"""The hundredths of a second that an engine without work uses in a second, at most."""
_IDLE = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from PySide6.QtCore import QCoreApplication
from benchmarks.window import Heartbeat
application = QCoreApplication([])
heart = Heartbeat()
heart.start()
print("ready", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), application.quit())).start()
application.exec()
print(json.dumps([gap for gap in heart.gaps if gap[1] - gap[0] > float(sys.argv[2])]))
"""


class Heartbeat:
    """A timer that should fire every millisecond; what is missing between two beats is a block of the GUI
    thread."""

    def __init__(self) -> None:
        # When the last beat was and when the next, in seconds.
        self.gaps: list[tuple[float, float]] = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setInterval(1)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self._last = time.perf_counter()
        self.gaps.clear()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _beat(self) -> None:
        now = time.perf_counter()
        self.gaps.append((self._last, now))
        self._last = now


class IdleProcess:
    """The heartbeat of a process that does nothing else, beside the one that is measured."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _IDLE, str(Path(__file__).parent.parent), str(_LATE_S)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Its own start takes a core for a third of a second.
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def late(self) -> list[tuple[float, float]]:
        """End it; from when to when it did not come to its turn, in seconds of `time.perf_counter`."""
        return [(start, end) for start, end in json.loads(self._process.communicate("")[0])]


class Until(QEventLoop):
    """The event loop as the program runs it, until a condition holds; no pause of ours keeps it from an
    event, as `settle.wait_for` would."""

    _LOOK_MS = 5

    def __init__(self, condition: Callable[[], bool], limit_ms: int) -> None:
        super().__init__()
        self._condition = condition
        self._deadline = time.monotonic() + limit_ms / 1000
        self._holds = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)

    def run(self) -> bool:
        """Whether the condition came to hold in time."""
        self._timer.start(self._LOOK_MS)
        self.exec()
        return self._holds

    def _look(self) -> None:
        self._holds = self._condition()
        if self._holds or time.monotonic() > self._deadline:
            self._timer.stop()
            self.quit()


def run_until(condition: Callable[[], bool], limit_ms: int) -> bool:
    """Run the event loop until `condition` holds; False when the time is up."""
    return Until(condition, limit_ms).run()


def measure(directory: Path, notes: int, *, storm: bool) -> list[str]:
    """Open a window on a home of `notes` memories and measure: a `storm` and a dream, or one change at a
    time."""
    application = make_application()
    store = make_home(directory / "home", notes)
    profile = Profile.under(directory / "profile")
    window = MainWindow(profile, system_clock, Icons(), StartupOptions((directory / "home",), engine=True))
    window.show()
    window.start()
    try:
        assert run_until(lambda: is_loaded(window) and window.is_watching, 120_000)
        run_until(lambda: not any(lane.busy for lane in window.lanes.all()), 300_000)
        if not storm:
            _await_quiet(window)
        return _blocks(window, directory / "home", store) if storm else [_latency(window, store, notes)]
    finally:
        window.shut_down()
        application.processEvents()


def _await_quiet(window: MainWindow) -> None:
    """Wait until the engine has recorded and indexed all files, which it does after the window is shown."""
    assert window.engine is not None
    stat, worked = Path(f"/proc/{window.engine.pid}/stat"), -1
    for _second in range(120):
        before, worked = worked, sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
        if 0 <= worked - before <= _QUIET_TICKS:
            return
        run_until(lambda: False, 1_000)


def _latency(window: MainWindow, store: Path, notes: int) -> str:
    """replace() to painted, above the coalescing quiet time, without what the machine withheld after it."""
    assert window.session is not None
    painted: list[float] = []

    def on_tree(_update: object) -> None:
        window.tab.tree.viewport().repaint()
        painted.append(time.perf_counter())

    window.session.tree_changed.connect(on_tree)
    target, spans = store / "part-0000/note-000000.md", []
    idle = IdleProcess()
    for number in range(CHANGES):
        painted.clear()
        temporary = target.with_name(".changing")
        temporary.write_text(f"---\ndescription: change {number}\n---\n{'x' * number}\n")
        started = time.perf_counter()
        os.replace(temporary, target)  # noqa: PTH105 - the plain call is what agents do
        if run_until(lambda: bool(painted), 5_000):
            spans.append((started, painted[-1]))
        run_until(lambda: not any(lane.busy for lane in window.lanes.all()), 5_000)
    window.session.tree_changed.disconnect(on_tree)
    machine = idle.late()
    whole = [end - start - QUIET_S for start, end in spans]
    times = sorted(end - start - QUIET_S - _overlap(start + QUIET_S, end, machine) for start, end in spans)
    return (
        f"one changed file among {notes:,}, replace() to painted above the quiet time: "
        f"median {statistics.median(times) * 1000:.0f} ms, p99 {times[int(len(times) * 0.99)] * 1000:.0f} ms "
        f"(budget 150 ms), worst of {len(times)} {times[-1] * 1000:.0f} ms; with the time in which an idle "
        f"process beside it did not come to its turn either: p99 "
        f"{sorted(whole)[int(len(whole) * 0.99)] * 1000:.0f} ms, worst {max(whole) * 1000:.0f} ms"
    )


def _blocks(window: MainWindow, home: Path, store: Path) -> list[str]:
    """The GUI thread while 10,000 changes arrive and a dream runs."""
    heart = Heartbeat()
    idle = IdleProcess()
    heart.start()
    storm = subprocess.Popen([sys.executable, "-c", _STORM, str(store), str(STORM)])
    run_until(lambda: window.tab.footer.button.isEnabled(), 5_000)
    window.tab.footer.button.click()
    run_until(lambda: storm.poll() is not None and not window.tab.dreams.jobs.running, 300_000)
    assert storm.wait(60) == 0
    run_until(lambda: not any(lane.busy for lane in window.lanes.all()), 60_000)
    heart.stop()
    machine = idle.late()
    gaps = sorted(end - start for start, end in heart.gaps)
    ours = max(end - start - _overlap(start, end, machine) for start, end in heart.gaps)
    withheld = max((end - start for start, end in machine), default=0.0)
    outcome = window.tab.dreams.last_outcome
    return [
        f"GUI thread while {STORM:,} changes arrive and a dream runs ({outcome}, {home.name}): longest block "
        f"{ours * 1000:.0f} ms (budget 50), p99 {gaps[int(len(gaps) * 0.99)] * 1000:.1f} ms (budget 16), "
        f"{len(gaps):,} beats; with the time in which an idle process beside it did not come to its turn "
        f"either, of up to {withheld * 1000:.0f} ms: {gaps[-1] * 1000:.0f} ms"
    ]


def _overlap(start: float, end: float, others: Sequence[tuple[float, float]]) -> float:
    """How many seconds of the time from `start` to `end` lie in one of the others, which do not overlap."""
    return sum(max(0.0, min(end, last) - max(start, first)) for first, last in others)


def cancel_times(directory: Path, rounds: int = 15) -> list[float]:
    """Seconds from "Cancel" to the enabled button, while a model service says nothing."""
    application = make_application()
    home, profile = copy_sample("mux-home", directory), directory / "profile"
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settings = f'{server.settings_toml("vllm")}[dream]\nengine = "vllm:test-model"\n'
        write_settings(profile, settings)
        beginning = StartupOptions((home,), workspace=WORKSPACE)
        window = MainWindow(Profile.under(profile), system_clock, Icons(), beginning)
        window.show()
        window.start()
        try:
            assert run_until(lambda: is_loaded(window) and window.is_watching, 60_000)
            return [_cancel_time(window, server, number) for number in range(1, rounds + 1)]
        finally:
            window.shut_down()
            application.processEvents()


def _cancel_time(window: MainWindow, server: ModelServer, number: int) -> float:
    button = window.tab.footer.button
    assert run_until(button.isEnabled, 10_000)
    button.click()
    assert run_until(lambda: len(server.requests) == number, 10_000)
    started = time.perf_counter()
    window.actions_["dream.cancel"].trigger()
    assert run_until(lambda: button.isEnabled() and server.open_questions == 0, 10_000)
    return time.perf_counter() - started
