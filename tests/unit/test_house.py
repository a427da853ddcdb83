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
    made_of_types_only,
    modules_of,
    single_importers,
)

MOST_FILES = 280
MOST_LINES = 1_000
MOST_LATE_IMPORTS = 200
DIALECT = re.compile(
    r"(?:^|_)(?:stint|desk|desks|wish|wishes|deed|deeds|unsaid|essence|sound|voice|told|untold|furnish|furnished"
    r"|mend|mends|mended|late_tabs)(?:_|$)"
)
"""Words of a private language that names do without."""
WHY_ALONE: dict[str, str] = {
    "ui.memory.filters": "the row of filters and their counts",
    "ui.memory.inspector": "beside the open memory: its figures, and what is unseen in it",
    "ui.style": "how controls are drawn; loaded after the first names are painted",
    "ui.window.other_tabs": "the tabs beside Memory, loaded after the first paint",
    "engine.workers": "processes of their own for runs: what a worker engine does without",
    "agents.claude.consolidation": "the lock, what it says of the last one, and what the doctor says",
    "agents.mux.home": "the agent's door; the registry is the only one to name it",
    "agents.mux.transcript": "a format of its own; loaded when a transcript is read",
    "claims.manifests": "pure: what the manifests of a dozen tools define",
    "doctor.self_checks": "Reverie's own state; no fact of a home is in it",
    "files.watch_observer": "imports watchdog, late and on the watcher's thread",
    "services.commands": "looks and runs that commands ask for; loaded with the first one",
    "services.lint": "what the catalogue knows of the files of one home",
    "ui.settings.dialog": "loaded, with pydantic, when it is opened",
    "services.orphans": "lost stores and merging them; loaded where a home has some",
    "engine.search": "a thread and its rules for giving way; the engine keeps the homes and their clients",
    "jobs.consolidate.apply": "a job on the Run: a reviewed consolidation",
    "jobs.extraction.service": "the door of its package",
    "llm.wire_formats": "the wire formats; a service has one of them",
    "llm.transport": "imports httpx, which rules do without",
    "memory.search.index": "the ranking, in SQL; with the catalogue over 900 lines",
    "ui.app": "the application around the window; the command line is its only door",
    "ui.window.main_window": "the window; with the application around it over 1,000 lines",
    "ui.window.machines": "homes of other machines; with the list and the homes here over 900 lines",
    "ui.editor.drafts": "drafts: keeping, offering, listing; 700 lines",
    "ui.editor.front_matter_form": "a widget, made when a front matter is edited",
    "ui.editor.preview": "a widget, made when the preview is opened",
    "ui.memory.extraction": "a control with a dialog of its own",
    "ui.memory.notes_control": "a control of one kind of home",
    "ui.memory.orphaned_stores": "a window",
    "ui.memory.search": "the search field and its results",
    "ui.memory.worth_a_look": "a page with its control",
    "ui.settings.fields": "a control for each kind of setting; with the dialog over 1,000 lines",
    "ui.traces.replay": "a dialog, and comparing of two traces",
    "ui.window.lazy_tabs": "which tabs are loaded when",
    "ui.window.splash_tree": "names before the heavy imports; goes with the engine process",
}
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
def test_what_is_imported_for_types_is_not_used_at_run_time(name: str) -> None:
    assert made_of_types_only(MODULES[name]) == set()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_are_plain_words(name: str) -> None:
    names = {name.rpartition(".")[2], *defined_names(MODULES[name])}
    assert {one for one in names if DIALECT.search(as_words(one))} == set()
