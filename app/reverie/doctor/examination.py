"""Examines why the memory writer or a consolidation did not run: every condition (gate), in its order.

`gather` reads the facts about a workspace; `judge` runs the checks, which are pure functions of the facts,
and returns one finding for each, with evidence and maybe a fix. The first failure is the cause, because the
later ones may only follow from it.

Threading: blocks on disk, and on the network with `with_probe`; any thread but the GUI's. Failure:
`Unavailable` if the home no longer exists; any other data that cannot be read is itself a fact.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import AgentWriter, Home, SessionPlace, Workspace
from reverie.agents.capabilities import AgentWriterConfig, MemoryKinds, WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Turn
from reverie.clock import DAY_MS
from reverie.doctor.agent_checks import agent_findings
from reverie.doctor.checks import Check
from reverie.doctor.consolidation_checks import DREAM_CHECKS
from reverie.doctor.facts import (
    DoctorHome,
    DoctorHooks,
    FileFacts,
    ModelFacts,
    WorkspaceFacts,
    free_bytes,
    holder,
    lease_problem,
    look_at,
    newest_dumps,
    newest_runs,
    read_state,
    scope_directory,
)
from reverie.doctor.findings import Finding, ProbeFacts
from reverie.doctor.fixes import Fixes
from reverie.doctor.layout_checks import LAYOUT_CHECKS
from reverie.doctor.leftovers import maker_of
from reverie.doctor.machine_checks import MACHINE_CHECKS
from reverie.doctor.writer_checks import (
    AGENT_WRITER,
    NO_WRITER,
    WRITER_CHECKS,
    WRITER_SWITCH,
    needs_no_writer,
)
from reverie.errors import UserError
from reverie.files.log_file import level_in_words
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.consolidate.triggers import counts, tokens_of
from reverie.jobs.single_file.service import lease_name
from reverie.jobs.single_file.writer import PROJECT_MEMORY
from reverie.jobs.single_file.writer_turns import interval_of
from reverie.runs.record import started_of
from reverie.settings import Settings, load_settings
from reverie.text.summaries import some

if TYPE_CHECKING:
    from reverie.runs.activity import ActivityEntry

_ACTIVITY_ENTRIES = 500


def gather(
    parts: DoctorHome,
    context: ScopeContext,
    hooks: DoctorHooks,
    *,
    now: int,
    with_probe: bool = False,
    env: Mapping[str, str] | None = None,
) -> WorkspaceFacts:
    """Read and return all facts about the workspace of `context`.

    `parts`: the home and its services; `hooks`: functions of other parts of the program. `now`: the current
    time (UTC ms). `with_probe`: send a real request to the model. `env`: the environment variables; None:
    those of the process. Raises `Unavailable` if the home no longer exists.
    """
    home, workspace_id = parts.home, context.workspace_id
    settings, problems = load_settings(parts.profile.settings_file)
    writer, sessions = home.writer, home.sessions
    place, agent_writer = None, AgentWriterConfig(enabled=writer is not None or workspace_id is None)
    if writer is not None and workspace_id is not None:
        place, agent_writer = writer.writer_place(workspace_id), writer.writer_config(workspace_id)
    session = None if sessions is None or workspace_id is None else sessions.session_place(workspace_id)
    turns, turns_problem = _turns(writer, session)
    memory, memory_problem = _memory(home, context, settings, place)
    entries, damage = _activity(parts)
    runs, tokens = _spent(parts, now)
    covered_at, coverage_problems = _coverage(parts, workspace_id)
    dumps = () if place is None else newest_dumps(place.dump_directory)
    model = hooks.model() if hooks.model is not None else None
    return WorkspaceFacts(
        now=now,
        home_id=parts.home_id,
        context=context,
        settings=settings,
        settings_problems=problems,
        workspace=_workspace(home, workspace_id),
        interval=interval_of(settings.system1.interval, agent_writer.interval),
        agent_switched_off=not agent_writer.enabled,
        transcript=None if session is None else look_at(session.directory / session.files[-1]),
        turns=turns,
        partial=None if session is None else look_at(session.directory / "partial.json"),
        transcript_problem=turns_problem,
        state=None if place is None else read_state(place.state_file),
        memory=memory,
        memory_directory=None if memory is None else _nearest_directory(memory.path.parent),
        memory_problem=memory_problem,
        kinds=MemoryKinds() if writer is None else writer.memory_kinds(),
        dumps=dumps,
        runs=newest_runs(dumps),
        activity=entries,
        activity_damage=damage,
        lease_problem=lease_problem(parts.leases),
        host=holder(parts.leases, f"host:{parts.home_id}"),
        writer=holder(parts.leases, lease_name("writer", parts.home_id, workspace_id or "")),
        dream=holder(parts.leases, dream_lease_name(parts.home_id)),
        watch=hooks.watch() if hooks.watch is not None else None,
        free_bytes=free_bytes(home.root),
        own_free_bytes=free_bytes(parts.profile.data),
        recent_runs=runs,
        recent_tokens=tokens,
        coverage_at=covered_at,
        coverage_problems=coverage_problems,
        log_level=hooks.log_level or level_in_words(os.environ if env is None else env),
        model=model,
        dream_model=hooks.dream_model() if hooks.dream_model is not None else None,
        probe=_tested(hooks, model) if with_probe else None,
        # Dumps are what a memory writer leaves: an agent without one has no place for them.
        has_writer=writer is not None,
        refusals=parts.write_guard.unknown(context),
        agent_checks=tuple(
            (check, None if check.suspect is None else maker_of(parts.actors, check.suspect))
            for check in (() if home.jobs is None else home.jobs.checks(context))
        ),
    )


def project_memory_file(home: Home, context: ScopeContext) -> tuple[Path | None, str]:
    """Return the path of the project memory that the memory writer can be set to write, and "".

    By default, the memory writer writes the agent's single file instead. If the context has no project
    memories, returns None and the reason as a sentence.
    """
    directory, gap = scope_directory(home, context)
    return (None if directory is None else directory / PROJECT_MEMORY), gap


def _tested(hooks: DoctorHooks, model: ModelFacts | None) -> tuple[ProbeFacts, ...] | None:
    """Test the model by a real request; return the steps of the test.

    Returns None if the model, or the function to test it, is not available. Returns an empty tuple if the run
    works by rules, without a model.
    """
    if hooks.probe is None or model is None or model.problem:
        return None
    return () if model.engine == "rules" else hooks.probe(model.engine)


def _workspace(home: Home, workspace_id: str | None) -> Workspace | None:
    if workspace_id is None or home.sessions is None:
        return None
    try:
        return home.sessions.workspace(workspace_id)
    except UserError:
        return None


def _turns(writer: AgentWriter | None, session: SessionPlace | None) -> tuple[tuple[Turn, ...], str]:
    if writer is None or session is None:
        return (), ""
    try:
        return tuple(row.turn for row in writer.newest_turns(session)), ""
    except UserError as error:
        return (), str(error)


def _activity(parts: DoctorHome) -> tuple[tuple[ActivityEntry, ...], str]:
    """Return the newest entries of the Activity log, and a sentence about damage to it ("" if undamaged)."""
    try:
        entries = parts.activity.read(_ACTIVITY_ENTRIES)
    except UserError as error:
        return (), str(error)
    lines = parts.activity.damaged_lines
    return entries, f"{some(lines, 'line')} of the Activity log cannot be read and are left out." * bool(
        lines
    )


def _coverage(parts: DoctorHome, workspace_id: str | None) -> tuple[int | None, tuple[str, ...]]:
    """Return the time of a workspace's last consolidation, and a sentence for each unreadable record.

    Consolidations are runs that tidy up memories. The time is in UTC ms; it is None if there was none, or if
    the records cannot be read.
    """
    try:
        coverage = parts.coverage.load()
    except UserError as error:
        return None, (str(error),)
    record = coverage.workspaces.get(workspace_id) if workspace_id is not None else None
    return (None if record is None else int(record["lastRunAt"])), tuple(coverage.problems)


def _memory(
    home: Home, context: ScopeContext, settings: Settings, place: WriterPlace | None
) -> tuple[FileFacts | None, str]:
    """Return the facts about the file that the memory writer writes, and "".

    If the context has no such file, returns None and the reason as a sentence. `place`: the paths of the
    files of the agent's own writer; None if the agent has none.
    """
    if settings.system1.target == "project-memory":
        path, gap = project_memory_file(home, context)
    else:
        path = None if place is None else place.memory_file
        gap = "" if path is not None else scope_directory(home, context)[1] or "It belongs to no project."
    return (None, gap) if path is None else (look_at(path), "")


def _nearest_directory(path: Path) -> FileFacts:
    """Return the facts about `path` or, if it is missing, about the nearest existing directory above it."""
    for place in (path, *path.parents):
        found = look_at(place)
        if found.kind != "missing":
            return found
    return look_at(path)


def _spent(parts: DoctorHome, now: int) -> tuple[int, int]:
    """Return the number of background runs in the 24 hours before `now` (UTC ms), and the tokens they used.

    Runs that a person started and dry runs do not count.
    """
    found = []
    for run_id in parts.runs.ids():
        if started_of(run_id) <= now - DAY_MS:
            break
        try:
            record = parts.runs.load(run_id)
        except UserError:
            continue
        if counts(record):
            found.append(record)
    return len(found), sum(tokens_of(record) for record in found)


CHECKS: tuple[Check, ...] = (
    *WRITER_CHECKS[:1],
    *LAYOUT_CHECKS,
    *WRITER_CHECKS[1:],
    *MACHINE_CHECKS,
    *DREAM_CHECKS,
)


def examine(
    parts: DoctorHome,
    context: ScopeContext,
    hooks: DoctorHooks | None = None,
    *,
    now: int,
    with_probe: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Run every check of one workspace; return the findings in the order in which a run tests its conditions.

    `hooks`: functions of other parts of the program; None: none of them is available. `now`: the current time
    (UTC ms). `with_probe`: send a real request to the model. `env`: the environment variables; None: those of
    the process.
    """
    hooks = hooks or DoctorHooks()
    facts = gather(parts, context, hooks, now=now, with_probe=with_probe, env=env)
    return judge(facts, Fixes(parts, hooks))


def judge(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """Run all checks on these facts; return the findings in the order in which a run tests its conditions.

    A finding may offer one of `fixes`. The conditions of Reverie's memory writer are left out if the agent
    has no memory writer, or if this version of the agent writes its memories by itself and Reverie's writer
    is off.
    """
    checks = CHECKS
    if not facts.has_writer:
        checks = (*LAYOUT_CHECKS, NO_WRITER, *MACHINE_CHECKS, *DREAM_CHECKS)
    elif needs_no_writer(facts):
        own = (AGENT_WRITER,) * bool(facts.agent_runs)
        checks = (*own, *LAYOUT_CHECKS, WRITER_SWITCH, *MACHINE_CHECKS, *DREAM_CHECKS)
    return (
        *agent_findings(facts, fixes),
        *(check.finding(facts, fixes) for check in checks),
    )
