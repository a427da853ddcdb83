"""The plan of a consolidation by rules: takes notes and returns groups of memory commands.

The rules use up the budget in this order: exact duplicates, notes that another note contains, paths of files
that were moved, harvest inboxes that other notes contain, empty files, descriptions, noise. A group of
commands is carried out completely or not at all. A group that does not fit the budget is left for the next
run, while a later, cheaper group may still fit. Every command is valid on the text that results from the
commands before it.

Only notes that repeat another one are merged (`relations`); pairs that overlap in another way are for a
person to decide. Notes of different scopes are never merged, and protected notes are never deleted; a merge
preserves every line, and bodies never grow in total (`merge`). Planning repeatedly on the result ends with
"no changes needed".

Pure: no clock, no disk. The result depends on the notes only, not on their order. `check` is called every few
milliseconds of work and may raise to cancel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from reverie.agents.capabilities import ComparableText
from reverie.agents.scopes import Caps
from reverie.claims.checking import CheckedClaim, ClaimState, fixed
from reverie.claims.finding import ClaimKind
from reverie.errors import PathRuleError
from reverie.jobs.consolidate.relations import ComparedText, Relation, TextIndex, compare, folded_body
from reverie.jobs.consolidate.rules.descriptions import lacks_description, with_description
from reverie.jobs.consolidate.rules.inbox import KnownTexts, candidates_of
from reverie.jobs.consolidate.rules.merge import merge
from reverie.jobs.consolidate.rules.noise import is_empty, without_noise
from reverie.jobs.consolidate.rules.reading import name_words
from reverie.jobs.consolidate.rules.wording import NOTE_NAME_WORDS, POOR_NAME_WORDS
from reverie.memory.listing import no_check
from reverie.memory.paths import parse_memory_path, utf16_key
from reverie.runs.retention import INBOX
from reverie.text.summaries import with_pairs
from reverie.values import Struct, replace

NO_CHANGES = "no changes needed"

GroupKind = Literal["exact", "contained", "moved", "harvest", "empty", "description", "noise"]
# The largest share of a note's lines that counts as a few removed lines; more is a different text.
_FEW_LINES = 0.25
_MOVED = (ClaimKind.PATH, ClaimKind.FILE, ClaimKind.DIR)
_MARKDOWN = frozenset({"md", "markdown", "mdown", "mdx"})
# Only these files are compared by meaning and edited, because others may hold data that an edit would break.
_PROSE = _MARKDOWN | {"", "txt", "text"}


class Note(Struct, frozen=True):
    """A memory as it was before the run, with the facts that the rules need."""

    path: str
    """`/memories/<scope>/<rel>`."""
    text: str
    protected: bool = False
    """True if it must not be deleted or renamed: it is pinned, or its scope allows no deletes."""
    access_count: int = 0
    last_write_at: int | None = None
    """The time of the last write, in UTC ms; None if unknown."""
    index: bool = False
    """True if it is an index, which the run updates from the other notes; the rules leave it unchanged."""
    essence: Callable[[str], ComparableText] = ComparableText
    """A function that returns the part of a text that a merge must preserve."""
    document: bool = False
    """True if it is a document: a file with many memories in an order of their own.

    Only a model may edit it, not the rules.
    """
    write_protected: bool = False
    """True if no run may change it (`files.atomic`)."""


class Operation(Struct, frozen=True):
    """One memory command, with the argument names of formats/mux.md section 6."""

    command: Literal["str_replace", "insert", "create", "delete"]
    path: str
    arguments: Mapping[str, Any]


class PlannedGroup(Struct, frozen=True):
    """Operations that are carried out together, in order."""

    kind: GroupKind
    reason: str
    """One sentence for people."""
    operations: tuple[Operation, ...]


class RulesPlan(Struct, frozen=True):
    """The changes that the rules of a consolidation propose."""

    groups: tuple[PlannedGroup, ...]
    left_over: int
    """The number of groups that did not fit the budget."""
    summary: str
    alike: int = 0
    """The number of pairs of notes with common content that no rule can merge without loss."""


def plan(
    notes: Sequence[Note],
    *,
    budget: int,
    caps: Caps,
    stale: Sequence[CheckedClaim] = (),
    check: Callable[[], None] = no_check,
) -> RulesPlan:
    """Return the changes that the rules propose for the notes of one context.

    `budget`: the largest number of operations. `stale` are the statements in the notes that are no longer
    true. `check` may raise to cancel.
    """
    planner = _Planner(notes, budget, caps, check)
    planner.exact()
    planner.contained()
    planner.moved(stale)
    for rule in (planner.harvest, planner.empty, planner.describe, planner.tidy):
        rule()
    summary = _summary(planner.groups, planner.left_over, len(planner.alike))
    return RulesPlan(tuple(planner.groups), planner.left_over, summary, len(planner.alike))


class _Planner:
    """The rules' plan of a consolidation so far, and the notes as they would be after it."""

    def __init__(self, notes: Sequence[Note], budget: int, caps: Caps, check: Callable[[], None]) -> None:
        usable = (note for note in notes if _is_usable(note, caps))
        found = {note.path: note for note in sorted(usable, key=lambda note: utf16_key(note.path))}
        self._notes = found
        self._remaining = budget
        self._stale: dict[str, set[str]] = defaultdict(set)
        self._caps = caps
        self._check = check
        self._compared: dict[str, tuple[str, ComparedText]] = {}
        self.groups: list[PlannedGroup] = []
        self.left_over = 0
        self.alike: set[frozenset[str]] = set()

    def exact(self) -> None:
        """Plan merges of notes with the same body except for white space.

        One of the notes is deleted, and its front matter is merged into the other.
        """
        for paths in self._same_bodies():
            target, *others = sorted(paths, key=self._target_order)
            for path in others:
                self._check()
                if not _is_prose(target):
                    may_be_one = self._notes[target].text == self._notes[path].text
                else:
                    may_be_one = self._relation(target, path).is_repetition
                if may_be_one:
                    self._merge(target, path, "exact")
                # The target itself was deleted if only the opposite merge was possible without loss.
                target = target if target in self._notes else path

    def contained(self) -> None:
        """Plan merges of notes whose statements another note has as well, into the better-named note.

        Pairs that overlap in another way are only counted.
        """
        for scope_paths in self._by_scope():
            paths = [path for path in scope_paths if _is_prose(path) and not self._is_empty(path)]
            index = TextIndex((self._notes[path].text for path in paths), self._check)
            for one, other in index.related_pairs():
                self._check()
                first, second = sorted((paths[one], paths[other]), key=self._target_order)
                if first not in self._notes or second not in self._notes or self._of_two_kinds(first, second):
                    continue
                relation = self._relation(first, second)
                small, large = (first, second) if relation.small == 0 else (second, first)
                if relation.is_repetition and not self._took_lines_out(small, large):
                    self._merge(first, second, "contained")
                if {first, second} <= self._notes.keys() and relation.says_the_same:
                    self.alike.add(frozenset((first, second)))

    def moved(self, stale: Iterable[CheckedClaim]) -> None:
        """Plan to correct the paths of files and directories that were moved to another directory.

        `stale`: the statements that are no longer true. A path is corrected only if the name stayed the same:
        a thing with a new name may have become a different one, which a person must decide.
        """
        found: dict[str, list[CheckedClaim]] = defaultdict(list)
        for claim in stale:
            self._stale[claim.path].add(claim.token)
            is_moved = claim.state is ClaimState.MOVED and claim.kind in _MOVED
            if is_moved and claim.replacement and _base_name(claim.token) == _base_name(claim.replacement):
                found[claim.path].append(claim)
        for path, claims in found.items():
            self._check()
            if path not in self._notes or not self._is_editable(path):
                continue
            before = self._notes[path].text
            text = fixed(before, claims)
            if text != before:
                to = f"“{claims[0].token}” is now “{claims[0].to}”"
                more = f", and {_count(len(claims) - 1, '{} more path', '{} more paths')}"
                reason = f"In {_short(path)} {to}{more if len(claims) > 1 else ''}."
                self._propose("moved", reason, (edit_operation(path, before, text),), {path: text})

    def harvest(self) -> None:
        """Plan to delete inboxes, files of new memories, if other notes contain all of their candidates."""
        inboxes = [path for path in self._notes if _is_inbox(path)]
        if not inboxes:
            return
        rest = {path: note.text for path, note in self._notes.items() if not _is_inbox(path)}
        known = KnownTexts(rest, self._check)
        for path in inboxes:
            self._check()
            candidates = candidates_of(self._notes[path].text)
            if not self._notes[path].protected and candidates and all(map(known.holds, candidates)):
                reason = f"All candidates of {_short(path)} are contained in other notes."
                self._propose("harvest", reason, (_delete(path),), {path: None})

    def empty(self) -> None:
        """Plan to delete empty files."""
        for path, note in list(self._notes.items()):
            self._check()
            if not note.protected and self._is_empty(path):
                self._propose("empty", f"{_short(path)} is empty.", (_delete(path),), {path: None})

    def describe(self) -> None:
        """Plan descriptions for notes that lack one."""
        for path, note in list(self._notes.items()):
            self._check()
            if not self._is_editable(path) or not lacks_description(note.text, self._caps):
                continue
            had_block = note.text.removeprefix("\ufeff").startswith("---")
            if not had_block and _suffix(path) not in _MARKDOWN:
                continue  # In plain text, a front matter block would be noise.
            text = with_description(note.text, self._caps, name_words(path)[0], self._stale[path])
            if text is not None:
                reason = f"The description of {_short(path)} is {'repaired' if had_block else 'written'}."
                # Descriptions change no statement of a note, so they do not count against the budget.
                self._propose(
                    "description", reason, (edit_operation(path, note.text, text),), {path: text}, cost=0
                )

    def tidy(self) -> None:
        """Plan to remove trailing white space."""
        for path, note in list(self._notes.items()):
            self._check()
            text = without_noise(note.text) if self._is_editable(path) else None
            if text is not None:
                reason = f"Trailing whitespace in {_short(path)} is removed."
                self._propose("noise", reason, (edit_operation(path, note.text, text),), {path: text})

    def _by_scope(self) -> list[list[str]]:
        scopes: dict[str, list[str]] = defaultdict(list)
        for path in self._notes:
            if not _is_inbox(path):
                scopes[path.split("/")[2]].append(path)
        return list(scopes.values())

    def _same_bodies(self) -> list[list[str]]:
        same: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for scope_paths in self._by_scope():
            for path in scope_paths:
                self._check()
                body = self._compared_text(path).body
                if body:
                    kind = "" if _is_prose(path) else _suffix(path)
                    same[path.split("/")[2], kind, body].append(path)
        return [paths for paths in same.values() if len(paths) > 1]

    def _is_empty(self, path: str) -> bool:
        return is_empty(self._notes[path].text)

    def _is_editable(self, path: str) -> bool:
        text = self._notes[path].text
        return (
            _is_prose(path) and not _is_inbox(path) and not text.startswith("#!") and not self._is_empty(path)
        )

    def _comparable(self, path: str) -> ComparableText:
        note = self._notes[path]
        return note.essence(note.text)

    def _of_two_kinds(self, first: str, second: str) -> bool:
        """Return True if two notes are of different kinds for the agent, so that they must not be merged."""
        kinds = {self._comparable(first).kind, self._comparable(second).kind} - {""}
        return len(kinds) > 1

    def _relation(self, one: str, other: str) -> Relation:
        return compare(self._compared_text(one), self._compared_text(other), self._check)

    def _compared_text(self, path: str) -> ComparedText:
        note = self._notes[path]
        known = self._compared.get(path)
        if known is None or known[0] != note.text:
            compared = ComparedText(path, note.essence(note.text).text)
            known = self._compared[path] = note.text, compared
        return known[1]

    def _target_order(self, path: str) -> tuple[object, ...]:
        """Return a sort key for choosing the target of a merge; the target sorts first.

        Order: protected, better named, more used, shorter path, newer.
        """
        note = self._notes[path]
        name, folders = name_words(path)
        poor = sum(
            (word in POOR_NAME_WORDS and word not in NOTE_NAME_WORDS) or (word.isdigit() and len(word) < 4)
            for word in (*name, *folders)
        )
        says_nothing = all(word in POOR_NAME_WORDS or word.isdigit() for word in name)
        return (
            not note.protected,
            says_nothing,
            poor,
            -note.access_count,
            len(path),
            -(note.last_write_at or 0),
            utf16_key(path),
        )

    def _merge(self, target: str, other: str, kind: Literal["exact", "contained"]) -> None:
        """Plan to merge `other` into `target`, or `target` into `other` if only that loses nothing."""
        if self._of_two_kinds(target, other):
            return
        for stays, goes in ((target, other), (other, target)):
            if self._notes[goes].protected:
                continue
            before, more = self._notes[stays].text, self._comparable(goes).text
            after = merge(before, more, self._caps)
            if after is None or (after != before and not _is_prose(stays)):
                continue
            if folded_body(after) not in (self._compared_text(stays).body, self._compared_text(goes).body):
                continue  # Something would be repeated, such as a block of code with another language.
            edits = () if after == before else (edit_operation(stays, before, after),)
            why = "both have the same text" if kind == "exact" else "one of them has all of the other"
            reason = f"{_short(goes)} is merged into {_short(stays)}, because {why}."
            self._propose(kind, reason, (*edits, _delete(goes)), {stays: after, goes: None})
            return

    def _took_lines_out(self, small: str, large: str) -> bool:
        """Return True if the note `small` is a later version of the note `large` without a few of its lines.

        A merge would restore lines that were removed on purpose. Which note is the later one is known from
        the recorded writes only: a checkout, a copy of the folder or the recovery of an interrupted run sets
        new times for files.
        """
        later, earlier = self._notes[small].last_write_at, self._notes[large].last_write_at
        less, more = (self._compared_text(path).weight for path in (small, large))
        is_later = later is not None and earlier is not None and later > earlier
        return is_later and less >= (1 - _FEW_LINES) * more

    def _propose(
        self,
        kind: GroupKind,
        reason: str,
        operations: tuple[Operation, ...],
        texts: Mapping[str, str | None],
        cost: int | None = None,
    ) -> None:
        """Add a group of operations to the plan if the budget allows it, and apply its result to the notes.

        `texts` are the new texts by path, None for a deleted note. `cost` is the share of the budget; None
        for one per operation.
        """
        cost = len(operations) if cost is None else cost
        if cost > self._remaining:
            self.left_over += 1
            return
        self._remaining -= cost
        self.groups.append(PlannedGroup(kind, reason, operations))
        for path, text in texts.items():
            if text is None:
                del self._notes[path]
            else:
                self._notes[path] = replace(self._notes[path], text=text)


