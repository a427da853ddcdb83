"""What an engine may be asked for: every public method that can cross, and nothing else."""

from __future__ import annotations

import inspect
import typing
from typing import Any

from reverie.engine.engine import EngineServices, HomeEngine
from reverie.engine.wire import coder, method_of, names_of
from reverie.services.workbench import LazyService
from reverie.values import fields_of

# These take or give what only one process has: callables, watchers, readers, models.
NOT_OFFERED = {
    "index_care.follow_rename",
    "models.asking",
    "models.engine",
    "models.provider",
    "parts",
    "traces.dump",
    "watch",
}


def public(kind: type, prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_"):
            continue
        if isinstance(member, LazyService):
            found |= public(member.load(), f"{prefix}{name}.")
        elif inspect.isfunction(member) or isinstance(member, property):
            found.add(f"{prefix}{name}")
    return found


def test_what_is_not_offered_is_known() -> None:
    assert public(HomeEngine) - names_of(HomeEngine) <= NOT_OFFERED
    assert public(EngineServices) - names_of(EngineServices) <= NOT_OFFERED


def test_nothing_private_is_offered() -> None:
    names = names_of(HomeEngine) | names_of(EngineServices)
    assert len(names) > 100
    assert not [name for name in names if any(part.startswith("_") for part in name.split("."))]
    assert method_of(HomeEngine, "__init__") is None
    assert method_of(HomeEngine, "timeline") is None
    assert method_of(HomeEngine, "timeline.no_such_method") is None
    assert method_of(HomeEngine, "parts.home") is None


def test_every_value_that_a_signature_names_can_cross() -> None:
    """The fields of a data class are looked at when its first value crosses; here all are."""
    seen: set[Any] = set()
    stuck: set[str] = set()

    def follow(hint: Any) -> None:
        for inner in typing.get_args(hint):
            if not isinstance(inner, str | int | list) and inner is not ...:
                follow(inner)
        if hint in seen or not isinstance(hint, type):
            return
        seen.add(hint)
        if fields_of(hint) or hasattr(hint, "_fields"):
            for name, inner in typing.get_type_hints(hint).items():
                try:
                    coder(inner)
                except TypeError:
                    stuck.add(f"{hint.__qualname__}.{name}")
                follow(inner)

    for kind in (HomeEngine, EngineServices):
        for name in names_of(kind):
            method = method_of(kind, name)
            assert method is not None
            follow(method.result)
            if method.progress is not None:
                follow(method.progress)
    # How a model is asked is looked up in the engine; nobody asks for it over the wire.
    assert {name for name in stuck if not name.startswith("ModelClient.")} == set()
