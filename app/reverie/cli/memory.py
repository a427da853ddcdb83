"""The commands `memory`, `tree`, `status` and `search`, which show and change the contents of a home.

`memory` carries out memory commands that are given as JSON lines. Each line may name its own context, actor
and time; for a bad line an error is printed, and the next line is read. Besides the six memory commands of an
agent, there are `read`, `save`, `pin` and `index`, for the operations of an editor. A view by an agent counts
as a use of the memory; a view by the user does not (design.md section 5).
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.capabilities import StatusLine
from reverie.agents.scopes import (
    ProjectGap,
    Scope,
    ScopeContext,
    ScopeUnavailable,
)
from reverie.cli.answers import DONE, print_answer, print_json_line, print_problems, printable, trouble
from reverie.cli.homes import (
    NAME_ONE,
    NO_HOME,
    every_home,
    from_each,
    require_workspace,
    the_context,
    the_home,
    the_workbench,
)
from reverie.cli.main import Invocation
from reverie.clock import DAY_MS, HOUR_MS, is_time
from reverie.errors import Conflict, StoreError, UserError
from reverie.jobs.consolidate.coverage import Status
from reverie.memory.commands import COMMANDS, normalise
from reverie.memory.listing import index_entries, scan_scope
from reverie.memory.store import MemoryStore
from reverie.services.agent_commands import run_command
from reverie.services.container import HomeContainer
from reverie.services.host import keep_usage
from reverie.text.summaries import some
from reverie.values import columns

if TYPE_CHECKING:
    from reverie.services.views import SearchHit


_ACTORS = ("agent", "user")


def memory(session: Invocation) -> int:
    """Carry out the memory commands on stdin, one JSON object per line; print one result per line.

    Returns the exit code at the end of stdin.
    """
    clock = LineClock(session.clock)
    parts = the_home(session, clock)
    lines = MemoryLines(
        parts,
        clock,
        workspace_id=session.arguments.workspace,
        project=session.arguments.project,
        warn=trouble,
    )
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline="\n")
    for result in lines.answer_all(source):
        print_json_line(result)
    return DONE


class LineClock:
    """A clock that returns the time given in the current line of input.

    `now`: the time in that line, in UTC ms; if it is None, the clock returns the time of the clock
    `fallback`.
    """

    def __init__(self, fallback: Any) -> None:
        self._fallback = fallback
        self.now: int | None = None

    def __call__(self) -> int:
        """Return the current time in UTC ms."""
        return int(self._fallback()) if self.now is None else self.now


class MemoryLines:
    """The interpreter of memory commands in one home; each command is a JSON object on one line."""

    def __init__(
        self,
        parts: HomeContainer,
        clock: LineClock,
        *,
        workspace_id: str | None,
        project: str | None,
        warn: Callable[[str], None],
    ) -> None:
        """Set the home, and the workspace and project for lines that name none.

        `clock` must be the clock of `parts`; each line can set it. `workspace_id`: None for no workspace.
        `project`: its path; None for the project of the workspace, if it has one. `warn` gets a sentence if
        the changes could not be recorded in the history; this is noticed only after all results were
        returned.
        """
        self._parts = parts
        self._clock = clock
        self._workspace_id = workspace_id
        self._project = project
        self._warn = warn
        self._changed: list[Path] = []
        self._pinned_by = ""
        self._known: set[str] = set()

    def answer_all(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Carry out the command in each line and yield its result, skipping blank lines.

        A line is a memory command as JSON text. At the end, all changes are recorded in the history.
        """
        keep_usage(self._parts)
        try:
            for line in lines:
                if line.strip():
                    yield self.answer(line)
        finally:
            self._note_changes()

    def _note_changes(self) -> None:
        """Record in the history the changes that all lines made.

        If that fails, `warn` gets a sentence; the changes themselves are already made, and the next snapshot
        of the history includes them.
        """
        try:
            if self._changed:
                self._parts.snapshots.observe(source="memory commands", dirty=self._changed)
            if self._pinned_by:
                self._parts.snapshots.record(
                    actor=self._pinned_by, source="memory commands", subject="Pins", dirty=[]
                )
        except UserError as error:
            self._warn(f"The change is not in the history yet. {error}")

    def answer(self, line: str) -> dict[str, Any]:
        """Carry out the command in one line and return its result as a JSON object.

        A `UserError` is returned as a result with `success` False; it does not end the session.
        """
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return {"success": False, "error": "The line is not valid JSON."}
        if not isinstance(request, dict):
            return {"success": False, "error": "A line must be a JSON object."}
        try:
            return self._dispatch(request)
        except UserError as error:
            if request.get("command") != "save":
                return {"success": False, "error": str(error)}
            kind = "conflict" if isinstance(error, Conflict) else "error"
            return {"success": False, "kind": kind, "error": str(error)}

    def _dispatch(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command, now = request.get("command"), request.get("now")
        if command is not None and not isinstance(command, str):
            raise StoreError("The field `command` must be text.", reason="usage")
        if now is not None and not is_time(now):
            raise StoreError("The field `now` must be a time in milliseconds since 1970.", reason="usage")
        self._clock.now = now
        self._parts.require_same_home()
        actor = request.get("actor") or ("agent" if command in COMMANDS else "user")
        if actor not in _ACTORS:
            raise StoreError(f"The field `actor` must be one of {', '.join(_ACTORS)}.", reason="usage")
        context = self._context(request)
        warnings: list[str] = []
        store = self._parts.store(
            context, actor=actor, after_change=self._changed.append, warn=warnings.append
        )
        answer = self._answer(store, request, actor)
        if warnings:
            answer["warnings"] = [*answer.get("warnings", ()), *warnings]
        return answer

    def _answer(self, store: MemoryStore, request: Mapping[str, Any], actor: str) -> dict[str, Any]:
        command = request.get("command")
        if command in COMMANDS:
            return run_command(
                self._parts,
                store,
                request,
                actor=actor,
                count_reads=actor == "agent",
                changed=self._changed.append,
            )
        commands = {"read": self._read, "save": self._save, "pin": self._pin, "index": self._index}
        own = commands.get(str(command))
        if own is None:
            known = ", ".join(sorted({*COMMANDS, *commands}))
            raise StoreError(
                f"Unknown command {command!r}.", next_step=f"Use one of: {known}.", reason="usage"
            )
        return own(store, request, actor)

    def _context(self, request: Mapping[str, Any]) -> ScopeContext:
        workspace_id = request.get("workspace_id", self._workspace_id)
        project = request.get("project_path", self._project)
        for name, value in (("workspace_id", workspace_id), ("project_path", project)):
            if value is not None and not isinstance(value, str):
                raise StoreError(f"{name} must be text.", reason="usage")
        given = "project_path" in request or self._project is not None
        context = self._parts.home.context(
            workspace_id=workspace_id or None, project_path=project or None, project_given=given
        )
        # A line with `"project_path": null` defines its whole context itself (as in the tests) and is not
        # checked. A project beside the workspace does not confirm the workspace.
        if workspace_id and (project or not given):
            self._require_known(workspace_id)
        return context

    def _require_known(self, workspace_id: str) -> None:
        """Raise `Ambiguous` if the home neither lists the workspace nor has memories of it.

        Without this check, a mistyped id could create a store that belongs to no workspace. If the list of
        workspaces cannot be read, every id is accepted.
        """
        if workspace_id in self._known:
            return
        # If the list cannot be read, the workspaces are unknown and none is refused. A context with a project
        # does not show that, because it needs no list.
        alone = self._parts.home.context(workspace_id=workspace_id)
        if alone.project_gap is not ProjectGap.UNKNOWN:
            require_workspace(self._parts, workspace_id)
            self._known.add(workspace_id)

    @staticmethod
    def _read(store: MemoryStore, request: Mapping[str, Any], actor: str) -> dict[str, Any]:
        text = store.read_text(_path(request), as_use=actor == "agent")
        return {"success": True, "content": text.content, "sha256": text.sha256}

    @staticmethod
    def _save(store: MemoryStore, request: Mapping[str, Any], _actor: str) -> dict[str, Any]:
        content, expected = request.get("content"), request.get("expected_sha256")
        if not isinstance(content, str) or not isinstance(expected, str | None):
            raise StoreError(
                "`save` needs `content` (text) and `expected_sha256` (text or null).", reason="usage"
            )
        return {"success": True, "sha256": store.save(_path(request), content, expected)}

    def _pin(self, store: MemoryStore, request: Mapping[str, Any], actor: str) -> dict[str, Any]:
        pinned = request.get("pinned")
        if not isinstance(pinned, bool):
            raise StoreError("`pin` needs the field `pinned` (true or false).", reason="usage")
        path = _path(request)
        store.pin(path, pinned)
        self._pinned_by = actor
        return {"success": True, "output": f"{'Pinned' if pinned else 'Unpinned'} {path.strip()}."}

    def _index(self, store: MemoryStore, _request: Mapping[str, Any], _actor: str) -> dict[str, Any]:
        home, usage = self._parts.home, self._parts.usage.load_for_showing()
        entries: list[dict[str, Any]] = []
        for scope in (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE):
            try:
                root = home.scope_root(store.context, scope)
            except ScopeUnavailable:
                continue
            listing = scan_scope(root, home.caps, usage, partial(home.usage_key, root))
            entries.extend(dict(entry) for entry in index_entries(listing, scope, home.caps))
        answer: dict[str, Any] = {"success": True, "entries": entries}
        if problem := self._parts.usage.problem(or_damaged=False):
            answer["warnings"] = [problem]
        return answer


def _path(request: Mapping[str, Any]) -> str:
    path = normalise({"path": request.get("path")}).get("path")
    if not isinstance(path, str):
        raise StoreError("The command needs a path.", reason="usage")
    return path


def tree(session: Invocation) -> int:
    """Print the trees of the three scopes of the command's context; return the exit code."""
    parts = the_home(session)
    context = the_context(session, parts)
    nodes, problem = the_workbench(session, parts).shown.trees(context)
    print_answer(session.as_json, nodes, tree_lines(nodes))
    if problem:
        trouble(problem)
    return DONE


def status(session: Invocation) -> int:
    """Print when each scope was last consolidated, and with which result; return the exit code."""
    parts = the_home(session)
    context = the_context(session, parts)
    found, agent, without = the_workbench(session, parts).shown.status(context, session.clock())
    own = {"agent": [columns(line, "label text state at") for line in agent]} if agent else {}
    lines = status_lines(found, agent, without, now=session.clock())
    print_answer(session.as_json, {**found.as_json(), **own}, lines)
    print_problems(found.problems)
    return DONE


def tree_lines(nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines that show a tree of memories, indented by depth; `nodes` are its root rows.

    A row is a scope, a directory or a memory, as JSON. The line of a memory has its pin, usage, size and
    description.
    """
    for node in nodes:
        yield from _lines(node, 0)


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


_MINUTE_MS = 60_000


def status_lines(
    status: Status, agent: Iterable[StatusLine] = (), without: Collection[Scope] = (), *, now: int
) -> Iterator[str]:
    """Yield one line about the last consolidation of each scope, then the lines of the harvest and the agent.

    A harvest collects facts from a conversation that the agent compacted. `agent`: the lines of the agent's
    own jobs. `without`: the scopes that this agent does not have and that get no line. A scope that was never
    consolidated has a line with "never"; the project scope of a context without a project, a line with
    "unavailable". `now`: the present time in UTC ms, from which ages are counted.
    """
    agent = tuple(agent)
    never = "never by Reverie" if agent else "never"
    if Scope.WORKSPACE not in without:
        yield _line("Workspace", status.workspace_record, now, never)
    if Scope.PROJECT not in without:
        if status.project_available:
            yield _line("Project", status.project_record, now, never)
        else:
            yield "Project: unavailable in this context"
    yield _line("Global", status.global_record, now, never)
    harvest = status.latest_harvest
    if harvest is not None:
        at = harvest.get("completedAt") or harvest["startedAt"]
        error = f" ({printable(str(harvest['error']))})" if harvest.get("error") else ""
        yield f"Harvest: {ago(now - at)}, {harvest['status']}, {harvest['acceptedCandidates']} kept{error}"
    for line in agent:
        age = "" if line.at is None or line.at > now else f" ({ago(now - line.at)})"
        yield f"{line.label}: {printable(line.text)}{age}"


def ago(age_ms: float) -> str:
    """Return an age in ms as text such as "3 min ago", in the largest unit that fits: days, hours or minutes.

    An age below one minute, or below 0, is "just now".
    """
    if age_ms < _MINUTE_MS:
        return "just now"
    for unit, length in (("d", DAY_MS), ("h", HOUR_MS), ("min", _MINUTE_MS)):
        if age_ms >= length:
            return f"{int(age_ms // length)} {unit} ago"
    return "just now"


def _line(name: str, record: Mapping[str, Any] | None, now: int, never: str) -> str:
    if record is None:
        return f"{name}: {never}"
    # A run has one record for all its scopes.
    begin = f"/memories/{name.lower()}/"
    here = [
        op for op in record["ops"] if any(str(op.get(key)).startswith(begin) for key in ("path", "newPath"))
    ]
    changes = some(sum(bool(op["applied"]) for op in here), "change")
    summary = printable(record["summary"])
    return f"{name}: {ago(now - record['lastRunAt'])}, {record['trigger']}, {changes} - {summary}"


def search(session: Invocation) -> int:
    """Update the search index, search it, and print the hits.

    Returns the exit code: 1 if there was a problem, such as a home that cannot be read; else 0, even if
    nothing is found.
    """
    from reverie.services.search import SearchService
    from reverie.services.views import COUNT, SearchPlace

    homes = every_home(session)
    service = SearchService()
    _added, errors = from_each(session, homes, service.add)
    service.update()
    count = COUNT if session.arguments.limit is None else session.arguments.limit
    named = session.arguments
    place = SearchPlace(getattr(named, "project", None) or _directory(), getattr(named, "workspace", None))
    found = service.search(" ".join(session.arguments.query), count=count, place=place)
    if not found.complete and service.waiting:
        # The index was damaged and is rebuilt.
        service.update()
        found = service.search(found.query, count=count, place=place)
    lines = _hit_lines(found.hits, several=len(homes[0]) > 1) or ["Nothing was found."]
    lines += [] if homes[0] else [f"{NO_HOME} {NAME_ONE}"]
    print_answer(session.as_json, [hit.as_json() for hit in found.hits], lines)
    return print_problems((*errors, *found.problems))


def _directory() -> str | None:
    """Return the current directory; None if it no longer exists."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _hit_lines(hits: tuple[SearchHit, ...], *, several: bool) -> list[str]:
    lines: list[str] = []
    for number, hit in enumerate(hits):
        if hit.matched != "all" and (number == 0 or hits[number - 1].matched == "all"):
            lines.append("Few notes contain all of these words. Notes with some of them, or similar words:")
        place = [hit.home] if several else []
        place += [hit.workspace_id] if hit.workspace_id and hit.scope == "workspace" else []
        place += [hit.project_path] if hit.project_path and hit.scope == "project" else []
        lines.append(printable("  ".join((hit.path, *(f"({each})" for each in place)))))
        if hit.snippet.text:
            line = f"{hit.snippet.line}: " if hit.snippet.line else ""
            lines.append(printable(f"    {line}{hit.snippet.text}"))
    return lines
