"""The plan of a dream by rules: notes in, groups of memory commands out.

Order of the rules, and so of the budget: records that say the same (`rule_records`), exact duplicates,
near-duplicates and harvest inboxes that are contained elsewhere, empty files, descriptions, noise. A group
is all or nothing; one that does not fit the budget is left for the next run while a later, cheaper one may
still fit; of records so many are merged as fit. Every command is valid on the text that the commands before
it leave. Notes of different scopes are never merged, protected notes never deleted;
a merge keeps both wordings, and bodies never grow in total (`rule_merge`). Planning again on the result
converges to "no changes needed".

Pure: no clock, no disk. The result depends on the notes only, not on their order. `check` is called every few
milliseconds of work and may raise to cancel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reverie.dream import rule_text
from reverie.dream.candidates import candidate_pairs
from reverie.dream.reading import Reading, name_words, read_note
from reverie.dream.retention import INBOX, line_key
from reverie.dream.rule_harvest import Known, candidates_of
from reverie.dream.rule_merge import merge
from reverie.dream.rule_records import record_merges
from reverie.dream.similarity import compare, folded_body, no_check
from reverie.dream.vocabulary import POOR_NAME_WORDS
from reverie.errors import PathRuleError
from reverie.homes.agents import Essence
from reverie.homes.records import Records
from reverie.homes.scopes import Caps
from reverie.memory.paths import parse_memory_path, utf16_key

NO_CHANGES = "no changes needed"

GroupKind = Literal["record", "exact", "near", "harvest", "empty", "description", "noise"]
# Files that are prose: only these are compared by meaning and edited. Others may hold data that an edit would
# break. A line in more notes than this is boilerplate: sharing it is no sign of being duplicates.
_COMMON = 3
_PROSE = frozenset({"", "md", "markdown", "mdown", "mdx", "txt", "text"})


@dataclass(frozen=True, slots=True)
class Note:
    """A memory as a run finds it. `path` is `/memories/<scope>/<rel>`; `protected`: pinned directly or
    through a pinned file or ancestor, so it may be edited but neither deleted nor renamed; times are ms since
    the epoch. `index`: it lists the others and follows them; rules leave it alone. `essence` tells what of
    a text must be kept where two become one. `records`: the note is one of these, about what is `said`;
    `stays`: as one of them it must not go now."""

    path: str
    text: str
    protected: bool = False
    access_count: int = 0
    last_write_at: int | None = None
    index: bool = False
    essence: Callable[[str], Essence] = Essence
    records: Records | None = None
    said: str = ""
    stays: bool = False
    document: bool = False
    """It holds many memories in an order of its own: a model may edit it, rules leave it alone."""
    write_protected: bool = False
    """No run changes it (`files.protection`)."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One memory command, with the argument names of formats/mux.md section 6."""

    command: Literal["str_replace", "insert", "create", "delete"]
    path: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Operations that belong together, in order; `reason` is one sentence for people."""

    kind: GroupKind
    reason: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`left_over` counts the groups that were found and did not fit the budget. Once it is used up
    near-duplicates are not looked for any more, so there may be more of those."""

    groups: tuple[Group, ...]
    left_over: int
    summary: str


def plan(notes: Sequence[Note], *, budget: int, caps: Caps, check: Callable[[], None] = no_check) -> Plan:
    """What to do, within `budget` operations, about the notes of one context."""
    planner = _Planner(notes, budget, caps, check)
    planner.records()
    for rule in (planner.exact, planner.near, planner.harvest, planner.empty, planner.describe, planner.tidy):
        rule()
    return Plan(tuple(planner.groups), planner.left_over, _summary(planner.groups, planner.left_over))


