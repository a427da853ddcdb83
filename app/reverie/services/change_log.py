"""Change sets of a home, newest first: everything that changed in its memories.

Each commit of the history is one change set, by you, by the agent, by a run or by another program, and any
part of it can be undone. A change set is shown as a review, like a run. Paths are memory paths; if a commit
touches two projects, each path names its project. Undoing a change set is a three-way merge
(`runs.revert.merged_back`): later changes stay, and if a later change touched the same lines, nothing is
undone. The merge is a change by hand, so Undo reverts it.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.scopes import Scope, ScopeContext
from reverie.errors import Conflict, StoreError, Unavailable
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import build_review, text_of
from reverie.memory.companion_places import is_of_companions
from reverie.memory.diff import is_binary
from reverie.memory.history.reader import CommitSteps, Cursor, FileStep, HistoryPlace
from reverie.memory.paths import ROOT, memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.runs.card import ReportCard, sentence
from reverie.runs.parts import Parts, hunk_count
from reverie.runs.revert import merged_back
from reverie.services.changes import ChangeSet, all_steps_or_none, joined
from reverie.services.container import Contexts, HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits
from reverie.services.reviews import review_group
from reverie.services.timeline import COMPARED_BYTES, State, TimelineService, TimelineTarget, Who
from reverie.services.views import HandChange, ReviewView, Undo
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.memory.history.history import History

MOST_FILES = 300
"""The maximum number of files that the view of one change set shows."""
_MOST_COUNTED = 20
_MOST_OTHERS = 2_000
_TOLD = 20
_TOLD_LINES = 3
_SUBJECT = "Taken back by hand"
_EVERYTHING = HistoryPlace("", "")
How = Literal["", "restored", "undone"]
_HOW: Mapping[str, How] = {"Restored": "restored", "Undone": "undone", _SUBJECT: "undone"}
"""Maps the start of the subject of a commit by hand to the way in which it brought back earlier content."""


class LoggedFile(Struct, frozen=True):
    """One file of a change set, and whether the change set created, edited or deleted it."""

    path: str
    """The path that the review of the change set shows."""
    place: HistoryPlace
    """The place of the file in the history."""
    verb: Literal["create", "edit", "delete"]


class LoggedChange(Struct, frozen=True):
    """One change set: a commit of the history, with the files that it changed."""

    id: str
    parent: str | None
    """The commit before this one; None for the first commit."""
    at_ms: int
    """The time of the commit (UTC ms)."""
    who: Who
    actor: str
    """The author as the history names it; `who` is derived from this."""
    run_id: str | None
    """The id of the run that made the change; None if it was no run."""
    how: How
    """The way in which the change brought back earlier content; empty if it did not."""
    notes: str
    """The author's explanation in the commit; empty if there is none."""
    files: tuple[LoggedFile, ...]
    """The first `MOST_FILES` files of the commit."""
    count: int
    """The number of all files that the commit changed."""
    moved: tuple[tuple[str, str], ...] = ()
    """The old and new path of each file that was moved unchanged; both paths are among `files`."""
    owner: str = ""
    """The name of the project or workspace with the changed files; empty if there are several."""
    added: int = 0
    """The number of added lines; 0 for a change set of many files."""
    removed: int = 0
    """The number of removed lines; 0 for a change set of many files."""
    is_first: bool = False
    """True if the history recorded these directories for the first time; the files may be older."""
    place: HistoryPlace | None = None
    """The file or folder whose log has this entry, under its name at that time.

    None for an entry in the log of the whole home.
    """

    @property
    def after(self) -> State | None:
        """The state after this change of the file or folder whose log has this entry (`place`).

        If this change deleted the file or folder, this is the state before the change. None for an entry in
        the log of the whole home.
        """
        if self.place is None:
            return None
        gone = all(file.verb == "delete" for file in self.files)
        return State(self.parent if gone else self.id, self.place)


class ChangeLogPage(Struct, frozen=True):
    """A page of change sets, newest first."""

    changes: tuple[LoggedChange, ...] = ()
    next: Cursor | None = None
    """The start of the next page; None if this page reaches the beginning of the history."""
    head: str = ""
    """The id of the newest commit of the history; empty if there is none."""


class _FileBytes(Struct, frozen=True):
    """One file of a commit, with its content before and after the commit (None: no file)."""

    path: str
    place: HistoryPlace
    before: bytes | None
    after: bytes | None


