"""Traces on disk: private, redacted, pruned by count and size, nothing else touched."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from reverie.errors import StoreError
from reverie.llm.trace_store import TraceStore
from reverie.profile import Profile

KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(Profile.under(tmp_path).traces("home"))


def test_a_trace_comes_back_as_it_was_saved_and_is_private(store: TraceStore) -> None:
    document: dict[str, Any] = {"schemaVersion": 1, "attempts": [{"wrote": True, "text": "é"}], "cost": None}
    path = store.save("17-0a", document)
    assert store.load("17-0a") == document
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_bytes().startswith(b'{\n  "schemaVersion": 1,')


def test_secrets_are_redacted_once_more(store: TraceStore) -> None:
    path = store.save("17-0a", {"a": [f"use {KEY}", {KEY: KEY}], "b": (KEY,)})
    assert KEY.encode() not in path.read_bytes()
    assert "{{REVERIE_SECRET_1}}" in store.save("17-0b", {"a": "key {{REVERIE_SECRET_1}}"}).read_text()


@pytest.mark.parametrize("run_id", ["", "..", "../17-a", "17-a/b", "17-a\0", "abc", "17-" + "a" * 100])
def test_what_is_no_run_id_is_refused(store: TraceStore, run_id: str) -> None:
    for use in (store.load, store.path_of, lambda name: store.save(name, {})):
        with pytest.raises(StoreError):
            use(run_id)


def test_missing_and_damaged_traces_are_told_apart(store: TraceStore) -> None:
    with pytest.raises(StoreError) as missing:
        store.load("17-0a")
    assert missing.value.reason == "missing"
    store.save("17-0a", {}).write_bytes(b'{"a"')
    with pytest.raises(StoreError) as damaged:
        store.load("17-0a")
    assert damaged.value.reason == "damaged"


def test_looking_makes_nothing(store: TraceStore, tmp_path: Path) -> None:
    assert store.ids() == ()
    assert store.prune() == ()
    assert list(tmp_path.iterdir()) == []


def test_the_oldest_go_beyond_the_count(store: TraceStore) -> None:
    for started in (9, 10, 100, 1000):
        store.save(f"{started}-a", {})
    assert store.prune(keep_count=2) == ("10-a", "9-a")
    assert store.ids() == ("1000-a", "100-a")


def test_the_oldest_go_beyond_the_size(store: TraceStore) -> None:
    for started in range(1, 5):
        store.save(f"{started}-a", {"text": "x" * 1000})
    store.save("5-a", {"text": "x" * 3000})
    assert store.prune(keep_bytes=4500) == ("3-a", "2-a", "1-a")
    assert store.ids() == ("5-a", "4-a")


def test_the_trace_just_saved_stays_however_old_or_large(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("10-a", {})
    monkeypatch.setattr(TraceStore.prune, "__kwdefaults__", {"keep_count": 1, "keep_bytes": 10, "always": ""})
    store.save("5-a", {"text": "x" * 100})
    assert store.ids() == ("5-a",)


def test_other_files_are_neither_listed_nor_pruned(store: TraceStore) -> None:
    path = store.save("17-0a", {})
    others = [path.parent / "notes.json", path.parent / "17-0a.json.bak"]
    for other in others:
        other.write_text("mine")
    (path.parent / "18-0a.json").mkdir()
    assert store.prune(keep_count=0) == ("17-0a",)
    assert all(other.exists() for other in others)
    assert store.ids() == ()
