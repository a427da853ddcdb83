"""The one agent loop: a model, guarded tools and limits in; one result and a trace out. Secrets of memory
text stay here: what goes to a model holds placeholders in their place.

Every kind of run that a model does is this loop with a prompt, tools and a guard of its own. Invariants, each
enforced here: exactly one outcome; every tool call gets exactly one answer, in order; no text leaves without
having been through the vault, and no placeholder reaches a tool; nothing goes on past the deadline, the
steps, the output allowed or a cancel, which is looked for every 50 ms beside the model's task and ends that
task at once.

`Vault.hide` replaces every secret that `text.redact` knows by a token such as `{{REVERIE_SECRET_3}}`;
`restore` puts the secrets back into what a model wants written. One vault serves one run: the same secret has
the same token throughout, and a secret once seen is hidden wherever it turns up again, also without the name
or header that gave it away (`learn` the memories first, so that a view of half a key is covered too).
Invariants, each with a test: `restore(hide(text)) == text` for every text, also one that looks like a token
(look-alikes get a token of their own); `find_secrets(hide(text))` is empty; `restore` gives exact text or
raises, so that no placeholder is ever written into a memory. A secret of several lines is hidden line by
line, line numbers in front of it left out, so that every line of a numbered view restores to the line in the
file.

Threading: one event loop, tools run in it; one run, one vault. Failure: what a model does wrong (broken JSON,
unknown tools, wrong arguments, too many calls, a placeholder that cannot be restored) is answered, so that it
can recover. Faults of a provider end the run as `failed` and never raise. Bugs, and a cancelled task, are
raised after the trace is complete.
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

# The vault of one run.


EXAMPLE = "{{REVERIE_SECRET_0}}"
"""For prompts that explain tokens: it has the form of one and never stands for anything."""

_TOKEN = re.compile(r"\{\{REVERIE_SECRET_(\d{1,9})\}\}")
# Anything that could be taken for a token, by us or by a model; also as Markdown escapes it.
_LOOK_ALIKE = re.compile(r"\{\{REVERIE_SECRET_\d{1,9}\}\}|reverie[\\_-]{1,3}secret", re.IGNORECASE | re.ASCII)
# What `view` puts before a line.
_LINE = re.compile(r"(?P<before>[ \t]*(?:\d{1,9}\t)?[ \t]*)(?P<text>[^\n]*?)(?P<after>[^\S\n]*)(?:\n|\Z)")
# A shorter value would be found inside ordinary words.
_LEAST_KNOWN = 6
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
        # Texts without secrets -> how many were known then: the same text is asked for again and again.
        self._clean: dict[str, int] = {}

    @property
    def secrets_hidden(self) -> int:
        """How many different secrets (lines of keys count one by one) have a token."""
        return len(self._secrets)

    def learn(self, value: Any) -> None:
        """Remember the secrets in the texts of a JSON value, which is not sent itself, or only as JSON, whose
        escapes may hide them.
        """
        self.hide_in(value)

    def hide_in(self, value: Any) -> Any:
        """`hide` for every text in a JSON value, names of fields too."""
        return in_texts(value, self.hide)

    def hide(self, text: str) -> str:
        """`text`, as it stands in a memory or prompt, with a token for every secret and every look-alike."""
        # Nothing looks like a token without this word, and to search in all memories for the rest takes long.
        has_word = "secret" in text.lower()
        look_alikes = [match.span() for match in _LOOK_ALIKE.finditer(text)] if has_word else []
        if not look_alikes:
            # One look at most texts: as good as scrubbed, and remembered as such.
            return self._settled(text)
        return self._settled(self._with_tokens(text, [*look_alikes, *self._found(text)], exact=True))

    def scrub(self, text: str) -> str:
        """`text` that comes from a model, and may hold tokens, with one for every secret besides."""
        return self._settled(text)

    def restore(self, text: str) -> str:
        """`text` with every token replaced by what it stands for. Raises `StoreError` for a token that is
        unknown or damaged.
        """
        pieces: list[str] = []
        position = 0
        for match in _TOKEN.finditer(text):
            pieces += [_plain(text[position : match.start()]), self._original(match)]
            position = match.end()
        return "".join([*pieces, _plain(text[position:])])

    def restore_in(self, value: Any) -> Any:
        """`restore` for every text in a JSON value; its keys must hold no tokens."""
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, list):
            return [self.restore_in(item) for item in value]
        if isinstance(value, dict):
            return {_plain(key): self.restore_in(item) for key, item in value.items()}
        return value

    def holds_token(self, value: Any) -> bool:
        """Whether a text in a JSON value is, or looks like, a token."""
        if isinstance(value, str):
            return _LOOK_ALIKE.search(value) is not None
        if isinstance(value, dict):
            return any(self.holds_token(part) for pair in value.items() for part in pair)
        return isinstance(value, list) and any(map(self.holds_token, value))

    def _settled(self, text: str) -> str:
        """`text`, whose tokens are ours, with all secrets hidden. What a token leaves beside it may come out
        as a secret in its turn; such a span takes the token in.
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
        """Spans of secrets by their form, and of those known from elsewhere; none inside a token."""
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
        """`exact`: `text` is as the memory has it; else its tokens are ours."""
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
        """`restore` for text that a model had a hand in: what is no token of ours stays as it is."""
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
    """Overlapping spans as one, in order."""
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


