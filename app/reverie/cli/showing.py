"""`tree` and `status`: what a context holds, and how its consolidations stand."""

from __future__ import annotations

from functools import partial

from reverie.cli import answers
from reverie.cli.answers import DONE, print_json, print_text
from reverie.cli.session import Session


def show_tree(session: Session) -> int:
    """The three trees of a context."""
    from reverie.cli.tree_text import mark_rules, tree_lines
    from reverie.homes.scopes import Scope
    from reverie.memory.listing import tree
    from reverie.services.workbench import Workbench

    parts = session.home()
    context = session.context(parts)
    view = Workbench(parts).view(context)
    nodes = [tree(scope, view.scopes[scope]) for scope in Scope]
    for scope, node in zip(Scope, nodes, strict=True):
        root = view.scopes[scope].root
        if root is not None:
            mark_rules(node, partial(parts.home.file_rule, root))
    if session.as_json:
        print_json(nodes)
    else:
        print_text("\n".join(tree_lines(nodes)))
    problem = parts.usage.problem()
    if problem:
        answers.trouble(f"Pins and use are not known. {problem}")
    return DONE


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
        print_text("\n".join(status_lines(status, agent, now=session.clock())))
    for problem in status.problems:
        answers.trouble(problem)
    return DONE
