"""A repository that hangs, crashes or is too large could not be read, and nobody waits for it for long."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pygit2
import pytest

from helpers.expect_log import ExpectLog
from helpers.git_project import GitProject
from helpers.hostile_repositories import BODY, FORMS, hostile, pipe
from helpers.isolation import TEST_PROFILE
from reverie.agents.base import Identity
from reverie.claims import apart
from reverie.claims.apart import NO_ANSWER, ProjectClaims, RepositoryIdentities
from reverie.claims.checking import CheckedNote
from reverie.claims.identity import read_identity
from reverie.claims.project import ClaimReport
from reverie.errors import Conflict, StoreError, Unavailable
from unit.engine.test_run_workers import children, until

NOTE = CheckedNote("note.md", "Start at `src/a.py`.\n", written_s=1_790_000_000)
SILENT_S = 0.5
MEMORY = 400 << 20


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    project = GitProject(tmp_path / "project")
    project.commit({"src/a.py": BODY})
    project.commit({"src/b.py": "x = 1\n"})
    return project


@pytest.fixture
def opened() -> Iterator[list[ProjectClaims]]:
    found: list[ProjectClaims] = []
    yield found
    for each in found:
        each.end()


_known: set[int] = set()


@pytest.fixture(autouse=True)
def _others() -> None:
    """Processes that an earlier test has left to be collected."""
    _known.clear()
    _known.update(children(os.getpid()))


def readers() -> list[int]:
    return [pid for pid in children(os.getpid()) if pid not in _known]


def verdict_of(claims: ProjectClaims) -> str:
    try:
        state = claims.look()
        (claim,) = claims.check([NOTE]).claims
    except Unavailable as error:
        return error.title if error.reason == NO_ANSWER else repr(error)
    if state.problem.endswith("has no commits yet."):
        return "unborn"
    return state.problem.partition(". ")[0] + "." if state.problem else claim.state.value


QUICK = (
    *("a link for HEAD", "config of a worktree", "commondir", "branch", "commit", "blob", "index of a pack"),
    *("an object of an alternate", "an include of an include", "a branch that is itself", "10^10 files"),
)
"""Of the other forms a campaign makes each."""


@pytest.mark.parametrize("form", FORMS if TEST_PROFILE == "campaign" else QUICK)
def test_a_hostile_repository_is_read_or_could_not_be_read(
    tmp_path: Path, opened: list[ProjectClaims], form: str, expect_log: ExpectLog
) -> None:
    expect_log("a repository was given up", count=None)
    project = hostile(tmp_path, form)
    claims = ProjectClaims(project.path, silent_s=SILENT_S, most_memory=MEMORY)
    opened.append(claims)
    verdict = verdict_of(claims)
    if verdict == f"{project.path} could not be read.":
        assert not readers()
    else:
        # libgit2 does not open it, or it was made of nothing that hangs: then it says the truth.
        assert verdict in ("holds", f"There is no readable repository at {project.path}.", "unborn")
    identities = RepositoryIdentities(SILENT_S)
    found = identities.read(project.path)
    identities.end()
    assert found is None or len(found.roots) <= 1


def test_a_pipe_for_a_branch_hangs(project: GitProject, opened: list[ProjectClaims]) -> None:
    """Else the test above would show nothing."""
    pipe(project.path / ".git/refs/heads/main")
    opened.append(ProjectClaims(project.path, silent_s=SILENT_S))
    with pytest.raises(Unavailable, match="is not responding"):
        opened[0].look()


def test_while_one_hangs_others_are_read(
    project: GitProject, opened: list[ProjectClaims], tmp_path: Path
) -> None:
    pipe(project.path / ".git/refs/heads/main")
    other = GitProject(tmp_path / "other")
    other.commit({"src/a.py": BODY})
    opened += [ProjectClaims(project.path), ProjectClaims(other.path)]

    class NotWanted(Exception):
        pass

    wanted = threading.Event()

    def check() -> None:
        if wanted.is_set():
            raise NotWanted

    ends: list[BaseException] = []

    def look() -> None:
        try:
            opened[0].look(check)
        except NotWanted as error:
            ends.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    assert opened[1].check([NOTE]).claims[0].state == "holds"
    assert thread.is_alive()
    wanted.set()
    thread.join(60)
    assert ends


def test_a_process_that_dies_is_told_and_the_next_question_starts_another(
    project: GitProject, opened: list[ProjectClaims], expect_log: ExpectLog
) -> None:
    expect_log("a repository was given up")
    claims = ProjectClaims(project.path)
    opened.append(claims)
    claims.look()

    def kill() -> Mapping[str, int]:
        (child,) = readers()
        os.kill(child, signal.SIGKILL)
        return {}

    project.commit({"src/a.py": None})
    claims.look()
    with pytest.raises(Unavailable, match="could not be read"):
        claims.check([CheckedNote(NOTE.path, NOTE.text, written_s=project.now, line_times=kill)])
    assert {claim.token for claim in claims.check([NOTE]).claims} == {"src/a.py"}


def test_a_repository_that_needs_too_much_memory_could_not_be_read(
    project: GitProject, opened: list[ProjectClaims], expect_log: ExpectLog
) -> None:
    expect_log("more memory than a check is allowed to use")
    entry = b"100644 a\0" + bytes(20)
    tree = project.git.odb.write(pygit2.enums.ObjectType.TREE, entry * (8 << 20))
    project.entry("huge", str(tree), 0o040000)
    opened.append(ProjectClaims(project.path, most_memory=200 << 20))
    with pytest.raises(Unavailable, match="could not be read"):
        opened[0].look()


def test_a_check_that_nobody_waits_for_is_taken_up_by_the_next(
    project: GitProject, opened: list[ProjectClaims]
) -> None:
    project.commit({"src/a.py": None})
    claims = ProjectClaims(project.path)
    opened.append(claims)
    claims.look()

    class NotWanted(Exception):
        pass

    def give_up() -> Mapping[str, int]:
        raise NotWanted

    asked = CheckedNote(NOTE.path, NOTE.text, written_s=project.now - 200_000, line_times=give_up)
    with pytest.raises(NotWanted):
        claims.check([asked])
    (before,) = readers()
    report = claims.check([CheckedNote(NOTE.path, NOTE.text, written_s=project.now - 100_000)])
    assert [claim.state.value for claim in report.claims] == ["gone"]
    assert readers() == [before]


def test_a_commit_that_was_asked_for_is_read_also_after_new_ones(
    project: GitProject, opened: list[ProjectClaims]
) -> None:
    at = project.head()
    opened.append(ProjectClaims(project.path, at))
    assert verdict_of(opened[0]) == "holds"
    project.move("src/a.py", "src/c.py")
    assert verdict_of(opened[0]) == "holds"
    opened.append(ProjectClaims(project.path))
    assert verdict_of(opened[1]) != "holds"


def test_names_and_texts_that_are_no_utf8_cross(project: GitProject, opened: list[ProjectClaims]) -> None:
    broken = os.fsdecode(b"src/\xff.py")
    claims = ProjectClaims(project.path)
    opened.append(claims)
    claims.look()
    note = CheckedNote("no\udcffte.md", f"`src/b.py` \ud800 \udcff `{broken}`\n", written_s=project.now)
    report = claims.check([note])
    assert ("src/b.py", note.path) in {(claim.token, claim.path) for claim in report.claims}


def test_an_unchanged_text_is_sent_once_and_neighbours_once_a_check(
    project: GitProject, opened: list[ProjectClaims], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home has ten thousand memories, each with the names of all of them."""
    names = frozenset(f"note-{number}" for number in range(2_000))
    notes = [
        CheckedNote(f"{name}.md", f"{NOTE.text}{'word ' * 100}\n", written_s=1_790_000_000, neighbours=names)
        for name in sorted(names)
    ]
    frames: list[int] = []
    send = apart.Child.send
    monkeypatch.setattr(
        apart.Child, "send", lambda child, frame, s: (frames.append(len(frame)), send(child, frame, s))
    )
    claims = ProjectClaims(project.path)
    opened.append(claims)
    claims.look()
    first = claims.check(notes, stale_only=True)
    assert (first.notes, first.claims) == (2_000, ())
    assert frames[-1] < 3 << 20
    claims.check(notes, stale_only=True)
    assert frames[-1] < frames[-2] / 3
    everything = claims.check(notes)
    assert len(everything.claims) == 2_000


