"""Merging one note into another so that both wordings are preserved.

`merge` returns the new text of the target: its own text, every passage of the source that it lacks, the
source's front matter keys, and both descriptions. A passage is inserted where the source has it: after the
same line, or else at the end of the same section, or else at the end of the note; never inside a paragraph or
code, nor between a list entry and what is nested in it.

It returns None if the merge would lose or distort anything: if keys have different values, blocks cannot be
moved, the result exceeds the agent's cap, the bodies would grow in total, or the words of a line would be
lost. Lost words are searched for in the result with the folding of `runs.retention`, the check that judges
the whole run.

Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from reverie.agents.scopes import Caps
from reverie.jobs.consolidate.rules.reading import (
    FrontKeys,
    Passage,
    fold_line,
    is_open,
    is_unfinished,
    read_keys,
    split_passages,
    table_cells,
)
from reverie.memory import front_matter
from reverie.memory.front_matter_rules import BOM, block_of
from reverie.runs.retention import folded_lines, folded_words, missing_lines
from reverie.text.summaries import utf16_length
from reverie.values import Struct, field


def merged_body(target: str, source: str, *, compact: bool) -> str | None:
    """Return the target's body with the passages of the source's body added that the target lacks.

    The result is the source's own body if that contains the whole target body. `compact` leaves out blank
    lines that Markdown does not need.

    None if an unclosed code block would absorb the inserted text, or if a line would change its kind at its
    new place, such as code inside a list.
    """
    missing = missing_passages(target, source)
    if missing and (ends_in_code(target) or ends_in_code(source)):
        return None
    if missing and _rules(source) >= _rules(target) and not missing_passages(source, target):
        newline = newline_of(target) if "\n" in target else newline_of(source)
        return newline.join(line.removesuffix("\r") for line in source.split("\n"))
    if not missing:
        return target
    merged = _Carrier(target, source, missing, compact=compact).run()
    passages = split_passages(source)
    wanted = _kinds(split_passages(target)) + _kinds([passages[number] for number in sorted(missing)])
    is_same = wanted <= _kinds(split_passages(merged)) and not missing_passages(merged, source)
    return merged if is_same else None


def _rules(body: str) -> int:
    """Return the number of thematic breaks (horizontal lines) in a body."""
    return sum(passage.kind == "rule" for passage in split_passages(body))


def _kinds(passages: Sequence[Passage]) -> Counter[tuple[str, str]]:
    """Return how often each line occurs as each kind of passage."""
    return Counter((each.kind, line.strip()) for each in passages for line in each.lines if line.strip())


def ends_in_code(body: str) -> bool:
    """Return True if a code block at the end is never closed, so that appended text would become code."""
    return any(is_open(passage) for passage in split_passages(body)[-1:])


def newline_of(text: str) -> str:
    """Return the line ending of a text's first line."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def missing_passages(target: str, source: str) -> set[int]:
    """Return the numbers of the source's passages that the target lacks."""
    there = _Index(split_passages(target))
    return {number for number, passage in enumerate(split_passages(source)) if there.find(passage) is None}


# The place of a passage that goes to the end of the note.
_END = -1


