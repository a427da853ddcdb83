"""`WorkspaceFacts`, the facts about one workspace that the checks judge: from the disk, leases and Activity.

A lease is a row in Reverie's database of leases; it names the process that runs a job. Activity is the log of
what background runs did.

Threading: blocks on disk, and on the network with `with_probe`; any thread but the GUI's. Failure:
`Unavailable` if the home no longer exists; any other data that cannot be read is itself a fact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reverie.agents.base import Home
from reverie.agents.capabilities import AgentWriterConfig, MemoryKinds, WriterPlace
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.clock import DAY_MS
from reverie.doctor.facts import (
    DoctorHome,
    DoctorHooks,
    FileFacts,
    StateFacts,
    TracedRun,
    free_bytes,
    look_at,
    newest_dumps,
    newest_runs,
    read_state,
)
from reverie.doctor.leftovers import maker_of
from reverie.errors import UserError
from reverie.files.log_file import level_in_words
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.consolidate.triggers import counts, tokens_of
from reverie.jobs.single_file.service import lease_name
from reverie.jobs.single_file.writer import PROJECT_MEMORY
from reverie.jobs.single_file.writer_turns import interval_of
from reverie.llm.probe import ProbeStep
from reverie.runs.record import started_of
from reverie.settings import load_settings
from reverie.text.summaries import NOTHING, Phrase, phrase, some

if TYPE_CHECKING:
    from reverie.agents.transcripts import Turn
    from reverie.files.lease import Leases
    from reverie.files.locks import LeaseHolder
    from reverie.runs.activity import ActivityEntry

T = TypeVar("T")
D = TypeVar("D")
_ACTIVITY_ENTRIES = 500


class WorkspaceFacts:
    """All facts about one workspace that the checks use, read when the object is created.

    Of the turns and of the Activity log, only the newest are included. Times are in UTC ms.
    """

    def __init__(
        self,
        parts: DoctorHome,
        context: ScopeContext,
        hooks: DoctorHooks,
        *,
        now: int,
        with_probe: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Read all facts about the workspace of `context`; raise `Unavailable` if the home no longer exists.

        `parts`: the home and its services; `hooks`: functions of other parts of the program. `now`: the
        current time. `with_probe`: send a real request to the model. `env`: the environment variables; None:
        those of the process.
        """
        self.now, self.home_id, self.context = now, parts.home_id, context
        home, leases, workspace_id = parts.home, parts.leases, context.workspace_id
        self.settings, self.settings_problems = load_settings(parts.profile.settings_file)
        self.log_level = hooks.log_level or level_in_words(os.environ if env is None else env)

        writer, sessions, place, session = home.writer, home.sessions, None, None
        agent_writer = AgentWriterConfig(enabled=writer is not None or workspace_id is None)
        self.workspace = None
        """The workspace of `context`; None if the context has none, or if the agent does not list it."""
        if writer is not None and workspace_id is not None:
            place, agent_writer = writer.writer_place(workspace_id), writer.writer_config(workspace_id)
        if sessions is not None and workspace_id is not None:
            session = sessions.session_place(workspace_id)
            self.workspace, _problem = _attempt(lambda: sessions.workspace(workspace_id), None)
        # Dumps are what a memory writer leaves: an agent without one has no place for them.
        self.has_writer = writer is not None
        self.interval = interval_of(self.settings.system1.interval, agent_writer.interval)
        """After how many turns the memory writer runs."""
        self.agent_switched_off = not agent_writer.enabled
        """True if the agent's own settings switch its memory writer off."""
        self.kinds = MemoryKinds() if writer is None else writer.memory_kinds()
        """The kinds of memory files that this version of the agent loads."""

        self.transcript = None if session is None else look_at(session.directory / session.files[-1])
        """The newest file with the conversation of the workspace; None if there is none."""
        self.partial = None if session is None else look_at(session.directory / "partial.json")
        """The file in which the agent keeps an unfinished response; None if there is no transcript."""
        self.turns: tuple[Turn, ...] = ()
        """The newest turns of the conversation."""
        self.transcript_problem = ""
        """The reason why the turns cannot be read; empty if they can."""
        if writer is not None and session is not None:
            transcript = writer.transcript(session.workspace_id)
            self.turns, self.transcript_problem = _attempt(transcript.newest_turns, ())

        self.state: StateFacts | None = None if place is None else read_state(place.state_file)
        """The state of the agent's memory writer; None if the workspace has no file for it."""
        path, self.memory_problem = _memory_file(home, context, self.settings.system1.target, place)
        """The reason why `memory` is None."""
        self.memory = None if path is None else look_at(path)
        """The file that the memory writer writes; None if the context has no such file."""
        self.memory_directory = None if path is None else _nearest_directory(path.parent)
        """The directory of `memory` or, if that does not exist, the nearest one above it."""
        self.dumps = () if place is None else newest_dumps(place.dump_directory)
        """The newest trace files of the memory writers, newest first."""
        self.runs: tuple[TracedRun, ...] = newest_runs(self.dumps)
        """The runs of the memory writers read from `dumps`, newest first."""

        self.activity, self.activity_damage = _attempt(lambda: parts.activity.read(_ACTIVITY_ENTRIES), ())
        """The newest entries of the Activity log, and a sentence about damage to it (empty if undamaged)."""
        if lines := 0 if self.activity_damage else parts.activity.damaged_lines:
            self.activity_damage = (
                f"{some(lines, 'line')} of the Activity log cannot be read and are left out."
            )
        _nobody, self.lease_problem = _attempt(lambda: leases.holder(""), None)
        """The reason why the leases cannot be read; empty if they can."""
        self.host = _holder(leases, f"host:{self.home_id}")
        """The process that runs the background services of the home; None if none does."""
        self.writer = _holder(leases, lease_name("writer", self.home_id, workspace_id or ""))
        """The process that runs the memory writer for this workspace now; None if none does."""
        self.dream = _holder(leases, dream_lease_name(self.home_id))
        """The process that consolidates this home now; None if none does."""
        self.watch = hooks.watch() if hooks.watch is not None else None
        """The state of the window's watcher of the home; None if unknown, or if it does not watch."""
        self.free_bytes = free_bytes(home.root)
        """The free bytes on the disk of the home; None if unknown."""
        self.own_free_bytes = free_bytes(parts.profile.data)
        """The free bytes on the disk of Reverie's own data; None if unknown."""

        self.recent_runs, self.recent_tokens = _spent(parts, now)
        """The background runs in the last 24 hours that count towards the daily budget, and their tokens."""
        coverage, problem = _attempt(parts.coverage.load, None)
        covered = coverage.workspaces.get(workspace_id) if coverage and workspace_id is not None else None
        self.coverage_at = None if covered is None else int(covered["lastRunAt"])
        """The time of the last consolidation of the workspace; None if there was none or it is unknown."""
        self.coverage_problems = (problem,) if coverage is None else tuple(coverage.problems)
        """Sentences about records of consolidations that cannot be read."""
        self.model = hooks.model() if hooks.model is not None else None
        """The model that the memory writer would use; None if unknown."""
        self.dream_model = hooks.dream_model() if hooks.dream_model is not None else None
        """The model that a consolidation would use; None if unknown."""
        self.probe: tuple[ProbeStep, ...] | None = None
        """The steps of a test of `model` by a real request; None if it was not tested."""
        if with_probe and hooks.probe is not None and self.model is not None and not self.model.problem:
            self.probe = () if self.model.engine == "rules" else hooks.probe(self.model.engine)

        self.refusals = parts.write_guard.unknown(context)
        """Why Reverie does not write to some stores: their layout or version is unknown to it.

        Each reason comes with True if a person has permitted writing nevertheless.
        """
        self.agent_checks = tuple(
            (check, None if check.suspect is None else maker_of(parts.actors, check.suspect))
            for check in (() if home.jobs is None else home.jobs.checks(context))
        )
        """The results of the agent's own conditions for writing memories.

        Each comes with the program that wrote the files in the directory that the check suspects; None if it
        suspects no directory.
        """

    @property
    def verdict(self) -> Phrase:
        """A sentence about the result of the newest traced run of a memory writer; empty if there is none."""
        if not self.runs:
            return NOTHING
        newest = self.runs[0].verdict
        where = newest.evidence.sentence()
        if not where:
            return newest.sentence
        return phrase("{verdict} ({place})", verdict=newest.sentence, place=where)

    @property
    def agent_runs(self) -> tuple[TracedRun, ...]:
        """The runs of the agent's own memory writer that left a trace, newest first."""
        return tuple(run for run in self.runs if run.by_agent)

    def last(self, *events: str) -> ActivityEntry | None:
        """Return the newest Activity entry about this workspace with one of the names `events`; None if none.

        Activity is the log of what background runs did. A name also matches the names below it: `writer`
        matches `writer.failed`. Entries that belong to no workspace count as well.
        """
        for entry in self.activity:
            here = entry.workspace_id in (None, self.context.workspace_id)
            if here and any(entry.event == name or entry.event.startswith(f"{name}.") for name in events):
                return entry
        return None


