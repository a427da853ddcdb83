"""The page of the settings that says how the window looks: theme, font size, language."""

from __future__ import annotations

from PySide6.QtWidgets import QFormLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.look import LARGEST_FONT
from reverie.ui.settings_page import Rows, SettingsPage, choice, fill, number
from reverie.ui.window_wishes import Window

_SMALLEST_FONT = 6


class WindowPage(SettingsPage):
    """The values of `window_wishes.Window`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        system = self.tr("As the system")
        self.theme = choice(
            self.tr("Colours"),
            ((system, "system"), (self.tr("Light"), "light"), (self.tr("Dark"), "dark")),
        )
        # The smallest value stands for the system's size.
        self.font_size = number(_SMALLEST_FONT - 1, LARGEST_FONT, self.tr("Font size"), self.tr(" pt"))
        self.font_size.setSpecialValueText(system)
        # Languages are named in themselves, so that who does not read the shown one finds the way back.
        self.language = choice(
            self.tr("Language"), ((system, "system"), ("English", "en"), ("Deutsch", "de"))
        )
        self.note = WrapLabel(
            self.tr("Colours and font size count at once, the language when Reverie is started next.")
        )
        rows = (
            (self.tr("Colou&rs"), self.theme),
            (self.tr("&Font size"), self.font_size),
            (self.tr("&Language"), self.language),
        )
        # The dialog adds what the schema has besides.
        self.more = QFormLayout()
        self.stack(fill(QFormLayout(), rows), self.note, self.more)
        self.theme.currentIndexChanged.connect(self.changed)
        self.font_size.valueChanged.connect(self.changed)
        self.language.currentIndexChanged.connect(self.changed)

    @property
    def rows(self) -> Rows:
        return {
            "window.theme": (self.theme,),
            "window.font_size": (self.font_size,),
            "window.language": (self.language,),
        }

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
