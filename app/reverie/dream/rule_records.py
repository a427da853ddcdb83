"""Which records of one file say the same, and as which of them they become one.

First those that the home itself takes for the same, since nothing they say differs; then, by the same test as
for any two notes (`similarity`), those that say it in other words. The best founded one stays, and takes over
what the others know; where a merge would lose something there is none. Pure; `check` may raise to cancel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.dream.candidates import candidate_pairs
from reverie.dream.reading import Reading, read_note
from reverie.dream.similarity import compare
from reverie.homes.records import Records

if TYPE_CHECKING:
    from reverie.dream.rules import Note


@dataclass(frozen=True, slots=True)
class RecordMerge:
    """`others` say the same as `target`, the best founded of them first."""

    records: Records
    target: Note
    others: tuple[Note, ...]

    def text(self, count: int) -> str:
        """The target with what the first `count` others know."""
        return self.records.merged([self.target.text, *(note.text for note in self.others[:count])]) or ""


@dataclass(frozen=True, slots=True)
class _Told:
    """A record's own words, which its name is none of."""

    text: str
    path: str = "/memories/project/record.md"


def record_merges(notes: Sequence[Note], check: Callable[[], None]) -> Iterator[RecordMerge]:
    """The merges there are, in the order of the files and of the records in them."""
    files: dict[str, list[Note]] = defaultdict(list)
    for note in notes:
        files[note.path.rpartition("/")[0]].append(note)
    for found in files.values():
        check()
        records = found[0].records
        assert records is not None
        for group in _groups(records, found, check):
            target, *others = (group[at] for at in records.order([note.text for note in group]))
            goes = tuple(note for note in others if not note.protected)
            if goes and records.merged([target.text, *(note.text for note in goes)]) is not None:
                yield RecordMerge(records, target, goes)


def _groups(records: Records, notes: Sequence[Note], check: Callable[[], None]) -> list[list[Note]]:
    alike = [[notes[at] for at in group] for group in records.alike([note.text for note in notes])]
    known = {note.path for group in alike for note in group}
    groups = [*alike, *([note] for note in notes if note.path not in known)]
    # What a record is about is its title: there, any doubt is a veto.
    texts = [f"# {group[0].said}\n\n{group[0].essence(group[0].text).text}" for group in groups]
    readings: dict[int, Reading] = {}
    joined: set[int] = set()
    for pair in candidate_pairs(texts, texts, check):
        check()
        first, second = pair.first, pair.second
        if joined & {first, second}:
            continue
        for at in (first, second):
            readings.setdefault(at, read_note(_Told(texts[at]), check))
        if compare(readings[first], readings[second], check).duplicate:
            both = [*groups[first], *groups[second]]
            if records.merged([note.text for note in both]) is not None:
                groups[first], groups[second] = both, []
                joined |= {first, second}
    return [group for group in groups if len(group) > 1]
