"""Requests to an engine that a job awaits instead of blocking a thread.

`ask` makes a `Request` of a remote method. A job awaits the request; the driver of the job posts it and
resumes the job with the result. Nothing of the connection is imported here, so that a window starts quickly.

Threading: a request is posted on the thread of its job; its result arrives on another thread. Failure: an
error of the call is raised where it is awaited; `CallCancelled` after a cancellation.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Ended = Callable[[Any, BaseException | None], None]
"""A callback that gets the result of a call, or its error."""


class CallCancelled(Exception):
    """Raised if a call was cancelled, so that it has no result."""


class Askable:
    """A method that can be called without waiting for its result."""

    def post(self, arguments: tuple[Any, ...], named: dict[str, Any], ended: Ended) -> Callable[[], None]:
        """Call the method and return a function that cancels the call.

        `ended` is called once, on another thread, with the result and None, or with None and the error.
        """
        raise NotImplementedError


_thread = threading.local()


def may_wait() -> bool:
    """Return whether the current thread may wait for the result of a call."""
    return not getattr(_thread, "never_waits", False)


def never_wait() -> None:
    """Forbid the current thread to wait for results, because other work needs the thread."""
    _thread.never_waits = True


class Request(Awaitable[T]):
    """A call of a remote method, to be awaited by a job."""

    def __init__(self, method: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._method: Any = method
        self._arguments = arguments
        self._named = named

    def post(self, ended: Callable[[Any, BaseException | None], None]) -> Callable[[], None]:
        """Call the method as `Askable.post` does; a local method runs at once and calls `ended` directly."""
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
    """Return a request that calls `method` of a remote home or service.

    The arguments `cancel` and `check` are not needed, because the driver of the job cancels the request.
    """
    return Request(method, arguments, named)
