"""The report card: what became of each fact, told by the texts alone.

The scripted cases here are made of notes of our own; `campaign cards` makes them of real ones.
"""

from __future__ import annotations

import time

import pytest

from helpers.card_cases import HARMS, INDEX, Harm, is_named, judged, loaded_of_index, own_notes
from reverie.agents.mux.home import CAPS
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.rules.descriptions import with_description
from reverie.runs.card import ReportCard, card_from_json, sentence

A, B = "/memories/project/a.md", "/memories/project/b.md"
STORE = {
    A: """# Deploy

- The API listens on port 8080 by default.
- The admin page listens on port 9090 by default.
- Never push to main without a review.
- Use pnpm 9 for the frontend when the lock file is present.
- See [the other note](b.md) for more.
- The upload times out after 30 s.
""",
    B: "# Other\n\n- The download times out after 60 s.\n- Redis caches the sessions.\n",
}


def graded(*changes: tuple[str, str, str], gone: str = "") -> ReportCard:
    """The card after replacing texts in notes, and taking one away."""
    after = dict(STORE)
    for path, old, new in changes:
        assert old in after[path]
        after[path] = after[path].replace(old, new)
    after.pop(gone, None)
    return report_card(STORE, after)


def test_nothing_changed_is_nothing_to_report() -> None:
    card = graded()
    assert (card, card.fails, sentence(card.counts)) == (ReportCard(), False, "kept 0 of 0 facts")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("8080", "8081", "number"),
        ("pnpm 9", "pnpm 9.1.2", "version"),
        ("Redis caches", "Memcached caches", "name"),
        ("Never push", "Push", "negation"),
        ("without a review", "with a review", "negation"),
        (" when the lock file is present", "", "generalised"),
        ("Use pnpm 9 for the frontend when the lock file is present", "Always use pnpm", "generalised"),
        ("Never push", "Perhaps push", "negation"),
    ],
)
def test_a_fact_that_says_something_else_is_named_with_what_differs(old: str, new: str, what: str) -> None:
    path = A if old in STORE[A] else B
    card = graded((path, old, new))
    assert [each.what for each in card.changed] == [what]
    (found,) = card.changed
    assert found.before in STORE[path]
    assert STORE[path].splitlines()[found.line - 1] == f"- {found.before}"
    assert (card.kept, card.lost, card.invented, card.fails) == (card.facts, (), (), True)


def test_what_stands_nowhere_any_more_is_lost_and_what_has_no_source_invented() -> None:
    card = graded(
        (B, "- Redis caches the sessions.\n", "- Kafka queues all mail for the billing team.\n"),
    )
    assert [(each.path, each.line, each.text) for each in card.lost] == [(B, 4, "Redis caches the sessions.")]
    assert [each.text for each in card.invented] == ["Kafka queues all mail for the billing team."]
    assert (card.facts, card.kept) == (2, 1)


@pytest.mark.parametrize(
    "instead",
    [
        "- `Never` push to **main** without a review.",
        "* never push to main without a review",
        "- Without a review, never push to main.",
        "- Never push to the main branch without a review.",
    ],
)
def test_markup_order_and_small_words_change_nothing(instead: str) -> None:
    card = graded((A, "- Never push to main without a review.", instead))
    assert not card.fails, card


def test_a_merge_that_keeps_every_fact_is_clean_and_one_that_mixes_values_is_not() -> None:
    both = "- The API listens on port 8080 by default.\n- The admin page listens on port 9090 by default."
    kept = graded((A, both, "- The API listens on port 8080, the admin page on port 9090 by default."))
    assert not kept.fails
    for mixed in (
        "- The API listens on port 9090, the admin page on port 8080 by default.",
        "- The API and the admin page listen on port 8080 by default.",
    ):
        assert "merged" in {each.what for each in graded((A, both, mixed)).changed}


def test_a_fact_that_another_memory_has_is_kept() -> None:
    store = {**STORE, "/memories/global/c.md": "- redis caches the sessions\n"}
    after = {**store, B: "# Other\n\n- The download times out after 60 s.\n"}
    card = report_card(store, after)
    assert (card.facts, card.kept, card.fails) == (2, 2, False)


def test_a_memory_with_another_name_breaks_the_links_that_do_not_follow() -> None:
    moved = "/memories/project/c.md"
    after = {A: STORE[A], moved: STORE[B]}
    broken = report_card(STORE, after).broken_links
    assert [(each.path, each.line, each.target) for each in broken] == [(A, 7, "b.md")]
    followed = report_card(STORE, {**after, A: STORE[A].replace("b.md", "c.md")})
    assert (followed.broken_links, followed.fails) == ((), False)


def test_under_a_heading_that_turns_it_a_fact_says_something_else() -> None:
    before = {A: "# Ports\n\n## Staging\n\n- The proxy answers on 8443.\n\n## Production\n\n- Ask first.\n"}
    after = {A: "# Ports\n\n## Staging\n\n## Production\n\n- Ask first.\n- The proxy answers on 8443.\n"}
    assert [each.what for each in report_card(before, after).changed] == ["place"]


