"""What each kind of run is called, once for every view.

A new kind of run needs a row here, its name in `runs.record.RunKind` and its job. A kind without a row, of a
newer version, is shown by its own name. Texts are marked here and translated where they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.ui.display_text import visible
from reverie.ui.translation import translatable as _
from reverie.ui.translation import translated

if TYPE_CHECKING:
    from reverie.runs.record import RunKind


@dataclass(frozen=True, slots=True)
class RunKindLabels:
    """The texts of one kind, not translated yet."""

    kind: RunKind
    title: str
    """One run in a list."""
    plural: str
    """The choice that shows only these."""
    by: str
    """Who wrote a text."""


RUN_KINDS = (
    RunKindLabels(
        "dream",
        title=_("Consolidation"),
        plural=_("Consolidations"),
        by=_("by a consolidation"),
    ),
    RunKindLabels(
        "writer",
        title=_("Memory writer"),
        plural=_("Memory writer"),
        by=_("by the memory writer"),
    ),
    RunKindLabels(
        "harvest",
        title=_("Picked up"),
        plural=_("Picked up"),
        by=_("from the conversation"),
    ),
    RunKindLabels(
        "extract",
        title=_("Extraction"),
        plural=_("Extractions"),
        by=_("by an extraction"),
    ),
    RunKindLabels(
        "notes",
        title=_("Session notes"),
        plural=_("Session notes"),
        by=_("by an update of the session notes"),
    ),
    RunKindLabels(
        "revert",
        title=_("Undo"),
        plural=_("Undos"),
        by=_("by the undoing of a run"),
    ),
)
"""In the order in which views offer them."""
LABELS: dict[str, RunKindLabels] = {labels.kind: labels for labels in RUN_KINDS}
BY: dict[str, str] = {labels.kind: labels.by for labels in RUN_KINDS}


def kind_title(kind: str) -> str:
    """One run of this kind in a list; a kind that is not known by its own name."""
    labels = LABELS.get(kind)
    return visible(kind) if labels is None else translated(labels.title)
