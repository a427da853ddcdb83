"""`reverie traces [ID]`: why runs wrote nothing, newest first; one trace in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.cli.answers import DONE, FAILED, print_json, print_table, print_text, printable, trouble
from reverie.errors import MendableError, Unavailable
from reverie.text.counts import some

if TYPE_CHECKING:
    from reverie.cli.context import AskedHomes
    from reverie.cli.session import Session
    from reverie.services.traces import TraceDetail, TraceRow

_QUOTED_CHARS = 2_000


def traces(session: Session) -> int:
    """The list over all homes that are given or found, or one trace."""
    wanted = session.arguments.trace
    return _list(session) if wanted is None else _one(session, wanted)


def _list(session: Session) -> int:
    rows: list[TraceRow] = []
    roots, places = _roots(session)
    errors: list[MendableError] = [*places]
    for root in roots:
        try:
            rows += _rows(session, root)
        except MendableError as error:
            errors.append(error)
    if errors and len(errors) == len(roots) + len(places):
        raise errors[0]
    for problem in errors:
        trouble(str(problem))
    rows.sort(key=lambda row: row.started_at, reverse=True)
    wanted = session.arguments.workspace
    if wanted is not None:
        rows = [row for row in rows if row.workspace_id == wanted]
    if session.as_json:
        print_json([row.as_json() for row in rows])
    else:
        print_table([_line(row) for row in rows])
        if not rows:
            print_text(
                "There are no traces. Reverie keeps one of each run by a model, and mux writes one when its"
                " memory writer fails in debug mode. The other agents write none."
            )
    return FAILED if errors else DONE


def _one(session: Session, wanted: str) -> int:
    from reverie.cli.context import NAME_ONE, NO_HOME
    from reverie.services.traces import TraceDesk

    roots, places = _roots(session)
    missing: MendableError | None = None
    for place in places:
        trouble(str(place))
    for root in roots:
        desk = TraceDesk(_parts(session, root))
        try:
            detail = desk.open(wanted)
        except MendableError as error:
            if error.reason != "missing" or len(roots) == 1:
                raise
            missing = error
            continue
        if session.as_json:
            print_json({**detail.row.as_json(), "trace": detail.dump.document})
        else:
            print_text("\n".join(_detail_lines(detail)))
        return DONE
    if missing is not None:
        raise missing
    raise Unavailable(NO_HOME, next_step=NAME_ONE)


def _roots(session: Session) -> AskedHomes:
    from reverie.cli.context import every_home

    return every_home(session)


def _parts(session: Session, root: Path) -> Any:
    from reverie.compose import open_parts

    return open_parts(root, session.profile, session.clock)


def _rows(session: Session, root: Path) -> list[TraceRow]:
    from reverie.services.traces import TraceDesk

    return list(TraceDesk(_parts(session, root)).rows())


def _line(row: TraceRow) -> tuple[str, ...]:
    return (
        row.id,
        printable(row.workspace_name or row.workspace_id or "-"),
        printable(row.kind or "-"),
        row.verdict,
        printable(row.model or "-"),
        printable(" ".join(row.evidence.split()))[:100],
    )


def _detail_lines(detail: TraceDetail) -> list[str]:
    row, facts = detail.row, detail.facts
    duration = "unknown" if row.duration_ms is None else f"{row.duration_ms / 1000:g} s"
    lines = [
        f"{row.verdict}: {row.sentence}",
        f"Evidence: {row.evidence}",
        f"File: {row.path}",
        f"Workspace: {row.workspace_name or '-'} ({row.workspace_id or '-'})",
        f"Triggered by: {facts.trigger_message_id or '-'}",
        f"Model: {row.model or '-'}, {row.tokens:,} tokens, duration {duration}",
    ]
    for attempt in facts.attempts:
        ended = attempt.error or attempt.finish or "-"
        lines.append(f"Attempt {attempt.index}: {some(len(attempt.steps), 'answer')}, ended: {ended}")
        for step in attempt.steps:
            lines.append(f"  Step {step.index}: {step.finish or '-'}, {step.input_tokens:,} tokens in")
            if step.text.strip():
                lines.append(f"    {' '.join(step.text.split())[:_QUOTED_CHARS]}")
            for call in step.calls:
                said = call.problem or ("done" if call.ran else "was not run")
                lines.append(f"    {call.name}: {' '.join(said.split())[:_QUOTED_CHARS]}")
    return [printable(line) for line in lines]
