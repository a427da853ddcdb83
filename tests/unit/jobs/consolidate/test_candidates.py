"""Candidate pairs: few, and the right ones among them, whatever the crowd."""

from __future__ import annotations

import random

from reverie.jobs.consolidate.rules.similarity import SplitText, candidate_pairs, no_check

WORDS = [
    f"{a}{b}{c}"
    for a in "bdfgklmnprst"
    for b in ("ar", "el", "in", "or", "un")
    for c in ("da", "ko", "mi", "su", "tel")
]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(8))


def notes(count: int, *, boilerplate: str = "") -> list[str]:
    rng = random.Random(7)
    return [boilerplate + "\n".join(sentence(rng) for _ in range(4)) for _ in range(count)]


def pairs(texts: list[str]) -> list[tuple[int, int]]:
    return [
        (each.first, each.second) for each in candidate_pairs([SplitText(text) for text in texts], no_check)
    ]


def test_reworded_copies_are_found_in_a_crowd() -> None:
    texts = notes(300)
    texts[250] = "\n".join(reversed(texts[10].split("\n"))).replace(" ", "  ") + " extra words"
    assert pairs(texts)[0] == (10, 250)


def test_shared_boilerplate_makes_no_candidates() -> None:
    texts = notes(
        200, boilerplate="Dashboards are in the usual place and alerts go to the team channel.\n" * 3
    )
    assert pairs(texts) == []


def test_notes_with_different_numbers_are_not_looked_at() -> None:
    text = "The gateway listens on port {} and waits for {} seconds before it gives up."
    assert pairs([text.format(1, 2), text.format(3, 2)]) == []
    assert pairs([text.format(1, 2), text.format("one", 2)]) == [(0, 1)]


def test_candidates_grow_with_the_notes_and_not_with_their_pairs() -> None:
    crowd = ["same words in every note of this crowd"] * 50
    for count in (1, 4):
        texts = [f"{text} {number % 7}" for number, text in enumerate(crowd * count)]
        assert len(pairs(texts)) <= 5 * len(texts)
