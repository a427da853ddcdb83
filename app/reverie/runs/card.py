"""The report card of a consolidation: how many facts it preserved, changed, invented or lost.

`jobs.consolidate.card` computes a card, and the run's record stores it as JSON. Values are frozen, cheap to
import and safe to pass between threads and processes. Stored data that this version does not understand
counts as no card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from reverie.values import Struct, as_dict, columns, field

What = Literal["number", "version", "name", "negation", "certainty", "merged", "generalised", "place"]
"""The way in which a fact changed its meaning.

- `number`, `version`, `name`: another value
- `negation`: the opposite
- `certainty`: another degree of certainty
- `merged`: values of two facts combined as if they belonged to one
- `generalised`: a condition or detail is missing
- `place`: the new section changes the meaning of the statement
"""


KEPT_PERCENT = 99.0
"""The share of facts, in percent, that a run must preserve to be applied without a review by a person."""


_LISTED = 200
"""The largest number of items of each kind that a record stores; the counts cover all items."""


class ChangedFact(Struct, frozen=True):
    """A fact (a statement in a memory) whose meaning changed.

    `before`, `after`: its text before and after the run; `what`: the kind of change, such as `number` or
    `negation`. `path` and `line` (from 1) locate the fact before the run, `new_path` and `new_line` after it.
    """

    path: str
    line: int
    before: str
    after: str
    what: What
    new_path: str = ""
    new_line: int = 0


class PlacedFact(Struct, frozen=True):
    """A fact (a statement in a memory) and its location; `line` counts from 1.

    The location is before the run for a lost fact, and after the run for an invented one or for one that a
    session no longer loads at its start.
    """

    path: str
    line: int
    text: str


class BrokenLink(Struct, frozen=True):
    """A link in a memory whose target does not exist after the run.

    Either the target existed before the run, or the link is new. `path` and `line` (from 1) locate the link
    after the run.
    """

    path: str
    line: int
    target: str


class BeforeAfter(Struct, frozen=True):
    """A number before and after a run, such as the number of contradictions among the memories."""

    before: int = 0
    after: int = 0

    @property
    def more(self) -> int:
        """The increase from `before` to `after`; negative for a decrease."""
        return self.after - self.before


class CardCounts(Struct, frozen=True):
    """The figures of a consolidation's report card that are shown in one line.

    A fact is a statement in a memory.
    """

    facts: int = 0
    kept: int = 0
    changed: int = 0
    invented: int = 0
    below_cut: int = 0
    """The number of facts that a session no longer loads at its start."""
    contradictions: int = 0
    """The increase in contradictions; negative for a decrease."""
    broken_links: int = 0
    tokens: int = 0
    """The increase in tokens; negative for a decrease."""
    stale: int = 0
    """The increase in statements that are no longer true; negative for a decrease."""

    @property
    def fails(self) -> bool:
        """Whether a person has to review the result before it can be applied.

        True if a fact was changed or invented, or if less than `KEPT_PERCENT` percent of the facts were kept.
        """
        return self.kept * 100.0 < KEPT_PERCENT * self.facts or self.changed > 0 or self.invented > 0


class ReportCard(Struct, frozen=True):
    """The report card of a consolidation: which facts it kept, changed, invented or lost.

    A fact is a statement in a memory; `facts` and `kept` are numbers of facts.
    """

    facts: int = 0
    kept: int = 0
    changed: tuple[ChangedFact, ...] = ()
    invented: tuple[PlacedFact, ...] = ()
    lost: tuple[PlacedFact, ...] = ()
    below_cut: tuple[PlacedFact, ...] = ()
    """The facts that a session no longer loads at its start."""
    contradictions: BeforeAfter = field(default_factory=BeforeAfter)
    broken_links: tuple[BrokenLink, ...] = ()
    tokens: BeforeAfter = field(default_factory=BeforeAfter)
    """The size of the texts that a session loads at its start."""
    stale: BeforeAfter = field(default_factory=BeforeAfter)
    """The number of statements that are no longer true according to their repository."""

    @property
    def counts(self) -> CardCounts:
        """The figures of this card that are shown in one line."""
        return CardCounts(
            self.facts,
            self.kept,
            len(self.changed),
            len(self.invented),
            len(self.below_cut),
            self.contradictions.more,
            len(self.broken_links),
            self.tokens.more,
            self.stale.more,
        )

    @property
    def fails(self) -> bool:
        """Whether a person has to review the result before it can be applied.

        True if a fact was changed or invented, or if less than `KEPT_PERCENT` percent of the facts were kept.
        """
        return self.counts.fails

    def as_json(self) -> dict[str, Any]:
        """Return the card in its stable JSON format, for scripts and for the run's record."""
        return {
            "facts": self.facts,
            "kept": self.kept,
            "changed": [
                columns(each, "path line before after what new_path new_line")
                for each in self.changed[:_LISTED]
            ],
            "invented": _listed(self.invented),
            "lost": _listed(self.lost),
            "belowCut": _listed(self.below_cut),
            "contradictions": as_dict(self.contradictions),
            "brokenLinks": _listed(self.broken_links),
            "tokens": as_dict(self.tokens),
            "stale": as_dict(self.stale),
        }


