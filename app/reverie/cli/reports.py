"""The commands that report: `doctor`, `context` and `check`.

They change nothing, except with `--fix`.

Late imports: each command imports its own readers and checks, which the others do not need (0.2 s).

Threading: the main thread. Failure: `UserError`, which the command line prints.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.discovery import imports_that_load_nothing
from reverie.agents.scopes import ScopeContext
from reverie.claims.apart import ProjectClaims
from reverie.claims.checking import CheckedClaim, in_one_line
from reverie.claims.project import ClaimReport
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, WRONG_USAGE, print_answer, print_problems, printable, trouble
from reverie.cli.homes import every_home, the_context, the_home
from reverie.compose import doctor_hooks, open_parts
from reverie.context.view import (
    IMPORT_PROBLEMS,
    PARTS,
    ContextEntry,
    ContextPart,
    ContextView,
    Gauge,
    load_states,
    notes,
    reason,
)
from reverie.errors import StoreError, Unavailable, UserError
from reverie.files.directory import is_directory, is_there
from reverie.services.container import asked_context
from reverie.services.workbench import Workbench
from reverie.values import columns, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.agents.base import LoadState
    from reverie.agents.capabilities import FailedImport
    from reverie.cli.main import Invocation
    from reverie.doctor.findings import Finding


_CHECK_MARKS = {"pass": "ok  ", "off": "off ", "warn": "WARN", "fail": "FAIL"}


def doctor(session: Invocation) -> int:
    """Run the checks of the memory writer and of consolidations, or of Reverie itself (`--self`).

    Prints one finding for each check. `--fix CHECK` first applies the fix of one check, then all checks are
    run again. Returns the exit code: 1 if a check failed; stderr then has one line with the first cause and
    what to do about it.
    """
    from reverie.doctor import first_cause

    look = _of_reverie(session) if session.arguments.self else _of_a_workspace(session)
    findings = look()
    name = session.arguments.fix
    if name is not None:
        _apply(name, findings)
        findings = look()
    command = partial(_command, session)
    document = [finding.as_json() for finding in findings]
    print_answer(session.as_json, document, finding_lines(findings, command))
    cause = first_cause(findings)
    if cause is None or cause.state != "fail":
        return DONE
    how = "" if cause.fix is None else f" {cause.fix.label}: `{command(cause.check)}`."
    trouble(f"{cause.title}. {cause.evidence}{how}")
    return FAILED


def finding_lines(findings: tuple[Finding, ...], command: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines that the command `doctor` prints: each finding with its evidence and fix.

    The last line names the finding to solve first, or says that there are no problems. `command` returns, for
    the name of a check, the command line that applies its fix.
    """
    from reverie.doctor import first_cause

    for finding in findings:
        yield f"{_CHECK_MARKS[finding.state]}  {finding.title}  [{finding.check}]"
        yield f"      {' '.join(printable(finding.evidence).split())}"
        if finding.fix is not None and finding.state != "pass":
            how = "To turn it on" if finding.state == "off" else "To fix it"
            yield f"      {how}: {printable(finding.fix.label)} (`{command(finding.check)}`)"
    cause = first_cause(findings)
    yield (
        "No problems were found." if cause is None else f"Check this first: {cause.title} [{cause.check}]."
    )


def _of_a_workspace(session: Invocation) -> Callable[[], tuple[Finding, ...]]:
    # Late: `doctor --self` must work even if a library of these checks is missing.
    from reverie.doctor.examination import examine

    parts = the_home(session)
    context = the_context(session, parts)
    hooks = doctor_hooks(parts, context)
    probe = session.arguments.probe
    return lambda: examine(parts, context, hooks, now=session.clock(), with_probe=probe)


def _of_reverie(session: Invocation) -> Callable[[], tuple[Finding, ...]]:
    from reverie.doctor.self_checks import examine_self

    roots, problems = every_home(session)
    print_problems(problems)
    return lambda: examine_self(session.profile, now=session.clock(), homes=len(roots))


def _apply(check: str, findings: tuple[Finding, ...]) -> None:
    finding = next((found for found in findings if found.check == check), None)
    if finding is None or finding.fix is None:
        fixable = ", ".join(found.check for found in findings if found.fix is not None) or "none"
        raise StoreError(
            f"No fix is available for {check}.",
            cause=f"Checks with an available fix: {fixable}.",
            next_step="Run `reverie doctor` without --fix to see the checks.",
            reason="missing",
        )
    finding.fix.apply()
    trouble(f"Done: {finding.fix.label}.")


