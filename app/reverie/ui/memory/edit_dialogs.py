"""Dialogs for the path of a new memory and for the target of a move.

The agent's rules for paths are checked while the user types. Each question is a class method or function that
asks and returns data, so that callers handle no dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QMessageBox,
    QWidget,
)
from shiboken6 import isValid

from reverie.agents.scopes import Scope
from reverie.memory.moves import MovePlan, numbered, plan_moves
from reverie.memory.paths import ROOT
from reverie.ui.appearance import GAP, MARGIN, theme_of
from reverie.ui.display_text import scope_name, things, tr, visible
from reverie.ui.tree.memory_tree import name_problem
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.messages import message_box
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.services.views import Template


class JudgedDialog(QDialog):
    """A form that is validated while the user types.

    Below the fields it shows the problem or the resulting path; it can be accepted only without a problem.
    Subclasses create the fields, call `lay_out`, connect the fields to `judge`, and call `judge` once.
    """

    _is_laid_out = False

    def __init__(self, title: str, accept: str, scopes: Iterable[Scope], parent: QWidget | None) -> None:
        """Create the scope list with `scopes`, the hint and the buttons; `accept` is the label of OK."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(340)
        self.scope = QComboBox()
        self.scope.setAccessibleName(self.tr("Scope"))
        for scope in scopes:
            self.scope.addItem(scope_name(scope), scope)
        self.scope.setEnabled(self.scope.count() > 1)
        self.hint = WrapLabel()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(accept)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    @property
    def chosen_scope(self) -> Scope:
        return Scope(self.scope.currentData())

    def lay_out(self, rows: Iterable[tuple[str, QWidget]], *below: QWidget) -> None:
        """Lay out the form of scope and `rows`, then the widgets `below` it, the hint and the buttons."""
        form = QFormLayout()
        form.setSpacing(GAP)
        form.addRow(self.tr("&Scope"), self.scope)
        for text, field in rows:
            form.addRow(text, field)
        outer = column(self, form, *below, self.hint, gap=MARGIN)
        outer.addStretch(1)
        outer.addWidget(self.buttons)
        self._is_laid_out = True

    @Slot()
    def judge(self) -> None:
        """Validate the fields, and show the result with `say`. Subclasses implement it."""
        raise NotImplementedError

    def say(self, sentence: str, *, fine: bool, bad: bool) -> None:
        """Show `sentence` in the hint; `bad`: as an error; `fine`: enable the accept button."""
        theme = theme_of(self.palette())
        palette = QPalette(self.hint.palette())
        palette.setColor(self.hint.foregroundRole(), theme.bad_text if bad else theme.dim_window)
        self.hint.setPalette(palette)
        self.hint.say(sentence)
        self.accept_button.setEnabled(fine)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._is_laid_out:
            self.judge()


class TemplateChoice(QComboBox):
    """A list of the templates that fit the scope of a new memory.

    A job reads the templates; until then, or if that fails, the list offers only the empty memory.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._templates: Sequence[Template] = ()
        self.setAccessibleName(self.tr("Template"))
        self.setMinimumContentsLength(12)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.addItem(self.tr("Empty"), None)

    @property
    def chosen(self) -> Template | None:
        """The chosen template; None for an empty memory."""
        found: Template | None = self.currentData()
        return found

    def set_templates(self, templates: Sequence[Template], scope: Scope) -> None:
        """Set the templates, and list those for `scope`."""
        self._templates = templates
        self.show_for(scope)

    def show_for(self, scope: Scope) -> None:
        """List Reverie's templates for `scope`, then the user's own; keep the choice if still listed."""
        chosen = self.chosen
        while self.count() > 1:
            self.removeItem(1)
        ours = [template for template in self._templates if template.scope is scope]
        own = [template for template in self._templates if template.scope is None]
        for template in ours:
            self.addItem(_name(template.name), template)
        if own and ours:
            self.insertSeparator(self.count())
        for template in own:
            self.addItem(visible(template.name), template)
        for row in range(self.count()):
            if chosen is not None and self.itemData(row) == chosen:
                self.setCurrentIndex(row)
                return
        self.setCurrentIndex(0)


def _name(template: str) -> str:
    """Return the name to show for one of Reverie's templates."""
    names = {
        "task": tr("Task notes"),
        "lessons": tr("Lessons learned"),
        "decision": tr("Decision"),
        "how-to": tr("How to do something"),
        "preference": tr("Preference"),
        "checklist": tr("Checklist"),
    }
    return names.get(template, template)


