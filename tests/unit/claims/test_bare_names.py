"""A file name without its directory: where several files have it, nothing says which of them is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.git_project import GitProject
from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker, fixed
from reverie.claims.repository import ProjectRepository

NOTE = "AGENTS.md"
BODY = "".join(f"value_{number} = {number}\n" for number in range(40))


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path / "project")


def check(project: GitProject, text: str) -> list[CheckedClaim]:
    checker = ClaimChecker(ProjectRepository(project.path))
    return checker.check([CheckedNote(NOTE, text, NOTE)])


def states(claims: list[CheckedClaim]) -> list[tuple[str, str, str]]:
    return [(claim.token, claim.state.value, claim.to) for claim in claims]


def test_a_name_that_several_files_have_now_has_not_moved_to_one_of_them(project: GitProject) -> None:
    text = "Begin with `helpers.py`.\n"
    project.commit({"helpers.py": BODY, NOTE: text})
    project.commit({"helpers.py": None, "a/helpers.py": BODY, "b/helpers.py": BODY + "more = 1\n"})
    found = check(project, text)
    assert states(found) == [("helpers.py", "unknown", "")]
    assert fixed(text, found) == text


def test_a_name_that_another_file_has_now_is_not_replaced(project: GitProject) -> None:
    text = "Begin with `helpers.py`.\n"
    project.commit({"helpers.py": BODY, NOTE: text})
    project.commit({"helpers.py": None, "lib/tools.py": BODY, "b/helpers.py": "other = 1\n" * 30})
    found = check(project, text)
    assert states(found) == [("helpers.py", "unknown", "")]
    assert fixed(text, found) == text


def test_a_name_that_one_file_has_is_followed(project: GitProject) -> None:
    text = "Begin with `helpers.py`.\n"
    project.commit({"helpers.py": BODY, NOTE: text})
    project.move("helpers.py", "lib/helpers.py")
    assert states(check(project, text)) == [("helpers.py", "moved", "lib/helpers.py")]


def test_a_line_of_a_name_that_several_files_have_is_unknown(project: GitProject) -> None:
    text = "See `helpers.py:12`.\n"
    project.commit({"a/helpers.py": BODY, "b/helpers.py": "x = 1\n" * 30 + BODY, NOTE: text})
    project.commit({"a/helpers.py": "new_first_line = 1\n" * 3 + BODY})
    found = check(project, text)
    assert states(found) == [("helpers.py:12", "unknown", "")]
    assert fixed(text, found) == text


def test_a_line_of_a_name_that_one_file_has_is_followed(project: GitProject) -> None:
    text = "See `helpers.py:12`.\n"
    project.commit({"a/helpers.py": BODY, NOTE: text})
    project.commit({"a/helpers.py": "new_first_line = 1\n" * 3 + BODY})
    found = check(project, text)
    assert states(found) == [("helpers.py:12", "moved", "a/helpers.py:15")]
    assert fixed(text, found) == "See `helpers.py:15`.\n"
