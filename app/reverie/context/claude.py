"""What Claude Code loads: its instruction files in their order, then the index of its auto memory up to the
cut line (formats/claude-code.md sections 4 and 7).

Pure. Memories themselves are loaded when they fit what is asked; of them only their lines in the index are
told at the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reverie.agents.base import Companion, Loading
from reverie.agents.claude.instruction_text import loaded_text
from reverie.agents.memory_index import INDEX, MOST_CHARS, MOST_LINES, Cut, cut_of, falls_off, links
from reverie.agents.scopes import Scope
from reverie.context.facts import ContextFacts, instructions_part, marked_lines, marks_in, with_record
from reverie.context.view import ContextEntry, ContextPart, ContextView, Gauge, Note, Reason, State
from reverie.memory.paths import memory_path
from reverie.text.summaries import estimate_tokens, utf16_length
from reverie.values import replace

_NOT_LOADED: Mapping[Loading, Reason] = {
    "on-demand": "on-demand",
    "approval": "approval",
    "elsewhere": "elsewhere",
    "replaced": "replaced",
    "excluded": "excluded",
    "too-large": "too-large",
    "unopened": "credential",
}


def assemble(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view; `drafts` are unsaved texts by memory path. The time does not matter to Claude Code."""
    parts = (*instructions_part(facts, _judge, told=loaded_text, between="\n\n"), *_index_part(facts, drafts))
    if facts.loads_nothing:
        parts = tuple(
            replace(part, notes=(*part.notes, "loads-nothing"), detail=facts.loads_nothing) for part in parts
        )
    return ContextView.of(facts.agent, at, with_record(parts, facts, drafts))


def _judge(companion: Companion, text: str) -> tuple[State, Reason]:
    if companion.loading in _NOT_LOADED:
        return "out", _NOT_LOADED[companion.loading]
    return ("in", "loaded") if text else ("out", "empty")


def _index_part(facts: ContextFacts, drafts: Mapping[str, str]) -> tuple[ContextPart, ...]:
    listing = facts.listings.get(Scope.PROJECT)
    if listing is None or listing.root is None:
        return ()
    path = str(memory_path(Scope.PROJECT, INDEX))
    text = facts.texts.get(path)
    said = drafts.get(path, "" if text is None or text.data is None else text.data.decode("utf-8", "replace"))
    cut = cut_of(said)
    notes: list[Note] = ["memory-off"] if facts.off and not facts.loads_nothing else []
    if facts.moved_by_project:
        notes.append("moved-by-project")
    if cut.line is not None:
        notes.append("cut-warning")
    there = (
        path in drafts or text is not None or any(file.rel == INDEX for file in facts.files(Scope.PROJECT))
    )
    entries = (*_of_index(path, said, cut, facts, there=there), *_of_topics(facts, said, cut))
    gauges = (
        Gauge("bytes", len(cut.loaded.encode("utf-8", "surrogatepass"))),
        Gauge("tokens", estimate_tokens(cut.loaded)),
        Gauge("lines", min(cut.lines, MOST_LINES), MOST_LINES),
        Gauge("chars", utf16_length(cut.loaded), MOST_CHARS),
    )
    marked = marked_lines([(1, marks_in(cut.loaded, facts.caps))])
    return (
        ContextPart("index-file", entries, gauges, cut.loaded, tuple(notes), facts.off, cut.line, marked),
    )


def _of_index(path: str, said: str, cut: Cut, facts: ContextFacts, *, there: bool) -> Iterator[ContextEntry]:
    """The index itself."""
    text = facts.texts.get(path)
    state: State
    reason: Reason
    if not there:
        # The agent makes one at the start of a session, with a line for each memory.
        made = any(file.rel != INDEX for file in facts.files(Scope.PROJECT)) and not facts.off
        state, reason = "out", "made-new" if made else "missing"
    elif text is not None and text.data is None:
        state, reason = "out", "unreadable"
    elif not said.strip():
        state, reason = "out", "empty"
    else:
        state, reason = ("in", "loaded") if cut.line is None else ("cut", "cut")
    loaded = cut.loaded if state != "out" else ""
    yield ContextEntry(
        path if there else INDEX,
        state,
        reason,
        size=len(said.encode("utf-8", "surrogatepass")),
        bytes=len(loaded.encode("utf-8", "surrogatepass")),
        tokens=estimate_tokens(loaded),
        scope=Scope.PROJECT if there else None,
        line=cut.line or 0,
        marks=marks_in(loaded, facts.caps),
        text=loaded,
    )


def _of_topics(facts: ContextFacts, said: str, cut: Cut) -> Iterator[ContextEntry]:
    """Each memory by its line: the first one that names it."""
    lines: dict[str, tuple[int, str]] = {}
    for link in links(said):
        if link.rel is not None:
            lines.setdefault(link.rel, (link.line, link.title))
    for file in facts.files(Scope.PROJECT):
        if file.rel == INDEX:
            continue
        line, title = lines.get(file.rel, (0, ""))
        state: State = "out"
        reason: Reason = "unlisted"
        if line:
            state, reason = ("out", "falls-off") if falls_off(cut, line) else ("in", "line")
        yield ContextEntry(
            str(memory_path(Scope.PROJECT, file.rel)),
            state,
            reason,
            size=file.size,
            scope=Scope.PROJECT,
            description=file.description or title,
            line=line,
        )
