"""The page "Worth a look" beside the trees, with findings in the shown memories, the most useful first.

A finding is something that a careful reader would notice, such as a contradiction or a near duplicate. The
page can show one kind only, such as duplicates. It shows both sides of a pair and can keep one or both,
merge, fix, or dismiss.

The engine checks when the page is shown, and again a moment after the memories or the repository have changed
while it is shown. Checking changes nothing; Undo restores a dismissed row.

Threading: GUI thread; the engine is called in jobs on a lane of their own. Failure: shown above the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.paths import ROOT
from reverie.ui.appearance import UNIT, monospace
from reverie.ui.display_text import (
    SHOWN_OF_LINE,
    as_tooltip,
    counted,
    said,
    tr,
    translatable,
    translated,
    visible,
)
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, single_shot
from reverie.ui.memory.edits import TakeBack
from reverie.ui.memory.merge_dialog import MergeMemoriesDialog
from reverie.ui.memory.shown_place import PlaceControl, ShownPlace
from reverie.ui.memory.side_by_side import AlignedRow, AlignedSide, SideBySide, aligned
from reverie.ui.memory.stale import claim_words, count_words, evidence_words
from reverie.ui.metrics import scaled
from reverie.ui.widgets.chips import FilterChips
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, row_of, split, stacked
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.messages import Overlay, Toast
from reverie.ui.widgets.pages import EmptyPage, TabPage
from reverie.ui.widgets.text_boxes import PlainTextBox

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.agents.scopes import ScopeContext
    from reverie.claims.checking import CheckedClaim
    from reverie.services.findings import FindingKind, FindingReport, MemoryFinding, Take
    from reverie.services.merges import FileToMerge
    from reverie.services.views import Undo
    from reverie.ui.memory.edits import Edits
    from reverie.ui.memory.stale import StaleControl
    from reverie.ui.session import HomeSession
    from reverie.ui.tree.model import MemoryTreeModel

Side = Literal["left", "right"]
Matter = tuple["MemoryFinding", ...]
"""A finding with the other findings that share a line with it, which the user decides together."""

# Two texts cannot be compared in a narrower page, so the trees shrink instead.
_NARROWEST = 320
_LOWEST_PAIR = 170
"""The minimum height of a pair, in pixels at the default font size."""
_QUIET_MS = 900
"""The delay before a check after a change, in milliseconds."""
_LONGEST = 160
"""The maximum number of characters of a line that a row shows."""
_LOWEST_DIFF = 96
"""The minimum height of a suggested change, in pixels at the default font size."""
_FOR_GIT = ("diff --git ", "deleted file mode ", "new file mode ")
_MOST_DIFF = 300
"""The maximum number of lines of a suggested change that are shown."""
_LONGEST_QUOTE = 300
"""The maximum number of characters of the line that is quoted above its memory."""
_KINDS: dict[str, str] = {
    "near-duplicate": translatable("Largely the same content"),
    "successor": translatable("Newer version"),
    "differing": translatable("Similar, but different"),
    "contradiction": translatable("Contradiction"),
    "superseded": translatable("Superseded"),
    "secret": translatable("Secret"),
    "instruction": translatable("Resembles an instruction to a model"),
    "hidden": translatable("Hidden characters"),
    "stale": translatable("No longer true"),
    "conflict": translatable("Unfinished merge"),
    "placeholder": translatable("Lost text"),
    "cut": translatable("Cut description"),
}

_FILTERS: Mapping[str, tuple[FindingKind, ...]] = {
    "all": (),
    "duplicates": ("near-duplicate", "successor", "differing"),
    "contradictions": ("contradiction", "superseded"),
    "stale": ("stale",),
    "warnings": ("secret", "instruction", "hidden", "conflict", "placeholder", "cut"),
}
"""The kinds of findings that each filter of the page shows; all kinds if a filter names none."""
_MOST_LOADED: Mapping[LoadState | str, int] = {"full": 0, "part": 1, "line": 2, "listed": 2}
"""The rank of a memory's stale statements, by how much of the memory the agent loads."""


