"""The way of systems without inotify, taken on any."""

from __future__ import annotations

import shutil
from pathlib import Path

from helpers.watching import Recorder, Start, tree, wait_until


def test_watchdogs_observer_serves_where_there_is_no_inotify(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    from watchdog.observers import Observer

    from reverie.files.watch_observer import ObserverSource

    other = tmp_path / "other"
    other.mkdir()
    watcher = start(root, other, source=lambda sink: ObserverSource(sink, Observer))
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    (root / "a.md").read_text()
    (root / "a.md").rename(root / "b.md")
    seen.wait_for(root / "b.md")
    assert seen.paths == {root / "a.md", root / "b.md"}
    shutil.rmtree(root)
    wait_until(lambda: watcher.state().missing == (root,))
    root.mkdir()
    wait_until(lambda: watcher.state().missing == ())
    seen.forget()
    (root / "c.md").write_text("x")
    seen.wait_for(root / "c.md")
    watcher.set_targets([tree(other)])
    wait_until(lambda: watcher.state().watches == 1)
