"""The methods that an engine offers: the public methods of an ordinary typed class, by name and signature.

The class is the workbench of a home. Its larger subjects are services, which are attributes of it, so a
method has a dotted name such as `timeline.page`. A window reads the signatures from `engine.interface`, so
that it need not import the engine. A method is not offered if its values cannot be sent, or if it uses a type
that its module imports for type checkers only; a test contains the list of all offered methods.

Parameters with the names in `LOCAL` are not sent; each end has its own. `progress` is called with each
progress value. Once the result is no longer wanted, the event `cancel` is set and `check` raises. `client` is
the connection of the caller.

Threading: pure. Failure: `WireError` for arguments that the method does not have.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from reverie.engine.codec import decode, require_wirable
from reverie.services import LazyService
from reverie.values import Struct

LOCAL = ("progress", "cancel", "check", "client")


class Method(Struct, frozen=True):
    """The signature of one method, as both ends of a connection use it."""

    name: str
    arguments: type[Struct]
    """The Struct of the arguments that are sent, by name; one with a default may be absent."""
    local: frozenset[str]
    """The parameters of this method that are not sent: those with a name in `LOCAL`, such as `cancel`."""
    order: tuple[str, ...]
    """The names of all parameters, including `local`, in the order of their declaration."""
    result: Any
    """The type hint of the result."""
    progress: Any
    """The type hint of the values of progress; None if the method reports no progress."""
    is_property: bool = False

    def named(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments of a call by name, including the local ones, which are not sent.

        `arguments`, `named`: the positional and the named arguments. Raises `TypeError` if there are too many
        positional ones.
        """
        if len(arguments) > len(self.order):
            raise TypeError(f"{self.name} takes {len(self.order)} arguments")
        return dict(zip(self.order, arguments, strict=False)) | dict(named)

    def unpack(self, data: bytes) -> dict[str, Any]:
        """Decode the arguments of a call; return them by name. Raises `WireError` if they do not fit."""
        given = decode(data, self.arguments)
        return {
            name: value
            for name in self.arguments.__struct_fields__
            if (value := getattr(given, name)) is not msgspec.UNSET
        }


@functools.cache
def method_of(interface: type, name: str) -> Method | None:
    """Return the signature of the method `name`; None if `interface` does not offer it.

    `name` is dotted if the method belongs to a service, as in `timeline.page`. Of the services, only those in
    `name` are imported.
    """
    first, _dot, rest = name.partition(".")
    member = None if first.startswith("_") else inspect.getattr_static(interface, first, None)
    if rest:
        return method_of(member.load(), rest) if isinstance(member, LazyService) else None
    # These are not offered: types that cannot be sent, or that are imported for type checkers only.
    with contextlib.suppress(TypeError, NameError):
        if inspect.isfunction(member):
            return _method(first, member)
        if isinstance(member, property | functools.cached_property):
            getter: Any = member.fget if isinstance(member, property) else member.func
            return _method(first, getter, is_property=True)
    return None


def is_service(interface: type, name: str) -> bool:
    """Return whether the dotted `name` names a service of `interface`, not a method."""
    first, _dot, rest = name.partition(".")
    member = inspect.getattr_static(interface, first, None)
    if not isinstance(member, LazyService):
        return False
    return is_service(member.load(), rest) if rest else True


def _method(name: str, function: Callable[..., Any], *, is_property: bool = False) -> Method:
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters
    named = [each for each in parameters.values() if each.name not in ("self", *LOCAL)]
    local = frozenset(each for each in LOCAL if each in parameters)
    progress = typing.get_args(hints["progress"])[0][0] if "progress" in local else None
    for hint in (*(hints[each.name] for each in named), hints["return"]):
        require_wirable(hint)
    order = tuple(each for each in parameters if each != "self")
    fields: list[Any] = [
        (each.name, hints[each.name])
        if each.default is inspect.Parameter.empty
        else (each.name, hints[each.name] | msgspec.UnsetType, msgspec.UNSET)
        for each in named
    ]
    arguments = msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)
    return Method(name, arguments, local, order, hints["return"], progress, is_property)
