"""A rename by `reverie memory` keeps an agent's index valid."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.claude_home import ClaudeHomeMaker, topic
from reverie.cli.memory import LineClock, MemoryLines
from reverie.profile import Profile
from reverie.services.container import HomeContainer, HomeKey
from reverie.settings import Settings

BASE = "/memories/project"


def test_index_and_links_follow_a_rename_and_links_by_name_stay(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    cwd = maker.repository("work")
    maker.typed(cwd)
    files = {
        "MEMORY.md": "- [A](a.md)\n- [B](b.md)\n",
        "a.md": topic("first"),
        "b.md": "[a](a.md) [[first]]\n",
    }
    memory = maker.memory(cwd, files)
    clock = LineClock(lambda: 1_700_000_000_000)
    parts = HomeContainer(
        HomeKey(maker.home(), "home-1"), Profile.under(tmp_path / "profile"), clock, Settings
    )
    lines = MemoryLines(parts, clock, workspace_id=None, project=str(cwd), warn=print)
    rename = {"command": "rename", "old_path": f"{BASE}/a.md", "new_path": f"{BASE}/sub/new.md"}
    (answer,) = lines.answer_all([json.dumps(rename)])
    assert answer == {"success": True, "output": f"Renamed {BASE}/a.md to {BASE}/sub/new.md."}
    assert (memory / "MEMORY.md").read_text() == "- [A](sub/new.md)\n- [B](b.md)\n"
    assert (memory / "b.md").read_text() == "[a](sub/new.md) [[first]]\n"
    (refused,) = lines.answer_all([json.dumps(rename)])
    assert not refused["success"], "there is nothing to rename any more"
    assert (memory / "MEMORY.md").read_text() == "- [A](sub/new.md)\n- [B](b.md)\n"
