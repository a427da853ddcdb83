"""The search field of the Memory tab, and the results of a search in all open homes.

While the field contains a query, the results replace the trees. The engine searches and keeps the index up to
date; when the index has changed, the query is repeated.

Threading: GUI thread. Searches run on a lane of their own, so that they never wait for other jobs. Failure:
shown above the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPalette,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.engine.channel import Event, IndexChanged
from reverie.errors import UserError
from reverie.memory.search.query import parse_query
from reverie.memory.search.words import tokens
from reverie.services.views import COUNT, SearchAnswer, SearchHit, SearchPlace
from reverie.ui.appearance import GAP, UNIT, dimmed, readable, theme_of
from reverie.ui.display_text import as_tooltip, counted, scope_name, visible
from reverie.ui.engine_link import EngineLink
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, repeating, single_shot
from reverie.ui.metrics import icon_size, two_line_height
from reverie.ui.session import HomeSession
from reverie.ui.widgets.controls import SearchField, WrapLabel
from reverie.ui.widgets.layouts import pane, stacked
from reverie.values import replace

Index = QModelIndex | QPersistentModelIndex
HIT_ROLE = int(Qt.ItemDataRole.UserRole) + 1
_DOTS = "…"
_PREVIEW_MS = 120
"""Milliseconds until the memory of a selected row is shown, so that a key that is held down opens none."""
Ranges = Sequence[tuple[int, int]]
"""The start and end of each marked part of a text, in characters."""


class ResultModel(QAbstractListModel):
    """The search results as a flat list, best first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hits: tuple[SearchHit, ...] = ()
        self.several_homes = False
        self.workspaces: Mapping[tuple[str, str], str] = {}
        """The names of the workspaces, by home id and workspace id."""

    def show_hits(self, hits: tuple[SearchHit, ...], *, several_homes: bool) -> None:
        """Replace the results. Equal results change nothing, so that the selection stays."""
        if hits == self.hits and several_homes == self.several_homes:
            return
        self.beginResetModel()
        self.hits, self.several_homes = hits, several_homes
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        hit = self.hits[index.row()]
        if role == HIT_ROLE:
            return hit
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(hit.path)
        if role == Qt.ItemDataRole.ToolTipRole:
            unreachable = (
                "" if hit.reachable else self.tr("No project or workspace of this home uses this memory.")
            )
            return as_tooltip(hit.path, self.place_of(hit), hit.home, hit.snippet.text, unreachable)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(map(visible, (hit.path, self.place_of(hit), hit.snippet.text)))
        return None

    def place_of(self, hit: SearchHit) -> str:
        """Return the place of a hit as text: scope, workspace or project, and home if several are open."""
        whose = ""
        if hit.scope == "workspace":
            id_ = hit.workspace_id or ""
            whose = self.workspaces.get((hit.home_id, id_), id_)
        elif hit.scope == "project":
            whose = (hit.project_path or "").rstrip("/").rpartition("/")[2]
        home = hit.home_label if self.several_homes else ""
        return " · ".join(part for part in (scope_name(hit.scope), whose, home) if part)


