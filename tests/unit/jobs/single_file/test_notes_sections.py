"""The sections of session notes (formats/claude-code.md section 3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.notes_home import SECTIONS
from reverie.jobs.single_file.notes_sections import (
    current_template,
    default_template,
    is_template,
    over_limits,
    parse_sections,
    problems_of,
    reminder_of,
    rough_tokens,
    structure_break,
)

TEMPLATE = default_template()


def filled(name: str, body: str) -> str:
    section = next(section for section in parse_sections(TEMPLATE) if section.name == f"# {name}")
    return TEMPLATE[: section.start] + body + "\n" + TEMPLATE[section.start :]


def test_the_default_template_has_the_ten_sections_in_order_each_described() -> None:
    sections = parse_sections(TEMPLATE)
    assert [section.name.removeprefix("# ") for section in sections] == list(SECTIONS)
    assert all(section.description for section in sections)
    assert TEMPLATE.startswith("\n# Session Title\n_")
    assert problems_of(TEMPLATE, TEMPLATE) == ()
    assert is_template(f"\n\n{TEMPLATE}  ", TEMPLATE)
    assert not is_template(filled("Learnings", "x"), TEMPLATE)


@pytest.mark.parametrize(("units", "tokens"), [(0, 0), (1, 0), (2, 1), (5, 1), (6, 2), (8, 2)])
def test_tokens_are_a_quarter_of_the_length_rounded_half_up(units: int, tokens: int) -> None:
    assert rough_tokens("x" * units) == tokens


def test_a_section_is_header_description_and_body() -> None:
    text = "before\n# One\n_what_\nbody\n\n# Two\nno description\n# Three\n_\n#Four\n## Five\n"
    assert [(s.name, s.description, s.body, s.line) for s in parse_sections(text)] == [
        ("# One", "_what_", "body\n\n", 1),
        ("# Two", "", "no description\n", 5),
        ("# Three", "", "_\n#Four\n## Five\n", 7),
    ]
    assert parse_sections("") == parse_sections("no header") == ()


def test_a_code_fence_hides_no_header_and_line_ends_and_a_mark_do_not_matter() -> None:
    fenced = filled("Workflow", "```sh\n# comment\nmake\n```")
    assert "# comment" in [section.name for section in parse_sections(fenced)]
    assert structure_break(TEMPLATE, fenced) == "The header '# comment' was added."
    windows = "\ufeff" + TEMPLATE.strip().replace("\n", "\r\n")
    assert structure_break(TEMPLATE, windows) == ""


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ("# Learnings\n", "", "The header '# Learnings' is missing."),
        ("# Learnings\n", "# Lessons\n", "The header '# Learnings' is missing."),
        ("# Learnings\n", "# More\n# Learnings\n", "The header '# More' was added."),
        (
            "# Learnings\n",
            "# Learnings\n# Learnings\n",
            "The header '# Learnings' was added.",
        ),
        ("_What worked, ", "_What ", "The description under '# Learnings' was changed."),
        ("# Worklog\n", "# Worklog  \n", "The spaces after a header were changed."),
        ("\n# Session", "Obey me.\n# Session", "The text above the first header was changed."),
    ],
)
def test_what_breaks_the_structure_is_told(before: str, after: str, broken: str) -> None:
    assert structure_break(TEMPLATE, TEMPLATE.replace(before, after, 1)) == broken


def test_sections_in_another_order_break_it() -> None:
    lines = TEMPLATE.strip().split("\n\n")
    assert structure_break(TEMPLATE, "\n\n".join([lines[1], lines[0], *lines[2:]])) == (
        "The order of the sections was changed."
    )


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SECTIONS), st.text(st.characters(exclude_categories=("Cs",)), max_size=80))
def test_text_below_a_description_never_breaks_it_unless_it_holds_a_header(name: str, body: str) -> None:
    whole = structure_break(TEMPLATE, filled(name, body))
    assert (whole == "") == (not any(line.startswith("# ") for line in body.split("\n")))


def test_limits_are_exact_and_the_largest_is_named_first() -> None:
    section = parse_sections(TEMPLATE)[4]
    room = 2000 * 4 - len(section.description) - 1
    assert over_limits(filled("Workflow", "x" * (room + 1))) == ()
    (problem,) = over_limits(filled("Workflow", "x" * (room + 2)))
    assert (problem.kind, problem.section, problem.tokens) == ("long-section", "# Workflow", 2001)
    text = filled("Workflow", "x" * 9000)
    at = text.index("# Worklog")
    text = text[:at] + "# Worklog\n" + "y" * 60_000
    assert [(problem.kind, problem.section) for problem in over_limits(text)] == [
        ("long-file", ""),
        ("long-section", "# Worklog"),
        ("long-section", "# Workflow"),
    ]
    assert reminder_of(text).count("\n") == 2
    assert reminder_of(TEMPLATE) == ""


def test_a_person_is_told_what_is_wrong_and_nothing_is_refused() -> None:
    text = TEMPLATE.replace("# Workflow", "# Flow").replace("_What was tried", "_Tried")
    assert [(problem.kind, problem.section) for problem in problems_of(text, TEMPLATE)] == [
        ("missing", "# Workflow"),
        ("description", "# Worklog"),
    ]
    assert [problem.kind for problem in problems_of(" \n", TEMPLATE)] == ["empty"]


def test_a_persons_own_template_counts_unless_it_cannot_be_used(tmp_path: Path) -> None:
    own = tmp_path / "session-memory" / "config" / "template.md"
    assert current_template(own) == TEMPLATE
    own.parent.mkdir(parents=True)
    own.write_text("# Mine\n_only this_\n", encoding="utf-8")
    assert current_template(own) == "# Mine\n_only this_\n"
    own.write_bytes(b"\xff\xfe")
    assert current_template(own) == TEMPLATE
    own.unlink()
    own.mkdir()
    assert current_template(own) == TEMPLATE
