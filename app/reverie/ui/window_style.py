"""The theme, font size and language of the window: reads them from `[window]` in the settings, applies them.

An invalid value is replaced by its default.

Threading: GUI thread. Failure: none.
"""

from __future__ import annotations

from pathlib import Path

from PySide6 import QtCore
from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QTranslator, Slot
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from reverie.files.directory import read_regular
from reverie.resources import resource
from reverie.ui.appearance import _ROLE, dark_palette, is_high_contrast, light_palette, luminance
from reverie.values import Struct


class WindowStyle(Struct, frozen=True):
    """The theme, font size and language of the window.

    The fields and defaults are those of `settings.WindowSettings`.
    """

    font_size: int = 0
    """The font size in points; 0 for the system's size."""
    language: str = "system"
    theme: str = "system"


LARGEST_FONT = 48


_LARGEST = 4 << 20


LANGUAGES = ("system", "en", "de")


THEMES = ("system", "light", "dark")


_TRANSLATED = ("de",)


def read_window_style(settings_file: Path) -> WindowStyle:
    """Read the theme, font size and language from the settings file.

    A missing or invalid value is replaced by its default. This is called before the first paint, when
    `reverie.settings` must not be imported, because that takes a tenth of a second. So the rules for these
    values are repeated here; a test compares both.
    """
    try:
        content = read_regular(settings_file, _LARGEST)
    except OSError:
        return WindowStyle()
    if b"window" not in content:
        return WindowStyle()
    import tomllib  # late: few users have such settings

    try:
        table = tomllib.loads(content.decode("utf-8-sig")).get("window")
    except (ValueError, RecursionError):
        return WindowStyle()
    values = table if isinstance(table, dict) else {}
    size, language, theme = values.get("font_size"), values.get("language"), values.get("theme")
    fits = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= LARGEST_FONT
    return WindowStyle(
        size if fits and isinstance(size, int) else 0,
        language if language in LANGUAGES else "system",
        theme if theme in THEMES else "system",
    )


def language_of(wanted: str, system: list[str]) -> str:
    """Return the code of the language for the texts of the window; "" for English.

    `wanted` is the setting. `system` lists the system's languages, such as `de-AT`, in order of preference.
    """
    for name in [wanted] if wanted != "system" else system:
        language = name.replace("_", "-").partition("-")[0].lower()
        if language == "en" or language in _TRANSLATED:
            return "" if language == "en" else language
    return ""


class AppearanceControl(QObject):
    """Applies a `WindowStyle` to the application. Create it before the first widget.

    A changed language takes effect at the next start, because each text is translated only once.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._system_font = QFont(application.font())
        self._translators: list[QTranslator] = []
        self._shown = WindowStyle()
        application.styleHints().colorSchemeChanged.connect(self._on_scheme)

    def begin(self, look: WindowStyle) -> None:
        """Apply a style, including its language. Call this before the window is created."""
        self._speak(language_of(look.language, list(QLocale.system().uiLanguages())))
        if look.language != "system":
            QLocale.setDefault(QLocale(look.language))
        if look.theme == "system":
            self._use_palette("system")
        self.apply(look)

    @Slot(object)
    def apply(self, look: WindowStyle) -> None:
        """Apply the theme and font size of a style to all widgets at once; its language is ignored."""
        if look.theme != self._shown.theme:
            self._apply_theme(look.theme)
        if look.font_size != self._shown.font_size:
            self._apply_font(look.font_size)
        self._shown = look

    def end(self) -> None:
        """Restore the style from before `begin` (for tests, which share one application)."""
        self.apply(WindowStyle())
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
        hints = self._application.styleHints()
        wanted = {"light": QtCore.Qt.ColorScheme.Light, "dark": QtCore.Qt.ColorScheme.Dark}.get(theme)
        # The system's window frames and dialogs follow, on platforms that support it.
        if wanted is None:
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(wanted)
        self._use_palette(theme)

    @Slot()
    def _on_scheme(self) -> None:
        if self._shown.theme == "system":
            self._use_palette("system")

    def _use_palette(self, theme: str) -> None:
        """Set Reverie's light or dark palette, as `theme` says.

        For "system", the system's setting decides between them; a high contrast palette of the system is
        kept.
        """
        self._application.setPalette(QPalette())  # the system's own
        system = self._application.palette()
        colours = [system.color(role) for role in (_ROLE.Base, _ROLE.Window, _ROLE.Text)]
        if theme == "system" and is_high_contrast(*colours):
            return
        dark = theme == "dark" or (theme == "system" and luminance(colours[0]) < luminance(colours[2]))
        self._application.setPalette(dark_palette() if dark else light_palette())

    def _apply_font(self, size: int) -> None:
        font = QFont(self._system_font)
        if size:
            font.setPointSize(size)
        before = self._application.font().pointSizeF()
        sized = {
            widget: widget.font().pointSizeF()
            for widget in self._application.allWidgets()
            if widget.testAttribute(QtCore.Qt.WidgetAttribute.WA_SetFont)
        }
        self._application.setFont(font)
        for widget, old in sized.items():
            # Headings and fixed fonts have sizes of their own, which are scaled too.
            if before > 0 and old > 0 and widget.font().pointSizeF() == old:
                _resize_font(widget, old * font.pointSizeF() / before)


def _resize_font(widget: QWidget, size: float) -> None:
    font = widget.font()
    font.setPointSizeF(size)
    widget.setFont(font)