def _attempt(read: Callable[[], T], otherwise: D) -> tuple[T | D, str]:
    """Return the result of `read` and "" or, if it raises a `UserError`, `otherwise` and the error's text."""
    try:
        return read(), ""
    except UserError as error:
        return otherwise, str(error)


def _holder(leases: Leases, name: str) -> LeaseHolder | None:
    """Return the process that holds the lease `name`; None if none does, or if leases cannot be read."""
    return _attempt(lambda: leases.holder(name), None)[0]


def _memory_file(
    home: Home, context: ScopeContext, target: str, place: WriterPlace | None
) -> tuple[Path | None, str]:
    """Return the file that the memory writer writes, and "".

    If the context has no such file, returns None and the reason as a sentence. `target`: the kind of the file
    in the settings. `place`: the paths of the files of the agent's own writer; None if the agent has none.
    """
    to_project = target == "project-memory"
    if not to_project and place is not None and place.memory_file is not None:
        return place.memory_file, ""
    try:
        directory = home.scope_root(context, Scope.PROJECT).directory
    except ScopeUnavailable as gap:
        return None, gap.cause or gap.title
    return (directory / PROJECT_MEMORY, "") if to_project else (None, "It belongs to no project.")


def _nearest_directory(path: Path) -> FileFacts:
    """Return the facts about `path` or, if it is missing, about the nearest existing directory above it."""
    found = (look_at(place) for place in (path, *path.parents))
    return next((facts for facts in found if facts.kind != "missing"), FileFacts(path))


def _spent(parts: DoctorHome, now: int) -> tuple[int, int]:
    """Return the number of background runs in the 24 hours before `now` (UTC ms), and the tokens they used.

    Runs that a person started and dry runs do not count.
    """
    found = []
    for run_id in parts.runs.ids():
        if started_of(run_id) <= now - DAY_MS:
            break
        record, _problem = _attempt(partial(parts.runs.load, run_id), None)
        if record is not None and counts(record):
            found.append(record)
    return len(found), sum(tokens_of(record) for record in found)
