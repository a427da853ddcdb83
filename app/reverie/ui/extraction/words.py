"""How an extraction is told: its stages, its outcome, where it stands. Pure but for the translation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from reverie.homes.agents import StatusLine
from reverie.ui import words
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr

if TYPE_CHECKING:
    from reverie.services.extracting import ExtractView


def stage(name: str) -> str:
    return {
        "next": tr("comes next"),
        "left-out": tr("left out"),
        "waiting": tr("waiting"),
        "reading": tr("reading"),
        "thinking": tr("thinking"),
        "writing": tr("writing"),
        "persisted": tr("kept"),
        "consolidated": tr("consolidated"),
        "failed": tr("failed"),
        "skipped": tr("left out"),
        "cancelled": tr("cancelled"),
    }.get(name, visible(name))


SIGNS = {
    "next": "runs", "waiting": "runs", "reading": "refresh", "thinking": "refresh", "writing": "refresh",
    "persisted": "check", "consolidated": "check", "failed": "error", "cancelled": "cancel",
    "left-out": "info", "skipped": "info",
}  # fmt: skip


def waiting(count: int) -> str:
    if not count:
        return tr("No thread waits.")
    return counted("1 thread waits.", "%n threads wait.", count)


def footer_line(view: ExtractView, *, running: bool) -> StatusLine:
    """Last extraction, candidates waiting, lease holder."""
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    parts = [waiting(view.waiting)]
    if view.to_notes:
        parts.append(tr("Each result becomes a note to Codex."))
    if view.last_at is not None:
        outcome = words.outcome(view.last_outcome)
        parts.append(tr("Last consolidation: {outcome}.").format(outcome=outcome))
        state = "fail" if view.last_outcome == "failed" else "ok"
    if view.holder:
        parts.append(tr("At work: {holder}.").format(holder=view.holder.rstrip(".")))
    if view.holder or running:
        state = "running"
    return StatusLine(None, tr("Extraction by Reverie"), " ".join(parts), state, view.last_at)
