"""`extract`: both stages over the new rollouts of a Codex home, by hand."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_table, print_text, printable
from reverie.cli.background import interruptible

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.extracting import Candidate, ExtractProgress


def extract(session: Session) -> int:
    """Extract what is new, then consolidate; with `--dry-run` only which threads it would take. Exit 1 where
    anything failed."""
    from reverie.services.extracting import ExtractDesk

    arguments = session.arguments
    desk = ExtractDesk(session.home())
    if arguments.dry_run:
        _tell_candidates(desk.candidates(arguments.project), as_json=session.as_json, to_notes=desk.to_notes)
        return DONE
    with interruptible() as cancel:
        result = desk.run(
            engine=arguments.engine,
            project_path=arguments.project,
            progress=_progress,
            cancel=cancel,
            by_hand=True,
        )
    if session.as_json:
        print_json(result.as_json())
    else:
        print_table(
            (end.outcome, end.kind, end.id, printable(end.summary))
            for end in (*result.rollouts, *result.directories)
        )
        if result.succeeded:
            print_text(printable(result.summary))
    if result.succeeded:
        return DONE
    answers.trouble(answers.with_next_step(result.summary, result.next_step))
    return FAILED


def _tell_candidates(found: tuple[Candidate, ...], *, as_json: bool, to_notes: bool) -> None:
    if as_json:
        kind = {"writes": "notes"} if to_notes else {}
        print_json({"candidates": [_candidate_json(each) for each in found], **kind})
        return
    if to_notes:
        print_text("Each result becomes a note for Codex, which folds it into its memory itself.")
    print_table(
        (
            "+" if each.chosen else "-",
            each.thread_id,
            printable(each.project_path),
            printable(" ".join(each.title.split())[:60]),
            each.sentence,
        )
        for each in found
    )
    if not any(each.chosen for each in found):
        print_text("Nothing to extract.")


def _candidate_json(candidate: Candidate) -> dict[str, object]:
    names = {"thread_id": "threadId", "project_path": "projectPath", "updated_at": "updatedAt"}
    return {names.get(name, name): value for name, value in asdict(candidate).items()}


def _progress(told: ExtractProgress) -> None:
    """One line a part on a terminal; a script hears nothing."""
    if told.ended and sys.stderr.isatty():
        answers.trouble(f"{told.done}/{told.total} {told.title or told.id}: {told.stage}")
