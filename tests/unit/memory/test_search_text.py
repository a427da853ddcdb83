"""What counts as a word, how a question is read, and which line of a text is shown for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.scopes import Scope
from reverie.memory.search.query import Changed, SearchQuery, parse_query, regex_problem
from reverie.memory.search.snippets import WIDTH, snippet
from reverie.memory.search.words import folded, index_parts, index_text, parts, tokens

DAY_NS = 24 * 3_600_000_000_000
HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4E40), min_size=1, max_size=8)
KANA = st.text(st.sampled_from("がぎカキプロジェクト設定値"), min_size=1, max_size=8)
WORD = st.from_regex(r"[a-z][a-z0-9]{1,7}", fullmatch=True)


@pytest.fixture(scope="module")
def matches() -> Callable[[str, str], bool]:
    """Whether the index of a text answers a question, in the tables of the real index."""

    def match(text: str, asked: str) -> bool:
        connection = sqlite3.connect(":memory:")
        try:
            connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5(name, body, parts, content='', "
                "tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\")"
            )
            connection.execute(
                "INSERT INTO words (rowid, name, body, parts) VALUES (1, '', ?, ?)",
                (index_text(text), index_parts(text)),
            )
            phrases = [term.phrase for term in parse_query(asked).terms]
            assert phrases, asked
            wanted = " AND ".join(phrases)
            return bool(connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (wanted,)).fetchall())
        finally:
            connection.close()

    return match


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("call max_retries here", "max_retries"),
        ("call max_retries here", "max_ret"),
        ("call max_retries here", "retries"),
        ("call max_retries here", "max retries"),
        ("let maxRetries = 3", "retries"),
        ("let maxRetries = 3", "maxretries"),
        ("class HTTPServerError", "server"),
        ("a _private name", "private"),
        ("the retry-after header", "retry-after"),
        ("the retry-after header", '"retry after"'),
        ("Ein CAFÉ in Köln", "cafe koln"),
        ("ein cafe", "CAFÉ"),
        ("Straße", "strasse"),
        ("ｆｕｌｌ width", "full"),
        ("設定値を変更する", "設定"),
        ("設定値を変更する", "定値"),
        ("設定値を変更する", "値"),
        ("設定値を変更する", "る"),
        ("設定値を変更する", "設定値を変更する"),
        ("max値段", "max値"),
        ("한국어 메모", "국어"),
        ("ﾌﾟﾛｼﾞｪｸﾄ", "プロジェクト"),
        ("𠀋𠀌", "𠀋𠀌"),
        ("値 retry 設定", '"値 retry 設"'),
        ("say “don't panic” now", "don't"),
    ],
)
def test_a_text_is_found_by(text: str, asked: str, matches: Callable[[str, str], bool]) -> None:
    assert matches(text, asked)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("retry later", "retries"),
        ("retries", '"retr"'),
        ("max other retries", '"max retries"'),
        ("設定値", "定設"),
        ("設 定", "設定"),
        ("かき", "がき"),
        ("one two", "one three"),
    ],
)
def test_a_text_is_not_found_by(text: str, asked: str, matches: Callable[[str, str], bool]) -> None:
    assert not matches(text, asked)


@settings(max_examples=examples(100), deadline=None)
@given(before=HAN, found=st.one_of(HAN, KANA), after=HAN, glue=st.sampled_from(["", " ", "a", "。"]))
def test_every_part_of_a_run_without_spaces_is_found(
    before: str, found: str, after: str, glue: str, matches: Callable[[str, str], bool]
) -> None:
    assert matches(before + glue + found + after, found)


@settings(max_examples=examples(100), deadline=None)
@given(words=st.lists(WORD, min_size=1, max_size=5), data=st.data())
def test_every_word_and_every_beginning_of_two_letters_is_found(
    words: list[str], data: st.DataObject, matches: Callable[[str, str], bool]
) -> None:
    text = data.draw(st.sampled_from([" ", ", ", "\n", "/"])).join(words)
    word = data.draw(st.sampled_from(words))
    assert matches(text, word[: data.draw(st.integers(2, len(word)))])
    assert matches("_".join(words), word) or len("_".join(words)) > 100
    assert matches(text, f'"{" ".join(words)}"')


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=60))
def test_no_text_breaks_the_tokeniser_and_every_token_lies_in_it(text: str) -> None:
    at = 0
    for token in tokens(text):
        assert 0 <= token.start < token.end <= len(text)
        assert token.start >= at
        at = token.start
        for part in parts(token, text):
            assert token.start <= part.start < part.end <= token.end
    assert folded(folded(text)) == folded(text) or not text.isascii()
    index_text(text)
    index_parts(text)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from('ab _-"/:<>7d.()+*\\scopehm值'), max_size=40), st.text(max_size=60))
def test_a_question_is_read_whatever_is_typed_and_sqlite_takes_it(asked: str, text: str) -> None:
    query = parse_query(asked)
    assert all(term.phrase for term in query.terms)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
        for term in query.terms:
            connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (term.phrase,)).fetchall()
    finally:
        connection.close()
    if not query.problems:
        shown = snippet(text + asked, query)
        assert all(0 <= start < end <= len(shown.text) for start, end in shown.hits)


def test_filters_are_read() -> None:
    query = parse_query('retry scope:proj home:"my mux" pinned:yes changed:<7d by:you "two words"')
    assert [term.text for term in query.terms] == ["retry", "two words"]
    assert query.scopes == {Scope.PROJECT}
    assert query.homes == ("my mux",)
    assert query.pinned is True
    assert query.changed == Changed(True, 7 * DAY_NS)
    assert query.by == "user"
    assert parse_query("changed:>2w").changed == Changed(False, 14 * DAY_NS)
    assert parse_query("changed:3h").changed == Changed(True, 3 * DAY_NS // 24)
    assert parse_query("pinned:no").pinned is False


@pytest.mark.parametrize("asked", ["", "  ", "scope:", "changed:<", "pinned:"])
def test_what_is_not_typed_yet_asks_nothing(asked: str) -> None:
    assert parse_query(asked).is_empty


@pytest.mark.parametrize(
    "asked", ["scope:galaxy", "pinned:perhaps", "changed:soon", "/(/", "/(a+)+$/", "/(ab|ba)*c/"]
)
def test_what_cannot_be_meant_is_told(asked: str) -> None:
    (problem,) = parse_query(asked).problems
    assert problem.endswith(".")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a*b)+",
        "(foo|bar)*",
        "(?:a+){,20}",
        "(?x: ( a + ) * )",
        "(?>a*)*",
        "(ab|c)*",
        "a*b*c*d*",
        "(?<=x)(.+c)+",
    ],
)
def test_a_pattern_that_might_never_end_is_refused(pattern: str) -> None:
    (problem,) = regex_problem(pattern)
    assert "could take forever" in problem


@pytest.mark.parametrize(
    "pattern",
    [
        "ret(ry|ries)",
        "(a|b|[cd])*",
        "(ab|ac)*",
        "[(*+|]+x",
        r"(\(*)",
        "(a{2,5}b)+",
        "a*b*c*",
        "a(?#(*)+",
    ],
)
def test_a_pattern_that_ends_is_searched_for(pattern: str) -> None:
    assert regex_problem(pattern) == []


def test_what_is_no_filter_of_ours_is_words() -> None:
    assert [term.text for term in parse_query("see http://host:80/x note:y").terms] == [
        "see",
        "http://host:80/x",
        "note:y",
    ]


def test_a_pattern_stands_between_slashes_and_a_path_is_none() -> None:
    assert parse_query("/ret(ry|ries)/ deploy") == SearchQuery(
        terms=parse_query("deploy").terms, regex="ret(ry|ries)"
    )
    assert parse_query("/memories/global/x.md").regex == ""
    assert parse_query("/a.*b.*c/").regex == "a.*b.*c"


def test_signs_alone_are_looked_for_as_they_stand() -> None:
    assert parse_query("->").regex == "\\->" or parse_query("->").regex == "->"
    assert snippet("a -> b", parse_query("->")).hits == ((2, 4),)


def test_only_the_last_word_may_be_unfinished() -> None:
    first, last = parse_query("retr polic").terms
    assert (first.goes_on, last.goes_on) == (False, True)
    assert not parse_query("polic ").terms[0].goes_on


def shown_hits(text: str, asked: str) -> list[str]:
    shown = snippet(text, parse_query(asked))
    return [shown.text[start:end] for start, end in shown.hits]


@pytest.mark.parametrize(
    ("text", "asked", "hits"),
    [
        ("The Retry limit", "retry ", ["Retry"]),
        ("The retrying", "retr", ["retr"]),
        ("set max_retries to 3", "retries", ["retries"]),
        ("set maxRetries to 3", "retries", ["Retries"]),
        ("a retry-after b", "retry-after", ["retry-after"]),
        ("Ein Café hier", "cafe", ["Café"]),
        ("設定値を変更", "定値", ["定値"]),
        ("one two three", "three one ", ["one", "three"]),
        ("Deploy\tnow   please", '"now please"', ["now please"]),
        ("no such word", "other", []),
        ("fooretry", "retry", []),
    ],
)
def test_hits_are_marked(text: str, asked: str, hits: list[str]) -> None:
    assert shown_hits(text, asked) == hits


def test_the_snippet_is_the_place_where_most_stands_together() -> None:
    text = "alpha here\n" + "x " * 400 + "\nalpha and beta there\n"
    shown = snippet(text, parse_query("alpha beta"))
    assert "beta" in shown.text
    assert shown.line == 3
    assert len(shown.text) <= WIDTH + 60


def test_without_a_hit_the_beginning_is_shown_front_matter_aside() -> None:
    assert snippet("---\ndescription: x\n---\n\nBody here\n", parse_query("other")).text == "Body here"
    assert snippet("", parse_query("other")).text == ""


def test_a_word_in_a_huge_line_is_cut_out_with_dots() -> None:
    shown = snippet("a" * 10 + " b" * 5000 + " needle" + " c" * 5000, parse_query("needle"))
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert [shown.text[start:end] for start, end in shown.hits] == ["needle"]
