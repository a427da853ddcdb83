"""The interface to a model service: messages, requests, answers, and errors.

A provider turns one `ModelRequest` into one `ModelTurn`, streaming meanwhile. It retries where that may help,
never longer than `ModelRequest.deadline`, and raises `ProviderError` for everything a person can fix.
Cancelling the task ends the connection at once. Threading: one event loop at a time.

Messages are in no provider's own format: immutable data that providers translate, the loop passes on and
traces record. They never hold a key or a header. Their text has been through the vault (`llm.loop`): it has
placeholders in place of the secrets in memories.

Statuses, a service's messages and broken connections become `ProviderError`s only here, so that no key,
header or memory text gets into a message: a service's own message is shortened, cleared of secrets, and left
out if it quotes the request. Exceptions of the HTTP library are never quoted, because they may contain a
proxy's password.
"""

from __future__ import annotations

import dataclasses
import errno
import ipaddress
import json
import re
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Protocol, get_args
from urllib.parse import urlsplit

from reverie.agents.reading import as_text
from reverie.errors import UserError
from reverie.resources import load_table
from reverie.text.redact import redact
from reverie.values import Struct, field

FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "other"]


class ToolSpec(Struct, frozen=True):
    """The description of a tool for a model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolCall(Struct, frozen=True):
    """One call by a model. `arguments` is the text as received, which need not be JSON."""

    id: str
    name: str
    arguments: str


class UserMessage(Struct, frozen=True):
    """A message to the model: the task, or a reminder."""

    text: str


class AssistantMessage(Struct, frozen=True):
    """A model's answer."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Data that a provider wants back unchanged (signed thinking), by provider name."""


