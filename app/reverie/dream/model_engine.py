"""A dream by a model: the one agent loop with the memory tool behind the guard.

The model sees the notes of the overlay through a vault (no secret leaves), between marks that no note can
close, and changes them only through `Guard.execute`; so scopes, pins and the budget hold whatever it says.
Every ending but a plain one is a failed run: a limit, a fault of the service, a cancel. What was spent and
the trace are kept in each case (`account`).

Threading: one run, one event loop. Failure: `MendableError` for what a person can mend; `Cancelled`,
`TimedOut` and `LeaseLost` come from `Limits.check`, which the loop asks every 50 ms beside the model's task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reverie.agent.account import Account
from reverie.agent.asking import Asking, no_end
from reverie.agent.loop import AgentEvent, AgentLimits, AgentResult, run_agent
from reverie.agent.memory_tool import memory_spec, memory_tool
from reverie.agent.messages import TokenUsage, ToolSpec, UserMessage
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.dream.coverage import Trigger
from reverie.dream.overlay import DreamOverlay
from reverie.dream.progress import DreamProgress
from reverie.dream.prompts import Fence, scope_names, system_prompt, task_prompt
from reverie.runs.guard import Guard
from reverie.runs.limits import Limits, TimedOut
from reverie.text.counts import some

MAX_STEPS = 32
_SUMMARY_CHARS = 300


class ModelEngine:
    """Implements `dream.engine.Engine`. The provider is opened once per attempt."""

    def __init__(
        self, asking: Asking, *, instructions: str, trigger: Trigger, workspace_name: str = ""
    ) -> None:
        self.name = asking.name
        self._asking = asking
        self._instructions = instructions
        self._trigger = trigger
        self._workspace_name = workspace_name
        self._usage: TokenUsage | None = None
        self._trace: Trace | None = None
        self._timeout_ms = 0

    def account(self) -> Account:
        """What all attempts used, and the trace of the last one."""
        head = TraceHead(
            run_id="", kind="dream", workspace_name=self._workspace_name, timeout_ms=self._timeout_ms
        )
        trace = self._trace
        return self._asking.account(head, self._usage, None if trace is None else trace.to_document)

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: Limits,
        progress: Callable[[DreamProgress], None],
    ) -> str:
        """Read, ask, carry out. Returns the model's own last line. Raises `ModelRunFailed`."""
        progress(DreamProgress("reading"))
        notes = overlay.notes(limits.check)
        vault = Vault()
        for note in notes:
            limits.check()
            vault.learn(note.text)
        fence = Fence.random()
        tool = memory_tool(guard, memory_tool_spec(guard), fence, budget=guard.rails.budget)
        self._trace = Trace(vault.scrub, clock=self._asking.clock)
        self._timeout_ms = limits.allowed_ms
        watch = _Watch(guard, progress)
        provider = self._asking.open_provider()
        try:
            result = await run_agent(
                provider,
                system=system_prompt(self._instructions, guard.rails, self._trigger, overlay.caps, fence),
                messages=[UserMessage(task_prompt(notes, overlay.caps, fence))],
                tools=[tool],
                limits=AgentLimits(MAX_STEPS, limits.deadline),
                vault=vault,
                cancelled=partial(_stopped, limits),
                observer=watch.on_event,
                trace=self._trace,
            )
        finally:
            self._count(watch.usage)
            await provider.close()
        return _summary(result, guard)

    def _count(self, usage: TokenUsage | None) -> None:
        if usage is not None:
            self._usage = usage if self._usage is None else self._usage + usage


def memory_tool_spec(guard: Guard) -> ToolSpec:
    """The tool as the model is told of it; the scopes are those of the guard."""
    return memory_spec(
        f"View and change the notes. Paths begin with {', '.join(scope_names(guard.rails))}. "
        "view: path of a note or directory, optionally offset and limit in lines; a note's lines come with "
        "their numbers and a tab in front, which are not part of it. create: path, file_text; the note must "
        "not exist. str_replace: path, old_str (exact, once in the note), new_str. insert: path, insert_line "
        "(0 is before the first line), insert_text. delete: path of a note or directory. rename: old_path, "
        "new_path, inside one scope.",
        {"type": "string", "description": "One short sentence: why this change."},
    )


class _Watch:
    """What the loop tells, as progress of the dream."""

    def __init__(self, guard: Guard, progress: Callable[[DreamProgress], None]) -> None:
        self._guard = guard
        self._progress = progress
        self._ops = 0
        self.usage: TokenUsage | None = None

    def on_event(self, event: AgentEvent) -> None:
        if event.kind == "turn":
            self.usage = event.usage
        elif event.kind == "retry":
            self._progress(DreamProgress(event.text, event.step, MAX_STEPS))
        elif event.kind == "tool":
            ops = self._guard.ops
            newest = ops[-1] if len(ops) > self._ops else None
            self._ops = len(ops)
            step = f"{event.arguments.get('command', event.tool)} {event.arguments.get('path') or ''}".strip()
            self._progress(DreamProgress(step, event.step, MAX_STEPS, newest))
        elif event.kind == "tool-begins" or (event.kind == "text" and event.text.strip()):
            self._progress(DreamProgress("thinking", event.step, MAX_STEPS))


def _stopped(limits: Limits) -> bool:
    """Never true: what stops the run is raised, so that it keeps its name."""
    limits.check()
    return False


def _summary(result: AgentResult, guard: Guard) -> str:
    """The model's last line if it came to an end; else why not, raised."""
    if result.outcome == "time-limit":
        raise TimedOut
    if result.error is not None:
        raise result.error
    if result.outcome in ("step-limit", "output-limit"):
        raise no_end(result.outcome, MAX_STEPS)
    lines = [" ".join(line.split()) for line in result.text.splitlines() if line.strip()]
    if lines:
        return lines[-1][:_SUMMARY_CHARS]
    count = guard.applied
    return f"{some(count, 'change')}." if count else "No changes needed."
