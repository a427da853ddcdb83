"""Views of a home for windows and commands: frozen values, safe to pass between threads.

A window imports only these values and the signatures of the services, none of their implementation.

Times are UTC ms, sizes bytes. Paths are memory paths unless a field says otherwise.

For orphaned stores, times are ns since the epoch, and `rel` is the path below the store.
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
from reverie.agents.scopes import Caps, Refusal, Scope, ScopeContext
from reverie.files.locks import LeaseHolder
from reverie.jobs.consolidate.review import Fate, GroupKind, MergedLine, Review
from reverie.memory.diff import InvisibleKind, WordSpans
from reverie.memory.listing import FileChanges, LintFinding, ScopeListing, apply_changes, changes_between
from reverie.memory.scope_files import sha256_of_text
from reverie.memory.search.snippets import Snippet
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.card import ReportCard
from reverie.runs.journal import Journal
from reverie.runs.parts import Parts
from reverie.runs.record import RunRecord, RunResult
from reverie.text.summaries import NOTHING, Phrase, is_utf16, readable_text, some
from reverie.values import Struct, columns, field, replace


class HomeInfo(Struct, frozen=True):
    """One open home: where it is, which agent it belongs to, and its projects and workspaces."""

    id: str
    root: Path
    kind: str
    """The kind of the home, which names its agent."""
    label: str
    """The name of the home for people."""
    contents: HomeContents
    problems: tuple[str, ...] = ()
    """Sentences about data that could not be read."""
    adoptable: tuple[KnownHome, ...] = ()
    """Known homes that no longer exist at their path and may have been moved here."""


class HomeFacts(Struct, frozen=True):
    """The features that the agent of a home has, such as notes, extraction or records of failures.

    None of them changes while the home is open.
    """

    takes_notes: bool = False
    """Whether a person can leave a note for the agent."""
    consolidates: bool = True
    """Whether a consolidation can change the agent's memories."""
    extracts: bool = False
    """Whether the agent keeps rollouts (files of conversations) from which memories can be extracted."""
    has_failures: bool = False
    """Whether the agent records failures and the lessons from them."""
    keeps_session_notes: bool = False
    """Whether the agent has notes of its sessions."""
    loads_pinned: bool = False
    """Whether the agent has pins, and loads pinned memories before others."""
    may_lose_stores: bool = False
    """Whether the agent has directories of notes that remain when their project no longer exists."""


UnseenKind = Literal["new", "changed", "deleted"]


BY_A_PERSON = frozenset({"user", "revert"})
"""The actors that write only changes that a person requested: an edit, or the undo of a run."""


SEVERAL = "several"


class UnseenChange(Struct, frozen=True):
    """A change of one memory that someone else made since a person last saw it."""

    path: str
    kind: UnseenKind
    before: str | None
    """The text before the change; None if there was no memory, or if it was not text."""
    actor: str
    """Who made the change according to the history, such as `agent`.

    `SEVERAL` for more than one actor; empty if unknown.
    """
    at_ms: int
    """The time of the change (UTC ms); 0 if unknown."""
    lines: tuple[int, ...] = ()
    """The numbers, from 0, of the lines of the present text that are new or different."""
    removed: int = 0
    """The number of lines of the earlier text that were removed."""
    sha256: str = ""
    """The hash of the content after the change; empty for a deletion."""


class MemoryView(Struct, frozen=True):
    """The trees of memories of the three scopes of one context, with companions and unseen changes.

    Companions are files that the agent loads beside its memories.
    """

    context: ScopeContext
    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]
    unseen: Mapping[str, UnseenKind] = field(default_factory=dict)
    """Memory path -> the kind of change that others made to the memory since a person saw it."""
    refusals: Mapping[Scope, Refusal] = field(default_factory=dict)
    """For each scope whose store is read-only, the reason; empty if only names were read."""

    @property
    def changed_by_others(self) -> frozenset[str]:
        """The paths of existing memories that someone else created or changed since a person saw them."""
        return frozenset(path for path, kind in self.unseen.items() if kind != "deleted")


