"""The first start: the homes that were found as cards, and what is said of privacy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ui_windows import Windows

from helpers.audit import problems
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.resources import DEMO_FILE
from reverie.settings import Settings, load_settings
from reverie.ui.icons import Icons
from reverie.ui.memory.start_page import PrivacyDialog
from reverie.ui.screenshot import select_a_file, shows_the_selected
from reverie.ui.startup_options import StartupOptions
from reverie.ui.tree.memory_tree import path_of
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace


def first_window(windows: Windows, options: StartupOptions) -> MainWindow:
    """A window of a profile that never had one, before it opens anything."""
    window = MainWindow(windows.profile, system_clock, Icons(), replace(options, choosing=True))
    windows.keep(window)
    window.show()
    return window


def test_a_first_start_offers_each_home_as_a_card_and_opens_the_one_that_is_chosen(
    windows: Windows, home: Path, tmp_path: Path, qtbot: Any
) -> None:
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    broken = tmp_path / "broken"
    broken.mkdir()
    window = first_window(windows, StartupOptions((home, other, broken), demo=tmp_path / "demo"))
    window.start()
    page = window.tab.no_home
    qtbot.waitUntil(lambda: len(page.cards) == 2)
    qtbot.waitUntil(page.isVisible)
    assert window.session is None, "nobody has chosen yet"
    qtbot.waitUntil(lambda: str(broken) in window.statusBar().currentMessage())
    assert page.isVisible(), "one bad home hides no other"
    names = [card.accessibleName() for card in page.cards]
    assert any(str(home) in name and "workspaces" in name and "projects" in name for name in names), names
    assert not problems(window)
    window.picker.hide()
    qtbot.waitUntil(lambda: window.minimumSizeHint().width() <= 360)
    window.resize(360, 640)
    assert not problems(window)
    window.picker.show()
    next(card for card in page.cards if str(other) in card.accessibleName()).click()
    qtbot.waitUntil(lambda: window.session is not None and window.session.info.root == other)
    qtbot.waitUntil(lambda: window.tab.has_full_tree and not page.isVisible())


def test_a_home_that_is_picked_at_the_left_is_shown_as_well(windows: Windows, home: Path, qtbot: Any) -> None:
    window = first_window(windows, StartupOptions((home,)))
    window.start()
    qtbot.waitUntil(lambda: window.tab.no_home.isVisible() and bool(window.homes.sessions))
    window.picker.pick_first(window.homes.sessions[0], "")
    qtbot.waitUntil(lambda: window.tab.has_full_tree)
    assert not window.tab.no_home.isVisible()


def test_privacy_is_three_lines_and_the_rest_is_behind_a_link(
    windows: Windows, home: Path, qtbot: Any
) -> None:
    window = first_window(windows, StartupOptions((home,)))
    window.start()
    page = window.tab.no_home
    qtbot.waitUntil(page.isVisible)
    assert len(page.privacy) == 3
    page.more.click()
    dialog = window.findChild(PrivacyDialog)
    assert isinstance(dialog, PrivacyDialog)
    qtbot.waitUntil(dialog.isVisible)
    text = dialog.text
    assert "Viewing files never changes them" in text
    assert "credentials" in text, "what it never reads"
    assert "Background runs are off" in text
    assert str(windows.profile.settings_file) in text
    assert "the model's provider" in text, "where texts go"
    assert not re.search(
        r"never leaves?|stays? on|only local|locally|local-only|offline", text, re.IGNORECASE
    )
    assert not problems(dialog)
    dialog.resize(360, 500)
    assert not problems(dialog)
    dialog.close()


def test_where_no_home_is_found_it_offers_the_demo_and_the_demo_does_not(
    windows: Windows, qtbot: Any, tmp_path: Path
) -> None:
    """B34."""
    window = first_window(windows, StartupOptions(demo=tmp_path / "demo"))
    window.start()
    page = window.tab.no_home
    qtbot.waitUntil(page.isVisible)
    assert page.cards == ()
    assert "~/.claude" in page.sentence.text()
    # The settings are there before any home is: all but what may run by itself in one.
    window.actions_["settings.open"].trigger()
    control = window.dialogs.settings
    qtbot.waitUntil(lambda: control.dialog is not None and not control.busy)
    dialog = control.dialog
    assert dialog is not None
    assert not dialog.fields["background.*.enabled"].widget.isEnabled()
    assert problems(dialog) == []
    dialog.fields["dream.engine"].widget.setEditText("anthropic:big")  # type: ignore[union-attr]
    dialog.reject()
    qtbot.waitUntil(lambda: control.dialog is None)
    saved, _ = load_settings(windows.profile.settings_file)
    assert saved.dream.engine == "anthropic:big"
    assert saved.background == Settings().background
    window.open_demo()
    qtbot.waitUntil(lambda: window.tab.pane.file is not None, timeout=30_000)
    file = window.tab.pane.file
    assert file is not None
    assert file.buffer.address.path == DEMO_FILE
    # A picture of the demo shows this memory too, selected and open.
    assert select_a_file(window)
    assert path_of(window.tab.tree.current_data()) == DEMO_FILE
    assert shows_the_selected(window)
    assert not page.isVisible()
    assert window.session is not None
    assert window.session.info.label == "Demo"
    paths = window.tab.model.memory_tree.files
    assert "/memories/project/bike-status.md" in paths, "what it repeats is here, too"
    assert "/memories/workspace/scratch.md" in paths, "and an empty memory"
