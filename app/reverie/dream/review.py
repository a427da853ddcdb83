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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from reverie.dream.groups import Group, GroupKind, group_operations, renamed_files
from reverie.dream.hunks import Hunk, apply_hunks, split_hunks
from reverie.dream.retention import counted_lines, folded_words, lines_by_scope, lines_kept, scope_name
from reverie.text.counts import some

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Verb = Literal["create", "edit", "delete", "rename"]
_folded = functools.lru_cache(maxsize=1 << 16)(folded_words)
_AGREE = "Agree to the loss, or keep the file."
# What becomes of each file, by its path in the review: text by path, None for no file.
_Effects = Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class ReviewedFile:
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


@dataclass(frozen=True, slots=True)
class ReviewedGroup:
    """Files that are taken or left together; `ops` are positions in the run's ops."""

    index: int
    kind: GroupKind
    reason: str
    ops: tuple[int, ...]
    files: tuple[ReviewedFile, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """What a run wants and what the rails need to know of the rest. `words`: the lines before of each path,
    folded; `kept`: those that stand in memories the run does not touch, too; `lines`: how many lines each
    scope has; `protected`: paths that are pinned or hold something pinned."""

    groups: tuple[ReviewedGroup, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()
    max_loss_percent: float = 20.0

    @property
    def files(self) -> tuple[ReviewedFile, ...]:
        return tuple(file for group in self.groups for file in group.files)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person takes: all but what is named here. Keys are `ReviewedFile.path`; `edited_files`
    holds whole texts, `edited_hunks` the words in place of a hunk's new lines; `agreed_losses` are files that
    may take lines with them. Immutable: each `with_` returns a new one."""

    rejected_groups: frozenset[int] = frozenset()
    rejected_hunks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    edited_files: Mapping[str, str] = field(default_factory=dict)
    edited_hunks: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    agreed_losses: frozenset[str] = frozenset()

    def with_group(self, index: int, *, accepted: bool) -> Selection:
        """A group taken or left as a whole; what was chosen of its hunks stays."""
        rejected = self.rejected_groups - {index} if accepted else self.rejected_groups | {index}
        return replace(self, rejected_groups=rejected)

    def with_hunk(self, path: str, index: int, *, accepted: bool) -> Selection:
        """One hunk taken or left."""
        present = self.rejected_hunks.get(path, frozenset())
        rejected = present - {index} if accepted else present | {index}
        return replace(self, rejected_hunks=_with(self.rejected_hunks, path, rejected or None))

    def with_file_text(self, path: str, text: str | None) -> Selection:
        """The file's whole text as a person wrote it; None takes that back."""
        return replace(self, edited_files=_with(self.edited_files, path, text))

    def with_hunk_text(self, path: str, index: int, text: str | None) -> Selection:
        """Other words for one hunk; None takes that back."""
        hunks = _with(self.edited_hunks.get(path, {}), index, text)
        return replace(self, edited_hunks=_with(self.edited_hunks, path, hunks or None))

    def with_agreed_loss(self, path: str, *, agreed: bool) -> Selection:
        """A person agrees, or does not any more, that lines of this file are lost."""
        losses = self.agreed_losses | {path} if agreed else self.agreed_losses - {path}
        return replace(self, agreed_losses=losses)

    def is_edited(self, path: str) -> bool:
        """Whether a person wrote other words for the file or one of its hunks."""
        return path in self.edited_files or path in self.edited_hunks


@dataclass(frozen=True, slots=True)
class Resolution:
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
            path: tuple(words for _number, words in counted_lines(path, essence(text)))
            for path, text in before.items()
            if path not in followed
        },
        kept=lines_kept(before, elsewhere.values()),
        lines=lines_by_scope({**elsewhere, **before}),
        protected=frozenset(path for path in before if is_protected(path)),
        max_loss_percent=max_loss_percent,
    )


def resolve(review: Review, selection: Selection) -> Resolution:
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
        for file, why in rail(review, selection, _lost_lines(review, chosen), chosen):
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
    index: int, group: Group, before: Mapping[str, str], after: Mapping[str, str], moved: Mapping[str, str]
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


def _effect(file: ReviewedFile, selection: Selection) -> dict[str, str | None]:
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
    if file.verb == "delete" and not edited and len(accepted) == len(file.hunks):
        return None
    if file.verb == "create" and not accepted:
        return None
    return apply_hunks(file.before or "", file.hunks, accepted, edits)


def _deletes_with_a_loss(
    review: Review, selection: Selection, lost: Mapping[str, int], chosen: _Effects
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
    review: Review, selection: Selection, lost: Mapping[str, int], chosen: _Effects
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


def _lost_lines(review: Review, chosen: _Effects) -> dict[str, int]:
    """How many lines each path (its name before) loses to nowhere: the question of `judge_retention`, asked
    on every click, so what never changes is folded beforehand."""
    after: dict[str, str | None] = {file.source: file.before for file in review.files}
    for effect in chosen.values():
        after.update(effect)
    standing = {_folded(line) for text in after.values() if text for line in text.splitlines()}
    gone = {
        path: [words for words in lines if words not in review.kept and words not in standing]
        for path, lines in review.words.items()
    }
    within = _within(standing, {words for lines in gone.values() for words in lines})
    lost = {path: sum(words not in within for words in lines) for path, lines in gone.items()}
    return {path: count for path, count in lost.items() if count}


def _within(lines: Collection[str], wanted: Collection[str]) -> set[str]:
    """Which of the folded lines `wanted` stand within one of `lines`, which is looked for by the word of each
    that the fewest lines have."""
    needed = {word for words in wanted for word in words.split()}
    having: dict[str, list[str]] = {word: [] for word in needed}
    for line in lines if needed else ():
        for word in needed.intersection(line.split()):
            having[word].append(line)
    found = set()
    for words in wanted:
        rarest = min((having[word] for word in words.split()), key=len)
        if any(words in line for line in rarest):
            found.add(words)
    return found


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
