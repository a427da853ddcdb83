"""A row of filters, of which one is chosen.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QButtonGroup, QToolButton, QWidget

from reverie.ui.appearance import GAP, UNIT, tabular
from reverie.ui.widgets.layouts import FlowLayout


class FilterChips(QWidget):
    """A row of checkable buttons, one per filter, each with its count."""

    chosen = Signal(str)
    """Emitted with the key of a filter when the user clicks it."""

    def __init__(
        self,
        name: str,
        filters: Mapping[str, tuple[str, str]],
        *,
        margin: int = GAP,
        parent: QWidget | None = None,
    ) -> None:
        """Create the row and choose its first filter.

        `name` is the accessible name. `filters` has the name and the tool tip of each filter by its key.
        `margin` is the space at both ends, in pixels.
        """
        super().__init__(parent)
        self.setAccessibleName(name)
        self._names = {key: shown for key, (shown, _tip) in filters.items()}
        row = FlowLayout(holder=self, gap=UNIT)
        row.setContentsMargins(margin, UNIT, margin, UNIT)
        group = QButtonGroup(self)
        self.chips: dict[str, QToolButton] = {}
        for key, (_shown, tip) in filters.items():
            chip = QToolButton()
            chip.setCheckable(True)
            chip.setAutoRaise(True)
            chip.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            chip.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            chip.setFont(tabular(chip.font()))
            chip.setToolTip(tip)
            chip.setProperty("show", key)
            group.addButton(chip)
            row.addWidget(chip)
            self.chips[key] = chip
        self.choose(next(iter(filters)))
        group.buttonClicked.connect(self._on_clicked)
        self.say({})

    @property
    def current(self) -> str:
        """The key of the chosen filter."""
        return next(key for key, chip in self.chips.items() if chip.isChecked())

    def say(self, counts: Mapping[str, int | None]) -> None:
        """Show the count of each filter, 0 if it is missing; a count of None hides the filter."""
        for key, chip in self.chips.items():
            count, name = counts.get(key, 0), self._names[key]
            chip.setVisible(count is not None)
            chip.setText(f"{name} {count:,}" if count else name)
            chip.setAccessibleName(f"{name}, {count or 0:,}")

    def choose(self, key: str) -> None:
        """Choose the filter with the key `key`, without emitting `chosen`."""
        self.chips[key].setChecked(True)

    @Slot(object)
    def _on_clicked(self, chip: QToolButton) -> None:
        self.chosen.emit(chip.property("show"))
