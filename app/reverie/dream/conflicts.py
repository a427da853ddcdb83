"""The vetoes on statements: what keeps two notes apart however much they look alike.

Each veto is one method and answers with what differs, in a few plain words, or nothing. Reasons name line
numbers and kinds of difference, never the words themselves: memory text may hold secrets, and reasons go to
logs.

Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from reverie.dream import vocabulary as words
from reverie.dream.alignment import Alignment, Link, match_wordings
from reverie.dream.exclusions import excludes, excluding_words
from reverie.dream.reading import Statement
from reverie.dream.word_order import order_conflict
from reverie.dream.wording import read_wording
from reverie.dream.wording_parts import MARKS, Negation, Token, Wording

_ANTONYM_PREFIXES = (
    "un",
    "dis",
    "in",
    "im",
    "ir",
    "non",
    "de",
    "anti",
    "a",
    "mis",
    "out",
    "over",
    "under",
    "re",
)
_PRESENT = frozenset(["is", "are", "has", "ist", "sind", "hat", "est", "sont", "es", "son"])
_OPPOSITE_RELATIONS = tuple(
    (frozenset(a.split()), frozenset(b.split()))
    for a, b in (
        (
            "before until till vor bis avant hasta antes",
            "after from since nach seit après depuis desde después",
        ),
        ("to into onto zu zum zur vers hacia", "from von vom aus de desde"),
        ("above over über", "below under unter"),
    )
)
_LOADED = (
    words.LOADED_HEADINGS
    | words.NEGATIONS_FORWARD
    | words.NEGATIONS_CLAUSE
    | words.ENVIRONMENT_MARKERS.keys()
)
# A key with more words than this for a value is a sentence, not a setting.
_SHORT_VALUE = 6
_EXCLUDED = "words that exclude each other"


def statement_conflicts(
    small: Sequence[Statement], large: Sequence[Statement], found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    """Everything that makes paired, or nearly paired, statements of two notes contradict each other."""
    pairing = _Pairing(small, large, found)
    for link in (*found.links, *found.near_misses):
        check()
        difference = pairing.difference(link)
        if difference:
            a, b = small[link.small], large[link.large]
            yield f"lines {a.line} and {b.line} differ in {difference}"
    yield from pairing.steps()
    yield from pairing.pronouns()
    yield from _keys(small, large)
    yield from _tables(small, large)


class _Pairing:
    """Two notes' statements with what was paired. `a` is always of the smaller note, `b` of the other one."""

    def __init__(self, small: Sequence[Statement], large: Sequence[Statement], found: Alignment) -> None:
        self._small, self._large, self._found = small, large, found
        self._of_small: dict[int, set[int]] = defaultdict(set)
        self._of_large: dict[int, set[int]] = defaultdict(set)
        for link in found.links:
            self._of_small[link.small].add(link.large)
            self._of_large[link.large].add(link.small)

    def difference(self, link: Link) -> str:
        """What two statements differ in, or nothing."""
        a, b = self._small[link.small], self._large[link.large]
        if a.state and b.state and a.state != b.state:
            return "what is done"
        if a.wording == b.wording:
            return _place(a, b)
        if a.kind == b.kind == "code":
            return "a command or line of code"
        return (
            self._values(link)
            or self._exclusions(link)
            or _polarity(a.wording, b.wording, link)
            or _relations(a.wording, b.wording)
            or order_conflict(a.wording, b.wording, link.match.pairs)
            or self._content(link)
            or self._marks(link)
            or _tense(a.wording, b.wording)
            or _place(a, b)
        )

    def _left(self, link: Link) -> tuple[list[Token], list[Token]]:
        """The words of each that have no partner anywhere."""
        of_a, of_b = self._small[link.small].wording.tokens, self._large[link.large].wording.tokens
        left_a, left_b = self._found.small_left[link.small], self._found.large_left[link.large]
        return [of_a[each] for each in sorted(left_a)], [of_b[each] for each in sorted(left_b)]

    def _values(self, link: Link) -> str:
        """Numbers, identifiers and names: each has one that the other lacks."""
        left_a, left_b = self._left(link)
        if _both(left_a, left_b, _is_number, _is_one):
            return "a number or date"
        if _both(left_a, left_b, _is_identifier):
            return "an identifier"
        return "a name" if _both(left_a, left_b, _is_name, _may_be_name) else ""

    def _exclusions(self, link: Link) -> str:
        a, b = self._small[link.small].wording, self._large[link.large].wording
        is_only = len(self._of_small[link.small]) <= 1 and len(self._of_large[link.large]) <= 1
        if excludes(a.seen, b.seen, strict=is_only):
            return _EXCLUDED
        left_a, left_b = (
            {token.canon for token in left if token.kind in ("word", "weak")} for left in self._left(link)
        )
        for prefix in _ANTONYM_PREFIXES:
            if any(prefix + each in left_b for each in left_a) or any(
                prefix + each in left_a for each in left_b
            ):
                return _EXCLUDED
        return ""

    def _content(self, link: Link) -> str:
        """Each says something that the other one does not, or another word stands in the same place."""
        a, b = self._small[link.small].wording, self._large[link.large].wording
        more_a, more_b = (any(token.kind != "weak" for token in left) for left in self._left(link))
        for number, other in link.match.pairs:
            more_a = more_a or bool(a.tokens[number].unit and not b.tokens[other].unit)
            more_b = more_b or bool(b.tokens[other].unit and not a.tokens[number].unit)
        if more_a and more_b:
            return "what they say"
        left_a, left_b = self._found.small_left[link.small], self._found.large_left[link.large]
        return "a word in the same place" if substituted(a, b, left_a, left_b) else ""

    def _marks(self, link: Link) -> str:
        """Questions, doubts, times: what colours one statement must colour its partners."""
        a, b = self._small[link.small].wording, self._large[link.large].wording
        of_partners_a = frozenset[str]().union(
            *(self._large[each].wording.marks for each in self._of_small[link.small])
        )
        of_partners_b = frozenset[str]().union(
            *(self._small[each].wording.marks for each in self._of_large[link.large])
        )
        extra = sorted((a.marks - of_partners_a - b.marks) | (b.marks - of_partners_b - a.marks))
        if extra:
            return MARKS[extra[0].split()[0]]
        return "whether it must or may be" if _modals_differ(a, b) or _modals_differ(b, a) else ""

    def steps(self) -> Iterator[str]:
        """Numbered steps of both notes must come in the same order."""
        lines = sorted(
            (self._small[link.small].line, self._large[link.large].line)
            for link in self._found.links
            if self._small[link.small].ordered and self._large[link.large].ordered
        )
        if any(before[1] > after[1] for before, after in pairwise(lines) if before[0] < after[0]):
            yield "numbered steps come in another order"

    def pronouns(self) -> Iterator[str]:
        """ "It" must mean the same: what stands before must be paired with what stands before there."""
        for link in self._found.links:
            a, b = self._small[link.small], self._large[link.large]
            if a.anaphoric and b.anaphoric and link.small and link.large:
                before = self._of_small[link.small - 1]
                if before and not before & {link.large - 1, link.large}:
                    yield f"lines {a.line} and {b.line} refer to something else"


