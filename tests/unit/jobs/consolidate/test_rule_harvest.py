"""Harvest inboxes: dropped only when every candidate has been taken over."""

from __future__ import annotations

import pytest

from reverie.jobs.consolidate.rules.inbox import KnownTexts, candidates_of
from reverie.memory.listing import no_check

HEAD = (
    "---\ndescription: Harvested memory candidates for compaction 1\n---\n\n# Harvest inbox: compaction 1\n\n"
    "Source boundary: summary-1\nSummary message: summary-1\n\n"
)


def inbox(*texts: str) -> str:
    entries = (
        f"## project\n\n{text}\n\nEvidence: user-1, user-2\nConfidence: 0.95\nRationale: Said so.\n"
        for text in texts
    )
    return HEAD + "\n".join(entries)


def holds(candidate: str, *notes: str, path: str = "/memories/global/n{}.md") -> bool:
    known = KnownTexts({path.format(number): text for number, text in enumerate(notes)}, no_check)
    return known.holds(candidate)


def test_candidates_are_read_as_the_agent_writes_them() -> None:
    assert candidates_of(inbox("Never retry a 409.", "Two\nlines.\n\nAnd more.")) == (
        "Never retry a 409.",
        "Two\nlines.\n\nAnd more.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD,
        inbox("One thing.") + "\nA line by hand.\n",
        inbox("One thing.").replace("Said so.", "Said so.\nA line by hand."),
        inbox("One thing.").replace("## project", "## mine"),
        inbox("One thing.", "Two things.").replace("Confidence: 0.95\n", "", 1),
        "# Harvest inbox\n\n- one\n",
    ],
)
def test_an_inbox_of_another_form_has_no_candidates(text: str) -> None:
    assert candidates_of(text) == ()


def test_a_candidate_within_a_line_of_a_note_is_contained() -> None:
    assert holds(
        "Clients must never retry a 409.", "- clients must never retry a `409`, automatically or by hand\n"
    )


@pytest.mark.parametrize(
    ("candidate", "note"),
    [
        ("Use tabs.", "Do not use tabs.\n"),
        ("Deploy from main on Mondays.", "Maybe deploy from main on Mondays.\n"),
        ("Staging deploys from main.", "Outdated: staging deploys from main.\n"),
        ("Merge on green only.", "## Rejected\n- merge on green only\n"),
        ("Retry a stale version.", "Never: retry a stale version.\n"),
        ("Two lines of it.\nSecond line here.", "Two lines of it.\n"),
        ("Cache pages for long.", "Cache pages for long until May.\n"),
        ("Run it.", "Run it twice.\n"),
    ],
)
def test_a_line_that_takes_it_back_or_says_more_or_less_does_not_contain_it(
    candidate: str, note: str
) -> None:
    assert not holds(candidate, note)


def test_all_lines_of_a_candidate_must_stand_in_one_note() -> None:
    assert not holds("First line of it.\nSecond line here.", "First line of it.\n", "Second line here.\n")
    assert holds("First line of it.\nSecond line here.", "Second line here.\nFirst line of it.\n")


def test_a_note_of_old_things_does_not_count() -> None:
    assert not holds("Never retry a 409.", "Never retry a 409.\n", path="/memories/global/old-{}.md")
