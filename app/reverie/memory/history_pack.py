"""Packing: loose objects into one pack, and many packs into one, so that the history stays small and quick.

Nothing is removed before its copy has been read back from the new pack alone, id by id; a kill at any point
leaves every object in at least one place. Only objects that are in the new pack are removed, and every object
goes in, referenced or not: packing forgets nothing. Works under the commit lock.

Failure: `DamagedError`, `OSError`; nothing is removed then.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from reverie.files.checkpoint import checkpoint
from reverie.memory.history_objects import TEMPORARY_PREFIX, sync_directory
from reverie.memory.history_repository import DamagedError, Repository, libgit2, sweep

MOST_PACKS = 20
_SUBDIRECTORY = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{38}")


def pack_if_worthwhile(repository: Repository, pack_after: int) -> None:
    """Pack when there are more than `pack_after` loose objects or more than `MOST_PACKS` packs.

    Raises DamagedError if an object cannot be packed, OSError; in both cases nothing has been removed.
    """
    names = list(_loose(repository.objects))
    packs = _packs(repository.objects)
    if len(packs) <= MOST_PACKS and len(names) <= pack_after:
        return
    loose = {name: repository.objects / name[:2] / name[2:] for name in names}
    for name in loose:
        repository.loose(bytes.fromhex(name))  # libgit2 must not meet one that is cut short
    if len(packs) > MOST_PACKS:
        _pack(repository, sorted({str(oid) for oid in repository.odb}), [*loose.values(), *packs])
    else:
        _pack(repository, list(loose), loose.values())


def _pack(repository: Repository, ids: Sequence[str], superseded: Iterable[Path]) -> None:
    git = libgit2()
    sweep(repository.path)
    sweep(repository.objects / "pack")
    sweep(repository.objects)
    # Left by earlier versions: libgit2's name for a loose object in the making.
    sweep(repository.objects, "tmp_object_git2_")
    temp = repository.path / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    (temp / "pack").mkdir(parents=True)
    try:
        builder = git.PackBuilder(repository._repository)
        for name in ids:
            builder.add(git.Oid(hex=name))
        builder.write(str(temp / "pack"))
        _verify(temp, ids)
    except (git.GitError, KeyError, ValueError) as error:
        raise DamagedError(f"its objects cannot be packed ({error})") from error
    made = sorted((temp / "pack").iterdir(), key=lambda path: path.suffix == ".idx")
    for file in made:
        file.replace(repository.objects / "pack" / file.name)
    sync_directory(repository.objects / "pack")
    (temp / "pack").rmdir()
    temp.rmdir()
    checkpoint("history-pack")
    kept = {file.name for file in made}
    _remove([path for path in superseded if path.name not in kept])


def _verify(objects: Path, ids: Iterable[str]) -> None:
    """Read every object back from the packs below `objects` alone; libgit2 compares content and id."""
    git = libgit2()
    odb = git.Odb()
    odb.add_backend(git.OdbBackendPack(str(objects)), 1)
    for name in ids:
        odb.read(name)


def _loose(objects: Path) -> Iterable[str]:
    """The names of all loose objects. As text: it is asked after each commit."""
    for first in os.listdir(objects):  # noqa: PTH208
        if _SUBDIRECTORY.fullmatch(first):
            rest = os.listdir(f"{objects}/{first}")  # noqa: PTH208
            yield from (first + name for name in rest if _REST.fullmatch(name))


def _packs(objects: Path) -> list[Path]:
    return [path for path in (objects / "pack").glob("pack-*.idx") if path.with_suffix(".pack").exists()]


def _remove(paths: Iterable[Path]) -> None:
    """Remove superseded objects; one that is in use on Windows waits for the next packing."""
    directories = set()
    for path in paths:
        # the index first: git looks for indexes
        files = [path, *path.parent.glob(f"{path.stem}.*")] if path.suffix == ".idx" else [path]
        for file in files:
            with contextlib.suppress(PermissionError):
                if os.name == "nt":
                    file.chmod(0o600)
                file.unlink(missing_ok=True)
        directories.add(path.parent)
    for directory in directories:
        if directory.name != "pack":
            with contextlib.suppress(OSError):
                directory.rmdir()  # fails while anything is left in it, as it should
