"""Three-way merge of one note that two machines changed, for memories that are shared through git.

`merge_note` applies the first rule that fits: take the only change; keep a change against a deletion; merge
an index entry by entry; merge front matter key by key and the text line by line. Where both sides only added,
both additions stay, and a part that both added occurs once. Anything else is for a person: the local side
stays in the store, the other side is shared unchanged, and a card shows both.

Promises: without a card no line of either side is lost, and no line that a side deleted comes back; no
conflict marker is ever written; a merge of its own result changes nothing. The text is counted line by line
before it is returned (`_keeps_promises`), so that these do not depend on the alignment of lines.

Pure; any thread. Failure: none; what cannot be understood becomes a card.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Literal, TypeVar

from reverie.agents.memory_index import links
from reverie.agents.scopes import FrontMatterRules
from reverie.memory.front_matter_rules import find_block
from reverie.memory.union import text_lines, text_of
from reverie.text.text_merge import Region, changes
from reverie.values import Struct

CardKind = Literal["deleted", "text", "entry", "key"]
"""The subject of a card.

`deleted`: one side deleted the note, the other changed it; `text`: both changed the same lines; `entry`: both
changed the same entry of an index; `key`: both changed the same key of the front matter.
"""

_BOM = "\ufeff"
_LATER_COUNTS = frozenset({"modified", "updated", "updated_at", "last_modified", "last_updated"})
"""Keys that hold the time of the last change: a merge keeps the later of two times."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?)")
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?:[ \t].*)?\n")
_INNER_KEY = re.compile(r"( +)([A-Za-z_][\w.-]*):(?:[ \t].*)?\n")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_ROW = re.compile(r"\s*\|?([^|\n]*)\|[^|\n]*\|")
_RULE = re.compile(r"[\s|:*_=-]+")
"""A line without words: blank, a rule, or the one below the head of a table."""
_ENTRY = re.compile(r"[-*+] ")
_MARKER = re.compile(rb"^(?:<{7}|>{7})(?: |$)", re.MULTILINE)

K = TypeVar("K")


class MergeCard(Struct, frozen=True):
    """A difference between the two sides of a merge that a person has to decide."""

    kind: CardKind
    about: str
    """The target of the index entry, or the key of the front matter; empty for the whole note."""
    ours: bytes | None
    """The note, the entry or the value on the local side; None if there is none."""
    theirs: bytes | None
    """The note, the entry or the value on the other side; None if there is none."""


class NoteMerge(Struct, frozen=True):
    """The result of a merge: the contents to write to the local store and to the shared copy.

    They are equal if there are no `cards`. A content of None means that the note does not exist.
    """

    local: bytes | None
    shared: bytes | None
    cards: tuple[MergeCard, ...] = ()
    """The differences that a person has to decide."""
    dropped: tuple[str, ...] = ()
    """The targets of index entries from the other side that were left out, because no note has this name."""

    @property
    def agreed(self) -> bool:
        """Whether both sides have the same content now, which is then the base of the next merge."""
        return self.local == self.shared


def merge_note(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    *,
    rules: FrontMatterRules = "strict",
    is_index: bool = False,
    exists: Callable[[str], bool] = lambda _target: True,
    accepts: Callable[[bytes], bool] = lambda _content: True,
) -> NoteMerge:
    """Merge the content `ours` of a local note with the content `theirs` of the shared copy.

    `base`: the content on which both sides last agreed. None for any of the three means that the note does
    not exist. `rules`: how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code
    does). `is_index`: whether the note is an index with one line for each memory. `exists` returns whether a
    memory has this path after the merge of all notes. `accepts` returns whether the agent's own rules allow a
    content; if not, a person must decide about the whole note.
    """
    found: NoteMerge | None
    if ours == theirs:
        return NoteMerge(ours, ours)
    if theirs == base or ours == base:
        changed = ours if theirs == base else theirs
        found = NoteMerge(changed, changed)
    elif ours is None or theirs is None:
        kept = theirs if ours is None else ours
        found = NoteMerge(kept, kept, (MergeCard("deleted", "", ours, theirs),))
    else:
        found = _merged_texts(base, ours, theirs, rules, is_index, exists)
        if found is not None and not all(accepts(each) for each in (found.local or b"", found.shared or b"")):
            found = None
    spreads = found is not None and _has_markers(found.local)
    if found is None or (spreads and not (_has_markers(ours) and _has_markers(theirs))):
        return NoteMerge(ours, theirs, (MergeCard("text", "", ours, theirs),))
    return found


def _has_markers(content: bytes | None) -> bool:
    """Return whether a note has the conflict markers of an unfinished merge, which must not spread."""
    return content is not None and _MARKER.search(content) is not None


