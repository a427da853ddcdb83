"""How the window looks: colours, spacing, fonts and icons, and the theme, font size and language of the
settings.

No final colour is fixed: each is a hue mixed into the palette's own background and then moved away from it
until the contrast of WCAG 2 AA is reached (4.5 for text, 3 for signs). So light, dark and custom palettes
stay readable. Widgets ask again when their palette changes; results are cached per palette.

Threading: GUI thread; `contrast` and `readable` are plain arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QLibraryInfo,
    QLocale,
    QObject,
    QRectF,
    QSize,
    QTranslator,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from reverie.engine.address import MachineAddress
from reverie.engine.start import StartingEngine
from reverie.files.paths import read_regular
from reverie.resources import resource

TEXT_CONTRAST = 4.5
SIGN_CONTRAST = 3.0
# How much darker than the window Fusion draws outlines, in the percent of QColor.darker.
_FUSION_OUTLINE = 140

# One unit of distance; everything is a multiple of it, so that edges line up.
UNIT = 4
GAP = 2 * UNIT
MARGIN = 3 * UNIT

_BLUE = QColor(36, 110, 210)
_GREEN = QColor(30, 140, 70)
_AMBER = QColor(200, 125, 0)
_RED = QColor(200, 50, 45)
_VIOLET = QColor(130, 80, 200)


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they mean. `*_back` are backgrounds on which the palette's text stays readable."""

    dark: bool
    base: QColor
    window: QColor
    text: QColor
    dim: QColor
    dim_window: QColor
    line: QColor
    accent: QColor
    good: QColor
    warn: QColor
    bad: QColor
    code: QColor
    good_text: QColor
    warn_text: QColor
    bad_text: QColor
    accent_back: QColor
    warn_back: QColor
    bad_back: QColor
    added_back: QColor
    removed_back: QColor
    added: QColor
    removed: QColor
    hunk: QColor


def luminance(color: QColor) -> float:
    """Relative luminance, 0 (black) to 1 (white), as WCAG 2 defines it."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())


def contrast(one: QColor, other: QColor) -> float:
    """Contrast ratio, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(color: QColor, into: QColor, share: float) -> QColor:
    """`share` of `color` in `into`, opaque."""

    def channel(one: int, other: int) -> int:
        return round(one * share + other * (1 - share))

    return QColor(
        channel(color.red(), into.red()),
        channel(color.green(), into.green()),
        channel(color.blue(), into.blue()),
    )


def readable(color: QColor, background: QColor, ratio: float = TEXT_CONTRAST) -> QColor:
    """The nearest colour to `color`, towards black or white, that reaches `ratio` on `background`."""
    return QColor.fromRgb(_readable(color.rgb(), background.rgb(), ratio))


@lru_cache(maxsize=256)  # each row that is drawn asks
def _readable(color_rgb: int, background_rgb: int, ratio: float) -> int:
    # Not QColor(int), here and below: to tell whether a `Qt.GlobalColor` is meant, PySide makes every enum of
    # `Qt`, which the first paint does not wait for.
    color, background = QColor.fromRgb(color_rgb), QColor.fromRgb(background_rgb)
    black, white = QColor(0, 0, 0), QColor(255, 255, 255)
    goal = white if contrast(white, background) > contrast(black, background) else black
    for percent in range(0, 101, 4):
        candidate = mixed(goal, color, percent / 100)
        if contrast(candidate, background) >= ratio:
            return candidate.rgb()
    return goal.rgb()


def dimmed(text: QColor, background: QColor) -> QColor:
    """`text` as quiet as it may be on `background`."""
    return readable(mixed(text, background, 0.62), background)


def theme_of(palette: QPalette) -> Theme:
    """The theme of a widget's palette."""
    key = palette.cacheKey()
    found = _themes.get(key)
    if found is None:
        if len(_themes) >= _MOST_THEMES:
            _themes.clear()
        group = QPalette.ColorGroup.Active
        found = _themes[key] = _theme(
            palette.color(group, QPalette.ColorRole.Base).rgb(),
            palette.color(group, QPalette.ColorRole.Window).rgb(),
            palette.color(group, QPalette.ColorRole.Text).rgb(),
            palette.color(group, QPalette.ColorRole.WindowText).rgb(),
        )
    return found


# By `QPalette.cacheKey`, which another palette never has: asking a palette for four colours takes longer than
# most of what is then done with them.
_themes: dict[int, Theme] = {}
_MOST_THEMES = 64


