"""The plan of a dream by rules: each rule and its negative, and what holds for every plan."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from helpers.samples import SAMPLES
from reverie.agents.scopes import Caps
from reverie.claims.checking import CheckedClaim, ClaimState
from reverie.claims.finding import ClaimKind
from reverie.jobs.consolidate.rules.descriptions import with_description
from reverie.jobs.consolidate.rules.plan import NO_CHANGES, Note, PlannedGroup, RulesPlan, plan
from reverie.jobs.consolidate.rules.reading import fold_line
from reverie.memory import front_matter as frontmatter
from reverie.runs.retention import judge_retention
from reverie.values import replace

CAPS = Caps(102_400, 1000, 200, 4096, 2)
DESCRIBED = "---\ndescription: Something said\n---\n"
STYLE = (
    f"{DESCRIBED}\n- Answers come first, details after.\n- Diffs stay small and tested.\n"
    "- Ask before adding a dependency.\n"
)
RESTYLED = STYLE.replace("Answers come", "**Answers** come").replace("- Diffs stay", "* Diffs stay")
MORE = RESTYLED.replace("- Ask before", "- Say what was left out.\n- Ask before")
PARAPHRASED = STYLE.replace(
    "Answers come first, details after", "Begin with the answer; details come after it"
)


def note(rel: str, text: str, **known: Any) -> Note:
    return Note(f"/memories/{rel}", text, **known)


def run(*notes: Note, budget: int = 8, caps: Caps = CAPS) -> RulesPlan:
    return plan(notes, budget=budget, caps=caps)


def kinds(result: RulesPlan) -> list[str]:
    return [group.kind for group in result.groups]


def apply(texts: dict[str, str], group: PlannedGroup) -> None:
    """The six commands' rules, as far as plans use them (formats/mux.md section 6)."""
    for operation in group.operations:
        text, arguments = texts[operation.path], operation.arguments
        if operation.command == "delete":
            assert not arguments
            del texts[operation.path]
        elif operation.command == "str_replace":
            old = arguments["old_str"]
            assert old
            assert sum(text.startswith(old, at) for at in range(len(text))) == 1
            texts[operation.path] = text.replace(old, arguments["new_str"], 1)
        else:
            assert operation.command == "insert"
            pieces, at = (text.split("\n") if text else []), arguments["insert_line"]
            assert 0 <= at <= len(pieces)
            added = arguments["insert_text"]
            added = added[:-1] if added.endswith("\n") else added
            texts[operation.path] = "\n".join([*pieces[:at], added, *pieces[at:]])


def result_of(result: RulesPlan, *notes: Note) -> dict[str, str]:
    texts = {each.path: each.text for each in notes}
    for group in result.groups:
        apply(texts, group)
    return texts


# --- duplicates


@pytest.mark.parametrize(
    ("written", "merged"),
    [((1, 2), False), ((2, 1), True), ((None, None), True), ((1, None), True), ((None, 2), True)],
    ids=["later", "earlier", "unknown", "only one known", "only the other known"],
)
def test_a_line_that_the_later_note_took_out_is_not_brought_back(
    written: tuple[int | None, int | None], merged: bool
) -> None:
    one, other = (
        note("global/style.md", MORE, last_write_at=written[0]),
        note("global/s.md", RESTYLED, last_write_at=written[1]),
    )
    assert ("contained" in kinds(run(one, other))) == merged


def test_a_later_note_that_says_only_a_part_of_another_goes_into_it() -> None:
    more = "- A commit says why.\n- Tests come with the change.\n"
    one, other = (
        note("global/style.md", MORE + more, last_write_at=1),
        note("global/s.md", RESTYLED, last_write_at=2),
    )
    assert kinds(run(one, other)) == ["contained"]


