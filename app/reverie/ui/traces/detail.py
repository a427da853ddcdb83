"""One trace: why it ended as it did, and everything it holds.

Above, the verdict with its evidence; below, pages: timeline and steps, messages, the memory and what was
tried with it, the raw document. Selecting a span, a row or the evidence shows the same place on every page.

The raw document has no size limit: a page of members is read at a time, and the search reads in chunks.
Threading: GUI thread; documents are read and searched in jobs. Failure: an `OSError` of the file is shown
on the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QToolButton,
    QTreeView,
    QWidget,
)

from reverie.errors import user_error_from_os
from reverie.llm.trace_facts import Timeline, TimeSpan, TraceFacts
from reverie.llm.trace_reader import CHUNK, JsonNode, JsonSource, children, text_of
from reverie.services.traces import answer_text
from reverie.ui.appearance import GAP, UNIT, CalmSelection, Icons, monospace
from reverie.ui.display_text import human_size, tokens, visible, visible_lines, when
from reverie.ui.jobs import JobControl
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.traces.timeline import (
    StepPosition,
    StepsView,
    TimelineView,
    duration_label,
    kind_label,
    verdict_label,
    verdict_tone,
)
from reverie.ui.translation import counted
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, column, row_of, scrolled, split
from reverie.ui.widgets.message_bar import MessageBar
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.traces import TraceDetail


# The raw page: a tree that asks for members as it is opened, and a search with its hits.


# A trace's document, read piece by piece. Pure, for jobs; raises `OSError`.


PAGE = 200
MOST_HITS = 200
_PREVIEW_BYTES = 240
_VALUE_BYTES = 256 << 10
_AROUND = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A member as a job read it."""

    node: JsonNode
    preview: str


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """One place that a search found: the nodes from the root down to it, and the text around it."""

    path: tuple[JsonNode, ...]
    excerpt: str


def read_page(source: JsonSource, node: JsonNode, skip: int) -> tuple[tuple[Piece, ...], bool]:
    """A page of members with what is shown of each."""
    found, more = children(source, node, limit=PAGE, skip=skip)
    return tuple(Piece(child, preview(source, child)) for child in found), more


def preview(source: JsonSource, node: JsonNode) -> str:
    """What a member's line shows of it."""
    if node.kind == "object":
        return "{…}" + f" {human_size(node.size)}"
    if node.kind == "array":
        return "[…]" + f" {human_size(node.size)}"
    if node.kind == "text":
        text, whole = text_of(source, node, _PREVIEW_BYTES)
        line = " ".join(text.split())
        return line if whole else f"{line}… {human_size(node.size)}"
    return source.read(node.start, min(node.end, node.start + _PREVIEW_BYTES)).decode("utf-8", "replace")


def full_text(source: JsonSource, node: JsonNode) -> str:
    """A member's value to read and to copy, cut where it is very long."""
    if node.kind == "text":
        text, whole = text_of(source, node, _VALUE_BYTES)
        return text if whole else f"{text}… [{human_size(node.size)}]"
    raw = source.read(node.start, min(node.end, node.start + _VALUE_BYTES)).decode("utf-8", "replace")
    indent = "  " * node.level
    text = raw.replace(f"\n{indent}", "\n")
    return text if node.size <= _VALUE_BYTES else f"{text}… [{human_size(node.size)}]"


def search(
    source: JsonSource, root: JsonNode, needle: str, check: Callable[[], None]
) -> tuple[DocumentHit, ...]:
    """The places of `needle` in names and values, in the order of the document."""
    if not needle:
        return ()
    spelled = {json.dumps(needle, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)}
    pattern = re.compile(
        b"|".join(re.escape(each.encode("utf-8", "replace")) for each in spelled), re.IGNORECASE
    )
    overlap = 8 * len(needle) + 16
    hits: list[DocumentHit] = []
    position, last = root.start, -1
    while position < root.end and len(hits) < MOST_HITS:
        check()
        chunk = source.read(position, min(position + CHUNK + overlap, root.end))
        for match in pattern.finditer(chunk):
            at = position + match.start()
            if match.start() >= CHUNK or at <= last or len(hits) >= MOST_HITS:
                continue
            path = _path_to(source, root, at)
            hits.append(DocumentHit(path, _excerpt(chunk, match)))
            # One line per member, however often it stands there.
            last = path[-1].end if not path[-1].is_container else at
        position += CHUNK
    return tuple(hits)


