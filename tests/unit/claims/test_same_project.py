"""Prepared cases of repositories and directories: they are joined rightly, or a person is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.base import Identity
from reverie.claims.identity import read_identity, remote_key
from reverie.claims.same_project import (
    Answer,
    Grouping,
    ProjectPlace,
    answer_key,
    group_places,
    new_slug,
    same_project,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git to prepare repositories")

Outcome = Literal["same", "different", "ask"]
_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "PATH": os.environ["PATH"],
}
APP = "https://github.com/team/app.git"


def git(at: Path, *arguments: str) -> None:
    options = ("-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always")
    subprocess.run(("git", *options, *arguments), cwd=at, env=_ENV, check=True, capture_output=True)


class World:
    """Repositories below one directory; `app` and `other` are prepared upstream repositories."""

    def __init__(self, root: Path, prepared: Path) -> None:
        self.root = root
        self.prepared = prepared
        self.answers: dict[tuple[str, str], Answer] = {}
        self.names: dict[Path, str] = {}
        self.seen: dict[Path, Identity | None] = {}

    def clone(self, name: str, url: str = APP, of: str = "app", *options: str) -> Path:
        """A clone with this address as `origin`; empty: without a remote."""
        path = self.root / name
        if options or of not in ("app", "other"):
            source = of if "/" in of else f"file://{self.prepared / of}.git"
            path.parent.mkdir(parents=True, exist_ok=True)
            git(self.root, "clone", *options, source, str(path))
        else:
            shutil.copytree(self.prepared / f"{of}-clone", path)
        self.set_url(path, url)
        return path

    def shallow(self, name: str, url: str = APP, of: str = "app") -> Path:
        return self.clone(name, url, of, "--depth=1")

    def set_url(self, path: Path, url: str) -> None:
        git(path, *(("remote", "set-url", "origin", url) if url else ("remote", "remove", "origin")))

    def worktree(self, of: Path, name: str, *options: str) -> Path:
        git(of, "worktree", "add", *options, str(self.root / name))
        return self.root / name

    def remember(self, path: Path) -> Path:
        """Store the identity, as Reverie does when it sees a project."""
        self.seen[path] = read_identity(path)
        return path

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(parents=True)
        return path

    def commit(self, path: Path, name: str = "file", text: str = "text") -> None:
        (path / name).write_text(text)
        git(path, "add", "-A")
        git(path, "commit", "-m", name)

    def grouping(self, paths: Sequence[Path]) -> Grouping:
        places = [
            ProjectPlace(str(path), read_identity(path) or self.seen.get(path), self.names.get(path, ""))
            for path in paths
        ]
        return group_places(places, self.answers)

    def answer(self, one: Path, other: Path, answer: Answer) -> None:
        (question,) = self.grouping([one, other]).questions
        first, second = sorted(question.keys)
        self.answers[first, second] = answer


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("prepared")
    for name in ("app", "other"):
        git(root, "init", "--bare", f"{name}.git")
        git(root / f"{name}.git", "config", "uploadpack.allowFilter", "true")
        git(root, "clone", f"{name}.git", f"{name}-clone")
        checkout = root / f"{name}-clone"
        (checkout / "packages" / "api").mkdir(parents=True)
        (checkout / "packages" / "web").mkdir()
        for number in range(3):
            (checkout / "packages" / "api" / "file").write_text(f"{name} {number}")
            (checkout / "packages" / "web" / "file").write_text(f"{name} {number}")
            git(checkout, "add", "-A")
            git(checkout, "commit", "-m", f"{name} {number}")
        git(checkout, "push", "origin", "HEAD:main")
    return root


Pair = Callable[[World], tuple[Path, Path]]


def with_address(url: str, first: str = APP, *, shallow: bool = False) -> Pair:
    """Two clones whose addresses differ."""

    def build(world: World) -> tuple[Path, Path]:
        make = world.shallow if shallow else world.clone
        return make("one", first), make("two", url)

    return build


def moved(world: World) -> tuple[Path, Path]:
    old = world.remember(world.clone("one"))
    return old, old.rename(world.root / "elsewhere")


def moved_without_remote(world: World) -> tuple[Path, Path]:
    old = world.remember(world.clone("one", ""))
    return old, old.rename(world.root / "renamed")


def cloned_anew(url: str) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        old = world.remember(world.clone("one"))
        shutil.rmtree(old)
        return old, world.clone("two", url)

    return build


def replaced_by_another(world: World) -> tuple[Path, Path]:
    """The directory now has another repository; the first one is elsewhere."""
    old = world.clone("one")
    new = old.rename(world.root / "two")
    return world.clone("one", "https://github.com/team/other.git", "other"), new


def copied(world: World) -> tuple[Path, Path]:
    one = world.clone("one")
    return one, Path(shutil.copytree(one, world.root / "copy"))


def by_link(world: World) -> tuple[Path, Path]:
    one = world.clone("one")
    (world.root / "link").symlink_to(one)
    return one, world.root / "link"


def with_dots(world: World) -> tuple[Path, Path]:
    one = world.clone("one")
    return one, one / "packages" / ".."


def main_and_worktree(*options: str, url: str = APP) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        one = world.clone("one", url)
        return one, world.worktree(one, "tree", *options)

    return build


def two_worktrees(world: World) -> tuple[Path, Path]:
    one = world.clone("one", "")
    return world.worktree(one, "a", "-b", "a"), world.worktree(one, "b", "-b", "b")


def orphan_worktree(world: World) -> tuple[Path, Path]:
    one = world.clone("one")
    tree = world.worktree(one, "tree", "--detach")
    git(tree, "checkout", "--orphan", "pages")
    git(tree, "commit", "-m", "pages")
    return one, tree


def worktree_inside(world: World) -> tuple[Path, Path]:
    one = world.clone("one")
    return one, world.worktree(one, "one/.claude/worktrees/x", "-b", "x")


def worktree_of_a_moved_checkout(world: World) -> tuple[Path, Path]:
    one, tree = main_and_worktree("-b", "x")(world)
    world.remember(tree)
    return one.rename(world.root / "moved"), tree


def worktree_and_clone(world: World) -> tuple[Path, Path]:
    _one, tree = main_and_worktree("-b", "x")(world)
    return tree, world.clone("two", "git@github.com:team/app.git")


def bare(world: World) -> Path:
    return world.clone("bare.git", APP, "app", "--bare")


def two_worktrees_of_a_bare_one(world: World) -> tuple[Path, Path]:
    own = bare(world)
    return world.worktree(own, "a", "-b", "a"), world.worktree(own, "b", "-b", "b")


def bare_and_worktree(world: World) -> tuple[Path, Path]:
    own = bare(world)
    return own, world.worktree(own, "a", "-b", "a")


def bare_in_its_folder(world: World) -> tuple[Path, Path]:
    folder = world.folder("app")
    world.clone("app/.bare", APP, "app", "--bare")
    (folder / ".git").write_text("gitdir: ./.bare\n")
    return folder, world.worktree(folder, "app/x", "-b", "x")


def worktree_of_a_bare_one_and_a_clone(world: World) -> tuple[Path, Path]:
    return world.worktree(bare(world), "a", "-b", "a"), world.clone("two")


def fork(world: World, *, upstream: bool = True) -> tuple[Path, Path]:
    one, other = world.clone("one"), world.clone("two", "https://github.com/me/app.git")
    if upstream:
        git(other, "remote", "add", "upstream", APP)
    return one, other


def fork_without_upstream(world: World) -> tuple[Path, Path]:
    return fork(world, upstream=False)


def answered_fork(answer: Answer) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        pair = fork(world)
        world.answer(*pair, answer)
        return pair

    return build


def new_clone_of_an_answered_fork(world: World) -> tuple[Path, Path]:
    one, other = fork(world)
    world.answer(one, other, "same")
    return one, world.clone("three", "git@github.com:me/app.git")


def cloned_locally(url: str) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        one = world.clone("one", url)
        other = world.clone("two", str(one), str(one))
        return one, other

    return build


def copy_without_remote(world: World) -> tuple[Path, Path]:
    one = world.clone("one", "")
    return one, Path(shutil.copytree(one, world.root / "two"))


def remote_removed_from_one(world: World) -> tuple[Path, Path]:
    return world.clone("one"), world.clone("two", "")


def with_a_second_root(url: str) -> Pair:
    """One clone has merged an unrelated history since."""

    def build(world: World) -> tuple[Path, Path]:
        one, two = world.clone("one"), world.clone("two", url)
        git(two, "fetch", str(world.prepared / "other.git"), "main")
        git(two, "merge", "--allow-unrelated-histories", "-s", "ours", "-m", "join", "FETCH_HEAD")
        return one, two

    return build


def with_a_library(url: str) -> Pair:
    """A project that has merged the history of a library, and the library itself."""

    def build(world: World) -> tuple[Path, Path]:
        one, _two = with_a_second_root("https://github.com/team/mono.git")(world)
        shutil.rmtree(one)
        return world.root / "two", world.clone("library", url, "other")

    return build


def shallow_and_full(url: str) -> Pair:
    return lambda world: (world.shallow("one"), world.clone("two", url))


def shallow_without_remote(world: World) -> tuple[Path, Path]:
    return world.shallow("a/app", ""), world.clone("b/app", "")


def shallow_of_another(world: World) -> tuple[Path, Path]:
    return world.shallow("one"), world.shallow("two", "https://github.com/team/other.git", "other")


def made_whole_later(world: World) -> tuple[Path, Path]:
    old = world.remember(world.shallow("one"))
    shutil.rmtree(old)
    return old, world.clone("two")


def worktree_of_a_shallow_one(world: World) -> tuple[Path, Path]:
    return world.worktree(world.shallow("one"), "tree", "-b", "x"), world.clone("two")


def shallow_with_a_shared_second_remote(world: World) -> tuple[Path, Path]:
    one, other = world.shallow("one"), world.shallow("two", "https://git.example.org/x/project")
    git(other, "remote", "add", "upstream", APP)
    return one, other


def packages(one: str, other: str, *, clones: bool) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        first = world.clone("one")
        second = world.clone("two", "git@github.com:team/app.git") if clones else first
        return first / one, second / other

    return build


def package_in_a_worktree(world: World) -> tuple[Path, Path]:
    one, tree = main_and_worktree("-b", "x")(world)
    return one / "packages/api", tree / "packages/api"


def with_submodule(world: World) -> Path:
    one = world.clone("one")
    git(one, "submodule", "add", f"file://{world.prepared / 'other.git'}", "lib")
    world.set_url(one / "lib", "https://github.com/team/other.git")
    return one


def submodule_and_parent(world: World) -> tuple[Path, Path]:
    one = with_submodule(world)
    return one, one / "lib"


def submodule_and_clone(world: World) -> tuple[Path, Path]:
    one = with_submodule(world)
    return one / "lib", world.clone("two", "git@github.com:team/other.git", "other")


def plain_folders(*, name: str = "") -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        one, other = world.folder("a/app"), world.folder("b/app")
        if name:
            world.names = {one: name, other: name}
        return one, other

    return build


def below_a_repository_of_settings(world: World) -> tuple[Path, Path]:
    """Folders without a repository of their own, in a user's directory that is a repository."""
    home = world.clone("home", "https://github.com/me/dotfiles.git")
    for name in ("app", "b"):
        (home / "work" / name).mkdir(parents=True)
    return home / "work/app", home / "work/b"


