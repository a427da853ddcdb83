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
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from reverie.errors import StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import atomic_write, make_mark
from reverie.files.directory import ensure_private, read_regular
from reverie.runs.fence import fenced
from reverie.runs.parts import Parts, joined, parts_from_json, taken_as_json
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