class _Pieces(Struct, frozen=True):
    """A merged part of a note."""

    local: list[str]
    """The lines for the local store."""
    shared: list[str]
    """The lines for the shared copy."""
    cards: tuple[MergeCard, ...] = ()
    """The differences that a person has to decide."""
    dropped: tuple[str, ...] = ()
    """The targets of index entries that were left out, because no note has this name."""


def _merged_texts(
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    rules: FrontMatterRules,
    is_index: bool,
    exists: Callable[[str], bool],
) -> NoteMerge | None:
    """Merge three texts; return None if a person must decide about the whole note.

    For the arguments see `merge_note`.
    """
    texts = [text_of(content) for content in (base or b"", ours, theirs)]
    decoded = [text for text in texts if text is not None]
    if len(decoded) < 3 or any("\r" in text.replace("\r\n", "") for text in decoded):
        return None
    last = decoded[2]
    newline = "\r\n" if last.count("\r\n") * 2 > last.count("\n") else "\n"
    bom = _BOM if last.startswith(_BOM) else ""
    has_end = [text.endswith("\n") for text in decoded]
    ends = has_end[1] if has_end[1] == has_end[2] or base is None else not has_end[0]
    plain = [text.removeprefix(_BOM).replace("\r\n", "\n") for text in decoded]
    whole = [text if text.endswith("\n") or not text else f"{text}\n" for text in plain]
    heads, bodies = zip(*(_parts(text, rules) for text in whole), strict=True)
    has_head = [bool(head) for head in heads]
    if has_head[1] != has_head[2] or (base is not None and has_head[0] != has_head[1]):
        heads, bodies = ("", "", ""), tuple(whole)
    lines = [text_lines(body) for body in bodies]
    head = _merged_heads(*heads)
    body = _merged_index(lines[0], lines[1], lines[2], exists) if is_index else None
    if body is None:
        merged = merge_lines(*lines)
        body = None if merged is None else _Pieces(merged, merged)
    if head is None or body is None:
        return None
    contents = []
    for top, rest in ((head.local, body.local), (head.shared, body.shared)):
        text = "".join((*top, *rest))
        if "".join(top) != _parts(text, rules)[0]:
            return None  # the agent would find other front matter than was merged
        text = text if ends else text.removesuffix("\n")
        contents.append((bom + text.replace("\n", newline)).encode())
    return NoteMerge(contents[0], contents[1], head.cards + body.cards, body.dropped)


def _parts(text: str, rules: FrontMatterRules) -> tuple[str, str]:
    """Split a text into its front matter, with the `---` lines, and the text below it."""
    block = find_block(text, None, rules)
    at = block.body_start if block is not None else 0
    return text[:at], text[at:]


def _merged_heads(base: str, ours: str, theirs: str) -> _Pieces | None:
    """Merge front matter key by key; return None if a person must decide about the whole note.

    The arguments are the front matter on each side, with its `---` lines; empty if there is none.
    """
    texts = [text_lines(head) for head in (base, ours, theirs)]
    if ours == theirs or theirs == base:
        return _Pieces(texts[1], texts[1])
    if ours == base:
        return _Pieces(texts[2], texts[2])
    tables = [_keys(lines) for lines in texts]
    before, mine, other = tables
    if before is None or mine is None or other is None:
        merged = merge_lines(*texts)
        return None if merged is None else _Pieces(merged, merged)
    cards: list[MergeCard] = []
    values: dict[_KeyPath, tuple[str, str]] = {}
    for key in dict.fromkeys((*mine, *other)):
        one, two = mine.get(key), other.get(key)
        if one is not None and two is not None and key[-1].casefold() in _LATER_COUNTS:
            times = _TIME.search(one), _TIME.search(two)
            if times[0] and times[1]:
                one = two = one if times[0][1] >= times[1][1] else two
        pair, card = _three_way("key", ".".join(key), before.get(key), one, two)
        cards += card
        if pair is not None:
            values[key] = pair
    for key in values:
        # A key of a mapping needs the mapping, and no other value in its place.
        if len(key) == 2 and len({*values.get(key[:1], ("", ".")), f"{key[0]}:\n"}) > 1:
            return None
    order = [key for key in _placed(list(mine), list(other)) if key in values]
    local, shared = ([texts[1][0], *(values[key][side] for key in order), texts[1][-1]] for side in (0, 1))
    return _Pieces(local, shared, tuple(cards))


_KeyPath = tuple[str, ...]


