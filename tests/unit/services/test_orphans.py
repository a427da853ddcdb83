"""Lost stores find their project by evidence, and are merged into it without losing a line."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from helpers.benches import Time, again, contents, sample_parts
from helpers.claude_home import ClaudeHomeMaker
from helpers.lost_homes import NOTE, LostHome
from helpers.ordinary_user import without_power
from reverie.agents.base import Identity, LostStore
from reverie.agents.scopes import Scope
from reverie.claims.identity import read_identity, remote_key
from reverie.compose import open_parts
from reverie.errors import Conflict, StoreError
from reverie.memory.union import lost_lines
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.orphans import OrphanService, best, matches
from reverie.services.projects import ProjectRegistry, answer_projects, survey_projects
from reverie.services.views import LiveProject, MatchEvidence, MergePreview, StoreView
from reverie.values import replace


@pytest.fixture
def lost(tmp_path: Path) -> LostHome:
    return LostHome(tmp_path)


@pytest.fixture
def parts(lost: LostHome, tmp_path: Path) -> HomeContainer:
    from reverie.compose import open_parts

    (lost.root / "memory" / "global").mkdir(parents=True)
    return open_parts(lost.root, Profile.under(tmp_path / "profile"), Time())


@pytest.fixture
def desk(parts: HomeContainer) -> OrphanService:
    return OrphanService(parts)


def only(desk: OrphanService) -> StoreView:
    (view,) = desk.survey().stores
    return view


def kinds(view: StoreView) -> list[tuple[str, list[str]]]:
    return [(Path(each.project_path).name, [one.kind for one in each.evidence]) for each in view.matches]


def states(preview: MergePreview) -> dict[str, str]:
    return {row.rel: row.state for row in preview.rows}


# Whose it was


def test_a_moved_project_is_known_again_by_the_root_commit_seen_before(
    lost: LostHome, desk: OrphanService, parts: HomeContainer
) -> None:
    old = lost.repository("app", remote="https://me:secret@Example.org/team/app.git")
    lost.list(old)
    lost.store(old, a="x\n")
    assert desk.survey().stores == ()
    new = old.rename(lost.work / "renamed")
    lost.list(new)
    view = only(OrphanService(again(parts)))
    assert view.store.kind == "project"
    assert kinds(view) == [("renamed", ["root", "remote"])]
    assert view.best is not None
    assert Path(view.best.project_path) == new
    remembered = (parts.own_sidecars / "project-identities.json").read_text()
    assert "secret" not in remembered
    assert "example.org/team/app" in remembered


def test_a_checkout_that_still_stands_tells_the_root_commit(lost: LostHome, desk: OrphanService) -> None:
    live = lost.repository("new", seed="same", commits=2)
    checkout = lost.repository("worktree", seed="same", commits=1)
    lost.list(live)
    lost.fill(lost.root / "sessions" / "deadbeef00" / "memory", plan="x\n")
    facts = {"projectPath": "/gone/elsewhere", "workspacePath": str(checkout)}
    (lost.root / "sessions" / "deadbeef00" / "metadata.json").write_text(json.dumps(facts))
    assert kinds(only(desk)) == [("new", ["root"])]


def test_two_clones_with_the_same_evidence_are_never_told_apart_by_guessing(
    lost: LostHome, desk: OrphanService
) -> None:
    old = lost.repository("app")
    lost.list(old)
    lost.store(old, a="x\n")
    desk.survey()
    for name in ("one", "two"):
        shutil.copytree(old, lost.work / name)
    shutil.rmtree(old)
    lost.list(old, lost.work / "one", lost.work / "two")
    view = only(desk)
    assert view.store.kind == "missing-project"
    assert kinds(view) == [("one", ["root"]), ("two", ["root"])]
    assert view.best is None


STORE = LostStore("project", Path("/home/s"), "s", Scope.PROJECT, name="My_App", former_path="/old/my_app")


def live(path: str, *, there: bool = True, roots: str = "", remotes: str = "") -> LiveProject:
    identity = Identity(tuple(roots.split()), tuple(remotes.split()))
    return LiveProject(path, Path(path).name, there, identity)


def test_stronger_evidence_wins_whatever_there_is_of_the_weaker() -> None:
    seen = Identity(("r1",), ("host/x",))
    by_name_and_remote, by_root = live("/p/my-app", remotes="host/x"), live("/p/zzz", roots="r0 r1")
    found = matches(STORE, seen, (by_name_and_remote, by_root))
    assert [match.project_path for match in found] == ["/p/zzz", "/p/my-app"]
    assert best(found) == found[0]
    assert found[1].evidence == (MatchEvidence("remote", "host/x"), MatchEvidence("name", "my-app"))


def test_weaker_evidence_breaks_a_tie() -> None:
    seen = Identity(("r1",), ())
    found = matches(STORE, seen, (live("/p/fork", roots="r1"), live("/p/my app", roots="r1")))
    assert [match.project_path for match in found] == ["/p/my app", "/p/fork"]
    assert best(found) is not None


def test_a_project_that_is_not_there_is_no_match_unless_the_home_names_it() -> None:
    assert matches(STORE, None, (live("/p/my-app", there=False),)) == ()
    owned = LostStore("older-layout", Path("/h"), "", Scope.PROJECT, owner="/p/my-app")
    assert [match.rank[0] for match in matches(owned, None, (live("/p/my-app", there=False),))] == [True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git@GitHub.com:Team/App.git", "https://user:pw@github.com/Team/App"),
        ("ssh://git@host.example:2222/a/b.git/", "host.example:a/b"),
        ("/srv/git/app.git", "/srv/git/app"),
    ],
)
def test_one_remote_spelled_in_two_ways_is_one(one: str, other: str) -> None:
    assert remote_key(one) == remote_key(other) != ""


def test_reading_a_repository_writes_nothing_and_a_folder_in_it_has_its_path(lost: LostHome) -> None:
    repository = lost.repository("app", commits=3)
    (repository / "inner").mkdir()
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    identity = read_identity(repository)
    assert identity is not None
    assert len(identity.roots) == 1
    assert read_identity(repository / "inner") == replace(identity, below="inner")
    assert read_identity(lost.work) is None
    assert read_identity(repository, Identity(("0" * 40,))) == identity
    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before
    (repository / ".git" / "config").write_text("[nonsense")
    assert read_identity(repository) is None


# What it holds


def test_looking_changes_nothing_in_the_home(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path, whole=True)
    before = contents(parts.home.root)
    view = OrphanService(parts).survey()
    assert [(store.store.kind, len(store.files)) for store in view.stores] == [
        ("missing-project", 15),
        ("missing-project", 9),
        ("missing-project", 7),
    ]
    assert {store.best for store in view.stores} == {None}
    assert contents(parts.home.root) == before


def test_an_empty_store_needs_no_rescue(lost: LostHome, desk: OrphanService) -> None:
    (lost.root / "memory" / "project" / "old-0123456789ab" / "folder").mkdir(parents=True)
    assert desk.survey().stores == ()


def test_a_file_is_read_for_showing_only(lost: LostHome, desk: OrphanService) -> None:
    lost.store("/gone", a="text\n")
    text = desk.read(only(desk).store, "a.md")
    assert (text.content, bool(text.read_only)) == ("text\n", True)
    with pytest.raises(StoreError):
        desk.read(only(desk).store, "b.md")


# Merging


@pytest.fixture
def pair(lost: LostHome) -> tuple[Path, Path]:
    """A lost store and the project it is to be merged into, with every sort of file."""
    project = lost.repository("live")
    lost.list(project)
    mine = NOTE + "# Deploy\n\nUse make deploy.\nAsk first.\n"
    theirs = "---\ndescription: Deploying\n---\n# Deploy\n\nUse make ship.\nAsk first.\nThen wait.\n"
    target = lost.store(
        project, same="1\n", deploy=mine, **{"deploy-2": "taken\n"}, long="a\nb\nc\n", dir="f"
    )
    source = lost.store(
        "/gone/app",
        same="1\n",
        deploy=theirs,
        new__deep="n\n",
        long="c\na",
        raw=b"\xff\xfe",
        huge="x" * 102_401,
        **{"dir.md__x": "y", "bad~name": "z"},
    )
    return source, target


def test_the_preview_says_of_each_file_what_becomes_of_it(
    desk: OrphanService, lost: LostHome, pair: tuple[Path, Path]
) -> None:
    before = contents(lost.root)
    preview = desk.preview(only(desk).store, str(lost.work / "live"))
    assert states(preview) == {
        "bad~name.md": "blocked",
        "deploy.md": "differs",
        "dir.md/x.md": "blocked",
        "huge.md": "blocked",
        "long.md": "contained",
        "new/deep.md": "create",
        "raw.md": "create",
        "same.md": "same",
    }
    assert {row.rel: row.blocked for row in preview.rows if row.blocked} == {
        "bad~name.md": "name",
        "dir.md/x.md": "folder",
        "huge.md": "too-large",
    }
    (row,) = (row for row in preview.rows if row.state == "differs")
    assert row.choices == ("both", "beside", "leave")
    assert row.beside == "/memories/project/deploy-3.md"
    assert row.union is not None
    assert lost_lines(row.union, row.lost, row.live or b"") == ()
    assert contents(lost.root) == before


def test_a_merge_takes_every_line_over_and_leaves_the_lost_store(
    desk: OrphanService, lost: LostHome, pair: tuple[Path, Path]
) -> None:
    source, target = pair
    before, there = contents(source), contents(target)
    preview = desk.preview(only(desk).store, str(lost.work / "live"))
    undo = desk.apply(preview, {})
    assert contents(source) == before
    after = contents(target)
    for rel, data in there.items():
        assert lost_lines(after[rel], data) == ()
    for row in preview.rows:
        if row.state != "blocked":
            assert lost_lines(after[row.rel], before[row.rel]) == ()
    again = desk.preview(only(desk).store, str(lost.work / "live"))
    assert not [row for row in again.rows if row.state in ("create", "differs")]
    UserEdits(desk._parts).undo(undo)
    assert contents(target) == there


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_chosen_no_line_of_either_side_is_lost(
    desk: OrphanService, lost: LostHome, seed: int
) -> None:
    chance = random.Random(seed)
    project = lost.repository("live")
    lost.list(project)

    def notes() -> dict[str, str]:
        names = chance.sample(["a", "b", "c", "a-2", "d__a", "d__b", "e__f__g"], 5)
        words = ["", "x", "y", "z", "---", "# t", "description: q"]
        return {
            name: "\n".join(chance.choice(words) for _line in range(chance.randrange(9)))
            + chance.choice(["", "\n", "\r\n"])
            for name in names
        }

    target, source = lost.store(project, **notes()), lost.store("/gone/app", **notes())
    before, theirs = contents(target), contents(source)
    preview = desk.preview(only(desk).store, str(project))
    chosen = {row.rel: chance.choice(row.choices) for row in preview.rows if row.choices}
    if any(row.state == "create" or chosen.get(row.rel) in ("both", "beside") for row in preview.rows):
        desk.apply(preview, chosen)
    after = contents(target)
    for rel, data in before.items():
        assert lost_lines(after[rel], data) == ()
    for row in preview.rows:
        place = row.beside if chosen.get(row.rel) == "beside" else row.path
        if chosen.get(row.rel) != "leave":
            assert lost_lines(after[place.removeprefix("/memories/project/")], theirs[row.rel]) == ()
    assert contents(source) == theirs


def test_beside_and_leave_change_nothing_that_stands_there(
    desk: OrphanService, lost: LostHome, pair: tuple[Path, Path]
) -> None:
    source, target = pair
    deploy = (target / "deploy.md").read_bytes()
    preview = desk.preview(only(desk).store, str(lost.work / "live"))
    desk.apply(preview, {"deploy.md": "beside"})
    assert (target / "deploy.md").read_bytes() == deploy
    assert (target / "deploy-3.md").read_bytes() == (source / "deploy.md").read_bytes()
    (target / "deploy-3.md").unlink()
    with pytest.raises(StoreError, match="There is nothing to merge"):
        desk.apply(desk.preview(only(desk).store, str(lost.work / "live")), {"deploy.md": "leave"})


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_changed_since_the_preview_stops_the_whole_merge(
    desk: OrphanService, lost: LostHome, pair: tuple[Path, Path], side: int
) -> None:
    preview = desk.preview(only(desk).store, str(lost.work / "live"))
    (pair[side] / "deploy.md").write_text("other\n")
    before = contents(lost.root)
    with pytest.raises(Conflict):
        desk.apply(preview, {})
    assert contents(lost.root) == before


def test_pins_follow_by_the_records_of_the_former_project(
    desk: OrphanService, lost: LostHome, parts: HomeContainer
) -> None:
    project = lost.repository("live")
    lost.list(project)
    lost.store("/gone/app", a="a\n", b="b\n")
    key = "project:/gone/app:a.md"
    (lost.root / "memory-meta.json").write_text(json.dumps({"entries": {key: {"pinned": True}}}))
    desk.apply(desk.preview(only(desk).store, str(project)), {})
    usage = parts.usage.load()
    assert usage[f"project:{project}:a.md"].pinned
    assert not usage[f"project:{project}:b.md"].pinned


def test_a_merge_is_prepared_without_pins_where_these_cannot_be_read_and_says_so(
    desk: OrphanService, lost: LostHome
) -> None:
    project = lost.repository("live")
    lost.list(project)
    lost.store("/gone/app", a="a\n")
    store = only(desk).store
    assert desk.preview(store, str(project)).problem == ""
    sidecar = lost.root / "memory-meta.json"
    sidecar.write_text("{}")
    sidecar.chmod(0)
    preview = without_power(lambda: desk.preview(store, str(project)))
    assert states(preview) == {"a.md": "create"}
    assert preview.problem.startswith("Pins and use counts are unknown. ")


def test_loose_notes_of_the_first_layout_go_to_global_memory(desk: OrphanService, lost: LostHome) -> None:
    lost.fill(lost.root / "memory", loose="l\n")
    lost.fill(lost.root / "memory" / "global", today="t\n")
    preview = desk.preview(only(desk).store)
    assert [row.path for row in preview.rows] == ["/memories/global/loose.md"]
    desk.apply(preview, {})
    assert (lost.root / "memory" / "global" / "loose.md").read_text() == "l\n"
    with pytest.raises(StoreError, match="not removed"):
        desk.remove(only(desk).store)


def test_a_store_is_not_merged_into_itself(desk: OrphanService, lost: LostHome) -> None:
    lost.list("/gone/app")
    lost.store("/gone/app", a="a\n")
    with pytest.raises(StoreError, match="These memories are already in this project"):
        desk.preview(only(desk).store, "/gone/app")


@pytest.mark.parametrize("kind", ["project", "missing-project", "workspace"])
def test_a_removed_store_comes_back_byte_for_byte(
    desk: OrphanService, lost: LostHome, parts: HomeContainer, kind: str
) -> None:
    files: dict[str, str | bytes] = {"a": "a\r\n", "deep__b": b"\xff"}
    lost.list(*(["/gone/app"] if kind == "missing-project" else []))
    if kind == "workspace":
        directory = lost.root / "sessions" / "deadbeef00" / "memory"
        lost.fill(directory, **files)
    else:
        directory = lost.store("/gone/app", **files)
    view = only(desk)
    assert (view.store.kind, view.removable) == (kind, True)
    before = contents(directory)
    undo = desk.remove(view.store)
    assert directory.exists() == (kind == "workspace")
    assert contents(directory) == {}
    assert desk.survey().stores == ()
    UserEdits(parts).undo(undo)
    assert contents(directory) == before


# Further checkouts of one repository


@pytest.fixture
def clones(lost: LostHome) -> tuple[Path, Path, Path]:
    """Two clones with notes, and a fork."""
    url = "https://github.com/team/app"
    paths = (
        lost.repository("one", seed="app", remote=url),
        lost.repository("two", seed="app", remote="git@github.com:team/app.git"),
        lost.repository("fork", seed="app", remote="https://github.com/me/app"),
    )
    lost.list(*paths)
    for path, names in zip(paths, ("abc", "cd", "e"), strict=True):
        lost.store(path, **{name: f"{name} of {path.name}\n" for name in names})
    return paths


def test_the_store_of_another_checkout_is_offered_for_a_merge_but_not_that_of_a_fork(
    desk: OrphanService, clones: tuple[Path, Path, Path]
) -> None:
    view = only(desk)
    assert (view.store.kind, view.store.former_path, len(view.files)) == (
        "other-checkout",
        str(clones[1]),
        2,
    )
    assert view.best is not None
    assert view.best.project_path == str(clones[0])
    assert not view.removable
    with pytest.raises(StoreError, match="was not removed"):
        desk.remove(view.store)


def test_merging_another_checkout_loses_no_line_changes_no_other_store_and_can_be_undone(
    desk: OrphanService, lost: LostHome, clones: tuple[Path, Path, Path]
) -> None:
    before = contents(lost.root / "memory")
    preview = desk.preview(only(desk).store, str(clones[0]))
    assert states(preview) == {"c.md": "differs", "d.md": "create"}
    undo = desk.apply(preview, {})
    after = contents(lost.root / "memory")
    changed = {path for path in after if after[path] != before.get(path)}
    assert {Path(path).name for path in changed} == {"c.md", "d.md"}
    (merged,) = (after[path] for path in changed if path.endswith("c.md"))
    assert lost_lines(merged, b"c of one\n", b"c of two\n") == ()
    UserEdits(desk._parts).undo(undo)
    assert contents(lost.root / "memory") == before


def test_a_fork_is_offered_once_a_person_says_that_it_is_the_same_project(
    desk: OrphanService, parts: HomeContainer, clones: tuple[Path, Path, Path]
) -> None:
    registry = ProjectRegistry(parts.profile, parts.clock)
    rows = survey_projects([parts], registry)
    answer_projects(registry, rows, str(clones[0]), str(clones[2]), "same")
    assert {view.store.name for view in desk.survey().stores} == {"two", "fork"}


def test_indexes_of_two_checkouts_are_merged_entry_by_entry(tmp_path: Path) -> None:
    maker, places = ClaudeHomeMaker(tmp_path), LostHome(tmp_path)
    index = "# Index\n\n- [A](a.md) - one\n"
    entries = ("- [B](b.md) - two\n", "- [C](c.md) - three\n")
    for number, (name, more) in enumerate(zip(("one", "two"), entries, strict=True)):
        path = places.repository(name, seed="app", remote="https://github.com/team/app")
        maker.session(path, number + 1)
        maker.memory(path, {"MEMORY.md": index + more, f"{name}.md": "x\n", "a.md": "x\n"})
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), Time())
    view = only(OrphanService(parts))
    assert view.best is not None
    preview = OrphanService(parts).preview(view.store, view.best.project_path)
    (row,) = (row for row in preview.rows if row.rel == "MEMORY.md")
    first, second = entries
    assert row.union in (f"{index}{first}{second}".encode(), f"{index}{second}{first}".encode())
    assert row.choices[0] == "both"
