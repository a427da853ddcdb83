"""Successive versions of real memories, offered as two notes of one store: what consolidation by rules makes
of them, and whether they are found to be worth a look.

`read_versions` takes them out of the histories of bare git directories. What is right is judged by git's own
difference of the two versions, not by the rules that are measured. Text of the versions is never printed.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pygit2

from labelled.real.extract import MEMORIES, Half, half_of, name_of
from reverie.agents.mux.home import CAPS
from reverie.jobs.consolidate.facts import compare, read_facts
from reverie.jobs.consolidate.findings import RelatedNote, related_notes
from reverie.jobs.consolidate.rules.plan import Note, plan
from reverie.runs.retention import judge_retention

MOST_OF_ONE = 25
_LARGEST = 60_000
_ALIKE = 0.5
_ORDINAL = re.compile(r"(?m)^[ \t]*\d{1,3}[.)][ \t]")


@dataclass(frozen=True, slots=True)
class VersionPair:
    """Two versions of one memory, next to each other in its history."""

    repository: str
    path: str
    older: str
    newer: str

    @property
    def half(self) -> Half:
        return half_of(self.repository)


def read_versions(directories: Iterable[Path]) -> Iterator[VersionPair]:
    """The pairs of each repository, at most so many of one."""
    for given in directories:
        inner = given / "repo" if (given / "repo").is_dir() else given
        repository = pygit2.Repository(str(inner))
        done = subprocess.run(
            [
                *("git", f"--git-dir={inner}", "log", "--all", "--raw", "--no-abbrev", "-z"),
                *("--diff-filter=M", "--format=", "--", *MEMORIES),
            ],
            capture_output=True,
            check=True,
        )
        pieces = iter(done.stdout.decode("utf-8", "replace").split("\0"))
        found, seen = 0, set[str]()
        for piece in pieces:
            fields = piece.strip().split(" ")
            if len(fields) != 5 or found == MOST_OF_ONE:
                continue
            path = next(pieces)
            if path in seen or not path.endswith(".md"):
                continue
            seen.add(path)
            texts = [_text(repository, blob) for blob in fields[2:4]]
            if texts[0] and texts[1] and texts[0] != texts[1]:
                found += 1
                yield VersionPair(name_of(given), path, texts[0], texts[1])


def _text(repository: pygit2.Repository, blob: str) -> str:
    """Nothing for what is no text of a usual size, or not there."""
    try:
        data = repository[blob].data
        return data.decode("utf-8") if len(data) <= _LARGEST else ""
    except (KeyError, UnicodeDecodeError):
        return ""


def figures(pairs: Iterable[VersionPair]) -> tuple[list[str], bool]:
    """Lines with what became of the pairs of each half, and whether it is as promised."""
    of: dict[Half, list[VersionPair]] = {"tune": [], "held": []}
    for pair in pairs:
        of[pair.half].append(pair)
    lines, kept = list[str](), True
    for half, some in of.items():
        merged = [(pair, text) for pair in some if (text := merged_text(pair)) is not None]
        wrong = sum(has_replaced_lines(pair) for pair, _text in merged)
        lost = sum(bool(_lost(pair, text)) for pair, text in merged)
        doubled = sum(_says_twice(pair, text) for pair, text in merged)
        alike = [pair for pair in some if _ratio(pair) >= _ALIKE]
        found = sum(map(is_found, alike))
        lines.append(
            f"versions, {half}: {len(some)} pairs, {len(merged)} merged, of these {wrong} with replaced "
            f"lines, {lost} that lose a line, {doubled} that say something twice"
        )
        lines.append(f"versions, {half}: {found} of {len(alike)} pairs that are half alike are worth a look")
        kept = wrong + lost + doubled <= 0.01 * len(some) and found >= 0.8 * len(alike)
    return lines, kept


def merged_text(pair: VersionPair) -> str | None:
    """What consolidation by rules makes of the two; None where it leaves them."""
    names = ("/memories/project/note.md", "/memories/project/note-two.md")
    texts = dict(zip(names, (pair.older, pair.newer), strict=True))
    notes = [Note(path, text, at_ms=day) for day, (path, text) in enumerate(texts.items(), 1)]
    made = plan(notes, budget=8, caps=CAPS)
    for group in made.groups:
        if group.kind in ("contained", "exact"):
            (gone,) = [each.path for each in group.operations if each.command == "delete"]
            stays = names[gone == names[0]]
            edit = next((each for each in group.operations if each.command == "str_replace"), None)
            return str(edit.arguments["new_str"]) if edit is not None else texts[stays]
    return None


def has_replaced_lines(pair: VersionPair) -> bool:
    """Whether git sees lines of one version in the place of lines of the other. What only counts a list, and
    the end of the last line, is no other line."""
    old, new = (_ORDINAL.sub("- ", text.rstrip() + "\n").encode() for text in (pair.older, pair.newer))
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    for hunk in patch.hunks:
        signs = {line.origin for line in hunk.lines if line.content.strip()}
        if {"+", "-"} <= signs and not _same_words(hunk):
            return True
    return False


def _same_words(hunk: pygit2.DiffHunk) -> bool:
    """Whether the two sides of a hunk differ in markup, punctuation and white space alone."""

    def words(sign: str) -> list[str]:
        text = " ".join(line.content for line in hunk.lines if line.origin == sign)
        return "".join(char if char.isalnum() else " " for char in text.casefold()).split()

    return words("+") == words("-")


def _lost(pair: VersionPair, text: str) -> tuple[object, ...]:
    before = {"/memories/project/a.md": pair.older, "/memories/project/b.md": pair.newer}
    return judge_retention(before, {"/memories/project/a.md": text}).lost


def _says_twice(pair: VersionPair, text: str) -> bool:
    """Whether a statement that only the older version makes stands beside one of the newer one's about the
    same."""
    sides = {name: {fact.key for fact in read_facts("x", text)} for name, text in
             (("older", pair.older), ("newer", pair.newer))}  # fmt: skip
    facts = [fact for fact in read_facts("x", text) if fact.counts]
    only_old = [fact for fact in facts if fact.key not in sides["newer"]]
    only_new = [fact for fact in facts if fact.key not in sides["older"]]
    return any(compare(one, other).what for one in only_old for other in only_new)


def _ratio(pair: VersionPair) -> float:
    return SequenceMatcher(None, pair.older.split("\n"), pair.newer.split("\n"), autojunk=False).ratio()


_OTHERS = tuple(
    RelatedNote(
        f"/memories/project/other-{number}.md", f"# {word}\n\nSomething about the {word} and nothing else.\n"
    )
    for number, word in enumerate(("weather", "garden", "kitchen", "harbour", "library", "orchard"))
)


def is_found(pair: VersionPair) -> bool:
    """Whether the two are told to be worth a look, among a few notes about other things."""
    two = (
        RelatedNote("/memories/project/note.md", pair.older, 1),
        RelatedNote("/memories/project/note-two.md", pair.newer, 2),
    )
    return any(each.kind in ("near-duplicate", "successor") for each in related_notes([*two, *_OTHERS]))