def _keys(head: Sequence[str]) -> dict[_KeyPath, str] | None:
    """Return the lines of each key in the front matter `head`, and of the keys of its mappings, by key path.

    None if the front matter has anything else, such as comments, or the same key twice.
    """
    groups: list[tuple[str, list[str]]] = []
    for line in head[1:-1]:
        key = _KEY.fullmatch(line)
        if key is not None:
            groups.append((key[1], [line]))
        elif groups and line.startswith((" ", "-")):
            groups[-1][1].append(line)
        else:
            return None
    found: list[tuple[_KeyPath, str]] = []
    for name, (first, *more) in groups:
        inner = [_INNER_KEY.fullmatch(line) for line in more]
        indents = {match[1] for match in inner if match}
        if more and first == f"{name}:\n" and all(inner) and len(indents) == 1:
            found.append(((name,), first))
            found += [((name, match[2]), line) for match, line in zip(inner, more, strict=True) if match]
        else:
            found.append(((name,), "".join((first, *more))))
    return dict(found) if len(dict(found)) == len(found) else None


def _three_way(
    kind: CardKind, about: str, base: str | None, ours: str | None, theirs: str | None
) -> tuple[tuple[str, str] | None, list[MergeCard]]:
    """Return the (local, shared) versions of one value after its merge, and the cards, at most one.

    None as a value, and None in place of the versions, mean that there is no value. If a person has to
    decide, there is a card, and each side keeps its own value; a side without one gets the value of the other
    side. `kind` and `about`: the fields of the card.
    """
    if ours == theirs or theirs == base:
        return (None if ours is None else (ours, ours)), []
    if ours == base:
        return (None if theirs is None else (theirs, theirs)), []
    sides = [None if side is None else side.strip("\n").encode() for side in (ours, theirs)]
    card = MergeCard(kind, about, sides[0], sides[1])
    return (ours or theirs or "", theirs or ours or ""), [card]


def _placed(frame: Sequence[K], others: Sequence[K]) -> list[K]:
    """Insert into `frame` the items that only `others` has, and return the result.

    Each of them is inserted behind the item that precedes it in `others`, or at the beginning if it is the
    first item of `others`. The items of `frame` stay in their order.
    """
    placed, there = list(frame), set(frame)
    after: K | None = None
    for each in others:
        if each not in there:
            placed.insert(placed.index(after) + 1 if after is not None else 0, each)
            there.add(each)
        after = each
    return placed


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Merge three texts line by line; return None if a person must decide.

    That is so if both sides changed the same lines or added a table row with the same first cell, or if the
    result would lose or repeat a line. Where both sides only added lines, the lines of `ours` come first,
    then those of `theirs`; list items, paragraphs, table rows and code blocks that both added occur once.
    """
    merged: list[str] = []
    at = 0
    added_there = _added_parts(base, theirs)
    for change in changes(list(base), list(ours), list(theirs)):
        merged += ours[at : change.mine.start]
        mine, others = _cut(ours, change.mine), _cut(theirs, change.theirs)
        if change.kind == "theirs":
            merged += others
        elif change.kind == "same":
            merged += mine
        elif change.kind == "mine":
            merged += _without(mine, added_there)
        elif change.base.start == change.base.end:
            both = _both(mine, others, added_there)
            if both is None:
                return None
            merged += both
        else:
            return None
        at = change.mine.end
    merged += ours[at:]
    return merged if _keeps_promises(base, ours, theirs, merged) else None


def _cut(lines: Sequence[str], region: Region) -> list[str]:
    return list(lines[region.start : region.end])


def _both(mine: list[str], others: list[str], added_there: Counter[str]) -> list[str] | None:
    """Return the lines for a place at which both sides added lines: those of `mine`, then those of `others`.

    Parts of `mine` (see `_units`) that the other side has added anywhere (`added_there`) are left out, and a
    common beginning occurs once. None if both sides added a row of a table with the same first cell.
    """
    same = takewhile(lambda pair: pair[0] == pair[1], zip(_units(mine), _units(others), strict=False))
    first = sum(unit.count("\n") for unit, _other in same)
    rest, others = _without(mine[first:], added_there), others[first:]
    if not "".join(rest).strip():
        return [*mine[:first], *others]
    if not _first_cells(rest).isdisjoint(_first_cells(others)):
        return None
    gap = ["\n"] if others and _is_prose(rest[-1]) and _is_prose(others[0]) else []
    return [*mine[:first], *rest, *gap, *others]


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not _ITEM.match(line) and not _ROW.match(line)


def _first_cells(lines: Sequence[str]) -> set[str]:
    """Return the first cells of the rows of tables in `lines`.

    Empty cells, and the lines of dashes below the heads of tables, are left out.
    """
    cells = (row[1].strip() for line in lines if (row := _ROW.match(line)))
    return {cell for cell in cells if not _RULE.fullmatch(cell or " ")}


def _without(lines: list[str], parts: Counter[str]) -> list[str]:
    """Return `lines` without the list items, paragraphs, rows of tables and code blocks in `parts`."""
    if not parts:
        return lines
    return [line for unit in _units(lines) if unit not in parts for line in text_lines(unit)]


def _added_parts(base: Sequence[str], lines: Sequence[str]) -> Counter[str]:
    """Return the list items, paragraphs, rows and code blocks that `lines` has more often than `base`.

    The result counts how many more. Headings and lines without words are left out.
    """
    parts = Counter(_units(lines)) - Counter(_units(base))
    return Counter(
        {unit: n for unit, n in parts.items() if not _RULE.fullmatch(unit) and not _HEADING.match(unit)}
    )


def _units(lines: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a text that a merge keeps or leaves out as a whole.

    These are a code block, a list item with its further lines, a heading, a blank line, a row of a table,
    and a paragraph.
    """
    unit, fence = "", ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            unit += line
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                yield unit
                unit, fence = "", ""
            continue
        alone = not line.strip() or bool(_HEADING.match(line) or _ROW.match(line))
        if unit and (alone or mark or _ITEM.match(line)):
            yield unit
            unit = ""
        unit += line
        if mark:
            fence = mark[1]
        elif alone:
            yield unit
            unit = ""
    if unit:
        yield unit


