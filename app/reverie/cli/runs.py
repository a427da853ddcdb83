"""The commands that run jobs or show runs.

They are `consolidate`, `sweep`, `harvest`, `write`, `notes`, `extract`, `runs`, `traces`, `diff`, `revert`
and `watch`. A sweep consolidates idle workspaces; a harvest collects facts from a conversation that the agent
compacted. A run that a person starts ignores the switch for background runs and the daily budget, but keeps
the other rules of sweeps and harvests.

Late imports: each command imports its own job. Engines load pydantic and asyncio (0.2 s), which `runs` and
`diff` do not need.
"""

from __future__ import annotations

import logging
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from reverie.agents.base import loaded_next_from, signed_names
from reverie.cli import answers
from reverie.cli.answers import (
    DONE,
    FAILED,
    print_answer,
    print_json_line,
    print_text,
    printable,
    table_lines,
    trouble,
)
from reverie.cli.homes import (
    NAME_ONE,
    NO_HOME,
    choices,
    every_home,
    from_each,
    require_workspace,
    run_environment,
    the_context,
    the_home,
    the_workbench,
)
from reverie.cli.main import Invocation
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.engine.asking import CallCancelled
from reverie.errors import Ambiguous, Busy, Unavailable, UserError
from reverie.jobs.consolidate.triggers import SKIP_WORDS
from reverie.memory.diff import unified
from reverie.runs.card import card_from_json, sentence
from reverie.runs.parts import numbers_taken, taken_as_json
from reverie.services.views import HostStatus
from reverie.text.summaries import some
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.engine.client import EngineClient
    from reverie.jobs.consolidate.triggers import SkippedWorkspace
    from reverie.jobs.extraction.service import ExtractProgress
    from reverie.jobs.extraction.state import ThreadSelection
    from reverie.jobs.single_file.notes_service import NotesOutcome
    from reverie.runs.record import RunResult
    from reverie.services.change_log import LoggedChange
    from reverie.services.container import HomeContainer
    from reverie.services.traces import TraceDetail

log = logging.getLogger("reverie.engine")

_ID_CHARS = 12
_FILES = 3
_CHANGE = re.compile(r"[0-9a-f]{7,40}")
"""Matches the id of a change set, or its beginning; the id of a run contains a hyphen."""


def sweep(session: Invocation) -> int:
    """Consolidate the idle workspaces of a home that have something new, as the background services do.

    Returns the exit code: 1 if a consolidation did not succeed. With `--dry-run`, only print the workspaces
    that would be consolidated, in their order.
    """
    by_hand = the_workbench(session, the_home(session)).by_hand
    if session.arguments.dry_run:
        plan = by_hand.sweep_plan()
        print_answer(session.as_json, plan.as_json(), _sweep_lines(plan.order, plan.skipped))
        return DONE
    with interruptible() as cancel:
        result, session.lost = by_hand.sweep(session.arguments.engine, cancel=cancel)
    ended = (
        f"{run.workspace_id}: {run.result.outcome}. {printable(run.result.summary)}" for run in result.runs
    )
    print_answer(session.as_json, result.as_json(), (*_sweep_lines((), result.sweep.skipped), *ended))
    if result.succeeded:
        return DONE
    failed = [run.result for run in result.runs if not run.result.succeeded]
    trouble(
        f"{len(failed)} of {len(result.runs)} consolidations did not succeed. "
        + answers.with_next_step(failed[0].summary, failed[0].next_step)
    )
    return FAILED


def _sweep_lines(order: Sequence[str], skipped: Sequence[SkippedWorkspace]) -> Iterator[str]:
    rows = [(str(place), printable(workspace_id), "") for place, workspace_id in enumerate(order, start=1)]
    rows += [("-", printable(each.workspace_id), SKIP_WORDS[each.reason]) for each in skipped]
    return table_lines(rows, "No known workspace has been used yet.")


def harvest(session: Invocation) -> int:
    """Collect facts from a workspace's newest compacted conversation, then consolidate; return the exit code.

    It is 1 unless both succeeded.
    """
    parts = the_home(session)
    context = the_context(session, parts)
    by_hand = the_workbench(session, parts).by_hand
    with interruptible() as cancel:
        result, consolidation, session.lost = by_hand.harvest(
            context, session.arguments.engine, cancel=cancel
        )
    document = {
        **columns(result, "run_id outcome reason summary"),
        "boundaryKey": result.details.get("boundaryKey", ""),
        "inbox": result.details.get("inbox"),
        "ops": [dict(op) for op in result.ops],
        "record": dict(result.record) or None,
        "dream": None if consolidation is None else _consolidation_json(consolidation),
    }
    runs = (result,) if consolidation is None else (result, consolidation)
    lines = [*table_lines(answers.ops_rows(chain(*(run.ops for run in runs)))), *map(answers.run_words, runs)]
    print_answer(session.as_json, document, lines if consolidation is not None else ())
    return answers.ended(*runs)


