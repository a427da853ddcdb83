"""What a stranger is told at the first start: which homes were found, what Reverie reads and never reads,
that nothing runs by itself yet, where texts go when a model works, the demo home, and where settings lie.

Shown by itself once a profile, when the first window of it shows something; later from the Help menu. It
blocks nothing: the window behind it can be used. Homes that open while it is shown are added.

Threading: GUI thread; the settings are read in a job. Failure: settings that cannot be read count as their
defaults here, and are told where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from reverie.profile import Profile
from reverie.ui.appearance import GAP
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, scrolled
from reverie.ui.window.homes import OpenHomes

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class RunPreferences:
    """What the settings say of runs: ids of homes where they happen by themselves, and the model asked for
    (`auto` and `rules` are none)."""

    background: tuple[str, ...] = ()
    engine: str = "auto"


class Welcome(QDialog):
    """`actions`: what can be done from here, as buttons; they close it."""

    def __init__(
        self,
        homes: OpenHomes,
        profile: Profile,
        lane: Lane,
        actions: Sequence[QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._homes, self._profile, self._lane = homes, profile, lane
        self._preferences = RunPreferences()
        self.setWindowTitle(self.tr("Welcome to Reverie"))
        self._bodies: dict[str, WrapLabel] = {}
        inside = QWidget()
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GAP // 2)
        self._add("homes", self.tr("Homes found"))
        self._add("reads", self.tr("What Reverie reads"))
        self._add("never", self.tr("What it never reads"))
        self._add("runs", self.tr("What runs by itself"))
        self._add("sent", self.tr("Where texts go"))
        self._add("places", self.tr("Where settings lie"))
        self._column.addStretch(1)
        self._lay_out(inside, actions)
        self._tell()
        homes.listed.connect(self._tell)
        homes.none_found.connect(self._tell)

    def read_settings(self) -> None:
        """Read what the settings say by now; it is told when it is known."""
        file = self._profile.settings_file

        def work(_control: JobControl) -> RunPreferences:
            return read_run_preferences(file)

        self._lane.submit("what the settings say of runs", work, done=self._on_preferences, group="welcome")

    def _lay_out(self, inside: QWidget, actions: Sequence[QAction]) -> None:
        area = scrolled(inside, self.windowTitle())
        row = FlowLayout(gap=GAP, rightwards=True)
        for action in actions:
            button = FitPushButton(action.text())
            button.setToolTip(action.toolTip())
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
        """Everything it says."""
        return "\n".join(body.text() for body in self._bodies.values())

    @Slot(object)
    def _on_preferences(self, wishes: RunPreferences) -> None:
        self._preferences = wishes
        self._tell()

    @Slot()
    def _tell(self) -> None:
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
            for session in self._homes.sessions
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
