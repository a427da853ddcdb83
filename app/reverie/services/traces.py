"""The traces of a home: what the agent's memory writer left in it, and what Reverie's own runs left in its
data directory.

A list is made of names first (`entries`), newest first; a line of it (`row`) reads one file within bounds, so
that a list of many large dumps begins at once. What was read is kept as long as the file is the same. A run
of Reverie that also left a dump in the home is one line: its own trace, which says more.

Looking only: nothing is written, in the home or elsewhere. Threading: blocks on disk; any thread but the
GUI's, one at a time per `TraceService`. Failure: `UserError`; a dump that cannot be read is a line that says
so, not an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import Transcripts, TranscriptSource
from reverie.agents.capabilities import AgentJob
from reverie.agents.transcripts import PagedTranscript
from reverie.errors import Ambiguous, StoreError, Unavailable, UserError
from reverie.files.paths import is_there
from reverie.files.sidecar import stringify
from reverie.jobs.writer.engine import Attempts, MemoryDraft, WriterTools, limits_until
from reverie.llm.client import cost_usd
from reverie.llm.loop import AgentEvent, run_agent
from reverie.llm.provider import UserMessage
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.trace_facts import (
    WRITER,
    Attempt,
    Call,
    RunEvidence,
    RunVerdict,
    Timeline,
    TraceFacts,
    facts_of,
    judge,
    timeline_of,
    words_of,
)
from reverie.llm.trace_reader import Dump, dump_of, read_dump
from reverie.llm.vault import Vault
from reverie.memory.diff import unified
from reverie.services.views import ConsentView

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.llm.provider import Provider
    from reverie.services.container import HomeContainer
    from reverie.services.models import Models


MOST_ENTRIES = 5_000
_NAME = re.compile(r"(?P<started>\d{1,16})(?P<rest>[-_].*)?\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One trace as its name tells. `stamp` changes when the file does."""

    id: str
    path: Path
    workspace_id: str
    started_at: int
    own: bool
    size: int
    stamp: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """One line of the list. `evidence` is a sentence; `place` points where it is."""

    id: str
    path: Path
    home: str
    workspace_id: str
    kind: str
    started_at: int
    verdict: str
    sentence: str
    evidence: str
    place: RunEvidence
    size: int
    own: bool
    # What only the document tells.
    workspace_name: str = ""
    project_path: str = ""
    """As the document names it; many do not."""
    duration_ms: int | None = None
    attempts: int = 0
    model: str = ""
    tokens: int = 0
    run_id: str = ""
    damage: str = ""

    def judged(self, dump: Dump, facts: TraceFacts, verdict: RunVerdict) -> TraceSummary:
        """The row with what its document says, and what came of it."""
        return replace(
            self,
            duration_ms=facts.duration_ms,
            verdict=verdict.name,
            sentence=verdict.sentence,
            evidence=verdict.evidence.sentence(),
            place=verdict.evidence,
            attempts=len(facts.attempts),
            model=facts.model,
            tokens=facts.input_tokens + facts.output_tokens,
            size=dump.size,
            damage=dump.damage,
        )

    def as_json(self) -> dict[str, Any]:
        """As `reverie traces` lists it."""
        return {
            "id": self.id,
            "path": str(self.path),
            "home": self.home,
            "workspaceId": self.workspace_id,
            "kind": self.kind,
            "startedAt": self.started_at,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "evidence": self.evidence,
            "evidenceAt": {
                "attempt": self.place.attempt,
                "step": self.place.step,
                "toolCallId": self.place.call,
            },
            "attempts": self.attempts,
            "model": self.model,
            "durationMs": self.duration_ms,
            "tokens": self.tokens,
            "bytes": self.size,
        }


@dataclass(frozen=True, slots=True)
class TraceDetail:
    """One trace in full, as far as the bounds of reading allow."""

    row: TraceSummary
    dump: Dump
    facts: TraceFacts
    timeline: Timeline


