"""How much of the program runs in three flows: `python -m ui_flows` (`tests` and `tests/ui` on the path).

A window works on a copy of the sample home: a save in the editor; a change of a sidecar by another process,
until the view shows it; a press of Consolidate, by rules, until its result is there and the views followed.
Counted are the functions of `app/reverie` that begin until the window is at rest, and their files, in all
threads of this process. The engine is one of this process, so that its work is counted here, too.

Threading: `Counter` is called from every thread; it only adds to a set. Failure: a flow that does not come to
its end within `ui_windows.LIMIT_MS` raises.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QWidget
from ui_windows import ACME, Driver, Windows

import reverie
from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.engine.asking import Request
from reverie.jobs.consolidate import coverage
from reverie.ui.jobs import JobControl, Lane

PROGRAM = str(Path(reverie.__file__).parent)
# Not functions to a reader, and some are frames of their own only up to CPython 3.11.
NO_FUNCTIONS = frozenset(("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
NOTE = "/memories/global/testing.md"
TIMES = 2
"""How often each flow is done. What every time touches is counted: no first import, and seldom what runs by
the clock beside it."""
QUIET_S = 0.6
WRITE = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
"""What the other process does."""


@dataclass(frozen=True, slots=True)
class Count:
    """What one flow touched."""

    functions: int
    files: int


class Counter:
    """Which functions of the program begin, in any thread."""

    def __init__(self) -> None:
        self._begun: set[CodeType] = set()

    def install(self) -> None:
        """Once, before there are other threads."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            monitoring.use_tool_id(monitoring.PROFILER_ID, "flows")
            begins = monitoring.events.PY_START
            monitoring.register_callback(monitoring.PROFILER_ID, begins, self._on_start)
            monitoring.set_events(monitoring.PROFILER_ID, begins)
            return
        sys.setprofile(self._on_event)
        threading.setprofile(self._on_event)
        # A QThread is no thread of `threading`, and gets a new state of the interpreter for each job.
        submit = Lane.submit

        def submit_counted(lane: Lane, name: str, work: Callable[[JobControl], Any], **more: Any) -> Any:
            def counted(control: JobControl) -> Any:
                sys.setprofile(self._on_event)
                return work if isinstance(work, Request) else work(control)

            return submit(lane, name, counted, **more)

        Lane.submit = submit_counted  # type: ignore[assignment,method-assign]

    def _on_event(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._begun.add(frame.f_code)

    def _on_start(self, code: CodeType, _offset: int) -> None:
        self._begun.add(code)

    @contextmanager
    def counting(self) -> Iterator[set[CodeType]]:
        """What begins in the block; whole when the block has ended."""
        found: set[CodeType] = set()
        self._begun = begun = set[CodeType]()
        yield found
        self._begun = set()
        found |= {
            code
            for code in list(begun)
            if code.co_filename.startswith(PROGRAM) and code.co_name not in NO_FUNCTIONS
        }


class EventLoop:
    """What `Windows` and `Driver` need of pytest-qt."""

    def addWidget(self, widget: QWidget, **_more: object) -> None:
        """`Windows` closes them itself."""

    def waitUntil(self, holds: Callable[[], bool], timeout: int) -> None:
        """Run the event loop until `holds`."""
        deadline = time.monotonic() + timeout / 1000
        while not holds():
            assert time.monotonic() < deadline, "a flow did not come to its end"
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            # The condition is counted like all else, and takes the interpreter from the other threads.
            time.sleep(0.02)


def save(driver: Driver, number: int) -> Callable[[], None]:
    """One save in the editor. The typing is not part of it."""
    file = driver.open(NOTE)
    driver.type(f"Typed {number}. ")
    driver.settle()

    def flow() -> None:
        driver.do("file.save")
        driver.until(lambda: not file.saving and not file.buffer.modified)
        assert f"Typed {number}." in on_disk(driver, "testing.md")

    return flow


def rest(driver: Driver) -> None:
    """Wait until the window has been at rest for a while: some work waits a moment for more of its kind."""
    since = time.monotonic()

    def rested() -> bool:
        nonlocal since
        if not driver.is_settled():
            since = time.monotonic()
        return time.monotonic() - since > QUIET_S

    driver.until(rested)


def on_disk(driver: Driver, name: str) -> str:
    return (driver.home / "memory" / "global" / name).read_text(encoding="utf-8")


def sidecar(driver: Driver, number: int) -> Callable[[], None]:
    """Another process notes a run in the coverage sidecar; the footer must say so."""
    file = driver.home / "memory-consolidation.json"
    data = json.loads(file.read_text())
    trigger = ("archive", "launch")[number % 2]
    data["workspaces"][ACME] |= {"trigger": trigger, "ops": [], "lastRunAt": 1_786_528_649_810 + number}

    def flow() -> None:
        subprocess.run([sys.executable, "-c", WRITE, str(file), json.dumps(data)], check=True)
        driver.until(lambda: trigger in driver.row(Scope.WORKSPACE).tooltip)

    return flow


def consolidate(driver: Driver, number: int) -> Callable[[], None]:
    """One press of Consolidate. There are two notes to merge and one without a description."""
    names = [f"alike-{number}-{which}.md" for which in ("one", "two")]
    for name in names:
        text = f"---\ndescription: Alike {number}\n---\n\nThe very same text {number}, twice.\n"
        (driver.home / "memory" / "global" / name).write_text(text)
    bare = driver.home / "memory" / "global" / f"bare-{number}.md"
    bare.write_text(f"Nothing describes this {number}.\n")
    driver.until(lambda: {*names, bare.name} <= driver.paths(Scope.GLOBAL))
    driver.settle()

    def flow() -> None:
        assert driver.consolidate() == "completed"
        driver.until(lambda: driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"))
        driver.until(lambda: len({*names} & driver.paths(Scope.GLOBAL)) == 1)

    return flow


FLOWS: dict[str, Callable[[Driver, int], Callable[[], None]]] = {
    "save": save,
    "sidecar change": sidecar,
    "consolidate": consolidate,
}


def measure(directory: Path) -> dict[str, set[CodeType]]:
    """Name of a flow -> the functions it touched."""
    # The look at what a run wrote comes a second later in the program, here at once.
    coverage._SETTLED_S = 0.0
    counter = Counter()
    counter.install()
    windows = Windows(EventLoop(), directory)
    driver = windows.open(copy_sample("mux-home", directory))
    found: dict[str, set[CodeType]] = {}
    try:
        for name, prepare in FLOWS.items():
            counted: list[set[CodeType]] = []
            for number in range(TIMES):
                flow = prepare(driver, number)
                rest(driver)
                with counter.counting() as touched:
                    flow()
                    rest(driver)
                counted.append(touched)
            found[name] = set.intersection(*counted)
    finally:
        windows.close()
    return found


def count(touched: set[CodeType]) -> Count:
    """A function is known by its place: some code objects are made again and again."""
    places = {(code.co_filename, code.co_firstlineno, code.co_name) for code in touched}
    return Count(len(places), len({place[0] for place in places}))


def main() -> None:
    """A line of JSON: flow -> [functions, files]. With an argument also which, into that file."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    with tempfile.TemporaryDirectory(prefix="reverie-flows-") as directory:
        found = measure(Path(directory))
    counts = {name: count(touched) for name, touched in found.items()}
    sys.stdout.write(json.dumps({name: [one.functions, one.files] for name, one in counts.items()}) + "\n")
    if sys.argv[1:]:
        lines = {
            f"{name}\t{Path(code.co_filename).relative_to(PROGRAM)}:{code.co_firstlineno} {code.co_name}\n"
            for name, touched in found.items()
            for code in touched
        }
        Path(sys.argv[1]).write_text("".join(sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
