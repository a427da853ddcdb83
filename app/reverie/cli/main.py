"""The commands: parse, open, do, answer. Exit 0 done; 1 failed, skipped, held or in conflict; 2 wrong usage.

Each command is one function from (arguments, session) to an exit code. What a person can mend ends as one
line on stderr (and `reason` in the JSON); a bug ends as a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from reverie import __version__
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_text
from reverie.cli.arguments import build_parser
from reverie.cli.debug_log import debug_log
from reverie.cli.session import Session
from reverie.errors import MendableError


def main(argv: Sequence[str]) -> int:
    """Run one invocation; returns the exit code."""
    arguments = build_parser(*argv[:1]).parse_args(argv)
    if arguments.version:
        print_text(__version__)
        return DONE
    session = Session(arguments)
    try:
        with debug_log(), _patience(session):
            code = _command(arguments.command)(session)
            # A save that succeeded and is gone again must not end as a success.
            lost = session.overwritten()
            for sentence in lost:
                answers.trouble(sentence)
            answers.flush()
            return FAILED if lost and code == DONE else code
    except MendableError as error:
        return _failed(error, session)
    except answers.AnswerLostError as error:
        answers.give_up_stdout()
        answers.trouble(str(error))
        return FAILED
    except BrokenPipeError:
        answers.give_up_stdout()
        return DONE
    except KeyboardInterrupt:
        answers.trouble("Stopped by Ctrl+C. What was under way is put in order by the next command.")
        return FAILED


def _failed(error: MendableError, session: Session) -> int:
    try:
        code = answers.failed(error, as_json=session.as_json)
        answers.flush()
    except (answers.AnswerLostError, BrokenPipeError):
        answers.give_up_stdout()
        if session.as_json:
            answers.trouble(str(error))
        return FAILED
    return code


def _patience(session: Session) -> AbstractContextManager[None]:
    """Somebody who looks whether the homes answer; for commands, as the window does that itself."""
    # An agent's runner waits for `failures`, which has not even that time to lose.
    if session.arguments.command in (None, "failures"):
        return nullcontext()
    from reverie.cli.patience import patience, usual_homes

    named = tuple(session.arguments.home or ())
    if named:
        return patience(lambda: named)
    return patience(lambda: tuple(place for place in usual_homes() if place not in session.left_out))


def _window(session: Session) -> int:
    from reverie.ui.app import run_window

    arguments = session.arguments
    return run_window(
        homes=tuple(arguments.home or ()),
        profile=session.profile,
        clock=session.clock,
        workspace_id=arguments.workspace,
        project_path=arguments.project,
        demo=arguments.demo,
        offscreen=arguments.offscreen,
        screenshot=arguments.screenshot,
    )


# Each is imported when it is asked for: a command loads nothing that another one needs.
_COMMANDS: Mapping[str, tuple[str, str]] = {
    "homes": ("homes", "show_homes"),
    "tree": ("showing", "show_tree"),
    "memory": ("memory_lines", "memory"),
    "status": ("showing", "show_status"),
    "consolidate": ("runs", "consolidate"),
    "sweep": ("background", "sweep"),
    "harvest": ("background", "harvest"),
    "write": ("writing", "write"),
    "notes": ("noting", "notes"),
    "extract": ("extracting", "extract"),
    "runs": ("runs", "show_runs"),
    "diff": ("runs", "show_diff"),
    "revert": ("runs", "revert"),
    "watch": ("watch", "watch"),
    "doctor": ("doctor_text", "doctor"),
    "context": ("context_lines", "context"),
    "traces": ("trace_lines", "traces"),
    "search": ("search", "search"),
    "failures": ("failures", "failures"),
}
"""The command, the module of this room that has it, and the function's name there."""


def _command(name: str | None) -> Callable[[Session], int]:
    if name is None:
        return _window
    module, function = _COMMANDS[name]
    found: Callable[[Session], int] = getattr(import_module(f"reverie.cli.{module}"), function)
    return found
