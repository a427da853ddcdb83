"""A Codex home in a window: its transcripts, what its agent says of its jobs, what is made anew each time."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from test_ui_window import GuiThreadFiles
from ui_windows import Windows

from helpers.audit import problems
from helpers.codex_home import (
    JOBS_TABLE,
    NOW_S,
    OUTPUTS_TABLE,
    CodexHomeMaker,
    thread_id,
    varied_rollouts,
)
from helpers.model_server import ModelServer, Reply
from reverie.services.views import ConsentView
from reverie.ui.extraction.consent import RolloutConsent
from reverie.ui.row_delegate import ROW_ROLE

CWD = "/projects/demo"


def job(kind: str, key: str, status: str, **columns: object) -> str:
    told = {"kind": kind, "job_key": key, "status": status, **columns}
    values = ", ".join("NULL" if value is None else repr(value) for value in told.values())
    return f"INSERT INTO jobs ({', '.join(told)}) VALUES ({values})"


@pytest.fixture
def codex(tmp_path: Path) -> CodexHomeMaker:
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.bucket(CWD)
    maker.newest()
    varied_rollouts(maker, CWD)
    rows = [maker.thread_row(number, CWD, f"Thread {number}") for number in (1, 4, 6)]
    maker.state(*rows, maker.thread_row(11, CWD, source='{"subagent":"review"}'))
    maker.database(
        "memories_1.sqlite",
        JOBS_TABLE,
        OUTPUTS_TABLE,
        job("memory_consolidate_global", "global", "error", finished_at=NOW_S, retry_at=NOW_S + 3600,
            last_error="the model did not answer"),
        job("memory_stage1", thread_id(1), "done", finished_at=NOW_S - 60),
        job("memory_stage1", thread_id(4), "error", finished_at=NOW_S - 30, last_error="no JSON"),
    )  # fmt: skip
    return maker


def test_transcripts_jobs_and_generated_files_of_a_home(windows: Windows, codex: CodexHomeMaker) -> None:
    before = {path: path.read_bytes() for path in codex.root.rglob("*") if path.is_file()}
    driver = windows.open(codex.root, "")
    tab = driver.window.late.transcripts
    assert tab.list.shown == (), "nothing is listed before it is looked at"
    with GuiThreadFiles() as touched:
        driver.do("view.transcripts")
        driver.until(lambda: tab.is_settled)
        driver.do("dream.agent-jobs")
        driver.until(lambda: driver.window.late.agent_jobs.is_read)
        driver.do("dream.extract")
        driver.until(lambda: driver.tab.extraction.is_listed)
    assert list(touched) == []
    for narrow in (driver.window.late.agent_jobs, driver.tab.extraction.dialog):
        assert narrow is not None
        narrow.resize(340, 460)
        assert problems(narrow) == []
        narrow.close()
    titles = {source.id: source.title for source in tab.list.shown}
    assert {source.project_path for source in tab.list.shown} == {CWD, None}
    assert tab.list.project.count() == 2
    assert titles[thread_id(1)] == "Thread 1"
    assert titles[thread_id(2)] == "Fix the build"
    assert thread_id(11) not in titles, "what a sub-agent was told is not listed"
    tab.list.text.setText("thread 4")
    assert [source.id for source in tab.list.shown] == [thread_id(4)]
    assert tab.list.select_id(thread_id(4))
    driver.until(lambda: tab.is_settled)
    assert "The build works again." in tab.view.text.toPlainText()
    assert problems(driver.window) == []

    driver.do("view.memory")
    rows = driver.footer.agent.rows
    assert [(row.line.label, row.line.state) for row in rows[:2]] == [
        ("Codex consolidation", "fail"),
        ("Codex extraction", "fail"),
    ]
    assert "the model did not answer" in rows[0].value.text()
    assert rows[0].value.accessibleName().startswith("failed, Codex consolidation")
    driver.do("dream.agent-jobs")
    dialog = driver.window.late.agent_jobs
    assert dialog is not None
    driver.until(lambda: dialog.is_read)
    assert problems(dialog) == []
    items = [dialog.table.topLevelItem(row) for row in range(dialog.table.topLevelItemCount())]
    told = {item.text(2): item for item in items if item is not None}
    assert told["Thread 4"].text(0) == "failed"
    assert told["Thread 4"].text(5) == "no JSON"
    assert told["all threads"].text(4) != "–"
    dialog.table.setCurrentItem(told["all threads"])
    assert not dialog.open_button.isEnabled()
    dialog.table.setCurrentItem(told["Thread 1"])
    dialog.open_button.click()
    driver.until(lambda: tab.is_settled)
    assert tab.list.selected is not None
    assert tab.list.selected.id == thread_id(1), "although the filter hid it"
    dialog.close()

    driver.do("view.memory")
    marked = {path: driver.tab.model.index_at(f"/memories/global/{path}") for path in (
        "raw_memories.md", "rollout_summaries", "MEMORY.md", "extensions/ad_hoc/manifest.json")}  # fmt: skip
    looks = {path: index.data(ROW_ROLE).lock for path, index in marked.items()}
    assert list(looks.values()) == ["generated", "generated", "", "locked"]
    accessible = marked["raw_memories.md"].data(Qt.ItemDataRole.AccessibleTextRole)
    assert "made anew by the agent" in accessible
    assert "a change would be lost" in marked["raw_memories.md"].data(Qt.ItemDataRole.ToolTipRole)
    driver.open("/memories/global/raw_memories.md")
    assert driver.pane.text.isReadOnly()
    assert "a change would be lost" in driver.pane.reason.text
    driver.open("/memories/global/MEMORY.md")
    assert not driver.pane.text.isReadOnly()
    after = {path: path.read_bytes() for path in codex.root.rglob("*") if path.is_file()}
    assert before == after


def test_the_rows_of_the_agent_follow_its_books(windows: Windows, codex: CodexHomeMaker) -> None:
    driver = windows.open(codex.root, "")
    told = [row.value.text() for row in driver.footer.agent.rows]
    assert any("did not answer" in text for text in told)
    connection = sqlite3.connect(codex.root / "memories_1.sqlite")
    connection.execute("UPDATE jobs SET status = 'done', last_error = NULL")
    connection.commit()
    driver.until(lambda: all(row.line.state == "ok" for row in driver.footer.agent.rows if row.line))
    connection.execute("DELETE FROM jobs")
    connection.commit()
    driver.until(lambda: not driver.footer.agent_told)
    driver.until(lambda: not driver.window.actions_["dream.agent-jobs"].isEnabled())
    connection.close()


def test_rollouts_are_extracted_one_by_one_and_what_came_of_it_can_be_undone(
    windows: Windows, codex: CodexHomeMaker
) -> None:
    old = NOW_S - 90_000
    for path in codex.root.rglob("rollout-*"):
        os.utime(path, (old, old))
    databases = {path: path.read_bytes() for path in codex.root.glob("*.sqlite")}
    driver = windows.open(codex.root, "")
    control = driver.tab.extraction
    driver.until(
        lambda: any(row.line.label == "Extraction by Reverie" for row in driver.footer.agent.rows if row.line)
    )
    assert "threads wait" in driver.footer.agent.rows[-1].value.text()
    assert driver.footer.button.accessibleName().startswith("Extract rollouts, with the rules engine")
    assert problems(driver.window) == []
    driver.window.picker.hide()
    driver.until(lambda: driver.window.minimumWidth() <= 360)
    driver.window.resize(360, 800)
    assert problems(driver.window) == []
    driver.footer.button.click()
    dialog = control.dialog
    assert dialog is not None
    driver.until(lambda: control.is_listed and dialog.run.isEnabled())
    first = dialog.table.topLevelItem(0)
    assert first is not None
    assert first.text(0) == "comes next"
    states = {dialog.table.topLevelItem(row).text(0) for row in range(dialog.table.topLevelItemCount())}  # type: ignore[union-attr]
    assert "left out" in states
    assert problems(dialog) == []
    dialog.run.click()
    assert not dialog.run.isEnabled()
    driver.until(lambda: not control.running)
    assert control.result is not None
    assert control.result.rollouts
    driver.until(lambda: first.text(0) == "kept")
    assert problems(dialog) == []
    dialog.table.setCurrentItem(first)
    traces = list(codex.memories.glob("*/memory/trace_summaries/*.md"))
    assert len(traces) > 1
    dialog.review_button.click()
    review = driver.tab.dreams.review_dialog
    assert review is not None
    driver.until(lambda: review.is_read)
    review.close()
    dialog.close()
    driver.do("dream.extract")
    driver.until(lambda: control.is_listed)
    assert dialog.table.topLevelItemCount()
    assert databases == {path: path.read_bytes() for path in codex.root.glob("*.sqlite")}
    dialog.close()


def test_other_homes_have_nothing_to_extract(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert not driver.window.actions_["dream.extract"].isEnabled()
    assert driver.footer.button.defaultAction() is driver.window.actions_["dream.run"]
    assert not driver.footer.agent.isVisible()
    tab = driver.window.late.transcripts
    driver.do("view.transcripts")
    driver.until(lambda: tab.is_settled)
    assert {source.kind for source in tab.list.shown} == {"session"}
    assert tab.view.text.messages


def test_nothing_is_sent_before_a_person_agreed_and_a_run_can_be_cancelled(
    windows: Windows, codex: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = NOW_S - 90_000
    for path in codex.root.rglob("rollout-*"):
        os.utime(path, (old, old))
    monkeypatch.setenv("TEST_KEY", "nobodys")
    asked: list[ConsentView] = []

    def refuse(_parent: object, consent: ConsentView, _engine: str) -> bool:
        asked.append(consent)
        return False

    monkeypatch.setattr(RolloutConsent, "ask", refuse)
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        windows.settings(server.settings_toml("test") + '\n[extract]\nmodel = "test:test-model"\n')
        driver = windows.open(codex.root, "")
        control = driver.tab.extraction
        driver.do("dream.extract")
        dialog = control.dialog
        assert dialog is not None
        driver.until(lambda: control.is_listed)
        assert "test:test-model" in dialog.engine.text()
        desk = driver.session.workbench.models
        monkeypatch.setattr(desk, "_destination", lambda _engine: "https://model.example")
        dialog.run.click()
        driver.until(lambda: not control.running)
        assert "Nothing was sent." in dialog.message.text
        assert server.requests == []
        assert "Thread 1" in asked[0].files
        monkeypatch.setattr(desk, "_destination", lambda _engine: "")
        dialog.run.click()
        driver.until(lambda: bool(server.requests))
        dialog.cancel_button.click()
        driver.until(lambda: not control.running)
        assert not list(codex.memories.glob("*/memory/trace_summaries/*_fix_the_build.md"))
        assert dialog.run.isEnabled()
        dialog.close()
