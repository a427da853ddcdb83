"""The files that an agent loads beside its memories, in its own order, in full. Pure."""

from __future__ import annotations

from collections.abc import Callable

from reverie.context.facts import UNREAD, Facts
from reverie.context.marks import Marks, marked_lines, marks_in
from reverie.context.view import Entry, Gauge, Part, Reason, State
from reverie.homes.listing import Companion
from reverie.text.tokens import estimate_tokens

Judge = Callable[[Companion, str], tuple[State, Reason]]
"""Whether a companion with this text is loaded, and why."""


def loaded_always(_companion: Companion, text: str) -> tuple[State, Reason]:
    """Every file that says something is loaded."""
    return ("in", "loaded") if text.strip() else ("out", "empty")


def instructions_part(
    facts: Facts,
    judge: Judge = loaded_always,
    count: Callable[[str], int] = estimate_tokens,
    told: Callable[[str], str] = str,
    between: str = "\n",
) -> tuple[Part, ...]:
    """The companions that exist, one after another; no part without any. `told`: what of a text is loaded.
    `between`: what divides the texts where they are shown as one."""
    entries: list[Entry] = []
    texts: list[str] = []
    pieces: list[tuple[int, Marks]] = []
    line = 1
    for companion in facts.companions:
        if not companion.exists:
            continue
        if companion.unopened:
            _state, reason = judge(companion, "")
            entries.append(Entry(companion.label, "out", reason, file=companion.path, detail=companion.note))
            continue
        text = facts.texts.get(str(companion.path))
        if companion.loading in UNREAD:
            state, reason = judge(companion, "")
            entries.append(Entry(companion.label, state, reason, file=companion.path, detail=companion.note))
            continue
        if text is None or text.data is None:
            entries.append(Entry(companion.label, "out", "unreadable", file=companion.path))
            continue
        said = told(text.data.decode("utf-8", "replace"))
        state, reason = judge(companion, said)
        is_in = state != "out"
        entries.append(
            Entry(
                companion.label,
                state,
                reason,
                size=text.size,
                bytes=len(said.encode()) if is_in else 0,
                tokens=count(said) if is_in else 0,
                file=companion.path,
                description=str(companion.path),
                detail=companion.note,
                marks=text.findings,
                text=said if is_in else "",
            )
        )
        if is_in:
            texts.append(said)
            pieces.append((line, marks_in(said, facts.caps)))
            line += said.count("\n") + between.count("\n")
    if not entries:
        return ()
    used = sum(entry.bytes for entry in entries), sum(entry.tokens for entry in entries)
    gauges = (Gauge("bytes", used[0]), Gauge("tokens", used[1]), Gauge("files", len(texts)))
    whole, marked = between.join(texts), marked_lines(pieces)
    return (Part("instructions", tuple(entries), gauges, whole, ("one-after-another",), marked=marked),)
