"""The errors of a model service, each with a next step.

Only this module converts statuses, a service's messages and broken connections to `ProviderError`s, which
ensures that no key, header or memory text gets into a message: a service's own message is shortened, secrets
are removed, and it is left out if it quotes the request. Exceptions of the HTTP library are never quoted,
because they may contain a proxy's password. The texts are in `resources/refusals.toml` and
`resources/model_errors.toml`.

Pure; any thread.
"""

from __future__ import annotations

import dataclasses
import errno
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from reverie.llm.provider import ProviderError, ProviderFault
from reverie.resources import load_table
from reverie.text.redact import redact
from reverie.values import Struct

_LONGEST_QUOTE = 240
_TELLING = 24
"""The length in characters from which text that a message shares with the request counts as a quote."""


_LEAST_KEY = 8
_WORDS = re.compile(r"(?=.{,23}$)[a-z]+(?:[-_ ][a-z]+)*")


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """The data about a service and its model that error messages need."""

    name: str
    model: str
    host: str
    key_hint: str
    """A sentence about where to store the service's key."""
    local: bool
    """Whether the service runs on this machine."""
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """The service's key, and the values of the HTTP headers in its settings."""

    @property
    def called(self) -> str:
        return f"{self.name} ({self.host})"

    @property
    def telling_secrets(self) -> tuple[str, ...]:
        """The secrets of the service that are certainly not ordinary words.

        Only these are removed from answers and messages: local servers accept any word as a key ("ollama",
        "none"), and a text may contain such a word with its ordinary meaning.
        """
        return tuple(each for each in self.secrets if len(each) >= _LEAST_KEY and not _WORDS.fullmatch(each))


class ServiceRefusal(Exception):
    """Raised if the service refused a request, with an HTTP status or inside a stream.

    `kind`: the service's own name for the error. `message`: the service's own text, which must be checked
    before it is shown. `wait_s`: the pause in seconds that the service asked for; None if it asked for none.
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
    """Raised if an answer violates the wire format; its text, written by Reverie, describes the violation."""


class ServiceProblem(Exception):
    """Raised if one attempt to get an answer failed; `error` is the error to show.

    `again`: whether another attempt may succeed. `wait_s`: the pause in seconds that the service asked for;
    None if it asked for none.
    """

    def __init__(self, error: ProviderError, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(error.fault)
        self.error = error
        self.again = again
        self.wait_s = wait_s


class _Rule(Struct, frozen=True):
    """The texts for one kind of problem, and whether another attempt may succeed (`again`).

    The texts are templates that are filled in with a service, its model and further values.
    """

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
    """Return the error whose texts have the key `name` in `model_errors.toml` or `refusals.toml`.

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
    """Return the error whose texts have the key `name`, filled in for `service`.

    `addition` is appended to the cause. `more`: values for the templates besides those of the service.
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
    """Return the problem to raise for a refusal by `service`.

    The message quotes the service's own text, unless that text repeats a part of `quoted`, the text of the
    request.
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
    """Return the error for an answer of `service` that violates the wire format.

    `what`: what the service did; it follows the name of the service in a sentence, such as "sent no list of
    models".
    """
    return _error("malformed", service, what=what)


def too_large_error(service: Service, limit_mib: int) -> ProviderError:
    """Return the error for an answer of `service` that is larger than `limit_mib` MiB and was not read."""
    return _error("long-answer", service, limit_mib=limit_mib)


def cut_off_error(service: Service) -> ProviderError:
    """Return the error for a connection to `service` that ended in the middle of an answer."""
    return _error("cut-off", service)


def silence_error(service: Service, idle_s: float) -> ProviderError:
    """Return the error for a service that sent nothing for `idle_s` seconds."""
    return _error("silence", service, idle_s=idle_s)


def deadline_error(service: Service, last: ProviderError | None = None) -> ProviderError:
    """Return the error for a request to `service` that reached the time limit of the run.

    `last`: the last error before that, which is quoted; None if there was none.
    """
    before = f" Before that: {last.title} {last.cause}" if last else ""
    return _error("deadline", service, before=before)


def patience_error(error: ProviderError, wait_s: float) -> ProviderError:
    """Return the error for a service that asks for a pause of `wait_s` seconds, beyond the time limit.

    `error`: the error that would have been retried after the pause.
    """
    return ProviderError(
        error.fault,
        error.title,
        cause=f"{error.cause} The next try, in {wait_s:.0f} s, would be after the time limit.",
        next_step=f"Try again in {max(1, round(wait_s / 60))} min, or choose another model.",
    )


def unreachable_error(service: Service, error: BaseException, *, proxy: bool = False) -> ProviderError:
    """Return the error for a connection to `service` that could not be made.

    `error`: the exception of the HTTP library, whose causes give the reason. `proxy`: whether it was the
    connection to the proxy that failed.
    """
    return _error("proxy" if proxy else _why_unreachable(list(_causes(error))), service)


def proxy_settings_error(service: Service) -> ProviderError:
    """Return the error for invalid proxy settings in the environment; nothing was sent to `service`."""
    return _error("proxy-settings", service)


def address_error(service: Service) -> ProviderError:
    """Return the error for settings of `service` (address, headers) from which no request can be built."""
    return _error("request-settings", service)


def redaction_error(service: Service, failed: Sequence[str]) -> ProviderError:
    """Return the error for a failed self-test of the redaction of secrets; nothing was sent to `service`.

    `failed`: the kinds of planted secrets that the redaction (`text.redact`) did not find.
    """
    return _error("redaction", service, missed=", ".join(failed))


def web_page_error(service: Service) -> ProviderError:
    """Return the error for an HTML page that arrived in place of the answer of `service`.

    Then the address is wrong, or the page is a network's sign-in page.
    """
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
    """Return the service's own message as a sentence to append to a cause; empty if it must not be shown.

    It must not be shown if it repeats a part of `quoted`, the text of the request.
    """
    text = " ".join(message.split())
    for secret in service.telling_secrets:
        text = text.replace(secret, "…")
    if not text:
        return ""
    text = redact(text)[:_LONGEST_QUOTE]
    for start in range(0, len(text) - _TELLING + 1):
        if text[start : start + _TELLING] in quoted:
            return ""
    return f" The service reports: “{text}”"