def folder_and_repository(world: World) -> tuple[Path, Path]:
    return world.folder("a/app"), world.clone("b/app")


def other_repositories(url: str = "https://github.com/team/other.git", *, shallow: bool = False) -> Pair:
    def build(world: World) -> tuple[Path, Path]:
        make = world.shallow if shallow else world.clone
        return make("one"), make("two", url, "other")

    return build


def rewritten(world: World) -> tuple[Path, Path]:
    one, other = world.clone("one"), world.clone("two")
    git(other, "checkout", "--orphan", "new")
    git(other, "commit", "-m", "all")
    for name in ("main", "master"):
        subprocess.run(("git", "branch", "-D", name), cwd=other, env=_ENV, capture_output=True, check=False)
    git(other, "update-ref", "-d", "refs/remotes/origin/main")
    return one, other


def on_the_branch_of_pages(world: World) -> tuple[Path, Path]:
    one, other = world.clone("one", ""), world.clone("two", "")
    git(other, "checkout", "--orphan", "pages")
    git(other, "commit", "-m", "pages of two")
    git(one, "checkout", "--orphan", "pages")
    git(one, "commit", "-m", "pages of one")
    return one, other


def from_a_template(world: World) -> tuple[Path, Path]:
    """A copy without history, with a first commit of its own."""
    one = world.clone("one")
    other = Path(shutil.copytree(one, world.root / "two", ignore=shutil.ignore_patterns(".git")))
    git(other, "init")
    git(other, "add", "-A")
    git(other, "commit", "-m", "from a template")
    git(other, "remote", "add", "origin", "https://github.com/me/new.git")
    return one, other


