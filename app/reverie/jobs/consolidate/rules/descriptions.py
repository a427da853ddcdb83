"""The description that the rules write into a note which has none.

Pure; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from reverie.agents.scopes import Caps
from reverie.jobs.consolidate.relations import UNSPACED
from reverie.jobs.consolidate.rules.reading import (
    Passage,
    heading_text,
    passages_of,
    read_keys,
    split_sentences,
    table_cells,
)
from reverie.jobs.consolidate.rules.wording import FUNCTION_WORDS
from reverie.memory import front_matter
from reverie.memory.front_matter_rules import BOM, block_of
from reverie.memory.lint import conflict_lines, is_placeholder
from reverie.runs.retention import folded_words
from reverie.text.patterns import pattern_of
from reverie.text.redact import find_secrets
from reverie.text.summaries import cut_utf16, utf16_length
from reverie.values import Struct, replace

_LINK = pattern_of(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = pattern_of(r"(?<![\w/])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/])(?:\*{1,3}|_{1,3}|~~)(?![\w/])")
_MARKER = pattern_of(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_COMMENT = pattern_of(r"<!--.*?(?:-->|$)")
_UNDERLINE = pattern_of(r"\s*(?:-{2,}|={2,})\s*")
_DECLARED = pattern_of(r"^description:[ \t]*(\S.*)$", re.MULTILINE)
# Text that the agent itself refuses to write into a memory (formats/mux.md section 11), even if a person
# would see that it is not a real key.
_KEY_SHAPE = pattern_of(r"\bsk-[A-Za-z0-9_-]{12,}")
_LONGEST_WRITTEN = 200
# The number of words beyond the name that a good description has.
_TELLING = 3
_LETTER = pattern_of(r"[^\W\d_]")
_STEM = 5
_FIELD = pattern_of(r"\W{0,4}[^\W\d_][^:：]{1,24}[:：]\s*(?P<value>.*)")
_FIELD_WORDS = 5
_BOILERPLATE = "this file provides guidance to"
_LOOKED_FOR_SECRETS = 4_000
_BEGINNING = 6_000
_BARE_KEY = pattern_of(r"\s*description:\s*")


def lacks_description(text: str, caps: Caps) -> bool:
    """Return whether the agent's index would show no description for the note."""
    return caps.descriptions and not _shown(text, caps)


def with_description(
    text: str,
    caps: Caps,
    name: Sequence[str] = (),
    folders: Sequence[str] = (),
    stale: Collection[str] = (),
) -> str | None:
    """Return the note with a description that the agent can read.

    None if the note has one already, or no suitable text is found.

    `name` and `folders` are the words of the note's path; a description must have other words as well. A
    description never repeats one of the `stale` values.
    """
    if not lacks_description(text, caps) or conflict_lines(text):
        return None
    prefix, rules = caps.description_prefix_bytes, caps.front_matter
    result = front_matter.repair(text, prefix_bytes=prefix, rules=rules) or text
    if not _shown(result, caps):
        value = _value(result, caps, name, folders, stale)
        if value is None:
            return None
        try:
            result = front_matter.set_description(result, value, prefix_bytes=prefix, rules=rules)
        except front_matter.FrontError:
            return None  # The findings report the problem of the block.
    is_better = bool(_shown(result, caps)) and _keeps_words(text, result)
    return result if is_better and len(result.encode("utf-8", "surrogatepass")) <= caps.file_bytes else None


def _shown(text: str, caps: Caps) -> str:
    """Return the description that the agent shows."""
    beginning = text[: caps.description_prefix_bytes].encode("utf-8", "surrogatepass")
    return front_matter.description(beginning, caps).text


def _value(
    text: str, caps: Caps, name: Sequence[str], folders: Sequence[str], stale: Collection[str]
) -> str | None:
    """Return the description to write; None if no text is suitable.

    This is an existing value that is not text, or else the first suitable passage that has more than the
    words of the name and contains no secret.
    """
    keys = read_keys(text)
    key = next((each for each in keys.keys if each.name == "description"), None) if keys is not None else None
    if key is not None:
        below = (line for line in key.lines[1:] if not line.lstrip().startswith("#"))
        stated = _flat(" ".join([key.lines[0].split(":", 1)[1], *below]))
        if re.search(r"\w", stated) and stated.casefold() not in ("null", '""', "''"):
            items = stated.strip("[]{}").removeprefix("- ").replace(" - ", ", ")
            fits = utf16_length(items) <= longest_description(caps) and not _may_be_secret(items)
            return items if fits else None
    said = (each for each in _said_words(text, caps) if not _repeats(each.around[-each.own :], stale))
    return _telling_words(said, name, folders)


def _repeats(passage: str, stale: Collection[str]) -> bool:
    """Return whether a passage contains one of the `stale` values as a whole word."""
    return any(re.search(rf"(?<![\w/.-]){re.escape(token)}(?![\w/-]|\.\w)", passage) for token in stale)


class _Said(Struct, frozen=True):
    """The beginning of a passage as plain text."""

    kind: str
    words: str
    around: str
    """The passage itself with the passage before it."""
    own: int
    """The number of characters, at the end of `around`, that belong to the passage itself."""

    def is_secret(self) -> bool:
        """Return whether the passage may be a secret, by itself or together with the text before it."""
        hides = any(secret.end > len(self.around) - self.own for secret in find_secrets(self.around))
        return hides or _may_be_secret(self.words)


