"""Dialogs of the window: questions, the shortcut sheet, consent to send memories, and the welcome.

Each question is a function, or `ask` of a class, that shows a dialog and returns the answer. The welcome is
shown once per profile, when its first window shows something, and from the Help menu; it is not modal, and
homes that open meanwhile are added.

Threading: GUI thread; questions block in an event loop of their own, the settings for the welcome are read
in a job. Failure: settings that cannot be read count as their defaults in the welcome; the settings dialog
reports them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QCoreApplication, QDir, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QListWidget,
    QMessageBox,
    QWidget,
)

from reverie.profile import Profile
from reverie.ui.appearance import GAP, MARGIN, CalmSelection
from reverie.ui.changes.review import review_shortcuts
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.translation import counted, tr
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.frames import message_box
from reverie.ui.widgets.layouts import FlowLayout, column, scrolled

if TYPE_CHECKING:
    from reverie.services.views import ConsentView
    from reverie.ui.session import HomeSession


UnsavedAnswer = Literal["save", "discard", "cancel"]
_MOST_NAMES = 8


def ask_home(parent: QWidget) -> Path | None:
    """The chosen directory, or None."""
    title = QCoreApplication.translate("dialogs", "Open the home of an agent")
    options = QFileDialog.Option.ShowDirsOnly | QFileDialog.Option.DontUseNativeDialog
    dialog = QFileDialog(parent, title, str(Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(options & QFileDialog.Option.ShowDirsOnly, True)
    # Agents' homes begin with a dot.
    dialog.setFilter(QDir.Filter.AllDirs | QDir.Filter.Hidden | QDir.Filter.NoDotAndDotDot)
    if dialog.exec() != QDialog.DialogCode.Accepted or not dialog.selectedFiles():
        return None
    return Path(dialog.selectedFiles()[0])


def ask_unsaved(parent: QWidget, names: Sequence[str]) -> UnsavedAnswer:
    """What to do with unsaved text when the window closes."""
    shown = [visible(name) for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append("…")
    question = tr("Save your changes before closing?")
    box = message_box(parent, QMessageBox.Icon.Warning, tr("Unsaved changes"), question, "\n".join(shown))
    buttons = QMessageBox.StandardButton
    box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
    box.setDefaultButton(buttons.Save)
    answers: dict[int, UnsavedAnswer] = {buttons.Save: "save", buttons.Discard: "discard"}
    return answers.get(box.exec(), "cancel")


def ask_adoption(parent: QWidget | None, root: Path, before: Path) -> bool:
    """Whether the home at `root` is the one that stood at `before`, so that its history and runs follow."""
    moved = tr("{before} is gone, and {root} may be the same home.")
    box = message_box(
        parent,
        QMessageBox.Icon.Question,
        tr("A home was moved"),
        moved.format(before=visible(str(before)), root=visible(str(root))),
        tr("Take over its history and runs? Say no if it is another home, or a copy."),
    )
    take = box.addButton(tr("&Take over"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("&No"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(take)
    box.exec()
    return box.clickedButton() is take


def ask_write_anyway(parent: QWidget | None, evidence: str) -> bool:
    """Whether to write into memories whose layout or version Reverie does not know."""
    risk = tr(
        "Writing may damage these memories or switch them off for the agent. Reverie asks again when the "
        "layout or version changes.",
    )
    title = tr("Write into an unknown layout?")
    box = message_box(parent, QMessageBox.Icon.Warning, title, visible(evidence), risk)
    write = box.addButton(tr("&Write anyway"), QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.exec()
    return box.clickedButton() is write


class ShortcutSheet(QDialog):
    """Every key of the window, by menu, from the registry; then those of a review."""

    def __init__(
        self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        inside = QWidget()
        grid = QGridLayout(inside)
        grid.setHorizontalSpacing(MARGIN * 2)
        grid.setVerticalSpacing(GAP // 2)
        grid.setColumnStretch(0, 1)
        line = 0
        for title, rows in (*groups, review_shortcuts()):
            if not rows:
                continue
            head = QLabel(title)
            embolden(head)
            head.setContentsMargins(0, GAP if line else 0, 0, 0)
            grid.addWidget(head, line, 0, 1, 2)
            line += 1
            for what, keys in rows:
                grid.addWidget(QLabel(what), line, 0)
                grid.addWidget(QLabel(keys), line, 1, Qt.AlignmentFlag.AlignRight)
                line += 1
        grid.setRowStretch(line, 1)
        area = scrolled(inside, self.tr("Keyboard shortcuts"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column(self, area, buttons, grows=area, gap=None)
        self.resize(440, min(620, inside.sizeHint().height() + 90))


class ConsentDialog(QDialog):
    """Asks before memories leave this machine for the first time: which files, and where to. Cancel is the
    default."""

    def __init__(self, consent: ConsentView, engine: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Send memories to a model?"))
        self.resize(520, 420)
        what = counted(self.tr("1 file"), "%n files", len(consent.files))
        self.title = WrapLabel(
            self.tr("{files} of this home would be sent to {destination}.").format(
                files=what, destination=visible(consent.destination)
            )
        )
        embolden(self.title)
        self.facts = WrapLabel(self._facts(consent, engine))
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Files that would leave this machine"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setUniformItemSizes(True)
        self.list.addItems([visible(file) for file in consent.files])
        CalmSelection(self.list)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.send = self.buttons.addButton(self.tr("&Send"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.cancel = self.buttons.button(QDialogButtonBox.StandardButton.Cancel)
        self.send.setAutoDefault(False)
        self.cancel.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.facts, self.list, self.buttons, grows=self.list)
        self.cancel.setFocus()

    def _facts(self, consent: ConsentView, engine: str) -> str:
        facts = [self.tr("The model {engine} may read all of them.").format(engine=visible(engine))]
        if consent.secrets_hidden:
            hidden = counted(
                self.tr("1 value in them looks like a secret to Reverie: a placeholder is sent instead."),
                "%n values in them look like secrets to Reverie: placeholders are sent instead.",
                consent.secrets_hidden,
            )
            facts.append(hidden)
        else:
            facts.append(self.tr("Nothing in them looks like a secret to Reverie."))
        facts.append(self.tr("Reverie cannot know every secret: read the files first if they may hold some."))
        if consent.stays:
            stays = counted(
                self.tr("1 file stays here, because it is too large or no text."),
                "%n files stay here, because they are too large or no text.",
                len(consent.stays),
            )
            facts.append(stays)
        facts.append(self.tr("You are asked once for this home and destination."))
        return " ".join(facts)

    @classmethod
    def ask(cls, parent: QWidget, consent: ConsentView, engine: str) -> bool:
        """Whether they may be sent."""
        dialog = cls(consent, engine, parent)
        try:
            return dialog.exec() == QDialog.DialogCode.Accepted
        finally:
            dialog.deleteLater()


@dataclass(frozen=True, slots=True)
class RunPreferences:
    """What the settings say about runs."""

    background: tuple[str, ...] = ()
    """The ids of the homes with background runs."""
    engine: str = "auto"
    """`auto`, `rules` or a model."""


class Welcome(QDialog):
    """`actions`: what can be done from here, as buttons; they close it."""

    def __init__(
        self,
        sessions: Callable[[], Sequence[HomeSession]],
        profile: Profile,
        lane: Lane,
        actions: Sequence[QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._sessions, self._profile, self._lane = sessions, profile, lane
        self._preferences = RunPreferences()
        self.setWindowTitle(self.tr("Welcome to Reverie"))
        self._bodies: dict[str, WrapLabel] = {}
        inside = QWidget()
        self._column = column(inside, margin=0, gap=GAP // 2)
        self._add("homes", self.tr("Homes found"))
        self._add("reads", self.tr("What Reverie reads"))
        self._add("never", self.tr("What it never reads"))
        self._add("runs", self.tr("What runs by itself"))
        self._add("sent", self.tr("Where texts go"))
        self._add("places", self.tr("Where settings lie"))
        self._column.addStretch(1)
        self._lay_out(inside, actions)
        self.update_text()

    def read_settings(self) -> None:
        """Read the settings again, and show them once they are read."""
        file = self._profile.settings_file

        def work(_control: JobControl) -> RunPreferences:
            return read_run_preferences(file)

        self._lane.submit("what the settings say of runs", work, done=self._on_preferences, group="welcome")

    def _lay_out(self, inside: QWidget, actions: Sequence[QAction]) -> None:
        area = scrolled(inside, self.windowTitle())
        row = FlowLayout(rightwards=True)
        for action in actions:
            button = FitPushButton(action.text(), action.toolTip())
            button.setEnabled(action.isEnabled())
            button.setAutoDefault(False)
            button.clicked.connect(self.close)
            button.clicked.connect(action.trigger)
            row.addWidget(button)
        self.close_button = FitPushButton(self.tr("&Close"))
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.close)
        row.addWidget(self.close_button)
        column(self, area, row, grows=area)
        self.resize(560, 440)
        self.close_button.setFocus()

    def _add(self, key: str, title: str) -> None:
        head, body = WrapLabel(), WrapLabel()
        embolden(head)
        head.say(title)
        if self._bodies:
            head.setContentsMargins(0, GAP, 0, 0)
        self._column.addWidget(head)
        self._column.addWidget(body)
        body.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._bodies[key] = body

    @property
    def text(self) -> str:
        """The whole text of the dialog."""
        return "\n".join(body.text() for body in self._bodies.values())

    @Slot(object)
    def _on_preferences(self, preferences: RunPreferences) -> None:
        self._preferences = preferences
        self.update_text()

    @Slot()
    def update_text(self) -> None:
        """Show the homes that are open by now, and the settings as they were read last."""
        say = self._bodies
        say["homes"].say(self._of_homes())
        say["reads"].say(
            self.tr(
                "The memories of these homes and the files beside them: pins and uses, records of past runs, "
                "instruction files. Transcripts and traces are opened when a view or a run needs them. "
                "Looking changes nothing."
            )
        )
        say["never"].say(
            self.tr(
                "An agent's credentials: files with keys, tokens or logins are never opened. Keys for models "
                "come from the environment or the keyring of the system."
            )
        )
        say["runs"].say(self._of_runs())
        say["sent"].say(self._of_models())
        say["places"].say(
            self.tr("Settings: {settings}. History, runs and drafts: {data} and {state}.").format(
                settings=_short(self._profile.settings_file),
                data=_short(self._profile.data),
                state=_short(self._profile.state),
            )
        )

    def _of_homes(self) -> str:
        found = [
            self.tr("{kind}: {root}").format(kind=session.info.kind, root=_short(session.info.root))
            for session in self._sessions()
        ]
        demo = self.tr("To try things out, open the demo home: a throw-away copy that ends with the window.")
        if not found:
            return self.tr("None so far. Open one by its folder.") + " " + demo
        return "; ".join(found) + ". " + demo

    def _of_runs(self) -> str:
        if not self._preferences.background:
            return self.tr(
                "Nothing: background runs are off in every home until you switch them on in the settings. "
                "Whatever a run changes is in the history before and after, and can be undone."
            )
        return self.tr(
            "Background runs are on in {count} of the homes known, by the settings. Whatever a run changes "
            "is in the history before and after, and can be undone."
        ).format(count=len(self._preferences.background))

    def _of_models(self) -> str:
        rules = self.tr(
            "Runs by rules use no model. A run with a model sends memories, and what else it reads, to the "
            "provider of that model: which files and to whom is shown, and asked, before the first time."
        )
        provider = self._preferences.engine.partition(":")[0] if ":" in self._preferences.engine else ""
        if not provider:
            return rules
        return (
            rules
            + " "
            + self.tr("Your settings name {engine}: memories go to {provider}.").format(
                engine=visible(self._preferences.engine), provider=visible(provider)
            )
        )


def read_run_preferences(file: Path) -> RunPreferences:
    """What the settings in `file` say of runs. Blocks."""
    from reverie.settings import load_settings

    settings, _problems = load_settings(file)
    on = tuple(home for home, each in settings.background.root.items() if each.enabled)
    return RunPreferences(on, settings.dream.engine)


def _short(path: Path) -> str:
    home = str(Path.home())
    text = str(path)
    return visible("~" + text.removeprefix(home) if text.startswith(home + "/") else text)


_MODEL = re.compile(r"[^\s:]+:\S+")


def is_model_name(name: str) -> bool:
    """Whether `name` can be `provider:model`."""
    return _MODEL.fullmatch(name) is not None


class ModelDialog(QDialog):
    """`known` are offered, the first is written already."""

    def __init__(self, known: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Run with a model"))
        self.setMinimumWidth(360)
        self.name = QComboBox()
        self.name.setEditable(True)
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.name.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.name.setAccessibleName(self.tr("Model, as provider:model"))
        self.name.addItems(list(known))
        self.hint = WrapLabel(
            self.tr("Write it as provider:model, such as ollama:qwen3:8b. Settings can test one.")
        )
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Cancel)
        self.run = self.buttons.addButton(self.tr("&Run"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.button(kinds.Cancel).setAutoDefault(False)
        self.run.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        outer = column(self, self.name, self.hint)
        outer.addStretch(1)
        outer.addWidget(self.buttons)
        self.name.editTextChanged.connect(self._validate)
        self._validate()

    @property
    def model(self) -> str:
        return self.name.currentText().strip()

    @Slot()
    def _validate(self) -> None:
        self.run.setEnabled(is_model_name(self.model))

    @classmethod
    def ask(cls, parent: QWidget, known: Sequence[str]) -> str | None:
        """A model string, or None."""
        dialog = cls(known, parent)
        try:
            return dialog.model if dialog.exec() == QDialog.DialogCode.Accepted else None
        finally:
            dialog.deleteLater()
