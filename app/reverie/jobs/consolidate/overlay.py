"""The copy-on-write overlay that a consolidation works on, and pairs of lines that a model points out.

Nothing here writes to the home.

A model that consolidates has a tool to report pairs of lines that it should not resolve itself: two lines say
the same, contradict each other, or one of them is outdated. Each pair names two memories and quotes a line of
each; the model is not trusted, so a quote that no line of its memory contains is refused, with the reason. A
pair belongs to the two memories in which it was found, and is valid as long as both lines exist;
`services.findings` shows it beside the findings of the rules.

Threading: one run, one overlay; `NoticedLog` on any thread. Failure: `UserError` if the file of the pairs
cannot be read or written.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from reverie.agents.base import Home, comparable
from reverie.agents.capabilities import ConsolidatedFile, RootChange
from reverie.agents.memory_index import cut_of
from reverie.agents.scopes import Caps, FrontMatterRules, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.claims.checking import CheckedClaim
from reverie.errors import PathRuleError, StoreError, UserError
from reverie.files.atomic import is_write_protected
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.findings import RelatedKind
from reverie.jobs.consolidate.review import renamed_files
from reverie.jobs.consolidate.rules.plan import Note
from reverie.llm.provider import ToolOutcome
from reverie.llm.tools import FunctionTool, tool_spec
from reverie.memory import front_matter
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.commands import MemoryCommands
from reverie.memory.front_matter import description
from reverie.memory.front_matter_rules import block_of
from reverie.memory.hot_set import escaped
from reverie.memory.listing import unseen_reason
from reverie.memory.paths import ROOT, MemoryPath, is_hidden, memory_path, parse_memory_path
from reverie.memory.scope_files import FileChange, OverlayFiles, Savepoint, ScopeFiles, in_order
from reverie.memory.store import MemoryStore
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage, written
from reverie.runs.guard import Guard, Rails
from reverie.runs.record import DRY_RUN_NOTE
from reverie.runs.retention import folded_words
from reverie.values import Struct, as_dict, replace

MOST_OF_ONE_RUN = 200
"""The largest number of pairs that one run may point out."""
_MOST_KEPT = 1_000
_LEAST_QUOTE = 8
_WHY_CHARS = 300
_NUMBERED = re.compile(r"^\s*\d+\t")
_KINDS: Mapping[str, RelatedKind] = {
    "same": "near-duplicate",
    "disagree": "contradiction",
    "overtaken": "superseded",
}


class NoticedPair(Struct, frozen=True):
    """A pair of lines from two memories that a model left for a person to decide.

    For the kind `superseded`, the first line is the outdated one.
    """

    kind: RelatedKind
    paths: tuple[str, str]
    """Memory paths."""
    quotes: tuple[str, str]
    """The two whole lines; each sequence of white space is one space."""
    why: str
    """The model's reason."""

    def lines_in(self, texts: Mapping[str, str]) -> tuple[int, int] | None:
        """Return the present numbers of the two lines, from 1; None if one of them no longer exists.

        `texts`: the present texts of memories, by path.
        """
        found = [
            next((number for number, line in _numbered_lines(texts.get(path, "")) if line == quote), 0)
            for path, quote in zip(self.paths, self.quotes, strict=True)
        ]
        return (found[0], found[1]) if all(found) else None


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        yield number, " ".join(line.split())


