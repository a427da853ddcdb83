"""The files of one directory's memory as the first generation of Codex lays them out.

Stage one makes a trace (a text) per thread and the index of the newest ones (formats/codex.md section 2). A
trace whose name contains no thread id is ignored and never deleted. Traces that the agent itself wrote are
treated like Reverie's own; their age is in their header. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from reverie.agents.codex.locations import thread_of_trace, trace_name
from reverie.agents.codex.store import SUMMARY
from reverie.agents.codex.transcript import timestamp_ms
from reverie.values import Struct

TRACE_BYTES = 300_000
TRACE_MARKER = "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
SUMMARY_BYTES = 1_200
SUMMARY_MARKER = " [...summary truncated...]"


def cut(text: str, limit: int, marker: str, head_share: int = 2) -> str:
    """Truncate a text to at most `limit` bytes: its beginning and its end, with `marker` between them.

    The result is the same as in Codex: the marker counts towards the limit, and no character is split. The
    beginning gets one `head_share`-th of the space.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    room = limit - len(marker.encode())
    head = room // head_share
    # Only the characters at the cut can be incomplete; they are left out.
    return data[:head].decode(errors="ignore") + marker + data[head - room :].decode(errors="ignore")


def cut_trace(text: str) -> str:
    """Truncate a trace to at most 300,000 bytes: beginning and end, half each, with a marker between them."""
    return cut(text, TRACE_BYTES, TRACE_MARKER)


def cut_summary(text: str) -> str:
    """Truncate a summary to at most 1,200 bytes: beginning and end, half each, with a marker between them."""
    return cut(text, SUMMARY_BYTES, SUMMARY_MARKER)


KEPT = 10
TRACES = "trace_summaries"
INDEX = SUMMARY
HANDBOOK = "MEMORY.md"
OLD_HANDBOOK = "consolidated.md"
SKILLS = "skills"
_LINE = re.compile(r"^- (?P<summary>.*) \(trace: `(?P<thread>[^`]+)`\)$")


class TraceHeader(Struct, frozen=True):
    """The header of a trace file, the text that Codex stores about a thread."""

    thread_id: str
    cwd: str
    rollout_path: str
    updated_at: int | None = None
    """The time of the last change in UTC ms; None if the header does not contain it."""


class NewTrace(Struct, frozen=True):
    """The text about one thread and its summary, ready to be written."""

    header: TraceHeader
    title: str
    trace: str
    summary: str

    @property
    def rel(self) -> str:
        """The path of the trace below `memory/`."""
        return f"{TRACES}/{trace_name(self.header.thread_id, self.title)}"


class KeptTrace(Struct, frozen=True):
    """One line of the index of traces, with the path of the trace file."""

    thread_id: str
    rel: str
    updated_at: int
    summary: str


class Layout(Struct, frozen=True):
    """The changes to the directory `memory/` that add new traces (texts about conversations)."""

    files: Mapping[str, bytes | None]
    """The new content of each file that changes, by name; None deletes the file."""
    kept: tuple[KeptTrace, ...]
    """The lines of the index, newest first."""
    pruned: tuple[str, ...]
    """The names of the traces that are deleted."""


def laid_out(
    before: Mapping[str, bytes],
    new: Iterable[NewTrace],
    summaries: Mapping[str, str],
    pinned: frozenset[str] = frozenset(),
) -> Layout:
    """Return the changes that add the traces `new` to a directory and rebuild its index.

    Only the ten newest threads are kept. `before` holds every trace file and the index, by name below
    `memory/`. `summaries` holds known summaries of other threads, by thread id; missing ones are read from
    the old index, else from the trace. Files in `pinned` are never deleted.
    """
    files = {rel: data for rel, data in before.items() if rel.startswith(f"{TRACES}/")}
    index = before.get(INDEX, b"").decode("utf-8", "replace").splitlines()
    known = {found["thread"]: found["summary"] for found in map(_LINE.match, index) if found} | dict(
        summaries
    )
    for trace in new:
        for rel in [rel for rel in files if _thread(rel) == trace.header.thread_id]:
            if rel not in pinned:
                del files[rel]
        files[trace.rel] = trace_bytes(trace)
        known[trace.header.thread_id] = trace.summary
    newest: dict[str, KeptTrace] = {}
    for rel, data in sorted(files.items()):
        if thread_id := _thread(rel):
            updated_at = parse_header(data).updated_at or 0
            if thread_id not in newest or newest[thread_id].updated_at <= updated_at:
                summary = known.get(thread_id) or _first_line(data)
                newest[thread_id] = KeptTrace(thread_id, rel, updated_at, summary)
    ordered = sorted(newest.values(), key=lambda each: (-each.updated_at, each.thread_id))[:KEPT]
    stay = {kept.rel for kept in ordered} | pinned
    pruned = sorted(rel for rel in files if _thread(rel) and rel not in stay)
    after = {rel: data for rel, data in files.items() if rel not in pruned}
    after[INDEX] = index_text(ordered).encode()
    changes: dict[str, bytes | None] = {rel: data for rel, data in after.items() if before.get(rel) != data}
    gone = [rel for rel in before if rel not in after]
    return Layout({**changes, **dict.fromkeys(gone)}, tuple(ordered), tuple(pruned))


def trace_bytes(trace: NewTrace) -> bytes:
    """Return the content of a trace file, byte for byte as the agent would write it."""
    header = trace.header
    lines = [
        f"thread_id: {_one_line(header.thread_id)}",
        f"cwd: {_one_line(header.cwd)}",
        f"rollout_path: {_one_line(header.rollout_path)}",
    ]
    if header.updated_at is not None:
        updated = datetime.fromtimestamp(header.updated_at // 1000, UTC)
        lines.append(f"updated_at: {updated:%Y-%m-%dT%H:%M:%S}+00:00")
    return ("\n".join(lines) + f"\n\n{trace.trace.strip()}\n").encode("utf-8", "surrogateescape")


def index_text(kept: Iterable[KeptTrace]) -> str:
    """Return the content of `memory_summary.md`, exactly as the agent would write it."""
    lines = [f"- {each.summary} (trace: `{each.thread_id}`)" for each in kept]
    if not lines:
        return "# Memory Summary\n\nNo memory traces yet.\n"
    listed = "\n".join(lines)
    return f"# Memory Summary\n\nMap of concise summaries to trace IDs (latest first):\n\n{listed}\n"


def parse_header(data: bytes) -> TraceHeader:
    """Parse the header of a trace file; missing fields are empty."""
    head = data[:8192].decode("utf-8", "surrogateescape").partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    thread_id, cwd, rollout_path = (found.get(name, "") for name in ("thread_id", "cwd", "rollout_path"))
    return TraceHeader(thread_id, cwd, rollout_path, timestamp_ms(found.get("updated_at")))


def is_phase_one(rel: str) -> bool:
    """Return True if phase one writes the file at the relative path `rel`: it is the index or a trace."""
    return rel == INDEX or rel.startswith(f"{TRACES}/")


def body_of(data: bytes) -> str:
    """Return the text of a trace file without its header."""
    text = data.decode("utf-8", "replace")
    head, _blank, rest = text.partition("\n\n")
    return rest if head.startswith("thread_id:") else text


def _thread(rel: str) -> str:
    return thread_of_trace(rel.removeprefix(f"{TRACES}/")) if rel.count("/") == 1 else ""


def _first_line(data: bytes) -> str:
    lines = (line.strip("# \t\r") for line in body_of(data).splitlines())
    return cut_summary(next((" ".join(line.split()) for line in lines if line), "no summary"))


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
