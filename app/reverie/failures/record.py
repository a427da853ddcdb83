"""Storage of a failed iteration in the agent's format, so that the next one gets its lessons.

The only writer of this package (formats/loki.md sections 3, 7, 11). Stored data was scrubbed before: only
fields of a crash record are kept, and goal and task go through the same redaction. Files are written whole,
under the store's own locks; concurrent changes by another writer are kept. The index and the timeline are
updated as by the agent. They are derived files, so a damaged one is not changed but left to the agent. No
folder on the way to a file may be a symbolic link: a repository can hold links that lead out of the project.

Blocking, any thread. Failure: `UserError`; an unreadable crash record never blocks.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reverie.agents.loki.locations import STORE, memory_elsewhere, memory_root, safe_name
from reverie.agents.loki.records import LATEST_MS, read_object, utc
from reverie.errors import Unavailable, UserError, user_error_from_os, warned
from reverie.failures.crash import minimal, newest_file, phase_of, scrubbed
from reverie.failures.git_remote import names_of, project_id_hash, remote_of
from reverie.failures.lessons import error_entry, is_on
from reverie.failures.redaction import PrivatePlaces, redact_text
from reverie.files.atomic import replace_file
from reverie.files.directory import Directory, SwappedError, is_directory, read_regular
from reverie.files.locks import lock_beside
from reverie.files.rooted import EscapesRoot, opened_below
from reverie.values import Struct

AGENT = "reverie"
_GOAL_CHARS = 500
_ACTION_CHARS = 100
_ACTIONS = 100
_CONFIG_BYTES = 1 << 20
_SWITCHED_OFF = re.compile(r"""\s*(?:export\s+)?TELEMETRY_DISABLED=(["']?)true\1\s*(?:#.*)?""")
_DERIVED_WAIT_S = 2.0
"""The longest wait in seconds for derived files: a hook must not delay its agent for them."""


class Failure(Struct, frozen=True):
    """A failed iteration of an agent, as the agent's hook reports it.

    `crash`: the crash record to attach; None: the newest record in the store. `goal` and `task_id` may be
    empty.
    """

    phase: str
    exit_code: int
    crash: Path | None = None
    goal: str = ""
    task_id: str = ""


class RecordedFailure(Struct, frozen=True):
    """The result of recording a failed iteration as an episode."""

    path: Path | None
    """The file of the episode; None if nothing was stored."""
    episode_id: str = ""
    entry: Mapping[str, str] | None = None
    """The error entry that the episode contains; None if the settings turn lessons off."""
    crash: Path | None = None
    """The crash record that the entry was made from; None if there was none."""
    reason: str = ""
    """The reason why nothing was stored; empty if `path` is set."""
    problems: tuple[str, ...] = ()
    """Messages about the steps that failed."""


def places_of(project: Path, home_dir: Path) -> PrivatePlaces:
    """Return the paths and names that identify a project and its user, which must be redacted.

    `home_dir`: the user's home directory.
    """
    return PrivatePlaces(os.path.abspath(project), str(home_dir), names_of(remote_of(project)))  # noqa: PTH100


def record(
    project: Path, failure: Failure, *, env: Mapping[str, str], home_dir: Path, now_ms: int
) -> RecordedFailure:
    """Store `failure`, a failed iteration, as an episode of the project, unless recording is off.

    Returns the path of the episode, or the reason why none was stored. `env`: the agent's environment, with
    its switches for lessons and crash records; `home_dir`: the user's home directory; `now_ms`: the time of
    the failure (UTC). Raises `Unavailable` if there is no project, and `UserError` if the episode cannot be
    written.
    """
    if not is_directory(project):
        raise Unavailable(
            f"There is no project at {project}.",
            cause="There is no directory at this path, or it cannot be reached.",
            next_step="Check the path.",
        )
    if failure.exit_code == 0:
        return RecordedFailure(None, reason="Exit code 0 does not mean a failure.")
    if is_switched_off(project / STORE):
        return RecordedFailure(None, reason="The project's .loki/config.json turns recording off.")
    now_ms = min(now_ms, LATEST_MS)
    problems: list[str] = []
    places = places_of(project, home_dir)
    entry, attached = None, None
    if is_on(env):
        captures = wants_capture(env, home_dir)
        entry, attached = _entry(project, failure, places, now_ms, problems, captures=captures)
    memory = memory_root(project, env)
    episode = _episode(failure, entry, places, now_ms)
    # A root named by the environment is the user's choice, even if it is a link.
    top = memory if memory_elsewhere(project, env) else project
    path = _store(top, memory, episode)
    problems += _derived(top, memory, episode, now_ms)
    return RecordedFailure(path, episode["id"], entry, attached, problems=tuple(problems))


def capture(project: Path, raw: Mapping[str, Any], places: PrivatePlaces, now_ms: int) -> Path:
    """Write a redacted crash record into a project, in a file named by its fingerprint, and return its path.

    `raw`: the data collected at the crash, with `stack` as text or as a list of lines; or a crash record.
    `places`: the paths and names to be removed. `now_ms`: the time of the record in UTC ms. Raises
    `UserError` if the file cannot be written.
    """
    at = datetime.fromtimestamp(now_ms // 1000, UTC)
    filled = {
        "project_id_hash": project_id_hash(remote_of(project)),
        "captured_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    found = scrubbed({**filled, **raw}, places)
    directory = project / STORE / "crash"
    name = f"{found.get('fingerprint') or 'scruberror'}-{now_ms // 1000}.json"
    with _opened(project, directory) as opened:
        replace_file(opened, name, _json(found, sort_keys=True))
    return directory / name


def wants_capture(env: Mapping[str, str], home_dir: Path) -> bool:
    """Return whether the environment and the user's settings allow crash records to be written.

    The switches are in formats/loki.md section 10. `env`: the agent's environment; `home_dir`: the user's
    home directory.
    """
    return not (
        env.get("LOKI_TELEMETRY") == "off"
        or env.get("LOKI_TELEMETRY_DISABLED") == "true"
        or env.get("DO_NOT_TRACK") == "1"
        or _user_says_no(home_dir / STORE / "config")
    )


def _user_says_no(config: Path) -> bool:
    """Return whether the settings file `config`, in shell syntax, switches the recording of crashes off.

    False if the file cannot be read.
    """
    try:
        lines = read_regular(config, _CONFIG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(_SWITCHED_OFF.fullmatch(line) for line in lines)


def _entry(
    project: Path,
    failure: Failure,
    places: PrivatePlaces,
    now_ms: int,
    problems: list[str],
    *,
    captures: bool,
) -> tuple[dict[str, str], Path | None]:
    """Return the error for the episode of `failure`, and the path of the crash record from which it was made.

    The path is None if there is no readable crash record. `places`: the paths and names to be removed.
    `captures`: copy a record from elsewhere into the project. Problems are added to `problems` as sentences.
    """
    directory = project / STORE / "crash"
    path = failure.crash or newest_file(directory)
    raw = None
    if path is not None:
        raw = read_object(path, problems)
        if raw is None and failure.crash is not None and not problems:
            problems.append(f"{path}: the file does not exist.")
    phase = _phase(failure, places)
    found = None if raw is None else scrubbed(raw, places)
    entry = error_entry(found, phase, failure.exit_code)
    if path is None or raw is None or found is None or found == minimal():
        return entry, path if found is not None else None
    if path.resolve().parent != directory.resolve() and captures:
        with warned(problems):
            path = capture(project, raw, places, now_ms)
    return entry, path


def _episode(
    failure: Failure, entry: Mapping[str, str] | None, places: PrivatePlaces, now_ms: int
) -> dict[str, Any]:
    """Return the episode of `failure` as a record in the agent's format, with the agent's order of keys.

    `entry`: the error that the episode lists; None: it lists none. `places`: the paths and names to be
    removed.
    """
    at = utc(now_ms * 1000)
    goal = redact_text(failure.goal, places)[0][:_GOAL_CHARS]
    phase = _phase(failure, places)
    return {
        "id": f"ep-{at:%Y-%m-%d}-{os.urandom(4).hex()}",
        "task_id": redact_text(failure.task_id, places)[0] or f"hook-{at:%Y%m%d%H%M%S}",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%f}Z",
        "duration_seconds": 0,
        "agent": AGENT,
        "context": {"phase": phase.upper(), "goal": goal, "files_involved": []},
        "action_log": [],
        "outcome": "failure",
        "errors_encountered": [] if entry is None else [dict(entry)],
        "artifacts_produced": [],
        "git_commit": None,
        "tokens_used": 0,
        "files_read": [],
        "files_modified": [],
        "importance": 0.5,
        "access_count": 0,
    }


def _phase(failure: Failure, places: PrivatePlaces) -> str:
    """Return the phase of `failure` without private parts, in upper case except for `iteration`.

    Private parts are removed first, because paths and tokens are recognised by their case.
    """
    said = " ".join(failure.phase.split())
    return phase_of(said) or redact_text(said, places)[0].upper()


def _store(top: Path, memory: Path, episode: dict[str, Any]) -> Path:
    directory = memory / "episodic" / episode["timestamp"][:10]
    path: Path = directory / f"task-{safe_name(episode['id'])}.json"
    with _opened(top, directory) as opened, lock_beside(path):
        replace_file(opened, path.name, _json(episode))
    return path


def _derived(top: Path, memory: Path, episode: Mapping[str, Any], now_ms: int) -> list[str]:
    """Add an episode to the timeline and the index in `memory`; return a sentence for each problem.

    `memory`: the directory of the memories; `top`: the directory out of which no symbolic link may lead, the
    project or `memory` itself. `now_ms`: the present time (UTC).
    """
    now = utc(now_ms * 1000).isoformat(timespec="microseconds")
    problems: list[str] = []
    for name, change in (("timeline.json", _in_timeline), ("index.json", _in_index)):
        path = memory / name
        try:
            with _opened(top, memory) as opened, lock_beside(path, timeout_s=_DERIVED_WAIT_S):
                document: dict[str, Any] | None = {"version": "1.1.0", "last_updated": now}
                if path.exists():
                    document = read_object(path, problems)
                if document is not None and change(document, episode, now):
                    document["last_updated"] = now
                    replace_file(opened, name, _json(document))
        except (UserError, OSError) as error:
            problems.append(f"{name} could not be updated: {error}")
    return problems


def _in_timeline(document: dict[str, Any], episode: Mapping[str, Any], now: str) -> bool:
    actions = document.setdefault("recent_actions", [])
    document.setdefault("key_decisions", [])
    document.setdefault("active_context", {})
    if not isinstance(actions, list):
        return False
    action = {
        "timestamp": episode["timestamp"],
        "action": (episode["context"]["goal"] or "Task completed")[:_ACTION_CHARS],
        "outcome": episode["outcome"],
        "topic_id": episode["context"]["phase"] or "general",
    }
    actions.insert(0, action)
    del actions[_ACTIONS:]
    return True


def _in_index(document: dict[str, Any], episode: Mapping[str, Any], now: str) -> bool:
    topics = document.setdefault("topics", [])
    if not isinstance(topics, list):
        return False
    name = episode["context"]["phase"].lower() or "general"
    topic = next((each for each in topics if isinstance(each, dict) and each.get("id") == name), None)
    if topic is None:
        topic = {
            "id": name,
            "summary": episode["context"]["goal"],
            "episode_ids": [],
            "episode_count": 0,
            "total_cost_usd": 0.0,
            "total_tokens": 0,
            "files_touched": [],
            "first_seen": now,
            "last_accessed": now,
            "relevance_score": 0.5,
        }
        topics.append(topic)
    listed = topic.setdefault("episode_ids", [])
    if isinstance(listed, list):
        listed.append(episode["id"])
        topic["episode_count"] = len(listed)
    topic["last_accessed"] = now
    total = document.get("total_memories")
    document["total_memories"] = (total if isinstance(total, int) else 0) + 1
    return True


def is_switched_off(store: Path) -> bool:
    """Return whether the store's own settings switch recording off; True if they are unreadable."""
    problems: list[str] = []
    settings = read_object(store / "config.json", problems)
    memory = (settings or {}).get("memory")
    return bool(problems) or (isinstance(memory, dict) and memory.get("disabled") is True)


@contextlib.contextmanager
def _opened(top: Path, directory: Path) -> Iterator[Directory]:
    """Context manager: open the directory below `top`, creating it if missing, and yield it.

    Raises `EscapesRoot` if a component of the path below `top` is a symbolic link, because a git repository
    can contain links that lead out of it, and `UserError` if the directory cannot be opened.
    """
    try:
        parts = list(directory.relative_to(top).parts)
        with opened_below(os.path.realpath(top), parts, create=True) as opened:
            yield opened
    except SwappedError as error:
        raise EscapesRoot(
            f"Nothing was stored in {directory}.",
            cause="A part of the path is a symbolic link.",
            next_step="Replace the link with a real folder.",
        ) from error
    except OSError as error:
        raise user_error_from_os(error, f"{directory} could not be written.") from error


def _json(value: object, *, sort_keys: bool = False) -> bytes:
    return json.dumps(value, indent=2, sort_keys=sort_keys).encode("ascii")
