"""`reverie findings` suggests a change, and `reverie decide` carries out what a person decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.claude_home import ClaudeHomeMaker
from reverie.cli.main import main
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import Busy, Conflict
from reverie.profile import Profile
from reverie.services.findings import FindingService
from reverie.services.workbench import Workbench

BODY = """# Releases

- Cut the release branch on Monday; nobody merges into it but the release manager.
- Run `make smoke` on staging twice, with the cache on and with the cache off.
- Write the notes for people who use the program, not for those who wrote it.
- Publish before noon, so that somebody is there when it breaks.
"""
INDEX = "# Memory\n\n- [Releases](releases.md): how we release\n- [Copy](releases-copy.md): a copy\n"
PLAN = """# Import of invoices

Read the invoices of the suppliers and book them.

- [ ] Parse the invoices of suppliers that send PDF files
- [ ] Match each invoice with its order
"""
PROGRESS = """# Progress

- [x] Parse the invoices of suppliers that send PDF files
"""


class Desk:
    """A Claude Code home with one project, and the commands on it."""

    def __init__(self, tmp_path: Path, capsys: Any) -> None:
        self._capsys = capsys
        self.project = tmp_path / "work/shop"
        self.project.mkdir(parents=True)
        maker = ClaudeHomeMaker(tmp_path)
        maker.session(self.project, 1)
        self.memory = maker.memory(self.project, {"MEMORY.md": INDEX})
        self.home, self.profile = maker.root, tmp_path / "profile"

    def write(self, **notes: str) -> None:
        for name, text in notes.items():
            (self.memory / f"{name.replace('_', '-')}.md").write_text(text, encoding="utf-8", newline="")

    def files(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in self.memory.iterdir()}

    def run(self, *words: str, code: int = 0) -> Any:
        all_words = ["--profile", str(self.profile), "--home", str(self.home), "--json", *words]
        assert main(all_words) == code
        found = self._capsys.readouterr()
        return json.loads(found.out) if found.out else found.err

    def findings(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.run("findings") if each["kind"] == kind]

    def service(self) -> tuple[FindingService, Any]:
        parts = open_parts(self.home, Profile.under(self.profile), system_clock)
        context = parts.home.context(project_path=str(self.project), project_given=True)
        return Workbench(parts).worth_a_look, context


@pytest.fixture
def desk(tmp_path: Path, capsys: Any) -> Desk:
    return Desk(tmp_path, capsys)


def test_a_copy_is_suggested_for_deletion_with_its_line_in_the_index(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    before = desk.files()
    (one,) = desk.findings("near-duplicate") + desk.findings("successor")
    suggestion = one["suggestion"]
    assert suggestion["action"] == "delete"
    assert suggestion["why"] == "releases.md has everything that releases-copy.md states."
    assert "deleted file" in suggestion["diff"]
    assert "-- [Copy](releases-copy.md): a copy" in suggestion["diff"]
    assert one["saves"]["tokens"] > 0
    assert desk.files() == before


def test_the_suggested_diff_is_what_the_decision_writes_and_revert_undoes_it(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    before = desk.files()
    (one,) = [each for each in desk.run("findings") if each["suggestion"]]
    dry = desk.run("decide", one["id"], "--take", "suggestion", "--dry-run")
    assert dry["run"] is None
    assert "".join(each["diff"] for each in dry["changes"]) == one["suggestion"]["diff"]
    assert desk.files() == before
    done = desk.run("decide", one["id"], "--take", "suggestion")
    assert done["changes"] == dry["changes"]
    assert sorted(desk.files()) == ["MEMORY.md", "releases.md"]
    assert "releases-copy" not in (desk.memory / "MEMORY.md").read_text()
    shown = desk.run("diff", done["run"])
    assert {each["path"] for each in shown} == {each["path"] for each in done["changes"]}
    (run,) = [each for each in desk.run("runs") if each["id"] == done["run"]]
    assert (run["kind"], run["outcome"]) == ("decision", "completed")
    desk.run("revert", done["run"])
    assert desk.files() == before


def test_a_decision_is_no_consolidation(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    (one,) = [each for each in desk.run("findings") if each["suggestion"]]
    desk.run("decide", one["id"], "--take", "suggestion")
    status = desk.run("status", "--project", str(desk.project))
    assert status["projectRecord"] is None


def test_nothing_is_written_if_a_memory_has_changed_since_it_was_shown(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    (one,) = [each for each in desk.run("findings") if each["suggestion"]]
    # The finding rests on the same lines, but the text that would be deleted is another one.
    desk.write(releases=BODY + "- And one more step.\n", releases_copy=BODY + "- And one more step.\n")
    before = desk.files()
    refused = desk.run("decide", one["id"], "--take", "suggestion", code=1)
    assert refused["reason"] == "changed"
    assert desk.files() == before


def test_a_change_between_the_check_and_the_write_is_a_conflict(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    service, context = desk.service()
    (one,) = [each for each in service.find(context).findings if each.suggestion]
    parts = service._parts
    carried_out = parts.dreams.decide

    def late(*arguments: Any) -> Any:
        (desk.memory / "releases-copy.md").write_text(BODY + "- Typed meanwhile.\n")
        return carried_out(*arguments)

    monkeypatch.setattr(parts.dreams, "decide", late)
    with pytest.raises(Conflict):
        service.decide(context, one.id, "suggestion", one.state)
    assert "Typed meanwhile" in (desk.memory / "releases-copy.md").read_text()
    assert (desk.memory / "MEMORY.md").read_text() == INDEX


def test_while_another_run_is_at_work_a_decision_is_refused(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    service, context = desk.service()
    (one,) = [each for each in service.find(context).findings if each.suggestion]
    before = desk.files()
    dependencies = service._parts.dream_dependencies
    with dependencies.leases.acquire(dependencies.lease_name, purpose="a test"), pytest.raises(Busy):
        service.decide(context, one.id, "suggestion", one.state)
    assert desk.files() == before


def test_the_ids_stay_while_lines_move(desk: Desk) -> None:
    desk.write(plan=PLAN, progress=PROGRESS)
    first = [each["id"] for each in desk.run("findings")]
    desk.write(plan="\n\n" + PLAN)
    assert [each["id"] for each in desk.run("findings")] == first


def test_a_task_that_is_done_elsewhere_gets_its_mark(desk: Desk) -> None:
    desk.write(plan=PLAN, progress=PROGRESS)
    (one,) = desk.findings("superseded")
    assert one["suggestion"]["action"] == "replace"
    desk.run("decide", one["id"], "--take", "suggestion")
    text = (desk.memory / "plan.md").read_text()
    assert text == PLAN.replace("- [ ] Parse", "- [x] Parse")


@pytest.mark.parametrize(("take", "stays"), [("left", "releases.md"), ("right", "releases-weekly.md")])
def test_one_of_two_similar_memories_is_kept(desk: Desk, take: str, stays: str) -> None:
    desk.write(releases=BODY, releases_weekly=BODY.replace("before noon", "after lunch"))
    (one,) = desk.findings("differing") + desk.findings("near-duplicate") + desk.findings("successor")
    paths = [path.rpartition("/")[2] for path in one["paths"]]
    assert sorted(paths) == ["releases-weekly.md", "releases.md"]
    side = "left" if paths[0] == stays else "right"
    desk.run("decide", one["id"], "--take", side)
    assert sorted(desk.files()) == ["MEMORY.md", stays]


def test_one_of_two_contradicting_values_is_taken_over(desk: Desk) -> None:
    desk.write(
        server="# Server\n\nThe shop runs on one machine.\n\n- Request timeout: 30 seconds\n",
        limits="# Limits of the shop\n\nThe shop runs on one machine.\n\n- Request timeout: 45 seconds\n",
    )
    (one,) = desk.findings("contradiction")
    assert one["suggestion"] is None  # it is not known which of them is newer
    assert desk.run("decide", one["id"], "--take", "suggestion", code=1)["reason"] == "undecidable"
    desk.run("decide", one["id"], "--take", "left")
    left = "30" if one["paths"][0].endswith("server.md") else "45"
    texts = [file.decode() for name, file in desk.files().items() if name != "MEMORY.md"]
    assert [f"- Request timeout: {left} seconds" in text for text in texts] == [True, True]


@pytest.mark.parametrize("take", ["both", "never"])
def test_what_is_kept_for_good_is_dismissed_as_in_the_window(desk: Desk, take: str) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    before = desk.files()
    (one,) = [each for each in desk.run("findings") if each["suggestion"]]
    assert desk.run("decide", one["id"], "--take", take) == {"run": None, "changes": []}
    assert one["id"] not in {each["id"] for each in desk.run("findings")}
    assert desk.files() == before
    service, context = desk.service()
    assert service.find(context).dismissed == 1
    service.restore()
    assert one["id"] in {each["id"] for each in desk.run("findings")}


def test_a_pinned_memory_is_never_suggested_for_deletion_but_a_person_may_choose_it(desk: Desk) -> None:
    desk.write(releases=BODY, releases_copy=BODY)
    service, context = desk.service()
    Workbench(service._parts).edits.pin(context, ("/memories/project/releases-copy.md",), True)
    (one,) = [each for each in desk.run("findings") if each["suggestion"]]
    assert one["suggestion"]["why"] == "releases-copy.md has everything that releases.md states."
    side = "left" if one["paths"][0].endswith("releases.md") else "right"
    desk.run("decide", one["id"], "--take", side)
    assert sorted(desk.files()) == ["MEMORY.md", "releases.md"]
    pinned = service._parts.usage.load()
    assert [key for key, usage in pinned.items() if usage.pinned and key.endswith("releases.md")]


def test_an_unknown_finding_is_an_error(desk: Desk) -> None:
    assert desk.run("decide", "0" * 20, "--take", "never", code=1)["reason"] == "missing"


def test_a_finding_about_a_project_s_own_notes_can_only_be_dismissed(desk: Desk) -> None:
    folder = desk.project / ".serena/memories"
    folder.mkdir(parents=True)
    (folder / "releases.md").write_text(BODY)
    (folder / "releases_updated.md").write_text(BODY)
    where = ("--project", str(desk.project))
    (one,) = [each for each in desk.run("findings", *where) if "releases" in each["paths"][0]]
    assert one["suggestion"] is None
    assert "belongs to the project, not to the home of an agent" in json.dumps(
        desk.run("decide", one["id"], "--take", "left", *where, code=1)
    )
    desk.run("decide", one["id"], "--take", "never", *where)
    assert one["id"] not in {each["id"] for each in desk.run("findings", *where)}
