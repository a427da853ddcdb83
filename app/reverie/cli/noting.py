"""`notes`: one update of session notes, by hand. Neither the switch nor the thresholds count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_text, printable
from reverie.cli.background import interruptible

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.parts import HomeParts

UNREAD = "Claude Code of today does not read session notes, and deletes them with their transcript."


def notes(session: Session) -> int:
    """Bring the notes of a session up to date; exit 1 where that failed. `--force`: also where nothing was
    said since the last update."""
    from reverie.services.noting import open_notes

    parts = session.home()
    session_id = session.arguments.workspace or _only_session(parts)
    with interruptible() as cancel:
        service = open_notes(parts, cancel, by_hand=True)
        outcome = service.update_now(session_id, force=session.arguments.force)
    if session.as_json:
        print_json(outcome.as_json())
    elif outcome.succeeded:
        print_text(printable(outcome.text))
        if outcome.path is not None:
            print_text(printable(str(outcome.path)))
        if outcome.ran:
            print_text(f"Run {outcome.run_id}: {outcome.outcome}, {outcome.model}.")
        print_text(UNREAD)
    if outcome.succeeded:
        return DONE
    answers.trouble(answers.with_next_step(outcome.text, outcome.next_step))
    return FAILED


def _only_session(parts: HomeParts) -> str:
    """The session, where there is one only. Raises `Ambiguous`, `Unavailable`."""
    from reverie.errors import Ambiguous, Unavailable

    found = [source.id for source in parts.home.sources() if source.kind == "session"]
    # Of an agent that keeps no notes no session has a place for them.
    if not found or parts.home.notes_place(found[0]) is None:
        raise Unavailable(
            "This home has no session to keep notes of.",
            cause="Claude Code's have.",
            next_step="Name another home with --home DIR.",
        )
    if len(found) > 1:
        from reverie.cli.context import choices

        raise Ambiguous("Which session?", choices=choices(parts), next_step="Name it with --session ID.")
    return found[0]
