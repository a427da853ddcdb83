"""What is asked before memories leave this machine for the first time: which files, and where to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QWidget

from reverie.ui.columns import column
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.shown import visible
from reverie.ui.theme import CalmSelection
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.services.views import ConsentView


class ConsentDialog(QDialog):
    """Shows what `consent` says; accepting it means yes. Cancel is the default."""

    def __init__(self, consent: ConsentView, engine: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Send memories to a model?"))
        self.resize(520, 420)
        what = counted(self.tr("1 file"), "%n files", len(consent.files))
        self.title = WrapLabel(
            self.tr("{files} of this home would be sent to {destination}.").format(
                files=what, destination=visible(consent.destination)
            )
        )
        embolden(self.title)
        self.facts = WrapLabel(self._facts(consent, engine))
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Files that would leave this machine"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setUniformItemSizes(True)
        self.list.addItems([visible(file) for file in consent.files])
        CalmSelection(self.list)
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
        facts = [self.tr("The model {engine} may read all of them.").format(engine=visible(engine))]
        if consent.secrets_hidden:
            hidden = counted(
                self.tr("1 value in them looks like a secret to Reverie: a placeholder is sent instead."),
                "%n values in them look like secrets to Reverie: placeholders are sent instead.",
                consent.secrets_hidden,
            )
            facts.append(hidden)
        else:
            facts.append(self.tr("Nothing in them looks like a secret to Reverie."))
        facts.append(self.tr("Reverie cannot know every secret: read the files first if they may hold some."))
        if consent.stays:
            stays = counted(
                self.tr("1 file stays here, because it is too large or no text."),
                "%n files stay here, because they are too large or no text.",
                len(consent.stays),
            )
            facts.append(stays)
        facts.append(self.tr("You are asked once for this home and destination."))
        return " ".join(facts)

    @classmethod
    def ask(cls, parent: QWidget, consent: ConsentView, engine: str) -> bool:
        """Whether they may be sent."""
        dialog = cls(consent, engine, parent)
        try:
            return dialog.exec() == QDialog.DialogCode.Accepted
        finally:
            dialog.deleteLater()