def _path_to(source: JsonSource, root: JsonNode, at: int) -> tuple[JsonNode, ...]:
    path = [root]
    while path[-1].is_container:
        skip, found = 0, None
        while found is None:
            page, more = children(source, path[-1], limit=PAGE, skip=skip)
            # What stands before a value is its name.
            found = next((child for child in page if at < child.end), None)
            skip += PAGE
            if not more:
                break
        if found is None:
            break
        path.append(found)
    return tuple(path)


def _excerpt(chunk: bytes, match: re.Match[bytes]) -> str:
    start, end = max(0, match.start() - _AROUND), match.end() + _AROUND
    text = chunk[start:end].decode("utf-8", "ignore")
    return " ".join(text.split())


Index = QModelIndex | QPersistentModelIndex


@dataclass(slots=True, eq=False)
class Item:
    """One member in the tree. `children` None: not read yet; `more`: there are some beyond those read."""

    node: JsonNode
    preview: str
    parent: Item | None
    row: int
    children: list[Item] = field(default_factory=list)
    more: bool = True
    loading: bool = False


class RawModel(QAbstractItemModel):
    """The members that were read so far; asks `feed`'s lane for more."""

    def __init__(self, feed: TraceFeed, parent: QObject) -> None:
        super().__init__(parent)
        self._feed = feed
        self._source: JsonSource | None = None
        self._root: Item | None = None
        self._generation = 0

    def show_document(self, source: JsonSource | None, root: JsonNode | None) -> None:
        self.beginResetModel()
        self._generation += 1
        self._source = source
        self._root = Item(root, "", None, 0) if root is not None else None
        self.endResetModel()

    def node_at(self, index: Index) -> JsonNode | None:
        """The part of the document that a row shows; None for no row."""
        item = self._item(index)
        return item.node if item is not None else None

    def index_of(self, path: tuple[JsonNode, ...]) -> QModelIndex:
        """The line of the last node of `path` that was read already."""
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
        item = self._item(parent)
        if item is None or item.loading or not item.more or self._source is None:
            return
        item.loading = True
        source, node, skip, generation = self._source, item.node, len(item.children), self._generation

        def work(_control: JobControl) -> tuple[tuple[Piece, ...], bool]:

            try:
                return read_page(source, node, skip)
            except OSError as error:
                raise user_error_from_os(error, "The trace was not read.") from error

        self._feed.submit("open a part", work, done=partial(self._take, item, generation))

    def _take(self, item: Item, generation: int, found: tuple[tuple[Piece, ...], bool]) -> None:
        if generation != self._generation:
            return
        pieces, item.more = found
        item.loading = False
        if not pieces:
            return
        first = len(item.children)
        parent = QModelIndex() if item.parent is None else self.createIndex(item.row, 0, item)
        self.beginInsertRows(parent, first, first + len(pieces) - 1)
        item.children += [
            Item(piece.node, piece.preview, item, first + place) for place, piece in enumerate(pieces)
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
    """The tree, the value of the selected member, and a search with its hits."""

    failed = Signal(object)

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._source: JsonSource | None = None
        self._root: JsonNode | None = None
        self.hits: tuple[DocumentHit, ...] = ()
        self.model = RawModel(feed, self)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setUniformRowHeights(True)
        self.tree.setAccessibleName(self.tr("Raw document"))
        self.tree.header().resizeSection(0, 220)
        CalmSelection(self.tree)
        self.tree.selectionModel().currentChanged.connect(self._on_current)
        self.needle = SearchField(self.tr("Search in this trace, then press Enter"))
        self.needle.returnPressed.connect(self._search)
        self.found = QLabel()
        self.copy = QPushButton(icons.icon("copy"), self.tr("&Copy value"))
        self.copy.clicked.connect(self._copy)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Where it stands"))
        self.list.setUniformItemSizes(True)
        self.list.hide()
        CalmSelection(self.list)
        self.list.currentRowChanged.connect(self._on_hit)
        self.value = QPlainTextEdit()
        self.value.setReadOnly(True)
        self.value.setFont(monospace())
        self.value.setAccessibleName(self.tr("Value"))
        self._lay_out()

    def _lay_out(self) -> None:
        row = row_of(self.needle, self.found, self.copy, grows=self.needle)
        left = QSplitter(Qt.Orientation.Vertical)
        left.addWidget(self.tree)
        left.addWidget(self.list)
        left.setStretchFactor(0, 2)
        self.splitter = split(left, self.value, sizes=(520, 420))
        column(self, row, self.splitter, grows=self.splitter, margin=(GAP, GAP, GAP, 0))

    def show_document(self, source: JsonSource | None, root: JsonNode | None) -> None:
        self._source, self._root = source, root
        self._show_hits(())
        self.found.clear()
        self.list.hide()
        self.value.clear()
        self.model.show_document(source, root)
        self.copy.setEnabled(False)

    @Slot()
    def _search(self) -> None:
        source, root, needle = self._source, self._root, self.needle.text()
        if source is None or root is None:
            return

        def work(control: JobControl) -> tuple[DocumentHit, ...]:
            return search(source, root, needle, control.check)

        self._feed.submit("search a trace", work, done=self._on_found, group=f"search {id(self)}")

    def _on_found(self, hits: tuple[DocumentHit, ...]) -> None:
        self._show_hits(hits)
        self.list.setVisible(bool(hits))
        if self.needle.text():
            many = counted(self.tr("1 place"), "%n places", len(hits))
            self.found.setText(self.tr("{n} or more").format(n=many) if len(hits) >= MOST_HITS else many)
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
        source = self._source
        if source is None:
            return
        self._feed.submit(
            "read a value",
            lambda _control: full_text(source, node),
            done=self._on_value,
            group=f"value {id(self)}",
        )

    def _on_value(self, text: str) -> None:
        self.value.setPlainText(visible_lines(text))
        self.copy.setEnabled(True)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.value.toPlainText())


