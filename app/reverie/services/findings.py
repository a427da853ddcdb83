"""Findings in the memories of a context that a person should review, in one list.

Findings are notes that have the same meaning or contradict each other, statements that a newer note has
superseded or that the repository disproves, secrets, hidden characters, and lines that read like instructions
to a model.

Finding them changes nothing. A finding that a person has dismissed is not shown again, on any machine that
has the profile, until the text of its lines changes. Evidence never contains secrets.

Threading: blocks; any thread, one search per home at a time. Failure: `UserError`; a memory that cannot be
read has no findings, and its listing says why.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.scopes import Caps, Scope, ScopeContext
from reverie.claims.checking import CheckedClaim
from reverie.errors import StoreError
from reverie.files.directory import read_regular
from reverie.jobs.consolidate.findings import RelatedNote, related_notes
from reverie.memory.lint import CHECKED_BYTES, lint
from reverie.memory.listing import no_check, read_rel
from reverie.memory.paths import ROOT, memory_path
from reverie.services.views import MemoryView
from reverie.text.redact import redact
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.files.sidecar import Sidecar
    from reverie.jobs.consolidate.overlay import NoticedPair
    from reverie.services.claims import ClaimService

FindingKind = Literal[
    "near-duplicate",
    "successor",
    "differing",
    "contradiction",
    "superseded",
    "secret",
    "instruction",
    "hidden",
    "stale",
    "conflict",
    "placeholder",
    "cut",
]
_MARKS: dict[str, tuple[FindingKind, float]] = {
    "secret": ("secret", 0.99),
    "hidden": ("hidden", 0.97),
    "bidi": ("hidden", 0.97),
    "instruction": ("instruction", 0.95),
    "conflict": ("conflict", 0.98),
    "placeholder": ("placeholder", 0.96),
    "cut": ("cut", 0.88),
}
_STALE = 0.9
_ALIKE = ("near-duplicate", "successor", "differing")
_NOTICED: dict[str, float] = {
    "contradiction": 0.89,
    "superseded": 0.87,
    "successor": 0.85,
    "differing": 0.84,
    "near-duplicate": 0.83,
}
"""The score of a pair of statements that a model noticed, by the kind of the pair."""
# Caps for rules that depend on no limit of an agent.
_NO_CAPS = Caps(
    file_bytes=CHECKED_BYTES,
    files_per_scope=1,
    description_chars=1,
    description_prefix_bytes=1,
    view_depth=1,
    descriptions=False,
)
_MOST_DISMISSED = 5_000


class MemoryFinding(Struct, frozen=True):
    """One finding that a person should review."""

    kind: FindingKind
    paths: tuple[str, ...]
    """The memories that the finding is about; the older one first if one is older."""
    lines: tuple[int, ...]
    """A line number for each of `paths`, from 1; 0 means the whole memory."""
    evidence: tuple[str, ...]
    """The text of each of `lines`, or a remark about it; never contains a secret."""
    score: float
    """The probability that the finding is worth reviewing, 0 to 1."""
    why: str = ""
    """The model's explanation, if a model noticed it."""
    matter: str = ""
    """The id of the matter, the group of findings that a person decides together.

    It is the `id` of the most useful finding that shares a line with this one, or the finding's own `id`.
    """
    claim: CheckedClaim | None = None
    """The statement that is no longer true, if the kind is "stale"; not redacted."""

    @property
    def id(self) -> str:
        """The key under which the finding is dismissed, made of its kind, memories and evidence.

        The key does not change if a line only moves.
        """
        said = "\0".join((self.kind, *self.paths, *self.evidence))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class FindingReport(Struct, frozen=True):
    """The findings to review, most useful first.

    Findings that a person decides together (a matter) are adjacent. `notes`: the number of memories that were
    read.
    """

    findings: tuple[MemoryFinding, ...] = ()
    notes: int = 0
    dismissed: int = 0
    """The number of matters that a person has dismissed; they are not in `findings`."""
    limits: tuple[str, ...] = ()
    """Sentences about data that the search for stale statements did not examine."""

    def matters(self, kinds: Collection[FindingKind] = ()) -> list[tuple[MemoryFinding, ...]]:
        """Return the findings of these kinds as groups; without `kinds`, all of them.

        Each group is one matter that a person decides together.
        """
        return matters_in(each for each in self.findings if not kinds or each.kind in kinds)