class _Planner:
    """The notes as the groups planned so far leave them."""

    def __init__(self, notes: Sequence[Note], budget: int, caps: Caps, check: Callable[[], None]) -> None:
        usable = (note for note in notes if _is_usable(note, caps))
        found = {note.path: note for note in sorted(usable, key=lambda note: utf16_key(note.path))}
        self._records = [note for note in found.values() if note.records is not None]
        self._notes = {path: note for path, note in found.items() if note.records is None}
        self._remaining = budget
        self._caps = caps
        self._check = check
        self._readings: dict[str, tuple[str, Reading]] = {}
        self._line_counts = self._count_lines()
        self.groups: list[Group] = []
        self.left_over = 0

    def _count_lines(self) -> Counter[str]:
        """In how many notes each line stands."""
        counts: Counter[str] = Counter()
        for note in self._notes.values():
            self._check()
            counts.update({line_key(line) for line in note.text.split("\n")})
        return counts

    # --- rules, in the order of their right to the budget

    def records(self) -> None:
        """Records that say the same become the best founded of them."""
        for found in record_merges(self._records, self._check):
            others = found.others[: max(0, self._remaining - 1)]
            self.left_over += len(others) < len(found.others)
            if not others:
                return  # there may be more, which the next run finds
            path, before, after = found.target.path, found.target.text, found.text(len(others))
            edits = () if after == before else (_edit(path, before, after),)
            operations = (*edits, *(_delete(note.path) for note in others))
            said = _count(len(others), "{} record says", "{} records say")
            self._remaining -= len(operations)
            self.groups.append(Group("record", f"{said} the same as “{found.target.said}”.", operations))

    def exact(self) -> None:
        """Same body but for white space: one of them goes, its front matter is merged."""
        for paths in self._same_bodies():
            target, *others = sorted(paths, key=self._target_order)
            for path in others:
                self._check()
                self._merge(target, path, "exact")
                # The other way round, if only that could be done without loss.
                target = target if target in self._notes else path

    def near(self) -> None:
        """Same content in other words: merged into the better-named one."""
        for scope_paths in self._by_scope():
            if self._remaining < 1:
                return
            paths = [path for path in scope_paths if _is_prose(path) and not self._is_empty(path)]
            texts = [self._notes[path].text for path in paths]
            own = [self._own_lines(text) for text in texts]
            for pair in candidate_pairs(texts, own, self._check):
                self._check()
                if self._remaining < 1:
                    return
                first, second = paths[pair.first], paths[pair.second]
                if first in self._notes and second in self._notes and self._is_duplicate(first, second):
                    target, other = sorted((first, second), key=self._target_order)
                    self._merge(target, other, "near")

    def harvest(self) -> None:
        """Inboxes all of whose candidates stand in other notes are dropped."""
        inboxes = [path for path in self._notes if _is_inbox(path)]
        if not inboxes:
            return
        rest = {path: note.text for path, note in self._notes.items() if not _is_inbox(path)}
        known = Known(rest, self._check)
        for path in inboxes:
            self._check()
            candidates = candidates_of(self._notes[path].text)
            if not self._notes[path].protected and candidates and all(map(known.holds, candidates)):
                reason = f"All candidates of {_short(path)} are contained in other notes."
                self._propose("harvest", reason, (_delete(path),), {path: None})

    def empty(self) -> None:
        for path, note in list(self._notes.items()):
            self._check()
            if not note.protected and self._is_empty(path):
                self._propose("empty", f"{_short(path)} is empty.", (_delete(path),), {path: None})

    def describe(self) -> None:
        for path, note in list(self._notes.items()):
            self._check()
            if not self._is_editable(path) or not rule_text.lacks_description(note.text, self._caps):
                continue
            text = rule_text.with_description(note.text, self._caps)
            if text is not None:
                had_block = note.text.removeprefix("\ufeff").startswith("---")
                reason = f"The description of {_short(path)} is {'mended' if had_block else 'written'}."
                self._propose("description", reason, (_edit(path, note.text, text),), {path: text})

    def tidy(self) -> None:
        for path, note in list(self._notes.items()):
            self._check()
            text = rule_text.without_noise(note.text) if self._is_editable(path) else None
            if text is not None:
                reason = f"Trailing white space in {_short(path)} is removed."
                self._propose("noise", reason, (_edit(path, note.text, text),), {path: text})

    # --- parts of rules

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
                body = folded_body(self._notes[path].text)
                if body:
                    kind = "" if _is_prose(path) else _suffix(path)
                    same[path.split("/")[2], kind, body].append(path)
        return [paths for paths in same.values() if len(paths) > 1]

    def _is_empty(self, path: str) -> bool:
        return rule_text.is_empty(self._notes[path].text)

    def _is_editable(self, path: str) -> bool:
        text = self._notes[path].text
        return (
            _is_prose(path) and not _is_inbox(path) and not text.startswith("#!") and not self._is_empty(path)
        )

    def _is_duplicate(self, first: str, second: str) -> bool:
        if self._notes[first].protected and self._notes[second].protected:
            return False
        if self._of_two_kinds(first, second):
            return False
        return compare(self._reading(first), self._reading(second), self._check).duplicate

    def _essence(self, path: str) -> Essence:
        note = self._notes[path]
        return note.essence(note.text)

    def _of_two_kinds(self, first: str, second: str) -> bool:
        kinds = {self._essence(first).kind, self._essence(second).kind} - {""}
        return len(kinds) > 1

    def _reading(self, path: str) -> Reading:
        note = self._notes[path]
        known = self._readings.get(path)
        if known is None or known[0] != note.text:
            told = replace(note, text=note.essence(note.text).text)
            known = self._readings[path] = note.text, read_note(told, self._check, self._is_common)
        return known[1]

    def _own_lines(self, text: str) -> str:
        self._check()
        return "\n".join(line for line in text.split("\n") if not self._is_common(line))

    def _is_common(self, line: str) -> bool:
        return self._line_counts[line_key(line)] > _COMMON

    def _target_order(self, path: str) -> tuple[object, ...]:
        """The protected one stays, else the better-named, the more used, the shorter-named, the newer one."""
        note = self._notes[path]
        name, folders = name_words(path)
        poor = sum(
            word in POOR_NAME_WORDS or (word.isdigit() and len(word) < 4) for word in (*name, *folders)
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

    def _merge(self, target: str, other: str, kind: Literal["exact", "near"]) -> None:
        """Merge `other` into `target`, or the other way round where only that can be done without loss."""
        if kind == "exact" and (self._of_two_kinds(target, other) or not self._may_be_one(target, other)):
            return
        for stays, goes in ((target, other), (other, target)):
            if self._notes[goes].protected:
                continue
            before = self._notes[stays].text
            after = merge(before, self._essence(goes).text, self._caps)
            if after is None or (after != before and not _is_prose(stays)):
                continue
            edits = () if after == before else (_edit(stays, before, after),)
            said = "has the same text as" if kind == "exact" else "says the same as"
            reason = f"{_short(goes)} {said} {_short(stays)} and is merged into it."
            self._propose(kind, reason, (*edits, _delete(goes)), {stays: after, goes: None})
            return

    def _may_be_one(self, target: str, other: str) -> bool:
        if self._remaining < 1:
            return True
        if not _is_prose(target):
            return self._notes[target].text == self._notes[other].text
        return compare(self._reading(target), self._reading(other), self._check, same_body=True).duplicate

    def _propose(
        self, kind: GroupKind, reason: str, operations: tuple[Operation, ...], texts: Mapping[str, str | None]
    ) -> None:
        """Take the group into the plan if the budget allows, and let later rules see its result."""
        if len(operations) > self._remaining:
            self.left_over += 1
            return
        self._remaining -= len(operations)
        self.groups.append(Group(kind, reason, operations))
        for path, text in texts.items():
            if text is None:
                del self._notes[path]
            else:
                self._notes[path] = replace(self._notes[path], text=text)


def _is_usable(note: Note, caps: Caps) -> bool:
    """Whether the commands would accept the path as it is, and the text as text; an index, a document or
    a write-protected file is no note."""
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


def _is_inbox(path: str) -> bool:
    return path.startswith(INBOX) and path.endswith(".md") and "/" not in path[len(INBOX) :]


def _suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].casefold() if "." in name[1:] else ""


