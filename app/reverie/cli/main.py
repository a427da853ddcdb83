"""The commands: parse, open, do, answer. Exit 0 done; 1 failed, skipped, held or in conflict; 2 wrong usage.

Each command is one function from an `Invocation` to an exit code. A `UserError` ends as one line on stderr
(and `reason` in the JSON); a bug ends as a traceback. This module is light, since an agent's runner waits for
`reverie failures`: which home and context are meant is `cli.homes`.

Threading: the main thread; `patience` adds one that checks whether the homes answer.
"""

from __future__ import annotations

import _thread
import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reverie import __version__
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_text
from reverie.clock import Clock, fixed_clock, is_time, system_clock
from reverie.errors import UserError
from reverie.files.directory import DiskCheck

if TYPE_CHECKING:
    from reverie.agents.base import TroubledPlace
    from reverie.engine.client import EngineClient
    from reverie.engine.start import MachineAddress
    from reverie.profile import Profile
    from reverie.services.container import HomeContainer


# One invocation: its options, clock and profile, and the homes that it opened.


class Invocation:
    """The options of one invocation, and what follows from them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.as_json: bool = arguments.json
        self.clock: Clock = system_clock if arguments.now is None else fixed_clock(arguments.now)
        self.left_out: frozenset[Path] = frozenset()
        """Usual places that could not be read, so that this command does without them."""
        self.lost: Sequence[str] = ()
        """A sentence for each write of a run that another program has overwritten since."""
        self._opened: list[HomeContainer] = []
        self.engine: EngineClient | None = None
        """The engine that this command asks; see `cli.homes`."""
        self.looked_for_engine = False

    @cached_property
    def profile(self) -> Profile:
        """The profile of `--profile`, else the person's own."""
        # Late: `failures` needs no profile, and an agent's runner waits for it.
        from reverie.profile import Profile

        given = self.arguments.profile
        return Profile.under(given) if given else Profile.default()

    def leave_out(self, places: Iterable[TroubledPlace]) -> None:
        """Wait for none of these places."""
        self.left_out |= {place.root for place in places}

    def opened(self, container: HomeContainer) -> None:
        """The command works on this home: `overwritten` checks what it saved there."""
        self._opened.append(container)

    def overwritten(self) -> list[str]:
        """A sentence for each write of this command that another program has overwritten since."""
        return [*self.lost, *(lost.sentence() for parts in self._opened for lost in parts.saves.settle())]

    def close(self) -> None:
        """The command is over."""
        if self.engine is not None:
            self.engine.stop()


# The command line as data; the README's command table is tested against it. `--home`, `--profile`, `--json`
# and `--now` may stand before or after the command.


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
    "engine": "the process that keeps the homes open for windows and commands, until nobody needs it",
    "doctor": "why the memory writer or a dream did not run, and how to fix it; `--self`: Reverie itself",
    "context": "exactly what an agent would load: index, hot set, cut lines, budgets",
    "check": "what memories and instruction files say of a project that is not true any more",
    "findings": "what is worth a look: notes that say the same or disagree, stale statements, secrets",
    "traces": "why runs wrote nothing: traces with their verdict, newest first; or one in full",
    "failures": "loki-mode: what the next iteration would be told of failed ones; redact a crash; record one",
    "search": 'full text over every home: words, "phrases", /patterns/ and filters',
}

_WITH_CONTEXT = ("tree", "memory", "status", "consolidate", "harvest", "doctor", "write", "context")
_WITH_ENGINE = ("consolidate", "sweep", "harvest", "extract")
_WITH_RUN = ("diff", "revert")


