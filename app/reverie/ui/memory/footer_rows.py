"""The rows of the footer: when each scope was consolidated last, by whom, and for whom that counts.

`row_words` turns a `CoverageRow` into sentences; the widgets only show them. A row that is not known, one
that was never consolidated and one that does not exist here are three different states and never look alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from reverie.homes.scopes import Scope
from reverie.ui import words
from reverie.ui.labels import WrapLabel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import tabular, theme_of
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.services.views import CoverageRow, HarvestRow, Spent

RowState = Literal["loading", "record", "never", "unavailable", "failed"]
Tone = Literal["plain", "quiet", "bad"]


@dataclass(frozen=True, slots=True)
class RowWords:
    """What a row says. `note` is the dim half."""

    state: RowState
    text: str
    note: str = ""
    tooltip: str = ""


def row_words(
    row: CoverageRow,
    now_ms: int,
    spent: Spent | None = None,
    *,
    workspaces: bool = True,
    alone: bool = False,
    agent_too: bool = False,
) -> RowWords:
    """`3 h ago, manual, 4 changes`, for whom that counts, and what models used for it. `workspaces`: the
    agent has some. `alone`: no other row is shown. `agent_too`: the agent consolidates, too, so the row names
    Reverie."""
    whose = {
        Scope.WORKSPACE: "",
        Scope.PROJECT: tr("shared by the project's workspaces") if workspaces else "",
        Scope.GLOBAL: "" if alone else tr("shared by all"),
    }[row.scope]
    if not row.available:
        return RowWords("unavailable", tr("unavailable"), row.reason, as_tooltip(row.reason))
    if row.last_run_at is None:
        return RowWords("never", tr("never by Reverie") if agent_too else tr("never"), whose)
    used = spent_words(spent)
    note = _SEPARATOR.join(part for part in (whose, used) if part)
    result = tr("undone") if row.undone else words.changes(row.changes)
    in_part = [tr("undone in part")] if row.partly_undone and not row.undone else []
    parts = (words.age(now_ms, row.last_run_at), words.trigger(row.trigger), result, *in_part)
    meaning = tr("Tokens and cost of the last run of a model, and of all of this month's.") if used else ""
    tooltip = as_tooltip(words.when(row.last_run_at), row.summary, meaning)
    return RowWords("record", ", ".join(map(_unbroken, parts)), note, tooltip)


def spent_words(spent: Spent | None) -> str:
    """Tokens and cost of the last run of a model, and of this month's; empty where none ran. A sum with an
    unknown part says so."""
    if spent is None or not (spent.last_tokens or spent.month_tokens):
        return ""
    last = f"{words.tokens(spent.last_tokens)}, {words.money(spent.last_cost)}"
    cost = words.money(spent.month_cost if spent.month_tokens else 0)
    if spent.month_unknown and spent.month_cost is not None:
        cost = tr("at least {cost}").format(cost=cost)
    month = f"{words.amount(spent.month_tokens)}, {cost}"
    return _SEPARATOR.join(
        (
            tr("model: {used}").format(used=last),
            _unbroken(tr("month: {used}").format(used=month)),
        )
    )


def harvest_words(row: HarvestRow, now_ms: int) -> RowWords:
    """The newest harvest of the workspace."""
    age, exact = words.age(now_ms, row.at), words.when(row.at)
    if row.status == "failed":
        text = tr("{age}, failed").format(age=age)
        return RowWords("failed", text, visible(row.error), as_tooltip(exact, row.error))
    if row.status == "pending":
        return RowWords("record", tr("{age}, not finished").format(age=age), "", as_tooltip(exact))
    kept = tr("{age}, {kept} kept, {skipped} skipped").format(age=age, kept=row.accepted, skipped=row.skipped)
    return RowWords("record", kept, "", as_tooltip(exact))


_SEPARATOR = "; "
"""Stands well at the end of a line, too."""


def _unbroken(part: str) -> str:
    """Lines break between the facts of a row, not inside one."""
    return part.replace(" ", "\u00a0")


class TwoToneLabel(WrapLabel):
    """A wrapping sentence whose second half is dim."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._main = 0
        self._note = ""
        self._tone: Tone = "plain"
        self._said: tuple[str, str, str, Tone] | None = None
        self.setFont(tabular(self.font()))

    def say_parts(self, lead: str, main: str, note: str, tone: Tone = "plain") -> None:
        """`lead` and `main` in the text colour (or the tone's), `note` dim; empty parts take no room."""
        if (lead, main, note, tone) == self._said:
            return
        self._said = (lead, main, note, tone)
        head = f"{visible(lead)}: " if lead else ""
        self._main = len(head) + len(visible(main))
        self._heights.clear()  # the same text may be parted elsewhere
        self._tone = tone
        self._note = visible(note)
        self.say(_SEPARATOR.join(part for part in (head + visible(main), self._note) if part))
        self.updateGeometry()
        self.update()

    def _layout(self, width: int) -> QTextLayout:
        """On one line if it fits; else the dim half begins a line of its own."""
        if self._note and self._main and QFontMetrics(self.font()).horizontalAdvance(self.text()) > width:
            return self._laid_out(self.text()[: self._main] + "\u2028" + self._note, width)
        return super()._layout(width)

    def _formats(self) -> list[QTextLayout.FormatRange]:
        theme = theme_of(self.palette())
        colour = {"plain": None, "quiet": theme.dim_window, "bad": theme.bad_text}[self._tone]
        dim, main = QTextCharFormat(), QTextCharFormat()
        dim.setForeground(theme.dim_window)
        main.setForeground(colour or self.palette().color(self.foregroundRole()))
        return [_range(0, self._main, main), _range(self._main, len(self.text()) - self._main, dim)]


def _range(start: int, length: int, format_: QTextCharFormat) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    found.start, found.length, found.format = start, length, format_
    return found


class FooterRow:
    """One row: a name and a sentence. In a narrow footer the name stands in the sentence."""

    def __init__(self, name: str, grid: QGridLayout, line: int) -> None:
        self.name = name
        self.words = RowWords("loading", "…")
        self._narrow = False
        self.label = QLabel(name)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.value = TwoToneLabel()
        grid.addWidget(self.label, line, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.value, line, 1)
        self._show()

    @property
    def state(self) -> RowState:
        return self.words.state

    def say(self, found: RowWords) -> None:
        self.words = found
        self._show()

    def set_narrow(self, narrow: bool) -> None:
        if narrow != self._narrow:
            self._narrow = narrow
            self._show()

    def set_visible(self, shown: bool) -> None:
        self.value.setVisible(shown)
        self.label.setVisible(shown and not self._narrow)

    def _show(self) -> None:
        tone: Tone = {"failed": "bad", "record": "plain"}.get(self.state, "quiet")  # type: ignore[assignment]
        self.value.say_parts(self.name if self._narrow else "", self.words.text, self.words.note, tone)
        self.value.setToolTip(self.words.tooltip)
        self.value.setAccessibleName(f"{self.name}: {self.words.text} {self.words.note}".strip())
        self.label.setVisible(not self._narrow and not self.value.isHidden())
