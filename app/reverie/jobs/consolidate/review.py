"""A dream as a pull request: what a run wants, group by group, hunk by hunk, and what a person takes of it.

Pure and quick enough for the GUI thread: a `Review` holds all that `resolve` needs to say which files a
selection leads to, and which of them the rails block:

- a memory that goes (or moves) while somebody has pinned it stays;
- a memory that goes stays while lines of it would stand nowhere else, unless a person agreed for that file:
  so rejecting the receiving side of a merge blocks its delete;
- where a selection loses more of a scope's lines than the setting allows, every file that loses some stays,
  unless a person agreed for that file or rewrote it.

Hunks are numbered per file. A file that comes or goes empty, and one that moves, has a hunk without lines for
just that: rejecting it leaves the file where it was, whatever becomes of its text. Texts are bytes decoded
with `surrogateescape` (`text_of`, `bytes_of`), so nothing is lost on the way.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from reverie.memory.diff import WordSpans, changed_spans, word_spans
from reverie.memory.front_matter_rules import block_of
from reverie.memory.union import text_lines
from reverie.runs.guard import DRY_RUN_NOTE
from reverie.runs.parts import Parts, require_parts, whole_where_complete
from reverie.runs.retention import (
    counted_lines,
    folded_words,
    lines_by_scope,
    lines_kept,
    missing_lines,
    scope_name,
)
from reverie.text.matching import matching, ratio
from reverie.text.summaries import some
from reverie.values import Struct, field, replace

# Grouping: what is accepted or rejected together. Everything about one path, both names of a rename, a memory
# that loses lines and the one that gained them. Headings and lines without words connect nothing: half of all
# memories have a "Notes" section.


HELD_NOTE = "held for review"
GroupKind = Literal["create", "edit", "delete", "rename", "merge", "mixed"]


class OperationGroup(Struct, frozen=True):
    """`ops` are positions in the run's ops; `paths` the changed files, in the order of the run. `reason` is
    the engine's own words, else a sentence on what the group does."""

    ops: tuple[int, ...]
    paths: tuple[str, ...]
    kind: GroupKind
    reason: str


def came_to_pass(op: Mapping[str, Any]) -> bool:
    """Whether the run made (or, as a preview, would have made) this change."""
    return bool(op["applied"]) or op.get("note") in (DRY_RUN_NOTE, HELD_NOTE)


def group_operations(
    ops: Sequence[Mapping[str, Any]],
    before: Mapping[str, str],
    after: Mapping[str, str],
    reasons: Sequence[str] = (),
) -> tuple[OperationGroup, ...]:
    """The groups, in the order of their first op. `before` and `after` hold the changed files only; a path
    that is missing in one was not there. Files that no op names (an old record) come last."""
    changed = [*before, *(path for path in after if path not in before)]
    ties = _Ties()
    for op in ops:
        if came_to_pass(op):
            names = [name for name in (op["path"], op.get("newPath")) if name]
            ties.tie(*names, *(path for name in names for path in changed if covers(name, path)))
    for path, gainer in _carried(before, after):
        ties.tie(path, gainer)
    positions: dict[str, list[int]] = {}
    for position, op in enumerate(ops):
        if came_to_pass(op):
            positions.setdefault(ties.root(op["path"]), []).append(position)
    files: dict[str, list[str]] = {}
    for path in changed:
        files.setdefault(ties.root(path), []).append(path)
    last = len(ops)
    roots = sorted(files, key=lambda root: positions.get(root, [last])[0])
    return tuple(
        _group(ops, positions.get(root, []), _in_run_order(files[root], ops), before, after, reasons)
        for root in roots
    )