class ToolResult(Struct, frozen=True):
    """The answer to one call; every call of a turn gets exactly one."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolResult


class ToolOutcome(Struct, frozen=True):
    """The answer of a tool."""

    content: str
    is_error: bool = False
    wrote: bool = False
    """Whether a memory was changed (or would be, in a dry run)."""


class TokenUsage(Struct, frozen=True):
    """Tokens as counted by the provider.

    `input` includes `cached_input` (read from the provider's cache) and `cache_write`; `output` includes
    `reasoning`.
    """

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input + other.input,
            self.output + other.output,
            self.cached_input + other.cached_input,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )


class ModelTurn(Struct, frozen=True):
    """One complete answer of a model. `usage` None: the provider did not report it."""

    message: AssistantMessage
    finish: FinishReason
    usage: TokenUsage | None
    model: str


ProviderFault = Literal[
    "unreachable",
    "key",
    "model",
    "refused",
    "rate-limit",
    "overloaded",
    "server",
    "timeout",
    "cut-off",
    "malformed",
    "too-large",
    "settings",
    "redaction",
]


class ProviderError(UserError):
    """A model service that did not give a usable answer.

    `fault` is the kind of failure; title, cause and next step hold no key, no header and no text of a memory.
    """

    reason = "provider"
    fault: ProviderFault

    def __init__(self, fault: ProviderFault, title: str, *, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause=cause, next_step=next_step, reason=f"provider-{fault}")
        self.fault = fault


class ModelRequest(Struct, frozen=True):
    """One request to a model."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_output_tokens: int
    """The maximum length of the answer."""
    deadline: float
    """On `time.monotonic`'s clock."""
    answer_schema: Mapping[str, Any] | None = None
    """The JSON schema for the text of the answer; not every service can enforce it."""


class StreamProgress(Struct, frozen=True):
    """The progress of an answer."""

    text: str = ""
    """The newest piece of text."""
    tool_name: str = ""
    """The name of a tool whose call begins."""
    retry: str = ""
    """A sentence saying that the request is being repeated."""


class Provider(Protocol):
    """One model of one service."""

    @property
    def name(self) -> str:
        """`provider:model`, as in settings and records."""

    @property
    def destination(self) -> str:
        """The scheme, host and port to which text goes; empty if it does not leave this machine.

        A server on this machine that may pass it on counts as a destination.
        """

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        """Return one complete answer. Raises `ProviderError`."""

    async def close(self) -> None:
        """Close the connections."""


_LONGEST_QUOTE = 240
_TELLING = 24
"""Consecutive characters of the request that make a service's message a quotation of it."""


_LEAST_KEY = 8
_WORDS = re.compile(r"(?=.{,23}$)[a-z]+(?:[-_ ][a-z]+)*")


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """The facts about a service and its model that messages need."""

    name: str
    model: str
    host: str
    key_hint: str
    local: bool
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """Values sent as its key, in each form."""

    @property
    def called(self) -> str:
        return f"{self.name} ({self.host})"

    @property
    def telling_secrets(self) -> tuple[str, ...]:
        """The secrets that can only be a key.

        Servers on one's own machine accept any word ("ollama", "none"), which may occur in an answer with its
        ordinary meaning.
        """
        return tuple(each for each in self.secrets if len(each) >= _LEAST_KEY and not _WORDS.fullmatch(each))


class ServiceRefusal(Exception):
    """A request that the service refused, by a status or inside a stream.

    `message` is its own text, not yet fit to be shown; `wait_s` the seconds that it asked to wait.
    """

    def __init__(
        self, status: int, kind: str = "", message: str = "", *, wait_s: float | None = None
    ) -> None:
        super().__init__(status)
        self.status = status
        self.kind = kind
        self.message = message
        self.wait_s = wait_s


class Malformed(Exception):
    """An answer that violates the wire format; the text (ours) says how."""


class ServiceProblem(Exception):
    """A failed attempt.

    `again`: whether another attempt may succeed; `wait_s`: the seconds that the service asked to wait.
    """

    def __init__(self, error: ProviderError, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(error.fault)
        self.error = error
        self.again = again
        self.wait_s = wait_s


class _Rule(Struct, frozen=True):
    """The texts for one kind of problem: templates over a service, its model and further values."""

    fault: ProviderFault
    title: str
    cause: str
    next_step: str
    again: bool = False

    def __post_init__(self) -> None:
        if self.fault not in get_args(ProviderFault):
            raise ValueError(f"no fault of a provider: {self.fault!r}")


@cache
def _rules() -> Mapping[str, _Rule]:
    return {**load_table("refusals.toml", _rules_of), **load_table("model_errors.toml", _rules_of)}


def _rules_of(table: Mapping[str, Any]) -> dict[str, _Rule]:
    return {name: _Rule(**texts) for name, texts in table.items()}


def problem(name: str, /, addition: str = "", **words: object) -> ProviderError:
    """Return the error that the tables have under `name`.

    `addition` is appended to its cause; `words` are the values for its templates.
    """
    rule = _rules()[name]
    return ProviderError(
        rule.fault,
        rule.title.format(**words),
        cause=rule.cause.format(**words) + addition,
        next_step=rule.next_step.format(**words).strip(),
    )


def _error(name: str, service: Service, addition: str = "", **more: object) -> ProviderError:
    """Return the error that the tables have under `name`, for `service`.

    `more`: values for the templates besides those of the service.
    """
    online = "Check the connection, and base_url in the settings."
    start = f"Start the server {service.name}, or correct its base_url in the settings."
    return problem(
        name,
        addition,
        called=service.called,
        model=service.model,
        name=service.name,
        host=service.host,
        key_hint=service.key_hint,
        start=start if service.local else online,
        **more,
    )


_BY_STATUS = {401: "key", 402: "credit", 403: "key", 404: "address", 405: "address", 408: "waited"} | {
    413: "size",
    429: "rate",
    503: "overloaded",
    529: "overloaded",
}
_UNREACHABLE: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "certificate"),
    (ssl.SSLError, "tls"),
    (socket.gaierror, "host-name"),
    (ConnectionRefusedError, "closed-port"),
)
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH)
_TOO_LONG = re.compile(r"context.{0,20}(?:length|window|size)|too many tokens|prompt is too long")
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|not) support(?:ed)? (?:for )?(?:tool|function)"
    r"|no endpoints found that support tool use|tools? (?:is|are) not supported"
    r"|tool.*(?:--jinja|--enable-auto-tool-choice)"
)
_NO_MODEL = re.compile(
    r"model.*(?:not.{0,3}found|does not exist|doesn't exist|not loaded)"
    r"|(?:not find|no such|unknown) model|not a valid model|no endpoints found for"
)


def refusal_error(service: Service, refusal: ServiceRefusal, *, quoted: str = "") -> ServiceProblem:
    """Return the problem for a refusal by the service.

    `quoted`: the request's text, which must not be repeated in a message.
    """
    name = _rule_name(refusal)
    addition = _own_words(service, refusal.message, quoted)
    error = _error(name, service, addition, status=refusal.status)
    return ServiceProblem(error, again=_rules()[name].again, wait_s=refusal.wait_s)


