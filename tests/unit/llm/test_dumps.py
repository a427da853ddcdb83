"""Dumps lie where the agent's do, hold no secret, and only Reverie's own are ever removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reverie.clock import fixed_clock
from reverie.files.sidecar import Sidecar
from reverie.llm.trace_store import Dumps, dump_name


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "own").mkdir()
    return tmp_path / "home"


@pytest.fixture
def dumps(home: Path) -> Dumps:
    own = home.parent
    return Dumps(home, Sidecar(own / "own" / "d.json", lock_dir=own / "locks", clock=fixed_clock(1)))


def document(started: int, **more: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, "runStartedAt": started, "triggerMessageId": "assistant-1/2 x", **more}


def place(home: Path) -> Path:
    return home / "debug_obj" / "w" / "system1_memory_writer"


def test_a_dump_is_named_as_the_agent_names_its_own(home: Path, dumps: Dumps) -> None:
    path = dumps.write(place(home), document(17))
    assert path == place(home) / "17_assistant-1_2_x.json"
    assert path.read_bytes().startswith(b'{\n  "schemaVersion": 1')
    assert path.stat().st_mode & 0o777 == 0o600
    assert dump_name(1, "a..b__c/\\:d") == "1_a..b__c_d.json"


def test_a_dump_is_never_altered(home: Path, dumps: Dumps) -> None:
    first = dumps.write(place(home), document(17, n=1))
    second = dumps.write(place(home), document(17, n=2))
    assert first != second
    assert [json.loads(path.read_bytes())["n"] for path in (first, second)] == [1, 2]


def test_secrets_are_redacted_once_more(home: Path, dumps: Dumps) -> None:
    key = "sk-proj-" + "9f8E7d6C5b4A3" * 3
    path = dumps.write(
        place(home), document(1, attempts=[{"messages": [f"key {key}", {"k": f"api_key={key}"}]}])
    )
    assert key not in path.read_text()


def test_only_the_oldest_of_our_own_go(home: Path, dumps: Dumps) -> None:
    place(home).mkdir(parents=True)
    theirs = place(home) / "1_theirs.json"
    theirs.write_text("{}")
    ours = [dumps.write(place(home), document(number)) for number in range(10, 15)]
    assert dumps.written() == frozenset(ours)
    assert set(dumps.prune(keep_count=2, keep_bytes=10**9)) == set(ours[:3])
    assert sorted(place(home).iterdir()) == sorted([theirs, *ours[3:]])
    assert dumps.written() == frozenset(ours[3:])


def test_the_size_is_limited_and_the_newest_stays(home: Path, dumps: Dumps) -> None:
    ours = [dumps.write(place(home), document(number, text="x" * 1000)) for number in range(3)]
    dumps.prune(keep_count=100, keep_bytes=1500)
    assert list(place(home).iterdir()) == [ours[2]]
    dumps.prune(keep_count=1, keep_bytes=1)
    assert list(place(home).iterdir()) == [ours[2]]


def test_a_dump_that_somebody_changed_is_theirs_from_then_on(home: Path, dumps: Dumps) -> None:
    ours = [dumps.write(place(home), document(number)) for number in range(3)]
    ours[0].write_text("{} // my notes")
    dumps.prune(keep_count=1, keep_bytes=10**9)
    assert sorted(place(home).iterdir()) == [ours[0], ours[2]]
    assert dumps.written() == frozenset([ours[2]])


def test_a_dump_that_is_gone_is_forgotten(home: Path, dumps: Dumps) -> None:
    ours = [dumps.write(place(home), document(number)) for number in range(3)]
    ours[0].unlink()
    assert dumps.prune(keep_count=1, keep_bytes=10**9) == (ours[1],)
