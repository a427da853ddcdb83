"""What a consolidation does while it runs, and what came of it: live operations, progress, Cancel, then one
line.

The panel shows a job's progress and result only. Rows and trees never take anything from here: they wait for
the watcher (design.md principle 1).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from reverie.errors import UserError
from reverie.ui import display_text as words
from reverie.ui.appearance import GAP, UNIT, Icons
from reverie.ui.display_text import visible
from reverie.ui.translation import counted, tr
from reverie.ui.widgets.controls import ElidedLabel, FitPushButton, WrapLabel
from reverie.ui.widgets.message_bar import MessageBar, Tone

if TYPE_CHECKING:
    from reverie.runs.result import Progress, RunResult
    from reverie.services.views import RunSummary


# How a run is told in one line, and which runs a list shows: pure functions of a `RunSummary`.


_ENDED_BADLY = ("failed", "interrupted", "cancelled", "skipped")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted. `show` is a key of `filter_names`; `text` may stand anywhere in what is said of
    a run."""

    show: str = "all"
    text: str = ""

    def takes(self, run: RunSummary) -> bool:
        """Whether the filter shows this run."""
        return _is_shown(run, self.show) and self.text.casefold().strip() in _searched(run)


def filter_names() -> tuple[tuple[str, str], ...]:
    """(key, name) of each choice, in the order they are offered."""
    return (
        ("all", tr("All runs")),
        ("review", tr("Waiting for review")),
        ("dream", tr("Consolidations")),
        ("preview", tr("Previews")),
        ("harvest", tr("Harvests")),
        ("writer", tr("Memory writer")),
        ("extract", tr("Extractions")),
        ("notes", tr("Session notes")),
        ("failed", tr("Did not end well")),
        ("undone", tr("Undone")),
        ("revert", tr("Undos")),
    )


def _is_shown(run: RunSummary, show: str) -> bool:
    if show == "all":
        return True
    if show == "review":
        return run.outcome == "held"
    if show == "failed":
        return run.outcome in _ENDED_BADLY
    if show == "undone":
        return run.reverted or run.partly_undone
    if show == "preview":
        return run.dry_run
    return run.kind == show and not run.dry_run


def _searched(run: RunSummary) -> str:
    paths = (str(op.get(key) or "") for op in run.ops for key in ("path", "newPath"))
    said = (headline(run), run.workspace_id or "", words.trigger(run.trigger), run.summary, run.reason)
    return "\n".join((*said, *paths)).casefold()


def can_revert(run: RunSummary) -> bool:
    """Whether an undo makes sense: something of it may stand on disk."""
    return run.outcome in ("completed", "interrupted") and not run.reverted and not run.dry_run


def conflict_words(result: RunResult) -> str:
    """What came of taking a run back, with what was left as it is by name."""
    paths = ", ".join(visible(path) for path in result.conflicts)
    if len(result.conflicts) == 1:
        text = tr("{summary} Left as it is, because it was edited since: {paths}")
    else:
        text = tr("{summary} Left as they are, because they were edited since: {paths}")
    return text.format(summary=visible(result.summary), paths=paths)


def kind_words(run: RunSummary) -> str:
    if run.dry_run:
        return tr("Preview")
    return {
        "dream": tr("Consolidation"),
        "harvest": tr("Harvest"),
        "writer": tr("Memory writer"),
        "extract": tr("Extraction"),
        "notes": tr("Session notes"),
        "revert": tr("Undo"),
    }.get(run.kind, visible(run.kind))


def applied_words(run: RunResult) -> str:
    """What came of applying a choice, in words and counts."""
    if run.outcome == "completed":
        done = [op for op in run.ops if op.get("applied")]
        files = {str(op.get("newPath") or op.get("path")) for op in done}
        said = tr("Applied: {changes} in {files}.").format(
            changes=words.changes(len(done)), files=counted(tr("1 file"), "%n files", len(files))
        )
        return " ".join(part for part in (said, visible(run.next_step)) if part)
    outcome = words.outcome(run.outcome)
    parts = (outcome[:1].upper() + outcome[1:], visible(run.summary), visible(run.next_step))
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def state_words(run: RunSummary) -> str:
    if run.reverted:
        return tr("undone")
    return tr("undone in part") if run.partly_undone else words.outcome(run.outcome)


def headline(run: RunSummary) -> str:
    return f"{kind_words(run)}, {words.when(run.started_at)}, {words.engine(run.engine)}: {state_words(run)}"


