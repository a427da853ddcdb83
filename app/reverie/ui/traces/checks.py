"""The checks of the Traces tab: the diagnosis at its top, the list of findings with fixes, the controller.

The widgets show the given data; `ChecksControl` runs the checks when the tab is visible and something has
changed, and applies fixes on demand. The model is tested only on request; the result of the test is shown
until another model or workspace is checked.

Threading: GUI thread; the engine runs the checks and applies the fixes, called in jobs on a lane of its own,
because a test of a model may take long. Only the window's own log level is changed here. Failure: shown in
the tab.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QProgressBar, QWidget

from reverie.doctor import first_cause
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.files.log_file import level_in_words, set_debug
from reverie.ui import dialogs
from reverie.ui.appearance import GAP, MARGIN, UNIT, theme_of
from reverie.ui.display_text import counted, said, tr, visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.metrics import icon_size
from reverie.ui.session import reconnect
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden, tint
from reverie.ui.widgets.layouts import Column, FlowLayout, column, keyed_rows, scrolled, stacked
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.pages import EmptyPage, TabPage
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.doctor.findings import FindingView
    from reverie.engine.doctor import Examination
    from reverie.llm.probe import ProbeStep
    from reverie.ui.session import HomeSession


_SIGNS = {"pass": "check", "off": "info", "warn": "warning", "fail": "error"}


class FindingRows(QWidget):
    """The list of checks, each with state, finding, evidence and a button to fix it.

    The row of a check is reused while the check is listed, so that it does not lose the focus. Evidence comes
    from disk and is shown as plain text; its lines can break at any character. Signals: `fix(str)`, request
    to apply the fix of this check; `remedy(str)`, request to open this setting.
    """

    fix = Signal(str)
    remedy = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._rows: dict[str, FindingRow] = {}
        self._held = ""  # check of the button that had the focus
        self._column = column(self, margin=0, gap=0)
        self._column.addStretch(1)

    @property
    def checks(self) -> tuple[str, ...]:
        """The listed checks from top to bottom."""
        return tuple(self._rows)

    def row(self, check: str) -> FindingRow:
        """Return the row of a check."""
        return self._rows[check]

    def show_findings(self, findings: Sequence[FindingView], *, cause: str = "", busy: bool = False) -> None:
        """Show the findings; `cause` is the name of the check to highlight.

        While `busy` the buttons are disabled.
        """
        self._hold_focus()
        wanted = [finding.check for finding in findings]
        self._rows = keyed_rows(self._column, self._rows, wanted, self._row)
        for finding in findings:
            self._rows[finding.check].say(finding, first=finding.check == cause, busy=busy)
        self._give_focus_back()

    def set_busy(self, busy: bool) -> None:
        """Disable all buttons if `busy`, otherwise enable them."""
        self._hold_focus()
        for row in self._rows.values():
            row.button.setEnabled(not busy)
        self._give_focus_back()

    def _hold_focus(self) -> None:
        """Note which check has the focused button, and move the focus to the list itself.

        Otherwise Qt would move the focus from each button that is disabled or deleted to the next one, and
        scroll to it.
        """
        focused = self.window().focusWidget()
        for check, row in self._rows.items():
            if row.button is focused:
                self._held = check
                self.setFocus()

    def _give_focus_back(self) -> None:
        row = self._rows.get(self._held)
        if row is None or self.window().focusWidget() is not self:
            return
        if row.button.isEnabled() and row.button.isVisibleTo(self):
            row.button.setFocus()

    def _row(self, check: str) -> FindingRow:
        made = FindingRow(check, self._icons)
        made.button.clicked.connect(lambda: self.fix.emit(check))
        made.setting.clicked.connect(lambda: self.remedy.emit(made.remedy))
        return made


class FindingRow(QWidget):
    """The row of one check of the Doctor."""

    def __init__(self, check: str, icons: Icons) -> None:
        super().__init__()
        self._icons = icons
        self.state = "pass"
        """The state of the check: pass, off, warn or fail."""
        self._first = False
        self.setObjectName(f"check-{check}")
        self._sign = QLabel()
        self.title = WrapLabel()
        embolden(self.title)
        self.evidence = WrapLabel()
        self.button = FitPushButton()
        self.button.hide()
        self.setting = FitPushButton()
        self.setting.hide()
        self.remedy = ""
        """The setting that the second button opens; empty for none."""
        grid = QGridLayout(self)
        grid.setContentsMargins(MARGIN, GAP, MARGIN, GAP)
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(UNIT)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._sign, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.evidence, 1, 1)
        # As wide as its text, and never wider than the row.
        grid.addLayout(FlowLayout(self.setting, self.button), 2, 1)
        self._tint()

    def say(self, finding: FindingView, *, first: bool, busy: bool) -> None:
        """Show a finding; `first` highlights the row as the likely cause, `busy` disables the fix."""
        self.state, self._first = finding.state, first
        self.title.say(said(finding.title))
        self.evidence.say(said(finding.evidence))
        self.button.setVisible(finding.fix is not None)
        self.button.setEnabled(not busy)
        self.remedy = finding.remedy
        self.setting.setVisible(bool(finding.remedy))
        self.setting.say(remedy_label(finding.remedy))
        if finding.fix is not None:
            self.button.say(visible(said(finding.fix.label)))
        for button in (self.button, self.setting):
            button.setAccessibleDescription(self.title.text())
        word = {
            "pass": self.tr("OK"),
            "off": self.tr("off"),
            "warn": self.tr("warning"),
            "fail": self.tr("problem"),
        }.get(finding.state, "")
        self._sign.setToolTip(word)
        self.setAccessibleName(f"{self.title.text()}: {word}. {self.evidence.text()}")
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "evidence"):
            self._tint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Highlight the row of the likely cause, and draw a line below each row."""
        painter = QPainter(self)
        theme = theme_of(self.palette())
        if self._first:
            painter.fillRect(self.rect(), self._back())
        painter.setPen(theme.line)
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())

    def _back(self) -> QColor:
        theme = theme_of(self.palette())
        return theme.bad_back if self.state == "fail" else theme.warn_back

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        colour = {
            "pass": theme.good_text,
            "off": theme.dim_window,
            "warn": theme.warn_text,
            "fail": theme.bad_text,
        }[self.state]
        name = _SIGNS[self.state]
        side = icon_size(self.font())
        self._sign.setPixmap(self._icons.pixmap(name, side, colour, self.devicePixelRatioF()))
        # Dim text is unreadable on the background of the likely cause.
        text = self.palette().color(QPalette.ColorRole.WindowText) if self._first else theme.dim_window
        tint(self.evidence, text)
        self.update()


