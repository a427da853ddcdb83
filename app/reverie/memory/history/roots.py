"""One memory root inside a commit: its format, reading it from disk, and the authors of its changes.

Layout of a commit: `<key>/files/...` and `<key>/metadata.json`, all names escaped (`history.repository`),
`<key>` as one segment, so that no key can lie inside another. Git's trees know only two modes, so permission
bits other than 0644 and 0755, files stored by hash only, and the caller's data (pins, usage) are in the
metadata blob. It has one line per file, so that it is small in packs and readable in `git show`.

Threading: as `memory.history.history`, under the commit lock. Failure: a file or directory that cannot be
read is named in `Scan.unreadable`; `DamagedHistoryError` for the repository.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reverie.errors import UserError
from reverie.files.directory import (
    Descent,
    Directory,
    SwappedError,
    open_regular,
    refuse_link_upwards,
    stamp_of,
)
from reverie.files.rooted import RootedDirectory
from reverie.memory.catalogue_scan import KnownVersion
from reverie.memory.history.repository import (
    EXECUTABLE_MODE,
    FILE_MODE,
    DamagedHistoryError,
    Folder,
    Leaf,
    ObjectSink,
    Repository,
    StoredCommit,
    escape_rel,
    escape_segment,
    unescape_rel,
    unescape_segment,
)
from reverie.values import Struct, field

# Larger files are kept by hash only: a memory is text, and the history must not fill the disk.
LARGEST_BYTES = 64 * 1024 * 1024
# Of larger files only the ends are hashed, because reading takes seconds; their time reveals other changes.
LARGEST_HASHED_BYTES = 1024 * 1024 * 1024
_END_BYTES = 1024 * 1024
_READ_ATTEMPTS = 3


class ScannedFile(Struct, frozen=True):
    """A file as a scan found it."""

    mode: int
    """The permission bits."""
    blob: bytes
    """The raw id of the stored content."""
    omitted: bool = False
    """Whether the file is too large to store; the stored content is then only a line with its size and hash.
    """


class Scan(Struct):
    """The files that a scan read in a root (directory of memories), and those that it could not read."""

    files: dict[str, ScannedFile] = field(default_factory=dict)
    """Path below the root -> file."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Path that could not be read -> the reason, as a part of a sentence; a directory stands for everything
    below it, "" for the root."""


class HistoryScanner:
    """A scanner that reads the files of one root from disk and stores their contents in the history.

    The result is in `found`. The files are the same as for `files.rooted.walk`: regular files in real
    directories, no symlinks, no hidden names. Directories are held open while they are read, so a symlink
    that is swapped in meanwhile is not followed, and a file that changes while it is read is read again. A
    file that is listed but cannot be read is added to `found.unreadable`; a file that is not listed counts as
    deleted.

    `known` gets a path and returns the versions of the files below it from the catalogue: if such a version
    is certainly the present one (`KnownVersion.still_holds`) and its content is stored already, the file is
    not read. `put` stores bytes and returns their raw id; `has` returns whether the content with a raw id is
    stored. `without`: a regular expression for paths to leave out, as in `agents.scopes.ScopeRoot`.
    """

    def __init__(
        self,
        root: Path,
        *,
        known: Callable[[str], Mapping[str, KnownVersion]],
        put: Callable[[bytes], bytes],
        has: Callable[[bytes], bool],
        without: str = "",
    ) -> None:
        self.found = Scan()
        self._root = root
        self._known_below = known
        self._known: Mapping[str, KnownVersion] = {}
        self._put = put
        self._has = has
        self._without = without

    def scan(self, rel: str = "") -> str:
        """Add `rel` and everything below it ("" for the root) to `found`; return the path that was examined.

        The returned path is `rel`, or a path above it that is not (or no longer) a directory; in that case
        everything below the returned path has changed.
        """
        segments = rel.split("/") if rel else []
        try:
            directory = Directory.open(self._root)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            self.found.unreadable[""] = _reason(error)
            return ""
        for at, segment in enumerate(segments):
            with directory:
                here = "/".join(segments[: at + 1])
                try:
                    status = directory.lstat(segment)
                    if at < len(segments) - 1 and stat.S_ISDIR(status.st_mode):
                        directory = directory.child(segment)
                        continue
                except (FileNotFoundError, SwappedError):
                    return here
                except OSError as error:
                    self.found.unreadable[here] = _reason(error)
                    return here
                if stat.S_ISREG(status.st_mode):
                    self._take(directory, segment, here, status)
                elif stat.S_ISDIR(status.st_mode):
                    self._scan_directories(here)
                return here
        directory.close()
        self._scan_directories("")
        return ""

    def take_listed(self, rels: Sequence[str]) -> None:
        """Read exactly the files at the paths `rels`; missing files are left out.

        The files may be symlinks that lead to a place in the root. They are read each time, so this is only
        for a few companions (files loaded beside the memories).
        """
        rooted = RootedDirectory(self._root)
        for rel in rels:
            try:
                entry = rooted.entry(rel)
                if entry is None or entry.kind != "file":
                    continue
                if entry.size > LARGEST_BYTES:
                    self.found.unreadable[rel] = "it is larger than 64 MiB"
                    continue
                content = rooted.read(rel, limit=LARGEST_BYTES)
            except UserError as error:
                self.found.unreadable[rel] = (error.cause or error.title).rstrip(".")
                continue
            self.found.files[rel] = ScannedFile(stat.S_IMODE(entry.mode), self._put(content))

    def _scan_directories(self, rel: str) -> None:
        self._known = self._known_below(rel)
        stack = [rel]
        try:
            refuse_link_upwards(self._root)
        except OSError as error:
            self.found.unreadable[""] = _reason(error)
            return
        with Descent(lambda: Directory.open(self._root)) as descent:
            while stack:
                at = stack.pop()
                try:
                    directory = descent.at(at)
                    for entry in directory.names():
                        if entry.name.startswith("."):
                            continue
                        child = f"{at}/{entry.name}" if at else entry.name
                        if self._without and re.fullmatch(self._without, child):
                            continue
                        self._take_entry(directory, entry, child, stack)
                except (OSError, SwappedError) as error:
                    self.found.unreadable[at] = _reason(error)

    def _take_entry(
        self, directory: Directory, entry: os.DirEntry[str], rel: str, directories: list[str]
    ) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            self.found.unreadable[rel] = _reason(error)
            return
        if stat.S_ISDIR(status.st_mode):
            directories.append(rel)
        elif stat.S_ISREG(status.st_mode):
            self._take(directory, entry.name, rel, status)

    def _take(self, directory: Directory, name: str, rel: str, status: os.stat_result) -> None:
        known = self._known.get(rel)
        is_unchanged = known is not None and known.still_holds(stamp_of(status))
        if known is not None and is_unchanged and known.blob and self._has(known.blob):
            self.found.files[rel] = ScannedFile(stat.S_IMODE(status.st_mode), known.blob)
            return
        try:
            content, status = _read(directory, name)
        except (OSError, SwappedError) as error:
            self.found.unreadable[rel] = _reason(error)
            return
        omitted = status.st_size > LARGEST_BYTES
        self.found.files[rel] = ScannedFile(stat.S_IMODE(status.st_mode), self._put(content), omitted)


def _read(directory: Directory, name: str) -> tuple[bytes, os.stat_result]:
    """Return the bytes of the file `name` in `directory`, and its status before it was read.

    For a file that is too large to store, return its placeholder (see `_placeholder`) in place of its bytes.
    """
    for _ in range(_READ_ATTEMPTS):
        before = directory.lstat(name)
        if before.st_size > LARGEST_BYTES:
            content, size = _placeholder(Path(directory.path, name), before.st_size), before.st_size
        else:
            content = directory.read(name, limit=before.st_size + 1)
            size = len(content)
        if size == before.st_size and stamp_of(directory.lstat(name)) == stamp_of(before):
            return content, before
    # It keeps changing: store its present bytes; the next scan reads it again.
    return directory.read(name, limit=LARGEST_BYTES), before


def _placeholder(path: Path, size: int) -> bytes:
    """Return the placeholder for a file that is too large to store: a line with its size and hash.

    For a huge file only the first and the last MiB are hashed, and the modification time is added, so that
    changes between them are noticed too. Raises OSError, NotRegularFileError.
    """
    with os.fdopen(open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        if size > LARGEST_HASHED_BYTES:
            changed_ns = os.fstat(file.fileno()).st_mtime_ns
            digest = hashlib.sha256(file.read(_END_BYTES))
            file.seek(-_END_BYTES, os.SEEK_END)
            digest.update(file.read(_END_BYTES))
            hashed = f"{digest.hexdigest()} of its first and last MiB, changed at {changed_ns} ns"
        else:
            hashed = hashlib.file_digest(file, "sha256").hexdigest()
    return f"Kept by hash only: {size} bytes, sha256 {hashed}\n".encode()


def _reason(error: OSError | SwappedError) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file vanished while it was being read"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "the file was replaced by a symbolic link while it was being read"


FILES = b"files"
METADATA = b"metadata.json"
_PLAIN_MODES = {FILE_MODE: 0o644, EXECUTABLE_MODE: 0o755}


class FileVersion(Struct, frozen=True):
    """One stored version of a file."""

    blob: str
    """The hexadecimal id of the stored content."""
    mode: int
    """The permission bits."""
    omitted: bool = False
    """Whether the file was too large, so that its bytes were not stored."""


@dataclasses.dataclass(frozen=True)
class VersionChange:
    """The difference of one file between two commits in content, mode or metadata.

    The properties `before` and `after` read the content in the older and the newer commit from the history
    when they are used; None: that commit has no such file.
    """

    key: str
    """The key of the file's root (directory of memories)."""
    rel: str
    """The path of the file below its root."""
    before_version: FileVersion | None
    """The file in the older commit; None if that commit does not have it."""
    after_version: FileVersion | None
    """The file in the newer commit; None if that commit does not have it."""
    before_metadata: Mapping[str, Any] | None
    """The pin and usage of the file in the older commit; None if there are none."""
    after_metadata: Mapping[str, Any] | None
    """The pin and usage of the file in the newer commit; None if there are none."""
    _content: Callable[[FileVersion | None], bytes | None] = dataclasses.field(repr=False, compare=False)
    """Reads the content of a version from the history; None for None."""

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
    """A root (directory of memories) in a commit, or in the commit being built.

    `facts`: the attributes of files that a git tree cannot hold, such as unusual permission bits; `data`: the
    caller's metadata.
    """

    def __init__(
        self, files: Folder, facts: dict[str, dict[str, Any]], data: dict[str, Mapping[str, Any]]
    ) -> None:
        self.files = files
        self.facts = facts
        self.data = data

    @classmethod
    def load(cls, repository: Repository, commit: Folder, key: str) -> StoredRoot | None:
        """Return the root `key` in a commit; None if the commit does not have it.

        Raises DamagedHistoryError.
        """
        folder = commit.get((key_name(key),))
        if not isinstance(folder, Folder):
            return None
        blob = folder.get((METADATA,))
        facts: dict[str, dict[str, Any]] = {}
        data: dict[str, Mapping[str, Any]] = {}
        if isinstance(blob, Leaf):
            for rel, entry in _parse(repository.blob(blob.id)).items():
                if "data" in entry:
                    data[rel] = entry["data"]
                if own := {name: value for name, value in entry.items() if name != "data"}:
                    facts[rel] = own
        return cls(folder.folder((FILES,)), facts, data)

    def put(self, rel: str, found: ScannedFile) -> None:
        """Store the file `found` at the path `rel`: its blob in the tree, its other attributes in `facts`."""
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
        """Return whether the root has a file at `rel` or below it; True for ""."""
        return not rel or self.files.get(escape_rel(rel)) is not None

    def take_over(self, rel: str, other: StoredRoot) -> None:
        """Replace everything at and below `rel` ("": all) by the files that `other` has there.

        If `rel` is not "" and `other` has nothing there, nothing changes.
        """
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
        """Remove the files at and below `rel` (not "")."""
        self.files.remove(escape_rel(rel))
        for at in [at for at in self.facts if _is_under(at, rel)]:
            del self.facts[at]

    def version(self, rel: str, leaf: Leaf) -> FileVersion:
        """Return the version of one file, combined from `facts` and `leaf`, its entry in the tree."""
        facts = self.facts.get(rel, {})
        mode = facts.get("mode")
        plain = _PLAIN_MODES.get(leaf.mode, 0o644)
        return FileVersion(leaf.id.hex(), int(mode, 8) if mode else plain, facts.get("omitted") is True)

    def metadata_blob(self) -> bytes:
        """Return the metadata blob: JSON with one line per file, so that git's own diff is readable."""
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
    """Return the name under which a commit stores the root `key`, with special characters escaped."""
    return escape_segment(key).encode()


