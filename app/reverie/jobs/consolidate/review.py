"""The review of a run, like a pull request: its changes by group and hunk, and a person's selection of them.

Pure: a `Review` has all data that `resolve` needs to compute the files that result from a selection, and the
files that the rails block. Its time grows with the length of the texts:

- A memory that was pinned meanwhile is neither deleted nor moved.
- A memory is not deleted if some of its lines would then exist nowhere else, unless a person agreed to that
  for this file. So rejecting the receiving side of a merge blocks its delete.
- If a selection loses more of a scope's lines than the setting allows, each file that loses lines stays
  unchanged, unless a person agreed to that for this file or rewrote it.

Hunks are numbered per file. A file that is moved, or created or deleted empty, has a hunk without lines for
that change alone: rejecting it leaves the file where it was, whatever happens to its text. Texts are bytes
decoded with `surrogateescape` (`text_of`, `bytes_of`), so that no byte is lost.

A part of a finished run can be undone in the same way: the selection is then the part that is to remain.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from reverie.memory.diff import WordSpans, changed_spans, word_spans
from reverie.memory.front_matter_rules import block_of
from reverie.memory.union import text_lines
from reverie.runs.parts import Parts, require_parts, whole_where_complete
from reverie.runs.record import DRY_RUN_NOTE
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

HELD_NOTE = "held for review"
GroupKind = Literal["create", "edit", "delete", "rename", "merge", "mixed"]


class OperationGroup(Struct, frozen=True):
    """Changes that are accepted or rejected together."""

    ops: tuple[int, ...]
    """The positions of its operations in the list of the run's operations."""
    paths: tuple[str, ...]
    """The changed files, in the order of the run."""
    kind: GroupKind
    reason: str
    """The engine's reason, or else a sentence that describes the group."""


def came_to_pass(op: Mapping[str, Any]) -> bool:
    """Return True if the run made the change `op`, or would make it if it were applied.

    The latter is so for the changes of a dry run, and of a run that is held for review.
    """
    return bool(op["applied"]) or op.get("note") in (DRY_RUN_NOTE, HELD_NOTE)


def group_operations(
    ops: Sequence[Mapping[str, Any]],
    before: Mapping[str, str],
    after: Mapping[str, str],
    reasons: Sequence[str] = (),
) -> tuple[OperationGroup, ...]:
    """Return the groups of changes that belong together, in the order of their first operation.

    `ops`: the operations of the run. A group has all changes to one path, both names of a rename, and a
    memory that lost lines with the one that gained them. Headings and lines without words connect nothing,
    since half of all memories have a "Notes" section. `reasons`: the engine's reason for each operation.

    `before` and `after` have only the texts of the changed files; a path that one of them lacks did not exist
    then. Files that no operation names, as in an old record, come last.
    """
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
    groups, renamed = [], renamed_files(ops, before, after)
    for root in roots:
        paths, own = _in_run_order(files[root], ops), positions.get(root, [])
        kind = _kind(paths, before, after, renamed)
        given = dict.fromkeys(reasons[position] for position in own if position < len(reasons))
        words = " ".join(filter(None, given)) or _derived(kind, paths, after)
        groups.append(OperationGroup(tuple(own), paths, kind, words))
    return tuple(groups)


def renamed_files(
    ops: Sequence[Mapping[str, Any]], before: Collection[str], after: Collection[str]
) -> dict[str, str]:
    """Return the new path of each file that the run moved, by old path.

    Moves to a path where another file was before are left out.
    """
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
    """Return True if an operation on `name` concerns `path`: the same file, or one below that directory."""
    return path == name or path.startswith(name + "/")


class _Ties:
    """Groups of names that belong together (union-find)."""

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
    """Yield pairs of a path that lost a line and a path that gained the same line."""
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
    """Return the lines of a text that contain words, folded for comparison, without headings."""
    folded = {folded_words(line) for line in text.splitlines() if not line.lstrip().startswith("#")}
    return folded - {""}