def test_an_exact_duplicate_goes_and_the_better_named_one_stays() -> None:
    notes = note("global/style.md", STYLE), note("global/style-copy.md", STYLE.replace("\n", "\r\n"))
    result = run(*notes)
    assert kinds(result) == ["exact"]
    assert result_of(result, *notes) == {"/memories/global/style.md": STYLE}


def test_a_note_that_has_all_of_another_takes_its_place_and_nothing_is_said_twice() -> None:
    notes = note("global/style.md", STYLE), note("global/style-notes.md", MORE)
    result = run(*notes)
    assert kinds(result) == ["contained"]
    assert [operation.command for operation in result.groups[0].operations] == ["str_replace", "delete"]
    assert result_of(result, *notes) == {"/memories/global/style.md": MORE}


@pytest.mark.parametrize(
    "other",
    [
        MORE.replace("small and tested", "small, and tested"),
        MORE.replace("- Ask before adding a dependency.\n", ""),
        "\n".join([*STYLE.splitlines()[:4], *reversed(STYLE.splitlines()[4:])]),
    ],
    ids=["words", "each has more", "order"],
)
def test_what_is_neither_exact_nor_contained_is_proposed_and_not_merged(other: str) -> None:
    result = run(note("global/style.md", STYLE), note("global/style-notes.md", other))
    assert (result.groups, result.alike) == ((), 1)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("global/payments.md", "global/handbook.md"),
        ("global/style.md", "global/style-old.md"),
        ("global/style-staging.md", "global/style-production.md"),
        ("global/people/anna.md", "global/people/bert.md"),
    ],
)
def test_a_name_that_tells_what_a_part_is_about_keeps_it_apart(part: str, whole: str) -> None:
    assert run(note(part, STYLE), note(whole, MORE)).groups == ()


@pytest.mark.parametrize(
    "other",
    [
        STYLE + "\nAll of this is outdated.\n",
        STYLE.replace("- Diffs", "## Never\n\n- Diffs"),
        STYLE.replace("small and tested", "tiny and tested"),
    ],
)
def test_what_the_other_note_calls_outdated_forbids_or_states_differently_is_kept(other: str) -> None:
    assert run(note("global/style.md", STYLE), note("global/style-notes.md", other)).groups == ()


@pytest.mark.parametrize(
    "other",
    [
        PARAPHRASED,
        STYLE.replace("small and tested", "small, tested and reviewed"),
        STYLE.replace(DESCRIBED, f"{DESCRIBED}\n# Another title\n"),
    ],
)
def test_what_a_merge_would_say_twice_is_left_to_a_person(other: str) -> None:
    notes = note("global/style.md", STYLE.replace(DESCRIBED, f"{DESCRIBED}\n# How we write\n"))
    second = other if "# Another" in other else other.replace(DESCRIBED, f"{DESCRIBED}\n# How we write\n")
    result = run(notes, note("global/style-notes.md", second))
    assert (result.groups, result.alike) == ((), 1)
    assert result.summary == NO_CHANGES
    described = run(
        notes, note("global/style-notes.md", second), note("global/x.md", "The queue retries three times.\n")
    )
    assert described.summary == "Wrote or repaired 1 description. 1 pair of memories is worth a look."


def test_fields_are_not_strung_together_to_a_description() -> None:
    text = (
        "# Night run\n\n**Session**: Refactoring of the payment gateway and its queue of retries\n"
        "**Status**: 29 of 31 tests pass\n"
    )
    (group,) = run(note("global/night.md", text)).groups
    assert group.operations[0].arguments["insert_text"].splitlines()[1] == (
        "description: Refactoring of the payment gateway and its queue of retries"
    )


