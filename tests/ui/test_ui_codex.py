"""A Codex home in a window: its transcripts, what its agent says of its jobs, what is made anew each time."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMessageBox
from test_ui_window import GuiThreadFiles
from ui_windows import Held, Windows

from helpers.audit import problems
from helpers.codex_home import JOBS_TABLE, NOW_S, OUTPUTS_TABLE, CodexHomeMaker, thread_id, varied_rollouts
from helpers.model_server import ModelServer, Reply
from helpers.rollouts import meta, said, write_rollout
from reverie.agents.capabilities import AgentJob
from reverie.agents.scopes import Scope
from reverie.jobs.extraction.service import ExtractView
from reverie.services.views import ConsentView
from reverie.ui import dialogs
from reverie.ui.display_text import when
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory import extraction as extraction_words
from reverie.ui.memory.extraction import ExtractDialog, RolloutConsent
from reverie.ui.memory.footer import Footer
from reverie.ui.transcripts.tab import JobsDialog
from reverie.ui.transcripts.text import state_of
from reverie.ui.widgets.row_delegate import ROW_ROLE
from reverie.values import replace

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


@pytest.fixture
def february(tmp_path: Path) -> CodexHomeMaker:
    """A home of the first generation, which `reverie extract` serves in its own layout."""
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.bucket(CWD)
    varied_rollouts(maker, CWD)
    rows = [maker.thread_row(number, CWD, f"Thread {number}") for number in (1, 4, 6)]
    maker.state(*rows, maker.thread_row(11, CWD, source='{"subagent":"review"}'))
    return maker


@pytest.fixture
def today(tmp_path: Path) -> CodexHomeMaker:
    """A home with memory version 2."""
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.version_two()
    varied_rollouts(maker, CWD)
    maker.state(maker.thread_row(1, CWD, "Thread 1"))
    return maker


@contextmanager
def codex_consolidates(maker: CodexHomeMaker) -> Iterator[None]:
    """As Codex does for the whole of a consolidation."""
    with (maker.root / "memories_v2.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


SUMMARY = "/memories/global/memory_summary.md"


def test_a_save_waits_while_codex_consolidates_and_goes_on_by_itself(
    windows: Windows, today: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.ui.editor.buffers.RETRY_MS", 20)
    file, driver = today.root / "memories_v2" / "memory_summary.md", windows.open(today.root, "")
    before = file.read_text()
    opened = driver.open(SUMMARY)
    end = before.replace("## General Tips\n", "## General Tips\n\n- typed", 1)
    with codex_consolidates(today):
        driver.pane.text.setPlainText(end)
        with GuiThreadFiles() as touched:
            driver.do("file.save")
            driver.until(lambda: bool(opened.waiting))
        assert list(touched) == []
        assert "Codex is consolidating" in driver.pane.banner.text
        assert "will save your text automatically" in driver.pane.banner.text
        assert problems(driver.window) == []
        driver.pane.text.setPlainText(end.replace("- typed", "- typed on"))
        assert file.read_text() == before
        # Codex rewrites another place of the file before it releases the lock.
        file.write_text(before.replace("Brief.", "Brief, says Codex.", 1))
    driver.until(lambda: "- typed on" in file.read_text())
    assert "Brief, says Codex." in file.read_text(), "what Codex wrote is merged, not overwritten"
    driver.until(lambda: not opened.waiting and not opened.buffer.modified)
    assert driver.pane.banner.text == ""


def test_a_save_that_codex_would_refuse_says_why_and_keeps_the_text(
    windows: Windows, today: CodexHomeMaker
) -> None:
    driver = windows.open(today.root, "")
    before = (today.root / "memories_v2" / "memory_summary.md").read_text()
    opened = driver.open(SUMMARY)
    driver.pane.text.setPlainText(before.removeprefix("v1\n"))
    driver.do("file.save")
    driver.until(lambda: bool(driver.pane.error.text))
    assert "first line must be exactly v1" in driver.pane.error.text
    assert opened.buffer.modified
    assert (today.root / "memories_v2" / "memory_summary.md").read_text() == before


def test_codex_is_told_something_by_a_note(windows: Windows, today: CodexHomeMaker) -> None:
    driver = windows.open(today.root, "")
    control = driver.tab.telling
    driver.do("dream.tell")
    dialog = control.dialog
    assert dialog is not None
    assert not dialog.accept_button.isEnabled(), "there is nothing to tell yet"
    assert problems(dialog) == []
    dialog.text.setPlainText("I like tabs.")
    dialog.accept_button.click()
    notes = today.root / "memories_v2" / "extensions" / "ad_hoc" / "notes"
    driver.until(lambda: control.dialog is None)
    (note,) = notes.iterdir()
    assert note.read_text() == "I like tabs.\n"
    driver.until(lambda: any(path.endswith(note.name) for path in driver.paths(Scope.GLOBAL)))


def test_a_note_waits_for_codex_is_written_once_and_has_what_was_typed_meanwhile(
    windows: Windows, today: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.ui.memory.tab.RETRY_MS", 20)
    driver = windows.open(today.root, "")
    control = driver.tab.telling
    with codex_consolidates(today):
        driver.do("dream.tell")
        dialog = control.dialog
        assert dialog is not None
        dialog.text.setPlainText("I like tabs.")
        dialog.accept_button.click()
        driver.until(lambda: "as soon as Codex has finished" in dialog.message.text)
        dialog.text.setPlainText("I like tabs and long lines.")
        assert not dialog.accept_button.isEnabled(), "it is being written already"
    notes = today.root / "memories_v2" / "extensions" / "ad_hoc" / "notes"
    driver.until(lambda: control.dialog is None)
    driver.settle()
    (note,) = notes.iterdir()
    assert note.read_text() == "I like tabs and long lines.\n"


def test_a_note_that_is_being_typed_outlives_another_home_and_is_not_discarded_unasked(
    windows: Windows, today: CodexHomeMaker, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(today.root, "")
    codex, control = driver.session, driver.tab.telling
    driver.do("dream.tell")
    dialog = control.dialog
    assert dialog is not None
    dialog.text.setPlainText("I like tabs.")
    driver.window._open_wanted(home)
    driver.until(lambda: driver.session is not codex)
    driver.settle()
    assert dialog.isVisible()
    assert control.dialog is None, "the home that is shown has none"
    answers = iter((False, False, True))
    monkeypatch.setattr(dialogs, "ask_discard_note", lambda _parent: next(answers))
    dialog.reject()
    assert dialog.isVisible()
    assert not driver.window.close()
    assert dialog.text.toPlainText() == "I like tabs."
    dialog.reject()
    assert not dialog.isVisible()
    assert control.may_close()


def notes_of(maker: CodexHomeMaker) -> list[str]:
    return [file.read_text() for file in (maker.root / "memories_v2/extensions/ad_hoc/notes").glob("*")]


def test_a_note_that_is_being_written_is_neither_changed_nor_discarded(
    windows: Windows, today: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(today.root, "")
    control, asked = driver.tab.telling, []
    monkeypatch.setattr(dialogs, "ask_discard_note", lambda parent: asked.append(parent) or True)
    driver.do("dream.tell")
    dialog = control.dialog
    assert dialog is not None
    held = Held(driver.window.lanes.scan)
    dialog.text.setPlainText("I like tabs.")
    dialog.accept_button.click()
    driver.qtbot.keyClicks(dialog.text, " And more.")
    dialog.close()
    dialog.cancel_button.click()
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert asked == []
    assert control.may_close(), "it counts as written"
    held.let_go()
    driver.until(lambda: control.dialog is None)
    assert notes_of(today) == ["I like tabs.\n"]


def test_a_note_is_not_written_while_the_person_is_asked_whether_to_discard_it(
    windows: Windows, today: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.ui.memory.tab.RETRY_MS", 20)
    driver = windows.open(today.root, "")
    control = driver.tab.telling
    driver.do("dream.tell")
    dialog = control.dialog
    assert dialog is not None
    answered = []

    def answer() -> None:
        """Codex is done, and the person reads the question for a while."""
        (box,) = dialog.findChildren(QMessageBox)
        busy.close()
        driver.qtbot.wait(300)
        answered.append(notes_of(today))
        next(button for button in box.buttons() if button.text() == "&Discard").click()

    with ExitStack() as busy:
        busy.enter_context(codex_consolidates(today))
        dialog.text.setPlainText("I like tabs.")
        dialog.accept_button.click()
        waits = "as soon as Codex has finished"
        driver.until(lambda: waits in dialog.message.text and not dialog.is_being_written)
        QTimer.singleShot(0, answer)
        dialog.reject()
    driver.settle()
    assert answered == [[]]
    assert control.dialog is None
    assert notes_of(today) == []


def test_a_note_that_was_emptied_while_it_waited_is_not_written(
    windows: Windows, today: CodexHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.ui.memory.tab.RETRY_MS", 20)
    driver = windows.open(today.root, "")
    driver.do("dream.tell")
    dialog = driver.tab.telling.dialog
    assert dialog is not None
    with codex_consolidates(today):
        dialog.text.setPlainText("I like tabs.")
        dialog.accept_button.click()
        driver.until(lambda: "as soon as Codex has finished" in dialog.message.text)
        dialog.text.clear()
        driver.until(lambda: dialog.message.text == "")
    driver.settle()
    assert dialog.isVisible()
    dialog.text.setPlainText("I like spaces.")
    assert notes_of(today) == []
    dialog.accept_button.click()
    driver.until(lambda: driver.tab.telling.dialog is None)
    assert notes_of(today) == ["I like spaces.\n"]


def test_of_two_notes_one_may_end_while_the_person_is_asked_about_the_other(
    windows: Windows, today: CodexHomeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = CodexHomeMaker(tmp_path / "other")
    other.version_two()
    driver = windows.open(today.root, "")
    control = driver.tab.telling
    driver.do("dream.tell")
    first = control.dialog
    driver.window._open_wanted(other.root)
    driver.until(lambda: control.dialog is None)
    driver.settle()
    driver.do("dream.tell")
    second = control.dialog
    assert first is not None
    assert second is not None
    first.text.setPlainText("I like tabs.")
    second.text.setPlainText("I like spaces.")

    def discard(_parent: object) -> bool:
        second.accept()
        return True

    monkeypatch.setattr(dialogs, "ask_discard_note", discard)
    assert control.may_close()
    assert control.dialog is None


def test_other_homes_take_no_notes(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert not driver.window.actions_["dream.tell"].isEnabled()


def test_transcripts_jobs_and_generated_files_of_a_home(windows: Windows, codex: CodexHomeMaker) -> None:
    before = {path: path.read_bytes() for path in codex.root.rglob("*") if path.is_file()}
    driver = windows.open(codex.root, "")
    tab = driver.window.lazy_tabs.transcripts
    assert tab.list.shown == (), "nothing is listed before it is looked at"
    with GuiThreadFiles() as touched:
        driver.do("view.transcripts")
        driver.until(lambda: tab.is_settled)
        driver.do("dream.agent-jobs")
        driver.until(lambda: driver.window.lazy_tabs.agent_jobs.is_read)
        driver.do("dream.extract")
        driver.until(lambda: driver.tab.extraction.is_listed)
    assert list(touched) == []
    for narrow in (driver.window.lazy_tabs.agent_jobs, driver.tab.extraction.dialog):
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
    dialog = driver.window.lazy_tabs.agent_jobs
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
    assert "regenerated by the agent" in accessible
    tip = marked["raw_memories.md"].data(Qt.ItemDataRole.ToolTipRole)
    assert "a change would be lost" in tip.replace("\n", " ")
    driver.open("/memories/global/raw_memories.md")
    assert driver.pane.text.isReadOnly()
    assert "a change would be lost" in driver.pane.reason.text
    driver.open("/memories/global/MEMORY.md")
    assert not driver.pane.text.isReadOnly()
    after = {path: path.read_bytes() for path in codex.root.rglob("*") if path.is_file()}
    assert before == after


def test_projects_and_sections_are_listed_by_the_names_they_were_given(
    windows: Windows, tmp_path: Path
) -> None:
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.rollout(1, [meta(thread_id(1), CWD), said("user", "Fix it")])
    maker.state(
        maker.thread_row(1, CWD, "Fix it"),
        "CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT)",
        "CREATE TABLE project_roots (project_id TEXT, position INTEGER, path TEXT)",
        "CREATE TABLE thread_sections (id TEXT PRIMARY KEY, name TEXT)",
        "INSERT INTO projects VALUES ('p', 'The great one')",
        f"INSERT INTO project_roots VALUES ('p', 0, '{CWD}')",
        "INSERT INTO thread_sections VALUES ('s', 'Later')",
        "UPDATE threads SET thread_section_id = 's', memory_mode = 'disabled'",
        more=", thread_section_id TEXT, memory_mode TEXT",
    )
    driver = windows.open(maker.root, "")
    tab = driver.window.lazy_tabs.transcripts
    driver.do("view.transcripts")
    driver.until(lambda: tab.is_settled)
    model = tab.list.model
    row = [model.index(0, column).data() for column in range(model.columnCount())]
    assert "The great one" in row
    assert "memory disabled, in section “Later”" in row


def test_a_thread_that_is_reverted_while_it_is_read_goes_on_in_its_new_file(
    windows: Windows, tmp_path: Path
) -> None:
    maker = CodexHomeMaker(tmp_path / "codex")
    thread, segment = thread_id(1), thread_id(9)
    first = maker.rollout(
        1, [meta(thread, CWD), said("user", "the beginning"), said("user", "the wrong way")]
    )
    driver = windows.open(maker.root, "")
    tab = driver.window.lazy_tabs.transcripts
    driver.do("view.transcripts")
    driver.until(lambda: tab.is_settled and "the wrong way" in tab.view.text.toPlainText())
    end = first.read_bytes().index(b"\n", first.read_bytes().index(b"the beginning")) + 1
    base = {"thread_id": thread, "end_byte_offset": end}
    lines = [meta(thread, CWD, history_base=base), said("user", "another way")]
    write_rollout(first.with_name(f"{first.stem}_{segment}.jsonl"), lines)
    tab.read_again()
    driver.until(lambda: "another way" in tab.view.text.toPlainText())
    shown = tab.view.text.toPlainText()
    assert "the wrong way" not in shown
    assert "the beginning" in shown
    assert f"still in {first.name}" in shown


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
    driver.until(lambda: not driver.footer.agent_reported)
    driver.until(lambda: not driver.window.actions_["dream.agent-jobs"].isEnabled())
    connection.close()


def test_rollouts_are_extracted_one_by_one_and_what_came_of_it_can_be_undone(
    windows: Windows, february: CodexHomeMaker
) -> None:
    codex, old = february, NOW_S - 90_000
    for path in codex.root.rglob("rollout-*"):
        os.utime(path, (old, old))
    databases = {path: path.read_bytes() for path in codex.root.glob("*.sqlite")}
    driver = windows.open(codex.root, "")
    control = driver.tab.extraction
    driver.until(
        lambda: any(row.line.label == "Extraction by Reverie" for row in driver.footer.agent.rows if row.line)
    )
    assert "sessions waiting" in driver.footer.agent.rows[-1].value.text()
    assert driver.footer.button.accessibleName().startswith("Extract rollouts, without a model")
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
    assert first.text(0) == "next"
    states = {dialog.table.topLevelItem(row).text(0) for row in range(dialog.table.topLevelItemCount())}  # type: ignore[union-attr]
    assert "skipped" in states
    assert problems(dialog) == []
    dialog.run.click()
    assert not dialog.run.isEnabled()
    driver.until(lambda: not control.running)
    assert control.result is not None
    assert control.result.rollouts
    driver.until(lambda: first.text(0) == "saved")
    assert problems(dialog) == []
    dialog.table.setCurrentItem(first)
    traces = list(codex.memories.glob("*/memory/trace_summaries/*.md"))
    assert len(traces) > 1
    dialog.review_button.click()
    assert driver.reviewed().choices.count_of_all > 0
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
    tab = driver.window.lazy_tabs.transcripts
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
        desk = driver.served.models
        monkeypatch.setattr(desk, "_destination", lambda _engine: "https://model.example")
        dialog.run.click()
        driver.until(lambda: not control.running)
        assert "Nothing was sent." in dialog.message.text
        assert server.requests == []
        assert "Thread 4" in asked[0].files
        assert "Thread 1" not in asked[0].files, "Codex found nothing to remember in it"
        monkeypatch.setattr(desk, "_destination", lambda _engine: "")
        dialog.run.click()
        driver.until(lambda: bool(server.requests))
        dialog.cancel_button.click()
        driver.until(lambda: not control.running)
        assert not list(codex.memories.glob("*/memory/trace_summaries/*_fix_the_build.md"))
        assert dialog.run.isEnabled()
        dialog.close()


def test_where_results_become_notes_the_footer_and_the_dialog_say_so(qtbot: Any) -> None:
    for to_notes in (True, False):
        view = ExtractView(None, "", 7, "", "rules", "The default.", to_notes)
        line = extraction_words.footer_line(view, running=False)
        assert line.text.startswith("7 sessions waiting.")
        dialog = ExtractDialog(Icons(), lambda: 0)
        qtbot.addWidget(dialog)
        dialog.say_standing(view)
        footer = Footer(Icons(), lambda: 0)
        qtbot.addWidget(footer)
        footer.set_actions(QAction("Consolidate", footer), QMenu(footer))
        footer.offer(QAction("Extract rollouts", footer))
        footer.say_other_engine(view.engine, to_notes=view.to_notes)
        for text in (line.text, dialog.summary.text(), footer.engine.text()):
            assert ("for Codex" in text) is to_notes


def test_a_try_whose_time_has_come_is_made_at_the_next_start(qtbot: Any) -> None:
    now = NOW_S * 1000
    dialog = JobsDialog(Icons(), lambda: now, cast(Lane, None))
    qtbot.addWidget(dialog)
    failed = AgentJob("1", "memory_stage1", "a", "failed", "Broken.", now - 9)
    for retry_at in (now - 1, now):
        assert dialog._item(replace(failed, retry_at=retry_at)).text(4) == "when the agent next starts"
    assert dialog._item(replace(failed, retry_at=now + 60_000)).text(4) == when(now + 60_000)
    assert dialog._item(replace(failed, retry_at=None)).text(4) == "–"


def test_a_window_begins_with_the_project_that_was_asked_for(windows: Windows, codex: CodexHomeMaker) -> None:
    codex.bucket("/projects/another")
    for asked, shown in (("/projects/another", "/projects/another"), ("/projects/none", None)):
        driver = windows.begin(codex.root, "", watching=False, project=asked)
        driver.settle()
        context = driver.session.context
        assert context is not None
        assert context.project_path == shown


def test_a_thread_whose_extraction_failed_says_so_in_the_list_of_transcripts(
    windows: Windows, codex: CodexHomeMaker
) -> None:
    driver = windows.open(codex.root, "")
    tab = driver.window.lazy_tabs.transcripts
    driver.do("view.transcripts")
    driver.until(lambda: tab.is_settled)
    states = {source.id: state_of(source) for source in tab.list.shown}
    assert "extraction failed" in states[thread_id(4)]
    assert "extraction failed" not in states[thread_id(1)]
