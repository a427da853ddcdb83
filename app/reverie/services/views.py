"""Views of a home for windows and commands: frozen values, safe to hand between threads.

A window knows the services by these values and by their signatures; it loads nothing of their work.

Times are UTC ms, sizes bytes. Paths are memory paths unless a field says otherwise.

Of lost stores, times are ns since the epoch, and `rel` is the path below the store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import Companion, HomeContents, Identity, LostStore
from reverie.agents.capabilities import StatusLine
from reverie.agents.identity import KnownHome
from reverie.agents.scopes import Refusal, Scope, ScopeContext
from reverie.files.locks import LeaseHolder
from reverie.jobs.consolidate.review import GroupKind, MergedLine, Review
from reverie.memory.diff import InvisibleKind, WordSpans
from reverie.memory.listing import LintFinding, ScopeListing
from reverie.memory.scope_files import sha256_of_text
from reverie.memory.search.snippets import Snippet
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.card import CardCounts, ReportCard
from reverie.runs.journal import Journal
from reverie.runs.parts import Parts
from reverie.runs.record import Outcome, RunResult
from reverie.text.summaries import NOTHING, Phrase, is_utf16, readable_text, some
from reverie.values import Struct, field


class HomeInfo(Struct, frozen=True):
    """One open home.

    `problems` are sentences on what could not be read; `adoptable` are homes that are gone from where they
    were and may have been moved here.
    """

    id: str
    root: Path
    kind: str
    label: str
    contents: HomeContents
    problems: tuple[str, ...] = ()
    adoptable: tuple[KnownHome, ...] = ()


class HomeFacts(Struct, frozen=True):
    """The abilities of the agent of a home. None of them changes while the home is open."""

    takes_notes: bool = False
    """A person can leave it a note."""
    keeps_records: bool = False
    """It keeps many memories in one file."""
    extracts: bool = False
    """It keeps rollouts from which memories can be extracted."""
    has_failures: bool = False
    """It remembers failures and what was learnt of them."""
    keeps_session_notes: bool = False
    """It has notes of its sessions."""
    loads_pinned: bool = False
    """It knows pins, and loads what is pinned before other memories."""
    may_lose_stores: bool = False
    """It keeps stores that can be orphaned, and Reverie looks for these."""


UnseenKind = Literal["new", "changed", "deleted"]


BY_A_PERSON = frozenset({"user", "revert"})
"""The actors that write only what a person asked for: an edit, or the undo of a run."""


SEVERAL = "several"


class UnseenChange(Struct, frozen=True):
    """A change of one memory by someone else since a person last saw it."""

    path: str
    kind: UnseenKind
    before: str | None
    """Its text then; None where there was none, or where it was no text."""
    actor: str
    """The actor who changed it, from the history; `SEVERAL` for more than one, empty: not known."""
    at_ms: int
    """The time of the change; 0: not known."""
    lines: tuple[int, ...] = ()
    """The lines of the present text, from 0, that are new or different."""
    removed: int = 0
    """The number of lines of the text before that are gone."""
    sha256: str = ""
    """The hash of the content after the change; empty for a deletion."""


class MemoryView(Struct, frozen=True):
    """The three trees of one context."""

    context: ScopeContext
    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]
    unseen: Mapping[str, UnseenKind] = field(default_factory=dict)
    """The kind of change by someone else since a memory was seen, by its path."""
    refusals: Mapping[Scope, Refusal] = field(default_factory=dict)
    """The scopes whose store is read-only, and why; empty at a first look at the names."""

    @property
    def changed_by_others(self) -> frozenset[str]:
        """The memories that are there and that someone else made or changed since they were seen."""
        return frozenset(path for path, kind in self.unseen.items() if kind != "deleted")


class CoverageRow(Struct, frozen=True):
    """One row of the footer."""

    scope: Scope
    last_run_at: int | None
    """UTC milliseconds; None with `available` means never."""
    trigger: str
    changes: int
    """Applied operations on memories of this scope."""
    summary: str
    available: bool
    reason: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    undone: bool = False
    """The run was taken back."""
    partly_undone: bool = False
    """Parts of it in this scope were taken back."""
    permanent: bool = False
    """With not `available`: the agent has no such scope in any context."""


class HarvestRow(Struct, frozen=True):
    """The newest harvest of the workspace."""

    status: Literal["pending", "completed", "failed"]
    at: int
    accepted: int
    skipped: int
    error: str = ""


class RunSummary(Struct, frozen=True):
    """One run as lists show it."""

    id: str
    kind: str
    workspace_id: str | None
    started_at: int
    ended_at: int | None
    outcome: Outcome
    engine: str
    trigger: str
    summary: str
    reason: str
    ops: tuple[Mapping[str, Any], ...]
    dry_run: bool
    reverted: bool
    conflicts: tuple[str, ...] = ()
    usage: Mapping[str, Any] | None = None
    """Tokens of the run's model (`inputTokens`, `outputTokens`, ...); None: no model, or it did not say."""
    cost_usd: float | None = None
    """None: not known."""
    partly_undone: bool = False
    """Parts of it were taken back, the rest was not."""
    project_path: str | None = None
    """The project whose memories it was about; None: no project, or several."""
    discarded: bool = False
    """A person does not want this proposal; it can still be applied."""
    applied_by: str = ""
    """The run that carried this proposal out."""
    card: CardCounts | None = None
    """The facts that it changed; None: they were not counted."""


