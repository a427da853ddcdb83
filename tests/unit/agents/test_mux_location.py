"""Which directory is the home, and what counts as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.ordinary_user import without_power
from helpers.samples import copy_sample
from reverie.agents.mux.locations import detect, existing_home_roots, resolve_home_root

DEV = {"NODE_ENV": "development"}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    home = tmp_path / "user"
    home.mkdir()
    return home


def make(path: Path, *, populated: bool = True) -> Path:
    path.mkdir()
    if populated:
        (path / "config.json").write_text("{}")
    return path


def mark(user: Path, content: str, *, suffix: str = "") -> None:
    (user / f".xum{suffix}.legacy-fallback").write_text(content)


# The environment


def test_xum_root_is_taken_verbatim_and_goes_before_mux_root(user: Path) -> None:
    env = {"XUM_ROOT": "/x/y", "MUX_ROOT": "/m", **DEV}
    assert resolve_home_root(env, user) == Path("/x/y")


def test_mux_root_counts_when_xum_root_is_not_set(user: Path) -> None:
    make(user / ".xum")
    assert resolve_home_root({"MUX_ROOT": "/m", **DEV}, user) == Path("/m")


def test_an_empty_xum_root_hides_mux_root_and_counts_as_unset(user: Path) -> None:
    assert resolve_home_root({"XUM_ROOT": "", "MUX_ROOT": "/m"}, user) == user / ".xum"


def test_an_empty_mux_root_counts_as_unset(user: Path) -> None:
    assert resolve_home_root({"MUX_ROOT": ""}, user) == user / ".xum"


@pytest.mark.parametrize(
    ("env", "name"), [({}, ".xum"), (DEV, ".xum-dev"), ({"NODE_ENV": "production"}, ".xum")]
)
def test_only_development_has_the_suffix(user: Path, env: dict[str, str], name: str) -> None:
    assert resolve_home_root(env, user) == user / name


# Names below the user's home


def test_a_populated_canonical_home_goes_before_marker_and_older_names(user: Path) -> None:
    for name in (".xum", ".mux", ".cmux"):
        make(user / name)
    mark(user, ".mux")
    assert resolve_home_root({}, user) == user / ".xum"


def test_the_marker_goes_before_an_empty_canonical_home(user: Path) -> None:
    make(user / ".xum", populated=False)
    make(user / ".mux")
    assert resolve_home_root({}, user) == user / ".xum"
    mark(user, " .mux\n")
    assert resolve_home_root({}, user) == user / ".mux"


def test_the_marker_may_name_the_oldest_home_but_not_in_development(user: Path) -> None:
    for name in (".xum", ".xum-dev", ".cmux", ".mux-dev"):
        make(user / name, populated=False)
    mark(user, ".cmux")
    mark(user, ".cmux", suffix="-dev")
    assert resolve_home_root({}, user) == user / ".cmux"
    assert resolve_home_root(DEV, user) == user / ".xum-dev"
    mark(user, ".mux-dev", suffix="-dev")
    assert resolve_home_root(DEV, user) == user / ".mux-dev"


@pytest.mark.parametrize(
    "content", ["/etc", "../.mux", ".mux-dev", "mux", "", ".mux\n.cmux", " " * 61 + ".mux"]
)
def test_a_marker_with_anything_else_is_ignored(user: Path, content: str) -> None:
    make(user / ".xum", populated=False)
    make(user / ".mux")
    mark(user, content)
    assert resolve_home_root({}, user) == user / ".xum"


def test_a_marker_of_exactly_64_bytes_counts(user: Path) -> None:
    make(user / ".xum", populated=False)
    make(user / ".mux")
    mark(user, ".mux".ljust(64))
    assert resolve_home_root({}, user) == user / ".mux"


def test_a_marker_that_names_a_missing_home_is_ignored(user: Path) -> None:
    make(user / ".mux")
    mark(user, ".cmux")
    assert resolve_home_root({}, user) == user / ".mux"


@pytest.mark.skipif(os.name != "posix", reason="needs symlinks and pipes")
def test_a_marker_that_is_a_link_or_a_pipe_is_ignored_and_never_blocks(user: Path) -> None:
    make(user / ".xum", populated=False)
    make(user / ".mux")
    marker = user / ".xum.legacy-fallback"
    (user / "elsewhere").write_text(".mux")
    marker.symlink_to(user / "elsewhere")
    assert resolve_home_root({}, user) == user / ".xum"
    marker.unlink()
    os.mkfifo(marker)
    assert resolve_home_root({}, user) == user / ".xum"


def test_older_names_follow_in_order_and_the_oldest_has_no_development_twin(user: Path) -> None:
    make(user / ".cmux")
    assert resolve_home_root({}, user) == user / ".cmux"
    assert resolve_home_root(DEV, user) == user / ".xum-dev"
    make(user / ".mux")
    assert resolve_home_root({}, user) == user / ".mux"


def test_a_file_is_no_home(user: Path) -> None:
    (user / ".xum").write_text("")
    make(user / ".mux")
    assert resolve_home_root({}, user) == user / ".mux"


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_an_unreadable_canonical_home_counts_as_populated(user: Path) -> None:
    make(user / ".xum").chmod(0o300)
    make(user / ".mux")
    mark(user, ".mux")
    assert without_power(lambda: resolve_home_root({}, user)) == user / ".xum"
    (user / ".xum").chmod(0o700)


def test_every_existing_usual_home_is_offered_the_resolved_one_first(user: Path) -> None:
    for name in (".cmux", ".mux", ".mux-dev", ".xum-dev", ".unrelated"):
        make(user / name)
    names = [root.name for root in existing_home_roots({}, user)]
    assert names == [".mux", ".xum-dev", ".mux-dev", ".cmux"]
    given = make(user / "given")
    assert existing_home_roots({"XUM_ROOT": str(given)}, user)[0] == given
    assert len(existing_home_roots({"XUM_ROOT": str(user / "missing")}, user)) == 4


def test_resolving_creates_nothing(user: Path) -> None:
    resolve_home_root({}, user)
    existing_home_roots({}, user)
    assert list(user.iterdir()) == []


# By structure


@pytest.mark.parametrize("name", ["mux-home", "mux-home-legacy"])
def test_the_samples_are_homes(name: str, tmp_path: Path) -> None:
    assert detect(copy_sample(name, tmp_path))


@pytest.mark.parametrize(
    "marker", ["memory-meta.json", "memory-consolidation.json", "extensionMetadata.json"]
)
def test_a_sidecar_of_the_agent_makes_a_home(tmp_path: Path, marker: str) -> None:
    (tmp_path / marker).write_text("{}")
    assert detect(tmp_path)


@pytest.mark.parametrize("scope", ["global", "project"])
def test_a_memory_store_makes_a_home(tmp_path: Path, scope: str) -> None:
    (tmp_path / "memory" / scope).mkdir(parents=True)
    assert detect(tmp_path)


@pytest.mark.parametrize("config", ['{"projects": []}', '{"taskSettings": {}}', '{"migrations": {}}'])
def test_a_config_of_the_agent_makes_a_home(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    assert detect(tmp_path)


def test_a_damaged_config_beside_sessions_makes_a_home(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    assert not detect(tmp_path)
    (tmp_path / "sessions").mkdir()
    assert detect(tmp_path)


def test_homes_of_other_agents_are_none(tmp_path: Path) -> None:
    codex, claude, loki, checkout = (tmp_path / name for name in ("codex", "claude", "loki", ".mux"))
    (codex / "sessions" / "2026").mkdir(parents=True)
    (codex / "memories").mkdir()
    (codex / "config.toml").write_text("")
    (claude / "projects" / "-home-dev").mkdir(parents=True)
    (claude / "sessions").mkdir()
    (claude / "config.json").write_text("{")
    (loki / "memory" / "semantic").mkdir(parents=True)
    # What the agent itself once kept inside a project is not a home either.
    (checkout / "memory").mkdir(parents=True)
    (checkout / "memory" / "note.md").write_text("x")
    assert not any(detect(root) for root in (codex, claude, loki, checkout, tmp_path / "missing"))
