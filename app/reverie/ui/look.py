"""How the window looks: theme, font size and language, as `[window]` in the settings file says.

Read before anything is painted, and before `reverie.settings` may be imported (it costs a tenth of a second):
so the three values are read here by themselves, by the same rules (a test compares the two). Theme and font
size are applied live; a language counts from the next start, because texts are asked for once.

Threading: GUI thread; `read_look` reads one small file and is called before the window is made only. Failure:
a file that cannot be read, or a value that is none, counts as the default; the settings say so later.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QTranslator, Slot
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from reverie.files.regular import read_regular
from reverie.resources import resource
from reverie.ui.theme import dark_palette
from reverie.ui.window_wishes import Window

LARGEST_FONT = 48
_LARGEST = 4 << 20
LANGUAGES = ("system", "en", "de")
THEMES = ("system", "light", "dark")
_TRANSLATED = ("de",)


def read_look(settings_file: Path) -> Window:
    """What the settings file says; defaults where it says nothing that counts."""
    try:
        content = read_regular(settings_file, _LARGEST)
    except OSError:
        return Window()
    if b"window" not in content:
        return Window()
    import tomllib

    try:
        table = tomllib.loads(content.decode("utf-8-sig")).get("window")
    except (ValueError, RecursionError):
        return Window()
    said = table if isinstance(table, dict) else {}
    size, language, theme = said.get("font_size"), said.get("language"), said.get("theme")
    fits = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= LARGEST_FONT
    return Window(
        size if fits and isinstance(size, int) else 0,
        language if language in LANGUAGES else "system",
        theme if theme in THEMES else "system",
    )


def language_of(wanted: str, system: list[str]) -> str:
    """The language to translate into, empty for English. `system`: languages by preference, such as
    `de-AT`."""
    for name in [wanted] if wanted != "system" else system:
        language = name.replace("_", "-").partition("-")[0].lower()
        if language == "en" or language in _TRANSLATED:
            return "" if language == "en" else language
    return ""


class LookControl(QObject):
    """Applies a look to the application. Made before the first widget."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._system_font = QFont(application.font())
        self._translators: list[QTranslator] = []
        self._shown = Window()

    def begin(self, look: Window) -> None:
        """Before the window is made: language too."""
        self._speak(language_of(look.language, list(QLocale.system().uiLanguages())))
        if look.language != "system":
            QLocale.setDefault(QLocale(look.language))
        self.apply(look)

    @Slot(object)
    def apply(self, look: Window) -> None:
        """Theme and font size, at once and everywhere."""
        if look.theme != self._shown.theme:
            self._apply_theme(look.theme)
        if look.font_size != self._shown.font_size:
            self._apply_font(look.font_size)
        self._shown = look

    def end(self) -> None:
        """As it was before (for tests, which share one application)."""
        self.apply(Window())
        for translator in self._translators:
            self._application.removeTranslator(translator)
        self._translators.clear()
        QLocale.setDefault(QLocale.system())

    def _speak(self, language: str) -> None:
        if not language:
            return
        qt = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
        for file in (qt / f"qtbase_{language}.qm", resource(f"translations/reverie_{language}.qm")):
            translator = QTranslator(self)
            if translator.load(str(file)):
                self._application.installTranslator(translator)
                self._translators.append(translator)

    def _apply_theme(self, theme: str) -> None:
        from PySide6.QtCore import Qt  # late: its enums take longer than all else before the first paint

        hints = self._application.styleHints()
        wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}.get(theme)
        # An empty palette is the system's own again.
        palette = QPalette()
        if wanted is None:
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(wanted)
            if hints.colorScheme() != wanted:
                # This platform cannot be asked for a scheme.
                palette = dark_palette() if theme == "dark" else self._application.style().standardPalette()
        self._application.setPalette(palette)

    def _apply_font(self, size: int) -> None:
        from PySide6.QtCore import Qt  # late, as above

        font = QFont(self._system_font)
        if size:
            font.setPointSize(size)
        before = self._application.font().pointSizeF()
        sized = {
            widget: widget.font().pointSizeF()
            for widget in self._application.allWidgets()
            if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont)
        }
        self._application.setFont(font)
        for widget, old in sized.items():
            # Headings and fixed fonts have a size of their own, which grows with the others'.
            if before > 0 and old > 0 and widget.font().pointSizeF() == old:
                _resize_font(widget, old * font.pointSizeF() / before)


def _resize_font(widget: QWidget, size: float) -> None:
    font = widget.font()
    font.setPointSizeF(size)
    widget.setFont(font)
