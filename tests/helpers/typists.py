"""People who type into a real window of another process, and are killed with it.

`python -m helpers.typists` imports everything once, then forks one window per job, so that kills are cheap:
one JSON job a line on stdin (`home`, `profile`, `path`, `text`, `after_ms`), one JSON report a line on
stdout. The window opens `path` and types `text` letter by letter at its top. With `after_ms` null it is
killed with SIGKILL as soon as its keeper says that everything is kept; else that many milliseconds after the
first letter. The report says how many letters were typed and how many were surely kept.

`run_typists` is the other side: kill, start anew, and look whether the text is offered.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from helpers.samples import copy_sample

WORKSPACE = "a1f3c9e2b7"
PATH = "/memories/project/deploy.md"
REL = "memory/project/acme-api-db553efff149/deploy.md"
LONGEST_S = 60.0
RANDOM_WITHIN_MS = 900
LETTERS = "abc \u00e9\u4e16\U0001f600\n"
STARTS = (b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo", b"one\r\ntwo\nthree\rfour", b"")
PACE_MS = 5
_NEEDED = (
    "PySide6.QtNetwork",
    "reverie.llm.trace_facts",
    "reverie.compose",
    "reverie.jobs.consolidate.review",
    "reverie.jobs.consolidate.engine",
    "reverie.jobs.consolidate.run",
    "reverie.memory.history.history",
    "reverie.memory.lint",
    "reverie.memory.recording",
    "reverie.services.drafts",
    "reverie.services.failures",
    "reverie.services.models",
    "reverie.services.lint",
    "reverie.services.orphans",
    "reverie.failures.record",
    "reverie.services.traces",
    "reverie.services.run_views",
    "reverie.services.reviews",
    "reverie.services.activity",
    "reverie.services.change_log",
    "reverie.services.traces",
    "reverie.services.workbench",
    "reverie.settings",
    "reverie.agents.mux.transcript",
    "reverie.ui.app",
    "reverie.ui.window.main_window",
    "reverie.ui.memory.tab",
    "reverie.ui.window.homes",
    "reverie.ui.window.homes",
    "reverie.ui.settings.dialog",
    "yaml.cyaml",
)


def type_for_ever(job: dict[str, Any], told: int) -> None:
    """Be the window that is killed. Each byte into `told`: one letter (t), or all so far kept (k)."""
    from PySide6.QtCore import QTimer

    from reverie.clock import system_clock
    from reverie.profile import Profile
    from reverie.ui.app import make_application
    from reverie.ui.icons import Icons
    from reverie.ui.startup_options import StartupOptions
    from reverie.ui.window.main_window import MainWindow

    application = make_application()
    beginning = StartupOptions((Path(job["home"]),), WORKSPACE, watching=False)
    window = MainWindow(Profile.under(Path(job["profile"])), system_clock, Icons(), beginning)
    window.show()
    window.start()
    letters: Iterator[str] = iter(job["text"])
    typing = QTimer()
    typing.setInterval(PACE_MS)

    def step() -> None:
        pane = window.tab.pane
        if pane.file is None:
            window.tab.tree.select_path(PATH)
            return
        letter = next(letters, None)
        if letter is None:
            typing.stop()
            return
        pane.text.insertPlainText(letter)
        os.write(told, b"t")

    typing.timeout.connect(step)
    window.tab.keeper.kept.connect(lambda: os.write(told, b"k"))
    typing.start()
    application.exec()


def raise_typist(job: dict[str, Any]) -> dict[str, Any]:
    """Fork, let type, kill, and tell what was typed and what was kept."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(heard)
            type_for_ever(job, told)
        finally:
            os._exit(3)
    os.close(told)
    said = _listen(heard, child, job)
    os.close(heard)
    _pid, status = os.waitpid(child, 0)
    return {
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "typed": said.count(b"t"),
        "kept": said[: said.rfind(b"k") + 1].count(b"t"),
    }