def remedy_label(remedy: str) -> str:
    """Return the label of the button that opens the setting `remedy`; empty for an unknown one."""
    return {"model": tr("Choose another model…"), "key": tr("Add a key…")}.get(remedy, "")


class ChecksView(QWidget):
    """The view of all checks of one workspace; at first only the checks with a problem are shown.

    Signals: `changed()`, emitted when the findings have changed; `examine(bool)`, request to check again,
    with or without a test of the model; `fix(str)`, request to apply the fix of this check; `back()`, request
    to show the runs.
    """

    changed = Signal()
    examine = Signal(bool)
    fix = Signal(str)
    back = Signal()

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._findings: tuple[FindingView, ...] = ()
        self._busy = self._coming = False
        self.place = ""
        """The name of the checked workspace."""
        self.runs = FitPushButton(self.tr("‹ Runs"), clicked=self.back.emit)
        self.again = FitPushButton(self.tr("Check again"), clicked=lambda: self.examine.emit(False))
        self.probe = FitPushButton(
            self.tr("Test the model"),
            self.tr("Send one real request with a tool call to the model; a paid service charges for it"),
            clicked=lambda: self.examine.emit(True),
        )
        self.copy = FitPushButton(self.tr("Copy"), self.tr("Copy all checks as text"), clicked=self._on_copy)
        self.only = QCheckBox(self.tr("&Problems only"))
        self.only.setChecked(True)
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setMaximumHeight(UNIT)
        policy = self.bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.bar.setSizePolicy(policy)
        self.bar.setAccessibleName(self.tr("Checking"))
        self.message = MessageBar(icons, "checks-message", parent=self)
        """The bar for error messages; the tab shows it, because fixes are also offered outside this view."""
        self.rows = FindingRows(icons)
        self.nothing = EmptyPage(icons, "check")
        self._lay_out()
        self.only.toggled.connect(self._show)
        self.rows.fix.connect(self.fix)
        self.forget()

    def _lay_out(self) -> None:
        buttons = FlowLayout(self.runs, self.again, self.probe, self.copy, self.only)
        head = column(None, buttons, margin=(MARGIN, GAP, MARGIN, GAP))
        self._pages = stacked(scrolled(self.rows, self.tr("Checks")), self.nothing)
        column(self, head, self.bar, self._pages, grows=self._pages, margin=0, gap=0)

    @property
    def findings(self) -> tuple[FindingView, ...]:
        """All findings, in the order in which a background run tests its conditions."""
        return self._findings

    @property
    def is_coming(self) -> bool:
        """True if there are no findings yet and the checks start once the tab is shown."""
        return self._coming and not self._findings

    def forget(self, *, coming: bool = False) -> None:
        """Clear the findings; `coming` means that the checks start once the tab is shown."""
        self._findings, self._coming, self.place = (), coming, ""
        self.message.clear()
        self._show()

    def set_busy(self, busy: bool) -> None:
        """Show that checks are running or a fix is being applied, or, if `busy` is False, that none is."""
        self._busy = busy
        self.bar.setVisible(busy)
        for button in (self.again, self.probe):
            button.setEnabled(not busy)
        self.rows.set_busy(busy)

    def show_findings(self, findings: Sequence[FindingView], place: str) -> None:
        """Show all findings about the workspace named `place`, in the order given (see `findings`)."""
        self._findings, self.place = tuple(findings), place
        self._show()

    @Slot()
    def _show(self) -> None:
        first = first_cause(self._findings)
        shown = [
            one for one in self._findings if one.state not in ("pass", "off") or not self.only.isChecked()
        ]
        self.rows.show_findings(shown, cause=first.check if first is not None else "", busy=self._busy)
        if self._findings:
            count = len(self._findings)
            self.nothing.say(self.tr("No problems"), counted(self.tr("1 check"), "%n checks", count))
        elif self._coming:
            self.nothing.say(self.tr("Checking…"), "")
        else:
            self.nothing.say(self.tr("Nothing is selected"), self.tr("Select a workspace on the left."))
        self._pages.setCurrentIndex(0 if shown else 1)
        self.copy.setEnabled(bool(self._findings))
        self.changed.emit()

    @Slot()
    def _on_copy(self) -> None:
        lines = [
            f"{finding.state}: {visible(said(finding.title))}: {visible(said(finding.evidence))}"
            for finding in self._findings
        ]
        QGuiApplication.clipboard().setText("\n".join(lines))