def test_plain_text_gets_no_front_matter_and_a_title_describes_nothing() -> None:
    text = "Remove the feature flag after the first of September.\n"
    assert run(note("project/todo.txt", text), note("project/asked", "Ask Ingrid about it.\n")).groups == ()
    heading = "# jq snippets for large server logs\n\n- `jq .`\n"
    assert run(note("global/jq.md", heading)).groups == ()


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("```\nmake build\nmake test\n```\n", "```sh\nmake build\nmake test\n```\n"),
        (
            "```sh\nmake build\nmake test\n```\n",
            "```sh\nmake build\nmake test\nmake lint\n```\n",
        ),
    ],
)
def test_code_that_would_stand_there_twice_is_left_to_a_person(code: str, other: str) -> None:
    style = STYLE + "\n"
    result = run(note("global/style.md", style + code), note("global/style-notes.md", style + other))
    assert (result.groups, result.alike) == ((), 1)
    more = "```sh\ngit fetch\ngit rebase\n```\n"
    merged = run(
        note("global/style.md", style + code), note("global/style-notes.md", style + code + "\n" + more)
    )
    assert [group.kind for group in merged.groups] == ["contained"]


def test_of_two_good_names_the_more_used_one_stays() -> None:
    notes = note("global/answers.md", STYLE, access_count=1), note("global/ways.md", RESTYLED, access_count=5)
    assert list(result_of(run(*notes), *notes)) == ["/memories/global/ways.md"]


def test_a_protected_note_is_the_target_and_never_deleted() -> None:
    notes = note("global/style.md", STYLE), note("global/style-copy.md", RESTYLED, protected=True)
    assert list(result_of(run(*notes), *notes)) == ["/memories/global/style-copy.md"]
    assert run(*(replace(each, protected=True) for each in notes)).groups == ()


def test_notes_of_different_scopes_are_never_merged() -> None:
    assert run(note("global/style.md", STYLE), note("project/style.md", STYLE)).summary == NO_CHANGES


def test_a_merge_that_only_works_the_other_way_round_is_done_that_way() -> None:
    body = "The queue retries a failed job three times.\n\n" + STYLE[len(DESCRIBED) :]
    flow = f"---\n{{owner: dev}}\n---\n{body}"
    notes = note("global/a.md", body), note("global/b-copy.md", flow), note("global/c-copy.md", body)
    merged = run(*notes, budget=2)
    assert kinds(merged) == ["exact", "exact", "description"]
    assert list(result_of(merged, *notes)) == ["/memories/global/b-copy.md"]
    assert "owner: dev" in result_of(merged, *notes)["/memories/global/b-copy.md"]


@pytest.mark.parametrize("path", ["project/data.json", "project/run.sh"])
def test_other_than_prose_is_only_dropped_when_it_is_equal_and_never_edited(path: str) -> None:
    copy = path.replace(".", "-copy.")
    assert kinds(run(note(path, "some: text  \n"), note(copy, "some: text  \n"))) == ["exact"]
    assert run(note(path, "some: text here\n"), note(copy, "some:  text here\n")).summary == NO_CHANGES


def test_a_merge_over_the_cap_is_not_done() -> None:
    caps = replace(CAPS, file_bytes=len(STYLE) + 10)
    assert run(note("global/style.md", STYLE), note("global/style-notes.md", MORE), caps=caps).groups == ()


def test_the_sample_home_is_consolidated_as_expected() -> None:
    home = SAMPLES / "mux-home" / "memory"
    stores = {"global": home / "global", "project": home / "project" / "acme-api-db553efff149"}
    notes = [
        note(
            f"{scope}/{file.relative_to(store).as_posix()}",
            file.read_bytes().decode(),
            protected=file.stem == "architecture",
        )
        for scope, store in stores.items()
        for file in store.rglob("*")
        if file.is_file() and file.stat().st_size <= CAPS.file_bytes
    ]
    result = run(*notes)
    gone = {
        operation.path
        for group in result.groups
        for operation in group.operations
        if operation.command == "delete"
    }
    assert gone == set(), "each pair says the same in other words: a person keeps one of them"
    assert result.alike == 1, "a word in the same place differs in the other pair"
    assert set(kinds(result)) == {"description"}


# --- single notes


