"""Checking the claims of 1,000 memories against a repository of 10,000 files and 5,000 commits (`notes`), of
500 against one of 50,000 files (`files`), and a history as long as that of a large kernel (`long`).

`python tests/benchmarks/claims.py PART DIRECTORY` makes a repository (with `git fast-import`) and prints.
Each part is a process of its own, whose memory is measured; CPU time is told beside the clock, since a busy
machine shows there.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "app"))

from reverie.claims.project import CheckedProject

LONG = 100_000
START = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """How large a repository is."""

    files: int
    commits: int
    notes: int


SIZES = {"notes": Size(10_000, 5_000, 1_000), "files": Size(50_000, 5_000, 500)}


def _path(number: int, moved: bool = False) -> str:
    return f"{'lib' if moved else 'src'}/part{number // 100}/module{number}.py"


def _text(number: int, version: int) -> str:
    body = "".join(f"    value_{number}_{i} = {version * i}\n" for i in range(30))
    return f"def start_{number}():\n{body}    return value_{number}_0\n"


def _note(number: int, files: int, rng: random.Random) -> str:
    names = [rng.randrange(files) for _ in range(12)]
    lines = [f"- `{_path(n)}` has `start_{n}()`, run by `npm run job{n % 50}`.\n" for n in names]
    return f"# Memory {number}\n\nPort 8080, react 18.2, `APP_{number % 40}_URL`.\n\n{''.join(lines)}"


def _blob(path: str, text: str) -> str:
    data = text.encode()
    return f"M 100644 inline {path}\ndata {len(data)}\n{text}\n"


def _commit(number: int, changes: str) -> str:
    at = START + number * 600
    subject = f"Change {number}"
    head = f"commit refs/heads/main\ncommitter A <a@example.com> {at} +0000"
    return f"{head}\ndata {len(subject)}\n{subject}\n{changes}\n"


def stream(size: Size, rng: random.Random) -> Iterator[str]:
    """The history: files first, then changes of a few files near each other; every tenth commit moves one or
    deletes it, notes come between."""
    scripts = ",".join(f'"job{i}": "x{i}"' for i in range(50))
    first = _blob("package.json", f'{{"scripts": {{{scripts}}}, "dependencies": {{"react": "^18.2.0"}}}}')
    first += _blob("app.py", "PORT = 8080\n" + "".join(f'x = os.environ["APP_{i}_URL"]\n' for i in range(40)))
    yield _commit(0, first + "".join(_blob(_path(n), _text(n, 0)) for n in range(size.files)))
    gone = set[int]()
    for number in range(1, size.commits):
        changes = ""
        near = rng.randrange(size.files - 250)
        for n in {near + rng.randrange(250) for _ in range(rng.randrange(1, 9))} - gone:
            changes += _blob(_path(n), _text(n, number))
        if number % 10 == 0:
            n = rng.randrange(size.files)
            if n not in gone:
                gone.add(n)
                changes += f"D {_path(n)}\n" + (_blob(_path(n, True), _text(n, 0)) if number % 20 else "")
        note, rest = divmod(number, size.commits // size.notes)
        if rest == 0:
            changes += _blob(f".serena/memories/note{note}.md", _note(note, size.files, rng))
        yield _commit(number, changes)


def long_stream() -> Iterator[str]:
    """100,000 small commits."""
    yield _commit(
        0, _blob("CLAUDE.md", "Start at `a/gone.py`, then `a/new.py`.\n") + _blob("a/gone.py", _text(1, 1))
    )
    for number in range(1, LONG):
        changes = _blob(f"d{number % 97}/f{number % 997}.py", f"x = {number}\n")
        yield _commit(number, changes + ("D a/gone.py\n" if number == LONG - 50 else ""))


def make(place: Path, parts: Iterator[str]) -> None:
    """A bare repository from a stream."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    with subprocess.Popen(
        ["git", "-C", str(place), "fast-import", "--quiet"], stdin=subprocess.PIPE
    ) as importer:
        assert importer.stdin is not None
        for part in parts:
            importer.stdin.write(part.encode())
        importer.stdin.close()
        assert importer.wait() == 0


def _peak() -> str:
    return f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (budget 200)"


def measure_size(size: Size, place: Path) -> None:
    """The first check, and the next one after a commit."""
    make(place, stream(size, random.Random(7)))
    began, cpu = time.perf_counter(), time.process_time()
    claims = CheckedProject(place)
    report = claims.check(claims.notes())
    first, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"first check of {report.notes:,} memories with {len(report.claims):,} statements, {size.files:,} "
        f"files, {size.commits:,} commits: {first:.2f} s, CPU {cpu:.2f} s (budget 5.00), "
        f"{len(report.stale):,} stale"
    )
    changes = "".join(_blob(_path(n), _text(n, 99)) for n in range(20))
    head = f"from refs/heads/main^0\n{changes}"
    importing = ["git", "-C", str(place), "fast-import", "--quiet"]
    subprocess.run(importing, input=_commit(size.commits + 1, head).encode(), check=True)
    began, cpu = time.perf_counter(), time.process_time()
    claims.refresh()
    again = claims.check(claims.notes())
    wall, cpu = (time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000
    print(f"after a commit that touches 20 files: {wall:.0f} ms, CPU {cpu:.0f} ms (budget 300)")
    assert len(again.claims) == len(report.claims)
    print(_peak())


def measure_long(place: Path) -> None:
    """A check that must not follow all of the history."""
    make(place, long_stream())
    began, cpu = time.perf_counter(), time.process_time()
    claims = CheckedProject(place)
    report = claims.check(claims.notes())
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    found = ", ".join(f"{claim.token} {claim.state}" for claim in report.claims)
    print(f"{LONG:,} commits: {wall:.2f} s, CPU {cpu:.2f} s; {found}; {' '.join(report.limits)}")
    print(_peak())


def main(part: str, directory: Path) -> None:
    place = directory / f"{part}.git"
    if part in SIZES:
        measure_size(SIZES[part], place)
    else:
        measure_long(place)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
