"""The dialog that lists the drafts of a home, to restore or discard them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QListWidgetItem, QWidget

from reverie.errors import UserError
from reverie.memory.diff import unified
from reverie.ui.display_text import as_tooltip, visible, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column, split
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.views import Offer


class DraftsDialog(QDialog):
    """A dialog that lists the drafts (unsaved texts) of a home, to compare, restore or discard them.

    It shows how the selected draft differs from the file: lines with `-` are on disk, lines with `+` in the
    draft. Closing the dialog keeps all drafts.

    Signals:
        restore(Offer): The user wants the draft in the editor.
        discard(Offer): The user wants the draft deleted.
    """

    restore = Signal(object)
    discard = Signal(object)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._offers: dict[str, Offer] = {}
        self.setWindowTitle(self.tr("Drafts"))
        self.resize(860, 520)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "draft-message", closable=False)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Files with a draft"))
        self.list.currentItemChanged.connect(self._show)
        self.diff = DiffView()
        self.buttons = QDialogButtonBox()
        role = QDialogButtonBox.ButtonRole.ActionRole
        self.restore_button = self.buttons.addButton(self.tr("Restore"), role)
        self.discard_button = self.buttons.addButton(self.tr("Discard"), role)
        self.copy_button = self.buttons.addButton(self.tr("Copy text"), role)
        self.later_button = self.buttons.addButton(
            self.tr("Keep for later"), QDialogButtonBox.ButtonRole.RejectRole
        )
        self.restore_button.clicked.connect(self._restore)
        self.discard_button.clicked.connect(self._discard)
        self.copy_button.clicked.connect(self._copy)
        self.buttons.rejected.connect(self.reject)
        splitter = split(self.list, self.diff, sizes=(260, 600), grows=self.diff)
        column(self, self.title, self.message, splitter, self.buttons, grows=splitter)

    @property
    def current(self) -> Offer | None:
        item = self.list.currentItem()
        return self._offers.get(item.data(Qt.ItemDataRole.UserRole)) if item is not None else None

    def show_offers(self, offers: Sequence[Offer], name: str = "") -> None:
        """List these drafts and select the one called `name`; close the dialog if there are none.

        If `name` is "", the selection stays; if nothing is selected, the first draft is selected.
        """
        before = self.current
        wanted = name or (before.name if before is not None else "")
        self._offers = {offer.name: offer for offer in offers}
        self.list.clear()
        for offer in offers:
            label = visible(offer.draft.label)
            item = QListWidgetItem(label)
            item.setToolTip(as_tooltip(label, when(offer.draft.at_ms)))
            item.setData(Qt.ItemDataRole.UserRole, offer.name)
            self.list.addItem(item)
            if offer.name == wanted:
                self.list.setCurrentItem(item)
        if self.list.currentItem() is None and offers:
            self.list.setCurrentRow(0)
        if not offers:
            self.accept()

    def show_error(self, error: UserError) -> None:
        self.message.say_error(error)

    @Slot()
    def _show(self) -> None:
        offer = self.current
        self.message.clear()
        self.diff.show_diff("")
        for button in (self.restore_button, self.discard_button, self.copy_button):
            button.setEnabled(offer is not None)
        if offer is None:
            return
        self.title.say(
            self.tr(
                "{path}, last edited at {time}: lines with “-” are on disk, lines with “+” are in the draft"
            ).format(path=visible(offer.draft.label), time=when(offer.draft.at_ms))
        )
        self._say_state(offer)
        self.restore_button.setEnabled(not offer.gap)

        def work(_control: JobControl) -> str:
            disk = offer.disk.content.encode("utf-8", "replace") if offer.disk is not None else None
            return unified(disk, offer.draft.content.encode("utf-8", "replace"), offer.draft.label)

        self._lane.submit(
            "compare a draft",
            work,
            done=self.diff.show_diff,
            failed=self.show_error,
            group=f"draft {id(self)}",
        )

    def _say_state(self, offer: Offer) -> None:
        if offer.gap:
            self.message.say(
                self.tr("This draft cannot be restored to its file. {reason}").format(reason=offer.gap),
                tone="warn",
            )
        elif offer.disk is None:
            self.message.say(self.tr("The file no longer exists. Restoring opens the draft in the editor."))
        elif offer.changed:
            self.message.say(
                self.tr(
                    "The file has changed since the draft was made. Restoring shows both versions; "
                    "nothing is overwritten."
                ),
                tone="warn",
            )

    @Slot()
    def _restore(self) -> None:
        if self.current is not None:
            self.restore.emit(self.current)

    @Slot()
    def _discard(self) -> None:
        if self.current is not None:
            self.discard.emit(self.current)

    @Slot()
    def _copy(self) -> None:
        if self.current is not None:
            QGuiApplication.clipboard().setText(self.current.draft.content)
