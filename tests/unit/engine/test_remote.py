"""Engines on other machines: addresses, what `ssh` is asked, and a sentence for each way it fails."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers import ssh_machine
from helpers.ssh_machine import SshMachine
from reverie import __version__
from reverie.agents.scopes import Scope
from reverie.cli.main import main as command_line
from reverie.engine import server
from reverie.engine.client import EngineClient
from reverie.engine.reach import process_channel
from reverie.engine.remote import LOST, REFUSED, RemoteMachine, ssh_command
from reverie.errors import Unavailable, UserError
from reverie.files.child import ChildProcess
from reverie.services.machines import MachineAddress, parse_address
from unit.engine.test_run_workers import until

ADDRESSES = {
    "ssh://box": MachineAddress("box"),
    "ssh://me@box": MachineAddress("box", "me"),
    "SSH://me@box.lan:2222": MachineAddress("box.lan", "me", 2222),
    "ssh://me@box/": MachineAddress("box", "me"),
    "ssh://box/home/me/.mux": MachineAddress("box", path=Path("/home/me/.mux")),
    "ssh://box:22/a%20b": MachineAddress("box", port=22, path=Path("/a b")),
    "ssh://[::1]:2222": MachineAddress("::1", port=2222),
    "ssh://me@[fe80::1]": MachineAddress("fe80::1", "me"),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_read_and_written(text: str) -> None:
    address = parse_address(text)
    assert address == ADDRESSES[text]
    assert parse_address(address.url) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("box", "does not begin with ssh://"),
        ("http://box", "does not begin with ssh://"),
        ("ssh://", "mistaken for an option of ssh"),
        ("ssh://-oProxyCommand=touch${IFS}x", "mistaken for an option of ssh"),
        ("ssh://-l@box", "mistaken for an option of ssh"),
        ("ssh://me@-v", "mistaken for an option of ssh"),
        ("ssh://@box", "mistaken for an option of ssh"),
        ("ssh://a;b", "mistaken for an option of ssh"),
        ("ssh://a|b@box", "mistaken for an option of ssh"),
        ("ssh://$(x)@box", "mistaken for an option of ssh"),
        ("ssh://me@b*x", "mistaken for an option of ssh"),
        ("ssh://me@box name", "a space"),
        ("ssh://me@box\n", "a space"),
        ("ssh://me@box\x1b[1m", "a space"),
        ("ssh://me:secret@box", "password"),
        ("ssh://box:", "Nothing is not a valid port"),
        ("ssh://box:0", "0 is not a valid port"),
        ("ssh://box:65536", "65536 is not a valid port"),
        ("ssh://box:22x", "22x is not a valid port"),
        ("ssh://box:٢٢", "is not a valid port"),
        ("ssh://box/a%0ab", "path contains an unprintable character"),
        ("ssh://box/a%00b", "path contains an unprintable character"),
    ],
)
def test_what_ssh_could_misread_is_no_address(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        parse_address(text)
    assert str(caught.value).isprintable()


def test_ssh_may_ask_nothing_and_the_machine_comes_after_the_options() -> None:
    command = ssh_command(parse_address("ssh://me@box:2222/x"))
    assert command[0] == "ssh"
    assert command[-3:-1] == ["--", "me@box"]
    assert command[command.index("-p") + 1] == "2222"
    options = {command[at + 1] for at, word in enumerate(command) if word == "-o"}
    assert options == {
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
    }
    assert "-T" in command


@pytest.mark.parametrize(
    "arguments",
    [
        ("--host", "ssh://box", "homes"),
        ("--host", "ssh://box", "--screenshot", "x.png"),
        ("homes", "--host", "ssh://box"),
        ("--host", "ssh://-v"),
        ("--host", "box"),
    ],
)
def test_a_host_goes_with_the_window_only(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line(arguments)
    assert ended.value.code == 2
    assert "host" in capsys.readouterr().err


# Failures, with a program in the place of `ssh`


def client_of(machine: RemoteMachine) -> EngineClient:
    return EngineClient(machine.connect, explain=machine.explain)


def failure_of(tmp_path: Path, script: str) -> UserError:
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    client = client_of(RemoteMachine(MachineAddress("box", "me"), [str(program)]))
    with pytest.raises(Unavailable) as caught:
        client.services.find_homes()
    client.stop()
    return caught.value


WARNING = """echo '@@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@@' >&2
echo 'Host key verification failed.' >&2; exit 255"""


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("script", "words", "reason"),
    [
        (WARNING, "The host key of me@box has changed", REFUSED),
        ("echo 'Host key verification failed.' >&2; exit 255", "has never connected to me@box", REFUSED),
        (
            "echo 'me@box: Permission denied (publickey).' >&2; exit 255",
            "me@box denied access. .*none of the keys",
            REFUSED,
        ),
        (
            "echo 'Received disconnect: Too many authentication failures' >&2; exit 255",
            "too many keys",
            REFUSED,
        ),
        (
            "echo 'ssh: Could not resolve hostname box: Name not known' >&2; exit 255",
            "me@box could not be found",
            REFUSED,
        ),
        (
            "echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255",
            "Cannot reach me@box. ssh: connect to host box port 22: Connection refused",
            LOST,
        ),
        ("exit 255", "Cannot reach me@box. The connection was lost", LOST),
        (
            "echo 'sh: 1: exec: reverie: not found' >&2; exit 127",
            "Reverie is not installed on me@box. .* on that machine: pipx install reverie",
            REFUSED,
        ),
        (
            "echo \"error: argument COMMAND: invalid choice: 'engine'\" >&2; exit 2",
            "a different version of Reverie. That version is too old",
            REFUSED,
        ),
        ("echo 'Welcome to this machine'; cat > /dev/null", "does not respond like Reverie", REFUSED),
        (
            "head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo End >&2; exit 1",
            "Cannot reach me@box. End",
            LOST,
        ),
    ],
)
def test_each_failure_is_a_sentence(tmp_path: Path, script: str, words: str, reason: str) -> None:
    error = failure_of(tmp_path, script)
    assert pytest.raises(Unavailable, match=words).matches(error)
    assert error.reason == reason
    assert error.next_step


def test_without_ssh_it_says_what_to_install(tmp_path: Path) -> None:
    client = client_of(RemoteMachine(MachineAddress("box"), [str(tmp_path / "ssh")]))
    with pytest.raises(
        Unavailable, match=r"could not be started on this computer.*Install the OpenSSH client"
    ):
        client.services.find_homes()


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_who_refuses_is_not_asked_again_at_once(tmp_path: Path) -> None:
    program = tmp_path / "ssh"
    program.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/asked\necho 'Permission denied (x).' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    machine = RemoteMachine(MachineAddress("box"), [str(program)])
    client = client_of(machine)
    for _time in range(3):
        with pytest.raises(Unavailable, match="denied access"):
            client.services.find_homes()
    assert (tmp_path / "asked").read_text() == "x\n"
    machine.hurry()
    with pytest.raises(Unavailable, match="denied access"):
        client.services.find_homes()
    assert (tmp_path / "asked").read_text() == "x\nx\n"


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_a_connection_that_is_being_made_does_not_hold_up_the_end(tmp_path: Path) -> None:
    import threading

    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    client = client_of(RemoteMachine(MachineAddress("box"), [str(program)]))
    errors: list[UserError] = []

    def ask() -> None:
        try:
            client.services.find_homes()
        except UserError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: client._greeting is not None)
    before = time.monotonic()
    client.stop()
    asking.join()
    assert time.monotonic() - before < 5
    assert errors


# A real machine

needs_sshd = pytest.mark.skipif(bool(ssh_machine.missing()), reason=ssh_machine.missing())


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshMachine]:
    machine = ssh_machine.start_machine(tmp_path / "machine")
    monkeypatch.setenv("PATH", f"{machine.client}:{os.environ['PATH']}")
    yield machine
    machine.end()


@needs_sshd
def test_the_homes_of_a_machine_are_found_and_changed_there(there: SshMachine) -> None:
    lost: list[UserError] = []
    again: list[int] = []
    machine = RemoteMachine(there.address)
    client = EngineClient(
        machine.connect,
        explain=machine.explain,
        on_lost=lost.append,
        on_again=lambda: again.append(machine.pid),
    )
    found = client.services.find_homes()
    assert there.home in [home.root for home in found.homes]
    opened = client.services.open(there.home)
    home = client.home(opened.info.root, opened.info.id)
    context = home.context(None, None)
    assert home.view(context).scopes[Scope.GLOBAL].files
    first = machine.pid
    os.kill(first, 9)
    until(lambda: bool(lost and again))
    assert "Cannot reach" in str(lost[0])
    assert home.view(context).scopes[Scope.GLOBAL].files, "the connection is there again"
    assert machine.pid != first
    client.stop()


@needs_sshd
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda there: (there.directory / "known").write_text(""), "has never connected to elsewhere"),
        (
            lambda there: (there.directory / "known").write_text(
                (there.directory / "known").read_text().split(" ")[0]
                + " "
                + (there.directory / "user.pub").read_text()
            ),
            "The host key of .* has changed",
        ),
        (lambda there: (there.directory / "authorized").write_text(""), "denied access"),
        (
            lambda there: (there.directory / "bin" / "reverie").unlink(),
            "Reverie is not installed on elsewhere",
        ),
        (
            lambda there: (there.directory / "bin" / "reverie").write_text("#!/bin/sh\necho Welcome\n"),
            "does not respond like Reverie",
        ),
        (lambda there: there.end(), "Cannot reach .*[Cc]onnect"),
        (lambda there: (there.directory / "ssh_config").write_text(""), "elsewhere could not be found"),
    ],
)
def test_what_ssh_really_prints_becomes_the_sentence(
    there: SshMachine, spoil: Callable[[SshMachine], object], words: str
) -> None:
    spoil(there)
    client = client_of(RemoteMachine(there.address))
    with pytest.raises(Unavailable, match=words):
        client.services.find_homes()


@needs_sshd
def test_another_version_there_is_named(there: SshMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    from reverie.engine import client as client_module

    monkeypatch.setattr(client_module, "__version__", "0.0.1")
    assert server.__version__ == __version__
    client = client_of(RemoteMachine(there.address))
    with pytest.raises(
        Unavailable, match=f"a different version of Reverie. The version there is {__version__}"
    ):
        client.services.find_homes()


def test_a_connection_that_two_threads_shut_at_once_starts_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []

    class SlowTimer(threading.Timer):
        def start(self) -> None:
            starts.append(1)
            time.sleep(0.05)
            super().start()

    monkeypatch.setattr(threading, "Timer", SlowTimer)
    process = ChildProcess([sys.executable, "-c", "import sys; sys.stdin.read()"])
    channel = process_channel(process, 30, logging.ERROR)
    both = [threading.Thread(target=channel.shut) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    channel.close()
    assert len(starts) == 1
