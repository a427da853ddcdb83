"""One transaction for every run: journal first, compare-and-swap each file, roll back or forward after a
crash.

Order of effects (design.md principle 4): the images of all files before and after, then `journal.json`, all
durable; then each file by compare-and-swap; then usage; then `commit` (coverage); then the `applied` mark.
The commit point is the coverage sidecar, or the mark where a run has no coverage:

- died before the commit point: `recover` puts every file whose content is *ours* back, and leaves and names
  what
  somebody changed since. Old content everywhere, never a mix.
- died after it: everything is in place, only the record is finished.

Outside readers may see a mix while it happens. The caller holds the home's dream lease throughout, recovery
too. Checkpoints for the kill campaign: `journal`, `temp`, `fsync`, `replace`, `usage`, `coverage`, `applied`.
Failure: `Conflict` when a file is not what the run saw (everything already written is rolled back first).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reverie.errors import Conflict, MendableError, StoreError, mendable_from_os
from reverie.files.atomic import atomic_write
from reverie.files.checkpoint import checkpoint
from reverie.homes.base import Scope, ScopeRoot
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import ScopeFiles
from reverie.memory.store import sha256_of_bytes
from reverie.memory.usage import Usage
from reverie.profile import ensure_private

UsageDelta = Mapping[str, Usage | None]


@dataclass(frozen=True, slots=True)
class FileIntent:
    """One file the run changes: the hash before and after, None where there is no file. `mode` (permission
    bits) goes with the file when it comes back after having been deleted."""

    key: str
    scope: Scope
    directory: str
    usage_prefix: str | None
    rel: str
    before: str | None
    after: str | None
    mode: int | None = None

    @property
    def path(self) -> str:
        return str(memory_path(self.scope, self.rel))


@dataclass(frozen=True, slots=True)
class Journal:
    """Everything a run is about to do. `directory` of an intent is relative to the home."""

    intents: tuple[FileIntent, ...]
    emptied: tuple[tuple[str, str], ...] = ()
    usage_before: UsageDelta = field(default_factory=dict)
    usage_after: UsageDelta = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One file as the run wants it: bytes before and after, None where there is no file."""

    root: ScopeRoot
    rel: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found: whether the run had reached its commit point, and what it left for somebody's
    sake."""

    committed: bool
    restored: tuple[str, ...]
    left: tuple[str, ...]


class Images:
    """File contents by hash, in the run's own directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes | None) -> str | None:
        if data is None:
            return None
        name = hashlib.sha256(data).hexdigest()
        path = ensure_private(self._directory) / name
        if not path.exists():
            _write_durably(path, data)
        return name

    def get(self, name: str | None) -> bytes | None:
        """The content, None for no file. Raises `StoreError` where the image is gone or damaged."""
        if name is None:
            return None
        try:
            data = (self._directory / name).read_bytes()
        except OSError as error:
            raise mendable_from_os(error, "The run's copy of a file was not read.") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise StoreError(
                "The run's copy of a file is damaged.", next_step="Use the history of the file instead."
            )
        return data


