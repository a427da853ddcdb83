"""A project's repository, read from its object database: its states and the changes between them.

No hook, filter or program of the repository runs, the `git` program is never started, the person's
configuration is not read, and nothing is written, neither in the checkout nor in `.git`. A repository is
untrusted: large blobs are not loaded, names that are not UTF-8 are decoded with surrogate escapes, and
history is followed for a limited number of commits and changed files; `limits` reports data that was left
out.

Threading: one thread at a time, in a separate process (`claims.apart`), because libgit2 opens whatever is in
the place of one of git's files, even a pipe or a file on a hanging share, and holds the GIL while it waits.
Failure: `Unavailable` if the repository cannot be opened; a missing object (in a shallow or partial clone)
counts as empty.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.agents.path_patterns import Glob
from reverie.errors import Unavailable
from reverie.files.directory import is_directory, is_file, is_there, read_regular, real_path
from reverie.memory.history.repository import libgit2
from reverie.values import Struct, field

if TYPE_CHECKING:
    import pygit2

MOST_COMMITS = 20_000
MOST_COMPARED = 20_000_000
"""Maximum number of directory entries that are read to follow the history: about ten seconds."""
MOST_BLOB = 1 << 20
MOST_ENTRIES = 400_000
"""Maximum number of files and directories in one state, and of differences between two states."""
MOST_CHANGES = 2_000_000
"""Maximum number of changed files that are cached, over all commits."""
_LONGEST_PATH = 4_096
"""The longest path in characters; no checkout can have a longer one."""
MOST_CANDIDATES = 300
"""Maximum number of added files with which a deleted file is compared."""
SIMILAR = 0.5
"""Minimum share of common bytes for which a file counts as renamed, as in git."""
_KEPT_TEXTS = 400
_KEPT_ENTRIES = 100_000
_CACHE_BYTES = 16 << 20
_WINDOW_BYTES = 8 << 20
_SUBMODULE, _LINK, _TREE, _KIND = 0o160000, 0o120000, 0o040000, 0o170000


class HistoryCommit(Struct, frozen=True):
    """A commit in the part of the history that was read."""

    at: int
    """The position in the history: the newer the commit, the smaller.

    Commits found by a refresh have negative positions.
    """
    id: str
    time: int
    """The time of the commit, in seconds since 1970."""
    subject: str
    """The first line of its message."""


class FileDelta(NamedTuple):
    """One file that a commit changed; a named tuple, because there are hundreds of thousands."""

    status: str
    """The kind of change: `A` for added, `D` for deleted, `M` for changed."""
    path: str
    raw: bytes
    """The id of the blob in binary form: the new blob of an added file, else the old blob."""

    @property
    def blob(self) -> str:
        """The id of the blob in hexadecimal."""
        return self.raw.hex()


class _Entry(NamedTuple):
    """One entry of a git tree: its file mode, and the id of its object in binary form."""

    mode: int
    raw: bytes

    @property
    def kind(self) -> int:
        """The type bits of the mode: file, link, tree or submodule."""
        return self.mode & _KIND


def _deltas(path: str, old: _Entry | None, new: _Entry | None) -> Iterator[FileDelta]:
    """Yield the changes at a path from entry `old` to `new` (None: no entry).

    There are two, a deletion and an addition, if a file became a link or the reverse.
    """
    before = old if old is not None and old.kind != _TREE else None
    after = new if new is not None and new.kind != _TREE else None
    if before is not None and after is not None and before.kind == after.kind:
        yield FileDelta("M", path, before.raw)
        return
    if before is not None:
        yield FileDelta("D", path, before.raw)
    if after is not None:
        yield FileDelta("A", path, after.raw)


_ENTRY = re.compile(rb"\d+ [^\0]+\0.{20}", re.DOTALL)


def _parsed(entry: bytes) -> tuple[bytes, _Entry]:
    mode, _space, name = entry[:-21].partition(b" ")
    return name, _Entry(int(mode, 8), entry[-20:])


class _TooMuchError(Exception):
    """Raised when two trees differ in more than `MOST_ENTRIES` paths."""


class _Listing(Struct):
    """The contents of a git tree, by path."""

    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The id and mode of each file."""
    dirs: dict[str, str] = field(default_factory=dict)
    """The id of each directory."""
    submodules: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)
    """The paths of files and directories, by the last part of the path."""

    def put(self, path: str, entry: _Entry) -> None:
        if entry.kind == _SUBMODULE:
            self.submodules.add(path)
            return
        if entry.kind == _TREE:
            self.dirs[path] = entry.raw.hex()
        else:
            self.files[path] = entry.raw.hex(), entry.mode
        self.names.setdefault(path.rpartition("/")[2], set()).add(path)

    def remove(self, path: str) -> None:
        self.submodules.discard(path)
        self.dirs.pop(path, None)
        self.files.pop(path, None)
        name = path.rpartition("/")[2]
        paths = self.names.get(name, set())
        paths.discard(path)
        if not paths:
            self.names.pop(name, None)


