"""The interface to a model service: messages, requests, answers, and errors.

A provider turns one `ModelRequest` into one `ModelTurn`, streaming meanwhile. It retries where that may help,
never longer than `ModelRequest.deadline`, and raises `ProviderError` for everything a person can fix.
Cancelling the task ends the connection at once. Threading: one event loop at a time.
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

# Messages in no provider's own format: immutable data that providers translate, the loop passes on and traces
# record. They never hold a key or a header. Their text has been through the vault (`llm.loop`): it has
# placeholders where the memories have secrets.


FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "other"]


class ToolSpec(Struct, frozen=True):
    """A tool, as described to a model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolCall(Struct, frozen=True):
    """One call a model made. `arguments` is the text as it came, which need not be JSON."""

    id: str
    name: str
    arguments: str


class UserMessage(Struct, frozen=True):
    """What is put to the model: the task, or a reminder."""

    text: str


class AssistantMessage(Struct, frozen=True):
    """A model's answer. `extra` holds what its provider wants back unchanged (signed thinking), by provider
    name.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class ToolResult(Struct, frozen=True):
    """The answer to one call; every call of a turn gets exactly one."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolResult


class ToolOutcome(Struct, frozen=True):
    """What a tool answers. `wrote`: a memory was changed (or would be, in a dry run)."""

    content: str
    is_error: bool = False
    wrote: bool = False


class TokenUsage(Struct, frozen=True):
    """Tokens as the provider counted them. `input` includes `cached_input` (read from the provider's cache)
    and `cache_write`; `output` includes `reasoning`.
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
    """One complete answer of a model. `usage` None: the provider did not say."""

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
    """A model service did not give a usable answer. `fault` says in which way; title, cause and next step
    hold no key, no header and no text of a memory.
    """

    reason = "provider"
    fault: ProviderFault

    def __init__(self, fault: ProviderFault, title: str, *, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause=cause, next_step=next_step, reason=f"provider-{fault}")
        self.fault = fault


class ModelRequest(Struct, frozen=True):
    """One question to a model. `deadline` is on `time.monotonic`'s clock; `max_output_tokens` caps the
    answer. `answer_schema`: the JSON schema that the words of the answer shall follow, for services that can
    be held to one; others are only asked.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_output_tokens: int
    deadline: float
    answer_schema: Mapping[str, Any] | None = None


class StreamProgress(Struct, frozen=True):
    """The answer so far: the newest piece of text, or the name of a tool whose call begins. `retry` says in
    words that the request is being made again.
    """

    text: str = ""
    tool_name: str = ""
    retry: str = ""


class Provider(Protocol):
    """One model of one service."""

    @property
    def name(self) -> str:
        """`provider:model`, as in settings and records."""

    @property
    def destination(self) -> str:
        """Where text goes: scheme, host, port; also of a server on this machine that may hand it on. Empty:
        it does not leave this machine."""

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        """One answer, complete. Raises `ProviderError`."""

    async def close(self) -> None:
        """Let the connections go."""


# Errors of a model service, in words that say what to do. Statuses, a service's messages and broken
# connections become `ProviderError`s only here, so that no key, header or memory text gets into a sentence: a
# service's message is cut short, cleared of secrets, and left out if it quotes the request. Exceptions of the
# HTTP library are never quoted, because they may contain a proxy's password.


_LONGEST_QUOTE = 240
_TELLING = 24
"""So many characters of the request in a row make a service's message a quotation of it."""


_LEAST_KEY = 8
_WORDS = re.compile(r"(?=.{,23}$)[a-z]+(?:[-_ ][a-z]+)*")


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """What sentences need to know of a service and its model."""

    name: str
    model: str
    host: str
    key_hint: str
    local: bool
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """What is sent as its key, in each form."""

    @property
    def called(self) -> str:
        return f"{self.name} ({self.host})"

    @property
    def telling_secrets(self) -> tuple[str, ...]:
        """Those that are nothing but a key. Servers on one's own machine take any word ("ollama", "none"),
        and such a word means in an answer what it means."""
        return tuple(each for each in self.secrets if len(each) >= _LEAST_KEY and not _WORDS.fullmatch(each))


class ServiceRefusal(Exception):
    """A service refused the request, by a status or inside a stream. `message` is its own text, not yet fit
    to be shown; `wait_s` how long it asked to wait.
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
    """The answer violates the wire format; the text (ours) says how."""


class ServiceProblem(Exception):
    """One attempt failed. `again`: whether another may go better; `wait_s`: how long the service asked to
    wait.
    """

    def __init__(self, error: ProviderError, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(error.fault)
        self.error = error
        self.again = again
        self.wait_s = wait_s


class _Rule(Struct, frozen=True):
    """The texts for one kind of problem: templates over a service, its model and what else is known."""

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
    """The error that the tables have under `name`. `addition` follows its cause; `words` are what its
    templates name.
    """
    rule = _rules()[name]
    return ProviderError(
        rule.fault,
        rule.title.format(**words),
        cause=rule.cause.format(**words) + addition,
        next_step=rule.next_step.format(**words).strip(),
    )


def _error(name: str, service: Service, addition: str = "", **more: object) -> ProviderError:
    """The same for an error of `service`. `more`: what the templates name besides the service."""
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
    """`quoted`: the request's text, which must not come back in a sentence."""
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
    """An answer that is no answer. `what` follows the name of the service: "sent ..."."""
    return _error("malformed", service, what=what)


def too_large_error(service: Service, limit_mib: int) -> ProviderError:
    """An answer above the limit of bytes, which is not read on."""
    return _error("long-answer", service, limit_mib=limit_mib)


def cut_off_error(service: Service) -> ProviderError:
    """The connection ended in the middle of an answer."""
    return _error("cut-off", service)