def partial_clone(world: World) -> tuple[Path, Path]:
    one = world.clone("one", APP, "app", "--filter=blob:none")
    git(one, "config", "extensions.partialClone", "origin")
    return one, world.clone("two")


def relative_addresses(world: World) -> tuple[Path, Path]:
    return world.shallow("a/app", "../up.git"), world.shallow("b/app", "../up.git", "other")


def before_the_first_commit(world: World) -> tuple[Path, Path]:
    empty = world.folder("one")
    git(empty, "init")
    git(empty, "remote", "add", "origin", APP)
    return empty, world.clone("two")


CASES: dict[str, tuple[Pair, Literal["same", "different"], Outcome]] = {
    # name: how to build two directories, whether they are one project, and the program's conclusion
    "moved": (moved, "same", "same"),
    "moved without a remote": (moved_without_remote, "same", "same"),
    "cloned anew by HTTPS": (cloned_anew(APP), "same", "same"),
    "cloned anew by SSH": (cloned_anew("git@github.com:team/app.git"), "same", "same"),
    "another repository in its place": (replaced_by_another, "different", "different"),
    "SSH with a port": (with_address("ssh://git@github.com:22/team/app.git"), "same", "same"),
    "user and password": (with_address("https://me:pw@github.com/team/app"), "same", "same"),
    "git protocol": (with_address("git://github.com/team/app.git/"), "same", "same"),
    "trailing slash": (with_address("https://github.com/team/app/"), "same", "same"),
    "case of the host": (with_address("https://GitHub.com/team/app.git"), "same", "same"),
    "case of the path": (with_address("https://github.com/Team/App.git", shallow=True), "same", "same"),
    "case of a path that may matter": (
        with_address("https://git.example.org/Team/App", "https://git.example.org/team/app", shallow=True),
        "different",
        "ask",
    ),
    "case of a path, one history": (
        with_address("https://git.example.org/Team/App", "https://git.example.org/team/app"),
        "same",
        "same",
    ),
    "with www": (with_address("https://www.github.com/team/app", shallow=True), "same", "same"),
    "SSH by the port of HTTPS": (
        with_address("ssh://git@ssh.github.com:443/team/app.git", shallow=True),
        "same",
        "same",
    ),
    "Azure by SSH and HTTPS": (
        with_address(
            "git@ssh.dev.azure.com:v3/org/project/app", "https://org@dev.azure.com/org/project/_git/app"
        ),
        "same",
        "same",
    ),
    "alias of a host in the settings of SSH": (with_address("git@work:team/app.git"), "same", "ask"),
    "copied": (copied, "same", "same"),
    "through a link": (by_link, "same", "same"),
    "path with dots": (with_dots, "same", "same"),
    "worktree": (main_and_worktree("-b", "x"), "same", "same"),
    "worktree without a remote": (main_and_worktree("-b", "x", url=""), "same", "same"),
    "worktree of an old commit": (main_and_worktree("--detach"), "same", "same"),
    "worktree of another history": (orphan_worktree, "same", "same"),
    "two worktrees": (two_worktrees, "same", "same"),
    "worktree inside the checkout": (worktree_inside, "same", "same"),
    "worktree of a moved checkout": (worktree_of_a_moved_checkout, "same", "same"),
    "worktree and clone": (worktree_and_clone, "same", "same"),
    "two worktrees of a bare one": (two_worktrees_of_a_bare_one, "same", "same"),
    "bare with worktree": (bare_and_worktree, "same", "same"),
    "bare inside its folder": (bare_in_its_folder, "same", "same"),
    "worktree of a bare one and clone": (worktree_of_a_bare_one_and_a_clone, "same", "same"),
    "fork with upstream": (fork, "different", "ask"),
    "fork without upstream": (fork_without_upstream, "different", "ask"),
    "fork, answered same": (answered_fork("same"), "same", "same"),
    "fork, answered apart": (answered_fork("apart"), "different", "different"),
    "new clone of an answered fork": (new_clone_of_an_answered_fork, "same", "same"),
    "mirror on another host": (with_address("https://gitlab.com/team/app.git"), "same", "ask"),
    "two clones": (with_address(APP), "same", "same"),
    "cloned from a checkout": (cloned_locally(APP), "same", "same"),
    "cloned from a checkout without remote": (cloned_locally(""), "same", "same"),
    "copied without remote": (copy_without_remote, "same", "same"),
    "remote removed": (remote_removed_from_one, "same", "same"),
    "another history merged": (with_a_second_root(APP), "same", "same"),
    "another history merged, without remote": (with_a_second_root(""), "same", "ask"),
    "library merged into a project": (with_a_library("https://github.com/team/lib.git"), "different", "ask"),
    "library without remote": (with_a_library(""), "different", "ask"),
    "shallow and full": (shallow_and_full(APP), "same", "same"),
    "shallow by HTTPS, full by SSH": (shallow_and_full("git@github.com:team/app"), "same", "same"),
    "shallow, fork": (shallow_and_full("https://github.com/me/app.git"), "different", "ask"),
    "shallow without remote": (shallow_without_remote, "same", "ask"),
    "shallow, another repository": (shallow_of_another, "different", "different"),
    "shallow before, full now": (made_whole_later, "same", "same"),
    "worktree of a shallow one": (worktree_of_a_shallow_one, "same", "same"),
    "shallow, second remote shared": (shallow_with_a_shared_second_remote, "different", "ask"),
    "two packages": (packages("packages/api", "packages/web", clones=False), "different", "different"),
    "two packages of two clones": (
        packages("packages/api", "packages/web", clones=True),
        "different",
        "different",
    ),
    "one package in two clones": (packages("packages/api", "packages/api", clones=True), "same", "same"),
    "package and root": (packages("packages/api", ".", clones=False), "different", "different"),
    "package in a worktree": (package_in_a_worktree, "same", "same"),
    "submodule and parent": (submodule_and_parent, "different", "different"),
    "submodule and clone": (submodule_and_clone, "same", "same"),
    "no repository": (plain_folders(), "different", "different"),
    "no repository, one name": (plain_folders(name="App"), "same", "same"),
    "below a repository of settings": (below_a_repository_of_settings, "different", "different"),
    "folder and repository": (folder_and_repository, "different", "different"),
    "another repository": (other_repositories(), "different", "different"),
    "another repository of that name": (
        other_repositories("https://github.com/other/app.git"),
        "different",
        "different",
    ),
    "address used again": (other_repositories(APP), "different", "ask"),
    "history rewritten": (rewritten, "same", "ask"),
    "on a branch with its own history": (on_the_branch_of_pages, "same", "ask"),
    "from a template": (from_a_template, "different", "different"),
    "partial clone": (partial_clone, "same", "same"),
    "relative addresses": (relative_addresses, "different", "ask"),
    "two servers of one machine": (
        with_address("http://localhost:4000/t/app", "http://localhost:3000/t/app", shallow=True),
        "different",
        "ask",
    ),
    "before the first commit": (before_the_first_commit, "same", "same"),
}


