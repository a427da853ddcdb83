"""Parsing of search queries.

All words must be found (the last word may be unfinished; `memory.search.loose` is the fallback if too few
notes have all words), `"phrases"` exactly as written, `/regex/` line by line. Filters: `scope:project`,
`project:acme`, `agent:claude`, `home:mux`, `pinned:yes`, `changed:<7d` (or `>2w`), `by:agent`. Other text
with a colon (`http://…`, `note: x`) is searched as words. Parsing never raises: an invalid query has
`problems`.

Pure; any thread.
"""

from __future__ import annotations

import re
from math import inf
from typing import Any

from reverie.agents.scopes import Scope
from reverie.memory.search.words import fts_phrase, tokens
from reverie.values import Struct, field, replace

HOUR_NS = 3_600_000_000_000
_UNITS = {"m": HOUR_NS // 60, "h": HOUR_NS, "d": 24 * HOUR_NS, "w": 7 * 24 * HOUR_NS}
_PIECE = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))')
_REGEX = re.compile(r"(?:^|(?<=\s))/((?:[^/\\\n]|\\.)+)/(?=\s|$)")
_SPAN = re.compile(r"([<>]?)(\d{1,6})([mhdw])")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_MOST_REPEATS = 3
_PATTERN_TOKEN = re.compile(
    r"(?P<repeat>(?:[*+?]|\{(?!\})(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})[?+]?)"
    # Comments, references and flags of the whole pattern hold nothing that repeats.
    r"|(?P<empty>\(\?(?:\#[^)]*|P=\w+|[a-zA-Z]+)\))"
    r"|(?P<open>\((?:\?(?:\(\w+\)|P?<\w+>|<?[=!]|>|[a-zA-Z]*(?:-[a-zA-Z]+)?:))?)"
    r"|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<other>[.^$]|\\[AbBZ1-9]|\[\^\]?(?:\\.|[^]\\])*\])"
    r"|(?P<single>\[\]?(?:\\.|[^]\\])*\]"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|.)|.)",
    re.DOTALL,
)
_SCOPED_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:")


class Changed(Struct, frozen=True):
    """A filter that selects notes by the time since they were last changed."""

    newer: bool
    """Whether to select notes that were changed within the last `span_ns` ns; False: select all others."""
    span_ns: int


class Term(Struct, frozen=True):
    """One word or phrase of a query: words that must occur in this order."""

    text: str
    goes_on: bool = False
    """Whether the last word may be the beginning of a longer word."""
    is_exact: bool = False
    """Whether the text was in quotes, so that other forms of its words do not match."""

    @property
    def phrase(self) -> str:
        """The term as an FTS5 phrase; empty if it contains no word."""
        return fts_phrase(self.text, prefix=self.goes_on)


class SearchQuery(Struct, frozen=True):
    """A parsed query. A field that is empty or None does not filter."""

    terms: tuple[Term, ...] = ()
    regex: str = ""
    """The regular expression to search for."""
    scopes: frozenset[Scope] = frozenset()
    homes: tuple[str, ...] = ()
    """Parts of the ids, paths or names of homes, of which one must match."""
    projects: tuple[str, ...] = ()
    """Parts of project paths, of which one must match."""
    agents: tuple[str, ...] = ()
    """Beginnings of the names of agents whose homes are searched."""
    pinned: bool | None = None
    changed: Changed | None = None
    """A filter by the time of the last change."""
    by: str = ""
    """The actor of the last change: `user`, `agent`, `dream`, `outside` and so on."""
    problems: tuple[str, ...] = ()
    """Sentences for people; if there are any, nothing is searched."""

    @property
    def is_empty(self) -> bool:
        """Whether the query has no words, no regular expression and no filter; False if it has `problems`."""
        filters = self.scopes or self.homes or self.projects or self.agents or self.changed or self.by
        return not (self.terms or self.regex or filters or self.pinned is not None or self.problems)

    @property
    def without_first_letter(self) -> SearchQuery | None:
        """The query without its last word, if only one letter of that word is typed.

        None if there is no such word, or no other word. Too many words begin with one letter to search for
        all of them.
        """
        last = self.terms[-1] if self.terms else Term("")
        begun = next(reversed(list(tokens(last.text))), None) if last.goes_on else None
        if begun is None or begun.end - begun.start > 1 or last.phrase.endswith("*"):
            return None
        before = Term(last.text[: begun.start])
        terms = (*self.terms[:-1], *((before,) if before.phrase else ()))
        return replace(self, terms=terms) if terms else None


