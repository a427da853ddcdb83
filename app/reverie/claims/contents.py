"""Which names and numbers occur in the texts of a repository: symbols, environment variables, ports.

Prose, lock files and minified code do not count: that a note names a thing is no proof that it is there. What
was read is kept by its object, so that after a commit only new objects are read.

Threading: as `claims.repository`. Failure: none; texts above a bound are left out, which `limits` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reverie.claims.repository import Commit, ProjectRepository

MOST_BYTES = 256 << 20
MOST_OLD_BLOBS = 8_000
MOST_OLD_STATES = 400
_NO_CODE = re.compile(
    r"\.(?:md|mdx|mdc|rst|txt|adoc|lock|svg|png|jpe?g|gif|ico|woff2?|ttf|pdf|zip|gz|map|snap|csv|tsv|ipynb|po|jsonl|parquet)$"
    r"|\.min\.(?:js|css)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb|uv\.lock|LICENSE|CHANGELOG[^/]*)$"
    r"|(?:^|/)(?:node_modules|vendor|third_party|dist)/",
    re.IGNORECASE,
)
_WORDS = re.compile(rb"[A-Za-z_]\w{2,}|(?<![\w.])\d{2,5}(?![\w.]\d|\w)")


class Contents:
    """The words of a repository's files as it stands now, and of what it held before."""

    def __init__(self, repository: ProjectRepository) -> None:
        self._repository = repository
        self._wanted = set[bytes]()
        self._found: dict[str, frozenset[bytes]] = {}
        self._old: dict[str, frozenset[bytes]] = {}
        self._old_wanted = frozenset[bytes]()
        self._states: dict[str, list[tuple[str, str]]] = {}
        self._read_old = 0

    def present(self, words: Iterable[str]) -> set[str]:
        """Those of `words` that occur in a file now, or are the name of one."""
        asked = {word.encode() for word in words}
        if not asked <= self._wanted:
            self._wanted |= asked
            self._found.clear()
        repository, total = self._repository, 0
        present = {word for word in asked if word.decode() in self._stems()}
        for path, (oid, mode) in repository.now.files.items():
            known = self._found.get(oid)
            if known is None:
                known = frozenset[bytes]()
                if mode != 0o120000 and not _NO_CODE.search(path) and total < MOST_BYTES:
                    data = repository.read(oid) or b""
                    total += len(data)
                    known = frozenset(self._wanted.intersection(_WORDS.findall(data)))
                self._found[oid] = known
            present |= known
        if total >= MOST_BYTES:
            repository.limits.add(f"Names were looked up in {MOST_BYTES >> 20} MiB of files only.")
            return {word.decode() for word in asked}
        return {word.decode() for word in present & asked}

    def _stems(self) -> set[str]:
        return {name.partition(".")[0] for name in self._repository.now.names}

    def look_for(self, words: Iterable[str]) -> None:
        """What `places` will be asked for: words that do not occur now."""
        wanted = frozenset(word.encode() for word in words)
        if not wanted <= self._old_wanted:
            self._old_wanted |= wanted
            self._old.clear()

    def places(self, commit: Commit, word: str) -> list[str]:
        """The files that had `word` at a commit, of those that have changed or gone since."""
        repository = self._repository
        changed = self._states.get(commit.id)
        if changed is None:
            if len(self._states) >= MOST_OLD_STATES:
                repository.limits.add(f"Names were compared with {MOST_OLD_STATES} older states only.")
                return []
            changed = self._states[commit.id] = repository.changed_since(commit)
        asked, found = word.encode(), list[str]()
        for path, oid in changed:
            if _NO_CODE.search(path):
                continue
            known = self._old.get(oid)
            if known is None:
                if self._read_old >= MOST_OLD_BLOBS:
                    repository.limits.add(f"Names were looked up in {MOST_OLD_BLOBS:,} older texts only.")
                    return found
                self._read_old += 1
                data = repository.read(oid) or b""
                known = self._old[oid] = frozenset(self._old_wanted.intersection(_WORDS.findall(data)))
            if asked in known:
                found.append(path)
        return found