class _Index:
    """An index of the passages of a body by their lines, ignoring case and markup.

    Each passage comes with its headings and parent lines. A search takes the same time however often a line
    is repeated.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self._is_flat = not any(passage.section for passage in passages)
        self._where: dict[tuple[str, ...], dict[tuple[str | None, str | None], int]] = defaultdict(dict)
        self._code: dict[tuple[str, ...], int] = {}
        self.in_section: dict[str, list[int]] = defaultdict(list)
        self.by_first = {passage.first: passage for passage in passages}
        self.by_end = {passage.end: passage for passage in passages}
        self.block_starts, self.block_ends = list(range(len(passages))), list(range(len(passages)))
        for number, passage in enumerate(passages):
            self.in_section[passage.section.casefold()].append(number)
            if number and _is_one_block(passages[number - 1], passage):
                self.block_starts[number] = self.block_starts[number - 1]
            if passage.kind == "code":
                self._code.setdefault(_code_of(passage), number)
                continue
            for line in _own_lines(passage):
                places = self._where[_key(passage, line)]
                for section in (None, passage.section.casefold()):
                    for parent in (None, passage.parent):
                        places.setdefault((section, parent), number)
        for number in range(len(passages) - 2, -1, -1):
            if _is_one_block(passages[number], passages[number + 1]):
                self.block_ends[number] = self.block_ends[number + 1]

    def find(self, wanted: Passage) -> int | None:
        """Return the number of the passage with all lines of `wanted` under the same headings, or None.

        -1 for a thematic break, which counts as always present.
        """
        if wanted.kind == "rule":
            return -1
        if wanted.kind == "code":
            return self._code.get(_code_of(wanted))
        found = [self._first(wanted, line) for line in _own_lines(wanted)]
        return None if any(each is None for each in found) else found[-1]

    def _first(self, wanted: Passage, line: str) -> int | None:
        """Return the number of the first passage with the line `line` of `wanted` and the same meaning.

        The meaning is the same under the same heading, list entry and table head. None if there is none.
        """
        places = self._where.get(_key(wanted, line), {})
        section = wanted.section.casefold() if wanted.section and not self._is_flat else None
        if not wanted.parent:
            return places.get((section, None))
        parents = (wanted.parent,) if wanted.nested else (wanted.parent, "")
        return min((places[section, each] for each in parents if (section, each) in places), default=None)


def _key(passage: Passage, line: str) -> tuple[str, ...]:
    kind = passage.kind if passage.kind in ("heading", "row", "head") else "text"
    table = (passage.table,) if kind == "row" else ()
    return (kind, _folded(passage, line), *table)


def _is_one_block(here: Passage, after: Passage) -> bool:
    """Return True if the passage `after`, which follows `here`, belongs to the same paragraph or table."""
    if after.kind == "row":
        return here.kind in ("row", "head")
    return here.kind == after.kind == "prose" and not after.gap


def _code_of(passage: Passage) -> tuple[str, ...]:
    """Return the lines of a code block without blank ones."""
    return tuple(line.rstrip() for line in passage.lines if line.strip())


def _own_lines(passage: Passage) -> tuple[str, ...]:
    """Return the lines of a passage, without lines that only draw a table or underline a title."""
    return passage.lines[:1] if passage.kind in ("head", "heading") else passage.lines


def _folded(passage: Passage, line: str) -> str:
    if passage.kind in ("head", "row"):
        return " | ".join(" ".join(cell.split()) for cell in table_cells(line)).casefold()
    folded = fold_line(line)
    return folded.strip("# ") if passage.kind == "heading" else folded


class _Carrier:
    """The insertion of a source's missing passages into a target's body.

    Blank lines are inserted where the source has them and where Markdown needs them; `compact` leaves out the
    former.
    """

    def __init__(self, target: str, source: str, missing: set[int], *, compact: bool) -> None:
        self._text = target
        self._there = _Index(split_passages(target))
        self._source = split_passages(source)
        self._missing = missing
        self._compact = compact
        self._runs: dict[int, list[Passage]] = defaultdict(list)
        self._new_sections: list[Passage] = []

    def run(self) -> str:
        """Return the target's body with the missing passages inserted.

        Missing passages that follow each other in the source stay together.
        """
        anchor: int | None = None
        section = ""
        at: int | None = None
        for number, passage in enumerate(self._source):
            if passage.section != section:
                anchor, section, at = None, passage.section, None
            if number in self._missing:
                is_title = passage.kind == "heading" and passage.level == 1
                at = self._place(number, anchor) if at is None or is_title else at
                (self._new_sections if at == _END else self._runs[at]).append(passage)
                continue
            found = self._there.find(passage)
            anchor, at = (found if found is not None and found >= 0 else anchor), None
        return self._joined()

    def _place(self, number: int, anchor: int | None) -> int:
        """Return the number of the line of the target before which a missing passage is inserted.

        `number`: the number of the passage in the source. `anchor`: the number of the target's passage that
        equals the nearest earlier one in the same section of the source; None if there is none. Returns
        `_END` for a new section.
        """
        passages, passage = self._there.passages, self._source[number]
        if not passages:
            return _END
        if passage.kind == "heading" and passage.level == 1:
            return self._place_title(number)
        if anchor is not None and passages[anchor].kind != "heading":
            return self._after(anchor, passage)
        following = self._following(number)
        if following is not None and (
            (self._text and not _needs_gap(passage, passages[following])) or not self._compact
        ):
            return passages[following].first
        section = passage.section.casefold()
        inside = self._there.in_section.get(section, [])
        if not inside:
            return _END if section else passages[0].first
        first = next((passages[each] for each in inside if passages[each].kind != "heading"), None)
        if self._compact and first is not None and _needs_gap(passages[inside[-1]], passage):
            return first.first if not _needs_gap(passage, first) else self._after(inside[-1], passage)
        return self._after(inside[-1], passage)

    def _following(self, number: int) -> int | None:
        """Return the number of the target's passage before which a missing passage may be inserted.

        It equals the nearest later passage in the same section of the source that the target has; if it is in
        a paragraph, the first passage of the paragraph is returned. `number`: the number of the missing
        passage in the source. None if there is no such passage, or if it is in a table.
        """
        passage = self._source[number]
        for at in range(number + 1, len(self._source)):
            after = self._source[at]
            if after.section != passage.section or after.kind == "heading":
                return None
            if at not in self._missing:
                found = self._there.find(after)
                if found is None or found < 0:
                    return None
                there = self._there.passages[found]
                if there.kind in ("row", "head"):
                    return None
                return self._there.block_starts[found] if there.kind == "prose" else found
        return None

    def _place_title(self, number: int) -> int:
        """Return the number of the line of the target before which a title of the source is inserted.

        It is the line after the target's title, or `_END` for a title with new text below it.
        """
        passages = self._there.passages
        if number + 1 in self._missing and self._source[number + 1].kind != "heading":
            return _END
        title = next((each for each in passages if each.kind == "heading" and each.level == 1), None)
        return title.end if title is not None else passages[0].first

    def _after(self, number: int, passage: Passage) -> int:
        """Return the number of the line after a passage and everything that belongs to the passage.

        These are nested entries, and the rest of its paragraph or table.
        """
        passages = self._there.passages
        here = passages[number]
        if here.kind in ("row", "head"):
            return passages[number if passage.kind in ("row", "head") else self._there.block_ends[number]].end
        if here.kind == "prose":
            return passages[self._there.block_ends[number]].end
        nested = passage.kind == "item" and here.kind == "item" and passage.level > here.level
        while not nested and number + 1 < len(passages) and _hangs_on(here, passages[number + 1]):
            number += 1
        return passages[number].end

    def _joined(self) -> str:
        """Return the target's text with the passages inserted."""
        lines = self._text.split("\n")
        passages = self._there.passages
        crlf = "\r" if newline_of(self._text) == "\r\n" else ""
        if self._new_sections:
            self._runs[passages[-1].end if passages else 0] += self._new_sections
        joined: list[str] = []
        done = 0
        for at in sorted(self._runs):
            before, after = self._there.by_end.get(at), self._there.by_first.get(at)
            added = [line + crlf for line in self._spaced(before, self._runs[at], after)]
            joined += lines[done:at]
            if at == len(lines):
                joined[-1] += crlf
                added[-1] = added[-1].removesuffix("\r")
            joined += added
            done = at
        return "\n".join([*joined, *lines[done:]])

    def _spaced(self, before: Passage | None, run: Sequence[Passage], after: Passage | None) -> list[str]:
        """Return the lines of the passages `run`, to be inserted between two passages, with blank lines.

        `before`, `after`: the neighbours; None at the start and the end of the text.
        """
        lines: list[str] = []
        for number, passage in enumerate(run):
            if number:
                gap = passage.gap and not self._compact
                previous: Passage | None = run[number - 1]
            else:
                gap = (
                    passage.gap
                    and passage is not self._source[0]
                    and passage.kind == "prose"
                    and not self._compact
                )
                previous = before
            if previous is not None and (gap or self._parts(previous, passage)):
                lines.append("")
            lines.extend(passage.lines)
        if after is not None and self._parts(run[-1], after):
            lines.append("")
        return lines

    def _parts(self, before: Passage, after: Passage) -> bool:
        return _needs_gap(before, after) or (not self._compact and _looks_better_apart(before, after))


