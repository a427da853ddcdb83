"""The view of one trace: the reason for its outcome, and all its content.

At the top is the verdict with its evidence. Below are pages: steps with their times, messages, the attempted
change, and the raw document. Selecting a span, a row or the evidence selects the same place on every page.

The raw document has no size limit: the engine returns a page of members at a time, and searches it.
Threading: GUI thread; the engine is called in jobs. Failure: an error of the file is shown in the status bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QToolButton,
    QTreeView,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.llm.json_document import MOST_HITS, DocumentHit, DocumentPage, Excerpt, JsonNode
from reverie.llm.trace_timeline import Timeline
from reverie.memory.diff import WordSpans
from reverie.ui.appearance import GAP, UNIT, mixed, readable, theme_of
from reverie.ui.display_text import counted, human_size, said, tokens, visible, visible_lines, when
from reverie.ui.icons import Icons
from reverie.ui.metrics import row_height
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.traces.steps import (
    StepPosition,
    StepsView,
    duration_label,
    kind_label,
    verdict_label,
    verdict_tone,
)
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, column, row_of, split
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import DiffView, read_only_text
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.errors import UserError
    from reverie.services.traces import MissedEdit, TraceDetail, TraceEvent, TraceService


def preview(found: Excerpt) -> str:
    """Return the value of a member of the document as one line for the tree.

    For an object, an array or a long text, the line contains the size.
    """
    node = found.node
    if node.is_container:
        return ("{…}" if node.kind == "object" else "[…]") + f" {human_size(node.size)}"
    if node.kind != "text":
        return found.text
    line = " ".join(found.text.split())
    return line if found.is_whole else f"{line}… {human_size(node.size)}"


def full_text(found: Excerpt) -> str:
    """Return the text of a value in a document, to be read and copied.

    A value that was read only in part ends with "…" and its whole size.
    """
    return found.text if found.is_whole else f"{found.text}… [{human_size(found.node.size)}]"


class ShownDocument(Struct, frozen=True):
    """The document on the raw page, and the service that reads its parts."""

    traces: TraceService
    trace_id: str
    root: JsonNode


Index = QModelIndex | QPersistentModelIndex


class Item(Struct, eq=False):
    """One member of a JSON document, as a row in the tree.

    `node`: the part of the document. `preview`: its value on one line. `row`: its position below `parent`.
    """

    node: JsonNode
    preview: str
    parent: Item | None
    row: int
    children: list[Item] = field(default_factory=list)
    """The child members that have been read so far."""
    more: bool = True
    """True if there are more child members than those in `children`."""
    loading: bool = False


class RawModel(QAbstractItemModel):
    """The tree model of the document; members are loaded on the lane of `feed` when a row is expanded."""

    def __init__(self, feed: TraceFeed, parent: QObject) -> None:
        super().__init__(parent)
        self._feed = feed
        self._document: ShownDocument | None = None
        self._root: Item | None = None
        self._generation = 0

    def show_document(self, document: ShownDocument | None) -> None:
        """Show another document; None shows none."""
        self.beginResetModel()
        self._generation += 1
        self._document = document
        self._root = Item(document.root, "", None, 0) if document is not None else None
        self.endResetModel()

    def node_at(self, index: Index) -> JsonNode | None:
        """Return the part of the document in a row; None for an invalid index."""
        item = self._item(index)
        return item.node if item is not None else None

    def index_of(self, path: tuple[JsonNode, ...]) -> QModelIndex:
        """Return the index of the last node of `path` that has been loaded."""
        item, index = self._root, QModelIndex()
        for node in path[1:]:
            found = next((child for child in item.children if child.node == node), None) if item else None
            if found is None:
                break
            item, index = found, self.createIndex(found.row, 0, found)
        return index

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        item = self._item(parent)
        return len(item.children) if item is not None and parent.column() <= 0 else 0

    def columnCount(self, _parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 2

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 - Qt's own signature
        item = self._item(parent)
        return item is not None and item.node.is_container and item.node.size > 2 and parent.column() <= 0

    def canFetchMore(self, parent: Index) -> bool:
        item = self._item(parent)
        return item is not None and item.node.is_container and item.more and not item.loading

    def fetchMore(self, parent: Index) -> None:
        item, document = self._item(parent), self._document
        if item is None or item.loading or not item.more or document is None:
            return
        item.loading = True
        node, skip, generation = item.node, len(item.children), self._generation

        self._feed.submit(
            "open a part",
            ask(document.traces.document_page, document.trace_id, node, skip),
            done=partial(self._take, item, generation),
            failed=partial(self._on_failed, item),
        )

    def _on_failed(self, item: Item, error: UserError) -> None:
        item.loading = False
        self._feed.failed.emit(error)

    def _take(self, item: Item, generation: int, found: DocumentPage) -> None:
        """Append loaded members, unless another document has been shown since they were requested."""
        if generation != self._generation:
            return
        item.more = found.more
        item.loading = False
        if not found.members:
            return
        first = len(item.children)
        parent = QModelIndex() if item.parent is None else self.createIndex(item.row, 0, item)
        self.beginInsertRows(parent, first, first + len(found.members) - 1)
        item.children += [
            Item(each.node, preview(each), item, first + place) for place, each in enumerate(found.members)
        ]
        self.endInsertRows()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        item = self._item(parent)
        if item is None or not 0 <= row < len(item.children) or not 0 <= column < 2:
            return QModelIndex()
        return self.createIndex(row, column, item.children[row])

    def parent(self, index: Any = None) -> Any:
        if index is None:
            return super().parent()
        item = index.internalPointer() if index.isValid() else None
        above = item.parent if isinstance(item, Item) else None
        if above is None or above.parent is None:
            return QModelIndex()
        return self.createIndex(above.row, 0, above)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        item = self._item(index)
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, row_height(QApplication.font()))
        if item is None or role != Qt.ItemDataRole.DisplayRole:
            return None
        return visible(str(item.node.key) if index.column() == 0 else item.preview)

    def headerData(self, section: int, _orientation: Qt.Orientation, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Name"), self.tr("Value"))[section]
        return None

    def _item(self, index: Index) -> Item | None:
        if not index.isValid():
            return self._root
        item = index.internalPointer()
        return item if isinstance(item, Item) else None


class RawView(QWidget):
    """The raw page: the tree, the value of the selected member, and a search with its hits."""

    failed = Signal(object)

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._document: ShownDocument | None = None
        self.hits: tuple[DocumentHit, ...] = ()
        self.model = RawModel(feed, self)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setUniformRowHeights(True)
        self.tree.setAccessibleName(self.tr("Raw document"))
        self.tree.header().resizeSection(0, 220)
        self.tree.selectionModel().currentChanged.connect(self._on_current)
        self.needle = SearchField(self.tr("Search this trace (press Enter)"))
        self.needle.returnPressed.connect(self._search)
        self.found = QLabel()
        self.copy = QPushButton(icons.icon("copy"), self.tr("&Copy value"))
        self.copy.clicked.connect(self._copy)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Search results"))
        self.list.setUniformItemSizes(True)
        self.list.hide()
        self.list.currentRowChanged.connect(self._on_hit)
        self.value = read_only_text(self.tr("Value"), fixed=True)
        self._lay_out()

    def _lay_out(self) -> None:
        row = row_of(self.needle, self.found, self.copy, grows=self.needle)
        left = QSplitter(Qt.Orientation.Vertical)
        left.addWidget(self.tree)
        left.addWidget(self.list)
        left.setStretchFactor(0, 2)
        self.splitter = split(left, self.value, sizes=(520, 420))
        column(self, row, self.splitter, grows=self.splitter, margin=(GAP, GAP, GAP, 0))

    def show_document(self, document: ShownDocument | None) -> None:
        """Show another document and clear search and value; None shows none."""
        self._document = document
        self._show_hits(())
        self.found.clear()
        self.list.hide()
        self.value.clear()
        self.model.show_document(document)
        self.copy.setEnabled(False)

    @Slot()
    def _search(self) -> None:
        document, needle = self._document, self.needle.text()
        if document is None:
            return

        self._feed.submit(
            "search a trace",
            ask(document.traces.search_document, document.trace_id, needle),
            done=self._on_found,
            group=f"search {id(self)}",
        )

    def _on_found(self, hits: tuple[DocumentHit, ...]) -> None:
        self._show_hits(hits)
        self.list.setVisible(bool(hits))
        if self.needle.text():
            many = counted(self.tr("1 match"), "%n matches", len(hits))
            self.found.setText(
                self.tr("{n} or more matches").format(n=many) if len(hits) >= MOST_HITS else many
            )
        else:
            self.found.clear()

    def _show_hits(self, hits: tuple[DocumentHit, ...]) -> None:
        self.hits = hits
        self.list.blockSignals(True)
        self.list.clear()
        for hit in hits:
            where = " › ".join(visible(str(node.key)) for node in hit.path[1:])
            self.list.addItem(QListWidgetItem(f"{where}:  {visible(hit.excerpt)}"))
        self.list.blockSignals(False)

    @Slot(int)
    def _on_hit(self, row: int) -> None:
        if not 0 <= row < len(self.hits):
            return
        hit = self.hits[row]
        index = self.model.index_of(hit.path)
        if index.isValid():
            self.tree.expand(index)
            self.tree.setCurrentIndex(index)
        self._show_value(hit.path[-1])

    @Slot(QModelIndex)
    def _on_current(self, index: QModelIndex) -> None:
        node = self.model.node_at(index) if index.isValid() else None
        if node is not None:
            self._show_value(node)

    def _show_value(self, node: JsonNode) -> None:
        document = self._document
        if document is None:
            return
        self._feed.submit(
            "read a value",
            ask(document.traces.document_value, document.trace_id, node),
            done=self._on_value,
            group=f"value {id(self)}",
        )

    def _on_value(self, found: Excerpt) -> None:
        self.value.setPlainText(visible_lines(full_text(found)))
        self.copy.setEnabled(True)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.value.content)


_FOLDED_LINES = 6
_FOLDED_CHARS = 600
_UNFOLDED_LINES = 24
_MOST_CARDS = 80
_MOST_CHARS = 400_000


class MessageText(Struct, frozen=True):
    """A text of a trace, such as a prompt, an answer or a message, with its title."""

    title: str
    text: str


class MessagesView(QScrollArea):
    """The messages page: one card for each text; long texts are folded.

    The newest texts, those of the model, are last.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Messages"))
        self.cards: list[Card] = []
        self._show(())

    def show_trace(self, detail: TraceDetail) -> None:
        """Show the texts of a trace."""
        left_out = detail.event_count - len(detail.events)
        self._show(tuple(self._texts(detail)), left_out)

    def clear(self) -> None:
        """Show no texts."""
        self._show(())

    def _show(self, texts: tuple[MessageText, ...], left_out: int = 0) -> None:
        inside = QWidget()
        outer = column(inside, margin=GAP)
        self.cards = [Card(each) for each in texts[:_MOST_CARDS]]
        for card in self.cards:
            outer.addWidget(card)
        left_out += len(texts) - len(self.cards)
        if left_out:
            outer.addWidget(WrapLabel(self.tr("{n} more messages are on the Raw page.").format(n=left_out)))
        outer.addStretch(1)
        self.setWidget(inside)

    def _texts(self, detail: TraceDetail) -> Iterator[MessageText]:
        for key, title in (
            ("systemPrompt", self.tr("System prompt")),
            ("globalAgentsMd", self.tr("Global instructions")),
            ("contextAgentsMd", self.tr("Project instructions")),
            ("existingMemory", self.tr("Memory before the run")),
        ):
            if key in detail.texts:
                yield MessageText(title, detail.texts[key])
        for attempt, answer in zip(detail.facts.attempts, detail.answers, strict=True):
            for message in attempt.messages:
                title = self.tr("Attempt {n}, {role} message").format(n=attempt.index, role=message.role)
                yield MessageText(title, message.text)
            title = self.tr("Attempt {n}, the model's response").format(n=attempt.index)
            yield MessageText(title, answer or attempt.error or self.tr("(nothing)"))
        yield from map(self._event, detail.events)

    def _event(self, event: TraceEvent) -> MessageText:
        title = self.tr("Conversation, {role} {n}").format(role=event.role, n=event.number)
        return MessageText(title, event.text)


