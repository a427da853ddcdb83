"""The retention check, which ensures that a consolidation never loses a line (design.md principle 8).

A line is kept if its words, folded (case, white space, bullets, quoting), occur in any line of the context
after the run. A deleted memory may lose no line, and a run may lose at most `max_loss_percent` of a scope. In
a harvest inbox only the candidates count, not the evidence around them. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Set

from reverie.agents.scopes import COMPANIONS
from reverie.memory.paths import ROOT, parse_memory_path
from reverie.values import Struct

_WORDS = re.compile(r"\w+")


_LEAD = re.compile(r"^\s*(?:description:|[-*+>]|\d+[.)])(?:\s+|$)")


INBOX = "/memories/workspace/harvest/"


_INBOX_NOISE = re.compile(
    r"^(?:---|description:|# Harvest inbox|## |Source boundary:|Summary message:"
    r"|Evidence:|Confidence:|Rationale:)"
)


class LostLine(Struct, frozen=True):
    """A line whose words occur nowhere after the run.

    `path` and `number` (from 1) locate the line in the texts before the run.
    """

    path: str
    number: int


class Retention(Struct, frozen=True):
    """The result of the retention check over a whole run."""

    lost: tuple[LostLine, ...]
    blocked_deletes: tuple[str, ...]
    """The deleted memories of which some lines are not kept elsewhere."""
    loss_percent: Mapping[str, float]
    """Name of the scope -> the share of its lines that were lost, in percent.

    Scopes without a loss are left out. Not every line counts; see `counted_lines`.
    """

    def exceeds(self, max_loss_percent: float) -> bool:
        """Return whether any scope lost more than `max_loss_percent` percent of its lines."""
        return any(loss > max_loss_percent for loss in self.loss_percent.values())


def judge_retention(before: Mapping[str, str], after: Mapping[str, str]) -> Retention:
    """Compare the texts before and after a run, by memory path; return the lines that were lost.

    A line is lost if its words occur in no line of any text after the run. Only texts that differ are
    compared line by line.
    """
    changed = [path for path, text in before.items() if after.get(path) != text]
    # An edited text keeps most of its lines, so exact matches are skipped first.
    asked = {
        path: counted_lines(path, before[path], but=frozenset(after.get(path, "").splitlines()))
        for path in changed
    }
    words = {words for lines in asked.values() for _number, words in lines}
    missing = missing_lines(words, folded_lines(after.values())) if words else set()
    lost = [
        LostLine(path, number) for path, lines in asked.items() for number, words in lines if words in missing
    ]
    lost_paths = {line.path for line in lost}
    return Retention(
        lost=tuple(lost),
        blocked_deletes=tuple(path for path in changed if path not in after and path in lost_paths),
        loss_percent=_loss_percent(before, lost),
    )


def folded_words(line: str) -> str:
    """Return the words of a line in lower case, with one space before, between and after them.

    The result is "" if the line has no words. A leading list marker or `description:` is ignored, because a
    merge may renumber or rewrap a line.
    """
    words = _WORDS.findall(_LEAD.sub("", line).casefold())
    return f" {' '.join(words)} " if words else ""


def lines_kept(texts: Mapping[str, str], others: Iterable[str]) -> frozenset[str]:
    """Return the lines of `texts` (by memory path) whose words also occur in a line of the texts `others`.

    The lines are as `folded_words` returns them.
    """
    words = {words for path, text in texts.items() for _number, words in counted_lines(path, text)}
    return frozenset(words - missing_lines(words, folded_lines(others)))


def lines_by_scope(texts: Mapping[str, str]) -> dict[str, int]:
    """Return the number of lines that count in the retention check (`counted_lines`), by name of the scope.

    `texts`: memory path -> text.
    """
    total: dict[str, int] = {}
    for path, text in texts.items():
        scope = scope_name(path)
        total[scope] = total.get(scope, 0) + len(counted_lines(path, text))
    return total


def folded_lines(texts: Iterable[str]) -> set[str]:
    """Return the distinct lines of some texts, as `folded_words` returns them."""
    return {folded_words(line) for line in {line for text in texts for line in text.splitlines()}}


def missing_lines(asked: Iterable[str], lines: Set[str]) -> set[str]:
    """Return the lines of `asked` whose words do not occur, in sequence, in any of `lines`.

    All lines are in the form that `folded_words` returns.
    """
    left = set(asked) - lines - {""}
    having: dict[str, list[str]] = {word: [] for words in left for word in words.split()}
    for line in lines if left else ():
        for word in having.keys() & line.split():
            having[word].append(line)
    return {
        words
        for words in left
        if not any(words in line for line in min((having[word] for word in words.split()), key=len))
    }


def line_key(line: str) -> str:
    """Return the line without bullets and in lower case, for comparison with lines of other notes."""
    return line.strip(" \t\r-*+>.").casefold()


def is_inbox_noise(path: str, line: str) -> bool:
    """Return whether `line` is text around the candidates in a harvest inbox, not a candidate.

    A harvest inbox is a file with memory candidates that were found in a transcript. `path`: the memory path
    of the file that contains the line.
    """
    return path.startswith(INBOX) and _INBOX_NOISE.match(line) is not None


def counted_lines(path: str, text: str, *, but: Container[str] = ()) -> list[tuple[int, str]]:
    """Return (number from 1, words) of each line of a text that counts in the retention check.

    The words are as `folded_words` returns them. A line does not count if it has no words, if it is one of
    the lines `but`, or if it is text around the candidates in a harvest inbox (`is_inbox_noise`).
    """
    counted = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line in but or is_inbox_noise(path, line):
            continue
        words = folded_words(line)
        if words:
            counted.append((number, words))
    return counted


def _loss_percent(before: Mapping[str, str], lost: Iterable[LostLine]) -> dict[str, float]:
    lost_in: dict[str, int] = {}
    for line in lost:
        scope = scope_name(line.path)
        lost_in[scope] = lost_in.get(scope, 0) + 1
    if not lost_in:
        return {}
    total = lines_by_scope({path: text for path, text in before.items() if scope_name(path) in lost_in})
    return {scope: 100.0 * count / total[scope] for scope, count in lost_in.items()}


def scope_name(path: str) -> str:
    """Return the name of the scope of a memory path, as used in `loss_percent`.

    It is `COMPANIONS` for a path that is not a memory path: that of a companion, a file that the agent loads
    beside its memories.
    """
    if not path.startswith(f"{ROOT}/"):
        return COMPANIONS
    scope = parse_memory_path(path).scope
    return "" if scope is None else scope.value
