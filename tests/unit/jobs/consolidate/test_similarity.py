"""The judgement of near-duplicates: the labelled set, and what it must never take for the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import SAMPLES
from reverie.jobs.consolidate.rules.reading import read_note
from reverie.jobs.consolidate.rules.similarity import compare, judge, no_check, same_body

LABELLED = Path(__file__).parents[3] / "labelled" / "near_duplicates.jsonl"
PAIRS = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Note:
    path: str
    text: str


def note(text: str, path: str = "/memories/project/rules.md") -> Note:
    return Note(path, text)


def both(pair: dict[str, Any]) -> tuple[Note, Note]:
    return Note(**pair["a"]), Note(**pair["b"])


def is_duplicate(a: str, b: str) -> bool:
    return judge(note(a), note(b, "/memories/project/more-rules.md")).duplicate


def test_the_labelled_set_is_large_and_has_a_held_out_part() -> None:
    duplicates = sum(pair["duplicate"] for pair in PAIRS)
    assert len(PAIRS) >= 90
    assert duplicates >= 45
    assert len(PAIRS) - duplicates >= 45
    assert sum(pair["held_out"] for pair in PAIRS) >= 45
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("held_out", [False, True])
def test_every_labelled_pair_is_judged_as_labelled(held_out: bool) -> None:
    wrong = [
        (pair["id"], pair["form"], verdict)
        for pair in PAIRS
        if pair["held_out"] is held_out and (verdict := judge(*both(pair))).duplicate != pair["duplicate"]
    ]
    assert wrong == []


def test_the_judgement_does_not_depend_on_which_note_comes_first() -> None:
    for pair in PAIRS:
        a, b = both(pair)
        assert judge(a, b).duplicate == judge(b, a).duplicate, pair["id"]


def test_of_the_sample_home_only_the_two_known_pairs_are_duplicates() -> None:
    stores = [
        SAMPLES / "mux-home" / "memory" / "global",
        *sorted((SAMPLES / "mux-home" / "memory" / "project").iterdir()),
    ]
    found = set()
    for store in stores:
        notes = [
            Note(file.relative_to(store).as_posix(), file.read_text(encoding="utf-8"))
            for file in sorted(store.rglob("*"))
            if file.is_file() and file.stat().st_size < 50_000
        ]
        readings = [(each, read_note(each)) for each in notes]
        for (a, of_a), (b, of_b) in combinations(readings, 2):
            if compare(of_a, of_b, no_check, same_body=same_body(a.text, b.text)).duplicate:
                found.add(frozenset({a.path, b.path}))
    assert found == {
        frozenset({"commit-style.md", "commit-messages.md"}),
        frozenset({"api/v2/pagination/cursors.md", "api/v2/pagination/cursor-notes.md"}),
    }


def test_a_duplicate_with_one_changed_number_is_none() -> None:
    for pair in PAIRS:
        if not pair["duplicate"] or pair["form"].startswith(("subset", "hard: extra", "extra")):
            continue
        a, b = both(pair)
        body = b.text.split("\n---\n", 1)[-1]
        numbers = list(re.finditer(r"(?<!^)(?<![\d.])\d+(?![.)] )", body, re.MULTILINE))
        for number in numbers[:2]:
            changed = f"{body[: number.start()]}{int(number[0]) + 7}{body[number.end() :]}"
            text = b.text[: len(b.text) - len(body)] + changed
            assert not judge(a, Note(b.path, text)).duplicate, (pair["id"], changed)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Merge small changes into main by hand.", "Never merge small changes into main by hand."),
        ("Deploys run from main after the smoke test.", "Deploys run from release after the smoke test."),
        ("The worker retries five times with a pause.", "The worker retries six times with a pause."),
        ("Cache pages for 30 s on the edge nodes.", "Cache pages for 30 min on the edge nodes."),
        ("Ship on Monday when the board is green.", "Ship on Friday when the board is green."),
        ("Use pnpm instead of npm in all packages.", "Use npm instead of pnpm in all packages."),
        ("Admins must approve each new tenant.", "Admins may approve each new tenant."),
        ("Orders are copied from Berlin to Lyon hourly.", "Orders are copied from Lyon to Berlin hourly."),
        ("The gateway calls the planner over gRPC.", "The planner calls the gateway over gRPC."),
        ("Priya signs the release notes in the end.", "Noor signs the release notes in the end."),
        ("- [x] rotate the signing keys of staging", "- [ ] rotate the signing keys of staging"),
        ("Logs of the importer are kept on disk.", "Logs of the importer were kept on disk until May."),
        ("Search results are cached at the edge.", "Search results are excluded from caching at the edge."),
        ("Should uploads be scanned before storage?", "Uploads should be scanned before storage."),
        ("We will move the docs to the new host.", "We move the docs to the new host."),
        ("## Staging\n- port 8080 and two replicas", "## Production\n- port 8080 and two replicas"),
        ("~~Format the code with black and isort.~~", "Format the code with black and isort."),
        ("host: alpha.example.test\nuser: reader", "host: beta.example.test\nuser: reader"),
    ],
)
def test_what_differs_in_substance_is_no_duplicate(a: str, b: str) -> None:
    assert not is_duplicate(
        f"Shared line about nothing in particular.\n{a}\n", f"Shared line about nothing in particular.\n{b}\n"
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "Retry at most 3 times, then give up after 30 seconds.",
            "Retry max three times, then give up after 30s.",
        ),
        (
            "Never commit secrets to any public repository.",
            "Secrets must never be committed to any public repository.",
        ),
        ("Before merging, run the whole test suite.", "Run the whole test suite before merging."),
        ("Conflicts are resolved by the server alone.", "The server alone resolves conflicts."),
        ("The `limit` defaults to 50 entries per page.", "limit default: 50 entries per page"),
    ],
)
def test_other_wordings_of_the_same_are_duplicates(a: str, b: str) -> None:
    assert is_duplicate(a + "\n", b + "\n")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("events.md", "events-v2.md"),
        ("v1/events.md", "v2/events.md"),
        ("deploy.md", "deploy-staging.md"),
        ("testing.md", "testing-old.md"),
        ("people/anna.md", "people/bert.md"),
        ("notes-2024.md", "notes-2026.md"),
        ("sprint-12.md", "sprint-13.md"),
        ("db/postgres.md", "db/redis.md"),
    ],
)
def test_names_that_name_another_subject_keep_alike_notes_apart(one: str, other: str) -> None:
    a, b = (
        "Answers come first.\nDiffs stay small and tested.\n",
        "Answers come first.\nDiffs stay small, and tested.\n",
    )
    assert not judge(note(a, f"/memories/project/{one}"), note(b, f"/memories/project/{other}")).duplicate


@pytest.mark.parametrize("name", ["style-2.md", "style-copy.md", "copy of style.md", "style (1).md"])
def test_names_of_copies_do_not(name: str) -> None:
    a, b = (
        "Answers come first.\nDiffs stay small and tested.\n",
        "Answers come first.\nDiffs stay small, and tested.\n",
    )
    assert judge(note(a, "/memories/project/style.md"), note(b, f"/memories/project/{name}")).duplicate


def test_the_same_body_on_another_day_or_in_another_environment_is_no_duplicate() -> None:
    body = "Nothing broke. Backups are fine.\n"
    for one, other in (
        ("2026-07-01.md", "2026-07-02.md"),
        ("deploy/staging.md", "deploy/production.md"),
        ("services/billing/status.md", "services/search/status.md"),
    ):
        assert not judge(note(body, one), note(body, other)).duplicate
    assert judge(note(body, "inbox/status.md"), note(body, "ops/daily/status-copy.md")).duplicate


def test_front_matter_that_disagrees_keeps_notes_apart() -> None:
    body = "Writes CSV and Parquet files. Runs hourly.\n"
    assert not is_duplicate(f"---\nowner: Kim\n---\n{body}", f"---\nowner: Lee\n---\n{body}")
    assert is_duplicate(f"---\nowner: Kim\n---\n{body}", f"---\ntags: [a]\n---\n{body}")


def test_placeholders_are_not_duplicates() -> None:
    assert not is_duplicate("TODO\n", "TODO\n")


def test_reasons_quote_no_memory_text() -> None:
    a = "The vault password is hunter2xyz and the port of moonbase is 4711.\n"
    b = "The vault password is swordfish9 and the port of moonbase is 4712.\n"
    for verdict in (judge(note(a), note(b)), judge(note(a), note(a + "x\n"))):
        assert verdict.reasons
        assert not any(
            word in reason for reason in verdict.reasons for word in ("hunter", "sword", "4711", "moon")
        )


def test_judging_can_be_cancelled() -> None:
    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        judge(note("Some statement that says a thing.\n"), note("Some statement that says a thing!\n"), stop)
