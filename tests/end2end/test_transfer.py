"""`reverie export` and `reverie import`: memories as plain files, and back as a proposal."""

from __future__ import annotations

import json
import random
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import run_here
from helpers.isolation import TEST_PROFILE
from helpers.samples import copy_sample, snapshot
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.profile import Profile
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
COUNT = 1_000 if TEST_PROFILE == "campaign" else 60
EMPTY = "77b0d2c4e5"
"""A workspace without memories."""


class Shell:
    def __init__(self, home: Path, profile: Path) -> None:
        self.home = home
        self.profile = profile

    def __call__(self, *words: str | Path, code: int = 0) -> Any:
        ended, out, err = run_here(self.home, self.profile, *map(str, words), "--json")
        assert ended == code, (words, out, err)
        return json.loads(out)

    def apply(self, run_id: str) -> Any:
        """Apply a proposal as a whole, as the Changes tab does."""
        workbench = Workbench(open_parts(self.home, Profile.under(self.profile), system_clock))
        return workbench.reviews.apply(
            run_id, ReviewSelection(), progress=lambda _progress: None, cancel=threading.Event()
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = copy_sample("mux-home", tmp_path)
    for path in home.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return Shell(home, tmp_path / "profile")


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_a_home_is_exported_with_a_folder_for_each_store(shell: Shell, tmp_path: Path) -> None:
    before = snapshot(shell.home)
    answer = shell("export", tmp_path / "out")
    found = contents(tmp_path / "out")
    assert len(answer["files"]) == len(found) > 40
    assert not answer["leftOut"]
    assert {name.split("/")[0] for name in found} == {"global", "project", "workspace"}
    glob = {name[len("global/") :]: data for name, data in found.items() if name.startswith("global/")}
    visible = {
        name: data
        for name, data in contents(shell.home / "memory/global").items()
        if not any(part.startswith(".") for part in name.split("/"))
    }
    assert glob == visible
    assert snapshot(shell.home) == before


def test_one_scope_and_one_memory_have_no_folder_of_their_own(shell: Shell, tmp_path: Path) -> None:
    shell("export", tmp_path / "g.zip", "--scope", "global")
    names = zipfile.ZipFile(tmp_path / "g.zip").namelist()
    assert "testing.md" in names
    assert not any(name.startswith("global/") for name in names)
    path = "/memories/global/testing.md"
    answer = shell("export", tmp_path / "t.md", "--path", path)
    assert [each["path"] for each in answer["files"]] == [path]
    assert (tmp_path / "t.md").read_bytes() == (shell.home / "memory/global/testing.md").read_bytes()
    shell("export", tmp_path / "people", "--path", "/memories/global/people")
    assert all(name.startswith("people/") for name in contents(tmp_path / "people"))
    refused = shell("export", tmp_path / "no", "--path", "/memories/global/no.md", code=1)
    assert refused["reason"] == "missing"
    refused = shell(
        *("export", tmp_path / "no", "--path", path, "--path", "/memories/project/x.md", "--workspace", ACME),
        code=2,
    )
    assert refused["reason"] == "ambiguous"
    assert not (tmp_path / "no").exists()


def test_an_import_is_a_proposal_that_changes_nothing_before_it_is_applied(
    shell: Shell, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    (source / "deep").mkdir(parents=True)
    new = b"---\ndescription: kept 'as is'\nodd:   [1,2 ]\n---\n\xef\xbb\xbfbody\r\nwithout an end"
    (source / "deep/new.md").write_bytes(new)
    (source / "testing.md").write_bytes(b"another text\n")
    same = (shell.home / "memory/global/commit-style.md").read_bytes()
    (source / "commit-style.md").write_bytes(same)
    before = snapshot(shell.home)
    preview = shell("import", source, "--scope", "global", "--dry-run")
    assert preview["run"] is None
    assert "+another text" in "".join(each["diff"] for each in preview["changes"])
    assert not [run for run in shell("runs") if run["kind"] == "import"]
    answer = shell("import", source, "--scope", "global")
    assert [(each["path"], each["command"]) for each in answer["changes"]] == [
        ("/memories/global/deep/new.md", "create"),
        ("/memories/global/testing.md", "str_replace"),
    ]
    assert answer["unchanged"] == ["/memories/global/commit-style.md"]
    assert snapshot(shell.home) == before
    run = next(run for run in shell("runs") if run["id"] == answer["run"])
    assert (run["kind"], run["outcome"]) == ("import", "held")
    status = shell("status", "--workspace", ACME)
    applied = shell.apply(answer["run"])
    assert applied.outcome == "completed", applied
    assert (shell.home / "memory/global/deep/new.md").read_bytes() == new
    assert (shell.home / "memory/global/testing.md").read_bytes() == b"another text\n"
    assert shell("status", "--workspace", ACME) == status  # an import is no consolidation
    shell("revert", applied.run_id)
    assert not (shell.home / "memory/global/deep/new.md").exists()
    assert shell("import", source, "--scope", "global", "--dry-run")["changes"] == preview["changes"]


def test_what_cannot_be_a_memory_is_left_out_and_the_rest_is_proposed(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "good.md").write_text("good\n")
    (source / "binary.md").write_bytes(b"\xff\xfe\0")
    (source / "nul.md").write_bytes(b"a\0b")
    (source / "a~b.md").write_text("x")
    (source / "huge.md").write_text("x" * 2_000_000)
    (source / "people").write_text("a file where there is a folder")
    answer = shell("import", source, "--scope", "global", code=1)
    assert [each["path"] for each in answer["changes"]] == ["/memories/global/good.md"]
    assert sorted(each["path"] for each in answer["leftOut"]) == [
        *("a~b.md", "binary.md", "huge.md", "nul.md", "people"),
    ]
    assert all(each["reason"] for each in answer["leftOut"])


def test_a_hostile_archive_is_refused_and_nothing_outside_is_written(shell: Shell, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("good.md", "good")
        out.writestr("../../evil.md", "evil")
    before = snapshot(shell.home)
    refused = shell("import", tmp_path / "x.zip", "--scope", "global", code=1)
    assert "leads out" in refused["cause"]
    assert snapshot(shell.home) == before
    assert not list(tmp_path.parent.rglob("evil.md"))


def test_an_export_stays_outside_of_the_home(shell: Shell) -> None:
    refused = shell("export", shell.home / "memory/global/backup", code=1)
    assert "inside the home" in refused["cause"]
    assert not (shell.home / "memory/global/backup").exists()


def test_notes_with_odd_names_and_front_matter_come_back_byte_for_byte(shell: Shell, tmp_path: Path) -> None:
    drawn = random.Random(45)
    letters = "abcXYZ äßéçø 日本語 – _.,;!'()[]{}@#$%&+= 😀ﬁ\u0301\u200b"
    source, expected = tmp_path / "in", {}
    for number in range(COUNT):
        folder = drawn.choice(["", "a/", "a/b c/", "ünï/"])
        name = "".join(drawn.choice(letters) for _ in range(drawn.randrange(1, 30))).strip(". ")
        name = f"{folder}{name.replace('..', '')}{number}.md"
        front = drawn.choice(
            ["", "---\ndescription: x\n---\n", "---\n a: [\n---\n", "\ufeff---\nname: 'q\n---\r\n"]
        )
        body = "".join(drawn.choice("ab \n\r\t#-*`é😀") for _ in range(drawn.randrange(200)))
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((front + body).encode())
        expected[name] = (front + body).encode()
    answer = shell("import", source, "--scope", "workspace", "--workspace", EMPTY)
    assert not answer["leftOut"]
    assert len(answer["changes"]) == COUNT
    assert shell.apply(answer["run"]).outcome == "completed"
    for target in (tmp_path / "out", tmp_path / "out.zip"):
        shell("export", target, "--scope", "workspace", "--workspace", EMPTY)
    found = contents(tmp_path / "out")
    assert {name: found[name] for name in expected} == expected
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {name: archive.read(name) for name in expected} == expected
    again = shell("import", tmp_path / "out.zip", "--scope", "workspace", "--workspace", EMPTY)
    assert (again["run"], again["changes"], again["leftOut"]) == (None, [], [])
