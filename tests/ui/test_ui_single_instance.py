"""A second start hands its homes to the first window and ends; a dead one's place is taken, a hung one is
told of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui_windows import ACME, INGEST, Windows

from helpers.samples import copy_sample
from reverie.engine.codec import encode
from reverie.profile import Profile
from reverie.services.machines import MachineAddress
from reverie.ui.single_instance import Instance, OpenRequest, decoded


@given(st.lists(st.text(min_size=1), max_size=3), st.text(), st.booleans(), st.text())
def test_a_wish_arrives_as_it_was_sent(names: list[str], workspace: str, demo: bool, token: str) -> None:
    wish = OpenRequest(tuple(Path("/h") / name.replace("\0", "") for name in names), workspace, demo, token)
    assert decoded(wish.encoded().rstrip(b"\n")) == OpenRequest(
        tuple(path.absolute() for path in wish.homes), workspace, demo, token
    )


@pytest.mark.parametrize(
    "fields", [[], {"homes": "x"}, {"homes": [1]}, {"homes": [b"relative"]}, {"demo": 1}, {"hosts": [1]}]
)
def test_what_is_no_wish_is_refused(fields: object) -> None:
    assert decoded(b64encode(encode(fields))) is None
    assert decoded(encode(fields)) is None


@given(st.binary())
def test_bytes_that_are_no_wish_are_refused(line: bytes) -> None:
    assert decoded(line) is None


def test_a_hung_window_is_told_of_with_its_process(qapp: object, tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "p")
    first, second = Instance(profile), Instance(profile)
    assert first.is_first
    assert not second.is_first
    problem = second.hand_over(OpenRequest(), limit_ms=120)
    assert str(os.getpid()) in problem
    assert "is not responding" in problem
    first.close()
    third = Instance(profile)
    assert third.is_first
    third.close()


def test_a_killed_windows_place_is_taken(qtbot: object, tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "p")
    die = (
        "import os, sys; from pathlib import Path; from reverie.profile import Profile; "
        "from reverie.ui.single_instance import Instance; i = Instance(Profile.under(Path(sys.argv[1]))); "
        "i.listen(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", die, str(tmp_path / "p")], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    heir = Instance(profile)
    assert heir.is_first
    heir.listen()
    assert heir._server is not None
    heir.close()


def test_a_profile_with_a_very_long_name_has_a_place_too(qapp: object, tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / ("long" * 30))
    first = Instance(profile)
    first.listen()
    assert not Instance(profile).is_first
    assert first._server is not None
    first.close()


def test_where_no_lock_can_be_made_a_start_is_on_its_own(
    qapp: object, tmp_path: Path, expect_log: Any
) -> None:
    expect_log("no lock for the window")
    (tmp_path / "p").write_text("a file in the way")
    assert Instance(Profile.under(tmp_path / "p")).is_first


@pytest.mark.qt_log_ignore("does not support")
def test_a_second_start_opens_its_home_in_the_first_window_and_ends(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    instance = Instance(windows.profile, driver.window)
    instance.asked.connect(driver.window.handle_request)
    instance.listen()
    other = copy_sample("mux-home", home.parent / "other")
    call = [sys.executable, "-m", "reverie", "--offscreen", "--profile", str(windows.profile.config.parent)]
    for target, workspace in ((home, INGEST), (other, ACME)):
        second = subprocess.Popen(
            [*call, "--home", str(target), "--workspace", workspace], stderr=subprocess.PIPE
        )
        driver.until(lambda second=second: second.poll() is not None)
        said = second.stderr.read() if second.stderr is not None else b""
        assert second.returncode == 0, said
        if second.stderr is not None:
            second.stderr.close()
        driver.until(
            lambda target=target: driver.window.session is not None and driver.session.info.root == target
        )
        driver.settle()
        assert driver.session.context.workspace_id == workspace
    assert len(driver.window.homes.sessions) == 2
    instance.close()


def test_machines_are_handed_over_as_addresses() -> None:
    machines = (MachineAddress("box", "me", 2222, Path("/a b")), MachineAddress("::1"))
    request = OpenRequest(hosts=machines)
    assert decoded(request.encoded()) == request
    for spoilt in (MachineAddress("-oProxyCommand=x"), MachineAddress("box", path=Path("a"))):
        assert decoded(OpenRequest(hosts=(spoilt,)).encoded()) is None


@pytest.mark.qt_log_ignore("does not support")
def test_a_request_without_a_home_is_for_the_homes_that_are_open(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    request = decoded(OpenRequest(workspace=INGEST).encoded())
    driver.window.handle_request(request)
    driver.settle()
    assert driver.session.context.workspace_id == INGEST
    project = driver.session.info.contents.projects[0].path
    driver.window.handle_request(decoded(OpenRequest(project=project).encoded()))
    driver.settle()
    assert (driver.session.context.workspace_id, driver.session.context.project_path) == (None, project)
    driver.window.handle_request(OpenRequest(workspace="0000000000"))
    assert driver.window.statusBar().currentMessage() == "No open home has the workspace 0000000000."


@pytest.mark.qt_log_ignore("does not support")
def test_a_request_without_a_home_during_the_start_is_for_the_home_that_opens(
    windows: Windows, home: Path
) -> None:
    driver = windows.begin(home)
    assert not driver.window.homes.sessions
    driver.window.handle_request(OpenRequest(workspace=INGEST))
    driver.settle()
    assert driver.session.context.workspace_id == INGEST
    project = driver.session.info.contents.projects[0].path
    later = windows.begin(home)
    later.window.handle_request(OpenRequest(project=project))
    later.settle()
    assert (later.session.context.workspace_id, later.session.context.project_path) == (None, project)


@pytest.mark.qt_log_ignore("does not support")
def test_a_project_is_handed_over_with_its_home(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    project = driver.session.info.contents.projects[0].path
    driver.window.handle_request(decoded(OpenRequest((home,), project=project).encoded()))
    driver.until(lambda: driver.session.context is not None and driver.session.context.workspace_id is None)
    assert driver.session.context.project_path == project
