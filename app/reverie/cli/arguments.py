"""The command line as data: one parser, one table of commands. The README's command table is tested against
it.

`--home`, `--profile`, `--json` and `--now` may stand before or after the command.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reverie.clock import is_time

TRIGGERS = ("manual", "compaction", "launch", "archive")

COMMANDS: dict[str, str] = {
    "homes": "homes found, with kind, projects, workspaces, counts",
    "tree": "the three scopes as a tree with pins, use, size, description",
    "memory": "JSON lines in, JSON lines out, one memory command a line",
    "status": "what was consolidated when, for workspace, project and global memory",
    "consolidate": "one dream: tidy the memories of a workspace",
    "sweep": "one dream for each idle workspace with something new, three at most",
    "harvest": "pick up what was said before the newest compaction, then dream",
    "write": "one run of the memory writer: what was said last goes into the project's memory",
    "extract": "Codex: new rollouts become trace summaries, and those a handbook for each directory",
    "notes": "Claude Code: bring the notes of a session up to date",
    "runs": "runs so far, newest first",
    "diff": "what one run changed, as a unified diff",
    "revert": "undo one run, or some of its files and hunks",
    "watch": "the background services without a window, until stopped",
    "doctor": "why the memory writer or a dream did not run, and what mends it; `--self`: Reverie itself",
    "context": "exactly what an agent would load: index, hot set, cut lines, budgets",
    "traces": "why runs wrote nothing: traces with their verdict, newest first; or one in full",
    "failures": "loki-mode: what the next iteration would be told of failed ones; redact a crash; record one",
    "search": 'full text over every home: words, "phrases", /patterns/ and filters',
}

_WITH_CONTEXT = ("tree", "memory", "status", "consolidate", "harvest", "doctor", "write", "context")
_WITH_ENGINE = ("consolidate", "sweep", "harvest", "extract")
_WITH_RUN = ("diff", "revert")


def build_parser(first: str = "") -> argparse.ArgumentParser:
    """The whole command line. Without a command the window opens. `first`: the first word that stands on it;
    where that is a command no other is looked at, and to build them all takes longer than some commands."""
    common = _common(suppress=True)
    parser = argparse.ArgumentParser(
        prog="reverie",
        description="A desktop memory browser for coding agents. Without a command the window opens.",
        parents=[_common(suppress=False)],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("--demo", action="store_true", help="open a throw-away copy of the demo home")
    parser.add_argument("--offscreen", action="store_true", help="render without a display")
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="render, save a PNG, exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, help_text in ({first: COMMANDS[first]} if first in COMMANDS else COMMANDS).items():
        command = commands.add_parser(
            name, help=help_text, description=help_text, parents=[common], allow_abbrev=False
        )
        _add_options(command, name)
    return parser


def _add_options(command: argparse.ArgumentParser, name: str) -> None:
    """What the command `name` takes besides what all take."""
    if name in _WITH_CONTEXT:
        _add_context(command, suppress=True)
    if name in _WITH_RUN:
        command.add_argument("run", metavar="RUN", help="a run id, as `reverie runs` lists them")
    if name == "revert":
        command.add_argument(
            "--path", action="append", metavar="P", help="only this file of the run; may be given again"
        )
        command.add_argument(
            "--hunk",
            action="append",
            type=_count,
            metavar="N",
            help="only this hunk of the one --path, as `reverie diff RUN` numbers it; may be given again",
        )
    if name in ("consolidate", "sweep", "extract"):
        command.add_argument("--dry-run", action="store_true", help="show what it would do; change nothing")
    if name == "consolidate":
        command.add_argument("--trigger", choices=TRIGGERS, default="manual", help="why it runs")
    if name in _WITH_ENGINE:
        command.add_argument(
            "--engine",
            default="auto",
            metavar="rules|PROVIDER:MODEL",
            help="who does the thinking; without it what the settings say, else the agent's own model "
            "where a person has agreed to it, else rules",
        )
    if name == "traces":
        command.add_argument("trace", metavar="ID", nargs="?", help="one trace, as the list names it")
        command.add_argument(
            "--workspace", metavar="ID", default=argparse.SUPPRESS, help="only of this workspace"
        )
    if name == "extract":
        command.add_argument(
            "--project", metavar="PATH", default=argparse.SUPPRESS, help="only threads of this directory"
        )
    if name == "write":
        command.add_argument("--force", action="store_true", help="run whether it is due or not")
    if name == "notes":
        command.add_argument(
            *("--session", "--workspace"),
            dest="workspace",
            metavar="ID",
            default=argparse.SUPPRESS,
            help="a session of the home",
        )
        command.add_argument("--force", action="store_true", help="also where nothing new was said")
    if name == "doctor":
        command.add_argument("--self", action="store_true", help="examine Reverie itself")
        command.add_argument(
            "--probe", action="store_true", help="ask the model for real (one tool call; may cost)"
        )
        command.add_argument("--fix", metavar="CHECK", help="apply the fix of this check, look again")
    if name == "failures":
        _add_failures(command)
    if name == "homes":
        command.add_argument(
            "--adopt", metavar="ID", help="this home was moved here: take over history and runs of ID"
        )
    if name == "runs":
        command.add_argument("--limit", type=_count, metavar="N", help="at most N runs")
    if name == "search":
        command.add_argument(
            "query",
            metavar="QUERY",
            nargs="+",
            help='such as: retry "exact words" scope:project home:mux pinned:yes changed:<7d by:agent',
        )
        command.add_argument("--limit", type=_count, metavar="N", help="at most N results (50)")


def _add_failures(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "action",
        choices=("record", "resolve"),
        nargs="?",
        help="record: store a failed episode, for the hook of an agent; resolve: say what mended an error",
    )
    command.add_argument("--project", metavar="DIR", default=argparse.SUPPRESS, help="the project")
    command.add_argument(
        "--redact", type=Path, metavar="FILE", help="print this crash record without what is private"
    )
    command.add_argument("--phase", metavar="PHASE", help="REASON, ACT, REFLECT or VERIFY")
    command.add_argument("--exit", type=int, metavar="CODE", help="how the iteration ended")
    command.add_argument(
        "--crash", type=Path, metavar="FILE", help="its crash record; without it the newest one"
    )
    command.add_argument("--goal", metavar="TEXT", help="what the iteration is about")
    command.add_argument("--task", metavar="ID", help="the task that failed")
    command.add_argument("--episode", metavar="ID", help="resolve: the episode, as --json names it")
    command.add_argument(
        "--error", type=_count, default=1, metavar="N", help="resolve: which of its errors; the first one"
    )
    command.add_argument("--text", metavar="TEXT", help="resolve: what mended it")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)


def _time(text: str) -> int:
    if not text.isdecimal() or not is_time(int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no time in milliseconds since 1970")
    return int(text)


def _common(*, suppress: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    absent = argparse.SUPPRESS if suppress else None
    parser.add_argument(
        "--home",
        type=Path,
        action="append",
        metavar="DIR",
        default=absent,
        help="an agent's home; repeatable for the window",
    )
    parser.add_argument(
        "--profile", type=Path, metavar="DIR", default=absent, help="put all of Reverie's own files here"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if suppress else False,
        help="machine output on stdout",
    )
    parser.add_argument(
        "--now", type=_time, metavar="MS", default=absent, help="recorded time, UTC ms since the epoch"
    )
    if not suppress:
        _add_context(parser, suppress=False)
    return parser


def _add_context(parser: argparse.ArgumentParser, *, suppress: bool) -> None:
    absent = argparse.SUPPRESS if suppress else None
    parser.add_argument("--workspace", metavar="ID", default=absent, help="a workspace of the home")
    parser.add_argument("--project", metavar="PATH", default=absent, help="a project of the home")
    if suppress:
        parser.add_argument(
            "--session",
            metavar="ID",
            dest="workspace",
            default=absent,
            help="a session of the home, where the agent calls its workspaces so",
        )
