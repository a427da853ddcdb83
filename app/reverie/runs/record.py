"""What a run tells those who wait for it, and run records: one durable file per background job that may
change memories.

A record is written before the run's first effect and rewritten when its outcome is known, so a killed run
stays visible as `running` until recovery settles it. An empty `<run id>.open` beside its directory marks a
run that is not settled: recovery finds those without reading thousands of old records, whatever clock they
were named by. Everything a record needs for review and undo (images of every changed file, the journal) lies
in Reverie's data directory, outside any home.

Layout: `<data>/runs/<home id>/<run id>/{record.json, journal.json}`, `<data>/images/<home id>/<sha256>`,
directories 0700.

Threading: progress and results are frozen values, safe to hand between threads and processes. Records: any
thread but the GUI's; one writer per run (the one that holds the home's dream lease). It may be suspended, and
its lease taken: the end of a run, and a change after it, are written under the run's fence.
Failure: `Unavailable` for disk problems; a damaged record is skipped and named in `problems`, never deleted.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from reverie.agents.scopes import COMPANIONS, Scope
from reverie.errors import Busy, StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import atomic_write, make_mark
from reverie.files.directory import ensure_private, read_regular
from reverie.files.locks import held_lock
from reverie.memory.diff import ChangedSpan, changed_spans, lines_of
from reverie.memory.paths import memory_path
from reverie.memory.usage_rules import MemoryUsage
from reverie.text.summaries import some
from reverie.values import Struct, as_dict, field, fields_of, replace

Op = Mapping[str, Any]
"""One command of a run as its record has it: `command`, `path`, `applied`, maybe a `note`."""

Outcome = Literal[
    "running", "completed", "unchanged", "failed", "cancelled", "interrupted", "held", "skipped"
]
SUCCEEDED: tuple[Outcome, ...] = ("completed", "unchanged")
"""The outcomes that need nobody's attention."""


class Progress(Struct, frozen=True):
    """A step of a running job."""

    step: str
    done: int = 0
    total: int = 0
    op: Op | None = None
    """The command that was just carried out."""


