"""The house keeps its measure: whole files, no circles, names that mean one thing, imports at the top."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from helpers.house_measure import (
    Module,
    circles_of,
    doubled_classes,
    imports_of,
    modules_of,
    single_importers,
)

MOST_FILES = 330
MOST_LINES = 1_000
MOST_LATE_IMPORTS = 200
DIALECT = re.compile(
    r"(?:^|_)(?:stint|desk|desks|wish|wishes|deed|deeds|unsaid|essence|sound|voice|told|untold|furnish|furnished"
    r"|mend|mends|mended|late_tabs)(?:_|$)"
)
"""Words of a private language that names do without."""
WHY_ALONE: dict[str, str] = {}
"""A module with a single importer -> why it is a file of its own."""

MODULES = modules_of()
GRAPH = imports_of(MODULES)


def defined_names(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


def as_words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_the_program_is_in_whole_files() -> None:
    assert len(MODULES) <= MOST_FILES
    assert {module.name for module in MODULES.values() if module.lines > MOST_LINES} == set()


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles_of(GRAPH) == []


def test_a_circle_is_found_however_it_is_imported() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles_of(graph) == [["a", "b", "c"]]


def test_a_class_name_means_one_thing() -> None:
    assert doubled_classes(MODULES) == {}


def test_imports_stand_at_the_top() -> None:
    assert sum(len(module.late_imports) for module in MODULES.values()) <= MOST_LATE_IMPORTS


def test_a_file_with_one_user_says_why_it_is_a_file() -> None:
    alone = {name.removeprefix("reverie.") for name in single_importers(GRAPH)}
    assert alone == WHY_ALONE.keys(), "put it into the file that uses it, or say here why not"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_are_plain_words(name: str) -> None:
    names = {name.rpartition(".")[2], *defined_names(MODULES[name])}
    assert {one for one in names if DIALECT.search(as_words(one))} == set()
