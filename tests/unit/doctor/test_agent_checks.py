"""Codex's own gates in the doctor, and taking away a `memories/` that Reverie made in a home of version 2."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from helpers.codex_home import JOBS_TABLE, NOW_S, OUTPUTS_TABLE, CodexHomeMaker, talk, thread_id
from reverie.agents.capabilities import WriteLock
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.store import version_in_use
from reverie.agents.scopes import ScopeRoot
from reverie.cli.main import main
from reverie.compose import open_parts
from reverie.doctor.leftovers import maker_of, take_away
from reverie.errors import Busy, StoreError
from reverie.memory.scope_files import sha256_of_bytes
from reverie.profile import Profile
from reverie.services.container import HomeContainer


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.version_two()
    maker.file("config.toml", "[features]\nmemories = true\n")
    return maker


def parts_of(maker: CodexHomeMaker, tmp_path: Path) -> HomeContainer:
    return open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: NOW_S * 1000)


def found(maker: CodexHomeMaker, tmp_path: Path) -> dict[str, tuple[str, str]]:
    home = CodexHome(maker.root, tmp_path / "cache", now=lambda: NOW_S)
    return {each.check: (each.state, each.evidence) for each in home.checks(home.context())}


def written_by_us(parts: HomeContainer, path: Path, text: str) -> None:
    """As a version of Reverie did that did not know version 2."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts.actors.record(path, sha256_of_bytes(text.encode()), actor="user", run_id=None, at_ms=NOW_S * 1000)
    path.write_text(text)


def test_a_home_in_order_passes_every_check_of_its_own(maker: CodexHomeMaker, tmp_path: Path) -> None:
    assert {state for state, _evidence in found(maker, tmp_path).values()} == {"pass"}