def renamed_files(
    ops: Sequence[Mapping[str, Any]], before: Collection[str], after: Collection[str]
) -> dict[str, str]:
    """Old name -> new name of each file that the run moved to a place where nothing stood."""
    now: dict[str, str | None] = {path: path for path in before}
    for op in ops:
        if not came_to_pass(op) or op["command"] not in ("rename", "delete"):
            continue
        for path, name in now.items():
            if name is not None and covers(op["path"], name):
                moved = op["command"] == "rename"
                now[path] = op["newPath"] + name[len(op["path"]) :] if moved else None
    return {
        path: name
        for path, name in now.items()
        if name is not None and name != path and path not in after and name not in before and name in after
    }


def covers(name: str, path: str) -> bool:
    """Whether an op on `name` is about `path`: the same file, or one below that directory."""
    return path == name or path.startswith(name + "/")


class _Ties:
    """Names that belong together (union-find)."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        while (above := self._above.get(name, name)) != name:
            name = above
        return name

    def tie(self, first: str, *others: str) -> None:
        for other in others:
            root, joined = self.root(first), self.root(other)
            if root != joined:
                self._above[joined] = root


def _carried(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """(path that lost a line, path that gained it)."""
    gained: dict[str, list[str]] = {}
    for path, text in after.items():
        had = _telling_lines(before.get(path, ""))
        for words in _telling_lines(text) - had:
            gained.setdefault(words, []).append(path)
    for path, text in before.items():
        for words in _telling_lines(text) - _telling_lines(after.get(path, "")):
            for gainer in gained.get(words, ()):
                yield path, gainer


def _telling_lines(text: str) -> set[str]:
    folded = {folded_words(line) for line in text.splitlines() if not line.lstrip().startswith("#")}
    return folded - {""}


def _in_run_order(paths: Sequence[str], ops: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    names = [name for op in ops for name in (op["path"], op.get("newPath")) if name]

    def first(path: str) -> int:
        return next((number for number, name in enumerate(names) if covers(name, path)), len(names))

    return tuple(sorted(paths, key=first))


def _group(
    ops: Sequence[Mapping[str, Any]],
    positions: Sequence[int],
    paths: tuple[str, ...],
    before: Mapping[str, str],
    after: Mapping[str, str],
    reasons: Sequence[str],
) -> OperationGroup:
    kind = _kind(paths, before, after, renamed_files(ops, before, after))
    own = [reasons[position] for position in positions if position < len(reasons) and reasons[position]]
    words = " ".join(dict.fromkeys(own)) or _derived(kind, paths, after)
    return OperationGroup(tuple(positions), paths, kind, words)


def _kind(
    paths: Sequence[str], before: Mapping[str, str], after: Mapping[str, str], renamed: Mapping[str, str]
) -> GroupKind:
    moved = {path for path in paths if path in renamed}
    if moved and set(paths) == moved | {renamed[path] for path in moved}:
        return "rename"
    gone = [path for path in paths if path not in after]
    new = [path for path in paths if path not in before]
    edited = [path for path in paths if path in before and path in after]
    if gone and (new or edited) and not moved:
        return "merge"
    if len(paths) == len(gone):
        return "delete"
    if len(paths) == len(new):
        return "create"
    return "edit" if len(paths) == len(edited) else "mixed"


def _derived(kind: GroupKind, paths: Sequence[str], after: Mapping[str, str]) -> str:
    gone = [path for path in paths if path not in after]
    kept = [path for path in paths if path in after]
    names = ", ".join(paths)
    if kind == "merge":
        return f"What {', '.join(gone)} says goes to {', '.join(kept)}."
    if kind == "rename":
        return f"{', '.join(gone)} is now called {', '.join(kept)}."
    if kind == "edit" and len(paths) > 1:
        return f"Lines move between {names}."
    verbs = {"create": "is new", "edit": "is changed", "delete": "goes", "mixed": "change together"}
    return f"{names} {verbs[kind]}."


# Hunks: the changed lines between two versions. A line keeps its ending, so taking all hunks gives the second
# version character for character, and taking none the first.


class Hunk(Struct, frozen=True):
    """Lines `[start, start + len(removed))` of the text before give way to `added`. Both empty: the hunk
    stands for the file itself (`jobs.consolidate.review`)."""

    index: int
    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def split_hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """Every place where the two differ, in order, numbered from 0."""
    old, new = text_lines(before), text_lines(after)
    return tuple(
        Hunk(
            index,
            span.old_start,
            tuple(old[span.old_start : span.old_end]),
            tuple(new[span.new_start : span.new_end]),
        )
        for index, span in enumerate(changed_spans(old, new))
    )


def apply_hunks(
    before: str, hunks: Sequence[Hunk], accepted: Collection[int], edits: Mapping[int, str]
) -> str:
    """The text before with the accepted hunks, each as it is or with the words of `edits` in its place.

    An edited hunk without a line ending at its end gets one when lines follow it.
    """
    lines, parts, at = text_lines(before), [], 0
    for hunk in hunks:
        end = hunk.start + len(hunk.removed)
        parts += lines[at : hunk.start]
        if hunk.index not in accepted:
            parts += hunk.removed
        elif hunk.index in edits:
            parts.append(_ended(edits[hunk.index], hunk) if end < len(lines) else edits[hunk.index])
        else:
            parts += hunk.added
        at = end
    return "".join((*parts, *lines[at:]))


def _ended(text: str, hunk: Hunk) -> str:
    if not text or text.endswith("\n"):
        return text
    crlf = any(line.endswith("\r\n") for line in (*hunk.removed, *hunk.added))
    return text + ("\r\n" if crlf else "\n")


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Verb = Literal["create", "edit", "delete", "rename"]
_folded = functools.lru_cache(maxsize=1 << 16)(folded_words)
_AGREE = "Agree to the loss, or keep the file."
# What becomes of each file, by its path in the review: text by path, None for no file.
_Effects = Mapping[str, Mapping[str, str | None]]


class ReviewedFile(Struct, frozen=True):
    """One file of a run. `path` is its name after the run, and `old_path` the one before where it moves
    (else empty); `before` or `after` None: no file."""

    path: str
    verb: Verb
    before: str | None
    after: str | None
    hunks: tuple[Hunk, ...]
    old_path: str = ""

    @property
    def source(self) -> str:
        """Where the file stands before the run."""
        return self.old_path or self.path

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.old_path, self.path) if self.old_path else (self.path,)


class ReviewedGroup(Struct, frozen=True):
    """Files that are taken or left together; `ops` are positions in the run's ops."""

    index: int
    kind: GroupKind
    reason: str
    ops: tuple[int, ...]
    files: tuple[ReviewedFile, ...]


