"""Merging one note into another so that both wordings are kept.

`merge` gives the target's new text: its own text, every passage of the source that it lacks at the place
where the source has it (after the same line, else at the end of the same section, else at the end), the
source's front matter keys, and both descriptions. It answers None rather than lose or twist anything: keys
that disagree, blocks that cannot be moved, a result over the agent's cap, bodies that would grow in total, or
a line whose words would be gone (checked on the result with the fold of `dream.retention`, the rail that
judges the whole run).

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reverie.dream.front_keys import FrontKeys, read_keys
from reverie.dream.passages import fold_line
from reverie.dream.retention import folded_words
from reverie.dream.rule_carry import append_line, ends_in_code, merged_body, missing_passages, newline_of
from reverie.homes.scopes import Caps
from reverie.memory import frontmatter
from reverie.text.tokens import utf16_length

_EMPTY_BLOCK = re.compile(r"^(\ufeff?)---\r?\n---(?:\r?\n|\Z)")


def merge(target: str, source: str, caps: Caps) -> str | None:
    """The text of the target with all of the source in it, the target itself if it has all already, or
    None."""
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
            result = frontmatter.set_description(result, front.description)
        if _is_sound(result, target, source, front, caps):
            return result
    return None


@dataclass(frozen=True, slots=True)
class _Front:
    """`text` up to the body, `description` to set, `line` a description that goes into the body instead."""

    text: str
    description: str | None = None
    line: str = ""
    meanings: dict[str, object] = field(default_factory=dict)


def _holds(target: str, source: str) -> bool:
    """Whether the target has every line of the source and every key of its front matter, as they are."""
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
    block = frontmatter.split(text)
    if block is None:
        return ()
    lines = (" ".join(line.split()) for line in text[block.block_start : block.block_end].split("\n"))
    return tuple(line for line in lines if line)


def _body(text: str) -> str:
    text = _EMPTY_BLOCK.sub(r"\1", text)
    block = frontmatter.split(text)
    return text[block.body_start :] if block is not None else text.removeprefix(frontmatter.BOM)


# --- front matter -------------------------------------------------------------------------------------------


def _merged_front(target: str, source: str, caps: Caps) -> _Front | None:
    target = _EMPTY_BLOCK.sub(r"\1", target)
    keys, more = read_keys(target), read_keys(source)
    if keys is None or more is None:
        return None
    own, other = keys.meanings(), more.meanings()
    if any(own[name] != other[name] for name in own.keys() & other.keys()):
        return None
    described, also = frontmatter.declared(target), frontmatter.declared(source)
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
    """Everything before the body, with more lines at the end of the block; a block is made where there is
    none."""
    block = frontmatter.split(text)
    newline = newline_of(text)
    added = newline.join(line.rstrip() for line in lines)
    if block is not None:
        end, start = block.block_end, block.body_start
        return f"{text[:end]}{newline}{added}{text[end:start]}" if lines else text[:start]
    bom = frontmatter.BOM if text.startswith(frontmatter.BOM) else ""
    return f"{bom}---{newline}{added}{newline}---{newline}" if lines else bom


def _both_descriptions(
    text: str, described: str, also: str, meanings: dict[str, object], caps: Caps
) -> _Front:
    """Both in one where that fits the agent's limit; else the second one becomes a line of the body."""
    one, other = " ".join(described.split()), " ".join(also.split())
    if folded_words(other) in folded_words(one):
        return _Front(text, None, "", meanings)
    joint = "" if one.endswith((".", "!", "?", ";", ":", "…")) else ";"
    both = other if folded_words(one) in folded_words(other) else f"{one}{joint} {other}"
    if utf16_length(both) <= caps.description_chars:
        return _Front(text, both, "", meanings)
    return _Front(text, None, other, meanings)


# --- proof --------------------------------------------------------------------------------------------------


def _is_sound(result: str, target: str, source: str, front: _Front, caps: Caps) -> bool:
    """Whether a merged text keeps every line of both, says in its front matter what both said, and has not
    grown."""
    size = len(result.encode("utf-8", "surrogatepass"))
    keys = read_keys(result)
    if size > caps.file_bytes or keys is None or keys.meanings() != front.meanings:
        return False
    if front.description is not None and frontmatter.declared(result) != front.description:
        return False
    bodies = sum(len(_body(text).encode("utf-8", "surrogatepass")) for text in (target, source))
    if len(_body(result).encode("utf-8", "surrogatepass")) > bodies:
        return False
    lines = {folded_words(line) for line in result.splitlines()}
    joined = "\n".join(lines)
    wanted = {folded_words(line) for text in (target, source) for line in text.splitlines()}
    return all(words in lines or words in joined for words in wanted)
