"""config.json: which projects and workspaces a home lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.base import Workspace
from reverie.agents.mux.config import MuxConfig, find_workspace, is_archived, parse_config

PATH = "/p/app"


def parse(*pairs: Any, metadata: dict[str, str] | None = None) -> MuxConfig:
    return parse_config({"projects": list(pairs)}, (metadata or {}).get)


def one(raw: dict[str, Any], *, bucket: str = PATH, metadata: dict[str, str] | None = None) -> Workspace:
    parsed = parse([bucket, {"workspaces": [raw]}], metadata=metadata)
    assert parsed.problems == ()
    (workspace,) = parsed.projects[0].workspaces
    return workspace


def ids(parsed: MuxConfig) -> dict[str, list[str]]:
    return {project.path: [found.id for found in project.workspaces] for project in parsed.projects}


# Projects


@pytest.mark.parametrize("data", [{}, {"projects": None}, {"projects": []}])
def test_no_projects_is_an_empty_list_without_a_problem(data: object) -> None:
    assert parse_config(data, {}.get) == MuxConfig((), ())


@pytest.mark.parametrize("data", [None, [], 5, "x", {"projects": {"/p": {}}}, {"projects": "x"}])
def test_what_is_no_list_of_projects_is_a_problem_and_no_crash(data: object) -> None:
    parsed = parse_config(data, {}.get)
    assert parsed.projects == ()
    assert len(parsed.problems) == 1


def test_projects_keep_the_order_of_the_file() -> None:
    parsed = parse(["/z", {}], ["/a", {}])
    assert [project.path for project in parsed.projects] == ["/z", "/a"]


@pytest.mark.parametrize("bad", [None, [], ["", {}], [None, {}], [5, {}], "x", {"path": "/x"}])
def test_an_entry_without_a_path_is_dropped_with_a_problem_and_hides_no_other(bad: object) -> None:
    parsed = parse(["/a", {}], bad, ["/b", {}])
    assert [project.path for project in parsed.projects] == ["/a", "/b"]
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("raw", [None, 5, [], {}, {"workspaces": None}, {"workspaces": {}}])
def test_a_project_without_a_list_of_workspaces_has_none(raw: object) -> None:
    assert ids(parse([PATH, raw])) == {PATH: []}
    assert ids(parse([PATH])) == {PATH: []}


@pytest.mark.parametrize("written", ["/p/app/", "/p/app//", "/p/app\\", "/p/app/\\/"])
def test_trailing_separators_are_not_part_of_a_project_path(written: str) -> None:
    assert ids(parse([written, {"workspaces": [{"id": "w"}]}])) == {PATH: ["w"]}


def test_the_last_of_two_entries_of_one_path_counts_in_the_place_of_the_first() -> None:
    parsed = parse(
        [PATH, {"workspaces": [{"id": "old"}]}], ["/b", {}], [PATH + "/", {"workspaces": [{"id": "new"}]}]
    )
    assert ids(parsed) == {PATH: ["new"], "/b": []}
    assert len(parsed.problems) == 1


def test_a_project_is_named_by_its_display_name_else_by_its_directory() -> None:
    parsed = parse(
        ["/p/a", {"displayName": " Shop "}], ["/p/b", {"displayName": "  "}], ["/p/c", {"displayName": 5}]
    )
    assert [project.name for project in parsed.projects] == ["Shop", "b", "c"]


# Sub-projects


def test_workspaces_of_a_sub_project_are_merged_behind_those_of_the_parent() -> None:
    parsed = parse(
        ["/m/sub", {"parentProjectPath": "/m", "workspaces": [{"id": "s"}]}],
        ["/m", {"workspaces": [{"id": "p"}]}],
    )
    assert ids(parsed) == {"/m/sub": [], "/m": ["p", "s"]}
    first, second = parsed.projects[1].workspaces
    assert (first.bucket, first.sub_project) == ("/m", None)
    assert (second.bucket, second.sub_project) == ("/m", "/m/sub")


def test_a_deeper_sub_project_goes_to_the_topmost_project() -> None:
    parsed = parse(["/m/a/b", {"workspaces": [{"id": "w"}]}], ["/m/a", {}], ["/m", {}])
    assert ids(parsed) == {"/m/a/b": [], "/m/a": [], "/m": ["w"]}


def test_a_sub_project_path_in_the_file_stands() -> None:
    parsed = parse(["/m", {}], ["/m/a", {"workspaces": [{"id": "w", "subProjectPath": "/m/x"}]}])
    assert parsed.projects[0].workspaces[0].sub_project == "/m/x"


@pytest.mark.parametrize("other", ["/mono-repo", "/mon", "/", "\\", "C:\\", "//server/share"])
def test_a_neighbour_or_a_file_system_root_is_no_parent(other: str) -> None:
    parsed = parse(
        [other, {}], ["/mono", {"workspaces": [{"id": "w"}]}], ["C:\\x", {}], ["//server/share/x", {}]
    )
    assert ids(parsed)["/mono"] == ["w"]
    assert len(parsed.projects) == 4


def test_windows_paths_are_compared_without_case_and_with_either_separator() -> None:
    parsed = parse(["C:\\Work", {}], ["c:/work/Sub", {"workspaces": [{"id": "w"}]}])
    assert ids(parsed) == {"C:\\Work": ["w"], "c:/work/Sub": []}


def test_what_the_file_says_about_parents_does_not_count_against_the_paths() -> None:
    parsed = parse(["/a", {}], ["/b", {"parentProjectPath": "/a", "workspaces": [{"id": "w"}]}])
    assert ids(parsed) == {"/a": [], "/b": ["w"]}


# Workspaces


def test_a_workspace_carries_what_the_file_says() -> None:
    workspace = one(
        {
            "id": "a1f3c9e2b7",
            "path": "/src/app/main",
            "name": "main",
            "title": "Retry loop",
            "createdAt": "2026-07-06T08:00:00.000Z",
            "parentWorkspaceId": "77b0d2c4e5",
        }
    )
    assert workspace == Workspace(
        id="a1f3c9e2b7",
        name="main",
        title="Retry loop",
        path="/src/app/main",
        bucket=PATH,
        project_paths=(),
        multi_project=False,
        parent_id="77b0d2c4e5",
    )


def test_a_workspace_without_a_name_is_called_after_its_directory() -> None:
    assert one({"id": "w", "path": "/src/app/main"}).name == "main"
    assert one({"id": "w"}).name == "w"


def test_an_old_workspace_takes_its_id_from_the_metadata_of_its_session() -> None:
    raw = {"path": "/src/app/feature"}
    assert one(raw, metadata={"feature": "cafe", "app-feature": "other"}).id == "cafe"
    assert one(raw, metadata={"app-feature": "beef"}).id == "beef"


def test_an_old_workspace_without_metadata_is_called_project_dash_directory() -> None:
    assert one({"path": "/src/app/feature"}).id == "app-feature"
    assert one({"path": "/src/app/feature", "id": ""}).id == "app-feature"
    assert one({"path": "/src/app/feature", "id": 7}).id == "app-feature"


def test_metadata_is_not_asked_for_a_workspace_that_has_an_id() -> None:
    assert one({"id": "w", "path": "/src/app/x"}, metadata={"x": "other"}).id == "w"


@pytest.mark.parametrize("bad", [None, 5, "x", [], {}, {"path": "/src/app/"}, {"path": 5}])
def test_a_workspace_without_id_and_path_is_dropped_with_a_problem(bad: object) -> None:
    parsed = parse([PATH, {"workspaces": [{"id": "a"}, bad, {"id": "b"}]}])
    assert ids(parsed) == {PATH: ["a", "b"]}
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("hostile", ["..", ".", "../../etc", "a/b", "a\\b", "x\0", "y" * 300])
def test_an_id_that_is_no_directory_name_is_dropped_with_a_problem(hostile: str) -> None:
    parsed = parse([PATH, {"workspaces": [{"id": hostile}, {"id": "b"}]}])
    assert ids(parsed) == {PATH: ["b"]}
    assert len(parsed.problems) == 1
    assert ids(parse([PATH, {"workspaces": [{"path": "/s/x"}]}], metadata={"x": hostile})) == {PATH: []}


def test_the_first_of_two_workspaces_with_one_id_counts() -> None:
    parsed = parse(["/a", {"workspaces": [{"id": "w"}]}], ["_multi", {"workspaces": [{"id": "w"}]}])
    assert ids(parsed) == {"/a": ["w"], "_multi": []}
    assert len(parsed.problems) == 1


# Several projects


def test_a_workspace_of_the_multi_bucket_has_the_memory_of_the_one_project_that_it_names() -> None:
    assert one({"id": "w"}, bucket="_multi").memory_project is None
    both = [{"projectPath": "/a"}, {"projectPath": "/b"}]
    assert one({"id": "w", "projects": both}, bucket="_multi").memory_project is None
    single = one({"id": "w", "projects": [{"projectPath": "/a"}]}, bucket="_multi")
    assert (single.memory_project, single.multi_project) == ("/a", False)
    assert single.dreams_as == ""


def test_a_scratch_chat_has_the_memory_of_its_own_directory_and_dreams_for_its_bucket() -> None:
    chat = one({"id": "w", "path": "/home/dev/.xum/scratch/w", "kind": "scratch"}, bucket="_scratch")
    assert (chat.memory_project, chat.dreams_as) == ("/home/dev/.xum/scratch/w", "_scratch")
    ordinary = one({"id": "w", "path": "/home/dev/.xum/scratch/w"}, bucket="_scratch")
    assert (ordinary.memory_project, ordinary.dreams_as) == ("_scratch", None)
    named = parse_config({"projects": [["_scratch", {"workspaces": []}]]}, lambda _name: None)
    assert [project.name for project in named.projects] == ["Scratch"]


def test_the_bucket_of_several_projects_has_a_name_unless_a_person_gave_it_one() -> None:
    assert [project.name for project in parse(["_multi", {"workspaces": []}]).projects] == [
        "Several projects"
    ]
    named = parse(["_multi", {"workspaces": [], "displayName": "Both docks"}])
    assert [project.name for project in named.projects] == ["Both docks"]


def test_a_workspace_of_an_ordinary_bucket_that_lists_two_projects_is_multi_project() -> None:
    listed = [
        {"projectPath": "/p/app", "projectName": "app"},
        {"projectPath": "/p/lib", "projectName": "lib"},
    ]
    task = one({"id": "w", "parentWorkspaceId": "a", "projects": listed})
    assert task.multi_project
    assert task.project_paths == ("/p/app", "/p/lib")
    assert task.bucket == PATH


def test_the_number_of_listed_projects_decides_even_where_one_is_malformed() -> None:
    assert one({"id": "w", "projects": [{"projectPath": "/a"}, None]}).multi_project
    assert one({"id": "w", "projects": [{"projectPath": "/a"}, {"projectPath": "/a"}]}).multi_project


@pytest.mark.parametrize("listed", [None, [], "x", {}, [{"projectPath": "/a"}], [None], [{}]])
def test_one_or_no_listed_project_is_not_multi_project(listed: object) -> None:
    assert not one({"id": "w", "projects": listed}).multi_project


# Archived

EARLY, LATE = "2026-07-01T00:00:00.000Z", "2026-08-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("archived", "unarchived", "expected"),
    [
        (None, None, False),
        ("", None, False),
        (EARLY, None, True),
        (LATE, EARLY, True),
        (EARLY, LATE, False),
        (EARLY, EARLY, False),
        (None, LATE, False),
        ("2026-08-01T02:00:00+02:00", LATE, False),
        ("2026-08-01T02:00:00+01:00", LATE, True),
        ("2026-08-02", LATE, True),
        (LATE, "no time", False),
        ("no time", EARLY, False),
        ("no time", None, True),
        (10**400, EARLY, False),
    ],
)
def test_archived_unless_brought_back_since(archived: object, unarchived: object, expected: bool) -> None:
    assert is_archived({"archivedAt": archived, "unarchivedAt": unarchived}) is expected


# Anything at all

text = st.one_of(
    st.sampled_from(["/p/a", "/p/a/b", "/p", "_multi", "..", "", "w", "C:\\x"]),
    st.text(st.characters(codec=None, categories=None), max_size=12),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text),
    lambda children: st.one_of(st.lists(children, max_size=4), st.dictionaries(text, children, max_size=4)),
    max_leaves=12,
)
workspaces = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("id", "path", "name", "title", "archivedAt", "unarchivedAt", "parentWorkspaceId", "subProjectPath"),
        st.one_of(text, json_values),
    )
    | {
        "projects": st.one_of(json_values, st.lists(st.fixed_dictionaries({"projectPath": text}), max_size=3))
    },
)
projects = st.lists(
    st.one_of(
        json_values,
        st.tuples(text, st.fixed_dictionaries({"workspaces": st.lists(workspaces, max_size=4)})).map(list),
    ),
    max_size=5,
)


@given(st.one_of(json_values, st.fixed_dictionaries({"projects": projects})))
def test_no_content_raises_and_every_id_is_unique_and_plain(data: object) -> None:
    old_ids = {"w": "legacy", "b": ".."}.get
    parsed = parse_config(data, old_ids)
    found = [workspace for project in parsed.projects for workspace in project.workspaces]
    assert len({workspace.id for workspace in found}) == len(found)
    assert all(find_workspace(data, workspace.id, old_ids) == workspace for workspace in found)
    assert find_workspace(data, "nobody", old_ids) is None
    assert all("/" not in workspace.id and workspace.id not in ("", ".", "..") for workspace in found)
    assert all(
        project.path == workspace.bucket for project in parsed.projects for workspace in project.workspaces
    )


@given(st.lists(st.sampled_from(["/a", "/a/b", "/a/b/c", "/ab", "/x/y", "/x/y/z/"]), unique=True))
def test_every_workspace_is_listed_once_and_under_no_sub_project(paths: list[str]) -> None:
    pairs = [[path, {"workspaces": [{"id": f"w{number}"}]}] for number, path in enumerate(paths)]
    parsed = parse(*pairs)
    listed = [workspace.id for project in parsed.projects for workspace in project.workspaces]
    assert sorted(listed) == [f"w{number}" for number in range(len(paths))]
    owners = [project.path for project in parsed.projects if project.workspaces]
    assert not any(one != other and other.startswith(one + "/") for one in owners for other in owners)
