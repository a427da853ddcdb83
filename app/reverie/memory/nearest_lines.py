"""Search for the lines of a text that are most similar to a given text.

Pure; any thread.
"""

from __future__ import annotations

_LEAST_NEAR = 55.0
_PART = 0.9
"""The factor for the similarity to only a part of the lines; `_LEAST_NEAR` is a minimum, in percent."""
_MOST_NEAR = 200
_LONGEST_PART = 2_000
MOST_PAIRS = 10_000_000_000
"""Maximum number of character pairs to compare in all; `rapidfuzz` compares 64 of them in one step."""


def nearest_lines(text: str, wanted: str) -> str:
    """Return the lines of `text` most similar to `wanted`: as many consecutive lines as `wanted` has.

    Empty if no lines are similar enough, or if none were found before the limit on comparisons was reached.
    """
    # Late: most traces have no such edit.
    from rapidfuzz import fuzz

    lines, count = text.splitlines(), max(1, len(wanted.splitlines()))
    if not wanted.strip() or count > _MOST_NEAR:
        return ""
    best, found, left = _LEAST_NEAR, "", MOST_PAIRS
    for start in range(max(1, len(lines) - count + 1)):
        window = "\n".join(lines[start : start + count])
        left -= _pairs_compared(wanted, window)
        if left < 0:
            break
        score = fuzz.ratio(wanted, window, score_cutoff=best)
        if _is_short(wanted, window):
            # Compared as a part as well, because omitted words change a short line most.
            score = max(score, _PART * fuzz.partial_ratio(wanted, window, score_cutoff=best / _PART))
        if score > best:
            best, found = score, window
    return found


def _pairs_compared(wanted: str, window: str) -> int:
    """Return the estimated number of character pairs to compare `wanted` with one `window` of lines."""
    whole = len(wanted) * len(window) + len(window) + 1_000
    return whole * (2 + min(len(wanted), len(window)) // 64 if _is_short(wanted, window) else 1)


def _is_short(wanted: str, window: str) -> bool:
    """Return whether the texts are short enough to compare one also with each part of the other.

    This takes cubic time.
    """
    return max(len(wanted), len(window)) <= _LONGEST_PART
