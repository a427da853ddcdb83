"""Harvest records: which compaction was mined when, by how many attempts (formats/mux.md section 9).

A record is saved as `pending` before the work starts, so that a killed harvest is seen; at most 3 attempts;
pending for over 5 minutes is stale, which another attempt may take over. A completed boundary is never
harvested again, whoever completed it. The newest 20 records of a workspace are kept.

The rules are pure; `HarvestLog` saves, one read-modify-write each, for any thread but the GUI's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from reverie.clock import Clock
from reverie.dream.coverage import (
    HARVEST_ATTEMPTS,
    STALE_PENDING_MS,
    CoverageLog,
    is_harvest,
    shown_harvest,
    tidied,
)
from reverie.text.redact import redact
from reverie.text.tokens import cut_utf16
from reverie.transcripts.turns import Boundary

Refusal = Literal["harvested", "in-flight", "attempts-used-up"]

_ERROR_CHARS = 500


def refusal(record: Mapping[str, Any] | None, *, now: int) -> Refusal | None:
    """Why a boundary with this record is not harvested now, or None: it may be."""
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
    """The record of an attempt that begins, `previous` being that of the attempt before."""
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
        # The agent refuses metadata without the request, and a whole record with it. A transcript that was
        # cut has no row of it.
        return record
    metadata: dict[str, Any] = {
        "workspaceId": workspace_id,
        "summaryMessageId": boundary.summary_message_id,
        "summaryHistorySequence": boundary.sequence,
        "compactionEpoch": boundary.epoch,
    }
    if boundary.previous_sequence is not None:
        metadata["previousBoundaryHistorySequence"] = boundary.previous_sequence
    metadata["compactionRequestMessageId"] = boundary.request_message_id
    return {**record, "completionMetadata": metadata}


def completed(
    record: Mapping[str, Any], *, now: int, accepted: int, skipped: int, usage: Mapping[str, int] | None
) -> dict[str, Any]:
    """The record of an attempt that came to its end. `usage`: `{inputTokens, outputTokens}`."""
    ended = {
        **record,
        "status": "completed",
        "completedAt": now,
        "acceptedCandidates": accepted,
        "skippedCandidates": skipped,
    }
    return {**ended, "usage": dict(usage)} if usage else ended


def failed(record: Mapping[str, Any], *, now: int, error: str) -> dict[str, Any]:
    """The record of an attempt that did not; `error` is redacted and cut."""
    return {
        **record,
        "status": "failed",
        "completedAt": now,
        "error": cut_utf16(redact(error), _ERROR_CHARS),
    }


class HarvestLog:
    """The harvest records of one home, in its coverage sidecar."""

    def __init__(self, coverage: CoverageLog, clock: Clock) -> None:
        self._coverage = coverage
        self._clock = clock

    def record(self, workspace_id: str, boundary_key: str) -> Mapping[str, Any] | None:
        """The record of one compaction as it stands in the sidecar; None for none."""
        return self._coverage.load().harvests.get(workspace_id, {}).get(boundary_key)

    def due(self) -> tuple[tuple[str, str], ...]:
        """`(workspace id, boundary key)` of every harvest that failed or was abandoned and has attempts left,
        oldest first."""
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
        """One atomic read-modify-write; prunes to the newest 20. `after`: the record that this one comes
        after. Where another one stands there by now, it stays, and False is returned: this process was
        suspended, and another harvest came first."""
        if not is_harvest(record):
            raise ValueError("a harvest record that the agent's loader would refuse")
        saved = False

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            buckets = raw.get("harvestsByWorkspace")
            if not isinstance(buckets, dict):
                buckets = raw["harvestsByWorkspace"] = {}
            bucket = buckets.get(workspace_id)
            bucket = dict(bucket) if isinstance(bucket, dict) else {}
            previous = bucket.get(record["boundaryKey"])
            nonlocal saved
            saved = after == "any" or _attempt(previous) == _attempt(after)
            if not saved:
                return raw
            kept = _unknown(previous) if isinstance(previous, dict) else {}
            bucket[record["boundaryKey"]] = {**kept, **record}
            buckets[workspace_id] = bucket
            return tidied(raw)

        self._coverage.change(change)
        return saved

    def give_up(self, workspace_id: str, record: Mapping[str, Any]) -> None:
        """Write down as failed what is pending for good."""
        shown = shown_harvest(record, now=self._clock())
        if record["status"] == "pending" and shown["status"] == "failed":
            self.save(workspace_id, shown, after=record)


_KNOWN = frozenset(
    {
        "status",
        "startedAt",
        "completedAt",
        "attemptCount",
        "boundaryKey",
        "compactionEpoch",
        "acceptedCandidates",
        "skippedCandidates",
        "error",
        "usage",
        "completionMetadata",
    }
)


def _attempt(record: object) -> tuple[object, ...] | None:
    """What tells the state of one attempt from any other; None where there is none."""
    if not isinstance(record, Mapping) or not is_harvest(record):
        return None
    return record["status"], record["startedAt"], record["attemptCount"]


def _unknown(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of other versions, which a new attempt keeps; what the last one said goes."""
    return {key: value for key, value in record.items() if key not in _KNOWN}
