"""The reading of the facts from which the context of an agent is assembled (`context.facts`).

A file is read again only if its stamp changed.

Threading: `gather` blocks; any thread but the GUI's. Failure: a file that cannot be read has no data, and the
view reports this; a home that vanished raises `Unavailable`. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reverie.agents.base import Home
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.prompt import prompt_settings
from reverie.agents.codex.store import SUMMARY
from reverie.agents.loki.home import LokiHome
from reverie.agents.memory_index import INDEX
from reverie.agents.never_opened import never_opened
from reverie.agents.scopes import Scope, ScopeContext
from reverie.context.facts import SCOPES, UNREAD, ContextFacts, Stamp, Text, candidates
from reverie.context.marks import marks_of
from reverie.context.session_record import read_record
from reverie.failures.lessons import SWITCH, is_on, retrieve
from reverie.files.directory import is_file, is_link, read_regular
from reverie.memory.hot_set import BUDGETS, ranked
from reverie.memory.listing import MemoryFile, ScopeListing, is_gone, read_rel
from reverie.memory.paths import memory_path
from reverie.values import replace

COMPANION_BYTES = 4 << 20


def gather(
    home: Home,
    context: ScopeContext,
    listings: Mapping[Scope, ScopeListing],
    *,
    times: Iterable[int],
    before: ContextFacts | None = None,
) -> ContextFacts:
    """Read and return all facts needed to show what the agent would load at any of `times` (UTC ms).

    `context`: the workspace and project of the session; `listings`: the memories of each scope. `before`:
    earlier facts of the same home; texts whose files are unchanged are reused. Raises `Unavailable` if the
    home vanished.
    """
    reader = _TextReader(home, before if before is not None and before.agent == home.kind else None)
    companions = home.companions(context)
    facts = ContextFacts(home.kind, home.caps, context, listings, companions, reader.texts)
    for companion in companions:
        if companion.exists and not companion.unopened and companion.loading not in UNREAD:
            reader.companion(companion.path)
    if isinstance(home, CodexHome):
        prompt = prompt_settings(home.root)
        reader.named(facts, lambda scope, rel: rel == SUMMARY)
        facts = replace(facts, off=prompt.off, prompt=prompt)
    elif isinstance(home, ClaudeHome):
        facts = replace(
            facts,
            off=home.memory_off(context),
            loads_nothing=home.loads_nothing(context),
            moved_by_project=home.moved_by_project(context),
            memory_outside=home.memory_outside(context),
            failed_imports=home.failed_imports(context),
        )
        reader.named(facts, lambda scope, rel: scope is Scope.PROJECT and rel == INDEX)
        facts = replace(facts, record=read_record(home, context))
        reader.linked_index(facts)
    elif isinstance(home, LokiHome):
        on = is_on(os.environ)
        lessons = {at: retrieve(home.memory, now_ms=at, on=on) for at in times}
        facts = replace(facts, off="" if on else SWITCH, lessons=lessons)
    elif home.kind == "mux":
        reader.hot(facts, times)
    return replace(facts, texts=dict(reader.texts), real_paths=_real_paths(facts, reader.texts))


def _real_paths(facts: ContextFacts, texts: Iterable[str]) -> dict[str, str]:
    """Return path -> real path for each path that has a symbolic link in it, for `ContextFacts.real_paths`.

    The paths are those in `texts`, in the session's record and in the project's memory. They are resolved
    here because the home may be on another machine than the window. Empty if no session is recorded.
    """
    record, listing = facts.record, facts.listings.get(Scope.PROJECT)
    if record.at is None and not record.recalls:
        return {}
    paths = [*texts, *(each.path for each in record.files), *record.recalled]
    if listing is not None and listing.root is not None:
        files = [file.rel for file in listing.files] if record.recalls else []
        paths += [str(listing.root.directory / rel) for rel in (INDEX, *files)]
    found = ((path, os.path.realpath(path)) for path in dict.fromkeys(paths))
    return {path: real for path, real in found if real != path}


class _TextReader:
    """Reads files into the dict `texts`.

    If a file is unchanged since the earlier facts `before` were read, its text is taken from these.
    """

    def __init__(self, home: Home, before: ContextFacts | None) -> None:
        self.texts: dict[str, Text] = {}
        self._caps = home.caps
        self._before: Mapping[str, Text] = {} if before is None else before.texts

    def companion(self, path: Path) -> None:
        """Read at most the first `COMPANION_BYTES` of `path`, a file that the agent loads with its memories.

        The result is stored in `texts`; for a file that cannot be read, a `Text` without data.
        """
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            if self._keep(key, stamp):
                return
            data: bytes | None = read_regular(path, COMPANION_BYTES)
        except OSError as error:
            is_gone(error)
            data, stamp = None, (0, 0, 0)
        self._put(key, data, stamp[0], stamp, path.name)

    def named(self, facts: ContextFacts, wanted: Callable[[Scope, str], bool]) -> None:
        """Read each memory in `facts` for which `wanted` returns True, in full, and store it in `texts`.

        `wanted` is called with the scope and the path of the memory in that scope.
        """
        for scope in SCOPES:
            for file in facts.files(scope):
                if wanted(scope, file.rel):
                    self._memory(facts, scope, file, file.size)

    def linked_index(self, facts: ContextFacts) -> None:
        """Read the index into `texts` if it is a symbolic link; do nothing otherwise.

        The listings in `facts` contain no links, but the agent follows a link to the index.
        """
        listing = facts.listings.get(Scope.PROJECT)
        if listing is None or listing.root is None:
            return
        path = listing.root.directory / INDEX
        if is_link(path) and is_file(path) and not never_opened(path, Path(os.path.realpath(path))):
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            try:
                data: bytes | None = read_regular(path, COMPANION_BYTES)
            except OSError as error:
                is_gone(error)
                data = None
            self._put(str(memory_path(Scope.PROJECT, INDEX)), data, status.st_size, stamp, INDEX)

    def hot(self, facts: ContextFacts, times: Iterable[int]) -> None:
        """Read into `texts` the memories in `facts` that the agent may load in full (its hot set).

        `times`: the times (UTC ms) at which a session may start; the hot set depends on the time.
        """
        entries = candidates(facts.index())
        wanted = {each.candidate.path for at in times for each in ranked(entries, at)[: BUDGETS.tries]}
        for scope in SCOPES:
            for file in facts.files(scope):
                if str(memory_path(scope, file.rel)) in wanted:
                    self._memory(facts, scope, file, BUDGETS.item_bytes + 1)

    def _memory(self, facts: ContextFacts, scope: Scope, file: MemoryFile, limit: int) -> None:
        root = facts.listings[scope].root
        assert root is not None  # a listing with files has one
        key, stamp = str(memory_path(scope, file.rel)), (file.size, file.mtime_ns, file.inode)
        if self._keep(key, stamp):
            return
        data: bytes | None
        try:
            _status, data = read_rel(os.fspath(root.directory), file.rel, limit)
        except OSError as error:
            is_gone(error)
            data = None
        self._put(key, data, file.size, stamp, file.rel)

    def _keep(self, key: str, stamp: Stamp) -> bool:
        """Take the text of `key` from the earlier facts if its stamp is `stamp` (the file is unchanged).

        Returns True if there was such a text, which is now in `texts`; False if the file must be read.
        """
        known = self._before.get(key)
        if known is None or known.stamp != stamp or known.data is None:
            return False
        self.texts[key] = known
        return True

    def _put(self, key: str, data: bytes | None, size: int, stamp: Stamp, rel: str) -> None:
        findings = () if data is None else marks_of(data, self._caps, rel, size)
        self.texts[key] = Text(data, size, stamp, findings)