@lru_cache(maxsize=8)
def _theme(base_rgb: int, window_rgb: int, text_rgb: int, window_text_rgb: int) -> Theme:
    base, window, text = (QColor.fromRgb(rgb) for rgb in (base_rgb, window_rgb, text_rgb))
    window_text = QColor.fromRgb(window_text_rgb)
    added, removed = mixed(_GREEN, base, 0.16), mixed(_RED, base, 0.15)
    return Theme(
        dark=luminance(base) < luminance(text),
        base=base,
        window=window,
        text=readable(text, base),
        dim=dimmed(text, base),
        dim_window=dimmed(window_text, window),
        line=mixed(window_text, window, 0.18),
        accent=readable(_BLUE, base, SIGN_CONTRAST),
        good=readable(_GREEN, base, SIGN_CONTRAST),
        warn=readable(_AMBER, base, SIGN_CONTRAST),
        bad=readable(_RED, base, SIGN_CONTRAST),
        code=readable(_VIOLET, base),
        good_text=readable(_GREEN, window),
        warn_text=readable(_AMBER, window),
        bad_text=readable(_RED, window),
        accent_back=mixed(_BLUE, window, 0.12),
        warn_back=mixed(_AMBER, window, 0.18),
        bad_back=mixed(_RED, window, 0.14),
        added_back=added,
        removed_back=removed,
        added=readable(_GREEN, added),
        removed=readable(_RED, removed),
        hunk=readable(_BLUE, base),
    )


class CalmSelection(QObject):
    """Keeps a list's highlight dark (or light) enough for its own highlighted text; Fusion's blue is not.

    With `boxes` also the outline of boxes to tick is kept visible, which Fusion derives from the window's
    colour: on a dark one it is darker still. Only that is set on the widget: all else goes on following the
    system's palette live.
    """

    def __init__(self, view: QWidget, *, boxes: bool = False) -> None:
        super().__init__(view)
        self._view = view
        self._boxes = boxes
        self._applying = False
        view.installEventFilter(self)
        self._apply()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.PaletteChange and not self._applying:
            self._apply()
        return False

    def _apply(self) -> None:
        system = QApplication.palette(self._view)
        own = QPalette()
        own.setResolveMask(0)
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            text = system.color(group, QPalette.ColorRole.HighlightedText)
            back = system.color(group, QPalette.ColorRole.Highlight)
            if contrast(text, back) < TEXT_CONTRAST:
                own.setColor(group, QPalette.ColorRole.Highlight, readable(back, text))
            if self._boxes:
                base = system.color(group, QPalette.ColorRole.Base)
                outline = system.color(group, QPalette.ColorRole.Window).darker(_FUSION_OUTLINE)
                seen = readable(outline, base, SIGN_CONTRAST)
                own.setColor(group, QPalette.ColorRole.Window, seen.lighter(_FUSION_OUTLINE))
        self._applying = True
        self._view.setPalette(own)
        self._applying = False


def dark_palette() -> QPalette:
    """A dark palette for Fusion where no system can be asked (offscreen screenshots, tests)."""
    window, base, text = QColor(43, 45, 48), QColor(30, 31, 34), QColor(223, 225, 229)
    palette = QPalette(window)
    roles = QPalette.ColorRole
    for role, color in (
        (roles.Window, window),
        (roles.Base, base),
        (roles.AlternateBase, mixed(window, base, 0.5)),
        (roles.Text, text),
        (roles.WindowText, text),
        (roles.Button, mixed(text, window, 0.06)),
        (roles.ButtonText, text),
        (roles.ToolTipBase, window),
        (roles.ToolTipText, text),
        (roles.PlaceholderText, mixed(text, base, 0.5)),
        (roles.Highlight, QColor(46, 90, 160)),
        (roles.HighlightedText, QColor(255, 255, 255)),
        (roles.Link, QColor(120, 170, 250)),
    ):
        palette.setColor(role, color)
    quiet = mixed(text, window, 0.42)
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, quiet)
    return palette


def tabular(font: QFont) -> QFont:
    """`font` with figures of one width, so that numbers below each other line up and do not dance."""
    figures = QFont(font)
    figures.setFeature(QFont.Tag("tnum"), 1)
    return figures


