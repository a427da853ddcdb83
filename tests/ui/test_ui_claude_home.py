"""A home of Claude Code in a window, as its user finds it: sessions by title, their conversation, what they
loaded."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ui_windows import Driver, Windows

from helpers.audit import problems
from helpers.claude_home import ClaudeHomeMaker, session_id, topic
from helpers.samples import copy_sample, snapshot
from reverie.services.views import HomeInfo
from reverie.ui.window.picker import Place


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    return copy_sample("claude-home", tmp_path)


def rows(driver: Driver) -> dict[str, list[Place]]:
    """The workspaces of the sidebar by project."""
    found: dict[str, list[Place]] = {}
    project = ""
    picker = driver.window.picker
    for index in picker.places.walk():
        place = picker.place(index)
        if place is not None and place.kind == "project":
            project = place.title
        elif place is not None and place.kind == "workspace":
            found.setdefault(project, []).append(place)
    return found


def test_titles_are_shown_however_often_the_list_changes_while_they_are_read(
    windows: Windows, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.begin(claude, "", watching=False)
    driver.until(lambda: driver.window.session is not None)
    session, learned, asked = driver.session, threading.Event(), threading.Event()
    learn = driver.served.learn_titles

    def learn_and_wait(most: int, _project: str | None) -> tuple[bool, HomeInfo | None]:
        found = learn(most, None)
        learned.set()
        assert asked.wait(30)
        return found

    monkeypatch.setattr(session.workbench, "learn_titles", learn_and_wait)
    driver.until(learned.is_set)
    session._read_titles("")
    asked.set()
    driver.settle()
    driver.until(lambda: min(len(each.title) for one in rows(driver).values() for each in one) > 8)


def test_sessions_have_titles_and_times_a_conversation_and_what_they_loaded(
    windows: Windows, claude: Path
) -> None:
    before = snapshot(claude)
    driver = windows.open(claude, "")
    driver.until(lambda: all(len(each.title) > 8 for one in rows(driver).values() for each in one))
    picked = driver.window.picker.place(driver.window.picker.currentIndex())
    assert picked is not None
    assert driver.tab.heading.title.text() == picked.title, "its title came after it was selected"
    shown = rows(driver)
    assert {name: len(found) for name, found in shown.items()} == {
        "a-b": 1, "a.b": 1, "lamp": 2, "lighthouse": 4,
    }  # fmt: skip
    assert {each.title for each in shown["lamp"]} == {"Remember the wicks", "How long burns wick 2?"}
    (bed,) = (each for each in shown["lighthouse"] if each.title == "How wide is the bed?")
    assert bed.below.startswith("20"), "the time tells sessions of one title apart"

    driver.choose(bed.workspace_id)
    assert "How wide is the bed?" in driver.tab.heading.title.text()
    assert driver.window.windowTitle().startswith("How wide is the bed?")
    driver.do("view.transcripts")
    tab = driver.window.lazy_tabs.transcripts
    driver.until(lambda: tab.is_settled)
    assert tab.list.select_id(bed.workspace_id)
    tab.show_source(bed.workspace_id)
    driver.until(lambda: tab.is_settled)
    text = tab.view.text.toPlainText()
    assert "The bed is narrow." in text
    assert "Setup of the agent" in text
    assert "\x1b" not in text
    assert "unknown type" not in tab.view.message.text

    driver.do("view.context")
    context = driver.window.lazy_tabs.context
    driver.until(lambda: context.view is not None and context.view.part("recorded") is not None)
    context.bar.setCurrentIndex([part.key for part in context.view.parts].index("recorded"))
    assert "make lamp all" in context.text.toPlainText()
    assert "Taken from the session's transcript" in context.note.text()
    driver.settle()
    assert problems(driver.window) == []
    assert snapshot(claude) == before


def test_signs_filter_and_inspector_say_how_much_of_each_file_is_loaded(
    windows: Windows, tmp_path: Path
) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    project = maker.repository("demo")
    (project / "CLAUDE.md").write_text("root\n")
    maker.session(project, 1)
    maker.memory(project, {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a"), "b.md": topic("b")})
    driver = windows.open(maker.root, session_id(1))
    model = driver.tab.model
    memory = "/memories/project"
    driver.until(lambda: model.loaded_at(f"{memory}/a.md") == "line")
    assert model.loaded_at(f"{memory}/MEMORY.md") == model.loaded_at(str(project / "CLAUDE.md")) == "full"
    assert model.loaded_at(f"{memory}/b.md") == "needed"
    driver.tab.chips.chips["loaded"].click()
    driver.until(lambda: not model.index_at(f"{memory}/a.md").isValid())
    shown = {str(model.data(index)) for index in model.walk()}
    assert {"MEMORY.md", "CLAUDE.md"} <= shown
    assert not {"a.md", "b.md"} & shown
    driver.tab.chips.chips["all"].click()
    driver.until(lambda: model.index_at(f"{memory}/a.md").isValid())
    driver.open(f"{memory}/a.md")
    driver.tab.inspector.toggle()
    driver.until(lambda: "line in the index" in driver.tab.inspector.inspector.about.lines[0].text())


def test_a_pin_shows_at_once_and_says_what_it_is_for(windows: Windows, tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    project = maker.repository("demo")
    maker.session(project, 1)
    maker.memory(project, {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a")})
    driver = windows.open(maker.root, session_id(1))
    path = "/memories/project/a.md"
    driver.open(path)
    driver.tab.inspector.toggle()
    driver.do("memory.pin")
    driver.until(lambda: driver.file(path).file.usage.pinned)
    assert "The agent itself does not use pins." in driver.tab.undo_bar.text
    about = driver.tab.inspector.inspector.about
    driver.until(lambda: any("does not use pins" in line.text() for line in about.lines))
