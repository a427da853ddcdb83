"""A dream by a model, from the engine to the run record, with a provider that says what it is told to."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import contents, sample_parts, workspace
from helpers.speaker import Say, Speaker
from reverie.agents.scopes import Scope
from reverie.jobs.consolidate.engine import MAX_STEPS, ModelEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.llm.client import ModelClient
from reverie.llm.provider import ProviderError
from reverie.runs.record import Progress, RunResult
from reverie.services.container import HomeContainer
from reverie.services.workbench import Workbench

ACME, MULTI = "a1f3c9e2b7", "e8f1a2b3c4"
SECRET = "sk-test-FAKE-FAKE-FAKE-FAKE-0000000000"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def dream(
    parts: HomeContainer, speaker: Speaker, workspace_id: str = ACME, trigger: Any = "manual", **more: Any
) -> RunResult:
    asking = ModelClient(
        speaker.name,
        open_provider=lambda: speaker,
        cost_of=lambda usage: Decimal(usage.input) / 1_000_000,
        clock=parts.clock,
    )
    engine = ModelEngine(asking, instructions="Tidy.", trigger=trigger)
    request = DreamRequest(workspace(parts, workspace_id), trigger, engine.name, more.pop("dry_run", False))
    return parts.dreams.run(request, engine, **more)


def edit(text: str = "x", reason: str = "") -> dict[str, Any]:
    return {
        "command": "insert",
        "path": "/memories/global/testing.md",
        "insert_line": 0,
        "insert_text": text,
        "reason": reason,
    }


def test_what_a_model_changes_is_applied_covered_and_accounted_for(parts: HomeContainer) -> None:
    speaker = Speaker([[edit("Run the tests first.", "It was missing.")], "I looked.\n\nAdded a line.\n"])
    result = dream(parts, speaker)
    assert (result.outcome, result.summary) == ("completed", "Added a line.")
    text = (parts.home.root / "memory/global/testing.md").read_text()
    assert text.startswith("Run the tests first.\n")
    record = parts.runs.load(result.run_id)
    assert record.details["reasons"] == ["It was missing."]
    assert record.usage is not None
    assert (record.usage["inputTokens"], record.usage["outputTokens"]) == (2000, 200)
    assert result.cost_usd == pytest.approx(0.002)
    covered = json.loads((parts.home.root / "memory-consolidation.json").read_bytes())
    assert covered["workspaces"][ACME]["usage"] == {"inputTokens": 2000, "outputTokens": 200}
    assert "reason" not in json.dumps(covered["workspaces"][ACME]["ops"])
    assert speaker.closed


def test_the_trace_of_a_run_is_kept_under_its_id(parts: HomeContainer) -> None:
    result = dream(parts, Speaker([[edit()], "Done."]))
    trace = parts.traces.load(result.run_id)
    assert trace["modelString"] == "test:model"
    assert trace["workspaceId"] == ACME
    assert trace["attempts"][0]["toolExecutions"][0]["input"]["path"] == "/memories/global/testing.md"
    assert trace["reverie"]["runId"] == result.run_id
    assert trace["reverie"]["runOutcome"] == "completed"


def test_a_model_that_changes_nothing_is_a_success_with_coverage(parts: HomeContainer) -> None:
    before = contents(parts.home.root / "memory")
    result = dream(parts, Speaker(["Nothing needed changing."]))
    assert (result.outcome, result.summary) == ("unchanged", "Nothing needed changing.")
    assert contents(parts.home.root / "memory") == before
    assert parts.coverage.load().workspaces[ACME]["summary"] == "Nothing needed changing."


def test_a_model_that_says_nothing_still_has_a_summary(parts: HomeContainer) -> None:
    assert dream(parts, Speaker([""])).summary == "No changes needed."
    assert dream(parts, Speaker([[edit()], ""])).summary == "1 change."


def test_a_secret_in_a_memory_never_leaves_and_stays_in_the_file(parts: HomeContainer) -> None:
    path = parts.home.root / "memory/global/security/rotating-keys.md"
    assert SECRET in path.read_text()
    speaker = Speaker(
        [
            [{"command": "view", "path": "/memories/global/security/rotating-keys.md"}],
            [
                {
                    "command": "str_replace",
                    "path": "/memories/global/security/rotating-keys.md",
                    "old_str": "    PAYMENTS_KEY={{REVERIE_SECRET_1}}",
                    "new_str": "\n    PAYMENTS_KEY={{REVERIE_SECRET_1}}",
                }
            ],
            "Noted.",
        ]
    )
    result = dream(parts, speaker)
    assert result.outcome == "completed", result.summary
    assert "{{REVERIE_SECRET_1}}" in speaker.answers[0]
    assert SECRET not in speaker.sent
    assert f"\n\n    PAYMENTS_KEY={SECRET}" in path.read_text()
    kept = [parts.traces.path_of(result.run_id), parts.runs.directory_of(result.run_id) / "record.json"]
    assert not any(SECRET in file.read_text() for file in kept)


def test_text_of_a_note_stands_between_the_marks_that_the_prompt_names(parts: HomeContainer) -> None:
    speaker = Speaker([[{"command": "view", "path": "/memories/global/testing.md"}], "Done."])
    dream(parts, speaker)
    opening, *_text, closing = speaker.answers[0].splitlines()
    assert f"`{opening}`" in speaker.requests[0].system
    assert f"`{closing}`" in speaker.requests[0].system


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ({"command": "delete", "path": "/memories/global/preferences.md"}, "pinned"),
        ({"command": "create", "path": "/memories/global/../x.md", "file_text": "x"}, ".."),
        ({"command": "delete", "path": "/memories/nowhere/x.md"}, "scope"),
    ],
)
def test_the_rails_answer_the_model_and_the_run_goes_on(
    parts: HomeContainer, request_: dict[str, Any], refused: str
) -> None:
    before = contents(parts.home.root / "memory")
    speaker = Speaker([[request_], "Sorry."])
    result = dream(parts, speaker)
    assert result.outcome == "unchanged"
    assert refused in speaker.answers[0]
    assert [op["applied"] for op in result.ops] == [False]
    assert contents(parts.home.root / "memory") == before


def test_a_final_pass_deletes_no_project_memory(parts: HomeContainer) -> None:
    speaker = Speaker([[{"command": "delete", "path": "/memories/project/deploy.md"}], "Done."])
    result = dream(parts, speaker, trigger="archive")
    assert "deletes nothing from project memory" in speaker.answers[0]
    assert [op["applied"] for op in result.ops] == [False]
    root = parts.home.scope_root(workspace(parts, ACME), Scope.PROJECT).directory
    assert (root / "deploy.md").exists()


def test_a_deleted_note_whose_lines_stand_nowhere_else_holds_the_run(parts: HomeContainer) -> None:
    before = contents(parts.home.root / "memory")
    gone: list[Say] = [[{"command": "delete", "path": "/memories/project/deploy.md"}], "Gone."]
    result = dream(parts, Speaker([*gone, *gone]))
    assert result.outcome == "held"
    assert contents(parts.home.root / "memory") == before
    assert ACME not in parts.coverage.load().workspaces or (
        parts.coverage.load().workspaces[ACME]["summary"] != "Gone."
    )


def covered_at(parts: HomeContainer) -> object:
    return parts.coverage.load().workspaces.get(ACME)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([[edit()], ProviderError("overloaded", "Busy.", next_step="Later.")], "provider-overloaded"),
        ([ProviderError("key", "No key.", next_step="Set one.")], "provider-key"),
        ([[edit()]] * (MAX_STEPS + 1), "model"),
    ],
)
def test_a_run_that_does_not_come_to_its_end_changes_nothing_and_says_what_to_do(
    parts: HomeContainer, script: list[Say], reason: str
) -> None:
    before, covered = contents(parts.home.root), covered_at(parts)
    speaker = Speaker(script)
    result = dream(parts, speaker)
    assert (result.outcome, result.reason) == ("failed", reason)
    assert result.next_step
    assert contents(parts.home.root) == before
    assert covered_at(parts) == covered
    assert parts.traces.load(result.run_id)["reverie"]["runOutcome"] == "failed"
    assert speaker.closed
    assert dream(parts, Speaker(["Fine."])).outcome == "unchanged"


def test_a_cancel_ends_the_run_and_keeps_what_was_spent(parts: HomeContainer) -> None:
    cancel = threading.Event()
    speaker = Speaker([[edit()], "Never said."])
    asked = iter([lambda: None, cancel.set])
    speaker.before = lambda: next(asked)()
    result = dream(parts, speaker, cancel=cancel)
    assert result.outcome == "cancelled"
    assert result.usage is not None
    assert result.usage["inputTokens"] >= 1000
    assert all(not op["applied"] for op in result.ops)


def test_progress_tells_each_operation_once(parts: HomeContainer) -> None:
    seen: list[Progress] = []
    dream(parts, Speaker([[edit("a"), edit("b")], "Done."]), progress=seen.append)
    assert [progress.op["applied"] for progress in seen if progress.op is not None] == [True, True]


def test_a_dry_run_of_a_model_touches_nothing_and_can_be_reviewed(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    result = dream(parts, Speaker([[edit("New.", "why")], "Added."]), dry_run=True)
    assert (result.outcome, result.ops[0]["note"]) == ("completed", "dry-run")
    assert contents(parts.home.root) == before
    journal = parts.transaction_for(result.run_id, "review").load()
    assert journal is not None
    assert journal.for_review


OLD, NEW = "/memories/global/queue.md", "/memories/global/worker.md"


def disagreeing(parts: HomeContainer, **more: str) -> dict[str, Any]:
    folder = parts.home.root / "memory/global"
    (folder / "queue.md").write_text("# Queue\n\nA job is handled inside the request.\n")
    (folder / "worker.md").write_text("# Worker\n\nJobs leave the request at once; the worker takes them.\n")
    pair = {
        "what": "overtaken",
        "first_path": OLD,
        "first_line": "A job is handled inside the request.",
        "second_path": NEW,
        "second_line": "Jobs leave the request at once; the worker takes them.",
        "why": "The worker came later.",
    }
    return {"pairs": [pair | more]}


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_a_model_points_out_is_worth_a_look_until_a_line_changes(
    parts: HomeContainer, *, dry_run: bool
) -> None:
    before = parts.home.root / "memory/global/queue.md"
    speaker = Speaker([[disagreeing(parts)], "Left two notes alone."])
    result = dream(parts, speaker, dry_run=dry_run)
    assert result.summary == "Left two notes alone. 1 pair of memories is worth a look."
    assert speaker.answers == ["1 noted so far; a person decides about them."]
    service, context = Workbench(parts).worth_a_look, workspace(parts, ACME)
    (found,) = [each for each in service.find(context).findings if each.why]
    assert (found.kind, found.paths, found.lines) == ("superseded", (OLD, NEW), (3, 3))
    assert found.evidence[0] == "A job is handled inside the request."
    assert found.why == "The worker came later."
    before.write_text("# Queue\n\nOne line more.\nA job is handled inside the request.\n")
    assert [each.lines for each in service.find(context).findings if each.why] == [(4, 3)]
    before.write_text("# Queue\n\nA job is handled by the worker.\n")
    assert not [each for each in service.find(context).findings if each.why]


def test_what_a_model_points_out_is_told_what_is_wrong_with_it(parts: HomeContainer) -> None:
    wrong = disagreeing(parts, second_line="Nobody wrote this.")
    speaker = Speaker([[wrong], "Nothing to do."])
    result = dream(parts, speaker)
    assert result.summary == "Nothing to do."
    assert f"No line of {NEW} holds these words" in speaker.answers[0]
    findings = Workbench(parts).worth_a_look.find(workspace(parts, ACME)).findings
    assert not [each for each in findings if each.why]


def test_a_secret_is_not_pointed_out(parts: HomeContainer) -> None:
    pairs = disagreeing(parts, first_line="token: {{REVERIE_SECRET_0}}")
    (parts.home.root / "memory/global/queue.md").write_text(f"# Queue\n\ntoken: {SECRET}\n")
    speaker = Speaker([[pairs], "Nothing to do."])
    dream(parts, speaker)
    assert "holds a placeholder" in speaker.answers[0]
    kept = parts.own_sidecar("noticed.json")
    assert not kept.path.exists()


def test_a_model_that_fails_keeps_nothing_it_pointed_out(parts: HomeContainer) -> None:
    speaker = Speaker([[disagreeing(parts)], ProviderError("key", "No key.", next_step="Set one.")])
    assert dream(parts, speaker).outcome == "failed"
    assert not parts.own_sidecar("noticed.json").path.exists()
