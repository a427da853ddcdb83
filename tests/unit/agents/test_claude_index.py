"""`MEMORY.md` as Claude Code loads it: where it is cut, what is wrong with it, and mends that change nothing
else (formats/claude-code.md sections 4 and 10)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.memory_index import (
    INDEX,
    IndexEditError,
    IndexFinding,
    Topic,
    can_fix,
    cut_of,
    falls_off,
    fixes,
    is_conflict_copy,
    links,
    moved_up,
    relinked,
    report,
    respelled,
    with_line,
    with_shorter_line,
    without_line,
)
from reverie.text.summaries import utf16_length

BOM = "\ufeff"


def of_lines(count: int, newline: str = "\n") -> str:
    return "".join(f"- [T{n}](t{n}.md) — hook{newline}" for n in range(1, count + 1))


def of_chars(count: int) -> str:
    """Entries of a hundred characters, the last one longer, without a break at the end."""
    lines = [f"- [T{n}](t{n}.md) ".ljust(99, "x") for n in range(count // 100)]
    text = "\n".join(lines)
    return text + "y" * (count - len(text))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("count", "line"), [(199, None), (200, None), (201, 201), (500, 201)])
@pytest.mark.parametrize("ended", [True, False])
def test_the_index_is_cut_after_200_lines(newline: str, count: int, line: int | None, ended: bool) -> None:
    text = of_lines(count, newline)
    text = text if ended else text.removesuffix(newline)
    cut = cut_of(text)
    assert (cut.line, cut.lines, cut.over_lines) == (line, count, count > 200)
    lines = text.split(newline)[:200]
    assert cut.loaded == "\n".join(lines).strip()


@pytest.mark.parametrize(("count", "cut_off"), [(24_999, False), (25_000, False), (25_001, True)])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_index_is_cut_at_the_last_break_before_25_000_characters(
    count: int, cut_off: bool, newline: str
) -> None:
    text = of_chars(count)
    assert utf16_length(text) == count
    # Fewer lines than 200, so that the characters count alone. Each break counts as one character.
    text = text.replace("\n", " ", 100)
    cut = cut_of(text.replace("\n", newline))
    assert cut.over_chars == cut_off
    assert (cut.line is not None) == cut_off
    last = text.count("\n") + 1
    if cut_off:
        assert (cut.line, cut.column) == (last, 0)
        assert cut.loaded == text[: text.rindex("\n")]
    else:
        assert cut.loaded == text


def test_a_break_right_behind_the_last_character_that_fits_loses_no_line() -> None:
    text = "a" * 24_000 + "\n" + "b" * 999 + "\n" + "c" * 50
    cut = cut_of(text)
    assert (len(cut.loaded), cut.line, cut.column) == (25_000, 3, 0)
    assert cut_of("a" * 25_000 + "\n").line is None, "blank space is no loss"


def test_characters_are_those_of_javascript_and_a_byte_order_mark_is_none() -> None:
    assert cut_of("😀" * 12_500).line is None
    assert (cut_of("😀" * 12_501).line, cut_of("😀" * 12_501).column) == (1, 25_000)
    assert cut_of("a" + "😀" * 12_500).loaded == "a" + "😀" * 12_499, "no character is split"
    assert cut_of(BOM + "x" * 25_000).line is None
    assert cut_of(BOM + "x" * 25_001).line == 1
    assert cut_of("ä" * 25_000).line is None, "characters, not bytes"


def test_front_matter_and_block_comments_do_not_count_and_the_cut_names_the_line_of_the_file() -> None:
    head = f"{BOM}---\nx: y\n---\n\n<!-- for\n\npeople -->\n\n"
    cut = cut_of(head + of_lines(201))
    before = head.count("\n")
    assert (cut.lines, cut.line) == (201, before + 201)
    assert cut.loaded == of_lines(200).rstrip("\n")
    cut = cut_of(of_lines(100) + "<!-- one\ntwo -->\n" + of_lines(101))
    assert (cut.lines, cut.line) == (201, 203)
    assert cut_of("- a <!-- stays -->").loaded == "- a <!-- stays -->"
    assert cut_of("- a\r\n- b\r\n").loaded == "- a\n- b", "an index is loaded with plain line breaks"


def test_one_line_of_100_kb_is_loaded_in_part_and_one_further_down_not_at_all() -> None:
    long = "- [Long](long.md) " + "x" * 100_000
    cut = cut_of(long)
    assert (cut.line, cut.column, cut.loaded) == (1, 25_000, long[:25_000])
    cut = cut_of(f"- [A](a.md)\n- [B](b.md)\n{long}\n- [C](c.md)\n")
    assert (cut.line, cut.column) == (3, 0)
    assert cut.loaded == "- [A](a.md)\n- [B](b.md)"


def test_lines_are_cut_first_and_what_is_left_by_characters() -> None:
    text = "\n".join(["x" * 130] * 250)
    cut = cut_of(text)
    assert cut.over_lines
    assert cut.over_chars
    assert cut.line == 25_000 // 131 + 1


def test_an_absent_index_is_an_empty_one() -> None:
    found = report(None, [Topic("a.md", "", "a", "d")])
    assert (found.cut.line, found.cut.lines, found.cut.chars) == (None, 0, 0)
    assert [(each.problem, each.rel) for each in found.findings] == [("unlisted", "a.md")]


def test_any_markdown_is_taken_and_only_links_to_memories_count() -> None:
    text = (
        f"{BOM}# Index\n\n"
        'Prose with [one](one.md) and [two](./sub/two.md#part "x") in it.\n'
        "* [Angled](<with space.md>) [[slug]] [[other|shown]]\n"
        "- [Web](https://example.org/a.md) [Mail](mailto:a@b) [Head](#x) [Out](../out.md) [Abs](/etc/a.md)\n"
        "`[code](code.md)` and ``[[more`code]]``\n"
        "```\n[fenced](fenced.md)\n```\n"
        "- [Esc\\]aped](e%20s.md) [Par](a_(b).md)\n"
    )
    assert [(link.line, link.target, link.rel) for link in links(text)] == [
        (3, "one.md", "one.md"),
        (3, "./sub/two.md", "sub/two.md"),
        (4, "with space.md", "with space.md"),
        (4, "slug", None),
        (4, "other", None),
        (10, "e s.md", "e s.md"),
        (10, "a_(b).md", "a_(b).md"),
    ]
    assert [link.rel for link in links("[up](../a.md) [here](b.md)", "sub/x.md")] == ["a.md", "sub/b.md"]


def test_every_kind_of_disorder_is_found_where_it_is() -> None:
    index = (
        "- [A](a.md) — first\n"
        "- [Gone](gone.md) — no file\n"
        "- [A again](./a.md)\n"
        "- [[b-name]] by its name\n"
        "- [[nobody]]\n"
        f"- [Long](sub/c.md) — {'w ' * 100}\n"
        "- [Picture](pic.png)\n"
    )
    topics = [
        Topic("a.md", "See [[b-name]], [[a]], [[missing]] and [x](nowhere.md).\n", "same", "text"),
        Topic("b.md", "", "b-name", " "),
        Topic("sub/c.md", "[[sub/c]] [up](../a.md)", "same", None),
        Topic("d.md", "", None, "text"),
    ]
    found = report(index, topics, others=["pic.png"])
    assert [(each.problem, each.rel, each.line, each.about) for each in found.findings] == [
        ("no-file", INDEX, 2, "gone.md"),
        ("listed-twice", INDEX, 3, "./a.md"),
        ("dangling", INDEX, 5, "nobody"),
        ("long-line", INDEX, 6, "sub/c.md"),
        ("duplicate-name", "a.md", 0, "same"),
        ("dangling", "a.md", 1, "missing"),
        ("dangling", "a.md", 1, "nowhere.md"),
        ("no-description", "b.md", 0, ""),
        ("duplicate-name", "sub/c.md", 0, "same"),
        ("no-description", "sub/c.md", 0, ""),
        ("unlisted", "d.md", 0, "d.md"),
    ]
    assert found.fallen == ()


def test_what_falls_off_is_named() -> None:
    text = of_lines(203)
    topics = [Topic(f"t{n}.md", "", f"t{n}", "d") for n in range(1, 204)]
    found = report(text, topics)
    assert [entry.rel for entry in found.fallen] == ["t201.md", "t202.md", "t203.md"]
    assert [each.problem for each in found.findings] == ["over-lines", *["falls-off"] * 3]


# Mends


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "- [New one](sub/new.md) — what it is\n"),
        ("# Index\n", "# Index\n- [New one](sub/new.md) — what it is\n"),
        ("- [A](a.md)\n\nProse.\n", "- [A](a.md)\n- [New one](sub/new.md) — what it is\n\nProse.\n"),
        ("- [A](a.md)\r\n", "- [A](a.md)\r\n- [New one](sub/new.md) — what it is\r\n"),
        ("- [A](a.md)", "- [A](a.md)\n- [New one](sub/new.md) — what it is"),
        (f"{BOM}# I\r\nx", f"{BOM}# I\r\nx\r\n- [New one](sub/new.md) — what it is"),
    ],
)
def test_a_line_is_added_below_the_last_entry(text: str, after: str) -> None:
    assert with_line(text, "sub/new.md", "New one", "what it is") == after


def test_an_added_line_is_no_longer_than_wished_and_leads_to_its_file() -> None:
    made = with_line("", "odd (name) [x] 100% #1.md", "Odd ] title \\", "word " * 60)
    assert utf16_length(made.rstrip("\n")) <= 200
    (link,) = links(made)
    assert link.rel == "odd (name) [x] 100% #1.md"
    assert made.rstrip("\n").endswith("word…")


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("a\nb\nc\n", 2, "a\nc\n"),
        ("a\r\nb\r\n", 1, "b\r\n"),
        ("a\nb", 2, "a"),
        ("a\r\nb", 2, "a"),
        ("a", 1, ""),
    ],
)
def test_a_line_is_dropped_with_its_break(text: str, line: int, after: str) -> None:
    assert without_line(text, line) == after


def test_a_line_of_several_entries_is_not_dropped_and_one_of_long_links_not_shortened() -> None:
    with pytest.raises(IndexEditError):
        without_line("[A](a.md) [B](b.md)\n", 1)
    with pytest.raises(IndexEditError):
        without_line("a\n", 3)
    with pytest.raises(IndexEditError):
        with_shorter_line(f"- [A]({'a' * 200}.md)\n", 1)


def test_a_line_is_shortened_at_a_word_behind_its_links() -> None:
    text = f"x\r\n- [A](a.md) — {'word ' * 50}end\r\nz"
    made = with_shorter_line(text, 2)
    first, line, last = made.split("\r\n")
    assert (first, last) == ("x", "z")
    assert line.startswith("- [A](a.md) — word")
    assert line.endswith("word…")
    assert utf16_length(line) <= 200
    assert with_shorter_line("short\n", 1) == "short\n"


LINE = st.one_of(
    st.text(st.sampled_from("ab[](). \r`-—#😀"), max_size=30),
    st.builds(lambda n, s: f"- [T]({n}.md) — {s}", st.sampled_from("abc"), st.text(max_size=200)),
)


@settings(max_examples=examples(150))
@given(st.lists(LINE, max_size=8).map("\n".join), st.integers(1, 8), st.sampled_from(["", BOM]))
def test_a_mend_touches_one_line_only(text: str, line: int, bom: str) -> None:
    text = bom + text
    lines = text.split("\n")
    for mend in (with_shorter_line, without_line):
        try:
            made = mend(text, line)
        except IndexEditError:
            continue
        rest = made.split("\n")
        assert rest[: line - 1] == lines[: line - 1] or (mend is without_line and line == len(lines))
        if mend is with_shorter_line:
            assert rest[line:] == lines[line:]
    made = with_line(text, "new.md", "New")
    assert len(made) > len(text)
    kept = iter(made)
    assert all(char in kept for char in text), "nothing goes when a line comes"


def renamed(files: dict[str, str], moved: dict[str, str]) -> dict[str, str]:
    """The texts of the moved and the changed files after a rename, by their new paths."""
    after = relinked({moved.get(rel, rel): text for rel, text in files.items()}, moved, ())
    return {rel: text for rel, text in after.items() if rel in moved.values() or text != files[rel]}


def test_a_rename_takes_the_index_line_and_the_links_along_and_nothing_else() -> None:
    files = {
        INDEX: f"{BOM}- [Old title](old.md#x) — hook\r\n- [B](b.md)\r\n- [[old]] and [[old-name]]\r\n",
        "old.md": "---\nname: old-name\n---\nSee [B](b.md) and [[b]].\n",
        "b.md": "[[old|shown]] [Old](./old.md 't') `[[old]]`\n",
        "sub/c.md": "[Old](<../old.md>)\n",
        "other.md": "nothing\n",
    }
    assert renamed(files, {"old.md": "deep/new name.md"}) == {
        INDEX: f"{BOM}- [Old title](deep/new%20name.md#x) — hook\r\n- [B](b.md)\r\n"
        "- [[new name]] and [[old-name]]\r\n",
        "deep/new name.md": "---\nname: old-name\n---\nSee [B](../b.md) and [[b]].\n",
        "b.md": "[[new name|shown]] [Old](deep/new%20name.md 't') `[[old]]`\n",
        "sub/c.md": "[Old](<../deep/new name.md>)\n",
    }


def test_two_files_may_swap_names() -> None:
    files = {"a.md": "[[b]]", "b.md": "[[a]]", "c.md": ""}
    swapped = renamed(files, {"a.md": "b.md", "b.md": "a.md"})
    assert swapped == {"b.md": "[[a]]", "a.md": "[[b]]"}


def test_a_slug_that_several_files_have_stays() -> None:
    files = {INDEX: "[[x]] [[one/x]]\n", "one/x.md": "", "two/x.md": ""}
    assert renamed(files, {"one/x.md": "one/y.md"})[INDEX] == "[[x]] [[one/y]]\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("count", [199, 200, 201, 260])
def test_a_line_that_is_added_is_among_those_that_are_loaded(newline: str, count: int) -> None:
    before = of_lines(count, newline)
    after = with_line(before, "newest.md", "newest", "the newest rule")
    cut = cut_of(after)
    (line,) = (entry.line for entry in links(after) if entry.rel == "newest.md")
    assert not falls_off(cut, line)
    assert "newest.md" in cut.loaded
    assert sorted(after.split(newline)) == sorted([*before.split(newline), added_line(after)])


def added_line(text: str) -> str:
    return next(line for line in text.splitlines() if "newest.md" in line)


@given(st.lists(st.integers(2, 400), min_size=1, max_size=300), st.integers(2, 200))
@settings(max_examples=examples(40))
def test_a_line_is_added_where_it_is_loaded_whatever_the_limits_leave(
    lengths: list[int], length: int
) -> None:
    text = "".join(f"- [T{n}](t{n}.md) {'x' * size}\n" for n, size in enumerate(lengths))
    after = with_line(text, "newest.md", "newest", "y" * length)
    (line,) = (entry.line for entry in links(after) if entry.rel == "newest.md")
    assert not falls_off(cut_of(after), line)


def test_a_line_below_the_cut_moves_up_and_nothing_else_changes() -> None:
    before = of_lines(220)
    after = moved_up(before, 215)
    assert "(t215.md)" in cut_of(after).loaded
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    rest = [line for line in after.splitlines() if "(t215.md)" not in line]
    assert rest == [line for line in before.splitlines() if "(t215.md)" not in line]


def test_where_nothing_is_loaded_there_is_no_place_for_a_line() -> None:
    with pytest.raises(IndexEditError):
        with_line("x" * 30_000 + "\n- [A](a.md)\n", "newest.md", "newest")


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY.sync-conflict-20261101-101010-ABCDEFG.md",
        "MEMORY (conflicted copy 2026-11-01 101010).md",
        "MEMORY (Mia's conflicted copy 2026-11-01).md",
    ],
)
def test_a_conflict_copy_of_the_index_is_named_and_not_offered_for_a_line(name: str) -> None:
    assert is_conflict_copy(name)
    found = report("", [], [name]).findings
    assert [(each.problem, each.rel) for each in found] == [("conflict-copy", name)]


@pytest.mark.parametrize("name", ["MEMORY.md", "memory-model.md", "conflicts.md", "MEMORY-notes.md"])
def test_other_notes_are_no_conflict_copies(name: str) -> None:
    assert not is_conflict_copy(name)


def test_a_link_spelled_with_other_code_points_is_one_finding_with_a_repair() -> None:
    composed, apart = "\u00fcbersicht.md", "u\u0308bersicht.md"
    text = f"- [Overview]({composed}) — x\n"
    topics = [Topic(apart, "text", "overview", "d")]
    assert [each.problem for each in report(text, topics).findings] == ["other-spelling"]
    after = respelled(text, 1, [apart])
    assert report(after, topics).findings == ()
    assert after.startswith("- [Overview](")
    assert after.endswith(") — x\n")


def fixed(
    text: str, *findings: IndexFinding, topics: tuple[Topic, ...] = (), there: tuple[str, ...] = ()
) -> str:
    *_steps, last = fixes(text, findings, {topic.rel: topic for topic in topics}, there)
    return last


def test_each_fix_is_one_step_and_only_the_given_lines_change() -> None:
    long = f"- [A](a.md) {'word ' * 60}"
    text = f"# Index\n- [Gone](gone.md)\n{long}\n- [Gone](gone.md)\nProse.\n"
    topics = [Topic("a.md", "", "a", "about"), Topic("b.md", "", "b", "about b")]
    found = [each for each in report(text, topics).findings if can_fix(each)]
    assert [(each.problem, each.line) for each in found] == [
        ("no-file", 2),
        ("long-line", 3),
        ("no-file", 4),
        ("unlisted", 0),
    ]
    steps = [text, *fixes(text, found, {topic.rel: topic for topic in topics}, ("a.md", "b.md"))]
    assert len(steps) == 5
    assert not [each for each in report(steps[-1], topics).findings if can_fix(each)]
    # Of two equal lines the one that was asked for goes.
    assert fixed(text, found[2]) == text.replace(f"{long}\n- [Gone](gone.md)\n", f"{long}\n")
    assert fixed(text, found[0]) == text.replace(f"- [Gone](gone.md)\n{long}", long)


def test_a_line_that_goes_is_not_shortened_nor_another_in_its_place() -> None:
    long = f"- [Gone](gone.md) {'word ' * 60}\n"
    found = report(f"{long}{long}", []).findings
    lines = {each.problem: each for each in reversed(found) if each.line == 1}
    assert fixed(f"{long}{long}", lines["long-line"], lines["no-file"]) == long


def test_what_a_person_has_to_fix_is_left_and_nothing_else_to_fix_is_an_error() -> None:
    text = "- [A](a.md) and [Gone](gone.md)\n- [Lost](lost.md)\n"
    topics = [Topic("a.md", "")]
    both, one = (each for each in report(text, topics).findings if each.problem == "no-file")
    assert fixed(text, both, one) == "- [A](a.md) and [Gone](gone.md)\n"
    with pytest.raises(IndexEditError, match="several files"):
        fixed(text, both)
    with pytest.raises(IndexEditError, match="no longer"):
        fixed(text, IndexFinding("unlisted", "away.md"))