def _hangs_on(here: Passage, after: Passage) -> bool:
    """Return True if `after` belongs to the list entry `here` and must not be separated from it."""
    if here.kind != "item" or after.kind == "heading":
        return False
    return after.lines[0][:1].isspace() and (after.kind != "item" or after.level > here.level)


def _needs_gap(before: Passage, after: Passage) -> bool:
    """Return True if Markdown would read two passages as one without a blank line between them."""
    if after.kind == "prose":
        return before.kind in ("item", "head", "row") or (
            before.kind == "prose" and is_unfinished(before.lines[-1])
        )
    if after.kind == "head":
        return before.kind in ("prose", "item", "row", "head")
    if after.kind == "code" or (after.kind == "heading" and len(after.lines) > 1):
        return before.kind in ("prose", "item", "row")
    return after.kind == "rule" and before.kind == "prose"


def _looks_better_apart(before: Passage, after: Passage) -> bool:
    if after.kind == "heading":
        return before.kind != "heading"
    return (
        before.kind != after.kind
        and before.kind != "heading"
        and (before.kind, after.kind) != ("head", "row")
    )


def append_line(body: str, line: str, newline: str) -> str:
    """Return the body with `line` added at the end as a paragraph of its own.

    `newline`: the line ending to use.
    """
    stripped = body.rstrip("\r\n")
    end = body[len(stripped) :]
    return f"{stripped}{newline * 2 if stripped else ''}{line}{newline if end else ''}"


