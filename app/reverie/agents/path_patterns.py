"""Patterns of paths, as they occur in settings and `.gitignore` files.

Pure; any thread.
"""

from __future__ import annotations

import re

_IN_NAME = re.compile("[^/]")
_ANY = re.compile(".", re.DOTALL)
_SET = re.compile(r"\[([!^]?)((?:\\.|[^\\])(?:\\.|[^\]\\])*)\]", re.DOTALL)
_IN_SET = re.compile(r"(\\?.)-(\\?.)|(\\?.)", re.DOTALL)
_MOST_STEPS = 10_000


class Glob:
    """A pattern of whole paths.

    `**` matches any folders, `*` and `?` match inside a name, `[...]` a set, `\\` escapes a character, and
    `{a,b}` are alternatives. With `git` as in a `.gitignore`: no braces, and `a/**` does not match `a`
    itself. Raises `ValueError` for an invalid pattern.

    Patterns come from checkouts that others wrote. A regular expression made from one could run for ever and
    stop every thread meanwhile. So each character of a path is read once, for all states that the pattern may
    have reached.
    """

    def __init__(self, pattern: str, *, git: bool = False) -> None:
        self._states: list[tuple[re.Pattern[str] | None, list[int]]] = []
        """The character that each state consumes (None: none), and the states that it leads to.

        The index of the end is one more than that of the last state.
        """
        self._read(pattern, git=git)
        self._ways = dict[int, frozenset[int]]()
        self._steps = dict[tuple[frozenset[int], str], frozenset[int]]()
        self._start = self._reached(0)

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches this path."""
        at = self._start
        for char in path:
            following = self._steps.get((at, char))
            at = self._step(at, char) if following is None else following
            if not at:
                return False
        return len(self._states) in at

    def _read(self, pattern: str, *, git: bool) -> None:
        opened: list[tuple[list[int], list[list[int]]]] = []
        at = 0
        while at < len(pattern):
            char, rest = pattern[at], len(pattern) - at
            starts = at == 0 or pattern[at - 1] == "/"
            if starts and pattern.startswith("**/", at):
                here = len(self._states)
                self._lead(here + 1, here + 4)
                self._repeat(_IN_NAME)
                self._take(re.compile("/"), here)
                at += 3
                continue
            if rest == 3 and pattern.endswith("/**"):
                if not git:
                    self._lead(len(self._states) + 1, len(self._states) + 4)
                self._take(re.compile("/"))
                self._repeat(_ANY)
                break
            if char == "*":
                self._repeat(_ANY if pattern == "**" else _IN_NAME)
                at += 1 + pattern.startswith("**", at)
                continue
            if char == "?":
                self._take(_IN_NAME)
            elif char == "[" and (found := _SET.match(pattern, at)):
                self._take(_one_of(found[2], negated=bool(found[1])))
                at = found.end() - 1
            elif char == "{" and not git and "}" in pattern[at:]:
                opened.append((self._lead(len(self._states) + 1), []))
            elif char == "," and opened:
                opened[-1][1].append(self._lead())
                opened[-1][0].append(len(self._states))
            elif char == "}" and opened:
                for end in opened.pop()[1]:
                    end.append(len(self._states))
            elif char == "\\" and rest > 1:
                at += 1
                self._take(re.compile(re.escape(pattern[at])))
            else:
                self._take(re.compile(re.escape(char)))
            at += 1
        if opened:
            raise ValueError(f"a brace in {pattern!r} is not closed")

    def _take(self, what: re.Pattern[str], to: int | None = None) -> None:
        self._states.append((what, [len(self._states) + 1 if to is None else to]))

    def _lead(self, *to: int) -> list[int]:
        ways = list(to)
        self._states.append((None, ways))
        return ways

    def _repeat(self, what: re.Pattern[str]) -> None:
        here = len(self._states)
        self._lead(here + 1, here + 2)
        self._take(what, here)

    def _reached(self, state: int) -> frozenset[int]:
        """Return the states that the pattern reaches from `state` without reading a character.

        Only states that read a character, and the end of the pattern, are returned. The pattern is a state
        machine. States that read no character and only lead to others are followed.
        """
        known = self._ways.get(state)
        if known is None:
            seen, found, waiting = {state}, set(), [state]
            while waiting:
                here = waiting.pop()
                what, to = self._states[here] if here < len(self._states) else (_ANY, [])
                if what is not None:
                    found.add(here)
                    continue
                waiting += [each for each in to if each not in seen]
                seen.update(to)
            known = self._ways[state] = frozenset(found)
        return known

    def _step(self, at: frozenset[int], char: str) -> frozenset[int]:
        found = set[int]()
        for state in at:
            what, to = self._states[state] if state < len(self._states) else (None, [])
            if what is not None and what.match(char):
                found |= self._reached(to[0])
        if len(self._steps) >= _MOST_STEPS:
            self._steps.clear()
        following = self._steps[at, char] = frozenset(found)
        return following


def _one_of(listed: str, *, negated: bool) -> re.Pattern[str]:
    inside = "".join(
        re.escape(one[-1]) if one else f"{re.escape(first[-1])}-{re.escape(last[-1])}"
        for first, last, one in _IN_SET.findall(listed)
    )
    try:
        return re.compile(f"(?!/)[{'^' if negated else ''}{inside}]", re.DOTALL)
    except re.error as error:
        raise ValueError(f"[{listed}] cannot be read") from error
