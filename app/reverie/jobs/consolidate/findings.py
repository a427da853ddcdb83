"""Findings about several notes of one store, such as duplicates and contradictions; pure rules, no model.

- `near-duplicate`: two notes have much in common, or a part of one has the content of the other
- `successor`: like `near-duplicate`, but names or times show that one is a later version of the other
- `differing`: like `near-duplicate`, but the notes state different things about the same
- `contradiction`: another number, version, name or state for the same thing
- `superseded`: an older note relies on something that a newer note calls removed, replaced, renamed or done

A finding is a hint for a person and never changes a note, so it needs less proof than a merge. It quotes a
line of every note that it is based on. Lists of similar things, logs and templates are frequent in notes; so
a value only counts beside the same subject, and a word only if few notes have it.

Pure: no clock, no disk; the result does not depend on the order of the notes. `check` is called for each note
and each pair and may raise to stop.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import combinations, permutations
from typing import Literal

from reverie.jobs.consolidate.facts import Fact, fact_key, read_facts, signature
from reverie.jobs.consolidate.facts import compare as compare_facts
from reverie.jobs.consolidate.relations import (
    STEM,
    UNSPACED,
    ComparedText,
    Relation,
    TextIndex,
    compare,
    terms_of,
)
from reverie.jobs.consolidate.rules.reading import name_words, without_managed
from reverie.jobs.consolidate.rules.wording import FILLER_NAME_WORDS, FUNCTION_WORDS
from reverie.jobs.consolidate.suggestions import (
    Proposal,
    chosen,
    closed_line,
    deletion,
    done_since,
    later_value,
    line_edit,
    overtaken,
    renamed,
    repeats,
    replaced_since,
    stated_instead,
)
from reverie.memory.listing import no_check
from reverie.memory.paths import utf16_key
from reverie.resources import load_table
from reverie.text.patterns import pattern_of
from reverie.values import Struct, replace

RelatedKind = Literal["near-duplicate", "successor", "differing", "contradiction", "superseded"]


class RelatedNote(Struct, frozen=True):
    """A note to compare with others."""

    path: str
    text: str
    at_ms: int = 0
    """When a write of the note was last recorded, UTC; 0 if unknown.

    The time of its file does not count: a checkout, or a copy of the folder, sets a new one.
    """
    may_edit: bool = False
    """Whether a suggestion may change the note."""
    may_delete: bool = False
    """Whether a suggestion may delete the note."""


class QuotedLine(Struct, frozen=True):
    """A line of a note on which a finding is based."""

    path: str
    line: int
    """The line number, from 1."""
    text: str


class RelatedNotes(Struct, frozen=True):
    """A finding about two notes that have something in common."""

    kind: RelatedKind
    paths: tuple[str, ...]
    """The paths of the two notes; the newer one is last if that is known."""
    evidence: tuple[QuotedLine, ...]
    """A quoted line of each note."""
    score: float
    """The certainty of the finding, 0 to 1."""
    proposal: Proposal | None = None
    """The change that would resolve it; None if the notes do not show which one is right."""
    choices: tuple[Proposal | None, Proposal | None] = (None, None)
    """The changes that give both notes the statement of the first, or of the second; None if impossible."""


_TABLES = (".csv", ".tsv")
# Notes with a smaller similarity than this are about different things.
_ALIKE = 0.62
_SUCCESSOR = 0.45
# The least similarity of duplicates among notes that use one template: all but a name or number is the same.
_SIBLINGS = 0.95
_SAME_SUBJECT = 0.12
_ONE_WORD_SUBJECT = 0.3
# The least number of different words of a note that is compared.
_LEAST_WORDS = 6
# The least share of the smaller note's words that the other one has, with several common statements or fewer.
_COVERED = 0.5
_COVERED_ALONE = 0.8
_SEVERAL = 4
_MOST_OF_ONE = 3
"""The largest number of pairs that are reported for one note.

A few pairs are enough to show that the note is one of many similar ones.
"""
_SHOWN = 160
_WORD = pattern_of(r"[^\W_]+")
_DATE = pattern_of(r"(20\d\d)[-_./ ]?(0[1-9]|1[0-2])[-_./ ]?([0-2]\d|3[01])")


def related_notes(
    notes: Sequence[RelatedNote], check: Callable[[], None] = no_check
) -> tuple[RelatedNotes, ...]:
    """Return the findings about the notes of one store, most certain first; `check` may raise to stop."""
    told = (note for note in notes if not note.path.endswith(_TABLES))
    store = _Store(sorted(told, key=lambda note: utf16_key(note.path)), check)
    alike = list(_alike(store))
    found = [*alike, *_contradictions(store), *_other_versions(store), *_superseded(store)]
    works = {frozenset(each.paths): each for each in _of_one_work(store)}
    # What has a suggestion says more about a pair than that its notes are similar.
    found = [each for each in found if each.proposal or not _has_proposal(works.get(frozenset(each.paths)))]
    known = {frozenset(each.paths) for each in found}
    found += (each for pair, each in works.items() if pair not in known)
    return tuple(sorted(found, key=lambda each: (-each.score, each.kind, each.paths)))


def _has_proposal(finding: RelatedNotes | None) -> bool:
    return finding is not None and finding.proposal is not None


class _Note:
    """A note with the properties that the rules need; each is computed on first use."""

    def __init__(self, note: RelatedNote) -> None:
        self.path, self.text = note.path, without_managed(note.text)
        self.original, self.may_edit, self.may_delete = note.text, note.may_edit, note.may_delete
        self.name, self.folders = name_words(note.path)
        self.stem = note.path.rpartition("/")[2].rpartition(".")[0]
        self.at = _written_at(note)
        self.compared = ComparedText(self.path, self.text)

    def names(self, other: _Note) -> bool:
        """Return True if this note mentions `other` by its name; a name of one word does not count."""
        return len(other.name) > 1 and other.stem in self.text

    @cached_property
    def rows(self) -> list[str]:
        """The lines of the note, unchanged."""
        return self.text.split("\n")

    @cached_property
    def is_past(self) -> bool:
        """True if the note's name or folder shows that it describes the past."""
        return not _words().history.isdisjoint((*self.name, *self.folders))

    @cached_property
    def facts(self) -> list[Fact]:
        """The statements of the note."""
        return [fact for fact in read_facts(self.path, self.text) if fact.counts]

    @cached_property
    def changes(self) -> list[_WentAway]:
        """The things that, according to the note, no longer exist."""
        return list(_changes(self))

    @cached_property
    def subject(self) -> frozenset[str]:
        """The words of the note's file name that say what it is about."""
        return frozenset(
            word
            for word in self.name
            if word not in _words().versions
            and word not in FILLER_NAME_WORDS
            and not word.startswith("@")
            and not word.isdigit()
        )

    @cached_property
    def work(self) -> frozenset[str]:
        """The beginnings of the words of its name that name its subject, without its stage and form."""
        words = _words()
        left_out = words.open_stages | words.done_stages | words.forms
        return frozenset(word[:STEM] for word in self.subject if word not in left_out)

    @cached_property
    def stage(self) -> Literal["open", "done", ""]:
        """The stage of the work at which it was written, according to its name; empty if unclear."""
        is_open, is_done = (
            not each.isdisjoint(self.name) for each in (_words().open_stages, _words().done_stages)
        )
        return "" if is_open == is_done else "open" if is_open else "done"

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in the note's file name, without dates."""
        plain = _DATE.sub(" ", self.path.rpartition("/")[2])
        return frozenset(each for each in re.findall(r"\d+", plain) if not re.fullmatch(r"20\d\d", each))


