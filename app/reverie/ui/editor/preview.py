"""The rendered text of a memory, shown beside its source or in place of it.

Nothing is loaded from the network or the disk. A click on a link shows its whole address as plain text, with
Cancel as the default; only web and mail addresses can be opened.

Threading: GUI thread. The text is rendered after a pause in typing. A text of more than `LIMIT` characters is
not rendered, and a sentence says so.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QFont, QFontMetrics
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QTextBrowser, QWidget

from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.display_text import visible
from reverie.ui.editor.rendered import LIMIT, MOST_LINES, PlainDocument, rendered
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import ElidedLabel, WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.text_boxes import PageBox
from reverie.ui.widgets.text_views import read_only_text

OPENED = frozenset({"http", "https", "mailto"})
_REST_MS = 180


class PreviewPane(QWidget):
    """A widget that renders Markdown while it is visible; `say_text` sets the text.

    Signals:
        rendered(): A newly rendered text is shown.
        scrolled(): The user has scrolled.
    """

    rendered = Signal()
    scrolled = Signal()

    def __init__(
        self, parent: QWidget | None = None, opener: Callable[[QUrl], bool] = QDesktopServices.openUrl
    ) -> None:
        super().__init__(parent)
        self._opener = opener
        self._text = ""
        self._shown: str | None = None
        self._zoom = 0
        self._rendering = False
        self.question: LinkDialog | None = None
        self.browser = _Browser()
        self.browser.setAccessibleName(self.tr("Rendered memory text"))
        self.browser.anchorClicked.connect(self.ask)
        self.browser.highlighted.connect(self._show_address)
        self.browser.verticalScrollBar().valueChanged.connect(self._on_scroll)
        self.note = WrapLabel()
        self.note.setContentsMargins(GAP, UNIT, GAP, UNIT)
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.address = ElidedLabel()
        self.address.setContentsMargins(GAP, 0, GAP, UNIT)
        self._rest = single_shot(self, _REST_MS, self.render_now)
        column(self, self.note, self.browser, self.address, grows=self.browser, margin=0, gap=0)
        self.note.hide()
        self.address.hide()

    def say_text(self, text: str, *, at_once: bool = False) -> None:
        """Set the text to render: at once if `at_once`, else after a pause in typing.

        If the pane is hidden, the text is rendered when the pane is shown.
        """
        self._text = text
        if not self.isVisible():
            self._shown = None
        elif at_once:
            self.render_now()
        else:
            self._rest.start()

    def set_zoom(self, points: int) -> None:
        """Set the size of the text to `points` points above that of the interface; below it if negative."""
        if points != self._zoom:
            self._zoom = points
            self._again()

    @Slot()
    def render_now(self) -> None:
        """Render the text that was set last, unless it is shown already."""
        self._rest.stop()
        if self._shown == self._text:
            return
        self._shown = self._text
        too_large = len(self._text) > LIMIT or self._text.count("\n") > MOST_LINES
        self.note.setVisible(too_large)
        self.browser.setVisible(not too_large)
        self._say("")
        if too_large:
            self.note.say(self.tr("This file is too large to preview. You can still view its source."))
            return
        bar = self.browser.verticalScrollBar()
        place = bar.value()
        self._rendering = True
        self.browser.show_document(rendered(self._text, theme_of(self.palette()), self._font(), self.browser))
        bar.setValue(place)
        self._rendering = False
        self.rendered.emit()

    @Slot()
    def _on_scroll(self) -> None:
        """Emit `scrolled` if the user has scrolled, but not if a new text has moved the view."""
        if not self._rendering and (self.browser.hasFocus() or self.browser.underMouse()):
            self.scrolled.emit()

    def _font(self) -> QFont:
        font = QFont(QApplication.font())
        if font.pointSizeF() > 0:
            font.setPointSizeF(max(4.0, font.pointSizeF() + self._zoom))
        return font

    def _again(self) -> None:
        self._shown = None
        if self.isVisible():
            self.render_now()

    @Slot(QUrl)
    def _show_address(self, url: QUrl) -> None:
        self._say(_address(url))

    def _say(self, sentence: str) -> None:
        self.address.say(sentence)
        self.address.setVisible(bool(sentence))

    @Slot(QUrl)
    def ask(self, url: QUrl) -> None:
        """Ask the user whether to open a link, showing its whole address; open it if the user agrees.

        If the link is neither a web nor a mail address, a message says that it was not opened.
        """
        if url.scheme().lower() not in OPENED:
            self._say(
                self.tr(
                    "This link was not opened because Reverie opens only web and email addresses: {address}"
                ).format(address=_address(url))
            )
            return
        dialog = LinkDialog(url, self)
        dialog.accepted.connect(self._open)
        dialog.finished.connect(dialog.deleteLater)
        self.question = dialog
        dialog.open()

    @Slot()
    def _open(self) -> None:
        if self.question is not None and not self._opener(self.question.url):
            self._say(self.tr("No program on this computer can open {address}").format(
                address=_address(self.question.url)))  # fmt: skip

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self.render_now()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "note"):
            self._again()


class _Browser(PageBox):
    """A text browser that opens no link, loads no resource and shows no tool tips from the text.

    Qt would interpret such a tool tip as markup.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)

    def show_document(self, document: PlainDocument) -> None:
        before = self.document()
        self.setDocument(document)
        if isinstance(before, PlainDocument):
            before.deleteLater()

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Refuse to load anything."""

    def viewportEvent(self, event: QEvent) -> bool:
        return True if event.type() == QEvent.Type.ToolTip else super().viewportEvent(event)


class LinkDialog(QDialog):
    """A dialog that shows the whole address of a link and asks whether to open it; Return cancels."""

    def __init__(self, url: QUrl, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.url = url
        self.setWindowTitle(self.tr("Open this link?"))
        question = WrapLabel(self.tr("Anyone could have written this memory, so check the address first:"))
        self.address = read_only_text(self.tr("Address"), _address(url))
        self.address.setFixedHeight(5 * QFontMetrics(self.address.font()).height())
        self.buttons = QDialogButtonBox()
        self.open_button = self.buttons.addButton(
            self.tr("&Open in browser"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.cancel_button = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.open_button.setAutoDefault(False)
        self.cancel_button.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column(self, question, self.address, self.buttons)
        self.cancel_button.setFocus()
        self.setMinimumWidth(340)


def _address(url: QUrl) -> str:
    """Return the address of a link in encoded form, for display.

    Letters that look like others appear as codes, so that no address can pass for another.
    """
    return visible(bytes(url.toEncoded().data()).decode("ascii", "replace"))
