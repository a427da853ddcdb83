"""Files that hold many memories each, as a home tells of them to a dream: one record, one memory.

`Records` is the seam between such a file and the runs: `split` shows what is in it, `folded` puts one record
back, and nothing else of the file changes by a byte. A record's path is the file's own with the record's name
below it, where no real file can stand. Who writes holds `lock` and compares first (`memory.record_files`).

Pure, but for `lock`. Failure: `StoreError` for a file that cannot be read whole, and for a text that is no
record; both leave everything as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RecordText:
    """One record as a memory. `place`: where it stands among all that the file lists, from 0; `said`: what it
    is about, in a line. `stays`: it must not go now, since another would then be taken for it."""

    name: str
    text: str
    place: int
    said: str = ""
    stays: bool = False


class Records(Protocol):
    """The records of one home that a dream may look after. `sentence`: what a model is told of them."""

    @property
    def sentence(self) -> str: ...

    def is_holder(self, rel: str) -> bool:
        """Whether this file of a memory root holds such records."""

    def holder(self, rel: str) -> str:
        """The file that holds the record `rel`; empty where `rel` is none."""

    def split(self, data: bytes) -> tuple[RecordText, ...]:
        """The records in a file's bytes that a dream may change, in their order."""

    def one(self, data: bytes, name: str) -> RecordText | None:
        """The one of `split` with this name; None: there is none."""

    def folded(self, data: bytes, name: str, text: str | None, place: int | None) -> bytes:
        """The file's bytes with this record as `text` says; None: without it. One that is not there comes to
        stand at `place`, or last."""

    def check(self, name: str, before: str, after: str) -> None:
        """Raises `StoreError` where this record's `before` may not become `after`."""

    def alike(self, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Positions of those that say the same, group by group."""

    def order(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Positions, the best founded first."""

    def merged(self, texts: Sequence[str]) -> str | None:
        """The first, with what the others know; None where that would lose something."""

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """The lock that the agent itself takes to write this file."""
