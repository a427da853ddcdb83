"""Colouring knows front matter, fences and Markdown; nothing inside a fence is anything else than code."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QFont, QGuiApplication, QTextBlock, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.ui.appearance import Theme, theme_of
from reverie.ui.editor.highlighter import FRONT_LINES, MOST_COLOURED, MarkdownHighlighter


@pytest.fixture
def theme(qapp: Any) -> Theme:
    return theme_of(QGuiApplication.palette())


def _kinds(text: str, theme: Theme) -> list[dict[str, str]]:
    """For each line: what is coloured -> how."""
    document = QTextDocument()
    document.setDocumentLayout(QPlainTextDocumentLayout(document))
    document.setPlainText(text)
    highlighter = MarkdownHighlighter(document, theme)
    highlighter.rehighlight()
    return [_line(document.findBlockByNumber(n), theme) for n in range(document.blockCount())]


def _line(block: QTextBlock, theme: Theme) -> dict[str, str]:
    names = {
        theme.dim.name(): "dim",
        theme.hunk.name(): "blue",
        theme.code.name(): "code",
    }
    found = {}
    for span in block.layout().formats():
        form = span.format
        parts = [names.get(form.foreground().color().name(), "")]
        parts += ["bold"] if form.fontWeight() == QFont.Weight.Bold else []
        parts += ["italic"] if form.fontItalic() else []
        parts += ["struck"] if form.fontStrikeOut() else []
        found[block.text()[span.start : span.start + span.length]] = " ".join(part for part in parts if part)
    return found


def test_a_fence_ends_only_with_its_own_kind_and_length(theme: Theme) -> None:
    text = "````md\n# no\n```\n~~~~\n**no**\n`````\n# yes\n~~~\n```\n~~~ x\n~~~\n**yes**\n``` a`b\n*yes*"
    lines = _kinds(text, theme)
    assert all(list(line.values()) == ["code"] for line in lines[:6])
    assert lines[6] == {"#": "dim", " yes": "bold"}
    assert all(list(line.values()) == ["code"] for line in lines[7:11])
    assert lines[11]["yes"] == "bold"
    assert lines[13]["yes"] == "italic"


def test_front_matter_has_keys_strings_and_comments(theme: Theme) -> None:
    lines = _kinds("---\nname: 'a # b' # c\n  type: user\n# d\nlink: http://x#y\n---\nname: a", theme)
    assert lines[0] == {"---": "dim"}
    assert lines[1] == {"name:": "blue", "'a # b'": "code", "# c": "dim"}
    assert lines[2] == {"type:": "blue"}
    assert lines[3] == {"# d": "dim"}
    assert lines[4] == {"link:": "blue"}
    assert lines[5] == {"---": "dim"}
    assert lines[6] == {}


def test_front_matter_that_never_ends_is_none(theme: Theme) -> None:
    lines = _kinds("---\nname: a\n# Title\n", theme)
    assert lines[1] == {}
    assert lines[2] == {"#": "dim", " Title": "bold"}
    far = _kinds("---\n" + "a: b\n" * FRONT_LINES + "---\n", theme)
    assert far[1] == {}


@pytest.mark.parametrize(
    ("line", "coloured"),
    [
        ("a *b* c", {"b": "italic"}),
        ("a **b c** d", {"b c": "bold"}),
        ("snake_case_name __init__", {"init": "bold"}),
        ("2 * 3 * 4", {}),
        ("~~old~~", {"old": "struck"}),
        ("``a ` b`` *c*", {"``a ` b``": "code", "c": "italic"}),
        ("`*a*`", {"`*a*`": "code"}),
        (r"\*a\*", {}),
        ("[a](b) ![c](d) [[slug]]", {"[a](b)": "blue", "![c](d)": "blue", "[[slug]]": "blue"}),
        ("see https://a.example/b.", {"https://a.example/b.": "blue"}),
        ("- [x] done", {"-": "dim", "[x]": "blue"}),
        ("12. *b*", {"12.": "dim", "b": "italic"}),
        ("> quote", {"> quote": "dim"}),
        ("## a `b`", {"##": "dim", " a ": "bold", "`b`": "code bold"}),
        ("***", {"***": "dim"}),
    ],
)
def test_markdown_of_one_line(theme: Theme, line: str, coloured: dict[str, str]) -> None:
    found = _kinds(f"first\n{line}", theme)[1]
    shown = {what: how for what, how in found.items() if what not in ("*", "**", "__", "~~")}
    assert {what: how.removeprefix("dim ") for what, how in shown.items()} == coloured


def test_lines_far_down_are_coloured_between_events_and_count_as_no_edit(theme: Theme, qtbot: Any) -> None:
    lines = [f"line {number}" for number in range(MOST_COLOURED + 10)]
    lines[10] = "```"
    document = QTextDocument()
    document.setDocumentLayout(QPlainTextDocumentLayout(document))
    document.setPlainText("\n".join(lines))
    document.setModified(False)
    highlighter = MarkdownHighlighter(document, theme)
    highlighter.rehighlight()
    edits: list[bool] = []
    document.contentsChanged.connect(lambda: edits.append(True))
    last = document.findBlockByNumber(MOST_COLOURED - 1)
    assert _line(last, theme) == {}
    qtbot.waitUntil(lambda: bool(_line(last, theme)))
    coloured = [
        number
        for number in range(document.blockCount())
        if _line(document.findBlockByNumber(number), theme) == {lines[number]: "code"}
    ]
    assert coloured == list(range(10, MOST_COLOURED))
    assert (edits, document.isModified()) == ([], False)
