"""The checks of the Traces tab: every check with its evidence, and fixes of one press."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QLabel, QScrollArea
from ui_windows import ACME, INGEST, Windows

from helpers.codex_home import CodexHomeMaker
from reverie.doctor.findings import FindingView, FixOffer
from reverie.errors import UserError
from reverie.files.log_file import is_debug, set_debug
from reverie.settings import load_settings
from reverie.text.summaries import plain
from reverie.ui.appearance import contrast, dark_palette
from reverie.ui.icons import Icons
from reverie.ui.traces.checks import ChecksView
from reverie.values import replace

SWITCH = FindingView("feature", plain("It is off"), "fail", plain("Nobody was here."), FixOffer(plain("On")))
TURN = FindingView("last-turn", plain("It was cut off"), "warn", plain("It was\u202e aborted."))
MODEL = FindingView("model", plain("There is a model"), "pass", plain("Rules."))
ALL = (MODEL, TURN, SWITCH)


@pytest.fixture
def tab(qtbot: Any) -> ChecksView:
    made = ChecksView(Icons())
    qtbot.addWidget(made)
    made.resize(700, 500)
    made.show()
    made.set_busy(False)
    made.only.setChecked(False)
    return made


def test_each_check_has_its_state_evidence_and_fix(tab: ChecksView, qtbot: Any) -> None:
    tab.show_findings(ALL, "x")
    row = tab.rows.row("feature")
    assert (row.state, row.title.text(), row.evidence.text()) == ("fail", "It is off", "Nobody was here.")
    assert "problem" in row.accessibleName()
    assert "\u202e" not in tab.rows.row("last-turn").evidence.text()
    assert tab.rows.row("last-turn").button.isHidden()
    with qtbot.waitSignal(tab.fix) as asked:
        row.button.click()
    assert asked.args == ["feature"]


def test_rows_stay_where_they_are_when_the_checks_are_made_again(tab: ChecksView) -> None:
    tab.show_findings(ALL, "x")
    row = tab.rows.row("feature")
    row.button.setFocus()
    tab.show_findings((MODEL, SWITCH), "x")
    assert tab.rows.row("feature") is row
    assert tab.rows.checks == ("model", "feature")
    tab.show_findings(ALL, "x")
    assert tab.rows.checks == ("model", "last-turn", "feature")


def test_a_fix_is_asked_for_once_a_press(tab: ChecksView) -> None:
    asked: list[str] = []
    tab.fix.connect(asked.append)
    for _ in range(3):
        tab.show_findings(ALL, "x")
        tab.show_findings((SWITCH,), "x")
    tab.rows.row("feature").button.click()
    assert asked == ["feature"]


def test_what_is_mended_keeps_the_focus_and_the_place_in_the_list(tab: ChecksView) -> None:
    many = [replace(SWITCH, check=f"switch-{number}") for number in range(30)]
    tab.show_findings(many, "x")
    QCoreApplication.processEvents()
    area = tab.rows.parentWidget().parentWidget()
    assert isinstance(area, QScrollArea)
    button = tab.rows.row("switch-1").button
    button.setFocus()
    tab.set_busy(True)
    assert tab.window().focusWidget() is tab.rows
    tab.set_busy(False)
    assert tab.window().focusWidget() is button, "it did not work: it can be tried again"
    tab.show_findings([replace(each, fix=None) if each.check == "switch-1" else each for each in many], "x")
    QCoreApplication.processEvents()
    assert tab.window().focusWidget() is tab.rows, "mended: no other fix is at hand for the next key"
    assert area.verticalScrollBar().value() == 0


def test_before_the_first_checks_are_made_nobody_is_told_to_select_what_is_selected(tab: ChecksView) -> None:
    tab.forget(coming=True)
    assert tab.nothing.title.text() == "Checking…"
    assert tab.nothing.sentence.text() == ""
    tab.forget()
    assert tab.nothing.title.text() == "Nothing is selected"


def test_problems_only(tab: ChecksView) -> None:
    assert ChecksView(Icons()).only.isChecked(), "at first"
    tab.show_findings(ALL, "x")
    tab.only.setChecked(True)
    assert tab.rows.checks == ("last-turn", "feature")
    tab.show_findings((MODEL,), "x")
    assert tab.nothing.isVisible()
    assert tab.nothing.title.text() == "No problems"


def test_while_something_is_done_nothing_can_be_pressed(tab: ChecksView) -> None:
    tab.show_findings(ALL, "x")
    tab.set_busy(True)
    assert tab.bar.isVisible()
    assert not any(button.isEnabled() for button in (tab.again, tab.probe, tab.rows.row("feature").button))
    tab.set_busy(False)
    assert tab.rows.row("feature").button.isEnabled()


def test_all_checks_can_be_copied(tab: ChecksView) -> None:
    tab.show_findings(ALL, "x")
    tab.copy.click()
    assert QGuiApplication.clipboard().text().splitlines() == [
        "pass: There is a model: Rules.",
        "warn: It was cut off: It was\\u202e aborted.",
        "fail: It is off: Nobody was here.",
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_evidence_is_readable_on_its_row(tab: ChecksView, qapp: Any, dark: bool) -> None:
    light = qapp.palette()
    try:
        if dark:
            qapp.setPalette(dark_palette())
        tab.show_findings(ALL, "x")
        qapp.processEvents()
        for check in tab.rows.checks:
            row = tab.rows.row(check)
            image = row.grab().toImage()
            back = image.pixelColor(image.width() - 3, 3)
            assert contrast(row.evidence.palette().windowText().color(), back) >= 4.5, check
    finally:
        qapp.setPalette(light)


@pytest.mark.parametrize("width", [375, 900])
def test_nothing_leaves_the_right_edge(tab: ChecksView, qapp: Any, width: int) -> None:
    path, label = plain("/home/" + "a" * 300), plain("Mend " + "b" * 200)
    long = FindingView("memory-file", plain("Cannot be written"), "fail", path, FixOffer(label), "key")
    tab.show_findings((*ALL, long), "x")
    tab.resize(width, 600)
    qapp.processEvents()
    assert tab.width() == width
    for kind in (QAbstractButton, QLabel):
        for control in tab.findChildren(kind):
            if control.isVisible() and not control.objectName().startswith("qt_"):
                assert control.mapTo(tab, QPoint(control.width(), 0)).x() <= width, control


# In a window


@pytest.fixture
def quiet_log() -> Iterator[None]:
    import logging

    level = logging.getLogger("reverie").level
    yield
    logging.getLogger("reverie").setLevel(level)


def examined(driver: Any) -> Any:
    driver.do("view.checks")
    control, view = driver.services.checks, driver.traces.checks
    view.only.setChecked(False)
    driver.until(lambda: bool(view.findings) and not control.busy)
    return view


def state(tab: Any, check: str) -> str:
    return next(finding.state for finding in tab.findings if finding.check == check)


def test_it_names_the_switch_and_one_press_mends_it(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert driver.traces.checks.nothing.title.text() == "Checking…"
    tab = examined(driver)
    assert state(tab, "feature") == "fail"
    tab.rows.row("feature").button.click()
    driver.until(lambda: state(tab, "feature") == "pass")
    settings, _problems = load_settings(windows.profile.settings_file)
    assert settings.system1.enabled
    # The window hosts the services from now on.
    home_id = driver.session.info.id
    driver.until(lambda: driver.services.host.words(home_id).text == "Services on")
    driver.until(
        lambda: (
            state(tab, "services") == "pass"
            and "the window"
            in next(finding.evidence for finding in tab.findings if finding.check == "services")
        )
    )
    driver.settle()


def test_another_workspace_is_examined_when_it_is_selected_and_a_home_without_one_is_not(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home, watching=False)
    tab = examined(driver)
    control = driver.services.checks
    assert control._context.workspace_id == ACME
    driver.choose(INGEST)
    driver.until(lambda: bool(tab.findings) and control._context.workspace_id == INGEST and not control.busy)
    driver.window.picker.pick_home(driver.session.info.id)
    driver.until(lambda: not tab.findings)
    driver.settle()
    assert not tab.findings
    assert tab.nothing.isVisible()


def test_a_home_whose_agent_has_no_workspaces_is_examined_whatever_is_selected(
    windows: Windows, tmp_path: Path
) -> None:
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.bucket("/code/acme")
    driver = windows.open(maker.root, "", watching=False)
    tab = examined(driver)
    assert state(tab, "dream-switch") == "off"
    assert driver.services.checks._context.workspace_id is None
    assert not tab.nothing.isVisible()
    driver.settle()


def test_debug_logging_is_switched_on_here_too_and_a_fix_that_does_not_work_says_why(
    windows: Windows, home: Path, quiet_log: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_debug(False)
    driver = windows.open(home, watching=False)
    tab = examined(driver)
    row = tab.rows.row("log-level")
    assert row.button.isVisibleTo(tab)
    row.button.click()
    driver.until(is_debug)
    driver.until(lambda: tab.rows.row("log-level").button.isHidden())
    driver.until(lambda: not driver.services.checks.busy)

    def refuse(*_arguments: Any, **_named: Any) -> None:
        raise UserError("The disk is full.", next_step="Make room.")

    monkeypatch.setattr("reverie.doctor.fixes.change_settings", refuse)
    tab.rows.row("feature").button.click()
    driver.until(lambda: "Make room." in tab.message.text)
    assert len(tab.findings) > 1
    assert tab.again.isEnabled()
    checks = driver.services.checks
    driver.until(lambda: not checks.busy and not checks._settle.isActive())
    checks._look_quietly()
    assert checks.busy
    driver.until(lambda: not checks.busy)
    assert "Make room." in tab.message.text, "only the user removes the reason"
    tab.again.click()
    driver.until(lambda: not checks.busy)
    assert tab.message.isHidden()


def test_a_test_of_the_model_is_made_on_request_only(windows: Windows, home: Path) -> None:
    windows.settings(
        '[system1]\nenabled = true\nmodel = "ollama:none"\n'
        '[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\nmax_retries = 0\n'
    )
    driver = windows.open(home, watching=False)
    tab = examined(driver)
    assert state(tab, "model-reachable") == "pass"
    tab.probe.click()
    assert tab.bar.isVisible()
    driver.until(lambda: state(tab, "model-reachable") == "fail" and not driver.services.checks.busy)
    tab.again.click()
    driver.until(lambda: not driver.services.checks.busy)
    # What was found out is not forgotten by merely looking again.
    assert state(tab, "model-reachable") == "fail"