def _is_usable(note: Note, caps: Caps) -> bool:
    """Return True if the rules may change a note.

    The commands must accept its path and text. Indexes, documents and write-protected files must not be
    changed.
    """
    if note.index or note.document or note.write_protected:
        return False
    try:
        path = parse_memory_path(note.path)
        size = len(note.text.encode("utf-8"))
    except (PathRuleError, UnicodeEncodeError):
        return False
    return (
        bool(path.segments) and str(path) == note.path and size <= caps.file_bytes and "\0" not in note.text
    )


def _base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _is_inbox(path: str) -> bool:
    return path.startswith(INBOX) and path.endswith(".md") and "/" not in path[len(INBOX) :]


def _suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].casefold() if "." in name[1:] else ""


def _is_prose(path: str) -> bool:
    return _suffix(path) in _PROSE


def _short(path: str) -> str:
    """Return the path as people see it, without the root that all paths have in common."""
    return f"“{path.removeprefix('/memories/')}”"


def _delete(path: str) -> Operation:
    return Operation("delete", path, {})


def edit_operation(path: str, before: str, after: str) -> Operation:
    """Return the command that changes `before` to `after`.

    Text that is only added at the beginning is inserted. Otherwise the whole text is replaced; this fails if
    another program has changed the text.
    """
    if after.endswith(before) and after[: -len(before)].endswith("\n") and "\r" not in after[: -len(before)]:
        return Operation("insert", path, {"insert_line": 0, "insert_text": after[: -len(before) - 1]})
    return Operation("str_replace", path, {"old_str": before, "new_str": after})


