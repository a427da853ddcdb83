"""Trace dumps of mux's memory writer.

Threading: any thread but the GUI's; nothing raises.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import WatchedPlace
from reverie.agents.mux.models import AGENT
from reverie.agents.mux.names import is_plain_component
from reverie.agents.reading import directory_names
from reverie.files.directory import is_directory

if TYPE_CHECKING:
    from reverie.agents.capabilities import DumpPlaces


DUMPS = "debug_obj"
_OTHERS = frozenset({"memories", "orpc"})
_MOST = 2_000


def dump_places(root: Path) -> DumpPlaces:
    """Return the existing directories of the memory writer's trace dumps.

    A dump is a file `debug_obj/<workspace>/system1_memory_writer/*.json` in which the agent records one run
    of its memory writer (formats/mux.md section 14).
    """
    from reverie.agents.capabilities import DumpPlaces  # late: no name that is listed needs it

    found = [(name, root / DUMPS / name / AGENT) for name in _workspaces(root)]
    return DumpPlaces(root / DUMPS, tuple((name, path) for name, path in found if is_directory(path)))


def watched_dumps(root: Path) -> tuple[WatchedPlace, ...]:
    """Return the places to watch for new dumps, also for the first dump of a workspace.

    A dump is a file in which the agent records one run of its memory writer.
    """
    names = _workspaces(root)
    return (
        WatchedPlace(root / DUMPS),
        *(WatchedPlace(root / DUMPS / name, (AGENT,)) for name in names),
        *(WatchedPlace(path) for _name, path in dump_places(root).directories),
    )


def _workspaces(root: Path) -> list[str]:
    names = directory_names(root / DUMPS, [])
    return [name for name in names if name not in _OTHERS and is_plain_component(name)][:_MOST]
