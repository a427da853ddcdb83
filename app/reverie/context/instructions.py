"""The files that an agent loads in full beside its memories, in the agent's own order. Pure functions."""

from __future__ import annotations

from collections.abc import Callable

from reverie.agents.base import Companion
from reverie.context.facts import UNREAD, ContextFacts
from reverie.context.marks import Marks, marked_lines, marks_in
from reverie.context.view import ContextEntry, ContextPart, Gauge, Reason, State
from reverie.text.summaries import estimate_tokens

Judge = Callable[[Companion, str], tuple[State, Reason]]
"""A function that returns whether a companion with this text is loaded, and the reason."""


def loaded_always(_companion: Companion, text: str) -> tuple[State, Reason]:
    """Return ("in", "loaded") for any companion with text, and ("out", "empty") if `text` is blank.

    A companion is a file that the agent loads beside its memories. This is the judge for agents that load
    every such file.
    """
    return ("in", "loaded") if text.strip() else ("out", "empty")


def instructions_part(
    facts: ContextFacts,
    judge: Judge = loaded_always,
    count: Callable[[str], int] = estimate_tokens,
    text_of: Callable[[str], str] = str,
    between: str = "\n",
) -> tuple[ContextPart, ...]:
    """Return the part of the prompt with the companions: files that an agent loads beside its memories.

    The result is a tuple with this part, or empty if no companion exists. `judge` returns, for a companion
    and its text, whether it is loaded, and the reason. `count` returns the number of tokens of a text.
    `text_of` gets the text of a file and returns what the agent loads of it. `between` is put between the
    texts of two files.
    """
    entries: list[ContextEntry] = []
    texts: list[str] = []
    pieces: list[tuple[int, Marks]] = []
    line = 1
    for companion in facts.companions:
        if not companion.exists:
            continue
        if companion.unopened or companion.loading in UNREAD:
            state, reason = judge(companion, "")
            state = "out" if companion.unopened else state
            entries.append(
                ContextEntry(companion.label, state, reason, file=companion.path, detail=companion.note)
            )
            continue
        text = facts.texts.get(str(companion.path))
        if text is None or text.data is None:
            entries.append(ContextEntry(companion.label, "out", "unreadable", file=companion.path))
            continue
        loaded = text_of(text.data.decode("utf-8", "replace"))
        state, reason = judge(companion, loaded)
        is_in = state != "out"
        entries.append(
            ContextEntry(
                companion.label,
                state,
                reason,
                size=text.size,
                bytes=len(loaded.encode()) if is_in else 0,
                tokens=count(loaded) if is_in else 0,
                file=companion.path,
                description=str(companion.path),
                detail=companion.note,
                marks=text.findings,
                text=loaded if is_in else "",
            )
        )
        if is_in:
            texts.append(loaded)
            pieces.append((line, marks_in(loaded, facts.caps)))
            line += loaded.count("\n") + between.count("\n")
    if not entries:
        return ()
    used = sum(entry.bytes for entry in entries), sum(entry.tokens for entry in entries)
    gauges = (Gauge("bytes", used[0]), Gauge("tokens", used[1]), Gauge("files", len(texts)))
    whole, marked = between.join(texts), marked_lines(pieces)
    return (
        ContextPart("instructions", tuple(entries), gauges, whole, ("one-after-another",), marked=marked),
    )