_LONGEST_JOINT = 200
_EMPTY_BLOCK = re.compile(r"^(\ufeff?)---\r?\n---(?:\r?\n|\Z)")


def merge(target: str, source: str, caps: Caps) -> str | None:
    """Return the target's text with everything in the source added; None if that would lose something.

    The result is the target itself if it already has everything.
    """
    if _holds(target, source):
        return target
    front = _merged_front(target, source, caps)
    if front is None:
        return None
    body_target, body_source = _body(target), _body(source)
    for compact in (False, True):
        body = merged_body(body_target, body_source, compact=compact)
        if body is None or (front.line and ends_in_code(body)):
            return None
        if front.line and fold_line(front.line) not in {fold_line(line) for line in body.split("\n")}:
            body = append_line(body, front.line, newline_of(target))
        result = front.text + body
        if front.description is not None:
            try:
                result = front_matter.set_description(result, front.description, rules=caps.front_matter)
            except front_matter.FrontError:
                return None
        if _is_whole(result, target, source, front, caps):
            return result
    return None


class _Front(Struct, frozen=True):
    """The front matter of two notes, merged."""

    text: str
    """The text before the body."""
    description: str | None = None
    """The description to set; None to leave the description unchanged."""
    line: str = ""
    """A description that is added to the body as a line instead; empty for none."""
    meanings: dict[str, object] = field(default_factory=dict)
    """The value that each front matter key must have in the result."""


def _holds(target: str, source: str) -> bool:
    """Return True if the target has every line and every front matter key of the source unchanged."""
    if missing_passages(_body(target), _body(source)):
        return False
    lines, more = _front_lines(target), _front_lines(source)
    if lines == more:
        return True
    keys, wanted = read_keys(target), read_keys(source)
    if keys is None or wanted is None:
        return False
    meanings = {key.name: key.meaning for key in keys.keys}
    known = all(key.name in meanings and meanings[key.name] == key.meaning for key in wanted.keys)
    return known and set(more) <= set(lines)


