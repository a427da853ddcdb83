"""The context of mux: the index of its memories, the hot set and the files beside them.

The hot set consists of the pinned and most used memories, which are loaded in full. The index has one line
per memory, with the description escaped as the agent escapes it; the agent's own lines around it are not
shown (formats/mux.md sections 7 and 12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reverie.agents.scopes import Scope
from reverie.context.facts import SCOPES, ContextFacts, candidates
from reverie.context.instructions import instructions_part
from reverie.context.marks import Marks, marked_lines, marks_in, marks_in_line
from reverie.context.view import ContextEntry, ContextPart, ContextView, Gauge, Reason, State
from reverie.memory.front_matter import description
from reverie.memory.hot_set import (
    BUDGETS,
    HotItem,
    HotSet,
    Ranked,
    SkippedMemory,
    escaped,
    fill,
    first_lines,
    ranked,
    unused,
)
from reverie.memory.listing import IndexEntry, MemoryFile
from reverie.memory.paths import memory_path
from reverie.text.summaries import estimate_tokens
from reverie.values import replace


def mux_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """Return the files and texts that mux would load at the time `at` (UTC ms), by the parts of its prompt.

    `facts`: the files and settings that were read before. `drafts`: memory path -> unsaved text, which counts
    as if it were saved.
    """
    parts = (
        _hot_part(facts, hot_set(facts, at, drafts)),
        _mux_index(facts, drafts),
        *instructions_part(facts),
    )
    return ContextView.of(facts.agent, at, parts)


def hot_set(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> HotSet:
    """Return the hot set, the memories that mux loads in full, at the time `at` (UTC ms).

    `facts`: the files and settings that were read before. `drafts`: memory path -> unsaved text, which counts
    as if it were saved.
    """

    def ranking() -> tuple[list[Ranked], list[str]]:
        known = candidates(_index(facts))
        found = ranked(known, at)
        return found, unused(known, found)

    def read(path: str) -> bytes | None:
        if path in drafts:
            return drafts[path].encode("utf-8", "surrogatepass")[: BUDGETS.item_bytes + 1]
        text = facts.texts.get(path)
        return None if text is None else text.data

    return fill(*facts.cached(("ranking", at), ranking), read)


def index_line(entry: IndexEntry) -> str:
    """Return the line of the index for the memory `entry`, as the agent writes it."""
    suffix = f' — "{escaped(entry["description"])}"' if entry["description"] else ""
    return f"- {entry['path']}{suffix}"


def _index(facts: ContextFacts) -> list[IndexEntry]:
    return facts.cached("index", facts.index)


def _files(facts: ContextFacts) -> dict[str, MemoryFile]:
    def make() -> dict[str, MemoryFile]:
        return {str(memory_path(scope, file.rel)): file for scope in SCOPES for file in facts.files(scope)}

    return facts.cached("files", make)


def _hot_part(facts: ContextFacts, hot: HotSet) -> ContextPart:
    entries = [_hot_entry(facts, item) for item in hot.items]
    entries += _cold_entries(facts, hot.skipped)
    pieces = zip(first_lines(hot.items), (entry.marks for entry in entries), strict=False)
    return ContextPart(
        "hot-set",
        tuple(entries),
        (
            Gauge("bytes", hot.total_bytes, BUDGETS.total_bytes),
            Gauge("tokens", hot.total_tokens, BUDGETS.total_tokens),
            Gauge("items", len(hot.items), BUDGETS.items),
        ),
        hot.block,
        ("hot-set-experiment", "own-words"),
        marked=marked_lines(pieces),
    )


def _hot_entry(facts: ContextFacts, item: HotItem) -> ContextEntry:
    reason: Reason = "cut" if item.truncated else "pinned" if item.pinned else "used"
    state: State = "cut" if item.truncated else "in"
    entry = _mux_entry(facts, item.path, state, reason, item.score, pinned=item.pinned)
    return replace(entry, bytes=item.bytes, tokens=item.tokens, marks=marks_in(item.text, facts.caps))


def _cold_entries(facts: ContextFacts, skipped: Iterable[SkippedMemory]) -> Iterator[ContextEntry]:
    """Yield an entry for each memory in `skipped`, which is outside the hot set (not loaded in full).

    There may be thousands, most of them unchanged after a keystroke, so the entries are cached in `facts`.
    """
    known: dict[tuple[str, str, float], ContextEntry] = facts.cached("cold", dict)
    for each in skipped:
        key = each.path, each.reason, each.score
        entry = known.get(key)
        if entry is None:
            entry = _mux_entry(facts, each.path, "out", each.reason, each.score, pinned=each.pinned)
            known[key] = entry
        yield entry


def _mux_entry(
    facts: ContextFacts, path: str, state: State, reason: Reason, score: float, *, pinned: bool
) -> ContextEntry:
    file, text = _files(facts)[path], facts.texts.get(path)
    return ContextEntry(
        path,
        state,
        reason,
        size=file.size,
        score=score,
        pinned=pinned,
        pin_unknown=file.usage.unknown_to_agent,
        scope=_scope_of(path),
        description=file.description,
        marks=() if text is None else text.findings,
    )


def _mux_index(facts: ContextFacts, drafts: Mapping[str, str]) -> ContextPart:
    entries, lines, places = facts.cached("index rows", lambda: _index_rows(facts))
    for path in drafts:
        place = places.get(path)
        if place is not None:
            entries, lines = list(entries), list(lines)
            at, line_at = place
            entry = _with_draft(_index(facts)[line_at], drafts[path], facts)
            lines[line_at] = index_line(entry)
            entries[at] = _listed(entries[at], entry, facts)
    text = "\n".join(lines)
    return ContextPart(
        "index",
        tuple(entries),
        (
            Gauge("bytes", len(text.encode("utf-8", "surrogatepass"))),
            Gauge("tokens", estimate_tokens(text)),
            Gauge("files", len(lines)),
        ),
        text,
        ("index-lines",),
        marked=marked_lines((places[path][1] + 1, marks) for path, marks in _marked(entries)),
    )


def _marked(entries: Sequence[ContextEntry]) -> Iterator[tuple[str, Marks]]:
    """Yield the path and the marks (findings that need attention) of each entry that has marks."""
    return ((entry.path, entry.marks) for entry in entries if entry.marks)


_Rows = tuple[list[ContextEntry], list[str], dict[str, tuple[int, int]]]
"""The entries, the lines of the index, and the position of each listed memory in both by path."""


def _index_rows(facts: ContextFacts) -> _Rows:
    """Return the entries of all memories, the lines of the index, and path -> position in both lists.

    Only memories that the index lists have a line and positions.
    """
    index = _index(facts)
    line_of = {entry["path"]: place for place, entry in enumerate(index)}
    entries: list[ContextEntry] = []
    places: dict[str, tuple[int, int]] = {}
    for path, file in _files(facts).items():
        line_at = line_of.get(path)
        entry = ContextEntry(
            path,
            "out",
            "unseen",
            size=file.size,
            pinned=file.usage.pinned,
            pin_unknown=file.usage.unknown_to_agent,
            scope=_scope_of(path),
            description=file.description,
            detail=file.unseen_reason,
        )
        if line_at is not None:
            places[path] = len(entries), line_at
            entry = _listed(entry, index[line_at], facts)
        entries.append(entry)
    return entries, [index_line(entry) for entry in index], places


def _listed(entry: ContextEntry, found: IndexEntry, facts: ContextFacts) -> ContextEntry:
    line = index_line(found)
    return replace(
        entry,
        state="in",
        reason="listed",
        bytes=len(line.encode("utf-8", "surrogatepass")),
        tokens=estimate_tokens(line),
        description=found["description"],
        detail="",
        marks=marks_in_line(found["description"], facts.caps),
    )


def _with_draft(entry: IndexEntry, draft: str, facts: ContextFacts) -> IndexEntry:
    prefix = draft.encode("utf-8", "surrogatepass")[: facts.caps.description_prefix_bytes]
    changed = entry.copy()
    changed["description"] = description(prefix, facts.caps).text
    return changed


def _scope_of(path: str) -> Scope:
    return Scope(path.split("/", 3)[2])
