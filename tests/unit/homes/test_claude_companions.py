"""The instruction files of Claude Code in load order, imports resolved (formats/claude-code.md sections 6
and 7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, write
from reverie.homes.claude_companions import imports_in
from reverie.homes.listing import Companion


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
        ("global", "rules/a/c.md", True),
        ("global", "rules/b.md", True),
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


def test_imports_go_five_deep_and_a_symlink_is_the_file_it_leads_to(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", "@1.md")
    for number in range(1, 8):
        write(project / f"{number}.md", f"@{number + 1}.md")
    labels = [each.label for each in found(maker, project) if each.label[0].isdigit()]
    assert labels == ["1.md", "2.md", "3.md", "4.md", "5.md"]
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
        ("@/abs/x.md @..", ("/abs/x.md",)),
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
