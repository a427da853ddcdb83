"""The context that a session of Claude Code loaded, beside the one that a new session would load.

The first comes from the session's transcript (formats/claude-code.md sections 12.1.4 and 12.1.14), the second
from Reverie's rules; each checks the other. A file is the same, changed since the record, or different
without a change that explains it. In recall mode the agent loads no index but chooses memories for each
prompt, and the index part says so. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from reverie.agents.claude.attachments import RECALL_BYTES, LoadedFile
from reverie.agents.memory_index import INDEX
from reverie.agents.scopes import Scope
from reverie.context.facts import ContextFacts, SessionRecord
from reverie.context.view import ContextEntry, ContextPart, Gauge, Note, Reason
from reverie.memory.paths import memory_path
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, replace


def with_record(
    parts: tuple[ContextPart, ...], facts: ContextFacts, drafted: Collection[str]
) -> tuple[ContextPart, ...]:
    """Return `parts`, what a new session would load, followed by a part with what an earlier session loaded.

    The last part is left out if nothing is recorded. If the project's sessions are in recall mode (they load
    no index and choose memories for each prompt), the index part says so. `facts`: the files and settings
    that were read before. `drafted`: the memory paths with unsaved text.
    """
    record = facts.record
    if record.recalls:
        parts = tuple(_recalling(part, facts) if part.key == "index-file" else part for part in parts)
    if record.at is None:
        return parts
    return (*parts, _recorded_part(record, record.at, parts, facts, drafted))


class _Predicted(Struct, frozen=True):
    """A file that a new session would load."""

    entry: ContextEntry
    text: str
    """The text of the file that would be loaded."""
    modified_ns: int
    """The modification time of the file in ns; 0 if it is unknown."""
    drafted: bool = False
    """Whether `text` is unsaved."""


def _recorded_part(
    record: SessionRecord,
    at: int,
    parts: tuple[ContextPart, ...],
    facts: ContextFacts,
    drafted: Collection[str],
) -> ContextPart:
    predicted = dict(_predicted(parts, facts, drafted))
    entries = []
    for each in record.files:
        other = predicted.pop(facts.real_path(each.path), None)
        reason = _verdict(each, other, record.modified.get(each.path), at)
        size = len(each.text.encode("utf-8", "surrogatepass"))
        entries.append(
            ContextEntry(
                other.entry.path if other is not None else each.path,
                "in",
                reason,
                size=size,
                bytes=size,
                tokens=estimate_tokens(each.text),
                file=Path(each.path),
                description=each.kind,
            )
        )
    for path, other in predicted.items():
        newer = other.drafted or other.modified_ns // 1_000_000 > at
        missed: Reason = "recorded-new" if newer else "recorded-missed"
        entries.append(ContextEntry(other.entry.path, "out", missed, size=other.entry.size, file=Path(path)))
    differ = sum(entry.reason in _DIFFERENCES for entry in entries)
    notes: list[Note] = ["recorded"]
    notes += ["session-runs"] if record.running else []
    notes.append("rules-differ" if differ else "rules-agree")
    gauges = (
        Gauge("bytes", sum(entry.bytes for entry in entries)),
        Gauge("tokens", sum(entry.tokens for entry in entries)),
        Gauge("files", len(record.files)),
    )
    text = "\n".join(each.text for each in record.files)
    return ContextPart("recorded", tuple(entries), gauges, text, tuple(notes), str(differ))


_DIFFERENCES: frozenset[Reason] = frozenset({"recorded-other", "recorded-only", "recorded-missed"})
"""Reasons for a difference that neither a change of the file nor its absence explains."""


def _verdict(each: LoadedFile, other: _Predicted | None, modified_ns: int | None, at: int) -> Reason:
    """Return how `each`, a file that an earlier session loaded, differs from what a new session would load.

    The result is a reason that begins with `recorded-`, such as `recorded-changed`. `other`: the file that a
    new session would load; None if it would not load it. `modified_ns`: the file's modification time; None if
    it no longer exists. `at`: when the earlier session loaded the file, in UTC ms.
    """
    if modified_ns is None and other is None:
        return "recorded-gone"
    changed = (modified_ns or 0) // 1_000_000 > at
    if other is None:
        return "recorded-changed" if changed else "recorded-only"
    # After a cut the agent adds a warning of its own.
    cut = other.entry.state == "cut" and each.text.startswith(other.text.rstrip("\r\n") + "\n")
    if other.text == each.text or cut:
        return "recorded-same"
    return "recorded-changed" if changed or other.drafted else "recorded-other"


def _predicted(
    parts: tuple[ContextPart, ...], facts: ContextFacts, drafted: Collection[str]
) -> Iterator[tuple[str, _Predicted]]:
    """Yield the path on disk and a `_Predicted` for every file that a new session would load at its start.

    `parts`: what a new session would load; `drafted`: the memory paths with unsaved text.
    """
    listing = facts.listings.get(Scope.PROJECT)
    index_path = str(memory_path(Scope.PROJECT, INDEX))
    for part in parts:
        for entry in part.loaded:
            if part.key == "instructions" and entry.file is not None:
                stamp = facts.texts[str(entry.file)].stamp
                yield facts.real_path(str(entry.file)), _Predicted(entry, entry.text, stamp[1])
            elif facts.off:
                continue  # the part shows what would be loaded with memory on
            elif part.key == "index-file" and entry.path == index_path and listing and listing.root:
                known = facts.texts.get(index_path)
                modified = 0 if known is None else known.stamp[1]
                path = facts.real_path(str(listing.root.directory / INDEX))
                yield path, _Predicted(entry, entry.text, modified, index_path in drafted)


def _memory_key(path: str, facts: ContextFacts) -> str:
    """Return a key for the memory at `path` (on disk) that stays the same if its home is moved."""
    _above, found, below = path.replace("\\", "/").rpartition("/projects/")
    return below if found else facts.real_path(path)


def _recalling(part: ContextPart, facts: ContextFacts) -> ContextPart:
    """Return `part`, the index, as it is in recall mode: nothing in it is loaded at the start of a session.

    In recall mode, the agent chooses (recalls) memories for each prompt. The entry of each memory has the
    number of times that the newest sessions recalled it.
    """
    listing = facts.listings.get(Scope.PROJECT)
    directory = listing.root.directory if listing is not None and listing.root is not None else None
    index = str(memory_path(Scope.PROJECT, INDEX))
    recalled = {_memory_key(path, facts): times for path, times in facts.record.recalled.items()}
    entries = []
    long = 0
    for entry in part.entries:
        if entry.path in (index, INDEX):
            reason: Reason = "missing" if entry.reason == "missing" else "recall-index"
            entries.append(replace(entry, state="out", reason=reason, bytes=0, tokens=0, text=""))
            continue
        rel = entry.path.removeprefix(f"{memory_path(Scope.PROJECT, '')}/")
        times = recalled.get(_memory_key(str(directory / rel), facts), 0) if directory is not None else 0
        is_long = entry.size > RECALL_BYTES
        long += is_long
        entries.append(
            replace(
                entry,
                state="out",
                reason="recall-long" if is_long else "recalled" if times else "on-demand",
                detail=str(times) if times else "",
            )
        )
    notes: tuple[Note, ...] = ("recall-mode", "recall-long") if long else ("recall-mode",)
    gauges = (Gauge("bytes", 0), Gauge("tokens", 0))
    kept = tuple(note for note in part.notes if note != "cut-warning")
    return replace(
        part, entries=tuple(entries), gauges=gauges, text="", notes=(*kept, *notes), cut_line=None, marked=()
    )
