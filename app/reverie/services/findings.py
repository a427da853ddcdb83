"""Findings in the memories of a context that a person should review, in one list.

Findings are notes that have the same meaning or contradict each other, statements that a newer note has
superseded or that the repository disproves, secrets, hidden characters, and lines that read like instructions
to a model.

Finding them changes nothing. A finding that a person has dismissed is not shown again, on any machine that
has the profile, until the text of its lines changes. Evidence and diffs never contain secrets.

Where the memories show what is right, a finding has a suggestion: a change that a person can apply as it is
(`decide`). Its diff shows every file that would change. A decision is carried out only if the memories are
still those from which the finding was made.

Threading: blocks; any thread, one search per home at a time. Failure: `UserError`; a memory that cannot be
read has no findings, and its listing says why.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.scopes import Caps, Scope, ScopeContext
from reverie.claims.checking import CheckedClaim, fixed
from reverie.errors import StoreError, UserError
from reverie.files.directory import read_regular
from reverie.jobs.consolidate.findings import RelatedNote, related_notes
from reverie.jobs.consolidate.suggestions import (
    Action,
    Proposal,
    changed_since,
    corrected,
    kept,
    whole_description,
)
from reverie.memory.diff import unified
from reverie.memory.front_matter import FrontError, quote_description
from reverie.memory.lint import CHECKED_BYTES, lint
from reverie.memory.listing import no_check, read_rel
from reverie.memory.paths import ROOT, memory_path
from reverie.memory.scope_files import FileChange
from reverie.services.views import MemoryView, RunReverted, Undo
from reverie.text.redact import redact
from reverie.text.summaries import Phrase, some
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.files.sidecar import Sidecar
    from reverie.jobs.consolidate.decision import ProposalOverlay
    from reverie.jobs.consolidate.overlay import NoticedPair
    from reverie.services.claims import ClaimService
    from reverie.services.container import HomeContainer

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
_log = logging.getLogger("reverie.services")
Take = Literal["suggestion", "left", "right"]
"""A decision: make the suggested change, or keep what the first (left) or second (right) memory says."""
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


class Suggestion(Struct, frozen=True):
    """A change that would resolve a finding, and that a person can apply."""

    action: Action
    """The kind of change."""
    why: Phrase
    """The reason, as a sentence."""
    diff: str
    """The changes of all files, including the agent's index, as a unified diff with secrets redacted."""
    tokens: int = 0
    """The number of tokens that a session would save at its start."""


class MemoryFinding(Struct, frozen=True):
    """One finding that a person should review."""

    kind: FindingKind
    paths: tuple[str, ...]
    """The memories that the finding is about; the older one first if one is older."""
    lines: tuple[int, ...]
    """A line number for each of `paths`, from 1; 0 means the whole memory."""
    evidence: tuple[str, ...]
    """The text of each of `lines`, or a remark about that line or memory.

    Secrets are redacted.
    """
    score: float
    """The probability that the finding is worth reviewing, 0 to 1."""
    why: str = ""
    """The model's explanation; empty if no model noticed the finding."""
    matter: str = ""
    """The id of the matter, which is the group of findings that a person decides together.

    It is the `id` of the most useful finding that shares a line with this one, or the finding's own `id`.
    """
    claim: CheckedClaim | None = None
    """The statement that is no longer true, if the kind is "stale"; not redacted."""
    suggestion: Suggestion | None = None
    state: str = ""
    """A hash of the memories from which the finding was made, and of its suggestion.

    It changes whenever one of them does. Empty if the finding is not about memories of a home.
    """

    @property
    def id(self) -> str:
        """The key under which the finding is dismissed, made of its kind, memories and evidence.

        The key does not change if a line only moves.
        """
        said = "\0".join((self.kind, *self.paths, *self.evidence))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class ChangedMemory(Struct, frozen=True):
    """One file that a decision about a finding changed, or would change."""

    path: str
    """The memory path of the file."""
    command: Literal["create", "delete", "str_replace"]
    diff: str
    """The change as a unified diff with secrets redacted."""


class _Found(Struct, frozen=True):
    """A finding with the changes that would resolve it."""

    finding: MemoryFinding
    proposal: Proposal | None = None
    """The suggested change; None if there is none."""
    choices: tuple[Proposal | None, Proposal | None] = (None, None)
    """The changes to make if the first, or the second, of two memories is right; None: no such change."""


