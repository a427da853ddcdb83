"""The commands: parse, open, do, answer. Exit 0 done; 1 failed, skipped, held or in conflict; 2 wrong usage.

Each command is one function from (arguments, session) to an exit code. What a person can mend ends as one
line on stderr (and `reason` in the JSON); a bug ends as a traceback.
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from reverie import __version__
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_json_line, print_table, print_text, printable
from reverie.cli.arguments import build_parser
from reverie.cli.debug_log import debug_log
from reverie.clock import Clock, fixed_clock, system_clock
from reverie.errors import MendableError
from reverie.profile import Profile

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.parts import HomeParts


class Session:
    """What the options of one invocation amount to."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.as_json: bool = arguments.json
        self.profile = Profile.under(arguments.profile) if arguments.profile else Profile.default()
        self.clock: Clock = system_clock if arguments.now is None else fixed_clock(arguments.now)

    def home(self, clock: Clock | None = None) -> HomeParts:
        from reverie.cli.context import the_home

        return the_home(self.arguments.home, self.profile, clock or self.clock)

    def context(self, parts: HomeParts) -> ScopeContext:
        from reverie.cli.context import the_context

        return the_context(parts, self.arguments.workspace, self.arguments.project)


def main(argv: Sequence[str]) -> int:
    """Run one invocation; returns the exit code."""
    arguments = build_parser().parse_args(argv)
    if arguments.version:
        print_text(__version__)
        return DONE
    session = Session(arguments)
    try:
        with debug_log():
            return _COMMANDS[arguments.command](session)
    except MendableError as error:
        return answers.failed(error, as_json=session.as_json)
    except BrokenPipeError:
        sys.stderr.close()
        return DONE


def _window(session: Session) -> int:
    from reverie.ui.app import run_window

    arguments = session.arguments
    return run_window(
        homes=tuple(arguments.home or ()),
        profile=session.profile,
        clock=session.clock,
        workspace_id=arguments.workspace,
        demo=arguments.demo,
        offscreen=arguments.offscreen,
        screenshot=arguments.screenshot,
    )


def _homes(session: Session) -> int:
    from reverie.cli.context import only_home
    from reverie.compose import adopt_home, discover_all, open_parts

    given = session.arguments.home
    if session.arguments.adopt:
        adopt_home(only_home(given), session.arguments.adopt, session.profile, session.clock)
    roots = given if given else [found.root for found in discover_all(session.profile)]
    homes: list[dict[str, Any]] = []
    errors: list[MendableError] = []
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
    if not roots:
        print_text("No agent's home was found. Name one with --home DIR, or try `reverie --demo`.")
    for home in homes:
        counts = ", ".join(f"{count} {scope}" for scope, count in home["counts"].items())
        print_text(f"{home['root']}  ({home['kind']}; memories: {counts})")
        rows = [
            ("", workspace["id"], printable(workspace["name"]), printable(project["name"]), _marks(workspace))
            for project in home["projects"]
            for workspace in project["workspaces"]
        ]
        print_table(rows)
        for problem in home["problems"]:
            answers.trouble(problem)
        for before in home["adoptable"]:
            answers.trouble(
                f"{home['root']} may be the home that stood at {before['root']}; if it is, take over its "
                f"history and runs: reverie homes --home {home['root']} --adopt {before['id']}"
            )
    return code


def _home_json(parts: HomeParts) -> dict[str, Any]:
    from reverie.homes.scopes import Scope
    from reverie.services.parts import rooted_files

    home = parts.home
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


def _tree(session: Session) -> int:
    from reverie.cli.tree_text import mark_rules, tree_lines
    from reverie.homes.scopes import Scope
    from reverie.memory.listing import tree
    from reverie.services.workbench import Workbench

    parts = session.home()
    context = session.context(parts)
    view = Workbench(parts).view(context)
    nodes = [tree(scope, view.scopes[scope]) for scope in Scope]
    for scope, node in zip(Scope, nodes, strict=True):
        root = view.scopes[scope].root
        if root is not None:
            mark_rules(node, partial(parts.home.file_rule, root))
    if session.as_json:
        print_json(nodes)
    else:
        print_text("\n".join(tree_lines(nodes)))
    problem = parts.usage.problem()
    if problem:
        answers.trouble(f"Pins and use are not known. {problem}")
    return DONE


def _memory(session: Session) -> int:
    from reverie.cli.memory_lines import LineClock, MemoryLines

    clock = LineClock(session.clock)
    parts = session.home(clock)
    lines = MemoryLines(
        parts, clock, workspace_id=session.arguments.workspace, project=session.arguments.project
    )
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline="\n")
    for answer in lines.answer_all(source):
        print_json_line(answer)
    return DONE


def _status(session: Session) -> int:
    from reverie.cli.status_text import status_lines
    from reverie.dream.coverage import status_of

    parts = session.home()
    context = session.context(parts)
    status = status_of(parts.coverage.load(), context, now=session.clock())
    agent = parts.home.agent_status(context)
    if session.as_json:
        told = [
            {"label": line.label, "text": line.text, "state": line.state, "at": line.at} for line in agent
        ]
        print_json({**status.as_json(), **({"agent": told} if told else {})})
    else:
        print_text("\n".join(status_lines(status, agent, now=session.clock())))
    for problem in status.problems:
        answers.trouble(problem)
    return DONE


