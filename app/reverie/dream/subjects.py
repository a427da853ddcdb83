"""The vetoes on subjects: what names, folders, descriptions and titles say against two notes being about one
thing.

Reasons name kinds of difference, never words of a note. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reverie.dream import vocabulary as words
from reverie.dream.alignment import match_wordings
from reverie.dream.conflicts import substituted
from reverie.dream.exclusions import PRODUCTS, excludes
from reverie.dream.folding import word
from reverie.dream.reading import Reading, bigrams
from reverie.dream.wording import read_wording

# Descriptions or titles with at least this much in common are taken for two fillings of one template.
_SAME_TEMPLATE = 0.4


def subject_conflicts(a: Reading, b: Reading, *, same_body: bool) -> Iterator[str]:
    """What speaks against one subject. With `same_body` only what is certain counts: a copy may have any
    name."""
    yield from _front_matter(a, b)
    yield from _markers(a, b, same_body)
    if excludes(_subject_words(a), _subject_words(b)):
        yield "their names or descriptions exclude each other"
    products_a, products_b = a.head & PRODUCTS, b.head & PRODUCTS
    if any(not is_known(each, b) for each in products_a) and any(
        not is_known(each, a) for each in products_b
    ):
        yield "their names or titles name different products"
    yield from _names(a, b, same_body)
    if not same_body:
        if a.doubted != b.doubted:
            yield "the front matter of one says that something does not hold"
        if a.loaded != b.loaded:
            yield "the heading of one turns what it says"
        yield from _templates(a, b)


def is_known(text: str, reading: Reading) -> bool:
    """Whether a word, or one that begins like it, stands anywhere in a note."""
    canon, everything = word(text), reading.everything
    if canon in everything or f"#{canon}" in everything:
        return True
    if bigrams(text) & reading.bigrams:
        return True
    start = canon[: max(4, len(canon) - 3)]
    return len(canon) >= 4 and any(each.startswith(start) for each in everything)


def _front_matter(a: Reading, b: Reading) -> Iterator[str]:
    if a.keys is None or b.keys is None:
        yield "the front matter of one does not parse"
    elif any(a.keys[name] != b.keys[name] for name in a.keys.keys() & b.keys.keys()):
        yield "their front matter gives the same key another value"


def _subject_words(reading: Reading) -> frozenset[str]:
    named = {each for each in (*reading.name, *reading.folders) if each not in words.FILLER_NAME_WORDS}
    described = {each for each in reading.head if each not in reading.name and each not in reading.folders}
    return frozenset(named | described)


def _markers(a: Reading, b: Reading, same_body: bool) -> Iterator[str]:
    """Versions, environments, dates and states must be the same, or at least be mentioned by the other
    note."""
    for kind in ("version", "environment", "date", "year", "status"):
        of_a, of_b = a.markers[kind], b.markers[kind]
        if of_a == of_b or (same_body and kind == "status"):
            continue
        if of_a and of_b and not of_a & of_b:
            yield f"their names or descriptions name another {kind}"
        elif not same_body and (_unheard(kind, of_a - of_b, b) or _unheard(kind, of_b - of_a, a)):
            yield f"only one of them names a {kind}"
    if same_body and a.described_state != b.described_state:
        yield "the description of one says that it is not settled or does not hold"


def _unheard(kind: str, extra: frozenset[str], other: Reading) -> bool:
    """Whether a marker of one note finds no echo in the other one."""
    if not extra:
        return False
    if kind == "status" or other.markers[kind]:
        return True
    return other.body_markers[kind] != extra


def _names(a: Reading, b: Reading, same_body: bool) -> Iterator[str]:
    if _own_words(a.folders, b) and _own_words(b.folders, a) and (a.name == b.name or not same_body):
        yield "they stand in folders for different things"
    own_a, own_b = _own_words(a.name, b), _own_words(b.name, a)
    if not own_a or not own_b:
        return
    if set(a.folders) & words.ENTITY_FOLDERS and a.folders == b.folders:
        yield "their names stand for different things in a folder of such"
    elif not same_body and _name_context(a) & _name_context(b):
        yield "their names differ where they name the subject"


def _own_words(named: Iterable[str], other: Reading) -> set[str]:
    """Words of a file's or folder's name that name a subject of which the other note knows nothing."""
    return {
        each
        for each in named
        if each not in words.FILLER_NAME_WORDS
        and (len(each) > 1 or not each.isascii())
        and not each.startswith("@")
        and not is_known(each, other)
    }


def _name_context(reading: Reading) -> set[str]:
    return {word(each) for each in reading.name if each not in words.FILLER_NAME_WORDS and len(each) > 1}


def _templates(a: Reading, b: Reading) -> Iterator[str]:
    """Descriptions, and titles, that are alike but for the word that names the subject."""
    heads = []
    if a.description and b.description:
        heads.append((read_wording(a.description), read_wording(b.description), "descriptions"))
    if a.titles and b.titles:
        heads.append((a.titles[0], b.titles[0], "titles"))
    for one, other, name in heads:
        match = match_wordings(one, other)
        if match.dice < _SAME_TEMPLATE:
            continue
        left_one = set(range(len(one.tokens))) - {number for number, _other in match.pairs}
        left_other = set(range(len(other.tokens))) - {number for _number, number in match.pairs}
        for token, instead in substituted(one, other, left_one, left_other):
            if not is_known(token.canon, b) and not is_known(instead.canon, a):
                yield f"their {name} differ where they name the subject"
