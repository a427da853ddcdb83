"""Where the repository of a working directory is (formats/claude-code.md sections 2, 12.1.11): its root, all
worktrees taken together, also of a worktree that was removed.

Repositories are read without git: `.git`, and for a worktree the two small files that lead to the main one. A
worktree is believed only where the repository names it in turn, so that no file in a checkout can steer to
the memory of another project. The settings that move a memory are read in `claude_settings`.

Threading: any thread but the GUI's; `Checkouts` locks what it remembers. Failure: what cannot be read is not
there; a root that cannot be kept is found again while its worktree exists.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import MendableError
from reverie.files.atomic import atomic_write
from reverie.files.real_path import real_path
from reverie.files.regular import read_regular
from reverie.files.there import is_directory, is_file
from reverie.homes.reading import read_json

_POINTER_BYTES = 16 << 10
_CACHE_BYTES = 4 << 20
_MOST_KEPT = 5_000


@dataclass(frozen=True, slots=True)
class Machine:
    """What of the machine the agent looks at. `home_dir` is the user's; `managed` the directory of what
    administrators set."""

    env: Mapping[str, str]
    home_dir: Path
    managed: Path

    @classmethod
    def this(cls) -> Machine:
        """This machine and the person who runs Reverie."""
        home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
        return cls(os.environ, Path(home), managed_directory())


def managed_directory() -> Path:
    """Where an administrator's settings and instructions lie, by system."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def canonical_root(cwd: str) -> str:
    """The root of the repository that a directory is in, for a worktree that of the main one; the directory
    itself outside of one, or where it is not there."""
    path = Path(cwd)
    if not path.is_absolute() or not is_directory(path):
        return cwd
    for place in (path, *path.parents):
        git = place / ".git"
        if is_directory(git):
            return str(place)
        if is_file(git):
            return _of_worktree(place, git) or str(place)
    return cwd


@dataclass(frozen=True, slots=True)
class NestedWorktree:
    """A worktree that lies inside the main checkout of its own repository."""

    root: Path
    main: Path
    """The main checkout."""

    def hides(self, place: Path) -> bool:
        """Whether `place` is of the main checkout and not of the worktree: the agent does not load what the
        repository holds there, as the worktree has a copy."""
        return place.is_relative_to(self.main) and not place.is_relative_to(self.root)


def nested_worktree(cwd: str) -> NestedWorktree | None:
    """The worktree that a directory is in, if it lies inside its main checkout."""
    for place in (Path(cwd), *Path(cwd).parents):
        git = place / ".git"
        if is_directory(git):
            return None
        if is_file(git):
            main = _of_worktree(place, git)
            inside = main is not None and place.is_relative_to(main) and str(place) != main
            return NestedWorktree(place, Path(main)) if main is not None and inside else None
    return None


class Checkouts:
    """The repository roots of working directories. Roots of worktrees are kept in `file` (None: not kept), as
    a removed one cannot say where its repository is."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._kept: dict[str, str] | None = None

    def root(self, cwd: str) -> str:
        """As `canonical_root`, and for a worktree that is not there any more what it was before."""
        if is_directory(Path(cwd)):
            root = canonical_root(cwd)
            if not Path(cwd).is_relative_to(root):
                self.keep(cwd, root)
            return root
        with self._lock:
            kept = self._all().get(cwd)
        return kept or _root_by_place(cwd) or cwd

    def keep(self, cwd: str, root: str) -> None:
        """Remember where the repository of a worktree is."""
        with self._lock:
            kept = self._all()
            if kept.get(cwd) == root:
                return
            kept.pop(cwd, None)
            kept[cwd] = root
            for oldest in list(kept)[: max(0, len(kept) - _MOST_KEPT)]:
                del kept[oldest]
            if self._file is not None:
                with contextlib.suppress(OSError, MendableError):  # it is learned again
                    self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    atomic_write(self._file, json.dumps(kept, indent=0).encode(), mode=0o600)

    def _all(self) -> dict[str, str]:
        if self._kept is None:
            data: object = None
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    data = read_json(self._file, _CACHE_BYTES)
            found = data.items() if isinstance(data, dict) else ()
            self._kept = {cwd: root for cwd, root in found if isinstance(root, str)}
        return self._kept


def _root_by_place(cwd: str) -> str:
    """The repository of a removed worktree that the agent made, in `.claude/worktrees/`; else empty."""
    path = Path(cwd)
    for place in (path, *path.parents):
        if place.parent.name == "worktrees" and place.parent.parent.name == ".claude":
            main = place.parent.parent.parent
            return canonical_root(str(main)) if os.path.lexists(main / ".git") else ""
    return ""


def _of_worktree(place: Path, git: Path) -> str | None:
    """The main repository of a worktree; None for a submodule, and for what nothing confirms."""
    pointer = _line(git)
    if not pointer.startswith("gitdir:"):
        return None
    own = Path(real_path(place / pointer.removeprefix("gitdir:").strip()))
    common_line, back = _line(own / "commondir"), _line(own / "gitdir")
    if not common_line or not back:
        return None
    common = Path(real_path(own / common_line))
    if own.parent != common / "worktrees" or real_path(own / back) != real_path(git):
        return None
    return str(common.parent) if common.name == ".git" else str(common)


def _line(path: Path) -> str:
    try:
        text = read_regular(path, _POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
    return "" if "\0" in text else text