def _command(session: Invocation, check: str) -> str:
    """Return the command line that applies the fix of the check named `check`.

    It repeats the home and workspace of this call, because without them the command might choose others.
    """
    arguments = session.arguments
    words = ["reverie", *_option("--profile", arguments.profile)]
    for home in arguments.home or ():
        words += _option("--home", home)
    words += ["doctor", *(["--self"] if arguments.self else [])]
    words += _option("--workspace", arguments.workspace) + _option("--project", arguments.project)
    # A finding of a real test has its fix only if the test is repeated.
    words += ["--probe"] if arguments.probe else []
    return " ".join(map(_quoted, (*words, "--fix", check)))


def _option(name: str, value: object) -> list[str]:
    """Return an option and its value as words of a command line; no words if the value is None.

    A value that begins with `-` is joined to the option by `=`, so that it is not parsed as an option.
    """
    if value is None:
        return []
    return [f"{name}={value}"] if str(value).startswith("-") else [name, str(value)]


def _quoted(word: str) -> str:
    """Return `word` quoted for a shell; characters that cannot be printed become byte escapes."""
    if word.isprintable():
        return shlex.quote(word)
    shown = (
        f"\\{char}"
        if char in "\\'"
        else char
        if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
        for char in word
    )
    return f"$'{''.join(shown)}'"


_LOAD_MARKS = {"in": "in  ", "line": "line ", "cut": "cut ", "out": "out "}


def context(session: Invocation) -> int:
    """Print the texts that the agent of the home would load if it started now; return the exit code.

    Each text comes with the reasons for its parts and with the used share of each budget. JSON: `{agent, at,
    totalBytes, totalTokens, index, hotSet, parts}`. `parts` contains everything that is loaded, for any
    agent, with the text of each part. `index` (the list of memories) and `hotSet` (the most used memories,
    loaded in full) are those of mux; they are empty for other agents.
    """
    from reverie.context.gather import gather
    from reverie.context.recipes import AGENTS, assemble

    parts = the_home(session)
    if parts.home.kind not in AGENTS:
        raise Unavailable(
            f"This command does not support {parts.home.kind}.",
            next_step="It supports " + ", ".join(sorted(AGENTS)) + ".",
        )
    chosen = the_context(session, parts)
    at = session.clock()
    facts = gather(parts.home, chosen, Workbench(parts).view(chosen).scopes, times=(at,))
    view = assemble(facts, at)
    print_answer(session.as_json, context_json(view), context_lines(view))
    return DONE


def context_json(view: ContextView) -> dict[str, Any]:
    """Return the JSON document that the command `context` prints."""
    states = load_states(view)
    return {
        **columns(view, "agent at totalBytes=bytes totalTokens=tokens"),
        "index": _sized(
            view.part("index"),
            "entries",
            lambda entry: columns(entry, "path scope description pinned bytes tokens"),
        ),
        "hotSet": _sized(
            view.part("hot-set"),
            "items",
            lambda entry: {
                **columns(entry, "path pinned"),
                "truncated": entry.state == "cut",
                **columns(entry, "bytes tokens score"),
            },
        ),
        "parts": [_part(part, states) for part in view.parts],
    }


def context_lines(view: ContextView) -> Iterator[str]:
    """Yield the text that the command `context` prints for people.

    It shows each part with its budgets, entries and text; lines of the text that have a problem begin with
    `!`.
    """
    for part in view.parts:
        yield f"{PARTS[part.key]}: {', '.join(_gauge(gauge) for gauge in part.gauges)}"
        for note in notes(part):
            yield f"  ({printable(note)})"
        for entry in part.entries:
            name = entry.path if entry.file is None else str(entry.file)
            mark = _LOAD_MARKS["line" if entry.reason == "line" else entry.state]
            yield f"  {mark}{printable(name)}  {printable(_figures(entry))}"
        if part.text:
            yield ""
            for number, line in enumerate(part.text.expandtabs().split("\n"), 1):
                yield f"  {'!' if number in part.marked else '|'} {printable(line)}"
        yield ""
    yield f"In all about {view.tokens:,} tokens, {view.bytes:,} bytes."


