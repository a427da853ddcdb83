"""What is to mend in the notes of a session: a button whose menu lists it, each entry a way to its line.

The text is opened first where it is not shown. Threading: GUI thread. Failure: a line that is gone leads to
the nearest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QMenu

from reverie.ui.buttons import FitPushButton
from reverie.ui.shown import visible
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.notes.sections import NotesProblem
    from reverie.ui.memory.tab import MemoryTab


class NotesMends(QObject):
    """`button` is hidden while there is nothing to mend."""

    def __init__(self, tab: MemoryTab, button: FitPushButton) -> None:
        super().__init__(tab)
        self._tab = tab
        self.button = button
        self.menu = QMenu(button)
        self.menu.setToolTipsVisible(True)
        self._problems: tuple[NotesProblem, ...] = ()
        self._wanted = ("", 0)
        button.setMenu(self.menu)
        tab.editor.state_changed.connect(self._follow)
        tab.editor.was_read.connect(self._follow)

    def show_problems(self, problems: Sequence[NotesProblem], path: str) -> None:
        """Those of the notes at a memory path."""
        self.button.setVisible(bool(problems) and self.button.parentWidget() is not None)
        if tuple(problems) != self._problems:
            self._problems = tuple(problems)
            self.menu.clear()
            for problem in problems:
                go = self.menu.addAction(self._sentence(problem).replace("&", "&&"))
                go.triggered.connect(partial(self._go, path, max(1, problem.line)))
            text = counted(self.tr("1 to mend"), "%n to mend", len(problems))
            self.button.say(text, self.tr("What is to mend in these notes; choose one to go to its line"))

    def _go(self, path: str, line: int, _checked: bool = False) -> None:
        self._wanted = (path, line)
        if not self._follow_now() and self._tab.tree.select_path(path):
            self._tab.editor.open(self._tab.tree.current_data(), focus=True)

    @Slot()
    def _follow(self) -> None:
        if self._wanted[0]:
            self._follow_now()

    def _follow_now(self) -> bool:
        file, (path, line) = self._tab.pane.file, self._wanted
        if file is None or file.buffer.address.path != path:
            return False
        self._wanted = ("", 0)
        self._tab.pane.view.set_mode("source")
        self._tab.pane.text.go_to_line(line)
        self._tab.pane.text.setFocus()
        return True

    def _sentence(self, problem: NotesProblem) -> str:
        name, tokens = visible(problem.section.removeprefix("# ")), f"{problem.tokens:,}"
        said = {
            "empty": self.tr("The notes are empty"),
            "missing": self.tr("The section “{name}” is missing"),
            "order": self.tr("The sections stand in another order than in the template"),
            "description": self.tr("The description under “{name}” was changed"),
            "long-section": self.tr("“{name}” holds {tokens} tokens; the agent reads {most}"),
            "long-file": self.tr("The notes hold {tokens} tokens; the agent reads {most}"),
        }[problem.kind]
        return said.format(name=name, tokens=tokens, most=f"{problem.most:,}")
