"""The commands `findings`, which lists places in memories that may need attention, and `decide` about one.

`findings` records which findings it has printed, and `decide` refuses to change memories that are no longer
those of the finding as it was printed.

Threading: the main thread. Failure: `UserError`, which the command line prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.agents.scopes import ScopeContext
from reverie.claims.apart import ProjectClaims
from reverie.cli.answers import DONE, WRONG_USAGE, diff_text, print_answer, print_problems, printable, trouble
from reverie.cli.homes import every_home
from reverie.cli.main import Invocation
from reverie.compose import open_parts
from reverie.errors import Ambiguous, StoreError, Unavailable, UserError
from reverie.files.directory import is_directory
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.findings import RelatedNote
from reverie.services.container import asked_context, shown_contexts
from reverie.services.findings import (
    ChangedMemory,
    Dismissals,
    FindingReport,
    FindingService,
    MemoryFinding,
    findings_of,
    matters_in,
)
from reverie.services.views import RunReverted
from reverie.services.workbench import Workbench
from reverie.text.summaries import some
from reverie.values import Struct, columns


class _Source(Struct, frozen=True):
    """A place that was searched for findings, and the findings there."""

    report: FindingReport
    dismissals: Dismissals
    """The findings that the user dismissed."""
    service: FindingService | None = None
    """The service of a home; None for the notes in a project directory."""
    context: ScopeContext | None = None
    """The context of the searched memories; None for the notes in a project directory."""


def findings(session: Invocation) -> int:
    """Print findings: places in the memories of a project, or of all homes, that may need attention.

    JSON: a list, best first, with one object per finding: `{id, kind, matter, paths, lines, evidence, score,
    saves: {tokens}, suggestion}`, and `why` if a model noticed it. `suggestion` is `{action, why, diff}` or
    null. Findings that share a line form one matter: they follow the best of them and have the same `matter`.
    With `--project`, the notes in the project are checked, and the memories about it in the agents' homes.

    Returns the exit code: 1 if a home cannot be read, 2 if there is no such project, else 0.
    """
    project = _project(session)
    if project is not None and not is_directory(project):
        trouble(f"There is no directory {project}.")
        return WRONG_USAGE
    sources, errors = _sources(session, project)
    reports = [source.report for source in sources]
    by_id = {each.id: each for report in reports for each in report.findings}
    matters = matters_in(by_id.values())
    matters.sort(key=lambda matter: (-matter[0].score, matter[0].kind, matter[0].paths))
    shown = [each for matter in matters for each in matter][: session.arguments.limit]
    print_answer(session.as_json, [_finding_json(each) for each in shown], _finding_lines(shown, reports))
    for source in sources:
        if source.service is not None:
            source.service.mark_shown([each for each in source.report.findings if each in shown])
    return print_problems(errors)


def decide(session: Invocation) -> int:
    """Carry out a decision about a finding, and print the changes; return the exit code.

    The option `--take` gives the decision: apply the suggestion, keep one of two memories (`left` or `right`)
    or both, or never show the finding again. JSON: `{run, changes: [{path, command, diff}]}`; `run` is null
    if no memory was changed. Raises `StoreError` if there is no such finding, `Ambiguous` if it is in several
    memories.
    """
    project, wanted = _project(session), session.arguments.finding
    sources, errors = _sources(session, project)
    held = [(source, each) for source in sources for each in source.report.findings if each.id == wanted]
    print_problems(errors)
    if not held:
        raise StoreError(
            f"There is no finding {printable(wanted)}.",
            cause="The lines it refers to have changed, it was dismissed, or it belongs to another project.",
            next_step="List the findings again with `reverie findings`.",
            reason="missing",
        )
    if len({each.state for _source, each in held}) > 1:
        contexts = (source.context for source, _each in held)
        raise Ambiguous(
            f"Finding {wanted} is in several memories.",
            choices=tuple(sorted({str(each.project_path) for each in contexts if each is not None})),
            next_step="Choose the project with --project, or the home with --home.",
        )
    source, finding = held[0]
    take, dry_run = session.arguments.take, session.arguments.dry_run
    run_id, changes = None, tuple[ChangedMemory, ...]()
    if take in ("both", "never"):
        matter = (each.id for each in source.report.findings if each.matter == finding.matter)
        if not dry_run:
            source.dismissals.dismiss((finding.id,) if take == "both" else tuple(matter))
    elif source.service is None or source.context is None:
        raise Unavailable(
            "Nothing was changed.",
            cause=f"{finding.paths[0]} belongs to the project, not to the home of an agent.",
            next_step="Edit the file yourself.",
        )
    else:
        asked = source.context, finding.id, take, source.service.shown_state(finding.id)
        changes = source.service.changes(*asked)
        if not dry_run:
            (step,) = source.service.decide(*asked).steps
            run_id = step.run_id if isinstance(step, RunReverted) else None
    if run_id is not None:
        end = f"Changed {some(len(changes), 'file')}. Undo: `reverie revert {run_id}`."
    else:
        end = "Nothing was changed." if dry_run else "This finding will not be shown again."
    document = {"run": run_id, "changes": [columns(each, "path command diff") for each in changes]}
    print_answer(
        session.as_json, document, [*([diff_text(each.diff for each in changes)] if changes else []), end]
    )
    return DONE


def _project(session: Invocation) -> Path | None:
    given = getattr(session.arguments, "project", None)
    return Path(os.path.abspath(given)) if given else None  # noqa: PTH100 - as typed: a link stays one


def _sources(session: Invocation, project: Path | None) -> tuple[list[_Source], list[UserError]]:
    """Search the project, or all homes, for findings.

    Return the places that were searched, with their findings, and the errors of homes that failed.
    """
    sources = [_in_project(session, project)] if project is not None else []
    roots, problems = every_home(session)
    errors = [*problems]
    for root in roots:
        try:
            parts = open_parts(root, session.profile, session.clock)
            session.opened.append(parts)
            workbench = Workbench(parts)
            service = workbench.worth_a_look
            contexts = _contexts(workbench, project)
            sources += [_Source(service.find(context), service, service, context) for context in contexts]
        except UserError as error:
            errors.append(error)
    return sources, errors


def _in_project(session: Invocation, project: Path) -> _Source:
    """Return the findings about the notes in the project directory itself.

    Reverie has no record of the writes of these notes, so it only knows which of two notes is newer if the
    notes themselves show it.
    """
    claims = ProjectClaims(project)
    claims.look()
    checked = claims.notes()
    found = findings_of([RelatedNote(note.path, note.text) for note in checked], claims.check(checked).stale)
    dismissals = _of_projects(session)
    kept = tuple(dismissals.without_dismissed(found))
    dismissed = {each.matter for each in found}.difference(each.matter for each in kept)
    return _Source(FindingReport(kept, len(checked), len(dismissed)), dismissals)


def _of_projects(session: Invocation) -> Dismissals:
    """Return the store of dismissed findings about notes in project directories, which are in no home."""
    profile = session.profile
    file = profile.own_sidecars("projects") / "findings.json"

    def sidecar() -> Sidecar:
        profile.ensure(file.parent)
        return Sidecar(file, lock_dir=profile.locks, clock=session.clock)

    return Dismissals(sidecar)


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


def _finding_lines(found: list[MemoryFinding], reports: list[FindingReport]) -> Iterator[str]:
    """Yield the lines that show findings, and a last line with their numbers and those in all reports."""
    shown = set[str]()
    for each in found:
        also = "also " if each.matter in shown else ""
        shown.add(each.matter)
        yield printable(f"{also}{each.kind}  {'  '.join(each.paths)}  [{each.id}]")
        for line, evidence in zip(each.lines, each.evidence, strict=False):
            yield printable(f"    {line}: {evidence}" if line else f"    {evidence}")
        if each.why:
            yield printable(f"    {each.why}")
        if each.suggestion is not None:
            yield printable(f"    Suggestion: {each.suggestion.action}. {each.suggestion.why}")
    notes, dismissed = sum(each.notes for each in reports), sum(each.dismissed for each in reports)
    words = some(len(found), "finding")
    if len(shown) < len(found):
        words += f" about {some(len(shown), 'matter')}"
    words += f" in {some(notes, 'memory')}"
    yield words + (f", {dismissed:,} dismissed." if dismissed else ".")


def _finding_json(finding: MemoryFinding) -> dict[str, Any]:
    suggestion = finding.suggestion
    return {
        **columns(finding, "id kind matter paths lines evidence score"),
        "saves": {"tokens": 0 if suggestion is None else suggestion.tokens},
        "suggestion": None if suggestion is None else columns(suggestion, "action why diff"),
        **({"why": finding.why} if finding.why else {}),
    }