class CoverageRow(Struct, frozen=True):
    """One row of the footer: the last consolidation of one scope."""

    scope: Scope
    last_run_at: int | None
    """The start of the last consolidation (UTC ms); None if there was none, or if not `available`."""
    trigger: str
    changes: int
    """The number of applied operations on memories of this scope."""
    summary: str
    available: bool
    """True if the context has this scope; if not, `reason` says why."""
    reason: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    """The operations of the run on memories, as in its record."""
    undone: bool = False
    """Whether the run was undone as a whole."""
    partly_undone: bool = False
    """Whether files or hunks of the run in this scope were undone."""
    permanent: bool = False
    """True if the agent has this scope in no context at all; only if not `available`."""


class HarvestRow(Struct, frozen=True):
    """The newest harvest of the workspace: facts collected from a conversation that the agent compacted."""

    status: Literal["pending", "completed", "failed"]
    at: int
    """The end of the harvest, or its start if it has not ended (UTC ms)."""
    accepted: int
    """The number of facts that were added."""
    skipped: int
    """The number of facts that were not added."""
    error: str = ""


class Spent(Struct, frozen=True):
    """The cost of the models in the runs of one scope: in the last run, and in this calendar month.

    A cost is in US dollars; None means that it is unknown.
    """

    last_tokens: int = 0
    last_cost: float | None = None
    month_tokens: int = 0
    month_cost: float | None = None
    month_unknown: bool = False
    """Whether the cost of some run of the month is unknown, so that `month_cost` is a lower bound."""


class ConsentView(Struct, frozen=True):
    """The data that would leave this machine, and its destination, for a person to consent."""

    destination: str
    files: tuple[str, ...]
    """The paths of the memories that would be sent."""
    secrets_hidden: int
    """The number of secrets in them that are replaced by placeholders."""
    stays: tuple[str, ...] = ()
    """The memories that a consolidation does not read, because they are too large or not text."""


class StatusView(Struct, frozen=True):
    """The data of the footer of one context."""

    rows: tuple[CoverageRow, ...]
    """One row for each scope, in the order workspace, project, global."""
    harvest: HarvestRow | None
    """The newest harvest of the workspace; None if there was none."""
    running: LeaseHolder | None
    """The process that is consolidating; None if there is none."""
    interrupted: tuple[RunRecord, ...]
    """The runs that a crash or kill ended."""
    problems: tuple[str, ...]
    """Sentences about data that could not be read."""
    spent: Mapping[Scope, Spent] = field(default_factory=dict)
    """The costs of models by scope."""
    agent: tuple[StatusLine, ...] = ()
    """The agent's own status of its background jobs."""


class FileText(Struct, frozen=True):
    """One file as the editor shows it."""

    path: str
    content: str
    """The decoded text, exactly, including line breaks and byte order mark."""
    sha256: str
    read_only: str
    """The reason why the file cannot be edited; empty if it can."""
    size: int
    """The size of the file in bytes."""
    mtime_ns: int
    """The modification time in ns."""
    newline: Literal["\n", "\r\n"]
    bom: bool
    """True if the file begins with a byte order mark."""
    note: str = ""
    """A sentence that the person must know before editing; empty if there is none."""
    refusal: Refusal | None = None
    """The reason why the whole store is read-only, which `read_only` has as text; None if it is not."""
    convertible: bool = False
    """Whether the file is UTF-16 that `UserEdits.convert_to_utf8` can rewrite without loss."""


class ChangedFile(Struct, frozen=True):
    """One file of a run, with its contents before and after the run (None: no file)."""

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""
    """The last command of the run on the file, with its reason or outcome, if any; may be empty."""


class ReviewHunk(Struct, frozen=True):
    """One change within a file that can be accepted, rejected or edited."""

    index: int
    """The number that identifies the hunk in a `ReviewSelection`."""
    start: int
    """The number of lines before the hunk in the earlier text."""
    lines: tuple[tuple[Literal[" ", "-", "+"], str], ...]
    """Pairs of a mark (" " context, "-" before, "+" after) and a text without line ending.

    A hunk without lines stands for the creation, deletion or move of the file.
    """
    marks: tuple[WordSpans, ...] = ()
    """For each line, the spans of the words that differ from the replaced line; empty if there are none."""
    invisible: tuple[InvisibleKind, ...] = ()
    """The kinds of differences between lines that look the same."""


