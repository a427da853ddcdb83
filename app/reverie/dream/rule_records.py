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
    """The merges there are: of all files those of records that say the very same, then, looked for only as
    far as anybody asks, of those that say it in other words."""
    files: dict[str, list[Note]] = defaultdict(list)
    for note in notes:
        files[note.path.rpartition("/")[0]].append(note)
    alone: list[tuple[Records, list[Note]]] = []
    for found in files.values():
        check()
        records = found[0].records
        assert records is not None
        groups = [[found[at] for at in group] for group in records.alike([note.text for note in found])]
        yield from (merge for group in groups if (merge := _merge(records, group)) is not None)
        known = {note.path for group in groups for note in group}
        alone.append((records, [note for note in found if note.path not in known]))
    for records, rest in alone:
        yield from _in_other_words(records, rest, check)


def _merge(records: Records, group: Sequence[Note]) -> RecordMerge | None:
    """The group as one, where nothing is lost by that."""
    target, *others = (group[at] for at in records.order([note.text for note in group]))
    goes = tuple(note for note in others if not note.protected and not note.stays)
    if not goes or records.merged([target.text, *(note.text for note in goes)]) is None:
        return None
    return RecordMerge(records, target, goes)


def _in_other_words(
    records: Records, notes: Sequence[Note], check: Callable[[], None]
) -> Iterator[RecordMerge]:
    # What a record is about is its title: there, any doubt is a veto.
    texts = [f"# {note.said}\n\n{note.essence(note.text).text}" for note in notes]
    readings: dict[int, Reading] = {}
    joined: set[int] = set()
    for pair in candidate_pairs(texts, texts, check):
        check()
        both = (pair.first, pair.second)
        if joined.intersection(both):
            continue
        for at in both:
            if at not in readings:
                readings[at] = read_note(_Told(texts[at]), check)
        if compare(readings[both[0]], readings[both[1]], check).duplicate:
            merge = _merge(records, [notes[at] for at in both])
            if merge is not None:
                joined.update(both)
                yield merge
