"""Pairs of lines that a model noticed and left to a person: they say the same, they disagree, or one of them
is overtaken.

A model that consolidates has a tool for what it should not settle by itself. Nothing it says is trusted: each
pair names two memories and quotes a line of each, and a quote that no line of its memory holds is refused,
with the reason. A pair is kept for the memories it was seen in, and counts for as long as both lines stand
there; `services.findings` shows it beside what rules find.

Threading: any thread. Failure: `UserError` where the file that keeps them cannot be read or written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from reverie.agents.scopes import Scope, ScopeContext
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.findings import RelatedKind
from reverie.llm.loop import FunctionTool, tool_spec
from reverie.llm.provider import ToolOutcome
from reverie.values import Struct, as_dict

MOST_OF_ONE_RUN = 200
_MOST_KEPT = 1_000
_LEAST_QUOTE = 8
_WHY_CHARS = 300
_NUMBERED = re.compile(r"^\s*\d+\t")
_KINDS: Mapping[str, RelatedKind] = {
    "same": "near-duplicate",
    "disagree": "contradiction",
    "overtaken": "superseded",
}


class NoticedPair(Struct, frozen=True):
    """Two lines of two memories. `superseded`: the first one is overtaken."""

    kind: RelatedKind
    paths: tuple[str, str]
    """As the memory commands name them."""
    quotes: tuple[str, str]
    """The whole line of each, its white space made single."""
    why: str
    """What the model says of it."""

    def lines_in(self, texts: Mapping[str, str]) -> tuple[int, int] | None:
        """Where the lines stand now, from 1; None where one of them does not any more."""
        found = [
            next((number for number, line in _lines(texts.get(path, "")) if line == quote), 0)
            for path, quote in zip(self.paths, self.quotes, strict=True)
        ]
        return (found[0], found[1]) if all(found) else None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        yield number, " ".join(line.split())


class PairsNoticed:
    """What one run noticed so far, and the tool that takes it. `texts`: the memories of the run, by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.pairs: tuple[NoticedPair, ...] = ()

    @property
    def tool(self) -> FunctionTool:
        """For a model."""
        return FunctionTool(tool_spec("point_out"), self._take)

    def _take(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        refused = []
        for number, each in enumerate(arguments["pairs"], 1):
            found = self._read(each)
            if isinstance(found, str):
                refused.append(f"Pair {number}: {found}")
            elif found not in self.pairs:
                self.pairs = (*self.pairs, found)
        words = [f"{len(self.pairs)} noted so far; a person decides about them.", *refused]
        return ToolOutcome("\n".join(words), is_error=bool(refused))

    def _read(self, each: Mapping[str, Any]) -> NoticedPair | str:
        """The pair, or what is wrong with it."""
        if len(self.pairs) >= MOST_OF_ONE_RUN:
            return f"A run points out at most {MOST_OF_ONE_RUN} pairs."
        first, second = str(each["first_path"]), str(each["second_path"])
        if first == second:
            return "It needs two different notes."
        lines = []
        for path, quote in ((first, each["first_line"]), (second, each["second_line"])):
            if path not in self._texts:
                return f"{path} is none of the notes."
            line = _line_with(self._texts[path], str(quote))
            if line is None:
                return f"No line of {path} holds these words: quote a line of it as it stands there."
            lines.append(line)
        why = " ".join(str(each["why"]).split())[:_WHY_CHARS]
        return NoticedPair(_KINDS[each["what"]], (first, second), (lines[0], lines[1]), why)


def _line_with(text: str, quote: str) -> str | None:
    """The line that a quote is of; None where it is too short to tell, or stands nowhere."""
    wanted = " ".join(_NUMBERED.sub("", quote).split())
    lines = [line for _number, line in _lines(text)]
    if wanted and wanted in lines:
        return wanted
    if len(wanted) < _LEAST_QUOTE:
        return None
    return next((line for line in lines if wanted in line), None)


class NoticedLog:
    """The pairs of one home, in a file of Reverie's own."""

    def __init__(self, kept: Callable[[], Sidecar]) -> None:
        self._kept = kept

    def add(self, context: ScopeContext, pairs: Sequence[NoticedPair]) -> None:
        """Keep these, seen in the memories of `context`. Raises `UserError`."""
        new = [_as_json(context, pair) for pair in pairs]

        def change(data: dict[str, Any]) -> dict[str, Any]:
            known = data.get("pairs")
            before = [each for each in known if each not in new] if isinstance(known, list) else []
            data["pairs"] = [*before, *new][-_MOST_KEPT:]
            return data

        self._kept().update(change)

    def of(self, context: ScopeContext) -> list[NoticedPair]:
        """Those about memories of `context`, in the order in which they were noticed. Raises `UserError`."""
        found = self._kept().read().data.get("pairs")
        return list(_of_context(context, found if isinstance(found, list) else ()))


def _as_json(context: ScopeContext, pair: NoticedPair) -> dict[str, Any]:
    kept = as_dict(pair) | {"paths": list(pair.paths), "quotes": list(pair.quotes)}
    return kept | {"places": [_place(context, path) for path in pair.paths]}


def _of_context(context: ScopeContext, kept: Iterable[Any]) -> Iterator[NoticedPair]:
    for each in kept:
        try:
            (first, second), quotes = each["paths"], each["quotes"]
            pair = NoticedPair(each["kind"], (first, second), (quotes[0], quotes[1]), str(each["why"]))
            is_here = each["places"] == [_place(context, path) for path in pair.paths]
        except (KeyError, IndexError, TypeError, ValueError):
            continue  # of a newer version
        if is_here and pair.kind in get_args(RelatedKind):
            yield pair


def _place(context: ScopeContext, path: str) -> str:
    """What tells a memory of this path from one of another workspace or project."""
    parts = path.split("/")
    scope = parts[2] if len(parts) > 2 else ""
    if scope == Scope.WORKSPACE.value:
        return f"workspace {context.workspace_id}"
    return f"project {context.project_path}" if scope == Scope.PROJECT.value else scope