class Review(Struct, frozen=True):
    """The changes of a run, and all that the rails need to know of the rest. `words`: how often each line,
    folded, stands in each path before; `kept`: those that stand in memories the run does not touch, too;
    `lines`: how many lines each scope has; `protected`: paths that are pinned or hold something pinned."""

    groups: tuple[ReviewedGroup, ...]
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()
    max_loss_percent: float = 20.0

    @property
    def files(self) -> tuple[ReviewedFile, ...]:
        return tuple(file for group in self.groups for file in group.files)


class ReviewSelection(Struct, frozen=True):
    """What a person takes: all but what is named here. Keys are `ReviewedFile.path`; `edited_files`
    holds whole texts, `edited_hunks` the words in place of a hunk's new lines; `agreed_losses` are files that
    may take lines with them. Immutable: each `with_` returns a new one."""

    rejected_groups: frozenset[int] = frozenset()
    rejected_hunks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    edited_files: Mapping[str, str] = field(default_factory=dict)
    edited_hunks: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    agreed_losses: frozenset[str] = frozenset()

    def with_group(self, index: int, *, accepted: bool) -> ReviewSelection:
        """A group taken or left as a whole; what was chosen of its hunks stays."""
        rejected = self.rejected_groups - {index} if accepted else self.rejected_groups | {index}
        return replace(self, rejected_groups=rejected)

    def with_hunk(self, path: str, index: int, *, accepted: bool) -> ReviewSelection:
        """One hunk taken or left."""
        present = self.rejected_hunks.get(path, frozenset())
        rejected = present - {index} if accepted else present | {index}
        return replace(self, rejected_hunks=_with(self.rejected_hunks, path, rejected or None))

    def with_file_text(self, path: str, text: str | None) -> ReviewSelection:
        """The file's whole text as a person wrote it; None takes that back."""
        return replace(self, edited_files=_with(self.edited_files, path, text))

    def with_hunk_text(self, path: str, index: int, text: str | None) -> ReviewSelection:
        """Other words for one hunk; None takes that back."""
        hunks = _with(self.edited_hunks.get(path, {}), index, text)
        return replace(self, edited_hunks=_with(self.edited_hunks, path, hunks or None))

    def with_agreed_loss(self, path: str, *, agreed: bool) -> ReviewSelection:
        """A person agrees, or does not any more, that lines of this file are lost."""
        losses = self.agreed_losses | {path} if agreed else self.agreed_losses - {path}
        return replace(self, agreed_losses=losses)

    def is_edited(self, path: str) -> bool:
        """Whether a person wrote other words for the file or one of its hunks."""
        return path in self.edited_files or path in self.edited_hunks