def test_empty_files_go_unless_they_are_protected() -> None:
    notes = note("global/a.md", " \n"), note("global/b.md", "---\n---\n", protected=True)
    assert list(result_of(run(*notes), *notes)) == ["/memories/global/b.md"]


def test_a_missing_description_is_written_in_one_operation_and_nothing_else_changes() -> None:
    text = "# Title here\n\nThe queue retries three times.  \nbody\n"
    result = run(note("global/a.md", text))
    (operation,) = result.groups[0].operations
    assert operation.command == "insert"
    assert result_of(result, note("global/a.md", text)) == {
        "/memories/global/a.md": f"---\ndescription: The queue retries three times.\n---\n{text}"
    }


def test_noise_is_removed_where_nothing_else_is_to_do() -> None:
    result = run(
        note("global/a.md", DESCRIBED + "body \n\n\n"), note("global/b.md", DESCRIBED + "hard  \nbreak\n")
    )
    assert kinds(result) == ["noise"]


def test_files_the_commands_would_refuse_are_left_alone() -> None:
    notes = (
        note("global/a..b.md", " \n"),
        note("global/nul.md", "x\0 \n"),
        note("global/half.md", "\ud800 \n"),
        note("global/ end.md ", " \n"),
        note("global/big.md", "x" * 200 + " \n"),
        note("global/script", "#!/bin/sh\nx \n"),
    )
    assert run(*notes, caps=replace(CAPS, file_bytes=150)).summary == NO_CHANGES


# --- harvest

INBOX = (
    "---\ndescription: Harvested memory candidates for compaction 1\n---\n\n# Harvest inbox: compaction 1\n\n"
    "Source boundary: s-1\nSummary message: s-1\n\n"
    "## preference\n\nNever retry a 409 automatically.\n\n"
    "Evidence: u-1\nConfidence: 0.95\nRationale: Said so.\n\n"
    "## project\n\nStaging deploys from main.\n\nEvidence: u-1\nConfidence: 0.85\nRationale: In a file.\n"
)


def test_an_inbox_goes_when_all_its_candidates_stand_elsewhere() -> None:
    inbox = note("workspace/harvest/s-1.md", INBOX)
    one = note("global/http.md", DESCRIBED + "- never retry a `409` automatically\n")
    other = note("project/deploy.md", DESCRIBED + "Staging deploys **from main** on each merge.\n")
    assert kinds(run(inbox, one, other)) == ["harvest"]
    assert run(inbox, one).groups == ()
    assert run(replace(inbox, protected=True), one, other).groups == ()


def test_inboxes_do_not_vouch_for_each_other() -> None:
    assert run(note("workspace/harvest/s-1.md", INBOX), note("workspace/harvest/s-2.md", INBOX)).groups == ()


# --- the budget


def test_what_comes_first_gets_the_budget_and_a_cheaper_group_may_still_fit() -> None:
    notes = (
        note("global/style.md", STYLE),
        note("global/style-notes.md", MORE),
        note("global/empty.md", ""),
        note("global/untitled.md", "The queue retries three times.\n"),
    )
    assert kinds(run(*notes)) == ["contained", "empty", "description"]
    result = run(*notes, budget=1)
    assert kinds(result) == ["empty", "description"], "what only names a note takes nothing from the budget"
    assert result.left_over >= 1
    assert "for the next run" in result.summary
    assert kinds(run(*notes, budget=0)) == ["description"]


def test_without_anything_to_do_nothing_is_done() -> None:
    assert run(note("global/style.md", STYLE)) == RulesPlan((), 0, NO_CHANGES)
    assert run() == RulesPlan((), 0, NO_CHANGES)


# --- every plan


