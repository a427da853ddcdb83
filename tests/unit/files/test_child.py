"""A process that answers in frames: whatever it does, who waits for it goes on."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reverie.files.child import Child, ChildEnded, ChildProcess, ChildSilent
from unit.engine.test_run_workers import until

LONG_S = 60.0
BEGIN = "from reverie.files.child import ParentFrames, die_after, limit_memory\nframes = ParentFrames()\n"
ECHO = BEGIN + "while True:\n    print('noise')\n    frames.send(frames.receive() * 2)\n"


def command(script: str) -> list[str]:
    return [sys.executable, "-P", "-c", script]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def started() -> Iterator[list[Child]]:
    children: list[Child] = []
    yield children
    for child in children:
        child.end()


def test_frames_come_back_whole_whatever_else_the_process_prints(started: list[Child]) -> None:
    child = Child(command(ECHO))
    started.append(child)
    for frame in (b"", b"\0\n", os.urandom(1 << 20)):
        child.send(frame, LONG_S)
        assert child.receive(LONG_S) == frame * 2
    assert threading.active_count() == 1  # nobody waits, and no thread does


def test_a_process_that_gives_no_answer_is_given_up_and_ends(started: list[Child], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    child = Child(command(BEGIN + f"frames.send(b'up')\nopen({str(tmp_path / 'pipe')!r})\n"))
    started.append(child)
    assert child.receive(LONG_S) == b"up"
    with pytest.raises(ChildSilent):
        child.receive(0.1)
    child.end()
    assert not is_there(child.pid)
    assert not child.is_running


def test_a_stopped_process_that_takes_nothing_holds_nobody(started: list[Child]) -> None:
    child = Child(command(ECHO))
    started.append(child)
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(ChildSilent):
        child.send(bytes(8 << 20), 0.1)
    child.end()
    assert not is_there(child.pid)


def test_a_process_that_dies_tells_how_with_the_end_of_what_it_printed(started: list[Child]) -> None:
    child = Child(command(BEGIN + "raise SystemExit('x' * 9_000 + ' the reason')\n"))
    started.append(child)
    with pytest.raises(ChildEnded, match=r"ended with code 1\.\n.* the reason") as raised:
        child.receive(LONG_S)
    assert len(str(raised.value)) < 5_000
    with pytest.raises(ChildEnded):
        child.send(b"more", LONG_S)
    killed = Child(command("import os\nos.kill(os.getpid(), 9)\n"))
    started.append(killed)
    with pytest.raises(ChildEnded, match="by signal 9"):
        killed.receive(LONG_S)


def test_a_wait_that_is_broken_off_loses_no_frame(started: list[Child]) -> None:
    child = Child(command(ECHO))
    started.append(child)

    class NotWanted(Exception):
        pass

    def refuse() -> None:
        raise NotWanted

    with pytest.raises(NotWanted):
        child.receive(LONG_S, refuse)
    child.send(b"one", LONG_S)
    assert child.receive(LONG_S) == b"oneone"


def test_one_that_nobody_refers_to_ends() -> None:
    child = Child(command(ECHO))
    pid = child.pid
    del child
    gc.collect()
    until(lambda: not is_there(pid))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_a_process_that_hangs_ends_though_its_parent_was_killed(tmp_path: Path) -> None:
    """With the interpreter held, as libgit2 does: no thread of it can see that its input has ended."""
    os.mkfifo(tmp_path / "pipe")
    hang = (
        BEGIN + "import ctypes, os\ndie_after(1.0)\nframes.send(str(os.getpid()).encode())\n"
        f"ctypes.PyDLL(None).open({os.fsencode(tmp_path / 'pipe')!r}, os.O_RDONLY)\n"
    )
    parent = (
        "import sys\nfrom reverie.files.child import Child\n"
        "child = Child([sys.executable, '-P', '-c', sys.argv[1]])\n"
        "print(child.receive(60).decode(), flush=True)\nsys.stdin.read()\n"
    )
    started = subprocess.Popen(
        [*command(parent), hang], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    started.kill()
    started.communicate()
    until(lambda: not is_there(pid))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux holds to it")
def test_memory_is_limited(started: list[Child]) -> None:
    script = (
        BEGIN + "limit_memory(256 << 20)\nframes.send(b'up')\nbytearray(512 << 20)\nframes.send(b'more')\n"
    )
    child = Child(command(script))
    started.append(child)
    assert child.receive(LONG_S) == b"up"
    with pytest.raises(ChildEnded, match="MemoryError"):
        child.receive(LONG_S)


def test_a_process_ends_with_its_input_and_one_that_does_not_is_killed() -> None:
    willing = ChildProcess(command("import sys\nsys.stdin.read()\n"))
    assert willing.exit_code is None
    assert willing.stop(LONG_S)
    assert willing.exit_code == 0
    script = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\n"
    )
    stubborn = ChildProcess(command(script + "time.sleep(600)\n"))
    assert stubborn.reader.readline() == b"up\n"
    assert not stubborn.stop(0.05, terminate=True)
    assert stubborn.exit_code == -signal.SIGKILL
    for each in (willing, stubborn):
        each.hang_up()
        each.reader.close()
