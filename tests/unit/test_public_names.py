"""Only public names of dependencies are used, by the program and its tests: others change without notice.

A name is private if it, or a part of the module's path, begins with an underscore, or if its module is one
that the dependency calls internal.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.thrift import no_search_for_garbage

PROJECT = Path(__file__).resolve().parents[2]
OWN = (
    {"reverie", "__future__"}
    | {path.stem for place in ("tests", "packaging") for path in (PROJECT / place).rglob("*.py")}
    | {path.name for path in (PROJECT / "tests").iterdir() if path.is_dir()}
)
# Without an underscore, and internal all the same: their own documentation leaves them out, or says so.
INTERNAL = (
    "hypothesis.internal",
    "pytestqt.exceptions",
    "pytestqt.logging",
    "pytestqt.plugin",
    "pytestqt.qt_compat",
    "watchdog.observers.inotify_buffer",
    "watchdog.observers.inotify_c",
    "watchdog.observers.inotify_move_event_grouper",
    "watchdog.utils",
    "xdist",
)


def is_private(name: str) -> bool:
    """Whether this dotted name, which begins with a module, is none of ours and private."""
    first, *parts = name.split(".")
    if first in OWN or first in sys.stdlib_module_names:
        return False
    hidden = any(part.startswith("_") and not part.endswith("__") for part in (first, *parts))
    return hidden or any(name == inner or name.startswith(f"{inner}.") for inner in INTERNAL)


def dotted(node: ast.expr, imported: dict[str, str]) -> str:
    """The full name that an expression like `module.part.name` stands for; empty for any other."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, "")
    if isinstance(node, ast.Attribute) and (base := dotted(node.value, imported)):
        return f"{base}.{node.attr}"
    return ""


def private_names(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of each private name of a dependency that a module uses: imported, reached for, or named
    in a string as `monkeypatch` takes it."""
    nodes = tuple(ast.walk(ast.parse(text)))
    imported: dict[str, str] = {}
    names: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                names.append((node.lineno, alias.name))
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                names.append((node.lineno, f"{node.module}.{alias.name}"))
    for node in nodes:
        if isinstance(node, ast.Attribute):
            names.append((node.lineno, dotted(node, imported)))
        elif isinstance(node, ast.Call) and node.args:
            names += ((node.lineno, name) for name in named_in_call(node, imported))
    yield from sorted({(line, name) for line, name in names if name and is_private(name)})


def named_in_call(call: ast.Call, imported: dict[str, str]) -> Iterator[str]:
    """What `getattr(module, "name")` and `setattr("module.name", ...)`, of whatever object, reach for."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function not in ("getattr", "setattr", "hasattr", "delattr", "import_module", "importorskip"):
        return
    strings = [
        each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    base = dotted(call.args[0], imported)
    for text in strings[:1]:
        name = f"{base}.{text}" if base else text
        if name.partition(".")[0] in {full.partition(".")[0] for full in imported.values()} | {
            "pytestqt",
            "xdist",
        }:
            yield name


@pytest.mark.parametrize("place", ["app", "packaging", "tests"])
def test_no_private_name_of_a_dependency_is_used(place: str) -> None:
    with no_search_for_garbage():
        found = [
            f"{path.relative_to(PROJECT)}:{line}: {name}"
            for path in sorted((PROJECT / place).rglob("*.py"))
            for line, name in private_names(path.read_text("utf-8"))
        ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import _pytest",
        "from _pytest.faulthandler import fault_handler_stderr_fd_key",
        "from watchdog.observers.inotify_c import InotifyConstants",
        "from watchdog.observers import inotify_c",
        "import watchdog.observers.inotify_c as inner",
        "import pytestqt.qt_compat",
        "from pytestqt.qtbot import _close_widgets",
        "import httpx\nhttpx._client.Client()",
        "from pydantic import _internal",
        "from PySide6 import QtCore\nQtCore.QObject._hidden",
        "import httpx\nmonkeypatch.setattr(httpx, '_client', None)",
        "import httpx\nmonkeypatch.setattr('httpx._client.Client', None)",
        "import pygit2 as git\ngetattr(git, '_pygit2')",
    ],
)
def test_private_names_are_found(text: str) -> None:
    assert list(private_names(text))


@pytest.mark.parametrize(
    "text",
    [
        "import _thread",
        "from watchdog.observers import Observer",
        "from watchdog import __version__",
        "from pytestqt.qtbot import QtBot",
        "from reverie.files import _anything",
        "import reverie.files.watch\nreverie.files.watch._hidden",
        "import os\nos._exit(1)",
        "from PySide6.QtCore import QObject\nQObject().name",
    ],
)
def test_public_names_and_our_own_are_left_alone(text: str) -> None:
    assert list(private_names(text)) == []
