"""The relation of two texts: the labelled set, and texts that must never be taken for the same."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import SAMPLES
from reverie.jobs.consolidate.relations import ComparedText, Relation, TextIndex, compare

LABELLED = Path(__file__).parents[3] / "labelled" / "near_duplicates.jsonl"
PAIRS = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]


PLACE = "/memories/project"


def relation(a: str, b: str, *, one: str = "rules.md", other: str = "more-rules.md") -> Relation:
    return compare(ComparedText(f"{PLACE}/{one}", a), ComparedText(f"{PLACE}/{other}", b))


def of_pair(pair: dict[str, Any]) -> Relation:
    return compare(*(ComparedText(**pair[side]) for side in ("a", "b")))


def test_the_labelled_set_is_large_and_has_a_held_out_part() -> None:
    duplicates = sum(pair["duplicate"] for pair in PAIRS)
    assert len(PAIRS) >= 90
    assert duplicates >= 45
    assert len(PAIRS) - duplicates >= 45
    assert sum(pair["held_out"] for pair in PAIRS) >= 45
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("held_out", [False, True])
def test_labelled_pairs_are_told_apart(held_out: bool) -> None:
    """Of 30 pairs that a reader would merge, 27 say the same; of 30 that must stay apart, 2 at most."""
    pairs = [pair for pair in PAIRS if pair["held_out"] is held_out]
    merge = [pair["id"] for pair in pairs if pair["duplicate"]]
    apart = [pair["id"] for pair in pairs if not pair["duplicate"]]
    same = {pair["id"] for pair in pairs if of_pair(pair).says_the_same}
    missed, wrong = set(merge) - same, set(apart) & same
    assert len(missed) <= 0.05 * len(merge), missed
    assert len(wrong) <= 0.07 * len(apart), wrong


def test_no_pair_that_must_stay_apart_is_a_repetition() -> None:
    """Two pairs differ in their front matter alone, which keeps them apart when they would be merged."""
    repeated = {pair["id"] for pair in PAIRS if not pair["duplicate"] and of_pair(pair).is_repetition}
    assert repeated <= {"not-65", "hard-28"}


def test_the_relation_does_not_depend_on_which_text_comes_first() -> None:
    for pair in PAIRS:
        a, b = (ComparedText(**pair[side]) for side in ("a", "b"))
        one, other = compare(a, b), compare(b, a)
        assert (one.kind, one.score, one.is_repetition) == (other.kind, other.score, other.is_repetition)


def test_of_the_sample_home_only_the_two_known_pairs_are_alike() -> None:
    stores = [
        SAMPLES / "mux-home" / "memory" / "global",
        *sorted((SAMPLES / "mux-home" / "memory" / "project").iterdir()),
    ]
    found = set()
    for store in stores:
        texts = [
            ComparedText(file.relative_to(store).as_posix(), file.read_text(encoding="utf-8"))
            for file in sorted(store.rglob("*"))
            if file.is_file() and file.stat().st_size < 50_000
        ]
        for a, b in combinations(texts, 2):
            if compare(a, b).score >= 0.5:
                found.add(frozenset({a.path, b.path}))
    assert found == {
        frozenset({"commit-style.md", "commit-messages.md"}),
        frozenset({"api/v2/pagination/cursors.md", "api/v2/pagination/cursor-notes.md"}),
    }


def test_a_pair_with_one_changed_number_does_not_say_the_same() -> None:
    wrong = set()
    for pair in PAIRS:
        if not pair["duplicate"] or pair["form"].startswith(("subset", "hard: extra", "extra")):
            continue
        a, b = pair["a"], pair["b"]
        body = b["text"].split("\n---\n", 1)[-1]
        numbers = list(re.finditer(r"(?<!^)(?<![\d.])\d+(?![.)] )", body, re.MULTILINE))
        for number in numbers[:2]:
            changed = f"{body[: number.start()]}{int(number[0]) + 7}{body[number.end() :]}"
            text = b["text"][: len(b["text"]) - len(body)] + changed
            found = compare(ComparedText(**a), ComparedText(b["path"], text))
            assert not found.is_repetition, (pair["id"], changed)
            if found.says_the_same:
                wrong.add(pair["id"])
    assert len(wrong) <= 5, wrong


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
    shared = "Shared line about nothing in particular.\n"
    assert not relation(f"{shared}{a}\n", f"{shared}{b}\n").says_the_same


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
    assert relation(a + "\n", b + "\n").says_the_same


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
    assert not relation(a, b, one=one, other=other).says_the_same


@pytest.mark.parametrize("name", ["style-2.md", "style-copy.md", "copy of style.md", "style (1).md"])
def test_names_of_copies_do_not(name: str) -> None:
    a, b = (
        "Answers come first.\nDiffs stay small and tested.\n",
        "Answers come first.\nDiffs stay small, and tested.\n",
    )
    assert relation(a, b, one="style.md", other=name).says_the_same


def test_the_same_body_on_another_day_or_in_another_environment_is_no_duplicate() -> None:
    body = "Nothing broke. Backups are fine.\n"
    for one, other in (
        ("2026-07-01.md", "2026-07-02.md"),
        ("deploy/staging.md", "deploy/production.md"),
        ("services/billing/status.md", "services/search/status.md"),
    ):
        assert not relation(body, body, one=one, other=other).is_repetition
    assert relation(body, body, one="inbox/status.md", other="ops/daily/status-copy.md").is_repetition


def test_placeholders_are_not_duplicates() -> None:
    assert not relation("TODO\n", "TODO\n").is_repetition


def test_a_difference_names_both_statements_and_its_kind() -> None:
    a = "- The worker retries five times.\n- Logs are kept for a month.\n"
    (found,) = relation(a, a.replace("five", "six")).differences
    assert (found.first.line, found.second.line, found.what) == (1, 1, "number")


def test_the_shared_statements_of_two_texts_are_paired() -> None:
    a = "- The worker retries five times.\n- Logs are kept for a month.\n"
    found = relation(a, f"# Worker\n\n- Logs are kept for a month.\n- The cache is warm.\n{a}")
    assert (found.kind, found.score) == ("contained", 1.0)
    assert [(one.line, other.line) for one, other in found.shared] == [(1, 5), (2, 3)]


def test_comparing_can_be_cancelled() -> None:
    def stop() -> None:
        raise TimeoutError

    one, other = (ComparedText(f"{name}.md", f"Some statement of {name}.\n") for name in ("one", "other"))
    with pytest.raises(TimeoutError):
        compare(one, other, stop)


WORDS = [
    f"{a}{b}{c}"
    for a in "bdfgklmnprst"
    for b in ("ar", "el", "in", "or", "un")
    for c in ("da", "ko", "mi", "su", "tel")
]


def crowd(count: int, *, boilerplate: str = "") -> list[str]:
    rng = random.Random(7)
    lines = [[" ".join(rng.choice(WORDS) for _ in range(8)) for _ in range(4)] for _ in range(count)]
    return [boilerplate + "\n".join(each) for each in lines]


def test_reworded_copies_are_found_in_a_crowd() -> None:
    texts = crowd(300)
    texts[250] = "\n".join(reversed(texts[10].split("\n"))).replace(" ", "  ") + " extra words"
    assert list(TextIndex(texts).related_pairs()) == [(10, 250)]


def test_shared_boilerplate_makes_no_pairs() -> None:
    line = "Dashboards are in the usual place and alerts go to the team channel.\n"
    assert list(TextIndex(crowd(200, boilerplate=line * 3)).related_pairs()) == []


def test_pairs_grow_with_the_texts_and_not_with_their_square() -> None:
    for count in (1, 4):
        texts = [
            f"same words in this part of the crowd number{number % 9} number{number % 7} number{number % 5}"
            for number in range(50 * count)
        ]
        assert len(TextIndex(texts).pairs()) <= 20 * len(texts)