def parse_query(text: str) -> SearchQuery:
    """Return the query that a person typed as `text`; never raises (see `SearchQuery.problems`)."""
    made: dict[str, Any] = {}
    problems: list[str] = []
    found = _REGEX.search(text)
    if found is not None:
        made["regex"] = found[1]
        problems += regex_problem(found[1])
        text = f"{text[: found.start()]} {text[found.end() :]}"
    terms: list[Term] = []
    for piece in _PIECE.finditer(text):
        key, quoted = piece["key"], piece["quoted"]
        value = quoted if quoted is not None else piece["plain"]
        if key in _FILTERS:
            problems += _FILTERS[key](value.casefold(), made) if value else ()
        elif not key and quoted is None and value.endswith(":") and value[:-1] in _FILTERS:
            continue  # its value is still to come
        elif quoted is not None and not key:
            terms.append(Term(quoted, is_exact=True))
        else:
            terms.append(Term(piece[0].replace('"', " "), goes_on=piece.end() == len(text)))
    kept = [term for term in terms if term.phrase]
    if not kept and terms and "regex" not in made and any(term.text.strip() for term in terms):
        # Only signs (`->`, `$&`): not in the index, but in the texts.
        made["regex"] = re.escape(" ".join(term.text for term in terms).strip())
    return SearchQuery(terms=tuple(kept), problems=tuple(problems), **made)


