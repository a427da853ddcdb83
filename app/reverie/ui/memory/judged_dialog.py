"""A form that is judged as one types: what is wrong with it, or what it comes to, stands below it, and it can
be accepted only while nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QFormLayout, QWidget

from reverie.homes.scopes import Scope
from reverie.ui import words
from reverie.ui.columns import column
from reverie.ui.labels import WrapLabel
from reverie.ui.theme import GAP, MARGIN, theme_of


class JudgedDialog(QDialog):
    """Subclasses make the fields, lay them out and `judge` once; from then on it follows the colours, too."""

    _is_laid_out = False

    def __init__(self, title: str, accept: str, scopes: Iterable[Scope], parent: QWidget | None) -> None:
        """`scopes`: those one may choose from."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(340)
        self.scope = QComboBox()
        self.scope.setAccessibleName(self.tr("Scope"))
        for scope in scopes:
            self.scope.addItem(words.scope_name(scope), scope)
        self.scope.setEnabled(self.scope.count() > 1)
        self.hint = WrapLabel()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(accept)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    @property
    def chosen_scope(self) -> Scope:
        return Scope(self.scope.currentData())

    def lay_out(self, rows: Iterable[tuple[str, QWidget]], *below: QWidget) -> None:
        """The scope and these rows as a form, and what stands between it and the hint."""
        form = QFormLayout()
        form.setSpacing(GAP)
        form.addRow(self.tr("&Scope"), self.scope)
        for text, field in rows:
            form.addRow(text, field)
        outer = column(self, form, *below, self.hint, gap=MARGIN)
        outer.addStretch(1)
        outer.addWidget(self.buttons)
        self._is_laid_out = True

    @Slot()
    def judge(self) -> None:
        """Look at the fields and `say` what comes of them."""
        raise NotImplementedError

    def say(self, sentence: str, *, fine: bool, bad: bool) -> None:
        """`fine`: it can be accepted; `bad`: something was done wrong."""
        theme = theme_of(self.palette())
        palette = QPalette(self.hint.palette())
        palette.setColor(self.hint.foregroundRole(), theme.bad_text if bad else theme.dim_window)
        self.hint.setPalette(palette)
        self.hint.say(sentence)
        self.accept_button.setEnabled(fine)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._is_laid_out:
            self.judge()
