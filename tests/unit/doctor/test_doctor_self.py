"""`doctor --self`: Reverie's own folders, settings and limits are judged, and looking makes none of them."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from reverie.doctor.findings import Finding
from reverie.doctor.self_checks import LIBRARIES, examine_self
from reverie.profile import Profile


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile.under(tmp_path / "profile")


def examined(profile: Profile, limits: Path = Path("/nonexistent"), homes: int = 1) -> dict[str, Finding]:
    found = examine_self(profile, now=now(), homes=homes, env={"DISPLAY": ":0"}, limits=limits)
    return {finding.check: finding for finding in found}


def test_a_new_profile_is_in_order_and_nothing_is_made(profile: Profile, tmp_path: Path) -> None:
    assert {name for name, found in examined(profile).items() if found.state != "pass"} == set()
    assert list(tmp_path.iterdir()) == []


def test_of_a_new_profile_no_file_is_named_as_if_it_were_there(profile: Profile) -> None:
    found = examined(profile)
    assert found["settings"].evidence == (
        f"{profile.settings_file} does not exist yet; all settings have their default values."
    )
    assert found["leases"].evidence.startswith("The list does not exist yet")


def test_every_library_that_the_program_needs_is_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [each for each in project["project"]["dependencies"] if ";" not in each]
    assert sorted(LIBRARIES) == sorted(each.partition(">")[0] for each in needed)


def test_a_folder_that_others_may_read_is_named_and_closed(profile: Profile) -> None:
    profile.data.mkdir(parents=True, mode=0o755)
    profile.data.chmod(0o755)
    found = examined(profile)["folder-data"]
    assert (found.state, "Other users can read" in found.evidence) == ("warn", True)
    assert found.fix is not None
    found.fix.apply()
    assert examined(profile)["folder-data"].state == "pass"


def test_a_write_protected_folder_is_a_failure_that_one_press_mends(profile: Profile) -> None:
    profile.state.mkdir(parents=True)
    profile.state.chmod(0o500)
    found = examined(profile)["folder-state"]
    assert found.state == "fail"
    assert found.fix is not None
    found.fix.apply()
    assert examined(profile)["folder-state"].state == "pass"


def test_settings_that_do_not_count_are_quoted(profile: Profile) -> None:
    profile.config.mkdir(parents=True)
    profile.settings_file.write_text('[watch]\nquiet_ms = "soon"\n')
    found = examined(profile)["settings"]
    assert (found.state, "watch.quiet_ms" in found.evidence) == ("warn", True)


def test_a_broken_list_of_jobs_is_a_failure(profile: Profile) -> None:
    profile.state.mkdir(parents=True)
    profile.leases_database.write_text("no database at all")
    assert examined(profile)["leases"].state == "fail"


def test_a_low_limit_of_watches_comes_with_the_command_that_raises_it(
    profile: Profile, tmp_path: Path
) -> None:
    (tmp_path / "max_user_watches").write_text("8192\n")
    found = examined(profile, tmp_path)["watch-limit"]
    assert (found.state, "sysctl" in found.evidence) == ("warn", True)


def test_no_home_and_a_clock_before_the_program_are_named(profile: Profile) -> None:
    assert examined(profile, homes=0)["homes"].state == "warn"
    found = examine_self(profile, now=1, homes=1, env={})
    assert {finding.check for finding in found if finding.state == "fail"} == {"clock"}
