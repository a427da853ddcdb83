"""What a reader would notice about several notes, and what is none of it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.jobs.consolidate.findings import RelatedKind, RelatedNote, RelatedNotes, related_notes
from reverie.values import replace

DAY = 86_400_000
BODY = """# Deploying the billing service

- Run `make deploy` from the release branch, never from a feature branch.
- The staging cluster is called harbour; production is called lighthouse.
- Wait for the canary to be green for ten minutes before you promote it.
- Roll back with `make rollback VERSION=<previous>`; the database stays as it is.
- Tell the on-call channel before and after.
"""
OTHERS = {
    "colours.md": "The palette has nine tints; ask the designers before you add a tenth one.\n",
    "meetings.md": "Planning happens on Tuesdays in the small room, and the minutes go to a folder.\n",
    "parsing.md": "The grammar is read by a hand-written descent parser; recovery skips to a semicolon.\n",
    "hiring.md": "Candidates write a small exercise at home, and two of us read it without names.\n",
}


def notes(texts: dict[str, str], **days: int) -> list[RelatedNote]:
    """Notes in a store with a few others; `days`: when each was written, by its name without `.md`."""
    return [
        RelatedNote(f"/memories/project/{name}", text, days.get(name.removesuffix(".md"), 1) * DAY)
        for name, text in {**OTHERS, **texts}.items()
    ]


def found(texts: dict[str, str], kind: RelatedKind, **days: int) -> list[RelatedNotes]:
    return [each for each in related_notes(notes(texts, **days)) if each.kind == kind]


def named(one: RelatedNotes) -> list[str]:
    return [path.rpartition("/")[2] for path in one.paths]


def test_two_notes_that_say_much_of_the_same_are_a_near_duplicate() -> None:
    other = BODY.replace("Tell the on-call", "Tell people on the on-call").replace(
        "# Deploying", "# Releasing"
    )
    (one,) = found({"deploy.md": BODY, "billing-releases.md": other}, "near-duplicate")
    assert set(named(one)) == {"deploy.md", "billing-releases.md"}
    assert one.score > 0.6
    assert all(each.text and each.text in f"{BODY}{other}" for each in one.evidence)


def test_a_small_note_inside_of_a_large_one_is_found() -> None:
    crafts = ["paint", "climb", "plant", "sail", "knit", "bake", "draw", "weld", "mend", "cook"]
    more = "\n".join(f"- Rule {word} of the handbook is kept by everybody who {word}s." for word in crafts)
    (one,) = found({"deploy.md": BODY, "handbook.md": f"{more}\n\n{BODY}"}, "near-duplicate")
    assert set(named(one)) == {"deploy.md", "handbook.md"}


@pytest.mark.parametrize(
    ("older", "newer", "days"),
    [
        ("deploy.md", "deploy-updated.md", {}),
        ("deploy-draft.md", "deploy.md", {}),
        ("deploy_2026_01_05.md", "deploy_2026_03_01.md", {}),
        ("deploy.md", "deploy-notes.md", {"deploy": 3, "deploy-notes": 9}),
    ],
)
def test_a_later_version_of_a_note_is_told_with_the_older_one_first(
    older: str, newer: str, days: dict[str, int]
) -> None:
    later = BODY.replace("ten minutes", "a quarter of an hour")
    (one,) = found({older: BODY, newer: later}, "successor", **days)
    assert named(one) == [older, newer]


@pytest.mark.parametrize(
    ("one", "other"),
    [("phase_11_report.md", "phase_12_report.md"), ("deploy-billing.md", "deploy-search.md")],
)
def test_notes_of_a_series_that_follow_a_template_are_no_duplicates(one: str, other: str) -> None:
    rows = {
        "phase_11_report.md": ("importing invoices from the partner", "a queue in front of the ledger"),
        "phase_12_report.md": ("drawing charts for the managers", "caching of the monthly totals"),
        "deploy-billing.md": ("the invoices of all customers", "the ledger runs beside it"),
        "deploy-search.md": ("an index of the whole catalogue", "shards move at night"),
    }
    text = (
        "# Report\n\n## What was done\n\n- Work on {}.\n\n## What was learned\n\n- We needed {}.\n\n- Open.\n"
    )
    texts = {name: text.format(*rows[name]) for name in (one, other)}
    assert found(texts, "near-duplicate") == found(texts, "successor") == []


ABOUT = "The importer reads invoices of the partner from the bucket and writes them into the ledger.\n\n"


PARTS = """# Ledger

