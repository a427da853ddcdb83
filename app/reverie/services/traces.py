"""The traces of a home: dumps of the agent's memory writer, and traces of Reverie's own runs.

The dumps are in the home, the traces in Reverie's data directory. The list is first made from file names
alone (`entries`), newest first; each row (`row`) then reads a limited part of one file, so that even a list
of many large dumps appears at once. What was read is cached until the file changes. A run of Reverie that
also left a dump in the home is one row: its own trace, which has more detail.

A trace is shown as a value of limited size (`TraceDetail`). The document itself may be of any size; it stays
in this process, and its parts are read on request.

Nothing is written in the home. Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; a
dump that cannot be read is a row with the reason, not an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import Transcripts, TranscriptSource
from reverie.agents.capabilities import AgentJob
from reverie.agents.transcript_pages import (
    PAGE_CHARS,
    PAGE_MESSAGES,
    Page,
    PagedTranscript,
    Stamp,
    is_prompt,
    says,
)
from reverie.errors import Ambiguous, StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.directory import is_there
from reverie.files.sidecar import stringify
from reverie.jobs.single_file.writer import MemoryDraft, ModelWriter
from reverie.llm.json_document import (
    DocumentHit,
    DocumentPage,
    Excerpt,
    JsonNode,
    JsonSource,
    page_of,
    places_of,
    value_of,
)
from reverie.llm.loop import AgentEvent, run_agent
from reverie.llm.prices import cost_usd
from reverie.llm.provider import UserMessage
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.trace_facts import WRITER, Attempt, Call, TraceFacts, facts_of, words_of
from reverie.llm.trace_reader import Dump, dump_of, read_dump
from reverie.llm.trace_timeline import Timeline, timeline_of
from reverie.llm.trace_verdict import RunEvidence, RunVerdict, judge
from reverie.llm.vault import Vault
from reverie.memory.diff import WordSpans, unified, word_spans
from reverie.memory.listing import no_check
from reverie.memory.nearest_lines import nearest_lines
from reverie.services.views import ConsentView, ReplayRequest
from reverie.text.summaries import NOTHING, Phrase, plain
from reverie.values import Struct, columns, field, replace

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.llm.provider import Provider
    from reverie.services.container import HomeContainer
    from reverie.services.models import Models


MOST_ENTRIES = 5_000
MOST_EVENTS = 80
"""The maximum number of messages of the conversation that are shown with a trace."""
_REPORT_S = 0.1
_KEPT_DOCUMENTS = 4
_NAME = re.compile(r"(?P<started>\d{1,16})(?P<rest>[-_].*)?\.json", re.ASCII)
_TEXTS = ("systemPrompt", "globalAgentsMd", "contextAgentsMd", "existingMemory")

FileStamp = tuple[int, int, int]


class TraceSummary(Struct, frozen=True):
    """One row of the list of traces.

    A trace is the recorded conversation of a run with its model. The fields with a default are known only
    once the file was read.
    """

    id: str
    path: Path
    home: str
    workspace_id: str
    kind: str
    started_at: int
    """The start of the run (UTC ms)."""
    size: int
    """The size of the file in bytes."""
    own: bool
    """True if it is the trace of a run of Reverie, False for a dump by the agent."""
    stamp: FileStamp
    """A value that changes whenever the file does."""
    verdict: str = ""
    """The result of the run as an identifier, such as `wrote`."""
    sentence: Phrase = NOTHING
    """The same result as a sentence for people."""
    evidence: Phrase = NOTHING
    """The evidence for the verdict, as a sentence."""
    place: RunEvidence = field(default_factory=RunEvidence)
    """The place of the evidence in the trace."""
    workspace_name: str = ""
    project_path: str = ""
    """The project path that the document names; often empty."""
    duration_ms: int | None = None
    """The duration of the run; None if unknown."""
    attempts: int = 0
    model: str = ""
    tokens: int = 0
    run_id: str = ""
    damage: str = ""
    """The reason why the file can be read only in part or not at all; empty if it can."""

    def judged(self, verdict: RunVerdict) -> TraceSummary:
        """Return this row with the verdict on the run."""
        return replace(
            self,
            verdict=verdict.name,
            sentence=verdict.sentence,
            evidence=verdict.evidence.sentence(),
            place=verdict.evidence,
        )

    def read(self, dump: Dump, facts: TraceFacts, verdict: RunVerdict) -> TraceSummary:
        """Return this row with the verdict on the run, and the facts of the trace's document.

        `dump`: the file that was read, which provides size and damage.
        """
        return replace(
            self.judged(verdict),
            duration_ms=facts.duration_ms,
            attempts=len(facts.attempts),
            model=facts.model,
            tokens=facts.input_tokens + facts.output_tokens,
            size=dump.size,
            damage=dump.damage,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the row as `reverie traces` prints it."""
        return {
            "id": self.id,
            "path": str(self.path),
            **columns(self, "home workspace_id kind started_at verdict sentence evidence"),
            "evidenceAt": columns(self, "attempt=place.attempt step=place.step toolCallId=place.call"),
            **columns(self, "attempts model duration_ms tokens bytes=size"),
        }


