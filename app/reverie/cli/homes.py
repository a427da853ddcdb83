"""`homes`: the homes there are, or those named, and what each lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, local_time, print_json, print_table, print_text, printable
from reverie.cli.session import Session
from reverie.errors import MendableError

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts

_TITLES = 500
"""How many titles one call reads that no earlier one did."""
_TITLE_CHARS = 60


def show_homes(session: Session) -> int:
    """Each home with its projects and workspaces; exit 1 where one cannot be opened."""
    from reverie.cli.context import NAME_ONE, NO_HOME, every_home, only_home
    from reverie.compose import adopt_home, open_parts

    given = session.arguments.home
    if session.arguments.adopt:
        adopt_home(only_home(given), session.arguments.adopt, session.profile, session.clock)
    roots, problems = every_home(session)
    homes: list[dict[str, Any]] = []
    errors: list[MendableError] = [*problems]
    for root in roots:
        try:
            homes.append(_home_json(open_parts(root, session.profile, session.clock)))
        except MendableError as error:
            errors.append(error)
    if errors and not homes:
        raise errors[0]
    for problem in errors:
        answers.trouble(str(problem))
    code = FAILED if errors else DONE
    if session.as_json:
        print_json(homes)
        return code
    if not homes:
        print_text(f"{NO_HOME} {NAME_ONE}")
    for home in homes:
        counts = ", ".join(f"{count} {scope}" for scope, count in home["counts"].items())
        print_text(f"{home['root']}  ({home['kind']}; memories: {counts})")
        print_table([row for project in home["projects"] for row in _rows(project)])
        for problem in home["problems"]:
            answers.trouble(problem)
        for before in home["adoptable"]:
            answers.trouble(
                f"{home['root']} may be the home that stood at {before['root']}; if it is, take over its "
                f"history and runs: reverie homes --home {home['root']} --adopt {before['id']}"
            )
    return code


def _rows(project: dict[str, Any]) -> list[tuple[str, ...]]:
    """Its workspaces; one without any by its path, which `--project` takes."""
    name = printable(project["name"])
    if not project["workspaces"]:
        return [("", printable(project["path"]), "", "", name, "")]
    return [
        ("", workspace["id"], *_called(workspace), name, _marks(workspace))
        for workspace in project["workspaces"]
    ]


def _called(workspace: dict[str, Any]) -> tuple[str, str]:
    """What a row calls a workspace, as the lists of choices do, and when it was used last, if the agent keeps
    that."""
    title = " ".join((workspace["title"] or workspace["name"]).split())
    shown = title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1]}…"
    used = workspace["updatedAt"]
    return printable(shown), "" if used is None else local_time(used)


def _home_json(parts: HomeParts) -> dict[str, Any]:
    from reverie.homes.scopes import Scope
    from reverie.services.parts import rooted_files

    home = parts.home
    home.learn_titles(_TITLES)
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
                        "id": workspace.id,
                        "name": workspace.name,
                        "title": workspace.title,
                        "updatedAt": workspace.updated_at,
                        "projectPaths": list(workspace.project_paths),
                        "multiProject": workspace.multi_project,
                        "archived": workspace.archived,
                        "parentId": workspace.parent_id,
                    }
                    for workspace in project.workspaces
                ],
            }
            for project in contents.projects
        ],
        "workspaces": len(contents.workspaces()),
        "counts": counts,
        "orphans": [
            {
                "kind": orphan.kind,
                "directory": str(orphan.directory),
                "label": orphan.label,
                "reason": orphan.reason,
            }
            for orphan in contents.orphans
        ],
        "problems": list(contents.problems),
    }


def _marks(workspace: dict[str, Any]) -> str:
    return ", ".join(
        name
        for name, key in (("archived", "archived"), ("several projects", "multiProject"))
        if workspace[key]
    )
