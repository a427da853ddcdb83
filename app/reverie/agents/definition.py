"""Parser of an agent's definition file, `<home>/agents/<id>.md`.

Such a file is YAML front matter and a prompt (formats/mux.md section 10). It is read as by the agent: a byte
order mark is dropped, CRLF becomes LF, the first line is `---`, a closing `---` is required, unknown keys are
ignored, a known key of the wrong type invalidates the whole file.

Pure. Failure: `StoreError` with the reason; the caller then uses its built-in prompt and reports the problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reverie.errors import StoreError
from reverie.text.summaries import utf16_length
from reverie.values import Struct

MAX_BYTES = 1 << 20
# Ours, not the agent's: parsing costs seconds for each megabyte, and real ones have a few hundred characters.
_FRONT_CHARS = 65_536
_NAME_UNITS = 128
_DESCRIPTION_UNITS = 1024
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+)"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# Key -> type of its value.
_SCHEMA: Mapping[str, Any] = {
    "name": str,
    "description": str,
    "base": str,
    "disabled": bool,
    "ui": {"hidden": bool, "color": str},
    "prompt": {"append": bool},
    "subagent": {"runnable": bool},
    "ai": {"model": str, "thinkingLevel": str},
    "tools": {"add": list, "remove": list, "require": list},
}
_WORDS = {str: "text", bool: "true or false", list: "a list of texts", dict: "a mapping"}


class AgentDefinition(Struct, frozen=True):
    """The content of one agent definition file: the values in its front matter, and the prompt.

    The fields are named after the keys of the file; for example, `tools_add` is `tools.add`. A key that the
    file does not set is None, empty or False.
    """

    name: str
    body: str
    """The prompt: the text of the file below the front matter."""
    description: str | None = None
    base: str | None = None
    disabled: bool = False
    model: str | None = None
    thinking_level: str | None = None
    prompt_append: bool | None = None
    tools_add: tuple[str, ...] = ()
    tools_remove: tuple[str, ...] = ()
    tools_require: tuple[str, ...] = ()


def parse_agent_definition(data: bytes) -> AgentDefinition:
    """Return the agent definition in `data`, the bytes of its file.

    Raises `StoreError` for a definition that cannot be used, also if the prompt is empty.
    """
    front, body = _parts(data)
    fields = _front_matter(front)
    _check(fields, _SCHEMA, "")
    name, description = fields.get("name"), fields.get("description")
    if name is None:
        raise _malformed("The agent definition has no name.")
    _check_length("name", name, _NAME_UNITS)
    if description is not None:
        _check_length("description", description, _DESCRIPTION_UNITS)
    if not body.strip():
        raise StoreError(
            "The agent definition contains no prompt.",
            cause="There is no text below its front matter.",
            next_step="Write the prompt below the front matter, or remove the file.",
            reason="empty",
        )
    ai, tools = fields.get("ai") or {}, fields.get("tools") or {}
    return AgentDefinition(
        name=name,
        body=body,
        description=description,
        base=fields.get("base"),
        disabled=bool(fields.get("disabled")),
        model=ai.get("model"),
        thinking_level=ai.get("thinkingLevel"),
        prompt_append=(fields.get("prompt") or {}).get("append"),
        tools_add=tuple(tools.get("add") or ()),
        tools_remove=tuple(tools.get("remove") or ()),
        tools_require=tuple(tools.get("require") or ()),
    )


def _parts(data: bytes) -> tuple[str, str]:
    """Return the front matter and the body in `data`, the bytes of a file.

    Raises `StoreError` if there is no complete front matter, or the file is too large or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise _malformed(f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are allowed.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("The file is not UTF-8 text.") from None
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0] != "---":
        raise _malformed("The first line of the file is not ---.")
    if "---" not in lines[1:]:
        raise _malformed("The front matter has no closing ---.")
    end = lines.index("---", 1)
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _front_matter(text: str) -> dict[Any, Any]:
    if len(text) > _FRONT_CHARS:
        raise _malformed(f"The front matter has more than {_FRONT_CHARS:,} characters.")
    # Late: it costs tens of milliseconds, and few homes have such a file.
    import yaml

    try:
        value = yaml.load(text, Loader=_loader(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" (line {line + 2} of the file)"
        raise _malformed(f"The front matter is not valid YAML{where}.") from None
    if not isinstance(value, dict):
        raise _malformed("The front matter is not a mapping.")
    return value


def _loader(yaml: Any) -> Any:
    """Return a safe YAML loader class with the scalars of YAML 1.2, like the agent's own parser.

    `yes` and dates are text, and a key that occurs twice is an error.
    """

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - as PyYAML wants it

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _value in node.value if isinstance(key.value, str)]
            if len(set(keys)) < len(keys):
                raise yaml.constructor.ConstructorError(None, None, "a key occurs twice", node.start_mark)
            return super().construct_mapping(node, deep=deep)

    tag = "tag:yaml.org,2002:"
    Loader.add_implicit_resolver(tag + "null", re.compile(r"(?:~|[Nn]ull|NULL|)\Z"), None)
    Loader.add_implicit_resolver(tag + "bool", re.compile(r"(?:[Tt]rue|TRUE|[Ff]alse|FALSE)\Z"), None)
    for number in (_INTEGER, _FLOAT):
        # Which number does not matter: no key that is read is one.
        Loader.add_implicit_resolver(tag + "number", re.compile(rf"(?:{number.pattern})\Z"), None)
    Loader.add_constructor(tag + "number", lambda loader, node: 0)
    return Loader


def _check(fields: Mapping[Any, Any], schema: Mapping[str, Any], above: str) -> None:
    """Raise `StoreError` unless every known key that is present has a value of its type.

    `schema`: key -> type, or the schema of a nested object. `above`: the path of `fields` in the file, such
    as `ai.`, for the message; empty at the top.
    """
    for key, expected in schema.items():
        value = fields.get(key)
        if key not in fields:
            continue
        below = isinstance(expected, Mapping)
        kind = dict if below else expected
        texts = not isinstance(value, list) or all(isinstance(item, str) for item in value)
        if not isinstance(value, kind) or not texts:
            raise _malformed(f"{above}{key} must be {_WORDS[kind]}.")
        if below:
            _check(value, expected, f"{above}{key}.")


def _check_length(key: str, text: str, most: int) -> None:
    if not 1 <= utf16_length(text) <= most:
        raise _malformed(f"{key} must have 1 to {most} characters.")


def _malformed(cause: str) -> StoreError:
    return StoreError(
        "The agent definition cannot be used.",
        cause=cause,
        next_step="Fix the file or remove it.",
        reason="malformed",
    )