class Resolution(Struct, frozen=True):
    """What a selection leads to: `files` that become other bytes, None for a file that goes; `blocked`: why
    the rails leave a file (`ReviewedFile.path`) as it is."""

    files: Mapping[str, bytes | None]
    blocked: Mapping[str, str]


def text_of(data: bytes) -> str:
    """Bytes as text that `bytes_of` turns back to the same bytes, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """What `text_of` was made from."""
    return text.encode("utf-8", "surrogateescape")


def build_review(
    ops: Sequence[Mapping[str, Any]],
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    reasons: Sequence[str] = (),
    others: Mapping[str, str] | None = None,
    is_protected: Callable[[str], bool] = lambda path: False,
    max_loss_percent: float = 20.0,
    followed: Collection[str] = (),
    essence: Callable[[str], str] = str,
) -> Review:
    """The review of a run: texts of the files it changed before and after, and `others`, the context's other
    memories as they stand now. `followed`: files that only follow the others (an index, links), so that
    their lines are nobody's loss; `essence`: what of a text must be kept."""
    moved = renamed_files(ops, before, after)
    groups = tuple(
        _reviewed_group(index, group, before, after, moved)
        for index, group in enumerate(group_operations(ops, before, after, reasons))
    )
    groups = tuple(_following(group) if _is_following(group, followed) else group for group in groups)
    elsewhere = others or {}
    for text in (*before.values(), *after.values()):
        for line in text.splitlines():
            _folded(line)  # here, where nobody waits, rather than at the first click
    return Review(
        groups,
        words={
            path: dict(Counter(words for _number, words in counted_lines(path, essence(text))))
            for path, text in before.items()
            if path not in followed
        },
        kept=lines_kept(before, elsewhere.values()),
        lines=lines_by_scope({**elsewhere, **before}),
        protected=frozenset(path for path in before if is_protected(path)),
        max_loss_percent=max_loss_percent,
    )


def resolve(review: Review, selection: ReviewSelection) -> Resolution:
    """Which files the selection changes to what, with the rails applied."""
    chosen: dict[str, Mapping[str, str | None]] = {}
    blocked: dict[str, str] = {}
    for group in review.groups:
        for file in group.files:
            effect: Mapping[str, str | None] = (
                {} if group.index in selection.rejected_groups else _effect(file, selection)
            )
            if effect.get(file.source, "") is None and file.source in review.protected:
                blocked[file.path] = "It is pinned now: pinned memories neither go nor move."
                effect = {}
            chosen[file.path] = effect
    # What is kept because of the first rail loses nothing under the second.
    for rail in (_deletes_with_a_loss, _edits_with_a_loss):
        for file, why in rail(review, selection, _lost_lines(review, selection, chosen), chosen):
            blocked[file.path] = why
            chosen[file.path] = {}
    files = {
        path: None if text is None else bytes_of(text)
        for effect in chosen.values()
        for path, text in effect.items()
    }
    return Resolution(files, blocked)