def key_of(name: bytes) -> str:
    """Return the key of a root from the escaped name under which a commit stores it."""
    return unescape_segment(name.decode("utf-8", "surrogateescape"))


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
    raise DamagedHistoryError("its metadata is unreadable")


@dataclasses.dataclass(frozen=True, slots=True)
class SeenChange:
    """One file whose content differs from the last commit."""

    key: str
    """The key of the file's root (directory of memories)."""
    rel: str
    """The path of the file below its root."""
    before: Callable[[], bytes | None] = dataclasses.field(repr=False, compare=False)
    """Returns the content in the last commit; None if that has no such file."""
    after: Callable[[], bytes | None] = dataclasses.field(repr=False, compare=False)
    """Returns the new content; None if the file is deleted."""


class Share(Struct, frozen=True):
    """The part of a snapshot's changes that one actor made; each share becomes a commit of its own.

    Changes of pins and use are part of the first share.
    """

    actor: str
    run_id: str | None
    """The run that made the changes; None if it was no run."""
    changes: Sequence[SeenChange]


Sharer = Callable[[Sequence[SeenChange], int | None], Sequence[Share]]
"""A function that divides changes by author, in the order in which they are to be committed.

It gets the changes, and the time of the last commit (UTC ms; None: there is none). It is called after the
scan and before the commit, so it gets exactly the changes that are committed.
"""