class TraceEvent(Struct, frozen=True):
    """One message of the conversation that a run has read."""

    role: str
    """The author, such as `user` or `assistant`; "?" if unknown."""
    number: str
    """The number of the message in the conversation; empty if unknown."""
    text: str
    """The text, followed by one line for each tool call: the tool's name and its input as JSON."""


class MissedEdit(Struct, frozen=True):
    """A write by the model that could not be applied, because it did not fit the memory."""

    attempt: int
    """The number of the attempt, from 1."""
    tool: str
    problem: str
    """The error in the tool's reply; empty if there is none."""
    wanted: str
    """The text that the write should have replaced; empty if there is none."""
    found: str
    """The lines of the memory that are most similar to `wanted`."""
    new: str
    """The text that the write would have put into the memory."""
    wanted_marks: WordSpans = ()
    """The spans of words in `wanted`, by line, that `found` lacks."""
    found_marks: WordSpans = ()
    """The spans of words in `found`, by line, that `wanted` lacks."""


class TraceDetail(Struct, frozen=True):
    """The content of one trace for display, within the size limits of reading."""

    row: TraceSummary
    facts: TraceFacts
    """The facts; the input and output of tools are converted to text and truncated if long."""
    timeline: Timeline
    answers: tuple[str, ...]
    """The texts and tool calls of the model, one entry for each attempt."""
    texts: Mapping[str, str]
    """The texts that the model was given, by their names in the document."""
    events: tuple[TraceEvent, ...]
    """The first `MOST_EVENTS` messages of the conversation around the run."""
    event_count: int
    """The number of all messages of the conversation around the run."""
    tried: str
    """A diff of the changes that the run's writes make (`tried_diff`); empty if there are none."""
    missed: tuple[MissedEdit, ...]
    """The writes that do not fit the memory in the trace."""
    no_replay: str
    """The reason why the run cannot be replayed; empty if it can."""
    shortened: bool
    """Whether long texts are truncated here; the document has them in full."""
    root: JsonNode | None
    """The root of the whole document, whose parts can be requested; None if it could not be read."""