def run_line(run: RunSummary) -> str:
    if run.dry_run:
        count = counted(tr("1 change planned"), "%n changes planned", len(run.ops))
    else:
        count = words.changes(sum(1 for op in run.ops if op.get("applied")))
    return ", ".join((kind_words(run), words.engine(run.engine), count))


def cost_words(run: RunSummary) -> str:
    """What a run's model used, as far as it is known; empty for a run without one."""
    return usage_words(run.usage, run.cost_usd)


def usage_words(usage: Mapping[str, Any] | None, cost_usd: float | None) -> str:
    """`12.3k tokens, $0.04.`"""
    count = used_tokens(usage)
    if not count:
        return ""
    return tr("{tokens}, {cost}.").format(tokens=words.tokens(count), cost=words.money(cost_usd))


def used_tokens(usage: Mapping[str, Any] | None) -> int:
    """All tokens of a usage record."""
    if not usage:
        return 0
    found = [usage.get(key) for key in ("inputTokens", "outputTokens")]
    return sum(int(count) for count in found if isinstance(count, int | float))


SHOWN_OPS = 4

_TONES: dict[str, Tone] = {
    "completed": "info",
    "unchanged": "info",
    "held": "warn",
    "cancelled": "warn",
    "skipped": "warn",
    "interrupted": "warn",
}


class RunPanel(QWidget):
    """`cancel`, `review(run id)`, `revert(run id)` and `apply(run id)`, all of a plan, ask; somebody else
    does."""

    cancel = Signal()
    review = Signal(str)
    revert = Signal(str)
    apply = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run_id = ""
        self._interrupted_id = ""
        self._put_away: set[str] = set()
        self._recent: deque[tuple[str, str, str]] = deque(maxlen=SHOWN_OPS)
        self._step = WrapLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setMaximumHeight(6)
        self._bar.setAccessibleName(self.tr("Progress of the consolidation"))
        # Rules say more in a tenth of a second than anybody can read, and each value paints the bar at once.
        self._latest: Progress | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._show_progress)
        self._cancel = FitPushButton(self.tr("Cancel"))
        self._cancel.clicked.connect(self._on_cancel)
        self._lines = [ElidedLabel() for _ in range(SHOWN_OPS)]
        self._live = QWidget()
        self.result = MessageBar(icons, "result")
        self.result.chosen.connect(self._on_result)
        self.result.dismissed.connect(self.updateGeometry)
        self.interrupted = MessageBar(icons, "interrupted")
        self.interrupted.chosen.connect(self._on_interrupted)
        self.interrupted.dismissed.connect(self._on_interrupted_dismissed)
        self._lay_out()
        self._live.hide()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self._step, 1)
        head.addWidget(self._cancel)
        live = QVBoxLayout(self._live)
        live.setContentsMargins(0, 0, 0, 0)
        live.setSpacing(UNIT)
        live.addLayout(head)
        live.addWidget(self._bar)
        for line in self._lines:
            line.hide()
            live.addWidget(line)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(UNIT)
        outer.addWidget(self._live)
        outer.addWidget(self.interrupted)
        outer.addWidget(self.result)

    @property
    def run_id(self) -> str:
        """The run that was told last."""
        return self._run_id

    @property
    def running(self) -> bool:
        return not self._live.isHidden()

    @property
    def to_press(self) -> tuple[QWidget, ...]:
        """The buttons that are offered now, the first one first."""
        if self.running:
            return () if self._cancel.isHidden() else (self._cancel,)
        return tuple(self.result.button(key) for key in self.result.keys)

    # While it runs

    def start(self, sentence: str, *, cancellable: bool = True) -> None:
        """A job began."""
        self._soon.stop()
        self._recent.clear()
        self._show_ops()
        self.result.clear()
        self._step.say(sentence)
        self._bar.setRange(0, 0)
        self._cancel.setVisible(cancellable)
        self._cancel.setEnabled(True)
        self._cancel.say(self.tr("Cancel"), self.tr("Stop before the next change"))
        self._live.show()

    def progress(self, progress: Progress) -> None:
        """The next thing the job said; shown with all that was said in the same turn."""
        self._latest = progress
        if progress.op is not None:
            self._recent.append(op_words(progress.op))
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
        self._show_ops()

    def _show_ops(self) -> None:
        shown = list(self._recent)
        for place, line in enumerate(self._lines):
            line.setVisible(place < len(shown))
            if place < len(shown):
                verb, what, note = shown[place]
                line.say(f"{verb} {what}" + (f" · {note}" if note else ""))

    def _on_cancel(self) -> None:
        self._cancel.setEnabled(False)
        self._cancel.say(self.tr("Cancelling…"))
        self.cancel.emit()

    # What came of it

    def ended(self, run: RunResult, *, dry_run: bool, place: str = "") -> None:
        """A run has its outcome. `place`: where it ran, if that is not what is shown now."""
        self._live.hide()
        self._run_id = run.run_id
        said = (_result_words(run, dry_run=dry_run), _used_words(run), run.next_step)
        text = " ".join(part for part in said if part)
        if place:
            text = f"{place}: {text}"
        tone = _TONES.get(run.outcome, "bad")
        self.result.say(text, tone=tone, buttons=self._buttons(run, dry_run=dry_run))

    def _buttons(self, run: RunResult, *, dry_run: bool) -> list[tuple[str, str, str]]:
        review = ("review", self.tr("Review changes"), self.tr("What it changed, file by file"))
        if dry_run and run.ops:
            return [
                ("review", self.tr("Review plan"), self.tr("What it would change, file by file")),
                ("apply", self.tr("Apply all"), self.tr("Do exactly this; it can be undone")),
            ]
        if run.outcome == "completed":
            return [review, ("revert", self.tr("Undo"), self.tr("Give back every byte this run changed"))]
        return [review] if run.outcome == "held" else []

    def reverted(self, result: RunResult) -> None:
        """What came of taking a run back; conflicts are named one by one."""
        self._live.hide()
        self._run_id = result.run_id
        if not result.conflicts:
            self.result.say(visible(result.summary))
            return
        self.result.say(conflict_words(result), tone="warn")

    def failed(self, error: UserError) -> None:
        """The run could not begin or broke off."""
        self._live.hide()
        self.result.say_error(error)

    def cancelled(self) -> None:
        """The job was dropped before it said anything (the window closes)."""
        self._live.hide()

    def show_interrupted(self, runs: tuple[RunSummary, ...]) -> None:
        """Runs that died half-way, as a status tells; one at a time."""
        waiting = next((run for run in runs if run.id not in self._put_away), None)
        if waiting is None or self.running:
            self.interrupted.clear()
            return
        self._interrupted_id = waiting.id
        text = self.tr("A consolidation was interrupted on {when}; what it had begun can be undone.")
        self.interrupted.say(
            text.format(when=words.when(waiting.started_at)),
            tone="warn",
            buttons=[
                ("review", self.tr("Review changes"), self.tr("What it changed, file by file")),
                ("revert", self.tr("Undo"), self.tr("Give back every byte this run changed")),
            ],
        )

    @Slot(str)
    def _on_result(self, key: str) -> None:
        {"review": self.review, "revert": self.revert, "apply": self.apply}[key].emit(self._run_id)

    @Slot(str)
    def _on_interrupted(self, key: str) -> None:
        {"review": self.review, "revert": self.revert}[key].emit(self._interrupted_id)

    @Slot()
    def _on_interrupted_dismissed(self) -> None:
        self._put_away.add(self._interrupted_id)


