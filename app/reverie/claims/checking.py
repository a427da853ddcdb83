"""The check whether the claims of notes hold, are gone, have moved or changed, and since which commit.

A claim is stale only if it held when its line was written and does not hold now. A line counts as written in
the commit that added it to the note or, for a note outside the repository, in the last commit before the line
was written. A claim is unknown if it never held in the known history, or if it is muted (`claims.finding`),
ignored or in a submodule.

Threading: as in `claims.repository`. Failure: none of its own; data that cannot be read proves nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath

from reverie.claims.finding import Claim, ClaimKind, find_claims, plain_path
from reverie.claims.manifests import (
    NOTHING,
    RUNTIMES,
    Manifest,
    agrees,
    as_claimed,
    is_manifest,
    package_name,
    parse_manifest,
)
from reverie.claims.repository import HistoryCommit, ProjectRepository
from reverie.claims.words import RepositoryWords
from reverie.values import Struct, replace

_TREE = 0o040000
_PATHS = (ClaimKind.PATH, ClaimKind.FILE, ClaimKind.DIR, ClaimKind.FILELINE, ClaimKind.LINK)
_WORDS = (ClaimKind.SYMBOL, ClaimKind.ENV, ClaimKind.PORT)
_MOST_NAMESAKES = 3


class ClaimState(StrEnum):
    """The result of checking a claim (a statement of a note that a repository can confirm).

    `HOLDS`: the claim is true now. `GONE`: the thing that it names no longer exists. `MOVED`: that thing has
    another path or line. `CHANGED`: it has another value, such as a version. `UNKNOWN`: the claim never held
    in the known history, or it is of a sort that is not judged.
    """

    HOLDS = "holds"
    GONE = "gone"
    MOVED = "moved"
    CHANGED = "changed"
    UNKNOWN = "unknown"

    @property
    def is_stale(self) -> bool:
        """Whether the claim held once and no longer does."""
        return self in (ClaimState.GONE, ClaimState.MOVED, ClaimState.CHANGED)


class CheckedNote(Struct, frozen=True):
    """A note whose claims (statements that a repository can confirm) are checked."""

    path: str
    """The path for display."""
    text: str
    place: str = ""
    """The path in the repository; empty for a note elsewhere."""
    written_s: int | None = None
    """The time at which a note outside the repository was last written, in seconds since 1970.

    None if unknown.
    """
    line_times: Callable[[], Mapping[str, int]] = dict
    """A function that returns the known times at which the note's lines were written.

    The times are in seconds since 1970, by stripped line. It is called only for a note outside the
    repository, and only if needed.
    """
    neighbours: frozenset[str] = frozenset()
    """The names of the notes in the same scope, to which links may lead.

    Empty for a note inside the repository.
    """
    everything: bool = False
    """Whether to check the claims even if the note's name or title says that it is about the past, or a plan.
    """


class Evidence(Struct, frozen=True):
    """The commit since which a claim no longer holds."""

    commit: str
    date: str
    """The date of the commit in ISO 8601, UTC."""
    subject: str


class CheckedClaim(Struct, frozen=True):
    """A claim (a statement of a note that a repository can confirm) and the result of its check.

    `line`, `start`, `kind` and `token` are as in `Claim`.
    """

    path: str
    """The path of the note, for display."""
    line: int
    start: int
    kind: ClaimKind
    token: str
    state: ClaimState
    to: str = ""
    """The new path, version, command or port; empty if there is none."""
    replacement: str = ""
    """The text that replaces the token; empty if no text fits in its place."""
    written_at: str = ""
    """The id of the commit with which the claim was compared; empty for none."""
    evidence: Evidence | None = None
    """The commit since which a stale claim no longer holds; None if there is no such commit."""
    history: bool = False
    """Whether the name or the title of the note says that it is about the past, or a plan.

    Such a claim is stale only if the check was asked for everything, and it is never corrected.
    """


class _Fate(Struct, frozen=True):
    state: ClaimState
    commit: HistoryCommit | None = None
    to: str = ""
    replacement: str = ""
    claim: Claim | None = None


class _Known(Struct):
    """The claims of a note and their results, cached until something that the claims name changes."""

    note_text: str
    claims: tuple[Claim, ...]
    words: frozenset[str]
    """The symbols, environment variables and ports in the claims, which are searched in files."""
    names: frozenset[str]
    """`words`, and the last part of every path in the claims; a change of one of them discards `checked`."""
    beside: int
    """A hash of `CheckedNote.neighbours`, the names of notes to which links in this note may lead."""
    checked: tuple[CheckedClaim, ...] | None = None
    """The results; None if the claims must be checked."""
    everything: bool = False
    """The value of `CheckedNote.everything` with which the claims were found."""


_UNKNOWN = _Fate(ClaimState.UNKNOWN)
_HOLDS = _Fate(ClaimState.HOLDS)


def check_existence(project: Path, note: CheckedNote) -> list[CheckedClaim]:
    """Return the claims of `note`, checked in a project without a repository.

    A claim about a path holds if the path exists; every other claim is unknown, and none is stale.
    """
    checked = []
    for claim in find_claims(note.text, note.path, everything=note.everything):
        holds = claim.kind in _PATHS and os.path.lexists(project / claim.value)
        state = ClaimState.HOLDS if holds else ClaimState.UNKNOWN
        checked.append(CheckedClaim(note.path, claim.line, claim.start, claim.kind, claim.token, state))
    return checked


def fixed(text: str, checked: Iterable[CheckedClaim]) -> str:
    """Return `text` with the statements that are no longer true corrected, where a correction is known.

    In each stale claim of `checked`, only its token (a path, name or number) is replaced.
    """
    lines = text.splitlines(keepends=True)
    for claim in sorted(checked, key=lambda one: (one.line, one.start), reverse=True):
        if not claim.replacement or not claim.state.is_stale or claim.history or claim.line > len(lines):
            continue
        line, end = lines[claim.line - 1], claim.start + len(claim.token)
        if line[claim.start : end] == claim.token:
            lines[claim.line - 1] = line[: claim.start] + claim.replacement + line[end:]
    return "".join(lines)


def in_one_line(claim: CheckedClaim) -> str:
    """Return a stale claim as one line of text, such as `src/a.py moved to src/b.py (1a2b3c4d5e, ...)`."""
    what = "no longer exists" if claim.state is ClaimState.GONE else claim.state.value
    text = f"{claim.token} {what}" + (f" to {claim.to}" if claim.to else "")
    if claim.evidence is not None:
        evidence = claim.evidence
        text += f" ({evidence.commit[:10]}, {evidence.date[:10]}: {evidence.subject})"
    return text.replace("\n", " ")


class ClaimChecker:
    """A checker of the claims of notes against one repository.

    Reuse it: after `refresh`, it reads only those objects of the repository that are new.
    """

    def __init__(self, repository: ProjectRepository, *, look_at_disk: bool = False) -> None:
        """Create a checker of claims about `repository`.

        `look_at_disk`: count untracked files of the checkout as present.
        """
        self.repository = repository
        self._contents = RepositoryWords(repository)
        self._disk = look_at_disk
        self._manifests: dict[str, dict[str, Manifest]] = {}
        self._manifest_paths: tuple[int, list[str]] = -1, []
        self._present = set[str]()
        self._changed = set[str]()
        """The names of files and directories that changed since the last check."""
        self._known: dict[str, _Known] = {}

    def refresh(self) -> bool:
        """Update the checker to the present HEAD; return False if HEAD is unchanged."""
        paths = self.repository.refresh()
        if paths is None:
            return False
        self._changed |= set(map(_last, paths))
        concerned = set(_PATHS) if ".gitignore" in self._changed else set[ClaimKind]()
        if any(map(is_manifest, self._changed)):
            concerned |= {ClaimKind.COMMAND, ClaimKind.DEPENDENCY}
        for known in self._known.values() if concerned else ():
            if any(claim.kind in concerned for claim in known.claims):
                known.checked = None
        self._manifests.clear()
        self._manifest_paths = -1, []
        return True

    def check(
        self, notes: Iterable[CheckedNote], *, check: Callable[[], None] = lambda: None
    ) -> list[CheckedClaim]:
        """Return the claims of all `notes` with the results of their check, in order.

        `check` is called for each note and may raise to stop.
        """
        found = []
        for note in notes:
            check()
            found.append((note, self._claims_of(note)))
        words = {word for _note, known in found for word in known.words}
        before, self._present = self._present, self._contents.present(words)
        changed = self._changed | (before ^ self._present)
        self._changed = set()
        # Notes that are not checked now are reset too, because a change is reported only once.
        for known in self._known.values() if changed else ():
            if not changed.isdisjoint(known.names):
                known.checked = None
        todo = [(note, known, self._begin(note, known)) for note, known in found if known.checked is None]
        origins, newest = [written for _note, _known, (_fates, written) in todo], self.repository.newest
        since = max((commit.at for written in origins for commit in written.values()), default=newest)
        missing = {claim.value for _n, known, _b in todo for claim in known.claims if claim.kind in _WORDS}
        self._contents.look_for(missing - self._present, since)
        for note, known, (fates, written) in todo:
            check()
            known.checked = tuple(self._finish(note, known.claims, fates, written))
            # The new place may change again later.
            known.names |= {_last(claim.to) for claim in known.checked if claim.to}
        return [claim for _note, known in found for claim in known.checked or ()]

    def _claims_of(self, note: CheckedNote) -> _Known:
        known, beside = self._known.get(note.path), hash(note.neighbours)
        if known is None or known.note_text != note.text or known.everything != note.everything:
            claims = find_claims(note.text, note.path, everything=note.everything)
            words = frozenset(claim.value for claim in claims if claim.kind in _WORDS)
            last = (_last(claim.value) for claim in claims if claim.kind not in _WORDS)
            known = self._known[note.path] = _Known(
                note.text, claims, words, words.union(last), beside, everything=note.everything
            )
        if known.beside != beside:
            known.beside = beside
            if any(claim.kind is ClaimKind.LINK for claim in known.claims):
                known.checked = None
        return known

    def _begin(self, note: CheckedNote, known: _Known) -> tuple[dict[int, _Fate], dict[str, HistoryCommit]]:
        """Return the results of the claims that need no history, and the origins of the other claims' lines.

        The first value maps the position of a claim in `known.claims` to its result; the second maps the
        text of a line to the commit that added it. `known`: the claims of the note.
        """
        fates, open_lines = dict[int, _Fate](), set[str]()
        for i, claim in enumerate(known.claims):
            if self._holds_now(claim, note):
                fates[i] = _HOLDS
            elif claim.muted or self._out_of_sight(claim):
                fates[i] = _UNKNOWN
            else:
                open_lines.add(claim.text)
        return fates, self._origins(note, open_lines) if open_lines else {}

    def _finish(
        self,
        note: CheckedNote,
        claims: tuple[Claim, ...],
        fates: dict[int, _Fate],
        origins: Mapping[str, HistoryCommit],
    ) -> Iterator[CheckedClaim]:
        for i, claim in enumerate(claims):
            written = None if i in fates else origins.get(claim.text)
            fate = fates.get(i) or (_UNKNOWN if written is None else self._fate(claim, note, written))
            shown = self._as_it_is(fate.claim or claim, note, written)
            commit = fate.commit
            evidence = None
            if commit is not None and fate.state.is_stale:
                date = datetime.fromtimestamp(commit.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                evidence = Evidence(commit.id, date, commit.subject)
            yield CheckedClaim(
                *(note.path, shown.line, shown.start, shown.kind, shown.token, fate.state, fate.to),
                *(fate.replacement, written.id if written is not None else "", evidence, claim.history),
            )

    def _as_it_is(self, claim: Claim, note: CheckedNote, written: HistoryCommit | None) -> Claim:
        """Return `claim` with its kind corrected to that of the entry at its path: a file or a directory.

        The entry is searched at present and at the commit `written`, at which the claim's line was written
        (None: unknown). A claim about anything but a path, or without an entry, is returned unchanged.
        """
        if claim.kind not in (ClaimKind.PATH, ClaimKind.DIR) or claim.token.endswith("/"):
            return claim
        if claim.kind is ClaimKind.PATH and claim.value in self.repository.now.files:
            return claim
        for commit in (None, written) if written is not None else (None,):
            for place in self._exact(claim.value, note, claim):
                found = self.repository.at(commit, place)
                if found is not None:
                    file = ClaimKind.PATH if "/" in claim.token else ClaimKind.FILE
                    return replace(claim, kind=ClaimKind.DIR if found[1] == _TREE else file)
        return claim

    def _origins(self, note: CheckedNote, lines: set[str]) -> dict[str, HistoryCommit]:
        repository = self.repository
        if note.place:
            return repository.origins(note.place, lines)
        found = dict[str, HistoryCommit]()
        times = note.line_times()
        for line in lines:
            known = [at for at in (times.get(line), note.written_s) if at is not None]
            at = min(known) if known else None
            commit = None if at is None else repository.last_before(at)
            if commit is not None:
                found[line] = commit
        return found

    def _holds_now(self, claim: Claim, note: CheckedNote) -> bool:
        if claim.kind in _WORDS:
            return claim.value in self._present
        if claim.kind is ClaimKind.COMMAND:
            tool, _space, name = claim.value.partition(" ")
            if tool == "go":
                return any(self._is_there(place) for place in self._exact(plain_path(name), note))
            return any(claim.value in one.scripts for one in self._all_manifests(None).values())
        if claim.kind is ClaimKind.DEPENDENCY:
            return any(
                agrees(claim.detail, version)
                for name in _package_names(claim)
                for one in self._all_manifests(None).values()
                for version in one.versions.get(name, ())
            )
        if claim.kind is ClaimKind.FILELINE:
            return False  # only its origin shows whether it is still the same line
        if claim.kind is ClaimKind.LINK and not note.neighbours.isdisjoint(
            (claim.value, f"{claim.value}.md")
        ):
            return True
        return any(self._is_there(place) for place in self._exact(claim.value, note, claim))

    def _is_there(self, place: str) -> bool:
        now = self.repository.now
        if place in now.files or place in now.dirs or place in now.submodules:
            return True
        return self._disk and os.path.lexists(self.repository.project / place)

    def _exact(self, value: str, note: CheckedNote, claim: Claim | None = None) -> Iterator[str]:
        """Yield the paths in the repository that the path `value` in a note may mean, the nearest first.

        `claim`: the claim with the path; for links and drawn trees it adds further candidates.
        """
        base = posixpath.dirname(note.place)
        if claim is not None and claim.kind is ClaimKind.LINK:
            target = posixpath.normpath(posixpath.join(base, value))
            if claim.detail == "wiki":
                yield f"{target}.md"
            if not target.startswith(".."):
                yield target
            yield plain_path(value)
            if claim.detail == "wiki":
                yield f"{plain_path(value)}.md"
            return
        while base:
            if not PurePosixPath(base).name.startswith("."):
                yield f"{base}/{value}"
            base = posixpath.dirname(base)
        yield value
        if claim is not None and claim.detail == "tree" and "/" in value:
            # A drawn tree often begins with the name of the project.
            yield value.partition("/")[2]

    def _out_of_sight(self, claim: Claim) -> bool:
        if claim.kind not in _PATHS:
            return False
        return self.repository.in_submodule(claim.value) or self.repository.is_ignored(claim.value)

    def _namesakes(self, value: str, commit: HistoryCommit | None) -> list[str]:
        """Return the paths that end in the path or name `value`, at `commit` (None: now)."""
        repository, name, tail = self.repository, value.rpartition("/")[2], f"/{value}"
        known = set(repository.now.names.get(name, ()))
        if commit is not None:
            known |= repository.deleted_names.get(name, set())
        return sorted(
            path
            for path in known
            if (path == value or path.endswith(tail))
            and (commit is None or repository.at(commit, path) is not None)
        )

    def _all_manifests(self, commit: HistoryCommit | None) -> dict[str, Manifest]:
        key = "" if commit is None else commit.id
        known = self._manifests.get(key)
        if known is None:
            length = self.repository.length
            if self._manifest_paths[0] != length:
                every = (self.repository.now.names, self.repository.deleted_names)
                paths = {p for names in every for name in names if is_manifest(name) for p in names[name]}
                self._manifest_paths = length, sorted(paths)
            known = self._manifests[key] = {
                path: manifest
                for path in self._manifest_paths[1]
                if (manifest := self._manifest(commit, path)) is not NOTHING
            }
        return known

    def _manifest(self, commit: HistoryCommit | None, path: str) -> Manifest:
        text = self.repository.text_at(commit, path)
        return NOTHING if text is None else parse_manifest(path.rpartition("/")[2], text)

    def _fate(self, claim: Claim, note: CheckedNote, written: HistoryCommit) -> _Fate:
        if claim.kind is ClaimKind.COMMAND and not claim.value.startswith("go "):
            return self._command_fate(claim, written)
        if claim.kind is ClaimKind.DEPENDENCY:
            return self._dependency_fate(claim, written)
        if claim.kind in _WORDS:
            return self._word_fate(claim, written)
        if claim.kind is ClaimKind.FILELINE:
            return self._line_fate(claim, note, written)
        if claim.kind is ClaimKind.COMMAND:
            name = claim.value.partition(" ")[2]
            inner = replace(claim, kind=ClaimKind.DIR, token=name, value=plain_path(name))
            fate = self._path_fate(inner, note, written)
            if fate.to and fate.replacement:
                new = claim.token.replace(name, f"./{plain_path(fate.to)}")
                return replace(fate, to=new, replacement=new, state=ClaimState.CHANGED)
            return fate
        return self._path_fate(claim, note, written)

    def _path_fate(self, claim: Claim, note: CheckedNote, written: HistoryCommit) -> _Fate:
        repository, value = self.repository, claim.value
        exact = next(
            (p for p in self._exact(value, note, claim) if repository.at(written, p) is not None), ""
        )
        elsewhere = self._namesakes(value, None) if claim.kind is not ClaimKind.LINK else []
        if exact:
            then = [exact]
            if "/" not in value and any(repository.at(written, path) is not None for path in elsewhere):
                return _HOLDS  # one of several files of that name, then and now
            if "/" not in value and len(elsewhere) > 1:
                return _UNKNOWN  # one of several files of that name now, and it is unknown which
        else:
            if elsewhere:
                return _HOLDS
            then = self._namesakes(value, written)
        then = [path for path in then if not repository.is_ignored(path)]
        if not then or len(then) > _MOST_NAMESAKES or any(repository.in_submodule(path) for path in then):
            return _UNKNOWN
        gone = [self._path_followed(path, written) for path in then]
        targets = {target for target, _commit in gone if target}
        commit = min((c for _target, c in gone if c is not None), key=lambda one: one.at, default=None)
        if commit is None:
            commit = repository.break_of(lambda c: repository.at(c, then[0]) is not None, written)
        if commit is None:
            return _UNKNOWN
        if len(targets) == 1 and len(gone) == sum(bool(target) for target, _commit in gone):
            to = targets.pop()
            if "/" not in value and elsewhere and to not in elsewhere:
                return _UNKNOWN  # another file has that name now
            return _Fate(ClaimState.MOVED, commit, to, self._as_written(claim, note, then[0], to))
        return _UNKNOWN if elsewhere else _Fate(ClaimState.GONE, commit)

    def _path_followed(self, path: str, written: HistoryCommit) -> tuple[str, HistoryCommit | None]:
        repository = self.repository
        found = repository.at(written, path)
        if found is not None and found[1] == _TREE:
            target, commit = repository.moved_directory(path, written)
        else:
            target, commit = repository.followed(path)
        return (target if target in repository.now.files or target in repository.now.dirs else ""), commit

    @staticmethod
    def _as_written(claim: Claim, note: CheckedNote, old: str, new: str) -> str:
        """Return the path `new` in the form in which the claim states the path `old`.

        For example relative to the note, or only the name. Empty if a path in this form cannot lead to `new`.
        """
        if claim.kind is ClaimKind.LINK:
            base = posixpath.dirname(note.place)
            target = new.removesuffix(".md") if claim.detail == "wiki" else new
            if claim.detail == "wiki":
                return posixpath.basename(target)
            return posixpath.relpath(target, base or ".")
        if claim.detail == "tree":
            if posixpath.dirname(old) != posixpath.dirname(new):
                return ""
            shown = posixpath.basename(new)
        elif "/" not in claim.value and claim.kind is ClaimKind.FILE:
            shown = posixpath.basename(new)
        else:
            front = old[: len(old) - len(claim.value)] if old.endswith(claim.value) else ""
            if not new.startswith(front):
                is_name = claim.kind is ClaimKind.DIR and "/" not in claim.value
                return "" if is_name else _dressed(claim.token, new)
            shown = new[len(front) :]
        return _dressed(claim.token, shown)

    def _line_fate(self, claim: Claim, note: CheckedNote, written: HistoryCommit) -> _Fate:
        """Return the result for `claim`, in `note`, about a line of a file, such as `src/a.py:12`.

        The line may have moved, with its file or within it, or be gone. `written`: the commit at which the
        claim was written.
        """
        repository, number = self.repository, int(claim.detail)
        path = next((p for p in self._exact(claim.value, note) if repository.at(written, p) is not None), "")
        if not path:
            namesakes = self._namesakes(claim.value, written)
            path = namesakes[0] if len(namesakes) == 1 else ""
        before = (repository.text_at(written, path) or "").splitlines() if path else []
        if not path or not 0 < number <= len(before):
            return _UNKNOWN
        now_path = path
        commit: HistoryCommit | None = None
        if repository.at(None, path) is None:
            now_path, commit = repository.followed(path)
            if not now_path or now_path not in repository.now.files:
                if commit is None or self._namesakes(claim.value, None):
                    return _UNKNOWN
                return _Fate(ClaimState.GONE, commit)
        now = (repository.text_at(None, now_path) or "").splitlines()
        wanted = before[number - 1].strip()
        if now_path == path and number <= len(now) and now[number - 1].strip() == wanted:
            return _HOLDS
        spots = [i for i, line in enumerate(now, 1) if line.strip() == wanted] if len(wanted) >= 8 else []
        is_one = len(spots) == 1 and sum(line.strip() == wanted for line in before) == 1
        if not is_one and now_path == path and number <= len(now):
            return _UNKNOWN

        def has_it(at: HistoryCommit) -> bool:
            lines = (repository.text_at(at, path) or "").splitlines()
            return number <= len(lines) and lines[number - 1].strip() == wanted

        commit = commit or repository.break_of(has_it, written, path)
        if commit is None:
            return _UNKNOWN
        if not is_one:
            if now_path != path:
                return _Fate(ClaimState.MOVED, commit, now_path)
            return _Fate(ClaimState.CHANGED, commit)
        shown = self._as_written(replace(claim, kind=ClaimKind.PATH, token=claim.value), note, path, now_path)
        mark = re.search(r"(?::|#L)\d+", claim.token)
        tail = mark[0].rstrip("0123456789") if mark else ":"
        has_range = mark is not None and len(claim.token) > mark.end()
        return _Fate(
            *(ClaimState.MOVED, commit, f"{now_path}:{spots[0]}"),
            "" if has_range or not shown else f"{shown}{tail}{spots[0]}",
        )

    def _command_fate(self, claim: Claim, written: HistoryCommit) -> _Fate:
        had = [path for path, one in self._all_manifests(written).items() if claim.value in one.scripts]
        if not had:
            return _UNKNOWN
        path = had[0]
        commit = self.repository.break_of(
            lambda at: claim.value in self._manifest(at, path).scripts, written, path
        )
        if commit is None:
            return _UNKNOWN
        before = self.repository.parent(commit)
        old, new = self._manifest(before, path).scripts, self._manifest(commit, path).scripts
        body = old.get(claim.value)
        same = [name for name, other in new.items() if body and other == body and name not in old]
        if len(same) == 1 and any(same[0] in one.scripts for one in self._all_manifests(None).values()):
            name, renamed = claim.value.partition(" ")[2], same[0].partition(" ")[2]
            front = claim.token[: len(claim.token) - len(name)]
            if not re.search(r"\brun\s+$", front) and front.startswith(("npm", "bun")):
                front += "run "
            return _Fate(ClaimState.CHANGED, commit, front + renamed, front + renamed)
        return _Fate(ClaimState.GONE, commit)

    def _dependency_fate(self, claim: Claim, written: HistoryCommit) -> _Fate:
        then, now = self._all_manifests(written), self._all_manifests(None)
        for name in _package_names(claim):
            had = [
                path
                for path, one in then.items()
                if any(agrees(claim.detail, version) for version in one.versions.get(name, ()))
            ]
            if not had:
                continue
            path = had[0]

            def agreed(at: HistoryCommit, path: str = path, name: str = name) -> bool:
                return any(agrees(claim.detail, v) for v in self._manifest(at, path).versions.get(name, ()))

            commit = self.repository.break_of(agreed, written, path)
            if commit is None:
                return _UNKNOWN
            shown = claim if name == package_name(claim.value) else _without_first_word(claim)
            declared = [
                v for one in (now.get(path, NOTHING), *now.values()) for v in one.versions.get(name, ())
            ]
            if not declared and name in RUNTIMES:
                return _UNKNOWN  # runtimes need not be declared
            if not declared:
                return _Fate(ClaimState.GONE, commit, claim=shown)
            version = as_claimed(claim.detail, declared[0])
            if not re.search(r"\d", version) or version == claim.detail:
                return _UNKNOWN
            claimed = claim.detail if claim.detail in shown.token else claim.detail.removesuffix("+")
            at = shown.token.rindex(claimed)
            new = shown.token[:at] + as_claimed(claimed, declared[0]) + shown.token[at + len(claimed) :]
            return _Fate(ClaimState.CHANGED, commit, new, new, shown)
        return _UNKNOWN

    def _word_fate(self, claim: Claim, written: HistoryCommit) -> _Fate:
        repository = self.repository
        proof = _proof(claim)
        for path in self._contents.places(written, claim.value):
            text = repository.text_at(written, path)
            if text is None or not proof.search(text):
                continue
            commit, path = self._last_with(claim.value, written, path)
            if commit is None:
                continue
            to = self._new_port(claim.value, commit, path) if claim.kind is ClaimKind.PORT else ""
            if claim.kind is ClaimKind.PORT and not to:
                return _UNKNOWN  # the port may belong to another program
            return _Fate(ClaimState.CHANGED if to else ClaimState.GONE, commit, to, to)
        return _UNKNOWN

    def _last_with(self, word: str, written: HistoryCommit, path: str) -> tuple[HistoryCommit | None, str]:
        """Return the commit that removed `word` from the file `path`, and the path that the file had then.

        Renames of the file are followed. Only commits after `written` count. The commit is None if no commit
        removed the word.
        """
        repository, pattern = self.repository, re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        commit: HistoryCommit | None = None
        for _ in range(6):

            def has_it(at: HistoryCommit, path: str = path) -> bool:
                return pattern.search(repository.text_at(at, path) or "") is not None

            found = repository.break_of(has_it, written, path)
            if found is None:
                return commit, path
            commit = found
            target = "" if repository.at(commit, path) is not None else repository.renamed(commit.at, path)
            if not target or not has_it(commit, target):
                return commit, path
            written, path = commit, target
        return commit, path

    def _new_port(self, port: str, commit: HistoryCommit, path: str) -> str:
        before = self.repository.parent(commit)
        old = (self.repository.text_at(before, path) or "") if before is not None else ""
        new = self.repository.text_at(commit, path) or ""
        found = Counter[str]()
        for line in old.splitlines():
            if len(line) < 400 and re.search(rf"(?<!\d){port}(?!\d)", line):
                pattern = re.escape(line.strip()).replace(port, r"(\d{2,5})", 1).replace(port, r"\1")
                found.update(set(re.findall(rf"(?m)^[ \t]*{pattern}[ \t\r]*$", new)))
        return found.popitem()[0] if len(found) == 1 and port not in found else ""


def _proof(claim: Claim) -> re.Pattern[str]:
    """Return a pattern that matches a definition of a claim's name.

    For a claim about an environment variable or a port, the pattern matches a mention or use of it.
    """
    name = re.escape(claim.value)
    if claim.kind is ClaimKind.PORT:
        return re.compile(rf"(?i:port)\W{{0,12}}{name}\b|:{name}\b|\b{name}:\d|EXPOSE\s+{name}|-p\s*{name}")
    if claim.kind is ClaimKind.ENV:
        return re.compile(rf"(?<!\w){name}(?!\w)")
    words = (
        "def|class|function|fn|func|fun|type|interface|struct|enum|const|let|var|val|trait|impl|module|namespace|record"
        "|protocol|extension|object|macro_rules!|static|define|sub|procedure|async|public|private|protected|void|export"
    )
    # No `\s` at the start of a line: a pattern that runs over blank lines takes quadratic time.
    return re.compile(
        rf"\b(?:{words})\s+(?:[\w<>\[\]*&:,.]+\s+){{0,3}}\*?{name}(?!\w)"
        rf"|^[ \t]*func[ \t]+\([^)\n]*\)[ \t]*{name}\b"
        rf"|^[ \t]*(?:self\.|this\.|export[ \t]+)?{name}[ \t]*(?::[^=\n]+)?=[^=]"
        rf"|^[ \t]*[\"']?{name}[\"']?.*(?:\n[ \t]*)?[:{{][ \t\r]*$"
        rf"|^[ \t]+{name}[ \t]*[:(]",
        re.MULTILINE,
    )


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _package_names(claim: Claim) -> tuple[str, ...]:
    whole = package_name(claim.value)
    last = package_name(claim.value.rpartition(" ")[2])
    return (whole,) if whole == last else (whole, last)


def _without_first_word(claim: Claim) -> Claim:
    if not claim.token.startswith(claim.value):
        return claim
    cut = claim.value.rindex(" ") + 1
    return replace(claim, start=claim.start + cut, token=claim.token[cut:], value=claim.value[cut:])


def _dressed(token: str, path: str) -> str:
    """Return `path` with the leading `./` or `/` and the trailing `/` that `token`, a path in a note, has."""
    front = "./" if token.startswith("./") else "/" if token.startswith("/") else ""
    return front + path.rstrip("/") + ("/" if token.endswith("/") else "")
