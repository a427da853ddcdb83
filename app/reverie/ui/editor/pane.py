"""The editor pane: header with path and size, what a person must know or decide, and the text.

Shows one `OpenFile`; decisions are in `documents`, reading and writing in `control`. The text view is one
widget whose document is exchanged, so that every file keeps its own undo stack, cursor and scroll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QLabel,
    QPlainTextDocumentLayout,
    QScrollBar,
    QSizePolicy,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import UserError
from reverie.memory.front_matter_rules import BOM
from reverie.profile import Profile
from reverie.text.summaries import estimate_tokens, utf16_length
from reverie.ui.appearance import GAP, UNIT, Icons, tabular, theme_of
from reverie.ui.display_text import LONGEST_LINE, counted, human_size
from reverie.ui.editor.documents import OpenFile, replace_text
from reverie.ui.editor.front_matter_form import NO_LIMITS, FormLimits, FrontForm
from reverie.ui.editor.preview import PreviewPane
from reverie.ui.editor.source_view import FindBar, FindQuery, SourceView
from reverie.ui.editor.text_merge import widget_text
from reverie.ui.jobs import LINK_PATIENCE_S, JobControl, single_shot
from reverie.ui.widgets.controls import PathLabel, WrapLabel, flat_button, tint
from reverie.ui.widgets.layouts import column, row_of
from reverie.ui.widgets.messages import MessageBar

if TYPE_CHECKING:
    from reverie.agents.scopes import Caps
    from reverie.settings import Settings
    from reverie.ui.session import HomeSession
    from reverie.ui.window.actions import Actions


# How the open memory is shown: source, rendered or side by side, with find bar and front-matter form.
#
# The parts besides the source are made when they are first asked for, so that the window need not wait for
# them. Wrapping, line numbers and zoom are wishes of the person and kept in the settings.
#
# Threading: GUI thread; settings are read and written by jobs. Failure: a settings file that cannot be
# written is told of in the editor; what was wished counts for this window all the same.


Mode = Literal["source", "side", "preview"]

SIDE_WIDTH = 560
_KEEP_MS = 700
_MODES: dict[str, Mode] = {"editor.source": "source", "editor.side": "side", "editor.preview": "preview"}
# What the head of the editor offers as buttons.
HEAD = ("edit.front", "editor.source", "editor.side", "editor.preview")


class _EditorSettings(NamedTuple):
    wrap: bool = True
    line_numbers: bool = True
    zoom: int = 0


class EditorView(QObject):
    """`failed(UserError)`: the settings could not be kept."""

    failed = Signal(object)

    def __init__(self, text: SourceView, icons: Icons, profile: Profile, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text
        self._profile = profile
        self._icons = icons
        self._file: OpenFile | None = None
        self._caps: Caps | None = None
        self._session: HomeSession | None = None
        self._actions: dict[str, QAction] = {}
        self._asked = False
        self._mode: Mode = "source"
        self._moving = False
        self._finder: FindBar | None = None
        self._form: FrontForm | None = None
        self._preview: PreviewPane | None = None
        self.above = QVBoxLayout()
        self.above.setSpacing(0)
        self.body = QSplitter(Qt.Orientation.Horizontal)
        self.body.setHandleWidth(5)
        self.body.setChildrenCollapsible(False)
        self.body.addWidget(text)
        self._keep = single_shot(self, _KEEP_MS, self._save)
        text.zoom_wanted.connect(self._zoom_by)
        text.verticalScrollBar().valueChanged.connect(self._follow_source)

    # The file

    def show_file(self, file: OpenFile | None, caps: Caps | None) -> None:
        """Another file is open, or none. `caps`: the agent's, None for what it has none for."""
        self._file, self._caps = file, caps
        if self._finder is not None:
            self._finder.document_changed()
        if self._form is not None:
            self._form.forget()
        if file is not None:
            self._read_settings()
            self.follow_text(at_once=True)

    def follow_text(self, *, at_once: bool = False) -> None:
        """The text is another: form and preview follow while they are shown."""
        file = self._file
        if file is None:
            return
        form_shown = self._form is not None and not self._form.isHidden()
        if not form_shown and self._mode == "source":
            return
        text = file.text
        if self._preview is not None and self._mode != "source":
            self._preview.say_text(text, at_once=at_once)
        if self._form is not None and form_shown:
            caps = self._caps
            limits = NO_LIMITS
            if caps is not None:
                prefix = caps.description_prefix_bytes
                limits = FormLimits(caps.description_chars, prefix, caps.front_matter)
            # Where the agent reads no descriptions, front matter is edited and never begun.
            none = caps is not None and not caps.descriptions and not text.startswith("---")
            self._form.show_text(text, read_only=file.read_only or none, limits=limits)

    @Slot(str)
    def _take_text(self, after: str) -> None:
        """The form changed the text: the smallest edit, as if typed."""
        file = self._file
        if file is None or file.read_only:
            return
        replace_text(QTextCursor(file.document), 0, file.text, after)

    # Modes

    @property
    def mode(self) -> Mode:
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Show the source, the rendered text, or both."""
        had_focus = self.text.hasFocus()
        self._mode = mode
        if mode != "source":
            preview = self._made_preview()
            preview.show()
            self.text.setVisible(mode == "side")
            self.arrange(self.body.width())
            self.follow_text(at_once=True)
            if mode == "side":
                self._follow_source()
            elif had_focus:
                preview.browser.setFocus()
        else:
            self.text.show()
            if self._preview is not None:
                self._preview.hide()
        self._check()

    @Slot()
    def show_source(self) -> None:
        self.set_mode("source")

    @Slot()
    def show_side(self) -> None:
        self.set_mode("side")

    @Slot()
    def show_preview(self) -> None:
        self.set_mode("preview")

    def focus(self) -> None:
        """Into the text, as it is shown."""
        if self._mode == "preview" and self._preview is not None:
            self._preview.browser.setFocus()
        else:
            self.text.setFocus()

    def arrange(self, width: int) -> None:
        """Side by side where there is room, else below each other."""
        wanted = Qt.Orientation.Horizontal if width >= SIDE_WIDTH else Qt.Orientation.Vertical
        if self.body.orientation() != wanted:
            self.body.setOrientation(wanted)
        sizes = self.body.sizes()
        if self._mode == "side" and len(sizes) == 2 and 0 in sizes:
            self.body.setSizes([1000, 1000])

    @property
    def preview(self) -> PreviewPane | None:
        """The rendered text, once it was asked for."""
        return self._preview

    def _made_preview(self) -> PreviewPane:
        if self._preview is None:
            self._preview = PreviewPane()
            self._preview.hide()
            self._preview.set_zoom(self.text.zoom)
            self.body.addWidget(self._preview)
            self._preview.scrolled.connect(self._follow_preview)
            self._preview.rendered.connect(self._follow_source)
        return self._preview

    @Slot()
    def _follow_source(self) -> None:
        if self._preview is not None:
            self._scroll(self.text.verticalScrollBar(), self._preview.browser.verticalScrollBar())

    @Slot()
    def _follow_preview(self) -> None:
        if self._preview is not None:
            self._scroll(self._preview.browser.verticalScrollBar(), self.text.verticalScrollBar())

    def _scroll(self, leader: QScrollBar, follower: QScrollBar) -> None:
        """Both views stand at the same share of their text."""
        if self._moving or self._mode != "side" or not leader.maximum():
            return
        self._moving = True
        follower.setValue(round(follower.maximum() * leader.value() / leader.maximum()))
        self._moving = False

    # Find and form

    @property
    def finder(self) -> FindBar | None:
        """The find bar, once it was asked for."""
        return self._finder

    def _made_finder(self) -> FindBar:
        if self._mode == "preview":
            self.set_mode("source")
        return self._any_finder()

    def _any_finder(self) -> FindBar:
        if self._finder is None:
            self._finder = FindBar(self.text, self._icons)
            self.above.addWidget(self._finder)
        return self._finder

    def seek(self, query: FindQuery | None) -> None:
        """Mark what a search looked for in every text that is shown; None: no longer."""
        if query is not None or self._finder is not None:
            self._any_finder().seek(query)

    @Slot()
    def open_find(self) -> None:
        if self._file is not None:
            self._made_finder().open_find()

    @Slot()
    def open_replace(self) -> None:
        if self._file is not None:
            self._made_finder().open_replace()

    @Slot()
    def find_next(self) -> None:
        if self._file is not None:
            self._made_finder().next()

    @Slot()
    def find_previous(self) -> None:
        if self._file is not None:
            self._made_finder().previous()

    @property
    def form(self) -> FrontForm | None:
        """The front-matter form, once it was asked for."""
        return self._form

    @Slot()
    def toggle_form(self) -> None:
        """Show the form with the caret in it, or put it away."""
        if self._form is None:
            self._form = FrontForm(self._icons, lambda: self._file.text if self._file is not None else "")
            self._form.edited.connect(self._take_text)
            self._form.line_wanted.connect(self._go_to_line)
            self.above.insertWidget(0, self._form)
        shown = self._form.isHidden()
        self._form.setVisible(shown)
        self.follow_text(at_once=True)
        if shown and self._form.fields:
            next(iter(self._form.fields.values())).editor.setFocus()
        elif not shown:
            self.focus()
        self._check()

    @Slot(int)
    def _go_to_line(self, line: int) -> None:
        if self._mode == "preview":
            self.set_mode("source")
        self.text.go_to_line(line)
        self.text.setFocus()

    # Wishes

    @Slot()
    def toggle_wrap(self) -> None:
        self._set_and_save(self._settings_now()._replace(wrap=not self.text.wraps))

    @Slot()
    def toggle_line_numbers(self) -> None:
        self._set_and_save(self._settings_now()._replace(line_numbers=not self.text.line_numbers))

    @Slot()
    def zoom_in(self) -> None:
        self._zoom_by(1)

    @Slot()
    def zoom_out(self) -> None:
        self._zoom_by(-1)

    @Slot()
    def zoom_reset(self) -> None:
        self._set_and_save(self._settings_now()._replace(zoom=0))

    @Slot(int)
    def _zoom_by(self, steps: int) -> None:
        self._set_and_save(self._settings_now()._replace(zoom=self.text.zoom + steps))

    def _settings_now(self) -> _EditorSettings:
        return _EditorSettings(self.text.wraps, self.text.line_numbers, self.text.zoom)

    def _set_and_save(self, wanted: _EditorSettings) -> None:
        self._apply(wanted)
        self._keep.start()

    def _apply(self, wanted: _EditorSettings) -> None:
        self.text.set_wrap(wanted.wrap)
        self.text.set_line_numbers(wanted.line_numbers)
        self.text.set_zoom(wanted.zoom)
        if self._preview is not None:
            self._preview.set_zoom(self.text.zoom)
        self._check()

    def set_session(self, session: HomeSession | None) -> None:
        """Whose lane to use."""
        if self._keep.isActive():
            self._save()
        self._session = session

    @Slot()
    def settings_changed(self) -> None:
        """Follow the settings as they are now."""
        self._asked = False
        self._read_settings()

    def _read_settings(self) -> None:
        session = self._session
        if self._asked or session is None:
            return
        self._asked = True
        file = self._profile.settings_file

        def work(_control: JobControl) -> _EditorSettings:
            from reverie.settings import load_settings  # late: pydantic takes a tenth of a second

            window = load_settings(file)[0].window
            return _EditorSettings(window.editor_wrap, window.editor_line_numbers, window.editor_zoom)

        session.lanes.scan.submit("read the editor's settings", work, done=self._on_settings)

    def _on_settings(self, wanted: _EditorSettings) -> None:
        if not self._keep.isActive():
            self._apply(wanted)

    @Slot()
    def _save(self) -> None:
        self._keep.stop()
        session, wanted = self._session, self._settings_now()
        if session is None:
            return
        profile = self._profile
        update = {
            "editor_wrap": wanted.wrap,
            "editor_line_numbers": wanted.line_numbers,
            "editor_zoom": wanted.zoom,
        }

        def change(settings: Settings) -> Settings:
            return settings.model_copy(update={"window": settings.window.model_copy(update=update)})

        def work(_control: JobControl) -> None:
            from reverie.settings import change_settings  # late, as above

            change_settings(profile.settings_file, change, profile.locks, timeout_s=LINK_PATIENCE_S)

        session.lanes.scan.submit(
            "keep the editor's settings", work, done=self._on_kept, failed=self.failed.emit
        )

    def _on_kept(self, _nothing: None) -> None:
        """They count already."""

    # Actions

    def set_actions(self, actions: Actions, ids: tuple[str, ...]) -> None:
        """The window's actions whose check marks say what is shown here."""
        self._actions = {id_: actions[id_] for id_ in ids}
        self._check()

    def _check(self) -> None:
        """The menus' check marks follow."""
        now = {
            "editor.wrap": self.text.wraps,
            "editor.lines": self.text.line_numbers,
            "edit.front": self._form is not None and not self._form.isHidden(),
            **{id_: self._mode == mode for id_, mode in _MODES.items()},
        }
        for id_, on in now.items():
            if id_ in self._actions:
                self._actions[id_].setChecked(on)


