"""Claims of the memories of a home: over the wire, live after a commit, fixed and undone, unsaved text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.expect_log import ExpectLog
from helpers.git_project import DAY, START, GitProject, all_bytes
from helpers.hostile_repositories import hostile
from helpers.offered import names_of
from helpers.speaker import Say, Speaker
from reverie.agents.scopes import ScopeContext
from reverie.claims.apart import ProjectClaims
from reverie.claims.checking import CheckedClaim, CheckedNote
from reverie.claims.project import ClaimReport
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.engine.codec import decode, encode
from reverie.errors import StoreError
from reverie.jobs.consolidate.engine import Engine, ModelEngine, RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.llm.client import ModelClient
from reverie.profile import Profile
from reverie.runs.record import RunRecord
from reverie.services.claims import ClaimService
from reverie.services.workbench import Workbench
from unit.engine.test_run_workers import children

BODY = "value = 1\n" * 12
MEMORY = "/memories/project/entry.md"


class Desk:
    """A home with one memory about a project."""

    def __init__(self, tmp_path: Path) -> None:
        self.project = GitProject(tmp_path / "project")
        self.project.commit({"src/a.py": BODY, "src/keep.py": "x = 1\n"})
        self.home = ClaudeHomeMaker(tmp_path)
        self.home.session(self.project.path, 1)
        text = topic("entry", body="Start at `src/a.py`.\n\nThen `src/keep.py`, see [[entry]].\n")
        self.memory = self.home.file(
            f"projects/{self.home.directory(self.project.path).name}/memory/entry.md", text
        )
        os.utime(self.memory, (START + DAY * 1.5, START + DAY * 1.5))
        parts = open_parts(self.home.root, Profile.under(tmp_path / "profile"), system_clock)
        self.bench = Workbench(parts)
        self.context: ScopeContext = parts.home.context(
            project_path=str(self.project.path), project_given=True
        )

    def check(self) -> dict[str, CheckedClaim]:
        return {claim.token: claim for claim in self.bench.claims.check(self.context).claims}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.bench.claims.close()


def test_a_commit_is_seen_by_the_next_check_and_looking_changes_nothing(desk: Desk) -> None:
    assert {claim.state for claim in desk.check().values()} == {"holds"}
    desk.project.move("src/a.py", "src/b.py", "Rename")
    before = all_bytes(desk.home.root), all_bytes(desk.project.path)
    found = desk.check()
    assert (found["src/a.py"].state, found["src/a.py"].to, found["src/a.py"].path) == (
        "moved",
        "src/b.py",
        MEMORY,
    )
    assert found["src/keep.py"].state == "holds"
    assert (all_bytes(desk.home.root), all_bytes(desk.project.path)) == before
    desk.project.move("src/b.py", "src/c.py", "Again")
    assert desk.check()["src/a.py"].to == "src/c.py"


def test_of_a_memory_that_is_gone_no_line_is_kept(desk: Desk) -> None:
    other = desk.memory.with_name("other.md")
    other.write_text(topic("other", body="See `src/keep.py`.\n"))
    desk.check()
    other.unlink()
    desk.check()
    kept = desk.bench.claims._earliest[desk.context]
    assert kept.keys() == {MEMORY}


def test_a_memory_that_goes_while_a_check_is_under_way_is_no_fault(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = desk.memory.with_name("other.md")
    other.write_text(topic("other", body="See `src/a.py`.\n"))
    os.utime(other, (START + DAY * 1.5, START + DAY * 1.5))
    desk.project.move("src/a.py", "src/b.py", "Rename")
    check = ProjectClaims.check

    def gone_meanwhile(project: ProjectClaims, notes: Sequence[CheckedNote], **more: Any) -> ClaimReport:
        other.unlink()
        with pytest.raises(StoreError):
            desk.bench.claims.fix(desk.context, ())
        return check(project, notes, **more)

    monkeypatch.setattr(ProjectClaims, "check", gone_meanwhile)
    assert {claim.path for claim in desk.bench.claims.check(desk.context).stale} == {
        MEMORY,
        "/memories/project/other.md",
    }


def test_a_fix_can_be_undone(desk: Desk) -> None:
    desk.project.move("src/a.py", "src/b.py", "Rename")
    before = desk.memory.read_text()
    undo = desk.bench.claims.fix(desk.context, desk.bench.claims.check(desk.context).stale)
    assert desk.memory.read_text() == before.replace("src/a.py", "src/b.py")
    desk.bench.undo(undo)
    assert desk.memory.read_text() == before


def consolidated(desk: Desk, engine: Engine | None = None, *, dry_run: bool = False) -> RunRecord:
    engine = engine or RulesEngine()
    request = DreamRequest(desk.context, "manual", engine.name, dry_run)
    return desk.bench.parts.runs.load(desk.bench.parts.dreams.run(request, engine).run_id)


def by_model(*says: Say) -> tuple[Speaker, ModelEngine]:
    speaker = Speaker(list(says))
    asking = ModelClient("test:model", lambda: speaker, lambda _usage: Decimal(0), clock=system_clock)
    return speaker, ModelEngine(asking, instructions="Tidy.", trigger="manual")


def test_a_consolidation_by_rules_follows_moved_files_and_keeps_every_fact(desk: Desk) -> None:
    before = desk.memory.read_text()
    desk.project.move("src/a.py", "lib/a.py", "Move")
    assert consolidated(desk, dry_run=True).ops[0]["path"] == MEMORY
    assert desk.memory.read_text() == before
    record = consolidated(desk)
    assert desk.memory.read_text() == before.replace("src/a.py", "lib/a.py")
    assert record.outcome == "completed"
    assert "updated the paths of moved files in 1 memory" in record.summary.lower()
    assert record.details["reasons"] == ["In “project/entry.md” “src/a.py” is now “lib/a.py”."]
    card = record.details["card"]
    assert (card["stale"], card["changed"], card["invented"], card["lost"]) == (
        {"before": 1, "after": 0},
        [],
        [],
        [],
    )
    assert consolidated(desk).outcome == "unchanged"
    desk.bench.revert(record.id)
    assert desk.memory.read_text() == before


def test_a_consolidation_by_rules_leaves_what_is_gone_for_a_person(desk: Desk) -> None:
    before = desk.memory.read_text()
    desk.project.commit({"src/a.py": None})
    assert consolidated(desk).outcome == "unchanged"
    assert desk.memory.read_text() == before


def test_a_model_is_told_what_is_stale_and_may_write_what_is_true(desk: Desk) -> None:
    desk.project.move("src/a.py", "src/b.py", "Rename")
    fix = {"command": "str_replace", "path": MEMORY, "old_str": "src/a.py", "new_str": "src/b.py"}
    speaker, engine = by_model([fix], "Done.")
    record = consolidated(desk, engine)
    assert "/memories/project/entry.md line 6: src/a.py moved to src/b.py (" in speaker.sent
    assert (record.outcome, record.details["card"]["stale"]) == ("completed", {"before": 1, "after": 0})


def test_a_model_that_writes_another_path_than_the_true_one_is_held(desk: Desk) -> None:
    desk.project.move("src/a.py", "src/b.py", "Rename")
    fix = {"command": "str_replace", "path": MEMORY, "old_str": "src/a.py", "new_str": "src/keep.py"}
    _speaker, engine = by_model([fix], "Done.", [fix], "Done.")
    assert consolidated(desk, engine).outcome == "held"


def test_a_model_may_say_since_when_something_is_gone(desk: Desk) -> None:
    desk.project.commit({"src/a.py": None}, "Drop the old entry")
    date = next(iter(desk.check().values())).evidence
    assert date is not None
    line = f"Start at `src/a.py` (gone since {date.commit[:10]})."
    fix = {"command": "str_replace", "path": MEMORY, "old_str": "Start at `src/a.py`.", "new_str": line}
    speaker, engine = by_model([fix], "Done.")
    record = consolidated(desk, engine)
    assert "Drop the old entry" in speaker.sent
    assert (record.outcome, record.details["card"]["invented"]) == ("completed", [])
    # A line that says so itself misleads nobody.
    assert record.details["card"]["stale"] == {"before": 1, "after": 0}


def test_where_the_repository_cannot_be_read_a_consolidation_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
) -> None:
    def refuse(*_arguments: object, **_more: object) -> ClaimReport:
        raise StoreError("The history cannot be read.")

    monkeypatch.setattr(ClaimService, "stale", refuse)
    assert consolidated(desk).outcome == "unchanged"
    expect_log("Stale statements could not be looked for")


def test_what_nothing_replaces_is_not_fixed(desk: Desk) -> None:
    desk.project.commit({"src/a.py": None})
    with pytest.raises(StoreError, match="Reverie cannot correct any of these statements"):
        desk.bench.claims.fix(desk.context, desk.bench.claims.check(desk.context).stale)


def test_a_line_keeps_its_time_over_a_restart_and_an_edit_of_another(desk: Desk, tmp_path: Path) -> None:
    desk.project.move("src/a.py", "src/b.py", "Rename")
    assert desk.check()["src/a.py"].state == "moved"
    desk.memory.write_text(desk.memory.read_text() + "\nOne more line, `src/keep.py`.\n")
    again = Workbench(open_parts(desk.home.root, Profile.under(tmp_path / "profile"), system_clock))
    found = {claim.token: claim.state for claim in again.claims.check(desk.context).claims}
    assert found == {"src/a.py": "moved", "src/keep.py": "holds", "entry": "holds"}
    kept = next((tmp_path / "profile").rglob("line-times.json")).read_text()
    assert "src/a.py" not in kept
    desk.memory.write_text(desk.memory.read_text().replace("src/a.py", "src/b.py"))
    again.claims.check(desk.context)
    again.claims.close()
    assert json.loads(next((tmp_path / "profile").rglob("line-times.json")).read_text()) == {"written": {}}


def test_a_link_leads_to_a_memory_that_is_made_later(desk: Desk) -> None:
    desk.memory.write_text(desk.memory.read_text() + "\nSee [[later]].\n")
    assert desk.check()["later"].state == "unknown"
    desk.memory.with_name("later.md").write_text(topic("later", body="Here.\n"))
    assert desk.check()["later"].state == "holds"


def test_what_one_check_saw_of_a_commit_another_sees_too(desk: Desk) -> None:
    other = desk.memory.with_name("other.md")
    other.write_text(topic("other", body="Only `src/keep.py`, with `some_name()`.\n"))
    os.utime(other, (START + DAY * 1.5, START + DAY * 1.5))
    desk.bench.claims.check(desk.context)
    desk.project.move("src/a.py", "src/b.py", "Rename")
    desk.bench.claims.check(desk.context, ("/memories/project/other.md",))
    after = desk.bench.claims.check(desk.context).claims
    assert {claim.token for claim in after if claim.state.is_stale} == {"src/a.py"}


def test_a_context_without_project_or_repository_has_nothing_stale(desk: Desk, tmp_path: Path) -> None:
    plain = desk.bench.parts.home.context(project_path=str(tmp_path / "nowhere"), project_given=True)
    assert desk.bench.claims.check(plain).stale == ()


def test_closing_ends_the_processes_and_a_check_starts_them_again(desk: Desk) -> None:
    others = set(children(os.getpid()))
    found = desk.check()
    assert set(children(os.getpid())) - others
    desk.bench.claims.close()
    assert not set(children(os.getpid())) - others
    assert desk.check() == found


def test_repositories_that_do_not_answer_are_asked_once(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are asked at once."""
    projects = [hostile(tmp_path / str(number), "branch").path for number in range(6)]
    of_home = desk.bench.claims
    service = ClaimService(of_home._view, of_home._timeline, of_home._apply, of_home._sidecar, silent_s=0.5)
    contexts = [
        desk.bench.parts.home.context(project_path=str(each), project_given=True) for each in projects
    ]
    with ThreadPoolExecutor(6) as pool:
        first = [report.problem for report in pool.map(service.stale, contexts)]
    assert all("could not be read" in each for each in first)
    monkeypatch.setattr("reverie.claims.apart.Child", lambda *_: pytest.fail("it was asked again"))
    assert [service.stale(context).problem for context in contexts] == first
    assert [service.check(context).problem for context in contexts] == first


def test_without_a_repository_no_memory_is_read_to_say_that_nothing_is_stale(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked after each change, and read each of 100,000 memories."""
    plain = desk.bench.parts.home.context(project_path=str(tmp_path / "nowhere"), project_given=True)
    monkeypatch.setattr(ClaimService, "_notes", lambda *_: pytest.fail("memories were read"))
    report = desk.bench.claims.stale(plain)
    assert (report.claims, report.problem != "") == ((), True)


def test_the_engine_offers_it_and_its_values_cross() -> None:
    assert {"claims.check", "claims.fix"} <= names_of(Workbench)
    report = ClaimReport((), 1, "abc", "", ("limit",))
    assert decode(encode(report), ClaimReport) == report
