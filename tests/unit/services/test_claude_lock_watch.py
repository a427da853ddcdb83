"""The lock of Claude Code's own consolidation: a change of it by others reaches the footer."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.benches import Time
from helpers.claude_home import ClaudeHomeMaker, topic, write
from helpers.watching import Recorder
from reverie.compose import open_parts
from reverie.files.watch import Changes
from reverie.profile import Profile
from reverie.services.workbench import Workbench

CWD = "/projects/demo"
LOCK = ".consolidate-lock"


def test_the_footer_follows_a_foreign_change_of_the_lock_and_no_other_hidden_name(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    maker.typed(CWD)
    memory = maker.memory(CWD, {"MEMORY.md": "", "a.md": topic("a")})
    moved = maker.user / "notes" / "elsewhere"
    bench = Workbench(open_parts(maker.root, Profile.under(tmp_path / "profile"), Time()))
    context = bench.parts.home.context(project_path=CWD)
    heard = Recorder()
    watcher = bench.watch(heard, notify=lambda _text: None)
    watcher.start()
    try:
        heard.wait_for_reason("start")
        write(memory / ".draft.md", "hidden")
        lock = write(memory / LOCK, "1")
        heard.wait_for(lock)
        touched = bench.relevant(context, Changes(frozenset(heard.paths), False, 1, ()))
        assert touched.status
        assert not touched.tree
        # Where a run fails, only the time is put back.
        heard.forget()
        os.utime(lock, (1, 1))
        heard.wait_for(lock)
        assert heard.paths == {lock}
    finally:
        watcher.stop()
    write(maker.root / "settings.json", f'{{"autoMemoryDirectory": "{moved}"}}')
    write(moved / "a.md", topic("a"))
    named = [target.path for target in bench.watch_targets(context) if target.only == (LOCK,)]
    assert sorted(named) == sorted((memory, moved))
    assert bench.relevant(context, Changes(frozenset({moved / LOCK}), False, 1, ())).status