class Spent(Struct, frozen=True):
    """The cost of the models in one scope's runs: the last run, and all of this calendar month.

    A cost of None is not known; `month_unknown`: that of some run of the month is not, so the sum is a lower
    bound.
    """

    last_tokens: int = 0
    last_cost: float | None = None
    month_tokens: int = 0
    month_cost: float | None = None
    month_unknown: bool = False


class ConsentView(Struct, frozen=True):
    """The data that would leave this machine, and its destination.

    `stays`: memories that a dream does not read (too large, no text).
    """

    destination: str
    files: tuple[str, ...]
    secrets_hidden: int
    stays: tuple[str, ...] = ()


class StatusView(Struct, frozen=True):
    """The footer of one context: rows in the order workspace, project, global."""

    rows: tuple[CoverageRow, ...]
    harvest: HarvestRow | None
    running: LeaseHolder | None
    interrupted: tuple[RunSummary, ...]
    problems: tuple[str, ...]
    spent: Mapping[Scope, Spent] = field(default_factory=dict)
    agent: tuple[StatusLine, ...] = ()
    """The agent's own status of its jobs."""


class FileText(Struct, frozen=True):
    """One file for the editor.

    `content` is exactly the decoded text, newlines and byte order mark included. `note`: what whoever edits
    it has to know, as a sentence; empty for nothing.
    """

    path: str
    content: str
    sha256: str
    read_only: str
    size: int
    mtime_ns: int
    newline: Literal["\n", "\r\n"]
    bom: bool
    note: str = ""
    refusal: Refusal | None = None
    """Why its whole store is read-only; `read_only` says it in words."""
    convertible: bool = False
    """Whether it is UTF-16 that `UserEdits.convert_to_utf8` can rewrite without loss."""


