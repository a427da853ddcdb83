"""Undo beside what was just done, in the message bar of the place where it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.ui.shown import visible
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.services.views import Undo
    from reverie.ui.memory.bars import MessageBar
    from reverie.ui.memory.edits import Edits


class TakeBack(QObject):
    """Takes a change back from the bar it was told in, unless something else was changed by hand since: what
    can be undone is one list, and its last one is the next."""

    def __init__(self, bar: MessageBar, edits: Edits, too_late: str = "") -> None:
        """`too_late`: what is said when others came after it."""
        super().__init__(bar)
        self._bar = bar
        self._edits = edits
        self._too_late = too_late or self.tr("Other changes came after it: undo those first.")
        self._undo: Undo | None = None
        bar.chosen.connect(self._on_chosen)

    def offer(self, undo: Undo, sentence: str) -> None:
        """Say what was done and what it warns of, with Undo beside it."""
        self._undo = undo
        self._bar.say(with_warning(sentence, undo), buttons=[undo_button()])

    def forget(self) -> None:
        """What was done before is not to be taken back from here."""
        self._undo = None

    @Slot(str)
    def _on_chosen(self, _key: str) -> None:
        self._bar.clear()
        if self._undo is not None and self._edits.last is self._undo:
            self._edits.undo()
        else:
            self._bar.say(self._too_late)


def with_warning(sentence: str, undo: Undo | None) -> str:
    """What was done, and what went wrong once it was done."""
    if undo is None or not undo.warning:
        return sentence
    return f"{sentence.rstrip('.')}. {visible(undo.warning)}"


def undo_button() -> tuple[str, str, str]:
    """For `MessageBar.say`."""
    return ("undo", tr("Undo"), tr("Take it back"))