# The loop.


# Sanitises what a model sent: no half characters, calls with ids of their own, plausible token counts.
# Arguments that cannot be parsed stay as they are.


_MOST_TOKENS = 10**12
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _plausible(usage: TokenUsage | None) -> TokenUsage | None:
    """Counts that can be added up and written down, whatever a service says."""
    if usage is None:
        return None
    return TokenUsage(*(min(max(count, 0), _MOST_TOKENS) for count in astuple(usage)))


def decoded(call: ToolCall) -> Any:
    """The arguments as the trace and observers see them: with placeholders; as text where unusable."""
    try:
        return decode_arguments(call.arguments)
    except StoreError:
        return call.arguments


def sanitise_turn(turn: ModelTurn, step: int, call_ids: set[str]) -> ModelTurn:
    """The turn without half characters, its calls with ids that are unique in the whole conversation;
    `call_ids` are those that it has, and get those of the turn.
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
# A connection that does not let go is left to the event loop's end; a person is not kept waiting for it.
_GRACE_S = 0.1
# Times the usual length of a token: the longest there are stand for rows of blanks.
_LONG_TOKEN = 8
_NOT_RUN = "This call was not run: "

_log = logging.getLogger(__name__)


class AgentLimits(Struct, frozen=True):
    """`max_steps`: answers of the model, `attempt_steps` those before `follow_up` is asked whatever the model
    does (0: no such limit). `deadline` is on `time.monotonic`'s clock. Output tokens are counted
    by the provider, or estimated where it does not count.
    """

    max_steps: int
    deadline: float
    max_output_tokens: int = 8_192
    max_total_output_tokens: int = 65_536
    attempt_steps: int = 0


class AgentEvent(Struct, frozen=True):
    """Progress. `text`: a piece of the answer in `text`; `tool-begins`: the model starts a call of `tool`;
    `retry`: why a request is made again; `turn`: an answer is complete, `usage` is that of the run so far;
    `tool`: a call was answered with `text`. Texts and arguments hold placeholders.
    """

    kind: Literal["text", "tool-begins", "retry", "turn", "tool"]
    step: int
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False
    usage: TokenUsage | None = None


class AgentResult(Struct, frozen=True):
    """`text`: the last words of the model, with placeholders. `usage` None: no answer said. `error`: what a
    person is told of a `failed` run.
    """

    outcome: AgentOutcome
    text: str
    usage: TokenUsage | None
    steps: int
    error: ProviderError | None
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
    """Let the model work until it makes no more calls, or a limit ends it.

    The loop hides the secrets of what it sends. `messages` are as the memories have them; `system` holds
    instructions only, which may explain placeholders (`vault.EXAMPLE`).
    `cancelled` may raise, which ends the run with that exception. `follow_up` gets the words of an answer
    without calls and returns one more thing to say to the model (a new attempt), or None to be done. Give a
    `trace` to have it also when a bug ends the run.
    """
    run = _Run(
        provider, tools, limits, vault, cancelled, observer, trace or Trace(vault.scrub), answer_schema
    )
    return await run.result(system, messages, follow_up)


class _Stop(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: AgentOutcome, error: ProviderError | None = None) -> None:
        super().__init__(outcome)
        self.outcome: AgentOutcome = outcome
        self.error = error


class _Run:
    """One `run_agent`."""

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
        """One answer of the model, sanitised and recorded in the trace."""
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
        """The provider's answer, unless a cancel or the deadline comes first."""
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
        """Every call of the turn gets its one answer; after a stop the rest are answered without running."""
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
        """`cut`: the answer ended at its length limit, perhaps in the middle of this call."""
        self._trace.call_begins()
        try:
            tool, arguments = self._prepared(call)
        except UserError as error:
            hint = " Your answer was cut at its length limit: do it in smaller pieces." if cut else ""
            # Our own words on the model's: placeholders in them are tokens, not text of a memory.
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
        """The tool and its arguments. Raises `UserError` for what the model can correct."""
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
        """`outcome` holds no secrets by now."""
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
        # A service that counts wrongly or lies must not flood us: no token stands for that many characters.
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
    """For a request that was given up: its provider error is ignored, a bug is still logged."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, UserError):
        _log.error("A cancelled model request failed with %s.", type(error).__name__)


# Tools as the loop knows them: a description for the model, and a function behind a check.
#
# What a model sends is text from outside: `decode_arguments` makes an object of it or says what is wrong, and
# `argument_problem` compares it with the tool's own JSON schema (types, required names, fixed choices; names
# that the schema does not know pass, because the commands accept aliases). A tool is synchronous and cheap: a
# guarded command on the copy that a run works on.
#
# Failure: everything a model can mend is an error result (`ToolOutcome.is_error`), never an exception; a tool
# that raises anything but `UserError` has a bug, which ends the run.


_SHOWN_CHARS = 80
_MAX_DEPTH = 20


class Tool(Protocol):
    """One tool of a run."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def restored(self) -> frozenset[str]:
        """Arguments that carry memory text: placeholders in them are replaced by the secrets they hide."""

    @property
    def remarks(self) -> frozenset[str]:
        """Arguments in the model's own words, which are recorded and written nowhere: placeholders stay. One
        in any other argument (a path would carry the secret into records) is an error."""

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Execute the call. `arguments` fit the schema of `spec`. Raises `UserError` for what the model can
        correct.
        """


class FunctionTool(Struct, frozen=True):
    """A tool made of a function."""

    spec: ToolSpec
    function: Callable[[Mapping[str, Any]], ToolOutcome]
    restored: frozenset[str] = frozenset()
    remarks: frozenset[str] = frozenset()

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """What `function` does; what it raises, the loop tells the model."""
        return self.function(arguments)


def tool_spec(name: str) -> ToolSpec:
    """A tool as `resources/tools.toml` describes it."""
    row = _table()[name]
    return ToolSpec(name, row["description"], row["parameters"])


@cache
def _table() -> dict[str, Any]:
    return resource_table("tools.toml")


def decode_arguments(text: str) -> dict[str, Any]:
    """The object that a model sent as arguments; nothing at all is an empty one. Raises `StoreError`."""
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
    """What is wrong with `value` as `schema` (a JSON schema: `type`, `enum`, `required`, `properties`,
    `items`) describes it, as a sentence; None when nothing is. A null stands for an absent optional
    argument.
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
    """The refusal of a tool that the model made up; it names those there are."""
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
    """Refuse lone surrogates, which no file can hold, and deep nesting."""
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
