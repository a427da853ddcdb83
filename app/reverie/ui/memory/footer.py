"""The footer below the trees: one line with the status of each scope and the Consolidate button.

The status says when a scope was consolidated last; the details, such as the result and the cost, are shown on
hover, focus and click. It comes only from a `StatusView`, never from the button or the result of a run,
because all content reaches the views through the watcher (design.md principle 1). A timer updates the
relative times. During a run its progress takes the place of the line; the result is a bar that the tab lays
over the trees, so that nothing moves. Below the line are the jobs of the agent, and problems.

The footer fits any width from 320 px: without room for one line, each scope has a line beside the button.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from reverie.agents.base import loaded_next_from
from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.ui import display_text
from reverie.ui.appearance import GAP, MARGIN, SIGN_CONTRAST, UNIT, readable, tabular, theme_of
from reverie.ui.display_text import (
    amount,
    as_tooltip,
    changes,
    counted,
    loaded_next_words,
    money,
    scope_name,
    tokens,
    tr,
    trigger,
    visible,
    when,
)
from reverie.ui.icons import SIZE, Icons
from reverie.ui.jobs import repeating, single_shot
from reverie.ui.run_labels import kind_title, summary_words
from reverie.ui.widgets.controls import (
    ElidedLabel,
    FitFlatButton,
    FitPushButton,
    FitToolButton,
    WrapLabel,
    tint,
)
from reverie.ui.widgets.layouts import FlowLayout, column, row_of
from reverie.ui.widgets.messages import MessageBar, Toast, Tone
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.capabilities import StatusLine
    from reverie.runs.record import Progress, RunRecord, RunResult
    from reverie.services.models import ModelChoice
    from reverie.services.views import CoverageRow, HarvestRow, Spent, StatusView


def can_revert(run: RunRecord) -> bool:
    """Return True if the run can be undone, because some of its changes may be on disk."""
    return run.outcome in ("completed", "interrupted") and not run.reverted and not run.dry_run


def conflict_words(result: RunResult) -> str:
    """Return the result of undoing a run as text, with the paths left unchanged because of later edits."""
    changed = [path for path in result.conflicts if path not in result.details.get("refused", ())]
    if not changed:
        return summary_words(result.summary)
    paths = ", ".join(map(visible, changed))
    if len(changed) == 1:
        text = tr("{summary} This file was left unchanged, because it was edited after the run: {paths}")
    else:
        text = tr(
            "{summary} These files were left unchanged, because they were edited after the run: {paths}"
        )
    return text.format(summary=summary_words(result.summary), paths=paths)


def kind_words(run: RunRecord) -> str:
    """Return the name to show for the kind of a run; `Preview` for a dry run."""
    return tr("Preview") if run.dry_run else kind_title(run.kind)


def applied_words(run: RunResult) -> str:
    """Return a text about the result of applying a review."""
    if run.outcome == "completed":
        done = [op for op in run.ops if op.get("applied")]
        files = {str(op.get("newPath") or op.get("path")) for op in done}
        said = tr("Applied {changes} in {files}.").format(
            changes=changes(len(done)), files=counted(tr("1 file"), "%n files", len(files))
        )
        loaded = loaded_next_words(loaded_next_from(run.details.get("loadedNext")))
        return " ".join(part for part in (said, *loaded, visible(run.next_step)) if part)
    outcome = display_text.outcome(run.outcome)
    parts = (outcome[:1].upper() + outcome[1:], summary_words(run.summary), visible(run.next_step))
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def state_words(run: RunRecord) -> str:
    """Return the outcome of a run as text; if the run was undone, wholly or in part, a text that says so."""
    if run.reverted:
        return tr("undone")
    return tr("partly undone") if run.partly_undone else display_text.outcome(run.outcome)


def headline(run: RunRecord) -> str:
    """Return the kind, time, engine and state of a run in one line."""
    return f"{kind_words(run)}, {when(run.started_at)}, {display_text.engine(run.engine)}: {state_words(run)}"


def cost_words(run: RunRecord) -> str:
    """Return the tokens and cost of a run as text; empty for a run without a model."""
    return usage_words(run.usage, run.cost_usd)


def usage_words(usage: Mapping[str, Any] | None, cost_usd: float | None) -> str:
    """Return tokens and cost as text, such as `12.3k tokens, $0.04.`; empty if no tokens were used."""
    count = used_tokens(usage)
    if not count:
        return ""
    return tr("{tokens}, {cost}.").format(tokens=tokens(count), cost=money(cost_usd))


def used_tokens(usage: Mapping[str, Any] | None) -> int:
    """Return the sum of input and output tokens of a usage record; 0 if unknown."""
    if not usage:
        return 0
    found = [usage.get(key) for key in ("inputTokens", "outputTokens")]
    return sum(int(count) for count in found if isinstance(count, int | float))


RESULT_STAYS_MS = 20_000
"""The time in milliseconds for which the result of a run is shown; its changes stay in the Changes tab."""

_TONES: dict[str, Tone] = {
    "completed": "info",
    "unchanged": "info",
    "held": "warn",
    "cancelled": "warn",
    "skipped": "warn",
    "interrupted": "warn",
}


class RunPanel(QWidget):
    """The progress of a run in one line, and the bars with the results of runs, which the tab places.

    It only displays, and emits requests as signals.
    """

    cancel = Signal()
    """Emitted when the user cancels the running job."""
    review = Signal(str)
    """Emitted with the id of a run whose changes the user wants to see."""
    revert = Signal(str)
    """Emitted with the id of a run that the user wants to undo."""
    apply = Signal(str)
    """Emitted with the id of a preview that the user wants to apply as a whole."""

    turned = Signal()
    """Emitted when a run, of this window or of another process, has begun or ended."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.running = False
        """True while a run of this window is shown."""
        self.elsewhere = ""
        """A sentence about the run of another process; empty if there is none."""
        self.run_id = ""
        """The id of the last run whose result was shown."""
        self._interrupted_id = ""
        self._put_away: set[str] = set()
        self._step = ElidedLabel()
        self._bar = QProgressBar()
        self._bar.setMaximumWidth(120)
        self._bar.setTextVisible(False)
        self._bar.setMaximumHeight(6)
        self._bar.setAccessibleName(self.tr("Progress of the consolidation"))
        # The rules engine reports faster than anyone can read, and each value repaints the bar at once.
        self._latest: Progress | None = None
        self._soon = single_shot(self, 0, self._show_progress)
        self.cancel_button = FitPushButton(self.tr("Cancel"), clicked=self._on_cancel)
        self.result = Toast(icons, "result", RESULT_STAYS_MS)
        self.result.setParent(self)
        self.result.chosen.connect(self._on_result)
        self.interrupted = MessageBar(icons, "interrupted", parent=self)
        self.interrupted.chosen.connect(self._on_interrupted)
        self.interrupted.dismissed.connect(self._on_interrupted_dismissed)
        row_of(self._step, self._bar, holder=self, grows=self._step, margin=(GAP, 0, 0, 0))

    @property
    def to_press(self) -> tuple[QWidget, ...]:
        """The visible buttons, in the order of the Tab key."""
        if self.running:
            return (self.cancel_button,) if self.cancel_button.isEnabled() else ()
        return tuple(self.result.button(key) for key in self.result.keys)

    # While it runs

    def start(self, sentence: str, *, cancellable: bool = True) -> None:
        """Show that a job has started; `sentence` describes it."""
        self._soon.stop()
        self.result.clear()
        self._step.say(sentence)
        self._bar.setRange(0, 0)
        self.cancel_button.setEnabled(cancellable)
        self.cancel_button.say(self.tr("Cancel"), self.tr("Stop before the next change"))
        self._turn(True, self.elsewhere)

    def progress(self, progress: Progress) -> None:
        """Show the progress of the job; several reports in one turn of the event loop are shown at once."""
        self._latest = progress
        if not self._soon.isActive():
            self._soon.start()

    @Slot()
    def _show_progress(self) -> None:
        progress = self._latest
        if progress is None:
            return
        if progress.total > 0:
            self._bar.setRange(0, progress.total)
            self._bar.setValue(min(progress.done, progress.total))
        self._step.say(step_words(progress.step))

    def _on_cancel(self) -> None:
        self.cancel_button.setEnabled(False)
        self.cancel_button.say(self.tr("Cancelling…"))
        self.cancel.emit()

    def show_elsewhere(self, sentence: str) -> None:
        """Show that another process runs a consolidation; "" if none does."""
        self._turn(self.running, sentence)

    def _turn(self, running: bool, elsewhere: str) -> None:
        """Set what runs; a run of this window is shown before that of another process."""
        before = self.running, self.elsewhere
        self.running, self.elsewhere = running, elsewhere
        if elsewhere and not running:
            self._soon.stop()
            self._step.say(elsewhere)
            self._bar.setRange(0, 0)
        if before != (running, elsewhere):
            self.turned.emit()

    # Results

    def ended(self, run: RunResult, *, dry_run: bool, place: str = "") -> None:
        """Show the result of a run.

        `place` is the title of the run's workspace, project or home if another one is shown now, else "".
        """
        self._turn(False, self.elsewhere)
        self.run_id = run.run_id
        said = (_result_words(run, dry_run=dry_run), _used_words(run), run.next_step)
        text = " ".join(part for part in said if part)
        if place:
            text = f"{place}: {text}"
        tone = _TONES.get(run.outcome, "bad")
        self.result.say(text, tone=tone, buttons=self._buttons(run, dry_run=dry_run))

    def _buttons(self, run: RunResult, *, dry_run: bool) -> list[tuple[str, str, str]]:
        """Return the buttons for the result of a run, as (key, text, tool tip)."""
        review = ("review", self.tr("Review changes"), self.tr("Show the changes of this run, file by file"))
        if dry_run and run.ops:
            return [
                ("review", self.tr("Review plan"), self.tr("Show the planned changes, file by file")),
                ("apply", self.tr("Apply all"), self.tr("Apply all planned changes; you can undo them")),
            ]
        if run.outcome == "completed":
            return [review, ("revert", self.tr("Undo"), self.tr("Undo every change of this run"))]
        return [review] if run.outcome == "held" else []

    def reverted(self, result: RunResult) -> None:
        """Show the result of undoing a run, with the paths of conflicts."""
        self._turn(False, self.elsewhere)
        self.run_id = result.run_id
        undo = ("revert", self.tr("Undo"), self.tr("Redo the changes that were undone"))
        buttons = [undo] if result.applied else []
        if not result.conflicts:
            self.result.say(summary_words(result.summary), buttons=buttons)
            return
        self.result.say(conflict_words(result), tone="warn", buttons=buttons)

    def failed(self, error: UserError) -> None:
        """Show the error of a job that could not start or failed."""
        self._turn(False, self.elsewhere)
        self.result.say_error(error)

    def cancelled(self) -> None:
        """Hide the progress of a job that was cancelled without a result."""
        self._turn(False, self.elsewhere)

    def show_interrupted(self, runs: tuple[RunRecord, ...]) -> None:
        """Show the first interrupted run that the user has not dismissed, with Review and Undo."""
        waiting = next((run for run in runs if run.id not in self._put_away), None)
        if waiting is None or self.running:
            self.interrupted.clear()
            return
        self._interrupted_id = waiting.id
        text = self.tr(
            "A consolidation was interrupted on {when}. You can undo the changes it had already made."
        )
        self.interrupted.say(
            text.format(when=when(waiting.started_at)),
            tone="warn",
            buttons=[
                ("review", self.tr("Review changes"), self.tr("Show the changes of this run, file by file")),
                ("revert", self.tr("Undo"), self.tr("Undo every change of this run")),
            ],
        )

    @Slot(str)
    def _on_result(self, key: str) -> None:
        {"review": self.review, "revert": self.revert, "apply": self.apply}[key].emit(self.run_id)

    @Slot(str)
    def _on_interrupted(self, key: str) -> None:
        {"review": self.review, "revert": self.revert}[key].emit(self._interrupted_id)

    @Slot()
    def _on_interrupted_dismissed(self) -> None:
        self._put_away.add(self._interrupted_id)


