"""The files of traces: Reverie's own, and dumps of writer runs in the agent's directory.

Threading: any thread but the GUI's. Failure: `UserError` for disk problems.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.reading import as_list, objects_of
from reverie.errors import Conflict, StoreError, UserError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, read_regular
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar, parse_object, stringify
from reverie.text.redact import redacted
from reverie.values import Struct, as_dict

KEEP_COUNT = 500
KEEP_BYTES = 256 << 20
_NAME = re.compile(r"(?P<started>\d{1,16})-[A-Za-z0-9-]{1,64}\.json", re.ASCII)


class TraceStore:
    """The traces of one home, in `<data>/traces/<home id>/<run id>.json`.

    Files have mode 0600 in a directory of 0700 and are written atomically. Every text is redacted once more
    when it is saved, as a second safeguard. Each save also deletes old traces: the newest ones within the
    limits of number and size are kept, and always the one that was just saved. A damaged trace is reported
    but not deleted for that reason; other files in the directory are never changed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path_of(self, run_id: str) -> Path:
        """Return the path of the trace of the run `run_id`; the file may be missing.

        Raises `StoreError` for an id of another form.
        """
        name = f"{run_id}.json"
        if not _NAME.fullmatch(name):
            raise StoreError(
                f"{run_id!r} is not a run ID.",
                next_step="Find the ID in the list of runs.",
                reason="missing",
            )
        return self._directory / name

    def save(self, run_id: str, document: Mapping[str, Any]) -> Path:
        """Write the trace of the run `run_id`, then delete old traces; return the path of the file.

        `document`: the result of `Trace.to_document`. `run_id` may have a suffix (`-2`) if a run has several
        traces. Raises `UserError`.
        """
        path = self.path_of(run_id)
        ensure_private(self._directory)
        atomic_write(path, stringify(redacted(dict(document))), mode=0o600)
        self.prune(always=path.name)
        return path

    def load(self, run_id: str) -> dict[str, Any]:
        """Return the trace of the run `run_id` as JSON data.

        Raises `StoreError` if it is missing or damaged, and `Unavailable` if it cannot be read.
        """
        path = self.path_of(run_id)
        try:
            return parse_object(read_regular(path))
        except FileNotFoundError:
            raise StoreError(
                f"There is no trace of run {run_id}.",
                cause="The run created no trace, or the trace was pruned.",
                next_step="Choose another run from the list.",
                reason="missing",
            ) from None
        except OSError as error:
            raise user_error_from_os(error, f"The trace of run {run_id} could not be read.") from error
        except ValueError as error:
            raise StoreError(
                f"The trace of run {run_id} is damaged.",
                cause=f"In {path.name}: {error}.",
                next_step=f"Check {path}.",
                reason="damaged",
            ) from error

    def ids(self) -> tuple[str, ...]:
        """Return the run ids of all traces, newest first."""
        return tuple(name.removesuffix(".json") for name, _ in self._files())

    def prune(
        self, *, keep_count: int = KEEP_COUNT, keep_bytes: int = KEEP_BYTES, always: str = ""
    ) -> tuple[str, ...]:
        """Delete the oldest traces beyond the limits, except the file named `always`; return the deleted ids.

        `keep_count`: the largest number of traces to keep; `keep_bytes`: their largest total size. `always`:
        empty for no exception.
        """
        removed: list[str] = []
        kept, used = 0, 0
        for name, size in sorted(self._files(), key=lambda file: file[0] != always):
            if name == always or (kept < keep_count and used + size <= keep_bytes):
                kept, used = kept + 1, used + size
                continue
            # Another Reverie process may prune at the same time.
            with contextlib.suppress(FileNotFoundError):
                try:
                    (self._directory / name).unlink()
                except PermissionError as error:
                    raise user_error_from_os(error, f"The old trace {name} could not be removed.") from error
            removed.append(name.removesuffix(".json"))
            keep_bytes = 0  # remove everything older than a removed one
        return tuple(removed)

    def _files(self) -> list[tuple[str, int]]:
        """Return the file name and size in bytes of every trace, newest first."""
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
            raise user_error_from_os(error, "The traces could not be listed.") from error
        return sorted(found, key=lambda file: _age_key(file[0]), reverse=True)


