"""Who gave a file the content it has now, for what is told beside a text that changed under one's hands.

The actor log knows our own writes and what a snapshot has found to be the agent's; what is newer than the
last snapshot is looked for in the agent's transcripts. Threading: any thread but the GUI's. Failure:
`StoreError`, `Unavailable`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.files.directory import Directory
from reverie.homes.scopes import ScopeContext
from reverie.memory.companion_places import companion_place
from reverie.memory.history_scan import LARGEST_BYTES
from reverie.memory.sharing import AGENT
from reverie.memory.store import sha256_of_bytes

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts


def author_of(
    parts: HomeParts, context: ScopeContext, path: str, sha256: str, companion: Path | None = None
) -> str:
    """The actor; empty: nobody that is known. `sha256` is the content's, `companion` a file beside the
    memories, in place of `path`."""
    file = companion
    if file is None:
        parsed, root, _files = parts.store(context, actor="user").resolve(path)
        file, key, rel = root.directory / parsed.rel, root.key, parsed.rel
    else:
        place = companion_place(parts.home.root, file)
        key, rel = place.key, place.rel
    found = parts.actors.actor_of(file, sha256)
    if found is not None:
        return found.actor
    content = _bytes_of(file)
    known = rel and content is not None and sha256_of_bytes(content) == sha256
    return AGENT if known and content and parts.snapshots.is_agents(key, rel, content) else ""


def _bytes_of(file: Path) -> bytes | None:
    """None where it cannot be read, or is more than the history keeps: no transcript tells of that."""
    try:
        with Directory.open(file.parent) as directory:
            content = directory.read(file.name, limit=LARGEST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST_BYTES else None