class FindingReport(Struct, frozen=True):
    """The findings to review, most useful first.

    Findings that a person decides together (a matter) are adjacent.
    """

    findings: tuple[MemoryFinding, ...] = ()
    notes: int = 0
    """The number of memories that were read."""
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
    """Return all findings about these notes, most useful first, without suggestions.

    `stale`: the statements in the notes that the repository disproves; `noticed`: the pairs of statements
    that models noticed. Findings that a person decides together are adjacent. `caps`: the limits of the agent
    that reads the memories. `check` is called repeatedly and may raise to stop.
    """
    return [each.finding for each in _found_in(notes, stale, noticed, caps, check)]


def _found_in(
    notes: Sequence[RelatedNote],
    stale: Iterable[CheckedClaim],
    noticed: Iterable[NoticedPair],
    caps: Caps,
    check: Callable[[], None],
) -> list[_Found]:
    texts = {note.path: note for note in notes}
    found = [*_marks(notes, caps, check), *_stale(texts, stale), *_related(notes, check)]
    found += map(_Found, _noticed_by_models(notes, noticed, [each.finding for each in found]))
    found.sort(key=lambda each: _order(each.finding))
    by_finding = {id(each.finding): each for each in found}
    return [
        replace(by_finding[id(each)], finding=replace(each, matter=matter[0].id))
        for matter in _matters([each.finding for each in found])
        for each in matter
    ]


def _order(finding: MemoryFinding) -> tuple[Any, ...]:
    return -finding.score, finding.kind, finding.paths, finding.lines


def matters_in(findings: Iterable[MemoryFinding]) -> list[tuple[MemoryFinding, ...]]:
    """Return the findings as groups with the same `matter`, in the order in which the matters first occur.

    A statement that is stale in several lines of a memory has one group per line, because each line is fixed
    separately.
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
    """Return the places that a finding about two memories compares, as `(memory path, line)`.

    Findings with a common place are grouped. Line 0 means the whole memory: findings about copies or versions
    of one memory are grouped, whatever lines they quote. Empty for a finding about a single memory; it is not
    grouped with others.
    """
    pair = zip(finding.paths, finding.lines, strict=False) if len(finding.paths) == 2 else ()
    whole = finding.paths if finding.kind in ("near-duplicate", "successor") else ()
    return [*((path, line) for path, line in pair if line), *((path, 0) for path in whole)]


def _related(notes: Sequence[RelatedNote], check: Callable[[], None]) -> Iterator[_Found]:
    for each in related_notes(notes, check):
        lines = tuple(evidence.line for evidence in each.evidence)
        said = tuple(redact(evidence.text) for evidence in each.evidence)
        finding = MemoryFinding(each.kind, each.paths, lines, said, each.score)
        choices = each.choices
        if each.kind in _ALIKE:
            first, second = each.paths
            choices = kept(first, second), kept(second, first)
        yield _Found(finding, each.proposal, choices)


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


def _marks(notes: Sequence[RelatedNote], caps: Caps, check: Callable[[], None]) -> Iterator[_Found]:
    for note in notes:
        data = note.text.encode("utf-8", "surrogatepass")[:CHECKED_BYTES]
        is_memory = note.path.startswith(f"{ROOT}/")
        for mark in lint(data, caps if is_memory else _NO_CAPS, rel=note.path, check=check):
            known = _MARKS.get(mark.kind)
            if known is not None:
                finding = MemoryFinding(known[0], (note.path,), (mark.line,), (mark.sentence,), known[1])
                is_cut = mark.kind == "cut" and note.may_edit
                yield _Found(finding, _with_whole_description(note, caps) if is_cut else None)


def _with_whole_description(note: RelatedNote, caps: Caps) -> Proposal | None:
    try:
        text = quote_description(note.text, caps.description_prefix_bytes, rules=caps.front_matter)
    except FrontError:
        return None
    return whole_description(note.path, text) if text != note.text else None


def _stale(notes: Mapping[str, RelatedNote], claims: Iterable[CheckedClaim]) -> Iterator[_Found]:
    claims = list(claims)
    for claim in claims:
        said = f"{claim.token} → {claim.to}" if claim.to else claim.token
        evidence = (
            (redact(said), redact(claim.evidence.subject)) if claim.evidence is not None else (redact(said),)
        )
        finding = MemoryFinding("stale", (claim.path,), (claim.line,), evidence, _STALE, claim=claim)
        note, proposal = notes.get(claim.path), None
        if note is not None and note.may_edit:
            # The same statement in several lines is one finding.
            same = (claim.path, claim.token, claim.to)
            text = fixed(note.text, [each for each in claims if (each.path, each.token, each.to) == same])
            proposal = corrected(note.path, text, claim.token, claim.to) if text != note.text else None
        yield _Found(finding, proposal)


class Dismissals:
    """The findings that a person does not want to see again, in a file of Reverie's own."""

    def __init__(self, sidecar: Callable[[], Sidecar]) -> None:
        self._sidecar = sidecar

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
        found = self._sidecar().read().data.get("dismissed")
        return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()

    def _change(self, wanted: Collection[str], last: Sequence[str]) -> None:
        def change(data: dict[str, Any]) -> dict[str, Any]:
            before = data.get("dismissed")
            known = [each for each in before if each in wanted] if isinstance(before, list) else []
            more = [each for each in last if each not in known]
            data["dismissed"] = [*known, *more][-_MOST_DISMISSED:]
            return data

        self._sidecar().update(change)