def test_there_are_the_sixty_cases_that_were_promised() -> None:
    assert len(CASES) >= 60
    assert all(truth == outcome or outcome == "ask" for _build, truth, outcome in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_two_directories_are_joined_rightly_or_a_person_is_asked(
    name: str, tmp_path: Path, prepared: Path
) -> None:
    build, _truth, expected = CASES[name]
    world = World(tmp_path, prepared)
    grouping = world.grouping(build(world))
    outcome = "ask" if grouping.questions else "same" if len(grouping.groups) == 1 else "different"
    assert outcome == expected
    assert len(grouping.groups) == (1 if expected == "same" else 2)


def test_two_forks_are_not_joined_through_a_clone_without_remote(tmp_path: Path, prepared: Path) -> None:
    world = World(tmp_path, prepared)
    one, other = fork(world)
    between = world.clone("between", "")
    grouping = world.grouping([one, between, other])
    assert not any({str(one), str(other)} <= {place.path for place in group} for group in grouping.groups)
    assert len(grouping.questions) >= 1


def test_reading_a_repository_runs_no_program_of_it(tmp_path: Path, prepared: Path) -> None:
    world = World(tmp_path, prepared)
    one = world.clone("one")
    (tmp_path / "run").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "run").chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "credential.helper", "filter.x.smudge", "core.pager"):
        git(one, "config", key, str(tmp_path / "run"))
    assert read_identity(one) is not None
    assert not (tmp_path / "ran").exists()