class PairsNoticed:
    """The pairs of related lines, such as a contradiction, that a model has pointed out in one run."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Start without pairs; `texts` are the memories of the run, by path."""
        self._texts = texts
        self.pairs: tuple[NoticedPair, ...] = ()

    @property
    def tool(self) -> FunctionTool:
        """The tool by which a model points out pairs."""
        return FunctionTool(tool_spec("point_out"), self._take)

    def _take(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Handle a call of the tool: add its valid pairs; return their number and the errors of others."""
        refused = []
        for number, each in enumerate(arguments["pairs"], 1):
            found = self._read(each)
            if isinstance(found, str):
                refused.append(f"Pair {number}: {found}")
            elif found not in self.pairs:
                self.pairs = (*self.pairs, found)
        words = [f"{len(self.pairs)} noted so far; a person decides about them.", *refused]
        return ToolOutcome("\n".join(words), is_error=bool(refused))

    def _read(self, each: Mapping[str, Any]) -> NoticedPair | str:
        """Return the pair in the model's JSON object `each`, or a message for the model about its error."""
        if len(self.pairs) >= MOST_OF_ONE_RUN:
            return f"A run points out at most {MOST_OF_ONE_RUN} pairs."
        first, second = str(each["first_path"]), str(each["second_path"])
        if first == second:
            return "It needs two different notes."
        lines = []
        for path, quote in ((first, each["first_line"]), (second, each["second_line"])):
            if path not in self._texts:
                return f"{path} is none of the notes."
            line = _line_with(self._texts[path], str(quote))
            if line is None:
                return f"No line of {path} holds these words: quote a line of it as it stands there."
            lines.append(line)
        why = " ".join(str(each["why"]).split())[:_WHY_CHARS]
        return NoticedPair(_KINDS[each["what"]], (first, second), (lines[0], lines[1]), why)


def _line_with(text: str, quote: str) -> str | None:
    """Return the line that contains the quote; None if there is none, or if the quote is too short."""
    wanted = " ".join(_NUMBERED.sub("", quote).split())
    lines = [line for _number, line in _numbered_lines(text)]
    if wanted and wanted in lines:
        return wanted
    if len(wanted) < _LEAST_QUOTE:
        return None
    return next((line for line in lines if wanted in line), None)


class NoticedLog:
    """The stored pairs of related lines that models noticed in the memories of one home.

    They are in a file of Reverie's own (a sidecar), until a person has decided about them.
    """

    def __init__(self, kept: Callable[[], Sidecar]) -> None:
        self._kept = kept

    def add(self, context: ScopeContext, pairs: Sequence[NoticedPair]) -> None:
        """Store pairs that were found in memories of `context`; the oldest beyond 1,000 are dropped.

        Raises `UserError`.
        """
        new = [_as_json(context, pair) for pair in pairs]

        def change(data: dict[str, Any]) -> dict[str, Any]:
            known = data.get("pairs")
            before = [each for each in known if each not in new] if isinstance(known, list) else []
            data["pairs"] = [*before, *new][-_MOST_KEPT:]
            return data

        self._kept().update(change)

    def of(self, context: ScopeContext) -> list[NoticedPair]:
        """Return the pairs in memories of `context`, in the order in which they were found.

        Raises `UserError`.
        """
        found = self._kept().read().data.get("pairs")
        return list(_of_context(context, found if isinstance(found, list) else ()))


def _as_json(context: ScopeContext, pair: NoticedPair) -> dict[str, Any]:
    kept = as_dict(pair) | {"paths": list(pair.paths), "quotes": list(pair.quotes)}
    return kept | {"places": [_place(context, path) for path in pair.paths]}


def _of_context(context: ScopeContext, kept: Iterable[Any]) -> Iterator[NoticedPair]:
    for each in kept:
        try:
            (first, second), quotes = each["paths"], each["quotes"]
            pair = NoticedPair(each["kind"], (first, second), (quotes[0], quotes[1]), str(each["why"]))
            is_here = each["places"] == [_place(context, path) for path in pair.paths]
        except (KeyError, IndexError, TypeError, ValueError):
            continue  # an entry of a newer version
        if is_here and pair.kind in get_args(RelatedKind):
            yield pair


def _place(context: ScopeContext, path: str) -> str:
    """Return a key for a memory that differs from the keys of equal paths in other contexts."""
    parts = path.split("/")
    scope = parts[2] if len(parts) > 2 else ""
    if scope == Scope.WORKSPACE.value:
        return f"workspace {context.workspace_id}"
    return f"project {context.project_path}" if scope == Scope.PROJECT.value else scope


_PLAIN = re.compile(r"[^\W\d_][\w .,/()-]*")


def root_change(
    before: Mapping[str, str],
    after: Mapping[str, str],
    moved: Mapping[str, str],
    *,
    heirs_among: Collection[str],
    rules: FrontMatterRules = "strict",
) -> RootChange:
    """Return the changes that a run made to the files of one root, for updating its index and links.

    `before` and `after` are all texts of the root by relative path, and `moved` maps old paths to new ones. A
    deleted file counts as merged into the file of `heirs_among` that has most of its lines, if that is at
    least half of them. `rules`: how strictly the agent reads front matter. Pure.
    """
    gone = [rel for rel in before if rel not in after and rel not in moved]
    came = set(moved.values())
    return RootChange(
        {rel: _read(text, rules) for rel, text in after.items()},
        {rel: _read(before[rel], rules) for rel in gone},
        moved,
        _heirs({rel: before[rel] for rel in gone}, {rel: after[rel] for rel in heirs_among if rel in after}),
        tuple(rel for rel in after if rel not in before and rel not in came),
    )


def _heirs(gone: Mapping[str, str], candidates: Mapping[str, str]) -> dict[str, str]:
    """Return for each deleted file in `gone` the file of `candidates` into which it was merged, by path.

    Files that were not merged are left out.
    """
    if not gone:
        return {}
    lines = {rel: _lines(text) for rel, text in candidates.items()}
    heirs = {}
    for rel, text in gone.items():
        own = _lines(text)
        best = max(lines, key=lambda other: len(own & lines[other]), default="")
        if best and own and 2 * len(own & lines[best]) >= len(own):
            heirs[rel] = best
    return heirs


def _lines(text: str) -> set[str]:
    """Return the lines of a text, folded for comparison, without its front matter."""
    block = block_of(text)
    body = text[block.body_start :] if block is not None else text
    return {folded_words(line) for line in body.splitlines()} - {""}


def _read(text: str, rules: FrontMatterRules) -> ConsolidatedFile:
    return ConsolidatedFile(text, _said(text, "name", rules), _said(text, "description", rules))


def _said(text: str, key: str, rules: FrontMatterRules) -> str:
    """Return the value of the front matter key `key` of a text; empty if it is missing.

    Plain words are found by a pattern; any other value is parsed, which is a hundred times slower.
    """
    block = front_matter.split(text, rules=rules)
    if block is None:
        return ""
    raw = text[block.block_start : block.block_end]
    found = re.findall(rf"^{key}:[ \t]*(.*?)[ \t]*\r?$", raw, re.M)
    if not found:
        return ""
    if len(found) == 1 and _PLAIN.fullmatch(found[0]) and found[0].lower() not in ("null", "true", "false"):
        return str(found[0])
    return (front_matter.declared(text, key=key, rules=rules) or "").strip()


_KEPT: Mapping[str, str] = {
    "notes": "the notes of a session",
    "log": "the log of a day",
    "kept": "what the agent keeps for itself",
}
"""The file roles that no consolidation changes, with a description of each."""
_ALSO_NEVER_DELETED: Mapping[str, str] = {"index": "an index", "document": "a document of the agent's"}
"""The file roles that a consolidation may edit but not delete or rename, with a description of each."""


class _ScopeOverlay(Struct, frozen=True):
    """The copy of one scope's files in which a run makes its changes, with the files on disk below it."""

    root: ScopeRoot
    files: OverlayFiles
    base: ScopeFiles


class DreamOverlay:
    """Copies in memory of all files that a consolidation may read and change; the disk stays unchanged.

    It has the scopes of the context; the project's scope only with a single project (formats/mux.md section
    10). Thus the overlay enforces the limit to allowed scopes.
    """

    def __init__(
        self, home: Home, context: ScopeContext, usage: UsageLog, stale: Sequence[CheckedClaim] = ()
    ) -> None:
        """Open the scopes of `context`; `stale` are statements in its memories that are no longer true."""
        self.stale = tuple(stale)
        self._home = home
        self._comparable = partial(comparable, home)
        self._usage_log = usage
        self._usage = usage.load()
        self._scopes: dict[str, _ScopeOverlay] = {}
        for scope in Scope:
            with contextlib.suppress(ScopeUnavailable):
                root = home.scope_root(context, scope)
                base = RootedDirectory(root.directory, without=root.without, private=root.private)
                self._scopes[root.key] = _ScopeOverlay(root, OverlayFiles(base), base)
        self._store = MemoryStore(home, context, self._files_of, NoChangeListener())
        self._before: dict[str, str] = {}
        self.noticed: Sequence[NoticedPair] = ()
        """Pairs of lines that the model left for a person; the rules' own pairs are computed when
        requested."""
        self._undeletable: frozenset[Scope] = frozenset()

    @property
    def caps(self) -> Caps:
        """The home's limits for memories."""
        return self._home.caps

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes that a consolidation may read and change."""
        return frozenset(overlay.root.scope for overlay in self._scopes.values())

    def guard(self, *, budget: int, dry_run: bool, undeletable: frozenset[Scope] = frozenset()) -> Guard:
        """Return a guard around the commands that change this overlay, with the limits of the run.

        `budget`: the number of changes that are allowed. `dry_run`: nothing will be written to disk. Nothing
        may be deleted from the scopes in `undeletable`.
        """
        self._undeletable = undeletable
        rails = Rails(self.scopes, budget, self.is_protected, dry_run, undeletable, self._kept)
        return Guard(MemoryCommands(self._store, count_reads=False), rails)

    def is_protected(self, path: MemoryPath) -> bool:
        """Return True if the path is pinned or has a pinned memory below it."""
        key = self._key(path)
        return key is not None and any(
            usage.pinned and (pinned == key or pinned.startswith(key + "/"))
            for pinned, usage in self._usage.items()
        )

    def pinned_meanwhile(self) -> tuple[str, ...]:
        """Return the paths that this run deletes or moves and that were pinned since the run began."""
        usage = self._usage_log.load()
        found = []
        for change in self.changes():
            key = None if change.after is not None else self._home.usage_key(change.root, change.rel)
            if key in usage and usage[key].pinned and not self._usage.get(key, MemoryUsage()).pinned:
                found.append(str(memory_path(change.root.scope, change.rel)))
        return tuple(found)

    def notes(self, check: Callable[[], None]) -> tuple[Note, ...]:
        """Return every memory that an engine may change, and store its text as it was before the run.

        Left out are files beyond the caps, without valid text, with a name that no command accepts, or
        reserved by the agent. `check` is called for each file and may raise to stop.
        """
        pinned = {key for key, usage in self._usage.items() if usage.pinned}
        notes: list[Note] = []
        for overlay in self._scopes.values():
            for entry in overlay.files.walk().entries:
                check()
                if entry.kind != "file" or unseen_reason(entry.rel, entry.size, self.caps):
                    continue
                if self._home.file_rule(overlay.root, entry.rel).kind != "editable":
                    continue
                role = self._home.file_role(overlay.root, entry.rel)
                if role in _KEPT:
                    continue
                path = memory_path(overlay.root.scope, entry.rel)
                text = self._text(overlay, entry.rel)
                if text is None:
                    continue
                key = self._home.usage_key(overlay.root, entry.rel)
                usage = self._usage.get(key or "", MemoryUsage())
                self._before[str(path)] = text
                protected = key in pinned or path.scope in self._undeletable
                used, written = usage.access_count, usage.last_write_at
                notes.append(
                    Note(
                        str(path),
                        text,
                        protected,
                        used,
                        written,
                        role == "index",
                        self._comparable,
                        role == "document",
                        is_write_protected(entry.mode),
                    )
                )
        return tuple(notes)

    def left_out(self) -> tuple[str, ...]:
        """Return the memory paths of the files that the last call of `notes` left out."""
        return tuple(
            path
            for overlay in self._scopes.values()
            for entry in overlay.files.walk().entries
            if entry.kind == "file"
            and (path := f"/memories/{overlay.root.scope.value}/{entry.rel}") not in self._before
        )

    def write_protected(self) -> tuple[str, ...]:
        """Return the paths of memories that no run changes because they are write-protected.

        See `files.atomic` for write protection.
        """
        return tuple(
            str(memory_path(overlay.root.scope, entry.rel))
            for overlay in self._scopes.values()
            for entry in overlay.base.walk().entries
            if entry.kind == "file"
            and is_write_protected(entry.mode)
            and self._home.file_rule(overlay.root, entry.rel).kind == "editable"
        )

    def preserved_texts(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the content to preserve of each memory, before and after the run, by memory path.

        See `comparable` for this content.
        """
        before, after = self.graded_texts()
        essence = {text: self._comparable(text).text for text in {*before.values(), *after.values()}}
        return (
            {path: essence[text] for path, text in before.items()},
            {path: essence[text] for path, text in after.items()},
        )

    def graded_texts(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the texts of all memories before and after the run, by memory path, as they are on disk."""
        before = dict(self._before)
        after = dict(before)
        for change in self.changes():
            path = str(memory_path(change.root.scope, change.rel))
            after.pop(path, None)
            if change.before is not None:
                before[path] = change.before.decode("utf-8", "replace")
            if change.after is not None:
                after[path] = change.after.decode("utf-8", "replace")
        return before, after

    def loaded(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        """Return the part of `texts`, all texts by path, that an agent would load at the start of a session.

        This is the part of an index above the line at which the agent cuts it off, files that the agent loads
        whole, and under the name `index` the list of descriptions that the agent makes itself.
        """
        found: dict[str, str] = {}
        listed: list[str] = []
        for path, text in texts.items():
            if not path.startswith(f"{ROOT}/"):
                found[path] = text  # a file of the project, which an agent reads as a whole
                continue
            parsed = parse_memory_path(path)
            root = next(
                (each.root for each in self._scopes.values() if each.root.scope is parsed.scope), None
            )
            if root is None:
                continue
            if self._home.file_role(root, parsed.rel) == "index":
                found[path] = cut_of(text).loaded
            elif self._home.loads_whole(root, parsed.rel):
                found[path] = text
            elif self._home.lists_descriptions:
                said = description(text.encode()[: self.caps.description_prefix_bytes], self.caps).text
                listed.append(f'- {path} — "{escaped(said)}"' if said else f"- {path}")
        if listed:
            found["index"] = "\n".join(listed)
        return found

    def follow(self, ops: Sequence[Mapping[str, Any]], *, but: Collection[str] = ()) -> tuple[str, ...]:
        """Update indexes and links in the overlay for the changes so far; return the changed memory paths.

        `but`: the memory paths of files to leave unchanged. `ops`: the operations of the run, which show
        which changes are renames.
        """
        before, after = self.graded_texts()
        moved = renamed_files(ops, before, after)
        followed = []
        rules = self._home.consolidation
        for overlay in self._scopes.values():
            if not overlay.files.changes(overlay.root):
                continue
            if rules is None or not any(
                entry.kind == "file" and self._home.file_role(overlay.root, entry.rel) == "index"
                for entry in overlay.files.walk().entries
            ):
                continue
            change = self._root_change(overlay, moved)
            for rel, text in rules.index_updates(overlay.root, change).items():
                path = str(memory_path(overlay.root.scope, rel))
                data = text.encode()
                entry = overlay.base.entry(rel)
                if entry is not None and is_write_protected(entry.mode):
                    continue
                if path not in but and len(data) <= max(self.caps.file_bytes, len(overlay.files.read(rel))):
                    overlay.files.write(rel, data)
                    followed.append(path)
        return tuple(followed)

    def adopt(self, changes: Iterable[FileChange]) -> None:
        """Make changes in this copy of the memories that were planned elsewhere."""
        for change in in_order(changes):
            files = self._scopes[change.root.key].files
            if change.after is not None:
                entry = files.entry(change.rel)
                if entry is not None and entry.kind == "directory":
                    files.remove(change.rel)  # It is empty: the plan deleted every file in it.
                files.write(change.rel, change.after, mode=change.mode)
            elif files.entry(change.rel) is not None:
                files.remove(change.rel)

    def bring_in(self, path: str, text: str) -> bool:
        """Write a memory with exactly this text; return False if it has the text already.

        `path`: its memory path. Raises `UserError` if the agent would not accept the name or the text, or if
        no run may change the file.
        """
        parsed, root, files = self._store.resolve(path)
        if is_hidden(parsed.rel):
            raise PathRuleError(f"{parsed} is hidden: no run changes a name that begins with a dot.")
        if kept := self._kept("create", parsed):
            raise StoreError(kept)
        rule = self._home.file_rule(root, parsed.rel)
        if rule.kind != "editable":
            raise StoreError(rule.sentence)
        entry = files.entry(parsed.rel)
        if entry is None or entry.kind != "file":
            self._store.create(parsed, text)
            return True
        if files.read(parsed.rel) == text.encode("utf-8"):
            return False
        self._store.edit(parsed, lambda _before: text)
        return True

    def _root_change(self, overlay: _ScopeOverlay, moved: Mapping[str, str]) -> RootChange:
        """Return the changes so far in the scope of `overlay`; `moved` maps old memory paths to new ones."""
        after: dict[str, str] = {}
        for entry in overlay.files.walk().entries:
            if entry.kind == "file" and self._home.file_rule(overlay.root, entry.rel).kind == "editable":
                text = self._text(overlay, entry.rel)
                if text is not None:
                    after[entry.rel] = text
        before = dict(after)
        for change in overlay.files.changes(overlay.root):
            before.pop(change.rel, None)
            if change.before is not None:
                before[change.rel] = change.before.decode("utf-8", "replace")
        top = len(str(memory_path(overlay.root.scope, "")).rstrip("/")) + 1
        scope = str(memory_path(overlay.root.scope, "")).rstrip("/") + "/"
        renames = {old[top:]: new[top:] for old, new in moved.items() if old.startswith(scope)}
        heirs = [rel for rel in after if self._home.file_role(overlay.root, rel) == "memory"]
        return root_change(before, after, renames, heirs_among=heirs, rules=self.caps.front_matter)

    def _kept(self, command: str, path: MemoryPath) -> str:
        """Return why the command `command` must not change a path, as a sentence; empty if it may.

        The reason is the role of the file for the agent, such as an index.
        """
        overlay = next((found for found in self._scopes.values() if found.root.scope is path.scope), None)
        if overlay is None or not path.segments:
            return ""
        if kept := _KEPT.get(self._home.file_role(overlay.root, path.rel)):
            return f"{path} contains {kept}, which this type of run does not change."
        if command not in ("delete", "rename"):
            return ""
        for entry in overlay.files.walk().entries:
            if entry.kind == "file" and (entry.rel == path.rel or entry.rel.startswith(f"{path.rel}/")):
                role = self._home.file_role(overlay.root, entry.rel)
                if role != "memory":
                    what = _KEPT.get(role) or _ALSO_NEVER_DELETED[role]
                    return f"{path} is or contains {what}, which no run deletes or renames."
        return ""

    def changes(self) -> Sequence[FileChange]:
        """Return every changed file, in an order in which the changes can be carried out."""
        return in_order(
            change for overlay in self._scopes.values() for change in overlay.files.changes(overlay.root)
        )

    def emptied(self) -> Sequence[tuple[ScopeRoot, str]]:
        """Return the directories to remove once they are empty, as `(root, path)`.

        Deepest first in each root.
        """
        return [
            (overlay.root, rel)
            for overlay in self._scopes.values()
            for rel in overlay.files.removed_directories()
        ]

    def usage_delta(
        self, ops: Sequence[Mapping[str, Any]], *, now: int, heir: str = ""
    ) -> tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]:
        """Return the usage entries that the applied operations change, before and after, by usage key.

        A write by a run does not count as a use, because the agent loads the most used memories. `heir`: the
        memory that is pinned afterwards if a deleted one was; empty for none.
        """
        after: dict[str, MemoryUsage | None] = dict(self._usage)
        for op in ops:
            if op["applied"] or op.get("note") == DRY_RUN_NOTE:
                self._count(after, op, now)
        was_pinned = any(usage.pinned and after[key] is None for key, usage in self._usage.items())
        if heir and was_pinned and (key := self._key(parse_memory_path(heir))) is not None:
            after[key] = replace(after.get(key) or MemoryUsage(), pinned=True)
        touched = {key for key in after if after[key] != self._usage.get(key)}
        return {key: self._usage.get(key) for key in touched}, {key: after[key] for key in touched}

    def savepoint(self) -> Mapping[str, Savepoint]:
        """Return the present state of this copy of the memories, to be restored by `rollback`."""
        return {key: overlay.files.savepoint() for key, overlay in self._scopes.items()}

    def rollback(self, savepoint: Mapping[str, Savepoint]) -> None:
        """Discard all changes since `savepoint`, a state that the method `savepoint` returned."""
        for key, overlay in self._scopes.items():
            overlay.files.rollback(savepoint[key])

    def _count(self, usage: dict[str, MemoryUsage | None], op: Mapping[str, Any], now: int) -> None:
        """Apply the operation `op` to the entries in `usage`; a rename moves them, a delete removes them."""
        key = self._key(parse_memory_path(op["path"]))
        if key is None:
            return
        if op["command"] == "delete":
            for below in _subtree(usage, key):
                usage[below] = None
            return
        if op["command"] == "rename":
            new_key = self._key(parse_memory_path(op["newPath"]))
            if new_key is None:
                return
            for below in _subtree(usage, key):
                usage[new_key + below[len(key) :]], usage[below] = usage[below], None
            key = new_key
        usage[key] = written(usage.get(key), now)

    def _key(self, path: MemoryPath) -> str | None:
        overlay = next((found for found in self._scopes.values() if found.root.scope is path.scope), None)
        return None if overlay is None else self._home.usage_key(overlay.root, path.rel)

    def _files_of(self, root: ScopeRoot) -> OverlayFiles:
        return self._scopes[root.key].files

    @staticmethod
    def _text(overlay: _ScopeOverlay, rel: str) -> str | None:
        """Return the text of the file `rel`; None if it has vanished or is not valid UTF-8 text.

        Such files are left unchanged.
        """
        try:
            text = overlay.files.read(rel).decode("utf-8")
        except (UnicodeDecodeError, UserError):
            return None
        return None if "\0" in text else text


def _subtree(usage: Mapping[str, MemoryUsage | None], key: str) -> list[str]:
    return [
        found for found in usage if usage[found] is not None and (found == key or found.startswith(key + "/"))
    ]
