"""What changed in a context since a person last looked at it.

A glance is what a view amounts to: which parts told of which files, in what state and how much. One is kept
for each scope context of a home, in Reverie's own data directory; it holds paths and sizes, no text.

Threading: `Glances` blocks on disk; the rest is pure. Failure: raises `MendableError`; a glance that cannot
be understood is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reverie.clock import Clock
from reverie.context.view import ContextView, PartKey
from reverie.files.sidecar import Sidecar
from reverie.homes.scopes import ScopeContext

NAME = "context-seen.json"
_KEPT = 200

ChangeKind = Literal["came", "went", "cut", "whole", "resized"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file that is told of otherwise than before."""

    part: PartKey
    path: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class Since:
    """What is different since `at` (UTC ms): files, and tokens in all."""

    at: int
    changes: tuple[Change, ...]
    tokens: int


def key_of(context: ScopeContext) -> str:
    """What a glance of this context is kept under."""
    return f"{context.workspace_id or ''} {context.project_path or ''}".strip()


def glance_of(view: ContextView) -> dict[str, Any]:
    """A view as it is kept."""
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
    """What changed from a glance to a view; None where there was no glance."""
    if glance is None or not isinstance(glance.get("at"), int) or not isinstance(glance.get("tokens"), int):
        return None
    parts = glance.get("parts")
    before = parts if isinstance(parts, dict) else {}
    found: list[Change] = []
    for part in view.parts:
        if part.key == "recorded":
            continue  # it is the past; what changed in it shows in the other parts
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
    """The glances of one home, the latest `_KEPT` contexts."""

    def __init__(self, directory: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._sidecar = Sidecar(directory / NAME, lock_dir=lock_dir, clock=clock)

    def read(self, context: ScopeContext) -> Mapping[str, Any] | None:
        """What a person saw of this context last; None for never."""
        found = self._sidecar.read().data.get(key_of(context))
        return found if isinstance(found, dict) else None

    def keep(self, context: ScopeContext, view: ContextView) -> None:
        """This is what was seen last."""
        key, glance = key_of(context), glance_of(view)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            if data.get(key) == glance:
                return None
            data.pop(key, None)
            data[key] = glance
            for oldest in list(data)[: max(0, len(data) - _KEPT)]:
                del data[oldest]
            return data

        self._sidecar.update(change)