def step_words(step: str) -> str:
    """Return the name to show for a step of a run's `Progress`; an unknown step is returned as it is."""
    return {
        "applying": tr("Writing the changes…"),
        "reading": tr("Reading the memories…"),
        "planning": tr("Looking for duplicates…"),
        "thinking": tr("The model is thinking…"),
    }.get(step, visible(step))


def _used_words(run: RunResult) -> str:
    """Return the tokens and cost of the model as a sentence; empty for a run without a model."""
    count = used_tokens(run.usage)
    if not count:
        return ""
    told = tr("The model used {tokens} ({cost}).")
    return told.format(tokens=tokens(count), cost=money(run.cost_usd))


def _result_words(run: RunResult, *, dry_run: bool) -> str:
    """Return the result of a run as a sentence; `dry_run`: True if the run was only a preview."""
    if run.outcome == "completed" and dry_run:
        planned = tr("Preview: nothing has been changed yet. {summary}")
        return planned.format(summary=summary_words(run.summary))
    if run.outcome == "completed":
        done = tr("Done. {summary}").format(summary=summary_words(run.summary))
        return " ".join((done, *loaded_next_words(loaded_next_from(run.details.get("loadedNext")))))
    if run.outcome == "held":
        return summary_words(run.summary) or tr("Held for review.")
    if run.outcome == "unchanged":
        return summary_words(run.summary) or tr("No changes needed.")
    return summary_words(run.summary) or display_text.outcome(run.outcome)


