"""The front matter of the open memory as a form above the source, with one field per key.

Each edit in the form is a small change of the text (`memory.front_matter`), so undo, drafts and saving need
no code for the form. If the front matter cannot be read, the form shows the reason and a link to its line; it
is repaired only on request.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QComboBox, QGridLayout, QSizePolicy, QToolButton, QWidget

from reverie.agents.scopes import FrontMatterRules
from reverie.memory.front_matter import (
    CutDescription,
    Front,
    FrontEntry,
    FrontError,
    cut_description,
    flattened,
    quote_description,
    read,
    remove,
    repair,
    set_value,
)
from reverie.text.summaries import utf16_length
from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.editor.value_editors import LONGEST, FittingArea, LineEdit, LinesEdit, Path
from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import ElidedLabel, FitPushButton, WrapLabel, tint
from reverie.ui.widgets.layouts import column, row_of
from reverie.ui.widgets.messages import MessageBar


class FormLimits(NamedTuple):
    """The limits within which the agent reads the front matter (the YAML block at the top of a memory)."""

    chars: int
    """The length of a description that the agent shows, in UTF-16 units; 0: no limit."""
    prefix: int
    """The number of bytes in which the agent searches for the end of the block; 0: no limit."""
    rules: FrontMatterRules = "strict"
    """`strict` if the agent parses the block as YAML (mux), `lenient` for the looser rules of Claude Code."""


NO_LIMITS = FormLimits(0, 0)

# The keys that agents use: mux the first, Claude Code the others, in its older and newer formats.
OFFERED: tuple[Path, ...] = (
    ("description",),
    ("name",),
    ("type",),
    ("metadata", "type"),
    ("metadata", "node_type"),
)


class FrontForm(QWidget):
    """The form for the front matter of a file (the YAML block at its top), with one field for each key.

    The constructor's argument `current` returns the text of the file as it is now, which may have changed
    since the form was filled.

    Signals:
        edited(str): The user has edited a field: the new text of the whole file.
        line_wanted(int): Request to show a line of the source, counted from 1.
    """

    edited = Signal(str)
    line_wanted = Signal(int)

    def __init__(self, icons: Icons, current: Callable[[], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._current = current
        self._text = ""
        self._limits = NO_LIMITS
        self._read_only = True
        self._front = Front(there=False)
        self._asked: list[Path] = []
        self.fields: dict[Path, FrontMatterField] = {}
        self.trouble = MessageBar(icons, "front-matter", closable=False)
        self.trouble.chosen.connect(self._choose)
        self.note = WrapLabel()
        self._rows = QGridLayout()
        self._rows.setContentsMargins(GAP, 0, GAP, 0)
        self._rows.setHorizontalSpacing(GAP)
        self._rows.setVerticalSpacing(UNIT)
        self._rows.setColumnStretch(1, 1)
        self.key = QComboBox()
        self.key.setEditable(True)
        self.key.setAccessibleName(self.tr("Key to add"))
        self.key.setMinimumContentsLength(8)
        self.add_button = FitPushButton()
        self.add_button.say(
            self.tr("Add"), self.tr("Add this key; for a key inside another key, type outer.inner")
        )
        self.add_button.clicked.connect(self._add)
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        inside = QWidget()
        around = column(None, self.note, margin=(GAP, 0, GAP, 0), gap=None)
        adding = row_of(self.key, self.add_button, grows=self.key, margin=(GAP, 0, GAP, 0), gap=None)
        adding.addStretch(2)
        column(inside, self._rows, around, adding, margin=(0, UNIT, 0, UNIT), gap=UNIT)
        self._area = FittingArea(inside)
        self._area.setAccessibleName(self.tr("Front matter keys"))
        column(self, self.trouble, self._area, margin=0, gap=0)

    def show_text(self, text: str, *, read_only: bool, limits: FormLimits = NO_LIMITS) -> None:
        """Show the front matter of `text`; if `read_only`, it cannot be edited.

        `limits`: the limits of the agent; the form warns if the agent does not read or show all because of
        them.
        """
        if (text, read_only, limits) == (self._text, self._read_only, self._limits) and self.fields:
            return
        self._text, self._read_only, self._limits = text, read_only, limits
        self._front = self._read(text)
        self._say_trouble()
        broken = self._front.problem not in ("", "too-long")
        self._area.setVisible(not broken)
        if not broken:
            self._show_entries()
        self._say_note()
        self._area.fit()

    def forget(self) -> None:
        """Forget which keys the user added but left empty; call this before another file is shown."""
        self._asked.clear()
        self._text = ""

    def _show_entries(self) -> None:
        entries = list(self._front.entries)
        known = {entry.path for entry in entries}
        self._asked = [path for path in self._asked if path not in known]
        missing: list[Path] = [] if ("description",) in known else [("description",)]
        missing += [path for path in self._asked if path not in missing]
        entries += [FrontEntry(path, "", "") for path in missing]
        if [entry.path for entry in entries] != list(self.fields) or any(
            not self.fields[entry.path].fits(entry) for entry in entries
        ):
            self._make_fields(entries)
        for entry in entries:
            self.fields[entry.path].show_entry(entry, self._read_only, entry.path not in known)
        self._offer([path for path in OFFERED if path not in known and path not in self.fields])
        self._area.fit()

    def _make_fields(self, entries: Sequence[FrontEntry]) -> None:
        focused = next((path for path, field in self.fields.items() if field.has_focus), None)
        for field in self.fields.values():
            for widget in (field.label, field.editor, field.remove):
                self._rows.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        self.fields = {}
        before: QWidget | None = None
        for row, entry in enumerate(entries):
            field = FrontMatterField(entry, self._icons, self)
            self.fields[entry.path] = field
            for place, widget in enumerate((field.label, field.editor, field.remove)):
                self._rows.addWidget(widget, row, place, Qt.AlignmentFlag.AlignVCenter)
                widget.show()  # now, so that the form's height counts it
            for widget in (field.editor, field.remove):
                if before is not None:
                    QWidget.setTabOrder(before, widget)
                before = widget
        if before is not None:
            QWidget.setTabOrder(before, self.key)
            QWidget.setTabOrder(self.key, self.add_button)
        if focused in self.fields:
            self.fields[focused].editor.setFocus()

    def _offer(self, paths: Sequence[Path]) -> None:
        names = [".".join(path) for path in paths]
        if [self.key.itemText(n) for n in range(self.key.count())] != names:
            self.key.clear()
            self.key.addItems(names)
        self.key.setEnabled(not self._read_only)
        self.add_button.setEnabled(not self._read_only)

    def _say_trouble(self) -> None:
        front = self._front
        sentence = {
            "": "",
            "malformed": self.tr("The front matter is not valid YAML, so the agent shows no description."),
            "not-a-mapping": self.tr("The front matter has no keys, so the agent shows no description."),
            "unclosed": self.tr("The front matter is not closed: the second --- line is missing."),
            "too-long": self.tr("The front matter is too long, so the agent does not read it."),
        }.get(front.problem, "")
        if not sentence:
            self._say_cut()
            return
        buttons = [
            (
                "line",
                self.tr("Show line {n}").format(n=max(1, front.line)),
                self.tr("Move the cursor to this line in the source"),
            )
        ]
        if front.problem == "malformed" and not self._read_only and self._repaired(self._text) is not None:
            buttons.append(
                ("mend", self.tr("Repair"), self.tr("Put quotation marks around the values that need them"))
            )
        self.trouble.say(sentence, tone="warn", buttons=buttons)

    def _say_cut(self) -> None:
        """Warn if the agent reads only the start of the description, and offer to quote the description."""
        cut = self._cut(self._text)
        if cut is None:
            self.trouble.clear()
            return
        read = " ".join(visible(cut.read).split())
        said = (
            self.tr(
                "The agent sees only “{read}” of this description, because it stops reading at {sign}."
            ).format(read=f"{read[:60]}…" if len(read) > 60 else read, sign=cut.sign)
            if read
            else self.tr(
                "The agent does not see this description, because it stops reading at {sign}."
            ).format(sign=cut.sign)
        )
        quote = (
            "quote",
            self.tr("Add quotation marks"),
            self.tr("Put the whole description in quotation marks so that the agent reads all of it"),
        )
        self.trouble.say(said, tone="warn", buttons=[] if self._read_only else [quote])

    def _cut(self, text: str) -> CutDescription | None:
        limits = self._limits
        return cut_description(text[:LONGEST], limits.prefix or None, rules=limits.rules)

    def _say_note(self) -> None:
        limit = self._limits.chars
        said = self._front.text("description")
        length = utf16_length(flattened(said, 10**9)) if said else 0
        over = bool(limit) and length > limit
        self.note.setVisible(over)
        if over:
            self.note.say(
                self.tr("The description has {n} characters; the agent shows the first {limit}.").format(
                    n=f"{length:,}", limit=limit
                )
            )
            self._tint()

    def _tint(self) -> None:
        tint(self.note, theme_of(self.palette()).warn_text)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "note"):
            self._tint()

    @property
    def no_text(self) -> str:
        """The tool tip of a field whose value is not text and so cannot be edited in the form."""
        return self.tr("This value is not text; edit it in the source.")

    def removal_of(self, name: str) -> str:
        """Return the label of the button that removes the key `name`, for its tool tip and screen readers."""
        return self.tr("Remove {key}").format(key=name)

    def change(self, path: Path, value: str) -> None:
        """Set the value of the key at `path` in the text of the file.

        `path`: the key, or the key of a mapping and a key in it. If `value` is empty and the text does not
        have the key, nothing is done.
        """
        # An empty value does not add a missing key.
        if not value and self._front.text(*path) is None and path not in self._paths():
            return
        limits = self._limits
        self._edit(path, lambda text: set_value(text, path, value, limits.prefix or None, rules=limits.rules))

    def drop(self, path: Path) -> None:
        """Remove the key at `path` from the text; if the text does not have it, remove its empty field.

        `path`: the key, or the key of a mapping and a key in it.
        """
        if path not in self._paths():
            self._asked = [each for each in self._asked if each != path]
            self._show_entries()
            return
        self._edit(path, lambda text: remove(text, path, rules=self._limits.rules))

    def _edit(self, path: Path, edit: Callable[[str], str]) -> None:
        """Replace the current text of the file by the result of `edit`, which is called with that text.

        If the value of the key at `path` has changed since it was shown, nothing is edited, and the form
        shows the new value. If `edit` raises `FrontError`, the form shows the reason.
        """
        text = self._current()
        if self._read(text).text(*path) != self._front.text(*path):
            self.show_text(text, read_only=self._read_only, limits=self._limits)
            return
        try:
            after = edit(text)
        except FrontError as error:
            self._refused(error)
            return
        self._take(text, after)

    def _read(self, text: str) -> Front:
        # Front matter is at the top, so text far below need not be parsed each time.
        return read(text[:LONGEST], self._limits.prefix or None, rules=self._limits.rules)

    def _repaired(self, text: str) -> str | None:
        return repair(text, rules=self._limits.rules)

    def _paths(self) -> frozenset[Path]:
        return frozenset(entry.path for entry in self._front.entries)

    def _take(self, before: str, after: str) -> None:
        if after != before:
            limits = self._limits
            self.edited.emit(after)
            self.show_text(after, read_only=self._read_only, limits=limits)

    def _refused(self, error: FrontError) -> None:
        sentence = {
            "too-long": self.tr(
                "This change would make the front matter too long for the agent to read. Nothing was changed."
            ),
            "not-a-text": self.tr("The value of this key is a list or a mapping; edit it in the source."),
        }.get(
            error.reason,
            self.tr("The form cannot write this value without changing other text. Edit the source instead."),
        )
        self.trouble.say(
            sentence,
            tone="warn",
            buttons=[("line", self.tr("Show the source"), self.tr("Move the cursor to the front matter"))],
        )

    @Slot()
    def _add(self) -> None:
        path = tuple(part.strip() for part in self.key.currentText().split(".", 1))
        if not all(path) or path in self.fields:
            return
        self._asked.append(path)
        self._show_entries()
        self.fields[path].editor.setFocus()

    @Slot(str)
    def _choose(self, key: str) -> None:
        if key == "line":
            self.line_wanted.emit(max(1, self._front.line))
        elif key == "quote":
            limits = self._limits
            quoted = partial(quote_description, prefix_bytes=limits.prefix or None, rules=limits.rules)
            self._edit(("description",), quoted)
        elif key == "mend":
            text = self._current()
            repaired = self._repaired(text)
            if repaired is not None:
                self._take(text, repaired)


_KINDS = "user, feedback, project, reference"


class FrontMatterField:
    """The widgets for one key: a label, an editor for its value, and a button to remove it."""

    def __init__(self, entry: FrontEntry, icons: Icons, form: FrontForm) -> None:
        self._path = entry.path
        self._form = form
        self._ending = ""
        name = " / ".join(visible(part) for part in entry.path)
        self.label = ElidedLabel(name)
        self.label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.label.setFixedWidth(min(120, QFontMetrics(self.label.font()).horizontalAdvance(name) + UNIT))
        self.editor = LinesEdit(self._on_edited) if _is_long(entry) else LineEdit(self._on_edited)
        self.editor.setAccessibleName(name)
        if entry.path[-1] == "type" and isinstance(self.editor, LineEdit):
            self.editor.setPlaceholderText(_KINDS)
        self.remove = QToolButton()
        self.remove.setAutoRaise(True)
        self.remove.setIcon(icons.icon("close"))
        self.remove.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        says = form.removal_of(name)
        self.remove.setAccessibleName(says)
        self.remove.setToolTip(as_tooltip(says))
        self.remove.clicked.connect(self._on_remove)

    @property
    def has_focus(self) -> bool:
        return self.editor.hasFocus()

    def fits(self, entry: FrontEntry) -> bool:
        """Return True if the editor of this field can show the value of `entry`.

        An editor with several lines can show any value, one with a single line only a value of one line.
        """
        return isinstance(self.editor, LinesEdit) or not _is_long(entry)

    def show_entry(self, entry: FrontEntry, read_only: bool, absent: bool) -> None:
        """Show the value of `entry`; if it has not changed, the cursor stays where it is.

        `read_only`: the user cannot edit the value or remove the key. `absent`: the text does not have the
        key yet; a description that is absent cannot be removed.
        """
        value = entry.raw if entry.text is None else entry.text
        self._ending = "\n" if entry.text is not None and value.endswith("\n") else ""
        self.editor.show_value(value.removesuffix("\n"))
        fixed = read_only or entry.text is None
        self.editor.setReadOnly(fixed)
        tip = self._form.no_text if entry.text is None else ""
        self.editor.setToolTip(tip)
        self.remove.setEnabled(not read_only and (not absent or self._path != ("description",)))

    def _on_edited(self, value: str) -> None:
        self._form.change(self._path, value + self._ending if value else value)

    def _on_remove(self) -> None:
        self._form.drop(self._path)


def _is_long(entry: FrontEntry) -> bool:
    value = entry.raw if entry.text is None else entry.text
    return "\n" in value.removesuffix("\n")