class TraceService:
    """The service that lists and reads the traces of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._known: dict[Path, tuple[FileStamp, TraceSummary]] = {}
        self._documents: OrderedDict[str, tuple[JsonSource, JsonNode | None]] = OrderedDict()
        self._lock = threading.Lock()

    def entries(self) -> tuple[TraceSummary, ...]:
        """Return a row for each trace, newest first, from directory listings alone: without a verdict."""
        home, own = self._parts.home, self._parts.profile.traces(self._parts.home_id)
        found = _files(own, str(home.root), "", own=True)
        for workspace_id, directory in () if home.writer is None else home.writer.dump_places().directories:
            found += _files(directory, str(home.root), workspace_id, own=False)
        return tuple(
            sorted(found, key=lambda entry: (entry.started_at, entry.id), reverse=True)[:MOST_ENTRIES]
        )

    def row(self, entry: TraceSummary) -> TraceSummary:
        """Return the whole row for one of `entries`; the trace's file is read again only if it changed."""
        known = self._known.get(entry.path)
        if known is not None and known[0] == entry.stamp:
            return known[1]
        try:
            row, _dump, _facts = _read(entry, sketch=True)
        except UserError as error:
            evidence = RunEvidence(quote=plain(error.cause or error.title))
            row = entry.judged(RunVerdict("damaged", plain(str(error)), evidence))
            row = replace(row, damage=str(error))
        self._known[entry.path] = (entry.stamp, row)
        return row

    def rows(
        self,
        *,
        progress: Callable[[tuple[TraceSummary, ...]], None] = lambda _rows: None,
        check: Callable[[], None] = no_check,
    ) -> tuple[TraceSummary, ...]:
        """Return the rows of the list of traces, newest first.

        `progress` is called with the rows that were read since its last call. `check` is called repeatedly
        and may raise to stop.
        """
        entries = self.entries()
        own_ids = {entry.id for entry in entries if entry.own}
        rows: list[TraceSummary] = []
        reported, reported_at = 0, 0.0
        for entry in entries:
            check()
            row = self.row(entry)
            if entry.own or row.run_id not in own_ids:
                rows.append(row)
            if time.monotonic() - reported_at > _REPORT_S:
                progress(tuple(rows[reported:]))
                reported, reported_at = len(rows), time.monotonic()
        listed = {entry.path for entry in entries}
        for path in tuple(self._known):
            if path not in listed:
                self._known.pop(path, None)
        return tuple(rows)

    def open(self, trace_id: str) -> TraceDetail:
        """Read one trace in full.

        `trace_id`: the id of its row, or a unique prefix of it. Raises `StoreError` if there is no such
        trace, `Ambiguous` if there are several, and `UserError` if the trace cannot be read.
        """
        entry = self.find(trace_id)
        row, dump, facts = _read(entry)
        self._keep(entry, dump)
        return _detail(row, dump, facts)

    def document(self, trace_id: str) -> Mapping[str, Any]:
        """Return the content of a trace, with long texts truncated. Raises as `open` does."""
        return _read(self.find(trace_id))[1].document

    def text(self, trace_id: str) -> str:
        """Return the parts of a trace by which traces are compared, as one text (`trace_text`).

        Raises as `open` does.
        """
        return trace_text(_read(self.find(trace_id))[2])

    def difference(self, trace_id: str, other: str) -> str:
        """Return a diff from the text of the trace `trace_id` to the text `other`; raises as `open` does.

        `other`: the text of another trace (`text`), which may be from another home.
        """
        return _diff(self.text(trace_id), other, "trace")

    def export(self, trace_id: str, target: Path) -> None:
        """Copy the document of a trace, byte for byte, to a file that a person chose."""
        source = self.find(trace_id).path
        try:
            shutil.copyfile(source, target)
        except OSError as error:
            raise user_error_from_os(error, f"The trace could not be exported to {target}.") from error

    def document_page(self, trace_id: str, node: JsonNode, skip: int) -> DocumentPage:
        """Return a page of the members of `node`, a part of a trace's document.

        `skip`: the number of members before the page. Raises `UserError`.
        """
        with _reading():
            return page_of(self._document(trace_id)[0], node, skip)

    def document_value(self, trace_id: str, node: JsonNode) -> Excerpt:
        """Return the value `node` of a trace's document as text for reading and copying.

        Raises `UserError`.
        """
        with _reading():
            return value_of(self._document(trace_id)[0], node)

    def search_document(
        self, trace_id: str, needle: str, *, check: Callable[[], None] = no_check
    ) -> tuple[DocumentHit, ...]:
        """Return the names and values in a trace's document that contain `needle`. Raises `UserError`.

        `check` is called repeatedly and may raise to stop.
        """
        with _reading():
            source, root = self._document(trace_id)
            return () if root is None else places_of(source, root, needle, check)

    def _document(self, trace_id: str) -> tuple[JsonSource, JsonNode | None]:
        with self._lock:
            kept = self._documents.get(trace_id)
        if kept is not None:
            return kept
        entry = self.find(trace_id)
        return self._keep(entry, read_dump(entry.path))

    def _keep(self, entry: TraceSummary, dump: Dump) -> tuple[JsonSource, JsonNode | None]:
        """Open the document of the trace `entry` and cache it, because its parts are usually requested next.

        Returns its source and its root; the root is None if nothing could be read. Only the last few
        documents are cached, because a damaged document is held in memory as a whole.
        """
        with self._lock:
            self._documents[str(entry.path)] = kept = (dump.source, dump.root)
            self._documents.move_to_end(str(entry.path))
            while len(self._documents) > _KEPT_DOCUMENTS:
                self._documents.popitem(last=False)
        return kept

    def find(self, trace_id: str) -> TraceSummary:
        """Return the row of a trace among `entries`.

        `trace_id`: its id, a unique prefix of it, or the path of its file. Raises `StoreError` if there is no
        such trace, `Ambiguous` if there are several.
        """
        entries = self.entries()
        exact = [entry for entry in entries if trace_id in (entry.id, str(entry.path))]
        found = exact or [entry for entry in entries if trace_id and entry.id.startswith(trace_id)]
        if not found:
            raise StoreError(
                f"There is no trace {trace_id}.",
                cause="The trace was pruned or removed, or it belongs to another home.",
                next_step="Choose another trace from the list.",
                reason="missing",
            )
        if len(found) > 1:
            raise Ambiguous(
                f"More than one trace has the name {trace_id}.",
                choices=tuple(str(entry.path) if exact else entry.id for entry in found[:20]),
                next_step="Use the full name of one trace.",
            )
        return found[0]