def build_parser(commands: Collection[str] = COMMANDS.keys()) -> argparse.ArgumentParser:
    """The command line. Without a command the window opens. `commands`: those that can be parsed; to build
    them all takes longer than some of them run."""
    parser = argparse.ArgumentParser(
        prog="reverie",
        description="A desktop memory browser for coding agents. Without a command the window opens.",
        parents=[_common(suppress=False)],
        allow_abbrev=False,
        exit_on_error=bool(commands),
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument(
        "--host",
        type=_host,
        action="append",
        metavar="ssh://USER@MACHINE[:PORT][/PATH]",
        help="the homes of another machine as well, in the window; repeatable",
    )
    parser.add_argument("--demo", action="store_true", help="open a throw-away copy of the demo home")
    parser.add_argument("--offscreen", action="store_true", help="render without a display")
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="render, save a PNG, exit")
    if not commands:
        parser.set_defaults(command=None)
        return parser
    common = _common(suppress=True)
    adding = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        if name in commands:
            command = adding.add_parser(
                name, help=text, description=text, parents=[common], allow_abbrev=False
            )
            _add_options(command, name)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options, and the command if there is one. A command line that is wrong ends the program."""
    if COMMANDS.keys().isdisjoint(argv) and {"-h", "--help"}.isdisjoint(argv):
        with suppress(argparse.ArgumentError):  # said below, with all commands
            options, others = build_parser(()).parse_known_args(argv)
            if not others:
                return options
    return build_parser(argv[:1] if argv and argv[0] in COMMANDS else COMMANDS.keys()).parse_args(argv)


def _add_options(command: argparse.ArgumentParser, name: str) -> None:
    """What the command `name` takes besides what all take."""
    add = command.add_argument
    if name in _WITH_CONTEXT:
        _add_context(command, suppress=True)
    if name in _WITH_RUN:
        add("run", metavar="RUN", help="a run id, as `reverie runs` lists them")
    if name == "revert":
        add("--path", action="append", metavar="P", help="only this file of the run; may be given again")
        add(
            "--hunk",
            action="append",
            type=_count,
            metavar="N",
            help="only this hunk of the one --path, as `reverie diff RUN` numbers it; may be given again",
        )
    if name in ("consolidate", "sweep", "extract"):
        add("--dry-run", action="store_true", help="show what it would do; change nothing")
    if name == "consolidate":
        add("--trigger", choices=TRIGGERS, default="manual", help="why it runs")
    if name in _WITH_ENGINE:
        add(
            "--engine",
            default="auto",
            metavar="rules|PROVIDER:MODEL",
            help="who does the thinking; without it what the settings say, else the agent's own model "
            "where a person has agreed to it, else rules",
        )
    if name == "traces":
        add("trace", metavar="ID", nargs="?", help="one trace, as the list names it")
        add("--workspace", metavar="ID", default=argparse.SUPPRESS, help="only of this workspace")
    if name == "extract":
        add("--project", metavar="PATH", default=argparse.SUPPRESS, help="only threads of this directory")
    if name == "write":
        add("--force", action="store_true", help="run whether it is due or not")
    if name == "notes":
        add(
            *("--session", "--workspace"),
            dest="workspace",
            metavar="ID",
            default=argparse.SUPPRESS,
            help="a session of the home",
        )
        add("--force", action="store_true", help="also where nothing new was said")
    if name == "doctor":
        add("--self", action="store_true", help="examine Reverie itself")
        add("--probe", action="store_true", help="ask the model for real (one tool call; may cost)")
        add("--fix", metavar="CHECK", help="apply the fix of this check, look again")
    if name == "failures":
        _add_failures(command)
    if name == "check":
        add("--project", metavar="PATH", default=argparse.SUPPRESS, help="the project; here without it")
        add("--file", type=Path, action="append", metavar="FILE", help="only this file; may be given again")
        add("--at", metavar="COMMIT", help="as of this commit; also in a bare repository")
        add("--fix", action="store_true", help="replace what has moved or changed")
    if name == "findings":
        add("--project", metavar="PATH", default=argparse.SUPPRESS, help="the project; everything without it")
        add("--limit", type=_count, metavar="N", help="at most N findings")
        add("--dismiss", action="append", metavar="ID", help="never show this one again; may be given again")
    if name == "engine":
        add("--stdio", action="store_true", help="serve one client over standard input and output")
    if name == "homes":
        add("--adopt", metavar="ID", help="this home was moved here: take over history and runs of ID")
    if name == "runs":
        add("--limit", type=_count, metavar="N", help="at most N runs")
    if name == "search":
        add(
            "query",
            metavar="QUERY",
            nargs="+",
            help='such as: retry "exact words" scope:project project:acme agent:claude home:mux pinned:yes '
            "changed:<7d by:agent",
        )
        add("--project", metavar="PATH", default=argparse.SUPPRESS, help="what belongs here comes first (.)")
        add("--workspace", metavar="ID", default=argparse.SUPPRESS, help="the same for a workspace")
        add("--limit", type=_count, metavar="N", help="at most N results (50)")


def _add_failures(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "action",
        choices=("record", "resolve"),
        nargs="?",
        help="record: store a failed episode, for the hook of an agent; resolve: say how an error was fixed",
    )
    add("--project", metavar="DIR", default=argparse.SUPPRESS, help="the project")
    add("--redact", type=Path, metavar="FILE", help="print this crash record without what is private")
    add("--phase", metavar="PHASE", help="REASON, ACT, REFLECT or VERIFY")
    add("--exit", type=int, metavar="CODE", help="how the iteration ended")
    add("--crash", type=Path, metavar="FILE", help="its crash record; without it the newest one")
    add("--goal", metavar="TEXT", help="what the iteration is about")
    add("--task", metavar="ID", help="the task that failed")
    add("--episode", metavar="ID", help="resolve: the episode, as --json names it")
    add("--error", type=_count, default=1, metavar="N", help="resolve: which of its errors; the first one")
    add("--text", metavar="TEXT", help="resolve: how it was fixed")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)


def _time(text: str) -> int:
    if not text.isdecimal() or not is_time(int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no time in milliseconds since 1970")
    return int(text)


def _host(text: str) -> MachineAddress:
    # Late: only the window takes one.
    from reverie.engine.start import parse_address

    try:
        return parse_address(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _common(*, suppress: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    absent, add = argparse.SUPPRESS if suppress else None, parser.add_argument
    add(
        "--home",
        type=Path,
        action="append",
        metavar="DIR",
        default=absent,
        help="an agent's home; repeatable for the window",
    )
    add("--profile", type=Path, metavar="DIR", default=absent, help="put all of Reverie's own files here")
    add(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if suppress else False,
        help="machine output on stdout",
    )
    add("--now", type=_time, metavar="MS", default=absent, help="recorded time, UTC ms since the epoch")
    if not suppress:
        _add_context(parser, suppress=False)
    return parser


def _add_context(parser: argparse.ArgumentParser, *, suppress: bool) -> None:
    absent, add = argparse.SUPPRESS if suppress else None, parser.add_argument
    add("--workspace", metavar="ID", default=absent, help="a workspace of the home")
    add("--project", metavar="PATH", default=absent, help="a project of the home")
    if suppress:
        add(
            "--session",
            metavar="ID",
            dest="workspace",
            default=absent,
            help="a session of the home, where the agent calls its workspaces so",
        )


# Log lines on stderr, where the environment asks for them: `REVERIE_DEBUG=1`, or `REVERIE_LOG_LEVEL=debug`
# (or `info`). A command says nothing else of what it does in between.


@contextmanager
def debug_log(env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Reverie's own log on stderr within the block, if wanted. Other libraries stay silent: they may log
    what they send."""
    env = os.environ if env is None else env
    if not any(name in env for name in ("REVERIE_DEBUG", "REVERIE_LOG_LEVEL")):
        yield  # without the time that it takes to import logging
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
    """Run one invocation; returns the exit code."""
    arguments = parse(argv)
    if arguments.version:
        print_text(__version__)
        return DONE
    if arguments.host and (arguments.command or arguments.screenshot):
        build_parser().error("--host goes with the window only: run the command on that machine")
    session = Invocation(arguments)
    try:
        with debug_log(), _patience(session):
            code = _command(arguments.command)(session)
            # A save that succeeded and is gone again must not end as a success.
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
    """Somebody who looks whether the homes answer; for commands, as the window does that itself."""
    # An agent's runner waits for `failures`, which has not even that time to lose. An engine has no homes of
    # its own to wait for.
    if session.arguments.command in (None, "failures", "engine"):
        return nullcontext()

    named = tuple(session.arguments.home or ())
    if named:
        return patience(lambda: named)
    return patience(lambda: tuple(place for place in usual_homes() if place not in session.left_out))