def op_words(op: Mapping[str, Any]) -> tuple[str, str, str]:
    """One journal entry as (verb, what, note)."""
    what = visible(str(op.get("path", "")))
    if op.get("newPath"):
        what = f"{what} → {visible(str(op['newPath']))}"
    note = visible(str(op.get("note") or ""))
    return words.operation(str(op.get("command", ""))), what, note


def step_words(step: str) -> str:
    """A step of `DreamProgress` in words; one that is not known as it is called."""
    return {
        "applying": tr("Writing the changes…"),
        "reading": tr("Reading the memories…"),
        "planning": tr("Looking for duplicates…"),
        "thinking": tr("The model is thinking…"),
    }.get(step, visible(step))


def _used_words(run: RunResult) -> str:
    """What a model used for it."""
    count = used_tokens(run.usage)
    if not count:
        return ""
    told = tr("The model used {tokens}, {cost}.")
    return told.format(tokens=words.tokens(count), cost=words.money(run.cost_usd))


def _result_words(run: RunResult, *, dry_run: bool) -> str:
    applied = sum(1 for op in run.ops if op.get("applied"))
    if run.outcome == "completed" and dry_run:
        planned = counted(tr("1 change"), "%n changes", len(run.ops))
        return tr("Preview: {planned}. {summary}").format(planned=planned, summary=visible(run.summary))
    if run.outcome == "completed":
        made = words.changes(applied)
        return tr("Done, {made}. {summary}").format(made=made, summary=visible(run.summary))
    if run.outcome == "held":
        return tr("Held for review, nothing was written. {reason}").format(
            reason=visible(run.reason or run.summary)
        )
    if run.outcome == "unchanged":
        return visible(run.summary) or tr("No changes needed.")
    return visible(run.summary) or words.outcome(run.outcome)
