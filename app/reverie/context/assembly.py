"""The door to this room: gather what a context is made from, put it together for its agent.

Threading: `gather` blocks on disk, the rest is pure. Failure: as `context.facts`.
"""

from __future__ import annotations

from collections.abc import Mapping

from reverie.context.facts import ContextFacts
from reverie.context.facts import gather as gather
from reverie.context.view import ContextView

AGENTS = frozenset({"claude", "codex", "loki", "mux"})
"""Whose contexts are known."""


def assemble(facts: ContextFacts, at: int, drafts: Mapping[str, str] | None = None) -> ContextView:
    """What the agent would be told at the time `at` (UTC ms). `drafts`: unsaved texts by memory path, which
    count as if they were saved. An agent nobody knows here gets a view without parts."""
    if facts.agent == "mux":
        from reverie.context import mux

        return mux.assemble(facts, at, drafts or {})
    if facts.agent == "codex":
        from reverie.context import codex

        return codex.assemble(facts, at, drafts or {})
    if facts.agent == "claude":
        from reverie.context import claude

        return claude.assemble(facts, at, drafts or {})
    if facts.agent == "loki":
        from reverie.context import loki

        return loki.assemble(facts, at)
    return ContextView(facts.agent, at, (), 0, 0)
