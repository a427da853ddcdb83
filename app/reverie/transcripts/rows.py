"""The rows of a transcript: its lines as JSON objects, with a tally of what was none.

Threading, failure: as `transcripts.lines` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.transcripts.lines import decoded_row, transcript_lines
from reverie.transcripts.reading import Reading


def rows_of(path: Path, reading: Reading, *, end: int | None = None) -> Iterator[dict[str, Any]]:
    """Every row in order; `reading` counts the lines, and those that are broken, too long or half-written.
    `end`: read only the first bytes of the file. Raises `FileNotFoundError`, `Unavailable`."""

    def too_long() -> None:
        reading.broken += 1
        reading.problems.append("A line of more than 16 MiB was skipped.")

    def cut_short() -> None:
        reading.half_written = True

    for line in transcript_lines(path, too_long, cut_short=cut_short, end=end):
        reading.lines += 1
        row = decoded_row(line)
        if row is not None:
            yield row
        elif line.endswith(b"\n"):
            reading.broken += 1
        else:
            reading.half_written = True