class ReviewFile(Struct, frozen=True):
    """One file of a run."""

    path: str
    """The path, which identifies the file in a `ReviewSelection`."""
    verb: Literal["create", "edit", "delete", "rename"]
    before: str | None
    """The text before the run; None if the file is new."""
    after: str | None
    """The text after the run; None if the file is deleted."""
    hunks: tuple[ReviewHunk, ...]
    old_path: str = ""
    """The earlier path if the run moves the file; else empty."""


class ReviewGroup(Struct, frozen=True):
    """Files that are accepted or rejected together."""

    index: int
    kind: GroupKind
    reason: str
    """The engine's own reason; empty if it gave none."""
    files: tuple[ReviewFile, ...]
    merged: Mapping[str, tuple[MergedLine, ...]] = field(default_factory=dict)
    """Path of a memory that a merge removes -> where its lines are now."""
    fates: Mapping[str, Mapping[Fate, int]] = field(default_factory=dict)
    """Path of a memory that a merge removes -> how many of its lines were moved, reworded or lost."""


class ReviewView(Struct, frozen=True):
    """The changes of a run, or of a change set of the history, for review."""

    run: RunRecord | None
    """The run; None for a change set of the history that no run made."""
    groups: tuple[ReviewGroup, ...]
    refused: tuple[str, ...]
    """Sentences about what is not shown as a change.

    For a run: each of its operations that failed or exceeded the limits. For a change set: each file that is
    too large, or not text.
    """
    can_apply: bool
    """Whether a person can choose changes and apply them; if not, the choices are read-only."""
    why_not: str
    """The reason why `can_apply` is False."""
    plan: Review
    """The input of `jobs.consolidate.review.resolve`."""
    can_take_back: bool = False
    """True if the run is in effect, so that files and hunks of it can be undone."""
    taken_back: Parts = field(default_factory=dict)
    """The files and hunks that have been undone already."""
    card: ReportCard | None = None
    """The report card: which facts were lost, changed or kept; None if there were no facts to lose."""


class HandChange(Struct, frozen=True):
    """One file of a change by hand."""

    path: str
    """The memory path."""
    after: bytes | None
    """The content after the change; None to delete the file."""
    expected_sha256: str | None
    """The hash of the present content; None if there must be no file."""
    mode: int | None = None
    """The permission bits; None to leave them."""


class FilesChanged(Struct, frozen=True, tag=True):
    """The undo data of one change by hand of several files, for `runs.revert`."""

    context: ScopeContext
    journal: Journal
    """The journal of the change.

    The earlier contents are in its `commit` of the history, so that this value is valid even after the window
    is closed.
    """


class Renamed(Struct, frozen=True, tag=True):
    """The undo data of a file or folder that was renamed within its scope from path `old` to path `new`.

    It is undone by one rename, however many files a folder has.
    """

    context: ScopeContext
    old: str
    new: str
    usage: Mapping[str, MemoryUsage]
    """The pins and use counts before the rename, by usage key."""


class RunReverted(Struct, frozen=True, tag=True):
    """The undo data of a change that a run made; it is undone by reverting that run."""

    run_id: str
    """The id of the run that made the change.

    If that run is itself the undo of an earlier run, reverting it makes the changes of the earlier run again.
    """


class CompanionRestored(Struct, frozen=True, tag=True):
    """The undo data of a companion that was restored to an older version.

    A companion is a file that the agent loads beside its memories.
    """

    context: ScopeContext
    path: str
    """The path on disk, because a companion is outside the scopes."""
    before: str | None
    """The SHA-256 of the content before the restore; None if there was no file."""
    after: str | None
    """The SHA-256 of the content after the restore; None if the restore deleted the file."""
    mode: int | None
    """The permission bits before the restore; None if there was no file."""
    commit: str
    """The commit of the history that has the content before the restore."""


