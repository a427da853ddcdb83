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
"""The pin and use of each file, by usage key; None where the file has none."""


class FileIntent(Struct, frozen=True):
    """One file that the run changes, with the hashes of its content before and after; None for no file."""

    key: str
    scope: Scope
    directory: str
    """The directory of the file's root, relative to the home."""
    usage_prefix: str | None
    rel: str
    before: str | None
    after: str | None
    mode: int | None = None
    """Permission bits for a deleted file that comes back."""
    place: int | None = None
    """The position of a record within the file that holds it, for a record that comes back."""

    @property
    def path(self) -> str:
        """The path that people see: the memory path, or a companion's path relative to the home."""
        return self.rel if self.key == COMPANIONS else str(memory_path(self.scope, self.rel))


class Journal(Struct, frozen=True):
    """All changes that a run is about to make."""

    intents: tuple[FileIntent, ...]
    emptied: tuple[tuple[str, str], ...] = ()
    """Directories that the run deletes if they are empty: (directory of a root, path below it)."""
    made: tuple[tuple[str, str], ...] = ()
    """Directories that the run creates, deepest first: (an existing directory above, path below it).

    Undo removes those that are empty by then.
    """
    usage_before: UsageDelta = field(default_factory=dict)
    usage_after: UsageDelta = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    for_review: bool = False
    """Whether the journal is only shown and never applied: a dry run, or a run that is held."""
    ops: tuple[Mapping[str, Any], ...] = ()
    """The commands as the record will have them; empty if the coverage record holds them."""
    commit: str = ""
    """The commit of the history that holds the previous contents, for a change by hand.

    Empty if the images do.
    """


class Contents(Protocol):
    """A store of file contents by hash."""

    def put(self, data: bytes | None) -> str | None:
        """Store these bytes and return the name under which `get` finds them.

        None stands for no file and stays None.
        """

    def get(self, name: str | None) -> bytes | None:
        """Return the content stored under `name`, None for no file.

        Raises `StoreError` if the content is missing or damaged.
        """


class Images:
    """File contents in one directory, named by their SHA-256."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes | None) -> str | None:
        """Store these bytes durably and return the name under which `get` finds them.

        None stands for no file and stays None. A damaged copy is replaced.
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
        """Return the content stored under `name`, None for no file.

        Raises `StoreError` if the image is missing or damaged.
        """
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
    """Make the journal durable; its images must be stored already."""
    data = json.dumps(as_dict(journal), ensure_ascii=True, indent=1).encode()
    atomic_write(ensure_private(run_directory) / "journal.json", data, mode=0o600)


def load_journal(run_directory: Path) -> Journal | None:
    """Return the journal, or None if the run never wrote one and so changed nothing."""
    try:
        data = read_regular(run_directory / "journal.json")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise user_error_from_os(error, "The journal of a run was not read.") from error
    return _parse(data)


def ops_of(journal: Journal | None) -> tuple[Mapping[str, Any], ...]:
    """Return the commands of a journal, as if all were applied, in the shape of a coverage record's ops."""
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
    return StoreError(title, next_step="Restore the file from the history instead.", reason="damaged")
