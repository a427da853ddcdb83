"""The remembered window is read whatever the file holds, and comes back as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.profile import Profile
from reverie.services.window_state import Remembered, read_remembered, remembered_file, write_remembered
from reverie.values import fields_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def _put(profile: Profile, content: bytes) -> None:
    profile.ensure(profile.state)
    remembered_file(profile).write_bytes(content)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    profile = Profile.under(tmp_path)
    kept = Remembered(
        home="/h", workspace="w", picker=False, tab=2, opened=(("global",), ("global", "ä")), cursor=7
    )
    write_remembered(profile, kept)
    assert read_remembered(profile) == kept
    assert remembered_file(profile).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"null", b"\xff", b'{"home": ' + b"[" * 5000])
def test_a_damaged_file_is_no_memory(tmp_path: Path, content: bytes) -> None:
    profile = Profile.under(tmp_path)
    assert read_remembered(profile) == Remembered()
    _put(profile, content)
    assert read_remembered(profile) == Remembered()


@given(st.dictionaries(st.sampled_from([*fields_of(Remembered), "new"]), JSON, max_size=6))
@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_field_counts_by_itself(tmp_path: Path, said: dict[str, Any]) -> None:
    profile = Profile.under(tmp_path)
    _put(profile, json.dumps({**said, "cursor": 4}).encode())
    found = read_remembered(profile)
    assert found.cursor == 4
    for name in fields_of(Remembered):
        if name != "opened":
            assert type(getattr(found, name)) is type(getattr(Remembered(), name))
    write_remembered(profile, found)
    assert read_remembered(profile) == found
