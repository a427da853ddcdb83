"""Asking an engine without waiting: what a job awaits.

`ask` makes a `Request` of a remote method; a job awaits it, and whoever drives the job posts it and goes on
with the answer. Nothing of the connection is imported here, so that a window is quick to start.

Threading: a request is posted on the thread of its job, and answered on another. Failure: what the call
raises is raised where it is awaited; `CallCancelled` once it was cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Ended = Callable[[Any, BaseException | None], None]
"""Takes the result of a call, or what it raised."""


class CallCancelled(Exception):
    """The call was cancelled and has no result."""


class Askable:
    """A method that can be asked without waiting."""

    def post(self, arguments: tuple[Any, ...], named: dict[str, Any], ended: Ended) -> Callable[[], None]:
        """Ask; `ended` is called once, on another thread. What is returned cancels the call."""
        raise NotImplementedError


class _Threads(threading.local):
    """What may be done on this thread."""

    never_waits = False


_threads = _Threads()


def may_wait() -> bool:
    """Whether this thread may wait for an answer."""
    return not _threads.never_waits


def never_wait() -> None:
    """From now on a call that waits for its answer is a bug on this thread, which others need."""
    _threads.never_waits = True


class Request(Awaitable[T]):
    """One thing to ask of an engine: awaited by a job, which goes on with the answer."""

    def __init__(self, method: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._method: Any = method
        self._arguments = arguments
        self._named = named

    def post(self, ended: Callable[[Any, BaseException | None], None]) -> Callable[[], None]:
        """Ask. What is not remote is done at once. As `Askable.post`."""
        method = self._method
        if isinstance(method, Askable):
            return method.post(self._arguments, self._named, ended)
        try:
            value = method(*self._arguments, **self._named)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            ended(None, error)
        else:
            ended(value, None)
        return lambda: None

    def __await__(self) -> Generator[Request[T], T, T]:
        return (yield self)


def ask(method: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> Request[T]:
    """Ask for `method` of a remote home or service without waiting. `cancel` and `check` are not needed:
    whoever drives the request cancels it."""
    return Request(method, arguments, named)
