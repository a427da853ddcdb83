"""What a run changed, as lines to read."""

from __future__ import annotations

from typing import Any

import pytest
from ui_reviews import run as preview

from reverie.runs.result import RunResult
from reverie.services.views import RunSummary
from reverie.ui.memory.footer import RunFilter, can_revert, conflict_words
from reverie.ui.memory.runs_dialog import RunList
from reverie.ui.widgets.text_views import DiffView


def run(**other: Any) -> RunSummary:
    return preview(**({"dry_run": False} | other))


@pytest.mark.parametrize(
    ("other", "possible"),
    [
        ({}, True),
        ({"outcome": "interrupted"}, True),
        ({"reverted": True}, False),
        ({"dry_run": True}, False),
        ({"outcome": "held"}, False),
        ({"outcome": "cancelled"}, False),
        ({"outcome": "unchanged"}, False),
    ],
)
def test_only_what_stands_on_disk_can_be_undone(other: dict[str, Any], possible: bool) -> None:
    assert can_revert(run(**other)) == possible


@pytest.mark.parametrize(
    ("show", "shown"),
    [
        ("all", ["dream", "plan", "held", "broken", "undone", "undo"]),
        ("review", ["held"]),
        ("dream", ["dream", "held", "broken", "undone"]),
        ("preview", ["plan"]),
        ("failed", ["broken"]),
        ("undone", ["undone"]),
        ("revert", ["undo"]),
        ("harvest", []),
    ],
)
def test_a_filter_shows_the_runs_it_names(show: str, shown: list[str]) -> None:
    runs = [
        run(id="dream"),
        run(id="plan", dry_run=True),
        run(id="held", outcome="held"),
        run(id="broken", outcome="failed"),
        run(id="undone", reverted=True),
        run(id="undo", kind="revert"),
    ]
    assert [each.id for each in runs if RunFilter(show).takes(each)] == shown


def test_a_search_finds_engines_summaries_and_paths_whatever_their_case() -> None:
    found = run(engine="ollama:Qwen", ops=({"command": "delete", "path": "/memories/global/Deploy.md"},))
    assert all(RunFilter(text=text).takes(found) for text in ("qwen", " DEPLOY.md", ""))
    assert not RunFilter(text="anthropic").takes(found)


def test_narrowing_the_list_keeps_the_selection_and_a_run_asked_for_is_always_shown(qtbot: Any) -> None:
    made = RunList()
    qtbot.addWidget(made)
    picked: list[Any] = []
    made.picked.connect(picked.append)
    made.show_runs([run(id="a"), run(id="b", outcome="failed"), run(id="c")], "b")
    assert picked[-1].id == "b"
    made.show_only.setCurrentIndex(made.show_only.findData("failed"))
    assert (made.list.count(), made.current.id if made.current else "") == (1, "b")
    made.show_only.setCurrentIndex(made.show_only.findData("harvest"))
    assert picked[-1] is None
    assert not made.none.isHidden()
    made.show_runs(made.runs, "c")
    assert picked[-1].id == "c"
    assert made.list.count() == 3


def test_a_diff_shows_control_characters_escaped(qtbot: Any) -> None:
    view = DiffView()
    qtbot.addWidget(view)
    view.show_diff("+a\u202eb\x1b[0m\n-c\td")
    assert view.toPlainText() == "+a\\u202eb\\x1b[0m\n-c\td"
    assert view.isReadOnly()


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("a.md",), "Left as it is, because it was edited since: a.md"),
        (("a.md", "b.md"), "Left as they are, because they were edited since: a.md, b.md"),
    ],
)
def test_what_an_undo_left_is_said_of_one_and_of_several(paths: tuple[str, ...], said: str) -> None:
    assert conflict_words(
        RunResult("2", "completed", "Nothing was put back.", reverts="1", conflicts=paths)
    ).endswith(said)