def open_repository(project: Path) -> pygit2.Repository:
    """Open and return the repository at `project`: a checkout, a linked worktree or a bare repository.

    Raises `Unavailable` if there is none or it cannot be opened.
    """
    return open_git_directory(project, git_directory(project))


def open_git_directory(project: Path, place: Path) -> pygit2.Repository:
    """Open and return the repository at `project`, whose git directory is `place`.

    Raises `Unavailable` if it cannot be opened.
    """
    git = libgit2()
    flags = git.enums.RepositoryOpenFlag
    # Objects that are needed again are cached by this class and not by libgit2.
    option = git.enums.Option
    git.option(option.SET_CACHE_MAX_SIZE, _CACHE_BYTES)
    # Missing objects count as empty, so a partial clone can be read.
    git.option(option.SET_EXTENSIONS, ["partialclone"], 1)
    # A pack may have gigabytes; only this much of it is mapped at a time.
    git.option(option.SET_MWINDOW_SIZE, _WINDOW_BYTES)
    git.option(option.SET_MWINDOW_MAPPED_LIMIT, 4 * _WINDOW_BYTES)
    # Each tree is compared twice, with that of its parent and that of its child.
    git.option(option.SET_CACHE_OBJECT_LIMIT, git.enums.ObjectType.TREE, 1 << 16)
    try:
        # Opened as bare, libgit2 reads no index, work tree or attributes.
        opened: pygit2.Repository = git.Repository(str(place), flags.NO_SEARCH | flags.BARE)
    except (git.GitError, ValueError, KeyError) as error:
        raise _unusable(project, str(error)) from error
    return opened


def has_repository(project: Path) -> bool:
    """Return whether there seems to be a repository at `project`, without opening it."""
    return os.path.lexists(project / ".git") or (
        is_directory(project / "objects") and is_file(project / "HEAD")
    )


def checkout_root(path: Path) -> Path | None:
    """Return the root of the checkout that contains `path`, or `path` itself if it is a bare repository.

    None if neither `path` nor one of the folders above it has a repository. Symlinks in `path` are resolved.
    """
    place = Path(real_path(path))
    if has_repository(place):
        return place
    return next((above for above in place.parents if os.path.lexists(above / ".git")), None)


def common_directory(git_directory: Path) -> Path:
    """Return the git directory that the worktree with this git directory shares with its repository.

    For the git directory of a main checkout, this is `git_directory` itself.
    """
    line = _small_text(git_directory / "commondir").strip()
    return Path(real_path(git_directory / line if line else git_directory))


def watched_places(project: Path) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    """Return the files of git in `project` that change when HEAD moves, by a commit, a checkout or a pull.

    Each item is a directory and the names of files in it. Empty if there is no repository.
    """
    try:
        place = git_directory(project)
    except Unavailable:
        return ()
    return (place, ("HEAD", "index", "packed-refs")), (place / "logs", ("HEAD",))


def _unusable(project: Path, cause: str) -> Unavailable:
    return Unavailable(
        f"There is no readable repository at {project}.",
        cause=cause if cause.endswith(".") else f"{cause}.",
        next_step="A project must be the root of a checkout, or a bare repository.",
        reason="repository",
    )


