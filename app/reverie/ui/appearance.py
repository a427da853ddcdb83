"""How the window looks: colours, spacing, fonts and icons, and the theme, font size and language of the
settings.

No final colour is fixed: each is a hue mixed into the palette's own background and then moved away from it
until the contrast of WCAG 2 AA is reached (4.5 for text, 3 for signs). So light, dark and custom palettes
stay readable. Widgets ask again when their palette changes; results are cached per palette.

Threading: GUI thread; `contrast` and `readable` are plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from PySide6 import QtCore
from PySide6.QtCore import (
    QByteArray,
    QLibraryInfo,
    QLocale,
    QObject,
    QPointF,
    QRect,
    QRectF,
    QSize,
    QTranslator,
    Slot,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QPainter,
    QPainterPath,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenuBar, QTabBar, QWidget

from reverie.engine.start import MachineAddress, StartingEngine
from reverie.files.directory import read_regular
from reverie.resources import resource
from reverie.values import Struct

TEXT_CONTRAST = 4.5
SIGN_CONTRAST = 3.0
HIGH_CONTRAST = 15.0
_ROLE = QPalette.ColorRole

# One unit of distance; everything is a multiple of it, so that edges line up.
UNIT = 4
GAP = 2 * UNIT
MARGIN = 3 * UNIT

_BLUE = QColor(36, 110, 210)
_GREEN = QColor(30, 140, 70)
_AMBER = QColor(200, 125, 0)
_RED = QColor(200, 50, 45)
_VIOLET = QColor(130, 80, 200)
_GREY = QColor(134, 142, 153)


class Theme(Struct, frozen=True):
    """Colours by what they mean. `*_back` are backgrounds on which the palette's text stays readable."""

    dark: bool
    base: QColor
    """Lists, editors and fields; the token `surface`."""
    window: QColor
    """What lies around them; the token `canvas`."""
    text: QColor
    dim: QColor
    dim_window: QColor
    quiet: QColor
    """Placeholders and what is switched off; quieter than `dim`."""
    line: QColor
    """Dividers only."""
    edge: QColor
    """The outline of a control; at least 3 to 1 on `base` and `window`."""
    hover: QColor
    selected: QColor
    """Behind the selected row of the list that has the focus."""
    selected_idle: QColor
    """Behind the selected row of any other list."""
    accent: QColor
    on_accent: QColor
    """Text on a button that is filled with `accent`."""
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
    added_word: QColor
    removed_back: QColor
    removed_word: QColor
    added: QColor
    removed: QColor
    hunk: QColor


class _Tokens(Struct, frozen=True):
    """The colours of our own two palettes, as `#RRGGBB`. AA on every background they are used on; a test
    computes it."""

    canvas: str
    surface: str
    hover: str
    selected: str
    selected_idle: str
    line: str
    edge: str
    text: str
    text2: str
    text3: str
    accent: str
    on_accent: str
    good: str
    warn: str
    bad: str
    code: str
    added: str
    added_word: str
    removed: str
    removed_word: str


_LIGHT = _Tokens(
    canvas="#F6F7F9",
    surface="#FFFFFF",
    hover="#EEF1F5",
    selected="#DCE9FC",
    selected_idle="#E6E8ED",
    line="#D9DDE3",
    edge="#868E99",
    text="#1C2128",
    text2="#57606A",
    text3="#636C76",
    accent="#0B62C9",
    on_accent="#FFFFFF",
    good="#1A7F37",
    warn="#8F5B00",
    bad="#C4222B",
    code="#7A3FB8",
    added="#E4F6E9",
    added_word="#B5E6C1",
    removed="#FDEBEB",
    removed_word="#F6BFBF",
)
_DARK = _Tokens(
    canvas="#1A1C20",
    surface="#212429",
    hover="#2A2E35",
    selected="#26405F",
    selected_idle="#30353D",
    line="#363B43",
    edge="#7C8591",
    text="#E7E9EC",
    text2="#ABB3BD",
    text3="#929BA6",
    accent="#6FB1FF",
    on_accent="#0B0D10",
    good="#57C27A",
    warn="#E0A83C",
    bad="#FF7B78",
    code="#C79BF2",
    added="#1C3325",
    added_word="#2C5A3B",
    removed="#3A2225",
    removed_word="#6B3135",
)


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
            palette.color(group, QPalette.ColorRole.Highlight).rgb(),
        )
    return found


