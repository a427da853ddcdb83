"""Every colour is readable on its background, in any palette."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QPalette

from reverie.ui.appearance import (
    SIGN_CONTRAST,
    TEXT_CONTRAST,
    contrast,
    dark_palette,
    dimmed,
    readable,
    theme_of,
)

COLOUR = st.integers(0, 0xFFFFFF).map(QColor.fromRgb)


@given(COLOUR, COLOUR)
def test_a_readable_colour_reaches_the_contrast_on_any_background(colour: QColor, back: QColor) -> None:
    assert contrast(readable(colour, back), back) >= TEXT_CONTRAST


@given(COLOUR, COLOUR)
def test_dim_text_is_still_text(text: QColor, back: QColor) -> None:
    assert contrast(dimmed(text, back), back) >= TEXT_CONTRAST


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(QColor("black"), QColor("white")) == pytest.approx(21)
    assert contrast(QColor("#777"), QColor("white")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_meets_aa_in_both_schemes(qapp: object, dark: bool) -> None:
    theme = theme_of(dark_palette() if dark else QPalette(QColor(239, 239, 239)))
    assert theme.dark == dark
    for text in (theme.text, theme.dim, theme.code, theme.hunk):
        assert contrast(text, theme.base) >= TEXT_CONTRAST
    for text in (theme.dim_window, theme.good_text, theme.warn_text, theme.bad_text):
        assert contrast(text, theme.window) >= TEXT_CONTRAST
    for sign in (theme.accent, theme.good, theme.warn, theme.bad):
        assert contrast(sign, theme.base) >= SIGN_CONTRAST
    assert contrast(theme.added, theme.added_back) >= TEXT_CONTRAST
    assert contrast(theme.removed, theme.removed_back) >= TEXT_CONTRAST
    for back in (theme.accent_back, theme.warn_back, theme.bad_back):
        assert contrast(theme.text, back) >= TEXT_CONTRAST
