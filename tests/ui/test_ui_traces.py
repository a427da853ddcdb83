"""The Traces tab on real dumps: the list is live, the verdict shows where, nothing a trace says is obeyed."""

from __future__ import annotations

import json
import re
import shutil
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from ui_windows import ACME, INGEST, Driver, Windows

from helpers.model_server import Call, ModelServer, Reply
from helpers.samples import copy_sample
from reverie.errors import UserError
from reverie.services.traces import TraceService
from reverie.ui.dialogs import ConsentDialog
from reverie.ui.screenshot import finish_layouts
from reverie.ui.traces.replay import ReplayDialog
from reverie.ui.traces.steps import SPAN, StepPosition
from reverie.ui.traces.tab import TracesTab
from reverie.ui.transcripts.text import ReaderText, headed
from reverie.ui.widgets.controls import WrapLabel

DUMPS = f"debug_obj/{ACME}/system1_memory_writer"
NEWEST, TIMED_OUT, FAILED = "1786637112345", "1786528692345", "1786527072345"
LABELLED = Path(__file__).parents[1] / "labelled" / "traces"


def opened(windows: Windows, home: Path) -> tuple[Driver, TracesTab]:
    """A window with the tab shown and the newest trace in it."""
    driver = windows.open(home)
    driver.do("view.traces")
    tab = driver.traces
    driver.until(lambda: tab.is_settled and len(tab.list.shown) == 3)
    return driver, tab


def choose(driver: Driver, tab: TracesTab, beginning: str) -> None:
    wanted = next(line.row.id for line in tab.list.shown if line.row.id.startswith(beginning))
    assert tab.list.select_id(wanted)
    driver.until(lambda: tab.is_settled and tab.detail.shown.detail.row.id == wanted)


def verdicts(tab: TracesTab) -> list[str]:
    return [line.row.verdict for line in tab.list.shown]


