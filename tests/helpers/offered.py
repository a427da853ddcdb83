"""The names that an interface offers over the wire."""

from __future__ import annotations

import inspect
from typing import Any, cast

from reverie.engine.methods import method_of
from reverie.services import LazyService


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
