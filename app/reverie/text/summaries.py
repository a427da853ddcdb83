"""Translatable phrases, counts in sentences, lengths and white space as agents see them, and headings.

Layers below the window use English: on the command line, in logs and in files. A `Phrase` is an English text
that stores its template and values, so that the window can look up the template's translation and insert the
same values. `packaging/translations.py` finds the templates by the names `phrase` and `plural`. Values are
inserted by name alone: a template from another machine cannot access their attributes.

Threading: pure. Failure: none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space in JavaScript, which its `trim` removes.

Python's `strip` keeps U+FEFF, and removes U+001C to U+001F and U+0085.
"""
_NAMED_AT_MOST = 3
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_utf16(data: bytes) -> bool:
    """Return whether a file's bytes begin with a UTF-16 byte order mark."""
    return data.startswith(_UTF_16_MARKS)


def readable_text(data: bytes) -> str:
    """Return a file's bytes as text for display or search: UTF-16 with a byte order mark, else UTF-8.

    Invalid bytes become U+FFFD.
    """
    return data.decode("utf-16" if is_utf16(data) else "utf-8", "replace")


def utf16_text(data: bytes) -> str | None:
    """Return the text of a UTF-16 file; None if decoding would lose a byte, or if the text contains a NUL."""
    if not is_utf16(data):
        return None
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def some(count: int, word: str) -> str:
    """Return a count with its noun, `word` in the singular: `1 turn`, `2 turns`, `1,000 directories`."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("ry") else f"{count:,} {word}s"


def left_as_before(count: int) -> str:
    """Return the words `left as it is` if `count` is 1, else `left as they are`."""
    return "left as it is" if count == 1 else "left as they are"


def was_left(count: int) -> str:
    """Return the words `was left as it is` if `count` is 1, else `were left as they are`."""
    return f"{'was' if count == 1 else 'were'} {left_as_before(count)}"


def with_write_protected(summary: str, paths: Sequence[str]) -> str:
    """Return `summary` with a note on the write-protected files `paths`, which the run did not change.

    If `paths` is empty, no note is added.
    """
    if not paths:
        return summary
    if summary and summary[-1] not in ".!?":
        summary = f"{summary[0].upper()}{summary[1:]}."
    names = ", ".join(paths[:_NAMED_AT_MOST]) + (", …" if len(paths) > _NAMED_AT_MOST else "")
    return f"{summary} {left_as_before(len(paths)).capitalize()}, because write-protected: {names}."


def with_pairs(summary: str, pairs: int) -> str:
    """Return `summary` of a run with a note that `pairs` pairs of memories are worth a look by a person.

    If `pairs` is 0, no note is added.
    """
    if not pairs:
        return summary
    end = "" if summary.endswith((".", "!", "?")) else "."
    return f"{summary}{end} {some(pairs, 'pair')} of memories {'is' if pairs == 1 else 'are'} worth a look."


_UNITS_PER_TOKEN = 4
_LAST_OF_ONE_UNIT = "\uffff"


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units of `text`: JavaScript's `length`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_utf16(text: str, units: int) -> str:
    """Return the longest prefix of `text` with at most `units` UTF-16 code units that splits no character."""
    if utf16_length(text) <= units:
        return text
    used = 0
    for end, character in enumerate(text):
        used += 1 if character <= _LAST_OF_ONE_UNIT else 2
        if used > units:
            return text[:end]
    return text


_LONGEST_WORD = 500


def between_words(cut: str, text: str) -> str:
    """Return `cut`, a prefix of `text`, without its last word if that word continues in `text`.

    Otherwise the first half of a key could remain, which would not be recognised as a secret. The word is
    kept if it is the only one in `cut`, or has 500 characters or more.
    """
    if len(cut) == len(text) or text[len(cut)].isspace():
        return cut
    tail = cut[-_LONGEST_WORD:]
    words = tail.split()
    if not words or tail[-1].isspace() or len(words[-1]) == len(tail):
        return cut
    return cut[: -len(words[-1])]


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens in a text: a quarter of its UTF-16 code units, rounded up."""
    return -(-utf16_length(text) // _UNITS_PER_TOKEN)


_HEADING = re.compile(r"^# +(.+?)[ #]*$", re.MULTILINE)
_TASK = re.compile(r"^## +Task \d+: *(.+?)[ #]*$", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def first_heading(beginning: bytes) -> str:
    """Return the title in `beginning`, the first bytes of a file; empty if there is none.

    The title is the first top-level Markdown heading, or else the title of the first `## Task <number>: ...`.
    """
    text = beginning.decode("utf-8", "replace").replace("\r\n", "\n")
    found = _HEADING.search(text) or _TASK.search(text)
    return _CONTROLS.sub(" ", found[1]).strip() if found else ""


_PLACE = re.compile(r"\{(\w+)\}")
_NONE: Mapping[str, str] = MappingProxyType({})


class Phrase(str):
    """An English text that also stores its template and values, so that the window can translate it.

    `template` has a placeholder `{name}` for each of `values`, which may be phrases too. If the wording
    depends on a count, `number` is the count (else None), `template` is the plural form, and `one` the form
    for a count of 1; `%n` in them stands for the count.
    """

    __slots__ = ("number", "one", "template", "values")
    template: str
    values: Mapping[str, str]
    number: int | None
    one: str

    def __new__(
        cls, template: str, values: Mapping[str, str] = _NONE, number: int | None = None, one: str = ""
    ) -> Phrase:
        """Create the text from the template, in which each `{name}` is replaced by its value in `values`.

        With a `number`, the template is the plural and `one` the singular; None: the phrase has no plural.
        """
        text = template
        if number is not None:
            text = (one if number == 1 else template).replace("%n", f"{number:,}")
        made = super().__new__(cls, filled(text, values))
        made.template, made.values, made.number, made.one = template, values, number, one
        return made

    def __reduce__(self) -> tuple[type[Phrase], tuple[str, Mapping[str, str], int | None, str]]:
        return Phrase, (self.template, dict(self.values), self.number, self.one)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with its values inserted; a placeholder without a value is left as it is."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template) if values else template


def phrase(template: str, /, **values: str | int) -> Phrase:
    """Return a translatable phrase: the literal `template`, with `values` inserted for `{name}`."""
    return Phrase(template, _texts(values))


def plural(one: str, many: str, number: int, /, **values: str | int) -> Phrase:
    """Return a translatable phrase for a count: the template `one` if `number` is 1, else `many`.

    `%n` in the template becomes the number, `{name}` the value of that name.
    """
    return Phrase(many, _texts(values), number, one)


def plain(text: str) -> Phrase:
    """Return a phrase for text without a translation: from a file, another program or an error.

    A text that is a phrase already is returned unchanged.
    """
    return text if isinstance(text, Phrase) else Phrase("{text}", {"text": text})


def together(*parts: str) -> Phrase:
    """Return one phrase that joins the sentences `parts` with spaces; empty ones are left out."""
    said = {f"part{number}": part for number, part in enumerate(parts) if part}
    return Phrase(" ".join(f"{{{name}}}" for name in said), said)


NOTHING = Phrase("")


def _texts(values: Mapping[str, str | int]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in values.items()
    }
