"""English text that a window can say in another language.

Rooms below the window speak English: on the command line, in logs and in files. A `Phrase` is such a text
that keeps what it was made of, so that the window can look up its template and put the same values into the
translation. `packaging/translations.py` finds the templates by the names `phrase` and `plural`.

Pure. Values are inserted by name alone: a template from another machine cannot look into them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_PLACE = re.compile(r"\{(\w+)\}")
_NONE: Mapping[str, str] = MappingProxyType({})


class Phrase(str):
    """The English text itself. `template`: what it was made from; `values` may be phrases too; `number` and
    `one`: of a plural."""

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