def chosen_change(file: ReviewedFile, resolution: Resolution) -> dict[str, bytes | None]:
    """What the resolution does about one file, by path; empty where it stays."""
    return {path: resolution.files[path] for path in file.paths if path in resolution.files}


def _is_following(group: ReviewedGroup, followed: Collection[str]) -> bool:
    return not group.ops and all(file.path in followed for file in group.files)


def _following(group: ReviewedGroup) -> ReviewedGroup:
    return replace(group, reason="The index and the links between memories follow what is accepted.")


def _reviewed_group(
    index: int,
    group: OperationGroup,
    before: Mapping[str, str],
    after: Mapping[str, str],
    moved: Mapping[str, str],
) -> ReviewedGroup:
    arrived = {new: old for old, new in moved.items()}
    files = tuple(
        _reviewed_file(path, arrived.get(path, ""), before, after)
        for path in group.paths
        if path not in moved
    )
    return ReviewedGroup(index, group.kind, group.reason, group.ops, files)


def _reviewed_file(
    path: str, old_path: str, before: Mapping[str, str], after: Mapping[str, str]
) -> ReviewedFile:
    was, becomes = before.get(old_path or path), after.get(path)
    hunks = split_hunks(was or "", becomes or "")
    if old_path:
        hunks = (_bare_hunk(), *(replace(hunk, index=hunk.index + 1) for hunk in hunks))
        return ReviewedFile(path, "rename", was, becomes, hunks, old_path)
    verb: Verb = "create" if was is None else "delete" if becomes is None else "edit"
    return ReviewedFile(path, verb, was, becomes, hunks or (_bare_hunk(),))


def _bare_hunk() -> Hunk:
    return Hunk(0, 0, (), ())


def _effect(file: ReviewedFile, selection: ReviewSelection) -> dict[str, str | None]:
    """What becomes of one accepted file, by path: only what differs from before."""
    rejected = selection.rejected_hunks.get(file.path, frozenset())
    edits = selection.edited_hunks.get(file.path, {})
    accepted = {hunk.index for hunk in file.hunks} - rejected
    text = _text(file, accepted, edits, selection.edited_files.get(file.path))
    if not file.old_path or 0 not in accepted:
        return {} if text == file.before else {file.source: text}
    return {file.old_path: None, file.path: text}


def _text(file: ReviewedFile, accepted: set[int], edits: Mapping[int, str], whole: str | None) -> str | None:
    """The chosen text, None for no file."""
    if whole is not None:
        return whole
    edited = any(index in edits for index in accepted)
    if not edited and len(accepted) == len(file.hunks):
        return file.after
    if file.verb == "create" and not accepted:
        return None
    return apply_hunks(file.before or "", file.hunks, accepted, edits)


def _deletes_with_a_loss(
    review: Review, selection: ReviewSelection, lost: Mapping[str, int], chosen: _Effects
) -> list[tuple[ReviewedFile, str]]:
    """Files that go, or move, and would take lines with them that nobody agreed to lose."""
    return [
        (file, _would_lose(lost[file.source]))
        for file in review.files
        if file.source in lost
        and chosen[file.path].get(file.source, "") is None
        and file.path not in selection.agreed_losses
    ]