def _filters() -> dict[str, tuple[str, str]]:
    """Return the name and the tool tip of each filter of the page."""
    return {
        "all": (tr("All"), tr("All findings")),
        "duplicates": (tr("Duplicates"), tr("Memories with the same or similar content")),
        "contradictions": (
            tr("Contradictions"),
            tr("Memories that contradict each other or have been superseded by a newer one"),
        ),
        "stale": (tr("Stale"), tr("Statements about the project that are no longer true")),
        "warnings": (tr("Warnings"), tr("Secrets, suspicious instructions, hidden or damaged text")),
    }


def kind_words(finding: MemoryFinding) -> str:
    """Return the name to show for the kind of a finding."""
    return translated(_KINDS[finding.kind])


def short_path(path: str) -> str:
    """Return the path of a memory without `/memories/`, or the file name of a companion."""
    return path.removeprefix(f"{ROOT}/") if path.startswith(f"{ROOT}/") else path.rpartition("/")[2]


class FindingModel(LineModel):
    """A list model with one row for each group of findings that the user decides together."""

    def look(self, value: Matter) -> TwoLines:
        first = value[0]
        if first.claim is not None:
            place = tr("{path}, line {line}").format(
                path=visible(short_path(first.claim.path)), line=f"{first.claim.line:,}"
            )
            below = " · ".join(filter(None, (place, evidence_words(first.claim))))
            return TwoLines(claim_words(first.claim), below, sign="warning", cut="end", cut_below="end")
        paths = dict.fromkeys(path for each in value for path in each.paths)
        names = " · ".join(visible(short_path(path)) for path in paths)
        lines = (visible(each.lstrip("-*+# >|").replace("**", ""))[:_LONGEST] for each in first.evidence)
        below = " ↔ ".join(dict.fromkeys(lines))
        kind = kind_words(first)
        if len(value) > 1:
            kind = f"{kind} ({counted('1 pair', '%n pairs', len(value))})"
        sign = "copy" if first.kind in _FILTERS["duplicates"] else "warning"
        return TwoLines(f"{kind}: {names}", below, sign=sign, cut="end", cut_below="end")

    def tooltip(self, value: Matter) -> str:
        first = value[0]
        if first.claim is not None:
            return as_tooltip(claim_words(first.claim), evidence_words(first.claim), first.claim.path)
        lines = zip(first.paths, first.lines, first.evidence, strict=False)
        said = (f"{path}:{line}  {text}" if line else f"{path}  {text}" for path, line, text in lines)
        return as_tooltip(kind_words(first), *said, *([first.why] if first.why else []))


def only_here(rows: Sequence[AlignedRow], side: Side) -> int:
    """Return the number of lines on `side` that the other side does not have, ignoring white space."""
    other = {_said(row.right if side == "left" else row.left) for row in rows}
    ours = (_said(row.left if side == "left" else row.right) for row in rows)
    return sum(1 for said in ours if said and said not in other)


def row_at(rows: Sequence[AlignedRow], lines: Sequence[int]) -> int | None:
    """Return the index of the row that has exactly these two line numbers; None if there is none."""
    numbers = (
        number for number, row in enumerate(rows) if (row.left.number, row.right.number) == tuple(lines)
    )
    return next(numbers, None)


def _said(side: AlignedSide) -> str:
    """Return the text of a line with each run of white space as one space, for comparisons."""
    return " ".join(side.text.split())


class SideHead(QWidget):
    """The heading of one side of a pair of memories: its path, the line, and a button to keep it.

    If one of the two memories can be deleted, the heading also shows how many lines only this memory has.
    """

    def __init__(self, words: str, tip: str) -> None:
        super().__init__()
        self.name = WrapLabel()
        embolden(self.name)
        self.line = WrapLabel()
        self.keep = FitPushButton(words, tip)
        below = row_of(self.keep)
        below.addStretch(1)
        column(self, self.name, self.line, below, margin=0, gap=UNIT).addStretch(1)

    def say(self, path: str, line: str, only_here: int | None) -> None:
        """Show the memory, its line, and the number of lines that only it has.

        `only_here` is None if both memories have to stay; the button to keep one is then hidden.
        """
        only = ""
        if only_here is not None:
            only = counted("1 line is only in this memory", "%n lines are only in this memory", only_here)
            only = only if only_here else self.tr("all lines are also in the other memory")
        self.name.say(" · ".join(part for part in (visible(short_path(path)), only) if part))
        self.line.say(visible(line.strip())[:_LONGEST_QUOTE])
        self.keep.setVisible(only_here is not None)


