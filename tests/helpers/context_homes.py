"""Small mux homes for what an agent would be told: files with their use, made by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.context.facts import ContextFacts
from reverie.context.gather import gather
from reverie.context.recipes import assemble
from reverie.context.view import ContextView
from reverie.engine.codec import decode, encode
from reverie.memory.listing import ScopeListing, scan_scope
from reverie.values import replace

NOW = 1_787_300_000_000
DAY = 86_400_000
PROJECT, PROJECT_DIRECTORY, WORKSPACE = "/projects/demo", "demo-8950e3e3787a", "0123456789"
_DIRECTORIES = {
    "g": ("memory/global", "global:"),
    "p": (f"memory/project/{PROJECT_DIRECTORY}", f"project:{PROJECT}:"),
    "w": (f"sessions/{WORKSPACE}/memory", f"workspace:{WORKSPACE}:"),
}
_SCOPES = {"g": Scope.GLOBAL, "p": Scope.PROJECT, "w": Scope.WORKSPACE}


def memory_path_of(short: str) -> str:
    """The memory path of `g/a.md`, `p/a.md` or `w/a.md`."""
    scope, _, rel = short.partition("/")
    return f"/memories/{_SCOPES[scope].value}/{rel}"


def used(count: Any = 1, days: float | None = 0, *, pinned: Any = False) -> dict[str, Any]:
    """An entry of the sidecar: uses, and how many days ago the last one was (None: never)."""
    last = None if days is None else NOW - int(days * DAY)
    return {"pinned": pinned, "accessCount": count, "lastAccessedAt": last, "lastWriteAt": None}


PINNED = used(0, None, pinned=True)


def mux_home(
    root: Path,
    files: Mapping[str, str | bytes],
    usage: Mapping[str, Any] | None = None,
    *,
    raw_entries: Mapping[str, Any] | None = None,
) -> Path:
    """A home with one project and one workspace. `files` and `usage` by short path (`g/a.md`); `raw_entries`
    are entries of the sidecar under the keys they have there."""
    workspace = {"id": WORKSPACE, "name": "main", "path": f"{PROJECT}/main"}
    root.mkdir(parents=True)
    (root / "sessions" / WORKSPACE).mkdir(parents=True)
    listed = {"projects": [[PROJECT, {"workspaces": [workspace]}]]}
    (root / "config.json").write_text(json.dumps(listed), "utf-8")
    for short, content in files.items():
        scope, _, rel = short.partition("/")
        path = root / _DIRECTORIES[scope][0] / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    entries = {_key(short): entry for short, entry in (usage or {}).items()}
    entries |= raw_entries or {}
    if entries:
        (root / "memory-meta.json").write_text(json.dumps({"entries": entries}), "utf-8")
    return root


def view_at(home: Home, context: ScopeContext, at: int) -> ContextView:
    """What the agent of any home would be told, without parts and profile."""
    listings: dict[Scope, ScopeListing] = {}
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            root = home.scope_root(context, scope)
            listings[scope] = scan_scope(root, home.caps, {}, partial(home.usage_key, root))
    return assemble(across(gather(home, context, listings, times=(at,))), at)


def across(facts: ContextFacts) -> ContextFacts:
    """Facts as a window has them: they crossed the wire without the listings, which it has already."""
    crossed = decode(encode(replace(facts, listings={})), ContextFacts)
    found: ContextFacts = replace(crossed, listings=facts.listings)
    assert found == facts
    return found


def _key(short: str) -> str:
    scope, _, rel = short.partition("/")
    return _DIRECTORIES[scope][1] + rel.replace("%", "%25").replace(":", "%3A")
