"""The agent loop: runs a model with guarded tools and limits, and returns one result and a trace.

Every kind of run that uses a model is this loop with a prompt, tools and a guard of its own. Secrets in
memory text stay here: the model gets placeholders instead. Invariants, each enforced here: exactly one
outcome; every tool call gets exactly one answer, in order; no text is sent that has not been through the
vault, and no placeholder reaches a tool; nothing continues past the deadline, the steps, the allowed output
or a cancel, which is checked every 50 ms beside the model's task and ends that task at once.

`Vault.hide` replaces every secret that `text.redact` finds by a token such as `{{REVERIE_SECRET_3}}`;
`restore` puts the secrets back into text that a model writes. One vault serves one run: the same secret has
the same token throughout, and a secret once seen is hidden wherever it appears again, even without the name
or header that revealed it (`learn` the memories first, so that a view of half a key is covered too).
Invariants, each with a test: `restore(hide(text)) == text` for every text, even one that looks like a token
(look-alikes get a token of their own); `find_secrets(hide(text))` is empty; `restore` returns exact text or
raises, so that no placeholder is ever written into a memory. A secret of several lines is hidden line by
line, without line numbers in front of it, so that every line of a numbered view restores to the line in the
file.

Threading: one event loop, in which the tools run too; one run, one vault. Failure: a model's mistakes (broken
JSON, unknown tools, wrong arguments, too many calls, a placeholder that cannot be restored) are answered, so
that it can recover. Faults of a provider end the run as `failed` and never raise. Bugs, and a cancelled task,
are raised after the trace is complete.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NoReturn, Protocol

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
    ToolSpec,
    UserMessage,
    problem,
    sanitise,
)
from reverie.llm.trace import AgentOutcome, Trace
from reverie.resources import resource_table
from reverie.text.redact import find_secrets, in_texts
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, astuple, field, replace

EXAMPLE = "{{REVERIE_SECRET_0}}"
"""A token for prompts that explain tokens: it never stands for anything."""

_TOKEN = re.compile(r"\{\{REVERIE_SECRET_(\d{1,9})\}\}")
# Anything that we or a model could mistake for a token, including its form with Markdown escapes.
_LOOK_ALIKE = re.compile(r"\{\{REVERIE_SECRET_\d{1,9}\}\}|reverie[\\_-]{1,3}secret", re.IGNORECASE | re.ASCII)
# A line of text, with the line number that `view` puts in front of it.
_LINE = re.compile(r"(?P<before>[ \t]*(?:\d{1,9}\t)?[ \t]*)(?P<text>[^\n]*?)(?P<after>[^\S\n]*)(?:\n|\Z)")
_LEAST_KNOWN = 6
"""Length from which a secret is hidden everywhere: a shorter one would be found inside ordinary words."""
_ROUNDS = 20
_REMEMBERED_TEXTS = 2_000
_SHOWN_TOKEN_CHARS = 60

_Span = tuple[int, int]


class Vault:
    """The secrets of one run and the tokens that stand for them."""

    def __init__(self) -> None:
        self._originals: list[str] = []
        self._tokens: dict[str, str] = {}
        self._known: dict[str, None] = {}
        self._secrets: dict[str, None] = {}
        # Texts without secrets, each with the number of known secrets then: texts are checked repeatedly.
        self._clean: dict[str, int] = {}

    @property
    def secrets_hidden(self) -> int:
        """Number of different secrets that have a token; each line of a key counts."""
        return len(self._secrets)

    def learn(self, value: Any) -> None:
        """Record the secrets in the texts of a JSON value without using the result.

        For a value that is not sent, or only as JSON text, whose escapes may hide them.
        """
        self.hide_in(value)

    def hide_in(self, value: Any) -> Any:
        """Apply `hide` to every text in a JSON value, including the keys."""
        return in_texts(value, self.hide)

    def hide(self, text: str) -> str:
        """Return `text`, from a memory or prompt, with a token for every secret and every look-alike."""
        # Every look-alike contains this word, and the full pattern is slow on all memories.
        has_word = "secret" in text.lower()
        look_alikes = [match.span() for match in _LOOK_ALIKE.finditer(text)] if has_word else []
        if not look_alikes:
            # Most texts are checked only once, because the result is cached.
            return self._settled(text)
        return self._settled(self._with_tokens(text, [*look_alikes, *self._found(text)], exact=True))

    def scrub(self, text: str) -> str:
        """Return `text`, from a model, which may contain tokens, with tokens for its other secrets."""
        return self._settled(text)

    def restore(self, text: str) -> str:
        """Return `text` with every token replaced by the text that it stands for.

        Raises `StoreError` for an unknown or damaged token.
        """
        pieces: list[str] = []
        position = 0
        for match in _TOKEN.finditer(text):
            pieces += [_plain(text[position : match.start()]), self._original(match)]
            position = match.end()
        return "".join([*pieces, _plain(text[position:])])

    def restore_in(self, value: Any) -> Any:
        """Apply `restore` to every text in a JSON value; its keys must contain no tokens."""
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, list):
            return [self.restore_in(item) for item in value]
        if isinstance(value, dict):
            return {_plain(key): self.restore_in(item) for key, item in value.items()}
        return value

    def holds_token(self, value: Any) -> bool:
        """Return whether a text in a JSON value is or resembles a token."""
        if isinstance(value, str):
            return _LOOK_ALIKE.search(value) is not None
        if isinstance(value, dict):
            return any(self.holds_token(part) for pair in value.items() for part in pair)
        return isinstance(value, list) and any(map(self.holds_token, value))

    def _settled(self, text: str) -> str:
        """Hide all secrets in `text`, whose tokens are all our own, until there are none left.

        The text around a token may then be detected as a secret in turn; its span is extended by the token.
        """
        for _ in range(_ROUNDS):
            if self._clean.get(text) == len(self._known):
                return text
            spans = list(self._found(text))
            if not spans:
                if len(self._clean) >= _REMEMBERED_TEXTS:
                    self._clean.clear()
                self._clean[text] = len(self._known)
                return text
            tokens = [match.span() for match in _TOKEN.finditer(text)]
            touched = [token for token in tokens if any(_overlap(token, span) for span in spans)]
            text = self._with_tokens(text, [*spans, *touched], exact=False)
        return self._token(self._as_it_was(text), secret=True)

    def _found(self, text: str) -> Iterator[_Span]:
        """Yield the spans of secrets, detected or known from elsewhere; none inside a token."""
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        for secret in find_secrets(text):
            if (secret.start, secret.end) not in tokens:
                yield secret.start, secret.end
        present = [re.escape(value) for value in self._known if value in text]
        if present:
            longest_first = re.compile("|".join(sorted(present, key=len, reverse=True)))
            for match in longest_first.finditer(text):
                if not any(_overlap(match.span(), token) for token in tokens):
                    yield match.span()

    def _with_tokens(self, text: str, spans: list[_Span], *, exact: bool) -> str:
        """Return `text` with tokens for the spans.

        `exact`: `text` is the text of a memory; otherwise its tokens are our own.
        """
        pieces: list[str] = []
        position = 0
        for start, end in _united(spans):
            part = text[start:end] if exact else self._as_it_was(text[start:end])
            pieces += [text[position:start], self._hidden(part)]
            position = end
        return "".join([*pieces, text[position:]])

    def _hidden(self, part: str) -> str:
        if _LOOK_ALIKE.fullmatch(part):
            return self._token(part, secret=False)
        if "\n" not in part:
            return self._token(part, secret=True)
        lines = []
        for match in _LINE.finditer(part):
            text = self._token(match["text"], secret=True) if match["text"] else ""
            newline = "\n" if match[0].endswith("\n") else ""
            lines.append(match["before"] + text + match["after"] + newline)
        return "".join(lines)

    def _token(self, original: str, *, secret: bool) -> str:
        if original not in self._tokens:
            self._originals.append(original)
            self._tokens[original] = f"{{{{REVERIE_SECRET_{len(self._originals)}}}}}"
        if secret:
            self._secrets[original] = None
            if len(original) >= _LEAST_KNOWN:
                self._known[original] = None
                self._known[json.dumps(original, ensure_ascii=False)[1:-1]] = None
        return self._tokens[original]

    def _as_it_was(self, text: str) -> str:
        """Restore text that a model may have changed; unknown tokens stay as they are."""
        return _TOKEN.sub(lambda match: self._known_original(match) or match[0], text)

    def _known_original(self, match: re.Match[str]) -> str | None:
        number = int(match[1])
        original = self._originals[number - 1] if 0 < number <= len(self._originals) else None
        return original if original is not None and self._tokens[original] == match[0] else None

    def _original(self, match: re.Match[str]) -> str:
        original = self._known_original(match)
        if original is None:
            raise _unknown(match[0])
        return original


def _plain(text: str) -> str:
    damaged = _LOOK_ALIKE.search(text)
    if damaged is not None:
        start = max(0, damaged.start() - 2)
        raise _unknown(text[start : start + _SHOWN_TOKEN_CHARS])
    return text


def _unknown(shown: str) -> StoreError:
    return StoreError(
        f"The placeholder in {shown!r} stands for nothing.",
        cause=f"Placeholders have the form {EXAMPLE} and stand for text that is withheld.",
        next_step="Copy it exactly as it was shown, or leave it out.",
        reason="placeholder",
    )


def _overlap(one: _Span, other: _Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _united(spans: list[_Span]) -> Iterator[_Span]:
    """Yield the spans in order, overlapping ones merged."""
    current: _Span | None = None
    for start, end in sorted(spans):
        if current is not None and start < current[1]:
            current = current[0], max(current[1], end)
            continue
        if current is not None:
            yield current
        current = start, end
    if current is not None:
        yield current


_MOST_TOKENS = 10**12
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _plausible(usage: TokenUsage | None) -> TokenUsage | None:
    """Return the counts limited to plausible values, whatever a service reports."""
    if usage is None:
        return None
    return TokenUsage(*(min(max(count, 0), _MOST_TOKENS) for count in astuple(usage)))


def decoded(call: ToolCall) -> Any:
    """Return the arguments for the trace and observers: with placeholders; as text if unusable."""
    try:
        return decode_arguments(call.arguments)
    except StoreError:
        return call.arguments


def sanitise_turn(turn: ModelTurn, step: int, call_ids: set[str]) -> ModelTurn:
    """Return the turn without unpaired surrogates and with unique call ids.

    `call_ids` holds the ids of the whole conversation, to which those of the turn are added. Token counts
    become plausible; arguments that cannot be parsed stay as they are.
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
"""Longest wait for a cancelled request; a connection that does not end is left to the event loop's end."""
_LONG_TOKEN = 8
"""The length of the longest tokens, which stand for rows of blanks, in multiples of the usual length."""
_NOT_RUN = "This call was not run: "