def _read(entry: TraceSummary, *, sketch: bool = False) -> tuple[TraceSummary, Dump, TraceFacts]:
    """Read the file of a trace; return its whole row, its document, and the facts in it.

    `sketch`: read only the parts that the row needs.
    """
    dump = read_dump(entry.path, sketch=sketch)
    facts = facts_of(dump.document)
    row = replace(
        entry.read(dump, facts, judge(facts, dump.damage, lost=dump.lost)),
        workspace_id=facts.workspace_id or entry.workspace_id,
        workspace_name=facts.workspace_name,
        project_path=facts.project_path,
        kind=facts.kind,
        started_at=facts.started_at if facts.started_at is not None else entry.started_at,
        run_id=facts.run_id,
    )
    return row, dump, facts


def _detail(row: TraceSummary, dump: Dump, facts: TraceFacts) -> TraceDetail:
    document = dump.document
    listed = document.get("events")
    events = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return TraceDetail(
        row=row,
        facts=_with_texts(facts),
        timeline=timeline_of(facts),
        answers=tuple(map(answer_text, facts.attempts)),
        texts={key: document[key] for key in _TEXTS if isinstance(document.get(key), str)},
        events=tuple(map(_event, events[:MOST_EVENTS])),
        event_count=len(events),
        tried=tried_diff(facts),
        missed=missed_edits(facts),
        no_replay=why_no_replay(facts, shortened=dump.shortened),
        shortened=dump.shortened,
        root=dump.root,
    )


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise user_error_from_os(error, "The trace could not be read.") from error


def _with_texts(facts: TraceFacts) -> TraceFacts:
    """Return the facts with the input and output of tools formatted as text."""

    def texts(calls: tuple[Call, ...]) -> tuple[Call, ...]:
        return tuple(replace(call, input=pretty(call.input), output=pretty(call.output)) for call in calls)

    attempts = (
        replace(
            attempt,
            calls=texts(attempt.calls),
            steps=tuple(replace(step, calls=texts(step.calls)) for step in attempt.steps),
        )
        for attempt in facts.attempts
    )
    return replace(facts, attempts=tuple(attempts))


