"""The coverage sidecar: which consolidation last covered a workspace and a project, and which harvests ran.

The sidecar belongs to the agent (formats/mux.md section 9), whose own loader is strict: one bad record
empties a whole bucket. Reverie's loader skips bad records one by one and infers nothing: project coverage is
read from `projects` only, and global coverage is the newest workspace record. Only records that the agent's
loader accepts are written; others are moved to `<sidecar>.rejected.json` beside it, never dropped. Unknown
fields survive.

A harvest record is saved as `pending` before the work starts, so that a killed harvest is noticed.

Threading: any thread but the GUI's; a save is one read-modify-write under the sidecar's lock. Failure: an
unreadable sidecar counts as empty, with the reason in `problems`; a save renames it first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reverie.agents.reading import as_object
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Boundary
from reverie.clock import Clock
from reverie.errors import UserError
from reverie.files.sidecar import Sidecar
from reverie.text.redact import redact
from reverie.text.summaries import cut_utf16
from reverie.values import Struct, columns, replace

_log = logging.getLogger("reverie.dream")

Trigger = Literal["compaction", "launch", "archive", "manual"]
"""The agent's four triggers of a consolidation."""
OpCommand = Literal["create", "str_replace", "insert", "delete", "rename"]

STALE_PENDING_MS = 5 * 60_000
"""The ms after which a pending harvest counts as abandoned."""
HARVEST_ATTEMPTS = 3
HARVESTS_KEPT = 20
_SETTLED_S = 1.0
"""The seconds after a save during which the agent may still overwrite the record."""


class _Loose(BaseModel):
    """Base of the models that accept exactly the records that the agent's loader accepts.

    Unknown fields are allowed; no value is coerced.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)


class OpModel(_Loose):
    """One operation of a consolidation, in the format of the agent's own records."""

    command: OpCommand
    path: str
    new_path: str = Field(default="", alias="newPath")
    applied: bool
    note: str = ""


class UsageModel(_Loose):
    """The tokens that a consolidation used."""

    input_tokens: float | int = Field(alias="inputTokens")
    output_tokens: float | int = Field(alias="outputTokens")


class RecordModel(_Loose):
    """A coverage record: when a workspace or project was last consolidated, and what that run changed.

    The format is that of formats/mux.md section 9; times are UTC ms.
    """

    last_run_at: float | int = Field(alias="lastRunAt")
    trigger: Trigger
    summary: str
    ops: list[OpModel]
    usage: UsageModel = Field(default=UsageModel(inputTokens=0, outputTokens=0))


class CompletionModel(_Loose):
    """The compaction that a harvest read; the agent requires every field except the previous boundary.

    A compaction replaces a conversation by a summary, the boundary.
    """

    workspace_id: str = Field(alias="workspaceId")
    summary_message_id: str = Field(alias="summaryMessageId")
    summary_history_sequence: float | int = Field(alias="summaryHistorySequence")
    compaction_epoch: float | int = Field(alias="compactionEpoch")
    previous_boundary: float | int = Field(default=0, alias="previousBoundaryHistorySequence")
    compaction_request_message_id: str = Field(alias="compactionRequestMessageId")


_NO_COMPLETION = CompletionModel(
    workspaceId="",
    summaryMessageId="",
    summaryHistorySequence=0,
    compactionEpoch=0,
    compactionRequestMessageId="",
)


class HarvestModel(_Loose):
    """The record of one harvest, which collects memories from a conversation that the agent compacted.

    It is stored under the key of the compaction (formats/mux.md section 9).
    """

    status: Literal["pending", "completed", "failed"]
    started_at: float | int = Field(alias="startedAt")
    completed_at: float | int = Field(default=0, alias="completedAt")
    attempt_count: float | int = Field(alias="attemptCount")
    boundary_key: str = Field(alias="boundaryKey")
    compaction_epoch: float | int = Field(alias="compactionEpoch")
    accepted_candidates: float | int = Field(alias="acceptedCandidates")
    skipped_candidates: float | int = Field(alias="skippedCandidates")
    error: str = ""
    usage: UsageModel = Field(default=UsageModel(inputTokens=0, outputTokens=0))
    completion: CompletionModel = Field(default=_NO_COMPLETION, alias="completionMetadata")


