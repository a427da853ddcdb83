"""The list of decisions: a sign for the level, how often and how long ago at the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

from reverie.ui.activity.entries import Decision, as_tree, below_words, right_words, sign, spoken
from reverie.ui.icons import Icons
from reverie.ui.line_list import LineList, LineModel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.two_lines import TwoLines


class DecisionModel(LineModel):
    """Decisions, newest first. Ages are those of the moment in which a row is drawn."""

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__()
        self._now = now

    def look(self, value: Decision) -> TwoLines:
        name = sign(value.entry)
        return TwoLines(
            visible(value.entry.text),
            below_words(value),
            sign=name,
            grave=name == "error",
            right_below=right_words(value.entry, self._now()),
            cut="end",
            cut_below="end",
        )

    def spoken(self, value: Decision) -> str:
        return spoken(value)

    def tooltip(self, value: Decision) -> str:
        return as_tooltip(value.entry.text)


class DecisionList(LineList):
    """`picked(Decision | None)`."""

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(DecisionModel(now), icons, parent)
        self.setAccessibleName(self.tr("Decisions of the background services, newest first"))

    @property
    def current(self) -> Decision | None:
        found: Decision | None = self.current_value
        return found

    def show_decisions(self, found: Sequence[Decision]) -> None:
        """Show them; the selection stays on its decision while that is among them."""
        before = self.current
        # A list that stands at its top stays there: what is new is what one looks for.
        at_top = self.verticalScrollBar().value() == 0
        self.rows.set_tree(as_tree(found, self.rows.tree))
        self.rows.reveal_more(everything=True)
        if at_top:
            self.scrollToTop()
        if self.current != before:
            self.picked.emit(self.current)
