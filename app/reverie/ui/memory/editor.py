"""The editor pane: header with path and size, what a person must know or decide, and the text.

Shows one `OpenFile`; all decisions are in `editor_state`, all reading and writing in `buffers`. The text view
is one widget whose document is exchanged, so that every file keeps its own undo stack, cursor and scroll.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextDocumentLayout,
    QSizePolicy,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.labels import ElidedLabel, WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.documents import OpenFile
from reverie.ui.memory.source_view import SourceView
from reverie.ui.shown import human_size
from reverie.ui.theme import GAP, MARGIN, UNIT, tabular, theme_of

_MEASURE_MS = 120
_WARN_SHARE = 0.8


class SizeGauge(QWidget):
    """How full a memory is: a short bar and `3.1 of 100 KiB`. Without a cap only the size."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._size = 0
        self._cap = 0
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_size(self, size: int, cap: int) -> None:
        if (size, cap) == (self._size, self._cap):
            return
        self._size, self._cap = size, cap
        self.setToolTip(
            self.tr("{size} bytes of the {cap} that the agent reads").format(size=f"{size:,}", cap=f"{cap:,}")
            if cap
            else self.tr("{size} bytes").format(size=f"{size:,}")
        )
        self.setAccessibleName(self.text)
        self.updateGeometry()
        self.update()

    @property
    def text(self) -> str:
        if not self._cap:
            return human_size(self._size)
        return self.tr("{size} of {cap}").format(size=human_size(self._size), cap=human_size(self._cap))

    @property
    def over(self) -> bool:
        return bool(self._cap) and self._size > self._cap

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        bar = 48 + GAP if self._cap else 0
        return QSize(metrics.horizontalAdvance(self.text) + bar + 2, metrics.height() + UNIT)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        share = self._size / self._cap if self._cap else 0.0
        colour = theme.bad_text if self.over else theme.warn_text if share > _WARN_SHARE else theme.dim_window
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        if self._cap:
            groove = QRectF(0.5, self.height() / 2 - 3, 48, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.line)
            painter.drawRoundedRect(groove, 3, 3)
            painter.setBrush(theme.accent if colour == theme.dim_window else colour)
            painter.drawRoundedRect(
                QRectF(groove.left(), groove.top(), max(3.0, 48 * min(1.0, share)), 6), 3, 3
            )
            left = 48 + GAP
        painter.setPen(colour)
        painter.drawText(self.rect().adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text)