class RunResult(Struct, frozen=True):
    """How a run ended, whatever its job: what services, commands and the window get of it."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    ops: tuple[Op, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    """The coverage (or harvest) record as saved, or as it would be; empty for jobs that have none."""
    next_step: str = ""
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None
    conflicts: tuple[str, ...] = ()
    """Memory paths that were left as they are, because somebody changed them."""
    reverts: str | None = None
    """The run that this one took back, or a part of it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The job's own facts (a harvest's boundary and inbox, the run that a revert is of)."""

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    @property
    def applied(self) -> tuple[str, ...]:
        """The paths that were written."""
        return tuple(op["path"] for op in self.ops if op["applied"])


# The report card of a consolidation as values: what `jobs.consolidate.card` finds and a record keeps.
#
# Frozen, safe to hand between threads and processes; light to import. What another version kept and this one
# does not understand counts as no card.


What = Literal["number", "version", "name", "negation", "certainty", "merged", "generalised", "place"]
"""What differs in meaning: another number, version or name; the opposite; how sure it is; values of two facts
as if they were of one; a condition or a detail is gone; another section turns what it says."""

KEPT_PERCENT = 99.0
"""Less than this kept, and a person looks at it first."""
_LISTED = 200
"""So many of a kind are kept in a record; the counts are of all."""


class ChangedFact(Struct, frozen=True):
    """A fact that says something else now. `path` and `line` are where it stood before, `new_path` and
    `new_line` where it stands now."""

    path: str
    line: int
    before: str
    after: str
    what: What
    new_path: str = ""
    new_line: int = 0


class PlacedFact(Struct, frozen=True):
    """A fact at its place: before for one that is lost, after for one that is invented or below the cut."""

    path: str
    line: int
    text: str


class BrokenLink(Struct, frozen=True):
    """A link that leads to nothing and did not before."""

    path: str
    line: int
    target: str


class BeforeAfter(Struct, frozen=True):
    """A number before the change and after it."""

    before: int = 0
    after: int = 0

    @property
    def more(self) -> int:
        """How much it grew; negative: it became less."""
        return self.after - self.before


class CardCounts(Struct, frozen=True):
    """A card as one line shows it."""

    facts: int = 0
    kept: int = 0
    changed: int = 0
    invented: int = 0
    below_cut: int = 0
    contradictions: int = 0
    """More than before; negative: fewer."""
    broken_links: int = 0
    tokens: int = 0
    """More than before."""
    stale: int = 0
    """Statements that are not true any more, more than before; negative: fewer."""

    @property
    def fails(self) -> bool:
        """Whether a person has to look before it may stand."""
        return self.kept * 100.0 < KEPT_PERCENT * self.facts or self.changed > 0 or self.invented > 0


class ReportCard(Struct, frozen=True):
    """What a consolidation did to the facts."""

    facts: int = 0
    kept: int = 0
    changed: tuple[ChangedFact, ...] = ()
    invented: tuple[PlacedFact, ...] = ()
    lost: tuple[PlacedFact, ...] = ()
    below_cut: tuple[PlacedFact, ...] = ()
    contradictions: BeforeAfter = field(default_factory=BeforeAfter)
    broken_links: tuple[BrokenLink, ...] = ()
    tokens: BeforeAfter = field(default_factory=BeforeAfter)
    stale: BeforeAfter = field(default_factory=BeforeAfter)
    """Statements that their repository says are not true any more."""

    @property
    def counts(self) -> CardCounts:
        """What one line shows."""
        return CardCounts(
            self.facts,
            self.kept,
            len(self.changed),
            len(self.invented),
            len(self.below_cut),
            self.contradictions.more,
            len(self.broken_links),
            self.tokens.more,
            self.stale.more,
        )

    @property
    def fails(self) -> bool:
        """Whether a person has to look before it may stand."""
        return self.counts.fails

    def as_json(self) -> dict[str, Any]:
        """The stable shape for scripts; a run's record keeps it, too."""
        return {
            "facts": self.facts,
            "kept": self.kept,
            "changed": [
                {
                    **{key: getattr(each, key) for key in ("path", "line", "before", "after", "what")},
                    "newPath": each.new_path,
                    "newLine": each.new_line,
                }
                for each in self.changed[:_LISTED]
            ],
            "invented": _listed(self.invented),
            "lost": _listed(self.lost),
            "belowCut": _listed(self.below_cut),
            "contradictions": as_dict(self.contradictions),
            "brokenLinks": _listed(self.broken_links),
            "tokens": as_dict(self.tokens),
            "stale": as_dict(self.stale),
        }


def _listed(found: Sequence[PlacedFact | BrokenLink]) -> list[dict[str, Any]]:
    return [as_dict(each) for each in found[:_LISTED]]