def findings_of(
    notes: Sequence[RelatedNote],
    stale: Iterable[CheckedClaim] = (),
    noticed: Iterable[NoticedPair] = (),
    *,
    caps: Caps = _NO_CAPS,
    check: Callable[[], None] = no_check,
) -> list[MemoryFinding]:
    """Return everything in these notes that a person should review, most useful first.

    `stale`: the statements in the notes that the repository disproves; `noticed`: the pairs of statements
    that models noticed. Findings that a person decides together are adjacent. `caps`: the limits of the agent
    that reads the memories. `check` may raise to stop.
    """
    found = [*_marks(notes, caps, check), *map(_stale, stale), *_related(notes, check)]
    found += _noticed_by_models(notes, noticed, found)
    found.sort(key=lambda each: (-each.score, each.kind, each.paths, each.lines))
    return [replace(each, matter=matter[0].id) for matter in _matters(found) for each in matter]


def matters_in(findings: Iterable[MemoryFinding]) -> list[tuple[MemoryFinding, ...]]:
    """Return the findings as groups with the same `matter`, in the order in which the matters first occur.

    A statement that is stale in several lines of a memory is fixed in each of them, so each is a group.
    """
    found: dict[tuple[str, int], list[MemoryFinding]] = defaultdict(list)
    for each in findings:
        found[each.matter or each.id, each.claim.line if each.claim is not None else 0].append(each)
    return list(map(tuple, found.values()))


def _matters(findings: Sequence[MemoryFinding]) -> Iterator[list[MemoryFinding]]:
    """Yield groups of findings: each finding with the later ones that share a line with it.

    For example, a note that says "PostgreSQL" and three others that say "MongoDB" are one group, which a
    person decides together. Findings that are only linked through a third one are not grouped: they may be
    about anything.
    """
    left = dict(enumerate(findings))
    with_line: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, each in left.items():
        for place in _places(each):
            with_line[place].append(number)
    for number, first in enumerate(findings):
        if number in left:
            alike = {number}.union(*(with_line[place] for place in _places(first)))
            yield [left.pop(each) for each in sorted(alike & left.keys())]


def _places(finding: MemoryFinding) -> list[tuple[str, int]]:
    """Return the two lines that a finding about a pair of lines compares, as `(memory path, line)`.

    Line 0 means the whole memory; two memories with the same content are grouped with their other copies and
    versions. Returns no lines for a finding about a single line; such a finding is never grouped.
    """
    pair = zip(finding.paths, finding.lines, strict=False) if len(finding.paths) == 2 else ()
    whole = finding.paths if finding.kind in ("near-duplicate", "successor") else ()
    return [*((path, line) for path, line in pair if line), *((path, 0) for path in whole)]


def _related(notes: Sequence[RelatedNote], check: Callable[[], None]) -> Iterator[MemoryFinding]:
    for each in related_notes(notes, check):
        lines = tuple(evidence.line for evidence in each.evidence)
        said = tuple(redact(evidence.text) for evidence in each.evidence)
        yield MemoryFinding(each.kind, each.paths, lines, said, each.score)


def _noticed_by_models(
    notes: Sequence[RelatedNote], pairs: Iterable[NoticedPair], known: Sequence[MemoryFinding]
) -> Iterator[MemoryFinding]:
    """Yield a finding for each pair of lines that a model noticed and that is still valid and new.

    `pairs`: the pairs that models noticed. A pair is valid if `notes` still have its quoted lines, and new if
    the finding is not among `known`, the findings of the rules.
    """
    texts = {note.path: note.text for note in notes}
    alike = {frozenset(each.paths) for each in known if each.kind in _ALIKE}
    told = {(frozenset(each.paths), frozenset(each.lines)) for each in known}
    for pair in pairs:
        lines, of = pair.lines_in(texts), frozenset(pair.paths)
        if lines is None or (of, frozenset(lines)) in told or (pair.kind in _ALIKE and of in alike):
            continue
        said = tuple(map(redact, pair.quotes))
        yield MemoryFinding(pair.kind, pair.paths, lines, said, _NOTICED[pair.kind], redact(pair.why))


def _marks(notes: Sequence[RelatedNote], caps: Caps, check: Callable[[], None]) -> Iterator[MemoryFinding]:
    for note in notes:
        data = note.text.encode("utf-8", "surrogatepass")[:CHECKED_BYTES]
        is_memory = note.path.startswith(f"{ROOT}/")
        for mark in lint(data, caps if is_memory else _NO_CAPS, rel=note.path, check=check):
            known = _MARKS.get(mark.kind)
            if known is not None:
                yield MemoryFinding(known[0], (note.path,), (mark.line,), (mark.sentence,), known[1])


def _stale(claim: CheckedClaim) -> MemoryFinding:
    said = f"{claim.token} → {claim.to}" if claim.to else claim.token
    evidence = (
        (redact(said), redact(claim.evidence.subject)) if claim.evidence is not None else (redact(said),)
    )
    return MemoryFinding("stale", (claim.path,), (claim.line,), evidence, _STALE, claim=claim)


