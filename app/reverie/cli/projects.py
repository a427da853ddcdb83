"""The command `projects`: each repository once, with the stores of notes that belong to it.

Threading: the main thread. Failure: `UserError`, which the command line prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reverie.cli.answers import print_answer, print_problems, printable, table_lines
from reverie.cli.homes import every_home, from_each
from reverie.files.directory import real_path
from reverie.services.projects import (
    ProjectRegistry,
    ProjectRow,
    ProjectStore,
    answer_projects,
    survey_projects,
)
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.cli.main import Invocation

_REASONS = {
    "fork": "they have the same first commit but different remotes, like a fork",
    "rewritten": "they have the same remote but no commit in common",
    "unsure": "too little is known about their repositories",
}


def projects(session: Invocation) -> int:
    """Print each project with its stores of notes; return the exit code, 1 if a home cannot be opened.

    The options `--same`, `--apart` and `--name` first store a person's answer: that two projects are one,
    that they are two, or the name of a project without a repository.
    """
    homes, errors = from_each(session, every_home(session), lambda parts: parts)
    registry = ProjectRegistry(session.profile, session.clock)
    arguments = session.arguments
    if arguments.name:
        path, name = arguments.name
        registry.name(real_path(path), name)
    rows = survey_projects(homes, registry)
    if arguments.same or arguments.apart:
        one, other = arguments.same or arguments.apart
        answer_projects(registry, rows, one, other, "same" if arguments.same else "apart")
        rows = survey_projects(homes, registry)
    code = print_problems(errors)
    print_answer(session.as_json, [_as_json(row) for row in rows], _row_lines(rows))
    return code


def _row_lines(rows: Sequence[ProjectRow]) -> Iterator[str]:
    if not rows:
        yield "No project was found."
    for row in rows:
        yield printable(f"{row.name}  ({', '.join((row.slug, *row.remotes))})")
        yield from table_lines(_store_row(store) for store in row.stores)
        for line in _lines(row):
            yield printable(f"  {line}")


def _as_json(row: ProjectRow) -> dict[str, Any]:
    return {
        **columns(row, "slug name roots remotes below"),
        "stores": [
            {
                "home": str(each.home),
                "agent": each.agent,
                "store": str(each.store),
                **columns(each, "checkout worktree notes current"),
            }
            for each in row.stores
        ],
        "asks": [columns(each, "with=other reason checkouts") for each in row.asks],
    }


def _store_row(store: ProjectStore) -> tuple[str, ...]:
    state = "" if store.current else "not loaded"
    if store.worktree:
        state = "worktree" if store.current else "worktree, not loaded"
    count = "1 note" if store.notes == 1 else f"{store.notes:,} notes"
    return "", store.agent, count, printable(store.checkout or str(store.store)), state


def _lines(row: ProjectRow) -> Iterator[str]:
    """Yield the lines that are printed after the stores of a project: possible merges, then questions.

    If a home has several stores of the project, they can be merged. A question asks whether this project and
    another one are the same.
    """
    for agent, home in dict.fromkeys((each.agent, each.home) for each in row.stores):
        _first, *others = sorted(
            (each for each in row.stores if each.home == home), key=lambda one: (not one.current, -one.notes)
        )
        notes = sum(each.notes for each in others)
        if notes:
            stores = "1 more store" if len(others) == 1 else f"{len(others):,} more stores"
            count = "1 note" if notes == 1 else f"{notes:,} notes"
            yield f"{stores} of this repository in {agent}, {count}. To merge: Ctrl+Shift+O in the window."
    for ask in row.asks:
        mine, theirs = ask.checkouts
        yield f"Is this the same project as {ask.other}? {_REASONS[ask.reason].capitalize()}:"
        yield f"  {mine}"
        yield f"  {theirs}"
        yield f"  Answer with: reverie projects --same|--apart {row.slug} {ask.other}"