def _said_words(text: str, caps: Caps) -> Iterator[_Said]:
    """Yield the beginning of each passage near the start of the note, without placeholders."""
    block = block_of(text)
    start = block.body_start if block is not None else 0
    # Later text does not describe the note. The cut is between lines, because in half of a line a secret may
    # not be recognised.
    body = text[start:].removeprefix(BOM)
    end = body.find("\n", _BEGINNING)
    before = ""
    passages = passages_of(body if end < 0 else body[:end])
    for passage in (each for found in passages for each in _fields(found)):
        if any(map(is_placeholder, passage.lines)):
            continue
        here = "\n".join(passage.lines)
        around, own = f"{before}\n{here}"[-_LOOKED_FOR_SECRETS:], min(len(here), _LOOKED_FOR_SECRETS)
        before = here
        # An invalid end of a front matter block, such as `--`, turns the line before it into a heading.
        declared = _DECLARED.match(" ".join(line for line in passage.lines if not _UNDERLINE.fullmatch(line)))
        words = _passage_words(passage, caps)
        if declared is not None:  # a front matter block without a valid end
            words = _cut(_plain(declared[1].strip("\"'")), caps)
        if _LETTER.search(words):
            yield _Said("description" if declared is not None else passage.kind, words, around, own)


def _telling_words(said: Iterable[_Said], name: Sequence[str], folders: Sequence[str]) -> str | None:
    """Return the first sentence that has more than the words of the name; None if there is no suitable text.

    If there is no such sentence, return a heading or other text that has more.
    """
    named = {each.casefold()[:_STEM] for each in name}
    above = named.union(each.casefold()[:_STEM] for each in folders)
    headings, rest = list[_Said](), list[_Said]()
    for each in said:
        if each.kind == "description" and not each.is_secret():
            return each.words
        known = above if each.kind == "heading" else named
        more = {word for word in _content_words(each.words) if word[:_STEM] not in known}
        if not more or _is_about_note(each.words):
            continue
        is_sentence = each.kind in ("prose", "item") and not each.words.endswith((":", "："))
        if is_sentence and len(more) >= _TELLING and not each.is_secret():
            return each.words
        (headings if each.kind == "heading" else rest).append(each)
    return next((each.words for each in [*headings, *rest] if not each.is_secret()), None)


def _is_about_note(words: str) -> bool:
    """Return whether a text only gives the date, author or state of the note, such as `Type: plan`."""
    field = _FIELD.match(words)
    is_field = field is not None and len(set(_content_words(field["value"]))) < _FIELD_WORDS
    return is_field or words.casefold().startswith(_BOILERPLATE)


def _content_words(text: str) -> Iterator[str]:
    """Yield the words that carry meaning; in scripts without spaces, pairs of characters."""
    for found in re.findall(r"[^\W\d_]+|\d[\w.]*", text.casefold()):
        if found.isascii() or not UNSPACED.search(found):
            if found not in FUNCTION_WORDS:
                yield found
        else:
            yield from (found[at : at + 2] for at in range(0, max(1, len(found) - 1), 2))


def longest_description(caps: Caps) -> int:
    """Return the largest length of a description that the rules write, in UTF-16 units.

    Such a description fits one line of an index, even if the agent would show more.
    """
    return min(caps.description_chars, _LONGEST_WRITTEN)


def _may_be_secret(text: str) -> bool:
    return bool(find_secrets(text) or _KEY_SHAPE.search(text))


def _fields(passage: Passage) -> Sequence[Passage]:
    """Return the lines of a passage as passages if all are fields, such as `Status: done`.

    Otherwise return the passage itself.
    """
    fields = sum(_FIELD.match(line) is not None for line in passage.lines)
    if passage.kind not in ("prose", "item") or fields < 2 or fields < len(passage.lines):
        return (passage,)
    return [replace(passage, lines=(line,)) for line in passage.lines]


def _passage_words(passage: Passage, caps: Caps) -> str:
    if passage.kind in ("code", "rule"):
        return ""
    if passage.kind in ("head", "row"):
        return _cut(_plain(", ".join(cell for cell in table_cells(passage.lines[0]) if cell)), caps)
    joined = " ".join(_MARKER.sub("", line.strip()) for line in passage.lines)
    if passage.kind == "heading":
        return _cut(_plain(heading_text(passage.lines[0])), caps)
    sentences = split_sentences(_plain(joined))
    return _cut(sentences[0].rstrip(" ;,"), caps) if sentences else ""


def _plain(text: str) -> str:
    """Return text without Markdown markup."""
    text = _LINK.sub(r"\1", _COMMENT.sub(" ", text)).replace("`", "")
    return _flat(_EMPHASIS.sub("", text))


def _flat(text: str) -> str:
    return front_matter.flattened(text, 1_000_000)


def _cut(text: str, caps: Caps) -> str:
    """Return text truncated between words to the length of a description."""
    limit = longest_description(caps)
    if utf16_length(text) <= limit:
        return text
    cut = cut_utf16(text, limit - 1)
    at_space = cut.rsplit(" ", 1)[0] if " " in cut[len(cut) // 2 :] else cut
    return at_space.rstrip(" ,;:-") + "…"


def _keeps_words(before: str, after: str) -> bool:
    """Return whether every line of `before` is also in `after`, except for an empty description."""
    as_before = set(after.splitlines())
    rest = [line for line in before.splitlines() if line not in as_before and not _BARE_KEY.fullmatch(line)]
    if not rest:
        return True
    lines = {folded_words(line) for line in as_before}
    joined = "\n".join(lines)
    return all(words in lines or words in joined for words in map(folded_words, rest))
