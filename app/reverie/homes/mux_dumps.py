"""Where mux's memory writer leaves its traces: `debug_obj/<workspace>/system1_memory_writer/*.json`
(formats/mux.md section 14). Looking only; pure but for listing directories.

Threading: any thread but the GUI's. Failure: what cannot be listed has no dumps.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.files.there import is_directory
from reverie.homes.listing import WatchedPlace
from reverie.homes.mux_names import is_plain_component
from reverie.homes.mux_writer import AGENT
from reverie.homes.reading import directory_names

if TYPE_CHECKING:
    from reverie.homes.agents import DumpPlaces

DUMPS = "debug_obj"
# Not workspaces: copies of memories, and errors of the agent's own interface.
_OTHERS = frozenset({"memories", "orpc"})
_MOST = 2_000


def dump_places(root: Path) -> DumpPlaces:
    """The directories of dumps there are now."""
    from reverie.homes.agents import DumpPlaces  # late: no name that is listed needs it

    found = [(name, root / DUMPS / name / AGENT) for name in _workspaces(root)]
    return DumpPlaces(root / DUMPS, tuple((name, path) for name, path in found if is_directory(path)))


def watched_dumps(root: Path) -> tuple[WatchedPlace, ...]:
    """What to watch so that a new dump is seen, also the first of a workspace."""
    names = _workspaces(root)
    return (
        WatchedPlace(root / DUMPS),
        *(WatchedPlace(root / DUMPS / name, (AGENT,)) for name in names),
        *(WatchedPlace(path) for _name, path in dump_places(root).directories),
    )


def _workspaces(root: Path) -> list[str]:
    names = directory_names(root / DUMPS, [])
    return [name for name in names if name not in _OTHERS and is_plain_component(name)][:_MOST]
