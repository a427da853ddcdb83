"""Harvest inboxes whose candidates have all been taken over (formats/mux.md section 11).

A candidate is contained where a line of another note holds its words in a row (the fold of `dream.retention`,
so that the rail agrees) and nothing around them takes them back. Inboxes never vouch for each other. An inbox
that does not look exactly as the agent writes it is left alone, so is one with more lines than the candidates
need: somebody may have written them.

Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from reverie.dream import vocabulary as words
from reverie.dream.passages import split_passages
from reverie.dream.reading import CONTRADICTION, name_words
from reverie.dream.retention import folded_words
from reverie.dream.wording import read_wording
from reverie.memory import frontmatter

_CATEGORY = r"## (?:preference|project|environment|workflow|other)\n\n"
_CANDIDATE = re.compile(
    rf"{_CATEGORY}(?P<text>.+?)\n\n"
    rf"Evidence: [^\n]+\nConfidence: [\d.]+\nRationale: [^\n]+(?=\n\n{_CATEGORY}|\Z)",
    re.DOTALL,
)
_HEAD = re.compile(r"\s*# Harvest inbox: [^\n]+\n\nSource boundary: [^\n]+\nSummary message: [^\n]+\n\n")
_LOADED = words.LOADED_HEADINGS | words.NEGATIONS_FORWARD | words.NEGATIONS_CLAUSE
_LEAST_WORDS = 3
_LOOKED_AT = 200


def candidates_of(text: str) -> tuple[str, ...]:
    """The texts of an inbox's candidates; none if it is not exactly of the agent's form."""
    text = text.replace("\r\n", "\n")
    block = frontmatter.split(text)
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


class Known:
    """What the notes outside the inboxes say, by line."""

    def __init__(self, notes: Mapping[str, str], check: Callable[[], None]) -> None:
        self._lines: list[tuple[str, str]] = []
        self._where: dict[str, list[int]] = defaultdict(list)
        for path, text in notes.items():
            check()
            if not _is_loaded(name_words(path)[0]):
                self._read(path, text)

    def _read(self, path: str, text: str) -> None:
        block = frontmatter.split(text)
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
        """Whether one note has every line of the candidate."""
        places: set[str] | None = None
        for line in candidate.split("\n"):
            folded = folded_words(line)
            if folded:
                found = set(self._paths(folded))
                places = found if places is None else places & found
        return bool(places)

    def _paths(self, folded: str) -> Iterable[str]:
        own = folded.split()
        rarest = min((self._where.get(each, []) for each in own), key=len)
        for number in rarest[:_LOOKED_AT]:
            path, line = self._lines[number]
            around = frozenset(line.replace(folded, " ", 1).split()) if folded in line else None
            if around is None or around & (_LOADED | words.HOLDING):
                continue
            if len(own) >= _LEAST_WORDS or not around:
                yield path


def _is_loaded(name: Iterable[str]) -> bool:
    return bool(set(name) & words.LOADED_HEADINGS)
