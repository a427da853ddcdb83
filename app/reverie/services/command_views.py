"""The views that a command prints, read in the command's own process or in a running engine.

Threading: blocks on disk; any thread. Failure: `UserError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from reverie.agents.capabilities import StatusLine
from reverie.agents.scopes import FileRule, Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.jobs.consolidate.coverage import Status, status_of
from reverie.memory.listing import MemoryFile, ScopeListing
from reverie.memory.paths import memory_path, utf16_key
from reverie.memory.write_guard import rule_under
from reverie.runs.card import ReportCard
from reverie.runs.parts import Parts
from reverie.runs.record import RunRecord
from reverie.services.container import HomeContainer
from reverie.services.traces import TraceDetail, TraceService, TraceSummary
from reverie.services.views import ChangedFile, MemoryView
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.services.reviews import ReviewService


class CommandViews:
    """The service that reads the data about one home that commands print.

    `view` returns the trees of the three scopes of a context. `reviews` returns the service that shows the
    changes of runs. Reading changes nothing in the home, and marks nothing as seen.

    Threading: blocks on disk; any thread. Failure: `UserError`.
    """

    def __init__(
        self,
        parts: HomeContainer,
        view: Callable[[ScopeContext], MemoryView],
        reviews: Callable[[], ReviewService],
    ) -> None:
        self._parts = parts
        self._view = view
        self._reviews = reviews

    def trees(self, context: ScopeContext) -> tuple[tuple[Mapping[str, Any], ...], str]:
        """Return the trees of the three scopes of a context, as nested JSON objects.

        The second value is the reason why pins and usage are missing from them; empty if they are included.
        """
        parts, view = self._parts, self._view(context)
        nodes = tuple(tree(scope, view.scopes[scope]) for scope in Scope)
        for scope, node in zip(Scope, nodes, strict=True):
            root = view.scopes[scope].root
            if root is not None:
                _mark_rules(node, partial(self._rule, root, view.refusals.get(scope)))
        return nodes, parts.usage.problem()

    def status(
        self, context: ScopeContext, now: int
    ) -> tuple[Status, tuple[StatusLine, ...], tuple[Scope, ...]]:
        """Return the time and result of each scope's last consolidation, as of `now` (UTC ms).

        The second value is the agent's own status about its consolidations, the third has the scopes that
        this agent does not have in any context.
        """
        parts = self._parts
        agent = () if parts.home.jobs is None else parts.home.jobs.agent_status(context)
        without = tuple(scope for scope in Scope if self._never_has(context, scope))
        return status_of(parts.coverage.load(), context, now=now), agent, without

    def runs(self, limit: int | None) -> tuple[tuple[RunRecord, ...], tuple[str, ...]]:
        """Return the newest runs, at most `limit` or all if it is None, newest first.

        The second value has a sentence for each record that could not be read.
        """
        return self._parts.runs.all(limit=limit), self._parts.runs.problems

    def changes(self, run_id: str) -> tuple[tuple[ChangedFile, ...], Parts, ReportCard | None]:
        """Return the files that a run changed, the files and hunks that were undone, and its report card.

        The card is None while the run is in progress.
        """
        reviews = self._reviews()
        files, card = reviews.changes(run_id), reviews.card(run_id)
        return files, self._parts.runs.load(run_id).taken_back, card

    def traces(self) -> tuple[TraceSummary, ...]:
        """Return the list of traces of the home, newest first."""
        return tuple(TraceService(self._parts).rows())

    def trace(self, trace_id: str) -> tuple[TraceDetail, Any]:
        """Return one trace for display, and its whole document as a JSON value.

        Raises `StoreError` (reason "missing") if there is no such trace.
        """
        service = TraceService(self._parts)
        detail = service.open(trace_id)
        return detail, service.document(str(detail.row.path))

    def _rule(self, root: ScopeRoot, refusal: Refusal | None, rel: str) -> FileRule:
        return rule_under(refusal, self._parts.home.file_rule(root, rel))

    def _never_has(self, context: ScopeContext, scope: Scope) -> bool:
        try:
            self._parts.home.scope_root(context, scope)
        except ScopeUnavailable as gap:
            return gap.permanent
        return False


def _mark_rules(node: dict[str, Any], rule_of: Callable[[str], FileRule]) -> None:
    """Add `rule` and `ruleReason` to each file in a scope's tree that a person cannot edit.

    `node`: the root of the tree. `rule_of` returns the rule for a file's path below the root of the scope.
    """
    top = str(node["path"])

    def mark(each: dict[str, Any]) -> None:
        for child in each.get("children", ()):
            mark(child)
        if "children" not in each:
            rule = rule_of(str(each["path"]).removeprefix(f"{top}/"))
            if rule.kind != "editable":
                each.update({"rule": rule.kind, "ruleReason": rule.sentence})

    mark(node)


def tree(scope: Scope, listing: ScopeListing) -> dict[str, Any]:
    """Return a scope as nested nodes for `reverie tree --json`; a node with `children` is a directory.

    A directory has the number of `files` below it and their total `size`; its children are in the agent's
    order.
    """
    top = _node(scope.value, str(memory_path(scope, "")), scope)
    if listing.unavailable:
        top["unavailable"] = listing.unavailable
        top["gap"] = None if listing.gap is None else listing.gap.value
    if listing.problems:
        top["problems"] = list(listing.problems)
    nodes = {"": top}
    for rel in listing.directories:
        nodes[rel] = _node(rel.rpartition("/")[2], str(memory_path(scope, rel)), scope)
    for file in listing.files:
        _place(nodes, file.rel, _leaf(scope, file))
    for rel in reversed(listing.directories):
        _place(nodes, rel, nodes[rel])
    for node in nodes.values():
        node["children"].sort(
            key=lambda child: utf16_key(child["name"] + ("/" if "children" in child else ""))
        )
    return top


def _node(name: str, path: str, scope: Scope) -> dict[str, Any]:
    return {"name": name, "path": path, "scope": scope.value, "size": 0, "files": 0, "children": []}


def _leaf(scope: Scope, file: MemoryFile) -> dict[str, Any]:
    return {
        "name": file.rel.rpartition("/")[2],
        "path": str(memory_path(scope, file.rel)),
        "scope": scope.value,
        **columns(
            file,
            "size description description_state pinned=usage.pinned "
            "accessCount=usage.access_count lastAccessedAt=usage.last_accessed_at "
            "lastWriteAt=usage.last_write_at seen_by_agent unseen_reason",
        ),
    }


def _place(nodes: Mapping[str, dict[str, Any]], rel: str, node: dict[str, Any]) -> None:
    """Put the node of the file or folder `rel` into the node of its directory; update the counts above it.

    `nodes`: the nodes of all directories, by path.
    """
    parent = nodes[rel.rpartition("/")[0]]
    parent["children"].append(node)
    parent["size"] += node["size"]
    parent["files"] += node.get("files", 1)
