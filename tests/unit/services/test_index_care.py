"""The index of a memory directory on disk: looked at, mended without changing anything else, and followed by
a rename that a person saw first."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from helpers.benches import Time, contents
from helpers.claude_home import ClaudeHomeMaker, newer_topic, topic
from reverie.agents.memory_index import IndexFinding, can_fix
from reverie.agents.scopes import ScopeContext
from reverie.errors import Conflict, StoreError
from reverie.profile import Profile
from reverie.services.container import HomeContainer, HomeKey
from reverie.services.memory_index import IndexCheck
from reverie.services.views import Undo
from reverie.services.workbench import Workbench
from reverie.settings import Settings

BASE = "/memories/project"
INDEX = (
    "\ufeff# Memory\r\n\r\n- [Deploy](deploy.md)  —  how deploys go\r\n- [Gone](gone.md)\r\n* [[nobody]]\r\n"
    f"- [Tests](sub/tests.md) {'long words ' * 30}\r\n\r\nProse about [deploy](deploy.md).\r\n"
)
FILES = {
    "MEMORY.md": INDEX,
    "deploy.md": topic("deploy", body="See [tests](sub/tests.md) and [[tests]].\n"),
    "sub/tests.md": newer_topic("tests", body="[deploy](../deploy.md)\r\n"),
    "new one.md": topic("the-new-one", "what is new"),
    "bytes.md": b"\xff\xfe no text",
    "picture.png": b"\x89PNG",
    "team/MEMORY.md": "- [t](t.md)\n",
    "team/t.md": topic("t"),
}


class Desk:
    def __init__(self, tmp_path: Path) -> None:
        maker = ClaudeHomeMaker(tmp_path)
        cwd = maker.repository("work")
        maker.session(cwd, 1)
        maker.typed(cwd)
        self.memory = maker.memory(cwd, FILES)
        (self.memory / "MEMORY.md").chmod(0o640)
        key = HomeKey(maker.home(), "home-1")
        parts = HomeContainer(key, Profile.under(tmp_path / "profile"), Time(), Settings)
        self.bench = Workbench(parts)
        self.context: ScopeContext = parts.home.context(project_path=str(cwd))

    def look(self) -> IndexCheck:
        look = self.bench.index_care.look(self.context, f"{BASE}/MEMORY.md")
        assert look is not None
        return look

    def fix(self, problem: str, about: str) -> None:
        look = self.look()
        found = next(
            each
            for each in look.report.findings
            if each.problem == problem and about in (each.about, each.rel)
        )
        undo = self.fix_all(look, found)
        before = self.index
        self.bench.undo(undo)
        assert sorted(contents(self.memory)) == sorted(FILES)
        self.fix_all(self.look(), found)
        assert self.index == before

    def fix_all(self, look: IndexCheck, *findings: IndexFinding) -> Undo:
        care, before = self.bench.index_care, contents(self.memory)
        plan = care.plan_fixes(self.context, look, findings)
        assert contents(self.memory) == before
        return care.apply(self.context, plan)

    @property
    def index(self) -> str:
        return (self.memory / "MEMORY.md").read_bytes().decode()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_look_names_what_is_wrong_and_changes_nothing(desk: Desk) -> None:
    before = contents(desk.memory)
    found = {(each.problem, each.rel, each.about) for each in desk.look().report.findings}
    assert ("no-file", "MEMORY.md", "gone.md") in found
    assert ("dangling", "MEMORY.md", "nobody") in found
    assert ("unlisted", "new one.md", "the-new-one") in found
    assert ("long-line", "MEMORY.md", "sub/tests.md") in found
    assert not [each for each in found if each[1].startswith("team/")]
    assert contents(desk.memory) == before
    assert desk.bench.index_care.look(desk.context, f"{BASE}/deploy.md") is None


def test_each_mend_changes_its_own_line_and_nothing_else_and_can_be_taken_back(desk: Desk) -> None:
    desk.fix("no-file", "gone.md")
    assert desk.index == INDEX.replace("- [Gone](gone.md)\r\n", "")
    desk.fix("dangling", "nobody")
    assert "nobody" not in desk.index
    desk.fix("long-line", "sub/tests.md")
    lines = desk.index.split("\r\n")
    assert [line for line in lines if len(line) > 200] == []
    desk.fix("unlisted", "new one.md")
    assert desk.index.startswith(
        "\ufeff# Memory\r\n\r\n- [Deploy](deploy.md)  —  how deploys go\r\n- [Tests]("
    )
    assert "- [the-new-one](new%20one.md) — what is new\r\n" in desk.index
    assert desk.index.endswith(
        "\r\n\r\nProse about [deploy](deploy.md).\r\n- [the-new-one](new%20one.md) — what is new\r\n"
    )
    assert stat.S_IMODE((desk.memory / "MEMORY.md").stat().st_mode) == 0o640


def test_an_index_that_changed_since_is_not_mended(desk: Desk) -> None:
    look = desk.look()
    (desk.memory / "MEMORY.md").write_text(INDEX + "- more\n", newline="")
    found = next(each for each in look.report.findings if each.problem == "no-file")
    with pytest.raises(Conflict):
        desk.fix_all(look, found)
    assert desk.index == INDEX + "- more\n"


def test_an_index_that_changed_since_a_person_saw_the_lines_is_not_mended(desk: Desk) -> None:
    look = desk.look()
    found = next(each for each in look.report.findings if each.problem == "no-file")
    plan = desk.bench.index_care.plan_fixes(desk.context, look, (found,))
    assert [(line.line, line.before, line.after) for line in plan.lines] == [(4, "- [Gone](gone.md)", "")]
    (desk.memory / "MEMORY.md").write_text(INDEX + "- more\n", newline="")
    with pytest.raises(Conflict):
        desk.bench.index_care.apply(desk.context, plan)
    assert desk.index == INDEX + "- more\n"


def test_all_that_can_be_mended_is_mended_as_one_change_and_each_line_is_shown_first(desk: Desk) -> None:
    look = desk.look()
    wanted = tuple(each for each in look.report.findings if can_fix(each))
    plan = desk.bench.index_care.plan_fixes(desk.context, look, wanted)
    shown = [(line.line, not line.before, not line.after) for line in plan.lines]
    # Two lines go, one is shortened, the prose that names a memory again goes, and two lines are added.
    gone, added = (False, True), (True, False)
    assert shown == [(4, *gone), (5, *gone), (6, False, False), (8, *gone), (5, *added), (6, *added)]
    assert [each.problem for each in wanted if each.is_prose] == ["listed-twice"]
    undo = desk.bench.index_care.apply(desk.context, plan)
    assert not [each for each in desk.look().report.findings if can_fix(each)]
    desk.bench.undo(undo)
    assert desk.index == INDEX


def test_what_nothing_can_mend_changes_nothing(desk: Desk) -> None:
    (desk.memory / "MEMORY.md").write_text("- [Deploy](deploy.md) and [lost](lost.md)\n")
    look = desk.look()
    found = next(each for each in look.report.findings if each.problem == "no-file")
    with pytest.raises(StoreError, match="several files"):
        desk.bench.index_care.plan_fixes(desk.context, look, (found,))


def test_a_rename_shows_each_line_first_and_then_changes_exactly_those(desk: Desk) -> None:
    before = contents(desk.memory)
    plan = desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/sub/tests.md": f"{BASE}/testing.md"})
    assert plan is not None
    assert contents(desk.memory) == before
    assert [(line.path, line.line) for line in plan.lines] == [
        (f"{BASE}/MEMORY.md", 6),
        (f"{BASE}/deploy.md", 6),
        (f"{BASE}/testing.md", 9),
    ]
    undo = desk.bench.index_care.apply(desk.context, plan)
    assert desk.index == INDEX.replace("(sub/tests.md)", "(testing.md)")
    assert "[tests](testing.md) and [[tests]]" in (desk.memory / "deploy.md").read_text()
    assert (desk.memory / "testing.md").read_bytes().endswith(b"[deploy](deploy.md)\r\n")
    desk.bench.undo(undo)
    assert contents(desk.memory) == before


def test_a_folder_is_renamed_with_all_that_leads_into_it(desk: Desk) -> None:
    plan = desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/sub": f"{BASE}/notes/how"})
    assert plan is not None
    desk.bench.index_care.apply(desk.context, plan)
    assert "(notes/how/tests.md)" in desk.index
    assert (desk.memory / "notes/how/tests.md").read_bytes().endswith(b"[deploy](../../deploy.md)\r\n")
    assert not (desk.memory / "sub").exists()


def test_several_move_as_one_with_all_that_leads_to_them(desk: Desk) -> None:
    before = contents(desk.memory)
    targets = {f"{BASE}/{rel}": f"{BASE}/old/{rel}" for rel in ("deploy.md", "sub", "bytes.md")}
    plan = desk.bench.index_care.plan_renames(desk.context, targets)
    assert plan is not None
    undo = desk.bench.index_care.apply(desk.context, plan)
    assert desk.index == INDEX.replace("(deploy.md)", "(old/deploy.md)").replace("(sub/", "(old/sub/")
    assert "[tests](sub/tests.md) and [[tests]]" in (desk.memory / "old/deploy.md").read_text()
    assert (desk.memory / "old/sub/tests.md").read_bytes().endswith(b"[deploy](../deploy.md)\r\n")
    assert (desk.memory / "old/bytes.md").read_bytes() == FILES["bytes.md"]
    desk.bench.undo(undo)
    assert contents(desk.memory) == before


def test_moves_that_one_index_does_not_follow_are_not_planned(desk: Desk) -> None:
    plan = desk.bench.index_care.plan_renames
    inside = {f"{BASE}/deploy.md": f"{BASE}/d.md"}
    assert plan(desk.context, {**inside, f"{BASE}/team/t.md": f"{BASE}/team/u.md"}) is None
    assert plan(desk.context, {**inside, f"{BASE}/bytes.md": "/memories/global/bytes.md"}) is None


def test_a_name_that_is_taken_and_a_plan_that_is_stale_change_nothing(desk: Desk) -> None:
    with pytest.raises(StoreError):
        desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/sub/tests.md": f"{BASE}/deploy.md"})
    with pytest.raises(StoreError):
        desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/nothing.md": f"{BASE}/else.md"})
    twice = {f"{BASE}/sub/tests.md": f"{BASE}/one.md", f"{BASE}/deploy.md": f"{BASE}/one.md"}
    with pytest.raises(StoreError, match="same name"):
        desk.bench.index_care.plan_renames(desk.context, twice)
    plan = desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/deploy.md": f"{BASE}/d.md"})
    assert plan is not None
    (desk.memory / "MEMORY.md").write_text("other\n")
    before = contents(desk.memory)
    with pytest.raises(Conflict):
        desk.bench.index_care.apply(desk.context, plan)
    assert contents(desk.memory) == before


def test_what_is_no_text_is_renamed_byte_for_byte(desk: Desk) -> None:
    plan = desk.bench.index_care.plan_renames(desk.context, {f"{BASE}/bytes.md": f"{BASE}/b.md"})
    assert plan is not None
    assert not plan.lines
    desk.bench.index_care.apply(desk.context, plan)
    assert (desk.memory / "b.md").read_bytes() == b"\xff\xfe no text"


def test_a_line_below_the_cut_is_moved_up_and_a_link_spelled_as_its_file_by_one_press(desk: Desk) -> None:
    lines = [f"- [T{number}](t{number}.md)" for number in range(210)]
    lines[0] = "- [Overview](\u00fcbersicht.md)"
    (desk.memory / "MEMORY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number in range(1, 210):
        (desk.memory / f"t{number}.md").write_text(topic(f"t{number}"))
    (desk.memory / "u\u0308bersicht.md").write_text(topic("overview"), encoding="utf-8")
    look = desk.look()
    problems = {each.problem for each in look.report.findings}
    assert "no-file" not in problems
    assert not [each for each in look.report.findings if each.rel == "u\u0308bersicht.md"]
    (spelled,) = (each for each in look.report.findings if each.problem == "other-spelling")
    desk.fix_all(look, spelled)
    look = desk.look()
    assert not [each for each in look.report.findings if each.problem == "other-spelling"]
    fallen = next(each for each in look.report.findings if each.about == "t205.md")
    desk.fix_all(look, fallen)
    assert "t205.md" not in {entry.target for entry in desk.look().report.fallen}


def test_all_dead_lines_go_by_one_press_and_come_back_by_one(desk: Desk) -> None:
    dead = "".join(f"- [Gone {number}](gone-{number}.md)\n" for number in range(240))
    shared = "- [Deploy](deploy.md) and [lost](lost.md)\n"
    before = f"# Memory\n\n- [Deploy](deploy.md) — how deploys go\n{dead}{shared}"
    (desk.memory / "MEMORY.md").write_text(before, newline="")
    look = desk.look()
    found = [each for each in look.report.findings if each.problem == "no-file"]
    assert len(found) == 241
    undo = desk.fix_all(look, *found)
    assert desk.index == before.replace(dead, "")
    desk.bench.undo(undo)
    assert desk.index == before
