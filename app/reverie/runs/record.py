"""Run records: one durable file for each background job that may change memories.

A record is written before the run's first effect and rewritten when its outcome is known, so a killed run is
visible as `running` until recovery finishes it. A run is settled once recovery has nothing left to do for it.
An empty file `<run id>.open` beside the run's directory marks a run that is not settled, so that recovery
finds such runs without reading thousands of old records, even if clocks differed. Everything that review and
undo need (the journal, images of every changed file) is in Reverie's data directory, outside any home.

Layout: `<data>/runs/<home id>/<run id>/{record.json, journal.json}`, `<data>/images/<home id>/<sha256>`,
directories 0700.

Threading: progress and results are frozen values, safe to pass between threads and processes. Records may be
used on any thread but the GUI's. Each run has one writer, the holder of the home's consolidation lease. That
process may be suspended and lose the lease, so the end of a run and later changes to its record are written
under the run's fence. Failure: `Unavailable` for disk problems; a damaged record is skipped and named in
`problems`, never deleted.
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
from reverie.runs.card import CardCounts, card_from_json
from reverie.runs.fence import fenced
from reverie.runs.parts import Parts, joined, parts_from_json, taken_as_json
from reverie.values import Struct, as_dict, columns, field, fields_of, replace

Op = Mapping[str, Any]
"""One command of a run in its record: `command`, `path`, `applied` and optionally `note`."""
DRY_RUN_NOTE = "dry-run"
"""The note of a command that was not carried out only because the run is a dry run."""

Outcome = Literal[
    "running", "completed", "unchanged", "failed", "cancelled", "interrupted", "held", "skipped"
]
"""The state or result of a run. `held`: its changes wait for a person's review and are not applied yet."""
SUCCEEDED: tuple[Outcome, ...] = ("completed", "unchanged")
"""The outcomes that need no attention."""


class Progress(Struct, frozen=True):
    """A step of a running job: its name, and how many of `total` parts are done (`total` 0: unknown)."""

    step: str
    done: int = 0
    total: int = 0
    op: Op | None = None
    """The command that was carried out last; None if this step is not a command."""


