"""Telling an agent something: a note in the place that the agent itself looks into (`Home.note_path`).

The note is created once and never changed; the agent folds it into its memory when it consolidates the next
time. Threading: blocks on disk; not for the GUI thread. Failure: `MendableError`, nothing changed.
"""

from __future__ import annotations

from reverie.errors import StoreError, Unavailable
from reverie.homes.scopes import Scope, ScopeContext
from reverie.memory.paths import memory_path
from reverie.services.hand_edits import HandEdits
from reverie.services.parts import HomeParts


def tell_agent(parts: HomeParts, context: ScopeContext, text: str) -> str:
    """Write a new note; its memory path. Its name is made of the time and the first line."""
    words = text.strip()
    if not words:
        raise StoreError("There is nothing to tell.", next_step="Write a sentence first.", reason="empty")
    rel = parts.home.note_path(words.splitlines()[0].lstrip("#- "), parts.clock())
    if not rel:
        raise Unavailable("This agent takes no notes.", next_step="Edit its memories instead.")
    path = str(memory_path(Scope.GLOBAL, rel))
    HandEdits(parts).save(context, path, f"{words}\n", None)
    return path