class FieldChange(Struct, frozen=True, tag=True):
    """A change of one field of a loki-mode record."""

    rel: str
    """The path of the file with the record, below the memory root."""
    place: tuple[str | int, ...]
    """The keys and list positions that lead to the field."""
    before: Any
    """The value that the field must have, so that concurrent changes by others are preserved."""
    after: Any
    """The new value."""
    was_there: bool = True
    """True if the field exists before the change; if not, `before` has no meaning."""
    is_there: bool = True
    """True if the field exists after the change; if not, `after` has no meaning."""


class Undo(Struct, frozen=True):
    """The information needed to undo a change that a person made."""

    context: ScopeContext
    path: str
    """The path that a window shows after the undo."""
    steps: tuple[FilesChanged | Renamed | RunReverted | CompanionRestored | FieldChange, ...]
    """The data to undo the change, one value for each part that was changed separately, oldest first.

    A `FieldChange` is the change to make for the undo, not the one that was made: it restores one value in
    the present version of a record, which may have other changes since.
    """
    sentence: str
    """The message that a window shows after the undo."""
    count: int = 1
    """The number of things that the change changed, as a person would count them."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """The moved paths: old path -> new path."""
    removed: tuple[str, ...] = ()
    """The memory paths of deleted files and folders; those that were moved are not among them."""
    warning: str = ""
    """The problems that occurred after the change was made, as sentences; empty for none."""


def run_undone(context: ScopeContext, result: RunResult) -> Undo:
    """Return the `Undo` for an undo of a run; using it makes the changes of the run again.

    `result`: the result of the undo of the run. `context`: the context that a window shows afterwards.
    """
    count = len(result.applied)
    files = result.applied[0].rpartition("/")[2] if count == 1 else some(count, "file")
    shown = result.applied[0] if result.applied else ""
    return Undo(context, shown, (RunReverted(result.run_id),), f"Redid changes to {files}.", count)


class Relevance(Struct, frozen=True):
    """The parts of a window that a set of changes on disk affects; True means: read again."""

    tree: bool
    """The trees of memories."""
    status: bool
    """The footer with the state of consolidations and background work."""
    runs: bool
    """The list of runs."""
    contents: bool
    """The list of projects and workspaces of the home."""
    traces: bool = False
    """The list of traces (recorded conversations of runs with a model)."""
    activity: bool = False
    """The log of background work."""
    project: bool = False
    """The state of the project's repository."""


class Template(Struct, frozen=True):
    """A template of a new memory."""

    name: str
    """The file name without suffix."""
    text: str
    """The text, in which `{{title}}` and `{{date}}` are filled in."""
    scope: Scope | None = None
    """The scope that the template is for; None for a person's own template, which is for every scope."""


class LintResult(Struct, frozen=True):
    """The findings of the rules in `memory.lint`, as far as they are known.

    The reason why the agent does not read a file is not among the findings, because
    `MemoryFile.unseen_reason` has it (see `with_reason`).
    """

    findings: Mapping[str, tuple[LintFinding, ...]]
    """The findings by memory path; only for files that have any."""
    complete: bool
    """False if some files were not read yet, so that `LintService.look` must be called again."""
    looked_at: int
    """The number of files read by this call."""


REPLAY_LIMIT_S = 60.0
"""The longest time for a replay in seconds, unless another limit is requested."""


class ReplayRequest(Struct, frozen=True):
    """A request to send a prompt to a model again."""

    engine: str
    """The model, `PROVIDER:MODEL`."""
    system: str
    """The system prompt."""
    user: str
    """The user message."""
    time_limit_s: float = REPLAY_LIMIT_S
    """The longest time of the replay, in seconds."""


_BOM = "\ufeff"


