"""Choosing the home and context of a command, and the command `homes`, which lists them.

If several could be meant, the command exits with 2 and lists the choices. A home that cannot be read, or
whose disk hangs, is named on stderr, and the command continues with the others.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from reverie.agents.scopes import Scope, ScopeContext
from reverie.cli import answers
from reverie.cli.answers import local_time, printable, trouble
from reverie.cli.main import Invocation
from reverie.clock import Clock
from reverie.compose import adopt_home, look_for_homes, look_for_stores, open_parts
from reverie.engine.reach import socket_places
from reverie.errors import Ambiguous, Unavailable, UserError
from reverie.files.directory import own_is_there
from reverie.files.log_file import wanted_level
from reverie.services.container import HomeContainer, asked_context, rooted_files
from reverie.services.workbench import Workbench
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.engine.client import EngineClient

log = logging.getLogger("reverie.engine")

NO_HOME = "No home of an agent was found."
MOST_CHOICES = 50
"""The largest number of workspaces that a list of choices has."""
NAME_ONE = "Choose one with --home DIR, or try `reverie --demo`."


HomeRoots = tuple[tuple[Path, ...], tuple[UserError, ...]]
"""The homes that a command works on, as their roots, and one error for each place that could not be read."""


def every_home(session: Invocation) -> HomeRoots:
    """Return the homes given by `--home`; without that option, all homes that are found, also in projects."""
    if session.arguments.home:
        return tuple(session.arguments.home), ()
    found = look_for_homes()
    session.leave_out(found.troubled)
    stores = look_for_stores(found, session.profile)
    homes, troubled = (*found.homes, *stores.homes), (*found.troubled, *stores.troubled)
    return tuple(home.root for home in homes), tuple(place.error for place in troubled)


Found = TypeVar("Found")


def from_each(
    session: Invocation, homes: HomeRoots, read: Callable[[HomeContainer], Found]
) -> tuple[list[Found], list[UserError]]:
    """Open each of the homes and call `read` with it; return the results, and the errors.

    The errors are those of homes that failed, after those in `homes`. If `read` succeeded for no home, raises
    the first error.
    """
    found: list[Found] = []
    roots, errors = homes[0], [*homes[1]]
    for root in roots:
        try:
            found.append(read(open_parts(root, session.profile, session.clock)))
        except UserError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found, errors


def only_home(given: list[Path] | None) -> Path:
    """Return the one path that `--home` gave.

    `given`: all values of `--home`; None if the option is missing. Raises `Ambiguous` unless there is exactly
    one.
    """
    if given is None or len(given) != 1:
        raise Ambiguous(
            "Which home?", choices=tuple(map(str, given or ())), next_step="Give --home DIR once."
        )
    return given[0]


def the_home(session: Invocation, clock: Clock | None = None) -> HomeContainer:
    """Open the home that `--home` names or, without that option, the only one that is found.

    `clock` replaces the command's own clock; None keeps that. Raises `Ambiguous` if there are several homes,
    `Unavailable` if there is none.
    """
    container = open_parts(the_root(session), session.profile, clock or session.clock)
    session.opened.append(container)
    return container


def the_root(session: Invocation) -> Path:
    """Return the directory of the home that `--home` names, or of the only home that is found.

    Raises as `the_home`.
    """
    given: list[Path] | None = session.arguments.home
    if given and len(given) > 1:
        raise Ambiguous(
            "This command takes one home.", choices=tuple(map(str, given)), next_step="Give --home once."
        )
    if given:
        return given[0]
    looked = look_for_homes()
    session.leave_out(looked.troubled)
    # A store in a project is chosen only if there is nothing else, or if it is named.
    stores = None if looked.homes else look_for_stores(looked, session.profile)
    found = looked.homes if stores is None else stores.homes
    troubled = (*looked.troubled, *(() if stores is None else stores.troubled))
    if not found and troubled:
        raise troubled[0].error
    for place in troubled:
        trouble(str(place.error))
    if not found:
        raise Unavailable(NO_HOME, next_step=NAME_ONE)
    if len(found) > 1:
        raise Ambiguous(
            "More than one home was found.",
            choices=tuple(str(home.root) for home in found),
            next_step="Choose one with --home DIR.",
        )
    return found[0].root


_ANSWER_S = 2.0


def the_workbench(session: Invocation, parts: HomeContainer) -> Workbench:
    """Return the workbench of a home: the object with the operations on the memories of the home.

    It is that of a running engine of the profile, or else one in this process.
    """
    if not session.looked_for_engine:
        session.engine, session.looked_for_engine = _find_engine(session, parts), True
    if session.engine is None:
        return Workbench(parts)
    return session.engine.home(parts.home.root, parts.home_id)


def _find_engine(session: Invocation, parts: HomeContainer) -> EngineClient | None:
    """Connect to the running engine of this profile and environment; return its client, or None.

    Never starts an engine. Returns None if no engine runs, or if it has another version or does not respond
    within two seconds. Returns None, too, if the command has its own clock (`--now`), or if the environment
    requests a log on stderr (`REVERIE_DEBUG`, `REVERIE_LOG_LEVEL`).
    """
    if session.arguments.now is not None or wanted_level(os.environ) is not None:
        return None
    try:
        if not hasattr(socket, "AF_UNIX") or not any(map(own_is_there, socket_places(session.profile))):
            return None
        # Late: only needed if there is an engine.
        from reverie.engine.client import EngineClient
        from reverie.engine.reach import reach

        channel = partial(reach, session.profile)
        client = EngineClient(channel, environment=partial(run_environment, parts))
    except UserError as error:
        log.info("no engine: %s", error)
        return None
    answers: SimpleQueue[bool] = SimpleQueue()

    def greet() -> None:
        try:
            client.connect()
        except UserError as error:
            log.info("the engine is not used: %s", error)
            answers.put(False)
        else:
            answers.put(True)

    threading.Thread(target=greet, name="reverie-greet", daemon=True).start()
    with suppress(Empty):
        if answers.get(timeout=_ANSWER_S):
            return client
    client.stop()
    return None


def run_environment(parts: HomeContainer) -> dict[str, str | None]:
    """Return the environment variables that a run in the engine needs, with their values in this process.

    None as a value means that the variable is not set here.
    """
    # Late: pydantic.
    from reverie.services.models import Models

    return {name: os.environ.get(name) for name in Models(parts).variables()}


def the_context(session: Invocation, parts: HomeContainer) -> ScopeContext:
    """Return the scope context that `--workspace` and `--project` name.

    A scope context says whose memories a command works on: those of a workspace, of a project, or only the
    global ones. Without these options, it is that of the home's only workspace, if it has one. Raises
    `Ambiguous` if the home has several workspaces and neither option was given.
    """
    home, workspace, project = parts.home, session.arguments.workspace, session.arguments.project
    if workspace is not None:
        context = asked_context(
            home, workspace_id=workspace, project_path=project, project_given=project is not None
        )
        require_workspace(parts, workspace)
        return context
    if project is not None:
        return asked_context(home, project_path=project, project_given=True)
    workspaces = home.contents().workspaces()
    if len(workspaces) > 1:
        raise Ambiguous(
            "This home has several workspaces.",
            choices=choices(parts),
            next_step="Choose one with --workspace ID.",
        )
    return home.context(workspace_id=workspaces[0].id if workspaces else None)


def choices(parts: HomeContainer) -> tuple[str, ...]:
    """Return one line for each workspace of the home, most recently used first, as a list to choose from.

    Each line has the id, the title, and the time of last use if the home knows it. At most `MOST_CHOICES`
    workspaces are listed.
    """
    if parts.home.sessions is not None:
        parts.home.sessions.learn_titles(MOST_CHOICES)
    found = sorted(parts.home.contents().workspaces(), key=lambda each: -(each.updated_at or 0))
    lines = []
    for each in found[:MOST_CHOICES]:
        when = "" if each.updated_at is None else f", {local_time(each.updated_at)}"
        lines.append(f"{each.id} ({printable(each.title or each.name)}{when})")
    if len(found) > MOST_CHOICES:
        lines.append(f"and {len(found) - MOST_CHOICES:,} older ones, which `reverie homes` lists")
    return tuple(lines)


def require_workspace(parts: HomeContainer, workspace: str, *, stores: bool = True) -> None:
    """Raise `Ambiguous` unless the home lists the workspace with the id `workspace`.

    With `stores`, a workspace that is no longer listed is accepted if the home still has memories of it.
    """
    home = parts.home
    if workspace in {found.id for found in home.contents().workspaces()}:
        return
    if stores and f"workspace/{workspace}" in {root.key for root in home.roots()}:
        return
    raise Ambiguous(
        f"This home has no workspace {workspace}.",
        choices=choices(parts),
        next_step="Choose one with --workspace ID.",
    )


_TITLES = 500
"""The largest number of titles of workspaces that one run of the command `homes` reads."""
_TITLE_CHARS = 60


def homes(session: Invocation) -> int:
    """Print each home with its projects and workspaces; return the exit code, 1 if a home cannot be opened.

    With `--adopt ID`, the home that `--home` names is first registered as the known home with that id, which
    was moved.
    """
    given = session.arguments.home
    if session.arguments.adopt:
        adopt_home(only_home(given), session.arguments.adopt, session.profile, session.clock)
    found, errors = from_each(session, every_home(session), _home_json)
    code = answers.print_problems(errors)
    answers.print_answer(session.as_json, found, _home_lines(found))
    for home in () if session.as_json else found:
        answers.print_problems(home["problems"])
        answers.print_problems(
            f"{home['root']} may be the home that was at {before['root']}; if it is, take over its "
            f"history and runs: reverie homes --home {home['root']} --adopt {before['id']}"
            for before in home["adoptable"]
        )
    return code


def _home_lines(found: list[dict[str, Any]]) -> Iterator[str]:
    if not found:
        yield f"{NO_HOME} {NAME_ONE}"
    for home in found:
        counts = ", ".join(f"{count} {scope}" for scope, count in home["counts"].items())
        yield f"{home['root']}  ({home['kind']}; memories: {counts})"
        yield from answers.table_lines(row for project in home["projects"] for row in _rows(project))
        for orphan in home["orphans"]:
            yield f"  orphaned: {printable(orphan['label'])}  ({printable(orphan['reason'])})"


def _rows(project: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the table rows of a project: one for each of its workspaces.

    A project without workspaces gets one row with its path, which can be passed to `--project`.
    """
    name = printable(project["name"])
    if not project["workspaces"]:
        yield "", printable(project["path"]), "", "", name, ""
    for workspace in project["workspaces"]:
        title = " ".join((workspace["title"] or workspace["name"]).split())
        shown = title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1]}…"
        used = "" if workspace["updatedAt"] is None else local_time(workspace["updatedAt"])
        marks = [
            mark
            for mark, key in (("archived", "archived"), ("several projects", "multiProject"))
            if workspace[key]
        ]
        yield "", workspace["id"], printable(shown), used, name, ", ".join(marks)


def _home_json(parts: HomeContainer) -> dict[str, Any]:
    home = parts.home
    if home.sessions is not None:
        home.sessions.learn_titles(_TITLES)
    contents = home.contents()
    counts = dict.fromkeys((scope.value for scope in Scope), 0)
    for root in home.roots(contents):
        counts[root.scope.value] += sum(entry.kind == "file" for entry in rooted_files(root).walk().entries)
    return {
        "id": parts.home_id,
        "root": str(home.root),
        "kind": home.kind,
        "label": home.label,
        "adoptable": [{"id": known.id, "root": str(known.root)} for known in parts.adoptable],
        "projects": [
            {
                "path": project.path,
                "name": project.name,
                "workspaces": [
                    {
                        **columns(workspace, "id name title updated_at"),
                        "projectPaths": list(workspace.project_paths),
                        **columns(workspace, "multi_project archived parent_id"),
                    }
                    for workspace in project.workspaces
                ],
            }
            for project in contents.projects
        ],
        "workspaces": len(contents.workspaces()),
        "counts": counts,
        "orphans": [
            {**columns(orphan, "kind directory label reason"), "directory": str(orphan.directory)}
            for orphan in contents.orphans
        ],
        "problems": list(contents.problems),
    }
