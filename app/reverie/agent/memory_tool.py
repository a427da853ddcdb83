"""The memory commands as the one tool of a model that looks after memories, behind the guard of its run.

Threading: the loop of the run. Failure: what the guard refuses is an answer, from which a model can recover.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from reverie.agent.messages import ToolSpec
from reverie.agent.prompting import Marks
from reverie.agent.tools import FunctionTool, ToolOutcome
from reverie.memory.commands import COMMANDS

_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_RESTORED = frozenset(
    {"file_text", "content", "old_str", "old_string", "new_str", "new_string", "insert_text"}
)
"""The arguments that become text of a memory: a placeholder in them stands for what it hides."""


class CommandGuard(Protocol):
    """What carries out a command, or refuses it; `runs.guard.Guard` is one."""

    @property
    def remaining(self) -> int: ...

    def execute(self, request: Mapping[str, Any], *, reason: str = "") -> dict[str, Any]:
        """The answer to one command, as `memory.commands` gives it, refusals too; `reason` is kept with the
        change."""


def memory_tool(guard: CommandGuard, spec: ToolSpec, marks: Marks, *, budget: int) -> FunctionTool:
    """The tool; what a model views stands between `marks`."""

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
    """The tool as a model is told of it; `reason` is the schema of why a change is made."""
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
