"""Where to? Scope, folder and, for one memory, its name; clashes are settled before anything moves.

Each question is a class method or function that asks and returns data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QCoreApplication, Qt, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QDialog,
    QLineEdit,
    QMessageBox,
    QWidget,
)

from reverie.homes.scopes import Scope
from reverie.memory.moving import MovePlan, numbered, plan_moves
from reverie.memory.paths import ROOT
from reverie.ui import words
from reverie.ui.memory.judged_dialog import JudgedDialog
from reverie.ui.memory.tree_nodes import name_problem
from reverie.ui.shown import visible

_MOST_NAMES = 8


class MoveDialog(JudgedDialog):
    """`folders` are the relative paths of each scope that is there; `taken(path)` says whether something is
    there already."""

    def __init__(
        self,
        paths: Sequence[str],
        folders: Mapping[Scope, Sequence[str]],
        taken: Callable[[str], bool],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", "", folders, parent)
        self._paths = tuple(paths)
        self._folders = folders
        self._taken = taken
        one = len(paths) == 1
        what = visible(paths[0].rpartition("/")[2]) if one else words.things(len(paths))
        self.setWindowTitle(self.tr("Move {what}").format(what=what))
        self.accept_button.setText(self.tr("Move"))
        self.folder = QComboBox()
        self.folder.setEditable(True)
        self.folder.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.folder.setMinimumContentsLength(16)
        self.folder.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.folder.setAccessibleName(self.tr("Folder"))
        field = QLineEdit()
        field.setPlaceholderText(self.tr("top of the scope"))
        field.setAccessibleName(self.tr("Folder"))
        self.folder.setLineEdit(field)
        completer = QCompleter(self.folder.model(), self.folder)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.folder.setCompleter(completer)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.name = QLineEdit(paths[0].rpartition("/")[2] if one else "")
        self.name.setAccessibleName(self.tr("Name"))
        self.keep_both = QCheckBox(self.tr("Keep &both: put a number after the name"))
        rows: list[tuple[str, QWidget]] = [(self.tr("&Folder"), self.folder)]
        if one:
            rows.append((self.tr("&Name"), self.name))
        else:
            self.name.setParent(self)
            self.name.hide()
        self.lay_out(rows, self.keep_both)
        self.folder.setFocus()
        above, _, rel = paths[0].removeprefix(ROOT + "/").partition("/")
        self.scope.setCurrentIndex(max(0, self.scope.findData(Scope(above))))
        self._fill_folders()
        self.folder.setEditText(rel.rpartition("/")[0])
        self.scope.currentIndexChanged.connect(self._fill_folders)
        self.folder.editTextChanged.connect(self.judge)
        self.name.textChanged.connect(self.judge)
        self.keep_both.toggled.connect(self.judge)
        self.judge()

    def plan(self) -> MovePlan:
        """What would move where, as the fields are now; numbered where a person chose to keep both."""
        scope = self.chosen_scope.value
        rel = "/".join(part for part in self.folder.currentText().strip().split("/") if part)
        folder = f"{ROOT}/{scope}/{rel}".rstrip("/")
        if len(self._paths) == 1:
            plan = self._plan_one(self._paths[0], folder, self.name.text().strip())
        else:
            plan = plan_moves(self._paths, folder, self._taken)
        return numbered(plan, self._taken) if self.keep_both.isChecked() else plan

    def _plan_one(self, path: str, folder: str, name: str) -> MovePlan:
        target = f"{folder}/{name}"
        if not name or "/" in name:
            return MovePlan({}, refused=self.tr("Give it a name."))
        if target == path:
            return MovePlan({}, refused=self.tr("It is there already."))
        if target.startswith(path + "/"):
            return MovePlan({}, refused=self.tr("A folder cannot be moved into itself."))
        return MovePlan({path: target}, (path,) if self._taken(target) else ())

    def problem(self, plan: MovePlan) -> str:
        """Why it cannot be done; empty if it can."""
        if plan.refused:
            return plan.refused
        for target in plan.targets.values():
            problem = name_problem(target)
            if problem:
                return self.tr("Not a valid path: {problem}").format(problem=problem)
            if any(part.startswith(".") for part in target.split("/")):
                return self.tr("A name that begins with a dot is never listed.")
        return ""

    @Slot()
    def _fill_folders(self) -> None:
        typed = self.folder.currentText()
        self.folder.clear()
        self.folder.addItems(["", *self._folders[self.chosen_scope]])
        self.folder.setEditText(typed)
        self.judge()

    @Slot()
    def judge(self) -> None:
        plan = self.plan()
        problem = self.problem(plan)
        self.keep_both.setEnabled(bool(plan.clashes) or self.keep_both.isChecked())
        first, more = next(iter(plan.targets.values()), ""), len(plan.targets) - 1
        says = problem or (f"{visible(first)}  +{more}" if more > 0 else visible(first))
        if not problem and plan.clashes:
            names = ", ".join(visible(path.rpartition("/")[2]) for path in plan.clashes[:_MOST_NAMES])
            problem = says = self.tr("Something of that name is there already: {names}").format(names=names)
        # Nothing was done wrong while nothing was chosen yet.
        bad = bool(problem) and not (plan.refused and not plan.targets)
        self.say(says, fine=not problem, bad=bad)

    @classmethod
    def ask(
        cls,
        parent: QWidget,
        paths: Sequence[str],
        folders: Mapping[Scope, Sequence[str]],
        taken: Callable[[str], bool],
    ) -> Mapping[str, str] | None:
        """Old path -> new path, or None."""
        dialog = cls(paths, folders, taken, parent)
        return dialog.plan().targets if dialog.exec() == QDialog.DialogCode.Accepted else None


def ask_keep_both(parent: QWidget, names: Sequence[str]) -> bool:
    """Whether what is moved onto names that are taken shall get a number; no: nothing moves."""
    tr = QCoreApplication.translate
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(tr("MoveDialog", "A name is taken"))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(tr("MoveDialog", "In that folder there is something of the same name already:"))
    shown = [visible(name) for name in names[:_MOST_NAMES]]
    box.setInformativeText("\n".join([*shown, "…"] if len(names) > _MOST_NAMES else shown))
    keep = box.addButton(tr("MoveDialog", "&Keep both, with a number"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(keep)
    box.exec()
    return box.clickedButton() is keep
