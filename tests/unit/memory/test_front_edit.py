"""One key of a front matter is set or removed; every other byte stays, and the agents read what was said.

Rules: formats/mux.md section 7; both shapes of formats/claude-code.md section 4.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.memory.front_matter import FrontError, declared, read, remove, set_value

CLAUDE = """---
name: deploy-steps
description: "How we deploy" # keep short
metadata:
  node_type: memory
  type: project # kind
  originSessionId: 1f2e
---
Body
"""


def _front(lines: str, body: str = "Body\n") -> str:
    return f"---\n{lines}---\n{body}"


# Reading


def test_both_shapes_are_read_with_their_nested_keys() -> None:
    front = read(CLAUDE)
    assert front.there
    assert not front.problem
    assert [entry.path for entry in front.entries] == [
        ("name",),
        ("description",),
        ("metadata", "node_type"),
        ("metadata", "type"),
        ("metadata", "originSessionId"),
    ]
    assert front.text("metadata", "type") == "project"
    assert read("# No front matter\n").entries == ()


def test_what_is_no_string_is_shown_as_written() -> None:
    front = read(_front("count: 12\ntags: [a, b]\nempty:\ndeep:\n  a: {b: c}\n"))
    assert {entry.path: (entry.text, entry.raw) for entry in front.entries} == {
        ("count",): (None, "12"),
        ("tags",): (None, "[a, b]"),
        ("empty",): (None, ""),
        ("deep", "a"): (None, "{b: c}"),
    }


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (_front("name: a\ndescription: a: b\n"), "malformed", 3),
        (_front("- a\n- b\n"), "not-a-mapping", 2),
        ("---\ndescription: open\n", "unclosed", 0),
    ],
)
def test_a_broken_block_says_why_and_cannot_be_edited(text: str, problem: str, line: int) -> None:
    front = read(text)
    assert (front.problem, front.line) == (problem, line)
    with pytest.raises(FrontError) as refused:
        set_value(text, "description", "x")
    assert refused.value.reason == problem
    with pytest.raises(FrontError):
        remove(text, "description")


# Setting


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("description: old # why\n", "new", "description: new # why\n"),
        ("description: 'old' # why\n", "it's", "description: 'it''s' # why\n"),
        ('description: "old"\n', 'say "so"\\', 'description: "say \\"so\\"\\\\"\n'),
        ("description: old\n", "a: b", 'description: "a: b"\n'),
        ("description: old\n", "https://a.example/b", "description: https://a.example/b\n"),
        ("description: old\n", "12", 'description: "12"\n'),
        ("description: old\n", "yes", 'description: "yes"\n'),
        ("description: old\n", "", 'description: ""\n'),
        ("description:\nname: b\n", "new", "description: new\nname: b\n"),
        ("description: # later\n", "new", "description: new # later\n"),
        ("description: |\n  a\n  b\nname: b\n", "c\nd\n", "description: |\n  c\n  d\nname: b\n"),
        (
            "description: >- # folded\n    a\n    b\nname: b\n",
            "c",
            "description: >- # folded\n    c\nname: b\n",
        ),
        ("description: old\n  goes on\nname: b\n", "new", "description: new\nname: b\n"),
        ("description: &d old\n", "new", "description: &d new\n"),
        ("name: a\n# end\n", "new", "name: a\ndescription: new\n# end\n"),
        ("  name: a\n  type: b\n", "new", "  name: a\n  type: b\n  description: new\n"),
        ("{name: a}\n", "new", '{name: a, description: "new"}\n'),
        ("{name: a, description: b}\n", "c, d", '{name: a, description: "c, d"}\n'),
        ("# only a comment\n", "new", "description: new\n# only a comment\n"),
        ("notes: |+\n  text\n\n\n", "new", "description: new\nnotes: |+\n  text\n\n\n"),
    ],
)
def test_a_value_is_set_in_its_own_style(before: str, value: str, after: str) -> None:
    assert set_value(_front(before), "description", value) == _front(after)


def test_a_nested_value_is_set_and_added_in_place() -> None:
    changed = set_value(CLAUDE, ("metadata", "type"), "user")
    assert changed == CLAUDE.replace("type: project #", "type: user #")
    added = set_value(CLAUDE, ("metadata", "modified"), "now")
    assert added == CLAUDE.replace("Id: 1f2e\n", "Id: 1f2e\n  modified: now\n")
    assert set_value(_front("name: a\n"), ("metadata", "type"), "user") == _front(
        "name: a\nmetadata:\n  type: user\n"
    )
    null = set_value(_front("metadata:\nname: a\n"), ("metadata", "type"), "user")
    assert read(null).text("metadata", "type") == "user"
    assert null.endswith("\nname: a\n---\nBody\n")


def test_a_text_without_front_matter_gets_a_block_above_it_with_its_line_ends() -> None:
    assert set_value("Body\n", "name", "a") == "---\nname: a\n---\nBody\n"
    assert set_value("\ufeffBody\r\nmore", "name", "a") == "\ufeff---\r\nname: a\r\n---\r\nBody\r\nmore"
    assert set_value("", "name", "a") == "---\nname: a\n---\n"
    assert set_value("---\n---\nBody\n", "name", "a") == "---\nname: a\n---\nBody\n"


def test_setting_what_it_says_already_changes_nothing() -> None:
    assert set_value(CLAUDE, "description", "How we deploy") is CLAUDE


def test_a_list_or_mapping_is_never_overwritten_by_a_string() -> None:
    for text in (_front("description:\n  - a\n"), _front("description: {a: b}\n"), CLAUDE):
        key = "metadata" if text is CLAUDE else "description"
        with pytest.raises(FrontError) as refused:
            set_value(text, key, "x")
        assert refused.value.reason == "not-a-text"
    with pytest.raises(FrontError):
        set_value(_front("metadata: words\n"), ("metadata", "type"), "x")


def test_a_value_that_others_refer_to_is_not_changed_behind_their_back() -> None:
    with pytest.raises(FrontError) as refused:
        set_value(_front("description: &d old\nname: *d\n"), "description", "new")
    assert refused.value.reason == "cannot"


def test_a_block_that_the_agent_would_no_longer_see_is_refused() -> None:
    with pytest.raises(FrontError) as refused:
        set_value("Body", "description", "x" * 5000, prefix_bytes=4096)
    assert refused.value.reason == "too-long"
    late = _front("notes: " + "x" * 5000 + "\nname: a\n")
    assert read(late, 4096).problem == "too-long"
    assert set_value(late, "notes", "short", prefix_bytes=4096) == _front("notes: short\nname: a\n")


# Removing


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("name: a\ndescription: b # c\n# d\ntype: e\n", "description", "name: a\n# d\ntype: e\n"),
        ("name: a\ndescription: b\n", "description", "name: a\n"),
        ("description: |\n  a\n\n  b\nname: a\n", "description", "name: a\n"),
        ("description:\nname: a\n", "description", "name: a\n"),
        ("tags:\n  - a\n  - b\nname: a\n", "tags", "name: a\n"),
        ("tags:\n- a\n- b\nname: a\n", "tags", "name: a\n"),
        ("{name: a, type: b, x: c}\n", "type", "{name: a, x: c}\n"),
        ("{name: a, type: b}\n", "name", "{type: b}\n"),
        ("name: a\n# why\n", "name", "# why\n"),
        ("name: a\n", "absent", "name: a\n"),
    ],
)
def test_a_key_goes_with_its_own_lines_only(before: str, key: str, after: str) -> None:
    assert remove(_front(before), key) == _front(after)


def test_a_mapping_and_a_block_that_would_be_empty_go_too() -> None:
    assert remove(_front("name: a\nmetadata:\n  type: user\n"), ("metadata", "type")) == _front("name: a\n")
    assert remove(CLAUDE, ("metadata", "type")) == CLAUDE.replace("  type: project # kind\n", "")
    assert remove(_front("name: a\n"), "name") == "Body\n"
    assert remove("\ufeff" + _front("name: a\n"), "name") == "\ufeffBody\n"
    # The body must not become a front matter by this.
    rest = remove(_front("name: a\n", "---\nother: b\n---\n"), "name")
    assert not read(rest).entries
    assert rest.endswith("---\nother: b\n---\n")


# Any front matter

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
PLAIN = st.from_regex(r"[a-z][a-z é]{0,8}[a-z]", fullmatch=True).filter(lambda word: word not in ("no", "on"))
NAMES = st.lists(
    st.from_regex(r"k[a-zA-Z_][a-z0-9-]{0,6}", fullmatch=True), unique=True, min_size=1, max_size=5
)


@st.composite
def _chunks(draw: st.DrawFn) -> list[tuple[tuple[str, ...], str]]:
    """A front matter in pieces: (path, its lines), comments and blank lines without a path."""
    made: list[tuple[tuple[str, ...], str]] = []
    for name in draw(NAMES):
        word, other = draw(PLAIN), draw(PLAIN)
        comment = draw(st.sampled_from(["", " # why", "   "]))
        made.append(
            (
                (name,),
                draw(
                    st.sampled_from(
                        [
                            f"{name}: {word}{comment}\n",
                            f"{name}:  '{word}'{comment}\n",
                            f'{name}: "{word}"{comment}\n',
                            f"{name}:{comment}\n",
                            f"{name}: 12{comment}\n",
                            f"{name}: >-{comment}\n   {word}\n   {other}\n",
                            f"{name}: |{comment}\n  {word}\n\n  {other}\n",
                            f"{name}: {word}\n   {other}\n",
                            f"'{name}' : {word}\n",
                        ]
                    )
                ),
            )
        )
        made.append(((), draw(st.sampled_from(["", "", "# note\n", "other" + name + ": [a, {b: c}]\n"]))))
    return made


@settings(max_examples=examples(100), deadline=None)
@given(chunks=_chunks(), value=WORDS, pick=st.integers(0, 99), crlf=st.booleans(), bom=st.booleans())
def test_any_value_reads_back_and_every_other_byte_stays(
    chunks: list[tuple[tuple[str, ...], str]], value: str, pick: int, crlf: bool, bom: bool
) -> None:
    own = [at for at, (path, _) in enumerate(chunks) if path]
    at = own[pick % len(own)]
    path = chunks[at][0]
    head = ("\ufeff" if bom else "") + "---\n" + "".join(lines for _, lines in chunks[:at])
    tail = "".join(lines for _, lines in chunks[at + 1 :]) + "---\nBody: x\n---\n"
    text = head + chunks[at][1] + tail
    if crlf:
        head, tail, text = (part.replace("\n", "\r\n") for part in (head, tail, text))
    changed = set_value(text, path, value)
    assert changed.startswith(head)
    assert changed.endswith(tail)
    assert read(changed).text(*path) == value
    if not bom:
        assert declared(set_value(text, "description", value)) == value
    again = set_value(changed, path, "other words")
    assert again.startswith(head)
    assert again.endswith(tail)
    if len(own) > 1:
        assert remove(text, path) == head + tail