def _event(event: Mapping[str, Any]) -> TraceEvent:
    parts = [str(event["text"])] if isinstance(event.get("text"), str) else []
    calls = event.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            given = json.dumps(call.get("input"), ensure_ascii=False)
            parts.append(f"{call.get('toolName', '?')} {given}")
    return TraceEvent(str(event.get("role", "?")), str(event.get("historySequence", "")), "\n".join(parts))


def _files(directory: Path, home: str, workspace_id: str, *, own: bool) -> list[TraceSummary]:
    """Return the dumps in one directory, in no particular order; empty if it cannot be listed.

    `home`: the directory of their home. `workspace_id`: the workspace that they are about. `own`: True if
    they are traces of Reverie's own runs.
    """
    found: list[TraceSummary] = []
    with contextlib.suppress(OSError), os.scandir(directory) as files:
        for file in files:
            match = _NAME.fullmatch(file.name)
            if match is None or not file.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(FileNotFoundError):
                facts = file.stat(follow_symlinks=False)
                found.append(
                    TraceSummary(
                        id=file.name.removesuffix(".json"),
                        path=directory / file.name,
                        home=home,
                        workspace_id=workspace_id,
                        kind="" if own else WRITER,
                        started_at=int(match["started"]),
                        size=facts.st_size,
                        own=own,
                        stamp=(facts.st_size, facts.st_mtime_ns, facts.st_ino),
                    )
                )
    return found


_MOST_CHARS = 200_000
_VALUE_CHARS = 20_000


def tried_diff(facts: TraceFacts) -> str:
    """Return a diff of the changes that the run's writes make; empty if there are none.

    For the memory writer, these are the changes of the memory that the trace contains; writes that do not fit
    it are left out. For any other run, they are the changes that its memory commands request.
    """
    if facts.kind != WRITER:
        return "".join(_call_diff(call) for call in _tried(facts))
    return _diff(facts.existing_memory, _replayed(facts)[0], facts.memory_path or "memory")


def missed_edits(facts: TraceFacts) -> tuple[MissedEdit, ...]:
    """Return the writes that do not fit the memory, each with the most similar lines of the memory.

    Empty for a run that is not of the memory writer.
    """
    if facts.kind != WRITER:
        return ()
    made = []
    for call, old, new in _replayed(facts)[1]:
        given = new if old or new else words_of(call.input)[:_VALUE_CHARS]
        near = nearest_lines(facts.existing_memory, old)
        marks = word_spans(old, near) if near else ((), ())
        made.append(MissedEdit(call.attempt, call.name, call.problem, old, near, given, *marks))
    return tuple(made)


def answer_text(attempt: Attempt) -> str:
    """Return the texts and tool calls of the model in one attempt, in order, as one text."""
    parts = []
    for step in attempt.steps:
        parts += [step.text] if step.text.strip() else []
        for call in step.calls:
            came = call.problem or (words_of(call.output) if call.ran else "was not run")
            parts.append(f"{call.name} {pretty(call.input)}\n→ {came[:_VALUE_CHARS]}")
    return "\n\n".join(parts)


def trace_text(facts: TraceFacts) -> str:
    """Return the parts of a trace that are compared between traces: prompt, memory, messages, answers.

    The text comes from a model and a dump: treat it as untrusted data of limited size, and show it only as
    plain text. Pure.
    """
    return "\n".join(_sections(facts))[:_MOST_CHARS]


def pretty(value: Any) -> str:
    """Format a value as indented JSON; return a text unchanged.

    Long results are truncated.
    """
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


def _tried(facts: TraceFacts) -> list[Call]:
    calls = (call for attempt in facts.attempts for call in attempt.calls)
    return [call for call in calls if call.name in ("memory_write", "memory")]


def _replayed(facts: TraceFacts) -> tuple[str, list[tuple[Call, str, str]]]:
    """Return the memory's text in a trace with the run's writes applied, and the writes that do not fit it.

    No file is read or changed. Each write that does not fit is returned as the tool call, the text to be
    replaced, and the new text.
    """
    after, misfits = facts.existing_memory, []
    for call in _tried(facts):
        given: Mapping[str, Any] = call.input if isinstance(call.input, Mapping) else {}
        old, new = str(given.get("old_string") or ""), str(given.get("new_string") or "")
        if old in after if old else not after.strip():
            after = after.replace(old, new, 1) if old else new
        else:
            misfits.append((call, old, new))
    return after, misfits