class ChangedFile(Struct, frozen=True):
    """One file of a run.

    The bytes before and after are None where there is no file; `note` says why it changed or what became of
    it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""


class ReviewHunk(Struct, frozen=True):
    """One change within a file that can be taken, left or worded anew.

    `index` is what a `Selection` names; `start`: how many lines of the text before stand above it. `lines`
    are (" " context | "-" before | "+" after, text without its ending); none: the hunk stands for the file
    itself coming, going or moving.
    """

    index: int
    start: int
    lines: tuple[tuple[Literal[" ", "-", "+"], str], ...]
    marks: tuple[WordSpans, ...] = ()
    """The words that differ from the replaced line, by line. Empty: no line has any."""
    invisible: tuple[InvisibleKind, ...] = ()
    """The kinds of difference between lines that look alike."""


class ReviewFile(Struct, frozen=True):
    """One file of a run.

    `path` is what a `Selection` names; `old_path` where it stood, if the run moves it. `before` None: it is
    new; `after` None: it goes.
    """

    path: str
    verb: Literal["create", "edit", "delete", "rename"]
    before: str | None
    after: str | None
    hunks: tuple[ReviewHunk, ...]
    old_path: str = ""


class ReviewGroup(Struct, frozen=True):
    """Files that are accepted or rejected together. `reason`: the engine's own words, where it gave any."""

    index: int
    kind: GroupKind
    reason: str
    files: tuple[ReviewFile, ...]
    merged: Mapping[str, tuple[MergedLine, ...]] = field(default_factory=dict)
    """The new places of the lines of each memory that a merge removes, by its path."""


class ReviewView(Struct, frozen=True):
    """A run to look through.

    `refused` are the run's requests that the rails refused or that failed, one sentence each. `can_apply`
    False: `why_not` says why, and the choices are for reading only. `plan` is what
    `jobs.consolidate.review.resolve` works on: pure and quick, for every click. `run` None: a change set of
    the history that no run made.
    """

    run: RunSummary | None
    groups: tuple[ReviewGroup, ...]
    refused: tuple[str, ...]
    can_apply: bool
    why_not: str
    plan: Review
    can_take_back: bool = False
    """It is in place: what is left out of a selection can be taken back."""
    taken_back: Parts = field(default_factory=dict)
    """The parts that were taken back already."""
    card: ReportCard | None = None
    """The report card about the facts that it changed; None: there were none to lose."""


class HandChange(Struct, frozen=True):
    """One file of a change by hand.

    `path` is a memory path; `after` its bytes then, None: it goes; `expected_sha256` the hash of its bytes
    now, None: nothing may stand there; `mode` permission bits, None: as they are.
    """

    path: str
    after: bytes | None
    expected_sha256: str | None
    mode: int | None = None


class FilesChanged(Struct, frozen=True, tag=True):
    """Files, pins and use as one change by hand left them: what `runs.revert` takes back."""

    context: ScopeContext
    journal: Journal
    """Its `commit` of the history holds the contents before, so that this outlives the window."""


class Renamed(Struct, frozen=True, tag=True):
    """A file or folder at another place of its scope.

    One rename there and one back, whatever is in it: a folder of ten thousand files is no ten thousand
    changes.
    """

    context: ScopeContext
    old: str
    new: str
    usage: Mapping[str, MemoryUsage]
    """The usage before, by logical key."""


class RunReverted(Struct, frozen=True, tag=True):
    """The undo of a run, or of a part of it: a run of its own."""

    run_id: str
    """The run of the undo."""


class CompanionRestored(Struct, frozen=True, tag=True):
    """An older version of a companion, which lies outside the scopes and so has no memory path."""

    context: ScopeContext
    path: str
    before: str | None
    """SHA-256 of the content before; None: there was no file."""
    after: str | None
    mode: int | None
    commit: str
    """The commit of the history with the bytes before."""


class FieldChange(Struct, frozen=True, tag=True):
    """One field of the record in `rel` (below the memory root). `place`: keys and list positions."""

    rel: str
    place: tuple[str | int, ...]
    before: Any
    after: Any
    was_there: bool = True
    """False: there is no such field before, and `before` means nothing."""
    is_there: bool = True
    """False: there is no such field after, and `after` means nothing."""


class PatternsChange(Struct, frozen=True, tag=True):
    """A change of patterns in the store at `rel`.

    `after` takes the place of `before`, each of which must be there exactly as it is given here. `places`:
    where each of `after` goes; without, all go where the first was.
    """

    rel: str
    before: tuple[dict[str, Any], ...]
    after: tuple[dict[str, Any], ...]
    places: tuple[int, ...] = ()


