"""What Codex loads of its memories: the summary up to its cap, the instructions that count, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.codex_home import CodexHomeMaker
from helpers.samples import snapshot
from reverie.compose import open_parts
from reverie.context.desk import assemble, gather
from reverie.context.view import ContextView, Part
from reverie.homes.codex_prompt import loaded_summary, loads_memories, tokens_of, truncated_in_the_middle
from reverie.profile import Profile
from reverie.services.workbench import Workbench

CWD = "/projects/demo"


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    made = CodexHomeMaker(tmp_path / "codex")
    made.file("sessions/2026/08/06/none.txt")
    return made


def view_of(maker: CodexHomeMaker, tmp_path: Path, drafts: dict[str, str] | None = None) -> ContextView:
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: 0)
    context = parts.home.context(project_path=CWD, project_given=True)
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(0,))
    return assemble(facts, 0, drafts)


def part_of(view: ContextView, key: Any) -> Part:
    part = view.part(key)
    assert part is not None
    return part


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("😀" * 10 + "\nsecond line with text\n", 8, "😀😀😀😀…8 tokens truncated… line with text\n"),
        ("abcdef", 0, "…2 tokens truncated…"),
        ("short output", 100, "short output"),
        ("x" * 16, 4, "x" * 16),
        ("a" * 8 + "b" * 9, 4, "a" * 8 + "…1 tokens truncated…" + "b" * 8),
        ("é" * 5, 1, "é…2 tokens truncated…é"),
    ],
)
def test_the_middle_is_left_out(text: str, tokens: int, expected: str) -> None:
    assert truncated_in_the_middle(text, tokens).text == expected


@given(st.text(max_size=80), st.integers(0, 12))
def test_both_ends_are_of_the_text_and_fit(text: str, tokens: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    loaded = truncated_in_the_middle(text, tokens)
    assert loaded.is_cut == (len(text.encode()) > tokens * 4)
    if loaded.is_cut:
        head, tail = text[: loaded.head], text[len(text) - loaded.tail :]
        assert loaded.text == f"{head}…{loaded.removed_tokens} tokens truncated…{tail}"
        assert len(head.encode()) + len(tail.encode()) <= tokens * 4
    else:
        assert loaded.text == text


def test_the_cap_counts_after_trimming() -> None:
    assert not loaded_summary("\n" * 50 + "x" * 10_000 + "\n" * 50).is_cut
    assert loaded_summary("x" * 10_001).is_cut
    assert tokens_of("é" * 3) == 2


@pytest.mark.parametrize(
    ("config", "on"),
    [
        (None, False),
        ("", False),
        ("[features]\nmemories = true\n", True),
        ("[features]\nmemory_tool = true\n", True),
        ("[features]\nmemories = true\n[memories]\nuse_memories = false\n", False),
        ("[features]\nmemories = 'true'\n", False),
        ("features = 3\n", False),
        ("[features\n", False),
    ],
)
def test_memories_are_loaded_only_where_they_are_on(
    maker: CodexHomeMaker, config: str | None, on: bool
) -> None:
    if config is not None:
        maker.file("config.toml", config)
    assert loads_memories(maker.root)[0] is on


def test_the_summary_of_the_home_is_loaded_and_that_of_the_directory_is_not(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    maker.bucket(CWD)
    maker.file("config.toml", "[features]\nmemories = true\n")
    before = snapshot(maker.root)
    part = part_of(view_of(maker, tmp_path), "summary")
    assert [(entry.path, entry.state, entry.reason) for entry in part.entries] == [
        ("/memories/global/memory_summary.md", "in", "loaded"),
        ("/memories/project/memory_summary.md", "out", "older"),
    ]
    assert part.text == "v1\n\n## User Profile\nBrief."
    assert (part.notes, part.cut_line) == ((), None)
    assert snapshot(maker.root) == before


def test_a_long_summary_is_cut_at_a_line(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("memories/memory_summary.md", "\nv1\n" + "0123456789\n" * 1000)
    part = part_of(view_of(maker, tmp_path), "summary")
    assert (part.entries[0].state, part.entries[0].reason) == ("cut", "cut")
    # 5,000 bytes of the trimmed text, the first line of the file being empty.
    assert part.cut_line == 2 + 1 + (5000 - 3) // 11
    assert part.gauges[0].used == 2_500
    assert part.notes == ("codex-off",)


def test_a_missing_or_empty_summary_is_said(maker: CodexHomeMaker, tmp_path: Path) -> None:
    assert part_of(view_of(maker, tmp_path), "summary").entries[0].reason == "missing"
    maker.file("memories/memory_summary.md", " \n")
    part = part_of(view_of(maker, tmp_path), "summary")
    assert (part.entries[0].reason, part.text) == ("empty", "")


def test_a_summary_without_its_version_line_is_loaded_as_it_stands(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("memories/memory_summary.md", "## User Profile\nBrief.\n")
    part = part_of(view_of(maker, tmp_path), "summary")
    assert (part.entries[0].reason, part.text) == ("loaded", "## User Profile\nBrief.")


def test_an_override_takes_the_place_of_the_instructions(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("AGENTS.md", "Be brief.\n")
    part = part_of(view_of(maker, tmp_path), "instructions")
    assert [(entry.path, entry.reason) for entry in part.entries] == [("AGENTS.md", "loaded")]
    maker.file("AGENTS.override.md", "Be briefer.\n")
    part = part_of(view_of(maker, tmp_path), "instructions")
    assert {entry.path: entry.reason for entry in part.entries} == {
        "AGENTS.md": "overridden",
        "AGENTS.override.md": "override",
    }
    assert part.text == "Be briefer.\n"
    maker.file("AGENTS.override.md", "\n")
    part = part_of(view_of(maker, tmp_path), "instructions")
    assert {entry.path: entry.reason for entry in part.entries} == {
        "AGENTS.md": "loaded",
        "AGENTS.override.md": "empty",
    }


def test_memories_of_an_unknown_kind_are_never_said_to_be_loaded(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("AGENTS.md", "Be brief.\n")
    maker.file("memories_v2/a.md", "Of another kind.\n")
    part = part_of(view_of(maker, tmp_path), "instructions")
    assert [(entry.path, entry.state, entry.reason) for entry in part.entries] == [
        ("AGENTS.md", "in", "loaded"),
        ("memories_v2/a.md", "out", "unseen"),
    ]
    assert part.text == "Be brief.\n"


def test_an_unsaved_summary_counts(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.newest()
    part = part_of(view_of(maker, tmp_path, {"/memories/global/memory_summary.md": "v1\nnew"}), "summary")
    assert part.text == "v1\nnew"
