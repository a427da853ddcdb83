"""The traces of a home: what the agent's memory writer left in it, and what Reverie's own runs left in its
data directory.

A list is made of names first (`entries`), newest first; a line of it (`row`) reads one file within bounds, so
that a list of many large dumps begins at once. What was read is kept as long as the file is the same. A run
of Reverie that also left a dump in the home is one line: its own trace, which says more.

Looking only: nothing is written, in the home or elsewhere. Threading: blocks on disk; any thread but the
GUI's, one at a time per `TraceDesk`. Failure: `MendableError`; a dump that cannot be read is a line that says
so, not an error.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agent.dump_facts import Facts, facts_of
from reverie.agent.dump_reader import Dump, read_dump
from reverie.agent.timeline import Timeline, timeline_of
from reverie.agent.verdict import Evidence, Verdict, judge
from reverie.errors import Ambiguous, MendableError, StoreError

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts

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
class TraceRow:
    """One line of the list. `evidence` is a sentence; `place` points where it is."""

    id: str
    path: Path
    home: str
    workspace_id: str
    workspace_name: str
    project_path: str
    """As the document names it; many do not."""
    kind: str
    started_at: int
    duration_ms: int | None
    verdict: str
    sentence: str
    evidence: str
    place: Evidence
    attempts: int
    model: str
    tokens: int
    size: int
    own: bool
    run_id: str
    damage: str = ""

    def judged(self, dump: Dump, facts: Facts, verdict: Verdict) -> TraceRow:
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

    row: TraceRow
    dump: Dump
    facts: Facts
    timeline: Timeline


class TraceDesk:
    """The traces of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts
        self._known: dict[Path, tuple[tuple[int, int, int], TraceRow]] = {}

    def entries(self) -> tuple[TraceEntry, ...]:
        """Every trace there is, newest first, read from directories alone."""
        found = list(self._own_entries())
        places = self._parts.home.dump_places()
        for workspace_id, directory in places.directories if places is not None else ():
            found += _files(directory, workspace_id, own=False)
        return tuple(
            sorted(found, key=lambda entry: (entry.started_at, entry.id), reverse=True)[:MOST_ENTRIES]
        )

    def row(self, entry: TraceEntry) -> TraceRow:
        """The line of one trace."""
        known = self._known.get(entry.path)
        if known is not None and known[0] == entry.stamp:
            return known[1]
        try:
            row = self._row_of(entry, read_dump(entry.path, sketch=True))
        except MendableError as error:
            row = self._unreadable(entry, error)
        self._known[entry.path] = (entry.stamp, row)
        return row

    def rows(self) -> Iterator[TraceRow]:
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
        """One trace in full. Raises `MendableError` where it cannot be read."""
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

    def _row_of(self, entry: TraceEntry, dump: Dump) -> TraceRow:
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

    def _unreadable(self, entry: TraceEntry, error: MendableError) -> TraceRow:
        verdict = Verdict("damaged", str(error), Evidence(quote=error.cause or error.title))
        return replace(self._bare(entry, verdict), damage=str(error))

    def _bare(self, entry: TraceEntry, verdict: Verdict) -> TraceRow:
        """What is known of a trace without its document."""
        return TraceRow(
            id=entry.id,
            path=entry.path,
            home=str(self._parts.home.root),
            workspace_id=entry.workspace_id,
            workspace_name="",
            project_path="",
            kind="writer" if not entry.own else "",
            started_at=entry.started_at,
            duration_ms=None,
            verdict=verdict.name,
            sentence=verdict.sentence,
            evidence=verdict.evidence.sentence(),
            place=verdict.evidence,
            attempts=0,
            model="",
            tokens=0,
            size=entry.size,
            own=entry.own,
            run_id="",
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