def _edits_with_a_loss(
    review: Review, selection: ReviewSelection, lost: Mapping[str, int], chosen: _Effects
) -> list[tuple[ReviewedFile, str]]:
    """Every file that loses lines in a scope that would lose too many, but those a person agreed to or wrote
    by hand."""
    losing = [
        file
        for file in review.files
        if file.source in lost
        and file.path not in selection.agreed_losses
        and not selection.is_edited(file.path)
    ]
    share: dict[str, float] = {}
    for file in losing:
        scope = scope_name(file.source)
        share[scope] = share.get(scope, 0.0) + 100.0 * lost[file.source] / max(1, review.lines.get(scope, 0))
    return [
        (file, f"{share[scope]:.0f} % of the lines in {scope} memory would be lost. {_AGREE}")
        for file in losing
        if share[scope := scope_name(file.source)] > review.max_loss_percent
    ]


def refused_descriptions(review: Review, selection: ReviewSelection) -> tuple[str, ...]:
    """Collect the description lines that a person rejected by their hunks. A description only says what a
    note is about, so what is refused in one note needs not stay in another.
    """
    return tuple(
        line
        for file in review.files
        for hunk in file.hunks
        if hunk.index in selection.rejected_hunks.get(file.path, ())
        for line in hunk.added
        if line.startswith("description:")
    )


def _lost_lines(review: Review, selection: ReviewSelection, chosen: _Effects) -> dict[str, int]:
    """How many lines each path (its name before) loses to nowhere: the question of `judge_retention`, asked
    on every click, so what never changes is folded beforehand."""
    after: dict[str, str | None] = {file.source: file.before for file in review.files}
    for effect in chosen.values():
        after.update(effect)
    texts = {text for text in after.values() if text}
    standing = {_folded(line) for line in {line for text in texts for line in text.splitlines()}}
    standing.update(map(_folded, refused_descriptions(review, selection)))
    asked = {path: lines.keys() - review.kept for path, lines in review.words.items()}
    missing = missing_lines(set().union(*asked.values()), standing)
    return {
        path: sum(review.words[path][line] for line in gone)
        for path, lines in asked.items()
        if (gone := lines & missing)
    }


def _would_lose(count: int) -> str:
    lines = some(count, "line")
    return f"{lines} of it would stand nowhere else. {_AGREE}"


def _with(mapping: Mapping[_Key, _Value], key: _Key, value: _Value | None) -> dict[_Key, _Value]:
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


# Taking back a part of a finished run: the selection is what shall stay of it. The rails of a review hold
# here too. Pure and quick enough for the GUI thread.


Fate = Literal["same", "moved", "reworded", "gone", ""]


class MergedLine(Struct, frozen=True):
    """One line of a memory that is merged into another: it was there already (`same`), it moved there, it is
    there in other words, or it is gone. Empty for what says nothing: blank lines, titles, front matter."""

    text: str
    fate: Fate
    match: str = ""
    """The line that says the same, where its words differ."""
    marks: WordSpans = ()
    """Of a reworded line: its words that the other line lacks."""


def merged_lines(kept: str, gone: str, result: str) -> tuple[MergedLine, ...]:
    """Find where each line of `gone` is once it was merged into `kept`, which gave `result`."""
    before = {_folded(line): line for line in kept.splitlines()}
    after = {_folded(line): line for line in result.splitlines() if _folded(line)}
    alike = _AlikeLines(after)
    block = block_of(gone)
    head = gone[: block.body_start].count("\n") if block is not None else 0
    found = []
    for number, line in enumerate(gone.splitlines()):
        words = _folded(line)
        if number < head or not words or line.lstrip().startswith("#"):
            found.append(MergedLine(line, ""))
        elif words in before or words in after:
            match = before.get(words) or after[words]
            fate: Fate = "same" if words in before else "moved"
            found.append(MergedLine(line, fate, match if match != line else ""))
        else:
            like = after.get(alike.most_alike(words), "")
            marks = word_spans(line, like, alike=LEAST_ALIKE)[0] if like else ()
            found.append(MergedLine(line, "reworded" if like else "gone", like, marks))
    return tuple(found)


LEAST_ALIKE = 0.4
"""Lines that share less are not marked word by word."""
_MOST_OF_A_WORD, _MOST_COMPARED, _LEAST_STEPS = 50, 4, 4_000


