"""The text of a version, to read. Bytes come from disk: what they hide is shown escaped, what is too long is
cut."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from reverie.ui.shown import visible_lines
from reverie.ui.theme import monospace

LIMIT = 400_000


class TextView(QPlainTextEdit):
    """Read-only, with a caret for the keyboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFont(monospace())
        self.setAccessibleName(self.tr("Text of this version"))
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def show_bytes(self, content: bytes | None) -> None:
        """None: there is no file."""
        if content is None:
            self.setPlainText("")
            return
        if b"\0" in content[:LIMIT]:
            self.setPlainText(self.tr("This version is no text."))
            return
        note = self.tr("\n… the rest is too long to show here.") if len(content) > LIMIT else ""
        self.setPlainText(visible_lines(content[:LIMIT].decode("utf-8", "replace")) + note)
