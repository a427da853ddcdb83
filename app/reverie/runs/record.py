"""Run records: one durable file per background job that may change memories.

A record is written before the run's first effect and rewritten when its outcome is known, so a killed run
stays visible as `running` until recovery finds its owner dead. Everything a record needs for review and undo
(images of every changed file, the journal) lies in the same directory, outside any home.

Layout: `<data>/runs/<home id>/<run id>/{record.json, journal.json, images/<sha256>}`, directories 0700.
Threading: any thread but the GUI's; one writer per run (the one that holds the home's dream lease).
Failure: `Unavailable` for disk problems; a damaged record is skipped and named in `problems`, never deleted.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from reverie.errors import StoreError, mendable_from_os
from reverie.files.atomic import atomic_write
from reverie.files.process import ProcessId, is_alive, this_process
from reverie.profile import ensure_private

Outcome = Literal[
    "running", "completed", "unchanged", "failed", "cancelled", "interrupted", "held", "skipped"
]
RunKind = Literal["dream", "revert", "edit"]
_RUN_ID_LENGTH = 8


@dataclass(frozen=True, slots=True)
class RunRecord:
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
    owner: ProcessId
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
    def reverted(self) -> bool:
        return self.reverted_by is not None

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
            "conflicts": list(self.conflicts),
        }


def new_run_id(now_ms: int) -> str:
    """`<UTC ms>-<8 hex>`."""
    return f"{now_ms}-{secrets.token_hex(_RUN_ID_LENGTH // 2)}"


class RunStore:
    """The runs of one home."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.problems: tuple[str, ...] = ()

    def directory_of(self, run_id: str) -> Path:
        if not run_id or any(not (character.isalnum() or character == "-") for character in run_id):
            raise StoreError(
                f"{run_id!r} is no run id.", next_step="List the runs to find it.", reason="missing"
            )
        return self._directory / run_id

    def begin(self, record: RunRecord) -> RunRecord:
        """Make the record durable before the run's first effect."""
        ensure_private(self.directory_of(record.id))
        self.save(record)
        return record

    def save(self, record: RunRecord) -> None:
        path = self.directory_of(record.id) / "record.json"
        data = json.dumps(asdict(record), ensure_ascii=True, indent=2).encode()
        try:
            atomic_write(path, data, mode=0o600)
        except OSError as error:
            raise mendable_from_os(error, f"The record of run {record.id} was not saved.") from error

    def finish(self, record: RunRecord, *, outcome: Outcome, ended_at: int, **changes: Any) -> RunRecord:
        """The record with its outcome, saved."""
        finished = replace(record, outcome=outcome, ended_at=ended_at, **changes)
        self.save(finished)
        return finished

    def load(self, run_id: str) -> RunRecord:
        """One record. Raises `StoreError` where there is none, or it cannot be read."""
        path = self.directory_of(run_id) / "record.json"
        try:
            return _parse(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise StoreError(
                f"There is no run {run_id}.", next_step="List the runs to find it.", reason="missing"
            ) from None
        except OSError as error:
            raise mendable_from_os(error, f"The record of run {run_id} was not read.") from error
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(
                f"The record of run {run_id} is damaged.",
                cause=f"{type(error).__name__}.",
                next_step=f"Look at {path}.",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """Every run id, newest first."""
        try:
            names = [entry.name for entry in self._directory.iterdir() if entry.is_dir()]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise mendable_from_os(error, "The runs were not listed.") from error
        return tuple(sorted(names, key=_started, reverse=True))

    def all(self, *, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Records newest first; damaged ones are left out and named in `problems`."""
        records: list[RunRecord] = []
        problems: list[str] = []
        for run_id in self.ids():
            if limit is not None and len(records) >= limit:
                break
            try:
                records.append(self.load(run_id))
            except StoreError as error:
                problems.append(str(error))
        self.problems = tuple(problems)
        return tuple(records)

    def abandoned(self) -> tuple[RunRecord, ...]:
        """Runs still marked as running whose process is gone: recovery's work, oldest first."""
        running = [record for record in self.all() if record.outcome == "running"]
        return tuple(record for record in reversed(running) if not is_alive(record.owner))


def owner() -> ProcessId:
    """The identity of this process, for new records."""
    return this_process()


def _started(run_id: str) -> tuple[int, str]:
    head = run_id.partition("-")[0]
    return (int(head) if head.isdigit() else 0, run_id)


def _parse(data: Any) -> RunRecord:
    known = {name: data[name] for name in RunRecord.__dataclass_fields__ if name in data}
    if known["outcome"] not in get_args(Outcome):
        raise ValueError("unknown outcome")
    known["owner"] = ProcessId(**known["owner"])
    for name in ("ops", "conflicts"):
        known[name] = tuple(known.get(name, ()))
    return RunRecord(**known)
