"""What both wire formats share: the interface of a format, and how text and numbers of strangers are read.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from reverie.agent.messages import ToolCall
from reverie.agent.provider import ModelRequest, StreamProgress
from reverie.agent.transport import Reader

Progress = Callable[[StreamProgress], None]


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

    def reader(self, model: str, progress: Progress) -> Reader:
        """For one answer."""

    def adapt(self, status: int, words: str) -> str | None:
        """The change of the body that a refusal in these words asks for, or None."""


def sound(text: str) -> str:
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
