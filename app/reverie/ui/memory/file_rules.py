"""Who may change the files of the trees, for the sign, the words and the tool tip of a row.

A home's rules are pure, so they are asked for when a row is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reverie.homes.scopes import EDITABLE, FileRule, Scope, ScopeRoot
from reverie.memory.write_guard import rule_under

if TYPE_CHECKING:
    from reverie.homes.base import Home
    from reverie.services.views import MemoryView

RuleOf = Callable[[Scope, str], FileRule]
SIGNS: Mapping[str, str] = {"generated": "generated", "read-only": "locked"}


def editable(_scope: Scope, _rel: str) -> FileRule:
    """Nothing is known: the store tells whoever tries."""
    return EDITABLE


def rule_of(home: Home, view: MemoryView) -> RuleOf:
    """The rules of the trees of one context."""
    roots: dict[Scope, ScopeRoot] = {
        scope: listing.root for scope, listing in view.scopes.items() if listing.root is not None
    }

    def rule(scope: Scope, rel: str) -> FileRule:
        root = roots.get(scope)
        rule = home.file_rule(root, rel) if root is not None else EDITABLE
        return rule_under(view.refusals.get(scope), rule)

    return rule


def sign_of(rule: FileRule) -> str:
    """The sign of what is not for editing; empty for what is."""
    return SIGNS.get(rule.kind, "")
