"""The instruction files of Claude Code in load order, imports resolved (formats/claude-code.md sections 6
and 7)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, imports_in, write
from helpers.links import endless_link
from helpers.ordinary_user import without_power
from reverie.agents.base import Companion
from reverie.agents.claude.settings import companions


def in_disk_order(root: Path, *labels: str) -> list[str]:
    """Labels of rules in the order of their directory, as the agent takes them."""
    places = [entry.name for entry in os.scandir(root / "rules")]
    return sorted(labels, key=lambda label: places.index(label.split("/")[1]))


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def found(maker: ClaudeHomeMaker, project: Path | None) -> list[Companion]:
    home = maker.home()
    path = None if project is None else str(project)
    # What lies above the user's directory is of this machine.
    return [
        each
        for each in home.companions(home.context(project_path=path, project_given=True))
        if each.path.is_relative_to(maker.user.parent)
    ]


def test_every_instruction_file_stands_in_load_order_once(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("work/shop")
    write(maker.managed / "CLAUDE.md", "")
    maker.file("CLAUDE.md", "@~/notes.md\n")
    maker.file("rules/b.md", "")
    maker.file("rules/a/c.md", "---\npaths:\n  - '*.py'\n---\n")
    maker.file("session-memory/config/template.md", "@../../CLAUDE.md")
    for rel in ("notes.md", "CLAUDE.md", "work/CLAUDE.local.md", "work/.claude/rules/x.md"):
        write(maker.user / rel, "")
    write(project / "CLAUDE.md", "See @docs/one.md and @docs/one.md @../outside.md @nobody\n")
    write(project / "docs" / "one.md", "@two.md\n")
    write(project / "docs" / "two.md", "@one.md @../CLAUDE.md\n")
    write(maker.user / "work" / "outside.md", "")
    write(project / ".claude" / "CLAUDE.md", "")
    write(project / ".claude" / "rules" / "py.md", "---\ndescription: x\npaths: ['*.py']\n---\n")
    write(project / ".claude" / "agent-memory" / "reviewer" / "MEMORY.md", "@two.md")
    write(project / ".claude" / "agent-memory-local" / "reviewer" / "topic.md", "")
    companions = found(maker, project)
    assert [(each.scope.value, each.label, each.exists) for each in companions] == [
        ("global", "CLAUDE.md (managed)", True),
        ("global", "CLAUDE.md", True),
        ("global", "~/notes.md", True),
        *(("global", label, True) for label in in_disk_order(maker.root, "rules/a/c.md", "rules/b.md")),
        ("global", "session-memory/config/template.md", True),
        ("project", "~/CLAUDE.md", True),
        ("project", "~/work/.claude/rules/x.md", True),
        ("project", "~/work/CLAUDE.local.md", True),
        ("project", "CLAUDE.md", True),
        ("project", "docs/one.md", True),
        ("project", "docs/two.md", True),
        ("project", "~/work/outside.md", True),
        ("project", ".claude/CLAUDE.md", True),
        ("project", ".claude/rules/py.md", True),
        ("project", "CLAUDE.local.md", False),
        ("project", ".claude/agent-memory/reviewer/MEMORY.md", True),
        ("project", ".claude/agent-memory-local/reviewer/topic.md", True),
    ]
    notes = {each.label: each.note for each in companions}
    assert notes["docs/one.md"] == "Imported by CLAUDE.md."
    assert "approved" in notes["~/work/outside.md"]
    assert "approved" not in notes["~/notes.md"], "the user's own imports need no approval"
    assert "front matter" in notes[".claude/rules/py.md"]
    assert "front matter" in notes["rules/a/c.md"]
    assert "repository" in notes[".claude/CLAUDE.md"]
    assert len({(each.scope, each.label) for each in companions}) == len(companions)


@pytest.mark.parametrize("folder", ["agent-memory/reviewer", "rules/team"])
def test_a_folder_of_instructions_that_cannot_be_looked_into_is_named_beside_its_neighbours(
    maker: ClaudeHomeMaker, folder: str
) -> None:
    project = maker.repository("work/shop")
    write(project / "CLAUDE.md", "")
    for rel in ("agent-memory/reviewer/a.md", "agent-memory/writer/b.md", "rules/team/c.md", "rules/d.md"):
        write(project / ".claude" / rel, "")
    closed = project / ".claude" / folder
    closed.chmod(0)
    try:
        companions = without_power(lambda: found(maker, project))
    finally:
        closed.chmod(0o700)
    (named,) = [each for each in companions if each.path == closed]
    assert named.unopened == "This folder cannot be read: Permission denied."
    labels = {each.label for each in companions}
    assert {".claude/agent-memory/writer/b.md", ".claude/rules/d.md"} <= labels


def test_without_a_project_the_users_own_files_count_and_the_first_is_offered(maker: ClaudeHomeMaker) -> None:
    assert [(each.label, each.exists) for each in found(maker, None)] == [("CLAUDE.md", False)]
    assert [each.label for each in found(maker, maker.user / "gone")] == ["CLAUDE.md"]


def test_a_session_in_a_worktree_loads_the_files_of_its_own_checkout(maker: ClaudeHomeMaker) -> None:
    repository = maker.repository("shop")
    tree = maker.worktree(repository, "shop-fix")
    write(repository / "CLAUDE.md", "")
    write(tree / "CLAUDE.md", "")
    maker.typed(repository, tree)
    transcript = maker.session(tree, 1)
    home = maker.home()
    context = home.context(workspace_id=transcript.stem)
    paths = {each.path for each in home.companions(context)}
    assert tree / "CLAUDE.md" in paths
    assert repository / "CLAUDE.md" not in paths


def test_imports_go_four_deep_and_a_symlink_is_the_file_it_leads_to(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", "@1.md")
    for number in range(1, 8):
        write(project / f"{number}.md", f"@{number + 1}.md")
    labels = [each.label for each in found(maker, project) if each.label[0].isdigit()]
    assert labels == ["1.md", "2.md", "3.md", "4.md"]
    (project / "CLAUDE.local.md").symlink_to("CLAUDE.md")
    assert [each.label for each in found(maker, project)].count("CLAUDE.local.md") == 0


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@a.md", ("a.md",)),
        ("see @./a.md then\n@~/b.md", ("./a.md", "~/b.md")),
        ("mail me@a.md", ()),
        ("`@a.md` ``@b.md``", ()),
        ("```\n@a.md\n```\n@b.md", ("b.md",)),
        ("<!-- @a.md\n@b.md -->x@c.md", ()),
        ("<!-- @a.md -->\n@c.md#part", ("c.md",)),
        ("@with\\ space.md", ("with space.md",)),
        ("@/abs/x.md @.. @/", ("/abs/x.md", "..")),
        ("- @a.md\r\n- @b.md\r\n", ("a.md", "b.md")),
    ],
)
def test_an_import_is_a_path_after_space_outside_of_code_and_comments(
    text: str, imports: tuple[str, ...]
) -> None:
    assert imports_in(text) == imports


def test_what_cannot_be_read_imports_nothing(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", b"\xff\xfe @a.md \x00")
    write(project / "a.md", "")
    (project / "rules.md").mkdir()
    assert "a.md" in [each.label for each in found(maker, project)]


# What decides whether a file is loaded, as measured with the program


def loaded(maker: ClaudeHomeMaker, cwd: Path, *added: Path) -> list[str]:
    """What is loaded at the start, by path in the user's directory."""
    return [
        each.path.relative_to(maker.user).as_posix()
        for each in companions(maker.root, str(cwd), maker.machine(), added)
        if each.exists and each.loading == "start" and each.path.is_relative_to(maker.user)
    ]


