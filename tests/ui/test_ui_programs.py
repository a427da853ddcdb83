"""A program writes through the memory server while a window is open."""

from __future__ import annotations

from pathlib import Path

from ui_windows import Windows

from reverie.agents.scopes import Scope
from reverie.engine.client import EngineClient
from reverie.engine.process import inline_channel
from reverie.memory_server.tools import MemoryTools
from reverie.ui.changes.rows import ChangeRow, who


def test_what_a_program_writes_appears_with_its_name_and_is_undone(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    engine = driver.window.engine
    assert engine is not None
    assert engine.inline is not None
    inline = engine.inline
    client = EngineClient(lambda: inline_channel(inline))
    info = client.services.open(home).info
    context = client.home(info.root, info.id).context(None, None)
    tools = MemoryTools(client, info, context, lambda _program: frozenset({Scope.GLOBAL}))
    tools.call("codex-mcp-client", "create", {"path": "/memories/global/live.md", "file_text": "Live.\n"})
    driver.until(lambda: "live.md" in driver.paths(Scope.GLOBAL))
    driver.settle()
    driver.do("view.changes")
    driver.until(lambda: driver.changes.is_settled)
    newest: ChangeRow = driver.changes.tab.changes.shown_rows[0]
    assert who(newest) == "codex-mcp-client"
    assert newest.change is not None
    driver.changes.show_change(newest.change.id)
    pane = driver.reviewed()
    pane.undo.click()
    driver.until(lambda: not (home / "memory/global/live.md").exists())
    driver.until(lambda: "live.md" not in driver.paths(Scope.GLOBAL))
    driver.settle()
    client.stop()