def _is_prose(path: str) -> bool:
    return _suffix(path) in _PROSE


def _short(path: str) -> str:
    """The path as people know it, without the root that all have in common."""
    return f"“{path.removeprefix('/memories/')}”"


def _delete(path: str) -> Operation:
    return Operation("delete", path, {})


def _edit(path: str, before: str, after: str) -> Operation:
    """The command that turns one text into the other. What is only put in front is inserted; else the whole
    text is replaced, which fails rather than overwrite if somebody has changed it meanwhile."""
    if after.endswith(before) and after[: -len(before)].endswith("\n") and "\r" not in after[: -len(before)]:
        return Operation("insert", path, {"insert_line": 0, "insert_text": after[: -len(before) - 1]})
    return Operation("str_replace", path, {"old_str": before, "new_str": after})


def _summary(groups: Sequence[Group], left_over: int) -> str:
    counts = Counter(group.kind for group in groups)
    parts = [_count(counts[kind], *words) for kind, words in _DONE.items() if counts[kind]]
    done = f"{'; '.join(parts)}." if parts else ("No change fits the budget." if left_over else NO_CHANGES)
    done = done[0].upper() + done[1:] if parts else done
    return (
        f"{done} {_count(left_over, '{} more change waits', '{} more changes wait')} for the next run."
        if left_over
        else done
    )


def _count(number: int, one: str, many: str) -> str:
    return (one if number == 1 else many).format(number)


_DONE: dict[GroupKind, tuple[str, str]] = {
    "record": ("merged {} group of like records", "merged {} groups of like records"),
    "exact": ("merged {} exact duplicate", "merged {} exact duplicates"),
    "near": ("merged {} near-duplicate", "merged {} near-duplicates"),
    "harvest": (
        "dropped {} harvest inbox that was taken over",
        "dropped {} harvest inboxes that were taken over",
    ),
    "empty": ("deleted {} empty file", "deleted {} empty files"),
    "description": ("wrote or mended {} description", "wrote or mended {} descriptions"),
    "noise": ("tidied {} file", "tidied {} files"),
}