def _window(session: Invocation) -> int:
    from reverie.ui.display import display_problem

    arguments = session.arguments
    pictured = arguments.offscreen or arguments.screenshot is not None
    # Nothing is started for a window that cannot be shown.
    problem = "" if pictured else display_problem(os.environ, sys.platform)
    if problem:
        sys.stderr.write(problem + "\n")
        return FAILED
    starting = None
    alone = arguments.screenshot is not None or arguments.demo or session.clock is not system_clock
    if not alone and hasattr(os, "fork"):
        # Before Qt is loaded, so that the engine answers when the window is there.
        from reverie.engine.start import StartingEngine, engine_command

        with suppress(UserError):  # who needs the engine says so
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


# Each is imported when it is asked for: a command loads nothing that another one needs.
_COMMANDS: Mapping[str, tuple[str, str]] = {
    "homes": ("homes", "show_homes"),
    "tree": ("memory", "show_tree"),
    "memory": ("memory", "memory"),
    "status": ("memory", "show_status"),
    "consolidate": ("runs", "consolidate"),
    "sweep": ("runs", "sweep"),
    "harvest": ("runs", "harvest"),
    "write": ("runs", "write"),
    "notes": ("runs", "notes"),
    "extract": ("runs", "extract"),
    "runs": ("runs", "show_runs"),
    "diff": ("runs", "show_diff"),
    "revert": ("runs", "revert"),
    "watch": ("runs", "watch"),
    "engine": ("main", "engine"),
    "doctor": ("reports", "doctor"),
    "context": ("reports", "context"),
    "check": ("reports", "check"),
    "findings": ("reports", "findings"),
    "traces": ("runs", "traces"),
    "search": ("memory", "search"),
    "failures": ("failures", "failures"),
}
"""The command, the module of this room that has it, and the function's name there."""


