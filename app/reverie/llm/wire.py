"""The interface of a wire format, server-sent events, and helpers for reading untrusted answers.

A format (`Wire`) builds the body of a request, and a `ReplyReader`, which builds a `ModelTurn` from the
answer. Connections belong to `llm.transport`.

Pure, except that readers report progress; any thread.
"""

from __future__ import annotations

import ipaddress
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from reverie.agents.reading import as_text
from reverie.llm.provider import FinishReason, ModelRequest, ModelTurn, StreamProgress, ToolCall
from reverie.llm.service_errors import Malformed
from reverie.values import Struct

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(Struct, frozen=True):
    """One server-sent event: its name ("" if none), and its data lines joined by newlines."""

    name: str
    data: str


class EventParser:
    """A parser for server-sent events.

    The bytes may be split anywhere between calls. Lines end in LF, CRLF or CR; invalid UTF-8 becomes U+FFFD.
    Time is linear in the bytes, however they are split. `httpx_sse` is not used, because it cannot
    distinguish a stream that ends inside an event from one that ends after it.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Process `piece`, the next bytes of the stream; return the events that they complete."""
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
        """Return the last event of the stream if the blank line after it is missing, else an empty list.

        This event may be incomplete.
        """
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
    """A builder of a `ModelTurn` from one answer of a service.

    Its methods raise `ServiceRefusal` and `Malformed`. `handed_on`: whether a part of the answer has been
    reported as progress, so that the request must not be repeated. `ended`: whether no more data follows.
    """

    def __init__(self, model: str, progress: Progress) -> None:
        self._model = model
        self._progress = progress
        self.handed_on = False
        """Whether any part of the answer has been reported, so that the request must not be repeated."""
        self.ended = False
        """Whether no further data follows."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the answer is complete; the number of tokens may still follow."""

    @abstractmethod
    def feed(self, event: ServerEvent) -> None:
        """Process the next event of a stream."""

    @abstractmethod
    def whole(self, document: Mapping[str, Any]) -> None:
        """Process `document`, the whole answer of a server that does not stream."""

    @abstractmethod
    def turn(self) -> ModelTurn:
        """Return the answer; call this once it is complete."""

    def _show(self, *, text: str = "", tool_name: str = "") -> None:
        self.handed_on = True
        self._progress(StreamProgress(sanitise(text), sanitise(tool_name)))


class Wire(Protocol):
    """The wire format of one kind of service: how requests are built and answers are read. Sends nothing."""

    @property
    def path(self) -> str:
        """The URL path for requests, below the base URL of the service."""

    @property
    def models_path(self) -> str:
        """The URL path of the service's list of models, below the base URL."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of every request; `key`: the provider's key, None for no key."""

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        """Return the JSON body of a request to `model`.

        `changes`: the names of the changes to make to the usual body, which `adapt` has returned so far.
        """

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        """Return a reader for one answer of `model`; it calls `progress` while the answer arrives."""

    def adapt(self, status: int, words: str) -> str | None:
        """Return the name of a change with which the service may accept the request; None if there is none.

        `status` is the HTTP status of the refusal, `words` its text in lower case. The caller adds the name
        to the `changes` for `body`, which makes the change, and sends the request again.
        """


def sanitise(text: str) -> str:
    """Return `text` without unpaired surrogates, which no file, request or record can contain.

    Two halves that arrived in separate pieces are joined.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def count_of(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first value in `counts` under one of `names` that is an integer of at least 0; else 0."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return 0


def text_or_json(value: Any) -> str:
    """Return the arguments of a tool call as text: a text unchanged, an object as JSON, else ""."""
    return json.dumps(value) if isinstance(value, dict) else as_text(value)


def finish_of(reason: FinishReason, calls: Sequence[ToolCall]) -> FinishReason:
    """Return the reason why an answer ended: "tool-calls" if it has `calls` and `reason` is "stop".

    Some servers report "stop" for an answer with calls. Any other reason is returned unchanged.
    """
    return "tool-calls" if calls and reason == "stop" else reason


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a tool call as an object, because wire formats require one.

    If the model sent something else, the object contains its text, truncated, under `unreadable`.
    """
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unreadable": call.arguments[:2000]}


def safe_name(name: str, fallback: str) -> str:
    """Return a tool name or call id in a form that every service accepts.

    Other characters than ASCII letters, digits, `_` and `-` become `_`, and it is cut off after 64
    characters. `fallback`: the result for an empty name.
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or fallback


_CAP = re.compile(r"at most (\d{1,9})(?!\d)|> (\d{1,9})(?!\d),? which|less than or equal to (\d{1,9})(?!\d)")


def cap_named(words: str) -> str | None:
    """Return `cap:<n>` if `words`, the text of a refusal, names `n`, the maximum number of output tokens.

    None if it names no maximum. The result is the name of a change to the request body, as `Wire.adapt`
    returns it.
    """
    if "max_tokens" not in words and "max_completion_tokens" not in words:
        return None
    found = _CAP.search(words)
    return f"cap:{next(number for number in found.groups() if number)}" if found else None


def capped(tokens: int, changes: frozenset[str]) -> int:
    """Return `tokens`, limited to the smallest `n` of the `cap:<n>` entries in `changes`; at least 1."""
    caps = [int(change.removeprefix("cap:")) for change in changes if change.startswith("cap:")]
    return max(1, min([tokens, *caps]))


def stays_here(url: str) -> bool:
    """Return whether the host of `url` is this machine (localhost or a loopback address)."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin(url: str) -> str:
    """Return scheme, host and port of `url`, such as "http://127.0.0.1:8080".

    Raises `ValueError` if its port or host is invalid.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in `text`; raise `Malformed` for anything else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("sent an event that is not JSON") from None
    if not isinstance(document, dict):
        raise Malformed("sent an event that is not a JSON object")
    return document