def silence_error(service: Service, idle_s: float) -> ProviderError:
    """Nothing came for `idle_s` seconds."""
    return _error("silence", service, idle_s=idle_s)


def deadline_error(service: Service, last: ProviderError | None = None) -> ProviderError:
    """The time limit is over; `last` is what went wrong on the way."""
    before = f" Before that: {last.title} {last.cause}" if last else ""
    return _error("deadline", service, before=before)


def patience_error(error: ProviderError, wait_s: float) -> ProviderError:
    """The service asks to wait longer than the time limit allows."""
    return ProviderError(
        error.fault,
        error.title,
        cause=f"{error.cause} The next try, in {wait_s:.0f} s, would be after the time limit.",
        next_step=f"Try again in {max(1, round(wait_s / 60))} min, or choose another model.",
    )


def unreachable_error(service: Service, error: BaseException, *, proxy: bool = False) -> ProviderError:
    """Why no connection came about, from the causes of the HTTP library's exception."""
    return _error("proxy" if proxy else _why_unreachable(list(_causes(error))), service)


def proxy_settings_error(service: Service) -> ProviderError:
    """The environment names a proxy that cannot be one: no request was made."""
    return _error("proxy-settings", service)


def address_error(service: Service) -> ProviderError:
    """No request can be made of what the settings say."""
    return _error("request-settings", service)


def redaction_error(service: Service, failed: Sequence[str]) -> ProviderError:
    """Redaction does not work in this process (`text.redact`), so nothing is sent to anybody."""
    return _error("redaction", service, missed=", ".join(failed))


def web_page_error(service: Service) -> ProviderError:
    """HTML where an API was expected: another address, or a network's sign-in page."""
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
    """The service's message as an addition to a cause; "" if none of it may be shown."""
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


# Wire formats of model services: their interface, streams of events, and reading untrusted answers.
#
# A format (`Wire`) makes the body of a request, and a `ReplyReader`, which makes a `ModelTurn` of the answer.
# Connections are the business of `llm.transport`. Pure; any thread.


# Server-sent events from bytes that may be cut anywhere. Not `httpx_sse`, because it cannot tell a stream
# that ends inside an event from one that ends after it. Lines end in LF, CRLF or CR; invalid UTF-8 becomes
# U+FFFD. Time is linear in the bytes, however they are cut.


_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(Struct, frozen=True):
    """One event: its name ("" when it has none) and its data lines, joined by newlines."""

    name: str
    data: str


class EventParser:
    """Bytes in, complete events out."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that `piece` completes."""
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
        """The event that the end of the stream left without its blank line; it may be only half of one."""
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
    """Makes a `ModelTurn` of one answer. Raises `ServiceRefusal` and `Malformed`."""

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
        """Whether the answer is whole, though more (usage) may follow."""

    @abstractmethod
    def feed(self, event: ServerEvent) -> None:
        """The next event of a stream."""

    @abstractmethod
    def whole(self, document: Mapping[str, Any]) -> None:
        """The answer of a server that does not stream."""

    @abstractmethod
    def turn(self) -> ModelTurn:
        """The answer, once complete."""

    def _show(self, *, text: str = "", tool_name: str = "") -> None:
        self.handed_on = True
        self._progress(StreamProgress(sanitise(text), sanitise(tool_name)))


class Wire(Protocol):
    """A wire format, spoken to one kind of service."""

    @property
    def path(self) -> str:
        """Where questions go, below the base URL."""

    @property
    def models_path(self) -> str:
        """Where the models are listed."""

    def headers(self, key: str | None) -> dict[str, str]:
        """What every request carries."""

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        """The question. `changes` are what `adapt` found so far."""

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        """For one answer."""

    def adapt(self, status: int, words: str) -> str | None:
        """The change of the body that a refusal in these words asks for, or None."""


def sanitise(text: str) -> str:
    """`text` without halves of surrogate pairs, which no file, request or record can hold; two halves that
    came in separate pieces make one again.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def count_of(counts: Mapping[str, Any], *names: str) -> int:
    """The first of these counts that is a number."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return 0


def text_or_json(value: Any) -> str:
    """A call's arguments as text: some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict) else as_text(value)


def finish_of(reason: FinishReason, calls: Sequence[ToolCall]) -> FinishReason:
    """Why an answer ended. Some servers say that a turn with calls just stopped."""
    return "tool-calls" if calls and reason == "stop" else reason


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as the object that wire formats want, even if a model sent something else."""
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unreadable": call.arguments[:2000]}


def safe_name(name: str, fallback: str) -> str:
    """A name or id as every service takes it back."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or fallback


_CAP = re.compile(r"at most (\d{1,9})(?!\d)|> (\d{1,9})(?!\d),? which|less than or equal to (\d{1,9})(?!\d)")


def cap_named(words: str) -> str | None:
    """The change `cap:<n>` when a service says how many tokens an answer may have at most."""
    if "max_tokens" not in words and "max_completion_tokens" not in words:
        return None
    found = _CAP.search(words)
    return f"cap:{next(number for number in found.groups() if number)}" if found else None


def capped(tokens: int, changes: frozenset[str]) -> int:
    """`tokens`, or the least that the `changes` named `cap:N` allow; at least 1."""
    caps = [int(change.removeprefix("cap:")) for change in changes if change.startswith("cap:")]
    return max(1, min([tokens, *caps]))


def stays_here(url: str) -> bool:
    """Whether `url` is a place on this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin(url: str) -> str:
    """Scheme, host and port of `url`, without user, password and path. Raises `ValueError` for no address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def json_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in `text`. Raises `Malformed`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("sent an event that is not JSON") from None
    if not isinstance(document, dict):
        raise Malformed("sent an event that is not a JSON object")
    return document
