"""Phrases that a window can say in another language, counts in sentences, lengths and white space as the
agents see them, and the first heading of a text.

Rooms below the window speak English: on the command line, in logs and in files. A `Phrase` is such a text
that keeps what it was made of, so that the window can look up its template and put the same values into the
translation. `packaging/translations.py` finds the templates by the names `phrase` and `plural`. Values are
inserted by name alone: a template from another machine cannot look into them.

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
"""White space to JavaScript, which its `trim` removes. Python's `strip` keeps U+FEFF, and removes U+001C to
U+001F and U+0085."""
_NAMED_AT_MOST = 3
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_utf16(data: bytes) -> bool:
    """Whether a file's bytes begin as UTF-16 does."""
    return data.startswith(_UTF_16_MARKS)


def readable_text(data: bytes) -> str:
    """Decode a file's bytes to show or search them: UTF-16 by its mark, else UTF-8; what is neither becomes
    U+FFFD.
    """
    return data.decode("utf-16" if is_utf16(data) else "utf-8", "replace")


def some(count: int, word: str) -> str:
    """`1 turn`, `2 turns`, `1,000 directories`."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("ry") else f"{count:,} {word}s"


def left_as_before(count: int) -> str:
    """`left as it is` of one thing, `left as they are` of several."""
    return "left as it is" if count == 1 else "left as they are"


def was_left(count: int) -> str:
    """`was left as it is` of one thing, `were left as they are` of several."""
    return f"{'was' if count == 1 else 'were'} {left_as_before(count)}"


def with_write_protected(summary: str, paths: Sequence[str]) -> str:
    """The summary of a run, and the write-protected files that it left alone."""
    if not paths:
        return summary
    if summary and summary[-1] not in ".!?":
        summary = f"{summary[0].upper()}{summary[1:]}."
    names = ", ".join(paths[:_NAMED_AT_MOST]) + (", …" if len(paths) > _NAMED_AT_MOST else "")
    return f"{summary} {left_as_before(len(paths)).capitalize()}, because write-protected: {names}."


def with_pairs(summary: str, pairs: int) -> str:
    """The summary of a run, and how many pairs of memories it leaves to a person."""
    if not pairs:
        return summary
    end = "" if summary.endswith((".", "!", "?")) else "."
    return f"{summary}{end} {some(pairs, 'pair')} of memories {'is' if pairs == 1 else 'are'} worth a look."


# Lengths as the agents count them: UTF-16 code units, and tokens estimated from those.


_UNITS_PER_TOKEN = 4
_LAST_OF_ONE_UNIT = "\uffff"


def utf16_length(text: str) -> int:
    """UTF-16 code units of `text`; JavaScript's `length`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_utf16(text: str, units: int) -> str:
    """The longest beginning of `text` of at most `units` code units that splits no character."""
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
    """`cut`, a beginning of `text`, without the word that it ends in the middle of: half a key is one that no
    shape knows. A word of more than 500 characters stays cut.
    """
    if len(cut) == len(text) or text[len(cut)].isspace():
        return cut
    tail = cut[-_LONGEST_WORD:]
    words = tail.split()
    if not words or tail[-1].isspace() or len(words[-1]) == len(tail):
        return cut
    return cut[: -len(words[-1])]


def estimate_tokens(text: str) -> int:
    """Tokens where no provider counts them: a quarter of the code units, rounded up (design.md section 5)."""
    return -(-utf16_length(text) // _UNITS_PER_TOKEN)


_HEADING = re.compile(r"^# +(.+?)[ #]*$", re.MULTILINE)
_TASK = re.compile(r"^## +Task \d+: *(.+?)[ #]*$", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def first_heading(beginning: bytes) -> str:
    """The first heading of the top level in the beginning of a file, else its first task; empty for none."""
    text = beginning.decode("utf-8", "replace").replace("\r\n", "\n")
    found = _HEADING.search(text) or _TASK.search(text)
    return _CONTROLS.sub(" ", found[1]).strip() if found else ""


# Phrases.


_PLACE = re.compile(r"\{(\w+)\}")
_NONE: Mapping[str, str] = MappingProxyType({})


class Phrase(str):
    """The English text itself. `template`: what it was made from; `values` may be phrases too; `number` and
    `one`: of a plural.
    """

    __slots__ = ("number", "one", "template", "values")
    template: str
    values: Mapping[str, str]
    number: int | None
    one: str

    def __new__(
        cls, template: str, values: Mapping[str, str] = _NONE, number: int | None = None, one: str = ""
    ) -> Phrase:
        """Fill the template."""
        text = template
        if number is not None:
            text = (one if number == 1 else template).replace("%n", f"{number:,}")
        made = super().__new__(cls, filled(text, values))
        made.template, made.values, made.number, made.one = template, values, number, one
        return made

    def __reduce__(self) -> tuple[type[Phrase], tuple[str, Mapping[str, str], int | None, str]]:
        return Phrase, (self.template, dict(self.values), self.number, self.one)


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its values; a place without one stays."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template) if values else template


def phrase(template: str, /, **values: str | int) -> Phrase:
    """A literal template with `{name}` for each value."""
    return Phrase(template, _texts(values))


def plural(one: str, many: str, number: int, /, **values: str | int) -> Phrase:
    """`one` or `many`, whose `%n` is the count."""
    return Phrase(many, _texts(values), number, one)


def plain(text: str) -> Phrase:
    """A text that has no translation: of a file, of another program, of an error."""
    return text if isinstance(text, Phrase) else Phrase("{text}", {"text": text})


def together(*parts: str) -> Phrase:
    """Sentences one after the other; empty ones are left out."""
    said = {f"part{number}": part for number, part in enumerate(parts) if part}
    return Phrase(" ".join(f"{{{name}}}" for name in said), said)


NOTHING = Phrase("")


def _texts(values: Mapping[str, str | int]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in values.items()
    }
