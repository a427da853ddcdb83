"""A hostile model against the rails: thousands of random command sequences through the real loop, guard and
overlay.

The suite runs a seeded sample, `REVERIE_TEST_PROFILE=campaign` all 5,000. What is checked for each sequence:
the budget holds, nothing outside the scopes changes, no pinned memory loses its name, the journal has every
mutating request in order with what became of it, and it accounts for every file that differs.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from helpers.benches import contents, sample_parts, workspace
from helpers.isolation import TEST_PROFILE
from reverie.errors import StoreError
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.llm.loop import MAX_CALLS_PER_TURN, AgentLimits, run_agent
from reverie.llm.provider import (
    AssistantMessage,
    ModelRequest,
    ModelTurn,
    ProviderError,
    StreamProgress,
    ToolCall,
    ToolOutcome,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from reverie.llm.tools import FunctionTool
from reverie.llm.vault import Vault
from reverie.memory.commands import MUTATING, normalise, paths_of
from reverie.memory.paths import parse_memory_path, rel_problem
from reverie.runs.guard import Guard
from reverie.runs.record import DRY_RUN_NOTE
from reverie.services.container import HomeContainer

SEQUENCES = 5_000 if TEST_PROFILE == "campaign" else 20
PORTIONS = 10
ACME, PIPELINE, MULTI = "a1f3c9e2b7", "c04d8e91aa", "e8f1a2b3c4"
PINNED = {
    "global:meetings/2026/07/14-planning.md": "/memories/global/meetings/2026/07/14-planning.md",
    "global:testing.md": "/memories/global/testing.md",
}
LARGE = "y" * 200_000
KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0" * 2
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}

NAMES = ["a.md", "b/c.md", "testing.md", "TESTING.md", "meetings", "meetings/2026", "people", "plan.md"]
ODD = [
    "..",
    ".",
    "",
    "a//b",
    "x\0y",
    "a\nb",
    "~",
    "C:\\x",
    "a" * 300,
    "<b>.md",
    "con",
    "a/../../../etc",
    "😀.md",
]
ROOTS = ["/memories/global/", "/memories/project/", "/memories/workspace/", "/memories/other/", "/memories/"]
STRAY = [
    "/etc/passwd",
    "../../etc/passwd",
    "/memories",
    "/memories/../config.json",
    "/memories/global/../../config.json",
    "/memories/global/..%2f..%2fconfig.json",
    "/memories/global\\..\\config.json",
    "memories/global/a.md",
    "/MEMORIES/global/a.md",
    "",
]


class HostileModel:
    """Says what its seed tells it to: some of it sensible, most of it not."""

    name = "hostile:m"
    destination = ""

    def __init__(self, seed: int, known: list[str]) -> None:
        self._random = random.Random(seed)
        self._known = known
        self._flooded = False
        self.requests: list[ModelRequest] = []

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        self.requests.append(request)
        if self._random.random() < 0.02:
            raise ProviderError("cut-off", "The stream ended early.", next_step="Run the update again.")
        if self._random.random() < 0.1:
            return ModelTurn(AssistantMessage("I am done."), "stop", None, "m")
        count = self._random.randint(1, 6)
        if not self._flooded and self._random.random() < 0.02:
            count, self._flooded = MAX_CALLS_PER_TURN + 6, True
        calls = tuple(self._call(number) for number in range(count))
        return ModelTurn(AssistantMessage("Hm.", calls), "tool-calls", None, "m")

    async def close(self) -> None:
        """Nothing to let go."""

    def _call(self, number: int) -> ToolCall:
        dice = self._random.random()
        if dice < 0.04:
            broken = self._random.choice(["{", "[]", '"x"', "{}", '{"command": 4}', '{"command": NaN}'])
            return ToolCall(f"c{number}", "memory", broken)
        if dice < 0.06:
            return ToolCall("", self._random.choice(["bash", "", "Memory"]), '{"command": "rm -rf /"}')
        return ToolCall(f"c{number}", "memory", json.dumps(self._request()))

    def _request(self) -> dict[str, Any]:
        pick = self._random
        command = pick.choice(["view", *sorted(MUTATING), *sorted(MUTATING), "delete", "rename", "format"])
        request: dict[str, Any] = {"command": command, "path": self._path()}
        if command == "create":
            request[pick.choice(["file_text", "content"])] = self._text()
        elif command == "str_replace":
            request |= {"old_str": pick.choice(["e", "the", "# ", self._text()]), "new_str": self._text()}
        elif command == "insert":
            request |= {"insert_line": pick.choice([0, 1, 10**9, -1, "1", 0.5]), "insert_text": self._text()}
        elif command == "rename":
            if pick.random() < 0.8:
                request["old_path"] = request.pop("path")
            fresh = f"{pick.choice(ROOTS[:3])}new-{pick.randrange(99)}.md"
            request["new_path"] = fresh if pick.random() < 0.4 else self._path()
        if pick.random() < 0.05:
            del request[pick.choice(sorted(request))]
        if pick.random() < 0.05:
            request[pick.choice(sorted(request) or ["path"])] = pick.choice([None, 7, [], {}, True])
        return request

    def _path(self) -> str:
        pick = self._random
        dice = pick.random()
        if dice < 0.5:
            path = pick.choice(self._known)
            return path.rpartition("/")[0] if pick.random() < 0.2 else path
        if dice < 0.65:
            return pick.choice(sorted(PINNED.values()))
        if dice < 0.85:
            return pick.choice(ROOTS) + pick.choice(NAMES)
        return pick.choice(ROOTS) + pick.choice(ODD) if dice < 0.95 else pick.choice(STRAY)

    def _text(self) -> str:
        if self._random.random() < 0.02:
            return LARGE
        return self._random.choice(
            [
                "",
                "x",
                "- a fact\n",
                "# T\n\nline\r\n",
                "{{REVERIE_SECRET_1}}",
                "{{REVERIE_SECRET_9}}",
            ]
        )


@dataclass
class Witness:
    """The memory tool of the run, with an independent account of what went through it."""

    guard: Guard
    journaled: list[tuple[dict[str, Any], bool]] = field(default_factory=list)
    refused: int = 0

    def __call__(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        remaining = self.guard.remaining
        answer = self.guard.execute(arguments)
        if arguments.get("command") in MUTATING and _is_well_formed(arguments):
            self.refused += self.guard.remaining == remaining
            # Of what the rails refuse, the guard keeps the first hundred.
            if self.guard.remaining < remaining or self.refused <= 100:
                self.journaled.append((dict(arguments), answer["success"]))
        text = answer["output"] if answer["success"] else answer["error"]
        return ToolOutcome(text, is_error=not answer["success"])

    @property
    def tool(self) -> FunctionTool:
        fields = frozenset({"file_text", "content", "old_str", "new_str", "insert_text"})
        return FunctionTool(ToolSpec("memory", "The memories.", SCHEMA), self, restored=fields)


def _is_well_formed(arguments: Mapping[str, Any]) -> bool:
    """Whether a call names its place and has fields of the right types; others are no changes."""
    try:
        paths = paths_of(normalise(arguments))
    except StoreError:
        return False
    return len(paths) == (2 if arguments["command"] == "rename" else 1)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> HomeContainer:
    made = sample_parts("mux-home", tmp_path_factory.mktemp("hostile"))
    for key in PINNED:
        made.usage.set_pinned(key, True)
    secret = made.home.root / "memory" / "global" / "keys.md"
    secret.write_text(f"# Keys\n\napi: {KEY}\n")
    return made


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_the_rails_hold_under_random_command_sequences(parts: HomeContainer, portion: int) -> None:
    before = contents(parts.home.root)
    for seed in range(portion, SEQUENCES, PORTIONS):
        _check_sequence(parts, seed)
    assert contents(parts.home.root) == before


def _check_sequence(parts: HomeContainer, seed: int) -> None:
    choose = random.Random(f"run {seed}")
    context = workspace(parts, choose.choice([ACME, PIPELINE, MULTI]))
    budget, dry_run = choose.choice([0, 1, 3, 8, 8]), choose.random() < 0.2
    overlay = DreamOverlay(parts.home, context, parts.usage)
    notes = overlay.notes(lambda: None)
    witness = Witness(overlay.guard(budget=budget, dry_run=dry_run))
    model = HostileModel(seed, [note.path for note in notes])
    result = asyncio.run(
        run_agent(
            model,
            system="You tidy the memories.",
            messages=[UserMessage("\n".join(note.text for note in notes))],
            tools=[witness.tool],
            limits=AgentLimits(8, time.monotonic() + 60, max_total_output_tokens=10**9),
            vault=Vault(),
        )
    )
    told = f"seed {seed}"
    assert result.outcome in ("completed", "step-limit", "failed"), told
    _check_answers(model, told)
    _check_journal(witness, budget, dry_run, told)
    _check_changes(overlay, witness.guard, told)
    assert KEY not in str(model.requests), told


def _check_answers(model: HostileModel, told: str) -> None:
    """Each call of each answer is followed by its one result, in order."""
    messages = model.requests[-1].messages
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            results = messages[position + 1 : position + 1 + len(message.tool_calls)]
            ids = [result.call_id for result in results if isinstance(result, ToolResult)]
            assert ids == [call.id for call in message.tool_calls], told


def _check_journal(witness: Witness, budget: int, dry_run: bool, told: str) -> None:
    guard = witness.guard
    expected = witness.journaled
    assert len(guard.ops) == len(expected), told
    for op, (request, success) in zip(guard.ops, expected, strict=True):
        assert op["command"] == request["command"], told
        done = op.get("note") == DRY_RUN_NOTE if dry_run else op["applied"]
        assert done == success, told
        assert not (dry_run and op["applied"]), told
        assert done or op["note"], told
        if success:
            paths = [str(parse_memory_path(path)) for path in paths_of(normalise(request))]
            assert [op["path"], op.get("newPath")] == [*paths, None][:2], told
    assert guard.applied <= budget, told
    assert guard.remaining >= 0, told
    assert guard.applied <= budget - guard.remaining <= len(guard.ops), told


def _check_changes(overlay: DreamOverlay, guard: Guard, told: str) -> None:
    done = [op for op in guard.ops if op["applied"] or op.get("note") == DRY_RUN_NOTE]
    accounted = [path for op in done for path in (op["path"], op.get("newPath")) if path]
    for change in overlay.changes():
        path = f"/memories/{change.root.scope.value}/{change.rel}"
        assert change.root.scope in overlay.scopes, told
        assert rel_problem(change.rel) is None, told
        assert any(path == named or path.startswith(named + "/") for named in accounted), told
        assert change.after is None or b"{{REVERIE_SECRET" not in change.after, told
        assert change.after is not None or not overlay.is_protected(parse_memory_path(path)), told


def test_the_models_script_reaches_every_command_and_both_answers(parts: HomeContainer) -> None:
    """The battery above is worth something only if it gets through now and then."""
    wanted = {(command, success) for command in MUTATING for success in (True, False)}
    tried: set[tuple[str, bool]] = set()
    for seed in range(40):
        if wanted <= tried:
            break
        overlay = DreamOverlay(parts.home, workspace(parts, ACME), parts.usage)
        known = [note.path for note in overlay.notes(lambda: None)]
        model, guard = HostileModel(seed, known), overlay.guard(budget=8, dry_run=False)
        for _ in range(30):
            request = model._request()
            answer = guard.execute(request)
            tried.add((str(request.get("command")), answer["success"]))
    assert wanted <= tried
