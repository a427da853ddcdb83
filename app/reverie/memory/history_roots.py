"""One memory root inside a commit: its files as a tree, and beside them a blob with what a tree cannot hold.

Layout of a commit: `<key>/files/...` and `<key>/metadata.json`, all names escaped (`history_names`), `<key>`
as one segment, so that no key can lie inside another. Git's trees know two modes only; permission bits other
than 0644 and 0755, files kept by hash only and the caller's data (pins, usage) are in the metadata blob, one
line a file so that it stays small in packs and readable in `git show`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie.memory.history_names import escape_rel, escape_segment, unescape_rel, unescape_segment
from reverie.memory.history_objects import EXECUTABLE_MODE, FILE_MODE
from reverie.memory.history_repository import DamagedError, Repository
from reverie.memory.history_scan import Found
from reverie.memory.history_tree import Folder, Leaf, Names

FILES = b"files"
METADATA = b"metadata.json"
_PLAIN_MODES = {FILE_MODE: 0o644, EXECUTABLE_MODE: 0o755}


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One stored version. `mode`: permission bits. `omitted`: it was too large, its bytes were not kept."""

    blob: str
    mode: int
    omitted: bool = False


@dataclass(frozen=True)
class FileChange:
    """How one file differs between two commits, in content, mode or metadata; None: not there.

    `before` and `after` are read from the history when asked for.
    """

    key: str
    rel: str
    before_version: FileVersion | None
    after_version: FileVersion | None
    before_metadata: Mapping[str, Any] | None
    after_metadata: Mapping[str, Any] | None
    _content: Callable[[FileVersion | None], bytes | None] = field(repr=False, compare=False)

    @property
    def before(self) -> bytes | None:
        return self._content(self.before_version)

    @property
    def after(self) -> bytes | None:
        return self._content(self.after_version)

    @property
    def content_changed(self) -> bool:
        """Whether the bytes differ, and not only mode, pin or usage."""
        return _blob(self.before_version) != _blob(self.after_version)


class StoredRoot:
    """A root as some commit has it, or as the next one will. `facts` are ours, `data` is the caller's."""

    def __init__(
        self, files: Folder, facts: dict[str, dict[str, Any]], data: dict[str, Mapping[str, Any]]
    ) -> None:
        self.files = files
        self.facts = facts
        self.data = data

    @classmethod
    def load(cls, repository: Repository, commit: Folder, key: str) -> StoredRoot | None:
        """The root `key` in a commit, or None. Raises DamagedError."""
        folder = commit.get((key_name(key),))
        if not isinstance(folder, Folder):
            return None
        blob = folder.get((METADATA,))
        facts: dict[str, dict[str, Any]] = {}
        data: dict[str, Mapping[str, Any]] = {}
        if isinstance(blob, Leaf):
            for rel, entry in _parse(repository.read(blob.id, "blob")).items():
                if "data" in entry:
                    data[rel] = entry["data"]
                if own := {name: value for name, value in entry.items() if name != "data"}:
                    facts[rel] = own
        return cls(folder.folder((FILES,)), facts, data)

    def put(self, rel: str, found: Found) -> None:
        """Keep a file as it was found: its blob in the tree, what a tree cannot hold in the facts."""
        git_mode = EXECUTABLE_MODE if found.mode & 0o100 else FILE_MODE
        self.files.put(escape_rel(rel), Leaf(git_mode, found.blob))
        facts: dict[str, Any] = {}
        if found.mode != _PLAIN_MODES[git_mode]:
            facts["mode"] = f"{found.mode:04o}"
        if found.omitted:
            facts["omitted"] = True
        if facts:
            self.facts[rel] = facts

    def has(self, rel: str) -> bool:
        """Whether there is a file at `rel` or below it."""
        return not rel or self.files.get(escape_rel(rel)) is not None

    def take_over(self, rel: str, other: StoredRoot) -> None:
        """Keep what `other` has at `rel` and below ("": everything), where this root has nothing."""
        if not rel:
            self.files, self.facts = other.files, dict(other.facts)
            return
        names = escape_rel(rel)
        node = other.files.get(names)
        if node is None:
            return
        self.files.put(names, node)
        self.facts.update({at: facts for at, facts in other.facts.items() if _is_under(at, rel)})

    def remove(self, rel: str) -> None:
        """Forget the files at `rel` and below (not "")."""
        self.files.remove(escape_rel(rel))
        for at in [at for at in self.facts if _is_under(at, rel)]:
            del self.facts[at]

    def version(self, rel: str, leaf: Leaf) -> FileVersion:
        """What the facts and the tree say of one file together."""
        facts = self.facts.get(rel, {})
        mode = facts.get("mode")
        plain = _PLAIN_MODES.get(leaf.mode, 0o644)
        return FileVersion(leaf.id.hex(), int(mode, 8) if mode else plain, facts.get("omitted") is True)

    def metadata_blob(self) -> bytes:
        """The blob beside the tree: JSON, one file a line, so that git's own diff can be read."""
        lines = [
            f"{json.dumps(rel)}: {json.dumps(self._entry(rel), sort_keys=True)}"
            for rel in sorted({*self.facts, *self.data})
        ]
        return ('{"version": 1, "files": {\n' + ",\n".join(lines) + "\n}}\n").encode()

    def _entry(self, rel: str) -> dict[str, Any]:
        entry = dict(self.facts.get(rel, {}))
        if rel in self.data:
            entry["data"] = dict(self.data[rel])
        return entry


def key_name(key: str) -> bytes:
    """The stored name of a root."""
    return escape_segment(key).encode()


def key_of(name: bytes) -> str:
    """The key of a root from the name of its tree."""
    return unescape_segment(name.decode("utf-8", "surrogateescape"))


def rel_of(names: Names) -> str:
    """The path of a file below its root from the names of its trees and its own."""
    return unescape_rel(names)


def _blob(version: FileVersion | None) -> str | None:
    return version.blob if version else None


def _is_under(at: str, rel: str) -> bool:
    return at == rel or at.startswith(f"{rel}/")


def _parse(blob: bytes) -> dict[str, dict[str, Any]]:
    try:
        files = json.loads(blob)["files"]
        if all(isinstance(entry, dict) for entry in files.values()):
            return dict(files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise DamagedError("its metadata is unreadable")
