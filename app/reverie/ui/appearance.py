"""The colours, spacing and fonts of the window.

Reverie has two palettes of its own. For any other palette, the colours are computed: a hue is mixed into the
background, and the result is moved away from the background until it reaches the contrast of WCAG 2 AA (4.5
for text, 3 for icons). So light, dark and custom palettes stay readable. Widgets call `theme_of` again when
their palette changes; results are cached per palette.

Threading: GUI thread; `contrast` and `readable` are plain arithmetic.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication

from reverie.values import Struct

TEXT_CONTRAST = 4.5
SIGN_CONTRAST = 3.0
HIGH_CONTRAST = 15.0
_ROLE = QPalette.ColorRole

# The unit of distance; everything is a multiple of it, so that edges line up.
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
    """The colours of the window, named by their purpose.

    The palette's text colour is readable on every background whose name ends in `_back`.
    """

    dark: bool
    base: QColor
    """The background of lists, editors and fields; the token `surface`."""
    window: QColor
    """The background around lists, editors and fields; the token `canvas`."""
    text: QColor
    dim: QColor
    """The colour of less important text on `base`."""
    dim_window: QColor
    """The colour of less important text on `window`."""
    quiet: QColor
    """The colour of placeholders and disabled text; less visible than `dim`."""
    line: QColor
    """The colour of dividers; not used for outlines, whose colour is `edge`."""
    edge: QColor
    """The outline of a control; at least 3 to 1 on `base` and `window`."""
    hover: QColor
    """The background of the row under the mouse."""
    selected: QColor
    """The background of the selected row of the list that has the focus."""
    selected_idle: QColor
    """The background of the selected row of any other list."""
    accent: QColor
    """The colour that marks the focus, the chosen and the main button."""
    on_accent: QColor
    """The colour of text on a button that is filled with `accent`."""
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
    """The colours of our own two palettes, as `#RRGGBB`.

    Each colour reaches the contrast of WCAG 2 AA on every background on which it is used; a test computes
    this.
    """

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
    """Return the relative luminance, 0 (black) to 1 (white), as WCAG 2 defines it."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())


def contrast(one: QColor, other: QColor) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(color: QColor, into: QColor, share: float) -> QColor:
    """Return an opaque mixture of two colours: `share` (0 to 1) of `color`, and the rest of `into`."""

    def channel(one: int, other: int) -> int:
        return round(one * share + other * (1 - share))

    return QColor(
        channel(color.red(), into.red()),
        channel(color.green(), into.green()),
        channel(color.blue(), into.blue()),
    )


def readable(color: QColor, background: QColor, ratio: float = TEXT_CONTRAST) -> QColor:
    """Return the colour nearest to `color`, towards black or white, that reaches `ratio` on `background`."""
    return QColor.fromRgb(_readable(color.rgb(), background.rgb(), ratio))


@lru_cache(maxsize=256)  # called for each painted row
def _readable(color_rgb: int, background_rgb: int, ratio: float) -> int:
    # Not QColor(int), here and below: to check for a `Qt.GlobalColor`, PySide creates every enum of `Qt`,
    # which would delay the first paint.
    color, background = QColor.fromRgb(color_rgb), QColor.fromRgb(background_rgb)
    black, white = QColor(0, 0, 0), QColor(255, 255, 255)
    goal = white if contrast(white, background) > contrast(black, background) else black
    for percent in range(0, 101, 4):
        candidate = mixed(goal, color, percent / 100)
        if contrast(candidate, background) >= ratio:
            return candidate.rgb()
    return goal.rgb()


def dimmed(text: QColor, background: QColor) -> QColor:
    """Return a paler variant of the colour `text` that is still readable on `background`."""
    return readable(mixed(text, background, 0.62), background)


def theme_of(palette: QPalette) -> Theme:
    """Return the theme for a palette; the result is cached."""
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


# By `QPalette.cacheKey`, which is unique: querying a palette for four colours takes longer than most uses
# of them.
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
    """Return a theme that fits a palette that does not come from Reverie; the arguments are its colours.

    Such a palette is the system's high contrast one, or one that the user has set.
    """
    added, removed = mixed(_GREEN, base, 0.16), mixed(_RED, base, 0.15)
    text = readable(text, base)
    # If window and base have the same colour, only edges separate controls.
    strict = is_high_contrast(base, window, text)
    edge = window_text if strict else readable(_GREY, base, SIGN_CONTRAST)
    # In high contrast the text of selected rows is readable only on the system's highlight.
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
    """Return True if these colours are those of the system's high contrast theme, which is never changed."""
    return contrast(text, base) >= HIGH_CONTRAST and base == window


def light_palette() -> QPalette:
    """Return Reverie's own light palette."""
    return _palette(_LIGHT)


def dark_palette() -> QPalette:
    """Return Reverie's own dark palette."""
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
    """Return `font` with digits of equal width, so that numbers line up and do not move."""
    figures = QFont(font)
    figures.setFeature(QFont.Tag("tnum"), 1)
    return figures


def monospace() -> QFont:
    """Return the system's monospaced font at the size of the interface's font."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    size = QApplication.font().pointSizeF()
    if size > 0:
        font.setPointSizeF(size)
    return font
