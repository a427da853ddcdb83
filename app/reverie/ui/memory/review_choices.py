"""What a person has chosen of a run so far: which groups, files and hunks are taken, and in which words. Of a
plan what is taken is written; of a finished run it stays, and the rest is taken back.

Quick enough for the GUI thread, without Qt and without a disk. A tick on a group, file or hunk means the same
everywhere: what hangs below a group that is left out is left out, and ticking one thing in it brings back
that thing and nothing else. Words a person typed are never dropped: a file that is unticked and ticked again
has them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from reverie.jobs.consolidate.review import (
    Resolution,
    ReviewedFile,
    ReviewSelection,
    resolve,
    standing,
    text_of,
    to_take_back,
)
from reverie.ui.editor.text_merge import restored, widget_text

if TYPE_CHECKING:
    from reverie.runs.record import Parts
    from reverie.services.views import ReviewFile, ReviewGroup, ReviewView

Taken = Literal["all", "some", "none"]


class Choices:
    """Begins with everything taken; of a finished run, with all that is in place."""

    def __init__(self, view: ReviewView) -> None:
        self.view = view
        self.selection = standing(view.plan, view.taken_back) if view.can_take_back else ReviewSelection()
        self._agreed = self.selection.agreed_losses
        self._aside: dict[str, str] = {}
        self._resolved: tuple[ReviewSelection, Resolution] | None = None
        self._leaving: tuple[ReviewSelection, Parts] | None = None

    def renew(self, view: ReviewView) -> None:
        """The same changes, but the memories around them are others now."""
        self.view = view
        self._resolved = self._leaving = None

    # What is taken

    def hunk_taken(self, group: ReviewGroup, file: ReviewFile, index: int) -> bool:
        """Whether this hunk is applied as things stand."""
        if group.index in self.selection.rejected_groups:
            return False
        return index not in self.selection.rejected_hunks.get(file.path, frozenset())

    def file_taken(self, group: ReviewGroup, file: ReviewFile) -> Taken:
        """`all`, `some` or `none` of its hunks; a file with words of a person counts as taken."""
        if group.index in self.selection.rejected_groups:
            return "none"
        if file.path in self.selection.edited_files:
            return "all"
        return _sum(self.hunk_taken(group, file, hunk.index) for hunk in file.hunks)

    def group_taken(self, group: ReviewGroup) -> Taken:
        """`all`, `some` or `none` of its files."""
        states = {self.file_taken(group, file) for file in group.files}
        return states.pop() if len(states) == 1 else "some"

    # What is taken back of a finished run

    @property
    def is_open(self) -> bool:
        """Whether anything can be chosen."""
        return self.view.can_apply or self.view.can_take_back

    def is_gone(self, file: ReviewFile, index: int | None = None) -> bool:
        """Whether this file, or one hunk of it, was taken back before."""
        gone = self._gone(file)
        return bool(gone) and (index in gone if index is not None else len(gone) == len(file.hunks))

    def goes_back(self, file: ReviewFile, index: int | None = None) -> bool:
        """Whether what is left of this file, or that hunk, is to be taken back now."""
        if not self.view.can_take_back or file.path not in self.to_take_back:
            return False
        hunks = self.to_take_back[file.path]
        if index is None or hunks is None:
            return hunks is None and (index is None or not self.is_gone(file, index))
        return index in hunks

    def can_choose(self, group: ReviewGroup, file: ReviewFile | None, index: int | None) -> bool:
        """Whether a part has a box. What a finished run made, deleted or renamed goes back as a whole."""
        if self.view.can_apply or not self.view.can_take_back:
            return self.view.can_apply
        if file is None:
            return not all(self.is_gone(each) for each in group.files)
        return not self.is_gone(file, index) and (index is None or file.verb == "edit")

    @property
    def to_take_back(self) -> Parts:
        """What goes back, as an undo is asked for it."""
        if self._leaving is None or self._leaving[0] is not self.selection:
            parts = to_take_back(self.view.plan, self.selection, self.view.taken_back)
            self._leaving = self.selection, parts
        return self._leaving[1]

    def without(self, group: ReviewGroup, file: ReviewFile | None, index: int | None) -> Parts:
        """What goes back if this part alone is taken back, whatever else is marked."""
        alone = Choices(self.view)
        if file is None:
            alone.take_group(group, False)
        elif index is None:
            alone.take_file(group, file, False)
        else:
            alone.take_hunk(group, file, index, False)
        return alone.to_take_back

    def path_now(self, file: ReviewFile) -> str:
        """Where the file is as far as this run is concerned; empty if it is not there."""
        run = self.view.run
        if run.dry_run or run.outcome == "held" or run.reverted or self.is_gone(file):
            return "" if file.verb == "create" else file.old_path or file.path
        return "" if file.verb == "delete" else file.path

    @property
    def count_to_take_back(self) -> int:
        """How many changes go back: hunks, and files that came or went."""
        return sum(
            int(self.goes_back(file))
            if file.verb != "edit"
            else sum(self.goes_back(file, hunk.index) for hunk in file.hunks)
            for group in self.view.groups
            for file in group.files
        )

    @property
    def count_standing(self) -> int:
        """How many changes of a finished run are in place."""
        return sum(
            int(not self.is_gone(file)) if file.verb != "edit" else len(file.hunks) - len(self._gone(file))
            for group in self.view.groups
            for file in group.files
        )

    def _gone(self, file: ReviewFile) -> frozenset[int]:
        found = self.view.taken_back.get(file.path, frozenset())
        return frozenset(hunk.index for hunk in file.hunks) if found is None else found

    @property
    def blocked(self) -> Mapping[str, str]:
        """Why the rails leave a file as it is, by path."""
        return self._resolution.blocked

    @property
    def changed_files(self) -> int:
        """How many files would change."""
        changed = self._resolution.files
        return sum(
            any(path in changed for path in (file.path, file.old_path))
            for group in self.view.groups
            for file in group.files
        )

    @property
    def all_files(self) -> int:
        return sum(len(group.files) for group in self.view.groups)

    def may_agree(self, path: str) -> bool:
        """Whether agreeing to the loss of lines would let a blocked file go."""
        agreed = self.selection.with_agreed_loss(path, agreed=True)
        return path in self.blocked and path not in resolve(self.view.plan, agreed).blocked

    def has_agreed(self, path: str) -> bool:
        """Whether the person agreed to the loss of lines of this file; not what the run itself lost."""
        return path in self.selection.agreed_losses - self._agreed

    @property
    def _resolution(self) -> Resolution:
        if self._resolved is None or self._resolved[0] is not self.selection:
            self._resolved = self.selection, resolve(self.view.plan, self.selection)
        return self._resolved[1]

    # Taking and leaving

    def take_group(self, group: ReviewGroup, taken: bool) -> None:
        """Take or leave a group; taking it takes every hunk of it."""
        if taken:
            for file in group.files:
                self._take_hunks(file, True)
        self.selection = self.selection.with_group(group.index, accepted=taken)

    def take_file(self, group: ReviewGroup, file: ReviewFile, taken: bool) -> None:
        """Take or leave a file; its group counts as chosen one by one then."""
        self._revive(group)
        self._take_hunks(file, taken)

    def take_hunk(self, group: ReviewGroup, file: ReviewFile, index: int, taken: bool) -> None:
        """Take or leave one hunk; its group counts as chosen one by one then."""
        self._revive(group)
        self.selection = self.selection.with_hunk(file.path, index, accepted=taken)

    def agree(self, path: str, agreed: bool) -> None:
        """Lines of the file may be lost."""
        self.selection = self.selection.with_agreed_loss(path, agreed=agreed)

    def _revive(self, group: ReviewGroup) -> None:
        """A group that was left out as a whole: everything in it is left out one by one."""
        if group.index not in self.selection.rejected_groups:
            return
        for file in group.files:
            self._take_hunks(file, False)
        self.selection = self.selection.with_group(group.index, accepted=True)

    def _take_hunks(self, file: ReviewFile, taken: bool) -> None:
        rejected = {path: hunks for path, hunks in self.selection.rejected_hunks.items() if path != file.path}
        if not taken:
            rejected[file.path] = frozenset(hunk.index for hunk in file.hunks)
        elif gone := self._gone(file):
            rejected[file.path] = gone
        self.selection = replace(self.selection, rejected_hunks=rejected)
        written = self.selection.edited_files.get(file.path)
        if not taken and written is not None:
            self._aside[file.path] = written
            self.selection = self.selection.with_file_text(file.path, None)
        elif taken and file.path in self._aside:
            self.selection = self.selection.with_file_text(file.path, self._aside.pop(file.path))

    # Words of one's own

    def is_written(self, file: ReviewFile, index: int | None = None) -> bool:
        """Whether a person worded the file, or one hunk of it, anew."""
        if index is None:
            return file.path in self.selection.edited_files
        return index in self.selection.edited_hunks.get(file.path, {})

    def can_write(self, file: ReviewFile, index: int | None = None) -> bool:
        """Whether there is text to edit: not in what is no UTF-8, and not in a mere coming, going or
        moving."""
        if not self.view.can_apply or any("\udc80" <= char <= "\udcff" for char in self._text(file)):
            return False
        return index is None or any(hunk.lines for hunk in file.hunks if hunk.index == index)

    def text(self, file: ReviewFile, index: int | None = None) -> str:
        """The words as an editor shows them."""
        if index is None:
            return widget_text(self._text(file))
        written = self.selection.edited_hunks.get(file.path, {}).get(index)
        return widget_text(written if written is not None else self._added(file, index)).removesuffix("\n")

    def write(self, file: ReviewFile, text: str | None, index: int | None = None) -> None:
        """Take an editor's words; None takes the engine's again. Line breaks stay those of the file."""
        self._aside.pop(file.path, None)
        if index is None:
            whole = None if text is None else restored(self._original(file), text)
            self.selection = self.selection.with_file_text(file.path, whole)
            return
        added = self._added(file, index)
        if text is not None and text and (added.endswith("\n") or not added):
            text += "\n"
        newline = "\r\n" if "\r\n" in self._original(file) else "\n"
        words = None if text is None else restored(added, text, newline)
        self.selection = self.selection.with_hunk_text(file.path, index, words)

    def _text(self, file: ReviewFile) -> str:
        written = self.selection.edited_files.get(file.path)
        if written is not None:
            return written
        resolved = self._resolution.files.get(file.path)
        return text_of(resolved) if resolved is not None else self._original(file)

    def _original(self, file: ReviewFile) -> str:
        """The text as planned, or as it is now if it would go: exactly, unlike that of the view."""
        planned = self._planned(file)
        return planned.after if planned.after is not None else planned.before or ""

    def _added(self, file: ReviewFile, index: int) -> str:
        hunks = self._planned(file).hunks
        return "".join(line for hunk in hunks if hunk.index == index for line in hunk.added)

    def _planned(self, file: ReviewFile) -> ReviewedFile:
        return next(planned for planned in self.view.plan.files if planned.path == file.path)


def _sum(states: Iterator[bool]) -> Taken:
    found = set(states)
    return "some" if len(found) > 1 else "all" if True in found else "none"