def _listen(heard: int, child: int, job: dict[str, Any]) -> bytes:
    said, total = b"", len(job["text"])
    limit = threading.Timer(LONGEST_S, os.kill, (child, signal.SIGKILL))
    limit.start()
    killer: threading.Timer | None = None
    while more := os.read(heard, 4096):
        said += more
        if job["after_ms"] is not None and killer is None and b"t" in said:
            killer = threading.Timer(job["after_ms"] / 1000, os.kill, (child, signal.SIGKILL))
            killer.start()
        elif job["after_ms"] is None and said.count(b"t") == total and said.endswith(b"k"):
            os.kill(child, signal.SIGKILL)
    limit.cancel()
    if killer is not None:
        killer.join()
    return said


@contextmanager
def typists() -> Iterator[subprocess.Popen[str]]:
    """The process that raises them, ended at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.typists"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()


@dataclass(slots=True)
class TypedTally:
    """What a series of killed windows came to."""

    kills: int = 0
    whole: int = 0
    letters: int = 0
    offered: int = 0
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"windows killed: {self.kills}, of them {self.whole} after everything was kept",
            f"letters typed: {self.letters}, offered again: {self.offered}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


def run_typists(directory: Path, *, kills: int, at_random: int, seed: int) -> TypedTally:
    """`kills` windows killed once their typing is kept, `at_random` more at any moment of it."""
    tally, dice = TypedTally(), random.Random(seed)
    with typists() as raising:
        for number in range(kills + at_random):
            after = None if number < kills else dice.uniform(0, RANDOM_WITHIN_MS)
            length = dice.randint(3, 25) if after is None else 2 * RANDOM_WITHIN_MS // PACE_MS
            text = "".join(dice.choice(LETTERS) for _ in range(length))
            _one(directory / f"typist-{number}", STARTS[number % len(STARTS)], text, after, raising, tally)
    return tally


def _one(
    place: Path,
    start: bytes,
    text: str,
    after_ms: float | None,
    raising: subprocess.Popen[str],
    tally: TypedTally,
) -> None:
    place.mkdir()
    home = copy_sample("mux-home", place)
    (home / REL).write_bytes(start)
    job = {"home": str(home), "profile": str(place / "profile"), "text": text, "after_ms": after_ms}
    assert raising.stdin is not None
    assert raising.stdout is not None
    raising.stdin.write(json.dumps(job) + "\n")
    raising.stdin.flush()
    report = json.loads(raising.stdout.readline())
    tally.kills += report["killed"]
    tally.whole += after_ms is None
    tally.letters += report["typed"]
    tally.problems += _judged(place, home, start, text, report, tally, whole=after_ms is None)


def _judged(
    place: Path,
    home: Path,
    start: bytes,
    text: str,
    report: dict[str, Any],
    tally: TypedTally,
    *,
    whole: bool,
) -> list[str]:
    """Look as the next start would."""
    from reverie.clock import system_clock
    from reverie.compose import open_parts
    from reverie.profile import Profile
    from reverie.services.drafts import DraftService
    from reverie.services.edits import current_text

    if not report["killed"]:
        return [f"{place.name}: the window ended by itself"]
    if (home / REL).read_bytes() != start:
        return [f"{place.name}: the file was written"]
    parts = open_parts(home, Profile.under(place / "profile"), system_clock)
    found = DraftService(parts, current_text(parts)).offered("00000000")
    if found.damaged:
        return [f"{place.name}: a draft is damaged"]
    least = report["typed"] if whole else report["kept"]
    if not found.offers:
        return [f"{place.name}: nothing is offered of {least} letters"] if least else []
    if len(found.offers) > 1:
        return [f"{place.name}: one file is offered {len(found.offers)} times"]
    content = found.offers[0].draft.content
    # Letters in flight when it was killed may be there as well.
    for count in range(least, len(text) + 1):
        if content == wanted(start, text[:count]):
            tally.offered += count
            return []
    return [f"{place.name}: what is offered is not what was typed"]


def wanted(start: bytes, typed: str) -> str:
    """The file's text with `typed` at its top, as a save would have written it."""
    from reverie.services.views import file_text
    from reverie.ui.editor.line_breaks import restored, widget_text

    before = file_text(PATH, start, mtime_ns=0, cap=None)
    mark = "\ufeff" if before.bom else ""
    body = before.content.removeprefix("\ufeff")
    return mark + restored(body, typed + widget_text(body), before.newline)


def main() -> None:
    # Everything that a window needs, at once or late: each would import it for itself.
    for name in _NEEDED:
        import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(raise_typist(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