def _both(
    a: Sequence[Token],
    b: Sequence[Token],
    is_sure: Callable[[Token], bool],
    may_be: Callable[[Token], bool] | None = None,
) -> bool:
    """Whether one side has such a token for sure and the other one has, or may have, another one."""
    may_be = may_be or is_sure
    sure_a, sure_b = any(map(is_sure, a)), any(map(is_sure, b))
    return (sure_a and (sure_b or any(map(may_be, b)))) or (sure_b and any(map(may_be, a)))


def _is_number(token: Token) -> bool:
    return token.kind == "number"


def _is_one(token: Token) -> bool:
    return token.canon == "#1"


def _is_identifier(token: Token) -> bool:
    return token.kind == "identifier"


def _is_name(token: Token) -> bool:
    return token.kind == "name"


def _may_be_name(token: Token) -> bool:
    return token.initial and token.kind == "word"


def _polarity(a: Wording, b: Wording, link: Link) -> str:
    """A negation whose words stand with the opposite sign in the other statement: the first one of those
    behind it, or all of its clause."""
    if a.negative != b.negative:
        return "a negation"
    for one, other, pairs in (
        (a, b, link.match.pairs),
        (b, a, tuple((other, number) for number, other in link.match.pairs)),
    ):
        for group in one.negations:
            paired = sorted((number, mate) for number, mate in pairs if number in group.reach)
            opposite = {
                number for number, mate in paired if one.tokens[number].negated != other.tokens[mate].negated
            }
            first = next((number for number, _mate in paired if one.tokens[number].kind != "weak"), None)
            if (paired and len(opposite) == len(paired)) or (group.forward and first in opposite):
                return "a negation"
            if not paired and not other.negations and _is_predicate(one, group, pairs):
                return "a negation"
    return ""


