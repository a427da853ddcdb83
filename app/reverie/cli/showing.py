"""`tree` and `status`: what a context holds, and how its consolidations stand."""

from __future__ import annotations

from functools import partial

from reverie.cli import answers
from reverie.cli.answers import DONE, print_json, print_text
from reverie.cli.session import Session
from reverie.homes.scopes import FileRule, Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.memory.write_guard import rule_under
from reverie.services.parts import HomeParts


def show_tree(session: Session) -> int:
    """The three trees of a context."""
    from reverie.cli.tree_text import mark_rules, tree_lines
    from reverie.memory.listing import tree
    from reverie.services.workbench import Workbench

    parts = session.home()
    context = session.context(parts)
    view = Workbench(parts).view(context)
    nodes = [tree(scope, view.scopes[scope]) for scope in Scope]
    for scope, node in zip(Scope, nodes, strict=True):
        root = view.scopes[scope].root
        if root is not None:
            mark_rules(node, partial(_rule, parts, root, view.refusals.get(scope)))
    if session.as_json:
        print_json(nodes)
    else:
        print_text("\n".join(tree_lines(nodes)))
    problem = parts.usage.problem()
    if problem:
        answers.trouble(problem)
    return DONE


def _rule(parts: HomeParts, root: ScopeRoot, refusal: Refusal | None, rel: str) -> FileRule:
    return rule_under(refusal, parts.home.file_rule(root, rel))


def _never_has(parts: HomeParts, context: ScopeContext, scope: Scope) -> bool:
    """Whether the agent has no such scope in any context."""
    try:
        parts.home.scope_root(context, scope)
    except ScopeUnavailable as gap:
        return gap.permanent
    return False


def show_status(session: Session) -> int:
    """When each scope was consolidated last, and how that ended."""
    from reverie.cli.status_text import status_lines
    from reverie.dream.coverage import status_of

    parts = session.home()
    context = session.context(parts)
    status = status_of(parts.coverage.load(), context, now=session.clock())
    agent = parts.home.agent_status(context)
    if session.as_json:
        told = [
            {"label": line.label, "text": line.text, "state": line.state, "at": line.at} for line in agent
        ]
        print_json({**status.as_json(), **({"agent": told} if told else {})})
    else:
        without = tuple(scope for scope in Scope if _never_has(parts, context, scope))
        print_text("\n".join(status_lines(status, agent, without, now=session.clock())))
    for problem in status.problems:
        answers.trouble(problem)
    return DONE
