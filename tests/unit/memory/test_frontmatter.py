"""Front matter is found and shown exactly as the agent does it, and edited without touching anything else.

Rules: formats/mux.md section 7.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from helpers.foreign_home import ForeignHome
from helpers.profiles import examples
from helpers.samples import SAMPLES
from reverie.agents.mux.home import CAPS
from reverie.agents.scopes import Caps
from reverie.memory import front_matter as frontmatter
from reverie.memory import yaml12
from reverie.memory.front_matter import (
    Description,
    FrontError,
    declared,
    description,
    flattened,
    repair,
    set_description,
    split,
)

MUX, LEGACY = SAMPLES / "mux-home", SAMPLES / "mux-home-legacy"
ACME = "memory/project/acme-api-db553efff149"
PIPELINE = "memory/project/data-pipeline-21ca8fe13a59"
GARDEN = "memory/project/pixel-garden-151cea1d7209"


def of_text(text: str, caps: Caps = CAPS) -> Description:
    return description(text.encode("utf-8", "surrogatepass"), caps)


# What agents show


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{PIPELINE}/on call.md", Description("yes", "ok")),
        (f"{PIPELINE}/cost.md", Description("2026-07", "ok")),
        (f"{PIPELINE}/kafka:topics.md", Description("Topics: retention and partition counts", "ok")),
        (
            "memory/global/machines/laptop.md",
            Description("Laptop setup: shell, package manager, where caches live", "ok"),
        ),
        (
            "memory/global/meetings/2026/07/14-planning.md",
            Description("Q3 planning notes, 14 July 2026", "ok"),
        ),
        (
            "memory/global/people/équipe.md",
            Description("Équipe de Lyon — fuseau, jours fériés, contacts", "ok"),
        ),
        ("memory/global/日本語メモ.md", Description("日本語入力の設定とよく使う表現", "ok")),
        ("memory/global/broken-frontmatter.md", Description("", "malformed")),
        ("memory/global/snippets/jq.md", Description("", "none")),
        (f"{GARDEN}/build.md", Description("Build and preview", "ok")),
        (f"{GARDEN}/a11y.md", Description("Accessibility: what 'done' means", "ok")),
        (f"{ACME}/todo.txt", Description("", "none")),
        (f"{ACME}/reference/trace-dump.md", Description("", "none")),
    ],
)
def test_descriptions_of_the_sample_home(file: str, expected: Description):
    assert description((MUX / file).read_bytes()[:4096], CAPS) == expected


def test_a_description_over_200_units_is_cut_and_marked():
    shown = description((MUX / ACME / "glossary.md").read_bytes(), CAPS)
    assert shown.state == "ok"
    assert len(shown.text) == 201
    assert shown.text.endswith("and th…")


@pytest.mark.parametrize("root", [MUX, LEGACY], ids=["mux", "legacy"])
def test_every_note_of_the_samples_is_text_and_only_one_is_malformed(root: Path):
    states = {
        path.name: description(path.read_bytes(), CAPS).state
        for path in root.rglob("*")
        if path.is_file() and path.suffix in (".md", ".txt") and "memory" in path.parts
    }
    assert set(states.values()) <= {"ok", "none", "malformed"}
    assert [name for name, state in states.items() if state == "malformed"] in (
        [],
        ["broken-frontmatter.md"],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Description("", "none")),
        ("---", Description("", "none")),
        ("--- \ndescription: x\n---\n", Description("", "none")),
        ("\n---\ndescription: x\n---\n", Description("", "none")),
        ("---\n---\nbody", Description("", "none")),
        ("---\n\n---\nbody", Description("", "none")),
        ("---\n# only a comment\n---\n", Description("", "none")),
        ("---\ntags: [a]\n---\n", Description("", "none")),
        ("---\ndescription:\n---\n", Description("", "none")),
        ("---\ndescription: 12\n---\n", Description("", "none")),
        ("---\ndescription: [a]\n---\n", Description("", "none")),
        ('---\ndescription: " \\t "\n---\n', Description("", "none")),
        ("---\ndescription: true\n---\n", Description("", "none")),
        ("---\nText between rules\n---\n", Description("", "malformed")),
        ("---\n- a\n- b\n---\n", Description("", "malformed")),
        ("---\ndescription: a\ndescription: b\n---\n", Description("", "malformed")),
        ("---\ndescription: x\n", Description("", "unclosed")),
        ("---\ndescription: x\n----\n", Description("", "unclosed")),
        ("---\ndescription: x\n --- \n", Description("", "unclosed")),
        ("---\ndescription: x\n---", Description("x", "ok")),
        ("---\r\ndescription: x\r\n---\r\nbody", Description("x", "ok")),
        ("---\ndescription: x\r\n---\nbody", Description("x", "ok")),
        ("---\ndescription: one\n---\n---\ndescription: two\n---\n", Description("one", "ok")),
        ("---\n---\ndescription: x\n---\n", Description("x", "ok")),
        ("---\ndescription: 'a  b'\n---\n", Description("a b", "ok")),
        ("---\ndescription: |\n  a\n\n  b\n---\n", Description("a b", "ok")),
        ('---\ndescription: "\\a\\u00a0a\\u2003\\n b\\x7f\\x1b[1mc"\n---\n', Description("a b[1mc", "ok")),
    ],
)
def test_a_block_is_what_the_agent_takes_for_one(text: str, expected: Description):
    assert of_text(text) == expected


def test_a_byte_order_mark_hides_the_block_from_the_agent_but_not_from_an_editor():
    text = "\ufeff---\ndescription: x\n---\nbody"
    assert of_text(text) == Description("", "none")
    block = split(text)
    assert block is not None
    assert block.bom
    assert declared(text) == "x"


def test_a_split_says_where_block_and_body_are():
    text = "---\r\ntags: a\r\n# c\r\n---\r\nbody\r\n"
    block = split(text)
    assert block is not None
    assert text[block.block_start : block.block_end] == "tags: a\r\n# c"
    assert text[block.body_start :] == "body\r\n"
    assert (block.newline, block.bom) == ("\r\n", False)


# The border at 4096 bytes


def closing_at(byte: int, tail: str, filler: str = "x") -> bytes:
    """A block whose closing fence ends with byte number `byte` (counted from 1), followed by `tail`."""
    head, fence = "---\ndescription: found\npad: ", "\n---"
    room = byte - len(head) - len(fence)
    width = len(filler.encode())
    pad = filler * (room // width) + "x" * (room % width)
    return (head + pad + fence + tail).encode()


@pytest.mark.parametrize(
    ("byte", "tail", "state"),
    [
        (4095, "\nbody", "ok"),
        (4096, "\nbody", "ok"),
        (4096, "", "ok"),
        (4097, "\nbody", "unclosed"),
        (4096 + 3, "\nbody", "unclosed"),
        # The agent sees the end of its prefix, not that the line goes on.
        (4096, "-- no fence at all\n", "ok"),
        (4095, "- no fence at all\n", "unclosed"),
    ],
)
def test_a_block_must_close_within_the_prefix(byte: int, tail: str, state: str):
    data = closing_at(byte, tail)
    assert description(data, CAPS).state == state
    assert description(data[:4096], CAPS).state == state


@pytest.mark.parametrize("shift", range(4))
def test_a_prefix_may_end_inside_a_character(shift: int):
    body = "x" * (4096 - 30 + shift) + "😀" * 4
    data = f"---\ndescription: d\n---\n{body}".encode()
    assert description(data[:4096], CAPS) == Description("d", "ok")


def test_a_block_cut_inside_a_character_right_behind_its_fence_is_unclosed():
    data = closing_at(4094, "é", filler="ü")
    assert description(data[:4096], CAPS).state == "unclosed"
    assert description(closing_at(4095, "é")[:4096], CAPS).state == "unclosed"


def test_a_foreign_home_has_its_own_borders():
    caps = ForeignHome.caps
    data = b"---\ndescription: " + b"w" * 60 + b"\npad: " + b"x" * 600 + b"\n---\n"
    assert description(data, caps).state == "unclosed"
    assert description(data[:100] + b"\n---\n", caps) == Description("w" * 40 + "…", "ok")


# Text or not


@pytest.mark.parametrize("damage", [b"\xff", b"\0", b"\xc3(", b"\xed\xa0\x80"])
def test_what_is_no_utf8_text_says_so_and_keeps_the_description_that_the_agent_shows(damage: bytes):
    data = b"---\ndescription: x\n---\n" + damage + b"more"
    assert description(data, CAPS) == Description("x", "not-text")
    assert description(damage + b"more", CAPS) == Description("", "not-text")


def test_a_short_file_that_ends_inside_a_character_is_no_text():
    assert description("---\ndescription: é\n---\né".encode()[:-1], CAPS).state == "not-text"


def test_damage_in_a_description_shows_as_replacement_characters():
    assert description(b"---\ndescription: a\xffb\n---\n", CAPS) == Description("a\ufffdb", "not-text")


# One line, at most 200 UTF-16 units


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\n\tb", "a b"),
        ("a\u2028\ufeff\u3000b", "a b"),
        ("a\x07b\x7f", "ab"),
        ("a \x07 b", "a  b"),
        ("\x85a\x1cb", "\x85ab"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("😀" * 100, "😀" * 100),
        ("😀" * 101, "😀" * 100 + "…"),
        ("x" + "😀" * 100, "x" + "😀" * 99 + "…"),
        (" " * 300 + "x", "x"),
    ],
)
def test_a_description_becomes_one_line_of_200_units(text: str, line: str):
    assert flattened(text, 200) == line


@given(st.text(max_size=300), st.integers(0, 250))
def test_a_line_is_never_longer_than_the_limit_and_flattening_it_again_changes_nothing(text: str, limit: int):
    line = flattened(text, limit)
    assert not re.search(r"[\x00-\x1f\x7f]", line)
    units = len(line.encode("utf-16-le")) // 2
    assert units <= limit + (1 if line.endswith("…") else 0)
    if not line.endswith("…"):
        assert flattened(line, limit).replace("  ", " ") == line.replace("  ", " ")


# The quick ways for simple blocks

WORDS = st.lists(
    st.sampled_from(
        [
            *"abZé日0 .,-_!?&*|>%@`[]{}'\"\\#:\t",
            "null",
            "true",
            "yes",
            "[a, b]",
            '"q"',
            "\u2028",
            "\x85",
            "\ufeff",
            "\xa0",
            "\r",
            "\n",
            "\nb: ",
            "\ndescription: ",
        ]
    ),
    max_size=8,
).map("".join)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(["", '"', "'"]), WORDS | st.text(max_size=12), st.sampled_from(["\n", "\r\n"]))
@example("", "true", "\n")
@example("", "true ", "\n")
@example("", "x \t", "\n")
@example("", "", "\n")
@example('"', "", "\n")
def test_the_quick_ways_say_what_the_parser_says(quote: str, value: str, newline: str):
    text = f"---{newline}description: {quote}{value}{quote}{newline}---{newline}"
    block = split(text)
    assert block is not None
    raw = text[block.block_start : block.block_end]
    assert frontmatter._described(text, 200) == frontmatter._parsed(raw, 200, "strict")


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["description", "tags", "a-b", "true", "null", "n", "1"]),
            st.sampled_from(["", '"', "[", " "]),
            WORDS,
            st.sampled_from(["\n", "\r\n", " \n"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_quick_way_for_lines_says_what_the_parser_says(lines: list[tuple[str, str, str, str]]):
    closing = {"[": "]"}
    raw = "".join(f"{key}: {mark}{value}{closing.get(mark, mark)}{end}" for key, mark, value, end in lines)
    quick = frontmatter._simple_lines(raw)
    if quick is not None:
        assert frontmatter._shown(quick, 200) == frontmatter._parsed(raw, 200, "strict")


def test_the_quick_ways_are_taken_by_what_agents_mostly_write(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(yaml12, "parse", lambda block, **_how: pytest.fail("the parser was called"))
    assert of_text("---\ndescription: Plain words, even (some) signs\n---\n").state == "ok"
    assert of_text('---\ndescription: "Quoted: with a colon, #2"\n---\n').state == "ok"
    assert of_text("---\r\ndescription: Windows\r\ndate: 2026-07-14\r\n---\r\n").state == "ok"
    assert of_text("---\nowner: dev\ndescription: Words\ntags: [style, two words]\n---\n").state == "ok"
    assert of_text("No block").state == "none"


# Setting a description


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "---\ndescription: New words\n---\n"),
        ("body", "---\ndescription: New words\n---\nbody"),
        ("a\r\nb\n", "---\r\ndescription: New words\r\n---\r\na\r\nb\n"),
        ("\ufeffbody\n", "\ufeff---\ndescription: New words\n---\nbody\n"),
        ("---\ntags: [a]\n---\nb", "---\ndescription: New words\ntags: [a]\n---\nb"),
        ("---\n  tags: [a]\n---\nb", "---\n  description: New words\n  tags: [a]\n---\nb"),
        ("---\n---\nb", "---\ndescription: New words\n---\nb"),
        ("---\n\n---\nb", "---\ndescription: New words\n\n---\nb"),
        ("---\n# c\n---\nb", "---\ndescription: New words\n# c\n---\nb"),
        ("---\ndescription: old # c\n---\nb", "---\ndescription: New words # c\n---\nb"),
        ('---\r\ndescription: "old"\r\n---\r\nb', "---\r\ndescription: New words\r\n---\r\nb"),
        ("---\ndescription:\ntags: a\n---\n", "---\ndescription: New words\ntags: a\n---\n"),
        ("---\ndescription:  # c\ntags: a\n---\n", "---\ndescription: New words  # c\ntags: a\n---\n"),
        (
            "---\na: 'q' # c\ndescription: >- # why\n  old\n\n  words\n\n# next\nb: \"z\"\n---\n",
            "---\na: 'q' # c\ndescription: New words # why\n\n# next\nb: \"z\"\n---\n",
        ),
        (
            "---\ndescription: 'old\n  words' # c\nb: 1\n---\n",
            "---\ndescription: New words # c\nb: 1\n---\n",
        ),
        (
            "---\ndescription: # c\n  - a\n  - b\nb: 1\n---\n",
            "---\ndescription: New words # c\nb: 1\n---\n",
        ),
        ("---\ndescription: [a, b] # c\n---\n", "---\ndescription: New words # c\n---\n"),
        ("---\n{description: old, a: b}\n---\n", '---\n{description: "New words", a: b}\n---\n'),
        ("---\n{a: b}\n---\n", '---\n{description: "New words", a: b}\n---\n'),
        ("---\n{}\n---\n", '---\n{description: "New words"}\n---\n'),
        ("---\n? description\n: old\n---\n", "---\n? description\n: New words\n---\n"),
        ("---\n--- \na: b\n---\n", "---\n--- \ndescription: New words\na: b\n---\n"),
        ("---\na: [x\n---\n", '---\ndescription: New words\na: "[x"\n---\n'),
        ("---\nRuled text\n---\n", "---\ndescription: New words\n---\n---\nRuled text\n---\n"),
        ("---\nunclosed", "---\ndescription: New words\n---\n---\nunclosed"),
    ],
)
def test_setting_a_description_changes_only_its_own_lines(text: str, expected: str):
    assert set_description(text, "New words") == expected
    assert declared(expected) == "New words"
    assert set_description(expected, "New words") == expected


LONG = "---\npad: " + "x" * 5000 + "\n---\nbody"


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\na: 2\n---\n",
        "---\na: &d x\ndescription: &e y\nb: *e\n---\n",
        "---\ndescription: never closed\n\n# Title\n",
        LONG,
        "---\ntitle: x\npad: " + "x" * 4060 + "\n---\nbody",
        "\n---\nowner: dev\n---\nbody\n",
    ],
)
def test_a_block_that_the_agent_cannot_be_made_to_read_is_left_and_gets_none_above_it(text: str):
    with pytest.raises(FrontError):
        set_description(text, "Seen", prefix_bytes=4096)


def test_a_long_block_takes_a_description_where_nothing_limits_it():
    assert set_description(LONG, "Seen").startswith("---\ndescription: Seen\npad: xxx")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: a\n--- \nbody\n", "---\ndescription: Seen\nname: a\n---\nbody\n"),
        ("--- \t\nname: a\n---\nbody\n", "---\ndescription: Seen\nname: a\n---\nbody\n"),
        ("\n\n---\nname: a\n---\nbody\n", "---\ndescription: Seen\nname: a\n---\nbody\n"),
        ("---\nname: a\n...\nbody\n", "---\ndescription: Seen\nname: a\n---\nbody\n"),
        (
            "---\nname: a\ntags:\n\t- b\n\t- c\n---\nbody\n",
            "---\ndescription: Seen\nname: a\ntags:\n  - b\n  - c\n---\nbody\n",
        ),
        (
            "---\r\nname: a\r\nmetadata:\r\n\ttype: user\r\n--- \r\nbody\r\n",
            "---\r\ndescription: Seen\r\nname: a\r\nmetadata:\r\n  type: user\r\n---\r\nbody\r\n",
        ),
    ],
)
def test_blanks_an_empty_line_dots_and_tabs_are_mended_in_place(text: str, expected: str):
    assert set_description(text, "Seen", prefix_bytes=4096) == expected


@pytest.mark.parametrize(
    "text",
    [
        "---\ntags:\n  - @a\n  - b\n---\n",
        "---\nmetadata:\n   type: a\n  name: b\n---\n",
        "---\nglobs: [*.ts]\n---\n",
        "---\nmap: {a: b: c}\n---\n",
    ],
)
def test_a_list_or_a_mapping_never_becomes_a_string(text: str):
    assert repair(text) is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "yes",
        "null",
        "12",
        "a: b",
        "a #b",
        "'",
        '"',
        "\\",
        "a\nb",
        "\u2028\x07\x85\ufeff",
        "😀",
        "- a",
        "*a",
        "x ",
        "\U0010fffd\x07",
    ],
)
def test_any_value_reads_back_as_given(value: str):
    for text in ("body", "---\ndescription: old\na: 1\n---\n", "---\n{a: b}\n---\n"):
        assert declared(set_description(text, value)) == value


KEYS = st.sampled_from(["tags", "date", "owner", "x-y", "über", "on call"])
VALUES = st.sampled_from(
    [
        "a",
        "[a, b]",
        "'it''s'",
        '"q" # note',
        "2026-07-14",
        "",
        "\n  - a\n  - b",
        ">-\n  folded\n  text",
        "{a: 1}",
        "~",
    ]
)
OWN = st.sampled_from(
    [
        "old",
        '"old: text"  # note',
        "'it''s\n  two lines'",
        ">\n  folded\n  text",
        "|+ # note\n  kept\n",
        "",
        "12",
        "[a]",
    ]
)
COMMENTS = st.sampled_from(["", "# comment\n", "\n"])


@st.composite
def notes(draw: st.DrawFn) -> tuple[str, str | None, str]:
    """A note with a well-formed block: what stands before its description, the description's own lines (None
    if it has none), and what stands after them."""
    keys = draw(st.lists(KEYS, unique=True, max_size=3))
    chunks = [f"{draw(COMMENTS)}{key}: {draw(VALUES)}\n" for key in keys]
    place = draw(st.integers(0, len(chunks)))
    own = draw(st.none() | OWN)
    body = draw(st.sampled_from(["", "\n# Title\n\n- a\n", "---\nno block\n---\n", "description: not me\n"]))
    parts = [
        "".join(["---\n", *chunks[:place]]),
        None if own is None else f"description: {own}\n",
        "".join([*chunks[place:], "---\n", body]),
    ]
    if draw(st.booleans()):
        parts = [None if part is None else part.replace("\n", "\r\n") for part in parts]
    before, lines, after = parts
    return ("\ufeff" if draw(st.booleans()) else "") + (before or ""), lines, after or ""


@settings(max_examples=examples(250), deadline=None)
@given(notes(), st.text(max_size=30) | st.sampled_from(["plain words", "a: b", "it's", 'say "hi"']))
def test_all_other_lines_stay_byte_for_byte_and_the_value_reads_back(
    note: tuple[str, str | None, str], value: str
):
    before, own, after = note
    text = before + (own or "") + after
    assume(declared(text) != value)
    changed = set_description(text, value)
    assert declared(changed) == value
    if own is None:
        added = [line for line in re.findall(r"[^\n]*\n", changed) if line.startswith("description: ")][:1]
        assert changed.replace(added[0], "", 1) == text
        assert len(changed) == len(text) + len(added[0])
    else:
        assert changed.startswith(before)
        assert changed.endswith(after)
        added = re.findall(r"[^\n]*\n", changed[len(before) : len(changed) - len(after)])
        assert added[0].startswith("description: ")
        assert "".join(added[1:]).strip() == ""
    assert added[0].endswith("\r\n") == ("\r\n" in text)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.text(max_size=60) | st.text(max_size=40).map(lambda text: f"---\n{text}\n---\nbody"),
    st.text(max_size=20),
)
def test_any_text_takes_a_description_or_is_refused_for_a_block_that_cannot_be_read(text: str, value: str):
    try:
        changed = set_description(text, value)
    except FrontError:
        assert frontmatter.begins_block(text)
        return
    assert declared(changed) == value
    if not text.startswith(("---", "\ufeff")):
        assert changed.endswith(text)


# Mending


@pytest.mark.parametrize(
    ("block", "repaired"),
    [
        ("description: [unclosed list\ntags: {a: b", 'description: "[unclosed list"\ntags: "{a: b"'),
        ("description: see: this\ntags: [a]", 'description: "see: this"\ntags: [a]'),
        ('description: "he said "hi""', "description: 'he said \"hi\"'"),
        (
            "# c\ndescription: *bold* words\nk: &a 1\nl: *a",
            '# c\ndescription: "*bold* words"\nk: &a 1\nl: *a',
        ),
        ("description: `code`\r\nb: 1", 'description: "`code`"\r\nb: 1'),
        ("description: @me # c\nb: 'ok' # d", "description: \"@me # c\"\nb: 'ok' # d"),
        ("description: one\ntwo\n\n# c\nb: 1", 'description: "one\\ntwo"\n\n# c\nb: 1'),
        ('description: "never closed\nb: 1', "description: '\"never closed'\nb: 1"),
    ],
)
def test_mending_quotes_what_does_not_parse_and_keeps_the_rest(block: str, repaired: str):
    text = f"---\n{block}\n---\nbody: [\r\n"
    assert repair(text) == f"---\n{repaired}\n---\nbody: [\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "---\nunclosed: [",
        "---\nfine: x\n---\n",
        "---\nRuled text\n---\n",
        "---\ndescription: a\ndescription: b\n---\n",
        "---\n\tindented: [by tab\n---\n",
        "---\nwords first\nkey: [\n---\n",
        "---\nk: [" + "x" * 20_000 + "\n---\n",
    ],
)
def test_what_is_fine_or_beyond_mending_is_left_alone(text: str):
    assert repair(text) is None


def test_the_broken_note_of_the_sample_home_is_mended():
    text = (MUX / "memory/global/broken-frontmatter.md").read_text(encoding="utf-8")
    repaired = repair(text)
    assert repaired is not None
    assert of_text(repaired) == Description("[unclosed list", "ok")
    assert repaired.partition("\n---\n")[2] == text.partition("\n---\n")[2]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(
            KEYS | st.just("description"),
            st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12) | VALUES,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_mended_blocks_parse_and_keep_their_keys_in_order(pairs: list[tuple[str, str]]):
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in pairs) + "---\nbody"
    repaired = repair(text)
    if repaired is None:
        return
    block = split(repaired)
    assert block is not None
    root = yaml12.parse(repaired[block.block_start : block.block_end])
    assert root is not None
    assert [key.value.text for key, _ in root.pairs()] == [key for key, _ in pairs]
    assert repaired.endswith("---\nbody")
