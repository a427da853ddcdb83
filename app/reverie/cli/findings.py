"""`findings`: what is worth a person's look in the memories of a project, or of everything.

JSON: a list, the most useful first, one object a finding: `{kind, paths, lines, evidence, score, id,
matter}`, and `why` where a model noticed it. A finding that shares a line with a better one follows it and
has its `matter`. With `--project` the notes that lie in the project count, and the memories that agents keep
of it in their homes. Looking changes nothing; `--dismiss` keeps what is not to be shown again. Finding
nothing is no failure, nor is finding something.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import ScopeContext
from reverie.cli.answers import DONE, FAILED, WRONG_USAGE, print_json, print_text, printable, trouble
from reverie.cli.homes import every_home
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.files.directory import is_directory
from reverie.jobs.consolidate.findings import RelatedNote
from reverie.services.claims import ProjectClaims
from reverie.services.container import asked_context, shown_contexts
from reverie.services.findings import FindingReport, MemoryFinding, findings_of, matters_in
from reverie.services.workbench import Workbench
from reverie.text.summaries import some

if TYPE_CHECKING:
    from reverie.cli.main import Invocation


def findings(session: Invocation) -> int:
    """Look, and tell."""
    given = getattr(session.arguments, "project", None)
    project = Path(os.path.abspath(given)) if given else None  # noqa: PTH100 - as typed: a link stays one
    if project is not None and not is_directory(project):
        trouble(f"There is no directory {project}.")
        return WRONG_USAGE
    reports = [_in_project(project)] if project is not None else []
    asked = every_home(session)
    errors = [*asked.problems]
    for root in asked.roots:
        try:
            parts = open_parts(root, session.profile, session.clock)
            session.opened(parts)
            workbench = Workbench(parts)
            if session.arguments.dismiss:
                workbench.worth_a_look.dismiss(tuple(session.arguments.dismiss))
            reports += [workbench.worth_a_look.find(context) for context in _contexts(workbench, project)]
        except UserError as error:
            errors.append(error)
    _tell(session, reports)
    for said in map(str, errors):
        trouble(said)
    return FAILED if errors else DONE


def _in_project(project: Path) -> FindingReport:
    """The notes that lie in the project itself."""
    claims = ProjectClaims(project)
    checked = claims.notes()
    notes = [RelatedNote(note.path, note.text, _changed_at(project / note.path)) for note in checked]
    found = findings_of(notes, claims.check(checked).stale)
    return FindingReport(tuple(found), len(notes))


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _contexts(workbench: Workbench, project: Path | None) -> Iterator[ScopeContext]:
    home = workbench.parts.home
    contents = home.contents()
    if project is not None:
        known = {str(project), os.path.realpath(project)}
        named = next((each.path for each in contents.projects if each.path in known), None)
        if named is not None:
            yield asked_context(home, project_path=named, project_given=True)
        return
    shown = dict.fromkeys(context for _key, context in shown_contexts(workbench.parts, contents))
    yield from shown or (home.context(project_path=None, project_given=True),)


def _tell(session: Invocation, reports: list[FindingReport]) -> None:
    by_id = {each.id: each for report in reports for each in report.findings}
    hidden = frozenset(session.arguments.dismiss or ())
    matters = matters_in(each for each in by_id.values() if each.id not in hidden)
    matters.sort(key=lambda matter: (-matter[0].score, matter[0].kind, matter[0].paths))
    found = [each for matter in matters for each in matter][: session.arguments.limit]
    if session.as_json:
        print_json([_as_json(each) for each in found])
        return
    told = set[str]()
    for each in found:
        also = "also " if each.matter in told else ""
        told.add(each.matter)
        print_text(printable(f"{also}{each.kind}  {'  '.join(each.paths)}  [{each.id}]"))
        for line, said in zip(each.lines, each.evidence, strict=False):
            print_text(printable(f"    {line}: {said}" if line else f"    {said}"))
        if each.why:
            print_text(printable(f"    {each.why}"))
    notes, dismissed = sum(each.notes for each in reports), sum(each.dismissed for each in reports)
    words = some(len(found), "finding")
    if len(told) < len(found):
        words += f" about {some(len(told), 'matter')}"
    words += f" in {some(notes, 'memory')}"
    print_text(words + (f", {dismissed:,} dismissed." if dismissed else "."))


def _as_json(finding: MemoryFinding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "paths": list(finding.paths),
        "lines": list(finding.lines),
        "evidence": list(finding.evidence),
        "score": finding.score,
        "id": finding.id,
        "matter": finding.matter,
        **({"why": finding.why} if finding.why else {}),
    }