def git_directory(project: Path, *, inside: bool = False) -> Path:
    """Return the git directory of the checkout, worktree or bare repository at `project`.

    For a worktree, this is the worktree's own git directory. `inside`: True to accept a directory without
    checked-out files whose file `.git` names a bare repository in it, beside its worktrees. Raises
    `Unavailable` if there is no repository, or if `.git` names one that belongs to another checkout.
    """
    dot = project / ".git"
    try:
        status = os.lstat(dot)
    except OSError:
        if is_directory(project / "objects") and is_file(project / "HEAD"):
            return project
        raise _unusable(project, "There is no .git") from None
    if stat.S_ISDIR(status.st_mode):
        return dot
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(project, ".git is neither a directory nor a file")
    line = _small_text(dot)
    if not line.startswith("gitdir:"):
        raise _unusable(project, "The .git file does not name a directory")
    place = Path(os.path.normpath(project / line.removeprefix("gitdir:").strip()))
    # The directory of a worktree names its checkout, and so does the configuration of a submodule. Any other
    # directory is refused.
    back = _small_text(place / "gitdir").strip()
    if back and os.path.realpath(place / back) == os.path.realpath(dot):
        return place
    work = re.search(r"^[ \t]*worktree[ \t]*=(.*\S)", _small_text(place / "config"), re.MULTILINE)
    if work and os.path.realpath(place / work[1].strip()) == os.path.realpath(project):
        return place
    if inside and is_file(place / "HEAD") and Path(real_path(place)).is_relative_to(real_path(project)):
        return place
    raise _unusable(project, "The .git file names a directory that does not belong to this checkout")


def _small_text(path: Path) -> str:
    try:
        return read_regular(path, 1 << 16).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