def test_the_gates_of_codex_say_which_of_them_is_shut(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.file("config.toml", "[memories]\nuse_memories = false\n")
    assert found(maker, tmp_path)["codex-switch"][0] == "fail"
    maker.file("config.toml", "[features]\nmemories = true\n[memories]\nuse_memories = false\n")
    assert found(maker, tmp_path)["codex-switch"] == ("warn", "Turned off in [memories]: use_memories.")
    maker.state(maker.thread_row(1, "/p", "One"), maker.thread_row(2, "/p", "Two", source="exec"))
    for number in (1, 2):
        maker.rollout(number, talk(number, "/p"))
    assert "1 not started by a person" in found(maker, tmp_path)["codex-sessions"][1]
    columns = "kind, job_key, status, started_at, finished_at, lease_until, retry_at, last_error"
    maker.database(
        "memories_v2_1.sqlite",
        JOBS_TABLE,
        OUTPUTS_TABLE.replace("generated_at INTEGER", "generated_at INTEGER, usage_count INTEGER"),
        f"INSERT INTO jobs ({columns}) VALUES ('memory_stage1', '{thread_id(1)}', 'error', {NOW_S - 9},"
        f" {NOW_S - 8}, NULL, {NOW_S + 600}, 'no JSON')",
        f"INSERT INTO stage1_outputs VALUES ('{thread_id(2)}', {NOW_S}, '', 's', {NOW_S}, 3)",
    )
    state, evidence = found(maker, tmp_path)["codex-jobs"]
    assert (state, "One: no JSON; Codex will try again in 10 minutes." in evidence) == ("warn", True)
    assert "total citations: 3" in found(maker, tmp_path)["codex-usage"][1]
    with (maker.root / "memories_v2.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert found(maker, tmp_path)["codex-lock"][0] == "warn"


def test_a_memories_of_ours_is_taken_away_and_kept_outside_of_the_home(
    maker: CodexHomeMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = parts_of(maker, tmp_path)
    written_by_us(parts, maker.memories / "ab" / "memory" / "MEMORY.md", "ours\n")
    (maker.memories / "empty").mkdir()
    assert version_in_use(maker.root).name == "v1"
    assert found(maker, tmp_path)["codex-memories-made"][0] == "fail"
    base = ["--home", str(maker.root), "--profile", str(tmp_path / "profile")]
    assert main([*base, "doctor", "--fix", "codex-memories-made"]) in (0, 1)
    assert not maker.memories.exists()
    assert version_in_use(maker.root).name == "v2"
    kept = list((tmp_path / "profile").rglob("taken-*/ab/memory/MEMORY.md"))
    assert [path.read_text() for path in kept] == ["ours\n"]
    capsys.readouterr()
    main([*base, "--json", "doctor"])
    states = {each["check"]: each["state"] for each in json.loads(capsys.readouterr().out)}
    assert states["codex-memories-made"] == "pass"


@pytest.mark.parametrize("what", ["another file", "changed since", "a link", "a link to a directory"])
def test_a_memories_with_anything_of_somebody_else_is_left_alone(
    maker: CodexHomeMaker, tmp_path: Path, what: str
) -> None:
    parts = parts_of(maker, tmp_path)
    ours = maker.memories / "ab" / "memory" / "MEMORY.md"
    written_by_us(parts, ours, "ours\n")
    assert maker_of(parts.actors, maker.memories) == "reverie"
    if what == "another file":
        maker.file("memories/raw_memories.md")
    elif what == "changed since":
        ours.write_text("theirs\n")
    elif what == "a link":
        (maker.memories / "link.md").symlink_to(ours)
    else:
        (maker.memories / "link").symlink_to(maker.root / "memories_v2")
    assert maker_of(parts.actors, maker.memories) == "others"
    with pytest.raises(StoreError, match="was not removed"):
        take_away(parts, maker.memories)
    assert ours.exists()
    from reverie.doctor.examination import examine

    findings = {each.check: each for each in examine(parts, parts.home.context(), now=NOW_S * 1000)}
    assert findings["codex-memories-made"].fix is None
    assert "stay unchanged" in findings["codex-memories-made"].evidence


def test_a_version_that_the_person_chose_is_no_trouble(maker: CodexHomeMaker, tmp_path: Path) -> None:
    maker.newest()
    maker.file("config.toml", '[features]\nmemories = true\n[memories]\nversion = "v1"\n')
    assert found(maker, tmp_path)["codex-memories-made"][0] == "pass"


def test_an_empty_memories_is_called_empty_and_may_be_removed(maker: CodexHomeMaker, tmp_path: Path) -> None:
    (maker.memories / "below").mkdir(parents=True)
    parts = parts_of(maker, tmp_path)
    from reverie.doctor.examination import examine

    findings = {each.check: each for each in examine(parts, parts.home.context(), now=NOW_S * 1000)}
    finding = findings["codex-memories-made"]
    assert finding.evidence.endswith("It is empty.")
    assert "Reverie created it" not in finding.evidence
    assert finding.fix is not None
    assert finding.fix.label == "Remove the empty memories/"
    finding.fix.apply()
    assert not maker.memories.exists()
    assert not list((tmp_path / "profile").rglob("taken-*/*"))


def test_a_link_in_the_place_of_memories_is_left_alone(maker: CodexHomeMaker, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    maker.memories.symlink_to(elsewhere)
    parts = parts_of(maker, tmp_path)
    assert maker_of(parts.actors, maker.memories) == "others"
    with pytest.raises(StoreError, match="was not removed"):
        take_away(parts, maker.memories)
    assert maker.memories.is_symlink()


def test_nothing_is_taken_away_while_codex_holds_its_lock(maker: CodexHomeMaker, tmp_path: Path) -> None:
    parts = parts_of(maker, tmp_path)
    ours = maker.memories / "MEMORY.md"
    written_by_us(parts, ours, "ours\n")
    with (maker.root / "memories.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Busy):
            take_away(parts, maker.memories)
        assert ours.exists()
    take_away(parts, maker.memories)
    assert not maker.memories.exists()


def test_what_is_there_is_judged_again_under_the_lock(
    maker: CodexHomeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = parts_of(maker, tmp_path)
    ours = maker.memories / "MEMORY.md"
    written_by_us(parts, ours, "ours\n")
    lock_of = CodexHome.write_lock

    def codex_was_faster(home: CodexHome, root: ScopeRoot) -> WriteLock | None:
        maker.file("memories/raw_memories.md", "theirs\n")
        return lock_of(home, root)

    monkeypatch.setattr(CodexHome, "write_lock", codex_was_faster)
    with pytest.raises(StoreError, match="was not removed"):
        take_away(parts, maker.memories)
    assert ours.read_text() == "ours\n"
