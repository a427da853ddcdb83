"""Between a file's text and a text widget that knows only one kind of line break. Pure.

A widget turns every line break into its own and gives back `\\n`. What was not edited must reach the disk as
it was: mixed CRLF and LF, a lone CR, exotic separators. So the text on disk is kept beside the edited one and
each line that is still there keeps its own ending; new lines get the file's prevailing one.

`widget_text(restored(original, edited)) == edited` and `restored(original, widget_text(original)) ==
original`.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

# What QTextDocument takes for the end of a block (besides CR LF, LF and CR): U+2029 and two noncharacters.
_BREAK = re.compile("\r\n|\r|\n|\u2029|\ufdd0|\ufdd1")
# Above this many changed lines matching line by line costs more than it keeps.
_MATCH_LIMIT = 4000


def widget_text(text: str) -> str:
    """`text` as a widget gives it back when nobody edits it."""
    return _BREAK.sub("\n", text)


def prevailing_newline(text: str, default: str = "\n") -> str:
    """The most frequent line break of `text`; LF, CR LF or CR."""
    counts = Counter(found for found in _BREAK.findall(text) if found in ("\n", "\r\n", "\r"))
    return counts.most_common(1)[0][0] if counts else default


def restored(original: str, edited: str, default: str = "\n") -> str:
    """`edited` (line breaks `\\n` only) with the line breaks of `original` wherever the line is still
    there."""
    breaks = _BREAK.findall(original)
    newline = prevailing_newline(original, default)
    if all(found == newline for found in breaks):
        return edited.replace("\n", newline) if newline != "\n" else edited
    old, new = _BREAK.split(original), edited.split("\n")
    endings: list[str] = [newline] * (len(new) - 1)
    for old_at, new_at, length in _matching(old, new):
        for offset in range(length):
            if new_at + offset < len(endings) and old_at + offset < len(breaks):
                endings[new_at + offset] = breaks[old_at + offset]
    return "".join(part for pair in zip(new, [*endings, ""], strict=True) for part in pair)


def _matching(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Runs of equal lines: (place in old, place in new, length)."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    runs = [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if inner_old and inner_new and len(inner_old) + len(inner_new) <= _MATCH_LIMIT:
        matcher = SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        runs += [(head + block.a, head + block.b, block.size) for block in matcher.get_matching_blocks()]
    return runs


def smallest_edit(old: str, new: str) -> tuple[int, int, str]:
    """`(start, end, text)`: replacing old[start:end] by text gives new. So a view keeps its place."""
    limit = min(len(old), len(new))
    # Halving finds the common beginning in n compared characters without a Python loop over each.
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, limit - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle :] == new[len(new) - middle :]:
            low = middle
        else:
            high = middle - 1
    return start, len(old) - low, new[start : len(new) - low]