def _front_lines(text: str) -> tuple[str, ...]:
    block = block_of(text)
    if block is None:
        return ()
    lines = (" ".join(line.split()) for line in text[block.block_start : block.block_end].split("\n"))
    return tuple(line for line in lines if line)


def _body(text: str) -> str:
    text = _EMPTY_BLOCK.sub(r"\1", text)
    block = block_of(text)
    return text[block.body_start :] if block is not None else text.removeprefix(BOM)


def _merged_front(target: str, source: str, caps: Caps) -> _Front | None:
    """Return the merged front matter of the notes `target` and `source` (whole texts).

    None if they cannot be merged. `caps`: the limits of the agent.
    """
    target = _EMPTY_BLOCK.sub(r"\1", target)
    keys, more = read_keys(target), read_keys(source)
    if keys is None or more is None:
        return None
    own, other = keys.meanings(), more.meanings()
    if any(own[name] != other[name] for name in own.keys() & other.keys()):
        return None
    rules = caps.front_matter
    described = front_matter.declared(target, rules=rules)
    also = front_matter.declared(source, rules=rules)
    carries_description = "description" in _names(more) and "description" not in _names(keys)
    if "description" in _names(more) and also is None and not carries_description:
        return None
    carried = [key for key in more.keys if key.name not in _names(keys)]
    lines = [line for line in more.preamble if line.strip()] + [line for key in carried for line in key.lines]
    if lines and not (keys.movable and more.movable):
        return None
    text = _with_lines(target, lines)
    meanings = {**own, **other}
    if also is None or carries_description:
        return _Front(text, None, "", meanings)
    if described is None:
        return _Front(text, also, "", meanings)
    return _both_descriptions(text, described, also, meanings, caps)


def _names(keys: FrontKeys) -> set[str]:
    return {key.name for key in keys.keys}


def _with_lines(text: str, lines: Sequence[str]) -> str:
    """Return the text before the body with `lines` added to its front matter, which is created if needed."""
    block = block_of(text)
    newline = newline_of(text)
    added = newline.join(line.rstrip() for line in lines)
    if block is not None:
        end, start = block.block_end, block.body_start
        return f"{text[:end]}{newline}{added}{text[end:start]}" if lines else text[:start]
    bom = BOM if text.startswith(BOM) else ""
    return f"{bom}---{newline}{added}{newline}---{newline}" if lines else bom


def _both_descriptions(
    text: str, described: str, also: str, meanings: dict[str, object], caps: Caps
) -> _Front:
    """Return front matter with the descriptions `described` and `also` in one, if both fit the limit.

    Otherwise the second one becomes a line of the body. `text`: the front matter so far. `meanings`: the
    values that the keys must have.
    """
    one, other = " ".join(described.split()), " ".join(also.split())
    if folded_words(other) in folded_words(one):
        return _Front(text, None, "", meanings)
    joint = "" if one.endswith((".", "!", "?", ";", ":", "…")) else ";"
    both = other if folded_words(one) in folded_words(other) else f"{one}{joint} {other}"
    if utf16_length(both) <= min(caps.description_chars, _LONGEST_JOINT):
        return _Front(text, both, "", meanings)
    return _Front(text, None, other, meanings)


def _is_whole(result: str, target: str, source: str, front: _Front, caps: Caps) -> bool:
    """Return True if a merged text has the lines and front matter of both notes, and has not grown."""
    size = len(result.encode("utf-8", "surrogatepass"))
    keys = read_keys(result)
    if size > caps.file_bytes or keys is None or keys.meanings() != front.meanings:
        return False
    said = front_matter.declared(result, rules=caps.front_matter)
    if front.description is not None and said != front.description:
        return False
    bodies = sum(len(_body(text).encode("utf-8", "surrogatepass")) for text in (target, source))
    if len(_body(result).encode("utf-8", "surrogatepass")) > bodies:
        return False
    return not missing_lines(folded_lines([target, source]), folded_lines([result]))