def test_no_password_is_part_of_an_identity(tmp_path: Path, prepared: Path) -> None:
    world = World(tmp_path, prepared)
    found = read_identity(world.clone("one", "https://me:secret@github.com/team/app.git?token=secret"))
    assert found is not None
    assert "secret" not in repr(found)
    assert found.origin == "github.com/team/app"


@pytest.mark.parametrize("url", ["", "  ", "ext::sh -c touch% x", "http://[bad", "codecommit::region://x"])
def test_an_address_of_no_repository_is_none(url: str) -> None:
    assert remote_key(url) == ""


def test_an_answer_is_valid_for_every_checkout_but_for_no_other_repository() -> None:
    one = Identity(("r1",), ("host/a",), "host/a", common="/x/.git")
    assert answer_key(one) == answer_key(Identity(("r1",), ("host/a", "host/b"), "host/a", common="/y/.git"))
    assert answer_key(one) != answer_key(Identity(("r2",), ("host/a",), "host/a"))
    assert answer_key(one) != answer_key(Identity(("r1",), ("host/a",), "host/a", "packages/api"))


def test_a_slug_is_the_same_on_two_machines_and_unique_on_one() -> None:
    one = Identity(("r1",), ("host/a",), "host/a", common="/x/.git")
    elsewhere = Identity(("r1",), ("host/b",), "host/b", common="/y/.git")
    slug = new_slug("Größe & Co.", [one], "/x", ())
    assert slug == new_slug("Größe & Co.", [elsewhere], "/y", ())
    assert slug.isascii()
    assert new_slug("Größe & Co.", [one], "/x", (slug,)) != slug
    assert new_slug("…", [], "/x", ()).startswith("project-")