class ResultDelegate(QStyledItemDelegate):
    """A delegate that paints a hit in two lines: path and place, then the matching line with its hits marked.

    Paths and lines come from disk, so hidden characters are escaped, and the positions of the marks are
    adjusted.
    """

    def __init__(self, model: ResultModel, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self._icons = icons

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, two_line_height(option.font))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        hit: SearchHit = index.data(HIT_ROLE)
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        theme = theme_of(option.palette)
        text, dim, back = theme.text, theme.dim, QColor(theme.accent_back)
        if option.state & QStyle.StateFlag.State_Selected:
            active = option.state & QStyle.StateFlag.State_Active
            group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
            chosen = option.palette.color(group, QPalette.ColorRole.Highlight)
            text = readable(option.palette.color(group, QPalette.ColorRole.HighlightedText), chosen)
            dim, back = dimmed(text, chosen), QColor(0, 0, 0, 0)
        painter.save()
        painter.setClipRect(option.rect)
        metrics = QFontMetrics(option.font)
        area = option.rect.adjusted(GAP, UNIT, -GAP, -UNIT)
        sign = "companion" if hit.companion else "file" if hit.reachable else "orphan"
        ratio = painter.device().devicePixelRatioF()
        side = icon_size(option.font)
        painter.drawPixmap(area.left(), area.top(), self._icons.pixmap(sign, side, dim, ratio))
        upper = QRect(area.left() + side + 6, area.top(), area.width() - side - 6, metrics.height())
        lower = upper.translated(0, metrics.height() + 1)
        place = metrics.elidedText(visible(self._model.place_of(hit)), Qt.TextElideMode.ElideRight,
                                   upper.width() * 2 // 5)  # fmt: skip
        painter.setPen(dim)
        painter.setFont(option.font)
        painter.drawText(upper, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, place)
        upper.setRight(upper.right() - metrics.horizontalAdvance(place) - GAP)
        path = ended_within(*shown_with(hit.path, hit.name_hits), _bold(option.font), upper.width())
        _draw(painter, upper, option.font, *path, text, back)
        line = around_first(
            *shown_with(hit.snippet.text, hit.snippet.hits), _bold(option.font), lower.width()
        )
        _draw(painter, lower, option.font, *line, dim, back)
        painter.restore()


class ResultList(QListView):
    """The list of search results."""

    opened = Signal(object)
    """Emitted with a `SearchHit` on Enter or a double click."""
    previewed = Signal(object)
    """Emitted with a `SearchHit` a moment after the user selected its row."""
    left = Signal()
    """Emitted on Escape."""
    above = Signal()
    """Emitted on Up in the first row."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.results = ResultModel(self)
        self.setModel(self.results)
        self.setItemDelegate(ResultDelegate(self.results, icons, self))
        self.setUniformItemSizes(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setAccessibleName(self.tr("Search results"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.doubleClicked.connect(self.open_current)
        self._by_hand = self._showing = False
        self._preview = single_shot(self, _PREVIEW_MS, self._on_rest)
        self.selectionModel().currentChanged.connect(self._on_current)

    @property
    def current(self) -> SearchHit | None:
        """The selected hit."""
        row = self.currentIndex().row()
        return self.results.hits[row] if 0 <= row < len(self.results.hits) else None

    def show_hits(self, hits: tuple[SearchHit, ...], *, several_homes: bool) -> None:
        """Show new results, and select the hit that the user had selected, else the best one."""
        before = self.current if self._by_hand else None
        self._showing = True
        self.results.show_hits(hits, several_homes=several_homes)
        keys = [(hit.home_id, hit.root_key, hit.path) for hit in hits]
        key = (before.home_id, before.root_key, before.path) if before is not None else None
        if keys:
            self.setCurrentIndex(self.results.index(keys.index(key) if key in keys else 0, 0))
        self._showing = False

    def forget_choice(self) -> None:
        """Forget that the user selected a row, when the query changes."""
        self._by_hand = False
        self._preview.stop()

    @Slot()
    def _on_current(self) -> None:
        if not self._showing:
            self._by_hand = True
            self._preview.start()

    @Slot()
    def _on_rest(self) -> None:
        if self.current is not None:
            self.previewed.emit(self.current)

    def step(self, steps: int) -> None:
        """Move the selection by `steps` rows down, or up if negative."""
        row = max(0, min(self.currentIndex().row() + steps, len(self.results.hits) - 1))
        self.setCurrentIndex(self.results.index(row, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current is not None:
            self.open_current()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.above.emit()
        else:
            super().keyPressEvent(event)

    @Slot()
    def open_current(self) -> None:
        """Open the selected hit for editing, instead of a preview."""
        self._preview.stop()
        if self.current is not None:
            self.opened.emit(self.current)


def shown_with(text: str, marks: Ranges) -> tuple[str, list[tuple[int, int]]]:
    """Return `text` with hidden characters escaped, and its marks at their new positions."""
    if text.isprintable():
        return text, list(marks)
    made, moved, at = "", [], 0
    for start, end in marks:
        made += visible(text[at:start])
        begin = len(made)
        made += visible(text[start:end])
        moved.append((begin, len(made)))
        at = end
    return made + visible(text[at:]), moved


def ended_within(text: str, marks: Ranges, font: QFont, width: int) -> tuple[str, list[tuple[int, int]]]:
    """Shorten a path to `width` pixels by cutting its start; return it with its marks shifted.

    The file name at the end is more useful than the folders.
    """
    shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideLeft, width)
    return shown, _moved(marks, len(shown) - len(text), 1 if shown != text else 0, len(shown))


def around_first(text: str, marks: Ranges, font: QFont, width: int) -> tuple[str, list[tuple[int, int]]]:
    """Shorten a line to `width` pixels so that its first hit is visible; return it with its marks shifted."""
    metrics = QFontMetrics(font)
    cut = 0
    if marks and metrics.horizontalAdvance(text[: marks[0][1]]) > width * 3 // 4:
        room = max(0, width // 2 - metrics.horizontalAdvance(text[marks[0][0] : marks[0][1]]))
        cut = marks[0][0]
        while cut > 0 and metrics.horizontalAdvance(text[cut - 1 : marks[0][0]]) < room:
            cut -= 1
    lead = _DOTS if cut else ""
    shown = metrics.elidedText(lead + text[cut:], Qt.TextElideMode.ElideRight, width)
    last = len(shown) - 1 if shown.endswith(_DOTS) else len(shown)
    return shown, _moved(marks, len(lead) - cut, len(lead), last)


def _moved(marks: Ranges, by: int, first: int, last: int) -> list[tuple[int, int]]:
    """Return marks shifted by `by` characters, and cut to the range from `first` to `last`."""
    moved = [(max(first, start + by), min(last, end + by)) for start, end in marks]
    return [(start, end) for start, end in moved if end > start]


def _bold(font: QFont) -> QFont:
    bold = QFont(font)
    bold.setBold(True)
    return bold


def _draw(
    painter: QPainter, area: QRect, font: QFont, text: str, marks: Ranges, color: QColor, back: QColor
) -> None:
    """Draw a text on one line, with its marks in bold type on the background `back`."""
    layout = QTextLayout(text, font)
    formats = []
    for start, end in marks:
        mark = QTextLayout.FormatRange()
        mark.start, mark.length = start, end - start
        look = QTextCharFormat()
        look.setFontWeight(QFont.Weight.Bold)
        look.setBackground(back)
        mark.format = look
        formats.append(mark)
    layout.setFormats(formats)
    layout.beginLayout()
    line = layout.createLine()
    if line.isValid():
        line.setLineWidth(1e6)
    layout.endLayout()
    painter.setPen(color)
    layout.draw(painter, QPointF(area.left(), area.top()))


def pattern_of(text: str) -> str:
    """Return a regular expression that matches the terms of a query; empty if there are none."""
    query = parse_query(text)
    words = [
        r"(?<![^\W_])" + r"\W+".join(map(re.escape, names)) + ("" if term.goes_on else r"(?![^\W_])")
        for term in query.terms
        if (names := [token.text for token in tokens(term.text)])
    ]
    return "|".join([*words, *([query.regex] if query.regex else [])])


# Milliseconds between repeated searches while the index is being built.
_GROWING_MS = 700


class MemorySearchField(SearchField):
    """The search field, whose keys also control the list of results."""

    chosen = Signal()
    """Emitted on Enter."""
    left = Signal()
    """Emitted on Escape."""
    moved = Signal(int)
    """Emitted with the number of rows by which to move the selection down; negative moves it up."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif Qt.Key(event.key()) in steps:
            self.moved.emit(steps[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)


class MemorySearch(QObject):
    """The controller of the search: the field, the results, and the stack that shows trees or results."""

    opened = Signal(object)
    """Emitted with a `SearchHit` when the user wants to edit it."""
    turned = Signal(bool)
    """Emitted when the stack turns to the results (True) or back to the trees (False)."""
    previewed = Signal(object)
    """Emitted with a `SearchHit` when the user only wants to see it."""
    left = Signal()
    """Emitted when the user leaves the search for the trees."""

    def __init__(
        self, tree: QWidget, icons: Icons, where: Callable[[], SearchPlace | None], parent: QObject
    ) -> None:
        """Create the field and the results; `where` returns the place whose memories are ranked first."""
        super().__init__(parent)
        self._where = where
        self._place: SearchPlace | None = None
        self.field = MemorySearchField(self.tr("Search all memories"))
        self.field.setToolTip(
            self.tr(
                'Search for words, "exact phrases" or /patterns/; filter with scope:project, '
                "home:mux, pinned:yes, changed:<7d, by:agent"
            )
        )
        self.list = ResultList(icons)
        self.said = WrapLabel()
        self.said.setContentsMargins(GAP, UNIT, GAP, UNIT)
        self._found = pane(self.said, self.list, grows=self.list, gap=0)
        self._tree = tree
        self.pages = stacked(tree, self._found)
        self.answer: SearchAnswer | None = None
        self._engine: EngineLink | None = None
        self._elsewhere: list[EngineLink] = []
        self._sessions: list[HomeSession] = []
        self._lane = Lane("search", self)
        self._indexing: dict[Path, int] = {}
        """The homes whose index is being updated, with the number of files read so far."""
        self._stopped = False
        self._growing = repeating(self, _GROWING_MS, self._ask)
        self.field.textChanged.connect(self._on_text)
        self.field.chosen.connect(self._on_chosen)
        self.field.left.connect(self.leave)
        self.field.moved.connect(self.list.step)
        self.list.opened.connect(self.opened)
        self.list.previewed.connect(self.previewed)
        self.list.left.connect(self.leave)
        self.list.above.connect(self.focus)

    @property
    def showing(self) -> bool:
        """True if the results are shown in place of the trees."""
        return self.pages.currentWidget() is self._found

    def pattern(self, hit: SearchHit) -> str:
        """Return a regular expression that matches the words by which this hit was found."""
        if hit.matched == "all":
            return pattern_of(self.field.text())
        found = {hit.snippet.text[start:end] for start, end in hit.snippet.hits}
        return "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(found))

    @property
    def settled(self) -> bool:
        """True if no search or indexing is running, so that the results are those of the typed query."""
        if self._indexing or self._lane.busy:
            return False
        return self.answer is None or self.answer.complete or bool(self.answer.problems)

    def use_engine(self, engine: EngineLink) -> None:
        """Set the local engine to search."""
        self._engine = engine
        self._follow(engine)

    def _follow(self, engine: EngineLink) -> None:
        """Connect the signals of an engine."""
        engine.heard.connect(self._on_heard)
        engine.replaced.connect(self._on_engine_replaced)

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        """Search the home of `session`, too, and repeat the query."""
        if session not in self._sessions:
            if session.engine is not self._engine and session.engine not in self._elsewhere:
                self._elsewhere.append(session.engine)
                self._follow(session.engine)
            self._sessions.append(session)
            self._ask()

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """Stop searching the home of `session`, and repeat the query."""
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        self._indexing.pop(session.info.root, None)
        self._ask()

    @Slot()
    def focus(self) -> None:
        """Move the focus into the field, and select its text."""
        self.field.setFocus()
        self.field.selectAll()

    @Slot()
    def leave(self) -> None:
        """Clear the field and show the trees again."""
        self.field.clear()
        self.left.emit()

    def stop(self) -> None:
        """End the lane when the window closes; calling it again is harmless."""
        self._stopped = True
        self._growing.stop()
        self._lane.stop()

    # Searching

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self.list.forget_choice()
        if not text.strip():
            self._lane.abandon("search")
            self._growing.stop()
            self.answer = None
            self.list.show_hits((), several_homes=False)
            self._turn_to(self._tree)
            return
        if not self.showing:
            # Set once per search: opening a hit may change the place, which must not reorder the results.
            self._place = self._where()
        self._ask()

    @Slot()
    def _ask(self) -> None:
        """Search for the text of the field in a job, and show the result."""
        text, engine = self.field.text(), self._engine
        if engine is None or not text.strip() or self._stopped:
            return
        asked: dict[EngineLink, dict[str, str]] = {engine: {}}
        for session in self._sessions:
            asked.setdefault(session.engine, {})[session.info.id] = session.info.label

        place = self._place

        async def work(control: JobControl) -> SearchAnswer:
            return await _search_all(text, place, asked, control)

        self._lane.submit(
            "search", work, done=self._show, progress=self._show, failed=self._on_failed, group="search"
        )

    def _show(self, answer: SearchAnswer) -> None:
        """Show a result if it is for the text that is in the field."""
        if answer.query != self.field.text():
            return
        self.answer = answer
        self.list.results.workspaces = {
            (session.info.id, workspace.id): workspace.label
            for session in self._sessions
            for project in session.info.contents.projects
            for workspace in project.workspaces
        }
        self.list.show_hits(answer.hits, several_homes=len(self._sessions) > 1)
        self._say(answer)
        self._turn_to(self._found)

    def _turn_to(self, page: QWidget) -> None:
        """Show `page`, the trees or the results."""
        self.pages.setCurrentWidget(page)
        self.turned.emit(self.showing)

    def _say(self, answer: SearchAnswer) -> None:
        """Show the number of hits, the problems, and the progress of the index."""
        said = [*answer.problems]
        count = len(answer.hits)
        if count >= COUNT:
            said.append(self.tr("Top {n} results").format(n=count))
        elif count:
            said += _counts(answer.hits, is_one_word=len(answer.query.split()) == 1)
        elif answer.complete and not answer.problems:
            said.append(self.tr("No results"))
        if self._indexing and not answer.complete:
            read = sum(self._indexing.values())
            said.append(self.tr("Building the search index: {n} files so far.").format(n=read))
        self.said.say(" · ".join(said))

    def _on_failed(self, error: UserError) -> None:
        self.said.say(str(error))
        self._turn_to(self._found)

    @Slot()
    def _on_chosen(self) -> None:
        if self.showing:
            self.list.open_current()

    # The index

    @Slot(object)
    def _on_heard(self, event: Event) -> None:
        is_shown = any(event.home == session.info.root for session in self._sessions)
        if not isinstance(event, IndexChanged) or not is_shown:
            return
        if not event.is_ready:
            self._indexing[event.home] = event.files_read
            if not self._growing.isActive():
                self._growing.start()
            if self.answer is not None:
                self._say(self.answer)
            return
        self._indexing.pop(event.home, None)
        if not self._indexing:
            self._growing.stop()
        self._ask()

    @Slot()
    def _on_engine_replaced(self) -> None:
        self._indexing.clear()
        self._growing.stop()
        self._ask()


async def _search_all(
    text: str, place: SearchPlace | None, asked: Mapping[EngineLink, Mapping[str, str]], control: JobControl
) -> SearchAnswer:
    """Search with several engines and return the merged results; each partial result is reported as progress.

    `asked` holds, for each engine, the labels of its homes by id. If a remote engine fails, its error is
    added to the `problems`, and the results of the others are returned; an error of the local engine is
    raised.
    """
    answers: dict[EngineLink, SearchAnswer] = {}

    def report(engine: EngineLink, answer: SearchAnswer) -> None:
        labels = asked[engine]
        hits = [replace(hit, home_label=labels.get(hit.home_id, hit.home_label)) for hit in answer.hits]
        answers[engine] = replace(answer, hits=tuple(hits))
        control.report(_merged(text, answers.values()))

    for engine, homes in asked.items():
        try:
            services = engine.client.services
            found = await ask(
                services.search,
                text,
                list(homes),
                place=place,
                progress=partial(report, engine),
                cancel=control.cancel,
            )
        except UserError as error:
            if engine.machine is None:
                raise
            found = SearchAnswer(text, (), (str(error),))
        report(engine, found)
    return _merged(text, answers.values())


def _merged(text: str, answers: Iterable[SearchAnswer]) -> SearchAnswer:
    """Merge the results of several engines, best hits first."""
    parts = tuple(answers)
    if len(parts) == 1:
        return parts[0]
    every = (hit for part in parts for hit in part.hits)
    hits = sorted(every, key=lambda hit: (hit.matched != "all", -hit.score))
    problems = dict.fromkeys(problem for part in parts for problem in part.problems)
    return SearchAnswer(text, tuple(hits), tuple(problems), all(part.complete for part in parts))


def _counts(hits: Sequence[SearchHit], *, is_one_word: bool) -> list[str]:
    """Return texts about the number of hits: full hits, then hits with only some, or similar, words."""
    whole = sum(hit.matched == "all" for hit in hits)
    some = len(hits) - whole
    if not some:
        return [counted("1 result", "%n results", whole)]
    if whole:
        said = counted("1 result", "%n results", whole)
        if is_one_word:
            return [said, counted("1 more with a similar word", "%n more with similar words", some)]
        return [said, counted("1 more with some of the words", "%n more with some of the words", some)]
    if is_one_word or all(hit.matched == "near" for hit in hits):
        return [counted("1 result with similar words", "%n results with similar words", some)]
    return [counted("1 result with some of the words", "%n results with some of the words", some)]
