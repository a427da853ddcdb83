"""What a start imports until the whole window shows the memories.

One start in a process of its own under `python -X importtime`. Own time only, without what a module imports
in its turn, so that the rows add up; what makes a start slow is said where it is paid. Importing under the
clock takes half as long again: compare the rows with each other, not with the start.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST = 15
_CHILD = Path(__file__).parent / "first_paint.py"
_LINE = "import time:"


def profile_lines(home: Path, profile: Path) -> Iterator[str]:
    """Return the table, line by line."""
    command = [sys.executable, "-X", "importtime", str(_CHILD), "reverie", str(home), str(profile)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    yield from _table("imported until the window shows the memories", done.stderr)


def _table(title: str, said: str) -> Iterator[str]:
    times = dict(_times(said.splitlines()))
    own = {name: spent for name, spent in times.items() if name.partition(".")[0] == "reverie"}
    yield (
        f"{title}: {len(times)} modules, {sum(times.values()):.0f} ms; "
        f"of them Reverie's own {len(own)}, {sum(own.values()):.0f} ms"
    )
    for name in sorted(times, key=lambda name: -times[name])[:MOST]:
        yield f"  {times[name]:7.1f} ms  {name}"


def _times(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Module and its own milliseconds, of lines such as `import time:  120 |  340 |  json`."""
    for line in lines:
        spent, _, rest = line.removeprefix(_LINE).partition("|")
        if line.startswith(_LINE) and spent.strip().isdecimal():
            yield rest.partition("|")[2].strip(), int(spent) / 1000