# By `QPalette.cacheKey`, which another palette never has: asking a palette for four colours takes longer than
# most of what is then done with them.
_themes: dict[int, Theme] = {}
_MOST_THEMES = 64


@lru_cache(maxsize=8)
def _theme(base_rgb: int, window_rgb: int, text_rgb: int, window_text_rgb: int, selected_rgb: int) -> Theme:
    base, window, text = (QColor.fromRgb(rgb) for rgb in (base_rgb, window_rgb, text_rgb))
    for tokens in (_LIGHT, _DARK):
        if (base, window, text) == (QColor(tokens.surface), QColor(tokens.canvas), QColor(tokens.text)):
            return _own_theme(tokens)
    return _foreign_theme(base, window, text, QColor.fromRgb(window_text_rgb), QColor.fromRgb(selected_rgb))


def _own_theme(tokens: _Tokens) -> Theme:
    base, window = QColor(tokens.surface), QColor(tokens.canvas)
    accent, good, warn, bad = (QColor(name) for name in (tokens.accent, tokens.good, tokens.warn, tokens.bad))
    return Theme(
        dark=tokens is _DARK,
        base=base,
        window=window,
        text=QColor(tokens.text),
        dim=QColor(tokens.text2),
        dim_window=QColor(tokens.text2),
        quiet=QColor(tokens.text3),
        line=QColor(tokens.line),
        edge=QColor(tokens.edge),
        hover=QColor(tokens.hover),
        selected=QColor(tokens.selected),
        selected_idle=QColor(tokens.selected_idle),
        accent=accent,
        on_accent=QColor(tokens.on_accent),
        good=good,
        warn=warn,
        bad=bad,
        code=QColor(tokens.code),
        good_text=good,
        warn_text=warn,
        bad_text=bad,
        accent_back=QColor(tokens.selected),
        warn_back=mixed(warn, window, 0.14),
        bad_back=QColor(tokens.removed),
        added_back=QColor(tokens.added),
        added_word=QColor(tokens.added_word),
        removed_back=QColor(tokens.removed),
        removed_word=QColor(tokens.removed_word),
        added=good,
        removed=bad,
        hunk=accent,
    )


def _foreign_theme(
    base: QColor, window: QColor, text: QColor, window_text: QColor, highlight: QColor
) -> Theme:
    """The theme of a palette that is not ours: the system's own in high contrast, or one that a person
    set."""
    added, removed = mixed(_GREEN, base, 0.16), mixed(_RED, base, 0.15)
    text = readable(text, base)
    # Where window and base are one colour, only edges tell one control from the next.
    strict = is_high_contrast(base, window, text)
    edge = window_text if strict else readable(_GREY, base, SIGN_CONTRAST)
    # In high contrast the texts of selected rows are made for the system's highlight, and for no mixture.
    selected = highlight if strict else mixed(_BLUE, base, 0.22)
    accent = readable(_BLUE, base, SIGN_CONTRAST)
    return Theme(
        dark=luminance(base) < luminance(text),
        base=base,
        window=window,
        text=text,
        dim=dimmed(text, base),
        dim_window=dimmed(window_text, window),
        quiet=dimmed(text, base),
        line=mixed(window_text, window, 0.18),
        edge=readable(edge, window, SIGN_CONTRAST),
        hover=mixed(text, base, 0.06),
        selected=selected,
        selected_idle=highlight if strict else mixed(text, base, 0.12),
        accent=accent,
        on_accent=readable(base, accent),
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
        added_word=mixed(_GREEN, base, 0.34),
        removed_back=removed,
        removed_word=mixed(_RED, base, 0.32),
        added=readable(_GREEN, added),
        removed=readable(_RED, removed),
        hunk=readable(_BLUE, base),
    )


def is_high_contrast(base: QColor, window: QColor, text: QColor) -> bool:
    """Whether these are the colours of a system's high contrast theme, which is then left as it is."""
    return contrast(text, base) >= HIGH_CONTRAST and base == window


def light_palette() -> QPalette:
    """Our own colours on light."""
    return _palette(_LIGHT)


def dark_palette() -> QPalette:
    """Our own colours on dark."""
    return _palette(_DARK)


