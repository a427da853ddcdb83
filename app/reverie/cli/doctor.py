"""`doctor`: why the memory writer or a dream did not run, and whether Reverie itself is in order.

Exit 0 when no check failed, 1 when one did: the line on stderr is the first cause and what to do.
`--fix CHECK` presses the fix of one check and looks again; the hints print the whole command.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_text, printable
from reverie.cli.homes import every_home, the_context, the_home
from reverie.compose import doctor_hooks
from reverie.doctor.findings import Finding, first_cause
from reverie.doctor.run_checks import examine
from reverie.doctor.self_checks import examine_self
from reverie.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.cli.main import Invocation

_MARKS = {"pass": "ok  ", "off": "off ", "warn": "WARN", "fail": "FAIL"}


def doctor(session: Invocation) -> int:
    """Examine, apply a fix if one was asked for, and tell."""
    look = _of_reverie(session) if session.arguments.self else _of_a_workspace(session)
    findings = look()
    name = session.arguments.fix
    if name is not None:
        _apply(name, findings)
        findings = look()
    if session.as_json:
        print_json([finding.as_json() for finding in findings])
    else:
        print_text("\n".join(finding_lines(findings, partial(_command, session))))
    cause = first_cause(findings)
    if cause is None or cause.state != "fail":
        return DONE
    answers.trouble(f"{cause.title}. {cause.evidence}{_how(cause, session)}")
    return FAILED


def finding_lines(findings: tuple[Finding, ...], command: Callable[[str], str]) -> Iterator[str]:
    """One line a check, its evidence below it, and at the end what to look at first. `command`: what applies
    the fix of a check."""
    for finding in findings:
        yield f"{_MARKS[finding.state]}  {finding.title}  [{finding.check}]"
        yield f"      {' '.join(printable(finding.evidence).split())}"
        if finding.fix is not None and finding.state != "pass":
            how = "To turn it on" if finding.state == "off" else "To mend it"
            yield f"      {how}: {printable(finding.fix.label)} (`{command(finding.check)}`)"
    cause = first_cause(findings)
    yield (
        "Everything is in order." if cause is None else f"Look at this first: {cause.title} [{cause.check}]."
    )


def _of_a_workspace(session: Invocation) -> Callable[[], tuple[Finding, ...]]:
    # Late: `doctor --self` must answer where a library of the checks is missing.

    parts = the_home(session)
    context = the_context(session, parts)
    hooks = doctor_hooks(parts, context)
    probe = session.arguments.probe
    return lambda: examine(parts, context, hooks, now=session.clock(), with_probe=probe)


def _of_reverie(session: Invocation) -> Callable[[], tuple[Finding, ...]]:

    asked = every_home(session)
    for problem in asked.problems:
        answers.trouble(str(problem))
    return lambda: examine_self(session.profile, now=session.clock(), homes=len(asked.roots))


def _apply(check: str, findings: tuple[Finding, ...]) -> None:
    finding = next((found for found in findings if found.check == check), None)
    if finding is None or finding.fix is None:
        fixable = ", ".join(found.check for found in findings if found.fix is not None) or "none"
        raise StoreError(
            f"There is no fix for {check}.",
            cause=f"Checks with a fix now: {fixable}.",
            next_step="Run `reverie doctor` without --fix to see them.",
            reason="missing",
        )
    finding.fix.apply()
    answers.trouble(f"Done: {finding.fix.label}.")


def _how(finding: Finding, session: Invocation) -> str:
    return "" if finding.fix is None else f" {finding.fix.label}: `{_command(session, finding.check)}`."


def _command(session: Invocation, check: str) -> str:
    """What applies the fix of a check, with what was named to get here: without it, another home or workspace
    may be meant, or none."""
    arguments = session.arguments
    words = ["reverie", *_option("--profile", arguments.profile)]
    for home in arguments.home or ():
        words += _option("--home", home)
    words += ["doctor", *(["--self"] if arguments.self else [])]
    words += _option("--workspace", arguments.workspace) + _option("--project", arguments.project)
    # What only a real test found out has its fix only with that test.
    words += ["--probe"] if arguments.probe else []
    return " ".join(map(_quoted, (*words, "--fix", check)))


def _option(name: str, value: object) -> list[str]:
    """Both in one word where the value would be taken for an option."""
    if value is None:
        return []
    return [f"{name}={value}"] if str(value).startswith("-") else [name, str(value)]


def _quoted(word: str) -> str:
    """`word` as a shell takes it; what cannot be printed, by its bytes."""
    if word.isprintable():
        return shlex.quote(word)
    shown = (
        f"\\{char}" if char in "\\'" else char if char.isprintable() else _escaped_bytes(char)
        for char in word
    )
    return f"$'{''.join(shown)}'"


def _escaped_bytes(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
