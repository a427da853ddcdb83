"""Asking for the path of a memory, with the agent's own rules checked as one types.

Each dialog has a class method that asks and returns data, so that whoever needs the answer needs no dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget
from shiboken6 import isValid

from reverie.homes.scopes import Scope
from reverie.memory.paths import ROOT
from reverie.ui.memory.judged_dialog import JudgedDialog
from reverie.ui.memory.template_choice import TemplateChoice
from reverie.ui.memory.tree_nodes import name_problem
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.services.templates import Template


@dataclass(frozen=True, slots=True)
class NewMemory:
    """`template`: the text it begins with, placeholders and all; empty for none."""

    path: str
    description: str
    template: str = ""


ReadTemplates = Callable[[Callable[[Sequence["Template"]], None]], None]
"""Reads the templates in the background and hands them to what it is given."""


class PathDialog(JudgedDialog):
    """Scope and relative path. `taken(path)` says whether something is there already."""

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
        self.rel.setAccessibleName(self.tr("Path in the scope"))
        self.rel.setPlaceholderText(self.tr("topic/notes.md"))
        self.description = QLineEdit()
        self.description.setAccessibleName(self.tr("Description"))
        self.description.setPlaceholderText(
            self.tr("One line that tells the agent when to read it (optional)")
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
        """They have been read."""
        if isValid(self):
            self.template.set_templates(templates, self.chosen_scope)

    @Slot()
    def _on_scope(self) -> None:
        self.template.show_for(self.chosen_scope)
        self.judge()

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.chosen_scope.value}/{self.rel.text().strip()}"

    def problem(self) -> str:
        """Why the path cannot be used; empty if it can."""
        if not self.rel.text().strip():
            return self.tr("Give it a name.")
        problem = name_problem(self.path)
        if problem:
            return self.tr("Not a valid path: {problem}").format(problem=problem)
        if self.path.rpartition("/")[2].startswith("."):
            return self.tr("A name that begins with a dot is never listed.")
        return self.tr("Something is there already.") if self._taken(self.path) else ""

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
        """Path, description and template of a new memory, or None. `describe`: the agent reads a
        description."""
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
