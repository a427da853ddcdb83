"""Glances: records of a context, to show what has changed in it since a person last looked.

A glance stores which files were in which part, in what state and size: paths and sizes only, in Reverie's own
data, one glance for each scope context.

Threading: `Glances` blocks on disk. Failure: `UserError`; a glance that cannot be understood counts as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.scopes import ScopeContext
from reverie.clock import Clock
from reverie.context.view import ContextView, PartKey
from reverie.files.sidecar import Sidecar
from reverie.values import Struct

NAME = "context-seen.json"


_KEPT = 200


ChangeKind = Literal["came", "went", "cut", "whole", "resized"]


class Change(Struct, frozen=True):
    """One file that is loaded differently than when a person last looked at what the agent loads.

    `part`: the part of the agent's prompt. `kind`: `came` or `went` if the file is now loaded, or no longer
    loaded; `cut` or `whole` if now only a part of its text, or all of it, is loaded; `resized` if the loaded
    size differs.
    """

    part: PartKey
    path: str
    kind: ChangeKind


class Since(Struct, frozen=True):
    """What has changed in a context (what an agent loads) since a person looked at it at `at` (UTC ms).

    `changes` has the files; `tokens` is the difference in the total number of tokens, negative for a
    decrease.
    """

    at: int
    changes: tuple[Change, ...]
    tokens: int


def glance_key(context: ScopeContext) -> str:
    """Return the key under which the record (glance) of what an agent loads in `context` is stored."""
    return f"{context.workspace_id or ''} {context.project_path or ''}".strip()


def glance_of(view: ContextView) -> dict[str, Any]:
    """Return the record to store for `view`: its time and tokens, and the state and size of each loaded file.

    The files are grouped by the part of the prompt. What an earlier session loaded is left out.
    """
    return {
        "at": view.at,
        "tokens": view.tokens,
        "parts": {
            part.key: {entry.path: [entry.state, entry.bytes] for entry in part.loaded}
            for part in view.parts
            if part.key != "recorded"
        },
    }


def since(glance: Mapping[str, Any] | None, view: ContextView) -> Since | None:
    """Return what has changed in `view` since `glance`, a record that `glance_of` made earlier.

    Returns None if `glance` is None or not valid.
    """
    if glance is None or not isinstance(glance.get("at"), int) or not isinstance(glance.get("tokens"), int):
        return None
    parts = glance.get("parts")
    before = parts if isinstance(parts, dict) else {}
    found: list[Change] = []
    for part in view.parts:
        if part.key == "recorded":
            continue  # a past context; its changes show in the other parts
        known = before.get(part.key)
        old = known if isinstance(known, dict) else {}
        now = {entry.path: (entry.state, entry.bytes) for entry in part.loaded}
        for path, (state, size) in now.items():
            kind = _kind(old.get(path), state, size)
            if kind is not None:
                found.append(Change(part.key, path, kind))
        found += [Change(part.key, path, "went") for path in old if path not in now]
    return Since(glance["at"], tuple(found), view.tokens - glance["tokens"])


def _kind(old: object, state: str, size: int) -> ChangeKind | None:
    if not isinstance(old, list) or len(old) != 2:
        return "came"
    if old[0] != state:
        return "cut" if state == "cut" else "whole"
    return "resized" if old[1] != size else None


class Glances:
    """The stored glances of one home: records of what its agent loaded when a person last looked at that.

    There is one record for each workspace and project; only the `_KEPT` newest are kept. Methods raise
    `UserError`.
    """

    def __init__(self, directory: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._sidecar = Sidecar(directory / NAME, lock_dir=lock_dir, clock=clock)

    def read(self, context: ScopeContext) -> Mapping[str, Any] | None:
        """Return the stored record of `context`; None if there is none."""
        found = self._sidecar.read().data.get(glance_key(context))
        return found if isinstance(found, dict) else None

    def store(self, context: ScopeContext, view: ContextView) -> None:
        """Store the record of `view` in place of the earlier record of `context`."""
        key, glance = glance_key(context), glance_of(view)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            if data.get(key) == glance:
                return None
            data.pop(key, None)
            data[key] = glance
            for oldest in list(data)[: max(0, len(data) - _KEPT)]:
                del data[oldest]
            return data

        self._sidecar.update(change)
