"""The memory commands as a tool for models, behind the guard of a run.

Threading: the event loop of the run. Failure: a refusal is a result of the tool, not an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from reverie.llm.prompts import TextMarks
from reverie.llm.provider import ToolOutcome, ToolSpec
from reverie.llm.tools import FunctionTool
from reverie.memory.commands import COMMANDS

_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_RESTORED = frozenset(
    {"file_text", "content", "old_str", "old_string", "new_str", "new_string", "insert_text"}
)
"""The arguments that become text of a memory.

Placeholders in them are replaced by the text that they stand for.
"""


class CommandGuard(Protocol):
    """An object that executes memory commands or refuses them, such as `runs.guard.Guard`.

    `remaining`: the number of changes that it still allows.
    """

    @property
    def remaining(self) -> int: ...

    def execute(self, request: Mapping[str, Any], *, reason: str = "") -> dict[str, Any]:
        """Execute the memory command `request`; return its result (see `memory.commands`) or a refusal.

        `reason` is recorded with the change; empty: none.
        """


def memory_tool(guard: CommandGuard, spec: ToolSpec, marks: TextMarks, *, budget: int) -> FunctionTool:
    """Return a tool with which a model runs the memory commands.

    `guard` executes the commands or refuses them; a refusal is a result, so that the model can recover.
    `spec`: the description of the tool for the model. Text of memories that the model views is put between
    `marks`. `budget`: the allowed number of changes, which results mention.
    """

    def call(arguments: Mapping[str, Any]) -> ToolOutcome:
        request = {name: value for name, value in arguments.items() if name != "reason"}
        answer = guard.execute(request, reason=str(arguments.get("reason") or ""))
        if not answer["success"]:
            return ToolOutcome(str(answer["error"]), is_error=True)
        if request.get("command") == "view":
            return ToolOutcome(marks.around(str(answer["output"])))
        left = f"{guard.remaining} of {budget} changes are left."
        return ToolOutcome(f"{answer['output']} {left}", wrote=True)

    return FunctionTool(spec, call, _RESTORED, frozenset({"reason"}))


def memory_spec(description: str, reason: Mapping[str, Any] = _TEXT) -> ToolSpec:
    """Return the description of the memory tool for a model.

    `description`: its text; `reason`: the JSON schema of the argument in which the model gives a reason.
    """
    properties = {
        "command": {"type": "string", "enum": sorted(COMMANDS)},
        "path": _TEXT,
        "file_text": _TEXT,
        "old_str": _TEXT,
        "new_str": _TEXT,
        "insert_line": _NUMBER,
        "insert_text": _TEXT,
        "old_path": _TEXT,
        "new_path": _TEXT,
        "offset": _NUMBER,
        "limit": _NUMBER,
        "reason": reason,
    }
    return ToolSpec(
        "memory", description, {"type": "object", "properties": properties, "required": ["command"]}
    )