def _listed(found: Sequence[PlacedFact | BrokenLink]) -> list[dict[str, Any]]:
    return [as_dict(each) for each in found[:_LISTED]]


def card_from_json(data: object) -> ReportCard | None:
    """Return the report card that `ReportCard.as_json` made into `data`; None if `data` is anything else."""
    if not isinstance(data, Mapping):
        return None
    try:
        return ReportCard(
            int(data["facts"]),
            int(data["kept"]),
            tuple(_changed(each) for each in data["changed"]),
            tuple(map(_placed, data["invented"])),
            tuple(map(_placed, data["lost"])),
            tuple(map(_placed, data["belowCut"])),
            _pair(data["contradictions"]),
            tuple(
                BrokenLink(str(each["path"]), int(each["line"]), str(each["target"]))
                for each in data["brokenLinks"]
            ),
            _pair(data["tokens"]),
            _pair(data["stale"]) if "stale" in data else BeforeAfter(),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _changed(each: Mapping[str, Any]) -> ChangedFact:
    what: What = each["what"] if each["what"] in get_args(What) else "generalised"
    return ChangedFact(
        str(each["path"]),
        int(each["line"]),
        str(each["before"]),
        str(each["after"]),
        what,
        str(each.get("newPath", "")),
        int(each.get("newLine", 0)),
    )


def _placed(each: Mapping[str, Any]) -> PlacedFact:
    return PlacedFact(str(each["path"]), int(each["line"]), str(each["text"]))


def _pair(each: Mapping[str, Any]) -> BeforeAfter:
    return BeforeAfter(int(each["before"]), int(each["after"]))


def sentence(counts: CardCounts) -> str:
    """Return the counts of a report card in one line, for commands and records.

    Example: `kept 212 of 212 facts, 1 changed, 3 contradictions fewer, -840 tokens`.
    """
    parts = [f"kept {counts.kept:,} of {counts.facts:,} facts"]
    for count, words in (
        (counts.changed, "changed"),
        (counts.invented, "without a source"),
        (counts.below_cut, "below the cut"),
        (counts.broken_links, "broken links" if counts.broken_links > 1 else "broken link"),
    ):
        if count:
            parts.append(f"{count:,} {words}")
    if counts.contradictions:
        way = "more" if counts.contradictions > 0 else "fewer"
        number = abs(counts.contradictions)
        parts.append(f"{number} {'contradiction' if number == 1 else 'contradictions'} {way}")
    if counts.stale:
        parts.append(f"{abs(counts.stale):,} stale {'more' if counts.stale > 0 else 'fewer'}")
    if counts.tokens:
        parts.append(f"{counts.tokens:+,} tokens")
    return ", ".join(parts)
