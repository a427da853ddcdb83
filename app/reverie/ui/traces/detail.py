"""The view of one trace: the reason for its outcome, and all its content.

At the top is the verdict with its evidence. Below are pages: steps with their times, messages, the attempted
change, and the raw document. Selecting a span, a row or the evidence selects the same place on every page.

The raw document has no size limit: the engine returns a page of members at a time, and searches it.
Threading: GUI thread; the engine is called in jobs. Failure: an error of the file is shown in the status bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSignalBlocker,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QStandardItem,
    QStandardItemModel,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QLabel, QListWidget, QPushButton, QSplitter, QTreeView, QWidget

from reverie.engine.asking import ask
from reverie.llm.json_document import MOST_HITS, DocumentHit, DocumentPage, Excerpt, JsonNode
from reverie.llm.trace_timeline import Timeline
from reverie.memory.diff import WordSpans
from reverie.ui.appearance import GAP, mixed, readable, theme_of
from reverie.ui.display_text import counted, human_size, said, tokens, visible, visible_lines, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.traces.steps import (
    StepPosition,
    StepsView,
    duration_label,
    kind_label,
    verdict_label,
    verdict_tone,
)
from reverie.ui.transcripts.text import ReaderText, headed
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import Column, FlowLayout, column, row_of, split, tabbed
from reverie.ui.widgets.lists import RowHeightDelegate
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import DiffView, read_only_text
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.errors import UserError
    from reverie.services.traces import MissedEdit, TraceDetail, TraceService


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
    def trace_id(self) -> str:
        """The id of the trace: its path."""
        return str(self.detail.row.path)


Index = QModelIndex | QPersistentModelIndex


_NODE = int(Qt.ItemDataRole.UserRole)
"""The role of the part of the document (`JsonNode`) in a row of the raw page."""
_MORE = _NODE + 1
"""The role that is True if a row has members that neither have been read nor are being read."""


class RawModel(QStandardItemModel):
    """The tree model of the document; members are loaded by jobs on `lane` when a row is expanded."""

    def __init__(self, lane: Lane, parent: QObject) -> None:
        super().__init__(0, 2, parent)
        self._lane = lane
        self._shown: Shown | None = None
        self._generation = 0
        self.setHorizontalHeaderLabels([self.tr("Name"), self.tr("Value")])

    def show_document(self, shown: Shown | None) -> None:
        """Show another document; None shows none."""
        self._generation += 1
        self._shown = shown
        self.removeRows(0, self.rowCount())
        root = self.invisibleRootItem()
        root.setData(shown.detail.root if shown is not None else None, _NODE)
        root.setData(shown is not None, _MORE)

    def node_at(self, index: QModelIndex) -> JsonNode | None:
        """Return the part of the document in a row; None for an invalid index."""
        node: JsonNode | None = index.siblingAtColumn(0).data(_NODE)
        return node

    def index_of(self, path: tuple[JsonNode, ...]) -> QModelIndex:
        """Return the index of the last node of `path` that has been loaded."""
        item = self.invisibleRootItem()
        for node in path[1:]:
            children = (item.child(row) for row in range(item.rowCount()))
            found = next((child for child in children if child.data(_NODE) == node), None)
            if found is None:
                break
            item = found
        return item.index()

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 - Qt's own signature
        node: JsonNode | None = self._item(parent).data(_NODE)
        return node is not None and node.is_container and node.size > 2

    def canFetchMore(self, parent: Index) -> bool:
        return self.hasChildren(parent) and bool(self._item(parent).data(_MORE))

    def fetchMore(self, parent: Index) -> None:
        if self._shown is None or not self.canFetchMore(parent):
            return
        item, generation, traces = self._item(parent), self._generation, self._shown.traces
        item.setData(False, _MORE)
        self._lane.submit(
            "open a part",
            ask(traces.document_page, self._shown.trace_id, item.data(_NODE), item.rowCount()),
            done=partial(self._add, item, generation),
            failed=partial(self._on_failed, item, generation),
        )

    def _on_failed(self, item: QStandardItem, generation: int, error: UserError) -> None:
        if generation == self._generation:
            item.setData(True, _MORE)
        self._lane.unclaimed.emit(error)

    def _add(self, item: QStandardItem, generation: int, found: DocumentPage) -> None:
        """Append loaded members, unless another document has been shown since they were requested."""
        if generation != self._generation:
            return
        for member in found.members:
            name = QStandardItem(visible(str(member.node.key)))
            name.setData(member.node, _NODE)
            name.setData(True, _MORE)
            item.appendRow([name, QStandardItem(visible(preview(member)))])
        item.setData(found.more, _MORE)

    def _item(self, index: Index) -> QStandardItem:
        return self.itemFromIndex(index) or self.invisibleRootItem()


class RawView(QWidget):
    """The raw page: the tree, the value of the selected member, and a search with its hits."""

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._shown: Shown | None = None
        self.hits: tuple[DocumentHit, ...] = ()
        self.model = RawModel(lane, self)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setItemDelegate(RowHeightDelegate(self.tree))
        self.tree.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
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

    def show_trace(self, shown: Shown | None) -> None:
        """Show the document of another trace and clear search and value; None shows none."""
        self._shown = shown if shown is not None and shown.detail.root is not None else None
        self._show_hits(())
        self.found.clear()
        self.list.hide()
        self.value.clear()
        self.model.show_document(self._shown)
        self.tree.reset()  # so that it requests the first members
        self.copy.setEnabled(False)

    @Slot()
    def _search(self) -> None:
        shown = self._shown
        if shown is None:
            return
        self._lane.submit(
            "search a trace",
            ask(shown.traces.search_document, shown.trace_id, self.needle.text()),
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
        with QSignalBlocker(self.list):
            self.list.clear()
            for hit in hits:
                where = " › ".join(visible(str(node.key)) for node in hit.path[1:])
                self.list.addItem(f"{where}:  {visible(hit.excerpt)}")

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
        shown = self._shown
        if shown is None:
            return
        self._lane.submit(
            "read a value",
            ask(shown.traces.document_value, shown.trace_id, node),
            done=self._on_value,
            group=f"value {id(self)}",
        )

    def _on_value(self, found: Excerpt) -> None:
        self.value.setPlainText(visible_lines(full_text(found)))
        self.copy.setEnabled(True)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.value.content)


_MOST_MESSAGES = 80


class MessagesView(QWidget):
    """The messages page: the texts of a trace, of which the long ones are folded.

    The newest texts, those of the model, are last.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ReaderText(self.tr("Messages"))
        self.rest = WrapLabel()
        self.rest.setMargin(GAP)
        self.rest.hide()
        column(self, self.text, self.rest, grows=self.text, margin=0, gap=0)

    def show_trace(self, detail: TraceDetail | None) -> None:
        """Show the texts of a trace; None shows none."""
        texts = list(self._texts(detail)) if detail is not None else []
        self.text.forget()
        self.text.show_messages([headed(number, *each) for number, each in enumerate(texts[:_MOST_MESSAGES])])
        left_out = max(0, len(texts) - _MOST_MESSAGES)
        left_out += detail.event_count - len(detail.events) if detail is not None else 0
        self.rest.say(self.tr("{n} more messages are on the Raw page.").format(n=left_out))
        self.rest.setVisible(left_out > 0)

    def _texts(self, detail: TraceDetail) -> Iterator[tuple[str, str, str]]:
        """Yield the role, the title and the text of each message of a trace, in order."""
        for key, title in (
            ("systemPrompt", self.tr("System prompt")),
            ("globalAgentsMd", self.tr("Global instructions")),
            ("contextAgentsMd", self.tr("Project instructions")),
            ("existingMemory", self.tr("Memory before the run")),
        ):
            if key in detail.texts:
                yield "system", title, detail.texts[key]
        for attempt, answer in zip(detail.facts.attempts, detail.answers, strict=True):
            for message in attempt.messages:
                title = self.tr("Attempt {n}, {role} message").format(n=attempt.index, role=message.role)
                yield message.role, title, message.text
            title = self.tr("Attempt {n}, the model's response").format(n=attempt.index)
            yield "assistant", title, answer or attempt.error or self.tr("(nothing)")
        for event in detail.events:
            title = self.tr("Conversation, {role} {n}").format(role=event.role, n=event.number)
            yield event.role, title, event.text


class TraceDetailView(Column):
    """The view of one trace, the recorded conversation of a run with its model.

    Signal: `asked(str)`, emitted with the requested action: transcript, compare, replay, copy or export.
    """

    asked = Signal(str)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
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
        self.raw = RawView(lane, icons)
        self.pages = tabbed(
            self.tr("Parts of the trace"),
            (self.tr("Steps"), self.steps),
            (self.tr("Messages"), self.messages),
            (self.tr("Attempted change"), self.memory),
            (self.tr("Raw"), self.raw),
        )
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
            button.setObjectName(key)
            button.clicked.connect(self._on_button)
            row.addWidget(button)
            self.buttons[key] = button
            self._signs[key] = icon
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
        self.messages.show_trace(None)
        self.memory.show_trace(None)
        self.raw.show_trace(None)
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
        if known is None or (known.detail.row.path, known.detail.row.stamp) != (row.path, row.stamp):
            self.raw.show_trace(shown)
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
