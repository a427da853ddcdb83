"""The entry point of all commands: parses the command line, runs the command, reports errors.

Exit code 0 means done; 1 failed, skipped, in conflict, or (of a run) held: its changes wait for a person's
review and are not applied yet; 2 means wrong usage. Each command is one function from an `Invocation` to an
exit code. A `UserError` becomes one line on stderr (and `reason` in the JSON); a bug becomes a traceback.
This module imports little, because an agent's runner waits for `reverie failures`; `cli.homes` chooses the
home and context.

Threading: the main thread; `cli.patience` adds a thread that checks whether the homes respond.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie import __version__
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_text
from reverie.cli.patience import patience, usual_homes
from reverie.clock import Clock, fixed_clock, is_time, system_clock
from reverie.errors import UserError

if TYPE_CHECKING:
    from reverie.agents.base import TroubledPlace
    from reverie.engine.client import EngineClient
    from reverie.profile import Profile
    from reverie.services.container import HomeContainer
    from reverie.services.machines import MachineAddress


class Invocation:
    """One invocation of the program: its options, clock and profile, its homes, and its engine."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.as_json: bool = arguments.json
        self.clock: Clock = system_clock if arguments.now is None else fixed_clock(arguments.now)
        self.left_out: frozenset[Path] = frozenset()
        """Usual places of homes that could not be read and that this command ignores."""
        self.lost: Sequence[str] = ()
        """Sentences, one for each write of a run that another program has overwritten since."""
        self.opened: list[HomeContainer] = []
        """The homes that the command may write to; `overwritten` checks the writes there."""
        self.engine: EngineClient | None = None
        """The engine that this command uses; see `cli.homes`."""
        self.looked_for_engine = False

    @cached_property
    def profile(self) -> Profile:
        """The profile that `--profile` names, else the user's own."""
        # Late: `failures` needs no profile, and an agent's runner waits for it.
        from reverie.profile import Profile

        given = self.arguments.profile
        return Profile.under(given) if given else Profile.default()

    def leave_out(self, places: Iterable[TroubledPlace]) -> None:
        """Exclude these places from the check whether homes respond; the command does not use them."""
        self.left_out |= {place.root for place in places}

    def overwritten(self) -> list[str]:
        """Return a sentence for each write of this command that another program has overwritten meanwhile."""
        return [*self.lost, *(lost.sentence() for parts in self.opened for lost in parts.saves.settle())]

    def close(self) -> None:
        """Close the connection to the engine, if there is one, at the end of the command."""
        if self.engine is not None:
            self.engine.stop()


TRIGGERS = ("manual", "compaction", "launch", "archive")
TAKES = ("suggestion", "left", "right", "both", "never")

COMMANDS: dict[str, str] = {
    "homes": "list the homes found, with kind, projects, workspaces and counts",
    "projects": "list each repository once, with the notes that each agent keeps for each of its checkouts",
    "tree": "show the three scopes as a tree with pins, use, size and descriptions",
    "memory": "run memory commands as JSON lines: one command per line in, one response per line out",
    "status": "show when workspace, project and global memory were last consolidated",
    "consolidate": "consolidate the memories of one workspace once",
    "sweep": "consolidate idle workspaces that have something new, at most three",
    "harvest": "mux: collect facts from the conversation before its newest compaction, then consolidate",
    "write": "run the memory writer once: add the latest turns to the project's memory",
    "extract": "Codex: turn new sessions into memories",
    "notes": "Claude Code: update the notes of one session",
    "runs": "list past runs, newest first",
    "changes": "list all changes to memories, by you, agents, runs and other programs, newest first",
    "diff": "show the changes of one run as a unified diff",
    "revert": "undo one run, some of its files or hunks, or one change",
    "export": "copy memories to a folder or a zip file",
    "import": "propose memories from a folder or a zip file; they are applied after a review in the window",
    "watch": "run the background services without a window, until stopped",
    "engine": "run the process that keeps homes open for windows and commands, until none needs it",
    "mcp": "serve the memories to other programs, over the Model Context Protocol",
    "doctor": "show why the memory writer or a consolidation did not run, with fixes; `--self`: on itself",
    "context": "show exactly what an agent would load: index, full memories, cut lines, limits",
    "check": "list statements about a project in memories and instruction files that are no longer true",
    "findings": "list memories that need attention: repetitions, contradictions, stale statements, secrets",
    "decide": "settle a finding: apply its suggestion, keep one of two memories, or both",
    "traces": "show why runs wrote nothing: all traces with their verdict, newest first, or one in full",
    "failures": "loki-mode: show lessons for the next iteration; record, resolve or redact a failure",
    "search": 'search the text of all homes: words, "phrases", /patterns/ and filters',
}