RowState = Literal["loading", "record", "never", "unavailable", "failed"]
"""The state of a scope. "loading", "never" and "unavailable" are displayed differently."""
LabelTone = Literal["plain", "quiet", "bad"]


class RowWords(Struct, frozen=True):
    """The displayed texts about the last consolidation of a scope, or about the last harvest."""

    state: RowState
    text: str
    """The whole text, such as `3 h ago · 4 changes`."""
    note: str = ""
    """The reason why the scope is unavailable, or why the harvest failed."""
    tooltip: str = ""
    """The details."""
    short: str = "–"
    """The text beside the name of the scope, such as `3 h`."""
    alone: str = ""
    """The same text where the scope has a line of its own, such as `3 h ago`; empty if it is `short`."""


def row_words(
    row: CoverageRow, now_ms: int, spent: Spent | None = None, *, agent_too: bool = False
) -> RowWords:
    """Return the texts of a scope's row, such as `3 h ago · 4 changes`, with details in the tool tip.

    `spent`: the costs of models; None: not known. `agent_too`: True if the agent itself consolidates this
    home, too; a row without a record then says "never by Reverie".
    """
    if not row.available:
        return RowWords("unavailable", tr("unavailable"), row.reason, as_tooltip(row.reason))
    if row.last_run_at is None:
        return RowWords("never", tr("never by Reverie") if agent_too else tr("never"), short=tr("never"))
    result = tr("undone") if row.undone else changes(row.changes)
    in_part = [tr("partly undone")] if row.partly_undone and not row.undone else []
    age = display_text.age(now_ms, row.last_run_at)
    details = (when(row.last_run_at), trigger(row.trigger), summary_words(row.summary), spent_words(spent))
    return RowWords(
        "record",
        " · ".join(map(_unbroken, (age, result, *in_part))),
        "",
        as_tooltip(*details),
        display_text.short_age(now_ms, row.last_run_at),
        age,
    )


