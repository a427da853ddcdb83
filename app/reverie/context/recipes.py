"""The recipe of each agent: how its context is assembled from the facts that `context.gather` read.

A recipe reproduces word for word the text that its agent loads; an agent without a recipe gets a view without
parts. A memory that an agent loads only if it fits the question is represented at the start by its line in
the index. Typing must not cost a pass over thousands of memories, so results that depend only on the disk are
cached with the facts.

Threading: pure; any thread. Failure: as in `context.facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.agents.base import LoadState
from reverie.context.claude import claude_context
from reverie.context.codex import codex_context
from reverie.context.facts import SCOPES, ContextFacts
from reverie.context.loki import loki_context
from reverie.context.mux import mux_context
from reverie.context.view import PARTS, ContextView, load_states
from reverie.memory.paths import memory_path
from reverie.values import replace

RECIPES: Mapping[str, Callable[[ContextFacts, int, Mapping[str, str]], ContextView]] = {
    "claude": claude_context,
    "codex": codex_context,
    "loki": loki_context,
    "mux": mux_context,
}
"""The recipe for each kind of home; a new recipe is added only here."""
_READS_LATER = frozenset({"codex", "loki"})
"""The agents whose view leaves out the memories that they read only when needed."""
AGENTS = frozenset(RECIPES)
"""The kinds of homes whose context is known."""


def assemble(facts: ContextFacts, at: int, drafts: Mapping[str, str] | None = None) -> ContextView:
    """Return the files and texts that a session of the agent, started at `at` (UTC ms), would load.

    They are grouped by the parts of the agent's prompt. `facts`: the files and settings that were read
    before. `drafts`: memory path -> unsaved text, which counts as if it were saved. If Reverie does not know
    what an agent of this kind loads (`RECIPES`), the result has no parts.
    """
    recipe = RECIPES.get(facts.agent)
    return ContextView(facts.agent, at, (), 0, 0) if recipe is None else recipe(facts, at, drafts or {})


def texts(facts: ContextFacts, at: int) -> tuple[tuple[str, str], ...]:
    """Return the title and the text of each part of the prompt that a session started at `at` (UTC ms) loads.

    Parts without text are left out. `facts`: the files and settings that were read before.
    """
    return tuple((PARTS[part.key], part.text) for part in assemble(facts, at).parts if part.text)


def next_session(facts: ContextFacts, at: int) -> tuple[dict[str, LoadState], int]:
    """Return how much of each file a session started at `at` (UTC ms) loads, and the tokens of all of it.

    The first item maps the path of a file, a memory path or a path on disk, to its load state: `full`,
    `part`, `line` (in an index), `listed` (name and description) or `needed` (only when needed). Files that
    are never loaded are left out. `facts`: the files and settings that were read before.
    """
    if facts.agent == "mux":
        # The agent never looks beyond its cap, and there may be a hundred times as many files.
        cap = facts.caps.files_per_scope
        listings = {scope: replace(each, files=each.files[:cap]) for scope, each in facts.listings.items()}
        facts = replace(facts, listings=listings)
    view = assemble(facts, at)
    states = load_states(view)
    if facts.agent in _READS_LATER and not facts.off:
        for scope in SCOPES:
            for file in facts.files(scope):
                if file.seen_by_agent:
                    states.setdefault(str(memory_path(scope, file.rel)), "needed")
    return states, view.tokens
