"""What Claude Code loads at the start: instruction files in order, the index up to its cut line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.context_homes import view_at
from helpers.samples import snapshot
from reverie.context import view as words
from reverie.context.view import ContextPart, ContextView


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def view_of(maker: ClaudeHomeMaker, project: Path, env: dict[str, str] | None = None) -> ContextView:
    home = maker.home(env)
    home.contents()
    return view_at(home, home.context(project_path=str(project), project_given=True), 0)


def part_of(view: ContextView, key: Any) -> ContextPart:
    part = view.part(key)
    assert part is not None
    return part


def a_project(maker: ClaudeHomeMaker, index: str | None) -> Path:
    project = maker.repository("demo")
    files = {"a.md": topic("a"), "b.md": topic("b")}
    maker.memory(project, files if index is None else {"MEMORY.md": index, **files})
    maker.session(project, 1)
    return project


def test_a_short_index_is_loaded_whole(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    before = snapshot(maker.root)
    part = part_of(view_of(maker, project), "index-file")
    assert [(entry.path.rpartition("/")[2], entry.state, entry.reason) for entry in part.entries] == [
        ("MEMORY.md", "in", "loaded"),
        ("a.md", "in", "line"),
        ("b.md", "out", "unlisted"),
    ]
    assert (part.text, part.cut_line, part.notes) == ("- [A](a.md)", None, ())
    assert snapshot(maker.root) == before


@pytest.mark.parametrize(
    ("index", "cut_line"),
    [
        ("x\n" * 200, None),
        ("x\n" * 200 + "- [A](a.md)\n", 201),
        (("x" * 99 + "\n") * 250, 201),
        (("x" * 249 + "\n") * 120, 101),
    ],
)
def test_the_cut_line_is_where_reading_stops(
    maker: ClaudeHomeMaker, index: str, cut_line: int | None
) -> None:
    part = part_of(view_of(maker, a_project(maker, index)), "index-file")
    assert part.cut_line == cut_line
    assert ("cut-warning" in part.notes) is (cut_line is not None)
    assert part.gauges[2].used <= 200
    assert part.gauges[3].used <= 25_000


def test_no_index_is_said(maker: ClaudeHomeMaker) -> None:
    part = part_of(view_of(maker, a_project(maker, None)), "index-file")
    assert (part.entries[0].reason, part.text) == ("made-new", ""), "the agent makes one of the memories"
    assert not part.entries[0].is_memory
    empty = maker.repository("empty")
    maker.memory(empty, {".keep": ""})
    maker.session(empty, 2)
    assert part_of(view_of(maker, empty), "index-file").entries[0].reason == "missing"


def test_a_variable_that_keeps_everything_from_being_loaded_is_said_of_each_part(
    maker: ClaudeHomeMaker,
) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    (project / "CLAUDE.md").write_text("text")
    view = view_of(maker, project, {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"})
    assert [(part.key, part.notes[-1]) for part in view.parts] == [
        ("instructions", "loads-nothing"),
        ("index-file", "loads-nothing"),
    ]
    assert part_of(view_of(maker, project), "instructions").notes == ("one-after-another",)


def test_switched_off_memory_is_said(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    part = part_of(view_of(maker, project, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}), "index-file")
    assert part.notes == ("memory-off",)
    assert "CLAUDE_CODE_DISABLE_AUTO_MEMORY" in part.detail


def test_an_import_from_outside_waits_for_its_approval_and_the_words_say_so(
    maker: ClaudeHomeMaker, tmp_path: Path
) -> None:
    project = a_project(maker, "")
    (project / "CLAUDE.md").write_text(f"See @{tmp_path}/outside.md\n")
    (tmp_path / "outside.md").write_text("Far away.\n")
    entries = part_of(view_of(maker, project), "instructions").entries
    entry = next(each for each in entries if str(each.file).endswith("outside.md"))
    assert entry.state == "out"
    assert "approved" in words.reason(entry)


def test_instructions_stand_in_the_order_of_loading(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "")
    maker.file("CLAUDE.md", "user\n")
    maker.file("agent-memory/reviewer/MEMORY.md", "of a sub-agent\n")
    (project / "CLAUDE.md").write_text("---\nx: y\n---\nproject <!-- stays -->\n<!-- hidden\n -->\nend\n")
    (project / "CLAUDE.local.md").write_text("<!-- nothing -->\n")
    (project / "AGENTS.md").write_text("for other agents\n")
    rules = project / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "some.md").write_text("---\npaths: [a/**]\n---\nfor some\n")
    (project / ".claude" / "agent-memory" / "r").mkdir(parents=True)
    (project / ".claude" / "agent-memory" / "r" / "MEMORY.md").write_text("of a sub-agent\n")
    part = part_of(view_of(maker, project), "instructions")
    assert [(entry.path, entry.reason) for entry in part.entries] == [
        ("CLAUDE.md", "loaded"),
        ("CLAUDE.md", "loaded"),
        (".claude/rules/some.md", "on-demand"),
        ("AGENTS.md", "replaced"),
        ("CLAUDE.local.md", "empty"),
        (".claude/agent-memory/r/MEMORY.md", "elsewhere"),
    ]
    assert [entry.text for entry in part.loaded] == ["user", "project <!-- stays -->\nend"]
    assert part.text == "user\n\nproject <!-- stays -->\nend"


def test_what_a_setting_excludes_and_what_waits_for_approval_is_listed_and_not_opened(
    maker: ClaudeHomeMaker, tmp_path: Path
) -> None:
    project = a_project(maker, "")
    maker.file("settings.json", '{"claudeMdExcludes": ["**/CLAUDE.local.md"]}')
    (project / "CLAUDE.md").write_text(f"See @{tmp_path}/outside.md\n")
    (project / "CLAUDE.local.md").write_text("mine\n")
    (tmp_path / "outside.md").write_text("x" * 10)
    part = part_of(view_of(maker, project), "instructions")
    assert [(entry.reason, entry.size) for entry in part.entries[1:]] == [("approval", 0), ("excluded", 0)]
    assert "mine" not in part.text
    assert "xxx" not in part.text


def states_of(maker: ClaudeHomeMaker, project: Path, env: dict[str, str] | None = None) -> dict[str, str]:
    """The state of each file, by its name."""
    states = words.load_states(view_of(maker, project, env))
    return {path.rpartition("/")[2]: state for path, state in states.items()}


def test_the_state_of_a_file_is_how_much_of_it_a_new_session_loads(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "- [A](a.md)\n" + "x\n" * 200 + "- [C](c.md)\n")
    maker.memory(project, {"c.md": topic("c")})
    (project / "CLAUDE.md").write_text("root\n")
    (project / "CLAUDE.local.md").write_text("<!-- nothing -->\n")
    (project / ".claude" / "rules").mkdir(parents=True)
    (project / ".claude" / "rules" / "ts.md").write_text("---\npaths: '**/*.ts'\n---\ntypes\n")
    assert states_of(maker, project) == {
        "MEMORY.md": "part",
        "a.md": "line",
        "b.md": "needed",
        "c.md": "needed",
        "CLAUDE.md": "full",
        "ts.md": "needed",
    }


@pytest.mark.parametrize(
    ("variable", "left"),
    [("CLAUDE_CODE_DISABLE_AUTO_MEMORY", {"CLAUDE.md": "full"}), ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", {})],
)
def test_what_is_switched_off_is_not_loaded(
    maker: ClaudeHomeMaker, variable: str, left: dict[str, str]
) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    (project / "CLAUDE.md").write_text("root\n")
    assert states_of(maker, project, {variable: "1"}) == left


def test_imports_that_load_nothing_are_named_with_the_reason(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    (project / "CLAUDE.md").write_text("The flow is in @flow.md: when.\n\nGood: @ok.md\n(see @gone.md)\n")
    for name in ("flow.md", "ok.md"):
        (project / name).write_text(f"{name}\n")
    part = part_of(view_of(maker, project), "instructions")
    failed = [entry for entry in part.entries if entry.reason == "not-imported"]
    assert [(entry.path, entry.detail, entry.line) for entry in failed] == [
        ("@flow.md:", "sign-behind", 1),
        ("@gone.md)", "missing", 4),
    ]
    assert "line 1 of CLAUDE.md" in words.reason(failed[0])
    assert {entry.path for entry in part.loaded} == {"CLAUDE.md", "ok.md"}


def test_a_memory_that_the_project_moves_outside_is_not_said_to_be_missing(maker: ClaudeHomeMaker) -> None:
    project = a_project(maker, "- [A](a.md)\n")
    outside = maker.user / "notes"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("- elsewhere\n")
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(f'{{"autoMemoryDirectory": "{outside}"}}')
    part = part_of(view_of(maker, project), "index-file")
    assert (part.entries[0].reason, part.text) == ("moved-outside", "")
    assert str(outside) in " ".join(words.notes(part))
    assert words.load_states(view_of(maker, project))["/memories/project/a.md"] == "needed"
