"""Views of long texts add few lines, and short ones, before the window does anything else."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QTextDocument
from ui_reviews import A, B, C, view

from helpers.long_texts import long_texts
from helpers.profiles import a_share
from reverie.agents.transcripts import SHOWN_CHARS
from reverie.memory.diff import unified, word_spans
from reverie.services.traces import MissedEdit
from reverie.ui.changes.diff import MOST_LINES, HunkView, MergeView
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.display_text import rows_of
from reverie.ui.editor.preview import PreviewPane
from reverie.ui.editor.rendered import MOST_LINES as MOST_RENDERED
from reverie.ui.memory.side_by_side import SideBySide, aligned
from reverie.ui.traces.detail import MissedView
from reverie.ui.transcripts.text import LONGEST_LINE, ReaderText, headed
from reverie.ui.widgets import text_views
from reverie.ui.widgets.read_only_text import AT_ONCE, CHARS_AT_ONCE, LONGEST_ROW, ReadOnlyText
from reverie.ui.widgets.text_views import LIMIT, MOST_ROWS, DiffView, LoadedText, TextView

SIZE = 60_000
KINDS = ("minified JSON", "rows", "bare returns", "one letter", "line ends", "backticks", "nested fences")
TEXTS = [pytest.param(text, id=name) for name, text in long_texts(SIZE) if name in KINDS]


def longest(document: QTextDocument) -> int:
    block, found = document.begin(), 0
    while block.isValid():
        found, block = max(found, block.length()), block.next()
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_a_view_is_given_few_rows_and_short_ones(qtbot: Any, text: str) -> None:
    other = text[SIZE // 2 :] + "\nother\n" + text[: SIZE // 2]
    difference, version, loaded = DiffView(), TextView(), LoadedText()
    missed, sides = MissedView(), SideBySide()
    for widget in (difference, version, loaded, missed, sides):
        qtbot.addWidget(widget)
    difference.show_diff(unified(text.encode(), other.encode(), "a.md"))
    version.show_bytes(text.encode())
    loaded.show_text(text, (1,))
    missed.show_edits((MissedEdit(1, "t", "p", text, other, text, *word_spans(text, other)),))
    sides.show_rows(aligned(text, other))
    assert difference.document().blockCount() <= AT_ONCE
    assert difference.document().characterCount() <= CHARS_AT_ONCE + 3 * LONGEST_ROW
    qtbot.waitUntil(lambda: difference.is_filled, timeout=20_000)
    for box in (difference, version, loaded, missed, sides.left, sides.right):
        document = box.document()
        assert document.blockCount() <= MOST_ROWS + 2
        assert document.characterCount() <= LIMIT
        if box is not missed:
            assert longest(document) <= LONGEST_ROW + 2


def test_a_line_of_many_carriage_returns_is_given_few_rows(qtbot: Any) -> None:
    box = ReadOnlyText("")
    qtbot.addWidget(box)
    box.line("a\r" * 90)
    assert box.toPlainText() == "\n".join("a" * 90)
    box.begin(lambda: None)
    box.line("a\r" * 900)
    assert box.document().blockCount() == 100
    assert box.toPlainText().endswith("a…")


@pytest.mark.parametrize("text", a_share(TEXTS, 3))
def test_a_review_of_a_long_text_is_filled_in_parts(qtbot: Any, text: str) -> None:
    other = text[SIZE // 2 :] + "\nother\n" * 5_000 + text[: SIZE // 2]
    edited = Choices(view({C: text}, {C: other}))
    merged = Choices(view({A: text, B: other}, {A: text + other}, max_loss_percent=100))
    hunks, merging = HunkView(), MergeView()
    for widget in (hunks, merging):
        qtbot.addWidget(widget)
        widget.show()
    group = edited.view.groups[0]
    hunks.show_part(edited, ReviewPart(group, group.files[0]))
    assert merging.show_merge(ReviewPart(merged.view.groups[0]))
    boxes = (hunks, merging.kept, merging.gone)
    for box in boxes:
        assert box.document().blockCount() <= 2 * AT_ONCE
        assert box.document().characterCount() <= CHARS_AT_ONCE + 3 * LONGEST_ROW
    qtbot.waitUntil(lambda: all(box.is_filled for box in boxes), timeout=20_000)
    lines = sum(len(hunk.lines) for hunk in group.files[0].hunks)
    assert hunks.document().blockCount() >= min(MOST_LINES, lines)
    assert hunks.document().blockCount() <= MOST_LINES + 3
    assert hunks.textCursor().position() == 0


@pytest.mark.parametrize("text", TEXTS)
def test_the_lines_of_a_loaded_text_are_counted_as_far_as_they_are_shown(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    split: list[int] = []

    def counting(text: str, most: int = 0) -> list[str]:
        rows = rows_of(text, most)
        split.append(len(rows))
        return rows

    monkeypatch.setattr(text_views, "rows_of", counting)
    loaded = LoadedText()
    qtbot.addWidget(loaded)
    loaded.show_text(text, (1, 2, 50_000))
    assert len(split) <= MOST_ROWS + 1
    assert sum(split) <= 3 * MOST_ROWS
    assert loaded.marked[0] == loaded.document().firstBlock().text()


@pytest.mark.parametrize("text", TEXTS)
def test_a_message_of_a_trace_is_unfolded_as_far_as_a_view_can_show_it(qtbot: Any, text: str) -> None:
    view = ReaderText("Messages")
    qtbot.addWidget(view)
    view.show_messages([headed(0, "user", "all", text * 10)])
    assert view.document().blockCount() == 1
    view.unfold(0)
    assert view.document().blockCount() <= MOST_ROWS + SHOWN_CHARS // LONGEST_LINE + 4
    assert longest(view.document()) <= LONGEST_LINE + 1
    assert "characters are left out here." in view.document().lastBlock().previous().text()


def test_a_text_of_very_many_lines_is_not_rendered(qtbot: Any) -> None:
    preview = PreviewPane()
    qtbot.addWidget(preview)
    preview.show()
    preview.say_text("- a\n" * MOST_RENDERED, at_once=True)
    assert preview.browser.isVisible()
    preview.say_text("- a\n" * (MOST_RENDERED + 1), at_once=True)
    assert not preview.browser.isVisible()
    assert "too large" in preview.note.text()
