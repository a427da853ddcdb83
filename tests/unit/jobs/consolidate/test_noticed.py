"""What a model points out: nothing it says is trusted, and it counts while both lines stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reverie.agents.scopes import ScopeContext
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.overlay import MOST_OF_ONE_RUN, NoticedLog, NoticedPair, PairsNoticed

ONE, TWO = "/memories/project/queue.md", "/memories/workspace/plan.md"
TEXTS = {
    ONE: "# Queue\n\n- Jobs are  handled one by one, in the request.\n- Retries: 3\n",
    TWO: "# Plan\n\n- [x] Jobs go to a worker in the background\n- Retries: 3\n",
}
HERE = ScopeContext("ws-1", "/src/app")


def said(**more: str) -> dict[str, str]:
    return {
        "what": "overtaken",
        "first_path": ONE,
        "first_line": "Jobs are handled one by one, in the request.",
        "second_path": TWO,
        "second_line": "- [x] Jobs go to a worker in the background",
        "why": "The worker is done.",
        **more,
    }


def pointed_out(*pairs: dict[str, str]) -> tuple[PairsNoticed, Any]:
    noticed = PairsNoticed(TEXTS)
    return noticed, noticed.tool.call({"pairs": list(pairs)})


def test_a_pair_is_kept_with_the_whole_lines_it_quotes() -> None:
    noticed, outcome = pointed_out(said())
    assert not outcome.is_error
    assert noticed.pairs == (
        NoticedPair(
            "superseded",
            (ONE, TWO),
            (
                "- Jobs are handled one by one, in the request.",
                "- [x] Jobs go to a worker in the background",
            ),
            "The worker is done.",
        ),
    )
    assert noticed.pairs[0].lines_in(TEXTS) == (3, 3)


@pytest.mark.parametrize("quote", ["  3\t- Retries: 3", "- Retries: 3", "Retries: 3"])
def test_a_line_may_be_quoted_with_its_number_or_in_part(quote: str) -> None:
    noticed, _outcome = pointed_out(said(what="same", first_line=quote, second_line=quote))
    assert noticed.pairs[0].quotes == ("- Retries: 3", "- Retries: 3")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"first_line": "Jobs are never handled."}, f"No line of {ONE} holds these words"),
        ({"first_line": "Jobs"}, f"No line of {ONE} holds these words"),
        ({"first_line": ""}, f"No line of {ONE} holds these words"),
        ({"second_path": "/memories/global/other.md"}, "/memories/global/other.md is none of the notes."),
        ({"second_path": ONE}, "It needs two different notes."),
    ],
)
def test_what_does_not_stand_in_the_notes_is_refused_with_the_reason(
    wrong: dict[str, str], reason: str
) -> None:
    noticed, outcome = pointed_out(said(**wrong), said(what="disagree"))
    assert outcome.is_error
    assert f"Pair 1: {reason}" in outcome.content
    assert [pair.kind for pair in noticed.pairs] == ["contradiction"], "the others are kept"


def test_a_pair_said_again_counts_once_and_a_run_has_its_limit() -> None:
    noticed, _outcome = pointed_out(said(), said())
    assert len(noticed.pairs) == 1
    many = [said(why=str(number)) for number in range(MOST_OF_ONE_RUN + 5)]
    noticed, outcome = pointed_out(*many)
    assert len(noticed.pairs) == MOST_OF_ONE_RUN
    assert outcome.is_error


def test_a_pair_counts_while_both_lines_stand() -> None:
    noticed, _outcome = pointed_out(said())
    pair = noticed.pairs[0]
    moved = {**TEXTS, ONE: "new first line\n" + TEXTS[ONE]}
    assert pair.lines_in(moved) == (4, 3)
    assert pair.lines_in({**TEXTS, ONE: TEXTS[ONE].replace("one by one", "in turn")}) is None
    assert pair.lines_in({ONE: TEXTS[ONE]}) is None


def test_what_was_noticed_is_kept_for_the_memories_it_was_seen_in(tmp_path: Path) -> None:
    def kept() -> Sidecar:
        return Sidecar(tmp_path / "noticed.json", lock_dir=tmp_path, clock=lambda: 0)

    log = NoticedLog(kept)
    noticed, _outcome = pointed_out(said())
    log.add(HERE, noticed.pairs)
    log.add(HERE, noticed.pairs)
    assert log.of(HERE) == list(noticed.pairs)
    assert log.of(ScopeContext("ws-2", "/src/app")) == []
    assert log.of(ScopeContext("ws-1", "/src/other")) == []
    both = NoticedPair("near-duplicate", ("/memories/global/a.md", "/memories/global/b.md"), ("x", "y"), "")
    log.add(HERE, [both])
    assert log.of(ScopeContext("ws-2", "/src/other")) == [both], "global memory is everybody's"


def test_what_another_version_kept_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "noticed.json"
    file.write_text(json.dumps({"pairs": [{"kind": "omen"}, 3, {"paths": ["a"], "quotes": []}]}))
    log = NoticedLog(lambda: Sidecar(file, lock_dir=tmp_path, clock=lambda: 0))
    assert log.of(HERE) == []
