"""The checks of the conditions (gates) of the memory writer, in the order in which it tests them.

The order is that of formats/mux.md section 14. Pure: each check is a function of facts. A condition that is
not met is a failure, with a fix if one click can solve it; a condition that is met, but in an unusual way, is
a warning.
"""

from __future__ import annotations

from reverie.agents.transcripts import Turn
from reverie.doctor.checks import Checks, model_verdict, remedy_of
from reverie.doctor.facts import FileFacts, StateFacts, dump_time
from reverie.doctor.findings import State, Verdict
from reverie.doctor.fixes import RULES, Fixes
from reverie.doctor.quantities import MINUTE_MS, ago, size
from reverie.doctor.workspace import WorkspaceFacts
from reverie.text.summaries import Phrase, phrase, plain, plural, together

WRITER = Checks()
DEFAULT_INTERVAL = 2
# Longer than any run should last: the default time limit is 10 s.
_STUCK_MS = 15 * MINUTE_MS
_ABORTED_IN_A_ROW = 3
_OUTCOMES = (
    "writer.completed", "writer.unchanged", "writer.exited-without-updating", "writer.timed-out",
    "writer.failed", "writer.cancelled", "writer.held",
)  # fmt: skip


def needs_no_writer(facts: WorkspaceFacts) -> bool:
    """Return whether Reverie's memory writer is off and this version of the agent does not need it.

    The agent does not need it if it writes project memories itself and does not load the single file per
    project that the memory writer writes by default.
    """
    kinds = facts.kinds
    return not facts.settings.system1.enabled and kinds.project_store is True and kinds.project_file is False