def test_agents_files_count_only_where_no_claude_file_of_the_project_says_something(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.repository("shop")
    for rel in ("AGENTS.md", ".claude/AGENTS.md", "AGENTS.local.md", ".claude/rules/r.md"):
        write(project / rel, "text @b.md\n")
    write(project / "b.md", "b")
    write(maker.user / "AGENTS.md", "above")
    maker.file("CLAUDE.md", "the user's own does not matter")
    alone = [
        ".claude/CLAUDE.md",
        "AGENTS.md",
        "shop/.claude/rules/r.md",
        "shop/AGENTS.md",
        "shop/b.md",
        "shop/.claude/AGENTS.md",
    ]
    assert loaded(maker, project) == alone
    for nothing in ("  \n", "<!-- c -->", "---\na: b\n---\n", "x" * ((4 << 20) + 1)):
        write(project / "CLAUDE.md", nothing)
        assert [rel for rel in loaded(maker, project) if rel != "shop/CLAUDE.md"] == alone
    for rel in ("CLAUDE.md", "shop/CLAUDE.md", "shop/.claude/CLAUDE.md", "shop/CLAUDE.local.md"):
        write(maker.user / rel, "says something")
        assert not any("AGENTS" in each for each in loaded(maker, project)), rel
        (maker.user / rel).unlink()
    write(project / "CLAUDE.md", "@AGENTS.md")
    assert loaded(maker, project)[1:3] == ["shop/CLAUDE.md", "shop/AGENTS.md"]


def test_of_the_checkout_around_a_nested_worktree_only_the_local_file_counts(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    tree = maker.worktree(project, "shop/.claude/worktrees/fix")
    for place in (project, tree):
        for rel in ("CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/r.md"):
            write(place / rel, "text")
    write(project / "CLAUDE.local.md", "text")
    write(maker.user / "CLAUDE.md", "above")
    inside = "shop/.claude/worktrees/fix"
    assert loaded(maker, tree) == [
        "CLAUDE.md",
        "shop/CLAUDE.local.md",
        f"{inside}/CLAUDE.md",
        f"{inside}/.claude/CLAUDE.md",
        f"{inside}/.claude/rules/r.md",
    ]
    other = maker.repository("shop/other")
    assert "shop/CLAUDE.md" in loaded(maker, other), "a repository of its own is no worktree"


def test_only_text_is_imported_and_from_any_text(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    names = ("a.py", "b.mdc", "c.png", "d.json5", ".env", "Makefile", "e.MD")
    write(project / "CLAUDE.md", " ".join(f"@{name}" for name in names))
    for name in names:
        write(project / name, f"@from-{name}.txt")
        write(project / f"from-{name}.txt", "x")
    assert loaded(maker, project)[1:] == [
        f"shop/{each}" for name in ("a.py", "Makefile", "e.MD") for each in (name, f"from-{name}.txt")
    ]


def test_a_credential_of_the_project_is_named_and_neither_opened_nor_followed(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", "@.env @keys/id_rsa @~/.aws/credentials @notes.md")
    write(project / ".env", "@followed.md")
    write(project / "keys" / "id_rsa", "key")
    write(project / "followed.md", "x")
    write(project / "notes.md", "x")
    write(maker.user / ".aws" / "credentials", "key")
    listed = [each for each in companions(maker.root, str(project), maker.machine()) if each.exists]
    names = {each.path.name: each for each in listed}
    assert set(names) == {"CLAUDE.md", ".env", "id_rsa", "notes.md"}
    for name in (".env", "id_rsa"):
        assert names[name].loading == "unopened"
        assert "never opens" in names[name].unopened
    assert not names["notes.md"].unopened


def test_links_out_of_the_project_are_not_followed_but_the_users_own_are(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    rules = project / ".claude" / "rules"
    write(rules / "a.md", "a")
    write(project / "docs" / "in.md", "in")
    write(maker.user / "far" / "out.md", "out")
    (rules / "in.md").symlink_to(project / "docs" / "in.md")
    (rules / "folder").symlink_to(maker.user / "far")
    (rules / "out.md").symlink_to(maker.user / "far" / "out.md")
    (rules / "round").symlink_to(".")
    assert sorted(loaded(maker, project)) == ["shop/.claude/rules/a.md", "shop/docs/in.md"]
    (maker.root / "rules").mkdir()
    (maker.root / "rules" / "far").symlink_to(maker.user / "far")
    assert "far/out.md" in loaded(maker, project)


def test_files_of_the_system_and_credentials_are_never_listed(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(maker.user / ".ssh" / "id", "secret")
    maker.file("CLAUDE.md", "@/proc/self/environ @/sys/kernel/notes @~/.ssh/id @.credentials.json @ok.md")
    maker.file(".credentials.json", "{}")
    maker.file("ok.md", "ok")
    listed = [each.path for each in companions(maker.root, str(project), maker.machine()) if each.exists]
    assert [path.name for path in listed] == ["CLAUDE.md", "ok.md"]


def test_directories_added_to_a_session_come_last_and_without_their_agents_file(
    maker: ClaudeHomeMaker,
) -> None:
    project, other = maker.repository("shop"), maker.repository("other")
    write(project / "CLAUDE.md", "text")
    for rel in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/rules/r.md"):
        write(other / rel, "text")
    assert loaded(maker, project, other) == [
        "shop/CLAUDE.md",
        "other/CLAUDE.md",
        "other/.claude/rules/r.md",
        "other/CLAUDE.local.md",
    ]


def test_managed_rules_count_and_imports_of_managed_files_do_not(maker: ClaudeHomeMaker) -> None:
    write(maker.managed / "CLAUDE.md", "@more.md")
    write(maker.managed / "more.md", "more")
    write(maker.managed / ".claude" / "rules" / "r.md", "rule")
    maker.file("settings.json", '{"claudeMdExcludes": ["**"]}')
    found = companions(maker.root, None, maker.machine())
    assert [(each.path.name, each.loading) for each in found if each.exists] == [
        ("CLAUDE.md", "start"),
        ("r.md", "start"),
    ]


def test_links_of_a_repository_that_cannot_be_followed_hide_no_other_file(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", "@docs/one.md @docs/two.md\n")
    write(project / "docs" / "two.md", "")
    write(project / ".claude" / "rules" / "py.md", "")
    for link in (
        project / "docs" / "one.md",
        project / ".claude" / "rules" / "far.md",
        project / "AGENTS.md",
    ):
        endless_link(link)
    endless_link(project / ".claude" / "CLAUDE.md")
    shown = [each.label for each in found(maker, project) if each.exists]
    assert shown == ["CLAUDE.md", "docs/two.md", ".claude/rules/py.md"]
