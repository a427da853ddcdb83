"""Process identity: alive is alive, dead is dead, and a process id given to somebody else is neither."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from reverie.files.locks import ProcessId, is_alive, this_process
from reverie.values import replace

_SHOW = """
import json, sys
from reverie.files.locks import this_process
from reverie.values import astuple
print(json.dumps(astuple(this_process())), flush=True)
sys.stdin.read()
"""


def _child() -> tuple[subprocess.Popen[str], ProcessId]:
    import json

    process = subprocess.Popen(
        [sys.executable, "-c", _SHOW], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, ProcessId(*json.loads(process.stdout.readline()))


def test_this_process_is_alive_and_always_the_same() -> None:
    assert this_process() == this_process()
    assert this_process().pid == os.getpid()
    assert is_alive(this_process())


def test_another_process_is_alive_until_it_is_killed_and_dead_before_it_is_reaped() -> None:
    process, identity = _child()
    with process:
        assert is_alive(identity)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead now, and still a zombie
        assert not is_alive(identity)
    assert not is_alive(identity)


@pytest.mark.parametrize(
    "changed", [{"started": 1}, {"pid": 2**22 + 1}, {"boot": "00000000-0000-0000-0000-000000000000/1"}]
)
def test_another_start_another_boot_or_no_process_is_dead(changed: dict[str, Any]) -> None:
    assert not is_alive(replace(this_process(), **changed))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")
def test_a_process_of_another_container_counts_as_alive() -> None:
    boot = this_process().boot.partition("/")[0]
    assert is_alive(ProcessId(2**22 + 1, 1, f"{boot}/1"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_program_name_with_brackets_and_spaces_is_read_right() -> None:
    name = b"a) R (b"
    import ctypes

    libc = ctypes.CDLL(None)
    before = this_process()
    old = ctypes.create_string_buffer(16)
    libc.prctl(16, old)
    try:
        libc.prctl(15, name)
        assert this_process() == before
    finally:
        libc.prctl(15, old.value)