def _palette(tokens: _Tokens) -> QPalette:
    canvas, surface, text = QColor(tokens.canvas), QColor(tokens.surface), QColor(tokens.text)
    palette = QPalette(surface, canvas)
    roles, groups = QPalette.ColorRole, QPalette.ColorGroup
    for role, color in (
        (roles.Window, canvas),
        (roles.Base, surface),
        (roles.AlternateBase, canvas),
        (roles.Text, text),
        (roles.WindowText, text),
        (roles.Button, surface),
        (roles.ButtonText, text),
        (roles.ToolTipBase, text),
        (roles.ToolTipText, surface),
        (roles.PlaceholderText, QColor(tokens.text3)),
        (roles.Highlight, QColor(tokens.selected)),
        (roles.HighlightedText, text),
        (roles.Accent, QColor(tokens.accent)),
        (roles.Link, QColor(tokens.accent)),
        (roles.LinkVisited, QColor(tokens.accent)),
        (roles.Light, surface),
        (roles.Midlight, QColor(tokens.hover)),
        (roles.Mid, QColor(tokens.line)),
        (roles.Dark, QColor(tokens.edge)),
    ):
        palette.setColor(role, color)
    palette.setColor(groups.Inactive, roles.Highlight, QColor(tokens.selected_idle))
    quiet = mixed(QColor(tokens.text3), canvas, 0.6)
    for role in (roles.Text, roles.WindowText, roles.ButtonText, roles.HighlightedText):
        palette.setColor(groups.Disabled, role, quiet)
    palette.setColor(groups.Disabled, roles.Highlight, QColor(tokens.selected_idle))
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


# Icons: SVG drawings whose `currentColor` is replaced by a colour of the palette when they are painted, so
# that an icon fits each palette, also one that changes, and each state of what it stands on.


NAMES = (
    "agent", "archived", "cancel", "check", "close", "companion", "consolidate", "copy", "delete",
    "edited", "error", "file", "folder", "form", "generated", "global", "home", "info",
    "keyboard", "locked", "multi", "new", "open", "orphan", "pin", "preview", "project", "refresh",
    "rename", "reverie", "runs", "save", "side", "sort", "source", "trash", "undo", "warning",
    "workspace",
)  # fmt: skip

SIZE = 16
"""The side of an icon in pixels beside text of the usual size; `metrics.icon_size` for any other."""
_NOTHING = QColor(0, 0, 0, 0)
_MOST_PIXMAPS = 512


class Icons:
    """All drawings of the window. One per process is enough; make it before anything is shown."""

    def __init__(self) -> None:
        self._sources = {name: resource(f"icons/{name}.svg").read_text(encoding="utf-8") for name in NAMES}
        self._pixmaps: dict[tuple[str, int, int, float], QPixmap] = {}

    def icon(self, name: str, color: QColor | None = None) -> QIcon:
        """An icon in `color`, or in that of the application's palette; quieter where it is switched off."""
        return QIcon(_IconEngine(self, name, color))

    def sign(self, name: str, color: QColor, palette: QPalette) -> QIcon:
        """An icon for a row of a list, in `color`."""
        return self.icon(name, color)

    def pixmap(self, name: str, size: int, color: QColor, ratio: float = 1.0) -> QPixmap:
        """The drawing as a square of `size` logical pixels."""
        key = (name, size, color.rgba(), ratio)
        found = self._pixmaps.get(key)
        if found is None:
            if len(self._pixmaps) >= _MOST_PIXMAPS:
                self._pixmaps.clear()
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


class _IconEngine(QIconEngine):
    """One drawing, coloured when it is painted."""

    def __init__(self, icons: Icons, name: str, color: QColor | None) -> None:
        super().__init__()
        self._icons = icons
        self._name = name
        self._color = color

    def clone(self) -> QIconEngine:
        return _IconEngine(self._icons, self._name, self._color)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        size = min(rect.width(), rect.height())
        pixmap = self._icons.pixmap(self._name, size, self._ink(mode), painter.device().devicePixelRatioF())
        painter.drawPixmap(
            rect.left() + (rect.width() - size) // 2, rect.top() + (rect.height() - size) // 2, pixmap
        )

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self._icons.pixmap(self._name, min(size.width(), size.height()), self._ink(mode))

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        side = round(min(size.width(), size.height()) / scale)
        return self._icons.pixmap(self._name, side, self._ink(mode), scale)

    def _ink(self, mode: QIcon.Mode) -> QColor:
        palette = QGuiApplication.palette()
        if mode == QIcon.Mode.Disabled:
            return palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText)
        return self._color or theme_of(palette).dim


class WindowStyle(Struct, frozen=True):
    """Theme, font size and language, with the fields and defaults of `settings.WindowSettings`."""

    font_size: int = 0
    """In points; 0: what the system uses."""
    language: str = "system"
    theme: str = "system"