_RATED: tuple[Who, ...] = ("agent", "dream")
"""The authors whose change sets get a report card, which says which facts were lost or changed.

Changes by a person get none, because the person is the source of the facts.
"""


class ChangeLogService:
    """The service that lists, shows and undoes the change sets of one home.

    `page` returns the log of the whole home, or of one file, folder or scope. In the latter, each entry has a
    `place` and lists only the changed files that belong to that file, folder or scope.
    """

    def __init__(self, parts: HomeContainer, timeline: TimelineService) -> None:
        self._parts = parts
        self._timeline = timeline

    def page(
        self, start: Cursor | None = None, target: TimelineTarget | None = None, *, limit: int = 100
    ) -> ChangeLogPage:
        """Return a page of the log of the home or of `target`: at most `limit` change sets, newest first.

        `start`: the `next` of the page before; None: the first page. `target`: the file, folder or scope to
        list, also under its former names; None: the whole home.
        """
        if target is None:
            found = self._history.newest_steps(start.commit if start else None, limit=limit)
            changes = self._of_memories(found.commits)
            following = Cursor(found.next, _EVERYTHING) if found.next is not None else None
            return ChangeLogPage(changes, following, found.head)
        log = self._history.log(target.place, start, limit=limit)
        places = [[entry.place, *([entry.other] if entry.other else [])] for entry in log.entries]
        changes = self._logged(
            self._history.steps([entry.commit.id for entry in log.entries]),
            lambda number, place: any(
                place.key == other.key
                and (not other.rel or place.rel == other.rel or place.rel.startswith(other.rel + "/"))
                for other in places[number]
            ),
        )
        own = {entry.commit.id: entry.place for entry in log.entries}
        changes = tuple(replace(change, place=own[change.id]) for change in changes)
        return ChangeLogPage(changes, log.next, log.head)

    def find(self, beginning: str) -> LoggedChange:
        """Return the newest change set with an id that starts with `beginning`.

        Raises `StoreError` if there is none.
        """
        named = (each.id for each in self._history.commits() if each.id.startswith(beginning))
        found = self._of_memories(self._history.steps([each for each in (next(named, ""),) if each]))
        if not beginning or not found:
            raise StoreError(
                f"No change ID begins with “{beginning}”.", next_step="`reverie changes` lists the changes."
            )
        return found[0]

    def _of_memories(self, commits: Sequence[CommitSteps]) -> tuple[LoggedChange, ...]:
        return self._logged(commits, lambda _number, place: not is_of_companions(place.key))

    def _logged(
        self, commits: Sequence[CommitSteps], wanted: Callable[[int, HistoryPlace], bool]
    ) -> tuple[LoggedChange, ...]:
        """Return the change sets made from `commits`, with only the files that are wanted.

        `wanted(index, place)` returns True if the file at `place`, which the commit at `index` changed, is
        wanted. A commit without wanted files is left out.
        """
        found = []
        for number, commit in enumerate(commits):
            steps = tuple(step for step in commit.steps if wanted(number, step.place))
            if steps:
                found.append(replace(commit, steps=steps))
        owner, lines = Contexts(self._parts).owner, self._lines(found)
        return tuple(self._one(commit, owner, *counts) for commit, counts in zip(found, lines, strict=True))

    def _one(self, found: CommitSteps, owner: Callable[[str], str], added: int, removed: int) -> LoggedChange:
        commit, keys = found.commit, {step.place.key for step in found.steps}
        named = self._named([step.place for step in found.steps], owner)
        owners = {owner(key) for key in keys if not is_of_companions(key)} - {""}
        listed = found.steps[:MOST_FILES]
        gone = {step.before: step for step in listed if not step.after}
        # A removed file and an added file with the same content.
        moves = [(gone.pop(step.after), step) for step in listed if not step.before and step.after in gone]
        return LoggedChange(
            id=commit.id,
            parent=commit.parent,
            at_ms=commit.at_ms,
            who=self._timeline.who(commit),
            actor=commit.actor,
            run_id=commit.run_id,
            how=next((how for start, how in _HOW.items() if commit.subject.startswith(start)), ""),
            notes=commit.notes,
            files=tuple(
                LoggedFile(
                    named[step.place],
                    step.place,
                    "create" if not step.before else "edit" if step.after else "delete",
                )
                for step in listed
            ),
            count=len(found.steps),
            moved=tuple((named[old.place], named[new.place]) for old, new in moves),
            owner=owners.pop() if len(owners) == 1 else "",
            added=added,
            removed=removed,
            is_first=found.is_first,
        )

    def _named(self, places: Sequence[HistoryPlace], owner: Callable[[str], str]) -> dict[HistoryPlace, str]:
        """Return for each file in `places` the path under which it is shown.

        If the files belong to several projects or workspaces, each path contains the name of its project or
        workspace. `owner` returns that name for the key of a root.
        """
        keys: dict[str, set[str]] = {}
        for place in places:
            keys.setdefault(place.key.partition("/")[0], set()).add(place.key)
        named = {}
        for place in places:
            scope = place.key.partition("/")[0]
            if is_of_companions(place.key) or len(keys[scope]) == 1:
                named[place] = self._timeline.path_of(State(None, place), "")
            else:
                named[place] = f"{ROOT}/{scope} ({owner(place.key)})/{place.rel}"
        return named

    def _lines(self, commits: Sequence[CommitSteps]) -> list[tuple[int, int]]:
        """Return the numbers of added and removed lines of each commit, both 0 for a commit of many files."""
        few = [commit.steps if len(commit.steps) <= _MOST_COUNTED else () for commit in commits]
        ids = sorted({blob for steps in few for step in steps for blob in (step.before, step.after) if blob})
        lines = {
            blob: Counter(content.removesuffix(b"\n").split(b"\n") if content else ())
            for blob, content in zip(ids, self._history.blobs(ids), strict=True)
            if content is not None and len(content) <= COMPARED_BYTES
        }
        found = []
        for steps in few:
            added = removed = 0
            for step in steps:
                before, after = lines.get(step.before, Counter()), lines.get(step.after, Counter())
                added += (after - before).total()
                removed += (before - after).total()
            # A file that was only renamed is neither added nor removed.
            made = Counter(step.after for step in steps if not step.before)
            renamed = made & Counter(step.before for step in steps if not step.after)
            same = sum(lines.get(blob, Counter()).total() * count for blob, count in renamed.items())
            found.append((added - same, removed - same))
        return found

    # One change set

    def review(self, logged: LoggedChange) -> ReviewView:
        """Return a review of the change set `logged`, in which a person can undo each hunk that still exists.

        If `logged` is from the log of one file or folder, the review shows only that file or folder.
        """
        found, refused = [], []
        for change in self._changes(logged, most=MOST_FILES):
            sides = [side for side in (change.before, change.after) if side is not None]
            if any(len(side) > COMPARED_BYTES for side in sides):
                refused.append(f"{change.path} is too large to show.")
            elif any(is_binary(side) for side in sides):
                refused.append(f"{change.path} is not text.")
            elif sides:
                found.append(change)
        before = {each.path: text_of(each.before) for each in found if each.before is not None}
        after = {each.path: text_of(each.after) for each in found if each.after is not None}
        plan = build_review(_renames(found), before, after, max_loss_percent=100.0)
        groups = tuple(group if group.kind == "merge" else replace(group, reason="") for group in plan.groups)
        still = {each.path: self._gone(each) for each in found if not logged.is_first}
        gone = {path: hunks for path, hunks in still.items() if hunks != frozenset()}
        return ReviewView(
            run=None,
            groups=tuple(map(review_group, groups)),
            refused=tuple(refused),
            can_apply=False,
            why_not="",
            plan=plan,
            can_take_back=not logged.is_first and bool(found) and len(gone) < len(found),
            taken_back=gone,
            card=self._card(logged, found) if logged.who in _RATED and not logged.is_first else None,
        )

    def card(self, logged: LoggedChange) -> ReportCard | None:
        """Return the report card of the change set `logged`: which facts were lost, changed or kept.

        None if it only created files, or changed more files than can be compared.
        """
        return None if logged.count > MOST_FILES else self._card(logged, self._changes(logged))

    def _card(self, logged: LoggedChange, changes: Sequence[_FileBytes]) -> ReportCard | None:
        own = [each for each in changes if not is_of_companions(each.place.key)]
        if logged.parent is None or all(each.before is None for each in own):
            return None
        before = {each.path: text_of(each.before) for each in own if each.before is not None}
        after = {each.path: text_of(each.after) for each in own if each.after is not None}
        others = self._others(logged.parent, own)
        context = Contexts(self._parts).of({each.place.key for each in own})
        home, usage = self._parts.home, self._parts.usage
        loaded = None if context is None else DreamOverlay(home, context, usage).loaded
        return report_card({**others, **before}, {**others, **after}, loaded=loaded)

    def _others(self, commit: str, changes: Sequence[_FileBytes]) -> dict[str, str]:
        """Return the texts of unchanged files in the stores that `changes` touch, by path, as of `commit`.

        At most `_MOST_OTHERS` files of each store are read.
        """
        names, blobs = list[str](), list[str]()
        known = {each.path for each in changes}
        for key, first in {each.place.key: each for each in changes}.items():
            above = first.path.removesuffix(first.place.rel)
            for rel, version in list(self._history.files(commit, key).items())[:_MOST_OTHERS]:
                if above + rel not in known and not version.omitted:
                    names.append(above + rel)
                    blobs.append(version.blob)
        return {
            name: text_of(data)
            for name, data in zip(names, self._history.blobs(blobs), strict=True)
            if data is not None and len(data) <= COMPARED_BYTES and not is_binary(data)
        }

    def tell_of_agent(self, since: str | None) -> None:
        """Report in Activity the agent's own consolidations that lost or changed facts.

        At most the `_TOLD` newest commits are examined. `since`: the id of a commit, of which only later ones
        are examined; None: no such limit.
        """
        for change in self._of_memories(self._history.newest_steps(limit=_TOLD, until=since).commits):
            merges = any(file.verb == "delete" for file in change.files) or change.removed >= _TOLD_LINES
            card = self.card(change) if change.who == "agent" and merges else None
            if card is not None and (card.changed or card.kept < card.facts):
                said = f"The agent rewrote its memories: {sentence(card.counts)}."
                self._parts.report(
                    "agent.consolidation", f"{said} Open the Changes tab to see or undo it.", "warning"
                )

    def _gone(self, change: _FileBytes) -> frozenset[int] | None:
        """Return the numbers, from 0, of the hunks of `change` that were undone since; None: all of them.

        A hunk counts as undone if the file lacks it now.
        """
        current = self._current(change.place)
        if change.before is None or change.after is None:
            return None if current == change.before else frozenset()
        if current in (change.before, change.after):
            return None if current == change.before else frozenset()
        count = hunk_count(change.before, change.after)
        gone = frozenset(hunk for hunk in range(count) if self._is_gone(change, current, hunk))
        return None if len(gone) == count else gone

    def _is_gone(self, change: _FileBytes, current: bytes | None, hunk: int) -> bool:
        if current is None:
            return True
        try:
            return self._back(change, current, frozenset({hunk})) == current
        except Conflict:
            return False  # undoing the hunk raises this again

    def take_back(
        self, logged: LoggedChange, parts: Parts | None = None, target: TimelineTarget | None = None
    ) -> Undo:
        """Undo the change set `logged`, everything or nothing; return the `Undo` that reverts this.

        `parts`: undo only these files and hunks of the change set; None: all of it. `target`: the companion,
        if `logged` is from the log of a companion; any other target and None have no effect. Raises
        `Conflict` if a later change touched the same lines, `StoreError` if nothing is left to undo.
        """
        changes: dict[str, list[HandChange]] = {}
        pins: dict[str, bool] = {}
        for change in self._changes(logged):
            hunks = None if parts is None else parts.get(change.path, frozenset())
            if hunks == frozenset():
                continue
            current = self._current(change.place)
            wanted = self._back(change, current, hunks)
            if wanted != current:
                path, mode = self._timeline.path_of(State(None, change.place), ""), None
                if current is None:
                    mode, pinned = self._facts(logged, change.place)
                    pins |= {path: True} if pinned else {}
                hand = HandChange(path, wanted, sha256_of_bytes(current), mode)
                changes.setdefault(change.place.key, []).append(hand)
        if not changes:
            raise StoreError("Nothing is left to undo.", next_step="Choose another change.")
        if target is not None and target.beside:
            (made,) = changes.values()
            return CompanionFiles(self._parts).restore(target.context, made)
        return self._applied(changes, pins)

    def _applied(self, changes: Mapping[str, Sequence[HandChange]], pins: Mapping[str, bool]) -> Undo:
        known = Contexts(self._parts).grouped(changes)
        groups: dict[ScopeContext, list[HandChange]] = {}
        for key, made in changes.items():
            if key not in known:
                raise Unavailable(
                    f"The change to {made[0].path} cannot be undone:",
                    cause="No project of this home uses these memories any more.",
                    next_step="Copy the text into another memory.",
                )
            groups.setdefault(known[key], []).extend(made)
        done: list[Undo] = []
        with all_steps_or_none(done, UserEdits(self._parts).undo):
            for context, made in groups.items():
                own = {change.path: True for change in made if change.path in pins}
                done.append(
                    ChangeSet(self._parts).apply(context, made, kind="restore", subject=_SUBJECT, pins=own)
                )
        return joined(done)

    def version(
        self, context: ScopeContext, logged: LoggedChange, path: str, target: TimelineTarget | None = None
    ) -> tuple[TimelineTarget, State, State]:
        """Return the `TimelineTarget` of one file of a change set, and the file's states before and after it.

        `TimelineService` shows the file with these three values. `path`: the path of the file in the review
        of `logged`. `context` is used for a file that no context of the home shows any more. `target` is
        needed only if `logged` is from the log of a companion: that companion. Raises `StoreError` if the
        change set does not include the file.
        """
        place = next((place for place, name in self._steps(logged)[1].items() if name == path), None)
        if place is None:
            raise StoreError(f"This change does not include {path}.", next_step="Choose another file.")
        before, after = State(logged.parent, place), State(logged.id, place)
        if target is not None and target.beside:
            return target, before, after
        scope = Scope(place.key.partition("/")[0])
        context = Contexts(self._parts).of([place.key]) or context
        return TimelineTarget(context, scope, str(memory_path(scope, place.rel)), place), before, after

    def _steps(self, logged: LoggedChange) -> tuple[Sequence[FileStep], Mapping[HistoryPlace, str]]:
        """Return the effects of the change set `logged` on single files, and the path shown for each file.

        If `logged` is from the log of one file or folder, only the files of that log are returned; otherwise
        all files except companions (files that the agent loads beside memories).
        """
        (found,) = self._history.steps([logged.id])
        followed = {file.place for file in logged.files} if logged.place is not None else None
        steps = [
            step
            for step in found.steps
            if (not is_of_companions(step.place.key) if followed is None else step.place in followed)
        ]
        return steps, self._named([step.place for step in steps], Contexts(self._parts).owner)

    def _changes(self, logged: LoggedChange, *, most: int | None = None) -> tuple[_FileBytes, ...]:
        steps, named = self._steps(logged)
        steps = steps[:most]
        contents = iter(
            self._history.blobs([each for step in steps for each in (step.before, step.after) if each])
        )
        return tuple(
            _FileBytes(
                named[step.place],
                step.place,
                next(contents) if step.before else None,
                next(contents) if step.after else None,
            )
            for step in steps
        )

    def _back(self, change: _FileBytes, current: bytes | None, hunks: frozenset[int] | None) -> bytes | None:
        try:
            return merged_back(change.path, change.before, change.after, current, part=hunks)
        except Conflict as error:
            raise Conflict(
                "Nothing was undone.", cause=str(error), next_step="Leave that file out, or edit it by hand."
            ) from error

    def _current(self, place: HistoryPlace) -> bytes | None:
        return self._timeline.read(self._timeline.on_disk(place))

    def _facts(self, logged: LoggedChange, place: HistoryPlace) -> tuple[int | None, bool]:
        """Return the permission bits of a file before the change set `logged`, and True if it was pinned.

        `place`: the file. The bits are None if there was no such file.
        """
        if logged.parent is None:
            return None, False
        version = self._history.files(logged.parent, place.key).get(place.rel)
        pinned = self._history.metadata(logged.parent, place.key).get(place.rel, {}).get("pinned") is True
        return None if version is None else version.mode, pinned

    @property
    def _history(self) -> History:
        return self._parts.snapshots.history


def _renames(changes: Sequence[_FileBytes]) -> list[Mapping[str, Any]]:
    """Return the renames in a commit, as operations of a run's record.

    A rename is a pair of a removed file and a new one with the same content.
    """
    came: dict[bytes, list[str]] = {}
    for change in changes:
        if change.before is None and change.after:
            came.setdefault(change.after, []).append(change.path)
    return [
        {"command": "rename", "path": change.path, "newPath": came[change.before].pop(0), "applied": True}
        for change in changes
        if change.after is None and change.before and came.get(change.before)
    ]
