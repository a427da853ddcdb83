"""The engine as a process: found, started, replaced and ended. The processes are real."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers import ordinary_user
from helpers.engine_sockets import socket_path
from helpers.expect_log import ExpectLog
from helpers.house_measure import APP as SOURCES
from helpers.samples import copy_sample
from reverie import __version__
from reverie.agents.variables import AGENT_VARIABLES
from reverie.cli.main import main as command_line
from reverie.clock import system_clock
from reverie.engine import process, start
from reverie.engine.channel import PROTOCOL, Channel, ConnectionLost, Hello
from reverie.engine.client import EngineClient, EngineGone
from reverie.engine.engine import ProfileEngine
from reverie.engine.process import inline_channel, serve
from reverie.engine.reach import (
    connect,
    engine_name,
    make_secret,
    reach,
    socket_places,
    stdio_channel,
)
from reverie.engine.start import StartingEngine
from reverie.errors import Unavailable
from reverie.files.locks import is_running
from reverie.profile import Profile
from unit.engine.test_run_workers import children, until

NOBODY = 65534
SHORT = """
import sys
from pathlib import Path
from reverie.engine.process import serve_detached
from reverie.profile import Profile
sys.exit(serve_detached(Profile(*map(Path, sys.argv[1:])), linger_s=0.1, nobody_s=10))
"""
DYING = """
import sys, threading
from reverie.engine import process

def serve(_profile):
    dying = threading.Thread(target=lambda: 1 / 0, name="dying")
    dying.start()
    dying.join()
    return 0

