"""Which template a new memory begins with: a list that fits the scope, filled when the templates are read.

Threading: GUI thread; the templates come from a job. Failure: none of its own, without templates the list
offers the empty memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QComboBox, QWidget

from reverie.homes.scopes import Scope
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.services.templates import Template


class TemplateChoice(QComboBox):
    """`chosen`: the template, None for an empty memory."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._templates: Sequence[Template] = ()
        self.setAccessibleName(self.tr("Template"))
        self.setMinimumContentsLength(12)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.addItem(self.tr("Empty"), None)

    @property
    def chosen(self) -> Template | None:
        found: Template | None = self.currentData()
        return found

    def set_templates(self, templates: Sequence[Template], scope: Scope) -> None:
        """Those that were read."""
        self._templates = templates
        self.show_for(scope)

    def show_for(self, scope: Scope) -> None:
        """The scope is another: ours for it, then the person's own. What was chosen stays, if it is there."""
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
    """One of ours, as people call it."""
    tr = QCoreApplication.translate
    names = {
        "task": tr("TemplateChoice", "Task notes"),
        "lessons": tr("TemplateChoice", "Lessons learned"),
        "decision": tr("TemplateChoice", "Decision"),
        "how-to": tr("TemplateChoice", "How to do something"),
        "preference": tr("TemplateChoice", "Preference"),
        "checklist": tr("TemplateChoice", "Checklist"),
    }
    return names.get(template, template)
