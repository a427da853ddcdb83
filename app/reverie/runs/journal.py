"""The journal of a run: every change that it is about to make, durable before its first effect.

A journal is `journal.json` in the run's own directory and names file contents by their SHA-256. The contents
lie apart (`Profile.images`), shared by the runs of a home, so that a record holds no memory text. Both are
written once, atomically, and afterwards only read: by the transaction, by recovery after a crash, for review
and for undo. Directories in a journal are relative to the home, because the home may move.

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


class FileIntent(Struct, frozen=True):
    """One file the run changes: the hash before and after, None where there is no file. `mode` (permission
    bits) goes with the file when it comes back after having been deleted, `place` with a record: where it
    stands in the file that holds it."""

    key: str
    scope: Scope
    directory: str
    usage_prefix: str | None
    rel: str
    before: str | None
    after: str | None
    mode: int | None = None
    place: int | None = None

    @property
    def path(self) -> str:
        """As people see it; a companion has no memory path, and is called by its place in the home."""
        return self.rel if self.key == COMPANIONS else str(memory_path(self.scope, self.rel))


class Journal(Struct, frozen=True):
    """Everything a run is about to do. `for_review`: a dry run or a held one shows it and does nothing.
    `emptied`: (directory of a root, rel in it)."""

    intents: tuple[FileIntent, ...]
    emptied: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    """Directories that were not there before and hold files of the run, deepest first: (an existing directory
    above, path below it). Undo removes those that are empty then."""
    usage_before: UsageDelta = field(default_factory=dict)
    usage_after: UsageDelta = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    for_review: bool = False
    ops: tuple[Mapping[str, Any], ...] = ()
    """As the record has them in the end; empty where the coverage record holds them."""
    commit: str = ""
    """Of the history, for a change by hand: it holds the contents before; empty: the images do."""


class Contents(Protocol):
    """Where a transaction keeps file contents, and finds them again by hash."""

    def put(self, data: bytes | None) -> str | None:
        """Keep these bytes; the name to get them back by. None stands for no file, and stays None."""

    def get(self, name: str | None) -> bytes | None:
        """The content, None for no file. Raises `StoreError` where it is gone or damaged."""


class Images:
    """File contents by hash, in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes | None) -> str | None:
        """Keep these bytes, durably; the name to get them back by. None stands for no file, and stays
        None."""
        if data is None:
            return None
        name = hashlib.sha256(data).hexdigest()
        path = ensure_private(self._directory) / name
        try:
            kept = read_regular(path) == data  # one that was damaged meanwhile is made anew
        except OSError:
            kept = False
        if not kept:
            atomic_write(path, data, mode=0o600)
        return name

    def get(self, name: str | None) -> bytes | None:
        """The content, None for no file. Raises `StoreError` where the image is gone or damaged."""
        if name is None:
            return None
        try:
            data = read_regular(self._directory / name)
        except FileNotFoundError:
            raise _damaged("The run's copy of a file is gone.") from None
        except OSError as error:
            raise user_error_from_os(error, "The run's copy of a file was not read.") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise _damaged("The run's copy of a file is damaged.")
        return data


def save_journal(run_directory: Path, journal: Journal) -> None:
    """Make the journal durable; its images must be there already."""
    data = json.dumps(as_dict(journal), ensure_ascii=True, indent=1).encode()
    atomic_write(ensure_private(run_directory) / "journal.json", data, mode=0o600)


def load_journal(run_directory: Path) -> Journal | None:
    """The journal, None where the run never came to write one (so nothing was changed)."""
    try:
        data = read_regular(run_directory / "journal.json")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise user_error_from_os(error, "The journal of a run was not read.") from error
    return _parse(data)


def ops_of(journal: Journal | None) -> tuple[Mapping[str, Any], ...]:
    """What a journal is about, in the shape of a coverage record's ops, as if all of it were applied."""
    if journal is None:
        return ()
    if journal.coverage is not None:
        return tuple(journal.coverage["ops"])
    if journal.ops:
        return journal.ops
    return tuple(
        {"command": _command_of(intent), "path": intent.path, "applied": True, "note": "put back"}
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
    return StoreError(title, next_step="Restore the file from the history instead.", reason="damaged")
