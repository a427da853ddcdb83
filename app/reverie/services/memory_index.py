"""Checks and repairs of the index of a memory directory, and renames that update all links to a memory.

An index is a file, such as `MEMORY.md`, with one line for each memory. `IndexService` is for homes whose
agent keeps one (`Home.file_role`). `look` reads the index and every memory that it covers. Fixes and renames
are planned first, so that a person sees each line that will change. A plan is carried out as one change, by
compare-and-swap against the bytes that it was made from, and can be undone.

Threading: any thread but the GUI's. Failure: `UserError`; `Conflict` if a file changed since.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, zip_longest
from pathlib import Path

from reverie.agents.memory_index import (
    INDEX,
    IndexEditError,
    IndexFinding,
    IndexReport,
    Topic,
    fixes,
    folder_of,
    relinked,
    report,
)
from reverie.agents.scopes import FrontMatterRules, ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, UserError
from reverie.memory import front_matter as frontmatter
from reverie.memory.diff import changed_spans
from reverie.memory.listing import no_check
from reverie.memory.paths import MemoryPath, memory_path
from reverie.memory.scope_files import ScopeFiles, sha256_of_bytes
from reverie.memory.store import MemoryStore
from reverie.services.changes import ChangeSet, lenient_path
from reverie.services.container import HomeContainer
from reverie.services.moves import files_below
from reverie.services.views import HandChange, Undo
from reverie.values import Struct, replace


class IndexCheck(Struct, frozen=True):
    """The result of checking an index, a file with one line for each memory in a folder."""

    path: str
    """The memory path of the index."""
    folder: str
    """The memory path of the folder that the index covers."""
    sha256: str | None
    """The hash of the content that was checked."""
    report: IndexReport


class ChangedLine(Struct, frozen=True):
    """One line that a plan changes."""

    path: str
    """The memory path of the file; for a file that moves, the new path."""
    line: int
    """The number of the line, from 1."""
    before: str
    """The line before the change; empty for an added line."""
    after: str
    """The line after the change; empty for a removed line."""


class IndexPlan(Struct, frozen=True):
    """A plan: either fixes of an index, or renames and moves of files with all changes that they require."""

    targets: Mapping[str, str]
    """The requested renames: old path -> new path. Empty for fixes."""
    changes: tuple[HandChange, ...]
    """All files that are written or deleted."""
    moved: Mapping[str, str]
    """Every file that moves: old path -> new path."""
    emptied: tuple[str, ...]
    """The folders that are empty afterwards."""
    lines: tuple[ChangedLine, ...]
    """The lines that change in the texts of all these files, those of the index first."""


class IndexService:
    """The service that checks and repairs the indexes of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._changes = ChangeSet(parts)

    def look(
        self, context: ScopeContext, path: str, check: Callable[[], None] = no_check
    ) -> IndexCheck | None:
        """Check the index at the memory path `path`; return None if the file is not an index.

        `check` is called repeatedly and may raise to stop.
        """
        store = self._parts.store(context, actor="user")
        parsed, root, _files = store.resolve(lenient_path(path))
        if self._parts.home.file_role(root, parsed.rel) != "index":
            return None
        around = self._around(store, parsed)
        if around is None or around.index != parsed.rel:
            return None
        topics, others = self._topics(around, check)
        data = around.read(INDEX) or b""
        found = report(data.decode("utf-8", "replace"), topics, others)
        return IndexCheck(str(parsed), around.base, sha256_of_bytes(data), found)

    def plan_fixes(
        self, context: ScopeContext, look: IndexCheck, findings: tuple[IndexFinding, ...]
    ) -> IndexPlan:
        """Plan the fixes of some problems of an index, as one change of its text.

        `look`: the result of the check that found the problems. `findings`: the problems to fix. Raises
        `Conflict` if the index changed since the check, `StoreError` if nothing can be fixed.
        """
        store = self._parts.store(context, actor="user")
        parsed = lenient_path(look.path)
        around = self._around(store, parsed)
        data = None if around is None else around.read(INDEX)
        if around is None or data is None or sha256_of_bytes(data) != look.sha256:
            raise Conflict("The index was not changed:", cause="it changed meanwhile.", next_step="Refresh.")
        text = _utf8(data)
        if text is None:
            raise StoreError("The index was not changed.", cause="The index is not UTF-8 text.")
        wanted = {finding.rel for finding in findings if finding.problem == "unlisted"}
        rels = tuple(rel for rel in around.rels if rel in wanted)
        topics, _others = self._topics(replace(around, rels=rels), no_check)
        try:
            texts = [text, *fixes(text, findings, {topic.rel: topic for topic in topics}, around.rels)]
        except IndexEditError as error:
            raise StoreError(
                "The index was not changed.", cause=str(error), next_step="Edit the index by hand."
            ) from error
        change = HandChange(look.path, texts[-1].encode(), look.sha256)
        # Compare after each fix, so that a removed line is not shown as changed into the line after it.
        lines = [each for pair in pairwise(texts) for each in _changed_lines(look.path, *pair)]
        return IndexPlan(
            {}, (change,), {}, (), tuple(sorted(lines, key=lambda each: (not each.before, each.line)))
        )

    def plan_renames(self, context: ScopeContext, targets: Mapping[str, str]) -> IndexPlan | None:
        """Plan renames of memory files or folders, with the changes of links and of the index, as one change.

        `targets`: old memory path -> new memory path. All of these paths, old and new, must be in the folder
        that one index (`MEMORY.md`) covers; otherwise returns None, and the caller renames the files only.
        Raises `StoreError` if a new name is taken.
        """
        store = self._parts.store(context, actor="user")
        asked: dict[str, str] = {}
        moved: dict[str, str] = {}
        emptied: list[str] = []
        index: _Around | None = None
        for old, new in targets.items():
            source, target = lenient_path(old), lenient_path(new)
            around = self._around(store, source)
            if (
                around is None
                or (index is not None and index.base != around.base)
                or source.scope is not target.scope
                or not f"{target}/".startswith(f"{around.base}/")
            ):
                return None
            index = around
            asked[str(source)] = str(target)
            moved.update(files_below(store, str(source), str(target), emptied))
        return (
            None
            if index is None
            else _planned(index, asked, moved, tuple(emptied), self._parts.home.caps.front_matter)
        )

    def apply(self, context: ScopeContext, plan: IndexPlan) -> Undo:
        """Carry out a plan, all or nothing; return the `Undo`.

        Raises `Conflict` if a file has changed since the plan was made.
        """
        return self._changes.apply(
            context,
            plan.changes,
            kind="move" if plan.targets else "restore",
            subject="Renamed by hand" if plan.targets else "Index fixed by hand",
            moved=plan.moved,
            emptied=plan.emptied,
        )

    def follow_rename(
        self, context: ScopeContext, plan: IndexPlan, *, actor: str, changed: Callable[[Path], None]
    ) -> list[str]:
        """Update the index and the links as planned, after the files have been renamed one by one.

        `plan`: the changes, planned before the rename. `actor`: their author. `changed` is called with each
        written path. Returns a sentence for each text that was changed meanwhile and therefore left as it is.
        """
        store = self._parts.store(context, actor=actor, after_change=changed)
        left = []
        ours = {line.path for line in plan.lines}
        moved = {after: before for before, after in plan.moved.items()}
        for change in plan.changes:
            if change.path not in ours or change.after is None:
                continue
            expected = change.expected_sha256
            if change.path in moved:
                expected = store.read_text(change.path, as_use=False).sha256
            try:
                store.save(change.path, change.after.decode("utf-8"), expected)
            except Conflict:
                left.append(f"{change.path} changed meanwhile, so its links still use the old name.")
            except UserError as error:
                left.append(f"The links in {change.path} still use the old name. {error}")
        return left

    def _around(self, store: MemoryStore, path: MemoryPath) -> _Around | None:
        """Return the nearest folder above `path` that has its own index, with its files; None if none has."""
        _path, root, files = store.resolve(path)
        there = [entry.rel for entry in files.walk().entries if entry.kind == "file"]
        folders = {
            posixpath.dirname(rel)
            for rel in there
            if posixpath.basename(rel) == INDEX and self._parts.home.file_role(root, rel) == "index"
        }

        folder = folder_of(path.rel, folders)
        if folder is None:
            return None
        prefix = f"{folder}/" if folder else ""
        rels = tuple(rel[len(prefix) :] for rel in there if folder_of(rel, folders) == folder)
        return _Around(root, files, prefix, rels)

    def _topics(self, around: _Around, check: Callable[[], None]) -> tuple[list[Topic], list[str]]:
        """Return the memories that an index covers, and the paths of the other files in its folder.

        The other files are no memories, or a person cannot edit them; the index needs no line for them.
        `around`: the folder of the index with its files. `check` is called for each file and may raise to
        stop.
        """
        topics, others, home = [], [], self._parts.home
        rules = home.caps.front_matter
        for rel in around.rels:
            check()
            full = f"{around.prefix}{rel}"
            is_topic = rel.endswith(".md") and home.file_role(around.root, full) == "memory"
            if not is_topic or home.file_rule(around.root, full).kind != "editable":
                others.append(rel)
                continue
            text = (around.read(rel) or b"").decode("utf-8", "replace")
            name, description = (
                frontmatter.declared(text, key=key, rules=rules) for key in ("name", "description")
            )
            topics.append(Topic(rel, text, name, description))
        return topics, others


