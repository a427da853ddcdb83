"""The footer: which state each row is in, and that nothing ever leaves its right edge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt, QTranslator
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QToolTip, QWidget
from ui_values import HOUR, NOW, missing, never, row, status

from reverie.agents.capabilities import StatusLine
from reverie.agents.scopes import Scope
from reverie.runs.record import Progress, RunRecord, RunResult
from reverie.services.views import HarvestRow, Spent
from reverie.ui.appearance import contrast, dark_palette, light_palette
from reverie.ui.icons import Icons
from reverie.ui.memory.footer import AgentRow, Footer, harvest_words, row_words
from reverie.ui.widgets.messages import Overlay
from reverie.values import replace

WIDTHS = (320, 360, 375, 500, 900)
LONG = "Zusammenführungsbereitschaftsbestätigung" * 3


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def footer(qtbot: Any, clock: Clock) -> Footer:
    made = Footer(Icons(), clock)
    qtbot.addWidget(made)
    action, menu = QAction("run", made), QMenu(made)
    made.set_actions(action, menu)
    made.resize(440, 300)
    made.show()
    return made


def test_what_an_agent_says_of_its_job_is_one_sentence_with_its_age(qtbot: Any) -> None:
    line = AgentRow(Icons())
    qtbot.addWidget(line)
    line.say(StatusLine(None, "Codex consolidation", "Done.", "ok", NOW - 2 * HOUR), NOW)
    assert line.value.text() == "Codex consolidation: Done; 2 h ago"
    line.say(StatusLine(None, "Codex consolidation", "Waiting.", "ok"), NOW)
    assert line.value.text() == "Codex consolidation: Waiting."


def everything(interrupted: bool = True) -> Any:
    run = SimpleNamespace(id="r", started_at=NOW - HOUR)
    return status(
        row(Scope.WORKSPACE),
        missing(Scope.PROJECT, "This workspace spans several projects: " + LONG),
        row(Scope.GLOBAL, changes=1, trigger="compaction"),
        harvest=HarvestRow("failed", NOW - HOUR, 0, 0, "The model did not answer: " + LONG),
        interrupted=(run,) if interrupted else (),
        problems=("One record could not be read: " + LONG,),
        spent={scope: Spent(123_456, None, 12_345_678, 123.45, True) for scope in Scope},
    )


def test_a_row_is_a_record_or_never_or_unavailable_and_these_never_look_alike(footer: Footer) -> None:
    footer.show_status(status(row(Scope.WORKSPACE), never(Scope.PROJECT), missing(Scope.GLOBAL, "Gone.")))
    states = [footer.rows[scope].state for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)]
    assert states == ["record", "never", "unavailable"]
    assert len({footer.rows[scope].words.text for scope in Scope}) == 3


def test_scopes_that_the_agent_never_has_are_left_out_and_come_back_with_another_context(
    footer: Footer,
) -> None:
    absent = replace(missing(Scope.WORKSPACE, "None per session."), permanent=True)
    footer.show_status(status(absent, missing(Scope.PROJECT, "None is chosen."), never(Scope.GLOBAL)))
    hidden = {scope for scope, found in footer.rows.items() if found.value.isHidden()}
    assert hidden == {Scope.WORKSPACE}
    footer.forget()
    assert not any(found.value.isHidden() for found in footer.rows.values())


def test_beside_the_agents_own_jobs_a_row_that_was_never_consolidated_names_reverie(footer: Footer) -> None:
    footer.show_status(status(never(Scope.GLOBAL)))
    plain = footer.rows[Scope.GLOBAL].words.text
    agent = (StatusLine(None, "Codex consolidation", "Done."),)
    footer.show_status(status(never(Scope.GLOBAL), agent=agent))
    assert footer.rows[Scope.GLOBAL].words.text == "never by Reverie" != plain


def test_before_anything_is_known_a_row_does_not_say_never(footer: Footer) -> None:
    assert {found.state for found in footer.rows.values()} == {"loading"}
    footer.show_status(everything())
    footer.forget()
    assert {found.state for found in footer.rows.values()} == {"loading"}
    assert "chats" not in footer.rows[Scope.WORKSPACE].value.toolTip()
    assert footer.panel.interrupted.isHidden()


def test_a_record_says_when_why_and_how_much() -> None:
    words = row_words(row(Scope.WORKSPACE), NOW)
    assert words.text.replace("\u00a0", " ") == "3 h ago · 4 changes"
    assert all(said in words.tooltip for said in ("Merged two notes.", "manual"))


def test_a_row_is_one_line_and_says_nothing_that_is_always_true() -> None:
    for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL):
        assert row_words(row(scope), NOW).note == row_words(never(scope), NOW).note == ""
    assert row_words(missing(Scope.PROJECT, "Two projects."), NOW).note == "Two projects."


@pytest.mark.parametrize(
    ("spent", "last", "month"),
    [
        (Spent(12_300, 0.043, 90_000, 0.31), "12.3k tokens, $0.04", "90k, $0.31"),
        (Spent(850, None, 850, None, True), "850 tokens, cost unknown", "850, cost unknown"),
        (Spent(1, 0.0, 2_000_000, 1.5, True), "1 token, no cost", "2M, at least $1.50"),
        (Spent(1000, 0.2, 0, None), "1k tokens, $0.20", "0, no cost"),
        (Spent(999_999, 0.001, 1_000, 0.001), "1M tokens, under $0.01", "1k, under $0.01"),
    ],
)
def test_what_models_used_is_told_and_an_unknown_cost_never_looks_like_none(
    spent: Spent, last: str, month: str
) -> None:
    words = row_words(row(Scope.WORKSPACE), NOW, spent)
    said = " ".join(words.tooltip.split())
    assert f"The last run with a model used {last}. Total this month: {month}." in said
    assert "$" not in words.text + words.note


def test_without_a_model_nothing_is_said_of_its_cost() -> None:
    assert "model" not in row_words(row(Scope.WORKSPACE), NOW, Spent()).tooltip


@pytest.mark.parametrize(
    ("harvest", "state", "said"),
    [
        (HarvestRow("completed", NOW - HOUR, 2, 1), "record", "2 memories"),
        (HarvestRow("pending", NOW - HOUR, 0, 0), "record", "not finished"),
        (HarvestRow("failed", NOW - HOUR, 0, 0, "Broken."), "failed", "failed"),
    ],
)
def test_the_harvest_tells_its_three_ends_apart(harvest: HarvestRow, state: str, said: str) -> None:
    words = harvest_words(harvest, NOW)
    assert words.state == state
    assert said in words.text
    assert words.note == harvest.error


def test_ages_go_on_without_a_new_status(footer: Footer, clock: Clock) -> None:
    footer.show_status(status(row(Scope.WORKSPACE)))
    clock.now += 2 * HOUR
    footer._timer.timeout.emit()
    assert footer.rows[Scope.WORKSPACE].words.text.startswith("5\u00a0h\u00a0ago")


def test_the_harvest_is_a_detail_and_one_that_failed_is_seen(qtbot: Any, footer: Footer) -> None:
    item = footer.rows[Scope.WORKSPACE].value
    footer.show_status(status(row(Scope.WORKSPACE)))
    assert "From chats" not in item.toolTip()
    footer.show_status(status(row(Scope.WORKSPACE), harvest=HarvestRow("completed", NOW - HOUR, 2, 1, "")))
    assert "From chats: 1 h ago · 2 memories" in item.toolTip()
    assert "chats" not in item.text()
    footer.resize(900, 300)
    footer.show_status(everything())
    qtbot.waitUntil(lambda: "chats failed" in item.text())
    assert "The model did not answer" in item.toolTip()
    assert "failed" in item.accessibleName()


def test_a_scope_has_its_age_in_the_line_and_its_details_on_hover_focus_and_click(
    qtbot: Any, footer: Footer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _at, text, _widget: shown.append(text))
    footer.resize(900, 300)
    footer.show_status(status(row(Scope.WORKSPACE), never(Scope.PROJECT), row(Scope.GLOBAL)))
    items = [footer.rows[scope].value for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)]
    wanted = ["Workspace 3 h", "Project never", "Global 3 h"]
    qtbot.waitUntil(lambda: [item.text() for item in items] == wanted)
    item = footer.rows[Scope.WORKSPACE].value
    assert item.accessibleName().replace("\u00a0", " ") == "Workspace, last consolidated: 3 h ago · 4 changes"
    item.click()
    qtbot.waitUntil(lambda: shown == [item.toolTip()])
    assert "Merged two notes." in shown[0]
    qtbot.keyRelease(item, Qt.Key.Key_Tab)
    assert shown == [item.toolTip()] * 2
    qtbot.keyRelease(item, Qt.Key.Key_A)
    assert len(shown) == 2


def test_without_room_for_one_line_each_scope_has_its_own(qtbot: Any, footer: Footer) -> None:
    footer.show_status(status(row(Scope.WORKSPACE), row(Scope.PROJECT), row(Scope.GLOBAL)))
    places = [footer.rows[scope].value for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)]
    footer.resize(460, 200)
    qtbot.waitUntil(lambda: len({item.y() for item in places}) == 1)
    footer.resize(330, 200)
    qtbot.waitUntil(lambda: len({item.y() for item in places}) == 3)
    wanted = ["Workspace 3 h ago", "Project 3 h ago", "Global 3 h ago"]
    qtbot.waitUntil(lambda: [item.text() for item in places] == wanted)
    footer.resize(460, 200)
    qtbot.waitUntil(lambda: len({item.y() for item in places}) == 1)


def test_the_scopes_are_readable_after_the_window_has_become_dark_and_light_again(
    qapp: Any, footer: Footer
) -> None:
    footer.show_status(status(row(Scope.WORKSPACE), row(Scope.PROJECT), row(Scope.GLOBAL)))
    footer.show()
    before = qapp.palette()
    try:
        for palette in (dark_palette(), light_palette(), dark_palette(), light_palette()):
            qapp.setPalette(palette)
            qapp.processEvents()
            for item in footer.rows.values():
                colour = item.value.palette().color(item.value.foregroundRole())
                assert contrast(colour, palette.color(QPalette.ColorRole.Window)) > 4.5
    finally:
        qapp.setPalette(before)


def test_a_result_offers_what_fits_its_outcome(footer: Footer) -> None:
    op = {"command": "delete", "path": "/memories/global/a.md", "applied": True}

    def keys(outcome: Any, *, dry_run: bool = False, ops: Any = (op,)) -> tuple[str, ...]:
        footer.panel.ended(RunResult("r", outcome, "Said.", ops=ops), dry_run=dry_run)
        return footer.panel.result.keys

    assert keys("completed") == ("review", "revert")
    assert keys("completed", dry_run=True) == ("review", "apply")
    assert keys("unchanged", ops=()) == ()
    assert keys("held") == ("review",)
    assert keys("failed") == ()
    assert keys("skipped") == ()
    assert not footer.panel.running


def test_a_running_job_shows_its_progress_in_place_of_the_scopes_and_can_be_cancelled(
    qtbot: Any, footer: Footer
) -> None:
    footer.show_status(status(row(Scope.WORKSPACE)))
    footer.panel.start("Consolidating…")
    for number in range(9):
        op = {"command": "delete", "path": f"/memories/global/{number}.md", "applied": True}
        footer.panel.progress(Progress("planning", number, 9, op))
    qtbot.waitUntil(lambda: footer.panel._bar.value() == 8)
    assert footer.panel._step.text() == "Looking for duplicates…"
    assert (footer.panel.isHidden(), footer._area.isHidden(), footer.button.isHidden()) == (False, True, True)
    cancel = footer.panel.cancel_button
    with qtbot.waitSignal(footer.panel.cancel):
        cancel.click()
    assert (cancel.isHidden(), cancel.isEnabled()) == (False, False)
    footer.panel.ended(RunResult("r", "completed", "Said."), dry_run=False)
    assert (footer.panel.isHidden(), footer._area.isHidden(), footer.button.isHidden()) == (
        True,
        False,
        False,
    )
    assert cancel.isHidden()


def test_after_its_own_run_the_footer_names_the_run_of_another_process(footer: Footer) -> None:
    footer.panel.start("Consolidating…")
    footer.panel.show_elsewhere("another consolidation is running (process 7)")
    assert footer.panel._step.text() == "Consolidating…"
    footer.panel.ended(RunResult("r", "completed", "Said."), dry_run=False)
    assert footer.panel._step.accessibleName() == "another consolidation is running (process 7)"
    assert (footer.panel.isHidden(), footer.button.isHidden()) == (False, False)
    footer.panel.show_elsewhere("")
    assert (footer.panel.isHidden(), footer._area.isHidden()) == (True, False)


def test_conflicts_of_an_undo_name_their_files(footer: Footer) -> None:
    footer.panel.reverted(
        RunResult("r", "completed", "Undone in part.", reverts="o", conflicts=("/memories/global/a.md",))
    )
    assert "/memories/global/a.md" in footer.panel.result.text


def test_an_interrupted_run_is_shown_until_it_is_put_away(qtbot: Any, footer: Footer) -> None:
    run = RunRecord("r1", "dream", "h", "/h", "w", None, "manual", "rules", NOW - HOUR, outcome="interrupted")
    footer.show_status(status(row(Scope.WORKSPACE), interrupted=(run,)))
    assert not footer.panel.interrupted.isHidden()
    with qtbot.waitSignal(footer.panel.revert) as asked:
        footer.panel.interrupted.button("revert").click()
    assert asked.args == ["r1"]
    footer.panel.interrupted._close.click()
    footer.show_status(status(row(Scope.WORKSPACE), interrupted=(run,)))
    assert footer.panel.interrupted.isHidden()


class Verbose(QTranslator):
    """Every text three times as long, as one word: worse than German."""

    def translate(self, context: str, text: str, disambiguation: str | None = None, n: int = -1) -> str:
        return "".join(text.split()) * 3 if "{" not in text and "%n" not in text else ""


@pytest.mark.parametrize("verbose", [False, True], ids=["english", "three times as long"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("is_running", [False, True], ids=["at rest", "running"])
def test_nothing_leaves_the_right_edge(
    qtbot: Any, qapp: Any, clock: Clock, width: int, verbose: bool, is_running: bool
) -> None:
    translator = Verbose()
    if verbose:
        qapp.installTranslator(translator)
    try:
        footer = Footer(Icons(), clock)
        qtbot.addWidget(footer)
        page = QWidget()
        qtbot.addWidget(page)
        Overlay(QWidget(page), *footer.bars)  # as the tab does
        footer.set_actions(QAction("run", footer), QMenu(footer))
        footer.show_status(everything())
        op = {"command": "delete", "path": "/memories/global/" + LONG, "applied": True}
        footer.panel.progress(Progress("exact", 1, 9, op))
        footer.panel._show_progress()
        footer.panel.ended(RunResult("r", "completed", LONG, ops=(op,)), dry_run=False)
        if is_running:
            footer.panel.start(LONG)
        footer.resize(width, footer.heightForWidth(width) if footer.hasHeightForWidth() else 900)
        footer.show()
        for _turn in range(6):  # what is shown is measured again, from the inside out
            qapp.processEvents()
            footer.resize(width, footer.heightForWidth(width))
        assert footer.width() == width, "the footer may not widen what holds it"
        check_inside(footer)
        rows = [footer.rows[scope].value for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)]
        button = footer.button.mapTo(footer, QPoint(0, 0)).x()
        tops = [found.mapTo(footer, QPoint(0, 0)).y() for found in rows]
        assert tops == sorted(tops)
        # During a run the progress is in their place.
        assert is_running or all(
            found.mapTo(footer, QPoint(found.width(), 0)).x() <= button for found in rows
        ), "rows stand left of the button"
    finally:
        qapp.removeTranslator(translator)


def check_inside(footer: Footer) -> None:
    """Every visible label and button is inside, tall enough for its text, and does not overlap another."""
    seen: list[tuple[QWidget, Any]] = []
    for widget in footer.findChildren(QWidget):
        if not isinstance(widget, QLabel | QAbstractButton) or not widget.isVisible():
            continue
        area = widget.rect().translated(widget.mapTo(footer, QPoint(0, 0)))
        assert area.left() >= 0, widget
        assert area.right() < footer.width(), widget
        if isinstance(widget, QLabel) and widget.hasHeightForWidth():
            assert area.height() >= widget.heightForWidth(area.width()), widget.text()
        for other, taken in seen:
            if not other.isAncestorOf(widget):
                assert not taken.intersects(area), (other, widget)
        seen.append((widget, area))
