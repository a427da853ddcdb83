"""The list of what is loaded and what is not: a sign for in or out, marks and figures at the right edge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtWidgets import QWidget

from reverie.context.view import Entry
from reverie.ui.context import words
from reverie.ui.icons import Icons
from reverie.ui.line_list import LineList, LineModel
from reverie.ui.memory.finding_words import headline
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.translation import tr
from reverie.ui.two_lines import TwoLines

_SIGNS = {"in": "check", "cut": "warning", "out": "close"}
_WIDE = 420


def spoken(entry: Entry) -> str:
    """A row as it is read aloud."""
    return ", ".join(_words_of(entry))


def _words_of(entry: Entry) -> Iterator[str]:
    yield visible(words.short(entry.path))
    yield words.state(entry)
    yield words.reason(entry)
    yield from (said for said in (words.score(entry), words.amount(entry)) if said)
    if entry.marks:
        yield tr("needs a look")


class EntryModel(LineModel):
    """The entries of one part."""

    def look(self, value: Entry) -> TwoLines:
        below = words.reason(value)
        if value.description:
            below += f" · {visible(value.description)}"
        return TwoLines(
            visible(words.short(value.path)),
            below,
            words.score(value),
            quiet=value.state == "out",
            sign=_SIGNS[value.state],
            right_below=words.amount(value),
            marks=("pin",) * value.pinned + ("flag",) * bool(value.marks),
            cut_below="end",
        )

    def spoken(self, value: Entry) -> str:
        return spoken(value)

    def tooltip(self, value: Entry) -> str:
        said = [value.description] if value.description else []
        return as_tooltip(value.path, *said, *map(headline, value.marks))


class EntryList(LineList):
    """`picked(Entry | None)`; `opened(Entry)`."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(EntryModel(), icons, parent, right_from=_WIDE)
        self.setAccessibleName(self.tr("What is loaded and what is not"))

    @property
    def current(self) -> Entry | None:
        found: Entry | None = self.current_value
        return found

    def show_entries(self, found: Sequence[Entry]) -> None:
        """Show them; the selection stays on its file while that is among them."""
        before = self.current
        # One file may be told of twice.
        self.set_values((entry.path, entry) for entry in found)
        if self.current != before:
            self.picked.emit(self.current)
