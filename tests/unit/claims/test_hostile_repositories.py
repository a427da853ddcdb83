"""Repositories that want to do harm: nothing of theirs runs, nothing hangs, nothing is written."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pygit2
import pytest

from helpers.git_project import GitProject, all_bytes
from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker
from reverie.claims.finding import find_claims
from reverie.claims.manifests import NOTHING, parse_manifest
from reverie.claims.repository import MOST_BLOB, ProjectRepository, open_repository
from reverie.claims.words import RepositoryWords
from reverie.errors import Unavailable

NOTE = "AGENTS.md"


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path / "project")


def check(project: GitProject) -> list[CheckedClaim]:
    repository = ProjectRepository(project.path)
    text = repository.text_at(None, NOTE) or ""
    return ClaimChecker(repository, look_at_disk=True).check([CheckedNote(NOTE, text, NOTE)])


def states(project: GitProject) -> dict[str, str]:
    return {claim.token: claim.state.value for claim in check(project)}


def test_looking_changes_no_byte_and_no_time(project: GitProject) -> None:
    project.commit(
        {"src/a.py": "x = 1\n" * 9, "b.py": "def old_name(): ...\n", NOTE: "`src/a.py`, `old_name()`\n"}
    )
    project.commit({"src/a.py": None, "b.py": "y = 1\n"})
    before = all_bytes(project.path)
    assert states(project) == {"src/a.py": "gone", "old_name": "gone"}
    assert all_bytes(project.path) == before


def test_a_path_named_like_an_option_is_a_path(project: GitProject) -> None:
    project.commit(
        {"--upload-pack=touch x": "x", "-rf/a.py": "x = 1\n" * 9, NOTE: "Keep `-rf/a.py` and `b.py`.\n"}
    )
    project.commit({"-rf/a.py": None})
    assert "b.py" in states(project)
    assert not (project.path / "x").exists()


def test_a_git_file_that_points_elsewhere_is_not_followed(project: GitProject, tmp_path: Path) -> None:
    project.commit({"a.py": "x", NOTE: "`a.py`\n"})
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / ".git").write_text(f"gitdir: {project.path}/.git\n")
    with pytest.raises(Unavailable, match="does not belong to this checkout"):
        open_repository(victim)


def test_a_linked_worktree_is_its_own_checkout(project: GitProject, tmp_path: Path) -> None:
    project.commit({"a.py": "x = 1\n" * 9, NOTE: "`a.py`\n"})
    project.git.add_worktree("other", str(tmp_path / "other"))
    repository = ProjectRepository(tmp_path / "other")
    assert set(repository.now.files) == {"a.py", NOTE}
    assert not repository.is_bare


def test_no_program_of_the_configuration_runs(project: GitProject, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    project.commit(
        {".gitattributes": "* filter=evil diff=evil textconv=evil\n", "a.py": "x = 1\n" * 9, NOTE: "`a.py`\n"}
    )
    project.commit({"a.py": None})
    with (project.path / ".git/config").open("a") as file:
        file.write(
            f"[core]\n\tfsmonitor = {program}\n\thooksPath = {tmp_path}\n\tsshCommand = {program}\n"
            f"\tpager = {program}\n"
            f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n'
            f"\trequired = true\n"
            f'[diff "evil"]\n\tcommand = {program}\n\ttextconv = {program}\n[diff]\n\texternal = {program}\n'
            f"[uploadpack]\n\tpackObjectsHook = {program}\n[credential]\n\thelper = !{program}\n"
        )
    for hook in ("post-checkout", "post-index-change", "fsmonitor-watchman"):
        (project.path / ".git/hooks").mkdir(exist_ok=True)
        (project.path / ".git/hooks" / hook).write_text(program.read_text())
        (project.path / ".git/hooks" / hook).chmod(0o755)
    assert states(project) == {"a.py": "gone"}
    assert not mark.exists()


def test_loops_of_links_end(project: GitProject) -> None:
    project.commit({NOTE: "`loop/a/b.py` and `one` in `here/`.\n", "x.py": "x"})
    project.entry("loop", project.blob(b"loop"), 0o120000)
    (project.path / "loop").symlink_to("loop")
    (project.path / "here").symlink_to(".")
    assert states(project)["here/"] == "holds"
    assert states(project)["loop/a/b.py"] == "unknown"


def test_a_huge_blob_is_not_loaded(project: GitProject) -> None:
    huge = "y = 2\n" * (MOST_BLOB // 6 + 9)
    project.commit({"huge.py": huge, "huge2.py": "x", NOTE: "`huge.py` with `some_name()`.\n"})
    project.commit({"huge.py": None, "other.py": huge + "z"})
    repository = ProjectRepository(project.path)
    assert repository.read(repository.now.files["other.py"][0]) is None
    assert states(project)["huge.py"] == "gone"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_a_gigabyte_costs_no_memory(tmp_path: Path) -> None:
    """In a process of its own, whose peak is measured."""
    project = GitProject(tmp_path / "project", bare=True)
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 30)
    oid = str(project.git.create_blob_fromdisk(str(sparse)))
    sparse.unlink()
    project.commit({"a.py": "x = 1\n" * 9, NOTE: "`data.bin` and `a.py` with `some_name()` at port 8080\n"})
    project.entry("data.bin", oid, 0o100644)
    project.commit({"data.bin": None, "a.py": None})
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from reverie.claims.checking import ClaimChecker, CheckedNote\n"
        "from reverie.claims.repository import ProjectRepository\n"
        "repository = ProjectRepository(Path(sys.argv[1]))\n"
        "note = repository.text_at(None, 'AGENTS.md')\n"
        "found = ClaimChecker(repository).check([CheckedNote('AGENTS.md', note, 'AGENTS.md')])\n"
        "assert any(claim.state == 'gone' for claim in found)\n"
        "print(next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(project.path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 200 * 1024


def test_names_that_are_no_utf8_are_names(project: GitProject) -> None:
    project.commit({"a.py": "x = 1\n" * 9, NOTE: "`a.py` in `src/`\n"})
    tree = project.git[project.git.head.target].tree
    raw = b"100644 \xff\xfe.py\0" + tree["a.py"].id.raw
    raw += b"".join(
        f"{entry.filemode:o} ".encode() + entry.raw_name + b"\0" + entry.id.raw
        for entry in sorted(tree, key=lambda one: one.raw_name)
    )
    entries = sorted(raw_entries(raw), key=lambda one: one[0])
    written = project.git.odb.write(pygit2.enums.ObjectType.TREE, b"".join(whole for _name, whole in entries))
    who = pygit2.Signature("A", "a@example.com", project.now + 5, 0)
    made = project.git.create_commit(None, who, who, "\xff odd", written, [project.git.head.target])
    project.git.references.create("refs/heads/main", made, force=True)
    project.files["b.py"] = project.blob(b"y"), 0o100644
    assert states(project)["a.py"] == "holds"
    project.commit({"a.py": None})
    assert states(project)["a.py"] == "gone"


def raw_entries(raw: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(raw):
        space, end = raw.index(b" ", at), raw.index(b"\0", at)
        found.append((raw[space + 1 : end], raw[at : end + 21]))
        at = end + 21
    return found


def test_a_message_that_is_no_text_is_shown_all_the_same(project: GitProject) -> None:
    project.commit({"a.py": "x = 1\n" * 9, NOTE: "`a.py`\n"})
    del project.files["a.py"]
    tree = project._tree(project.files)
    raw = (
        f"tree {tree}\nparent {project.head()}\nauthor A <a@example.com> {project.now + 9} +0000\n"
        f"committer A <a@example.com> {project.now + 9} +0000\n\n"
    ).encode() + b"\xff\xfe dropped\n"
    made = project.git.odb.write(pygit2.enums.ObjectType.COMMIT, raw)
    project.git.references.create("refs/heads/main", made, force=True)
    (project.path / "a.py").unlink()
    (claim,) = check(project)
    assert claim.evidence is not None
    assert "dropped" in claim.evidence.subject


def test_an_ignore_file_cannot_keep_it_busy(project: GitProject) -> None:
    rules = "\n".join(
        ["a*" * 60 + "b", "*" * 300 + "b", "[" * 99, "(a+)+$", "**/" * 40 + "x", "a*" * 6 + "b"] * 50
    )
    project.commit({".gitignore": rules, "a" * 90 + "/c.py": "x = 1\n" * 9, NOTE: f"`{'a' * 90}/c.py`\n"})
    project.commit({"a" * 90 + "/c.py": None})
    began = time.monotonic()
    assert set(states(project).values()) == {"gone"}
    assert time.monotonic() - began < 5


def test_a_file_of_blank_lines_cannot_keep_it_busy(project: GitProject) -> None:
    blank = "\n" * 60_000 + "x\n"
    project.commit({"a.py": f"use(kept_name)\n{blank}", NOTE: "`kept_name()`\n"})
    project.commit({"a.py": blank})
    began = time.monotonic()
    check(project)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("go.mod", "\n" * 200_000),
        ("go.mod", "1." * 100_000),
        ("go.work", "\n  " * 100_000),
        ("justfile", "a" + " " * 200_000),
        ("rust-toolchain", "1" * 200_000),
        ("pnpm-workspace.yaml", "\n" * 200_000),
        (".tool-versions", "a" + "\n" * 200_000),
    ],
)
def test_no_manifest_keeps_the_reader_busy(name: str, text: str) -> None:
    began = time.monotonic()
    assert parse_manifest(name, text) == NOTHING
    assert time.monotonic() - began < 2


def test_no_line_keeps_the_finder_busy() -> None:
    began = time.process_time()
    for text in (
        "a/" * 900,
        "`" * 1900,
        "(" * 1900,
        "x" * 1900 + "_",
        "[[" * 900,
        "**" * 900,
        "A_" * 900,
        "1." * 900,
    ):
        find_claims(f"{text}\n" * 20)
    find_claims("├── a\n" * 20_000)
    find_claims("- x\n" * 30_000)
    assert time.process_time() - began < 10


def test_a_damaged_repository_says_so(project: GitProject) -> None:
    project.commit({"a.py": "x"})
    (project.path / ".git/HEAD").write_bytes(b"\xff\0garbage")
    with pytest.raises((Unavailable, ValueError)):
        ProjectRepository(project.path)


def test_missing_objects_prove_nothing(project: GitProject) -> None:
    """A partial clone has commits and trees, and lacks blobs."""
    project.commit(
        {"a.py": "def one_name(): ...\n", "b.py": "x = 1\n" * 9, NOTE: "`one_name()` and `b.py`\n"}
    )
    old = project.files["b.py"][0]
    project.commit({"a.py": "def other(): ...\n", "b.py": None, "c.py": "x = 1\n" * 9 + "z\n"})
    (project.path / ".git/objects" / old[:2] / old[2:]).unlink()
    assert states(project)["b.py"] == "gone"
    assert ProjectRepository(project.path).size(old) == -1


def test_a_shallow_clone_is_read_as_far_as_it_goes(project: GitProject) -> None:
    project.commit({"old.py": "x = 1\n" * 9})
    edge = project.commit({"a.py": "y = 1\n" * 9, NOTE: "`a.py` and `old.py`\n"})
    project.commit({"a.py": None})
    (project.path / ".git/shallow").write_text(f"{edge}\n")
    assert states(project) == {"a.py": "gone", "old.py": "holds"}


def test_a_long_history_is_followed_so_far_and_that_is_said(project: GitProject) -> None:
    project.commit({"a.py": "x = 1\n" * 9, NOTE: "`a.py`\n"})
    for number in range(300):
        project.commit({"n.py": str(number)})
    repository = ProjectRepository(project.path, most_commits=200)
    checker = ClaimChecker(repository)
    repository.walk_until(lambda: False)
    assert any("200 commits" in sentence for sentence in repository.limits)
    assert [claim.state for claim in checker.check([CheckedNote(NOTE, "`a.py`\n", NOTE)])] == ["holds"]


def test_what_is_looked_up_in_older_states_is_bounded(
    project: GitProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit({"a.py": "def one_name(): ...\n", NOTE: "`one_name()`\n"})
    project.commit({"a.py": "x = 1\n"})
    monkeypatch.setattr("reverie.claims.words.MOST_OLD_BLOBS", 0)
    repository = ProjectRepository(project.path)
    (claim,) = ClaimChecker(repository).check([CheckedNote(NOTE, "`one_name()`\n", NOTE)])
    assert claim.state == "unknown"
    assert repository.limits
    assert RepositoryWords(repository).present(["one_name"]) == set()
