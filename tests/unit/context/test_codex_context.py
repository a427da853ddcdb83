"""What Codex loads of its memories: the summary up to its cap, the instructions that count, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.codex_home import CodexHomeMaker
from helpers.samples import snapshot
from reverie.agents.codex.prompt import (
    PIECE_BYTES,
    loaded_summary,
    memory_pieces,
    project_documents,
    prompt_settings,
    tokens_of,
    trimmed,
    truncated_in_the_middle,
)
from reverie.agents.codex.store import version_in_use
from reverie.compose import open_parts
from reverie.context.gather import gather
from reverie.context.recipes import assemble
from reverie.context.view import ContextPart, ContextView
from reverie.profile import Profile
from reverie.services.workbench import Workbench

CWD = "/projects/demo"


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    made = CodexHomeMaker(tmp_path / "codex")
    made.file("sessions/2026/08/06/none.txt")
    return made


def view_of(
    maker: CodexHomeMaker, tmp_path: Path, drafts: dict[str, str] | None = None, cwd: str = CWD
) -> ContextView:
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: 0)
    context = parts.home.context(project_path=cwd, project_given=True)
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(0,))
    return assemble(facts, 0, drafts)


def part_of(view: ContextView, key: Any) -> ContextPart:
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
    assert (not prompt_settings(maker.root).off) is on


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
    assert (part.notes, part.cut_line) == (("codex-v1",), None)
    assert snapshot(maker.root) == before


def test_a_long_summary_is_cut_at_a_line(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("memories/memory_summary.md", "\nv1\n" + "0123456789\n" * 1000)
    part = part_of(view_of(maker, tmp_path), "summary")
    assert (part.entries[0].state, part.entries[0].reason) == ("cut", "cut")
    # 5,000 bytes of the trimmed text, the first line of the file being empty.
    assert part.cut_line == 2 + 1 + (5000 - 3) // 11
    assert part.gauges[0].used == 2_500
    assert part.notes == ("codex-off", "codex-v1")


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
    assert part.text == "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nBe briefer.\n</INSTRUCTIONS>"
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
    maker.file("memories_v3/a.md", "Of another kind.\n")
    part = part_of(view_of(maker, tmp_path), "instructions")
    assert [(entry.path, entry.state, entry.reason) for entry in part.entries] == [
        ("AGENTS.md", "in", "loaded"),
        ("memories_v3/a.md", "out", "unseen"),
    ]
    assert part.text == "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"


def test_an_unsaved_summary_counts(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.newest()
    part = part_of(view_of(maker, tmp_path, {"/memories/global/memory_summary.md": "v1\nnew"}), "summary")
    assert part.text == "v1\nnew"


def test_a_summary_that_is_not_utf_8_is_not_loaded_at_all(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("memories/memory_summary.md", "")
    (maker.root / "memories" / "memory_summary.md").write_bytes(b"v1\n\xff\n")
    part = part_of(view_of(maker, tmp_path), "summary")
    assert (part.entries[0].state, part.entries[0].reason, part.text) == ("out", "not-utf8", "")
    assert part.entries[0].size == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u00a0\u2003x\u3000\u0085", "x"),
        ("\x1cx\x1f", "\x1cx\x1f"),
        (" \x1d x\ty \n", "\x1d x\ty"),
        ("\u200bx\ufeff", "\u200bx\ufeff"),
        (" \n", ""),
        ("", ""),
    ],
)
def test_white_space_is_what_codex_takes_for_it(text: str, expected: str) -> None:
    assert trimmed(text) == expected


@pytest.mark.parametrize(
    ("memories", "there", "expected"),
    [
        ({}, False, "v2"),
        ({}, True, "v1"),
        ({"version": "v1"}, False, "v1"),
        ({"version": "v2"}, True, "v2"),
        ({"version": "v3"}, True, "v1"),
        ({"version": 2}, False, "v2"),
    ],
)
def test_the_version_in_use_is_the_one_set_else_that_of_the_directory(
    tmp_path: Path, memories: dict[str, Any], there: bool, expected: str
) -> None:
    if there:
        (tmp_path / "memories").write_text("even a file counts")
    lines = [f"{name} = {json.dumps(value)}" for name, value in memories.items()]
    (tmp_path / "config.toml").write_text("\n".join(["[memories]", *lines]))
    assert version_in_use(tmp_path).name == expected
    assert prompt_settings(tmp_path).version == expected


def test_only_version_2_spreads_a_long_summary_over_two_pieces(tmp_path: Path) -> None:
    root = Path("/home/user/.codex/memories_v2")
    around = 2_034 + 3 * len(str(root))
    assert memory_pieces("v2", root, "x" * (PIECE_BYTES - around)) == 1
    assert memory_pieces("v2", root, "x" * (PIECE_BYTES - around + 1)) == 2
    assert memory_pieces("v1", root, "x" * 10_000) == 1
    assert memory_pieces("v2", root, "") == 0


# The instructions, as Codex 0.169.0 sends them


ALONE = "# AGENTS.md instructions\n\n<INSTRUCTIONS>\n"
FOR = "# AGENTS.md instructions for CWD\n\n<INSTRUCTIONS>\n"
END = "\n</INSTRUCTIONS>"
FALLBACK = 'project_doc_fallback_filenames = ["C.md"]'
ROOT, SUB, DEEP = "repo/AGENTS.md", "repo/sub/AGENTS.md", "repo/sub/deep/AGENTS.md"


@pytest.mark.parametrize(
    ("files", "config", "expected"),
    [
        ({"home/AGENTS.md": "\n\n  home rules \n\n"}, "", ALONE + "home rules" + END),
        ({ROOT: "\n  project rules \n"}, "", FOR + "\n  project rules \n" + END),
        ({"home/AGENTS.md": " h \n", ROOT: " p \n"}, "", FOR + "h\n\n--- project-doc ---\n\n p \n" + END),
        ({ROOT: "proj", "repo/AGENTS.override.md": "over\n"}, "", FOR + "over\n" + END),
        ({ROOT: "proj", "repo/AGENTS.override.md": " \n"}, "", ""),
        ({ROOT: "root\n", SUB: "sub\n\n", DEEP: "deep\n"}, "", FOR + "root\n\n\nsub\n\n\n\ndeep\n" + END),
        ({ROOT: "root\n", SUB: "\n \n", DEEP: "deep"}, "", FOR + "root\n\n\ndeep" + END),
        ({ROOT: "p" * 90, SUB: "q" * 90}, "project_doc_max_bytes = 99", f"{FOR}{'p' * 90}\n\n{'q' * 9}{END}"),
        ({ROOT: "ü" * 100}, "project_doc_max_bytes = 151", FOR + "ü" * 75 + "\ufffd" + END),
        ({ROOT: "p"}, "project_doc_max_bytes = 0", ""),
        ({"repo/C.md": "c", SUB: "a", "repo/sub/C.md": "2"}, FALLBACK, FOR + "c\n\na" + END),
        ({ROOT: "root", DEEP: "deep"}, "project_root_markers = []", FOR + "deep" + END),
        ({ROOT: "root", SUB: "sub", "repo/sub/.hg": ""}, 'project_root_markers = [".hg"]', FOR + "sub" + END),
        ({"repo/agents.md": "lower", SUB: "sub"}, "", FOR + "sub" + END),
        ({ROOT: "x" * 40_000}, "", FOR + "x" * 32_768 + END),
        ({"home/AGENTS.md": "\n", ROOT: "\n"}, "", ""),
    ],
)  # fmt: skip
def test_the_instructions_are_the_message_that_codex_sends(
    tmp_path: Path, files: dict[str, str], config: str, expected: str
) -> None:
    maker = CodexHomeMaker(tmp_path / "home")
    maker.file("sessions/2026/08/06/none.txt")
    maker.file("config.toml", config + "\n")
    cwd = tmp_path / "repo" / "sub" / "deep"
    cwd.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("outside of the project")
    for rel, text in files.items():
        (tmp_path / rel).write_text(text)
    part = view_of(maker, tmp_path, cwd=str(cwd)).part("instructions")
    assert (part.text if part is not None else "") == expected.replace("CWD", str(cwd))


def test_bytes_that_are_no_text_are_replaced_in_the_instructions(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.file("AGENTS.md", "")
    (maker.root / "AGENTS.md").write_bytes(b"home \xff\xfe end")
    assert "home \ufffd\ufffd end" in part_of(view_of(maker, tmp_path), "instructions").text


def test_why_instructions_are_left_out_is_said(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("config.toml", "project_doc_max_bytes = 5\n")
    cwd = tmp_path / "repo" / "sub" / "deep"
    cwd.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    for place, text in ((tmp_path / "repo", "123"), (cwd.parent, "456"), (cwd, "789")):
        (place / "AGENTS.md").write_text(text)
    part = part_of(view_of(maker, tmp_path, cwd=str(cwd)), "instructions")
    assert [(entry.path, entry.state, entry.reason, entry.bytes) for entry in part.entries] == [
        ("../../AGENTS.md", "in", "loaded", 3),
        ("../AGENTS.md", "cut", "cut", 2),
        ("AGENTS.md", "out", "bytes", 0),
    ]


def test_odd_settings_of_instructions_do_no_harm(maker: CodexHomeMaker, tmp_path: Path) -> None:
    odd = (
        'project_doc_max_bytes = -1\nproject_root_markers = ["/etc", 7, ""]\n'
        'project_doc_fallback_filenames = ["../x.md", "y.md"]\n'
    )
    maker.file("config.toml", odd)
    settings = prompt_settings(maker.root)
    assert settings.project_bytes == 32_768
    assert settings.names == ("AGENTS.override.md", "AGENTS.md", "y.md")
    assert settings.markers == ()
    assert project_documents(Path("relative"), settings) == ()
    assert project_documents(tmp_path / "not there", settings) == ()