class NewMemory(Struct, frozen=True):
    """The user's choices for a new memory."""

    path: str
    description: str
    template: str = ""
    """The initial text with its placeholders; empty for none."""


ReadTemplates = Callable[[Callable[[Sequence["Template"]], None]], None]
"""A function that reads the templates in the background and passes them to the given function."""


class PathDialog(JudgedDialog):
    """A dialog for the scope, relative path and, with `describe`, description and template of a memory.

    `taken(path)` returns True if a file or folder exists at the path.
    """

    def __init__(
        self,
        title: str,
        accept: str,
        scopes: Sequence[Scope],
        rel: str,
        taken: Callable[[str], bool],
        parent: QWidget | None = None,
        *,
        describe: bool = False,
    ) -> None:
        super().__init__(title, accept, scopes, parent)
        self.resize(480, 0)
        self._taken = taken
        self.rel = QLineEdit(rel)
        self.rel.setAccessibleName(self.tr("Path within the scope"))
        self.rel.setPlaceholderText(self.tr("topic/notes.md"))
        self.description = QLineEdit()
        self.description.setAccessibleName(self.tr("Description"))
        self.description.setPlaceholderText(
            self.tr("One line that tells the agent when to read this memory (optional)")
        )
        self.template = TemplateChoice()
        rows: list[tuple[str, QWidget]] = [(self.tr("&Path"), self.rel)]
        if describe:
            rows += [(self.tr("&Description"), self.description), (self.tr("Te&mplate"), self.template)]
        else:
            for unused in (self.description, self.template):
                unused.setParent(self)
                unused.hide()
        self.lay_out(rows)
        self.rel.setFocus()
        self.scope.currentIndexChanged.connect(self._on_scope)
        self.rel.textChanged.connect(self.judge)
        self.judge()

    def set_templates(self, templates: Sequence[Template]) -> None:
        """Set the templates, unless the dialog has been deleted meanwhile."""
        if isValid(self):
            self.template.set_templates(templates, self.chosen_scope)

    @Slot()
    def _on_scope(self) -> None:
        self.template.show_for(self.chosen_scope)
        self.judge()

    @property
    def path(self) -> str:
        """The memory path as typed; a name without an ending becomes a Markdown file."""
        rel = self.rel.text().strip()
        name = rel.rpartition("/")[2]
        ending = "" if not name or "." in name else ".md"
        return f"{ROOT}/{self.chosen_scope.value}/{rel}{ending}"

    def problem(self) -> str:
        """Return the reason why the path cannot be used; empty if it can."""
        if not self.rel.text().strip():
            return self.tr("Enter a name.")
        problem = name_problem(self.path)
        if problem:
            return self.tr("This path is not valid: {problem}").format(problem=problem)
        if self.path.rpartition("/")[2].startswith("."):
            return self.tr("The name must not start with a dot, because such files are never listed.")
        # The name of an existing folder means that folder, not a new file `<name>.md` beside it.
        named = f"{ROOT}/{self.chosen_scope.value}/{self.rel.text().strip()}"
        taken = self._taken(named) or self._taken(self.path)
        return self.tr("A file or folder with this path already exists.") if taken else ""

    @Slot()
    def judge(self) -> None:
        problem = self.problem()
        typed = bool(self.rel.text().strip())
        self.say(problem or self.path, fine=not problem, bad=bool(problem) and typed)

    @classmethod
    def ask_new(
        cls,
        parent: QWidget,
        scopes: Sequence[Scope],
        scope: Scope,
        folder: str,
        taken: Callable[[str], bool],
        read_templates: ReadTemplates | None = None,
        describe: bool = True,
    ) -> NewMemory | None:
        """Ask for a new memory in `folder` of `scope`, and return the choices; None if cancelled.

        `describe`: also ask for a description and a template, for agents that read descriptions.
        """
        rel = f"{folder}/" if folder else ""
        title, accept = tr("New memory"), tr("Create")
        dialog = cls(title, accept, scopes, rel, taken, parent, describe=describe)
        dialog.scope.setCurrentIndex(max(0, dialog.scope.findData(scope)))
        if read_templates is not None:
            read_templates(dialog.set_templates)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return None
        template = dialog.template.chosen
        return NewMemory(
            dialog.path, dialog.description.text().strip(), template.text if template is not None else ""
        )


