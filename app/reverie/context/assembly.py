"""Puts together what an agent would be told, from what `context.gather` read.

Each agent's recipe says word for word what that agent loads; an agent without one gets a view without parts.

Threading: pure; any thread. Failure: as `context.facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.context import claude, codex, loki, mux
from reverie.context.facts import ContextFacts
from reverie.context.view import ContextView

RECIPES: Mapping[str, Callable[[ContextFacts, int, Mapping[str, str]], ContextView]] = {
    "claude": claude.assemble,
    "codex": codex.assemble,
    "loki": loki.assemble,
    "mux": mux.assemble,
}
"""By the kind of home; the one place that a new recipe is added to."""
AGENTS = frozenset(RECIPES)
"""Whose contexts are known."""


def assemble(facts: ContextFacts, at: int, drafts: Mapping[str, str] | None = None) -> ContextView:
    """What the agent would be told at the time `at` (UTC ms). `drafts`: unsaved texts by memory path, which
    count as if they were saved. An agent without a recipe gets a view without parts."""
    recipe = RECIPES.get(facts.agent)
    return ContextView(facts.agent, at, (), 0, 0) if recipe is None else recipe(facts, at, drafts or {})
