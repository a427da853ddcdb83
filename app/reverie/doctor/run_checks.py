"""The checks of runs: the gates of memory writer and consolidation, the machine, and layouts of agents;
`examine` runs them over the facts of a workspace.

The writer's gates come in the order in which it meets them (formats/mux.md section 14). Pure: facts in, a
finding out. A closed gate is a failure, with a fix where one click opens it; an open gate with something odd
about it is a warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import AgentWriter, Home, SessionPlace, Workspace
from reverie.agents.capabilities import AgentWriterConfig, MemoryKinds, WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Turn
from reverie.clock import DAY_MS
from reverie.doctor.findings import (
    MINUTE_MS,
    RULES,
    DoctorHome,
    DoctorHooks,
    FileFacts,
    Finding,
    Fix,
    Fixes,
    ModelFacts,
    ProbeFacts,
    State,
    StateFacts,
    Verdict,
    WorkspaceFacts,
    agent_findings,
    ago,
    dump_time,
    free_bytes,
    holder,
    lease_problem,
    look_at,
    maker_of,
    newest_dumps,
    read_state,
    scope_directory,
    size,
)
from reverie.errors import UserError
from reverie.files.log_file import level_in_words
from reverie.jobs.consolidate.run import DEBOUNCE_MS, dream_lease_name
from reverie.jobs.consolidate.triggers import counts, tokens_of
from reverie.jobs.writer.service import writer_lease_name
from reverie.jobs.writer.state import PROJECT_MEMORY, interval_of
from reverie.llm.trace_facts import facts_of
from reverie.llm.trace_facts import judge as trace_verdict
from reverie.llm.trace_reader import read_dump
from reverie.runs.record import started_of
from reverie.settings import Settings, load_settings
from reverie.text.summaries import some

if TYPE_CHECKING:
    from reverie.runs.activity import ActivityEntry


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a workspace: what it is called, and how it judges."""

    name: str
    """For scripts."""
    title: str
    """For people."""
    judge: Callable[[WorkspaceFacts, Fixes], Verdict]

    def finding(self, facts: WorkspaceFacts, fixes: Fixes) -> Finding:
        """What the facts mean, with what to do about it."""
        return Finding(self.name, self.title, *self.judge(facts, fixes))


# Whether Reverie knows the layout and versions of the stores in use, and so may write. Pure.