class RunResult(Struct, frozen=True):
    """The result of a run of any kind: its outcome, changes, costs and conflicts."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    """A word for programs that explains an outcome such as failed or skipped."""
    ops: tuple[Op, ...] = ()
    """The commands to change memories, each with whether it was applied."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """The coverage or harvest record (the agent's record of the run) as saved, or as a dry run would save it.

    Empty for jobs that have no such record.
    """
    next_step: str = ""
    usage: Mapping[str, int] | None = None
    """The tokens of the model (`inputTokens`, `outputTokens`, ...); None if unknown or no model was used."""
    cost_usd: float | None = None
    """The cost in US dollars; None if unknown."""
    conflicts: tuple[str, ...] = ()
    """The memory paths that were left unchanged because another program had changed the files."""
    reverts: str | None = None
    """The run that this run undid, completely or in part; None if it undid none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Details specific to the job, such as a harvest's boundary and inbox."""

    @property
    def succeeded(self) -> bool:
        """Whether the run completed or had nothing to change."""
        return self.outcome in SUCCEEDED

    @property
    def applied(self) -> tuple[str, ...]:
        """The paths of the commands that were applied."""
        return tuple(op["path"] for op in self.ops if op["applied"])


_log = logging.getLogger("reverie.runs")

RunKind = Literal["dream", "decision", "import", "harvest", "revert", "writer", "extract", "notes"]
_OPEN = ".open"


class RunRecord(Struct, frozen=True):
    """The facts about one run that people and scripts see.

    Times are UTC ms.
    """

    id: str
    kind: str
    """The kind of the job: a `RunKind`, or another word if another version of Reverie made the run."""
    home_id: str
    home_root: str
    workspace_id: str | None
    """The workspace of the run; None if it has none."""
    project_path: str | None
    """The project of the run; None if it has none."""
    trigger: str
    """The occasion of the run, such as "manual" or "launch"."""
    engine: str
    """The name of the engine: `rules`, or a model as `provider:model`."""
    started_at: int
    ended_at: int | None = None
    """The end of the run; None while it is in progress."""
    outcome: Outcome = "running"
    reason: str = ""
    """A word for programs that explains an outcome such as failed or skipped."""
    summary: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    """The commands of the run, each with `command`, `path`, `applied` and optionally `note`."""
    usage: Mapping[str, Any] | None = None
    """The tokens of the model (`inputTokens`, `outputTokens`, ...); None if unknown or no model was used."""
    dry_run: bool = False
    """Whether the run only showed what it would change."""
    reverts: str | None = None
    """The run that this run undid, completely or in part; None if it undid none."""
    reverted_by: str | None = None
    """The run that undid this run as a whole; None if none did."""
    conflicts: tuple[str, ...] = ()
    """The paths that could not be changed."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cost_usd(self) -> float | None:
        """The cost in US dollars; None if the run used no model, or the price is not known."""
        cost = self.details.get("costUsd")
        return float(cost) if isinstance(cost, int | float) else None

    @property
    def discarded(self) -> bool:
        """Whether a person discarded this proposal; it can still be applied."""
        return bool(self.details.get("discarded"))

    @property
    def applied_by(self) -> str:
        """The id of the run that applied this proposal; empty if none did."""
        return str(self.details.get("appliedBy") or "")

    @property
    def card(self) -> CardCounts | None:
        """How many facts the run lost, changed or kept; None if they were not counted."""
        card = card_from_json(self.details.get("card"))
        return None if card is None else card.counts

    @property
    def settled(self) -> bool:
        """Whether the run needs no recovery: it has ended, and its files and record are final."""
        return self.outcome != "running" and not self.details.get("pending")

    @property
    def reverted(self) -> bool:
        """Whether the run was undone as a whole."""
        return self.reverted_by is not None

    @property
    def partly_undone(self) -> bool:
        """Whether parts of the run were undone and other parts were not."""
        return bool(self.taken_back) and not self.reverted

    @property
    def part(self) -> Parts:
        """The files or hunks of another run that this run undid; empty if it undid a whole run, or none."""
        return parts_from_json(self.details.get("part"))

    @property
    def taken_back(self) -> Parts:
        """The files and hunks of this run that other runs undid one by one.

        An undo of the whole run is not included; `reverted_by` names it.
        """
        by_run = self.details.get("takenBack")
        found: Parts = {}
        for part in by_run.values() if isinstance(by_run, dict) else ():
            found = joined(found, parts_from_json(part))
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON data, in the stable format of the command `reverie runs`."""
        return {
            **columns(
                self,
                "id kind home=home_root workspace_id project_path started_at ended_at outcome "
                "reason trigger engine summary",
            ),
            "ops": [dict(op) for op in self.ops],
            "usage": dict(self.usage) if self.usage else None,
            **columns(self, "dry_run reverts reverted_by reverted"),
            "takenBack": {path: taken_as_json(hunks) for path, hunks in self.taken_back.items()},
            "conflicts": list(self.conflicts),
        }


_counting = threading.Lock()
_newest = (-1, -1)
"""The newest id that this process made, as its millisecond and its count."""


def _count_of(run_id: str, ms: int) -> int | None:
    """Return the second part of a run id as a number; this part counts within the millisecond `ms`.

    None if the id is of another millisecond or not valid.
    """
    head, _dash, count = run_id.partition("-")
    if head != str(ms) or len(count) != 8:
        return None
    try:
        return int(count, 16)
    except ValueError:
        return None


class RunStore:
    """The records of the runs of one home."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.problems: tuple[str, ...] = ()

    def new_id(self, now_ms: int) -> str:
        """Return a new run id, `<UTC ms>-<8 hex>`, for the time `now_ms`.

        The second part counts within the millisecond, with a random start and random steps, so that two
        processes do not make the same id. The id sorts after every recorded run of that millisecond, and
        after every id that this process made in it for any home. Without this, two ids could be equal if the
        clock stands still, because a run has no record until it begins.
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
        """Return the directory of a run's files; it may be missing.

        Raises `StoreError` if `run_id` is not a valid id.
        """
        if not run_id or any(not (character.isalnum() or character == "-") for character in run_id):
            raise StoreError(
                f"{run_id!r} is not a run ID.",
                next_step="Find the ID in the list of runs.",
                reason="missing",
            )
        return self._directory / run_id

    def begin(self, record: RunRecord) -> RunRecord:
        """Write the record durably and register the run for recovery; return the record.

        Must be called before the run changes anything. If the process is then killed, recovery finishes the
        run or undoes it.
        """
        ensure_private(self.directory_of(record.id))
        make_mark(self._open_mark(record.id))
        self.save(record)
        return record

    def note(self, record: RunRecord) -> None:
        """Save the record of a run that ended without changing anything, so that recovery ignores the run."""
        ensure_private(self.directory_of(record.id))
        self.save(record)

    def save(self, record: RunRecord) -> None:
        """Replace the record, preserving fields that another version of Reverie added."""
        path = self.directory_of(record.id) / "record.json"
        data = json.dumps({**_others_fields(path), **as_dict(record)}, ensure_ascii=True, indent=2).encode()
        atomic_write(path, data, mode=0o600)

    def finish(self, record: RunRecord, *, outcome: Outcome, ended_at: int, **changes: Any) -> RunRecord:
        """Save the record of a run with its outcome; return the record.

        `ended_at`: the end of the run, UTC ms; `changes`: new values of further fields. If the run completed,
        the record of the run that it undid or applied gets a note about it. If the details contain `pending`
        (files that could not be restored yet), recovery will finish the run later.

        If recovery has finished the run meanwhile, because this process was suspended, the record that
        recovery saved is returned; only the tokens that were used, and details that it lacks, are added to
        it.
        """
        finished = replace(record, outcome=outcome, ended_at=ended_at, **changes)
        with fenced(self.directory_of(record.id)):
            settled = self._settled(record.id)
            if settled is not None:
                return self._with_use(settled, finished)
            if outcome == "completed":
                self._note_on_others(finished)
            self.save(finished)
            if finished.settled:
                self._close(finished.id)
        return finished

    def change(self, run_id: str, change: Callable[[RunRecord], RunRecord]) -> RunRecord:
        """Apply `change` to the record of the run `run_id`, under its fence; save and return the result.

        Raises the errors of `load`, and `Busy` if another process holds the fence (the lock of the run).
        """
        self.load(run_id)  # a missing run has no fence either
        with fenced(self.directory_of(run_id)):
            changed = change(self.load(run_id))
            self.save(changed)
        return changed

    def is_reverted(self, run_id: str | None) -> bool:
        """Return whether a run was undone as a whole.

        False if there is no run (`run_id` is None), or if its record cannot be read.
        """
        record = self._readable(run_id or "")
        return record is not None and record.reverted

    def _readable(self, run_id: str) -> RunRecord | None:
        """Return the record of the run `run_id`; None if it is missing, damaged or unreadable."""
        try:
            return self.load(run_id)
        except (StoreError, Unavailable):
            return None

    def _settled(self, run_id: str) -> RunRecord | None:
        """Return the record of the run `run_id` if the run has ended and needs no recovery, else None."""
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

    def _note_on_others(self, run: RunRecord) -> None:
        """Add notes about `run` to the records of the runs that it concerns.

        These are the run that it undid, completely or in part, and the reviewed run that it applied. If the
        undone run was itself the undo of a third run, the third run is in effect again, so the note in its
        record is removed, and so on. Calling this again does no harm. Unreadable records are skipped. If
        damaged records name each other as undone, each gets one note.
        """
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
        """Return the record of the run `run_id`.

        Raises `StoreError` if it is missing or damaged, `Unavailable` if it cannot be read now.
        """
        path = self.directory_of(run_id) / "record.json"
        try:
            return _parse(json.loads(read_regular(path)))
        except FileNotFoundError:
            raise StoreError(
                f"There is no run {run_id}.",
                next_step="Find the ID in the list of runs.",
                reason="missing",
            ) from None
        except OSError as error:
            raise user_error_from_os(error, f"The record of run {run_id} could not be read.") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StoreError(
                f"The record of run {run_id} is damaged.",
                cause=f"{type(error).__name__}.",
                next_step=f"Check {path}.",
                reason="damaged",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """Return every run id, newest first."""
        names = [name for name, is_directory in self._names() if is_directory]
        return tuple(sorted(names, key=_started, reverse=True))

    def all(self, *, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Return the records, newest first; those that cannot be read are left out and named in `problems`.

        `limit`: the maximum number of records; None: all.
        """
        records: list[RunRecord] = []
        problems: list[str] = []
        for run_id in self.ids():
            if limit is not None and len(records) >= limit:
                break
            self._load_into(records, run_id, problems)
        self.problems = tuple(problems)
        return tuple(records)

    def read(self, ids: Iterable[str]) -> tuple[RunRecord, ...]:
        """Return the records of the runs `ids`, in this order, without those that cannot be read."""
        records: list[RunRecord] = []
        for run_id in ids:
            self._load_into(records, run_id, [])
        return tuple(records)

    def unsettled(self) -> tuple[RunRecord, ...]:
        """Return the records of the runs that have not ended or still need recovery, oldest first.

        While the caller holds the home's consolidation lease, no run is in progress, so all of them need
        recovery.
        """
        names = [name for name, is_directory in self._names() if name.endswith(_OPEN) and not is_directory]
        records: list[RunRecord] = []
        for run_id in sorted((name.removesuffix(_OPEN) for name in names), key=_started):
            # Without a record the run was killed before any effect. `all` reports damaged records.
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
            # The record says that the run is settled, so a remaining mark costs only one more check.
            problem = user_error_from_os(error, f"The mark of run {run_id} could not be removed.")
            _log.warning("%s", problem)

    def _names(self) -> list[tuple[str, bool]]:
        try:
            with os.scandir(self._directory) as entries:
                return [(entry.name, entry.is_dir()) for entry in entries]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise user_error_from_os(error, "The runs could not be listed.") from error


def _marked(original: RunRecord, revert: RunRecord, *, counts: bool) -> RunRecord:
    """Return `original` with a note that `revert` undid it, completely or in part.

    If `counts` is False, because the revert was itself undone, the note is removed instead.
    """
    if not revert.part:
        return replace(original, reverted_by=revert.id if counts else None)
    known = original.details.get("takenBack")
    by_run = {key: part for key, part in known.items() if key != revert.id} if isinstance(known, dict) else {}
    if counts:
        by_run[revert.id] = revert.details["part"]
    return replace(original, details={**original.details, "takenBack": by_run})


def started_of(run_id: str) -> int:
    """Return the start of the run with this id, UTC ms; 0 for an invalid id."""
    head = run_id.partition("-")[0]
    return int(head) if head.isdecimal() else 0


def not_applied(
    ops: tuple[Mapping[str, Any], ...], note: str, *, left: tuple[str, ...] = ()
) -> tuple[Mapping[str, Any], ...]:
    """Return the ops (commands) of a run that did not complete, each marked as not applied.

    An op that was marked as applied before gets the note `note`. `left` are paths of files that were not
    restored, because another program has changed them since; the ops on these get a note about that instead.
    """
    left_note = "not changed, because another program changed it meanwhile"
    return tuple(
        {**op, "applied": False, "note": left_note if op["path"] in left else note} if op["applied"] else op
        for op in ops
    )


def _others_fields(path: Path) -> dict[str, Any]:
    """Return the fields of a stored record that this version does not know, to preserve them."""
    try:
        data = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    known = fields_of(RunRecord)
    return (
        {name: value for name, value in data.items() if name not in known} if isinstance(data, dict) else {}
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
        raise ValueError("a field of the wrong type")
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