Option = tuple[tuple[str, ...], dict[str, Any]]
"""The names and settings of an option, as `ArgumentParser.add_argument` takes them."""


def _flag(name: str, text: str) -> Option:
    return (name,), {"action": "store_true", "help": text}


def _value(name: str, metavar: str | tuple[str, str] | None, text: str, **more: Any) -> Option:
    return (name,), {"metavar": metavar, "help": text, **more}


def _place(name: str, metavar: str, text: str, **more: Any) -> Option:
    """Return an option that can be given before the command, too; without it, that value stays."""
    return _value(name, metavar, text, default=argparse.SUPPRESS, **more)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count")
    return int(text)


def _time(text: str) -> int:
    if not text.isdecimal() or not is_time(int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in milliseconds since 1970")
    return int(text)


def _host(text: str) -> MachineAddress:
    # Late: only the window takes one.
    from reverie.services.machines import parse_address

    try:
        return parse_address(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_COMMON: Sequence[Option] = (
    _value("--home", "DIR", "an agent's home; repeat the option for several", type=Path, action="append"),
    _value("--profile", "DIR", "put all of Reverie's own files here", type=Path),
    _flag("--json", "print JSON on stdout"),
    _value("--now", "MS", "take this as the current time, UTC ms since the epoch", type=_time),
)
_IN_CONTEXT: Sequence[Option] = (
    _place("--workspace", "ID", "a workspace of the home"),
    _place("--project", "PATH", "a project of the home"),
)
_CONTEXT: Sequence[Option] = (
    *_IN_CONTEXT,
    _place(
        "--session",
        "ID",
        "a session of the home, for agents that use sessions instead of workspaces",
        dest="workspace",
    ),
)
_WINDOW: Sequence[Option] = (
    _flag("--version", "print the version and exit"),
    _value(
        "--host",
        "ssh://USER@MACHINE[:PORT][/PATH]",
        "also open the homes on another machine; may be repeated",
        type=_host,
        action="append",
    ),
    _flag("--demo", "open a temporary copy of the sample home"),
    _flag("--offscreen", "render without a display"),
    _value("--screenshot", "FILE", "save a PNG of the window, then exit", type=Path),
)
_SCOPES = ("workspace", "project", "global")
_RUN = "a run ID, as `reverie runs` lists it"
_DRY_RUN = _flag("--dry-run", "show what the command would do; change nothing")
_ENGINE = _value(
    "--engine",
    "rules|PROVIDER:MODEL",
    "the engine; default: the one in the settings, else the agent's own model if its use was approved, else "
    "rules",
    default="auto",
)
_OPTIONS: Mapping[str, Sequence[Option]] = {
    "homes": (_value("--adopt", "ID", "this home was moved here: assign the history and runs of ID to it"),),
    "projects": (
        _value(
            "--same",
            ("PROJECT", "PROJECT"),
            "treat these two as one project (slugs or checkouts)",
            nargs=2,
        ),
        _value("--apart", ("PROJECT", "PROJECT"), "treat these two as different projects", nargs=2),
        _value("--name", ("PATH", "NAME"), "give a project that has no git repository a name", nargs=2),
    ),
    "tree": _CONTEXT,
    "memory": _CONTEXT,
    "status": _CONTEXT,
    "consolidate": (
        *_CONTEXT,
        _DRY_RUN,
        (("--trigger",), {"choices": TRIGGERS, "default": "manual", "help": "what triggered the run"}),
        _ENGINE,
    ),
    "sweep": (_DRY_RUN, _ENGINE),
    "harvest": (*_CONTEXT, _ENGINE),
    "write": (*_CONTEXT, _flag("--force", "run even if no run is due")),
    "extract": (_DRY_RUN, _ENGINE, _place("--project", "PATH", "only threads of this directory")),
    "notes": (
        (("--session", "--workspace"), {**_CONTEXT[-1][1], "help": "a session of the home"}),
        _flag("--force", "run even if there is nothing new in the session"),
    ),
    "runs": (_value("--limit", "N", "at most N runs", type=_count),),
    "changes": (
        _value("--limit", "N", "at most N changes (default: 20)", type=_count, default=20),
        _value("--by", "NAME", "only changes by this program or actor, such as claude-code or user"),
    ),
    "diff": (_value("run", "RUN", _RUN),),
    "revert": (
        _value("run", "RUN", f"{_RUN}; or a change ID, as `reverie changes` lists it"),
        _value("--path", "P", "only this file of the run; may be repeated", action="append"),
        _value(
            "--hunk",
            "N",
            "only this hunk of the file in --path, as numbered by `reverie diff RUN`; may be repeated",
            type=_count,
            action="append",
        ),
    ),
    "export": (
        *_CONTEXT,
        _value(
            "target",
            "DIR|FILE.zip",
            "a new folder or a new zip file; for one memory also a file such as deploy.md",
            type=Path,
        ),
        _value(
            "--scope",
            None,
            "only this scope, without a folder of its own (default: all stores, with a folder each)",
            choices=_SCOPES,
        ),
        _value(
            "--path",
            "P",
            "only this memory or folder, such as /memories/project/deploy.md; may be repeated",
            action="append",
        ),
    ),
    "import": (
        *_CONTEXT,
        _value(
            "source", "DIR|FILE.zip", "a folder with files of one scope, a zip file, or one file", type=Path
        ),
        _value("--scope", None, "the scope that gets the files", choices=_SCOPES, required=True),
        _flag("--dry-run", "show the changes; record no proposal"),
    ),
    "engine": (_flag("--stdio", "serve one client over standard input and output"),),
    "mcp": (
        *_CONTEXT,
        _value(
            "--allow-writes",
            "SCOPE",
            "let clients change workspace, project or global memory; may be repeated (default: read-only)",
            action="append",
            choices=_SCOPES,
        ),
        _value(
            "--http",
            "PORT",
            "serve over HTTP on this port of the loopback interface, with the token in REVERIE_MCP_TOKEN; "
            "default: standard input and output",
            type=_count,
        ),
        _value(
            "--print-config",
            None,
            "print what to add to the configuration of this client, and exit",
            choices=("claude", "codex", "vscode", "cursor", "gemini"),
        ),
    ),
    "doctor": (
        *_CONTEXT,
        _flag("--self", "check Reverie itself"),
        _flag("--probe", "send a real request to the model (may cost money)"),
        _value("--fix", "CHECK", "apply the fix of this check and run the checks again"),
    ),
    "context": _CONTEXT,
    "check": (
        _place("--project", "PATH", "the project; default: the current directory"),
        _value("--file", "FILE", "only this file; may be repeated", type=Path, action="append"),
        _value("--at", "COMMIT", "compare with this commit; works in a bare repository too"),
        _flag("--all", "also check notes about the past and plans, by their name or title; never fixed"),
        _flag("--fix", "correct statements about things that moved or changed"),
    ),
    "findings": (
        _place("--project", "PATH", "the project; default: all memories"),
        _value("--limit", "N", "at most N findings", type=_count),
    ),
    "decide": (
        _value("finding", "ID", "a finding, as `reverie findings` lists it"),
        _value(
            "--take",
            None,
            "suggestion: apply the suggested change; left, right: the first or the second memory is right; "
            "both: keep both; never: do not show the finding again",
            choices=TAKES,
            required=True,
        ),
        _place("--project", "PATH", "a finding about this project"),
        _flag("--dry-run", "show the changes; change nothing"),
    ),
    "traces": (
        _value("trace", "ID", "show one trace, by its name in the list", nargs="?"),
        _place("--workspace", "ID", "only traces of this workspace"),
    ),
    "failures": (
        _value(
            "action",
            None,
            "record: store a failed episode (for hooks of agents); resolve: record how an error was fixed",
            choices=("record", "resolve"),
            nargs="?",
        ),
        _place("--project", "DIR", "the project"),
        _value("--redact", "FILE", "print this crash record without private data", type=Path),
        _value("--phase", "PHASE", "REASON, ACT, REFLECT or VERIFY"),
        _value("--exit", "CODE", "the exit code of the iteration", type=int),
        _value("--crash", "FILE", "the crash record of the iteration; default: the newest", type=Path),
        _value("--goal", "TEXT", "the goal of the iteration"),
        _value("--task", "ID", "the task that failed"),
        _value("--episode", "ID", "with resolve: the id of the episode, as --json lists it"),
        _value("--error", "N", "resolve: the number of the error (default: 1)", type=_count, default=1),
        _value("--text", "TEXT", "resolve: how it was fixed"),
    ),
    "search": (
        _value(
            "query",
            "QUERY",
            'such as: retry "exact words" scope:project project:acme agent:claude home:mux pinned:yes '
            "changed:<7d by:agent",
            nargs="+",
        ),
        _place("--project", "PATH", "rank results of this project first (default: .)"),
        _place("--workspace", "ID", "rank results of this workspace first"),
        _value("--limit", "N", "at most N results (default: 50)", type=_count),
    ),
}
"""The options of each command, besides those that every command has."""


def _parser_of(options: Iterable[Option], **more: Any) -> argparse.ArgumentParser:
    """Return a parser with these options for the `parents` of others; `more`: settings for each option."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for names, settings in options:
        parser.add_argument(*names, **settings, **more)
    return parser


def build_parser(commands: Collection[str] = COMMANDS.keys()) -> argparse.ArgumentParser:
    """Return the parser of the command line, which accepts the given commands.

    A command line without a command opens the window. Only the needed command is given, because building the
    parsers of all commands would take longer than some commands run.
    """
    parser = argparse.ArgumentParser(
        prog="reverie",
        description="A desktop memory browser for coding agents. Opens the window if no command is given.",
        parents=[_parser_of((*_COMMON, *_IN_CONTEXT, *_WINDOW))],
        allow_abbrev=False,
        exit_on_error=bool(commands),
    )
    parser.set_defaults(workspace=None, project=None)
    if not commands:
        parser.set_defaults(command=None)
        return parser
    common = _parser_of(_COMMON, default=argparse.SUPPRESS)
    adding = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        if name in commands:
            command = adding.add_parser(
                name, help=text, description=text, parents=[common], allow_abbrev=False
            )
            one_of = command.add_mutually_exclusive_group() if name == "projects" else command
            for names, settings in _OPTIONS.get(name, ()):
                one_of.add_argument(*names, **settings)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; return its options, including the name of the command, if any.

    If the command line is wrong, prints the usage and exits the program.
    """
    if COMMANDS.keys().isdisjoint(argv) and {"-h", "--help"}.isdisjoint(argv):
        with suppress(argparse.ArgumentError):  # reported below, with all commands
            options, others = build_parser(()).parse_known_args(argv)
            if not others:
                return options
    return build_parser(argv[:1] if argv and argv[0] in COMMANDS else COMMANDS.keys()).parse_args(argv)


@contextmanager
def debug_log(env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Context manager: write Reverie's log to stderr if the environment requests it.

    `REVERIE_DEBUG=1` requests it, and so does `REVERIE_LOG_LEVEL=debug` (or `info`). `env` None means the
    environment of the process. Other libraries log nothing, because they might log the data that they send.
    """
    env = os.environ if env is None else env
    if not any(name in env for name in ("REVERIE_DEBUG", "REVERIE_LOG_LEVEL")):
        yield  # importing logging would take too long
        return
    import logging

    from reverie.files.log_file import wanted_level

    level = wanted_level(env)
    if level is None:
        yield
        return
    logger, handler = logging.getLogger("reverie"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def main(argv: Sequence[str]) -> int:
    """Run the program with the arguments `argv` of the command line; return the exit code."""
    arguments = parse(argv)
    if arguments.version:
        print_text(__version__)
        return DONE
    if arguments.host and (arguments.command or arguments.screenshot):
        build_parser().error("--host works only with the window: run the command on that machine")
    session = Invocation(arguments)
    try:
        with debug_log(), _patience(session):
            code = _command(arguments.command)(session)
            # A write that was overwritten again must not end as a success.
            lost = session.overwritten()
            for sentence in lost:
                answers.trouble(sentence)
            answers.flush()
            return FAILED if lost and code == DONE else code
    except UserError as error:
        return _failed(error, session)
    except answers.AnswerLostError as error:
        answers.give_up_stdout()
        answers.trouble(str(error))
        return FAILED
    except BrokenPipeError:
        answers.give_up_stdout()
        return DONE
    except KeyboardInterrupt:
        answers.trouble("Interrupted. The next command recovers unfinished work.")
        return FAILED
    finally:
        session.close()


def _failed(error: UserError, session: Invocation) -> int:
    try:
        code = answers.failed(error, as_json=session.as_json)
        answers.flush()
    except (answers.AnswerLostError, BrokenPipeError):
        answers.give_up_stdout()
        if session.as_json:
            answers.trouble(str(error))
        return FAILED
    return code


def _patience(session: Invocation) -> AbstractContextManager[None]:
    """Return a context manager that checks whether the homes of the command respond (`cli.patience`).

    It does nothing for the window, which has its own check, nor for commands that must be fast or use no
    home.
    """
    # An agent's runner waits for `failures`, which has no time for that. An engine has no homes of its own,
    # nor has the memory server, which is a client of an engine.
    if session.arguments.command in (None, "failures", "engine", "mcp"):
        return nullcontext()

    named = tuple(session.arguments.home or ())
    if named:
        return patience(lambda: named)
    return patience(lambda: tuple(place for place in usual_homes() if place not in session.left_out))


def _window(session: Invocation) -> int:
    from reverie.ui.display import display_problem

    arguments = session.arguments
    pictured = arguments.offscreen or arguments.screenshot is not None
    # Check first, so that nothing is started for a window that cannot be shown.
    problem = "" if pictured else display_problem(os.environ, sys.platform)
    if problem:
        sys.stderr.write(problem + "\n")
        return FAILED
    # What the imports create stays alive, and a window collects on its own (`ui.window.garbage`).
    gc.disable()
    starting = None
    alone = arguments.screenshot is not None or arguments.demo or session.clock is not system_clock
    if not alone and hasattr(os, "fork"):
        # Started before Qt is loaded, so that the engine is ready when the window is.
        from reverie.engine.start import StartingEngine, engine_command

        with suppress(UserError):  # reported by the part that needs the engine
            starting = StartingEngine(engine_command(session.profile))
    from reverie.ui.app import run_window

    return run_window(
        homes=tuple(arguments.home or ()),
        hosts=tuple(arguments.host or ()),
        profile=session.profile,
        clock=session.clock,
        workspace_id=arguments.workspace,
        project_path=arguments.project,
        demo=arguments.demo,
        offscreen=arguments.offscreen,
        screenshot=arguments.screenshot,
        starting=starting,
    )


# Imported on demand, so that a command loads nothing that only others need.
_MODULES: Mapping[str, Sequence[str]] = {
    "homes": ("homes",),
    "projects": ("projects",),
    "memory": ("tree", "memory", "status", "search"),
    "runs": (
        *("consolidate", "sweep", "harvest", "write", "notes", "extract"),
        *("runs", "changes", "diff", "revert", "watch", "traces"),
    ),
    "transfer": ("export", "import"),
    "main": ("engine",),
    "mcp": ("mcp",),
    "reports": ("doctor", "context", "check"),
    "findings": ("findings", "decide"),
    "failures": ("failures",),
}
"""The modules of this package, each with the commands that its functions of the same name carry out.

A function whose name would be a keyword of Python ends in an underscore.
"""


def _command(name: str | None) -> Callable[[Invocation], int]:
    if name is None:
        return _window
    module = next(module for module, commands in _MODULES.items() if name in commands)
    found: Callable[[Invocation], int] = getattr(
        import_module(f"reverie.cli.{module}"), f"{name}_" if iskeyword(name) else name
    )
    return found


def engine(session: Invocation) -> int:
    """Run the engine of the profile in the foreground, until no client needs it or Ctrl+C.

    Raises `UserError` if another process is already the engine. With `--stdio`, the engine serves one client
    over standard input and output, even if there is another engine. Returns the exit code.
    """
    from reverie.engine.process import serve, serve_streams  # late: no other command runs an engine

    if session.arguments.stdio:
        serve_streams(session.profile)
    else:
        serve(session.profile)
    return DONE
