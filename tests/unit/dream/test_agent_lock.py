"""The agent's lock that a killed run held is given back, whatever became of its store meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from reverie.dream.rules_engine import RulesEngine
from reverie.dream.service import DreamRequest
from reverie.homes.claude_names import LOCK_NAME
from reverie.memory.write_guard import ReadOnlyStore
from reverie.profile import Profile
from reverie.runs.record import RunRecord
from reverie.services.parts import HomeKey, HomeParts
from reverie.settings import Settings

NOW = 1_700_000_000_000


def test_a_project_of_unknown_layout_whose_dream_was_killed_stops_no_other_project(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    odd, sound = maker.repository("odd"), maker.repository("sound")
    for number, cwd in enumerate((odd, sound), 1):
        maker.typed(cwd)
        maker.session(cwd, number)
    memory = maker.memory(odd, {"a.md": topic("a")})
    maker.memory(sound, {"b.md": topic("b")})

    def parts() -> HomeParts:
        return HomeParts(
            HomeKey(maker.home(), "home-1"), Profile.under(tmp_path / "p"), lambda: NOW, Settings
        )

    def request(of: HomeParts, cwd: Path) -> DreamRequest:
        return DreamRequest(of.home.context(project_path=str(cwd), project_given=True))

    killed = parts()
    run = RunRecord(
        f"{NOW}-aaaaaaaa", "dream", "home-1", str(maker.root), None, str(odd), "manual", "rules", NOW
    )
    killed.runs.begin(run)
    # Entered and never left, as after a kill.
    holding = killed.agent_locks.hold(request(killed, odd).context, run.id)
    holding.__enter__()
    assert (memory / LOCK_NAME).exists()
    (memory / ".version").write_text("7")

    later = parts()
    assert later.dreams.run(request(later, sound), RulesEngine()).outcome == "unchanged"
    assert later.runs.unsettled() == ()
    assert not (memory / LOCK_NAME).exists(), "our own lock is put back, as it was before"
    refused = later.dreams.run(request(later, odd), RulesEngine())
    assert refused.outcome == "skipped", "a dream of the project itself is still refused"
    assert not (memory / LOCK_NAME).exists()
    with pytest.raises(ReadOnlyStore), later.agent_locks.hold(request(later, odd).context, "another"):
        pytest.fail("the lock of an unknown layout was taken")
