"""What applying a selection comes to on the files as they stand now: changes, conflicts, ops, use.

Per file: as the run saw it -> as chosen; changed since -> three-way merge (the run's version before is the
base); both changed the same lines, or one of them took the file away -> a conflict, and nothing of its group
is applied. At the end the first rail of `dream.retention` looks at what would really stand there: a delete
whose lines somebody else has removed elsewhere meanwhile is left out.

Nothing here writes to the home. Not thread-safe: one run, one plan.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.dream.groups import came_to_pass, covers
from reverie.dream.retention import judge_retention
from reverie.dream.review import (
    Resolution,
    Review,
    ReviewedFile,
    ReviewedGroup,
    Selection,
    chosen_change,
    text_of,
)
from reverie.errors import Conflict, MendableError
from reverie.homes.scopes import ScopeRoot
from reverie.memory.history_merge import merge
from reverie.runs.journal import FileIntent, Journal, PlannedChange
from reverie.runs.transaction import Transaction

REJECTED = "rejected in review"
CAME_TO_NOTHING = "came to nothing"
Check = Callable[[ScopeRoot, str, bytes | None, bytes], None]
_CHANGED_SINCE = "changed since the preview; both versions are kept"


@dataclass(slots=True)
class ApplyPlan:
    """`changes`: bytes now and bytes then, by memory path. `done`: what was chosen of each file that gets it
    (`ReviewedFile.path`), also where it stands there already. `left`: why a file stays as it is. `conflicts`
    are among those, `unapplied` the chosen bytes of their files."""

    changes: dict[str, PlannedChange] = field(default_factory=dict)
    done: dict[str, Mapping[str, bytes | None]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    unapplied: dict[str, bytes] = field(default_factory=dict)

    def conflict(self, file: ReviewedFile, why: str, chosen: Mapping[str, bytes | None]) -> None:
        """Leave the file because the disk says otherwise by now; what was `chosen` is kept with the run."""
        self.leave(file, why)
        self.conflicts.append(file.path)
        self.unapplied |= {path: data for path, data in chosen.items() if data is not None}

    def leave(self, file: ReviewedFile, why: str) -> None:
        """Leave the file as it is, and say why; what was planned for its paths is dropped."""
        self.left[file.path] = why
        self.done.pop(file.path, None)
        for path in file.paths:
            self.changes.pop(path, None)

    def ordered(self) -> list[PlannedChange]:
        """Writes before deletes, so that a reader in between finds a merged line twice rather than not."""
        return sorted(self.changes.values(), key=lambda change: change.after is None)


def plan_apply(
    review: Review,
    resolution: Resolution,
    source: Transaction,
    journal: Journal,
    selection: Selection,
    others: Mapping[str, str],
    *,
    file_bytes: int,
    essence: Callable[[str], str] = str,
    check: Check = lambda _root, _rel, _before, _after: None,
) -> ApplyPlan:
    """The plan over the files as they stand now. `source` holds the images of the reviewed run, `others`
    are the context's other memories now, and no memory may come out larger than `file_bytes`; `essence`
    gives what of a text must be kept; `check` raises where a file must not become what was chosen."""
    plan = ApplyPlan(left=dict(resolution.blocked))
    intents = {intent.path: intent for intent in journal.intents}
    for group in review.groups:
        try:
            changes = _of_group(group, resolution, source, intents, file_bytes, check)
        except MendableError as error:
            for file in group.files:
                chosen = chosen_change(file, resolution)
                if chosen:
                    plan.conflict(file, _CHANGED_SINCE if isinstance(error, Conflict) else str(error), chosen)
            continue
        for file in group.files:
            chosen = chosen_change(file, resolution)
            if chosen:
                plan.done[file.path] = chosen
        plan.changes.update(changes)
    now = {path: essence(text) for path, text in {**others, **_texts_now(source, journal)}.items()}
    _keep_lines(plan, review, selection, now, essence)
    return plan


def _texts_now(source: Transaction, journal: Journal) -> dict[str, str]:
    """The reviewed run's files as they stand now; what cannot be read keeps no line."""
    texts = {}
    for intent in journal.intents:
        with contextlib.suppress(MendableError):
            current = source.current(intent)
            if current is not None:
                texts[intent.path] = text_of(current)
    return texts


def _of_group(
    group: ReviewedGroup,
    resolution: Resolution,
    source: Transaction,
    intents: Mapping[str, FileIntent],
    file_bytes: int,
    check: Check,
) -> dict[str, PlannedChange]:
    """The changes of one group. Raises `Conflict` where one of them cannot be made."""
    changes = {}
    for file in group.files:
        for path, wanted in chosen_change(file, resolution).items():
            intent = intents[path]
            current = source.current(intent)
            after = _merged(intent, source.images.get(intent.before), current, wanted)
            if after is not None and len(after) > max(file_bytes, len(current or b"")):
                raise MendableError(f"{path} would be larger than the agent reads ({file_bytes} bytes).")
            if after != current:
                mode = intent.mode if current is None else None
                if after is not None:
                    check(source.root_of(intent), intent.rel, current, after)
                changes[path] = PlannedChange(source.root_of(intent), intent.rel, current, after, mode)
    return changes


