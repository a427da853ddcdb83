"""The methods that an engine offers: the public ones of an ordinary typed class, by name and signature.

The class is the workbench of a home, whose larger subjects are services of their own (`timeline.page`). A
window reads their signatures in `engine.interface`, so that it loads nothing of the engine; mypy and a test
compare them with those of its classes. A method whose signature cannot cross the wire is not offered, nor one
with a type that its module imports for type checkers alone; a test keeps the list of those that are.
Parameters with the names in `LOCAL` do not cross; each end has its own: `progress` is called with what the
call reports; `cancel` is an event, and `check` raises, once the answer is not wanted any more; `client` is
the connection that asks.

Threading: pure. Failure: `WireError` for arguments that the method does not have.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from reverie.engine.codec import decode, encode, require_wirable
from reverie.services import LazyService
from reverie.values import Struct

LOCAL = ("progress", "cancel", "check", "client")


class Method(Struct, frozen=True):
    """One method of an interface, as both ends of the wire know it."""

    name: str
    arguments: type[Struct]
    """The arguments that cross the wire, by name; one that has a default may be absent."""
    local: frozenset[str]
    """The parameters that do not cross, of those in `LOCAL`."""
    order: tuple[str, ...]
    """The names of all parameters, those of `local` included, as they are declared."""
    result: Any
    progress: Any
    """The type hint of the values it reports; None where it reports nothing."""
    is_property: bool = False

    def named(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments by name, local ones included."""
        if len(arguments) > len(self.order):
            raise TypeError(f"{self.name} takes {len(self.order)} arguments")
        return dict(zip(self.order, arguments, strict=False)) | dict(named)

    def pack(self, named: Mapping[str, Any]) -> bytes:
        """Write the arguments that were given. Raises `TypeError` for one that the method does not have."""
        return encode(self.arguments(**named))

    def unpack(self, data: bytes) -> dict[str, Any]:
        """Read the arguments that came over the wire. Raises `WireError`."""
        given = decode(data, self.arguments)
        return {
            name: value
            for name in self.arguments.__struct_fields__
            if (value := getattr(given, name)) is not msgspec.UNSET
        }


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


def is_offered(interface: type, name: str) -> bool:
    """Whether `interface` has the first part of this dotted name. Imports nothing."""
    return hasattr(interface, name.partition(".")[0])


def is_service(interface: type, name: str) -> bool:
    """Whether a dotted name stands for a service, whose own methods are asked for."""
    first, _dot, rest = name.partition(".")
    member = inspect.getattr_static(interface, first, None)
    if not isinstance(member, LazyService):
        return False
    return is_service(member.load(), rest) if rest else True


def _property(name: str, getter: Any) -> Method:
    kind = typing.get_type_hints(getter)["return"]
    require_wirable(kind)
    return Method(name, _arguments(name, ()), frozenset(), (), kind, None, is_property=True)


def _method(name: str, function: Callable[..., Any]) -> Method:
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    named = [each for each in signature.parameters.values() if each.name not in ("self", *LOCAL)]
    local = frozenset(each for each in LOCAL if each in signature.parameters)
    progress = typing.get_args(hints["progress"])[0][0] if "progress" in local else None
    for hint in (*(hints[each.name] for each in named), hints["return"]):
        require_wirable(hint)
    order = tuple(each for each in signature.parameters if each != "self")
    arguments = _arguments(
        name, [(each.name, hints[each.name], each.default is inspect.Parameter.empty) for each in named]
    )
    return Method(name, arguments, local, order, hints["return"], progress)


def _arguments(name: str, parameters: Iterable[tuple[str, Any, bool]]) -> type[Struct]:
    """Make the class of a method's arguments from (name, hint, whether it must be given) of each."""
    fields: list[Any] = [
        (each, hint) if required else (each, hint | msgspec.UnsetType, msgspec.UNSET)
        for each, hint, required in parameters
    ]
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)
