"""Sidecars: tolerant to read, strict to write, no update lost, nothing healed into emptiness."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reverie.clock import fixed_clock
from reverie.errors import Busy, Conflict, Unavailable
from reverie.files.locks import file_lock
from reverie.files.sidecar import LARGEST, MAX_DEPTH, Sidecar

NOW = 1_767_225_600_000

_COUNT = """
import sys
from pathlib import Path
from reverie.clock import system_clock
from reverie.files.sidecar import Sidecar
home, who, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sidecar = Sidecar(home / "meta.json", lock_dir=home / "locks", clock=system_clock)
def change(data):
    data["shared"] = data.get("shared", 0) + 1
    data.setdefault(who, []).append(data["shared"])
    return data
for _ in range(times):
    sidecar.update(change)
"""


def _names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def sidecar(home: Path) -> Sidecar:
    return Sidecar(home / "meta.json", lock_dir=home.parent / "locks", clock=fixed_clock(NOW))


def _set(key: str, value: Any) -> Any:
    def change(data: dict[str, Any]) -> dict[str, Any]:
        data[key] = value
        return data

    return change


def test_a_missing_file_is_missing_and_reading_creates_nothing(sidecar: Sidecar, tmp_path: Path) -> None:
    read = sidecar.read()
    assert (read.data, read.sha256, read.state) == ({}, None, "missing")
    assert _names(tmp_path) == ["home"]


def test_two_processes_lose_no_update(home: Path) -> None:
    command = [sys.executable, "-c", _COUNT, str(home)]
    workers = [subprocess.Popen([*command, who, "100"]) for who in ("a", "b")]
    assert [worker.wait() for worker in workers] == [0, 0]
    data = json.loads((home / "meta.json").read_bytes())
    assert data["shared"] == 200
    assert sorted(data["a"] + data["b"]) == list(range(1, 201))


def test_threads_lose_no_update(sidecar: Sidecar) -> None:
    def work() -> None:
        for _ in range(20):
            sidecar.update(lambda data: {**data, "n": data.get("n", 0) + 1})

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sidecar.read().data == {"n": 60}


def test_unknown_fields_and_key_order_survive_at_every_level(sidecar: Sidecar) -> None:
    before = {"zeta": {"b": 1, "a": [{"y": None, "x": "é"}]}, "version": 7, "alpha": "\u2028"}
    sidecar.path.write_text(json.dumps(before), encoding="utf-8")
    returned = sidecar.update(_set("version", 8))
    after = json.loads(sidecar.path.read_bytes())
    assert after == before | {"version": 8} == returned
    assert list(after) == ["zeta", "version", "alpha"]
    assert list(after["zeta"]) == ["b", "a"]
    assert list(after["zeta"]["a"][0]) == ["y", "x"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(max_size=4),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=4), st.lists),
        max_size=4,
    )
)
def test_any_object_survives_a_change_elsewhere(sidecar: Sidecar, before: dict[str, Any]) -> None:
    sidecar.path.write_bytes(json.dumps(before).encode())
    sidecar.update(_set("ours", 1))
    assert json.loads(sidecar.path.read_bytes()) == before | {"ours": 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda data: None,
        lambda data: data,
        lambda data: data.clear(),
        lambda data: json.loads(json.dumps(data)),
        lambda data: {**data, "n": 1},
    ],
    ids=["none", "same", "edited-then-none", "equal", "integral"],
)
def test_nothing_is_written_when_nothing_changes(sidecar: Sidecar, change: Any) -> None:
    sidecar.path.write_bytes(b'{ "n" : 1.0, "t": true }\n')
    before = sidecar.path.stat()
    assert sidecar.update(change) == {"n": 1, "t": True}
    after = sidecar.path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sidecar.path.read_bytes() == b'{ "n" : 1.0, "t": true }\n'


def test_nothing_said_about_a_missing_or_unreadable_file_writes_nothing(sidecar: Sidecar) -> None:
    assert sidecar.update(lambda data: data) == {}
    assert not sidecar.path.exists()
    sidecar.path.write_bytes(b"broken")
    assert sidecar.update(lambda data: {}) == {}
    assert _names(sidecar.path.parent) == ["meta.json"]


@pytest.mark.parametrize(
    "changed", [{"t": 1, "n": 1}, {"n": 1, "t": True}, {"t": True}], ids=["true-to-1", "order", "less"]
)
def test_a_change_that_python_calls_equal_is_written(sidecar: Sidecar, changed: dict[str, Any]) -> None:
    sidecar.path.write_bytes(b'{"t": true, "n": 1}')
    sidecar.update(lambda data: changed)
    assert sidecar.path.read_bytes() == json.dumps(changed, indent=2).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"[1]",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b'{"a": 1} trailing',
        b"[" * 100_000,
        b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
    ],
)
def test_an_unreadable_file_is_kept_beside_its_successor(sidecar: Sidecar, raw: bytes) -> None:
    sidecar.path.write_bytes(raw)
    sidecar.path.chmod(0o640)
    read = sidecar.read()
    assert (read.state, read.data) == ("unreadable", {})
    assert read.sha256 is not None
    assert read.problem.startswith("meta.json cannot be read: ")
    assert _names(sidecar.path.parent) == ["meta.json"]
    sidecar.update(_set("a", 1))
    aside = sidecar.path.with_name(f"meta.json.unreadable-{NOW}")
    assert aside.read_bytes() == raw
    assert aside.stat().st_mode & 0o777 == 0o640
    assert sidecar.read().data == {"a": 1}


def test_a_second_unreadable_file_does_not_replace_the_first_one_kept(sidecar: Sidecar) -> None:
    for raw in (b"first", b"second"):
        sidecar.path.write_bytes(raw)
        sidecar.update(_set("a", 1))
    kept = sorted(sidecar.path.parent.glob("*.unreadable-*"))
    assert [file.read_bytes() for file in kept] == [b"first", b"second"]


def test_a_file_that_cannot_be_reached_is_unavailable_and_never_empty(sidecar: Sidecar) -> None:
    sidecar.path.mkdir()
    with pytest.raises(Unavailable, match="could not be read"):
        sidecar.read()
    with pytest.raises(Unavailable):
        sidecar.update(_set("a", 1))
    sidecar.path.rmdir()
    os.mkfifo(sidecar.path)
    with pytest.raises(Unavailable):
        sidecar.read()


def test_a_transient_error_is_unavailable(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    sidecar.path.write_bytes(b'{"a": 1}')
    import errno

    from reverie.files.directory import Directory

    def fail(*_args: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Directory, "read", fail)
        with pytest.raises(Unavailable, match="input/output error"):
            sidecar.update(_set("a", 2))
    assert sidecar.read().data == {"a": 1}


def test_a_vanished_home_is_not_made_anew(sidecar: Sidecar) -> None:
    sidecar.path.parent.rmdir()
    assert sidecar.read().state == "missing"
    with pytest.raises(Unavailable):
        sidecar.update(_set("a", 1))
    assert not sidecar.path.parent.exists()


def test_a_version_written_by_an_agent_after_our_read_is_changed_not_overwritten(sidecar: Sidecar) -> None:
    sidecar.path.write_bytes(b'{"agent": 1}')
    calls = 0

    def change(data: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls <= 3:
            new = sidecar.path.with_name("agent.tmp")
            new.write_bytes(b'{"agent": %d}' % (calls + 1))
            new.replace(sidecar.path)
        return data | {"ours": True}

    assert sidecar.update(change) == {"agent": 4, "ours": True}
    assert json.loads(sidecar.path.read_bytes()) == {"agent": 4, "ours": True}
    assert calls == 4


def test_an_agent_that_deletes_the_file_after_our_read_is_heard(sidecar: Sidecar) -> None:
    sidecar.path.write_bytes(b'{"agent": 1}')

    def change(data: dict[str, Any]) -> dict[str, Any]:
        sidecar.path.unlink(missing_ok=True)
        return data | {"ours": True}

    assert sidecar.update(change) == {"ours": True}


def test_an_agent_that_never_stops_writing_is_a_conflict_and_keeps_its_version(sidecar: Sidecar) -> None:
    count = 0

    def change(data: dict[str, Any]) -> dict[str, Any]:
        nonlocal count
        count += 1
        sidecar.path.write_bytes(b'{"agent": %d}' % count)
        return data | {"ours": True}

    with pytest.raises(Conflict):
        sidecar.update(change)
    assert json.loads(sidecar.path.read_bytes()) == {"agent": count}


def test_a_change_that_raises_leaves_the_file_and_the_lock_free(sidecar: Sidecar, home: Path) -> None:
    sidecar.path.write_bytes(b'{"a": 1}')

    def change(data: dict[str, Any]) -> dict[str, Any]:
        data.clear()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        sidecar.update(change)
    assert sidecar.path.read_bytes() == b'{"a": 1}'
    sidecar.update(_set("a", 2))


def test_an_update_waits_for_the_lock_of_the_real_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "dotfiles").mkdir()
    (home / "meta.json").symlink_to("dotfiles/meta.json")
    sidecar = Sidecar(home / "meta.json", lock_dir=home / "locks", clock=fixed_clock(NOW))
    from reverie.files import sidecar as module

    def impatient(lock_dir: Path, target: Path) -> Any:
        return file_lock(lock_dir, target, timeout_s=0)

    monkeypatch.setattr(module, "file_lock", impatient)
    with file_lock(home / "locks", home / "dotfiles" / "meta.json"), pytest.raises(Busy):
        sidecar.update(_set("a", 1))


def test_a_symlink_is_written_through_to_the_file_of_a_dotfiles_manager(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "meta.json").write_bytes(b'{"a": 1}')
    (home / "meta.json").symlink_to("dotfiles/meta.json")
    sidecar = Sidecar(home / "meta.json", lock_dir=home.parent / "locks", clock=fixed_clock(NOW))
    sidecar.update(_set("b", 2))
    assert (home / "meta.json").is_symlink()
    assert json.loads((home / "dotfiles" / "meta.json").read_bytes()) == {"a": 1, "b": 2}


def test_symlinks_in_a_circle_are_unavailable(sidecar: Sidecar) -> None:
    sidecar.path.symlink_to("other.json")
    sidecar.path.with_name("other.json").symlink_to("meta.json")
    with pytest.raises(Unavailable):
        sidecar.read()
    with pytest.raises(Unavailable):
        sidecar.update(_set("a", 1))


def test_a_sidecar_that_is_too_large_to_be_read_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory-meta.json"
    path.write_bytes(b"{")
    os.truncate(path, 10 << 30)
    sidecar = Sidecar(path, lock_dir=tmp_path / "locks", clock=lambda: 1)
    for act in (sidecar.read, lambda: sidecar.update(lambda data: {**data, "x": 1})):
        with pytest.raises(Unavailable) as told:
            act()
    assert told.value.cause == f"The file is larger than {LARGEST:,} bytes."
    assert path.stat().st_size == 10 << 30
    assert {each.name for each in tmp_path.iterdir()} <= {path.name, "locks"}
