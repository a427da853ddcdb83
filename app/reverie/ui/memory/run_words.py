"""How a run is told in one line, and which runs a list shows: pure functions of a `RunSummary`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reverie.ui import words
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr

if TYPE_CHECKING:
    from reverie.services.views import RevertView, RunSummary, RunView

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


def conflict_words(result: RevertView) -> str:
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


def applied_words(run: RunView) -> str:
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
