"""The agent loop: runs a model with guarded tools and limits, and returns one result and a trace.

Every kind of run that uses a model is this loop with a prompt, tools and a guard of its own. Secrets in
memory text never leave this machine: the model gets placeholders instead (`llm.vault`). Invariants, each
enforced here: exactly one outcome; every tool call gets exactly one result, in order; no text is sent that
has not been through the vault, and no placeholder reaches a tool; nothing continues past the deadline, the
limits of steps and output, or a cancellation. Cancellation is checked every 50 ms beside the model's task,
and ends that task at once.

Threading: one event loop, in which the tools run too. Failure: a model's mistakes (broken JSON, unknown
tools, wrong arguments, too many calls, a placeholder that cannot be restored) are reported to the model as
the result of the call, so that it can recover. Faults of a provider end the run as `failed` and never raise.
Bugs, and a cancelled task, are raised after the trace is complete.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from reverie.errors import StoreError, UserError
from reverie.llm.provider import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelTurn,
    Provider,
    ProviderError,
    StreamProgress,
    TokenUsage,
    ToolCall,
    ToolOutcome,
    ToolResult,
    UserMessage,
)
from reverie.llm.service_errors import problem
from reverie.llm.tools import Tool, argument_problem, decode_arguments, unknown_tool
from reverie.llm.trace import AgentOutcome, Trace
from reverie.llm.vault import Vault
from reverie.llm.wire import sanitise
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, astuple, field, replace

_MOST_TOKENS = 10**12
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _plausible(usage: TokenUsage | None) -> TokenUsage | None:
    """Return `usage`, the token counts of a service, limited to the range 0 to `_MOST_TOKENS`.

    The result is None if `usage` is None.
    """
    if usage is None:
        return None
    return TokenUsage(*(min(max(count, 0), _MOST_TOKENS) for count in astuple(usage)))


def decoded(call: ToolCall) -> Any:
    """Return the arguments of a tool call as an object, for the trace and observers.

    Placeholders for secrets in them are not replaced. Arguments that cannot be decoded are returned as text.
    """
    try:
        return decode_arguments(call.arguments)
    except StoreError:
        return call.arguments


def sanitise_turn(turn: ModelTurn, step: int, call_ids: set[str]) -> ModelTurn:
    """Return `turn`, an answer of the model, without unpaired surrogates and with unique call ids.

    A call id that is repeated or not valid is replaced by one with the number of the answer, `step`.
    `call_ids`: the ids of all calls of the conversation so far; those of this answer are added to the set.
    Impossible token counts are limited (`_plausible`); arguments that cannot be parsed are not changed.
    """
    message = turn.message
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        identity = call.id
        if identity in call_ids or not _CALL_ID.fullmatch(identity):
            identity = f"call-{step}-{len(calls) + 1}"
            while identity in call_ids:
                identity += "x"
        call_ids.add(identity)
        calls.append(ToolCall(identity, sanitise(call.name), sanitise(call.arguments)))
    sound = AssistantMessage(sanitise(message.text), tuple(calls), message.extra)
    return replace(turn, message=sound, usage=_plausible(turn.usage))


MAX_CALLS_PER_TURN = 64
_POLL_S = 0.05
_GRACE_S = 0.1
"""The time to wait for a cancelled request to end, in seconds.

A connection that does not end is closed with the event loop.
"""
_LONG_TOKEN = 8
"""The length of the longest tokens, in multiples of the usual length.

Such a token stands for a sequence of blanks.
"""
_NOT_RUN = "This call was not run: "

_log = logging.getLogger(__name__)


class AgentLimits(Struct, frozen=True):
    """The limits of one run of the agent loop: steps (answers of the model), time and output tokens."""

    max_steps: int
    """The maximum number of the model's answers."""
    deadline: float
    """The end of the time limit, on the clock of `time.monotonic`."""
    max_output_tokens: int = 8_192
    """The maximum number of output tokens per answer, counted by the provider or estimated."""
    max_total_output_tokens: int = 65_536
    """The maximum number of output tokens in the run, counted by the provider or estimated."""
    attempt_steps: int = 0
    """The number of answers in an attempt after which `follow_up` of `run_agent` is called in any case.

    Before, it is called only after an answer without calls. 0 means no such limit.
    """


