"""Real git repositories for tests, made through libgit2: commits, branches, renames, odd entries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pygit2

from reverie.memory.history.repository import libgit2

START = 1_780_000_000
DAY = 86_400


class GitProject:
    """A checkout whose commits are a day apart. Files are `{path: text}`; None removes one."""

    def __init__(self, path: Path, *, bare: bool = False) -> None:
        libgit2()
        self.path = path
        self.git = pygit2.init_repository(str(path), bare=bare, initial_head="main")
        self.bare = bare
        self.now = START
        self.files: dict[str, Any] = {}

    def commit(
        self,
        changes: Mapping[str, str | bytes | None],
        subject: str = "Change",
        *parents: str,
        branch: str = "main",
    ) -> str:
        """Commit on a branch, in the order of the calls; the id."""
        for path, text in changes.items():
            self._put(path, text)
        return self._commit(subject, parents, branch)

    def move(self, old: str, new: str, subject: str = "Move") -> str:
        """Rename a file, or a directory with all in it."""
        for path in [one for one in self.files if one == old or one.startswith(f"{old}/")]:
            blob = self.files[path]
            self._put(path, None)
            target = new + path[len(old) :]
            self.files[target] = blob
            self._write(target, bytes(self.git[blob[0]].data))
        return self._commit(subject, (), "main")

    def entry(self, path: str, oid: str, mode: int, subject: str = "Odd") -> str:
        """Commit an entry that no file is: a submodule, a link."""
        self.files[path] = oid, mode
        return self._commit(subject, (), "main")

    def blob(self, data: bytes) -> str:
        return str(self.git.create_blob(data))

    def head(self) -> str:
        return str(self.git.head.target)

    def switch(self, files: Mapping[str, Any]) -> None:
        """Stand at other files, as a checkout of another branch does."""
        for path in self.files.keys() - files.keys():
            self._remove(path)
        for path, (oid, _mode) in files.items():
            self._write(path, bytes(self.git[oid].data))
        self.files = dict(files)

    def _put(self, path: str, text: str | bytes | None) -> None:
        if text is None:
            del self.files[path]
            self._remove(path)
            return
        data = text.encode() if isinstance(text, str) else text
        self.files[path] = self.blob(data), 0o100644
        self._write(path, data)

    def _write(self, path: str, data: bytes) -> None:
        if not self.bare:
            file = self.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def _remove(self, path: str) -> None:
        if not self.bare:
            (self.path / path).unlink(missing_ok=True)
            parent = (self.path / path).parent
            while parent != self.path and not any(parent.iterdir()):
                parent.rmdir()
                parent = parent.parent

    def _commit(self, subject: str, parents: tuple[str, ...], branch: str) -> str:
        self.now += DAY
        who = pygit2.Signature("A", "a@example.com", self.now, 0)
        name = f"refs/heads/{branch}"
        known = self.git.references.get(name)
        before = list(parents) or ([str(known.target)] if known is not None else [])
        made = self.git.create_commit(None, who, who, subject, self._tree(self.files), before)
        self.git.references.create(name, made, force=True)
        return str(made)

    def _tree(self, files: Mapping[Any, Any]) -> pygit2.Oid:
        builder, below = self.git.TreeBuilder(), dict[str, dict[str, Any]]()
        for path, blob in files.items():
            head, slash, rest = path.partition("/")
            if slash:
                below.setdefault(head, {})[rest] = blob
            else:
                builder.insert(head, blob[0], blob[1])
        for name, inner in below.items():
            builder.insert(name, self._tree(inner), 0o040000)
        return builder.write()


def all_bytes(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time and bytes of everything below a directory."""
    found = {}
    for folder, folders, names in os.walk(directory):
        for name in (*folders, *names):
            path = Path(folder, name)
            status = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path.relative_to(directory))] = (status.st_mode, status.st_mtime_ns, data)
    return found
