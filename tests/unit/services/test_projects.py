"""A repository is listed once, with the stores of all its checkouts, homes and former places."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
import pytest

from helpers.benches import NOW, Time, contents
from helpers.claude_home import ClaudeHomeMaker
from helpers.lost_homes import LostHome
from reverie.cli import main
from reverie.compose import open_parts
from reverie.errors import StoreError
from reverie.profile import Profile
from reverie.services.projects import ProjectRegistry, ProjectRow, answer_projects, survey_projects

URL = "https://github.com/team/app.git"


class Machine:
    """A home of mux and one of Claude Code, and repositories below one directory."""

    def __init__(self, tmp_path: Path) -> None:
        self.mux = LostHome(tmp_path)
        (self.mux.root / "memory" / "global").mkdir(parents=True)
        self.claude = ClaudeHomeMaker(tmp_path)
        self.claude.projects.mkdir()
        self.claude.file("settings.json", "{}")
        self.profile = Profile.under(tmp_path / "profile")
        self._sessions = 0
        self._listed: list[Path | str] = []

    def repository(self, name: str, seed: str = "app", remote: str = URL) -> Path:
        return self.mux.repository(name, seed=seed, remote=remote)

    def mux_notes(self, project: Path, *names: str) -> None:
        self._listed.append(project)
        self.mux.list(*self._listed)
        if names:
            self.mux.store(project, **{name: f"{name} of {project.name}\n" for name in names})

    def claude_notes(self, project: Path, *names: str) -> None:
        self._sessions += 1
        self.claude.session(project, self._sessions)
        if names:
            self.claude.memory(project, {f"{name}.md": f"{name}\n" for name in names})

    @property
    def registry(self) -> ProjectRegistry:
        return ProjectRegistry(self.profile, Time())

    def survey(self) -> tuple[ProjectRow, ...]:
        homes = [open_parts(root, self.profile, Time()) for root in (self.mux.root, self.claude.root)]
        return survey_projects(homes, self.registry)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def stores(row: ProjectRow) -> set[tuple[str, str, int, bool]]:
    return {(each.agent, Path(each.checkout).name, each.notes, each.current) for each in row.stores}


def test_two_clones_and_two_agents_are_one_project(machine: Machine) -> None:
    one, two = machine.repository("one"), machine.repository("two", remote="git@github.com:team/app")
    machine.mux_notes(one, "a", "b")
    machine.mux_notes(two, "c")
    machine.claude_notes(two, "d")
    machine.claude_notes(machine.repository("other", "other", "https://github.com/team/other"), "e")
    app, other = machine.survey()
    assert stores(app) == {("mux", "one", 2, True), ("mux", "two", 1, True), ("claude", "two", 1, True)}
    assert (app.name, app.remotes, len(app.roots)) == ("app", ("github.com/team/app",), 1)
    assert app.slug.startswith("app-")
    assert stores(other) == {("claude", "other", 1, True)}
    assert app.asks == other.asks == ()


def test_looking_changes_nothing_in_a_home(machine: Machine) -> None:
    machine.mux_notes(machine.repository("one"), "a")
    machine.claude_notes(machine.repository("two"), "b")
    before = contents(machine.mux.root), contents(machine.claude.root)
    machine.survey()
    assert (contents(machine.mux.root), contents(machine.claude.root)) == before


def test_a_moved_checkout_has_its_former_store(machine: Machine) -> None:
    old = machine.repository("old")
    machine.mux_notes(old, "a")
    machine.claude_notes(old, "b")
    (before,) = machine.survey()
    new = old.rename(old.with_name("new"))
    machine.mux_notes(new)
    (row,) = machine.survey()
    assert stores(row) == {("mux", "new", 0, True), ("mux", "old", 1, False), ("claude", "old", 1, False)}
    assert row.slug == before.slug


def test_a_name_that_older_versions_gave_belongs_to_the_project(machine: Machine) -> None:
    project = machine.repository("my_app")
    machine.claude_notes(project, "new")
    older = machine.claude.projects / machine.claude.directory(project).name.replace("my-app", "my_app")
    (older / "memory").mkdir(parents=True)
    (older / "memory" / "old.md").write_text("old\n")
    session = next(machine.claude.directory(project).glob("*.jsonl"))
    shutil.copy(session, older / session.name.replace("0", "1", 1))
    (row,) = machine.survey()
    assert {(each.store.parent.name, each.current) for each in row.stores} == {
        (older.name, False),
        (machine.claude.directory(project).name, True),
    }


def test_a_package_is_a_project_of_its_own_with_its_path_in_the_name(machine: Machine) -> None:
    one = machine.repository("one")
    (one / "packages" / "api").mkdir(parents=True)
    machine.mux_notes(one / "packages" / "api", "a")
    machine.mux_notes(one, "b")
    assert sorted((row.name, row.below) for row in machine.survey()) == [
        ("app", ""),
        ("app/packages/api", "packages/api"),
    ]


def test_a_fork_is_asked_for_once(machine: Machine) -> None:
    machine.mux_notes(machine.repository("one"), "a", "b")
    machine.mux_notes(machine.repository("fork", remote="https://github.com/me/app"), "c")
    app, fork = machine.survey()
    (ask,) = app.asks
    assert (ask.other, ask.reason) == (fork.slug, "fork")
    assert [Path(each).name for each in ask.checkouts] == ["one", "fork"]
    assert [Path(each).name for each in fork.asks[0].checkouts] == ["fork", "one"]
    answer_projects(machine.registry, (app, fork), app.slug, fork.slug, "apart")
    assert [row.asks for row in machine.survey()] == [(), ()]
    answer_projects(machine.registry, (app, fork), app.slug, str(machine.mux.work / "fork"), "same")
    machine.claude_notes(machine.repository("again", remote="git@github.com:me/app"), "d")
    (row,) = machine.survey()
    assert row.slug == app.slug
    assert {name for _agent, name, *_rest in stores(row)} == {"one", "fork", "again"}
    one, other = (str(machine.mux.work / name) for name in ("one", "again"))
    answer_projects(machine.registry, (row,), one, other, "apart")
    assert len(machine.survey()) == 2


def test_two_checkouts_of_one_repository_cannot_be_separated(machine: Machine) -> None:
    for name in ("one", "two"):
        machine.mux_notes(machine.repository(name), "a")
    rows = machine.survey()
    one, other = (str(machine.mux.work / name) for name in ("one", "two"))
    with pytest.raises(StoreError, match="already the same project"):
        answer_projects(machine.registry, rows, one, other, "apart")
    with pytest.raises(StoreError, match="There is no project"):
        answer_projects(machine.registry, rows, rows[0].slug, "nothing", "same")


def test_folders_without_a_repository_are_one_project_once_a_person_names_them(machine: Machine) -> None:
    folders = [machine.mux.work / place / "notes" for place in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
        machine.mux_notes(folder, "x")
    rows = machine.survey()
    assert [(row.name, row.roots, row.asks) for row in rows] == [("notes", (), ()), ("notes", (), ())]
    assert rows[0].slug != rows[1].slug
    with pytest.raises(StoreError, match="not in a Git repository"):
        answer_projects(machine.registry, rows, rows[0].slug, rows[1].slug, "same")
    for folder in folders:
        machine.registry.name(str(folder), "Diary")
    (row,) = machine.survey()
    assert row.name == "Diary"
    assert len(row.stores) == 2


def test_a_slug_and_a_name_never_change(machine: Machine) -> None:
    path = machine.repository("one", remote="")
    machine.mux_notes(path, "a")
    (before,) = machine.survey()
    assert before.name == "one"
    git = pygit2.Repository(str(path))
    git.remotes.create("origin", "https://github.com/team/renamed")
    (after,) = machine.survey()
    assert after.remotes == ("github.com/team/renamed",)
    assert (after.slug, after.name) == (before.slug, before.name)
    moved = path.rename(path.with_name("two"))
    machine.mux_notes(moved)
    machine.claude_notes(machine.repository("fork", seed="one", remote="https://github.com/me/x"), "c")
    assert before.slug in {row.slug for row in machine.survey() if len(row.stores) == 2}


def test_the_slug_of_a_project_is_not_taken_by_another_one_in_its_place(machine: Machine) -> None:
    path = machine.repository("one")
    machine.mux_notes(path, "a")
    (before,) = machine.survey()
    moved = path.rename(path.with_name("moved"))
    machine.mux_notes(moved, "b")
    machine.repository("one", "other", "https://github.com/team/other")
    found = {row.name: row.slug for row in machine.survey()}
    assert found["app"] == before.slug
    assert found["other"] != before.slug


@pytest.fixture
def run(machine: Machine, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def invoke(*words: str) -> tuple[int, str, str]:
        homes = [word for root in (machine.mux.root, machine.claude.root) for word in ("--home", str(root))]
        profile = str(machine.profile.data.parent)
        code = main(["projects", *homes, "--profile", profile, "--now", str(NOW), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def test_the_command_prints_the_documented_fields(machine: Machine, run: Callable[..., Any]) -> None:
    machine.mux_notes(machine.repository("one"), "a")
    machine.mux_notes(machine.repository("fork", remote="https://github.com/me/app"), "c")
    code, out, err = run("--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert [set(row) for row in rows] == [
        {"slug", "name", "roots", "remotes", "below", "stores", "asks"} for _row in rows
    ]
    (store,) = next(row["stores"] for row in rows if row["remotes"] == ["github.com/team/app"])
    assert store == {
        "home": str(machine.mux.root),
        "agent": "mux",
        "store": store["store"],
        "checkout": str(machine.mux.work / "one"),
        "worktree": False,
        "notes": 1,
        "current": True,
    }
    slugs = [row["slug"] for row in rows]
    assert [row["asks"][0]["with"] for row in rows] == slugs[::-1]
    assert len(json.loads(run("--json", "--same", *slugs)[1])) == 1


def test_the_command_names_more_stores_and_asks_in_words(machine: Machine, run: Callable[..., Any]) -> None:
    for name in ("one", "two", "three"):
        machine.mux_notes(machine.repository(name), "a", "b")
    machine.claude_notes(machine.repository("fork", remote="https://github.com/me/app"), "c")
    out = run()[1]
    assert "2 more stores of this repository in mux, 4 notes." in out
    assert "Is this the same project as app-" in out
    assert "--same|--apart app-" in out
    code, out, err = run("--apart", "app-1", "nothing")
    assert (code, out) == (1, "")
    assert "There is no project app-1." in err


def test_a_home_that_cannot_be_read_is_named_and_the_others_are_listed(
    machine: Machine, run: Callable[..., Any], tmp_path: Path
) -> None:
    machine.mux_notes(machine.repository("one"), "a")
    code, out, err = run("--home", str(tmp_path / "none"))
    assert code == 1
    assert "one" in out
    assert str(tmp_path / "none") in err