def _is_predicate(wording: Wording, negation: Negation, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether what is negated is said of something the other statement has too ("flags are not supported"),
    and not a mere contrast in a clause of its own ("says why, not what")."""
    clause = wording.clauses[negation.reach.start]
    return any(number < negation.reach.start and wording.clauses[number] == clause for number, _mate in pairs)


def _relations(a: Wording, b: Wording) -> str:
    """From and to, before and after: the same relation to another thing, or the opposite one to the same."""
    shared = {each for each, _thing in a.relations} & {each for each, _thing in b.relations}
    for connector in shared & words.RELATIONS:
        of_a = {thing for each, thing in a.relations if each == connector}
        of_b = {thing for each, thing in b.relations if each == connector}
        if not of_a & of_b and (of_a & b.canons or of_b & a.canons):
            return "what a relation points at"
    for one, other in _OPPOSITE_RELATIONS:
        for left, right in ((one, other), (other, one)):
            things = {thing for each, thing in a.relations if each in left}
            if things & {thing for each, thing in b.relations if each in right}:
                return "the direction of a relation"
    return ""


def substituted(a: Wording, b: Wording, left_a: set[int], left_b: set[int]) -> list[tuple[Token, Token]]:
    """Pairs of words that stand in the same place and are not the same; not if both are weak, and one weak
    word only against one strong word."""
    of_a, of_b = {a.tokens[each].canon for each in left_a}, {b.tokens[each].canon for each in left_b}
    pairs = []
    for start_a, end_a, start_b, end_b in _replaced(a, b):
        instead_a = [token for token in a.tokens[start_a:end_a] if token.canon in of_a]
        instead_b = [token for token in b.tokens[start_b:end_b] if token.canon in of_b]
        strong_a, strong_b = (any(token.kind != "weak" for token in each) for each in (instead_a, instead_b))
        is_one_to_one = end_a - start_a == end_b - start_b == 1
        if (
            instead_a
            and instead_b
            and ((strong_a and strong_b) or (is_one_to_one and (strong_a or strong_b)))
        ):
            pairs.append((max(instead_a, key=_weight), max(instead_b, key=_weight)))
    return pairs


def _weight(token: Token) -> float:
    return token.weight


def _replaced(a: Wording, b: Wording) -> Iterator[tuple[int, int, int, int]]:
    """Stretches of tokens between equal ones that are not empty on either side."""
    from rapidfuzz.distance import Levenshtein

    names: dict[str, int] = {}
    codes_a = [names.setdefault(token.canon, len(names)) for token in a.tokens]
    codes_b = [names.setdefault(token.canon, len(names)) for token in b.tokens]
    at_a = at_b = 0
    for block in Levenshtein.opcodes(codes_a, codes_b):
        if block.tag == "equal":
            if block.src_start > at_a and block.dest_start > at_b:
                yield at_a, block.src_start, at_b, block.dest_start
            at_a, at_b = block.src_end, block.dest_end
    if len(codes_a) > at_a and len(codes_b) > at_b:
        yield at_a, len(codes_a), at_b, len(codes_b)


def _modals_differ(a: Wording, b: Wording) -> bool:
    """One must, the other may; "must not" and "may not" are the same."""
    return (
        not a.negations
        and not b.negations
        and not words.STRONG_MODALS.isdisjoint(a.seen)
        and not words.WEAK_MODALS.isdisjoint(b.seen)
        and words.WEAK_MODALS.isdisjoint(a.seen)
        and words.STRONG_MODALS.isdisjoint(b.seen)
    )


def _tense(a: Wording, b: Wording) -> str:
    present = b if a.past else a
    return "whether it was or is" if a.past != b.past and present.seen & _PRESENT else ""


def _place(a: Statement, b: Statement) -> str:
    """The section they stand in, and the entry or line they stand under."""
    if _headings_differ(a.section, b.section):
        return "the section they stand in"
    return "what they stand under" if _headings_differ(a.parent, b.parent) else ""


def _headings_differ(a: str, b: str) -> bool:
    if a.casefold() == b.casefold():
        return False
    of_a, of_b = read_wording(a), read_wording(b)
    if of_a.seen & _LOADED != of_b.seen & _LOADED:
        return True
    if not a or not b:
        return excluding_words(of_a.seen) != excluding_words(of_b.seen)
    return excludes(of_a.seen, of_b.seen) or match_wordings(of_a, of_b).dice < 0.3


def _keys(small: Sequence[Statement], large: Sequence[Statement]) -> Iterator[str]:
    """The same key, once in each note, with values that share nothing."""
    of_small, of_large = _unique_keys(small), _unique_keys(large)
    for key in of_small.keys() & of_large.keys():
        a, b = of_small[key], of_large[key]
        values_a, values_b = _values_under(a), _values_under(b)
        if values_a and values_b and max(len(values_a), len(values_b)) <= _SHORT_VALUE:
            pairs = match_wordings(a.wording, b.wording).pairs
            if not any(a.wording.tokens[number] in values_a for number, _other in pairs):
                yield f"lines {a.line} and {b.line} give the same key another value"


def _unique_keys(statements: Sequence[Statement]) -> dict[frozenset[str], Statement]:
    found: dict[frozenset[str], Statement | None] = {}
    for statement in statements:
        if statement.key:
            found[statement.key] = None if statement.key in found else statement
    return {key: statement for key, statement in found.items() if statement is not None}


def _values_under(statement: Statement) -> list[Token]:
    return [
        token
        for token in statement.wording.tokens
        if token.canon not in statement.key and token.kind != "weak"
    ]


def _tables(small: Sequence[Statement], large: Sequence[Statement]) -> Iterator[str]:
    """Tables with the same head of which each lists something that the other one lacks."""
    rows_small, rows_large = _rows(small), _rows(large)
    for head in rows_small.keys() & rows_large.keys():
        if rows_small[head] - rows_large[head] and rows_large[head] - rows_small[head]:
            yield "tables with the same head list different things"


def _rows(statements: Sequence[Statement]) -> dict[str, set[frozenset[str]]]:
    rows: dict[str, set[frozenset[str]]] = defaultdict(set)
    for statement in statements:
        if statement.table and statement.key:
            rows[statement.table].add(statement.key)
    return rows