def test_nothing_is_read_before_the_tab_is_looked_at(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert not driver.traces.feed.lines
    driver.do("view.traces")
    driver.until(lambda: driver.traces.is_settled and bool(driver.traces.feed.lines))
    assert driver.window.tabs.currentWidget() is driver.traces


def test_each_trace_shows_its_verdict_and_the_step_that_shows_it(windows: Windows, home: Path) -> None:
    driver, tab = opened(windows, home)
    assert verdicts(tab) == ["provider-error", "timed-out", "tool-failed"]
    assert "overloaded_error" in tab.detail.verdict.text
    choose(driver, tab, TIMED_OUT)
    assert tab.detail.verdict.text.startswith("Timed out. The run timed out after 10 s, in attempt 1, step 1")
    choose(driver, tab, FAILED)
    assert tab.detail.verdict.text.startswith("Tool failed. memory_write failed in attempt 1, step 1")
    item = tab.detail.steps.tree.currentItem()
    assert item is not None
    assert item.text(0) == "memory_write"
    assert "old_string not found" in tab.detail.steps.text.toPlainText()
    span = item.data(1, SPAN)
    assert (span.kind, span.label, span.failed) == ("call", "memory_write", True)


def test_the_list_follows_the_home_and_project_selected_at_the_left(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver, tab = opened(windows, home)
    assert "409 retry loop" in tab.detail.facts.text(), "the name that the list at the left has"
    assert not tab.list.model.several, "each row is of the workspace that the box names"
    picker, mux = driver.window.picker, driver.session.info.id
    box = tab.list.place
    assert [box.itemText(row) for row in range(box.count())] == [
        "409 retry loop",
        "All workspaces",
        "All homes",
    ]
    driver.choose(INGEST)
    driver.until(lambda: tab.is_settled and not tab.list.shown)
    box.setCurrentIndex(box.findData("home"))
    driver.until(lambda: tab.is_settled and len(tab.list.shown) == 3)
    looks = [tab.list.model.look(line) for line in tab.list.shown]
    assert all(look.below.startswith("409 retry loop · ") for look in looks)
    box.setCurrentIndex(0)

    assert picker.pick_project(mux, "/home/dev/projects/pixel-garden")
    assert (box.currentText(), verdicts(tab)) == ("pixel-garden", [])
    assert tab.nothing.text() == "No traces for pixel-garden yet."
    picker.pick_home(mux)
    assert len(tab.list.shown) == 3

    loki = copy_sample("loki-project", tmp_path) / ".loki"
    driver.window.homes.open(loki)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    picker.pick_home(driver.window.homes.sessions[1].info.id)
    driver.until(lambda: tab.is_settled)
    for data in ("selected", "home"):
        box.setCurrentIndex(box.findData(data))
        assert verdicts(tab) == [], "a home that has none shows none of another home"
    box.setCurrentIndex(box.findData("all"))
    assert len(tab.list.shown) == 3
    driver.until(lambda: tab.is_settled and "409 retry loop" in tab.detail.facts.text())
    tab.list.text.setText("nowhere")
    assert tab.nothing.text() == "No matching traces."
    tab.list.text.clear()
    driver.until(lambda: tab.is_settled and "409 retry loop" in tab.detail.facts.text())
    picker.pick_home(mux)
    assert box.currentData() == "all", "an explicit choice stays"


class Squeezed(QObject):
    """Notes each label that is painted although it is lower than its text."""

    def __init__(self) -> None:
        super().__init__()
        self.painted: list[str] = []
        self.squeezed: list[str] = []

    def eventFilter(self, label: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(label, WrapLabel):
            self.painted.append(label.text())
            needed = label.heightForWidth(label.width())
            if label.height() < needed:
                self.squeezed.append(f"{label.height()} of {needed} px: {label.text()}")
        return False


def test_no_frame_shows_a_trace_squeezed_into_the_height_of_what_was_there(
    windows: Windows, home: Path
) -> None:
    driver, tab = opened(windows, home)
    driver.window.resize(360, 480)
    shown = tab.detail.shown
    assert shown is not None
    tab.detail.clear()
    finish_layouts()
    tab.area.verticalScrollBar().setValue(tab.detail.mapTo(tab.area.widget(), QPoint()).y())
    frames = Squeezed()
    QApplication.instance().installEventFilter(frames)
    try:
        tab.detail.show_trace(shown)
        finish_layouts()
    finally:
        QApplication.instance().removeEventFilter(frames)
    assert tab.detail.verdict.text in frames.painted
    assert frames.squeezed == []


def test_the_list_is_live_keeps_the_selection_and_holds_own_runs_too(windows: Windows, home: Path) -> None:
    driver, tab = opened(windows, home)
    choose(driver, tab, FAILED)
    shutil.copy(LABELLED / "13-later-no-tool-support.json", home / DUMPS / "1786999999999_new.json")
    driver.until(lambda: len(tab.list.shown) == 4)
    driver.until(lambda: "no-tool-support" in verdicts(tab) and tab.is_settled)
    assert [line.row.id[:13] for line in tab.list.selected] == [FAILED]
    (home / DUMPS / "1786999999999_new.json").unlink()
    driver.until(lambda: len(tab.list.shown) == 3)
    traces_of_own_runs_are_listed_too(driver, tab)


def test_the_first_dump_of_a_home_is_seen_as_well(windows: Windows, home: Path) -> None:
    kept = home.parent / "kept.json"
    shutil.copy(next((home / DUMPS).glob(f"{NEWEST}*")), kept)
    shutil.rmtree(home / "debug_obj")
    driver = windows.open(home)
    driver.do("view.traces")
    tab = driver.traces
    driver.until(lambda: tab.is_settled)
    assert tab.pages.currentWidget() is tab.empty
    (home / DUMPS).mkdir(parents=True)
    shutil.copy(kept, home / DUMPS / "1786637112345_x.json")
    driver.until(lambda: tab.is_settled and len(tab.list.shown) == 1)
    assert tab.pages.currentWidget() is tab.splitter


def traces_of_own_runs_are_listed_too(driver: Driver, tab: TracesTab) -> None:
    document = json.loads((LABELLED / "25-own-dream-wrote.json").read_text())
    driver.served.parts.traces.save("1786600000000-0a1b2c3d", document)
    driver.until(lambda: len(tab.list.shown) == 4)
    choose(driver, tab, "1786600000000")
    assert tab.detail.verdict.text.startswith("Wrote.")


def test_what_is_listed_is_exported_compared_narrowed_down_and_sorted(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver, tab = opened(windows, home)
    a_trace_is_copied_and_exported(driver, tab, tmp_path)
    two_selected_traces_are_compared(driver, tab)
    the_list_can_be_narrowed_down_and_sorted(tab)


def the_list_can_be_narrowed_down_and_sorted(tab: TracesTab) -> None:
    tab.list.text.setText("OVERLOADED")
    assert verdicts(tab) == ["provider-error"]
    tab.list.text.setText("nowhere")
    assert verdicts(tab) == []
    tab.list.text.clear()
    tab.list.verdict.setCurrentIndex(tab.list.verdict.findData("timed-out"))
    assert verdicts(tab) == ["timed-out"]
    tab.list.verdict.setCurrentIndex(tab.list.verdict.findData("failed"))
    tab.list.kind.setCurrentIndex(tab.list.kind.findData("dream"))
    assert verdicts(tab) == []
    tab.list.kind.setCurrentIndex(0)
    times = [line.row.started_at for line in tab.list.shown]
    assert times == sorted(times, reverse=True), "newest first"
    tab.list.order.setCurrentIndex(tab.list.order.findData("tokens"))
    assert verdicts(tab)[0] == "tool-failed"
    tab.list.order.setCurrentIndex(tab.list.order.findData("longest"))
    assert verdicts(tab)[0] == "timed-out"
    tab.list.order.setCurrentIndex(0)
    assert [line.row.started_at for line in tab.list.shown] == times


def test_a_trace_is_seen_from_every_side(windows: Windows, home: Path, qtbot: Any) -> None:
    driver, tab = opened(windows, home)
    choose(driver, tab, FAILED)
    the_memory_stands_against_what_was_tried(tab)
    the_messages_are_in_order_and_the_long_ones_folded(tab)
    the_steps_go_with_the_arrow_keys_and_have_their_times(tab, qtbot)
    the_tree_and_the_flat_view_hold_the_same_steps(tab)
    the_transcript_opens_at_the_message_that_triggered_the_run(driver, tab)
    a_search_finds_names_and_escaped_text(driver, tab)
    the_raw_document_opens_piece_by_piece_and_is_searched(driver, tab)


def test_a_part_of_the_raw_document_that_could_not_be_read_is_asked_for_again(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, tab = opened(windows, home)
    choose(driver, tab, FAILED)
    raw, said = tab.detail.raw, []
    tab.status_message.connect(said.append)
    read, failed = TraceService.document_page, []

    @wraps(read)  # a call goes to the engine by its signature
    def page(self: Any, **named: Any) -> Any:
        if not failed:
            failed.append(named)
            raise UserError("The disk is full.")
        return read(self, **named)

    monkeypatch.setattr(TraceService, "document_page", page)
    tab.detail.pages.setCurrentWidget(raw)
    driver.until(lambda: "The disk is full." in said)

    def is_read() -> bool:
        raw.model.fetchMore(QModelIndex())
        return raw.model.rowCount(QModelIndex()) > 10

    driver.until(is_read)


def the_tree_and_the_flat_view_hold_the_same_steps(tab: TracesTab) -> None:
    steps = tab.detail.steps
    tree = [item.data(0, Qt.ItemDataRole.UserRole) for item in steps.tree.items()]
    steps.flat.setChecked(True)
    flat = [item.data(0, Qt.ItemDataRole.UserRole) for item in steps.tree.items()]
    assert [place for place in tree if place.step] == flat
    assert steps.tree.topLevelItemCount() == len(flat) == 4
    assert steps.pick(StepPosition(2, 1))
    assert "I would add the 409 rule" in steps.text.toPlainText()


def the_steps_go_with_the_arrow_keys_and_have_their_times(tab: TracesTab, qtbot: Any) -> None:
    tree = tab.detail.steps.tree
    tree.setCurrentItem(tree.topLevelItem(0))
    while (item := tree.currentItem()).data(0, Qt.ItemDataRole.UserRole).attempt == 1:
        qtbot.keyClick(tree, Qt.Key.Key_Down)
        assert tree.currentItem() is not item
    assert item.text(0) == "Attempt 2"
    assert tab.detail.steps.text.toPlainText()
    spans = [each.data(1, SPAN) for each in tree.items()]
    assert all(span is not None and 0 <= span.start <= span.end <= tree.scale for span in spans)
    assert item.text(1), "the duration is also there as text"
    assert re.search(r"Attempt 2: started \S.* into the run, took ", item.toolTip(1))


def the_memory_stands_against_what_was_tried(tab: TracesTab) -> None:
    shown = tab.detail.memory.missed.toPlainText()
    assert "memory_write: old_string not found in file." in shown
    wanted, found = (
        shown.index("Text that the model wanted to replace"),
        shown.index("Similar text in the memory"),
    )
    assert wanted < shown.index("- Postgres 16 in production.") < found
    assert found < shown.index("- Postgres 13 in production.")
    assert "- Never retry 409 automatically." in shown
    assert tab.detail.memory.diff.isHidden(), "nothing of it fits the memory"


def the_messages_are_in_order_and_the_long_ones_folded(tab: TracesTab) -> None:
    text, detail = tab.detail.messages.text, tab.detail.shown.detail
    headings = [message.heading.split(" · ")[0] for message in text.messages]
    assert headings[0] == "System prompt"
    assert "Attempt 1, the model's response" in headings
    prompt = text.messages[0]
    assert prompt.text == detail.texts["systemPrompt"]
    assert text.is_unfolded(prompt) == (not prompt.is_long)
    assert all(message.heading in text.content for message in text.messages)


def the_raw_document_opens_piece_by_piece_and_is_searched(driver: Driver, tab: TracesTab) -> None:
    raw = tab.detail.raw
    tab.detail.pages.setCurrentWidget(raw)
    driver.until(lambda: raw.model.rowCount(QModelIndex()) > 10)
    names = [raw.model.index(row, 0).data() for row in range(raw.model.rowCount(QModelIndex()))]
    assert names[0] == "schemaVersion"
    assert "attempts" in names
    raw.needle.setText("rate_LIMITED")
    raw.needle.returnPressed.emit()
    driver.until(lambda: bool(raw.hits))
    assert [str(node.key) for node in raw.hits[0].path[1:3]] == ["events", "1"]
    raw.list.setCurrentRow(0)
    driver.until(lambda: "rate_limited" in raw.value.toPlainText())
    raw.copy.click()
    assert "rate_limited" in QGuiApplication.clipboard().text()


def a_search_finds_names_and_escaped_text(driver: Driver, tab: TracesTab) -> None:
    shown = str(tab.detail.shown.detail.row.path)
    for needle, first in (("memoryPath", "memoryPath"), ("日本語", "events"), ('"historySeq', "userMessage")):
        hits = driver.served.traces.search_document(shown, needle)
        assert hits, needle
        assert str(hits[0].path[1].key) == first


def the_transcript_opens_at_the_message_that_triggered_the_run(driver: Driver, tab: TracesTab) -> None:
    tab.detail.buttons["transcript"].click()
    dialog = tab.transcript
    assert dialog is not None
    driver.until(lambda: dialog.is_read)
    assert "triggered by this message" in dialog.title.text()
    text = dialog.view.text
    assert text.message(text.current()).id == tab.detail.shown.detail.facts.trigger_message_id
    dialog.close()


def a_trace_is_copied_and_exported(driver: Driver, tab: TracesTab, tmp_path: Path) -> None:
    tab.detail.buttons["copy"].click()
    assert "overloaded_error" in QGuiApplication.clipboard().text()
    target = tmp_path / "exported.json"
    tab.export_to(target)
    driver.until(lambda: target.exists() and not tab.feed.busy)
    assert target.read_bytes() == tab.detail.shown.detail.row.path.read_bytes()


def two_selected_traces_are_compared(driver: Driver, tab: TracesTab) -> None:
    assert not tab.detail.buttons["compare"].isEnabled()
    tab.list.select(0)
    tab.list.select(2, also=True)
    assert tab.detail.buttons["compare"].isEnabled()
    tab.detail.buttons["compare"].click()
    compare = tab.compare
    assert compare is not None
    driver.until(lambda: compare.is_read)
    assert compare.two.table.item(0, 0).text() == "Tool failed"
    assert compare.two.table.item(0, 1).text() == "Provider error"
    scales = {steps.scale for steps in compare.two.steps}
    assert scales == {10_000}, "one scale, as long as the time limit"
    driver.until(lambda: compare.two.diff.is_filled)
    assert "+attempt 1, error: overloaded_error" in compare.two.diff.toPlainText()
    compare.close()


def asked_again(windows: Windows, home: Path, server: ModelServer) -> tuple[Driver, TracesTab, ReplayDialog]:
    """The replay of the trace whose write failed, with the server's model chosen."""
    windows.settings(server.settings_toml("test"))
    driver, tab = opened(windows, home)
    choose(driver, tab, FAILED)
    tab.detail.buttons["replay"].click()
    dialog = tab.replay
    assert dialog is not None
    dialog.model.setEditText("test:test-model")
    return driver, tab, dialog


def test_a_replay_stands_beside_the_original(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "nobodys")
    old = "- Postgres 13 in production."
    call = Call("memory_write", {"old_string": old, "new_string": f"{old}\n- Never retry 409."})
    with ModelServer([Reply(calls=(call,)), Reply(text="Saved.")]) as server:
        driver, _tab, dialog = asked_again(windows, home, server)
        dialog.system.setPlainText("Another prompt.")
        dialog.run_button.click()
        driver.until(lambda: dialog.replayed is not None)
        assert "Another prompt." in server.sent
    assert dialog.message.text.startswith("Wrote.")
    assert [dialog.two.table.item(0, side).text() for side in (0, 1)] == ["Tool failed", "Wrote"]
    driver.until(lambda: dialog.two.diff.is_filled)
    assert "+Another prompt." in dialog.two.diff.toPlainText()
    dialog.close()


def test_a_replay_can_be_cancelled_and_refused(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "nobodys")
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        driver, tab, dialog = asked_again(windows, home, server)
        dialog.run_button.click()
        driver.until(lambda: len(server.requests) == 1)
        dialog.cancel_button.click()
        assert not dialog.running
        assert dialog.message.text == "Cancelled."
        server.wait_for_hang_up()
        desk = driver.served.models
        monkeypatch.setattr(desk, "_destination", lambda _engine: "https://model.example")
        monkeypatch.setattr(ConsentDialog, "ask", lambda *_arguments: False)
        driver.until(lambda: not tab.feed.busy)
        dialog.run_button.click()
        driver.until(lambda: not dialog.running)
        assert "Nothing was sent." in dialog.message.text
        assert len(server.requests) == 1
    dialog.close()


def test_a_damaged_trace_opens_as_far_as_it_can_be_read(windows: Windows, home: Path) -> None:
    driver, tab = opened(windows, home)
    names = ("31-damaged-cut-in-events", "35-damaged-binary", "36-damaged-nested-too-deep")
    for name in names:
        shutil.copy(LABELLED / f"{name}.json", home / DUMPS / f"17869999999{name[:2]}_x.json")
    driver.until(lambda: len(tab.list.shown) == 3 + len(names))
    for name in names:
        choose(driver, tab, f"17869999999{name[:2]}")
        assert tab.detail.verdict.text.startswith("Damaged trace."), name


def test_long_texts_are_folded(qtbot: Any) -> None:
    text = ReaderText("Messages")
    qtbot.addWidget(text)
    long, short = headed(0, "assistant", "model", "line\n" * 500), headed(1, "assistant", "model", "one line")
    text.show_messages([long, short])
    assert long.is_long
    assert text.content.splitlines()[0].endswith("…")
    text.toggle(0)
    assert text.content.count("line\n") == 501
    assert not short.is_long
    assert text.content.endswith("model · 8 characters\none line\n")


def test_what_a_trace_says_is_shown_and_not_obeyed(windows: Windows, home: Path) -> None:
    path = next((home / DUMPS).glob(f"{NEWEST}*"))
    path.chmod(0o600)
    path.write_text(path.read_text().replace("overloaded_error", "<b>over</b>\\u202eloaded"))
    _driver, tab = opened(windows, home)
    assert "<b>over</b>\\u202eloaded" in tab.detail.verdict.text


def test_that_there_are_no_traces_is_said_once_they_were_read(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    traces = driver.traces
    assert traces.empty.title.text() == "Reading traces…"
    driver.window.lazy_tabs.show_traces()
    driver.until(lambda: traces.is_settled)
    assert traces.empty.title.text() == "No traces yet"