@WRITER.check("feature", "The memory writer is on", "The memory writer is off")
def feature(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    if not facts.has_writer:
        evidence = phrase(
            "This agent has no memory writer, so none can fail. Its memories come from the agent itself, "
            "from consolidations, extraction and session notes."
        )
        return "pass", evidence, None, phrase("This agent has no memory writer")
    if needs_no_writer(facts):
        evidence = phrase(
            "The writer is off until you turn it on. The agent's own tools write memories here."
        )
        return "off", evidence, fixes.switch_writer_on()
    if not facts.settings.system1.enabled:
        return "fail", phrase("The writer is off until you turn it on."), fixes.switch_writer_on()
    if facts.agent_switched_off:
        evidence = phrase(
            "The agent's own configuration turns its memory writer off, and Reverie follows it. Turn it"
            " on in that configuration: Reverie never writes that file."
        )
        return "fail", evidence
    return "pass", phrase("The memory writer is turned on in the settings.")


@WRITER.check(
    "root-workspace", "The workspace has its own memory writer", "No memory is written for this workspace"
)
def root_workspace(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    workspace = facts.workspace
    if facts.context.workspace_id is None:
        return "fail", phrase("No workspace is selected. Select one that has turns.")
    if workspace is None:
        return "fail", phrase("This home does not list the workspace, or the list cannot be read.")
    if workspace.parent_id is not None:
        evidence = phrase(
            "This is a task of workspace {parent}. Memories are written for that workspace only. Select it.",
            parent=workspace.parent_id,
        )
        return "fail", evidence
    if workspace.archived:
        return "warn", phrase("The workspace is archived, so it gets no new turns.")
    return "pass", phrase("The workspace is listed, and it is not a task of another workspace.")


@WRITER.check("interval", "The interval is valid", "The interval is not valid")
def interval(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    found = facts.interval
    by_agent = found.source == "agent"
    where = phrase("the agent's configuration") if by_agent else phrase("Reverie's settings")
    if found.turns is None:
        seen = phrase("In {where}: {problem}.", where=where, problem=found.problem)
        advice = phrase("Correct or remove the value in that file: Reverie never writes it.")
        return "fail", together(seen, advice)
    bad = next((problem for problem in facts.settings_problems if problem.startswith("system1.interval")), "")
    if bad and not by_agent:
        return "warn", plain(bad), fixes.set_interval(DEFAULT_INTERVAL)
    every = plural("The writer runs after every turn", "The writer runs after every %n turns", found.turns)
    return "pass", phrase("{often}, as set in {where}.", often=every, where=where)


@WRITER.check("transcript", "The transcript is growing", "No transcript yet")
def transcript(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    file, unreadable = facts.transcript, phrase("The transcript cannot be read")
    if file is None:
        return "fail", phrase("This agent keeps no transcript that Reverie could follow.")
    if facts.transcript_problem:
        return "fail", plain(facts.transcript_problem), None, unreadable
    if file.kind == "missing":
        return "fail", phrase("{path} does not exist: there are no messages yet.", path=str(file.path))
    if file.kind != "file":
        no_file = phrase("{path} is not a regular file.", path=str(file.path))
        return "fail", together(no_file, file.problem or ""), None, unreadable
    seen = {"size": size(file.size), "age": ago(facts.now, file.changed_at)}
    if not facts.turns:
        return "fail", phrase("The last turn is incomplete ({size}, last grew {age}).", **seen)
    return "pass", phrase("{name}: {size}, last grew {age}.", name=file.path.name, **seen)


@WRITER.check("last-turn", "The last response is complete", "The last response is not complete")
def last_turn(facts: WorkspaceFacts, _fixes: Fixes) -> Verdict:
    """Judge whether the agent's last responses were complete.

    The memory writer counts only complete responses as turns, not those that were cut off or that failed.
    """
    answers = _answers(facts)
    if not answers:
        evidence = phrase("Send a message in the workspace while the background services are running.")
        return "warn", evidence, None, phrase("The agent has not responded here yet")
    newest_first = enumerate(reversed(answers))
    if cut := next((number for number, turn in newest_first if turn.finished), len(answers)):
        state: State = "fail" if cut >= _ABORTED_IN_A_ROW or cut == len(answers) else "warn"
        evidence = plural(
            "The last response was cut off or failed. Such responses do not start the writer.",
            "The last %n responses were cut off or failed. Such responses do not start the writer.",
            cut,
        )
        return state, together(evidence, phrase("It counts the next turn that ends normally."))
    newest = answers[-1]
    ended = phrase("{id} is complete.", id=newest.id)
    if newest.timestamp is not None:
        ended = phrase("{id} was completed {age}.", id=newest.id, age=ago(facts.now, newest.timestamp))
    partial = facts.partial is not None and facts.partial.kind == "file"
    return "pass", together(ended, phrase("Another response is still being generated.") if partial else "")


@WRITER.check(
    "state-file", "The memory writer's runs have no problems", "The memory writer's runs have a problem"
)
def state_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Judge the file in which the writer counts turns: its damage, then the first problem that a run met."""
    state, newest, writer = facts.state, facts.last("writer"), facts.writer
    if state is None:
        return "fail", phrase("This home has no place to store the state of a memory writer.")
    file, name = state.file, state.file.path.name
    if state.problem:
        evidence = phrase("{name}: {problem}", name=name, problem=state.problem)
        evidence = together(evidence, phrase("The writer treats this as 0 turns."))
        return "fail", evidence, fixes.set_aside(file.path), phrase("The writer's state file is damaged")
    if file.kind == "file" and not file.writable:
        title = phrase("The writer's state cannot be saved")
        return "fail", _protected(file), fixes.make_writable(file.path), title
    missed, due = _uncounted(facts, file), facts.interval.turns or DEFAULT_INTERVAL
    on = facts.settings.system1.enabled and facts.host is not None
    if file.kind == "missing":
        if on and not missed:
            return "pass", phrase("There is no state yet; the next completed turn creates it.")
        why = phrase("The writer was off, not running, or every response was cut off.")
        return ("fail" if on else "warn"), why, None, phrase("No turn was counted yet")
    counted = plural("{count} of 1 turn counted", "{count} of %n turns counted", due, count=state.turns)
    if newest is not None and newest.event == "writer.stood-down":
        stood_down = phrase("{text} ({age})", text=newest.text, age=ago(facts.now, newest.last_at))
        evidence = together(stood_down, phrase("Turn off one of the two memory writers."))
        return "warn", evidence, None, phrase("The agent's own memory writer is active here")
    if writer is not None:
        age, pid = ago(facts.now, writer.acquired_at_ms), str(writer.owner.pid)
        began = phrase(
            "A run began {age} in process {pid} and is still running ({counted}).",
            age=age,
            pid=pid,
            counted=counted,
        )
        if facts.now - writer.acquired_at_ms > _STUCK_MS:
            advice = phrase("End that process. The next turn starts another run.")
            return "fail", together(began, advice), None, phrase("A run is stuck")
        return "pass", began, None, phrase("The memory writer is running")
    if state.unfinished:
        at = ago(facts.now, state.started_at or 0)
        evidence = phrase("A run began {age} and did not finish. The next turn starts another.", age=at)
        return "warn", evidence, fixes.run_writer(), phrase("The last run crashed")
    if state.turns > due or (state.turns == due and missed):
        evidence = phrase(
            "{counted}, but no run started: the interval was misread, or a run was stuck.", counted=counted
        )
        return "fail", evidence, fixes.run_writer(), phrase("A run was due but did not start")
    if missed:
        evidence = plural(
            "1 turn ended after the last change of the state file and was not counted ({counted}): the "
            "writer was off, or its background service was not running.",
            "%n turns ended after the last change of the state file and were not counted ({counted}): "
            "the writer was off, or its background service was not running.",
            missed,
            counted=counted,
        )
        return ("fail" if on else "warn"), evidence, None, phrase("The writer missed the last turns")
    return _last_run(facts, state, counted, fixes)


@WRITER.check("model", "The memory writer is ready to run", "The model cannot be used")
def model(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return model_verdict(facts.model, fixes.use_rules())


@WRITER.check("model-reachable", "The model responds", "The model does not respond")
def reachable(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, phrase("The model was not tested"), "settings", "reachable", "key", "model")


@WRITER.check("tool-calling", "The model can call tools", "The model cannot call tools")
def tool_calling(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    return _probed(facts, fixes, phrase("Tool calls were not tested"), "tool-calling", "streaming")


@WRITER.check("target", "The agent loads the file", "The agent does not load the file")
def target(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    """Judge whether the agent loads the kind of file that Reverie's memory writer is set to write."""
    kinds = facts.kinds
    what, loaded, other = (
        phrase("The writer writes a project memory."),
        kinds.project_store,
        kinds.project_file,
    )
    to_file = facts.settings.system1.target == "project-file"
    if to_file:
        what, loaded, other = phrase("The writer writes one file per project."), other, loaded
    if loaded is False and other:
        ignored = phrase("The agent of this home does not load that file.")
        fix = fixes.set_target("project-memory" if to_file else "project-file")
        return "warn", together(what, ignored, kinds.evidence), fix
    return "pass", together(what, kinds.evidence)


@WRITER.check("memory-file", "The memory file can be written", "The memory file cannot be written")
def memory_file(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    file = facts.memory
    if file is None:
        return "fail", together(phrase("There is no memory file for this workspace."), facts.memory_problem)
    path = str(file.path)
    if file.kind in ("directory", "other"):
        evidence = phrase("There is something at {path} that is not a file.", path=path)
        return "fail", together(evidence, file.problem or ""), fixes.set_aside(file.path)
    if file.kind == "file" and not file.writable:
        return "fail", _protected(file), fixes.make_writable(file.path)
    above = facts.memory_directory
    if above is not None and (above.kind != "directory" or not above.writable):
        fix = fixes.make_writable(above.path) if above.kind == "directory" else None
        return "fail", phrase("Files cannot be created in {path}.", path=str(above.path)), fix
    if file.kind == "missing":
        return "pass", phrase("{path} does not exist yet; the first run creates it.", path=path)
    age = ago(facts.now, file.changed_at)
    return "pass", phrase("{path}: {size}, last changed {age}.", path=path, size=size(file.size), age=age)


@WRITER.check("traces", "Failures leave a trace", "Failures leave no trace")
def traces(facts: WorkspaceFacts, fixes: Fixes) -> Verdict:
    wanted = facts.settings.system1.traces
    if wanted == "never":
        evidence = phrase("Traces are off, so there is no record of why a run failed.")
        return "warn", evidence, fixes.keep_traces_of_failures()
    if not facts.dumps:
        return "pass", phrase("There are no traces: no run has failed here while traces were on.")
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
    """Return the turns that are responses of the assistant, oldest first."""
    return [turn for turn in facts.turns if turn.role == "assistant" and turn.kind == "message"]


def _protected(file: FileFacts) -> Phrase:
    return phrase("{path} is write-protected.", path=str(file.path))


def _last_run(facts: WorkspaceFacts, state: StateFacts, counted: Phrase, fixes: Fixes) -> Verdict:
    """Judge the result of the last run; `counted`: a text with the number of turns since then."""
    if state.started_at is None:
        return "pass", phrase("{counted}; no run has been due yet.", counted=counted)
    at, memory = ago(facts.now, state.started_at), facts.memory
    if memory is not None and memory.kind == "file" and memory.changed_at >= state.started_at:
        return "pass", phrase("The last run began {age} and wrote ({counted}).", age=at, counted=counted)
    last = facts.last(*_OUTCOMES)
    if last is not None and last.last_at < state.started_at:
        last = None
    if last is not None and last.event == "writer.unchanged":
        return "pass", phrase(
            "The last run began {age} and found nothing new ({counted}).", age=at, counted=counted
        )
    evidence = phrase(
        "The last run began {age} and ended without changing the memory file: there was nothing to "
        "remember, or the model did not call the tool or had no access.",
        age=at,
    )
    why: Phrase | str = ""
    if facts.dumps and dump_time(facts.dumps[0]) >= state.started_at:
        why = phrase("The trace of the run reports: {text}", text=facts.verdict)
    elif last is not None:
        why = phrase("The log reports: {text}", text=last.text)
    fix = None if facts.model is not None and facts.model.engine == RULES else fixes.use_rules()
    return "warn", together(evidence, why), fix, phrase("The last run wrote nothing")


def _uncounted(facts: WorkspaceFacts, state_file: FileFacts) -> int:
    """Return the number of finished turns that the writer should have counted but did not.

    These are turns that are clearly newer than the last change of `state_file`. If there is no state file,
    they are the turns since the background services were started. Turns dated in the future are ignored.
    """
    if state_file.kind == "file":
        since = state_file.changed_at
    else:
        since = facts.host.acquired_at_ms if facts.host is not None else 0
    span = range(since + MINUTE_MS, facts.now + 1)
    return sum(turn.finished and turn.timestamp in span for turn in _answers(facts))


def _probed(facts: WorkspaceFacts, fixes: Fixes, untested: Phrase, *steps: str) -> Verdict:
    found = facts.model
    if found is not None and found.engine == RULES and not found.problem:
        return "pass", phrase("The memory writer uses rules, so there is no model to test."), None, untested
    if facts.probe is None:
        evidence = phrase("The test sends a real request to the model, so it runs only when you ask for it.")
        return "pass", evidence, None, untested
    steps_done = [step for step in facts.probe if step.name in steps]
    failed = next((step for step in steps_done if step.state == "fail"), None)
    if failed is not None:
        remedy = remedy_of(failed.sentence) if "key" in steps else "model"
        return "fail", plain(failed.sentence), fixes.use_rules(), None, remedy
    if not any(step.state == "pass" for step in steps_done):
        return "warn", phrase("The test could not run, because an earlier step failed."), None, untested
    return "pass", together(*(step.sentence for step in steps_done if step.state == "pass"))
