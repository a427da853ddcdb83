"""Before memories leave the machine: which ones and where to, and no is the answer of whoever just presses
Enter."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from ui_desk import Consent

from reverie.ui.dialogs import ConsentDialog

FILES = ("/memories/global/a.md", "/memories/project/deploy\u202e.md")


def dialog(qtbot: Any, consent: Consent) -> ConsentDialog:
    made = ConsentDialog(consent, "openai:gpt-5")
    qtbot.addWidget(made)
    made.show()
    return made


def test_it_names_the_destination_the_model_and_every_file(qtbot: Any) -> None:
    made = dialog(qtbot, Consent("https://api.openai.com", FILES, 2))
    assert "https://api.openai.com" in made.title.text()
    assert "2 files" in made.title.text()
    assert "openai:gpt-5" in made.facts.text()
    assert "2 values in these files look like secrets" in made.facts.text()
    shown = [made.list.item(row).text() for row in range(made.list.count())]
    assert shown == ["/memories/global/a.md", "/memories/project/deploy\\u202e.md"]


def test_pressing_enter_sends_nothing(qtbot: Any) -> None:
    made = dialog(qtbot, Consent("https://api.openai.com", FILES))
    assert made.cancel.isDefault()
    with qtbot.waitSignal(made.rejected):
        qtbot.keyClick(made, Qt.Key.Key_Return)


def test_only_the_button_that_says_so_sends(qtbot: Any) -> None:
    made = dialog(qtbot, Consent("https://api.openai.com", FILES))
    with qtbot.waitSignal(made.accepted):
        made.send.click()


def test_one_file_is_one_file(qtbot: Any) -> None:
    made = dialog(qtbot, Consent("http://gpu.test:8000", FILES[:1], 1))
    assert made.title.text().startswith("1 file from")
    assert "1 value in these files looks like a secret" in made.facts.text()


def test_it_says_what_looks_like_a_secret_to_reverie_and_promises_no_more(qtbot: Any) -> None:
    several = dialog(qtbot, Consent("https://api.openai.com", FILES, 3))
    none = dialog(qtbot, Consent("https://api.openai.com", FILES))
    assert "3 values in these files look like secrets" in several.facts.text()
    assert "Reverie found nothing in these files that looks like a secret." in none.facts.text()
    for made in (several, none):
        assert "cannot recognize every secret" in made.facts.text()