_MOST_NAMES = 8


class MoveDialog(JudgedDialog):
    """A dialog for the target of a move: scope, folder and, for a single memory, its name.

    Name clashes are resolved before anything moves. `folders` holds the relative folder paths of each
    available scope; `taken(path)` returns True if a file or folder exists at the path.
    """

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
        what = visible(paths[0].rpartition("/")[2]) if one else things(len(paths))
        self.setWindowTitle(self.tr("Move {what}").format(what=what))
        self.accept_button.setText(self.tr("Move"))
        self.folder = QComboBox()
        self.folder.setEditable(True)
        self.folder.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.folder.setMinimumContentsLength(16)
        self.folder.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.folder.setAccessibleName(self.tr("Folder"))
        field = QLineEdit()
        field.setPlaceholderText(self.tr("top level of the scope"))
        field.setAccessibleName(self.tr("Folder"))
        self.folder.setLineEdit(field)
        completer = QCompleter(self.folder.model(), self.folder)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.folder.setCompleter(completer)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.name = QLineEdit(paths[0].rpartition("/")[2] if one else "")
        self.name.setAccessibleName(self.tr("Name"))
        self.keep_both = QCheckBox(self.tr("Keep &both: add a number to the name"))
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
        """Return the moves that the fields describe.

        Names that are taken get a number if the user chose to keep both memories.
        """
        scope = self.chosen_scope.value
        rel = "/".join(part for part in self.folder.currentText().strip().split("/") if part)
        folder = f"{ROOT}/{scope}/{rel}".rstrip("/")
        if len(self._paths) == 1:
            plan = self._plan_one(self._paths[0], folder, self.name.text().strip())
        else:
            plan = plan_moves(self._paths, folder, self._taken)
        return numbered(plan, self._taken) if self.keep_both.isChecked() else plan

    def _plan_one(self, path: str, folder: str, name: str) -> MovePlan:
        """Return the plan to move one memory or folder to `folder` as `name`, or the reason against it."""
        target = f"{folder}/{name}"
        if not name or "/" in name:
            return MovePlan({}, refused=self.tr("Enter a name."))
        if target == path:
            return MovePlan({}, refused=self.tr("Choose a folder to move to."))
        if target.startswith(path + "/"):
            return MovePlan({}, refused=self.tr("A folder cannot be moved into itself."))
        return MovePlan({path: target}, (path,) if self._taken(target) else ())

    def problem(self, plan: MovePlan) -> str:
        """Return the reason why `plan` cannot be carried out; empty if it can."""
        if plan.refused:
            return plan.refused
        for target in plan.targets.values():
            problem = name_problem(target)
            if problem:
                return self.tr("This path is not valid: {problem}").format(problem=problem)
            if any(part.startswith(".") for part in target.split("/")):
                return self.tr("The name must not start with a dot, because such files are never listed.")
        return ""

    @Slot()
    def _fill_folders(self) -> None:
        """List the folders of the chosen scope, and keep the folder that the user typed."""
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
            problem = says = self.tr("The folder already contains: {names}").format(names=names)
        # No error colour before the user has chosen a target.
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
        """Ask for the target of `paths`, and return {old path: new path}; None if cancelled."""
        dialog = cls(paths, folders, taken, parent)
        return dialog.plan().targets if dialog.exec() == QDialog.DialogCode.Accepted else None


def ask_keep_both(parent: QWidget, names: Sequence[str]) -> bool:
    """Ask whether to move memories under numbered names, because `names` are taken; return True to move."""
    shown = [visible(name) for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append("…")
    taken = tr("The folder already contains files or folders with these names:")
    box = message_box(parent, QMessageBox.Icon.Question, tr("Name already in use"), taken, "\n".join(shown))
    keep = box.addButton(tr("&Keep both (add a number to the name)"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(keep)
    box.exec()
    return box.clickedButton() is keep
