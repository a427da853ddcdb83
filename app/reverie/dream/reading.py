"""A note as the judgement sees it: name, description, headings and statements, with what marks its subject.

`read_note` is pure and costs time linear in the text; `check` is called every few statements so that a long
note can be given up in the middle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from reverie.dream import vocabulary as words
from reverie.dream.folding import word
from reverie.dream.front_keys import read_keys
from reverie.dream.passages import Passage, heading_text, split_passages, table_cells
from reverie.dream.wording import read_wording
from reverie.dream.wording_parts import Wording
from reverie.memory import frontmatter


class NoteLike(Protocol):
    """What can be judged: a memory path (or one below a scope) and a text."""

    @property
    def path(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, list entry, table row or line of code. `line` counts from 1 in the whole text. `common`:
    many notes have this line, so that it says nothing about the subject of this one."""

    wording: Wording
    line: int
    kind: str
    section: str
    parent: str = ""
    state: str = ""
    ordered: bool = False
    key: frozenset[str] = frozenset()
    table: str = ""
    contradiction: bool = False
    anaphoric: bool = False
    common: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A note taken apart. `name` are the words of the file name, `folders` those of its folders, both
    unstemmed; `head` joins name, description and title; `everything` holds every word of the note; `doubted`:
    the front matter says that something does not hold, `described_state` the words of the description that
    say so or doubt it."""

    name: tuple[str, ...]
    folders: tuple[str, ...]
    description: str | None
    titles: tuple[Wording, ...]
    statements: tuple[Statement, ...]
    head: frozenset[str]
    everything: frozenset[str]
    markers: dict[str, frozenset[str]]
    body_markers: dict[str, frozenset[str]]
    bigrams: frozenset[str]
    keys: Mapping[str, object] | None
    doubted: bool
    described_state: frozenset[str]
    weight: float

    @property
    def said(self) -> tuple[str, ...]:
        """All that is said, for an order that does not depend on which note comes first."""
        return tuple(token.canon for each in self.statements for token in each.wording.tokens)

    @property
    def loaded(self) -> frozenset[str]:
        """Words of the head that turn everything below them, such as "pitfalls"."""
        return (self.head | set(self.name)) & words.LOADED_HEADINGS - {"todo"}

    @property
    def is_placeholder(self) -> bool:
        """Nothing but words such as TODO: two of those are not about the same thing."""
        return all(statement.wording.seen <= words.PLACEHOLDERS for statement in self.statements)


_NAME_WORD = re.compile(r"v\d+(?:\.\d+)*|\d+(?:\.\d+)+|\d+|[^\W\d_]+\d+|[^\W\d_]+", re.IGNORECASE)
_UNSPACED = re.compile("[\u3400-\u9fff\u30a0-\u30ff\uac00-\ud7af]{2,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CHECKBOX = re.compile(r"^\[([ xX-])\]\s+")
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_SENTENCES = re.compile(
    r"(?<=[.!?;])[)\"'»”’*_]*\s+(?!\d)|(?<=[^\d][.!?;])[)\"'»”’*_]*\s+|(?<=[。！？；])\s*|<br ?/?>"
)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|no|nr|z\. ?b|bzw|ca|ex|max|min)\.$", re.IGNORECASE)
_ORDINAL = re.compile(r"\b\d{1,2}\.$")
_MONTH = re.compile(rf"(?:{'|'.join(words.MONTHS)})\b", re.IGNORECASE)
_KEY = re.compile(r"^(\S.{0,60}?)\s*(?:[:：=]|->|→|=>)\s+(?=\S)|^([\w.-]{1,40})\s*=\s*(?=\S)")
CONTRADICTION = re.compile(words.CONTRADICTION_CUES, re.IGNORECASE)
_VERSION = re.compile(r"^v\d+(?:\.\d+)*$")
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_YEAR = re.compile(r"^(?:19|20)\d{2}$")
_MID_CAPITAL = re.compile(r"(?<=[\w,] )[^\W\d_][^\W_]{2,}")
_LONGEST = 1000
_CAPITAL_SHARE = 0.35


def read_note(
    note: NoteLike,
    check: Callable[[], None] = lambda: None,
    is_common: Callable[[str], bool] = lambda line: False,
) -> Reading:
    """Take a note apart. `is_common` tells of a line whether many notes have it."""
    block = frontmatter.split(note.text)
    start = block.body_start if block is not None else 0
    body = note.text[start:].removeprefix("\ufeff")
    keys = read_keys(note.text)
    description = keys.description if keys is not None else None
    capital_nouns = _has_capital_nouns(body)
    offset = note.text.count("\n", 0, start) + 1
    doubts = CONTRADICTION if CONTRADICTION.search(body) else None
    titles: list[Wording] = []
    statements: list[Statement] = []
    for passage in split_passages(body):
        check()
        if passage.kind == "heading":
            titles.append(read_wording(heading_text(passage.lines[0]), capital_nouns=capital_nouns))
        else:
            found = _statements(passage, offset, capital_nouns, doubts)
            common = is_common(passage.lines[0])
            statements += (replace(each, common=True) for each in found) if common else found
    name, folders = name_words(note.path)
    said = [each for each in statements if each.wording.tokens]
    described = read_wording(description or "", capital_nouns=capital_nouns)
    head = {word(each) for each in (*name, *folders)} | described.seen
    for title in titles[:1]:
        head |= title.seen
    head |= _split_words(head)
    inside = set[str]().union(*(each.wording.seen for each in said), *(each.seen for each in titles))
    body_canons = [token.canon for each in said for token in each.wording.tokens]
    return Reading(
        name=name,
        folders=folders,
        description=description,
        titles=tuple(titles),
        statements=tuple(said),
        head=frozenset(head),
        everything=frozenset(head | inside | _split_words(inside)),
        markers=_head_markers(name, folders, described, titles),
        body_markers=_markers(body_canons),
        bigrams=bigrams(f"{note.path}\n{note.text}"),
        keys=None if keys is None else keys.meanings(),
        described_state=described.seen & (words.STATUS_MARKERS | words.HEDGES),
        doubted=bool(CONTRADICTION.search(note.text[:start].replace("_", " "))),
        weight=sum(each.wording.weight for each in said),
    )


def name_words(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words of the file name and of its folders, lower case; dates and versions stay whole."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["memories"]:
        parts = parts[2:]
    *folders, name = parts or [""]
    stem = name.rsplit(".", 1)[0] if "." in name[1:] else name
    return tuple(_name_words(stem)), tuple(each for folder in folders for each in _name_words(folder))


def _name_words(text: str) -> Iterator[str]:
    for date in _DATE.finditer(text):
        yield f"@{int(date[2])}-{int(date[3])}-{date[1]}"
    spaced = _CAMEL.sub(" ", _DATE.sub(" ", text))
    for found in _NAME_WORD.findall(spaced):
        yield found.casefold()


def bigrams(text: str) -> frozenset[str]:
    """Pairs of neighbouring characters in scripts that write no spaces."""
    return frozenset(
        run[at : at + 2] for run in _UNSPACED.findall(text) for at in range(len(run) - 1) if len(run) > 1
    )


def _split_words(canons: set[str]) -> set[str]:
    """Identifiers taken apart (`retry_limit`, `deploy.yml`), so that a name finds its words in the other
    text."""
    parts: set[str] = set()
    for canon in canons:
        if any(mark in canon for mark in "_./:-"):
            parts.update(word(part) for part in re.split(r"[_./:@-]+", canon) if part)
    return parts


def _head_markers(
    name: tuple[str, ...], folders: tuple[str, ...], described: Wording, titles: list[Wording]
) -> dict[str, frozenset[str]]:
    canons = [*name, *folders, *described.seen]
    canons += [
        token.canon + (f"-{token.unit}" if token.canon[0] == "@" else "") for token in described.tokens
    ]
    for title in titles[:1]:
        canons += [*title.seen, *(token.canon for token in title.tokens)]
    found = _markers(canons)
    status = frozenset(each for each in (*name, *folders) if each in words.STATUS_MARKERS)
    status |= (
        described.seen
        & words.STATUS_MARKERS
        & {"old", "legacy", "deprecated", "obsolete", "outdated", "draft"}
    )
    return {**found, "status": status}


def _markers(canons: list[str]) -> dict[str, frozenset[str]]:
    """Versions, environments, dates and years among some words."""
    return {
        "version": frozenset(canon for canon in canons if _VERSION.match(canon)),
        "environment": frozenset(
            words.ENVIRONMENT_MARKERS[canon] for canon in canons if canon in words.ENVIRONMENT_MARKERS
        ),
        "date": frozenset("-".join(canon[1:].split("-")[:2]) for canon in canons if canon.startswith("@")),
        "year": frozenset(canon.lstrip("#") for canon in canons if _YEAR.match(canon.lstrip("#"))),
    }


def _has_capital_nouns(body: str) -> bool:
    """Whether capital letters say nothing here, as in German."""
    middle = _MID_CAPITAL.findall(body)
    capitals = [each for each in middle if each[0].isupper()]
    return len(capitals) >= 3 and len(capitals) > _CAPITAL_SHARE * len(middle)


def _statements(
    passage: Passage, offset: int, capital_nouns: bool, doubts: re.Pattern[str] | None
) -> Iterator[Statement]:
    line = offset + passage.first
    if passage.kind == "code":
        for number, code in enumerate(passage.lines):
            if code.strip() and not code.lstrip().startswith(("```", "~~~")):
                wording = read_wording(code, code=True)
                yield Statement(wording, line + number, "code", passage.section, passage.parent)
    elif passage.kind == "row":
        yield _row(passage, line, capital_nouns, doubts)
    elif passage.kind in ("item", "prose"):
        text = " ".join(each.strip().lstrip(">").strip() for each in passage.lines)
        text = BULLET.sub("", text, count=1) if passage.kind == "item" else text
        box = _CHECKBOX.match(text)
        state = "" if box is None else ("open" if box[1] == " " else "done")
        text = text[box.end() :] if box else text
        for sentence in split_sentences(text):
            yield _sentence(sentence, line, passage, state, capital_nouns, doubts)


def _row(passage: Passage, line: int, capital_nouns: bool, doubts: re.Pattern[str] | None) -> Statement:
    cells = table_cells(passage.lines[0])
    wording = read_wording(": ".join(cells), capital_nouns=capital_nouns)
    key = read_wording(cells[0], capital_nouns=capital_nouns).canons
    contradiction = doubts is not None and bool(doubts.search(passage.lines[0]))
    return Statement(
        wording,
        line,
        "row",
        passage.section,
        passage.parent,
        key=key,
        table=passage.table,
        contradiction=contradiction,
    )


def _sentence(
    text: str, line: int, passage: Passage, state: str, capital_nouns: bool, doubts: re.Pattern[str] | None
) -> Statement:
    key = _KEY.match(text)
    canons = frozenset[str]()
    if key is not None and len(key[0].split()) <= 6:
        canons = read_wording(key[1] or key[2], capital_nouns=capital_nouns).canons
    return Statement(
        read_wording(text, capital_nouns=capital_nouns),
        line,
        passage.kind,
        passage.section,
        passage.parent,
        state=state,
        ordered=passage.ordered,
        key=canons,
        contradiction=doubts is not None and bool(doubts.search(text)),
        anaphoric=text.split(" ", 1)[0].strip("*_'`").casefold() in words.PRONOUNS,
    )


def split_sentences(text: str) -> list[str]:
    """Sentences and clauses ended by a semicolon; abbreviations and ordinals do not end one."""
    pieces: list[str] = []
    for piece in _SENTENCES.split(text):
        is_ordinal = pieces and _ORDINAL.search(pieces[-1]) and (piece[:1].islower() or _MONTH.match(piece))
        if pieces and (is_ordinal or _ABBREVIATION.search(pieces[-1])):
            pieces[-1] += f" {piece}"
        elif piece and piece.strip():
            pieces.append(piece.strip())
    return [part for piece in pieces for part in _parts(piece)]


def _parts(text: str) -> Iterator[str]:
    """A text in pieces short enough to be compared word by word, cut between words."""
    while len(text) > _LONGEST:
        cut = text.rfind(" ", _LONGEST // 2, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        yield text[:cut]
        text = text[cut:].lstrip()
    if text:
        yield text
