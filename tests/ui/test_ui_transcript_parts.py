"""The transcripts of sub-agents in the list: right after their session, whatever it is sorted by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt

from reverie.agents.base import TranscriptSource
from reverie.ui.metrics import row_height
from reverie.ui.transcripts.tab import SourceList


def test_sub_agents_stand_right_after_their_session_however_the_list_is_sorted(qtbot: Any) -> None:
    def source(name: str, at: int, size: int, under: str = "") -> TranscriptSource:
        path, state = Path(f"/x/{name}.jsonl"), "sub-agent" if under else ""
        kind = "sub-agent" if under else "session"
        return TranscriptSource(name, kind, path, name, "/p", at, size, state, under=under)

    shown = SourceList(lambda: 10_000)
    qtbot.addWidget(shown)
    shown.show_sources(
        [source("a", 1, 9), source("b", 5, 1), source("a/1", 9, 2, "a"), source("a/2", 2, 3, "a")]
    )

    def order() -> str:
        return " ".join(each.id for each in shown.shown)

    assert order() == "b a a/1 a/2"
    shown.view.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert order() == "a a/2 a/1 b"
    model = shown.model
    assert [model.data(model.index(row, 0)) for row in range(3)] == ["a", "↳ a/2", "↳ a/1"]
    assert model.data(model.index(1, 4)) == "sub-agent"
    assert model.without_facts() == ()
    shown.text.setText("a/2")
    assert order() == "a/2", "without its session it stands for itself"


def test_the_column_and_the_filter_call_a_project_by_its_name(qtbot: Any) -> None:
    def source(name: str, project: str | None, called: str = "") -> TranscriptSource:
        return TranscriptSource(name, "session", Path(f"/x/{name}"), name, project, 1, 1, project_name=called)

    shown = SourceList(lambda: 10_000)
    qtbot.addWidget(shown)
    sources = [source("a", "/p/alpha", "The alpha project"), source("b", "_scratch", "Scratch")]
    shown.show_sources([*sources, source("c", "/p/beta"), source("d", None)])
    column = {each.id: shown.model.data(shown.model.index(row, 1)) for row, each in enumerate(shown.shown)}
    assert column == {"a": "The alpha project", "b": "Scratch", "c": "beta", "d": "–"}
    names = [shown.project.itemText(at) for at in range(1, shown.project.count())]
    assert names == ["The alpha project", "beta", "Scratch"]
    shown.project.setCurrentIndex(names.index("Scratch") + 1)
    assert [each.id for each in shown.shown] == ["b"]
    shown.show_sources([sources[0]])
    assert [shown.project.itemText(at) for at in range(1, shown.project.count())] == ["The alpha project"]


def test_a_narrow_list_shows_the_title_and_as_many_columns_as_have_room_none_of_them_cut(qtbot: Any) -> None:
    shown = SourceList(lambda: 10_000)
    qtbot.addWidget(shown)
    named = TranscriptSource("a", "session", Path("/x/a"), "A title of some length", "/p", 1, 900, "archived")
    shown.show_sources([named])
    header, view = shown.view.header(), shown.view
    for width, columns in ((900, [0, 1, 2, 3, 4]), (560, [0, 1, 2, 3]), (360, [0, 2]), (240, [0])):
        shown.resize(width, 300)
        shown.show()
        assert [each for each in range(header.count()) if not header.isSectionHidden(each)] == columns, width
        assert header.length() <= view.viewport().width()
        texts = {each: str(shown.model.data(shown.model.index(0, each))) for each in columns}
        for section, text in texts.items():
            assert view.fontMetrics().horizontalAdvance(text) < header.sectionSize(section), text
    assert view.rowHeight(shown.model.index(0, 0)) == row_height(view.font())