def _command(name: str | None) -> Callable[[Invocation], int]:
    if name is None:
        return _window
    module, function = _COMMANDS[name]
    found: Callable[[Invocation], int] = getattr(import_module(f"reverie.cli.{module}"), function)
    return found


def engine(session: Invocation) -> int:
    """The engine of the profile in the foreground, until nobody needs it or Ctrl+C; a `UserError` says which
    other process is it already. With `--stdio` it serves one client over standard input and output, whoever
    else is there."""
    from reverie.engine.process import serve, serve_streams  # late: no other command becomes one

    if session.arguments.stdio:
        serve_streams(session.profile)
    else:
        serve(session.profile)
    return DONE


# A share that is gone blocks its reader in the kernel, where Python's handling of Ctrl+C is not reached. So
# a second thread checks the homes now and then; when they do not answer it says so once, and takes Ctrl+C
# instead. What a run had under way is recovered by the next command. Where a system cannot wait for
# signals, Ctrl+C stays as it is.


FIRST_S = 4.0
LATER_S = 30.0
ANSWER_S = 2.0
_POLL_S = 0.25


@contextlib.contextmanager
def patience(
    homes: Callable[[], tuple[Path, ...]],
    *,
    first_s: float = FIRST_S,
    leave: Callable[[int], None] = os._exit,
) -> Iterator[None]:
    """Look after the command in the block, which works on `homes`; they are asked for once it takes long."""
    over = threading.Event()
    looking = threading.Thread(target=_look_after, args=(homes, over, first_s, leave), daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join(2 * _POLL_S)


def usual_homes() -> tuple[Path, ...]:
    """Where the homes may be that a command means which names none; nothing is looked at."""
    from reverie.agents.discovery import usual_places

    user = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
    return usual_places(os.environ, Path(user))


def _look_after(
    homes: Callable[[], tuple[Path, ...]], over: threading.Event, pause_s: float, leave: Callable[[int], None]
) -> None:
    # Blocked here, a Ctrl+C is left for the main thread unless it is asked for.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    while not over.wait(pause_s):
        pause_s = LATER_S
        look = DiskCheck(homes())
        look.answered.wait(ANSWER_S)
        silent = look.at
        if silent is None or over.is_set():
            continue
        answers.trouble(
            f"{silent} does not answer. It lies on a disk or a network share that may be gone. "
            "Reverie waits for it; Ctrl+C ends that."
        )
        _until_it_answers(look, over, leave)


def _until_it_answers(look: DiskCheck, over: threading.Event, leave: Callable[[int], None]) -> None:
    while not over.is_set() and not look.answered.wait(0.0):
        if not hasattr(signal, "sigtimedwait"):
            over.wait(_POLL_S)
        elif signal.sigtimedwait({signal.SIGINT}, _POLL_S) is not None:
            if look.answered.is_set():
                _thread.interrupt_main()
                return
            answers.trouble("Interrupted. The next command recovers unfinished work.")
            sys.stderr.flush()
            leave(answers.FAILED)