class Transaction:
    """The file effects of one run."""

    def __init__(
        self,
        run_directory: Path,
        home_root: Path,
        *,
        files_of: Callable[[ScopeRoot], ScopeFiles],
        apply_usage: Callable[[UsageDelta, UsageDelta], None],
        attribute: Callable[[ScopeRoot, str, str | None], None],
    ) -> None:
        self._directory = run_directory
        self._home_root = home_root
        self._files_of = files_of
        self._apply_usage = apply_usage
        self._attribute = attribute
        self.images = Images(run_directory / "images")

    def prepare(
        self,
        changes: Sequence[PlannedChange],
        *,
        emptied: Sequence[tuple[ScopeRoot, str]] = (),
        usage_before: UsageDelta | None = None,
        usage_after: UsageDelta | None = None,
        coverage: Mapping[str, Any] | None = None,
    ) -> Journal:
        """Make images and journal durable. Nothing in the home has changed when this returns."""
        intents = tuple(
            FileIntent(
                key=change.root.key,
                scope=change.root.scope,
                directory=change.root.directory.relative_to(self._home_root).as_posix(),
                usage_prefix=change.root.usage_prefix,
                rel=change.rel,
                before=self.images.put(change.before),
                after=self.images.put(change.after),
                mode=change.mode if change.mode is not None else self._mode_now(change),
            )
            for change in changes
        )
        journal = Journal(
            intents=intents,
            emptied=tuple(
                (root.directory.relative_to(self._home_root).as_posix(), rel) for root, rel in emptied
            ),
            usage_before=dict(usage_before or {}),
            usage_after=dict(usage_after or {}),
            coverage=coverage,
        )
        data = json.dumps(asdict(journal), ensure_ascii=True, indent=1).encode()
        _write_durably(ensure_private(self._directory) / "journal.json", data)
        checkpoint("journal")
        return journal

    def load(self) -> Journal | None:
        """The journal, None where the run never came to write one (so nothing was changed)."""
        try:
            data = json.loads((self._directory / "journal.json").read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise mendable_from_os(error, "The journal of a run was not read.") from error
        return _parse(data)

    def apply(
        self, journal: Journal, *, commit: Callable[[], None], check: Callable[[], None] = lambda: None
    ) -> None:
        """Bring the home to the state after. On any error everything is put back before it is raised."""
        try:
            for intent in journal.intents:
                check()
                self._swap(intent, expected=intent.before, wanted=intent.after)
            self._remove_emptied(journal)
            self._apply_usage(journal.usage_before, journal.usage_after)
            checkpoint("usage")
            check()
            commit()
        except BaseException:
            self.roll_back(journal)
            raise
        checkpoint("coverage")
        _write_durably(self._directory / "applied", b"")
        checkpoint("applied")

    def roll_back(self, journal: Journal) -> Recovered:
        """Put back what is ours, newest first; leave and name what somebody changed since."""
        restored: list[str] = []
        left: list[str] = []
        for intent in reversed(journal.intents):
            self._return_set_aside(intent)
            current = self._hash_now(intent)
            if current == intent.before:
                continue
            try:
                if current != intent.after:
                    raise Conflict(f"{intent.path} changed since.")
                self._swap(intent, expected=intent.after, wanted=intent.before)
                restored.append(intent.path)
            except Conflict:
                left.append(intent.path)
        self._apply_usage(journal.usage_after, journal.usage_before)
        return Recovered(False, tuple(restored), tuple(left))

    def recover(self, *, committed: Callable[[Journal], bool]) -> Recovered:
        """Finish or undo what a dead process left. `committed` asks the coverage sidecar for the journaled
        record."""
        journal = self.load()
        if journal is None:
            return Recovered(False, (), ())
        if (self._directory / "applied").exists() or (journal.coverage is not None and committed(journal)):
            for intent in journal.intents:
                self._return_set_aside(intent)
            return Recovered(True, (), ())
        return self.roll_back(journal)

    def root_of(self, intent: FileIntent) -> ScopeRoot:
        return ScopeRoot(intent.scope, intent.key, self._home_root / intent.directory, intent.usage_prefix)

    def paths(self, journal: Journal) -> list[Path]:
        """The files a journal is about."""
        return [self._home_root / intent.directory / intent.rel for intent in journal.intents]

    def current(self, intent: FileIntent) -> bytes | None:
        """The file's bytes now, None where there is no file."""
        files = self._files_of(self.root_of(intent))
        entry = files.entry(intent.rel)
        return files.read(intent.rel) if entry is not None and entry.kind == "file" else None

    def _mode_now(self, change: PlannedChange) -> int | None:
        entry = self._files_of(change.root).entry(change.rel)
        return None if entry is None else entry.mode & 0o777

    def _hash_now(self, intent: FileIntent) -> str | None:
        return sha256_of_bytes(self.current(intent))

    def _swap(self, intent: FileIntent, *, expected: str | None, wanted: str | None) -> None:
        """Replace one file if it still is what the run saw. Raises `Conflict`."""
        root = self.root_of(intent)
        files = self._files_of(root)
        if wanted is None:
            self._delete(root, files, intent, expected)
            return
        data = self.images.get(wanted) or b""

        def compare(current: bytes | None) -> None:
            if sha256_of_bytes(current) != expected:
                raise Conflict(f"{intent.path} changed while the run was applied.", next_step="Run it again.")
            self._attribute(root, intent.rel, wanted)

        mode = intent.mode if expected is None else None
        files.write(intent.rel, data, create_only=expected is None, mode=mode, before_replace=compare)

    def _delete(self, root: ScopeRoot, files: ScopeFiles, intent: FileIntent, expected: str | None) -> None:
        """Set the file aside, look at what was taken, and only then let it go: a compare-and-swap for
        deletes."""
        if self._hash_now(intent) != expected:
            raise Conflict(f"{intent.path} changed while the run was applied.", next_step="Run it again.")
        aside = self._aside(intent)
        self._attribute(root, intent.rel, None)
        files.rename(intent.rel, aside)
        checkpoint("replace")
        if sha256_of_bytes(files.read(aside)) != expected:
            self._return_set_aside(intent)
            raise Conflict(f"{intent.path} changed while the run was applied.", next_step="Run it again.")
        files.remove(aside)

    def _aside(self, intent: FileIntent) -> str:
        """A hidden name beside the file, the same after a crash."""
        parent, _slash, _name = intent.rel.rpartition("/")
        digest = hashlib.sha256(
            f"{self._directory.name}/{intent.rel}".encode("utf-8", "surrogatepass")
        ).hexdigest()
        return f"{parent}/.{digest[:16]}.reverie-aside" if parent else f".{digest[:16]}.reverie-aside"

    def _return_set_aside(self, intent: FileIntent) -> None:
        """A file that a kill left set aside: ours is dropped, somebody's newer text goes back under its
        name."""
        files = self._files_of(self.root_of(intent))
        aside = self._aside(intent)
        entry = files.entry(aside)
        if entry is None:
            return
        if files.entry(intent.rel) is None and sha256_of_bytes(files.read(aside)) not in (
            intent.before,
            intent.after,
        ):
            files.rename(aside, intent.rel)
            return
        if sha256_of_bytes(files.read(aside)) in (intent.before, intent.after):
            files.remove(aside)

    def _remove_emptied(self, journal: Journal) -> None:
        """Directories the run deleted go once they are empty; what an agent hides in one keeps it."""
        for directory, rel in journal.emptied:
            target = self._home_root / directory / rel
            try:
                target.rmdir()
            except OSError:
                continue


def _write_durably(path: Path, data: bytes) -> None:
    try:
        atomic_write(path, data, mode=0o600)
    except OSError as error:
        raise mendable_from_os(error, "The journal of a run was not saved.") from error


def _parse(data: Any) -> Journal:
    try:
        return Journal(
            intents=tuple(FileIntent(**{**item, "scope": Scope(item["scope"])}) for item in data["intents"]),
            emptied=tuple((directory, rel) for directory, rel in data["emptied"]),
            usage_before=_parse_usage(data["usage_before"]),
            usage_after=_parse_usage(data["usage_after"]),
            coverage=data["coverage"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MendableError(
            "The journal of a run is damaged.", next_step="Restore the files from the history instead."
        ) from error


def _parse_usage(data: Mapping[str, Any]) -> dict[str, Usage | None]:
    return {key: None if value is None else Usage(**value) for key, value in data.items()}
