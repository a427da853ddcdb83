"""Snapshots: what the history gets to see, when, and in whose name.

One `Snapshots` per home. `observe` commits what changed since the last snapshot under the name of whoever
changed it (the actor log knows our own writes by path and hash; anything else is "outside", never guessed).
`record` commits under a given actor, before and after runs and hand edits.

Threading: blocking, any thread but the GUI's; commits of one home are serialised by the history's own lock.
Failure: raises `MendableError`. Callers that are about to destroy something must let it stop them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.clock import Clock
from reverie.files.directory import Directory
from reverie.files.rooted import RootedDirectory
from reverie.homes.base import COMPANIONS, Home, ScopeRoot
from reverie.memory.attribution import OUTSIDE
from reverie.memory.history import History, SnapshotSource
from reverie.memory.store import sha256_of_bytes
from reverie.memory.usage import Usage, UsageLog

if TYPE_CHECKING:
    from reverie.memory.attribution import ActorLog

_ATTRIBUTED_AT_MOST = 500


class Snapshots:
    """The history of one home, fed."""

    def __init__(self, home: Home, history: History, usage: UsageLog, actors: ActorLog, clock: Clock) -> None:
        self._clock = clock
        self._home = home
        self.history = history
        self._usage = usage
        self._actors = actors

    def record(
        self,
        *,
        actor: str,
        source: str,
        subject: str,
        run_id: str | None = None,
        dirty: Collection[Path] | None = None,
    ) -> str | None:
        """Commit everything that changed (or what changed at `dirty`) as `actor`'s; None when nothing did."""
        return self.history.snapshot(
            self._sources(), actor=actor, source=source, subject=subject, run_id=run_id, dirty=dirty
        )

    def observe(self, *, source: str, dirty: Collection[Path] | None = None) -> None:
        """Commit what changed since the last snapshot, by whoever did it."""
        if dirty is None or len(dirty) > _ATTRIBUTED_AT_MOST:
            self.record(actor=OUTSIDE, source=source, subject="Changes found by a scan", dirty=dirty)
            return
        for (actor, run_id), contents in self._by_actor(dirty).items():
            commit = self.record(
                actor=actor, source=source, subject="Changes seen", run_id=run_id, dirty=list(contents)
            )
            if actor == OUTSIDE and commit is not None:
                self._log_outside(contents)

    def record_companion(self, rel: str, *, actor: str, source: str, run_id: str | None = None) -> str | None:
        """Commit one companion (`rel` is below the home) as it stands now; None where nothing changed."""
        head = self.history.head()
        known = set(self.history.files(head, COMPANIONS)) if head is not None else set()
        directory = self._home.root
        names = [name for name in sorted(known | {rel}) if (directory / name).is_file()]
        return self.history.snapshot(
            [SnapshotSource(COMPANIONS, directory, names)],
            actor=actor,
            source=source,
            subject=f"Companion {rel}",
            run_id=run_id,
        )

    def preserve(self, root: ScopeRoot, rel: str) -> None:
        """Make sure the history holds what stands at this path, before it is changed."""
        self.observe(source="before a change", dirty=[root.directory / rel])

    def _by_actor(self, dirty: Collection[Path]) -> dict[tuple[str, str | None], dict[Path, str | None]]:
        """The dirty paths with the hashes of their contents, by who wrote them."""
        groups: dict[tuple[str, str | None], dict[Path, str | None]] = {}
        for path in _files_of(dirty):
            sha256 = sha256_of_bytes(_bytes_of(path))
            found = self._actors.actor_of(path, sha256)
            key = (OUTSIDE, None) if found is None else (found.actor, found.run_id)
            groups.setdefault(key, {})[path] = sha256
        # What is left of a dirty directory once our own writes in it are committed is somebody else's.
        return dict(sorted(groups.items(), key=lambda group: group[0][0] == OUTSIDE))

    def _log_outside(self, contents: Mapping[Path, str | None]) -> None:
        """From here on an old content of ours at these paths is no longer taken for our own write."""
        for path, sha256 in contents.items():
            self._actors.record(path, sha256, actor=OUTSIDE, run_id=None, at_ms=self._clock())

    def _sources(self) -> Sequence[SnapshotSource]:
        by_prefix: dict[str, dict[str, Usage]] = {}
        for key, value in self._usage.load().items():
            prefix = key[: key.rfind(":") + 1]
            by_prefix.setdefault(prefix, {})[key] = value
        return [self._source(root, by_prefix.get(root.usage_prefix or "", {})) for root in self._home.roots()]

    def _source(self, root: ScopeRoot, usage: Mapping[str, Usage]) -> SnapshotSource:
        metadata: dict[str, dict[str, Any]] = {}
        for key, value in usage.items():
            rel = unescaped(key[len(root.usage_prefix or "") :])
            if self._home.usage_key(root, rel) == key:
                metadata[rel] = asdict(value)
        return SnapshotSource(root.key, root.directory, metadata=metadata, without=root.without)


def unescaped(component: str) -> str:
    """The text that a logical key's component stands for (formats/mux.md section 8)."""
    return component.replace("%3A", ":").replace("%25", "%")


def _files_of(dirty: Collection[Path]) -> list[Path]:
    """The dirty paths, a directory replaced by itself and the files in it."""
    found: list[Path] = []
    for path in dirty:
        found.append(path)
        if path.is_dir() and not path.is_symlink():
            found += [
                path / entry.rel for entry in RootedDirectory(path).walk().entries if entry.kind == "file"
            ]
    return found


def _bytes_of(path: Path) -> bytes | None:
    """The file's bytes for attribution; None where there is no regular file to be read (a directory, a
    symlink or a pipe is nobody's write)."""
    try:
        with Directory.open(path.parent) as directory:
            return directory.read(path.name)
    except OSError:
        return None
