"""What a repository tells of its history: changes of commits, the bound that following it has, a refresh."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.git_project import GitProject
from helpers.profiles import examples
from reverie.claims import repository as module
from reverie.claims.checking import CheckedNote, ClaimChecker
from reverie.claims.repository import ProjectRepository

LINK, SUBMODULE, PROGRAM = 0o120000, 0o160000, 0o100755


def _odd_project(directory: Path, commits: int = 60) -> GitProject:
    """Files, links, submodules and programs that take each other's places, in nested directories."""
    rng, project = random.Random(11), GitProject(directory, bare=True)
    for number in range(commits):
        place = "/".join(rng.choice("abc") for _ in range(rng.randrange(1, 4)))
        for path in [
            one for one in project.files if one.startswith(f"{place}/") or place.startswith(f"{one}/")
        ]:
            del project.files[path]
        if rng.random() < 0.3 and project.files:
            project.files.pop(rng.choice(sorted(project.files)))
        mode = rng.choice((0o100644, 0o100644, PROGRAM, LINK, SUBMODULE))
        oid = "1" * 40 if mode == SUBMODULE else project.blob(f"{number % 7}\n".encode())
        project.entry(place, oid, mode)
    return project


def test_changes_are_what_libgit2_finds(tmp_path: Path) -> None:
    project = _odd_project(tmp_path / "odd.git")
    repository = ProjectRepository(project.path)
    repository.walk_until(lambda: False)
    kinds = set[str]()
    for at in range(repository.length):
        commit = project.git[repository.commit(at).id]
        assert isinstance(commit, pygit2.Commit)
        deltas = (
            commit.parents[0].tree.diff_to_tree(commit.tree).deltas
            if commit.parents
            else commit.tree.diff_to_tree(swap=True).deltas
        )
        expected = []
        for delta in deltas:
            side = delta.new_file if delta.status_char() == "A" else delta.old_file
            expected.append((delta.status_char(), side.path, str(side.id)))
        assert [(one.status, one.path, one.blob) for one in repository.changes(at)] == expected
        kinds.update(status for status, _path, _id in expected)
    assert kinds == {"A", "D", "M"}


def test_a_refresh_tells_as_a_new_look_does(tmp_path: Path) -> None:
    project = _odd_project(tmp_path / "odd.git")
    known = ProjectRepository(project.path)
    known.walk_until(lambda: False)
    assert known.refresh() is None
    project.commit({"a/new.txt": "new\n"} if "a" not in project.files else {"new.txt": "new\n"})
    (path,) = (one for one in project.files if one.endswith("new.txt"))
    project.commit({path: None}, "Gone again")
    project.commit({"last.txt": "last\n"})
    assert known.refresh() == {"last.txt"}
    anew = ProjectRepository(project.path)
    anew.walk_until(lambda: False)
    assert known.now == anew.now
    assert known.deletion(path) == known.newest + 1
    assert known.commit(known.newest + 1).subject == "Gone again"
    assert known.length == anew.length
    for name in ("deleted", "touched"):
        mine, theirs = getattr(known, name), getattr(anew, name)
        assert {path: [at - known.newest for at in places] for path, places in mine.items()} == theirs