def _rule_name(refusal: ServiceRefusal) -> str:
    status, words = refusal.status, " ".join(refusal.message.lower().split())[:2000]
    if "insufficient_quota" in refusal.kind or "insufficient_quota" in words:
        return "credit"
    if status in {400, 404, 422, 500, 501}:
        if _NO_TOOLS.search(words):
            return "tools"
        if status != 500 and ("model_not_found" in refusal.kind or _NO_MODEL.search(words)):
            return "model"
        if status == 404 and refusal.kind == "not_found_error":
            return "model"
    if status < 500 and status != 429 and _TOO_LONG.search(words):
        return "size"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        return "moved"
    return "server" if status >= 500 else "other"


def malformed_error(service: Service, what: str) -> ProviderError:
    """Return the error for an unusable answer. `what` follows the name of the service: "sent ..."."""
    return _error("malformed", service, what=what)


def too_large_error(service: Service, limit_mib: int) -> ProviderError:
    """Return the error for an answer above the limit of bytes, the rest of which is not read."""
    return _error("long-answer", service, limit_mib=limit_mib)


def cut_off_error(service: Service) -> ProviderError:
    """Return the error for a connection that ended in the middle of an answer."""
    return _error("cut-off", service)


def silence_error(service: Service, idle_s: float) -> ProviderError:
    """Return the error for a service that sent nothing for `idle_s` seconds."""
    return _error("silence", service, idle_s=idle_s)


def deadline_error(service: Service, last: ProviderError | None = None) -> ProviderError:
    """Return the error for a passed time limit; `last` is the last error before it."""
    before = f" Before that: {last.title} {last.cause}" if last else ""
    return _error("deadline", service, before=before)


def patience_error(error: ProviderError, wait_s: float) -> ProviderError:
    """Return the error for a service that asks to wait longer than the time limit allows."""
    return ProviderError(
        error.fault,
        error.title,
        cause=f"{error.cause} The next try, in {wait_s:.0f} s, would be after the time limit.",
        next_step=f"Try again in {max(1, round(wait_s / 60))} min, or choose another model.",
    )


def unreachable_error(service: Service, error: BaseException, *, proxy: bool = False) -> ProviderError:
    """Return the error for a failed connection, from the causes of the HTTP library's exception."""
    return _error("proxy" if proxy else _why_unreachable(list(_causes(error))), service)


def proxy_settings_error(service: Service) -> ProviderError:
    """Return the error for an invalid proxy in the environment: no request was made."""
    return _error("proxy-settings", service)


def address_error(service: Service) -> ProviderError:
    """Return the error for settings from which no request can be made."""
    return _error("request-settings", service)


def redaction_error(service: Service, failed: Sequence[str]) -> ProviderError:
    """Return the error for redaction that fails in this process (`text.redact`): nothing is sent at all."""
    return _error("redaction", service, missed=", ".join(failed))


def web_page_error(service: Service) -> ProviderError:
    """Return the error for HTML instead of an API's answer: a wrong address, or a network's sign-in page."""
    return _error("web-page", service)


def _why_unreachable(causes: list[BaseException]) -> str:
    for kind, name in _UNREACHABLE:
        if any(isinstance(cause, kind) for cause in causes):
            return name
    is_cut_off = any(isinstance(cause, OSError) and cause.errno in _NO_ROUTE for cause in causes)
    return "no-route" if is_cut_off else "no-answer"


def _causes(error: BaseException, depth: int = 0) -> Iterator[BaseException]:
    yield error
    if depth < 8:
        inner = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
        for cause in [error.__cause__, error.__context__, *inner]:
            if cause is not None:
                yield from _causes(cause, depth + 1)


def _own_words(service: Service, message: str, quoted: str) -> str:
    """Return the service's message as an addition to a cause; "" if it must not be shown."""
    text = " ".join(message.split())
    for secret in service.telling_secrets:
        text = text.replace(secret, "…")
    if not text:
        return ""
    text = redact(text)[:_LONGEST_QUOTE]
    for start in range(0, len(text) - _TELLING + 1):
        if text[start : start + _TELLING] in quoted:
            return ""
    return f" It says: “{text}”"


_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(Struct, frozen=True):
    """One event: its name ("" if it has none) and its data lines, joined by newlines."""

    name: str
    data: str