class _Around(Struct, frozen=True):
    """A folder with an index, and the files that the index covers."""

    root: ScopeRoot
    files: ScopeFiles
    prefix: str
    """The path of the folder in the root, with a `/` at its end; empty for the root itself."""
    rels: tuple[str, ...]
    """The paths of the covered files inside the folder, without files that another index covers."""

    @property
    def index(self) -> str:
        return f"{self.prefix}{INDEX}"

    @property
    def base(self) -> str:
        """The memory path of the folder."""
        return str(memory_path(self.root.scope, self.prefix.rstrip("/"))).rstrip("/")

    def read(self, rel: str) -> bytes | None:
        """Read the file at the relative path `rel`; None if it cannot be read now."""
        try:
            return self.files.read(f"{self.prefix}{rel}")
        except UserError:
            return None


def _planned(
    around: _Around,
    targets: Mapping[str, str],
    moved: Mapping[str, str],
    emptied: tuple[str, ...],
    rules: FrontMatterRules,
) -> IndexPlan:
    if len(set(moved.values())) < len(moved):
        cause = "Two files cannot have the same name."
        raise StoreError(f"{next(iter(targets))} was not renamed.", cause=cause)
    cut = len(around.base) + 1
    raw = {rel: data for rel in around.rels if rel.endswith(".md") and (data := around.read(rel)) is not None}
    texts = {rel: text for rel, data in raw.items() if (text := _utf8(data)) is not None}
    inside = {old[cut:]: new[cut:] for old, new in moved.items()}
    # Links by these names remain valid when a file is renamed.
    names = {frontmatter.declared(text, key="name", rules=rules) or "" for text in texts.values()} - {""}
    after = {inside.get(rel, rel): text for rel, text in texts.items()}
    origins = {new: old for old, new in inside.items()}
    becomes = {
        rel: text
        for rel, text in relinked(after, {old: inside[old] for old in texts.keys() & inside}, names).items()
        if text != texts[origins.get(rel, rel)]
    }
    changes: list[HandChange] = []
    for old, new in inside.items():
        data = around.files.read(f"{around.prefix}{old}")
        entry = around.files.entry(f"{around.prefix}{old}")
        written = becomes[new].encode() if new in becomes else data
        mode = None if entry is None else entry.mode & 0o777
        changes += [
            HandChange(f"{around.base}/{new}", written, None, mode),
            HandChange(f"{around.base}/{old}", None, sha256_of_bytes(data)),
        ]
    lines: list[ChangedLine] = []
    for rel, text in becomes.items():
        if rel not in origins:
            changes.append(HandChange(f"{around.base}/{rel}", text.encode(), sha256_of_bytes(raw[rel])))
        lines += _changed_lines(f"{around.base}/{rel}", texts[origins.get(rel, rel)], text)
    lines.sort(key=lambda line: (line.path != f"{around.base}/{INDEX}", line.path, line.line))
    return IndexPlan(targets, tuple(changes), moved, emptied, tuple(lines))


def _changed_lines(path: str, before: str, after: str) -> Iterator[ChangedLine]:
    """Yield the lines that differ between two versions of a text."""
    was, now = ([line.rstrip("\r") for line in text.split("\n")] for text in (before, after))
    for span in changed_spans(was, now):
        old, new = was[span.old_start : span.old_end], now[span.new_start : span.new_end]
        for number, (gone, come) in enumerate(zip_longest(old, new, fillvalue=""), 1):
            start = span.old_start if number <= len(old) else span.new_start
            yield ChangedLine(path, start + number, gone, come)


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
