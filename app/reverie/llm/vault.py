"""Secrets of memory text stay here: what goes to a model holds placeholders in their place.

`hide` replaces every secret that `text.redact` knows by a token such as `{{REVERIE_SECRET_3}}`; `restore`
puts the secrets back into what a model wants written. One vault serves one run: the same secret has the same
token throughout, and a secret once seen is hidden wherever it turns up again, also without the name or header
that gave it away (`learn` the memories first, so that a view of half a key is covered too).

Invariants, each with a test: `restore(hide(text)) == text` for every text, also one that looks like a token
(look-alikes get a token of their own); `find_secrets(hide(text))` is empty; `restore` gives exact text or
raises, so that no placeholder is ever written into a memory. A secret of several lines is hidden line by
line, line numbers in front of it left out, so that every line of a numbered view restores to the line in the
file.

Not thread-safe: one run, one vault. Failure: `restore` raises `StoreError`, from which a model can recover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reverie.errors import StoreError
from reverie.text.redact import find_secrets

EXAMPLE = "{{REVERIE_SECRET_0}}"
"""For prompts that explain tokens: it has the form of one and never stands for anything."""

_TOKEN = re.compile(r"\{\{REVERIE_SECRET_(\d{1,9})\}\}")
# Anything that could be taken for a token, by us or by a model; also as Markdown escapes it.
_LOOK_ALIKE = re.compile(r"\{\{REVERIE_SECRET_\d{1,9}\}\}|reverie[\\_-]{1,3}secret", re.IGNORECASE | re.ASCII)
# What `view` puts before a line.
_LINE = re.compile(r"(?P<before>[ \t]*(?:\d{1,9}\t)?[ \t]*)(?P<text>[^\n]*?)(?P<after>\s*)(?:\n|\Z)")
# A shorter value would be found inside ordinary words.
_LEAST_KNOWN = 6
_ROUNDS = 20
_REMEMBERED_TEXTS = 2_000
_SHOWN_CHARS = 60

_Span = tuple[int, int]


class Vault:
    """The secrets of one run and the tokens that stand for them."""

    def __init__(self) -> None:
        self._originals: list[str] = []
        self._tokens: dict[str, str] = {}
        self._known: dict[str, None] = {}
        self._secrets: dict[str, None] = {}
        # Texts without secrets -> how many were known then: the same text is asked for again and again.
        self._clean: dict[str, int] = {}

    @property
    def secrets_hidden(self) -> int:
        """How many different secrets (lines of keys count one by one) have a token."""
        return len(self._secrets)

    def learn(self, text: str) -> None:
        """Remember the secrets of `text`, which is not to be sent itself."""
        self.hide(text)

    def hide(self, text: str) -> str:
        """`text`, as it stands in a memory or prompt, with a token for every secret and every look-alike."""
        # Nothing looks like a token without this word, and to search in all memories for the rest takes long.
        has_word = "secret" in text.lower()
        look_alikes = [match.span() for match in _LOOK_ALIKE.finditer(text)] if has_word else []
        if not look_alikes:
            # One look at most texts: as good as scrubbed, and remembered as such.
            return self._settled(text)
        return self._settled(self._with_tokens(text, [*look_alikes, *self._found(text)], exact=True))

    def scrub(self, text: str) -> str:
        """`text` that comes from a model, and may hold tokens, with one for every secret besides."""
        return self._settled(text)

    def restore(self, text: str) -> str:
        """`text` with every token replaced by what it stands for. Raises `StoreError` for a token that is
        unknown or damaged."""
        pieces: list[str] = []
        position = 0
        for match in _TOKEN.finditer(text):
            pieces += [_plain(text[position : match.start()]), self._original(match)]
            position = match.end()
        return "".join([*pieces, _plain(text[position:])])

    def restore_in(self, value: Any) -> Any:
        """`restore` for every text in a JSON value; its keys must hold no tokens."""
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, list):
            return [self.restore_in(item) for item in value]
        if isinstance(value, dict):
            return {_plain(key): self.restore_in(item) for key, item in value.items()}
        return value

    def holds_token(self, value: Any) -> bool:
        """Whether a text in a JSON value is, or looks like, a token."""
        if isinstance(value, str):
            return _LOOK_ALIKE.search(value) is not None
        if isinstance(value, dict):
            return any(self.holds_token(part) for pair in value.items() for part in pair)
        return isinstance(value, list) and any(map(self.holds_token, value))

    def _settled(self, text: str) -> str:
        """`text`, whose tokens are ours, with all secrets hidden. What a token leaves beside it may come out
        as a secret in its turn; such a span takes the token in."""
        for _ in range(_ROUNDS):
            if self._clean.get(text) == len(self._known):
                return text
            spans = list(self._found(text))
            if not spans:
                if len(self._clean) >= _REMEMBERED_TEXTS:
                    self._clean.clear()
                self._clean[text] = len(self._known)
                return text
            tokens = [match.span() for match in _TOKEN.finditer(text)]
            touched = [token for token in tokens if any(_overlap(token, span) for span in spans)]
            text = self._with_tokens(text, [*spans, *touched], exact=False)
        return self._token(self._as_it_was(text), secret=True)

    def _found(self, text: str) -> Iterator[_Span]:
        """Spans of secrets by their form, and of those known from elsewhere; none inside a token."""
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        for secret in find_secrets(text):
            if (secret.start, secret.end) not in tokens:
                yield secret.start, secret.end
        present = [re.escape(value) for value in self._known if value in text]
        if present:
            longest_first = re.compile("|".join(sorted(present, key=len, reverse=True)))
            for match in longest_first.finditer(text):
                if not any(_overlap(match.span(), token) for token in tokens):
                    yield match.span()

    def _with_tokens(self, text: str, spans: list[_Span], *, exact: bool) -> str:
        """`exact`: `text` is as the memory has it; else its tokens are ours."""
        pieces: list[str] = []
        position = 0
        for start, end in _united(spans):
            part = text[start:end] if exact else self._as_it_was(text[start:end])
            pieces += [text[position:start], self._hidden(part)]
            position = end
        return "".join([*pieces, text[position:]])

    def _hidden(self, part: str) -> str:
        if _LOOK_ALIKE.fullmatch(part):
            return self._token(part, secret=False)
        if "\n" not in part:
            return self._token(part, secret=True)
        lines = []
        for match in _LINE.finditer(part):
            text = self._token(match["text"], secret=True) if match["text"] else ""
            newline = "\n" if match[0].endswith("\n") and not match["after"].endswith("\n") else ""
            lines.append(match["before"] + text + match["after"] + newline)
        return "".join(lines)

    def _token(self, original: str, *, secret: bool) -> str:
        if original not in self._tokens:
            self._originals.append(original)
            self._tokens[original] = f"{{{{REVERIE_SECRET_{len(self._originals)}}}}}"
        if secret:
            self._secrets[original] = None
            if len(original) >= _LEAST_KNOWN:
                self._known[original] = None
        return self._tokens[original]

    def _as_it_was(self, text: str) -> str:
        """`restore` for text that a model had a hand in: what is no token of ours stays as it is."""
        return _TOKEN.sub(lambda match: self._known_original(match) or match[0], text)

    def _known_original(self, match: re.Match[str]) -> str | None:
        number = int(match[1])
        original = self._originals[number - 1] if 0 < number <= len(self._originals) else None
        return original if original is not None and self._tokens[original] == match[0] else None

    def _original(self, match: re.Match[str]) -> str:
        original = self._known_original(match)
        if original is None:
            raise _unknown(match[0])
        return original


def _plain(text: str) -> str:
    damaged = _LOOK_ALIKE.search(text)
    if damaged is not None:
        start = max(0, damaged.start() - 2)
        raise _unknown(text[start : start + _SHOWN_CHARS])
    return text


def _unknown(shown: str) -> StoreError:
    return StoreError(
        f"The placeholder in {shown!r} stands for nothing.",
        cause=f"Placeholders have the form {EXAMPLE} and stand for text that is withheld.",
        next_step="Copy it exactly as it was shown, or leave it out.",
        reason="placeholder",
    )


def _overlap(one: _Span, other: _Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _united(spans: list[_Span]) -> Iterator[_Span]:
    """Overlapping spans as one, in order."""
    current: _Span | None = None
    for start, end in sorted(spans):
        if current is not None and start < current[1]:
            current = current[0], max(current[1], end)
            continue
        if current is not None:
            yield current
        current = start, end
    if current is not None:
        yield current