What an agent must know of this repository before it begins.

## Layout

- `importer/` reads invoices, `ledger/` books them, `portal/` shows them to the partners.

## Deploying

- `make deploy` for the billing service is run from the release branch and never from a feature branch.
- Staging is the cluster called harbour; lighthouse is what production is called.
- The canary must be green: wait ten minutes before you promote it. To roll back: `make rollback
  VERSION=<previous>`; the database stays as it is. Before and after, tell the on-call channel.

## Tests

- `make test` runs all of them; the slow ones have a mark and run at night, on a copy of the archive.
"""


def test_a_note_that_a_part_of_a_larger_one_has_in_other_words_is_a_near_duplicate() -> None:
    (one,) = found({"deploying-billing.md": BODY, "CLAUDE.md": PARTS}, "near-duplicate")
    assert set(named(one)) == {"deploying-billing.md", "CLAUDE.md"}
    quoted = {each.path.rpartition("/")[2]: each.text for each in one.evidence}
    assert "canary" in quoted["CLAUDE.md"]
    assert "canary" in quoted["deploying-billing.md"]


def test_a_note_with_much_of_its_own_is_not_contained_in_a_part_of_another() -> None:
    own = "".join(
        f"- The {word} cluster needs its certificates from the {word} vault, renewed by {word} each spring.\n"
        for word in ("amber", "birch", "cedar", "dune", "ember")
    )
    assert found({"deploying-billing.md": BODY + own, "CLAUDE.md": PARTS}, "near-duplicate") == []


@pytest.mark.parametrize(
    ("ahead", "behind"),
    [
        ("- 🔄 Phase 3: importing of invoices (next)", "- ✅ Phase 3: importing of invoices (COMPLETE)"),
        ("- Phases 2-4: importing and booking, pending", "## Phase 3 of importing: completed"),
        ("├── importer.py  # (Phase 3) - NOT YET IMPLEMENTED", "Phase 3 done."),
        ("- Schritt 3: offen", "- Schritt 3: erledigt"),
        ("- フェーズ3: 進行中", "- フェーズ3: 完了"),
    ],
)
def test_a_part_of_the_work_that_a_newer_note_has_behind_it_is_superseded(ahead: str, behind: str) -> None:
    texts = {"plan.md": f"{ABOUT}{ahead}\n", "state.md": f"{ABOUT}{behind}\n"}
    (hit,) = found(texts, "superseded", plan=1, state=2)
    assert named(hit) == ["plan.md", "state.md"]
    assert [each.text for each in hit.evidence] == [ahead, behind]
    assert found(texts, "superseded", plan=2, state=1) == []


@pytest.mark.parametrize(
    ("ahead", "behind"),
    [
        ("- Phase 3: importing, next", "- Phase 4: importing, complete"),
        ("- Phase 3: importing, next", "- Phase 3 complete; Phase 4 of importing is next"),
        ("- Phase 3: importing, next", "- Phase 3: 40% complete"),
        ("- Phase 3: importing, next", "- Phase 3: migration of telephones, complete"),
        ("- Phase 3: importing, next\n- Phase 3: importing, done", "- Phase 3: importing, complete"),
    ],
)
def test_what_does_not_tell_of_the_same_part_of_the_work_supersedes_nothing(ahead: str, behind: str) -> None:
    texts = {"plan.md": f"{ABOUT}{ahead}\n", "state.md": f"{ABOUT}{behind}\n"}
    assert found(texts, "superseded", plan=1, state=2) == []


def test_the_phases_of_two_projects_are_two() -> None:
    texts = {
        "kettle.md": "The kettle in the kitchen boils slowly; descale it on Fridays.\n\n- Phase 3: pending\n",
        "lift.md": "Elevators are inspected by the city each spring in the cellar.\n\n- Phase 3: complete\n",
    }
    assert found(texts, "superseded", kettle=1, lift=2) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Import timeout: 90 seconds", "- Import timeout: 120 seconds"),
        ("- **Python Version:** 3.10", "- **Python version**: 3.12.3"),
        ("- Database: PostgreSQL 16", "- Database: SQLite"),
        ("- Package manager: `pnpm`", "- Package manager: yarn"),
        ("- Retrying imports: enabled", "- Retrying imports: disabled"),
        ("The importer retries a failed invoice 3 times.", "The importer retries a failed invoice 5 times."),
        ("Built with Next.js 14 and Tailwind.", "A full-stack system on Next.js 15.5 (App Router)."),
        ("- **Language**: Python 3.11", "- Runs under Python 3.12.4 in CI"),
        ("- Node.js 18.x", "- Runtime: Node 22"),
        ("- PostgreSQL 14 on the server", "- PostgreSQL: 16+"),
        ("- **フレームワーク**: React 18.3.1", "- React 19 + TypeScript"),
        ("- Node.js 18+ installed", "- Node.js 20.x or higher"),
        ("- artplayer: 5.3.0", "- ArtPlayer 5.2.5 in the portal"),
        ("- **当前版本**: v3.5.0", "- 当前版本：v3.6.2"),
        ("The current version is 2.3.1.", "- **Project version**: 2.4.0"),
    ],
)
def test_other_values_of_the_same_thing_are_a_contradiction(one: str, other: str) -> None:
    texts = {"importer.md": f"{ABOUT}{one}\n", "invoices.md": f"About invoices.\n\n{ABOUT}{other}\n"}
    (hit,) = found(texts, "contradiction")
    assert {each.text for each in hit.evidence} == {one, other}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Import timeout: 90 seconds", "- Import timeout: 90 s, as measured"),
        ("- Import timeout: 90 seconds", "- Export timeout: 120 seconds"),
        ("- Python version: 3.12", "- Python version: 3.12.3"),
        ("- Python version: 3.10+", "- Python version: 3.12"),
        ("- Coverage of imports: ~80 %", "- Coverage of imports: 82 %"),
        ("- Imported rows: 3 → 5", "- Imported rows: 7"),
        ("- Date: 2026-01-05", "- Date: 2026-02-06"),
        ("- Status: done", "- Status: open"),
        ("- Importing: reads the bucket every night", "- Importing: writes into the ledger and tells people"),
        ("- Database: PostgreSQL", "- Database: PostgreSQL 16 with PostGIS"),
        ("- Package manager: yarn@4.9.2", "- Package Manager: Yarn 4.9.2"),
        ("- React 18.2 in the importer", "- React 18.3.1"),
        ("- Python 3.8 or newer", "- Python 3.12.4"),
        ("- hls.js 1.6.11", "- HLS.js 1.6.6"),
        ("- **文档版本**: v1.0.0", "- **文档版本**: v2.1.0"),
        ("- The server is 10.20.30.40", "- The server is 10.20.30.41"),
        ("- Current version: 2.3.1 → 2.4.0", "- Current version: 2.4.0"),
        ("- Node.js 18+", "- Node 22 in CI"),
        ("- Python: 15+ mission-critical functions", "- Language: Python 3.12"),
        ("- Upgraded from Next.js 14 to 15", "- Next.js 15"),
        ("- Works with React 18 and React 19", "- React 19"),
        ("- The API requires Node.js 18", "- Node 22"),
        ("**Version:** 1.0", "**Version:** 2.5.0"),
        ("**버전**: 1.0", "**버전:** 2.5.0"),
        ("_Zuletzt aktualisiert: 11. Juli 2026_", "_Zuletzt aktualisiert: 20. Juli 2026_"),
        ("- Released on: July 11, 2026", "- Released on: July 20, 2026"),
    ],
)
def test_what_can_both_hold_is_no_contradiction(one: str, other: str) -> None:
    texts = {"importer.md": f"{ABOUT}{one}\n", "invoices.md": f"About invoices.\n\n{ABOUT}{other}\n"}
    assert found(texts, "contradiction") == []


def test_parts_of_a_project_each_have_their_versions() -> None:
    texts = {"api/CLAUDE.md": f"{ABOUT}- Node.js 18\n", "web/CLAUDE.md": f"{ABOUT}- Node.js 22\n"}
    assert found(texts, "contradiction") == []
    beside = {"api/CLAUDE.md": f"{ABOUT}- Node.js 18\n", "api/AGENTS.md": f"{ABOUT}- Node.js 22\n"}
    assert len(found(beside, "contradiction")) == 1


def test_of_many_notes_with_other_versions_the_last_two_that_disagree_are_told() -> None:
    texts = {f"n{number}.md": f"{ABOUT}- React {number}\n" for number in (16, 17, 18)}
    (hit,) = found(texts, "contradiction", n16=1, n17=2, n18=3)
    assert named(hit) == ["n17.md", "n18.md"]


@pytest.mark.parametrize(
    ("names", "is_suggested"),
    [
        (("server.md", "limits.md"), True),
        (("prices-2025.md", "prices-2026.md"), False),
        (("prices.md", "prices-2026.md"), True),
    ],
)
def test_the_later_value_is_suggested_unless_the_names_are_of_other_years_or_versions(
    names: tuple[str, str], is_suggested: bool
) -> None:
    older, newer = names
    line = "- Request timeout of the shop: {} seconds\n"
    texts = {
        older: f"# Server\n\nThe shop runs on one machine.\n\n{line.format(30)}",
        newer: f"# Limits of the shop\n\nThe shop runs on one machine.\n\n{line.format(45)}",
    }
    for days in ((1, 2), (2, 1)):
        written = dict(zip((older[:-3], newer[:-3]), days, strict=True))
        store = [replace(each, may_edit=True) for each in notes(texts, **written)]
        (hit,) = [each for each in related_notes(store) if each.kind == "contradiction"]
        assert (hit.proposal is not None) == is_suggested
        if hit.proposal is not None:
            ((path, text),) = hit.proposal.texts.items()
            later = max(texts, key=lambda name: written[name[:-3]])
            assert not path.endswith("/" + later)
            assert text is not None
            assert ("45" in text) == (later == newer)


def test_a_journal_contradicts_nothing_for_it_tells_what_was() -> None:
    line = "- Import timeout: {} seconds\n"
    kept = {"importer.md": ABOUT + line.format(90), "journal/importer.md": ABOUT + line.format(120)}
    assert not found(kept, "contradiction")
    dated = {"importer.md": ABOUT + line.format(90), "importer_2026_01_05.md": ABOUT + line.format(120)}
    assert not found(dated, "contradiction")


def test_values_of_notes_about_other_things_are_no_contradiction() -> None:
    one = "The kettle in the kitchen boils slowly; descale it with vinegar on Fridays and rinse it twice.\n\n"
    other = (
        "Elevators are inspected by the city each spring, and an engineer signs the book in the cellar.\n\n"
    )
    one, other = f"{one}- Waiting limit: 90 seconds\n", f"{other}- Waiting limit: 120 seconds\n"
    assert found({"kettle.md": one, "elevators.md": other}, "contradiction") == []


def test_one_word_before_a_value_is_of_many_things_where_notes_share_little() -> None:
    web = "# Web app\n\nReads uploads of customers from a form, shows them in a list.\n\n- Port: 8091\n"
    ftp = "# Mail\n\nUploads that fail are told to customers by mail in the night.\n\n- Port: 21\n"
    assert found({"web.md": web, "ftp.md": ftp}, "contradiction") == []


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("- `pnpm dev` starts the Next.js server", "We migrated from Next.js to Vite."),
        ("- Charts are drawn with ChartKit.", "Replaced ChartKit with `d3-shape`."),
        ("- Call `fetch_rows()` for a page of rows.", "`fetch_rows()` was removed in favour of streams."),
        ("- Jobs run in RabbitMQ.", "Jobs no longer use RabbitMQ."),
        ("- [ ] Limit the size of uploads", "- [x] Limit the size of uploads"),
        ("- Die Warteschlange läuft in RabbitMQ.", "RabbitMQ wurde durch NATS ersetzt."),
    ],
)
def test_what_a_newer_note_says_is_gone_is_superseded(then: str, now: str) -> None:
    texts = {"guide.md": f"# Guide\n\n{then}\n", "status.md": f"# Status\n\n{now}\n"}
    (hit,) = found(texts, "superseded", guide=1, status=9)
    assert named(hit) == ["guide.md", "status.md"]
    assert [each.text for each in hit.evidence] == [then, now]
    assert found(texts, "superseded", guide=9, status=1) == [], "the note that still says it is the newer one"


@pytest.mark.parametrize(
    "then",
    [
        "- We used Next.js before, it was removed.",
        "- Since Vite came, Next.js is history.",
        "- The next step is to read the docs.",
    ],
)
def test_a_note_that_tells_of_the_change_itself_is_not_superseded(then: str) -> None:
    texts = {
        "guide.md": f"# Guide\n\n{then}\n",
        "status.md": "# Status\n\nWe migrated from Next.js to Vite.\n",
    }
    assert found(texts, "superseded", guide=1, status=9) == []


def test_the_surest_comes_first_and_the_order_of_notes_does_not_matter() -> None:
    texts = {
        "deploy.md": BODY,
        "deploy-updated.md": BODY.replace("ten minutes", "an hour"),
        "a.md": ABOUT + "- Import timeout: 90 seconds\n",
        "b.md": "About invoices.\n\n" + ABOUT + "- Import timeout: 120 seconds\n",
    }
    given_notes = notes(texts)
    expected = related_notes(given_notes)
    assert [each.score for each in expected] == sorted((each.score for each in expected), reverse=True)
    random.Random(5).shuffle(given_notes)
    assert related_notes(given_notes) == expected


def test_of_a_family_of_like_notes_only_the_first_pairs_are_listed() -> None:
    texts = {
        f"{word}.md": BODY.replace("harbour", word) for word in ("a", "bay", "cove", "dock", "pier", "quay")
    }
    assert len(found(texts, "near-duplicate")) <= 9


def test_looking_can_be_stopped() -> None:
    class StoppedError(Exception):
        pass

    def after(count: int) -> Callable[[], None]:
        left = iter(range(count))

        def check() -> None:
            if next(left, None) is None:
                raise StoppedError

        return check

    with pytest.raises(StoppedError):
        related_notes(notes({"deploy.md": BODY}), after(3))


_LINES = st.sampled_from(
    ["- Port: 80", "- Port: 8080", "# Title", "We removed `x_y` today", "- uses `x_y`", "- [ ] do it all now",
     "- [x] do it all now", "", "| a | b |", "```", "\ufeff", "名前: 値", "replaced Foo with Bar"]
)  # fmt: skip


@given(st.lists(st.lists(_LINES | st.text(max_size=20), max_size=8), max_size=6))
def test_any_texts_are_read_and_evidence_is_a_line_of_them(lines: list[list[str]]) -> None:
    given_notes = [
        RelatedNote(f"/memories/project/n{number}.md", "\n".join(each), number)
        for number, each in enumerate(lines)
    ]
    texts = {note.path: note.text for note in given_notes}
    for each in related_notes(given_notes):
        assert 0 <= each.score <= 1
        assert len(each.paths) == len(each.evidence) == 2
        for said in each.evidence:
            assert said.text.rstrip("…") in texts[said.path].split("\n")[said.line - 1]


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("guide.md", "- ChartKit was removed, see the changelog."),
        ("rendering-history.md", ""),
    ],
)
def test_a_note_that_tells_itself_what_went_is_not_superseded(name: str, also: str) -> None:
    texts = {
        name: f"# Guide\n\n- **Problem**: ChartKit had slow axes.\n{also}\n",
        "status.md": "# Status\n\nReplaced ChartKit with `d3-shape`.\n",
    }
    assert found(texts, "superseded", **{name.removesuffix(".md").replace("-", "_"): 1}, status=9) == []


def test_a_block_that_a_tool_keeps_in_every_file_makes_no_two_notes_alike() -> None:
    rules = "\n".join(
        f"- Rule {number}: open `specs/{number}.md` and follow it to the letter." for number in range(9)
    )
    managed = f"<!-- SPECS:START -->\n# Instructions\n\n{rules}\n<!-- SPECS:END -->\n"
    texts = {
        "AGENTS.md": managed,
        "CLAUDE.md": f"{managed}\n# Deploying\n\n- `make deploy` is run from the release branch alone.\n",
    }
    assert found(texts, "near-duplicate") == found(texts, "successor") == []
    plain = {name: text.replace("<!-- SPECS:START -->\n", "") for name, text in texts.items()}
    (one,) = found(plain, "near-duplicate")
    assert named(one) == ["AGENTS.md", "CLAUDE.md"]


def test_the_words_of_one_trade_make_no_two_notes_alike() -> None:
    brief = (
        "# Goal\n\nDeploying the billing service to staging and production: a branch, a cluster, a canary, a "
        "database, a channel.\n\n# Tests\n\nAll tests run at night on a copy of the archive.\n"
    )
    assert found({"brief.md": brief, "CLAUDE.md": PARTS}, "near-duplicate") == []


def test_notes_that_state_different_things_about_the_same_are_called_differing_with_both_lines() -> None:
    other = BODY.replace("ten minutes", "twenty minutes")
    (one,) = found({"deploy.md": BODY, "billing-releases.md": other}, "differing")
    assert found({"deploy.md": BODY, "billing-releases.md": other}, "near-duplicate") == []
    assert sorted(each.text for each in one.evidence) == [
        "- Wait for the canary to be green for ten minutes before you promote it.",
        "- Wait for the canary to be green for twenty minutes before you promote it.",
    ]


def test_a_short_note_in_other_words_is_a_near_duplicate() -> None:
    (one,) = found(
        {
            "secrets.md": "Never commit secrets to any public repository.\n",
            "credentials.md": "Secrets must never be committed to any public repository.\n",
        },
        "near-duplicate",
    )
    assert set(named(one)) == {"secrets.md", "credentials.md"}


def test_two_notes_of_the_archive_are_left_as_they_were() -> None:
    archived = {f"archive/{name}": text for name, text in (("one.md", BODY), ("two.md", BODY))}
    assert found(archived, "near-duplicate") == found(archived, "successor") == []
    assert found({"one.md": BODY, "archive/two.md": BODY}, "near-duplicate")


def test_notes_that_follow_a_template_are_the_same_only_where_nearly_all_is() -> None:
    rows = "\n".join(f"| 1.{number} | Run the checks of this part | Complete |" for number in range(9))
    texts = {
        f"TASK07{number}-{area}.md": f"# Exceptions of {area}\n\nCatch what `{area}.py` raises.\n\n{rows}\n"
        for number, area in ((8, "forestry"), (9, "harvest"))
    }
    assert found(texts, "near-duplicate") == found(texts, "successor") == []


def test_a_line_that_names_both_versions_contradicts_none_of_them() -> None:
    texts = {
        "tech.md": "- Python 3.11+ targeted; 3.10 is the minimum.\n",
        "guide.md": "- Python 3.10 is used.\n",
    }
    assert found(texts, "contradiction") == []
    texts["tech.md"] = "- Python 3.11 is used.\n"
    assert found(texts, "contradiction")
    texts = {
        "tech.md": "- **Framework**: Next.js 16, with 15 routes\n",
        "guide.md": "- Next.js 15 is used here.\n",
    }
    assert found(texts, "contradiction"), "one number alone may count anything"


@pytest.mark.parametrize(
    "task", ["2.1: Create <VERB> /api/<resource> route", "Does the branch name hold the number of the issue?"]
)
def test_a_form_that_is_filled_in_each_time_is_no_open_task(task: str) -> None:
    texts = {"plan.md": f"# Plan\n\n- [ ] {task}\n", "state.md": f"# State\n\n- [x] {task}\n"}
    assert found(texts, "superseded", plan=1, state=2) == []


def test_what_is_ready_for_a_step_has_not_done_it() -> None:
    texts = {
        "plan.md": "# Portal\n\n- Phase 5: end-to-end tests of the portal (next)\n",
        "state.md": "# Portal\n\n- ✅ Ready for Phase 5: end-to-end tests of the portal\n",
    }
    assert found(texts, "superseded", plan=1, state=2) == []


def test_a_table_of_data_is_no_note() -> None:
    rows = "\n".join(f"site{number}\tdelimiter\tcolumns of the export {number}" for number in range(20))
    kinds: tuple[RelatedKind, ...] = ("near-duplicate", "successor")
    assert not any(found({"sites.tsv": rows, "sites-summary.md": rows}, kind) for kind in kinds)
    assert any(found({"sites.md": rows, "sites-summary.md": rows}, kind) for kind in kinds)


def test_a_quoted_line_is_no_fence_of_the_front_matter() -> None:
    head = "---\nname: deploy\ndescription: How we deploy\n---\n"
    small = BODY.replace("- ", "* Please: ")
    for kind in ("near-duplicate", "successor", "contradiction", "superseded"):
        for one in found({"deploy.md": head + BODY, "billing-releases.md": head + small}, kind):
            assert all(each.text.strip("-") for each in one.evidence)


PROGRESS = """# Refactoring of the ledger: progress