class ProjectRepository:
    """A repository as it is at one commit; `refresh` changes to the present HEAD."""

    def __init__(
        self,
        project: Path,
        at: str = "",
        *,
        most_commits: int = MOST_COMMITS,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the repository at a commit, branch or tag `at`; empty for HEAD.

        At most `most_commits` commits of the history are read. `progress` is called for each object that is
        read. Raises `Unavailable`, and `ValueError` for an unknown commit.
        """
        self.project = project
        self._progress = progress
        self.git = open_repository(project)
        self._objects = self.git.odb
        self.is_bare = self.git.path.rstrip("/") == str(project) or not is_there(project / ".git")
        self.limits: set[str] = set()
        """Sentences about data that was not examined."""
        self._most_commits = most_commits
        self._texts: OrderedDict[str, bytes | None] = OrderedDict()
        self._trees: OrderedDict[bytes, frozenset[bytes]] = OrderedDict()
        self._kept_entries = self._work = 0
        self._known: dict[tuple[str, str], tuple[str, int] | None] = {}
        self._diffs: dict[str, tuple[FileDelta, ...]] = {}
        git = libgit2()
        try:
            found: Any = self.git.revparse_single(at or "HEAD").peel(git.Commit)
        except (KeyError, ValueError, git.GitError) as error:
            raise ValueError(at or "HEAD") from error
        self.head: pygit2.Commit = found
        self.now = self._listing(bytes(found.tree_id.raw))
        self._forget_order()

    def _forget_order(self) -> None:
        self.newest = 0
        """The position of the newest commit in the history (see `HistoryCommit.at`)."""
        self._order: list[Any] = []
        self._walker: Iterator[Any] | None = None
        self.all_walked = False
        self.deleted: dict[str, list[int]] = {}
        """The commits that deleted each path, newest first."""
        self.touched: dict[str, list[int]] = {}
        """The commits that changed each path, newest first."""
        self.deleted_names: dict[str, set[str]] = {}
        """The paths of deleted files and their directories, by the last part of the path."""
        self._at_of: dict[str, int] = {}
        self._changes_kept = 0

    def refresh(self) -> set[str] | None:
        """Update to the present HEAD; return the paths that changed, or None if HEAD is the same.

        The paths include directories and cover added, changed and deleted entries. Known objects are not read
        again.
        """
        git = libgit2()
        try:
            head: Any = self.git.revparse_single("HEAD").peel(git.Commit)
        except (KeyError, ValueError, git.GitError):
            return None
        if head.id == self.head.id:
            return None
        before, new = self.head, self._new_commits(head, self.head.id)
        self.head = head
        changed = self._list_anew(bytes(before.tree_id.raw), bytes(head.tree_id.raw))
        if new is None:
            self._forget_order()
            return changed
        self._order = [*new, *self._order]
        self.newest -= len(new)
        try:
            for place, commit in reversed(list(enumerate(new, self.newest))):
                self._at_of[str(commit.id)] = place
                self._note(place, commit, front=True)
        except _TooMuchError:
            self._forget_order()
        return changed

    def _list_anew(self, old: bytes, new: bytes) -> set[str]:
        """Update the list of paths from git tree `old` to tree `new`; return the paths that differ."""
        try:
            found = [(_text(raw), before, after) for raw, before, after in self._differences(old, new)]
        except (KeyError, _TooMuchError):
            before, self.now = self.now, self._listing(new)
            changed = {path for path, _entry in before.files.items() ^ self.now.files.items()}
            return changed | (before.dirs.keys() ^ self.now.dirs.keys())
        for path, _before, after in found:
            self.now.remove(path)
            if after is not None:
                self.now.put(path, after)
        if len(self.now.files) + len(self.now.dirs) > MOST_ENTRIES:
            self.now = self._listing(new)
        return {path for path, *both in found if not all(one and one.kind == _TREE for one in both)}

    def _new_commits(self, head: Any, before: Any) -> list[Any] | None:
        """Return the commits that `head` adds to `before`, newest first.

        None if history was rewritten, or if there are too many commits.
        """
        found = []
        try:
            if not self.git.descendant_of(head.id, before):
                return None
            walker = self.git.walk(head.id, libgit2().enums.SortMode.TIME)
            walker.hide(before)
            for commit in walker:
                found.append(commit)
                if len(found) > self._most_commits // 4:
                    return None
        except (KeyError, ValueError, libgit2().GitError):
            return None  # an amended commit may have been pruned
        return found

    def _entries(self, tree: bytes) -> frozenset[bytes]:
        """Return the entries of a tree in their stored form. Raises `KeyError` if the tree is missing.

        They are cached, because most trees are read twice: as the result of a commit and as the base of the
        next one.
        """
        known = self._trees.get(tree)
        if known is not None:
            self._trees.move_to_end(tree)
            return known
        self._progress()
        try:
            known = frozenset(_ENTRY.findall(self._objects.read(tree.hex())[1]))
        except (ValueError, libgit2().GitError) as error:
            raise KeyError(tree.hex()) from error
        self._trees[tree] = known
        self._work += len(known)
        self._kept_entries += len(known)
        while self._kept_entries > _KEPT_ENTRIES and len(self._trees) > 1:
            self._kept_entries -= len(self._trees.popitem(last=False)[1])
        return known

    def _below(self, tree: bytes) -> dict[bytes, _Entry]:
        """Return the entries of a tree by name; empty if the tree is missing."""
        try:
            return dict(map(_parsed, self._entries(tree)))
        except KeyError:
            return {}

    def _differences(
        self, old: bytes | None, new: bytes | None
    ) -> Iterator[tuple[bytes, _Entry | None, _Entry | None]]:
        """Yield each path at which two trees differ, with its old and its new entry (None: no entry).

        `old` or `new` None: an empty tree. Identical subtrees are not read. Raises `KeyError` for a missing
        tree, and `_TooMuchError` for more than `MOST_ENTRIES` paths: ten trees that each contain the next one
        ten times have 10^10 files.
        """
        waiting, count = [(b"", old, new)], 0
        while waiting:
            self._progress()
            prefix, before, after = waiting.pop()
            had = self._entries(before) if before is not None else frozenset[bytes]()
            has = self._entries(after) if after is not None else frozenset[bytes]()
            left, right = dict(map(_parsed, had - has)), dict(map(_parsed, has - had))
            for name in left.keys() | right.keys():
                mine, theirs = left.get(name), right.get(name)
                count += 1
                self._work += 1
                if count > MOST_ENTRIES or len(prefix) + len(name) > _LONGEST_PATH:
                    raise _TooMuchError
                yield prefix + name, mine, theirs
                trees = [one.raw if one and one.kind == _TREE else None for one in (mine, theirs)]
                if any(trees):
                    waiting.append((prefix + name + b"/", trees[0], trees[1]))

    def _listing(self, tree: bytes) -> _Listing:
        found = _Listing()
        waiting = [("", tree)]
        count = 0
        while waiting:
            prefix, here = waiting.pop()
            for raw, entry in self._below(here).items():
                count += 1
                if count > MOST_ENTRIES:
                    self.limits.add(f"Only {MOST_ENTRIES:,} files of the repository were checked.")
                    return found
                path = prefix + _text(raw)
                if len(path) > _LONGEST_PATH:
                    self.limits.add(f"Paths longer than {_LONGEST_PATH:,} characters were left out.")
                    continue
                found.put(path, entry)
                if entry.kind == _TREE:
                    waiting.append((path + "/", entry.raw))
        return found

    def at(self, commit: HistoryCommit | None, path: str) -> tuple[str, int] | None:
        """Return the id and mode of the entry at `path` at a commit (None: now); None if there is none."""
        if commit is None:
            if path in self.now.dirs:
                return self.now.dirs[path], _TREE
            return self.now.files.get(path)
        key = commit.id, path
        if key not in self._known:
            self._known[key] = self._look_up(self._commit(commit.at).tree, path)
        return self._known[key]

    @staticmethod
    def _look_up(tree: Any, path: str) -> tuple[str, int] | None:
        try:
            entry = tree[path]
        except (KeyError, ValueError, UnicodeError, libgit2().GitError):
            return None
        return str(entry.id), int(entry.filemode)

    def files_below(self, commit: HistoryCommit, path: str, most: int = 2_000) -> list[str]:
        """Return the files below a directory at a commit, at any depth, as paths relative to that directory.

        After `most` files, only the directory that is being read is completed.
        """
        found = self.at(commit, path)
        waiting, files = [("", bytes.fromhex(found[0]))] if found else [], list[str]()
        read = 0
        while waiting and len(files) < most and read < MOST_ENTRIES:
            self._progress()
            prefix, tree = waiting.pop()
            for name, entry in sorted(self._below(tree).items()):
                read += 1
                if entry.kind == _TREE:
                    waiting.append((f"{prefix}{_text(name)}/", entry.raw))
                elif entry.kind != _SUBMODULE:
                    files.append(prefix + _text(name))
        return files

    def in_submodule(self, path: str) -> bool:
        """Return whether a path lies in a submodule."""
        parts = path.split("/")
        return any("/".join(parts[:end]) in self.now.submodules for end in range(1, len(parts) + 1))

    def size(self, oid: str) -> int:
        """Return the size in bytes of the blob `oid`, without loading it; -1 if it is missing."""
        self._progress()
        try:
            return int(self._objects.read_header(oid)[1])
        except (KeyError, ValueError, libgit2().GitError):
            return -1

    def blob(self, oid: str) -> bytes | None:
        """Return the bytes of the blob `oid`, which are cached.

        None if the blob is binary, missing, or larger than `MOST_BLOB` (1 MiB).
        """
        if oid in self._texts:
            self._texts.move_to_end(oid)
            return self._texts[oid]
        data = self.read(oid)
        self._texts[oid] = data
        if len(self._texts) > _KEPT_TEXTS:
            self._texts.popitem(last=False)
        return data

    def read(self, oid: str) -> bytes | None:
        """Return the bytes of the blob `oid` without caching them; None in the same cases as `blob`."""
        if not 0 <= self.size(oid) <= MOST_BLOB:
            return None
        try:
            kind, data = self._objects.read(oid)
        except (KeyError, ValueError, libgit2().GitError):
            return None
        return None if kind != libgit2().enums.ObjectType.BLOB or b"\0" in data[:8000] else data

    def text_at(self, commit: HistoryCommit | None, path: str) -> str | None:
        """Return the text of the file `path` at a commit (None: now).

        None if there is no such file, if it is a link, or if `blob` returns None for it.
        """
        found = self.at(commit, path)
        data = self.blob(found[0]) if found is not None and found[1] not in (_TREE, _LINK) else None
        return None if data is None else data.decode("utf-8", "replace")

    def _compared(self, commit: Any) -> list[FileDelta]:
        try:
            parent = bytes(commit.parents[0].tree_id.raw) if commit.parent_ids else None
            found = sorted(self._differences(parent, bytes(commit.tree_id.raw)), key=itemgetter(0))
        except (KeyError, ValueError, libgit2().GitError):
            # A shallow clone lacks the parent.
            try:
                found = sorted(self._differences(None, bytes(commit.tree_id.raw)), key=itemgetter(0))
            except KeyError:
                return []
        return [delta for path, old, new in found for delta in _deltas(sys.intern(_text(path)), old, new)]

    @property
    def length(self) -> int:
        """The number of commits of the history that were read so far."""
        return len(self._order)

    @property
    def _oldest(self) -> int:
        return self.newest + len(self._order) - 1

    def _commit(self, at: int) -> Any:
        return self._order[at - self.newest]

    def commit(self, at: int) -> HistoryCommit:
        """Return the commit at position `at` of the history (see `HistoryCommit.at`)."""
        found = self._commit(at)
        try:
            subject = found.message.partition("\n")[0].strip()
        except UnicodeDecodeError:
            subject = found.raw_message.partition(b"\n")[0].decode("utf-8", "replace").strip()
        return HistoryCommit(at, str(found.id), int(found.commit_time), subject[:200])

    def commit_of(self, name: str) -> HistoryCommit | None:
        """Return the commit with the id `name`; None if it is not in the history that was read."""
        self.walk_until(lambda: name in self._at_of)
        at = self._at_of.get(name)
        return None if at is None else self.commit(at)

    def walk_until(self, enough: Callable[[], bool]) -> None:
        """Read older and older commits until `enough` returns True or the limit of commits is reached."""
        if self._walker is None:
            self._walker = iter(self.git.walk(self.head.id, libgit2().enums.SortMode.TIME))
        while not self.all_walked and not enough():
            for _ in range(64):
                if len(self._order) >= self._most_commits or self._work >= MOST_COMPARED:
                    self._end_history()
                    return
                self._progress()
                try:
                    commit = next(self._walker, None)
                except (KeyError, ValueError, libgit2().GitError):
                    commit = None
                if commit is None:
                    self.all_walked = True
                    return
                self._order.append(commit)
                self._at_of[str(commit.id)] = self._oldest
                try:
                    self._note(self._oldest, commit)
                except _TooMuchError:
                    del self._at_of[str(self._order.pop().id)]
                    self._end_history()
                    return

    def _end_history(self) -> None:
        """Record that the history ends here, so that it is not followed further."""
        self.all_walked = True
        self.limits.add(f"Only the newest {len(self._order):,} commits were checked.")

    def _note(self, at: int, commit: Any, *, front: bool = False) -> None:
        """Add the changes of the commit at position `at` to the indexes by path.

        `front`: the commit is newer than all commits that were added before.
        A merge adds nothing, because its changes are added with the merged commits.
        """
        if len(commit.parent_ids) > 1:
            return
        for change in self.changes(at):
            path = change.path
            places = self.touched.setdefault(path, [])
            places.insert(0, at) if front else places.append(at)
            if change.status == "D":
                places = self.deleted.setdefault(path, [])
                places.insert(0, at) if front else places.append(at)
                while path:
                    names = self.deleted_names.setdefault(path.rpartition("/")[2], set())
                    if path in names:
                        break
                    names.add(path)
                    path = path.rpartition("/")[0]

    def changes_of(self, at: int) -> tuple[FileDelta, ...]:
        """Return the files that the commit at position `at` changed, like `changes`, but none for a merge.

        The changes that a merge brings in are those of the merged commits.
        """
        return () if len(self._commit(at).parent_ids) > 1 else self.changes(at)

    def changes(self, at: int) -> tuple[FileDelta, ...]:
        """Return the files that the commit at position `at` of the history changed, against its first parent.

        If a shallow clone lacks the parent, these are all files of the commit.
        """
        commit = self._commit(at)
        known = self._diffs.get(str(commit.id))
        if known is None:
            known = tuple(self._compared(commit))
            self._changes_kept += len(known)
            if self._changes_kept > MOST_CHANGES:
                raise _TooMuchError
            self._diffs[str(commit.id)] = known
        return known

    def last_before(self, time_s: int) -> HistoryCommit | None:
        """Return the newest commit made at or before `time_s` (s since 1970); None if there is none."""
        self.walk_until(lambda: bool(self._order) and self._order[-1].commit_time <= time_s)
        return next(
            (self.commit(at) for at, one in enumerate(self._order, self.newest) if one.commit_time <= time_s),
            None,
        )

    def origins(self, path: str, lines: set[str]) -> dict[str, HistoryCommit]:
        """Return, for each of `lines`, the commit that added it to the file `path`.

        The lines must be stripped. A line that the newest version of the file lacks is left out. A line older
        than the history that was read is attributed to the oldest commit of that history.
        """
        origin = dict[str, HistoryCommit]()
        open_lines = set(lines)
        seen = set[str]()
        first = True
        while path and path not in seen and open_lines:
            seen.add(path)
            self.walk_until(partial(self._is_born, path))
            places = self.touched.get(path, [])
            if first and not places and self._order and self.at(None, path) is not None:
                text = self.text_at(None, path) or ""
                end = self.commit(self._oldest)
                return dict.fromkeys(open_lines & {one.strip() for one in text.splitlines()}, end)
            for at in places:
                commit = self.commit(at)
                then = self.text_at(commit, path)
                if then is None:
                    if not first:
                        break
                    continue
                present = open_lines & {one.strip() for one in then.splitlines()}
                if first:
                    open_lines, first = present, False
                else:
                    open_lines = present
                for line in present:
                    origin[line] = commit
                if not open_lines:
                    break
            born = places[-1] if places else None
            path = self.renamed(born, path, back=True) if born is not None and open_lines else ""
        return origin

    def _is_born(self, path: str) -> bool:
        places = self.touched.get(path)
        if not places:
            return False
        parents = self._commit(places[-1]).parents
        return not parents or self._look_up(parents[0].tree, path) is None

    def deletion(self, path: str) -> int | None:
        """Return the position of the newest commit that deleted or renamed a file; None if there is none."""
        places = self.deleted.get(path)
        return places[0] if places else None

    def break_of(
        self, holds: Callable[[HistoryCommit], bool], since: HistoryCommit, path: str = ""
    ) -> HistoryCommit | None:
        """Return the newest commit after `since` at which `holds` turned from True to False; None for none.

        With `path` only commits that changed that file are tested.
        """
        self.walk_until(lambda: self._oldest >= since.at)
        places = (
            [at for at in self.touched.get(path, []) if at < since.at]
            if path
            else range(self.newest, since.at)
        )
        for at in places:
            commit = self.commit(at)
            before = self.parent(commit)
            if before is not None and not holds(commit) and holds(before):
                return commit
        return None

    def parent(self, commit: HistoryCommit) -> HistoryCommit | None:
        """Return the first parent of a commit; None if it is not in the history that was followed."""
        parents = self._commit(commit.at).parent_ids
        if not parents:
            return None
        return self.commit_of(str(parents[0]))

    def followed(self, path: str) -> tuple[str, HistoryCommit | None]:
        """Return the present path of the file that was at `path`, and the commit that removed it from `path`.

        Renames are followed. The returned path is empty if the file no longer exists; the commit is None if
        no commit deleted or renamed `path`.
        """
        first, seen = None, set[str]()
        newest = self._oldest
        while path not in seen and len(seen) < 12:
            seen.add(path)
            at = self.deletion(path)
            if at is None or at > newest:
                return "", first
            newest = at
            first = first or self.commit(at)
            target = self.renamed(at, path) or self._moved_later(at, path)
            if not target or target in self.now.files:
                return target, first
            path = target
        return "", first

    def renamed(self, at: int, path: str, *, back: bool = False) -> str:
        """Return the path to which the commit at position `at` renamed a file; empty if it did not.

        `back`: return instead the earlier path of the file that the commit renamed to `path`.
        """
        own, other = ("A", "D") if back else ("D", "A")
        changes = self.changes(at)
        mine = next((one.blob for one in changes if one.path == path and one.status == own), "")
        others = [(one.path, one.blob) for one in changes if one.status == other]
        return self._most_like(path, mine, others) if mine else ""

    def _moved_later(self, at: int, path: str) -> str:
        """Return the present file to which `path` moved, if the commit at position `at` only deleted it.

        That is a similar file of the same name that a commit shortly before or after added. Empty if there is
        not exactly one.
        """
        before = self.parent(self.commit(at))
        mine = self.at(before, path) if before is not None else None
        same = [
            (name, self.now.files[name][0])
            for name in self.now.names.get(path.rpartition("/")[2], [])
            if name in self.now.files and (before is None or self.at(before, name) is None)
        ]
        near = [place for place in same if abs(self.touched.get(place[0], [at])[-1] - at) < 200]
        return self._most_like(path, mine[0], near) if mine is not None and len(near) == 1 else ""

    def _most_like(self, path: str, mine: str, others: list[tuple[str, str]]) -> str:
        """Return the path of the file among `others` to which the file `path` was most probably renamed.

        `mine`: the id of its blob. `others`: (path, blob id) pairs. Empty if no file is similar enough.
        """
        name = path.rpartition("/")[2]

        def nearness(other: str) -> tuple[bool, int, int]:
            parts, theirs = path.split("/"), other.split("/")
            tail = next(
                (
                    i
                    for i, (a, b) in enumerate(zip(reversed(parts), reversed(theirs), strict=False))
                    if a != b
                ),
                min(len(parts), len(theirs)),
            )
            return other.rpartition("/")[2] == name, tail, -len(other)

        size = self.size(mine)
        equal = [other for other, blob in others if blob == mine]
        if equal:
            best = max(equal, key=nearness)
            # Tiny files are often equal by chance, so only the name tells them apart.
            return best if size > 60 or best.rpartition("/")[2] == name else ""
        own = self.blob(mine)
        if not own or size < 30:
            return ""
        ranked = sorted(others, key=lambda other: nearness(other[0]), reverse=True)[:MOST_CANDIDATES]
        best_path, best_score = "", 0.0
        for other, blob in ranked:
            their_size = self.size(blob)
            if min(size, their_size) < SIMILAR * max(size, their_size):
                continue
            text = self.blob(blob)
            score = _similarity(own, text) if text else 0.0
            if score >= SIMILAR and score + 0.1 * nearness(other)[0] > best_score:
                best_path, best_score = other, score + 0.1 * nearness(other)[0]
        return best_path

    def moved_directory(self, path: str, since: HistoryCommit) -> tuple[str, HistoryCommit | None]:
        """Return the directory to which most files of the directory `path` moved, and the newest such commit.

        The files are those that `path` had at the commit `since`. The directory must have received more than
        half of the files that moved, and at least a third of all; if there is none, the first value is empty.
        The commit is the newest that deleted or moved one of the files; None if none did.
        """
        files = self.files_below(since, path)
        newest: int | None = None
        votes = dict[str, int]()
        for rel in files:
            at = self.deletion(f"{path}/{rel}")
            if at is None:
                continue
            newest = at if newest is None else min(newest, at)
            target, _commit = self.followed(f"{path}/{rel}")
            place = ""
            if target.endswith(f"/{rel}"):
                place = target[: -len(rel) - 1]
            elif "/" not in rel:
                place = target.rpartition("/")[0]
            if place:
                votes[place] = votes.get(place, 0) + 1
        best = max(votes, key=lambda place: votes[place], default="")
        known = sum(votes.values())
        if not best or 2 * votes[best] <= known or 3 * votes[best] < len(files) or best not in self.now.dirs:
            best = ""
        return best, None if newest is None else self.commit(newest)

    def is_ignored(self, path: str) -> bool:
        """Return whether the `.gitignore` files of the commit exclude `path`."""
        parts = path.rstrip("/").split("/")
        for end in range(1, len(parts) + 1):
            verdict = False
            for depth in range(end):
                place = "/".join(parts[:depth])
                entry = self.now.files.get(f"{place}/.gitignore" if place else ".gitignore")
                text = self.blob(entry[0]) if entry is not None else None
                rel, is_dir = "/".join(parts[depth:end]), end < len(parts) or path.endswith("/")
                for rule in _ignore_rules(text or b""):
                    if (is_dir or not rule.only_dirs) and rule.glob.matches(
                        rel if rule.anchored else parts[end - 1]
                    ):
                        verdict = not rule.negated
            if verdict:
                return True
        return False


class _IgnoreRule(Struct, frozen=True):
    """A line of a `.gitignore` file."""

    glob: Glob
    negated: bool
    """Whether the line begins with `!`: paths that it matches are not ignored."""
    only_dirs: bool
    """Whether the rule matches only directories."""
    anchored: bool
    """Whether the rule matches paths relative to the directory of its file, and not names at any depth."""


@lru_cache(512)
def _ignore_rules(text: bytes) -> tuple[_IgnoreRule, ...]:
    rules = []
    for line in text.decode("utf-8", "replace").split("\n")[:2_000]:
        rule = line.rstrip(" \r")
        if rule.endswith("\\") and rule != line:
            rule += " "
        if not rule or rule.startswith("#") or len(rule) > 300:
            continue
        negated = rule.startswith("!")
        rule = rule.removeprefix("!")
        only_dirs = rule.endswith("/")
        rule = rule.removesuffix("/")
        anchored = "/" in rule
        with contextlib.suppress(ValueError):
            rules.append(_IgnoreRule(Glob(rule.removeprefix("/"), git=True), negated, only_dirs, anchored))
    return tuple(rules)


def _similarity(one: bytes, other: bytes) -> float:
    """Return the similarity of two texts: the share (0 to 1) that common lines have in the larger text."""
    left, right = _line_sizes(one), _line_sizes(other)
    common = sum(min(size, right.get(line, 0)) for line, size in left.items())
    return common / max(sum(left.values()), sum(right.values()), 1)


@lru_cache(512)
def _line_sizes(text: bytes) -> dict[bytes, int]:
    sizes = dict[bytes, int]()
    for line in text.splitlines():
        line = line.strip()
        if line:
            sizes[line] = sizes.get(line, 0) + len(line)
    return sizes


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