def known_layout(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    refused = [refusal for refusal, permitted in facts.refusals if not permitted]
    if refused:
        sentences = (" ".join((each.title, each.evidence, each.next_step)) for each in refused)
        return "fail", " ".join(sentences), fixes.write_anyway(refused)
    if facts.refusals:
        evidence = " ".join(each.evidence for each, _permitted in facts.refusals)
        return "warn", f"{evidence} You chose to write anyway."
    return "pass", "All layouts and versions found here are known."


LAYOUT_CHECKS = (Check("known-layout", "Reverie knows this layout", known_layout),)


# Findings that several lists of checks have in common. Pure.


def last_activity(facts: WorkspaceFacts, *sources: str) -> Verdict:
    """The newest line of Activity about this workspace from one of `sources`."""
    last = facts.last(*sources)
    if last is None:
        return "pass", "Nothing yet about this workspace."
    state: State = "warn" if last.level in ("warning", "error") else "pass"
    times = f" ({last.times} times)" if last.times > 1 else ""
    return state, f"{ago(facts.now, last.last_at)}{times}: {last.text}"


def no_model(found: ModelFacts | None, fix: Fix) -> Verdict:
    """What is to be said where no model was looked at, or it has a problem, which `fix` mends."""
    if found is None:
        return "pass", "It was not looked at here: this place knows no models."
    return "fail", f"{found.engine}: {found.problem}", fix


DEFAULT_INTERVAL = 2
# Longer than any run may last: the default time limit is 10 s, and one that is given more says so itself.
_STUCK_MS = 15 * MINUTE_MS
_ABORTED_IN_A_ROW = 3
_OUTCOMES = tuple(
    f"writer.{end}"
    for end in (
        "completed",
        "unchanged",
        "exited-without-updating",
        "timed-out",
        "failed",
        "cancelled",
        "held",
    )
)
_NO_RUN_YET = "Say something in the workspace, with the background services running."


def needs_no_writer(facts: WorkspaceFacts) -> bool:
    """Whether the agent is of a version that writes its memories itself, and nobody turned Reverie's writer
    on."""
    kinds = facts.kinds
    return not facts.settings.system1.enabled and kinds.project_store is True and kinds.project_file is False


def feature(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if needs_no_writer(facts):
        evidence = "Reverie's memory writer is off, as it is until you turn it on. "
        evidence += "This agent writes memories with tools of its own."
        return "off", evidence, fixes.switch_writer_on()
    if not facts.settings.system1.enabled:
        evidence = "It is switched off in Reverie's settings, as it is until somebody switches it on."
        return "fail", evidence, fixes.switch_writer_on()
    if facts.agent_switched_off:
        evidence = "The agent's own configuration switches its memory writer off, and Reverie follows it. "
        return "fail", f"{evidence}Switch it on there: Reverie never writes that file."
    return "pass", "It is switched on in the settings."


def root_workspace(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    workspace = facts.workspace
    if facts.context.workspace_id is None:
        return "fail", "No workspace is chosen. Choose one with turns in it."
    if workspace is None:
        return "fail", "This home does not list the workspace, or its list is unreadable."
    if workspace.parent_id is not None:
        evidence = f"It is a task of workspace {workspace.parent_id}; memories are written for that one only."
        return "fail", f"{evidence} Look there."
    if workspace.archived:
        return "warn", "The workspace is archived, so no turn ends in it any more."
    return "pass", "It is listed, and no other workspace's task."


def interval(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.interval
    where = "the agent's configuration" if found.source == "agent" else "Reverie's settings"
    if found.turns is None:
        evidence = f"In {where}: {found.problem}. Mend or remove it there: Reverie never writes that file."
        return "fail", evidence
    bad = next((problem for problem in facts.settings_problems if problem.startswith("system1.interval")), "")
    if bad and found.source == "settings":
        return "warn", bad, fixes.set_interval(DEFAULT_INTERVAL)
    every = "every turn" if found.turns == 1 else f"every {found.turns} turns"
    return "pass", f"It runs after {every}, as set in {where}."


def transcript(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    file = facts.transcript
    if file is None:
        return "fail", "This agent keeps no transcript that could be followed."
    if facts.transcript_problem:
        return "fail", facts.transcript_problem
    if file.kind == "missing":
        return "fail", f"{file.path} does not exist: nothing was said here yet."
    if file.kind != "file":
        return "fail", f"{file.path} is no regular file. {file.problem}".strip()
    seen = f"{size(file.size)}, last grew {ago(facts.now, file.changed_at)}"
    if not facts.turns:
        return "fail", f"There is no whole turn at its end ({seen})."
    return "pass", f"{file.path.name}: {seen}."


def last_turn(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """Only a completed stream counts as a turn."""
    answers = _answers(facts)
    if not answers:
        return "warn", f"The assistant has not answered here yet. {_NO_RUN_YET}"
    cut = 0
    for turn in reversed(answers):
        if turn.finished:
            break
        cut += 1
    if cut:
        state: State = "fail" if cut >= _ABORTED_IN_A_ROW or cut == len(answers) else "warn"
        evidence = (
            "The last answer was cut off or ended in an error; such a turn never counts."
            if cut == 1
            else f"The last {cut} answers were cut off or ended in an error; such turns never count."
        )
        return state, f"{evidence} The next one that comes to its end does."
    when = answers[-1].timestamp
    at = "" if when is None else f", {ago(facts.now, when)}"
    partial = facts.partial is not None and facts.partial.kind == "file"
    running = " Another answer is being written." if partial else ""
    return "pass", f"{answers[-1].id} ended{at}.{running}"


def state_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    state = facts.state
    if state is None:
        return "fail", "This home has no place for the state of a memory writer."
    return _state_damage(state, fixes) or _state_result(facts, state, fixes)


def model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.model
    if found is None or found.problem:
        return no_model(found, fixes.use_rules())
    if found.engine == RULES:
        return "pass", f"The rules engine writes; it needs no model. {found.reason}"
    return "pass", f"{found.engine}. {found.reason}"


def reachable(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, "settings", "reachable", "key", "model")


def tool_calling(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, "tool-calling", "streaming")


def target(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Whether the agent in this home loads what the writer writes."""
    chosen, kinds = facts.settings.system1.target, facts.kinds
    to_file = chosen == "project-file"
    loaded, other = kinds.project_file, kinds.project_store
    if not to_file:
        loaded, other = other, loaded
    what = "one file a project" if to_file else "a project memory"
    if loaded is False and other:
        instead = "project-memory" if to_file else "project-file"
        return (
            "warn",
            f"The writer writes {what}, which the agent of this home does not load. {kinds.evidence}",
            fixes.set_target(instead),
        )
    return "pass", f"The writer writes {what}. {kinds.evidence}"


def memory_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    file = facts.memory
    if file is None:
        return "fail", f"There is none for this workspace. {facts.memory_problem}"
    if file.kind in ("directory", "other"):
        evidence = f"Something that is no file lies at {file.path}. {file.problem}".strip()
        return "fail", evidence, fixes.set_aside(file.path)
    if file.kind == "file" and not file.writable:
        return "fail", f"{file.path} is write-protected.", fixes.make_writable(file.path)
    above = facts.memory_directory
    if above is not None and (above.kind != "directory" or not above.writable):
        fix = fixes.make_writable(above.path) if above.kind == "directory" else None
        return "fail", f"Nothing can be made in {above.path}.", fix
    if file.kind == "missing":
        return "pass", f"{file.path} is not there yet; the first run makes it."
    seen = f"{size(file.size)}, last changed {ago(facts.now, file.changed_at)}"
    return "pass", f"{file.path}: {seen}."


def traces(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    wanted = facts.settings.system1.traces
    if wanted == "never":
        evidence = "Traces are switched off, so why a run failed is not kept."
        return "warn", evidence, fixes.keep_traces_of_failures()
    if not facts.dumps:
        return "pass", "There is none: no run failed here while traces were kept."
    newest = facts.dumps[0]
    at = f"{some(len(facts.dumps), 'trace')}, the newest {ago(facts.now, dump_time(newest))}"
    return "pass", f"{at}: {newest.name}. {facts.verdict}".strip()


def _answers(facts: WorkspaceFacts) -> list[Turn]:
    """What the assistant itself said, oldest first."""
    return [turn for turn in facts.turns if turn.role == "assistant" and turn.kind == "message"]


def _state_damage(state: StateFacts, fixes: Fixes) -> Verdict | None:
    file = state.file
    if state.problem:
        return "fail", f"{file.path.name}: {state.problem} It counts as no turns.", fixes.set_aside(file.path)
    if file.kind == "file" and not file.writable:
        return "fail", f"{file.path} is write-protected.", fixes.make_writable(file.path)
    return None


def _state_result(facts: WorkspaceFacts, state: StateFacts, fixes: Fixes) -> Verdict:
    """What a sound state file means; the order is that of a run's life."""
    missed = _uncounted(facts, state)
    on = facts.settings.system1.enabled and facts.host is not None
    if state.file.kind == "missing":
        if on and not missed:
            return "pass", "There is none yet; it comes with the next turn that is completed."
        why = "No turn was counted yet: the writer was off, nobody ran it, or every stream was aborted."
        return ("fail" if on else "warn"), f"There is none. {why}"
    newest = facts.last("writer")
    if newest is not None and newest.event == "writer.stood-down":
        return "warn", f"{newest.text} ({ago(facts.now, newest.last_at)}) Let one of the two do it."
    turns, k = state.turns, facts.interval.turns or DEFAULT_INTERVAL
    counted = f"{turns} of {some(k, 'turn')} counted"
    if facts.writer is not None:
        since = ago(facts.now, facts.writer.acquired_at_ms)
        at = f"a run is at work since {since} in process {facts.writer.owner.pid} ({counted})."
        if facts.now - facts.writer.acquired_at_ms > _STUCK_MS:
            return "fail", f"Stuck in flight: {at} End that process; the next turn starts another run."
        return "pass", f"In flight: {at}"
    if state.unfinished:
        at = ago(facts.now, state.started_at or 0)
        evidence = f"A run began {at} and never ended: it crashed. It counts as due at the next turn."
        return "warn", evidence, fixes.run_writer()
    if turns > k or (turns == k and missed):
        evidence = f"{counted} and no run began: the interval was misread, or a run was stuck in flight."
        return "fail", evidence, fixes.run_writer()
    if missed:
        evidence = f"{some(missed, 'turn')} ended since it last changed, and none was counted ({counted}): "
        evidence += "the writer was off, or nobody ran it."
        return ("fail" if on else "warn"), evidence
    return _last_run(facts, state, counted, fixes)


def _last_run(facts: WorkspaceFacts, state: StateFacts, counted: str, fixes: Fixes) -> Verdict:
    if state.started_at is None:
        return "pass", f"{counted}; no run was due yet."
    at = ago(facts.now, state.started_at)
    if _written_since(facts.memory, state.started_at):
        return "pass", f"The last run began {at} and wrote ({counted})."
    last = facts.last(*_OUTCOMES)
    if last is not None and last.last_at < state.started_at:
        last = None
    if last is not None and last.event == "writer.unchanged":
        return "pass", f"The last run began {at} and found nothing new ({counted})."
    evidence = (
        f"The last run began {at} and ended, but the memory file did not change: it ran without a write. "
        "Either there was nothing to remember, or the model did not call the tool or had no access."
    )
    if facts.dumps and dump_time(facts.dumps[0]) >= state.started_at:
        evidence += f" Its trace says: {facts.verdict}"
    elif last is not None:
        evidence += f" Activity says: {last.text}"
    fix = None if facts.model is not None and facts.model.engine == RULES else fixes.use_rules()
    return "warn", evidence, fix


def _uncounted(facts: WorkspaceFacts, state: StateFacts) -> int:
    """How many finished turns are clearly newer than the last change of the state file; without one, than the
    services that should have counted them. A turn dated in the future says nothing."""
    if state.file.kind == "file":
        since = state.file.changed_at
    else:
        since = facts.host.acquired_at_ms if facts.host is not None else 0
    span = range(since + MINUTE_MS, facts.now + 1)
    return sum(turn.finished and turn.timestamp in span for turn in _answers(facts))


def _written_since(file: FileFacts | None, started_at: int) -> bool:
    return file is not None and file.kind == "file" and file.changed_at >= started_at


def _probed(facts: WorkspaceFacts, fixes: Fixes, *steps: str) -> Verdict:
    found = facts.model
    if found is not None and found.engine == RULES and not found.problem:
        return "pass", "The rules engine asks no model."
    if facts.probe is None:
        return "pass", "Not tested: that asks the model for real, on request only."
    steps_done = [step for step in facts.probe if step.name in steps]
    failed = next((step for step in steps_done if step.state == "fail"), None)
    if failed is not None:
        return "fail", failed.sentence, fixes.use_rules()
    if not any(step.state == "pass" for step in steps_done):
        return "warn", "It could not be tested, because an earlier step failed."
    return "pass", " ".join(step.sentence for step in steps_done if step.state == "pass")


WRITER_SWITCH = Check("feature", "The memory writer is switched on", feature)
WRITER_CHECKS = (
    WRITER_SWITCH,
    Check("root-workspace", "The workspace has a writer of its own", root_workspace),
    Check("interval", "The interval is valid", interval),
    Check("transcript", "The transcript is there and grows", transcript),
    Check("last-turn", "The last turn came to its end", last_turn),
    Check("state-file", "The state file says that runs happen", state_file),
    Check("model", "A model is configured, or the rules", model),
    Check("model-reachable", "The model answers", reachable),
    Check("tool-calling", "The model can call tools", tool_calling),
    Check("target", "The agent loads what is written", target),
    Check("memory-file", "The memory file can be written", memory_file),
    Check("traces", "Failures leave a trace", traces),
)
"""In the order of the gates."""


def no_writer(_facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    evidence = "This agent has no memory writer, so there are none. Its notes are its own, and those of "
    return "pass", f"{evidence}dreams, extraction and session notes."


NO_WRITER = Check("feature", "No gate of a memory writer is shut", no_writer)
"""Instead of all of them where the agent of this home has no memory writer."""


# The gates of dreams that run by themselves (formats/mux.md sections 10 and 11). Pure.


def switched_on(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.settings.background.of(facts.home_id).enabled:
        return "pass", "Background runs are switched on for this home."
    evidence = "Background runs are off for this home, as they are until you turn them on. "
    evidence += "You can consolidate by hand all the same."
    return "off", evidence, fixes.switch_background_on()


def budget(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    background = facts.settings.background.of(facts.home_id)
    spent = f"{facts.recent_runs} of {some(background.runs_per_day, 'run')}, "
    spent += f"{facts.recent_tokens:,} of {some(background.tokens_per_day, 'token')} in the last 24 hours."
    over = facts.recent_runs >= background.runs_per_day or facts.recent_tokens >= background.tokens_per_day
    if background.enabled and over:
        return "fail", f"Used up: {spent}", fixes.raise_budget()
    return "pass", spent


def dream_model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.dream_model
    if found is None or found.problem:
        return no_model(found, fixes.dream_by_rules())
    name = "The rules engine" if found.engine == RULES else found.engine
    return "pass", f"{name}. {found.reason}"


def coverage(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.coverage_problems:
        return "warn", facts.coverage_problems[0]
    if facts.dream is not None:
        since = ago(facts.now, facts.dream.acquired_at_ms)
        return "pass", f"One is at work since {since}: {facts.dream.purpose}."
    if facts.coverage_at is None:
        return "pass", "None yet."
    waits = facts.now - facts.coverage_at < DEBOUNCE_MS
    following = "; the next one by itself comes after 6 hours" if waits else ""
    return "pass", f"{ago(facts.now, facts.coverage_at)}{following}."


def last_decision(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    return last_activity(facts, "trigger", "dream", "harvest")


DREAM_CHECKS = (
    Check("dream-switch", "Dreams may run by themselves", switched_on),
    Check("dream-budget", "The day's budget is not used up", budget),
    Check("dream-model", "A dream has a model, or the rules", dream_model),
    Check("dream-coverage", "The last dream of this workspace", coverage),
    Check("dream-last", "What the triggers of dreams said last", last_decision),
)
"""In the order of the gates."""


# What has to hold around the gates: who runs the services, how they watch, disk, clock, log. Pure.


SCARCE_BYTES = 500 << 20
FULL_BYTES = 20 << 20
_AHEAD_MS = 5 * MINUTE_MS


def log_level(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.log_level.startswith("debug"):
        return "pass", f"{facts.log_level}: every gate and outcome is logged."
    evidence = f"{facts.log_level}: a successful write is logged; gates and outcomes stand in Activity."
    return "pass", evidence, fixes.debug_logging()


def host(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.lease_problem:
        return "fail", facts.lease_problem
    holder = facts.host
    if holder is not None:
        since = ago(facts.now, holder.acquired_at_ms)
        return "pass", f"{holder.purpose}, process {holder.owner.pid}, since {since}."
    wanted = facts.settings.system1.enabled or facts.settings.background.of(facts.home_id).enabled
    if not wanted:
        return "pass", "Nothing is switched on, so nothing has to run."
    return "fail", "Nobody runs them for this home. Leave the window open, or run `reverie watch`."


def watcher(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    polling = facts.settings.watch.polling
    state = facts.watch
    if state is not None and state.mode == "stopped":
        return "fail", "The watcher of this window is stopped. Open the home again."
    if state is not None and state.mode == "polling":
        words = f"The folders are looked through again and again. {state.message}".strip()
        fix = fixes.watch_with("auto") if polling == "always" else None
        return "pass" if polling == "always" else "warn", words, fix
    if state is not None and state.failures:
        return "warn", f"Changes could not be handed over ({some(state.failures, 'time')}); the log says why."
    if state is not None and state.message:
        fix = fixes.watch_with("auto") if polling == "never" else None
        return "warn", state.message, fix
    if state is not None:
        return "pass", f"By events, in {some(state.watches, 'folder')}."
    last = facts.last("host.watch")
    if last is not None and facts.host is not None and last.last_at >= facts.host.acquired_at_ms:
        return "warn", last.text
    if polling == "never":
        evidence = "By events only; where the system gives none, changes show at the next full scan."
        return "warn", evidence, fixes.watch_with("auto")
    how = "again and again" if polling == "always" else "by events, or by looking where there are none"
    return "pass", f"The settings say: {how}."


def disk(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    known = [
        (free, where)
        for free, where in (
            (facts.free_bytes, "the home lies"),
            (facts.own_free_bytes, "Reverie's own files lie"),
        )
        if free is not None
    ]
    if not known:
        return "warn", "How much is free could not be found out."
    free, where = min(known)
    state = space_state(free)
    advice = "" if state == "pass" else " Free some space."
    return state, f"{size(free)} are free where {where}.{advice}"


def space_state(free: int) -> State:
    """Whether `free` bytes are enough."""
    return "fail" if free < FULL_BYTES else "warn" if free < SCARCE_BYTES else "pass"


def clock(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """A clock that is behind makes every age wrong: debounce, retention, and which run was last."""
    stamps = [(turn.timestamp, f"turn {turn.id}") for turn in facts.turns if turn.timestamp is not None]
    if facts.state is not None:
        stamps += [
            (moment, "the last run")
            for moment in (facts.state.started_at, facts.state.completed_at)
            if moment is not None
        ]
    newest, what = max(stamps, default=(0, ""))
    if newest > facts.now + _AHEAD_MS:
        evidence = (
            f"{what[:1].upper()}{what[1:]} is dated {ago(facts.now, newest)}. Set this machine's clock."
        )
        return "fail", evidence
    return "pass", "Nothing here is dated in the future."


def activity(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.activity_damage:
        return "warn", facts.activity_damage
    return last_activity(facts, "writer", "host")


MACHINE_CHECKS = (
    Check("log-level", "What the log tells", log_level),
    Check("services", "The background services run", host),
    Check("watcher", "Changes on disk are noticed", watcher),
    Check("disk", "There is space on the disk", disk),
    Check("clock", "The clock is right", clock),
    Check("activity", "What the services said last", activity),
)
"""In the order of the gates."""


# Why the writer or a consolidation did not run: every gate in its order, with evidence and a fix.
#
# `examine` gathers the facts and judges them; the checks are pure functions
# of the facts. The first failure is the cause: later ones may only follow from it.
#
# Threading: blocks on disk, with `with_probe` on the network; any thread but the GUI's. Failure:
# `Unavailable` where the home is gone; whatever else cannot be read is a fact, too.


# Gathering the facts of one workspace; see `doctor.findings`.


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
    """Read everything once. Raises `Unavailable` where the home is gone."""
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
        transcript=_transcript(session),
        turns=turns,
        partial=None if session is None else look_at(session.directory / "partial.json"),
        transcript_problem=turns_problem,
        state=None if place is None else read_state(place.state_file),
        memory=memory,
        memory_directory=None if memory is None else _nearest_directory(memory.path.parent),
        memory_problem=memory_problem,
        kinds=MemoryKinds() if writer is None else writer.memory_kinds(),
        dumps=dumps,
        verdict=_verdict(dumps),
        activity=entries,
        activity_damage=damage,
        lease_problem=lease_problem(parts.leases),
        host=holder(parts.leases, f"host:{parts.home_id}"),
        writer=holder(parts.leases, writer_lease_name(parts.home_id, workspace_id or "")),
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
    """The project memory that is the writer's other target, or why there is none."""
    directory, gap = scope_directory(home, context)
    return (None if directory is None else directory / PROJECT_MEMORY), gap


def _tested(hooks: DoctorHooks, model: ModelFacts | None) -> tuple[ProbeFacts, ...] | None:
    """What a real test of the model says; None where there is nothing to test, empty for rules."""
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


def _transcript(session: SessionPlace | None) -> FileFacts | None:
    return None if session is None else look_at(session.directory / session.files[-1])


def _turns(writer: AgentWriter | None, session: SessionPlace | None) -> tuple[tuple[Turn, ...], str]:
    if writer is None or session is None:
        return (), ""
    try:
        return tuple(row.turn for row in writer.newest_turns(session)), ""
    except UserError as error:
        return (), str(error)


def _activity(parts: DoctorHome) -> tuple[tuple[ActivityEntry, ...], str]:
    """The newest entries, and what is wrong with the log."""
    try:
        entries = parts.activity.read(_ACTIVITY_ENTRIES)
    except UserError as error:
        return (), str(error)
    lines = parts.activity.damaged_lines
    return entries, f"{some(lines, 'line')} of the Activity log cannot be read and are left out." * bool(
        lines
    )


def _coverage(parts: DoctorHome, workspace_id: str | None) -> tuple[int | None, tuple[str, ...]]:
    """When the workspace was covered last, and what is wrong with the records."""
    try:
        coverage = parts.coverage.load()
    except UserError as error:
        return None, (str(error),)
    record = coverage.workspaces.get(workspace_id) if workspace_id is not None else None
    return (None if record is None else int(record["lastRunAt"])), tuple(coverage.problems)


def _verdict(dumps: tuple[Path, ...]) -> str:
    """What the newest trace comes to, in words."""
    if not dumps:
        return ""
    try:
        dump = read_dump(dumps[0], sketch=True)
    except UserError as error:
        return str(error)
    verdict = trace_verdict(facts_of(dump.document), dump.damage, lost=dump.lost)
    where = verdict.evidence.sentence()
    return f"{verdict.sentence} ({where.rstrip('.')})" if where else verdict.sentence


def _memory(
    home: Home, context: ScopeContext, settings: Settings, place: WriterPlace | None
) -> tuple[FileFacts | None, str]:
    """The file that the writer writes, or why there is none."""
    if settings.system1.target == "project-memory":
        path, gap = project_memory_file(home, context)
    else:
        path = None if place is None else place.memory_file
        gap = "" if path is not None else scope_directory(home, context)[1] or "No project belongs to it."
    return (None, gap) if path is None else (look_at(path), "")


def _nearest_directory(path: Path) -> FileFacts:
    """The directory, or the nearest one above it that is there: what is missing is made in that one."""
    for place in (path, *path.parents):
        found = look_at(place)
        if found.kind != "missing":
            return found
    return look_at(path)


def _spent(parts: DoctorHome, now: int) -> tuple[int, int]:
    """Background runs of the last 24 hours and their tokens, as the triggers count them."""

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


CHECKS: tuple[Check, ...] = (*LAYOUT_CHECKS, *WRITER_CHECKS, *MACHINE_CHECKS, *DREAM_CHECKS)


def examine(
    parts: DoctorHome,
    context: ScopeContext,
    hooks: DoctorHooks | None = None,
    *,
    now: int,
    with_probe: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Every check of one workspace, in the order of the gates. `with_probe` asks the model for real."""
    hooks = hooks or DoctorHooks()
    facts = gather(parts, context, hooks, now=now, with_probe=with_probe, env=env)
    return judge(facts, Fixes(parts, hooks))


def judge(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """The findings that follow from the facts. Its gates are judged only where there is a memory writer, and
    where it is on or the agent is of a version that has one."""
    checks = CHECKS
    if not facts.has_writer:
        checks = (*LAYOUT_CHECKS, NO_WRITER, *MACHINE_CHECKS, *DREAM_CHECKS)
    elif needs_no_writer(facts):
        checks = (*LAYOUT_CHECKS, WRITER_SWITCH, *MACHINE_CHECKS, *DREAM_CHECKS)
    return (
        *agent_findings(facts, fixes),
        *(check.finding(facts, fixes) for check in checks),
    )