class TraceService:
    """The traces of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._known: dict[Path, tuple[tuple[int, int, int], TraceSummary]] = {}

    def entries(self) -> tuple[TraceEntry, ...]:
        """Every trace there is, newest first, read from directories alone."""
        found = list(self._own_entries())
        writer = self._parts.home.writer
        for workspace_id, directory in () if writer is None else writer.dump_places().directories:
            found += _files(directory, workspace_id, own=False)
        return tuple(
            sorted(found, key=lambda entry: (entry.started_at, entry.id), reverse=True)[:MOST_ENTRIES]
        )

    def row(self, entry: TraceEntry) -> TraceSummary:
        """The line of one trace."""
        known = self._known.get(entry.path)
        if known is not None and known[0] == entry.stamp:
            return known[1]
        try:
            row = self._row_of(entry, read_dump(entry.path, sketch=True))
        except UserError as error:
            row = self._unreadable(entry, error)
        self._known[entry.path] = (entry.stamp, row)
        return row

    def rows(self) -> Iterator[TraceSummary]:
        """The lines of the list, newest first, each read when it is asked for."""
        entries = self.entries()
        own_ids = {entry.id for entry in entries if entry.own}
        for entry in entries:
            row = self.row(entry)
            if entry.own or row.run_id not in own_ids:
                yield row
        for path in set(self._known) - {entry.path for entry in entries}:
            del self._known[path]

    def open(self, trace_id: str) -> TraceDetail:
        """One trace by its id (as listed, or the unique beginning of one), in full. Raises `StoreError` and
        `Ambiguous`."""
        return self.detail(self.find(trace_id))

    def detail(self, entry: TraceEntry) -> TraceDetail:
        """One trace in full. Raises `UserError` where it cannot be read."""
        dump = read_dump(entry.path)
        facts = facts_of(dump.document)
        return TraceDetail(self._row_of(entry, dump), dump, facts, timeline_of(facts))

    def find(self, trace_id: str) -> TraceEntry:
        """One trace by its id, the unambiguous beginning of it, or its path. Raises `StoreError`,
        `Ambiguous`."""
        entries = self.entries()
        exact = [entry for entry in entries if trace_id in (entry.id, str(entry.path))]
        found = exact or [entry for entry in entries if trace_id and entry.id.startswith(trace_id)]
        if not found:
            raise StoreError(
                f"There is no trace {trace_id}.",
                cause="It was pruned or removed, or it is of another home.",
                next_step="List the traces to find another.",
                reason="missing",
            )
        if len(found) > 1:
            raise Ambiguous(
                f"More than one trace is called {trace_id}.",
                choices=tuple(str(entry.path) if exact else entry.id for entry in found[:20]),
                next_step="Name one in full.",
            )
        return found[0]

    def _own_entries(self) -> Iterator[TraceEntry]:
        directory = self._parts.profile.traces(self._parts.home_id)
        return iter(_files(directory, "", own=True))

    def _row_of(self, entry: TraceEntry, dump: Dump) -> TraceSummary:
        facts = facts_of(dump.document)
        verdict = judge(facts, dump.damage, lost=dump.lost)
        row = self._bare(entry, verdict).judged(dump, facts, verdict)
        return replace(
            row,
            workspace_id=facts.workspace_id or entry.workspace_id,
            workspace_name=facts.workspace_name,
            project_path=facts.project_path,
            kind=facts.kind,
            started_at=facts.started_at if facts.started_at is not None else entry.started_at,
            run_id=facts.run_id,
        )

    def _unreadable(self, entry: TraceEntry, error: UserError) -> TraceSummary:
        verdict = RunVerdict("damaged", str(error), RunEvidence(quote=error.cause or error.title))
        return replace(self._bare(entry, verdict), damage=str(error))

    def _bare(self, entry: TraceEntry, verdict: RunVerdict) -> TraceSummary:
        """What is known of a trace without its document."""
        return TraceSummary(
            id=entry.id,
            path=entry.path,
            home=str(self._parts.home.root),
            workspace_id=entry.workspace_id,
            kind="writer" if not entry.own else "",
            started_at=entry.started_at,
            verdict=verdict.name,
            sentence=verdict.sentence,
            evidence=verdict.evidence.sentence(),
            place=verdict.evidence,
            size=entry.size,
            own=entry.own,
        )


def _files(directory: Path, workspace_id: str, *, own: bool) -> list[TraceEntry]:
    """The dumps of one directory; a directory that cannot be listed has none."""
    found: list[TraceEntry] = []
    with contextlib.suppress(OSError), os.scandir(directory) as files:
        for file in files:
            match = _NAME.fullmatch(file.name)
            if match is None or not file.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(FileNotFoundError):
                facts = file.stat(follow_symlinks=False)
                found.append(
                    TraceEntry(
                        id=file.name.removesuffix(".json"),
                        path=directory / file.name,
                        workspace_id=workspace_id,
                        started_at=int(match["started"]),
                        own=own,
                        size=facts.st_size,
                        stamp=(facts.st_size, facts.st_mtime_ns, facts.st_ino),
                    )
                )
    return found


# Traces as text: the memory before, what was tried with it, a comparison, the answers of a model. Texts
# come from a model and a dump: data, bounded, shown as plain text. Pure.


_MOST_CHARS = 200_000
_VALUE_CHARS = 20_000


def tried_diff(facts: TraceFacts) -> str:
    """The existing memory against what the run tried to make of it, as a unified diff. A write that does not
    fit the memory stands by itself, with the reason. Empty: nothing was tried."""
    if facts.kind != WRITER:
        return "".join(_call_diff(call) for call in _tried(facts))
    before, label = facts.existing_memory, facts.memory_path or "memory"
    after, misfits = before, []
    for call in _tried(facts):
        old, new = _strings(call)
        fits = old in after if old else not after.strip()
        if fits:
            after = after.replace(old, new, 1) if old else new
        else:
            misfits.append(_misfit(call, old, new))
    return _diff(before, after, label) + "".join(misfits)


def answer_text(attempt: Attempt) -> str:
    """What a model said and called in an attempt, in order."""
    return "\n\n".join(part for step in attempt.steps for part in _step_parts(step.text, step.calls))


def trace_text(facts: TraceFacts) -> str:
    """All of a trace that two of them are compared by: prompt, memory, messages, answers."""
    return "\n".join(_sections(facts))[:_MOST_CHARS]


def trace_diff(one: TraceFacts, other: TraceFacts) -> str:
    """What differs between two traces, as a unified diff."""
    return _diff(trace_text(one), trace_text(other), "trace")


def call_text(call: Call) -> str:
    """One tool call in full."""
    lines = [f"{call.name or '?'} {call.id}".strip(), "", "input:", pretty(call.input)]
    if call.ran:
        lines += ["", "output:", pretty(call.output)]
    else:
        lines += ["", "It was not run."]
    if call.problem:
        lines += ["", f"problem: {call.problem}"]
    return "\n".join(lines)


def pretty(value: Any) -> str:
    """A value as indented JSON, a text as it is, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}… [{len(text):,} characters in all]"