class EventParser:
    """A parser for server-sent events, from bytes that may be split anywhere.

    Lines end in LF, CRLF or CR; invalid UTF-8 becomes U+FFFD. Time is linear in the bytes, however they are
    split. Not `httpx_sse`, because it cannot distinguish a stream that ends inside an event from one that
    ends after it.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that `piece` completes."""
        if not piece:
            return []
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r")
        *ends, rest = _LINE_END.split(piece)
        events = []
        for end in ends:
            line = b"".join([*self._line, end])
            self._line = []
            event = self._take(line)
            if event is not None:
                events.append(event)
        if rest:
            self._line.append(rest)
        return events

    def close(self) -> list[ServerEvent]:
        """Return an event whose blank line is missing at the end of the stream; it may be incomplete."""
        line = b"".join(self._line)
        self._line = []
        last = [self._take(line) if line else None, self._take(b"")]
        return [event for event in last if event is not None]

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._first:
            line = line.removeprefix(_BOM)
            self._first = False
        if not line:
            event = ServerEvent(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None


Progress = Callable[[StreamProgress], None]


class ReplyReader(ABC):
    """A reader that builds a `ModelTurn` from one answer. Raises `ServiceRefusal` and `Malformed`."""

    def __init__(self, model: str, progress: Progress) -> None:
        self._model = model
        self._progress = progress
        self.handed_on = False
        """Whether anything of the answer has been shown."""
        self.ended = False
        """Whether nothing more follows."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the answer is complete, though more (usage) may follow."""

    @abstractmethod
    def feed(self, event: ServerEvent) -> None:
        """Read the next event of a stream."""

    @abstractmethod
    def whole(self, document: Mapping[str, Any]) -> None:
        """Read the answer of a server that does not stream."""

    @abstractmethod
    def turn(self) -> ModelTurn:
        """Return the answer, once complete."""

    def _show(self, *, text: str = "", tool_name: str = "") -> None:
        self.handed_on = True
        self._progress(StreamProgress(sanitise(text), sanitise(tool_name)))


class Wire(Protocol):
    """A wire format of a kind of service. Pure; connections belong to `llm.transport`."""

    @property
    def path(self) -> str:
        """The path for requests, below the base URL."""

    @property
    def models_path(self) -> str:
        """The path of the list of models."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of every request."""

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        """Return the body of a request, with the `changes` that `adapt` has found so far."""

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        """Return a reader for one answer."""

    def adapt(self, status: int, words: str) -> str | None:
        """Return the change of the body that a refusal with this text asks for, or None."""


def sanitise(text: str) -> str:
    """Return `text` without unpaired surrogates, which no file, request or record can hold.

    Two halves that arrived in separate pieces are joined.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def count_of(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first of these counts that is a number, else 0."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return 0


def text_or_json(value: Any) -> str:
    """Return a call's arguments as text: some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict) else as_text(value)


def finish_of(reason: FinishReason, calls: Sequence[ToolCall]) -> FinishReason:
    """Return the reason why an answer ended: some servers report "stop" for a turn with calls."""
    return "tool-calls" if calls and reason == "stop" else reason


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments as the object that wire formats need, even if a model sent something else."""
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unreadable": call.arguments[:2000]}


def safe_name(name: str, fallback: str) -> str:
    """Return a name or id in a form that every service accepts back."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or fallback


_CAP = re.compile(r"at most (\d{1,9})(?!\d)|> (\d{1,9})(?!\d),? which|less than or equal to (\d{1,9})(?!\d)")


def cap_named(words: str) -> str | None:
    """Return the change `cap:<n>` if a service states the maximum number of tokens of an answer."""
    if "max_tokens" not in words and "max_completion_tokens" not in words:
        return None
    found = _CAP.search(words)
    return f"cap:{next(number for number in found.groups() if number)}" if found else None


def capped(tokens: int, changes: frozenset[str]) -> int:
    """Return `tokens`, or the smallest limit among the changes `cap:N`; at least 1."""
    caps = [int(change.removeprefix("cap:")) for change in changes if change.startswith("cap:")]
    return max(1, min([tokens, *caps]))


def stays_here(url: str) -> bool:
    """Return whether `url` is on this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin(url: str) -> str:
    """Return scheme, host and port of `url`. Raises `ValueError` if it is not an address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in `text`. Raises `Malformed`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("sent an event that is not JSON") from None
    if not isinstance(document, dict):
        raise Malformed("sent an event that is not a JSON object")
    return document
