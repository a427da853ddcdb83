"""Names that mux makes: store directories, project ids, logical keys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.mux.names import (
    base_name,
    is_plain_component,
    js_trim,
    project_dir_name,
    project_id,
    strip_trailing_separators,
)
from reverie.agents.scopes import escape_key

any_text = st.text(st.characters(codec=None, categories=None), max_size=60)


@pytest.mark.parametrize(
    ("path", "directory", "identity"),
    [
        ("/home/alice/mux", "mux-20c0c2e47adb", "mux-498bbd29"),
        ("/tmp/we ird:proj", "we_ird_proj-7077716217e7", "we-ird-proj-ee6b1284"),
        ("/projects/demo", "demo-8950e3e3787a", "demo-bf220971"),
        ("/home/dev/projects/acme-api", "acme-api-db553efff149", "acme-api-1d659342"),
    ],
)
def test_published_vectors(path: str, directory: str, identity: str) -> None:
    assert project_dir_name(path) == directory
    assert project_id(path) == identity


def test_an_emoji_becomes_two_underscores_as_it_is_two_utf16_units() -> None:
    assert project_dir_name("/p/a😀b").startswith("a__b-")
    assert project_dir_name("/p/aéb").startswith("a_b-")


def test_the_base_is_cut_to_forty_characters_after_mapping() -> None:
    assert project_dir_name("/p/" + "x" * 50).rpartition("-")[0] == "x" * 40
    assert project_dir_name("/p/" + "😀" * 30).rpartition("-")[0] == "_" * 40
    assert project_dir_name("/p/" + "x" * 39 + "😀").rpartition("-")[0] == "x" * 39 + "_"


def test_a_path_without_base_is_unknown() -> None:
    assert project_dir_name("/").startswith("unknown-")
    assert project_dir_name("").startswith("unknown-")


@pytest.mark.parametrize("base", ["..", ".", "~", "a:b", 'q"<>|?*', "con", "\x00", "‮evil", "a\\b"])
def test_a_hostile_base_name_still_gives_one_plain_directory(base: str) -> None:
    name = project_dir_name(f"/p/{base}", windows=False)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,40}-[0-9a-f]{12}", name)
    assert is_plain_component(name)


def test_backslashes_separate_on_windows_only() -> None:
    assert project_dir_name("C:\\work\\app", windows=True).startswith("app-")
    assert project_dir_name("C:\\work\\app", windows=False).startswith("C__work_app-")
    assert base_name("C:\\work/app", windows=True) == "app"


def test_same_base_in_two_parents_gives_two_directories() -> None:
    assert project_dir_name("/a/app") != project_dir_name("/b/app")


def test_paths_are_hashed_as_written_without_case_folding_or_normalising() -> None:
    assert len({project_dir_name(path) for path in ("/a/App", "/a/app", "/a/./app", "/a//app")}) == 4


def test_the_project_id_is_made_from_the_normalised_path() -> None:
    assert project_id("/projects/./x/../demo/") == project_id("/projects/demo")
    assert project_id("//projects/demo") == project_id("/projects/demo")


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("/p/Über Größe!", "ber-gr-e"),
        ("/p/--a__b--", "a__b"),
        ("/p/日本", "project"),
        ("/", "project"),
        ("/p/" + "y" * 50, "y" * 32),
        ("/p/a - - b", "a-b"),
    ],
)
def test_the_base_of_a_project_id_is_folded_to_plain_characters(path: str, base: str) -> None:
    assert project_id(path).rpartition("-")[0] == base


@given(any_text)
def test_any_path_gives_safe_names(path: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,40}-[0-9a-f]{12}", project_dir_name(path))
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*-[a-f0-9]{8}", project_id(path))
    assert is_plain_component(project_dir_name(path))


@given(st.tuples(any_text, any_text), st.tuples(any_text, any_text))
def test_keys_of_different_components_never_collide(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (":".join(map(escape_key, one)) == ":".join(map(escape_key, other))) is (one == other)


def test_key_escapes_are_those_of_the_agent() -> None:
    assert escape_key("a:b%c/d") == "a%3Ab%25c/d"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/a", "a\\b", "..\\x", "a\0", "x" * 256, "é" * 128, "\ud800"]
)
def test_what_is_no_single_directory_name_is_refused(name: str) -> None:
    assert not is_plain_component(name)


@pytest.mark.parametrize("name", ["a1f3c9e2b7", "...", ".hidden", "a b", "a:b", "é" * 127, "x" * 255])
def test_ordinary_names_are_plain(name: str) -> None:
    assert is_plain_component(name)


def test_trailing_separators_of_both_kinds_go() -> None:
    assert strip_trailing_separators("/a/b/\\//") == "/a/b"
    assert strip_trailing_separators("///") == ""


def test_trimming_is_that_of_javascript() -> None:
    assert js_trim("\ufeff\u3000 x\u0085\u2029") == "x\u0085"
    assert js_trim("\x1cx") == "\x1cx"