def regex_problem(pattern: str) -> list[str]:
    """Return a list with a sentence on why the pattern is invalid or might run for ever; else an empty list.

    Python's engine backtracks, cannot be interrupted, and holds the GIL while it works.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        return [f"/{pattern}/ is not a regular expression: {error}."]
    open_ended, nested = _repeats(pattern, verbose=bool(compiled.flags & re.VERBOSE))
    if nested or open_ended > _MOST_REPEATS:
        return [f"/{pattern}/ could take forever, because it repeats a repetition. Simplify the expression."]
    return []


class _PatternItem(Struct, frozen=True):
    """A character, a class or a group of a regular expression, with its quantifier."""

    text: str
    """The source text of the item; for a group a unique name instead, so that no two groups are equal."""
    is_single: bool = False
    """Whether the item matches exactly one character; a choice between such items equals a character class.
    """
    is_ambiguous: bool = False
    """Whether the item has a choice or a repetition that is open-ended (see `_repeats`); if such an item is
    repeated in turn, matching may run for ever."""


class _PatternGroup(Struct):
    """A group whose closing parenthesis was not reached yet, or the whole pattern."""

    verbose: bool
    """Whether white space and comments in the group are ignored, as with `re.VERBOSE`."""
    alternatives: list[list[_PatternItem]] = field(default_factory=lambda: [[]])
    """The items of each alternative; alternatives are separated by `|`."""

    def is_ambiguous(self) -> bool:
        return self._is_choice() or any(item.is_ambiguous for items in self.alternatives for item in items)

    def _is_choice(self) -> bool:
        """Return whether the alternatives, after a common prefix, are more than single characters."""
        first, *others = self.alternatives
        at = 0
        while others and all(items[at : at + 1] == first[at : at + 1] != [] for items in others):
            at += 1
        rests = [items[at:] for items in self.alternatives]
        return bool(others) and not all(len(rest) == 1 and rest[0].is_single for rest in rests)


def _repeats(pattern: str, *, verbose: bool) -> tuple[int, bool]:
    """Return the number of open-ended repetitions in a valid pattern, and whether one of them is nested.

    A repetition is open-ended if it may occur more than 16 times. A repeated choice counts as nested.
    `verbose`: the pattern is written in the style of `re.VERBOSE`.
    """
    count, nested, at = 0, False, 0
    groups = [_PatternGroup(verbose)]
    while token := _PATTERN_TOKEN.match(pattern, at):
        items = groups[-1].alternatives[-1]
        at = token.end()
        kind, text = token.lastgroup, token[0]
        if kind == "open":
            flags = _SCOPED_FLAGS.match(text)
            on, off = flags.groups("") if flags is not None else ("", "")
            groups.append(_PatternGroup((groups[-1].verbose or "x" in on) and "x" not in off))
        elif kind == "close" and len(groups) > 1:
            is_ambiguous = groups.pop().is_ambiguous()
            groups[-1].alternatives[-1].append(_PatternItem(f"group {at}", is_ambiguous=is_ambiguous))
        elif kind == "bar":
            groups[-1].alternatives.append([])
        elif kind == "repeat" and items:
            is_open_ended = _most(token) > 16
            repeated = items[-1]
            count, nested = count + is_open_ended, nested or (is_open_ended and repeated.is_ambiguous)
            is_ambiguous = repeated.is_ambiguous or is_open_ended
            items[-1] = _PatternItem(repeated.text + text, is_ambiguous=is_ambiguous)
        elif groups[-1].verbose and text == "#":
            at = pattern.find("\n", at) + 1 or len(pattern)
        elif kind in ("single", "other") and not (groups[-1].verbose and text.isspace()):
            items.append(_PatternItem(text, is_single=kind == "single"))
    return count, nested


def _most(repeat: re.Match[str]) -> float:
    """Return the maximum number of repetitions that the quantifier `repeat` allows; `inf` if unlimited."""
    if repeat["least"] is None:
        return 1 if repeat[0].startswith("?") else inf
    most = repeat["most"] if repeat["comma"] else repeat["least"]
    return int(most) if most else inf


def _scope(value: str, made: dict[str, Any]) -> list[str]:
    found = {scope for scope in Scope if scope.value.startswith(value)}
    made["scopes"] = made.get("scopes", frozenset()) | found
    return [] if found else [f"There is no scope “{value}”. Use workspace, project or global."]


def _home(value: str, made: dict[str, Any]) -> list[str]:
    made["homes"] = (*made.get("homes", ()), value)
    return []


def _project(value: str, made: dict[str, Any]) -> list[str]:
    made["projects"] = (*made.get("projects", ()), value)
    return []


def _agent(value: str, made: dict[str, Any]) -> list[str]:
    made["agents"] = (*made.get("agents", ()), value)
    return []


def _pinned(value: str, made: dict[str, Any]) -> list[str]:
    for words, answer in ((_YES, True), (_NO, False)):
        if any(word.startswith(value) for word in words):
            made["pinned"] = answer
            return []
    return [f"pinned:{value} is not valid. Use pinned:yes or pinned:no."]


def _changed(value: str, made: dict[str, Any]) -> list[str]:
    found = _SPAN.fullmatch(value)
    if found is not None:
        made["changed"] = Changed(found[1] != ">", int(found[2]) * _UNITS[found[3]])
        return []
    if re.fullmatch(r"[<>]?\d{0,6}", value):
        return []  # still being typed
    return [f"changed:{value} is not a time. Write changed:<7d, with m, h, d or w."]


def _by(value: str, made: dict[str, Any]) -> list[str]:
    made["by"] = {"me": "user", "you": "user"}.get(value, value)
    return []


_FILTERS = {
    "scope": _scope,
    "home": _home,
    "project": _project,
    "agent": _agent,
    "pinned": _pinned,
    "changed": _changed,
    "by": _by,
}