def card_from_json(data: object) -> ReportCard | None:
    """What `ReportCard.as_json` made; None for what it cannot have made."""
    if not isinstance(data, Mapping):
        return None
    try:
        return ReportCard(
            int(data["facts"]),
            int(data["kept"]),
            tuple(_changed(each) for each in data["changed"]),
            tuple(map(_placed, data["invented"])),
            tuple(map(_placed, data["lost"])),
            tuple(map(_placed, data["belowCut"])),
            _pair(data["contradictions"]),
            tuple(
                BrokenLink(str(each["path"]), int(each["line"]), str(each["target"]))
                for each in data["brokenLinks"]
            ),
            _pair(data["tokens"]),
            _pair(data["stale"]) if "stale" in data else BeforeAfter(),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _changed(each: Mapping[str, Any]) -> ChangedFact:
    what: What = each["what"] if each["what"] in get_args(What) else "generalised"
    return ChangedFact(
        str(each["path"]),
        int(each["line"]),
        str(each["before"]),
        str(each["after"]),
        what,
        str(each.get("newPath", "")),
        int(each.get("newLine", 0)),
    )


def _placed(each: Mapping[str, Any]) -> PlacedFact:
    return PlacedFact(str(each["path"]), int(each["line"]), str(each["text"]))


def _pair(each: Mapping[str, Any]) -> BeforeAfter:
    return BeforeAfter(int(each["before"]), int(each["after"]))


def sentence(counts: CardCounts) -> str:
    """`kept 212 of 212 facts, 1 changed, 3 contradictions fewer, -840 tokens`, for commands and records."""
    parts = [f"kept {counts.kept:,} of {counts.facts:,} facts"]
    for count, words in (
        (counts.changed, "changed"),
        (counts.invented, "without a source"),
        (counts.below_cut, "below the cut"),
        (counts.broken_links, "broken links" if counts.broken_links > 1 else "broken link"),
    ):
        if count:
            parts.append(f"{count:,} {words}")
    if counts.contradictions:
        way = "more" if counts.contradictions > 0 else "fewer"
        number = abs(counts.contradictions)
        parts.append(f"{number} {'contradiction' if number == 1 else 'contradictions'} {way}")
    if counts.stale:
        parts.append(f"{abs(counts.stale):,} stale {'more' if counts.stale > 0 else 'fewer'}")
    if counts.tokens:
        parts.append(f"{counts.tokens:+,} tokens")
    return ", ".join(parts)


# Records of runs.


# The fence: a kernel lock in the run's directory. A lease can run out while its process is suspended, a
# kernel lock cannot; so a run holds its fence while it changes files or its record, and recovery does neither
# without it. A thread may take it again. Order: a run's own, then those of older runs that it is about.


FENCE = "fence.lock"
_WAIT_S = 1.0


class _FenceHolder(threading.local):
    """The fences that this thread holds."""

    def __init__(self) -> None:
        self.directories: set[Path] = set()


_held = _FenceHolder()


@contextlib.contextmanager
def fenced(run_directory: Path) -> Iterator[None]:
    """Hold the fence of a run. Raises `Busy` where another process holds it: it is at work, or suspended."""
    if run_directory in _held.directories:
        yield
        return
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(held_lock(run_directory / FENCE, run_directory, timeout_s=_WAIT_S))
        except Busy as error:
            raise Busy(
                "A run of this home is still in the middle of its changes.",
                cause=f"The process of run {run_directory.name} is suspended, or slow, and holds them.",
                next_step="Let that process go on, or end it; the run is then finished or undone.",
                reason="suspended",
            ) from error
        _held.directories.add(run_directory)
        try:
            yield
        finally:
            _held.directories.discard(run_directory)


# Parts: files and hunks that were taken back, or are to be. Hunks are numbered from 0, as `changed_spans`
# finds them; a file that a run created, deleted or renamed is taken back as a whole.


Parts = Mapping[str, frozenset[int] | None]
"""By path: the numbers of hunks of an edited file, or None for the whole file."""


def version_without(before: bytes | None, after: bytes | None, taken: Collection[int] | None) -> bytes | None:
    """What a run left of a file once the hunks `taken` (None: all of it) are taken back."""
    if taken is None or before is None or after is None:
        return before if taken is None or taken else after
    old, new = lines_of(before), lines_of(after)
    lines, at = [], 0
    for number, span in enumerate(changed_spans(old, new)):
        lines += new[at : span.new_start]
        lines += _side(span, old, new, is_taken=number in taken)
        at = span.new_end
    return b"".join((*lines, *new[at:]))


def hunk_count(before: bytes | None, after: bytes | None) -> int:
    """How many hunks of a file can be taken back by themselves; 0 for one that came or went."""
    if before is None or after is None:
        return 0
    return len(changed_spans(lines_of(before), lines_of(after)))


def joined(first: Parts, second: Parts) -> dict[str, frozenset[int] | None]:
    """What either of the two names."""
    found = dict(first)
    for path, hunks in second.items():
        known = found.get(path, frozenset())
        found[path] = None if hunks is None or known is None else known | hunks
    return found


def whole_where_complete(parts: Parts, counts: Mapping[str, int]) -> dict[str, frozenset[int] | None]:
    """The same parts, with None for each file of which they name every hunk. `counts`: hunks by path."""
    return {
        path: None if hunks is not None and len(hunks) == counts.get(path) else hunks
        for path, hunks in parts.items()
    }


def require_parts(run_id: str, parts: Parts, taken: Parts, counts: Mapping[str, int]) -> None:
    """Raises `StoreError` unless `parts` are of this run and none of them was `taken` back before."""
    for path, hunks in parts.items():
        if path not in counts:
            raise StoreError(
                f"Run {run_id} did not change {path}.",
                next_step=f"`reverie diff {run_id}` shows what it changed.",
                reason="missing",
            )
        unknown = sorted(hunk + 1 for hunk in hunks or () if not 0 <= hunk < counts[path])
        if unknown or hunks == frozenset():
            has = f"It has {some(counts[path], 'hunk')}." if counts[path] else "It comes or goes as a whole."
            raise StoreError(
                f"Run {run_id} has no hunk {', '.join(map(str, unknown))} in {path}.",
                cause=has,
                next_step=f"`reverie diff {run_id}` shows them with their numbers.",
                reason="missing",
            )
        before = taken.get(path, frozenset())
        again = hunks if before is None else (hunks or frozenset()) & before
        if before is None or again:
            what = path if not again else f"{_hunks(again)} of {path}"
            raise StoreError(f"Already taken back: {what}.", reason="reverted")


def numbers_taken(before: bytes | None, after: bytes | None, taken: frozenset[int] | None) -> frozenset[int]:
    """The hunks of a file that were taken back, also where all of it was."""
    return frozenset(range(hunk_count(before, after))) if taken is None else taken


def taken_as_json(taken: frozenset[int] | None) -> str | list[int]:
    """For scripts, numbered from 1 as people see them."""
    return "all" if taken is None else [hunk + 1 for hunk in sorted(taken)]


def parts_as_json(parts: Parts) -> dict[str, list[int] | None]:
    """As a run's record keeps them."""
    return {path: None if hunks is None else sorted(hunks) for path, hunks in parts.items()}


def parts_from_json(data: Any) -> dict[str, frozenset[int] | None]:
    """What `parts_as_json` made; what it cannot have made is left out."""
    if not isinstance(data, dict):
        return {}
    return {
        path: None if hunks is None else frozenset(hunks)
        for path, hunks in data.items()
        if hunks is None or (isinstance(hunks, list) and all(isinstance(hunk, int) for hunk in hunks))
    }


def _hunks(hunks: Collection[int]) -> str:
    numbers = ", ".join(str(hunk + 1) for hunk in sorted(hunks))
    return f"hunk {numbers}" if len(hunks) == 1 else f"hunks {numbers}"


def _side(span: ChangedSpan, old: list[bytes], new: list[bytes], *, is_taken: bool) -> list[bytes]:
    return old[span.old_start : span.old_end] if is_taken else new[span.new_start : span.new_end]


_log = logging.getLogger("reverie.runs")

RunKind = Literal["dream", "harvest", "revert", "writer", "extract", "notes"]
_OPEN = ".open"


class RunRecord(Struct, frozen=True):
    """What people and scripts see of one run. Times are UTC ms; `ops` has the shape of a coverage record's
    ops."""

    id: str
    kind: RunKind
    home_id: str
    home_root: str
    workspace_id: str | None
    project_path: str | None
    trigger: str
    engine: str
    started_at: int
    ended_at: int | None = None
    outcome: Outcome = "running"
    reason: str = ""
    summary: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, int] | None = None
    dry_run: bool = False
    reverts: str | None = None
    reverted_by: str | None = None
    conflicts: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether nothing is left for recovery to do."""
        return self.outcome != "running" and not self.details.get("pending")

    @property
    def reverted(self) -> bool:
        return self.reverted_by is not None

    @property
    def part(self) -> Parts:
        """What part of another run this one took back; empty for anything else."""
        return parts_from_json(self.details.get("part"))

    @property
    def taken_back(self) -> Parts:
        """What other runs took back of this one, and is not undone as a whole for that."""
        by_run = self.details.get("takenBack")
        found: Parts = {}
        for part in by_run.values() if isinstance(by_run, dict) else ():
            found = joined(found, parts_from_json(part))
        return found

    def as_json(self) -> dict[str, Any]:
        """The stable shape of `reverie runs` (design.md section 5)."""
        return {
            "id": self.id,
            "kind": self.kind,
            "home": self.home_root,
            "workspaceId": self.workspace_id,
            "projectPath": self.project_path,
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "outcome": self.outcome,
            "reason": self.reason,
            "trigger": self.trigger,
            "engine": self.engine,
            "summary": self.summary,
            "ops": [dict(op) for op in self.ops],
            "usage": dict(self.usage) if self.usage else None,
            "dryRun": self.dry_run,
            "reverts": self.reverts,
            "revertedBy": self.reverted_by,
            "reverted": self.reverted,
            "takenBack": {path: taken_as_json(hunks) for path, hunks in self.taken_back.items()},
            "conflicts": list(self.conflicts),
        }


UsageDelta = Mapping[str, MemoryUsage | None]


class FileIntent(Struct, frozen=True):
    """One file the run changes: the hash before and after, None where there is no file. `mode` (permission
    bits) goes with the file when it comes back after having been deleted, `place` with a record: where it
    stands in the file that holds it."""

    key: str
    scope: Scope
    directory: str
    usage_prefix: str | None
    rel: str
    before: str | None
    after: str | None
    mode: int | None = None
    place: int | None = None

    @property
    def path(self) -> str:
        """As people see it; a companion has no memory path, and is called by its place in the home."""
        return self.rel if self.key == COMPANIONS else str(memory_path(self.scope, self.rel))


class Journal(Struct, frozen=True):
    """Everything a run is about to do. `for_review`: a dry run or a held one shows it and does nothing.
    `emptied`: (directory of a root, rel in it)."""

    intents: tuple[FileIntent, ...]
    emptied: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    """Directories that were not there before and hold files of the run, deepest first: (an existing directory
    above, path below it). Undo removes those that are empty then."""
    usage_before: UsageDelta = field(default_factory=dict)
    usage_after: UsageDelta = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    for_review: bool = False
    ops: tuple[Mapping[str, Any], ...] = ()
    """As the record has them in the end; empty where the coverage record holds them."""
    commit: str = ""
    """Of the history, for a change by hand: it holds the contents before; empty: the images do."""


_counting = threading.Lock()
_newest = (-1, -1)
"""The newest id that this process made: its millisecond and its count."""


def _count_of(run_id: str, ms: int) -> int | None:
    """Return the count of an id within this millisecond; None for another time, or for no id of ours."""
    head, _dash, count = run_id.partition("-")
    if head != str(ms) or len(count) != 8:
        return None
    try:
        return int(count, 16)
    except ValueError:
        return None


class RunStore:
    """The runs of one home."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.problems: tuple[str, ...] = ()

    def new_id(self, now_ms: int) -> str:
        """Return a new run id, `<UTC ms>-<8 hex>`.

        The second part counts within the millisecond, from a random start and in random steps, so that no two
        processes make the same id. It sorts after every run of that millisecond that has a record, and after
        every id that this process made for it, of whatever home: a clock may stand still, and a run has its
        record only once it begins.
        """
        global _newest
        taken = (number for run_id in self.ids() if (number := _count_of(run_id, now_ms)) is not None)
        with _counting:
            known = max(taken, default=-1)
            if _newest[0] == now_ms:
                known = max(known, _newest[1])
            start = known + 1 if known >= 0 else secrets.randbelow(2**31)
            _newest = (now_ms, start + secrets.randbelow(2**16))
            return f"{now_ms}-{_newest[1]:08x}"

    def directory_of(self, run_id: str) -> Path:
        """Where a run's files lie; it need not exist. Raises `StoreError` for what cannot be an id."""
        if not run_id or any(not (character.isalnum() or character == "-") for character in run_id):
            raise StoreError(
                f"{run_id!r} is no run id.", next_step="List the runs to find it.", reason="missing"
            )
        return self._directory / run_id

    def begin(self, record: RunRecord) -> RunRecord:
        """Make the record durable before the run's first effect."""
        ensure_private(self.directory_of(record.id))
        make_mark(self._open_mark(record.id))
        self.save(record)
        return record

    def note(self, record: RunRecord) -> None:
        """Keep a run that has come to its end without an effect: nothing of it is recovery's."""
        ensure_private(self.directory_of(record.id))
        self.save(record)

    def save(self, record: RunRecord) -> None:
        """Replace the record; fields that another version of Reverie added stay."""
        path = self.directory_of(record.id) / "record.json"
        data = json.dumps({**_others_fields(path), **as_dict(record)}, ensure_ascii=True, indent=2).encode()
        atomic_write(path, data, mode=0o600)

    def finish(self, record: RunRecord, *, outcome: Outcome, ended_at: int, **changes: Any) -> RunRecord:
        """The record with its outcome, saved, and noted on the run that it took back or carried out. One with
        `pending` details stays open for recovery.

        A record that is settled already stays as it is, but for what the run used, and is what is returned:
        its process was suspended, somebody recovered it, and others may have built on that since."""
        finished = replace(record, outcome=outcome, ended_at=ended_at, **changes)
        with fenced(self.directory_of(record.id)):
            settled = self._settled(record.id)
            if settled is not None:
                return self._with_use(settled, finished)
            if outcome == "completed":
                self._tell_others(finished)
            self.save(finished)
            if finished.settled:
                self._close(finished.id)
        return finished

    def change(self, run_id: str, change: Callable[[RunRecord], RunRecord]) -> RunRecord:
        """One read-modify-write of a record. Raises `StoreError` where it cannot be read."""
        self.load(run_id)  # one that is gone has no fence, either
        with fenced(self.directory_of(run_id)):
            changed = change(self.load(run_id))
            self.save(changed)
        return changed

    def is_reverted(self, run_id: str | None) -> bool:
        """Whether that run was undone as a whole; False where its record cannot be read."""
        record = self._readable(run_id or "")
        return record is not None and record.reverted

    def _readable(self, run_id: str) -> RunRecord | None:
        """The record; None where it is gone, damaged, or no file that can be read."""
        try:
            return self.load(run_id)
        except (StoreError, Unavailable):
            return None

    def _settled(self, run_id: str) -> RunRecord | None:
        """The record, if somebody has settled it."""
        try:
            record = self.load(run_id)
        except StoreError:
            return None
        return record if record.settled else None

    def _with_use(self, settled: RunRecord, finished: RunRecord) -> RunRecord:
        if finished.usage is None or settled.usage is not None:
            return settled
        more = {name: value for name, value in finished.details.items() if name != "pending"}
        settled = replace(settled, usage=finished.usage, details={**more, **settled.details})
        self.save(settled)
        return settled

    def _tell_others(self, run: RunRecord) -> None:
        """Note on the run that `run` took back, or a part of, that it did, and on what that run took back
        whether it still counts; on the reviewed run that it carried out, that it did. Idempotent. A record
        that cannot be read by now gets no note. Damaged records that revert each other get one note each."""
        revert, counts, noted = run, True, {run.id}
        while revert.reverts is not None and self._readable(revert.reverts) is not None:
            if revert.reverts in noted:
                _log.warning("the records of %s revert each other: one is damaged", sorted(noted))
                break
            noted.add(revert.reverts)
            mark = partial(_marked, revert=revert, counts=counts)
            revert, counts = self.change(revert.reverts, mark), not counts
        applied = str(run.details.get("applies") or "")
        if self._readable(applied) is not None:
            self.change(applied, lambda found: replace(found, details={**found.details, "appliedBy": run.id}))

    def load(self, run_id: str) -> RunRecord:
        """One record. Raises `StoreError` where there is none, or it cannot be read."""
        path = self.directory_of(run_id) / "record.json"
        try:
            return _parse(json.loads(read_regular(path)))
        except FileNotFoundError:
            raise StoreError(
                f"There is no run {run_id}.", next_step="List the runs to find it.", reason="missing"
            ) from None
        except OSError as error:
            raise user_error_from_os(error, f"The record of run {run_id} was not read.") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StoreError(
                f"The record of run {run_id} is damaged.",
                cause=f"{type(error).__name__}.",
                next_step=f"Look at {path}.",
                reason="damaged",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """Every run id, newest first."""
        names = [name for name, is_directory in self._names() if is_directory]
        return tuple(sorted(names, key=_started, reverse=True))

    def all(self, *, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Records newest first; damaged ones are left out and named in `problems`."""
        records: list[RunRecord] = []
        problems: list[str] = []
        for run_id in self.ids():
            if limit is not None and len(records) >= limit:
                break
            self._load_into(records, run_id, problems)
        self.problems = tuple(problems)
        return tuple(records)

    def read(self, ids: Iterable[str]) -> tuple[RunRecord, ...]:
        """The records of these runs in this order; damaged ones are left out."""
        records: list[RunRecord] = []
        for run_id in ids:
            self._load_into(records, run_id, [])
        return tuple(records)

    def unsettled(self) -> tuple[RunRecord, ...]:
        """Runs that have not come to their end, oldest first. Under the home's dream lease no run is at work,
        so all of them are recovery's."""
        names = [name for name, is_directory in self._names() if name.endswith(_OPEN) and not is_directory]
        records: list[RunRecord] = []
        for run_id in sorted((name.removesuffix(_OPEN) for name in names), key=_started):
            # Killed before its record, so before any effect; or damaged, which `all` tells.
            with contextlib.suppress(StoreError):
                records.append(self.load(run_id))
        return tuple(record for record in records if not record.settled)

    def _load_into(self, records: list[RunRecord], run_id: str, problems: list[str]) -> None:
        try:
            records.append(self.load(run_id))
        except UserError as error:
            if error.reason != "missing":
                problems.append(str(error))

    def _open_mark(self, run_id: str) -> Path:
        directory = self.directory_of(run_id)
        return directory.with_name(directory.name + _OPEN)

    def _close(self, run_id: str) -> None:
        try:
            self._open_mark(run_id).unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            # The record says that the run is settled; a mark that stays costs one look more.
            problem = user_error_from_os(error, f"The mark of run {run_id} could not be removed.")
            _log.warning("%s", problem)

    def _names(self) -> list[tuple[str, bool]]:
        try:
            with os.scandir(self._directory) as entries:
                return [(entry.name, entry.is_dir()) for entry in entries]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise user_error_from_os(error, "The runs were not listed.") from error


def _marked(original: RunRecord, revert: RunRecord, *, counts: bool) -> RunRecord:
    """`original` with what `revert` did to it, or without it where that was undone."""
    if not revert.part:
        return replace(original, reverted_by=revert.id if counts else None)
    known = original.details.get("takenBack")
    by_run = {key: part for key, part in known.items() if key != revert.id} if isinstance(known, dict) else {}
    if counts:
        by_run[revert.id] = revert.details["part"]
    return replace(original, details={**original.details, "takenBack": by_run})


def started_of(run_id: str) -> int:
    """When the run of this id started, UTC ms; 0 for what is no id."""
    head = run_id.partition("-")[0]
    return int(head) if head.isdecimal() else 0


def not_applied(
    ops: tuple[Mapping[str, Any], ...], note: str, *, left: tuple[str, ...] = ()
) -> tuple[Mapping[str, Any], ...]:
    """The ops of a run that did not come to pass: nothing of them was applied, and why. `left` are paths
    that somebody changed on top of it."""
    left_note = "left as it is, since somebody changed it meanwhile"
    return tuple(
        {**op, "applied": False, "note": left_note if op["path"] in left else note} if op["applied"] else op
        for op in ops
    )


def _others_fields(path: Path) -> dict[str, Any]:
    """What a newer Reverie said in a record of the same profile and this one does not know: it stays."""
    try:
        said = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    known = fields_of(RunRecord)
    return (
        {name: value for name, value in said.items() if name not in known} if isinstance(said, dict) else {}
    )


def _started(run_id: str) -> tuple[int, str]:
    return started_of(run_id), run_id


_TEXTS = ("id", "kind", "home_id", "home_root", "trigger", "engine", "reason", "summary")
_TEXTS_OR_NONE = ("workspace_id", "project_path", "reverts", "reverted_by")


def _parse(data: Any) -> RunRecord:
    known = {name: data[name] for name in fields_of(RunRecord) if name in data}
    for name in ("ops", "conflicts"):
        known[name] = tuple(known.get(name, ()))
    record = RunRecord(**known)
    if not _is_whole(record):
        raise ValueError("a field of the wrong kind")
    return record


def _is_whole(record: RunRecord) -> bool:
    return (
        all(isinstance(getattr(record, name), str) for name in _TEXTS)
        and all(isinstance(getattr(record, name), str | None) for name in _TEXTS_OR_NONE)
        and isinstance(record.started_at, int)
        and isinstance(record.ended_at, int | None)
        and record.outcome in get_args(Outcome)
        and isinstance(record.usage, dict | None)
        and isinstance(record.details, dict)
        and all(isinstance(path, str) for path in record.conflicts)
        and all(_is_op(op) for op in record.ops)
    )


def _is_op(op: Any) -> bool:
    return isinstance(op, dict) and all(
        isinstance(op.get(name), kind) for name, kind in (("command", str), ("path", str), ("applied", bool))
    )
