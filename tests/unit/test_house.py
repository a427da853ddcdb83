"""The house keeps its measure: no circles, names that mean one thing, imports at the top."""

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
    made_of_types_only,
    measures_of,
    modules_of,
)

MOST = {
    "code lines": 96_910,
    "banners": 143,
    "value classes per 1,000 lines": 7.15,
    "forwarders": 111,
    "late imports": 196,
}
"""Measures of the source tree that may only fall: lower them with the numbers."""
DIALECT = re.compile(
    r"(?:^|_)(?:stint|desk|desks|wish|wishes|deed|deeds|unsaid|essence|sound|voice|told|untold|furnish|furnished"
    r"|mend|mends|mended|late_tabs)(?:_|$)"
)
"""Words of a private language that names do without."""
MODULES = modules_of()
GRAPH = imports_of(MODULES)


def defined_names(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


def as_words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles_of(GRAPH) == []


def test_a_circle_is_found_however_it_is_imported() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles_of(graph) == [["a", "b", "c"]]


def test_a_class_name_means_one_thing() -> None:
    assert doubled_classes(MODULES) == {}


def test_the_measures_of_the_source_tree_only_fall() -> None:
    measured = measures_of(MODULES)
    assert {name: measured[name] for name, most in MOST.items() if measured[name] > most} == {}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_what_is_imported_for_types_is_not_used_at_run_time(name: str) -> None:
    assert made_of_types_only(MODULES[name]) == set()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_are_plain_words(name: str) -> None:
    names = {name.rpartition(".")[2], *defined_names(MODULES[name])}
    assert {one for one in names if DIALECT.search(as_words(one))} == set()


def test_widgets_are_looked_for_without_owning_them() -> None:
    """PySide takes the object that was asked for the owner of what these find (`mnemonics.descendants`)."""
    takers = {"findChild", "findChildren", "nextInFocusChain", "previousInFocusChain", "focusProxy"}
    assert [
        f"{name}:{node.lineno}"
        for name, module in MODULES.items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in takers
    ] == []
