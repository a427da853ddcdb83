"""A small home of an invented agent, the second implementation of `agents.base.Home`.

It differs from mux wherever the interface allows: other caps, another layout, no workspace scope, no
companions, and of the optional capabilities only one. What works with both keeps no constant of either.

    <root>/jotter.ini              marks the home; one project path per line
    <root>/common/**               global
    <root>/books/<sha1 of path>/** project
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from reverie.agents.base import Home, HomeContents, LostStore, Orphan, Project, WatchedPlace
from reverie.agents.scopes import (
    EDITABLE,
    Caps,
    FileRule,
    ProjectGap,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)
from reverie.errors import Unavailable

MARKER = "jotter.ini"


def make_foreign_home(root: Path, *projects: str) -> ForeignHome:
    """A new, empty home that lists `projects`."""
    root.mkdir()
    (root / MARKER).write_text("".join(f"{path}\n" for path in projects), encoding="utf-8")
    return ForeignHome(root)


class ForeignHome(Home):
    """See the module's docstring."""

    kind = "jotter"
    caps = Caps(
        file_bytes=2048, files_per_scope=12, description_chars=40, description_prefix_bytes=512, view_depth=3
    )

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.orphans = self
        self.rules: dict[str, FileRule] = {}
        self.said: dict[str, str] = {}

    @property
    def label(self) -> str:
        return f"Jotter in {self.root.name}"

    def available(self) -> bool:
        return (self.root / MARKER).is_file()

    def contents(self) -> HomeContents:
        paths = self._paths()
        known = {_book(path) for path in paths}
        books = self.root / "books"
        orphans = tuple(
            Orphan("project", book, book.name, "No line names it.")
            for book in (sorted(books.iterdir()) if books.is_dir() else [])
            if book.name not in known
        )
        return HomeContents(tuple(Project(path, Path(path).name, ()) for path in paths), orphans)

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        self._paths()
        if workspace_id is not None:
            raise Unavailable("Jotter has no workspaces.")
        if not project_path:
            return ScopeContext(None, None, ProjectGap.NO_PROJECT)
        return ScopeContext(None, project_path)

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        if scope is Scope.GLOBAL:
            return ScopeRoot(scope, "global", self.root / "common", "common|")
        if scope is Scope.PROJECT and context.project_path:
            return self._book_root(_book(context.project_path), context.project_path)
        gap = ProjectGap.NO_PROJECT if scope is Scope.PROJECT else None
        raise ScopeUnavailable(scope, gap, f"Jotter has no {scope} scope here.", cause="It keeps books only.")

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        owners = {_book(path): path for path in self._paths()}
        common, books = self.root / "common", self.root / "books"
        found = [ScopeRoot(Scope.GLOBAL, "global", common, "common|")] if common.is_dir() else []
        found += [
            self._book_root(book.name, owners.get(book.name))
            for book in (sorted(books.iterdir()) if books.is_dir() else [])
        ]
        return tuple(found)

    def lost_stores(self) -> tuple[LostStore, ...]:
        return tuple(
            LostStore("project", orphan.directory, orphan.label, Scope.PROJECT)
            for orphan in self.contents().orphans
        )

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        return self.rules.get(f"{root.key}/{rel}", EDITABLE)

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        return self.said.get(f"{root.key}/{rel}")

    def usage_key(self, root: ScopeRoot, rel: str) -> str | None:
        return None if root.usage_prefix is None else root.usage_prefix + rel

    def watched(self) -> tuple[WatchedPlace, ...]:
        return (WatchedPlace(self.root, (MARKER, "common", "books")), WatchedPlace(self.root / "books"))

    def _book_root(self, name: str, owner: str | None) -> ScopeRoot:
        prefix = None if owner is None else f"book|{owner}|"
        return ScopeRoot(Scope.PROJECT, f"project/{name}", self.root / "books" / name, prefix)

    def _paths(self) -> list[str]:
        try:
            return (self.root / MARKER).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise Unavailable(f"{self.root} is not there.", next_step="Bring it back.") from None


def _book(path: str) -> str:
    return hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()
