"""Prepared situations: the Doctor names the right first cause, in words, and its fix mends it.

Each starts from a workspace in which everything works and breaks it in one place.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doctor_bench import ACME, MINUTE, Patient, answer, close, healthy, probing, touch

from helpers.benches import NOW, Time
from helpers.expect_log import ExpectLog
from helpers.loki_home import LokiMaker
from helpers.samples import snapshot
from reverie.compose import open_parts
from reverie.doctor import first_cause
from reverie.doctor.examination import CHECKS, examine
from reverie.doctor.facts import ModelFacts
from reverie.files.watch import WatchState
from reverie.profile import Profile

MODEL = ModelFacts("test:small", "It is chosen in the settings.")


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Patient]:
    with healthy(tmp_path) as found:
        yield found


@dataclass(frozen=True)
class ActionState:
    """What is broken; the check that names it; words of the evidence; whether a fix mends it."""

    name: str
    broken: Callable[[Patient], None]
    check: str
    words: str
    state: str = "fail"
    fixed: bool = True


def _interval_text(patient: Patient) -> None:
    text = patient.settings_file.read_text()
    patient.settings_file.write_text(text.replace("enabled = true", 'enabled = true\ninterval = "often"', 1))


def _other_agent(patient: Patient) -> None:
    (patient.home / "debug_obj" / "memories").rename(patient.home / "debug_obj" / "other")


def _aborted(patient: Patient) -> None:
    for number in range(3):
        patient.say(answer(28 + number, NOW - 2 * MINUTE, partial=True))


def _stood_down(patient: Patient) -> None:
    text = "Reverie did not run: the agent itself has updated the writer's state since Reverie last did."
    _said(patient, "writer.stood-down", text)


def _said(patient: Patient, event: str, text: str) -> None:
    patient.parts.activity.add(
        event, level="info", text=text, home="", workspace_id=ACME, run_id=None, details={}
    )


def _nothing_counted(patient: Patient) -> None:
    patient.state_file.unlink()
    patient.hosted_since(NOW - 60 * MINUTE)


def _no_project(patient: Patient) -> None:
    config = json.loads((patient.home / "config.json").read_text())
    multi = next(project for path, project in config["projects"] if path == "_multi")
    first = config["projects"][0][1]["workspaces"]
    multi["workspaces"].append(first.pop())
    (patient.home / "config.json").write_text(json.dumps(config))


def _directory_in_place(patient: Patient) -> None:
    patient.memory_file.unlink()
    patient.memory_file.mkdir()


def _budget_used_up(patient: Patient) -> None:
    text = patient.settings_file.read_text()
    patient.settings_file.write_text(text + "runs_per_day = 0\n")


def _future(patient: Patient) -> None:
    patient.say(answer(40, NOW + 60 * MINUTE))


def _ran_without_a_write(patient: Patient) -> None:
    touch(patient.memory_file, NOW - 60 * MINUTE)
    patient.ask(model=lambda: MODEL)
    patient.set(model="test:small")


def _models(engine: ModelFacts) -> Callable[[Patient], None]:
    def broken(patient: Patient) -> None:
        patient.set(model=engine.engine)
        rules = ModelFacts("rules", "It is chosen in the settings.")

        def now() -> ModelFacts:
            chosen = patient.parts.read_settings().system1.model
            return rules if chosen == "rules" else engine

        patient.ask(model=now)

    return broken


def _probe(*steps: tuple[str, str, str]) -> Callable[[Patient], None]:
    def broken(patient: Patient) -> None:
        _models(MODEL)(patient)
        patient.ask(probe=probing(*steps))
        patient.with_probe = True

    return broken


def _polls(patient: Patient) -> None:
    patient.set("watch", polling="never")


SITUATIONS = (
    ActionState("switched off", lambda p: p.set(enabled=False), "feature", "off until you turn it on"),
    ActionState(
        "switched off by the agent",
        lambda p: p.configure(agentAiDefaults={"system1_memory_writer": {"enabled": False}}),
        "feature",
        "agent's own configuration",
        fixed=False,
    ),
    ActionState(
        "a task of another workspace",
        lambda p: p.of_workspace(parentWorkspaceId="c04d8e91aa"),
        "root-workspace",
        "task of workspace c04d8e91aa",
        fixed=False,
    ),
    ActionState(
        "archived",
        lambda p: p.of_workspace(archivedAt="2026-08-01T00:00:00Z"),
        "root-workspace",
        "archived",
        "warn",
        fixed=False,
    ),
    ActionState("an interval that is no number", _interval_text, "interval", "system1.interval", "warn"),
    ActionState(
        "an interval of the agent's that does not count",
        lambda p: p.configure(taskSettings={"memoryWriterIntervalMessages": 0}),
        "interval",
        "not a number of turns",
        fixed=False,
    ),
    ActionState("no transcript", lambda p: p.chat.unlink(), "transcript", "does not exist", fixed=False),
    ActionState(
        "a transcript without a turn",
        lambda p: p.chat.write_text("{\n"),
        "transcript",
        "last turn is incomplete",
        fixed=False,
    ),
    ActionState("every stream aborted", _aborted, "last-turn", "last 3 responses were cut off", fixed=False),
    ActionState(
        "a state file that is no JSON", lambda p: p.state_file.write_text("{"), "state-file", "not valid JSON"
    ),
    ActionState(
        "a state file nobody may write", lambda p: close(p.state_file), "state-file", "write-protected"
    ),
    ActionState(
        "turns rise without a start",
        lambda p: p.state(turnsSinceLastRun=7),
        "state-file",
        "7 of 2 turns counted, but no run started",
    ),
    ActionState(
        "no turn was counted",
        _nothing_counted,
        "state-file",
        "was off, not running",
        fixed=False,
    ),
    ActionState(
        "a run that crashed",
        lambda p: p.state(turnsSinceLastRun=0, lastRunStartedAt=NOW - 9 * MINUTE),
        "state-file",
        "did not finish",
        "warn",
    ),
    ActionState(
        "a run that wrote nothing",
        _ran_without_a_write,
        "state-file",
        "without changing the memory file",
        "warn",
        False,
    ),
    ActionState(
        "a model without a key",
        _models(ModelFacts("test:small", "It is chosen in the settings.", "There is no key for test.")),
        "model",
        "no key",
    ),
    ActionState(
        "a model that is not responding",
        _probe(("reachable", "fail", "Nothing listens at 127.0.0.1:1."), ("tool-calling", "skip", "")),
        "model-reachable",
        "Nothing listens",
    ),
    ActionState(
        "a model that calls no tools",
        _probe(("reachable", "pass", "It answers."), ("tool-calling", "fail", "It answered in prose.")),
        "tool-calling",
        "in prose",
    ),
    ActionState("a target the agent does not load", _other_agent, "target", "does not load", "warn"),
    ActionState("no project", _no_project, "memory-file", "several projects", fixed=False),
    ActionState(
        "a memory file nobody may write", lambda p: close(p.memory_file), "memory-file", "write-prot"
    ),
    ActionState(
        "a folder nobody may write",
        lambda p: close(p.memory_file.parent),
        "memory-file",
        "Files cannot be created",
    ),
    ActionState("a folder in the file's place", _directory_in_place, "memory-file", "is not a file"),
    ActionState(
        "traces switched off",
        lambda p: p.set(traces="never"),
        "traces",
        "no record of why a run failed",
        "warn",
    ),
    ActionState("a watcher that never looks", _polls, "watcher", "By events only", "warn"),
    ActionState("a clock that is behind", _future, "clock", "in the future", fixed=False),
    ActionState("a budget that is used up", _budget_used_up, "dream-budget", "0 of 0 runs"),
    ActionState(
        "a dream's model without a key",
        lambda p: p.ask(dream_model=lambda: ModelFacts("test:big", "", "There is no key for test.")),
        "dream-model",
        "no key",
        fixed=False,
    ),
)


def test_where_everything_works_no_cause_is_found(patient: Patient) -> None:
    before = snapshot(patient.home)
    findings = patient.findings()
    assert {check: found.evidence for check, found in findings.items() if found.state != "pass"} == {}
    assert first_cause(findings.values()) is None
    assert snapshot(patient.home) == before


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_the_first_cause_is_named_and_its_fix_mends_it(patient: Patient, situation: ActionState) -> None:
    patient.ask(run_writer=lambda: _ran(patient))
    situation.broken(patient)
    cause = first_cause(patient.findings().values())
    assert cause is not None
    assert (cause.check, cause.state) == (situation.check, situation.state)
    assert situation.words in cause.evidence
    if situation.fixed:
        assert cause.fix is not None
        cause.fix.apply()
        after = patient.findings()[situation.check]
        assert (after.state, after.evidence) == ("pass", after.evidence)


def _ran(patient: Patient) -> None:
    """What a run of the writer leaves behind."""
    patient.state(turnsSinceLastRun=0, lastRunStartedAt=NOW, lastRunCompletedAt=NOW + 5)
    touch(patient.memory_file, NOW + 1)


def test_without_a_host_that_is_the_cause(patient: Patient) -> None:
    patient.parts.home_id = "another"
    cause = first_cause(patient.findings().values())
    assert cause is not None
    assert (cause.check, cause.state) == ("services", "fail")
    assert "reverie watch" in cause.evidence


def test_the_newest_trace_says_why_a_run_wrote_nothing(patient: Patient) -> None:
    _ran_without_a_write(patient)
    directory = patient.home / "debug_obj" / ACME / "system1_memory_writer"
    newest = max(directory.glob("*.json"))
    newest.rename(directory / f"{NOW - MINUTE}_assistant-1.json")
    findings = patient.findings()
    assert "The trace of the run reports: " in findings["state-file"].evidence
    assert f"{NOW - MINUTE}_assistant-1.json" in findings["traces"].evidence


def test_it_answers_about_the_agents_own_writer_first(patient: Patient) -> None:
    patient.set(enabled=False)
    first = next(iter(patient.findings().values()))
    assert (first.check, first.state) == ("agent-writer", "pass"), "a later run left no trace"
    patient.state(turnsSinceLastRun=0)
    first = next(iter(patient.findings().values()))
    assert first.title == "The agent's memory writer wrote nothing in its last 3 runs"
    assert first.state == "warn"
    assert "overloaded_error" in first.evidence
    assert (first.remedy, first.fix) == ("", None), "nothing here can run the writer"
    patient.ask(run_writer=lambda: None)
    fix = next(iter(patient.findings().values())).fix
    assert fix is not None
    assert fix.label == "Run the memory writer now"


def test_runs_of_reverie_hide_none_of_the_agents(patient: Patient) -> None:
    patient.state(turnsSinceLastRun=0)
    directory = patient.home / "debug_obj" / ACME / "system1_memory_writer"
    ours = {"runStartedAt": NOW, "reverie": {"version": 1, "runId": "1-a", "outcome": "completed"}}
    for number in range(7):
        (directory / f"{NOW - number}_ours.json").write_text(json.dumps(ours))
    assert patient.findings()["agent-writer"].title.endswith("in its last 3 runs")
    for number in range(7, 80):
        (directory / f"{NOW - number}_ours.json").write_text(json.dumps(ours))
    found = patient.findings()["agent-writer"]
    assert (found.state, found.evidence) == (
        "pass",
        "None of the newest 60 traces is from the writer.",
    )


@pytest.mark.parametrize(
    ("trace", "remedy"),
    [
        ("01-early-prose-twice", "model"),
        ("13-later-no-tool-support", "model"),
        ("08-early-key-refused", "key"),
        ("03-early-timeout-before-answer", ""),
    ],
)
def test_what_a_person_can_change_depends_on_the_newest_run(
    patient: Patient, trace: str, remedy: str
) -> None:
    patient.state(turnsSinceLastRun=0)
    labelled = Path(__file__).parents[2] / "labelled" / "traces" / f"{trace}.json"
    directory = patient.home / "debug_obj" / ACME / "system1_memory_writer"
    shutil.copy(labelled, directory / f"{NOW - MINUTE}_new.json")
    found = patient.findings()["agent-writer"]
    assert (found.state, found.remedy) == ("warn", remedy)
    assert found.title == "The agent's memory writer wrote nothing in its last 4 runs"


def test_no_title_says_the_opposite_of_what_is_so() -> None:
    for check in CHECKS:
        assert check.holds != check.fails
        assert not {"no", "not quite"} & {word.strip(":") for word in check.fails.split()[-1:]}


def test_a_run_that_found_nothing_new_is_no_reason_to_worry(patient: Patient) -> None:
    _ran_without_a_write(patient)
    _said(patient, "writer.unchanged", "Nothing new.")
    _said(patient, "writer.not-due", "Not due: 1 of 2 turns.")
    found = patient.findings()["state-file"]
    assert (found.state, "found nothing new" in found.evidence) == ("pass", True)


def test_a_run_in_flight_is_told_and_one_that_never_ends_is_stuck(patient: Patient) -> None:
    name = f"writer:{patient.parts.home_id}:{ACME}"
    patient.state(turnsSinceLastRun=0, lastRunStartedAt=NOW)
    with patient.parts.leases.acquire(name, purpose="the memory writer") as _lease:
        found = patient.findings()["state-file"]
        assert (found.state, "is still running" in found.evidence) == ("pass", True)
        holder = patient.parts.leases.holder(name)
        assert holder is not None
        patient.now = holder.acquired_at_ms + 60 * MINUTE
        found = patient.findings()["state-file"]
        assert (found.state, "End that process" in found.evidence) == ("fail", True)


@pytest.mark.parametrize(
    ("watch", "state", "words"),
    [
        (WatchState("events", 12, 0, 0, (), ""), "pass", "12 folders"),
        (WatchState("stopped", 0, 0, 0, (), ""), "fail", "no longer watches"),
        (WatchState("polling", 0, 0, 0, (), "The limit is reached."), "warn", "limit"),
        (WatchState("events", 12, 0, 0, (), "", failures=2), "warn", "2 times"),
    ],
)
def test_the_watcher_of_this_window_is_told_as_it_is(
    patient: Patient, watch: WatchState, state: str, words: str
) -> None:
    patient.ask(watch=lambda: watch)
    found = patient.findings()["watcher"]
    assert (found.state, words in found.evidence) == (state, True)


def test_what_the_hosts_watcher_complained_of_is_told_to_others(patient: Patient) -> None:
    patient.hosted_since(NOW - MINUTE)
    text = "The limit of watched folders is reached."
    patient.parts.activity.add(
        "host.watch", level="warning", text=text, home="", workspace_id=None, run_id=None, details={}
    )
    found = patient.findings()["watcher"]
    assert (found.state, found.evidence) == ("warn", text)


def test_what_is_not_asked_for_is_not_tested(patient: Patient) -> None:
    asked: list[str] = []
    patient.ask(model=lambda: MODEL, probe=lambda name: asked.append(name) or ())
    found = patient.findings()
    assert asked == []
    assert "only when you ask for it" in found["tool-calling"].evidence


def test_the_rules_need_no_probe(patient: Patient) -> None:
    patient.with_probe = True
    patient.ask(probe=lambda _name: pytest.fail("the rules asked a model"))
    assert patient.findings()["tool-calling"].state == "pass"


def test_a_home_without_a_workspace_is_examined_all_the_same(patient: Patient) -> None:
    patient.workspace_id = None
    cause = first_cause(patient.findings().values())
    assert cause is not None
    assert cause.check == "root-workspace"


def test_an_agent_without_a_memory_writer_is_not_asked_for_its_gates(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "shop")
    maker.everything()
    parts = open_parts(maker.store, Profile.under(tmp_path / "profile"), Time())
    findings = examine(parts, parts.home.context(project_path=str(maker.project)), now=NOW)
    layout, writer = findings[:2]
    assert (layout.check, layout.state) == ("known-layout", "pass")
    assert writer.state == "pass"
    assert writer.title == "This agent has no memory writer"
    assert [finding.check for finding in findings if finding.state == "fail"] == []
    assert {"watcher", "dream-switch"} <= {finding.check for finding in findings}
    assert not {"transcript", "state-file", "memory-file"} & {finding.check for finding in findings}


def test_a_switch_in_the_agents_file_is_left_to_the_person(patient: Patient) -> None:
    patient.configure(taskSettings={"memoryWriterIntervalMessages": "x"})
    before = (patient.home / "config.json").read_bytes()
    for finding in patient.findings().values():
        if finding.fix is not None:
            finding.fix.apply()
    assert (patient.home / "config.json").read_bytes() == before


def test_a_state_file_moved_aside_is_kept(patient: Patient) -> None:
    patient.state_file.write_text("no json")
    fix = patient.findings()["state-file"].fix
    assert fix is not None
    fix.apply()
    kept = [path.read_text() for path in patient.session.glob("*.unreadable-*")]
    assert kept == ["no json"]


def test_json_has_the_stable_shape(patient: Patient) -> None:
    patient.set(enabled=False)
    shown: list[dict[str, Any]] = [finding.as_json() for finding in patient.findings().values()]
    assert all(set(item) == {"check", "state", "evidence", "fix"} for item in shown)
    assert [item["check"] for item in shown[:3]] == ["agent-writer", "known-layout", "feature"]
    assert shown[2]["fix"] == "Turn on"
    assert len({item["check"] for item in shown}) == len(shown)


def _as_directory(path: Path) -> None:
    if path.exists():
        path.unlink()
    path.mkdir(parents=True)


def _as_loop(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


@pytest.mark.parametrize("place", [_as_directory, _as_loop], ids=["directory", "loop"])
@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "memory-consolidation.json",
        "chat.jsonl",
        "state",
        "activity",
        "dump",
        "leases",
        "settings",
    ],
)
def test_one_broken_thing_never_hides_the_others(
    patient: Patient, name: str, place: Callable[[Path], None], expect_log: ExpectLog
) -> None:
    if name == "leases":
        expect_log("could not be released", logger="reverie.files")
    dump = patient.home / "debug_obj" / ACME / "system1_memory_writer" / f"{NOW}_x.json"
    profile = patient.parts.profile
    found = {
        "chat.jsonl": patient.chat,
        "state": patient.state_file,
        "activity": profile.activity(patient.parts.home_id),
        "dump": dump,
        "leases": profile.leases_database,
        "settings": profile.settings_file,
    }.get(name, patient.home / name)
    found.parent.mkdir(parents=True, exist_ok=True)
    place(found)
    findings = patient.findings()
    assert len(findings) == len(CHECKS)
    assert any(finding.state != "pass" for finding in findings.values()) or name == "dump"
    if name == "leases" and place is _as_directory:
        assert "list of running jobs cannot be used" in findings["services"].evidence


def test_a_writer_that_this_agent_does_not_need_is_off_and_no_cause(patient: Patient) -> None:
    config = patient.home / "config.json"
    data = json.loads(config.read_text())
    patient.set(enabled=False)
    assert patient.findings()["feature"].state == "fail"  # this version has a writer
    for sign in ("taskSettings", "agentAiDefaults"):
        data.pop(sign, None)
    config.write_text(json.dumps(data))
    shutil.rmtree(patient.home / "debug_obj", ignore_errors=True)
    findings = patient.findings()
    assert findings["feature"].state == "off"
    assert findings["feature"].fix is not None
    assert not {"transcript", "state-file", "memory-file", "target"} & set(findings)
    assert first_cause(findings.values()) is None
    findings["feature"].fix.apply()
    assert patient.findings()["target"].state == "warn"


def test_background_runs_that_nobody_turned_on_are_off_and_no_cause(patient: Patient) -> None:
    patient.settings_file.unlink()
    found = patient.findings()["dream-switch"]
    assert (found.state, found.fix is not None) == ("off", True)
    assert first_cause([found]) is None
    assert found.fix is not None
    found.fix.apply()
    assert patient.findings()["dream-switch"].state == "pass"
