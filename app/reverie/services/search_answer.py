"""What a search answers. Values; they hold memory text as it is and stay on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reverie.homes.scopes import Scope
from reverie.memory.search_snippet import Snippet


class SearchStopped(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A file that answers. `path` is its memory path, for a companion its path on disk. `workspace_id` and
    `project_path` name a context it is shown in; `reachable` False: none shows it (its owner is gone)."""

    home_id: str
    home: str
    home_label: str
    path: str
    scope: Scope
    score: float
    snippet: Snippet
    name_hits: tuple[tuple[int, int], ...] = ()
    root_key: str = ""
    companion: bool = False
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True

    def as_json(self) -> dict[str, Any]:
        """As `reverie search --json` tells it."""
        return {
            "home": self.home,
            "path": self.path,
            "scope": self.scope.value,
            "score": self.score,
            "snippet": self.snippet.text,
            "hits": [list(hit) for hit in self.snippet.hits],
            "line": self.snippet.line,
            "workspaceId": self.workspace_id,
            "projectPath": self.project_path,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """`problems`: sentences on what was asked in vain, and on homes that could not be looked at. `complete`
    False: the index of some home is still being made, or the pattern was not tried on everything yet."""

    query: str
    hits: tuple[Hit, ...]
    problems: tuple[str, ...] = ()
    complete: bool = True
