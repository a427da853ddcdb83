"""Removes directories made by Reverie in a home that switch the agent's memory off by their existence.

A directory is removed only if all files in it are as Reverie wrote them. They are copied into Reverie's own
directory and compared with the copies; then each is deleted if it has not changed meanwhile, under the
agent's lock. Files that another program wrote are never moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reverie.agents.scopes import Scope, ScopeRoot
from reverie.doctor.facts import DoctorHome, Maker
from reverie.errors import StoreError, UserError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, walk_paths
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.write_guard import write_locks
from reverie.memory.write_log import WriteLog

_MOST_FILES = 10_000


def maker_of(actors: WriteLog, directory: Path) -> Maker:
    """Return which program wrote the files in a directory, according to `actors`, a log of Reverie's writes.

    `reverie`: all files are as Reverie wrote them. `nobody`: there are no files. `others`: anything else,
    including files that cannot be read.
    """
    try:
        contents = {path: sha256_of_bytes(path.read_bytes()) for path in _files(directory)}
        if not contents:
            return "nobody"
        return "reverie" if set(actors.actors_of(contents)) == set(contents) else "others"
    except (OSError, UserError):
        return "others"


def take_away(parts: DoctorHome, directory: Path) -> None:
    """Move the files in `directory`, made by Reverie, into Reverie's own directory, and remove `directory`.

    This is done under the agent's own lock. Raises `Busy` while the agent holds that lock, and `StoreError`
    if the directory has files of other programs.
    """
    _refuse_others(parts, directory)
    root = ScopeRoot(Scope.GLOBAL, "", directory, None)
    with write_locks(parts.home, (root,), lock_dir=parts.profile.locks):
        _refuse_others(parts, directory)
        _take_away(parts, directory)


def _refuse_others(parts: DoctorHome, directory: Path) -> None:
    if maker_of(parts.actors, directory) == "others":
        raise StoreError(
            f"The folder {directory.name}/ was not removed.",
            cause="It contains files or links that Reverie did not write, or it cannot be read.",
            next_step="Check its contents, and delete it yourself if you do not need it.",
        )


def _take_away(parts: DoctorHome, directory: Path) -> None:
    kept = parts.profile.ensure(parts.profile.own_sidecars(parts.home_id)) / f"taken-{parts.clock()}"
    try:
        for path in _files(directory):
            data, copy = path.read_bytes(), kept / path.relative_to(directory)
            ensure_private(copy.parent)
            atomic_write(copy, data)  # durable before the original is deleted
            if copy.read_bytes() == data == path.read_bytes():
                path.unlink()
        for found in reversed([found for found, _directories, _names in walk_paths(directory, _raise)]):
            Path(found).rmdir()
    except OSError as error:
        raise user_error_from_os(error, f"Could not remove {directory.name}/.") from error


def _files(directory: Path) -> Iterator[Path]:
    """Yield the path of every file below `directory`.

    Raises `OSError` for a link or a device, because it cannot be a file that Reverie wrote, and if there are
    more than 10,000 files.
    """
    if directory.is_symlink():
        raise OSError(f"{directory} is a symbolic link")
    count = 0
    for found, directories, names in walk_paths(directory, onerror=_raise):
        # `walk_paths` counts links to directories among the directories, and does not follow them.
        links = [name for name in directories if Path(found, name).is_symlink()]
        for name in (*links, *names):
            count += 1
            path = Path(found, name)
            if count > _MOST_FILES or path.is_symlink() or not path.is_file():
                raise OSError(f"{path} is not a file")
            yield path


def _raise(error: OSError) -> None:
    raise error
