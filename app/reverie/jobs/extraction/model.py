"""Both stages by a model, through the one agent loop.

Stage one has no tools: the answer is a JSON object, held to a schema where the service can be, and asked for
once more where it is none. Stage two has the memory commands, behind the guard of the staging copy. No secret
leaves (a vault stands before the model); what is stored of stage one holds none either, placeholders
included. Every ending but a plain one fails the run. What was spent and the trace are kept in each case.

Threading: one run, one event loop; rollouts are read on a thread. Failure: `UserError`; `Cancelled`,
`TimedOut` and `LeaseLost` come from `StopCheck.check`, which the loop asks every 50 ms.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from reverie.agents.transcripts import ReadStatistics
from reverie.errors import StoreError
from reverie.jobs.extraction.stage_one import (
    ANSWER_SCHEMA,
    Extracted,
    PromptText,
    RolloutSource,
    StageOneOutput,
    items_of,
    normalised,
    parse_answer,
    prompt_text,
)
from reverie.jobs.extraction.stage_two import StageTwoGuard, Staging
from reverie.jobs.extraction.state import HANDBOOK, INDEX, SKILLS
from reverie.jobs.model_work import ModelWork, last_line, step_of
from reverie.llm.client import ModelClient, TextMarks, memory_spec, memory_tool, no_end, prompt_words
from reverie.llm.loop import AgentEvent, AgentLimits
from reverie.llm.vault import Vault
from reverie.runs.run import StopCheck
from reverie.text.redact import REDACTED, codex_redact

# The prompts of both stages (`resources/prompts/rollout-*.md`). The rails in them are rendered from the
# guard's own values; text of rollouts and memories is put between marks with a random part, so it cannot
# close them.


class PromptEvidence(TextMarks):
    """The marks around text of a rollout or a memory."""

    kind = "evidence"


def trace_system(marks: PromptEvidence) -> str:
    """The instructions of stage one."""
    return f"{_text('rollout-trace')}\n\n{marks.explained('The record')}\n"


def trace_task(source: RolloutSource, prompt: PromptText, title: str, marks: PromptEvidence) -> str:
    """The rollout of one thread. `title` is as it may be shown."""
    cut = " Its middle was left out." if prompt.truncated else ""
    messages = "\n".join(
        line
        for line in (
            f"cwd: {source.cwd}",
            f"branch: {source.git_branch}" if source.git_branch else "",
            f"title: {title}" if title else "",
        )
        if line
    )
    evidence = marks.around(f"{messages}\n\n{prompt.text}")
    return f"{prompt.items} items.{cut}\n\n{evidence}\n"


def trace_reminder() -> str:
    """The reminder for a model that answered stage one in the wrong form."""
    return _text("rollout-trace-reminder")


def consolidation_system(guard: StageTwoGuard, staging: Staging, marks: PromptEvidence) -> str:
    """The instructions of stage two, with the limits as the guard has them."""
    rails = (
        "Limits of this run, which the tool enforces:\n"
        f"- Written may be /memories/project/{HANDBOOK} and files in /memories/project/{SKILLS}/; "
        "nothing else.\n"
        f"- At most {guard.rails.budget} changes; one that fails counts too. Viewing is free.\n"
        f"- A file holds at most {staging.caps.file_bytes:,} bytes."
    )
    return f"{_text('rollout-consolidate')}\n\n{rails}\n\n{marks.explained('Text of memories')}\n"


def consolidation_task(staging: Staging, marks: PromptEvidence) -> str:
    """The index in full, and what traces there are."""
    index = next((trace.text for trace in staging.traces if trace.rel == INDEX), "")
    files = [
        f"/memories/project/{trace.rel} ({len(trace.text.encode()):,} bytes)"
        for trace in staging.traces
        if trace.rel != INDEX
    ]
    directory = marks.around("\n".join([f"cwd: {staging.cwd}", "", index, *files]))
    return f"Write the handbook of this directory.\n\n{directory}\n"


def tool_words() -> str:
    """What a model is told of its tool."""
    return " ".join(_text("rollout-tool").split())


def _text(name: str) -> str:
    return prompt_words(name).strip()


TRACE_STEPS, TRACE_TOKENS = 2, 16_384
HANDBOOK_STEPS = 48
_TOKEN = re.compile(r"\{\{REVERIE_SECRET_\d{1,9}\}\}")


class _Stage(ModelWork):
    """One run of the loop with its account."""

    def __init__(self, asking: ModelClient) -> None:
        super().__init__(asking)
        self._vault = Vault()


class ModelStageOne(_Stage):
    """Implements `jobs.extraction.stage_one.StageOneEngine`."""

    kind = "extract"

    async def extract(
        self, source: RolloutSource, limits: StopCheck, tell: Callable[[str], None]
    ) -> Extracted:
        reading, marks = ReadStatistics(), PromptEvidence.random()
        prompt = await asyncio.to_thread(
            lambda: prompt_text(items_of(source.path, reading, limits.check), hide=self._hidden)
        )
        if not prompt.items:
            return Extracted(StageOneOutput("", ""), reading, nothing=True)
        limits.check()
        reminded: list[bool] = []

        def follow_up(text: str) -> str | None:
            try:
                normalised(parse_answer(text))
            except StoreError:
                if not reminded:
                    reminded.append(True)
                    return trace_reminder()
            return None

        tell("")
        result = await self._ask(
            limits,
            AgentLimits(TRACE_STEPS, limits.deadline, TRACE_TOKENS),
            self._vault,
            system=trace_system(marks),
            task=trace_task(source, prompt, self._hidden(source.title), marks),
            observer=_reporting(tell),
            follow_up=follow_up,
            answer_schema=ANSWER_SCHEMA,
        )
        if result.outcome != "completed":
            raise no_end(result.outcome, TRACE_STEPS)
        answer = parse_answer(result.text)
        # What a placeholder stands for is a secret, which no memory holds.
        output = StageOneOutput(_TOKEN.sub(REDACTED, answer.trace), _TOKEN.sub(REDACTED, answer.summary))
        return Extracted(output, reading, prompt.truncated)

    def _hidden(self, text: str) -> str:
        """Nothing of a rollout is given back, so what only the agent's own redaction knows goes for good."""
        return self._vault.hide(codex_redact(text))


class ModelStageTwo(_Stage):
    """Implements `jobs.extraction.stage_two.StageTwoEngine`."""

    kind = "consolidate"

    async def consolidate(
        self, staging: Staging, guard: StageTwoGuard, limits: StopCheck, tell: Callable[[str], None]
    ) -> str:
        marks = PromptEvidence.random()
        for trace in staging.traces:
            limits.check()
            self._vault.learn(trace.text)
        tell("")
        result = await self._ask(
            limits,
            AgentLimits(HANDBOOK_STEPS, limits.deadline),
            self._vault,
            system=consolidation_system(guard, staging, marks),
            task=consolidation_task(staging, marks),
            tools=[memory_tool(guard, memory_spec(tool_words()), marks, budget=guard.rails.budget)],
            observer=_reporting(tell),
        )
        if result.outcome != "completed":
            raise no_end(result.outcome, HANDBOOK_STEPS)
        return last_line(result.text) or "The handbook was written."


def _reporting(tell: Callable[[str], None]) -> Callable[[AgentEvent], None]:
    """An observer of the loop that tells what goes on."""

    def on_event(event: AgentEvent) -> None:
        if event.kind == "retry":
            tell(event.text)
        elif event.kind == "tool":
            tell(step_of(event))

    return on_event
