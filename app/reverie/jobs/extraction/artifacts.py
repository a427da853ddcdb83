"""The files of one directory's memory that stage one makes: a trace per thread, and the index of the newest
(formats/codex.md section 2).

Pure: from what lies in `memory/` now to what shall lie there. A trace whose name gives no thread is nobody's
here and stays. Traces that the agent itself wrote count like Reverie's own: their header tells when.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from reverie.agents.codex.locations import thread_of_trace, trace_name
from reverie.agents.codex.prompt import SUMMARY

# Cutting text to bytes the way Codex does: the marker counts, no character is split (formats/codex.md
# section 2). Pure; `HeadTail` keeps only what it may show, however much it is fed.


TRACE_BYTES = 300_000
TRACE_MARKER = "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
SUMMARY_BYTES = 1_200
SUMMARY_MARKER = " [...summary truncated...]"
ROLLOUT_BYTES = 1_000_000
ROLLOUT_MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


def cut_trace(text: str) -> str:
    """At most 300,000 bytes: the first and the last half."""
    kept = HeadTail(TRACE_BYTES, TRACE_MARKER, head_share=2)
    kept.feed(text.encode("utf-8", "replace"))
    return kept.text()


def cut_summary(text: str) -> str:
    """At most 1,200 bytes, the beginning."""
    data = text.encode("utf-8", "replace")
    if len(data) <= SUMMARY_BYTES:
        return text
    return _head(data, SUMMARY_BYTES - len(SUMMARY_MARKER)) + SUMMARY_MARKER


class HeadTail:
    """The first part (one `head_share`-th) and the last of what it is fed, with `marker` between them where
    something was left out; at most `limit` bytes."""

    def __init__(self, limit: int, marker: str, *, head_share: int) -> None:
        self._limit = limit
        self._marker = marker
        room = limit - len(marker.encode())
        self._head_bytes = room // head_share
        self._tail_bytes = room - self._head_bytes
        self._whole = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def truncated(self) -> bool:
        return self.total > self._limit

    def feed(self, data: bytes) -> None:
        """Take in the next bytes; only head and tail are kept."""
        self.total += len(data)
        room = self._limit - len(self._whole)
        if room > 0:
            self._whole += data[:room]
        if self.truncated:
            if not self._tail:
                self._tail += self._whole
                data = data[max(room, 0) :]
            self._tail += data[-self._tail_bytes - 4 :]
            if len(self._tail) > 2 * self._limit:
                del self._tail[: -self._tail_bytes - 4]

    def skip(self, size: int) -> None:
        """So many bytes were left out before they came here; what follows fills the tail by itself."""
        self.total += size

    def text(self) -> str:
        """All of it, or head and tail with the marker between them."""
        if not self.truncated:
            return bytes(self._whole).decode("utf-8", "replace")
        return (
            _head(bytes(self._whole), self._head_bytes)
            + self._marker
            + _tail(bytes(self._tail[-self._tail_bytes :]))
        )


def _head(data: bytes, size: int) -> str:
    """The longest beginning of at most `size` bytes that splits no character."""
    size = min(size, len(data))
    while size and size < len(data) and data[size] & 0xC0 == 0x80:
        size -= 1
    return data[:size].decode("utf-8", "replace")


def _tail(data: bytes) -> str:
    """The longest end that begins with a whole character."""
    start = 0
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")


KEPT = 10
TRACES = "trace_summaries"
INDEX = SUMMARY
HANDBOOK = "MEMORY.md"
OLD_HANDBOOK = "consolidated.md"
SKILLS = "skills"
_LINE = re.compile(r"^- (?P<summary>.*) \(trace: `(?P<thread>[^`]+)`\)$")


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """The lines before a trace's text. `updated_at` UTC ms; None where it does not say."""

    thread_id: str
    cwd: str
    rollout_path: str
    updated_at: int | None = None


@dataclass(frozen=True, slots=True)
class NewTrace:
    """One thread's memory, ready to be written."""

    header: TraceHeader
    title: str
    trace: str
    summary: str

    @property
    def rel(self) -> str:
        return f"{TRACES}/{trace_name(self.header.thread_id, self.title)}"


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """One line of the index and where its trace lies."""

    thread_id: str
    rel: str
    updated_at: int
    summary: str


@dataclass(frozen=True, slots=True)
class Layout:
    """What shall lie in `memory/`: bytes by name, None for what goes. Only what differs. `kept`, newest
    first, are the lines of the index."""

    files: Mapping[str, bytes | None]
    kept: tuple[KeptTrace, ...]
    pruned: tuple[str, ...]


