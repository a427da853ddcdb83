"""Detection of the version of mux that a home belongs to, and of the memories that this version loads.

Threading: any thread but the GUI's. Failure: files that cannot be read count as missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.mux.locations import CONFIG, CONFIG_BYTES, COVERAGE, USAGE
from reverie.agents.mux.models import AGENT, INTERVAL, below
from reverie.agents.reading import cached_until_changed, read_json
from reverie.files.directory import is_directory, is_file
from reverie.text.summaries import phrase, together

if TYPE_CHECKING:
    from reverie.agents.capabilities import MemoryKinds


_COPIES = "debug_obj/memories"


def writer_in_use(root: Path) -> bool:
    """Return whether this home's mux is of a version that loads one memory file per project, not stores.

    The version is not stored, so it is detected by data that only one version writes (formats/mux.md sections
    14 and 17): the version with the memory writer names the writer in `config.json` and copies each written
    memory to `debug_obj/memories`; versions with stores write pins, coverage and `memory/`. Data that Reverie
    writes is ignored. This is called for each project, so `config.json` is read again only after it changed.
    """
    try:
        signs = _config_signs(root / CONFIG)
    except OSError:
        signs = ()
    return bool(signs) or is_directory(root / _COPIES)


@cached_until_changed(16)
def _config_signs(config: Path) -> tuple[str, ...]:
    try:
        return tuple(_signs_in(read_json(config, CONFIG_BYTES)))
    except ValueError:
        return ()


def memory_kinds(root: Path, config: object) -> MemoryKinds:
    """Return the kinds of memories that the agent loads, judged by `config` and the files in the home.

    `config`: the decoded `config.json`.
    """
    from reverie.agents.capabilities import MemoryKinds  # late: no name that is listed needs it

    writer = [*_signs_in(config), *((_COPIES,) if is_directory(root / _COPIES) else ())]
    store = [name for name in (USAGE, COVERAGE) if is_file(root / name)]
    store += [name for name in ("memory/global", "memory/project") if is_directory(root / name)]
    if not writer and not store:
        return MemoryKinds(None, None, phrase("Nothing in this home shows which memories its agent loads."))
    evidence = []
    if writer:
        signs = ", ".join(writer)
        evidence.append(phrase("{signs}: found in versions that load one file per project.", signs=signs))
    if store:
        signs = ", ".join(store)
        evidence.append(phrase("{signs}: found in versions that load project memories.", signs=signs))
    return MemoryKinds(bool(writer), bool(store), together(*evidence))


def _signs_in(config: object) -> list[str]:
    found = []
    if INTERVAL in below(config, "taskSettings"):
        found.append(f"config.json sets {INTERVAL}")
    if AGENT in below(config, "agentAiDefaults"):
        found.append(f"config.json names the agent {AGENT}")
    return found
