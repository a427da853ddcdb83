"""Bounded reading of files in homes, and conversion of JSON values.

Also patterns of paths that others wrote, and the files that are never opened. A home is written by others:
`config.json` may be a pipe, a device or ten gigabytes. Without state, safe from any thread. Failure: plain
`OSError`, which the caller turns into a sentence about its file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from reverie.files.directory import read_regular
from reverie.resources import resource_table


def entries_in(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a directory in no order; nothing where it cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return


def read_json(path: Path, limit: int, *, follow: bool = True) -> Any:
    """Read a JSON file of at most `limit` bytes.

    Raises `OSError` where the file cannot be read and `ValueError` where it is not JSON, also when it is
    nested too deep. Bytes that are not UTF-8 become U+FFFD, as Node reads them.
    """
    text = read_regular(path, limit, follow=follow).decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def as_text(value: Any) -> str:
    """Return a value from JSON if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """Return a value from JSON if it is a whole number from 0 on, else None; true is no number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def as_object(value: Any) -> dict[str, Any]:
    """Return a value from JSON if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value from JSON if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> tuple[dict[str, Any], ...]:
    """Return the objects in a list from JSON; other items are ignored."""
    return tuple(item for item in as_list(value) if isinstance(item, dict))


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts in a list from JSON; other items are ignored."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def as_shown(value: Any) -> str:
    """Format a value from JSON for a person: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def directory_names(directory: Path, problems: list[str]) -> list[str]:
    """Return the sorted names of the subdirectories, including symlinked ones; see `file_names`."""
    return _names(directory, problems, os.DirEntry.is_dir)


def file_names(directory: Path, problems: list[str]) -> list[str]:
    """Return the sorted names of the regular files, including symlinked ones.

    A missing directory has none; one that cannot be listed adds a sentence to `problems`.
    """
    return _names(directory, problems, os.DirEntry.is_file)


def _names(directory: Path, problems: list[str], kind: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if _is(entry, kind))
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")
        return []


def _is(entry: os.DirEntry[str], kind: Callable[[os.DirEntry[str]], bool]) -> bool:
    try:
        return kind(entry)
    except OSError:
        return False  # a link in a circle, or to a place that may not be looked at: not one of ours


# Patterns of paths.
#
# A checkout is written by others, and so are the patterns in it. A regular expression made of one can take
# for ever, and stops every thread meanwhile. So each character of a path is looked at once, for all the
# places in the pattern that it may have reached.


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
        """For each state: the character that it consumes (None: nothing), and the states it leads to. The end
        is behind the last state."""
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
            raise ValueError(f"a brace of {pattern!r} is not closed")

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
        """Return the consuming states, and the end, that `state` leads to without a character."""
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


# Files that Reverie never opens, whatever names or links to them: credentials and files of the system.
#
# An instruction file can import any path, and a repository is written by others. So every place that opens
# a file because another file names it asks here first, with the path as written and the one that it
# resolves to. The lists are in `resources/never_opened.toml`.


UNAPPROVED = (
    "It lies outside of the project. Reverie does not open it, as Claude Code does not without asking."
)

CREDENTIAL = "Claude Code loads it. It may hold credentials, so Reverie never opens it."

_TABLE = resource_table("never_opened.toml")
_FOLDERS = frozenset(_TABLE["folders"])


def never_opened(*paths: Path) -> bool:
    """Return whether one of `paths` (a file as named, and its target) is a credential or system file."""
    return any(_is_system(path) or _is_credential(path) for path in paths)


def may_be_named(path: Path, real: Path) -> bool:
    """Return whether a credential may be listed by its name.

    True for one that lies where it is named, not in a directory of credentials or of the system.
    """
    inside_secrets = any(
        not _FOLDERS.isdisjoint(part.casefold() for part in each.parts[:-1]) for each in (path, real)
    )
    return not (inside_secrets or _is_system(path) or _is_system(real))


def _is_system(path: PurePath) -> bool:
    return any(path.is_relative_to(place) for place in _TABLE["system"]) and not any(
        path.is_relative_to(place) for place in _TABLE["plain"]
    )


def _is_credential(path: PurePath) -> bool:
    folders = [part.casefold() for part in path.parts[:-1]]
    if not _FOLDERS.isdisjoint(folders):
        return True
    name = path.name.casefold()
    if any(fnmatchcase(name, pattern) for pattern in _TABLE["harmless"]):
        return False
    if any(fnmatchcase(name, pattern) for pattern in _TABLE["names"]):
        return True
    return any(
        folder in folders[-2:] and fnmatchcase(name, pattern)
        for folder, pattern in _TABLE["names_in_folders"]
    )
