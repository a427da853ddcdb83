"""The candidates in a harvest inbox, and whether other notes already contain them.

Pure; any thread.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from reverie.jobs.consolidate.rules.reading import CONTRADICTION, name_words, split_passages
from reverie.jobs.consolidate.rules.wording import (
    HOLDING,
    LOADED_HEADINGS,
    NEGATIONS_CLAUSE,
    NEGATIONS_FORWARD,
    read_wording,
)
from reverie.memory.front_matter_rules import block_of
from reverie.runs.retention import folded_words
from reverie.text.patterns import pattern_of

_CATEGORY = r"## (?:preference|project|environment|workflow|other)\n\n"
_CANDIDATE = pattern_of(
    rf"{_CATEGORY}(?P<text>.+?)\n\n"
    rf"Evidence: [^\n]+\nConfidence: [\d.]+\nRationale: [^\n]+(?=\n\n{_CATEGORY}|\Z)",
    re.DOTALL,
)
_HEAD = pattern_of(r"\s*# Harvest inbox: [^\n]+\n\nSource boundary: [^\n]+\nSummary message: [^\n]+\n\n")
_LOADED = LOADED_HEADINGS | NEGATIONS_FORWARD | NEGATIONS_CLAUSE
_LEAST_WORDS = 3
_LOOKED_AT = 200


def candidates_of(text: str) -> tuple[str, ...]:
    """Return the texts of the candidates in a harvest inbox; empty unless it has exactly the agent's format.

    An inbox with any other line may have been edited by a person (formats/mux.md section 11).
    """
    text = text.replace("\r\n", "\n")
    block = block_of(text)
    body = (text[block.body_start :] if block is not None else text).rstrip()
    head = _HEAD.match(body)
    if head is None:
        return ()
    found = []
    at = head.end()
    while match := _CANDIDATE.match(body, at):
        if "Evidence: " in match["text"]:
            return ()
        found.append(match["text"])
        at = match.end()
        at += len(body[at:]) - len(body[at:].lstrip("\n"))
    return tuple(found) if at >= len(body) else ()


class KnownTexts:
    """An index of the lines of the notes that are no inboxes, to find those that contain a candidate already.

    Lines are folded as in `runs.retention`, so that both checks agree.
    """

    def __init__(self, notes: Mapping[str, str], check: Callable[[], None]) -> None:
        self._lines: list[tuple[str, str]] = []
        self._where: dict[str, list[int]] = defaultdict(list)
        for path, text in notes.items():
            check()
            if not set(name_words(path)[0]) & LOADED_HEADINGS:
                self._read(path, text)

    def _read(self, path: str, text: str) -> None:
        block = block_of(text)
        for passage in split_passages(text[block.body_start :] if block is not None else text):
            around = read_wording(f"{passage.section}, {passage.parent}").seen
            if passage.kind in ("code", "rule") or around & _LOADED:
                continue
            for line in passage.lines:
                folded = folded_words(line)
                if folded and not CONTRADICTION.search(line):
                    for each in set(folded.split()):
                        self._where[each].append(len(self._lines))
                    self._lines.append((path, folded))

    def holds(self, candidate: str) -> bool:
        """Return True if one note has every line of the candidate."""
        places: set[str] | None = None
        for line in candidate.split("\n"):
            folded = folded_words(line)
            if folded:
                found = set(self._paths(folded))
                places = found if places is None else places & found
        return bool(places)

    def _paths(self, folded: str) -> Iterable[str]:
        """Return the paths of the notes that have a line with the same meaning.

        `folded`: the line without case and markup.
        """
        own = folded.split()
        rarest = min((self._where.get(each, []) for each in own), key=len)
        for number in rarest[:_LOOKED_AT]:
            path, line = self._lines[number]
            around = frozenset(line.replace(folded, " ", 1).split()) if folded in line else None
            if around is None or around & (_LOADED | HOLDING):
                continue
            if len(own) >= _LEAST_WORDS or not around:
                yield path