def _summary(groups: Sequence[PlannedGroup], left_over: int, alike: int) -> str:
    counts = Counter(group.kind for group in groups)
    parts = [_count(counts[kind], *words) for kind, words in _DONE.items() if counts[kind]]
    done = (
        f"{'; '.join(parts)}."
        if parts
        else ("No change fits within the limits of a run." if left_over else NO_CHANGES)
    )
    done = done[0].upper() + done[1:] if parts else done
    if left_over:
        done += f" {_count(left_over, '{} more change waits', '{} more changes wait')} for the next run."
    return with_pairs(done, alike) if parts else done


def _count(number: int, one: str, many: str) -> str:
    return (one if number == 1 else many).format(number)


_DONE: dict[GroupKind, tuple[str, str]] = {
    "exact": ("merged {} exact duplicate", "merged {} exact duplicates"),
    "contained": (
        "merged {} memory that another one contains",
        "merged {} memories that others contain",
    ),
    "moved": (
        "updated the paths of moved files in {} memory",
        "updated the paths of moved files in {} memories",
    ),
    "harvest": (
        "removed {} note from a conversation that other memories already contain",
        "removed {} notes from conversations that other memories already contain",
    ),
    "empty": ("deleted {} empty file", "deleted {} empty files"),
    "description": ("wrote or repaired {} description", "wrote or repaired {} descriptions"),
    "noise": ("tidied {} file", "tidied {} files"),
}