def _written_at(note: RelatedNote) -> int:
    """Return the time of a note in UTC ms: the last date in its name, or else when it was written."""
    days = []
    for year, month, day in _DATE.findall(note.path.rpartition("/")[2]):
        with suppress(ValueError):
            days.append(datetime(int(year), int(month), int(day), tzinfo=UTC))
    return int(max(days).timestamp() * 1000) if days else note.at_ms


class _Store:
    """The notes of one store, with an index of their words."""

    def __init__(self, notes: Iterable[RelatedNote], check: Callable[[], None]) -> None:
        self.check = check
        self.notes = [_Note(note) for note in notes]
        self.index = TextIndex((note.text for note in self.notes), check)

    def is_rare(self, text: str) -> bool:
        """Return True if the text has several words, and one of them occurs in few notes."""
        terms = set(terms_of(text))
        crowd = max(3, len(self.notes) // 20)
        return len(terms) >= 3 and any(self.index.known_by[term] <= crowd for term in terms)


class _Words(Struct, frozen=True):
    """The vocabulary of the rules, from `resources/related.toml`."""

    versions: frozenset[str]
    """Words such as "old" or "final" in a file name, which name a version of a note and not its subject."""
    later: frozenset[str]
    """Words in a name that mark a later version of a note."""
    earlier: frozenset[str]
    """Words in a name that mark an earlier version of a note."""
    open_stages: frozenset[str]
    """Words in a name which show that a note was written before some work was done."""
    done_stages: frozenset[str]
    """Words in a name which show that a note was written when some work was done."""
    passing: frozenset[str]
    """Those of `open_stages` whose notes only follow the work."""
    forms: frozenset[str]
    """Words in a name that tell the kind of text, not its subject."""
    facets: frozenset[str]
    """Beginnings of words in a name which show that the note is about one side of a subject only."""
    labels: frozenset[str]
    """Words that often stand before a colon and name no subject."""
    one: frozenset[str]
    """Labels of properties of which a project has exactly one value."""
    journals: frozenset[str]
    """Names of folders whose notes describe the past."""
    history: frozenset[str]
    """Words in a note's name which show that it describes the past."""
    states: Mapping[str, int]
    """The number of the state that a word stands for, by word; different states exclude each other."""
    products: re.Pattern[str]
    """Matches a product with its version; the groups are `product`, `version` and `more`."""
    minor: frozenset[str]
    """Products for which versions also differ if only their second number does."""
    no_version: frozenset[str]
    """Words of sentences that do not state which version is in use."""
    step: re.Pattern[str]
    """Matches a numbered part of a plan; the groups are `kind`, `first` and `last`."""
    step_done: re.Pattern[str]
    """Matches words that call a part of a plan done."""
    step_open: re.Pattern[str]
    """Matches words that call a part of a plan open."""
    triggers: re.Pattern[str]
    """Matches sentences in which one of `changes` may match; it saves time."""
    past: frozenset[str]
    """Words of sentences that speak about the past, so that they do not rely on the thing any more."""
    changes: tuple[re.Pattern[str], ...]
    """Patterns of sentences that state that a thing no longer exists.

    The names of the groups begin with `x` for that thing and with `y` for the thing that replaced it.
    """


@cache
def _words() -> _Words:
    return load_table("related.toml", _words_of)


# A thing with a proper name: in backticks, or with a sign inside, or with a capital letter.
_THING = (
    r"(?-i:`(?P<{0}code>[^`\n]{{2,60}})`"
    r"|(?P<{0}name>(?<![\w./@-])(?:[\w@]{{1,40}}[a-z0-9][A-Z_./-][\w./@-]{{0,40}}\w"
    r"|[A-Z][\w.-]{{0,40}}\w(?: [A-Z][\w.-]{{0,40}}\w)?)(?![\w/@-])))"
)


def _words_of(table: Mapping[str, Mapping[str, str]]) -> _Words:
    """Return the vocabulary that the table of `related.toml` describes."""
    versions = {name: frozenset(words.split()) for name, words in table["versions"].items()}
    change = table["change"]
    rows = [row for name in ("gone", "replaced") for row in change[name].strip().splitlines()]
    return _Words(
        versions["any"] | versions["later"] | versions["earlier"],
        versions["later"],
        versions["earlier"],
        frozenset(table["stages"]["open"].split()),
        frozenset(table["stages"]["done"].split()),
        frozenset(table["stages"]["passing"].split()),
        frozenset(table["stages"]["form"].split()),
        frozenset(table["stages"]["facets"].split()),
        frozenset(table["labels"]["any"].split()),
        _names(table["labels"]["one"]),
        frozenset(table["labels"]["journals"].split()),
        frozenset(table["labels"]["history"].split()),
        {
            word: number
            for number, line in enumerate(table["states"]["groups"].strip().splitlines())
            for word in line.split()
        },
        _products(table["products"]["first"] + "|" + table["products"]["second"]),
        _names(table["products"]["second"]),
        frozenset(table["products"]["other"].split()),
        re.compile(
            rf"(?<![^\W_])(?P<kind>{'|'.join(table['steps']['kinds'].split())})[\s#_]{{0,2}}"
            r"(?P<first>\d{1,2})(?![\w%]|\.\d)(?:\s?[-–~]\s?(?P<last>\d{1,2})(?!\w))?",
            re.IGNORECASE,
        ),
        _any_of(table["steps"]["done"]),
        _any_of(table["steps"]["open"]),
        re.compile("|".join(change["triggers"].split()), re.IGNORECASE),
        frozenset(change["past"].split()),
        tuple(
            re.compile(
                row.replace("{x}", _THING.format("x")).replace("{y}", _THING.format("y")), re.IGNORECASE
            )
            for row in rows
        ),
    )


def _names(listed: str) -> frozenset[str]:
    return frozenset(each.strip() for each in listed.replace("\n", "").split("|"))


def _any_of(listed: str) -> re.Pattern[str]:
    """Return a pattern for any of the names or signs in the text `listed`.

    Names in scripts with spaces only match as whole words.
    """
    names = sorted(_names(listed), key=len, reverse=True)
    words = [each for each in names if each[0].isalpha() and not UNSPACED.search(each)]
    signs = [re.escape(each) for each in names if each not in words]
    whole = rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)"
    return re.compile("|".join([*signs, whole]), re.IGNORECASE)