def test_a_refresh_goes_on_after_the_commit_it_stood_at_was_pruned(tmp_path: Path) -> None:
    project = GitProject(tmp_path / "project")
    first = project.commit({"a.py": "x = 1\n"})
    lost = project.commit({"b.py": "y = 1\n"})
    known = ProjectRepository(project.path)
    known.walk_until(lambda: False)
    project.files.pop("b.py")
    project.git.references.create("refs/heads/main", first, force=True)
    project.commit({"c.py": "z = 1\n"}, "Amended")
    (project.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    later = ProjectRepository(project.path)
    known.git = later.git  # the one it had open still knows the object
    assert known.refresh() == {"b.py", "c.py"}
    known.walk_until(lambda: False)
    assert (known.length, known.now) == (2, later.now)


def test_history_is_followed_so_far_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = GitProject(tmp_path / "project")
    for number in range(300):
        project.commit({f"f{number % 20}.txt": f"{number}\n"})
    whole = ProjectRepository(project.path)
    whole.walk_until(lambda: False)
    assert (whole.length, whole.limits) == (300, set())
    monkeypatch.setattr(module, "MOST_COMPARED", 2_000)
    part = ProjectRepository(project.path)
    part.walk_until(lambda: False)
    assert part.limits == {f"Only the newest {part.length:,} commits were checked."}
    assert 50 < part.length < 150


def test_after_a_commit_only_the_notes_that_it_concerns_are_checked_again(tmp_path: Path) -> None:
    project = GitProject(tmp_path / "project")
    project.commit({"a.py": "x = 1\n" * 30, "keep.py": "y = 1\n"})
    notes = [
        CheckedNote(f"{name}.md", f"See `{name}.py`.\n", written_s=project.now) for name in ("a", "keep")
    ]
    checker = ClaimChecker(ProjectRepository(project.path))
    before = checker.check(notes)
    project.move("a.py", "b.py")
    assert checker.refresh()
    after = checker.check(notes)
    assert [claim.state.value for claim in after] == ["moved", "holds"]
    assert after[1] is before[1]


def _unfolding(project: GitProject, levels: int) -> None:
    """A tree of a few hundred bytes with 10 ** `levels` files in it."""
    tree = project.git.TreeBuilder()
    for number in range(10):
        tree.insert(f"f{number}", project.blob(b"x\n"), 0o100644)
    made = tree.write()
    for _ in range(levels - 1):
        above = project.git.TreeBuilder()
        for number in range(10):
            above.insert(f"d{number}", made, 0o040000)
        made = above.write()
    project.entry("deep", str(made), 0o040000, "Unfold")


@pytest.mark.parametrize("bomb_first", [True, False])
def test_no_commit_makes_more_work_than_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, bomb_first: bool
) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 2_000)
    project = GitProject(tmp_path / "project", bare=True)
    if bomb_first:
        _unfolding(project, 10)
    project.commit({"a.py": "x = 1\n" * 9})
    known = ProjectRepository(project.path)
    known.walk_until(lambda: False)
    project.commit({"a.py": None}, "Gone")
    if not bomb_first:
        _unfolding(project, 10)
    known.refresh()
    known.walk_until(lambda: False)
    assert len(known.now.files) <= 2_000
    assert len(known.files_below(None, "deep")) <= 2_000
    assert any("were checked" in sentence for sentence in known.limits)
    if bomb_first:
        assert known.commit(known.newest).subject == "Gone"
        assert known.deletion("a.py") == known.newest


def test_folders_without_a_file_in_them_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 2_000)
    project = GitProject(tmp_path / "project", bare=True)
    made = project.git.TreeBuilder().write()
    for _ in range(10):
        above = project.git.TreeBuilder()
        for number in range(10):
            above.insert(f"d{number}", made, 0o040000)
        made = above.write()
    project.entry("deep", str(made), 0o040000)
    assert ProjectRepository(project.path).files_below(None, "deep") == []


def test_changes_of_all_commits_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 100)
    project = GitProject(tmp_path / "project", bare=True)
    for number in range(30):
        project.commit({f"f{number}-{one}": "x\n" for one in range(10)})
    known = ProjectRepository(project.path)
    known.walk_until(lambda: False)
    assert known.length == 10
    assert known.limits == {"Only the newest 10 commits were checked."}


_IGNORE_PIECES = (
    "a",
    "b",
    "c",
    "/",
    "*",
    "?",
    "**/",
    "/**",
    "[ab]",
    "[!a]",
    "[a-b]",
    r"\a",
    r"\*",
    "{a,b}",
    " ",
)
_RULES = st.tuples(st.sampled_from(("", "", "", "!")), st.lists(st.sampled_from(_IGNORE_PIECES), min_size=1))


@pytest.fixture(scope="module")
def ignoring(tmp_path_factory: pytest.TempPathFactory) -> GitProject:
    return GitProject(tmp_path_factory.mktemp("ignoring") / "project")


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@settings(max_examples=examples(100))
@given(
    st.lists(_RULES, min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(("a", "b", "ab", "*", "a b")), min_size=1, max_size=4), min_size=1),
)
def test_what_is_ignored_is_what_git_ignores(
    ignoring: GitProject, rules: list[tuple[str, list[str]]], paths: list[list[str]]
) -> None:
    text = "".join(f"{before}{''.join(pieces)}\n" for before, pieces in rules)
    ignoring.commit({".gitignore": text})
    repository, names = ProjectRepository(ignoring.path), ["/".join(parts) for parts in paths]
    done = subprocess.run(
        ["git", "-C", str(ignoring.path), "check-ignore", "--no-index", "-z", "--stdin"],
        input="".join(f"{name}\0" for name in names).encode(),
        capture_output=True,
        check=False,
    )
    ignored = done.stdout.decode().split("\0")
    assert [repository.is_ignored(name) for name in names] == [name in ignored for name in names]
