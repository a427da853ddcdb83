"""Export and import: memories as plain files for another person or program, and back as a proposal.

An export holds the bytes of the files as they are, front matter included. Companions, such as `CLAUDE.md`,
are not part of it. An import changes no memory: it becomes a run that is held for review.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import StoreError, UserError
from reverie.files.bundle import MOST_BYTES, MOST_FILES, Bundle, BundledFile, LeftOut
from reverie.jobs.consolidate.imports import plan_import, propose_import
from reverie.memory.diff import unified
from reverie.memory.listing import no_check
from reverie.memory.paths import memory_path, parse_memory_path
from reverie.services.container import HomeContainer, rooted_files, roots_of, shown_contexts
from reverie.services.findings import ChangedMemory
from reverie.text.redact import redact
from reverie.values import Struct

_UNSAFE = re.compile(r"[^\w.+ -]+")


class ImportResult(Struct, frozen=True):
    """The result of an import."""

    run: str
    """The run that is held for review; empty if there is nothing to review, or if it was a dry run."""
    changes: tuple[ChangedMemory, ...]
    """The proposed changes; with a diff only for a dry run."""
    unchanged: tuple[str, ...]
    """The memory paths of files that are there already with the same bytes."""
    left_out: tuple[LeftOut, ...]
    """The files that cannot become memories."""


class ExportedStore(Struct, frozen=True):
    """One store of a home that can be exported."""

    folder: str
    """The name of its folder in an export of several stores, such as `project/atlas`."""
    key: str
    """The key of its root (`ScopeRoot.key`)."""
    scope: Scope


class TransferService:
    """The service that exports the memories of one home, and imports files as a proposal."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def stores(self, context: ScopeContext | None = None) -> tuple[ExportedStore, ...]:
        """Return the existing stores of a context, or of the whole home if it is None."""
        home = self._parts.home
        if context is not None:
            roots = [root for root in roots_of(home, context) if rooted_files(root).exists()]
            return tuple(ExportedStore(root.scope.value, root.key, root.scope) for root in roots)
        contents = home.contents()
        shown = dict(shown_contexts(self._parts, contents))
        taken, found = set[str](), list[ExportedStore]()
        for root in home.roots(contents):
            if rooted_files(root).exists():
                found.append(ExportedStore(_folder(root, shown.get(root.key), taken), root.key, root.scope))
        return tuple(found)

    def store_files(self, store: ExportedStore) -> Bundle:
        """Return the files of a store that `stores` listed, with their bytes.

        Raises `StoreError` if it is gone, or if its files are too large to export together.
        """
        for root in self._parts.home.roots():
            if root.key == store.key:
                return _files_in(root, ())
        raise StoreError(f"The store {store.folder} no longer exists.", next_step="Export again.")

    def files(self, context: ScopeContext, scope: Scope, paths: Sequence[str] = ()) -> Bundle:
        """Return the files of a scope with their bytes; with `paths`, only these memories and folders.

        Raises `StoreError` if one of `paths` does not exist or is in another scope, or if the files are too
        large to export together; `ScopeUnavailable` if the context has no such scope.
        """
        return _files_in(self._parts.home.scope_root(context, scope), paths)

    def bring_in(
        self,
        context: ScopeContext,
        scope: Scope,
        files: Sequence[BundledFile],
        source: str,
        *,
        dry_run: bool = False,
        check: Callable[[], None] = no_check,
    ) -> ImportResult:
        """Propose to write the bytes of `files` into a scope; a person applies the proposal after a review.

        `source`: the name of the folder or archive, for the record. `dry_run`: only return the changes,
        record nothing. Raises `Busy` while another run is at work, `ReadOnlyStore`, and `ScopeUnavailable`.
        """
        parts = self._parts
        if dry_run:
            planned, run = plan_import(parts.home, context, parts.usage, scope, files, check), ""
        else:
            result, planned = propose_import(parts.run_dependencies, context, scope, files, source)
            run = result.run_id if result.outcome == "held" else ""
        changes = tuple(
            ChangedMemory(
                each.path,
                each.command,
                redact(unified(each.before, each.after, each.path)) if dry_run else "",
            )
            for each in planned.changes
        )
        return ImportResult(run, changes, planned.unchanged, planned.left_out)


def _files_in(root: ScopeRoot, paths: Sequence[str]) -> Bundle:
    """Return the files of a store with their bytes; with `paths`, only these memories and folders."""
    files = rooted_files(root)
    walk = files.walk()
    entries = [entry for entry in walk.entries if entry.kind == "file"]
    wanted = [_within(root.scope, path) for path in paths]
    for path, rel in zip(paths, wanted, strict=True):
        if not any(_is_at(entry.rel, rel) for entry in entries):
            raise StoreError(f"There is no memory {path}.", next_step="Refresh.", reason="missing")
    if wanted:
        entries = [entry for entry in entries if any(_is_at(entry.rel, rel) for rel in wanted)]
    found, left_out, size = list[BundledFile](), [LeftOut("", each) for each in walk.problems], 0
    for entry in entries:
        try:
            data = files.read(entry.rel, limit=MOST_BYTES - size + 1)
        except UserError as error:
            left_out.append(LeftOut(entry.rel, str(error)))
            continue
        size += len(data)
        if size > MOST_BYTES or len(found) >= MOST_FILES:
            raise StoreError(
                "Nothing was exported.",
                cause=f"An export holds at most {MOST_FILES:,} files and {MOST_BYTES >> 20} MiB of a scope.",
                next_step="Export fewer memories at a time.",
                reason="too-large",
            )
        found.append(BundledFile(entry.rel, data, entry.mtime_ns))
    return Bundle(tuple(found), tuple(left_out))


def scope_of(path: str) -> Scope:
    """Return the scope of an existing memory or folder, whose name may break the agent's rules.

    Raises `StoreError` if `path` is no memory path.
    """
    scope = parse_memory_path("/".join(path.split("/")[:3])).scope
    if scope is None:
        raise StoreError(f"{path} is not inside a scope.", next_step=f"Use one of: {', '.join(Scope)}.")
    return scope


def _within(scope: Scope, path: str) -> str:
    """Return the path of a memory below its scope. Raises `StoreError` if it is in another scope."""
    if scope_of(path) is not scope:
        raise StoreError(f"{path} is not in {scope.value} memory.", next_step="Export each scope by itself.")
    # An existing name may break the agent's rules for new ones.
    return str(memory_path(scope, "/".join(path.split("/")[3:])).rel).rstrip("/")


def _is_at(rel: str, wanted: str) -> bool:
    return not wanted or rel == wanted or rel.startswith(f"{wanted}/")


def _folder(root: ScopeRoot, context: ScopeContext | None, taken: set[str]) -> str:
    """Return the name of a store's folder in an export of a home; add it to `taken`.

    `context` shows the store; None if nothing shows it any more, such as a project that has moved.
    """
    name = root.scope.value
    if root.scope is not Scope.GLOBAL:
        owner = root.directory.name
        if context is not None:
            owner = (context.workspace_id if root.scope is Scope.WORKSPACE else context.project_path) or owner
        last = owner.replace("\\", "/").rstrip("/").rpartition("/")[2]
        name = f"{name}/{_UNSAFE.sub('_', last).strip('. ') or 'unnamed'}"
    number, unique = 1, name
    while unique.casefold() in taken:
        number += 1
        unique = f"{name}-{number}"
    taken.add(unique.casefold())
    return unique