class Card(QFrame):
    """The card of one text; for a long text, it shows the beginning and a button for the rest."""

    def __init__(self, message: MessageText, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        # The folded part is not processed: the texts of a large trace are megabytes.
        self._text = message.text
        begin = visible_lines(message.text[: 4 * _FOLDED_CHARS])
        head = "\n".join(begin.splitlines()[:_FOLDED_LINES])[:_FOLDED_CHARS]
        self.is_long = len(message.text) > 4 * _FOLDED_CHARS or len(head) < len(begin.rstrip("\n"))
        self.title = WrapLabel()
        self.title.say(
            visible(message.title)
            + " · "
            + counted(self.tr("1 character"), "%n characters", len(message.text))
        )
        embolden(self.title)
        self.body = read_only_text(visible(message.title), fixed=True)
        self.body.setFrameShape(QFrame.Shape.NoFrame)
        self._head = head + ("…" if self.is_long else "")
        self.more = QToolButton()
        self.more.setAutoRaise(True)
        if not self.is_long:
            self.more.hide()  # showing a widget without a parent would open a window
        self.more.clicked.connect(self.toggle)
        column(self, self.title, self.body, self.more, margin=(GAP, UNIT, GAP, UNIT), gap=UNIT)
        self.folded = True
        self._show()

    @Slot()
    def toggle(self) -> None:
        """Fold or unfold the text."""
        self.folded = not self.folded
        self._show()

    def _show(self) -> None:
        shown = self._head if self.folded else self._whole()
        self.body.setPlainText(shown)
        self.more.setText(self.tr("Show all") if self.folded else self.tr("Fold"))
        most = _FOLDED_LINES + 2 if self.folded else _UNFOLDED_LINES
        lines = sum(1 + len(line) // 110 for line in shown.splitlines()) or 1
        height = QFontMetrics(self.body.font()).lineSpacing()
        self.body.setFixedHeight(height * min(lines, most) + 2 * GAP)

    def _whole(self) -> str:
        text = visible_lines(self._text[:_MOST_CHARS])
        return text if len(self._text) <= _MOST_CHARS else f"{text}\n… [{len(self._text):,}]"


class Shown(Struct, frozen=True):
    """A trace that a job has read."""

    traces: TraceService
    """The service that reads parts of the trace's document."""
    detail: TraceDetail
    workspace: str = ""
    """The name of the workspace in the list of homes."""
    is_here: bool = True
    """True if the trace file is on this machine."""

    @property
    def document(self) -> ShownDocument | None:
        """The document for the raw page; None if the file could not be parsed."""
        detail = self.detail
        if detail.root is None:
            return None
        return ShownDocument(self.traces, str(detail.row.path), detail.root)


class TraceDetailView(Column):
    """The view of one trace, the recorded conversation of a run with its model.

    Signal: `asked(str)`, emitted with the requested action: transcript, compare, replay, copy or export.
    """

    asked = Signal(str)

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: Shown | None = None
        self.verdict = MessageBar(icons, "trace-verdict", closable=False)
        self.verdict.chosen.connect(self._on_verdict)
        self.facts = WrapLabel()
        self.buttons: dict[str, FitPushButton] = {}
        self._icons = icons
        self._signs: dict[str, str] = {}
        self.steps = StepsView()
        self.messages = MessagesView()
        self.memory = AttemptView()
        self.raw = RawView(feed, icons)
        self.pages = QTabWidget()
        self.pages.setAccessibleName(self.tr("Parts of the trace"))
        self._lay_out(icons)
        self.clear()

    def _lay_out(self, icons: Icons) -> None:
        row = FlowLayout()
        for key, icon, label, tip in (
            ("transcript", "open", self.tr("&Transcript"), self.tr("Show this point in the conversation")),
            ("compare", "preview", self.tr("C&ompare…"), self.tr("Compare the two selected traces")),
            ("replay", "refresh", self.tr("Re&play…"), self._replay_tip),
            ("copy", "copy", self.tr("Copy &summary"), self.tr("Copy the verdict, evidence and facts")),
            ("export", "save", self.tr("&Export…"), self.tr("Save the trace as a file")),
        ):  # fmt: skip
            button = FitPushButton(label, tip, icon=icons.icon(icon))
            button.setAccessibleName(label.replace("&", ""))
            button.setObjectName(key)
            button.clicked.connect(self._on_button)
            row.addWidget(button)
            self.buttons[key] = button
            self._signs[key] = icon
        for page, title in (
            (self.steps, self.tr("Steps")),
            (self.messages, self.tr("Messages")),
            (self.memory, self.tr("Attempted change")),
            (self.raw, self.tr("Raw")),
        ):
            self.pages.addTab(page, title)
        self.pages.setDocumentMode(True)
        top = column(None, self.verdict, self.facts, row, margin=(GAP, GAP, GAP, 0))
        column(self, top, self.pages, grows=self.pages, margin=0)

    @property
    def _replay_tip(self) -> str:
        return self.tr("Repeat this run on a copy, with another model or prompt; no files are changed")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buttons"):
            for key, button in self.buttons.items():
                button.setIcon(self._icons.icon(self._signs[key]))

    def clear(self) -> None:
        """Show no trace."""
        self.shown = None
        self.verdict.clear()
        self.facts.say("")
        self.steps.show_facts(None, Timeline(1, 0, ()))
        self.messages.clear()
        self.memory.show_trace(None)
        self.raw.show_document(None)
        self.pages.setEnabled(False)
        for button in self.buttons.values():
            button.setEnabled(False)

    def show_trace(self, shown: Shown) -> None:
        """Show a trace and select the evidence of its verdict."""
        detail = shown.detail
        known = self.shown
        self.shown = shown
        row = detail.row
        buttons = [
            ("evidence", self.tr("Show evidence"), self.tr("Select the step that contains the evidence"))
        ]
        self.verdict.say(
            f"{verdict_label(row.verdict)}. {visible(said(row.sentence))}",
            tone=verdict_tone(row.verdict),
            buttons=buttons if row.place.attempt else (),
        )
        self.facts.say(self._facts(detail))
        self.pages.setEnabled(True)
        for key, button in self.buttons.items():
            if key != "compare":
                button.setEnabled(True)
        self.buttons["transcript"].setEnabled(bool(detail.facts.trigger_message_id))
        self.buttons["export"].setEnabled(shown.is_here)
        self.buttons["replay"].setEnabled(not detail.no_replay)
        self.buttons["replay"].setToolTip(detail.no_replay or self._replay_tip)
        self.steps.show_facts(detail.facts, detail.timeline)
        self.messages.show_trace(detail)
        self.memory.show_trace(detail)
        if known is None or (known.detail.row.path, known.detail.stamp) != (row.path, detail.stamp):
            self.raw.show_document(shown.document)
        self.show_evidence()

    def show_error(self, text: str) -> None:
        """Show `text`, the reason why the trace cannot be read, in place of a trace."""
        self.clear()
        self.verdict.say(text, tone="bad")

    def summary(self) -> str:
        """Return verdict, evidence and facts as text for sharing."""
        if self.shown is None:
            return ""
        row = self.shown.detail.row
        return "\n".join(
            (
                f"{verdict_label(row.verdict)}: {said(row.sentence)}",
                self.tr("Evidence: {text}").format(text=said(row.evidence)),
                self._facts(self.shown.detail),
                str(row.path),
            )
        )

    def _facts(self, detail: TraceDetail) -> str:
        row, facts = detail.row, detail.facts
        parts = [
            kind_label(row.kind),
            when(row.started_at),
            self.shown.workspace if self.shown is not None else "",
            row.model,
            duration_label(row.duration_ms),
            counted(self.tr("1 attempt"), "%n attempts", row.attempts),
            tokens(row.tokens) if row.tokens else "",
            self.tr("triggered by {id}").format(id=facts.trigger_message_id)
            if facts.trigger_message_id
            else "",
            human_size(row.size),
            self.tr("long texts are shortened here; the Raw page has the full text")
            if detail.shortened
            else "",
        ]
        return " · ".join(visible(part) for part in parts if part)

    def show_evidence(self) -> None:
        """Select the step that is the evidence for the verdict."""
        if self.shown is not None and self.shown.detail.row.place.attempt:
            place = self.shown.detail.row.place
            self.steps.pick(StepPosition(place.attempt, place.step, place.call))

    @Slot(str)
    def _on_verdict(self, _key: str) -> None:
        self.pages.setCurrentWidget(self.steps)
        self.show_evidence()
        self.steps.tree.setFocus()

    @Slot()
    def _on_button(self) -> None:
        self.asked.emit(self.sender().objectName())


_WORD = 0.35
"""The strength of the background colour of a marked word, relative to that of its line."""
_MOST_CHARS, _MOST_ROWS, _MOST_MARKS = 10_000, 500, 500
"""Limits for one displayed text; more would block the window."""


class MissedView(PlainTextBox):
    """The read-only view of the attempted edits whose old text was not found in the memory.

    For each edit, the old text that the model gave is shown above the text of the memory, with the words that
    differ marked, because one missing word can be the whole reason. Texts come from a model and from the
    memory and are drawn as plain text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._edits: tuple[MissedEdit, ...] = ()
        self.setReadOnly(True)
        self.setAccessibleName(self.tr("Edits that failed because the text to replace was not found"))

    def show_edits(self, edits: tuple[MissedEdit, ...]) -> None:
        """Show these edits; an empty tuple clears the view."""
        self._edits = edits
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()

    def _fill(self) -> None:
        self.clear()
        theme, cursor = theme_of(self.palette()), QTextCursor(self.document())
        heading, note = QTextCharFormat(), QTextCharFormat()
        heading.setFontWeight(600)
        note.setForeground(theme.dim)
        for number, edit in enumerate(self._edits):
            name = self.tr("Attempt {n}, {tool}").format(n=edit.attempt, tool=edit.tool)
            why = visible(edit.problem) or self.tr("The text to replace is not in the memory.")
            cursor.insertText("\n\n" * bool(number) + visible(name) + ": ", heading)
            cursor.insertText(why, QTextCharFormat())
            if edit.wanted:
                cursor.insertText("\n" + self.tr("Text that the model wanted to replace"), note)
                self._insert(cursor, edit.wanted, theme.removed_back, theme.removed, edit.wanted_marks)
            if edit.found:
                cursor.insertText("\n" + self.tr("Similar text in the memory"), note)
                self._insert(cursor, edit.found, theme.added_back, theme.added, edit.found_marks)
            elif edit.wanted:
                cursor.insertText("\n" + self.tr("No similar text was found in the memory."), note)
            if edit.new:
                cursor.insertText("\n" + self.tr("Text that the model wanted to write"), note)
                self._insert(cursor, edit.new, theme.base, theme.text, ())
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _insert(self, cursor: QTextCursor, text: str, back: QColor, tint: QColor, marked: WordSpans) -> None:
        """Insert a text with the words in `marked` highlighted."""
        line, word = QTextCharFormat(), QTextCharFormat()
        strong = mixed(tint, back, _WORD)
        word.setBackground(strong)
        word.setForeground(readable(self.palette().text().color(), strong))
        word.setFontUnderline(True)  # colour alone is not accessible
        cursor.insertText("\n  ", line)
        done, left = 0, _MOST_CHARS  # limit of displayed characters: an escape is longer than its source
        text = _cut(text)
        for start, length in (*marked[:_MOST_MARKS], (len(text), 0)):
            for part, style in ((text[done:start], line), (text[start : start + length], word)):
                shown = visible_lines(part)[:left]
                left -= len(shown)
                cursor.insertText(shown.replace("\n", "\n  "), style)
            done = start + length


def _cut(text: str) -> str:
    """Return at most 10,000 characters and 500 lines of `text`."""
    rows = text[:_MOST_CHARS].splitlines(keepends=True)
    cut = "".join(rows[:_MOST_ROWS])
    return cut if len(cut) == len(text) else f"{cut.rstrip()} …"


class AttemptView(QWidget):
    """The attempted change: the edits that could not be applied, and below them the diff of the others."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.missed = MissedView()
        self.diff = DiffView()
        column(self, split(self.missed, self.diff, sizes=(260, 200), upright=True), margin=0, gap=None)

    def show_trace(self, detail: TraceDetail | None) -> None:
        """Show the attempted change of a trace; None shows nothing."""
        missed = detail.missed if detail is not None else ()
        tried = detail.tried if detail is not None else ""
        self.missed.show_edits(missed)
        self.missed.setVisible(bool(missed))
        nothing = "" if detail is None else self.tr("The run did not try to change anything.")
        self.diff.show_diff(tried or nothing)
        self.diff.setVisible(bool(tried) or not missed)


def tried_text(detail: TraceDetail) -> str:
    """Return all changes that the run attempted as one diff, to be compared with that of another trace."""
    parts = [detail.tried]
    for edit in detail.missed:
        lines = [f"-{line}" for line in edit.wanted.splitlines()] + [
            f"+{line}" for line in edit.new.splitlines()
        ]
        parts.append("\n".join((f"@@ {edit.attempt}: {' '.join(edit.problem.split())} @@", *lines, "")))
    return "".join(parts)