def monospace() -> QFont:
    """The system's fixed font at the size of the interface."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    size = QApplication.font().pointSizeF()
    if size > 0:
        font.setPointSizeF(size)
    return font


# Icons: SVG drawings whose `currentColor` is replaced by a colour of the palette, read once before the
# window is shown. Pixmaps are cached by name, size, colour and pixel ratio; after `refresh`, holders of a
# QIcon ask again.


NAMES = (
    "archived", "cancel", "check", "close", "companion", "consolidate", "copy", "delete", "edited", "error",
    "file", "flag", "folder", "form", "generated", "global", "home", "info", "keyboard", "locked", "multi",
    "new", "open", "orphan", "pin", "preview", "project", "refresh", "rename", "reverie", "runs", "save",
    "side", "sort", "source", "trash", "undo", "warning", "workspace",
)  # fmt: skip

SIZE = 16
_NOTHING = QColor(0, 0, 0, 0)


class Icons:
    """All drawings of the window. One per process is enough; make it before anything is shown."""

    def __init__(self) -> None:
        self._sources = {name: resource(f"icons/{name}.svg").read_text(encoding="utf-8") for name in NAMES}
        self._pixmaps: dict[tuple[str, int, int, float], QPixmap] = {}

    def refresh(self) -> None:
        """Forget what was drawn for the last palette."""
        self._pixmaps.clear()

    def icon(self, name: str, color: QColor | None = None) -> QIcon:
        """An icon in `color`, or in the colour of button texts, with a quieter one for disabled controls."""
        palette = QGuiApplication.palette()
        text = palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.ButtonText)
        back = palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Button)
        icon = QIcon()
        # The style makes the disabled one. A sharper one is drawn only where some screen needs it.
        for ratio in sorted({1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}):
            icon.addPixmap(self.pixmap(name, SIZE, color or dimmed(text, back), ratio))
        return icon

    def sign(self, name: str, color: QColor, palette: QPalette) -> QIcon:
        """An icon for a row of a list: in `color`, and in the colour of chosen text where it is selected."""
        icon = self.icon(name, color)
        chosen = palette.color(QPalette.ColorRole.HighlightedText)
        for ratio in sorted({1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}):
            icon.addPixmap(self.pixmap(name, SIZE, chosen, ratio), QIcon.Mode.Selected, QIcon.State.Off)
        return icon

    def pixmap(self, name: str, size: int, color: QColor, ratio: float = 1.0) -> QPixmap:
        """The drawing as a square of `size` logical pixels."""
        key = (name, size, color.rgba(), ratio)
        found = self._pixmaps.get(key)
        if found is None:
            found = self._pixmaps[key] = self._drawn(name, size, color, ratio)
        return found

    def _drawn(self, name: str, size: int, color: QColor, ratio: float) -> QPixmap:
        source = self._sources[name].replace("currentColor", color.name())
        renderer = QSvgRenderer(QByteArray(source.encode()))
        pixels = QSize(round(size * ratio), round(size * ratio))
        pixmap = QPixmap(pixels)
        pixmap.fill(_NOTHING)
        painter = QPainter(pixmap)
        renderer.render(painter, QRectF(0, 0, pixels.width(), pixels.height()))
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        return pixmap


@dataclass(frozen=True, slots=True)
class WindowStyle:
    """Theme, font size and language, with the fields and defaults of `settings.WindowSettings`."""

    font_size: int = 0
    """In points; 0: what the system uses."""
    language: str = "system"
    theme: str = "system"


@dataclass(frozen=True, slots=True)
class StartupOptions:
    """What a new window opens first."""

    homes: tuple[Path, ...] = ()
    """The homes to open; if empty, those that are found on this machine."""
    workspace: str = ""
    """The id of the workspace to select."""
    demo: Path | None = None
    """Where a copy of the demo home may be put."""
    open_demo: bool = False
    and_found: bool = False
    """Open the homes that are found as well as `homes`."""
    watching: bool = True
    engine: bool = False
    """Use the engine of the profile, a process of its own; otherwise one in this process."""
    asking: bool = True
    """Somebody can answer questions; otherwise a home that was moved is opened as a new one."""
    project: str = ""
    """The path of the project to select where no workspace is named."""
    closed: tuple[Path, ...] = ()
    """Homes that were closed by hand; they are not reopened when they are found."""
    hosts: tuple[MachineAddress, ...] = ()
    """Other machines whose homes are opened as well."""
    starting: StartingEngine | None = None
    """The engine, if it was started already and tells the first names."""


# Theme, font size and language: read from `[window]` in the settings file, and applied.
#
# Read before the first paint, when `reverie.settings` may not be imported yet (it takes a tenth of a
# second), so the rules for these three values are repeated here; a test compares both. A language takes
# effect at the next start, because each text is translated once. A value that is not valid counts as its
# default.


LARGEST_FONT = 48
_LARGEST = 4 << 20
LANGUAGES = ("system", "en", "de")
THEMES = ("system", "light", "dark")
_TRANSLATED = ("de",)


def read_window_style(settings_file: Path) -> WindowStyle:
    """The window's values of the settings file; the default for each that is missing or invalid."""
    try:
        content = read_regular(settings_file, _LARGEST)
    except OSError:
        return WindowStyle()
    if b"window" not in content:
        return WindowStyle()
    import tomllib  # late: few have such settings

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
    """The language to translate into, empty for English. `system`: languages by preference, such as
    `de-AT`."""
    for name in [wanted] if wanted != "system" else system:
        language = name.replace("_", "-").partition("-")[0].lower()
        if language == "en" or language in _TRANSLATED:
            return "" if language == "en" else language
    return ""


class AppearanceControl(QObject):
    """Applies a look to the application. Made before the first widget."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._system_font = QFont(application.font())
        self._translators: list[QTranslator] = []
        self._shown = WindowStyle()

    def begin(self, look: WindowStyle) -> None:
        """Before the window is made: language too."""
        self._speak(language_of(look.language, list(QLocale.system().uiLanguages())))
        if look.language != "system":
            QLocale.setDefault(QLocale(look.language))
        self.apply(look)

    @Slot(object)
    def apply(self, look: WindowStyle) -> None:
        """Theme and font size, at once and everywhere."""
        if look.theme != self._shown.theme:
            self._apply_theme(look.theme)
        if look.font_size != self._shown.font_size:
            self._apply_font(look.font_size)
        self._shown = look

    def end(self) -> None:
        """As it was before (for tests, which share one application)."""
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
        from PySide6.QtCore import Qt  # late: it makes a hundred enums, which no name is painted with

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
