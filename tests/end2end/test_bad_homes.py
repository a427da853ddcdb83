"""One bad home among good ones: it is named with its cause, and every command goes on with the others.

The commands are real processes without the rights of root, for root may enter everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.samples import copy_sample
from helpers.without_rights import AsUser, as_user


@pytest.fixture(scope="module")
def reverie() -> Iterator[AsUser]:
    """Runs commands as an ordinary user."""
    with as_user() as found:
        yield found


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A user's home directory with a good home in it."""
    return copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum")


@pytest.fixture
def closed() -> Iterator[list[Path]]:
    """Directories that are opened again at the end, so that they can be removed."""
    directories: list[Path] = []
    yield directories
    for directory in directories:
        directory.chmod(0o700)


@pytest.fixture
def codex(tmp_path: Path, closed: list[Path]) -> Path:
    """A Codex home that nobody may enter, as `sudo codex` leaves it."""
    bad = tmp_path / ".codex"
    (bad / "memories").mkdir(parents=True)
    (bad / "session_index.jsonl").touch()
    bad.chmod(0)
    closed.append(bad)
    return bad


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("homes",), 1),
        (("search", "testing"), 1),
        (("traces",), 1),
        (("runs",), 0),
        (("tree", "--workspace", "a1f3c9e2b7"), 0),
        (("status", "--workspace", "a1f3c9e2b7"), 0),
        (("sweep", "--dry-run"), 0),
        (("doctor", "--workspace", "a1f3c9e2b7"), None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_home_that_cannot_be_entered_is_named_and_the_good_one_is_worked_on(
    reverie: AsUser, tmp_path: Path, good: Path, codex: Path, words: tuple[str, ...], code: int | None
) -> None:
    done = reverie(*words, "--json", home_dir=tmp_path)
    assert "Traceback" not in done.stderr
    assert f"{codex} cannot be read. Permission is denied." in done.stderr
    assert code is None or done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    assert not (isinstance(answer, dict) and "error" in answer), answer
    if words == ("homes",):
        assert [home["root"] for home in answer] == [str(good)]


def test_where_it_is_the_only_one_the_cause_is_the_answer(
    reverie: AsUser, tmp_path: Path, codex: Path
) -> None:
    for words in (("homes",), ("tree",), ("tree", "--home", str(codex))):
        done = reverie(*words, home_dir=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        assert f"{codex} cannot be read. Permission is denied." in done.stderr


def test_a_link_to_a_place_that_is_gone_is_named(reverie: AsUser, tmp_path: Path, good: Path) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / "unplugged" / "claude")
    done = reverie("homes", home_dir=tmp_path)
    assert str(good) in done.stdout
    assert f"{tmp_path / '.claude'} cannot be read. It is a broken symbolic link" in done.stderr


def test_a_place_where_nothing_ever_was_is_not_named(reverie: AsUser, tmp_path: Path, good: Path) -> None:
    done = reverie("homes", home_dir=tmp_path, CODEX_HOME=str(tmp_path / "never"))
    assert (done.returncode, done.stderr) == (0, "")
    assert str(good) in done.stdout


@pytest.mark.parametrize("folder", ["memories", "memory", "sessions", "memory/global"])
def test_a_home_with_one_closed_folder_ends_no_command_in_a_traceback(
    reverie: AsUser, tmp_path: Path, good: Path, closed: list[Path], folder: str
) -> None:
    # As a home of another agent could be: the folder's name is not this one's alone.
    (good / folder).mkdir(exist_ok=True)
    (good / folder).chmod(0)
    closed.append(good / folder)
    for words in (
        ("homes",),
        ("tree", "--workspace", "a1f3c9e2b7"),
        ("status", "--workspace", "a1f3c9e2b7"),
        ("search", "testing"),
        ("runs",),
        ("traces",),
        ("context", "--workspace", "a1f3c9e2b7"),
        ("sweep", "--dry-run"),
    ):
        done = reverie(*words, "--home", str(good), home_dir=tmp_path)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert done.returncode in (0, 1), (words, done.stderr)
        assert done.returncode == 0 or done.stderr, words


@pytest.mark.parametrize("name", ["memory-meta.json", "memory-consolidation.json"])
def test_a_sidecar_that_may_not_be_read_leaves_the_memories_readable(
    reverie: AsUser, tmp_path: Path, good: Path, name: str
) -> None:
    (good / name).chmod(0)
    for words in (("tree", "--workspace", "a1f3c9e2b7"), ("search", "testing"), ("homes",)):
        done = reverie(*words, home_dir=tmp_path)
        assert "Traceback" not in done.stderr
        assert "testing" in done.stdout or words == ("homes",), (words, done.stderr)
        assert done.returncode == 0, (words, done.stderr)
    done = reverie("status", "--workspace", "a1f3c9e2b7", home_dir=tmp_path)
    assert "Traceback" not in done.stderr


def test_the_tree_says_that_pins_are_not_known(reverie: AsUser, tmp_path: Path, good: Path) -> None:
    (good / "memory-meta.json").chmod(0)
    done = reverie("tree", "--workspace", "a1f3c9e2b7", home_dir=tmp_path)
    assert "Pins and use counts are unknown." in done.stderr
    assert "Permission is denied." in done.stderr