@contextmanager
def interruptible(*signals: signal.Signals) -> Iterator[threading.Event]:
    """Context manager: yield an event that is set by Ctrl+C and by the given signals.

    A run that gets the event as `cancel` then ends properly, as cancelled.
    """
    cancel = threading.Event()
    # The handler may run at any point of this thread. Setting the event there could deadlock, because this
    # thread may hold the event's own lock; `SimpleQueue.put` is reentrant.
    interrupts: SimpleQueue[bool] = SimpleQueue()

    def relay() -> None:
        while interrupts.get():
            cancel.set()

    relaying = threading.Thread(target=relay, name="interrupt")
    relaying.start()
    previous = {
        number: signal.signal(number, lambda _number, _frame: interrupts.put(True))
        for number in (signal.SIGINT, *signals)
    }
    try:
        yield cancel
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        interrupts.put(False)
        relaying.join()


def _consolidation_json(result: RunResult) -> dict[str, Any]:
    body = dict(result.record) or {"summary": result.summary, "ops": [dict(op) for op in result.ops]}
    ended = columns(result, "run_id outcome reason")
    loaded = result.details.get("loadedNext")
    more = {} if loaded is None else {"loadedNext": loaded}
    return {**body, **ended, "costUsd": result.cost_usd, "card": result.details.get("card"), **more}


def consolidate(session: Invocation) -> int:
    """Run one consolidation, which tidies the memories of a context; return the exit code.

    It is 1 if the consolidation did not succeed. With `--dry-run`, nothing is changed.
    """
    arguments = session.arguments
    parts = the_home(session)
    context = the_context(session, parts)
    if not arguments.dry_run and context.workspace_id is not None and parts.home.sidecars is not None:
        # The record would name a workspace that the agent does not know.
        require_workspace(parts, context.workspace_id, stores=False)
    by_hand, dry_run = the_workbench(session, parts).by_hand, arguments.dry_run
    with interruptible() as cancel:
        result, engine, session.lost = by_hand.consolidate(
            context, arguments.trigger, arguments.engine, dry_run, cancel=cancel
        )
    print_answer(
        session.as_json,
        {**_consolidation_json(result), "dryRun": dry_run, "engine": engine},
        _consolidation_lines(result, engine, dry_run=dry_run),
    )
    return answers.ended(result)


def _consolidation_lines(result: RunResult, engine: str, *, dry_run: bool) -> Iterator[str]:
    if result.succeeded:
        yield from table_lines(answers.ops_rows(result.ops))
        yield (
            f"{'Preview, nothing is written yet. ' if dry_run else ''}"
            f"{answers.run_words(result, ', dry run' if dry_run else '')} "
            f"{answers.spent_words(engine, result.usage, result.cost_usd)}"
        )
        if change := loaded_next_from(result.details.get("loadedNext")):
            yield f"Loaded next: {printable(signed_names(change))}"
    card = card_from_json(result.details.get("card"))
    if card is not None and card.facts:
        yield f"Facts: {sentence(card.counts)}."