_log = logging.getLogger(__name__)


class AgentLimits(Struct, frozen=True):
    """Limits of one run of the loop."""

    max_steps: int
    """Answers of the model."""
    deadline: float
    """On `time.monotonic`'s clock."""
    max_output_tokens: int = 8_192
    """Output tokens per answer, counted by the provider or estimated."""
    max_total_output_tokens: int = 65_536
    """Output tokens of the run, counted by the provider or estimated."""
    attempt_steps: int = 0
    """Answers before `follow_up` is called even if the model makes calls; 0: no such limit."""


class AgentEvent(Struct, frozen=True):
    """One item of progress. Texts and arguments contain placeholders."""

    kind: Literal["text", "tool-begins", "retry", "turn", "tool"]
    """The kind of progress.

    `text`: a piece of the answer, in `text`. `tool-begins`: the model starts a call of `tool`. `retry`: a
    request is repeated, for the reason in `text`. `turn`: an answer is complete; `usage` is that of the run
    so far. `tool`: a call was answered with `text`.
    """
    step: int
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False
    usage: TokenUsage | None = None


class AgentResult(Struct, frozen=True):
    """The result of a run of the loop."""

    outcome: AgentOutcome
    text: str
    """The model's last text, with placeholders."""
    usage: TokenUsage | None
    """None: no answer reported it."""
    steps: int
    error: ProviderError | None
    """The reason of a `failed` outcome, for people."""
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
    """Run the model until it makes no more calls, or a limit ends the run.

    The loop hides the secrets in everything that it sends. `messages` contain memory text as it is; `system`
    contains instructions only, which may explain placeholders (`EXAMPLE`). `cancelled` may raise, which ends
    the run with that exception. `follow_up` gets the text of an answer without calls and returns one more
    message for the model (a new attempt), or None to finish. Pass a `trace` to have it even when a bug ends
    the run.
    """
    run = _Run(
        provider, tools, limits, vault, cancelled, observer, trace or Trace(vault.scrub), answer_schema
    )
    return await run.result(system, messages, follow_up)