class Coverage(Struct, frozen=True):
    """The valid records of the coverage sidecar, unchanged from disk.

    `workspaces`, `projects`: the record of the last consolidation, by workspace id and by project path.
    """

    workspaces: Mapping[str, Mapping[str, Any]]
    projects: Mapping[str, Mapping[str, Any]]
    harvests: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """The records of harvests, by workspace id, then by the key of the compaction."""
    problems: tuple[str, ...] = ()
    """Messages about records that were skipped."""


class Status(Struct, frozen=True):
    """The last consolidation of each scope of one context, and the newest harvest.

    The records are unchanged from disk, None if there is none. `project_available`: the context has a project
    scope.
    """

    workspace_record: Mapping[str, Any] | None
    project_record: Mapping[str, Any] | None
    global_record: Mapping[str, Any] | None
    latest_harvest: Mapping[str, Any] | None
    project_available: bool
    problems: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the stable JSON format that `reverie status` prints (design.md section 5)."""
        return columns(
            self,
            "workspace_record project_record global_record "
            "latestHarvestRecord=latest_harvest project_available",
        )


def is_record(value: Any) -> bool:
    """Return True if the agent would accept `value` as a coverage record (of a last consolidation)."""
    return _accepts(RecordModel, value)


def read_coverage(raw: Mapping[str, Any]) -> Coverage:
    """Return the valid records in the data of a coverage sidecar, the file that has them in buckets.

    A bucket is a JSON object with the records of one kind; a missing one counts as empty.
    """
    problems: list[str] = []
    workspaces, projects = (
        _good(raw.get(name, {}), name, RecordModel, problems) for name in ("workspaces", "projects")
    )
    harvests = {
        workspace_id: _good(bucket, f"harvests of {workspace_id}", HarvestModel, problems)
        for workspace_id, bucket in as_object(raw.get("harvestsByWorkspace")).items()
    }
    return Coverage(workspaces, projects, harvests, tuple(problems))


def status_of(coverage: Coverage, context: ScopeContext, *, now: int) -> Status:
    """Return the last consolidation of each scope of a context; `now` is UTC ms.

    Nothing is inferred: an old sidecar without `projects` means that the project was never covered.
    """
    workspace = coverage.workspaces.get(context.workspace_id) if context.workspace_id else None
    covered = context.covered_project
    project = coverage.projects.get(covered) if covered else None
    newest = max(coverage.workspaces.values(), key=lambda record: record["lastRunAt"], default=None)
    harvests = coverage.harvests.get(context.workspace_id or "", {})
    shown = [shown_harvest(record, now=now) for record in harvests.values()]
    latest = max(shown, key=lambda item: item.get("completedAt") or item["startedAt"], default=None)
    return Status(
        workspace_record=workspace,
        project_record=project,
        global_record=newest,
        latest_harvest=latest,
        project_available=covered is not None,
        problems=coverage.problems,
    )


def shown_harvest(record: Mapping[str, Any], *, now: int) -> Mapping[str, Any]:
    """Return a harvest record as people should see it; `now` is UTC ms.

    A harvest that has been pending for over 5 minutes with no attempts left is shown as a failure that ended
    `now`, with the record's error or a default error.
    """
    stale = record["status"] == "pending" and now - record["startedAt"] > STALE_PENDING_MS
    if stale and record["attemptCount"] >= HARVEST_ATTEMPTS:
        attempts = int(record["attemptCount"])
        why = f"stale pending harvest: started over 5 minutes ago, all {attempts} attempts used up"
        ended = {"completedAt": record.get("completedAt", now), "error": record.get("error", why)}
        return {**record, "status": "failed", **ended}
    return record


def is_harvest(value: Any) -> bool:
    """Return True if the agent's loader would accept `value` as a harvest record."""
    return _accepts(HarvestModel, value)


def with_record(
    raw: dict[str, Any], record: Mapping[str, Any], *, workspace_id: str | None, project_path: str | None
) -> dict[str, Any]:
    """Add the record of a consolidation to `raw`, the data of a coverage sidecar; return the data.

    The record is added for its workspace and its project; an id that is None gets no record. Raises
    `ValueError` for a record that the agent's loader would refuse.
    """
    if not is_record(record):
        raise ValueError("a coverage record that the agent's loader would refuse")
    if workspace_id is not None:
        _bucket(raw, "workspaces")[workspace_id] = dict(record)
    if project_path is not None:
        _bucket(raw, "projects")[project_path] = dict(record)
    return tidied(raw)


