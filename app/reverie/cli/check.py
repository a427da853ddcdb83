"""`check`: what memories and instruction files say of a project that was true and is not any more.

JSON: a list, one object a claim: `{path, line, kind, token, state, to?, writtenAt?, evidence?}`, with `fixed`
where `--fix` replaced it. Exit 1 when something is stale (gone, moved, changed), 0 when not, 2 for wrong
usage. Looking changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.claims.checking import CheckedClaim, in_one_line
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, WRONG_USAGE, print_json, print_text, printable, trouble
from reverie.cli.homes import every_home
from reverie.compose import open_parts
from reverie.errors import StoreError, UserError
from reverie.files.directory import is_directory, is_there
from reverie.services.claims import ClaimReport, ProjectClaims
from reverie.services.container import asked_context
from reverie.services.workbench import Workbench

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.cli.main import Invocation

_Home = tuple[Workbench, "ScopeContext"]


def check(session: Invocation) -> int:
    """Check, fix what was asked for, and tell."""
    arguments = session.arguments
    project = Path(os.path.abspath(arguments.project or "."))  # noqa: PTH100 - as typed: a link stays one
    if not is_directory(project):
        trouble(f"There is no directory {project}.")
        return WRONG_USAGE
    if arguments.fix and arguments.at:
        trouble("--fix changes files as they are now; leave out --at.")
        return WRONG_USAGE
    try:
        claims = ProjectClaims(project, arguments.at or "")
        notes = claims.notes(tuple(map(_as_given(project), arguments.file or ())))
    except StoreError as error:
        answers.failed(error, as_json=session.as_json)
        return WRONG_USAGE
    report = claims.check(notes)
    if arguments.fix and not claims.in_checkout:
        trouble("A bare repository has no files to fix.")
        return WRONG_USAGE
    replaced = set[CheckedClaim]()
    if arguments.fix:
        for note in notes:
            stale = [claim for claim in report.stale if claim.path == note.path and claim.replacement]
            if stale and claims.fix(note, stale):
                replaced |= set(stale)
    reports = [report]
    if not arguments.file and not arguments.at:
        for home, more in _of_homes(session, project):
            reports.append(more)
            stale_here = tuple(claim for claim in more.stale if claim.replacement)
            if arguments.fix and stale_here:
                home[0].claims.fix(home[1], stale_here)
                replaced |= set(stale_here)
    return _tell(session, reports, replaced)


def _as_given(project: Path) -> Any:
    """A file that was named: relative to the project, else to where the command was called."""

    def resolved(file: Path) -> Path:
        here = Path(os.path.abspath(file))  # noqa: PTH100 - as typed
        inside = not file.is_absolute() and not is_there(project / file)
        return here if inside and here.is_relative_to(project) and is_there(here) else file

    return resolved


def _of_homes(session: Invocation, project: Path) -> Iterator[tuple[_Home, ClaimReport]]:
    """The memories that agents keep of the project in their homes."""
    asked = every_home(session)
    for root in asked.roots:
        try:
            parts = open_parts(root, session.profile, session.clock)
            session.opened(parts)
            known = {str(project), os.path.realpath(project)}
            named = next((one.path for one in parts.home.contents().projects if one.path in known), None)
            if named is None:
                continue
            workbench = Workbench(parts)
            context = asked_context(parts.home, project_path=named, project_given=True)
            report = workbench.claims.check(context)
        except UserError as error:
            trouble(str(error))
            continue
        if report.notes:
            yield (workbench, context), report


def _tell(session: Invocation, reports: Sequence[ClaimReport], replaced: set[CheckedClaim]) -> int:
    claims = [claim for report in reports for claim in report.claims]
    stale = [claim for claim in claims if claim.state.is_stale]
    if session.as_json:
        print_json([_as_json(claim, claim in replaced) for claim in claims])
    else:
        for claim in stale:
            print_text(_line(claim, claim in replaced))
        print_text(_summary(reports, stale, len(replaced)))
    for report in reports:
        if report.problem:
            trouble(f"{report.problem} Without a repository nothing counts as stale.")
        for sentence in report.limits:
            trouble(sentence)
    return FAILED if len(stale) > len(replaced) else DONE


def _as_json(claim: CheckedClaim, was_fixed: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": claim.path,
        "line": claim.line,
        "kind": claim.kind.value,
        "token": claim.token,
        "state": claim.state.value,
    }
    if claim.to:
        found["to"] = claim.to
    if claim.written_at:
        found["writtenAt"] = claim.written_at
    if claim.evidence is not None:
        evidence = claim.evidence
        found["evidence"] = {
            "commit": evidence.commit,
            "date": evidence.date,
            "subject": evidence.subject,
        }
    if was_fixed:
        found["fixed"] = True
    return found


def _line(claim: CheckedClaim, was_fixed: bool) -> str:
    text = f"{claim.path}:{claim.line}: {in_one_line(claim)}"
    return printable(text + (", fixed" if was_fixed else "")).replace("\n", " ")


def _summary(reports: Sequence[ClaimReport], stale: Sequence[CheckedClaim], replaced: int) -> str:
    checked, notes = sum(len(report.claims) for report in reports), sum(report.notes for report in reports)
    files = len({claim.path for claim in stale})
    found = f"{checked:,} {'statement' if checked == 1 else 'statements'} in {notes:,} "
    found += "file: " if notes == 1 else "files: "
    if not stale:
        return found + "none is stale."
    words = f"{len(stale):,} stale in {files:,}"
    return found + words + (f", {replaced:,} fixed." if replaced else ".")
