"""What may be asked of an engine: the public methods of a class, by name and signature.

The class is an ordinary typed one (the workbench of a home, whose larger subjects are services of their own,
`timeline.page`). Both ends read the same signatures, so there is no second description of the protocol. A
method whose signature cannot cross the wire is not offered; a test keeps the list of those that are.

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
from dataclasses import dataclass
from typing import Any

from reverie.engine.codec import Coder, WireError, coder

LOCAL = ("progress", "cancel", "check", "client")


@dataclass(frozen=True, slots=True)
class Method:
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
def methods_of(interface: type) -> Mapping[str, Method]:
    """All that can be asked of `interface`, services included, by dotted name."""
    found: dict[str, Method] = {}
    for name in dir(interface):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(interface, name)
        if inspect.isfunction(member):
            with contextlib.suppress(TypeError):  # not for the wire
                found[name] = _method(name, member)
        elif isinstance(member, property | functools.cached_property):
            getter = member.fget if isinstance(member, property) else member.func
            kind = typing.get_type_hints(getter)["return"]
            if is_service(kind):
                inner = methods_of(kind)
                found |= {f"{name}.{each}": method for each, method in inner.items()}
                continue
            with contextlib.suppress(TypeError):  # not for the wire
                found[name] = _property(name, kind)
    return found


def is_service(kind: Any) -> bool:
    """Whether a type is a service that is asked, not a value that crosses the wire."""
    try:
        coder(kind)
    except TypeError:
        return isinstance(kind, type)
    return False


def _property(name: str, kind: Any) -> Method:
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