class _Stop(Exception):
    """The end of a run, with its outcome."""

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
        """Return one answer of the model, sanitised and recorded in the trace."""
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
        """Return the provider's answer, unless a cancel or the deadline comes first."""
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
        """Answer every call of the turn once; after a stop the remaining calls are not run."""
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
        """Run a call and return its outcome.

        `cut`: the answer ended at its length limit, perhaps in the middle of this call.
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
        """Return the tool and its arguments. Raises `UserError` for errors that the model can correct."""
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
                    cause="What it stands for is withheld text, which belongs inside a memory only.",
                    next_step="Call the tool again without it.",
                    reason="placeholder",
                )
            ready[name] = value
        return ready

    def _give(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Add the answer to a call to the conversation and the trace; `outcome` contains no secrets."""
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
    """Log a bug of a request that was abandoned; its provider errors are ignored."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, UserError):
        _log.error("A cancelled model request failed with %s.", type(error).__name__)


_SHOWN_CHARS = 80
_MAX_DEPTH = 20


class Tool(Protocol):
    """One tool of a run: synchronous and fast, such as a guarded command on the copy that the run edits.

    Errors that a model can correct are results (`ToolOutcome.is_error`) or `UserError`s; any other exception
    is a bug, which ends the run.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def restored(self) -> frozenset[str]:
        """Arguments with memory text: placeholders in them are replaced by the secrets they hide."""

    @property
    def remarks(self) -> frozenset[str]:
        """Arguments in the model's own words, which are only recorded: placeholders in them stay.

        A placeholder in any other argument is an error (in a path it would carry the secret into records).
        """

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Run the call. `arguments` match the schema of `spec`.

        Raises `UserError` for errors that the model can correct.
        """


class FunctionTool(Struct, frozen=True):
    """A tool that calls a function."""

    spec: ToolSpec
    function: Callable[[Mapping[str, Any]], ToolOutcome]
    restored: frozenset[str] = frozenset()
    remarks: frozenset[str] = frozenset()

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Call `function`; the loop reports its `UserError` to the model."""
        return self.function(arguments)


