"""What a person has seen of each memory, for the "agent edited" badge.

A memory carries the badge when its content is neither what the person last opened or saved here, nor what the
history held when the home was first opened, nor written by the person. Kept in Reverie's own data directory.

Threading: any thread but the GUI's. Failure: raises `MendableError`; the badge is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie.clock import Clock
from reverie.errors import StoreError
from reverie.files.sidecar import Sidecar
from reverie.homes.scopes import ScopeRoot
from reverie.memory.attribution import ActorLog
from reverie.memory.history import History
from reverie.memory.store import sha256_of_bytes

_PERSON = frozenset({"user"})
_Asked = tuple[str, str, str | None]


class SeenLog:
    """The seen marks of one home. `history` is asked for late, so that nothing is opened before it is
    needed."""

    def __init__(
        self, path: Path, history: Callable[[], History], actors: ActorLog, *, lock_dir: Path, clock: Clock
    ) -> None:
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._history = history
        self._actors = actors
        # Each refresh asks for the same versions again; what was not asked for last is forgotten.
        self._hashes: dict[str, str | None] = {}
        self._by_person: dict[_Asked, bool] = {}

    def start(self) -> None:
        """On the first opening of a home everything counts as seen, and again if its history began anew."""
        baseline, head = self._sidecar.read().data.get("baseline"), self._history().head()
        if head is not None and not self._is_known(baseline):
            self._sidecar.update(
                lambda data: {**data, "baseline": head} if data.get("baseline") == baseline else None
            )

    def _is_known(self, baseline: object) -> bool:
        """Whether the history still holds this commit; one that was damaged is set aside and begins anew."""
        if not isinstance(baseline, str):
            return False
        try:
            self._history().changes(baseline, baseline)
        except StoreError:
            return False
        return True

    def mark_all(self) -> None:
        """Everything as it stands in the history now counts as seen."""
        head = self._history().head()
        if head is not None:
            self._sidecar.update(lambda _data: {"baseline": head, "files": {}})

    def mark(self, root: ScopeRoot, rel: str, sha256: str) -> None:
        """One memory was opened or saved with this content."""
        name = _name(root, rel)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            files = _files_in(data)
            if files.get(name) == sha256:
                return None
            return {**data, "files": {**files, name: sha256}}

        self._sidecar.update(change)

    def unseen(self, roots: Mapping[str, ScopeRoot]) -> frozenset[tuple[str, str]]:
        """`(root key, rel)` of every memory in these roots that someone else changed since it was last
        seen."""
        data = self._sidecar.read().data
        baseline, head = data.get("baseline"), self._history().head()
        if head is None or baseline == head or not isinstance(baseline, str) or not self._is_known(baseline):
            return frozenset()
        seen = _files_in(data)
        found = set()
        hashes: dict[str, str | None] = {}
        asked: dict[_Asked, bool] = {}
        for change in self._history().changes(baseline, head):
            root = roots.get(change.key)
            if root is None or not change.content_changed or change.after_version is None:
                continue
            blob = change.after_version.blob
            sha256 = self._hashes.get(blob) or sha256_of_bytes(change.after)
            hashes[blob] = sha256
            if seen.get(_name(root, change.rel)) == sha256:
                continue
            question = (root.key, change.rel, sha256)
            asked[question] = self._is_by_person(root, *question[1:])
            if not asked[question]:
                found.add((change.key, change.rel))
        self._hashes, self._by_person = hashes, asked
        return frozenset(found)

    def _is_by_person(self, root: ScopeRoot, rel: str, sha256: str | None) -> bool:
        """Who wrote it was known before it was there, so the answer stays."""
        known = self._by_person.get((root.key, rel, sha256))
        if known is None:
            actor = self._actors.actor_of(root.directory / rel, sha256)
            known = actor is not None and actor.actor in _PERSON
        return known


def _files_in(data: Mapping[str, Any]) -> Mapping[str, Any]:
    files = data.get("files")
    return files if isinstance(files, dict) else {}


def _name(root: ScopeRoot, rel: str) -> str:
    return f"{root.key}/{rel}".encode("utf-8", "backslashreplace").decode()
