"""Which test holds which item of the edge-case checklists of the agents' formats: mux.md section 15, codex.md
section 8, claude-code.md section 10 and loki.md section 15, a file of `checklists/` for each.

A test is named by its node id below `tests/`, with the id of a case in brackets where one case of many is
meant; a line of prepared cases as `<file>.jsonl::<how its rule or name begins>`. No item is left out: the
parts of the sheets are counted.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
CHECKLISTS = Path(__file__).with_name("checklists")
ITEMS = {
    "mux": {
        "Service": 33,
        "Meta": 6,
        "Rails": 7,
        "Orchestration": 20,
        "Sweep": 9,
        "Harvest": 8,
        "Hot set": 10,
        "System B": 15,
    },
    "codex": {"Generation A": 16, "Generation C": 14, "Rollouts": 12},
    "claude_code": {
        "Homes": 8,
        "MEMORY.md": 5,
        "Topics": 8,
        "Lock": 3,
        "summary.md": 8,
        "Transcripts": 14,
    },
    "loki": {"Episodes": 17, "Patterns": 5, "Failures": 7, "Store": 6},
}
"""How many items each part of a sheet has."""

_TEST = re.compile(r"^(?:class (?P<room>Test\w*)|(?P<inside> {4})?(?:async )?def (?P<name>test_\w+)\()", re.M)


@pytest.mark.parametrize("sheet", ITEMS)
def test_every_item_of_the_checklist_has_its_tests(sheet: str) -> None:
    parts = _parts(sheet)
    assert {part: len(items) for part, items in parts.items()} == ITEMS[sheet]
    assert [item for items in parts.values() for item, tests in items.items() if not tests] == []
    named = [name for items in parts.values() for tests in items.values() for name in tests]
    assert [problem for name in named for problem in _problems(name)] == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("end2end/test_gone.py::test_x", "There is no file end2end/test_gone.py."),
        ("end2end/test_checklist.py::test_x", "There is no test end2end/test_checklist.py::test_x."),
        ("end2end/test_checklist.py::TestX::test_x", "There is no test"),
        ("end2end/test_checklist.py::test_every_item_of_the_checklist_has_its_tests[none]", "has no case"),
        ("end2end/battery/paths.jsonl::9 no such rule", "end2end/battery/paths.jsonl has no line"),
    ],
)
def test_a_test_that_is_gone_is_named(name: str, problem: str) -> None:
    (found,) = _problems(name)
    assert found.startswith(problem) or problem in found


def test_each_sheet_has_one_file_of_a_size_to_read() -> None:
    files = {path.stem: path for path in CHECKLISTS.iterdir()}
    assert files.keys() == ITEMS.keys()
    assert [name for name, path in files.items() if path.read_text("utf-8").count("\n") > 400] == []


def _parts(sheet: str) -> dict[str, Mapping[str, list[str]]]:
    return tomllib.loads((CHECKLISTS / f"{sheet}.toml").read_text("utf-8"))


def _problems(name: str) -> Iterator[str]:
    """Why a test is not there; nothing where it is."""
    place, _, rest = name.partition("::")
    if not (TESTS / place).is_file():
        yield f"There is no file {place}."
    elif place.endswith(".jsonl"):
        if not any(rule.startswith(rest) for rule in _rules(place)):
            yield f"{place} has no line that begins {rest!r}."
    else:
        test, _, case = rest.removesuffix("]").partition("[")
        if test not in _tests(place):
            yield f"There is no test {place}::{test}."
        elif case and json.dumps(case, ensure_ascii=False) not in _text(place):
            yield f"{place}::{test} has no case {case!r}."


@functools.cache
def _text(place: str) -> str:
    return (TESTS / place).read_text("utf-8")


@functools.cache
def _rules(place: str) -> tuple[str, ...]:
    lines = map(json.loads, filter(None, _text(place).split("\n")))
    return tuple(line["rule"] if "rule" in line else line["name"] for line in lines)


@functools.cache
def _tests(place: str) -> frozenset[str]:
    """The test functions of a module, those of its classes as `Class::test`."""
    found, room = set(), ""
    for match in _TEST.finditer(_text(place)):
        room = match["room"] or room
        if match["name"]:
            found.add(f"{room}::{match['name']}" if match["inside"] else match["name"])
    return frozenset(found)
