"""The answer at the top of the Traces tab: the agent's writer first, and the remedy as a button."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication
from ui_windows import Driver, Windows

from helpers.samples import copy_sample
from reverie.doctor.findings import FindingView, FixOffer
from reverie.errors import UserError
from reverie.memory.diff import word_spans
from reverie.resources import resource
from reverie.text.summaries import phrase, plain, plural, together
from reverie.ui.display_text import said
from reverie.ui.traces.checks import answer_of

AGENT = FindingView(
    "agent-writer",
    plain("The agent's memory writer wrote nothing in its last 3 runs"),
    "warn",
    plain("Cause of the newest: it timed out."),
    FixOffer(plain("Run the memory writer now")),
)
OFF = FindingView(
    "feature", plain("The memory writer is off"), "fail", plain("Since ever."), FixOffer(plain("Turn on"))
)
TURN = FindingView("last-turn", plain("No answer yet"), "warn", plain("Say something."))
FINE = FindingView("disk", plain("There is enough disk space"), "pass", plain("1 GiB."))


def test_the_agents_writer_comes_first_and_reveries_own_apart() -> None:
    answer = answer_of((AGENT, TURN, OFF, FINE), "retry loop", can_replay=True)
    assert answer.title == "retry loop: The agent's memory writer wrote nothing in its last 3 runs"
    assert answer.cause == "Cause of the newest: it timed out."
    assert [key for key, _label in answer.remedies] == ["fix agent-writer", "replay"]
    assert answer.own == "Reverie itself: The memory writer is off · No answer yet"
    assert answer.own_remedies == (("fix feature", "Turn on"),)


def test_a_model_that_cannot_do_it_has_the_settings_as_its_remedy() -> None:
    agent = FindingView(AGENT.check, AGENT.title, "warn", AGENT.evidence, None, "model")
    answer = answer_of((agent, FINE), "x", can_replay=True)
    assert answer.remedies == (("model", "Choose another model…"), ("replay", "Replay…"))
    assert answer.own == ""
    key = FindingView("model", plain("The model cannot be used"), "fail", plain("No key."), None, "key")
    assert answer_of((key,), "x").remedies == (("key", "Add a key…"),)


def test_without_a_failed_run_of_the_agent_the_first_cause_is_the_answer() -> None:
    fine = FindingView("agent-writer", AGENT.title, "pass", AGENT.evidence)
    answer = answer_of((fine, TURN, OFF), "x")
    assert (answer.title, answer.remedies) == ("x: The memory writer is off", (("fix feature", "Turn on"),))
    assert answer.own == "Reverie itself: No answer yet", "each is said once"
    assert answer_of((fine, FINE), "x").title == "x: no problems"


def test_words_that_differ_are_told_from_those_that_do_not() -> None:
    there = "- Postgres on 55432 here, not on 5432."
    wanted, found = word_spans("- Postgres on 55432.", there)
    assert wanted == ()
    assert "".join(there[start : start + length] for start, length in found) == " here, not on 5432"


# In a window


def examined(driver: Driver) -> Any:
    driver.do("view.traces")
    tab = driver.traces
    driver.until(lambda: bool(tab.checks.findings) and tab.is_settled and not driver.services.checks.busy)
    return tab


def test_one_tab_answers_and_leads_to_checks_log_and_settings(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    tab = examined(driver)
    names = [driver.window.tabs.tabText(at) for at in range(driver.window.tabs.count())]
    assert not {"Doctor", "Activity"} & set(names)
    assert "409 retry loop: " in tab.answer.title.text()
    assert "memory writer wrote nothing in its last 3 runs" in tab.answer.title.text()
    assert "overloaded_error" in tab.answer.cause.text
    assert tab.answer.own.text.startswith("Reverie itself: The memory writer is off")
    # A button that is just filled has its width with the next layout.
    driver.until(lambda: tab.answer.button("checks").text() == f"{len(tab.checks.findings)} checks ›")
    tab.answer.button("checks").click()
    assert tab.views.currentWidget() is tab.checks
    assert tab.checks.only.isChecked()
    tab.checks.runs.click()
    assert tab.views.currentWidget() is tab.pages
    tab.answer.button("log").click()
    assert tab.views.currentWidget() is tab.log
    driver.do("view.checks")
    assert tab.views.currentWidget() is tab.checks
    asked: list[str] = []
    tab.settings_wanted.connect(asked.append)
    tab.checks.rows.remedy.emit("key")
    assert asked == ["models"]
    driver.until(lambda: not driver.window.dialogs.settings.busy)
    tab.answer.button("fix feature").click()
    driver.until(lambda: "is off" not in tab.answer.own.text)
    driver.settle()


def test_write_it_now_runs_reveries_writer_and_says_what_did_not_work(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    tab = examined(driver)
    monkeypatch.setattr("reverie.jobs.single_file.writer_service.WriterService.run_now", failing)
    tab.answer.button("fix agent-writer").click()
    driver.until(lambda: "The disk is full." in tab.checks.message.text)
    assert tab.checks.message.isVisible(), "also where the runs are shown"
    monkeypatch.undo()
    driver.until(lambda: tab.answer.button("fix agent-writer").isEnabled())
    tab.answer.button("fix agent-writer").click()
    driver.until(lambda: "agent's memory writer" not in tab.answer.title.text())
    assert tab.checks.message.isHidden()
    driver.settle()


def failing(*_arguments: Any, **_named: Any) -> None:
    raise UserError("The disk is full.")


def test_replay_opens_on_the_run_that_the_answer_is_about(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    tab = examined(driver)
    tab.list.verdict.setCurrentIndex(tab.list.verdict.findData("wrote"))
    tab.answer.button("replay").click()
    driver.until(lambda: tab.replay is not None and tab.replay.isVisible())
    assert "overloaded_error" in tab.detail.verdict.text
    tab.replay.close()
    driver.settle()


def test_an_agent_without_workspaces_is_answered_without_one(windows: Windows, tmp_path: Path) -> None:
    loki = copy_sample("loki-project", tmp_path) / ".loki"
    driver = windows.open(loki, "", watching=False)
    tab = examined(driver)
    assert "Select a workspace" not in tab.answer.cause.text + tab.checks.nothing.sentence.text()
    assert {one.check for one in tab.checks.findings} >= {"feature", "dream-switch"}
    assert tab.list.shown == ()
    assert [one.title for one in tab.checks.findings if one.check == "feature"] == [
        "This agent has no memory writer"
    ]
    driver.settle()


# In German


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    translator = QTranslator()
    assert translator.load(str(resource("translations/reverie_de.qm")))
    assert QCoreApplication.installTranslator(translator)
    yield
    QCoreApplication.removeTranslator(translator)


def test_what_rooms_below_the_window_say_is_german_in_the_german_window(
    german: None, windows: Windows, home: Path
) -> None:
    text = together(phrase("The writer is off until you turn it on."), plural("1 day ago", "%n days ago", 2))
    assert said(text) == "Er ist aus, bis Sie ihn einschalten. vor 2 Tagen"
    driver = windows.open(home)
    tab = examined(driver)
    shown = " ".join((tab.answer.title.text(), tab.answer.cause.text, tab.answer.own.text))
    assert "Notizschreiber" in shown
    assert not {"wrote", "nothing", "runs", "writer", "off", "newest"} & set(shown.replace(":", " ").split())
    driver.settle()
