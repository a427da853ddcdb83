"""The shortcuts of a search find what the slow way finds: which rows answer best, and where the words of a
question stand."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.mux.home import MuxHome
from reverie.agents.scopes import Scope
from reverie.memory.catalogue import FileCatalogue
from reverie.memory.search import index as search_index
from reverie.memory.search.hits import term_hits
from reverie.memory.search.index import Doc, SearchLimits, find
from reverie.memory.search.query import Term, parse_query
from reverie.memory.search.words import SearchToken, folded, parts, tokens

DAY_NS = 24 * 3_600_000_000_000
NOW_NS = 20_000 * DAY_NS
NOTES = 80
# From what all notes hold to what one does.
WORDS = ("the", "queue", "quota", "quorum", "retry", "retries", "ledger", "lint", "zyzzyva")
ASKED = st.sampled_from(
    [
        *WORDS,
        *(f"{word} " for word in WORDS),
        *(
            "qu",
            "quo",
            "re",
            "the qu",
            "the queue retry",
            "lint led",
            "ledger retry ",
            "retry scope:workspace",
        ),
        *(
            "queue scope:global",
            "the changed:<100d",
            "quota changed:>50d",
            "nothing",
            "the nothing",
            "scope:global",
        ),
        *("/r.t/ the", "/q/ lint "),
    ]
)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What the notes hold, by name."""
    dice = random.Random(9)
    made = {}
    for number in range(NOTES):
        words = [word for place, word in enumerate(WORDS) if dice.random() < 1 / (1 + place)]
        words += dice.choices(words or ["empty"], k=dice.randrange(4))
        made[f"{dice.choice(WORDS)}-{number:02}.md"] = " ".join(("the", *words))
    return made


@pytest.fixture(scope="module")
def index(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> FileCatalogue:
    directory = tmp_path_factory.mktemp("shortcuts")
    store = directory / "home/memory/global"
    store.mkdir(parents=True)
    dice = random.Random(10)
    for name, text in texts.items():
        (store / name).write_text(text)
        age = dice.choice((0, 1, 30, 60, 5_000)) * DAY_NS
        os.utime(store / name, ns=(NOW_NS - age, NOW_NS - age))
    made = FileCatalogue(directory / "index.sqlite", lock_dir=directory / "locks")
    made.update(MuxHome(directory / "home"), "home")
    # A row that leads nowhere any more.
    gone = store / next(iter(texts))
    gone.write_text("the quota of another time")
    os.utime(gone, ns=(NOW_NS, NOW_NS))
    made.update(MuxHome(directory / "home"), "home", dirty=(gone,))
    texts[gone.name] = gone.read_text()
    return made


def asked(index: FileCatalogue, text: str, count: int) -> tuple[Doc, ...]:
    docs, complete = find(index, parse_query(text), SearchLimits(("home",), NOW_NS, count))
    assert complete
    return docs


@pytest.mark.parametrize(("common", "candidates"), [(3, 5), (20, 30), (1_000, 400)])
@settings(max_examples=examples(100), deadline=None)
@given(text=ASKED, count=st.integers(1, 12))
def test_the_best_are_those_of_all_looked_up(
    index: FileCatalogue, text: str, count: int, common: int, candidates: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_index, "_COMMON", common)
        patch.setattr(search_index, "_CANDIDATES", candidates)
        every = asked(index, text, 10_000)
        few = asked(index, text, count)
    assert few == (every if "/" in text else every[:count])


@settings(max_examples=examples(100), deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), cut=st.integers(2, 7))
def test_where_all_are_ranked_every_note_that_holds_the_words_answers(
    index: FileCatalogue, texts: dict[str, str], words: list[str], cut: int
) -> None:
    words[-1] = words[-1][:cut]
    held = {
        name: f"{name} {text}".replace("-", " ").replace(".", " ").split() for name, text in texts.items()
    }
    wanted = {
        name
        for name, found in held.items()
        if set(words[:-1]) <= set(found) and any(word.startswith(words[-1]) for word in found)
    }
    assert {doc.rel for doc in asked(index, " ".join(words), 10_000)} == wanted