process.serve_detached = serve
sys.exit(process.main(sys.argv[1:]))
"""
as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can be somebody else")


def short_lived(profile: Profile) -> list[str]:
    """How an engine is started that ends at once when its last client has left."""
    places = (profile.config, profile.data, profile.cache, profile.state)
    return [sys.executable, "-P", "-c", SHORT, *map(str, places)]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile.under(tmp_path / "profile")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


def client_of(profile: Profile, **more: Any) -> EngineClient:
    return EngineClient(partial(connect, profile, command=short_lived(profile)), **more)


def test_an_engine_ends_after_its_last_client_and_leaves_nothing(profile: Profile, home: Path) -> None:
    first, second = client_of(profile), client_of(profile)
    assert first.services.open(home).info.id == second.services.open(home).info.id
    engine = first.pid
    assert engine == second.pid != os.getpid()
    assert socket_path(profile).stat().st_mode & 0o777 == 0o600
    first.stop()
    assert second.services.open(home)
    assert is_running(engine)
    second.stop()
    until(lambda: not is_running(engine))
    assert not socket_path(profile).exists()
    assert not children(os.getpid())


def test_an_engine_that_ends_welcomes_nobody_and_one_with_a_client_does_not_end(
    profile: Profile, home: Path
) -> None:
    engine = ProfileEngine(profile, system_clock)
    client = EngineClient(lambda: inline_channel(engine))
    client.services.open(home)
    assert not engine.begin_to_end()
    client.stop()
    until(lambda: engine.is_idle)
    assert engine.begin_to_end()
    channel = inline_channel(engine)
    channel.send(Hello(PROTOCOL, __version__, os.getpid()))
    with pytest.raises(ConnectionLost):
        channel.receive()
    channel.close()
    engine.close()


def test_a_client_that_meets_an_engine_as_it_ends_gets_the_next_one(profile: Profile, home: Path) -> None:
    ending, following = (ProfileEngine(profile, system_clock) for _ in range(2))
    assert ending.begin_to_end()
    met = iter([ending, ending, ending, following])
    client = EngineClient(lambda: inline_channel(next(met)))
    client.services.open(home)
    assert not following.is_idle
    client.stop()
    for engine in (ending, following):
        engine.close()


@pytest.fixture
def switch_interval() -> Iterator[None]:
    """An engine sets its own."""
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switch_interval")
def test_a_client_that_leaves_just_after_it_was_seen_leaves_no_engine_behind(
    profile: Profile, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [EngineClient(lambda: reach(profile)) for _ in range(2)]
    looks = 0

    def look(engine: ProfileEngine, linger_s: float) -> bool:
        nonlocal looks
        looks += 1
        if looks > 1:
            return stays_idle(engine, linger_s)
        clients[1].services.open(home)
        seen = stays_idle(engine, linger_s)
        clients[1].stop()
        until(lambda: engine.is_idle)
        return seen

    stays_idle = process._stays_idle
    monkeypatch.setattr(process, "_stays_idle", look)
    serving = threading.Thread(target=partial(serve, profile, linger_s=0.01, nobody_s=10), daemon=True)
    serving.start()
    until(lambda: socket_path(profile).exists())
    clients[0].services.open(home)
    clients[0].stop()
    serving.join(30)
    assert not serving.is_alive()
    assert looks == 2


def test_of_two_that_are_started_at_once_one_is_the_engine(profile: Profile, home: Path) -> None:
    clients = [client_of(profile) for _ in range(4)]
    together = threading.Barrier(len(clients))
    found: list[str] = []

    def come(client: EngineClient) -> None:
        together.wait(30)
        found.append(client.services.open(home).info.id)

    threads = [threading.Thread(target=come, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == len(clients)
    (engine,) = {client.pid for client in clients}
    for client in clients:
        client.stop()
    until(lambda: not is_running(engine))


def test_the_socket_of_a_dead_engine_is_replaced(profile: Profile, home: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(socket_path(profile)))
    client = client_of(profile)
    assert client.services.open(home)
    client.stop()
    until(lambda: not is_running(client.pid))


def test_after_a_kill_what_was_asked_fails_and_the_next_question_finds_a_new_engine(
    profile: Profile, home: Path
) -> None:
    again = threading.Event()
    client = client_of(profile, on_again=again.set)
    client.services.open(home)
    first = client.pid
    os.kill(first, signal.SIGKILL)
    assert again.wait(60), "it comes back without being asked"
    assert client.services.open(home)
    assert client.pid not in (0, first)
    client.stop()
    with pytest.raises(EngineGone):
        client.services.open(home)
    until(lambda: not is_running(client.pid))


def test_another_version_is_refused_with_what_to_do(
    profile: Profile, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, other = client_of(profile), client_of(profile)
    client.services.open(home)
    monkeypatch.setattr("reverie.engine.client.__version__", "0.0.1")
    with pytest.raises(Unavailable) as refused:
        other.services.open(home)
    assert "this is version 0.0.1. Close the other windows and commands of Reverie" in str(refused.value)
    assert client.services.open(home), "who was there is served"
    client.stop()
    until(lambda: not is_running(client.pid))


def test_a_profile_that_cannot_be_written_is_told(profile: Profile) -> None:
    top = profile.state.parent
    top.mkdir(parents=True)
    top.chmod(0o500)
    # Root's rights would make nothing of the mode.
    as_user = [sys.executable, "-P", str(Path(ordinary_user.__file__)), *short_lived(profile)]
    try:
        with pytest.raises(Unavailable) as told:
            connect(profile, command=as_user)
    finally:
        top.chmod(0o700)
    assert told.value.title == "Reverie's engine could not be started."
    assert "could not be created. Permission is denied." in told.value.cause


def test_places_for_the_socket_that_are_taken_are_told(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = socket_path(profile)
    monkeypatch.setattr(process, "socket_places", lambda _profile: [place])
    place.mkdir()
    with pytest.raises(Unavailable) as told:
        serve(profile)
    assert str(place) in told.value.title
    assert told.value.cause == "There is a folder at this path."
    place.rmdir()


def served_at(profile: Profile, home: Path) -> Path:
    """Open a home by an engine of its own; the place of its socket."""
    client = client_of(profile)
    assert client.services.open(home)
    (place,) = (each for each in socket_places(profile) if each.exists())
    client.stop()
    until(lambda: not is_running(client.pid))
    return place


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The runtime directory; a path of tests would be too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="rt-") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        yield Path(place)


def test_a_runtime_directory_that_cannot_be_used_is_passed_over(
    profile: Profile, home: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (short / "file").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short / "file"))
    assert served_at(profile, home) in socket_places(profile)[1:]


@as_root
def test_another_user_who_makes_the_folder_first_keeps_nobody_out(
    profile: Profile, home: Path, short: Path
) -> None:
    theirs = short / f"reverie-{os.getuid()}"
    assert socket_places(profile)[0].parent == theirs
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    assert served_at(profile, home).parent != theirs


def test_what_comes_to_be_usable_later_hides_no_engine(
    profile: Profile, home: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (short / "run").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short / "run"))
    first = client_of(profile)
    assert first.services.open(home)
    (short / "run").unlink()
    (short / "run").mkdir()
    second = client_of(profile)
    assert second.services.open(home)
    assert second.pid == first.pid
    first.stop()
    second.stop()
    until(lambda: not is_running(first.pid))


@as_root
def test_an_engine_of_another_user_is_told_nothing(
    profile: Profile, short: Path, expect_log: ExpectLog
) -> None:
    place = short / f"reverie-{os.getuid()}"
    place.mkdir()
    for each in (short, place):
        each.chmod(0o777)
    path = socket_places(profile)[0]
    program = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.bind({str(path)!r}); s.listen(); "
        "print('there', flush=True); c, _ = s.accept(); print(c.recv(1), flush=True)"
    )
    stranger = subprocess.Popen(
        ["/usr/bin/env", "python3", "-I", "-c", program],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        stdout=subprocess.PIPE,
        cwd="/",
    )
    assert stranger.stdout is not None
    assert stranger.stdout.readline() == b"there\n"
    expect_log("another user listens")
    with pytest.raises(Unavailable, match="belongs to another user"):
        reach(profile)
    assert stranger.communicate(timeout=30)[0] == b"b''\n"


def test_an_engine_that_could_not_accept_for_a_while_is_not_deaf(profile: Profile, home: Path) -> None:
    few = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))\n{SHORT}"
    places = (profile.config, profile.data, profile.cache, profile.state)
    subprocess.run([sys.executable, "-P", "-c", few, *map(str, places)], check=True)
    waiting = []
    for _client in range(100):
        waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        waiting[-1].connect(str(socket_path(profile)))
    log = profile.engine_log
    until(lambda: not log.exists() or "could not be accepted" in log.read_text("utf-8"))
    for each in waiting:
        each.close()
    client = client_of(profile)
    assert client.services.open(home)
    client.stop()
    until(lambda: not is_running(client.pid))


def test_a_full_disk_is_told(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(socket.socket):
        def bind(self, _address: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(process, "socket_places", lambda profile: [socket_path(profile)])
    monkeypatch.setattr(process.socket, "socket", Full)
    with pytest.raises(Unavailable, match="could not be created") as told:
        serve(profile)
    assert told.value.cause == "The disk is full."


def test_what_cannot_be_started_is_told(profile: Profile) -> None:
    with pytest.raises(Unavailable, match="could not be started"):
        connect(profile, command=["/nowhere/reverie"])
    with pytest.raises(Unavailable) as told:
        connect(profile, command=[sys.executable, "-c", "raise SystemExit(3)"])
    assert told.value.cause == "The engine ended with code 3."
    with pytest.raises(Unavailable) as told:
        connect(profile, command=[sys.executable, "-c", ""])
    assert "The engine was started but cannot be reached." in str(told.value)


def test_an_engine_that_does_not_start_in_time_is_told_and_ends(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "START_S", 0.2)
    starting = StartingEngine([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(Unavailable, match="could not be started") as told:
        starting.wait()
    assert told.value.cause == "It did not start within 0.2 seconds."
    assert starting._process.exit_code == -signal.SIGKILL


def test_a_long_runtime_directory_is_not_used(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 30)))
    assert len(os.fsencode(socket_path(profile))) <= 100


@as_root
def test_another_user_is_not_served(profile: Profile, home: Path) -> None:
    client = client_of(profile)
    assert client.services.open(home)
    # The modes would keep it away already.
    place = socket_path(profile)
    opened = [each for each in (place, *place.parents) if not each.stat().st_mode & 0o001]
    for each in opened:
        each.chmod(each.stat().st_mode | 0o007)
    program = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(place)!r}); print(s.recv(1))"
    stranger = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", program],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        timeout=60,
        check=False,
        cwd="/",
    )
    for each in opened:
        each.chmod(each.stat().st_mode & ~0o007)
    assert stranger.stdout == b"b''\n", stranger.stderr
    assert client.services.open(home)
    client.stop()
    until(lambda: not is_running(client.pid))


def test_the_log_of_an_engine_says_which_thread_died_of_what(profile: Profile) -> None:
    command = short_lived(profile)
    command[command.index(SHORT)] = DYING
    ended = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert ended.stderr == b""
    logged = profile.engine_log.read_text()
    assert "the thread dying ended" in logged
    assert "ZeroDivisionError" in logged


@pytest.mark.parametrize("variable", ["CODEX_HOME", "ANTHROPIC_API_KEY"])
def test_each_environment_has_an_engine(
    profile: Profile, home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    first, same, other = (client_of(profile) for _ in range(3))
    assert first.services.open(home)
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    assert same.services.open(home)
    assert same.pid == first.pid
    monkeypatch.setenv(variable, "/elsewhere")
    assert other.services.open(home)
    assert other.pid != first.pid
    for client in (first, same, other):
        client.stop()
    until(lambda: not is_running(first.pid) and not is_running(other.pid))


_READ = re.compile(r'\benv(?:iron)?(?:\.get\(|\[)"([A-Z_]+)"')
_NAMED = re.compile(r'"((?:MUX|XUM|CLAUDE|CODEX|LOKI)_[A-Z_]+)"')


def test_what_is_read_of_the_environment_for_an_agent_is_compared() -> None:
    texts = [
        path.read_text()
        for room in ("agents", "failures")
        for path in (SOURCES / "reverie" / room).rglob("*.py")
        if path.name != "variables.py"
    ]
    read = {name for text in texts for name in (*_READ.findall(text), *_NAMED.findall(text))}
    assert read | {"HOME", "TZ"} == AGENT_VARIABLES


def test_markers_of_an_agent_s_session_do_not_count(profile: Profile) -> None:
    name = partial(engine_name, profile)
    plain = {"HOME": "/home/ada"}
    marked = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "HOMEBREW_PREFIX": "/opt", "TZDIR": "/tz"}
    assert name(plain | marked) == name(plain)
    assert name(plain) != name({"HOME": "/home/eve"})
    assert name(plain | {"X_API_KEY": "1"}) != name(plain)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "LM_API_TOKEN", "https_proxy", "SSL_CERT_FILE"])
def test_how_a_model_is_asked_counts_and_an_empty_variable_for_none(name: str, profile: Profile) -> None:
    plain = engine_name(profile, {})
    assert engine_name(profile, {name: "x"}) != plain
    assert engine_name(profile, {name: ""}) == plain


def test_a_key_cannot_be_guessed_from_the_name_of_a_socket(tmp_path: Path, profile: Profile) -> None:
    keys = {"OPENAI_API_KEY": "secret"}
    guessed = engine_name(profile, keys)
    make_secret(profile)
    made = engine_name(profile, keys)
    assert made != guessed, "the secret of the profile is in it"
    make_secret(profile)
    assert engine_name(profile, keys) == made
    assert profile.locks.stat().st_mode & 0o777 == 0o700, "nobody else can read it"


def test_one_client_is_served_over_standard_streams(profile: Profile, home: Path) -> None:
    client = EngineClient(partial(stdio_channel, profile))
    assert client.services.open(home)
    engine = client.pid
    assert engine in children(os.getpid())
    client.stop()
    until(lambda: not is_running(engine))


def test_the_command_is_the_engine_until_nobody_needs_it(
    profile: Profile, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [sys.executable, "-P", "-m", "reverie", "engine", "--profile", str(profile.state.parent)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        until(lambda: socket_path(profile).exists())
        client = client_of(profile)
        assert client.services.open(home)
        assert client.pid == engine.pid
        assert command_line(["engine", "--profile", str(profile.state.parent)]) == 1
        said = capsys.readouterr().err
        assert f"Process {engine.pid} is already the engine of this profile." in said
        client.stop()
        assert engine.wait(60) == 0
        assert engine.communicate() == (b"", b"")


def test_the_command_serves_one_client(profile: Profile, home: Path) -> None:
    words = [sys.executable, "-P", "-m", "reverie", "engine", "--stdio"]
    words += ["--profile", str(profile.state.parent)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        shut: Callable[[], None] = engine.stdin.close
        channel = Channel(engine.stdout, engine.stdin, process.FromEngine, shut=shut, close=lambda: None)
        client = EngineClient(lambda: channel)
        assert client.services.open(home)
        assert client.pid == engine.pid
        client.stop()
        assert engine.wait(60) == 0