RecordChange = FieldChange | PatternsChange
"""A change of a record of loki-mode. It can be turned round, and names what it expects, so that what others
wrote meanwhile stays."""


class Undo(Struct, frozen=True):
    """The way to take back what a person did as one."""

    context: ScopeContext
    path: str
    """The path that a window shows once it is taken back."""
    steps: tuple[FilesChanged | Renamed | RunReverted | CompanionRestored | RecordChange, ...]
    """In the order they were made. A `RecordChange` is the way back already: a value inside a record is given
    back in whatever the record has become, which a file's bytes cannot say."""
    sentence: str
    """The sentence that is shown once it is taken back."""
    count: int = 1
    """The number of things that were changed, as a person would count them."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Old path -> new path."""
    removed: tuple[str, ...] = ()
    """Memory paths of the files and folders that were deleted; not those that moved."""
    warning: str = ""
    """Problems after the change was made, as sentences; empty for none."""


def run_undone(context: ScopeContext, result: RunResult) -> Undo:
    """Build the undo step for the undo of a run, which applies the run again."""
    count = len(result.applied)
    files = result.applied[0].rpartition("/")[2] if count == 1 else some(count, "file")
    shown = result.applied[0] if result.applied else ""
    return Undo(context, shown, (RunReverted(result.run_id),), f"Redid changes to {files}.", count)


class Relevance(Struct, frozen=True):
    """The views that a set of changes touches."""

    tree: bool
    status: bool
    runs: bool
    contents: bool
    traces: bool = False
    activity: bool = False
    project: bool = False
    """Its repository stands elsewhere."""


class Template(Struct, frozen=True):
    """`name`: of the file without its suffix. `scope` None: a person's own, for every scope."""

    name: str
    text: str
    scope: Scope | None = None


class LintResult(Struct, frozen=True):
    """The findings after a look.

    `findings`: by memory path, only of files that have any, and without what the listing says itself (see
    `with_reason`); `complete` False: some files were not looked at yet, so look again. `looked_at`: files
    read this time.
    """

    findings: Mapping[str, tuple[LintFinding, ...]]
    complete: bool
    looked_at: int


REPLAY_LIMIT_S = 60.0
"""The longest time for a replay in seconds, unless another is requested."""


class ReplayRequest(Struct, frozen=True):
    """The prompt to send, and the model to send it to (`provider:model`)."""

    engine: str
    system: str
    user: str
    time_limit_s: float = REPLAY_LIMIT_S


_BOM = "\ufeff"


def file_text(path: str, data: bytes, *, mtime_ns: int, cap: int | None) -> FileText:
    """Decode a file for an editor, with the reason why it must not be written where there is one.

    Pure.

    Text that is not valid UTF-8 is decoded with U+FFFD for showing only; a file over the agent's cap is shown
    and stays as it is, since the agent refuses it too.
    """
    try:
        content, read_only = data.decode("utf-8"), ""
    except UnicodeDecodeError:
        what = "is UTF-16, not UTF-8," if is_utf16(data) else "is not valid UTF-8"
        content, read_only = readable_text(data), f"This file {what} and is shown read-only."
    if not read_only and "\0" in content:
        read_only = "This file is not text and is shown read-only."
    if cap is not None and len(data) > cap:
        read_only = f"This file is larger than the agent's limit of {cap:,} bytes and is shown read-only."
    return FileText(
        path=path,
        content=content,
        sha256=sha256_of_text(content),
        read_only=read_only,
        size=len(data),
        mtime_ns=mtime_ns,
        newline="\r\n" if _mostly_crlf(content) else "\n",
        bom=content.startswith(_BOM),
    )


def _mostly_crlf(content: str) -> bool:
    return content.count("\r\n") * 2 > content.count("\n")


