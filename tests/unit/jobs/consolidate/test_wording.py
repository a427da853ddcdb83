"""Statements as tokens: what is folded, what is marked."""

from __future__ import annotations

import pytest

from reverie.jobs.consolidate.rules.wording import read_wording, word


def canons(text: str) -> list[tuple[str, str]]:
    return [(token.canon, token.unit) for token in read_wording(text).tokens]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("24h", "24 hours"),
        ("ten minutes", "10 min"),
        ("an hour", "1 h"),
        ("50 %", "50 percent"),
        ("14 July 2026", "2026-07-14"),
        ("1,000 files", "1000 files"),
        ("no more than 5", "at most 5"),
        ("max. 5", "maximum of 5"),
        ("don't merge", "do not merge"),
        ("rotated keys", "rotate key"),
        ("**bold** word", "bold word"),
        ("`limit` here", "limit here"),
        ("30 Sekunden", "30 seconds"),
        ("colours", "color"),
    ],
)
def test_what_means_the_same_reads_the_same(a: str, b: str) -> None:
    assert canons(a) == canons(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("30 s", "30 min"),
        ("v1", "v2"),
        ("50 EUR", "50 USD"),
        ("at most 5", "at least 5"),
        ("02:00 UTC", "02:00 CET"),
    ],
)
def test_what_differs_reads_differently(a: str, b: str) -> None:
    assert canons(a) != canons(b)


def negated(text: str) -> set[str]:
    return {token.canon for token in read_wording(text).tokens if token.negated}


def test_a_negation_reaches_to_the_end_of_its_clause() -> None:
    assert negated("Use spaces, not tabs, in Makefiles") == {word("tabs")}
    assert word("secrets") in negated("Never commit secrets")
    assert negated("dark mode: no") == {word("dark"), word("mode")}
    assert negated("instead of grep") == {"grep"}


def test_two_negations_cancel_each_other() -> None:
    assert word("review") not in negated("never merge without review")


def test_kinds_of_token() -> None:
    kinds = {
        token.canon: token.kind
        for token in read_wording("Ask Priya why `retry_limit` is 5 in ACME-12.").tokens
    }
    assert kinds["priya"] == "name"
    assert kinds["retry_limit"] == "identifier"
    assert kinds["acme-12"] == "identifier"
    assert kinds["#5"] == "number"


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Is it so?", "question"),
        ("We will move.", "future"),
        ("It used to run.", "former"),
        ("Maybe so.", "hedge maybe"),
    ],
)
def test_marks(text: str, mark: str) -> None:
    assert mark in read_wording(text).marks


def test_code_is_taken_literally() -> None:
    assert [token.canon for token in read_wording("deletes -v", code=True).tokens] == ["deletes", "-v"]