# The messages page: one card for each text, long ones folded.


_FOLDED_LINES = 6
_FOLDED_CHARS = 600
_UNFOLDED_LINES = 24
_MOST_CARDS = 80
_MOST_CHARS = 400_000


@dataclass(frozen=True, slots=True)
class Letter:
    """One text and its author."""

    title: str
    text: str


class MessagesView(QScrollArea):
    """Shows letters; the newest, what the model said, stand last."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Messages"))
        self.cards: list[Card] = []
        self._show(())

    def show_trace(self, document: Mapping[str, Any], facts: TraceFacts) -> None:
        self._show(tuple(self._letters(document, facts)))

    def clear(self) -> None:
        self._show(())

    def _show(self, letters: tuple[Letter, ...]) -> None:
        inside = QWidget()
        outer = column(inside, margin=GAP)
        self.cards = [Card(letter) for letter in letters[:_MOST_CARDS]]
        for card in self.cards:
            outer.addWidget(card)
        if len(letters) > _MOST_CARDS:
            more = WrapLabel(
                self.tr("{n} more are in the raw document.").format(n=len(letters) - _MOST_CARDS)
            )
            outer.addWidget(more)
        outer.addStretch(1)
        self.setWidget(inside)

    def _letters(self, document: Mapping[str, Any], facts: TraceFacts) -> Iterator[Letter]:
        for key, title in (
            ("systemPrompt", self.tr("System prompt")),
            ("globalAgentsMd", self.tr("Global instructions")),
            ("contextAgentsMd", self.tr("Project instructions")),
            ("existingMemory", self.tr("Memory before the run")),
        ):
            text = document.get(key)
            if isinstance(text, str):
                yield Letter(title, text)
        for attempt in facts.attempts:
            for message in attempt.messages:
                title = self.tr("Attempt {n}, sent as {role}").format(n=attempt.index, role=message.role)
                yield Letter(title, message.text)
            answer = answer_text(attempt)
            title = self.tr("Attempt {n}, the model").format(n=attempt.index)
            yield Letter(title, answer or attempt.error or self.tr("(nothing)"))
        events = document.get("events")
        for event in events if isinstance(events, list) else ():
            if isinstance(event, Mapping):
                yield self._event(event)

    def _event(self, event: Mapping[str, Any]) -> Letter:
        title = self.tr("Conversation, {role} {n}").format(
            role=event.get("role", "?"), n=event.get("historySequence", "")
        )
        parts = [str(event["text"])] if isinstance(event.get("text"), str) else []
        calls = event.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                given = json.dumps(call.get("input"), ensure_ascii=False)
                parts.append(f"{call.get('toolName', '?')} {given}")
        return Letter(title, "\n".join(parts))


class Card(QFrame):
    """One letter. A long one shows its beginning and a button for the rest."""

    def __init__(self, letter: Letter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        # What is folded is not looked at: the letters of a large trace are megabytes.
        self._letter = letter.text
        begin = visible_lines(letter.text[: 4 * _FOLDED_CHARS])
        head = "\n".join(begin.splitlines()[:_FOLDED_LINES])[:_FOLDED_CHARS]
        self.is_long = len(letter.text) > 4 * _FOLDED_CHARS or len(head) < len(begin.rstrip("\n"))
        self.title = WrapLabel()
        self.title.say(
            visible(letter.title) + " · " + counted(self.tr("1 character"), "%n characters", len(letter.text))
        )
        embolden(self.title)
        self.body = QPlainTextEdit()
        self.body.setReadOnly(True)
        self.body.setFrameShape(QFrame.Shape.NoFrame)
        self.body.setFont(monospace())
        self.body.setAccessibleName(visible(letter.title))
        self.body.setTabChangesFocus(True)
        self._head = head + ("…" if self.is_long else "")
        self.more = QToolButton()
        self.more.setAutoRaise(True)
        if not self.is_long:
            self.more.hide()  # showing what has no parent yet would open a window
        self.more.clicked.connect(self.toggle)
        column(self, self.title, self.body, self.more, margin=(GAP, UNIT, GAP, UNIT), gap=UNIT)
        self.folded = True
        self._show()

    @Slot()
    def toggle(self) -> None:
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
        text = visible_lines(self._letter[:_MOST_CHARS])
        return text if len(self._letter) <= _MOST_CHARS else f"{text}\n… [{len(self._letter):,}]"


_TIMELINE_HEIGHT = 210


@dataclass(frozen=True, slots=True)
class Shown:
    """A trace as a job read it. `tried`: the memory against what was tried, as a diff; `no_replay`:
    why it cannot be asked again; `workspace`: its name in the list at the left."""

    detail: TraceDetail
    tried: str
    no_replay: str = ""
    workspace: str = ""


class TraceDetailView(Column):
    """`asked(str)` names what a person wants to do: transcript, compare, replay, copy, export."""

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
        self.timeline = TimelineView()
        self.timeline.picked.connect(self._on_span)
        self.steps = StepsView()
        self.steps.picked.connect(self._on_place)
        self.messages = MessagesView()
        self.memory = DiffView()
        self.raw = RawView(feed, icons)
        self.pages = QTabWidget()
        self._lay_out(icons)
        self.clear()

    def _lay_out(self, icons: Icons) -> None:
        row = FlowLayout()
        for key, icon, label, tip in (
            ("transcript", "open", self.tr("&Transcript"), self.tr("What was said just then")),
            ("compare", "preview", self.tr("C&ompare…"), self.tr("Two selected traces beside each other")),
            ("replay", "refresh", self.tr("Re&play…"), self._replay_tip),
            ("copy", "copy", self.tr("Copy &summary"), self.tr("Verdict, evidence and facts as text")),
            ("export", "save", self.tr("&Export…"), self.tr("Save the document as a file")),
        ):  # fmt: skip
            button = FitPushButton(label, tip, icon=icons.icon(icon))
            button.setAccessibleName(label.replace("&", ""))
            button.setObjectName(key)
            button.clicked.connect(self._on_button)
            row.addWidget(button)
            self.buttons[key] = button
            self._signs[key] = icon
        area = scrolled(self.timeline)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.course = split(area, self.steps, sizes=(_TIMELINE_HEIGHT, 260), upright=True)
        for page, title in (
            (self.course, self.tr("Course")),
            (self.messages, self.tr("Messages")),
            (self.memory, self.tr("Memory and what was tried")),
            (self.raw, self.tr("Raw")),
        ):
            self.pages.addTab(page, title)
        self.pages.setDocumentMode(True)
        top = column(None, self.verdict, self.facts, row, margin=(GAP, GAP, GAP, 0))
        column(self, top, self.pages, grows=self.pages, margin=0)

    @property
    def _replay_tip(self) -> str:
        return self.tr("Ask another model or with another prompt, on a copy: nothing is written")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buttons"):
            for key, button in self.buttons.items():
                button.setIcon(self._icons.icon(self._signs[key]))

    def clear(self, sentence: str = "") -> None:
        """No trace is shown, and why."""
        self.shown = None
        self.verdict.clear()
        self.facts.say(sentence)
        self.timeline.show_timeline(Timeline(1, 0, ()))
        self.steps.show_facts(None, Timeline(1, 0, ()))
        self.messages.clear()
        self.memory.show_diff("")
        self.raw.show_document(None, None)
        self.pages.setEnabled(False)
        for button in self.buttons.values():
            button.setEnabled(False)

    def show_trace(self, shown: Shown) -> None:
        detail = shown.detail
        known = self.shown
        self.shown = shown
        row = detail.row
        buttons = [("evidence", self.tr("Show where"), self.tr("Select the step that shows it"))]
        self.verdict.say(
            f"{verdict_label(row.verdict)}. {visible(row.sentence)}",
            tone=verdict_tone(row.verdict),
            buttons=buttons if row.place.attempt else (),
        )
        self.facts.say(self._facts(detail))
        self.pages.setEnabled(True)
        for key, button in self.buttons.items():
            if key != "compare":
                button.setEnabled(True)
        self.buttons["transcript"].setEnabled(bool(detail.facts.trigger_message_id))
        self.buttons["replay"].setEnabled(not shown.no_replay)
        self.buttons["replay"].setToolTip(shown.no_replay or self._replay_tip)
        self.timeline.show_timeline(detail.timeline)
        self.steps.show_facts(detail.facts, detail.timeline)
        self.messages.show_trace(detail.dump.document, detail.facts)
        self.memory.show_diff(shown.tried or self.tr("Nothing was tried."))
        if known is None or known.detail.dump.source != detail.dump.source:
            self.raw.show_document(detail.dump.source, detail.dump.root)
        self.show_evidence()

    def show_error(self, text: str) -> None:
        """The trace cannot be read."""
        self.clear()
        self.verdict.say(text, tone="bad")

    def summary(self) -> str:
        """The verdict as text for other people."""
        if self.shown is None:
            return ""
        row = self.shown.detail.row
        return "\n".join(
            (
                f"{verdict_label(row.verdict)}: {row.sentence}",
                self.tr("Evidence: {text}").format(text=row.evidence),
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
            self.tr("long texts are cut here, not in the raw document") if detail.dump.shortened else "",
        ]
        return " · ".join(visible(part) for part in parts if part)

    def show_evidence(self) -> None:
        """Select the step that the verdict points at."""
        if self.shown is not None and self.shown.detail.row.place.attempt:
            place = self.shown.detail.row.place
            self._show_place(StepPosition(place.attempt, place.step, place.call))

    def _show_place(self, place: StepPosition) -> None:
        self.steps.pick(place)
        self.timeline.pick(place.attempt, place.step, place.call)

    @Slot(str)
    def _on_verdict(self, _key: str) -> None:
        self.pages.setCurrentWidget(self.course)
        self.show_evidence()
        self.steps.tree.setFocus()

    @Slot(object)
    def _on_span(self, span: TimeSpan) -> None:
        self.steps.pick(StepPosition(span.attempt, span.step, span.call))

    @Slot(object)
    def _on_place(self, place: StepPosition) -> None:
        self.timeline.pick(place.attempt, place.step, place.call)

    @Slot()
    def _on_button(self) -> None:
        self.asked.emit(self.sender().objectName())
