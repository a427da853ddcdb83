"""The house keeps its measure: no circles, names that mean one thing, imports at the top."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

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
from helpers.thrift import no_search_for_garbage
from helpers.told import TOLD

MOST = {
    "code lines": 94_384,
    "banners": 0,
    "value classes": 633,
    "forwarders": 85,
    "late imports": 151,
}
"""Measures of the source tree that may only fall: lower them with the numbers.

The ratio of value classes to lines is printed, but has no ceiling: it rises when lines go.
"""
DIALECT = re.compile(
    r"(?:^|_)(?:stint|desk|desks|wish|wishes|deed|deeds|unsaid|essence|sound|voice|told|untold|furnish|furnished"
    r"|mend|mends|mended|late_tabs)(?:_|$)"
)
"""Words of a private language that names do without."""


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """Every module of the program; read here, because each worker of a test run loads this file."""
    with no_search_for_garbage():
        found = modules_of()
        assert all(module.nodes for module in found.values())
    return found


def defined_names(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


def as_words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_no_files_import_each_other_in_a_circle(modules: Mapping[str, Module]) -> None:
    assert circles_of(imports_of(modules)) == []


def test_a_circle_is_found_however_it_is_imported() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles_of(graph) == [["a", "b", "c"]]


def test_a_class_name_means_one_thing(modules: Mapping[str, Module]) -> None:
    assert doubled_classes(modules) == {}


def test_the_measures_of_the_source_tree_only_fall(
    modules: Mapping[str, Module], record_property: Callable[[str, object], None]
) -> None:
    measured = measures_of(modules)
    record_property(TOLD, ", ".join(f"{name} {value:g}" for name, value in measured.items()))
    assert {name: measured[name] for name, most in MOST.items() if measured[name] > most} == {}


def test_what_is_imported_for_types_is_not_used_at_run_time(modules: Mapping[str, Module]) -> None:
    used = {name: made_of_types_only(module) for name, module in modules.items()}
    assert {name: names for name, names in used.items() if names} == {}


def test_names_are_plain_words(modules: Mapping[str, Module]) -> None:
    assert [
        f"{module.name}: {name}"
        for module in modules.values()
        for name in (module.name.rpartition(".")[2], *defined_names(module))
        if DIALECT.search(as_words(name))
    ] == []


def test_widgets_are_looked_for_without_owning_them(modules: Mapping[str, Module]) -> None:
    """PySide takes the object that was asked for the owner of what these find (`mnemonics.descendants`)."""
    takers = {"findChild", "findChildren", "nextInFocusChain", "previousInFocusChain", "focusProxy"}
    assert [
        f"{name}:{node.lineno}"
        for name, module in modules.items()
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr in takers
    ] == []
