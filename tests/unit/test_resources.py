"""Resources are found by name, and every reference inside the demo home leads somewhere."""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from reverie import resources as program_resources
from reverie.jobs.consolidate.coverage import read_coverage
from reverie.resources import load_table, resource, resources_directory

DEMO = resource("demo-home")
ICONS = sorted(resource("icons").glob("*.svg"))


def project_directory(path: str) -> str:
    return f"{path.rpartition('/')[2]}-{hashlib.sha256(path.encode()).hexdigest()[:12]}"


def load(name: str) -> dict:
    return json.loads((DEMO / name).read_text(encoding="utf-8"))


def test_a_resource_is_found_by_name() -> None:
    assert resource("demo-home/config.json") == resources_directory() / "demo-home" / "config.json"


def test_a_missing_resource_is_an_error_that_names_it() -> None:
    with pytest.raises(FileNotFoundError, match="no-such"):
        resource("icons/no-such.svg")


@pytest.mark.parametrize(
    "text",
    ["number = ", "other = 1", "number = 'x'", "number = []"],
    ids=["no TOML", "missing", "text", "list"],
)
def test_a_damaged_table_is_an_error_that_names_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_resources, "resources_directory", lambda: tmp_path)
    (tmp_path / "table.toml").write_text("number = 7", "utf-8")
    assert load_table("table.toml", lambda table: int(table["number"])) == 7
    (tmp_path / "table.toml").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"the resource 'table\.toml' is damaged"):
        load_table("table.toml", lambda table: int(table["number"]))


@pytest.mark.parametrize("name", ["", "../pyproject.toml", "icons/../../pyproject.toml", "/etc/passwd"])
def test_a_name_that_leaves_the_resources_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="resource"):
        resource(name)


@pytest.mark.parametrize("icon", ICONS, ids=lambda path: path.stem)
def test_an_icon_is_square_svg_in_one_colour_the_window_can_choose(icon: Path) -> None:
    root = ElementTree.parse(icon).getroot()
    assert root.get("width") == root.get("height")
    if icon.stem != "reverie":
        colours = {element.get(name) for element in root.iter() for name in ("fill", "stroke")}
        assert colours <= {"currentColor", "none", None}
        assert "currentColor" in colours


def test_the_projects_of_the_demo_home_have_the_directories_their_paths_hash_to() -> None:
    paths = {path for path, _ in load("config.json")["projects"] if path != "_multi"}
    found = {entry.name for entry in (DEMO / "memory" / "project").iterdir()}
    assert found == {project_directory(path) for path in paths}


def test_every_workspace_of_the_demo_home_has_a_session_and_the_other_way_round() -> None:
    listed = {space["id"] for _, bucket in load("config.json")["projects"] for space in bucket["workspaces"]}
    assert {entry.name for entry in (DEMO / "sessions").iterdir()} == listed
    assert set(load("extensionMetadata.json")["workspaces"]) == listed
    assert set(load("memory-consolidation.json")["workspaces"]) <= listed


def test_every_usage_entry_of_the_demo_home_belongs_to_a_note() -> None:
    for key in load("memory-meta.json")["entries"]:
        scope, *owner, rel = key.split(":")
        roots = {
            "global": lambda _: DEMO / "memory" / "global",
            "project": lambda path: DEMO / "memory" / "project" / project_directory(path[0]),
            "workspace": lambda ids: DEMO / "sessions" / ids[0] / "memory",
        }
        assert (roots[scope](owner) / rel).is_file(), key


def test_the_demo_home_gives_a_dream_something_to_do() -> None:
    notes = [path.read_text(encoding="utf-8") for path in DEMO.rglob("*.md")]
    assert any(not note for note in notes), "an empty note to drop"
    assert any(note.endswith("\n\n") for note in notes), "trailing noise to remove"
    assert any(note and not note.startswith("---\n") for note in notes), "a description to write"
    assert any(entry["pinned"] for entry in load("memory-meta.json")["entries"].values()), "a pin to respect"


def test_every_record_of_the_demo_home_is_one_that_the_agent_accepts() -> None:
    """Else the doctor of a first start begins with a problem of our own making."""
    coverage = read_coverage(load("memory-consolidation.json"))
    assert coverage.problems == ()
    assert coverage.harvests
