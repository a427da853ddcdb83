"""The state of the last window of a profile, in a small JSON file that the next window reads.

Reading never fails: a field that is missing or has the wrong type gets its default, and unknown fields are
ignored. The text of memories is not stored.

Threading: any thread. Failure: `UserError` from writing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, read_regular
from reverie.profile import Profile
from reverie.values import Struct, as_dict, fields_of

MOST_FOLDERS = 2_000
MOST_HOMES = 100
_LARGEST = 1_000_000
_FILE = "window.json"


class Remembered(Struct, frozen=True):
    """The state of the window at the time when it was closed.

    Lengths and scroll positions are in pixels.
    """

    home: str = ""
    """The root directory of the home that was shown."""
    homes: tuple[str, ...] = ()
    """The root directories of all open homes, in the order of the list."""
    closed: tuple[str, ...] = ()
    """The root directories of homes that a person closed; they stay closed until a person opens them."""
    workspace: str = ""
    """The id of the workspace that was shown; empty if none was."""
    project: str = ""
    """The path of the project that was shown; empty if none was, or if a workspace was shown."""
    geometry: str = ""
    """The geometry of the window as Qt saves it, in base64."""
    picker: bool = True
    """Whether the list of homes was visible."""
    picker_width: int = 0
    tree_width: int = 0
    tab: int = 0
    """The index of the tab."""
    sort: str = ""
    """The sort order of the tree."""
    opened: tuple[tuple[str, ...], ...] | None = None
    """The expanded rows of the tree, each as a tuple of keys; None: the rows expanded by default."""
    tree_scroll: int = 0
    file: str = ""
    """A memory path, or the path of a companion; empty if no file was open."""
    companion: bool = False
    """True if `file` is the path of a companion (a file that the agent loads beside its memories)."""
    cursor: int = 0
    """The position of the text cursor in UTF-16 units; `anchor` is in the same unit."""
    anchor: int = 0
    text_scroll: int = 0


def remembered_file(profile: Profile) -> Path:
    """Return the path of the state file in a profile; the file may be missing."""
    return profile.state / _FILE


def read_remembered(profile: Profile) -> Remembered:
    """Read the state of the last window, with defaults for fields that are missing or invalid."""
    try:
        stored: Any = json.loads(read_regular(remembered_file(profile), _LARGEST))
    except (OSError, ValueError, RecursionError):
        return Remembered()
    return _from(stored) if isinstance(stored, dict) else Remembered()


def _from(stored: Mapping[str, Any]) -> Remembered:
    kept: dict[str, Any] = {}
    usual = Remembered()
    for name in fields_of(Remembered):
        value, default = stored.get(name), getattr(usual, name)
        if name == "opened":
            kept["opened"] = _keys(value)
        elif name in ("homes", "closed"):
            kept[name] = _texts(value)
        elif type(value) is type(default) and not (isinstance(value, int) and value < 0):
            # The types must be equal: a bool is not accepted as a number.
            kept[name] = value
    return Remembered(**kept)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(text for text in value[:MOST_HOMES] if isinstance(text, str) and text)


def _keys(value: Any) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(value, list):
        return None
    paths = [path for path in value[:MOST_FOLDERS] if isinstance(path, list)]
    return tuple(tuple(path) for path in paths if path and all(isinstance(key, str) for key in path))


def write_remembered(profile: Profile, remembered: Remembered) -> None:
    """Store the state of the window in the profile. Raises `UserError`."""
    ensure_private(profile.state)
    text = json.dumps(as_dict(remembered), ensure_ascii=True, indent=1)
    atomic_write(remembered_file(profile), text.encode(), mode=0o600)