def tool_spec(name: str) -> ToolSpec:
    """Return the description of a tool from `resources/tools.toml`."""
    row = _table()[name]
    return ToolSpec(name, row["description"], row["parameters"])


@cache
def _table() -> dict[str, Any]:
    return resource_table("tools.toml")


def decode_arguments(text: str) -> dict[str, Any]:
    """Return the object that a model sent as arguments; for empty text, an empty one. Raises `StoreError`."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _unusable("They are nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise _unusable(f"They are not JSON: {error.msg} (character {error.pos}).") from None
    except ValueError as error:  # a constant refused below, or more digits than Python converts
        raise _unusable(f"They are not JSON: {str(error)[:_SHOWN_CHARS]}.") from None
    if not isinstance(value, dict):
        raise _unusable("They are JSON, but not an object.")
    _refuse_strange(value, 0)
    return value


def argument_problem(schema: Mapping[str, Any], value: Any, name: str = "") -> str | None:
    """Return a sentence on how `value` violates `schema`; None if it does not.

    `schema` is a JSON schema with `type`, `enum`, `required`, `properties` and `items`. Names that it does
    not contain pass, because the commands accept aliases. A null counts as an absent optional argument.
    """
    shown = name or "The arguments"
    types = schema.get("type")
    allowed = [types] if isinstance(types, str) else list(types or ())
    if allowed and not any(_is(value, kind) for kind in allowed):
        return f"{shown} must be {' or '.join(allowed)}."
    if "enum" in schema and value not in schema["enum"]:
        return f"{shown} must be one of {', '.join(map(str, schema['enum']))}."
    if isinstance(value, dict):
        return _object_problem(schema, value, name)
    if isinstance(value, list) and "items" in schema:
        problems = (argument_problem(schema["items"], item, f"{name}[{at}]") for at, item in enumerate(value))
        return next((problem for problem in problems if problem is not None), None)
    return None


def unknown_tool(name: str, tools: Sequence[Tool]) -> StoreError:
    """Return the error for a tool that does not exist; it lists those that do."""
    known = ", ".join(tool.spec.name for tool in tools) or "none"
    return StoreError(f"There is no tool {name[:_SHOWN_CHARS]!r}.", next_step=f"Available: {known}.")


def _object_problem(schema: Mapping[str, Any], value: Mapping[str, Any], name: str) -> str | None:
    required = schema.get("required", ())
    missing = [key for key in required if value.get(key) is None]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} required."
    properties = schema.get("properties", {})
    for key, below in properties.items():
        if value.get(key) is not None:
            problem = argument_problem(below, value[key], f"{name}.{key}" if name else key)
            if problem is not None:
                return problem
    return None


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer()
    python = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, python[kind])


def _refuse_strange(value: Any, depth: int) -> None:
    """Raise `StoreError` for lone surrogates, which no file can hold, and for deep nesting."""
    if depth > _MAX_DEPTH:
        raise _unusable("They are nested too deeply.")
    if isinstance(value, str) and _SURROGATE.search(value):
        raise _unusable("They hold half of a surrogate pair, which is no text.")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_strange(key, depth + 1)
            _refuse_strange(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _refuse_strange(item, depth + 1)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unusable(cause: str) -> StoreError:
    return StoreError(
        "The arguments cannot be used.",
        cause=cause,
        next_step="Call the tool again with one JSON object.",
        reason="arguments",
    )
