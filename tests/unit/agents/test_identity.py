"""Which home is which."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.agents.identity import HomeRegistry, OpenedHome
from reverie.clock import fixed_clock
from reverie.errors import StoreError, Unavailable

NOW = 1_787_000_000_000


@pytest.fixture
def registry(tmp_path: Path) -> HomeRegistry:
    return open_registry(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "home")


def open_registry(tmp_path: Path) -> HomeRegistry:
    profile = tmp_path / "profile"
    return HomeRegistry(profile / "homes.json", lock_dir=profile / "locks", clock=fixed_clock(NOW))


def make(path: Path) -> Path:
    path.mkdir()
    (path / "config.json").write_text("{}")
    return path


def test_a_home_keeps_its_id_when_opened_again(registry: HomeRegistry, root: Path, tmp_path: Path) -> None:
    first = registry.identify(root, kind="mux")
    assert first == open_registry(tmp_path).identify(root, kind="mux")
    assert first.root == root.resolve()
    assert first.adoptable == ()
    (known,) = registry.known()
    assert (known.id, known.root, known.kind) == (first.id, root.resolve(), "mux")


def test_ids_are_random_and_sixteen_hex_digits(registry: HomeRegistry, tmp_path: Path) -> None:
    ids = {registry.identify(make(tmp_path / f"h{number}"), kind="mux").id for number in range(5)}
    assert len(ids) == 5
    assert all(len(found) == 16 and int(found, 16) >= 0 for found in ids)


def test_the_same_home_through_a_symlink_has_the_same_id(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "parent").symlink_to(tmp_path)
    own = registry.identify(root, kind="mux")
    assert registry.identify(tmp_path / "link", kind="mux") == own
    assert registry.identify(tmp_path / "parent" / "home", kind="mux") == own
    assert len(registry.known()) == 1


def test_a_moved_home_is_offered_for_adoption_and_takes_its_history_along(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    old = registry.identify(root, kind="mux")
    moved = root.rename(tmp_path / "moved")
    new = registry.identify(moved, kind="mux")
    assert new.id != old.id
    assert [known.id for known in new.adoptable] == [old.id]
    assert registry.adopt(moved, old.id).id == old.id
    after = open_registry(tmp_path).identify(moved, kind="mux")
    assert (after.id, after.root, after.adoptable) == (old.id, moved, ())
    assert len(registry.known()) == 1


def test_a_copied_home_gets_an_id_of_its_own_and_is_offered_nothing(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    original = registry.identify(root, kind="mux")
    copy = registry.identify(Path(shutil.copytree(root, tmp_path / "copy")), kind="mux")
    assert copy.id != original.id
    assert copy.adoptable == ()
    assert registry.identify(root, kind="mux") == original
    with pytest.raises(StoreError):
        registry.adopt(tmp_path / "copy", original.id)


def test_a_directory_put_in_place_of_a_home_is_new_and_may_adopt(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    old = registry.identify(root, kind="mux")
    root.rename(tmp_path / "aside")
    new = registry.identify(make(root), kind="mux")
    assert new.id != old.id
    assert [known.id for known in new.adoptable] == [old.id]
    # Moved away and replaced: either of the two may be the old one.
    assert [known.id for known in registry.identify(tmp_path / "aside", kind="mux").adoptable] == [old.id]


def test_adopting_twice_or_what_is_unknown_is_refused_and_changes_nothing(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    old = registry.identify(root, kind="mux")
    moved = root.rename(tmp_path / "moved")
    registry.identify(moved, kind="mux")
    registry.adopt(moved, old.id)
    before = registry.known()
    for known_id in (old.id, "0" * 16):
        with pytest.raises(StoreError):
            registry.adopt(moved, known_id)
    assert registry.known() == before


def test_the_id_that_adoption_replaced_stays_on_record(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    old = registry.identify(root, kind="mux")
    moved = root.rename(tmp_path / "moved")
    new = registry.identify(moved, kind="mux")
    registry.adopt(moved, old.id)
    homes = json.loads((tmp_path / "profile" / "homes.json").read_text())["homes"]
    assert homes[new.id]["replacedBy"] == old.id


def test_another_device_number_at_the_same_path_is_the_same_home(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    own = registry.identify(root, kind="mux")
    file = tmp_path / "profile" / "homes.json"
    data = json.loads(file.read_text())
    data["homes"][own.id]["device"] += 1
    file.write_text(json.dumps(data))
    assert registry.identify(root, kind="mux").id == own.id


def test_without_create_nothing_is_written(registry: HomeRegistry, root: Path, tmp_path: Path) -> None:
    assert registry.identify(root, kind="mux", create=False) is None
    assert registry.known() == ()
    assert not (tmp_path / "profile").exists()
    own = registry.identify(root, kind="mux")
    assert registry.identify(root, kind="mux", create=False) == own


def test_a_vanished_home_is_unavailable_and_gets_no_id(registry: HomeRegistry, root: Path) -> None:
    registry.identify(root, kind="mux")
    shutil.rmtree(root)
    with pytest.raises(Unavailable):
        registry.identify(root, kind="mux")
    assert len(registry.known()) == 1


def test_identifying_touches_nothing_in_the_home(registry: HomeRegistry, root: Path) -> None:
    before = (root.stat().st_mtime_ns, sorted(root.iterdir()))
    registry.identify(root, kind="mux")
    assert (root.stat().st_mtime_ns, sorted(root.iterdir())) == before


def test_the_registry_is_private(registry: HomeRegistry, root: Path, tmp_path: Path) -> None:
    registry.identify(root, kind="mux")
    assert (tmp_path / "profile").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "entry", [None, 5, {}, {"root": 5, "device": 1, "inode": 1}, {"root": "/x", "device": "1", "inode": 1}]
)
def test_a_damaged_entry_hides_no_other_and_survives(
    registry: HomeRegistry, root: Path, tmp_path: Path, entry: object
) -> None:
    own = registry.identify(root, kind="mux")
    file = tmp_path / "profile" / "homes.json"
    data = json.loads(file.read_text())
    data["homes"] = {"f" * 16: entry, "../x": data["homes"][own.id]} | data["homes"]
    data["later"] = 1
    file.write_text(json.dumps(data))
    assert registry.identify(root, kind="mux") == own
    registry.identify(make(tmp_path / "second"), kind="mux")
    after = json.loads(file.read_text())
    assert after["homes"]["f" * 16] == entry
    assert after["later"] == 1
    assert len(registry.known()) == 2


def test_a_process_that_was_a_moment_faster_decides_the_id(
    registry: HomeRegistry, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[str] = []

    def token_hex(size: int) -> str:
        # Between the look into the registry and the write to it.
        monkeypatch.undo()
        first.append(open_registry(tmp_path).identify(root, kind="mux").id)
        return "0" * 2 * size

    monkeypatch.setattr("secrets.token_hex", token_hex)
    assert [registry.identify(root, kind="mux").id] == first
    assert len(registry.known()) == 1


_IDENTIFY = """
import sys
from pathlib import Path
from reverie.agents.identity import HomeRegistry, OpenedHome
profile, root = map(Path, sys.argv[1:])
registry = HomeRegistry(profile / "homes.json", lock_dir=profile / "locks", clock=lambda: 0)
sys.stdin.readline()
print(registry.identify(root, kind="mux").id)
"""


def test_processes_that_meet_a_home_at_the_same_time_agree_on_its_id(root: Path, tmp_path: Path) -> None:
    others = [
        subprocess.Popen(
            [sys.executable, "-c", _IDENTIFY, str(tmp_path / "profile"), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for other in others:
        assert other.stdin is not None
        other.stdin.write("go\n")
        other.stdin.flush()
    ids = {other.communicate(timeout=60)[0].strip() for other in others}
    assert ids == {open_registry(tmp_path).identify(root, kind="mux").id}


def opened(registry: HomeRegistry, root: Path) -> OpenedHome:
    return OpenedHome(registry, registry.identify(root, kind="mux"), root, kind="mux")


def test_a_home_that_stays_where_it_is_stays_the_same(registry: HomeRegistry, root: Path) -> None:
    home = opened(registry, root)
    (root / "config.json").write_text('{"changed": true}')
    registry.identify(make(root.with_name("another")), kind="mux")
    home.require()


def test_another_home_in_its_place_is_told_and_the_first_one_come_back_is_it_again(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    home = opened(registry, root)
    root.rename(tmp_path / "away")
    with pytest.raises(Unavailable, match="is not available"):
        home.require()
    make(root)
    with pytest.raises(Unavailable, match="now contains a different home") as caught:
        home.require()
    assert caught.value.reason == "replaced"
    shutil.rmtree(root)
    (tmp_path / "away").rename(root)
    home.require()


def test_a_link_that_leads_to_another_home_by_now_is_told(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    home = OpenedHome(registry, registry.identify(link, kind="mux"), link, kind="mux")
    home.require()
    link.unlink()
    link.symlink_to(make(tmp_path / "other"))
    with pytest.raises(Unavailable, match="now contains a different home"):
        home.require()


def test_a_home_that_was_adopted_meanwhile_is_told_to_have_another_id(
    registry: HomeRegistry, root: Path, tmp_path: Path
) -> None:
    old = registry.identify(root, kind="mux")
    moved = root.rename(tmp_path / "moved")
    home = opened(registry, moved)
    home.require()
    open_registry(tmp_path).adopt(moved, old.id)
    with pytest.raises(Unavailable, match="is now linked to the history of another home"):
        home.require()
