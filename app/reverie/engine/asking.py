"""Calls of an engine that a job awaits instead of blocking a thread.

A job is a coroutine that the window runs. `ask` makes a `Request`: a call of a remote method that is not sent
yet. A job awaits the request. The driver, which is the code that runs the job, then sends the call with
`Request.post` and resumes the job with the result. This module imports nothing of the connection, so that a
window starts quickly.

Threading: the request is sent on the thread of its job; the result arrives on another thread. Failure: an
error of the call is raised in the job, at its `await`; a cancelled call raises `CallCancelled` there.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Ended = Callable[[Any, BaseException | None], None]
"""A callback for the end of a call: it gets the result and None, or None and the error."""


class CallCancelled(Exception):
    """Raised in place of a result if the call was cancelled."""


class Askable:
    """Base class of a callable that can also be called without waiting for its result, with `post`."""

    def post(self, arguments: tuple[Any, ...], named: dict[str, Any], ended: Ended) -> Callable[[], None]:
        """Call the method and return a function that cancels the call.

        `arguments`, `named`: the positional and the named arguments of the call. `ended` is called once, on
        another thread, with the result and None, or with None and the error.
        """
        raise NotImplementedError


_thread = threading.local()


def may_wait() -> bool:
    """Return whether the current thread may wait for results; False once it has called `never_wait`."""
    return not getattr(_thread, "never_waits", False)


def never_wait() -> None:
    """Forbid the current thread to wait for results of calls, for example because it draws the window.

    From now on, a call on this thread that would wait raises `AssertionError`; `ask` and `post` still work.
    """
    _thread.never_waits = True


class Request(Awaitable[T]):
    """A call of a method that is not sent until a job (a coroutine) awaits this request."""

    def __init__(self, method: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._method: Any = method
        self._arguments = arguments
        self._named = named

    def post(self, ended: Callable[[Any, BaseException | None], None]) -> Callable[[], None]:
        """Send the call, and return a function that cancels it.

        `ended` is called once, with the result and None, or with None and the error. For a remote method, it
        is called on another thread. A method of this process is called at once, on this thread: `ended` is
        then called before `post` returns, and cancelling has no effect.
        """
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
    """Return a request that calls `method` of a remote home or service when a job (a coroutine) awaits it.

    Leave out the arguments `cancel` and `check` of the method: the code that runs the job cancels the
    request.
    """
    return Request(method, arguments, named)
