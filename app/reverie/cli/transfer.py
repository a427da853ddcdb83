"""The commands `export`, which copies memories to a folder or zip file, and `import`, which proposes them.

Threading: the main thread. Failure: `UserError`, which the command line prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.scopes import Scope, ScopeContext
from reverie.cli.answers import DONE, FAILED, diff_text, print_answer, print_problems, printable
from reverie.cli.homes import the_context, the_home
from reverie.cli.main import Invocation
from reverie.errors import Ambiguous, StoreError
from reverie.files.bundle import BundledFile, LeftOut, read_bundle, write_bundle
from reverie.memory.paths import memory_path
from reverie.services.container import HomeContainer
from reverie.services.transfer import ImportResult, TransferService, scope_of
from reverie.text.summaries import some
from reverie.values import columns, replace


def export(session: Invocation) -> int:
    """Copy memories to a new folder or zip file, byte for byte, and print how many.

    One scope is exported without a folder of its own; several stores get one folder each. JSON:
    `{target, files: [{path, file, bytes}], leftOut: [{path, reason}]}`. Returns the exit code: 1 if a file
    could not be exported.
    """
    parts = the_home(session)
    target = Path(os.path.abspath(session.arguments.target))  # noqa: PTH100 - as typed: a link stays one
    found, left_out = _found(session, parts)
    if not found and not left_out:
        raise StoreError("There is nothing to export.", next_step="Choose another home, scope or path.")
    left_out += write_bundle(target, [file for _path, file in found], parts.home.root)
    gone = {each.rel for each in left_out}
    found = [(path, file) for path, file in found if file.rel not in gone]
    files = [{"path": path, "file": file.rel, "bytes": len(file.data)} for path, file in found]
    document = {"target": str(target), "files": files, "leftOut": _rows(left_out)}
    said = f"Exported {some(len(found), 'file')} to {printable(str(target))}."
    print_answer(session.as_json, document, [said])
    return _left_out(session, left_out)


def import_(session: Invocation) -> int:
    """Record the files of a folder or zip file as a proposal, and print the changes; change no memory.

    JSON: `{run, changes: [{path, command, diff}], unchanged: [path], leftOut: [{path, reason}]}`; `run` is
    null if there is nothing to review. `diff` is empty except with `--dry-run`. Returns the exit code: 1 if
    a file cannot become a memory.
    """
    parts = the_home(session)
    scope, source = Scope(session.arguments.scope), session.arguments.source
    context, bundle = _context(session, parts, scope), read_bundle(source)
    result = TransferService(parts).bring_in(
        context, scope, bundle.files, source.name, dry_run=session.arguments.dry_run
    )
    left_out = [*bundle.left_out, *result.left_out]
    document = {
        "run": result.run or None,
        "changes": [columns(each, "path command diff") for each in result.changes],
        "unchanged": list(result.unchanged),
        "leftOut": _rows(left_out),
    }
    print_answer(session.as_json, document, _lines(result))
    return _left_out(session, left_out)


def _lines(result: ImportResult) -> Iterator[str]:
    """Return what `import` prints for people: the changes, and where to review them."""
    if diff := diff_text(each.diff for each in result.changes):
        yield diff
    else:
        yield from (f"{each.command}  {printable(each.path)}" for each in result.changes)
    if result.run:
        yield f"Proposed {some(len(result.changes), 'change')}. Review run {result.run} in the window."
    elif not result.changes:
        yield "Nothing to import: no file is new or different."


def _found(session: Invocation, parts: HomeContainer) -> tuple[list[tuple[str, BundledFile]], list[LeftOut]]:
    """Return the files that the options of `export` select, with their memory paths, and unreadable ones."""
    given, service = session.arguments, TransferService(parts)
    scope, paths = given.scope, tuple(given.path or ())
    scopes = {scope} if scope else {scope_of(path).value for path in paths}
    if len(scopes) > 1:
        raise Ambiguous(
            "The memories are in several scopes.",
            choices=tuple(sorted(scopes)),
            next_step="Export each scope by itself.",
        )
    if scopes:
        only = Scope(scopes.pop())
        bundle = service.files(_context(session, parts, only), only, paths)
        return [(str(memory_path(only, each.rel)), each) for each in bundle.files], [*bundle.left_out]
    context: ScopeContext | None = None
    if given.workspace is not None or given.project is not None:
        context = the_context(session, parts)
    found, left_out = list[tuple[str, BundledFile]](), list[LeftOut]()
    for store in service.stores(context):
        bundle = service.store_files(store)
        for file in bundle.files:
            placed = replace(file, rel=f"{store.folder}/{file.rel}")
            found.append((str(memory_path(store.scope, file.rel)), placed))
        left_out += [replace(each, rel=f"{store.folder}/{each.rel}") for each in bundle.left_out]
    return found, left_out


def _context(session: Invocation, parts: HomeContainer, scope: Scope) -> ScopeContext:
    """Return the context that the options name; for global memory they need not name any."""
    given = session.arguments
    if scope is Scope.GLOBAL and given.workspace is None and given.project is None:
        return parts.home.context()
    return the_context(session, parts)


def _rows(files: Iterable[LeftOut]) -> list[dict[str, Any]]:
    return [{"path": each.rel, "reason": each.reason} for each in files]


def _left_out(session: Invocation, files: Sequence[LeftOut]) -> int:
    """Print the files that were left out, unless the JSON has them; return the exit code."""
    if session.as_json:
        return FAILED if files else DONE
    return print_problems(f"{printable(each.rel)}: {each.reason}".removeprefix(": ") for each in files)
