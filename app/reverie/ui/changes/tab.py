"""The Changes tab: the timeline, the files of the selected change set, and the diff of the selected file.

The tab has three columns. In a narrower window the last two are stacked; below 640 pixels only one column is
shown, with a Back button. A proposal can be applied or discarded; changes on disk can be undone, as a whole
or in part. The widgets only emit signals that request these actions.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from reverie.jobs.consolidate.review import Resolution, ReviewSelection, resolve, to_take_back
from reverie.ui.appearance import GAP, UNIT
from reverie.ui.changes.diff import VersionPane
from reverie.ui.changes.review import Choices, ReviewActions, ReviewPart, ReviewTree, card_words
from reverie.ui.changes.rows import ChangeList, ChangeRow, actor, who
from reverie.ui.display_text import counted, human_size, visible, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.footer import can_revert, cost_words, kind_words, state_words
from reverie.ui.metrics import scaled
from reverie.ui.run_labels import left_pairs, summary_words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, Panes, column, split, stacked
from reverie.ui.widgets.messages import MessageBar, Overlay
from reverie.ui.widgets.pages import TabPage
from reverie.ui.widgets.text_views import TextView

if TYPE_CHECKING:
    from reverie.runs.card import CardCounts
    from reverie.runs.parts import Parts
    from reverie.services.trash import TrashEntry
    from reverie.services.views import ReviewView

# Widths in pixels at the default font size.
NARROW = 640
"""Below this width one column is shown at a time."""
ROOMY = 1000
"""From this width on, the files and the diff are side by side."""
_ROWS, _FILES = 270, 330
"""Initial widths of the first two columns, each limited to a third of the tab."""


class ChangeSetPane(Column):
    """The files of one change set, with the buttons to apply, discard, undo or restore it."""

    apply = Signal(object, object)
    """Emitted with `ChangeRow` and `ReviewSelection` to apply the selected changes."""
    take_back = Signal(object, object)
    """Emitted with `ChangeRow` and the `Parts` to undo, or None for the whole change set."""
    discard = Signal(object, bool)
    """Emitted with `ChangeRow` and True to discard a proposal, False to make it a proposal again."""
    restore_folder = Signal()
    """Emitted to restore the listed folder to its state at this change set."""
    open_wanted = Signal(object, str)
    """Emitted with `ChangeRow` and path to open a file in the editor."""
    entered = Signal()
    """Emitted on a click or Enter on a file."""
    picked = Signal(object)
    """Emitted with the selected `ReviewPart` or None."""
    worth_wanted = Signal()
    """Emitted to show the page with the pairs of memories that a run left to the user's decision."""

    def __init__(self, versions: VersionPane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._versions = versions
        self._row: ChangeRow | None = None
        self._wanted = ""  # the path of the file to select
        self.choices: Choices | None = None
        self.title = WrapLabel()
        embolden(self.title)
        self.facts = WrapLabel()
        self.card = WrapLabel()
        self.message = MessageBar(icons, "changes-message")
        self.tree = ReviewTree()
        self.detail = versions.detail
        self.actions_ = ReviewActions(
            self.tree, self.detail.diff, self.detail.start_editing, lambda: self.detail.can_edit
        )
        self.chosen = WrapLabel()
        self.apply_button = FitPushButton(
            self.tr("A&pply"),
            self.tr("Apply the checked changes; you can undo this"),
            clicked=self._ask_apply,
        )
        self.discard_button = FitPushButton(clicked=self._ask_discard)
        self.undo = FitPushButton(icon=icons.icon("undo"), clicked=self._ask_undo)
        self.restore_folder_button = FitPushButton(
            self.tr("Restore the &folder…"),
            self.tr("Restore all files that were in the folder at that time; you can review them first"),
            clicked=self.restore_folder.emit,
        )
        self.worth_button = FitPushButton(
            self.tr("&Worth a look…"),
            self.tr("Pairs of memories for you to decide on: keep the left one, the right one or both"),
            clicked=self.worth_wanted.emit,
        )
        buttons = (
            *(self.apply_button, self.undo, self.discard_button),
            *(self.restore_folder_button, self.worth_button),
        )
        row = FlowLayout(*buttons)
        parts = self.title, self.facts, self.card, self.tree, self.chosen, row
        column(self, *parts, grows=self.tree, margin=(UNIT, 0, UNIT, 0), gap=UNIT)
        Overlay(self.tree, self.message)
        for button in buttons:
            button.setAutoDefault(False)  # Enter in a list must not press a button
        self._connect()
        self.show_nothing("")

    def _connect(self) -> None:
        self.tree.picked.connect(self._on_picked)
        self.tree.chosen.connect(self._on_chosen)
        self.tree.itemClicked.connect(self.entered)
        self.tree.itemActivated.connect(self.entered)
        self.detail.changed.connect(self._on_worded)
        self.detail.asked.connect(self._on_asked)
        self.detail.picked.connect(self.tree.select_part)
        self.actions_.open_wanted.connect(self._ask_open)
        self.actions_.take_back_wanted.connect(self._ask_take_back)

    @property
    def row(self) -> ChangeRow | None:
        return self._row

    def show_nothing(self, said: str) -> None:
        """Clear the pane and show `said` as its title. Called when no change set is selected."""
        self._row = None
        self.title.say(said)
        self.facts.say("")
        self._say_card(None)
        self._show_choices(None)

    def begin(self, row: ChangeRow, path: str = "") -> None:
        """Show the title of a change set that is being read; `path` is the file to select afterwards.

        If the change set is shown already, its files and the user's choices stay.
        """
        same = self._row is not None and self._row.key == row.key
        self._row = row
        self._wanted = path
        self._say_title(row)
        if not same:
            self.message.clear()
            self._show_choices(None)
        self._say_chosen()

    def show_review(self, read: Choices) -> None:
        """Show the files of the change set; `read` holds them and the first choices, as a job has read them.

        The user's choices are kept if the changes to which they refer are the same as before.
        """
        row, view = self._row, read.view
        if view.card is not None:
            self._say_card(view.card.counts)
            is_agents = row is not None and row.change is not None and row.change.who == "agent"
            # Read again, the review is no news: a newer message stays.
            if is_agents and view.card.lost and self.choices is None:
                self.message.say(
                    self.tr("The agent removed facts from its memories. “Undo all” restores them."),
                    tone="warn",
                )
        known = self.choices
        if known is not None and _chosen_from(known.view) == _chosen_from(view):
            if known.view != view:
                known.renew(read)
                self._on_worded()
        else:
            self._show_choices(read)
        if not view.groups and not view.refused:
            self.detail.show_text(self.tr("No files were changed."))
        if self._wanted and self.tree.select_part(self._wanted, None):
            self._wanted = ""

    def _say_title(self, row: ChangeRow) -> None:
        """Show the title of a change set, and its facts such as author and time."""
        run, change = row.run, row.change
        title = [kind_words(run) if run is not None else who(row), when(row.at_ms)]
        if run is not None and (run.reverted or run.partly_undone or run.outcome != "completed"):
            title.append(state_words(run))
        said: list[str] = []
        if run is not None:
            said += [summary_words(run.summary), cost_words(run), self._state(row)]
        elif change is not None:
            if change.owner:
                title.append(visible(change.owner))
            if change.is_first:
                said.append(self.tr("These memories already existed when you first opened this home."))
            if change.count > len(change.files):
                count = len(change.files)
                said.append(
                    counted("Only the first file is listed.", "Only the first %n files are listed.", count)
                )
            said.append(visible(change.notes))
        self.title.say(" · ".join(title))
        self.facts.say(" ".join(part for part in said if part))
        self.facts.setVisible(bool(self.facts.text()))
        self._say_card(run.card if run is not None else None)

    def _say_card(self, counts: CardCounts | None) -> None:
        """Show in one line how many facts the run kept, changed or lost; None hides the line."""
        said = card_words(counts) if counts is not None else ""
        self.card.say(said[:1].upper() + said[1:])
        self.card.setVisible(bool(said))

    def _state(self, row: ChangeRow) -> str:
        """Return a sentence about conflicts of a run, or why it wrote nothing; empty if neither applies."""
        run = row.run
        assert run is not None
        if run.conflicts:
            paths = ", ".join(visible(path) for path in run.conflicts)
            return self.tr("In conflict: {paths}").format(paths=paths)
        if run.outcome == "held":
            return self.tr("No changes were written. {reason}").format(reason=visible(run.reason))
        if run.dry_run and not run.applied_by:
            return self.tr("This is a preview; no changes were written.")
        if run.outcome not in ("completed", "unchanged") and run.reason:
            return visible(run.reason)
        return ""

    def _show_choices(self, choices: Choices | None) -> None:
        """Show the files for new choices; None clears them."""
        self.choices = choices
        for group in ("choices", "parts"):
            self._versions.reader.drop(group)
        self.detail.show_part(None, None)
        self.tree.show_choices(choices)
        self._say_chosen()

    # Choosing

    @Slot(object)
    def _on_picked(self, part: ReviewPart | None) -> None:
        self.detail.show_part(self.choices, part)
        self.actions_.follow(self.choices)
        self.picked.emit(part)

    @Slot()
    def _on_chosen(self) -> None:
        self.detail.show_part(self.choices, self.tree.part)
        self._say_chosen()

    @Slot()
    def _on_worded(self) -> None:
        self.tree.follow()
        self.detail.refresh()
        self._say_chosen()

    @Slot(str, str, int)
    def _on_asked(self, what: str, path: str, hunk: int) -> None:
        """Carry out the action of a button in the diff: `take-back`, `edit`, `accept` or `reject`."""
        choices, found = self.choices, self.choices.find(path) if self.choices is not None else None
        if choices is None or found is None:
            return
        if what == "take-back":
            group, file = found
            self._ask_take_back(choices.without(group, file, hunk if file.verb == "edit" else None))
            return
        self.tree.select_part(path, hunk)
        if what == "edit":
            self.detail.start_editing()
        else:
            choices.take_hunk(*found, hunk, what == "accept")
            self._on_worded()

    def _resolve(self) -> None:
        """Resolve the selection in a job if the texts are long, and show the result.

        A newer selection replaces the job, and another review drops it.
        """
        choices = self.choices
        if choices is None or choices.is_resolved:
            return
        plan, selection = choices.view.plan, choices.selection

        def done(found: Resolution) -> None:
            choices.resolved = selection, found
            self._on_worded()

        self._versions.reader.read("resolve", "choices", lambda _control: resolve(plan, selection), done)

    def _say_chosen(self) -> None:
        """Update the buttons and counts for the current choices."""
        choices, row = self.choices, self._row
        self.actions_.follow(choices)
        run = row.run if row is not None else None
        self.worth_button.setVisible(run is not None and left_pairs(run.summary))
        can_apply = choices is not None and choices.view.can_apply
        can_take_back = choices is not None and choices.view.can_take_back
        self.apply_button.setVisible(can_apply)
        self.discard_button.setVisible(can_apply and run is not None)
        discarded = run is not None and run.discarded
        self.discard_button.say(
            self.tr("Keep as a &proposal") if discarded else self.tr("&Discard"),
            ""
            if discarded
            else self.tr("Dismiss this proposal; it stays in the list, and you can apply it later"),
        )
        self.undo.setVisible(can_take_back or (run is not None and can_revert(run)))
        said, undo = "", self.tr("&Undo all")
        if choices is not None and can_apply:
            changed, known = choices.count_to_apply, choices.count_of_all
            self.apply_button.say(
                self.tr("A&pply {count} of {all}").format(count=changed, all=known),
                self.tr("Apply the checked changes; you can undo this"),
            )
            self.apply_button.setEnabled(changed > 0)
            if choices.blocked:
                said = counted(
                    "1 file cannot be changed.", "%n files cannot be changed.", len(choices.blocked)
                )
        elif choices is not None and can_take_back:
            count = choices.count_to_take_back
            if count:
                undo = self.tr("&Take back {count} of {all}").format(count=count, all=choices.count_standing)
        elif choices is not None and run is not None and (run.dry_run or run.outcome == "held"):
            said = (
                self.tr("These changes were already applied.")
                if run.applied_by
                else visible(choices.view.why_not)
            )
        self.undo.say(undo, self.tr("Later edits are kept; you can undo this"))
        self.undo.setEnabled(True)
        self.chosen.say(said)
        self.chosen.setVisible(bool(said))
        self._resolve()

    # Asking

    @Slot()
    def _ask_apply(self) -> None:
        self.detail.flush()
        if self._row is not None and self.choices is not None:
            self._begin(self.apply_button)
            self.apply.emit(self._row, self.choices.selection)

    @Slot()
    def _ask_undo(self) -> None:
        self._begin(self.undo)
        selection = self.choices.selection if self.choices is not None else ReviewSelection()
        self._ask_take_back(selection, all_if_none=True)

    @Slot(object)
    def _ask_take_back(self, selection: ReviewSelection, *, all_if_none: bool = False) -> None:
        """Request to undo the parts that are not in `selection`; find them in a job if the texts are long.

        If `selection` contains all parts, request to undo the whole change set with `all_if_none`, else do
        nothing.
        """

        def done(parts: Parts) -> None:
            if self._row is not None and (parts or all_if_none):
                self.take_back.emit(self._row, parts or None)

        choices = self.choices
        if choices is None:
            done({})
            return
        find = partial(to_take_back, choices.view.plan, selection, choices.view.taken_back)
        if choices.at_once:
            done(find())
        else:
            self._versions.reader.read("find what to undo", "parts", lambda _control: find(), done)

    @Slot()
    def _ask_discard(self) -> None:
        if self._row is not None and self._row.run is not None:
            self.discard.emit(self._row, not self._row.run.discarded)

    @Slot(str)
    def _ask_open(self, path: str) -> None:
        if self._row is not None:
            self.open_wanted.emit(self._row, path)

    def ended(self) -> None:
        """Enable the buttons again, because the requested action has ended or was refused."""
        self._say_chosen()

    def _begin(self, button: QPushButton) -> None:
        """Disable `button` until its action has ended, and move its focus to the tree.

        Otherwise Qt would move the focus to the next button, where the keys of the review do nothing and
        Space would press the button.
        """
        if button.hasFocus():
            self.tree.setFocus()
        button.setEnabled(False)


def _chosen_from(view: ReviewView) -> tuple[object, ...]:
    """Return the parts of a view to which the user's choices refer.

    If any of these parts changes, the choices are discarded.
    """
    return view.groups, view.can_apply, view.can_take_back, view.taken_back


class DeletedPane(QWidget):
    """The facts and the text of the selected deleted memories, with the buttons to restore them."""

    restore = Signal(object)
    """Emitted with the `TrashEntry` tuple to restore."""
    restore_as = Signal(object)
    """Emitted with the `TrashEntry` to restore under another name."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[TrashEntry, ...] = ()
        self.facts = WrapLabel()
        self.message = MessageBar(icons, "deleted-message")
        self.text = TextView()
        self.text.setAccessibleName(self.tr("Text of the deleted memory"))
        self.restore_button = FitPushButton(
            icon=icons.icon("undo"), clicked=lambda: self.restore.emit(self._entries)
        )
        self.restore_as_button = FitPushButton(clicked=lambda: self.restore_as.emit(self._entries[0]))
        row = FlowLayout(self.restore_button, self.restore_as_button)
        column(self, self.facts, self.text, row, grows=self.text, margin=0, gap=UNIT)
        Overlay(self.text, self.message)
        self.show_entries(())

    def show_entries(self, entries: Sequence[TrashEntry]) -> None:
        """Show the facts of the selected entries; the text of a single one is set later."""
        self._entries = tuple(entries)
        can = bool(entries) and all(entry.reachable for entry in entries)
        self.restore_button.setEnabled(can)
        self.restore_as_button.setEnabled(can and len(entries) == 1)
        many = counted("&Restore", "&Restore %n memories", len(entries)) if entries else ""
        tip = self.tr("Restore without overwriting anything")
        self.restore_button.say(many or self.tr("&Restore"), tip)
        self.restore_as_button.say(self.tr("Restore &as…"), self.tr("Restore the memory under another name"))
        self.facts.say(self._facts())
        self.text.show_bytes(None)

    def _facts(self) -> str:
        """Return the facts about the selected memories, and whether they can be restored in place."""
        entries = self._entries
        if len(entries) > 1:
            said = counted("1 memory is selected.", "%n memories are selected.", len(entries))
            beside = self.tr(
                "If another memory now has the same path, the deleted one is restored under a new name."
            )
            return f"{said} {beside}" if any(entry.taken for entry in entries) else said
        if not entries:
            return ""
        (entry,) = entries
        size = human_size(entry.size) if entry.size is not None else ""
        parts = (visible(entry.path), size, actor(entry.actor), when(entry.at_ms))
        facts = " · ".join(part for part in parts if part)
        if not entry.reachable:
            gone = self.tr(
                "Its project or workspace no longer exists, so the memory cannot be restored there. Copy "
                "its text instead."
            )
            return f"{facts}. {gone}"
        if entry.taken:
            beside = self.tr("Another memory now has this path, so this one is restored under a new name.")
            return f"{facts}. {beside}"
        return facts


class ChangesTab(TabPage):
    """The Changes tab: its columns, arranged for wide and narrow windows."""

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.changes = ChangeList(now)
        self.versions = VersionPane(lane, icons, now)
        self.files = ChangeSetPane(self.versions, icons)
        self.deleted = DeletedPane(icons)
        self.back = FitPushButton(self.tr("‹ &Back"), clicked=self._go_back)
        self._at = 0
        self._narrow = False
        self._is_sized = False
        roomy = scaled(self.font(), ROOMY)
        self.right = Panes(self.files, self.versions, beside_from=roomy, sizes=(1, 2), below=(2, 3))
        self._sides = stacked(self.right, self.deleted)
        self.splitter = split(self.changes, self._sides, sizes=(1, 3), grows=self._sides)
        column(self, FlowLayout(self.back), self.splitter, grows=self.splitter, margin=GAP, gap=0)
        self.back.hide()
        self.changes.entered.connect(self._on_row_entered)
        self.files.entered.connect(self._on_file_entered)
        self.changes.kind_changed.connect(self._follow)

    # Width

    @property
    def at(self) -> int:
        """The column shown in a narrow tab: 0 for the timeline, 1 for the files, 2 for the diff."""
        return self._at

    @property
    def is_narrow(self) -> bool:
        return self._narrow

    def go_to(self, column_: int) -> None:
        """Show the column number `column_` (see `at`), if the tab shows only one column at a time."""
        self._at = column_
        self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        self._narrow = width < scaled(self.font(), NARROW)
        self.right.turn(width)
        if not self._narrow and not self._is_sized:
            self._is_sized = True
            rows, files = (min(scaled(self.font(), each), width // 3) for each in (_ROWS, _FILES))
            self.splitter.setSizes([rows, width - rows])
            if width >= scaled(self.font(), ROOMY):
                self.right.setSizes([files, width - rows - files])
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Show or hide the columns, because the width of the tab or the filter has changed."""
        narrow, at = self._narrow, self._at
        self._sides.setCurrentWidget(self.deleted if self.changes.shows_deleted else self.right)
        self.changes.setVisible(not narrow or at == 0)
        self._sides.setVisible(not narrow or at > 0)
        self.files.setVisible(not narrow or at == 1)
        self.versions.setVisible(not narrow or at == 2)
        self.back.setVisible(narrow and at > 0)

    @Slot()
    def _on_row_entered(self) -> None:
        if self._narrow:
            self.go_to(1)
            (self.deleted.text if self.changes.shows_deleted else self.files.tree).setFocus()

    @Slot()
    def _on_file_entered(self) -> None:
        if self._narrow:
            self.go_to(2)

    @Slot()
    def _go_back(self) -> None:
        self.go_to(max(0, self._at - 1))
        (self.files.tree if self._at else self.changes.list).setFocus()
