"""The palette for commands (Ctrl+Shift+P), and Go to (Ctrl+P) for memories, workspaces, homes and settings.

The palette also lists settings and names, after the commands. An action that is not possible now is listed in
grey with its requirement, which is found by testing which single fact would make the action possible. Enter
never runs an inexact match or a destructive action, unless the user has selected it explicitly.

Threading: GUI thread; nothing is read from disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from reverie.ui.appearance import GAP, dimmed, readable, theme_of
from reverie.ui.display_text import as_tooltip, tr, translated, visible
from reverie.ui.icons import Icons
from reverie.ui.metrics import icon_size, row_height
from reverie.ui.settings import pages
from reverie.ui.widgets.layouts import column
from reverie.ui.window.actions import ActionRow, ActionState, Rule
from reverie.ui.window.ranking import INITIALS, WORD_PREFIX, ranked
from reverie.values import Struct, fields_of, replace

MOST_MEMORIES = 50
_WIDTH = 620
_ROWS = 14
_ENTRY_ROLE = int(Qt.ItemDataRole.UserRole) + 1

Index = QModelIndex | QPersistentModelIndex


Kind = Literal["command", "setting", "place", "memory"]


class Entry(Struct, frozen=True):
    """One line of the palette: a command, setting, memory, or place (home, project or workspace)."""

    kind: Kind
    target: Any
    """What the entry leads to.

    The id of an action or settings page, a setting's key, the keys of a row in the list of homes, or a memory
    path.
    """
    text: str
    detail: str = ""
    """The dim text after the name."""
    keys: str = ""
    """The shortcut."""
    icon: str = ""
    why_not: str = ""
    """What the action requires; empty if it is possible."""
    destructive: bool = False
    """True if the action removes something; the user has to select it explicitly."""
    words: str = ""
    """Further words by which the entry is found."""

    @property
    def literal_only(self) -> bool:
        """True if the entry is listed only if a word of its name starts with the typed text.

        That is so for actions that are destructive or not possible now; a typing error must not lead to them.
        """
        return self.destructive or bool(self.why_not)

    @property
    def line(self) -> str:
        """The text, in lower case, that is compared with the typed text; only the name if `literal_only`."""
        return (self.text if self.literal_only else f"{self.text} {self.detail} {self.words}").casefold()


def why_not(rule: Rule, now: ActionState) -> str:
    """Return a sentence about what an action requires; "" if its `rule` allows it in the state `now`."""
    if rule(now):
        return ""
    reasons = {
        "home": tr("Open a home first."),
        "context": tr("Select a workspace or a project first."),
        "file": tr("Select a memory first."),
        "folder": tr("Select a memory or a folder first."),
        "on_disk": tr("Select a file on this computer first."),
        "open_file": tr("Open a memory first."),
        "modified": tr("The open memory has no unsaved changes."),
        "writable": tr("The open memory is read-only."),
        "any_modified": tr("There are no unsaved changes."),
        "conflicts": tr("There is no conflict to resolve."),
        "undo": tr("There is nothing to undo."),
        "redo": tr("There is nothing to redo."),
        "running": tr("Nothing is running."),
        "can_consolidate": tr("A consolidation cannot start now; the Memory tab shows why."),
        "services": tr("This home has no background services running."),
    }
    for name in fields_of(ActionState):
        possible: dict[str, Any] = {name: True}
        if name in reasons and rule(replace(now, **possible)):
            return reasons[name]
    both = replace(now, open_file=True, modified=True, writable=True)
    return reasons["open_file"] if rule(both) else tr("Not available now.")


def action_entries(rows: Sequence[ActionRow], now: ActionState) -> list[Entry]:
    """Return an entry for each action, except the one that opens the palette."""
    return [
        Entry(
            "command",
            row.id,
            row.text,
            row.menu,
            row.keys,
            row.icon,
            why_not(row.rule, now),
            destructive=row.destructive,
        )
        for row in rows
        if row.id != "view.palette"
    ]


def setting_entries() -> list[Entry]:
    """Return an entry for each page of the settings and for each setting on it."""
    settings, made = tr("Settings"), []
    for page in pages.PAGES:
        title = translated(page.title)
        made.append(Entry("setting", page.id, title, settings, icon="form"))
        for key in page.keys:
            words = " ".join((key, *(text for _value, text in pages.choices(key))))
            detail = f"{settings} · {title}"
            made.append(Entry("setting", key, pages.label(key), detail, icon="form", words=words))
    return made


def memory_entry(path: str) -> Entry:
    """Return the entry of the memory at `path`."""
    folder, _, name = path.rpartition("/")
    return Entry("memory", path, visible(name), visible(folder.removeprefix("/memories/")), icon="file")


_WAITING, _GUESSED = 3, 4


def _order(entry: Entry, score: float, first: Kind) -> tuple[int, float]:
    """Return the key by which entries are sorted: the group of the entry, then its score, best first.

    `first` is the kind of entries that are listed first: `command` in the palette, `place` in "Go to".
    """
    if score < INITIALS:
        return _GUESSED, -score
    if entry.why_not:
        return _WAITING, -score
    if first == "command":
        return {"command": 0, "setting": 1}.get(entry.kind, 2), -score
    return (2 if entry.kind == "setting" else 0), -score


class PaletteModel(QAbstractListModel):
    """The Qt model of the entries that match the typed text, best first."""

    def __init__(self, entries: Sequence[Entry], paths: Sequence[str], parent: QObject | None = None) -> None:
        """Create the model; `entries` are listed at first.

        The memories at `paths` are searched too, but listed only once the user has typed something.
        """
        super().__init__(parent)
        self._all = entries
        self._paths = paths
        self._first: Kind = "command" if any(each.kind == "command" for each in entries) else "place"
        self._lines = [each.line for each in entries]
        self._names = [path.removeprefix("/memories/").casefold() for path in paths]
        self.entries: list[Entry] = []
        self.suggested: Entry | None = None
        """The entry that Enter chooses if the user has selected none; None for none."""
        self.find("")

    def find(self, typed: str) -> None:
        """List the entries that match `typed`; if it is empty, all entries except memories.

        If the model has commands, they come first, then settings, then places and memories. Otherwise (in the
        dialog "Go to"), places and memories come first, then settings. Actions that are not possible now
        follow, and at the end entries that match only if typing errors are tolerated. In each group, the best
        matches come first. An action that is destructive or not possible is listed only if a word of its name
        begins with `typed`.
        """
        typed = typed.strip()
        found: list[tuple[tuple[int, float], Entry]] = []
        for score, place in ranked(typed, self._lines) if typed else ():
            entry = self._all[place]
            if not entry.literal_only or score >= WORD_PREFIX:
                found.append((_order(entry, score, self._first), entry))
        for score, place in ranked(typed, self._names)[:MOST_MEMORIES] if typed else ():
            entry = memory_entry(self._paths[place])
            found.append((_order(entry, score, self._first), entry))
        found.sort(key=lambda each: each[0])
        self.beginResetModel()
        self.entries = [entry for _order, entry in found] if typed else list(self._all)
        self.endResetModel()
        certain = [entry for (group, _score), entry in found if group < _WAITING] if typed else self.entries
        self.suggested = next((entry for entry in certain if not entry.literal_only), None)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.entries[index.row()]
        if role == _ENTRY_ROLE:
            return entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_tooltip(entry.text, entry.detail, entry.keys, entry.why_not)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            parts = (entry.text, entry.detail, entry.keys, entry.why_not)
            return ", ".join(part for part in parts if part)
        return None


class _Delegate(QStyledItemDelegate):
    """A delegate that paints a line of the palette: icon, text and dim detail, and the keys at the right."""

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, row_height(option.font))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: Entry = index.data(_ENTRY_ROLE)
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        theme = theme_of(option.palette)
        text, dim = theme.text, theme.dim
        if option.state & QStyle.StateFlag.State_Selected:
            back = option.palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Highlight)
            text = readable(option.palette.color(QPalette.ColorRole.HighlightedText), back)
            dim = dimmed(text, back)
        painter.save()
        painter.setClipRect(option.rect)
        painter.setFont(option.font)
        metrics = QFontMetrics(option.font)
        area, side = option.rect.adjusted(GAP, 0, -GAP, 0), icon_size(option.font)
        if entry.icon:
            ratio = painter.device().devicePixelRatioF()
            top = area.center().y() - side // 2
            painter.drawPixmap(area.left(), top, self._icons.pixmap(entry.icon, side, dim, ratio))
        area.setLeft(area.left() + side + GAP)
        right, left = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignLeft
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(dim)
        painter.drawText(area, right | middle, entry.keys)
        if entry.keys:
            area.setRight(area.right() - metrics.horizontalAdvance(entry.keys) - 2 * GAP)
        painter.setPen(dim if entry.why_not else text)
        shown = metrics.elidedText(entry.text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, left | middle, shown)
        used = metrics.horizontalAdvance(shown) + 2 * GAP
        rest = QRect(area.left() + used, area.top(), area.width() - used, area.height())
        detail = entry.why_not or entry.detail
        if rest.width() > 3 * metrics.horizontalAdvance("…"):
            painter.setPen(dim)
            where = Qt.TextElideMode.ElideRight if entry.why_not else Qt.TextElideMode.ElideLeft
            painter.drawText(rest, left | middle, metrics.elidedText(detail, where, rest.width()))
        painter.restore()


class Palette(QDialog):
    """A dialog in which the user finds commands, settings, memories, homes and workspaces by typing.

    Escape, a click elsewhere or a choice closes it.

    Signals:
        chosen(Entry): The user chose this entry.
    """

    chosen = Signal(object)

    def __init__(
        self, entries: Sequence[Entry], paths: Sequence[str], icons: Icons, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        commands = any(entry.kind == "command" for entry in entries)
        self.setWindowTitle(self.tr("Command palette") if commands else self.tr("Go to"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._left = False
        self.model = PaletteModel(entries, paths, self)
        what = self.tr("Search for a command, setting, memory, workspace or home")
        where = self.tr("Search for a memory, workspace, home or setting")
        self.field = QLineEdit()
        self.field.setPlaceholderText(what if commands else where)
        self.field.setAccessibleName(self.field.placeholderText())
        self.field.setClearButtonEnabled(True)
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Delegate(icons, self.list))
        self.list.setAccessibleName(self.tr("Matches"))
        self.list.setUniformItemSizes(True)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFocusProxy(self.field)  # the field's keys move the selection
        self.list.setFrameShape(QListView.Shape.NoFrame)
        column(self, self.field, self.list, grows=self.list, margin=GAP)
        self.field.textChanged.connect(self._on_typed)
        self.field.installEventFilter(self)
        self.list.clicked.connect(self._on_clicked)
        self._suggest()

    def open_over(self, window: QWidget) -> None:
        """Show the palette at the top of `window`, as wide as the window allows, at most `_WIDTH` pixels."""
        width = min(_WIDTH, window.width() - 2 * GAP)
        row = self.list.sizeHintForRow(0) if self.model.rowCount() else 20
        height = min(_ROWS * row + 60, window.height() - 4 * GAP)
        self.resize(width, height)
        self.move(window.mapToGlobal(QPoint((window.width() - width) // 2, 4 * GAP)))
        self.field.setFocus()
        self.show()
        self.activateWindow()

    @property
    def current(self) -> Entry | None:
        row = self.list.currentIndex().row()
        return self.model.entries[row] if 0 <= row < len(self.model.entries) else None

    @Slot(str)
    def _on_typed(self, typed: str) -> None:
        self.model.find(typed)
        self._suggest()

    def _suggest(self) -> None:
        """Select the entry that the model suggests for Enter; if it suggests none, select nothing."""
        entry = self.model.suggested
        if entry is None:
            self.list.setCurrentIndex(QModelIndex())
            self.list.scrollToTop()
        else:
            self._select(self.model.entries.index(entry))

    def _select(self, row: int) -> None:
        last = self.model.rowCount() - 1
        if last >= 0:
            self.list.setCurrentIndex(self.model.index(max(0, min(row, last)), 0))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the selection in the list with the arrow and page keys, and choose it with Enter.

        The text field keeps the focus meanwhile.
        """
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            page = max(1, self.list.viewport().height() // max(1, self.list.sizeHintForRow(0)) - 1)
            steps = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: page,
                Qt.Key.Key_PageUp: -page,
            }.get(Qt.Key(event.key()))
            if steps is not None:
                self._select(self.list.currentIndex().row() + steps)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose()
                return True
        return False

    @Slot(QModelIndex)
    def _on_clicked(self, _index: QModelIndex) -> None:
        self._choose()

    def _choose(self) -> None:
        entry = self.current
        if entry is None or entry.why_not:
            return
        self.close()
        self.chosen.emit(entry)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(theme_of(self.palette()).line)
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange:
            # A click elsewhere closes the palette, but only after the palette was active.
            if self.isActiveWindow():
                self._left = True
            elif self._left:
                self.close()