def _consolidate(session: Session) -> int:
    from reverie.dream.service import DreamRequest
    from reverie.services.models import Models

    arguments = session.arguments
    parts = session.home()
    context = session.context(parts)
    models = Models(parts)
    choice = models.choose(context, arguments.engine)
    engine = models.engine(choice.engine, context, arguments.trigger)
    cancel = threading.Event()
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: cancel.set())
    try:
        result = parts.dreams.run(
            DreamRequest(context, arguments.trigger, engine.name, arguments.dry_run), engine, cancel=cancel
        )
    finally:
        signal.signal(signal.SIGINT, previous)
    if session.as_json:
        told = {
            "runId": result.run_id,
            "outcome": result.outcome,
            "reason": result.reason,
            "dryRun": arguments.dry_run,
            "engine": engine.name,
            "costUsd": result.cost_usd,
        }
        body = dict(result.record) or {"summary": result.summary, "ops": [dict(op) for op in result.ops]}
        print_json({**body, **told})
    elif result.succeeded:
        print_table(answers.ops_rows(result.ops))
        print_text(
            f"{printable(result.summary)}\nRun {result.run_id}: {result.outcome}. "
            f"{answers.spent_words(engine.name, result.usage, result.cost_usd)}"
        )
    if result.succeeded:
        return DONE
    answers.trouble(
        f"{result.summary} {result.next_step}" if result.next_step not in result.summary else result.summary
    )
    return FAILED


def _sweep(session: Session) -> int:
    from reverie.cli.background import sweep

    return sweep(session)


def _harvest(session: Session) -> int:
    from reverie.cli.background import harvest

    return harvest(session)


def _write(session: Session) -> int:
    from reverie.cli.writing import write

    return write(session)


def _extract(session: Session) -> int:
    from reverie.cli.extracting import extract

    return extract(session)


def _runs(session: Session) -> int:
    parts = session.home()
    records = parts.runs.all(limit=session.arguments.limit)
    if session.as_json:
        print_json([record.as_json() for record in records])
    else:
        print_table(
            (
                record.id,
                record.kind,
                record.outcome
                + (", reverted" if record.reverted else "")
                + (", dry run" if record.dry_run else ""),
                record.engine,
                printable(record.summary),
            )
            for record in records
        )
    for problem in parts.runs.problems:
        answers.trouble(problem)
    return DONE


def _diff(session: Session) -> int:
    from reverie.memory.diff import unified
    from reverie.services.workbench import Workbench

    changes = Workbench(session.home()).run_changes(session.arguments.run)
    diffs = [(change, unified(change.before, change.after, change.path.lstrip("/"))) for change in changes]
    if session.as_json:
        print_json([{"path": change.path, "note": change.note, "diff": diff} for change, diff in diffs])
    elif diffs:
        text = "".join(diff for _change, diff in diffs).rstrip("\n")
        # Into a file or a pipe a diff goes as it is; a terminal must not obey what a memory says.
        print_text(printable(text.expandtabs()) if sys.stdout.isatty() else text)
    return DONE


def _revert(session: Session) -> int:
    result = session.home().reverter.revert(session.arguments.run)
    if session.as_json:
        print_json(
            {
                "runId": result.run_id,
                "reverted": result.reverted,
                "summary": result.summary,
                "restored": list(result.restored),
                "conflicts": list(result.conflicts),
                "reason": "conflict" if result.conflicts else "",
            }
        )
    else:
        print_text(result.summary)
    if result.conflicts:
        answers.trouble(result.summary)
        return FAILED
    return DONE


def _traces(session: Session) -> int:
    from reverie.cli.trace_lines import traces

    return traces(session)


def _doctor(session: Session) -> int:
    from reverie.cli.doctor_text import doctor

    return doctor(session)


def _context(session: Session) -> int:
    from reverie.cli.context_lines import context

    return context(session)


def _notes(session: Session) -> int:
    from reverie.cli.noting import notes

    return notes(session)


def _search(session: Session) -> int:
    from reverie.cli.search import search

    return search(session)


def _failures(session: Session) -> int:
    from reverie.cli.failures import failures

    return failures(session)


def _watch(session: Session) -> int:
    from reverie.cli.watch import watch

    return watch(session)


_COMMANDS: dict[str | None, Callable[[Session], int]] = {
    None: _window,
    "homes": _homes,
    "tree": _tree,
    "memory": _memory,
    "status": _status,
    "consolidate": _consolidate,
    "sweep": _sweep,
    "harvest": _harvest,
    "write": _write,
    "notes": _notes,
    "extract": _extract,
    "runs": _runs,
    "diff": _diff,
    "revert": _revert,
    "watch": _watch,
    "doctor": _doctor,
    "context": _context,
    "traces": _traces,
    "search": _search,
    "failures": _failures,
}
