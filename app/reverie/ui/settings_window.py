"""The page of the settings that says how the window looks: theme, font size, language."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.look import LARGEST_FONT
from reverie.ui.theme import GAP, MARGIN
from reverie.ui.window_wishes import Window

_SMALLEST_FONT = 6


class WindowPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = QComboBox()
        for key, name in (
            ("system", self.tr("As the system")),
            ("light", self.tr("Light")),
            ("dark", self.tr("Dark")),
        ):
            self.theme.addItem(name, key)
        self.theme.setAccessibleName(self.tr("Colours"))
        self.font_size = QSpinBox()
        # The smallest value stands for the system's size.
        self.font_size.setRange(_SMALLEST_FONT - 1, LARGEST_FONT)
        self.font_size.setSpecialValueText(self.tr("As the system"))
        self.font_size.setSuffix(self.tr(" pt"))
        self.font_size.setAccessibleName(self.tr("Font size"))
        self.language = QComboBox()
        # Languages are named in themselves, so that who does not read the shown one finds the way back.
        for key, name in (("system", self.tr("As the system")), ("en", "English"), ("de", "Deutsch")):
            self.language.addItem(name, key)
        self.language.setAccessibleName(self.tr("Language"))
        self.note = WrapLabel(
            self.tr("Colours and font size count at once, the language when Reverie is started next.")
        )
        form = QFormLayout()
        form.setHorizontalSpacing(GAP)
        form.setVerticalSpacing(GAP)
        for text, control in (
            (self.tr("Colou&rs"), self.theme),
            (self.tr("&Font size"), self.font_size),
            (self.tr("&Language"), self.language),
        ):
            label = QLabel(text)
            label.setBuddy(control)
            form.addRow(label, control)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GAP)
        column.addLayout(form)
        column.addWidget(self.note)
        column.addStretch(1)
        self.theme.currentIndexChanged.connect(self.changed)
        self.font_size.valueChanged.connect(self.changed)
        self.language.currentIndexChanged.connect(self.changed)

    @property
    def value(self) -> Window:
        size = self.font_size.value()
        return Window(
            size if size >= _SMALLEST_FONT else 0, self.language.currentData(), self.theme.currentData()
        )

    def show_value(self, value: Window) -> None:
        self.theme.setCurrentIndex(self.theme.findData(value.theme))
        self.language.setCurrentIndex(self.language.findData(value.language))
        self.font_size.setValue(max(value.font_size, _SMALLEST_FONT - 1))
