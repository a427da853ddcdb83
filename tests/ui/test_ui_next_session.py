"""The sentence under the title: what the next session of the agent loads."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QToolButton
from ui_windows import Windows

from reverie.agents.base import LoadState
from reverie.ui.memory.filters import next_session_words


def test_the_sentence_counts_memories_by_how_much_is_loaded_and_files_beside_them() -> None:
    states: dict[str, LoadState] = {
        "/memories/project/a.md": "full",
        "/memories/project/b.md": "part",
        "/memories/project/c.md": "line",
        "/memories/global/d.md": "listed",
        "/memories/global/e.md": "listed",
        "/memories/global/f.md": "needed",
        "/home/ada/CLAUDE.md": "full",
        "/home/ada/rules.md": "needed",
    }
    assert next_session_words(states, 1_421) == (
        "Next session: 1,421 tokens · 1 in full, 1 in part, 1 by index line, 2 by name, 1 instruction file"
    )


@pytest.mark.parametrize("state", ["needed", None])
def test_a_session_that_loads_nothing_is_said_to(state: LoadState | None) -> None:
    states = {} if state is None else {"/memories/project/a.md": state}
    assert next_session_words(states, 0) == "Next session: no memories are loaded"


def test_the_window_says_it_and_follows_a_new_memory(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    action = driver.window.actions_["view.context"]
    driver.until(lambda: action.iconText().startswith("Next session: "))
    before = action.iconText()
    buttons = [
        each for each in driver.tab.heading.findChildren(QToolButton) if each.defaultAction() is action
    ]
    assert [each.accessibleName() for each in buttons] == [before]
    assert before in buttons[0].toolTip(), "also where there is no room for all of it"
    (home / "memory/global/new.md").write_text("---\ndescription: A new memory.\n---\nText.\n")
    driver.until(lambda: action.iconText() not in ("", before))
    driver.settle()
    states = driver.tab.filters._loaded
    assert states is not None
    listed = sum(state == "listed" and path.startswith("/memories/") for path, state in states.items())
    assert f"{listed} by name" in action.iconText()