SETTLE_MS = 500
_PROBED = ("model-reachable", "tool-calling")
_OWN_LOG = "log-level"
"""The name of the check of the window's log level, of which the fix is applied in this process."""


class _Examined(Struct, frozen=True):
    context: ScopeContext
    examination: Examination
    probed: bool
    error: UserError | None = None


class ChecksControl(QObject):
    """The controller of the checks.

    Signals: `fixed()`, emitted after a fix, which may have changed settings; `debug_switched()`, emitted
    after debug logging was turned on.
    """

    fixed = Signal()
    debug_switched = Signal()

    def __init__(self, page: TabPage, view: ChecksView) -> None:
        """Connect the view; the checks are updated while `page`, the tab with the view, is visible."""
        super().__init__(view)
        self.view = view
        self._page = page
        self._lane = Lane("doctor", self)
        self._session: HomeSession | None = None
        self._context: ScopeContext | None = None
        self._probed: tuple[FindingView, ...] = ()
        self._probe: tuple[ProbeStep, ...] | None = None
        self._stale = True
        self._loud = False  # a person requested the job in progress
        # Why the last fix was not applied; it stays until the user asks for something else.
        self._refused: UserError | None = None
        self._settle = single_shot(self, SETTLE_MS, self._look_quietly)
        page.shown.connect(self._on_shown)
        view.examine.connect(self.examine)
        view.fix.connect(self.apply_fix)
        view.set_busy(False)

    @property
    def busy(self) -> bool:
        """True if checks are running or a fix is being applied."""
        return self._lane.busy

    def set_session(self, session: HomeSession | None) -> None:
        """Check the workspaces of another home; None if no home is open."""
        reconnect(
            self._session,
            session,
            lambda home: (home.status_changed, home.activity_changed, home.tree_changed),
            self.recheck,
        )
        self._session = session
        self.recheck()

    def stop(self) -> None:
        """Stop timer and lane. Called when the window closes."""
        self._settle.stop()
        self._lane.stop()

    @Slot()
    def recheck(self) -> None:
        """Check again because something has changed.

        The checks start once there is a pause in the changes and the tab is visible.
        """
        self._stale = True
        context = self._session.context if self._session is not None else None
        if context != self._context:
            self._context, self._probed, self._probe, self._refused = context, (), None, None
            self._lane.abandon("examine")
            self.view.forget(coming=self._can_examine)
        if self._page.isVisible():
            self._settle.start()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self._look_quietly()

    @Slot()
    def _look_quietly(self) -> None:
        """Run the checks without showing progress; if a job is running, run them later. Returns at once."""
        if self.busy:
            self._settle.start()
        else:
            self._examine(with_probe=False)

    @Slot(bool)
    def examine(self, with_probe: bool) -> None:
        """Run the checks because the user asked for them; `with_probe` also tests the model."""
        self._refused = None
        self._examine(with_probe=with_probe)

    def _examine(self, *, with_probe: bool) -> None:
        """Run the checks of the workspace that is shown, or of the home if its agent has no workspaces."""
        session, context = self._session, self._context
        if session is None or context is None or not self._can_examine:
            self._stale = False
            self.view.forget()
            return
        self._stale = False
        self._submit(session, context, with_probe=with_probe, check="")

    @Slot(str)
    def apply_fix(self, check: str) -> None:
        """Apply the fix of a check, then check again.

        If the fix has `evidence` (the sign that the store has an unknown layout), the user must agree first.
        """
        session, context = self._session, self._context
        fix = next((one.fix for one in self.view.findings if one.check == check), None)
        if fix is not None and fix.evidence and not dialogs.ask_write_anyway(self.view, fix.evidence):
            return
        if session is not None and context is not None and not self._loud:
            self._refused = None
            self._submit(session, context, with_probe=False, check=check)

    def _submit(self, session: HomeSession, context: ScopeContext, *, with_probe: bool, check: str) -> None:
        """Apply the fix of `check`, if any, and run the checks in a job."""
        doctor, probe, switched = session.workbench.doctor, self._probe, self.debug_switched.emit
        shown = next((one for one in self.view.findings if one.check == check and one.fix is not None), None)

        async def work(control: JobControl) -> _Examined:
            error = None
            if shown is not None:
                try:
                    if check == _OWN_LOG:
                        set_debug(True)
                        switched()
                    else:
                        await ask(
                            doctor.fix, context, shown, log_level=level_in_words(os.environ), probe=probe
                        )
                except UserError as failure:
                    error = failure
            control.check()
            level = level_in_words(os.environ)
            found = await ask(doctor.examine, context, log_level=level, with_probe=with_probe)
            return _Examined(context, found, with_probe, error)

        done = self._on_fixed if shown is not None else self._on_examined
        self._lane.submit(
            "examine",
            work,
            done=done,
            failed=self._on_failed,
            cancelled=lambda: self._set_loud(False),
            group="" if shown is not None else "examine",
        )
        self._set_loud(with_probe or shown is not None)

    def _set_loud(self, loud: bool) -> None:
        """Show that a job that the user requested is running, or, if `loud` is False, that none is."""
        self._loud = loud
        self.view.set_busy(loud)

    def _on_examined(self, found: _Examined) -> None:
        self._set_loud(False)
        if found.context != self._context:
            return
        self._refused = found.error or self._refused
        if self._refused is None:
            self.view.message.clear()
        else:
            self.view.message.say_error(self._refused)
        self.view.show_findings(self._with_probed(found), self._place)

    def _on_fixed(self, found: _Examined) -> None:
        self._on_examined(found)
        self.fixed.emit()

    def _on_failed(self, error: UserError) -> None:
        self._stale = True
        self._set_loud(False)
        self.view.message.say_error(error)

    def _with_probed(self, found: _Examined) -> tuple[FindingView, ...]:
        """Return the findings with the results of the last model test, if it tested the same model."""
        findings = found.examination.findings
        model = next((one.evidence for one in findings if one.check == "model"), "")
        if found.probed:
            self._probed, self._probe = findings, found.examination.probe
        elif model != next((one.evidence for one in self._probed if one.check == "model"), ""):
            self._probed, self._probe = (), None
        kept = {one.check: one for one in self._probed if one.check in _PROBED}
        return tuple(kept.get(one.check, one) for one in findings)

    @property
    def _can_examine(self) -> bool:
        """True if a workspace is shown, or a home of an agent without workspaces."""
        session, context = self._session, self._context
        if session is None or context is None:
            return False
        return context.workspace_id is not None or not session.info.contents.workspaces()

    @property
    def _place(self) -> str:
        session, context = self._session, self._context
        if session is None or context is None:
            return ""
        if context.workspace_id is None:
            return visible(session.info.label)
        for workspace in session.info.contents.workspaces():
            if workspace.id == context.workspace_id:
                return visible(workspace.label)
        return visible(context.workspace_id)


