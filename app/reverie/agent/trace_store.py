"""Traces on disk: one JSON document per run, in Reverie's data directory and nowhere else.

Layout: `<data>/traces/<home id>/<run id>.json`, mode 0600 in a directory of 0700, written atomically. Every
text passes the redactor once more on its way out: the trace is clean already, this is the second lock. Each
save prunes: the newest traces stay, as many as the count and the size allow, the one just saved always.

Threading: any thread but the GUI's. Failure: `MendableError` for disk problems; a damaged trace is told as
such and never deleted for it. What else lies in the directory is left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reverie.errors import StoreError, mendable_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private
from reverie.files.jsjson import parse_object, stringify
from reverie.files.regular import read_regular
from reverie.text.redact import redacted

KEEP_COUNT = 500
KEEP_BYTES = 256 << 20
_NAME = re.compile(r"(?P<started>\d{1,16})-[A-Za-z0-9-]{1,64}\.json", re.ASCII)


class TraceStore:
    """The traces of one home."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path_of(self, run_id: str) -> Path:
        """Where the trace of a run is, or would be. Raises `StoreError` for what is no run id."""
        name = f"{run_id}.json"
        if not _NAME.fullmatch(name):
            raise StoreError(
                f"{run_id!r} is no run id.", next_step="List the runs to find it.", reason="missing"
            )
        return self._directory / name

    def save(self, run_id: str, document: Mapping[str, Any]) -> Path:
        """Write a trace (`Trace.to_document`), then prune. `run_id` may carry a suffix (`-2`) where a run has
        several."""
        path = self.path_of(run_id)
        ensure_private(self._directory)
        atomic_write(path, stringify(redacted(dict(document))), mode=0o600)
        self.prune(always=path.name)
        return path

    def load(self, run_id: str) -> dict[str, Any]:
        """One trace. Raises `StoreError` where there is none, or it cannot be read."""
        path = self.path_of(run_id)
        try:
            return parse_object(read_regular(path))
        except FileNotFoundError:
            raise StoreError(
                f"There is no trace of run {run_id}.",
                cause="The run made none, or it was pruned.",
                next_step="List the runs to find another.",
                reason="missing",
            ) from None
        except OSError as error:
            raise mendable_from_os(error, f"The trace of run {run_id} was not read.") from error
        except ValueError as error:
            raise StoreError(
                f"The trace of run {run_id} is damaged.",
                cause=f"In {path.name}: {error}.",
                next_step=f"Look at {path}.",
                reason="damaged",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """The ids of all traces, newest first."""
        return tuple(name.removesuffix(".json") for name, _ in self._files())

    def prune(
        self, *, keep_count: int = KEEP_COUNT, keep_bytes: int = KEEP_BYTES, always: str = ""
    ) -> tuple[str, ...]:
        """Remove the oldest traces beyond the limits, but for the file named `always`; the ids removed."""
        removed: list[str] = []
        kept, used = 0, 0
        for name, size in sorted(self._files(), key=lambda file: file[0] != always):
            if name == always or (kept < keep_count and used + size <= keep_bytes):
                kept, used = kept + 1, used + size
                continue
            # Another Reverie prunes as well.
            with contextlib.suppress(FileNotFoundError):
                try:
                    (self._directory / name).unlink()
                except PermissionError as error:
                    raise mendable_from_os(error, f"The old trace {name} was not removed.") from error
            removed.append(name.removesuffix(".json"))
            keep_bytes = 0  # what is older than a pruned one goes too
        return tuple(removed)

    def _files(self) -> list[tuple[str, int]]:
        """Name and size of every trace, newest first."""
        found: list[tuple[str, int]] = []
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        with contextlib.suppress(FileNotFoundError):
                            found.append((entry.name, entry.stat(follow_symlinks=False).st_size))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise mendable_from_os(error, "The traces were not listed.") from error
        return sorted(found, key=lambda file: _age_key(file[0]), reverse=True)


def _age_key(name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    return (int(match["started"]) if match else 0, name)