def laid_out(
    before: Mapping[str, bytes],
    new: Iterable[NewTrace],
    summaries: Mapping[str, str],
    pinned: frozenset[str] = frozenset(),
) -> Layout:
    """Add `new` to the directory, prune it to the ten newest threads, rebuild the index.

    `before`: every trace file and the index, by name below `memory/`. `summaries`: what is known of other
    threads' summaries; else the index as it stands tells, else the trace itself. What is `pinned` never goes.
    """
    files = {rel: data for rel, data in before.items() if rel.startswith(f"{TRACES}/")}
    known = {**_index_summaries(before.get(INDEX, b"")), **summaries}
    for trace in new:
        for rel in [rel for rel in files if _thread(rel) == trace.header.thread_id]:
            if rel not in pinned:
                del files[rel]
        files[trace.rel] = trace_bytes(trace)
        known[trace.header.thread_id] = trace.summary
    by_thread: dict[str, list[KeptTrace]] = {}
    for rel, data in files.items():
        if _thread(rel):
            kept = _kept(rel, data, known)
            by_thread.setdefault(kept.thread_id, []).append(kept)
    newest = [max(found, key=lambda each: (each.updated_at, each.rel)) for found in by_thread.values()]
    ordered = sorted(newest, key=lambda each: (-each.updated_at, each.thread_id))[:KEPT]
    stay = {kept.rel for kept in ordered}
    pruned = sorted(rel for rel in files if _thread(rel) and rel not in stay | pinned)
    after = {rel: data for rel, data in files.items() if rel not in pruned}
    after[INDEX] = index_text(ordered).encode()
    changes: dict[str, bytes | None] = {rel: data for rel, data in after.items() if before.get(rel) != data}
    gone = [rel for rel in before if rel not in after]
    return Layout({**changes, **dict.fromkeys(gone)}, tuple(ordered), tuple(pruned))


def trace_bytes(trace: NewTrace) -> bytes:
    """The file of one trace, exactly."""
    header = trace.header
    lines = [
        f"thread_id: {_one_line(header.thread_id)}",
        f"cwd: {_one_line(header.cwd)}",
        f"rollout_path: {_one_line(header.rollout_path)}",
    ]
    if header.updated_at is not None:
        lines.append(f"updated_at: {rfc3339(header.updated_at)}")
    return ("\n".join(lines) + f"\n\n{trace.trace.strip()}\n").encode("utf-8", "surrogateescape")


def index_text(kept: Iterable[KeptTrace]) -> str:
    """`memory_summary.md`, exactly."""
    lines = [f"- {each.summary} (trace: `{each.thread_id}`)" for each in kept]
    if not lines:
        return "# Memory Summary\n\nNo memory traces yet.\n"
    listed = "\n".join(lines)
    return f"# Memory Summary\n\nMap of concise summaries to trace IDs (latest first):\n\n{listed}\n"


def parse_header(data: bytes) -> TraceHeader:
    """The header of a trace file; what it does not say is empty."""
    head = data[:8192].decode("utf-8", "surrogateescape").partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return TraceHeader(
        found.get("thread_id", ""),
        found.get("cwd", ""),
        found.get("rollout_path", ""),
        parse_rfc3339(found.get("updated_at", "")),
    )


def body_of(data: bytes) -> str:
    """The text of a trace file without its header."""
    text = data.decode("utf-8", "replace")
    head, _blank, rest = text.partition("\n\n")
    return rest if head.startswith("thread_id:") else text


def rfc3339(ms: int) -> str:
    """UTC, whole seconds, with the offset spelt out."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def parse_rfc3339(text: str) -> int | None:
    """UTC ms; None for text without an offset, or that is no time."""
    try:
        found = datetime.fromisoformat(text)
        return int(found.timestamp() * 1000) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _thread(rel: str) -> str:
    return thread_of_trace(rel.removeprefix(f"{TRACES}/")) if rel.count("/") == 1 else ""


def _kept(rel: str, data: bytes, known: Mapping[str, str]) -> KeptTrace:
    thread_id = _thread(rel)
    summary = known.get(thread_id) or _first_line(data)
    return KeptTrace(thread_id, rel, parse_header(data).updated_at or 0, summary)


def _index_summaries(index: bytes) -> dict[str, str]:
    """The summaries in the index as it stands."""
    found = (_LINE.match(line) for line in index.decode("utf-8", "replace").splitlines())
    return {match["thread"]: match["summary"] for match in found if match}


def _first_line(data: bytes) -> str:
    lines = (line.strip("# \t\r") for line in body_of(data).splitlines())
    return cut_summary(next((" ".join(line.split()) for line in lines if line), "no summary"))


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