def spent_words(spent: Spent | None) -> str:
    """Return what models cost in the last run and in this month as text; empty if no run used a model.

    A sum with an unknown part is displayed as "at least".
    """
    if spent is None or not (spent.last_tokens or spent.month_tokens):
        return ""
    cost = money(spent.month_cost if spent.month_tokens else 0)
    if spent.month_unknown and spent.month_cost is not None:
        cost = tr("at least {cost}").format(cost=cost)
    return tr("The last run with a model used {last}. Total this month: {month}.").format(
        last=f"{tokens(spent.last_tokens)}, {money(spent.last_cost)}",
        month=f"{amount(spent.month_tokens)}, {cost}",
    )


def harvest_words(row: HarvestRow, now_ms: int) -> RowWords:
    """Return the texts of the row about the last harvest of the workspace.

    A harvest collects facts from a conversation that the agent compacted.
    """
    age, exact = display_text.age(now_ms, row.at), when(row.at)
    if row.status == "failed":
        text = tr("{age} · failed").format(age=age)
        return RowWords("failed", text, visible(row.error), as_tooltip(exact, row.error))
    if row.status == "pending":
        return RowWords("record", tr("{age} · not finished").format(age=age), "", as_tooltip(exact))
    kept = counted(tr("1 memory"), "%n memories", row.accepted) if row.accepted else tr("nothing new")
    left_out = tr("{skipped} skipped").format(skipped=row.skipped) if row.skipped else ""
    return RowWords("record", f"{age} · {kept}", "", as_tooltip(exact, left_out))


