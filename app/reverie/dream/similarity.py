"""Whether two notes say the same: conservative, explainable, without a model.

Statements of the smaller note are looked for in the other one after folding wording, spelling and units
(`folding`, `wording`, `alignment`). The score is the share of the smaller note that is found. Then every
doubt is a veto (`subjects`, `conflicts`, `word_order`): numbers, identifiers, names, negations, antonyms,
versions, environments, states, order. A missed duplicate costs a line in a list; a wrong merge would cost
trust, so unknown words count as differences.

Pure; `check` is called every few statements and may raise to cancel. `rapidfuzz` is loaded at the first
judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from reverie.dream.alignment import Alignment, align, match_wordings
from reverie.dream.conflicts import statement_conflicts
from reverie.dream.reading import NoteLike, Reading, Statement, read_note
from reverie.dream.subjects import is_known, subject_conflicts
from reverie.memory import frontmatter

# The share of the smaller note that must be found in the other one; more when the other one is much larger,
# since then less stands behind the belief that they have one subject.
THRESHOLD = 0.8
SUBSET_THRESHOLD = 0.9
_SUBSET_RATIO = 0.45
# Notes that say less than about four words cannot be told apart well enough.
_LEAST_WEIGHT = 3.5
# Statements this much alike are the same statement twice.
_AGREED = 0.9
_FEW = 20
_SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` is the share of the smaller note found in the other one (0 to 1), whatever vetoes say;
    `reasons` are for people and quote no memory text."""

    duplicate: bool
    score: float
    reasons: tuple[str, ...]


def no_check() -> None:
    """For callers that never cancel."""


def judge(a: NoteLike, b: NoteLike, check: Callable[[], None] = no_check) -> Verdict:
    """Whether the two notes are duplicates. Symmetric."""
    return compare(read_note(a, check), read_note(b, check), check, same_body=same_body(a.text, b.text))


def same_body(a: str, b: str) -> bool:
    """Whether the bodies are equal but for white space, blank lines and line ends; empty ones never are."""
    folded = folded_body(a)
    return bool(folded) and folded == folded_body(b)


def folded_body(text: str) -> str:
    """A body for comparing: white space runs folded, blank lines dropped."""
    block = frontmatter.split(text)
    body = text[block.body_start :] if block is not None else text
    return "\n".join(" ".join(line.split()) for line in body.split("\n") if line.strip())


def compare(a: Reading, b: Reading, check: Callable[[], None], *, same_body: bool = False) -> Verdict:
    """`judge` for notes already taken apart."""
    vetoes = list(subject_conflicts(a, b, same_body=same_body))
    if same_body:
        if a.is_placeholder:
            vetoes.append("they hold nothing but a placeholder")
        return _verdict(1.0, vetoes, "their bodies are the same")
    small, large = sorted((a, b), key=lambda reading: (reading.weight, len(reading.statements), reading.said))
    if small.weight < _LEAST_WEIGHT:
        return Verdict(False, 0.0, ("one of them says too little to tell",))
    if vetoes:
        return _verdict(0.0, vetoes, "")
    found = align(small.statements, large.statements, check)
    threshold = SUBSET_THRESHOLD if small.weight < _SUBSET_RATIO * large.weight else THRESHOLD
    if found.score < threshold:
        return Verdict(False, found.score, (f"only {found.score:.0%} of one is found in the other",))
    if not _is_evidence(small, large, found):
        return Verdict(False, found.score, ("what they share stands in many notes",))
    vetoes += islice(_content_vetoes(small, large, found, check), _SHOWN_REASONS)
    kept = f"{len(found.kept)} of {len(small.statements)} statements are found in the other note"
    return _verdict(found.score, vetoes, kept)


def _is_evidence(small: Reading, large: Reading, found: Alignment) -> bool:
    """Whether the two share enough besides boilerplate; two notes of which neither says more need no such
    proof."""
    linked = {link.large for link in found.links}
    more = [each for number, each in enumerate(large.statements) if number not in linked]
    says_no_more = len(found.kept) == len(small.statements) and len(more) <= _FEW
    if says_no_more and all(any(_is_said_by(each, other) for other in small.statements) for each in more):
        return True
    own = [(number, each.wording.weight) for number, each in enumerate(small.statements) if not each.common]
    shared = sum(weight for number, weight in own if number in found.kept)
    return shared >= _LEAST_WEIGHT and shared >= THRESHOLD * sum(weight for _number, weight in own)


def _is_said_by(a: Statement, b: Statement) -> bool:
    return match_wordings(a.wording, b.wording).weight >= _AGREED * a.wording.weight


def _content_vetoes(
    small: Reading, large: Reading, found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    yield from statement_conflicts(small.statements, large.statements, found, check)
    yield from _stated_contradictions(small, large, found)
    if small.weight < _SUBSET_RATIO * large.weight and not _shares_subject(small, large):
        yield "the larger one does not mention the subject of the smaller one"


def _stated_contradictions(small: Reading, large: Reading, found: Alignment) -> Iterator[str]:
    """A statement that something is outdated or contradicted, unless both notes make it."""
    agreed = [
        link
        for link in found.links
        if link.match.dice >= _AGREED
        and small.statements[link.small].contradiction
        and large.statements[link.large].contradiction
    ]
    agreed_small, agreed_large = {link.small for link in agreed}, {link.large for link in agreed}
    for statements, said_by_both in ((small.statements, agreed_small), (large.statements, agreed_large)):
        for number, statement in enumerate(statements):
            if statement.contradiction and number not in said_by_both:
                yield f"line {statement.line} of one says that something does not hold"


def _shares_subject(small: Reading, large: Reading) -> bool:
    return any(is_known(each, large) for each in small.head if len(each) > 2 or not each.isascii())


def _verdict(score: float, vetoes: list[str], otherwise: str) -> Verdict:
    if vetoes:
        return Verdict(False, score, tuple(dict.fromkeys(vetoes))[:_SHOWN_REASONS])
    return Verdict(True, score, (otherwise,))
