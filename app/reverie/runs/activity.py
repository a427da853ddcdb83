"""The Activity log: every decision of the background services, one JSON object per line, newest last.

A decision that repeats the last one of the same event and workspace (a "gate") makes no new entry: only a
short `again` line is appended, which `read` adds to the entry's counter. This holds even if other entries
were written in between. Texts are redacted. Damaged lines are skipped and counted, never fatal.

`add` never raises or blocks, even if the path is a directory, pipe or device; the first lost entry is logged
as a warning.

Threading: any thread and process; one lock per file. Failure: `read` raises `Unavailable`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reverie.clock import Clock
from reverie.errors import UserError, user_error_from_os
from reverie.files.directory import ensure_private, open_regular
from reverie.files.locks import file_lock
from reverie.text.redact import redact, redacted
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from reverie.runs.record import RunRecord

_ROTATE_BYTES = 4 * 1024 * 1024
_TAIL_BYTES = 64 * 1024
_BLOCK_BYTES = 256 * 1024
_NO_DETAILS: Mapping[str, Any] = MappingProxyType({})
_log = logging.getLogger("reverie.activity")

Gate = tuple[str, str]
"""The event and workspace id of an entry; entries that have both in common can repeat each other."""


class ActivityEntry(Struct, frozen=True):
    """One decision of a background service, as an entry of the Activity log."""

    at: int
    """The time of the decision, UTC ms."""
    event: str
    """The name of the decision, such as `consolidation.started`."""
    level: str
    """`info` or `warning`."""
    text: str
    home: str = ""
    """The path of the home."""
    workspace_id: str | None = None
    """The workspace that the decision concerns; None if there is none."""
    run_id: str | None = None
    """The run that the decision concerns; None if there is none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    times: int = 1
    """The number of times in a row that this decision was made."""
    last_at: int = 0
    """The time of the last repetition, UTC ms; `at` if there was none."""


class _Repeated(Struct):
    """The repetitions of an entry, counted before the entry itself is read.

    The log is read from its last line to its first, and the repetitions of an entry come after it.
    """

    number: int
    """The position of the last repetition, counted from the end of the log; it becomes that of the entry."""
    last_at: int
    """The time of the last repetition, UTC ms."""
    times: int = 0
    """The number of repetitions that were read so far."""


