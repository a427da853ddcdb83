"""The actions in the review of a change set, as a table, and their shortcuts.

The list of shortcuts needs the table without the review itself, which a window loads when it is first shown.

Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtGui import QKeySequence

from reverie.ui.display_text import tr, translated
from reverie.ui.display_text import translatable as _
from reverie.values import Struct


class ReviewAction(Struct, frozen=True):
    """An action of the review.

    If its text for a kind of review is empty, reviews of that kind do not have the action.
    """

    id: str
    text: str
    """The text in the review of a preview or a held run."""
    finished: str
    """The text in the review of a finished run."""
    key: str = ""
    """The shortcut for `QKeySequence`; empty for an action that is only in the menu."""
    separator: bool = False
    """True if the menu has a separator above the action."""


REVIEW_ACTIONS = (
    ReviewAction("next", _("&Next change"), _("&Next change"), "N"),
    ReviewAction("previous", _("&Previous change"), _("&Previous change"), "P"),
    ReviewAction("next-file", _("Next &file"), _("Next &file"), "Shift+N"),
    ReviewAction("previous-file", _("Pre&vious file"), _("Pre&vious file"), "Shift+P"),
    ReviewAction("accept", _("&Accept"), _("&Keep"), "A", separator=True),
    ReviewAction("reject", _("&Reject"), _("&Mark to take back"), "X"),
    ReviewAction("edit", _("&Edit the text"), "", "E"),
    ReviewAction("take-back", "", _("Take &back now")),
    ReviewAction("open", _("&Open memory"), _("&Open memory"), "O", separator=True),
    ReviewAction("copy-path", _("&Copy path"), _("&Copy path"), "Ctrl+Shift+C"),
)


def review_shortcuts() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the title and the (text, keys) pairs of the review for the list of shortcuts."""
    rows = []
    for action in REVIEW_ACTIONS:
        if action.key:
            texts = dict.fromkeys(translated(text) for text in (action.text, action.finished) if text)
            keys = QKeySequence(action.key).toString(QKeySequence.SequenceFormat.NativeText)
            rows.append((" / ".join(texts).replace("&", ""), keys))
    return tr("In a review"), tuple(rows)
