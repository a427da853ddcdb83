"""The one redactor: finds secrets in text that leaves the memory files (requests, traces, logs, Activity).

Rules of form, not of entropy: a secret is known by its own shape (`text.secret_shapes`: keys of providers,
private key blocks, tokens, headers, credentials in addresses) or by the name in front of it
(`text.secret_names`). Prose about secrets ("token budget: 12000", "password policy") is left alone; where the
two cannot be told apart, the text is redacted, because a hole in a log costs less than a leaked key.

Invariants: time is linear in the length of the text (no pattern can start over inside what it has consumed;
tests feed the worst inputs we know), found spans do not overlap, and redacting twice is redacting once. Pure
functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.text.secret_names import named_secrets
from reverie.text.secret_shapes import shaped_secrets


@dataclass(frozen=True, slots=True)
class Secret:
    """`text[start:end]` is a secret; `kind` is one of `private-key`, `provider-key`, `jwt`, `auth-header`,
    `url-password`, `password`, `token`."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Every secret in `text`, in order, none overlapping another."""
    if len(text) < _LEAST_ALONE and text.isalnum():
        return ()
    return tuple(_united([*shaped_secrets(text), *named_secrets(text)]))


# Of letters and digits alone are the keys of some providers only, and those are longer: names of fields and
# the like need no look.
_LEAST_ALONE = 20


def redact(text: str) -> str:
    """`text` with every secret replaced by `[redacted:<kind>]`."""
    pieces = []
    position = 0
    for secret in find_secrets(text):
        pieces += [text[position : secret.start], f"[redacted:{secret.kind}]"]
        position = secret.end
    return "".join([*pieces, text[position:]])


def redacted(value: Any) -> Any:
    """A JSON value with every text in it redacted, names of fields too."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): redacted(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value


def _united(spans: Iterable[tuple[int, int, str]]) -> list[Secret]:
    """Overlapping spans become one, called by the first of their kinds: shapes say more than names."""
    found: list[Secret] = []
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if found and start < found[-1].end:
            last = found[-1]
            found[-1] = Secret(last.start, max(end, last.end), min(last.kind, kind, key=_RANK.index))
        else:
            found.append(Secret(start, end, kind))
    return found


_RANK = ["private-key", "provider-key", "jwt", "auth-header", "url-password", "password", "token"]