def _products(listed: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(_names(listed), key=len, reverse=True))
    return re.compile(
        rf"(?<![\w.@/-])(?P<product>{names})"
        r"(?:[*_`]*\s*[:|=]?\s*[*_`]*(?:version\s+)?[\^@]?v?|\s+v?)"
        r"(?P<version>\d{1,2}(?:\.\d{1,3}){0,3})(?:\.?x\b)?"
        r"(?P<more>\s?\+|\s(?:or|and) (?:later|newer|higher|above|up)|\s?(?:以上|以降|이상|oder neuer))?"
        # Excludes a percentage, a longer number, and a count of things.
        r"(?![\w%.-]*\w|\+? (?:[a-z-]+ )?[a-z]{3,}s\b)",
        re.IGNORECASE,
    )


def _alike(store: _Store) -> Iterator[RelatedNotes]:
    """Yield findings about pairs of similar notes: near-duplicates, later versions, and notes that differ."""
    found: list[RelatedNotes] = []
    for one, other in (*store.index.related_pairs(), *_copies(store)):
        store.check()
        first, second = store.notes[one], store.notes[other]
        few = min(store.index.sizes[one], store.index.sizes[other]) < _LEAST_WORDS
        if (first.is_past and second.is_past) or (few and first.compared.body != second.compared.body):
            continue
        alike = store.index.similarity(one, other)
        relation = compare(first.compared, second.compared, store.check)
        if few and relation.kind != "exact":
            continue
        older, newer, is_version = _in_order(first, second)
        is_sibling = not is_version and _are_siblings(first, second)
        least = _SIBLINGS if is_sibling else _SUCCESSOR if is_version else _ALIKE
        several = len(relation.shared) >= _SEVERAL
        covers = not is_sibling and relation.says_the_same
        covers = covers and relation.score >= (_COVERED if several else _COVERED_ALONE)
        if alike >= least or covers:
            kind: RelatedKind = "successor" if is_version else "near-duplicate"
            if not is_version and relation.differences and relation.kind != "exact":
                kind = "differing"
            score = round(0.3 + 0.6 * min(1.0, max(alike, relation.score)), 4)
            small = second if relation.small else first
            proposal = _of_alike(relation, small, older, newer, is_version=is_version)
            paths, evidence = (older.path, newer.path), _lines_of(relation, older, newer)
            found.append(RelatedNotes(kind, paths, evidence, score, proposal))
    yield from _few_of_family(found)


def _few_of_family(found: Iterable[RelatedNotes]) -> Iterator[RelatedNotes]:
    """Yield the most certain findings, so that few of them are about one note or one family of notes."""
    taken: Counter[str] = Counter()
    family: dict[str, str] = {}
    for each in sorted(found, key=lambda each: (-each.score, each.paths)):
        older, newer = each.paths
        first_one, first_other = _first_of(family, older), _first_of(family, newer)
        # For three notes with the same content, two pairs are enough.
        if first_one != first_other and max(taken[older], taken[newer]) < _MOST_OF_ONE:
            family[first_other] = first_one
            taken.update((older, newer))
            yield each


def _copies(store: _Store) -> Iterator[tuple[int, int]]:
    """Yield pairs of the numbers of notes with the same body, of whatever length.

    `TextIndex.related_pairs` does not yield the pairs with few words.
    """
    first: dict[str, int] = {}
    for number, note in enumerate(store.notes):
        before = first.setdefault(note.compared.body, number)
        if before != number and note.compared.body:
            yield before, number


def _first_of(family: Mapping[str, str], path: str) -> str:
    """Return the path of the note that represents the group of similar notes to which `path` belongs.

    `family`: path of a note -> path of the earlier note to whose group it was added.
    """
    while path in family:
        path = family[path]
    return path


def _in_order(first: _Note, second: _Note) -> tuple[_Note, _Note, bool]:
    """Return the older note, the newer note, and True if their names show that one is a later version."""
    words = _words()
    one, other = set(first.name), set(second.name)
    same = first.subject == second.subject and bool(first.subject) and first.numbers == second.numbers
    within = bool(first.subject and second.subject) and (
        first.subject <= second.subject or second.subject <= first.subject
    )
    told = (one ^ other) & words.versions or bool(_DATE.search(first.path) or _DATE.search(second.path))
    within = within and first.numbers == second.numbers
    is_version = first.folders == second.folders and (same or (within and bool(told))) and one != other
    # A note that refers to the other by name complements it and does not replace it.
    is_version = is_version and not first.names(second) and not second.names(first)
    rank_one = bool(one & words.later) - bool(one & words.earlier)
    rank_other = bool(other & words.later) - bool(other & words.earlier)
    if (first.at, rank_one) == (second.at, rank_other):
        return first, second, is_version
    by_name = rank_one != rank_other
    is_older = rank_one < rank_other if by_name else first.at < second.at
    return (first, second, is_version) if is_older else (second, first, is_version)


def _are_siblings(first: _Note, second: _Note) -> bool:
    """Return True if the names differ only in a number or name, as in notes that use one template."""
    if first.numbers != second.numbers and first.numbers and second.numbers:
        return True
    if first.stem == second.stem:
        return True  # two folders with a note of the same name each
    own = first.subject - second.subject, second.subject - first.subject
    return all(own) and bool(first.subject & second.subject) and first.folders == second.folders


