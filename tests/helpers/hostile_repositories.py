"""Repositories that hang, that are endless, or that unfold to more than a machine holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from pygit2.enums import ObjectType

from helpers.git_project import GitProject

BODY = "value = 1\n" * 12
_PACK = f"pack-{'1' * 40}"


def pipe(at: Path) -> None:
    """A pipe that nobody writes to: whoever opens it to read waits for ever, as for a share that hangs."""
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    os.mkfifo(at)


def _link(at: Path, target: str) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    at.symlink_to(target)


def _object_pipe(project: GitProject, id_: str) -> None:
    pipe(project.path / ".git/objects" / id_[:2] / id_[2:])


def _linked_pipe(git: Path, name: str) -> None:
    pipe(git / "pipe")
    _link(git / name, "pipe" if "/" not in name else os.path.relpath(git / "pipe", (git / name).parent))


def _append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def _include(git: Path, line: str) -> None:
    """By an include in what is included, which no look at the first finds."""
    _append(git / "config", f"{line}\n")
    (git / "one").write_text("[include]\n\tpath = two\n")
    pipe(git / "two")


def _worktree_config(git: Path) -> None:
    _append(git / "config", "[extensions]\n\tworktreeConfig = true\n")
    pipe(git / "config.worktree")


def _alternate_of_pipes(project: GitProject, directory: Path) -> None:
    """Objects in another directory, and the commit of the branch is a pipe there."""
    head = project.head()
    pipe(directory / head[:2] / head[2:])
    objects = project.path / ".git/objects"
    (objects / head[:2] / head[2:]).unlink()
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info/alternates").write_text(f"{directory}\n")


def _unfold(project: GitProject, levels: int, *, files: bool) -> None:
    """A tree of a few hundred bytes with 10 ** `levels` files in it, or folders without a file."""
    builder = project.git.TreeBuilder()
    for number in range(10 if files else 0):
        builder.insert(f"f{number}", project.blob(b"x\n"), 0o100644)
    made = builder.write()
    for _ in range(levels - files):
        above = project.git.TreeBuilder()
        for number in range(10):
            above.insert(f"d{number}", made, 0o040000)
        made = above.write()
    project.entry("deep", str(made), 0o040000, "Unfold")


def _nest(project: GitProject, depth: int, name: str) -> None:
    made = project.git.TreeBuilder().write()
    for _ in range(depth):
        above = project.git.TreeBuilder()
        above.insert(name, made, 0o040000)
        made = above.write()
    project.entry("nested", str(made), 0o040000, "Nest")


def _huge_tree(project: GitProject) -> None:
    entry = b"100644 a\0" + bytes(20)
    tree = project.git.odb.write(ObjectType.TREE, entry * (4 << 20))
    project.entry("huge", str(tree), 0o040000, "Huge")


def _git_file(project: GitProject, *, to: Path | None) -> None:
    git = project.path / ".git"
    git.rename(project.path / "git")
    if to is None:
        pipe(git)
    else:
        git.write_text(f"gitdir: {to}\n")


FORMS: dict[str, Callable[[GitProject, Path], object]] = {
    "HEAD": lambda project, _: pipe(project.path / ".git/HEAD"),
    "a link for HEAD": lambda project, _: _linked_pipe(project.path / ".git", "HEAD"),
    "config": lambda project, _: pipe(project.path / ".git/config"),
    "a link for config": lambda project, _: _linked_pipe(project.path / ".git", "config"),
    "config of a worktree": lambda project, _: _worktree_config(project.path / ".git"),
    "packed-refs": lambda project, _: pipe(project.path / ".git/packed-refs"),
    "commondir": lambda project, _: pipe(project.path / ".git/commondir"),
    "gitdir": lambda project, _: pipe(project.path / ".git/gitdir"),
    "shallow": lambda project, _: pipe(project.path / ".git/shallow"),
    "grafts": lambda project, _: pipe(project.path / ".git/info/grafts"),
    "branch": lambda project, _: pipe(project.path / ".git/refs/heads/main"),
    "a link for a branch": lambda project, _: _linked_pipe(project.path / ".git", "refs/heads/main"),
    "commit": lambda project, _: _object_pipe(project, project.head()),
    "tree": lambda project, _: _object_pipe(project, str(project.git.head.peel().tree.id)),
    "blob": lambda project, _: _object_pipe(project, str(project.files["src/c.py"][0])),
    "older commit": lambda project, _: _object_pipe(
        project, str(project.git[project.git.head.target].parent_ids[0])
    ),
    "index of a pack": lambda project, _: pipe(project.path / f".git/objects/pack/{_PACK}.idx"),
    "several packs": lambda project, _: pipe(project.path / ".git/objects/pack/multi-pack-index"),
    "graph of commits": lambda project, _: pipe(project.path / ".git/objects/info/commit-graph"),
    "alternates": lambda project, _: pipe(project.path / ".git/objects/info/alternates"),
    "an object of an alternate": _alternate_of_pipes,
    "an include of an include": lambda project, _: _include(project.path / ".git", "[include] path = one"),
    "an include by a condition": lambda project, _: _include(
        project.path / ".git", '[includeIf "gitdir:/"]\n\tpath = one'
    ),
    ".git": lambda project, _: _git_file(project, to=None),
    ".git leads elsewhere": lambda project, other: _git_file(project, to=other / ".git"),
    "config without an end": lambda project, _: _link(project.path / ".git/config", "/dev/zero"),
    "packed-refs without an end": lambda project, _: _link(project.path / ".git/packed-refs", "/dev/zero"),
    "a branch that is itself": lambda project, _: (project.path / ".git/refs/heads/main").write_text(
        "ref: refs/heads/main\n"
    ),
    "10^10 files": lambda project, _: _unfold(project, 10, files=True),
    "10^10 folders": lambda project, _: _unfold(project, 10, files=False),
    "folders in folders": lambda project, _: _nest(project, 4_000, "a" * 200),
    "a huge folder": lambda project, _: _huge_tree(project),
}


def hostile(directory: Path, form: str) -> GitProject:
    """A project with three commits that `form` was done to."""
    plain = re.sub(r"\W+", "-", form)
    project = GitProject(directory / plain)
    project.commit({"src/a.py": BODY, "src/c.py": "def one_name(): ...\n"})
    project.commit({"src/b.py": "x = 1\n"})
    project.commit({"src/d.py": "y = 1\n"})
    FORMS[form](project, directory / f"{plain}-elsewhere")
    return project