def _sections(facts: TraceFacts) -> Iterator[str]:
    yield f"model: {facts.model}"
    yield f"system prompt:\n{facts.system_prompt}\n"
    yield f"existing memory:\n{facts.existing_memory}\n"
    for attempt in facts.attempts:
        for message in attempt.messages:
            yield f"attempt {attempt.index}, {message.role}:\n{message.text}\n"
        yield f"attempt {attempt.index}, answers:\n{answer_text(attempt)}\n"
        if attempt.error:
            yield f"attempt {attempt.index}, error: {attempt.error}\n"


def _step_parts(text: str, calls: tuple[Call, ...]) -> Iterator[str]:
    if text.strip():
        yield text
    for call in calls:
        came = call.problem or (words_of(call.output) if call.ran else "was not run")
        yield f"{call.name} {pretty(call.input)}\n→ {came[:_VALUE_CHARS]}"


def _tried(facts: TraceFacts) -> list[Call]:
    names = ("memory_write", "memory")
    return [call for attempt in facts.attempts for call in attempt.calls if call.name in names]


def _strings(call: Call) -> tuple[str, str]:
    given: Mapping[str, Any] = call.input if isinstance(call.input, Mapping) else {}
    return str(given.get("old_string") or ""), str(given.get("new_string") or "")


