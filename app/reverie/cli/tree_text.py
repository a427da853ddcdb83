"""`reverie tree` for people. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reverie.cli.answers import printable
from reverie.homes.scopes import FileRule
from reverie.text.counts import some


def tree_lines(nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Scopes, directories and memories, indented; pins, use, size and description behind the name."""
    for node in nodes:
        yield from _lines(node, 0)


def mark_rules(node: dict[str, Any], rule_of: Callable[[str], FileRule]) -> None:
    """Say of each file in a scope's tree that is not for editing what it is (`rule`), and why
    (`ruleReason`). `rule_of` is asked by the name below the scope's root."""
    top = str(node["path"])

    def mark(each: dict[str, Any]) -> None:
        for child in each.get("children", ()):
            mark(child)
        if "children" not in each:
            rule = rule_of(str(each["path"]).removeprefix(f"{top}/"))
            if rule.kind != "editable":
                each.update({"rule": rule.kind, "ruleReason": rule.sentence})

    mark(node)


def _lines(node: Mapping[str, Any], depth: int) -> Iterator[str]:
    yield "  " * depth + printable(str(node["name"])) + _remarks(node)
    for child in node.get("children", ()):
        yield from _lines(child, depth + 1)


def _remarks(node: Mapping[str, Any]) -> str:
    if node.get("unavailable"):
        return f"  (unavailable: {node['unavailable']})"
    if "children" in node:
        return "/"
    remarks = [f"{node['size']} B"]
    if node.get("pinned"):
        remarks.append("pinned")
    if node.get("accessCount"):
        remarks.append(f"used {some(node['accessCount'], 'time')}")
    if node.get("rule"):
        remarks.append(str(node["rule"]))
    if not node.get("seenByAgent", True):
        remarks.append(f"not seen by the agent: {node.get('unseenReason', '')}")
    description = printable(str(node.get("description") or ""))
    return f"  [{', '.join(remarks)}]" + (f"  {description}" if description else "")