_SEPARATOR = "; "
"""The separator of the two halves of a label; it also suits the end of a line."""


def _unbroken(part: str) -> str:
    """Return `part` with no-break spaces, so that a line of the footer breaks only between two parts."""
    return part.replace(" ", "\u00a0")


class TwoToneLabel(WrapLabel):
    """A label that wraps its text, of which the second half is dimmed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._main = 0
        self._note = ""
        self._tone: LabelTone = "plain"
        self._said: tuple[str, str, str, LabelTone] | None = None
        self.setFont(tabular(self.font()))

    def say_parts(self, lead: str, main: str, note: str, tone: LabelTone = "plain") -> None:
        """Show `lead` and `main` in the colour of `tone`, and `note` dimmed; empty parts are left out."""
        if (lead, main, note, tone) == self._said:
            return
        self._said = (lead, main, note, tone)
        head = f"{visible(lead)}: " if lead else ""
        self._main = len(head) + len(visible(main))
        self._heights.clear()  # the same text may be divided at another position
        self._tone = tone
        self._note = visible(note)
        self.say(_SEPARATOR.join(part for part in (head + visible(main), self._note) if part))
        self.updateGeometry()
        self.update()

    def _layout(self, width: int) -> QTextLayout:
        """Return the layout of the text: on one line if it fits, else the dimmed half on a new line."""
        if self._note and self._main and QFontMetrics(self.font()).horizontalAdvance(self.text()) > width:
            return self._laid_out(self.text()[: self._main] + "\u2028" + self._note, width)
        return super()._layout(width)

    def _formats(self) -> list[QTextLayout.FormatRange]:
        theme = theme_of(self.palette())
        colour = {"plain": None, "quiet": theme.dim_window, "bad": theme.bad_text}[self._tone]
        dim, main = QTextCharFormat(), QTextCharFormat()
        dim.setForeground(theme.dim_window)
        main.setForeground(colour or self.palette().color(self.foregroundRole()))
        return [_range(0, self._main, main), _range(self._main, len(self.text()) - self._main, dim)]


def _range(start: int, length: int, format_: QTextCharFormat) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    found.start, found.length, found.format = start, length, format_
    return found


class ScopeItem:
    """The status of one scope in the footer: its name and the age of its last consolidation.

    A harvest that failed is part of the text; any other is one of the details.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.words = RowWords("loading", "…", short="…")
        self.value = FitFlatButton()
        self.say(self.words)

    @property
    def state(self) -> RowState:
        return self.words.state

    def say(self, found: RowWords, *, harvest: RowWords | None = None) -> None:
        """Set the texts of the scope; `show_text` shows the one that fits.

        `harvest`: the texts of the last harvest of the workspace; None for none.
        """
        self.words = found
        alone = found.alone or found.short
        spoken, more = f"{self.name}: {found.text} {found.note}".strip(), ""
        if found.state in ("record", "never"):
            spoken = tr("{scope}, last consolidated: {when}").format(scope=self.name, when=found.text)
        details, is_bad = [spoken, found.tooltip], False
        if harvest is not None:
            chats = tr("From chats: {result}").format(result=harvest.text)
            details += [chats, harvest.note or harvest.tooltip]
            is_bad = harvest.state == "failed"
            if is_bad:
                more, spoken = f" · {tr('chats failed')}", f"{spoken}. {chats}"
        self._in_line = f"{self.name} {found.short}{more}"
        self._in_column = f"{self.name} {alone}{more}"
        self._spoken, self._tip = spoken, as_tooltip(*details)
        # The palette of the button itself may still be that of the previous theme.
        theme = theme_of(QApplication.palette())
        tint(
            self.value,
            theme.bad_text if is_bad else theme.text if found.state == "record" else theme.dim_window,
        )
        self.show_text(in_line=True)

    @property
    def width_in_line(self) -> int:
        """The width that the scope needs in one line with the others, in pixels.

        It is at least that of a long age, so that the scopes do not change places with their ages.
        """
        longest = f"{self.name} {display_text.short_age(59 * display_text.MINUTE_MS, 0)}"
        return max(self.value.width_for(self._in_line), self.value.width_for(longest))

    def show_text(self, *, in_line: bool) -> None:
        """Show the text for one line with the other scopes, or that for a line of its own."""
        self.value.say(self._in_line if in_line else self._in_column, self._spoken, self._tip)


