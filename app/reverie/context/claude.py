"""The context of Claude Code: its instruction files, then the index of its auto memory up to the cut line.

See formats/claude-code.md sections 4 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reverie.agents.base import Companion, Loading
from reverie.agents.claude.instruction_text import loaded_text
from reverie.agents.memory_index import (
    INDEX,
    MOST_CHARS,
    MOST_LINES,
    Cut,
    cut_of,
    falls_off,
    links,
    same_spelling,
)
from reverie.agents.scopes import Scope
from reverie.context.facts import ContextFacts
from reverie.context.instructions import instructions_part
from reverie.context.marks import marked_lines, marks_in
from reverie.context.recorded import with_record
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


def claude_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """Return the files and texts that a new session of Claude Code would load, by the parts of its prompt.

    `facts`: the files and settings that were read before. `at` (UTC ms) is only stored in the result, which
    does not depend on it otherwise. `drafts`: memory path -> unsaved text, which counts as if it were saved.
    """
    instructions = tuple(
        replace(part, entries=(*part.entries, *_failed_imports(facts)))
        for part in instructions_part(facts, _judge, text_of=loaded_text, between="\n\n")
    )
    parts = (*instructions, *_claude_index(facts, drafts))
    if facts.loads_nothing:
        parts = tuple(
            replace(part, notes=(*part.notes, "loads-nothing"), detail=facts.loads_nothing) for part in parts
        )
    return ContextView.of(facts.agent, at, with_record(parts, facts, drafts))


def _failed_imports(facts: ContextFacts) -> Iterator[ContextEntry]:
    """Yield an entry for each `@path` import in Claude Code's instruction files that loads no file."""
    for each in facts.failed_imports:
        yield ContextEntry(
            each.written, "out", "not-imported", description=each.label, detail=each.problem, line=each.line
        )


def _judge(companion: Companion, text: str) -> tuple[State, Reason]:
    if companion.loading in _NOT_LOADED:
        return "out", _NOT_LOADED[companion.loading]
    return ("in", "loaded") if text else ("out", "empty")


def _claude_index(facts: ContextFacts, drafts: Mapping[str, str]) -> tuple[ContextPart, ...]:
    listing = facts.listings.get(Scope.PROJECT)
    if listing is None or listing.root is None:
        return ()
    path = str(memory_path(Scope.PROJECT, INDEX))
    text = facts.texts.get(path)
    index_text = drafts.get(
        path, "" if text is None or text.data is None else text.data.decode("utf-8", "replace")
    )
    if facts.memory_outside and not facts.off:
        index_text = ""  # the agent loads the memory from another place
    cut = cut_of(index_text)
    notes: list[Note] = ["memory-off"] if facts.off and not facts.loads_nothing else []
    if facts.moved_by_project:
        notes.append("moved-by-project")
    if facts.memory_outside and not facts.off:
        notes.append("memory-outside")
    if cut.line is not None:
        notes.append("cut-warning")
    there = (
        path in drafts or text is not None or any(file.rel == INDEX for file in facts.files(Scope.PROJECT))
    )
    entries = (*_of_index(path, index_text, cut, facts, there=there), *_of_topics(facts, index_text, cut))
    gauges = (
        Gauge("bytes", len(cut.loaded.encode("utf-8", "surrogatepass"))),
        Gauge("tokens", estimate_tokens(cut.loaded)),
        Gauge("lines", min(cut.lines, MOST_LINES), MOST_LINES),
        Gauge("chars", utf16_length(cut.loaded), MOST_CHARS),
    )
    marked = marked_lines([(1, marks_in(cut.loaded, facts.caps))])
    detail = facts.off or facts.memory_outside
    return (ContextPart("index-file", entries, gauges, cut.loaded, tuple(notes), detail, cut.line, marked),)


def _of_index(
    path: str, index_text: str, cut: Cut, facts: ContextFacts, *, there: bool
) -> Iterator[ContextEntry]:
    """Yield a single entry, that of the index file.

    `path`: the memory path of the index; `index_text`: its text; `cut`: the part of that text that is loaded;
    `there`: whether the file exists or has an unsaved text.
    """
    text = facts.texts.get(path)
    state: State
    reason: Reason
    if facts.memory_outside and not facts.off:
        state, reason = "out", "moved-outside"
    elif not there:
        # The agent creates an index when a session starts, with a line for each memory.
        made = any(file.rel != INDEX for file in facts.files(Scope.PROJECT)) and not facts.off
        state, reason = "out", "made-new" if made else "missing"
    elif text is not None and text.data is None:
        state, reason = "out", "unreadable"
    elif not cut.loaded.strip():
        state, reason = "out", "empty"
    else:
        state, reason = ("in", "loaded") if cut.line is None else ("cut", "cut")
    loaded = cut.loaded if state != "out" else ""
    yield ContextEntry(
        path if there else INDEX,
        state,
        reason,
        size=len(index_text.encode("utf-8", "surrogatepass")),
        bytes=len(loaded.encode("utf-8", "surrogatepass")),
        tokens=estimate_tokens(loaded),
        scope=Scope.PROJECT if there else None,
        line=cut.line or 0,
        marks=marks_in(loaded, facts.caps),
        text=loaded,
    )


def _of_topics(facts: ContextFacts, index_text: str, cut: Cut) -> Iterator[ContextEntry]:
    """Yield an entry for each memory, with the number of the first line of the index that links to it.

    The number is 0 if no line does. `index_text`: the text of the index; `cut`: the part of that text that is
    loaded.
    """
    lines: dict[str, tuple[int, str]] = {}
    there = {file.rel for file in facts.files(Scope.PROJECT)}
    for link in links(index_text):
        if link.rel is not None:
            lines.setdefault(same_spelling(link.rel, there) or link.rel, (link.line, link.title))
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
