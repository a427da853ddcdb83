"""The lessons part of the context is the block that the runner of loki-mode gets, at any time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers.battery import run_here
from helpers.benches import Time
from helpers.context_homes import DAY, view_at
from helpers.loki_home import NOON, LokiMaker, error
from reverie.agents.loki.home import LokiHome
from reverie.compose import open_parts
from reverie.context.view import reason
from reverie.failures.lessons import retrieve
from reverie.profile import Profile
from reverie.services.edits import UserEdits


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    made = LokiMaker(tmp_path / "project")
    for number in range(1, 5):
        made.episode(number, f"2026-08-19T0{number}:00:00.000000Z")
    return made


def test_the_block_is_the_one_that_is_injected(maker: LokiMaker) -> None:
    home = LokiHome(maker.store)
    view = view_at(home, home.context(), NOON)
    part = view.parts[0]
    assert part.text == retrieve(maker.memory, now_ms=NOON).block != ""
    assert [entry.state for entry in part.entries] == ["in", "in", "in", "out"]
    assert all(entry.path.startswith("/memories/project/episodic/") for entry in part.entries)
    assert (part.gauges[2].used, part.gauges[2].cap) == (3, 3)
    assert view.bytes == len(part.text.encode())


def test_what_fails_again_and_again_is_counted(maker: LokiMaker) -> None:
    message = "phase=ACT; signature: a > b; fp=0123456789ab"
    for number in (7, 8):
        failed = [error("CrashError", message)]
        maker.episode(number, f"2026-08-19T0{number}:00:00.000000Z", errors=failed)
    home = LokiHome(maker.store)
    entries = view_at(home, home.context(), NOON).parts[0].entries
    assert [entry.detail for entry in entries[:3]] == ["2", "2", ""]
    assert reason(entries[0]) == "one of the newest lessons, seen 2 times"


def test_next_week_nothing_of_it_is_told(maker: LokiMaker) -> None:
    home = LokiHome(maker.store)
    view = view_at(home, home.context(), NOON + 7 * DAY)
    assert (view.parts[0].text, view.parts[0].entries, view.tokens) == ("", (), 0)


def test_the_switch_is_said(maker: LokiMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKI_FAILURE_MEMORY", "0")
    home = LokiHome(maker.store)
    part = view_at(home, home.context(), NOON).parts[0]
    assert (part.text, part.notes) == ("", ("lessons-off",))


def test_a_memory_root_that_the_environment_names_is_everywhere_the_same_one(
    maker: LokiMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, own = tmp_path / "shared", maker.memory.joinpath("note.md")
    shutil.copytree(maker.memory, elsewhere)
    own.write_text("of the project\n")
    (elsewhere / "note.md").write_text("shared\n")
    monkeypatch.setenv("LOKI_MEMORY_BASE_PATH", str(elsewhere))
    for path in maker.memory.rglob("*.json"):
        path.unlink()
    block = retrieve(elsewhere, now_ms=NOON).block
    _code, told, _err = run_here(maker.project, tmp_path / "profile", "context", now=NOON)
    assert "no 4" in block
    assert "no 4" in told
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), Time(NOON))
    edits, context = UserEdits(parts), parts.home.context()
    read = edits.read(context, "/memories/project/note.md")
    assert read.content == "shared\n"
    undo = edits.delete(context, "/memories/project/note.md")
    assert not (elsewhere / "note.md").exists()
    edits.undo(undo)
    assert (elsewhere / "note.md").read_text() == "shared\n"
    assert own.read_text() == "of the project\n"
    monkeypatch.setenv("LOKI_MEMORY_BASE_PATH", ".loki/memory")
    usual = open_parts(maker.project, parts.profile, Time(NOON)).home.roots()
    assert [(root.key, root.directory) for root in usual] == [("project/memory", maker.memory)]