def _call_diff(call: Call) -> str:
    """Render one memory command of a consolidation as a diff of the change that it requests."""
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


_MEMORY_BYTES = 1 << 20


def why_no_replay(facts: TraceFacts, *, shortened: bool = False) -> str:
    """Return the reason why a trace cannot be replayed, as a sentence; empty if it can.

    `shortened`: the texts of the trace were truncated.
    """
    if facts.kind != WRITER:
        return "Only runs of the memory writer can be replayed. For a consolidation, use its preview."
    if not facts.user_message:
        return "The trace does not contain the request to the model."
    if shortened and facts.user_message.endswith("bytes in all]"):
        return "The request is too long to send again."
    return ""


class Replays:
    """Replays of traces: each sends the prompt of a memory-writer run to a model again.

    The user chooses the model and can edit the prompt before. The model gets the tools of the memory writer,
    but they change a copy of the memory in the trace. Of the home, only the trace is read, and nothing is
    written. A replay does not count as a run of the memory writer, and its own trace is returned but not
    stored. Secrets in the request are replaced by placeholders (`llm.vault`); nothing is sent without
    consent.
    """

    def __init__(self, traces: TraceService, models: Models, clock: Clock) -> None:
        self._traces = traces
        self._models = models
        self._clock = clock

    def consent_needed(self, trace_id: str, request: ReplayRequest) -> ConsentView | None:
        """Return the data that the replay `request` would send, if the user has not consented to sending it.

        The result names the destination, too. None if no consent is needed. Raises `UserError` if the model
        cannot be used.
        """
        try:
            self._models.require_consent(request.engine)
        except StoreError as error:
            if error.reason != "consent":
                raise
        else:
            return None

        row, _dump, facts = _read(self._traces.find(trace_id))
        vault = Vault()
        for text in (request.system, request.user, facts.existing_memory):
            vault.learn(text)
        destination = self._models.provider(request.engine).destination
        return ConsentView(destination, (str(row.path),), vault.secrets_hidden)

    def run(
        self,
        trace_id: str,
        request: ReplayRequest,
        *,
        cancel: threading.Event,
        progress: Callable[[str], None] = lambda _step: None,
    ) -> tuple[TraceDetail, str]:
        """Send the prompt in `request` to a model; return the new trace and a diff from the old one.

        Setting `cancel` ends the replay; `progress` gets a phrase for each step. Raises `UserError` if the
        replay cannot start.
        """
        original, read, before = _read(self._traces.find(trace_id))
        problem = why_no_replay(before, shortened=read.shortened)
        if problem:
            raise StoreError(
                "This trace cannot be replayed.", cause=problem, next_step="Choose another trace."
            )
        self._models.require_consent(request.engine)
        provider = self._models.provider(request.engine)
        data = asyncio.run(_asked(provider, before, request, self._clock, cancel, progress))
        dump = dump_of(data)
        facts = facts_of(dump.document)
        row = original.read(dump, facts, judge(facts))
        row = replace(row, kind="replay", started_at=facts.started_at or 0, run_id="", damage="")
        # It has no file from which parts could be requested.
        detail = replace(_detail(row, dump, facts), root=None)
        return detail, _diff(trace_text(before), trace_text(facts), "trace")


async def _asked(
    provider: Provider,
    facts: TraceFacts,
    request: ReplayRequest,
    clock: Clock,
    cancel: threading.Event,
    progress: Callable[[str], None],
) -> bytes:
    """Carry out the replay: make the two attempts of a memory writer with a copy of the memory.

    Returns the new trace as a document. `facts`: the original trace, which has the memory; `request`: the
    prompt to send instead of the original one. `cancel` ends the run when it is set; `progress` gets a phrase
    for each step.
    """

    memory = facts.existing_memory.encode("utf-8", "replace")
    memory_id = facts.memory_path or facts.workspace_name
    draft = MemoryDraft(lambda: memory, max_bytes=_MEMORY_BYTES, memory_id=memory_id)
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
            tools=draft.tools(),
            limits=ModelWriter.limits(time.monotonic() + request.time_limit_s),
            vault=vault,
            cancelled=cancel.is_set,
            observer=on_event,
            follow_up=draft.follow_up,
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


