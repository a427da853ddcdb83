"""The journal of a run: every change that the run is about to make, durable before its first effect.

A journal is `journal.json` in the run's own directory and names file contents by their SHA-256. The contents
are stored separately (`Profile.images`) and shared by the runs of a home, so that a record contains no memory
text. Both are written once, atomically, and afterwards only read: by the transaction, by recovery after a
crash, for review and for undo. Directories in a journal are relative to the home, because the home may move.

Threading: any thread but the GUI's. Failure: `Unavailable` for disk problems; `StoreError` with the reason
"damaged" for data that can never be read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from reverie.agents.scopes import COMPANIONS, Scope
from reverie.errors import StoreError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, read_regular
from reverie.memory.paths import memory_path
from reverie.memory.usage_rules import MemoryUsage
from reverie.values import Struct, as_dict, field

UsageDelta = Mapping[str, MemoryUsage | None]
"""Usage key -> pin and usage of the file; None if the file has none."""


class FileIntent(Struct, frozen=True):
    """One file that the run changes, with the hashes (SHA-256) of its content before and after.

    A hash of None means that there is no file. The root of the file is the directory of its scope.
    """

    key: str
    """The key of the file's root, such as `global` or `workspace/<id>`; `COMPANIONS` for a companion."""
    scope: Scope
    directory: str
    """The directory of the file's root, relative to the home."""
    usage_prefix: str | None
    """The beginning of the keys of all files below the root in the record of pins and use counts.

    None if it is unknown.
    """
    rel: str
    """The path of the file below its root."""
    before: str | None
    after: str | None
    mode: int | None = None
    """The permission bits with which a deleted file is restored."""
    place: int | None = None
    """Unused; journals of version 0.2 have it."""

    @property
    def path(self) -> str:
        """The path that people see: the memory path, or the path relative to the home for a companion.

        A companion is a file that the agent loads beside its memories.
        """
        return self.rel if self.key == COMPANIONS else str(memory_path(self.scope, self.rel))


class Journal(Struct, frozen=True):
    """All changes that a run is about to make: of files, directories, pins and usage."""

    intents: tuple[FileIntent, ...]
    emptied: tuple[tuple[str, str], ...] = ()
    """Directories that the run deletes if they are empty, as (directory of a root, path below it)."""
    made: tuple[tuple[str, str], ...] = ()
    """Directories that the run creates, deepest first, as (an existing directory above, path below it).

    Undo removes the ones that are empty by then.
    """
    usage_before: UsageDelta = field(default_factory=dict)
    """The pins and usage that the run changes, as they are before the run."""
    usage_after: UsageDelta = field(default_factory=dict)
    """The same pins and usage as they are after the run."""
    coverage: Mapping[str, Any] | None = None
    """The agent's record of the consolidation (coverage record) to write; None if the run has none."""
    for_review: bool = False
    """Whether the journal is only shown and never applied: a dry run, or a run that waits for a review."""
    ops: tuple[Mapping[str, Any], ...] = ()
    """The commands as the record stores them; empty if they are in the coverage record."""
    commit: str = ""
    """For a change by hand, the history's commit with the previous contents.

    Empty if the run's images (stored contents of files) have these contents.
    """


class Contents(Protocol):
    """A store of file contents by hash."""

    def put(self, data: bytes | None) -> str | None:
        """Store the bytes `data`; return the name by which `get` finds them.

        If `data` is None (no file), return None.
        """

    def get(self, name: str | None) -> bytes | None:
        """Return the content stored under `name`; None if `name` is None (no file).

        Raises `StoreError` if the content is missing or damaged.
        """


class Images:
    """The contents of files before and after the runs of a home, in one directory, named by their SHA-256."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes | None) -> str | None:
        """Store the bytes `data` durably; return the name by which `get` finds them.

        If `data` is None (no file), return None. A damaged copy is replaced.
        """
        if data is None:
            return None
        name = hashlib.sha256(data).hexdigest()
        path = ensure_private(self._directory) / name
        try:
            kept = read_regular(path) == data
        except OSError:
            kept = False
        if not kept:
            atomic_write(path, data, mode=0o600)
        return name

    def get(self, name: str | None) -> bytes | None:
        """Return the content stored under `name`; None if `name` is None (no file).

        Raises `StoreError` if the content is missing or damaged, `Unavailable` if it cannot be read now.
        """
        if name is None:
            return None
        try:
            data = read_regular(self._directory / name)
        except FileNotFoundError:
            raise _damaged("The run's copy of a file no longer exists.") from None
        except OSError as error:
            raise user_error_from_os(error, "The run's copy of a file could not be read.") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise _damaged("The run's copy of a file is damaged.")
        return data


def save_journal(run_directory: Path, journal: Journal) -> None:
    """Write the journal of a run durably; the contents of files that it names must be stored first."""
    data = json.dumps(as_dict(journal), ensure_ascii=True, indent=1).encode()
    atomic_write(ensure_private(run_directory) / "journal.json", data, mode=0o600)


def load_journal(run_directory: Path) -> Journal | None:
    """Return the journal of a run; None if the run wrote none and therefore changed nothing.

    Raises `StoreError` if the journal is damaged, `Unavailable` if it cannot be read now.
    """
    try:
        data = read_regular(run_directory / "journal.json")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise user_error_from_os(error, "The journal of a run could not be read.") from error
    return _parse(data)


def ops_of(journal: Journal | None) -> tuple[Mapping[str, Any], ...]:
    """Return the commands that a journal plans, in the format of a run's record, each marked as applied.

    Empty if there is no journal (None).
    """
    if journal is None:
        return ()
    if journal.coverage is not None:
        return tuple(journal.coverage["ops"])
    if journal.ops:
        return journal.ops
    return tuple(
        {"command": _command_of(intent), "path": intent.path, "applied": True, "note": "restored"}
        for intent in journal.intents
    )


def _command_of(intent: FileIntent) -> str:
    if intent.after is None:
        return "delete"
    return "create" if intent.before is None else "str_replace"


def _parse(raw: bytes) -> Journal:
    try:
        data = json.loads(raw)
        return Journal(
            intents=tuple(FileIntent(**{**item, "scope": Scope(item["scope"])}) for item in data["intents"]),
            emptied=tuple((directory, rel) for directory, rel in data["emptied"]),
            made=tuple((directory, rel) for directory, rel in data.get("made", ())),
            usage_before=_parse_usage(data["usage_before"]),
            usage_after=_parse_usage(data["usage_after"]),
            coverage=data["coverage"],
            for_review=bool(data.get("for_review")),
            ops=tuple(data.get("ops", ())),
            commit=data.get("commit", ""),
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged("The journal of a run is damaged.") from error


def _parse_usage(data: Mapping[str, Any]) -> dict[str, MemoryUsage | None]:
    return {key: None if value is None else MemoryUsage(**value) for key, value in data.items()}


def _damaged(title: str) -> StoreError:
    return StoreError(title, next_step="Restore the files from the history instead.", reason="damaged")
