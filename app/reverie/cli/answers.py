"""The output of commands: text for people or JSON for programs on stdout, one line per problem on stderr.

Characters that stdout cannot encode are escaped. A closed stdout is not an error, because nobody reads the
output any more. If stdout accepts no data, as on a full disk, `AnswerLostError` is raised; by then the
command has done its work.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from reverie.errors import Ambiguous, UserError, user_error_from_os
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.runs.record import RunResult

DONE, FAILED, WRONG_USAGE = 0, 1, 2


class AnswerLostError(Exception):
    """Raised when the output of a command could not be written."""


def print_json(value: Any) -> None:
    """Print one JSON document; characters that are not valid Unicode, as in some file names, are escaped."""
    print_text(json.dumps(value, ensure_ascii=not _spells_all(), indent=2))


def print_json_line(value: Any) -> None:
    """Print one JSON document on one line and flush it, so that the other end of a pipe can continue."""
    print_text(json.dumps(value, ensure_ascii=not _spells_all()))
    flush()


def print_text(text: str, end: str = "\n") -> None:
    """Print `text` and then `end` on stdout; invalid Unicode and what stdout cannot encode is escaped."""
    if sys.stdout is None:  # closed before the program began
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    known = text.encode("utf-8", "backslashreplace").decode("utf-8")
    with _losing():
        sys.stdout.write(known.encode(encoding, "backslashreplace").decode(encoding) + end)


def diff_text(diffs: Iterable[str]) -> str:
    """Return diffs as one text for stdout.

    A file or pipe gets them unchanged; a terminal must not obey control sequences in a memory.
    """
    text = "".join(diffs).rstrip("\n")
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return printable(text.expandtabs()) if is_terminal else text


_ON_ONE_LINE = 3
"""The largest number of choices that are listed in one sentence; more get a line each."""


def print_answer(as_json: bool, document: Any, lines: Iterable[str]) -> None:
    """Print the answer of a command: `document` as JSON or, for people, the lines that show the same data."""
    if as_json:
        print_json(document)
    else:
        for line in lines:
            print_text(line)


def table_lines(rows: Iterable[tuple[str, ...]], empty: str = "") -> Iterator[str]:
    """Yield a line for each row of cells, with aligned columns; without rows, the sentence `empty` if any."""
    found = list(rows)
    if empty and not found:
        yield empty
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    for row in found:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def print_problems(problems: Iterable[object]) -> int:
    """Print each problem as one line on stderr; return the exit code, 1 if there are any."""
    code = DONE
    for problem in problems:
        trouble(str(problem))
        code = FAILED
    return code


def local_time(at_ms: int) -> str:
    """Return a time in UTC ms as `2026-08-17 09:13` in the time zone of this machine.

    Returns "" for a time that the calendar cannot represent.
    """
    from datetime import datetime

    try:
        return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def failed(error: UserError, *, as_json: bool) -> int:
    """Print the error on stderr, and as JSON on stdout if `as_json`; return the exit code.

    The exit code is 2 if the call was ambiguous, else 1.
    """
    if as_json:
        print_json(columns(error, "error=title reason cause next_step"))
    if not isinstance(error, Ambiguous):
        trouble(str(error))
        return FAILED
    if as_json or len(error.choices) <= _ON_ONE_LINE:
        trouble(str(error))
        return WRONG_USAGE
    trouble(f"{error.title} Choices:")
    for choice in error.choices:
        _complain(f"  {' '.join(printable(choice).split())}\n")
    trouble(error.next_step)
    return WRONG_USAGE


def trouble(line: str) -> None:
    """Print a problem as one line on stderr; control characters are escaped."""
    _complain(" ".join(printable(line).split()) + "\n")


def with_next_step(summary: str, next_step: str) -> str:
    """Return `summary` followed by `next_step`, or only `summary` if the next step is part of it already."""
    return summary if next_step in summary else f"{summary} {next_step}"


class EndedRun(Protocol):
    """The attributes that `ended` reads of the result of a run or an extraction."""

    @property
    def succeeded(self) -> bool: ...
    @property
    def summary(self) -> str: ...
    @property
    def next_step(self) -> str: ...


def ended(*runs: EndedRun) -> int:
    """Print the summary and next step of each failed run on stderr; return the exit code of the command.

    It is 1 if any of the runs did not succeed, else 0.
    """
    failed = [run for run in runs if not run.succeeded]
    for run in failed:
        trouble(with_next_step(run.summary, run.next_step))
    return FAILED if failed else DONE


def run_words(result: RunResult, more: str = "") -> str:
    """Return the text that reports a run: its summary and, on a second line, its id and outcome.

    `more`: text to add after the outcome.
    """
    return f"{printable(result.summary)}\nRun {result.run_id}: {result.outcome}{more}."


def printable(text: str) -> str:
    """Return untrusted text for a terminal, with control characters and unpaired surrogates escaped."""
    return "".join(
        character
        if character == "\n" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def ops_rows(ops: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the table rows that list the operations of a run, with a header row first.

    `ops`: the operations as in the run's record. The result is empty if there are none.
    """
    rows: list[tuple[str, ...]] = [("APPLIED", "COMMAND", "PATH", "NOTE")]
    for op in ops:
        path = op["path"] + (f" -> {op['newPath']}" if op.get("newPath") else "")
        rows.append(
            ("yes" if op["applied"] else "no", op["command"], printable(path), printable(op.get("note", "")))
        )
    return rows if len(rows) > 1 else []


def spent_words(engine: str, usage: Mapping[str, int] | None, cost_usd: float | None) -> str:
    """Return a sentence with the engine, the tokens and the cost of a run.

    `usage`: the numbers of `inputTokens` and `outputTokens`; None: the engine did not report them.
    `cost_usd`: in US dollars; None if the cost is unknown.
    """
    if engine == "rules":
        return "No model was used: 0 tokens, no cost."
    if usage is None:
        return f"{engine} did not report how many tokens it used."
    cost = "cost unknown" if cost_usd is None else f"about ${cost_usd:.4f}"
    return f"{engine}: {usage['inputTokens']:,} tokens in, {usage['outputTokens']:,} out, {cost}."


def flush() -> None:
    """Flush stdout. Raises `AnswerLostError`."""
    if sys.stdout is not None:
        with _losing():
            sys.stdout.flush()


def give_up_stdout() -> None:
    """Redirect stdout to the null device, after writing to it has failed.

    Otherwise Python would try again to write the rest of the output when it exits.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _spells_all() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig")


@contextlib.contextmanager
def _losing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        lost = user_error_from_os(error, "The output could not be written.")
        raise AnswerLostError(f"{lost.title} {lost.cause} The command has done its work.") from error


def _complain(text: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # there is no other place to report it
            sys.stderr.write(text)
