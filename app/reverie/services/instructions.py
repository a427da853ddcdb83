"""The prompt that an agent's own files give for a run, where they give one that can be used.

Threading: blocks on disk. Failure: a prompt that cannot be used is told in Activity, and the built-in one is
used.
"""

from __future__ import annotations

from typing import Literal

from reverie.errors import StoreError
from reverie.homes.agent_definition import parse_agent_definition
from reverie.homes.agents import DreamWishes, WriterWishes
from reverie.homes.scopes import ScopeContext
from reverie.services.parts import HomeParts

_OF = {"dream": "consolidation", "writer": "the memory writer"}


def own_instructions(
    parts: HomeParts,
    context: ScopeContext,
    wishes: DreamWishes | WriterWishes,
    kind: Literal["dream", "writer"],
) -> str:
    """The prompt of the agent definition in `wishes`; empty for the built-in one. A definition that is there
    and cannot be used is told in Activity."""
    problem = wishes.problem
    if wishes.definition is not None:
        try:
            return parse_agent_definition(wishes.definition).body
        except StoreError as error:
            problem = f"The agent definition of {_OF[kind]} is not used. {error}"
    if problem:
        parts.activity.add(
            f"{kind}.prompt",
            level="warning",
            text=f"{problem} The built-in prompt is used.",
            home=str(parts.home.root),
            workspace_id=context.workspace_id,
        )
    return ""
