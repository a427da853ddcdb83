"""What a person types into a search field, as a value.

Words are all to be found (the last one may be unfinished), `"phrases"` as they stand, `/regex/` line by line.
Filters: `scope:project`, `home:mux`, `pinned:yes`, `changed:<7d` (or `>2w`), `by:agent`. What is no filter of
ours (`http://…`, `note: x`) is words. Nothing raises while somebody is still typing: what cannot be meant is
told in `problems`.

Pure; any thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from re import _parser  # type: ignore[attr-defined]  # the parse tree tells which patterns never end
from typing import Any

from reverie.homes.scopes import Scope
from reverie.memory.search_text import question, tokens

HOUR_NS = 3_600_000_000_000
_UNITS = {"m": HOUR_NS // 60, "h": HOUR_NS, "d": 24 * HOUR_NS, "w": 7 * 24 * HOUR_NS}
_PIECE = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))')
_REGEX = re.compile(r"(?:^|(?<=\s))/((?:[^/\\\n]|\\.)+)/(?=\s|$)")
_SPAN = re.compile(r"([<>]?)(\d{1,6})([mhdw])")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_MOST_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Changed:
    """Modified within (`newer`) or before the last `span_ns`."""

    newer: bool
    span_ns: int


@dataclass(frozen=True, slots=True)
class Term:
    """What must be found as it stands. `goes_on`: it may be the beginning of a word."""

    text: str
    goes_on: bool = False

    @property
    def phrase(self) -> str:
        """It as an FTS5 phrase; empty where it holds no word."""
        return question(self.text, prefix=self.goes_on)


@dataclass(frozen=True, slots=True)
class Query:
    """`by`: `you`, `agent`, `dream`, `outside` and the like. `regex`: empty for none. `problems`: sentences;
    where there are any, nothing is to be searched."""

    terms: tuple[Term, ...] = ()
    regex: str = ""
    scopes: frozenset[Scope] = frozenset()
    homes: tuple[str, ...] = ()
    pinned: bool | None = None
    changed: Changed | None = None
    by: str = ""
    problems: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing is asked."""
        filters = self.scopes or self.homes or self.changed or self.by or self.pinned is not None
        return not (self.terms or self.regex or filters or self.problems)

    @property
    def without_first_letter(self) -> Query | None:
        """The same without the word that is just begun, of which one letter is typed; None where there is no
        such word, or no other. Too many words begin with a letter to look for all of them."""
        last = self.terms[-1] if self.terms else Term("")
        begun = next(reversed(list(tokens(last.text))), None) if last.goes_on else None
        if begun is None or begun.end - begun.start > 1 or last.phrase.endswith("*"):
            return None
        before = Term(last.text[: begun.start])
        terms = (*self.terms[:-1], *((before,) if before.phrase else ()))
        return replace(self, terms=terms) if terms else None


def parse_query(text: str) -> Query:
    """What `text` asks. Never raises."""
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
            terms.append(Term(quoted))
        else:
            terms.append(Term(piece[0].replace('"', " "), goes_on=piece.end() == len(text)))
    kept = [term for term in terms if term.phrase]
    if not kept and terms and "regex" not in made and any(term.text.strip() for term in terms):
        # Only signs (`->`, `$&`): no index knows them, but the texts have them.
        made["regex"] = re.escape(" ".join(term.text for term in terms).strip())
    return Query(terms=tuple(kept), problems=tuple(problems), **made)


def regex_problem(pattern: str) -> list[str]:
    """Why a pattern is not searched for: it is none, or it might never end. Python's engine backtracks and
    cannot be stopped, and while it works nothing else of this process does."""
    try:
        tree = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return [f"/{pattern}/ is no regular expression: {error}."]
    open_ended, nested = _repeats(tree, inside=False)
    if nested or open_ended > _MOST_REPEATS:
        return [f"/{pattern}/ could take for ever: it repeats what repeats. Say it more simply."]
    return []


def _repeats(tree: Any, *, inside: bool) -> tuple[int, bool]:
    """How many parts repeat without limit, and whether one of them holds another, or a choice."""
    count, nested = 0, False
    for code, value in tree:
        name = str(code)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _low, high, inner = value
            many = int(high) > 16
            more, bad = _repeats(inner, inside=inside or many)
            count, nested = count + more + many, nested or bad or (many and inside)
        elif name == "BRANCH":
            nested = nested or inside
            for branch in value[1]:
                more, bad = _repeats(branch, inside=inside)
                count, nested = count + more, nested or bad
        else:
            for inner in value if isinstance(value, tuple) else ():
                if isinstance(inner, _parser.SubPattern):
                    more, bad = _repeats(inner, inside=inside)
                    count, nested = count + more, nested or bad
    return count, nested


def _scope(value: str, made: dict[str, Any]) -> list[str]:
    found = {scope for scope in Scope if scope.value.startswith(value)}
    made["scopes"] = made.get("scopes", frozenset()) | found
    return [] if found else [f"There is no scope “{value}”: it is workspace, project or global."]


def _home(value: str, made: dict[str, Any]) -> list[str]:
    made["homes"] = (*made.get("homes", ()), value)
    return []


def _pinned(value: str, made: dict[str, Any]) -> list[str]:
    for words, answer in ((_YES, True), (_NO, False)):
        if any(word.startswith(value) for word in words):
            made["pinned"] = answer
            return []
    return [f"pinned:{value} is neither pinned:yes nor pinned:no."]


def _changed(value: str, made: dict[str, Any]) -> list[str]:
    found = _SPAN.fullmatch(value)
    if found is not None:
        made["changed"] = Changed(found[1] != ">", int(found[2]) * _UNITS[found[3]])
        return []
    if re.fullmatch(r"[<>]?\d{0,6}", value):
        return []  # still being typed
    return [f"changed:{value} is no time: write changed:<7d, with m, h, d or w."]


def _by(value: str, made: dict[str, Any]) -> list[str]:
    made["by"] = {"me": "user", "you": "user"}.get(value, value)
    return []


_FILTERS = {"scope": _scope, "home": _home, "pinned": _pinned, "changed": _changed, "by": _by}
