"""Plans for moving memories into a folder.

Pure; any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reverie.values import Struct


class MovePlan(Struct, frozen=True):
    """A plan for moving memories into a folder."""

    targets: Mapping[str, str]
    """Old path -> new path, for each file or folder to move."""
    clashes: tuple[str, ...] = ()
    """The old paths whose new path is taken, on disk or by another path of the plan."""
    refused: str = ""
    """The reason, as a sentence, why the plan is empty; empty if there is something to move."""


def plan_moves(paths: Sequence[str], folder: str, taken: Callable[[str], bool]) -> MovePlan:
    """Return the plan for moving `paths` into `folder` (all memory paths); never raises.

    `taken` returns whether a memory path exists already. A path inside another folder in `paths` moves with
    that folder; a path that is in `folder` already is left out.
    """
    chosen = [path for path in dict.fromkeys(paths) if not _inside_another(path, paths)]
    if any(folder == path or folder.startswith(path + "/") for path in chosen):
        return MovePlan({}, refused="A folder cannot be moved into itself.")
    moving = [path for path in chosen if path.rpartition("/")[0] != folder]
    if not moving:
        return MovePlan({}, refused="The file is already there.")
    targets: dict[str, str] = {}
    clashes = []
    for path in moving:
        target = f"{folder}/{path.rpartition('/')[2]}"
        if taken(target) or target in targets.values():
            clashes.append(path)
        targets[path] = target
    return MovePlan(targets, tuple(clashes))


def numbered(plan: MovePlan, taken: Callable[[str], bool]) -> MovePlan:
    """Return the plan with a number in the new name of each path that would clash.

    `taken` returns whether a memory path exists already.
    """
    targets = {path: target for path, target in plan.targets.items() if path not in plan.clashes}
    for path in plan.clashes:
        targets[path] = free_path(
            plan.targets[path], lambda candidate: taken(candidate) or candidate in targets.values()
        )
    return MovePlan({path: targets[path] for path in plan.targets})


def free_path(path: str, taken: Callable[[str], bool], gap: str = " ") -> str:
    """Return `path` with the first number, from 2 on, that makes it free: `notes 2.md` for `notes.md`.

    `taken` returns whether a path exists already; `path` itself is not tried. `gap` stands before the number.
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while taken(candidate := f"{folder}{slash}{stem}{gap}{number}{dot}{suffix}"):
        number += 1
    return candidate


def _inside_another(path: str, paths: Sequence[str]) -> bool:
    return any(path.startswith(other + "/") for other in paths)
