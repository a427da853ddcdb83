"""A window that shows the homes of another machine, over a real connection."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ui_windows import ACME, Driver, Windows

from helpers import ssh_machine
from helpers.engine_kills import cut_connections
from helpers.ssh_machine import NAME, SshMachine
from reverie.clock import system_clock
from reverie.services.machines import MachineAddress
from reverie.services.window_state import Remembered
from reverie.ui.app import make_application
from reverie.ui.icons import Icons
from reverie.ui.session_store import SessionStore
from reverie.ui.startup_options import StartupOptions
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.window.main_window import MainWindow

pytestmark = pytest.mark.skipif(bool(ssh_machine.missing()), reason=ssh_machine.missing())
STORE = "memory/project/acme-api-db553efff149"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshMachine]:
    machine = ssh_machine.start_machine(tmp_path / "machine")
    monkeypatch.setenv("PATH", f"{machine.client}:{os.environ['PATH']}")
    machine.profile.ensure(machine.profile.config)
    machine.profile.settings_file.write_text("[dream]\nengine = 'rules'\n")
    yield machine
    machine.end()


def begin(
    windows: Windows, qtbot: Any, there: SshMachine, *homes: Path, address: MachineAddress | None = None
) -> Driver:
    """A window on the homes of `there`, beside `homes`."""
    make_application()
    options = StartupOptions(homes, ACME, hosts=(address or there.address,))
    window = MainWindow(windows.profile, system_clock, Icons(), options)
    windows.keep(window)
    window.show()
    window.start()
    return Driver(qtbot, window, there.home, watching=True)


def labels(driver: Driver) -> list[str]:
    return [node.data.title for node in driver.window.homes.nodes]


def test_homes_elsewhere_stand_beside_those_here(
    windows: Windows, qtbot: Any, there: SshMachine, home: Path
) -> None:
    driver = begin(windows, qtbot, there, home)
    driver.settle()
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    here, elsewhere = driver.window.homes.sessions
    assert here.is_here
    assert not elsewhere.is_here
    assert labels(driver) == [here.info.label, f"~/.mux · {NAME}"]
    assert driver.window.places() == (home,), "no disk of this machine is asked for the other's home"
    driver.window.picker.pick_first(elsewhere, ACME)
    driver.settle()
    assert driver.session is elsewhere
    remembered = SessionStore(driver.window, Remembered(), place=False).capture()
    assert remembered.homes == (str(home),)
    assert not remembered.home
    search = driver.tab.search
    search.field.setText("retry-loop")
    driver.until(lambda: search.settled and search.answer is not None)
    assert search.answer is not None
    assert {hit.home_id for hit in search.answer.hits} == {here.info.id, elsewhere.info.id}
    assert {hit.home_label for hit in search.answer.hits} == set(labels(driver))
    driver.window.closer.close_selected()
    driver.until(lambda: len(driver.window.homes.sessions) == 1)
    assert not driver.window.homes.left_closed


def test_a_memory_there_is_read_edited_and_in_conflict(
    windows: Windows, qtbot: Any, there: SshMachine
) -> None:
    driver = begin(windows, qtbot, there)
    driver.settle()
    file = there.home / STORE / "typed.md"
    file.write_text("---\ndescription: what a person types\n---\nBegun.\n")
    path = "/memories/project/typed.md"
    driver.until(lambda: driver.tab.model.file_at(path) is not None)
    driver.open(path)
    assert isinstance(driver.tab.tree.current_data(), FileData)
    assert not driver.window.actions_["memory.reveal"].isEnabled(), "no file manager here shows that disk"
    assert driver.window.actions_["memory.copy-file-path"].isEnabled()
    driver.pane.text.appendPlainText("Typed here.")
    driver.tab.editor.save()
    driver.until(lambda: file.read_text().endswith("Typed here."))
    driver.settle()
    driver.pane.text.appendPlainText("And more here.")
    file.write_text("---\ndescription: what a person types\n---\nBegun.\nTyped there, too.")
    opened = driver.pane.file
    assert opened is not None
    driver.until(
        lambda: opened.buffer.banner == "conflict" or "Typed there" in driver.pane.text.toPlainText()
    )
    assert "And more here." in driver.pane.text.toPlainText()
    driver.tab.keeper.throw_away()


def test_a_consolidation_runs_there_and_its_trace_is_listed(
    windows: Windows, qtbot: Any, there: SshMachine
) -> None:
    driver = begin(windows, qtbot, there)
    driver.settle()
    before = set(there.home.rglob("*.md"))
    assert driver.consolidate() == "completed"
    driver.settle()
    assert set(there.home.rglob("*.md")) != before
    runs = there.profile.runs(driver.session.info.id)
    assert list(runs.iterdir()), "the run is recorded there"
    assert not windows.profile.runs(driver.session.info.id).exists(), "and nothing of it here"
    driver.do("view.traces")
    traces = driver.traces
    driver.until(lambda: traces.is_settled and bool(traces.feed.lines))
    traces.list.select(0)
    driver.until(lambda: traces.detail.shown is not None)
    assert not traces.detail.buttons["export"].isEnabled(), "a file there cannot be saved here"


def test_the_one_home_of_an_address_is_opened(windows: Windows, qtbot: Any, there: SshMachine) -> None:
    driver = begin(windows, qtbot, there, address=MachineAddress(NAME, path=there.home))
    driver.settle()
    assert [session.info.root for session in driver.window.homes.sessions] == [there.home]


def test_a_machine_that_is_not_reached_is_listed_and_tried_again(
    windows: Windows, qtbot: Any, there: SshMachine, home: Path
) -> None:
    keys = (there.directory / "authorized").read_text()
    (there.directory / "authorized").write_text("")
    driver = begin(windows, qtbot, there, home)
    driver.settle()
    driver.until(lambda: len(labels(driver)) == 2)
    node = driver.window.homes.nodes[1]
    assert node.data.title == NAME
    assert "denied access" in node.data.trouble
    (there.directory / "authorized").write_text(keys)
    driver.window.homes.try_again(node.data)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    assert not any(each.data.trouble for each in driver.window.homes.nodes)


def test_a_home_that_is_not_there_is_said(windows: Windows, qtbot: Any, there: SshMachine) -> None:
    driver = begin(windows, qtbot, there, address=MachineAddress(NAME, path=Path("/nowhere/at/all")))
    driver.until(lambda: len(labels(driver)) == 1)
    (node,) = driver.window.homes.nodes
    assert node.data.machine == NAME
    assert "/nowhere/at/all" in node.data.trouble
    driver.window.homes.close_trouble(node.data)
    assert not driver.window.homes.nodes


def test_a_cut_connection_is_said_and_made_again_with_the_text_kept(
    windows: Windows, qtbot: Any, there: SshMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = begin(windows, qtbot, there)
    driver.settle()
    session = driver.session
    driver.open("/memories/project/" + min(file.name for file in (there.home / STORE).glob("*.md")))
    driver.pane.text.appendPlainText("Typed before the cut.")
    typed = driver.pane.text.toPlainText()
    ssh = there.client / "ssh"
    script = ssh.read_text()
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host elsewhere: No route to host' >&2\nexit 255\n")
    os.kill(session.engine.machine.pid, signal.SIGKILL)
    driver.until(lambda: driver.tab.trouble.isVisible())
    assert "Cannot reach" in driver.tab.trouble.text
    driver.tab.editor.save()
    driver.until(lambda: driver.pane.file is not None and not driver.pane.file.saving)
    assert driver.pane.text.toPlainText() == typed
    assert driver.tab.tree.current_data() is not None, "what was shown still is"
    ssh.write_text(script)
    driver.until(lambda: not driver.tab.trouble.isVisible() and session.is_watched)
    (there.home / STORE / "after.md").write_text("Written after the cut.\n")
    driver.until(lambda: driver.tab.model.file_at("/memories/project/after.md") is not None)
    assert driver.pane.text.toPlainText() == typed
    driver.tab.editor.save()
    driver.until(lambda: any(file.read_text() == typed for file in (there.home / STORE).glob("*.md")))


def test_five_cuts_lose_nothing(qtbot: Any, tmp_path: Path, there: SshMachine) -> None:
    tally = cut_connections(there, tmp_path, cuts=5, seed=20_261_122)
    assert not tally.problems, "\n".join(tally.lines())
    assert tally.kills.total() == 5
