"""Lint findings of the memories in the trees, and the checks of an index with their fixes.

Both are listed under the heading of the editor. `LintControl` checks the memories that are shown a moment
after each change, on a thread of its own, and marks rows of the tree. `IndexControl` checks an open index,
fixes it, and plans renames that keep links valid; its changes go through `Edits`, so that Undo works. The
views update through the watcher.

Threading: GUI thread; checks are jobs. Failure: shown as a notice of the session, or in the bar under the
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from reverie.agents.memory_index import (
    INDEX,
    MOST_CHARS,
    MOST_LINES,
    RECOMMENDED_CHARS,
    IndexFinding,
    IndexReport,
    can_fix,
    cut_of,
)
from reverie.agents.scopes import Scope, ScopeContext
from reverie.engine.asking import ask
from reverie.memory.listing import MemoryFile, is_over_cap, with_reason
from reverie.memory.paths import ROOT
from reverie.ui.appearance import GAP, UNIT, monospace, theme_of
from reverie.ui.display_text import as_tooltip, counted, things, tr, visible
from reverie.ui.editor.control import EditorControl
from reverie.ui.editor.pane import EditorPane
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.memory.edits import Edits
from reverie.ui.memory.shown_place import PlaceControl, ShownPlace
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.findings import headline, is_marked
from reverie.ui.tree.model import MemoryTreeModel
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FewRows, FlowLayout, column, pane, row_of

if TYPE_CHECKING:
    from reverie.memory.listing import LintFinding
    from reverie.services.memory_index import IndexCheck, IndexPlan
    from reverie.services.views import LintResult, Undo
    from reverie.ui.editor.documents import OpenFile


_ROWS = 4


class _FoldingList(QWidget):
    """A short list under the heading of the editor, with a button that folds it.

    A subclass puts `toggle` and `body`, which contains the list and is hidden when folded, into its layout.
    """

    def __init__(self, icons: Icons, most_rows: int, name: str, tip: str) -> None:
        super().__init__()
        self._icons = icons
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.toggle = QToolButton()
        self.toggle.setAutoRaise(True)
        self.toggle.setToolTip(tip)
        self.toggle.clicked.connect(lambda: self._fold(self.body.isHidden()))
        self.list = FewRows(most_rows)
        self.list.setAccessibleName(name)
        self.body: QWidget = self.list
        self.hide()

    def _list(self, rows: Iterable[tuple[str, str]], *, there: bool) -> None:
        """Replace the rows, each a text and its severity; hide the whole list unless there is something."""
        theme = theme_of(self.palette())
        looks = {
            "error": ("error", theme.bad_text),
            "warning": ("warning", theme.warn_text),
            "note": ("info", theme.dim),
        }
        self.setVisible(there and self.parentWidget() is not None)
        self.list.clear()
        for text, severity in rows:
            item = QListWidgetItem(self._icons.icon(*looks[severity]), text, self.list)
            item.setToolTip(as_tooltip(text))
        self.list.updateGeometry()
        self.updateGeometry()

    def _fold(self, is_open: bool) -> None:
        self.toggle.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        self.body.setVisible(is_open)


class FindingsList(_FoldingList):
    """A short list of the findings in the open memory, under the heading of the editor.

    A row names the finding and its line. The list is hidden if there are no findings, and folded to its
    one-line heading if all findings are notes. The findings are about the version on disk.
    """

    jump = Signal(int)
    """Emitted with the line, counted from 1, of the finding that the user activates."""

    def __init__(self, icons: Icons) -> None:
        tip = tr("Show or hide the warnings for this memory")
        super().__init__(icons, _ROWS, tr("Warnings for this memory"), tip)
        self.findings: tuple[LintFinding, ...] = ()
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.toggle.setAccessibleName(self.tr("No warnings"))
        self.list.itemActivated.connect(self._on_activated)
        self.list.itemClicked.connect(self._on_activated)
        column(self, self.toggle, self.list, margin=(GAP, 0, GAP, 0), gap=UNIT)
        self._fold(False)

    def show_findings(self, findings: Sequence[LintFinding]) -> None:
        """List the findings of the memory that is shown; hide the list if there are none."""
        if tuple(findings) == self.findings:
            return
        was_marked = is_marked(self.findings)
        self.findings = tuple(findings)
        rows = ((headline(finding), finding.severity) for finding in findings)
        self._list(rows, there=bool(findings))
        text = counted(self.tr("1 warning"), "%n warnings", len(findings))
        self.toggle.setText(text)
        self.toggle.setAccessibleName(text)
        if is_marked(findings) != was_marked:
            self._fold(is_marked(findings))

    @Slot(QListWidgetItem)
    def _on_activated(self, item: QListWidgetItem) -> None:
        self.jump.emit(max(1, self.findings[self.list.row(item)].line))


QUIET_MS = 400


class LintControl(PlaceControl):
    """The controller of the lint findings (problems in memories) of the shown home.

    It marks rows of the trees and fills the widget `findings`, which the owner puts into the editor. Call
    `forget` when another home is shown, and `follow` when its trees change.
    """

    def __init__(
        self,
        shown: ShownPlace,
        model: MemoryTreeModel,
        editor: EditorControl,
        pane: EditorPane,
        icons: Icons,
        parent: QObject,
    ) -> None:
        super().__init__(shown, "lint", QUIET_MS, parent)
        self._model = model
        self._pane = pane
        self.findings = FindingsList(icons)
        self._dirty: set[Path] = set()
        self._known: dict[str, tuple[LintFinding, ...]] = {}
        self._more: Mapping[str, tuple[LintFinding, ...]] = {}
        self._is_known = False
        self.complete = False
        editor.state_changed.connect(self._show)
        editor.was_read.connect(self._show)
        self.findings.jump.connect(self._jump)

    def forget(self) -> None:
        super().forget()
        self._dirty.clear()
        self._set_known({}, is_known=False)
        self.complete = False

    def follow(self, update: TreeUpdate) -> None:
        super().follow(update)
        if not update.names_only:
            self._dirty |= update.changes.paths if update.changes is not None else set()
            self.complete = False

    def add(self, findings: Mapping[str, tuple[LintFinding, ...]]) -> None:
        """Show `findings` of another check in addition; they replace those of the previous call."""
        if findings != self._more:
            self._more = findings
            self._mark()

    @Slot()
    def _look(self) -> None:
        """Check the changed memories in a job."""
        place = self._shown.place
        if place is None:
            return
        session, update = place
        dirty, self._dirty = frozenset(self._dirty), set()
        self._lane.submit(
            "check the memories",
            ask(session.workbench.findings, update.view.context, dirty),
            done=self._on_looked,
            failed=lambda error: session.notified.emit(str(error)),
            cancelled=lambda: self._dirty.update(dirty),  # these files have not been checked
            group="lint",
        )

    def _on_looked(self, look: LintResult) -> None:
        self._set_known(dict(look.findings), is_known=True)
        if self._quiet.isActive():
            return
        self.complete = look.complete
        if not look.complete:
            self._look()

    def _set_known(self, findings: dict[str, tuple[LintFinding, ...]], *, is_known: bool) -> None:
        """Store the findings of a check, by path; `is_known`: whether a check has finished."""
        self._known, self._is_known = findings, is_known
        self._mark()

    def _mark(self) -> None:
        """Mark the rows of the trees, and list the findings of the open memory."""
        both = {path: self._of(path) for path in self._known.keys() | self._more.keys()}
        self._model.set_lint(both if self._is_known or both else None)
        self._show()

    def _of(self, path: str) -> tuple[LintFinding, ...]:
        """Return the findings of the memory at `path` from all checks."""
        return (*self._known.get(path, ()), *self._more.get(path, ()))

    @Slot()
    def _show(self) -> None:
        """Show the findings of the open memory and, if the memory exceeds a limit, the reason."""
        file, session = self._pane.file, self._shown.session
        here = file is not None and session is not None and file.buffer.ref.home == session.info.id
        path = file.buffer.address.path if file is not None and here else ""
        findings, listed = self._of(path), self._listed(path)
        if listed is not None and is_over_cap(listed.unseen_reason):
            findings = with_reason(findings, listed.unseen_reason)
        self.findings.show_findings(findings)

    def _listed(self, path: str) -> MemoryFile | None:
        """Return the entry of the memory at `path` in the trees; None if it is not listed."""
        scopes = self._shown.update.view.scopes if self._shown.update is not None else {}
        for scope, listing in scopes.items():
            if path.startswith(f"{ROOT}/{scope}/"):
                return listing.file(path.removeprefix(f"{ROOT}/{scope}/"))
        return None

    @Slot(int)
    def _jump(self, line: int) -> None:
        """Select a line of the editor, counted from 1."""
        self._pane.text.go_to_line(line, select=True)
        self._pane.text.setFocus()


_INDEX_ROWS = 5


class IndexPanel(_FoldingList):
    """A panel under the heading of the editor with the problems of an index, and a button that fixes them.

    An index is a file with one line for each memory of a folder. The panel also shows how much of the index
    the agent loads. A problem that can be fixed has a box; the button fixes those whose box is checked. Two
    kinds of boxes are not checked at first: a line that is moved up displaces another one from the part that
    is loaded, and a line of prose that is removed may say more than that there is a memory. The panel is
    hidden if there are no problems.
    """

    fix_wanted = Signal(object)
    """Emitted with the `IndexFinding`s whose boxes are checked when the user clicks the button."""
    place_wanted = Signal()
    """Emitted when the user wants to see the line or memory of the selected finding."""

    def __init__(self, icons: Icons) -> None:
        super().__init__(icons, _INDEX_ROWS, tr("Problems"), tr("Show or hide the problems in this index"))
        self.look: IndexCheck | None = None
        """The result of the check that is shown; None if there is none."""
        self._findings: tuple[IndexFinding, ...] = ()
        self._may_fix = True
        self.toggle.setAccessibleName(self.tr("Index check"))
        self.summary = WrapLabel()
        self.fix = FitPushButton(clicked=lambda: self.fix_wanted.emit(self.checked))
        self.go = FitPushButton(self.tr("Sho&w"), self.tr("Go to the line, or open the memory"))
        self.go.clicked.connect(self.place_wanted)
        self.list.currentRowChanged.connect(self._on_row)
        self.list.itemActivated.connect(self.place_wanted)
        self.list.itemChanged.connect(self._on_row)
        self.body = pane(self.list, FlowLayout(self.fix, self.go))
        head = row_of(self.toggle, self.summary, grows=self.summary, gap=UNIT)
        head.setAlignment(self.toggle, Qt.AlignmentFlag.AlignTop)
        column(self, head, self.body, margin=(GAP, 0, GAP, UNIT), gap=UNIT)
        self._fold(True)
        self._on_row()  # the button has a name before it is shown, too

    @property
    def current(self) -> IndexFinding | None:
        """The selected finding."""
        row = self.list.currentRow()
        return self._findings[row] if 0 <= row < len(self._findings) else None

    @property
    def checked(self) -> tuple[IndexFinding, ...]:
        """The findings whose boxes are checked."""
        rows = enumerate(self._findings)
        return tuple(each for row, each in rows if self.list.item(row).checkState() is Qt.CheckState.Checked)

    def show_look(self, look: IndexCheck | None) -> None:
        """Show the result of a check; None, or no problems, hides the panel.

        A problem that was listed before keeps the state of its box.
        """
        before, self.look = self.look, look
        if look is not None and before is not None and look.report == before.report:
            return
        row = self.list.currentRow() if look is not None and before is not None else -1
        was_checked = dict.fromkeys(map(_topic_of, self._findings), False)
        was_checked |= dict.fromkeys(map(_topic_of, self.checked), True)
        self._findings = _in_order(look) if look is not None else ()
        rows = ((sentence(each), "warning" if each.problem in GRAVE else "note") for each in self._findings)
        with QSignalBlocker(self.list):
            self._list(rows, there=look is not None and bool(look.report.findings))
            for number, finding in enumerate(self._findings):
                if can_fix(finding):
                    wanted = finding.problem != "falls-off" and not finding.is_prose
                    wanted = was_checked.get(_topic_of(finding), wanted)
                    state = Qt.CheckState.Checked if wanted else Qt.CheckState.Unchecked
                    self.list.item(number).setCheckState(state)
            self.list.setCurrentRow(min(max(0, row), self.list.count() - 1))
        if look is not None:
            self.summary.say(summary(look.report))
        self._on_row()

    def set_may_fix(self, may: bool) -> None:
        """Enable or disable the fixes.

        They change the file on disk, so the caller disables them while there is unsaved text.
        """
        self._may_fix = may
        self._on_row()

    @Slot()
    def _on_row(self, *_changed: object) -> None:
        count = len(self.checked)
        self.fix.say(
            counted("&Fix 1 problem…", "&Fix %n problems…", count),
            self.tr("Show which lines of the index will change, then fix the checked problems"),
        )
        self.fix.setVisible(any(map(can_fix, self._findings)))
        self.fix.setEnabled(self._may_fix and bool(count))
        self.go.setEnabled(self.current is not None)


def _topic_of(finding: IndexFinding) -> tuple[str, ...]:
    """Return the parts of a finding that stay the same if its line moves."""
    return finding.problem, finding.rel, finding.about


def _in_order(look: IndexCheck) -> tuple[IndexFinding, ...]:
    """Return the findings to list: fixable ones first, entries that are not loaded last.

    Findings about the length of the index are left out, because the summary mentions them.
    """

    def turn(finding: IndexFinding) -> int:
        return 2 if finding.problem == "falls-off" else 0 if can_fix(finding) else 1

    listed = (each for each in look.report.findings if each.problem not in ("over-lines", "over-chars"))
    return tuple(sorted(listed, key=turn))


INDEX_QUIET_MS = 150


class IndexControl(QObject):
    """The controller of an open index: it checks and fixes it, and renames memories with their links.

    An index is a file with one line for each memory of a folder. Call `forget` when another home is shown,
    and `follow` when its trees change. The owner puts the widget `panel` into the editor.
    """

    fixed = Signal(object, str)
    """Emitted with `Undo` and a sentence after a fix."""
    moved = Signal(object)
    """Emitted with `Undo` after several memories were moved together with their links."""

    def __init__(
        self,
        shown: ShownPlace,
        edits: Edits,
        tree: MemoryTreeView,
        editor: EditorControl,
        pane: EditorPane,
        icons: Icons,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._shown = shown
        self._edits = edits
        self._tree = tree
        self._editor = editor
        self._pane = pane
        self._window = window
        self._path = ""
        self.panel = IndexPanel(icons)
        self.dialog: LinesDialog | None = None
        self._quiet = single_shot(self, INDEX_QUIET_MS, self._look)
        editor.state_changed.connect(self._on_editor)
        editor.was_read.connect(self._on_read)
        self.panel.fix_wanted.connect(self._fix)
        self.panel.place_wanted.connect(self._go)

    def forget(self) -> None:
        """Hide the panel; called when no index is open, or another home is shown."""
        self._quiet.stop()
        self._path = ""
        self.panel.show_look(None)
        self._pane.set_own_cut(None)

    def follow(self, update: TreeUpdate) -> None:
        """Check the open index again after a delay, because the files that it lists may have changed."""
        if self._path and not update.names_only:
            self._quiet.start()

    # The open index

    @Slot()
    def _on_editor(self) -> None:
        file = self._pane.file
        path = self._index_path(file)
        if path != self._path:
            self.forget()
            self._path = path
            if path:
                self._quiet.start()
        self.panel.set_may_fix(file is not None and not file.buffer.modified and not file.read_only)

    @Slot()
    def _on_read(self) -> None:
        self._on_editor()
        if self._path:
            self._quiet.start()

    def _index_path(self, file: OpenFile | None) -> str:
        """Return the memory path of the open index; empty for any other file."""
        place = self._shown.place
        if file is None or place is None or file.buffer.address.companion is not None:
            return ""
        (session, update), ref = place, file.buffer.ref
        for listing in update.view.scopes.values() if ref.home == session.info.id else ():
            if listing.root is not None and listing.root.key == ref.store:
                found = listing.file(ref.rel)
                return file.buffer.address.path if found is not None and found.role == "index" else ""
        return ""

    @Slot()
    def _look(self) -> None:
        """Check the open index in a job, and show the result."""
        place, path = self._shown.place, self._path
        if place is None or not path:
            return
        session, update = place

        def done(look: IndexCheck | None) -> None:
            if path == self._path:
                self.panel.show_look(look)
                self._pane.set_own_cut(
                    None if look is None else _cut_in, self.tr("The agent does not load this part.")
                )

        session.lanes.scan.submit(
            "look at the index",
            ask(session.workbench.index_care.look, update.context, path),
            done=done,
            # The trees and the editor already show that it cannot be read.
            failed=lambda _error: self.panel.show_look(None),
            group="index",
        )

    @Slot()
    def _go(self) -> None:
        """Go to the line of the selected finding; if it is about another file, open that file."""
        finding, look = self.panel.current, self.panel.look
        if finding is None or look is None:
            return
        if finding.rel == INDEX:
            self._pane.view.set_mode("source")
            self._pane.text.go_to_line(max(1, finding.line))
            self._pane.text.setFocus()
        elif (memory := self._tree.reveal(f"{look.folder}/{finding.rel}")) is not None:
            self._editor.open(memory, focus=True)

    # Changes

    @Slot(object)
    def _fix(self, findings: tuple[IndexFinding, ...]) -> None:
        """Fix problems of the index, after the user has confirmed the lines that change."""
        place, look = self._shown.place, self.panel.look
        if place is None or look is None:
            return
        session, update = place
        session.lanes.scan.submit(
            "plan fixes",
            ask(session.workbench.index_care.plan_fixes, update.context, look, findings),
            done=partial(self._confirm, session, update.context),
            failed=self._edits.failed.emit,
        )

    def rename(self, targets: Mapping[str, str], plain: Callable[[str], None]) -> None:
        """Rename or move memories together with the links to them, after the user has confirmed the lines.

        `targets` maps old to new paths. If no line has to change, nothing is moved here; instead `plain` is
        called, which moves the memories. Its argument is a warning about links that could not be updated, or
        "".
        """
        place = self._shown.place
        if place is None or not any(map(self.keeps_index, targets)):
            plain("")
            return
        session, update = place

        def done(plan: IndexPlan | None) -> None:
            if plan is None:
                plain(self.tr("The index and links in other memories were not updated; edit them by hand."))
            elif not plan.lines:
                plain("")
            else:
                self._confirm(session, update.context, plan)

        session.lanes.scan.submit(
            "plan a rename",
            ask(session.workbench.index_care.plan_renames, update.context, dict(targets)),
            done=done,
            failed=self._edits.failed.emit,
        )

    def keeps_index(self, path: str) -> bool:
        """Return True if the scope of the memory at `path` has an index."""
        scopes = self._shown.update.view.scopes if self._shown.update is not None else {}
        listing = scopes.get(Scope(path.split("/")[2]))
        return listing is not None and any(file.role == "index" for file in listing.files)

    def _confirm(self, session: HomeSession, context: ScopeContext, plan: IndexPlan) -> None:
        """Show the lines that a plan changes, and carry it out if the user agrees."""
        self.dialog = LinesDialog(plan, self._window)
        self.dialog.accepted.connect(partial(self._apply, session, context, plan))
        self.dialog.finished.connect(self._on_answered)
        self.dialog.open()

    @Slot(int)
    def _on_answered(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    def _apply(self, session: HomeSession, context: ScopeContext, plan: IndexPlan) -> None:
        """Carry out a plan, and report the change."""
        job = ask(session.workbench.index_care.apply, context, plan)

        def done(undo: Undo) -> None:
            if not plan.targets:
                said = counted("Fixed 1 line of the index", "Fixed %n lines of the index", len(plan.lines))
                self.fixed.emit(undo, said)
            elif len(plan.targets) > 1:
                self.moved.emit(undo)
            else:
                self._edits.renamed.emit(undo, *next(iter(plan.targets.items())))

        self._edits.apply(session, "change the index", job, done)


def _cut_in(file: OpenFile) -> int | None:
    """Return the position at which the agent stops loading an index, in UTF-16 units; None: it loads all."""
    cut = cut_of(file.content)
    if cut.line is None:
        return None
    block = file.document.findBlockByNumber(cut.line - 1)
    bom = cut.line == 1 and file.content.startswith("\ufeff")
    return block.position() + max(0, cut.column - bom) if block.isValid() else None


_SHOWN = 500
"""The number of changed lines that are listed."""


class LinesDialog(QDialog):
    """A dialog that confirms a change of an index or of links; it lists each line before and after."""

    def __init__(self, plan: IndexPlan, parent: QWidget) -> None:
        super().__init__(parent)
        if plan.targets:
            title, head = self.tr("Rename and update links"), rename_words(plan)
            accept = self.tr("Move") if len(plan.targets) > 1 else self.tr("Rename")
        else:
            title, accept = self.tr("Fix the index"), self.tr("Fix")
            head = counted("This changes 1 line:", "This changes %n lines:", len(plan.lines))
        self.setWindowTitle(title)
        self.setMinimumWidth(340)
        self.head = WrapLabel(head)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Lines to change"))
        self.list.setFont(monospace())
        self.list.setAlternatingRowColors(True)
        self.list.setMinimumHeight(160)
        for line in plan.lines[:_SHOWN]:
            where = self.tr("{file}, line {line}").format(file=_name(line.path), line=line.line)
            text = f"{where}\n− {visible(line.before)}\n+ {visible(line.after)}"
            self.list.addItem(text)
            self.list.item(self.list.count() - 1).setToolTip(as_tooltip(text))
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(accept)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column(self, self.head, self.list, buttons, grows=self.list)
        self.resize(560, 360)
        self.accept_button.setFocus()


def rename_words(plan: IndexPlan) -> str:
    """Return a sentence about the files that a plan renames or moves, and the lines that change with them."""
    files = len({line.path for line in plan.lines})
    (old, new), *others = plan.targets.items()
    said = tr("{old} will be renamed to {new}. This also changes {lines} in {files}:")
    if others:
        said = tr("{things} will be moved to {folder}. This also changes {lines} in {files}:")
    return said.format(
        old=_name(old),
        new=_name(new),
        things=things(len(plan.targets)),
        folder=visible(new.rpartition("/")[0].removeprefix(f"{ROOT}/")),
        lines=counted("1 line", "%n lines", len(plan.lines)),
        files=counted("1 file", "%n files", files),
    )


def _name(path: str) -> str:
    """Return the path of a memory inside its scope, as it is shown."""
    return visible("/".join(path.split("/")[3:]))


GRAVE = frozenset({"over-lines", "over-chars", "no-file", "dangling"})
"""The kinds of problems in an index that are shown as warnings; others are notes."""


def summary(report: IndexReport) -> str:
    """Return a text about how much of the index the agent loads, and about the number of problems."""
    cut = report.cut
    parts = []
    if cut.line is not None:
        parts.append(
            tr(
                "The agent loads {loaded} of {lines} lines. It does not read the lines below the dashed line."
            ).format(loaded=cut.line - 1, lines=cut.lines)
        )
        if report.fallen:
            parts.append(
                counted(tr("1 entry is not loaded."), "%n entries are not loaded.", len(report.fallen))
            )
    count = sum(each.problem not in ("over-lines", "over-chars", "falls-off") for each in report.findings)
    if count:
        parts.append(counted(tr("1 problem"), "%n problems", count) + ".")
    return " ".join(parts)


def sentence(finding: IndexFinding) -> str:
    """Return a finding as a sentence of one line."""
    about, rel, line = visible(finding.about), visible(finding.rel), finding.line
    if finding.problem == "dangling" and finding.rel != INDEX:
        return tr("{file}, line {line}: no memory has the name “{name}”").format(
            file=rel, line=line, name=about
        )
    said = {
        "over-lines": tr("{about} lines; the agent loads the first {most}"),
        "over-chars": tr("{about} characters; the agent loads the first {chars}"),
        "falls-off": tr("Line {line}: “{about}” is not loaded"),
        "no-file": tr("Line {line}: the file “{about}” does not exist"),
        "listed-twice": tr("Line {line}: “{about}” is already listed"),
        "long-line": tr("Line {line}: longer than {wished} characters"),
        "unlisted": tr("“{file}” is not listed in this index"),
        "dangling": tr("Line {line}: no memory has the name “{about}”"),
        "duplicate-name": tr("“{file}”: another memory is also named “{about}”"),
        "no-description": tr("“{file}” has no description"),
        "conflict-copy": tr("“{file}” is a conflict copy of the index, created by a sync program"),
        "other-spelling": tr("Line {line}: “{about}” uses other Unicode characters than its file's name"),
    }[finding.problem]
    return said.format(
        line=line, about=about, file=rel, most=MOST_LINES, chars=f"{MOST_CHARS:,}", wished=RECOMMENDED_CHARS
    )