class AgentEvent(Struct, frozen=True):
    """One event of a run's progress, in which texts and arguments contain placeholders for secrets."""

    kind: Literal["text", "tool-begins", "retry", "turn", "tool"]
    """The kind of progress.

    `text`: a piece of the answer, in `text`. `tool-begins`: the model starts a call of `tool`. `retry`: a
    request is repeated, for the reason in `text`. `turn`: an answer is complete; `usage` has the tokens of
    the run so far. `tool`: a call has ended with the result in `text`.
    """
    step: int
    """The number of the model's answer in the run, from 1."""
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False
    usage: TokenUsage | None = None


class AgentResult(Struct, frozen=True):
    """The result of one run of the agent loop: its outcome, the model's last text, usage and trace."""

    outcome: AgentOutcome
    text: str
    """The model's last text, with placeholders."""
    usage: TokenUsage | None
    """The tokens that were used; None if no answer reported its usage."""
    steps: int
    """The number of the model's answers."""
    error: ProviderError | None
    """The reason of a `failed` outcome, as an error for people; None for any other outcome."""
    trace: Trace


async def run_agent(
    provider: Provider,
    *,
    system: str,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    limits: AgentLimits,
    vault: Vault,
    cancelled: Callable[[], bool] = lambda: False,
    observer: Callable[[AgentEvent], None] = lambda _event: None,
    follow_up: Callable[[str], str | None] = lambda _text: None,
    trace: Trace | None = None,
    answer_schema: Mapping[str, Any] | None = None,
) -> AgentResult:
    """Run the model with its tools until it makes no more calls or a limit ends the run; return the result.

    `messages` may contain secrets: in everything that is sent, `vault` replaces them with placeholders.
    `system` has only instructions, which may explain placeholders (`llm.vault.EXAMPLE`). `tools`: the tools
    that the model may call. `cancelled`: returns whether to cancel the run; an exception that it raises ends
    the run and is raised. `observer` gets each event of the run. `follow_up` gets the text of an answer
    without calls, and returns one more message for the model (this starts a new attempt), or None to finish.
    `answer_schema`: the JSON schema for the text of the answers; None: any text. `trace` is filled during the
    run, so that the caller has it even if a bug ends the run; None: a new one.
    """
    run = _Run(
        provider, tools, limits, vault, cancelled, observer, trace or Trace(vault.scrub), answer_schema
    )
    return await run.result(system, messages, follow_up)


class _Stop(Exception):
    """Raised inside the loop to end a run with `outcome` and, if it failed, the `error`."""

    def __init__(self, outcome: AgentOutcome, error: ProviderError | None = None) -> None:
        super().__init__(outcome)
        self.outcome: AgentOutcome = outcome
        self.error = error


