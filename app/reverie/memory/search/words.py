"""The words of a text, for the index and for queries alike.

This module prepares the text that SQLite's `unicode61` tokenizer (with `_` as a token character) splits. It
folds case, accents and widths, splits runs of Chinese, Japanese and Korean (CJK) into overlapping pairs of
characters, and adds the parts of identifiers (`retries` finds `max_retries` and `maxRetries`).

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

# Languages that put no space between words; Hangul does, but its words carry their endings.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
# Only the marks of Latin, Greek and Cyrillic: without its mark a Japanese syllable is another one.
_MARKS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile("\\w[\\w\u0300-\u036f]*")
# An identifier with parts; each alternative is tried once per token, so long blobs cost no more.
_SNAKE = re.compile(r"(?<!\w)(?:_+[^\W_]|[^\W_]+_)\w*")
_CAMEL = re.compile(r"(?<!\w)\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])\w*")
_SEAM = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_IDENTIFIER = 100


class SearchToken(NamedTuple):
    """One word of a text, folded, and its position in the original.

    A tuple, because one is made for each word of fifty texts at every key press.
    """

    text: str
    start: int
    end: int


def folded(text: str) -> str:
    """Return `text` in folded form: texts that differ only in case, accents or width have the same form."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold().replace("\0", " ")


def is_cjk(char: str) -> bool:
    """Return whether a character is from a script without spaces between words: Chinese, Japanese, Korean."""
    return _CJK_RUN.match(char) is not None


def index_text(text: str) -> str:
    """Return a text in its form for the index: folded, and with each CJK run split into pairs.

    Folded texts do not differ in case, accents or width. A CJK run (neighbouring Chinese, Japanese or Korean
    characters) becomes its overlapping pairs of characters, and its last character.
    """
    plain = folded(text)
    return plain if plain.isascii() else _CJK_RUN.sub(lambda found: f" {_pairs(found[0])} ", plain)


def index_parts(text: str) -> str:
    """Return the parts of the identifiers in a text, each once: `max` and `retries` for `maxRetries`.

    They are folded, and separated by spaces.
    """
    found: dict[str, None] = {}
    for pattern in (_SNAKE, _CAMEL):
        for match in pattern.finditer(text):
            if match.end() - match.start() <= _LONGEST_IDENTIFIER:
                found.update(dict.fromkeys(_SEAM.split(match[0])))
    found.pop("", None)
    return index_text(" ".join(found))


def fts_phrase(text: str, *, prefix: bool) -> str:
    """Return `text` as one FTS5 phrase, its words in order; empty if it has no word.

    With `prefix` the last word may be a prefix. A single CJK (Chinese, Japanese, Korean) character is always
    a prefix, because in the index it begins a pair or ends a run.
    """
    plain = folded(text)
    runs = list(_CJK_RUN.finditer(plain))
    ends_in_run = bool(runs) and not _WORD.search(plain, runs[-1].end())
    pieces: list[str] = []
    at = 0
    for place, run in enumerate(runs):
        is_last = ends_in_run and place == len(runs) - 1
        # The last character is a token of its own in the index; here its run may continue.
        pairs = _pairs(run[0], closed=not is_last or len(run[0]) == 1)
        pieces += [plain[at : run.start()], pairs]
        at = run.end()
    pieces.append(plain[at:])
    joined = " ".join(pieces).replace('"', " ")
    if not _WORD.search(joined):
        return ""
    goes_on = len(runs[-1][0]) == 1 if ends_in_run else prefix and len(_last_word(joined)) > 1
    return f'"{joined.strip()}"' + (" *" if goes_on else "")


def tokens(text: str) -> Iterator[SearchToken]:
    """Yield the words of a text in order, in their form for queries.

    Each Chinese, Japanese or Korean (CJK) character is a word of its own.
    """
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        at = 0
        for run in _CJK_RUN.finditer(word) if not word.isascii() else ():
            yield from _plain(word[at : run.start()], start + at)
            for place in range(run.start(), run.end()):
                yield SearchToken(folded(word[place]), start + place, start + place + 1)
            at = run.end()
        yield from _plain(word[at:], start + at)


def parts(token: SearchToken, text: str) -> Iterator[SearchToken]:
    """Yield the parts of the identifier `token` with their positions in `text`, the text of the token.

    Yield nothing for a plain word.
    """
    word = text[token.start : token.end]
    if len(word) > _LONGEST_IDENTIFIER or not (_SNAKE.match(word) or _CAMEL.match(word)):
        return
    at = 0
    for seam in (*_SEAM.finditer(word), None):
        end = seam.start() if seam is not None else len(word)
        if end > at:
            yield SearchToken(folded(word[at:end]), token.start + at, token.start + end)
        at = seam.end() if seam is not None else end


def _plain(word: str, start: int) -> Iterator[SearchToken]:
    """Yield the tokens of a word without Chinese, Japanese or Korean characters.

    There are several if folding splits the word (a fraction, a ligature of signs). `start`: the position of
    the word in the text.
    """
    if not word:
        return
    for piece in _WORD.findall(folded(word)):
        yield SearchToken(piece, start, start + len(word))


def _pairs(run: str, *, closed: bool = True) -> str:
    pairs = [run[place : place + 2] for place in range(len(run) - 1)]
    return " ".join((*pairs, run[-1])) if closed or not pairs else " ".join(pairs)


def _last_word(text: str) -> str:
    return str(_WORD.findall(text)[-1])
