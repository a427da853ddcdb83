"""Tools of the agent loop, and the check of a model's arguments against their schema.

Threading: a tool runs in the event loop of its run. Failure: `StoreError` for arguments that a model can
correct.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn, Protocol

from reverie.errors import StoreError
from reverie.llm.provider import (
    ToolOutcome,
    ToolSpec,
)
from reverie.resources import resource_table
from reverie.values import Struct

_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_CHARS = 80
_MAX_DEPTH = 20


class Tool(Protocol):
    """One tool that a run offers to the model.

    A call is synchronous and fast, such as a memory command on the copy that the run edits. An error that the
    model can correct is a result (`ToolOutcome.is_error`) or a `UserError`; any other exception is a bug,
    which ends the run.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def restored(self) -> frozenset[str]:
        """The names of the arguments that become text of a memory.

        Placeholders in them are replaced by the secrets that they stand for.
        """

    @property
    def remarks(self) -> frozenset[str]:
        """The names of the arguments that are the model's own remarks and are only recorded.

        Placeholders for secrets in them are not replaced. A placeholder in an argument that is neither here
        nor in `restored` is an error; in a path, for example, it would put the secret into records.
        """

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Carry out a call; return its outcome.

        `arguments` match the schema of `spec`. Raises `UserError` for errors that the model can correct.
        """


class FunctionTool(Struct, frozen=True):
    """A tool that calls `function` with the arguments of the model; see `Tool` for the other fields."""

    spec: ToolSpec
    function: Callable[[Mapping[str, Any]], ToolOutcome]
    restored: frozenset[str] = frozenset()
    remarks: frozenset[str] = frozenset()

    def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Call `function` with the arguments of the model; return its outcome.

        Raises the errors of `function`; the agent loop catches a `UserError` and answers the model with it.
        """
        return self.function(arguments)


def tool_spec(name: str) -> ToolSpec:
    """Return the description of the tool `name` from `resources/tools.toml`."""
    row = _table()[name]
    return ToolSpec(name, row["description"], row["parameters"])


@cache
def _table() -> dict[str, Any]:
    return resource_table("tools.toml")


def decode_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a tool call, which a model sent as the JSON text `text`; empty for empty text.

    Raises `StoreError` if they are not a JSON object of usable values.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _unusable("They are nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise _unusable(f"They are not JSON: {error.msg} (character {error.pos}).") from None
    except ValueError as error:  # a constant refused below, or more digits than Python converts
        raise _unusable(f"They are not JSON: {str(error)[:_SHOWN_CHARS]}.") from None
    if not isinstance(value, dict):
        raise _unusable("They are JSON, but not an object.")
    _refuse_strange(value, 0)
    return value


def argument_problem(schema: Mapping[str, Any], value: Any, name: str = "") -> str | None:
    """Return a sentence that describes how `value` violates `schema`; None if it does not.

    `name`: the name of the value in the sentence; empty for the arguments as a whole. `schema`: a JSON
    schema, of which `type`, `enum`, `required`, `properties` and `items` are checked. Members that it does
    not name are accepted, because the commands have aliases. A null counts as an absent optional argument.
    """
    shown = name or "The arguments"
    types = schema.get("type")
    allowed = [types] if isinstance(types, str) else list(types or ())
    if allowed and not any(_is(value, kind) for kind in allowed):
        return f"{shown} must be {' or '.join(allowed)}."
    if "enum" in schema and value not in schema["enum"]:
        return f"{shown} must be one of {', '.join(map(str, schema['enum']))}."
    if isinstance(value, dict):
        return _object_problem(schema, value, name)
    if isinstance(value, list) and "items" in schema:
        problems = (argument_problem(schema["items"], item, f"{name}[{at}]") for at, item in enumerate(value))
        return next((problem for problem in problems if problem is not None), None)
    return None


def unknown_tool(name: str, tools: Sequence[Tool]) -> StoreError:
    """Return the error for a call of the tool `name`, which does not exist; it lists the existing `tools`."""
    known = ", ".join(tool.spec.name for tool in tools) or "none"
    return StoreError(f"There is no tool {name[:_SHOWN_CHARS]!r}.", next_step=f"Available: {known}.")


def _object_problem(schema: Mapping[str, Any], value: Mapping[str, Any], name: str) -> str | None:
    required = schema.get("required", ())
    missing = [key for key in required if value.get(key) is None]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} required."
    properties = schema.get("properties", {})
    for key, below in properties.items():
        if value.get(key) is not None:
            problem = argument_problem(below, value[key], f"{name}.{key}" if name else key)
            if problem is not None:
                return problem
    return None


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer()
    python = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, python[kind])


def _refuse_strange(value: Any, depth: int) -> None:
    """Raise `StoreError` for unpaired surrogates, which no file can contain, and for too deep nesting.

    `depth`: the level of `value` in the arguments.
    """
    if depth > _MAX_DEPTH:
        raise _unusable("They are nested too deeply.")
    if isinstance(value, str) and _SURROGATE.search(value):
        raise _unusable("They hold half of a surrogate pair, which is no text.")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_strange(key, depth + 1)
            _refuse_strange(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _refuse_strange(item, depth + 1)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unusable(cause: str) -> StoreError:
    return StoreError(
        "The arguments cannot be used.",
        cause=cause,
        next_step="Call the tool again with one JSON object.",
        reason="arguments",
    )