def file_text(path: str, data: bytes, *, mtime_ns: int, cap: int | None) -> FileText:
    """Return a file's text for an editor and, if it is read-only, the reason.

    Text that is not valid UTF-8 is decoded with U+FFFD, for display only. `mtime_ns`: the file's modification
    time. `cap`: the agent's size limit in bytes, None if it has none; a larger file is read-only, because the
    agent refuses it too. Pure.
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
    """A write by Reverie that another program overwrote."""

    path: str
    """The memory path."""
    at_ms: int
    """The time of Reverie's write (UTC ms)."""
    text: str | None
    """The text that Reverie wrote; None if Reverie deleted the file, which exists again."""
    kept: bool
    """Whether the text was stored as a draft."""

    def sentence(self) -> str:
        """Return a sentence for a person about the loss, with the next step."""
        if self.text is None:
            return f"{self.path} was deleted, and then another program wrote it again."
        offered = " Your text is saved as a draft, which the window offers to restore." if self.kept else ""
        return f"{self.path} was saved, and then another program overwrote it.{offered}"


class HostStatus(Struct, frozen=True):
    """The state of the background services of a home."""

    state: Literal["stopped", "hosting", "viewing", "waiting"]
    """Which process runs these services.

    `hosting`: the process `pid`, for the caller. `viewing`: another process, `holder`, which holds the lease.
    `waiting`: none, for the reason in `message`. `stopped`: none, because they were not started or were
    ended.
    """
    holder: LeaseHolder | None = None
    sessions: int = 0
    """The number of transcripts that are watched."""
    message: Phrase = NOTHING
    pid: int = 0
    is_ready: bool = False
    """Whether each transcript has been read once, so that new turns start runs."""


DRAFT_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{8}\.json", re.ASCII)


class Draft(Struct, frozen=True):
    """The text of a draft as it would be written to the file, and the version that it is based on.

    A draft is text that a person typed but did not save. `store` and `rel` identify the file permanently;
    `path` and `context` are how the editor reached it.
    """

    store: str
    """The key of the scope root with the file; `companion` for a companion."""
    rel: str
    """The path of the file below the scope root; for a companion, its whole path."""
    path: str
    """The memory path; empty for a companion."""
    context: ScopeContext
    content: str
    """The typed text, including byte order mark and line breaks."""
    base: str | None
    """The text of the version that the draft is based on.

    If there was no file (`base_sha256` is None), only its line breaks and byte order mark are used. None for
    a new file.
    """
    base_sha256: str | None
    """The hash of the file that the draft is based on; None if there was no file."""
    cursor: int
    """The position of the cursor in UTF-16 units."""
    at_ms: int
    overwritten: bool = False
    """Whether the text was saved and then overwritten by another program."""

    @property
    def label(self) -> str:
        return self.path or self.rel


class Offer(Struct, frozen=True):
    """A draft that a person can restore, because no open window is editing it."""

    name: str
    """The file name of the draft."""
    draft: Draft
    disk: FileText | None
    """The draft's file as it is now; None if it does not exist."""
    companion: Companion | None = None
    """The companion that the draft is of; None for a memory."""
    gap: str = ""
    """The reason why the draft cannot be restored to its file; empty if it can."""

    @property
    def changed(self) -> bool:
        """Whether the file differs from the version that the draft is based on."""
        return (self.disk.sha256 if self.disk is not None else None) != self.draft.base_sha256


class Offers(Struct, frozen=True):
    """The drafts that can be restored, newest first, and damaged draft files, which were just renamed."""

    offers: tuple[Offer, ...] = ()
    damaged: tuple[Path, ...] = ()


def draft_name(store: str, rel: str, instance: str) -> str:
    """Return the file name of a draft.

    `store`, `rel`: the file that was edited, as in `Draft`. `instance`: the id of the window, 8 hex digits.
    """
    digest = hashlib.sha256(f"{store}\0{rel}".encode("utf-8", "surrogatepass")).hexdigest()
    name = f"{digest}-{instance}.json"
    if not DRAFT_NAME.fullmatch(name):
        raise ValueError("an instance is 8 hex digits")
    return name


Matched = Literal["all", "any", "near"]
"""How a file matches a search.

`all`: it has all words of the query. `any`: some of them, or inflected forms. `near`: only similar words.
"""


