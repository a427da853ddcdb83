"""Which settings of Claude Code count, as measured with the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, write
from reverie.agents.claude.settings import (
    PathPattern,
    excluded_patterns,
    loads_nothing,
    memory_base,
    memory_settings,
)

OFF = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def settings(maker: ClaudeHomeMaker, **files: object) -> Path:
    """A project under these settings: `user`, `project`, `local`, `managed`, `dropin`, `unread`."""
    project = maker.user / "p"
    places = {
        "user": maker.root / "settings.json",
        "unread": maker.root / "settings.local.json",
        "project": project / ".claude" / "settings.json",
        "local": project / ".claude" / "settings.local.json",
        "managed": maker.managed / "managed-settings.json",
        "dropin": maker.managed / "managed-settings.d" / "50-x.json",
    }
    for name, data in files.items():
        write(places[name], json.dumps(data))
    return project


def at(directory: str) -> dict[str, str]:
    return {"autoMemoryDirectory": directory}


def test_the_strongest_file_that_names_a_directory_counts(maker: ClaudeHomeMaker) -> None:
    project = settings(maker, unread=at("/x/unread"))

    def directory() -> str:
        return str(memory_settings(maker.root, str(project), maker.machine()).directory)

    assert directory() == "None", "the agent does not read settings.local.json of its home"
    for name in ("user", "project", "local", "managed", "dropin"):
        # What a file in the project names counts only inside of it.
        named = f"{project}/{name}" if name in ("project", "local") else f"/x/{name}"
        settings(maker, **{name: at(named)})
        assert directory() == named
    assert memory_settings(maker.root, None, maker.machine()).directory == Path("/x/dropin")


@pytest.mark.parametrize(
    ("env", "files", "off"),
    [
        ({}, {"user": {"env": {OFF: "1"}}}, True),
        ({}, {"user": {"env": {OFF: 1}}}, True),
        ({}, {"project": {"env": {OFF: "true"}}}, True),
        ({}, {"unread": {"env": {OFF: "1"}}}, False),
        ({OFF: "0"}, {"user": {"autoMemoryEnabled": False}}, False),
        ({OFF: "no"}, {"user": {"autoMemoryEnabled": False}}, False),
        ({OFF: ""}, {"user": {"autoMemoryEnabled": False}}, True),
        ({OFF: "x"}, {}, False),
        ({OFF: "1"}, {"user": {"env": {OFF: "0"}}}, False),
        ({}, {"user": {"env": {OFF: "1"}}, "project": {"env": {OFF: "0"}}}, False),
        ({}, {"user": {"autoMemoryEnabled": False}, "project": {"autoMemoryEnabled": True}}, False),
        ({}, {"project": {"autoMemoryEnabled": True}, "local": {"autoMemoryEnabled": False}}, True),
        ({}, {"user": {"autoMemoryEnabled": "false"}}, False),
        ({"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}, {}, True),
    ],
)
def test_what_switches_the_memory_off(
    maker: ClaudeHomeMaker, env: dict[str, str], files: dict[str, object], off: bool
) -> None:
    project = settings(maker, **files)
    assert bool(memory_settings(maker.root, str(project), maker.machine(env)).off) is off


def test_variables_in_settings_outrank_the_process_but_a_project_chooses_no_place(
    maker: ClaudeHomeMaker,
) -> None:
    project = settings(
        maker, project={"env": {OVERRIDE: "/x/theirs", "CLAUDE_CODE_REMOTE_MEMORY_DIR": "/x/r"}}
    )
    machine = maker.machine({OVERRIDE: "/x/process"})
    assert memory_settings(maker.root, str(project), machine).directory == Path("/x/process")
    assert memory_base(maker.root, maker.machine()) == maker.root
    settings(maker, user={"env": {OVERRIDE: "/x/mine", "CLAUDE_CODE_REMOTE_MEMORY_DIR": "/x/r"}})
    assert memory_settings(maker.root, str(project), machine).directory == Path("/x/mine")
    assert memory_base(maker.root, maker.machine()) == Path("/x/r")


def test_a_place_that_reverie_refuses_is_named_as_one_that_the_agent_uses(maker: ClaudeHomeMaker) -> None:
    for bad in ("/tmp", str(maker.user), str(maker.projects), str(maker.user / ".ssh" / "x"), "/proc/self/x"):
        settings(maker, user=at(bad))
        found = memory_settings(maker.root, None, maker.machine())
        assert found.directory is None
        assert f"names {bad} for the memories, and Claude Code uses this directory" in found.refused


@pytest.mark.parametrize("folder", [".ssh", ".kube", ".gcloud", ".aws", ".gnupg"])
def test_no_setting_makes_credentials_memories_not_by_a_link_either(
    maker: ClaudeHomeMaker, folder: str
) -> None:
    (maker.user / folder).mkdir()
    (maker.user / "link").symlink_to(folder)
    for bad in (f"{maker.user}/{folder}", f"{maker.user}/link", f"{maker.user}/link/below"):
        settings(maker, user=at(bad))
        found = memory_settings(maker.root, None, maker.machine())
        assert found.directory is None
        assert "credentials" in found.refused
    settings(maker, user=at(f"{maker.user}/notes/all"))
    assert memory_settings(maker.root, None, maker.machine()).directory == maker.user / "notes" / "all"


@pytest.mark.parametrize("name", ["project", "local"])
def test_what_a_project_names_lies_inside_of_its_checkout_or_is_refused(
    maker: ClaudeHomeMaker, name: str
) -> None:
    project = maker.repository("p")
    below, tree = project / "sub", maker.worktree(project, "tree")
    below.mkdir()
    (project / "out").symlink_to(maker.user / ".config")
    (project / "in").symlink_to(below)
    (maker.user / ".config" / "gh").mkdir(parents=True)
    file = {"project": "settings.json", "local": "settings.local.json"}[name]

    def followed(cwd: Path, directory: Path) -> bool:
        write(cwd / ".claude" / file, json.dumps(at(str(directory))))
        found = memory_settings(maker.root, str(cwd), maker.machine())
        assert found.by_project
        assert (found.directory == directory) is not bool(found.refused)
        return found.directory == directory

    for cwd in (project, below, tree):
        assert followed(cwd, project / "notes")
        assert followed(cwd, cwd / "not" / "there")
        assert followed(cwd, project / "in" / "notes")
        for bad in (
            maker.user / ".config" / "gh",
            maker.user / ".docker",
            maker.user / "notes",
            maker.user / "p-other",
            project / "out" / "gh",
            project / ".git",
            project / ".git" / "x",
            project,
        ):
            assert not followed(cwd, bad), (cwd, bad)


def test_a_checkout_around_the_users_directory_lets_a_project_name_only_what_is_in_itself(
    maker: ClaudeHomeMaker,
) -> None:
    write(maker.user / ".git" / "HEAD", "ref: refs/heads/main\n")
    for directory, followed in ((maker.user / ".config" / "gh", False), (maker.user / "p" / "notes", True)):
        project = settings(maker, project=at(str(directory)))
        found = memory_settings(maker.root, str(project), maker.machine())
        assert (found.directory == directory) is followed


def test_a_variable_keeps_everything_from_being_loaded(maker: ClaudeHomeMaker) -> None:
    project = settings(maker, project={"env": {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}})
    assert loads_nothing(maker.root, str(project), maker.machine()) == "CLAUDE_CODE_DISABLE_CLAUDE_MDS"
    assert loads_nothing(maker.root, None, maker.machine()) == ""


def test_the_excludes_of_every_file_count_together(maker: ClaudeHomeMaker) -> None:
    lists = {name: {"claudeMdExcludes": [f"**/{name}.md"]} for name in ("user", "project", "local", "unread")}
    project = settings(maker, **lists, managed={"claudeMdExcludes": "**"})
    patterns = excluded_patterns(maker.root, str(project), maker.machine())
    for name, excluded in (("user", True), ("project", True), ("local", True), ("unread", False)):
        assert any(pattern.matches(f"/a/{name}.md") for pattern in patterns) is excluded


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/CLAUDE.md", "/a/b/CLAUDE.md", True),
        ("**/CLAUDE.md", "/a/.claude/CLAUDE.md", True),
        ("/a/CLAUDE.md", "/a/CLAUDE.md", True),
        ("CLAUDE.md", "/a/CLAUDE.md", False),
        ("**/CLAUDE.MD", "/a/CLAUDE.md", False),
        ("**/rules/**", "/a/.claude/rules/x/y.md", True),
        ("**/rules/**", "/a/.claude/rules", True),
        ("/a/*", "/a/CLAUDE.md", True),
        ("/a/*", "/a/b/CLAUDE.md", False),
        ("/a/**", "/a/b/c.md", True),
        ("**", "/a/b/c.md", True),
        ("**/*.local.md", "/a/CLAUDE.local.md", True),
        ("**/{a,b}.md", "/x/b.md", True),
        ("**/{a,b}.md", "/x/c.md", False),
        ("**/[ab].md", "/x/a.md", True),
        ("**/?mp.md", "/x/imp.md", True),
        ("!**/CLAUDE.md", "/a/CLAUDE.md", False),
        ("!**/CLAUDE.md", "/a/x.md", True),
        ("/a", "/a/CLAUDE.md", False),
        ("**/[", "/a/[", True),
        ("**/{a", "/x/{a", True),
    ],
)
def test_patterns_are_of_whole_absolute_paths(pattern: str, path: str, matches: bool) -> None:
    assert PathPattern(pattern).matches(path) is matches