_IDENTITIES = st.builds(
    lambda roots, origin, more, below, common: Identity(
        tuple(sorted(roots)),
        tuple(sorted({*more, *([origin] if origin else [])})),
        origin,
        below,
        f"/{common}/.git" if common else "",
    ),
    st.sets(st.sampled_from("abc"), max_size=2),
    st.sampled_from(["", "h/x", "h/X", "g/x", "github.com/x", "github.com/X", "/1"]),
    st.sets(st.sampled_from(["h/x", "g/y"]), max_size=1),
    st.sampled_from(["", "", "p"]),
    st.sampled_from(["", "1", "2", "3", "4"]),
)


@given(_IDENTITIES, _IDENTITIES)
def test_the_relation_of_two_repositories_has_no_order(one: Identity, other: Identity) -> None:
    assert same_project(one, other) == same_project(other, one)


@given(st.lists(_IDENTITIES, max_size=7))
def test_a_project_never_has_two_directories_that_are_uncertain(identities: list[Identity]) -> None:
    places = [ProjectPlace(f"/p/{number}", one) for number, one in enumerate(identities)]
    found = group_places(places, {})
    for group in found.groups:
        for one in group:
            for other in group:
                if one.path != other.path:
                    assert one.identity is not None
                    assert other.identity is not None
                    assert same_project(one.identity, other.identity) == "same"
    assert sorted(place.path for group in found.groups for place in group) == [each.path for each in places]
    assert all(one < other for one, other in (question.groups for question in found.questions))
