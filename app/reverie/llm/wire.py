"""Wire formats of model services: their interface, streams of events, and reading untrusted answers.

A format (`Wire`) makes the body of a request, and a `ReplyReader`, which makes a `ModelTurn` of the answer.
Connections are the business of `llm.transport`. Pure; any thread.
"""

from __future__ import annotations

import ipaddress
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from reverie.llm.provider import FinishReason, Malformed, ModelRequest, ModelTurn, StreamProgress, ToolCall

# Server-sent events from bytes that may be cut anywhere. Not `httpx_sse`, because it cannot tell a stream
# that ends inside an event from one that ends after it. Lines end in LF, CRLF or CR; invalid UTF-8 becomes
# U+FFFD. Time is linear in the bytes, however they are cut.


_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
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
    """`text` without halves of surrogate pairs; two halves that came in separate pieces make one again."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_of(value: Any) -> str:
    """A piece of text; whatever else a server puts there counts as none."""
    return value if isinstance(value, str) else ""


def mapping_of(value: Any) -> Mapping[str, Any]:
    """`value` where it is a JSON object, else an empty one: what strangers send may be of any kind."""
    return value if isinstance(value, dict) else {}


def count_of(counts: Mapping[str, Any], *names: str) -> int:
    """The first of these counts that is a number."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return 0


def text_or_json(value: Any) -> str:
    """A call's arguments as text: some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict) else text_of(value)


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


def cap_named(words: str) -> str | None:
    """The change `cap:<n>` when a service says how many tokens an answer may have at most."""
    if "max_tokens" not in words and "max_completion_tokens" not in words:
        return None
    found = re.search(r"at most (\d+)|> (\d+),? which|less than or equal to (\d+)", words)
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