class _Run:
    """The state of one `run_agent` call."""

    def __init__(
        self,
        provider: Provider,
        tools: Sequence[Tool],
        limits: AgentLimits,
        vault: Vault,
        cancelled: Callable[[], bool],
        observer: Callable[[AgentEvent], None],
        trace: Trace,
        answer_schema: Mapping[str, Any] | None,
    ) -> None:
        self._answer_schema = answer_schema
        self._provider = provider
        self._tools = {tool.spec.name: tool for tool in tools}
        self._limits = limits
        self._vault = vault
        self._cancelled = cancelled
        self._observe = observer
        self._trace = trace
        self._system = ""
        self._messages: list[Message] = []
        self._call_ids: set[str] = set()
        self._text = ""
        self._usage: TokenUsage | None = None
        self._output = 0
        self._steps = 0

    async def result(
        self, system: str, messages: Sequence[Message], follow_up: Callable[[str], str | None]
    ) -> AgentResult:
        try:
            self._system = self._vault.scrub(system)
            self._messages = [self._outgoing(message) for message in messages]
            self._trace.begin(self._provider.name, self._system, self._messages)
            await self._converse(follow_up)
            end = _Stop("completed")
        except _Stop as stop:
            end = stop
        except asyncio.CancelledError:
            self._trace.end("cancelled", self._usage)
            raise
        except BaseException as bug:
            self._trace.end("failed", self._usage, bug)
            raise
        self._trace.end(end.outcome, self._usage, end.error)
        return AgentResult(end.outcome, self._text, self._usage, self._steps, end.error, self._trace)

    async def _converse(self, follow_up: Callable[[str], str | None]) -> None:
        began = self._steps
        while True:
            turn = await self._turn()
            if turn.message.tool_calls:
                await self._answer(turn)
                if self._steps - began < (self._limits.attempt_steps or self._limits.max_steps):
                    continue
            elif turn.finish == "content-filter":
                raise _Stop("failed", problem("withheld"))
            reminder = follow_up(self._text)
            if reminder is None and turn.message.tool_calls:
                raise _Stop("step-limit")
            if reminder is None and turn.finish == "length":
                raise _Stop("output-limit")
            if reminder is None:
                return
            began = self._steps
            self._messages.append(UserMessage(self._vault.hide(reminder)))
            self._trace.attempt(self._messages)

    async def _turn(self) -> ModelTurn:
        """Request the next answer of the model, sanitise it, record it in the trace, and return it.

        Raises `_Stop` if the run must end.
        """
        self._check()
        if self._steps >= self._limits.max_steps:
            raise _Stop("step-limit")
        left = self._limits.max_total_output_tokens - self._output
        if left <= 0:
            raise _Stop("output-limit")
        request = ModelRequest(
            system=self._system,
            messages=tuple(self._messages),
            tools=tuple(tool.spec for tool in self._tools.values()),
            max_output_tokens=min(left, self._limits.max_output_tokens),
            deadline=self._limits.deadline,
            answer_schema=self._answer_schema,
        )
        self._steps += 1
        turn = sanitise_turn(await self._complete(request), self._steps, self._call_ids)
        self._count(turn)
        self._text = self._vault.scrub(turn.message.text) or self._text
        self._messages.append(turn.message)
        self._trace.turn(turn)
        self._observe(AgentEvent("turn", self._steps, text=self._text, usage=self._usage))
        return turn

    async def _complete(self, request: ModelRequest) -> ModelTurn:
        """Return the provider's answer to `request`.

        Raises `_Stop` if the run is cancelled, the deadline passes first, or the provider fails.
        """
        task = asyncio.ensure_future(self._provider.complete(request, progress=self._progress))
        try:
            while not task.done():
                self._check()
                left = self._limits.deadline - time.monotonic()
                await asyncio.wait({task}, timeout=max(0.0, min(_POLL_S, left)))
        finally:
            if not task.done():
                task.add_done_callback(_note_late_bug)
                task.cancel()
                await asyncio.wait({task}, timeout=_GRACE_S)
        if task.cancelled():
            raise RuntimeError("the provider cancelled its own request")
        try:
            return task.result()
        except ProviderError as error:
            if error.fault == "timeout" and time.monotonic() >= self._limits.deadline:
                raise _Stop("time-limit") from error
            raise _Stop("failed", error) from error

    def _check(self) -> None:
        if self._cancelled():
            raise _Stop("cancelled")
        if time.monotonic() >= self._limits.deadline:
            raise _Stop("time-limit")

    async def _answer(self, turn: ModelTurn) -> None:
        """Carry out the tool calls of `turn`, and add exactly one result for each to the conversation.

        If the run is cancelled or its deadline passes, the remaining calls are not carried out, and `_Stop`
        is raised.
        """
        stop: _Stop | None = None
        for number, call in enumerate(turn.message.tool_calls):
            if stop is None:
                await asyncio.sleep(0)
                stop = self._stopped()
            if stop is not None:
                self._give(call, ToolOutcome(_NOT_RUN + "the run has ended.", is_error=True))
            elif number >= MAX_CALLS_PER_TURN:
                self._give(call, ToolOutcome(_NOT_RUN + _too_many(), is_error=True))
            else:
                self._give(call, self._executed(call, cut=turn.finish == "length"))
        if stop is not None:
            raise stop

    def _stopped(self) -> _Stop | None:
        try:
            self._check()
        except _Stop as stop:
            return stop
        return None

    def _executed(self, call: ToolCall, *, cut: bool) -> ToolOutcome:
        """Carry out a tool call; return its outcome, in which secrets are replaced by placeholders.

        `cut`: whether the answer ended at its length limit, perhaps in the middle of this call.
        """
        self._trace.call_begins()
        try:
            tool, arguments = self._prepared(call)
        except UserError as error:
            hint = " Your answer was cut at its length limit: do it in smaller pieces." if cut else ""
            # Our message quotes the model: placeholders in it are tokens, not text of a memory.
            outcome = ToolOutcome(self._vault.scrub(str(error) + hint), is_error=True)
        else:
            try:
                outcome = tool.call(arguments)
            except UserError as error:
                outcome = ToolOutcome(str(error), is_error=True)
            outcome = replace(outcome, content=self._vault.hide(outcome.content))
        self._trace.call_ends(call, decoded(call), outcome)
        return outcome

    def _prepared(self, call: ToolCall) -> tuple[Tool, Mapping[str, Any]]:
        """Return the tool that `call` names, and its arguments with secrets in place of their placeholders.

        Raises `UserError` for errors that the model can correct.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            raise unknown_tool(call.name, list(self._tools.values()))
        arguments = decode_arguments(call.arguments)
        problem = argument_problem(tool.spec.parameters, arguments)
        if problem is not None:
            raise StoreError(problem, next_step="Call the tool again.", reason="arguments")
        return tool, self._restored(tool, arguments)

    def _restored(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        ready: dict[str, Any] = {}
        for name, value in arguments.items():
            if name in tool.restored:
                value = self._vault.restore_in(value)
            elif name not in tool.remarks and self._vault.holds_token({name: value}):
                raise StoreError(
                    f"{name} holds a placeholder.",
                    cause="The placeholder stands for redacted text and can be used only inside a memory.",
                    next_step="Call the tool again without it.",
                    reason="placeholder",
                )
            ready[name] = value
        return ready

    def _give(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Add `outcome`, the result of the tool call `call`, to the conversation and the trace.

        `outcome` must contain no secrets.
        """
        result = ToolResult(call.id, call.name, outcome.content, outcome.is_error)
        self._messages.append(result)
        self._trace.result(result)
        arguments = decoded(call)
        self._observe(
            AgentEvent(
                "tool",
                self._steps,
                text=outcome.content,
                tool=call.name,
                arguments=arguments if isinstance(arguments, dict) else {},
                is_error=outcome.is_error,
            )
        )

    def _count(self, turn: ModelTurn) -> None:
        said = [turn.message.text, *(call.arguments for call in turn.message.tool_calls)]
        estimate = sum(map(estimate_tokens, said))
        if turn.usage is None:
            self._output += estimate
            return
        self._usage = turn.usage if self._usage is None else self._usage + turn.usage
        # A lower bound, in case a service counts wrongly: no token is longer than `_LONG_TOKEN` usual ones.
        counted = turn.usage.output
        self._output += max(counted, estimate // _LONG_TOKEN) if counted else estimate

    def _progress(self, progress: StreamProgress) -> None:
        if progress.text:
            self._observe(AgentEvent("text", self._steps, text=progress.text))
        if progress.tool_name:
            self._observe(AgentEvent("tool-begins", self._steps, tool=progress.tool_name))
        if progress.retry:
            self._observe(AgentEvent("retry", self._steps, text=progress.retry))

    def _outgoing(self, message: Message) -> Message:
        if isinstance(message, UserMessage):
            return UserMessage(self._vault.hide(message.text))
        if isinstance(message, ToolResult):
            return replace(message, content=self._vault.hide(message.content))
        return replace(message, text=self._vault.hide(message.text))


def _too_many() -> str:
    return f"one answer may make {MAX_CALLS_PER_TURN} calls. Make the others in the next one."


def _note_late_bug(task: asyncio.Future[ModelTurn]) -> None:
    """Log the exception of `task`, an abandoned request, unless it is an error of the provider."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, UserError):
        _log.error("A cancelled model request failed with %s.", type(error).__name__)