# The share of an older note, by words, that a newer one must have to be its later version.
_OVERTAKEN = 0.85


def _of_alike(
    relation: Relation, small: _Note, older: _Note, newer: _Note, *, is_version: bool
) -> Proposal | None:
    """Return the proposal for two notes with common content; None if it is unclear which one is right.

    `small`: the one of the two with fewer statements. `is_version`: their names show that `newer` is the
    later version.
    """
    large = newer if small is older else older
    if relation.is_repetition:
        # A later note with less may be one from which lines were removed on purpose.
        is_cut = relation.kind == "contained" and small is newer and _is_later(newer, older)
        goes, stays = (small, large)
        if relation.kind == "exact" and not (small.may_delete and _is_better_kept(large, small)):
            goes, stays = large, small
        return deletion(goes.path, repeats(goes.path, stays.path)) if goes.may_delete and not is_cut else None
    is_overtaken = is_version and small is older and relation.score >= _OVERTAKEN
    if is_overtaken and _is_later(newer, older) and older.may_delete:
        return deletion(older.path, overtaken(older.path, newer.path))
    return None


def _is_better_kept(one: _Note, other: _Note) -> bool:
    """Return whether `one` of two notes with the same content is the better one to keep."""
    versions = _words().versions
    # One that must stay is kept; else one without a word such as "copy" or "old" in its name.
    ranks = [
        (each.may_delete, len(versions.intersection(each.name)), len(each.path), each.path)
        for each in (one, other)
    ]
    return ranks[0] <= ranks[1]


def _is_later(newer: _Note, older: _Note) -> bool:
    """Return whether it is known that `newer` was written later than `older`."""
    return bool(older.at) and newer.at > older.at


def _lines_of(relation: Relation, older: _Note, newer: _Note) -> tuple[QuotedLine, ...]:
    """Return one quoted line of each note as the evidence of a finding.

    It is the first pair of statements in which the notes differ, or else the longest one that both have, or
    else the first line with content of each.
    """
    pairs = [(each.first, each.second) for each in relation.differences if each.first.counts]
    pairs = pairs[:1] or sorted(relation.shared, key=lambda each: (-min(len(each[0].key), 120), each[0].line))
    for one, other in pairs[:1]:
        line_of = {one.path: one.line, other.path: other.line}
        return _evidence(older, line_of[older.path]), _evidence(newer, line_of[newer.path])
    return _title(older), _title(newer)