def _misfit(call: Call, old: str, new: str) -> str:
    why = call.problem or "It does not fit the memory."
    if not old and not new:
        return f"@@ attempt {call.attempt}: {why} @@\n {' '.join(words_of(call.input).split())[:400]}\n"
    body = _diff(f"{old}\n" if old else "", f"{new}\n", "x").split("@@\n", 1)[-1]
    return f"@@ attempt {call.attempt}, not applied: {' '.join(why.split())} @@\n{body}"


def _call_diff(call: Call) -> str:
    """One memory command of a dream, as what it would have changed."""
    given: Mapping[str, Any] = call.input if isinstance(call.input, Mapping) else {}
    command, path = str(given.get("command") or ""), str(given.get("path") or given.get("old_path") or "")
    texts = [
        str(given.get(one) or given.get(two) or "")
        for one, two in (("old_str", "old_string"), ("new_str", "new_string"))
    ]
    old, new = texts[0], texts[1] or str(given.get("file_text") or given.get("insert_text") or "")
    if command in ("view", ""):
        return ""
    failed = f", failed: {' '.join(call.problem.split())}" if call.problem else ""
    body = _diff(f"{old}\n" if old else "", f"{new}\n" if new else "", "x")
    lines = body.split("@@\n", 1)[-1] if body else ""
    return f"@@ {command} {path}{failed} @@\n{lines}"


def _diff(before: str, after: str, label: str) -> str:
    return unified(before.encode("utf-8", "replace"), after.encode("utf-8", "replace"), label.lstrip("/"))


# Replay: the prompt of a memory writer sent again, to another model or in other words, on a copy of the
# memory in the trace. Nothing of a home is read or written, no schedule advances, and no trace is kept. The
# tools and the vault are the writer's own; nothing is sent without consent.


