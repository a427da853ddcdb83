"""The vetoes: what keeps two statements, or two notes, apart however much they look alike.

Each veto is one function and answers with what differs, in a few plain words, or nothing. Reasons name line numbers
and kinds of difference, never the words themselves: memory text may hold secrets, reasons go to logs.

Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from reverie.dream import vocabulary as words
from reverie.dream.alignment import Alignment, Link, match_wordings
from reverie.dream.reading import Reading, Statement, bigrams
from reverie.dream.wording import Token, Wording, read_wording, word

_ANTONYM_PREFIXES = ("un", "dis", "in", "im", "ir", "non", "de", "anti", "a", "mis", "out", "over", "under", "re")
_PRESENT = frozenset("is are has ist sind hat est sont es son".split())
_OPPOSITE_RELATIONS = tuple(
    (frozenset(a.split()), frozenset(b.split()))
    for a, b in (
        ("before until till vor bis avant hasta antes", "after from since nach seit après depuis desde después"),
        ("to into onto zu zum zur vers hacia", "from von vom aus de desde"),
        ("above over über", "below under unter"),
    )
)


def _exclusive_groups() -> dict[str, tuple[int, ...]]:
    groups: dict[str, set[int]] = defaultdict(set)
    for number, group in enumerate(words.EXCLUSIVE):
        for each in group:
            groups[word(each)].add(number)
    return {each: tuple(sorted(numbers)) for each, numbers in groups.items()}


_PRODUCTS = frozenset(word(each) for each in words.PRODUCTS)
# Longer statements are compared word by word only up to this many words.
_LONG = 60
_GROUPS_OF = _exclusive_groups()


def exclusive_members(seen: frozenset[str]) -> dict[int, set[str]]:
    """By group of words that exclude each other, those that were seen."""
    members: dict[int, set[str]] = defaultdict(set)
    for each in seen:
        for group in _GROUPS_OF.get(each) or _GROUPS_OF.get(word(each), ()):
            members[group].add(word(each))
    return members


def excludes(a: frozenset[str], b: frozenset[str], *, strict: bool = False) -> bool:
    """Whether each side has a word of a group that the other side has another word of. `strict`: of groups of more
    than three (days, systems) both sides must have the same words if they have any."""
    of_a, of_b = exclusive_members(a), exclusive_members(b)
    for group in of_a.keys() & of_b.keys():
        if of_a[group] - of_b[group] and of_b[group] - of_a[group]:
            return True
        if strict and len(words.EXCLUSIVE[group]) > 3 and of_a[group] != of_b[group]:
            return True
    return False


# --- statements -------------------------------------------------------------------------------------------------------


def statement_conflicts(
    small: Sequence[Statement], large: Sequence[Statement], found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    """Everything that makes paired, or nearly paired, statements of two notes contradict each other."""
    for link in found.links:
        check()
        a, b = small[link.small], large[link.large]
        if a.wording == b.wording:
            difference = _state(a, b) or _place(a, b)
        else:
            difference = _difference(a, b, link, found)
        if difference:
            yield f"lines {a.line} and {b.line} differ in {difference}"
    for link in found.near_misses:
        check()
        a, b = small[link.small], large[link.large]
        difference = _difference(a, b, link, found)
        if difference:
            yield f"lines {a.line} and {b.line} differ in {difference}"
    yield from _steps(small, large, found)
    yield from _pronouns(small, large, found)
    yield from _keys(small, large)
    yield from _tables(small, large)


def _difference(a: Statement, b: Statement, link: Link, found: Alignment) -> str:
    return (
        _state(a, b)
        or _values(a, b, link, found)
        or _words_exclude(a, b, link, found)
        or _polarity(a.wording, b.wording, link)
        or _antonym(a, b, link, found)
        or _code(a, b, link)
        or _relations(a.wording, b.wording)
        or _order(a.wording, b.wording, link)
        or _slot(a, b, link, found)
        or _manner(a, b)
        or _place(a, b)
    )


def _state(a: Statement, b: Statement) -> str:
    return "what is done" if a.state and b.state and a.state != b.state else ""


def _left(statement: Statement, numbers: set[int]) -> list[Token]:
    return [statement.wording.tokens[number] for number in sorted(numbers)]


def _values(a: Statement, b: Statement, link: Link, found: Alignment) -> str:
    left_a, left_b = _left(a, found.small_left[link.small]), _left(b, found.large_left[link.large])
    for kind, name in (("number", "a number or date"), ("identifier", "an identifier"), ("name", "a name")):
        certain_a, certain_b = _of_kind(left_a, kind), _of_kind(left_b, kind)
        if certain_a and certain_b:
            return name
        if kind == "number" and ((certain_a and _one(left_b)) or (certain_b and _one(left_a))):
            return name
        if kind == "name" and ((certain_a and _initials(left_b)) or (certain_b and _initials(left_a))):
            return name
    return ""


def _of_kind(tokens: Sequence[Token], kind: str) -> bool:
    return any(token.kind == kind for token in tokens)


def _one(tokens: Sequence[Token]) -> bool:
    return any(token.canon == "#1" for token in tokens)


def _initials(tokens: Sequence[Token]) -> bool:
    return any(token.initial and token.kind == "word" for token in tokens)


def _words_exclude(a: Statement, b: Statement, link: Link, found: Alignment) -> str:
    is_only = sum(each.small == link.small or each.large == link.large for each in found.links) <= 1
    return "words that exclude each other" if excludes(a.wording.seen, b.wording.seen, strict=is_only) else ""


def _antonym(a: Statement, b: Statement, link: Link, found: Alignment) -> str:
    """Words such as safe and unsafe."""
    left_a = {token.canon for token in _left(a, found.small_left[link.small]) if token.kind == "word"}
    left_b = {token.canon for token in _left(b, found.large_left[link.large]) if token.kind == "word"}
    for prefix in _ANTONYM_PREFIXES:
        if any(prefix + each in left_b for each in left_a) or any(prefix + each in left_a for each in left_b):
            return "words that exclude each other"
    return ""


def _polarity(a: Wording, b: Wording, link: Link) -> str:
    """A negation in one statement whose words stand in the other one without any."""
    if a.negative != b.negative and (a.negative or b.negative):
        return "a negation"
    partners_a: dict[int, int] = dict(link.match.pairs)
    partners_b = {other: number for number, other in link.match.pairs}
    for one, other, partners in ((a, b, partners_a), (b, a, partners_b)):
        for group in one.negations:
            paired = [(number, partners[number]) for number in group if number in partners]
            if paired and all(one.tokens[number].negated != other.tokens[mate].negated for number, mate in paired):
                return "a negation"
    return ""


def _code(a: Statement, b: Statement, link: Link) -> str:
    if a.kind == b.kind == "code" and a.wording.tokens != b.wording.tokens:
        return "a command or line of code"
    return ""


def _relations(a: Wording, b: Wording) -> str:
    """From and to, before and after: the same relation to another thing, or the opposite one to the same."""
    shared = {each for each, _object in a.relations} & {each for each, _object in b.relations}
    for connector in shared & words.RELATIONS:
        of_a = {thing for each, thing in a.relations if each == connector}
        of_b = {thing for each, thing in b.relations if each == connector}
        if not of_a & of_b and (of_a & b.canons or of_b & a.canons):
            return "what a relation points at"
    for one, other in _OPPOSITE_RELATIONS:
        for left, right in ((one, other), (other, one)):
            things = {thing for each, thing in a.relations if each in left}
            against = {thing for each, thing in b.relations if each in right}
            if things & against:
                return "the direction of a relation"
    return ""


def _order(a: Wording, b: Wording, link: Link) -> str:
    """The same words with subject and object exchanged, or the stations of an arrow chain in another order."""
    pairs = sorted(link.match.pairs)
    others = [other for number, other in pairs if a.tokens[number].kind != "weak"]
    if a.ordered and b.ordered and others != sorted(others):
        return "the order of a chain"
    if _agents_differ(a, b, pairs) if a.passive != b.passive else _exchanged(a, b, pairs):
        return "who does what"
    return "what belongs to what" if _regrouped(a, b, pairs) else ""


def _agents_differ(a: Wording, b: Wording, pairs: Sequence[tuple[int, int]]) -> bool:
    """One is passive: who stands after "by" there must stand before the verb in the other one."""
    if b.passive:
        a, b, pairs = b, a, [(other, number) for number, other in pairs]
    agents = {thing for connector, thing in a.relations if connector in words.PASSIVE_BY}
    partner = dict(pairs)
    return any(
        a.tokens[number].canon in agents
        and number in partner
        and number - 1 in partner
        and partner[number] > partner[number - 1]
        for number in range(1, len(a.tokens))
    )


def _exchanged(a: Wording, b: Wording, pairs: Sequence[tuple[int, int]]) -> bool:
    """Two words that have changed places around a third: subject and object. Moving whole phrases does not do that,
    and what follows the same preposition in both is neither."""
    of_a, of_b = ({(connector.rstrip("+"), thing) for connector, thing in side.relations} for side in (a, b))
    adverbial = {thing for _connector, thing in of_a & of_b}
    if len(pairs) > _LONG:
        return False
    for at, (_first, first) in enumerate(pairs):
        for until in range(at + 2, len(pairs)):
            last = pairs[until][1]
            if first > last and any(last < middle < first for _number, middle in pairs[at + 1 : until]):
                ends = [a.tokens[pairs[each][0]] for each in (at, until)]
                if all(token.kind != "weak" and token.canon not in adverbial for token in ends):
                    return True
    return False


def _regrouped(a: Wording, b: Wording, pairs: Sequence[tuple[int, int]]) -> bool:
    """Two values exchanged: of two clauses each gave a part to the other, or a number has got other neighbours."""
    others = [other for _number, other in pairs]
    if others == sorted(others):
        return False
    count_a, count_b = Counter(token.canon for token in a.tokens), Counter(token.canon for token in b.tokens)
    homes: dict[int, set[int]] = defaultdict(set)
    for number, other in pairs:
        token = a.tokens[number]
        if token.kind != "weak" and count_a[token.canon] == 1 and count_b[b.tokens[other].canon] == 1:
            homes[a.clauses[number]].add(b.clauses[other])
    if any(len(one & other) > 1 for one, other in combinations(homes.values(), 2)):
        return True
    return any(
        a.tokens[number].kind == "number"
        and _passes_number(a, pairs, number, other)
        and not _neighbours(a, number) & _neighbours(b, other)
        for number, other in pairs
    )


def _passes_number(a: Wording, pairs: Sequence[tuple[int, int]], number: int, other: int) -> bool:
    return any(
        a.tokens[before].kind == "number" and (other > after) != (number > before)
        for before, after in pairs
        if before != number
    )


def _neighbours(wording: Wording, number: int) -> set[str]:
    return {
        wording.tokens[each].canon if 0 <= each < len(wording.tokens) else ""
        for each in (number - 1, number + 1)
    } - {""}


def _slot(a: Statement, b: Statement, link: Link, found: Alignment) -> str:
    """Each says something that the other one does not, or another word stands in the same place."""
    left_a, left_b = found.small_left[link.small], found.large_left[link.large]
    more_a, more_b = _strong(_left(a, left_a)), _strong(_left(b, left_b))
    for number, other in link.match.pairs:
        more_a = more_a or bool(a.wording.tokens[number].unit and not b.wording.tokens[other].unit)
        more_b = more_b or bool(b.wording.tokens[other].unit and not a.wording.tokens[number].unit)
    if more_a and more_b:
        return "what they say"
    if substituted(a.wording, b.wording, left_a, left_b):
        return "a word in the same place"
    return ""


def _strong(tokens: Sequence[Token]) -> bool:
    return any(token.kind != "weak" for token in tokens)


def substituted(a: Wording, b: Wording, left_a: set[int], left_b: set[int]) -> list[tuple[Token, Token]]:
    """Pairs of words that stand in the same place and are not the same; not if both are weak, and one weak word
    only against one strong word."""
    of_a, of_b = {a.tokens[each].canon for each in left_a}, {b.tokens[each].canon for each in left_b}
    pairs = []
    for start_a, end_a, start_b, end_b in _replaced(a, b):
        instead_a = [token for token in a.tokens[start_a:end_a] if token.canon in of_a]
        instead_b = [token for token in b.tokens[start_b:end_b] if token.canon in of_b]
        if not instead_a or not instead_b:
            continue
        both = _strong(instead_a) and _strong(instead_b)
        if both or (_strong((*instead_a, *instead_b)) and end_a - start_a == end_b - start_b == 1):
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
    for tag, start_a, end_a, start_b, end_b in [*Levenshtein.opcodes(codes_a, codes_b), ("equal", len(codes_a), 0, len(codes_b), 0)]:
        if tag == "equal":
            if start_a > at_a and start_b > at_b:
                yield at_a, start_a, at_b, start_b
            at_a, at_b = end_a, end_b


def _manner(a: Statement, b: Statement) -> str:
    if a.wording.question != b.wording.question:
        return "whether it is asked or said"
    if a.wording.seen & words.HEDGES != b.wording.seen & words.HEDGES:
        return "how settled it is"
    if a.wording.future != b.wording.future:
        return "whether it is or will be"
    if a.wording.former != b.wording.former:
        return "whether it was or is"
    holds_a, holds_b = (bool({each for each, _thing in side.wording.relations} & words.HOLDING) for side in (a, b))
    if holds_a != holds_b:
        return "how long it holds"
    one, other = (a, b) if a.wording.past else (b, a)
    if one.wording.past != other.wording.past and other.wording.seen & _PRESENT:
        return "whether it was or is"
    return ""


def _place(a: Statement, b: Statement) -> str:
    """The section they stand in, and the entry or line they stand under."""
    if _headings_differ(a.section, b.section):
        return "the section they stand in"
    if _headings_differ(a.parent, b.parent):
        return "what they stand under"
    return ""


def _headings_differ(a: str, b: str) -> bool:
    if a.casefold() == b.casefold():
        return False
    of_a, of_b = read_wording(a), read_wording(b)
    loaded = words.LOADED_HEADINGS | words.NEGATIONS_FORWARD | words.NEGATIONS_CLAUSE
    if of_a.seen & loaded != of_b.seen & loaded:
        return True
    if not a or not b:
        return False
    return excludes(of_a.seen, of_b.seen) or match_wordings(of_a, of_b).dice < 0.3


def _pronouns(small: Sequence[Statement], large: Sequence[Statement], found: Alignment) -> Iterator[str]:
    """"It" must mean the same: what stands before must be paired with what stands before there."""
    partners: dict[int, set[int]] = defaultdict(set)
    for link in found.links:
        partners[link.small].add(link.large)
    for link in found.links:
        if not (small[link.small].anaphoric and large[link.large].anaphoric and link.small and link.large):
            continue
        before = partners[link.small - 1]
        if before and not before & {link.large - 1, link.large}:
            yield f"lines {small[link.small].line} and {large[link.large].line} refer to something else"


def _steps(small: Sequence[Statement], large: Sequence[Statement], found: Alignment) -> Iterator[str]:
    """Numbered steps of both notes must come in the same order."""
    ordered = sorted(
        (small[link.small].line, large[link.large].line)
        for link in found.links
        if small[link.small].ordered and large[link.large].ordered
    )
    if any(before[1] > after[1] for before, after in zip(ordered, ordered[1:], strict=False) if before[0] < after[0]):
        yield "numbered steps come in another order"


def _keys(small: Sequence[Statement], large: Sequence[Statement]) -> Iterator[str]:
    """The same key, once in each note, with values that share nothing."""
    of_small, of_large = _unique_keys(small), _unique_keys(large)
    for key in of_small.keys() & of_large.keys():
        a, b = of_small[key], of_large[key]
        values_a, values_b = _value_tokens(a), _value_tokens(b)
        if not values_a or not values_b or max(len(values_a), len(values_b)) > 6:
            continue
        if not match_wordings(a.wording, b.wording).pairs or not _share_value(a, b, key):
            yield f"lines {a.line} and {b.line} give the same key another value"


def _unique_keys(statements: Sequence[Statement]) -> dict[frozenset[str], Statement]:
    found: dict[frozenset[str], Statement | None] = {}
    for statement in statements:
        if statement.key:
            found[statement.key] = None if statement.key in found else statement
    return {key: statement for key, statement in found.items() if statement is not None}


def _value_tokens(statement: Statement) -> list[Token]:
    return [token for token in statement.wording.tokens if token.canon not in statement.key and token.kind != "weak"]


def _share_value(a: Statement, b: Statement, key: frozenset[str]) -> bool:
    match = match_wordings(a.wording, b.wording)
    return any(
        a.wording.tokens[number].canon not in key and a.wording.tokens[number].kind != "weak"
        for number, _other in match.pairs
    )


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


# --- subjects ---------------------------------------------------------------------------------------------------------


def subject_conflicts(a: Reading, b: Reading, *, same_body: bool) -> Iterator[str]:
    """What names, folders, descriptions and titles say against the two notes having one subject.

    With `same_body` only what tells subjects apart for certain counts: a copy may have any name.
    """
    if a.keys is None or b.keys is None:
        yield "the front matter of one does not parse"
    elif any(a.keys[name] != b.keys[name] for name in a.keys.keys() & b.keys.keys()):
        yield "their front matter gives the same key another value"
    if a.doubted != b.doubted and not same_body:
        yield "the front matter of one says that something does not hold"
    if a.loaded != b.loaded and not same_body:
        yield "the heading of one turns what it says"
    yield from _marker_conflicts(a, b, same_body)
    if excludes(_subject_words(a), _subject_words(b)):
        yield "their names or descriptions exclude each other"
    products_a, products_b = a.head & _PRODUCTS, b.head & _PRODUCTS
    if any(not is_known(each, b) for each in products_a) and any(not is_known(each, a) for each in products_b):
        yield "their names or titles name different products"
    own_a, own_b = _own_name_words(a, b), _own_name_words(b, a)
    if own_a and own_b:
        if set(a.folders) & words.ENTITY_FOLDERS and a.folders == b.folders:
            yield "their names stand for different things in a folder of such"
        elif not same_body and _name_context(a) & _name_context(b):
            yield "their names differ where they name the subject"
    if not same_body:
        yield from _head_substitutions(a, b)


def _subject_words(reading: Reading) -> frozenset[str]:
    named = {each for each in (*reading.name, *reading.folders) if each not in words.FILLER_NAME_WORDS}
    described = {each for each in reading.head if each not in reading.name and each not in reading.folders}
    return frozenset(named | described)


def _marker_conflicts(a: Reading, b: Reading, same_body: bool) -> Iterator[str]:
    for kind in ("version", "environment", "date", "year", "status"):
        of_a, of_b = a.markers[kind], b.markers[kind]
        if of_a == of_b or (same_body and kind == "status"):
            continue
        if of_a and of_b and not of_a & of_b:
            yield f"their names or descriptions name another {kind}"
        elif not same_body and (
            _unsupported(kind, of_a - of_b, b) or _unsupported(kind, of_b - of_a, a)
        ):
            yield f"only one of them names a {kind}"


def _unsupported(kind: str, extra: frozenset[str], other: Reading) -> bool:
    """Whether a marker of one note finds no echo in the other one."""
    if not extra:
        return False
    if kind == "status" or other.markers[kind]:
        return True
    return other.body_markers[kind] != extra


def _own_name_words(reading: Reading, other: Reading) -> set[str]:
    """Words of the file name that name a subject of which the other note knows nothing."""
    return {
        each
        for each in reading.name
        if each not in words.FILLER_NAME_WORDS
        and (len(each) > 1 or not each.isascii())
        and not each.startswith("@")
        and not is_known(each, other)
    }


def is_known(text: str, reading: Reading) -> bool:
    """Whether a word, or one that begins like it, stands anywhere in a note."""
    canon, everything = word(text), reading.everything
    if canon in everything or f"#{canon}" in everything:
        return True
    if bigrams(text) & reading.bigrams:
        return True
    start = canon[: max(4, len(canon) - 3)]
    return len(canon) >= 4 and any(each.startswith(start) for each in everything)


def _name_context(reading: Reading) -> set[str]:
    return {word(each) for each in reading.name if each not in words.FILLER_NAME_WORDS and len(each) > 1}


def _head_substitutions(a: Reading, b: Reading) -> Iterator[str]:
    heads = []
    if a.description and b.description:
        heads.append((read_wording(a.description), read_wording(b.description), "descriptions"))
    if a.titles and b.titles:
        heads.append((a.titles[0], b.titles[0], "titles"))
    for one, other, name in heads:
        match = match_wordings(one, other)
        if match.dice < 0.4:
            continue
        left_a = set(range(len(one.tokens))) - {number for number, _other in match.pairs}
        left_b = set(range(len(other.tokens))) - {number for _number, number in match.pairs}
        for token, instead in substituted(one, other, left_a, left_b):
            if not is_known(token.canon, b) and not is_known(instead.canon, a):
                yield f"their {name} differ where they name the subject"