def _age_key(name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    return (int(match["started"]) if match else 0, name)


_OUTSIDE_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SAME_NAMES = 100


def dump_name(run_started_at: int, trigger_message_id: str) -> str:
    """Return the file name of the dump (trace file) of a run, in the agent's own format.

    `run_started_at`: UTC ms; `trigger_message_id`: the id of the message that triggered the run.
    """
    return f"{run_started_at}_{_OUTSIDE_A_NAME.sub('_', trigger_message_id)}.json"


class _Written(Struct, frozen=True):
    rel: str
    sha256: str
    size: int


class Dumps:
    """The trace files ("dumps") of memory-writer runs that Reverie writes into the home at `root`.

    They are in the agent's own directory `debug_obj`, where its users expect them (formats/mux.md section
    14). A dump is written once, redacted once more, and never changed. `ledger`, a file in Reverie's own
    directory, lists the dumps that Reverie wrote; pruning removes a dump only if it is listed and its content
    has not changed. `require` raises if the home must not be written to.
    """

    def __init__(self, root: Path, ledger: Sidecar, require: Callable[[], None] = lambda: None) -> None:
        self._require = require
        self._root = root
        self._files = RootedDirectory(root)
        self._ledger = ledger

    def write(self, directory: Path, document: Mapping[str, Any]) -> Path:
        """Write the trace `document` to a new file in `directory`; return the path of the file.

        `directory` must be below the home. The file name is built from the document. Raises `UserError`.
        """
        self._require()
        data = stringify(redacted(dict(document)))
        name = dump_name(int(document["runStartedAt"]), str(document["triggerMessageId"]))
        rel = self._create(directory.relative_to(self._root).as_posix(), name, data)
        entry = as_dict(_Written(rel, hashlib.sha256(data).hexdigest(), len(data)))

        def add(ledger: dict[str, Any]) -> dict[str, Any]:
            return {**ledger, "dumps": [*as_list(ledger.get("dumps")), entry]}

        self._ledger.update(add)
        return self._root / rel

    def written(self) -> frozenset[Path]:
        """Return the paths of the dumps that the ledger lists as written by Reverie."""
        return frozenset(self._root / item.rel for item in _listed(self._ledger.read().data))

    def prune(self, *, keep_count: int, keep_bytes: int) -> tuple[Path, ...]:
        """Delete the oldest of Reverie's own dumps beyond the limits; return the paths of the deleted ones.

        `keep_count`: the largest number of dumps to keep; `keep_bytes`: their largest total size. The newest
        dump is never deleted.
        """
        self._require()
        kept, used = 0, 0
        doomed: list[_Written] = []
        for item in reversed(_listed(self._ledger.read().data)):
            used += item.size
            if not kept or (kept < keep_count and used <= keep_bytes):
                kept += 1
            else:
                doomed.append(item)
        if not doomed:
            return ()
        removed = tuple(self._root / item.rel for item in doomed if self._remove(item))
        gone = {item.rel for item in doomed}

        def forget(ledger: dict[str, Any]) -> dict[str, Any]:
            left = [item for item in _listed(ledger) if item.rel not in gone]
            return {**ledger, "dumps": [as_dict(item) for item in left]}

        self._ledger.update(forget)
        return removed

    def _create(self, directory: str, name: str, data: bytes) -> str:
        stem = name.removesuffix(".json")
        for number in range(1, _SAME_NAMES):
            rel = f"{directory}/{name}" if number == 1 else f"{directory}/{stem}-{number}.json"
            try:
                self._files.write(rel, data, create_only=True, mode=0o600)
            except Conflict:
                continue
            return rel
        raise StoreError(
            f"The trace file {name} could not be written.", cause="Too many files have similar names."
        )

    def _remove(self, item: _Written) -> bool:
        """Delete the dump that `item` of the ledger describes; return whether it was deleted.

        A file that was changed since, is missing or cannot be reached is not deleted.
        """
        try:
            data = self._files.read(item.rel)
            if hashlib.sha256(data).hexdigest() != item.sha256:
                return False
            self._files.remove(item.rel)
        except UserError:
            return False  # missing already, or out of reach: not worth an error
        return True


def _listed(ledger: Mapping[str, Any]) -> list[_Written]:
    """Return the valid entries of a ledger (list of the dumps that Reverie wrote), oldest first."""
    return [
        _Written(item["rel"], item["sha256"], item["size"])
        for item in objects_of(ledger.get("dumps"))
        if isinstance(item.get("rel"), str)
        and isinstance(item.get("sha256"), str)
        and isinstance(item.get("size"), int)
    ]
