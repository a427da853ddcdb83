"""`sweep` and `harvest`: what the background services do, once and by hand.

By hand neither the switch nor the day's budget counts; the rules of the sweep and of a harvest do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_table, print_text, printable

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.dream.run import RunResult
    from reverie.dream.sweep import SweepResult


def sweep(session: Session) -> int:
    """The launch sweep; with `--dry-run` only which workspaces it would take, in which order."""
    from reverie.services.background import Background
    from reverie.services.usage_keeping import keep_usage

    parts = session.home()
    if session.arguments.dry_run:
        plan = parts.sweeps.plan()
        if session.as_json:
            print_json(plan.as_json())
        else:
            _print_sweep(plan.order, plan.as_json()["skipped"])
        return DONE
    keep_usage(parts)
    background, wish = Background(parts, by_hand=True), session.arguments.engine
    with interruptible() as cancel:
        result = parts.sweeps.run(
            lambda context: background.engine_for(context, "launch", wish), cancel=cancel
        )
    if session.as_json:
        print_json(result.as_json())
    else:
        _print_sweep((), result.as_json()["skipped"])
        for run in result.runs:
            print_text(f"{run.workspace_id}: {run.result.outcome}. {printable(run.result.summary)}")
    parts.coverage.look_again()
    return _swept(result)


def harvest(session: Session) -> int:
    """Harvest the newest compaction of a workspace, then dream; exit 1 unless both succeeded."""
    from reverie.dream.harvest import HarvestRequest, follow_up
    from reverie.services.background import Background
    from reverie.services.usage_keeping import keep_usage

    parts, wish = session.home(), session.arguments.engine
    keep_usage(parts)
    context = session.context(parts)
    background = Background(parts, by_hand=True)
    extractor = background.extractor_for(context, wish)
    dream: RunResult | None = None
    with interruptible() as cancel:
        result = parts.harvests.run(HarvestRequest(context), extractor, cancel=cancel)
        if result.dream_follows:
            request = follow_up(parts.home, context, extractor.name)
            engine = background.engine_for(context, request.trigger, wish)
            dream = parts.dreams.run(request, engine, cancel=cancel)
    if session.as_json:
        print_json({**result.as_json(), "dream": None if dream is None else _dream_json(dream)})
    elif dream is not None:
        print_table(answers.ops_rows((*result.ops, *dream.ops)))
        print_text(f"{printable(result.summary)}\nRun {result.run_id}: {result.outcome}.")
        print_text(f"{printable(dream.summary)}\nRun {dream.run_id}: {dream.outcome}.")
    parts.coverage.look_again()
    troubled = [each for each in (result, dream) if each is not None and not each.succeeded]
    for each in troubled:
        answers.trouble(answers.with_next_step(each.summary, each.next_step))
    return FAILED if troubled else DONE


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl+C sets, so that a run ends as cancelled and not in the middle."""
    cancel = threading.Event()
    # A handler may put whatever this thread is doing; setting the event itself would wait for the event's own
    # lock, which this very thread may hold.
    wishes: SimpleQueue[bool] = SimpleQueue()

    def relay() -> None:
        while wishes.get():
            cancel.set()

    relaying = threading.Thread(target=relay, name="interrupt")
    relaying.start()
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: wishes.put(True))
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, previous)
        wishes.put(False)
        relaying.join()


def _swept(result: SweepResult) -> int:
    if result.succeeded:
        return DONE
    failed = [run for run in result.runs if not run.result.succeeded]
    answers.trouble(
        f"{len(failed)} of {len(result.runs)} consolidations did not succeed. "
        + answers.with_next_step(failed[0].result.summary, failed[0].result.next_step)
    )
    return FAILED


def _print_sweep(order: tuple[str, ...], skipped: list[dict[str, Any]]) -> None:
    from reverie.dream.sweep import SKIP_WORDS

    rows = [(str(place), workspace_id, "") for place, workspace_id in enumerate(order, start=1)]
    rows += [("-", item["workspaceId"], SKIP_WORDS[item["reason"]]) for item in skipped]
    print_table([(mark, printable(workspace_id), words) for mark, workspace_id, words in rows])
    if not order and not skipped:
        print_text("No workspace is known to have been used.")


def _dream_json(result: RunResult) -> dict[str, Any]:
    body = dict(result.record) or {"summary": result.summary, "ops": [dict(op) for op in result.ops]}
    told = {"runId": result.run_id, "outcome": result.outcome, "reason": result.reason}
    return {**body, **told, "costUsd": result.cost_usd}
