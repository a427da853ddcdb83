"""Memory paths: the text rules, and that no accepted one leads outside its root (formats/mux.md section
5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.escapes import a_store, accepted_path_stays_inside, memory_paths, try_arrangements
from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.memory.paths import parse_memory_path, utf16_key


def test_a_path_is_trimmed_and_loses_trailing_slashes() -> None:
    path = parse_memory_path("\u00a0 /memories/project/a b/.c.md// \ufeff")
    assert (path.scope, path.segments, path.rel) == (Scope.PROJECT, ("a b", ".c.md"), "a b/.c.md")
    assert str(path) == "/memories/project/a b/.c.md"


@pytest.mark.parametrize("text", ["/memories", "/memories/", " /memories// "])
def test_the_root_has_no_scope(text: str) -> None:
    assert parse_memory_path(text).scope is None


def test_a_scope_root_has_no_segments() -> None:
    assert parse_memory_path("/memories/global/").is_scope_root


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/memories/global/a//b", "empty"),
        ("/memories/global/./b", "empty"),
        ("/memories/global/a..b", ".."),
        ("/memories/global/..~", ".."),
        ("/memories/global/~\\", "~"),
        ("/memories/global/a\\%2e", "ackslash"),
        ("/memories/global/%2E<", "ncoded"),
        ("/memories/global/a\x1f>", "ontrol"),
        ("/memories/global/a>b", "<"),
        ("/memories/elsewhere/a", "scope"),
    ],
)
def test_the_first_rule_that_fails_gives_the_error(text: str, word: str) -> None:
    with pytest.raises(PathRuleError, match=word):
        parse_memory_path(text)


@given(st.text(max_size=60))
def test_no_text_crashes_and_what_is_accepted_round_trips(text: str) -> None:
    try:
        path = parse_memory_path(text)
    except PathRuleError:
        return
    assert parse_memory_path(str(path)) == path


@given(st.lists(st.text(max_size=8), max_size=6))
def test_sorting_is_by_utf16_code_unit(names: list[str]) -> None:
    as_units = sorted(names, key=lambda name: list(name.encode("utf-16-be", "surrogatepass")))
    assert sorted(names, key=utf16_key) == as_units
    assert utf16_key("\U0001f600") < utf16_key("\uff61")


@given(text=memory_paths)
def test_no_accepted_path_leads_outside_its_root(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert accepted_path_stays_inside(a_store(_home(tmp_path_factory)), text) is not False


def test_no_symlink_arrangement_leads_outside(tmp_path: Path) -> None:
    result = try_arrangements(tmp_path, 60, seed=3)
    assert not result.problems
    assert result.tried == 60


_HOME: list[Path] = []


def _home(factory: pytest.TempPathFactory) -> Path:
    if not _HOME:
        root = factory.mktemp("paths") / "home"
        (root / "memory/global/a").mkdir(parents=True)
        (root / "memory/global/a/d.md").write_text("x")
        (root / "sessions").mkdir()
        (root / "config.json").write_text('{"projects": []}')
        _HOME.append(root)
    return _HOME[0]
