"""What can be done with the selected part of a review: one list for its keys, its context menu and the sheet
of shortcuts. A preview and a finished run share it; only some words differ.

Most keys are single letters. They work in the tree of changes and in the difference beside it, never where
text is typed. Return is no key here: in a review it must neither apply nor undo anything.

Threading: GUI thread. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu

from reverie.ui.translation import tr, translated
from reverie.ui.translation import translatable as _

if TYPE_CHECKING:
    from reverie.ui.memory.choices import Choices
    from reverie.ui.memory.review_detail import ReviewDetail
    from reverie.ui.memory.review_tree import Part, ReviewTree


@dataclass(frozen=True, slots=True)
class _Spec:
    """One thing that can be done. An empty text: not offered there."""

    id: str
    text: str
    """In the review of a preview or of a held run."""
    finished: str
    """In the review of a finished run."""
    key: str = ""
    """As `QKeySequence` spells it; empty: only in the menu."""
    separator: bool = False
    """The menu has a line above it."""


_SPECS = (
    _Spec("next", _("&Next change"), _("&Next change"), "N"),
    _Spec("previous", _("&Previous change"), _("&Previous change"), "P"),
    _Spec("next-file", _("Next &file"), _("Next &file"), "Shift+N"),
    _Spec("previous-file", _("Pre&vious file"), _("Pre&vious file"), "Shift+P"),
    _Spec("accept", _("&Accept"), _("&Keep"), "A", separator=True),
    _Spec("reject", _("&Reject"), _("&Mark to take back"), "X"),
    _Spec("edit", _("&Edit the text"), "", "E"),
    _Spec("take-back", "", _("Take &back now")),
    _Spec("open", _("&Open memory"), _("&Open memory"), "O", separator=True),
    _Spec("copy-path", _("&Copy path"), _("&Copy path"), "Ctrl+Shift+C"),
)


class ReviewActions(QObject):
    """Signals: `open_wanted(str)`, a memory path; `take_back_wanted(Parts)`, to be undone at once."""

    open_wanted = Signal(str)
    take_back_wanted = Signal(object)

    def __init__(self, tree: ReviewTree, detail: ReviewDetail) -> None:
        super().__init__(tree)
        self._tree = tree
        self._detail = detail
        self._choices: Choices | None = None
        self.menu = QMenu(tree)
        self.menu.setAccessibleName(tr("Change"))
        does: dict[str, Callable[[], None]] = {
            "next": lambda: self._in_tree(lambda: tree.step(1)),
            "previous": lambda: self._in_tree(lambda: tree.step(-1)),
            "next-file": lambda: self._in_tree(lambda: tree.step(1, files=True)),
            "previous-file": lambda: self._in_tree(lambda: tree.step(-1, files=True)),
            "accept": lambda: self._in_tree(lambda: tree.tick(True)),
            "reject": lambda: self._in_tree(lambda: tree.tick(False)),
            "edit": detail.start_editing,
            "take-back": self._take_back,
            "open": self._open,
            "copy-path": self._copy_path,
        }
        self._made: dict[str, QAction] = {}
        for spec in _SPECS:
            if spec.separator:
                self.menu.addSeparator()
            action = self.menu.addAction(translated(spec.text or spec.finished))
            action.setObjectName(f"review.{spec.id}")
            action.triggered.connect(does[spec.id])
            self._made[spec.id] = action
            if spec.key:
                action.setShortcut(QKeySequence(spec.key))
                action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
                tree.addAction(action)
                detail.diff.addAction(action)
        tree.setAccessibleDescription(_hint())
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._show_menu)
        self.follow(None)

    def __getitem__(self, id_: str) -> QAction:
        return self._made[id_]

    def follow(self, choices: Choices | None) -> None:
        """Name and enable what can be done with the selected part of `choices`."""
        self._choices = choices
        finished = choices is not None and choices.view.can_take_back
        for spec in _SPECS:
            text = spec.finished if finished else spec.text
            self._made[spec.id].setVisible(bool(text))
            if text:
                self._made[spec.id].setText(translated(text))
        part = self._tree.part
        tickable = self._tree.can_tick
        possible = {
            "accept": tickable,
            "reject": tickable,
            "edit": self._detail.can_edit,
            "take-back": bool(self._now(part)),
            "open": bool(self._path(part)),
            "copy-path": part is not None and part.group is not None,
        }
        for id_, action in self._made.items():
            action.setEnabled(possible.get(id_, choices is not None))

    def _in_tree(self, do: Callable[[], None]) -> None:
        """Do it. Where that puts the editor in the place of the difference, the editor must not get the
        focus: the next key would be typed into it."""
        in_difference = self._detail.diff.hasFocus()
        do()
        if in_difference and not self._detail.diff.isVisible():
            self._tree.setFocus()

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        if self._tree.part is not None:
            self.follow(self._choices)
            self.menu.popup(self._tree.viewport().mapToGlobal(at))

    def _path(self, part: Part | None) -> str:
        """Where the selected file is now; empty if there is none."""
        if self._choices is None or part is None or part.file is None:
            return ""
        return self._choices.path_now(part.file)

    def _now(self, part: Part | None) -> object:
        """What "Take back now" would undo: this part, unless others are marked, which must not be lost."""
        choices = self._choices
        if choices is None or part is None or part.group is None or not self._tree.can_tick:
            return None
        wanted = choices.without(part.group, part.file, part.hunk)
        return wanted if choices.to_take_back in ({}, wanted) else None

    def _take_back(self) -> None:
        wanted = self._now(self._tree.part)
        if wanted:
            self.take_back_wanted.emit(wanted)

    def _open(self) -> None:
        path = self._path(self._tree.part)
        if path:
            self.open_wanted.emit(path)

    def _copy_path(self) -> None:
        """The memory path; of a group, one a line."""
        part = self._tree.part
        if part is not None and part.group is not None:
            files = part.group.files if part.file is None else (part.file,)
            QGuiApplication.clipboard().setText("\n".join(file.path for file in files))


def review_shortcuts() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Title and (what, keys) for the sheet of shortcuts."""
    rows = []
    for spec in _SPECS:
        if spec.key:
            texts = dict.fromkeys(_plain(text) for text in (spec.text, spec.finished) if text)
            rows.append((" / ".join(texts), _native(spec.key)))
    return tr("In a review"), tuple(rows)


def _hint() -> str:
    return ", ".join(f"{keys}: {what}" for what, keys in review_shortcuts()[1])


def _plain(text: str) -> str:
    return translated(text).replace("&", "")


def _native(key: str) -> str:
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
