"""How the open memory is shown: source, rendered or side by side, with find bar and front-matter form.

The parts besides the source are made when they are first asked for, so that the window need not wait for
them. Wrapping, line numbers and zoom are wishes of the person and kept in the settings.

Threading: GUI thread; settings are read and written by jobs. Failure: a settings file that cannot be written
is told of in the editor; what was wished counts for this window all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QTextCursor
from PySide6.QtWidgets import QScrollBar, QSplitter, QVBoxLayout, QWidget

from reverie.text.tokens import utf16_length
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.memory.newlines import smallest_edit
from reverie.ui.memory.source_view import SourceView

if TYPE_CHECKING:
    from reverie.homes.scopes import Caps
    from reverie.ui.actions import Actions
    from reverie.ui.memory.documents import OpenFile
    from reverie.ui.memory.find_bar import FindBar
    from reverie.ui.memory.front_form import FrontForm
    from reverie.ui.memory.preview import PreviewPane
    from reverie.ui.session import HomeSession

Mode = Literal["source", "side", "preview"]

SIDE_WIDTH = 560
_KEEP_MS = 700
_MODES: dict[str, Mode] = {"editor.source": "source", "editor.side": "side", "editor.preview": "preview"}
# What the head of the editor offers as buttons.
HEAD = ("edit.front", "editor.source", "editor.side", "editor.preview")


class _Wishes(NamedTuple):
    wrap: bool = True
    line_numbers: bool = True
    zoom: int = 0


class EditorView(QObject):
    """`failed(MendableError)`: the settings could not be kept."""

    failed = Signal(object)

    def __init__(self, text: SourceView, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text
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
        self._keep = QTimer(self)
        self._keep.setSingleShot(True)
        self._keep.setInterval(_KEEP_MS)
        self._keep.timeout.connect(self._save)
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
            self._ask_wishes()
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
            limits = (caps.description_chars, caps.description_prefix_bytes) if caps is not None else (0, 0)
            # Where the agent reads no descriptions, front matter is edited and never begun.
            none = caps is not None and not caps.descriptions and not text.startswith("---")
            self._form.show_text(text, read_only=file.read_only or none, limits=limits)

    @Slot(str)
    def _take_text(self, after: str) -> None:
        """The form changed the text: the smallest edit, as if typed."""
        file = self._file
        if file is None or file.read_only:
            return
        before = file.text
        start, end, words = smallest_edit(before, after)
        cursor = QTextCursor(file.document)
        cursor.setPosition(utf16_length(before[:start]))
        cursor.setPosition(utf16_length(before[:end]), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(words)

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
            from reverie.ui.memory.preview import PreviewPane

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
        if self._finder is None:
            from reverie.ui.memory.find_bar import FindBar

            self._finder = FindBar(self.text, self._icons)
            self.above.addWidget(self._finder)
        if self._mode == "preview":
            self.set_mode("source")
        return self._finder

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
            from reverie.ui.memory.front_form import FrontForm

            self._form = FrontForm(self._icons)
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
        self._wish(self._wishes()._replace(wrap=not self.text.wraps))

    @Slot()
    def toggle_line_numbers(self) -> None:
        self._wish(self._wishes()._replace(line_numbers=not self.text.line_numbers))

    @Slot()
    def zoom_in(self) -> None:
        self._zoom_by(1)

    @Slot()
    def zoom_out(self) -> None:
        self._zoom_by(-1)

    @Slot()
    def zoom_reset(self) -> None:
        self._wish(self._wishes()._replace(zoom=0))

    @Slot(int)
    def _zoom_by(self, steps: int) -> None:
        self._wish(self._wishes()._replace(zoom=self.text.zoom + steps))

    def _wishes(self) -> _Wishes:
        return _Wishes(self.text.wraps, self.text.line_numbers, self.text.zoom)

    def _wish(self, wishes: _Wishes) -> None:
        self._apply(wishes)
        self._keep.start()

    def _apply(self, wishes: _Wishes) -> None:
        self.text.set_wrap(wishes.wrap)
        self.text.set_line_numbers(wishes.line_numbers)
        self.text.set_zoom(wishes.zoom)
        if self._preview is not None:
            self._preview.set_zoom(self.text.zoom)
        self._check()

    def set_session(self, session: HomeSession | None) -> None:
        """Whose settings and lane to use."""
        if self._keep.isActive():
            self._save()
        self._session = session

    def _ask_wishes(self) -> None:
        session = self._session
        if self._asked or session is None:
            return
        self._asked = True
        workbench = session.workbench

        def work(_control: JobControl) -> _Wishes:
            window = workbench.settings().window
            return _Wishes(window.editor_wrap, window.editor_line_numbers, window.editor_zoom)

        session.lanes.scan.submit("read the editor's settings", work, done=self._on_wishes)

    def _on_wishes(self, wishes: _Wishes) -> None:
        if not self._keep.isActive():
            self._apply(wishes)

    @Slot()
    def _save(self) -> None:
        self._keep.stop()
        session, wishes = self._session, self._wishes()
        if session is None:
            return
        workbench = session.workbench

        def work(_control: JobControl) -> None:
            settings = workbench.settings()
            window = settings.window.model_copy(
                update={
                    "editor_wrap": wishes.wrap,
                    "editor_line_numbers": wishes.line_numbers,
                    "editor_zoom": wishes.zoom,
                }
            )
            workbench.save_settings(settings.model_copy(update={"window": window}))

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
