"""The file of the ledger: Reverie's changes to an agent's file of pins and uses (`memory.ledger`).

Threading: any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reverie.errors import user_error_from_os
from reverie.files.atomic import temporary_name
from reverie.files.directory import ensure_private, read_regular
from reverie.files.sidecar import parse_object, stringify
from reverie.memory.ledger import Delta, Ledger
from reverie.memory.usage_rules import to_raw, usage_of
from reverie.values import columns


class LedgerFile:
    """The file at `path` that stores the ledger (`Ledger`); the first write creates its directory, mode 0700.

    The file is replaced whole, so it is never half written. It is not synced to the disk, because it only
    protects against an agent that overwrites a file, and an outdated ledger after a power failure does no
    harm. A sync would double the cost of each counted use. Only the holder of the lock on the usage sidecar
    writes it; damaged items are ignored on reading.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Ledger:
        """Return the ledger; an empty one if there is no valid file.

        Raises `UserError` if the file cannot be read.
        """
        try:
            return _ledger_from(parse_object(read_regular(self._path)))
        except (FileNotFoundError, ValueError):
            return Ledger()
        except OSError as error:
            raise user_error_from_os(error, f"“{self._path.name}” could not be read.") from error

    def write(self, ledger: Ledger) -> None:
        """Replace the whole file by `ledger`.

        Raises `UserError`; the old file is then unchanged.
        """
        ensure_private(self._path.parent)
        replace_unsynced(self._path, _stored(ledger))


def replace_unsynced(path: Path, data: dict[str, Any]) -> None:
    """Replace the whole JSON file at `path` by `data`, without syncing it to the disk.

    Raises `UserError`; the old file is then unchanged.
    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        temporary.write_bytes(stringify(data))
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise user_error_from_os(error, f"“{path.name}” could not be written.") from error


def _stored(ledger: Ledger) -> dict[str, Any]:
    """Return `ledger` as JSON data."""
    data: dict[str, Any] = {
        "version": ledger.version,
        "deltas": {key: _stored_delta(delta) for key, delta in ledger.deltas.items()},
        "announced": ledger.announced,
    }
    if ledger.origin is not None:
        version, earlier = ledger.origin
        data["origin"] = {"version": version, "ledger": _stored(earlier)}
    return data


def _stored_delta(delta: Delta) -> dict[str, Any]:
    return {
        "before": None if delta.before is None else to_raw(delta.before),
        "after": None if delta.after is None else to_raw(delta.after),
        **columns(delta, "at lost overwritten"),
    }


def _ledger_from(data: Mapping[str, Any]) -> Ledger:
    version, deltas = data.get("version"), data.get("deltas")
    return Ledger(
        version if isinstance(version, str) else "",
        {key: _delta_from(raw) for key, raw in deltas.items() if isinstance(raw, dict)}
        if isinstance(deltas, dict)
        else {},
        data.get("announced") is True,
        _origin_from(data.get("origin")),
    )


def _delta_from(raw: Mapping[str, Any]) -> Delta:
    before, after, at = raw.get("before"), raw.get("after"), raw.get("at")
    return Delta(
        None if before is None else usage_of(before),
        None if after is None else usage_of(after),
        at if isinstance(at, int) else 0,
        raw.get("lost") is True,
        raw.get("overwritten") is True,
    )


def _origin_from(raw: object) -> tuple[str, Ledger] | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("ledger"), dict):
        return None
    return str(raw.get("version")), _ledger_from({**raw["ledger"], "origin": None})