TIME_LIMIT_S = 60.0
_MEMORY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What is to be asked, of whom (`provider:model`)."""

    engine: str
    system: str
    user: str
    time_limit_s: float = TIME_LIMIT_S


def why_no_replay(facts: TraceFacts, *, shortened: bool = False) -> str:
    """Why a trace cannot be replayed; empty if it can."""
    if facts.kind != WRITER:
        return "Only runs of the memory writer are replayed; a consolidation has its own preview."
    if not facts.user_message:
        return "The trace does not hold what was asked."
    if shortened and facts.user_message.endswith("bytes in all]"):
        return "What was asked is too long to be asked again."
    return ""


class Replays:
    """Replays with the models of one home."""

    def __init__(self, models: Models, clock: Clock) -> None:
        self._models = models
        self._clock = clock

    def consent_needed(self, detail: TraceDetail, request: ReplayRequest) -> ConsentView | None:
        """What would leave this machine, if nobody has agreed to this destination yet. Raises
        `UserError` for a model that cannot be asked."""
        try:
            self._models.require_consent(request.engine)
        except StoreError as error:
            if error.reason != "consent":
                raise
        else:
            return None

        vault = Vault()
        for text in (request.system, request.user, detail.facts.existing_memory):
            vault.learn(text)
        destination = self._models.provider(request.engine).destination
        return ConsentView(destination, (str(detail.row.path),), vault.secrets_hidden)

    def run(
        self,
        detail: TraceDetail,
        request: ReplayRequest,
        *,
        cancel: threading.Event,
        progress: Callable[[str], None] = lambda _step: None,
    ) -> TraceDetail:
        """Ask again; the new trace. Raises `UserError` where it cannot begin."""
        problem = why_no_replay(detail.facts, shortened=detail.dump.shortened)
        if problem:
            raise StoreError(
                "This trace cannot be replayed.", cause=problem, next_step="Choose another trace."
            )
        self._models.require_consent(request.engine)
        provider = self._models.provider(request.engine)
        data = asyncio.run(_asked(provider, detail.facts, request, self._clock, cancel, progress))
        dump = dump_of(data)
        facts = facts_of(dump.document)
        row = detail.row.judged(dump, facts, judge(facts))
        row = replace(row, kind="replay", started_at=facts.started_at or 0, run_id="", damage="")
        return TraceDetail(row, dump, facts, timeline_of(facts))


async def _asked(
    provider: Provider,
    facts: TraceFacts,
    request: ReplayRequest,
    clock: Clock,
    cancel: threading.Event,
    progress: Callable[[str], None],
) -> bytes:
    """The writer's own two attempts on a copy of the memory; the trace as a document."""

    memory = facts.existing_memory.encode("utf-8", "replace")
    draft = MemoryDraft(lambda: memory, max_bytes=_MEMORY_BYTES)
    tools = WriterTools(draft, facts.memory_path or facts.workspace_name)
    vault = Vault()
    vault.learn(facts.existing_memory)
    trace = Trace(vault.scrub, clock=clock)

    def on_event(event: AgentEvent) -> None:
        if event.kind in ("turn", "tool", "retry"):
            progress(event.tool or event.text or f"answer {event.step}")

    try:
        result = await run_agent(
            provider,
            system=request.system,
            messages=[UserMessage(request.user)],
            tools=tools.tools(),
            limits=limits_until(time.monotonic() + request.time_limit_s),
            vault=vault,
            cancelled=cancel.is_set,
            observer=on_event,
            follow_up=Attempts(tools).follow_up,
            trace=trace,
        )
    finally:
        await provider.close()
    head = TraceHead(
        run_id="",
        kind=WRITER,
        workspace_id=facts.workspace_id,
        workspace_name=facts.workspace_name,
        trigger_message_id=facts.trigger_message_id,
        timeout_ms=round(request.time_limit_s * 1000),
        existing_memory=vault.hide(facts.existing_memory),
        cost_usd=None if result.usage is None else cost_usd(request.engine, result.usage),
    )
    return stringify(trace.to_document(head))


# Transcripts: listed without opening any; a title that only the beginning tells is read on demand.


class TranscriptService:
    """The transcripts of one home, and the books its agent keeps of jobs over them."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        """Those of one project, or all; newest first."""
        transcripts = self._parts.home.transcripts
        return () if transcripts is None else transcripts.sources(project_path)

    def described(self, source: TranscriptSource) -> TranscriptSource:
        """With title, project and state, if need be from its beginning; as it was where nothing tells."""
        try:
            return self._transcripts.described_source(source)
        except (UserError, OSError):
            return source

    def open(self, source: TranscriptSource) -> PagedTranscript:
        """To read page by page; opening reads nothing yet."""
        return PagedTranscript(self._transcripts.open_source(source), source.path)

    @property
    def _transcripts(self) -> Transcripts:
        transcripts = self._parts.home.transcripts
        if transcripts is None:
            raise Unavailable("This agent keeps no transcripts.")
        return transcripts

    def of_workspace(self, workspace_id: str) -> TranscriptSource | None:
        """The transcript of a workspace, listed or not; None: it has none. Raises `Unavailable`."""
        for source in self.sources():
            if source.id == workspace_id:
                return source
        sessions = self._parts.home.sessions
        place = None if sessions is None else sessions.session_place(workspace_id)
        if place is None or not any(is_there(place.directory / name) for name in place.files):
            return None
        return TranscriptSource(workspace_id, "session", place.directory)

    def jobs(self) -> tuple[AgentJob, ...]:
        """The agent's own books of background jobs, newest first."""
        jobs = self._parts.home.jobs
        return () if jobs is None else jobs.agent_jobs()