class Pair(QWidget):
    """The two memories of a finding, shown side by side."""

    keep_wanted = Signal(int)
    """Emitted with 0 to keep the left memory, 1 to keep the right one."""

    def __init__(self) -> None:
        super().__init__()
        self.finding: MemoryFinding | None = None
        """The finding that is shown, or was shown last."""
        tip = self.tr(
            "Keep this memory unchanged and delete the other memory; Undo restores the deleted memory"
        )
        self.left = SideHead(self.tr("Keep the &left"), tip)
        self.right = SideHead(self.tr("Keep the &right"), tip)
        self.sides = SideBySide()
        self._heads = QWidget()
        row = row_of(self.left, holder=self._heads, grows=self.left, gap=UNIT)
        row.addWidget(self.right, 1)
        column(self, self._heads, self.sides, grows=self.sides, margin=0, gap=UNIT)
        self._set_minimum()
        self.left.keep.clicked.connect(lambda: self.keep_wanted.emit(0))
        self.right.keep.clicked.connect(lambda: self.keep_wanted.emit(1))

    def show_pair(self, finding: MemoryFinding, rows: tuple[AlignedRow, ...]) -> None:
        """Show the two memories of `finding`, scrolled to the lines that it is about."""
        self.finding = finding
        self.sides.show_rows(rows, row_at(rows, finding.lines))
        sides = zip(finding.paths, finding.evidence, get_args(Side), strict=True)
        for head, (path, line, side) in zip((self.left, self.right), sides, strict=True):
            head.say(path, line, only_here(rows, side) if _may_keep_one(finding) else None)
        self._set_minimum()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_minimum()

    def _set_minimum(self) -> None:
        """Set the minimum height so that no line of the two headings is cut off at the present width.

        Not a `Column`: it asks for a new layout at each change of its width, and in a page that scrolls this
        does not end, because the scroll bar comes and goes.
        """
        needed = self._heads.heightForWidth(self.width()) + UNIT + self.sides.minimumSizeHint().height()
        self.setMinimumHeight(max(scaled(self.font(), _LOWEST_PAIR), needed))


