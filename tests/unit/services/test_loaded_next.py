"""What a run or a save of Reverie changes of what the agent loads next: nothing by itself, and told where it
does."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import Time
from helpers.context_homes import NOW, WORKSPACE, memory_path_of, mux_home, used
from helpers.engines import ScriptedEngine, carried_out
from reverie.agents.base import LoadedNext, loaded_next, loaded_next_from, signed_names
from reverie.agents.scopes import ScopeContext
from reverie.cli.main import main
from reverie.compose import open_parts
from reverie.context.gather import gather
from reverie.context.recipes import next_session
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.runs.record import RunResult
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.workbench import Workbench

NAMES = "abcdefgh"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    """Eight used memories, which fill the hot set, and two that nobody used."""
    files = {f"g/{name}.md": f"# {name}\n\nA fact about {name}.\n" for name in (*NAMES, "new", "old")}
    usage = {f"g/{name}.md": used(1, 30 + number) for number, name in enumerate(NAMES)}
    root = mux_home(tmp_path / "mux", files, usage)
    return open_parts(root, Profile.under(tmp_path / "profile"), Time(NOW))


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return parts.home.context(workspace_id=WORKSPACE)


def in_full(parts: HomeContainer, context: ScopeContext) -> set[str]:
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(NOW,))
    return {path for path, state in next_session(facts, NOW)[0].items() if state in ("full", "part")}


def dream(parts: HomeContainer, context: ScopeContext, *edits: dict[str, object]) -> RunResult:
    engine = ScriptedEngine(*edits)
    request = DreamRequest(context)
    return parts.telling_loaded(context, lambda: parts.dreams.run(request, engine))


def test_what_a_run_writes_is_no_use(parts: HomeContainer, context: ScopeContext) -> None:
    before = in_full(parts, context)
    assert len(before) == 8
    new, old = memory_path_of("g/new.md"), memory_path_of("g/old.md")
    result = dream(
        parts,
        context,
        {"command": "insert", "path": new, "insert_line": 0, "insert_text": "more\n"},
        {"command": "create", "path": memory_path_of("g/made.md"), "file_text": "made\n"},
        {"command": "rename", "old_path": old, "new_path": memory_path_of("g/older.md")},
    )
    assert result.outcome == "completed"
    assert in_full(parts, context) == before
    assert "loadedNext" not in result.details
    usage = parts.usage.load()["global:new.md"]
    assert (usage.access_count, usage.last_accessed_at, usage.last_write_at) == (0, None, NOW)


def test_what_is_saved_pinned_and_unpinned_by_hand_is_no_use(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before, hand = in_full(parts, context), UserEdits(parts)
    hand.save(context, memory_path_of("g/empty.md"), "", None)
    new = memory_path_of("g/new.md")
    hand.save(context, new, "changed\n", hand.read(context, new).sha256)
    hand.pin(context, [new], True)
    hand.pin(context, [new], False)
    assert in_full(parts, context) == before


def test_a_run_that_displaces_a_memory_says_so(parts: HomeContainer, context: ScopeContext) -> None:
    path = memory_path_of("g/a.md")
    request, engine = DreamRequest(context), ScriptedEngine({"command": "delete", "path": path})
    result = parts.telling_loaded(context, lambda: carried_out(parts, request, engine))
    assert result.outcome == "completed"
    change = loaded_next_from(result.details["loadedNext"])
    assert change == LoadedNext((), (path,))
    assert signed_names(change) == "− a"


def test_what_enters_and_what_leaves_is_told_apart() -> None:
    change = loaded_next({"/m/a.md": "full", "/m/b.md": "part"}, {"/m/b.md": "full", "/m/c.md": "part"})
    assert (change.entered, change.left) == (("/m/c.md",), ("/m/a.md",))
    assert signed_names(change) == "+ c  − a"
    assert not loaded_next({"/m/a.md": "line"}, {"/m/a.md": "needed"})


def test_the_command_says_what_is_loaded_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = "# Ports\n\nThe build server listens on port 8123 of the machine in the cellar.\n"
    files = {"g/one.md": same, "g/two.md": same}
    root = mux_home(tmp_path / "mux", files, {"g/one.md": used(2, 1), "g/two.md": used(1, 1)})
    common = ["--profile", str(tmp_path / "profile"), "--now", str(NOW)]
    command = [*common, "consolidate", "--home", str(root), "--workspace", WORKSPACE, "--engine", "rules"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "Loaded next: − two" in said
