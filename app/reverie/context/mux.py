"""What mux loads: the index of its memories, the hot set, the files beside them (formats/mux.md 7 and 12).

Pure. The index is written one line a memory, path and description escaped as the agent escapes them; the
lines around it are the agent's own and are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from reverie.context.facts import SCOPES, Facts, candidates
from reverie.context.instructions import instructions_part
from reverie.context.view import ContextView, Entry, Gauge, Part, Reason
from reverie.homes.base import Scope
from reverie.memory.frontmatter import description
from reverie.memory.hotset import BUDGETS, HotItem, HotSet, Skipped, escaped, select
from reverie.memory.listing import IndexEntry
from reverie.memory.paths import memory_path
from reverie.memory.scope_listing import MemoryFile
from reverie.text.tokens import estimate_tokens


def assemble(facts: Facts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view at the time `at` (UTC ms); `drafts` are unsaved texts by memory path."""
    index = [_with_draft(entry, drafts, facts) for entry in facts.index()]
    parts = (
        _hot_part(facts, hot_set(facts, index, at, drafts)),
        _index_part(facts, index),
        *instructions_part(facts),
    )
    return ContextView(
        facts.agent,
        at,
        parts,
        sum(part.gauges[0].used for part in parts),
        sum(part.gauges[1].used for part in parts),
    )


def hot_set(facts: Facts, index: list[IndexEntry], at: int, drafts: Mapping[str, str]) -> HotSet:
    """The hot set of what was gathered."""

    def read(path: str) -> bytes | None:
        if path in drafts:
            return drafts[path].encode("utf-8", "surrogatepass")[: BUDGETS.item_bytes + 1]
        text = facts.texts.get(path)
        return None if text is None else text.data

    return select(candidates(index), read, at)


def index_text(index: list[IndexEntry]) -> str:
    """The lines of the index."""
    return "\n".join(
        f"- {escaped(entry['path'])}" + (f": {escaped(entry['description'])}" if entry["description"] else "")
        for entry in index
    )


def _with_draft(entry: IndexEntry, drafts: Mapping[str, str], facts: Facts) -> IndexEntry:
    if entry["path"] not in drafts:
        return entry
    prefix = drafts[entry["path"]].encode("utf-8", "surrogatepass")[: facts.caps.description_prefix_bytes]
    found = description(prefix, facts.caps).text
    changed = entry.copy()
    changed["description"] = found
    return changed


def _hot_part(facts: Facts, hot: HotSet) -> Part:
    files = _files(facts)
    entries = [*(_hot_entry(facts, files, item) for item in hot.items)]
    entries += [_cold_entry(facts, files, skipped) for skipped in hot.skipped]
    return Part(
        "hot-set",
        tuple(entries),
        (
            Gauge("bytes", hot.total_bytes, BUDGETS.total_bytes),
            Gauge("tokens", hot.total_tokens, BUDGETS.total_tokens),
            Gauge("items", len(hot.items), BUDGETS.items),
        ),
        hot.block,
        ("hot-set-experiment", "own-words"),
    )


def _hot_entry(facts: Facts, files: Mapping[str, MemoryFile], item: HotItem) -> Entry:
    reason: Reason = "cut" if item.truncated else "pinned" if item.pinned else "used"
    text = facts.texts.get(item.path)
    return Entry(
        item.path,
        "cut" if item.truncated else "in",
        reason,
        size=files[item.path].size,
        bytes=item.bytes,
        tokens=item.tokens,
        score=item.score,
        pinned=item.pinned,
        scope=_scope_of(item.path),
        description=files[item.path].description,
        marks=() if text is None else text.findings,
    )


def _cold_entry(facts: Facts, files: Mapping[str, MemoryFile], skipped: Skipped) -> Entry:
    text = facts.texts.get(skipped.path)
    return Entry(
        skipped.path,
        "out",
        skipped.reason,
        size=files[skipped.path].size,
        score=skipped.score,
        pinned=skipped.pinned,
        scope=_scope_of(skipped.path),
        description=files[skipped.path].description,
        marks=() if text is None else text.findings,
    )


def _index_part(facts: Facts, index: list[IndexEntry]) -> Part:
    text = index_text(index)
    listed = {entry["path"]: entry for entry in index}
    entries: list[Entry] = []
    for scope in SCOPES:
        for file in facts.files(scope):
            path = str(memory_path(scope, file.rel))
            found = listed.get(path)
            line = "" if found is None else index_text([found])
            entries.append(
                Entry(
                    path,
                    "out" if found is None else "in",
                    "unseen" if found is None else "listed",
                    size=file.size,
                    bytes=len(line.encode("utf-8", "surrogatepass")),
                    tokens=estimate_tokens(line),
                    pinned=file.usage.pinned,
                    scope=scope,
                    description=file.description if found is None else found["description"],
                    detail=file.unseen_reason if found is None else "",
                )
            )
    return Part(
        "index",
        tuple(entries),
        (
            Gauge("bytes", len(text.encode("utf-8", "surrogatepass"))),
            Gauge("tokens", estimate_tokens(text)),
            Gauge("files", len(index)),
        ),
        text,
        ("index-lines",),
    )


def _files(facts: Facts) -> dict[str, MemoryFile]:
    return {str(memory_path(scope, file.rel)): file for scope in SCOPES for file in facts.files(scope)}


def _scope_of(path: str) -> Scope:
    return Scope(path.split("/", 3)[2])
