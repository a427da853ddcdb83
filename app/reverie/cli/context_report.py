"""`context`: exactly what an agent would load, why, and how full its budgets are.

JSON: `{agent, at, totalBytes, totalTokens, index, hotSet, parts}`. `index` and `hotSet` are those of mux
(empty elsewhere); `parts` is everything that is loaded, whatever the agent, with the text of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reverie.cli.answers import DONE, print_json, print_text, printable
from reverie.cli.homes import the_context, the_home
from reverie.context.gather import gather
from reverie.context.recipes import AGENTS, assemble
from reverie.context.view import PARTS, ContextEntry, ContextPart, ContextView, Gauge, notes, reason
from reverie.errors import Unavailable
from reverie.services.workbench import Workbench

if TYPE_CHECKING:
    from reverie.cli.main import Invocation

_MARKS = {"in": "in  ", "cut": "cut ", "out": "out "}


def context(session: Invocation) -> int:
    """Tell what the agent of the home would be told now."""

    parts = the_home(session)
    if parts.home.kind not in AGENTS:
        raise Unavailable(
            f"What {parts.home.kind} would load is not known.",
            next_step="This command knows " + ", ".join(sorted(AGENTS)) + ".",
        )
    chosen = the_context(session, parts)
    at = session.clock()
    facts = gather(parts.home, chosen, Workbench(parts).view(chosen).scopes, times=(at,))
    view = assemble(facts, at)
    if session.as_json:
        print_json(as_json(view))
    else:
        print_text("\n".join(lines(view)))
    return DONE


def as_json(view: ContextView) -> dict[str, Any]:
    """The whole view; see the module."""
    return {
        "agent": view.agent,
        "at": view.at,
        "totalBytes": view.bytes,
        "totalTokens": view.tokens,
        "index": _index(view.part("index")),
        "hotSet": _hot_set(view.part("hot-set")),
        "parts": [_part(part) for part in view.parts],
    }


def lines(view: ContextView) -> Iterator[str]:
    """The same for people: each part with its budgets, what is in and out, and the text itself, with a `!` at
    lines to look at."""
    for part in view.parts:
        yield f"{PARTS[part.key]}: {', '.join(_gauge(gauge) for gauge in part.gauges)}"
        for note in notes(part):
            yield f"  ({printable(note)})"
        for entry in part.entries:
            name = entry.path if entry.file is None else str(entry.file)
            yield f"  {_MARKS[entry.state]}{printable(name)}  {printable(_figures(entry))}"
        if part.text:
            yield ""
            for number, line in enumerate(part.text.expandtabs().split("\n"), 1):
                yield f"  {'!' if number in part.marked else '|'} {printable(line)}"
        yield ""
    yield f"In all about {view.tokens:,} tokens, {view.bytes:,} bytes."


def _figures(entry: ContextEntry) -> str:
    text = reason(entry)
    if entry.score is not None and entry.score > 0:
        text += f", score {entry.score:.3g}"
    if entry.bytes:
        text += f", {entry.bytes:,} bytes, about {entry.tokens:,} tokens"
    kinds = sorted({mark.kind for mark in entry.marks})
    return text + (f"  [look at it: {', '.join(kinds)}]" if kinds else "")


def _gauge(gauge: Gauge) -> str:
    if gauge.cap:
        return f"{gauge.used:,} of {gauge.cap:,} {gauge.unit}"
    return f"{gauge.used:,} {gauge.unit if gauge.used != 1 else gauge.unit[:-1]}"


def _index(part: ContextPart | None) -> dict[str, Any]:
    if part is None:
        return {"entries": [], "skipped": [], "totalBytes": 0, "totalTokens": 0, "block": ""}
    return {
        "entries": [
            {
                "path": entry.path,
                "scope": entry.scope.value if entry.scope is not None else None,
                "description": entry.description,
                "pinned": entry.pinned,
                "bytes": entry.bytes,
                "tokens": entry.tokens,
            }
            for entry in part.loaded
        ],
        **_around(part),
    }


def _hot_set(part: ContextPart | None) -> dict[str, Any]:
    if part is None:
        return {"items": [], "skipped": [], "totalBytes": 0, "totalTokens": 0, "block": ""}
    return {
        "items": [
            {
                "path": entry.path,
                "pinned": entry.pinned,
                "truncated": entry.state == "cut",
                "bytes": entry.bytes,
                "tokens": entry.tokens,
                "score": entry.score,
            }
            for entry in part.loaded
        ],
        **_around(part),
    }


def _around(part: ContextPart) -> dict[str, Any]:
    """What is told of a part beside its items."""
    return {
        "skipped": _skipped(part),
        "totalBytes": part.gauges[0].used,
        "totalTokens": part.gauges[1].used,
        "block": part.text,
    }


def _skipped(part: ContextPart) -> list[dict[str, Any]]:
    return [
        {"path": entry.path, "reason": reason(entry), "code": entry.reason, "score": entry.score}
        for entry in part.entries
        if entry.state == "out"
    ]


def _part(part: ContextPart) -> dict[str, Any]:
    return {
        "key": part.key,
        "title": PARTS[part.key],
        "gauges": [
            {"unit": gauge.unit, "used": gauge.used, "cap": gauge.cap or None} for gauge in part.gauges
        ],
        "cutLine": part.cut_line,
        "marked": list(part.marked),
        "notes": notes(part),
        "entries": [
            {
                "path": entry.path,
                "file": None if entry.file is None else str(entry.file),
                "state": entry.state,
                "reason": reason(entry),
                "code": entry.reason,
                "size": entry.size,
                "bytes": entry.bytes,
                "tokens": entry.tokens,
                "score": entry.score,
                "pinned": entry.pinned,
                "line": entry.line,
                "marks": [
                    {"kind": mark.kind, "line": mark.line, "sentence": mark.sentence} for mark in entry.marks
                ],
            }
            for entry in part.entries
        ],
        "text": part.text,
    }
