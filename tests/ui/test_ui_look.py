"""Theme, font size and language: read by the rules of the settings, applied live, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget
from ui_desk import Desk

from helpers.profiles import examples
from reverie.settings import Settings, load_settings
from reverie.ui import display_text as words
from reverie.ui import window_style as window_wishes
from reverie.ui.app import make_application
from reverie.ui.appearance import monospace, theme_of
from reverie.ui.icons import Icons
from reverie.ui.settings.control import SettingsControl
from reverie.ui.window_style import AppearanceControl, WindowStyle, language_of, read_window_style


@pytest.fixture
def look(qapp: QApplication) -> Iterator[AppearanceControl]:
    made = AppearanceControl(make_application())
    yield made
    made.end()
    made.deleteLater()


VALUE = st.sampled_from(
    [
        "0",
        "12",
        "48",
        "49",
        "-1",
        "true",
        "1.5",
        '"de"',
        '"en"',
        '"fr"',
        '"dark"',
        '"light"',
        '"system"',
        "[]",
        "",
    ]
)
LINE = st.tuples(st.sampled_from(["font_size", "language", "theme", "other"]), VALUE)
HEAD = st.sampled_from(["[window]\n", "", "[dream]\n", "window = 3\n", "\ufeff[window]\n"])


@given(HEAD, st.lists(LINE, max_size=4))
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_look_is_read_by_the_rules_of_the_settings(
    tmp_path: Path, head: str, lines: list[tuple[str, str]]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(head + "".join(f"{key} = {value}\n" for key, value in lines), encoding="utf-8")
    kept = load_settings(file)[0].window
    assert read_window_style(file) == WindowStyle(kept.font_size, kept.language, kept.theme)


def test_no_file_and_no_toml_are_the_defaults(tmp_path: Path) -> None:
    assert read_window_style(tmp_path / "none.toml") == WindowStyle()
    (tmp_path / "bad.toml").write_bytes(b"[window]\n\xff = ")
    assert read_window_style(tmp_path / "bad.toml") == WindowStyle()


@pytest.mark.parametrize(
    ("wanted", "system", "found"),
    [
        ("de", ["en-US"], "de"),
        ("en", ["de-DE"], ""),
        ("system", ["de-AT", "en"], "de"),
        ("system", ["fr-FR", "de"], "de"),
        ("system", ["fr_FR", "en_GB", "de"], ""),
        ("system", ["C"], ""),
        ("system", [], ""),
    ],
)
def test_the_language_is_the_first_one_that_there_is(wanted: str, system: list[str], found: str) -> None:
    assert language_of(wanted, system) == found


def test_a_theme_counts_at_once_and_the_systems_comes_back(qtbot: Any, look: AppearanceControl) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    before = widget.palette()
    look.apply(WindowStyle(theme="dark"))
    qtbot.waitUntil(lambda: theme_of(widget.palette()).dark)
    look.apply(WindowStyle(theme="light"))
    qtbot.waitUntil(lambda: not theme_of(widget.palette()).dark)
    look.apply(WindowStyle(theme="dark"))
    look.apply(WindowStyle())
    qtbot.waitUntil(lambda: widget.palette().window() == before.window())


def test_every_text_grows_with_the_font_size(qtbot: Any, look: AppearanceControl) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    column = QVBoxLayout(widget)
    plain, heading, code = QLabel("a"), QLabel("b"), QPlainTextEdit()
    for each in (plain, heading, code):
        column.addWidget(each)
    font = heading.font()
    font.setPointSizeF(font.pointSizeF() * 1.5)
    heading.setFont(font)
    code.setFont(monospace())
    widget.show()
    sizes = [each.font().pointSizeF() for each in (plain, heading, code)]
    look.apply(WindowStyle(font_size=round(sizes[0] * 2)))
    qtbot.waitUntil(lambda: plain.font().pointSizeF() == sizes[0] * 2)
    assert [each.font().pointSizeF() for each in (plain, heading, code)] == [size * 2 for size in sizes]
    assert code.document().defaultFont().pointSizeF() == sizes[2] * 2
    look.apply(WindowStyle())
    qtbot.waitUntil(lambda: plain.font().pointSizeF() == sizes[0])
    assert [each.font().pointSizeF() for each in (plain, heading, code)] == sizes


def test_german_is_loaded_with_qts_own_texts(look: AppearanceControl) -> None:
    look.begin(WindowStyle(language="de"))
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
    assert words.notes(1) != words.notes(2)


def test_the_page_shows_what_is_kept_and_tells_when_another_look_is_wanted(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    desk = Desk(kept=Settings.model_validate({"window": {"font_size": 12, "theme": "dark"}}))
    control = SettingsControl(Icons(), window)
    told: list[WindowStyle] = []
    control.window_style_changed.connect(told.append)
    control.open(desk, "h1", "xum")  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: not control.busy)
    dialog = control.dialog
    assert dialog is not None
    boxes = {name: dialog.fields[f"window.{name}"].widget for name in ("theme", "font_size", "language")}
    assert all(isinstance(box, QComboBox) for box in boxes.values())
    assert {name: box.currentData() for name, box in boxes.items()} == {  # type: ignore[union-attr]
        "theme": "dark",
        "font_size": 12,
        "language": "system",
    }
    boxes["font_size"].setCurrentIndex(0)  # type: ignore[union-attr]
    boxes["language"].setCurrentIndex(2)  # type: ignore[union-attr]
    dialog.reject()
    qtbot.waitUntil(lambda: control.dialog is None)
    assert told == [WindowStyle(0, "de", "dark")]
    assert (desk.kept.window.language, desk.kept.window.font_size) == ("de", 0)
    control.stop()


def test_a_device_in_place_of_the_settings_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.symlink_to("/dev/zero")
    assert read_window_style(file) == window_wishes.WindowStyle()
