"""Transcripts to read: the viewer on its own, the list of them, and both in a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from ui_windows import ACME

from helpers.audit import problems
from helpers.claude_transcripts import Chat
from helpers.rollouts import Line, event, meta, result, said, shell, write_rollout
from reverie.agents.base import TranscriptSource
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.codex.messages import CodexReadable
from reverie.agents.mux.transcript import MuxTranscript
from reverie.agents.transcript_pages import is_prompt
from reverie.agents.transcripts import Message, ReadStatistics, ToolUse
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.services.traces import TranscriptService
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.transcripts import reader as view_module
from reverie.ui.transcripts.reader import ReadingStart, TranscriptView
from reverie.ui.transcripts.text import ReaderText

THREAD = "0198a1b2-c3d4-7e5f-8a9b-000000000001"


class Rollouts:
    """Opens any file as a rollout."""

    def open_source(self, source: TranscriptSource) -> CodexReadable:
        return CodexReadable(source.path)


class Viewer:
    """A viewer on a rollout in a file."""

    def __init__(self, qtbot: Any, lane: Lane, file: Path) -> None:
        self.qtbot = qtbot
        self.file = file
        self.service = TranscriptService(SimpleNamespace(home=SimpleNamespace(transcripts=Rollouts())))
        self.view = TranscriptView(lane, Icons())
        qtbot.addWidget(self.view)
        self.view.resize(700, 500)
        self.view.show()

    def open(self, start: ReadingStart | None = None) -> ReaderText:
        source = TranscriptSource(THREAD, "rollout", self.file)
        self.view.open(self.service, source, start or ReadingStart())
        self.until(lambda: self.view.is_read)
        return self.view.text

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.qtbot.keyClick(self.view.text, key, modifier)
        self.until(lambda: self.view.is_read)


@pytest.fixture
def viewer(qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    monkeypatch.setattr(view_module, "ASK_MS", 40)
    holder = QWidget()
    qtbot.addWidget(holder)
    lane = Lane("test transcripts", holder)
    yield Viewer(qtbot, lane, tmp_path / f"rollout-2026-08-06T10-00-00-{THREAD}.jsonl")
    lane.stop()


def story() -> list[Line | str]:
    return [
        meta(THREAD, "/projects/demo"),
        said("user", "<environment_context>secret place</environment_context>"),
        said("user", "Fix the build", 1),
        *shell("a", "make test", "1 failed", 2, 2),
        said("assistant", "I look at it.\n\nThen I mend it.", 4, phase="commentary"),
        said("user", "Never mind that", 5),
        said("assistant", "As you like.", 6),
        event("thread_rolled_back", 7, num_turns=1),
        "{broken\n",
        '{"timestamp": "2026-08-06T10:00:00.000Z", "type": "brand_new", "payload": {}}\n',
        said("user", "Thanks", 8),
    ]


def test_turns_are_read_as_they_were_said_with_the_rest_folded(viewer: Viewer) -> None:
    write_rollout(viewer.file, story())
    text = viewer.open()
    shown = text.toPlainText()
    assert "Then I mend it." in shown
    assert "▸ Added by the agent" in shown
    assert "▸ Tool · failed · shell make test" in shown
    assert "1 failed" not in shown
    assert "▸ You · undone · " in shown
    assert "1 broken line" in viewer.view.facts.text()
    assert "1 line of an unknown type" in viewer.view.facts.text()
    tool = next(message.number for message in text.messages if message.tool is not None)
    text.go_to(tool)
    viewer.press(Qt.Key.Key_Return)
    assert "1 failed" in text.toPlainText()
    assert text.current() == tool
    viewer.press(Qt.Key.Key_Space)
    assert text.toPlainText() == shown
    viewer.view.bar.unfold.setChecked(True)
    assert "secret place" in text.toPlainText()
    viewer.view.bar.unfold.setChecked(False)
    assert text.toPlainText() == shown
    viewer.press(Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert problems(viewer.view) == []
    viewer.view.resize(340, 480)
    assert problems(viewer.view) == []


def test_prompts_are_walked_through(viewer: Viewer) -> None:
    write_rollout(viewer.file, story())
    text = viewer.open()
    walked = []
    for _ in range(4):
        viewer.press(Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
        walked.append(text.message(text.current()).text)
    assert walked == ["Fix the build", "Never mind that", "Thanks", "Fix the build"]
    viewer.press(Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
    assert text.message(text.current()).text == "Thanks"


def long_story(count: int) -> list[Line | str]:
    lines: list[Line | str] = [meta(THREAD, "/projects/demo")]
    for number in range(count):
        lines.append(said("user", f"Question {number}", number))
        lines.append(said("assistant", f"Answer {number}\n" * 3, number))
    return lines


def test_a_long_transcript_is_read_page_by_page_and_lets_go_of_what_is_far(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "MOST_MESSAGES", 300)
    write_rollout(viewer.file, long_story(400))
    text = viewer.open()
    assert (text.first, text.end) == (0, 120)
    assert "so far" in viewer.view.facts.text()
    bar = text.verticalScrollBar()
    while "so far" in viewer.view.facts.text():
        bar.setValue(bar.maximum())
        viewer.until(lambda: viewer.view.is_read)
        assert len(text.messages) <= 300
    numbers = [message.number for message in text.messages]
    assert numbers == list(range(numbers[0], 800))
    assert text.document().lastBlock().userState() == 799
    while text.first:
        top = text.firstVisibleBlock().userState()
        bar.setValue(1)
        bar.setValue(0)
        viewer.until(lambda: viewer.view.is_read)
        assert text.firstVisibleBlock().userState() <= top
    assert [message.number for message in text.messages][:3] == [0, 1, 2]
    assert text.toPlainText().startswith("You")
    assert_whole(text)


def assert_whole(text: ReaderText) -> None:
    """What is in the document is what the messages say, one after the other."""
    fresh = ReaderText("Transcript")
    fresh.show_messages(text.messages)
    assert text.toPlainText() == fresh.toPlainText()
    block, states = text.document().firstBlock(), []
    while block.isValid():
        states.append(block.userState())
        block = block.next()
    assert states == sorted(states)
    assert set(states) == {message.number for message in text.messages}
    fresh.deleteLater()


def test_a_search_goes_through_what_is_not_shown_yet(viewer: Viewer) -> None:
    lines = long_story(300)
    lines += shell("x", "make deploy", "needle in the output", 0, 900)
    write_rollout(viewer.file, lines)
    text = viewer.open()
    viewer.view.search.setText("NEEDLE IN")
    viewer.view.finding.find_next()
    viewer.until(lambda: viewer.view.is_read)
    tool = text.message(text.current())
    assert tool.tool is not None
    assert text.textCursor().selectedText() == "needle in"
    viewer.view.search.setText("question 7")
    viewer.view.finding.find_next()
    viewer.until(lambda: viewer.view.is_read)
    assert text.message(text.current()).text == "Question 7"
    assert "from the beginning" in viewer.view.found.text()
    viewer.press(Qt.Key.Key_F3)
    assert text.message(text.current()).text == "Question 70"
    viewer.qtbot.keyClick(text, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    viewer.until(lambda: viewer.view.is_read)
    assert text.message(text.current()).text == "Question 7"
    viewer.view.search.setText("nobody said this")
    viewer.view.finding.find_next()
    viewer.until(lambda: viewer.view.is_read)
    assert viewer.view.found.text() == "Not found."
    assert_whole_jump(viewer)


def assert_whole_jump(viewer: Viewer) -> None:
    viewer.press(Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert "so far" not in viewer.view.facts.text()
    assert viewer.view.text.at_bottom
    viewer.press(Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert viewer.view.text.current() == 0


def test_a_transcript_that_grows_is_followed(viewer: Viewer) -> None:
    lines = story()
    write_rollout(viewer.file, lines)
    text = viewer.open(ReadingStart(at_end=True))
    text.go_to_end()
    lines += [shell("b", "make", "fine", 0, 9)[0]]
    write_rollout(viewer.file, lines)
    viewer.until(lambda: "Tool · no result" in text.toPlainText())
    assert text.at_bottom
    lines += [result("b", "fine", 10), said("assistant", "Done.", 11)]
    write_rollout(viewer.file, lines)
    viewer.until(lambda: "Done." in text.toPlainText())
    assert "no result" not in text.toPlainText()
    assert_whole(text)
    lines.append(event("thread_rolled_back", 12, num_turns=1))
    write_rollout(viewer.file, lines)
    viewer.until(lambda: text.message(text.end - 2).undone)
    assert_whole(text)


def test_an_error_of_following_goes_when_the_transcript_can_be_read_again(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rollout(viewer.file, story())
    viewer.open()

    def growth(*_arguments: Any, **_named: Any) -> Any:
        raise UserError("The disk is away.")

    monkeypatch.setattr(viewer.service, "growth", growth)
    viewer.until(lambda: viewer.view.message.text == "The disk is away.")
    monkeypatch.undo()
    viewer.until(lambda: viewer.view.message.isHidden())


def test_a_transcript_that_is_gone_is_empty_and_comes_back(viewer: Viewer) -> None:
    text = viewer.open()
    assert not text.messages
    assert "0 entries" in viewer.view.facts.text()
    write_rollout(viewer.file, story())
    viewer.until(lambda: bool(text.messages))
    viewer.view.open(viewer.service, ask(lambda: None))
    viewer.until(lambda: viewer.view.is_read)
    assert viewer.view.message.text == "No transcript found."


def test_a_message_is_shown_by_its_own_id(viewer: Viewer) -> None:
    lines = long_story(200)
    lines.append(said("assistant", "Here", 999, id="msg_7"))
    write_rollout(viewer.file, lines)
    text = viewer.open(ReadingStart("msg_7"))
    assert text.message(text.current()).text == "Here"
    lines[-3:-1] = [said("assistant", "x" * 190_000, 999)]  # too long to stand on one page with it
    write_rollout(viewer.file, lines)
    text = viewer.open(ReadingStart("msg_7"))
    assert text.message(text.current()).text == "Here"
    viewer.open(ReadingStart("msg_8"))
    assert text.first == 0


def test_what_a_transcript_says_is_plain_text_and_hides_nothing(qtbot: Any) -> None:
    text = ReaderText("Transcript")
    qtbot.addWidget(text)
    call = ToolUse("<b>x</b>", "a\u202eb", "y" * 9_000)
    text.show_messages(
        [
            Message(0, "assistant", "message", "<img src=x>\n\x1b[31mred"),
            Message(1, "tool", "tool", "", tool=call),
        ]
    )
    text.unfold(1)
    shown = text.toPlainText()
    assert "<img src=x>\n\\x1b[31mred" in shown
    assert "a\\u202eb" in shown
    assert max(map(len, shown.split("\n"))) <= 4_000


def test_sessions_of_claude_and_mux_are_read_alike(qtbot: Any, tmp_path: Path, home: Path) -> None:
    chat = Chat()
    for number in range(3):
        chat.turn(f"Question {number}", f"Answer {number}", tokens=1_000, tools=2)
    claude = chat.write(tmp_path / "session.jsonl")
    sessions = [ClaudeReadable(claude), MuxTranscript(home / "sessions" / ACME)]
    for readable in sessions:
        messages = list(readable.messages(ReadStatistics()))
        assert [message.number for message in messages] == list(range(len(messages)))
        text = ReaderText("Transcript")
        qtbot.addWidget(text)
        text.show_messages(messages)
        heads = text.toPlainText().split("\n")
        assert sum(line.startswith("You") for line in heads) == sum(map(is_prompt, messages)) > 1
        assert any(line.startswith("▸ Tool · done") for line in heads)


def test_the_memory_that_an_answer_used_is_listed_below_it(viewer: Viewer) -> None:
    cited = (
        "You like tabs.<oai-mem-citation>\n<citation_entries>\nMEMORY.md:3-5|note=[likes tabs]\n"
        "a.md:7-7\n</citation_entries>\n<rollout_ids>\n" + THREAD + "\n</rollout_ids></oai-mem-citation>"
    )
    write_rollout(viewer.file, [meta(THREAD, "/p"), said("user", "Tabs?"), said("assistant", cited)])
    shown = viewer.open().toPlainText()
    assert "You like tabs.\nMemory used:\n• MEMORY.md, lines 3 to 5: likes tabs\n• a.md, line 7\n" in shown
    assert f"• earlier session {THREAD}" in shown
    assert "oai-mem-citation" not in shown