AGENT = "agent-writer"
"""The name of the check about the memory writer that the agent itself has."""
_MOST_OTHERS = 2

Remedy = tuple[str, str]
"""An action (`fix CHECK`, `model`, `key`, `replay`) and the label of its button."""


class Answer(Struct, frozen=True):
    """The diagnosis at the top of the tab: why nothing was written, as texts and buttons.

    It is derived from the checks, so that it never contradicts them. `cause`: the evidence for the title.
    `remedies`: the buttons. Empty texts are hidden.
    """

    title: str
    cause: str = ""
    remedies: tuple[Remedy, ...] = ()
    own: str = ""
    """A text about Reverie's own memory writer, if the title is about the agent's; else empty."""
    own_remedies: tuple[Remedy, ...] = ()


def answer_of(findings: Sequence[FindingView], place: str, *, can_replay: bool = False) -> Answer:
    """Return the diagnosis for the workspace named `place`, made from the findings of the checks.

    `can_replay`: True to offer a replay of the agent's last run.
    """
    agent = next((one for one in findings if one.check == AGENT and one.state != "pass"), None)
    rest = [one for one in findings if one.check != AGENT]
    first = agent or first_cause(rest)
    own, own_remedies = _own([one for one in rest if one is not first])
    if first is None:
        title = tr("{place}: no problems").format(place=place)
        cause = counted("The check found no problems.", "%n checks found no problems.", len(findings))
        return Answer(title, cause, (), own, own_remedies)
    replay = (("replay", tr("Replay…")),) if first is agent and can_replay else ()
    title = tr("{place}: {fact}").format(place=place, fact=said(first.title))
    return Answer(title, said(first.evidence), (*_remedies(first), *replay), own, own_remedies)