def tidied(raw: dict[str, Any]) -> dict[str, Any]:
    """Bring `raw`, the data of a coverage sidecar, into the form that the agent writes; return it.

    Missing buckets (objects with the records of one kind) are added, and only the newest 20 harvests of each
    workspace are kept.
    """
    for name in ("workspaces", "projects", "harvestsByWorkspace"):
        raw.setdefault(name, {})
    harvests = as_object(raw["harvestsByWorkspace"])
    for key, bucket in harvests.items():
        harvests[key] = pruned_harvests(bucket) if isinstance(bucket, dict) else bucket
    return raw


def pruned_harvests(bucket: Mapping[str, Any]) -> dict[str, Any]:
    """Return the newest 20 of the harvest records `bucket` of one workspace, in their order on disk.

    Records that cannot be read are kept in addition.
    """
    good = {key: value for key, value in bucket.items() if _accepts(HarvestModel, value)}
    newest = sorted(
        good, key=lambda key: good[key].get("completedAt") or good[key]["startedAt"], reverse=True
    )
    dropped = set(newest[HARVESTS_KEPT:])
    return {key: value for key, value in bucket.items() if key not in dropped}


def take_rejected(raw: dict[str, Any]) -> dict[str, Any]:
    """Remove from the data `raw` of a coverage sidecar the records that the agent's loader cannot read.

    Returns the removed records by bucket (the kind of records).
    """
    rejected: dict[str, Any] = {}
    for name in ("workspaces", "projects"):
        bucket = raw.get(name)
        if bucket is not None and not isinstance(bucket, dict):
            rejected[name] = raw.pop(name)
        elif bucket:
            bad = {key: value for key, value in bucket.items() if not is_record(value)}
            if bad:
                rejected[name] = bad
                raw[name] = {key: value for key, value in bucket.items() if key not in bad}
    return rejected


