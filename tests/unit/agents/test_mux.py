"""A mux home: its lists, contexts, scope roots, companions and orphans."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.samples import copy_sample, snapshot
from reverie.agents.base import Home, HomeContents
from reverie.agents.mux.home import MuxHome
from reverie.agents.mux.names import project_dir_name
from reverie.agents.scopes import ProjectGap, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.errors import Unavailable

ACME = "/home/dev/projects/acme-api"
GARDEN = "/home/dev/projects/pixel-garden"


@pytest.fixture
def home(tmp_path: Path) -> MuxHome:
    return MuxHome(copy_sample("mux-home", tmp_path))


@pytest.fixture
def bare(tmp_path: Path) -> MuxHome:
    """A home with nothing in it."""
    (tmp_path / "bare").mkdir()
    return MuxHome(tmp_path / "bare")


def configure(home: MuxHome, *pairs: Any) -> None:
    (home.root / "config.json").write_text(json.dumps({"projects": list(pairs)}))


def add_workspace(home: MuxHome, bucket: str, raw: dict[str, Any]) -> None:
    file = home.root / "config.json"
    data = json.loads(file.read_text())
    next(project for path, project in data["projects"] if path == bucket)["workspaces"].append(raw)
    file.write_text(json.dumps(data))


def put(home: MuxHome, *names: str) -> None:
    for name in names:
        file = home.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


def keys(roots: tuple[ScopeRoot, ...]) -> list[str]:
    return [root.key for root in roots]


def add_scratch(home: MuxHome) -> str:
    """A scratch chat with a project memory, as the agent keeps it; returns the path of the chat."""
    path = str(home.root / "scratch" / "ab12cd34ef")
    chat = {"id": "ab12cd34ef", "name": "ab12cd34ef", "path": path, "kind": "scratch"}
    configure(home, ["_scratch", {"workspaces": [chat]}])
    put(home, f"memory/project/{project_dir_name(path)}/lesson.md")
    return path


def test_the_store_of_a_scratch_chat_is_the_chats_and_no_orphan(home: MuxHome) -> None:
    path = add_scratch(home)
    context = home.context(workspace_id="ab12cd34ef")
    assert (context.project_path, context.dreams_as) == (path, "_scratch")
    root = home.scope_root(context, Scope.PROJECT)
    assert (root.directory / "lesson.md").exists()
    contents = home.contents()
    assert [project.name for project in contents.projects] == ["Scratch"]
    assert root.directory not in [orphan.directory for orphan in contents.orphans]
    assert root in home.roots()
    assert root.directory not in [
        store.directory for store in home.lost_stores() if store.kind != "missing-project"
    ]


def test_a_workspace_of_the_multi_bucket_that_names_one_project_has_its_memory(home: MuxHome) -> None:
    single = {"id": "w", "path": "/w", "projects": [{"projectPath": "/p/app", "projectName": "app"}]}
    configure(home, ["_multi", {"workspaces": [single, {"id": "none", "path": "/n"}]}])
    context = home.context(workspace_id="w")
    assert context.project_path == "/p/app"
    assert context.for_dreams().project_gap is ProjectGap.MULTI_PROJECT
    assert home.context(workspace_id="none").project_gap is ProjectGap.MULTI_PROJECT


# The sample homes


def test_the_sample_lists_its_projects_and_workspaces(home: MuxHome) -> None:
    contents = home.contents()
    assert contents.problems == ()
    assert contents.orphans == ()
    assert {project.name: [found.id for found in project.workspaces] for project in contents.projects} == {
        "acme-api": ["a1f3c9e2b7"],
        "pixel-garden": ["77b0d2c4e5", "3e9a1b5c6d"],
        "data-pipeline": ["c04d8e91aa", "5d6e7f8091"],
        "Several projects": ["e8f1a2b3c4"],
    }
    assert [found.id for found in contents.workspaces() if found.archived] == ["3e9a1b5c6d"]
    assert [found.id for found in contents.workspaces() if found.multi_project] == ["e8f1a2b3c4"]


def test_the_sample_has_one_root_for_each_store_on_disk(home: MuxHome) -> None:
    roots = home.roots()
    assert keys(roots) == [
        "global",
        "project/acme-api-db553efff149",
        "project/data-pipeline-21ca8fe13a59",
        "project/pixel-garden-151cea1d7209",
        "workspace/3e9a1b5c6d",
        "workspace/5d6e7f8091",
        "workspace/a1f3c9e2b7",
        "workspace/c04d8e91aa",
        "workspace/e8f1a2b3c4",
    ]
    assert all(root.directory.is_dir() for root in roots)


@pytest.mark.parametrize("name", ["mux-home", "mux-home-legacy"])
def test_each_usage_record_of_a_sample_belongs_to_a_file_of_its_roots(name: str, tmp_path: Path) -> None:
    home = MuxHome(copy_sample(name, tmp_path, whole=True))
    files = {
        home.usage_key(root, file.relative_to(root.directory).as_posix())
        for root in home.roots()
        for file in root.directory.rglob("*")
        if file.is_file()
    }
    recorded = json.loads((home.root / "memory-meta.json").read_text())["entries"].keys()
    assert recorded <= files
    assert any(key.endswith(":kafka%3Atopics.md") for key in recorded) is (name == "mux-home")


def test_the_legacy_sample_opens_like_the_newer_one(tmp_path: Path) -> None:
    home = MuxHome(copy_sample("mux-home-legacy", tmp_path))
    contents = home.contents()
    assert contents.problems == contents.orphans == ()
    assert [project.name for project in contents.projects] == ["bookstall", "night-bus"]
    assert keys(home.roots()) == [
        "global",
        "project/bookstall-faf8928a02e4",
        "project/night-bus-911bcd69f942",
        "workspace/1029384756",
        "workspace/2b3c4d5e6f",
    ]


def test_the_sample_tells_when_each_workspace_was_last_used(home: MuxHome) -> None:
    assert home.recencies()[:2] == (("c04d8e91aa", 1786025169042), ("a1f3c9e2b7", 1786962243288))
    assert len(home.recencies()) == 6


def test_companions_are_the_instructions_and_the_older_project_file(home: MuxHome) -> None:
    shown = home.companions(home.context(workspace_id="a1f3c9e2b7"))
    assert [(found.scope, found.label, found.exists) for found in shown] == [
        (Scope.GLOBAL, "AGENTS.md", True),
        (Scope.PROJECT, "memories/acme-api-1d659342.md", True),
    ]
    (home.root / "CLAUDE.md").write_text("x")
    (home.root / "AGENTS.md").unlink()
    shown = home.companions(home.context(workspace_id="77b0d2c4e5"))
    assert [(found.label, found.exists) for found in shown] == [
        ("AGENTS.md", False),
        ("CLAUDE.md", True),
        (f"memories/{shown[2].path.name}", False),
    ]
    multi = home.companions(home.context(workspace_id="e8f1a2b3c4"))
    assert [found.label for found in multi] == ["AGENTS.md", "CLAUDE.md"]


def test_the_older_project_file_is_offered_only_where_the_agent_loads_it(home: MuxHome) -> None:
    context = home.context(workspace_id="77b0d2c4e5")

    def offered() -> list[bool]:
        shown = home.companions(context)
        return [found.exists for found in shown if found.label.startswith("memories/")]

    config = home.root / "config.json"
    data = json.loads(config.read_text())
    assert offered() == [False]
    for sign in ("taskSettings", "agentAiDefaults"):
        data.pop(sign, None)
    config.write_text(json.dumps(data))
    shutil.rmtree(home.root / "debug_obj", ignore_errors=True)
    assert offered() == []
    assert any(found.exists for found in home.companions(home.context(workspace_id="a1f3c9e2b7")))
    config.write_text("{")
    assert offered() == []
    (home.root / "debug_obj" / "memories").mkdir(parents=True)
    assert offered() == [False]


def test_the_caps_are_those_of_the_agent(home: MuxHome) -> None:
    caps = home.caps
    assert (caps.file_bytes, caps.files_per_scope, caps.description_chars) == (102_400, 1000, 200)
    assert (caps.description_prefix_bytes, caps.view_depth) == (4096, 2)


def test_sidecars_and_watched_places_lie_in_the_home(home: MuxHome) -> None:
    assert home.sidecars.usage == home.root / "memory-meta.json"
    assert home.sidecars.coverage == home.root / "memory-consolidation.json"
    watched = {place.directory.relative_to(home.root).as_posix(): place.names for place in home.watched()}
    dumps = {"debug_obj", "debug_obj/a1f3c9e2b7", "debug_obj/a1f3c9e2b7/system1_memory_writer"}
    assert watched.keys() == {".", "memory", "memory/project", "memories", "sessions"} | dumps
    assert {"config.json", "memory-meta.json", "memory-consolidation.json", "AGENTS.md"} <= set(watched["."])


# Contexts


def test_a_workspace_belongs_to_its_bucket(home: MuxHome) -> None:
    assert home.context(workspace_id="a1f3c9e2b7") == ScopeContext("a1f3c9e2b7", ACME)


def test_the_one_project_a_workspace_lists_goes_before_its_bucket(home: MuxHome) -> None:
    add_workspace(home, ACME, {"id": "w", "path": "/w", "projects": [{"projectPath": GARDEN}]})
    assert home.context(workspace_id="w").project_path == GARDEN


def test_a_child_without_projects_of_its_own_keeps_its_bucket(home: MuxHome) -> None:
    add_workspace(home, ACME, {"id": "w", "path": "/w", "parentWorkspaceId": "e8f1a2b3c4"})
    assert home.context(workspace_id="w").project_path == ACME


@pytest.mark.parametrize("extra", [{}, {"parentWorkspaceId": "a1f3c9e2b7"}])
def test_a_workspace_over_two_projects_is_never_bound_to_the_first(
    home: MuxHome, extra: dict[str, str]
) -> None:
    listed = [{"projectPath": ACME, "projectName": "acme-api"}, {"projectPath": GARDEN, "projectName": "g"}]
    add_workspace(home, ACME, {"id": "w", "path": "/w", "projects": listed, **extra})
    for workspace_id in ("w", "e8f1a2b3c4"):
        context = home.context(workspace_id=workspace_id)
        assert context == ScopeContext(workspace_id, None, ProjectGap.MULTI_PROJECT)
        with pytest.raises(ScopeUnavailable) as refusal:
            home.scope_root(context, Scope.PROJECT)
        assert refusal.value.gap is ProjectGap.MULTI_PROJECT
        assert home.scope_root(context, Scope.WORKSPACE).key == f"workspace/{workspace_id}"


def test_a_sub_projects_workspace_uses_the_memory_of_the_parent(bare: MuxHome) -> None:
    configure(bare, ["/m", {}], ["/m/sub", {"workspaces": [{"id": "w", "path": "/w"}]}])
    assert bare.context(workspace_id="w").project_path == "/m"


def test_no_workspace_and_no_project_leave_the_global_scope(home: MuxHome) -> None:
    context = home.context()
    assert context == ScopeContext(None, None, ProjectGap.NO_PROJECT)
    assert home.scope_root(context, Scope.GLOBAL).key == "global"
    with pytest.raises(ScopeUnavailable) as refusal:
        home.scope_root(context, Scope.WORKSPACE)
    assert refusal.value.gap is None


def test_an_unlisted_workspace_has_no_project(home: MuxHome) -> None:
    assert home.context(workspace_id="gone") == ScopeContext("gone", None, ProjectGap.NO_PROJECT)


@pytest.mark.parametrize(
    "raw", [{"projects": [{"projectPath": ""}]}, {"projects": [{"projectPath": "_multi"}]}]
)
def test_an_empty_or_multi_project_identity_is_no_project(home: MuxHome, raw: dict[str, Any]) -> None:
    add_workspace(home, ACME, {"id": "w", "path": "/w", **raw})
    assert home.context(workspace_id="w").project_path is None


def test_a_project_that_the_caller_names_goes_before_what_is_listed(home: MuxHome) -> None:
    assert home.context(
        workspace_id="a1f3c9e2b7", project_path=GARDEN + "/", project_given=True
    ) == ScopeContext("a1f3c9e2b7", GARDEN)
    assert home.context(project_path=GARDEN) == ScopeContext(None, GARDEN)
    for nothing in (None, ""):
        context = home.context(workspace_id="a1f3c9e2b7", project_path=nothing, project_given=True)
        assert context == ScopeContext("a1f3c9e2b7", None, ProjectGap.NO_PROJECT)
    assert home.context(project_path="_multi").project_gap is ProjectGap.MULTI_PROJECT


def test_each_reason_for_a_missing_project_has_its_own_text(home: MuxHome) -> None:
    texts = set()
    for gap in ProjectGap:
        with pytest.raises(ScopeUnavailable) as refusal:
            home.scope_root(ScopeContext("w", None, gap), Scope.PROJECT)
        assert refusal.value.gap is gap
        assert refusal.value.next_step
        texts.add(refusal.value.title)
    assert len(texts) == len(ProjectGap)


@pytest.mark.parametrize("damage", [b"{", b"[]", b"", b"\xff"])
def test_with_an_unreadable_list_a_workspaces_project_is_unknown_and_not_none(
    home: MuxHome, damage: bytes
) -> None:
    (home.root / "config.json").write_bytes(damage)
    context = home.context(workspace_id="a1f3c9e2b7")
    assert context.project_gap is ProjectGap.UNKNOWN
    assert home.scope_root(context, Scope.WORKSPACE).directory.is_dir()


# Old workspaces


def test_an_old_workspace_is_found_by_the_id_in_its_metadata(bare: MuxHome) -> None:
    configure(bare, ["/p/app", {"workspaces": [{"path": "/s/feature"}, {"path": "/s/other"}]}])
    (bare.root / "sessions" / "feature").mkdir(parents=True)
    (bare.root / "sessions" / "feature" / "metadata.json").write_text('{"id": "cafe"}')
    assert [found.id for found in bare.contents().workspaces()] == ["cafe", "app-other"]
    assert bare.context(workspace_id="cafe").project_path == "/p/app"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"id": 5}', '{"id": ""}'])
def test_metadata_without_an_id_falls_back_to_the_names(bare: MuxHome, content: str) -> None:
    configure(bare, ["/p/app", {"workspaces": [{"path": "/s/feature"}]}])
    (bare.root / "sessions" / "feature").mkdir(parents=True)
    (bare.root / "sessions" / "feature" / "metadata.json").write_text(content)
    assert [found.id for found in bare.contents().workspaces()] == ["app-feature"]


# Hostile ids

any_text = st.text(st.characters(codec=None, categories=None), max_size=40)
hostile = st.one_of(
    any_text,
    st.lists(st.sampled_from(["..", ".", "/", "\\", "a", "\0", "~", "C:"]), max_size=6).map("".join),
)


@pytest.mark.parametrize("bad", ["..", ".", "", "../..", "/etc", "a/b", "a\\b", "a\0b", "x" * 300, "\ud800"])
def test_an_id_that_is_no_directory_name_is_refused(home: MuxHome, bad: str) -> None:
    with pytest.raises(Unavailable):
        home.context(workspace_id=bad)
    with pytest.raises(Unavailable):
        home.scope_root(ScopeContext(bad, None, ProjectGap.NO_PROJECT), Scope.WORKSPACE)


@given(hostile, hostile)
def test_no_id_leads_out_of_the_home(
    tmp_path_factory: pytest.TempPathFactory, workspace_id: str, project: str
) -> None:
    home = MuxHome(tmp_path_factory.getbasetemp())
    context = ScopeContext(workspace_id, project)
    for scope, parent in ((Scope.WORKSPACE, "sessions"), (Scope.PROJECT, "memory/project")):
        try:
            directory = home.scope_root(context, scope).directory
        except Unavailable:
            continue
        below = Path(os.path.relpath(os.path.normpath(directory), home.root / parent)).parts
        assert ".." not in below
        assert len(below) == (2 if scope is Scope.WORKSPACE else 1)


# Roots and orphans


def test_a_home_without_anything_has_no_roots_and_says_why_nothing_is_listed(bare: MuxHome) -> None:
    assert bare.roots() == ()
    contents = bare.contents()
    assert contents.projects == contents.orphans == ()
    assert len(contents.problems) == 1
    assert bare.recencies() == ()


def test_stores_that_nothing_points_at_are_roots_and_orphans(home: MuxHome) -> None:
    put(
        home,
        "memory/project/old-app-0123456789ab/a.md",
        "sessions/deadbeef00/memory/b.md",
        "sessions/x/chat.jsonl",
    )
    contents = home.contents()
    assert [(found.kind, found.label) for found in contents.orphans] == [
        ("project", "old-app-0123456789ab"),
        ("workspace", "deadbeef00"),
    ]
    by_key = {root.key: root for root in home.roots(contents)}
    assert by_key["project/old-app-0123456789ab"].usage_prefix is None
    assert home.usage_key(by_key["project/old-app-0123456789ab"], "a.md") is None
    assert home.usage_key(by_key["workspace/deadbeef00"], "b.md") == "workspace:deadbeef00:b.md"
    assert "workspace/x" not in by_key


@pytest.mark.parametrize("listed", [{"projects": [{"projectPath": "/p/x"}]}, {"subProjectPath": "/p/x"}])
def test_a_store_of_a_path_that_only_a_workspace_names_is_no_orphan(
    bare: MuxHome, listed: dict[str, Any]
) -> None:
    configure(bare, ["/p/app", {"workspaces": [{"id": "w", "path": "/w", **listed}]}])
    put(bare, f"memory/project/{project_dir_name('/p/x')}/a.md")
    assert bare.contents().orphans == ()
    assert bare.roots()[0].usage_prefix == "project:/p/x:"


def test_the_store_of_an_emptied_sub_project_is_no_orphan(bare: MuxHome) -> None:
    configure(bare, ["/m", {}], ["/m/sub", {"workspaces": [{"id": "w", "path": "/w"}]}])
    put(bare, f"memory/project/{project_dir_name('/m/sub')}/a.md")
    assert bare.contents().orphans == ()


def test_files_of_older_layouts_are_orphans_and_no_roots(home: MuxHome) -> None:
    old = project_dir_name(ACME)
    put(home, "memory/loose.md", "memory/second.md", "memory/.hidden.md", "memory/note.txt")
    put(home, f"project-memory/{old}/a.md", "project-memory/gone-0123456789ab/b.md")
    before = keys(home.roots())
    orphans = home.contents().orphans
    assert [(found.kind, found.label) for found in orphans] == [
        ("older-layout", "memory/ (2 loose files)"),
        ("older-layout", ACME),
        ("older-layout", "gone-0123456789ab"),
    ]
    assert keys(home.roots()) == before


def test_directories_of_tools_are_no_stores_but_an_owned_dot_name_is(bare: MuxHome) -> None:
    configure(bare, ["/p/.dotfiles", {}])
    owned = project_dir_name("/p/.dotfiles")
    put(bare, "memory/project/.git/config", "sessions/.git/memory/x", f"memory/project/{owned}/a.md")
    assert keys(bare.roots()) == [f"project/{owned}"]
    assert bare.contents().orphans == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(any_text, children, max_size=3),
    max_leaves=8,
)
pairs = st.tuples(
    hostile,
    st.fixed_dictionaries(
        {
            "workspaces": st.lists(
                st.fixed_dictionaries({}, optional={"id": hostile, "path": hostile, "projects": json_values}),
                max_size=3,
            )
        }
    ),
).map(list)


@given(
    st.one_of(
        st.binary(max_size=30),
        json_values.map(lambda value: json.dumps(value).encode()),
        st.lists(pairs, max_size=3).map(lambda value: json.dumps({"projects": value}).encode()),
    )
)
def test_no_list_whatever_is_in_it_keeps_a_home_from_opening(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    home = MuxHome(tmp_path_factory.mktemp("home"))
    put(home, "memory/global/a.md", "sessions/w/memory/b.md")
    (home.root / "config.json").write_bytes(content)
    contents = home.contents()
    assert {"global", "workspace/w"} <= {root.key for root in home.roots(contents)}
    for workspace in contents.workspaces():
        assert home.scope_root(home.context(workspace_id=workspace.id), Scope.WORKSPACE)


def test_of_very_many_problems_the_first_are_told_and_the_others_counted(bare: MuxHome) -> None:
    configure(bare, *[None] * 150)
    problems = bare.contents().problems
    assert len(problems) == 101
    assert "50" in problems[-1]


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b"[" * 50_000])
def test_an_unreadable_list_is_a_problem_and_makes_no_orphans(home: MuxHome, damage: bytes) -> None:
    (home.root / "config.json").write_bytes(damage)
    contents = home.contents()
    assert contents.projects == contents.orphans == ()
    assert len(contents.problems) == 1
    assert len(home.roots(contents)) == 9


def test_a_missing_list_makes_every_store_an_orphan(home: MuxHome) -> None:
    (home.root / "config.json").unlink()
    contents = home.contents()
    assert len(contents.problems) == 1
    assert [found.kind for found in contents.orphans] == ["project"] * 3 + ["workspace"] * 5


def test_what_cannot_be_listed_is_a_problem(bare: MuxHome) -> None:
    configure(bare)
    (bare.root / "sessions").write_text("a file")
    assert len(bare.contents().problems) == 1
    assert bare.roots() == ()


def test_a_name_that_is_not_utf8_is_a_root_like_any_other(bare: MuxHome) -> None:
    configure(bare)
    try:
        os.makedirs(os.fsencode(bare.root) + b"/sessions/caf\xe9/memory")  # noqa: PTH103 - bytes
    except OSError:
        pytest.skip("this file system knows only UTF-8")
    (root,) = bare.roots()
    assert root.directory.is_dir()
    assert bare.context(workspace_id=root.key.removeprefix("workspace/")).workspace_id


# Recencies


def test_entries_without_a_time_and_a_streaming_flag_are_ignored(bare: MuxHome) -> None:
    entries = {
        "ok": {"recency": 5.7, "streaming": False},
        "text": {"recency": "5", "streaming": False},
        "bool": {"recency": True, "streaming": False},
        "no-flag": {"recency": 5},
        "null": None,
        "huge": {"recency": 1e999, "streaming": True},
    }
    (bare.root / "extensionMetadata.json").write_text(json.dumps({"version": 1, "workspaces": entries}))
    assert bare.recencies() == (("ok", 5),)


def test_the_order_is_that_in_which_the_agent_sees_its_keys(bare: MuxHome) -> None:
    names = ["b", "20", "a", "4294967295", "3", "01", "0"]
    entries = {name: {"recency": 1, "streaming": True} for name in names}
    (bare.root / "extensionMetadata.json").write_text(json.dumps({"version": 1, "workspaces": entries}))
    assert [name for name, _ in bare.recencies()] == ["0", "3", "20", "b", "a", "4294967295", "01"]


@pytest.mark.parametrize("version", [None, 2, "1", True])
def test_activity_of_another_version_is_as_good_as_none_as_for_the_agent(
    bare: MuxHome, version: object
) -> None:
    data = {"version": version, "workspaces": {"ok": {"recency": 5, "streaming": False}}}
    (bare.root / "extensionMetadata.json").write_text(json.dumps(data))
    assert bare.recencies() == ()


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"version": 1, "workspaces": []}', "null"])
def test_damaged_activity_is_as_good_as_none(bare: MuxHome, content: str) -> None:
    (bare.root / "extensionMetadata.json").write_text(content)
    assert bare.recencies() == ()


# Vanished, linked, only looked at


def test_a_home_that_vanished_is_unavailable_and_not_empty(home: MuxHome) -> None:
    contents = home.contents()
    context = home.context(workspace_id="a1f3c9e2b7")
    home.root.rename(home.root.with_name("moved"))
    assert not home.available()
    for look in (
        home.contents,
        home.roots,
        home.recencies,
        lambda: home.roots(contents),
        lambda: home.context(workspace_id="a1f3c9e2b7"),
        lambda: home.scope_root(context, Scope.GLOBAL),
    ):
        with pytest.raises(Unavailable) as refusal:
            look()
        assert refusal.value.next_step


def test_looking_changes_nothing(home: MuxHome) -> None:
    before = snapshot(home.root)
    contents = home.contents()
    home.roots(contents)
    home.recencies()
    home.watched()
    for workspace in contents.workspaces():
        context = home.context(workspace_id=workspace.id)
        home.companions(context)
        home.scope_root(context, Scope.WORKSPACE)
    home.scope_root(home.context(project_path="/never/seen"), Scope.PROJECT)
    assert snapshot(home.root) == before


def test_a_linked_home_shows_the_same_under_the_name_it_was_given(home: MuxHome, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home.root)
    linked = MuxHome(tmp_path / "link")
    assert linked.contents().projects == home.contents().projects
    assert keys(linked.roots()) == keys(home.roots())
    assert all(root.directory.is_relative_to(tmp_path / "link") for root in linked.roots())


def test_the_label_shortens_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert MuxHome(tmp_path / ".xum").label == f"~{os.sep}.xum"
    assert MuxHome(tmp_path.with_name(tmp_path.name + "-2")).label == f"{tmp_path}-2"


def test_it_keeps_the_protocol(home: MuxHome) -> None:
    typed: Home = home
    assert (typed.kind, typed.root) == ("mux", home.root)
    assert isinstance(typed.contents(), HomeContents)


def test_the_transcript_of_a_workspace_lies_in_its_session(tmp_path: Path) -> None:
    session = tmp_path / "sessions" / "a1f3c9e2b7"
    session.mkdir(parents=True)
    row = {"id": "user-1", "role": "user", "parts": [], "metadata": {"historySequence": 3}}
    (session / "chat.jsonl").write_text(json.dumps(row))
    home = MuxHome(tmp_path)
    found = home.transcript("a1f3c9e2b7")
    assert found is not None
    assert [turn.sequence for turn in found.turns()] == [3]
    for hostile in ("..", "a/b", "", "."):
        with pytest.raises(Unavailable):
            home.transcript(hostile)
