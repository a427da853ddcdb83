"""The agent's lock that a killed run held is given back, whatever became of its store meanwhile."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from reverie.agents.claude.locations import LOCK_NAME
from reverie.errors import Busy
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.write_guard import ReadOnlyStore
from reverie.profile import Profile
from reverie.runs.record import RunRecord
from reverie.services.container import HomeContainer, HomeKey
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

    def parts() -> HomeContainer:
        return HomeContainer(
            HomeKey(maker.home(), "home-1"), Profile.under(tmp_path / "p"), lambda: NOW, Settings
        )

    def request(of: HomeContainer, cwd: Path) -> DreamRequest:
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


def test_a_dream_that_was_suspended_before_it_took_the_lock_leaves_what_another_keeps_of_it(
    tmp_path: Path,
) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    cwd = maker.repository("shop")
    maker.typed(cwd)
    maker.session(cwd, 1)
    memory = maker.memory(cwd, {"a.md": topic("a")})
    profile = Profile.under(tmp_path / "p")

    def parts() -> HomeContainer:
        return HomeContainer(HomeKey(maker.home(), "home-1"), profile, lambda: NOW, Settings)

    late, other = parts(), parts()
    context = late.home.context(project_path=str(cwd), project_given=True)
    kept = profile.own_sidecars("home-1") / "agent-lock.json"
    with contextlib.ExitStack() as held:

        def lose_the_lease() -> None:
            held.enter_context(other.agent_locks.hold(context, "the-other"))

        with pytest.raises(Busy), late.agent_locks.hold(context, "late", lose_the_lease):
            pytest.fail("it was held by two")
        assert "the-other" in kept.read_text()
        assert (memory / LOCK_NAME).exists()
    assert "the-other" not in kept.read_text()
    assert not (memory / LOCK_NAME).exists()


def test_a_dream_that_lost_its_lease_gives_back_only_its_own_lock(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    cwd = maker.repository("shop")
    maker.typed(cwd)
    maker.session(cwd, 1)
    maker.memory(cwd, {"a.md": topic("a")})
    profile = Profile.under(tmp_path / "p")

    def parts() -> HomeContainer:
        return HomeContainer(HomeKey(maker.home(), "home-1"), profile, lambda: NOW, Settings)

    late, other = parts(), parts()
    context = late.home.context(project_path=str(cwd), project_given=True)
    kept = profile.own_sidecars("home-1") / "agent-lock.json"
    with contextlib.ExitStack() as held:
        with late.agent_locks.hold(context, "late"):
            other.agent_locks.settle()  # recovery: the late one is over
            held.enter_context(other.agent_locks.hold(context, "the-other"))
        assert "the-other" in kept.read_text()
