"""The dialogs of the window: questions, the sheet of shortcuts, and the consent to send memories.

Each question is a function, or the method `ask` of a class, that shows a dialog and returns the user's
answer.

Threading: GUI thread. A question blocks its caller until the user answers; meanwhile an event loop runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QCoreApplication, QDir, Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QListWidget,
    QMessageBox,
    QWidget,
)

from reverie.ui.appearance import GAP, MARGIN
from reverie.ui.changes.shortcuts import review_shortcuts
from reverie.ui.display_text import counted, tr, visible
from reverie.ui.widgets.controls import WrapLabel, embolden
from reverie.ui.widgets.layouts import column, scrolled
from reverie.ui.widgets.messages import message_box

if TYPE_CHECKING:
    from reverie.services.views import ConsentView


UnsavedAnswer = Literal["save", "discard", "cancel"]
_MOST_NAMES = 8


def ask_home(parent: QWidget) -> Path | None:
    """Ask for the directory of a home; return None if the user cancels."""
    title = QCoreApplication.translate("dialogs", "Open an agent's home")
    dialog = QFileDialog(parent, title, str(Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    # Agents' homes begin with a dot, and the system's dialog may not show such directories.
    dialog.setOptions(QFileDialog.Option.ShowDirsOnly | QFileDialog.Option.DontUseNativeDialog)
    dialog.setFilter(QDir.Filter.AllDirs | QDir.Filter.Hidden | QDir.Filter.NoDotAndDotDot)
    try:
        accepted = dialog.exec() == QDialog.DialogCode.Accepted and dialog.selectedFiles()
        return Path(dialog.selectedFiles()[0]) if accepted else None
    finally:
        dialog.deleteLater()


def ask_unsaved(parent: QWidget, names: Sequence[str]) -> UnsavedAnswer:
    """Ask whether to save or discard the unsaved text of the files `names`, or to cancel closing.

    Returns `save`, `discard` or `cancel`.
    """
    shown = [visible(name) for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append("…")
    question = tr("Save your changes before closing?")
    box = message_box(parent, QMessageBox.Icon.Warning, tr("Unsaved changes"), question, "\n".join(shown))
    roles = QMessageBox.ButtonRole
    save = box.addButton(tr("&Save"), roles.AcceptRole)
    discard = box.addButton(tr("&Discard"), roles.DestructiveRole)
    cancel = box.addButton(tr("&Cancel"), roles.RejectRole)
    box.setDefaultButton(save)
    box.setEscapeButton(cancel)
    box.exec()
    answers: dict[object, UnsavedAnswer] = {save: "save", discard: "discard"}
    return answers.get(box.clickedButton(), "cancel")


def ask_stop_run(parent: QWidget) -> bool:
    """Ask whether to close the window although that stops the active run; return True to close."""
    box = message_box(
        parent,
        QMessageBox.Icon.Question,
        tr("A run is in progress"),
        tr("Stop the run and close?"),
        tr("The run stops before its next change. You can review and undo its changes in the Changes tab."),
    )
    stop = box.addButton(tr("&Stop and close"), QMessageBox.ButtonRole.DestructiveRole)
    wait = box.addButton(tr("&Keep open"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(wait)
    box.setEscapeButton(wait)
    box.exec()
    return box.clickedButton() is stop


def ask_discard_note(parent: QWidget) -> bool:
    """Ask whether to discard a note that was typed but not written; return True to discard."""
    question = tr("Discard this note?")
    more = tr("The note has not been saved yet, so Codex will not see it.")
    box = message_box(parent, QMessageBox.Icon.Warning, tr("Unsaved changes"), question, more)
    discard = box.addButton(tr("&Discard"), QMessageBox.ButtonRole.DestructiveRole)
    keep = box.addButton(tr("&Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(keep)
    box.setEscapeButton(keep)
    box.exec()
    return box.clickedButton() is discard


def ask_adoption(parent: QWidget | None, root: Path, before: Path) -> bool:
    """Ask whether the home at `root` is the one that was at `before` earlier; return True if it is.

    The home then keeps the history of the one at `before`.
    """
    moved = tr("{before} no longer exists. {root} may be the same home in a new place.")
    box = message_box(
        parent,
        QMessageBox.Icon.Question,
        tr("A home may have moved"),
        moved.format(before=visible(str(before)), root=visible(str(root))),
        tr("Should it take over the old home's history and runs? Choose No if it is another home or a copy."),
    )
    take = box.addButton(tr("&Take over"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("&No"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(take)
    box.exec()
    return box.clickedButton() is take


def ask_write_anyway(parent: QWidget | None, evidence: str) -> bool:
    """Ask whether to write into a store whose layout or version is unknown; return True to write.

    `evidence` is the text that shows why the store counts as unknown.
    """
    risk = tr(
        "If Reverie writes to these memories, they could be damaged, or the agent could stop "
        "reading them. Reverie asks again when the layout or version changes."
    )
    title = tr("Write to memories with an unknown layout?")
    box = message_box(parent, QMessageBox.Icon.Warning, title, visible(evidence), risk)
    write = box.addButton(tr("&Write anyway"), QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.exec()
    return box.clickedButton() is write


class ShortcutSheet(QDialog):
    """A dialog with all shortcuts: those of the window's actions by menu, then those for reviews."""

    def __init__(
        self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        inside = QWidget()
        grid = QGridLayout(inside)
        grid.setHorizontalSpacing(MARGIN * 2)
        grid.setVerticalSpacing(GAP // 2)
        grid.setColumnStretch(0, 1)
        line = 0
        for title, rows in (*groups, review_shortcuts()):
            if not rows:
                continue
            head = QLabel(title)
            embolden(head)
            head.setContentsMargins(0, GAP if line else 0, 0, 0)
            grid.addWidget(head, line, 0, 1, 2)
            line += 1
            for what, keys in rows:
                grid.addWidget(QLabel(what), line, 0)
                grid.addWidget(QLabel(keys), line, 1, Qt.AlignmentFlag.AlignRight)
                line += 1
        grid.setRowStretch(line, 1)
        area = scrolled(inside, self.tr("Keyboard shortcuts"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column(self, area, buttons, grows=area, gap=None)
        self.resize(440, min(620, inside.sizeHint().height() + 90))


class ConsentDialog(QDialog):
    """The dialog that asks for consent before memories leave this machine for the first time.

    It names the files and the destination. Cancel is the default.
    """

    def __init__(self, consent: ConsentView, engine: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Send memories to a model?"))
        self.resize(520, 420)
        what = counted(self.tr("1 file"), "%n files", len(consent.files))
        self.title = WrapLabel(
            self.tr("{files} from this home would be sent to {destination}.").format(
                files=what, destination=visible(consent.destination)
            )
        )
        embolden(self.title)
        self.facts = WrapLabel(self._facts(consent, engine))
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Files that would be sent"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setUniformItemSizes(True)
        self.list.addItems([visible(file) for file in consent.files])
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.send = self.buttons.addButton(self.tr("&Send"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.cancel = self.buttons.button(QDialogButtonBox.StandardButton.Cancel)
        self.send.setAutoDefault(False)
        self.cancel.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.facts, self.list, self.buttons, grows=self.list)
        self.cancel.setFocus()

    def _facts(self, consent: ConsentView, engine: str) -> str:
        facts = [self.tr("The model {engine} gets access to all these files.").format(engine=visible(engine))]
        if consent.secrets_hidden:
            hidden = counted(
                self.tr("1 value in these files looks like a secret; Reverie sends a placeholder instead."),
                "%n values in these files look like secrets; Reverie sends placeholders instead.",
                consent.secrets_hidden,
            )
            facts.append(hidden)
        else:
            facts.append(self.tr("Reverie found nothing in these files that looks like a secret."))
        facts.append(
            self.tr(
                "Reverie cannot recognize every secret. If the files could contain secrets, read them "
                "before you send them."
            )
        )
        if consent.stays:
            stays = counted(
                self.tr("1 file is not sent because it is too large or not a text file."),
                "%n files are not sent because they are too large or not text files.",
                len(consent.stays),
            )
            facts.append(stays)
        facts.append(self.tr("Reverie will not ask again for this home and destination."))
        return " ".join(facts)

    @classmethod
    def ask(cls, parent: QWidget, consent: ConsentView, engine: str) -> bool:
        """Ask whether the memories may be sent to `engine`; return True if the user agrees."""
        dialog = cls(consent, engine, parent)
        try:
            return dialog.exec() == QDialog.DialogCode.Accepted
        finally:
            dialog.deleteLater()


_MODEL = re.compile(r"[^\s:]+:\S+")


def is_model_name(name: str) -> bool:
    """Return True if `name` has the form `provider:model`."""
    return _MODEL.fullmatch(name) is not None


class ModelDialog(QDialog):
    """A dialog in which the user enters the name of a model, or chooses one of the names in `known`.

    The first of these is the default.
    """

    def __init__(self, known: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Run with a model"))
        self.setMinimumWidth(360)
        self.name = QComboBox()
        self.name.setEditable(True)
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.name.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.name.setAccessibleName(self.tr("Model, in the form provider:model"))
        self.name.addItems(list(known))
        self.hint = WrapLabel(
            self.tr(
                "Enter the model as provider:model, for example ollama:qwen3:8b. You can test a model in "
                "Settings."
            )
        )
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Cancel)
        self.run = self.buttons.addButton(self.tr("&Run"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.button(kinds.Cancel).setAutoDefault(False)
        self.run.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        outer = column(self, self.name, self.hint)
        outer.addStretch(1)
        outer.addWidget(self.buttons)
        self.name.editTextChanged.connect(self._validate)
        self._validate()

    @property
    def model(self) -> str:
        return self.name.currentText().strip()

    @Slot()
    def _validate(self) -> None:
        self.run.setEnabled(is_model_name(self.model))

    @classmethod
    def ask(cls, parent: QWidget, known: Sequence[str]) -> str | None:
        """Ask for the name of a model; return None if the user cancels.

        `known`: the names to offer; the first is the default.
        """
        dialog = cls(known, parent)
        try:
            return dialog.model if dialog.exec() == QDialog.DialogCode.Accepted else None
        finally:
            dialog.deleteLater()