def test_errors_of_the_project_are_what_they_are_in_one_process(
    project: GitProject, opened: list[ProjectClaims], tmp_path: Path
) -> None:
    unknown = ProjectClaims(project.path, "no-such-commit")
    nowhere = ProjectClaims(tmp_path, "HEAD")
    claims = ProjectClaims(project.path)
    opened += [unknown, nowhere, claims]
    with pytest.raises(StoreError, match="no commit no-such-commit") as raised:
        unknown.look()
    assert (raised.value.reason, raised.value.next_step) == (
        "missing",
        "Choose a commit, a branch or a tag with --at.",
    )
    with pytest.raises(Unavailable, match="There is no readable repository"):
        nowhere.look()
    with pytest.raises(StoreError, match="cannot be read"):
        claims.notes([Path("none.md")])
    (project.path / "CLAUDE.md").write_text("See `src/a.py`.\n")
    project.move("src/a.py", "src/c.py")
    project.now += 1
    (note,) = claims.notes()
    claims.look()
    stale = claims.check([CheckedNote(note.path, note.text, written_s=project.now - 90_000)]).stale
    (project.path / "CLAUDE.md").write_text("Changed.\n")
    with pytest.raises(Conflict, match="has changed"):
        claims.fix(note, stale)
    (project.path / "CLAUDE.md").write_text(note.text)
    assert claims.fix(note, stale)
    assert (project.path / "CLAUDE.md").read_text() == "See `src/c.py`.\n"


def test_a_project_without_a_repository_is_checked_for_what_is_there(
    opened: list[ProjectClaims], tmp_path: Path
) -> None:
    (tmp_path / "CLAUDE.md").write_text("See `src/a.py` and `CLAUDE.md`.\n")
    claims = ProjectClaims(tmp_path)
    opened.append(claims)
    state = claims.look()
    assert "There is no readable repository" in state.problem
    report: ClaimReport = claims.check(claims.notes())
    assert [claim.state.value for claim in report.claims] == ["unknown", "holds"]


def test_an_identity_is_read_there_as_here_and_a_silent_one_is_asked_once(
    project: GitProject, tmp_path: Path
) -> None:
    project.git.remotes.create("origin", "git@host:team/app.git")
    hanging = GitProject(tmp_path / "hanging")
    pipe(hanging.path / ".git/config")
    identities = RepositoryIdentities(SILENT_S)
    found = identities.read(project.path)
    assert found is not None
    assert found == read_identity(project.path)
    assert (len(found.roots), found.remotes) == (1, ("host/team/app",))
    assert identities.read(project.path, Identity(("0" * 40,))) == found
    assert identities.read(tmp_path) is None
    assert identities.read(hanging.path) is None
    assert not readers()
    assert identities.read(hanging.path) is None
    assert not readers()  # it was not asked again
    assert identities.read(project.path) == found
    identities.end()
    until(lambda: not readers())