_SIGNS = {"ok": "check", "running": "refresh", "warn": "warning", "fail": "error"}


def state_name(state: str) -> str:
    """Return the state of an agent's job in one word.

    The word is for users who cannot see the icon.
    """
    return {"ok": tr("OK"), "running": tr("running"), "warn": tr("warning"), "fail": tr("failed")}[state]


class AgentRow(QWidget):
    """The status of one job of the agent: an icon, a sentence, and its age.

    The state is shown by the icon and its name, never by colour alone.
    """

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self.line: StatusLine | None = None
        self.sign = QLabel()
        self.value = TwoToneLabel()
        row = row_of(holder=self, gap=GAP - 2)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.value, 1)

    def say(self, line: StatusLine, now_ms: int) -> None:
        """Show a line of the status; `now_ms` is the time for its age."""
        self.line = line
        age = display_text.age(now_ms, line.at) if line.at is not None else ""
        tone: LabelTone = "bad" if line.state == "fail" else "plain"
        # One sentence, with its age after a semicolon.
        self.value.say_parts(line.label, line.text.removesuffix(".") if age else line.text, age, tone)
        exact = when(line.at) if line.at is not None else ""
        name = state_name(line.state)
        self.value.setToolTip(as_tooltip(name, exact))
        self.value.setAccessibleName(f"{name}, {line.label}: {line.text} {age}".strip())
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        if self.line is None:
            return
        theme = theme_of(self.palette())
        color: QColor = {
            "ok": theme.good, "running": theme.accent, "warn": theme.warn_text, "fail": theme.bad_text,
        }[self.line.state]  # fmt: skip
        sign = readable(color, theme.window, SIGN_CONTRAST)
        self.sign.setPixmap(self._icons.pixmap(_SIGNS[self.line.state], SIZE, sign, self.devicePixelRatioF()))
        self.sign.setAccessibleName(state_name(self.line.state))


