"""A project whose repository hangs holds no other home, in an engine that is a process as it is in use."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.git_project import GitProject
from helpers.samples import copy_sample
from reverie.engine.client import EngineGone
from reverie.profile import Profile
from unit.engine.test_engine_process import client_of
from unit.engine.test_run_workers import children, opened, until


def test_while_one_repository_hangs_other_homes_answer(tmp_path: Path) -> None:
    project = GitProject(tmp_path / "project")
    project.commit({"src/a.py": "x = 1\n"})
    home = ClaudeHomeMaker(tmp_path)
    home.session(project.path, 1)
    directory = home.directory(project.path).name
    home.file(f"projects/{directory}/memory/entry.md", topic("entry", body="See `src/a.py`.\n"))
    branch = project.path / ".git/refs/heads/main"
    branch.unlink()
    os.mkfifo(branch)

    client = client_of(Profile.under(tmp_path / "profile"))
    hanging = opened(client, home.root)
    other = opened(client, copy_sample("mux-home", tmp_path))
    context = hanging.context(None, str(project.path))
    ends: list[object] = []

    def check() -> None:
        try:
            ends.append(hanging.claims.stale(context))
        except EngineGone as error:
            ends.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    until(lambda: bool(children(client.pid)))
    for _ in range(20):
        assert other.contents().contents.projects
        assert hanging.view(context).scopes
    assert not ends  # all that was answered while the check waits
    (reader,) = children(client.pid)
    client.stop()
    thread.join(60)
    assert isinstance(ends[0], EngineGone)
    until(lambda: not Path(f"/proc/{reader}").exists())
