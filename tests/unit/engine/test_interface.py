"""What an engine may be asked for: every public method that can cross, and nothing else."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import reverie
from helpers.offered import names_of
from reverie.agents.scopes import ScopeContext
from reverie.engine.codec import decode, encode, require_wirable
from reverie.engine.engine import EngineServices, HomeEngine
from reverie.engine.interface import EngineCalls, HomeCalls
from reverie.engine.methods import Method, is_service, method_of
from reverie.services import LazyService
from reverie.services.views import FieldChange, Undo
from reverie.values import fields_of

# These take or give what only one process has: callables, watchers, readers, models.
NOT_OFFERED = {
    "edits.as_one",
    "index_care.follow_rename",
    "models.asking",
    "models.engine",
    "models.provider",
    "parts",
    "traces.dump",
    "watch",
}


def arguments(method: Method) -> tuple[tuple[str, Any, bool], ...]:
    return tuple((each.name, each.type, each.required) for each in msgspec.structs.fields(method.arguments))


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
                    require_wirable(inner)
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


@pytest.mark.parametrize(("first", "whole"), [(HomeCalls, HomeEngine), (EngineCalls, EngineServices)])
def test_what_a_window_asks_first_is_asked_as_the_engine_understands_it(first: type, whole: type) -> None:
    names = {name for name in vars(first) if not name.startswith("_")}
    assert len(names) > 5
    for name in names:
        here, there = method_of(first, name), method_of(whole, name)
        if here is None:
            assert is_service(first, name)
            assert first.__dict__[name] is inspect.getattr_static(whole, name)
            continue
        assert there is not None
        assert (arguments(here), here.result, here.progress, here.is_property) == (
            arguments(there),
            there.result,
            there.progress,
            there.is_property,
        )
        assert here.local == there.local - {"client"}
        assert [each for each in there.order if each != "client"] == list(here.order)


def test_all_that_the_engine_itself_is_asked_has_a_signature_of_its_own() -> None:
    assert names_of(EngineCalls) == names_of(EngineServices)


@pytest.mark.parametrize(
    "file", sorted((Path(reverie.__file__).parent / "ui").rglob("*.py")), ids=lambda file: file.stem
)
def test_a_window_asks_an_open_home_for_what_has_a_signature(file: Path) -> None:
    """Else it would load the engine to ask. The two exceptions are asked seldom, on tabs of their own."""
    asked = set(re.findall(r"workbench\.([a-z_]+)", file.read_text()))
    assert asked - {"restore", "gather_context"} <= set(dir(HomeCalls))


def test_what_a_window_asks_first_loads_nothing_of_the_engine() -> None:
    script = (
        "import sys; from pathlib import Path; from reverie.engine.client import EngineClient;"
        "home = EngineClient(None).home(Path('/home'), 'id');"
        "[getattr(home, name) for name in ('refresh', 'names', 'context', 'status', 'read', 'save', 'runs')];"
        "print('reverie.engine.engine' in sys.modules); home.gather_context;"
        "print('reverie.engine.engine' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"


def test_nothing_private_is_taken_for_a_method_on_a_thread_that_never_waits() -> None:
    script = (
        "from pathlib import Path; from reverie.engine.asking import never_wait;"
        "from reverie.engine.client import EngineClient; never_wait();"
        "home = EngineClient(None).home(Path('/home'), 'id');"
        "print(hasattr(home, '__deepcopy__'), hasattr(home.drafts, '_read'), hasattr(home.drafts, 'offered'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False True\n"


def test_a_field_that_a_record_did_not_have_crosses_with_its_undo() -> None:
    change = FieldChange("episode.json", ("resolution",), "found", None, is_there=False)
    undo = Undo(ScopeContext(None, "/p"), "/memories/project/x", (change,), "Took it back.")
    assert decode(encode(undo), Undo) == undo