class _AlikeLines:
    """The lines of a text by their words, to find the one that is most like another line.

    A line is compared with the few that share most of its words; words of more than `_MOST_OF_A_WORD` lines
    do not count for that. So the work is linear in the lines that are looked for.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = list(lines)
        self._words = [Counter(line.split()) for line in self._lines]
        self._places: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._words):
            for word in words:
                self._places[word].append(number)

    def most_alike(self, line: str) -> str:
        """Give the line with most of the same words, if that is half of them at least; else empty."""
        words, shared = line.split(), Counter[int]()
        for word, count in Counter(words).items():
            places = self._places.get(word, ())
            if len(places) <= _MOST_OF_A_WORD:
                for number in places:
                    shared[number] += min(count, self._words[number][word])
        best, most = "", 0.5
        for number in sorted(number for number, _count in shared.most_common(_MOST_COMPARED)):
            other = self._lines[number].split()
            likeness = ratio(matching(words, other, _LEAST_STEPS), words, other)
            if likeness >= most:
                best, most = self._lines[number], likeness
        return best


def standing(review: Review, taken: Parts) -> ReviewSelection:
    """What of the run is in place: all but what was taken back."""
    rejected = {file.path: gone for file in review.files if (gone := hunks_taken(file, taken))}
    selection = ReviewSelection(rejected_hunks=rejected)
    return ReviewSelection(
        rejected_hunks=rejected, agreed_losses=frozenset(resolve(review, selection).blocked)
    )


def hunks_taken(file: ReviewedFile, taken: Parts) -> frozenset[int]:
    """The hunks of a file that were taken back."""
    found = taken.get(file.path, frozenset())
    return frozenset(hunk.index for hunk in file.hunks) if found is None else found


def to_take_back(review: Review, selection: ReviewSelection, taken: Parts) -> Parts:
    """What goes back so that the selection is what stays; empty for nothing."""
    blocked = resolve(review, selection).blocked
    parts: dict[str, frozenset[int] | None] = {}
    for group in review.groups:
        for file in group.files:
            every = frozenset(hunk.index for hunk in file.hunks)
            left = selection.rejected_hunks.get(file.path, frozenset())
            if group.index in selection.rejected_groups or file.path in blocked:
                left = every
            new = left - hunks_taken(file, taken)
            if new and (file.verb != "edit" or left == every):
                parts.update(dict.fromkeys(file.paths, None))
            elif new:
                parts[file.path] = new
    return parts


def named_parts(
    run_id: str, review: Review, paths: Collection[str], hunks: Collection[int], taken: Parts
) -> tuple[Parts, tuple[str, ...]]:
    """The parts that a command names (files by either of their names, hunks of one edited file, numbered from
    1) with what the rails bring back besides, and the paths of the latter. Raises `StoreError` for what the
    run does not have, or what was taken back already."""
    # A diff names files without their first slash. A name that two files share means the first.
    files = {
        name: file
        for file in reversed(review.files)
        for path in file.paths
        for name in (path, path.lstrip("/"))
    }
    wanted = frozenset(number - 1 for number in hunks) or None
    every = {name: len(file.hunks) for name, file in files.items()}
    gone = whole_where_complete({name: hunks_taken(file, taken) for name, file in files.items()}, every)
    counts = {name: every[name] if file.verb == "edit" else 0 for name, file in files.items()}
    require_parts(run_id, dict.fromkeys(paths, wanted), gone, counts)
    selection, named = standing(review, taken), set[str]()
    for file in dict.fromkeys(files[path] for path in paths):
        named.update(file.paths)
        for hunk in wanted or [hunk.index for hunk in file.hunks]:
            selection = selection.with_hunk(file.path, hunk, accepted=False)
    parts = to_take_back(review, selection, taken)
    return parts, tuple(path for path in parts if path not in named)
