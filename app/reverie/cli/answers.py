"""How commands answer: text for people or JSON for programs on stdout, one line of trouble on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from reverie.errors import Ambiguous, MendableError

DONE, FAILED, WRONG_USAGE = 0, 1, 2


def print_json(value: Any) -> None:
    """One JSON document; names that are no valid text are escaped, never a crash."""
    _write(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: Any) -> None:
    """One JSON document on one line, flushed, so that the other end of a pipe can go on."""
    _write(json.dumps(value, ensure_ascii=False))
    sys.stdout.flush()


def print_text(text: str) -> None:
    """A line for people on stdout; what is no Unicode text stands there escaped."""
    _write(text)


def print_table(rows: Iterable[tuple[str, ...]]) -> None:
    """Columns side by side, as wide as they need."""
    table = list(rows)
    if not table:
        return
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        _write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def failed(error: MendableError, *, as_json: bool) -> int:
    """Say what a person can mend; the exit code that belongs to it."""
    if as_json:
        print_json(
            {"error": error.title, "reason": error.reason, "cause": error.cause, "nextStep": error.next_step}
        )
    trouble(str(error))
    return WRONG_USAGE if isinstance(error, Ambiguous) else FAILED


def trouble(line: str) -> None:
    """One line on stderr."""
    sys.stderr.write(" ".join(printable(line).split()) + "\n")


def with_next_step(summary: str, next_step: str) -> str:
    """Both; the sentence may hold the next step already."""
    return summary if next_step in summary else f"{summary} {next_step}"


def printable(text: str) -> str:
    """Untrusted text for a terminal: control characters and unpaired surrogates are shown escaped."""
    return "".join(
        character
        if character == "\n" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def ops_rows(ops: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The operation table of a run."""
    rows: list[tuple[str, ...]] = [("APPLIED", "COMMAND", "PATH", "NOTE")]
    for op in ops:
        path = op["path"] + (f" -> {op['newPath']}" if op.get("newPath") else "")
        rows.append(
            ("yes" if op["applied"] else "no", op["command"], printable(path), printable(op.get("note", "")))
        )
    return rows if len(rows) > 1 else []


def spent_words(engine: str, usage: Mapping[str, int] | None, cost_usd: float | None) -> str:
    """What a run used, as a sentence."""
    if engine == "rules":
        return "No model was used: 0 tokens, no cost."
    if usage is None:
        return f"{engine} did not say how many tokens it used."
    cost = "cost not known" if cost_usd is None else f"about ${cost_usd:.4f}"
    return f"{engine}: {usage['inputTokens']:,} tokens in, {usage['outputTokens']:,} out, {cost}."


def _write(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
