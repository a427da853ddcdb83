"""Where Reverie keeps its own files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reverie.errors import UserError
from reverie.profile import Profile

posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")


def test_one_directory_holds_a_whole_profile(tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "p")
    assert [profile.config, profile.data, profile.cache, profile.state] == [
        tmp_path / "p" / name for name in ("config", "data", "cache", "state")
    ]


def test_xdg_variables_decide_wherever_they_are_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    assert Profile.default() == Profile(
        tmp_path / "config" / "reverie",
        tmp_path / "data" / "reverie",
        tmp_path / "cache" / "reverie",
        tmp_path / "state" / "reverie",
    )


@pytest.mark.parametrize("value", ["", "relative/dir", None])
def test_an_unset_or_relative_xdg_variable_does_not_count(
    monkeypatch: pytest.MonkeyPatch, isolated_home: Path, value: str | None
) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        if value is None:
            monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
        else:
            monkeypatch.setenv(f"XDG_{name}_HOME", value)
    profile = Profile.default()
    for directory in (profile.config, profile.data, profile.cache, profile.state):
        assert directory.is_absolute()
        assert directory.is_relative_to(isolated_home)


def test_looking_at_a_profile_creates_nothing(tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "p")
    places = [
        profile.settings_file,
        profile.registry,
        profile.leases_database,
        profile.locks,
        profile.actor_log,
        profile.history("ab"),
        profile.runs("ab"),
        profile.activity("ab"),
        profile.own_sidecars("ab"),
    ]
    assert len(set(places)) == len(places)
    assert all(place.is_relative_to(tmp_path / "p") for place in places)
    assert not (tmp_path / "p").exists()


def test_a_directory_and_its_missing_parents_are_made_and_returned(tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "a" / "p")
    assert profile.ensure(profile.runs("ab")) == profile.runs("ab")
    assert profile.runs("ab").is_dir()
    assert not profile.config.exists()
    profile.ensure(profile.runs("ab"))


@posix
def test_all_that_is_made_is_private_whatever_the_umask(tmp_path: Path) -> None:
    profile = Profile.under(tmp_path / "p")
    before = os.umask(0)
    try:
        profile.ensure(profile.runs("ab"))
    finally:
        os.umask(before)
    made = [tmp_path / "p", *(path for path in (tmp_path / "p").rglob("*"))]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}


@posix
def test_a_directory_that_was_there_before_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "p" / "data").mkdir(parents=True)
    for directory in (tmp_path / "p", tmp_path / "p" / "data"):
        directory.chmod(0o755)
    profile = Profile.under(tmp_path / "p")
    profile.ensure(profile.data)
    profile.ensure(profile.runs("ab"))
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o755
    assert profile.data.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in profile.data.rglob("*")} == {0o700}


def test_a_file_in_the_way_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("")
    with pytest.raises(UserError):
        Profile.under(tmp_path / "p").ensure(tmp_path / "p" / "state")