def _evidence(note: _Note, line: int) -> QuotedLine:
    """Return the line with the number `line` of a note as a quote.

    For a front matter fence, the first line with content below it is quoted instead.
    """
    lines = note.rows
    if line <= len(lines) and lines[line - 1].strip() == "---":
        line = next((fact.line for fact in note.compared.facts if fact.line > line), line)
    said = lines[line - 1].strip() if line <= len(lines) else ""
    return QuotedLine(note.path, line, said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…")


_LABEL = pattern_of(
    r"^[*_`]{0,2}(?P<label>[^:：*_`|]{2,40}?)[*_`]{0,2}\s?[:：=][*_`]{0,2}\s+(?P<value>\S.{0,80})$"
)
_NO_VALUE = pattern_of(
    r"20\d\d[-/年]|\d\d?[:/]\d\d|\d{1,2}\.\d{1,2}\.20|https?:|[0-9a-f]{8}-?[0-9a-f]{4}|\]\("
    # 11. Juli 2026, July 11, 2026, 3 de mayo de 2026, 2026년 7월
    r"|\d{1,2}\.?(?: de)? [^\W\d]{3,12}\.?,?(?: de)? 20\d\d|[^\W\d]{3,12}\.? \d{1,2},? 20\d\d|20\d\d ?년"
)
_NUMBER = pattern_of(r"(?<![\w.])[v$]?(\d[\d,_]*(?:\.\d+){0,3})(?![\d-])")
# "At least", "at most", "about", or a change: no value that contradicts another one.
_OPEN_VALUE = pattern_of(
    r"[~<>≥≤→]|->|\d\s?\+|\d\s?[-–]\s?\d|\b(?:about|around|approx|up to|at least|bis zu|etwa)\b"
)
_MOST_HOLDERS = 4
"""The most notes that may give a value to the same thing.

With more, the thing is a field of a form, and the values do not contradict each other.
"""
_VALUE_WORDS = 8
_LONGEST_VALUED = 200
_SAID_WORDS = 4
_SAME_WORDING = 0.6


class _Stated(Struct, frozen=True):
    """A value that a note gives to a thing; `note` is the number of the note."""

    note: int
    fact: Fact
    slot: tuple[str, ...]
    """The thing that has the value: the kind of statement, and the words that name the thing."""
    value: str


def _contradictions(store: _Store) -> Iterator[RelatedNotes]:
    """Yield pairs of statements that give different values to the same thing."""
    slots: dict[tuple[str, ...], list[_Stated]] = defaultdict(list)
    for number, note in enumerate(store.notes):
        store.check()
        for fact in () if _is_journal(note) else note.facts:
            if _states_value(fact) and not _TASK.match(note.rows[fact.line - 1]):
                slot, value = _slot(fact)
                if slot:
                    slots[slot].append(_Stated(number, fact, slot, value))
    best: dict[tuple[str, str], RelatedNotes] = {}
    for _, held in sorted(slots.items()):
        store.check()
        holders = {each.note for each in held}
        if not 2 <= len(holders) <= _MOST_HOLDERS or len(held) > len(holders):
            continue  # a list of similar things, or the field of a form
        for one, other in combinations(held, 2):
            score = _disagreement(store, one, other)
            older, newer, _ = _in_order(store.notes[one.note], store.notes[other.note])
            pair = (older.path, newer.path)
            if score and (pair not in best or best[pair].score < score):
                stated = {each.fact.path: each.fact for each in (one, other)}
                then, now = stated[older.path], stated[newer.path]
                evidence = _evidence(older, then.line), _evidence(newer, now.line)
                choices = _taken_over(older, then, newer, now)
                proposal = _of_later(choices, older, newer)
                best[pair] = RelatedNotes("contradiction", pair, evidence, round(score, 4), proposal, choices)
    yield from best.values()


def _taken_over(older: _Note, then: Fact, newer: _Note, now: Fact) -> tuple[Proposal | None, Proposal | None]:
    """Return the proposals to replace `now` by `then` in the newer note, and `then` by `now` in the older.

    None in place of one that is impossible.
    """
    left = stated_instead(newer.path, newer.original, now, then.text, chosen(older.path, newer.path))
    right = stated_instead(older.path, older.original, then, now.text, chosen(newer.path, older.path))
    return left if newer.may_edit else None, right if older.may_edit else None


def _of_later(
    choices: tuple[Proposal | None, Proposal | None], older: _Note, newer: _Note
) -> Proposal | None:
    """Return the one of `choices` by which the newer note is right; None if it is unknown which is newer.

    None also if the names have different numbers, such as `prices-2025.md` and `prices-2026.md`: then each
    value may be right for its own year or version, whenever it was written.
    """
    _left, right = choices
    numbers = [set(re.findall(r"\d+", each.path.rpartition("/")[2])) for each in (older, newer)]
    is_of_another_time = all(numbers) and numbers[0] != numbers[1]
    if right is None or is_of_another_time or not _is_later(newer, older):
        return None
    return replace(right, why=later_value(older.path, newer.path))


# A task describes something that is done once.
_TASK = pattern_of(r"\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]\s")


def _states_value(fact: Fact) -> bool:
    """Return True if a statement with another value for the same thing would contradict the fact."""
    text = fact.text
    is_said = fact.kind in ("item", "prose", "row") and len(text) <= _LONGEST_VALUED
    return is_said and not _NO_VALUE.search(text) and not _OPEN_VALUE.search(text)


def _is_journal(note: _Note) -> bool:
    """Return True if the note describes one time in the past, which later notes cannot contradict."""
    return bool(_DATE.search(note.path.rpartition("/")[2])) or not _words().journals.isdisjoint(note.folders)


def _slot(fact: Fact) -> tuple[tuple[str, ...], str]:
    """Return the thing to which a fact gives a value, as in `_Stated.slot`, and the value.

    Returns `()` and an empty text if the fact gives no value to anything.
    """
    labelled = _LABEL.match(fact.text)
    if labelled is None:
        words, (values, negated) = signature(fact)
        own = sorted(word for word in words if not word.startswith("§"))
        return (
            (("said", *sorted(words)), fact.key)
            if len(own) >= _SAID_WORDS and (values or negated)
            else ((), "")
        )
    label = fact_key(labelled["label"])
    says = [word for word in _WORD.findall(label) if word not in FUNCTION_WORDS]
    if not 1 <= len(says) <= 4 or all(word in _words().labels or word.isdigit() for word in says):
        return (), ""
    if len(labelled["value"].split()) > _VALUE_WORDS:
        return (), ""
    return ("one" if label in _words().one else "label", *says), labelled["value"]


def _disagreement(store: _Store, one: _Stated, other: _Stated) -> float:
    """Return how certain it is that two values of one thing cannot both be true, 0 to 1; 0 if they can."""
    if one.fact.key == other.fact.key or store.notes[one.note].numbers != store.notes[other.note].numbers:
        return 0.0  # Each note of a numbered series has its own values.
    kind = one.slot[0]
    # The words of the two statements are left out, since they do not show that both mean the same thing.
    alike = store.index.similarity(
        one.note, other.note, {*terms_of(one.fact.text), *terms_of(other.fact.text)}
    )
    # A label of a single word, such as "port", may be that of many things.
    if alike < (_SAME_SUBJECT if kind != "label" or len(one.slot) > 2 else _ONE_WORD_SUBJECT):
        return 0.0
    if kind == "said":
        clear = 0.7 if _other_numbers(one.value, other.value) or _is_denied(one.fact, other.fact) else 0.0
    elif _other_numbers(one.value, other.value):
        clear = 0.75 if _same_wording(one.value, other.value) else 0.0
    elif _other_state(one.fact, other.fact):
        clear = 0.7
    else:
        clear = 0.65 if kind == "one" and _other_name(one.value, other.value) else 0.0
    return clear + 0.2 * min(1.0, alike) if clear else 0.0


def _other_numbers(one: str, other: str) -> bool:
    """Return True if each text has a number that the other lacks; `3.11` and `3.11.2` count as equal."""
    first, second = (
        {each.replace(",", "").replace("_", "") for each in _NUMBER.findall(value)} for value in (one, other)
    )

    def lacks(own: set[str], others: set[str]) -> bool:
        return any(not any(_is_part(each, there) for there in others) for each in own)

    return bool(first and second) and lacks(first, second) and lacks(second, first)


def _is_part(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _same_wording(one: str, other: str) -> bool:
    """Return True if two values have similar words apart from their numbers."""
    first, second = (
        {word[:STEM] for word in _WORD.findall(_NUMBER.sub(" ", value.casefold()))} - FUNCTION_WORDS
        for value in (one, other)
    )
    few = min(len(first), len(second))
    return len(first & second) >= _SAME_WORDING * few if few else max(len(first), len(second)) <= 1


def _is_denied(one: Fact, other: Fact) -> bool:
    return signature(one)[1][1] != signature(other)[1][1] and compare_facts(one, other).what == "negation"


def _other_state(one: Fact, other: Fact) -> bool:
    states = _words().states
    first, second = (
        {states[word] for word in _WORD.findall(fact.key) if word in states} for fact in (one, other)
    )
    return bool(first and second) and not first & second


_NAMED = pattern_of(
    r"[`*_]{0,2}(?P<name>[\w.@-]+(?: [A-Z0-9][\w.-]*){0,2})[`*_]{0,2}(?=$|[ ]?[(,;/+（]| with | and )"
)


def _other_name(one: str, other: str) -> bool:
    """Return True if two values begin with different names."""
    first, second = _NAMED.match(one), _NAMED.match(other)
    if first is None or second is None:
        return False
    words, others = (
        set(_WORD.findall(match["name"].casefold())) - FUNCTION_WORDS for match in (first, second)
    )
    return (
        bool(words and others)
        and words.isdisjoint(_WORD.findall(other.casefold()))
        and others.isdisjoint(_WORD.findall(one.casefold()))
    )


class _UsedVersion(Struct, frozen=True):
    """A version of a product that is in use according to a note."""

    version: tuple[int, ...]
    or_later: bool
    """True if the note allows any later version, too."""
    line: int

    def holds_with(self, other: _UsedVersion) -> bool:
        """Return True if both versions can be true for one project; for example, `3.12` and `3.12.4` can."""
        if self.or_later and other.or_later:
            return self.version == other.version
        if self.or_later or other.or_later:
            low, high = sorted((self, other), key=lambda each: each.version)
            return low.or_later or low.version == high.version[: len(low.version)]
        few = min(len(self.version), len(other.version))
        return self.version[:few] == other.version[:few]


def _other_versions(store: _Store) -> Iterator[RelatedNotes]:
    """Yield for each product the two most recent notes that name different versions of it."""
    used: dict[str, list[tuple[_Note, _UsedVersion]]] = defaultdict(list)
    for note in store.notes:
        store.check()
        for product, version in ({} if _is_journal(note) else _versions_in(note)).items():
            used[product].append((note, version))
    for product in sorted(used):
        holders = sorted(used[product], key=lambda each: (-each[0].at, utf16_key(each[0].path)))
        pairs = (
            (one, other) for one, other in combinations(holders, 2) if _is_of_one_place(one[0], other[0])
        )
        disagreeing = (pair for pair in pairs if not _agree(*pair))
        for (newer, now), (older, then) in disagreeing:
            first, last, _ = _in_order(older, newer)
            line_of = {newer.path: now.line, older.path: then.line}
            evidence = tuple(_evidence(note, line_of[note.path]) for note in (first, last))
            yield RelatedNotes("contradiction", (first.path, last.path), evidence, 0.74)
            break


def _agree(one: tuple[_Note, _UsedVersion], other: tuple[_Note, _UsedVersion]) -> bool:
    """Return True if two versions of a product, each with the note that names it, do not contradict.

    This is so if both can be true for one project, or if a line that names one of them also names the other.
    """
    if one[1].holds_with(other[1]):
        return True
    pairs = ((one, other), (other, one))
    return any(_names_number(note.rows[used.line - 1], them.version) for (note, used), (_, them) in pairs)


def _names_number(line: str, numbers: tuple[int, ...]) -> bool:
    said = re.escape(".".join(map(str, numbers)))
    # A single number may count anything.
    return len(numbers) > 1 and re.search(rf"(?<![\d.]){said}(?!\d)", line) is not None


def _versions_in(note: _Note) -> dict[str, _UsedVersion]:
    """Return the version in use of each product that the note names, by product.

    Products with several different versions are left out.
    """
    words, found = _words(), dict[str, list[_UsedVersion]]()
    for fact in note.facts:
        if fact.kind == "code" or len(fact.text) > _LONGEST_VALUED or _OPEN_CHANGE.search(fact.text):
            continue
        if _TASK.match(note.rows[fact.line - 1]):
            continue
        if not words.no_version.isdisjoint(_WORD.findall(fact.key)):
            continue
        for product, numbers, or_later in _versions_of(fact.text, words):
            found.setdefault(product, []).append(_UsedVersion(numbers, or_later, fact.line))
    return {
        product: versions[0]
        for product, versions in found.items()
        if all(each.holds_with(versions[0]) for each in versions)
    }


# Three numbers are a version, whatever word is before them.
_RELEASE = pattern_of(
    r"(?<![\w.@/-])(?P<product>[^\W\d_][\w.-]{2,40})[*`_]*\s?[:@|]?\s?[*`_]*[\^~]?v?(?P<version>\d+\.\d+\.\d+)"
    r"(?![\w%]|[.-]\w)"
)
_OWN_VERSION = pattern_of(
    r"(?:\b(?:current|latest|project|app|release)\s+(?:\w+\s)?version|当前版本|当前项目版本|项目版本|最新版本|現在のバージョン"
    r"|현재 버전)[*`_]*\s?(?:is\s|[:：|]\s?)?[*`_(]*v?(?P<version>\d+\.\d+(?:\.\d+)?)(?![\w.]*\w)",
    re.IGNORECASE,
)


def _versions_of(text: str, words: _Words) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    """Yield (product, version, or_later) for each product that a text names with its version.

    The version has only the parts that are compared: the first number, or the first two if the second one
    matters for the product. The third part is True if any later version is allowed, too.
    """
    for match in words.products.finditer(text):
        product = _product(match["product"])
        numbers = _numbers(match["version"])
        yield product, numbers[: 2 if product in words.minor else 1], bool(match["more"])
    for match in _OWN_VERSION.finditer(text):
        yield "the project itself", _numbers(match["version"]), False
    for match in _RELEASE.finditer(text):
        product = _product(match["product"])
        if product not in words.labels and not words.products.match(match[0]):
            yield f"{product} itself", _numbers(match["version"])[:2], False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


_OPEN_CHANGE = pattern_of(r"[~<>≥≤→]|->|\d\s?[-–/]\s?v?\d")


def _product(name: str) -> str:
    """Return the one name that stands for all spellings of the name of a product."""
    plain = name.casefold().replace(" ", "").removesuffix(".js").removesuffix("js")
    return {"golang": "go", "postgresql": "postgres", "tailwindcss": "tailwind", "openjdk": "jdk"}.get(
        plain, plain
    )


def _is_of_one_place(one: _Note, other: _Note) -> bool:
    """Return True if two notes may be about the same part of a project.

    False for notes with the same name in different folders: each describes the part that its folder is for.
    """
    return one.stem != other.stem or one.path.rpartition("/")[0] == other.path.rpartition("/")[0]


class _WentAway(Struct, frozen=True):
    """A statement that a thing no longer exists."""

    gone: str
    """The thing that no longer exists."""
    instead: str
    """The thing that replaced it; empty if none is named."""
    line: int
    is_code: bool
    """True if `gone` is in backticks."""


_LONGEST = 400
_MOST_MENTIONS = 6


def _superseded(store: _Store) -> Iterator[RelatedNotes]:
    """Yield findings: an older note relies on something that a newer note calls removed or done."""
    where: dict[str, list[int]] | None = None
    best: dict[tuple[str, str], RelatedNotes] = {}
    for number, note in enumerate(store.notes):
        store.check()
        for change in note.changes:
            where = _mentions(store) if where is None else where
            first = _WORD.search(change.gone.casefold())
            holders = where.get(first[0][:STEM], []) if first is not None else []
            for other in holders:
                if other == number or not _is_before(store.notes[other], note):
                    continue
                fact = _relies_on(store.notes[other], change)
                if fact is None or _relies_on(note, change) is not None:
                    continue  # The newer note relies on it as well.
                if _tells_itself(store.notes[other], change):
                    continue
                pair = (store.notes[other].path, note.path)
                score = 0.6 + 0.15 * bool(change.instead) + 0.2 * store.index.similarity(number, other)
                if pair not in best or best[pair].score < score:
                    evidence = (_evidence(store.notes[other], fact.line), _evidence(note, change.line))
                    proposal = _of_replaced(store.notes[other], fact, note, change)
                    best[pair] = RelatedNotes("superseded", pair, evidence, round(score, 4), proposal)
    yield from best.values()
    yield from _done(store)
    yield from _steps(store)


def _of_replaced(older: _Note, fact: Fact, newer: _Note, change: _WentAway) -> Proposal | None:
    """Return the proposal to replace the name of a thing that no longer exists in an older note.

    `fact`: the statement that names the thing. `change`: the statement of the newer note that the thing no
    longer exists. None if that names no replacement, or if the older note cannot be changed in this way.
    """
    if not change.instead or not older.may_edit or not _is_later(newer, older):
        return None
    after = renamed(fact.text, change.gone, change.instead)
    why = replaced_since(newer.path, change.gone, change.instead)
    return stated_instead(older.path, older.original, fact, after, why) if after else None


def _changes(note: _Note) -> Iterator[_WentAway]:
    words = _words()
    for fact in note.facts:
        if fact.kind == "code" or len(fact.text) > _LONGEST or not words.triggers.search(fact.text):
            continue
        for pattern in words.changes:
            for match in pattern.finditer(fact.text):
                groups = match.groupdict()
                gone = groups["xcode"] or groups["xname"]
                instead = groups.get("ycode") or groups.get("yname") or ""
                if gone.casefold() not in FUNCTION_WORDS and len(gone) > 2 and gone != instead:
                    yield _WentAway(gone, instead, fact.line, bool(groups["xcode"]))


def _tells_itself(older: _Note, change: _WentAway) -> bool:
    """Return True if the older note itself says that the thing is gone, or describes only the past."""
    if not _words().history.isdisjoint(older.name):
        return True  # Its folder does not count, because task lists are in such folders, too.
    gone = change.gone.casefold()
    return any(each.gone.casefold() == gone for each in older.changes)


def _mentions(store: _Store) -> dict[str, list[int]]:
    """Return the numbers of the notes in which a word occurs, by the first letters of the word.

    Words that occur in many notes are left out.
    """
    where: dict[str, list[int]] = defaultdict(list)
    for number, note in enumerate(store.notes):
        store.check()
        for term in set(terms_of(note.text)):
            where[term].append(number)
    return {term: numbers for term, numbers in where.items() if len(numbers) <= _MOST_MENTIONS}


def _is_before(older: _Note, newer: _Note) -> bool:
    return older.at <= newer.at and (older.at < newer.at or not older.at)


def _relies_on(note: _Note, change: _WentAway) -> Fact | None:
    """Return the first statement of a note that assumes that the thing in `change` exists, or None."""
    name = re.escape(change.gone)
    # A common word in backticks is a name only inside backticks.
    is_plain = change.is_code and _PLAIN.match(change.gone)
    gone = re.compile(f"`{name}`" if is_plain else rf"(?<![\w./-]){name}(?![\w/-])")
    past, replaced = _words().past, re.compile(rf"{name}[`'\"()*\s]{{0,6}}(?:→|->|=>)")
    for fact in note.facts:
        tells_of_it = bool(change.instead) and change.instead.casefold() in fact.key
        if fact.kind == "code" or tells_of_it or not gone.search(fact.text):
            continue
        if past.isdisjoint(_WORD.findall(fact.key)) and not replaced.search(fact.text):
            return fact
    return None


_PLAIN = pattern_of(r"[a-z]+\Z")


_OPEN = pattern_of(r"^\s*(?:[-*+]|\d+[.)])\s+\[ \]\s+(?P<task>\S.{7,})$", re.MULTILINE)
_DONE = pattern_of(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[xX]\]|✅|☑️?|✔️?)\s+(?P<task>\S.{7,})$", re.MULTILINE)


# A question that is asked every time, or a placeholder to fill in.
_IS_FORM = pattern_of(r"[?？]\W*$|<[^<>]{2,40}>|\{[^{}]{2,40}\}")


def _done(store: _Store) -> Iterator[RelatedNotes]:
    """Yield findings: a task is open in one note and done in a newer one."""
    done: dict[str, list[tuple[_Note, int]]] = defaultdict(list)
    for note in store.notes:
        store.check()
        for match in _DONE.finditer(note.text):
            done[_task(match["task"])].append((note, note.text.count("\n", 0, match.start("task")) + 1))
    told: set[tuple[str, str]] = set()
    for note in store.notes:
        for match in _OPEN.finditer(note.text) if done else ():
            task = _task(match["task"])
            # A task of every checklist is done again each time.
            if not store.is_rare(task) or _IS_FORM.search(match["task"]):
                continue
            for other, line in done.get(task, ()):
                pair = (note.path, other.path)
                if other is note or pair in told or not _is_before(note, other):
                    continue
                told.add(pair)
                opened = note.text.count("\n", 0, match.start("task")) + 1
                evidence = (_evidence(note, opened), _evidence(other, line))
                yield RelatedNotes("superseded", pair, evidence, 0.8, _of_done(note, opened, other))


def _of_done(older: _Note, line: int, newer: _Note) -> Proposal | None:
    """Return the proposal to mark the open task or step in a line of the older note as done."""
    after = closed_line(older.original.split("\n")[line - 1].rstrip("\r"))
    if not after or not older.may_edit:
        return None
    return line_edit(older.path, older.original, line, after, done_since(newer.path))


def _task(text: str) -> str:
    """Return the text of a task without case and markup, its checkbox and words for its state."""
    return fact_key(
        re.sub(
            r"[✅✔☑️]|\((?:done|completed|pending|todo)\)|[-–—:]\s*(?:done|completed?)\b.*",
            "",
            text,
            flags=re.IGNORECASE,
        )
    )


_LONGEST_STEP = 240
_MOST_STEPS = 20
_SAME_WORK = 0.2
# The least similarity of two notes about the same work, if one word or several words name it.
_SAME_WORK_OF_ONE_WORD = 0.3
_SAME_WORK_NAMED = 0.2
# The least similarity if the name of one note has further words.
_PART_OF_WORK = 0.35
_MOST_SIBLINGS = 8


def _of_one_work(store: _Store) -> Iterator[RelatedNotes]:
    """Yield pairs of notes whose names show that they are about the same piece of work.

    For example, a note of progress and one of the result, or two overviews.
    """
    named: dict[str, list[int]] = defaultdict(list)
    for number, note in enumerate(store.notes):
        if not note.is_past:
            for word in note.work:
                named[word].append(number)
    pairs = {
        pair
        for numbers in named.values()
        if len(numbers) <= _MOST_SIBLINGS
        for pair in combinations(numbers, 2)
    }
    found = []
    for one, other in sorted(pairs):
        store.check()
        first, second = store.notes[one], store.notes[other]
        least = _least_for_work(first, second)
        if least and (alike := store.index.similarity(one, other)) >= least:
            found.append(_of_stages(first, second, alike))
    yield from _few_of_family(found)


def _least_for_work(first: _Note, second: _Note) -> float:
    """Return the similarity from which two notes are about the same work; 0 if their names tell otherwise."""
    if first.folders != second.folders or first.numbers != second.numbers:
        return 0.0
    if _is_journal(first) and _is_journal(second):
        return 0.0  # Each is about its own day.
    if first.names(second) or second.names(first):
        return 0.0  # A note that refers to the other by name complements it.
    small, large = sorted((first.work, second.work), key=len)
    if small == large:
        return _SAME_WORK_NAMED if len(small) > 1 else _SAME_WORK_OF_ONE_WORD
    is_part = small < large and _words().facets.isdisjoint(large - small)
    is_staged = {first.stage, second.stage} == {"open", "done"}
    return _PART_OF_WORK if is_part and (len(small) > 1 or is_staged) else 0.0


def _of_stages(first: _Note, second: _Note, alike: float) -> RelatedNotes:
    """Return the finding about two notes of the same work."""
    is_staged = {first.stage, second.stage} == {"open", "done"}
    older, newer, _ = _in_order(first, second)
    if is_staged:
        older, newer = (first, second) if first.stage == "open" else (second, first)
    evidence = tuple(_title(note) for note in (older, newer))
    follows = not _words().passing.isdisjoint(older.name) and older.work == newer.work
    proposal = None
    if is_staged and follows and older.may_delete and not _is_later(older, newer):
        proposal = deletion(older.path, overtaken(older.path, newer.path))
    kind: RelatedKind = "superseded" if is_staged else "differing"
    return RelatedNotes(kind, (older.path, newer.path), evidence, round(0.6 + 0.2 * alike, 4), proposal)


def _title(note: _Note) -> QuotedLine:
    """Return the first line with content of a note as a quote."""
    return _evidence(note, next((fact.line for fact in note.compared.facts), 1))


_DENIED = pattern_of(r"\b(?:not yet|noch nicht|not|never|to be|nicht)\s+\w+", re.IGNORECASE)
_PARTLY = pattern_of(r"(?<!\d)\d{1,2}\s?%")


class _Step(Struct, frozen=True):
    """The state of a numbered part of a plan, according to a note."""

    is_done: bool
    line: int
    words: frozenset[str]
    """The other words of the line."""


def _steps(store: _Store) -> Iterator[RelatedNotes]:
    """Yield findings: a numbered part of a plan is open in one note and done in a newer one."""
    told: dict[str, list[tuple[int, _Step]]] = defaultdict(list)
    for number, note in enumerate(store.notes):
        store.check()
        for name, step in ({} if _is_journal(note) else _steps_in(note)).items():
            told[name].append((number, step))
    best: dict[tuple[str, str], RelatedNotes] = {}
    for name in sorted(told):
        store.check()
        for (one, ahead), (other, behind) in permutations(told[name], 2):
            older, newer = store.notes[one], store.notes[other]
            if ahead.is_done or not behind.is_done or older.at > newer.at:
                continue
            alike = store.index.similarity(one, other)
            if alike < _SAME_WORK or (ahead.words and behind.words and not ahead.words & behind.words):
                continue  # Each project, and each part of one, has a numbering of its own.
            pair, score = (older.path, newer.path), 0.6 + 0.2 * min(1.0, alike)
            if pair not in best or best[pair].score < score:
                evidence = (_evidence(older, ahead.line), _evidence(newer, behind.line))
                proposal = _of_done(older, ahead.line, newer)
                best[pair] = RelatedNotes("superseded", pair, evidence, round(score, 4), proposal)
    yield from _few_of_each(best.values())


def _few_of_each(found: Iterable[RelatedNotes]) -> Iterator[RelatedNotes]:
    """Yield only the most certain of the findings about each older note.

    A person who reviews that finding sees the other ones in the note.
    """
    taken: Counter[str] = Counter()
    for each in sorted(found, key=lambda each: (-each.score, each.paths)):
        if not taken[each.paths[0]]:
            taken[each.paths[0]] += 1
            yield each


def _steps_in(note: _Note) -> dict[str, _Step]:
    """Return the state of each numbered part of a plan that a note names, by the name of the part.

    Parts with contradicting states are left out.
    """
    words, found = _words(), dict[str, list[_Step]]()
    for number, line in enumerate(note.rows, 1):
        if len(line) > _LONGEST_STEP:
            continue
        named = list(words.step.finditer(line))
        is_open = bool(words.step_open.search(line))
        is_done = bool(words.step_done.search(_DENIED.sub(" ", line)))
        if len(named) != 1 or is_done == is_open or _PARTLY.search(line):
            continue
        (step,) = named
        first, last = int(step["first"]), int(step["last"] or step["first"])
        rest = words.step_done.sub(" ", words.step_open.sub(" ", line.replace(step[0], " ")))
        said = frozenset(each for each in terms_of(rest) if each not in FUNCTION_WORDS and not each.isdigit())
        kind = step["kind"].casefold().removesuffix("s")[:STEM]
        for each in range(first, min(last, first + _MOST_STEPS) + 1):
            found.setdefault(f"{kind} {each}", []).append(_Step(is_done, number, said))
    return {name: steps[0] for name, steps in found.items() if len({step.is_done for step in steps}) == 1}