class SearchPlace(Struct, frozen=True):
    """The context in which the person searches; its notes come first."""

    project_path: str | None = None
    """A project, or a directory in one."""
    workspace_id: str | None = None
    only: tuple[str, ...] = ()
    """The keys of the roots (`ScopeRoot.key`) in which notes are searched; empty: all roots."""


class SearchHit(Struct, frozen=True):
    """A file that matches a search.

    `workspace_id` and `project_path` name a context in which the file is shown.
    """

    home_id: str
    """The id of the file's home."""
    home: str
    """The directory of the file's home."""
    home_label: str
    """The name of the file's home."""
    path: str
    """The memory path; for a companion, the path on disk."""
    scope: Scope
    score: float
    snippet: Snippet
    name_hits: tuple[tuple[int, int], ...] = ()
    """The spans of the matching words in `path`."""
    root_key: str = ""
    """The key of the file's root (`ScopeRoot.key`); `companions` for a companion."""
    companion: bool = False
    """Whether the file is a companion, which is a file that the agent loads beside its memories."""
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True
    """False if no context shows the file because its project or workspace no longer exists."""
    matched: Matched = "all"

    def as_json(self) -> dict[str, Any]:
        """Return the hit as `reverie search --json` prints it."""
        return {
            **columns(self, "home path scope=scope.value score snippet=snippet.text"),
            "hits": [list(hit) for hit in self.snippet.hits],
            **columns(self, "line=snippet.line workspace_id project_path matched"),
        }


class SearchAnswer(Struct, frozen=True):
    """The result of a search.

    It contains memory text unredacted and stays on this machine.
    """

    query: str
    """The text that was searched for."""
    hits: tuple[SearchHit, ...]
    problems: tuple[str, ...] = ()
    """Sentences about parts of the query without effect, and about homes that could not be searched."""
    complete: bool = True
    """False if the index of some home is being built, or if the pattern was not tried on all files yet."""


COUNT = 50
"""The largest number of hits, unless more are requested."""


EvidenceKind = Literal["owner", "root", "remote", "name"]


_STRONGEST_FIRST: tuple[EvidenceKind, ...] = ("owner", "root", "remote", "name")


class LiveProject(Struct, frozen=True):
    """A project that the home lists."""

    path: str
    name: str
    there: bool
    """Whether the directory of the project can be reached now."""
    identity: Identity | None = None
    """The identity of the project's repository; None if it is unknown."""


class MatchEvidence(Struct, frozen=True):
    """One piece of evidence that an orphaned store belongs to a project."""

    kind: EvidenceKind
    value: str
    """The feature that both share: a shortened commit, an address or a name.

    For a store whose owner the home names: the file that names it.
    """


class ProjectMatch(Struct, frozen=True):
    """A project that an orphaned store may belong to."""

    project_path: str
    name: str
    evidence: tuple[MatchEvidence, ...]
    """The evidence for that, strongest first."""

    @property
    def rank(self) -> tuple[bool, ...]:
        kinds = {each.kind for each in self.evidence}
        return tuple(kind in kinds for kind in _STRONGEST_FIRST)


MergeState = Literal["create", "same", "contained", "differs", "blocked"]
"""The effect that merging an orphaned store has on a file.

`create`: its path is free. `same`: the same content is there. `contained`: the note there has all of its
lines. `differs`: the two differ, and a person may choose. `blocked`: the file is not merged, for the reason
in the field `blocked`.
"""


MergeChoice = Literal["both", "beside", "leave"]
"""What to do with a file that differs from the one at its target.

`both`: write one note with every line of both. `beside`: write a separate note beside the other one. `leave`:
write nothing.
"""


Blocked = Literal["", "name", "too-large", "folder", "unreadable"]


class StoreFile(Struct, frozen=True):
    """One file of an orphaned store."""

    rel: str
    """The path of the file in the store."""
    size: int
    mtime_ns: int