class StartupOptions(Struct, frozen=True):
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
    choosing: bool = False
    """A first start: the person chooses which of the homes that are found is shown."""
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
    """The engine, if it was started already."""


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
        application.styleHints().colorSchemeChanged.connect(self._on_scheme)

    def begin(self, look: WindowStyle) -> None:
        """Before the window is made: language too."""
        self._speak(language_of(look.language, list(QLocale.system().uiLanguages())))
        if look.language != "system":
            QLocale.setDefault(QLocale(look.language))
        if look.theme == "system":
            self._use_palette("system")
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
        hints = self._application.styleHints()
        wanted = {"light": QtCore.Qt.ColorScheme.Light, "dark": QtCore.Qt.ColorScheme.Dark}.get(theme)
        # The system's window frames and dialogs follow; not every platform can be asked.
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
        """Our own colours, light or dark; a system in high contrast keeps its own."""
        self._application.setPalette(QPalette())  # what the system says
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
            # Headings and fixed fonts have a size of their own, which grows with the others'.
            if before > 0 and old > 0 and widget.font().pointSizeF() == old:
                _resize_font(widget, old * font.pointSizeF() / before)


def _resize_font(widget: QWidget, size: float) -> None:
    font = widget.font()
    font.setPointSizeF(size)
    widget.setFont(font)


# Sizes, derived from the font of the interface, so that everything grows with it.
#
# The reference is a font of 13 pixels; a smaller or larger one scales everything alike. Threading: GUI
# thread.


_REFERENCE = 13
_USUAL_ICON = 16
_known: dict[str, int] = {}
"""Pixels by `QFont.key`: each row that is drawn asks."""


def scaled(font: QFont, size: float) -> int:
    """`size`, given for the reference font, in `font`."""
    key = font.key()
    pixels = _known.get(key)
    if pixels is None:
        pixels = _known[key] = QFontInfo(font).pixelSize()
    return round(size * pixels / _REFERENCE)


def row_height(font: QFont) -> int:
    """A row of a list or tree, a field and a button."""
    return max(24, scaled(font, 28))


def two_line_height(font: QFont) -> int:
    """A row with a second, quieter line."""
    return max(38, scaled(font, 44))


def icon_size(font: QFont) -> int:
    """The side of an icon beside text."""
    return max(16, scaled(font, 16.25))


# What a style in Python and the tree that is painted before it have in common.


def draw_chevron(
    painter: QPainter, area: QRect, colour: QColor, *, down: bool = True, turned: float = 0.0
) -> None:
    """An arrow as large as the text asks for; `turned`: by so many degrees."""
    size = icon_size(painter.font()) / _USUAL_ICON
    tip = 2.0 if down else -2.0
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(QRectF(area).center())
    painter.scale(size, size)
    painter.rotate(turned)
    pen = painter.pen()  # another would make all enums of Qt, before the first names are seen
    pen.setColor(colour)
    pen.setWidthF(1.5)
    path = QPainterPath(QPointF(-4, -tip))
    path.lineTo(QPointF(0, tip))
    path.lineTo(QPointF(4, -tip))
    painter.strokePath(path, pen)
    painter.restore()


def draw_branch(painter: QPainter, area: QRect, colour: QColor, *, is_open: bool, leftwards: bool) -> None:
    """The sign of a row that can be opened. `leftwards`: what is in it stands to the left."""
    closed = 90.0 if leftwards else -90.0
    draw_chevron(painter, area, colour, turned=0.0 if is_open else closed)


MNEMONICS = "shows-mnemonics"
"""The property of a window by which the style knows."""


def show_mnemonics(window: QWidget, shown: bool) -> None:
    """Underline the letters that Alt reaches in `window`, or none. A window that never asks for either
    underlines them always."""
    if window.property(MNEMONICS) is shown:
        return
    window.setProperty(MNEMONICS, shown)
    for widget in descendants(window):
        if isinstance(widget, QMenuBar | QAbstractButton | QLabel | QTabBar):
            widget.update()


def descendants(widget: QWidget) -> Iterator[QWidget]:
    """Yield every widget below `widget`, in no order.

    In place of `findChildren`, the focus chain and `focusProxy`: there PySide takes the widget that was asked
    for the owner of the one found, and the garbage collector then deletes widgets that are in use."""
    return (each for each in QApplication.allWidgets() if each is not widget and widget.isAncestorOf(each))