def seen_changes(
    repository: Repository, sink: ObjectSink, last: StoredCommit | None, now: Folder
) -> tuple[SeenChange, ...]:
    """Return the change of each file whose content in `now` differs from its content in the last commit.

    `last`: the last commit; None if there is none. `now`: the tree to be committed. `sink`: the objects that
    were added for `now`; they are written to the repository when a content is read.
    """

    def read(leaf: Leaf | None) -> bytes | None:
        if leaf is None:
            return None
        sink.flush()
        return repository.blob(leaf.id)

    found = []
    for names, before, after in Folder(repository.tree, last.tree if last else None).differing(now):
        same = before is not None and after is not None and before.id == after.id
        if len(names) > 2 and names[1] == FILES and not same:
            where = key_of(names[0]), unescape_rel(names[2:])
            found.append(SeenChange(*where, partial(read, before), partial(read, after)))
    return tuple(found)


def trees_by_share(
    repository: Repository,
    sink: ObjectSink,
    last: StoredCommit | None,
    now: Folder,
    shares: Sequence[Share],
) -> Iterator[tuple[Share, bytes | None]]:
    """Yield each share with the raw id of the tree to commit for it; None if that tree has no files.

    The first tree is the tree of `last` (the last commit, None if there is none) with the changes of the
    first share; each further tree adds the changes of the next share. The tree for the last share is `now`,
    which has all changes, so that no change is left out. `sink` collects the new trees.
    """
    tree = Folder(repository.tree, last.tree if last else None)
    for share in shares[:-1]:
        for key in sorted({change.key for change in share.changes}):
            final = StoredRoot.load(repository, now, key)
            root = StoredRoot.load(repository, tree, key) or StoredRoot(Folder(repository.tree), {}, {})
            for change in share.changes:
                if change.key == key:
                    _take(root, change.rel, final)
            if share is shares[0] and final is not None:
                root.data = final.data
            tree.put((key_name(key), FILES), root.files)
            tree.put((key_name(key), METADATA), Leaf(FILE_MODE, sink.blob(root.metadata_blob())))
        yield share, tree.write(sink)
    yield shares[-1], now.write(sink)


def _take(root: StoredRoot, rel: str, final: StoredRoot | None) -> None:
    """Give the file `rel` in `root` the state that it has in `final`; delete it if `final` has no such file.

    A `final` of None stands for a root without files. If `root` has a folder at `rel`, the folder stays,
    unless `final` has a file there.
    """
    names = escape_rel(rel)
    if isinstance(root.files.get(names), Leaf):
        root.remove(rel)
    if final is not None and isinstance(final.files.get(names), Leaf):
        root.take_over(rel, final)