class EditorPane(QWidget):
    """`chosen(str)`: a button of the banner: reload, keep, compare, save, close."""

    chosen = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._file: OpenFile | None = None
        self._cap = 0
        self.path = ElidedLabel()
        self.mark = QLabel(self.tr("edited"))
        self.mark.setToolTip(self.tr("Not saved yet"))
        self.gauge = SizeGauge()
        self.reason = MessageBar(icons, "read-only", closable=False)
        self.banner = MessageBar(icons, "conflict", closable=False)
        self.banner.chosen.connect(self.chosen)
        self.draft = MessageBar(icons, "draft")
        self.error = MessageBar(icons, "editor-error")
        self.text = SourceView()
        self.text.setAccessibleName(self.tr("Text of the memory"))
        self.text.textChanged.connect(self._on_text_changed)
        self.nothing = WrapLabel(self.tr("Select a memory to read and edit it."))
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._measure = QTimer(self)
        self._measure.setSingleShot(True)
        self._measure.setInterval(_MEASURE_MS)
        self._measure.timeout.connect(self._show_size)
        # The view deletes the document it was born with as soon as it gets another.
        self._empty_document = QTextDocument(self)
        self._empty_document.setDocumentLayout(QPlainTextDocumentLayout(self._empty_document))
        self._lay_out()
        self._tint()
        self.clear()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(GAP, UNIT, GAP, 0)
        head.setSpacing(GAP)
        head.addWidget(self.path, 1)
        head.addWidget(self.mark)
        head.addWidget(self.gauge)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, UNIT, 0, 0)
        column.setSpacing(UNIT)
        column.addLayout(head)
        for bar in (self.reason, self.banner, self.draft, self.error):
            column.addWidget(bar)
        column.addWidget(self.text, 1)
        blank = QWidget()
        around = QVBoxLayout(blank)
        around.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        around.addWidget(self.nothing)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(blank)
        self._stack.addWidget(page)

    def minimumSizeHint(self) -> QSize:
        """Bars are never squeezed so that a sentence or a button is cut off."""
        hint, page = super().minimumSizeHint(), self._stack.currentWidget()
        layout = page.layout() if page is not None else None
        if layout is None or not layout.hasHeightForWidth():
            return hint
        return QSize(hint.width(), max(hint.height(), layout.minimumHeightForWidth(max(1, self.width()))))

    @property
    def file(self) -> OpenFile | None:
        return self._file

    def clear(self, sentence: str = "") -> None:
        """No file is shown; `sentence` says why."""
        self._keep_place()
        self._file = None
        self.text.setDocument(self._empty_document)
        self.nothing.say(sentence or self.tr("Select a memory to read and edit it."))
        self._stack.setCurrentIndex(0)

    def show_file(self, file: OpenFile, cap: int) -> None:
        """Show `file`, where the person left it."""
        if file is not self._file:
            self._keep_place()
            self._file = file
            self._cap = cap
            self.error.clear()
            self.text.setDocument(file.document)
            cursor = QTextCursor(file.document)
            cursor.setPosition(min(file.cursor, max(0, file.document.characterCount() - 1)))
            self.text.setTextCursor(cursor)
            self.text.verticalScrollBar().setValue(file.scroll)
        self._stack.setCurrentIndex(1)
        self.refresh()

    def focus_text(self) -> None:
        self.text.setFocus()

    def show_error(self, error: MendableError) -> None:
        self.error.say_error(error)

    def refresh(self) -> None:
        """The state of the shown file is another."""
        file = self._file
        if file is None:
            return
        address = file.buffer.address
        self.path.say(address.label)
        self.text.setReadOnly(file.read_only)
        self.mark.setVisible(file.buffer.modified or file.saving)
        self.mark.setText(self.tr("saving…") if file.saving else self.tr("edited"))
        self._say_reason(file)
        self._say_banner(file)
        self._show_size()

    def _say_reason(self, file: OpenFile) -> None:
        if file.cut:
            self.reason.say(
                self.tr("{reason} Only its beginning is shown.").format(reason=file.buffer.read_only)
            )
        elif file.buffer.read_only:
            self.reason.say(file.buffer.read_only)
        elif not file.lossless:
            self.reason.say(
                self.tr("This file holds characters that an editor would change; it is read-only here.")
            )
        else:
            self.reason.clear()

    def _say_banner(self, file: OpenFile) -> None:
        banner = file.buffer.banner
        if not banner:
            self.banner.clear()
            return
        keep = ("keep", self.tr("Keep mine"), self.tr("Your text stays; the next save replaces theirs"))
        close = ("close", self.tr("Close"), self.tr("Close this file"))
        sentence, buttons = {
            "conflict": (
                self.tr("This file changed on disk while you were editing it."),
                [
                    (
                        "reload",
                        self.tr("Reload"),
                        self.tr("Take the version on disk; Ctrl+Z brings yours back"),
                    ),
                    keep,
                    ("compare", self.tr("Compare"), self.tr("Show both versions")),
                ],
            ),
            "deleted": (
                self.tr("This file was deleted on disk. Your text is still here."),
                [("save", self.tr("Save again"), self.tr("Create the file with your text")), close],
            ),
            "gone": (
                self.tr("This file was deleted on disk."),
                [("save", self.tr("Save again"), self.tr("Create the file with this text")), close],
            ),
        }[banner]
        self.banner.say(sentence, tone="warn", buttons=buttons)

    @Slot()
    def _on_text_changed(self) -> None:
        self._measure.start()

    @Slot()
    def _show_size(self) -> None:
        if self._file is None:
            return
        base = self._file.buffer.base
        if base is not None and not self._file.buffer.modified:
            self.gauge.show_size(base.size, self._cap)
        else:
            self.gauge.show_size(len(self._file.content.encode("utf-8", "surrogatepass")), self._cap)

    def _keep_place(self) -> None:
        if self._file is not None:
            self._file.cursor = self.text.textCursor().position()
            self._file.scroll = self.text.verticalScrollBar().value()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "mark"):
            self._tint()

    def _tint(self) -> None:
        colour = theme_of(self.palette()).warn_text
        palette = self.mark.palette()
        if palette.color(self.mark.foregroundRole()) != colour:
            palette.setColor(self.mark.foregroundRole(), colour)
            self.mark.setPalette(palette)