_MOST_READERS = 8
_BEFORE = 30
"""The number of messages that are shown before a requested message."""


class _Reader:
    """A transcript that one client reads.

    It stays open, because continuing costs less than reading from the start again.
    """

    def __init__(self, transcript: PagedTranscript) -> None:
        self.transcript = transcript
        self.lock = threading.Lock()


class TranscriptService:
    """The transcripts of one home, and the agent's own records of background jobs about them.

    Each client has its own position in a transcript, which is kept for the last few transcripts that it read.
    If a client requests a transcript that was closed, it is opened again and read from the start. Listing the
    transcripts opens none of them; `described` reads a title that only the transcript itself contains.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._readers: OrderedDict[tuple[Hashable, Path], _Reader] = OrderedDict()
        self._lock = threading.Lock()

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        """Return the transcripts of one project, or of all projects if it is None; newest first."""
        transcripts = self._parts.home.transcripts
        return () if transcripts is None else transcripts.sources(project_path)

    def described(
        self, sources: tuple[TranscriptSource, ...], *, check: Callable[[], None] = no_check
    ) -> tuple[TranscriptSource, ...]:
        """Return the sources with title, project and state, which are read from the transcripts if missing.

        A source that cannot be read is returned unchanged. `check` is called repeatedly and may raise to
        stop.
        """
        found = []
        for source in sources:
            check()
            try:
                found.append(self._transcripts.described_source(source))
            except (UserError, OSError):
                found.append(source)
        return tuple(found)

    def open(
        self,
        source: TranscriptSource,
        *,
        message_id: str = "",
        at_end: bool = False,
        check: Callable[[], None] = no_check,
        client: Hashable = None,
    ) -> tuple[Page, Stamp, int]:
        """Open a transcript at the message with the agent's id `message_id`.

        Returns the messages to show first, a value that changes whenever the file does, and the number of the
        requested message; -1 if none was requested, or if it does not exist.

        If the id is empty or does not exist, the transcript is opened at its beginning or, with `at_end`, at
        its end. `client`: the client that reads it. `check` is called repeatedly and may raise to stop.
        """
        self._forget(client, source)
        with self._reading(client, source) as transcript:
            stamp = transcript.stamp()
            if message_id:
                place = transcript.find(lambda each: each.id == message_id, -1, check)
                if place is not None:
                    return _page_with(transcript, place, check), stamp, place
            page = transcript.last(check) if at_end else transcript.page(0, check)
            return page, stamp, -1

    def page(
        self,
        source: TranscriptSource,
        start: int,
        *,
        messages: int = PAGE_MESSAGES,
        chars: int = PAGE_CHARS,
        check: Callable[[], None] = no_check,
        client: Hashable = None,
    ) -> Page:
        """Return the messages of a transcript from number `start` on; see `PagedTranscript.page`.

        At most `messages` messages and about `chars` characters. `check` is called repeatedly and may raise
        to stop. `client`: the client whose position in the transcript is used.
        """
        with self._reading(client, source) as transcript:
            return transcript.page(start, check, messages=messages, chars=chars)

    def page_with(
        self,
        source: TranscriptSource,
        number: int,
        *,
        check: Callable[[], None] = no_check,
        client: Hashable = None,
    ) -> Page:
        """Return a page that contains message `number`, with some earlier ones unless they are too long.

        `check` is called repeatedly and may raise to stop. `client`: the client whose position in the
        transcript is used.
        """
        with self._reading(client, source) as transcript:
            return _page_with(transcript, number, check)

    def last(
        self, source: TranscriptSource, *, check: Callable[[], None] = no_check, client: Hashable = None
    ) -> Page:
        """Return the last page of a transcript's messages.

        `check` is called repeatedly and may raise to stop. `client`: the client whose position in the
        transcript is used.
        """
        with self._reading(client, source) as transcript:
            return transcript.last(check)

    def find(
        self,
        source: TranscriptSource,
        words: str,
        number: int,
        *,
        back: bool = False,
        check: Callable[[], None] = no_check,
    ) -> int | None:
        """Return the number of the next message after `number` that contains `words`; None if there is none.

        If `words` is empty, return the next message that a person typed. `back`: return the nearest one
        before `number` instead. `check` is called repeatedly and may raise to stop. See
        `PagedTranscript.find`.
        """
        # A search uses its own reader, so that the client's position in the transcript does not change.
        return self._opened(source).find(says(words) if words else is_prompt, number, check, back=back)

    def growth(
        self,
        source: TranscriptSource,
        known: Stamp,
        start: int,
        *,
        messages: int,
        chars: int,
        check: Callable[[], None] = no_check,
        client: Hashable = None,
    ) -> tuple[Stamp, Page | None]:
        """Return the stamp of a transcript and, if it is not `known`, the messages from number `start` on.

        The messages are None if the stamp is `known`: the transcript has not changed. At most `messages`
        messages and about `chars` characters, as for `page`. `check` is called repeatedly and may raise to
        stop. `client`: the client whose position in the transcript is used.
        """
        with self._reading(client, source) as transcript:
            stamp = transcript.stamp()
            if stamp == known:
                return stamp, None
            return stamp, transcript.page(start, check, messages=messages, chars=chars)

    def forget_client(self, client: Hashable) -> None:
        """Close the transcripts that a client read, because the client has disconnected."""
        with self._lock:
            for key in [each for each in self._readers if each[0] == client]:
                del self._readers[key]

    @contextlib.contextmanager
    def _reading(self, client: Hashable, source: TranscriptSource) -> Iterator[PagedTranscript]:
        key = (client, source.path)
        with self._lock:
            reader = self._readers.get(key)
            if reader is None:
                reader = self._readers[key] = _Reader(self._opened(source))
            self._readers.move_to_end(key)
            while len(self._readers) > _MOST_READERS:
                self._readers.popitem(last=False)
        try:
            with reader.lock:
                yield reader.transcript
        except BaseException:
            # An interrupted read cannot continue in the middle of a file.
            self._forget(client, source)
            raise

    def _forget(self, client: Hashable, source: TranscriptSource) -> None:
        with self._lock:
            self._readers.pop((client, source.path), None)

    def _opened(self, source: TranscriptSource) -> PagedTranscript:
        """Return a transcript to read page by page; opening reads nothing yet."""
        return PagedTranscript(self._transcripts.open_source(source), source.path)

    @property
    def _transcripts(self) -> Transcripts:
        transcripts = self._parts.home.transcripts
        if transcripts is None:
            raise Unavailable("This agent keeps no transcripts.")
        return transcripts

    def of_workspace(self, workspace_id: str) -> TranscriptSource | None:
        """Return the transcript of a workspace, even of one that the home does not list; None if it has none.

        Raises `Unavailable`.
        """
        for source in self.sources():
            if source.id == workspace_id:
                return source
        sessions = self._parts.home.sessions
        place = None if sessions is None else sessions.session_place(workspace_id)
        if place is None or not any(is_there(place.directory / name) for name in place.files):
            return None
        return TranscriptSource(workspace_id, "session", place.directory)

    def jobs(self) -> tuple[AgentJob, ...]:
        """Return the background jobs that the agent itself records, newest first."""
        jobs = self._parts.home.jobs
        return () if jobs is None else jobs.agent_jobs()


def _page_with(transcript: PagedTranscript, number: int, check: Callable[[], None]) -> Page:
    page = transcript.page(max(0, number - _BEFORE), check)
    if page.messages and page.messages[-1].number < number:
        page = transcript.page(number, check)
    return page
