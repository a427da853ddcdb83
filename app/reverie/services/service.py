"""Services of a workbench: each is imported and made when it is first used.

What shows the trees is asked for at once, duplicates or replays perhaps never; so the class of a service is
imported by whoever asks for it first, at either end of the wire.

Threading: two threads may make the same service twice, which is harmless. Failure: none of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class LazyService(Generic[T]):
    """A service as an attribute of a workbench. `load` imports its class, `make` makes one."""

    def __init__(self, load: Callable[[], type[T]], make: Callable[[Any, type[T]], T] | None = None) -> None:
        self.load = load
        self._make = make
        self.__doc__ = load.__doc__
        self._name = ""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, workbench: None, owner: type) -> Self: ...
    @overload
    def __get__(self, workbench: object, owner: type) -> T: ...
    def __get__(self, workbench: Any, owner: type) -> Self | T:
        if workbench is None:
            return self
        kind = self.load()
        made = kind(workbench.parts) if self._make is None else self._make(workbench, kind)  # type: ignore[call-arg]
        # Found from now on without coming here.
        workbench.__dict__[self._name] = made
        return made


def service(load: Callable[[], type[T]]) -> LazyService[T]:
    """The service whose class `load` returns, made with the parts of the home."""
    return LazyService(load)


def service_made_by(make: Callable[[Any, Any], Any]) -> Callable[[Callable[[], type[T]]], LazyService[T]]:
    """The same, made by `make(workbench, class)`."""
    return lambda load: LazyService(load, make)
