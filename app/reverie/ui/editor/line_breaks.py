r"""Conversion between the text of a file and that of a text widget, which has only one kind of line break.

A widget turns every line break into its own and returns `\n`. Lines that are not edited must be saved
unchanged, so the line breaks are restored from the text on disk. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from reverie.text.matching import differing, matching
from reverie.text.text_merge import TYPING_STEPS

if TYPE_CHECKING:
    from reverie.services.views import FileText

BOM = "\ufeff"
_BREAK = re.compile("\r\n|\r|\n")


def widget_text(text: str) -> str:
    r"""Return `text` as a widget would return it unedited: with `\n` for every line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def prevailing_newline(text: str, default: str = "\n") -> str:
    """Return the most frequent line break in `text` (LF, CR LF or CR); `default` if it has none."""
    kinds = _kinds(text)
    # Of kinds that are equally frequent, the first in the text prevails.
    return Counter(_BREAK.findall(text)).most_common(1)[0][0] if len(kinds) > 1 else [*kinds, default][0]


def _kinds(text: str) -> list[str]:
    """Return the kinds of line breaks that occur in `text`, out of LF, CR LF and CR."""
    both = text.count("\r\n")
    counts = {"\n": text.count("\n") - both, "\r\n": both, "\r": text.count("\r") - both}
    return [kind for kind, count in counts.items() if count]


def restored(original: str, edited: str, default: str = "\n") -> str:
    r"""Return `edited`, whose line breaks are all `\n`, with the line breaks of `original`.

    Each line that still exists keeps its line break, even if its text was changed; new lines get the most
    frequent one, or `default` if `original` has none. Mixed line breaks survive:
    `widget_text(restored(original, edited)) == edited` and `restored(original, widget_text(original)) ==
    original`.
    """
    newline = prevailing_newline(original, default)
    if len(_kinds(original)) <= 1:
        return edited.replace("\n", newline)
    breaks = _BREAK.findall(original)
    old, new = _BREAK.split(original), edited.split("\n")
    endings: list[str] = [newline] * (len(new) - 1)
    runs = matching(old, new, TYPING_STEPS)
    same = [(at, at + length, new_at, new_at + length) for at, new_at, length in runs]
    for start, end, new_start, new_end in [*same, *differing(runs, old, new)]:
        # From the end, so that a line that was split or joined with the next one keeps its ending.
        for offset in range(1, min(end - start, new_end - new_start) + 1):
            if new_end - offset < len(endings) and end - offset < len(breaks):
                endings[new_end - offset] = breaks[end - offset]
    for at in range(len(endings) - 2, -1, -1):
        if endings[at] == "\r" and not new[at + 1] and endings[at + 1] == "\n":
            endings[at] = "\n"  # otherwise the two would form one CR LF
    return "".join(part for pair in zip(new, [*endings, ""], strict=True) for part in pair)


def body(content: str) -> str:
    """Return the text of a file's `content`: without the byte order mark, if it has one."""
    return content.removeprefix(BOM)


def written(style: FileText | None, text: str) -> str:
    r"""Return the content to save for a widget's `text`, with the byte order mark and line breaks of `style`.

    `style`: the version of the file on which the text is based; None: no mark, and `\n` for line breaks.
    """
    if style is None:
        return text
    content = restored(body(style.content), text, style.newline)
    return BOM + content if style.bom else content


def smallest_edit(old: str, new: str) -> tuple[int, int, str]:
    """Return the smallest edit that turns `old` into `new`, as (start, end, text).

    Replacing `old[start:end]` by `text` gives `new`. A view that changes only this part of its text keeps its
    scroll position.
    """
    limit = min(len(old), len(new))
    # Bisection finds the common prefix with n character comparisons, without a Python loop over each.
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
