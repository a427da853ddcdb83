"""The editor pane: a header with path and size, messages and questions, and the text.

It shows one `OpenFile`; conflicts are handled in `documents`, reading and writing in `control`. There is only
one text view; each file has its own document, which the view shows, so that every file keeps its undo stack,
cursor and scroll position.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QResizeEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QLabel, QPlainTextDocumentLayout, QStackedLayout, QWidget

from reverie.errors import UserError
from reverie.profile import Profile
from reverie.text.summaries import estimate_tokens
from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.display_text import CRUMB, LONGEST_LINE, MOST_LINES, counted, human_size, scope_name
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.source_view import SourceView
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.tree.memory_tree import parse_shown
from reverie.ui.widgets.controls import PathLabel, WrapLabel, flat_button, tint
from reverie.ui.widgets.layouts import column, row_of
from reverie.ui.widgets.messages import MessageBar, Overlay, Tone

if TYPE_CHECKING:
    from reverie.agents.scopes import Caps
    from reverie.ui.window.actions import Actions
from reverie.ui.editor.modes import HEAD, EditorView
from reverie.ui.editor.size_gauge import WARN_SHARE, SizeGauge, cut_position

_MEASURE_MS = 120
_MEASURED_AT_ONCE = 20_000
"""The longest text, in characters, that is measured while typing; longer ones are measured in a pause."""
_COMPACT = 460
_LEAST_PATH = 64
_LEAST_TEXT = 96


class EditorPane(QWidget):
    """The widget that shows an open file, with its header and messages.

    Signals:
        chosen(str): A button of a message was clicked; its key, such as `reload`, `keep`, `compare` or
            `save`.
        came_forward(): The text is about to get the focus, so the pane must be brought to the front.
    """

    chosen = Signal(str)
    came_forward = Signal()

    def __init__(self, icons: Icons, profile: Profile, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._file: OpenFile | None = None
        self._caps: Caps | None = None
        self._measured: tuple[object, ...] = ()
        self._own: tuple[QAction, ...] = ()
        self._own_cut: tuple[Callable[[OpenFile], int | None] | None, str] = (None, "")
        self.path = PathLabel()
        self.path.setMinimumWidth(_LEAST_PATH)
        self.mark = QLabel(self.tr("edited"))
        self.mark.setToolTip(self.tr("Not saved yet"))
        self.gauge = SizeGauge()
        self.reason = MessageBar(icons, "read-only", closable=False)
        self.reason.chosen.connect(self.chosen)
        self.banner = MessageBar(icons, "conflict", closable=False)
        self.banner.chosen.connect(self.chosen)
        self.merged = MessageBar(icons, "merged")
        self.draft = MessageBar(icons, "draft")
        self.unseen = MessageBar(icons, "unseen")
        self.gone = MessageBar(icons, "gone")
        self.error = MessageBar(icons, "editor-error")
        self.limit = MessageBar(icons, "cap", closable=False)
        self.text = SourceView()
        self.text.setAccessibleName(self.tr("Memory text"))
        self.text.textChanged.connect(self._on_text_changed)
        self.text.refused.connect(self.show_error)
        self.view = EditorView(self.text, icons, profile, self)
        self.view.failed.connect(self.show_error)
        self.nothing = WrapLabel(self.tr("Select a memory to read and edit it."))
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._measure = single_shot(self, _MEASURE_MS, self._measure_text)
        # The view deletes its initial document as soon as it gets another.
        self._empty_document = QTextDocument(self)
        self._empty_document.setDocumentLayout(QPlainTextDocumentLayout(self._empty_document))
        self._lay_out()
        self._tint()
        self.clear()

    def _lay_out(self) -> None:
        self._buttons = row_of(gap=0)
        head = row_of(
            self.path, self.mark, self.gauge, self._buttons, grows=self.path, margin=(GAP, UNIT, GAP, 0)
        )
        self._notices = column(None, margin=0, gap=UNIT)
        page = QWidget()
        above, below = (self.reason, self._notices), (self.limit, self.view.above, self.view.body)
        column(page, head, *above, *below, grows=self.view.body, margin=(0, UNIT, 0, 0), gap=UNIT)
        bars = Overlay(self.view.body, self.merged, self.draft, self.unseen, self.error, self.banner)
        bars.covers.connect(self._on_covered)
        self._on_covered(0)
        blank = QWidget()
        column(blank, self.gone, self.nothing, grows=self.nothing)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(blank)
        self._stack.addWidget(page)

    @Slot(int)
    def _on_covered(self, height: int) -> None:
        """Keep the last lines clear of bars of this height, which lie over the lower edge of the text."""
        self.view.body.setContentsMargins(0, 0, 0, height)
        self.view.body.setMinimumHeight(max(_LEAST_TEXT, height))

    def add_notice(self, notice: QWidget) -> None:
        """Add a widget above the text; it must hide itself while it has nothing to show."""
        self._notices.addWidget(notice)

    def set_actions(self, actions: Actions) -> None:
        """Add the window's editor actions, whose keys work only in this pane; some also get a button."""
        own = actions.of_editor()
        self._own = tuple(actions[id_] for id_ in own)
        self.addActions(list(self._own))
        self.view.set_actions(actions, own)
        for id_ in HEAD:
            self._buttons.addWidget(flat_button(actions[id_]))

    def event(self, event: QEvent) -> bool:
        """Claim the keys of the editor's actions, such as Ctrl+F, which the window uses for other actions."""
        asked = event.type() == QEvent.Type.ShortcutOverride
        if asked and self._own_action(event) is not None:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action, file = self._own_action(event), self._file
        if action is not None:
            action.trigger()
        elif file is not None and file.shortened and event.matches(QKeySequence.StandardKey.Undo):
            # A read-only text box undoes nothing, but another version may have replaced the user's text.
            file.document.undo()
        else:
            super().keyPressEvent(event)

    def _own_action(self, event: QEvent) -> QAction | None:
        if not isinstance(event, QKeyEvent):
            return None
        pressed = QKeySequence(event.keyCombination())
        return next((each for each in self._own if each.isEnabled() and pressed in each.shortcuts()), None)

    def minimumSizeHint(self) -> QSize:
        """Return the smallest size at which no message or button is cut off."""
        hint, page = super().minimumSizeHint(), self._stack.currentWidget()
        layout = page.layout() if page is not None else None
        if layout is None or not layout.hasHeightForWidth():
            return hint
        return QSize(hint.width(), max(hint.height(), layout.minimumHeightForWidth(max(1, self.width()))))

    @property
    def file(self) -> OpenFile | None:
        return self._file

    def clear(self, sentence: str = "") -> None:
        """Show `sentence` in place of a file; if it is empty, show a request to select a memory."""
        self._keep_place()
        self._file = None
        self.text.setDocument(self._empty_document)
        self.view.show_file(None, None)
        self.nothing.say(sentence or self.tr("Select a memory to read and edit it."))
        self._stack.setCurrentIndex(0)

    def show_file(self, file: OpenFile, caps: Caps | None) -> None:
        """Show a file at the position where the user left it.

        `caps`: the agent's limits, such as the largest file that it reads; None if it has none for this file.
        """
        if file is not self._file:
            self._keep_place()
            self._file = file
            self._caps = caps
            self._measured = ()
            self.error.clear()
            self.text.setDocument(file.document)
            cursor = QTextCursor(file.document)
            cursor.setPosition(min(file.cursor, max(0, file.document.characterCount() - 1)))
            self.text.setTextCursor(cursor)
            self.text.verticalScrollBar().setValue(file.scroll)
            self.view.show_file(file, caps)
        self._stack.setCurrentIndex(1)
        self.refresh()

    def focus_text(self) -> None:
        """Bring the pane to the front and move the focus to the text."""
        self.came_forward.emit()
        self.view.focus()

    @Slot(object)
    def show_error(self, error: UserError) -> None:
        self.error.say_error(error)

    def refresh(self) -> None:
        """Update the header and the messages from the state of the shown file."""
        file = self._file
        if file is None:
            return
        address = file.buffer.address
        place = None if address.companion is not None else parse_shown(address.path)
        if place is None:
            self.path.say_path(address.label, "/", address.label)
        else:
            self.path.say_path(CRUMB.join((scope_name(place[0]), *place[1])), CRUMB, address.path)
        self.text.setReadOnly(file.read_only)
        self.mark.setVisible(file.buffer.modified or file.saving)
        self.mark.setText(self.tr("saving…") if file.saving else self.tr("edited"))
        self._say_reason(file)
        self._say_banner(file)
        self._show_size()

    def _say_reason(self, file: OpenFile) -> None:
        """Show why the text is read-only or the file unusual; hide this message if there is no reason."""
        tone: Tone = "info"
        sentence, buttons = file.buffer.read_only, list[tuple[str, str, str]]()
        if file.display == "long":
            more = self.tr(
                "Only the first {n} characters of each line are shown, so the text cannot be edited. "
                "Edit it in another program."
            )
            sentence = f"{sentence} {more.format(n=f'{LONGEST_LINE:,}')}".strip()
            tip = self.tr("Copy the whole text, including what is not shown here")
            buttons = [("copy", self.tr("Copy all"), tip)]
        elif file.shortened:
            more = self.tr("Only the first {lines} lines are shown, so the text cannot be edited.")
            sentence = f"{sentence} {more.format(lines=f'{MOST_LINES:,}')}".strip()
            tip = self.tr("Show the whole text; this can take a while")
            buttons = [("whole", self.tr("Show in full"), tip)]
        elif file.display:
            sentence = self.tr("{reason} Only the beginning of the file is shown.").format(reason=sentence)
        elif file.buffer.refusal is not None:
            tip = self.tr(
                "Allow Reverie to edit these memories even though it does not recognize their format"
            )
            tone, buttons = "warn", [("permit", self.tr("Write anyway…"), tip)]
        elif file.buffer.convertible:
            tip = self.tr(
                "Convert the file to UTF-8 so that you can edit it here; Undo restores the original file"
            )
            buttons = [("convert", self.tr("Convert to UTF-8"), tip)]
        elif not sentence and not file.lossless:
            sentence = self.tr(
                "This file contains characters that this editor would change, so it is read-only here."
            )
        sentence = sentence or file.buffer.note
        if sentence:
            self.reason.say(sentence, tone=tone, buttons=buttons)
        else:
            self.reason.clear()

    def _say_banner(self, file: OpenFile) -> None:
        banner = file.buffer.banner
        if not banner and file.waiting:
            sentence = self.tr("{reason} Reverie will save your text automatically as soon as it can.")
            self.banner.say(sentence.format(reason=file.waiting))
            return
        if not banner:
            self.banner.clear()
            return
        close = ("close", self.tr("Close"), self.tr("Close this file"))
        if banner == "conflict":
            sentence, buttons = self._conflict(file)
        elif banner == "deleted":
            sentence = self.tr("This file was deleted on disk. Your text is still here.")
            buttons = [("save", self.tr("Save again"), self.tr("Create the file with your text")), close]
        else:
            sentence = self.tr("This file was deleted on disk.")
            buttons = [("save", self.tr("Save again"), self.tr("Create the file with this text")), close]
        self.banner.say(sentence, tone="warn", buttons=buttons)

    def _conflict(self, file: OpenFile) -> tuple[str, list[tuple[str, str, str]]]:
        """Return the sentence and the buttons that ask the user about a conflict of the file.

        A button is (key, text, tool tip). If the versions could be merged, the sentence is about the places
        in conflict, otherwise about the whole file.
        """
        tip = self.tr("Use the version on disk; Ctrl+Z restores your text")
        reload = ("reload", self.tr("Discard mine"), tip)
        tip = self.tr("Keep your text; the next save overwrites the version on disk")
        keep = ("keep", self.tr("Overwrite theirs"), tip)
        compare = ("compare", self.tr("Compare"), self.tr("Show both versions"))
        disk = file.buffer.disk
        if file.conflicts:
            sentence = counted(
                "You and another program changed the same lines.",
                "You and another program changed the same lines in %n places.",
                len(file.conflicts),
            )
            tip = self.tr("Go to the conflict and choose which lines to keep")
            return sentence, [("next", self.tr("Resolve…"), tip), reload, keep, compare]
        sentence = self.tr("This file changed on disk while you were editing it.")
        if disk is not None and disk.read_only:
            return f"{sentence} {disk.read_only}", [reload, compare]
        return sentence, [reload, keep, compare]

    @Slot()
    def _on_text_changed(self) -> None:
        if self.text.document().characterCount() <= _MEASURED_AT_ONCE:
            self._show_size()
        self._measure.start()

    @Slot()
    def _measure_text(self) -> None:
        self._show_size()
        self.view.follow_text()

    def _show_size(self) -> None:
        file = self._file
        if file is None:
            return
        base = file.buffer.base
        state = (file.document.revision(), base, file.buffer.modified)
        if state == self._measured:
            return
        self._measured = state
        cap = self._caps.file_bytes if self._caps is not None else 0
        # Without a cap nothing shows the size.
        content = file.content if cap else ""
        encoded = content.encode("utf-8", "surrogatepass")
        size = base.size if base is not None and not file.buffer.modified else len(encoded)
        self.gauge.show_size(size, cap, estimate_tokens(content))
        cut, tip = cut_position(encoded, cap), self.tr("The agent does not read beyond this point.")
        if file.shortened:
            cut = None  # the position is not in the shown part
        self._say_limit(cut is not None)
        rule, own_tip = self._own_cut
        own = rule(file) if rule is not None else None
        if own is not None and (cut is None or own < cut):
            cut, tip = own, own_tip
        self.text.set_unseen_from(cut, tip if cut is not None else "")

    def set_own_cut(self, rule: Callable[[OpenFile], int | None] | None, tip: str = "") -> None:
        """Set a rule for files of which the agent reads only the beginning, whatever their size.

        `rule` returns the position at which the agent stops reading, in UTF-16 units of the document, or None
        if it reads all. If `rule` is None, there is no such rule. `tip`: the tool tip of the lines that are
        not read.
        """
        if (rule, tip) != self._own_cut:
            self._own_cut = (rule, tip)
            self._measured = ()
            self._show_size()

    def _say_limit(self, over: bool) -> None:
        if over:
            self.limit.say(
                self.tr("The text is too long: the agent does not read anything below the dashed line."),
                tone="warn",
            )
        elif self.gauge.share >= WARN_SHARE and self.gauge.left:
            self.limit.say(
                self.tr("This file is near its size limit: the agent reads only {size} more.").format(
                    size=human_size(self.gauge.left)
                )
            )
        else:
            self.limit.clear()

    def _keep_place(self) -> None:
        if self._file is not None:
            self._file.cursor = self.text.textCursor().position()
            self._file.scroll = self.text.verticalScrollBar().value()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.gauge.set_compact(event.size().width() < _COMPACT)
        self.view.arrange(event.size().width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "mark"):
            self._tint()

    def _tint(self) -> None:
        tint(self.mark, theme_of(self.palette()).warn_text)