def _own(findings: Sequence[FindingView]) -> tuple[str, tuple[Remedy, ...]]:
    """Return a text about Reverie's own writer and other problems, and buttons for the first problem."""
    of = {one.check: one for one in findings}
    writer = of.get("feature")
    if writer is not None and writer.state == "pass":
        writer = of.get("state-file")  # it is on, so its results are more informative
    others = [one for one in findings if one.state in ("fail", "warn") and one is not writer]
    others.sort(key=lambda one: one.state != "fail")
    shown = ([writer] if writer is not None else []) + others
    facts = " · ".join(said(one.title) for one in shown[:_MOST_OTHERS])
    if not facts:
        return "", ()
    first = shown[0]
    return tr("Reverie itself: {facts}").format(facts=facts), () if first.state == "pass" else _remedies(
        first
    )


def _remedies(finding: FindingView) -> tuple[Remedy, ...]:
    setting = ((finding.remedy, remedy_label(finding.remedy)),) if finding.remedy else ()
    fix = ((f"fix {finding.check}", said(finding.fix.label)),) if finding.fix is not None else ()
    return (*setting, *fix)


class AnswerView(Column):
    """The view of the diagnosis.

    Signal: `asked(str)`, emitted with the action of a `Remedy`, or with `checks` or `log` to show that view.
    """

    asked = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = WrapLabel()
        self.title.setContentsMargins(GAP, 0, GAP, 0)
        embolden(self.title, 1.15)
        self.cause = MessageBar(icons, "answer", closable=False)
        self.own = MessageBar(icons, "answer-own", closable=False)
        for bar in (self.cause, self.own):
            bar.chosen.connect(self.asked)
        column(self, self.title, self.cause, self.own, margin=(UNIT, GAP, UNIT, UNIT), gap=0)

    def button(self, key: str) -> FitPushButton:
        """Return the button of an action."""
        return (self.cause if key in self.cause.keys else self.own).button(key)

    def show_answer(self, answer: Answer, checks: int, *, busy: bool = False) -> None:
        """Show the diagnosis, based on this number of `checks`; while `busy` its buttons are disabled."""
        self.title.say(answer.title)
        views = [("checks", counted(self.tr("1 check ›"), "%n checks ›", checks))] if checks else []
        views.append(("log", self.tr("Log")))
        for bar, text, buttons in (
            (self.cause, answer.cause, answer.remedies),
            (self.own, answer.own, (*answer.own_remedies, *views)),
        ):
            bar.say(text, tone="plain", buttons=[(key, visible(label), "") for key, label in buttons])
            bar.setVisible(bool(text or buttons))
        for key, _label in (*answer.remedies, *answer.own_remedies):
            self.button(key).setEnabled(not busy)