class LostSave(Struct, frozen=True):
    """A write of ours that another program overwrote."""

    path: str
    """The memory path."""
    at_ms: int
    """The time at which Reverie wrote it, UTC ms."""
    text: str | None
    """The text that Reverie wrote; None where it deleted the file, which is there again."""
    kept: bool
    """Whether the text is kept as a draft."""

    def sentence(self) -> str:
        """Describe the loss for a person, with the next step."""
        if self.text is None:
            return f"{self.path} was deleted, and then another program wrote it again."
        offered = " Your text is saved as a draft, which the window offers to restore." if self.kept else ""
        return f"{self.path} was saved, and then another program overwrote it.{offered}"


class HostStatus(Struct, frozen=True):
    """`hosting`: here; `viewing`: `holder` hosts; `waiting`: nobody does, and `message` says why not we.

    `sessions` transcripts are followed.
    """

    state: Literal["stopped", "hosting", "viewing", "waiting"]
    holder: LeaseHolder | None = None
    sessions: int = 0
    message: Phrase = NOTHING


DRAFT_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{8}\.json", re.ASCII)


class Draft(Struct, frozen=True):
    """Text as it would be written, byte order mark and line breaks included, and what it grew from.

    `store` and `rel` name the file for ever (a scope root's key, or `companion` and the path); `path` and
    `context` are how it was reached (`path` is empty for a companion). `base_sha256` is None where no file
    was there; `base` then still tells the style of the line breaks. `cursor` counts UTF-16 units.
    """

    store: str
    rel: str
    path: str
    context: ScopeContext
    content: str
    base: str | None
    base_sha256: str | None
    cursor: int
    at_ms: int
    overwritten: bool = False
    """Whether it was saved, and another program overwrote it."""

    @property
    def label(self) -> str:
        return self.path or self.rel


class Offer(Struct, frozen=True):
    """A draft of a process that is gone, beside the file as it stands now.

    `gap`: why it cannot go back there, or empty.
    """

    name: str
    draft: Draft
    disk: FileText | None
    companion: Companion | None = None
    gap: str = ""

    @property
    def changed(self) -> bool:
        """Whether the file is not the one that the draft grew from any more."""
        return (self.disk.sha256 if self.disk is not None else None) != self.draft.base_sha256


class Offers(Struct, frozen=True):
    """The drafts that are offered, newest first, and the files just set aside as damaged."""

    offers: tuple[Offer, ...] = ()
    damaged: tuple[Path, ...] = ()


def draft_name(store: str, rel: str, instance: str) -> str:
    """Return the file name of a draft. `instance`: 8 hex digits of the window."""
    digest = hashlib.sha256(f"{store}\0{rel}".encode("utf-8", "surrogatepass")).hexdigest()
    name = f"{digest}-{instance}.json"
    if not DRAFT_NAME.fullmatch(name):
        raise ValueError("an instance is 8 hex digits")
    return name


Matched = Literal["all", "any", "near"]
"""Whether a hit has all words of the question, some of them (or forms of them), or only words spelt alike."""


class SearchPlace(Struct, frozen=True):
    """The place of the person who searches: its notes come first."""

    project_path: str | None = None
    """A project, or a directory in one."""
    workspace_id: str | None = None


class SearchHit(Struct, frozen=True):
    """A file that matches a search.

    `path` is its memory path, for a companion its path on disk. `workspace_id` and `project_path` name a
    context it is shown in; `reachable` False: none shows it (its owner is gone).
    """

    home_id: str
    home: str
    home_label: str
    path: str
    scope: Scope
    score: float
    snippet: Snippet
    name_hits: tuple[tuple[int, int], ...] = ()
    root_key: str = ""
    companion: bool = False
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True
    matched: Matched = "all"

    def as_json(self) -> dict[str, Any]:
        """Return the hit as `reverie search --json` prints it."""
        return {
            "home": self.home,
            "path": self.path,
            "scope": self.scope.value,
            "score": self.score,
            "snippet": self.snippet.text,
            "hits": [list(hit) for hit in self.snippet.hits],
            "line": self.snippet.line,
            "workspaceId": self.workspace_id,
            "projectPath": self.project_path,
            "matched": self.matched,
        }


