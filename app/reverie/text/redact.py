"""The one redactor: finds secrets in text that leaves the memory files (requests, traces, logs, Activity) and
in memories that are shown (marks).

A secret is known by its own shape (`text.secret_shapes`, `text.secret_table`), by the name in front of it
(`text.secret_names`), or by the sentence, table or command around it (`text.secret_prose`). Prose about
secrets ("token budget: 12000", "password policy"), checksums, commits, UUIDs and names of code are left
alone; where the two cannot be told apart, the text is redacted, because a hole in a log costs less than a
leaked key. Characters that cannot be seen, and letters in another width, hide nothing: a text is judged as a
reader or a program takes it. `text.redact_check` proves that all of this works before anything is sent.

Invariants: time is linear in the length of the text (no pattern can start over inside what it has consumed;
tests feed the worst inputs we know), found spans do not overlap, and redacting twice is redacting once. Pure
functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.text.secret_names import named_secrets, secret_lines, small_letters
from reverie.text.secret_prose import command_secrets, prose_secrets, table_secrets, tag_secrets
from reverie.text.secret_shapes import shaped_secrets
from reverie.text.secret_values import Span


@dataclass(frozen=True, slots=True)
class Secret:
    """`text[start:end]` is a secret; `kind` is one of `private-key`, `provider-key`, `jwt`, `auth-header`,
    `url-password`, `password`, `token`."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Every secret in `text`, in order, none overlapping another."""
    if len(text) < _LEAST_ALONE and text.isalnum() and text.isascii():
        return ()
    shown, places = _as_read(text)
    found = tuple(_united(_spans(shown)))
    if places is None:
        return found
    return tuple(Secret(places[secret.start], places[secret.end - 1] + 1, secret.kind) for secret in found)


# Of letters and digits alone are the keys of some providers only, and those are longer: names of fields and
# the like need no look.
_LEAST_ALONE = 20
# What stood beside a secret may look like one by itself once that is gone.
_MOST_LOOKS = 4


def redact(text: str) -> str:
    """`text` with every secret replaced by `[redacted:<kind>]`."""
    for _ in range(_MOST_LOOKS):
        secrets = find_secrets(text)
        if not secrets:
            break
        pieces = []
        position = 0
        for secret in secrets:
            pieces += [text[position : secret.start], f"[redacted:{secret.kind}]"]
            position = secret.end
        text = "".join([*pieces, text[position:]])
    return text


def redacted(value: Any) -> Any:
    """A JSON value with every text in it redacted, names of fields too."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): redacted(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value


def _spans(text: str) -> Iterable[Span]:
    small = small_letters(text)
    yield from shaped_secrets(text, small)
    lines = secret_lines(text, small)
    if lines:
        yield from named_secrets(text, lines)
        yield from prose_secrets(text, small, lines)
        if "|" in text:
            yield from table_secrets(text, lines)
        if "</" in text or "/>" in text:
            yield from tag_secrets(text)
    yield from command_secrets(text)


def _signs(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


# Characters without a width: soft hyphens, joiners, marks of direction, selectors of variants, tags.
_INVISIBLE = _signs(
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Wide letters and signs of East Asia, and others that are read as plain ones.
_READ_AS = {
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'),
    **dict.fromkeys("\u2018\u2019\u201a", "'"),
    **dict.fromkeys("\u2010\u2011\ufe63", "-"),
    **{"\u0130": "I", "\u0131": "i", "\u017f": "s", "\u212a": "K"},
}


def _as_read(text: str) -> tuple[str, list[int] | None]:
    """The text as a reader takes it, and where each of its characters is in `text`; None: where it was."""
    gaps: list[str] = []
    if not text.isascii():
        present = set(text)
        for char in present & _READ_AS.keys():
            text = text.replace(char, _READ_AS[char])
        gaps = [re.escape(char) for char in present & _INVISIBLE]
    # Markdown puts a backslash before signs that it would take for its own.
    gaps += [r"\\(?=[_~])"] if "\\_" in text or "\\~" in text else []
    if not gaps:
        return text, None
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for gap in re.finditer("|".join(gaps), text):
        pieces.append(text[position : gap.start()])
        places += range(position, gap.start())
        position = gap.end()
    pieces.append(text[position:])
    places += range(position, len(text))
    return "".join(pieces), places


def _united(spans: Iterable[Span]) -> list[Secret]:
    """Overlapping spans become one, called by the first of their kinds: shapes say more than names."""
    found: list[Secret] = []
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if end <= start:
            continue
        if found and start < found[-1].end:
            last = found[-1]
            found[-1] = Secret(last.start, max(end, last.end), min(last.kind, kind, key=_RANK.index))
        else:
            found.append(Secret(start, end, kind))
    return found


_RANK = ["private-key", "provider-key", "jwt", "auth-header", "url-password", "password", "token"]