class Activity:
    """The Activity log of one home, with the decisions of its background services."""

    def __init__(self, file: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._file = file
        self._lock_dir = lock_dir
        self._clock = clock
        self._warned = False
        self.damaged_lines = 0

    def add_of_run(
        self, event: str, text: str, run: RunRecord, level: str, details: Mapping[str, Any] = _NO_DETAILS
    ) -> None:
        """Append a decision about a run, as `add` does, with the home and the workspace of the run."""
        home, workspace, id_ = run.home_root, run.workspace_id, run.id
        self.add(
            event, level=level, text=text, home=home, workspace_id=workspace, run_id=id_, details=details
        )

    def add(
        self,
        event: str,
        *,
        level: str,
        text: str,
        home: str,
        workspace_id: str | None,
        run_id: str | None = None,
        details: Mapping[str, Any] = _NO_DETAILS,
    ) -> None:
        """Append one decision; if it repeats the previous one, only increase the counter of that entry.

        An entry is compared with the last one that has the same event and workspace. `level`: "info" or
        "warning". `home`: the path of the home; `workspace_id`, `run_id`: the workspace and the run that the
        decision concerns, None if there is none; `details`: further facts, as JSON values. Never raises,
        because the work that an entry describes must not fail with the log.
        """
        entry = {
            "at": self._clock(),
            "event": event,
            "level": level,
            "text": redact(text),
            "home": home,
            "workspaceId": workspace_id,
            "runId": run_id,
            "details": redacted(details),
        }
        try:
            self._write(entry)
        except UserError as error:
            _log.log(logging.INFO if self._warned else logging.WARNING, "Activity was not written: %s", error)
            self._warned = True

    def read(self, limit: int = 1000) -> tuple[ActivityEntry, ...]:
        """Return at most `limit` entries, newest first, from the log and its rotated file.

        Sets the attribute `damaged_lines` to the number of lines that were skipped because they are damaged.
        """
        # The order is that of the last line of each entry, because a clock may stand still (`--now`) or go
        # back. The file is read from its end: it is read again after every decision, and the view shows only
        # the newest part.
        found: dict[int, ActivityEntry] = {}
        repeated: dict[Gate, _Repeated] = {}
        self.damaged_lines = 0
        for number, item in enumerate(self._items_backwards()):
            if len(found) >= limit and not repeated:
                break
            gate = _gate(item)
            if "again" in item:
                before = repeated.setdefault(gate, _Repeated(number, item["again"]))
                before.times += 1
            elif gate in repeated:
                after = repeated.pop(gate)
                found[after.number] = replace(_entry(item), times=1 + after.times, last_at=after.last_at)
            else:
                found[number] = _entry(item)
        # Counts left in `repeated` belong to entries that have been rotated away.
        return tuple(found[number] for number in sorted(found)[:limit])

    def _items_backwards(self) -> Iterator[dict[str, Any]]:
        for file in (self._file, self._rotated):
            for line in _lines_backwards(file):
                item = _parsed(line)
                if item is None:
                    self.damaged_lines += 1
                else:
                    yield item

    def _write(self, entry: Mapping[str, Any]) -> None:
        ensure_private(self._file.parent)
        with file_lock(self._lock_dir, self._file):
            last = self._last_of(_gate(entry))
            same = last is not None and all(last[key] == entry[key] for key in entry if key != "at")
            again = {"again": entry["at"], "event": entry["event"], "workspaceId": entry["workspaceId"]}
            self._append(json.dumps(again if same else entry, ensure_ascii=True) + "\n")

    def _last_of(self, gate: Gate) -> dict[str, Any] | None:
        """Return the newest entry with the event and workspace id `gate` in the last 64 KiB of the log.

        Lines that only count a repetition (with the key `again`) are skipped. Returns None if there is no
        such entry.
        """
        for line in reversed(_tail(self._file).splitlines()):
            item = _parsed(line)
            if item is not None and "again" not in item and _gate(item) == gate:
                return item
        return None

    def _append(self, line: str) -> None:
        try:
            with contextlib.suppress(FileNotFoundError):
                status = self._file.stat()
                if stat.S_ISREG(status.st_mode) and status.st_size > _ROTATE_BYTES:
                    self._file.replace(self._rotated)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            with os.fdopen(open_regular(self._file, flags, mode=0o600), "r+b", buffering=0) as file:
                # A kill may have left half a line at the end; the new entry must start on its own line.
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else "\n" + line
                data = line.encode()
                while data:  # a full disk accepts a part, and only the next write raises
                    data = data[file.write(data) :]
        except OSError as error:
            raise user_error_from_os(error, "The Activity log could not be written.") from error

    @property
    def _rotated(self) -> Path:
        return self._file.with_name(self._file.name + ".1")


_REQUIRED = {"at": int, "event": str, "level": str, "text": str, "home": str, "details": dict}


def _gate(item: Mapping[str, Any]) -> Gate:
    return str(item.get("event")), str(item.get("workspaceId"))


def _entry(item: Mapping[str, Any]) -> ActivityEntry:
    # Thousands of entries share these strings, so each is stored once.
    workspace_id = item.get("workspaceId")
    return ActivityEntry(
        item["at"],
        sys.intern(item["event"]),
        sys.intern(item["level"]),
        item["text"],
        sys.intern(item["home"]),
        sys.intern(workspace_id) if isinstance(workspace_id, str) else workspace_id,
        item["runId"],
        item["details"],
        last_at=item["at"],
    )


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in `line` if it is an entry or a repetition (key `again`), else None."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("again"), int):
        return item
    whole = all(isinstance(item.get(name), kind) for name, kind in _REQUIRED.items())
    return {"runId": None, **item} if whole else None


def _lines_backwards(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file from last to first, holding at most one block in memory."""
    try:
        with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as opened:
            end, rest = opened.seek(0, 2), b""
            while end:
                start = max(0, end - _BLOCK_BYTES)
                opened.seek(start)
                first, *lines = (opened.read(end - start) + rest).split(b"\n")
                yield from (line for line in reversed(lines) if line)
                end, rest = start, first
            if rest:
                yield rest
    except FileNotFoundError:
        return
    except OSError as error:
        raise user_error_from_os(error, "The Activity log could not be read.") from error


def _tail(file: Path) -> bytes:
    try:
        with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as opened:
            opened.seek(max(0, opened.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return opened.read(_TAIL_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise user_error_from_os(error, "The Activity log could not be read.") from error
