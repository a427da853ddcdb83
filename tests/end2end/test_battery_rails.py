"""The battery of a run's rails (formats/mux.md section 10): what a model could ask of a dream, and what
becomes of it in answers, journal, coverage, files and use. One case of `battery/rails.jsonl` is

    {"rule": words, "workspace": id in the sample home, "hand"?, "pins"?: [logical keys], "dry_run"?,
     "asks": [{"ask": request, "gets" or "no": as in helpers.battery}], "ops": the journal, "outcome",
     "disk"?, "meta"?, "untouched"?, "memories_untouched"?}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import cases, differences, expand, put
from helpers.benches import contents, sample_parts, workspace
from helpers.samples import snapshot
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import DreamRequest
from reverie.llm.client import Account
from reverie.runs.guard import Guard
from reverie.runs.record import Progress
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer


class AskingEngine:
    """An engine that asks what a case says, one request after the other or all at once."""

    name = "asking"

    def __init__(self, asks: list[dict[str, Any]], *, at_once: bool = False) -> None:
        self._asks = asks
        self._at_once = at_once
        self.answers: list[dict[str, Any]] = []

    def account(self) -> Account:
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[Any] = (),
    ) -> str:
        overlay.notes(limits.check)

        async def ask(request: dict[str, Any]) -> dict[str, Any]:
            await asyncio.sleep(0)
            return guard.execute(request)

        if self._at_once:
            self.answers = await asyncio.gather(*map(ask, self._asks))
        else:
            self.answers = [await ask(request) for request in self._asks]
        return "asked"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["rule"]) for case in cases("rails")])
def test_rail_holds(case: dict[str, Any], tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    home = parts.home.root
    put(home, case.get("hand", {}))
    for key in case.get("pins", ()):
        parts.usage.set_pinned(key, True)
    before, memories = snapshot(home), _memories(home)
    engine = AskingEngine([expand(step["ask"]) for step in case["asks"]])
    request = DreamRequest(workspace(parts, case["workspace"]), dry_run=case.get("dry_run", False))
    result = parts.dreams.run(request, engine)

    assert (result.outcome, result.summary) == (case["outcome"], "asked")
    for step, answer in zip(case["asks"], engine.answers, strict=True):
        expected = step.get("gets", {"success": False, "error": {"$has": step.get("no")}})
        _agree(expected, answer, f"{step['ask']}")
    _agree(case["ops"], [dict(op) for op in result.ops], "ops")
    covered = json.loads((home / "memory-consolidation.json").read_bytes())["workspaces"][case["workspace"]]
    assert (covered == result.record) is not request.dry_run
    for name, content in case.get("disk", {}).items():
        path = home / name
        assert (path.read_text() if content is not None else path.exists()) == (content or False), name
    entries = json.loads((home / "memory-meta.json").read_bytes())["entries"]
    for key, entry in case.get("meta", {}).items():
        assert entries[key] == entry, key
    if case.get("untouched"):
        assert snapshot(home) == before
    if case.get("memories_untouched"):
        assert _memories(home) == memories


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def test_concurrent_requests_never_exceed_the_budget(parts: HomeContainer) -> None:
    asks = [
        {"command": "create", "path": f"/memories/global/n{n:02}.md", "file_text": "x"} for n in range(30)
    ]
    engine = AskingEngine(asks, at_once=True)
    result = parts.dreams.run(DreamRequest(workspace(parts, "a1f3c9e2b7")), engine)
    assert sum(answer["success"] for answer in engine.answers) == 8
    assert len(list((parts.home.root / "memory/global").glob("n[0-9][0-9].md"))) == 8
    assert sum(op["applied"] for op in result.ops) == 8


def test_a_failed_run_journals_nothing_as_applied_and_covers_nothing(parts: HomeContainer) -> None:
    class Failing(AskingEngine):
        async def dream(self, *args: Any, **named: Any) -> str:
            await super().dream(*args, **named)
            from reverie.errors import Unavailable

            raise Unavailable("The stream broke off.")

    before = contents(parts.home.root)
    asks = [{"command": "create", "path": "/memories/global/n.md", "file_text": "x"}]
    result = parts.dreams.run(DreamRequest(workspace(parts, "a1f3c9e2b7")), Failing(asks))
    assert result.outcome == "failed"
    assert [op["applied"] for op in result.ops] == [False]
    assert contents(parts.home.root) == before


def _memories(home: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(home).items() if name != "memory-consolidation.json"}


def _agree(expected: Any, found: Any, shown: str) -> None:
    problems = list(differences(expand(expected), found, shown))
    assert not problems, "\n".join(problems)