def _keeps_promises(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], merged: Sequence[str]
) -> bool:
    """Return whether each line occurs in `merged` as often as the changes of both sides require.

    The least allowed number is that in `base`, less the larger of the two sides' deletions, plus the larger
    of their additions; for the greatest, both additions are added. Blank lines are ignored.
    """
    before, mine, other, after = (Counter(map(str.strip, lines)) for lines in (base, ours, theirs, merged))
    for line in before.keys() | mine.keys() | other.keys() | after.keys():
        if not line:
            continue
        deltas = mine[line] - before[line], other[line] - before[line]
        left = before[line] + min(0, *deltas)
        added = [max(0, delta) for delta in deltas]
        if not left + max(added) <= after[line] <= left + sum(added):
            return False
    return True


def _merged_index(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], exists: Callable[[str], bool]
) -> _Pieces | None:
    """Merge an index entry by entry; return None if that is impossible.

    It is impossible if a text is not an index, or if both sides changed lines that are not entries. The order
    of `ours` stays. A new entry of `theirs` is put behind the entry that precedes it in `theirs`, and is left
    out if `exists` is False for its target.
    """
    sides = [_entries(lines) for lines in (base, ours, theirs)]
    if any(each is None for each in sides):
        return None
    before, mine, other = ({key: line for key, line in each or () if key} for each in sides)
    rest = [[line for key, line in each or () if not key] for each in sides]
    if not mine or not other or (rest[2] not in (rest[0], rest[1]) and rest[1] != rest[0]):
        return None
    values: dict[str, tuple[str, str]] = {}
    cards: list[MergeCard] = []
    dropped: list[str] = []
    for key in dict.fromkeys((*mine, *other)):
        pair, card = _three_way("entry", key, before.get(key), mine.get(key), other.get(key))
        cards += card
        if pair is not None and key not in mine and key not in before and not exists(key):
            dropped.append(key)
        elif pair is not None:
            values[key] = pair
    frame, others = (sides[1], other) if rest[2] in (rest[0], rest[1]) else (sides[2], mine)
    # A line that is no entry has its position as its name, which no entry has.
    named = [(key or f"\n{number}", line) for number, (key, line) in enumerate(frame or ())]
    values |= {name: (line, line) for name, line in named if name.startswith("\n")}
    names = [name for name, _line in named]
    first = next((at for at, name in enumerate(names) if not name.startswith("\n")), 0)
    order = [*names[:first], *_placed(names[first:], list(others))]
    local, shared = ([values[name][side] for name in order if name in values] for side in (0, 1))
    return _Pieces(local, shared, tuple(cards), tuple(dropped))


def _entries(lines: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return each line of an index with the target of its link, which is empty for a line that is no entry.

    None if two entries have the same target, or if an entry has further lines.
    """
    found = Counter(link.line for link in links("".join(lines)))
    targets = {link.line: link.rel or f"[[{link.target}]]" for link in links("".join(lines))}
    entries = [
        (targets[number] if found[number] == 1 and _ENTRY.match(line) else "", line)
        for number, line in enumerate(lines, 1)
    ]
    keys = [key for key, _line in entries if key]
    continued = any(
        key and not after and line[:1] in " \t" and line.strip()
        for (key, _line), (after, line) in pairwise(entries)
    )
    return None if len(set(keys)) < len(keys) or continued else entries
