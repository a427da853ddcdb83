"""The checks of runs: the gates of memory writer and consolidation, the machine, and layouts of agents;
`examine` runs them over the facts of a workspace.

The writer's gates come in the order in which it meets them (formats/mux.md section 14). Pure: facts in, a
finding out. A closed gate is a failure, with a fix where one click opens it; an open gate with something odd
about it is a warning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import AgentWriter, Home, SessionPlace, Workspace
from reverie.agents.capabilities import AgentWriterConfig, MemoryKinds, WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Turn
from reverie.clock import DAY_MS
from reverie.doctor.findings import (
    MINUTE_MS,
    MOST_DUMPS,
    RULES,
    DoctorHome,
    DoctorHooks,
    FileFacts,
    Finding,
    Fix,
    Fixes,
    ModelFacts,
    ProbeFacts,
    Remedy,
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
    newest_runs,
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
from reverie.runs.record import started_of
from reverie.settings import Settings, load_settings
from reverie.text.summaries import NOTHING, Phrase, phrase, plain, plural, some, together
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.files.locks import LeaseHolder
    from reverie.runs.activity import ActivityEntry


class Check(Struct, frozen=True):
    """One check of a workspace: what it is called, and how it judges."""

    name: str
    """For scripts."""
    holds: str
    """The fact for people, where nothing is wrong; a template of a phrase."""
    fails: str
    """The fact otherwise."""
    judge: Callable[[WorkspaceFacts, Fixes], Verdict]

    def finding(self, facts: WorkspaceFacts, fixes: Fixes) -> Finding:
        """What the facts mean, with what to do about it."""
        return self._made(*self.judge(facts, fixes))

    def _made(
        self,
        state: State,
        evidence: Phrase,
        fix: Fix | None = None,
        title: Phrase | None = None,
        remedy: Remedy = "",
    ) -> Finding:
        fact = title or Phrase(self.holds if state == "pass" else self.fails)
        return Finding(self.name, fact, state, evidence, fix, remedy)


# Whether Reverie knows the layout and versions of the stores in use, and so may write. Pure.


def known_layout(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    refused = [refusal for refusal, permitted in facts.refusals if not permitted]
    if refused:
        sentences = (text for each in refused for text in (each.title, each.evidence, each.next_step))
        return "fail", together(*sentences), fixes.write_anyway(refused)
    if facts.refusals:
        evidence = together(*(each.evidence for each, _permitted in facts.refusals))
        return "warn", together(evidence, phrase("You chose to write anyway."))
    return "pass", phrase("All layouts and versions found here are known.")


LAYOUT_CHECKS = (
    Check("known-layout", "Reverie knows this layout", "Reverie does not know this layout", known_layout),
)


# Findings that several lists of checks have in common. Pure.


def last_activity(facts: WorkspaceFacts, *sources: str) -> Verdict:
    """The newest line of the log about this workspace from one of `sources`."""
    last = facts.last(*sources)
    if last is None:
        return "pass", phrase("Nothing yet about this workspace.")
    state: State = "warn" if last.level in ("warning", "error") else "pass"
    age = ago(facts.now, last.last_at)
    if last.times > 1:
        age = plural("{age} (once)", "{age} (%n times)", last.times, age=age)
    return state, phrase("{age}: {text}", age=age, text=last.text)


def no_model(found: ModelFacts | None, fix: Fix) -> Verdict:
    """What is to be said where no model was looked at, or it has a problem, which `fix` solves."""
    if found is None:
        return "pass", phrase("It was not looked at here: this place knows no models.")
    evidence = phrase("{model}: {problem}", model=found.engine, problem=found.problem)
    return "fail", evidence, fix, None, remedy_of(found.problem)


_KEY = re.compile(r"\bkey\b|\b40[13]\b|unauthori[sz]ed|authenticat", re.IGNORECASE)


def remedy_of(problem: str) -> Remedy:
    """What to change where a model cannot be used."""
    return "key" if _KEY.search(problem) else "model"


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
_OTHER_MODEL = frozenset({"prose", "never-called", "no-tool-support", "bad-json"})


def agent_writer(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Judge the last runs of the agent's own writer. A run that fails leaves a trace; one that does not is
    known by the state file alone."""
    runs = facts.agent_runs
    if not runs and len(facts.dumps) > MOST_DUMPS:
        return "pass", phrase("None of the newest {n} traces is of its runs.", n=MOST_DUMPS)
    if not runs:
        return "pass", phrase("None of its runs left a trace, so none is known to have failed.")
    newest = runs[0]
    age, why = ago(facts.now, newest.started_at), newest.verdict.sentence
    began = facts.state.started_at if facts.state is not None else None
    if newest.wrote:
        return "pass", phrase("{age}: {text}", age=age, text=why)
    if began is not None and began > newest.started_at + MINUTE_MS:
        later = phrase("A run {age} left no trace of a failure.", age=ago(facts.now, began))
        return "pass", together(later, phrase("The one before it, {age}: {text}", age=age, text=why))
    failed = next((number for number, run in enumerate(runs) if run.wrote), len(runs))
    title = plural(
        "The agent's memory writer wrote nothing in its last run",
        "The agent's memory writer wrote nothing in its last %n runs",
        failed,
    )
    remedy: Remedy = "model" if newest.verdict.name in _OTHER_MODEL else ""
    if newest.verdict.name == "provider-error" and remedy_of(newest.verdict.sentence) == "key":
        remedy = "key"
    evidence = phrase("Cause of the newest, {age}: {text}", age=age, text=why)
    can_write = facts.model is not None and not facts.model.problem and not remedy
    # It is no gate of Reverie's, and no reason for `reverie doctor` to fail.
    return "warn", evidence, fixes.run_writer() if can_write else None, title, remedy