class _Saved(Struct, frozen=True):
    """A coverage record (of a consolidation) that Reverie has saved, with the time of the save."""

    record: Mapping[str, Any]
    workspace_id: str | None
    project_path: str | None
    at: float
    """The time of the save in monotonic seconds."""

    def into(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Add this record to `raw`, the data of a coverage sidecar; return the data.

        It is added wherever the present record is missing or older.
        """
        for name, key in (("workspaces", self.workspace_id), ("projects", self.project_path)):
            present = _bucket(raw, name).get(key) if key is not None else None
            last = present["lastRunAt"] if isinstance(present, dict) and is_record(present) else 0
            if key is not None and last < self.record["lastRunAt"]:
                _bucket(raw, name)[key] = dict(self.record)
        return tidied(raw)


class CoverageLog:
    """The coverage sidecar of one home: the file that records the last consolidations and harvests."""

    def __init__(
        self, path: Path, *, lock_dir: Path, clock: Clock, require: Callable[[], None] = lambda: None
    ) -> None:
        """Open the sidecar file at `path`; `require` raises a `UserError` while it must not be written."""
        rejected = path.with_name(path.name + ".rejected.json")
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock, require=require)
        self._rejected = Sidecar(rejected, lock_dir=lock_dir, clock=clock, require=require)
        self._saved: list[_Saved] = []

    def load(self) -> Coverage:
        """Return the valid records of consolidations and harvests.

        Raises `Unavailable` if the file cannot be read now; damage is reported in `problems`, not raised.
        """
        read = self._sidecar.read()
        coverage = read_coverage(read.data)
        if read.state == "unreadable":
            return replace(coverage, problems=(f"The coverage sidecar cannot be read: {read.problem}",))
        return coverage

    def save(self, record: Mapping[str, Any], *, workspace_id: str | None, project_path: str | None) -> None:
        """Save the record of a consolidation for a workspace and a project in one atomic change of the file.

        `workspace_id`, `project_path`: None if the run had none.
        """
        self.change(
            lambda raw: with_record(raw, record, workspace_id=workspace_id, project_path=project_path)
        )
        self._saved.append(_Saved(dict(record), workspace_id, project_path, time.monotonic()))

    def look_again(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Save records again that the agent has overwritten since they were saved.

        The agent writes data that it read some milliseconds before, so this is checked one second after each
        save; `wait` waits for a number of seconds. A newer record is not replaced. Never raises: errors are
        only logged, because the run is over and its own record is complete.
        """
        saved, self._saved = self._saved, []
        for each in saved:
            left = each.at + _SETTLED_S - time.monotonic()
            if left > 0:
                wait(left)
            try:
                if self._is_lost(each):
                    self.change(each.into)
            except UserError as error:
                _log.info("the coverage record could not be checked: %s", error)

    def _is_lost(self, saved: _Saved) -> bool:
        now = read_coverage(self._sidecar.read().data)
        found = [now.workspaces.get(saved.workspace_id)] if saved.workspace_id is not None else []
        found += [now.projects.get(saved.project_path)] if saved.project_path is not None else []
        return any(each is None or each["lastRunAt"] < saved.record["lastRunAt"] for each in found)

    def change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change the data of the whole sidecar by `change`, in one atomic read-modify-write.

        Records that the agent's loader cannot read are moved to the file of rejected records first.
        """

        def cleaned(raw: dict[str, Any]) -> dict[str, Any]:
            rejected = take_rejected(raw)
            if rejected:
                self._rejected.collect(rejected)
            return change(raw)

        self._sidecar.update(cleaned)

    def holds(self, record: Mapping[str, Any], *, workspace_id: str | None, project_path: str | None) -> bool:
        """Return True if the sidecar has exactly this record, so that the run has passed its commit point.

        The record is searched under the workspace or, if `workspace_id` is None, under the project.
        """
        raw = self._sidecar.read().data
        name, key = ("workspaces", workspace_id) if workspace_id is not None else ("projects", project_path)
        bucket = raw.get(name)
        return isinstance(bucket, dict) and key is not None and bucket.get(key) == record


def _bucket(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object `name` in the data of a sidecar; if it is missing or no object, add an empty one."""
    bucket = raw.get(name)
    if not isinstance(bucket, dict):
        bucket = raw[name] = {}
    return bucket


def _good(
    bucket: object, label: str, model: type[BaseModel], problems: list[str]
) -> dict[str, Mapping[str, Any]]:
    """Return the valid records of a bucket of a sidecar, by key.

    If others are left out, a message is added to `problems`, in which `label` names the bucket.
    """
    if not isinstance(bucket, dict):
        problems.append(f"The {label} of the coverage sidecar are not an object.")
        return {}
    good = {key: value for key, value in bucket.items() if _accepts(model, value)}
    bad = [key for key in bucket if key not in good]
    if bad:
        shown = ", ".join(bad[:3]) + (", …" if len(bad) > 3 else "")
        problems.append(f"{len(bad)} of the {label} in the coverage sidecar cannot be read: {shown}.")
    return good


def _accepts(model: type[BaseModel], value: Any) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


Refusal = Literal["harvested", "in-flight", "attempts-used-up"]

_ERROR_CHARS = 500


def refusal(record: Mapping[str, Any] | None, *, now: int) -> Refusal | None:
    """Return the reason why a compacted conversation cannot be harvested now; None if it can.

    `record` is the record of its harvest, None if it was never harvested. `now`: UTC ms.
    """
    if record is None:
        return None
    if record["status"] == "completed":
        return "harvested"
    if record["status"] == "pending" and now - record["startedAt"] <= STALE_PENDING_MS:
        return "in-flight"
    return "attempts-used-up" if record["attemptCount"] >= HARVEST_ATTEMPTS else None


def pending(
    workspace_id: str, boundary: Boundary, previous: Mapping[str, Any] | None, *, now: int
) -> dict[str, Any]:
    """Return the record of a new attempt to harvest the compaction `boundary`.

    `previous` is the record of the attempt before, None for the first one. `now`: UTC ms.
    """
    record: dict[str, Any] = {
        "status": "pending",
        "startedAt": now,
        "attemptCount": int(previous["attemptCount"]) + 1 if previous else 1,
        "boundaryKey": boundary.summary_message_id,
        "compactionEpoch": boundary.epoch,
        "acceptedCandidates": 0,
        "skippedCandidates": 0,
    }
    if boundary.request_message_id is None:
        # The agent refuses a record whose metadata lacks the request, and a truncated transcript has no row
        # of the request.
        return record
    metadata: dict[str, Any] = {
        "workspaceId": workspace_id,
        **columns(boundary, "summary_message_id summaryHistorySequence=sequence compactionEpoch=epoch"),
    }
    if boundary.previous_sequence is not None:
        metadata["previousBoundaryHistorySequence"] = boundary.previous_sequence
    metadata["compactionRequestMessageId"] = boundary.request_message_id
    return {**record, "completionMetadata": metadata}


def completed(
    record: Mapping[str, Any], *, now: int, accepted: int, skipped: int, usage: Mapping[str, int] | None
) -> dict[str, Any]:
    """Return the harvest record `record` as it is after a success.

    `accepted`, `skipped`: the numbers of candidates. `usage` is `{inputTokens, outputTokens}`, None if
    unknown. `now`: UTC ms.
    """
    ended = {
        **record,
        "status": "completed",
        "completedAt": now,
        "acceptedCandidates": accepted,
        "skippedCandidates": skipped,
    }
    return {**ended, "usage": dict(usage)} if usage else ended


def failed(record: Mapping[str, Any], *, now: int, error: str) -> dict[str, Any]:
    """Return the harvest record `record` as it is after a failure; `error` is redacted and truncated.

    `now`: UTC ms.
    """
    return {
        **record,
        "status": "failed",
        "completedAt": now,
        "error": cut_utf16(redact(error), _ERROR_CHARS),
    }


class HarvestLog:
    """The records of the harvests of one home, in its coverage sidecar.

    A harvest collects memories from a conversation that the agent compacted, that is, replaced by a summary.
    """

    def __init__(self, coverage: CoverageLog, clock: Clock) -> None:
        self._coverage = coverage
        self._clock = clock

    def record(self, workspace_id: str, boundary_key: str) -> Mapping[str, Any] | None:
        """Return the record of the harvest of one compaction; None if there is none.

        `boundary_key`: the key of the compaction, at which the agent replaced a conversation by a summary.
        """
        return self._coverage.load().harvests.get(workspace_id, {}).get(boundary_key)

    def due(self) -> tuple[tuple[str, str], ...]:
        """Return each harvest to attempt again, oldest first, as (workspace id, key of the compaction).

        These are harvests that failed or were abandoned, and have attempts left.
        """
        now = self._clock()
        found = [
            (record["startedAt"], workspace_id, key)
            for workspace_id, records in self._coverage.load().harvests.items()
            for key, record in records.items()
            if refusal(record, now=now) is None
        ]
        return tuple((workspace_id, key) for _started, workspace_id, key in sorted(found))

    def save(
        self,
        workspace_id: str,
        record: Mapping[str, Any],
        *,
        after: Mapping[str, Any] | Literal["any"] | None = "any",
    ) -> bool:
        """Save the record of a harvest in one atomic change of the sidecar; keep only the newest 20.

        `after` is the record that this one must replace, None if there must be none; "any" skips this check.
        If the sidecar holds another one by now, nothing is changed and False is returned: this process was
        suspended, and another harvest came first.
        """
        if not is_harvest(record):
            raise ValueError("a harvest record that the agent's loader would refuse")
        saved = False

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            buckets = _bucket(raw, "harvestsByWorkspace")
            bucket = dict(as_object(buckets.get(workspace_id)))
            previous = bucket.get(record["boundaryKey"])
            nonlocal saved
            saved = after == "any" or _attempt(previous) == _attempt(after)
            if not saved:
                return raw
            bucket[record["boundaryKey"]] = {**_unknown(as_object(previous)), **record}
            buckets[workspace_id] = bucket
            return tidied(raw)

        self._coverage.change(change)
        return saved

    def give_up(self, workspace_id: str, record: Mapping[str, Any]) -> None:
        """Save a pending harvest as failed, if its process has ended and no attempt is left.

        `record`: its record as JSON data.
        """
        shown = shown_harvest(record, now=self._clock())
        if record["status"] == "pending" and shown["status"] == "failed":
            self.save(workspace_id, shown, after=record)


_KNOWN = frozenset(field.alias or name for name, field in HarvestModel.model_fields.items())


def _attempt(record: object) -> tuple[object, ...] | None:
    """Return the values by which an attempt and its state are recognised; None for an invalid record."""
    if not isinstance(record, Mapping) or not is_harvest(record):
        return None
    return record["status"], record["startedAt"], record["attemptCount"]


def _unknown(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that this version does not know; a new attempt preserves them."""
    return {key: value for key, value in record.items() if key not in _KNOWN}
