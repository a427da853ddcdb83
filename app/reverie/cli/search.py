"""`reverie search QUERY`: full text over every home that is given or found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.cli.answers import DONE, FAILED, print_json, print_text, printable, trouble
from reverie.errors import MendableError

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.search import Hit


def search(session: Session) -> int:
    """Bring the index up to date, then ask it. Finding nothing is no failure."""
    from reverie.cli.context import NAME_ONE, NO_HOME, every_home
    from reverie.compose import open_parts
    from reverie.services.search import COUNT, SearchDesk

    roots, places = every_home(session)
    desk = SearchDesk()
    errors: list[MendableError] = [*places]
    for root in roots:
        try:
            desk.add(open_parts(root, session.profile, session.clock))
        except MendableError as error:
            errors.append(error)
    if errors and len(errors) == len(roots) + len(places):
        raise errors[0]
    desk.update()
    limit = session.arguments.limit
    answer = desk.search(" ".join(session.arguments.query), count=COUNT if limit is None else limit)
    if not answer.complete and desk.waiting:
        # The index turned out to be damaged: it is built anew.
        desk.update()
        answer = desk.search(answer.query, count=COUNT if limit is None else limit)
    problems = (*map(str, errors), *answer.problems)
    if session.as_json:
        print_json([hit.as_json() for hit in answer.hits])
    else:
        print_text("\n".join(_lines(answer.hits, several=len(roots) > 1)) or "Nothing was found.")
        if not roots:
            print_text(f"{NO_HOME} {NAME_ONE}")
    for problem in problems:
        trouble(problem)
    return FAILED if problems else DONE


def _lines(hits: tuple[Hit, ...], *, several: bool) -> list[str]:
    lines: list[str] = []
    for hit in hits:
        place = [hit.home] if several else []
        place += [hit.workspace_id] if hit.workspace_id and hit.scope == "workspace" else []
        place += [hit.project_path] if hit.project_path and hit.scope == "project" else []
        lines.append(printable("  ".join((hit.path, *(f"({each})" for each in place)))))
        if hit.snippet.text:
            number = f"{hit.snippet.line}: " if hit.snippet.line else ""
            lines.append(printable(f"    {number}{hit.snippet.text}"))
    return lines
