"""The budgets of design.md section 7 as ratios, measured in one run: `python packaging/dev.py bench
[PART]...`.

Each line names what was measured, its peer where there is one, the ratio and the budget. Nothing here fails a
build: wall times of a busy machine swing; compare within one run.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from benchmarks.homes import PROJECT, WORKSPACE, make_home
from reverie.engine.reach import engine_lock
from reverie.files.locks import held_lock
from reverie.profile import Profile

HERE = Path(__file__).parent
ROUNDS = 5
ENGINE_ENDS_S = 60.0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def median_of(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    return statistics.median(measure() for _round in range(rounds))


def start(directory: Path) -> None:
    """Start to the whole, usable window, 10,000 memories, beside a bare Qt window with as many rows."""
    make_home(directory / "home", 10_000)
    # As an installed program is; while one works on it the last change is not.
    compileall.compile_dir(str(HERE.parent.parent / "app"), quiet=1)

    def child(*words: str) -> float:
        command = [sys.executable, str(HERE / "first_paint.py"), *words]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def ours(number: int) -> float:
        profile = directory / f"profile-{number % 2}"
        taken = child("reverie", str(directory / "home"), str(profile))
        # The window is gone at once; its engine takes a second, and would share the machine with the next.
        engine = Profile.under(profile)
        with held_lock(engine_lock(engine), engine.state, timeout_s=ENGINE_ENDS_S):
            return taken

    bare, whole = [], []
    for number in range(ROUNDS):
        bare.append(child("bare", "10000"))
        whole.append(ours(number))
    peer = statistics.median(bare)
    say(
        f"start to the whole window, 10,000 memories: {statistics.median(whole) * 1000:.0f} ms, "
        f"bare Qt {peer * 1000:.0f} ms, ratio {statistics.median(whole) / peer:.2f} (budget 2.20)"
    )


def imports(directory: Path) -> None:
    """What a start imports: the fifteen modules that take longest."""
    from benchmarks.start_profile import profile_lines

    make_home(directory / "home", 10_000)
    compileall.compile_dir(str(HERE.parent.parent / "app"), quiet=1)
    for line in profile_lines(directory / "home", directory / "profile"):
        say(line)


def scan(directory: Path) -> None:
    """Scan of 10,000 files, beside os.scandir plus reading the first 4 KiB of each."""
    from reverie.agents.mux.home import MuxHome
    from reverie.agents.scopes import Scope
    from reverie.memory.listing import scan_scope

    make_home(directory / "home", 10_000)
    home = MuxHome(directory / "home")
    root = home.scope_root(home.context(workspace_id=WORKSPACE), Scope.PROJECT)

    def ours() -> float:
        started = time.perf_counter()
        listing = scan_scope(root, home.caps, {}, lambda rel: home.usage_key(root, rel))
        assert len(listing.files) == 10_000
        return time.perf_counter() - started

    def peer() -> float:
        started = time.perf_counter()
        _read_heads(str(root.directory))
        return time.perf_counter() - started

    peer()
    peers, mine = median_of(peer), median_of(ours)
    say(
        f"scan of 10,000 files: {mine * 1000:.0f} ms, os.scandir and 4 KiB reads {peers * 1000:.0f} ms, "
        f"ratio {mine / peers:.2f} (budget 2.00)"
    )


def _read_heads(directory: str) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _read_heads(entry.path)
            else:
                with open(entry.path, "rb") as file:  # noqa: PTH123 - the peer is the plain call
                    file.read(4096)


def dream(directory: Path) -> None:
    """A dream with rules over 1,000 files, and how it grows."""
    from reverie.clock import system_clock
    from reverie.compose import open_parts
    from reverie.jobs.consolidate.engine import RulesEngine
    from reverie.jobs.consolidate.run import DreamRequest
    from reverie.profile import Profile

    numbers = iter(range(1000))

    def seconds(notes: int) -> float:
        place = directory / f"home-{next(numbers)}"
        make_home(place, notes)
        parts = open_parts(place, Profile.under(place.with_suffix(".profile")), system_clock)
        parts.snapshots.observe(source="bench")
        started = time.perf_counter()
        parts.dreams.run(DreamRequest(parts.home.context(workspace_id=WORKSPACE)), RulesEngine())
        return time.perf_counter() - started

    seconds(100)  # imports
    times = {notes: median_of(partial(seconds, notes), 3) for notes in (500, 1000, 2000)}
    say(
        f"dream with rules over 1,000 files: {times[1000]:.2f} s (budget 2 s); "
        f"growth 500 -> 1,000 -> 2,000: x{times[1000] / times[500]:.1f}, x{times[2000] / times[1000]:.1f} "
        "(n log n: x2.2)"
    )


def model(directory: Path) -> None:
    """What a dream by model takes without the model: the sample home, two answers, one change."""
    from decimal import Decimal

    from helpers.benches import sample_parts, workspace
    from helpers.speaker import Speaker
    from reverie.files.directory import RACY_NS
    from reverie.jobs.consolidate.engine import ModelEngine
    from reverie.jobs.consolidate.run import DreamRequest
    from reverie.llm.client import ModelClient

    parts = sample_parts("mux-home", directory)
    parts.snapshots.observe(source="bench")
    context = workspace(parts, "a1f3c9e2b7")

    def seconds() -> float:
        # A line without a statement: one that no note has is a fault, and the model is asked again.
        line = {"insert_line": 0, "insert_text": "\n"}
        change = {"command": "insert", "path": "/memories/global/testing.md", **line}
        speaker = Speaker([[change], "Done."])
        asking = ModelClient(
            speaker.name, open_provider=lambda: speaker, cost_of=lambda _usage: Decimal(0), clock=parts.clock
        )
        engine = ModelEngine(asking, instructions="Tidy.", trigger="manual")
        started = time.perf_counter()
        done = parts.dreams.run(DreamRequest(context, "manual", engine.name), engine)
        taken = time.perf_counter() - started
        assert (done.outcome, len(speaker.requests)) == ("completed", 2), done
        return taken

    # Homes are at rest: what was written within the last two seconds the history reads at every look.
    time.sleep(RACY_NS / 1e9)
    seconds()  # imports
    median = median_of(seconds, 15)
    say(f"overhead of a dream by model without the model: {median * 1000:.0f} ms (budget 100 ms)")


def window(directory: Path) -> None:
    """The longest block of the GUI thread under a storm and a dream."""
    from benchmarks.window import measure

    for line in measure(directory, 10_000, storm=True):
        say(line)


def live(directory: Path) -> None:
    """One changed file among 100,000, replace() to painted."""
    from benchmarks.window import measure

    for line in measure(directory, 100_000, storm=False):
        say(line)


def cancel(directory: Path) -> None:
    """How long after "Cancel" the button is back while a model is silent, connection ended."""
    from benchmarks.window import cancel_times

    times = sorted(cancel_times(directory))
    say(
        "cancel during a model call, button back and connection ended: "
        f"median {statistics.median(times) * 1000:.0f} ms, "
        f"worst of {len(times)} {times[-1] * 1000:.0f} ms (budget 200 ms)"
    )


def trace(directory: Path) -> None:
    """A trace of 200 MB: its line in the list, its detail, and the memory that takes."""
    import tracemalloc

    from helpers.big_dumps import big_dump
    from reverie.llm.trace_facts import facts_of
    from reverie.llm.trace_reader import Dump, read_dump
    from reverie.llm.trace_verdict import judge

    path = directory / "1786600000000_big.json"
    size = big_dump(path, events=78_000)

    def seconds(sketch: bool) -> float:
        started = time.perf_counter()
        found = read_dump(path, sketch=sketch)
        judge(facts_of(found.document), found.damage, lost=found.lost)
        return time.perf_counter() - started

    line, detail = median_of(lambda: seconds(True), 3), median_of(lambda: seconds(False), 3)
    tracemalloc.start()
    kept: Dump = read_dump(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    shown = len(str(kept.document))
    say(
        f"trace of {size / 1e6:.0f} MB: line {line:.2f} s (budget 1 s), detail {detail:.2f} s, memory "
        f"{most / 1e6:.1f} MB for {shown / 1e6:.1f} MB shown, ratio {most / shown:.1f} (budget 2)"
    )


def search(directory: Path) -> None:
    """Searching 100,000 notes while typing, how current the answer is, and ripgrep beside it."""
    from benchmarks.search import measure

    for line in measure(directory):
        say(line)


def claims(directory: Path) -> None:
    """Checking the claims of many memories against a large repository and a long history."""
    for part in ("notes", "files", "long"):
        command = [sys.executable, str(HERE / "claims.py"), part, str(directory)]
        say(subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip())


def coediting(directory: Path) -> None:
    """One person types while another rewrites the same file: words lost without a shown conflict."""
    from helpers.co_typists import run_co_typists
    from reverie.ui.app import make_application

    make_application()
    tally = run_co_typists(directory, rounds=10_000, seed=20_261_121)
    for line in tally.lines():
        say(line)


PARTS = {
    "start": start,
    "imports": imports,
    "scan": scan,
    "dream": dream,
    "model": model,
    "cancel": cancel,
    "live": live,
    "window": window,
    "trace": trace,
    "search": search,
    "claims": claims,
    "coediting": coediting,
}


def main(names: list[str]) -> int:
    if unknown := set(names) - PARTS.keys():
        say(f"There is no part {', '.join(sorted(unknown))}. The parts: {', '.join(PARTS)}.")
        return 2
    say(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, project {PROJECT}")
    for name in names or PARTS:
        if hasattr(os, "sync"):
            os.sync()  # what an earlier part left to be written is not the next one's
        with tempfile.TemporaryDirectory(
            prefix=f"reverie-bench-{name}-", ignore_cleanup_errors=True
        ) as directory:
            PARTS[name](Path(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
