"""What a run says that it did is said in the language of the window, as far as its sentences are known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from reverie.jobs.consolidate.rules import plan
from reverie.ui.run_labels import summary_words
from reverie.ui.window_style import AppearanceControl, WindowStyle

RULES = (
    "Merged 2 near-duplicates; removed 1 note from a conversation that other memories already contain;"
    " deleted 1 empty file; wrote or repaired 14 descriptions. 1 more change waits for the next run."
    " 2 pairs of memories are worth a look."
)
OLDER = (
    "Merged 2 near-duplicates; dropped 1 picked-up note that other memories contain; deleted 1 empty file;"
    " wrote or mended 14 descriptions. 1 more change waits for the next run."
    " 2 pairs of memories are worth a look."
)


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    look = AppearanceControl(qapp)
    look.begin(WindowStyle(language="de"))
    yield
    look.end()


def test_in_english_nothing_changes() -> None:
    for text in (RULES, "No changes needed.", "I merged the two notes; see plan.md. All good!"):
        assert summary_words(text) == text
    assert summary_words("") == ""


def test_an_older_wording_is_shown_in_the_current_one() -> None:
    assert summary_words(OLDER) == RULES
    assert summary_words("7 files put back.") == "Restored 7 files."
    assert summary_words("Nothing was put back.") == "Nothing was restored."
    held = "Held for review: some facts would change."
    assert summary_words(held) == "Held for review: some facts would change."


@pytest.mark.usefixtures("german")
def test_the_sentences_of_the_rules_are_german_in_a_german_window() -> None:
    assert summary_words(RULES) == (
        "2 Beinahe-Doppel zusammengeführt; 1 aufgelesene Notiz entfernt, die andere Notizen enthalten;"
        " 1 leere Datei gelöscht; 14 Beschreibungen geschrieben oder berichtigt."
        " 1 weitere Änderung wartet auf den nächsten Lauf."
        " 2 Paare von Notizen sind einen Blick wert."
    )
    assert summary_words("Applied 7 of 8 reviewed changes.") == "7 von 8 geprüften Änderungen übernommen."
    assert summary_words("Cancelled; nothing was changed.").endswith("; nichts wurde geändert.")


@pytest.mark.usefixtures("german")
def test_the_words_of_a_model_stay_and_hide_nothing() -> None:
    text = "Deleted 1 empty file; kept the rest."
    assert summary_words(text) == text
    assert "\u202e" not in summary_words("Done \u202e.")


@pytest.mark.usefixtures("german")
def test_every_sentence_of_the_rules_is_known() -> None:
    for one, many in plan._DONE.values():
        for number, text in ((1, one), (3, many)):
            english = text.format(number).capitalize() + "."
            assert summary_words(english) != english