class FindingService(Dismissals):
    """The service that finds problems in the memories of one home."""

    def __init__(
        self,
        parts: HomeContainer,
        view: Callable[[ScopeContext], MemoryView],
        claims: Callable[[], ClaimService],
    ) -> None:
        """Connect the service to a home.

        `view` returns the list of the memories of a context; `claims` returns the service that compares
        statements in memories with the repository.
        """
        self._parts = parts
        self._view = view
        self._claims = claims
        super().__init__(partial(parts.own_sidecar, "findings.json"))
        self._lock = threading.Lock()

    def find(self, context: ScopeContext, *, check: Callable[[], None] = no_check) -> FindingReport:
        """Find the problems to review in the memories and loaded instruction files of `context`.

        `check` is called repeatedly and may raise to stop.
        """
        with self._lock:
            overlay, notes, found, limits = self._look(context, check)
            kept = self.without_dismissed([each.finding for each in found])
            ids = {each.id for each in kept}
            texts = {note.path: note.text for note in notes}
            shown = [_shown(each, overlay, texts) for each in found if each.finding.id in ids]
        dismissed = {each.finding.matter for each in found}.difference(each.matter for each in kept)
        return FindingReport(tuple(shown), len(notes), len(dismissed), limits)

    def _look(
        self, context: ScopeContext, check: Callable[[], None]
    ) -> tuple[ProposalOverlay | None, list[RelatedNote], list[_Found], tuple[str, ...]]:
        """Return a copy of the memories for trying changes, the notes, the findings, and the limits.

        The copy is None if no run may change the memories. The limits are sentences about data that was not
        examined. `check` is called repeatedly and may raise to stop.
        """
        parts, overlay = self._parts, None
        try:
            overlay = parts.dreams.proposals(context, check)
        except UserError as error:
            # The findings can be shown without suggestions.
            _log.warning("No suggestions can be made: %s", error)
        notes = list(self._notes(context, overlay))
        stale = self._claims().stale(context, check=check)
        limits = tuple(filter(None, (stale.problem, *stale.limits)))
        found = _found_in(notes, stale.claims, parts.noticed.of(context), parts.home.caps, check)
        return overlay, notes, found, limits

    def changes(
        self, context: ScopeContext, finding_id: str, take: Take, state: str
    ) -> tuple[ChangedMemory, ...]:
        """Return the changes that `decide` would make with the same arguments; raises as `decide` does."""
        _proposal, changes = self._decision(context, finding_id, take, state)
        return tuple(ChangedMemory(each.path, each.command, _diff([each])) for each in changes)

    def decide(self, context: ScopeContext, finding_id: str, take: Take, state: str) -> Undo:
        """Carry out a decision about a finding as a run; return the `Undo`, which reverts the run.

        `take`: the decision. `suggestion`: make the suggested change; `left`, `right`: keep what the first,
        or the second, of two memories says. `state`: the `state` of the finding as the person saw it. Raises
        `StoreError` if there is no such finding any more or it cannot be decided in this way, `Conflict` if
        the memories have changed since, `Busy` while another run is at work.
        """
        proposal, changes = self._decision(context, finding_id, take, state)
        result = self._parts.dreams.decide(context, proposal, changes)
        sentence = f"Undid changes to {some(len(changes), 'file')}."
        removed = tuple(each.path for each in changes if each.after is None)
        steps = (RunReverted(result.run_id),)
        return Undo(context, changes[0].path, steps, sentence, len(result.applied), removed=removed)

    def _decision(
        self, context: ScopeContext, finding_id: str, take: Take, state: str
    ) -> tuple[Proposal, Sequence[FileChange]]:
        """Return the change to make for a decision, and all files that it changes.

        The arguments are those of `decide`. Raises `StoreError` and `Conflict` as `decide` does.
        """
        overlay, notes, found, _limits = self._look(context, no_check)
        known = next((each for each in found if each.finding.id == finding_id), None)
        if known is None:
            raise StoreError(
                "Nothing was changed.",
                cause="The memories have changed since this finding was shown.",
                next_step="List the findings again.",
                reason="missing",
            )
        proposal = known.proposal if take == "suggestion" else known.choices[take == "right"]
        changes = () if proposal is None or overlay is None else overlay.changes(proposal)
        if proposal is None or not changes:
            raise StoreError(
                "Nothing was changed.",
                cause=_CANNOT[take],
                next_step="Edit the memories, or choose another option.",
                reason="undecidable",
            )
        finding = _shown(known, overlay, {note.path: note.text for note in notes})
        if state != finding.state:
            raise changed_since(finding.paths[0])
        return proposal, changes

    def texts(self, context: ScopeContext, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the current text of the note at each of these paths.

        The notes are memories of `context` and files that the agent reads beside them. Raises `StoreError` if
        a path is none of them any more.
        """
        found = {note.path: note.text for note in self._notes(context, None) if note.path in paths}
        for path in paths:
            if path not in found:
                raise StoreError(f"{path} no longer exists.", next_step="Refresh.", reason="missing")
        return tuple(found[path] for path in paths)

    def mark_shown(self, findings: Sequence[MemoryFinding]) -> None:
        """Store that a person has seen these findings, so that `shown_state` returns their state."""
        if not findings:
            return

        def change(data: dict[str, Any]) -> dict[str, Any]:
            before = data.get("shown")
            known = before if isinstance(before, dict) else {}
            more = {each.id: each.state for each in findings}
            rest = {key: state for key, state in known.items() if key not in more}
            data["shown"] = dict([*rest.items(), *more.items()][-_MOST_DISMISSED:])
            return data

        self._sidecar().update(change)

    def shown_state(self, finding_id: str) -> str:
        """Return the fingerprint of a finding (`MemoryFinding.state`) when a person saw it last.

        If it differs from the present one, the finding has changed since. Empty if nobody has seen it.
        """
        known = self._sidecar().read().data.get("shown")
        return str(known.get(finding_id, "")) if isinstance(known, dict) else ""

    def _notes(self, context: ScopeContext, overlay: ProposalOverlay | None) -> Iterator[RelatedNote]:
        view = self._view(context)
        for scope in Scope:
            listing = view.scopes[scope]
            directory = os.fspath(listing.root.directory) if listing.root is not None else ""
            for file in listing.files if directory else ():
                path = str(memory_path(scope, file.rel))
                known = None if overlay is None else overlay.notes.get(path)
                if file.role == "index":
                    continue
                if overlay is not None and known is not None:
                    yield RelatedNote(
                        path,
                        known.text,
                        known.last_write_at or 0,
                        may_edit=overlay.may_edit(path),
                        may_delete=overlay.may_edit(path) and not known.protected,
                    )
                    continue
                try:
                    _status, data = read_rel(directory, file.rel, CHECKED_BYTES)
                except OSError:
                    continue  # the listing reports it
                yield from _note(path, data)
        for companion in view.companions:
            if companion.exists and not companion.unopened:
                try:
                    data = read_regular(companion.path, CHECKED_BYTES)
                except OSError:
                    continue
                yield from _note(str(companion.path), data)


_CANNOT: Mapping[Take, str] = {
    "suggestion": "There is no suggestion for this finding.",
    "left": "This finding does not show how the other memory would have to change.",
    "right": "This finding does not show how the other memory would have to change.",
}


def _note(path: str, data: bytes) -> Iterator[RelatedNote]:
    """Yield the note in a file; nothing if the file is not text."""
    with suppress(UnicodeDecodeError):
        if b"\0" not in data:
            yield RelatedNote(path, data.decode("utf-8"))


def _shown(found: _Found, overlay: ProposalOverlay | None, texts: Mapping[str, str]) -> MemoryFinding:
    """Return a finding with its suggestion and state.

    `overlay`: the copy of the memories for trying the suggested change; None: no suggestion. `texts`: the
    texts of the notes by path.
    """
    finding, suggestion = found.finding, None
    changes = overlay.changes(found.proposal) if overlay is not None and found.proposal is not None else ()
    if found.proposal is not None and overlay is not None and changes:
        proposal = found.proposal
        tokens = overlay.tokens_saved(changes)
        suggestion = Suggestion(proposal.action, proposal.why, _diff(changes), tokens)
    digest = hashlib.sha256()
    for part in (*finding.paths, *(texts[path] for path in finding.paths)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    for change in changes:
        for data in (change.path.encode(), change.before or b"", change.after or b""):
            digest.update(data + b"\0")
    return replace(finding, suggestion=suggestion, state=digest.hexdigest()[:20])


def _diff(changes: Iterable[FileChange]) -> str:
    return redact("".join(unified(each.before, each.after, each.path) for each in changes))