def test_what_the_index_pushes_below_its_cut_line_is_named() -> None:
    entries = [f"- Room {number} has a window" for number in range(198)]
    before = {INDEX: "\n".join(["# Index", *entries]), B: "- The door of the cellar is locked\n"}
    after = {INDEX: "\n".join(["# Index", "- The door of the cellar is locked", *["- A", "- B"], *entries])}
    card = report_card(before, after, loaded=loaded_of_index)
    assert [each.text for each in card.below_cut] == ["Room 197 has a window", "Room 196 has a window"][::-1]
    assert card.tokens.before > 0


def test_contradictions_are_counted_before_and_after() -> None:
    before = {
        A: "- The nightly export starts at 2 in Berlin.\n",
        B: "- The nightly export starts at 4 in Berlin.\n",
    }
    card = report_card(before, {A: before[A], B: "- Nothing else is known about mail.\n"})
    assert (card.contradictions.before, card.contradictions.after) == (1, 0)


def test_the_card_in_a_record_is_read_back_and_an_unknown_one_is_none() -> None:
    card = graded((A, "8080", "8081"), (B, "- Redis caches the sessions.\n", ""))
    assert card_from_json(card.as_json()) == card
    assert card_from_json({"facts": 3}) is None
    assert card_from_json(None) is None


@pytest.mark.parametrize("harm", HARMS)
def test_each_kind_of_harm_is_named_in_notes_of_our_own(harm: Harm) -> None:
    cases = judged(own_notes(), harm, count=12, seed=20_261_123)
    assert len(cases) == 12
    missed = [case.where for case, card in cases if not is_named(case, card)]
    assert len(missed) <= 1, missed


def test_honest_work_on_notes_of_our_own_raises_no_alarm() -> None:
    cases = judged(own_notes(), "", count=40, seed=20_261_123)
    alarms = [(case.name, card) for case, card in cases if not is_named(case, card)]
    assert len(cases) == 40
    assert alarms == []


def test_a_card_of_200_notes_takes_no_longer_than_promised() -> None:
    notes = {f"{path}-{number}.md": text for number in range(34) for path, text in own_notes().items()}
    after = {path: text.replace("- ", "* ") for path, text in notes.items()}
    started = time.process_time()
    card = report_card(notes, after)
    assert not card.fails
    assert time.process_time() - started < 4.0  # a second by the campaign; a busy machine is slower


def test_an_inbox_that_goes_with_all_of_its_candidates_elsewhere_takes_no_fact_with_it() -> None:
    inbox = (
        "---\ndescription: Harvested memory candidates for compaction 1\n---\n\n"
        "# Harvest inbox: compaction 1\n\n"
        "Source boundary: s-1\nSummary message: s-1\n\n## preference\n\nRedis caches the sessions.\n\n"
        "Evidence: u-1\nConfidence: 0.95\nRationale: Said so.\n"
    )
    path = "/memories/workspace/harvest/s-1.md"
    card = report_card({**STORE, path: inbox}, STORE)
    assert (card.facts, card.kept, card.lost) == (1, 1, ())
    gone = report_card({**STORE, path: inbox.replace("Redis caches", "Postgres keeps")}, STORE)
    assert gone.fails, "a candidate that stands nowhere else is a fact"


LISTING = "/memories/project/INDEX.md"


@pytest.mark.parametrize(
    "line",
    [
        "The tools for [setup.md](guides/setup.md) are installed once per machine.",
        "All of [setup.md](./setup.md) shows how tools are installed by hand.",
        "Tools are installed before [deploy.md](deploy.md) is read.",
    ],
)
def test_a_description_with_the_link_text_of_an_index_is_not_invented(line: str) -> None:
    before = {
        LISTING: f"# Index\n\n{line}\n",
        "/memories/project/setup.md": "# Setup\n\nInstall the tools.\n",
        "/memories/project/guides/setup.md": "# Guide\n\nOther words.\n",
        "/memories/project/deploy.md": "# Deploy\n\nOn Fridays.\n",
    }
    text = with_description(before[LISTING], CAPS, ["steps"])
    assert text is not None
    assert not report_card(before, {**before, LISTING: text}).invented


OTHER_LINES = ("name: a", "metadata:", "type: user", "tags:", "- x")
NOTE = "---\nname: a\ndescription: old\nmetadata:\n  type: user\ntags:\n\t- x\n---\nThe queue retries.\n"


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        (NOTE.replace("old", "new words"), []),
        (NOTE.replace("\t-", "  -"), []),
        (NOTE.replace("name: a", 'name: "a"'), []),
        (f"---\ndescription: new\n---\n{NOTE}", ["name: a", "metadata:", "type: user", "tags:", "- x"]),
        (NOTE.replace("name: a\n", ""), ["name: a"]),
        (NOTE.replace("metadata:\n  type: user\n", 'metadata: "type: user"\n'), ["type: user"]),
    ],
)
def test_a_key_of_the_front_matter_is_a_fact_that_stands_only_there(after: str, lost: list[str]) -> None:
    path = "/memories/project/a.md"
    card = report_card({path: NOTE}, {path: after})
    assert [fact.text for fact in card.lost if fact.text in OTHER_LINES] == lost
