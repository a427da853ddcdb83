"""What a stranger is told at the first start, and that it is told once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ui_windows import Windows

from helpers.audit import problems
from reverie.clock import system_clock
from reverie.services.window_state import Remembered
from reverie.settings import Settings, load_settings
from reverie.ui.app import is_first_start
from reverie.ui.appearance import Icons, StartupOptions
from reverie.ui.dialogs import Welcome
from reverie.ui.window.main_window import MainWindow


def shown(window: MainWindow) -> Welcome | None:
    found = window.findChild(Welcome)
    return found if isinstance(found, Welcome) and found.isVisible() else None


def test_the_first_start_tells_homes_reading_runs_models_and_places_once(
    windows: Windows, home: Path, qtbot: Any
) -> None:
    driver = windows.begin(home)
    driver.window.show_welcome_when_ready()
    driver.settle()
    welcome = shown(driver.window)
    assert welcome is not None
    driver.until(lambda: not driver.window.lanes.scan.busy)
    text = welcome.text
    assert str(home) in text, "which homes were found"
    assert "Looking changes nothing" in text
    assert "credentials" in text, "what it never reads"
    assert "background runs are off" in text
    assert str(windows.profile.settings_file) in text
    assert "provider of that model" in text, "where texts go"
    assert not re.search(
        r"never leaves?|stays? on|only local|locally|local-only|offline", text, re.IGNORECASE
    )
    assert welcome.isModal() is False
    welcome.resize(360, 500)
    assert not problems(welcome)
    welcome.close()
    driver.window.shown_in_full.emit()
    assert shown(driver.window) is None, "once"
    # Later, by the Help menu, it tells what the settings say by then.
    windows.settings(
        f'[dream]\nengine = "anthropic:big"\n[background.{driver.session.info.id}]\nenabled = true\n'
    )
    driver.do("help.welcome")
    again = shown(driver.window)
    assert again is not None
    driver.until(lambda: "anthropic:big: memories go to anthropic" in again.text)
    assert "Background runs are on in 1 " in again.text


def test_where_no_home_is_found_it_offers_the_demo(windows: Windows, qtbot: Any, tmp_path: Path) -> None:
    beginning = StartupOptions(demo=tmp_path / "demo")
    window = MainWindow(windows.profile, system_clock, Icons(), beginning)
    windows.keep(window)
    window.show_welcome_when_ready()
    window.show()
    window.start()
    qtbot.waitUntil(lambda: shown(window) is not None)
    welcome = shown(window)
    assert welcome is not None
    assert "None so far" in welcome.text
    assert "demo home" in welcome.text
    # The settings are there before any home is: all but what may run by itself in one.
    window.actions_["settings.open"].trigger()
    control = window.dialogs.settings
    qtbot.waitUntil(lambda: control.dialog is not None and control.dialog.ok.isEnabled())
    dialog = control.dialog
    assert dialog is not None
    assert not dialog.background.switch.isEnabled()
    assert problems(dialog) == []
    dialog.engine.choose("anthropic:big")
    dialog.background.switch.setChecked(True)
    dialog.ok.click()
    qtbot.waitUntil(lambda: control.dialog is None)
    saved, _ = load_settings(windows.profile.settings_file)
    assert saved.dream.engine == "anthropic:big"
    assert saved.background == Settings().background
    window.shut_down()


def test_a_profile_whose_window_was_closed_once_is_no_first_start() -> None:
    assert is_first_start(Remembered(), demo=False)
    assert is_first_start(Remembered(), demo=True), "nor has the person's own profile had one"
    assert not is_first_start(Remembered(geometry="x"), demo=False)
