"""Which version of the agent a mux home belongs to, and so which memories its agent loads.

It is written nowhere, so it is judged by what only one version writes (formats/mux.md sections 14 and 17):
the version with the memory writer names it in `config.json` and copies each written memory to
`debug_obj/memories`; the versions with stores keep pins, coverage and `memory/`. What Reverie writes itself
counts for neither.

Imported before the first names are shown, so it imports little.

Threading: pure but for looking at the disk. Failure: what cannot be reached is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.files.there import is_directory, is_file
from reverie.homes.mux_location import CONFIG, CONFIG_BYTES, COVERAGE, USAGE
from reverie.homes.mux_writer import AGENT, INTERVAL
from reverie.homes.reading import read_json

if TYPE_CHECKING:
    from reverie.homes.agents import MemoryKinds

_COPIES = "debug_obj/memories"


def writer_in_use(root: Path) -> bool:
    """Whether the agent of this home is of a version that loads one file a project. Asked for each project:
    `config.json` is read again only after it changed."""
    try:
        status = (root / CONFIG).stat()
        signs = _config_signs(root / CONFIG, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        signs = ()
    return bool(signs) or is_directory(root / _COPIES)


@lru_cache(maxsize=16)
def _config_signs(config: Path, _mtime_ns: int, _size: int, _inode: int) -> tuple[str, ...]:
    try:
        return tuple(_signs_in(read_json(config, CONFIG_BYTES)))
    except ValueError:
        return ()


def memory_kinds(root: Path, config: object) -> MemoryKinds:
    """Judged by `config.json` and by what lies in the home."""
    from reverie.homes.agents import MemoryKinds  # late: no name that is listed needs it

    writer = _writer_signs(root, config)
    store = [name for name in (USAGE, COVERAGE) if is_file(root / name)]
    store += [name for name in ("memory/global", "memory/project") if is_directory(root / name)]
    if not writer and not store:
        return MemoryKinds(None, None, "Nothing in this home tells which memories its agent loads.")
    told = []
    if writer:
        told.append(f"{_listed(writer)}: of a version that loads one file a project.")
    if store:
        told.append(f"{_listed(store)}: of a version that loads project memories.")
    return MemoryKinds(bool(writer), bool(store), " ".join(told))


def _writer_signs(root: Path, config: object) -> list[str]:
    return [*_signs_in(config), *((_COPIES,) if is_directory(root / _COPIES) else ())]


def _signs_in(config: object) -> list[str]:
    found = []
    if INTERVAL in _below(config, "taskSettings"):
        found.append(f"config.json sets {INTERVAL}")
    if AGENT in _below(config, "agentAiDefaults"):
        found.append(f"config.json names the agent {AGENT}")
    return found


def _below(config: object, key: str) -> Mapping[str, Any]:
    inner = config.get(key) if isinstance(config, dict) else None
    return inner if isinstance(inner, dict) else {}


def _listed(signs: list[str]) -> str:
    return ", ".join(signs)