def needs_no_writer(facts: WorkspaceFacts) -> bool:
    """Whether the agent is of a version that writes its memories itself, and nobody turned Reverie's writer
    on."""
    kinds = facts.kinds
    return not facts.settings.system1.enabled and kinds.project_store is True and kinds.project_file is False


def feature(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if needs_no_writer(facts):
        evidence = phrase("It is off until you turn it on. This agent writes memories with tools of its own.")
        return "off", evidence, fixes.switch_writer_on()
    if not facts.settings.system1.enabled:
        return "fail", phrase("It is off until you turn it on."), fixes.switch_writer_on()
    if facts.agent_switched_off:
        evidence = phrase(
            "The agent's own configuration turns its memory writer off, and Reverie follows it. "
            "Turn it on there: Reverie never writes that file."
        )
        return "fail", evidence
    return "pass", phrase("It is turned on in the settings.")


def root_workspace(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    workspace = facts.workspace
    if facts.context.workspace_id is None:
        return "fail", phrase("No workspace is chosen. Choose one with turns in it.")
    if workspace is None:
        return "fail", phrase("This home does not list the workspace, or its list is unreadable.")
    if workspace.parent_id is not None:
        evidence = phrase(
            "It is a task of workspace {parent}; memories are written for that one only. Look there.",
            parent=workspace.parent_id,
        )
        return "fail", evidence
    if workspace.archived:
        return "warn", phrase("The workspace is archived, so no turn ends in it any more.")
    return "pass", phrase("It is listed, and no other workspace's task.")


def interval(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.interval
    by_agent = found.source == "agent"
    where = phrase("the agent's configuration") if by_agent else phrase("Reverie's settings")
    if found.turns is None:
        seen = phrase("In {where}: {problem}.", where=where, problem=found.problem)
        advice = phrase("Correct or remove it there: Reverie never writes that file.")
        return "fail", together(seen, advice)
    bad = next((problem for problem in facts.settings_problems if problem.startswith("system1.interval")), "")
    if bad and not by_agent:
        return "warn", plain(bad), fixes.set_interval(DEFAULT_INTERVAL)
    every = plural("It runs after every turn", "It runs after every %n turns", found.turns)
    return "pass", phrase("{often}, as set in {where}.", often=every, where=where)


def transcript(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    file, unreadable = facts.transcript, phrase("The transcript cannot be read")
    if file is None:
        return "fail", phrase("This agent keeps no transcript that could be followed.")
    if facts.transcript_problem:
        return "fail", plain(facts.transcript_problem), None, unreadable
    if file.kind == "missing":
        return "fail", phrase("{path} does not exist: nothing was said here yet.", path=str(file.path))
    if file.kind != "file":
        no_file = phrase("{path} is no regular file.", path=str(file.path))
        return "fail", together(no_file, file.problem or ""), None, unreadable
    seen = {"size": size(file.size), "age": ago(facts.now, file.changed_at)}
    if not facts.turns:
        return "fail", phrase("There is no whole turn at its end ({size}, last grew {age}).", **seen)
    return "pass", phrase("{name}: {size}, last grew {age}.", name=file.path.name, **seen)


def last_turn(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """Only a completed stream counts as a turn."""
    answers = _answers(facts)
    if not answers:
        evidence = phrase("Say something in the workspace, with the background services running.")
        return "warn", evidence, None, phrase("The agent has not answered here yet")
    cut = 0
    for turn in reversed(answers):
        if turn.finished:
            break
        cut += 1
    if cut:
        state: State = "fail" if cut >= _ABORTED_IN_A_ROW or cut == len(answers) else "warn"
        evidence = plural(
            "The last answer was cut off or ended in an error; such a turn never counts.",
            "The last %n answers were cut off or ended in an error; such turns never count.",
            cut,
        )
        return state, together(evidence, phrase("The next one that ends well does."))
    when = answers[-1].timestamp
    ended = (
        phrase("{id} ended.", id=answers[-1].id)
        if when is None
        else phrase("{id} ended, {age}.", id=answers[-1].id, age=ago(facts.now, when))
    )
    partial = facts.partial is not None and facts.partial.kind == "file"
    return "pass", together(ended, phrase("Another answer is being written.") if partial else "")


def state_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    state = facts.state
    if state is None:
        return "fail", phrase("This home has no place for the state of a memory writer.")
    return _state_damage(state, fixes) or _state_result(facts, state, fixes)


def model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.model
    if found is None or found.problem:
        return no_model(found, fixes.use_rules())
    return "pass", _engine(found)


def _engine(found: ModelFacts) -> Phrase:
    if found.engine == RULES:
        return together(phrase("It works by rules, without a model."), found.reason)
    return together(phrase("{model}.", model=found.engine), found.reason)


def reachable(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, phrase("The model was not tested"), "settings", "reachable", "key", "model")


def tool_calling(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, phrase("Tool calls were not tested"), "tool-calling", "streaming")


def target(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Whether the agent in this home loads what the writer writes."""
    kinds = facts.kinds
    to_file = facts.settings.system1.target == "project-file"
    loaded, other = kinds.project_file, kinds.project_store
    if not to_file:
        loaded, other = other, loaded
    what = (
        phrase("The writer writes one file a project.")
        if to_file
        else phrase("The writer writes a project memory.")
    )
    if loaded is False and other:
        instead = "project-memory" if to_file else "project-file"
        ignored = phrase("The agent of this home does not load it.")
        return "warn", together(what, ignored, kinds.evidence), fixes.set_target(instead)
    return "pass", together(what, kinds.evidence)


def memory_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    file = facts.memory
    if file is None:
        return "fail", together(phrase("There is none for this workspace."), facts.memory_problem)
    path = str(file.path)
    if file.kind in ("directory", "other"):
        evidence = phrase("Something that is no file lies at {path}.", path=path)
        return "fail", together(evidence, file.problem or ""), fixes.set_aside(file.path)
    if file.kind == "file" and not file.writable:
        return "fail", _protected(file), fixes.make_writable(file.path)
    above = facts.memory_directory
    if above is not None and (above.kind != "directory" or not above.writable):
        fix = fixes.make_writable(above.path) if above.kind == "directory" else None
        return "fail", phrase("Nothing can be made in {path}.", path=str(above.path)), fix
    if file.kind == "missing":
        return "pass", phrase("{path} is not there yet; the first run makes it.", path=path)
    age = ago(facts.now, file.changed_at)
    return "pass", phrase("{path}: {size}, last changed {age}.", path=path, size=size(file.size), age=age)


def traces(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    wanted = facts.settings.system1.traces
    if wanted == "never":
        evidence = phrase("Traces are off, so why a run failed is not kept.")
        return "warn", evidence, fixes.keep_traces_of_failures()
    if not facts.dumps:
        return "pass", phrase("There is none: no run failed here while traces were kept.")
    newest = facts.dumps[0]
    kept = plural(
        "1 trace, from {age}: {name}.",
        "%n traces, the newest from {age}: {name}.",
        len(facts.dumps),
        age=ago(facts.now, dump_time(newest)),
        name=newest.name,
    )
    return "pass", together(kept, facts.verdict)


def _answers(facts: WorkspaceFacts) -> list[Turn]:
    """What the assistant itself said, oldest first."""
    return [turn for turn in facts.turns if turn.role == "assistant" and turn.kind == "message"]


def _protected(file: FileFacts) -> Phrase:
    return phrase("{path} is write-protected.", path=str(file.path))


def _state_damage(state: StateFacts, fixes: Fixes) -> Verdict | None:
    file, title = state.file, phrase("The writer's state file is damaged")
    if state.problem:
        evidence = phrase("{name}: {problem}", name=file.path.name, problem=state.problem)
        evidence = together(evidence, phrase("It counts as no turns."))
        return "fail", evidence, fixes.set_aside(file.path), title
    if file.kind == "file" and not file.writable:
        title = phrase("The writer's state cannot be saved")
        return "fail", _protected(file), fixes.make_writable(file.path), title
    return None


def _state_result(facts: WorkspaceFacts, state: StateFacts, fixes: Fixes) -> Verdict:
    """What a sound state file means; the order is that of a run's life."""
    missed = _uncounted(facts, state)
    on = facts.settings.system1.enabled and facts.host is not None
    if state.file.kind == "missing":
        if on and not missed:
            return "pass", phrase("There is no state yet; it comes with the next turn that is completed.")
        why = phrase("The writer was off, nothing ran it, or every answer was cut off.")
        return ("fail" if on else "warn"), why, None, phrase("No turn was counted yet")
    newest = facts.last("writer")
    if newest is not None and newest.event == "writer.stood-down":
        said = phrase("{text} ({age})", text=newest.text, age=ago(facts.now, newest.last_at))
        evidence = together(said, phrase("Let one of the two do it."))
        return "warn", evidence, None, phrase("The agent writes here itself")
    if facts.writer is not None:
        return _in_flight(facts, facts.writer, _counted(facts, state))
    if state.unfinished:
        at = ago(facts.now, state.started_at or 0)
        evidence = phrase("A run began {age} and never ended. It counts as due at the next turn.", age=at)
        return "warn", evidence, fixes.run_writer(), phrase("The last run crashed")
    return _turns_counted(facts, state, missed, fixes) or _last_run(facts, state, fixes)


def _counted(facts: WorkspaceFacts, state: StateFacts) -> Phrase:
    k = facts.interval.turns or DEFAULT_INTERVAL
    return plural("{count} of 1 turn counted", "{count} of %n turns counted", k, count=state.turns)


def _in_flight(facts: WorkspaceFacts, writer: LeaseHolder, counted: Phrase) -> Verdict:
    began = phrase(
        "A run began {age} in process {pid} and is still going ({counted}).",
        age=ago(facts.now, writer.acquired_at_ms),
        pid=str(writer.owner.pid),
        counted=counted,
    )
    if facts.now - writer.acquired_at_ms > _STUCK_MS:
        advice = phrase("End that process; the next turn starts another run.")
        return "fail", together(began, advice), None, phrase("A run is stuck")
    return "pass", began, None, phrase("The memory writer is running")


def _turns_counted(facts: WorkspaceFacts, state: StateFacts, missed: int, fixes: Fixes) -> Verdict | None:
    """Whether a turn was lost, or a run did not begin."""
    k, counted = facts.interval.turns or DEFAULT_INTERVAL, _counted(facts, state)
    if state.turns > k or (state.turns == k and missed):
        evidence = phrase(
            "{counted} and no run began: the interval was misread, or a run was stuck.", counted=counted
        )
        return "fail", evidence, fixes.run_writer(), phrase("A run that was due did not begin")
    if missed:
        on = facts.settings.system1.enabled and facts.host is not None
        evidence = plural(
            "1 turn ended since it last changed, and was not counted ({counted}): "
            "the writer was off, or nothing ran it.",
            "%n turns ended since it last changed, and none was counted ({counted}): "
            "the writer was off, or nothing ran it.",
            missed,
            counted=counted,
        )
        return ("fail" if on else "warn"), evidence, None, phrase("The last turns were not counted")
    return None


def _last_run(facts: WorkspaceFacts, state: StateFacts, fixes: Fixes) -> Verdict:
    counted = _counted(facts, state)
    if state.started_at is None:
        return "pass", phrase("{counted}; no run was due yet.", counted=counted)
    at = ago(facts.now, state.started_at)
    if _written_since(facts.memory, state.started_at):
        return "pass", phrase("The last run began {age} and wrote ({counted}).", age=at, counted=counted)
    last = facts.last(*_OUTCOMES)
    if last is not None and last.last_at < state.started_at:
        last = None
    if last is not None and last.event == "writer.unchanged":
        return "pass", phrase(
            "The last run began {age} and found nothing new ({counted}).", age=at, counted=counted
        )
    evidence = phrase(
        "It began {age} and ended, and the memory file did not change: "
        "either there was nothing to remember, or the model did not call the tool or had no access.",
        age=at,
    )
    why: Phrase | str = ""
    if facts.dumps and dump_time(facts.dumps[0]) >= state.started_at:
        why = phrase("Its trace says: {text}", text=facts.verdict)
    elif last is not None:
        why = phrase("The log says: {text}", text=last.text)
    fix = None if facts.model is not None and facts.model.engine == RULES else fixes.use_rules()
    return "warn", together(evidence, why), fix, phrase("The last run wrote nothing")


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


def _probed(facts: WorkspaceFacts, fixes: Fixes, untested: Phrase, *steps: str) -> Verdict:
    found = facts.model
    if found is not None and found.engine == RULES and not found.problem:
        return "pass", phrase("Without a model there is none to test."), None, untested
    if facts.probe is None:
        return (
            "pass",
            phrase("Testing asks the model for real, so it is done on request only."),
            None,
            untested,
        )
    steps_done = [step for step in facts.probe if step.name in steps]
    failed = next((step for step in steps_done if step.state == "fail"), None)
    if failed is not None:
        remedy = remedy_of(failed.sentence) if "key" in steps else "model"
        return "fail", plain(failed.sentence), fixes.use_rules(), None, remedy
    if not any(step.state == "pass" for step in steps_done):
        return "warn", phrase("It could not be tested, because an earlier step failed."), None, untested
    return "pass", together(*(step.sentence for step in steps_done if step.state == "pass"))


AGENT_WRITER = Check(
    "agent-writer",
    "The agent's own memory writer has no open failure",
    "The agent's memory writer wrote nothing",
    agent_writer,
)
WRITER_SWITCH = Check("feature", "The memory writer is on", "The memory writer is off", feature)
WRITER_CHECKS = (
    AGENT_WRITER,
    WRITER_SWITCH,
    Check("root-workspace", "The workspace has a writer of its own",
          "No memory is written for this workspace", root_workspace),
    Check("interval", "The interval is valid", "The interval is not valid", interval),
    Check("transcript", "The transcript grows", "No transcript yet", transcript),
    Check("last-turn", "The last answer is complete", "The last answer is not complete", last_turn),
    Check("state-file", "The memory writer's runs are in order",
          "The memory writer's runs are not in order", state_file),
    Check("model", "The memory writer can work", "The model cannot be used", model),
    Check("model-reachable", "The model answers", "The model does not answer", reachable),
    Check("tool-calling", "The model can call tools", "The model cannot call tools", tool_calling),
    Check("target", "The agent loads what is written", "The agent does not load what is written", target),
    Check("memory-file", "The memory file can be written", "The memory file cannot be written", memory_file),
    Check("traces", "Failures leave a trace", "Failures leave no trace", traces),
)  # fmt: skip
"""In the order of the gates; first the agent's own writer."""


def no_writer(_facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    evidence = phrase(
        "Nothing can keep it from running. Notes here come from the agent itself, from consolidations, "
        "extraction and session notes."
    )
    return "pass", evidence


NO_WRITER = Check("feature", "This agent has no memory writer", "This agent has no memory writer", no_writer)
"""Instead of all of them where the agent of this home has no memory writer."""


# The gates of consolidations that run by themselves (formats/mux.md sections 10 and 11). Pure.


def switched_on(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.settings.background.of(facts.home_id).enabled:
        return "pass", phrase("Background runs are on for this home.")
    evidence = phrase(
        "It is off for this home until you turn it on. You can consolidate by hand all the same."
    )
    return "off", evidence, fixes.switch_background_on()


def budget(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    background = facts.settings.background.of(facts.home_id)
    spent = phrase(
        "In the last 24 hours: {runs} of {most_runs} runs, {tokens} of {most_tokens} tokens.",
        runs=facts.recent_runs,
        most_runs=background.runs_per_day,
        tokens=facts.recent_tokens,
        most_tokens=background.tokens_per_day,
    )
    over = facts.recent_runs >= background.runs_per_day or facts.recent_tokens >= background.tokens_per_day
    if background.enabled and over:
        return "fail", spent, fixes.raise_budget()
    return "pass", spent


def dream_model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.dream_model
    if found is None or found.problem:
        return no_model(found, fixes.dream_by_rules())
    return "pass", _engine(found)


def coverage(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.coverage_problems:
        return "warn", plain(facts.coverage_problems[0])
    if facts.dream is not None:
        since = ago(facts.now, facts.dream.acquired_at_ms)
        evidence = phrase("Since {age}: {purpose}.", age=since, purpose=facts.dream.purpose)
        return "pass", evidence, None, phrase("A consolidation is running")
    if facts.coverage_at is None:
        return "pass", phrase("None has run here."), None, phrase("Not consolidated yet")
    age = phrase("{age}.", age=ago(facts.now, facts.coverage_at))
    waits = facts.now - facts.coverage_at < DEBOUNCE_MS
    return "pass", together(
        age, phrase("The next one in the background comes after 6 hours.") if waits else ""
    )


def last_decision(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    return last_activity(facts, "trigger", "dream", "harvest")


DREAM_CHECKS = (
    Check("dream-switch", "Background consolidation is on", "Background consolidation is off", switched_on),
    Check("dream-budget", "The daily budget is not used up", "The daily budget is used up", budget),
    Check("dream-model", "A consolidation can run",
          "The model for consolidations cannot be used", dream_model),
    Check("dream-coverage", "The workspace was consolidated",
          "The records of consolidations are damaged", coverage),
    Check("dream-last", "Background consolidation reports no problem",
          "Background consolidation reports a problem", last_decision),
)  # fmt: skip
"""In the order of the gates."""


# What has to hold around the gates: who runs the services, how they watch, disk, clock, log. Pure.


SCARCE_BYTES = 500 << 20
FULL_BYTES = 20 << 20
_AHEAD_MS = 5 * MINUTE_MS


def log_level(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if facts.log_level.startswith("debug"):
        return "pass", phrase("{level}: every decision is logged.", level=facts.log_level)
    evidence = phrase("The log tells of writes and failures only.")
    return "pass", evidence, fixes.debug_logging(), phrase("Debug logging is off")


def host(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.lease_problem:
        return "fail", plain(facts.lease_problem)
    holder = facts.host
    if holder is not None:
        evidence = phrase(
            "{purpose}, process {pid}, since {age}.",
            purpose=holder.purpose,
            pid=str(holder.owner.pid),
            age=ago(facts.now, holder.acquired_at_ms),
        )
        return "pass", evidence
    wanted = facts.settings.system1.enabled or facts.settings.background.of(facts.home_id).enabled
    if not wanted:
        return (
            "pass",
            phrase("Nothing is turned on, so nothing has to run."),
            None,
            phrase("No background service is on"),
        )
    return "fail", phrase("Nothing runs them for this home. Leave the window open, or run `reverie watch`.")


def watcher(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    polling = facts.settings.watch.polling
    state = facts.watch
    if state is not None and state.mode == "stopped":
        return "fail", phrase("The watcher of this window is stopped. Open the home again.")
    if state is not None and state.mode == "polling":
        evidence = together(phrase("The folders are scanned every few seconds."), state.message)
        fix = fixes.watch_with("auto") if polling == "always" else None
        return "pass" if polling == "always" else "warn", evidence, fix
    if state is not None and state.failures:
        evidence = plural(
            "Changes could not be handed over once; the log says why.",
            "Changes could not be handed over %n times; the log says why.",
            state.failures,
        )
        return "warn", evidence
    if state is not None and state.message:
        fix = fixes.watch_with("auto") if polling == "never" else None
        return "warn", plain(state.message), fix
    if state is not None:
        return "pass", plural("By events, in 1 folder.", "By events, in %n folders.", state.watches)
    last = facts.last("host.watch")
    if last is not None and facts.host is not None and last.last_at >= facts.host.acquired_at_ms:
        return "warn", plain(last.text)
    if polling == "never":
        evidence = phrase("By events only; where the system gives none, changes show at the next full scan.")
        return "warn", evidence, fixes.watch_with("auto")
    if polling == "always":
        return "pass", phrase("The settings say: by scanning.")
    return "pass", phrase("The settings say: by events, or by scanning where there are none.")


def disk(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    known = [
        (free, where)
        for free, where in (
            (facts.free_bytes, phrase("where the home lies")),
            (facts.own_free_bytes, phrase("where Reverie's own files lie")),
        )
        if free is not None
    ]
    if not known:
        return "warn", phrase("How much is free could not be found out.")
    free, where = min(known)
    state = space_state(free)
    seen = phrase("{size} are free {where}.", size=size(free), where=where)
    return state, together(seen, "" if state == "pass" else phrase("Free some space."))


def space_state(free: int) -> State:
    """Whether `free` bytes are enough."""
    return "fail" if free < FULL_BYTES else "warn" if free < SCARCE_BYTES else "pass"


def clock(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """A clock that is behind makes every age wrong: debounce, retention, and which run was last."""
    stamps = [
        (turn.timestamp, phrase("Turn {id}", id=turn.id))
        for turn in facts.turns
        if turn.timestamp is not None
    ]
    if facts.state is not None:
        stamps += [
            (moment, phrase("The last run"))
            for moment in (facts.state.started_at, facts.state.completed_at)
            if moment is not None
        ]
    newest, what = max(stamps, default=(0, NOTHING))
    if newest > facts.now + _AHEAD_MS:
        age = ago(facts.now, newest)
        return "fail", phrase("{what} is dated {age}. Set this machine's clock.", what=what, age=age)
    return "pass", phrase("Nothing here is dated in the future.")


def activity(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    if facts.activity_damage:
        return "warn", plain(facts.activity_damage)
    return last_activity(facts, "writer", "host")


MACHINE_CHECKS = (
    Check("log-level", "Debug logging is on", "Debug logging is off", log_level),
    Check("services", "The background services run", "The background services do not run", host),
    Check("watcher", "Changes on disk are noticed", "Changes on disk may be noticed late", watcher),
    Check("disk", "There is enough disk space", "Disk space is low", disk),
    Check("clock", "The clock is right", "The clock is behind", clock),
    Check("activity", "The background services report no problem",
          "The background services report a problem", activity),
)  # fmt: skip
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
        runs=newest_runs(dumps),
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
        own = (AGENT_WRITER,) * bool(facts.agent_runs)
        checks = (*own, *LAYOUT_CHECKS, WRITER_SWITCH, *MACHINE_CHECKS, *DREAM_CHECKS)
    return (
        *agent_findings(facts, fixes),
        *(check.finding(facts, fixes) for check in checks),
    )