- The parser of bank statements is split off
- Next: split off the matcher of payments
"""
RESULT = """# Refactoring of the ledger is completed

- The parser of bank statements is split off
- The matcher of payments is split off, too
"""


def staged(first: str, second: str) -> list[RelatedNotes]:
    texts = {first: PROGRESS, second: RESULT}
    may = [replace(note, may_edit=True, may_delete=True) for note in notes(texts)]
    return [each for each in related_notes(may) if {*named(each)} == {first, second}]


def test_a_note_of_progress_is_superseded_by_that_of_the_result() -> None:
    (one,) = staged("ledger-refactoring-progress.md", "ledger-refactoring-completed.md")
    assert one.kind == "superseded"
    assert named(one) == ["ledger-refactoring-progress.md", "ledger-refactoring-completed.md"]
    assert [each.text for each in one.evidence] == [PROGRESS.split("\n")[0], RESULT.split("\n")[0]]
    assert one.proposal is not None
    assert one.proposal.texts == {"/memories/project/ledger-refactoring-progress.md": None}


def test_a_plan_may_say_more_than_its_result_so_it_is_not_suggested_for_deletion() -> None:
    (one,) = staged("ledger-refactoring-plan.md", "ledger-refactoring-completed.md")
    assert one.proposal is None


def test_notes_of_two_works_are_apart() -> None:
    assert staged("ledger-refactoring-progress.md", "invoices-refactoring-completed.md") == []