class StoreView(Struct, frozen=True):
    """One store (directory of notes) that can be merged: an orphaned one, or one of a further checkout.

    An orphaned store belongs to no existing project; a further checkout is one of several of one repository.
    """

    store: LostStore
    files: tuple[StoreFile, ...]
    matches: tuple[ProjectMatch, ...]
    """The projects that the store may belong to, best first."""
    best: ProjectMatch | None
    """The project into which the window suggests to merge the store.

    None if there is no evidence for a project, or equal evidence for several. For a further checkout it is
    the checkout with the most notes.
    """

    @property
    def removable(self) -> bool:
        """True if the store may be deleted: the history keeps its files, and no agent loads them."""
        return self.store.context is not None and self.store.kind != "other-checkout"

    @property
    def id(self) -> str:
        return str(self.store.directory)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


class OrphansView(Struct, frozen=True):
    """The orphaned stores of one home, and the projects they may be merged into."""

    stores: tuple[StoreView, ...]
    projects: tuple[LiveProject, ...]


class MergeRow(Struct, frozen=True):
    """The effect of a merge on one file of an orphaned store."""

    rel: str
    """The path of the file in the store."""
    path: str
    """The memory path at which the merge would write the file."""
    state: MergeState
    lost: bytes = b""
    """The content in the orphaned store."""
    live: bytes | None = None
    """The content at `path`; None if there is no file or it was not read."""
    union: bytes | None = None
    """A content with every line of both; None if that is impossible."""
    beside: str = ""
    """A free path next to `path`."""
    choices: tuple[MergeChoice, ...] = ()
    """The choices that a person has for this file, the default first."""
    blocked: Blocked = ""
    """The kind of obstacle that prevents the merge of this file; empty if there is none."""
    why: str = ""
    """A sentence about the obstacle, for some kinds only."""
    pinned: bool = False
    """Whether the file was pinned; if it is merged, the file at `path` is pinned too."""


class MergePreview(Struct, frozen=True):
    """The preview of a merge; nothing has been changed."""

    store: LostStore
    """The orphaned store to merge."""
    scope: Scope
    project_path: str
    """The project to merge into; empty for global memory."""
    rows: tuple[MergeRow, ...] = field(default=())
    """The effect on each file."""
    problem: str = ""
    """The reason why pins are unknown, so that none are transferred; empty if they are known."""


class TreesUpdate(Struct, frozen=True):
    """The trees of memories of a context, or only the changes in them.

    The engine sends the whole trees the first time, later only the changes. It stores the trees that it last
    sent to each client. A client sends the serial of the trees that it has; if that is not the last one, the
    client gets the whole trees.
    """

    serial: int
    """The number of this update for one client."""
    view: MemoryView
    """The trees, without the files of the scopes that are in `changes`."""
    changes: Mapping[Scope, FileChanges] = field(default_factory=dict)
    """The changed and removed files of a scope; a scope without an entry has all its files in `view`."""


def update_of(after: MemoryView, before: MemoryView | None, serial: int) -> TreesUpdate:
    """Return the update, numbered `serial`, that turns `before` into `after`.

    `before` is None if the client has no trees yet.
    """
    scopes: dict[Scope, ScopeListing] = {}
    changes: dict[Scope, FileChanges] = {}
    for scope, listing in after.scopes.items():
        # The client does not need what a later scan needs.
        bare = replace(listing, faults={}, use=None, scanned_ns=0)
        had = before.scopes.get(scope) if before is not None else None
        if had is not None and had.names_only == listing.names_only:
            changes[scope] = changes_between(had.files, listing.files)
            bare = replace(bare, files=())
        scopes[scope] = bare
    return TreesUpdate(serial, replace(after, scopes=scopes), changes)


def updated(update: TreesUpdate, before: MemoryView | None) -> MemoryView:
    """Return the view that results from applying `update` to `before` (None: no trees yet)."""
    scopes = dict(update.view.scopes)
    for scope, changes in update.changes.items():
        had = before.scopes[scope].files if before is not None else ()
        scopes[scope] = replace(scopes[scope], files=apply_changes(had, changes))
    return replace(update.view, scopes=scopes)


class Opened(Struct, frozen=True):
    """A home that was opened: its projects and workspaces, its agent's limits and features."""

    info: HomeInfo
    caps: Caps
    facts: HomeFacts
    recent_workspace: str
    """The id of the most recently used workspace; empty if unknown."""
