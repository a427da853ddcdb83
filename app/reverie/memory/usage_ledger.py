"""Where the ledger of usage changes lies: one JSON file in Reverie's own data directory.

It is replaced whole, so that it is never half written, but not forced to the disk: it protects against an
agent that overwrites a file, and an outdated or missing ledger after a power failure protects a little less
and harms nothing. Forcing it would double the cost of each counted use.

Who holds the lock on the usage sidecar may write; readers need none. What is damaged in the file is left out,
item by item. Failure: `Unavailable`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reverie.errors import mendable_from_os
from reverie.files.atomic import temporary_name
from reverie.files.directory import ensure_private
from reverie.files.jsjson import parse_object, stringify
from reverie.files.regular import read_regular
from reverie.memory.usage_deltas import Delta, Ledger
from reverie.memory.usage_entries import spelt, usage_of


class LedgerFile:
    """The file at `path`; its directory is made, closed to others, by the first write."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Ledger:
        """The ledger; an empty one if there is none that can be understood."""
        try:
            return _ledger_from(parse_object(read_regular(self._path)))
        except (FileNotFoundError, ValueError):
            return Ledger()
        except OSError as error:
            raise mendable_from_os(error, f"“{self._path.name}” could not be read.") from error

    def write(self, ledger: Ledger) -> None:
        """Replace the file whole. Raises `MendableError`; the old one stays then."""
        ensure_private(self._path.parent)
        temporary = self._path.with_name(temporary_name(self._path.name))
        try:
            temporary.write_bytes(stringify(_stored(ledger)))
            temporary.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise mendable_from_os(error, f"“{self._path.name}” could not be written.") from error


def _stored(ledger: Ledger) -> dict[str, Any]:
    """`ledger` as JSON data."""
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
        "before": None if delta.before is None else spelt(delta.before),
        "after": None if delta.after is None else spelt(delta.after),
        "at": delta.at,
        "lost": delta.lost,
        "overwritten": delta.overwritten,
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