def runs(session: Invocation) -> int:
    """Print the runs of a home, newest first; return the exit code.

    A run is one background job that may change memories, such as a consolidation.
    """
    records, problems = the_workbench(session, the_home(session)).shown.runs(session.arguments.limit)
    rows = (
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
    document = [record.as_json() for record in records]
    print_answer(session.as_json, document, table_lines(rows, "There are no runs yet."))
    answers.print_problems(problems)
    return DONE


def changes(session: Invocation) -> int:
    """Print the change sets of a home, newest first; return the exit code.

    A change set is one commit of the history: by a person, an agent, a run or a program.
    """
    log, arguments = the_workbench(session, the_home(session)).change_log, session.arguments
    found: list[LoggedChange] = []
    page = log.page()
    while True:
        found += [each for each in page.changes if arguments.by in (None, each.actor)]
        if page.next is None or len(found) >= arguments.limit:
            break
        page = log.page(page.next)
    found = found[: arguments.limit]
    document = [
        {
            **columns(each, "id at=at_ms actor run_id added removed"),
            "files": [columns(file, "path verb") for file in each.files],
        }
        for each in found
    ]
    rows = (
        (
            each.id[:_ID_CHARS],
            answers.local_time(each.at_ms),
            printable(each.actor),
            printable(", ".join(f"{file.verb} {file.path}" for file in each.files[:_FILES]))
            + (f" and {each.count - _FILES:,} more" if each.count > _FILES else ""),
        )
        for each in found
    )
    print_answer(session.as_json, document, table_lines(rows, "There are no changes yet."))
    return DONE


def diff(session: Invocation) -> int:
    """Print the changes that a run made, or that a dry run would have made; return the exit code."""
    shown = the_workbench(session, the_home(session)).shown
    files, taken, card = shown.changes(session.arguments.run)
    rows = []
    for change in files:
        back = taken.get(change.path, frozenset())
        numbers = numbers_taken(change.before, change.after, back)
        rows.append(
            {
                **columns(change, "path note"),
                "diff": unified(change.before, change.after, change.path.lstrip("/"), taken_back=numbers),
                "takenBack": taken_as_json(back),
                # The card is of the whole run, and repeated because a list has no place for it.
                "card": None if card is None else card.as_json(),
            }
        )
    print_answer(session.as_json, rows, [answers.diff_text(row["diff"] for row in rows)] if rows else ())
    return DONE


def revert(session: Invocation) -> int:
    """Undo a run, or a part of it; return the exit code.

    It is 1 if a file was not restored, because it was changed since the run.
    """
    parts, arguments = the_home(session), session.arguments
    paths, hunks = arguments.path or [], arguments.hunk or []
    if hunks and len(set(paths)) != 1:
        raise Ambiguous(
            "--hunk does not say which file it belongs to.",
            choices=tuple(paths),
            next_step="Give --hunk together with exactly one --path.",
        )
    if _CHANGE.fullmatch(arguments.run):
        return _revert_change(session, parts)
    by_hand = the_workbench(session, parts).by_hand
    result, too, session.lost = by_hand.revert(arguments.run, tuple(paths), tuple(hunks))
    summary = result.summary
    if too:
        summary += f" Also restored, because their lines would otherwise be lost: {', '.join(too)}."
    document = {
        "runId": result.run_id,
        "reverted": result.reverts,
        "summary": summary,
        "restored": list(result.applied),
        "conflicts": list(result.conflicts),
        "reason": "conflict" if result.conflicts else "",
    }
    print_answer(session.as_json, document, () if result.conflicts else [printable(summary)])
    return answers.print_problems([result.summary] if result.conflicts else ())


def _revert_change(session: Invocation, parts: HomeContainer) -> int:
    """Undo the change set that the command names; return the exit code."""
    if session.arguments.path:
        raise Ambiguous("--path and --hunk choose a part of a run.", choices=(), next_step="Leave them out.")
    log = the_workbench(session, parts).change_log
    change = log.find(session.arguments.run)
    undo = log.take_back(change)
    summary = " ".join((f"Undid the change by {change.actor}.", undo.warning)).strip()
    restored = [file.path for file in change.files]
    document = {"reverted": change.id, "summary": summary, "restored": restored, "reason": ""}
    print_answer(session.as_json, document, [printable(summary)])
    return DONE


def write(session: Invocation) -> int:
    """Run the memory writer once on the latest turns; return 1 if nothing ran or the run failed, else 0.

    It runs even if the writer is switched off or another program writes the same memory.
    """
    parts = the_home(session)
    workspace_id = the_context(session, parts).workspace_id
    if workspace_id is None:
        choices = tuple(workspace.id for workspace in parts.home.contents().workspaces())
        if choices:
            raise Ambiguous("Which workspace?", choices=choices, next_step="Name it with --workspace ID.")
        raise Unavailable("This home has no workspace.", next_step="Choose another home.")
    by_hand = the_workbench(session, parts).by_hand
    with interruptible() as cancel:
        outcome, session.lost = by_hand.write(workspace_id, session.arguments.force, cancel=cancel)
    lines = [answers.run_words(outcome, f", {outcome.model}")] if outcome.ran else ()
    print_answer(session.as_json, outcome.as_json(), lines)
    return answers.ended(outcome)


UNREAD = "Current Claude Code does not read session notes, and deletes them with their transcript."


def notes(session: Invocation) -> int:
    """Update the notes of a session; return the exit code, 1 if that failed.

    The switch for session notes and their thresholds are ignored. With `--force`, the notes are updated even
    if there are no new messages.
    """
    parts = the_home(session)
    session_id = session.arguments.workspace or _only_session(parts)
    by_hand = the_workbench(session, parts).by_hand
    with interruptible() as cancel:
        outcome, session.lost = by_hand.notes(session_id, session.arguments.force, cancel=cancel)
    print_answer(session.as_json, outcome.as_json(), _notes_lines(outcome) if outcome.succeeded else ())
    return answers.ended(outcome)


def _notes_lines(outcome: NotesOutcome) -> Iterator[str]:
    yield printable(outcome.summary)
    if outcome.path is not None:
        yield printable(str(outcome.path))
    if outcome.ran:
        yield f"Run {outcome.run_id}: {outcome.outcome}, {outcome.model}."
    yield UNREAD


def _only_session(parts: HomeContainer) -> str:
    """Return the id of the home's only session.

    Raises `Ambiguous` if there are several, `Unavailable` if there is none.
    """
    transcripts = parts.home.transcripts
    sources = () if transcripts is None else transcripts.sources()
    found = [source.id for source in sources if source.kind == "session"]
    if not found or parts.home.notes is None:
        raise Unavailable(
            "This home has no session for which Reverie can write notes.",
            cause="Reverie writes session notes only for Claude Code.",
            next_step="Choose another home with --home DIR.",
        )
    if len(found) > 1:
        raise Ambiguous("Which session?", choices=choices(parts), next_step="Choose one with --session ID.")
    return found[0]


def extract(session: Invocation) -> int:
    """Run both stages of the extraction on the new rollouts of a Codex home; return the exit code.

    A rollout is the file of one conversation. The first stage writes a summary of each rollout, the second a
    handbook for each directory. The exit code is 1 if anything failed. With `--dry-run`, only print the
    threads (conversations) that would be extracted.
    """
    arguments = session.arguments
    by_hand = the_workbench(session, the_home(session)).by_hand
    if arguments.dry_run:
        found, to_notes = by_hand.extract_plan(arguments.project)
        candidates = [
            {
                **columns(thread, "threadId=id title projectPath=cwd updated_at size"),
                **{"chosen": not reason, "reason": reason, "sentence": sentence},
            }
            for thread, reason, sentence in found.considered
        ]
        document = {"candidates": candidates, **({"writes": "notes"} if to_notes else {})}
        print_answer(session.as_json, document, _candidate_lines(found, to_notes=to_notes))
        return DONE
    with interruptible() as cancel:
        result, session.lost = by_hand.extract(
            arguments.engine, arguments.project, progress=_progress, cancel=cancel
        )
    rows = (
        (end.outcome, end.kind, end.id, printable(end.summary))
        for end in (*result.rollouts, *result.directories)
    )
    summary = [printable(result.summary)] if result.succeeded else []
    print_answer(session.as_json, result.as_json(), (*table_lines(rows), *summary))
    return answers.ended(result)


def _candidate_lines(found: ThreadSelection, *, to_notes: bool) -> Iterator[str]:
    if to_notes:
        yield "Reverie saves each result as a note, and Codex then merges it into its memory."
    yield from table_lines(
        (
            "-" if reason else "+",
            thread.id,
            printable(thread.cwd),
            printable(" ".join(thread.title.split())[:60]),
            sentence,
        )
        for thread, reason, sentence in found.considered
    )
    if not found.chosen:
        yield "There is nothing to extract."


def _progress(progress: ExtractProgress) -> None:
    """Print a line on stderr if `progress` reports the end of one part of the extraction.

    Nothing is printed if stderr is not a terminal.
    """
    if progress.ended and sys.stderr.isatty():
        answers.trouble(f"{progress.done}/{progress.total} {progress.title or progress.id}: {progress.stage}")


_QUOTED_CHARS = 2_000


def traces(session: Invocation) -> int:
    """Print the list of traces of all homes, newest first, or one trace in full; return the exit code.

    A trace is the recorded conversation of a run with its model.
    """
    wanted = session.arguments.trace
    return _list(session) if wanted is None else _one(session, wanted)


def _list(session: Invocation) -> int:
    found, errors = from_each(
        session, every_home(session), lambda parts: the_workbench(session, parts).shown.traces()
    )
    code = answers.print_problems(errors)
    wanted = session.arguments.workspace
    rows = [row for row in chain.from_iterable(found) if wanted in (None, row.workspace_id)]
    rows.sort(key=lambda row: (row.started_at, row.id), reverse=True)
    cells = (
        (
            row.id,
            printable(row.workspace_name or row.workspace_id or "-"),
            printable(row.kind or "-"),
            row.verdict,
            printable(row.model or "-"),
            printable(" ".join(row.evidence.split()))[:100],
        )
        for row in rows
    )
    nothing = (
        "There are no traces. Reverie keeps a trace of each run that uses a model. mux writes one when its "
        "memory writer fails in debug mode. Other agents write none."
    )
    print_answer(session.as_json, [row.as_json() for row in rows], table_lines(cells, nothing))
    return code


def _one(session: Invocation, wanted: str) -> int:
    roots, problems = every_home(session)
    missing: UserError | None = None
    answers.print_problems(problems)
    for root in roots:
        shown = the_workbench(session, open_parts(root, session.profile, session.clock)).shown
        try:
            detail, document = shown.trace(wanted)
        except UserError as error:
            if error.reason != "missing" or len(roots) == 1:
                raise
            missing = error
            continue
        print_answer(session.as_json, {**detail.row.as_json(), "trace": document}, _detail_lines(detail))
        return DONE
    if missing is not None:
        raise missing
    raise Unavailable(NO_HOME, next_step=NAME_ONE)


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
                answer = call.problem or ("done" if call.ran else "was not run")
                lines.append(f"    {call.name}: {' '.join(answer.split())[:_QUOTED_CHARS]}")
    return [printable(line) for line in lines]


_NO_ENGINE_S = 2.0
"""The seconds until the services are started again after their process, or its engine, has died."""


def watch(session: Invocation) -> int:
    """Run the background services of one home, without a window, until SIGTERM or SIGINT.

    If another process runs them already, the command prints which process that is and exits with 1.

    With `--json`, each change of the state is printed as one line: `{"state": ..., "home": ..., "sessions":
    ..., "pid": ...}`. The state `hosting` is printed when all transcripts have been read; each turn that ends
    after that can start a run. `sessions` is the number of watched transcripts. `pid` is the process in which
    the services run, a child of the profile's engine. If that process dies, the services are started again,
    and another line has the new `pid`.
    """
    parts = the_home(session)
    hosted = HostStatus("stopped")
    lost: HostStatus | None = None

    with _engine_client(session, parts) as client, interruptible(signal.SIGTERM) as cancel:
        home = client.home(parts.home.root, parts.home_id)

        def report(status: HostStatus) -> None:
            nonlocal hosted, lost
            if status.holder is not None and status.holder.owner.pid == hosted.pid:
                return  # the process before this one still ends
            if status.state in ("viewing", "waiting"):
                lost = lost or status
                cancel.set()
            elif status.is_ready and status.pid != hosted.pid:
                hosted = status
                _print_status(session, parts, status)

        while not cancel.is_set():
            try:
                home.run_host("reverie watch", progress=report, cancel=cancel)
            except CallCancelled:
                break
            except Unavailable as error:
                if not hosted.pid and not cancel.is_set():
                    raise
                log.info("the background services ended: %s", error)
                cancel.wait(_NO_ENGINE_S)
    if lost is None:
        _print_status(session, parts, HostStatus("stopped", pid=hosted.pid))
        return DONE
    if not hosted.pid:
        raise Busy(
            "Another process runs the background services of this home.",
            cause=_why(lost),
            next_step="End that process first, or let it run them.",
        )
    trouble(
        lost.message
        if lost.holder is None
        else f"Another process took over the background services. {_why(lost)}"
    )
    return FAILED


@contextmanager
def _engine_client(session: Invocation, parts: HomeContainer) -> Iterator[EngineClient]:
    """Context manager: yield a client of the profile's engine, which is started if necessary.

    If the command has its own clock (`--now`), the engine is created in this process.
    """
    # Late: no other command here starts an engine.
    from reverie.engine import client, engine, process, reach

    if session.clock is system_clock:
        channel = partial(reach.connect, session.profile)
    else:
        channel = partial(process.inline_channel, engine.ProfileEngine(session.profile, session.clock))
    made = client.EngineClient(channel, environment=partial(run_environment, parts))
    try:
        yield made
    finally:
        made.stop()


def _why(status: HostStatus) -> str:
    if status.holder is None:
        return status.message
    return f"Process {status.holder.owner.pid} runs them ({status.holder.purpose})."


def _print_status(session: Invocation, parts: HomeContainer, status: HostStatus) -> None:
    root = str(parts.home.root)
    if session.as_json:
        print_json_line({"state": status.state, "home": root, "sessions": status.sessions, "pid": status.pid})
    elif status.state == "hosting":
        print_text(f"The background services of {root} run here; {status.sessions} transcripts are followed.")
    else:
        print_text(f"The background services of {root} have stopped.")
