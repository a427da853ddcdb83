"""`consolidate`, `runs`, `diff`, `revert`: a run by hand, what ran, what it changed, and taking it back."""

from __future__ import annotations

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_table, print_text, printable
from reverie.cli.background import interruptible
from reverie.cli.session import Session


def consolidate(session: Session) -> int:
    """One dream by hand; exit 1 where it did not come to pass."""
    from reverie.cli.context import require_workspace
    from reverie.dream.service import DreamRequest
    from reverie.services.models import Models
    from reverie.services.usage_keeping import keep_usage

    arguments = session.arguments
    parts = session.home()
    context = session.context(parts)
    if not arguments.dry_run:
        if context.workspace_id is not None and parts.home.coverage_sidecar is not None:
            # The record would name a workspace that the agent does not know.
            require_workspace(parts, context.workspace_id, stores=False)
        keep_usage(parts)
    models = Models(parts)
    choice = models.choose(context, arguments.engine)
    engine = models.engine(choice.engine, context, arguments.trigger)
    with interruptible() as cancel:
        result = parts.dreams.run(
            DreamRequest(context, arguments.trigger, engine.name, arguments.dry_run), engine, cancel=cancel
        )
    if session.as_json:
        told = {
            "runId": result.run_id,
            "outcome": result.outcome,
            "reason": result.reason,
            "dryRun": arguments.dry_run,
            "engine": engine.name,
            "costUsd": result.cost_usd,
        }
        body = dict(result.record) or {"summary": result.summary, "ops": [dict(op) for op in result.ops]}
        print_json({**body, **told})
    elif result.succeeded:
        print_table(answers.ops_rows(result.ops))
        print_text(
            f"{printable(result.summary)}\nRun {result.run_id}: {result.outcome}. "
            f"{answers.spent_words(engine.name, result.usage, result.cost_usd)}"
        )
    parts.coverage.look_again()
    if result.succeeded:
        return DONE
    answers.trouble(answers.with_next_step(result.summary, result.next_step))
    return FAILED


def show_runs(session: Session) -> int:
    """The runs of a home, newest first."""
    parts = session.home()
    records = parts.runs.all(limit=session.arguments.limit)
    if session.as_json:
        print_json([record.as_json() for record in records])
    elif not records:
        print_text("There are no runs yet.")
    else:
        print_table(
            (
                record.id,
                record.kind,
                record.outcome
                + (", reverted" if record.reverted else ", reverted in part" if record.taken_back else "")
                + (", dry run" if record.dry_run else ""),
                record.engine,
                printable(record.summary),
            )
            for record in records
        )
    for problem in parts.runs.problems:
        answers.trouble(problem)
    return DONE


def show_diff(session: Session) -> int:
    """What a run changed, or would have changed."""
    from reverie.memory.diff import unified
    from reverie.runs.parts import numbers_taken, taken_as_json
    from reverie.services.reviews import ReviewDesk

    parts, run_id = session.home(), session.arguments.run
    changes = ReviewDesk(parts).changes(run_id)
    taken = parts.runs.load(run_id).taken_back
    diffs = [
        (
            change,
            unified(
                change.before,
                change.after,
                change.path.lstrip("/"),
                taken_back=numbers_taken(change.before, change.after, taken.get(change.path, frozenset())),
            ),
        )
        for change in changes
    ]
    if session.as_json:
        print_json(
            [
                {
                    "path": change.path,
                    "note": change.note,
                    "diff": text,
                    "takenBack": taken_as_json(taken.get(change.path, frozenset())),
                }
                for change, text in diffs
            ]
        )
    elif diffs:
        text = "".join(text for _change, text in diffs).rstrip("\n")
        # Into a file or a pipe a diff goes as it is; a terminal must not obey what a memory says.
        print_text(printable(text.expandtabs()) if answers.is_terminal() else text)
    return DONE


def revert(session: Session) -> int:
    """Take a run back, or a part of it; exit 1 where somebody changed something since."""
    from reverie.errors import Ambiguous
    from reverie.services.reviews import ReviewDesk
    from reverie.services.usage_keeping import keep_usage

    parts, arguments = session.home(), session.arguments
    paths, hunks = arguments.path or [], arguments.hunk or []
    if hunks and len(set(paths)) != 1:
        raise Ambiguous(
            "It is not clear whose hunks are meant.",
            choices=tuple(paths),
            next_step="Give --hunk together with exactly one --path.",
        )
    keep_usage(parts)
    part, too = ReviewDesk(parts).named_parts(arguments.run, paths, hunks) if paths else (None, ())
    result = parts.reverter.revert(arguments.run, part)
    summary = result.summary
    if too:
        summary += f" Came back as well, since its lines would stand nowhere else: {', '.join(too)}."
    if session.as_json:
        print_json(
            {
                "runId": result.run_id,
                "reverted": result.reverted,
                "summary": summary,
                "restored": list(result.restored),
                "conflicts": list(result.conflicts),
                "reason": "conflict" if result.conflicts else "",
            }
        )
    elif not result.conflicts:
        print_text(printable(summary))
    if result.conflicts:
        answers.trouble(result.summary)
        return FAILED
    return DONE