def _figures(entry: ContextEntry) -> str:
    text = reason(entry)
    if entry.score is not None and entry.score > 0:
        text += f", score {entry.score:.3g}"
    if entry.bytes:
        text += f", {entry.bytes:,} bytes, about {entry.tokens:,} tokens"
    kinds = sorted({mark.kind for mark in entry.marks})
    return text + (f"  [check this: {', '.join(kinds)}]" if kinds else "")


def _gauge(gauge: Gauge) -> str:
    if gauge.cap:
        return f"{gauge.used:,} of {gauge.cap:,} {gauge.unit}"
    return f"{gauge.used:,} {gauge.unit if gauge.used != 1 else gauge.unit[:-1]}"


def _sized(
    part: ContextPart | None, key: str, item: Callable[[ContextEntry], dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON of one part of the agent's context: its entries, sizes and text.

    The loaded entries are listed under `key`, each converted by `item`; the entries that are not loaded,
    under `skipped`. `part` is None if the agent has no such part; the lists are then empty.
    """
    if part is None:
        return {key: [], "skipped": [], "totalBytes": 0, "totalTokens": 0, "block": ""}
    return {
        key: [item(entry) for entry in part.loaded],
        "skipped": [
            {"path": entry.path, "reason": reason(entry), "code": entry.reason, "score": entry.score}
            for entry in part.entries
            if entry.state == "out"
        ],
        "totalBytes": part.gauges[0].used,
        "totalTokens": part.gauges[1].used,
        "block": part.text,
    }


def _part(part: ContextPart, states: Mapping[str, LoadState]) -> dict[str, Any]:
    return {
        "key": part.key,
        "title": PARTS[part.key],
        "gauges": [
            {"unit": gauge.unit, "used": gauge.used, "cap": gauge.cap or None} for gauge in part.gauges
        ],
        "cutLine": part.cut_line,
        "marked": list(part.marked),
        "notes": notes(part),
        "entries": [
            {
                "path": entry.path,
                "file": None if entry.file is None else str(entry.file),
                "state": entry.state,
                "loaded": states.get(entry.path if entry.is_memory else str(entry.file)),
                "reason": reason(entry),
                **columns(entry, "code=reason size bytes tokens score pinned line"),
                "marks": [columns(mark, "kind line sentence") for mark in entry.marks],
            }
            for entry in part.entries
        ],
        "text": part.text,
    }


_Home = tuple[Workbench, "ScopeContext"]


def check(session: Invocation) -> int:
    """Check the statements about a project in its memories and instruction files; print the stale ones.

    A claim is a statement about the project that can be checked, such as the path of a file. It is stale if
    it was true once and no longer is. `--fix` corrects the stale ones. JSON: a list with one object per
    claim, stale or not: `{path, line, kind, token, state, to?, writtenAt?, evidence?}`, with `fixed` if
    `--fix` replaced it. With `--all`, notes about the past and plans are checked, too; their claims have
    `history`, and neither `--fix` nor the exit code takes them into account. An import that loads nothing has
    the kind `import`, the state `not-imported` and a `reason`.

    Returns the exit code: 1 if a claim is stale and was not fixed, or if an import loads nothing; 2 for wrong
    usage; else 0.
    """
    arguments = session.arguments
    project = Path(os.path.abspath(arguments.project or "."))  # noqa: PTH100 - as typed: a link stays one
    if not is_directory(project):
        trouble(f"There is no directory {project}.")
        return WRONG_USAGE
    if arguments.fix and arguments.at:
        trouble("--fix changes the current files; leave out --at.")
        return WRONG_USAGE
    try:
        claims = ProjectClaims(project, arguments.at or "")
        in_checkout = claims.look().in_checkout
        notes = claims.notes(tuple(map(_as_given(project), arguments.file or ())))
    except StoreError as error:
        answers.failed(error, as_json=session.as_json)
        return WRONG_USAGE
    report = claims.check([replace(note, everything=arguments.all) for note in notes])
    if arguments.fix and not in_checkout:
        trouble("A bare repository has no files that --fix could change.")
        return WRONG_USAGE
    replaced = set[CheckedClaim]()
    if arguments.fix:
        for note in notes:
            stale = [claim for claim in report.stale if claim.path == note.path and _may_fix(claim)]
            if stale and claims.fix(note, stale):
                replaced |= set(stale)
    reports = [report]
    if not arguments.file and not arguments.at:
        for home, more in _of_homes(session, project, everything=arguments.all):
            reports.append(more)
            stale_here = tuple(filter(_may_fix, more.stale))
            if arguments.fix and stale_here:
                home[0].claims.fix(home[1], stale_here)
                replaced |= set(stale_here)
    vain = () if arguments.file or arguments.at else imports_that_load_nothing(project)
    return _print_claims(session, reports, replaced, vain)


def _may_fix(claim: CheckedClaim) -> bool:
    """Return whether `--fix` corrects a stale claim: what a note says about the past stays as it is."""
    return bool(claim.replacement) and not claim.history


def _as_given(project: Path) -> Any:
    """Return a function that resolves a path from the command line; it takes and returns a `Path`.

    A relative path belongs to the project or, if the project has no such file, to the current directory. In
    the latter case the function returns the absolute path, provided that this file exists and is inside the
    project. Otherwise it returns the path as given, which the check resolves against the project.
    """

    def resolved(file: Path) -> Path:
        here = Path(os.path.abspath(file))  # noqa: PTH100 - as typed
        inside = not file.is_absolute() and not is_there(project / file)
        return here if inside and here.is_relative_to(project) and is_there(here) else file

    return resolved


def _of_homes(session: Invocation, project: Path, *, everything: bool) -> Iterator[tuple[_Home, ClaimReport]]:
    """Check the memories about `project` in each home; yield the homes that have any, with their report.

    `everything`: also check memories about the past, and plans.

    A home is yielded as a pair of its workbench and context. Homes that do not list the project are left out.
    """
    for root in every_home(session)[0]:
        try:
            parts = open_parts(root, session.profile, session.clock)
            session.opened.append(parts)
            known = {str(project), os.path.realpath(project)}
            named = next((one.path for one in parts.home.contents().projects if one.path in known), None)
            if named is None:
                continue
            workbench = Workbench(parts)
            context = asked_context(parts.home, project_path=named, project_given=True)
            report = workbench.claims.check(context, everything=everything)
        except UserError as error:
            trouble(str(error))
            continue
        if report.notes:
            yield (workbench, context), report


def _print_claims(
    session: Invocation,
    reports: Sequence[ClaimReport],
    replaced: set[CheckedClaim],
    vain: Sequence[FailedImport],
) -> int:
    claims = [claim for report in reports for claim in report.claims]
    stale = [claim for claim in claims if claim.state.is_stale]
    failed = [
        {
            **columns(each, "path=label line"),
            "kind": "import",
            "token": each.written,
            "state": "not-imported",
            "reason": IMPORT_PROBLEMS[each.problem],
        }
        for each in vain
    ]
    document = [*(_claim_json(claim, claim in replaced) for claim in claims), *failed]
    lines = [printable("{path}:{line}: {token} loads nothing: {reason}".format(**each)) for each in failed]
    for claim in stale:
        more = ", fixed" if claim in replaced else " [history]" if claim.history else ""
        text = f"{claim.path}:{claim.line}: {in_one_line(claim)}{more}"
        lines.append(printable(text).replace("\n", " "))
    print_answer(session.as_json, document, [*lines, _claims_summary(reports, stale, len(replaced))])
    for report in reports:
        if report.problem:
            trouble(f"{report.problem} Without a repository, Reverie reports no statement as stale.")
        print_problems(report.limits)
    open_ = [claim for claim in stale if not claim.history and claim not in replaced]
    return FAILED if vain or open_ else DONE


def _claim_json(claim: CheckedClaim, was_fixed: bool) -> dict[str, Any]:
    found: dict[str, Any] = columns(claim, "path line kind=kind.value token state=state.value")
    if claim.to:
        found["to"] = claim.to
    if claim.written_at:
        found["writtenAt"] = claim.written_at
    if claim.evidence is not None:
        found["evidence"] = columns(claim.evidence, "commit date subject")
    if was_fixed:
        found["fixed"] = True
    if claim.history:
        found["history"] = True
    return found


def _claims_summary(reports: Sequence[ClaimReport], stale: Sequence[CheckedClaim], replaced: int) -> str:
    checked, notes = sum(len(report.claims) for report in reports), sum(report.notes for report in reports)
    files = len({claim.path for claim in stale})
    found = f"{checked:,} {'statement' if checked == 1 else 'statements'} in {notes:,} "
    found += "file: " if notes == 1 else "files: "
    if not stale:
        return found + "none are stale."
    words = f"{len(stale):,} stale in {files:,}"
    return found + words + (f", {replaced:,} fixed." if replaced else ".")
