"""Offers the drafts that a killed window left: at the start of their home, and when their file is opened.

A draft stays on disk until its text is in the editor and kept as that buffer's own draft, or a person
discarded it. "Keep for later" and closing change nothing; the next start offers it again.

Threading: GUI thread; looking, comparing and removing are jobs on the drafts' lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.memory import editor_state as state
from reverie.ui.memory.bars import MessageBar, Tone
from reverie.ui.memory.buffers import Buffers
from reverie.ui.memory.draft_keeper import DraftKeeper
from reverie.ui.memory.editor import EditorPane
from reverie.ui.memory.editor_state import Address, FileRef
from reverie.ui.session import HomeSession
from reverie.ui.times import exact_time
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.services.drafts import Offer, Offers
    from reverie.services.views import FileText
    from reverie.ui.memory.drafts_dialog import DraftsDialog


class DraftOffers(QObject):
    """What is offered of the shown home. `bar` tells of all of it; the pane tells of the shown file's."""

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
        self.dialog: DraftsDialog | None = None
        self.bar = MessageBar(icons, "drafts")
        self.bar.chosen.connect(self._on_bar)
        pane.draft.chosen.connect(self._on_pane)
        pane.draft.dismissed.connect(self._on_dismissed)
        keeper.failed.connect(self._on_not_kept)

    @property
    def offers(self) -> tuple[Offer, ...]:
        return tuple(self._offers.values())

    def set_session(self, session: HomeSession | None) -> None:
        """Another home: look what was left there."""
        if self._session is not None:
            self._session.overwritten.disconnect(self.look_again)
        self._session = session
        self._offers = {}
        self.bar.clear()
        if self.dialog is not None:
            self.dialog.reject()
        if session is not None:
            session.overwritten.connect(self.look_again)
            self._look(session)

    @Slot()
    def look_again(self) -> None:
        """Another program overwrote a save; its text became a draft."""
        if self._session is not None:
            self._look(self._session)

    def _look(self, session: HomeSession) -> None:
        workbench, instance = session.workbench, self._keeper.instance

        def work(_control: JobControl) -> Offers:
            from reverie.services.drafts import DraftDesk

            return DraftDesk(workbench.parts, instance).offered()

        def done(found: Offers) -> None:
            if self._session is session:
                self._on_found(found)

        self._keeper.lane.submit("look for drafts", work, done=done, failed=self._on_failed, group="drafts")

    def _on_found(self, found: Offers) -> None:
        self._offers = {offer.name: offer for offer in found.offers}
        self._say(len(found.damaged))
        self.follow()

    def _say(self, damaged: int = 0) -> None:
        sentences = []
        overwritten = sum(offer.draft.overwritten for offer in self.offers)
        if overwritten:
            sentences.append(
                counted(
                    self.tr("Another program overwrote 1 file that you had just saved; your text is kept."),
                    "Another program overwrote %n files that you had just saved; your text is kept.",
                    overwritten,
                )
            )
        if len(self._offers) > overwritten:
            sentences.append(
                counted(
                    self.tr("Text of 1 file was not saved; it is kept as a draft."),
                    "Text of %n files was not saved; it is kept as drafts.",
                    len(self._offers) - overwritten,
                )
            )
        if damaged:
            sentences.append(
                counted(
                    self.tr("1 damaged draft was set aside in Reverie's state directory."),
                    "%n damaged drafts were set aside in Reverie's state directory.",
                    damaged,
                )
            )
        if not sentences:
            self.bar.clear()
            return
        show = ("show", self.tr("Show drafts"), self.tr("Compare, restore or discard them"))
        tone: Tone = "warn" if overwritten else "info"
        self.bar.say(" ".join(sentences), tone=tone, buttons=[show] if self._offers else [])

    @Slot()
    def follow(self) -> None:
        """Another file may be shown: tell of its draft."""
        offer = self._of_shown()
        if offer is None or offer.name in self._later:
            self._pane.draft.clear()
            return
        told = (
            self.tr("Another program overwrote what you saved here ({time}). Your text is kept.")
            if offer.draft.overwritten
            else self.tr("There is unsaved text for this file, typed until {time}.")
        )
        self._pane.draft.say(
            told.format(time=exact_time(offer.draft.at_ms)),
            tone="warn" if offer.draft.overwritten else "info",
            buttons=[
                ("restore", self.tr("Restore"), self.tr("Bring the text back; nothing is saved yet")),
                ("compare", self.tr("Compare"), self.tr("Show what differs from the file")),
                ("later", self.tr("Keep for later"), self.tr("Ask again at the next start")),
            ],
        )

    def _of_shown(self) -> Offer | None:
        file = self._pane.file
        if file is None:
            return None
        return next((offer for offer in self.offers if self._ref(offer) == file.buffer.ref), None)

    def _ref(self, offer: Offer) -> FileRef:
        home = self._session.info.id if self._session is not None else ""
        return FileRef(home, offer.draft.store, offer.draft.rel)

    # What a person decides

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
        """The drafts of the home, the one with this name selected."""
        if self.dialog is None:
            from reverie.ui.memory.drafts_dialog import DraftsDialog

            self.dialog = DraftsDialog(self._keeper.lane, self._icons, self._pane)
            self.dialog.restore.connect(self.restore)
            self.dialog.discard.connect(self.discard)
        self.dialog.show_offers(self.offers, name)
        self.dialog.open()

    @Slot(object)
    def discard(self, offer: Offer) -> None:
        """Throw a draft away."""
        if self._session is None:
            return
        workbench, instance = self._session.workbench, self._keeper.instance

        def work(_control: JobControl) -> None:
            from reverie.services.drafts import DraftDesk

            DraftDesk(workbench.parts, instance).drop([offer.name])

        def done(_nothing: None) -> None:
            self._forget(offer.name)

        self._keeper.lane.submit("discard a draft", work, done=done, failed=self._on_failed)

    @Slot(object)
    def restore(self, offer: Offer) -> None:
        """Bring a draft's text back into the editor, beside the file as it stands now."""
        session = self._session
        if session is None:
            return
        workbench, instance = session.workbench, self._keeper.instance

        def work(_control: JobControl) -> tuple[Offer, FileText | None] | None:
            from reverie.services.drafts import DraftDesk
            from reverie.services.texts import file_text

            now = DraftDesk(workbench.parts, instance).offer(offer.name)
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
        if offer.gap:
            self._offers[offer.name] = offer
            self._on_failed(
                MendableError(self.tr("This draft cannot be restored in its place."), cause=offer.gap)
            )
            return
        draft, ref = offer.draft, self._ref(offer)
        base = style if draft.base_sha256 is not None else None
        address = Address(draft.context, draft.path, offer.companion)
        blank = state.Buffer(ref, address, base, offer.disk)
        buffer = state.from_draft(blank, base, style, offer.disk)
        if not self._buffers.bring_back(session, buffer, draft.content, draft.cursor):
            self._on_failed(
                MendableError(
                    self.tr("The file is open with other unsaved text."),
                    next_step=self.tr("Save or undo that first, then restore the draft."),
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
        self._say()
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_offers(self.offers)
        self.follow()

    def _on_failed(self, error: MendableError) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_error(error)
        else:
            self.bar.say_error(error)

    @Slot(object)
    def _on_not_kept(self, error: MendableError) -> None:
        """What is typed lies nowhere but in this window."""
        self._pane.show_error(error)