class AgentRows(QWidget):
    """The rows about the jobs of the agent, below the scopes; hidden if there are none."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self.rows: list[AgentRow] = []
        self._column = column(self, margin=0, gap=UNIT)
        self.hide()

    def say(self, lines: tuple[StatusLine, ...], now_ms: int) -> None:
        """Show `lines`, one per row, in place of the previous ones."""
        while len(self.rows) > len(lines):
            row = self.rows.pop()
            row.hide()  # `deleteLater` deletes it only in the next turn of the event loop
            self._column.removeWidget(row)
            row.deleteLater()
        while len(self.rows) < len(lines):
            row = AgentRow(self._icons, self)
            self._column.addWidget(row)
            self.rows.append(row)
        for row, line in zip(self.rows, lines, strict=True):
            row.say(line, now_ms)
        self.setVisible(bool(lines))


AGES_MS = 20_000
"""Milliseconds between two updates of the relative times."""
SCOPES = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)


class Footer(QWidget):
    """The footer of the Memory tab.

    The owner calls `show_status` with the status of a context, and `forget` before another one is read.
    """

    aged = Signal()
    """Emitted every `AGES_MS`, so that relative times elsewhere are updated, too."""

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Consolidation"))
        self._now = now
        self._icons = icons
        self._status: StatusView | None = None
        self._extraction: StatusLine | None = None
        self._run: QAction | None = None
        self._other: QAction | None = None
        self._other_engine = ""
        self.rows = {scope: ScopeItem(scope_name(scope)) for scope in SCOPES}
        self._area = QWidget()
        FlowLayout(*(item.value for item in self.rows.values()), holder=self._area, gap=0, or_column=True)
        self.agent = AgentRows(icons)
        self.problems = MessageBar(icons, "status-problems")
        self.panel = RunPanel(icons)
        self.panel.turned.connect(self._on_turned)
        self.button = FitToolButton()
        self.engine = TwoToneLabel()
        self.engine.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._lay_out()
        self._timer = repeating(self, AGES_MS, self._on_time)
        self._timer.start()

    def _lay_out(self) -> None:
        # Both parts of a cell keep their place while they are hidden, so a run changes no height.
        top = QGridLayout()
        top.setColumnStretch(0, 1)
        top.setHorizontalSpacing(GAP)
        cells = ((self._area, self.panel), (self.button, self.panel.cancel_button))
        for number, (usual, running) in enumerate(cells):
            for part in (usual, running):
                kept = part.sizePolicy()
                kept.setRetainSizeWhenHidden(True)
                part.setSizePolicy(kept)
                top.addWidget(part, 0, number, Qt.AlignmentFlag.AlignTop if number else Qt.AlignmentFlag(0))
            running.hide()
        column(self, top, self.engine, self.agent, self.problems)

    @property
    def bars(self) -> tuple[MessageBar, ...]:
        """The bars with results, which lie over the trees."""
        return self.panel.interrupted, self.panel.result

    @Slot()
    def _on_turned(self) -> None:
        """Show the progress of a run in place of the scopes, and Cancel in place of the button."""
        panel = self.panel
        is_busy = panel.running or bool(panel.elsewhere)
        for part, is_shown in ((self._area, not is_busy), (panel, is_busy)):
            part.setVisible(is_shown)
        for button, is_shown in ((self.button, not panel.running), (panel.cancel_button, panel.running)):
            button.setVisible(is_shown)

    @contextmanager
    def keeping_focus(self) -> Iterator[None]:
        """Context manager: keep the focus in the footer if buttons disappear in the block.

        Used when a run starts or ends. Otherwise Qt would move the focus of a hidden or disabled button to
        the editor, where the next key would change a memory.
        """
        window = self.window()
        before = window.focusWidget()
        holders = (self, *self.bars)
        ours = before is not None and any(before is each or each.isAncestorOf(before) for each in holders)
        yield
        # A button that is being removed may keep the focus until it is deleted.
        stays = before is window.focusWidget() and before is not None and before.isVisibleTo(window)
        if ours and not (stays and before is not self):
            places = (*self.panel.to_press, self.button)
            next((each for each in places if each.isEnabled()), self).setFocus()

    def set_actions(self, run: QAction, menu: QMenu) -> None:
        """Set the Consolidate action of the button, and its menu."""
        self._run = run
        self.button.setDefaultAction(run)
        self.button.take_action_text()
        self.button.setMenu(menu)
        self.say_engine()

    def offer(self, action: QAction | None) -> None:
        """Let the button trigger another action; None restores Consolidate."""
        before, after = self.button.defaultAction(), action or self._run
        if after is not None and after is not before:
            self._other = action
            self.button.removeAction(before)
            self.button.setDefaultAction(after)
            self.button.take_action_text()
            self.say_engine()

    def say_other_engine(self, engine: str, *, to_notes: bool = False) -> None:
        """Show the engine that the action set by `offer` would use; "" if it is unknown.

        `to_notes`: True if the results of the action become notes to Codex.
        """
        self._other_engine = self._engine_words(engine) if engine else ""
        if engine and to_notes:
            self._other_engine = self.tr("{engine}; saves notes for Codex").format(engine=self._other_engine)
        self.say_engine()

    def say_engine(self, reason: str = "", choice: ModelChoice | None = None) -> None:
        """Show the `reason` why the button is disabled or, if empty, the engine that it would use.

        `choice`: that engine and the reason for it; None: the rules.
        """
        if self._other is not None:
            name = self._other_engine
            self.engine.say_parts("", "", name)
            self.engine.setToolTip("")
            self.engine.setVisible(bool(name))
            text = self._other.iconText()
            self.button.setAccessibleName(f"{text}, {name}" if name else text)
            return
        engine = self._engine_words(choice.engine if choice is not None else "rules")
        self.engine.say_parts("", "", reason or engine)
        self.engine.setToolTip(as_tooltip(choice.reason) if choice is not None else "")
        # The usual engine, the rules, is not worth a line of its own.
        self.engine.setVisible(bool(reason) or engine != self._engine_words("rules"))
        self.button.setAccessibleName(self.tr("Consolidate, {engine}").format(engine=engine))

    def _engine_words(self, engine: str) -> str:
        if engine == "rules":
            return self.tr("without a model")
        return self.tr("with {model}").format(model=visible(engine))

    # Rows

    def forget(self) -> None:
        """Show all rows as loading; called while the status of another context is being read."""
        self._status = None
        for item in self.rows.values():
            item.value.show()
            item.say(RowWords("loading", "…", short="…"))
        self.agent.say((), 0)
        self.problems.clear()
        self.panel.show_interrupted(())

    def show_status(self, status: StatusView) -> None:
        """Show a status in the rows, with interrupted runs and problems."""
        self._status = status
        self._say_rows()
        self.panel.show_interrupted(status.interrupted)
        if status.problems:
            self.problems.say(" ".join(visible(problem) for problem in status.problems), tone="warn")
        else:
            self.problems.clear()

    @property
    def agent_reported(self) -> bool:
        """True if the status contains lines about the agent's own jobs."""
        return self._status is not None and bool(self._status.agent)

    def say_extraction(self, line: StatusLine | None) -> None:
        """Show the status of Reverie's extraction of this home; None if it has none."""
        self._extraction = line
        self._say_rows()

    @Slot()
    def _on_time(self) -> None:
        self._say_rows()
        self.aged.emit()

    def _say_rows(self) -> None:
        """Show the rows of the latest status, with current ages."""
        if self._status is None:
            return
        now, status = self._now(), self._status
        harvest = harvest_words(status.harvest, now) if status.harvest is not None else None
        for row in status.rows:
            found = row_words(row, now, status.spent.get(row.scope), agent_too=self.agent_reported)
            self.rows[row.scope].value.setVisible(not row.permanent)
            self.rows[row.scope].say(found, harvest=harvest if row.scope is Scope.WORKSPACE else None)
        self._turn()
        own = (self._extraction,) if self._extraction is not None else ()
        self.agent.say((*self._status.agent, *own), now)

    # Width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()

    def _turn(self) -> None:
        """Give the scopes the texts for one line if there is room for it, else those for a line each."""
        shown = [item for item in self.rows.values() if not item.value.isHidden()]
        beside = 2 * MARGIN + self.button.sizeHint().width() + GAP
        in_line = sum(item.width_in_line for item in shown) <= self.width() - beside
        for item in shown:
            item.show_text(in_line=in_line)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(theme_of(self.palette()).line)
        painter.drawLine(0, 0, self.width(), 0)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
            self._say_rows()
