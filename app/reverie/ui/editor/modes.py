"""How the open memory is shown: its source, the rendered text, or both side by side.

Threading: GUI thread; settings are read and written by jobs. Failure: settings that cannot be written are
reported in the editor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QTextCursor
from PySide6.QtWidgets import QScrollBar, QSplitter, QVBoxLayout, QWidget

from reverie.profile import Profile
from reverie.ui.display_text import has_long_line
from reverie.ui.editor.documents import OpenFile
from reverie.ui.editor.find import FindQuery
from reverie.ui.editor.find_bar import FindBar
from reverie.ui.editor.foreign_edits import replace_text
from reverie.ui.editor.front_matter_form import NO_LIMITS, FormLimits, FrontForm
from reverie.ui.editor.preview import PreviewPane
from reverie.ui.editor.source_view import SourceView
from reverie.ui.icons import Icons
from reverie.ui.jobs import LINK_PATIENCE_S, JobControl, single_shot

if TYPE_CHECKING:
    from reverie.agents.scopes import Caps
    from reverie.settings import Settings
    from reverie.ui.session import HomeSession
    from reverie.ui.window.actions import Actions


Mode = Literal["source", "side", "preview"]


SIDE_WIDTH = 560


_KEEP_MS = 700


_MODES: dict[str, Mode] = {"editor.source": "source", "editor.side": "side", "editor.preview": "preview"}


# The actions with a button in the header.
HEAD = ("edit.front", "editor.source", "editor.side", "editor.preview")


class _EditorSettings(NamedTuple):
    wrap: bool = True
    line_numbers: bool = True
    zoom: int = 0


class EditorView(QObject):
    """The view of the open memory: its source, rendered text or both, with find bar and front-matter form.

    Everything except the source is created when it is first needed, so that the window need not wait for it.
    Wrapping, line numbers and zoom are stored in the settings by jobs. If the settings cannot be written, the
    choice still applies to this window.

    Signals:
        failed(UserError): The settings could not be stored.
    """

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

    def show_file(self, file: OpenFile | None, caps: Caps | None) -> None:
        """Show another file; None if no file is shown.

        `caps`: the agent's limits, such as the largest file that it reads; None if it has none for this file.
        """
        self._file, self._caps = file, caps
        if self._finder is not None:
            self._finder.document_changed()
        if self._form is not None:
            self._form.forget()
        if file is not None:
            self._read_settings()
            self.follow_text(at_once=True)

    def follow_text(self, *, at_once: bool = False) -> None:
        """Update the front-matter form and the rendered text, if shown, after the text has changed.

        The text is rendered after a pause in typing, or now if `at_once`.
        """
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
            # If the agent reads no descriptions, existing front matter can be edited but none is added.
            none = caps is not None and not caps.descriptions and not text.startswith("---")
            self._form.show_text(text, read_only=file.read_only or none, limits=limits)

    @Slot(str)
    def _take_text(self, after: str) -> None:
        """Change the text to `after`, which the form has edited, as if the user had typed the difference.

        If a line of `after` is too long, the edit is refused with a message.
        """
        file = self._file
        if file is None or file.read_only:
            return
        if has_long_line(after):
            self.text.refuse_long_line()
        else:
            replace_text(QTextCursor(file.document), 0, file.text, after)

    @property
    def mode(self) -> Mode:
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Show the source (`source`), the rendered text (`preview`) or both (`side`)."""
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
        """Move the focus to the source or, if only the rendered text is shown, to the rendered text."""
        if self._mode == "preview" and self._preview is not None:
            self._preview.browser.setFocus()
        else:
            self.text.setFocus()

    def arrange(self, width: int) -> None:
        """Place source and rendered text side by side if `width` allows, else one above the other.

        `width`: the width of the pane in pixels.
        """
        wanted = Qt.Orientation.Horizontal if width >= SIDE_WIDTH else Qt.Orientation.Vertical
        if self.body.orientation() != wanted:
            self.body.setOrientation(wanted)
        sizes = self.body.sizes()
        if self._mode == "side" and len(sizes) == 2 and 0 in sizes:
            self.body.setSizes([1000, 1000])

    @property
    def preview(self) -> PreviewPane | None:
        """The widget with the rendered text; None until it is first shown."""
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
        """Scroll one view to the same relative position as the other, whose scroll bar is `leader`."""
        if self._moving or self._mode != "side" or not leader.maximum():
            return
        self._moving = True
        follower.setValue(round(follower.maximum() * leader.value() / leader.maximum()))
        self._moving = False

    @property
    def finder(self) -> FindBar | None:
        """The find bar; None until it is first shown."""
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
        """Highlight the matches of a search over all memories in the text; None removes the highlights."""
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
        """The form for the front matter; None until it is first shown."""
        return self._form

    @Slot()
    def toggle_form(self) -> None:
        """Show the front-matter form and move the focus to its first field; if the form is shown, hide it."""
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
        """Use the job queues of this home to read and write the settings; None if no home is shown."""
        if self._keep.isActive():
            self._save()
        self._session = session

    @Slot()
    def settings_changed(self) -> None:
        """Read the settings of the editor from their file again, in a job, and apply them."""
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
        update = {f"editor_{name}": value for name, value in wanted._asdict().items()}

        def change(settings: Settings) -> Settings:
            return settings.model_copy(update={"window": settings.window.model_copy(update=update)})

        def work(_control: JobControl) -> None:
            from reverie.settings import change_settings  # late, as above

            change_settings(profile.settings_file, change, profile.locks, timeout_s=LINK_PATIENCE_S)

        session.lanes.scan.submit(
            "keep the editor's settings", work, done=self._on_kept, failed=self.failed.emit
        )

    def _on_kept(self, _nothing: None) -> None:
        """Do nothing after the settings were stored, because they are applied already."""

    def set_actions(self, actions: Actions, ids: tuple[str, ...]) -> None:
        """Set the window's actions with these ids, whose check marks are to show the state of this view."""
        self._actions = {id_: actions[id_] for id_ in ids}
        self._check()

    def _check(self) -> None:
        """Set the check marks of the actions to the current mode, form, wrapping and line numbers."""
        now = {
            "editor.wrap": self.text.wraps,
            "editor.lines": self.text.line_numbers,
            "edit.front": self._form is not None and not self._form.isHidden(),
            **{id_: self._mode == mode for id_, mode in _MODES.items()},
        }
        for id_, on in now.items():
            if id_ in self._actions:
                self._actions[id_].setChecked(on)
