"""What the agent says of its own jobs, as rows below the scopes: a sign, a sentence, how long ago.

The state is told by the sign and its name, never by the colour alone. Rows come from a `StatusView` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from reverie.ui import words
from reverie.ui.icons import SIZE, Icons
from reverie.ui.memory.footer_rows import Tone, TwoToneLabel
from reverie.ui.shown import as_tooltip
from reverie.ui.theme import GAP, SIGN_CONTRAST, UNIT, readable, theme_of
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.homes.agents import StatusLine

_SIGNS = {"ok": "check", "running": "refresh", "warn": "warning", "fail": "error"}


def state_name(state: str) -> str:
    """The state in a word, for who does not see the sign."""
    return {"ok": tr("fine"), "running": tr("running"), "warn": tr("warning"), "fail": tr("failed")}[state]


class AgentRow(QWidget):
    """One line of status."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self.line: StatusLine | None = None
        self.sign = QLabel()
        self.value = TwoToneLabel()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP - 2)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.value, 1)

    def say(self, line: StatusLine, now_ms: int) -> None:
        self.line = line
        age = words.age(now_ms, line.at) if line.at is not None else ""
        tone: Tone = "bad" if line.state == "fail" else "plain"
        # One sentence, with its age after a semicolon.
        self.value.say_parts(line.label, line.text.removesuffix(".") if age else line.text, age, tone)
        exact = words.when(line.at) if line.at is not None else ""
        name = state_name(line.state)
        self.value.setToolTip(as_tooltip(name, exact))
        self.value.setAccessibleName(f"{name}, {line.label}: {line.text} {age}".strip())
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        if self.line is None:
            return
        theme = theme_of(self.palette())
        color: QColor = {
            "ok": theme.good, "running": theme.accent, "warn": theme.warn_text, "fail": theme.bad_text,
        }[self.line.state]  # fmt: skip
        sign = readable(color, theme.window, SIGN_CONTRAST)
        self.sign.setPixmap(self._icons.pixmap(_SIGNS[self.line.state], SIZE, sign, self.devicePixelRatioF()))
        self.sign.setAccessibleName(state_name(self.line.state))


class AgentRows(QWidget):
    """All of them; takes no room while there are none."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self.rows: list[AgentRow] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT)
        self.hide()

    def say(self, lines: tuple[StatusLine, ...], now_ms: int) -> None:
        """These lines and no others."""
        while len(self.rows) > len(lines):
            row = self.rows.pop()
            row.hide()  # it is deleted only when the event loop comes round
            self._column.removeWidget(row)
            row.deleteLater()
        while len(self.rows) < len(lines):
            row = AgentRow(self._icons, self)
            self._column.addWidget(row)
            self.rows.append(row)
        for row, line in zip(self.rows, lines, strict=True):
            row.say(line, now_ms)
        self.setVisible(bool(lines))
