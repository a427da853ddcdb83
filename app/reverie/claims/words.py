"""The names and numbers that occur in the texts of a repository: symbols, environment variables, ports.

Prose, lock files and minified code are not searched, because a note that names a thing does not prove that it
exists. Results are cached by object, so that after a commit only new objects are read.

Threading: as in `claims.repository`. Failure: none; texts beyond a limit are left out, and `limits` reports
this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reverie.claims.repository import HistoryCommit, ProjectRepository

MOST_BYTES = 256 << 20


MOST_OLD_BLOBS = 10_000


_MOST_PLACES = 12


_NO_CODE = re.compile(
    r"\.(?:md|mdx|mdc|rst|txt|adoc|lock|svg|png|jpe?g|gif|ico|woff2?|ttf|pdf|zip|gz|map|snap|csv|tsv|ipynb|po|jsonl|parquet)$"
    r"|\.min\.(?:js|css)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb|uv\.lock|LICENSE|CHANGELOG[^/]*)$"
    r"|(?:^|/)(?:node_modules|vendor|third_party|dist)/",
    re.IGNORECASE,
)


_NONE = frozenset[bytes]()


_NUMBERS = re.compile(rb"(?<![\w.])\d{2,5}(?![\w.]\d|\w)")


_SPACED = bytes(
    one if chr(one).isascii() and (chr(one).isalnum() or one == ord("_")) else 32 for one in range(256)
)
"""A translation table for splitting a text into words, in a third of the time of a pattern."""


class RepositoryWords:
    """The words in a repository's present files, and in earlier versions of them."""

    def __init__(self, repository: ProjectRepository) -> None:
        self._repository = repository
        self._wanted = set[bytes]()
        self._found: dict[str, frozenset[bytes]] = {}
        self._old: dict[bytes, frozenset[bytes]] = {}
        self._bytes = 0
        self._lost: dict[bytes, list[tuple[int, str]]] = {}

    def present(self, words: Iterable[str]) -> set[str]:
        """Return the words that are present now, out of `words` and all words of earlier calls.

        A word is present if a file contains it or has this name. If there is too much text to search, all
        words count as present.
        """
        asked = {word.encode() for word in words}
        if not asked <= self._wanted:
            self._wanted |= asked
            self._found.clear()
            self._old.clear()
            self._bytes = 0
        if not self._wanted:
            return set()
        repository = self._repository
        stems = {name.partition(".")[0] for name in repository.now.names}
        present = {word for word in self._wanted if word.decode() in stems}
        for path, (oid, mode) in repository.now.files.items():
            known = self._found.get(oid)
            if known is None:
                known = frozenset[bytes]()
                if mode != 0o120000 and not _NO_CODE.search(path) and self._bytes < MOST_BYTES:
                    data = repository.read(oid) or b""
                    self._bytes += len(data)
                    known = self._wanted_in(data)
                self._found[oid] = known
            present |= known
        if self._bytes >= MOST_BYTES:
            repository.limits.add(f"Names were searched for in only {MOST_BYTES >> 20} MiB of files.")
            return {word.decode() for word in self._wanted}
        return {word.decode() for word in present}

    def _wanted_in(self, data: bytes) -> frozenset[bytes]:
        found = self._wanted.intersection(data.translate(_SPACED).split())
        numbers = {word for word in found if word.isdigit()}
        if numbers:
            found = (found - numbers) | numbers.intersection(_NUMBERS.findall(data))
        return frozenset(found) if found else _NONE

    def look_for(self, words: Iterable[str], since: int) -> None:
        """Find and store the files that lost these words after the commit at position `since`; see `places`.

        The words must be absent from the present files. One pass over the texts that were changed or deleted,
        newest first, finds the files for all words.
        """
        repository, seen = self._repository, set[bytes]()
        wanted = {word.encode() for word in words}
        self._lost = {word: [] for word in wanted}
        for at in range(repository.newest, since) if wanted else ():
            for change in repository.changes_of(at):
                if change.status == "A" or change.raw in seen or _NO_CODE.search(change.path):
                    continue
                if len(seen) >= MOST_OLD_BLOBS:
                    repository.limits.add(f"Names were searched for in only {MOST_OLD_BLOBS:,} older texts.")
                    return
                seen.add(change.raw)
                known = self._old.get(change.raw)
                if known is None:
                    known = self._old[change.raw] = self._wanted_in(repository.read(change.blob) or b"")
                for word in wanted & known:
                    self._lost[word].append((at, change.path))

    def places(self, commit: HistoryCommit, word: str) -> list[str]:
        """Return the files that lost `word` after `commit`, most recent loss first.

        `look_for` must have been called with the word.
        """
        found = (path for at, path in self._lost.get(word.encode(), ()) if at < commit.at)
        return list(dict.fromkeys(found))[:_MOST_PLACES]
