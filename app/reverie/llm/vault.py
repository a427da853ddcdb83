"""The vault of a run: tokens (placeholders) for the secrets in everything that a model sees.

`Vault.hide` replaces every secret that `text.redact` finds by a token such as `{{REVERIE_SECRET_3}}`;
`restore` puts the secrets back into text that a model writes. One vault serves one run: the same secret has
the same token throughout, and once a secret is known, it is hidden wherever it appears again, even without
the name or header that revealed it. So call `learn` with the memories first; then half a key in a view is
hidden too.

Invariants, each with a test: `restore(hide(text)) == text` for every text, even one that looks like a token
(look-alikes get a token of their own); `possible_secrets(hide(text))` is empty; `restore` returns exact text
or raises, so that no placeholder is ever written into a memory. A secret of several lines is hidden line by
line, without line numbers in front of it, so that every line of a numbered view restores to the line in the
file.

Threading: one run, one vault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from reverie.errors import StoreError
from reverie.text.redact import in_texts, possible_secrets

EXAMPLE = "{{REVERIE_SECRET_0}}"
"""A token (placeholder) for prompts that explain tokens; it never stands for a secret."""

_TOKEN = re.compile(r"\{\{REVERIE_SECRET_(\d{1,9})\}\}")
# Anything that we or a model could mistake for a token, including its form with Markdown escapes.
_LOOK_ALIKE = re.compile(r"\{\{REVERIE_SECRET_\d{1,9}\}\}|reverie[\\_-]{1,3}secret", re.IGNORECASE | re.ASCII)
# A line of text, with the line number that `view` puts in front of it.
_LINE = re.compile(r"(?P<before>[ \t]*(?:\d{1,9}\t)?[ \t]*)(?P<text>[^\n]*?)(?P<after>[^\S\n]*)(?:\n|\Z)")
_LEAST_KNOWN = 6
"""The length from which a known secret is hidden wherever it appears.

A shorter one would also be found inside ordinary words.
"""
_ROUNDS = 20
_REMEMBERED_TEXTS = 2_000
_SHOWN_TOKEN_CHARS = 60

_Span = tuple[int, int]


class Vault:
    """The secrets of one run, and the token (placeholder) that stands for each of them in requests.

    For example, `{{REVERIE_SECRET_3}}` is the token of the third secret.
    """

    def __init__(self) -> None:
        self._originals: list[str] = []
        self._tokens: dict[str, str] = {}
        self._known: dict[str, None] = {}
        self._secrets: dict[str, None] = {}
        # Texts without secrets, each with the number of known secrets then: texts are checked repeatedly.
        self._clean: dict[str, int] = {}

    @property
    def secrets_hidden(self) -> int:
        """The number of different secrets that have a token.

        Each line of a secret of several lines counts as one.
        """
        return len(self._secrets)

    def learn(self, value: Any) -> None:
        """Record the secrets in the texts of a JSON value, so that they are hidden in later texts too.

        Use this for a value that is not sent itself, or only sent as JSON text, in which escapes may conceal
        secrets.
        """
        self.hide_in(value)

    def hide_in(self, value: Any) -> Any:
        """Return a JSON value with `hide` applied to every text in it, including the keys of objects."""
        return in_texts(value, self.hide)

    def hide(self, text: str) -> str:
        """Return `text`, from a memory or a prompt, with a token (placeholder) in place of every secret.

        A part of the text that looks like a token is also replaced by a token, so that `restore` gives back
        `text`.
        """
        # Every look-alike contains this word, and the full pattern is slow on all memories.
        has_word = "secret" in text.lower()
        look_alikes = [match.span() for match in _LOOK_ALIKE.finditer(text)] if has_word else []
        if not look_alikes:
            # Most texts are checked only once, because the result is cached.
            return self.scrub(text)
        return self.scrub(self._with_tokens(text, [*look_alikes, *self._found(text)], exact=True))

    def scrub(self, text: str) -> str:
        """Return `text`, from a model, with a token (placeholder) in place of every secret.

        Tokens in the text stay. If a token is inside a longer text that is detected as a secret, one new
        token replaces both.
        """
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

    def restore(self, text: str) -> str:
        """Return `text` with every token (placeholder) replaced by the text that it stands for.

        Raises `StoreError` for an unknown or damaged token.
        """
        pieces: list[str] = []
        position = 0
        for match in _TOKEN.finditer(text):
            pieces += [_plain(text[position : match.start()]), self._original(match)]
            position = match.end()
        return "".join([*pieces, _plain(text[position:])])

    def restore_in(self, value: Any) -> Any:
        """Return a JSON value with `restore` applied to every text in it, except the keys of objects.

        Raises `StoreError` for an unknown or damaged token, and for any token in a key.
        """
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, list):
            return [self.restore_in(item) for item in value]
        if isinstance(value, dict):
            return {_plain(key): self.restore_in(item) for key, item in value.items()}
        return value

    def holds_token(self, value: Any) -> bool:
        """Return whether a text in a JSON value contains a token (placeholder) or something similar."""
        if isinstance(value, str):
            return _LOOK_ALIKE.search(value) is not None
        if isinstance(value, dict):
            return any(self.holds_token(part) for pair in value.items() for part in pair)
        return isinstance(value, list) and any(map(self.holds_token, value))

    def _found(self, text: str) -> Iterator[_Span]:
        """Yield the (start, end) of each secret in `text`, in no particular order.

        A secret is detected in this text or known from an earlier one. None is inside a token.
        """
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        for secret in possible_secrets(text):
            if not any(start <= secret.start and secret.end <= end for start, end in tokens):
                yield secret.start, secret.end
        present = [re.escape(value) for value in self._known if value in text]
        if present:
            longest_first = re.compile("|".join(sorted(present, key=len, reverse=True)))
            for match in longest_first.finditer(text):
                if not any(_overlap(match.span(), token) for token in tokens):
                    yield match.span()

    def _with_tokens(self, text: str, spans: list[_Span], *, exact: bool) -> str:
        """Return `text` with tokens (placeholders) in place of the text at `spans`.

        `exact`: True for text from a memory: each new token stands for exactly the text at its span. False
        for text from a model: known tokens in a span are first replaced by their secrets, and the new token
        stands for the result.
        """
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
            newline = "\n" if match[0].endswith("\n") else ""
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
                self._known[json.dumps(original, ensure_ascii=False)[1:-1]] = None
        return self._tokens[original]

    def _as_it_was(self, text: str) -> str:
        """Return a text from a model with the known tokens (placeholders) replaced by their secrets.

        Unknown tokens stay.
        """
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
        raise _unknown(text[start : start + _SHOWN_TOKEN_CHARS])
    return text


def _unknown(shown: str) -> StoreError:
    return StoreError(
        f"The placeholder in {shown!r} is unknown.",
        cause=f"Placeholders have the form {EXAMPLE} and stand for text that is withheld.",
        next_step="Copy it exactly as it was shown, or leave it out.",
        reason="placeholder",
    )


def _overlap(one: _Span, other: _Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _united(spans: list[_Span]) -> Iterator[_Span]:
    """Yield the spans (start, end) in order, with overlapping ones merged."""
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
