"""The command `failures`: prints lessons from failures, and records, resolves or redacts failures.

An agent's runner calls it before each prompt and waits for it, so it imports little. Its text output becomes
part of the prompt, so damaged records are reported only in the JSON.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.loki.locations import STORE, memory_elsewhere, memory_root
from reverie.agents.loki.records import episode_files, episode_of, read_object, utc
from reverie.cli import answers
from reverie.cli.answers import DONE, FAILED, print_json, print_text
from reverie.errors import Ambiguous, StoreError, Unavailable
from reverie.files.directory import is_there
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.cli.main import Invocation
    from reverie.failures.crash import CrashGroup
    from reverie.failures.lessons import Lesson


def failures(session: Invocation) -> int:
    """Print the lessons from earlier failures, or record, resolve or redact a failure, as the options say.

    Returns the exit code: 1 if the failure could not be recorded, or if the record to redact is unreadable.
    """
    arguments = session.arguments
    if arguments.action == "record":
        return _record(session)
    if arguments.action == "resolve":
        return _resolve(session)
    if arguments.redact is not None:
        return _redact(session, arguments.redact)
    return _block(session)


def _block(session: Invocation) -> int:
    from reverie.failures import lessons

    arguments, project = session.arguments, _project(session)
    found = lessons.retrieve(
        memory_root(project, os.environ),
        now_ms=session.clock(),
        goal=arguments.goal or "",
        phase=arguments.phase or "",
        on=lessons.is_on(os.environ),
    )
    if not session.as_json:
        print_text(found.block, end="")
        return DONE
    from reverie.failures import crash

    problems = list(found.problems)
    groups = crash.groups(crash.crashes(project / STORE / "crash", problems))
    print_json(
        {
            **columns(found, "block agent_block difference"),
            "lessons": [_lesson(each, project) for each in found.lessons],
            "priors": found.priors,
            "crashes": [_group(each) for each in groups],
            "problems": problems,
        }
    )
    return DONE


def _redact(session: Invocation, path: Path) -> int:
    """Print the crash record in the file `path` without secrets and private paths; return the exit code.

    If the file cannot be read, a minimal record is printed and the exit code is 1.
    """
    from reverie.failures.crash import minimal, scrubbed
    from reverie.failures.record import places_of

    project = session.arguments.project
    problems: list[str] = []
    raw = read_object(path, problems)
    if raw is None and not problems:
        raise StoreError(f"There is no file {path}.", next_step="Check the path.", reason="missing")
    places = places_of(Path(project) if project else Path.cwd(), Path.home())
    record = minimal() if raw is None else scrubbed(raw, places)
    print_text(json.dumps(record, indent=2, sort_keys=True))
    return answers.print_problems(
        f"Reverie stored only the minimal record. {problem}" for problem in problems
    )


def _record(session: Invocation) -> int:
    from reverie.failures.record import Failure, record

    arguments, project = session.arguments, _project(session)
    if arguments.phase is None or arguments.exit is None:
        raise Ambiguous(
            "Which phase failed, with which exit code?",
            choices=(),
            next_step="Give --phase PHASE and --exit CODE.",
        )
    _refuse_unknown(session, project)
    done = record(
        project,
        Failure(arguments.phase, arguments.exit, arguments.crash, arguments.goal or "", arguments.task or ""),
        env=os.environ,
        home_dir=Path.home(),
        now_ms=session.clock(),
    )
    document = {
        "recorded": done.path is not None,
        "id": done.episode_id,
        "path": None if done.path is None else str(done.path),
        "error": None if done.entry is None else dict(done.entry),
        "crash": None if done.crash is None else str(done.crash),
        **columns(done, "reason problems"),
    }
    lines = () if done.path is None else (f"Recorded {done.episode_id}.",)
    answers.print_answer(session.as_json, document, lines)
    answers.print_problems(filter(None, (*done.problems, done.reason)))
    return DONE if done.path is not None else FAILED


def _refuse_unknown(session: Invocation, project: Path) -> None:
    """Raise `ReadOnlyStore` if the project's store of failures has a layout that Reverie does not know."""
    from reverie.agents.known_layouts import loki_root, refusals

    memory = memory_root(project, os.environ)
    found = loki_root(memory)
    # The agent waits, so the home is opened only if something looks unusual.
    if not found and not is_there(memory / "memory.db"):
        return
    from reverie.compose import open_parts
    from reverie.memory.write_guard import ReadOnlyStore

    try:
        parts = open_parts(project, session.profile, session.clock)
    except Unavailable:
        if found:  # not a home yet without a record, but it has an unknown layout
            raise ReadOnlyStore(refusals("project/memory", found)[0]) from None
        return
    parts.write_guard.require_context(parts.home.context())


def _resolve(session: Invocation) -> int:
    """Store the text of `--text` as the solution of the error that `--episode` and `--error` name.

    An episode is a file of the agent about one attempt, with the errors that occurred. The file is written
    under the store's lock, and the history keeps its old content. Returns the exit code. Raises `StoreError`
    if there is no such episode or error.
    """
    from reverie.compose import open_parts
    from reverie.services.failures import RecordEdits, resolution

    arguments, project = session.arguments, _project(session)
    if not arguments.episode or arguments.text is None:
        raise Ambiguous(
            "Which episode, and how was it fixed?", choices=(), next_step="Give --episode ID and --text TEXT."
        )
    parts = open_parts(project, session.profile, session.clock)
    memory = memory_elsewhere(project, os.environ) or parts.home.root / "memory"
    for _day, path in episode_files(memory):
        episode = episode_of(read_object(path, []) or {})
        if episode.id != arguments.episode:
            continue
        error = next((each for each in episode.errors if each.index == arguments.error - 1), None)
        if error is None:
            raise StoreError(
                f"Record {episode.id} has no error with number {arguments.error}.",
                next_step="Errors are numbered from 1.",
            )
        rel = path.relative_to(memory).as_posix()
        stored = episode.record["errors_encountered"][error.index]
        RecordEdits(parts).change(resolution(rel, error.index, stored, arguments.text))
        text = f"Marked {error.type} of {episode.id} as resolved."
        answers.print_answer(session.as_json, {"resolved": True, "path": str(path)}, [text])
        return DONE
    raise StoreError(
        f"There is no episode with the ID {arguments.episode}.",
        next_step="`reverie failures --json` lists episodes (failed iterations) with their IDs.",
        reason="missing",
    )


def _project(session: Invocation) -> Path:
    """Return the project that the command names. Raises `Ambiguous` if it names none."""
    if not session.arguments.project:
        raise Ambiguous("Which project?", choices=(), next_step="Name it with --project DIR.")
    return Path(session.arguments.project)


def _lesson(each: Lesson, project: Path) -> dict[str, Any]:
    return {
        **columns(each, "type message resolution"),
        "at": _iso(each.at),
        **columns(each, "episode=episode_id task=task_id phase"),
        "path": os.path.relpath(each.path, project),
        **columns(each, "fingerprint seen injected"),
    }


def _group(group: CrashGroup) -> dict[str, Any]:
    newest = group.newest
    return {
        "fingerprint": group.fingerprint,
        "count": len(group.crashes),
        "errorClass": newest.error_class,
        "frictionKind": newest.friction or None,
        "phase": newest.phase or None,
        "signature": list(newest.signature),
        "lastAt": _iso(newest.at),
        "files": [each.path.name for each in group.crashes],
    }


def _iso(micros: int | None) -> str | None:
    return None if micros is None else utc(micros).isoformat()
