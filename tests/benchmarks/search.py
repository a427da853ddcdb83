"""How soon an answer is there while somebody types, over 100,000 notes, and beside ripgrep where it is
installed."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.homes import make_home

NOTES = 100_000
# Words of the generated notes that nearly every other note holds, and what few or one do.
COMMON = ("settlement", "migration", "retry cache", "the queue of", "part", "webhook")
RARE = ("note-045678", "quokka_sighting", "99999-3", "zyzzyva", "設定値")
# Few notes or none have all the words of these, so any of them will do.
QUESTIONS = (
    "how is the quokka counted at the depot",
    "where did we see zyzzyvas and settlements of cursors",
    "which webhok retries the migrated schema",
    "what are the sightings near 99999-3",
    "why was the tyre of the charger rolled back to a canary",
)
_RARE_TEXTS = ("a quokka_sighting at the depot", "the zyzzyva of 設定値")


def measure(directory: Path) -> Iterator[str]:
    """The lines to print."""
    from reverie.clock import system_clock
    from reverie.compose import open_parts
    from reverie.files.watch import Changes
    from reverie.profile import Profile
    from reverie.services.search import SearchService

    store = make_home(directory / "home", NOTES)
    dice = random.Random(3)
    for number, text in enumerate(_RARE_TEXTS * 10):
        (store / f"part-{dice.randrange(NOTES // 100):04d}" / f"rare-{number}.md").write_text(text)
    parts = open_parts(directory / "home", Profile.under(directory / "profile"), system_clock)
    desk = SearchService()
    desk.add(parts)
    started = time.perf_counter()
    desk.update()
    built = time.perf_counter() - started
    size = parts.profile.catalogue.stat().st_size / 1_000_000
    yield f"search index of {NOTES:,} notes: built in {built:.1f} s, {size:.0f} MB"
    ours: list[float] = []
    for name, words in (("rare", RARE), ("common", COMMON)):
        times = _typed(words, lambda text: desk.search(text))
        ours += times
        yield (
            f"search while typing, {name} words, ranked, 50 snippets: "
            f"median {_ms(statistics.median(times))}, p95 {_ms(_p95(times))} (budget 20 ms)"
        )
    desk.search(QUESTIONS[0])
    times = _typed(QUESTIONS, lambda text: desk.search(text))
    yield (
        f"search while a question is typed, by any word: median {_ms(statistics.median(times))}, "
        f"p95 {_ms(_p95(times))} (budget 20 ms)"
    )
    yield _current(desk, parts.home_id, store, lambda path: Changes(frozenset((path,)), False, 1, ()))
    yield from _beside_ripgrep(store, statistics.median(ours))


def _typed(words: Sequence[str], search: Callable[[str], object], rounds: int = 3) -> list[float]:
    """Seconds for each key of each word, from the second one on."""
    search("warm")
    times = []
    for _round in range(rounds):
        for word in words:
            for length in range(min(2, len(word)), len(word) + 1):
                times.append(_timed(lambda text=word[:length]: search(text)))  # type: ignore[misc]
    return times


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _current(desk, home_id: str, store: Path, changed) -> str:  # type: ignore[no-untyped-def]
    """From the watcher's word on one changed file to an answer that holds it."""
    times = []
    for number in range(20):
        path = store / f"part-{number:04d}" / "fresh.md"
        path.write_text(f"freshword{number} is here")
        started = time.perf_counter()
        desk.note(home_id, changed(path))
        desk.update()
        found = desk.search(f"freshword{number} ").hits
        times.append(time.perf_counter() - started)
        assert len(found) == 1
    return (
        f"search current after a change: median {_ms(statistics.median(times))}, p95 {_ms(_p95(times))} "
        "(budget 300 ms)"
    )


def _beside_ripgrep(store: Path, ours: float) -> Iterator[str]:
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        yield "search beside ripgrep: not measured, rg is not installed (budget 10 x faster)"
        return
    times = []
    for word in ("zyzzyva", "settlement", "zyzzyva", "settlement"):
        started = time.perf_counter()
        subprocess.run([ripgrep, "-i", "-l", word, str(store)], capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    theirs = statistics.median(times[1:])
    yield (
        f"search beside ripgrep, warm: {_ms(ours)}, ripgrep {_ms(theirs)}, {theirs / ours:.0f} x faster "
        "(budget 10 x)"
    )


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
