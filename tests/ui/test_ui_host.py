"""The background services in the window: on while a switch is on, one host per home, gone with the window."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ui_windows import ACME, Driver, Windows

from helpers.model_server import ModelServer, Reply
from helpers.turns import say_turns
from reverie.clock import system_clock
from reverie.engine.codec import decode, encode
from reverie.engine.hosting import STARTING
from reverie.files.lease import Leases
from reverie.files.locks import LeaseHolder, ProcessId
from reverie.files.log_file import set_debug
from reverie.services.host import host_lease_name
from reverie.services.views import HostStatus
from reverie.text.summaries import Phrase
from reverie.ui.widgets.lists import VALUE
from reverie.ui.window import services
from reverie.ui.window.services import host_label

ON = "[system1]\nenabled = true\n"


@pytest.fixture
def quiet_log() -> Iterator[None]:
    level = logging.getLogger("reverie").level
    yield
    logging.getLogger("reverie").setLevel(level)


def label(driver: Any) -> str:
    return str(driver.services.label.text())


def holder(windows: Windows, driver: Any) -> LeaseHolder | None:
    return Leases(windows.profile.leases_database).holder(host_lease_name(driver.session.info.id))


def is_ready(driver: Any) -> bool:
    """Whether new turns start runs."""
    status = driver.services.host.status(driver.session.info.id)
    return status is not None and bool(status.is_ready)


def idle(driver: Any) -> None:
    driver.until(lambda: not driver.services.host.busy)


@pytest.mark.parametrize("by", ["system1", "background"])
def test_either_switch_brings_the_services_and_closing_gives_the_lease_back(
    windows: Windows, home: Path, by: str
) -> None:
    if by == "system1":
        windows.settings(ON)
    driver = windows.open(home)
    if by == "background":
        idle(driver)
        assert label(driver) == "", "nothing is hosted while no switch is on"
        assert holder(windows, driver) is None
        assert not driver.window.actions_["services.pause"].isEnabled()
        windows.settings(f"[background.{driver.session.info.id}]\nenabled = true\nruns_per_day = 0\n")
        driver.services.host.recheck()
    driver.until(lambda: label(driver) == "Services on")
    held = holder(windows, driver)
    assert held is not None
    assert held.purpose == "the window"
    driver.settle()
    driver.window.shut_down()
    assert holder(windows, driver) is None


def switching_off_in_the_settings_ends_them(windows: Windows, driver: Driver) -> None:
    driver.do("settings.open")
    control = driver.window.dialogs.settings
    driver.until(lambda: control.dialog is not None and not control.busy)
    assert control.dialog is not None
    control.dialog.fields["system1.enabled"].widget.setChecked(False)  # type: ignore[union-attr]
    control.dialog.close_button.click()
    driver.until(lambda: label(driver) == "" and holder(windows, driver) is None)


def test_where_another_process_hosts_this_one_views_and_takes_over(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    leases = Leases(windows.profile.leases_database)
    with leases.acquire(host_lease_name(driver.session.info.id), purpose="somebody else"):
        windows.settings(ON)
        driver.services.host.recheck()
        driver.until(lambda: label(driver) == "Services in another process")
        assert "somebody else" in driver.services.label.toolTip()
    driver.until(lambda: label(driver) == "Services on")
    driver.settle()


def test_a_pause_ends_what_runs_and_is_taken_back_and_the_settings_end_it_for_good(
    windows: Windows, home: Path
) -> None:
    windows.settings(ON)
    driver = windows.open(home)
    driver.until(lambda: label(driver) == "Services on")
    driver.do("services.pause")
    driver.until(lambda: holder(windows, driver) is None)
    assert label(driver) == "Services paused"
    assert driver.window.actions_["services.pause"].isChecked()
    driver.do("view.log")
    assert "paused" in driver.traces.log.services.text
    driver.traces.log.services.button("resume").click()
    assert driver.traces.log.services.isHidden()
    driver.until(lambda: label(driver) == "Services on")
    driver.settle()
    switching_off_in_the_settings_ends_them(windows, driver)


def test_a_run_of_the_services_is_in_the_log_and_cancel_pauses_them(windows: Windows, home: Path) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        model = '"test:test-model"'
        windows.settings(f"{ON}interval = 1\nmodel = {model}\n{server.settings_toml('test', 'openai')}")
        driver = windows.open(home)
        driver.until(lambda: label(driver) == "Services on" and driver.session.is_recorded)
        driver.until(lambda: is_ready(driver))
        driver.do("view.log")
        running = driver.traces.log.running
        say_turns(home / "sessions" / ACME, 40, ["Hello."], at=system_clock())
        driver.until(lambda: len(running.ids) == 1)
        (name,) = running.ids
        assert "Memory writer" in running.line(name).text.text()
        assert not running.line(name).button.isHidden()
        running.line(name).button.click()
        driver.until(lambda: label(driver) == "Services paused" and running.ids == ())
        driver.settle()


def test_the_engine_that_takes_the_place_of_a_dead_one_hosts_again(windows: Windows, home: Path) -> None:
    windows.settings(ON)
    driver = windows.open(home, engine=True)
    engine = driver.window.engine
    assert engine is not None
    driver.until(lambda: label(driver) == "Services on")
    first = holder(windows, driver)
    assert first is not None
    assert len({first.owner.pid, engine.pid, os.getpid()}) == 3
    os.kill(engine.pid, signal.SIGKILL)

    def is_hosted_again() -> bool:
        held = holder(windows, driver)
        return held is not None and held.owner != first.owner

    driver.until(is_hosted_again)
    driver.until(lambda: label(driver) == "Services on")
    driver.settle()


def test_a_paused_home_stays_paused_after_the_engine_died(windows: Windows, home: Path) -> None:
    windows.settings(ON)
    driver = windows.open(home, engine=True)
    driver.until(lambda: label(driver) == "Services on")
    engine = driver.window.engine
    assert engine is not None
    driver.do("services.pause")
    driver.until(lambda: holder(windows, driver) is None)
    first = engine.pid
    os.kill(first, signal.SIGKILL)
    driver.until(lambda: engine.pid != first)
    driver.settle()
    idle(driver)
    assert holder(windows, driver) is None
    assert label(driver) == "Services paused"


def test_the_engine_logs_as_much_as_the_window_and_so_does_its_successor(
    windows: Windows, home: Path, quiet_log: None
) -> None:
    driver = windows.open(home, engine=True)
    idle(driver)
    log = windows.profile.engine_log

    def told() -> int:
        driver.session.workbench.noting.update(ACME)
        return log.read_text().count("[notes]")

    set_debug(False)
    driver.services.host.recheck()
    idle(driver)
    assert told() == 0
    set_debug(True)
    driver.services.host.recheck()
    idle(driver)
    assert told() == 1
    engine = driver.window.engine
    assert engine is not None
    first = engine.pid
    os.kill(first, signal.SIGKILL)
    driver.until(lambda: engine.pid != first)
    # It is told as soon as the window is connected with it again.
    driver.until(lambda: told() == 2)
    set_debug(False)
    driver.services.host.recheck()
    idle(driver)
    assert told() == 2


def test_closing_a_home_ends_its_services_and_leaves_the_window(windows: Windows, home: Path) -> None:
    windows.settings(ON)
    driver = windows.open(home)
    driver.until(lambda: label(driver) == "Services on")
    home_id = driver.session.info.id
    driver.window.homes.close_home(home_id)
    leases = Leases(windows.profile.leases_database)
    driver.until(lambda: leases.holder(host_lease_name(home_id)) is None)


def test_a_window_that_does_not_watch_hosts_nothing(windows: Windows, home: Path) -> None:
    windows.settings(ON)
    driver = windows.open(home, watching=False)
    idle(driver)
    assert label(driver) == ""


def test_turns_on_disk_lead_to_a_run_in_the_window_and_the_tree_shows_what_it_wrote(
    windows: Windows, home: Path
) -> None:
    """By rules, without any server: transcript, host, writer, memory file, watcher, tree, Activity."""
    memory = home / "memories" / "acme-api-1d659342.md"
    memory.unlink()
    windows.settings(f'{ON}interval = 2\nmodel = "rules"\n')
    driver = windows.open(home)
    driver.until(lambda: label(driver) == "Services on" and driver.session.is_recorded)
    driver.until(lambda: is_ready(driver))
    assert not is_shown(driver, memory)
    driver.do("view.log")
    texts = ["Always run the linter with --strict before you push.", "And what is the time?"]
    say_turns(home / "sessions" / ACME, 40, texts, at=system_clock())
    driver.until(lambda: is_shown(driver, memory))
    assert "--strict" in memory.read_text()
    decisions = driver.traces.log.list.rows

    def told() -> set[str]:
        return {decisions.data(index, VALUE).entry.event.partition(".")[0] for index in decisions.walk()}

    driver.until(lambda: {"host", "writer"} <= told())
    driver.settle()


def is_shown(driver: Any, memory: Path) -> bool:
    """The tree has the memory file as one that is there."""
    companions = driver.tab.update_.view.companions
    return any(each.exists for each in companions if each.path == memory)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (None, ""),
        (HostStatus("stopped"), ""),
        (HostStatus("hosting", sessions=3), "Services on"),
        (
            HostStatus("viewing", LeaseHolder(ProcessId(7, 1, "boot"), "reverie\u202e watch", 0, 1)),
            "Services in another process",
        ),
        (HostStatus("waiting", message="The database is broken."), "Services waiting"),
    ],
)
def test_a_status_in_words(status: HostStatus | None, text: str) -> None:
    words = host_label(status)
    assert words.text == text
    assert bool(words.tip) == bool(text)
    assert "\u202e" not in words.tip


def test_what_an_engine_says_of_its_hosts_is_said_in_the_language_of_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    def said(text: str) -> str:
        shown.append(text)
        return "Gestartet wird."

    monkeypatch.setattr(services, "said", said)
    crossed = decode(encode(HostStatus("waiting", message=STARTING)), HostStatus)
    assert host_label(crossed).tip == "Gestartet wird."
    assert isinstance(shown[0], Phrase)
    assert shown == [STARTING]
