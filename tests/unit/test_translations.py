"""Every text of the window has its German one, and what is translated still says the same."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator

import translations
from translations import filled, missing_in, read_ts, texts_of, ts_text, updated

TS = translations.FOLDER / "reverie_de.ts"
GERMAN = read_ts(TS)
_HOLES = re.compile(r"\{\w*\}|%n")


def _source(tmp_path: Path, text: str) -> translations.Texts:
    package = tmp_path / "app" / "reverie"
    (package / "ui").mkdir(parents=True)
    (package / "ui" / "display_text.py").write_text(
        '_CONTEXT = "reverie"\ndef tr(text): return text\ndef counted(one, many, n): return one\n'
    )
    (package / "ui" / "view.py").write_text(text)
    return texts_of(package)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("class A:\n def f(self): self.tr('x')", ("A", "x")),
        ("class A:\n def f(self): self.tr('x' if self else 'y')", ("A", "y")),
        ("from reverie.ui import display_text\ndisplay_text.tr('x')", ("reverie", "x")),
        ("from reverie.ui import display_text as w\nw.tr('x')", ("reverie", "x")),
        ("from reverie.ui.display_text import tr\ntr('x' 'y')", ("reverie", "xy")),
        ("from reverie.ui.display_text import counted\ncounted('1 x', '%n x', 3)", ("reverie", "%n x")),
        ("from reverie.ui.display_text import translatable\nX = {1: translatable('x')}", ("reverie", "x")),
        ("from PySide6.QtCore import QCoreApplication\nQCoreApplication.translate('c', 'x')", ("c", "x")),
        ("_CONTEXT = 'own'\ndef _(t): return t\n_('x')", ("own", "x")),
        ("def _tr(t): return QCoreApplication.translate('own', t)\n_tr('x')", ("own", "x")),
        ("tr = QCoreApplication.translate\ntr('dialogs', 'x')", ("dialogs", "x")),
    ],
)
def test_a_text_is_found_however_it_is_said(tmp_path: Path, line: str, key: tuple[str, str]) -> None:
    found = _source(tmp_path, line)
    assert key in found.keys
    assert not found.problems


def test_a_text_that_is_made_up_as_it_goes_is_told(tmp_path: Path) -> None:
    found = _source(tmp_path, "class A:\n def f(self, x): self.tr(f'{x}')")
    assert len(found.problems) == 1


def test_what_is_translated_stays_and_what_is_gone_leaves(tmp_path: Path) -> None:
    text = "class A:\n def f(self): self.tr('a <b>'); self.tr('new')\n"
    texts = _source(tmp_path, text + "class B:\n def f(self): self.tr('a <b>')")
    known = {("A", "a <b>"): ("ä & <b>",), ("A", "gone"): ("weg",)}
    result = updated(texts, known)
    assert result == {("A", "a <b>"): ("ä & <b>",), ("A", "new"): ("",), ("B", "a <b>"): ("ä & <b>",)}
    file = tmp_path / "x.ts"
    file.write_text(ts_text("de", result, set()), encoding="utf-8")
    assert read_ts(file) == result
    assert missing_in(filled(result, {"*": {"new": "neu"}})) == {}


def test_every_text_has_its_german() -> None:
    texts = texts_of()
    assert not texts.problems
    assert texts.keys == GERMAN.keys(), "run `dev.py translate`"
    assert missing_in(GERMAN) == {}, "run `dev.py translate --missing`, translate, and `--fill` it"


def test_what_is_filled_in_stands_in_the_translation_too() -> None:
    for (context, text), forms in GERMAN.items():
        for form in forms:
            if form:
                assert Counter(_HOLES.findall(form)) == Counter(_HOLES.findall(text)), (context, text)
                assert form.count("&") == text.count("&"), (context, text)
                assert [c.isspace() for c in (form[0], form[-1])] == [
                    c.isspace() for c in (text[0], text[-1])
                ]


def test_the_compiled_file_has_the_texts_of_this_one(tmp_path: Path) -> None:
    copy = tmp_path / TS.name
    copy.write_bytes(TS.read_bytes())
    translations.compile_ts(copy)
    translator = QTranslator()
    assert translator.load(str(copy.with_suffix(".qm")))
    single = {key: forms[0] for key, forms in GERMAN.items() if len(forms) == 1}
    assert len(single) > 1000
    for (context, text), german in single.items():
        assert translator.translate(context, text) == german