class SearchAnswer(Struct, frozen=True):
    """The answer to a search.

    It holds memory text as it is and stays on this machine.

    `problems`: sentences on what was asked in vain, and on homes that could not be searched. `complete`
    False: the index of some home is still being made, or the pattern was not tried on everything yet.
    """

    query: str
    hits: tuple[SearchHit, ...]
    problems: tuple[str, ...] = ()
    complete: bool = True


COUNT = 50
"""The most hits of an answer, unless more are requested."""


EvidenceKind = Literal["owner", "root", "remote", "name"]


_STRONGEST_FIRST: tuple[EvidenceKind, ...] = ("owner", "root", "remote", "name")


class LiveProject(Struct, frozen=True):
    """A project that the home lists. `there`: its directory can be reached now."""

    path: str
    name: str
    there: bool
    identity: Identity | None = None


class MatchEvidence(Struct, frozen=True):
    """One thing that speaks for a match.

    `value` is what both have: a shortened commit, an address, a name, the file that names the owner.
    """

    kind: EvidenceKind
    value: str


class ProjectMatch(Struct, frozen=True):
    """A project that a store may belong to, strongest evidence first."""

    project_path: str
    name: str
    evidence: tuple[MatchEvidence, ...]

    @property
    def rank(self) -> tuple[bool, ...]:
        kinds = {each.kind for each in self.evidence}
        return tuple(kind in kinds for kind in _STRONGEST_FIRST)


MergeState = Literal["create", "same", "contained", "differs", "blocked"]
"""The state of a file in a merge: its place is free; the same bytes are there; the note there has all its
lines; both differ, and a person may choose; the file is not merged, for the reason in `blocked`."""


MergeChoice = Literal["both", "beside", "leave"]
"""For a file that differs: one note with every line of both; a note of its own beside the other; nothing."""


Blocked = Literal["", "name", "too-large", "folder", "unreadable"]


class StoreFile(Struct, frozen=True):
    """One file of a lost store."""

    rel: str
    size: int
    mtime_ns: int


class StoreView(Struct, frozen=True):
    """One lost store with what it holds.

    `best` None: nothing speaks for a project, or the same for several. `more`: there are more files than are
    listed. `removable`: the history keeps what is removed.
    """

    store: LostStore
    files: tuple[StoreFile, ...]
    more: bool
    matches: tuple[ProjectMatch, ...]
    best: ProjectMatch | None
    removable: bool

    @property
    def id(self) -> str:
        return str(self.store.directory)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


class OrphansView(Struct, frozen=True):
    """The lost stores of one home, and the projects they may be merged into."""

    stores: tuple[StoreView, ...]
    projects: tuple[LiveProject, ...]


class MergeRow(Struct, frozen=True):
    """The effect of merging on one file.

    `path` is where it goes, `beside` a free place next to that. `lost` and `live` are the bytes on both
    sides, `union` those with every line of both (None: cannot be made). `why`: the rule that a name breaks.
    """

    rel: str
    path: str
    state: MergeState
    lost: bytes = b""
    live: bytes | None = None
    union: bytes | None = None
    beside: str = ""
    choices: tuple[MergeChoice, ...] = ()
    blocked: Blocked = ""
    why: str = ""
    pinned: bool = False


class MergePreview(Struct, frozen=True):
    """A merge to look through; nothing was changed. `project_path` empty: into global memory."""

    store: LostStore
    scope: Scope
    project_path: str
    rows: tuple[MergeRow, ...] = field(default=())
    problem: str = ""
    """Why no pins are known, so that none follow; empty where they are."""