def _in_run_order(paths: Sequence[str], ops: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the paths in the order in which the operations of the run first name them."""
    names = [name for op in ops for name in (op["path"], op.get("newPath")) if name]

    def first(path: str) -> int:
        return next((number for number, name in enumerate(names) if covers(name, path)), len(names))

    return tuple(sorted(paths, key=first))


def _kind(
    paths: Sequence[str], before: Mapping[str, str], after: Mapping[str, str], renamed: Mapping[str, str]
) -> GroupKind:
    """Return the kind of the group of changes to `paths`; `mixed` if no other kind fits.

    `before`, `after`: the texts of the changed files. `renamed`: old path -> new path.
    """
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
    """Return a sentence that describes the changes to `paths`, to use if the engine gave no reason."""
    gone = [path for path in paths if path not in after]
    kept = [path for path in paths if path in after]
    names = ", ".join(paths)
    if kind == "merge":
        return f"The content of {', '.join(gone)} moves to {', '.join(kept)}."
    if kind == "rename":
        return f"{', '.join(gone)} is renamed to {', '.join(kept)}."
    if kind == "edit" and len(paths) > 1:
        return f"Lines are moved between {names}."
    verbs = {"create": "is new", "edit": "is changed", "delete": "goes", "mixed": "change together"}
    return f"{names} {verbs[kind]}."


class Hunk(Struct, frozen=True):
    """A place where two versions of a text differ: the `added` lines replace the `removed` lines.

    Lines include their endings, so accepting all hunks results in exactly the second version, and accepting
    none in exactly the first. A hunk without lines stands for the creation, deletion or move of its file.
    `index`: the number of the hunk in its file, from 0.
    """

    index: int
    start: int
    """The number of lines before the hunk in the first version."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


_BARE_HUNK = Hunk(0, 0, (), ())


def split_hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """Return every place where the two texts differ, in order, numbered from 0."""
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
    """Return the text `before` with the hunks applied whose numbers are in `accepted`.

    `edits`: hunk number -> a text that replaces the added lines; it gets a line ending if it lacks one and
    lines follow.
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
    """Return `text` with a line ending, in the style of the hunk, if it has none and is not empty."""
    if not text or text.endswith("\n"):
        return text
    crlf = any(line.endswith("\r\n") for line in (*hunk.removed, *hunk.added))
    return text + ("\r\n" if crlf else "\n")


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Verb = Literal["create", "edit", "delete", "rename"]
_folded = functools.lru_cache(maxsize=1 << 16)(folded_words)
_AGREE = "Accept the loss, or keep the file."
_Effects = Mapping[str, Mapping[str, str | None]]
"""The new texts of a file's paths (None: deleted), by `ReviewedFile.path`."""


class ReviewedFile(Struct, frozen=True):
    """One file that a run changed."""

    path: str
    """The path after the run."""
    verb: Verb
    before: str | None
    """The text before the run; None if the file did not exist."""
    after: str | None
    """The text after the run; None if the file no longer exists."""
    hunks: tuple[Hunk, ...]
    old_path: str = ""
    """The path before the run if the file is moved; else empty."""

    @property
    def source(self) -> str:
        """The path of the file before the run."""
        return self.old_path or self.path

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the file before and after the run; only one if they are equal."""
        return (self.old_path, self.path) if self.old_path else (self.path,)


class ReviewedGroup(Struct, frozen=True):
    """Files whose changes are accepted or rejected together."""

    index: int
    kind: GroupKind
    reason: str
    ops: tuple[int, ...]
    """The positions of its operations in the list of the run's operations."""
    files: tuple[ReviewedFile, ...]


class Review(Struct, frozen=True):
    """The changes of a run, with the facts about other memories that its rails (limits) need."""

    groups: tuple[ReviewedGroup, ...]
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How often each line, folded for comparison, occurs in a file before the run, by path."""
    kept: frozenset[str] = frozenset()
    """Lines, folded for comparison, that also occur in memories that the run does not change."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The number of lines in a scope before the run, by the name of the scope."""
    protected: frozenset[str] = frozenset()
    """The paths that are pinned or have a pinned memory below them."""
    max_loss_percent: float = 20.0
    """The largest share of the lines of a scope that a selection may lose, in percent."""

    @property
    def files(self) -> tuple[ReviewedFile, ...]:
        """The files of all groups."""
        return tuple(file for group in self.groups for file in group.files)


class ReviewSelection(Struct, frozen=True):
    """A person's choices about the changes of a run; every change that is not rejected is accepted.

    Files are named by `ReviewedFile.path`, hunks by number. Immutable: each `with_` method returns a new
    selection.
    """

    rejected_groups: frozenset[int] = frozenset()
    rejected_hunks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    edited_files: Mapping[str, str] = field(default_factory=dict)
    """The whole texts that a person wrote to replace those of the run, by path."""
    edited_hunks: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """The texts that a person wrote to replace the added lines of hunks, by path, then by hunk number."""
    agreed_losses: frozenset[str] = frozenset()
    """The files that may lose lines that then exist nowhere else, because a person agreed to it."""

    def with_group(self, index: int, *, accepted: bool) -> ReviewSelection:
        """Return a selection that accepts or rejects a whole group; the choices about its hunks stay."""
        rejected = self.rejected_groups - {index} if accepted else self.rejected_groups | {index}
        return replace(self, rejected_groups=rejected)

    def with_hunk(self, path: str, index: int, *, accepted: bool) -> ReviewSelection:
        """Return a selection that accepts or rejects one hunk."""
        present = self.rejected_hunks.get(path, frozenset())
        rejected = present - {index} if accepted else present | {index}
        return replace(self, rejected_hunks=_with(self.rejected_hunks, path, rejected or None))

    def with_file_text(self, path: str, text: str | None) -> ReviewSelection:
        """Return a selection that replaces the whole text of a file; None removes the replacement."""
        return replace(self, edited_files=_with(self.edited_files, path, text))

    def with_hunk_text(self, path: str, index: int, text: str | None) -> ReviewSelection:
        """Return a selection that replaces the added lines of one hunk; None removes the replacement."""
        hunks = _with(self.edited_hunks.get(path, {}), index, text)
        return replace(self, edited_hunks=_with(self.edited_hunks, path, hunks or None))

    def with_agreed_loss(self, path: str, *, agreed: bool) -> ReviewSelection:
        """Return a selection with or without a person's agreement to lose lines of this file."""
        losses = self.agreed_losses | {path} if agreed else self.agreed_losses - {path}
        return replace(self, agreed_losses=losses)

    def is_edited(self, path: str) -> bool:
        """Return True if a person rewrote the file or one of its hunks."""
        return path in self.edited_files or path in self.edited_hunks


class Resolution(Struct, frozen=True):
    """The files that result from a selection, and those that the rails (limits of a run) leave unchanged."""

    files: Mapping[str, bytes | None]
    """The new content of each changed path; None if no file is there afterwards."""
    blocked: Mapping[str, str]
    """The reason why the rails leave a file unchanged, by `ReviewedFile.path`."""
    pinned: frozenset[str] = frozenset()
    """The blocked files that are blocked because they are pinned, so that agreeing to a loss changes
    nothing."""


def text_of(data: bytes) -> str:
    """Decode bytes to a text that `bytes_of` encodes to the same bytes, even if they are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Encode a text that `text_of` has decoded; return the original bytes."""
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
    """Build the review of a run from its operations and the texts of its changed files.

    `before`, `after`: these texts by path. `reasons`: the engine's reason for each operation; empty if it
    gave none. `others`: the present texts of the context's other memories; None: there are none.
    `is_protected` returns True for a path that must not be deleted or moved. `max_loss_percent`: the largest
    share of its lines that a scope may lose. `followed`: the files that changed only to keep an index or
    links valid, so that their lines do not count as lost. `essence` returns the part of a text that must be
    preserved.
    """
    moved = renamed_files(ops, before, after)
    arrived = {new: old for old, new in moved.items()}
    groups = []
    for index, group in enumerate(group_operations(ops, before, after, reasons)):
        files = tuple(
            _reviewed_file(path, arrived.get(path, ""), before, after)
            for path in group.paths
            if path not in moved
        )
        reason = group.reason
        if not group.ops and all(file.path in followed for file in files):
            reason = "The index and the links between memories are updated for the changes that you accept."
        groups.append(ReviewedGroup(index, group.kind, reason, group.ops, files))
    elsewhere = others or {}
    for text in (*before.values(), *after.values()):
        for line in text.splitlines():
            _folded(line)  # fills the cache now, in the background, rather than at the first click
    return Review(
        tuple(groups),
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
    """Return the files that result from the selection, without the changes that the rails (limits) block."""
    chosen: dict[str, Mapping[str, str | None]] = {}
    blocked: dict[str, str] = {}
    for group in review.groups:
        for file in group.files:
            effect: Mapping[str, str | None] = (
                {} if group.index in selection.rejected_groups else _effect(file, selection)
            )
            if effect.get(file.source, "") is None and file.source in review.protected:
                blocked[file.path] = (
                    "The memory is now pinned, and a run never deletes or renames pinned memories."
                )
                effect = {}
            chosen[file.path] = effect
    pinned = frozenset(blocked)
    # A file that the first rail leaves unchanged loses nothing under the second.
    for rail in (_deletes_with_a_loss, _edits_with_a_loss):
        for file, why in rail(review, selection, _lost_lines(review, selection, chosen), chosen):
            blocked[file.path] = why
            chosen[file.path] = {}
    files = {
        path: None if text is None else bytes_of(text)
        for effect in chosen.values()
        for path, text in effect.items()
    }
    return Resolution(files, blocked, pinned)


def chosen_change(file: ReviewedFile, resolution: Resolution) -> dict[str, bytes | None]:
    """Return the new contents of one file according to `resolution`, by path.

    Empty if the file stays unchanged; None as a content means that no file is there.
    """
    return {path: resolution.files[path] for path in file.paths if path in resolution.files}


def _reviewed_file(
    path: str, old_path: str, before: Mapping[str, str], after: Mapping[str, str]
) -> ReviewedFile:
    was, becomes = before.get(old_path or path), after.get(path)
    hunks = split_hunks(was or "", becomes or "")
    if old_path:
        hunks = (_BARE_HUNK, *(replace(hunk, index=hunk.index + 1) for hunk in hunks))
        return ReviewedFile(path, "rename", was, becomes, hunks, old_path)
    verb: Verb = "create" if was is None else "delete" if becomes is None else "edit"
    return ReviewedFile(path, verb, was, becomes, hunks or (_BARE_HUNK,))


def _effect(file: ReviewedFile, selection: ReviewSelection) -> dict[str, str | None]:
    """Return the new texts of one accepted file, by path, if they differ from before; None: deleted."""
    rejected = selection.rejected_hunks.get(file.path, frozenset())
    edits = selection.edited_hunks.get(file.path, {})
    accepted = {hunk.index for hunk in file.hunks} - rejected
    text = _text(file, accepted, edits, selection.edited_files.get(file.path))
    if not file.old_path or 0 not in accepted:
        return {} if text == file.before else {file.source: text}
    return {file.old_path: None, file.path: text}


def _text(file: ReviewedFile, accepted: set[int], edits: Mapping[int, str], whole: str | None) -> str | None:
    """Return the selected text of a file; None if the file does not exist afterwards.

    `accepted`: the numbers of the accepted hunks. `edits`: texts that replace the added lines of hunks.
    `whole`: a text that replaces that of the run; None: there is none.
    """
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
    """Return the files whose deletion or move would lose lines without agreement, with the reasons.

    A person can agree to a loss. `lost`: the number of lost lines by path. `chosen`: the selected texts.
    """
    return [
        (file, f"{some(lost[file.source], 'line')} of this file would no longer exist anywhere. {_AGREE}")
        for file in review.files
        if file.source in lost
        and chosen[file.path].get(file.source, "") is None
        and file.path not in selection.agreed_losses
    ]


def _edits_with_a_loss(
    review: Review, selection: ReviewSelection, lost: Mapping[str, int], chosen: _Effects
) -> list[tuple[ReviewedFile, str]]:
    """Return the files that lose lines in a scope that would lose too many, with the reason for each.

    `lost`: the number of lost lines by path. `chosen`: the selected texts. Files for which a person agreed to
    the loss, or which a person rewrote, are left out.
    """
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
    """Return the `description:` lines in hunks that a person rejected.

    Other notes may lose lines equal to these, because a description only states the subject of its own note.
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
    """Return how many lines of each file would no longer exist anywhere, by the file's path before the run.

    `chosen`: the selected texts. The result equals that of `judge_retention`, but this runs on every click,
    so everything that does not depend on the selection is folded in advance.
    """
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


def _with(mapping: Mapping[_Key, _Value], key: _Key, value: _Value | None) -> dict[_Key, _Value]:
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


Fate = Literal["same", "moved", "reworded", "gone", ""]
"""What a merge did to a line; empty for blank lines, headings and front matter.

- `same`: the other memory already had the line
- `moved`: it was added to the other memory
- `reworded`: the other memory has a similar line
- `gone`: it is lost
"""


class MergedLine(Struct, frozen=True):
    """One line of a memory that is merged into another."""

    text: str
    fate: Fate
    match: str = ""
    """The line of the result that has the same or similar content; empty if it is equal, or if there is
    none."""
    marks: WordSpans = ()
    """The words of a reworded line that the new line lacks."""


def merged_lines(kept: str, gone: str, result: str) -> tuple[MergedLine, ...]:
    """Return what happened to each line of `gone`, which was merged into `kept` to give `result`."""
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
"""The lowest similarity at which the differences of two lines are marked word by word."""
_MOST_OF_A_WORD, _MOST_COMPARED, _LEAST_STEPS = 50, 4, 4_000


class _AlikeLines:
    """An index of the lines of a text by their words, for finding the line most similar to a given one.

    A line is compared only with the few that share most of its words; words in more than `_MOST_OF_A_WORD`
    lines are ignored. So the time is linear in the number of searches.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = list(lines)
        self._words = [Counter(line.split()) for line in self._lines]
        self._places: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._words):
            for word in words:
                self._places[word].append(number)

    def most_alike(self, line: str) -> str:
        """Return the most similar line; empty if none is at least half similar."""
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
    """Return a selection of the changes of a run that are still in effect.

    `taken`: the parts of the run that were undone already.
    """
    rejected = {file.path: gone for file in review.files if (gone := hunks_taken(file, taken))}
    selection = ReviewSelection(rejected_hunks=rejected)
    return ReviewSelection(
        rejected_hunks=rejected, agreed_losses=frozenset(resolve(review, selection).blocked)
    )


def hunks_taken(file: ReviewedFile, taken: Parts) -> frozenset[int]:
    """Return the numbers of the hunks of a file that were undone.

    `taken`: the parts of the run that were undone.
    """
    found = taken.get(file.path, frozenset())
    return frozenset(hunk.index for hunk in file.hunks) if found is None else found


def to_take_back(
    review: Review, selection: ReviewSelection, taken: Parts, resolution: Resolution | None = None
) -> Parts:
    """Return the parts of a run to undo so that only the changes in `selection` remain in effect.

    `taken`: the parts that were undone already. `resolution` is that of the selection; None computes it.
    Empty if nothing is to be undone.
    """
    blocked = (resolution or resolve(review, selection)).blocked
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
    """Return the parts of a run that a command names, together with parts that can only be undone with them.

    The second value is the paths of the added parts. `paths` may have either name of a file; `hunks` are the
    numbers, from 1, of hunks of one edited file. `taken`: the parts that were undone already. Raises
    `StoreError` for parts that the run does not have or that were undone already.
    """
    # A diff shows paths without their leading slash. A name that two files share stands for the first.
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