def test_of_common_words_the_newest_candidates_answer_and_those_named_so(
    index: FileCatalogue, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_COMMON", 5)
    monkeypatch.setattr(search_index, "_CANDIDATES", 7)
    held = [doc for doc in asked(index, "changed:<9000d", 10_000) if "queue" in f"{doc.rel} {texts[doc.rel]}"]
    newest = sorted(held, key=lambda doc: -doc.id)[:7]
    named = sorted((doc for doc in held if "queue" in doc.rel), key=lambda doc: -doc.id)[:7]
    assert {doc.rel for doc in asked(index, "queue ", 100)} == {doc.rel for doc in (*newest, *named)}


def test_the_word_as_it_is_typed_comes_before_words_that_begin_like_it(tmp_path: Path) -> None:
    store = tmp_path / "home/memory/global"
    store.mkdir(parents=True)
    for number in range(60):
        text = (
            "the very thing 93, among much else that is told here" if number == 7 else "thing 939, thing 9392"
        )
        (store / f"note-{number}.md").write_text(text)
        os.utime(store / f"note-{number}.md", ns=(NOW_NS, NOW_NS))
    made = FileCatalogue(tmp_path / "index.sqlite", lock_dir=tmp_path / "locks")
    made.update(MuxHome(tmp_path / "home"), "home")
    assert asked(made, "thing 93", 50)[0].rel == "note-7.md"
    assert len(asked(made, "thing 93", 100)) == 60, "the others are found as well"


def slow_hits(text: str, terms: tuple[Term, ...]) -> set[int]:
    """The characters in hits, from every word of the text, one after the other."""
    stream = list(tokens(text))
    found: set[int] = set()
    for place, token in enumerate(stream):
        for term in terms:
            words = [each.text for each in tokens(folded(term.text))]
            run = stream[place : place + len(words)]
            span = slow_run(run, words, term)
            if span is None and len(words) == 1 and words[0] in token.text and words[0] != token.text:
                inside = (slow_run([part], words, term) for part in parts(token, text))
                span = next((each for each in inside if each is not None), None)
            found |= set(range(*span)) if span is not None else set()
    return found


def slow_run(run: list[SearchToken], words: list[str], term: Term) -> tuple[int, int] | None:
    if len(run) < len(words) or not words:
        return None
    whole = [token.text for token in run]
    last = run[-1]
    if whole != words and not (term.goes_on and whole[:-1] == words[:-1] and last.text.startswith(words[-1])):
        return None
    is_even = len(last.text) == last.end - last.start
    return run[0].start, last.start + len(words[-1]) if is_even else last.end


PIECES = st.sampled_from(
    [
        *("ab", "aB", "a_b", "e\u0301", "한국"),
        *"aabbAB_ -.\n\0éß½\u0301設定値ﾌﾟか\u3099がİ…™Ⓐñ한Яяﬁ²〇ヿ豈𠀋𝐚Kſ01\u0591\uffff",
    ]
)


@settings(max_examples=examples(600), deadline=None)
@given(pieces=st.lists(PIECES, max_size=24), data=st.data())
def test_hits_are_those_of_a_text_taken_apart_word_by_word(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces)
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    of_the_text = text[start : start + data.draw(st.integers(1, 6))]
    asked_for = data.draw(st.sampled_from([of_the_text, f"{of_the_text} ", f'"{of_the_text}"', "ab", "a b"]))
    terms = parse_query(asked_for).terms
    hits = term_hits(text, terms)
    assert {at for hit in hits for at in range(*hit)} == slow_hits(text, terms)
    assert all(first[1] <= second[0] for first, second in pairwise(hits))


def test_a_scope_narrows_down_however_many_hold_the_word(
    index: FileCatalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_COMMON", 4)
    monkeypatch.setattr(search_index, "_CANDIDATES", 6)
    assert asked(index, "the scope:workspace", 50) == ()
    assert {doc.scope for doc in asked(index, "the scope:global", 50)} == {Scope.GLOBAL}
