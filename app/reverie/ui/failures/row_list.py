"""The list of one part of the Failures tab."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from reverie.ui.failures.words import Row
from reverie.ui.icons import Icons
from reverie.ui.line_list import LineList, LineModel
from reverie.ui.shown import as_tooltip
from reverie.ui.two_lines import TwoLines


class RowModel(LineModel):
    """The rows of one part."""

    def look(self, value: Row) -> TwoLines:
        return value.look

    def spoken(self, value: Row) -> str:
        return value.spoken

    def tooltip(self, value: Row) -> str:
        return as_tooltip(value.look.title, value.look.below)


class RowList(LineList):
    """`picked(Row | None)`; `opened(Row)`."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(RowModel(), icons, parent)
        self.setAccessibleName(self.tr("Failures"))

    @property
    def current(self) -> Row | None:
        found: Row | None = self.current_value
        return found

    @property
    def shown(self) -> tuple[Row, ...]:
        return self.values

    def show_rows(self, found: Sequence[Row]) -> None:
        """Show them; the selection stays on its row while that is among them, else it is the first."""
        self.set_values((row.key, row) for row in found)
        if not self.currentIndex().isValid() and found:
            self.setCurrentIndex(self.rows.index(0, 0))
        else:
            self.picked.emit(self.current)

    def pick(self, key: str) -> None:
        """Select the row with this key, if it is there."""
        for number, row in enumerate(self.shown):
            if row.key == key:
                self.setCurrentIndex(self.rows.index(number, 0))
                self.scrollTo(self.currentIndex())