def _merged(
    intent: FileIntent, base: bytes | None, current: bytes | None, wanted: bytes | None
) -> bytes | None:
    if current in (base, wanted):
        return wanted
    if base is None or current is None or wanted is None:
        raise Conflict(f"{intent.path} changed since the preview.")
    merged = merge(base, current, wanted)
    if merged.conflict:
        raise Conflict(f"{intent.path} changed since the preview, on the same lines.")
    return merged.content


def _keep_lines(
    plan: ApplyPlan,
    review: Review,
    selection: Selection,
    now: Mapping[str, str],
    essence: Callable[[str], str],
) -> None:
    """Leave out each delete whose lines would stand nowhere by now."""
    before, after = dict(now), dict(now)
    for path, change in plan.changes.items():
        after.pop(path, None)
        if change.after is not None:
            after[path] = essence(text_of(change.after))
    blocked = judge_retention(before, after).blocked_deletes
    for file in review.files:
        if file.source in blocked and file.path not in selection.agreed_losses:
            plan.conflict(file, "lines of it stand nowhere else any more", {})


def ops_as_done(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """The reviewed run's ops with what came of them, in the shape of a coverage record's."""
    group_of = {position: group for group in review.groups for position in group.ops}
    return tuple(
        _as_done(op, group_of.get(position), plan) if came_to_pass(op) else op
        for position, op in enumerate(ops)
    )


def usage_ops(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """What counts as use: each op that came to pass, and one over a directory that came to pass in part for
    those files that it changed."""
    group_of = {position: group for group in review.groups for position in group.ops}
    counted: list[Mapping[str, Any]] = []
    for position, op in enumerate(ops):
        group = group_of.get(position)
        if group is None or not _as_done(op, group, plan)["applied"]:
            continue
        files = _files_of(op, group)
        if all(_is_as_wanted(op, file, plan.done.get(file.path)) for file in files):
            counted.append({**op, "applied": True})
            continue
        uses = (_use_of(op, file, plan.done.get(file.path)) for file in files)
        counted += [use for use in uses if use is not None]
    return tuple(counted)


def _is_as_wanted(op: Mapping[str, Any], file: ReviewedFile, done: Mapping[str, bytes | None] | None) -> bool:
    """Whether the file came, went or moved as the op wanted, whatever its text."""
    if done is None:
        return False
    if file.old_path:
        return len(done) > 1
    return op["command"] != "delete" or file.verb != "delete" or done[file.path] is None


def _use_of(
    op: Mapping[str, Any], file: ReviewedFile, done: Mapping[str, bytes | None] | None
) -> Mapping[str, Any] | None:
    if done is None:
        return None
    gone, moved = done.get(file.source, b"") is None, len(done) > 1
    if op["command"] == "rename":
        use = {"command": "rename", "path": file.source, "newPath": file.path}
        return {**use, "applied": True} if moved else None
    command = op["command"] if op["command"] != "delete" or gone or file.verb != "delete" else "str_replace"
    path = file.path if moved or not file.old_path else file.old_path
    return {"command": command, "path": path, "applied": True}


def _as_done(op: Mapping[str, Any], group: ReviewedGroup | None, plan: ApplyPlan) -> dict[str, Any]:
    plain = {key: value for key, value in op.items() if key != "note"}
    if group is None:
        return {**plain, "applied": False, "note": CAME_TO_NOTHING}
    files = _files_of(op, group)
    done = [file for file in files if file.path in plan.done]
    if op["command"] == "rename" and any(file.old_path for file in files):
        done = [file for file in done if len(plan.done[file.path]) > 1 or not file.old_path]
    if not done:
        why = next((plan.left[file.path] for file in files if file.path in plan.left), REJECTED)
        return {**plain, "applied": False, "note": why}
    if len(files) == 1 and op["command"] != "rename":
        effect = plan.done[files[0].path]
        if files[0].old_path and len(effect) == 1:
            plain["path"] = files[0].old_path
        if op["command"] == "delete" and files[0].verb == "delete" and effect[files[0].path] is not None:
            plain["command"] = "str_replace"
    return {**plain, "applied": True}


def _files_of(op: Mapping[str, Any], group: ReviewedGroup) -> list[ReviewedFile]:
    """The files of the group an op is about; all of them where it names none (a name in between)."""
    names = [name for name in (op["path"], op.get("newPath")) if name]
    about = [file for file in group.files if any(covers(name, path) for name in names for path in file.paths)]
    return about or list(group.files)
