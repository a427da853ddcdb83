"""Finding the elements that two sequences share in the same order, with a limit on the work.

`difflib` visits every pair of equal elements, and visits them again after each match. For two lines of
minified JSON, which are full of quotes and commas, this takes minutes. Here each visit is counted, and a
stretch that is too expensive is divided at the elements that occur exactly once on each side, or is left
without a match. So the work grows with the length of the sequences, whatever their content. If nothing is too
expensive, the result is the same as `difflib`'s.

Pure; any thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

Run = tuple[int, int, int]
"""A run of equal elements: index in the old sequence, index in the new one, length."""
STEPS_PER_ELEMENT = 16
"""Steps (visits of an element or of a pair of equal ones) allowed per element."""
LEAST_STEPS = 1_000_000
"""Steps that are always allowed: a few tenths of a second."""


class _TooDear(Exception):
    """Raised when a comparison would take more steps than are allowed."""


class _CountedMatcher(SequenceMatcher[Hashable]):
    """A matcher that counts its steps, and raises `_TooDear` instead of taking more than `most` steps."""

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable], most: int) -> None:
        super().__init__(None, old, new)
        self.steps = 0
        self._most, self._sizes = most, (len(old), len(new))
        places: dict[Hashable, list[int]] = self.b2j  # type: ignore[attr-defined]
        self._costs = [0, *accumulate(1 + len(places.get(each, ())) for each in old)]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        end = self._sizes[0] if ahi is None else ahi
        self.steps += self._costs[end] - self._costs[alo]
        if self.steps > self._most:
            raise _TooDear
        return super().find_longest_match(alo, end, blo, self._sizes[1] if bhi is None else bhi)


def matching(old: Sequence[Hashable], new: Sequence[Hashable], least: int = LEAST_STEPS) -> list[Run]:
    """Return the runs of equal elements that `old` and `new` share, in order.

    Each run is (index in `old`, index in `new`, length). The work is limited to a number of steps that grows
    with the number of elements, but is at least `least`; if the limit is reached, some equal elements are not
    found.
    """
    left = max(least, STEPS_PER_ELEMENT * (len(old) + len(new)))
    runs: list[Run] = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        low, high, new_low, new_high = waiting.pop()
        head = low
        while low < high and new_low < new_high and old[low] == new[new_low]:
            low, new_low = low + 1, new_low + 1
        if low > head:
            runs.append((head, new_low - (low - head), low - head))
        tail = high
        while high > low and new_high > new_low and old[high - 1] == new[new_high - 1]:
            high, new_high = high - 1, new_high - 1
        if tail > high:
            runs.append((high, new_high, tail - high))
        size = high - low + new_high - new_low
        left -= size
        if low == high or new_low == new_high or left <= 0:
            continue
        # Half of the remaining steps, so that a stretch that is too expensive leaves enough for its parts.
        matcher = _CountedMatcher(old[low:high], new[new_low:new_high], left // 2)
        try:
            blocks = matcher.get_matching_blocks()
        except _TooDear:
            blocks = []
            edges = _edges(old, low, high, new, new_low, new_high)
            if edges:
                runs += [(at, new_at, 1) for at, new_at in edges]
                starts = [(low, new_low), *((at + 1, new_at + 1) for at, new_at in edges)]
                ends = [*edges, (high, new_high)]
                waiting += [(a, c, b, d) for (a, b), (c, d) in zip(starts, ends, strict=True)]
        left -= min(matcher.steps, left // 2)
        runs += [(low + block.a, new_low + block.b, block.size) for block in blocks if block.size]
    return sorted(runs)


def ratio(runs: Sequence[Run], old: Sequence[object], new: Sequence[object]) -> float:
    """Return the fraction (0 to 1) of the elements of `old` and `new` that are part of a run (`matching`)."""
    size = len(old) + len(new)
    return 2 * sum(length for _at, _new_at, length in runs) / size if size else 1.0


def differing(
    runs: Sequence[Run], old: Sequence[object], new: Sequence[object]
) -> list[tuple[int, int, int, int]]:
    """Return the stretches of `old` and `new` that lie between `runs` (see `matching`), and so differ.

    Each is a tuple: start and end in `old`, start and end in `new`.
    """
    found: list[tuple[int, int, int, int]] = []
    at = new_at = 0
    for start, new_start, length in [*runs, (len(old), len(new), 0)]:
        if start > at or new_start > new_at:
            found.append((at, start, new_at, new_start))
        at, new_at = start + length, new_start + length
    return found


def _edges(
    old: Sequence[Hashable], low: int, high: int, new: Sequence[Hashable], new_low: int, new_high: int
) -> list[tuple[int, int]]:
    """Return the matches of a patience diff: elements that occur exactly once on each side.

    `old[low:high]` and `new[new_low:new_high]` are searched. Each item is a pair of indexes, in the old and
    in the new sequence. If the order of these elements differs, only the longest series that is in the same
    order on both sides is returned.
    """
    counts, new_counts = Counter(old[low:high]), Counter(new[new_low:new_high])
    places = {new[at]: at for at in range(new_low, new_high) if new_counts[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(low, high) if counts[old[at]] == 1 and old[at] in places]
    tops: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, new_at) in enumerate(pairs):
        pile = bisect_left(tops, new_at)
        before.append(last[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(new_at)
            last.append(index)
        else:
            tops[pile], last[pile] = new_at, index
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]