LINES = st.sampled_from(
    [
        *("- Retry only idempotent requests.", "* Only idempotent requests are retried.", "- use `rg`", ""),
        *("Back off exponentially, at most 5 attempts.", "Exponential backoff, max 5 attempts.", "# Title"),
        *("- Never log request bodies.", "  - nested entry of a list", "## Section", "## Other  ", "```"),
        *(
            "    code here",
            "| a | b |",
            "| --- | --- |",
            "| x | 1 |",
            "trailing \t",
            "hard  ",
            "***",
            "\ufeff",
        ),
        *("1. Deploys run from main.", "2. Deploys run from release branches.", "- [ ] open", "DO NOT LOG"),
        *("日本語のメモを残す", "> quoted line of text", "\ufeff"),
    ]
)
KEYS = st.sampled_from(
    [
        *("description: First thing", "description: Second thing", "description: [broken", "description:"),
        *("owner: dev", "owner: ops", "tags: [a, b]", "tags:\n  - a", "# comment", "date: 2026-07-14"),
        *("x: &a 1", "description: 42"),
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    body = "\n".join(draw(st.lists(LINES, max_size=8)))
    keys = draw(st.none() | st.lists(KEYS, max_size=3))
    text = body if keys is None else "\n".join(["---", *keys, "---", body])
    text += draw(st.sampled_from(["", "\n", "\n\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.integers(0, 9)) == 0 else text


@st.composite
def stores(draw: st.DrawFn) -> list[Note]:
    pool = draw(st.lists(texts(), min_size=1, max_size=3))
    paths = st.builds(
        "/memories/{}/{}{}".format,
        st.sampled_from(["global", "project", "workspace"]),
        st.sampled_from(["a", "b", "style", "style-copy", "old/style", "people/anna", "people/bert"]),
        st.sampled_from([".md", ".md", ".txt", ".json"]),
    )
    made = st.builds(Note, paths, st.sampled_from(pool) | texts(), st.booleans(), st.integers(0, 9))
    return draw(st.lists(made, max_size=7, unique_by=lambda each: each.path))


def body_size(text: str) -> int:
    block = frontmatter.split(text)
    return len((text[block.body_start :] if block else text.removeprefix("---\n---\n")).encode())


def folded(text: str) -> set[str]:
    return {fold_line(line).strip("# ") for line in text.removeprefix("\ufeff").splitlines() if line.strip()}


@settings(max_examples=examples(120), deadline=None)
@given(stores(), st.integers(0, 8), st.randoms(use_true_random=False))
def test_no_plan_breaks_a_rail(notes: list[Note], budget: int, shuffler: random.Random) -> None:
    result = run(*notes, budget=budget)
    shuffler.shuffle(notes)
    assert run(*notes, budget=budget) == result
    assert sum(len(group.operations) for group in result.groups if group.kind != "description") <= budget
    protected = {each.path for each in notes if each.protected}
    now = {each.path: each.text for each in notes}
    for group in result.groups:
        before = dict(now)
        apply(now, group)
        assert len({operation.path.split("/")[2] for operation in group.operations}) == 1
        assert not protected - now.keys()
        if group.kind == "empty":
            continue
        lost = [before[each.path].splitlines()[each.number - 1] for each in judge_retention(before, now).lost]
        assert not [line for line in lost if line.strip() != "description:"]
        if group.kind in ("exact", "contained"):
            gone = (before.keys() - now.keys()).pop()
            kept = set().union(
                *(folded(text) for path, text in now.items() if path.split("/")[2] == gone.split("/")[2])
            )
            block = frontmatter.split(before[gone])
            body = before[gone][block.body_start :] if block else before[gone]
            assert not {line for line in folded(body) - kept if any(letter.isalnum() for letter in line)}
            assert sum(map(body_size, now.values())) <= sum(map(body_size, before.values()))
            assert sum(map(len, now.values())) <= sum(map(len, before.values()))


@settings(max_examples=examples(100), deadline=None)
@given(stores())
def test_planning_again_and_again_comes_to_an_end(notes: list[Note]) -> None:
    for _round in range(20):
        result = run(*notes, budget=50)
        if not result.groups:
            break
        left = result_of(result, *notes)
        notes = [replace(each, text=left[each.path]) for each in notes if each.path in left]
    assert result.summary.startswith(NO_CHANGES)


# --- cost and cancelling


def checks(count: int, boilerplate: int) -> int:
    rng = random.Random(3)
    words = [f"w{number}ord" for number in range(3000)]
    shared = "".join(f"- Shared line number {number} of all notes.\n" for number in range(boilerplate))
    notes = [
        note(
            f"project/n{number}.md",
            f"{DESCRIBED}{shared}" + "".join(f"- {' '.join(rng.sample(words, 8))}.\n" for _ in range(4)),
        )
        for number in range(count)
    ]
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1

    assert plan(notes, budget=8, caps=CAPS, check=check).groups == ()
    return calls


@pytest.mark.parametrize("boilerplate", [0, 12])
def test_work_grows_with_the_notes_and_not_with_their_pairs(boilerplate: int) -> None:
    assert checks(400, boilerplate) <= 2.5 * checks(200, boilerplate)


def test_planning_can_be_cancelled() -> None:
    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        plan([note("global/style.md", STYLE)], budget=8, caps=CAPS, check=stop)


def test_importing_the_rules_loads_no_matcher() -> None:
    code = "import sys, reverie.jobs.consolidate.rules.plan\n"
    code += "sys.exit('rapidfuzz' in sys.modules or 'yaml' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[4], check=False).returncode
        == 0
    )


def test_a_description_in_a_block_that_does_not_begin_the_note_is_taken_without_the_line_below_it() -> None:
    text = "Typed above.\n---\ndescription: How jobs are kept\n---\n\nJobs are kept for an hour.\n"
    described = with_description(text, CAPS, ("typed",))
    assert described is not None
    assert described.splitlines()[1] == "description: How jobs are kept"


def _moved(one: Note, token: str, to: str) -> CheckedClaim:
    before, _found, _rest = one.text.partition(token)
    line, start = before.count("\n") + 1, len(before.rpartition("\n")[2])
    return CheckedClaim(one.path, line, start, ClaimKind.PATH, token, ClaimState.MOVED, to, to)


@pytest.mark.parametrize(
    ("token", "to", "follows"),
    [
        ("tests/e2e/not-found.spec.ts", "tests/e2e/pages/not-found.spec.ts", True),
        ("tests/e2e/not-found.spec.ts", "tests/e2e/not-found.user.spec.ts", False),
        ("tests/e2e/not-found.spec.ts", "tests/pages/missing.spec.ts", False),
    ],
)
def test_a_moved_path_is_followed_only_where_its_base_name_stays(token: str, to: str, follows: bool) -> None:
    text = f"{DESCRIBED}\n| {token} | without login |\n"
    one = note("project/tests.md", text)
    result = plan([one], budget=8, caps=CAPS, stale=[_moved(one, token, to)])
    assert kinds(result) == (["moved"] if follows else [])


def test_a_description_repeats_nothing_that_the_same_run_knows_to_be_stale() -> None:
    text = "The parser lives in src/parse.py and is fast.\n\nEach record of a long line is handled in turn.\n"
    one = note("project/reader.md", text)
    result = plan([one], budget=8, caps=CAPS, stale=[_moved(one, "src/parse.py", "lib/read.py")])
    assert kinds(result) == ["description"]
    (after,) = result_of(result, one).values()
    assert frontmatter.declared(after) == "Each record of a long line is handled in turn."


def test_that_a_note_is_called_notes_does_not_count_against_its_name() -> None:
    notes = note("global/answers.md", STYLE), note("global/style-notes.md", RESTYLED, access_count=5)
    assert list(result_of(run(*notes), *notes)) == ["/memories/global/style-notes.md"]
    alone = note("global/notes.md", STYLE, access_count=5), note("global/style.md", RESTYLED)
    assert list(result_of(run(*alone), *alone)) == ["/memories/global/style.md"]
