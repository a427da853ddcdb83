"""Hostile repositories as projects of one home, while another home is in use: does the engine answer?

One client checks project after project as a window does when it is shown, four at a time; another one asks
for the tree of another home. Measured are its longest wait and the memory of the engine with its processes.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.hostile_repositories import FORMS, hostile
from helpers.samples import copy_sample
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect
from reverie.errors import UserError
from reverie.profile import Profile
from unit.engine.test_run_workers import children, opened

AT_ONCE = 4
LONGEST_S = 1.0
MOST_BYTES = 2_500 << 20
AGAIN_S = 60.0
_PAUSE_S = 0.05


def run(directory: Path) -> tuple[list[str], bool]:
    """Check every form, and then whether each home can still be used."""
    maker = ClaudeHomeMaker(directory)
    projects = {form: hostile(directory / "projects", form).path for form in FORMS}
    for number, path in enumerate(projects.values(), 1):
        maker.session(path, number)
        place = f"projects/{maker.directory(path).name}/memory/entry.md"
        maker.file(place, topic("entry", body="See `src/a.py` with `one_name()`.\n"))
    client = EngineClient(partial(connect, Profile.under(directory / "profile")))
    home, other = opened(client, maker.root), opened(client, copy_sample("mux-home", directory, whole=False))
    verdicts: dict[str, str] = {}

    def check(form: str) -> None:
        context = home.context(None, str(projects[form]))
        try:
            report = home.claims.stale(context)
        except UserError as error:
            verdicts[form] = f"error: {error}"
        else:
            verdicts[form] = report.problem or "read"

    waits: list[float] = []
    most_bytes = 0
    ended = threading.Event()

    def use_the_other() -> None:
        context = other.context(None, None)
        while not ended.is_set():
            began = time.monotonic()
            other.view(context)
            other.contents()
            waits.append(time.monotonic() - began)
            ended.wait(_PAUSE_S)

    def weigh() -> None:
        nonlocal most_bytes
        while not ended.wait(0.3):
            most_bytes = max(most_bytes, _bytes_of(client.pid))

    sides = [threading.Thread(target=each) for each in (use_the_other, weigh)]
    for side in sides:
        side.start()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(check, FORMS))
    ended.set()
    for side in sides:
        side.join()

    began = time.monotonic()
    for form in FORMS:  # those that did not answer are not asked again
        check(form)
    again_s = time.monotonic() - began
    told = [
        f"{len(FORMS)} hostile repositories, {AT_ONCE} at a time",
        f"another home was asked {len(waits):,} times; longest wait {max(waits) * 1000:.0f} ms",
        f"engine and its processes: {most_bytes >> 20} MiB at most",
        f"could not be read: {sum('could not be read' in each for each in verdicts.values())}",
        f"all of them again: {again_s:.1f} s",
        *(f"  {form}: {verdict}" for form, verdict in verdicts.items()),
    ]
    usable = bool(other.contents().contents.projects) and bool(home.contents().contents.projects)
    told.append(f"both homes can be used: {usable}")
    client.stop()
    kept = usable and len(verdicts) == len(FORMS) and max(waits) < LONGEST_S and most_bytes < MOST_BYTES
    kept &= again_s < AGAIN_S
    return told, kept


def _bytes_of(pid: int) -> int:
    """What a process and its children have in memory."""
    total = 0
    for each in (pid, *children(pid)):
        try:
            pages = Path(f"/proc/{each}/statm").read_text().split()[1]
        except OSError:
            continue  # it has ended
        total += int(pages) * os.sysconf("SC_PAGE_SIZE")
    return total
