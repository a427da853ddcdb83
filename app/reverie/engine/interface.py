"""What may be asked of an engine: the public methods of a class, by name and signature.

The class is an ordinary typed one (the workbench of a home, whose larger subjects are services of their own,
`timeline.page`). Both ends read the same signatures, so there is no second description of the protocol. A
method whose signature cannot cross the wire is not offered, nor one with a type that its module imports for
type checkers alone; a test keeps the list of those that are.

Parameters with these names do not cross the wire; each end has its own: `progress` is called with what the
call reports; `cancel` is an event, and `check` raises, once the answer is not wanted any more; `client` is
the connection that asks.

Threading: pure. Failure: `WireError` for arguments that do not fit.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from reverie.engine.codec import Coder, WireError, coder
from reverie.services.service import LazyService
from reverie.values import Struct

LOCAL = ("progress", "cancel", "check", "client")


class Method(Struct, frozen=True):
    """One method of an interface. `progress`: the coder of what it reports; None where it reports nothing."""

    name: str
    parameters: Mapping[str, Coder]
    required: frozenset[str]
    """Those of `parameters` that have no default, so that they must come."""
    local: frozenset[str]
    order: tuple[str, ...]
    """The names of all parameters, those of `local` included, as they are declared."""
    result: Any
    progress: Any
    is_property: bool = False

    def named(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, local ones included."""
        if len(arguments) > len(self.order):
            raise TypeError(f"{self.name} takes {len(self.order)} arguments")
        return dict(zip(self.order, arguments, strict=False)) | dict(named)

    def bound(self, named: Mapping[str, Any]) -> list[Any]:
        """Arguments as they go over the wire: `[name, value]` each, those with a default only if given."""
        return [[name, self.parameters[name].dump(value)] for name, value in named.items()]

    def unbound(self, plain: Any) -> dict[str, Any]:
        """The arguments by name that came over the wire. Raises `WireError`."""
        if type(plain) is not list:
            raise WireError("a list of arguments expected")
        found = {}
        for item in plain:
            if type(item) is not list or len(item) != 2 or item[0] not in self.parameters:
                raise WireError(f"an argument that {self.name} does not have")
            found[item[0]] = self.parameters[item[0]].load(item[1])
        if missing := self.required - found.keys():
            raise WireError(f"{self.name} lacks {min(missing)}")
        return found


@functools.cache
def method_of(interface: type, name: str) -> Method | None:
    """What is asked for by a dotted name; None where `interface` does not offer it. Only what is on the way
    to it is imported."""
    first, _dot, rest = name.partition(".")
    member = None if first.startswith("_") else inspect.getattr_static(interface, first, None)
    if rest:
        return method_of(cast(Any, member.load()), rest) if isinstance(member, LazyService) else None
    # Not for the wire: values of a kind that has no coder, or one that is imported for type checkers alone.
    with contextlib.suppress(TypeError, NameError):
        if inspect.isfunction(member):
            return _method(first, member)
        if isinstance(member, property | functools.cached_property):
            return _property(first, member.fget if isinstance(member, property) else member.func)
    return None


def is_service(interface: type, name: str) -> bool:
    """Whether a dotted name stands for a service, whose own methods are asked for."""
    first, _dot, rest = name.partition(".")
    member = inspect.getattr_static(interface, first, None)
    if not isinstance(member, LazyService):
        return False
    return is_service(member.load(), rest) if rest else True


def names_of(interface: type) -> frozenset[str]:
    """Everything that is offered, by dotted name. Imports all of it."""
    found: set[str] = set()
    for name in dir(interface):
        member = inspect.getattr_static(interface, name)
        if isinstance(member, LazyService):
            found |= {f"{name}.{each}" for each in names_of(member.load())}
        elif method_of(cast(Any, interface), name) is not None:
            found.add(name)
    return frozenset(found)


def _property(name: str, getter: Any) -> Method:
    kind = typing.get_type_hints(getter)["return"]
    coder(kind)
    return Method(name, {}, frozenset(), frozenset(), (), kind, None, is_property=True)


def _method(name: str, function: Callable[..., Any]) -> Method:
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    named = [each for each in signature.parameters.values() if each.name not in ("self", *LOCAL)]
    local = frozenset(each for each in LOCAL if each in signature.parameters)
    progress = typing.get_args(hints["progress"])[0][0] if "progress" in local else None
    parameters = {each.name: coder(hints[each.name]) for each in named}
    required = frozenset(each.name for each in named if each.default is inspect.Parameter.empty)
    coder(hints["return"])
    order = tuple(each for each in signature.parameters if each != "self")
    return Method(name, parameters, required, local, order, hints["return"], progress)