class WorthPage(TabPage):
    """The page with the list of findings, and both sides of one pair of the selected row."""

    open_wanted = Signal(str, int)
    """Emitted with path and line, from 1, of a memory to open in the editor."""
    keep_wanted = Signal(object, int)
    """Emitted with a finding and the index of the one of its two memories to keep."""
    merge_wanted = Signal(object)
    """Emitted with the paths of the memories that the user wants to merge; the one to keep is first."""
    fix_wanted = Signal(object)
    """Emitted with the stale statements that the user wants to fix."""
    dismiss_wanted = Signal(object)
    """Emitted with the findings that the user dismisses."""
    compare_wanted = Signal(object)
    """Emitted with a finding of two memories, to be answered with `show_sides`."""
    apply_wanted = Signal(object)
    """Emitted with the finding of which the user wants to apply the suggestion."""

    def __init__(self, icons: Icons, model: MemoryTreeModel, parent: QWidget | None = None) -> None:
        """Create the page; `model` knows how much of each memory the agent loads."""
        super().__init__(parent)
        self._loaded_at = model.loaded_at
        self.setAccessibleName(self.tr("Worth a look"))
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.note = WrapLabel()
        self.again = FitPushButton(self.tr("&Show again"), self.tr("Show all dismissed findings again"))
        self.chips = FilterChips(self.tr("Kinds of findings to show"), _filters(), margin=0)
        self.list = LineList(FindingModel(), icons, self.tr("Findings worth a look"))
        self.pair = Pair()
        self.why = WrapLabel()
        self.diff = PlainTextBox()
        self.diff.setReadOnly(True)
        self.diff.setFont(monospace())
        self.diff.setAccessibleName(self.tr("Suggested change"))
        self.diff.setMinimumHeight(scaled(self.font(), _LOWEST_DIFF))
        self.diff.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.apply = FitPushButton(
            self.tr("&Apply suggestion"), self.tr("Apply the suggested change (A); you can undo this")
        )
        # A shortcut, because a list takes every letter as the beginning of a row to find.
        key = QShortcut(
            QKeySequence(Qt.Key.Key_A), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut
        )
        key.setAutoRepeat(False)
        key.activated.connect(self.apply.click)
        self.open = FitPushButton(self.tr("&Open"), self.tr("Show the line in the editor"))
        self.open_other = FitPushButton(
            self.tr("Open the o&ther"), self.tr("Show the line in the other memory")
        )
        self.next = FitPushButton()
        self._at = 0
        self._report: FindingReport | None = None
        self.merge = FitPushButton(self.tr("&Merge…"), self.tr("Merge the memories into one by hand"))
        self.fix = FitPushButton(self.tr("&Fix"), self.tr("Replace the outdated part of this statement"))
        self.fix_all = FitPushButton(
            self.tr("Fix &all"), self.tr("Update all outdated statements whose current value is known")
        )
        self.both = FitPushButton(
            self.tr("Keep &both"), self.tr("Leave both memories unchanged and do not show this pair again")
        )
        self.dismiss = FitPushButton(self.tr("&Dismiss"), self.tr("Do not show this finding again"))
        self._decisions = (self.apply, self.pair.left.keep, self.pair.right.keep, self.both, self.dismiss)
        self._pause = single_shot(self, QApplication.doubleClickInterval(), self._follow)
        self.chips.chosen.connect(self._fill)
        model.loaded_changed.connect(self._fill)
        self.list.opened.connect(self._on_open)
        self.list.picked.connect(self._on_picked)
        for button, slot in (
            (self.apply, self._on_apply),
            (self.open, self._on_open),
            (self.open_other, self._on_open_other),
            (self.merge, self._on_merge),
            (self.fix, self._on_fix),
            (self.fix_all, self._on_fix_all),
            (self.next, self._on_next),
            (self.both, self._on_both),
            (self.dismiss, self._on_dismiss),
        ):
            button.clicked.connect(slot)
        self.pair.keep_wanted.connect(self._on_keep)
        looks = (self.next, self.apply, self.open, self.open_other)
        row = FlowLayout(*looks, self.merge, self.fix, self.fix_all, self.both, self.dismiss)
        below = split(self.diff, self.pair, sizes=(_LOWEST_DIFF, 340), upright=True, grows=self.pair)
        parts = split(self.list, below, sizes=(140, 340), upright=True, grows=below)
        # The parts shrink with the page, which scrolls only if not even their least sizes fit.
        parts.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.none = EmptyPage(icons, "check")
        self.none.say("", self.tr("The memories are checked again whenever one of them changes."))
        self._pages = stacked(parts, self.none)
        self.message = Toast(icons, "trouble")
        foot = FlowLayout(self.note, self.again)
        column(self, self.title, self.chips, self.why, row, self._pages, foot, grows=self._pages)
        Overlay(self._pages, self.message)
        self.setMinimumWidth(scaled(self.font(), _NARROWEST))
        self.show_report(None)

    @property
    def matter(self) -> Matter:
        """The findings of the selected row, which are decided together; empty if no row is selected."""
        return self.list.current_value or ()

    @property
    def current(self) -> MemoryFinding | None:
        """The finding of the selected row that is shown; None if no row is selected."""
        return self.matter[self._at] if self._at < len(self.matter) else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and not event.isAutoRepeat():
            self._on_dismiss()
        else:
            super().keyPressEvent(event)

    def show_kind(self, kind: str) -> None:
        """Show only the findings of a filter, such as "duplicates"; "all" for all of them."""
        self.chips.choose(kind)
        self._fill()

    def show_report(self, report: FindingReport | None) -> None:
        """List the findings of a report; None means that there is no report yet."""
        self._report = report
        self._fill()
        if report is None:
            self.title.say(self.tr("Searching…"))

    @Slot()
    def _fill(self) -> None:
        """List the findings of the chosen filter.

        If the selected matter still exists, the finding that is shown stays or, if it is gone, the next one
        is shown.
        """
        report, chosen = self._report, self.chips.current
        matters = report.matters(_FILTERS[chosen]) if report is not None else []
        if chosen == "stale":
            matters.sort(key=lambda matter: _MOST_LOADED.get(self._loaded_at(matter[0].paths[0]), 3))
        if matters and chosen == "stale":
            self.title.say(count_words(_claims_in(matters)))
        elif matters:
            self.title.say(counted("1 thing worth a look", "%n things worth a look", len(matters)))
        elif report is not None and chosen == "all":
            self.title.say(self.tr("Nothing needs your attention"))
        elif report is not None:
            self.title.say(
                counted("Checked 1 memory: nothing found", "Checked %n memories: nothing found", report.notes)
            )
        self.chips.say(
            {key: len(report.matters(kinds)) for key, kinds in _FILTERS.items()} if report is not None else {}
        )
        hidden = report.dismissed if report is not None else 0
        notes = [*report.limits] if report is not None and chosen == "stale" else []
        if hidden:
            notes.append(counted("1 dismissed finding is hidden", "%n dismissed findings are hidden", hidden))
        self.note.say(visible(" ".join(notes)))
        self.note.setVisible(bool(notes))
        self.again.setVisible(bool(hidden))
        was, known = self.current, {each.id for each in self.matter}
        self._pages.setCurrentIndex(int(report is not None and not matters))
        # Two lines of a memory can have the same stale statement.
        self.list.set_values((f"{m[0].matter} {m[0].lines if m[0].claim else ''}", m) for m in matters)
        if matters and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.list.rows.index(0, 0))
        ids = [each.id for each in self.matter]
        if was is None or known.isdisjoint(ids):
            self._at = 0
        elif was.id in ids:
            self._at = ids.index(was.id)
        else:
            self._at = min(self._at, len(ids) - 1)
        self._follow()

    def show_sides(self, finding: MemoryFinding, rows: tuple[AlignedRow, ...]) -> None:
        """Show both memories of `finding` if it is still the selected one; without rows, hide the pair."""
        if finding != self.current:
            return
        self.pair.setVisible(bool(rows))
        if rows:
            self.pair.show_pair(finding, rows)

    @Slot()
    def _on_picked(self) -> None:
        self._at = 0
        self._follow()

    @Slot()
    def _on_next(self) -> None:
        self._at = (self._at + 1) % len(self.matter)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Update texts and buttons for the finding that is shown, and request its comparison."""
        current, several = self.current, len(self.matter)
        label = self.tr("&Next pair ({number} of {count})").format(number=self._at + 1, count=several)
        self.next.say(label, self.tr("Show the next pair of lines on the same topic"))
        self.next.setVisible(several > 1)
        why = current.why if current is not None else ""
        reasons = [self.tr("Reason given by the model: {why}").format(why=visible(why))] if why else []
        suggestion = current.suggestion if current is not None else None
        if suggestion is not None:
            reasons.append(self.tr("Suggestion: {why}").format(why=visible(said(suggestion.why))))
            if suggestion.tokens:
                tokens = counted(
                    "This saves 1 token per session.", "This saves %n tokens per session.", suggestion.tokens
                )
                reasons.append(tokens)
        self.why.say(" ".join(reasons))
        self.why.setVisible(bool(reasons))
        self._show_diff(suggestion.diff if suggestion is not None else "")
        self.apply.setVisible(suggestion is not None and (current is None or current.claim is None))
        are_two = current is not None and len(current.paths) == 2
        may_keep_one = current is not None and _may_keep_one(current)
        self.open.setVisible(current is not None)
        self.open_other.setVisible(are_two)
        self.merge.setVisible(may_keep_one)
        claim = current.claim if current is not None else None
        self.fix.setVisible(claim is not None)
        self.fix.setEnabled(claim is not None and bool(claim.replacement))
        self.fix_all.setVisible(current is not None and self.chips.current == "stale")
        self.fix_all.setEnabled(any(each.replacement for each in _claims_in(self.list.values)))
        self.both.setVisible(may_keep_one)
        self.dismiss.setVisible(current is not None and not may_keep_one)
        for button in self._decisions:
            button.setEnabled(current is not None and not self._pause.isActive())
        if current is None or current != self.pair.finding:
            # The buttons of the pair must not act on another finding than the visible one.
            self.pair.hide()
        if current is not None and are_two:
            self.compare_wanted.emit(current)

    def _show_diff(self, diff: str) -> None:
        """Show the first lines of a diff, without the lines for git; hide the box if the diff is empty."""
        *lines, rest = (diff.rstrip("\n") + "\n").split("\n", _MOST_DIFF)
        shown = "\n".join(visible(line[:SHOWN_OF_LINE]) for line in lines if not line.startswith(_FOR_GIT))
        if more := rest.count("\n"):
            shown += "\n" + counted("… 1 more line", "… %n more lines", more)
        if shown != self.diff.content:
            self.diff.setPlainText(shown)
        self.diff.setVisible(bool(diff))

    @Slot()
    def _on_apply(self) -> None:
        if self.apply.isVisible() and self.current is not None:
            self.apply_wanted.emit(self.current)
            self._decided()

    def _decided(self) -> None:
        """Disable the buttons for a moment, so that the second click of a double click decides nothing."""
        self._pause.start()
        self._follow()

    @Slot(int)
    def _on_keep(self, number: int) -> None:
        if self.current is not None:
            self.keep_wanted.emit(self.current, number)
            self._decided()

    @Slot()
    def _on_open(self) -> None:
        if self.current is not None:
            self.open_wanted.emit(self.current.paths[0], self.current.lines[0])

    @Slot()
    def _on_open_other(self) -> None:
        if self.current is not None:
            self.open_wanted.emit(self.current.paths[-1], self.current.lines[-1])

    @Slot()
    def _on_merge(self) -> None:
        """Ask to merge the memories of the finding and, if they have the same content, their other copies."""
        current = self.current
        if current is None:
            return
        same = ("near-duplicate", "successor")
        copies = self.matter if current.kind in same else ()
        pairs = (current, *(each for each in copies if each.kind in same and _may_keep_one(each)))
        # The second memory of a pair is the newer one: it stays, and the older one is merged into it.
        self.merge_wanted.emit(tuple(dict.fromkeys(path for each in pairs for path in each.paths[::-1])))

    @Slot()
    def _on_fix(self) -> None:
        self.fix_wanted.emit(_claims_in([self.matter]))

    @Slot()
    def _on_fix_all(self) -> None:
        self.fix_wanted.emit(tuple(each for each in _claims_in(self.list.values) if each.replacement))

    @Slot()
    def _on_both(self) -> None:
        if self.current is not None:
            self.dismiss_wanted.emit((self.current,))
            self._decided()

    @Slot()
    def _on_dismiss(self) -> None:
        if self.matter:
            self.dismiss_wanted.emit(self.matter)
            self._decided()


def _claims_in(matters: Iterable[Matter]) -> tuple[CheckedClaim, ...]:
    """Return the stale statements that these matters are about."""
    return tuple(each.claim for matter in matters for each in matter if each.claim is not None)


def _may_keep_one(finding: MemoryFinding) -> bool:
    """Return True if the finding is about two memories of the store that have much content in common."""
    alike = finding.kind in ("near-duplicate", "successor", "differing")
    return alike and len(finding.paths) == 2 and all(path.startswith(f"{ROOT}/") for path in finding.paths)


class WorthControl(PlaceControl):
    """The controller of the page: it has findings checked while the page is shown, and makes changes.

    The changes are those that the user decides on the page.
    """

    changed = Signal()
    """Emitted after memories were merged or deleted, or another filter was chosen."""
    decided = Signal(object, str)
    """Emitted with `Undo` and a sentence after a change, if the page is hidden and cannot report it."""
    open_wanted = Signal(str, int)
    """Emitted with path and line, from 1, of a memory to open in the editor."""
    page_wanted = Signal(object)
    """Emitted with the page when it is to be shown; with None to show the editor again."""

    def __init__(
        self,
        shown: ShownPlace,
        edits: Edits,
        stale: StaleControl,
        model: MemoryTreeModel,
        icons: Icons,
        parent: QWidget,
    ) -> None:
        super().__init__(shown, "worth a look", _QUIET_MS, parent)
        self._edits = edits
        self._owner = parent
        self.dialog: MergeMemoriesDialog | None = None
        """The dialog for merging memories; None if it is closed."""
        self._stale = stale
        self._model = model
        self._icons = icons
        self._page: WorthPage | None = None
        self._back: TakeBack | None = None
        self._place: tuple[HomeSession, ScopeContext] | None = None
        """The home and context of the shown findings, in which decisions about them are carried out."""
        self._dismissed: tuple[str, ...] = ()

    @property
    def page(self) -> WorthPage:
        """The page, created on first use."""
        if self._page is None:
            self._page = WorthPage(self._icons, self._model)
            self._page.shown.connect(self._look)
            self._page.chips.chosen.connect(self.changed)
            self._page.open_wanted.connect(self._open)
            self._page.apply_wanted.connect(self._apply)
            self._page.keep_wanted.connect(self._keep)
            self._page.merge_wanted.connect(self._merge)
            self._page.fix_wanted.connect(self._stale.fix)
            self._page.dismiss_wanted.connect(self._dismiss)
            self._page.again.clicked.connect(self._restore_all)
            self._page.compare_wanted.connect(self._compare)
            self._page.message.chosen.connect(self._on_undo)
            self._back = TakeBack(self._page.message, self._edits)
        return self._page

    @property
    def is_page_shown(self) -> bool:
        return self._page is not None and self._page.isVisible()

    @property
    def is_stale_shown(self) -> bool:
        """True if the page is shown with the stale statements only."""
        return self.is_page_shown and self.page.chips.current == "stale"

    def leave_home(self) -> None:
        """Clear the findings and close the dialog, because another home is shown."""
        if self.dialog is not None:
            self.dialog.reject()
        self.forget()

    def forget(self) -> None:
        super().forget()
        self._place = None
        if self._page is not None and self._back is not None:
            self._back.forget()
            self._page.message.clear()
            self._page.show_report(None)

    @Slot()
    def toggle_page(self) -> None:
        """Show the page beside the trees or, if it is shown, the editor."""
        if self.is_page_shown:
            self._close()
        else:
            self.show_page()

    @Slot()
    def toggle_stale(self) -> None:
        """Show the page with the stale statements only or, if it shows them, the editor."""
        if self.is_stale_shown:
            self._close()
        else:
            self.show_page("stale")

    @Slot()
    def show_duplicates(self) -> None:
        """Show the page with the duplicates only."""
        self.show_page("duplicates")

    def show_page(self, kind: str = "all") -> None:
        """Show the findings of a filter beside the trees and focus their list; this also starts a check."""
        self.page.show_kind(kind)
        self.page_wanted.emit(self.page)
        self.page.list.setFocus()

    @Slot()
    def _close(self) -> None:
        self.page_wanted.emit(None)

    @Slot()
    def look_soon(self) -> None:
        if self.is_page_shown:
            super().look_soon()

    @Slot()
    def _look(self) -> None:
        """Start a job that checks the memories that are shown, and list its findings."""
        if self._shown.place is None:
            return
        session, update = self._shown.place
        place = session, update.context

        def done(report: FindingReport) -> None:
            self._place = place
            self.page.show_report(report)

        def failed(error: UserError) -> None:
            if self._place is None:
                self.page.title.say(self.tr("Not checked yet"))
            self.page.message.say_error(error)

        request = ask(session.workbench.worth_a_look.find, update.context)
        self._lane.submit("look at the memories", request, done=done, failed=failed, group=self._lane.name)

    def _open(self, path: str, line: int) -> None:
        self.page_wanted.emit(None)
        self.open_wanted.emit(path, line)

    def _compare(self, finding: MemoryFinding) -> None:
        """Compare the two memories of a finding in a job, and show them."""
        if self._place is None:
            return
        session, context = self._place
        workbench = session.workbench

        async def work(control: JobControl) -> tuple[AlignedRow, ...]:
            if all(path.startswith(ROOT) for path in finding.paths):
                files = await ask(workbench.merges.files, context, finding.paths)
                left, right = await ask(workbench.merges.texts, files)
            else:
                left, right = await ask(workbench.worth_a_look.texts, context, finding.paths)
            return aligned(left, right, control.check, at=(finding.lines[0], finding.lines[-1]))

        def show(rows: tuple[AlignedRow, ...]) -> None:
            self.page.show_sides(finding, rows)

        def failed(_error: UserError) -> None:
            # The memories changed meanwhile; the next check reports that.
            show(())

        self._lane.submit("compare two memories", work, done=show, failed=failed, group="compare")

    def _apply(self, finding: MemoryFinding) -> None:
        """Apply the suggestion of a finding as a run, and offer Undo."""
        if finding.suggestion is not None:
            why = visible(said(finding.suggestion.why))
            sentence = self.tr("Applied the suggested change. {why}").format(why=why)
            self._decide(finding, "suggestion", sentence)

    def _keep(self, finding: MemoryFinding, number: int) -> None:
        """Keep one memory of a finding and delete the other, if both are those of the finding.

        `number`: 0 for the first, 1 for the second memory.
        """
        stays, goes = finding.paths if number == 0 else finding.paths[::-1]
        sentence = self.tr("Kept {path} and deleted {other}.").format(
            path=visible(short_path(stays)), other=visible(short_path(goes))
        )
        self._decide(finding, "left" if number == 0 else "right", sentence)

    def _decide(self, finding: MemoryFinding, take: Take, sentence: str) -> None:
        """Carry out a decision as a run, and report it with `sentence`."""
        if self._place is None:
            return
        session, context = self._place
        self._edits.apply(
            session,
            "decide about a finding",
            ask(session.workbench.worth_a_look.decide, context, finding.id, take, finding.state),
            lambda undo: self._offer(session, undo, sentence),
            self.page.message.say_error,
        )

    def _offer(self, session: HomeSession, undo: Undo, said: str) -> None:
        """Show the sentence `said` with a button for `undo`, if the home of `session` is still shown."""
        self.changed.emit()
        if session is not self._shown.session:
            return
        if self.is_page_shown and self._back is not None:
            self._back.offer(undo, said)
        else:
            self.decided.emit(undo, said)

    def _merge(self, paths: tuple[str, ...]) -> None:
        """Open the dialog to merge the memories at these paths."""
        if self._place is None:
            return
        session, context = self._place

        def merge(files: tuple[FileToMerge, ...]) -> None:
            if session is self._shown.session:
                self.merge_by_hand(files)

        request = ask(session.workbench.merges.files, context, paths)
        self._lane.submit("merge memories", request, done=merge, failed=self.page.message.say_error)

    def merge_by_hand(self, files: tuple[FileToMerge, ...]) -> None:
        """Open the dialog to merge `files` into the first one, and merge them when the user confirms."""
        session = self._shown.session
        if session is None:
            return
        dialog = MergeMemoriesDialog(self._lane, session.workbench, files, self._icons, self._owner)

        def merge(chosen: tuple[FileToMerge, ...], content: str) -> None:
            request = ask(session.workbench.merges.merge, chosen, content)
            self._edits.apply(session, "merge memories", request, merged, failed)

        def merged(undo: Undo) -> None:
            if self.dialog is dialog:
                dialog.accept()
            said = counted(
                "Memories merged; 1 redundant memory was deleted.",
                "Memories merged; %n redundant memories were deleted.",
                len(undo.removed),
            )
            self._offer(session, undo, said)

        def failed(error: UserError) -> None:
            if self.dialog is dialog:
                dialog.message.say_error(error)

        dialog.merge.connect(merge)
        dialog.finished.connect(self._on_dialog_gone)
        self.dialog = dialog
        dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    def _dismiss(self, findings: Matter) -> None:
        """Dismiss findings, and offer Undo."""
        if self._place is None:
            return
        place = self._place
        self._dismissed = tuple(each.id for each in findings)

        def done(_nothing: None) -> None:
            if place == self._place:
                button = ("restore", tr("Undo"), tr("Show the finding again"))
                self.page.message.say(self.tr("This finding will not be shown again."), buttons=[button])
                self._look()

        request = ask(place[0].workbench.worth_a_look.dismiss, self._dismissed)
        self._lane.submit("dismiss", request, done=done, failed=self.page.message.say_error)

    @Slot(str)
    def _on_undo(self, key: str) -> None:
        if key == "restore":
            self._restore(self._dismissed)

    @Slot()
    def _restore_all(self) -> None:
        self._restore(())

    def _restore(self, ids: tuple[str, ...]) -> None:
        """Show these dismissed findings again; without `ids`, all of them."""
        self.page.message.clear()
        if self._place is not None:
            request = ask(self._place[0].workbench.worth_a_look.restore, ids)
            self._lane.submit(
                "restore", request, done=lambda _done: self._look(), failed=self.page.message.say_error
            )
