"""Offers to restore the drafts of a window that was killed.

Threading: GUI thread; searching, comparing and removing are jobs on the lane of the drafts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.services.views import file_text
from reverie.ui.display_text import counted, has_long_line, when
from reverie.ui.editor import buffer as state
from reverie.ui.editor.buffer import Address, FileRef
from reverie.ui.editor.buffers import Buffers
from reverie.ui.editor.line_breaks import widget_text
from reverie.ui.editor.pane import EditorPane
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.widgets.messages import MessageBar, Tone

if TYPE_CHECKING:
    from reverie.services.views import FileText, Offer, Offers
from reverie.ui.editor.drafts import DraftKeeper
from reverie.ui.editor.drafts_dialog import DraftsDialog


class DraftOffers(QObject):
    """The offers to restore drafts: unsaved texts of a killed window, and saved texts that were overwritten.

    `bar` offers all drafts of the shown home; the editor pane offers the draft of the shown file. A draft
    stays on disk until its text is in the editor and stored again as a draft of this window, or until the
    user discards it. If the user chooses "Keep for later" or closes an offer, the draft is offered again when
    Reverie is started the next time.
    """

    def __init__(
        self, keeper: DraftKeeper, buffers: Buffers, pane: EditorPane, icons: Icons, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._buffers = buffers
        self._pane = pane
        self._icons = icons
        self._session: HomeSession | None = None
        self._offers: dict[str, Offer] = {}
        self._later: set[str] = set()
        # Restored and discarded drafts; a search that began before still finds them on disk.
        self._done_with: set[str] = set()
        self._has_looked = False
        self._not_kept = ""
        # Why the last restore or discard was refused, until the user tries again or closes the bar.
        self._refused: UserError | None = None
        self.dialog: DraftsDialog | None = None
        self.bar = MessageBar(icons, "drafts")
        self.bar.chosen.connect(self._on_bar)
        self.bar.dismissed.connect(self._forget_refusal)
        pane.draft.chosen.connect(self._on_pane)
        pane.draft.dismissed.connect(self._on_dismissed)
        keeper.failed.connect(self._on_not_kept)
        keeper.kept.connect(self._on_kept)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return tuple(self._offers.values())

    def set_session(self, session: HomeSession | None) -> None:
        """Use another home; None if no home is open.

        The drafts of the home are searched for once its trees are shown.
        """
        if self._session is not None:
            self._session.overwritten.disconnect(self.look_again)
            self._session.tree_changed.disconnect(self._on_tree)
            self._session.trouble.disconnect(self._on_trouble)
        self._session = session
        self._has_looked = False
        self._offers, self._done_with = {}, set()
        self._refused = None
        self.bar.clear()
        if self.dialog is not None:
            self.dialog.reject()
        if session is not None:
            session.overwritten.connect(self.look_again)
            session.tree_changed.connect(self._on_tree)
            session.trouble.connect(self._on_trouble)

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """Search for drafts when the trees are first shown, and at later changes while drafts are offered."""
        if not update.names_only and (self._offers or not self._has_looked):
            self._has_looked = True
            self.look_again()

    @Slot(object)
    def _on_trouble(self, error: UserError | None) -> None:
        """Search for drafts although the trees cannot be read; search again once they are shown.

        `error` is None if the trees can be read again; then nothing is done.
        """
        if error is not None and not self._has_looked:
            self.look_again()

    @Slot()
    def look_again(self) -> None:
        """Search for drafts again, for example because another program overwrote a saved text.

        The overwritten text was then stored as a draft.
        """
        if self._session is not None:
            self._look(self._session)

    def _look(self, session: HomeSession) -> None:
        def done(found: Offers) -> None:
            if self._session is session:
                self._on_found(found)

        self._keeper.lane.submit(
            "look for drafts",
            ask(session.workbench.drafts.offered, self._keeper.instance),
            done=done,
            failed=self._show_error,
            group="drafts",
        )

    def _on_found(self, found: Offers) -> None:
        offers = {offer.name: offer for offer in found.offers}
        self._done_with.intersection_update(offers)
        self._offers = {name: offer for name, offer in offers.items() if name not in self._done_with}
        self._say(len(found.damaged))
        self.follow()

    def _say(self, damaged: int = 0) -> None:
        overwritten = sum(offer.draft.overwritten for offer in self.offers)
        unsaved = len(self._offers) - overwritten
        sentences = (
            counted(
                "Another program overwrote 1 file that you had just saved. Reverie kept your version.",
                "Another program overwrote %n files that you had just saved. Reverie kept your versions.",
                overwritten,
            )
            if overwritten
            else "",
            counted(
                "1 file has unsaved text, which is kept as a draft.",
                "%n files have unsaved text, which is kept as drafts.",
                unsaved,
            )
            if unsaved
            else "",
            counted(
                "1 draft is damaged and was moved to a separate file in Reverie's state directory.",
                "%n drafts are damaged and were moved to separate files in Reverie's state directory.",
                damaged,
            )
            if damaged
            else "",
        )
        show = ("show", self.tr("Show drafts"), self.tr("Compare, restore or discard the drafts"))
        buttons = [show] if self._offers else []
        if self._refused is not None:
            self.bar.say_error(self._refused, buttons=buttons)
        elif any(sentences):
            tone: Tone = "warn" if overwritten else "info"
            self.bar.say(" ".join(filter(None, sentences)), tone=tone, buttons=buttons)
        else:
            self.bar.clear()

    @Slot()
    def follow(self) -> None:
        """Offer the draft of the shown file in the editor pane; hide the offer if there is no draft."""
        offer = self._of_shown()
        if offer is None or offer.name in self._later:
            self._pane.draft.clear()
            return
        if offer.draft.overwritten:
            tone: Tone = "warn"
            told = self.tr(
                "Another program overwrote the text that you saved in this file ({time}). Reverie "
                "kept your version."
            )
        else:
            tone, told = "info", self.tr("This file has unsaved text, last edited at {time}.")
        buttons = (
            ("restore", self.tr("Restore"), self.tr("Put the text back into the editor without saving it")),
            ("compare", self.tr("Compare"), self.tr("Show the differences between the draft and the file")),
            ("later", self.tr("Keep for later"), self.tr("Ask again the next time Reverie starts")),
        )
        self._pane.draft.say(told.format(time=when(offer.draft.at_ms)), tone=tone, buttons=buttons)

    def _of_shown(self) -> Offer | None:
        ref = self._pane.file.buffer.ref if self._pane.file is not None else None
        return next((offer for offer in self.offers if self._ref(offer) == ref), None)

    def _ref(self, offer: Offer) -> FileRef:
        home = self._session.info.id if self._session is not None else ""
        return FileRef(home, offer.draft.store, offer.draft.rel)

    @Slot(str)
    def _on_bar(self, _key: str) -> None:
        self.show_dialog()

    @Slot(str)
    def _on_pane(self, key: str) -> None:
        offer = self._of_shown()
        if offer is None:
            return
        if key == "restore":
            self.restore(offer)
        elif key == "compare":
            self.show_dialog(offer.name)
        else:
            self._on_dismissed()

    @Slot()
    def _on_dismissed(self) -> None:
        offer = self._of_shown()
        if offer is not None:
            self._later.add(offer.name)
        self._pane.draft.clear()

    def show_dialog(self, name: str = "") -> None:
        """Show the dialog with all drafts of the home, and select the draft `name`.

        If `name` is "", the selection of the dialog stays, or the first draft is selected.
        """
        if self.dialog is None:
            self.dialog = DraftsDialog(self._keeper.lane, self._icons, self._pane)
            self.dialog.restore.connect(self.restore)
            self.dialog.discard.connect(self.discard)
        self.dialog.show_offers(self.offers, name)
        self.dialog.open()

    @Slot(object)
    def discard(self, offer: Offer) -> None:
        """Delete the draft of an offer from the disk and remove the offer."""
        if self._session is None:
            return
        self._refused = None
        self._keeper.lane.submit(
            "discard a draft",
            ask(self._session.workbench.drafts.drop, (offer.name,)),
            done=lambda _nothing: self._forget(offer.name),
            failed=self._on_failed,
        )

    @Slot(object)
    def restore(self, offer: Offer) -> None:
        """Put the text of a draft into the editor as unsaved text; the file on disk stays as it is."""
        session = self._session
        if session is None:
            return
        self._refused = None

        async def work(_control: JobControl) -> tuple[Offer, FileText | None] | None:
            now = await ask(session.workbench.drafts.offer, offer.name)
            if now is None:
                return None
            base = now.draft.base
            if base is None:
                return now, None
            return now, file_text(now.draft.label, base.encode("utf-8"), mtime_ns=0, cap=None)

        def done(found: tuple[Offer, FileText | None] | None) -> None:
            if self._session is not session:
                return
            if found is None:
                self._forget(offer.name)
            else:
                self._bring_back(session, *found)

        self._keeper.lane.submit("restore a draft", work, done=done, failed=self._on_failed)

    def _bring_back(self, session: HomeSession, offer: Offer, style: FileText | None) -> None:
        gap = offer.gap
        if has_long_line(widget_text(offer.draft.content)):
            gap = self.tr("The draft has a line that is too long to edit here, but you can copy the draft.")
        if gap:
            self._offers[offer.name] = offer
            self._on_failed(UserError(self.tr("This draft cannot be restored to its file."), cause=gap))
            return
        draft, ref = offer.draft, self._ref(offer)
        base = style if draft.base_sha256 is not None else None
        address = Address(draft.context, draft.path, offer.companion)
        blank = state.Buffer(ref, address, base, offer.disk)
        buffer = state.from_draft(blank, base, style, offer.disk)
        if not self._buffers.bring_back(session, buffer, draft.content, draft.cursor):
            self._on_failed(
                UserError(
                    self.tr("The file is open and has other unsaved text."),
                    next_step=self.tr("Save or discard that text, then restore the draft."),
                )
            )
            return
        self._keeper.adopt(ref, offer.name)
        self._forget(offer.name)
        if self.dialog is not None:
            self.dialog.accept()
        self._pane.focus_text()

    def _forget(self, name: str) -> None:
        self._offers.pop(name, None)
        self._done_with.add(name)
        self._say()
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_offers(self.offers)
        self.follow()

    def _on_failed(self, error: UserError) -> None:
        """Show why a restore or discard was refused; later searches for drafts do not remove this message."""
        self._refused = error
        self._show_error(error)

    @Slot()
    def _forget_refusal(self) -> None:
        self._refused = None

    def _show_error(self, error: UserError) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_error(error)
        else:
            self.bar.say_error(error)

    @Slot(object)
    def _on_not_kept(self, error: UserError) -> None:
        """Show that a draft could not be written, so that the typed text exists only in this window."""
        self._pane.show_error(error)
        self._not_kept = self._pane.error.text

    @Slot()
    def _on_kept(self) -> None:
        """Remove the error about a draft that could not be written, because it is on disk now."""
        said, self._not_kept = self._not_kept, ""
        if said and self._pane.error.text == said:
            self._pane.error.clear()
