"""`write`: one run of the memory writer, by hand. Neither its switch counts, nor who else does the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_text, printable
from reverie.cli.background import interruptible

if TYPE_CHECKING:
    from reverie.cli.session import Session


def write(session: Session) -> int:
    """Update the project's memory from what was said last; exit 1 where nothing ran, or it failed."""
    from reverie.errors import Ambiguous, Unavailable
    from reverie.services.usage_keeping import keep_usage
    from reverie.services.writing import open_writer

    parts = session.home()
    keep_usage(parts)
    workspace_id = session.context(parts).workspace_id
    if workspace_id is None:
        choices = tuple(workspace.id for workspace in parts.home.contents().workspaces())
        if choices:
            raise Ambiguous("Which workspace?", choices=choices, next_step="Name it with --workspace ID.")
        raise Unavailable("This home has no workspace.", next_step="Choose another home.")
    with interruptible() as cancel:
        writer = open_writer(parts, cancel, by_hand=True)
        outcome = writer.run_now(workspace_id, session.arguments.force)
    if session.as_json:
        print_json(outcome.as_json())
    elif outcome.ran:
        print_text(f"{printable(outcome.text)}\nRun {outcome.run_id}: {outcome.outcome}, {outcome.model}.")
    if outcome.succeeded:
        return DONE
    answers.trouble(" ".join(part for part in (outcome.text, outcome.next_step) if part))
    return FAILED