class FindingService:
    """The service that finds problems in the memories of one home."""

    def __init__(
        self,
        view: Callable[[ScopeContext], MemoryView],
        claims: Callable[[], ClaimService],
        dismissed: Callable[[], Sidecar],
        noticed: Callable[[ScopeContext], Sequence[NoticedPair]],
        caps: Caps,
    ) -> None:
        """Connect the service to a home.

        `view` returns the names of the memories of a context; `claims` returns the service that checks the
        statements in them; `dismissed` returns the sidecar (small JSON file) with dismissed findings;
        `noticed` returns the pairs of statements that models noticed in a context. `caps`: the limits of the
        agent that reads the memories.
        """
        self._view = view
        self._claims = claims
        self._dismissed = dismissed
        self._noticed = noticed
        self._caps = caps
        self._lock = threading.Lock()

    def find(self, context: ScopeContext, *, check: Callable[[], None] = no_check) -> FindingReport:
        """Find the problems to review in the memories and loaded instruction files of `context`.

        `check` may raise to stop.
        """
        with self._lock:
            notes = list(self._notes(context))
            checked = self._claims().stale(context, check=check)
            found = findings_of(notes, checked.claims, self._noticed(context), caps=self._caps, check=check)
            kept = self.without_dismissed(found)
        dismissed = {each.matter for each in found}.difference(each.matter for each in kept)
        limits = tuple(filter(None, (checked.problem, *checked.limits)))
        return FindingReport(tuple(kept), len(notes), len(dismissed), limits)

    def texts(self, context: ScopeContext, paths: Sequence[str]) -> tuple[str, ...]:
        """Read the current texts of memories, and of files that the agent reads beside them.

        Raises `StoreError` if a path no longer exists among them.
        """
        found = {note.path: note.text for note in self._notes(context) if note.path in paths}
        for path in paths:
            if path not in found:
                raise StoreError(f"{path} no longer exists.", next_step="Refresh.", reason="missing")
        return tuple(found[path] for path in paths)

    def without_dismissed(self, findings: Sequence[MemoryFinding]) -> list[MemoryFinding]:
        """Return the findings among `findings` that no person has dismissed."""
        hidden = self._dismissed_ids()
        return [each for each in findings if each.id not in hidden]

    def dismiss(self, ids: tuple[str, ...]) -> None:
        """Dismiss the findings with these ids, so that they are not shown again.

        Raises `UserError` if that cannot be stored.
        """
        self._change({*self._dismissed_ids(), *ids}, ids)

    def restore(self, ids: tuple[str, ...] = ()) -> None:
        """Show the dismissed findings with these ids again; without `ids`, all of them."""
        self._change(self._dismissed_ids() - set(ids) if ids else set(), ())

    def _dismissed_ids(self) -> set[str]:
        found = self._dismissed().read().data.get("dismissed")
        return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()

    def _change(self, wanted: Collection[str], last: Sequence[str]) -> None:
        def change(data: dict[str, Any]) -> dict[str, Any]:
            before = data.get("dismissed")
            known = [each for each in before if each in wanted] if isinstance(before, list) else []
            more = [each for each in last if each not in known]
            data["dismissed"] = [*known, *more][-_MOST_DISMISSED:]
            return data

        self._dismissed().update(change)

    def _notes(self, context: ScopeContext) -> Iterator[RelatedNote]:
        view = self._view(context)
        for scope in Scope:
            listing = view.scopes[scope]
            directory = os.fspath(listing.root.directory) if listing.root is not None else ""
            for file in listing.files if directory else ():
                assert listing.root is not None
                try:
                    status, data = read_rel(os.fspath(listing.root.directory), file.rel, CHECKED_BYTES)
                except OSError:
                    continue  # the listing reports it
                note = _note(str(memory_path(scope, file.rel)), data, status.st_mtime_ns)
                if note is not None and file.role != "index":
                    yield note
        for companion in view.companions:
            if companion.exists and not companion.unopened:
                try:
                    data = read_regular(companion.path, CHECKED_BYTES)
                    at_ns = companion.path.stat().st_mtime_ns
                except OSError:
                    continue
                note = _note(str(companion.path), data, at_ns)
                if note is not None:
                    yield note


def _note(path: str, data: bytes, at_ns: int) -> RelatedNote | None:
    if b"\0" in data:
        return None
    try:
        return RelatedNote(path, data.decode("utf-8"), at_ns // 1_000_000)
    except UnicodeDecodeError:
        return None