# How full a memory is: bytes against what the agent reads, and the tokens that the text costs.
#
# `cut_position` is the rule for where the agent stops reading; everything else here draws.


WARN_SHARE = 0.9
_AMBER_SHARE = 0.8
_WORTH_A_LOOK = 0.6
"""From which share of the cap on the gauge is shown; the inspector always has the size."""
_BAR = 48


def cut_position(content: bytes, cap: int) -> int | None:
    """Where the agent stops reading, in UTF-16 units of the text as a widget has it; None: it reads all.

    `content` is the file as it would be written, `cap` in bytes (0: none). A character that the cap cuts is
    not read.
    """
    if not cap or len(content) <= cap:
        return None
    return utf16_length(widget_text(content[:cap].decode("utf-8", "ignore").removeprefix(BOM)))


class SizeGauge(QWidget):
    """A short bar and `3.1 KiB of 100 KiB · 790 tokens`, once the memory is so full that it matters."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._size = 0
        self._cap = 0
        self._tokens = 0
        self._compact = False
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_size(self, size: int, cap: int, tokens: int) -> None:
        """`size` and `cap` in bytes, `tokens` as design.md estimates them."""
        if (size, cap, tokens) == (self._size, self._cap, self._tokens):
            return
        self._size, self._cap, self._tokens = size, cap, tokens
        self.setVisible(self.share > _WORTH_A_LOOK)
        about = self.tr("About {tokens} tokens, a quarter of the characters.").format(tokens=f"{tokens:,}")
        self.setToolTip(
            self.tr("{size} bytes of the {cap} that the agent reads.").format(
                size=f"{size:,}", cap=f"{cap:,}"
            )
            + "\n"
            + about
            if cap
            else self.tr("{size} bytes.").format(size=f"{size:,}") + "\n" + about
        )
        self._changed()

    def set_compact(self, on: bool) -> None:
        """Where there is little room cap and tokens are in the tool tip only."""
        if on != self._compact:
            self._compact = on
            self._changed()

    def _changed(self) -> None:
        self.setAccessibleName(self.text)
        self.updateGeometry()
        self.update()

    @property
    def text(self) -> str:
        size = human_size(self._size)
        if self._compact:
            return size
        if self._cap:
            size = self.tr("{size} of {cap}").format(size=size, cap=human_size(self._cap))
        return self.tr("{size} · {tokens} tokens").format(size=size, tokens=f"{self._tokens:,}")

    @property
    def share(self) -> float:
        """How much of the cap is used; 0 without one."""
        return self._size / self._cap if self._cap else 0.0

    @property
    def over(self) -> bool:
        return self.share > 1

    @property
    def left(self) -> int:
        """Bytes that still fit."""
        return max(0, self._cap - self._size)

    def sizeHint(self) -> QSize:
        return self._room_for(self.text)

    def minimumSizeHint(self) -> QSize:
        """It is compact before anything else gives way."""
        return self._room_for(human_size(self._size))

    def _room_for(self, text: str) -> QSize:
        metrics = QFontMetrics(self.font())
        bar = _BAR + GAP if self._cap else 0
        return QSize(metrics.horizontalAdvance(text) + bar + 2, metrics.height() + UNIT)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        colour = theme.dim_window
        if self.over:
            colour = theme.bad_text
        elif self.share > _AMBER_SHARE:
            colour = theme.warn_text
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        if self._cap:
            groove = QRectF(0.5, self.height() / 2 - 3, _BAR, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.line)
            painter.drawRoundedRect(groove, 3, 3)
            painter.setBrush(theme.accent if colour == theme.dim_window else colour)
            filled = max(3.0, _BAR * min(1.0, self.share))
            painter.drawRoundedRect(QRectF(groove.left(), groove.top(), filled, 6), 3, 3)
            left = _BAR + GAP
        painter.setPen(colour)
        painter.drawText(self.rect().adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text)


_MEASURE_MS = 120
_MEASURED_AT_ONCE = 20_000
"""Characters; a longer text is measured when the typing pauses."""
_COMPACT = 460
_LEAST_PATH = 64
_LEAST_TEXT = 96


class EditorPane(QWidget):
    """`chosen(str)`: a button of the banner: next, reload, keep, compare, save, close. `came_forward`: the
    text is about to get the focus."""

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
        self.text.setAccessibleName(self.tr("Text of the memory"))
        self.text.textChanged.connect(self._on_text_changed)
        self.view = EditorView(self.text, icons, profile, self)
        self.view.failed.connect(self.show_error)
        self.nothing = WrapLabel(self.tr("Select a memory to read and edit it."))
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._measure = single_shot(self, _MEASURE_MS, self._measure_text)
        # The view deletes the document it was born with as soon as it gets another.
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
        column(
            page,
            head,
            self.reason,
            self.banner,
            self.unseen,
            self.merged,
            self.draft,
            self.error,
            self._notices,
            self.limit,
            self.view.above,
            self.view.body,
            grows=self.view.body,
            margin=(0, UNIT, 0, 0),
            gap=UNIT,
        )
        self.view.body.setMinimumHeight(_LEAST_TEXT)
        blank = QWidget()
        column(blank, self.gone, self.nothing, grows=self.nothing)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(blank)
        self._stack.addWidget(page)

    def add_notice(self, notice: QWidget) -> None:
        """Show `notice` under the editor's own messages; it hides itself while it has nothing to say."""
        self._notices.addWidget(notice)

    def set_actions(self, actions: Actions) -> None:
        """The window's actions: those of the editor work here only, some have a button."""
        own = actions.of_editor()
        self._own = tuple(actions[id_] for id_ in own)
        self.addActions(list(self._own))
        self.view.set_actions(actions, own)
        for id_ in HEAD:
            self._buttons.addWidget(flat_button(actions[id_]))

    def event(self, event: QEvent) -> bool:
        """Keys that the window has, too (Ctrl+F), are the editor's own while it has the focus."""
        asked = event.type() == QEvent.Type.ShortcutOverride
        if asked and self._own_action(event) is not None:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._own_action(event)
        if action is not None:
            action.trigger()
        else:
            super().keyPressEvent(event)

    def _own_action(self, event: QEvent) -> QAction | None:
        if not isinstance(event, QKeyEvent):
            return None
        pressed = QKeySequence(event.keyCombination())
        return next((each for each in self._own if each.isEnabled() and pressed in each.shortcuts()), None)

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
        self.view.show_file(None, None)
        self.nothing.say(sentence or self.tr("Select a memory to read and edit it."))
        self._stack.setCurrentIndex(0)

    def show_file(self, file: OpenFile, caps: Caps | None) -> None:
        """Show `file`, where the person left it. `caps`: the agent's, None for what it has none for."""
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
        """Into the text, wherever it has to be shown for that."""
        self.came_forward.emit()
        self.view.focus()

    @Slot(object)
    def show_error(self, error: UserError) -> None:
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
        if file.shortened:
            sentence = self.tr(
                "A line is longer than {n} characters. Such lines are cut here, so the text cannot be edited."
            ).format(n=f"{LONGEST_LINE:,}")
            tip = self.tr("Show long lines in full, without wrapping; that may take a while")
            self.reason.say(
                f"{file.buffer.read_only} {sentence}".strip(),
                buttons=[("whole", self.tr("Show in full"), tip)],
            )
        elif file.cut:
            self.reason.say(
                self.tr("{reason} Only its beginning is shown.").format(reason=file.buffer.read_only)
            )
        elif file.buffer.refusal is not None:
            tip = self.tr("Let Reverie change these memories although it does not know their layout")
            self.reason.say(
                file.buffer.read_only,
                tone="warn",
                buttons=[("permit", self.tr("Write anyway…"), tip)],
            )
        elif file.buffer.read_only:
            self.reason.say(file.buffer.read_only)
        elif not file.lossless:
            self.reason.say(
                self.tr("This file holds characters that an editor would change; it is read-only here.")
            )
        elif file.buffer.note:
            self.reason.say(file.buffer.note)
        else:
            self.reason.clear()

    def _say_banner(self, file: OpenFile) -> None:
        banner = file.buffer.banner
        if not banner and file.waiting:
            sentence = self.tr("{reason} Your text will be saved automatically afterwards.")
            self.banner.say(sentence.format(reason=file.waiting))
            return
        if not banner:
            self.banner.clear()
            return
        close = ("close", self.tr("Close"), self.tr("Close this file"))
        sentence, buttons = {
            "conflict": self._conflict(file),
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

    def _conflict(self, file: OpenFile) -> tuple[str, list[tuple[str, str, str]]]:
        """What both sides changed, place by place where they could be merged, else as a whole."""
        reload = (
            "reload",
            self.tr("Discard mine"),
            self.tr("Take the version on disk; Ctrl+Z brings yours back"),
        )
        keep = (
            "keep",
            self.tr("Overwrite theirs"),
            self.tr("Your text stays; the next save replaces theirs"),
        )
        compare = ("compare", self.tr("Compare"), self.tr("Show both versions"))
        disk = file.buffer.disk
        if file.conflicts:
            sentence = counted(
                "You and another program changed the same lines.",
                "You and another program changed the same lines in %n places.",
                len(file.conflicts),
            )
            decide = ("next", self.tr("Resolve…"), self.tr("Go to the place and choose whose lines to keep"))
            return sentence, [decide, reload, keep, compare]
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
        content = file.content.encode("utf-8", "surrogatepass")
        size = base.size if base is not None and not file.buffer.modified else len(content)
        self.gauge.show_size(size, cap, estimate_tokens(file.text))
        cut, tip = cut_position(content, cap), self.tr("The agent does not read this far.")
        if file.shortened:
            cut = None  # no place in what is shown
        self._say_limit(cut is not None)
        rule, own_tip = self._own_cut
        own = rule(file) if rule is not None else None
        if own is not None and (cut is None or own < cut):
            cut, tip = own, own_tip
        self.text.set_unseen_from(cut, tip if cut is not None else "")

    def set_own_cut(self, rule: Callable[[OpenFile], int | None] | None, tip: str = "") -> None:
        """Where the agent stops reading the shown file, if that is not a matter of its size: `rule` gives the
        place in UTF-16 units of the document, None where it reads all."""
        if (rule, tip) != self._own_cut:
            self._own_cut = (rule, tip)
            self._measured = ()
            self._show_size()

    def _say_limit(self, over: bool) -> None:
        if over:
            self.limit.say(
                self.tr("The agent does not read what is below the dashed line: the text is too large."),
                tone="warn",
            )
        elif self.gauge.share >= WARN_SHARE and self.gauge.left:
            self.limit.say(
                self.tr("Only {size} still fit into what the agent reads of a file.").format(
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
